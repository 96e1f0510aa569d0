//! Subtrees that a walk need not step through, because their text is free anyway. For example,
//! inside of a string without limits all tokens below `ab` may come if they have only letters.

use std::ops::Range;

use crate::tokens::{AllBelow, Child, Kinds, Siblings};
use crate::{Behind, ByteSet, FreeText, TextBounds};

/// Text that is free at a node of a walk: subtrees below it need not be stepped through,
/// as all their tokens may come, if all their characters are of these kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Free {
    kinds: Kinds,
    from: From,
    /// Tokens with more characters than this have to be stepped through.
    longest: usize,
    /// True if longer tokens of these kinds may not come.
    ends: bool,
    /// True if somebody else sees to them.
    apart: bool,
    /// True if all characters were of these kinds so far.
    of_class: bool,
    /// The treatment of subtrees as long as they were.
    pass: Pass,
    dead: Dead,
}

/// Texts that cannot come.
#[derive(Clone, Copy, Debug)]
struct Dead {
    /// Characters of these kinds.
    kinds: Kinds,
    /// The end of the text, which is of this kind, before so many characters.
    end: Kinds,
    least: usize,
}

/// No text is dead: it is the start of walks, because only a reader knows of dead text.
const NOTHING_DEAD: Dead = Dead {
    kinds: Kinds::NONE,
    end: Kinds::NONE,
    least: 0,
};

/// Behind what such a subtree may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// Text that leads back to the cursor of the beginning.
    Start,
    /// Any text.
    AnyText,
    /// Text of these kinds of characters.
    ItsClass,
}

/// The treatment of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// To walk through it.
    Read,
    /// Nothing: what may come of it is known.
    LeaveOut,
    /// All its tokens may come.
    Take,
}

impl Free {
    /// At the beginning of a walk: text of kinds that lead back there. Tokens of these kinds
    /// alone are known to come.
    pub(crate) fn in_loop(kinds: Kinds) -> Free {
        Free {
            kinds,
            from: From::Start,
            longest: usize::MAX,
            ends: false,
            apart: false,
            of_class: true,
            pass: Pass::LeaveOut,
            dead: NOTHING_DEAD,
        }
    }

    /// At the beginning of a walk: what an automaton says of it. Tokens of these kinds
    /// alone are known to come.
    pub(crate) fn at_start(kinds: Kinds, free: FreeText) -> Free {
        Free {
            kinds,
            from: match free.behind {
                Behind::AnyText => From::AnyText,
                Behind::ItsClass => From::ItsClass,
            },
            longest: free.chars,
            ends: free.ends,
            apart: false,
            of_class: true,
            pass: Pass::LeaveOut,
            dead: NOTHING_DEAD,
        }
    }

    /// At a node behind so many characters.
    pub(crate) fn on_the_way(kinds: Kinds, free: FreeText, before: usize) -> Free {
        Free {
            longest: free.chars.saturating_add(before),
            pass: Pass::Take,
            ..Free::at_start(kinds, free)
        }
    }

    /// The same, where tokens of these kinds that are too long are seen to elsewhere.
    pub(crate) fn with_long_apart(self) -> Free {
        Free {
            apart: true,
            ..self
        }
    }

    /// The same, where that is the text of a reader, which begins there and ends with a
    /// character of a kind.
    pub(crate) fn read_by(self, bounds: TextBounds<'_>, end: Kinds) -> Free {
        let dead = Dead {
            kinds: Kinds::without(bounds.dead).less(end),
            end,
            least: bounds.least_chars,
        };
        Free { dead, ..self }
    }

    pub(crate) fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// Returns the free text at a place where this was free before, and now `more` is: `more` if it
    /// is of more kinds of characters, or if it knows of tokens that are too long for this one.
    pub(crate) fn met_with(self, more: Free, longest: usize) -> Free {
        let count = |free: &Free| free.kinds.uncut().count();
        let is_known = self.ends || (self.apart && self.of_class);
        let is_longer = more.ends && !is_known && longest > self.longest;
        let is_as_large = count(&more) == count(&self);
        if count(&more) > count(&self) || (is_longer && is_as_large && !self.of_class) {
            return more;
        }
        match is_longer && more.kinds == self.kinds {
            true if more.longest > self.longest => more,
            // The knowledge about shorter tokens stays.
            true => Free {
                longest: more.longest,
                ends: true,
                ..self
            },
            false => self,
        }
    }

    /// Tokens with more characters than this have to be stepped through.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Tells whether it is known what becomes of longer ones.
    pub(crate) fn ends(&self) -> bool {
        self.ends
    }

    /// In other words, what text is known to come where a walk begins. See
    /// [`at_start`](Free::at_start).
    pub(crate) fn key(&self) -> [u32; 6] {
        let [a, b, c, d] = self.kinds.words();
        let longest = u32::try_from(self.longest).unwrap_or(u32::MAX);
        let from = self.from as u32 | u32::from(self.ends) << 2;
        [a, b, c, d, longest, from]
    }

