//! Expressions as automata over bytes: for example, `é` is read in two steps, `0xC3` and `0xA9`.

use std::collections::{HashSet, VecDeque};
use std::sync::OnceLock;

use crate::regex::decoder::{Decoder, Entry};
use crate::regex::distances::{self, Distances};
use crate::regex::short_texts;
use crate::regex::symbol_table::SymbolTable;
use crate::tokens::CharRanges;
use crate::{
    ByteAutomaton, ClassId, Completed, Cursor, Description, Ending, Growth, Horizon, KeyLanguage,
    Nearer, Parts, Place, PlainText, Report, Scope, TextLoop, finite_can_do_without,
};

/// A deterministic automaton over bytes: what an index over a vocabulary is
/// built from.
///
/// It is an automaton over classes of symbols (characters, or bytes) with one
/// decoder from bytes to classes beside it; a state is a state of the first and
/// a place in the spelling of a symbol. Every state but the dead one can still
/// reach acceptance.
///
/// Memory: 2 bytes (4 with 65,536 states or more) a state and class of symbols,
/// and the decoder: a few hundred bytes, or some KiB for Unicode classes.
#[derive(Clone)]
pub struct ByteDfa {
    table: SymbolTable,
    /// The classes that go on from each state: `decoder.words()` words for
    /// each. Nothing where every symbol is one byte.
    live: Box<[u64]>,
    start: u32,
    /// A cursor is a state times `1 << shift` plus a node of the decoder.
    shift: u32,
    hints: Option<Box<Hints>>,
    /// States that no text as short as a token tells apart, by the smallest of
    /// them; set by an index.
    alike: Option<Box<[u32]>>,
    /// The length of the longest text for which that holds.
    alike_bytes: usize,
    /// The distance of each state from acceptance, found when first asked for.
    distances: OnceLock<Distances>,
}

/// The facts about text loops.
#[derive(Clone, Debug)]
pub(crate) struct Hints {
    /// By state, the dead one included: where most text leads.
    pub(crate) loops: Vec<Option<MainText>>,
    /// The classes that loops speak of.
    pub(crate) classes: Vec<CharRanges>,
}

/// The state to which most text leads from a state: all characters of a class go to `next`, which
/// in the inside of a string is the state itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MainText {
    /// A number into [`Hints::classes`].
    pub(crate) class: u32,
    /// A state.
    pub(crate) next: u32,
}

impl ByteDfa {
    /// `cells` has a row of `decoder.class_count()` states for each state, the
    /// dead one (0) included. `None` if there are too many states for a cursor.
    pub(crate) fn new(
        decoder: Decoder,
        cells: Vec<u32>,
        accepting: &[bool],
        start: u32,
    ) -> Option<ByteDfa> {
        let stride = decoder.class_count();
        let states = accepting.len();
        let shift = (decoder.node_count() as u32 + 1)
            .next_power_of_two()
            .trailing_zeros();
        if (states as u64) << shift > u64::from(u32::MAX) {
            return None;
        }
        let mut live = Vec::new();
        if decoder.node_count() > 0 {
            live.resize(states * decoder.words(), 0u64);
            for (live, row) in live
                .chunks_exact_mut(decoder.words())
                .zip(cells.chunks_exact(stride))
            {
                for (class, _) in row.iter().enumerate().filter(|cell| *cell.1 != 0) {
                    live[class / 64] |= 1 << (class % 64);
                }
            }
        }
        Some(ByteDfa {
            table: SymbolTable::new(decoder, cells, accepting),
            live: live.into(),
            start,
            shift,
            hints: None,
            alike: None,
            alike_bytes: 0,
            distances: OnceLock::new(),
        })
    }

    pub(crate) fn with_hints(mut self, hints: Hints) -> Self {
        self.hints = Some(Box::new(hints));
        self
    }

    /// Forgets what only the computation of rows needs.
    pub(crate) fn drop_hints(&mut self) {
        self.hints = None;
    }

    /// Finds the states that no text of at most `bytes` bytes tells apart, so
    /// that they get one mask.
    pub(crate) fn with_horizon(mut self, bytes: usize) -> Self {
        let stride = self.table.decoder.class_count();
        let cells = |state: usize, class: usize| self.table.cell(state * stride + class);
        let accepting = |state: usize| self.accepts_in(state as u32);
        self.alike = short_texts::alike(self.table.states(), stride, cells, accepting, bytes);
        self.alike_bytes = bytes;
        self
    }

