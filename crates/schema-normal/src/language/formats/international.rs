//! Internationalised names: sound subsets of RFC 5890 to 5893 and RFC 6531. The letters of a
//! U-label depend on tables and contexts; those here are all valid by RFC 5892, written from left
//! to right and in normal form C as they stand. For example, `straße` is a label here, and one with
//! a letter whose validity depends on its neighbours is left out.

use super::hosts::{ATOM, LABEL};

/// Letters beyond ASCII that may stand anywhere in a U-label. They are ranges of valid letters
/// alone, because a text that is generated must be valid by RFC 5892.
const LETTERS: &str = r"\u{DF}-\u{F6}\u{F8}-\u{FF}\u{3AC}-\u{3CE}\u{430}-\u{45F}\u{3041}-\u{3096}\u{30A1}-\u{30FA}\u{4E00}-\u{9FA5}\u{AC00}-\u{D7A3}";

/// A label of at most `most` characters. Eleven letters below U+D800 take at
/// most five digits of punycode each (RFC 3492), so that with `xn--` they are
/// never more than 63.
fn label(most: usize) -> String {
    let more = most - 1;
    format!("(?:{LABEL}|[a-z0-9]{{0,{more}}}[{LETTERS}][a-z0-9{LETTERS}]{{0,{more}}})")
}

/// RFC 5890, section 2.3.2.3, at most three labels, so that the name is never
/// longer than 253.
pub(super) fn hostname() -> String {
    // Both parts together: one letter and five on each side.
    let label = label(6);
    format!("{label}(?:\\.{label}){{0,2}}")
}

/// RFC 6531, section 3.3: the mailbox of RFC 5321 with characters beyond ASCII.
pub(super) fn email() -> String {
    let more = r"[0-9A-Za-z!#$%&'*+/=?^_`{|}~\u{80}-\u{10FFFF}-]";
    // Labels in ASCII that are short, so that nine of them with the longest local part are
    // never longer than a path may be.
    let short = "[0-9A-Za-z](?:[0-9A-Za-z-]?[0-9A-Za-z]|[0-9A-Za-z]{2,14})?";
    format!(
        "(?:{ATOM}{{1,64}}|{ATOM}(?:\\.?{ATOM}){{0,31}}|{ATOM}{{1,32}}\\.{ATOM}{{1,31}}|{more}{{1,16}}|{more}{{1,5}}(?:\\.{more}{{1,5}}){{1,2}})@(?:{}|{short}(?:\\.{short}){{0,8}})",
        hostname()
    )
}
