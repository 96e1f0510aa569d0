//! The automata of strings and numbers, made from shapes and kept.
//!
//! For example, `{"type": "string", "pattern": "^a", "maxLength": 3}` is one leaf: the automaton of
//! the pattern, met with the bounds on the length.

use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use schema_normal::Error;
use schema_normal::budget::TooBig;
use schema_normal::ir::PatternId;
use schema_normal::language::char_dfa::CharDfa;
use schema_normal::language::char_dfa::lengths::Lengths;
use schema_normal::language::char_dfa::product::{Part, Product};
use schema_normal::language::formats::{self, Format};
use schema_normal::language::numbers::dfa::NumberDfa;
use schema_normal::language::re::Re;
use schema_normal::normal::alternative::{At, NumberShape, StringShape, each_once};

use crate::automaton::compile::builder::Builder;
use crate::automaton::compile::counted::{Counted, counted};
use crate::automaton::compile::leaf_cache::{LeafSource, StringKey, Strings};
use crate::automaton::machine::strings::StringDemand;

/// The most automata, each with bounds of its own, that read the strings of one alternative,
/// because each is a leaf that every byte steps.
const MOST_WAYS: usize = 4;

fn too_big(builder: &Builder, at: Option<At>, what: &str) -> Error {
    let (node, keyword) = at.unwrap_or((schema_normal::ir::ROOT, "pattern"));
    if builder.normaliser.budget().is_spent() {
        return builder.normaliser.too_many_steps(node, Some(keyword));
    }
    let states = builder.normaliser.options().max_automaton_states;
    let why = format!(
        "{what} takes more than {states} states; simplify it or raise Options::max_automaton_states"
    );
    builder.normaliser.refusal((node, keyword), &why)
}

/// The demands of a shape, of which a string must satisfy one; none where no string satisfies
/// it.
pub(super) fn string_leaves(
    builder: &mut Builder,
    shape: &StringShape,
) -> Result<Vec<StringDemand<Arc<CharDfa>>>, Error> {
    if let Some(list) = &shape.allowed {
        return Ok(match list.is_empty() {
            true => Vec::new(),
            false => vec![StringDemand::Listed],
        });
    }
    let (patterns, formats) = (each_once(&shape.patterns), each_once(&shape.formats));
    let plain = patterns.is_empty() && formats.is_empty();
    let all = if plain {
        vec![Strings::of(None)]
    } else {
        let gone = shape.excluded.iter().cloned().collect();
        let key = (patterns, formats, gone);
        match builder.leaves.strings.get(&key) {
            Some(known) => known.clone(),
            None => {
                let made = string_dfa(builder, &key, shape.at)?;
                builder.leaves.strings.insert(key, made.clone());
                made
            }
        }
    };
    let mut leaves = Vec::with_capacity(all.len());
    for strings in all {
        leaves.extend(string_leaf(builder, shape, strings)?);
    }
    Ok(leaves)
}

/// The demand on some strings within the bounds of a shape.
fn string_leaf(
    builder: &mut Builder,
    shape: &StringShape,
    mut strings: Strings,
) -> Result<Option<StringDemand<Arc<CharDfa>>>, Error> {
    if strings.dfa.as_ref().is_some_and(|d| d.states() == 0) {
        return Ok(None);
    }
    strings.bound(shape.min, shape.max);
    let Strings { dfa, min, max } = strings;
    if max.is_some_and(|max| max < min) {
        return Ok(None);
    }
    let Some(dfa) = dfa else {
        // No text is left where the empty one is left out of those without characters.
        let is_none = shape.max == Some(0) && shape.excluded.contains("");
        let excludes = !shape.excluded.is_empty();
        return Ok((!is_none).then_some(StringDemand::Counted { min, max, excludes }));
    };
    let lengths = Lengths::new(&dfa, min, max, builder.normaliser.limit())
        .map_err(|_| too_big(builder, shape.at, "the length bound with the pattern"))?;
    if lengths.as_ref().is_some_and(|lengths| !lengths.live(0, 0)) {
        return Ok(None);
    }
    Ok(Some(StringDemand::Read {
        dfa,
        min,
        max,
        lengths: lengths.map(Arc::new),
    }))
}