    /// Tells whether all tokens at a node and below it are known to come, where all bytes before
    /// are of the class.
    pub(crate) fn has_all(&self, child: &Child) -> bool {
        usize::from(child.longest) <= self.longest && child.kinds.are_within(self.kinds)
    }

    /// The same behind one more byte, that of a node, if all bytes are of the class.
    pub(crate) fn in_class(self, byte: u8, node: (&AllBelow, u32)) -> Option<Free> {
        self.behind(byte, &ByteSet::NONE, node)
            .filter(|free| free.of_class)
    }

    /// Returns the free text behind one more byte, that of a node; `plain` are those of plain text.
    #[inline]
    pub(crate) fn behind(
        self,
        byte: u8,
        plain: &ByteSet,
        (below, node): (&AllBelow, u32),
    ) -> Option<Free> {
        let is_of_class = || match byte.is_ascii() {
            true => self.kinds.have(byte),
            false => below.leads_within(node as usize, self.kinds),
        };
        if self.of_class && is_of_class() {
            return Some(self);
        }
        let may_be = self.from != From::ItsClass && plain.has(byte);
        may_be.then_some(Free {
            of_class: false,
            ..self
        })
    }

    /// Tells whether children of the node may be free. `is_back` is as in [`Free::among`].
    #[inline]
    pub(crate) fn applies(self, is_back: impl FnOnce() -> bool) -> bool {
        self.of_class || self.from != From::Start || is_back()
    }

    /// The children of a node that are free, where this text is. `is_back` says whether
    /// that leads back to where the walk began.
    #[inline]
    pub(crate) fn among(self, is_back: impl FnOnce() -> bool) -> FreeChildren {
        let longest = match self.from {
            From::Start => is_back().then_some(self.longest),
            From::AnyText | From::ItsClass => Some(self.longest),
        };
        let pass = if self.of_class { self.pass } else { Pass::Take };
        // Tokens that cannot come are left out with those that are known.
        let dead = match pass {
            Pass::LeaveOut => self.dead,
            Pass::Take | Pass::Read => NOTHING_DEAD,
        };
        let kinds = self.kinds.and(dead.kinds);
        // The beginning of a character may become one of another class, which goes on.
        let of_any_length = match self.of_class {
            true if self.apart => kinds,
            true if self.ends => self.kinds.uncut().and(dead.kinds),
            _ => Kinds::NONE,
        };
        FreeChildren {
            kinds,
            of_any_length,
            unended: (
                kinds.and(dead.end),
                longest.map_or(0, |longest| longest.min(dead.least)),
            ),
            longest: longest.unwrap_or(0),
            pass: longest.map_or(Pass::Read, |_| pass),
            taken: self.longest,
        }
    }
}

/// Which children of a node are free.
#[derive(Clone, Copy)]
pub(crate) struct FreeChildren {
    /// The children of these kinds with no longer tokens below them than `longest` are free.
    kinds: Kinds,
    longest: usize,
    /// The children of these kinds are free, however long their tokens are.
    of_any_length: Kinds,
    /// As `kinds` and `longest`.
    unended: (Kinds, usize),
    /// The treatment of the free children.
    pass: Pass,
    /// Tokens with more characters may not come.
    taken: usize,
}

impl FreeChildren {
    /// None.
    pub(crate) const NONE: Self = FreeChildren {
        kinds: Kinds::NONE,
        longest: 0,
        of_any_length: Kinds::NONE,
        unended: (Kinds::NONE, 0),
        pass: Pass::Read,
        taken: usize::MAX,
    };

    /// Returns the most characters that tokens of subtrees that are taken may have.
    pub(crate) fn longest_taken(&self) -> usize {
        self.taken
    }

    /// The first of some children that is not left out, and what to do with it. `lives`
    /// says whether a byte can lead on.
    #[inline]
    pub(crate) fn first(
        &self,
        children: Range<usize>,
        siblings: Siblings<'_>,
        lives: impl Fn(u8) -> bool,
    ) -> Option<(usize, Pass)> {
        let from = children.start;
        let bytes = &siblings.bytes()[children.clone()];
        if self.pass == Pass::Read {
            let at = bytes.iter().position(|byte| lives(*byte))?;
            return Some((from + at, Pass::Read));
        }
        let all = &siblings.all()[children];
        for ((&byte, child), number) in bytes.iter().zip(all).zip(from..) {
            let (kinds, longest) = (child.kinds, usize::from(child.longest));
            // Most children of large levels are of the kinds, and short.
            let is_free = (longest <= self.longest && kinds.are_within(self.kinds))
                || kinds.are_within(self.of_any_length)
                || (longest <= self.unended.1 && kinds.are_within(self.unended.0));
            if is_free && self.pass == Pass::LeaveOut {
                continue;
            }
            if lives(byte) {
                return Some((number, if is_free { Pass::Take } else { Pass::Read }));
            }
        }
        None
    }
}
