//! Walks inside of lexemes, which look at no stack: tokens that end in one, and the subtrees before
//! which one ends. For example, of the token `12+` a number ends before `+`, whose subtree is noted
//! and not entered.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::descent::{Descent, FEW, Level};
use super::free_below::{free_at, walk_below};
use super::free_subtrees::{Free, FreeChildren};
use super::ground::{ClassKinds, Ground};
use super::walker::{Walker, fresh};
use crate::budget::Meter;
use crate::rows::{RestGroup, Rests, Size, TextRests};
use crate::tokens::{Area, NO_TOKEN};
use crate::{ByteAutomaton, Cursor, LexemePlace, Lexemes, Spot};

/// Lists of numbers by what they belong to.
#[derive(Debug)]
pub(crate) struct ListsBy<K> {
    places: HashMap<K, usize, FixedState>,
    all: Vec<(K, Vec<u32>)>,
    count: usize,
}

impl<K> Default for ListsBy<K> {
    fn default() -> ListsBy<K> {
        ListsBy {
            places: HashMap::default(),
            all: Vec::new(),
            count: 0,
        }
    }
}

impl<K: Clone + Eq + Hash> ListsBy<K> {
    /// Returns the number of numbers.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Adds numbers to the list of a key.
    #[inline]
    pub(crate) fn extend(&mut self, key: K, numbers: &[u32]) {
        self.count += numbers.len();
        let count = self.all.len();
        let at = match self.all.last() {
            Some(last) if last.0 == key => count - 1,
            _ => *self.places.entry(key.clone()).or_insert(count),
        };
        if at == count {
            self.all.push((key, Vec::new()));
        }
        self.all[at].1.extend_from_slice(numbers);
    }

    /// All of them, in the order in which their keys came.
    pub(crate) fn all(self) -> Vec<(K, Vec<u32>)> {
        self.all
    }
}

impl LexemePlace {
    /// Tells whether a lexeme may end there before a byte.
    #[inline]
    fn ends_before(&self, byte: u8, takes_all: bool) -> bool {
        self.ends != 0 && self.end_bytes.has(byte) && !(takes_all && self.next_bytes.has(byte))
    }

    /// Tells whether it takes a byte, or may end before it.
    #[inline]
    fn counts(&self, byte: u8) -> bool {
        self.next_bytes.has(byte) || (self.ends != 0 && self.end_bytes.has(byte))
    }
}

/// The ends and questions that a walk inside of lexemes leaves to the stacks.
#[derive(Debug, Default)]
pub(crate) struct LexemesMet {
    /// By [`LexemePlace::ends`]: the nodes to be read behind such an end.
    pub(crate) ends: ListsBy<u32>,
    /// By [`LexemePlace::asks`]: tokens that end where this is asked.
    pub(crate) asks: ListsBy<u32>,
}

impl LexemesMet {
    /// Notes the nodes of a byte before which a lexeme may end.
    #[inline]
    pub(crate) fn ends(&mut self, at: &LexemePlace, byte: u8, nodes: &[u32], takes_all: bool) {
        if at.ends_before(byte, takes_all) {
            self.ends.extend(at.ends, nodes);
        }
    }

    #[inline]
    fn token(&mut self, token: u32, asks: u32, hit: &mut impl FnMut(u32)) {
        match (token, asks) {
            (NO_TOKEN, _) => {}
            (_, 0) => hit(token),
            _ => self.asks.extend(asks, &[token]),
        }
    }
}

