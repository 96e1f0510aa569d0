//! The JSON of Gemma 4's calls as JSON proper. For example, `{city:<|"|>Ulm<|"|>}` is
//! `{"city":"Ulm"}`.

use python_compat::show::Style;
use python_compat::text::is_alphanumeric;

/// The JSON of a call as Gemma 4 writes it: strings between `<|"|>`, keys without quotes.
///
/// For example, `{city:<|"|>Ulm<|"|>}` is `{"city":"Ulm"}`. O(text).
pub(super) fn gemma4_as_json(text: &str) -> String {
    /// The mark around strings, as Gemma 4 writes it.
    const QUOTE: &str = "<|\"|>";
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    // Keys stand behind these, and nothing else does in what was a string.
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        if let Some(inside) = rest.strip_prefix(QUOTE)
            && let Some((string, behind)) = inside.split_once(QUOTE)
        {
            let style = Style::compact_ascii();
            out.push_str(&python_compat::dumps(string, &style).unwrap_or_default());
            (rest, before) = (behind, ' ');
            continue;
        }
        if matches!(before, '{' | ',') {
            let is_word = |c: char| is_alphanumeric(c) || c == '_';
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (key, behind) = rest.split_at(end);
            if let (false, Some(behind)) = (key.is_empty(), behind.strip_prefix(':')) {
                out.extend(["\"", key, "\":"]);
                (rest, before) = (behind, ':');
                continue;
            }
        }
        out.push(first);
        (rest, before) = (&rest[first.len_utf8()..], first);
    }
    out
}
