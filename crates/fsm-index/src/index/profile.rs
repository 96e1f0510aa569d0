//! The tokens of a mask, sorted by how far the end is behind them. For example, behind `[1` the
//! token `]` is the nearest to the end, and `,` is farther.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::ways::{Way, Ways};
use crate::automaton::{AskParts, Ending};
use crate::bits::{Bits, HasBits};
use crate::budget::Meter;
use crate::index::Index;
use crate::plan::Work;
use crate::tokens::{Area, Cut};
use crate::walk::Walker;
use crate::{ByteAutomaton, Cursor, SpecialId, TokenId, TokenMask};

/// The number of tokens where no way to the end is known: the largest number, because no budget is
/// as large.
pub(crate) const NEVER: u32 = u32::MAX;

/// The effect of a token beside leading nearer to the end or further away from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Doing {
    /// It begins a part that the text could do without, or leads to where more parts are needed.
    begins: bool,
    /// The text goes on to be free text behind it.
    stays: bool,
}

/// Tokens that are alike for a budget.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct BudgetGroup {
    /// The number of tokens that the end is away behind each of them.
    tokens: u32,
    doing: Doing,
}

/// The distance of the end of a text from a state, and from behind each token that may come there.
#[derive(Debug)]
pub(crate) struct Profile {
    /// The fewest tokens to the end that are known; 0 where the text may end.
    pub(crate) tokens: u32,
    /// The token with which a way of so many tokens begins.
    first: Option<u32>,
    /// True if the state is between two characters of free text.
    is_in_text: bool,
    /// The tokens that are in no list.
    rest: BudgetGroup,
    /// All others, each in one list, ascending.
    listed: Box<[(BudgetGroup, Box<[u32]>)]>,
    /// The farthest that a token leads from the end.
    farthest: u32,
    /// True if no token begins anything.
    is_plain: bool,
}

/// The rule about tokens near the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Anything that can be completed in time.
    Free,
    /// No part may be begun that the text can do without.
    NoFurtherParts,
    /// Nor a further word of free text that may end.
    NoFurtherWords,
}

impl Profile {
    /// The profile of a state whose mask is known. O(tokens of the mask), and the ways to the end
    /// from each place to which they lead.
    pub(crate) fn new<A: ByteAutomaton>(
        index: &Index<A>,
        state: &A::State,
        mask: &TokenMask,
        ways: &mut Ways,
        work: &mut Work<A>,
    ) -> Profile {
        let mut maker = Maker {
            index,
            state,
            ways,
            start: Cursor::DEAD,
            here: Way {
                tokens: NEVER,
                parts: u32::MAX,
            },
            first: None,
        };
        maker.profile(mask, work)
    }

    /// Tells whether each token of the mask may come with so many tokens left.
    pub(crate) fn allows_all(&self, left: u32, rule: Rule) -> bool {
        self.farthest < left && (rule == Rule::Free || (self.is_plain && !self.is_in_text))
    }

    /// Takes tokens out of the state's mask: those behind which the text cannot be completed in the
    /// tokens that are left, and what the rule forbids, if something else is allowed. If too few
    /// tokens are left whatever comes and the text may not end, the tokens that lead nearest to the
    /// end stay.
    pub(crate) fn narrow(&self, left: u32, rule: Rule, blanks: &[u32], words: &mut [u32]) {
        if self.allows_all(left, rule) || self.nearest() == NEVER {
            return;
        }
        let first = self
            .first
            .filter(|&first| self.tokens <= left && words.has(first));
        self.narrow_groups(left, rule, blanks, words);
        if let Some(first) = first {
            words.allow(first);
        }
    }

