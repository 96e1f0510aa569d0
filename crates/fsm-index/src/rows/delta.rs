//! Rows that are told by the part that many rows share and by the tokens in
//! which they differ from it.
//!
//! The part has a bit for each token of the vocabulary, the difference a word
//! for some tens of tokens: a row that is found in this way costs what it
//! visits, and no mask of its own.
//!
//! For example, the row inside of a string of an array's item is the part of all strings and the
//! tokens that begin with `"]`.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::TokenTable;
use crate::bits::Bits;
use crate::rows::Part;
use crate::rows::end_tokens::{EndTokens, finish};

/// Changes to the bits of tokens, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Changes(Vec<u32>);

impl Bits for Changes {
    #[inline]
    fn allow(&mut self, token: u32) {
        self.0.push(token << 1 | 1);
    }

    #[inline]
    fn forbid(&mut self, token: u32) {
        self.0.push(token << 1);
    }
}

impl Changes {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The tokens of which something is said, and whether they may come.
    fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, bool)> {
        self.0.iter().map(|change| (change >> 1, change & 1 != 0))
    }

    /// The tokens, if all of them may come.
    pub(crate) fn allowed(&self) -> Option<impl Iterator<Item = u32>> {
        let all = self.0.iter().all(|change| change & 1 != 0);
        all.then(|| self.0.iter().map(|change| change >> 1))
    }

    /// Does to bits what was noted.
    pub(crate) fn apply(&self, bits: &mut [u32]) {
        for (token, allowed) in self.iter() {
            match allowed {
                true => bits.allow(token),
                false => bits.forbid(token),
            }
        }
    }
}

/// A row that differs from a part in some tokens.
#[derive(Clone, Debug)]
pub(crate) struct RowDelta {
    part: Arc<Part>,
    changes: Changes,
    end_tokens: EndTokens,
}

impl RowDelta {
    /// The row of what `part` says for sure and of `changes`.
    pub(crate) fn new(part: Arc<Part>, changes: &Changes, end_tokens: EndTokens) -> RowDelta {
        RowDelta {
            part,
            changes: changes.clone(),
            end_tokens,
        }
    }

    pub(crate) fn part(&self) -> &Arc<Part> {
        &self.part
    }

    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Tells whether a token may come: O(differences). It has bytes that no token before it has,
    /// and ends no text.
    pub(crate) fn allows(&self, token: u32) -> bool {
        let mut changes = self.changes.iter().filter(|change| change.0 == token);
        let last = changes.next_back();
        last.map_or_else(|| self.part.allows(token), |change| change.1)
    }

    /// Writes the row.
    pub(crate) fn lay_out(&self, vocabulary: &TokenTable, words: &mut [u32]) {
        self.part.lay_out(words);
        self.apply(vocabulary, words);
    }

    /// Writes the row over that of `before`, in which single tokens may have
    /// been changed, if both differ from one part: O(differences).
    pub(crate) fn lay_over(
        &self,
        before: &RowDelta,
        singles: &[u32],
        vocabulary: &TokenTable,
        words: &mut [u32],
    ) -> bool {
        if !Arc::ptr_eq(&self.part, &before.part) {
            return false;
        }
        let changed = before.changes.iter().map(|change| change.0);
        for token in changed.chain(singles.iter().copied()) {
            self.part.restore(token, words);
        }
        self.apply(vocabulary, words);
        true
    }

    fn apply(&self, vocabulary: &TokenTable, words: &mut [u32]) {
        self.changes.apply(words);
        finish(self.end_tokens, vocabulary, words);
    }

    /// Bytes of memory, but for the part, which others have too.
    pub(crate) fn memory(&self) -> usize {
        self.changes.len() * 4
    }
}

/// Rows are equal if it is plain that they are: parts are compared by their
/// place.
impl PartialEq for RowDelta {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.part, &other.part)
            && self.end_tokens == other.end_tokens
            && self.changes == other.changes
    }
}

impl Eq for RowDelta {}

impl Hash for RowDelta {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        Arc::as_ptr(&self.part).hash(hasher);
        self.end_tokens.hash(hasher);
        self.changes.hash(hasher);
    }
}
