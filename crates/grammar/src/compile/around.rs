//! Terminals that look around themselves, and those with lazy quantifiers.
//!
//! For example `/\/\*(?!\*)(.|\n)*?\*\//` is a comment that no second star begins, and it ends at
//! its first end. Such a terminal is read in its text: an automaton over what comes before it, a
//! mark, the lexeme, another mark, and what comes behind it. Looks see over the marks. So it is
//! told exactly what a lexeme wants of the text around it: nothing, mostly, since what is looked
//! at lies inside of it. Symbols are classes of characters, so that `\w` costs no more than a
//! letter.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use fsm_tables::{
    Alphabet, Builder, Look, MATCH, Meter, NONE, NfaId, Ranges, Rest, Shape, State, Symbols, Syntax,
};
use regex_dialects::look_of;
use regex_syntax::hir::{self, Class, Hir, HirKind};

use crate::compile::regular::Re;
use crate::compile::table::{Bytes, End, Table, TableLimits};
use crate::error::{Error, ErrorKind};
use crate::patterns::{self, MAX_NEST};

/// The text around a lexeme that its looks may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edges {
    /// None: a lexeme is the same everywhere.
    None,
    /// None, and every split counts: lazy quantifiers change nothing.
    Splits,
    /// Under greedy lexing the text behind it: one that ended where it must not ends nowhere.
    Behind,
    /// The same where a guard reads what comes behind ignored text, but not whether anything does.
    Ignored,
    /// There is none: the lexeme is the whole text. Lazy quantifiers change nothing.
    Whole,
}

impl Edges {
    /// Says whether a lazy quantifier says which match a lexeme is.
    fn prefer(self) -> bool {
        matches!(self, Edges::None | Edges::Behind | Edges::Ignored)
    }

    /// The same for a language inside of a terminal.
    pub(crate) fn inside(self) -> Edges {
        match self.prefer() {
            true => Edges::None,
            false => Edges::Splits,
        }
    }
}

/// The characters of a line, because `^` and `$` of one line look at these.
const IN_LINE: &str = r"[^\n]";

/// The characters that `\b` tells from others (`\w`, as Python's `re` has them).
const WORD: &str = r"\w";

fn parsed(pattern: &str) -> Result<Hir, Error> {
    let parser = regex_syntax::ParserBuilder::new()
        .nest_limit(MAX_NEST)
        .build()
        .parse(pattern);
    parser.map_err(|error| Error::new(ErrorKind::Syntax, error.to_string()))
}

/// The look that a group stands for.
fn look(group: &hir::Capture) -> Option<Look> {
    group.name.as_deref().and_then(look_of)
}

/// Says whether an expression has no looks, and no lazy quantifiers that count.
fn is_plain(hir: &Hir, edges: Edges) -> bool {
    match hir.kind() {
        HirKind::Look(look) => matches!(look, hir::Look::Start | hir::Look::End),
        HirKind::Capture(group) => look(group).is_none() && is_plain(&group.sub, edges),
        HirKind::Repetition(of) => (of.greedy || !edges.prefer()) && is_plain(&of.sub, edges),
        HirKind::Concat(all) | HirKind::Alternation(all) => {
            all.iter().all(|hir| is_plain(hir, edges))
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => true,
    }
}

/// Says whether a language is none of its parts alone: it has an expression with looks or with
/// lazy quantifiers. Operands of `&` and `~` are languages of their own.
pub(crate) fn looks_around(re: &Re, edges: Edges) -> bool {
    match re {
        Re::Pattern(pattern) => {
            /// The signs of looks and lazy quantifiers, because patterns without them need not be
            /// read.
            const SIGNS: [&str; 9] = [
                "(?P<look.",
                r"\b",
                r"\B",
                "*?",
                "+?",
                "??",
                "}?",
                "(?m",
                "m:",
            ];
            SIGNS.iter().any(|sign| pattern.contains(sign))
                && parsed(pattern).is_ok_and(|hir| !is_plain(&hir, edges))
        }
        Re::Seq(all) | Re::Alt(all) | Re::Each(all) => all.iter().any(|re| looks_around(re, edges)),
        Re::Repeat(of, _, _) => looks_around(of, edges),
        Re::Empty | Re::And(_) | Re::Not(_) | Re::First(_) | Re::Closed(_) | Re::Substring(_) => {
            false
        }
    }
}

/// The part of an expression that a text is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// The lexeme.
    Lexeme,
    /// The text that a look looks for: it goes over marks.
    Around,
}

