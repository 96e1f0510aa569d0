//! Puts a vocabulary together, token by token. For example, `builder.text(id, "ab")?` is a token of
//! two bytes, and `builder.end(id)?` one that ends the text.

use super::Vocabulary;
use crate::cache::SharedRows;
use crate::tokens::{MAX_TOKEN_BYTES, MAX_WIDTH, TokenId, TokenKind, TokenTable, limit};
use crate::{Error, ErrorKind};

/// Collects tokens for a [`Vocabulary`], when some of them are structure.
///
/// ```
/// use fsm_index::{TokenId, TokenKind, VocabularyBuilder};
///
/// let mut builder = VocabularyBuilder::new();
/// builder.text(TokenId::new(0), "a")?.special(TokenId::new(1), "<tool_call>")?.end(TokenId::new(2))?;
/// let vocabulary = builder.build()?;
/// assert_eq!(vocabulary.kind(TokenId::new(1)), TokenKind::Special);
/// assert_eq!(vocabulary.ends(), [TokenId::new(2)]);
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct VocabularyBuilder {
    tokens: Vec<Box<[u8]>>,
    kinds: Vec<TokenKind>,
}

impl VocabularyBuilder {
    /// No tokens yet.
    pub fn new() -> Self {
        VocabularyBuilder::default()
    }

    /// Adds a token that stands for its bytes.
    ///
    /// # Errors
    ///
    /// The number is taken, or a limit is exceeded.
    pub fn text(&mut self, id: TokenId, bytes: impl AsRef<[u8]>) -> Result<&mut Self, Error> {
        self.add(id, bytes.as_ref(), TokenKind::Text)
    }

    /// Adds a token that is structure, with its name.
    ///
    /// # Errors
    ///
    /// The number is taken, or a limit is exceeded.
    pub fn special(&mut self, id: TokenId, name: &str) -> Result<&mut Self, Error> {
        self.add(id, name.as_bytes(), TokenKind::Special)
    }

    /// Makes a token an end token; it need not have been added before.
    ///
    /// # Errors
    ///
    /// A limit is exceeded.
    pub fn end(&mut self, id: TokenId) -> Result<&mut Self, Error> {
        self.reserve(id)?;
        self.kinds[id.index()] = TokenKind::End;
        Ok(self)
    }

    /// The vocabulary. O(n log n) in the number of tokens.
    ///
    /// # Errors
    ///
    /// The tokens have more than 4 GiB of bytes.
    pub fn build(self) -> Result<Vocabulary, Error> {
        Ok(Vocabulary {
            table: TokenTable::new(&self.tokens, &self.kinds)?,
            shared: SharedRows::default(),
        })
    }

    fn reserve(&mut self, id: TokenId) -> Result<(), Error> {
        if id.index() >= MAX_WIDTH {
            return Err(limit(&format!("{MAX_WIDTH} token numbers")));
        }
        if id.index() >= self.kinds.len() {
            self.kinds.resize(id.index() + 1, TokenKind::Absent);
            self.tokens.resize(id.index() + 1, Box::default());
        }
        Ok(())
    }

    fn add(&mut self, id: TokenId, bytes: &[u8], kind: TokenKind) -> Result<&mut Self, Error> {
        if bytes.len() > MAX_TOKEN_BYTES {
            return Err(limit(&format!("{MAX_TOKEN_BYTES} bytes in token {id}")));
        }
        self.reserve(id)?;
        if self.kinds[id.index()] != TokenKind::Absent {
            return Err(Error::new(
                ErrorKind::Vocabulary,
                format!(
                    "token {id} occurs twice: as {:?} and as {:?}",
                    String::from_utf8_lossy(&self.tokens[id.index()]),
                    String::from_utf8_lossy(bytes)
                ),
            ));
        }
        self.kinds[id.index()] = kind;
        self.tokens[id.index()] = bytes.into();
        Ok(self)
    }
}

