//! JSON values of callers that nest deeper than any text could.
//!
//! `serde_json` reads at most 128 levels; a value that is built in code can have any number,
//! and whatever recurses over it (a clone, a comparison, its printing, its end) then takes
//! all of the stack. So it is refused where it comes in. For example, `[[1]]` has two levels.

use serde_json::Value;

/// Most levels of lists and maps inside each other, as many as `serde_json` reads.
pub const MAX_DEPTH: usize = 128;

/// Returns true if a value nests at most [`MAX_DEPTH`] levels deep. Takes no stack.
///
/// ```
/// use json_tree::depth;
///
/// let mut value = serde_json::json!(1);
/// for _ in 0..129 {
///     value = serde_json::Value::Array(vec![value]);
/// }
/// assert!(!depth::is_within(&value));
/// depth::free(value);
/// ```
#[must_use]
pub fn is_within(value: &Value) -> bool {
    at_most(value, MAX_DEPTH)
}

/// Returns true if a value has at most so many levels of lists and maps. Takes no stack.
///
/// ```
/// let value = serde_json::json!({"a": [1, {}]});
/// assert!(json_tree::depth::at_most(&value, 3));
/// assert!(!json_tree::depth::at_most(&value, 2));
/// ```
#[must_use]
pub fn at_most(value: &Value, levels: usize) -> bool {
    visit_names(value, levels, |_| {})
}

/// Calls `name` with the name of each member of each map, in order, and returns true; returns
/// false as soon as there are more levels than that. Takes no stack.
///
/// ```
/// let mut names = Vec::new();
/// let value = serde_json::json!({"a": [{"b": 1}]});
/// assert!(json_tree::depth::visit_names(&value, 3, |name| names.push(name)));
/// assert_eq!(names, ["a", "b"]);
/// ```
pub fn visit_names<'v>(value: &'v Value, levels: usize, mut name: impl FnMut(&'v str)) -> bool {
    enum Inside<'v> {
        Items(std::slice::Iter<'v, Value>),
        Members(serde_json::map::Iter<'v>),
    }
    let mut open: Vec<Inside<'v>> = Vec::new();
    let mut next = Some(value);
    loop {
        match next {
            Some(Value::Array(items)) => open.push(Inside::Items(items.iter())),
            Some(Value::Object(map)) => open.push(Inside::Members(map.iter())),
            _ => {}
        }
        if open.len() > levels {
            return false;
        }
        next = match open.last_mut() {
            Some(Inside::Items(items)) => items.next(),
            Some(Inside::Members(members)) => members.next().map(|(key, value)| {
                name(key);
                value
            }),
            None => return true,
        };
        if next.is_none() {
            open.pop();
        }
    }
}

/// The message about a value that nests too deep.
#[must_use]
pub fn refusal(what: &str) -> String {
    format!("{what} nests deeper than {MAX_DEPTH} levels")
}

/// Frees a value however deep it nests. Dropping it as it is takes stack for each level.
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
/// assert_eq!(json_tree::depth::shown(&serde_json::json!({"a": 1})), r#"{"a":1}"#);
/// ```
#[must_use]
pub fn shown(value: &Value) -> String {
    match is_within(value) {
        true => value.to_string(),
        false => Value::Null.to_string(),
    }
}
