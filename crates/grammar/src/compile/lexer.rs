//! The automata of all terminals side by side.
//!
//! For example, the terminals `"if"` and `/[a-z]+/` have a state each behind the byte `i`.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;
use fsm_index::{ByteAutomaton, ByteSet};
use fsm_tables::Sources;
use indexmap::IndexSet;

use crate::compile::cfg::{Cfg, Ignores, Matter};
use crate::compile::class_set::ClassSet;
use crate::error::{Error, ErrorKind};
use crate::terminals::byte_classes::{ByteClasses, Run};

/// The bytes from 80 to BF, as bits, that may lead elsewhere than the one before. For example, behind `C3` of a name all lead
/// to one state but `97`, which is `×`, and `B7`, which is `÷`.
#[derive(Debug, Default)]
struct InnerTurns {
    /// They do in each state, because their class does not come behind that of the one before.
    always: u64,
    /// By class: the byte of it that comes behind one of the class before, in states that turn there.
    of_class: Vec<u64>,
}

impl InnerTurns {
    fn new(of_byte: &[u8; 256], count: usize) -> InnerTurns {
        let mut turns = InnerTurns {
            always: 0,
            of_class: vec![0; count],
        };
        for (bit, pair) in (1..).zip(of_byte[0x80..0xC0].windows(2)) {
            if pair[0].checked_add(1) == Some(pair[1]) {
                turns.of_class[usize::from(pair[1])] |= 1 << bit;
            } else if pair[0] != pair[1] {
                turns.always |= 1 << bit;
            }
        }
        turns
    }
}

/// The states of all terminals, numbered through; 0 is dead.
#[derive(Debug)]
pub(crate) struct Lexer {
    /// The class of each byte: bytes of one class are alike in every state.
    pub(crate) classes: [u8; 256],
    /// A byte of each class.
    pub(crate) bytes: Vec<u8>,
    /// All bytes of each class.
    pub(crate) sets: Vec<ByteSet>,
    next: Vec<u32>,
    /// By state: the classes that may lead elsewhere than the one before, because most lead to where
    /// that does.
    turns: Vec<ClassSet>,
    inner: InnerTurns,
    /// By state: the terminal.
    pub(crate) terminal: Vec<u32>,
    pub(crate) accepting: Vec<bool>,
    /// By state: how many bytes acceptance is away.
    pub(crate) distance: Vec<u32>,
    /// By state: whether no byte leads on.
    pub(crate) is_final: Vec<bool>,
    /// By state: whether the text must go on behind a lexeme that ends there.
    pub(crate) goes_on: Vec<bool>,
    /// Says whether there is such a state.
    pub(crate) has_open_ends: bool,
    /// By state: the guard of what begins behind a lexeme that ends there; 0 for none. See
    /// [`Lexer::guard`].
    pub(crate) guards: Vec<u32>,
    /// By where a terminal begins, and by guard: where it begins under that, if it can.
    guarded: HashMap<(u32, u32), u32, FixedState>,
    /// Says whether some lexeme that is not ignored may end under a guard that goes on.
    pub(crate) carries_guards: bool,
    /// By terminal: where it begins; 0 for one that is no automaton.
    pub(crate) starts: Vec<u32>,
    /// By state in which a lexeme with a budget of tokens may end and go on: the one in which it has to
    /// end. See [`Lexer::close`].
    closed: HashMap<u32, u32, FixedState>,
}

