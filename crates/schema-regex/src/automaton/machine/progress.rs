//! The progress of a thread in an open array or object.
//!
//! For example, behind `{"a":1,` one member was read, whose name was `a`.

/// A thread that reads an open array or object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    /// Its number in the machine.
    pub(crate) id: u32,
    /// In an object the witnesses that were found, as bits. In an array how many items each
    /// count has, as [`Counts`](super::counts::ItemCounts) has them.
    pub(crate) progress: u32,
}

/// The place of an object between two members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectAt<'a> {
    /// The last name: 0 for none, then one more than its number; one more than
    /// that of the last declared name for any further one.
    pub(super) last: u32,
    /// The members so far, where anybody counts.
    pub(super) count: u32,
    /// Used declared names as bits, where they are tracked.
    pub(super) used: &'a [u32],
    /// Further names so far, by class, where a class is finite.
    pub(super) extras: &'a [u64],
    /// One more declared name, and a further name of one more class, that are
    /// used on trial.
    pub(super) also: Option<u32>,
    pub(super) also_class: Option<u32>,
    /// The bit of a kind of value that was read on trial.
    pub(super) also_fact: Option<u32>,
}

impl<'a> ObjectAt<'a> {
    /// Behind a name, of which `last` tells, and so many members; `extras` are empty where no further
    /// names are counted.
    pub(crate) fn of(last: u32, count: u32, used: &'a [u32], extras: &'a [u64]) -> ObjectAt<'a> {
        ObjectAt {
            last,
            count,
            used,
            extras,
            ..ObjectAt::START
        }
    }

    /// The same behind one more member, on trial: a declared name that is tracked, or a further name of a
    /// finite class.
    pub(crate) fn with_member(
        self,
        last: u32,
        count: u32,
        also: Option<u32>,
        also_class: Option<u32>,
    ) -> ObjectAt<'a> {
        ObjectAt {
            last,
            count,
            also,
            also_class,
            ..self
        }
    }

    /// The same with the kind of a value that was read on trial.
    pub(crate) fn with_fact(self, also_fact: Option<u32>) -> ObjectAt<'a> {
        ObjectAt { also_fact, ..self }
    }
}

impl ObjectAt<'_> {
    pub(crate) const START: ObjectAt<'static> = ObjectAt {
        last: 0,
        count: 0,
        used: &[],
        extras: &[],
        also: None,
        also_class: None,
        also_fact: None,
    };

    /// Tells whether a declared name is used, where that is tracked.
    pub(super) fn has(&self, name: u32) -> bool {
        has_bit(self.used, name) || self.also == Some(name)
    }
}

/// Tells whether a number is in a set of bits.
pub(crate) fn has_bit(words: &[u32], at: u32) -> bool {
    words
        .get(at as usize / 32)
        .is_some_and(|w| w & (1 << (at % 32)) != 0)
}
