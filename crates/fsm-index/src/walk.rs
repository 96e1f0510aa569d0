//! From an automaton's state to the tokens it allows: a depth-first walk over
//! the vocabulary's trie that leaves a subtree out as soon as its bytes die.

use crate::budget::Watch;
use crate::changed::Bits;
use crate::part::Open;
use crate::reading::{Pass, Readings, Text};
use crate::unstepped::{Free, Unstepped};
use crate::vocabulary::{NO_TOKEN, Node, Roots, Trie};
use crate::{ByteAutomaton, ByteSet, Cursor, Differences, TokenMask, Vocabulary};

/// Working memory of walks; keep it between them.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    /// The cursor after the first, second, .. byte of the current node.
    path: Vec<Cursor>,
    /// The same of a second state.
    other: Vec<Cursor>,
    next: NextBytes,
    memo: Memo,
    /// What texts on the way have read.
    readings: Readings,
    /// Where texts of a list ended.
    ends: Vec<End>,
    /// Nodes of all walks that nobody has asked for yet.
    visited: u64,
}

/// Steps of the automaton that were taken since it was last entered: a table
/// without chains, in which a newer step takes the place of an older; and of cursors
/// from which many are taken, all.
#[derive(Debug, Default)]
struct Memo {
    /// What was stepped from, by which byte and in which walk; and where to.
    steps: Vec<(u64, Cursor)>,
    walk: u64,
    /// By cursor: how many steps were asked for, or [`FIRST_ROW`] and the number of its
    /// row.
    asked: Vec<u32>,
    /// By byte, [`UNKNOWN`] where no step was taken yet.
    rows: Vec<[Cursor; 256]>,
}

/// Steps that are remembered.
const MEMO: usize = 1 << 10;

/// So many steps from one cursor are worth a row.
const MANY_STEPS: u32 = 32;
/// No more rows than these, 1 KiB each, are kept.
const MAX_ROWS: usize = 1 << 8;
/// As many are kept for the next walk, and memory for as many cursors.
const FEW_ROWS: usize = 16;
const FEW_CURSORS: usize = 1 << 14;
const FIRST_ROW: u32 = 1 << 31;
/// No cursor.
const UNKNOWN: Cursor = Cursor(u32::MAX);

impl Memo {
    #[inline]
    fn step<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        cursor: Cursor,
        byte: u8,
        scratch: &mut A::Scratch,
    ) -> Cursor {
        if A::STEPS_ARE_CHEAP {
            return automaton.step(cursor, byte, scratch);
        }
        if let Some(row) = self.row(cursor) {
            let known = &mut row[usize::from(byte)];
            if *known == UNKNOWN {
                *known = automaton.step(cursor, byte, scratch);
            }
            return *known;
        }
        let (key, place) = self.place(cursor, byte);
        let known = &mut self.steps[place];
        if known.0 != key {
            *known = (key, automaton.step(cursor, byte, scratch));
        }
        known.1
    }

    /// As [`Memo::step`], on the topmost level; what looks deeper is not
    /// remembered.
    #[inline]
    fn step_on_top<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        cursor: Cursor,
        byte: u8,
        scratch: &mut A::Scratch,
    ) -> Option<Cursor> {
        if A::STEPS_ARE_CHEAP {
            return automaton.step_on_top(cursor, byte, scratch);
        }
        if let Some(row) = self.row(cursor) {
            let known = &mut row[usize::from(byte)];
            if *known == UNKNOWN {
                *known = automaton.step_on_top(cursor, byte, scratch)?;
            }
            return Some(*known);
        }
        let (key, place) = self.place(cursor, byte);
        let known = &mut self.steps[place];
        if known.0 != key {
            *known = (key, automaton.step_on_top(cursor, byte, scratch)?);
        }
        Some(known.1)
    }

    /// The row of a cursor from which many steps are taken; this one is counted.
    #[inline]
    fn row(&mut self, cursor: Cursor) -> Option<&mut [Cursor; 256]> {
        let at = cursor.0 as usize;
        if at >= self.asked.len() {
            self.asked.resize(at + 1, 0);
        }
        let asked = &mut self.asked[at];
        if *asked < FIRST_ROW {
            *asked += 1;
            if *asked < MANY_STEPS || self.rows.len() >= MAX_ROWS {
                return None;
            }
            *asked = FIRST_ROW + self.rows.len() as u32;
            self.rows.push([UNKNOWN; 256]);
        }
        self.rows.get_mut((*asked - FIRST_ROW) as usize)
    }

    /// Whether a cursor has a row: then a step that was taken before costs nothing.
    #[inline]
    fn has_row(&self, cursor: Cursor) -> bool {
        let asked = self.asked.get(cursor.0 as usize);
        asked.is_some_and(|asked| *asked >= FIRST_ROW)
    }

    /// The key of a step, and where it is remembered.
    #[inline]
    fn place(&self, cursor: Cursor, byte: u8) -> (u64, usize) {
        // 24 bits tell walks apart: a table is never as old as that, because
        // it is emptied when they have run out.
        let key = self.walk << 40 | u64::from(cursor.0) << 8 | u64::from(byte);
        (key, (key ^ (key >> 8).wrapping_mul(0x9E37)) as usize % MEMO)
    }
}

