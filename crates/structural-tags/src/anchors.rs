//! The texts that the anchors of a response template stand for.
//!
//! For example, the pattern `(?:<a>|<b>)\s*` stands for the texts `<a>` and `<b>`.

use serde_json::Value;

/// A text, or a list of texts.
pub(super) fn texts(json: &Value) -> Vec<String> {
    match json {
        Value::String(text) => vec![text.clone()],
        Value::Array(texts) => texts
            .iter()
            .filter_map(|text| text.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

/// The texts of an anchor, whether it is one or a pattern.
pub(super) fn anchors(
    spec: &serde_json::Map<String, Value>,
    side: &str,
) -> Result<Vec<String>, String> {
    if let Some(anchor) = spec.get(side) {
        return Ok(texts(anchor));
    }
    match spec.get(&format!("{side}_pattern")).and_then(Value::as_str) {
        None => Ok(Vec::new()),
        Some(pattern) => spelt(pattern).ok_or_else(|| {
            format!("_pattern {pattern:?} is not a list of texts with white space around them")
        }),
    }
}

/// The most texts that a pattern may stand for, because each becomes a marker.
const MAX_SPELT: usize = 64;

/// The texts that a pattern stands for, white space that may be there left out:
/// first those without the parts that may be missing. `{name}` stands for a
/// group of that name. `None` if there is more to the pattern.
fn spelt(pattern: &str) -> Option<Vec<String>> {
    let (texts, rest) = alternatives(pattern, 0)?;
    rest.is_empty().then_some(texts)
}

/// Alternatives up to a closing parenthesis, and what is behind them.
fn alternatives(pattern: &str, depth: usize) -> Option<(Vec<String>, &str)> {
    if depth > 8 {
        return None;
    }
    let mut all = Vec::new();
    let mut rest = pattern;
    loop {
        let (texts, behind) = sequence(rest, depth)?;
        all.extend(texts);
        if all.len() > MAX_SPELT {
            return None;
        }
        match behind.strip_prefix('|') {
            Some(more) => rest = more,
            None => return Some((all, behind)),
        }
    }
}

fn sequence(pattern: &str, depth: usize) -> Option<(Vec<String>, &str)> {
    let mut texts = vec![String::new()];
    let mut rest = pattern;
    while !rest.is_empty() && !rest.starts_with([')', '|']) {
        let (mut items, behind) = item(rest, depth);
        rest = behind?;
        if let Some(behind) = rest.strip_prefix('?') {
            rest = behind;
            // First without the optional item; one that cannot be spelt out is left out always.
            let mut with_nothing = vec![String::new()];
            with_nothing.extend(items.take().unwrap_or_default());
            items = Some(with_nothing);
        }
        let items = items?;
        texts = items
            .iter()
            .flat_map(|item| texts.iter().map(move |text| format!("{text}{item}")))
            .collect();
        if texts.len() > MAX_SPELT {
            return None;
        }
    }
    Some((texts, rest))
}

/// The texts of one item, `None` if they are not known, and what is behind it,
/// `None` if that is not known.
fn item(pattern: &str, depth: usize) -> (Option<Vec<String>>, Option<&str>) {
    let one = |text: &str, rest| (Some(vec![text.to_owned()]), Some(rest));
    if let Some(rest) = pattern.strip_prefix("\\s*") {
        return one("", rest);
    }
    if let Some(inner) = pattern.strip_prefix("(?P<name>") {
        return match skip_group(inner) {
            Some(rest) => one("{name}", rest),
            None => (None, None),
        };
    }
    if let Some(inner) = pattern.strip_prefix("(?:") {
        return match alternatives(inner, depth + 1) {
            Some((texts, rest)) => match rest.strip_prefix(')') {
                Some(rest) => (Some(texts), Some(rest)),
                None => (None, None),
            },
            None => (None, skip_group(inner)),
        };
    }
    let mut chars = pattern.chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), Some(c)) => {
            let text = match c {
                'n' => "\n".to_owned(),
                't' => "\t".to_owned(),
                c if c.is_ascii_alphanumeric() => return (None, None),
                c => c.to_string(),
            };
            literal(&text, chars.as_str())
        }
        (Some(c), _) if !"\\^$.[](){}*+?|".contains(c) => {
            literal(&c.to_string(), &pattern[c.len_utf8()..])
        }
        (Some(']'), _) => literal("]", &pattern[1..]),
        _ => (None, None),
    }
}

/// A character that is not repeated.
fn literal<'p>(text: &str, rest: &'p str) -> (Option<Vec<String>>, Option<&'p str>) {
    match rest.starts_with(['*', '+', '{']) {
        true => (None, None),
        false => (Some(vec![text.to_owned()]), Some(rest)),
    }
}

/// Returns what is behind the group that `inner` is the inside of.
fn skip_group(inner: &str) -> Option<&str> {
    let mut open = 1;
    let mut in_class = false;
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            _ if escaped => {
                escaped = false;
                continue;
            }
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => open += 1,
            ')' if !in_class => {
                open -= 1;
                if open == 0 {
                    return Some(&inner[at + 1..]);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_spelt_out() {
        let texts = |pattern: &str| spelt(pattern);
        let list = |texts: &[&str]| Some(texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        assert_eq!(texts(r"\s*<think>"), list(&["<think>"]));
        assert_eq!(
            texts(r"\s*(?:<\|im_end\|>|\[EOS\])\s*"),
            list(&["<|im_end|>", "[EOS]"])
        );
        assert_eq!(
            texts(r"\s*(?:<a>\s*)?<b>(?P<name>[^<｜\n()]+)<c>"),
            list(&["<b>{name}<c>", "<a><b>{name}<c>"])
        );
        assert_eq!(texts(r"<x>(?:\s*<y>[^<]*)?<z>"), list(&["<x><z>"]));
        for beyond in [
            "a*",
            "[ab]",
            "(?=a)",
            "(a",
            r"\d",
            "a{2}",
            "^a",
            "(?P<id>a)",
            "a)",
        ] {
            assert_eq!(texts(beyond), None, "{beyond}");
        }
    }
}
