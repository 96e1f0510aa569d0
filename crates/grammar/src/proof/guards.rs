//! The proof where every split counts: lexemes come behind ignored text under guards.
//!
//! For example, behind `/[a-z]+\b/` no name may begin, and behind a blank that is ignored one may.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::Proof;
use super::safe::{Adjacent, Targets};
use crate::compile::cfg::Cfg;
use crate::compile::lexer::Lexer;
use crate::compile::lr::Tables;

/// Proves what can be finished where every split counts: nothing has to be proved but that each lexeme can come
/// behind ignored text that goes as far as it can, or behind more of that.
pub(crate) fn prove_guards(cfg: &Cfg, lexer: &Lexer, tables: &Tables) -> Proof {
    let mut proof = Proof::without(cfg);
    proof.is_whole = true;
    let count = lexer.guard_count();
    if count == 0 {
        return proof;
    }
    let starts = || (0..).zip(&lexer.starts).filter(|start| *start.1 != 0);
    // By guard, the guards behind ignored text that comes under it: with its domain.
    let mut bridges: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count as usize + 1];
    for guard in 1..=count {
        for (terminal, &start) in starts().filter(|start| cfg.is_ignored(start.0)) {
            let domain = cfg.terminals[terminal as usize].domain;
            let mut open = vec![lexer.start_under(start, guard)];
            let mut seen: HashSet<u32, FixedState> = open.iter().copied().collect();
            while let Some(state) = open.pop() {
                if lexer.accepting[state as usize] {
                    bridges[guard as usize].push((domain, lexer.guards[state as usize]));
                }
                let to = lexer.row(state).iter().filter(|to| **to != 0);
                open.extend(to.filter(|to| seen.insert(**to)));
            }
        }
        bridges[guard as usize].sort_unstable();
        bridges[guard as usize].dedup();
    }
    let mut trouble = vec![false; cfg.terminals.len()];
    for (terminal, &start) in starts().filter(|start| !cfg.is_ignored(start.0)) {
        let domain = cfg.terminals[terminal as usize].domain;
        let mut can: Vec<bool> = (0..=count)
            .map(|g| lexer.start_under(start, g) != 0)
            .collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for guard in 1..=count as usize {
                let leads = |way: &(u32, u32)| way.0 == domain && can[way.1 as usize];
                if !can[guard] && bridges[guard].iter().any(leads) {
                    can[guard] = true;
                    changed = true;
                }
            }
        }
        trouble[terminal as usize] = can.contains(&false);
    }
    proof.is_whole = !trouble.contains(&true);
    if !proof.is_whole {
        proof.find_safe(cfg, &Targets::new(tables), &Adjacent::without(&trouble));
        proof.is_whole = proof.is_all_safe;
    }
    proof
}
