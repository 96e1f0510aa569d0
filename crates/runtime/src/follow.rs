//! A given text, token by token, under a constraint. For example, `{"a": 1}` is followed to its end
//! under `{"type": "object"}`, and `{"a": tru}` to the byte 9, where `e` must come.

use fsm_index::{AnyGuide, TokenId, TokenMask, Vocabulary};

/// A token of a text that is followed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct FollowedToken {
    /// The byte at which it begins.
    pub offset: usize,
    /// The token.
    pub token: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The number of tokens that could have come in its place, if that is known.
    pub allowed: Option<usize>,
    /// True if it was taken.
    pub accepted: bool,
}

/// The place at which a text is refused.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// The byte.
    pub offset: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its place in the line, from 1, in bytes.
    pub column: usize,
    /// The JSON Pointer of the value that it lies in, if the text were JSON.
    pub pointer: String,
    /// Why, for people.
    pub why: String,
}

/// Returns the tokens of a text as a tokenizer cut it, if they spell it, or else its single bytes.
///
/// # Errors
///
/// The byte that no token stands for alone.
pub fn tokens_of(
    vocabulary: &Vocabulary,
    cut: Option<&[TokenId]>,
    text: &[u8],
) -> Result<Vec<TokenId>, u8> {
    if let Some(cut) = cut {
        let spelt = cut.iter().flat_map(|&token| bytes_of(vocabulary, token));
        if spelt.eq(text) {
            return Ok(cut.to_vec());
        }
    }
    let single = |byte: u8| {
        let token = vocabulary.texts().find(|(_, bytes)| *bytes == [byte]);
        token.map(|(id, _)| id).ok_or(byte)
    };
    text.iter().map(|&byte| single(byte)).collect()
}

/// Returns the bytes of a token, or the name of one that is structure.
pub fn bytes_of(vocabulary: &Vocabulary, token: TokenId) -> &[u8] {
    let bytes = vocabulary.token_bytes(token);
    bytes
        .or_else(|| vocabulary.token_name(token))
        .unwrap_or_default()
}

/// Follows a text, and tells `each` of its tokens, up to the one that is refused.
///
/// # Errors
///
/// The place at which it is refused, or ends too early.
///
/// ```
/// use std::sync::Arc;
/// use tokenmold::follow::{follow, tokens_of};
/// use tokenmold::prelude::*;
///
/// let tokenizer = tokenmold::embedded::load()?.tokenizer;
/// let mut guide = Guide::new(Arc::new(Index::new("[ab]+", tokenizer.vocabulary())?));
/// let tokens = tokens_of(tokenizer.vocabulary(), None, b"abc").expect("a token for each byte");
/// let refused = follow(&mut guide, b"abc", &tokens, &mut |_| {}).unwrap_err();
/// assert_eq!(refused.offset, 2);
/// # Ok::<(), Error>(())
/// ```
pub fn follow(
    guide: &mut dyn AnyGuide,
    text: &[u8],
    tokens: &[TokenId],
    each: &mut dyn FnMut(FollowedToken),
) -> Result<(), Refusal> {
    let mut at = 0;
    for &token in tokens {
        let bytes = bytes_of(guide.vocabulary(), token).to_vec();
        let allowed = guide.mask().ok().map(TokenMask::count);
        let taken = guide.advance(token);
        let length = bytes.len();
        each(FollowedToken {
            offset: at,
            token: token.get(),
            bytes,
            allowed,
            accepted: taken.is_ok(),
        });
        if let Err(error) = taken {
            let offset = at + error.offset().unwrap_or(0);
            return Err(refusal(text, offset, error.to_string()));
        }
        at += length;
    }
    if guide.is_accepting() {
        return Ok(());
    }
    let next = guide.allowed_bytes();
    let next = String::from_utf8_lossy(&next[..next.len().min(SHOWN)]).into_owned();
    let why = format!("the text ends too early; one of {next:?} must follow");
    Err(refusal(text, text.len(), why))
}

/// The most bytes that could follow and are named, because nobody reads more than a line of them.
const SHOWN: usize = 16;

fn refusal(text: &[u8], offset: usize, why: String) -> Refusal {
    let before = &text[..offset.min(text.len())];
    Refusal {
        offset,
        line: before.iter().filter(|&&b| b == b'\n').count() + 1,
        column: before.iter().rev().take_while(|&&b| b != b'\n').count() + 1,
        pointer: instance_pointer(before),
        why,
    }
}

/// The JSON Pointer (RFC 6901) of the value that the end of `prefix`, the
/// beginning of a JSON text, lies in. Not JSON: as far as it can be told.
fn instance_pointer(prefix: &[u8]) -> String {
    enum Level {
        Array(usize),
        Object(Option<String>),
    }
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    while at < prefix.len() {
        match prefix[at] {
            b'[' => levels.push(Level::Array(0)),
            b'{' => levels.push(Level::Object(None)),
            b']' | b'}' => {
                levels.pop();
            }
            b',' => match levels.last_mut() {
                Some(Level::Array(n)) => *n += 1,
                Some(Level::Object(key)) => *key = None,
                None => {}
            },
            b'"' => {
                let from = at;
                at += 1;
                while at < prefix.len() && prefix[at] != b'"' {
                    at += 1 + usize::from(prefix[at] == b'\\');
                }
                if let Some(Level::Object(key @ None)) = levels.last_mut()
                    && at < prefix.len()
                {
                    let text = serde_json::from_slice(&prefix[from..=at]);
                    *key = Some(text.unwrap_or_default());
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut pointer = String::new();
    for level in levels {
        match level {
            Level::Array(n) => {
                pointer.push_str(&format!("/{n}"));
            }
            Level::Object(Some(key)) => {
                pointer.push('/');
                pointer.push_str(&json_tree::pointer::escape(&key));
            }
            Level::Object(None) => {}
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::instance_pointer;

    #[test]
    fn pointers_name_the_value_that_a_text_breaks_off_in() {
        let cases = [
            ("", ""),
            ("{\"a", ""),
            ("{\"a\": ", "/a"),
            ("{\"a\": [1, {\"b/c\": \"x,{", "/a/1/b~1c"),
            ("{\"a\": [1], \"b\": {\"c\": 1}", "/b"),
            ("[[], [\"\\\"]\", ", "/1/1"),
            ("{\"k\\u0041\": ", "/kA"),
        ];
        for (prefix, pointer) in cases {
            assert_eq!(instance_pointer(prefix.as_bytes()), pointer, "{prefix}");
        }
    }
}
