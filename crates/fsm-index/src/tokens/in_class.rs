//! The tokens of one class of characters, as the trie has them: which stay in the class, and where
//! the others leave it. For example, of the class `[a-z]` the token `ab` stays in it, and `ab(c`
//! leaves it at the node of `ab(`.

use std::ops::Range;

use super::kinds::Kinds;
use super::spellable::{LEAST, lead_byte};
use super::trie::{NO_TOKEN, Trie};

/// The nodes of a trie to which text of one class leads, from the root or from below one node on.
#[derive(Debug)]
pub(crate) struct InClass {
    /// The first node of the part of the trie that was read.
    first: u32,
    /// By node, from the first on: whether text of the class alone leads to it.
    inside: Box<[u64]>,
    /// The tokens that stay in the class, as ranges of the trie's order: ascending.
    tokens: Box<[(u32, u32)]>,
    /// Ascending.
    leaving: Box<[Leaving]>,
    /// The number of nodes that were read.
    pub(crate) visited: u64,
}

/// A node whose byte leaves the class: text of the class leads to where it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub(crate) node: u32,
    /// Its byte.
    pub(crate) byte: u8,
    /// The bytes of a character that has begun before, zero behind the last.
    begun: [u8; 3],
}

impl Leaving {
    /// The bytes of a character that has begun before the node.
    pub(crate) fn begun(&self) -> impl Iterator<Item = u8> {
        self.begun.into_iter().take_while(|byte| *byte != 0)
    }
}

/// The children of a node that are still to be read.
struct Unread {
    next: u32,
    end: u32,
    begun: Begun,
}

/// A character that has begun, and how many of its bytes are missing.
#[derive(Clone, Copy, Default)]
struct Begun {
    bytes: [u8; 3],
    /// The bits that its bytes have told.
    bits: u32,
    /// The least code point that needs so many bytes.
    least: u32,
    missing: u32,
}

impl Begun {
    /// Returns the same behind one byte more; none if no character of the class goes on so.
    fn step(mut self, byte: u8, class: &[(u32, u32)]) -> Option<Begun> {
        if self.missing == 0 {
            let (length, bits) = lead_byte(byte)?;
            self = Begun {
                bytes: [byte, 0, 0],
                bits: bits.into(),
                least: LEAST[length],
                missing: length as u32 - 1,
            };
        } else if !matches!(byte, 0x80..=0xBF) {
            return None;
        } else {
            // The last byte of four has no place, and needs none.
            if let Some(place) = self.bytes.iter_mut().find(|byte| **byte == 0) {
                *place = byte;
            }
            self.bits = self.bits << 6 | u32::from(byte & 0x3F);
            self.missing -= 1;
        }
        let from = self.bits << (6 * self.missing);
        let to = from | ((1 << (6 * self.missing)) - 1);
        let from = from.max(self.least);
        // No surrogate is a character.
        let before = (from, to.min(0xD7FF));
        let behind = (from.max(0xE000), to.min(0x10_FFFF));
        let meets = [before, behind].into_iter().any(|(from, to)| {
            let at = class.partition_point(|range| range.1 < from);
            from <= to && class.get(at).is_some_and(|range| range.0 <= to)
        });
        if self.missing == 0 {
            self.bytes = [0; 3];
        }
        meets.then_some(self)
    }
}

impl InClass {
    /// Reads the trie with the ascending ranges of a class: all of it, or what is below a node.
    /// O(nodes to which the class leads), those aside that have its kinds of characters alone.
    pub(crate) fn new(trie: &Trie, class: &[(u32, u32)], top: Option<u32>) -> InClass {
        let kinds = Kinds::within(class);
        let Range { start: first, end } = match top {
            Some(top) => top..trie.nodes()[top as usize].end,
            None => 0..trie.nodes().len() as u32,
        };
        let mut inside = vec![0u64; (end - first).div_ceil(64) as usize];
        let mut tokens: Vec<(u32, u32)> = Vec::new();
        let mut leaving = Vec::new();
        let mut note = |from: u32, to: u32| match tokens.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ if from == to => {}
            _ => tokens.push((from, to)),
        };
        if let Some(top) = top {
            mark(&mut inside, 0, 1);
            let is_token = trie.nodes()[top as usize].token != NO_TOKEN;
            note(trie.before(top), trie.before(top) + u32::from(is_token));
        }
        let siblings = trie.siblings();
        let open = |children: Range<u32>, begun| Unread {
            next: children.start,
            end: children.end,
            begun,
        };
        let children = siblings.of(top.map(|top| top as usize));
        let mut way = vec![open(children, Begun::default())];
        let mut visited = 0;
        while let Some(last) = way.last_mut() {
            if last.next == last.end {
                way.pop();
                continue;
            }
            let begun = last.begun;
            let number = last.next as usize;
            last.next += 1;
            visited += 1;
            let (child, byte) = (siblings.child(number), siblings.bytes()[number]);
            let node = child.node;
            let Some(begun) = begun.step(byte, class) else {
                let begun = begun.bytes;
                leaving.push(Leaving { node, byte, begun });
                continue;
            };
            let before = trie.before(node);
            if child.kinds.are_within(kinds) {
                let end = trie.nodes()[node as usize].end;
                note(before, trie.before(end));
                mark(&mut inside, node - first, end - first);
                continue;
            }
            note(before, before + u32::from(child.token != NO_TOKEN));
            mark(&mut inside, node - first, node - first + 1);
            way.push(open(child.children(), begun));
        }
        InClass {
            first,
            inside: inside.into(),
            tokens: tokens.into(),
            leaving: leaving.into(),
            visited,
        }
    }

    /// Tells whether text of the class alone leads to a node, which may end inside of a character, or
    /// it is the one below which was read.
    #[inline]
    pub(crate) fn has(&self, node: u32) -> bool {
        let at = node.wrapping_sub(self.first);
        let word = self.inside.get(at as usize / 64);
        word.is_some_and(|word| word >> (at % 64) & 1 != 0)
    }

    /// Returns the nodes from one to before another whose bytes leave the class.
    pub(crate) fn leaving(&self, nodes: &Range<u32>) -> &[Leaving] {
        let place = |node: u32| self.leaving.partition_point(|leaving| leaving.node < node);
        &self.leaving[place(nodes.start)..place(nodes.end)]
    }

    /// The tokens that stay in the class, of those from one node to before another. O(log ranges +
    /// tokens).
    pub(crate) fn tokens<'a>(
        &'a self,
        nodes: &Range<u32>,
        trie: &'a Trie,
    ) -> impl Iterator<Item = &'a [u32]> {
        let (from, to) = (trie.before(nodes.start), trie.before(nodes.end));
        let first = self.tokens.partition_point(|range| range.1 <= from);
        let all = self.tokens[first..].iter();
        let all = all.take_while(move |range| range.0 < to);
        let order = trie.order();
        all.map(move |range| &order[range.0.max(from) as usize..range.1.min(to) as usize])
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.inside) + size_of_val(&*self.tokens) + size_of_val(&*self.leaving)
    }
}

