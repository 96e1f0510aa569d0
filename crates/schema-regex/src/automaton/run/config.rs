//! The position of a text: the token that is read, and the open arrays and objects around it.
//!
//! For example, behind `{"a":[1` the top is a number, above the frame of an array above that of an object.
//! Lists, texts and stacks are numbers: a scratch has them.

use std::hash::{Hash, Hasher};

use fsm_tables::packed;

use crate::automaton::machine::Machine;
use crate::automaton::machine::node::ArrayMachine;
use crate::automaton::machine::progress::{ObjectAt, Thread};
use crate::automaton::machine::white_space::NO_SPACE;
use crate::automaton::run::span::Span;
use crate::automaton::run::string_bytes::Partial;

/// Lists from this number on differ between scratches, because those below are made with each.
pub(super) const FIXED_LISTS: u32 = 3;
/// The list without items, the first because most frames have it.
pub(super) const EMPTY_LIST: u32 = 0;
/// The list `[0]`, fixed because most nodes have one goal.
pub(super) const FIRST: u32 = 1;
/// The list `[0, 0]`, fixed because most objects begin with one thread.
pub(super) const FIRST_THREAD: u32 = 2;

/// An open array or object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) node: u32,
    pub(super) is_object: bool,
    /// A list: the number and the progress of each [`Thread`], alternating.
    pub(super) threads: u32,
    /// In an object the first ordered name that may come; in an array the
    /// index of the item that is open or comes next, clamped.
    pub(super) pos: u32,
    /// Members so far, clamped, where anybody counts.
    pub(super) count: u32,
    /// A list of bits.
    pub(super) used: u32,
    /// The further names, or the items that must differ.
    pub(super) seen: u32,
    /// The number of the open member.
    pub(super) member: u32,
    /// In an array of different items: where in the text its item began; 0 in the outermost,
    /// with whose items the text begins anew; [`FORGOTTEN`] where the text of its item is not kept.
    pub(super) start: u32,
}

impl Frame {
    /// That of an object of which nothing was read.
    pub(super) fn first(node: u32, threads: u32) -> Frame {
        Frame {
            node,
            is_object: true,
            threads,
            pos: 0,
            count: 0,
            used: EMPTY_LIST,
            seen: 0,
            member: 0,
            start: 0,
        }
    }

    /// The machine of an array whose items must differ.
    pub(super) fn unique_array<'a>(&self, machine: &'a Machine) -> Option<&'a ArrayMachine> {
        match self.is_object {
            true => None,
            false => machine.array(self.node).filter(|m| m.unique),
        }
    }

    pub(super) fn is_unique(&self, machine: &Machine) -> bool {
        self.unique_array(machine).is_some()
    }

    /// Returns the object's position between two members, with the lists that the frame names; `extras` are
    /// empty where no further names are counted.
    pub(super) fn object_at<'a>(&self, used: &'a [u32], extras: &'a [u64]) -> ObjectAt<'a> {
        ObjectAt::of(self.pos, self.count, used, extras)
    }
}

/// The threads of a frame, from their list.
pub(super) fn threads_in(list: &[u32]) -> impl Iterator<Item = Thread> {
    let (pairs, _) = list.as_chunks();
    pairs.iter().map(|&[id, progress]| Thread { id, progress })
}

/// Tells whether a goal is among some, which are sorted.
pub(super) fn has_goal(goals: &[u32], goal: u32) -> bool {
    debug_assert!(goals.is_sorted(), "{goals:?}");
    match goals.len() <= 8 {
        true => goals.contains(&goal),
        false => goals.binary_search(&goal).is_ok(),
    }
}

/// The token that is read, above the open arrays and objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Top {
    /// Before a value; `set` lists the goals that count.
    Value {
        node: u32,
        set: u32,
        space: u32,
    },
    /// Inside `null`, `false` or `true`.
    Unit {
        word: u8,
        at: u8,
        set: u32,
    },
    Number {
        node: u32,
        set: u32,
        state: u32,
    },
    String {
        node: u32,
        set: u32,
        text: Str,
    },
    Key(Key),
    /// Between the tokens of the innermost array or object, behind some white space.
    Gap(Gap, u32),
    /// After the value.
    End,
}

/// The texts of `null`, `false` and `true`, in this order because `Node::units` has it.
pub(super) const UNITS: [&[u8]; 3] = [b"null", b"false", b"true"];

/// The position behind a byte, and its stack; `None` if the byte may not come.
pub(super) type Next = Option<(Top, u32)>;

