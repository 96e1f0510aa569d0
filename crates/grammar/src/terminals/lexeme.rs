//! The automaton over bytes of a terminal, from the one that reads it in its text.
//!
//! For example, `/(?!if\b)[a-z]+/` takes `iffy`, and behind `if` a letter must come.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use foldhash::fast::FixedState;
use fsm_tables::{Builder, MATCH, NONE, NfaId, State};

use super::context::{Context, Ending, Wants};
use super::edges::Edges;
use super::symbols::Counted;
use crate::error::{Error, ErrorKind};
use crate::patterns;
use crate::terminals::table::{End, Table, TableLimits};

/// Stands behind a lexeme while an automaton over bytes is made, and before the number of what it
/// wants. No text in UTF-8 has this byte.
const END: u8 = 0xFF;

/// The number of those that want nothing, zero because the others are counted above it.
const NOTHING: u8 = 0;

/// The number of those before text that must not follow, because such an end is no lexeme.
const TRAP: u8 = 1;

/// The first number of those that want something, because the two below are taken.
const FIRST: u8 = 2;

/// The most ways in which terminals look at the text behind them, because each is one byte.
const MAX_WANTS: usize = 200;

/// The first and the last character of ASCII, and of what is beyond it. Many states differ in ASCII
/// alone, as those in keywords do.
const HALVES: [RangeInclusive<u32>; 2] = [0..=0x7F, 0x80..=0x10_FFFF];

/// Returns the table of a terminal.
///
/// # Errors
///
/// It wants more of the text around it than `edges` has, or exceeds a limit.
pub(super) fn lexeme(context: &Context, meter: &mut Counted, edges: Edges) -> Result<Table, Error> {
    let start = context.begin(edges)?;
    if start == NONE {
        return Ok(Table::nothing());
    }
    let mut maker = Maker::new(context, meter, start, edges)?;
    let mut at = 0;
    while let Some(&state) = maker.states.get(at) {
        at += 1;
        maker.add(state)?;
    }
    let Maker {
        builder,
        entries,
        all_wants,
        ..
    } = maker;
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

/// Characters of some classes, those of one half.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Chars {
    half: usize,
    classes: Vec<u32>,
}

/// Makes the automaton state by state.
struct Maker<'a> {
    context: &'a Context,
    edges: Edges,
    start: u32,
    limits: TableLimits,
    builder: Builder<'a, Counted>,
    /// By half and class: whether the class has characters there.
    has_chars: [Vec<bool>; 2],
    /// By number of what a lexeme wants: the state in front of it.
    said: HashMap<u8, NfaId, FixedState>,
    trap: NfaId,
    all_wants: Vec<Wants>,
    /// The states of the context that are met, and where each begins.
    states: Vec<u32>,
    entries: HashMap<u32, NfaId, FixedState>,
    /// Numbers of characters, and their tables.
    numbers: HashMap<Chars, usize, FixedState>,
    tables: Vec<Table>,
    /// By number of characters and what comes behind them.
    embedded: HashMap<(usize, NfaId), NfaId, FixedState>,
}

