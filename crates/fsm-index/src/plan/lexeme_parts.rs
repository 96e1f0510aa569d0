//! Parts of rows from lexemes: the ways in which the vocabulary falls into lexemes where some have
//! begun. The part of a large subtree is remembered by the place in a lexeme with which it is
//! entered, because most of it is the same wherever the lexeme began. For example, names are read
//! alike where a statement begins and where an expression does.

use std::sync::Arc;

use super::lexemes::LexemeRows;
use super::token_sink::{MetTokens, TokenSink};
use super::{Work, clear};
use crate::automaton::AskParts as _;
use crate::cache::{Known, Thing};
use crate::rows::{FreeBelow, LexemeAsk, LexemeEnd, LexemePart, Part, Rests, Size, number_of_node};
use crate::tokens::Area;
use crate::walk::{Free, Ground, LexemeTokens, LexemesMet, ListsBy};
use crate::{ByteAutomaton, Error, Lexeme, Lexemes, Spot, TextRuns};

/// The least number of nodes of a subtree whose part is remembered by the place in a lexeme: large
/// ones are met from many places, and a small one is walked sooner than looked up, because its key
/// has to be written first.
const LARGE: u32 = 500;

/// The same of the rests of tokens with one byte, which have a number of their own: less, because such a number is all that is
/// written. Masks of eighteen languages take 6% less than with 500, and no less with 20.
const LARGE_REST: u32 = 60;

/// The deepest subtree whose part is remembered, in bytes, because tokens may be long, and each
/// byte would be a call.
const MAX_DEPTH_OF_PARTS: u16 = 16;

/// The most nodes behind ends of lexemes in one part, where every split counts: if there are more,
/// the part is not remembered, because one token falls into lexemes in too many ways.
const MAX_RESTS_OF_SPLITS: usize = 4_000;

/// The least number of nodes below which tokens that are free text have a list: fewer are walked,
/// because a list is found by a key as long as its nodes.
const WORTH_A_LIST: u32 = 16_000;

/// The parts of large subtrees.
#[derive(Default)]
struct Large {
    parts: Vec<Arc<LexemePart>>,
    /// Nodes behind ends in them.
    rests: usize,
    /// The nodes that a walk has to leave out, as ranges.
    skip: Vec<(u32, u32)>,
    /// The nodes that have no part, where those of several were asked for.
    small: Vec<u32>,
}

/// Small subtrees that are entered with the same place.
struct Entered {
    place: u32,
    free: Option<Free>,
    /// The beginning and end of each, and its byte.
    subtrees: Vec<(u32, u32, u8)>,
    /// Nodes of all of them.
    size: u32,
}