impl Top {
    /// A place between two tokens of which no white space was read.
    pub(super) fn between(machine: &Machine, gap: Gap) -> Top {
        let space = match gap {
            Gap::BeforeKey | Gap::BeforeFurther => machine.space().after_separator,
            _ => machine.space().elsewhere,
        };
        Top::Gap(gap, space)
    }

    /// The place between two tokens, if it is one.
    pub(super) fn gap(&self) -> Option<Gap> {
        match *self {
            Top::Gap(gap, _) => Some(gap),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Gap {
    ObjectStart,
    BeforeKey,
    /// As `BeforeKey`, for a further name that was not used yet: where walks
    /// compare with.
    BeforeFurther,
    Colon,
    AfterMember,
    ArrayStart,
    AfterItem,
}

impl Gap {
    /// Tells whether a name may come next, a comma between aside.
    pub(super) fn is_before_a_name(self) -> bool {
        match self {
            Gap::ObjectStart | Gap::BeforeKey | Gap::BeforeFurther | Gap::AfterMember => true,
            Gap::Colon | Gap::ArrayStart | Gap::AfterItem => false,
        }
    }
}

/// The inside of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Str {
    /// The state of the one automaton, or a list of states.
    pub(super) state: u32,
    pub(super) words: Span,
    pub(super) length: u32,
    pub(super) partial: Partial,
}

/// The inside of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) state: u32,
    /// Among the declared names.
    pub(super) names: Span,
    /// Among the further names that were used.
    pub(super) used: Span,
    pub(super) partial: Partial,
    /// The name so far: a text, [`NAMED`], or [`UNKNOWN`] where it began before the
    /// walk.
    pub(super) text: u32,
}

impl Key {
    /// Before the first character of one of some names.
    pub(super) fn first(names: Span, used: Span) -> Key {
        Key {
            state: 0,
            names,
            used,
            partial: Partial::None,
            text: EMPTY_TEXT,
        }
    }

    /// Tells whether it can only be a further name that was not used yet: then nothing but the
    /// classes of further names has to be looked at to read on.
    pub(super) fn is_further(&self) -> bool {
        self.names.is_none() && self.used.is_none()
    }
}

/// The text of a name that began before the walk, the first because no text has it.
pub(super) const UNKNOWN: u32 = 0;
/// A name that is, as far as it was read, the common beginning of the declared names of its span: a
/// number that no text has, because nothing has to remember it.
pub(super) const NAMED: u32 = u32::MAX;
/// No open item that must differ, the first because it is no text.
pub(super) const NO_TEXT: u32 = 0;
/// The text without bytes, fixed because [`Key::first`] begins with it in any scratch.
pub(super) const EMPTY_TEXT: u32 = 1;
/// An item that differs from those before it, or whose text is not compared for another reason (see
/// `different`): no text has the number, because a scratch holds fewer.
pub(super) const UNKNOWN_ITEM: u32 = u32::MAX;

/// That the text of the item of an array is not kept: see [`Frame::start`]. No text is as long.
pub(super) const FORGOTTEN: u32 = u32::MAX;

/// Tells whether the text of an item is kept, to be compared with those before it.
pub(super) fn is_kept(item: u32) -> bool {
    item != NO_TEXT && item != UNKNOWN_ITEM
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) top: Top,
    pub(super) stack: u32,
    /// The text since the outermost item that must differ from others began;
    /// [`NO_TEXT`] outside of such.
    pub(super) item: u32,
}

impl Config {
    /// Before the whole value.
    pub(super) fn first() -> Config {
        Config {
            top: Top::Value {
                node: 0,
                set: FIRST,
                space: NO_SPACE,
            },
            stack: 0,
            item: NO_TEXT,
        }
    }
}

/// Every step looks one of these up, so that they are hashed two fields at a
/// time.
impl Hash for Config {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.top.hash(hasher);
        hasher.write_u64(packed(self.stack, self.item));
    }
}

impl Hash for Frame {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let node = self.node << 1 | u32::from(self.is_object);
        hasher.write_u64(packed(node, self.threads));
        hasher.write_u64(packed(self.pos, self.count));
        hasher.write_u64(packed(self.used, self.seen));
        hasher.write_u64(packed(self.member, self.start));
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(packed(self.state, self.length));
        self.words.hash(hasher);
        if self.partial != Partial::None {
            self.partial.hash(hasher);
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(packed(self.state, self.text));
        self.names.hash(hasher);
        self.used.hash(hasher);
        if self.partial != Partial::None {
            self.partial.hash(hasher);
        }
    }
}
