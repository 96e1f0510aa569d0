//! The brackets of a grammar: terminals of which one always closes what another has opened in the same production.
//!
//! For example, in `text: "\"" (/[^"\\]+/ | "\\(" sum ")")* "\""` with `sum: "(" sum ")" | ..` a `)` closes `\(` and
//! `(`.

use fsm_tables::component_of;

use super::bits::Bits;
use super::followers::FirstAndLast;
use crate::compile::cfg::{Cfg, Matter, Production, Symbol};
use crate::compile::lexer::Lexer;

/// The part that a symbol has in its production.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BracketPart {
    Plain,
    /// Its last terminal opens a bracket, of those that differ by what comes behind that place of the production.
    Opens(usize),
    /// Its first terminal closes the bracket that is open.
    Closes,
    /// It stands for a nonterminal that opens or closes one where that stands.
    Stands,
}

impl BracketPart {
    /// Tells whether it opens and closes nothing itself.
    fn is_free(self) -> bool {
        matches!(self, BracketPart::Plain | BracketPart::Stands)
    }
}

/// The brackets by which nonterminals are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BracketKind {
    /// Terminals that are brackets wherever they stand.
    Terminal,
    /// Marks that are brackets in some productions, too.
    Production,
}

/// By production: the part of each symbol.
pub(super) type Parts = Vec<Box<[BracketPart]>>;

/// Finds the brackets of one kind. `may_text_follow` says which productions end where text may come. `None` if there
/// are none that only some productions have.
pub(super) fn parts(
    cfg: &Cfg,
    lexer: &Lexer,
    edges: &FirstAndLast,
    kind: BracketKind,
    lost: &Bits,
    may_text_follow: impl Fn(&Production) -> bool,
) -> Option<Parts> {
    let none = |own: &Production| vec![BracketPart::Plain; own.right.len()].into();
    let mut parts: Parts = cfg.productions.iter().map(none).collect();
    if kind == BracketKind::Production {
        let mut regions = Regions::new(cfg, lexer, edges);
        for number in 0..parts.len() {
            if may_text_follow(&cfg.productions[number]) {
                regions.add(number, lost, &mut parts);
            }
        }
        regions.is_found.then_some(())?;
        regions.add_empty(&mut parts);
    }
    let rights = plain(cfg, &parts);
    let brackets = Brackets::new(cfg, lexer, &rights, lost);
    for (number, right) in rights.iter().enumerate() {
        for (open, close) in brackets.pairs(right) {
            parts[number][open] = BracketPart::Opens(close);
            parts[number][close] = BracketPart::Closes;
        }
    }
    Some(parts)
}

/// Tells whether a terminal is no word, which names may be, too.
fn is_mark(terminal: u32, cfg: &Cfg, lexer: &Lexer) -> bool {
    let start = lexer.starts[terminal as usize];
    let takes = |byte: u8| lexer.step(start, lexer.classes[usize::from(byte)]) != 0;
    let matter = &cfg.terminals[terminal as usize].matter;
    matches!(matter, Matter::Table(_)) && !(b'a'..=b'z').any(takes)
}

/// Tells whether the shortest text of a terminal is one of another terminal, too: for example, `if` of a language whose
/// names may be any words.
fn is_also_another(terminal: u32, lexer: &Lexer) -> bool {
    let mut states = lexer.starts.clone();
    let own = terminal as usize;
    while lexer.distance[states[own] as usize] != 0
        && let Some((_, class)) = lexer.nearer(states[own])
    {
        let step = |state: &mut u32| *state = lexer.step(*state, class);
        states.iter_mut().for_each(step);
    }
    let others = (0..).zip(&states).filter(|other| other.0 != terminal);
    others
        .filter(|other| *other.1 != 0)
        .any(|other| lexer.accepting[*other.1 as usize])
}

/// Marks around texts in which the same production may stand again, but which have other meanings elsewhere.
///
/// For example, `>` and `</` of `element: "<" NAME ">" (TEXT | element)* "</" NAME ">"` in a language in which `<`
/// and `>` compare, too.
struct Regions<'a> {
    cfg: &'a Cfg,
    lexer: &'a Lexer,
    edges: &'a FirstAndLast,
    by_left: Vec<Vec<usize>>,
    /// By nonterminal: the number of those that stand in each other.
    group: Vec<u32>,
    is_found: bool,
}