impl<A: ByteAutomaton> LexemeRows<'_, A> {
    /// Returns the part that lexemes decide of all tokens. The lexemes that have begun are put in
    /// order.
    pub(super) fn part_of_lexemes(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        begun: &mut [Lexeme],
        work: &mut Work<A>,
    ) -> Result<Arc<LexemePart>, Error> {
        let Work { scratch, key, .. } = work;
        begun.sort_by_cached_key(|lexeme| lexemes.number(lexeme.place, scratch));
        let words = key.begin(Thing::Lexemes, 0);
        words.extend(begun.iter().map(|l| lexemes.number(l.place, scratch)));
        if let Known::Value(part) = self.known.lexemes.get(work.key.words()) {
            return Ok(part);
        }
        if let &[lexeme] = &*begun {
            let free = self
                .automaton
                .free_text(Spot::Lexeme(lexeme.place), &mut work.scratch);
            let free = free.and_then(|free| self.free_subtrees(None, Some(free), work));
            return self.fresh_lexeme_part(lexemes, lexeme.place, (LexemeTokens::All, free), work);
        }
        let key = work.key.clone();
        let (mut ends, mut asks) = (Vec::new(), Vec::new());
        let mut parts: Vec<Arc<LexemePart>> = Vec::new();
        for (number, &lexeme) in (0..).zip(&*begun) {
            let part = self.part_of_lexemes(lexemes, &mut [lexeme], work)?;
            ends.extend(part.ends.iter().map(|end| LexemeEnd {
                lexeme: number,
                ..end.clone()
            }));
            asks.extend(part.asks.iter().map(|ask| LexemeAsk {
                lexeme: number,
                ..ask.clone()
            }));
            if part.is_wide() {
                return Ok(part);
            }
            parts.push(part);
        }
        clear(&mut work.words, self.vocabulary.width());
        for part in &parts {
            part.sure.add_to(&mut work.words);
        }
        let sure = Part::new(&work.words, Vec::new(), None);
        let part = Arc::new(LexemePart::new(sure, Vec::new(), ends, asks));
        self.known.add_lexemes(key.words(), part.clone());
        Ok(part)
    }

    /// Returns the part that a lexeme which has just begun decides of rests of tokens.
    pub(super) fn part_of_rests(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        lexeme: Lexeme,
        rests: &Rests,
        work: &mut Work<A>,
    ) -> Result<Arc<LexemePart>, Error> {
        let number = lexemes.number(lexeme.place, &mut work.scratch);
        let words = work.key.begin(Thing::Lexemes, 1);
        words.extend([number, rests.number]);
        match self.known.lexemes.get(work.key.words()) {
            Known::Value(part) => Ok(part),
            _ => {
                let tokens = LexemeTokens::Rests(rests);
                self.fresh_lexeme_part(lexemes, lexeme.place, (tokens, None), work)
            }
        }
    }

    /// Returns the part that a lexeme decides of the tokens at and below nodes, at the place behind
    /// their byte. Free text that is known to come is left out.
    fn part_of_nodes(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        place: u32,
        (nodes, nodes_number): (&[u32], u32),
        free: Option<Free>,
        work: &mut Work<A>,
    ) -> Result<Arc<LexemePart>, Error> {
        let number = lexemes.number(place, &mut work.scratch);
        let words = work.key.begin(Thing::Lexemes, 2);
        words.extend([number, nodes_number]);
        words.extend(free.into_iter().flat_map(|free| free.key()));
        match self.known.lexemes.get(work.key.words()) {
            Known::Value(part) => Ok(part),
            _ => {
                let tokens = LexemeTokens::Behind(nodes);
                self.fresh_lexeme_part(lexemes, place, (tokens, free), work)
            }
        }
    }

    /// The same of any tokens where it is not known. The key stands in the working memory.
    fn fresh_lexeme_part(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        place: u32,
        (tokens, free): (LexemeTokens<'_>, Option<Free>),
        work: &mut Work<A>,
    ) -> Result<Arc<LexemePart>, Error> {
        let trie = self.vocabulary.trie();
        let key = work.key.clone();
        let mut left = LexemesMet::default();
        let (free, mut known) = match (tokens, free) {
            (LexemeTokens::Behind(&[node]), None) => self.free_below(place, node, work),
            _ => (free, Vec::new()),
        };
        let Large {
            parts,
            rests,
            skip,
            small,
        } = self.large_parts(lexemes, place, (tokens, free), &mut left, work)?;
        known.extend(parts.iter().flat_map(|part| part.free.iter().copied()));
        let Work {
            meter,
            scratch,
            walker,
            tokens: few,
            words,
            ..
        } = work;
        let mut met = TokenSink::none(few, words, self.vocabulary.width(), Part::FEW);
        // There is a list of the tokens that are all free text.
        if let (LexemeTokens::All, Some(free)) = (tokens, &free) {
            met = met.with(&self.tokens_of(free));
        }
        let walked = match tokens {
            LexemeTokens::Behind(nodes) if nodes.len() > 1 => LexemeTokens::Behind(&small),
            other => other,
        };
        let area = Area { trie, skip: &skip };
        let ground = Ground {
            free,
            ..self.ground(area)
        };
        let of = (self.automaton, lexemes);
        let hit = |token| met.put(token);
        let most_ends = most_rests(self.automaton).saturating_sub(rests);
        let left_open = (&mut *meter, &mut left, most_ends);
        let visited = walker.walk_lexemes(of, (place, walked), scratch, ground, left_open, hit);
        meter.walked(visited)?;
        if left.ends.count() > most_ends || rests > most_rests(self.automaton) {
            let part = Arc::new(LexemePart::wide());
            self.known.add_lexemes(key.words(), part.clone());
            return Ok(part);
        }
        if !matches!(tokens, LexemeTokens::Behind(_)) {
            self.put_free(std::mem::take(&mut known), &mut met);
        }
        parts.iter().for_each(|part| met.put_part(&part.sure));
        let sure = match met.all() {
            MetTokens::Few(tokens) => {
                let mut all = tokens.to_vec();
                all.sort_unstable();
                all.dedup();
                Part::of_few(&mut all, Vec::new())
            }
            MetTokens::Many(words) => Part::new(words, Vec::new(), None),
        };
        let told = |number| lexemes.told(number, scratch);
        let part = Arc::new(self.part_with(&parts, (sure, known), left, told));
        self.known.add_lexemes(key.words(), part.clone());
        Ok(part)
    }

    /// Returns the text that is free at and below a node, at the place behind its byte, and the
    /// tokens that may come for sure because of it: there is a list of such tokens, so that a part
    /// need not have one.
    fn free_below(
        &self,
        place: u32,
        node: u32,
        work: &mut Work<A>,
    ) -> (Option<Free>, Vec<FreeBelow>) {
        let free = self
            .automaton
            .free_text(Spot::Lexeme(place), &mut work.scratch);
        let free = free.filter(|free| free.chars == usize::MAX);
        let free = free.and_then(|free| self.free_subtrees(None, Some(free), work));
        let known = free.map(|free| FreeBelow {
            node,
            kinds: free.kinds(),
        });
        (free, known.into_iter().collect())
    }

    /// Adds tokens that are free text behind nodes.
    fn put_free(&self, mut free: Vec<FreeBelow>, met: &mut TokenSink<'_>) {
        let trie = self.vocabulary.trie();
        free.sort_unstable_by_key(|free| (free.kinds.words(), free.node));
        for own in free.chunk_by(|a, b| a.kinds == b.kinds) {
            let kinds = own[0].kinds;
            let size = |free: &FreeBelow| trie.nodes()[free.node as usize].end - free.node;
            if own.iter().map(size).sum::<u32>() < WORTH_A_LIST {
                own.iter().for_each(|free| {
                    trie.tokens_within(free.node, kinds, |token| met.put(token));
                });
            } else {
                let nodes = own.iter().map(|free| free.node).collect();
                met.put_mask(&self.shared.within_below(self.vocabulary, kinds, nodes));
            }
        }
    }

    /// Returns the parts of the large subtrees among tokens. Ends of lexemes before them are noted
    /// in `left`.
    fn large_parts(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        place: u32,
        (tokens, free): (LexemeTokens<'_>, Option<Free>),
        left: &mut LexemesMet,
        work: &mut Work<A>,
    ) -> Result<Large, Error> {
        let trie = self.vocabulary.trie();
        let first = lexemes.place(place, &mut work.scratch);
        let takes_all = self.automaton.parts().lexemes_take_all;
        let mut all = Large::default();
        let mut add = |place, nodes: (&[u32], u32), free, work: &mut Work<A>| {
            if place != 0 && all.rests <= most_rests(self.automaton) {
                let part = self.part_of_nodes(lexemes, place, nodes, free, work)?;
                all.rests = all.rests.saturating_add(part.rests());
                all.parts.push(part);
            }
            Ok::<_, Error>(())
        };
        let mut skip = Vec::new();
        let parent = match tokens {
            LexemeTokens::Rests(rests) => {
                for group in rests.groups(Size::Large) {
                    left.ends(&first, group.byte, group.nodes, takes_all);
                    let behind = lexemes.step(place, group.byte, &mut work.scratch);
                    add(behind, (group.nodes, group.number), None, work)?;
                }
                return Ok(all);
            }
            LexemeTokens::Behind(&[node]) => Some(node as usize),
            // Small ones may lie below large ones, if every split counts: these are none of those left out.
            LexemeTokens::Behind(nodes) => {
                let is_large = |node: &u32| self.size_of(&[*node], LARGE) == Size::Large;
                let (large, small): (Vec<u32>, Vec<u32>) =
                    nodes.iter().partition(|node| is_large(node));
                for node in large {
                    add(place, (&[node], number_of_node(node)), free, work)?;
                }
                return Ok(Large { small, ..all });
            }
            LexemeTokens::All => None,
        };
        let ground = self.ground(Area::all(trie));
        // Small ones are read with others that are entered with the same place.
        let mut small: Vec<Entered> = Vec::new();
        let depth = parent.map_or(0, |parent| trie.nodes()[parent].depth) + 1;
        for (child, byte, end) in trie.subtrees(parent) {
            // The walk leaves that out.
            if !first.next_bytes.has(byte) || free.is_some_and(|free| free.has_all(&child)) {
                continue;
            }
            let node = child.node;
            let behind = lexemes.step(place, byte, &mut work.scratch);
            let free = free.and_then(|free| free.in_class(byte, (ground.below(), node)));
            if self.are_large(end - node, depth, LARGE) {
                left.ends(&first, byte, &[node], takes_all);
                add(behind, (&[node], number_of_node(node)), free, work)?;
                skip.push((node, end));
                continue;
            }
            let alike = |group: &&mut Entered| {
                group.place == behind && group.free.is_some() == free.is_some()
            };
            let subtree = (node, end, byte);
            match small.iter_mut().find(alike) {
                Some(group) => {
                    group.size += end - node;
                    group.subtrees.push(subtree);
                }
                None => small.push(Entered {
                    place: behind,
                    free,
                    subtrees: vec![subtree],
                    size: end - node,
                }),
            }
        }
        for group in small {
            if group.subtrees.len() > 1 && self.are_large(group.size, depth, LARGE) {
                for &(node, end, byte) in &group.subtrees {
                    left.ends(&first, byte, &[node], takes_all);
                    skip.push((node, end));
                }
                let nodes: Vec<u32> = group.subtrees.iter().map(|subtree| subtree.0).collect();
                let (nodes, number) = self.known.number_list(&nodes);
                add(group.place, (&nodes, number), group.free, work)?;
            }
        }
        skip.sort_unstable();
        Ok(Large { skip, ..all })
    }

    /// Tokens that may come for sure, with what some parts leave to the stacks and what a walk
    /// has met, whose numbers are `told`.
    fn part_with(
        &self,
        parts: &[Arc<LexemePart>],
        (sure, free): (Part, Vec<FreeBelow>),
        left: LexemesMet,
        mut told: impl FnMut(u32) -> Arc<[u32]>,
    ) -> LexemePart {
        let (mut ends, mut asks) = (ListsBy::default(), ListsBy::default());
        for (number, nodes) in left.ends.all() {
            ends.extend(told(number), &nodes);
        }
        for (number, tokens) in left.asks.all() {
            asks.extend(told(number), &tokens);
        }
        for part in parts {
            let rests = part.ends.iter();
            rests.for_each(|end| ends.extend(end.ended.clone(), end.rests.nodes()));
            let tokens = part.asks.iter();
            tokens.for_each(|ask| asks.extend(ask.asked.clone(), &ask.tokens));
        }
        let ends = ends.all().into_iter().map(|(ended, nodes)| LexemeEnd {
            lexeme: 0,
            ended,
            rests: self.rests_at(nodes),
        });
        let asks = asks.all().into_iter().map(|(asked, tokens)| LexemeAsk {
            lexeme: 0,
            asked,
            tokens: tokens.into(),
        });
        LexemePart::new(sure, free, ends.collect(), asks.collect())
    }

    fn rests_at(&self, nodes: Vec<u32>) -> Arc<Rests> {
        let size = |nodes: &[u32]| self.size_of(nodes, LARGE_REST);
        let number = |nodes: &[u32]| self.known.number_list(nodes);
        Arc::new(Rests::new(nodes, self.vocabulary.trie(), size, number))
    }

    /// Returns the size of the trie at and below some nodes, which are large with more than `most`.
    fn size_of(&self, nodes: &[u32], most: u32) -> Size {
        let trie = self.vocabulary.trie().nodes();
        let mut size = 0;
        for &node in nodes {
            let own = &trie[node as usize];
            size += own.end - node;
            if self.are_large(size, own.depth, most) {
                return Size::Large;
            }
        }
        Size::Small
    }

    /// Tells whether so many nodes, the first of them in such a depth, are more than `most`, and so worth knowing again.
    fn are_large(&self, size: u32, depth: u16, most: u32) -> bool {
        let large = match self.text_runs {
            TextRuns::Always => 2,
            _ => most,
        };
        size > large && depth <= MAX_DEPTH_OF_PARTS
    }
}

/// So many nodes may lie behind ends in one part: where there are more, it is not told.
fn most_rests<A: ByteAutomaton>(automaton: &A) -> usize {
    match automaton.parts().lexemes_take_all {
        true => usize::MAX,
        false => MAX_RESTS_OF_SPLITS,
    }
}
