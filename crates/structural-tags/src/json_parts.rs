//! The parts of JSON: how its strings keep markers out, and when a value may go on.
//!
//! For example, in JSON before `</a>` no string spells `</a>`, though `<\/a>` may stand there, and
//! a number before `1` could go on with it.

use std::sync::Arc;

use fsm_index::{ByteAutomaton, JSON_TEXT, MAX_COMPLETION};
use schema_regex::automaton::SchemaAutomaton;

use super::error::{Error, constraint_error};
use super::free::without;
use super::markers::watch;
use super::parts::{Json, Spelling};

/// JSON of a schema, spelt without some markers.
pub(super) fn json(automaton: &SchemaAutomaton, markers: &[String]) -> Result<Json, Error> {
    let mut kept_out = Vec::new();
    for marker in markers {
        kept_out.extend(json_marker(marker)?);
    }
    let all_but_last = |marker: &&str| marker.as_bytes()[..marker.len().saturating_sub(1)].into();
    let unsure = kept_out.iter().map(all_but_last).collect();
    let markers = match kept_out.is_empty() {
        true => None,
        false => Some(watch(kept_out)?),
    };
    let goes_on = goes_on(automaton)?;
    let start = automaton.start();
    let firsts = markers.as_ref().map_or(&[][..], |m| m.firsts());
    Ok(Json {
        automaton: automaton.clone(),
        text: without(JSON_TEXT, firsts),
        start: Arc::new(start),
        markers,
        unsure,
        goes_on,
        spelling: Spelling::Json,
    })
}

/// Tells whether a value may be complete and yet go on, as numbers do.
///
/// # Errors
///
/// The shortest value is too long to be waited for.
fn goes_on(automaton: &SchemaAutomaton) -> Result<bool, Error> {
    let start = automaton.start();
    let mut scratch = automaton.scratch();
    let cursor = automaton.enter(&start, &mut scratch);
    let mut goes_on = b"-0123456789"
        .iter()
        .any(|&byte| !automaton.step(cursor, byte, &mut scratch).is_dead());
    let mut end = start.clone();
    let mut text = Vec::new();
    let completed = automaton.completion(&start, MAX_COMPLETION, &mut text);
    if completed.is_none() {
        return Err(constraint_error(format!(
            "the shortest value of a schema has more than {MAX_COMPLETION} bytes, and no text so \
             long is waited for"
        )));
    }
    if automaton.advance(&mut end, &text, &mut scratch).is_ok() {
        let cursor = automaton.enter(&end, &mut scratch);
        goes_on |= (0..=255u8).any(|byte| !automaton.step(cursor, byte, &mut scratch).is_dead());
    }
    Ok(goes_on)
}

/// Tells whether the end of a tag with JSON in it must be kept out of that: not where it cannot be,
/// if the value itself then tells where it ends.
pub(super) fn is_kept_out(end: &str, automaton: &SchemaAutomaton) -> Result<bool, Error> {
    let may_go_on = end.starts_with(|c: char| "+-.0123456789eE".contains(c));
    Ok(json_marker(end).is_ok() || may_go_on && goes_on(automaton)?)
}

/// Behind the quote that begins a string.
pub(super) fn raw(automaton: &SchemaAutomaton) -> Result<Json, Error> {
    let mut json = json(automaton, &[])?;
    json.spelling = Spelling::Raw;
    let mut scratch = automaton.scratch();
    let begun = automaton.advance(Arc::make_mut(&mut json.start), b"\"", &mut scratch);
    begun.map_err(|_| constraint_error("the schema admits no string"))?;
    Ok(json)
}

/// Returns what must not be spelt in JSON so that a marker is not: the marker up to its
/// last ASCII character, which can be escaped. Nothing where no JSON has it.
fn json_marker(marker: &str) -> Result<Option<&str>, Error> {
    let unusual = |c: char| !" \t\r\n{}[],:\"\\+-.0123456789eEtrufalsn".contains(c);
    // Between tokens there are line feeds, and in strings there are none.
    if marker.contains(|c: char| c < ' ') && marker.contains(unusual) {
        return Ok(None);
    }
    let end = marker
        .char_indices()
        .rev()
        .find(|(_, c)| c.is_ascii())
        .map_or(0, |(at, _)| at + 1);
    let text = &marker[..end];
    match text.contains(unusual) && !text.contains(['"', '\\']) {
        true => Ok(Some(text)),
        false => Err(constraint_error(format!(
            "the marker {marker:?} cannot be kept out of JSON: it needs an ASCII character that \
             stands in strings only, and neither quotes nor backslashes"
        ))),
    }
}
