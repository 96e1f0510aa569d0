//! Lexemes as masks follow them: what is inside of one is a matter of the terminals alone.
//!
//! Ignored text changes no stack. So a place in a lexeme that may be ignored knows where the
//! lexemes begin that may come on its stacks, and goes on there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::FixedState;
use fsm_index::{ByteSet, FreeText, Lexeme, LexemeBehind, LexemePlace};

use crate::machine::Inner;
use crate::run::caches::{Caches, JSON, Lex};
use crate::run::configs::UNKNOWN;
use crate::run::text::any_text;

/// So many places have a number at a time.
const MAX_NUMBERS: usize = 1 << 16;

/// Numbers of places, the same in all scratches of a grammar.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Mutex<Numbered>);

#[derive(Debug, Default)]
struct Numbered {
    known: HashMap<Box<[u32]>, u32, FixedState>,
    last: u32,
}

impl Numbers {
    /// That of a place. One that was forgotten is never given again.
    fn number(&self, place: Box<[u32]>) -> u32 {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Numbered { known, last } = &mut *all;
        if let Some(&number) = known.get(&place) {
            return number;
        }
        if known.len() >= MAX_NUMBERS {
            known.clear();
        }
        *last = last.wrapping_add(1);
        known.insert(place, *last);
        *last
    }
}

/// More terminals behind which perhaps nothing can follow are not told apart at one place.
const MAX_UNSAFE: usize = 4;

/// Stands for terminals that were followed by what must not follow them: no terminal has this
/// number.
const TRAPPED: u32 = u32::MAX;

/// A place in a lexeme.
#[derive(Debug)]
pub(crate) struct Place {
    lex: u32,
    /// Where the lexemes begin that may come on the same stacks; 0 where nothing that is begun
    /// may be ignored.
    start: u32,
    told: LexemePlace,
    row: Box<[u32]>,
}

/// What a scratch knows of places.
#[derive(Debug, Default)]
pub(crate) struct Places {
    all: Vec<Place>,
    ids: HashMap<(u32, u32), u32, FixedState>,
    /// Terminals by their number among [`Caches::end_ids`].
    terminals: HashMap<u32, Arc<[u32]>, FixedState>,
    /// By terminal: whether any text of a class may come in it.
    free: HashMap<u32, bool, FixedState>,
    /// By front, as far as that was asked for: the terminals behind which perhaps nothing can
    /// follow.
    unsafe_at: Vec<Option<Option<Box<[u32]>>>>,
}

impl Inner {
    fn is_ignored(&self, terminal: u32) -> bool {
        self.cfg.is_ignored(terminal)
    }

    /// Tells whether lexemes tell masks: where something may have to be searched for a way to the
    /// end, a lazy lexeme could cut others short.
    pub(crate) fn has_lexemes(&self) -> bool {
        let is_searched = self.checks_live && (self.proof.has_lazy || !self.cfg.is_greedy);
        !(self.has_json || is_searched || self.lexer.carries_guards)
    }
}

impl Caches {
    /// Appends the lexemes that have begun at a configuration.
    pub(crate) fn begun(&mut self, config: u32, inner: &Inner, out: &mut Vec<Lexeme>) -> bool {
        let threads = self.configs.threads(config).to_vec();
        for thread in threads {
            if thread.place & JSON != 0 || self.unsafe_at(thread.front, inner).is_none() {
                return false;
            }
            out.push(self.lexeme(thread.place, thread.front, inner));
        }
        true
    }

    fn lexeme(&mut self, lex: u32, front: u32, inner: &Inner) -> Lexeme {
        let start = self.fronts.next(front).start;
        Lexeme {
            place: self.lexeme_place(lex, start, inner),
            below: front,
        }
    }

    /// The number of a place.
    fn lexeme_place(&mut self, lex: u32, start: u32, inner: &Inner) -> u32 {
        if lex == 0 {
            return 0;
        }
        let members = self.lexes[lex as usize].members.iter();
        let mut terminals = members.map(|&state| inner.lexer.terminal[state as usize]);
        let start = match terminals.any(|terminal| inner.is_ignored(terminal)) {
            true => start,
            false => 0,
        };
        if let Some(&id) = self.places.ids.get(&(lex, start)) {
            return id;
        }
        let id = self.places.all.len() as u32 + 1;
        self.places.ids.insert((lex, start), id);
        let lexer = &inner.lexer;
        let mut lives = vec![0; lexer.width()];
        let goes_on = Some(lex).filter(|_| self.lexes[lex as usize].lazy.is_empty());
        let begins = Some(self.begins_behind(lex, start, inner)).filter(|begins| *begins != 0);
        for lex in goes_on.into_iter().chain(begins) {
            for &state in &self.lexes[lex as usize].members {
                let ways = lives.iter_mut().zip(lexer.row(state));
                // Where every split counts, a trap is no way on.
                let ways = ways.filter(|way| inner.cfg.is_greedy || !lexer.is_trap(*way.1));
                ways.for_each(|(lives, to)| *lives |= to);
            }
        }
        let alive = lives.iter().zip(&lexer.sets).filter(|(to, _)| **to != 0);
        let next_bytes = alive.fold(ByteSet::NONE, |all, (_, set)| all.or(*set));
        let all = |lex: u32| self.lexes[lex as usize].members.iter().copied();
        let key = all(lex).chain([UNKNOWN]).chain(all(start)).collect();
        let told = LexemePlace {
            number: inner.numbers.number(key),
            next_bytes,
            ends: self.lexeme_ends(lex, start, inner),
            asks: self.lexeme_asks(lex, inner),
        };
        self.bytes += 150 + 4 * lives.len();
        let row = vec![UNKNOWN; lives.len()].into();
        self.places.all.push(Place {
            lex,
            start,
            told,
            row,
        });
        id
    }

