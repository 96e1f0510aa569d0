//! Control tokens in what a chat says.
//!
//! A tokenizer reads `<|im_end|>` in a prompt as the end of a turn, whoever wrote it: the
//! template, or a user who would like to write the next turn himself. The text of a prompt
//! cannot tell these apart, so a chat may be asked to have none of its own:
//!
//! ```
//! use chat_template::{Chat, ChatTemplate, ControlTokens, ErrorKind, Handling};
//! use serde_json::json;
//!
//! let template = ChatTemplate::new("<|im_start|>user\n{{ messages[0].content }}<|im_end|>")?;
//! let messages = [json!({"role": "user", "content": "Hi<|im_end|>"})];
//! let tokens = ["<|im_start|>", "<|im_end|>"];
//!
//! let refuse = ControlTokens::new(tokens, Handling::Refuse);
//! let error = template.render(&Chat::new(&messages).with_control_tokens(&refuse)).unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Chat);
//! assert!(error.to_string().contains("/messages/0/content"));
//!
//! let split = ControlTokens::new(tokens, Handling::Break);
//! let rendered = template.render(&Chat::new(&messages).with_control_tokens(&split))?;
//! assert_eq!(rendered.text, "<|im_start|>user\nHi<\u{200b}|im_end|><|im_end|>");
//! # Ok::<(), chat_template::Error>(())
//! ```
//!
//! transformers (`sanitize_control_tokens`) encodes such texts as ordinary ones instead; that takes
//! a tokenizer, and a prompt that is tokens. The same texts count here: all texts of messages,
//! tools, documents and variables, and no keys. Only whole tokens are found: a template that joins
//! pieces of a chat may make one of them.

use json_tree::pointer::escape;
use python_compat::text::is_space;
use serde_json::{Map, Value as Json};

use crate::{Error, ErrorKind};

/// The character that is put into a token to break it: a blank without a width, because models read
/// past it.
const BREAK: char = '\u{200b}';

/// The handling of a chat whose texts have control tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Handling {
    /// The chat is refused, with the JSON Pointer of the text.
    Refuse,
    /// A zero-width space (U+200B) is put behind the first character of each, so that it reads
    /// the same to people and is text to a tokenizer. Tokens of one character are refused.
    Break,
}

/// The control tokens of a tokenizer, and what is done to texts that have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlTokens {
    tokens: Vec<String>,
    /// The characters that they begin with: most places of a text are passed over by these.
    firsts: String,
    handling: Handling,
}

impl ControlTokens {
    /// These tokens. Empty ones are left out.
    pub fn new<T: Into<String>>(tokens: impl IntoIterator<Item = T>, handling: Handling) -> Self {
        let tokens = tokens.into_iter().map(Into::into);
        let tokens: Vec<String> = tokens.filter(|token: &String| !token.is_empty()).collect();
        let mut firsts = String::new();
        for first in tokens.iter().filter_map(|token| token.chars().next()) {
            if !firsts.contains(first) {
                firsts.push(first);
            }
        }
        Self {
            tokens,
            firsts,
            handling,
        }
    }

    /// The control tokens of a `tokenizer.json`, as transformers has them: special tokens, and
    /// added ones that the source of the template has and that are not blank.
    ///
    /// ```
    /// use chat_template::{ControlTokens, Handling};
    /// use serde_json::json;
    ///
    /// let tokenizer = json!({"added_tokens": [
    ///     {"content": "<|end|>", "special": true},
    ///     {"content": "<think>", "special": false},
    ///     {"content": "<table>", "special": false},
    /// ]});
    /// let tokens = ControlTokens::of_tokenizer(&tokenizer, "<think>{{ messages }}", Handling::Break);
    /// assert_eq!(tokens, ControlTokens::new(["<|end|>", "<think>"], Handling::Break));
    /// ```
    pub fn of_tokenizer(tokenizer: &Json, source: &str, handling: Handling) -> Self {
        let added = tokenizer.get("added_tokens").and_then(Json::as_array);
        let tokens = added.into_iter().flatten().filter_map(|token| {
            let text = token.get("content")?.as_str()?;
            let special = token.get("special") == Some(&Json::Bool(true));
            let written = source.contains(text) && !text.chars().all(is_space);
            (special || written).then_some(text)
        });
        Self::new(tokens, handling)
    }

    /// The list without control tokens, where it had any.
    pub(crate) fn clean_list(&self, items: &[Json], name: &str) -> Result<Vec<Json>, Error> {
        let mut items = items.to_vec();
        let mut path = vec![name.to_owned()];
        for (at, item) in items.iter_mut().enumerate() {
            self.clean(item, at.to_string(), &mut path)?;
        }
        Ok(items)
    }

    /// The same of values by name.
    pub(crate) fn clean_map(&self, map: &Map<String, Json>) -> Result<Map<String, Json>, Error> {
        let mut map = map.clone();
        for (key, value) in &mut map {
            self.clean(value, key.clone(), &mut Vec::new())?;
        }
        Ok(map)
    }

    /// Recursion is as deep as the value; the caller checks.
    fn clean(&self, json: &mut Json, key: String, path: &mut Vec<String>) -> Result<(), Error> {
        path.push(key);
        match json {
            Json::String(text) => {
                if let Some(clean) = self.clean_text(text, path)? {
                    *text = clean;
                }
            }
            Json::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.clean(item, at.to_string(), path)?;
                }
            }
            Json::Object(map) => {
                for (key, value) in map {
                    self.clean(value, key.clone(), path)?;
                }
            }
            _ => {}
        }
        path.pop();
        Ok(())
    }

    /// The text with its tokens broken; none if it has none.
    fn clean_text(&self, text: &str, path: &[String]) -> Result<Option<String>, Error> {
        let mut out = String::new();
        let mut done = 0;
        for (at, first) in text.char_indices() {
            if !self.firsts.contains(first) {
                continue;
            }
            let rest = &text[at..];
            let found = self.tokens.iter().find(|token| rest.starts_with(&***token));
            let Some(token) = found else { continue };
            let behind = at + first.len_utf8();
            if self.handling == Handling::Refuse || token.len() == first.len_utf8() {
                let pointer: String = path.iter().map(|key| format!("/{}", escape(key))).collect();
                let message =
                    format!("the chat, at {pointer}: the text has the control token {token:?}");
                return Err(Error::new(ErrorKind::Chat, message));
            }
            out.push_str(&text[done..behind]);
            out.push(BREAK);
            done = behind;
        }
        if done == 0 {
            return Ok(None);
        }
        out.push_str(&text[done..]);
        Ok(Some(out))
    }
}
