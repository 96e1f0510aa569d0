//! The value of a number that is still being written. For example, that of `1.5e` is 1.5.

use serde_json::{Number, Value as Json};

/// Tells whether a number may hold that character.
pub(super) fn may_hold(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')
}

/// The longest number that `text` starts with.
pub(super) fn so_far(text: &str) -> Json {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let more = bytes[from..].iter().take_while(|b| b.is_ascii_digit());
        from + more.count()
    };
    let start = usize::from(bytes.first() == Some(&b'-'));
    let whole = match bytes.get(start) {
        Some(b'0') => start + 1,
        _ => digits(start),
    };
    if whole == start {
        return Json::Null;
    }
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let from = end + 1 + sign;
        if from <= bytes.len() && digits(from) > from {
            end = digits(from);
        }
    }
    let text = &text[..end];
    if end == whole {
        if let Ok(n) = text.parse::<i64>() {
            return n.into();
        }
        if let Ok(n) = text.parse::<u64>() {
            return n.into();
        }
    }
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map_or(Json::Null, Json::Number)
}