/// A place in the text of a lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Begin,
    End,
}

/// An expression over classes of characters.
#[derive(Debug)]
enum Part {
    /// One character of a set.
    Char(SetNumber, Reads),
    /// A mark must come.
    Mark(Mark),
    /// A mark may come.
    OverMarks,
    Seq(Vec<Part>),
    Alt(Vec<Part>),
    Repeat(Box<Part>, u32, Option<u32>),
    Lazy(Box<Part>, u32, Option<u32>),
    Look(Look, Box<Part>),
}

impl Part {
    /// The lengths of its texts in characters, the least and the greatest one, as Python's
    /// compiler of expressions finds them.
    fn width(&self) -> (u64, u64) {
        /// The greatest width, because Python's compiler clamps widths to its greatest count.
        const MANY: u64 = u32::MAX as u64;
        match self {
            Part::Char(..) => (1, 1),
            Part::Mark(_) | Part::OverMarks | Part::Look(..) => (0, 0),
            Part::Seq(all) => all
                .iter()
                .map(Part::width)
                .fold((0, 0), |sum, own| (sum.0 + own.0, MANY.min(sum.1 + own.1))),
            Part::Alt(all) => {
                let widths = all.iter().map(Part::width);
                widths.fold((MANY, 0), |one, own| (one.0.min(own.0), one.1.max(own.1)))
            }
            Part::Repeat(of, min, max) | Part::Lazy(of, min, max) => {
                let own = of.width();
                let most = max.map_or(MANY, |max| own.1.saturating_mul(max.into()));
                let least = own.0.saturating_mul((*min).into());
                (MANY.min(least), if own.1 == 0 { 0 } else { MANY.min(most) })
            }
        }
    }

    fn has_lazy(&self) -> bool {
        match self {
            Part::Lazy(..) => true,
            Part::Seq(all) | Part::Alt(all) => all.iter().any(Part::has_lazy),
            Part::Repeat(of, _, _) => of.has_lazy(),
            Part::Char(..) | Part::Mark(_) | Part::OverMarks | Part::Look(..) => false,
        }
    }

    /// Says whether something is repeated without end that may be empty: engines differ in what
    /// they prefer there.
    fn has_empty_loop(&self) -> bool {
        match self {
            Part::Seq(all) | Part::Alt(all) => all.iter().any(Part::has_empty_loop),
            Part::Repeat(of, _, max) | Part::Lazy(of, _, max) => {
                max.is_none() && of.width().0 == 0 || of.has_empty_loop()
            }
            Part::Char(..) | Part::Mark(_) | Part::OverMarks | Part::Look(..) => false,
        }
    }
}

/// The number of a set of characters.
type SetNumber = usize;

/// Reads expressions.
struct PartReader {
    edges: Edges,
    sets: Vec<Ranges>,
    known: HashMap<Ranges, SetNumber, FixedState>,
}

impl PartReader {
    fn char(&mut self, ranges: impl IntoIterator<Item = (u32, u32)>, reads: Reads) -> Part {
        let ranges: Ranges = ranges.into_iter().collect();
        let next = self.sets.len();
        let number = *self.known.entry(ranges.clone()).or_insert(next);
        if number == next {
            self.sets.push(ranges);
        }
        Part::Char(number, reads)
    }