impl<'a> Regions<'a> {
    fn new(cfg: &'a Cfg, lexer: &'a Lexer, edges: &'a FirstAndLast) -> Regions<'a> {
        let mut graph = vec![Vec::new(); cfg.rules.len()];
        for Production { left, right } in &cfg.productions {
            graph[*left as usize].extend(right.iter().filter_map(|symbol| symbol.split().err()));
        }
        Regions {
            cfg,
            lexer,
            edges,
            by_left: cfg.by_left(),
            group: component_of(&graph),
            is_found: false,
        }
    }

    /// Adds those of a production.
    fn add(&mut self, number: usize, lost: &Bits, parts: &mut Parts) {
        let Production { left, right } = &self.cfg.productions[number];
        let group = self.group[*left as usize];
        let is_again = |rule: u32| self.group[rule as usize] == group;
        let (first, last) = (&self.edges.first, &self.edges.last);
        for at in 1..right.len().max(1) - 1 {
            let is_region = parts[number][at - 1] == BracketPart::Plain
                && parts[number][at + 1].is_free()
                && right[at].split().is_err_and(is_again)
                && self.is_marked(right[at - 1], last, lost)
                && self.is_marked(right[at + 1], first, lost);
            if is_region {
                parts[number][at - 1] = BracketPart::Opens(right.len() - 1);
                parts[number][at + 1] = BracketPart::Closes;
                self.stand(right[at - 1], |right| right.len().checked_sub(1), parts);
                self.stand(right[at + 1], |_| Some(0), parts);
                self.is_found = true;
            }
        }
    }

    /// Adds those with nothing between their marks, where others of the nonterminal have something: for example,
    /// an element without text has such marks.
    fn add_empty(&self, parts: &mut Parts) {
        let mut known = Vec::new();
        for (Production { left, right }, parts) in self.cfg.productions.iter().zip(&*parts) {
            let pairs = right.windows(3).zip(parts.windows(3));
            let regions = pairs.filter(|(_, parts)| {
                matches!(parts, [BracketPart::Opens(_), _, BracketPart::Closes])
            });
            known.extend(regions.map(|(symbols, _)| (*left, [symbols[0], symbols[2]])));
        }
        for (Production { left, right }, parts) in self.cfg.productions.iter().zip(parts) {
            for (at, symbols) in right.windows(2).enumerate() {
                let is_region = known.contains(&(*left, [symbols[0], symbols[1]]));
                if is_region && parts[at] == BracketPart::Plain && parts[at + 1].is_free() {
                    parts[at] = BracketPart::Opens(right.len() - 1);
                    parts[at + 1] = BracketPart::Closes;
                }
            }
        }
    }

    /// Tells whether a symbol has marks only at one of its edges.
    fn is_marked(&self, symbol: Symbol, edge: &[Bits], lost: &Bits) -> bool {
        let is_mark =
            |terminal: u32| is_mark(terminal, self.cfg, self.lexer) && !lost.has(terminal);
        match symbol.split() {
            Ok(terminal) => is_mark(terminal),
            Err(rule) => {
                !self.edges.nullable[rule as usize] && edge[rule as usize].iter().all(is_mark)
            }
        }
    }

    /// Marks what stands at an edge of a nonterminal, of which some productions may be empty.
    fn stand(&self, symbol: Symbol, place: impl Fn(&[Symbol]) -> Option<usize>, parts: &mut Parts) {
        let mut open = vec![symbol];
        while let Some(symbol) = open.pop() {
            let Err(rule) = symbol.split() else {
                continue;
            };
            for &production in &self.by_left[rule as usize] {
                let right = &self.cfg.productions[production].right;
                let Some(at) = place(right).filter(|at| *at < right.len()) else {
                    continue;
                };
                if parts[production][at] == BracketPart::Plain {
                    parts[production][at] = BracketPart::Stands;
                    open.push(right[at]);
                }
            }
        }
    }
}

/// The terminals that close brackets, each with those that open them.
#[derive(Default)]
struct Brackets(Vec<(u32, Vec<u32>)>);

impl Brackets {
    /// Finds those among the terminals that have no part yet. Words close none, because names may be the same text, and
    /// words that are also names open none.
    fn new(cfg: &Cfg, lexer: &Lexer, rights: &[Vec<(usize, u32)>], lost: &Bits) -> Brackets {
        let terminals = 0..cfg.terminals.len() as u32;
        let marks: Vec<u32> = terminals
            .clone()
            .filter(|&one| is_mark(one, cfg, lexer))
            .collect();
        let mut brackets = Brackets::default();
        for opener in terminals {
            let Some(close) = always_behind(rights, opener, &marks) else {
                continue;
            };
            if lost.has(opener) || lost.has(close) {
                continue;
            }
            if !marks.contains(&opener) && is_also_another(opener, lexer) {
                continue;
            }
            match brackets.0.iter_mut().find(|own| own.0 == close) {
                Some((_, openers)) => openers.push(opener),
                None => brackets.0.push((close, vec![opener])),
            }
        }
        // One that is not always closed is none, and then others are left open.
        while let Some(open) = rights
            .iter()
            .find_map(|right| brackets.find_open(right, rights))
        {
            for (close, openers) in &mut brackets.0 {
                openers.retain(|opener| ![*opener, *close].contains(&open));
            }
            brackets.0.retain(|(_, openers)| !openers.is_empty());
        }
        brackets
    }

