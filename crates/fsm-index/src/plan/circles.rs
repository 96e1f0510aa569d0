//! Text that leads back to one place in a lexeme, where most tokens are met: of such text the
//! vocabulary is read once for its class of characters, for all places and all automata. For example,
//! behind `s`, which begins `self` and other names, most tokens lead to the place inside of any name.

use std::ops::Range;
use std::sync::Arc;

use super::Work;
use super::lexemes::LexemeRows;
use super::token_sink::TokenSink;
use crate::automaton::AskParts as _;
use crate::rows::{Size, Staying};
use crate::tokens::{InClass, Trie};
use crate::walk::{Circle, LexemeTokens, LexemesMet};
use crate::{Behind, ByteAutomaton, ClassId, Lexemes, Spot, TextRuns};

/// The readings of the trie that one working memory holds, because those of an automaton's names and
/// texts are few, and more are found in the memory of the vocabulary.
const MAX_READ: usize = 32;

/// The places that are looked at for text that leads back to one, because behind most places blanks,
/// a comment, or names in some ways may begin.
const MAX_CANDIDATES: usize = 4;

/// Nodes that are met at one place behind their bytes.
#[derive(Clone, Copy)]
struct MetAt {
    /// Their number, with those below.
    size: u32,
    place: u32,
    /// The largest of them, with the number of those below.
    node: u32,
    largest: u32,
}