    /// Calls itself, no deeper than expressions of a grammar nest.
    fn language(&mut self, re: &Re) -> Result<Part, Error> {
        Ok(match re {
            Re::Empty => Part::Seq(Vec::new()),
            Re::Pattern(pattern) => self.expression(&parsed(pattern)?, Reads::Lexeme)?,
            Re::Seq(all) => {
                let parts = all.iter().map(|re| self.language(re));
                Part::Seq(parts.collect::<Result<_, _>>()?)
            }
            Re::Alt(all) | Re::Each(all) if !all.is_empty() => {
                // The package tries those first that may be longer.
                let parts = all.iter().map(|re| Ok((self.language(re)?, re.size())));
                let mut parts = parts.collect::<Result<Vec<_>, Error>>()?;
                parts.sort_by_key(|(part, size)| {
                    let (min, max) = part.width();
                    std::cmp::Reverse((max, min, *size))
                });
                Part::Alt(parts.into_iter().map(|part| part.0).collect())
            }
            Re::Repeat(of, min, max) => Part::Repeat(Box::new(self.language(of)?), *min, *max),
            _ => {
                let message = "a terminal is part of another one that looks around or has lazy \
                               quantifiers, and it is no regular expression: write `&`, `~` and \
                               substrings in terminals of their own, which a rule names";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        })
    }

    /// Calls itself, no deeper than [`MAX_NEST`].
    fn expression(&mut self, hir: &Hir, reads: Reads) -> Result<Part, Error> {
        Ok(match hir.kind() {
            HirKind::Empty => Part::Seq(Vec::new()),
            HirKind::Literal(text) => {
                let text = String::from_utf8_lossy(&text.0);
                let chars = text.chars().map(u32::from);
                Part::Seq(chars.map(|c| self.char([(c, c)], reads)).collect())
            }
            HirKind::Class(class) => self.class(class, reads),
            HirKind::Look(look) => self.anchor(*look)?,
            HirKind::Capture(group) => match look(group) {
                Some(look) => {
                    let of = self.expression(&group.sub, Reads::Around)?;
                    looking(look, of)
                }
                None => self.expression(&group.sub, reads)?,
            },
            HirKind::Repetition(of) => {
                let sub = Box::new(self.expression(&of.sub, reads)?);
                // A look finds its text or not: it prefers nothing.
                match of.greedy || reads == Reads::Around || !self.edges.prefer() {
                    true => Part::Repeat(sub, of.min, of.max),
                    false => Part::Lazy(sub, of.min, of.max),
                }
            }
            HirKind::Concat(all) => {
                let parts = all.iter().map(|hir| self.expression(hir, reads));
                Part::Seq(parts.collect::<Result<_, _>>()?)
            }
            HirKind::Alternation(all) => {
                let parts = all.iter().map(|hir| self.expression(hir, reads));
                Part::Alt(parts.collect::<Result<_, _>>()?)
            }
        })
    }

    fn class(&mut self, class: &Class, reads: Reads) -> Part {
        match class {
            Class::Unicode(class) => {
                let ranges = class.iter().map(|r| (r.start().into(), r.end().into()));
                self.char(ranges, reads)
            }
            Class::Bytes(class) => {
                let ranges = class.iter().map(|r| (r.start().into(), r.end().into()));
                self.char(ranges, reads)
            }
        }
    }

    fn anchor(&mut self, look: hir::Look) -> Result<Part, Error> {
        let mut class = |pattern: &str| match parsed(pattern)?.kind() {
            HirKind::Class(class) => Ok(self.class(class, Reads::Around)),
            _ => Err(Error::new(ErrorKind::Syntax, "no class")),
        };
        Ok(match look {
            hir::Look::Start => Part::Look(Look::Behind, Box::new(Part::Mark(Mark::Begin))),
            hir::Look::End => Part::Look(Look::Ahead, Box::new(Part::Mark(Mark::End))),
            hir::Look::StartLF => looking(Look::NotBehind, class(IN_LINE)?),
            hir::Look::EndLF => looking(Look::NotAhead, class(IN_LINE)?),
            hir::Look::WordUnicode | hir::Look::WordUnicodeNegate => {
                let (ends, begins) = match look {
                    hir::Look::WordUnicode => (Look::NotAhead, Look::Ahead),
                    _ => (Look::Ahead, Look::NotAhead),
                };
                let mut both = |behind, ahead| {
                    let behind = looking(behind, class(WORD)?);
                    Ok::<_, Error>(Part::Seq(vec![behind, looking(ahead, class(WORD)?)]))
                };
                Part::Alt(vec![
                    both(Look::Behind, ends)?,
                    both(Look::NotBehind, begins)?,
                ])
            }
            _ => {
                let message = "a regular expression has a kind of boundary that is not supported: \
                               write it as `(?=..)`, `(?!..)`, `(?<=..)` or `(?<!..)`";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        })
    }
}

fn looking(look: Look, of: Part) -> Part {
    let of = match look {
        Look::Behind | Look::NotBehind => Part::Seq(vec![of, Part::OverMarks]),
        Look::Ahead | Look::NotAhead => of,
    };
    Part::Look(look, Box::new(of))
}

/// Counts the steps of one terminal.
struct Counted {
    limits: TableLimits,
    work: usize,
}

impl Meter for Counted {
    type Error = Error;

    fn work(&mut self, steps: usize) -> Result<(), Error> {
        self.work += steps;
        match self.work > self.limits.work {
            true => Err(Error::limit("max_work", "steps", self.limits.work)),
            false => Ok(()),
        }
    }

    fn nfa_states(&mut self, states: usize) -> Result<(), Error> {
        self.limits.nfa_states(states)
    }

    fn states(&mut self, states: usize) -> Result<(), Error> {
        self.limits.states(states)
    }
}

/// The symbols that texts with marks consist of: classes of characters by number, and behind them
/// the two marks.
struct Symbolic {
    /// By set of characters: its classes as ranges.
    sets: Vec<Vec<(u32, u32)>>,
    /// The number of classes there are.
    classes: u32,
}

impl Symbolic {
    fn mark(&self, mark: Mark) -> (u32, u32) {
        let symbol = self.classes + u32::from(mark == Mark::End);
        (symbol, symbol)
    }

    /// Any text in front of a state.
    fn any(&self, builder: &mut Builder<'_, Counted>, next: NfaId) -> Result<NfaId, Error> {
        let split = builder.push(State::Split(next, next))?;
        let all = match self.classes {
            0 => Vec::new(),
            count => vec![(0, count - 1)],
        };
        let char = builder.symbol(all, split)?;
        builder.set_state(split, State::Split(char, next));
        Ok(split)
    }
}

impl Syntax<Counted> for &Symbolic {
    type Expression = Part;

    fn shape<'e>(&self, of: &'e Part) -> Shape<'e, Part> {
        match of {
            Part::Char(..) | Part::Mark(_) | Part::OverMarks => Shape::Leaf,
            Part::Seq(all) => Shape::Concat(all),
            Part::Alt(all) => Shape::Alternation(all),
            Part::Repeat(of, min, max) => Shape::Repeat {
                of,
                min: *min,
                max: *max,
            },
            Part::Lazy(of, min, max) => Shape::Lazy {
                of,
                min: *min,
                max: *max,
            },
            Part::Look(look, of) => Shape::Look { look: *look, of },
        }
    }