impl Lexer {
    /// # Errors
    ///
    /// There are more states than the limit `max_states` allows.
    pub(crate) fn new(cfg: &Cfg, max_states: usize) -> Result<Lexer, Error> {
        let mut lexer = Lexer {
            classes: std::array::from_fn(|byte| byte as u8),
            bytes: Vec::new(),
            sets: Vec::new(),
            next: Vec::new(),
            turns: Vec::new(),
            inner: InnerTurns::default(),
            terminal: vec![u32::MAX],
            accepting: vec![false],
            distance: vec![u32::MAX],
            is_final: Vec::new(),
            goes_on: vec![false],
            has_open_ends: false,
            guards: Vec::new(),
            guarded: HashMap::default(),
            carries_guards: false,
            starts: Vec::new(),
            closed: HashMap::default(),
        };
        let mut rows: Vec<&[Run]> = Vec::new();
        let mut bases = vec![0];
        let mut has_json = false;
        for (number, terminal) in cfg.terminals.iter().enumerate() {
            has_json |= matches!(terminal.matter, Matter::Json(_));
            let Matter::Table(table) = &terminal.matter else {
                lexer.starts.push(0);
                continue;
            };
            // State 1 of the terminal gets this number.
            let base = lexer.terminal.len() as u32;
            lexer.starts.push(base + table.start - 1);
            for state in 1..table.states() {
                rows.push(table.row(state));
                bases.push(base);
                lexer.terminal.push(number as u32);
                lexer.accepting.push(table.accepting[state]);
                lexer.goes_on.push(table.goes_on(state));
            }
        }
        // Bytes with equal columns are one class; JSON tells all of them apart.
        let classes = match has_json {
            true => ByteClasses::bytes(),
            false => ByteClasses::new(&rows),
        };
        lexer.classes = classes.of_byte;
        let count = classes.len();
        lexer.inner = InnerTurns::new(&lexer.classes, count);
        lexer.bytes = vec![0; count];
        lexer.sets = vec![ByteSet::NONE; count];
        for byte in (0..=255u8).rev() {
            let class = usize::from(lexer.classes[usize::from(byte)]);
            lexer.bytes[class] = byte;
            lexer.sets[class] = lexer.sets[class].with(byte);
        }
        lexer.next = vec![0; count * lexer.terminal.len()];
        let cells = lexer.next[count..].chunks_mut(count);
        let first = ClassSet::from_iter([0]);
        lexer.turns.push(first);
        for ((row, base), cells) in rows.iter().zip(&bases[1..]).zip(cells) {
            let mut turns = first;
            for run in *row {
                let classes = classes.of_run(run);
                let turn = |class: usize| class..count.min(class + 1);
                turns.fill(turn(classes.start));
                turns.fill(turn(classes.end));
                cells[classes].fill(base + run.to - 1);
            }
            lexer.turns.push(turns);
        }
        if cfg.is_greedy {
            lexer.close(cfg);
        }
        let rows = lexer.next.chunks(count);
        lexer.is_final = rows.map(|row| row.iter().all(|&to| to == 0)).collect();
        lexer.guards = vec![0; lexer.terminal.len()];
        if cfg.ignores == Ignores::Longest {
            lexer.measure();
            lexer.guard(cfg, max_states)?;
        }
        lexer.measure();
        lexer.has_open_ends = lexer.goes_on.contains(&true);
        Ok(lexer)
    }

    /// Adds the states in which lexemes stand whose budget of tokens is spent: they end there, and
    /// greedy lexing goes on to forbid what would make them longer.
    ///
    /// For example, behind `12` of `/[0-9]+/` any byte but a digit may come then. Such a state leads to
    /// a trap by the bytes by which the lexeme would go on.
    fn close(&mut self, cfg: &Cfg) {
        let width = self.width();
        let states = self.written_states();
        let has_budget = |state: u32| {
            let terminal = self.terminal[state as usize] as usize;
            cfg.terminals[terminal].sampling.max_tokens.is_some()
        };
        let goes_on = |&state: &u32| self.row(state).iter().any(|&to| to != 0);
        let ends = states.filter(|&state| self.accepting[state as usize] && has_budget(state));
        let ends: Vec<u32> = ends.filter(goes_on).collect();
        let Some(&first) = ends.first() else {
            return;
        };
        let trap = self.terminal.len() as u32;
        self.add_like(first);
        self.accepting[trap as usize] = false;
        for state in ends {
            let own = self.add_like(state);
            self.closed.insert(state, own);
            let row = |state: u32| state as usize * width..(state as usize + 1) * width;
            for (cell, from) in row(own).zip(row(state)) {
                if self.next[from] != 0 {
                    self.next[cell] = trap;
                }
            }
        }
    }