/// The tokens that a walk inside of lexemes reads.
#[derive(Clone, Copy)]
pub(crate) enum LexemeTokens<'a> {
    /// All of them.
    All,
    /// The tokens at and below nodes whose last byte was read.
    Behind(&'a [u32]),
    /// The small ones among rests.
    Rests(&'a Rests),
}

impl Walker {
    /// Calls `hit` with each token that ends in a lexeme that has begun at a place, of those that
    /// are to be read, and notes in `met` where lexemes end before. Tokens that are known to come
    /// because the ground has free text are left out. Returns the number of nodes that were
    /// visited; the walk ends early where `meter` says so, or behind more nodes at ends than
    /// `most_ends`.
    pub(crate) fn walk_lexemes<A: ByteAutomaton>(
        &mut self,
        (automaton, lexemes): (&A, &dyn Lexemes<A::Scratch>),
        (place, tokens): (u32, LexemeTokens<'_>),
        scratch: &mut A::Scratch,
        ground: Ground<'_>,
        (meter, met, most_ends): (&mut Meter, &mut LexemesMet, usize),
        mut hit: impl FnMut(u32),
    ) -> u64 {
        let mut walk = LexemeWalk {
            automaton,
            lexemes,
            scratch,
            ground,
            met,
            most_ends,
            classes: std::mem::take(&mut self.classes),
            takes_all: automaton.parts().lexemes_take_all,
            places: Places::new(lexemes),
        };
        fresh(&mut self.path, ground.area.trie, Cursor::DEAD);
        let mut visited = 0;
        match tokens {
            LexemeTokens::All => visited += walk.below(self, None, place, meter, &mut hit),
            LexemeTokens::Behind(nodes) => {
                visited += walk.at_nodes(self, nodes, place, meter, &mut hit);
            }
            LexemeTokens::Rests(rests) => {
                let first = lexemes.place(place, walk.scratch);
                for RestGroup { byte, nodes, .. } in rests.groups(Size::Small) {
                    walk.met.ends(&first, byte, nodes, walk.takes_all);
                    let behind = lexemes.step(place, byte, walk.scratch);
                    visited += 1;
                    if behind != 0 && meter.go_on(visited) {
                        visited += walk.at_nodes(self, nodes, behind, meter, &mut hit);
                    }
                }
            }
        }
        self.classes = walk.classes;
        self.visited += visited;
        visited
    }

    /// Calls `hit` with each of the tokens at and below rests that may come from a cursor. Returns
    /// the number of nodes that were visited; the walk ends early where `meter` says so.
    pub(crate) fn walk_rests<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        of: &TextRests,
        scratch: &mut A::Scratch,
        ground: Ground<'_>,
        meter: &mut Meter,
        mut hit: impl FnMut(u32),
    ) -> u64 {
        let mut visited = 0;
        for group in of.rests.all_groups() {
            visited += 1;
            let cursor = self.lead(automaton, of.cursor, scratch, [group.byte].into_iter());
            if cursor.is_dead() {
                continue;
            }
            let (spot, classes) = (Spot::Cursor(cursor), &mut self.classes);
            // They differ in their bytes before, which no longer count.
            let free = free_at(automaton, spot, 0, scratch, ground.language, classes);
            let ground = Ground { free, ..ground };
            for &node in group.nodes {
                if !meter.go_on(visited) {
                    return visited;
                }
                let node = node as usize;
                visited += walk_below(self, automaton, cursor, scratch, ground, node, &mut hit);
            }
        }
        visited
    }
}

/// The working memory of such a walk.
struct LexemeWalk<'a, A: ByteAutomaton> {
    automaton: &'a A,
    lexemes: &'a dyn Lexemes<A::Scratch>,
    scratch: &'a mut A::Scratch,
    ground: Ground<'a>,
    met: &'a mut LexemesMet,
    /// The walk stops where more nodes were met behind ends.
    most_ends: usize,
    classes: ClassKinds,
    takes_all: bool,
    places: Places<'a, A::Scratch>,
}

/// The automaton's answers about places in lexemes: a table without chains, in which a newer one
/// takes the place of an older one. Most steps lead to where the one before led.
struct Places<'a, X> {
    lexemes: &'a dyn Lexemes<X>,
    /// With their numbers.
    known: [Option<(u32, LexemePlace)>; PLACES],
}

/// The number of places that are remembered: few, because most steps lead to where the one before
/// led.
const PLACES: usize = 16;

impl<'a, X> Places<'a, X> {
    fn new(lexemes: &'a dyn Lexemes<X>) -> Self {
        Places {
            lexemes,
            known: [None; PLACES],
        }
    }

    #[inline]
    fn get(&mut self, place: u32, scratch: &mut X) -> &LexemePlace {
        let known = &mut self.known[place as usize % PLACES];
        if known.is_none_or(|known| known.0 != place) {
            *known = None;
        }
        let told = known.get_or_insert_with(|| (place, self.lexemes.place(place, scratch)));
        &told.1
    }
}

