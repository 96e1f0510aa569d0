//! A vocabulary cut by one class of characters.
//!
//! Inside a string of JSON nearly every token is text that keeps the automaton
//! where it is. So each token that begins with a character of the class is cut
//! into its *plain part*, the longest prefix of characters of the class, and
//! its *rest*. Plain tokens are counted once for all states that loop over the
//! class, the rests that may come are found by a walk over a small trie of the
//! distinct ones, and the tokens that do not begin with the class at all by a
//! walk over a trie of their own, or over the vocabulary's that jumps over all others.
//!
//! For example, for the class of all characters but `"` the token `ab"` has the plain part `ab` and
//! the rest `"`.

use crate::bits::Bits;
use std::collections::HashMap;

use super::trie::{Area, Trie};
use crate::TokenId;

/// True if a mask may be put together from a vocabulary cut by a class of characters, instead of by
/// a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum TextRuns {
    /// If walks for a class have cost as much as the cut does. Default.
    #[default]
    Auto,
    /// Wherever it can be.
    Always,
    /// Never: every mask is a walk.
    Never,
}

/// Inclusive ranges of code points, ascending.
pub(crate) type CharRanges = Box<[(u32, u32)]>;

/// The most characters up to which the masks of plain tokens are kept ready: each mask is as wide
/// as the vocabulary, and longer tokens are put in one by one, because they are few.
const READY: usize = 12;

/// The tokens that do not begin with a character of the class.
#[derive(Debug)]
enum Others {
    /// If they are few, in a trie of their own.
    Few(Box<Trie>),
    /// Else where they are not in the vocabulary's trie: the nodes below which every
    /// token begins with a character of the class, `from..to`, ascending.
    Outside(Box<[(u32, u32)]>),
}

/// The share of a vocabulary up to which the other tokens have a trie of their own: an eighth,
/// because a walk over the whole trie has to jump over all the rest.
const FEW: usize = 8;

#[derive(Debug)]
pub(crate) struct Cut {
    others: Others,
    /// A character of the class, in UTF-8.
    sample: Box<[u8]>,
    /// The bytes that characters of the class begin with.
    first_bytes: Box<[u8]>,
    /// The tokens longer than [`READY`] characters that are plain as a whole,
    /// by length: `(characters, token)`, ascending.
    long: Box<[(u32, u32)]>,
    /// `ready[n]`: the mask of the plain tokens of at most `n` characters; the
    /// last one is of all of them.
    ready: Vec<Box<[u32]>>,
    /// The distinct rests; what the trie calls a token is a rest's number.
    rests: Trie,
    /// `(length of the plain part, token)` for each rest, ascending.
    tails: Box<[(u32, u32)]>,
    tail_starts: Box<[u32]>,
    max_len: usize,
}

impl Cut {
    /// O(bytes of the vocabulary). `tokens` are the text tokens, without those
    /// that have the bytes of another one.
    pub(crate) fn new<'a>(
        class: &[(u32, u32)],
        trie: &Trie,
        tokens: impl Iterator<Item = (TokenId, &'a [u8])>,
        width: usize,
    ) -> Cut {
        let class = Class::new(class);
        // The plain tokens of each length that has a mask, then the longer.
        let mut ready: Vec<Vec<u32>> = vec![vec![0; width.div_ceil(32)]];
        let mut long: Vec<(u32, u32)> = Vec::new();
        let mut ids: HashMap<&[u8], u32> = HashMap::new();
        let mut tails: Vec<(u32, u32, u32)> = Vec::new();
        let mut others: Vec<(TokenId, &[u8])> = Vec::new();
        let mut count = 0;
        for (token, bytes) in tokens {
            count += 1;
            let (len, chars) = class.prefix(bytes);
            if chars == 0 {
                others.push((token, bytes));
                continue;
            }
            let (rest, token) = (&bytes[len..], token.get());
            if !rest.is_empty() {
                let next = ids.len() as u32;
                let rest = *ids.entry(rest).or_insert(next);
                tails.push((rest, chars, token));
            } else if chars as usize > READY {
                long.push((chars, token));
            } else {
                while ready.len() <= chars as usize {
                    ready.push(vec![0; width.div_ceil(32)]);
                }
                ready[chars as usize][token as usize / 32] |= 1 << (token % 32);
            }
        }
        for chars in 1..ready.len() {
            let (shorter, these) = ready.split_at_mut(chars);
            for (word, shorter) in these[0].iter_mut().zip(&shorter[chars - 1]) {
                *word |= shorter;
            }
        }
        long.sort_unstable();
        tails.sort_unstable();
        let mut longest_plain = ready.len() - 1;
        if let (Some(last), Some(all)) = (long.last(), ready.last().cloned()) {
            longest_plain = last.0 as usize;
            ready.resize(READY + 1, all.clone());
            let mut all = all;
            for &(_, token) in &long {
                all[token as usize / 32] |= 1 << (token % 32);
            }
            ready.push(all);
        }
        let longest_tail = tails.iter().map(|t| t.1 as usize).max().unwrap_or(0);
        let mut tail_starts = vec![0u32; ids.len() + 1];
        for tail in &tails {
            tail_starts[tail.0 as usize + 1] += 1;
        }
        for rest in 0..ids.len() {
            tail_starts[rest + 1] += tail_starts[rest];
        }
        Cut {
            others: match others.len() <= count / FEW {
                true => Others::Few(Box::new(Trie::new(others.into_iter()))),
                false => Others::Outside(heads(&class, trie)),
            },
            sample: class.sample(),
            first_bytes: class.first_bytes(),
            long: long.into(),
            ready: ready.into_iter().map(Vec::into).collect(),
            rests: Trie::new(ids.into_iter().map(|(rest, id)| (TokenId::new(id), rest))),
            tails: tails.into_iter().map(|t| (t.1, t.2)).collect(),
            tail_starts: tail_starts.into(),
            max_len: longest_plain.max(longest_tail),
        }
    }

