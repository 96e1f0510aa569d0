//! Kinds of characters, few enough for a bit each: what a class of characters surely has, and what
//! the tokens of a subtree have at most, compare at once. For example, the class `[a-z0-9]` surely
//! has the kinds of digits and of letters, and the token `a1` has no others.

use super::characters::{BEGINNINGS, CHARACTER_KINDS, CHARACTERS};
use super::trie::{NO_TOKEN, Node};
use crate::ByteSet;
use crate::bits::Bits;

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Kinds(u128);

/// The kind of bytes that are of no other kind, because a set has a bit for each: backslashes,
/// deletes, and bytes that are no character.
const OTHER: u128 = 1 << 127;

/// The kind of control characters, U+0000 to U+001F: one, because JSON's strings have none of them.
const CONTROL: u128 = 1 << 126;

/// The number of characters that begin with the same bytes but for the last one: 64, because a last
/// byte of UTF-8 has six free bits.
const BEGIN_ALIKE: u32 = 64;

/// The kinds of all beginnings of characters, which are beside the kinds of characters, because a
/// token may end inside of a character.
const CUT: u128 = ((1 << BEGINNINGS.len()) - 1) << CHARACTER_KINDS;

impl Kinds {
    pub(crate) const NONE: Kinds = Kinds(0);

    pub(crate) fn of(c: char) -> Kinds {
        let c = u32::from(c);
        if c < 0x20 {
            return Kinds(CONTROL);
        }
        let at = CHARACTERS.partition_point(|range| range.1 < c);
        match CHARACTERS.get(at) {
            Some(range) if range.0 <= c => Kinds(1 << range.2),
            _ => Kinds(OTHER),
        }
    }

    /// Returns the kinds of the beginnings of characters, the first of which is this one.
    fn of_beginning(first: u32) -> Kinds {
        let group = BEGINNINGS.partition_point(|from| *from <= first);
        Kinds(1 << (CHARACTER_KINDS as usize + group.saturating_sub(1)))
    }

    /// The kinds of which a class has all characters, and of beginnings those that can
    /// each become one of the class; `class` are ascending ranges of code points.
    pub(crate) fn within(class: &[(u32, u32)]) -> Kinds {
        Kinds::whole(class).and(beginnings_of(class))
    }

    /// The kinds of which no character can come where none of a class can.
    pub(crate) fn without(class: &[(u32, u32)]) -> Kinds {
        let mut kinds = Kinds::whole(class).0;
        if has_all(class, (0, 0x1F)) {
            kinds |= CONTROL;
        }
        if has_all(class, (0x80, 0x10_FFFF)) {
            kinds |= CUT;
        }
        Kinds(kinds)
    }

    fn whole(class: &[(u32, u32)]) -> Kinds {
        let all = (1 << CHARACTER_KINDS) - 1;
        // Both are ascending.
        let mut rest = class;
        Kinds(CHARACTERS.iter().fold(all, |kinds, &(from, to, kind)| {
            while rest.first().is_some_and(|range| range.1 < from) {
                rest = &rest[1..];
            }
            kinds & !(u128::from(!begin_with_all(rest, from, to)) << kind)
        }))
    }

    pub(crate) fn and(self, others: Kinds) -> Kinds {
        Kinds(self.0 | others.0)
    }

    pub(crate) fn are_within(self, others: Kinds) -> bool {
        self.0 & !others.0 == 0
    }

    /// Tells whether a byte is a character of one of the kinds, alone.
    pub(crate) fn have(self, byte: u8) -> bool {
        match ASCII.get(usize::from(byte)) {
            Some(kind) => kind & !self.0 == 0,
            None => false,
        }
    }

    /// The same without beginnings of characters.
    pub(crate) fn uncut(self) -> Kinds {
        Kinds(self.0 & !CUT)
    }

