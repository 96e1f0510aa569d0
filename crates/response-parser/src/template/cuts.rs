//! The search for the places where a text may be cut. For example, of the openings `<a>` and `<ab>` that
//! match at one place the longer is the cut.

use super::fields::{Anchor, Template, named};
use super::regions::Capture;
use super::shape::Ahead;
use crate::error::{Error, ErrorKind};
use crate::pyre::{Found, STEPS, STEPS_PER_BYTE, Scanner};
use crate::schema::exhausted;

/// Work that searches in a finished text may do, in bytes looked at, before they are given up. One
/// search is linear; a sequence of them need not be. There is a limit because each search may look
/// at the whole rest.
const SEARCH_WORK: u64 = 1 << 30;

/// The knowledge about the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is the end of the prompt. Cuts are made as the reference makes them, which takes
    /// the text so far for the whole where an anchor fits it.
    Prefix,
    /// More may come. A cut is made only where no further text can change it.
    Growing,
    /// This is all.
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Open,
    Close,
}

/// A match at which the text may be cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) side: Side,
    pub(super) field: usize,
}

/// The opening or the end of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) field: usize,
    pub(super) side: Side,
}

impl Cut {
    /// The first in the text, then the longest, then an opening, then what is not thrown away, then by name.
    fn rank(&self, template: &Template) -> impl Ord + use<> {
        let close = self.side == Side::Close;
        let length = std::cmp::Reverse(self.end - self.start);
        let field = &template.fields[self.field];
        (self.start, length, close, field.discard, field.rank)
    }

    /// The named groups of the match: number, start, end.
    pub(super) fn captures(self, template: &Template, text: &str) -> Result<Vec<Capture>, Error> {
        let mut captures = Vec::new();
        let field = &template.fields[self.field];
        let (anchor, behind) = match self.side {
            Side::Open => (&field.open, 0),
            Side::Close => (&field.close, field.groups_of_opening()),
        };
        if let Some(anchor) = anchor
            && anchor.pattern.names().iter().any(Option::is_some)
        {
            let groups = anchor.pattern.match_at(text, self.start);
            let groups = groups.map_err(|e| exhausted(e, anchor.pointer.clone()))?;
            for (group, _) in named(anchor) {
                let part = groups
                    .as_ref()
                    .and_then(|groups| groups.get(group).copied());
                if let Some(Some((from, to))) = part {
                    captures.push((behind + group, from, to));
                }
            }
        }
        Ok(captures)
    }
}

/// The first cut, and the first place that is not settled.
pub(super) struct Nearest {
    pub(super) cut: Option<Cut>,
    pub(super) hold: usize,
}

/// The searches for all anchors, and what they have found.
pub(super) struct Searches {
    /// For each field what is known about its opening and its closing anchor.
    slots: Vec<[Slot; 2]>,
    phase: Phase,
    work: u64,
}

#[derive(Default)]
struct Slot {
    scanner: Scanner,
    /// Bytes of text for which the scanner has been given steps.
    paid: usize,
    steps: u64,
    /// In a finished text: the leftmost match from some earlier place on.
    found: Option<Option<(usize, usize)>>,
}

