//! The classes of characters that hints speak of, found when they are asked for: those of which
//! text is read in a loop, and those that may come whatever they say.
//!
//! For example, inside of a string with `"pattern": "^[a-z]*$"` the class is that of `a` to `z`.

use std::sync::OnceLock;

use fsm_index::{Behind, ClassId, FreeText, JSON_TEXT};
use schema_normal::language::char_dfa::lengths::Lengths;
use schema_normal::language::char_dfa::{CharDfa, DEAD, Follows, TextsFrom};

use crate::automaton::machine::objects::KeyMachine;

/// The class of [`JSON_TEXT`], the first because no automaton is needed for it.
pub(crate) const ANY_TEXT: ClassId = ClassId(0);

/// Classes smaller than this are not read in a loop, because they are quicker to walk.
const LEAST_CLASS: u32 = 24;
/// The same of classes by which nothing is cut, because these need no cut.
const LEAST_FREE: u32 = 8;

/// Ranges of code points.
type Ranges = Box<[(u32, u32)]>;

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
    ranges: Ranges,
    chars: usize,
    behind: Behind,
    ends: bool,
}

/// A class that may come behind any text is not looked beyond if it has so many characters.
const MUCH_FREE: u32 = 128;

/// The number of characters that are looked ahead for text that may come whatever it is, because
/// few tokens are longer.
pub(crate) const FREE_STEPS: usize = 32;
/// The same at which they lead to the end of free text, because shorter runs are walked as fast.
const LEAST_STEPS: usize = 4;

/// So many characters are of several scripts, because the first plane of Unicode has as many.
const ANY_SCRIPT: u32 = 1 << 16;
/// Few tokens have more characters than these, because most are words or parts of words.
const MOST_TOKENS: usize = 7;

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
        self.class_of(base + state, || dfa.loop_class(state))
    }

    /// The class of characters that lead from each state of `among` to another.
    pub(crate) fn free(
        &self,
        dfa: &CharDfa,
        base: u32,
        among: impl Fn(u32) -> bool,
    ) -> Option<ClassId> {
        self.class_of(base + dfa.states() as u32, || dfa.free_class(among))
    }

    fn class_of(&self, at: u32, find: impl FnOnce() -> Vec<(u32, u32)>) -> Option<ClassId> {
        let ranges = self.classes.get(at as usize)?;
        let ranges = ranges.get_or_init(|| json_text(&find()));
        (size(ranges) >= LEAST_CLASS).then_some(ClassId(at + 1))
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
            let usable = keys.counts.iter().enumerate();
            let usable = usable.filter(|(class, _)| classes & (1 << class) != 0);
            let counts = usable.map(|(_, counts)| counts[state as usize]);
            match counts.map(|n| n.unwrap_or(u64::MAX)).max() {
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
            let free = cell.get_or_init(|| Box::new(free_class(dfa, state, classes, &follows)));
            if free.classes == classes {
                let is_large = size(&free.ranges) >= LEAST_FREE && at < OTHER;
                return is_large.then_some(FreeText {
                    class: ClassId(FREE + other * OTHER + at),
                    chars: free.chars,
                    behind: free.behind,
                    ends: free.ends,
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
                free.map_or(&[], |free| &free.ranges)
            }
            Some(at) => self
                .classes
                .get(at as usize)
                .and_then(OnceLock::get)
                .map_or(&[], |c| c),
        }
    }
}

/// Returns the class that may come behind a state, if names of these classes may come.
fn free_class(
    dfa: &CharDfa,
    state: u32,
    classes: u64,
    follows: &impl Fn(u32) -> Follows,
) -> FreeClass {
    let texts = TextsFrom::new(dfa, state);
    let limits = (LEAST_FREE, FREE_STEPS);
    let (class, chars) = texts.free_class_from(limits, follows);
    let mut free = FreeClass {
        classes,
        other: OnceLock::new(),
        ranges: json_text(&class),
        chars,
        behind: Behind::AnyText,
        ends: false,
    };
    // If other text leads elsewhere, the class alone may do, or be larger.
    let mut chars = FREE_STEPS;
    while size(&free.ranges) < MUCH_FREE && chars >= LEAST_STEPS {
        let class = json_text(&texts.free_class_alone(chars, follows));
        if size(&class) > size(&free.ranges) {
            free = FreeClass {
                ranges: class,
                chars,
                behind: Behind::ItsClass,
                ..free
            };
        }
        if size(&free.ranges) >= LEAST_FREE {
            break;
        }
        chars /= 2;
    }
    // Bytes that are counted leave fewer characters where these are of any script: of most
    // tokens there is enough.
    let is_long = free.behind == Behind::ItsClass && free.chars == FREE_STEPS;
    if is_long && size(&free.ranges) < MUCH_FREE {
        let class = json_text(&texts.free_class_alone(LEAST_STEPS, follows));
        if size(&class) >= ANY_SCRIPT {
            let chars = texts.longest_alone((&class, FREE_STEPS), follows);
            if chars >= MOST_TOKENS {
                return FreeClass {
                    ranges: class,
                    chars,
                    ..free
                };
            }
        }
    }
    // A class that may come so often and no oftener leaves nothing to be read.
    if free.behind == Behind::ItsClass || size(&free.ranges) < LEAST_FREE {
        let class = match size(&free.ranges) >= LEAST_FREE {
            true => free.ranges.to_vec(),
            false => json_text(&texts.free_class_alone(1, follows)).to_vec(),
        };
        let run = texts.run_of(&class, follows);
        let run = run.filter(|(_, most)| size(most) >= size(&class) / 2);
        if let Some((chars, class)) = run {
            free = FreeClass {
                ranges: class.into(),
                chars,
                behind: Behind::ItsClass,
                ends: true,
                ..free
            };
        }
    }
    free
}

/// Returns the part of a class that strings of JSON have as it is.
fn json_text(class: &[(u32, u32)]) -> Ranges {
    let mut out = Vec::new();
    for &(lo, hi) in class {
        for (a, b) in JSON_TEXT {
            let (from, to) = (lo.max(*a), hi.min(*b));
            if from <= to {
                out.push((from, to));
            }
        }
    }
    out.into()
}

/// Returns the number of code points of a class.
fn size(class: &[(u32, u32)]) -> u32 {
    class.iter().map(|(a, b)| b - a + 1).sum()
}
