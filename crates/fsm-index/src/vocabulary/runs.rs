//! A vocabulary cut by one class of characters.
//!
//! Inside a string of JSON nearly every token is text that keeps the automaton
//! where it is. So each token is cut into its *plain part*, the longest prefix
//! of characters of the class, and its *rest*. Which rests may come is found by
//! a walk over a small trie of the distinct rests; everything else was counted
//! once for all states that loop over the class.

use std::collections::HashMap;

use super::Trie;
use crate::TokenId;

/// Inclusive ranges of code points, ascending.
pub(crate) type CharRanges = Box<[(u32, u32)]>;

/// Up to this many characters the masks of plain tokens are kept ready.
const READY: usize = 12;

#[derive(Debug)]
pub(crate) struct Runs {
    /// The bytes that characters of the class begin with.
    first_bytes: [bool; 256],
    /// Tokens that are plain as a whole, by length in characters.
    plain: Box<[u32]>,
    /// `plain[starts[n]..starts[n + 1]]` have `n` characters.
    plain_starts: Vec<u32>,
    /// `ready[n]`: the mask of the plain tokens of at most `n` characters; the
    /// last one is of all of them.
    ready: Vec<Box<[u32]>>,
    /// The distinct rests; what the trie calls a token is a rest's number.
    rests: Trie,
    /// `(length of the plain part, token)` for each rest, ascending.
    tails: Vec<(u32, u32)>,
    tail_starts: Vec<u32>,
    max_len: usize,
}

impl Runs {
    /// O(bytes of the vocabulary).
    pub(crate) fn new<'a>(
        class: &[(u32, u32)],
        tokens: impl Iterator<Item = (TokenId, &'a [u8])>,
        width: usize,
    ) -> Runs {
        let class = Class::new(class);
        let mut plain: Vec<(u32, u32)> = Vec::new();
        let mut ids: HashMap<&[u8], u32> = HashMap::new();
        let mut tails: Vec<(u32, u32, u32)> = Vec::new();
        for (token, bytes) in tokens {
            let (len, chars) = class.prefix(bytes);
            let rest = &bytes[len..];
            if rest.is_empty() {
                if chars > 0 {
                    plain.push((chars, token.get()));
                }
            } else {
                let next = ids.len() as u32;
                let rest = *ids.entry(rest).or_insert(next);
                tails.push((rest, chars, token.get()));
            }
        }
        tails.sort_unstable();
        let longest_plain = plain.iter().map(|p| p.0 as usize).max().unwrap_or(0);
        let longest_tail = tails.iter().map(|t| t.1 as usize).max().unwrap_or(0);
        let starts = |of: &mut dyn Iterator<Item = u32>, count: usize| {
            let mut starts = vec![0u32; count + 1];
            for key in of {
                starts[key as usize + 1] += 1;
            }
            for i in 0..count {
                starts[i + 1] += starts[i];
            }
            starts
        };
        let plain_starts = starts(&mut plain.iter().map(|p| p.0), longest_plain + 1);
        let tail_starts = starts(&mut tails.iter().map(|t| t.0), ids.len());
        let mut sorted = vec![0; plain.len()];
        let mut places = plain_starts.clone();
        for (chars, token) in plain {
            let place = &mut places[chars as usize];
            sorted[*place as usize] = token;
            *place += 1;
        }
        let mut mask = vec![0u32; width.div_ceil(32)];
        let mut ready = Vec::new();
        for chars in 0..=longest_plain {
            let of = plain_starts[chars] as usize..plain_starts[chars + 1] as usize;
            for &token in &sorted[of] {
                mask[token as usize / 32] |= 1 << (token % 32);
            }
            if chars < READY || chars == longest_plain {
                ready.push(mask.clone().into());
            }
        }
        Runs {
            first_bytes: class.first_bytes(),
            plain: sorted.into(),
            plain_starts,
            ready,
            rests: Trie::new(ids.into_iter().map(|(rest, id)| (TokenId::new(id), rest))),
            tails: tails.into_iter().map(|t| (t.1, t.2)).collect(),
            tail_starts,
            max_len: longest_plain.max(longest_tail),
        }
    }