    fn narrow_groups(&self, left: u32, rule: Rule, blanks: &[u32], words: &mut [u32]) {
        // If the text may end, or its own way fits, nothing else has to come.
        let nearest = match self.tokens {
            0 => 0,
            tokens if tokens <= left && self.first.is_some() => 0,
            _ => self.nearest().saturating_add(1),
        };
        let before = left.max(nearest);
        let fits = |group: &BudgetGroup| group.tokens < before;
        let mut rule = rule;
        loop {
            let begins_nothing = |group: &BudgetGroup| rule == Rule::Free || !group.doing.begins;
            let goes = |group: &BudgetGroup| fits(group) && begins_nothing(group);
            let some = goes(&self.rest) || self.listed.iter().any(|(group, _)| goes(group));
            let leaves = || {
                let mut listed = self.listed.iter().map(|(group, _)| group);
                listed.any(|group| goes(group) && !group.doing.stays)
            };
            match rule {
                Rule::NoFurtherParts | Rule::NoFurtherWords if !some => rule = Rule::Free,
                Rule::NoFurtherWords if !(self.is_in_text && leaves()) => {
                    rule = Rule::NoFurtherParts;
                }
                _ => break,
            }
        }
        let goes = |group: &BudgetGroup| fits(group) && (rule == Rule::Free || !group.doing.begins);
        let no_words = |group: &BudgetGroup| rule == Rule::NoFurtherWords && group.doing.stays;
        if !goes(&self.rest) {
            let before: Vec<u32> = words.to_vec();
            words.fill(0);
            for (group, tokens) in self.listed.iter().filter(|(group, _)| goes(group)) {
                for &token in &**tokens {
                    if before.has(token) && !(no_words(group) && blanks.has(token)) {
                        words.allow(token);
                    }
                }
            }
            return;
        }
        let kept: Vec<u32> = match no_words(&self.rest) {
            false => Vec::new(),
            true => {
                let listed = self.listed.iter().filter(|(group, _)| goes(group));
                let tokens = listed.flat_map(|(group, tokens)| {
                    let no_words = no_words(group);
                    let tokens = tokens.iter().copied();
                    tokens.filter(move |&token| !(no_words && blanks.has(token)))
                });
                let kept = tokens.filter(|&token| words.has(token)).collect();
                for (word, blank) in words.iter_mut().zip(blanks) {
                    *word &= !blank;
                }
                kept
            }
        };
        for (group, tokens) in &self.listed {
            match goes(group) {
                false => tokens.iter().for_each(|&token| words.forbid(token)),
                true if no_words(group) => {
                    let blank = tokens.iter().filter(|token| blanks.has(**token));
                    blank.for_each(|&token| words.forbid(token));
                }
                true => {}
            }
        }
        kept.iter().for_each(|&token| words.allow(token));
    }

    /// The nearest to the end that a token leads; [`NEVER`] where no way is known behind any.
    fn nearest(&self) -> u32 {
        let listed = self.listed.iter().map(|(group, _)| group.tokens);
        listed.fold(self.rest.tokens, u32::min)
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let lists = self.listed.iter().map(|(_, tokens)| size_of_val(&**tokens));
        size_of::<Profile>() + size_of_val(&*self.listed) + lists.sum::<usize>()
    }
}

/// Tokens of a mask by the cursors to which they lead.
struct TokensByCursor<'m> {
    mask: &'m TokenMask,
    found: Vec<(Cursor, Vec<u32>)>,
    /// By cursor its place in the list.
    numbers: HashMap<Cursor, usize, foldhash::fast::FixedState>,
    last: (Cursor, usize),
}

impl<'m> TokensByCursor<'m> {
    fn new(mask: &'m TokenMask) -> TokensByCursor<'m> {
        TokensByCursor {
            mask,
            found: Vec::new(),
            numbers: HashMap::default(),
            last: (Cursor::DEAD, 0),
        }
    }

    fn number(&mut self, cursor: Cursor) -> usize {
        if self.last.0 != cursor {
            let next = self.found.len();
            self.last = (cursor, *self.numbers.entry(cursor).or_insert(next));
            if self.last.1 == next {
                self.found.push((cursor, Vec::new()));
            }
        }
        self.last.1
    }

    fn put(&mut self, token: u32, cursor: Cursor) {
        if self.mask.words().has(token) {
            let number = self.number(cursor);
            self.found[number].1.push(token);
        }
    }

    /// Takes tokens that lead to a cursor.
    fn at(&mut self, cursor: Cursor) -> At<'_, 'm> {
        At {
            places: self,
            cursor,
        }
    }

    /// Tokens with the bytes of another one lead to where that does.
    fn add_duplicates(&mut self, duplicates: &[(u32, u32)]) {
        let mut of: HashMap<u32, Vec<u32>> = HashMap::new();
        for &(first, other) in duplicates {
            if self.mask.words().has(other) {
                of.entry(first).or_default().push(other);
            }
        }
        if of.is_empty() {
            return;
        }
        for (_, tokens) in &mut self.found {
            let others = tokens.iter().filter_map(|token| of.get(token)).flatten();
            let others: Vec<u32> = others.copied().collect();
            tokens.extend(others);
        }
    }
}

/// The tokens that lead to one cursor.
struct At<'p, 'm> {
    places: &'p mut TokensByCursor<'m>,
    cursor: Cursor,
}

impl Bits for At<'_, '_> {
    fn allow(&mut self, token: u32) {
        self.places.put(token, self.cursor);
    }

