//! The values of a goal, one after another, where they are few.
//!
//! For example, `{"enum": [1, "a"]}` has the two values `1` and `"a"`, and `{"type": "string"}` has no end of them.

use std::sync::Arc;

use crate::automaton::machine::Machine;
use crate::automaton::machine::white_space::NO_SPACE;
use crate::automaton::run::config::{Config, NO_TEXT, Top};
use crate::automaton::run::equality::canonical;
use crate::automaton::run::scratch::Scratch;
use crate::automaton::run::ways_on::{self, Tried};
use crate::automaton::run::{state, unique_items};

/// The most pieces of text to list them, because long texts take many pieces for few values.
const MAX_PIECES: usize = 100_000;

/// Returns at least how many values a goal of a node has, and all of them if they are no more than
/// `few`: sorted, by canonical spelling.
pub(in crate::automaton) fn of(
    machine: &Machine,
    node: u32,
    goal: u32,
    few: usize,
    x: &mut Scratch,
) -> (u64, Option<Vec<Arc<str>>>) {
    let set = x.add_list(&[goal]);
    let first = Config {
        top: Top::Value {
            node,
            set,
            space: NO_SPACE,
        },
        stack: 0,
        item: NO_TEXT,
    };
    x.while_searching(|x| listing(machine, first, few, x))
}

fn listing(
    machine: &Machine,
    first: Config,
    few: usize,
    x: &mut Scratch,
) -> (u64, Option<Vec<Arc<str>>>) {
    let mut values: Vec<Arc<str>> = Vec::new();
    let mut todo = vec![Tried::new(first)];
    let mut pieces = 0;
    while let Some(at) = todo.pop() {
        if !at.text.is_empty() && state::ends_at(machine, at.config, x) {
            let value: Arc<str> = canonical(&at.text).into();
            if let Err(i) = values.binary_search(&value) {
                values.insert(i, value);
            }
            if values.len() > few {
                return (values.len() as u64, None);
            }
            continue;
        }
        if ways_on::begins_endless(machine, &at.config, x) {
            return (u64::MAX, None);
        }
        if unique_items::is_endless(machine, &at.config, x) {
            return (values.len().max(few + 1) as u64, None);
        }
        let most = few + 1 + ways_on::barred_by_arrays(machine, at.config.stack, x);
        let ways = ways_on::ways(machine, &at, most, x);
        pieces += ways.len();
        if pieces > MAX_PIECES {
            return (values.len() as u64, None);
        }
        todo.extend(ways.into_iter().rev());
    }
    (values.len() as u64, Some(values))
}
