//! From an automaton's state to the tokens it allows: a depth-first walk over the vocabulary's trie
//! that leaves a subtree out as soon as its bytes die. For example, after `{"a": ` the byte `x`
//! dies, and with it all tokens that begin with it.

use super::descent::{Levels, Skips};
use super::ground::ClassKinds;
use super::step_memo::StepMemo;
use super::text_table::TextTable;
use crate::automaton::AskParts;
use crate::bits::Bits;
use crate::budget::{ASK_EVERY, Meter};
use crate::tokens::{Area, Child, NO_TOKEN, Trie};
use crate::{ByteAutomaton, ByteSet, Cursor, Spot, Texts, TokenMask, Vocabulary};

/// Working memory of walks; keep it between them.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    /// The cursor after the first, second, .. byte of the current node.
    pub(crate) path: Vec<Cursor>,
    /// The same of a second state.
    other: Vec<Cursor>,
    pub(crate) next: NextBytes,
    pub(crate) memo: StepMemo,
    pub(crate) levels: Levels,
    /// The kinds of the automaton's classes.
    pub(crate) classes: ClassKinds,
    /// The readings of texts on the way.
    pub(crate) readings: TextTable,
    /// Nodes of all walks that nobody has asked for yet.
    pub(crate) visited: u64,
}

/// The bytes that may come behind each node on the way.
#[derive(Debug, Default)]
pub(crate) struct NextBytes(pub(crate) Vec<ByteSet>);

impl NextBytes {
    /// Room for the depths of a trie. Deeper ones are of walks before, until a node is put there.
    pub(crate) fn fresh(&mut self, trie: &Trie) -> &mut Self {
        let depths = self.0.len().max(trie.max_depth() + 1);
        self.0.resize(depths, ByteSet::ALL);
        self
    }

    /// Tells whether a step from the node in the depth above can lead anywhere.
    #[inline]
    pub(crate) fn have(&self, depth: usize, byte: u8) -> bool {
        self.0[depth - 1].has(byte)
    }

    /// The bytes behind a node of a depth, if they are worth asking for.
    #[inline]
    pub(crate) fn put(&mut self, depth: usize, is_worth: bool, bytes: impl FnOnce() -> ByteSet) {
        self.0[depth] = match is_worth {
            true => bytes(),
            false => ByteSet::ALL,
        };
    }
}

/// The most nodes below with which each step is taken without asking for the next bytes, because
/// that is as fast.
const WORTH_ASKING: usize = 2;

impl Walker {
    /// To be called when the automaton has been entered anew: cursors of
    /// before mean nothing any more.
    pub(crate) fn begin<A: ByteAutomaton>(&mut self) {
        if !A::STEPS_ARE_CHEAP {
            self.memo.begin();
        }
    }

    /// The nodes that were visited and not taken.
    pub(crate) fn visited(&self) -> u64 {
        self.visited
    }

    /// The nodes that were visited since this was asked last.
    pub(crate) fn take_visited(&mut self) -> u64 {
        std::mem::take(&mut self.visited)
    }

