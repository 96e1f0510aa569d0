//! One automaton inside of another: JSON in a grammar, a grammar between two markers.
//!
//! For example, behind `<f>{"name": "Al` an outer automaton has read the marker `<f>` and stands in
//! an object, which an inner automaton reads. Nearly all that may come is a matter of the inner
//! one alone, so that its masks are made as if it were not inside of anything. An outer automaton
//! that keeps to this module writes three functions of [`Nested`], and has the rest from here:
//!
//! - *Slots* ([`Slots`]): the working memory of each inner text of a walk. Cursors mean something
//!   in one scratch alone, so that two texts of one automaton need two.
//! - *Cursors*: a slot remembers the outer cursor of each inner one at which its text stands alone.
//! - *Classes* ([`ClassId::inner`]): every inner automaton numbers its classes from 0 on.
//! - *Knowledge*: a description, a reader, free text and next bytes of the inner automaton, with
//!   cursors and classes of the outer one.
//! - *Keys and depth*: the levels of the inner stack are the topmost ones of the outer automaton.
//!
//! The outer automaton itself knows what may stand beside an inner text, and what may follow its
//! end: [`Outer::cursor`] adds that.

use crate::automaton::AskParts;
use crate::{
    ByteAutomaton, ByteSet, ClassId, Cursor, Description, FreeText, Horizon, KeyLanguage, ReadText,
    Scope, Spot, TextAt, TextLoop, TextPlace, TextReader, TextStep,
};

/// An automaton that can be read inside of another one. See [`Nested`].
pub trait Leaf: ByteAutomaton {
    /// True if a walk numbers its cursors one after another from 1 on. If so, a table by cursor is
    /// small, and an outer automaton may keep one.
    const CURSORS_ARE_DENSE: bool;

    /// Tells whether the text may end at a cursor of the walk that `scratch` is in: there the outer
    /// automaton reads on. Nothing ends at the dead one.
    fn ends_at_cursor(&self, cursor: Cursor, scratch: &mut Self::Scratch) -> bool;
}

/// The classes of one inner automaton that are told apart, and one of the outer automaton's own.
/// They have 16 bits, so that as many inner automata fit into a [`ClassId`].
const CLASSES: u32 = 1 << 16;

/// The number from which on some automata number a second kind of classes: the middle, so that both
/// kinds have as many; most number one kind from 0 on.
const OTHERS: u32 = (1 << 31) - 1;

/// Numbers of the classes of an automaton that has others inside of it, each with a number as
/// their owner.
impl ClassId {
    /// A class of the inner automaton with this number; `None` where the numbers are too large to
    /// be told apart.
    ///
    /// ```
    /// use fsm_index::ClassId;
    ///
    /// let class = ClassId::inner(7, ClassId(3)).unwrap();
    /// assert_eq!(class.split(), (7, Some(ClassId(3))));
    /// assert_eq!(ClassId::own(7).unwrap().split(), (7, None));
    /// assert_eq!(ClassId::inner(7, ClassId(1 << 16)), None);
    /// ```
    pub fn inner(owner: u32, class: ClassId) -> Option<ClassId> {
        let (number, is_other) = match class.0.checked_sub(OTHERS) {
            Some(number) => (number, 1),
            None => (class.0, 0),
        };
        let folded = number.checked_mul(2)?.checked_add(is_other)?;
        let class = owner.checked_mul(CLASSES)?.checked_add(folded)?;
        (folded < CLASSES - 1).then_some(ClassId(class))
    }

    /// The class that the outer automaton itself has beside those of one inner automaton.
    pub fn own(owner: u32) -> Option<ClassId> {
        Some(ClassId(owner.checked_mul(CLASSES)? + (CLASSES - 1)))
    }

    /// The number of the inner automaton, and its class there; none for the outer one's
    /// [own](Self::own).
    pub fn split(self) -> (u32, Option<ClassId>) {
        let folded = self.0 % CLASSES;
        let inner = ClassId(folded / 2 + folded % 2 * OTHERS);
        (self.0 / CLASSES, (folded < CLASSES - 1).then_some(inner))
    }
}

/// The way in which a walk meets an inner text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// The walk begins inside of it.
    Within,
    /// It begins on the way.
    Ahead,
}

/// The working memories of the inner texts of walks. `T` is what the outer automaton keeps of each
/// text besides.
pub struct Slots<A: ByteAutomaton, T>(Vec<Slot<A, T>>);

struct Slot<A: ByteAutomaton, T> {
    owner: u32,
    scratch: A::Scratch,
    around: T,
    /// None if the walk does not use it.
    met: Option<Met>,
    /// By inner cursor, the outer automaton's number for it; 0 where there is none.
    outer: Vec<u32>,
}

impl<A: ByteAutomaton, T> Default for Slots<A, T> {
    fn default() -> Self {
        Slots(Vec::new())
    }
}