    /// Whether most tokens are plain, judged by a sample of `every`th tokens:
    /// otherwise there are nearly as many rests as tokens, and nothing is won.
    pub(crate) fn pay<'a>(
        class: &[(u32, u32)],
        tokens: impl Iterator<Item = (TokenId, &'a [u8])>,
        every: usize,
    ) -> bool {
        let class = Class::new(class);
        let (mut plain, mut all) = (0, 0);
        for (_, bytes) in tokens.step_by(every) {
            all += 1;
            plain += usize::from(class.prefix(bytes).0 == bytes.len());
        }
        plain * 3 > all * 2
    }

    /// The bytes that characters of the class begin with.
    pub(crate) fn first_bytes(&self) -> &[bool; 256] {
        &self.first_bytes
    }

    /// The trie of the distinct rests.
    pub(crate) fn rests(&self) -> &Trie {
        &self.rests
    }

    /// The length in characters of the longest plain part.
    pub(crate) fn max_len(&self) -> usize {
        self.max_len
    }

    /// Sets the bits of the plain tokens of at most `bound` characters, in a
    /// mask that has none yet.
    pub(crate) fn put_plain(&self, bound: usize, words: &mut [u32]) {
        let longest = self.plain_starts.len() - 2;
        let all = self.ready.len() - 1;
        if bound >= longest {
            words.copy_from_slice(&self.ready[all]);
        } else if bound <= all.saturating_sub(1) {
            words.copy_from_slice(&self.ready[bound]);
        } else {
            // Few tokens are longer than what is kept ready.
            words.copy_from_slice(&self.ready[all]);
            for &token in &self.plain[self.plain_starts[bound + 1] as usize..] {
                words[token as usize / 32] &= !(1 << (token % 32));
            }
        }
    }

    /// Sets the bits of the tokens with this rest behind a plain part of
    /// `from..to` characters.
    pub(crate) fn put_rest(&self, rest: u32, from: usize, to: usize, words: &mut [u32]) {
        let r = rest as usize;
        let tails = &self.tails[self.tail_starts[r] as usize..self.tail_starts[r + 1] as usize];
        let first = tails.partition_point(|t| (t.0 as usize) < from);
        for &(len, token) in &tails[first..] {
            if len as usize >= to {
                break;
            }
            words[token as usize / 32] |= 1 << (token % 32);
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let words: usize = self.ready.iter().map(|w| w.len() * 4).sum();
        words + self.plain.len() * 4 + self.tails.len() * 8 + self.rests.memory()
    }
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

    fn first_bytes(&self) -> [bool; 256] {
        let mut first = [false; 256];
        for &(from, to) in self.ranges {
            // The first byte rises with the code point.
            let byte = |c: u32| {
                let mut utf8 = [0; 4];
                let c = char::from_u32(c).unwrap_or('\u{D7FF}');
                c.encode_utf8(&mut utf8).as_bytes()[0]
            };
            first[byte(from) as usize..=byte(to) as usize].fill(true);
        }
        first
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
        let tokens = (0..).map(TokenId::new).zip(words);
        let runs = Runs::new(&[(0x61, 0x7A), (0xE0, 0xFF)], tokens, 7);
        assert_eq!(runs.max_len(), 2);
        let mut words = [0];
        runs.put_plain(9, &mut words);
        assert_eq!(words, [0b11]);
        runs.put_plain(1, &mut words);
        assert_eq!(words, [0b10]);
        let quote = runs.rests().find(b"\"").unwrap();
        let quote = runs.rests().nodes()[quote].token;
        words = [0];
        runs.put_rest(quote, 0, 2, &mut words);
        assert_eq!(words, [0b1_1000]);
        runs.put_rest(quote, 2, 3, &mut words);
        assert_eq!(words, [0b1_1100]);
        assert!(runs.first_bytes()[0xC3] && !runs.first_bytes()[0xC2]);
    }
}
