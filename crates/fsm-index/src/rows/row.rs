//! Finished rows, in the smallest of three forms.
//!
//! A row of few tokens is kept as runs in the order of the tokens' bytes:
//! there the 1,110 tokens of one to three digits are one run. Rows that have a
//! part in common with many others are kept as the difference from it. All
//! others are masks, to be lent as they are.
//!
//! For example, a row with 3 tokens is a few bytes, one with 100,000 a mask of a bit each.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, PoisonError};
use std::{collections::HashMap, collections::hash_map::Entry};

use foldhash::quality::RandomState;

use super::RowDelta;
use super::end_tokens::{EndTokens, finish};
use crate::bits::Bits;
use crate::rows::Part;
use crate::{TokenId, TokenMask, TokenTable};

/// Which tokens may come next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Row {
    /// One bit a token.
    Dense(TokenMask),
    /// Runs of tokens: see [`RowView::Packed`].
    Packed(Box<[u8]>),
    /// A part that others share, and the difference.
    Delta(RowDelta),
}

/// A row that is lent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowView<'a> {
    /// One bit a token.
    Dense(&'a TokenMask),
    /// Numbers of 7 bits a byte, the lowest first, all but the last byte of a
    /// number with its high bit set: how many runs there are; for each how many
    /// places of the vocabulary's order it leaves out and how many it takes,
    /// less one; then the ends and the tokens with the bytes of another one,
    /// each as its distance from the one before.
    Packed(&'a [u8]),
    /// A part that others share, and the difference.
    Delta(&'a RowDelta),
}

impl Row {
    /// A row of tokens in any order, none with the bytes of another one, and the
    /// end tokens if they are allowed.
    pub(crate) fn from_tokens(
        tokens: &[u32],
        end_tokens: EndTokens,
        vocabulary: &TokenTable,
    ) -> Row {
        let ranks = vocabulary.ranks();
        let mut places: Vec<u32> = tokens.iter().map(|&t| ranks[t as usize]).collect();
        if !places.is_sorted() {
            places.sort_unstable();
        }
        places.dedup();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for place in places {
            match runs.last_mut() {
                Some(run) if run.1 == place => run.1 += 1,
                _ => runs.push((place, place + 1)),
            }
        }
        let mut others: Vec<u32> = match end_tokens {
            EndTokens::Allowed => vocabulary.ends().iter().map(|t| t.get()).collect(),
            EndTokens::Refused => Vec::new(),
        };
        for &(first, other) in vocabulary.trie().duplicates() {
            let place = ranks[first as usize];
            let run = runs.partition_point(|run| run.1 <= place);
            if runs.get(run).is_some_and(|run| run.0 <= place) {
                others.push(other);
            }
        }
        others.sort_unstable();
        let mut packed = Vec::new();
        put(&mut packed, runs.len() as u32);
        let mut at = 0;
        for (from, to) in runs {
            put(&mut packed, from - at);
            put(&mut packed, to - from - 1);
            at = to;
        }
        at = 0;
        for token in others {
            put(&mut packed, token - at);
            at = token;
        }
        Row::Packed(packed.into())
    }

    /// A row of the bits in `words`, in which duplicates and ends do not count,
    /// and the end tokens if they are allowed. With at most `sparse` tokens it is
    /// packed.
    pub(crate) fn from_words(
        words: &[u32],
        end_tokens: EndTokens,
        sparse: usize,
        vocabulary: &TokenTable,
    ) -> Row {
        let mut mask = TokenMask::from_words(words.into(), vocabulary.width());
        finish(end_tokens, vocabulary, mask.words_mut());
        if mask.has_more_than(sparse) {
            return Row::Dense(mask);
        }
        let ranks = vocabulary.ranks();
        let tokens = mask.iter().map(|token| token.get());
        let tokens: Vec<u32> = tokens
            .filter(|&token| ranks[token as usize] != u32::MAX)
            .collect();
        Row::from_tokens(&tokens, end_tokens, vocabulary)
    }

    /// Writes the bits of the row.
    pub(crate) fn lay_out(&self, vocabulary: &TokenTable, words: &mut [u32]) {
        match self {
            Row::Dense(mask) => words.copy_from_slice(mask.words()),
            Row::Packed(packed) => {
                words.fill(0);
                RowView::for_each(packed, vocabulary, |token| words.allow(token));
            }
            Row::Delta(changed) => changed.lay_out(vocabulary, words),
        }
    }

    pub(crate) fn view(&self) -> RowView<'_> {
        match self {
            Row::Dense(mask) => RowView::Dense(mask),
            Row::Packed(packed) => RowView::Packed(packed),
            Row::Delta(changed) => RowView::Delta(changed),
        }
    }

    /// The part from which it differs.
    pub(crate) fn part(&self) -> Option<&Part> {
        match self {
            Row::Delta(changed) => Some(changed.part()),
            Row::Dense(_) | Row::Packed(_) => None,
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Row>()
            + match self {
                Row::Dense(mask) => mask.words().len() * 4,
                Row::Packed(packed) => packed.len(),
                Row::Delta(changed) => changed.memory(),
            }
    }
}

impl RowView<'_> {
    /// Tells whether one of some tokens may come: O(tokens of the row) at most. Each has bytes that
    /// no token before it has, and ends no text.
    pub(crate) fn meets(self, tokens: &[u32], vocabulary: &TokenTable) -> bool {
        let mut any = false;
        match self {
            RowView::Dense(mask) => any = tokens.iter().any(|t| mask.allows(TokenId::new(*t))),
            RowView::Delta(changed) => any = tokens.iter().any(|t| changed.allows(*t)),
            RowView::Packed(packed) => {
                RowView::for_each(packed, vocabulary, |token| any |= tokens.contains(&token));
            }
        }
        any
    }

    /// Calls `each` with every token of a packed row, in no order.
    pub(crate) fn for_each(packed: &[u8], vocabulary: &TokenTable, mut each: impl FnMut(u32)) {
        let mut numbers = Numbers(packed);
        let order = vocabulary.order();
        let mut at = 0;
        for _ in 0..numbers.next().unwrap_or(0) {
            let (Some(skip), Some(more)) = (numbers.next(), numbers.next()) else {
                return;
            };
            let from = at + skip as usize;
            at = from + more as usize + 1;
            for &token in order.get(from..at).unwrap_or_default() {
                each(token);
            }
        }
        let mut token = 0;
        for distance in numbers {
            token += distance;
            each(token);
        }
    }

    /// Returns the content of a packed row: the runs of places in the vocabulary's order, each with
    /// its end, and the other tokens.
    pub(crate) fn unpack(packed: &[u8]) -> (Vec<(u32, u32)>, Vec<u32>) {
        let mut numbers = Numbers(packed);
        let mut runs = Vec::new();
        let mut at = 0;
        for _ in 0..numbers.next().unwrap_or(0) {
            let (Some(skip), Some(more)) = (numbers.next(), numbers.next()) else {
                break;
            };
            let from = at + skip;
            at = from + more + 1;
            runs.push((from, at));
        }
        let mut token = 0;
        let others = numbers.map(|distance| {
            token += distance;
            token
        });
        (runs, others.collect())
    }

    /// Tells whether a packed row from a file speaks only of places and tokens that there are.
    pub(crate) fn check(packed: &[u8], vocabulary: &TokenTable) -> bool {
        let mut numbers = Numbers(packed);
        let mut at = 0u64;
        let Some(runs) = numbers.next() else {
            return false;
        };
        for _ in 0..runs {
            let (Some(skip), Some(more)) = (numbers.next(), numbers.next()) else {
                return false;
            };
            at += u64::from(skip) + u64::from(more) + 1;
        }
        let mut token = 0u64;
        for distance in &mut numbers {
            token += u64::from(distance);
        }
        numbers.0.is_empty()
            && at <= vocabulary.order().len() as u64
            && token < vocabulary.width() as u64
    }
}

fn put(packed: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        packed.push(number as u8 | 0x80);
        number >>= 7;
    }
    packed.push(number as u8);
}