    /// Calls `hit` with each token that may come at `start`, tokens with the same bytes once, and
    /// the cursor behind it. Returns the number of nodes that were visited; the walk ends early
    /// where `meter` says so.
    pub(crate) fn walk<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        start: Cursor,
        scratch: &mut A::Scratch,
        area: Area<'_>,
        meter: &mut Meter,
        hit: impl FnMut(u32, Cursor),
    ) -> u64 {
        fresh(&mut self.path, area.trie, start);
        self.next.fresh(area.trie).0[0] = automaton.next_bytes(Spot::Cursor(start), scratch);
        self.go_down(automaton, scratch, area, None, meter, hit)
    }

    /// The cursor behind some bytes.
    pub(crate) fn lead<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        from: Cursor,
        scratch: &mut A::Scratch,
        bytes: impl Iterator<Item = u8>,
    ) -> Cursor {
        bytes.fold(from, |cursor, byte| {
            self.memo.step(automaton, cursor, byte, scratch)
        })
    }

    /// Walks through what is below a node, or the whole trie for `None`, whose cursor and
    /// next bytes are in their place.
    pub(super) fn go_down<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        scratch: &mut A::Scratch,
        Area { trie, skip }: Area<'_>,
        top: Option<usize>,
        meter: &mut Meter,
        mut hit: impl FnMut(u32, Cursor),
    ) -> u64 {
        let Walker {
            path, next, memo, ..
        } = self;
        let nodes = trie.nodes();
        let siblings = trie.siblings();
        let mut skips = Skips::new(skip);
        let mut visited = 0;
        // Most of the first children lead nowhere, and lie far apart.
        let above = top.map_or(0, |node| usize::from(nodes[node].depth));
        let bytes = next.0[above];
        let mut ask_at = ASK_EVERY;
        'walk: for child in siblings.of(top) {
            let child = child as usize;
            if !bytes.has(siblings.bytes()[child]) {
                continue;
            }
            let mut at = siblings.child(child).node as usize;
            let end = nodes[at].end as usize;
            if above == 0 && !meter.go_on(visited) {
                break;
            }
            // If most nodes lead on, those of a subtree are best met one after the other.
            while at < end {
                if let Some(to) = skips.over(at as u32) {
                    at = to as usize;
                    continue;
                }
                let node = &nodes[at];
                let depth = usize::from(node.depth);
                visited += 1;
                if visited >= ask_at {
                    if !meter.go_on(visited) {
                        break 'walk;
                    }
                    ask_at = visited + ASK_EVERY;
                }
                let cursor = match next.have(depth, node.byte) {
                    true => memo.step(automaton, path[depth - 1], node.byte, scratch),
                    false => Cursor::DEAD,
                };
                if cursor.is_dead() {
                    at = node.end as usize;
                    continue;
                }
                path[depth] = cursor;
                if node.token != NO_TOKEN {
                    hit(node.token, cursor);
                }
                let is_worth = node.end as usize - at > WORTH_ASKING;
                next.put(depth, is_worth, || match memo.has_row(cursor) {
                    true => ByteSet::ALL,
                    false => automaton.next_bytes(Spot::Cursor(cursor), scratch),
                });
                at += 1;
            }
        }
        self.visited += visited;
        visited
    }

    /// Turns the bits of the cursor `known` into those of `cursor`, by a walk that leaves a subtree
    /// out as soon as both have met: what follows is then judged alike. Returns the number of nodes
    /// that were visited, those on which they differ.
    pub(crate) fn difference<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        [cursor, known]: [Cursor; 2],
        scratch: &mut A::Scratch,
        trie: &Trie,
        meter: &mut Meter,
        bits: &mut (impl Bits + ?Sized),
    ) -> u64 {
        fresh(&mut self.path, trie, cursor);
        fresh(&mut self.other, trie, known);
        let mut visited = 0;
        let mut at = 0;
        while let Some(node) = trie.nodes().get(at) {
            if !meter.go_on(visited) {
                break;
            }
            let end = node.end as usize;
            visited += self.difference_in(automaton, scratch, trie, at..end, bits);
            at = end;
        }
        self.visited += visited;
        visited
    }

    /// As [`Walker::difference`], where all differences lie behind the texts of
    /// a list, or on the way to them if `known` is dead.
    pub(crate) fn differ_behind<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        [cursor, known]: [Cursor; 2],
        scratch: &mut A::Scratch,
        trie: &Trie,
        texts: &Texts,
        bits: &mut (impl Bits + ?Sized),
    ) -> u64 {
        fresh(&mut self.path, trie, cursor);
        // All that may come is listed: of another cursor nothing need be known.
        let listed = known.is_dead();
        if listed {
            self.other.clear();
        }
        fresh(&mut self.other, trie, known);
        // The nodes that the text before led to, and up to where the cursors
        // along them are known.
        let mut way: Vec<Child> = Vec::new();
        let siblings = trie.siblings();
        let mut before: &[u8] = &[];
        let mut stepped = 0;
        let mut visited = 0;
        let branch = texts.branch();
        for (number, text) in texts.iter().enumerate() {
            let shared = text.iter().zip(before).take_while(|(a, b)| a == b).count();
            let shared = shared.min(way.len());
            way.truncate(shared);
            stepped = stepped.min(shared);
            let mut depth = shared;
            loop {
                let here = depth.checked_sub(1).map(|last| way[last]);
                let is_new = depth > shared || (number == 0 && depth == 0);
                let mut behind = [None, None];
                let child = |byte| match here {
                    Some(here) => siblings.find(here.children(), byte),
                    None => siblings.find(siblings.of(None), byte),
                };
                if let (Some(byte), true) = (branch, is_new) {
                    behind[0] = child(byte);
                }
                let next = text.get(depth).and_then(|&byte| child(byte));
                if depth + 1 == text.len() {
                    behind[1] = next;
                }
                if behind != [None, None] {
                    while stepped < depth {
                        let byte = text[stepped];
                        self.path[stepped + 1] =
                            self.memo.step(automaton, self.path[stepped], byte, scratch);
                        if !listed {
                            let before = self.other[stepped];
                            self.other[stepped + 1] =
                                self.memo.step(automaton, before, byte, scratch);
                        }
                        stepped += 1;
                        visited += 1;
                    }
                }
                if let (true, true, Some(here)) = (listed, is_new, here)
                    && here.token != NO_TOKEN
                {
                    bits.allow(here.token);
                    visited += 1;
                }
                if let Some(child) = behind[0] {
                    let node = child.node as usize;
                    let range = node..trie.nodes()[node].end as usize;
                    visited += self.difference_in(automaton, scratch, trie, range, bits);
                }
                if let Some(child) = behind[1] {
                    let byte = text[depth];
                    let mut cursors = [self.path[depth], self.other[depth]];
                    for cursor in &mut cursors[..if listed { 1 } else { 2 }] {
                        *cursor = self.memo.step(automaton, *cursor, byte, scratch);
                    }
                    visited += 1;
                    if cursors[0] != cursors[1] {
                        let node = child.node as usize;
                        visited +=
                            self.difference_at(automaton, cursors, scratch, trie, node, bits);
                    }
                }
                match next {
                    Some(node) if depth + 1 < text.len() => way.push(node),
                    _ => break,
                }
                depth += 1;
            }
            before = text;
        }
        self.visited += visited;
        visited
    }

    /// The differences in a subtree, of whose first node these are the cursors behind its
    /// byte.
    fn difference_at<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        [cursor, known]: [Cursor; 2],
        scratch: &mut A::Scratch,
        trie: &Trie,
        node: usize,
        bits: &mut (impl Bits + ?Sized),
    ) -> u64 {
        let first = &trie.nodes()[node];
        let end = first.end as usize;
        if cursor.is_dead() {
            let nodes = trie.nodes()[node..end].iter();
            let tokens = nodes.map(|node| node.token).filter(|&t| t != NO_TOKEN);
            tokens.for_each(|token| bits.forbid(token));
            return 0;
        }
        let depth = first.depth as usize;
        (self.path[depth], self.other[depth]) = (cursor, known);
        if first.token != NO_TOKEN {
            bits.allow(first.token);
        }
        self.difference_in(automaton, scratch, trie, node + 1..end, bits)
    }

    /// The differences in a part of the trie; the cursors on the way to it are
    /// known.
    fn difference_in<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        scratch: &mut A::Scratch,
        trie: &Trie,
        range: std::ops::Range<usize>,
        bits: &mut (impl Bits + ?Sized),
    ) -> u64 {
        let Walker {
            path,
            other,
            next,
            memo,
            ..
        } = self;
        let nodes = trie.nodes();
        let Some(first) = nodes.get(range.start).filter(|_| !range.is_empty()) else {
            return 0;
        };
        let both = |cursors: [Cursor; 2], scratch: &mut A::Scratch| {
            let [a, b] = cursors.map(|cursor| automaton.next_bytes(Spot::Cursor(cursor), scratch));
            a.or(b)
        };
        let above = usize::from(first.depth) - 1;
        let next = next.fresh(trie);
        next.0[above] = both([path[above], other[above]], scratch);
        let mut visited = 0;
        let mut at = range.start;
        while at < range.end {
            let node = &nodes[at];
            let depth = node.depth as usize;
            visited += 1;
            if !next.have(depth, node.byte) {
                at = node.end as usize;
                continue;
            }
            let cursor = memo.step(automaton, path[depth - 1], node.byte, scratch);
            let before = memo.step(automaton, other[depth - 1], node.byte, scratch);
            let end = node.end as usize;
            if cursor == before {
                at = end;
            } else if cursor.is_dead() {
                for node in nodes[at..end].iter().filter(|n| n.token != NO_TOKEN) {
                    bits.forbid(node.token);
                }
                at = end;
            } else {
                path[depth] = cursor;
                other[depth] = before;
                let is_worth = end - at > WORTH_ASKING;
                next.put(depth, is_worth, || both([cursor, before], scratch));
                if node.token != NO_TOKEN {
                    bits.allow(node.token);
                }
                at += 1;
            }
        }
        visited
    }
}