    /// Tells whether ignored text ends at a place, so that what may come on the same stacks begins
    /// there: under greedy lexing where nothing else ends, and where the byte that comes is not
    /// taken.
    fn begins_again(&self, lex: u32, start: u32, inner: &Inner) -> bool {
        let Lex { lazy, accepts, .. } = &self.lexes[lex as usize];
        let is_told = match inner.cfg.is_greedy {
            true => accepts.len() == 1,
            // What a lazy lexeme ends would not be told apart.
            false => !inner.proof.has_lazy,
        };
        let ends = accepts.iter().any(|&terminal| inner.is_ignored(terminal));
        start != 0 && lazy.is_empty() && is_told && ends
    }

    /// Where the lexemes begin behind ignored text that ends at a place; 0 where none ends.
    fn begins_behind(&mut self, lex: u32, start: u32, inner: &Inner) -> u32 {
        if !self.begins_again(lex, start, inner) {
            return 0;
        }
        let guarded = self.lexes[lex as usize].guarded.iter();
        let ignored = guarded.filter(|end| end.1.iter().any(|&t| inner.is_ignored(t)));
        let guards: Vec<u32> = ignored.map(|end| end.0).collect();
        if guards.is_empty() {
            return start;
        }
        let mut members: Vec<u32> = Vec::new();
        for guard in guards {
            let begins = self.under_guard(start, guard, inner);
            members.extend_from_slice(&self.lexes[begins as usize].members);
        }
        self.lex(members, inner)
    }

    /// Where a byte leads, ignored text that ends included.
    fn lex_behind(&mut self, lex: u32, start: u32, class: u8, inner: &Inner) -> u32 {
        if !self.lexes[lex as usize].lazy.is_empty() {
            return 0;
        }
        let next = self.lex_step(lex, class, inner);
        if next != 0 && inner.cfg.is_greedy {
            return next;
        }
        let begins = self.begins_behind(lex, start, inner);
        let other = self.lex_step(begins, class, inner);
        if next == 0 || other == 0 || other == next {
            return next.max(other);
        }
        let [one, other] = [next, other].map(|lex| &*self.lexes[lex as usize].members);
        self.lex([one, other].concat(), inner)
    }

    /// The terminals that end a lexeme of which the stacks are asked, by number; 0 for none.
    fn lexeme_ends(&mut self, lex: u32, start: u32, inner: &Inner) -> u32 {
        let begins_again = self.begins_again(lex, start, inner);
        let Lex { lazy, accepts, .. } = &self.lexes[lex as usize];
        let ends = if lazy.is_empty() { accepts } else { lazy };
        let counts = |terminal: &u32| !begins_again || !inner.is_ignored(*terminal);
        let ends: Arc<[u32]> = ends.iter().copied().filter(counts).collect();
        self.number_terminals(ends)
    }

    /// The terminals to be asked for where a text ends in a lexeme, by number: they may all lead
    /// to where perhaps nothing can follow. 0 for none.
    fn lexeme_asks(&mut self, lex: u32, inner: &Inner) -> u32 {
        if self.is_trapped(lex, inner) {
            return self.number_terminals(Arc::new([TRAPPED]));
        }
        if !inner.checks_live {
            return 0;
        }
        let members = self.lexes[lex as usize].members.iter();
        let mut terminals: Vec<u32> = members.map(|&s| inner.lexer.terminal[s as usize]).collect();
        terminals.dedup();
        let are_few = terminals.len() <= MAX_UNSAFE;
        match are_few
            && !terminals
                .iter()
                .any(|&terminal| self.is_free(terminal, inner))
        {
            true => self.number_terminals(terminals.into()),
            false => 0,
        }
    }

    /// Says whether what was asked of is told: tokens that end where something was followed by what
    /// must not follow it are tried, and do not come.
    pub(crate) fn answers(&mut self, front: u32, asked: &[u32], inner: &Inner) -> bool {
        asked != [TRAPPED] && !self.are_unsafe(front, asked, inner)
    }