    fn leaf(
        &mut self,
        builder: &mut Builder<'_, Counted>,
        leaf: &Part,
        next: NfaId,
    ) -> Result<NfaId, Error> {
        let begin = match leaf {
            Part::Char(set, reads) => {
                let begin = builder.symbol(self.sets[*set].clone(), next)?;
                if *reads == Reads::Lexeme {
                    return Ok(begin);
                }
                begin
            }
            Part::Mark(mark) => return builder.symbol(vec![self.mark(*mark)], next),
            _ => next,
        };
        let marks = (self.mark(Mark::Begin).0, self.mark(Mark::End).0);
        let over = builder.symbol(vec![marks], begin)?;
        builder.push(State::Split(begin, over))
    }
}

/// The automaton of a terminal that looks around itself. It takes what Python's `re` would
/// match, as long as no longer lexeme of it is there.
///
/// # Errors
///
/// The text that it looks at lies where `edges` has nothing, more than the next character has to be
/// known, or it exceeds a limit.
pub(crate) fn table(re: &Re, limits: TableLimits, edges: Edges) -> Result<Table, Error> {
    let mut reader = PartReader {
        edges,
        sets: Vec::new(),
        known: HashMap::default(),
    };
    let each = match re {
        Re::Each(all) => &all[..],
        one => std::slice::from_ref(one),
    };
    let parts = each.iter().map(|re| reader.language(re));
    let parts = parts.collect::<Result<Vec<Part>, Error>>()?;
    let mut meter = Counted { limits, work: 0 };
    let (alphabet, members) = Alphabet::new(Symbols::Chars, Rest::AsMet, &reader.sets, &mut meter)?;
    let ranges = |members: Vec<u32>| members.into_iter().map(|class| (class, class)).collect();
    let symbols = &Symbolic {
        sets: members.into_iter().map(ranges).collect(),
        classes: alphabet.len() as u32,
    };
    let mut builder = Builder::new(&mut meter);
    let behind = symbols.any(&mut builder, MATCH)?;
    let end = builder.symbol(vec![symbols.mark(Mark::End)], behind)?;
    let mut bodies = None;
    for part in &parts {
        let body = match part.has_lazy() {
            false => builder.expression(&mut &*symbols, part, end)?,
            true => {
                if part.has_empty_loop() {
                    let message = "a lazy quantifier stands beside a repetition of what may be \
                                   empty: repeat what is not empty";
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
                let mut own = Counted { limits, work: 0 };
                let mut lexeme = Builder::new(&mut own);
                let start = lexeme.expression(&mut &*symbols, part, MATCH)?;
                let lexeme = lexeme.finish(start);
                builder.preferred(&lexeme, Symbols::Chars, end)?
            }
        };
        bodies = Some(match bodies {
            Some(others) => builder.push(State::Split(others, body))?,
            None => body,
        });
    }
    let body = bodies.unwrap_or(end);
    let begin = builder.symbol(vec![symbols.mark(Mark::Begin)], body)?;
    let start = symbols.any(&mut builder, begin)?;
    let nfa = builder.finish(start);
    let (known, members) = Alphabet::new(Symbols::Chars, Rest::AsMet, nfa.sets(), &mut meter)?;
    let read = nfa.determinize(known.len(), &members, &mut meter)?;
    let read = read.minimized(&mut meter)?;
    let all = (0..symbols.classes + 2).map(|symbol| known.class_of(symbol).unwrap_or(0));
    let context = Context {
        read: read.over(&all.collect::<Vec<u32>>()),
        alphabet,
    };
    context.lexeme(&mut meter, edges)
}

/// A demand of a lexeme on the text behind it, if not every text will do.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wants {
    /// The classes of characters that must not follow.
    not: Vec<u32>,
    /// Says whether nothing may follow.
    may_end: bool,
}

