//! Lexemes as masks follow them: what is inside of one is a matter of the terminals alone.
//!
//! Ignored text changes no stack. So a place in a lexeme that may be ignored knows where the
//! lexemes begin that may come on its stacks, and goes on there. For example, from the space behind
//! `1` of a sum a walk goes on to `+` without a look at the parser.

use std::sync::Arc;

use fsm_index::{ByteSet, Cursor, FreeText, Lexeme, LexemeBehind, LexemePlace};

use crate::compile::class_set::ClassSet;
use crate::hints::free::{any_text, free_of_lex, free_of_unignored};
use crate::hints::known::{Free, Known, LexPlace, Reach};
use crate::hints::letters;
use crate::hints::text::Hints;
use crate::machine::Machine;
use crate::proof::Origins;
use crate::run::caches::Caches;
use crate::run::configs::{Thread, UNKNOWN};
use crate::run::lexes::Lex;
use crate::run::step::Steps;

/// Stands for terminals that were followed by what must not follow them, because no terminal has
/// this number.
const TRAPPED: u32 = u32::MAX;

/// The least number of nodes of a vocabulary's trie for which text is granted behind a lexeme, because the stacks are asked
/// some dozen questions for it: with 4,000 no mask of Bash, C# or Svelte visited a tenth fewer nodes.
const WORTH_GRANTING: u32 = 16_000;

/// A reader of the lexemes at configurations.
pub(crate) struct Lexemes<'a> {
    pub(super) machine: &'a Machine,
    pub(super) caches: &'a mut Caches,
    pub(super) known: &'a mut Known,
}

/// Tells whether lexemes tell masks: where something may have to be searched for a way to the end,
/// a lazy lexeme could cut others short, a lexeme might have to be followed by something, and ignored text might change
/// the stacks.
#[inline]
pub(crate) fn tell_masks(machine: &Machine) -> bool {
    let may_differ = || {
        machine.proof().has_lazy
            || !machine.is_greedy()
            || machine.lexer().has_open_ends
            || machine.cfg().ignores_once.contains(&true)
    };
    let is_searched = machine.checks_live() && may_differ();
    !(machine.has_json() || is_searched || machine.lexer().carries_guards)
}

