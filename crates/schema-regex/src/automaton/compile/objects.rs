//! Builds the machine of objects: declared names in order, classes of further
//! names, and for each thread what a member must be.
//!
//! For example, `{"properties": {"a": true}, "patternProperties": {"^x": false}}` declares `a`, and
//! its further names are in two classes, those that begin with `x` and the others.

use rustc_hash::{FxHashMap, FxHashSet};
use schema_normal::Error;
use schema_normal::budget::STEP;
use schema_normal::ir::PatternId;
use schema_normal::ir::signed::Signed;
use schema_normal::normal::alternative::{Kind, MembersAt, ObjectShape, Scope, Shape, StringShape};
use schema_normal::normal::closed::all_members;
use schema_normal::normal::conjunctions::{ConjId, NONE};
use schema_normal::normal::demands;
use schema_normal::normal::search::shapes::shapes_of;
use schema_normal::options::PropertyOrder;

use crate::automaton::compile::builder::{Builder, Wanted};
use crate::automaton::compile::conditions::{Kept, names_of_conditions};
use crate::automaton::compile::declared::{Declared, OwnNames, all_properties};
use crate::automaton::compile::diagrams;
use crate::automaton::compile::further_names::{self, NameTests};
use crate::automaton::compile::member_choices::{Alternatives, MOST_WITNESSES, choices};
use crate::automaton::compile::member_order::{self, GoalOrder, ranks};
use crate::automaton::compile::member_rules::{
    Names, Rules, Said, ask_rules, conj_said, patterns_asked,
};
use crate::automaton::compile::plain_objects::word;
use crate::automaton::compile::value_kinds;
use crate::automaton::machine::node::Member;
use crate::automaton::machine::objects::{LOOSE, ObjectMachine, ObjectThread};
use crate::automaton::machine::strings::Word;

pub(super) fn object_machine(
    builder: &mut Builder,
    goals: &[ConjId],
    shapes: &[(u32, &ObjectShape)],
) -> Result<ObjectMachine, Error> {
    let rules = Rules::new(shapes);
    let mut named = Names::default();
    let tests = name_tests(builder, shapes, &mut named)?;
    mentioned(builder, shapes, &rules, &mut named);
    let mut names = Declared::new(named.list);
    let orders = member_order::orders(builder, goals, shapes, &mut names);
    let mut places: FxHashMap<*const u8, Option<u32>> = FxHashMap::default();
    let numbers = shapes.iter();
    let numbers = numbers.map(|(_, o)| OwnNames::new(o, &names, &mut places));
    let at = builder.normaliser.first_of(goals[0]);
    let kept = shapes.iter();
    let kept = kept.map(|(_, o)| Kept::new(at, o, &names, &builder.normaliser));
    let mut kept: Vec<Option<Kept>> = kept.collect::<Result<_, _>>()?;
    let of_rules = rules.list().iter().filter_map(|rule| rule.members());
    let all = Alternatives {
        at,
        numbers: numbers.collect(),
        properties: all_properties(&builder.normaliser, of_rules, shapes, &names),
        shapes,
        rules,
        names,
    };
    let declared = declared_members(builder, &all, &mut kept)?;
    let (keys, classes) = further_names::further_names(builder, &all, &tests, &kept)?;
    let threads = object_threads(builder, &all, &orders, (&kept, &declared))?;
    let words = all.names.sorted().map(|(name, number)| word(name, number));
    let words: Vec<Word> = words.collect();
    Ok(ObjectMachine::new(threads, words, declared, classes, keys))
}

/// Collects the demands on names as strings, each once; adds the names that they mention.
fn name_tests(
    builder: &mut Builder,
    shapes: &[(u32, &ObjectShape)],
    named: &mut Names,
) -> Result<NameTests, Error> {
    let mut tests: NameTests = FxHashMap::default();
    for (_, o) in shapes {
        let witnesses = o.some.iter().filter_map(|w| match &w.scope {
            Scope::Failing(s) => Some(vec![*s]),
            _ => None,
        });
        for names in std::iter::once(o.names.clone()).chain(witnesses) {
            if names.is_empty() || tests.contains_key(&names) {
                continue;
            }
            let conj = builder.normaliser.intern(&names);
            let shapes = shapes_of(&mut builder.normaliser, conj, Kind::String)?;
            let alternatives = shapes.iter().filter_map(|s| match s {
                Shape::String(s) => Some(s.clone()),
                _ => None,
            });
            let alternatives: Vec<StringShape> = alternatives.collect();
            for s in &alternatives {
                let texts = s.allowed.iter().flatten().chain(&s.excluded);
                texts.for_each(|text| named.add(text));
            }
            tests.insert(names, alternatives);
        }
    }
    Ok(tests)
}

/// Adds the names that alternatives and their rules mention.
fn mentioned(
    builder: &Builder,
    shapes: &[(u32, &ObjectShape)],
    rules: &Rules<'_>,
    named: &mut Names,
) {
    let mut met: FxHashSet<MembersAt> = FxHashSet::default();
    // Names of other alternatives may be told apart by `Unevaluated` alone.
    for at in rules.atoms(shapes) {
        if met.insert(at) {
            let names = builder.normaliser.members(at).names.order();
            names.for_each(|name| named.add(name));
        }
    }
    let of_rules = rules.list().iter().filter_map(|rule| rule.name());
    of_rules.for_each(|name| named.add(name));
    for (_, o) in shapes {
        let listed = o.required.iter().chain(&o.forbidden);
        let implied = o.implies.iter();
        let implied = implied.flat_map(|(name, needed)| std::iter::once(name).chain(needed));
        listed.chain(implied).for_each(|name| named.add(name));
        let kept = names_of_conditions(&builder.normaliser, o);
        kept.iter().for_each(|name| named.add(name));
    }
}

