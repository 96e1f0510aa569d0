//! The caps of the options: bounds for strings, numbers, arrays and objects that the
//! schema leaves without one. A cap bounds the alternative of a goal, in which nothing is negated
//! any more, so that the language only gets smaller. For example
//! `{"type": "array", "minItems": 3}` under a cap of two items has three.

use std::collections::BTreeSet;
use std::sync::Arc;

use schema_normal::ir::signed::Signed;
use schema_normal::ir::{ALWAYS, Atom, AtomKind, Name, NodeId, PatternId};
use schema_normal::language::char_dfa::lengths::Lengths;
use schema_normal::language::numbers::dfa::NumberDfa;
use schema_normal::normal::alternative::{
    ArrayShape, Kind, MemberRule, ObjectShape, Shape, StringShape,
};
use schema_normal::normal::conjunctions::{ConjId, NONE};
use schema_normal::normal::demands::rule_says;
use schema_normal::normal::search::shapes::shapes_of;
use schema_normal::{Error, ErrorKind};

use crate::automaton::compile::builder::Builder;
use crate::automaton::compile::conditions::names_of_conditions;
use crate::automaton::compile::leaves;
use crate::automaton::machine::strings::StringDemand;
use crate::regex::Capped;

fn narrow(builder: &mut Builder, conj: ConjId, keyword: &'static str, how: Capped) {
    let at = builder
        .normaliser
        .pointer(builder.normaliser.first_of(conj));
    builder.narrowed.insert((at, keyword, how.into()));
}

/// The shape with a bound for the length, where strings may have any, unless none
/// would be left.
pub(super) fn cap_string(
    builder: &mut Builder,
    conj: ConjId,
    shape: &StringShape,
) -> Result<Option<StringShape>, Error> {
    let Some(cap) = builder.options().caps.length else {
        return Ok(None);
    };
    if shape.max.is_some() || shape.allowed.is_some() {
        return Ok(None);
    }
    let leaves = leaves::string_leaves(builder, shape)?;
    if leaves.is_empty() {
        return Ok(None);
    }
    let excludes = leaves.iter().any(StringDemand::excludes);
    let cap = cap.max(shape.min).max(u64::from(excludes));
    let (mut is_endless, mut is_some) = (false, false);
    for leaf in leaves {
        let StringDemand::Read { dfa, min, .. } = &leaf else {
            (is_endless, is_some) = (true, true);
            continue;
        };
        let finite = dfa.counts(|l| l != 0).first().copied().flatten().is_some();
        let fits = match Lengths::new(dfa, *min, Some(cap), builder.normaliser.limit()) {
            Ok(Some(lengths)) => lengths.live(0, 0),
            Ok(None) => true,
            Err(_) => false,
        };
        is_endless |= !finite;
        is_some |= fits;
    }
    if !is_endless || !is_some {
        return Ok(None);
    }
    narrow(builder, conj, "maxLength", Capped::Length(cap));
    let max = Some(cap);
    Ok(Some(StringShape {
        max,
        ..shape.clone()
    }))
}

/// Bounds the items of arrays that may have any number.
pub(super) fn cap_array(builder: &mut Builder, conj: ConjId, shape: &mut ArrayShape) {
    let Some(cap) = builder.options().caps.items else {
        return;
    };
    if shape.max.is_some() {
        return;
    }
    let cap = cap.max(shape.needed());
    shape.max = Some(cap);
    narrow(builder, conj, "maxItems", Capped::Items(cap));
}

/// Bounds the digits of numbers that may have any number of them, unless none would be
/// left.
pub(super) fn cap_number(
    builder: &mut Builder,
    conj: ConjId,
    dfa: Arc<NumberDfa>,
) -> Result<Arc<NumberDfa>, Error> {
    let Some(cap) = builder.options().caps.digits else {
        return Ok(dfa);
    };
    let Some(least) = dfa.endless_digits() else {
        return Ok(dfa);
    };
    let most = cap.max(least);
    narrow(builder, conj, "", Capped::Digits(most));
    let key = (Arc::as_ptr(&dfa), most);
    if let Some(known) = builder.leaves.capped.get(&key) {
        return Ok(Arc::clone(known));
    }
    let limit = builder.normaliser.limit().times(20);
    let Some(made) = dfa.of_digits(most, limit) else {
        let states = limit.states;
        return Err(Error::new(
            ErrorKind::Refused,
            builder
                .normaliser
                .pointer(builder.normaliser.first_of(conj)),
            format!(
                "the cap `digits`: numbers of {most} digits take more than {states} states; lower it or raise Options::max_automaton_states"
            ),
        ));
    };
    let made = Arc::new(made);
    builder.leaves.capped.insert(key, Arc::clone(&made));
    // Its address stands for it from now on.
    builder.leaves.whole.push(dfa);
    Ok(made)
}

/// Tells whether objects have caps.
pub(super) fn caps_objects(builder: &Builder) -> bool {
    let caps = &builder.options().caps;
    caps.members.is_some() || caps.name_length.is_some()
}