/// A path as long as the longest token, with its first cursor. The cursors behind that are of walks
/// before, until a node is put there.
pub(crate) fn fresh<'a>(path: &'a mut Vec<Cursor>, trie: &Trie, start: Cursor) -> &'a mut [Cursor] {
    let depths = path.len().max(trie.max_depth() + 1);
    path.resize(depths, Cursor::DEAD);
    path[0] = start;
    path
}

/// The mask at `state` by trying every token on its own: slow, and so plain
/// that it decides what is right. Every faster way must give the same bits.
///
/// Special tokens that the automaton reads are told by
/// [`SpecialTokens::allowed`](crate::SpecialTokens::allowed) and their names. O(bytes of the
/// vocabulary).
///
/// ```
/// use fsm_index::{ByteAutomaton, Config, Dfa, TokenId, Vocabulary, brute_force_mask};
///
/// # let tokens = ["a", "ab", "b"];
/// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
/// let automaton = Dfa::new("ab?")?.to_bytes(&Config::default())?;
/// let mask = brute_force_mask(&automaton, &automaton.start(), &vocabulary);
/// assert_eq!(mask.iter().collect::<Vec<_>>(), [0, 1].map(TokenId::new));
/// # Ok::<(), fsm_index::Error>(())
/// ```
pub fn brute_force_mask<A: ByteAutomaton>(
    automaton: &A,
    state: &A::State,
    vocabulary: &Vocabulary,
) -> TokenMask {
    let mut scratch = automaton.scratch();
    let mut mask = TokenMask::none(vocabulary.width());
    for (token, bytes) in vocabulary.texts() {
        let mut after = state.clone();
        if !bytes.is_empty() && automaton.advance(&mut after, bytes, &mut scratch).is_ok() {
            mask.allow(token);
        }
    }
    if automaton.is_accepting(state) {
        for &end in vocabulary.ends() {
            mask.allow(end);
        }
    }
    let mut specials = Vec::new();
    automaton.allowed_specials(state, &mut specials);
    for special in specials {
        let name = automaton
            .parts()
            .special_names
            .names
            .get(special.0 as usize);
        if let Some(token) = name.and_then(|name| vocabulary.special(name)) {
            mask.allow(token);
        }
    }
    mask
}
