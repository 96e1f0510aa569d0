//! The beginning and the end of a text that is too long to be read, for messages that may quote a
//! whole document. For example, 3,000 letters cut at 2,000 are the first 1,500, ` .. ` and the
//! last 400.

use std::borrow::Cow;

/// Returns a text of more than `most` bytes without its middle, between characters; a shorter one
/// as it is.
///
/// ```
/// use json_tree::excerpt::cut;
///
/// assert_eq!(cut("a long text that nobody reads", 20), "a long text tha .. eads");
/// ```
#[must_use]
pub fn cut<'t>(text: impl Into<Cow<'t, str>>, most: usize) -> Cow<'t, str> {
    let text = text.into();
    if text.len() <= most {
        return text;
    }
    let head = text.floor_char_boundary(most * 3 / 4);
    let tail = text.ceil_char_boundary(text.len() - most / 5);
    Cow::Owned(format!("{} .. {}", &text[..head], &text[tail..]))
}