impl<A: ByteAutomaton> LexemeWalk<'_, A> {
    /// Returns the text that is free at a place behind so many bytes.
    fn free(&mut self, place: u32, depth: usize) -> Option<Free> {
        let spot = Spot::Lexeme(place);
        let language = self.ground.language;
        free_at(
            self.automaton,
            spot,
            depth,
            self.scratch,
            language,
            &mut self.classes,
        )
    }

    /// Walks at and below nodes behind whose bytes the place is.
    fn at_nodes(
        &mut self,
        walker: &mut Walker,
        nodes: &[u32],
        place: u32,
        meter: &mut Meter,
        hit: &mut impl FnMut(u32),
    ) -> u64 {
        let asks = self.places.get(place, self.scratch).asks;
        let mut visited = 0;
        for &node in nodes {
            if !meter.go_on(visited) {
                break;
            }
            visited += 1;
            let own = &self.ground.area.trie.nodes()[node as usize];
            self.met.token(own.token, asks, hit);
            let below = node + 1..own.end;
            if below.is_empty() {
                continue;
            }
            // Most nodes behind ends of lexemes have a few below them, and levels are long to
            // prepare.
            if below.len() as u32 <= FEW && self.ground.area.skip.is_empty() {
                visited += below.len() as u64;
                let depth = usize::from(own.depth);
                walker.path[depth] = Cursor(place);
                self.read_few(&mut walker.path, node as usize + 1..own.end as usize, hit);
                continue;
            }
            visited += self.below(walker, Some(node as usize), place, meter, hit);
        }
        visited
    }

    /// Walks below a node, or over the whole trie for `None`.
    fn below(
        &mut self,
        walker: &mut Walker,
        node: Option<usize>,
        place: u32,
        meter: &mut Meter,
        hit: &mut impl FnMut(u32),
    ) -> u64 {
        let Area { trie, skip } = self.ground.area;
        let Walker { path, levels, .. } = walker;
        let top = node.map_or(0, |node| usize::from(trie.nodes()[node].depth));
        path[top] = Cursor(place);
        let free = match node {
            _ if self.ground.free.is_some() => self.ground.free,
            None => None,
            Some(node) if trie.nodes()[node].end - node as u32 > self.ground.much => {
                self.free(place, top)
            }
            Some(_) => None,
        };
        let children = Level::of(trie.siblings().of(node)).with(free);
        let mut descent = Descent::below(node, trie, levels, children, skip);
        while self.met.ends.count <= self.most_ends {
            let depth = descent.depth;
            let free = descent.level().free;
            // Such text leads back to no beginning.
            let free_children = free.map_or(FreeChildren::NONE, |free| free.among(|| false));
            let here = self.places.get(path[depth].0, self.scratch);
            let counts = |byte| here.counts(byte);
            let Some((child, byte)) = descent.next(&free_children, counts, meter, hit) else {
                if !descent.go_up() {
                    break;
                }
                continue;
            };
            self.met.ends(here, byte, &[child.node], self.takes_all);
            if !here.next_bytes.has(byte) {
                continue;
            }
            let to = self.lexemes.step(path[depth].0, byte, self.scratch);
            if to == 0 {
                continue;
            }
            let place = self.places.get(to, self.scratch);
            self.met.token(child.token, place.asks, hit);
            let children = child.children();
            if children.is_empty() {
                continue;
            }
            path[depth + 1] = Cursor(to);
            let at = (self.ground.below(), child.node);
            let plain = &self.ground.language.plain;
            let mut free = free.and_then(|free| free.behind(byte, plain, at));
            if free.is_none() && descent.has_below(&child, self.ground.much) {
                free = self.free(to, depth + 1);
            }
            let bytes = &self.places.get(to, self.scratch).next_bytes;
            let back = (path[depth + 1] == path[depth]).then_some(bytes);
            match descent.few_below(&child, free, back) {
                Some(few) => self.read_few(path, few, hit),
                None => descent.go_down(Level::of(children).with(free)),
            }
        }
        descent.visited
    }

    /// Reads some nodes, all that are below another one; the places on the way there are known. See
    /// [`read_few`](super::few::read_few).
    fn read_few(
        &mut self,
        path: &mut [Cursor],
        Range { mut start, end }: Range<usize>,
        hit: &mut impl FnMut(u32),
    ) {
        let nodes = self.ground.area.trie.nodes();
        while start < end {
            let node = &nodes[start];
            let depth = usize::from(node.depth);
            let before = path[depth - 1].0;
            let here = self.places.get(before, self.scratch);
            self.met
                .ends(here, node.byte, &[start as u32], self.takes_all);
            if !here.next_bytes.has(node.byte) {
                start = node.end as usize;
                continue;
            }
            let to = self.lexemes.step(before, node.byte, self.scratch);
            if to == 0 {
                start = node.end as usize;
                continue;
            }
            path[depth] = Cursor(to);
            let asks = self.places.get(to, self.scratch).asks;
            self.met.token(node.token, asks, hit);
            start += 1;
        }
    }
}
