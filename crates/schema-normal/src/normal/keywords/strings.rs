//! `minLength`, `maxLength`, `pattern` and `format`.
//!
//! For example, the complement of `{"minLength": 3}` is `{"maxLength": 2}`.

use crate::error::Error;
use crate::ir::PatternId;
use crate::language::formats::Format;
use crate::normal::alternative::{At, Shape, StringShape};
use crate::normal::keywords::sense::{Sense, at_most, bound_count};
use crate::normal::locations::Locations;
use crate::normal::partial::{Flow, Partial, flow};
use crate::options::Complements;
use crate::options::{Formats, Target};

/// At least so many characters, or fewer.
pub(super) fn min_length(p: &mut Partial, at: At, sense: Sense, n: u64) -> Flow {
    let Shape::String(s) = &mut p.shape else {
        return Flow::Dead;
    };
    s.length_at = Some(at);
    flow(bound_count(&mut s.min, &mut s.max, n, sense))
}

/// At most so many characters, or more.
pub(super) fn max_length(
    locations: &Locations,
    p: &mut Partial,
    at: At,
    sense: Sense,
    n: u64,
) -> Flow {
    if at.1 == "format" && locations.target() == Target::Expression {
        // The expressions of formats are short by their form.
        return sense.of_others();
    }
    at_most(n, sense, |n, sense| min_length(p, at, sense, n))
}

/// A text that has a match for the pattern, or none.
pub(super) fn pattern(
    locations: &Locations,
    p: &mut Partial,
    at: At,
    sense: Sense,
    id: PatternId,
) -> Result<Flow, Error> {
    if let Err(e) = &locations.schema().pattern(id).pattern {
        let reason = format!("{} (byte {} of the pattern)", e.reason, e.offset);
        return Err(locations.refusal(at, &reason));
    }
    Ok(string(p, |s| {
        s.patterns.push((id, sense == Sense::Itself));
        s.at = Some(at);
    }))
}

/// A text of the format, or any other; of a narrowed one, any that is not of it for
/// certain.
pub(super) fn format(
    locations: &Locations,
    p: &mut Partial,
    at: At,
    sense: Sense,
    format: Format,
) -> Result<Flow, Error> {
    if locations.options().formats == Formats::Annotate
        || (format == Format::ShortLocalPart && locations.target() == Target::Expression)
    {
        return Ok(sense.of_others());
    }
    let mut format = format;
    let narrowed = format.narrowed(locations.target());
    if let (Sense::Complement, Complements::Refused, Some(what)) =
        (sense, locations.complements(), narrowed)
    {
        let Some(wider) = format.wider() else {
            let what = format!("a format that is narrowed ({what})");
            return Err(locations.not_negated(at, &what));
        };
        format = wider;
    }
    Ok(string(p, |s| {
        s.formats.push((format, sense == Sense::Itself));
        s.at = Some(at);
    }))
}

/// A format that only strict mode looks at.
pub(super) fn unknown_format(
    locations: &Locations,
    at: At,
    sense: Sense,
    reason: &str,
) -> Result<Flow, Error> {
    if locations.options().formats == Formats::Strict {
        let reason = format!("{reason}; use Formats::Assert to take it as an annotation");
        return Err(locations.refusal(at, &reason));
    }
    Ok(sense.of_others())
}

fn string(p: &mut Partial, change: impl FnOnce(&mut StringShape)) -> Flow {
    if let Shape::String(s) = &mut p.shape {
        change(s);
    }
    Flow::On
}
