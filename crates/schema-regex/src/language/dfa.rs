//! Finite automata over classes of code points: matching, intersection and
//! complement, and the way back to an expression by state elimination
//! (Brzozowski and McCluskey, 1963). Everything is bounded by a number of
//! states; past it the answer is [`TooBig`].

use rustc_hash::FxHashMap;

use crate::budget::TooBig;
use std::collections::HashMap;
use std::rc::Rc;

use crate::budget::Limit;
use crate::language::nfa::{Alphabet, Marks, Nfa};
use crate::language::re::{CharSet, Re};

/// No state.
pub(crate) const DEAD: u32 = u32::MAX;

/// A deterministic automaton over the symbols of an alphabet; missing edges
/// are [`DEAD`].
pub(crate) struct Table {
    next: Vec<u32>,
    accept: Vec<bool>,
    width: usize,
}

impl Table {
    /// The smallest automaton of the same texts; see [`minimise`].
    pub(crate) fn minimal(mut self, limit: Limit<'_>) -> Result<(Vec<u32>, Vec<bool>), TooBig> {
        self.complete();
        minimise_within(&self.next, &self.accept, self.width, limit)
    }

    /// Lets what is missing lead to a state of its own. States stay numbered breadth
    /// first, that one too.
    fn complete(&mut self) {
        let Some(first) = self.next.iter().position(|to| *to == DEAD) else {
            return;
        };
        let met = self.next[..first].iter().max();
        let sink = met.map_or(1, |last| last + 1).max(1);
        for to in &mut self.next {
            match *to {
                DEAD => *to = sink,
                old if old >= sink => *to = old + 1,
                _ => {}
            }
        }
        let at = sink as usize * self.width;
        self.next
            .splice(at..at, std::iter::repeat_n(sink, self.width));
        self.accept.insert(sink as usize, false);
    }
}

pub(crate) fn determinise(nfa: &Nfa, width: usize, limit: Limit<'_>) -> Result<Table, TooBig> {
    let mut known: FxHashMap<Rc<[u32]>, u32> = FxHashMap::default();
    let mut sets: Vec<Rc<[u32]>> = Vec::new();
    let mut table = Table {
        next: Vec::new(),
        accept: Vec::new(),
        width,
    };
    let mut mark = Marks::new(nfa.states());
    let mut first = vec![nfa.start];
    nfa.closure(&mut first, &mut mark);
    let first: Rc<[u32]> = first.into();
    known.insert(Rc::clone(&first), 0);
    sets.push(first);
    let mut i = 0;
    let mut work = 0usize;
    let mut targets: Vec<Vec<u32>> = vec![Vec::new(); width];
    let mut read: Vec<u32> = Vec::new();
    while i < sets.len() {
        let set = Rc::clone(&sets[i]);
        // Of each symbol a place, and of each state of the set its symbols.
        let mut read_here = width;
        table.accept.push(set.binary_search(&nfa.accept).is_ok());
        for &s in &*set {
            let (symbols, to) = nfa.reads(s);
            read_here += symbols.len();
            for &symbol in symbols {
                targets[symbol as usize].push(to);
            }
        }
        limit.work(read_here / 4 + 1)?;
        // Symbols beside each other often lead to the same.
        read.clear();
        let mut before = DEAD;
        for target in &mut targets {
            if target.is_empty() {
                table.next.push(DEAD);
                continue;
            }
            if *target == read {
                target.clear();
                table.next.push(before);
                continue;
            }
            read.clone_from(target);
            nfa.closure(target, &mut mark);
            work += target.len();
            limit.work(target.len() / 2 + 1)?;
            if work > limit.states.saturating_mul(2_000) {
                return Err(TooBig);
            }
            let id = match known.get(target.as_slice()) {
                Some(&id) => id,
                None => {
                    if sets.len() >= limit.states {
                        return Err(TooBig);
                    }
                    let id = sets.len() as u32;
                    let set: Rc<[u32]> = target.as_slice().into();
                    known.insert(Rc::clone(&set), id);
                    sets.push(set);
                    id
                }
            };
            target.clear();
            table.next.push(id);
            before = id;
        }
        i += 1;
    }
    Ok(table)
}