impl<'a> Lexemes<'a> {
    pub(crate) fn new(
        machine: &'a Machine,
        caches: &'a mut Caches,
        known: &'a mut Known,
    ) -> Lexemes<'a> {
        Lexemes {
            machine,
            caches,
            known,
        }
    }

    fn is_ignored(&self, terminal: u32) -> bool {
        self.machine.cfg().is_ignored(terminal)
    }

    pub(super) fn lex(&self, lex: u32) -> &Lex {
        &self.caches.lexes()[lex]
    }

    pub(super) fn intern(&mut self, members: Vec<u32>, origins: Origins) -> u32 {
        self.caches
            .lexes_mut()
            .intern(members, origins, self.machine)
    }

    pub(super) fn lex_step(&mut self, lex: u32, class: u8) -> u32 {
        self.caches.lexes_mut().step(lex, class, self.machine)
    }

    /// Appends the lexemes that have begun at a configuration.
    pub(crate) fn begun(&mut self, config: u32, out: &mut Vec<Lexeme>) -> bool {
        // A token has as many lexemes as letters there, or words: its text is described instead.
        if letters::chain(self.machine, self.caches, config).is_some()
            || Hints::new(self.machine, self.caches, self.known).is_of_words(config)
        {
            return false;
        }
        let threads = self.caches.configs().threads(config).to_vec();
        for thread in threads {
            if thread.is_in_json() {
                return false;
            }
            let Thread { place, front } = thread;
            let granted = self.granted_from(place, front);
            out.push(self.lexeme(place, front, granted));
        }
        true
    }

    /// Returns the number of the text that stacks grant at a place, or behind ignored text that ends there: behind a blank, say,
    /// names begin. 0 where it is proved.
    fn granted_from(&mut self, lex: u32, front: u32) -> u32 {
        if !self.asks_stacks() && !self.machine.proof().has_unsure() {
            return 0;
        }
        let start = self.caches.stacks().next(front).start;
        let begins = self.begins_behind(lex, start);
        let mut granted = 0;
        for place in [lex, begins] {
            let is_asked = place != 0 && (self.asks_stacks() || self.is_untold(place));
            if granted == 0 && is_asked {
                granted = self.granted(place, front);
            }
        }
        granted
    }

    /// Tells whether no text is free behind a place by what is proved, as behind one that is unsure: most tokens may end there.
    fn is_untold(&mut self, place: u32) -> bool {
        let lexes = self.caches.lexes_mut();
        free_of_lex(place, self.machine, lexes, self.known).is_none()
    }

    fn lexeme(&mut self, lex: u32, front: u32, granted: u32) -> Lexeme {
        let start = self.caches.stacks().next(front).start;
        // A text that may end there may end behind narrow ignored text, too.
        let reach = match self.caches.stacks().behind_narrow(front, self.machine) {
            Some(false) if !self.asks_stacks() => Reach::Wide,
            _ => Reach::All,
        };
        Lexeme {
            place: self.place(lex, start, reach, granted),
            below: front,
        }
    }

    /// Tells whether all that is begun is ignored text that may not come.
    fn is_out_of(&self, reach: Reach, lex: u32) -> bool {
        let narrow = self.machine.proof().narrow();
        let narrow = narrow.filter(|_| reach == Reach::Wide);
        narrow.is_some_and(|narrow| self.lex(lex).members.iter().all(|&state| narrow.has(state)))
    }

    /// Returns the number of a place.
    fn place(&mut self, lex: u32, start: u32, reach: Reach, granted: u32) -> u32 {
        if lex == 0 || self.is_out_of(reach, lex) {
            return 0;
        }
        let is_ignored = |terminal| self.is_ignored(terminal);
        let (start, reach) = match self.lex(lex).terminals(self.machine).any(is_ignored) {
            true => (start, reach),
            false => (0, Reach::All),
        };
        if let Some(&id) = self.known.places.ids.get(&(lex, start, reach, granted)) {
            return id;
        }
        let id = self.known.places.all.len() as u32 + 1;
        self.known
            .places
            .ids
            .insert((lex, start, reach, granted), id);
        let lexer = self.machine.lexer();
        let mut lives = ClassSet::default();
        let goes_on = Some(lex).filter(|_| self.lex(lex).lazy.is_empty());
        let begins = Some(self.begins_behind(lex, start)).filter(|begins| *begins != 0);
        for lex in goes_on.into_iter().chain(begins) {
            for &state in &self.lex(lex).members {
                // If every split counts, a trap is no way on.
                let is_way = |to: u32| self.machine.is_greedy() || !lexer.is_trap(to);
                let ways = lexer.ways(state).filter(|way| is_way(way.1));
                ways.for_each(|(classes, _)| lives.fill(classes));
            }
        }
        let alive = lives.iter().map(|class| lexer.sets[class]);
        let next_bytes = alive.fold(ByteSet::NONE, ByteSet::or);
        let ends = self.ends(lex, start);
        let behind = self.machine.bytes_behind();
        let ended = self.terminals(ends);
        let ended = ended.iter().map(|&terminal| behind[terminal as usize]);
        let told = LexemePlace {
            next_bytes,
            ends,
            end_bytes: ended.fold(ByteSet::NONE, ByteSet::or),
            asks: self.asks(lex, granted),
        };
        let places = &mut self.known.places;
        places
            .rows
            .resize(places.rows.len() + lexer.width(), UNKNOWN);
        self.known.bytes += 100 + 4 * lexer.width();
        places.all.push(LexPlace {
            lex,
            start,
            reach,
            granted,
            told,
            number: None,
        });
        id
    }

    /// Returns the number of a place, the same in all scratches: it is named by what tells places apart.
    pub(crate) fn number(&mut self, place: u32) -> u32 {
        let own = &self.known.places.all[place as usize - 1];
        if let Some(number) = own.number {
            return number;
        }
        let mut key = self.lex(own.lex).members.to_vec();
        key.push(UNKNOWN);
        key.extend_from_slice(&self.lex(own.start).members);
        if own.reach == Reach::Wide {
            key.push(UNKNOWN);
        }
        let origins = self.lex(own.lex).origins;
        if !origins.is_empty() {
            key.extend([UNKNOWN; 2]);
            key.extend(origins.words());
        }
        if own.granted != 0 {
            key.extend([UNKNOWN; 3]);
            key.extend(self.asked_in(own.granted));
        }
        let number = self.machine.numbers().number(key.into());
        self.known.bytes += 50;
        self.known.places.all[place as usize - 1].number = Some(number);
        number
    }

    /// Tells whether ignored text ends at a place, so that what may come on the same stacks begins
    /// there: under greedy lexing where nothing else ends, and where the byte that comes is not
    /// taken.
    fn begins_again(&self, lex: u32, start: u32) -> bool {
        let Lex { lazy, accepts, .. } = self.lex(lex);
        let is_told = match self.machine.is_greedy() {
            true => accepts.len() == 1,
            // The texts that a lazy lexeme ends would not be told apart.
            false => !self.machine.proof().has_lazy,
        };
        let ends = accepts.iter().any(|&terminal| self.is_ignored(terminal));
        start != 0 && lazy.is_empty() && is_told && ends
    }

    /// Returns the set in which the lexemes begin behind ignored text that ends at a place; 0 where
    /// none ends.
    fn begins_behind(&mut self, lex: u32, start: u32) -> u32 {
        if !self.begins_again(lex, start) {
            return 0;
        }
        let guarded = self.lex(lex).guarded.iter();
        let ignored = guarded.filter(|end| end.1.iter().any(|&t| self.is_ignored(t)));
        let guards: Vec<u32> = ignored.map(|end| end.0).collect();
        if guards.is_empty() {
            return start;
        }
        let mut members: Vec<u32> = Vec::new();
        for guard in guards {
            let begins = self
                .caches
                .lexes_mut()
                .under_guard(start, guard, self.machine);
            members.extend_from_slice(&self.lex(begins).members);
        }
        let origins = self.lex(start).origins;
        self.intern(members, origins)
    }

    /// Returns the set behind a byte, with what may begin behind ignored text that ends.
    fn lex_behind(&mut self, lex: u32, start: u32, class: u8) -> u32 {
        if !self.lex(lex).lazy.is_empty() {
            return 0;
        }
        let next = self.lex_step(lex, class);
        if next != 0 && self.machine.is_greedy() {
            return next;
        }
        let begins = self.begins_behind(lex, start);
        let other = self.lex_step(begins, class);
        if next == 0 || other == 0 || other == next {
            return next.max(other);
        }
        let [one, other] = [next, other].map(|lex| &*self.lex(lex).members);
        let (all, origins) = ([one, other].concat(), self.lex(start).origins);
        self.intern(all, origins)
    }

    /// Returns the terminals that end a lexeme of which the stacks are asked, by number; 0 for
    /// none.
    fn ends(&mut self, lex: u32, start: u32) -> u32 {
        let begins_again = self.begins_again(lex, start);
        let ends = self.lex(lex).ending();
        let counts = |terminal: &u32| !begins_again || !self.is_ignored(*terminal);
        let ends: Arc<[u32]> = ends.iter().copied().filter(counts).collect();
        self.number_terminals(ends)
    }

    /// Returns what is to be asked where a text ends in a lexeme, by number: where nothing is proved of the stacks, whether
    /// it can be finished, but in text that is granted. 0 for nothing.
    fn asks(&mut self, lex: u32, granted: u32) -> u32 {
        let is_trapped = self.caches.lexes().is_trapped(lex, self.machine);
        let is_asked = self.asks_stacks() || self.lex(lex).is_unsure();
        if !is_trapped && (!is_asked || self.is_granted(lex, granted)) {
            return 0;
        }
        let open = Some(lex).filter(|_| !is_trapped);
        let question = open.and_then(|lex| self.question(lex));
        question.unwrap_or_else(|| self.number_terminals(Arc::new([TRAPPED])))
    }

    /// Tells whether what was asked of can be finished: tokens that end where something was followed by
    /// what must not follow it are tried, and do not come.
    pub(crate) fn answers(&mut self, front: u32, asked: &[u32]) -> bool {
        asked != [TRAPPED] && self.lives(front, asked)
    }

    /// Returns what walks know of a place.
    pub(crate) fn told(&self, place: u32) -> LexemePlace {
        self.known.places.all[place as usize - 1].told
    }

    /// Returns the class of which any text may come, where a lexeme alone tells it.
    pub(crate) fn free_text(&mut self, place: u32) -> Option<FreeText> {
        let LexPlace {
            lex,
            reach,
            granted,
            ..
        } = self.known.places.all[place as usize - 1];
        if let Some(class) = self.granted_text(lex, granted) {
            return Some(any_text(class));
        }
        if self.asks_stacks() {
            return None;
        }
        let lexes = self.caches.lexes_mut();
        let free = match reach {
            Reach::All => free_of_lex(lex, self.machine, lexes, self.known),
            Reach::Wide => free_of_unignored(lex, self.machine, lexes, self.known),
        };
        free.map(Free::text)
    }

    /// Returns the place behind a byte; 0 if it may not come.
    #[inline]
    pub(crate) fn step(&mut self, place: u32, byte: u8) -> u32 {
        if place == 0 {
            return 0;
        }
        let class = self.machine.lexer().classes[usize::from(byte)];
        match self.known.places.rows[self.cell(place, class)] {
            UNKNOWN => self.long_step(place, class),
            known => known,
        }
    }

    /// Returns the place in the rows of the step from a place by a class of bytes.
    fn cell(&self, place: u32, class: u8) -> usize {
        (place as usize - 1) * self.machine.lexer().width() + usize::from(class)
    }

    fn long_step(&mut self, place: u32, class: u8) -> u32 {
        let LexPlace {
            lex,
            start,
            reach,
            granted,
            ..
        } = self.known.places.all[place as usize - 1];
        let next = self.lex_behind(lex, start, class);
        let next = self.place(next, start, reach, granted);
        let cell = self.cell(place, class);
        self.known.places.rows[cell] = next;
        next
    }

    /// Returns the terminals with a number.
    pub(crate) fn terminals(&self, number: u32) -> Arc<[u32]> {
        self.known
            .places
            .terminals
            .get(&number)
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn number_terminals(&mut self, terminals: Arc<[u32]>) -> u32 {
        let number = self.caches.lexes_mut().number_of_ends(&terminals);
        self.known.places.terminals.insert(number, terminals);
        number
    }

    /// Returns the lexemes that may begin where terminals have ended on top of a front, and so many nodes of a
    /// vocabulary's trie are read.
    pub(crate) fn behind(&mut self, front: u32, terminals: &[u32], nodes: u32) -> LexemeBehind {
        let behind = self.caches.walk_behind(front, terminals, self.machine);
        let start = self.caches.stacks().next(behind).start;
        if let Some(config) = self.letters_at(behind, start) {
            return LexemeBehind::Text(Cursor(config));
        }
        match start {
            0 => LexemeBehind::Nothing,
            _ => {
                let granted = match self.asks_stacks() && nodes >= WORTH_GRANTING {
                    true => self.granted(start, behind),
                    false => 0,
                };
                LexemeBehind::Begins(self.lexeme(start, behind, granted))
            }
        }
    }

    /// Returns the configuration between two lexemes on top of a front, where letters are lexemes
    /// of their own. `start` is the set in which lexemes begin there.
    fn letters_at(&mut self, front: u32, start: u32) -> Option<u32> {
        if !letters::may_begin(start, self.machine, self.caches.lexes_mut()) {
            return None;
        }
        if let Some(&known) = self.known.places.letters_at.get(&front) {
            return known;
        }
        // Asking is no step of a walk.
        let least = *self.caches.least_mut();
        let config = Steps::new(self.machine, self.caches).between(front);
        let chain = letters::chain(self.machine, self.caches, config);
        *self.caches.least_mut() = least;
        let found = chain.map(|_| config);
        self.known.bytes += 16;
        self.known.places.letters_at.insert(front, found);
        found
    }
}
