//! Cuts a text into regions, as far as the text that is there settles the cuts.

use super::load::{Anchor, Template};
use crate::error::{Error, ErrorKind};
use crate::pyre::{Found, STEPS, STEPS_PER_BYTE, Scanner};
use crate::run::exhausted;

/// Work that searches in a finished text may do, in bytes looked at, before they are given
/// up. One search is linear; a sequence of them need not be.
const SEARCH_WORK: u64 = 1 << 30;

/// What is known about the text.
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

/// Takes the regions as they are cut.
pub(super) trait Regions {
    fn open(&mut self, field: usize);
    /// Text of the open region of `field`, from here to there.
    fn text(&mut self, field: usize, from: usize, to: usize);
    /// The open region ends; all its text is from here to there. `captures` are groups of
    /// the match that opened it: number, start, end.
    fn close(
        &mut self,
        field: usize,
        from: usize,
        to: usize,
        captures: &[(usize, usize, usize)],
    ) -> Result<(), Error>;
}

pub(super) struct Machine {
    /// The text before is dealt with.
    pos: usize,
    region: Region,
    /// Where the region's text starts.
    body: usize,
    captures: Vec<(usize, usize, usize)>,
    /// For each field what is known about its opening and its closing anchor.
    slots: Vec<[Slot; 2]>,
    phase: Phase,
    /// The region was opened by a zero-width match here.
    opened_at: Option<usize>,
    work: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    /// Text is thrown away.
    None,
    /// The field without an opening anchor, entered or not.
    Implicit {
        entered: bool,
    },
    Explicit(usize),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Open,
    Close,
}

/// A match at which the text may be cut.
#[derive(Clone, Copy, Debug)]
struct Cut {
    start: usize,
    end: usize,
    side: Side,
    field: usize,
}

impl Machine {
    pub(super) fn new(template: &Template) -> Machine {
        let slots = template.fields.iter().map(|_| Default::default()).collect();
        Machine {
            pos: 0,
            region: outside(template),
            body: 0,
            captures: Vec::new(),
            slots,
            phase: Phase::Prefix,
            opened_at: None,
            work: 0,
        }
    }

    /// The field that is open, and where its text starts.
    pub(super) fn open_region(&self, template: &Template) -> Option<(usize, usize)> {
        let field = match self.region {
            Region::None | Region::Implicit { entered: false } => return None,
            Region::Implicit { entered: true } => template.implicit?,
            Region::Explicit(field) => field,
        };
        Some((field, self.body))
    }

    /// Where the text starts that is not dealt with yet.
    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    /// Groups of the match that opened the region: number, start, end.
    pub(super) fn captures(&self) -> &[(usize, usize, usize)] {
        &self.captures
    }