    /// Finds a terminal of a production that does not close a bracket, or open one that is closed. If one behind it
    /// opens what closes it, the one that stands in fewer productions: for example, the `=>` of `"{" a "=>" b "}"`.
    fn find_open(&self, right: &[(usize, u32)], rights: &[Vec<(usize, u32)>]) -> Option<u32> {
        let pairs = self.pairs(right);
        let is_paired = |at: usize| pairs.iter().any(|pair| pair.0 == at || pair.1 == at);
        let is_one = |terminal: u32| self.closes(terminal).is_some() || self.opens(terminal);
        let mut open = right
            .iter()
            .filter(|own| is_one(own.1) && !is_paired(own.0));
        let &(at, terminal) = open.next()?;
        let terminal_at = |place: usize| right.iter().find(|own| own.0 == place).map(|own| own.1);
        let inner = pairs.iter().filter(|pair| pair.0 > at);
        let inner = inner.filter(|pair| {
            let openers = terminal_at(pair.1).and_then(|close| self.closes(close));
            openers.is_some_and(|openers| openers.contains(&terminal))
        });
        let inner = inner.filter_map(|pair| terminal_at(pair.0));
        let stands = |own: &u32| {
            let holds = |right: &&Vec<(usize, u32)>| right.iter().any(|one| one.1 == *own);
            rights.iter().filter(holds).count()
        };
        inner.chain([terminal]).min_by_key(stands)
    }

    /// Returns the terminals whose brackets one closes.
    fn closes(&self, terminal: u32) -> Option<&[u32]> {
        let own = self.0.iter().find(|(close, _)| *close == terminal);
        own.map(|(_, openers)| &openers[..])
    }

    fn opens(&self, terminal: u32) -> bool {
        self.0
            .iter()
            .any(|(_, openers)| openers.contains(&terminal))
    }

    /// Returns the places of a production that open brackets, each with the one that closes it.
    fn pairs(&self, right: &[(usize, u32)]) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        let mut open: Vec<(usize, u32)> = Vec::new();
        for &(at, terminal) in right {
            if self.opens(terminal) {
                open.push((at, terminal));
            }
            if let Some(openers) = self.closes(terminal)
                && let Some((opened, _)) = open.pop_if(|own| openers.contains(&own.1))
            {
                pairs.push((opened, at));
            }
        }
        pairs
    }
}

/// By production: its terminals that have no part, with their places. A name for a terminal, `OPEN: "{%" "-"?`, is
/// that terminal where it stands, and its production has none.
fn plain(cfg: &Cfg, parts: &Parts) -> Vec<Vec<(usize, u32)>> {
    let by_left = cfg.by_left();
    let named = |rule: u32| match by_left[rule as usize][..] {
        [own] => alone(&cfg.productions[own]),
        _ => None,
    };
    let of = |(own, parts): (&Production, &[BracketPart])| {
        let is_name = named(own.left).is_some();
        let places = own.right.iter().zip(parts).enumerate();
        let plain = places.filter(|(_, (_, part))| !is_name && **part == BracketPart::Plain);
        let terminal = |symbol: &Symbol| symbol.split().map_or_else(named, Some);
        plain
            .filter_map(|(at, (symbol, _))| Some((at, terminal(symbol)?)))
            .collect()
    };
    let parts = parts.iter().map(|own| &**own);
    cfg.productions.iter().zip(parts).map(of).collect()
}

/// Returns the terminal that is all of a production.
fn alone(own: &Production) -> Option<u32> {
    match *own.right {
        [symbol] => symbol.split().ok(),
        _ => None,
    }
}

/// Returns the last of some terminals that stand behind another one in each production where that stands: the
/// last, because commas stand before it. For example, `)` for the `(` of `"(" a "," b ")"`.
fn always_behind(rights: &[Vec<(usize, u32)>], first: u32, marks: &[u32]) -> Option<u32> {
    let rights = rights.iter().filter_map(|right| {
        let mut rest = right.iter().map(|own| own.1);
        let found = rest.any(|one| one == first);
        found.then(|| rest.collect::<Vec<u32>>())
    });
    let mut rights: Vec<Vec<u32>> = rights.collect();
    let mut own = rights.pop()?;
    own.retain(|behind| *behind != first && marks.contains(behind));
    let last = own.iter().rev();
    last.copied()
        .find(|behind| rights.iter().all(|right| right.contains(behind)))
}
