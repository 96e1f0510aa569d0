//! Chats as tokens: one, or several padded to the same length. For example, chats of 5 and 8 tokens
//! are padded to 8, and the first row of the attention mask has three times `false`.

use std::ops::Range;

use super::{Chat, ChatTemplates, Rendered};
use crate::tokenizer::{Surround, Tokenizer};
use crate::{Error, ErrorKind};

/// A chat as tokens.
///
/// ```
/// use serde_json::json;
/// use tokenmold::chat::{Chat, ChatTemplates};
///
/// let tokenizer = tokenmold::embedded::load()?.tokenizer;
/// let templates = ChatTemplates::from_source(
///     "{{ messages[0].content }} {% generation %}{{ messages[1].content }}{% endgeneration %}",
/// );
/// let messages = [json!({"role": "user", "content": "Is it?"}), json!({"role": "assistant", "content": "Yes."})];
/// let encoded = templates.encode(&Chat::new(&messages), &tokenizer)?;
/// let labels = encoded.labels()?;
/// assert_eq!(labels.len(), encoded.tokens.len());
/// assert_eq!(labels[0], -100); // the question is not learned
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedChat {
    /// The chat that was encoded.
    pub rendered: Rendered,
    /// The tokens. Special tokens are those that the template wrote; none are
    /// added.
    pub tokens: Vec<u32>,
    /// The bytes of the text that each token stands for.
    pub offsets: Vec<Range<usize>>,
}

impl EncodedChat {
    /// Which tokens the model is to learn to say: those with a part in a
    /// generation block of the template.
    ///
    /// O(tokens + blocks).
    ///
    /// # Errors
    ///
    /// As of [`Rendered::generated`]; [`ErrorKind::Chat`] if the template has
    /// no such block, which would be a chat to learn nothing from.
    pub fn assistant_mask(&self) -> Result<Vec<bool>, Error> {
        let generated = self.rendered.generated()?;
        if generated.is_empty() {
            return Err(Error::new(
                ErrorKind::Chat,
                "the chat template printed no generation block, so that it is not known what the \
                 model says; put {% generation %} and {% endgeneration %} around it",
            ));
        }
        let said = |token: &Range<usize>| {
            let overlaps =
                |block: &Range<usize>| token.start < block.end && block.start < token.end;
            token.start < token.end && generated.iter().any(overlaps)
        };
        Ok(self.offsets.iter().map(said).collect())
    }

    /// The tokens as labels for training: those that the model is to learn to
    /// say, and -100, which losses leave out, for the others.
    ///
    /// # Errors
    ///
    /// As of [`EncodedChat::assistant_mask`].
    pub fn labels(&self) -> Result<Vec<i64>, Error> {
        let mask = self.assistant_mask()?;
        let labels = self.tokens.iter().zip(mask);
        Ok(labels
            .map(|(token, said)| if said { i64::from(*token) } else { -100 })
            .collect())
    }
}

/// The side of the padding of shorter chats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PaddingSide {
    /// Before the chat, so that all end together: for generating.
    #[default]
    Left,
    /// After the chat: for training.
    Right,
}

/// Chats as tokens, padded to the length of the longest.
///
/// ```
/// use serde_json::json;
/// use tokenmold::chat::{Chat, PaddingSide};
///
/// let loaded = tokenmold::embedded::load()?;
/// let short = [json!({"role": "user", "content": "Hi"})];
/// let long = [json!({"role": "user", "content": "A longer one."})];
/// let chats = [Chat::new(&short), Chat::new(&long)];
/// let batch = loaded.chat.encode_batch(&chats, &loaded.tokenizer, PaddingSide::Left)?;
/// assert_eq!(batch.tokens[0].len(), batch.tokens[1].len());
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedBatch {
    /// The chats, without padding.
    pub chats: Vec<EncodedChat>,
    /// Their tokens, rows of the same length.
    pub tokens: Vec<Vec<u32>>,
    /// The tokens that a model looks at: true for tokens of the chat, false for padding.
    pub attention_mask: Vec<Vec<bool>>,
}

impl ChatTemplates {
    /// Writes a chat out and encodes it. The tokenizer adds no special tokens:
    /// the template has written them.
    ///
    /// # Errors
    ///
    /// As of [`ChatTemplates::apply`]; [`ErrorKind::Tokenizer`].
    pub fn encode(&self, chat: &Chat<'_>, tokenizer: &Tokenizer) -> Result<EncodedChat, Error> {
        let rendered = self.apply(chat)?;
        let encoded = tokenizer.encode_with_offsets(&rendered.text, Surround::Omit)?;
        let (tokens, offsets) = encoded.into_iter().unzip();
        Ok(EncodedChat {
            rendered,
            tokens,
            offsets,
        })
    }

    /// Encodes several chats and pads them to the length of the longest, with
    /// the `pad_token` of the model, or its `eos_token` where it has none.
    ///
    /// # Errors
    ///
    /// As of [`ChatTemplates::encode`], naming the chat by its place from 0;
    /// [`ErrorKind::Tokenizer`] if chats differ in length and there is no
    /// token to pad with.
    pub fn encode_batch(
        &self,
        chats: &[Chat<'_>],
        tokenizer: &Tokenizer,
        side: PaddingSide,
    ) -> Result<EncodedBatch, Error> {
        let encoded: Result<Vec<EncodedChat>, Error> = chats
            .iter()
            .enumerate()
            .map(|(at, chat)| {
                self.encode(chat, tokenizer).map_err(|error| {
                    let message = format!("chat {at} of the batch: {error}");
                    Error::with_source(error.kind(), message, error)
                })
            })
            .collect();
        let chats = encoded?;
        let length = chats
            .iter()
            .map(|chat| chat.tokens.len())
            .max()
            .unwrap_or(0);
        let padded = chats.iter().any(|chat| chat.tokens.len() < length);
        let padding = match padded {
            true => self.padding_token(tokenizer)?,
            false => 0,
        };
        let row = |chat: &EncodedChat| {
            let missing = length - chat.tokens.len();
            let mut tokens = vec![padding; length];
            let mut mask = vec![false; length];
            let start = match side {
                PaddingSide::Left => missing,
                PaddingSide::Right => 0,
            };
            let end = start + chat.tokens.len();
            tokens[start..end].copy_from_slice(&chat.tokens);
            mask[start..end].fill(true);
            (tokens, mask)
        };
        let (tokens, attention_mask) = chats.iter().map(row).unzip();
        Ok(EncodedBatch {
            chats,
            tokens,
            attention_mask,
        })
    }

    fn padding_token(&self, tokenizer: &Tokenizer) -> Result<u32, Error> {
        let named = ["pad_token", "eos_token"].into_iter().find_map(|name| {
            let text = self.special_tokens().get(name)?.as_str()?;
            tokenizer.token_to_id(text)
        });
        named.ok_or_else(|| {
            Error::new(
                ErrorKind::Tokenizer,
                "there is no `pad_token` or `eos_token` to pad the batch with; set one among the \
                 special tokens",
            )
        })
    }
}