/// The bytes that may come behind each node on the way.
#[derive(Debug, Default)]
struct NextBytes(Vec<ByteSet>);

impl NextBytes {
    /// Room for the depths of a trie. What stands in them is of walks before, until
    /// a node is put there.
    fn fresh(&mut self, trie: &Trie) -> &mut Self {
        let depths = self.0.len().max(trie.max_depth() + 1);
        self.0.resize(depths, ByteSet::ALL);
        self
    }

    /// Whether a step from the node in the depth above can lead anywhere.
    #[inline]
    fn have(&self, depth: usize, byte: u8) -> bool {
        self.0[depth - 1].has(byte)
    }

    /// The bytes behind a node, which are worth asking for if there are many nodes
    /// below it.
    #[inline]
    fn put(&mut self, at: usize, node: &Node, bytes: impl FnOnce() -> ByteSet) {
        self.0[usize::from(node.depth)] = match node.end as usize - at > WORTH_ASKING {
            true => bytes(),
            false => ByteSet::ALL,
        };
    }
}

/// Below fewer nodes each step is taken.
const WORTH_ASKING: usize = 2;

impl Walker {
    /// To be called when the automaton has been entered anew: cursors of
    /// before mean nothing any more.
    pub(crate) fn begin<A: ByteAutomaton>(&mut self) {
        if A::STEPS_ARE_CHEAP {
            return;
        }
        self.memo.asked.clear();
        self.memo.asked.shrink_to(FEW_CURSORS);
        // A giant walk is rare, and need not keep its memory.
        self.memo.rows.clear();
        self.memo.rows.shrink_to(FEW_ROWS);
        self.memo.walk = (self.memo.walk + 1) % (1 << 24);
        if self.memo.walk == 0 || self.memo.steps.is_empty() {
            self.memo.walk = 1;
            self.memo.steps.clear();
            self.memo.steps.resize(MEMO, (0, Cursor::DEAD));
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

    /// Calls `hit` with each token that may come at `start`, tokens with the
    /// same bytes once, and the cursor behind it. The nodes in the ranges
    /// `skip` (ascending, whole subtrees) are left out. How many nodes were
    /// visited; the walk ends early where `watch` says so.
    pub(crate) fn walk<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        start: Cursor,
        scratch: &mut A::Scratch,
        (trie, skip): (&Trie, &[(u32, u32)]),
        watch: &mut impl Watch,
        mut hit: impl FnMut(u32, Cursor),
    ) -> u64 {
        let path = fresh(&mut self.path, trie, start);
        let next = self.next.fresh(trie);
        next.0[0] = automaton.next_bytes(start, scratch);
        let memo = &mut self.memo;
        let nodes = trie.nodes();
        let mut roots = Roots::new(trie);
        let mut skips = skip.iter().copied();
        // The next range to be left out; none begins behind the last node.
        let mut skip = skips.next().unwrap_or((u32::MAX, u32::MAX));
        let mut visited = 0;
        let mut at = 0;
        loop {
            while at >= skip.0 as usize {
                at = at.max(skip.1 as usize);
                skip = skips.next().unwrap_or((u32::MAX, u32::MAX));
            }
            let (to, passed) = roots.pass(at, |byte| !next.have(1, byte));
            if passed != 0 {
                visited += passed;
                at = to;
                continue;
            }
            let Some(node) = nodes.get(at) else {
                break;
            };
            let depth = node.depth as usize;
            if depth == 1 && !watch.go_on(visited) {
                break;
            }
            visited += 1;
            if !next.have(depth, node.byte) {
                at = node.end as usize;
                continue;
            }
            let cursor = memo.step(automaton, path[depth - 1], node.byte, scratch);
            if cursor.is_dead() {
                at = node.end as usize;
                continue;
            }
            path[depth] = cursor;
            next.put(at, node, || match memo.has_row(cursor) {
                true => ByteSet::ALL,
                false => automaton.next_bytes(cursor, scratch),
            });
            if node.token != NO_TOKEN {
                hit(node.token, cursor);
            }
            at += 1;
        }
        self.visited += visited;
        visited
    }

    /// As [`Walker::walk`], as far as the topmost level of the automaton's stack
    /// tells; the subtrees of which it does not tell. Subtrees that are `free` are
    /// not stepped through: all their tokens may come.
    pub(crate) fn walk_on_top<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        start: Cursor,
        scratch: &mut A::Scratch,
        (trie, skip, free): (&Trie, &[(u32, u32)], Option<&Free>),
        watch: &mut impl Watch,
        mut hit: impl FnMut(u32),
    ) -> (u64, Vec<Open>) {
        // Steps that looked deeper may be remembered.
        self.begin::<A>();
        let path = fresh(&mut self.path, trie, start);
        let next = self.next.fresh(trie);
        next.0[0] = automaton.next_bytes_on_top(start, scratch);
        let memo = &mut self.memo;
        let nodes = trie.nodes();
        let mut roots = Roots::new(trie);
        let mut bytes = vec![0; trie.max_depth()];
        let mut open = Vec::new();
        let mut unstepped = free.map(|free| Unstepped::new(free, trie));
        let horizon = trie.horizon();
        let readings = &mut self.readings;
        let mut text = Text::at(automaton, (start, 0), horizon, scratch, readings);
        let mut skips = skip.iter().copied();
        let mut skip = skips.next().unwrap_or((u32::MAX, u32::MAX));
        let mut visited = 0;
        let mut at = 0;
        loop {
            while at >= skip.0 as usize {
                at = at.max(skip.1 as usize);
                skip = skips.next().unwrap_or((u32::MAX, u32::MAX));
            }
            let (to, passed) = roots.pass(at, |byte| match &text {
                Some(text) if text.depth == 0 => text.is_dead_first(byte, readings),
                _ => !next.have(1, byte),
            });
            if passed != 0 {
                visited += passed;
                at = to;
                continue;
            }
            let Some(node) = nodes.get(at) else {
                break;
            };
            let depth = node.depth as usize;
            if depth == 1 && !watch.go_on(visited) {
                break;
            }
            visited += 1;
            if let Some(unstepped) = &mut unstepped {
                let is_back = || {
                    let back = |text: &Text<'_>| text.is_back(depth, readings);
                    path[depth - 1] == start || text.as_ref().is_some_and(back)
                };
                let pass = unstepped.pass(at, node, &is_back);
                if pass == Pass::Leave {
                    trie.tokens_below(at).iter().copied().for_each(&mut hit);
                }
                if pass != Pass::Read {
                    at = node.end as usize;
                    continue;
                }
            }
            if let Some(read) = &mut text {
                if read.depth >= depth {
                    text = None;
                } else if read.reads(depth) {
                    let end = skip.0 as usize;
                    let inside = |node: &Node| {
                        let depth = usize::from(node.depth);
                        path[depth] = IN_TEXT;
                        bytes[depth - 1] = node.byte;
                        if node.token != NO_TOKEN {
                            hit(node.token);
                        }
                    };
                    let (to, read_on) = match &mut unstepped {
                        None => {
                            let all = |_: usize, _: &Node, _: &dyn Fn() -> bool| Pass::Read;
                            read.run(nodes, (at, end), readings, all, inside)
                        }
                        Some(unstepped) => {
                            let pass = |at: usize, node: &Node, is_back: &dyn Fn() -> bool| {
                                unstepped.pass(at, node, is_back)
                            };
                            read.run(nodes, (at, end), readings, pass, inside)
                        }
                    };
                    if to != at {
                        visited += read_on - 1;
                        at = to;
                        continue;
                    }
                    if path[depth - 1] == IN_TEXT {
                        let place = read.place(depth - 1, readings);
                        let cursor = automaton.text_cursor(read.cursor, place, scratch);
                        path[depth - 1] = cursor;
                        next.0[depth - 1] = automaton.next_bytes_on_top(cursor, scratch);
                    }
                }
            }
            if !next.have(depth, node.byte) {
                at = node.end as usize;
                continue;
            }
            match memo.step_on_top(automaton, path[depth - 1], node.byte, scratch) {
                None => {
                    open.push(Open {
                        node: at as u32,
                        path: bytes[..depth - 1].into(),
                    });
                    at = node.end as usize;
                }
                Some(cursor) if cursor.is_dead() => at = node.end as usize,
                Some(cursor) => {
                    path[depth] = cursor;
                    next.put(at, node, || automaton.next_bytes_on_top(cursor, scratch));
                    bytes[depth - 1] = node.byte;
                    match &mut text {
                        Some(text) => text.leave(depth),
                        None if node.byte == b'"' => {
                            let here = (cursor, depth);
                            text = Text::at(automaton, here, horizon, scratch, readings);
                        }
                        None => {}
                    }
                    if node.token != NO_TOKEN {
                        hit(node.token);
                    }
                    at += 1;
                }
            }
        }
        self.visited += visited;
        (visited, open)
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

    /// As [`Walker::walk`], in one subtree, of whose first node `cursor` is the one
    /// behind its byte.
    pub(crate) fn walk_below<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        cursor: Cursor,
        scratch: &mut A::Scratch,
        (trie, node): (&Trie, usize),
        mut hit: impl FnMut(u32),
    ) -> u64 {
        let path = fresh(&mut self.path, trie, Cursor::DEAD);
        let next = self.next.fresh(trie);
        let memo = &mut self.memo;
        let nodes = trie.nodes();
        let first = &nodes[node];
        path[first.depth as usize] = cursor;
        next.put(node, first, || automaton.next_bytes(cursor, scratch));
        if first.token != NO_TOKEN {
            hit(first.token);
        }
        let end = first.end as usize;
        let mut at = node + 1;
        let mut visited = 1;
        while at < end {
            let node = &nodes[at];
            let depth = node.depth as usize;
            visited += 1;
            if !next.have(depth, node.byte) {
                at = node.end as usize;
                continue;
            }
            let cursor = memo.step(automaton, path[depth - 1], node.byte, scratch);
            if cursor.is_dead() {
                at = node.end as usize;
                continue;
            }
            path[depth] = cursor;
            next.put(at, node, || match memo.has_row(cursor) {
                true => ByteSet::ALL,
                false => automaton.next_bytes(cursor, scratch),
            });
            if node.token != NO_TOKEN {
                hit(node.token);
            }
            at += 1;
        }
        self.visited += visited;
        visited
    }