    /// Tells whether some byte may come again and again in a terminal, so that any text of a class
    /// perhaps may: nothing of such text is asked.
    fn is_free(&mut self, terminal: u32, inner: &Inner) -> bool {
        if let Some(&known) = self.places.free.get(&terminal) {
            return known;
        }
        let lexer = &inner.lexer;
        // Those of one terminal lie side by side.
        let states = &lexer.terminal[1..];
        let from = states.partition_point(|&other| other < terminal);
        let to = states.partition_point(|&other| other <= terminal);
        let mut own = from as u32 + 1..to as u32 + 1;
        let loops = |state| (0..lexer.width()).any(|class| lexer.step(state, class as u8) == state);
        let is_free = own.any(loops);
        self.places.free.insert(terminal, is_free);
        is_free
    }

    pub(crate) fn lexeme_told(&self, place: u32) -> LexemePlace {
        self.places.all[place as usize - 1].told
    }

    /// The same as [`Caches::free_text`] where a lexeme alone tells it.
    pub(crate) fn lexeme_free(&mut self, place: u32, inner: &Inner) -> Option<FreeText> {
        let Place { lex, .. } = self.places.all[place as usize - 1];
        self.free_of_lex(lex, inner).map(|free| any_text(free.1))
    }

    #[inline]
    pub(crate) fn lexeme_step(&mut self, place: u32, byte: u8, inner: &Inner) -> u32 {
        if place == 0 {
            return 0;
        }
        let class = inner.lexer.classes[usize::from(byte)];
        let own = &self.places.all[place as usize - 1];
        match own.row[usize::from(class)] {
            UNKNOWN => self.long_lexeme_step(place, class, inner),
            known => known,
        }
    }

    fn long_lexeme_step(&mut self, place: u32, class: u8, inner: &Inner) -> u32 {
        let Place { lex, start, .. } = self.places.all[place as usize - 1];
        let next = self.lex_behind(lex, start, class, inner);
        let next = self.lexeme_place(next, start, inner);
        self.places.all[place as usize - 1].row[usize::from(class)] = next;
        next
    }

    /// The terminals with a number.
    pub(crate) fn lexeme_terminals(&self, number: u32) -> Arc<[u32]> {
        self.places
            .terminals
            .get(&number)
            .cloned()
            .unwrap_or_default()
    }

    fn number_terminals(&mut self, terminals: Arc<[u32]>) -> u32 {
        let count = self.end_ids.len() as u32;
        let number = *self.end_ids.entry((&*terminals).into()).or_insert(count);
        self.places.terminals.insert(number, terminals);
        number
    }

    /// What may begin where terminals have ended on top of a front.
    pub(crate) fn behind_lexeme(
        &mut self,
        front: u32,
        terminals: &[u32],
        inner: &Inner,
    ) -> LexemeBehind {
        if inner.checks_live && self.are_unsafe(front, terminals, inner) {
            return LexemeBehind::Unknown;
        }
        let count = self.end_ids.len() as u32;
        let ends = match self.end_ids.get(terminals) {
            Some(&known) => known,
            None => *self.end_ids.entry(terminals.into()).or_insert(count),
        };
        let before = std::mem::replace(&mut self.looked, u32::MAX);
        let behind = self.behind_ends(ends, terminals, front, inner);
        let looked = std::mem::replace(&mut self.looked, before);
        self.least = self.least.min(looked);
        let start = self.fronts.next(behind).start;
        match start {
            0 => LexemeBehind::Nothing,
            _ if self.unsafe_at(behind, inner).is_none() => LexemeBehind::Unknown,
            _ => LexemeBehind::Begins(self.lexeme(start, behind, inner)),
        }
    }

    /// The terminals that may come on top of a front behind which perhaps nothing can follow, if
    /// they are few and plain.
    fn unsafe_at(&mut self, front: u32, inner: &Inner) -> Option<&[u32]> {
        if !inner.checks_live {
            return Some(&[]);
        }
        let at = front as usize;
        if !matches!(self.places.unsafe_at.get(at), Some(Some(_))) {
            self.find_unsafe(front, inner);
        }
        self.places.unsafe_at[at].as_ref()?.as_deref()
    }

    fn find_unsafe(&mut self, front: u32, inner: &Inner) {
        let start = self.fronts.next(front).start;
        let members = self.lexes[start as usize].members.clone();
        let mut all: Vec<u32> = members
            .iter()
            .map(|&s| inner.lexer.terminal[s as usize])
            .collect();
        all.retain(|&terminal| !self.safe_behind(front, terminal, inner));
        let is_plain = all.len() <= MAX_UNSAFE && !all.iter().any(|&t| self.is_free(t, inner));
        let by_front = &mut self.places.unsafe_at;
        if by_front.len() <= front as usize {
            self.bytes += 24 * (self.fronts.len() - by_front.len());
            by_front.resize(self.fronts.len(), None);
        }
        by_front[front as usize] = Some(is_plain.then(|| all.into()));
    }

    /// Tells whether perhaps nothing can follow all of some terminals on top of a front.
    pub(crate) fn are_unsafe(&mut self, front: u32, terminals: &[u32], inner: &Inner) -> bool {
        match self.unsafe_at(front, inner) {
            Some(all) => terminals.iter().all(|terminal| all.contains(terminal)),
            None => true,
        }
    }
}