    /// Cuts as much of `text` as can be cut. The text only grows from call to call.
    pub(super) fn run(
        &mut self,
        template: &Template,
        text: &str,
        phase: Phase,
        regions: &mut impl Regions,
    ) -> Result<(), Error> {
        if self.phase != phase {
            self.phase = phase;
            for slot in self.slots.iter_mut().flatten() {
                slot.found = None;
            }
        }
        loop {
            let mut hold = text.len();
            let best = self.best(template, text, &mut hold)?;
            let Some(cut) = best.filter(|cut| cut.start < hold) else {
                let to = if phase == Phase::Whole {
                    text.len()
                } else {
                    hold
                };
                self.take(template, to, regions);
                if phase == Phase::Whole {
                    self.leave(template, to, regions)?;
                }
                return Ok(());
            };
            self.take(template, cut.start, regions);
            self.pos = cut.end;
            match cut.side {
                Side::Open => {
                    self.leave(template, cut.start, regions)?;
                    self.enter(template, text, cut, regions)?;
                }
                Side::Close => {
                    let open = self.open_region(template).is_some();
                    if self.opened_at == Some(cut.end) {
                        let message = "the region opens and closes at one place for ever, at zero-width matches";
                        let pointer = &template.fields[cut.field].pointer;
                        return Err(Error::new(ErrorKind::NoProgress, pointer, message)
                            .at_offset(Some(cut.end)));
                    }
                    self.leave(template, cut.start, regions)?;
                    // No further than a zero-width close outside of a region, in this call:
                    // the next one would find it again, unless it depended on the end.
                    if !open && cut.start == cut.end {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The first cut that is wanted, and in `hold` the first place that is not settled.
    fn best(
        &mut self,
        template: &Template,
        text: &str,
        hold: &mut usize,
    ) -> Result<Option<Cut>, Error> {
        let mut best: Option<Cut> = None;
        let mut look = |machine: &mut Machine, field: usize, side: Side| {
            let spec = &template.fields[field];
            let anchor = match side {
                Side::Open => &spec.open,
                Side::Close => &spec.close,
            };
            let Some(anchor) = anchor else { return Ok(()) };
            match machine.look(anchor, text, field, side)? {
                Found::Nothing => {}
                Found::Open { start } => *hold = start.min(*hold),
                Found::Settled { start, end } => {
                    let may_grow = machine.phase != Phase::Whole
                        && end == text.len()
                        && (start == end || anchor.may_grow);
                    if may_grow {
                        *hold = start.min(*hold);
                        return Ok(());
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
            Ok(())
        };
        match self.region {
            Region::Explicit(field) => look(self, field, Side::Close)?,
            Region::None | Region::Implicit { .. } => {
                for field in 0..template.fields.len() {
                    look(self, field, Side::Open)?;
                }
                if let Some(field) = template.implicit {
                    look(self, field, Side::Close)?;
                }
            }
        }
        Ok(best)
    }

    /// What is known about the leftmost match of an anchor from `pos` on.
    fn look(
        &mut self,
        anchor: &Anchor,
        text: &str,
        field: usize,
        side: Side,
    ) -> Result<Found, Error> {
        let from = self.pos;
        let slot = &mut self.slots[field][usize::from(side == Side::Close)];
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

    /// Gives the text up to `to` to the region.
    fn take(&mut self, template: &Template, to: usize, regions: &mut impl Regions) {
        let from = self.pos;
        if from >= to {
            return;
        }
        self.pos = to;
        match self.region {
            Region::None => {}
            Region::Explicit(field) => regions.text(field, from, to),
            Region::Implicit { entered } => {
                let Some(field) = template.implicit else {
                    return;
                };
                if !entered {
                    self.region = Region::Implicit { entered: true };
                    self.body = from;
                    self.captures.clear();
                    regions.open(field);
                }
                regions.text(field, from, to);
            }
        }
    }

    fn enter(
        &mut self,
        template: &Template,
        text: &str,
        cut: Cut,
        regions: &mut impl Regions,
    ) -> Result<(), Error> {
        self.region = Region::Explicit(cut.field);
        self.body = cut.end;
        self.opened_at = (cut.start == cut.end).then_some(cut.end);
        self.captures.clear();
        if let Some(anchor) = &template.fields[cut.field].open
            && anchor.pattern.names().iter().any(Option::is_some)
        {
            let groups = anchor.pattern.match_at(text, cut.start);
            let groups = groups.map_err(|e| exhausted(e, anchor.pointer.clone()))?;
            for (group, _) in super::load::named(anchor) {
                let part = groups
                    .as_ref()
                    .and_then(|groups| groups.get(group).copied());
                if let Some(Some((from, to))) = part {
                    self.captures.push((group, from, to));
                }
            }
        }
        regions.open(cut.field);
        Ok(())
    }

    /// Closes the open region, if there is one, at `to`.
    fn leave(
        &mut self,
        template: &Template,
        to: usize,
        regions: &mut impl Regions,
    ) -> Result<(), Error> {
        let open = self.open_region(template);
        self.region = outside(template);
        self.opened_at = None;
        match open {
            Some((field, from)) => regions.close(field, from, to.max(from), &self.captures),
            None => Ok(()),
        }
    }
}

impl Cut {
    /// The first in the text, then the longest, then an opening, then by name.
    fn rank(&self, template: &Template) -> impl Ord + use<> {
        let close = self.side == Side::Close;
        let length = std::cmp::Reverse(self.end - self.start);
        (self.start, length, close, template.fields[self.field].rank)
    }
}

fn outside(template: &Template) -> Region {
    match template.implicit {
        Some(_) => Region::Implicit { entered: false },
        None => Region::None,
    }
}
