//! Cuts a text into regions, as far as the text that is there settles the cuts. For example, with a
//! field between `<think>` and `</think>`, the text `<think>Hm.</th` is settled up to `Hm.`,
//! because the mark may go on.

use super::call::{Asked, Scan};
use super::choices::TemplateRelease;
use super::cuts::{Cut, Edge, Nearest, Phase, Searches, Side, begun, nothing_else};
use super::fields::Template;
use super::regions::{Capture, NoCall, Regions, Rest, Span};
use super::shape::{Ahead, Step};
use crate::error::{Error, ErrorKind};

/// Calls of a text that may turn out to be none and are read a second time as something else: each costs up
/// to the whole text, and a hostile one could be all openings.
const SECOND_LOOKS: usize = 16;

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

pub(super) struct Machine {
    /// The text before is dealt with.
    pos: usize,
    region: Region,
    /// The start of the region's text.
    body: usize,
    captures: Vec<Capture>,
    searches: Searches,
    /// The region was opened by a zero-width match here.
    opened_at: Option<usize>,
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
    captures: Vec<Capture>,
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

impl Machine {
    pub(super) fn new(template: &Template) -> Machine {
        Machine {
            pos: 0,
            region: outside(template),
            body: 0,
            captures: Vec::new(),
            searches: Searches::new(template),
            opened_at: None,
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
    pub(super) fn captures(&self) -> &[Capture] {
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
        self.searches.enter(phase);
        while let Next::GoOn = self.advance(template, text, regions)? {}
        Ok(())
    }

    /// Makes the next cut, or reads on in the call that is open.
    fn advance(
        &mut self,
        template: &Template,
        text: &str,
        regions: &mut impl Regions,
    ) -> Result<Next, Error> {
        if self.call.is_some() {
            return self.read_call(template, text, regions);
        }
        if self.quoted.is_some() {
            return self.read_quoted(template, text, regions);
        }
        let edges = edges(template, self.region, self.second_looks);
        let Nearest { cut: best, hold } = self.searches.nearest(template, text, self.pos, edges)?;
        if let Some((field, start)) = self.begun_before(template, text, best)? {
            self.give_up(template, text, field, start, regions)?;
            return Ok(Next::GoOn);
        }
        let Some(cut) = best else {
            self.settle(template, text, hold, regions)?;
            return Ok(Next::Wait);
        };
        self.take(template, cut.start, regions);
        match (cut.side, self.region) {
            (Side::Open, Region::Explicit(_)) => self.quote(template, text, cut),
            (Side::Open, _) => self.open(template, text, cut, regions),
            (Side::Close, _) => self.close(template, text, cut, regions),
        }
    }

    /// The call that has begun at the text's end, if no more may come and no other region opens or
    /// closes before it.
    fn begun_before(
        &self,
        template: &Template,
        text: &str,
        best: Option<Cut>,
    ) -> Result<Option<(usize, usize)>, Error> {
        let last = best.is_none_or(|cut| template.fields[cut.field].discard);
        if self.searches.phase() != Phase::Whole
            || !last
            || matches!(self.region, Region::Explicit(_))
        {
            return Ok(None);
        }
        let begun = begun(template, text, self.pos)?;
        Ok(begun.filter(|&(_, start)| best.is_none_or(|cut| start <= cut.start)))
    }

    /// Ends the text at `start`, where a call has begun that never opened.
    fn give_up(
        &mut self,
        template: &Template,
        text: &str,
        field: usize,
        start: usize,
        regions: &mut impl Regions,
    ) -> Result<(), Error> {
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
        Ok(())
    }

    /// Gives the region the text without a cut: that up to `hold`, or all of it if no more may come.
    fn settle(
        &mut self,
        template: &Template,
        text: &str,
        hold: usize,
        regions: &mut impl Regions,
    ) -> Result<(), Error> {
        if self.searches.phase() != Phase::Whole {
            self.take(template, hold, regions);
            return Ok(());
        }
        self.take(template, text.len(), regions);
        self.leave(template, text.len(), regions)
    }

    /// Opens the region of a cut.
    fn open(
        &mut self,
        template: &Template,
        text: &str,
        cut: Cut,
        regions: &mut impl Regions,
    ) -> Result<Next, Error> {
        self.pos = cut.end;
        self.leave(template, cut.start, regions)?;
        if !template.fields[cut.field].discard {
            self.enter(template, text, cut, regions)?;
            return Ok(Next::GoOn);
        }
        // The text that is thrown away is not empty, or it would come again.
        Ok(match cut.start == cut.end {
            true => Next::Wait,
            false => Next::GoOn,
        })
    }

    /// Closes the region at a cut.
    fn close(
        &mut self,
        template: &Template,
        text: &str,
        cut: Cut,
        regions: &mut impl Regions,
    ) -> Result<Next, Error> {
        self.pos = cut.end;
        let open = self.open_region(template).is_some();
        if self.opened_at == Some(cut.end) {
            let message =
                "the region opens and closes at one place for ever, at zero-width matches";
            let pointer = &template.fields[cut.field].pointer;
            return Err(
                Error::new(ErrorKind::NoProgress, pointer, message).at_offset(Some(cut.end))
            );
        }
        if open && template.release != TemplateRelease::V5_23 {
            self.captures.extend(cut.captures(template, text)?);
        }
        self.leave(template, cut.start, regions)?;
        // No further than a zero-width close outside of a region, in this call:
        // the next one would find it again, unless it depended on the end.
        Ok(match !open && cut.start == cut.end {
            true => Next::Wait,
            false => Next::GoOn,
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
        self.captures = cut.captures(template, text)?;
        if let Some(call) = &template.fields[cut.field].call {
            self.call = Some((cut.start, Scan::new(call, cut.end)));
        }
        regions.open(cut.field);
        Ok(())
    }

    fn ahead(&self) -> Ahead {
        match self.searches.phase() {
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
                if let (NoCall::Unfinished, true, Some(to)) = (why, call.lists, scan.item()) {
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

    /// Starts to read what may be a call within the open region.
    fn quote(&mut self, template: &Template, text: &str, cut: Cut) -> Result<Next, Error> {
        let captures = cut.captures(template, text)?;
        if let Some(call) = &template.fields[cut.field].call {
            let scan = Scan::new(call, cut.end);
            self.quoted = Some(Quoted {
                cut,
                captures,
                scan,
            });
        }
        Ok(Next::GoOn)
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
                    true => nothing_else(template, text, field, end, ahead)?,
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

/// True if the machine goes on, or has to wait for more text.
enum Next {
    GoOn,
    Wait,
}

fn outside(template: &Template) -> Region {
    match template.implicit {
        Some(_) => Region::Implicit { entered: false },
        None => Region::None,
    }
}

/// The edges at which a region may be left, or another be opened.
fn edges(template: &Template, region: Region, second_looks: usize) -> impl Iterator<Item = Edge> {
    let open = match region {
        Region::Explicit(field) => Some(field),
        Region::None | Region::Implicit { .. } => None,
    };
    let closing = |field| Edge {
        field,
        side: Side::Close,
    };
    let fields = template.fields.iter().enumerate();
    let opens = fields.filter(move |(_, spec)| match (open, &spec.call) {
        (None, _) => true,
        (Some(open), Some(call)) => second_looks > 0 && call.interrupts.contains(&open),
        (Some(_), None) => false,
    });
    let opens = opens.map(|(field, _)| Edge {
        field,
        side: Side::Open,
    });
    let implicit = template.implicit.filter(|_| open.is_none());
    let own = open.into_iter().map(closing);
    own.chain(opens).chain(implicit.map(closing))
}