impl Searches {
    pub(super) fn new(template: &Template) -> Searches {
        Searches {
            slots: template.fields.iter().map(|_| Default::default()).collect(),
            phase: Phase::Prefix,
            work: 0,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Sets what is known about the text; what was found knowing otherwise is forgotten.
    pub(super) fn enter(&mut self, phase: Phase) {
        if self.phase != phase {
            self.phase = phase;
            for slot in self.slots.iter_mut().flatten() {
                slot.found = None;
            }
        }
    }

    /// Looks from `from` on for the first cut at one of the edges.
    pub(super) fn nearest(
        &mut self,
        template: &Template,
        text: &str,
        from: usize,
        edges: impl Iterator<Item = Edge>,
    ) -> Result<Nearest, Error> {
        let mut best: Option<Cut> = None;
        let mut hold = text.len();
        for edge in edges {
            let Edge { field, side } = edge;
            let spec = &template.fields[field];
            let anchor = match side {
                Side::Open => &spec.open,
                Side::Close => &spec.close,
            };
            let Some(anchor) = anchor else { continue };
            match self.look(anchor, text, from, edge)? {
                Found::Nothing => {}
                Found::Open { start } => hold = start.min(hold),
                Found::Settled { start, end } => {
                    let may_grow = self.phase != Phase::Whole
                        && end == text.len()
                        && (start == end || anchor.may_grow);
                    if may_grow {
                        hold = start.min(hold);
                        continue;
                    }
                    let cut = Cut {
                        start,
                        end,
                        side,
                        field,
                    };
                    if best.is_none_or(|best| cut.rank(template) < best.rank(template)) {
                        best = Some(cut);
                    }
                }
            }
        }
        let cut = best.filter(|cut| cut.start < hold);
        Ok(Nearest { cut, hold })
    }

    /// Returns the leftmost match of an anchor from `from` on.
    fn look(
        &mut self,
        anchor: &Anchor,
        text: &str,
        from: usize,
        edge: Edge,
    ) -> Result<Found, Error> {
        let slot = &mut self.slots[edge.field][usize::from(edge.side == Side::Close)];
        if self.phase != Phase::Growing {
            let known = slot
                .found
                .filter(|found| found.is_none_or(|(start, _)| start >= from));
            let found = match known {
                Some(found) => found,
                None => {
                    let found = anchor.pattern.find_from(text, from);
                    let found = found.map_err(|e| exhausted(e, anchor.pointer.clone()))?;
                    self.work += (found.map_or(text.len(), |(_, end)| end) - from) as u64;
                    if self.work > SEARCH_WORK + STEPS_PER_BYTE * text.len() as u64 {
                        let message = format!(
                            "the searches looked at more than {SEARCH_WORK} bytes and {STEPS_PER_BYTE} times the text"
                        );
                        let kind = ErrorKind::RegexBudget;
                        return Err(Error::new(kind, &anchor.pointer, message));
                    }
                    slot.found = Some(found);
                    found
                }
            };
            if let Some((start, end)) = found {
                return Ok(Found::Settled { start, end });
            }
            if self.phase == Phase::Whole {
                return Ok(Found::Nothing);
            }
        }
        if slot.paid == 0 {
            slot.steps = STEPS;
        }
        slot.steps += STEPS_PER_BYTE * (text.len() - slot.paid) as u64;
        slot.paid = text.len();
        let found = anchor
            .pattern
            .scan(&mut slot.scanner, text, from, &mut slot.steps);
        let found = found.map_err(|e| exhausted(e, anchor.pointer.clone()))?;
        Ok(match (found, self.phase) {
            // In a prefix a match that is settled has been found above.
            (Found::Settled { start, .. }, Phase::Prefix) => Found::Open { start },
            (found, _) => found,
        })
    }
}

/// The first call whose opening has begun at the end of the text behind `pos`, and may have become one: its field and place.
pub(super) fn begun(
    template: &Template,
    text: &str,
    pos: usize,
) -> Result<Option<(usize, usize)>, Error> {
    let mut first: Option<(usize, usize)> = None;
    for (field, spec) in template.fields.iter().enumerate() {
        let (Some(call), Some(anchor)) = (&spec.call, &spec.open) else {
            continue;
        };
        for mark in &call.begins {
            let Some(place) = text[pos..].rfind(mark.as_str()) else {
                continue;
            };
            // Openings take blanks before their marks.
            let from = text[..pos + place].trim_end().len().max(pos);
            let mut steps = STEPS + STEPS_PER_BYTE * text.len() as u64;
            let mut scanner = Scanner::default();
            let found = anchor.pattern.scan(&mut scanner, text, from, &mut steps);
            let found = found.map_err(|e| exhausted(e, anchor.pointer.clone()))?;
            if let Found::Open { start } = found
                && start <= pos + place
                && first.is_none_or(|(_, known)| start < known)
            {
                first = Some((field, start));
            }
        }
    }
    Ok(first)
}

/// Tells whether nothing but white space, another call of the field or the turn's end follows
/// at `at`.
pub(super) fn nothing_else(
    template: &Template,
    text: &str,
    field: usize,
    at: usize,
    ahead: Ahead,
) -> Result<Option<bool>, Error> {
    let rest = &text[at..];
    let next = at + rest.len() - rest.trim_start().len();
    if next == text.len() {
        return Ok((ahead == Ahead::Nothing).then_some(true));
    }
    let call = template.fields[field].open.as_ref();
    let turn = template
        .implicit
        .and_then(|field| template.fields[field].close.as_ref());
    let mut open = false;
    for anchor in [call, turn].into_iter().flatten() {
        let mut steps = STEPS + STEPS_PER_BYTE * text.len() as u64;
        let mut scanner = Scanner::default();
        let found = anchor.pattern.scan(&mut scanner, text, at, &mut steps);
        match found.map_err(|e| exhausted(e, anchor.pointer.clone()))? {
            Found::Settled { start, .. } if start <= next => return Ok(Some(true)),
            Found::Open { start } if start <= next && ahead == Ahead::More => open = true,
            _ => {}
        }
    }
    Ok(match open {
        true => None,
        false => Some(false),
    })
}