/// The smallest automaton; see [`minimise`]. What that takes is charged.
pub(crate) fn minimise_within(
    next: &[u32],
    accept: &[bool],
    width: usize,
    limit: Limit<'_>,
) -> Result<(Vec<u32>, Vec<bool>), TooBig> {
    // Each edge is looked at about as often as states can be halved.
    let halvings = usize::BITS - accept.len().leading_zeros();
    limit.work((next.len() / 8).saturating_mul(halvings as usize))?;
    Ok(minimise(next, accept, width))
}

/// The smallest automaton, its dead states cut off. The start is state 0 of the
/// answer, unless no text is accepted: then there is no state. Time is
/// O(w n log n) for n states and w symbols.
fn minimise(next: &[u32], accept: &[bool], width: usize) -> (Vec<u32>, Vec<bool>) {
    let n = accept.len();
    let (live, (block, count)) = match last_first(next, n, width) {
        Some(order) => (
            live_in_order(next, accept, width, &order),
            partition_in_order(next, accept, width, &order),
        ),
        None => {
            let inverse = Inverse::new(next, n, width);
            let live = live_states(accept, width, &inverse);
            (live, partition(accept, width, &inverse))
        }
    };
    if !live.first().copied().unwrap_or(false) {
        return (Vec::new(), Vec::new());
    }
    let mut out_next = Vec::with_capacity(count * width);
    let mut out_accept = Vec::with_capacity(count);
    for (s, b) in block.iter().enumerate() {
        // One state speaks for its block: the first one, as blocks are numbered.
        if *b as usize == out_accept.len() {
            let row = &next[s * width..][..width];
            out_accept.push(accept[s]);
            out_next.extend(row.iter().map(|to| match live[*to as usize] {
                true => block[*to as usize],
                false => DEAD,
            }));
        }
    }
    (out_next, out_accept)
}

/// Up to so many states are compared with each other.
const FEW: usize = 64;

/// Few states, each behind those to which it leads, where none is met again on the
/// way from it but at once: so are the automata of most numbers and of many patterns.
fn last_first(next: &[u32], states: usize, width: usize) -> Option<Vec<u32>> {
    if states > FEW {
        return None;
    }
    let (mut seen, mut done) = (0u64, 0u64);
    let mut order = Vec::with_capacity(states);
    // The way to a state, each with how many of its symbols were looked at.
    let mut path: Vec<(usize, usize)> = Vec::with_capacity(states);
    for start in 0..states {
        if seen & 1 << start == 0 {
            seen |= 1 << start;
            path.push((start, 0));
        }
        while let Some((at, looked)) = path.last_mut() {
            let at = *at;
            if *looked == width {
                done |= 1 << at;
                order.push(at as u32);
                path.pop();
                continue;
            }
            let to = next[at * width + *looked] as usize;
            *looked += 1;
            if seen & 1 << to == 0 {
                seen |= 1 << to;
                path.push((to, 0));
            } else if done & 1 << to == 0 && to != at {
                return None;
            }
        }
    }
    Some(order)
}

/// Which states lead to one that accepts; those to which a state leads come before it.
fn live_in_order(next: &[u32], accept: &[bool], width: usize, order: &[u32]) -> Vec<bool> {
    let mut live = accept.to_vec();
    for s in order {
        let s = *s as usize;
        let row = &next[s * width..][..width];
        live[s] = live[s] || row.iter().any(|to| live[*to as usize]);
    }
    live
}