    /// From the lowest on.
    pub(crate) fn words(self) -> [u32; 4] {
        [0, 32, 64, 96].map(|from| (self.0 >> from) as u32)
    }

    pub(crate) fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The same kinds without others.
    pub(crate) fn less(self, others: Kinds) -> Kinds {
        Kinds(self.0 & !others.0)
    }

    /// The bytes of the characters of a class, and those of longer characters: of none where the
    /// class has none. Characters without a kind of their own are left out.
    pub(crate) fn bytes(class: &[(u32, u32)]) -> ByteSet {
        if class.is_empty() {
            return ByteSet::NONE;
        }
        let all = (0..0x80u8).filter(|byte| {
            let c = u32::from(*byte);
            ASCII[usize::from(*byte)] != OTHER && has_all(class, (c, c))
        });
        let longer = ByteSet::range(0x80, 0xFF);
        all.fold(longer, |bytes, byte| bytes.or(ByteSet::of(&[byte])))
    }
}

/// Tells whether a class has all characters from one to another, both included. Surrogates are no
/// characters.
fn has_all(class: &[(u32, u32)], (from, to): (u32, u32)) -> bool {
    let range = class.partition_point(|range| range.1 < from);
    begin_with_all(&class[range..], from, to)
}

/// The same of a class without the ranges before those characters.
fn begin_with_all(class: &[(u32, u32)], from: u32, to: u32) -> bool {
    // A class may have its ranges in pieces that touch.
    let mut next = from;
    for range in class {
        if next == 0xD800 {
            next = 0xE000;
        }
        if range.0 > next || next > to {
            break;
        }
        next = next.max(range.1.saturating_add(1));
    }
    next > to
}

/// The groups of beginnings of characters of more than one byte, of which each can become
/// one of a class.
fn beginnings_of(class: &[(u32, u32)]) -> Kinds {
    let mut kinds = CUT;
    let mut next = 0x80u32;
    for &(from, to) in class.iter().chain(&[(0x11_0000, 0x11_0000)]) {
        // No character is a surrogate.
        for (from, to) in [(next, from.min(0xD800)), (next.max(0xE000), from)] {
            let first = from.next_multiple_of(BEGIN_ALIKE);
            if first + BEGIN_ALIKE <= to {
                // From the group of the first block that is missing to that of the last one.
                let last = Kinds::of_beginning(to - BEGIN_ALIKE).0;
                kinds &= !((last << 1) - Kinds::of_beginning(first).0);
            }
        }
        next = next.max(to.saturating_add(1));
    }
    Kinds(kinds)
}

/// The kind of each character of a byte, made when this is compiled, because it is looked up for
/// each byte of a walk.
const ASCII: [u128; 128] = {
    let mut kinds = [OTHER; 128];
    let mut c = 0;
    while c < 0x20 {
        kinds[c] = CONTROL;
        c += 1;
    }
    let mut at = 0;
    while CHARACTERS[at].1 < 128 {
        let mut c = CHARACTERS[at].0;
        while c <= CHARACTERS[at].1 {
            kinds[c as usize] = 1 << CHARACTERS[at].2;
            c += 1;
        }
        at += 1;
    }
    kinds
};

/// The mark of a node at which no character ends: the largest number, because kinds are fewer.
const INSIDE: u8 = u8::MAX;

/// The facts about the nodes of a trie and about the tokens below them.
#[derive(Debug, Default)]
pub(crate) struct AllBelow {
    /// By node, the number of the kind of the character that ends there, or [`INSIDE`].
    ends: Box<[u8]>,
    /// By node, how many tokens come before it.
    before: Box<[u32]>,
    /// The number of characters of each token, in the order of their nodes.
    chars: Box<[u16]>,
}

/// The facts about one node and the nodes below it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Below {
    /// The kinds of the characters that end there.
    pub(super) kinds: Kinds,
    /// The number of characters that the longest token has: see [`chars`].
    pub(super) longest: u16,
}

