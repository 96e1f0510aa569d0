//! The classes of the names of an object that are not declared: names of which the same is
//! said are alike.
//!
//! For example, with `{"patternProperties": {"^a": {"type": "string"}, "b$": {"type": "null"}}}`
//! names are in four classes: only begin with `a`, only end with `b`, do both, or do neither.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use schema_normal::Error;
use schema_normal::budget::TooBig;
use schema_normal::decimal::clamped;
use schema_normal::ir::PatternId;
use schema_normal::ir::signed::Signed;
use schema_normal::language::char_dfa::CharDfa;
use schema_normal::language::char_dfa::product::Part;
use schema_normal::language::formats::Format;
use schema_normal::language::re::Re;
use schema_normal::normal::alternative::StringShape;
use schema_normal::normal::conjunctions::NONE;
use schema_normal::normal::demands;
use schema_normal::normal::normaliser::Normaliser;

use crate::automaton::compile::builder::{Builder, Wanted};
use crate::automaton::compile::conditions::Kept;
use crate::automaton::compile::leaf_cache::LeafSource;
use crate::automaton::compile::leaves;
use crate::automaton::compile::member_choices::{Alternatives, choices};
use crate::automaton::compile::member_rules::{Said, ask_rules, conj_said, patterns_asked};
use crate::automaton::machine::objects::{ExtraClass, KeyMachine, NO_CLASS};

/// A condition on names, for names that are not declared.
pub(super) type NameTests = FxHashMap<Vec<Signed>, Vec<StringShape>>;

/// The most classes, because the classes of a place are the bits of one word.
const MOST_CLASSES: usize = 64;

/// The classes of names that are not declared, and the automaton that tells them apart.
pub(super) fn further_names(
    builder: &mut Builder,
    all: &Alternatives<'_>,
    tests: &NameTests,
    kept: &[Option<Kept>],
) -> Result<(Option<KeyMachine>, Vec<ExtraClass>), Error> {
    let limit = builder.options().max_automaton_states;
    let at = (all.at, "patternProperties");
    let too_big = |normaliser: &Normaliser| {
        let why = format!(
            "what is said of names takes more than {limit} states; simplify the patterns or raise Options::max_automaton_states"
        );
        normaliser.refusal(at, &why)
    };
    let questions = questions(builder, all, (tests, kept));
    let questions = questions.map_err(|_| too_big(&builder.normaliser))?;
    if questions.parts.is_empty() {
        let (classes, _) = classes(builder, all, (tests, kept), &questions, &[0])?;
        return Ok((None, classes));
    }
    let parts: Vec<&Part> = questions.parts.iter().map(|part| &**part).collect();
    let dfa = CharDfa::labelled(&parts, builder.normaliser.limit());
    let dfa = dfa.map_err(|_| too_big(&builder.normaliser))?;
    let mut verdicts: Vec<u64> = (0..dfa.states() as u32).map(|s| dfa.label(s)).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    let (mut classes, class_of) = classes(builder, all, (tests, kept), &questions, &verdicts)?;
    let loops = builder.loops.reserve(dfa.states());
    let class_of = |label: u64| class_of.get(&label).copied();
    let keys = KeyMachine::new(dfa, loops, classes.len() as u32, class_of);
    for (class, left) in classes.iter_mut().zip(keys.left(u64::MAX, 0)) {
        class.count = left;
    }
    for name in all.names.order() {
        if let Some(class) = classes.get_mut(keys.class_at(keys.dfa.run(name)) as usize)
            && let Some(count) = &mut class.count
        {
            *count = count.saturating_sub(1);
        }
    }
    Ok((Some(keys), classes))
}