/// What [`partition`] answers; those to which a state leads come before it, so that
/// states are alike if they lead to blocks that are the same.
fn partition_in_order(
    next: &[u32],
    accept: &[bool],
    width: usize,
    order: &[u32],
) -> (Vec<u32>, usize) {
    let row = |s: u32| &next[s as usize * width..][..width];
    let mut block = vec![u32::MAX; accept.len()];
    // The first state of each block.
    let mut first: Vec<u32> = Vec::new();
    for &s in order {
        let is_like = |(b, f): (u32, &u32)| {
            let leads_alike = |(to, like): (&u32, &u32)| {
                let to = if *to == s { b } else { block[*to as usize] };
                to == block[*like as usize]
            };
            accept[s as usize] == accept[*f as usize] && row(s).iter().zip(row(*f)).all(leads_alike)
        };
        let known = (0..).zip(&first).position(is_like);
        let b = known.unwrap_or_else(|| {
            first.push(s);
            first.len() - 1
        });
        block[s as usize] = b as u32;
    }
    let count = number_blocks(&mut block, first.len());
    (block, count)
}

/// Which states lead to one that accepts.
fn live_states(accept: &[bool], width: usize, inverse: &Inverse) -> Vec<bool> {
    let mut live = accept.to_vec();
    let mut todo: Vec<u32> = (0..)
        .zip(accept)
        .filter_map(|(s, a)| a.then_some(s))
        .collect();
    while let Some(s) = todo.pop() {
        for symbol in 0..width {
            for &from in inverse.to(symbol, s) {
                if !std::mem::replace(&mut live[from as usize], true) {
                    todo.push(from);
                }
            }
        }
    }
    live
}

/// From which states each symbol leads to each state.
struct Inverse {
    states: usize,
    /// Where the list for a symbol and a state begins.
    begin: Vec<u32>,
    from: Vec<u32>,
}

impl Inverse {
    fn new(next: &[u32], states: usize, width: usize) -> Inverse {
        let mut begin = vec![0u32; states * width + 1];
        let slot = |i: usize| (i % width) * states + next[i] as usize;
        for i in 0..next.len() {
            begin[slot(i) + 1] += 1;
        }
        for i in 1..begin.len() {
            begin[i] += begin[i - 1];
        }
        let mut at = begin.clone();
        let mut from = vec![0u32; next.len()];
        for i in 0..next.len() {
            let place = &mut at[slot(i)];
            from[*place as usize] = (i / width) as u32;
            *place += 1;
        }
        Inverse {
            states,
            begin,
            from,
        }
    }

    fn to(&self, symbol: usize, state: u32) -> &[u32] {
        let i = symbol * self.states + state as usize;
        &self.from[self.begin[i] as usize..self.begin[i + 1] as usize]
    }
}

