//! JSON values of callers that nest deeper than any text could.
//!
//! `serde_json` reads at most 128 levels; a value that is built in code can have any number,
//! and whatever recurses over it (a clone, a comparison, its printing, its end) then takes
//! all of the stack. So it is refused where it comes in.

use serde_json::Value;

/// Most levels of lists and maps inside each other, as many as `serde_json` reads.
pub const MAX_DEPTH: usize = 128;

/// Tells whether a value nests at most [`MAX_DEPTH`] levels deep. Takes no stack.
///
/// ```
/// use python_compat::depth;
///
/// let mut value = serde_json::json!(1);
/// for _ in 0..129 {
///     value = serde_json::Value::Array(vec![value]);
/// }
/// assert!(!depth::is_within(&value));
/// depth::free(value);
/// ```
pub fn is_within(value: &Value) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return false;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    true
}

/// Returns the message about a value that is not.
#[must_use]
pub fn refusal(what: &str) -> String {
    format!("{what} nests deeper than {MAX_DEPTH} levels")
}

/// Frees a value however deep it nests.
pub fn free(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

/// A value as JSON, as its `Display` writes it; one that nests too deep as `null`.
///
/// ```
/// assert_eq!(python_compat::depth::shown(&serde_json::json!({"a": 1})), r#"{"a":1}"#);
/// ```
pub fn shown(value: &Value) -> String {
    match is_within(value) {
        true => value.to_string(),
        false => Value::Null.to_string(),
    }
}