/// The places where a lexeme ends in a state.
enum Ending {
    Nowhere,
    Anywhere,
    /// Before text that it wants.
    Before(Wants),
}

/// A terminal in its text.
struct Context {
    /// The text before it, a mark, the lexeme, another mark, and the text behind it.
    read: Bytes,
    alphabet: Alphabet,
}

/// Stands behind a lexeme while an automaton over bytes is made, and before the number of what it
/// wants. No text in UTF-8 has this byte.
const END: u8 = 0xFF;

/// The number of those that want nothing, zero because the others are counted above it.
const NOTHING: u8 = 0;

/// The number of those before text that must not follow, because such an end is no lexeme.
const TRAP: u8 = 1;

/// The first number of those that want something, because the two below are taken.
const FIRST: u8 = 2;

impl Context {
    fn classes(&self) -> u32 {
        self.alphabet.len() as u32
    }

    fn step(&self, state: u32, symbol: u32) -> u32 {
        match state {
            NONE => NONE,
            _ => self.read.next(state, symbol),
        }
    }

    /// The states that any text leads to from one, [`NONE`] among them.
    fn all_behind(&self, state: u32) -> Vec<u32> {
        let mut met = vec![state];
        let mut known: HashSet<u32, FixedState> = met.iter().copied().collect();
        let mut at = 0;
        while let Some(&state) = met.get(at) {
            at += 1;
            let to = (0..self.classes()).map(|class| self.step(state, class));
            met.extend(to.filter(|to| known.insert(*to)));
        }
        met
    }