impl<A: ByteAutomaton, T: Clone> Slots<A, T> {
    /// Forgets the walk before.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|slot| slot.met = None);
    }

    /// The number of a slot for a text of the inner automaton with the number `owner`.
    pub fn take(&mut self, owner: u32, automaton: &A, met: Met, around: T) -> u32 {
        let mut slots = self.0.iter();
        let free = slots.position(|slot| slot.owner == owner && slot.met.is_none());
        let at = free.unwrap_or_else(|| self.add(owner, automaton, around.clone()));
        let slot = &mut self.0[at];
        (slot.met, slot.around) = (Some(met), around);
        slot.outer.clear();
        at as u32
    }

    fn add(&mut self, owner: u32, automaton: &A, around: T) -> usize {
        self.0.push(Slot {
            owner,
            scratch: automaton.scratch(),
            around,
            met: None,
            outer: Vec::new(),
        });
        self.0.len() - 1
    }

    /// The working memory of a slot.
    pub fn scratch(&mut self, slot: u32) -> &mut A::Scratch {
        &mut self.0[slot as usize].scratch
    }

    /// The working memory of some slot of an inner automaton, between two walks: for committing
    /// bytes, because walks begin where bytes were committed.
    pub fn scratch_of(&mut self, owner: u32, automaton: &A) -> &mut A::Scratch
    where
        T: Default,
    {
        let known = self.0.iter().position(|slot| slot.owner == owner);
        let at = known.unwrap_or_else(|| self.add(owner, automaton, T::default()));
        &mut self.0[at].scratch
    }

    /// The number of the inner automaton.
    pub fn owner(&self, slot: u32) -> u32 {
        self.0[slot as usize].owner
    }

    /// Returns the data that the outer automaton keeps of the text.
    pub fn around(&self, slot: u32) -> &T {
        &self.0[slot as usize].around
    }

    /// Tells whether the walk began inside of the text.
    pub fn is_met_within(&self, slot: u32) -> bool {
        self.0[slot as usize].met == Some(Met::Within)
    }

    /// The texts in which the walk began: each with the number of its automaton, what the outer
    /// one keeps of it, and its working memory.
    pub fn met_within(&self) -> impl Iterator<Item = (u32, &T, &A::Scratch)> {
        let within = self.0.iter().filter(|slot| slot.met == Some(Met::Within));
        within.map(|slot| (slot.owner, &slot.around, &slot.scratch))
    }

    /// The number that [`remember`](Self::remember) keeps for a cursor of the slot.
    #[inline]
    pub fn known(&self, slot: u32, inner: Cursor) -> Option<u32> {
        let known = self.0[slot as usize].outer.get(inner.0 as usize);
        known.copied().filter(|&known| known != 0)
    }

    /// Keeps a number of the outer automaton, not 0, for a cursor of the slot. Only for cursors
    /// that [are dense](Leaf::CURSORS_ARE_DENSE).
    pub fn remember(&mut self, slot: u32, inner: Cursor, number: u32) {
        let outer = &mut self.0[slot as usize].outer;
        let inner = inner.0 as usize;
        if outer.len() <= inner {
            outer.resize(inner + 1, 0);
        }
        outer[inner] = number;
    }
}

/// An automaton that has others inside of it, at a place at which it reads one of their texts and
/// nothing else. See [`Nested`].
pub trait Outer<'a> {
    /// The inner automaton.
    type Leaf: Leaf + 'a;
    /// The data that is kept of each text.
    type Around: Clone;

    /// The working memories of the walk.
    fn slots(&mut self) -> &mut Slots<Self::Leaf, Self::Around>;

    /// The outer cursor where the text stands at another of its cursors, with all that may follow
    /// the text there; `None` where that is not said.
    fn cursor(&mut self, inner: Cursor) -> Option<Cursor>;
}

/// The only text that an outer automaton reads at a cursor of a walk: what the inner automaton
/// says of it holds for the outer one, with numbers of its own.
pub struct Nested<'a, O: Outer<'a>> {
    outer: O,
    automaton: &'a O::Leaf,
    slot: u32,
    at: Cursor,
}

