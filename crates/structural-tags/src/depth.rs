//! JSON values of callers that nest deeper than any text could.
//!
//! `serde_json` reads at most 128 levels; a value that is built in code can have any number,
//! and whatever recurses over it (a clone, a comparison, its printing, its end) then takes
//! all of the stack. So it is refused where it comes in.

use serde_json::Value;

/// Most levels of lists and maps inside each other, as many as `serde_json` reads.
pub(crate) const MAX_DEPTH: usize = 128;

/// Whether a value nests at most [`MAX_DEPTH`] levels deep. Takes no stack.
pub(crate) fn is_within(value: &Value) -> bool {
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

/// What is said of a value that is not.
pub(crate) fn refusal(what: &str) -> String {
    format!("{what} nests deeper than {MAX_DEPTH} levels")
}