impl<'a> Maker<'a> {
    fn new(
        context: &'a Context,
        meter: &'a mut Counted,
        start: u32,
        edges: Edges,
    ) -> Result<Maker<'a>, Error> {
        let limits = meter.limits;
        let mut builder = Builder::new(meter);
        let entry = builder.push(State::Split(MATCH, MATCH))?;
        let mut maker = Maker {
            context,
            edges,
            start,
            limits,
            builder,
            has_chars: HALVES.map(|half| context.has_chars(half)),
            said: HashMap::default(),
            trap: MATCH,
            all_wants: Vec::new(),
            states: vec![start],
            entries: HashMap::from_iter([(start, entry)]),
            numbers: HashMap::default(),
            tables: Vec::new(),
            embedded: HashMap::default(),
        };
        maker.trap = maker.says(TRAP)?;
        Ok(maker)
    }

    /// Returns the state that says the number of what a lexeme wants which ends there.
    fn says(&mut self, number: u8) -> Result<NfaId, Error> {
        if let Some(&known) = self.said.get(&number) {
            return Ok(known);
        }
        let said = vec![(number.into(), number.into())];
        let state = self.builder.symbol(said, MATCH)?;
        let state = self.builder.symbol(vec![(END.into(), END.into())], state)?;
        self.said.insert(number, state);
        Ok(state)
    }

    /// Adds what may come at a state.
    fn add(&mut self, state: u32) -> Result<(), Error> {
        let mut ways = Vec::new();
        let wants = self.add_end(state, &mut ways)?;
        for (to, classes) in self.groups(state, wants.as_ref()) {
            let next = match to {
                NONE => self.trap,
                to => self.entry(to)?,
            };
            self.add_chars(&classes, next, &mut ways)?;
        }
        let mut all = None;
        for way in ways {
            all = Some(match all {
                Some(others) => self.builder.push(State::Split(way, others))?,
                None => way,
            });
        }
        let way = match all {
            Some(way) => way,
            None => self.builder.symbol(Vec::new(), MATCH)?,
        };
        let entry = self.entries[&state];
        self.builder.set_state(entry, State::Split(way, way));
        Ok(())
    }

    /// Adds the end of a lexeme in a state, if it may end there. Returns what it wants.
    fn add_end(&mut self, state: u32, ways: &mut Vec<NfaId>) -> Result<Option<Wants>, Error> {
        let behind = self.context.behind(state);
        if behind == NONE {
            return Ok(None);
        }
        if self.edges == Edges::Whole {
            if self.context.is_read(behind) {
                ways.push(self.says(NOTHING)?);
            }
            return Ok(None);
        }
        let wants = match self.context.end(state, behind, self.edges)? {
            Ending::Anywhere => None,
            Ending::Before(wants) => Some(wants),
            Ending::Nowhere => return Ok(None),
        };
        let number = match &wants {
            None => NOTHING,
            Some(wants) => self.number_of(wants, state)?,
        };
        ways.push(self.says(number)?);
        Ok(wants)
    }

    /// Returns the number of what a lexeme wants that ends in a state.
    ///
    /// # Errors
    ///
    /// Nothing reads the text behind a lexeme there, or there are too many ways to look at it.
    fn number_of(&mut self, own: &Wants, state: u32) -> Result<u8, Error> {
        let unsupported = |message: &str| Err(Error::new(ErrorKind::Unsupported, message));
        if self.edges == Edges::Ignored && !own.may_end {
            return unsupported(
                "a regular expression of ignored text looks for what must come behind it: look by \
                 `(?!..)` for what must not",
            );
        }
        if !matches!(self.edges, Edges::Behind | Edges::Ignored) {
            return unsupported(
                "a regular expression looks at the text behind its lexeme, by `\\b`, `$` or a \
                 look-ahead at its end, where every split counts: write what it looks at as part \
                 of the terminal, or leave the look out",
            );
        }
        if state == self.start {
            return unsupported(
                "a regular expression that may be empty looks at the text behind its lexeme: let \
                 it be no empty text",
            );
        }
        let known = self.all_wants.iter().position(|known| known == own);
        let number = known.unwrap_or_else(|| {
            self.all_wants.push(own.clone());
            self.all_wants.len() - 1
        });
        match number >= MAX_WANTS {
            // More ends than there are bytes in no text are not told apart.
            true => unsupported(
                "a regular expression looks at the text behind its lexeme in too many ways",
            ),
            false => Ok(FIRST + number as u8),
        }
    }

    /// Returns the states behind a state, each with the classes that lead there; [`NONE`] with those
    /// before which a lexeme must not end.
    fn groups(&self, state: u32, wants: Option<&Wants>) -> Vec<(u32, Vec<u32>)> {
        let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
        for class in 0..self.context.classes() {
            let to = self.context.step(state, class);
            let is_over = wants.is_some_and(|own| own.not.contains(&class));
            if to == NONE && !is_over {
                continue;
            }
            match groups.iter_mut().find(|group| group.0 == to) {
                Some((_, classes)) => classes.push(class),
                None => groups.push((to, vec![class])),
            }
        }
        groups
    }

    fn entry(&mut self, state: u32) -> Result<NfaId, Error> {
        if let Some(&known) = self.entries.get(&state) {
            return Ok(known);
        }
        let entry = self.builder.push(State::Split(MATCH, MATCH))?;
        self.entries.insert(state, entry);
        self.states.push(state);
        Ok(entry)
    }

    /// Adds the characters of some classes in front of a state.
    fn add_chars(
        &mut self,
        classes: &[u32],
        next: NfaId,
        ways: &mut Vec<NfaId>,
    ) -> Result<(), Error> {
        for half in 0..HALVES.len() {
            let own = classes.iter().copied();
            let own = own.filter(|&class| self.has_chars[half][class as usize]);
            let classes: Vec<u32> = own.collect();
            if classes.is_empty() {
                continue;
            }
            let number = self.number_chars(Chars { half, classes })?;
            let way = match self.embedded.get(&(number, next)) {
                Some(&known) => known,
                None => self.tables[number].embed(&mut self.builder, next)?,
            };
            self.embedded.insert((number, next), way);
            ways.push(way);
        }
        Ok(())
    }

    fn number_chars(&mut self, chars: Chars) -> Result<usize, Error> {
        if let Some(&known) = self.numbers.get(&chars) {
            return Ok(known);
        }
        let ranges = self
            .context
            .chars(&chars.classes, HALVES[chars.half].clone());
        let table = Table::of_pattern(&patterns::class(&ranges), self.limits)?;
        self.tables.push(table);
        self.numbers.insert(chars, self.tables.len() - 1);
        Ok(self.tables.len() - 1)
    }
}