    /// Adds a state that is as another one, and leads nowhere.
    fn add_like(&mut self, state: u32) -> u32 {
        let own = self.terminal.len() as u32;
        self.terminal.push(self.terminal[state as usize]);
        self.accepting.push(self.accepting[state as usize]);
        self.goes_on.push(self.goes_on[state as usize]);
        self.turns.push(self.turns[state as usize]);
        self.next.resize(self.next.len() + self.width(), 0);
        own
    }

    /// Returns the states that the terminals have as they are written.
    pub(crate) fn written_states(&self) -> Range<u32> {
        let added = match self.closed.len() {
            0 => 0,
            closed => closed + 1,
        };
        1..(self.terminal.len() - added) as u32
    }

    /// Returns the state in which a lexeme stands that has to end, by the one in which it may.
    pub(crate) fn closed(&self, state: u32) -> u32 {
        self.closed.get(&state).copied().unwrap_or(state)
    }

    /// Bytes that it takes, about.
    pub(crate) fn memory(&self) -> usize {
        4 * self.next.len() + 10 * self.terminal.len()
    }

    /// Returns the number of classes of bytes.
    pub(crate) fn width(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(crate) fn step(&self, state: u32, class: u8) -> u32 {
        self.next[state as usize * self.width() + usize::from(class)]
    }

    /// Says whether a lexeme is over in a state that was followed by what must not follow it.
    #[inline]
    pub(crate) fn is_trap(&self, state: u32) -> bool {
        self.distance[state as usize] == u32::MAX
    }

    /// Returns the targets of a state, by class.
    pub(crate) fn row(&self, state: u32) -> &[u32] {
        &self.next[state as usize * self.width()..][..self.width()]
    }

    /// Returns the classes that may lead from a state elsewhere than the one before.
    pub(crate) fn turns(&self, state: u32) -> &ClassSet {
        &self.turns[state as usize]
    }

    /// Returns the bytes from 80 to BF that may lead from a state elsewhere than the one before, as bits.
    pub(crate) fn inner_turns(&self, state: u32) -> u64 {
        let classes = self.turns(state).iter();
        classes.fold(self.inner.always, |all, class| {
            all | self.inner.of_class[class]
        })
    }

    /// Returns the bytes from 80 to BF that may lead elsewhere than the one before, from any states, as bits.
    pub(crate) fn all_inner_turns(&self) -> u64 {
        let all = self.inner.of_class.iter();
        all.fold(self.inner.always, |all, class| all | class)
    }

    /// Returns where a state leads on: classes one behind another that lead to the same state, and that state.
    pub(crate) fn ways(&self, state: u32) -> impl Iterator<Item = (Range<usize>, u32)> {
        let (row, turns) = (self.row(state), self.turns(state));
        let ways = turns.iter().map(move |class| {
            let end = turns.next_from(class + 1).unwrap_or(row.len());
            (class..end, row[class])
        });
        ways.filter(|(_, to)| *to != 0)
    }

    /// Returns the classes that lead on from a state, if they are few.
    pub(crate) fn few(&self, state: u32) -> Option<ClassSet> {
        /// The most classes that are few, because most states of keywords take one or, in any case, two.
        const FEW: usize = 4;
        let mut few = ClassSet::default();
        let mut left = FEW;
        for (classes, _) in self.ways(state) {
            left = left.checked_sub(classes.len())?;
            few.fill(classes);
        }
        Some(few)
    }

    /// Returns the state in which a terminal begins under a guard, by where it begins without one;
    /// 0 if it cannot.
    pub(crate) fn start_under(&self, start: u32, guard: u32) -> u32 {
        match guard {
            0 => start,
            _ => self.guarded.get(&(start, guard)).copied().unwrap_or(0),
        }
    }

    /// The number of guards there are; the first has number 1.
    pub(crate) fn guard_count(&self) -> u32 {
        self.guarded.keys().map(|key| key.1).max().unwrap_or(0)
    }

    /// Adds states behind ignored text, which goes as far as it can.
    ///
    /// When it has ended, it must not have a longer end. So what follows is read beside it, by a
    /// guard: states of ignored text that has ended. For example behind `//` no name begins where
    /// ignored text takes a line, since that would take the name too. A state of a terminal
    /// under a guard is dead if the guard comes to an end, and has no guard any more if that
    /// dies.
    fn guard(&mut self, cfg: &Cfg, max_states: usize) -> Result<(), Error> {
        let count = self.terminal.len() as u32;
        let is_guard = |lexer: &Lexer, state: u32| {
            lexer.accepting[state as usize]
                && !lexer.is_final[state as usize]
                && cfg.is_ignored(lexer.terminal[state as usize])
        };
        let mut sets: IndexSet<Box<[u32]>, FixedState> = IndexSet::default();
        sets.insert(Box::default());
        for state in 1..count {
            if is_guard(self, state) {
                self.guards[state as usize] = sets.insert_full([state].into()).0 as u32;
            }
        }
        // The state of a pair, and the pairs of which it is not known where they lead.
        let mut pairs: HashMap<(u32, u32), u32, FixedState> = HashMap::default();
        let mut open: Vec<(u32, u32)> = Vec::new();
        let mut begun = 1;
        loop {
            while begun < sets.len() as u32 {
                for start in self.starts.clone().into_iter().filter(|&start| start != 0) {
                    let state = self.pair(start, begun, &mut sets, &mut pairs, &mut open, cfg);
                    self.guarded.insert((start, begun), state);
                }
                begun += 1;
            }
            let Some((state, guard)) = open.pop() else {
                break;
            };
            if self.terminal.len() > max_states {
                return Err(Error::limit(
                    "max_states",
                    "states in all terminals",
                    max_states,
                ));
            }
            let row = self.row(state).to_vec();
            let own = pairs[&(state, guard)] as usize;
            for (class, to) in row.into_iter().enumerate().filter(|way| way.1 != 0) {
                let behind = sets[guard as usize].iter();
                let behind = behind.map(|&member| self.step(member, class as u8));
                let behind: Vec<u32> = behind.filter(|&member| member != 0).collect();
                // Or what must not follow it does.
                let is_over = |member: u32| self.is_trap(member) && self.is_final[member as usize];
                let ends = |member: u32| self.accepting[member as usize] || is_over(member);
                if behind.iter().any(|&member| ends(member)) {
                    let looks_on = |member: u32| {
                        let mut row = self.row(member).iter();
                        self.accepting[member as usize]
                            && row.any(|&to| to != 0 && self.is_trap(to))
                    };
                    if behind.iter().any(|&member| looks_on(member)) {
                        let message = "ignored text looks at what follows it where a shorter one \
                                       may be all: write what it looks at as part of it";
                        return Err(Error::new(ErrorKind::Unsupported, message).in_rule("%ignore"));
                    }
                    continue;
                }
                let behind = sets.insert_full(behind.into()).0 as u32;
                let to = self.pair(to, behind, &mut sets, &mut pairs, &mut open, cfg);
                let width = self.width();
                self.next[own * width + class] = to;
            }
        }
        // A state that cannot end is dead; one with a guard that forbids nothing has none.
        self.measure();
        let dead: Vec<bool> = self.distance.iter().map(|far| *far == u32::MAX).collect();
        let is_dead = |to: u32| to >= count && dead[to as usize];
        self.next
            .iter_mut()
            .filter(|to| is_dead(**to))
            .for_each(|to| *to = 0);
        self.guarded
            .values_mut()
            .filter(|to| is_dead(**to))
            .for_each(|to| *to = 0);
        let mut counts = vec![false; sets.len()];
        for (&(start, guard), &to) in &self.guarded {
            counts[guard as usize] |= to != start;
        }
        self.guards
            .iter_mut()
            .filter(|guard| !counts[**guard as usize])
            .for_each(|guard| *guard = 0);
        let width = self.width();
        let rows = self.next.chunks(width);
        self.is_final = rows.map(|row| row.iter().all(|&to| to == 0)).collect();
        let carries = |state: usize| {
            self.guards[state] != 0
                && self.accepting[state]
                && !cfg.is_ignored(self.terminal[state])
        };
        self.carries_guards = (1..self.terminal.len()).any(carries);
        Ok(())
    }

    /// The state of a terminal under a guard: its own if the guard forbids nothing there.
    fn pair(
        &mut self,
        state: u32,
        guard: u32,
        sets: &mut IndexSet<Box<[u32]>, FixedState>,
        pairs: &mut HashMap<(u32, u32), u32, FixedState>,
        open: &mut Vec<(u32, u32)>,
        cfg: &Cfg,
    ) -> u32 {
        if let Some(&known) = pairs.get(&(state, guard)) {
            return known;
        }
        let members = sets[guard as usize].to_vec();
        let accepts = self.accepting[state as usize];
        let takes = |class: u8| members.iter().any(|&member| self.step(member, class) != 0);
        let mut classes = 0..=(self.width() - 1) as u8;
        let is_free = !classes.any(|class| self.step(state, class) != 0 && takes(class));
        if members.is_empty() || is_free && !accepts {
            return state;
        }
        let own = self.terminal.len() as u32;
        let is_ignored = cfg.is_ignored(self.terminal[state as usize]);
        let after = match accepts {
            false => 0,
            true => {
                let mut all = members.to_vec();
                all.extend(Some(state).filter(|_| is_ignored && !self.is_final[state as usize]));
                all.sort_unstable();
                sets.insert_full(all.into()).0 as u32
            }
        };
        self.terminal.push(self.terminal[state as usize]);
        self.accepting.push(accepts);
        self.goes_on.push(self.goes_on[state as usize]);
        self.guards.push(after);
        self.is_final.push(false);
        self.turns.push((0..self.width()).collect());
        self.next.resize(self.next.len() + self.width(), 0);
        pairs.insert((state, guard), own);
        open.push((state, guard));
        own
    }

    fn measure(&mut self) {
        let mut arrows: Vec<(u32, u32)> = Vec::new();
        for from in 0..self.terminal.len() as u32 {
            arrows.extend(self.ways(from).map(|(_, to)| (from, to)));
        }
        let before = Sources::new(self.terminal.len(), arrows.iter().copied());
        let states = 1..self.terminal.len() as u32;
        let mut open: Vec<u32> = states.filter(|&s| self.accepting[s as usize]).collect();
        self.distance = vec![u32::MAX; self.terminal.len()];
        open.iter()
            .for_each(|&state| self.distance[state as usize] = 0);
        let mut far = 0;
        while !open.is_empty() {
            far += 1;
            let mut next = Vec::new();
            for to in open {
                for &from in before.of(to) {
                    if self.distance[from as usize] == u32::MAX {
                        self.distance[from as usize] = far;
                        next.push(from);
                    }
                }
            }
            open = next;
        }
    }

    /// The class that leads nearest to acceptance, and where it leads.
    pub(crate) fn nearer(&self, state: u32) -> Option<(u32, u8)> {
        let ways = self.ways(state);
        let ways = ways.map(|(classes, to)| (to, classes.start as u8));
        ways.min_by_key(|way| self.distance[way.0 as usize])
    }

    /// Appends a shortest text from a state to acceptance.
    pub(crate) fn finish(&self, mut state: u32, out: &mut Vec<u8>) {
        while self.distance[state as usize] != 0 {
            let Some((next, class)) = self.nearer(state) else {
                return; // Only the dead state has no way on.
            };
            out.push(self.bytes[usize::from(class)]);
            state = next;
        }
    }

    /// By terminal: how long its shortest text is; a special token counts as one byte.
    pub(crate) fn least(&self, cfg: &Cfg) -> Vec<u32> {
        let terminals = cfg.terminals.iter().zip(&self.starts);
        terminals
            .map(|(terminal, &start)| match &terminal.matter {
                Matter::Table(_) => self.distance[start as usize],
                Matter::Json(automaton) => {
                    let mut text = Vec::new();
                    automaton.completion(&automaton.start(), fsm_index::MAX_COMPLETION, &mut text);
                    text.len() as u32
                }
                Matter::Special(_) => 1,
            })
            .collect()
    }
}
