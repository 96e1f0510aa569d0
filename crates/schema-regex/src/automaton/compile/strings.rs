//! The machine of the strings of a node.
//!
//! For example, `{"enum": ["a", "b"]}` becomes one leaf that lists both words, without an automaton.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use schema_normal::decimal::clamped;
use schema_normal::ir::{Name, NodeId};
use schema_normal::language::char_dfa::CharDfa;
use schema_normal::normal::alternative::{Kind, Shape, StringShape};
use schema_normal::normal::conjunctions::ConjId;
use schema_normal::normal::search::shapes::is_any_string;
use schema_normal::normal::shape_table::Shapes;
use schema_normal::{Error, ErrorKind};

use crate::automaton::compile::builder::{Builder, number_in};
use crate::automaton::compile::united_strings::{self, Leaves};
use crate::automaton::compile::{caps, leaves};
use crate::automaton::machine::strings::{Leaf, StringDemand, StringMachine, Word, Words};

pub(super) fn strings(
    builder: &mut Builder,
    goals: &[ConjId],
) -> Result<Option<Arc<StringMachine>>, Error> {
    if let &[goal] = goals
        && is_any_string(&mut builder.normaliser, goal)?
        && builder.options().caps.length.is_none()
    {
        return Ok(Some(builder.machines.free_string()));
    }
    let shapes = builder.shapes(goals, Kind::String)?;
    if shapes.is_empty() {
        return Ok(None);
    }
    let mut gathered = Gathered::default();
    for (goal, shape) in each_apart(&shapes) {
        let capped = caps::cap_string(builder, goals[goal as usize], shape)?;
        let shape = capped.as_ref().unwrap_or(shape);
        for demand in leaves::string_leaves(builder, shape)? {
            gathered.add(goal, shape, demand);
        }
    }
    if gathered.leaves.is_empty() {
        return Ok(None);
    }
    check_asking(builder, goals, &gathered.leaves)?;
    let Gathered {
        leaves,
        dfas,
        mut words,
        cap,
        last,
    } = gathered;
    let Leaves {
        leaves,
        dfas,
        places,
    } = united_strings::united(builder, leaves, dfas, last)?;
    if let Some(places) = places {
        for (_, leaf, _) in &mut words {
            *leaf = places.binary_search(leaf).map_or(*leaf, |at| at as u32);
        }
    }
    let words = Words::new(words_of(words), leaves.len());
    let loops = dfas.iter().map(|d| {
        let known = builder.loops_of.entry(Arc::as_ptr(d));
        *known.or_insert_with(|| builder.loops.reserve(d.states()))
    });
    let loops = loops.collect();
    let machine = StringMachine::new(leaves, dfas, loops, words, clamped(cap));
    Ok(Some(Arc::new(machine)))
}

/// The leaves of a machine, as they are gathered.
#[derive(Default)]
struct Gathered {
    leaves: Vec<Leaf>,
    dfas: Vec<Arc<CharDfa>>,
    words: Vec<(Name, u32, Mention)>,
    /// The length from which on all are alike.
    cap: u64,
    /// The last keyword that asked for an automaton.
    last: Option<(NodeId, &'static str)>,
}

impl Gathered {
    /// Adds a leaf of a goal, with the texts of its shape that it lists or excludes.
    fn add(&mut self, goal: u32, shape: &StringShape, demand: StringDemand<Arc<CharDfa>>) {
        let id = self.leaves.len() as u32;
        let mut mention = |texts: &mut dyn Iterator<Item = &Name>, mention| {
            let words = texts.map(|text| (text.clone(), id, mention));
            self.words.extend(words);
        };
        let (demand, cap) = match demand {
            StringDemand::Listed => {
                mention(&mut shape.allowed.iter().flatten(), Mention::Listed);
                (StringDemand::Listed, 0)
            }
            StringDemand::Counted { min, max, excludes } => {
                if excludes {
                    mention(&mut shape.excluded.iter(), Mention::Excluded);
                }
                let cap = max.map_or(min, |m| m.saturating_add(1));
                (StringDemand::Counted { min, max, excludes }, cap)
            }
            StringDemand::Read {
                dfa,
                min,
                max,
                lengths,
            } => {
                self.last = shape.at.or(self.last);
                // Longer texts are alike.
                let cap = lengths.as_ref().map_or(0, |lengths| {
                    let (min, max) = lengths.bounds();
                    max.map_or(min, |max| max + 1)
                });
                let dfa = number_in(&mut self.dfas, dfa);
                let read = StringDemand::Read {
                    dfa,
                    min,
                    max,
                    lengths,
                };
                (read, cap)
            }
        };
        self.cap = self.cap.max(cap);
        self.leaves.push(Leaf { goal, demand });
    }
}

/// Refuses more leaves than a character can be held against.
fn check_asking(builder: &Builder, goals: &[ConjId], leaves: &[Leaf]) -> Result<(), Error> {
    if leaves.len() <= MAX_ASKING || asking(leaves) <= MAX_ASKING {
        return Ok(());
    }
    let at = builder.normaliser.first_of(goals[0]);
    Err(Error::new(
        ErrorKind::TooManyAlternatives,
        builder.normaliser.pointer(at),
        format!(
            "more than {MAX_ASKING} alternatives around this string ask each something \
             else of it; simplify them"
        ),
    ))
}

/// The strings that goals allow, without those that another shape of the same goal contains:
/// combinations of `anyOf` and `not` repeat one another.
fn each_apart(shapes: &[(u32, Shapes)]) -> impl Iterator<Item = (u32, &StringShape)> {
    shapes.iter().flat_map(|(goal, list)| {
        let strings = list.iter().filter_map(|shape| match shape {
            Shape::String(shape) => Some(shape),
            _ => None,
        });
        let strings: Vec<&StringShape> = strings.collect();
        // Strings with few demands contain others.
        let mut by_size: Vec<usize> = (0..strings.len()).collect();
        let conditions = |s: &StringShape| s.patterns.len() + s.formats.len() + s.excluded.len();
        by_size.sort_by_key(|at| conditions(strings[*at]));
        let mut apart: Vec<usize> = Vec::with_capacity(strings.len());
        for at in by_size {
            let mut largest = apart.iter().take(MANY_SHAPES);
            if !largest.any(|other| contains(strings[*other], strings[at])) {
                apart.push(at);
            }
        }
        apart.sort_unstable();
        apart.into_iter().map(move |at| (*goal, strings[at]))
    })
}

/// The way in which a leaf mentions a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mention {
    Listed,
    Excluded,
}