/// The numbers of a packed row.
struct Numbers<'a>(&'a [u8]);

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let mut number = 0u32;
        for (i, &byte) in self.0.iter().enumerate().take(5) {
            number |= u32::from(byte & 0x7F) << (7 * i);
            if byte < 0x80 {
                self.0 = &self.0[i + 1..];
                return Some(number);
            }
        }
        None
    }
}

/// The number of parts that a pool has, each behind a lock of its own, so that threads seldom wait
/// for each other.
const SHARDS: usize = 16;

/// Keeps one copy of equal rows.
#[derive(Debug, Default)]
pub(crate) struct RowPool {
    hasher: RandomState,
    shards: [Mutex<HashMap<u64, Vec<Arc<Row>>>>; SHARDS],
}

impl RowPool {
    /// The pooled row equal to `row`, and how many bytes the pool has grown by.
    pub(crate) fn intern(&self, row: impl Into<Arc<Row>> + Borrow<Row>) -> (Arc<Row>, usize) {
        let hash = self.hasher.hash_one(row.borrow());
        // A panic elsewhere leaves the pool whole: it changes by one insert.
        let shard = &self.shards[hash as usize % SHARDS];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let same = match shard.entry(hash) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Vec::new()),
        };
        if let Some(known) = same.iter().find(|known| ***known == *row.borrow()) {
            return (known.clone(), 0);
        }
        let row = row.into();
        let bytes = row.memory() + 64;
        same.push(row.clone());
        (row, bytes)
    }

    /// Returns the number of rows.
    pub(crate) fn count(&self) -> usize {
        let shards = self.shards.iter();
        shards
            .map(|shard| {
                let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
                shard.values().map(Vec::len).sum::<usize>()
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenId;
    use crate::Vocabulary;

    #[test]
    fn a_packed_row_gives_its_tokens_back() {
        let words = ["b", "a", "c", "a", "ab", "\u{e9}"];
        let tokens = words
            .iter()
            .zip((0..).step_by(300))
            .map(|(w, id)| (w, TokenId::new(id)));
        let vocabulary = Vocabulary::new(tokens, [TokenId::new(7), TokenId::new(2000)]).unwrap();
        for (tokens, end_tokens, all) in [
            (
                vec![0, 300, 1200],
                EndTokens::Allowed,
                vec![0, 7, 300, 900, 1200, 2000],
            ),
            (vec![1500, 600], EndTokens::Refused, vec![600, 1500]),
            (vec![], EndTokens::Refused, vec![]),
            (vec![], EndTokens::Allowed, vec![7, 2000]),
        ] {
            let row = Row::from_tokens(&tokens, end_tokens, &vocabulary);
            let Row::Packed(packed) = &row else { panic!() };
            assert!(RowView::check(packed, &vocabulary));
            let mut found = Vec::new();
            RowView::for_each(packed, &vocabulary, |token| found.push(token));
            found.sort_unstable();
            assert_eq!(found, all);

            let mut mask = TokenMask::none(vocabulary.width());
            tokens.iter().for_each(|&t| mask.allow(TokenId::new(t)));
            let again = |sparse| Row::from_words(mask.words(), end_tokens, sparse, &vocabulary);
            assert_eq!(again(100), row);
            let Row::Dense(mask) = again(0) else {
                assert!(all.is_empty());
                continue;
            };
            assert_eq!(mask.iter().map(TokenId::get).collect::<Vec<_>>(), all);
        }
        assert!(!RowView::check(&[1, 0, 9], &vocabulary));
        assert!(!RowView::check(&[1, 0], &vocabulary));
        assert!(!RowView::check(&[0, 0xFF], &vocabulary));
        assert!(!RowView::check(&[], &vocabulary));
    }
}