    /// Returns the place of the tokens that do not begin with a character of the class. `all` is
    /// the vocabulary's trie.
    pub(crate) fn others<'a>(&'a self, all: &'a Trie) -> Area<'a> {
        match &self.others {
            Others::Few(trie) => Area::all(trie),
            Others::Outside(heads) => Area {
                trie: all,
                skip: heads,
            },
        }
    }

    /// A character of the class, in UTF-8.
    pub(crate) fn sample(&self) -> &[u8] {
        &self.sample
    }

    /// Tells whether some byte that a character of the class begins with is `alive`.
    pub(crate) fn goes_on(&self, alive: impl FnMut(u8) -> bool) -> bool {
        self.first_bytes.iter().copied().any(alive)
    }

    /// The trie of the distinct rests.
    pub(crate) fn rests(&self) -> &Trie {
        &self.rests
    }

    /// The length in characters of the longest plain part.
    pub(crate) fn max_len(&self) -> usize {
        self.max_len
    }

    /// Makes the words those of the plain tokens of at most `bound` characters.
    pub(crate) fn put_plain(&self, bound: usize, words: &mut Vec<u32>) {
        words.clear();
        match self.ready.get(bound) {
            Some(ready) if bound <= READY => words.extend_from_slice(ready),
            _ => {
                let Some(all) = self.ready.last() else { return };
                words.extend_from_slice(all);
                // Few tokens are longer than what is kept ready.
                let from = self.long.partition_point(|p| p.0 as usize <= bound);
                for &(_, token) in &self.long[from..] {
                    words[token as usize / 32] &= !(1 << (token % 32));
                }
            }
        }
    }

    /// Sets the bits of the tokens with this rest behind a plain part of
    /// `from..to` characters.
    pub(crate) fn put_rest(
        &self,
        rest: u32,
        from: usize,
        to: usize,
        bits: &mut (impl Bits + ?Sized),
    ) {
        let r = rest as usize;
        let tails = &self.tails[self.tail_starts[r] as usize..self.tail_starts[r + 1] as usize];
        let first = tails.partition_point(|t| (t.0 as usize) < from);
        for &(len, token) in &tails[first..] {
            if len as usize >= to {
                break;
            }
            bits.allow(token);
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let words: usize = self.ready.iter().map(|w| w.len() * 4).sum();
        let pairs = self.long.len() + self.tails.len();
        let others = match &self.others {
            Others::Few(trie) => trie.memory(),
            Others::Outside(heads) => size_of_val(&**heads),
        };
        words + others + pairs * 8 + self.tail_starts.len() * 4 + self.rests.memory()
    }
}

/// The subtrees whose tokens all begin with a character of the class, joined
/// where they lie side by side.
fn heads(class: &Class<'_>, trie: &Trie) -> Box<[(u32, u32)]> {
    let nodes = trie.nodes();
    let mut heads: Vec<(u32, u32)> = Vec::new();
    let mut path = [0u8; 4];
    let mut at = 0;
    while let Some(node) = nodes.get(at) {
        let depth = node.depth as usize;
        path[depth - 1] = node.byte;
        let end = node.end;
        if class.prefix(&path[..depth]).0 == depth {
            match heads.last_mut() {
                Some(head) if head.1 == at as u32 => head.1 = end,
                _ => heads.push((at as u32, end)),
            }
            at = end as usize;
        } else if depth < 4
            && std::str::from_utf8(&path[..depth]).is_err_and(|e| e.error_len().is_none())
        {
            at += 1; // A character that may still become one of the class.
        } else {
            at = end as usize;
        }
    }
    heads.into()
}

/// A class of characters that is quick to ask.
struct Class<'a> {
    ascii: [bool; 128],
    ranges: &'a [(u32, u32)],
}