/// The members of declared names, by number.
fn declared_members(
    builder: &mut Builder,
    all: &Alternatives<'_>,
    kept: &mut [Option<Kept>],
) -> Result<Vec<Member>, Error> {
    let Alternatives { shapes, rules, .. } = all;
    let order = all.names.order();
    // Each name asks every rule, and each alternative its own.
    let of_shapes = shapes.iter().map(|(_, o)| 1 + o.rules.len()).sum::<usize>();
    let asked = rules.list().len() + of_shapes;
    let steps = order.len().saturating_mul(shapes.len()) / 4;
    let units = order.len().saturating_mul(asked) / 2;
    let units = steps.saturating_mul(STEP).saturating_add(units);
    builder.normaliser.work(all.at, units)?;
    let mut declared = Vec::with_capacity(order.len());
    let patterns = patterns_asked(&builder.normaliser, rules, shapes);
    builder
        .normaliser
        .work(all.at, 8 * order.len().saturating_mul(patterns.len()))?;
    let of_rules = rules.properties(&all.properties);
    let mut matched: Vec<PatternId> = Vec::new();
    let mut said = Said::default();
    let mut wanted: Wanted = Vec::with_capacity(shapes.len());
    for (number, name) in (0..).zip(order) {
        wanted.clear();
        matched.clear();
        let patterns = patterns.iter().copied();
        matched.extend(patterns.filter(|id| builder.normaliser.name_matches(*id, name)));
        let matches = |id: PatternId| matched.binary_search(&id).is_ok();
        let value_of = |rule: usize| of_rules[rule]?.value(number);
        let normaliser = &builder.normaliser;
        ask_rules(normaliser, rules, Some(name), &matches, value_of, &mut said);
        for (t, (_, o)) in shapes.iter().enumerate() {
            if all.numbers[t].forbidden.binary_search(&number).is_ok()
                || !builder.normaliser.name_satisfies(&o.names, name)?
            {
                continue;
            }
            let conj = conj_said(&mut builder.normaliser, rules, t, &mut said);
            if conj == NONE {
                continue;
            }
            if let Some(kept) = &mut kept[t]
                && kept.asks(number)
            {
                let kinds = value_kinds::kinds_of_values(builder, kept, number, conj)?;
                let choices = (1..).zip(kinds);
                wanted.extend(choices.map(|(take, kind)| (t as u32, kind.conj, take)));
                continue;
            }
            let mut failing: Vec<Signed> = Vec::new();
            for w in &o.some {
                if let Scope::Failing(s) = &w.scope
                    && !builder.normaliser.name_satisfies(&[*s], name)?
                {
                    failing.push(*s);
                }
            }
            let declares = |at| {
                let members = all.properties.get(&at);
                members.is_some_and(|members| members.value(number).is_some())
            };
            let holds = |s| !failing.contains(&s);
            let asked = demands::Asked::of_name(name, &declares, &matches, &holds);
            choices(builder, t as u32, o, conj, &asked, &mut wanted);
        }
        declared.push(builder.member(&wanted)?);
    }
    Ok(declared)
}

/// The threads, each with the places of names in its order.
fn object_threads(
    builder: &mut Builder,
    all: &Alternatives<'_>,
    orders: &[GoalOrder],
    (kept, declared): (&[Option<Kept>], &[Member]),
) -> Result<Vec<ObjectThread>, Error> {
    let mut facts = declared.len() as u32;
    let any_order = builder.options().property_order == PropertyOrder::Any;
    let names = &all.names;
    let mut threads = Vec::with_capacity(all.shapes.len());
    for (t, ((goal, o), own)) in all.shapes.iter().zip(&all.numbers).enumerate() {
        let order = &orders[*goal as usize];
        let ranks = match kept[t] {
            _ if any_order => vec![LOOSE; names.order().len()],
            None => ranks(o, own, order, names, &all.properties),
            // Alternatives that were not told apart share one order.
            Some(_) if all_members(&builder.normaliser, o).is_some() => order.of_all(names),
            Some(_) => vec![LOOSE; names.order().len()],
        };
        let required = own.required.iter();
        let required = required.map(|n| (ranks[*n as usize], *n));
        let mut required: Vec<(u32, u32)> = required.collect();
        required.sort_unstable();
        let implies = o.implies.iter().filter_map(|(n, needed)| {
            let list = needed.iter().filter_map(|n| names.number(n));
            Some((names.number(n)?, list.collect()))
        });
        let mut implies: Vec<(u32, Box<[u32]>)> = implies.collect();
        implies.sort_unstable();
        if o.some.len() > MOST_WITNESSES {
            let why = "more than eight members have to be found in one object";
            return Err(builder.normaliser.refusal(o.some[0].at, why));
        }
        let decisions = match &kept[t] {
            Some(kept) => {
                let thread = (t as u32, kept);
                let facts = &mut facts;
                let made =
                    diagrams::decisions(builder, all.at, thread, &own.required, declared, facts)?;
                Some(Box::new(made))
            }
            None => None,
        };
        let thread = ObjectThread::new(*goal, o.min, o.max);
        let thread = thread.with_names(ranks, required);
        threads.push(thread.with_demands(implies, o.some.len(), decisions));
    }
    Ok(threads)
}