/// The texts that leaves mention, in the order of their bytes.
fn words_of(mut mentioned: Vec<(Name, u32, Mention)>) -> Vec<Word> {
    // Mentions of one text stay in the order of the leaves.
    mentioned.sort_by(|a, b| a.0.cmp(&b.0));
    let mut list: Vec<Word> = Vec::new();
    let mut rest = mentioned.into_iter().peekable();
    while let Some((text, leaf, mention)) = rest.next() {
        let mut leaves = [Vec::new(), Vec::new()];
        leaves[mention as usize].push(leaf);
        while let Some((_, leaf, mention)) = rest.next_if(|next| next.0 == text) {
            leaves[mention as usize].push(leaf);
        }
        let [listed, excluded] = leaves;
        list.push(Word {
            text,
            listed: listed.into(),
            excluded: excluded.into(),
        });
    }
    list
}

/// The number of leaves, or of their goals, with a demand on a string other than to be listed.
fn asking(leaves: &[Leaf]) -> usize {
    let demand = |l: &Leaf| (l.demand.dfa(), l.demand.bounds());
    let asking = leaves.iter().filter(|l| demand(l) != (None, (0, None)));
    let asked: FxHashSet<_> = asking.clone().map(demand).collect();
    let goals: FxHashSet<u32> = asking.map(|l| l.goal).collect();
    asked.len().min(goals.len())
}

/// The most shapes of one goal that are asked whether they contain others, because each shape is
/// held against all of them.
const MANY_SHAPES: usize = 256;

/// The most alternatives that ask something of one string but to be a listed one, because each
/// character is held against all of them.
const MAX_ASKING: usize = 200;

/// Tells whether another shape asks all that one does, and perhaps more: whatever the
/// other one allows is then allowed by the one. Each pattern and format counts as a name of
/// its own.
fn contains(one: &StringShape, other: &StringShape) -> bool {
    one.allowed.is_none()
        && other.allowed.is_none()
        && one.min <= other.min
        && one
            .max
            .is_none_or(|most| other.max.is_some_and(|max| max <= most))
        && one.patterns.iter().all(|p| other.patterns.contains(p))
        && one.formats.iter().all(|f| other.formats.contains(f))
        && one.excluded.is_subset(&other.excluded)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use schema_normal::ir::PatternId;

    use super::*;

    #[test]
    fn a_string_contains_what_asks_more() {
        let pattern = |id: u32| (PatternId(id), true);
        let any = StringShape::default();
        let one = StringShape {
            patterns: vec![pattern(1)],
            ..any.clone()
        };
        let two = StringShape {
            min: 2,
            patterns: vec![pattern(2), pattern(1), pattern(1)],
            ..any.clone()
        };
        let other = StringShape {
            patterns: vec![(PatternId(1), false)],
            ..any.clone()
        };
        let short = StringShape {
            max: Some(3),
            excluded: BTreeSet::from(["a".into()]),
            ..one.clone()
        };
        let listed = StringShape {
            allowed: Some(Vec::new()),
            ..any.clone()
        };
        assert!(contains(&any, &one) && contains(&one, &two) && contains(&one, &short));
        assert!(contains(&one, &one) && contains(&any, &other));
        for (this, other) in [(&one, &any), (&two, &one), (&short, &two), (&two, &short)] {
            assert!(!contains(this, other), "{this:?} {other:?}");
        }
        assert!(!contains(&one, &other) && !contains(&other, &one));
        assert!(!contains(&any, &listed) && !contains(&listed, &any));
    }
}