impl AllBelow {
    /// The same by node comes along. O(nodes).
    pub(super) fn new(nodes: &[Node]) -> (AllBelow, Vec<Below>) {
        let mut all = vec![Below::default(); nodes.len()];
        let mut parents: Vec<u32> = Vec::with_capacity(nodes.len());
        let mut before = Vec::with_capacity(nodes.len());
        let mut ends = Vec::with_capacity(nodes.len());
        let mut chars_of_tokens = Vec::new();
        // The nodes on the way, and how much of their last character is open.
        let mut way: Vec<(u32, BegunChar, u16)> = Vec::new();
        for (at, node) in (0..).zip(nodes) {
            way.truncate(usize::from(node.depth) - 1);
            let (parent, open, before_it) =
                way.last()
                    .copied()
                    .unwrap_or((u32::MAX, BegunChar::NOTHING, 0));
            let (kind, open) = open.step(node.byte);
            ends.push(match kind {
                Kinds::NONE => INSIDE,
                kind => kind.0.trailing_zeros() as u8,
            });
            let longest = before_it + chars([node.byte]) as u16;
            let kinds = match node.token {
                NO_TOKEN => kind,
                _ => kind.and(open.kinds()),
            };
            all[at as usize] = Below { kinds, longest };
            before.push(chars_of_tokens.len() as u32);
            if node.token != NO_TOKEN {
                chars_of_tokens.push(longest);
            }
            parents.push(parent);
            way.push((at, open, longest));
        }
        for at in (0..nodes.len()).rev() {
            let Below { kinds, longest } = all[at];
            if let Some(parent) = all.get_mut(parents[at] as usize) {
                *parent = Below {
                    kinds: parent.kinds.and(kinds),
                    longest: parent.longest.max(longest),
                };
            }
        }
        let below = AllBelow {
            ends: ends.into(),
            before: before.into(),
            chars: chars_of_tokens.into(),
        };
        (below, all)
    }

    /// Tells whether a node is inside a character, or at the end of one of these kinds.
    #[inline]
    pub(crate) fn leads_within(&self, node: usize, kinds: Kinds) -> bool {
        match self.ends[node] {
            INSIDE => true,
            kind => kinds.0 >> kind & 1 == 1,
        }
    }

    /// Returns the number of characters of each token, in the order of their nodes.
    pub(super) fn chars(&self) -> &[u16] {
        &self.chars
    }

    /// Returns the number of tokens that come before a node, if there is one.
    pub(super) fn before(&self, node: usize) -> Option<usize> {
        self.before.get(node).map(|before| *before as usize)
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.ends) + size_of_val(&*self.before) + size_of_val(&*self.chars)
    }
}

/// The tokens of a trie by the kinds that all their characters have: some thousand sets.
#[derive(Debug, Default)]
pub(crate) struct ByKinds {
    /// One set after another, and where its tokens end.
    sets: Vec<(Kinds, u32)>,
    /// The tokens of a set by their characters, as many as these are in the order of the trie: they
    /// begin alike.
    tokens: Box<[u32]>,
    /// The number of characters that each has: see [`chars`].
    chars: Box<[u16]>,
    /// The bits of all of them.
    all: Box<[u32]>,
    /// The number of tokens that have more characters than so many.
    longer: Box<[u32]>,
}