/// The coarsest partition that tells accepting states apart and that symbols
/// respect (Hopcroft 1971): the block of each state, numbered as they appear,
/// and how many there are.
fn partition(accept: &[bool], width: usize, inverse: &Inverse) -> (Vec<u32>, usize) {
    let n = accept.len();
    // The states sorted by block, those marked first in each.
    let mut sorted: Vec<u32> = (0..n as u32).collect();
    sorted.sort_by_key(|s| accept[*s as usize]);
    let mut place = vec![0u32; n];
    for (i, s) in sorted.iter().enumerate() {
        place[*s as usize] = i as u32;
    }
    let rejecting = accept.iter().filter(|a| !**a).count();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    if rejecting > 0 {
        ranges.push((0, rejecting));
    }
    if rejecting < n {
        ranges.push((rejecting, n));
    }
    let mut block = vec![0u32; n];
    for (b, (from, to)) in ranges.iter().enumerate() {
        for s in &sorted[*from..*to] {
            block[*s as usize] = b as u32;
        }
    }
    let mut marked = vec![0usize; ranges.len()];
    // What splits by one of two blocks splits by the other: the smaller one will do.
    let smaller = u32::from(ranges.len() > 1 && n - rejecting < rejecting);
    let mut todo = vec![smaller];
    let mut touched: Vec<u32> = Vec::new();
    while let Some(splitter) = todo.pop() {
        let (from, to) = ranges[splitter as usize];
        let targets = sorted[from..to].to_vec();
        for symbol in 0..width {
            for &target in &targets {
                for &s in inverse.to(symbol, target) {
                    let b = block[s as usize] as usize;
                    let (first, _) = ranges[b];
                    let at = place[s as usize] as usize;
                    let end = first + marked[b];
                    // A state has one target, so it is marked once.
                    if marked[b] == 0 {
                        touched.push(b as u32);
                    }
                    marked[b] += 1;
                    let other = sorted[end];
                    sorted.swap(at, end);
                    place[s as usize] = end as u32;
                    place[other as usize] = at as u32;
                }
            }
            for b in touched.drain(..) {
                let b = b as usize;
                let (first, last) = ranges[b];
                let middle = first + std::mem::take(&mut marked[b]);
                if middle == last {
                    continue;
                }
                let fresh = ranges.len();
                // The smaller part is the new block.
                let part = if middle - first <= last - middle {
                    ranges[b] = (middle, last);
                    (first, middle)
                } else {
                    ranges[b] = (first, middle);
                    (middle, last)
                };
                ranges.push(part);
                marked.push(0);
                for s in &sorted[part.0..part.1] {
                    block[*s as usize] = fresh as u32;
                }
                // Where the old block waits both must; else the smaller one.
                todo.push(fresh as u32);
            }
        }
    }
    let count = number_blocks(&mut block, ranges.len());
    (block, count)
}

/// Numbers the blocks of states as they appear; answers how many there are.
fn number_blocks(block: &mut [u32], count: usize) -> usize {
    let mut number = vec![u32::MAX; count];
    let mut fresh = 0;
    for b in block {
        let slot = &mut number[*b as usize];
        if *slot == u32::MAX {
            *slot = fresh;
            fresh += 1;
        }
        *b = *slot;
    }
    fresh as usize
}

/// A complete automaton given as a table, as an expression.
pub(crate) fn re_of_table(
    next: &[u32],
    accept: &[bool],
    start: usize,
    sets: &[CharSet],
    limit: Limit<'_>,
) -> Result<Re, TooBig> {
    // The start comes first, and what it does not reach is left out.
    let width = sets.len();
    let mut number: HashMap<usize, u32> = HashMap::from([(start, 0)]);
    let mut reached = vec![start];
    let (mut out_next, mut out_accept) = (Vec::new(), Vec::new());
    let mut i = 0;
    while i < reached.len() {
        let s = reached[i];
        out_accept.push(accept[s]);
        for symbol in 0..width {
            let t = next[s * width + symbol] as usize;
            let fresh = reached.len() as u32;
            let id = *number.entry(t).or_insert_with(|| {
                reached.push(t);
                fresh
            });
            out_next.push(id);
        }
        i += 1;
    }
    let (next, accept) = minimise_within(&out_next, &out_accept, width, limit)?;
    eliminate(&next, &accept, sets, limit)
}

/// The largest expression that elimination may produce, in nodes.
const MAX_RE_SIZE: usize = 60_000;

/// The deepest nesting that elimination may produce, so that whatever walks an
/// expression has a bounded stack.
const MAX_RE_DEPTH: usize = 600;

