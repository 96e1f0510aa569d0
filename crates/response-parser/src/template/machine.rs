//! Cuts a text into regions, as far as the text that is there settles the cuts. For example, with a
//! field between `<think>` and `</think>`, the text `<think>Hm.</th` is settled up to `Hm.`,
//! because the mark may go on.

use super::TemplateRelease;
use super::call::{Asked, Parameter, Scan, Step};
use super::load::{Anchor, Template, named};
use super::shape::Ahead;
use crate::error::{Error, ErrorKind};
use crate::pyre::{Found, STEPS, STEPS_PER_BYTE, Scanner};
use crate::schema::exhausted;

/// Work that searches in a finished text may do, in bytes looked at, before they are given up. One
/// search is linear; a sequence of them need not be. There is a limit because each search may look
/// at the whole rest.
const SEARCH_WORK: u64 = 1 << 30;

/// Calls of a text that may turn out to be none and are read a second time as something else: each costs up
/// to the whole text, and a hostile one could be all openings.
const SECOND_LOOKS: usize = 16;

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

/// Why a text is over.
///
/// ```
/// use response_parser::{End, Family, ResponseTemplate, Turn};
/// use serde_json::json;
///
/// // Nothing but the text's end ends a call of this family.
/// let template = ResponseTemplate::of_family(Family::LLAMA3)?;
/// let text = "{\"name\": \"f\", \"parameters\": {}}";
/// let stopped = template.read(&Turn::after(""), text, End::Stop)?;
/// assert_eq!(stopped.message["tool_calls"][0]["function"]["name"], "f");
/// let cut = template.read(&Turn::after(""), text, End::Length)?;
/// assert_eq!(cut.message, json!({"role": "assistant", "content": text}));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The model ended it.
    #[default]
    Stop,
    /// It was cut: a limit of tokens, a stop sequence of the caller's, an abort.
    Length,
}

/// A call in the text: what opened it, its body, and what ended it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) open: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) end: usize,
}

/// The treatment of the text of a region that turned out to be no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It was a call, or is thrown away.
    None,
    /// It is content, from here on.
    Content { from: usize },
}

/// Why a region is no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoCall {
    /// The text is no call.
    Broken,
    /// It may have become one.
    Unfinished,
}

/// Takes the regions as they are cut.
pub(super) trait Regions {
    fn open(&mut self, field: usize);
    /// Text of the open region of `field`, from here to there.
    fn text(&mut self, field: usize, from: usize, to: usize);
    /// The open region ends; all its text is from here to there. `captures` are groups of the match that opened
    /// it, and behind them of the one that closed it: number (see [`Field::named`](super::load::Field::named)), start, end.
    fn close(
        &mut self,
        field: usize,
        from: usize,
        to: usize,
        captures: &[(usize, usize, usize)],
    ) -> Result<(), Error>;
    /// Tells whether the tool that the captures name has that parameter.
    fn expects(&self, field: usize, captures: &[(usize, usize, usize)], key: &str) -> bool;
    /// Tells whether a call can be read, which does not have to be one.
    fn reads(
        &self,
        field: usize,
        span: Span,
        captures: &[(usize, usize, usize)],
        parameters: &[Parameter],
    ) -> bool;
    /// More of the call that is open has settled.
    fn grows(
        &mut self,
        field: usize,
        body: (usize, usize),
        captures: &[(usize, usize, usize)],
        scan: &Scan,
    );
    /// A call ends.
    fn call(
        &mut self,
        field: usize,
        span: Span,
        captures: &[(usize, usize, usize)],
        parameters: &[Parameter],
    ) -> Result<Rest, Error>;
    /// A list of calls was cut off behind the item that ends at `to`.
    fn part(
        &mut self,
        field: usize,
        from: usize,
        to: usize,
        captures: &[(usize, usize, usize)],
    ) -> Result<(), Error>;
    /// The open region is no call.
    fn no_call(&mut self, field: usize, span: Span, why: NoCall) -> Result<Rest, Error>;
}