impl<'a, O: Outer<'a>> Nested<'a, O> {
    /// The text of a slot at one of its cursors.
    pub fn new(outer: O, automaton: &'a O::Leaf, slot: u32, at: Cursor) -> Nested<'a, O> {
        Nested {
            outer,
            automaton,
            slot,
            at,
        }
    }

    /// Asks the inner automaton.
    #[inline]
    fn ask<R>(
        &mut self,
        ask: impl FnOnce(&'a O::Leaf, Cursor, &mut <O::Leaf as ByteAutomaton>::Scratch) -> R,
    ) -> R {
        ask(
            self.automaton,
            self.at,
            self.outer.slots().scratch(self.slot),
        )
    }

    /// The outer automaton's number for a class.
    fn class(&mut self, inner: ClassId) -> Option<ClassId> {
        ClassId::inner(self.outer.slots().owner(self.slot), inner)
    }

    /// The outer cursor where the text stands at another of its cursors.
    pub fn to(&mut self, inner: Cursor) -> Cursor {
        self.outer.cursor(inner).unwrap_or(Cursor::DEAD)
    }

    /// Tells whether the text may end here.
    #[inline]
    pub fn ends(&mut self) -> bool {
        self.ask(|leaf, at, x| leaf.ends_at_cursor(at, x))
    }

    /// As [`ByteAutomaton::describe`].
    pub fn describe(&mut self, horizon: Horizon<'_>) -> Description {
        match self.ask(|leaf, at, x| leaf.describe(at, horizon, x)) {
            Description::Top(text) => Description::Top(text.and_then(|text| self.text_loop(text))),
            Description::Text(text) => {
                let text = self.text_loop(text);
                text.map_or(Description::Unknown, Description::Text)
            }
            Description::Like { cursor, apart } => match self.outer.cursor(cursor) {
                Some(cursor) => Description::Like { cursor, apart },
                None => Description::Unknown,
            },
            same @ (Description::Listed(_) | Description::Unknown) => same,
        }
    }

    fn text_loop(&mut self, text: TextLoop) -> Option<TextLoop> {
        Some(TextLoop {
            class: self.class(text.class)?,
            next: self.outer.cursor(text.next)?,
            ..text
        })
    }

    /// As [`PlainText::free_text`](crate::PlainText::free_text).
    pub fn free_text(&mut self) -> Option<FreeText> {
        let free = self.ask(|leaf, at, x| leaf.free_text(Spot::Top(at), x))?;
        let class = self.class(free.class)?;
        Some(FreeText { class, ..free })
    }

    /// As [`PlainText::reader`](crate::PlainText::reader).
    pub fn reader(&mut self, horizon: Horizon<'_>) -> Option<TextReader<'a>> {
        let inner = self.ask(|leaf, at, x| leaf.text_reader(at, horizon, x))?;
        let owner = self.outer.slots().owner(self.slot);
        let steps = Reader {
            inner: inner.steps,
            owner,
        };
        Some(TextReader {
            steps: Box::new(steps),
            ..inner
        })
    }

    /// As [`PlainText::cursor_at`](crate::PlainText::cursor_at).
    pub fn cursor_at(&mut self, place: TextAt) -> Cursor {
        let inner = self.ask(|leaf, at, x| leaf.text_cursor(at, place, x));
        self.to(inner)
    }

    /// As [`ByteAutomaton::step`].
    #[inline]
    pub fn step(&mut self, byte: u8) -> Cursor {
        let inner = self.ask(|leaf, at, x| leaf.step(at, byte, x));
        self.to(inner)
    }

    /// As [`Stack::step_on_top`](crate::Stack::step_on_top). The bytes that may follow the text are
    /// a matter of other levels.
    #[inline]
    pub fn step_on_top(&mut self, byte: u8) -> Option<Cursor> {
        let inner = self.ask(|leaf, at, x| {
            let next = leaf.step_on_top(at, byte, x)?;
            (!leaf.ends_at_cursor(next, x)).then_some(next)
        })?;
        Some(self.to(inner))
    }

    /// As [`ByteAutomaton::next_bytes`], where the text cannot end.
    #[inline]
    pub fn next_bytes(&mut self) -> ByteSet {
        self.ask(|leaf, at, x| leaf.next_bytes(Spot::Cursor(at), x))
    }

    /// The same of what the topmost level tells.
    #[inline]
    pub fn next_bytes_on_top(&mut self) -> ByteSet {
        self.ask(|leaf, at, x| leaf.next_bytes(Spot::Top(at), x))
    }

    /// Tells whether so many levels are all within the text: what follows it does not matter then.
    pub fn has_levels(&mut self, depth: usize) -> bool {
        self.ask(|leaf, at, x| leaf.levels(at, x)) >= depth
    }

    /// As [`ByteAutomaton::key`], of the inner text alone.
    pub fn key(
        &mut self,
        scope: Scope,
        depth: usize,
        horizon: Horizon<'_>,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        self.ask(|leaf, at, x| leaf.key(at, scope, depth, horizon, x, out))
    }
}

/// Reads a text of an inner automaton, with classes of the outer one.
struct Reader<'a> {
    inner: Box<dyn ReadText + 'a>,
    owner: u32,
}

impl ReadText for Reader<'_> {
    fn step(&self, at: TextAt, byte: u8) -> TextStep {
        self.inner.step(at, byte)
    }

    fn place(&self, at: TextAt) -> TextPlace {
        let place = self.inner.place(at);
        let free = place.free.and_then(|free| {
            let class = ClassId::inner(self.owner, free.class)?;
            Some(FreeText { class, ..free })
        });
        TextPlace { free, ..place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_inner_automata_are_told_apart() {
        for class in [0, 1, 300, OTHERS, OTHERS + 1, OTHERS + 300] {
            let told = ClassId::inner(7, ClassId(class)).unwrap();
            assert_eq!(told.split(), (7, Some(ClassId(class))));
        }
        assert_eq!(ClassId::own(7).unwrap().split(), (7, None));
        for (owner, class) in [(7, CLASSES), (7, u32::MAX), (CLASSES, 0)] {
            assert_eq!(ClassId::inner(owner, ClassId(class)), None);
        }
        assert_eq!(ClassId::own(CLASSES), None);
    }
}