pub(crate) fn eliminate(
    next: &[u32],
    accept: &[bool],
    sets: &[CharSet],
    limit: Limit<'_>,
) -> Result<Re, TooBig> {
    let n = accept.len();
    if n == 0 {
        return Ok(Re::Never);
    }
    let width = sets.len();
    // States 0..n, then a new start n and a new end n + 1.
    let mut out: Vec<HashMap<usize, Re>> = vec![HashMap::new(); n + 2];
    let mut sources: Vec<Vec<usize>> = vec![Vec::new(); n + 2];
    for s in 0..n {
        let mut classes: HashMap<usize, CharSet> = HashMap::new();
        for symbol in 0..width {
            let t = next[s * width + symbol];
            if t != DEAD {
                classes
                    .entry(t as usize)
                    .or_insert_with(CharSet::empty)
                    .union(&sets[symbol]);
            }
        }
        let mut classes: Vec<(usize, CharSet)> = classes.into_iter().collect();
        classes.sort_by_key(|(t, _)| *t);
        for (t, set) in classes {
            out[s].insert(t, Re::class(set));
            sources[t].push(s);
        }
        if accept[s] {
            out[s].insert(n + 1, Re::Empty);
            sources[n + 1].push(s);
        }
    }
    out[n].insert(0, Re::Empty);
    sources[0].push(n);
    let mut left: Vec<usize> = (0..n).collect();
    let mut sizes: Vec<HashMap<usize, usize>> = out
        .iter()
        .map(|edges| edges.iter().map(|(&t, re)| (t, re.size())).collect())
        .collect();
    while !left.is_empty() {
        // The state whose elimination copies least goes first.
        let mut best = (usize::MAX, 0);
        let edges = left.iter().map(|s| 2 + sources[*s].len() + sizes[*s].len());
        limit.work(edges.sum())?;
        for (i, &s) in left.iter().enumerate() {
            let ins: Vec<usize> = sources[s].iter().copied().filter(|&p| p != s).collect();
            let in_size: usize = ins.iter().map(|&p| sizes[p][&s]).sum();
            let outs = sizes[s].iter().filter(|(t, _)| **t != s);
            let (out_count, out_size) = outs.fold((0, 0), |(c, z), (_, size)| (c + 1, z + size));
            let loop_size = sizes[s].get(&s).copied().unwrap_or(0);
            let cost = in_size * out_count.max(1)
                + out_size * ins.len().max(1)
                + loop_size * out_count * ins.len();
            if cost < best.0 {
                best = (cost, i);
            }
        }
        if best.0 > MAX_RE_SIZE * 4 {
            return Err(TooBig);
        }
        let s = left.swap_remove(best.1);
        let mut edges: Vec<(usize, Re)> = out[s].drain().collect();
        edges.sort_by_key(|(t, _)| *t);
        let around = match edges.iter().position(|(t, _)| *t == s) {
            Some(i) => edges.remove(i).1.repeat(0, None),
            None => Re::Empty,
        };
        let mut before = std::mem::take(&mut sources[s]);
        before.sort_unstable();
        before.retain(|&p| p != s);
        for p in before {
            let Some(head) = out[p].remove(&s) else {
                continue;
            };
            sizes[p].remove(&s);
            for (t, tail) in &edges {
                let path = Re::concat([head.clone(), around.clone(), tail.clone()]);
                let joined = match out[p].remove(t) {
                    Some(old) => Re::alt([old, path]),
                    None => {
                        sources[*t].push(p);
                        path
                    }
                };
                let size = joined.size();
                // The parts were copied, and copies are lists of lists.
                limit.work(8 * size)?;
                if size > MAX_RE_SIZE || joined.depth() > MAX_RE_DEPTH {
                    return Err(TooBig);
                }
                sizes[p].insert(*t, size);
                out[p].insert(*t, joined);
            }
        }
        for (t, _) in &edges {
            sources[*t].retain(|&p| p != s);
        }
    }
    Ok(out[n].remove(&(n + 1)).unwrap_or(Re::Never))
}

/// Whether `re` matches the whole of `text`. Time is the product of both
/// sizes.
#[cfg(test)]
pub(crate) fn matches(re: &Re, text: &str) -> Result<bool, TooBig> {
    Ok(Matcher::new(re)?.matches(text))
}

/// An expression, to be met with many texts.
#[derive(Debug)]
pub(crate) struct Matcher {
    alphabet: Alphabet,
    nfa: Nfa,
}

impl Matcher {
    pub(crate) fn new(re: &Re) -> Result<Matcher, TooBig> {
        let alphabet = Alphabet::new(re, usize::MAX.into())?;
        let nfa = Nfa::new(re, &alphabet, 1_000_000.into())?;
        Ok(Matcher { alphabet, nfa })
    }