    /// The state in which a lexeme begins.
    fn begin(&self, edges: Edges) -> Result<u32, Error> {
        let start = if self.read.states() == 0 { NONE } else { 0 };
        let begin = |state| self.step(state, self.classes());
        let first = begin(start);
        if edges != Edges::Whole
            && self
                .all_behind(start)
                .into_iter()
                .any(|s| begin(s) != first)
        {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a regular expression looks at the text before its lexeme, by `\\b`, `^` or a \
                 look-behind at its beginning: write what it looks at as part of the terminal, \
                 or leave the look out",
            ));
        }
        Ok(first)
    }

    /// Says whether every text may follow from a state of the least automaton.
    fn takes_all(&self, state: u32) -> bool {
        state != NONE
            && self.read.labels()[state as usize]
            && (0..self.classes()).all(|class| self.step(state, class) == state)
    }

    /// Returns what a lexeme wants that ends where the text behind it is read from a state.
    /// Under greedy lexing a lexeme does not end before a character that it takes.
    fn end(&self, state: u32, behind: u32, edges: Edges) -> Result<Ending, Error> {
        if self.takes_all(behind) {
            return Ok(Ending::Anywhere);
        }
        let may_follow = |class: &u32| edges != Edges::Behind || self.step(state, *class) == NONE;
        let all = || (0..self.classes()).filter(may_follow);
        let may_end = self.read.labels()[behind as usize];
        let to = |class: &u32| self.step(behind, *class);
        let is_told = |class: u32| to(&class) == NONE || self.takes_all(to(&class));
        let not: Vec<u32> = all().filter(|class| to(class) == NONE).collect();
        if may_end && all().all(|class| self.takes_all(to(&class))) {
            return Ok(Ending::Anywhere);
        }
        if !may_end && not.len() == all().count() {
            return Ok(Ending::Nowhere);
        }
        // The first byte of a character seldom tells all of it: none comes that may be one
        // which must not.
        let is_by_bytes = may_end || not.iter().all(|class| !self.is_beyond_ascii(*class));
        match all().all(is_told) && (is_by_bytes || self.all_beyond_ascii_in(&not)) {
            true => Ok(Ending::Before(Wants { not, may_end })),
            false => Err(Error::new(
                ErrorKind::Unsupported,
                "a regular expression looks at more than one character behind its lexeme, or by \
                 `(?=..)` at some beyond ASCII: look at one, by `(?!..)`, or write what comes \
                 there as part of the terminal",
            )),
        }
    }

    fn is_beyond_ascii(&self, class: u32) -> bool {
        self.alphabet
            .runs()
            .any(|run| run.2 == class && run.1 >= 0x80)
    }

    /// Says whether all characters beyond ASCII are in some classes.
    fn all_beyond_ascii_in(&self, classes: &[u32]) -> bool {
        let mut runs = self.alphabet.runs_within(0x80, 0x10_FFFF);
        runs.all(|run| classes.contains(&run.2))
    }

    /// Patterns of the characters of some classes: of ASCII, and beyond. Many states differ in
    /// ASCII alone, as those in keywords do.
    fn patterns(&self, classes: &[u32]) -> impl Iterator<Item = String> {
        let halves = [(0, 0x7F), (0x80, 0x10_FFFF)];
        let patterns = halves.map(|(from, to)| {
            let runs = self.alphabet.runs_within(from, to);
            let runs = runs.filter(|run| classes.contains(&run.2));
            let chars =
                runs.filter_map(|run| Some((char::from_u32(run.0)?, char::from_u32(run.1)?)));
            let chars: Vec<(char, char)> = chars.collect();
            (!chars.is_empty()).then(|| patterns::class(&chars))
        });
        patterns.into_iter().flatten()
    }

    fn lexeme(&self, meter: &mut Counted, edges: Edges) -> Result<Table, Error> {
        let start = self.begin(edges)?;
        if start == NONE {
            return Ok(Table::nothing());
        }
        let limits = meter.limits;
        let mut builder = Builder::new(meter);
        let mut said: HashMap<u8, NfaId, FixedState> = HashMap::default();
        let mut says = |number: u8, builder: &mut Builder<'_, Counted>| match said.get(&number) {
            Some(&known) => Ok::<NfaId, Error>(known),
            None => {
                let state = builder.symbol(vec![(number.into(), number.into())], MATCH)?;
                let state = builder.symbol(vec![(END.into(), END.into())], state)?;
                said.insert(number, state);
                Ok(state)
            }
        };
        let trap = says(TRAP, &mut builder)?;
        let mut tables: HashMap<String, Table, FixedState> = HashMap::default();
        // By pattern and what comes behind it.
        let mut chars: HashMap<(String, NfaId), NfaId, FixedState> = HashMap::default();
        let mut all_wants: Vec<Wants> = Vec::new();
        let mut states = vec![start];
        let mut entries: HashMap<u32, NfaId, FixedState> = HashMap::default();
        entries.insert(start, builder.push(State::Split(MATCH, MATCH))?);
        let mut at = 0;
        while let Some(&state) = states.get(at) {
            at += 1;
            let mut ways = Vec::new();
            let behind = self.step(state, self.classes() + 1);
            let mut wants = None;
            let mut is_end = true;
            if behind != NONE && edges == Edges::Whole {
                if self.read.labels()[behind as usize] {
                    ways.push(says(NOTHING, &mut builder)?);
                }
            } else if behind != NONE {
                wants = match self.end(state, behind, edges)? {
                    Ending::Anywhere => None,
                    Ending::Before(wants) => Some(wants),
                    Ending::Nowhere => {
                        is_end = false;
                        None
                    }
                };
                let number = match &wants {
                    None => NOTHING,
                    Some(own) if edges == Edges::Ignored && !own.may_end => {
                        return Err(Error::new(
                            ErrorKind::Unsupported,
                            "a regular expression of ignored text looks for what must come \
                             behind it: look by `(?!..)` for what must not",
                        ));
                    }
                    Some(_) if !matches!(edges, Edges::Behind | Edges::Ignored) => {
                        return Err(Error::new(
                            ErrorKind::Unsupported,
                            "a regular expression looks at the text behind its lexeme, by `\\b`, \
                             `$` or a look-ahead at its end, where every split counts: write what \
                             it looks at as part of the terminal, or leave the look out",
                        ));
                    }
                    Some(_) if state == start => {
                        return Err(Error::new(
                            ErrorKind::Unsupported,
                            "a regular expression that may be empty looks at the text behind its \
                             lexeme: let it be no empty text",
                        ));
                    }
                    Some(own) => {
                        let known = all_wants.iter().position(|known| known == own);
                        let number = known.unwrap_or_else(|| {
                            all_wants.push(own.clone());
                            all_wants.len() - 1
                        });
                        // More ends than there are bytes in no text are not told apart.
                        if number >= MAX_WANTS {
                            return Err(Error::new(
                                ErrorKind::Unsupported,
                                "a regular expression looks at the text behind its lexeme in too \
                                 many ways",
                            ));
                        }
                        FIRST + number as u8
                    }
                };
                if is_end {
                    ways.push(says(number, &mut builder)?);
                }
            }
            let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
            for class in 0..self.classes() {
                let to = self.step(state, class);
                let is_over = wants.as_ref().is_some_and(|own| own.not.contains(&class));
                if to == NONE && !is_over {
                    continue;
                }
                match groups.iter_mut().find(|group| group.0 == to) {
                    Some((_, classes)) => classes.push(class),
                    None => groups.push((to, vec![class])),
                }
            }
            for (to, classes) in groups {
                let next = match (to, entries.get(&to)) {
                    (NONE, _) => trap,
                    (_, Some(&known)) => known,
                    (_, None) => {
                        let entry = builder.push(State::Split(MATCH, MATCH))?;
                        entries.insert(to, entry);
                        states.push(to);
                        entry
                    }
                };
                for pattern in self.patterns(&classes) {
                    let key = (pattern, next);
                    if let Some(&known) = chars.get(&key) {
                        ways.push(known);
                        continue;
                    }
                    let table = match tables.get(&key.0) {
                        Some(known) => known,
                        None => {
                            let table = Table::of_pattern(&key.0, limits)?;
                            tables.entry(key.0.clone()).or_insert(table)
                        }
                    };
                    let way = table.embed(&mut builder, next)?;
                    ways.push(way);
                    chars.insert(key, way);
                }
            }
            let mut all = None;
            for way in ways {
                all = Some(match all {
                    Some(others) => builder.push(State::Split(way, others))?,
                    None => way,
                });
            }
            let way = match all {
                Some(way) => way,
                None => builder.symbol(Vec::new(), MATCH)?,
            };
            builder.set_state(entries[&state], State::Split(way, way));
        }
        let nfa = builder.finish(entries[&start]);
        let table = Table::of_nfa(&nfa, meter)?;
        Ok(table.with_ends(|table, state| {
            let end = table.step(state, END);
            if end == 0 {
                return End::No;
            }
            let says = |number| table.step(end, number) != 0;
            let wants = (FIRST..).zip(&all_wants).find(|want| says(want.0));
            match wants {
                Some((_, want)) if !want.may_end => End::GoesOn,
                _ if says(TRAP) => End::No,
                _ => End::Yes,
            }
        }))
    }
}

/// The most ways in which terminals look at the text behind them, because each is one byte.
const MAX_WANTS: usize = 200;