    /// Returns the number of states that the automaton over symbols has, the dead one not counted.
    pub fn state_count(&self) -> usize {
        self.table.states() - 1
    }

    /// Returns the number of classes of symbols.
    pub fn class_count(&self) -> usize {
        self.table.decoder.class_count()
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let hints = self.hints.as_ref().map_or(0, |hints| {
            let classes: usize = hints.classes.iter().map(|c| c.len() * 8).sum();
            hints.loops.len() * size_of::<Option<MainText>>() + classes
        });
        size_of::<Self>()
            + self.table.memory()
            + self.live.len() * 8
            + self.alike.as_ref().map_or(0, |alike| alike.len() * 4)
            + hints
    }

    /// Tells whether the whole of `text` is in the language.
    pub fn accepts(&self, text: impl AsRef<[u8]>) -> bool {
        crate::is_match(self, text.as_ref())
    }

    /// The state of the automaton over symbols; 0 is dead.
    #[inline]
    pub(crate) fn number(&self, cursor: Cursor) -> usize {
        (cursor.0 >> self.shift) as usize
    }

    /// Between two symbols in a state.
    pub(crate) fn state(&self, number: usize) -> Cursor {
        Cursor((number as u32) << self.shift)
    }

    /// The cursors at which a row is needed: one of those states that are
    /// alike, and each with every place inside a symbol from which it goes on.
    pub(crate) fn distinct_cursors(&self) -> Vec<Cursor> {
        let states = (1..self.table.states() as u32).filter(|&s| self.representative(s) == s);
        states.flat_map(|state| self.cursors_of(state)).collect()
    }

    /// All cursors but the dead one, ascending.
    pub(crate) fn all_cursors(&self) -> impl Iterator<Item = Cursor> + '_ {
        (1..self.table.states() as u32).flat_map(|state| self.cursors_of(state))
    }

    fn cursors_of(&self, state: u32) -> impl Iterator<Item = Cursor> + '_ {
        let nodes = 1..=self.table.decoder.node_count() as u32;
        std::iter::once(0)
            .chain(nodes.filter(move |&node| self.goes_on(state, node)))
            .map(move |node| Cursor(state << self.shift | node))
    }

    /// The cursor whose row is that of `cursor`.
    #[inline]
    pub(crate) fn row_cursor(&self, cursor: Cursor) -> Cursor {
        match &self.alike {
            None => cursor,
            Some(alike) => {
                let node = cursor.0 & ((1 << self.shift) - 1);
                Cursor(alike[self.number(cursor)] << self.shift | node)
            }
        }
    }

    /// Tells whether the cursor is between two symbols.
    #[inline]
    pub fn is_between(&self, cursor: Cursor) -> bool {
        cursor.0 & ((1 << self.shift) - 1) == 0
    }

    /// Returns the bytes that lead on from a cursor, ascending, as runs: the first byte, the last one, and where they
    /// lead. Neighbours may lead to the same place.
    pub fn runs(&self, cursor: Cursor) -> impl Iterator<Item = (u8, u8, Cursor)> + '_ {
        let node = cursor.0 & ((1 << self.shift) - 1);
        let state = cursor.0 >> self.shift;
        let runs = self.table.decoder.runs(node);
        let runs = runs.map(move |(first, last, entry)| (first, last, self.behind(state, entry)));
        runs.filter(|run| !run.2.is_dead())
    }

    pub(crate) fn decoder(&self) -> &Decoder {
        &self.table.decoder
    }

    /// The next state by state and class, row after row.
    pub(crate) fn cells(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.table.states() * self.table.decoder.class_count()).map(|at| self.table.cell(at))
    }

    pub(crate) fn accepts_in(&self, state: u32) -> bool {
        self.table.accepts_in(state)
    }

    /// Returns the number of bits by which a state is shifted in a cursor.
    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    /// The classes that go on from each state; see the field.
    pub(crate) fn live(&self) -> &[u64] {
        &self.live
    }

    pub(crate) fn alike(&self) -> Option<&[u32]> {
        self.alike.as_deref()
    }

    pub(crate) fn set_alike(&mut self, alike: Option<Box<[u32]>>) {
        self.alike = alike;
    }

    /// Tells whether every state but the dead one reaches acceptance by symbols that have a
    /// spelling. So it is of whatever is built here; a file may say otherwise, and then completions
    /// and forced texts would have no end.
    pub(crate) fn is_live(&self) -> bool {
        distances::is_live(&self.table)
    }

    fn representative(&self, state: u32) -> u32 {
        match &self.alike {
            Some(alike) => alike[state as usize],
            None => state,
        }
    }

    /// Tells whether some symbol that is spelt through `node` goes on from `state`.
    #[inline]
    fn goes_on(&self, state: u32, node: u32) -> bool {
        let words = self.table.decoder.words();
        let reach = self.table.decoder.reach(node);
        if let [reach] = reach {
            return self.live[state as usize] & reach != 0;
        }
        let live = &self.live[state as usize * words..][..words];
        live.iter().zip(reach).any(|(a, b)| a & b != 0)
    }
}