/// The classes, and that of each verdict.
fn classes(
    builder: &mut Builder,
    all: &Alternatives<'_>,
    (tests, kept): (&NameTests, &[Option<Kept>]),
    questions: &Questions,
    verdicts: &[u64],
) -> Result<(Vec<ExtraClass>, FxHashMap<u64, u32>), Error> {
    let mut said = Said::default();
    let mut classes: Vec<ExtraClass> = Vec::new();
    let mut known: FxHashMap<Wanted, u32> = FxHashMap::default();
    let mut class_of: FxHashMap<u64, u32> = FxHashMap::default();
    for &verdict in verdicts {
        let mut wanted: Wanted = Vec::new();
        let matches = |id: PatternId| questions.pattern(id, verdict);
        let normaliser = &builder.normaliser;
        ask_rules(normaliser, &all.rules, None, &matches, |_| None, &mut said);
        for (t, (_, o)) in all.shapes.iter().enumerate() {
            let test = |names: &[Signed]| {
                tests
                    .get(names)
                    .is_none_or(|alts| alts.iter().any(|s| questions.shape(s, verdict)))
            };
            if !o.names.is_empty() && !test(&o.names) {
                continue;
            }
            let conj = conj_said(&mut builder.normaliser, &all.rules, t, &mut said);
            if let Some(kept) = &kept[t] {
                if conj != NONE {
                    wanted.push((t as u32, conj, kept.further_take(matches)));
                }
                continue;
            }
            let holds = |s| test(&[s]);
            let asked = demands::Asked::of_class(&matches, &holds);
            choices(builder, t as u32, o, conj, &asked, &mut wanted);
        }
        let class = match known.get(&wanted) {
            Some(class) => *class,
            None => {
                let member = builder.member(&wanted)?;
                let class = match member.options.is_empty() {
                    true => NO_CLASS,
                    false => classes.len() as u32,
                };
                if class != NO_CLASS {
                    let count = None;
                    classes.push(ExtraClass { member, count });
                }
                known.insert(wanted, class);
                class
            }
        };
        class_of.insert(verdict, class);
    }
    if classes.len() > MOST_CLASSES {
        let why = "the patterns tell more than 64 kinds of names apart";
        return Err(builder
            .normaliser
            .refusal((all.at, "patternProperties"), why));
    }
    Ok((classes, class_of))
}

/// Collects the questions about a further name.
fn questions(
    builder: &mut Builder,
    all: &Alternatives<'_>,
    (tests, kept): (&NameTests, &[Option<Kept>]),
) -> Result<Questions, TooBig> {
    let mut q = Questions::default();
    for id in kept.iter().flatten().flat_map(|kept| kept.patterns()) {
        ask_pattern(builder, *id, &mut q)?;
    }
    for id in patterns_asked(&builder.normaliser, &all.rules, all.shapes) {
        ask_pattern(builder, id, &mut q)?;
    }
    for alternatives in tests.values() {
        for s in alternatives.iter().filter(|s| s.allowed.is_none()) {
            for (id, _) in &s.patterns {
                ask_pattern(builder, *id, &mut q)?;
            }
            for (f, _) in &s.formats {
                if !q.formats.contains_key(f) {
                    let bit = q.add(leaves::part(builder, LeafSource::Format(*f))?);
                    q.formats.insert(*f, bit);
                }
            }
            if (s.min > 0 || s.max.is_some()) && !q.lengths.contains_key(&(s.min, s.max)) {
                let re = Re::any_char().repeat(clamped(s.min), s.max.map(clamped));
                let part = Part::new(&re, builder.normaliser.limit())?;
                let bit = q.add(Rc::new(part));
                q.lengths.insert((s.min, s.max), bit);
            }
        }
    }
    Ok(q)
}

fn ask_pattern(builder: &mut Builder, id: PatternId, q: &mut Questions) -> Result<(), TooBig> {
    if q.patterns.contains_key(&id) {
        return Ok(());
    }
    let mut bits = Vec::new();
    for (asked, want) in leaves::asked_by(builder, id) {
        bits.push((q.add(leaves::part(builder, asked)?), want));
    }
    // A pattern that cannot be read holds nowhere.
    if !bits.is_empty() {
        q.patterns.insert(id, bits);
    }
    Ok(())
}

/// The questions about a further name, each with the bits of its expressions.
#[derive(Default)]
struct Questions {
    parts: Vec<Rc<Part>>,
    /// Main expression and looks, each with what is wanted.
    patterns: FxHashMap<PatternId, Vec<(usize, bool)>>,
    formats: FxHashMap<Format, usize>,
    lengths: FxHashMap<(u64, Option<u64>), usize>,
}

impl Questions {
    /// Adds an expression; answers its bit.
    fn add(&mut self, part: Rc<Part>) -> usize {
        self.parts.push(part);
        self.parts.len() - 1
    }

    fn pattern(&self, id: PatternId, verdict: u64) -> bool {
        self.patterns.get(&id).is_some_and(|bits| {
            bits.iter()
                .all(|(b, want)| (verdict & (1 << b) != 0) == *want)
        })
    }

    fn shape(&self, s: &StringShape, verdict: u64) -> bool {
        let bit = |b: Option<&usize>| b.is_some_and(|b| verdict & (1 << b) != 0);
        s.allowed.is_none()
            && s.patterns
                .iter()
                .all(|(id, want)| self.pattern(*id, verdict) == *want)
            && s.formats
                .iter()
                .all(|(f, want)| bit(self.formats.get(f)) == *want)
            && ((s.min == 0 && s.max.is_none()) || bit(self.lengths.get(&(s.min, s.max))))
    }
}
