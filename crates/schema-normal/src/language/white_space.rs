//! Patterns for the white space between JSON's tokens. For example, `Whitespace::Pattern("[ ]?")`
//! allows one blank or none at each place.

use crate::error::{Error, ErrorKind};
use crate::language::pattern;
use crate::language::re::{Re, set_contains};
use crate::options::Whitespace;

/// The characters of JSON's white space (RFC 8259, section 2).
pub const WHITE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The most characters of white space that `Whitespace::Bounded` counts at one place: more than
/// anybody writes, because each is a state.
const MAX_BOUND: u32 = 100_000;

/// The white space that a policy admits between tokens.
pub enum Admitted {
    /// None.
    Nothing,
    /// A blank at most, after a comma or a colon.
    Blank,
    /// A blank after a comma or a colon.
    OneBlank,
    /// At most so many characters of white space at each place.
    UpTo(u32),
    /// The texts of an expression at each place.
    All(Re),
}

/// Returns the white space that a policy admits.
///
/// # Errors
///
/// [`ErrorKind::BadOption`] for a pattern that matches nothing, or more than white space.
pub fn admitted(policy: &Whitespace) -> Result<Admitted, Error> {
    Ok(match policy {
        Whitespace::Compact => Admitted::Nothing,
        Whitespace::SingleSpace => Admitted::Blank,
        Whitespace::Spaced => Admitted::OneBlank,
        Whitespace::Bounded(most) => Admitted::UpTo((*most).min(MAX_BOUND)),
        Whitespace::Pattern(pattern) => Admitted::All(expression(pattern)?),
    })
}

/// Returns the error for a policy whose pattern takes too many states.
#[cold]
pub fn too_large(policy: &Whitespace) -> Error {
    match policy {
        Whitespace::Pattern(pattern) => bad(pattern, "it takes too many states"),
        _ => bad("", "it takes too many states"),
    }
}

/// The white space that a pattern of `Whitespace::Pattern` matches as a whole.
fn expression(pattern: &str) -> Result<Re, Error> {
    let re = pattern::whole(pattern).map_err(|e| bad(pattern, &e.reason))?;
    if re == Re::Never {
        return Err(bad(pattern, "it matches nothing"));
    }
    if re.looks_around() {
        return Err(bad(
            pattern,
            "it looks around, and white space has other text around it at each place",
        ));
    }
    if !is_white(&re) {
        return Err(bad(
            pattern,
            "it matches more than JSON's white space (blank, tab, line feed, carriage return)",
        ));
    }
    Ok(re)
}

/// An error about a pattern.
#[cold]
fn bad(pattern: &str, why: &str) -> Error {
    Error::new(
        ErrorKind::BadOption,
        "",
        format!(
            "the pattern `{pattern}` of Options::whitespace cannot be used: {why}; use for example `[ \\n]{{0,4}}`"
        ),
    )
}

/// Tells whether all characters are white space. Each class counts, since expressions have no part
/// that matches nothing.
fn is_white(re: &Re) -> bool {
    match re {
        Re::Never | Re::Empty => true,
        Re::Class(set) => {
            let white = WHITE.iter().filter(|c| set_contains(set, **c)).count();
            let all = set.ranges().iter().map(|range| range.len());
            all.sum::<usize>() == white
        }
        Re::Concat(parts) | Re::Alt(parts) => parts.iter().all(is_white),
        Re::Repeat(inner, ..) => is_white(inner),
        Re::Look(..) => false,
    }
}