/// Sets bits from one to before another.
fn mark(words: &mut [u64], from: u32, to: u32) {
    for (word, at) in words.iter_mut().zip(0u32..).skip(from as usize / 64) {
        let start = at * 64;
        if start >= to {
            break;
        }
        let (low, high) = (from.saturating_sub(start), (to - start).min(64));
        *word |= (u64::MAX << low) & (u64::MAX >> (64 - high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenId;

    fn trie(words: &[&[u8]]) -> Trie {
        Trie::new(words.iter().zip(0..).map(|(w, id)| (TokenId::new(id), *w)))
    }

    fn told(words: &[&[u8]], class: &[(u32, u32)], top: &[u8]) -> (Vec<u32>, Vec<Vec<u8>>) {
        let trie = trie(words);
        let top = trie.find(top).map(|top| top as u32);
        let read = InClass::new(&trie, class, top);
        let all = match top {
            Some(top) => top..trie.nodes()[top as usize].end,
            None => 0..trie.nodes().len() as u32,
        };
        let mut tokens: Vec<u32> = read.tokens(&all, &trie).flatten().copied().collect();
        tokens.sort_unstable();
        let leaving = read.leaving(&all).iter();
        let leaving = leaving.map(|at| at.begun().chain([at.byte]).collect());
        (tokens, leaving.collect())
    }

    #[test]
    fn tokens_stay_in_a_class_or_leave_it() {
        let words: [&[u8]; 6] = [b"a", b"ab", b"ab(c", b"(", b"a\xC3", b"\xC3\xA9("];
        let letters = [(0x61, 0x7A)];
        let left = |all: &[&[u8]]| all.iter().map(|bytes| bytes.to_vec()).collect::<Vec<_>>();
        let (tokens, leaving) = told(&words, &letters, b"");
        assert_eq!(
            (tokens, leaving),
            (vec![0, 1], left(&[b"(", b"(", b"\xC3", b"\xC3"]))
        );
        let more = [(0x61, 0x7A), (0xE9, 0xE9)];
        let (tokens, leaving) = told(&words, &more, b"");
        assert_eq!(
            (tokens, leaving),
            (vec![0, 1, 4], left(&[b"(", b"(", b"("]))
        );
        let (tokens, leaving) = told(&words, &letters, b"a");
        assert_eq!((tokens, leaving), (vec![0, 1], left(&[b"(", b"\xC3"])));
    }

    #[test]
    fn characters_are_left_inside_of_them() {
        let words: [&[u8]; 5] = [
            b"\xE0\x80",
            b"\xED\xA0",
            b"\xE2\x80",
            b"\xE2\x82\xAC",
            b"\xF4\x90",
        ];
        let (tokens, leaving) = told(&words, &[(0x20AC, 0x20AC)], b"");
        assert_eq!(tokens, [3]);
        let expected: [&[u8]; 4] = [b"\xE0", b"\xE2\x80", b"\xED", b"\xF4"];
        assert_eq!(leaving, expected);
        let (tokens, leaving) = told(&words, &[(0, 0x10_FFFF)], b"");
        assert_eq!(tokens, [2, 3]);
        let expected: [&[u8]; 3] = [b"\xE0\x80", b"\xED\xA0", b"\xF4\x90"];
        assert_eq!(leaving, expected);
    }

    #[test]
    fn bits_are_set_over_words() {
        for (from, to) in [(0, 1), (3, 64), (3, 65), (64, 128), (60, 190), (5, 5)] {
            let mut words = [0u64; 3];
            mark(&mut words, from, to);
            let has = |at: u32| words[at as usize / 64] >> (at % 64) & 1 == 1;
            assert!(
                (0..192).all(|at| has(at) == (from..to).contains(&at)),
                "{from} {to}"
            );
        }
    }
}