impl ByteAutomaton for ByteDfa {
    type State = Cursor;
    type Scratch = ();

    const STEPS_ARE_CHEAP: bool = true;

    fn scratch(&self) {}

    fn start(&self) -> Cursor {
        self.state(self.start as usize)
    }

    fn is_accepting(&self, state: &Cursor) -> bool {
        self.is_between(*state) && self.accepts_in(self.number(*state) as u32)
    }

    fn advance(&self, state: &mut Cursor, bytes: &[u8], _: &mut ()) -> Result<(), usize> {
        let mut at = *state;
        for (offset, &byte) in bytes.iter().enumerate() {
            at = self.step(at, byte, &mut ());
            if at.is_dead() {
                return Err(offset);
            }
        }
        *state = at;
        Ok(())
    }

    fn completion(&self, state: &Cursor, max_bytes: usize, out: &mut Vec<u8>) -> Option<Completed> {
        let before = out.len();
        let mut at = *state;
        while !self.is_accepting(&at) {
            let Some((text, next)) = self.nearest(at) else {
                out.truncate(before);
                return None; // Only the dead state has no way on.
            };
            out.extend_from_slice(&text);
            if out.len() - before > max_bytes {
                out.truncate(before);
                return None;
            }
            at = next;
        }
        Some(Completed::Whole)
    }

    fn enter(&self, state: &Cursor, _: &mut ()) -> Cursor {
        *state
    }

    #[inline]
    fn step(&self, cursor: Cursor, byte: u8, _: &mut ()) -> Cursor {
        // Most bytes are a symbol of their own: a load for the class and one
        // for the state. The rest is kept out of the loops that call this.
        if self.is_between(cursor)
            && let Some(class) = self.table.decoder.single(byte)
        {
            let row = (cursor.0 >> self.shift) as usize * self.table.decoder.class_count();
            return Cursor(self.table.cell(row + class) << self.shift);
        }
        self.step_inside(cursor, byte)
    }

    fn describe(&self, cursor: Cursor, _: Horizon<'_>, _: &mut ()) -> Description {
        let hints = self.hints.as_ref().filter(|_| self.is_between(cursor));
        let text = hints.and_then(|hints| hints.loops.get(self.number(cursor)).copied().flatten());
        text.map_or(Description::Unknown, |text| {
            let next = self.state(text.next as usize);
            Description::Text(TextLoop {
                class: ClassId(text.class),
                next,
                steady: if next == cursor { u32::MAX } else { 0 },
                alike: next == cursor,
            })
        })
    }

    #[inline]
    fn parts(&self) -> Parts<'_, Cursor, ()> {
        Parts {
            plain_text: Some(self),
            ending: Some(self),
            report: Some(self),
            ..Parts::default()
        }
    }

    fn key(
        &self,
        cursor: Cursor,
        scope: Scope,
        _: usize,
        horizon: Horizon<'_>,
        _: &mut (),
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        if scope == Scope::Vocabulary {
            return None;
        }
        // Longer texts may tell apart what those of the horizon do not.
        out.push(match horizon.bytes() <= self.alike_bytes {
            true => self.row_cursor(cursor).0,
            false => cursor.0,
        });
        Some(KeyLanguage::OWN)
    }
}

impl Report<Cursor> for ByteDfa {
    fn place(&self, state: &Cursor) -> Option<Place> {
        Some(Place {
            state: format!("state {}", state.0),
            locations: Vec::new(),
        })
    }
}

impl Ending<()> for ByteDfa {
    fn nearer(&self, cursor: Cursor, _: &mut (), out: &mut Vec<u8>) -> Nearer {
        if self.is_accepting(&cursor) {
            return Nearer::End;
        }
        match self.nearest(cursor) {
            Some((text, next)) => {
                out.extend_from_slice(&text);
                Nearer::To(next)
            }
            None => Nearer::Unknown,
        }
    }

