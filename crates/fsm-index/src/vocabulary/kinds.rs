//! Kinds of characters, few enough for a bit each: what a class of characters
//! surely has, and what the tokens of a subtree have at most, compare at once.

use super::trie::{Child, NO_TOKEN, Node};
use crate::ByteSet;

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Kinds(u64);

/// What is of no other kind: backslashes, deletes, and bytes that are no character.
const OTHER: u64 = 1 << 63;

/// The beginning of a character of more than one byte, with which a token ends: which
/// character it is, other tokens tell.
const CUT: u64 = 1 << 62;

/// Control characters: U+0000 to U+001F.
const CONTROL: u64 = 1 << 61;

/// So many characters at least begin with the same bytes but for the last one.
const BEGIN_ALIKE: u32 = 64;

/// The code points of each kind, ascending.
const KINDS: [(u32, u32); 61] = [
    (0x20, 0x20),
    (0x21, 0x21),
    (0x22, 0x22),
    (0x23, 0x23),
    (0x24, 0x24),
    (0x25, 0x25),
    (0x26, 0x26),
    (0x27, 0x27),
    (0x28, 0x28),
    (0x29, 0x29),
    (0x2A, 0x2A),
    (0x2B, 0x2B),
    (0x2C, 0x2C),
    (0x2D, 0x2D),
    (0x2E, 0x2E),
    (0x2F, 0x2F),
    (0x30, 0x30),
    (0x31, 0x39),
    (0x3A, 0x3A),
    (0x3B, 0x3B),
    (0x3C, 0x3C),
    (0x3D, 0x3D),
    (0x3E, 0x3E),
    (0x3F, 0x3F),
    (0x40, 0x40),
    (0x41, 0x46),
    (0x47, 0x5A),
    (0x5B, 0x5B),
    (0x5D, 0x5D),
    (0x5E, 0x5E),
    (0x5F, 0x5F),
    (0x60, 0x60),
    (0x61, 0x66),
    (0x67, 0x7A),
    (0x7B, 0x7B),
    (0x7C, 0x7C),
    (0x7D, 0x7D),
    (0x7E, 0x7E),
    (0x80, 0x9F),
    (0xA0, 0xA0),
    (0xA1, 0xBF),
    (0xC0, 0x24F),
    (0x250, 0x167F),
    (0x1680, 0x1680),
    (0x1681, 0x1FFF),
    (0x2000, 0x200A),
    (0x200B, 0x2027),
    (0x2028, 0x2029),
    (0x202A, 0x202E),
    (0x202F, 0x202F),
    (0x2030, 0x205F),
    (0x2060, 0x206F),
    (0x2070, 0x2FFF),
    (0x3000, 0x3000),
    (0x3001, 0x303F),
    (0x3040, 0xD7FF),
    (0xE000, 0xFEFE),
    (0xFEFF, 0xFEFF),
    (0xFF00, 0xFFFF),
    (0x1_0000, 0x1_FFFF),
    (0x2_0000, 0x10_FFFF),
];

impl Kinds {
    pub(crate) const NONE: Kinds = Kinds(0);

    pub(crate) fn of(c: char) -> Kinds {
        let c = u32::from(c);
        if c < 0x20 {
            return Kinds(CONTROL);
        }
        let at = KINDS.partition_point(|kind| kind.1 < c);
        match KINDS.get(at) {
            Some(kind) if kind.0 <= c => Kinds(1 << at),
            _ => Kinds(OTHER),
        }
    }

    /// The kinds of which a class has all characters; `class` are ascending ranges
    /// of code points.
    pub(crate) fn within(class: &[(u32, u32)]) -> Kinds {
        match has_some_of_each(class) {
            true => Kinds(Kinds::whole(class).0 | CUT),
            false => Kinds::whole(class),
        }
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
        let whole = KINDS.iter().zip(0..);
        Kinds(whole.fold(0, |kinds, (kind, at)| {
            kinds | u64::from(has_all(class, *kind)) << at
        }))
    }

    pub(crate) fn and(self, others: Kinds) -> Kinds {
        Kinds(self.0 | others.0)
    }

    pub(crate) fn are_within(self, others: Kinds) -> bool {
        self.0 & !others.0 == 0
    }

    /// Whether a byte is a character of one of the kinds, alone.
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

    pub(crate) fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The same kinds without others.
    pub(crate) fn less(self, others: Kinds) -> Kinds {
        Kinds(self.0 & !others.0)
    }