impl<'a> Class<'a> {
    fn new(ranges: &'a [(u32, u32)]) -> Self {
        let mut ascii = [false; 128];
        for (c, is) in ascii.iter_mut().enumerate() {
            *is = ranges.iter().any(|r| (r.0..=r.1).contains(&(c as u32)));
        }
        Class { ascii, ranges }
    }

    fn has(&self, c: char) -> bool {
        let c = c as u32;
        let i = self.ranges.partition_point(|r| r.1 < c);
        self.ranges.get(i).is_some_and(|r| r.0 <= c)
    }

    /// The longest prefix of whole characters of the class: bytes, characters.
    fn prefix(&self, bytes: &[u8]) -> (usize, u32) {
        let mut len = 0;
        let mut chars = 0;
        while let Some(&byte) = bytes.get(len) {
            if byte < 0x80 {
                if !self.ascii[byte as usize] {
                    break;
                }
                len += 1;
            } else {
                let tail = &bytes[len..bytes.len().min(len + 4)];
                let valid = match std::str::from_utf8(tail) {
                    Ok(text) => text,
                    Err(e) => std::str::from_utf8(&tail[..e.valid_up_to()]).unwrap_or(""),
                };
                match valid.chars().next() {
                    Some(c) if self.has(c) => len += c.len_utf8(),
                    _ => break,
                }
            }
            chars += 1;
        }
        (len, chars)
    }

    fn first_bytes(&self) -> Box<[u8]> {
        // The first byte rises with the code point.
        let byte = |c: u32| {
            let mut utf8 = [0; 4];
            let c = char::from_u32(c).unwrap_or('\u{D7FF}');
            c.encode_utf8(&mut utf8).as_bytes()[0]
        };
        let mut bytes: Vec<u8> = Vec::new();
        for &(from, to) in self.ranges {
            bytes.extend(byte(from)..=byte(to));
        }
        bytes.dedup();
        bytes.into()
    }

    fn sample(&self) -> Box<[u8]> {
        let first = self.ranges.first().and_then(|r| char::from_u32(r.0));
        first
            .map_or_else(String::new, String::from)
            .into_bytes()
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_cut_at_the_first_character_outside_the_class() {
        let words: [&[u8]; 7] = [
            b"ab",
            b"a",
            b"ab\"",
            b"\"",
            b"\xC3\xA9\"",
            b"\xC3",
            b"a\xC3",
        ];
        let tokens = || (0..).map(TokenId::new).zip(words);
        let trie = Trie::new(tokens());
        let cut = Cut::new(&[(0x61, 0x7A), (0xE0, 0xFF)], &trie, tokens(), 7);
        assert_eq!(cut.max_len(), 2);
        assert_eq!(cut.sample(), b"a");
        let mut words = Vec::new();
        cut.put_plain(9, &mut words);
        assert_eq!(words, [0b11]);
        cut.put_plain(1, &mut words);
        assert_eq!(words, [0b10]);
        let quote = cut.rests().find(b"\"").unwrap();
        let quote = cut.rests().nodes()[quote].token;
        words = vec![0];
        cut.put_rest(quote, 0, 2, words.as_mut_slice());
        assert_eq!(words, [0b1_0000]);
        cut.put_rest(quote, 2, 3, words.as_mut_slice());
        assert_eq!(words, [0b1_0100]);
        // The quote, and the unfinished character.
        let outside = |cut: &Cut| -> Vec<u32> {
            let Area { trie, skip } = cut.others(&trie);
            let nodes = (0..).zip(trie.nodes());
            let met = nodes.filter(|(n, _)| !skip.iter().any(|h| (h.0..h.1).contains(n)));
            met.map(|(_, node)| node.token).collect()
        };
        assert_eq!(outside(&cut), [3, 5]);
        let more = (7..)
            .map(TokenId::new)
            .zip([b"aa", b"ac", b"ad", b"ae", b"af", b"ag", b"ah"]);
        let more = || more.clone().map(|(id, bytes)| (id, &bytes[..]));
        let more: Vec<_> = tokens().chain(more()).chain(more()).collect();
        let cut = Cut::new(&[(0x61, 0x7A), (0xE0, 0xFF)], &trie, more.into_iter(), 14);
        assert!(matches!(cut.others, Others::Few(_)));
        assert_eq!(outside(&cut), [3, 5]);
    }
}