    /// Whether the whole of `text` is matched. Time is the product of both sizes.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let Matcher { alphabet, nfa } = self;
        let mut marks = Marks::new(nfa.states());
        let mut set = vec![nfa.start];
        let mut target: Vec<u32> = Vec::new();
        nfa.closure(&mut set, &mut marks);
        for c in text.chars() {
            let at = alphabet.starts.partition_point(|&s| s <= u32::from(c)) - 1;
            let symbol = alphabet.symbols[at];
            target.clear();
            for &s in &set {
                let (symbols, to) = nfa.reads(s);
                if symbols.binary_search(&symbol).is_ok() {
                    target.push(to);
                }
            }
            if target.is_empty() {
                return false;
            }
            nfa.closure(&mut target, &mut marks);
            std::mem::swap(&mut set, &mut target);
        }
        set.binary_search(&nfa.accept).is_ok()
    }
}

#[cfg(test)]
mod tests {
    /// Refines until nothing changes (Moore 1956): slow and plain.
    fn partition_slowly(next: &[u32], accept: &[bool], width: usize) -> Vec<u32> {
        let mut block: Vec<u32> = accept.iter().map(|a| u32::from(*a)).collect();
        loop {
            let mut known: Vec<Vec<u32>> = Vec::new();
            let mut refined = Vec::new();
            for s in 0..accept.len() {
                let mut key = vec![block[s]];
                key.extend(
                    next[s * width..][..width]
                        .iter()
                        .map(|t| block[*t as usize]),
                );
                let at = known.iter().position(|k| *k == key).unwrap_or_else(|| {
                    known.push(key);
                    known.len() - 1
                });
                refined.push(at as u32);
            }
            if refined == block {
                return block;
            }
            block = refined;
        }
    }

    #[test]
    fn the_partition_is_the_plain_one() {
        let mut seed = 7u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(11);
            (seed >> 33) as usize % below
        };
        for round in 0..400 {
            let (n, width) = (1 + random(25), 1 + random(3));
            // Few targets, so that many states are alike.
            let near = 1 + random(n);
            let next: Vec<u32> = (0..n * width).map(|_| random(near) as u32).collect();
            let accept: Vec<bool> = (0..n).map(|_| random(3) == 0).collect();
            let fast = super::partition(&accept, width, &super::Inverse::new(&next, n, width));
            let slow = partition_slowly(&next, &accept, width);
            assert_eq!(fast.0, slow, "round {round}");
            assert_eq!(fast.1 as u32, slow.iter().max().unwrap() + 1);
        }
    }

    #[test]
    fn without_cycles_the_partition_is_the_same() {
        let mut seed = 5u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(11);
            (seed >> 33) as usize % below
        };
        for round in 0..400 {
            let (n, width) = (1 + random(25), 1 + random(3));
            // Where states lead to themselves and those behind, and where only a few do not.
            let most = if round % 4 == 0 { 1 } else { 0 };
            let target = |i: usize, step: usize| (i / width + step).saturating_sub(most).min(n - 1);
            let next: Vec<u32> = (0..n * width)
                .map(|i| target(i, random(5)) as u32)
                .collect();
            let accept: Vec<bool> = (0..n).map(|_| random(3) == 0).collect();
            let order = super::last_first(&next, n, width);
            assert!(order.is_some() || most > 0);
            let Some(order) = order else { continue };
            let inverse = super::Inverse::new(&next, n, width);
            let quick = super::partition_in_order(&next, &accept, width, &order);
            assert_eq!(
                quick,
                super::partition(&accept, width, &inverse),
                "round {round}"
            );
            let live = super::live_in_order(&next, &accept, width, &order);
            assert_eq!(
                live,
                super::live_states(&accept, width, &inverse),
                "round {round}"
            );
        }
    }
}