    /// The bytes of the characters of a class, and those of longer characters: of none where
    /// the class has none. What has no kind of its own is left out.
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

/// Whether a class has all characters from one to another, both included. Surrogates are
/// no characters.
fn has_all(class: &[(u32, u32)], (from, to): (u32, u32)) -> bool {
    let range = class.partition_point(|range| range.1 < from);
    // A class may have its ranges in pieces that touch.
    let mut next = from;
    for range in &class[range..] {
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

/// Whether each beginning of a character of more than one byte can become one of a class.
fn has_some_of_each(class: &[(u32, u32)]) -> bool {
    let mut next = 0x80u32;
    let mut gaps_are_short = true;
    for &(from, to) in class.iter().chain(&[(0x11_0000, 0x11_0000)]) {
        // No character is a surrogate.
        for (from, to) in [(next, from.min(0xD800)), (next.max(0xE000), from)] {
            let block = from.next_multiple_of(BEGIN_ALIKE);
            gaps_are_short &= block + BEGIN_ALIKE > to;
        }
        next = next.max(to + 1);
    }
    gaps_are_short
}

/// The kind of each character of a byte.
const ASCII: [u64; 128] = {
    let mut kinds = [OTHER; 128];
    let mut c = 0;
    while c < 0x20 {
        kinds[c] = CONTROL;
        c += 1;
    }
    let mut at = 0;
    while at < KINDS.len() && KINDS[at].1 < 128 {
        let mut c = KINDS[at].0;
        while c <= KINDS[at].1 {
            kinds[c as usize] = 1 << at;
            c += 1;
        }
        at += 1;
    }
    kinds
};

/// What is at and below the nodes of a trie.
#[derive(Debug)]
pub(crate) struct AllBelow {
    /// The kinds of the characters that end at a node or below it, by the number of a child
    /// as in [`Siblings`](super::trie::Siblings); of one inside a character also [`OTHER`].
    kinds: Box<[Kinds]>,
    /// How many characters the longest token at a node or below it has, in the same order:
    /// see [`chars`].
    longest: Box<[u16]>,
    /// By node, how many tokens come before it.
    before: Box<[u32]>,
}

impl AllBelow {
    /// `children` are in the order of their numbers. O(nodes).
    pub(super) fn new(nodes: &[Node], children: &[Child]) -> AllBelow {
        let mut all = vec![(Kinds::NONE, 0); nodes.len()];
        let mut parents: Vec<u32> = Vec::with_capacity(nodes.len());
        let mut before = Vec::with_capacity(nodes.len());
        let mut tokens = 0;
        // The nodes on the way, and how much of their last character is open.
        let mut way: Vec<(u32, Open, u16)> = Vec::new();
        for (at, node) in (0..).zip(nodes) {
            way.truncate(usize::from(node.depth) - 1);
            let (parent, open, before_it) =
                way.last().copied().unwrap_or((u32::MAX, Open::NOTHING, 0));
            let (kind, open) = open.step(node.byte);
            let length = before_it + chars([node.byte]) as u16;
            let is_cut = node.token != NO_TOKEN && open != Open::NOTHING;
            let kinds = if is_cut { Kinds(kind.0 | CUT) } else { kind };
            all[at as usize] = (kinds, length);
            before.push(tokens);
            tokens += u32::from(node.token != NO_TOKEN);
            parents.push(parent);
            way.push((at, open, length));
        }
        for at in (0..nodes.len()).rev() {
            let (kinds, longest) = all[at];
            if let Some(parent) = all.get_mut(parents[at] as usize) {
                *parent = (parent.0.and(kinds), parent.1.max(longest));
            }
        }
        let kinds = |child: &Child| {
            let at = child.node as usize;
            match nodes[at].byte {
                0x80..=0xBF => all[at].0.and(Kinds(OTHER)),
                _ => all[at].0,
            }
        };
        AllBelow {
            kinds: children.iter().map(kinds).collect(),
            longest: children.iter().map(|c| all[c.node as usize].1).collect(),
            before: before.into(),
        }
    }

    /// The kinds of the characters that end at a node or below it, by the number of a child,
    /// as in [`Siblings`](super::trie::Siblings); of a node inside a character more than any
    /// class has.
    #[inline]
    pub(crate) fn kinds(&self) -> &[Kinds] {
        &self.kinds
    }

    /// How many characters the longest token at a node or below it has, in the same order.
    #[inline]
    pub(crate) fn longest(&self) -> &[u16] {
        &self.longest
    }

    /// How many tokens come before a node, if there is one.
    pub(super) fn before(&self, node: usize) -> Option<usize> {
        self.before.get(node).map(|before| *before as usize)
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.kinds) + size_of_val(&*self.longest) + size_of_val(&*self.before)
    }
}

/// The tokens of a trie by the kinds that all their characters have: some thousand sets.
#[derive(Debug, Default)]
pub(crate) struct ByKinds {
    /// One set after another, and where its tokens end.
    sets: Vec<(Kinds, u32)>,
    /// Those of a set by their characters.
    tokens: Box<[u32]>,
    /// How many characters each has: see [`chars`].
    chars: Box<[u16]>,
}

impl ByKinds {
    /// O(nodes).
    pub(super) fn new(nodes: &[Node]) -> ByKinds {
        let mut all: Vec<(u64, u16, u32)> = Vec::new();
        // Of the nodes on the way, with how much of their last character is open.
        let mut way: Vec<(Kinds, Open, u16)> = Vec::new();
        for node in nodes {
            way.truncate(usize::from(node.depth) - 1);
            let (before, open, length) =
                way.last().copied().unwrap_or((Kinds(0), Open::NOTHING, 0));
            let (kind, open) = open.step(node.byte);
            let length = length + chars([node.byte]) as u16;
            let kinds = Kinds(before.0 | kind.0);
            if node.token != NO_TOKEN {
                let cut = if open == Open::NOTHING { 0 } else { CUT };
                all.push((kinds.0 | cut, length, node.token));
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
        ByKinds {
            sets,
            tokens: all.iter().map(|(.., token)| *token).collect(),
            chars: all.iter().map(|(_, chars, _)| *chars).collect(),
        }
    }

    /// The tokens whose characters are of some kinds alone, so many at most.
    pub(crate) fn within(&self, kinds: Kinds, chars: usize) -> impl Iterator<Item = u32> {
        let mut from = 0;
        let sets = self.sets.iter().filter_map(move |&(set, end)| {
            let range = from as usize..end as usize;
            from = end;
            if !set.are_within(kinds) {
                return None;
            }
            let lengths = &self.chars[range.clone()];
            let count = lengths.partition_point(|&length| usize::from(length) <= chars);
            Some(&self.tokens[range][..count])
        });
        sets.flatten().copied()
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        size_of_val(self.sets.as_slice()) + size_of_val(&*self.tokens) + size_of_val(&*self.chars)
    }
}

/// How many characters begin in some bytes of UTF-8.
#[inline]
pub(crate) fn chars(bytes: impl IntoIterator<Item = u8>) -> usize {
    let begins = |byte: &u8| !matches!(byte, 0x80..=0xBF);
    bytes.into_iter().filter(begins).count()
}

/// The bytes of a character that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    bytes: [u8; 4],
    len: usize,
}

impl Open {
    const NOTHING: Open = Open {
        bytes: [0; 4],
        len: 0,
    };

    /// The kind of the character that ends with a byte, and what is then open.
    fn step(mut self, byte: u8) -> (Kinds, Open) {
        if self.len < 4 {
            self.bytes[self.len] = byte;
            self.len += 1;
        }
        match std::str::from_utf8(&self.bytes[..self.len]) {
            Ok(text) => {
                let kinds = text.chars().fold(0, |kinds, c| kinds | Kinds::of(c).0);
                (Kinds(kinds), Open::NOTHING)
            }
            Err(e) if e.error_len().is_none() => (Kinds(0), self),
            // No character at all, here or further on.
            Err(_) => (Kinds(OTHER), Open::NOTHING),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trie::Trie;
    use super::*;
    use crate::TokenId;

    #[test]
    fn kinds_do_not_overlap_and_leave_out_what_is_no_text() {
        for pair in KINDS.windows(2) {
            assert!(pair[0].0 <= pair[0].1 && pair[0].1 < pair[1].0, "{pair:?}");
        }
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
        let within = |class: &[(u32, u32)], bytes| {
            let mut tokens: Vec<u32> = by_kinds.within(Kinds::within(class), bytes).collect();
            tokens.sort_unstable();
            tokens
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
        assert_eq!(within(&[(0x20, 0xFFFF)], 2), [0, 1, 2, 4, 5], "not of all");
        assert!(within(&[], 9).is_empty());
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
            below.kinds()[child.expect("every node is a child")]
        };
        let a = Kinds::of('a').0 | Kinds::of('/').0 | Kinds::of('é').0;
        assert_eq!(kinds(b"a"), Kinds(a));
        assert_eq!(kinds(b"ab"), Kinds::of('b'));
        assert_eq!(kinds(b"b"), Kinds(Kinds::of('b').0 | CUT));
        assert_eq!(kinds(b"c").0 & OTHER, OTHER);
        assert!(
            Kinds::of('"').are_within(kinds(b"d")) && Kinds(OTHER | CONTROL).0 & kinds(b"d").0 == 0
        );
        let inside = "aé".as_bytes();
        assert_eq!(kinds(inside), Kinds(Kinds::of('é').0 | OTHER));
    }
}