    fn forbid(&mut self, _: u32) {}
}

/// The data that a profile is made from.
struct Maker<'m, A: ByteAutomaton> {
    index: &'m Index<A>,
    state: &'m A::State,
    ways: &'m mut Ways,
    start: Cursor,
    /// The way to the end from the state, and the token with which it begins.
    here: Way,
    first: Option<u32>,
}

impl<A: ByteAutomaton> Maker<'_, A> {
    fn profile(&mut self, mask: &TokenMask, work: &mut Work<A>) -> Profile {
        let automaton = self.index.automaton();
        let (scratch, walker, _) = work.parts();
        self.start = automaton.enter(self.state, scratch);
        self.ways.begin();
        self.find_own_way(scratch);
        let ending = automaton.parts().ending;
        let is_in_text = ending.is_some_and(|e| e.standing(self.start, scratch).is_in_text);
        let (places, text) = self.places(mask, scratch, walker);
        let mut groups: HashMap<BudgetGroup, Vec<u32>> = HashMap::new();
        let mut visits = self.index.search_nodes();
        for (cursor, tokens) in places {
            let group = self.group(cursor, &tokens, &mut visits, scratch, walker);
            match groups.get_mut(&group) {
                Some(known) => known.extend(tokens),
                None => {
                    groups.insert(group, tokens);
                }
            }
        }
        for (group, special) in self.specials(mask) {
            groups.entry(group).or_default().push(special);
        }
        let plain = text.map(|next| {
            // Text begins nothing: which of its tokens is asked makes no difference.
            let mut group = self.group(next, &[], &mut visits, scratch, walker);
            group.doing.begins = false;
            group
        });
        self.sorted(groups, plain, is_in_text)
    }

    /// `plain` is the group of tokens that are not listed, where most are not.
    fn sorted(
        &self,
        groups: HashMap<BudgetGroup, Vec<u32>>,
        plain: Option<BudgetGroup>,
        is_in_text: bool,
    ) -> Profile {
        let mut groups: Vec<(BudgetGroup, Vec<u32>)> = groups.into_iter().collect();
        // Equal lengths in a fixed order, so that the same state has the same profile.
        groups.sort_unstable_by_key(|(group, tokens)| {
            (std::cmp::Reverse(tokens.len()), group.tokens, group.doing)
        });
        if let Some(plain) = plain {
            groups.retain(|(group, _)| *group != plain);
            groups.insert(0, (plain, Vec::new()));
        }
        let far = groups.iter().map(|(group, _)| group.tokens);
        let nearest = far.clone().min().unwrap_or(NEVER);
        let farthest = far.max().unwrap_or(0);
        let is_plain = groups.iter().all(|(group, _)| !group.doing.begins);
        let (tokens, first) = match nearest.saturating_add(1) < self.here.tokens {
            true => (nearest.saturating_add(1), None),
            false => (self.here.tokens, self.first),
        };
        let mut groups = groups.into_iter();
        let rest = groups.next().map(|(group, _)| group);
        let listed = groups.map(|(group, mut tokens)| {
            tokens.sort_unstable();
            (group, tokens.into_boxed_slice())
        });
        Profile {
            tokens,
            first,
            is_in_text,
            rest: rest.unwrap_or(BudgetGroup {
                tokens: NEVER,
                doing: Doing::default(),
            }),
            listed: listed.collect(),
            farthest,
            is_plain,
        }
    }

    /// The text tokens of the mask by the cursors to which they lead. If most of them are text that
    /// goes on, those that are nothing else are left out: the cursor to which they lead is the
    /// other one of the pair.
    fn places(
        &mut self,
        mask: &TokenMask,
        scratch: &mut A::Scratch,
        walker: &mut Walker,
    ) -> (Vec<(Cursor, Vec<u32>)>, Option<Cursor>) {
        let automaton = self.index.automaton();
        let trie = self.index.vocabulary().trie();
        let mut places = TokensByCursor::new(mask);
        let mut meter = Meter::default();
        walker.begin::<A>();
        let text = self.plain_text(scratch);
        if let Some((next, cut)) = &text {
            let rests = Area::all(cut.rests());
            let mut found = Vec::new();
            walker.walk(automaton, *next, scratch, rests, &mut meter, |rest, to| {
                found.push((rest, to));
            });
            for (rest, to) in found {
                cut.put_rest(rest, 1, usize::MAX, &mut places.at(to));
            }
            let others = cut.others(trie);
            walker.walk(
                automaton,
                self.start,
                scratch,
                others,
                &mut meter,
                |token, to| {
                    places.put(token, to);
                },
            );
        } else {
            let all = Area::all(trie);
            walker.walk(
                automaton,
                self.start,
                scratch,
                all,
                &mut meter,
                |token, to| {
                    places.put(token, to);
                },
            );
        }
        places.add_duplicates(trie.duplicates());
        (places.found, text.map(|(next, _)| next))
    }

    /// If the state is in a text of a class of characters, of which any number that may come leads
    /// as near to the end as any other, returns the cursor behind one of them, and the vocabulary
    /// cut by the class.
    fn plain_text(&mut self, scratch: &mut A::Scratch) -> Option<(Cursor, Arc<Cut>)> {
        let automaton = self.index.automaton();
        let trie = self.index.vocabulary().trie();
        let ending = automaton.parts().ending?;
        let text = automaton
            .describe(self.start, trie.horizon(), scratch)
            .text()?;
        let one = self.ways.way::<A>(ending, trie, text.next, scratch)?;
        let cut = self.index.cut(automaton.text_class(text.class))?;
        if text.next == self.start {
            return Some((text.next, cut));
        }
        if !text.alike {
            return None;
        }
        // More characters never need more to come behind them: if the most that may come need as much as one
        // does, so do all.
        let mut last = text.next;
        for _ in 1..trie.max_depth() {
            let sample = cut.sample().iter();
            let next = sample.fold(last, |at, byte| automaton.step(at, *byte, scratch));
            if next.is_dead() {
                break;
            }
            last = next;
        }
        let most = self.ways.way::<A>(ending, trie, last, scratch)?;
        (one == most).then_some((text.next, cut))
    }

    /// The group of tokens that lead to one cursor.
    fn group(
        &mut self,
        cursor: Cursor,
        tokens: &[u32],
        visits: &mut u64,
        scratch: &mut A::Scratch,
        walker: &mut Walker,
    ) -> BudgetGroup {
        let token = tokens.first().copied();
        let ending = self.index.automaton().parts().ending;
        let far = |tokens| BudgetGroup {
            tokens,
            doing: Doing::default(),
        };
        let Some(ending) = ending else {
            return far(token.map_or(NEVER, |token| self.tokens_behind(token)));
        };
        let trie = self.index.vocabulary().trie();
        let way = self.ways.way::<A>(ending, trie, cursor, scratch);
        let Some(way) = way.filter(|way| way.tokens != NEVER) else {
            return far(token.map_or(NEVER, |token| self.tokens_behind(token)));
        };
        let tokens = self.searched(ending, cursor, way.tokens, visits, scratch, walker);
        let begun = token.map_or(0, |token| self.begun(ending, token, scratch));
        BudgetGroup {
            tokens,
            doing: Doing {
                begins: way.parts.saturating_add(begun) > self.here.parts,
                stays: ending.standing(cursor, scratch).is_in_text,
            },
        }
    }

    fn begun(&self, ending: &dyn Ending<A::Scratch>, token: u32, scratch: &mut A::Scratch) -> u32 {
        let bytes = self.index.vocabulary().token_bytes(TokenId::new(token));
        let mut at = self.start;
        let steps = bytes.unwrap_or_default().iter().map(|&byte| {
            let before = at;
            at = self.index.automaton().step(before, byte, scratch);
            ending.begun(before, at, scratch)
        });
        steps.sum()
    }

    fn find_own_way(&mut self, scratch: &mut A::Scratch) {
        let automaton = self.index.automaton();
        let trie = self.index.vocabulary().trie();
        let ending = automaton.parts().ending;
        let known = ending.and_then(|e| self.ways.way::<A>(e, trie, self.start, scratch));
        let spelt = ending.and_then(|e| self.ways.spelt::<A>(e, trie, self.start, scratch));
        let spelt = spelt.or_else(|| self.index.tokens_to_the_end(self.state));
        self.first = spelt.as_ref().and_then(|tokens| tokens.first().copied());
        self.here = Way {
            tokens: spelt.map_or(NEVER, |tokens| tokens.len() as u32),
            parts: known.map_or(u32::MAX, |way| way.parts),
        };
    }

    /// The fewest tokens to the end behind a token, by the state to which it leads.
    fn tokens_behind(&self, token: u32) -> u32 {
        let automaton = self.index.automaton();
        let bytes = self.index.vocabulary().token_bytes(TokenId::new(token));
        let mut after = self.state.clone();
        let mut scratch = automaton.scratch();
        match automaton.advance(&mut after, bytes.unwrap_or_default(), &mut scratch) {
            Ok(()) => {
                let after = automaton.end_token(&after, &mut scratch).unwrap_or(after);
                self.index.tokens_to_the_end(&after).map_or(NEVER, count)
            }
            Err(_) => NEVER,
        }
    }

    /// The special tokens of the mask, each with its group. Tokens that end the text are in none.
    fn specials(&self, mask: &TokenMask) -> Vec<(BudgetGroup, u32)> {
        let automaton = self.index.automaton();
        let none = |tokens| BudgetGroup {
            tokens,
            doing: Doing::default(),
        };
        let mut out = Vec::new();
        for (symbol, special) in (0..).zip(self.index.specials()) {
            let mut after = self.state.clone();
            let may_come =
                mask.allows(*special) && automaton.advance_special(&mut after, SpecialId(symbol));
            if may_come {
                let tokens = self.index.tokens_to_the_end(&after).map_or(NEVER, count);
                out.push((none(tokens), special.get()));
            }
        }
        out
    }

    /// The fewest tokens from a cursor to the end, if fewer than so many do. A search breadth
    /// first over the places to which tokens lead, for as many nodes of the trie as the index
    /// allows for one profile: `most` where that is too few.
    fn searched(
        &mut self,
        ending: &dyn Ending<A::Scratch>,
        cursor: Cursor,
        most: u32,
        visits: &mut u64,
        scratch: &mut A::Scratch,
        walker: &mut Walker,
    ) -> u32 {
        let index = self.index;
        let trie = index.vocabulary().trie();
        let mut least = most;
        let mut met: HashSet<Cursor> = HashSet::from([cursor]);
        let mut open: VecDeque<(Cursor, u32)> = VecDeque::from([(cursor, 0)]);
        while let Some((at, taken)) = open.pop_front() {
            // One token more is the least that anything takes.
            if taken + 1 >= least || *visits == 0 {
                break;
            }
            let mut next = Vec::new();
            let mut meter = Meter::default();
            let all = Area::all(trie);
            let visited = walker.walk(index.automaton(), at, scratch, all, &mut meter, |_, to| {
                if met.insert(to) {
                    next.push(to);
                }
            });
            *visits = visits.saturating_sub(visited);
            for to in next {
                if let Some(way) = self.ways.way::<A>(ending, trie, to, scratch) {
                    least = least.min(way.tokens.saturating_add(taken + 1));
                }
                open.push_back((to, taken + 1));
            }
        }
        least
    }
}

fn count(tokens: Vec<u32>) -> u32 {
    u32::try_from(tokens.len()).unwrap_or(NEVER)
}
