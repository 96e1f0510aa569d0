//! Look-around, which `regex-syntax` does not read, as groups that have a name there.
//!
//! For example, the first look of `(?=a)` becomes `(?P<look.a0>a)`. No group of a pattern is
//! named so, because names in patterns have no dot.

use fsm_tables::Look;

/// The sign behind `(?`, the look, and the name of its group: looks become named groups, because
/// the parser of `regex-syntax` has none.
pub(crate) const LOOKS: [(&str, Look, &str); 4] = [
    ("<=", Look::Behind, "look.b"),
    ("<!", Look::NotBehind, "look.x"),
    ("=", Look::Ahead, "look.a"),
    ("!", Look::NotAhead, "look.n"),
];

/// The look that a group of a rewritten pattern is, by its name.
///
/// ```
/// assert_eq!(regex_dialects::look_of("look.a0"), Some(fsm_tables::Look::Ahead));
/// assert_eq!(regex_dialects::look_of("year"), None);
/// ```
#[must_use]
pub fn look_of(name: &str) -> Option<Look> {
    let look = LOOKS.iter().find(|look| name.starts_with(look.2));
    look.map(|look| look.1)
}
