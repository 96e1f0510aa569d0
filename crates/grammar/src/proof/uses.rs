//! The uses of terminals that are told apart: those behind which text of nearly any characters may come, and
//! those behind which it may not.
//!
//! For example, in `text: "\"" (/[^"{]+/ | "{" sum "}")* "\""` the quotation mark that begins a text is followed by
//! any characters, and the one that ends it by `+`. If both were one, `+` would be read beside those
//! characters, which take all that comes behind it.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::bits::Bits;
use super::followers::Followers;
use super::safe::Below;
use crate::compile::cfg::{Cfg, Matter};
use crate::compile::lexer::Lexer;
use crate::compile::lr::{LrState, Tables};

/// The least number of printable characters of ASCII with which a terminal begins that takes nearly any,
/// because names begin with 53 of the 95.
const MOST_LETTERS: usize = 60;

/// Tells the uses of terminals apart behind which text of nearly any characters may come. `None` if
/// there are no such.
pub(super) fn told_apart(
    cfg: &Cfg,
    lexer: &Lexer,
    tables: &Tables,
    followers: &Followers,
) -> Option<Followers> {
    let count = cfg.terminals.len();
    let wide: Vec<u32> = (0..count as u32)
        .filter(|&one| is_wide(one, cfg, lexer))
        .collect();
    if wide.is_empty() {
        return None;
    }
    let shifts = || {
        tables
            .states
            .iter()
            .flat_map(|state| &*state.shifts)
            .copied()
    };
    let graph = Reductions::new(tables);
    let behind = graph.behind(count, tables, |shift| shift.0);
    // By the state behind a terminal: its use.
    let mut used = vec![0; tables.states.len()];
    let mut uses = followers.uses.clone();
    let mut terminals = followers.terminals.clone();
    let mut seen = vec![false; count];
    let mut known: HashMap<(u32, Vec<u32>), u32, FixedState> = HashMap::default();
    for (terminal, to) in shifts() {
        let is_text = matches!(cfg.terminals[terminal as usize].matter, Matter::Table(_));
        let followed = wide
            .iter()
            .filter(|&&wide| is_text && behind[to as usize].has(wide));
        let own = &mut uses[terminal as usize];
        let is_first = !std::mem::replace(&mut seen[terminal as usize], true);
        used[to as usize] = *known
            .entry((terminal, followed.copied().collect()))
            .or_insert_with(|| {
                if is_first {
                    return terminal;
                }
                terminals.push(terminal);
                own.push(terminals.len() as u32 - 1);
                terminals.len() as u32 - 1
            });
    }
    if terminals.len() == count {
        return None;
    }
    let behind = graph.behind(terminals.len(), tables, |shift| used[shift.1 as usize]);
    let mut follow = vec![Bits::new(terminals.len()); terminals.len()];
    for (_, to) in shifts() {
        follow[used[to as usize] as usize].or(&behind[to as usize]);
    }
    let mut first = Bits::new(terminals.len());
    let begun = tables.states.first()?.shifts.iter();
    begun.for_each(|shift| first.set(used[shift.1 as usize]));
    Some(Followers {
        first,
        follow,
        uses,
        terminals,
    })
}

/// Tells whether text of nearly any characters begins as a terminal does.
fn is_wide(terminal: u32, cfg: &Cfg, lexer: &Lexer) -> bool {
    let start = lexer.starts[terminal as usize];
    let begins = |byte: &u8| lexer.step(start, lexer.classes[usize::from(*byte)]) != 0;
    let is_text = matches!(cfg.terminals[terminal as usize].matter, Matter::Table(_));
    is_text && !cfg.is_ignored(terminal) && (b' '..=b'~').filter(begins).count() >= MOST_LETTERS
}

/// By state of a parser: the states to which its reductions may lead.
struct Reductions(Vec<Vec<u32>>);

impl Reductions {
    fn new(tables: &Tables) -> Reductions {
        let mut below = Below::new(tables);
        let of = |(number, state)| {
            below.begin(number);
            let state: &LrState = state;
            let reduces = state.reduces.iter();
            let mut to: Vec<u32> = reduces
                .flat_map(|reduce| below.behind(reduce.rule, reduce.held).into_vec())
                .collect();
            to.sort_unstable();
            to.dedup();
            to
        };
        Reductions((0..).zip(&tables.states).map(of).collect())
    }

    /// By state: what may be shifted there, or behind its reductions, by the number that a shift has
    /// among `count`.
    fn behind(
        &self,
        count: usize,
        tables: &Tables,
        number: impl Fn(&(u32, u32)) -> u32,
    ) -> Vec<Bits> {
        let own = |state: &LrState| {
            let mut own = Bits::new(count);
            state.shifts.iter().for_each(|shift| own.set(number(shift)));
            own
        };
        let mut all: Vec<Bits> = tables.states.iter().map(own).collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (state, to) in self.0.iter().enumerate() {
                let mut own = std::mem::take(&mut all[state]);
                for &to in to.iter().filter(|&&to| to as usize != state) {
                    changed |= own.or(&all[to as usize]);
                }
                all[state] = own;
            }
        }
        all
    }
}
