//! From an automaton back to an expression. For example, an automaton that reads an even number of
//! `a` becomes `(aa)*`.

use std::collections::HashMap;

use fsm_tables::{NONE, Table};

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::language::re::{CharSet, Re};

/// The largest expression that elimination may produce, in nodes, because each state that goes can
/// multiply it.
const MAX_RE_SIZE: usize = 60_000;

/// The deepest nesting that elimination may produce, so that whatever walks an
/// expression has a bounded stack.
const MAX_RE_DEPTH: usize = 600;

/// The texts of a table as an expression, by elimination of states (Brzozowski and McCluskey,
/// "Signal Flow Graph Techniques for Sequential Circuit State Diagrams", 1963). The characters of
/// each class are given.
pub(crate) fn eliminate(
    table: &Table<bool>,
    sets: &[CharSet],
    limit: Limit<'_>,
) -> Result<Re, TooBig> {
    let n = table.states();
    if n == 0 {
        return Ok(Re::Never);
    }
    let mut edges = Edges::of(table, sets);
    let mut left: Vec<usize> = (0..n).collect();
    while !left.is_empty() {
        limit.charge(left.iter().map(|s| edges.around(*s)).sum())?;
        let (cost, next) = edges.cheapest(&left);
        if cost > MAX_RE_SIZE * 4 {
            return Err(TooBig);
        }
        edges.take_out(left.swap_remove(next), limit)?;
    }
    Ok(edges.out[n].remove(&(n + 1)).unwrap_or(Re::Never))
}

/// An automaton whose transitions are expressions.
struct Edges {
    /// By state where it leads, and by which expression. Behind the states of the table there are
    /// a new start and a new end.
    out: Vec<HashMap<usize, Re>>,
    /// The sizes of these expressions.
    sizes: Vec<HashMap<usize, usize>>,
    /// By state those that lead there.
    sources: Vec<Vec<usize>>,
}

impl Edges {
    /// The transitions of a table, and those of a new start and to a new end.
    fn of(table: &Table<bool>, sets: &[CharSet]) -> Edges {
        let n = table.states();
        let mut out: Vec<HashMap<usize, Re>> = vec![HashMap::new(); n + 2];
        let mut sources: Vec<Vec<usize>> = vec![Vec::new(); n + 2];
        for (s, out) in out.iter_mut().enumerate().take(n) {
            let mut classes: HashMap<usize, CharSet> = HashMap::new();
            for (&t, set) in table.row(s as u32).iter().zip(sets) {
                if t != NONE {
                    classes
                        .entry(t as usize)
                        .or_insert_with(CharSet::empty)
                        .union(set);
                }
            }
            let mut classes: Vec<(usize, CharSet)> = classes.into_iter().collect();
            classes.sort_by_key(|(t, _)| *t);
            for (t, set) in classes {
                out.insert(t, Re::class(set));
                sources[t].push(s);
            }
            if table.labels()[s] {
                out.insert(n + 1, Re::Empty);
                sources[n + 1].push(s);
            }
        }
        out[n].insert(0, Re::Empty);
        sources[0].push(n);
        let sizes = out
            .iter()
            .map(|edges| edges.iter().map(|(&t, re)| (t, re.size())).collect())
            .collect();
        Edges {
            out,
            sizes,
            sources,
        }
    }

    /// Returns the number of steps to look at a state and its transitions.
    fn around(&self, state: usize) -> usize {
        2 + self.sources[state].len() + self.sizes[state].len()
    }

    /// Returns the cost of the state whose elimination copies least, and where it is among those
    /// that are left.
    fn cheapest(&self, left: &[usize]) -> (usize, usize) {
        let (sources, sizes) = (&self.sources, &self.sizes);
        let mut best = (usize::MAX, 0);
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
        best
    }

    /// Takes a state out: the ways through it become expressions.
    fn take_out(&mut self, s: usize, limit: Limit<'_>) -> Result<(), TooBig> {
        let mut edges: Vec<(usize, Re)> = self.out[s].drain().collect();
        edges.sort_by_key(|(t, _)| *t);
        let around = match edges.iter().position(|(t, _)| *t == s) {
            Some(i) => edges.remove(i).1.repeat(0, None),
            None => Re::Empty,
        };
        let mut before = std::mem::take(&mut self.sources[s]);
        before.sort_unstable();
        before.retain(|&p| p != s);
        for p in before {
            let Some(head) = self.out[p].remove(&s) else {
                continue;
            };
            self.sizes[p].remove(&s);
            for (t, tail) in &edges {
                let path = Re::concat([head.clone(), around.clone(), tail.clone()]);
                let joined = match self.out[p].remove(t) {
                    Some(old) => Re::alt([old, path]),
                    None => {
                        self.sources[*t].push(p);
                        path
                    }
                };
                let size = joined.size();
                // The parts were copied, and copies are lists of lists.
                limit.charge(8 * size)?;
                if size > MAX_RE_SIZE || joined.depth() > MAX_RE_DEPTH {
                    return Err(TooBig);
                }
                self.sizes[p].insert(*t, size);
                self.out[p].insert(*t, joined);
            }
        }
        for (t, _) in &edges {
            self.sources[*t].retain(|&p| p != s);
        }
        Ok(())
    }
}