/// The automaton of an expression, made once.
pub(super) fn part(builder: &mut Builder, asked: LeafSource) -> Result<Rc<Part>, TooBig> {
    if let Some(known) = builder.leaves.parts.get(&asked) {
        return Ok(Rc::clone(known));
    }
    let limit = builder.normaliser.limit();
    let made = match &asked {
        LeafSource::Pattern(id, at) => match &builder.normaliser.schema().pattern(*id).pattern {
            Ok(pattern) => Part::new(&pattern.conditions()[*at].0, limit)?,
            // A pattern that cannot be read is refused where it is met.
            Err(_) => Part::new(&Re::Never, limit)?,
        },
        LeafSource::Format(format) => format_dfa(*format, None).part(),
        LeafSource::Texts(list) => Part::new(&Re::alt(list.iter().map(|t| Re::literal(t))), limit)?,
    };
    let made = Rc::new(made);
    builder.leaves.parts.insert(asked, Rc::clone(&made));
    Ok(made)
}

/// The expressions of a pattern, each with the answer that is wanted; none if it cannot be read.
pub(super) fn asked_by(builder: &Builder, id: PatternId) -> Vec<(LeafSource, bool)> {
    let Ok(pattern) = &builder.normaliser.schema().pattern(id).pattern else {
        return Vec::new();
    };
    let all = pattern.conditions().iter().enumerate();
    all.map(|(at, (_, want))| (LeafSource::Pattern(id, at), *want))
        .collect()
}

/// The strings of a key: of each of some automata those within its bounds.
fn string_dfa(
    builder: &mut Builder,
    key: &StringKey,
    at: Option<At>,
) -> Result<Vec<Strings>, Error> {
    let (patterns, formats, excluded) = key;
    match (&patterns[..], &formats[..], &excluded[..]) {
        ([], [(format, true)], []) => {
            return Ok(vec![Strings::of(Some(format_dfa(*format, None)))]);
        }
        ([], [(format, true), (part, true)], []) if format.part() == Some(*part) => {
            return Ok(vec![Strings::of(Some(format_dfa(*format, Some(*part))))]);
        }
        _ => {}
    }
    let mut conditions: Vec<(Vec<(LeafSource, bool)>, bool)> = Vec::new();
    for (id, positive) in patterns {
        let asked = asked_by(builder, *id);
        if !asked.is_empty() {
            conditions.push((asked, *positive));
        }
    }
    for (format, positive) in formats {
        conditions.push((vec![(LeafSource::Format(*format), true)], *positive));
    }
    if !excluded.is_empty() {
        conditions.push((vec![(LeafSource::Texts(excluded.clone()), true)], false));
    }
    let made = dfa_of(builder, conditions);
    made.map_err(|_| too_big(builder, at, "the automaton of these strings"))
}

/// The strings that satisfy all of some conditions, or do not where they must not.
fn dfa_of(
    builder: &mut Builder,
    conditions: Vec<(Vec<(LeafSource, bool)>, bool)>,
) -> Result<Vec<Strings>, TooBig> {
    let mut asked: Vec<LeafSource> = Vec::new();
    let mut parts: Vec<Rc<Part>> = Vec::new();
    // The answers wanted of the expressions of each condition, one after the other.
    let mut wanted: Vec<(Vec<bool>, bool)> = Vec::new();
    for (all, positive) in conditions {
        let from = parts.len();
        for (one, _) in &all {
            parts.push(part(builder, one.clone())?);
        }
        if positive && all.len() == 1 && parts[from].is_any {
            parts.pop();
            continue;
        }
        wanted.push((all.iter().map(|(_, want)| *want).collect(), positive));
        asked.extend(all.into_iter().map(|(one, _)| one));
    }
    match (&parts[..], &wanted[..]) {
        ([], _) => return Ok(vec![Strings::of(None)]),
        ([part], [(_, true)]) => {
            return Ok(vec![Strings::of(Some(Arc::new(CharDfa::of_part(part))))]);
        }
        _ => {}
    }
    let product = match &builder.leaves.product {
        Some((known, product)) if *known == asked => Rc::clone(product),
        _ => {
            let all: Vec<&Part> = parts.iter().map(|part| &**part).collect();
            let Ok(made) = Product::of(&all, builder.normaliser.limit()) else {
                return meeting(builder, &asked, &parts, &wanted);
            };
            let made = Rc::new(made);
            builder.leaves.product = Some((asked, Rc::clone(&made)));
            made
        }
    };
    let holds = |verdict: u64| {
        let mut bit = 0;
        wanted.iter().all(|(wants, positive)| {
            let mut all = true;
            for want in wants {
                all &= (verdict & (1 << bit) != 0) == *want;
                bit += 1;
            }
            all == *positive
        })
    };
    let trimmed = CharDfa::trimmed(&product, holds, builder.normaliser.limit())?;
    Ok(vec![Strings::of(Some(Arc::new(trimmed)))])
}

