//! Text to tokens and back. For example, `encode("Ada", ..)` gives token ids, whose bytes are in
//! the [`Vocabulary`].

use std::ops::Range;
use std::path::Path;

use fsm_index::{TokenId, TokenKind, Vocabulary};
use serde_json::Value;

use crate::{Error, ErrorKind};

/// A tokenizer with the bytes of each of its tokens.
///
/// ```
/// use tokenmold::prelude::*;
///
/// let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/model");
/// let tokenizer = Tokenizer::from_directory(folder)?;
/// let tokens = tokenizer.encode("Ship to Oslo", Surround::Omit)?;
/// assert_eq!(tokenizer.decode(&tokens), "Ship to Oslo");
/// assert_eq!(tokenizer.token_to_id("<|im_start|>").map(|token| tokenizer.is_text(token)), Some(false));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    vocabulary: Vocabulary,
    /// True if the first blank of a text is the tokenizer's own doing.
    strips_leading_blank: bool,
}

/// True if encoding adds the tokens that the tokenizer puts around a text, a token that begins a
/// text most often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Surround {
    /// As the tokenizer says.
    Add,
    /// Not; chat templates write such tokens themselves.
    Omit,
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Tokenizer`]: the file is malformed, or of a kind whose
    /// tokens' bytes are not known.
    pub fn from_json(json: &[u8]) -> Result<Self, Error> {
        // The crate behind it panics at some files, so ours looks first.
        let vocabulary = Vocabulary::from_tokenizer_json(json).map_err(|error| {
            let message = format!("the tokenizer cannot be used: {error}");
            Error::with_source(ErrorKind::Tokenizer, message, error)
        })?;
        let value: Value = serde_json::from_slice(json).unwrap_or_default();
        if let Some(name) = undefined_token(&value["post_processor"]) {
            let message = format!(
                "the tokenizer cannot be used: its post-processor puts the token {name:?} around \
                 texts and does not say which number that has"
            );
            return Err(Error::new(ErrorKind::Tokenizer, message));
        }
        if !maps_are_whole(&value["normalizer"]) {
            return Err(Error::new(
                ErrorKind::Tokenizer,
                "the tokenizer cannot be used: the map of characters of its normaliser is damaged",
            ));
        }
        let mut inner = guarded("the tokenizer cannot be read", || {
            tokenizers::Tokenizer::from_bytes(json)
        })?;
        // The caller says how long a text may be: a file could ask for texts to be filled up to any
        // length, or cut.
        inner.with_padding(None);
        guarded("the tokenizer cannot be used", || {
            inner.with_truncation(None).map(|_| ())
        })?;
        Ok(Self {
            inner,
            vocabulary,
            strips_leading_blank: strips_leading_blank(&value["decoder"]),
        })
    }

    /// Reads the `tokenizer.json` of a model's folder.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`]: there is no such file, or it cannot be read; otherwise as
    /// [`Tokenizer::from_json`], naming the file.
    ///
    /// ```
    /// use tokenmold::tokenizer::{Surround, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::from_directory(concat!(env!("CARGO_MANIFEST_DIR"), "/model"))?;
    /// let tokens = tokenizer.encode("Hello.", Surround::Omit)?;
    /// assert_eq!(tokenizer.decode(&tokens), "Hello.");
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn from_directory(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let file = directory.as_ref().join("tokenizer.json");
        let json = std::fs::read(&file).map_err(|error| {
            let message = format!("{}: {error}", file.display());
            Error::with_source(ErrorKind::Io, message, error)
        })?;
        Self::from_json(&json).map_err(|error| {
            let message = format!("{}: {error}", file.display());
            Error::with_source(error.kind(), message, error)
        })
    }

    /// The same for a model with `width` logits whose texts end with any of
    /// `ends`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::VocabularyMismatch`]: the tokenizer has tokens that the
    /// logits have no place for, or an end token is outside of them.
    pub fn for_model(self, width: usize, ends: &[u32]) -> Result<Self, Error> {
        let tokens = self.vocabulary.width();
        let mismatch = |error: fsm_index::Error| {
            let message = format!(
                "the tokenizer has {tokens} tokens, the model {width} logits and the end tokens {ends:?}: {error}"
            );
            Error::with_source(ErrorKind::VocabularyMismatch, message, error)
        };
        let vocabulary = self.vocabulary.with_width(width).map_err(mismatch)?;
        let vocabulary = match ends {
            [] => vocabulary,
            _ => vocabulary
                .with_ends(ends.iter().copied().map(TokenId::new))
                .map_err(mismatch)?,
        };
        Ok(Self { vocabulary, ..self })
    }

    /// The tokens' bytes, for building an index.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The tokenizer itself.
    pub fn inner(&self) -> &tokenizers::Tokenizer {
        &self.inner
    }

    /// The number of the token of that name.
    pub fn token_to_id(&self, name: &str) -> Option<u32> {
        self.inner.token_to_id(name)
    }

    /// The tokens of a text. Names of special tokens in it become those.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Tokenizer`].
    pub fn encode(&self, text: &str, surround: Surround) -> Result<Vec<u32>, Error> {
        let encoding = guarded("the text cannot be encoded", || {
            self.inner.encode_fast(text, surround == Surround::Add)
        })?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The tokens of a text with the bytes of it that each stands for. Bytes
    /// that a normaliser adds belong to none; several tokens may share a
    /// character.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Tokenizer`].
    ///
    /// ```
    /// use tokenmold::tokenizer::Surround;
    ///
    /// let tokenizer = tokenmold::embedded::load()?.tokenizer;
    /// let text = "Vera is 41.";
    /// for (token, bytes) in tokenizer.encode_with_offsets(text, Surround::Omit)? {
    ///     assert_eq!(tokenizer.describe(token), text[bytes]);
    /// }
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn encode_with_offsets(
        &self,
        text: &str,
        surround: Surround,
    ) -> Result<Vec<(u32, Range<usize>)>, Error> {
        let encoding = guarded("the text cannot be encoded", || {
            self.inner.encode(text, surround == Surround::Add)
        })?;
        let offsets = encoding
            .get_offsets()
            .iter()
            .map(|(start, end)| *start..*end);
        Ok(encoding.get_ids().iter().copied().zip(offsets).collect())
    }

    /// The tokens that `bytes` have where they follow `left`: those at the end
    /// of the tokens of both that spell `bytes` exactly, or none if a token
    /// spans the border, or a normaliser changes the bytes.
    ///
    /// Encoding `bytes` alone would be wrong: some tokenizers put a blank
    /// before a text, others join its start with what stands before.
    ///
    /// ```
    /// let tokenizer = tokenmold::embedded::load()?.tokenizer;
    /// // The tokenizer joins `{` and `"`, so that no tokens stand for what follows alone.
    /// assert!(tokenizer.encode_after("{", b"\"name\":").is_empty());
    /// let tokens = tokenizer.encode_after("{\"", b"name\":");
    /// assert_eq!(tokenizer.decode(&tokens), "name\":");
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn encode_after(&self, left: &str, bytes: &[u8]) -> Vec<u32> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Vec::new();
        };
        let Ok(tokens) = self.encode(&format!("{left}{text}"), Surround::Omit) else {
            return Vec::new();
        };
        let mut open = bytes;
        for (at, token) in tokens.iter().enumerate().rev() {
            if open.is_empty() {
                return tokens[at + 1..].to_vec();
            }
            let token = TokenId::new(*token);
            // Structure is spelt by its name.
            let bytes = self.vocabulary.token_bytes(token);
            let token = bytes.or_else(|| self.vocabulary.token_name(token));
            match token.and_then(|token| open.strip_suffix(token)) {
                Some(rest) if rest.len() < open.len() => open = rest,
                _ => return Vec::new(),
            }
        }
        match open {
            [] => tokens,
            _ => Vec::new(),
        }
    }

    /// Returns a token for people: its text with bytes that are not UTF-8 replaced, or the name of
    /// a special token.
    pub fn describe(&self, token: u32) -> String {
        let token = TokenId::new(token);
        let bytes = self
            .vocabulary
            .token_bytes(token)
            .or_else(|| self.vocabulary.token_name(token));
        String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
    }

    /// The text of tokens with the names of those that are structure: what a
    /// parser of responses reads. Bytes that are not UTF-8 are replaced.
    ///
    /// ```
    /// let tokenizer = tokenmold::embedded::load()?.tokenizer;
    /// let end = tokenizer.token_to_id("<|im_end|>").unwrap();
    /// assert_eq!(tokenizer.decode(&[end]), "");
    /// assert_eq!(tokenizer.decode_with_structure(&[end]), "<|im_end|>");
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn decode_with_structure(&self, tokens: &[u32]) -> String {
        let mut text = Vec::new();
        for token in tokens.iter().copied().map(TokenId::new) {
            let bytes = self.vocabulary.token_bytes(token);
            let bytes = bytes.or_else(|| self.vocabulary.token_name(token));
            text.extend_from_slice(bytes.unwrap_or_default());
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Tells whether a token is text, rather than structure.
    pub fn is_text(&self, token: u32) -> bool {
        self.vocabulary.kind(TokenId::new(token)) == TokenKind::Text
    }

    /// Turns tokens into text as they come.
    pub fn decoder(&self) -> Decoder<'_> {
        Decoder {
            tokenizer: self,
            held: Vec::new(),
            at_start: self.strips_leading_blank,
        }
    }

    /// The text of tokens. Special tokens have none; bytes that are not UTF-8
    /// are replaced.
    pub fn decode(&self, tokens: &[u32]) -> String {
        let mut decoder = self.decoder();
        let mut text: String = tokens.iter().map(|token| decoder.push(*token)).collect();
        text.push_str(&decoder.finish());
        text
    }
}