impl ByKinds {
    /// O(nodes).
    pub(super) fn new(nodes: &[Node]) -> ByKinds {
        let mut all: Vec<(u128, u16, u32, u32)> = Vec::new();
        // The nodes on the way, with the open part of their last character.
        let mut way: Vec<(Kinds, BegunChar, u16)> = Vec::new();
        for (at, node) in (0..).zip(nodes) {
            way.truncate(usize::from(node.depth) - 1);
            let (before, open, length) =
                way.last()
                    .copied()
                    .unwrap_or((Kinds(0), BegunChar::NOTHING, 0));
            let (kind, open) = open.step(node.byte);
            let length = length + chars([node.byte]) as u16;
            let kinds = Kinds(before.0 | kind.0);
            if node.token != NO_TOKEN {
                all.push((kinds.and(open.kinds()).0, length, at, node.token));
            }
            way.push((kinds, open, length));
        }
        all.sort_unstable();
        let mut sets: Vec<(Kinds, u32)> = Vec::new();
        for (&(kinds, ..), end) in all.iter().zip(1..) {
            match sets.last_mut() {
                Some(set) if set.0.0 == kinds => set.1 = end,
                _ => sets.push((Kinds(kinds), end)),
            }
        }
        let tokens: Box<[u32]> = all.iter().map(|(.., token)| *token).collect();
        let last = tokens.iter().max().map_or(0, |last| *last as usize + 1);
        let mut bits = vec![0; last.div_ceil(32)];
        tokens.iter().for_each(|token| bits.allow(*token));
        let longest = all.iter().map(|(_, chars, ..)| *chars).max();
        let mut longer = vec![0; usize::from(longest.unwrap_or(0))];
        for (_, chars, ..) in &all {
            longer[..usize::from(*chars)]
                .iter_mut()
                .for_each(|count| *count += 1);
        }
        ByKinds {
            sets,
            tokens,
            chars: all.iter().map(|(_, chars, ..)| *chars).collect(),
            all: bits.into(),
            longer: longer.into(),
        }
    }

    /// The bits of the tokens whose characters are of some kinds alone, so many at most; `words`
    /// is how many there are for all tokens. O(tokens within, or those that are not).
    pub(crate) fn within(&self, kinds: Kinds, chars: usize, words: usize) -> Vec<u32> {
        let is_short = |length: &u16| usize::from(*length) <= chars;
        // The end of those within, in each set.
        let mut from = 0;
        let sets = self.sets.iter().map(|&(set, end)| {
            let range = std::mem::replace(&mut from, end as usize)..end as usize;
            let lengths = &self.chars[range.clone()];
            let count = match lengths.last() {
                _ if !set.are_within(kinds) => 0,
                Some(longest) if is_short(longest) => lengths.len(),
                _ => lengths.partition_point(is_short),
            };
            (range, count)
        });
        let sets: Vec<_> = sets.collect();
        let within: usize = sets.iter().map(|(_, count)| count).sum();
        let mut bits = vec![0; words];
        if within < self.tokens.len() / 2 {
            for (range, count) in sets {
                let tokens = &self.tokens[range][..count];
                tokens.iter().for_each(|token| bits.allow(*token));
            }
        } else {
            bits[..self.all.len()].copy_from_slice(&self.all);
            for (range, count) in sets {
                let tokens = &self.tokens[range][count..];
                tokens.iter().for_each(|token| bits.forbid(*token));
            }
        }
        bits
    }

    /// The tokens whose characters are of some kinds alone, with more of them than `chars`, if
    /// they are `least` at least and `most` at most. O(sets), or O(1) where too few tokens of
    /// any kinds are so long.
    pub(crate) fn longer(
        &self,
        kinds: Kinds,
        chars: usize,
        (least, most): (usize, usize),
    ) -> Option<Vec<u32>> {
        let all = self.longer.get(chars).copied().unwrap_or(0);
        if (all as usize) < least {
            return None;
        }
        let mut from = 0;
        let mut out = Vec::new();
        for &(set, end) in &self.sets {
            let range = std::mem::replace(&mut from, end as usize)..end as usize;
            let lengths = &self.chars[range.clone()];
            let is_long = |length: &u16| usize::from(*length) > chars;
            if !set.are_within(kinds) || !lengths.last().is_some_and(is_long) {
                continue;
            }
            let short = lengths.partition_point(|length| !is_long(length));
            out.extend_from_slice(&self.tokens[range][short..]);
            if out.len() > most {
                return None;
            }
        }
        (out.len() >= least).then_some(out)
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let by_token = size_of_val(&*self.tokens) + size_of_val(&*self.chars);
        let counts = size_of_val(&*self.all) + size_of_val(&*self.longer);
        size_of_val(self.sets.as_slice()) + by_token + counts
    }
}