/// Bounds the members of an object that may have some that no keyword names, and the
/// names of these.
pub(super) fn cap_object(
    builder: &mut Builder,
    conj: ConjId,
    o: &mut ObjectShape,
) -> Result<(), Error> {
    let patterns = patterns_of_names(builder, o);
    if patterns.is_empty() && !has_further(builder, o) {
        return Ok(());
    }
    let named = named_by(builder, o);
    let longest = named.iter().map(|name| name.chars().count() as u64).max();
    let named = named.len() as u64;
    let caps = builder.options().caps;
    if let Some(cap) = caps.name_length
        && let Some(cap) = cap_of_names(builder, o, &patterns, cap.max(longest.unwrap_or(0)))?
    {
        // One name alone would be too few where members are asked for.
        let cap = if o.min > named { cap.max(1) } else { cap };
        let location = of_length(builder, cap);
        o.names.push(Signed::yes(location));
        narrow(builder, conj, "propertyNames", Capped::Names(cap));
    }
    // Members are not counted if a name implies another one or conditions are kept.
    let is_counted = o.implies.is_empty() && o.conditions.is_empty();
    if let (Some(cap), None, true) = (caps.members, o.max, is_counted) {
        let found = (o.required.len() + o.some.len()) as u64;
        let cap = cap.max(named).max(o.min).max(found);
        o.max = Some(cap);
        narrow(builder, conj, "maxProperties", Capped::Members(cap));
    }
    Ok(())
}

/// Tells whether an object may have a member that no name and no pattern speaks of.
fn has_further(builder: &mut Builder, o: &ObjectShape) -> bool {
    let mut parts = Vec::new();
    for rule in &o.rules {
        let further = &mut parts;
        rule_says(
            &builder.normaliser,
            rule,
            None,
            &|_| false,
            |_| None,
            further,
        );
    }
    builder.normaliser.intern(&parts) != NONE
}

/// The names that an object's conditions mention.
fn named_by(builder: &Builder, o: &ObjectShape) -> BTreeSet<Name> {
    let atoms = o.atoms().into_iter();
    let listed = atoms.flat_map(|at| builder.normaliser.members(at).names.order());
    let of_rules = o.rules.iter().filter_map(MemberRule::name);
    let implied = o.implies.iter();
    let implied = implied.flat_map(|(name, needed)| std::iter::once(name).chain(needed));
    let names = listed.chain(of_rules).chain(&o.required).chain(implied);
    let kept = names_of_conditions(&builder.normaliser, o);
    names.cloned().chain(kept).collect()
}

/// The patterns of names that an object's conditions have.
fn patterns_of_names(builder: &Builder, o: &ObjectShape) -> Vec<PatternId> {
    let atoms = o.atoms().into_iter();
    atoms
        .flat_map(|at| builder.normaliser.members(at).patterns.iter())
        .map(|(id, _)| *id)
        .collect()
}

/// The bound for names, raised as far as their conditions ask for longer ones; `None`
/// where these have a bound of their own or are not known.
fn cap_of_names(
    builder: &mut Builder,
    o: &ObjectShape,
    patterns: &[PatternId],
    cap: u64,
) -> Result<Option<u64>, Error> {
    let mut cap = cap;
    for id in patterns {
        cap = cap.max(least_of_pattern(builder, *id));
    }
    if o.names.is_empty() {
        return Ok(Some(cap));
    }
    let names = builder.normaliser.intern(&o.names);
    let mut is_bounded = true;
    for shape in shapes_of(&mut builder.normaliser, names, Kind::String)?.iter() {
        let Shape::String(s) = shape else { continue };
        is_bounded &= s.max.is_some() || s.allowed.is_some();
        if !s.formats.is_empty() {
            return Ok(None);
        }
        let listed = s.allowed.iter().flatten();
        let listed = listed.map(|text| text.chars().count() as u64).max();
        cap = cap
            .max(s.min)
            .max(s.max.unwrap_or(0))
            .max(listed.unwrap_or(0));
        for (id, _) in &s.patterns {
            cap = cap.max(least_of_pattern(builder, *id));
        }
    }
    Ok((!is_bounded).then_some(cap))
}

/// Returns the greatest length of a pattern's texts, or the least one if they have no greatest.
fn least_of_pattern(builder: &Builder, id: PatternId) -> u64 {
    match &builder.normaliser.schema().pattern(id).pattern {
        Ok(pattern) => {
            let (least, most) = pattern.conditions()[0].0.length_range();
            most.unwrap_or(least)
        }
        Err(_) => 0,
    }
}

/// A location of strings of so many characters.
fn of_length(builder: &mut Builder, most: u64) -> NodeId {
    if let Some((_, known)) = builder.lengths.iter().find(|(of, _)| *of == most) {
        return *known;
    }
    let kind = AtomKind::MaxLength(most);
    let keyword = "maxLength";
    let made = builder
        .normaliser
        .synthetic(ALWAYS, vec![Atom { keyword, kind }]);
    builder.lengths.push((most, made));
    made
}