    /// Turns the bits of the cursor `known` into those of `cursor`, by a walk
    /// that leaves a subtree out as soon as both have met: what follows is then
    /// judged alike. How many nodes were visited, those on which they differ.
    pub(crate) fn difference<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        (cursor, known): (Cursor, Cursor),
        scratch: &mut A::Scratch,
        trie: &Trie,
        watch: &mut impl Watch,
        bits: &mut (impl Bits + ?Sized),
    ) -> u64 {
        fresh(&mut self.path, trie, cursor);
        fresh(&mut self.other, trie, known);
        let mut visited = 0;
        let mut at = 0;
        while let Some(node) = trie.nodes().get(at) {
            if !watch.go_on(visited) {
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
    /// a list, or on the way to them if `known` is dead. The subtrees behind the last
    /// bytes of the texts are left to the caller: see
    /// [`Walker::take_ends`].
    pub(crate) fn differ_behind<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        (cursor, known): (Cursor, Cursor),
        scratch: &mut A::Scratch,
        trie: &Trie,
        differences: &Differences,
        bits: &mut (impl Bits + ?Sized),
    ) -> u64 {
        self.ends.clear();
        fresh(&mut self.path, trie, cursor);
        // All that may come is listed: of another cursor nothing need be known.
        let listed = known.is_dead();
        if listed {
            self.other.clear();
        }
        fresh(&mut self.other, trie, known);
        // The nodes that the text before led to, and up to where the cursors
        // along them are known.
        let mut way: Vec<usize> = Vec::new();
        let mut before: &[u8] = &[];
        let mut stepped = 0;
        let mut visited = 0;
        let branch = differences.branch();
        for (number, text) in differences.texts().enumerate() {
            let shared = text.iter().zip(before).take_while(|(a, b)| a == b).count();
            let shared = shared.min(way.len());
            way.truncate(shared);
            stepped = stepped.min(shared);
            let mut depth = shared;
            loop {
                let here = depth.checked_sub(1).map(|last| way[last]);
                let is_new = depth > shared || (number == 0 && depth == 0);
                let mut behind = [None, None];
                if let (Some(byte), true) = (branch, is_new) {
                    behind[0] = trie.child(here, byte);
                }
                let next = text.get(depth).and_then(|&byte| trie.child(here, byte));
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
                if let (true, true, Some(node)) = (listed, is_new, here)
                    && trie.nodes()[node].token != NO_TOKEN
                {
                    bits.allow(trie.nodes()[node].token);
                    visited += 1;
                }
                if let Some(node) = behind[0] {
                    let range = node..trie.nodes()[node].end as usize;
                    visited += self.difference_in(automaton, scratch, trie, range, bits);
                }
                if let Some(node) = behind[1] {
                    let byte = trie.nodes()[node].byte;
                    let mut cursors = [self.path[depth], self.other[depth]];
                    for cursor in &mut cursors[..if listed { 1 } else { 2 }] {
                        *cursor = self.memo.step(automaton, *cursor, byte, scratch);
                    }
                    visited += 1;
                    if cursors[0] != cursors[1] {
                        self.ends.push(End { node, cursors });
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

    /// Where the texts of the last list end, as far as that is in the trie; to be put
    /// back afterwards.
    pub(crate) fn take_ends(&mut self) -> Vec<End> {
        std::mem::take(&mut self.ends)
    }

    pub(crate) fn put_back(&mut self, ends: Vec<End>) {
        self.ends = ends;
    }

    /// The differences in a subtree at whose first node two texts end.
    pub(crate) fn difference_at<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        end: &End,
        scratch: &mut A::Scratch,
        trie: &Trie,
        bits: &mut (impl Bits + ?Sized),
    ) {
        let first = &trie.nodes()[end.node];
        let to = first.end as usize;
        let [cursor, before] = end.cursors;
        if cursor.is_dead() {
            let nodes = trie.nodes()[end.node..to].iter();
            let tokens = nodes.map(|node| node.token).filter(|&t| t != NO_TOKEN);
            tokens.for_each(|token| bits.forbid(token));
            return;
        }
        fresh(&mut self.path, trie, Cursor::DEAD);
        fresh(&mut self.other, trie, Cursor::DEAD);
        let depth = first.depth as usize;
        (self.path[depth], self.other[depth]) = (cursor, before);
        if first.token != NO_TOKEN {
            bits.allow(first.token);
        }
        self.visited += self.difference_in(automaton, scratch, trie, end.node + 1..to, bits);
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
            let [a, b] = cursors.map(|cursor| automaton.next_bytes(cursor, scratch));
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
                next.put(at, node, || both([cursor, before], scratch));
                if node.token != NO_TOKEN {
                    bits.allow(node.token);
                }
                at += 1;
            }
        }
        visited
    }
}

/// In the place of a cursor that only the reader of a text knows.
const IN_TEXT: Cursor = Cursor(u32::MAX);

/// Where a text of a list ends: the node of its last byte, and the two cursors
/// behind that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) node: usize,
    pub(crate) cursors: [Cursor; 2],
}

/// A path as long as the longest token, with its first cursor. What stands behind
/// that is of walks before, until a node is put there.
fn fresh<'a>(path: &'a mut Vec<Cursor>, trie: &Trie, start: Cursor) -> &'a mut [Cursor] {
    let depths = path.len().max(trie.max_depth() + 1);
    path.resize(depths, Cursor::DEAD);
    path[0] = start;
    path
}

/// The mask at `state` by trying every token on its own: slow, and so plain
/// that it decides what is right. Every faster way must give the same bits.
///
/// Special tokens that the automaton reads are told by
/// [`ByteAutomaton::allowed_specials`] and their names. O(bytes of the
/// vocabulary).
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
        let name = automaton.specials().get(special.0 as usize);
        if let Some(token) = name.and_then(|name| vocabulary.special(name)) {
            mask.allow(token);
        }
    }
    mask
}
