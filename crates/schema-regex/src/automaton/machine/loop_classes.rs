//! The classes of characters that hints speak of, found when they are asked for: those of which
//! text is read in a loop, and those that may come whatever they say.
//!
//! For example, inside of a string with `"pattern": "^[a-z]*$"` the class is that of `a` to `z`.

use std::sync::OnceLock;

use fsm_index::{Behind, ClassId, FreeText, JSON_TEXT};
use schema_normal::language::char_dfa::lengths::Lengths;
use schema_normal::language::char_dfa::{CharDfa, DEAD, Follows, Free, Ranges};

use crate::automaton::machine::objects::KeyMachine;

/// The class of [`JSON_TEXT`], the first because no automaton is needed for it.
pub(crate) const ANY_TEXT: ClassId = ClassId(0);

/// Classes smaller than this are not read in a loop, because they are quicker to walk.
const LEAST_CLASS: u32 = 24;

/// The loops of the automata of strings and names: a class for each state.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    classes: Vec<OnceLock<Ranges>>,
    /// For each state what may come behind it, whatever comes.
    free: Vec<OnceLock<Box<FreeClass>>>,
}

#[derive(Debug)]
struct FreeClass {
    /// The classes of names that may come, as bits, if these are told apart.
    classes: u64,
    /// The same where others may come.
    other: OnceLock<Box<FreeClass>>,
    /// `None` if it is not worth while.
    free: Option<Free>,
}

/// More names than an object is ever given, because their text would take some hundred megabytes.
pub(crate) const MANY_NAMES: usize = 1 << 24;

/// The number of the first class of free text, because classes of states are numbered from below.
const FREE: u32 = 1 << 31;

/// The most classes of free text that are known of one state, one for each set of classes of names,
/// because the number of a class has its place among them above that of the state.
const MAX_OTHERS: u32 = 8;
/// The distance between the numbers of two such classes, because all share the bits of a number.
const OTHER: u32 = FREE / MAX_OTHERS;

/// The class of the digits of numbers, just below [`FREE`] because no state has that number.
pub(crate) const DIGITS: ClassId = ClassId(FREE - 1);

impl Loops {
    /// The number of the first state's class; behind the last one's is that of
    /// the whole automaton.
    pub(crate) fn reserve(&mut self, states: usize) -> u32 {
        let base = self.classes.len();
        self.classes.resize_with(base + states + 1, OnceLock::new);
        self.free.resize_with(base + states + 1, OnceLock::new);
        base as u32
    }

    pub(crate) fn class(&self, dfa: &CharDfa, base: u32, state: u32) -> Option<ClassId> {
        let stays = |to| to == state;
        self.class_of(base + state, || {
            dfa.class_between(std::iter::once(state), stays, JSON_TEXT)
        })
    }

    /// The class of characters that lead from each state of `among` to another.
    pub(crate) fn free(
        &self,
        dfa: &CharDfa,
        base: u32,
        among: impl Fn(u32) -> bool,
    ) -> Option<ClassId> {
        let states = dfa.states() as u32;
        self.class_of(base + states, || {
            let from = (0..states).filter(|state| among(*state));
            dfa.class_between(from, &among, JSON_TEXT)
        })
    }

    fn class_of(&self, at: u32, find: impl FnOnce() -> Vec<(u32, u32)>) -> Option<ClassId> {
        let ranges = self.classes.get(at as usize)?;
        let ranges = ranges.get_or_init(|| find().into());
        let size: u32 = ranges.iter().map(|(a, b)| b - a + 1).sum();
        (size >= LEAST_CLASS).then_some(ClassId(at + 1))
    }

    /// Returns the text that may come in a string of so many characters, behind a state of its
    /// automaton, the number of whose first loop is `at.0`.
    pub(crate) fn free_within(
        &self,
        dfa: &CharDfa,
        at: (u32, u32),
        (lengths, length): (Option<&Lengths>, u32),
    ) -> Option<FreeText> {
        if at.1 == DEAD {
            return None;
        }
        let free = self.free_from(dfa, at, 0, |_| Follows::Much)?;
        let Some(lengths) = lengths else {
            return Some(free);
        };
        let class = (free.behind == Behind::ItsClass).then(|| self.ranges(free.class));
        let (left, is_all) = lengths.room(dfa, (at.1, length.into()), class);
        (left > 0).then_some(FreeText {
            chars: free.chars.min(left),
            ends: match free.chars <= left {
                true => free.ends,
                false => is_all,
            },
            ..free
        })
    }

    /// Returns the text that may come in a name behind a state, if names of these classes may come
    /// and fewer than [`MANY_NAMES`] are used.
    pub(crate) fn free_name(
        &self,
        keys: &KeyMachine,
        state: u32,
        classes: u64,
    ) -> Option<FreeText> {
        // More names than were used can still come of each state.
        let follows = |state: u32| {
            let left = keys.left(classes, state);
            match left.map(|n| n.unwrap_or(u64::MAX)).max() {
                None | Some(0) => Follows::Nothing,
                Some(n) if n <= MANY_NAMES as u64 => Follows::Little,
                Some(_) => Follows::Much,
            }
        };
        if state == DEAD {
            return None;
        }
        self.free_from(&keys.dfa, (keys.loops, state), classes, follows)
    }

    /// Returns the text that may come behind a state, if names of these classes may come.
    fn free_from(
        &self,
        dfa: &CharDfa,
        (base, state): (u32, u32),
        classes: u64,
        follows: impl Fn(u32) -> Follows,
    ) -> Option<FreeText> {
        let at = base + state;
        let mut cell = self.free.get(at as usize)?;
        for other in 0..MAX_OTHERS {
            let free = cell.get_or_init(|| {
                Box::new(FreeClass {
                    classes,
                    other: OnceLock::new(),
                    free: dfa.free_text(state, JSON_TEXT, &follows),
                })
            });
            if free.classes == classes {
                let (chars, behind, ends) = match free.free.as_ref()? {
                    Free::AmongAny { chars, .. } => (*chars, Behind::AnyText, false),
                    Free::Alone { chars, ends, .. } => (*chars, Behind::ItsClass, *ends),
                };
                return (at < OTHER).then_some(FreeText {
                    class: ClassId(FREE + other * OTHER + at),
                    chars,
                    behind,
                    ends,
                });
            }
            cell = &free.other;
        }
        None
    }

    /// The code points of a class: inclusive ranges, ascending.
    pub(crate) fn ranges(&self, class: ClassId) -> &[(u32, u32)] {
        match class.0.checked_sub(1) {
            None => JSON_TEXT,
            Some(_) if class == DIGITS => &[(0x30, 0x39)],
            Some(_) if class.0 >= FREE => {
                let (other, at) = ((class.0 - FREE) / OTHER, (class.0 - FREE) % OTHER);
                let mut cell = self.free.get(at as usize);
                for _ in 0..other {
                    cell = cell.and_then(OnceLock::get).map(|free| &free.other);
                }
                let free = cell.and_then(OnceLock::get);
                match free.and_then(|free| free.free.as_ref()) {
                    Some(Free::AmongAny { class, .. } | Free::Alone { class, .. }) => class,
                    None => &[],
                }
            }
            Some(at) => self
                .classes
                .get(at as usize)
                .and_then(OnceLock::get)
                .map_or(&[], |c| c),
        }
    }
}