    fn growth(&self, _: &dyn Fn(&[u8]) -> usize) -> Growth {
        let distances = self.distances.get_or_init(|| Distances::of(&self.table));
        let far = distances.states.iter().filter(|far| **far != u32::MAX);
        // Each byte is a token at worst. Inside a character its other bytes are to come.
        Growth::AtMost(far.max().map_or(0, |far| *far as usize + 3))
    }
}

impl PlainText<()> for ByteDfa {
    fn class(&self, class: ClassId) -> &[(u32, u32)] {
        let hints = self.hints.as_ref();
        hints
            .and_then(|hints| hints.classes.get(class.0 as usize))
            .map_or(&[], |ranges| ranges)
    }

    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        let step = |at, byte| {
            let next = self.step(Cursor(at), byte, &mut ());
            (!next.is_dead()).then_some(next.0)
        };
        let accepts = |at| self.is_accepting(&Cursor(at));
        finite_can_do_without(self.start().0, chars, step, accepts)
    }
}

impl ByteDfa {
    /// A step where the symbol has more than one byte.
    #[inline(never)]
    fn step_inside(&self, cursor: Cursor, byte: u8) -> Cursor {
        let node = cursor.0 & ((1 << self.shift) - 1);
        let state = cursor.0 >> self.shift;
        self.behind(state, self.table.decoder.step(node, byte))
    }

    /// Returns where an entry of the decoder leads from a state.
    #[inline]
    fn behind(&self, state: u32, entry: Entry) -> Cursor {
        match entry {
            Entry::Class(class) => {
                let at = state as usize * self.table.decoder.class_count() + class as usize;
                Cursor(self.table.cell(at) << self.shift)
            }
            Entry::Node(node) if self.goes_on(state, node.into()) => {
                Cursor(state << self.shift | u32::from(node))
            }
            _ => Cursor::DEAD,
        }
    }

    /// The first symbol of a shortest text from a cursor to acceptance, or what is left of one.
    fn nearest(&self, at: Cursor) -> Option<(Vec<u8>, Cursor)> {
        let distances = self.distances.get_or_init(|| Distances::of(&self.table));
        match self.is_between(at) {
            true => self.shortest_class(at, distances),
            false => self.shortest_symbol(at, &distances.states),
        }
    }

    /// The first symbol of a shortest text from a state to acceptance: what
    /// [`ByteDfa::shortest_symbol`] finds, without a look at each spelling of each class.
    fn shortest_class(&self, at: Cursor, distances: &Distances) -> Option<(Vec<u8>, Cursor)> {
        let row = self.number(at) * self.table.decoder.class_count();
        let ways = distances.spellings.iter().enumerate();
        let ways = ways.filter_map(|(class, text)| {
            let next = self.table.cell(row + class);
            let far = distances.states[next as usize].saturating_add(text.len() as u32);
            let goes_on = next != 0 && !text.is_empty();
            goes_on.then_some((far, text.len(), text, next))
        });
        let (_, _, text, next) = ways.min()?;
        Some((text.to_vec(), self.state(next as usize)))
    }

    /// The first symbol, or what is left of it, of a shortest text from `at`
    /// to acceptance.
    fn shortest_symbol(&self, at: Cursor, distances: &[u32]) -> Option<(Vec<u8>, Cursor)> {
        let mut best: Option<(u32, Vec<u8>, Cursor)> = None;
        let mut seen = HashSet::from([at]);
        let mut open = VecDeque::from([(at, Vec::new())]);
        while let Some((at, text)) = open.pop_front() {
            for byte in 0..=255u8 {
                let next = self.step(at, byte, &mut ());
                if next.is_dead() {
                    continue;
                }
                let mut text: Vec<u8> = text.clone();
                text.push(byte);
                if !self.is_between(next) {
                    // Breadth first, so the first way to a place is a shortest.
                    if seen.insert(next) {
                        open.push_back((next, text));
                    }
                    continue;
                }
                let length = distances[self.number(next)].saturating_add(text.len() as u32);
                if best.as_ref().is_none_or(|best| length < best.0) {
                    best = Some((length, text, next));
                }
            }
        }
        best.map(|(_, text, next)| (text, next))
    }
}

impl PartialEq for ByteDfa {
    fn eq(&self, other: &Self) -> bool {
        self.table == other.table && self.start == other.start
    }
}

impl Eq for ByteDfa {}

impl std::fmt::Debug for ByteDfa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "ByteDfa({} states, {} classes)",
            self.state_count(),
            self.class_count()
        )
    }
}
