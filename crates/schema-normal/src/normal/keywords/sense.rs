//! A keyword or its complement, and the bounds that both of them put on counts and lengths.
//!
//! For example, the complement of "at most 3" is "at least 4".

use crate::normal::partial::{Flow, flow};

/// Says whether a keyword is applied as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::normal) enum Sense {
    Itself,
    Complement,
}

impl Sense {
    pub(super) fn opposite(self) -> Sense {
        match self {
            Sense::Itself => Sense::Complement,
            Sense::Complement => Sense::Itself,
        }
    }

    /// Returns the verdict on a value of which the keyword says nothing: it satisfies the keyword,
    /// and not its complement.
    pub(super) fn of_others(self) -> Flow {
        flow(self == Sense::Itself)
    }
}

/// At most so many, or more: that is the complement of one more at least.
pub(super) fn at_most(n: u64, sense: Sense, at_least: impl FnOnce(u64, Sense) -> Flow) -> Flow {
    match n.checked_add(1) {
        Some(n) => at_least(n, sense.opposite()),
        None => sense.of_others(),
    }
}

/// Bounds a count or a length: at least `n`, or less.
pub(super) fn bound_count(min: &mut u64, max: &mut Option<u64>, n: u64, sense: Sense) -> bool {
    if sense == Sense::Itself {
        *min = (*min).max(n);
    } else if n == 0 {
        return false;
    } else {
        *max = Some(max.map_or(n - 1, |m| m.min(n - 1)));
    }
    max.is_none_or(|m| m >= *min)
}
