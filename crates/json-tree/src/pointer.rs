//! JSON Pointers (RFC 6901), and references that lead into their own document by one.
//!
//! For example, `"$ref": "#/$defs/a~1b"` leads to the member `a/b` of `$defs`.
//! [`Value::pointer`] looks a pointer up.

use std::borrow::Cow;

use serde_json::Value;

/// Returns a name as one token of a pointer (section 3).
///
/// ```
/// assert_eq!(json_tree::pointer::escape("a/b~c"), "a~1b~0c");
/// ```
#[must_use]
pub fn escape(name: &str) -> Cow<'_, str> {
    match name.contains(['~', '/']) {
        true => name.replace('~', "~0").replace('/', "~1").into(),
        false => name.into(),
    }
}

/// Returns the name that a token of a pointer stands for (section 4).
///
/// ```
/// assert_eq!(json_tree::pointer::unescape("a~1b~0c"), "a/b~c");
/// ```
#[must_use]
pub fn unescape(token: &str) -> Cow<'_, str> {
    match token.contains('~') {
        true => token.replace("~1", "/").replace("~0", "~").into(),
        false => token.into(),
    }
}

/// Returns the pointer of a reference into its own document; `None` for one to another
/// document, and for the name of an anchor.
///
/// ```
/// use json_tree::pointer;
///
/// assert_eq!(pointer::of_reference("#/$defs/a%20b").as_deref(), Some("/$defs/a b"));
/// assert_eq!(pointer::of_reference("#anchor"), None);
/// ```
#[must_use]
pub fn of_reference(reference: &str) -> Option<Cow<'_, str>> {
    let fragment = reference.strip_prefix('#')?;
    let pointer = percent_decode(fragment);
    (pointer.is_empty() || pointer.starts_with('/')).then_some(pointer)
}

/// Returns the value that the local `$ref` of a schema leads to, if it has one that leads to
/// something.
///
/// ```
/// let root = serde_json::json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}});
/// assert_eq!(json_tree::pointer::referred(&root, &root), Some(&root["$defs"]["a"]));
/// ```
#[must_use]
pub fn referred<'v>(root: &'v Value, schema: &Value) -> Option<&'v Value> {
    root.pointer(&of_reference(schema.get("$ref")?.as_str()?)?)
}

/// Reads `%` and two hexadecimal digits as the byte that they name; a text that is no UTF-8
/// then is left as it is.
///
/// ```
/// assert_eq!(json_tree::pointer::percent_decode("/a%25b%"), "/a%b%");
/// ```
#[must_use]
pub fn percent_decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let code = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let (byte, left) = match (first, code) {
            (b'%', Some(code)) => (code, &after[2..]),
            _ => (*first, after),
        };
        out.push(byte);
        rest = left;
    }
    String::from_utf8(out).map_or(text.into(), Cow::from)
}
