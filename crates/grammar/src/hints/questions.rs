//! The questions that are asked of stacks where it is not proved that all of them can be finished: whether a lexeme that has
//! come to a place can, on top of these.
//!
//! For example, behind `whi` of a name or the keyword `while` it is asked whether a name can be finished there. That is
//! the question behind most letters, so that it is asked once for half of a vocabulary.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::FixedState;
use fsm_index::ClassId;
use indexmap::IndexSet;

use crate::completion::live::Live;
use crate::hints::finder::common;
use crate::hints::free::{byte_classes, free_from, freest, in_loop};
use crate::hints::known::Text;
use crate::hints::lexemes::Lexemes;
use crate::proof::Origins;
use crate::run::configs::Thread;
use crate::run::step::Steps;

/// Stands before the states of a place in a list of terminals, because no terminal has this number.
const PLACE: u32 = u32::MAX - 1;

/// The most places in lexemes to which free text leads, because names over all of Unicode have some five hundred inside of
/// characters, and strings beside them as many.
const MAX_PLACES_OF_TEXT: usize = 2_000;

/// The most texts that are kept for questions, because from most places the same ones lead on.
const MAX_TEXTS: usize = 32;

impl Lexemes<'_> {
    /// Tells whether stacks are asked, because it is not proved that all can be finished.
    pub(super) fn asks_stacks(&self) -> bool {
        self.machine.checks_live() && !self.machine.proof().is_all_safe()
    }

    /// Returns the question at a place in a lexeme, by number; none if it cannot end.
    pub(super) fn question(&mut self, lex: u32) -> Option<u32> {
        if let Some(&known) = self.known.places.questions.get(&lex) {
            return known;
        }
        let question = self.simplest_end(lex).map(|end| {
            let own = self.lex(end);
            let words = own.origins.words();
            let members = own.members.iter().copied();
            let asked = [PLACE].into_iter().chain(words).chain(members).collect();
            self.number_terminals(asked)
        });
        self.known.bytes += 24;
        self.known.places.questions.insert(lex, question);
        question
    }

    /// Returns the place with the fewest states among this one and those behind one byte more where a lexeme may end; or
    /// else the nearest one.
    fn simplest_end(&mut self, lex: u32) -> Option<u32> {
        let ends = |this: &Self, at: u32| at != 0 && this.lex(at).ends != 0;
        if self.lex(lex).members.len() == 1 && ends(self, lex) {
            return Some(lex);
        }
        let mut best: Option<(usize, bool, u32)> = None;
        // A state alone has no others to get rid of.
        let behind = match self.lex(lex).members.len() {
            1 => Vec::new(),
            _ => {
                let all = (0..self.machine.lexer().width()).collect();
                self.caches.lexes_mut().ways(lex, &all, self.machine)
            }
        };
        for at in behind.into_iter().chain([lex]) {
            if ends(self, at) && !self.caches.lexes().is_trapped(at, self.machine) {
                let own = (self.lex(at).members.len(), at != lex, at);
                best = Some(best.map_or(own, |best| best.min(own)));
            }
        }
        if let Some((_, _, at)) = best {
            return Some(at);
        }
        let lexer = self.machine.lexer();
        let members = self.lex(lex).members.iter().copied();
        let mut state = members.min_by_key(|&state| lexer.distance[state as usize])?;
        let mut at = lex;
        while lexer.distance[state as usize] != 0
            && let Some((next, class)) = lexer.nearer(state)
        {
            state = next;
            at = self.lex_step(at, class);
        }
        ends(self, at).then_some(at)
    }

    /// Tells whether a lexeme that has come to the place of a question can be finished on top of a front.
    pub(super) fn lives(&mut self, front: u32, asked: &[u32]) -> bool {
        let &[PLACE, first, second, ref members @ ..] = asked else {
            return false;
        };
        let origins = Origins::of_words([first, second]);
        let place = self.intern(members.to_vec(), origins);
        let mut steps = Steps::new(self.machine, self.caches);
        let config = steps.intern(vec![Thread { place, front }], 0);
        Live::new(self.machine, self.caches).is_live(config)
    }

    /// Returns the number of the questions of the text that may come behind a place, if that can be finished everywhere on
    /// top of a front: then it is free. 0 otherwise.
    pub(super) fn granted(&mut self, lex: u32, front: u32) -> u32 {
        let members = self.caches.lexes()[lex].members.iter().copied();
        let Some(free) = freest(members, self.machine, self.known) else {
            return 0;
        };
        let text = self.text_on(front, lex, free.class).or_else(|| {
            let class = in_loop(free, self.machine, self.known)?;
            self.text_on(front, lex, class)
        });
        let Some(text) = text else {
            return 0;
        };
        let entry = self.known.places.granted.entry(text.questions.clone());
        let number = entry.index() as u32 + 1;
        let texts = entry.or_default();
        if texts.len() < MAX_TEXTS && !texts.iter().any(|known| Arc::ptr_eq(known, &text)) {
            self.known.bytes += 16;
            texts.push(text);
        }
        number
    }

    /// Returns the lists of questions by their number.
    pub(super) fn asked_in(&self, granted: u32) -> Vec<u32> {
        let all = self.granted_at(granted);
        let questions = all.into_iter().flat_map(|(questions, _)| questions);
        questions
            .flat_map(|&question| self.terminals(question).to_vec())
            .collect()
    }

    fn granted_at(&self, granted: u32) -> Option<(&[u32], &[Arc<Text>])> {
        let all = &self.known.places.granted;
        let (questions, texts) = all.get_index((granted as usize).checked_sub(1)?)?;
        Some((questions, texts))
    }

    /// Tells whether the question at a place is among those that stacks have answered.
    pub(super) fn is_granted(&mut self, lex: u32, granted: u32) -> bool {
        granted != 0
            && self.question(lex).is_some_and(|question| {
                let own = self.granted_at(granted);
                own.is_some_and(|(questions, _)| questions.binary_search(&question).is_ok())
            })
    }

    /// Returns text that is free behind a place, where the stacks have answered some questions.
    pub(super) fn granted_text(&self, lex: u32, granted: u32) -> Option<ClassId> {
        let (_, texts) = self.granted_at(granted)?;
        let own = texts.iter().filter(|text| text.leads_to(lex));
        // Behind an escape the text of a string may come, and not only more of what an escape may be.
        own.max_by_key(|text| text.chars).map(|text| text.class)
    }

    /// Returns the text of a class behind a place, if it can be finished everywhere on top of a front.
    fn text_on(&mut self, front: u32, lex: u32, class: ClassId) -> Option<Arc<Text>> {
        let text = self.text_behind(lex, class)?;
        let lives = text.questions.iter().all(|&question| {
            let asked = self.terminals(question);
            self.lives(front, &asked)
        });
        lives.then_some(text)
    }

    /// Returns the text of a class that may come behind a place; the class leads on from some state there.
    fn text_behind(&mut self, lex: u32, class: ClassId) -> Option<Arc<Text>> {
        if let Some(known) = self.known.places.texts.get(&(lex, class)) {
            return known.clone();
        }
        let text = self.find_text(lex, class).map(Arc::new);
        let size = text
            .iter()
            .map(|text| 4 * (text.places.len() + text.questions.len()));
        self.known.bytes += 80 + size.sum::<usize>();
        self.known.places.texts.insert((lex, class), text.clone());
        text
    }

    fn find_text(&mut self, lex: u32, class: ClassId) -> Option<Text> {
        let classes = byte_classes(class, self.machine);
        let mut places: IndexSet<u32> = IndexSet::from_iter([lex]);
        let mut at = 0;
        while let Some(&from) = places.get_index(at) {
            at += 1;
            if !self.lex(from).lazy.is_empty() || places.len() > MAX_PLACES_OF_TEXT {
                return None;
            }
            places.extend(self.caches.lexes_mut().ways(from, &classes, self.machine));
        }
        let questions: Option<BTreeSet<u32>> =
            places.iter().map(|&place| self.question(place)).collect();
        let questions = questions?.into_iter().collect();
        // Beyond ASCII other characters led on, too, perhaps to where the text does not.
        let chars = self.machine.classes().get(class);
        let mut known: HashMap<ClassId, bool, FixedState> = HashMap::default();
        let mut places: Vec<u32> = places.into_iter().collect();
        places.retain(|&place| {
            let members = self.caches.lexes()[place].members.iter();
            let mut free = members.filter_map(|&state| free_from(state, self.machine, self.known));
            free.any(|free| {
                let has_all = || *common(chars, self.machine.classes().get(free.class)) == *chars;
                *known.entry(free.class).or_insert_with(has_all)
            })
        });
        places.sort_unstable();
        let chars = chars.iter().map(|(first, last)| last - first + 1);
        Some(Text {
            class,
            chars: chars.sum(),
            places: places.into(),
            questions,
        })
    }
}