/// Tells whether the maps of characters in a normaliser have the length that they begin with.
/// Memory for that much is taken before anything is read.
fn maps_are_whole(normalizer: &Value) -> bool {
    let inner = normalizer["normalizers"].as_array().into_iter().flatten();
    if normalizer["type"] != "Precompiled" {
        // serde_json refuses nesting beyond 128 levels, which bounds this.
        return inner.into_iter().all(maps_are_whole);
    }
    let Some(map) = normalizer["precompiled_charsmap"].as_str() else {
        // Not of a kind that could be read.
        return true;
    };
    // The first four bytes of what six letters of base64 stand for, the lowest first.
    let mut bits: u64 = 0;
    for letter in map.bytes().take(6) {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return map.is_empty(),
        };
        bits = bits << 6 | u64::from(value);
    }
    let [.., a, b, c, d, _] = (bits << 4).to_be_bytes();
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    map.is_empty() || (map.len() >= 8 && length <= map.len() / 4 * 3 - 4)
}

/// A token that a post-processor names and does not define: encoding would panic.
fn undefined_token(processor: &Value) -> Option<&str> {
    // serde_json refuses nesting beyond 128 levels, which bounds this.
    let inner = processor["processors"].as_array().into_iter().flatten();
    let pieces = ["single", "pair"].map(|kind| processor[kind].as_array());
    let mut named = pieces
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|piece| piece["SpecialToken"]["id"].as_str());
    match processor["type"].as_str() {
        Some("TemplateProcessing") => {
            named.find(|name| processor["special_tokens"].get(name).is_none())
        }
        _ => inner.into_iter().find_map(undefined_token),
    }
}

