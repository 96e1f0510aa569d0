//! The work that a completion may still do.
//!
//! For example, a string of a million characters that must come is refused at once where a thousand bytes
//! may be written.

/// A completion ends unfinished when it has compared more bytes of items that
/// must differ than this, in all its searches and detours: some ten seconds.
const MAX_COMPARED: u64 = 1 << 28;

/// A completion ends unfinished when it has searched more states than this, about half a
/// second. A name that is looked through counts as a state, and so does each step by which
/// a list of what must differ grows.
pub(super) const MAX_SEARCHED: u64 = 100_000;

/// The rest of that work.
#[derive(Debug)]
pub(super) struct Allowance {
    /// Bytes of items that may be compared with those before them.
    compare: u64,
    /// States that may be searched.
    search: u64,
    /// Bytes that may be written; 0 where that was found to be too few.
    write: usize,
}

impl Allowance {
    pub(super) fn new() -> Allowance {
        Allowance {
            compare: MAX_COMPARED,
            search: MAX_SEARCHED,
            write: usize::MAX,
        }
    }

    #[cfg(test)]
    pub(super) fn of(compare: u64, search: u64) -> Allowance {
        Allowance {
            compare,
            search,
            ..Allowance::new()
        }
    }

    #[cfg(test)]
    pub(super) fn left_to_compare(&self) -> u64 {
        self.compare
    }

    /// Counts bytes of items that are compared.
    pub(super) fn compare(&mut self, bytes: u64) {
        self.compare = self.compare.saturating_sub(bytes);
    }

    /// Counts states that are searched.
    pub(super) fn search(&mut self, states: u64) {
        self.search = self.search.saturating_sub(states);
    }

    pub(super) fn may_search(&self) -> bool {
        self.search > 0
    }

    /// Says whether nothing may be searched or compared any more.
    pub(super) fn is_spent(&self) -> bool {
        self.compare == 0 || self.search == 0
    }

    pub(super) fn set_room(&mut self, bytes: usize) {
        self.write = bytes;
    }

    /// Says whether so many characters may be written; a refusal is noted, because nothing shorter comes to
    /// its end.
    pub(super) fn fits(&mut self, chars: u64) -> bool {
        let fits = chars <= self.write as u64;
        if !fits {
            self.write = 0;
        }
        fits
    }

    pub(super) fn is_too_small(&self) -> bool {
        self.write == 0
    }
}