/// Returns the number of characters that begin in some bytes of UTF-8.
#[inline]
pub(crate) fn chars(bytes: impl IntoIterator<Item = u8>) -> usize {
    let begins = |byte: &u8| !matches!(byte, 0x80..=0xBF);
    bytes.into_iter().filter(begins).count()
}

/// The bytes of a character that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BegunChar {
    bytes: [u8; 4],
    len: usize,
}

impl BegunChar {
    const NOTHING: BegunChar = BegunChar {
        bytes: [0; 4],
        len: 0,
    };

    /// The kind of the beginning that is open, if there is one.
    fn kinds(self) -> Kinds {
        let [first, second, third, _] = self.bytes.map(u32::from);
        let rest = |byte: u32| byte & 0x3F;
        match first {
            0 => Kinds::NONE,
            1..0xE0 => Kinds::of_beginning((first & 0x1F) << 6),
            0xE0..0xF0 => Kinds::of_beginning(((first & 0xF) << 12 | rest(second) << 6).max(0x800)),
            _ => {
                let first = (first & 7) << 18 | rest(second) << 12 | rest(third) << 6;
                Kinds::of_beginning(first.max(0x1_0000))
            }
        }
    }

    /// The kind of the character that ends with a byte, and what is then open.
    fn step(mut self, byte: u8) -> (Kinds, BegunChar) {
        if self.len == 0 && byte.is_ascii() {
            return (Kinds(ASCII[usize::from(byte)]), BegunChar::NOTHING);
        }
        if self.len < 4 {
            self.bytes[self.len] = byte;
            self.len += 1;
        }
        match std::str::from_utf8(&self.bytes[..self.len]) {
            Ok(text) => {
                let kinds = text.chars().fold(0, |kinds, c| kinds | Kinds::of(c).0);
                (Kinds(kinds), BegunChar::NOTHING)
            }
            Err(e) if e.error_len().is_none() => (Kinds(0), self),
            // No character at all, here or further on.
            Err(_) => (Kinds(OTHER), BegunChar::NOTHING),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::trie::Trie;
    use super::*;
    use crate::TokenId;

    #[test]
    fn kinds_do_not_overlap_and_leave_out_what_is_no_text() {
        for pair in CHARACTERS.windows(2) {
            assert!(pair[0].0 <= pair[0].1 && pair[0].1 < pair[1].0, "{pair:?}");
        }
        let numbers: BTreeSet<u32> = CHARACTERS.iter().map(|range| range.2.into()).collect();
        assert!(numbers.into_iter().eq(0..CHARACTER_KINDS));
        const { assert!(CONTROL > CUT && CUT & ((1 << CHARACTER_KINDS) - 1) == 0) };
        let blocks = |from: &u32| from.is_multiple_of(BEGIN_ALIKE);
        assert!(BEGINNINGS.is_sorted() && BEGINNINGS.iter().all(blocks));
        for c in ['\\', '\u{7F}'] {
            assert_eq!(Kinds::of(c), Kinds(OTHER));
        }
        assert_eq!(Kinds::of('\n'), Kinds(CONTROL));
        let all = Kinds::within(&[(0, 0x10_FFFF)]);
        assert!(all.0 & (OTHER | CONTROL) == 0);
        assert!(!Kinds::of('"').are_within(all.less(Kinds::of('"'))));
        let bytes = Kinds::bytes(crate::JSON_TEXT);
        let is_text = |byte: u8| !matches!(byte, 0..=0x1F | 0x22 | b'\\' | 0x7F);
        assert!((0..=255).all(|byte| bytes.has(byte) == is_text(byte)));
        assert_eq!(Kinds::bytes(&[]), ByteSet::NONE);
    }

    #[test]
    fn what_a_class_leaves_out_cannot_come() {
        let all = Kinds::without(&[(0, 0x10_FFFF)]);
        assert_eq!(all.0, Kinds::within(&[(0, 0x10_FFFF)]).0 | CONTROL);
        let split = [(0, 0x7F), (0x80, 0xD7FF), (0xE000, 0x10_FFFF)];
        assert_eq!(Kinds::without(&split), all);
        // Some characters may come that begin alike.
        let most = Kinds::without(&[(0, 0x1E), (0x80, 0xD7FE), (0xE000, 0x10_FFFF)]);
        assert!(most.0 & (CONTROL | CUT) == 0 && Kinds::of('é').are_within(most));
        for byte in 0..128u8 {
            let kind = Kinds::of(char::from(byte));
            assert_eq!(Kinds(ASCII[usize::from(byte)]), kind);
            assert!(kind.have(byte) && !Kinds(!kind.0).have(byte) && !kind.have(byte | 0x80));
        }
        assert!(Kinds::of('é').are_within(Kinds::within(crate::JSON_TEXT)));
    }

    #[test]
    fn tokens_are_found_by_their_characters() {
        let words: [&[u8]; 6] = [b"ab", b"a1", b"\xC3\xA9", b"\xC3", b"a\"", b"9"];
        let tokens = words.iter().zip(0..).map(|(w, id)| (TokenId::new(id), *w));
        let by_kinds = ByKinds::new(Trie::new(tokens).nodes());
        let within = |class: &[(u32, u32)], chars| {
            let bits = by_kinds.within(Kinds::within(class), chars, 2);
            let is_in = |token: &usize| bits[0] >> token & 1 == 1;
            (0..32).filter(is_in).collect::<Vec<_>>()
        };
        assert_eq!(within(&[(0x61, 0x7A)], 9), [0]);
        assert_eq!(within(&[(0x30, 0x39), (0x61, 0x7A)], 9), [0, 1, 5]);
        assert_eq!(within(&[(0x30, 0x39), (0x61, 0x7A)], 1), [5]);
        assert_eq!(within(crate::JSON_TEXT, 2), [0, 1, 2, 3, 5]);
        assert_eq!(
            within(crate::JSON_TEXT, 1),
            [2, 3, 5],
            "whatever their bytes"
        );
        assert_eq!(within(&[(0x20, 0xFFFF)], 2), [0, 1, 2, 3, 4, 5]);
        assert_eq!(within(&[(0x20, 0xBF)], 2), [0, 1, 4, 5], "é begins so");
        assert!(within(&[], 9).is_empty());
        let letters = Kinds::within(&[(0x61, 0x7A)]);
        let longer = |chars, bounds| by_kinds.longer(letters, chars, bounds);
        assert_eq!(
            [longer(1, (1, 1)), longer(2, (0, 1))],
            [Some(vec![0]), Some(vec![])]
        );
        assert_eq!(longer(1, (0, 0)), None, "they are more");
        assert_eq!(
            [longer(1, (2, 9)), longer(99, (1, 9))],
            [None, None],
            "they are fewer"
        );
    }

    #[test]
    fn beginnings_become_characters_of_a_class() {
        let becomes = |class: &[(u32, u32)]| Kinds(CUT).are_within(Kinds::within(class));
        assert!(becomes(crate::JSON_TEXT) && becomes(&[(0, 0x10_FFFF)]));
        // Some of each block do.
        assert!(becomes(&[
            (0x20, 0x2027),
            (0x202A, 0xD7FF),
            (0xE000, 0x10_FFFF)
        ]));
        assert!(becomes(&[(0x85, 0xD7C0), (0xE03F, 0x10_FFC0)]));
        assert!(!becomes(&[(0xC0, 0xD7FF), (0xE000, 0x10_FFFF)]));
        assert!(!becomes(&[(0x80, 0xD7BF), (0xE000, 0x10_FFFF)]));
        assert!(!becomes(&[(0x80, 0xD7FF), (0xE040, 0x10_FFFF)]));
        assert!(!becomes(&[(0x80, 0xD7FF), (0xE000, 0x10_FFBF)]));
        assert!(!becomes(&[(0x20, 0x7E)]) && !becomes(&[]));
    }

    #[test]
    fn beginnings_are_of_the_group_of_their_first_character() {
        for c in [
            'é',
            'ж',
            'क',
            'ส',
            '中',
            '한',
            '\u{FFFD}',
            '😀',
            '\u{10FFFF}',
        ] {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).as_bytes();
            // Of any character that begins so, a class of all its block has the beginning.
            for len in 1..bytes.len() {
                let open = bytes[..len].iter();
                let open = open.fold(BegunChar::NOTHING, |open, byte| open.step(*byte).1);
                let within = |class| open.kinds().are_within(Kinds::within(class));
                assert!(within(&[(0x80, 0x10_FFFF)]) && !within(&[(0, 0x7F)]), "{c}");
                let block = u32::from(c) / BEGIN_ALIKE * BEGIN_ALIKE;
                let others = [(0x80, block - 1), (block + BEGIN_ALIKE, 0x10_FFFF)];
                assert!(len + 1 < bytes.len() || !within(&others), "{c} {len}");
            }
        }
        assert_eq!(BegunChar::NOTHING.kinds(), Kinds::NONE);
    }

    #[test]
    fn a_class_has_a_kind_if_it_has_all_of_it() {
        let within = Kinds::within(&[(0x30, 0x35), (0x36, 0x39), (0x41, 0x50)]);
        let all = [Kinds::of('0'), Kinds::of('5'), Kinds::of('B')];
        assert_eq!(all.map(|kind| kind.are_within(within)), [true; 3]);
        assert!(!Kinds::of('G').are_within(within));
        assert_eq!(Kinds::within(&[]).count(), 0);
    }

    #[test]
    fn a_subtree_has_the_kinds_of_its_tokens() {
        let words: [&[u8]; 6] = [b"ab", b"a/", "aé".as_bytes(), b"b\xC3", b"c\xFF", b"d\""];
        let ids = (0..).map(TokenId::new);
        let trie = Trie::new(ids.zip(words));
        let below = trie.below();
        let kinds = |text: &[u8]| {
            let node = trie.find(text).expect("it is there") as u32;
            let mut children = 0..trie.nodes().len();
            let child = children.find(|child| trie.siblings().child(*child).node == node);
            let child = child.expect("every node is a child");
            trie.siblings().child(child).kinds
        };
        let a = Kinds::of('a').0 | Kinds::of('/').0 | Kinds::of('é').0;
        assert_eq!(kinds(b"a"), Kinds(a));
        assert_eq!(kinds(b"ab"), Kinds::of('b'));
        assert_eq!(kinds(b"b"), Kinds::of('b').and(Kinds::of_beginning(0xC0)));
        assert_eq!(kinds(b"c").0 & OTHER, OTHER);
        assert!(
            Kinds::of('"').are_within(kinds(b"d")) && Kinds(OTHER | CONTROL).0 & kinds(b"d").0 == 0
        );
        assert_eq!(kinds("aé".as_bytes()), Kinds::of('é'));
        let leads = |text: &[u8], kind| {
            let node = trie.find(text).expect("it is there");
            below.leads_within(node, Kinds::of(kind))
        };
        assert!(leads("aé".as_bytes(), 'é') && !leads("aé".as_bytes(), 'a'));
        assert!(
            leads("aé".as_bytes().split_at(2).0, 'b'),
            "inside of a character"
        );
        assert!(leads(b"ab", 'b') && !leads(b"c\xFF", 'b'));
    }
}