/// Calls the `tokenizers` crate, which panics at some damaged files: a post-processor that names a
/// token that is not there, say, when it first encodes. A panic is an error here as any other. A
/// panic leaves nothing half done: reading gives a new value or none, and encoding changes no more
/// than a cache, whose lock is only tried.
pub(crate) fn guarded<T>(
    what: &str,
    call: impl FnOnce() -> Result<T, tokenizers::Error>,
) -> Result<T, Error> {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    let panicked = match outcome {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => {
            let message = format!("{what}: {error}");
            return Err(Error::with_source(ErrorKind::Tokenizer, message, error));
        }
        Err(panicked) => panicked,
    };
    let said = panicked
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panicked.downcast_ref::<&str>().copied())
        .unwrap_or("without a word");
    Err(Error::new(
        ErrorKind::Tokenizer,
        format!("{what}: the file is damaged, and its reader gave up: {said}"),
    ))
}

/// Tells whether a decoder takes the first blank of a text away again.
fn strips_leading_blank(decoder: &Value) -> bool {
    match decoder["type"].as_str() {
        Some("Sequence") => decoder["decoders"]
            .as_array()
            .is_some_and(|parts| parts.iter().any(strips_leading_blank)),
        Some("Strip") => decoder["content"] == " " && decoder["start"].as_u64().unwrap_or(0) > 0,
        Some("Metaspace") => decoder["prepend_scheme"].as_str().unwrap_or("always") != "never",
        _ => false,
    }
}

/// Turns tokens into text as they come, holding back bytes of a character that
/// is not complete yet.
///
/// ```
/// use tokenmold::tokenizer::Surround;
///
/// let tokenizer = tokenmold::embedded::load()?.tokenizer;
/// let mut decoder = tokenizer.decoder();
/// let mut shown = String::new();
/// for token in tokenizer.encode("naïve ✓", Surround::Omit)? {
///     shown += &decoder.push(token); // whole characters only
/// }
/// shown += &decoder.finish();
/// assert_eq!(shown, "naïve ✓");
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    tokenizer: &'a Tokenizer,
    held: Vec<u8>,
    at_start: bool,
}

impl Decoder<'_> {
    /// Takes a token and returns the text that is complete now, which may be
    /// empty. Special tokens have no text.
    pub fn push(&mut self, token: u32) -> String {
        let bytes = self.tokenizer.vocabulary.token_bytes(TokenId::new(token));
        let mut bytes = bytes.unwrap_or_default();
        if self.at_start && !bytes.is_empty() {
            bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
            self.at_start = false;
        }
        self.held.extend_from_slice(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.held) {
                Ok(rest) => {
                    text.push_str(rest);
                    self.held.clear();
                    return text;
                }
                Err(error) => {
                    let (good, rest) = self.held.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(good));
                    let wrong = error.error_len();
                    if wrong.is_some() {
                        text.push(char::REPLACEMENT_CHARACTER);
                    }
                    self.held = rest[wrong.unwrap_or(0)..].to_vec();
                    if wrong.is_none() {
                        return text;
                    }
                }
            }
        }
    }

    /// The bytes held back at the end, replaced.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.held).into_owned()
    }

    /// Keeps the first blank of the text, whatever the tokenizer does to it: a
    /// constraint has seen it.
    pub fn keep_leading_blank(&mut self) {
        self.at_start = false;
    }
}