impl<A: ByteAutomaton> LexemeRows<'_, A> {
    /// Returns the text that leads back to where most of the nodes are met that are to be read: behind
    /// their bytes, or behind those of the nodes below.
    pub(super) fn circle(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        place: u32,
        tokens: LexemeTokens<'_>,
        work: &mut Work<A>,
    ) -> Option<Circle> {
        let trie = self.vocabulary.trie();
        let parent = match tokens {
            LexemeTokens::Rests(_) | LexemeTokens::Behind(&[]) => return None,
            LexemeTokens::Behind(&[node, ..]) => Some(node),
            LexemeTokens::All => None,
        };
        let way = parent.map_or_else(Vec::new, |node| trie.way_to(node));
        let met = self.met_below(lexemes, place, parent, work);
        met.iter().take(MAX_CANDIDATES).find_map(|&from| {
            let at = self.behind_character(lexemes, from, work)?;
            let (class, before) = self.leads_back(lexemes, at, &way, work)?;
            if !self.pays(class, at, &met, work) {
                return None;
            }
            let text = self.in_class(class, way.first().copied(), work)?;
            let is_met = parent.is_none_or(|parent| text.has(parent));
            is_met.then_some(Circle {
                place: at,
                before,
                text,
            })
        })
    }

    /// Tells whether a circle is worth its reading of the trie: if text of its class was seen to lead to
    /// places where other text is free, such as those of names that may become words. If it is free
    /// everywhere, the kinds of characters tell as much of names as the circle would, and without that
    /// reading: the first masks of languages whose names may be words, as Dart's, took up to twice as long.
    fn pays(&self, class: ClassId, place: u32, met: &[MetAt], work: &mut Work<A>) -> bool {
        if self.text_runs == TextRuns::Always || work.worth_reading.contains(&class) {
            return true;
        }
        let ranges = self.automaton.text_class(class);
        let nodes = self.vocabulary.trie().nodes();
        let pays = met.iter().any(|met| {
            let byte = nodes[met.node as usize].byte;
            let has = |range: &(u32, u32)| (range.0..=range.1).contains(&byte.into());
            let spot = Spot::Lexeme(met.place);
            let mut free = || self.automaton.free_text(spot, &mut work.scratch);
            // Digits begin numbers and signs operators, which are no names that may become words.
            met.place != place
                && byte.is_ascii_alphabetic()
                && ranges.iter().any(has)
                && free().is_none_or(|free| free.class != class)
        });
        if pays {
            work.worth_reading.push(class);
        }
        pays
    }

    /// Notes that a circle says what comes of one of the nodes below that which is read, and of those
    /// below it, if it does: see [`LexemesMet::takes`]. The place is that behind its byte.
    pub(super) fn takes(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        left: &mut LexemesMet,
        place: u32,
        byte: u8,
        nodes: Range<u32>,
        work: &mut Work<A>,
    ) -> bool {
        let below = self.vocabulary.trie().below();
        let first = nodes.start as usize;
        left.takes(place, nodes, |circle| match below.ends_character(first) {
            true => circle.place,
            false => lexemes.step(circle.before, byte, &mut work.scratch),
        })
    }

    /// Tells whether a circle says what comes of most nodes below one behind whose byte the place is.
    pub(super) fn takes_most_below(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        left: &LexemesMet,
        place: u32,
        node: u32,
        work: &mut Work<A>,
    ) -> bool {
        let circle = left.circle.as_ref();
        circle.is_some_and(|circle| {
            let mut met = || self.met_below(lexemes, place, Some(node), work);
            circle.text.has(node) && met().first().is_some_and(|met| met.place == circle.place)
        })
    }

    /// Returns the class of which any text leads back to a place, if there is one, and where the
    /// character leads from there that has begun at the end of a way.
    fn leads_back(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        place: u32,
        way: &[u32],
        work: &mut Work<A>,
    ) -> Option<(ClassId, u32)> {
        let (trie, scratch) = (self.vocabulary.trie(), &mut work.scratch);
        let at = lexemes.place(place, scratch);
        // Such an end would lie inside of text that is read as a whole.
        let ends_inside = at.ends != 0 && !self.automaton.facts().lexemes_take_all;
        if at.asks != 0 || ends_inside {
            return None;
        }
        let free = self.automaton.free_text(Spot::Lexeme(place), scratch)?;
        if free.behind != Behind::Itself || free.chars != usize::MAX {
            return None;
        }
        let below = trie.below();
        let begins = way
            .iter()
            .rposition(|at| below.ends_character(*at as usize));
        let begun = &way[begins.map_or(0, |at| at + 1)..];
        let before = begun.iter().fold(place, |place, node| {
            lexemes.step(place, trie.nodes()[*node as usize].byte, scratch)
        });
        Some((free.class, before))
    }

    /// Returns the place at which most nodes are met behind the character that has begun, from which
    /// some lead back to it: none if no text seems to.
    fn behind_character(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        MetAt {
            mut place,
            mut node,
            ..
        }: MetAt,
        work: &mut Work<A>,
    ) -> Option<u32> {
        loop {
            let below = self.met_below(lexemes, place, Some(node), work);
            if self.vocabulary.trie().below().ends_character(node as usize) {
                // Behind other letters come others, of which the first byte does not lead back.
                let is_ascii = self.vocabulary.trie().nodes()[node as usize]
                    .byte
                    .is_ascii();
                let may_lead_back = !is_ascii || below.iter().any(|met| met.place == place);
                return may_lead_back.then_some(place);
            }
            MetAt { place, node, .. } = *below.first()?;
        }
    }

    /// Returns the places at which the nodes below one, or below the root, are met behind their bytes:
    /// those of most nodes first.
    fn met_below(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        place: u32,
        parent: Option<u32>,
        work: &mut Work<A>,
    ) -> Vec<MetAt> {
        let trie = self.vocabulary.trie();
        let next_bytes = lexemes.place(place, &mut work.scratch).next_bytes;
        let mut all: Vec<MetAt> = Vec::new();
        for (child, byte, end) in trie.subtrees(parent.map(|node| node as usize)) {
            if !next_bytes.has(byte) {
                continue;
            }
            let place = lexemes.step(place, byte, &mut work.scratch);
            let (node, size) = (child.node, end - child.node);
            match all.iter_mut().find(|met| met.place == place) {
                _ if place == 0 => {}
                Some(met) => {
                    met.size += size;
                    if size > met.largest {
                        (met.largest, met.node) = (size, node);
                    }
                }
                None => all.push(MetAt {
                    size,
                    place,
                    node,
                    largest: size,
                }),
            }
        }
        all.sort_unstable_by_key(|met| std::cmp::Reverse(met.size));
        all
    }

    /// Returns the tokens of a class as they are met below a node of the first byte: from the root on if
    /// the byte is of the class, or else from behind it on, where much is below.
    fn in_class(
        &self,
        class: ClassId,
        first: Option<u32>,
        work: &mut Work<A>,
    ) -> Option<Arc<InClass>> {
        let trie = self.vocabulary.trie();
        let ranges = self.automaton.text_class(class);
        // Text with blanks is most of what a vocabulary has, which its kinds tell as fast.
        if ranges
            .iter()
            .any(|range| (range.0..=range.1).contains(&0x20))
        {
            return None;
        }
        let top = first.filter(|first| {
            let byte = u32::from(trie.nodes()[*first as usize].byte);
            let has = |range: &(u32, u32)| (range.0..=range.1).contains(&byte);
            byte < 0x80 && !ranges.iter().any(has)
        });
        // A smaller part is walked as fast.
        if top.is_some_and(|top| self.size_of(&[top]) == Size::Small) {
            return None;
        }
        let known = &mut work.in_classes;
        if let Some(known) = known
            .iter()
            .find(|known| (known.0, known.1) == (class, top))
        {
            return Some(known.2.clone());
        }
        let read = self.shared.in_class(self.vocabulary, ranges, top);
        if known.len() >= MAX_READ {
            known.clear();
        }
        known.push((class, top, read.clone()));
        // If that was too much, the walk that follows ends at once.
        let _ = work.meter.walked(read.visited);
        Some(read)
    }
}

/// Adds the tokens of some nodes that stay in classes.
pub(super) fn put_inside(inside: Vec<Staying>, trie: &Trie, met: &mut TokenSink<'_>) {
    for Staying { text, nodes } in inside {
        for tokens in text.tokens(&nodes, trie) {
            tokens.iter().for_each(|token| met.put(*token));
        }
    }
}
