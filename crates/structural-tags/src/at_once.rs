//! Parts in a row in all of which a text may be at once: each byte is then read in all of them.
//!
//! For example, of three thousand texts `[a-z]+` in a row the text `aaa` may be in the first three,
//! and one of a hundred letters in a hundred.

use foldhash::{HashMap, HashSet};
use fsm_index::{ByteAutomaton, ByteSet, Cursor};

use super::build::Builder;
use super::covers::Covers;
use super::error::{Error, placed};
use super::graph::Junction;
use super::parts::Body;

/// The most parts of such a row, because a mask reads some thousands of nodes, and each of them in
/// all parts.
const MAX_AT_ONCE: usize = 300;

/// Refuses longer rows of parts that a text may not have left when the next ones begin: each
/// may go on behind an end by a byte with which a part behind it begins.
///
/// Parts are made from the last to the first, so that a part is behind those with greater
/// numbers; what a loop leads back to is counted once. Parts that others cover are left out of
/// what is read, but for those at other places of their bodies.
pub(super) fn refuse_rows(
    builder: &Builder<'_>,
    junctions: &[Junction],
    covers: &Covers,
) -> Result<(), Error> {
    if builder.parts.len() <= MAX_AT_ONCE {
        return Ok(());
    }
    let mut first: HashMap<u32, ByteSet> = HashMap::default();
    let mut on: HashMap<u32, ByteSet> = HashMap::default();
    let covered = covers.covered();
    let mut rows = vec![0usize; builder.parts.len()];
    for (number, part) in builder.parts.iter().enumerate() {
        let on = *on.entry(part.kind).or_insert_with(|| bytes_on(&part.body));
        let (mut lingers, mut row) = (false, 0);
        for &next in &junctions[part.after as usize].parts {
            if next as usize >= number {
                continue;
            }
            row = row.max(rows[next as usize]);
            let next = &builder.parts[next as usize];
            let first = first.entry(next.kind);
            let first = first.or_insert_with(|| ByteSet::of(&first_bytes(&next.body)));
            lingers |= on.meets(*first);
        }
        let counts = lingers && !covered.contains(&(number as u32));
        rows[number] = row + usize::from(counts);
        if rows[number] > MAX_AT_ONCE {
            return Err(placed(
                builder.place_of(number as u32),
                format!(
                    "a text may be in more than {MAX_AT_ONCE} parts in a row at once, each of \
                     which may go on where the next one begins; put a string between them that \
                     ends each"
                ),
            ));
        }
    }
    Ok(())
}

/// Returns the bytes with which a text of a part may go on where it may also end; all of them where
/// that is not looked at. A part that looks out for markers ends at one, which comes behind it.
fn bytes_on(body: &Body) -> ByteSet {
    let begin = body.begin();
    match body {
        Body::Nothing | Body::Literal(_) => ByteSet::NONE,
        Body::Json(json) if !json.goes_on || json.markers.is_some() => ByteSet::NONE,
        Body::Free(free) if !free.markers.firsts().is_empty() => ByteSet::NONE,
        Body::Run(run) if !run.patterns.firsts().is_empty() => ByteSet::NONE,
        Body::Json(json) if json.is_plain() => ByteSet::of(b"0123456789.eE+-"),
        Body::Dfa(dfa) => bytes_behind_ends(
            Cursor(begin),
            |at, byte| Some(dfa.step(at, byte, &mut ())).filter(|next| !next.is_dead()),
            |at| dfa.is_accepting(&at),
        ),
        Body::Quiet(quiet) => bytes_behind_ends(
            begin,
            |at, byte| quiet.step(at, byte),
            |at| quiet.accepts(at),
        ),
        Body::Json(_) | Body::Grammar(_) | Body::Free(_) | Body::Run(_) | Body::Tokens(_) => {
            ByteSet::ALL
        }
    }
}

/// The same of an automaton with states that are met from the first one.
fn bytes_behind_ends<S: Copy + Eq + std::hash::Hash>(
    begin: S,
    step: impl Fn(S, u8) -> Option<S>,
    ends: impl Fn(S) -> bool,
) -> ByteSet {
    let mut met: HashSet<S> = HashSet::default();
    met.insert(begin);
    let mut open = vec![begin];
    let mut all = ByteSet::NONE;
    while let Some(at) = open.pop() {
        for byte in 0..=255u8 {
            if let Some(next) = step(at, byte) {
                if ends(at) {
                    all = all.with(byte);
                }
                if met.insert(next) {
                    open.push(next);
                }
            }
        }
    }
    all
}

/// The bytes with which a part may begin.
pub(super) fn first_bytes(body: &Body) -> Vec<u8> {
    match body {
        Body::Json(json) => {
            let mut scratch = json.automaton.scratch();
            let cursor = json.automaton.enter(&json.start, &mut scratch);
            (0..=255u8)
                .filter(|&byte| json.step(cursor, byte, &mut scratch).is_some())
                .collect()
        }
        Body::Grammar(automaton) => {
            let mut scratch = automaton.scratch();
            let cursor = automaton.enter(&automaton.start(), &mut scratch);
            (0..=255u8)
                .filter(|&byte| !automaton.step(cursor, byte, &mut scratch).is_dead())
                .collect()
        }
        Body::Run(_) | Body::Tokens(_) => (0..=255u8).collect(),
        other => (0..=255u8)
            .filter(|&byte| other.step(other.begin(), 0, byte).is_some())
            .collect(),
    }
}