impl Vocabulary {
    /// The same vocabulary with other end tokens. Tokens that no longer end
    /// a text become structure.
    ///
    /// # Errors
    ///
    /// A number is outside the vocabulary's width.
    pub fn with_ends(&self, ends: impl IntoIterator<Item = TokenId>) -> Result<Vocabulary, Error> {
        let mut builder = self.to_builder();
        for kind in &mut builder.kinds {
            if *kind == TokenKind::End {
                *kind = TokenKind::Special;
            }
        }
        for id in ends {
            if id.index() >= self.width() {
                return Err(Error::new(
                    ErrorKind::Vocabulary,
                    format!(
                        "end token {id} is outside the vocabulary of {} tokens",
                        self.width()
                    ),
                ));
            }
            builder.kinds[id.index()] = TokenKind::End;
        }
        builder.build()
    }

    /// The same vocabulary for logits of `width` entries. The entries beyond
    /// the vocabulary are padding and never allowed.
    ///
    /// # Errors
    ///
    /// `width` is smaller than the vocabulary: logits without a token's entry
    /// could never produce it.
    ///
    /// ```
    /// use fsm_index::{TokenId, TokenKind, Vocabulary};
    ///
    /// # let tokens = ["a"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(1)])?;
    /// // Models pad their logits.
    /// let padded = vocabulary.with_width(128)?;
    /// assert_eq!((padded.width(), padded.kind(TokenId::new(100))), (128, TokenKind::Absent));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn with_width(&self, width: usize) -> Result<Vocabulary, Error> {
        let mut builder = self.to_builder();
        if width < self.width() || width > MAX_WIDTH {
            return Err(Error::new(
                ErrorKind::Vocabulary,
                format!(
                    "logits of width {width} do not fit a vocabulary of {} tokens (at most {MAX_WIDTH})",
                    self.width()
                ),
            ));
        }
        builder.kinds.resize(width, TokenKind::Absent);
        builder.tokens.resize(width, Box::default());
        builder.build()
    }

    /// The same vocabulary with a token more for each of its
    /// [missing bytes](TokenTable::missing_bytes), behind all others: to measure what missing
    /// bytes cost. A model has no logits for these.
    ///
    /// # Errors
    ///
    /// It would have more than [`MAX_WIDTH`] tokens.
    ///
    /// ```
    /// use fsm_index::{TokenId, Vocabulary};
    ///
    /// let tokens = ["a", "b"].iter().zip(0..);
    /// let tokens = tokens.map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// let filled = vocabulary.with_all_bytes()?;
    /// assert!(filled.missing_bytes().is_empty());
    /// assert_eq!(filled.token_bytes(TokenId::new(0)), Some(&b"a"[..]));
    /// assert_eq!(filled.without_bytes(b"b")?.missing_bytes(), b"b");
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn with_all_bytes(&self) -> Result<Vocabulary, Error> {
        let mut builder = self.to_builder();
        let ids = (self.width() as u32..).map(TokenId::new);
        for (id, byte) in ids.zip(self.missing_bytes()) {
            builder.text(id, [byte])?;
        }
        builder.build()
    }

    /// The same vocabulary without the tokens that have one of some bytes in their text, as
    /// real ones lack bytes that no text of their training had.
    ///
    /// # Errors
    ///
    /// None that the vocabulary itself had not.
    pub fn without_bytes(&self, bytes: &[u8]) -> Result<Vocabulary, Error> {
        let mut builder = self.to_builder();
        for (text, kind) in builder.tokens.iter_mut().zip(&mut builder.kinds) {
            if *kind == TokenKind::Text && text.iter().any(|byte| bytes.contains(byte)) {
                *kind = TokenKind::Absent;
                *text = Box::default();
            }
        }
        builder.build()
    }

    fn to_builder(&self) -> VocabularyBuilder {
        VocabularyBuilder {
            tokens: (0..self.width() as u32)
                .map(|token| self.raw(token).into())
                .collect(),
            kinds: (0..self.width() as u32)
                .map(|token| self.kind(TokenId::new(token)))
                .collect(),
        }
    }
}