/// The same where what other texts there are is too much to be known: one expression
/// is met after the other, and counts of characters become bounds on the length.
fn meeting(
    builder: &mut Builder,
    asked: &[LeafSource],
    parts: &[Rc<Part>],
    conditions: &[(Vec<bool>, bool)],
) -> Result<Vec<Strings>, TooBig> {
    let limit = builder.normaliser.limit();
    let mut all: Vec<(Rc<Part>, bool)> = Vec::new();
    let mut counted: Vec<(Rc<Part>, Vec<Counted>)> = Vec::new();
    let mut rest = asked.iter().zip(parts);
    for (wants, positive) in conditions {
        let of_one = rest.by_ref().take(wants.len()).zip(wants);
        let of_one: Vec<((&LeafSource, &Rc<Part>), bool)> =
            of_one.map(|(one, want)| (one, *want)).collect();
        match (&of_one[..], positive) {
            ([((_, part), want)], false) => all.push((Rc::clone(part), !*want)),
            (_, false) => {
                let met = of_one.iter().map(|((_, part), want)| (&***part, *want));
                let met = Part::meeting(met.collect(), limit)?;
                all.push((Rc::new(met), false));
            }
            (_, true) => {
                for ((asked, part), want) in of_one {
                    match counted_by(builder, asked).filter(|_| want) {
                        Some(ways) => counted.push((Rc::clone(part), ways)),
                        None => all.push((Rc::clone(part), want)),
                    }
                }
            }
        }
    }
    let met = all.iter().map(|(part, want)| (&**part, *want));
    let mut some = vec![(Part::meeting(met.collect(), limit)?, Strings::of(None))];
    for (part, ways) in counted {
        let mut next: Vec<(Part, Strings)> = Vec::new();
        for (met, strings) in some {
            let mut left: Vec<(Part, Strings)> = Vec::new();
            for way in &ways {
                let both = met.met(&Part::new(&way.re, limit)?, true, limit)?;
                if both.table.states() > 0 {
                    let mut strings = strings.clone();
                    strings.bound(way.min, way.max);
                    left.push((both, strings));
                }
            }
            // Two ways that are left have bounds of their own, so one automaton is tried first.
            let met = match left.len() {
                0 | 1 => Err(TooBig),
                _ => met.met(&part, true, limit),
            };
            match met {
                Ok(met) => next.push((met, strings)),
                Err(TooBig) => next.extend(left),
            }
        }
        if next.len() > MOST_WAYS {
            return Err(TooBig);
        }
        some = next;
    }
    let of_ways = some.into_iter().map(|(met, strings)| Strings {
        dfa: Some(Arc::new(CharDfa::of_part(&met))),
        ..strings
    });
    Ok(of_ways.collect())
}

/// The expressions with bounds on the length that a pattern, or one of its looks, consists of.
fn counted_by(builder: &Builder, asked: &LeafSource) -> Option<Vec<Counted>> {
    let LeafSource::Pattern(id, at) = asked else {
        return None;
    };
    let pattern = &builder.normaliser.schema().pattern(*id).pattern;
    counted(&pattern.as_ref().ok()?.conditions()[*at].0)
}

/// The automaton of a shape of numbers.
pub(super) fn number_dfa(
    builder: &mut Builder,
    shape: &NumberShape,
) -> Result<Arc<NumberDfa>, Error> {
    let limit = builder.normaliser.limit().times(20);
    let integers = builder.normaliser.options().integers;
    let made = builder.leaves.numbers.of(&shape.numbers, integers, limit);
    made.map_err(|_| too_big(builder, shape.at, "the automaton of these numbers"))
}

/// The automaton of a format, alone or with its part, read once in a process.
fn format_dfa(format: Format, part: Option<Format>) -> Arc<CharDfa> {
    /// The automata of formats, read once because all schemas share them.
    static READ: [OnceLock<Arc<CharDfa>>; 2 * formats::COUNT] =
        [const { OnceLock::new() }; 2 * formats::COUNT];
    let with_part = part.is_some();
    let cell = &READ[2 * format as usize + usize::from(with_part)];
    Arc::clone(cell.get_or_init(|| Arc::new(formats::written::dfa(format, with_part))))
}
