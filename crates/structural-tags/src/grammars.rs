//! Texts of context-free grammars inside of tags: as JSON, each has a machine of its own, of
//! which a thread holds a state, or in a walk a cursor.

use fsm_index::{
    ByteAutomaton, ClassId, Cursor, Description, FreeText, Horizon, PlainText, Stack, TextLoop,
    TopText,
};
use grammar::GrammarAutomaton;

use super::hints::class_of;
use super::machine::TagAutomaton;
use super::parts::{Body, Thread};
use super::walk::Scratch;

/// Working memory of one text of a grammar in a walk.
pub(super) struct Slot {
    part: u32,
    pub(super) scratch: grammar::Scratch,
    /// Whether this walk uses it.
    used: bool,
    /// Whether the walk began inside of the text.
    begun_before: bool,
}

/// The working memories of all of them.
#[derive(Default)]
pub(super) struct Slots(Vec<Slot>);

impl Slots {
    /// Forgets the walk before.
    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(|slot| slot.used = false);
    }

    /// The number of one for a text of that part.
    pub(super) fn take(
        &mut self,
        part: u32,
        automaton: &GrammarAutomaton,
        begun_before: bool,
    ) -> u32 {
        let free = self.0.iter().position(|s| s.part == part && !s.used);
        let at = free.unwrap_or_else(|| self.add(part, automaton));
        let slot = &mut self.0[at];
        (slot.used, slot.begun_before) = (true, begun_before);
        at as u32
    }

    fn add(&mut self, part: u32, automaton: &GrammarAutomaton) -> usize {
        self.0.push(Slot {
            part,
            scratch: automaton.scratch(),
            used: false,
            begun_before: false,
        });
        self.0.len() - 1
    }

    /// Working memory for committing to a text of that part.
    pub(super) fn of_part(
        &mut self,
        part: u32,
        automaton: &GrammarAutomaton,
    ) -> &mut grammar::Scratch {
        let known = self.0.iter().position(|slot| slot.part == part);
        let at = known.unwrap_or_else(|| self.add(part, automaton));
        &mut self.0[at].scratch
    }

    pub(super) fn scratch(&mut self, slot: u32) -> &mut grammar::Scratch {
        &mut self.0[slot as usize].scratch
    }

    /// The slots of texts in which the walk began, and their parts.
    pub(super) fn begun(&self) -> impl Iterator<Item = (u32, &grammar::Scratch)> {
        let begun = self.0.iter().filter(|slot| slot.used && slot.begun_before);
        begun.map(|slot| (slot.part, &slot.scratch))
    }
}

impl TagAutomaton {
    /// Where a text of a grammar begins in a walk: its slot and cursor.
    pub(super) fn begin_grammar(
        &self,
        part: u32,
        automaton: &GrammarAutomaton,
        x: &mut Scratch,
    ) -> (u32, u32) {
        if let Some(start) = x.starts.get(&part) {
            return *start;
        }
        let slot = x.grammars.take(part, automaton, false);
        let inner = automaton
            .enter(&automaton.start(), x.grammars.scratch(slot))
            .0;
        x.starts.insert(part, (slot, inner));
        (slot, inner)
    }

    /// The only thread of a cursor, if it stands in a text of a grammar.
    fn only_grammar(&self, cursor: Cursor, x: &Scratch) -> Option<(Thread, &GrammarAutomaton)> {
        match x.config(cursor) {
            [thread] => match &self.part(thread.part).body {
                Body::Grammar(automaton) => Some((*thread, automaton)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The cursor where a thread stands at `inner`, with what may follow there.
    fn grammar_at(&self, thread: Thread, inner: Cursor, x: &mut Scratch) -> Cursor {
        if inner.is_dead() {
            return Cursor::DEAD;
        }
        let inner = inner.0;
        let mut threads = vec![Thread { inner, ..thread }];
        self.close(x, &mut threads);
        x.intern(&mut threads)
    }

    /// What is known where nothing but a grammar may go on: what its machine says.
    pub(super) fn describe_grammar(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<Description> {
        let (thread, automaton) = self.only_grammar(cursor, x)?;
        let scratch = x.grammars.scratch(thread.slot);
        let inner = automaton.describe(Cursor(thread.inner), horizon, scratch);
        let mut wrap = |text: TextLoop| {
            Some(TextLoop {
                class: class_of(thread.part, text.class)?,
                next: self.grammar_at(thread, text.next, x),
                ..text
            })
        };
        Some(match inner {
            Description::Top(top) => Description::Top(TopText {
                text: top.text.and_then(&mut wrap),
                free: top.free.and_then(|free| free_of(thread, free)),
            }),
            Description::Text(text) => wrap(text).map_or(Description::Unknown, Description::Text),
            Description::Like { cursor, apart } => Description::Like {
                cursor: self.grammar_at(thread, cursor, x),
                apart,
            },
            listed @ Description::Listed(_) => listed,
            Description::Unknown => Description::Unknown,
        })
    }

    /// As [`Stack::step_on_top`], where nothing but a grammar may go on; `None` for what may
    /// follow its text.
    pub(super) fn step_grammar_on_top(
        &self,
        cursor: Cursor,
        byte: u8,
        x: &mut Scratch,
    ) -> Option<Option<Cursor>> {
        let (thread, automaton) = self.only_grammar(cursor, x)?;
        let scratch = x.grammars.scratch(thread.slot);
        let Some(next) = automaton.step_on_top(Cursor(thread.inner), byte, scratch) else {
            return Some(None);
        };
        if automaton.ends_at_cursor(next, scratch) {
            return Some(None);
        }
        Some(Some(self.grammar_at(thread, next, x)))
    }

    /// Text that is free in a grammar: whatever else may come beside it.
    pub(super) fn grammar_free(&self, cursor: Cursor, x: &mut Scratch) -> Option<FreeText> {
        (0..x.config(cursor).len()).find_map(|at| {
            let thread = x.config(cursor)[at];
            let Body::Grammar(automaton) = &self.part(thread.part).body else {
                return None;
            };
            let scratch = x.grammars.scratch(thread.slot);
            free_of(thread, automaton.free_text(Cursor(thread.inner), scratch)?)
        })
    }
}

fn free_of(thread: Thread, inner: FreeText) -> Option<FreeText> {
    let class: ClassId = class_of(thread.part, inner.class)?;
    Some(FreeText { class, ..inner })
}