pub(super) struct Machine {
    /// The text before is dealt with.
    pos: usize,
    region: Region,
    /// The start of the region's text.
    body: usize,
    captures: Vec<(usize, usize, usize)>,
    /// For each field what is known about its opening and its closing anchor.
    slots: Vec<[Slot; 2]>,
    phase: Phase,
    /// The region was opened by a zero-width match here.
    opened_at: Option<usize>,
    work: u64,
    /// The call that is open, with the place of what opened it.
    call: Option<(usize, Scan)>,
    /// The region that may be a call within another region, with the opening's match.
    quoted: Option<Quoted>,
    /// The number of times that a text may still be looked at a second time.
    second_looks: usize,
    end: End,
    /// Texts that are marks only as tokens of their own.
    specials: Vec<String>,
}

/// A region that may be a call within a region of another field.
struct Quoted {
    cut: Cut,
    captures: Vec<(usize, usize, usize)>,
    scan: Scan,
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
            call: None,
            quoted: None,
            second_looks: SECOND_LOOKS,
            end: End::Stop,
            specials: Vec::new(),
        }
    }

    /// Sets the texts that are marks only as tokens of their own. If the text has them as letters,
    /// they are spelt otherwise.
    pub(super) fn with_specials(mut self, specials: Vec<String>) -> Machine {
        self.specials = specials;
        self
    }

    /// Sets why the text is over, before the run that ends it.
    pub(super) fn ends_by(&mut self, end: End) {
        self.end = end;
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

    /// Returns the start of the text that is not dealt with yet.
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
            if self.call.is_some() {
                match self.read_call(template, text, regions)? {
                    Next::GoOn => continue,
                    Next::Wait => return Ok(()),
                }
            }
            if self.quoted.is_some() {
                match self.read_quoted(template, text, regions)? {
                    Next::GoOn => continue,
                    Next::Wait => return Ok(()),
                }
            }
            let mut hold = text.len();
            let best = self.best(template, text, &mut hold)?;
            let best = best.filter(|cut| cut.start < hold);
            let last = best.is_none_or(|cut| template.fields[cut.field].discard);
            if phase == Phase::Whole
                && last
                && !matches!(self.region, Region::Explicit(_))
                && let Some((field, start)) = self.begun(template, text)?
                && best.is_none_or(|cut| start <= cut.start)
            {
                self.take(template, start, regions);
                self.leave(template, start, regions)?;
                let end = text.len();
                let span = Span {
                    open: start,
                    from: end,
                    to: end,
                    end,
                };
                let rest = regions.no_call(field, span, NoCall::Unfinished)?;
                self.give(template, span, rest, regions);
                continue;
            }
            let Some(cut) = best else {
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
            if cut.side == Side::Open
                && let Region::Explicit(_) = self.region
            {
                let captures = captures_of(template, text, cut)?;
                if let Some(call) = &template.fields[cut.field].call {
                    let scan = Scan::new(call, cut.end);
                    self.quoted = Some(Quoted {
                        cut,
                        captures,
                        scan,
                    });
                }
                continue;
            }
            self.pos = cut.end;
            match cut.side {
                Side::Open if template.fields[cut.field].discard => {
                    self.leave(template, cut.start, regions)?;
                    // The text that is thrown away is not empty, or it would come again.
                    if cut.start == cut.end {
                        return Ok(());
                    }
                }
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
                    if open && template.release != TemplateRelease::V5_23 {
                        self.captures.extend(captures_of(template, text, cut)?);
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
            Region::Explicit(field) => {
                look(self, field, Side::Close)?;
                for (other, spec) in template.fields.iter().enumerate() {
                    if self.second_looks > 0
                        && let Some(call) = &spec.call
                        && call.interrupts.contains(&field)
                    {
                        look(self, other, Side::Open)?;
                    }
                }
            }
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

    /// The first call whose opening has begun at the end of the text, and may have become one: its field and place.
    fn begun(&self, template: &Template, text: &str) -> Result<Option<(usize, usize)>, Error> {
        let mut first: Option<(usize, usize)> = None;
        for (field, spec) in template.fields.iter().enumerate() {
            let (Some(call), Some(anchor)) = (&spec.call, &spec.open) else {
                continue;
            };
            for mark in &call.begins {
                let Some(place) = text[self.pos..].rfind(mark.as_str()) else {
                    continue;
                };
                // Openings take blanks before their marks.
                let from = text[..self.pos + place].trim_end().len().max(self.pos);
                let mut steps = STEPS + STEPS_PER_BYTE * text.len() as u64;
                let mut scanner = Scanner::default();
                let found = anchor.pattern.scan(&mut scanner, text, from, &mut steps);
                let found = found.map_err(|e| exhausted(e, anchor.pointer.clone()))?;
                if let Found::Open { start } = found
                    && start <= self.pos + place
                    && first.is_none_or(|(_, known)| start < known)
                {
                    first = Some((field, start));
                }
            }
        }
        Ok(first)
    }

    /// Looks for the leftmost match of an anchor from `pos` on.
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
        self.captures = captures_of(template, text, cut)?;
        if let Some(call) = &template.fields[cut.field].call {
            self.call = Some((cut.start, Scan::new(call, cut.end)));
        }
        regions.open(cut.field);
        Ok(())
    }

    fn ahead(&self) -> Ahead {
        match self.phase {
            Phase::Whole => Ahead::Nothing,
            Phase::Prefix | Phase::Growing => Ahead::More,
        }
    }

    /// Reads on in the call that is open.
    fn read_call(
        &mut self,
        template: &Template,
        text: &str,
        regions: &mut impl Regions,
    ) -> Result<Next, Error> {
        let ahead = self.ahead();
        let (Some((open, mut scan)), Region::Explicit(field)) = (self.call.take(), self.region)
        else {
            return Ok(Next::GoOn);
        };
        let Some(call) = &template.fields[field].call else {
            return Ok(Next::GoOn);
        };
        let captures = std::mem::take(&mut self.captures);
        let from = self.body;
        let span = |to: usize, end: usize| Span {
            open,
            from,
            to,
            end,
        };
        let expects = |key: &str| regions.expects(field, &captures, key);
        let asked = Asked {
            expects: &expects,
            specials: &self.specials,
        };
        let mut step = scan.step(call, text, Ahead::More, &asked);
        let mut junk = scan.is_junk();
        if let (Step::More { .. }, Ahead::Nothing) = (step, ahead) {
            // A mark that has begun is none, but it may have become one.
            step = match scan.step(call, text, ahead, &asked) {
                Step::Never { .. } => step,
                step => step,
            };
            junk &= scan.is_junk();
        }
        if let (Step::More { .. }, Ahead::Nothing) = (step, ahead)
            && let Some(last) = scan.last(call, text, self.end == End::Stop)
            && (scan.second_look(), self.second_looks) != (true, 0)
        {
            if let Step::End { to, .. } = last {
                scan.close_value(to);
            }
            self.second_looks -= usize::from(scan.second_look());
            step = last;
        }
        let (span, rest) = match step {
            Step::More { safe } if ahead == Ahead::More => {
                self.take(template, safe, regions);
                regions.grows(field, (from, safe.max(from)), &captures, &scan);
                self.captures = captures;
                self.call = Some((open, scan));
                return Ok(Next::Wait);
            }
            Step::More { .. } => {
                self.take(template, text.len(), regions);
                let span = span(text.len(), text.len());
                let why = match junk || call.bare {
                    true => NoCall::Broken,
                    false => NoCall::Unfinished,
                };
                if let (NoCall::Unfinished, true, Some(to)) = (why, call.lists, scan.item) {
                    regions.part(field, from, to, &captures)?;
                }
                (span, regions.no_call(field, span, why)?)
            }
            Step::Never { to } => {
                self.take(template, to, regions);
                let span = span(to, to);
                (span, regions.no_call(field, span, NoCall::Broken)?)
            }
            Step::End { to, end } => {
                self.take(template, to, regions);
                let span = span(to, end);
                regions.grows(field, (from, to), &captures, &scan);
                let rest = regions.call(field, span, &captures, &scan.parameters)?;
                (span, rest)
            }
        };
        self.region = outside(template);
        self.opened_at = None;
        self.give(template, span, rest, regions);
        Ok(Next::GoOn)
    }

    /// Goes on behind what was open, which is content if `rest` says so.
    fn give(&mut self, template: &Template, span: Span, rest: Rest, regions: &mut impl Regions) {
        if let Rest::Content { from } = rest {
            self.pos = from;
            self.take(template, span.end, regions);
        }
        self.pos = span.end;
    }

    /// Reads on in what may be a call within the open region. It is one if it can be read, and another call
    /// or nothing at all follows: a region that goes on, or is closed, has quoted it.
    fn read_quoted(
        &mut self,
        template: &Template,
        text: &str,
        regions: &mut impl Regions,
    ) -> Result<Next, Error> {
        let ahead = self.ahead();
        let Some(mut quoted) = self.quoted.take() else {
            return Ok(Next::GoOn);
        };
        let Quoted {
            cut,
            captures,
            scan,
        } = &mut quoted;
        let (cut, field) = (*cut, cut.field);
        let Some(call) = &template.fields[field].call else {
            return Ok(Next::GoOn);
        };
        let expects = |key: &str| regions.expects(field, captures, key);
        let asked = Asked {
            expects: &expects,
            specials: &self.specials,
        };
        let step = scan.step(call, text, ahead, &asked);
        let is_one = match step {
            Step::More { .. } if ahead == Ahead::More && !scan.is_junk() => None,
            Step::More { .. } | Step::Never { .. } => Some(false),
            Step::End { to, end } => {
                let span = Span {
                    open: cut.start,
                    from: cut.end,
                    to,
                    end,
                };
                match regions.reads(field, span, captures, &scan.parameters) {
                    false => Some(false),
                    true => self.nothing_else(template, text, field, end, ahead)?,
                }
            }
        };
        match is_one {
            None => {
                self.quoted = Some(quoted);
                Ok(Next::Wait)
            }
            Some(true) => {
                self.pos = cut.end;
                self.leave(template, cut.start, regions)?;
                self.enter(template, text, cut, regions)?;
                Ok(Next::GoOn)
            }
            Some(false) => {
                self.second_looks = self.second_looks.saturating_sub(1);
                let first = text[cut.start..].chars().next();
                self.take(
                    template,
                    cut.start + first.map_or(0, char::len_utf8),
                    regions,
                );
                Ok(Next::GoOn)
            }
        }
    }

    /// Tells whether nothing but white space, another call of the field or the turn's end follows
    /// at `at`.
    fn nothing_else(
        &self,
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
        self.call = None;
        match open {
            Some((field, from)) => regions.close(field, from, to.max(from), &self.captures),
            None => Ok(()),
        }
    }
}

impl Cut {
    /// The first in the text, then the longest, then an opening, then what is not thrown away, then by name.
    fn rank(&self, template: &Template) -> impl Ord + use<> {
        let close = self.side == Side::Close;
        let length = std::cmp::Reverse(self.end - self.start);
        let field = &template.fields[self.field];
        (self.start, length, close, field.discard, field.rank)
    }
}

/// True if the machine goes on, or has to wait for more text.
enum Next {
    GoOn,
    Wait,
}

/// The named groups of the match that is a cut: number, start, end.
fn captures_of(
    template: &Template,
    text: &str,
    cut: Cut,
) -> Result<Vec<(usize, usize, usize)>, Error> {
    let mut captures = Vec::new();
    let field = &template.fields[cut.field];
    let (anchor, behind) = match cut.side {
        Side::Open => (&field.open, 0),
        Side::Close => (&field.close, field.groups_of_opening()),
    };
    if let Some(anchor) = anchor
        && anchor.pattern.names().iter().any(Option::is_some)
    {
        let groups = anchor.pattern.match_at(text, cut.start);
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

fn outside(template: &Template) -> Region {
    match template.implicit {
        Some(_) => Region::Implicit { entered: false },
        None => Region::None,
    }
}
