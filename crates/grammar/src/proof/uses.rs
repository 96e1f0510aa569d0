//! The uses of terminals that are told apart: by the text of nearly any characters that may come behind
//! them, and by the bracket that is open, if text of nearly any characters comes behind its end.
//!
//! For example, in `text: "\"" (/[^"{]+/ | "{" sum "}")* "\""` the quotation mark that begins a text is followed by
//! any characters, and the one that ends it by `+`. If both were one, `+` would be read beside those
//! characters, which take all that comes behind it. So it is with the `}` that closes a set of `sum`: a number
//! that stands in the braces of a text is followed by another one than a number that stands in a set.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::FixedState;

use super::bits::Bits;
use super::brackets::BracketKind;
use super::effort::Task;
use super::followers::{Followers, Nesting, Shifts, UseParser, landings};
use super::safe::Below;
use super::split::Split;
use crate::compile::cfg::{Cfg, Matter};
use crate::compile::lexer::Lexer;
use crate::compile::lr::{self, LrState, Tables};

/// The least number of printable characters of ASCII with which a terminal begins that takes nearly any,
/// because names begin with 53 of the 95.
const MOST_LETTERS: usize = 60;

/// The most states of the parser by which uses are told apart, because Elixir's has 6,283, and of languages with more than these
/// nothing was proved.
const MAX_STATES: usize = 6_300;

/// The most uses, because Elixir has 2,583, and of languages with more than these nothing was proved.
const MAX_USES: usize = 3_000;

/// The most steps to make that parser, because a hundred thousand symbols need so many.
const MAX_WORK: usize = 40_000_000;

/// The sets that are found or met where uses are told apart by brackets, for each set in which nothing is told apart: at least
/// so many, because it takes five (YAML) to twelve (Liquid).
const SETS_BY_BRACKET: usize = 5;

/// Tells the uses of terminals apart behind which text of nearly any characters may come. `None` if
/// there are no such.
pub(super) fn by_text(cfg: &Cfg, lexer: &Lexer, tables: &Tables) -> Option<Followers> {
    let wide = wide(cfg, lexer)?;
    let terminals = 0..cfg.terminals.len() as u32;
    let symbols = terminals.map(|terminal| (terminal, Nesting::Keeps));
    let is_text =
        |terminal: u32| matches!(cfg.terminals[terminal as usize].matter, Matter::Table(_));
    let class = |(terminal, _): (u32, Nesting), _, behind: &Bits| {
        is_text(terminal).then(|| {
            let mut class = behind.clone();
            class.and(&wide);
            class
        })
    };
    followers(cfg, tables, symbols.collect(), class)
}

/// Tells uses apart by the state of a parser behind them, and by the bracket that is open. `None` if there are no
/// such, or too many; `sets` is the number of those where nothing is told apart.
pub(super) fn by_bracket(
    task: Task<'_>,
    kind: BracketKind,
    lost: &Bits,
    sets: usize,
) -> Option<Followers> {
    let (cfg, lexer) = (task.cfg, task.lexer);
    let wide = wide(cfg, lexer)?;
    let (split, symbols, rules) = Split::new(cfg, lexer, &wide, kind, lost)?.into_parts();
    task.effort.need(SETS_BY_BRACKET * sets)?;
    let least = vec![1; symbols.len()];
    let tables = lr::build(&split, least, MAX_STATES, MAX_WORK).ok()?;
    task.effort.take(tables.states.len())?;
    let mut followers = followers(cfg, &tables, symbols, |_, state, _| state)?;
    if let Some(parser) = &mut followers.parser {
        parser.tables = Some(tables);
        parser.rules = rules;
    }
    followers.merge();
    (followers.terminals.len() <= MAX_USES).then_some(followers)
}

/// Returns the terminals that may come behind others. Terminals of a parser are those of a grammar, and
/// what they do to brackets; `class` tells their uses apart by the state behind them, and by what may come there.
/// `None` if it tells none apart.
fn followers<C: Eq + Hash>(
    cfg: &Cfg,
    tables: &Tables,
    symbols: Vec<(u32, Nesting)>,
    class: impl Fn((u32, Nesting), u32, &Bits) -> C,
) -> Option<Followers> {
    let count = cfg.terminals.len();
    let states = tables.states.iter();
    let shifts: Vec<Shifts> = states.map(|state| landings(state, tables)).collect();
    let all = || shifts.iter().flatten().copied();
    let reductions = Reductions::new(tables);
    let behind = reductions.behind(symbols.len(), &shifts, |symbol, _| symbol);
    // Terminals that nothing reads have a use, too.
    let mut terminals: Vec<u32> = (0..count as u32).collect();
    let mut nesting = vec![Nesting::Keeps; count];
    let mut is_met = vec![false; count];
    let mut known: HashMap<(u32, C), u32, FixedState> = HashMap::default();
    let mut used: HashMap<(u32, u32), u32, FixedState> = HashMap::default();
    for (symbol, to) in all() {
        let own @ (terminal, brackets) = symbols[symbol as usize];
        let class = class(own, to, &behind[to as usize]);
        let number = known.entry((symbol, class)).or_insert_with(|| {
            if !std::mem::replace(&mut is_met[terminal as usize], true) {
                nesting[terminal as usize] = brackets;
                return terminal;
            }
            terminals.push(terminal);
            nesting.push(brackets);
            terminals.len() as u32 - 1
        });
        used.insert((symbol, to), *number);
    }
    if terminals.len() == count {
        return None;
    }
    let behind = reductions.behind(terminals.len(), &shifts, |symbol, to| used[&(symbol, to)]);
    let mut follow = vec![Bits::new(terminals.len()); terminals.len()];
    for (symbol, to) in all() {
        follow[used[&(symbol, to)] as usize].or(&behind[to as usize]);
    }
    let mut uses = vec![Vec::new(); count];
    for (used, &terminal) in (0..).zip(&terminals) {
        uses[terminal as usize].push(used);
    }
    Some(Followers {
        first: behind.first()?.clone(),
        follow,
        uses,
        terminals,
        nesting,
        united: HashMap::default(),
        parser: Some(UseParser {
            tables: None,
            symbols,
            rules: (0..cfg.rules.len() as u32).collect(),
            used,
        }),
    })
}

/// Returns the terminals with which text of nearly any characters begins, if there are such.
fn wide(cfg: &Cfg, lexer: &Lexer) -> Option<Bits> {
    let mut wide = Bits::new(cfg.terminals.len());
    let all = 0..cfg.terminals.len() as u32;
    all.filter(|&one| is_wide(one, cfg, lexer))
        .for_each(|one| wide.set(one));
    (!wide.is_empty()).then_some(wide)
}

/// Tells whether text of nearly any characters begins as a terminal does.
pub(super) fn is_wide(terminal: u32, cfg: &Cfg, lexer: &Lexer) -> bool {
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

    /// By state: what may be shifted there, or behind its reductions, by the number among `count` of its
    /// terminal and the state to which it leads.
    fn behind(
        &self,
        count: usize,
        shifts: &[Shifts],
        number: impl Fn(u32, u32) -> u32,
    ) -> Vec<Bits> {
        let own = |shifts: &Shifts| {
            let mut own = Bits::new(count);
            shifts
                .iter()
                .for_each(|shift| own.set(number(shift.0, shift.1)));
            own
        };
        let mut all: Vec<Bits> = shifts.iter().map(own).collect();
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
