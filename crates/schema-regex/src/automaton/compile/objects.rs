//! Builds the machine of objects: declared names in order, classes of further
//! names, and for each thread what a member must be.

use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::automaton::compile::builder::{Builder, Wanted};
use crate::automaton::compile::declared::{AllProperties, Declared, Numbers};
use crate::automaton::compile::leaves::Asked;
use crate::automaton::compile::member_rules::{Names, Rules, Said};
use crate::automaton::machine::few::Few;
use crate::automaton::machine::node::{
    Choice, ExtraClass, KeyMachine, LOOSE, NO_CLASS, ObjectMachine, ObjectThread, Word, Words,
    are_numbers,
};
use crate::budget::TooBig;
use crate::error::{Error, ErrorKind};
use crate::ir::signed::Signed;
use crate::ir::{Name, NodeId, PatternId};
use crate::language::char_dfa::CharDfa;
use crate::language::formats::Format;
use crate::language::product::Part;
use crate::language::re::Re;
use crate::normal::alternative::MembersAt;
use crate::normal::alternative::{
    Kind, MemberRule, ObjectShape, Scope, Shape, Source, StringShape,
};
use crate::normal::conjunctions::ConjId;
use crate::normal::conjunctions::NONE;
use crate::normal::demands;
use crate::normal::normaliser::Normaliser;
use crate::options::PropertyOrder;

/// A condition on names, for names that are not declared.
type NameTests = FxHashMap<Vec<Signed>, Vec<StringShape>>;

/// What is asked of a further name, each with the bits of its expressions.
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

impl Builder {
    pub(crate) fn object_machine(
        &mut self,
        goals: &[ConjId],
        shapes: &[(u32, &ObjectShape)],
    ) -> Result<ObjectMachine, Error> {
        let mut tests: NameTests = FxHashMap::default();
        let rules = Rules::new(shapes);
        let mut named = Names::default();
        let mut met: FxHashSet<MembersAt> = FxHashSet::default();
        for (_, o) in shapes {
            let witnesses: Vec<Vec<Signed>> = o
                .some
                .iter()
                .filter_map(|w| match &w.scope {
                    Scope::Failing(s) => Some(vec![*s]),
                    _ => None,
                })
                .collect();
            for names in std::iter::once(o.names.clone()).chain(witnesses) {
                if names.is_empty() || tests.contains_key(&names) {
                    continue;
                }
                let conj = self.normaliser.intern(&names);
                let alternatives: Vec<StringShape> = self
                    .normaliser
                    .shapes_of(conj, Kind::String)?
                    .iter()
                    .filter_map(|s| match s {
                        Shape::String(s) => Some(s.clone()),
                        _ => None,
                    })
                    .collect();
                for s in &alternatives {
                    let texts = s.allowed.iter().flatten().chain(&s.excluded);
                    texts.for_each(|text| named.add(text));
                }
                tests.insert(names, alternatives);
            }
            for name in o.required.iter().chain(&o.forbidden) {
                named.add(name);
            }
            for (name, needed) in &o.implies {
                named.add(name);
                needed.iter().for_each(|name| named.add(name));
            }
        }
        for rule in rules.list() {
            match rule {
                MemberRule::Members { node, atom, .. } => {
                    self.name_members((*node, *atom), &mut met, &mut named);
                }
                MemberRule::Name(name, _) => named.add(name),
                MemberRule::Unevaluated(..) => {}
            }
        }
        // Names of other alternatives that only `Unevaluated` tells apart.
        let of_rules = rules.list().iter().filter_map(|rule| match rule {
            MemberRule::Unevaluated(sources, _) => Some(sources),
            _ => None,
        });
        let witnesses = shapes.iter().flat_map(|(_, o)| &o.some);
        let of_witnesses = witnesses.clone().filter_map(|w| match &w.scope {
            Scope::Unevaluated(sources) => Some(sources),
            _ => None,
        });
        for source in of_rules.chain(of_witnesses).flatten() {
            if let Source::Members(node, atom) = source {
                self.name_members((*node, *atom), &mut met, &mut named);
            }
        }
        for w in witnesses {
            if let Scope::Additional(node, atom) = &w.scope {
                self.name_members((*node, *atom), &mut met, &mut named);
            }
        }
        let mut names = Declared::new(named.list);
        let orders = self.orders(goals, shapes, &mut names);
        let properties = self.normaliser.all_properties(&rules, shapes, &names);
        let mut places: FxHashMap<*const u8, Option<u32>> = FxHashMap::default();
        let numbers: Vec<Numbers> = shapes
            .iter()
            .map(|(_, o)| Numbers::new(o, &names, &mut places))
            .collect();
        let order = names.order();
        let any_order = self.options().property_order == PropertyOrder::Any;
        let at = self.normaliser.first_of(goals[0]);
        // Of each name every rule is asked, and of each alternative its own.
        let asked =
            rules.list().len() + shapes.iter().map(|(_, o)| 1 + o.rules.len()).sum::<usize>();
        self.normaliser
            .spend_many(at, order.len().saturating_mul(shapes.len()) / 4)?;
        self.normaliser
            .work(at, order.len().saturating_mul(asked) / 2)?;
        let mut declared = Vec::with_capacity(order.len());
        let patterns = self.normaliser.patterns_asked(&rules, shapes);
        self.normaliser
            .work(at, 8 * order.len().saturating_mul(patterns.len()))?;
        let of_rules = rules.properties(&properties);
        let mut matched: Vec<PatternId> = Vec::new();
        let mut said = Said::default();
        let mut wanted: Wanted = Vec::with_capacity(shapes.len());
        for (number, name) in (0..).zip(order) {
            wanted.clear();
            matched.clear();
            let all = patterns.iter().copied();
            matched.extend(all.filter(|id| self.normaliser.name_matches(*id, name)));
            let matches = |id: PatternId| matched.binary_search(&id).is_ok();
            let value_of = |rule: usize| of_rules[rule]?.value(number);
            let normaliser = &self.normaliser;
            normaliser.ask(&rules, Some(name), &matches, value_of, &mut said);
            for (t, (_, o)) in shapes.iter().enumerate() {
                if numbers[t].forbidden.binary_search(&number).is_ok()
                    || !self.normaliser.name_satisfies(&o.names, name)?
                {
                    continue;
                }
                let conj = self.normaliser.conj_said(&rules, t, &mut said);
                if conj == NONE {
                    continue;
                }
                if o.some.is_empty() {
                    wanted.push((t as u32, conj, 0));
                    continue;
                }
                let mut failing: Vec<Signed> = Vec::new();
                for w in &o.some {
                    if let Scope::Failing(s) = &w.scope
                        && !self.normaliser.name_satisfies(&[*s], name)?
                    {
                        failing.push(*s);
                    }
                }
                let asked = demands::Asked {
                    name: Some(name),
                    declared: &|at| properties.get(&at)?.value(number),
                    matches: &matches,
                    holds: &|s| !failing.contains(&s),
                };
                self.choices(t as u32, o, conj, &asked, &mut wanted);
            }
            declared.push(self.member(&wanted)?);
        }
        let (keys, classes) = self.extras(at, (shapes, &rules), &tests, order)?;
        let mut threads = Vec::with_capacity(shapes.len());
        let mut cap = 0u64;
        for ((goal, o), own) in shapes.iter().zip(&numbers) {
            let ranks = if any_order {
                vec![LOOSE; order.len()]
            } else {
                ranks(o, own, &orders[*goal as usize], &names, &properties)
            };
            let required = own.required.iter();
            let mut required: Vec<(u32, u32)> =
                required.map(|n| (ranks[*n as usize], *n)).collect();
            required.sort_unstable();
            let mut implies: Vec<(u32, Box<[u32]>)> = o
                .implies
                .iter()
                .filter_map(|(n, needed)| {
                    let list = needed.iter().filter_map(|n| names.number(n));
                    Some((names.number(n)?, list.collect()))
                })
                .collect();
            implies.sort_unstable();
            if o.some.len() > 8 {
                return Err(Error::at(
                    ErrorKind::Refused,
                    self.normaliser.pointer(o.some[0].at.0),
                    o.some[0].at.1,
                    format!(
                        "`{}`: more than eight members have to be found in one object",
                        o.some[0].at.1
                    ),
                ));
            }
            cap = cap.max(o.max.map_or(o.min, |m| m.saturating_add(1)));
            threads.push(ObjectThread {
                goal: *goal,
                by_number: are_numbers(&ranks),
                ranks: ranks.into(),
                simple: implies.is_empty() && o.min == 0 && o.max.is_none() && o.some.is_empty(),
                required: required.into(),
                min: o.min,
                max: o.max,
                implies: implies.into(),
                witnesses: (1u32 << o.some.len()) - 1,
            });
        }
        let words: Vec<Word> = names
            .sorted()
            .map(|(name, number)| Word {
                text: Arc::clone(name),
                listed: Few::One(number),
                excluded: Few::default(),
            })
            .collect();
        // Remembered is what a thread lets come at any time.
        let mut tracked = vec![0u32; order.len().div_ceil(32)];
        let mut track = |n: u32| tracked[n as usize / 32] |= 1 << (n % 32);
        for (n, member) in (0..).zip(&declared) {
            let mut options = member.options.iter();
            let is_loose = |c: &Choice| threads[c.thread as usize].ranks[n as usize] == LOOSE;
            if options.any(is_loose) {
                track(n);
            }
        }
        for (n, list) in threads.iter().flat_map(|thread| &thread.implies) {
            track(*n);
            list.iter().for_each(|n| track(*n));
        }
        Ok(ObjectMachine {
            tracked: tracked.into(),
            ordered: threads.iter().any(|t| t.ranks.iter().any(|r| *r != LOOSE)),
            threads: threads.into(),
            names: Words::new(words, 1),
            declared: declared.into(),
            classes: classes.into(),
            keys,
            cap: u32::try_from(cap).unwrap_or(u32::MAX),
            heads: OnceLock::new(),
        })
    }

    /// Gives numbers to names, and tells the order of each goal that an object may
    /// satisfy: those that a value may satisfy besides have no say in it.
    fn orders(
        &self,
        goals: &[ConjId],
        shapes: &[(u32, &ObjectShape)],
        names: &mut Declared,
    ) -> Vec<GoalOrder> {
        let mut orders: Vec<GoalOrder> = Vec::new();
        orders.resize_with(goals.len(), GoalOrder::default);
        let mut later: Vec<(usize, Vec<Name>)> = Vec::new();
        for (goal, _) in shapes {
            let goal = *goal as usize;
            if later.last().is_some_and(|(last, _)| *last == goal) {
                continue;
            }
            let (walk, others) = self.normaliser.walk(goals[goal]);
            for (node, atom) in &walk {
                let members = self.normaliser.members(*node, *atom);
                let given = members.names.order().filter_map(|name| names.give(name));
                orders[goal].names.extend(given);
            }
            orders[goal].walked = walk.iter().copied().collect();
            orders[goal].walk = walk;
            later.push((goal, others));
        }
        for (goal, others) in later {
            let given = others.iter().filter_map(|name| names.give(name));
            orders[goal].names.extend(given);
        }
        names.give_rest();
        orders
    }

    /// Adds the names of a `Members` atom, once.
    fn name_members(&self, at: MembersAt, met: &mut FxHashSet<MembersAt>, named: &mut Names) {
        if met.insert(at) {
            let members = self.normaliser.members(at.0, at.1);
            members.names.order().for_each(|name| named.add(name));
        }
    }

    /// What a member may be for a thread: plainly, or as a witness too.
    fn choices(
        &mut self,
        thread: u32,
        o: &ObjectShape,
        conj: ConjId,
        asked: &demands::Asked<'_>,
        out: &mut Wanted,
    ) {
        if conj == NONE {
            return;
        }
        out.push((thread, conj, 0));
        if o.some.is_empty() {
            return;
        }
        // The first eight; more are refused.
        let mut in_scope = [0; 8];
        let mut count = 0;
        for (i, witness) in o.some.iter().enumerate() {
            if count < in_scope.len() && self.normaliser.in_scope(&witness.scope, asked) {
                in_scope[count] = i;
                count += 1;
            }
        }
        let mut parts = std::mem::take(&mut self.normaliser.parts);
        for subset in 1..1u32 << count {
            parts.clear();
            parts.extend_from_slice(self.normaliser.conj(conj));
            let mut take = 0;
            for (bit, i) in in_scope[..count].iter().enumerate() {
                if subset & (1 << bit) != 0 {
                    parts.push(o.some[*i].value);
                    take |= 1 << *i;
                }
            }
            let conj = self.normaliser.intern(&parts);
            out.push((thread, conj, take));
        }
        parts.clear();
        self.normaliser.parts = parts;
    }

    /// The classes of names that are not declared.
    fn extras(
        &mut self,
        at: NodeId,
        (shapes, rules): (&[(u32, &ObjectShape)], &Rules<'_>),
        tests: &NameTests,
        declared: &[Name],
    ) -> Result<(Option<KeyMachine>, Vec<ExtraClass>), Error> {
        let limit = self.options().max_automaton_states;
        let too_big = |normaliser: &Normaliser| {
            Error::at(
                ErrorKind::Refused,
                normaliser.pointer(at),
                "patternProperties",
                format!(
                    "`patternProperties`: what is said of names takes more than {limit} states; simplify the patterns or raise Options::max_automaton_states"
                ),
            )
        };
        let questions = self.questions((shapes, rules), tests);
        let questions = questions.map_err(|_| too_big(&self.normaliser))?;
        let machine = if questions.parts.is_empty() {
            None
        } else {
            let parts: Vec<&Part> = questions.parts.iter().map(|part| &**part).collect();
            let dfa = CharDfa::labelled(&parts, self.normaliser.limit());
            Some(dfa.map_err(|_| too_big(&self.normaliser))?)
        };
        let verdicts = match &machine {
            Some(dfa) => {
                let mut all: Vec<u64> = (0..dfa.states() as u32).map(|s| dfa.label(s)).collect();
                all.sort_unstable();
                all.dedup();
                all
            }
            None => vec![0],
        };
        let mut said = Said::default();
        let mut classes: Vec<ExtraClass> = Vec::new();
        let mut known: FxHashMap<Wanted, u32> = FxHashMap::default();
        let mut class_of: FxHashMap<u64, u32> = FxHashMap::default();
        for verdict in verdicts {
            let mut wanted: Wanted = Vec::new();
            let matches = |id: PatternId| questions.pattern(id, verdict);
            let normaliser = &self.normaliser;
            normaliser.ask(rules, None, &matches, |_| None, &mut said);
            for (t, (_, o)) in shapes.iter().enumerate() {
                let test = |names: &Vec<Signed>| {
                    tests
                        .get(names)
                        .is_none_or(|alts| alts.iter().any(|s| questions.shape(s, verdict)))
                };
                if !o.names.is_empty() && !test(&o.names) {
                    continue;
                }
                let conj = self.normaliser.conj_said(rules, t, &mut said);
                let asked = demands::Asked {
                    name: None,
                    declared: &|_| None,
                    matches: &matches,
                    holds: &|s| test(&vec![s]),
                };
                self.choices(t as u32, o, conj, &asked, &mut wanted);
            }
            let class = match known.get(&wanted) {
                Some(class) => *class,
                None => {
                    let member = self.member(&wanted)?;
                    let class = if member.options.is_empty() {
                        NO_CLASS
                    } else {
                        classes.push(ExtraClass {
                            member,
                            count: None,
                        });
                        classes.len() as u32 - 1
                    };
                    known.insert(wanted, class);
                    class
                }
            };
            class_of.insert(verdict, class);
        }
        if classes.len() > 64 {
            return Err(Error::at(
                ErrorKind::Refused,
                self.normaliser.pointer(at),
                "patternProperties",
                "`patternProperties`: the patterns tell more than 64 kinds of names apart",
            ));
        }
        let Some(dfa) = machine else {
            return Ok((None, classes));
        };
        let class: Vec<u32> = (0..dfa.states() as u32)
            .map(|s| class_of.get(&dfa.label(s)).copied().unwrap_or(NO_CLASS))
            .collect();
        let mut counts = Vec::with_capacity(classes.len());
        for c in 0..classes.len() as u32 {
            counts.push(dfa.counts(|label| class_of.get(&label) == Some(&c)));
        }
        let loops = self.loops.reserve(dfa.states());
        let keys = KeyMachine {
            dfa,
            loops,
            class,
            counts,
        };
        for (c, class) in classes.iter_mut().enumerate() {
            class.count = keys.counts[c].first().copied().flatten();
        }
        for name in declared {
            let c = keys.class_of(name);
            if let Some(class) = classes.get_mut(c as usize)
                && let Some(count) = &mut class.count
            {
                *count = count.saturating_sub(1);
            }
        }
        Ok((Some(keys), classes))
    }

    fn questions(
        &mut self,
        (shapes, rules): (&[(u32, &ObjectShape)], &Rules<'_>),
        tests: &NameTests,
    ) -> Result<Questions, TooBig> {
        let mut q = Questions::default();
        for id in self.normaliser.patterns_asked(rules, shapes) {
            self.ask_pattern(id, &mut q)?;
        }
        for alternatives in tests.values() {
            for s in alternatives.iter().filter(|s| s.allowed.is_none()) {
                for (id, _) in &s.patterns {
                    self.ask_pattern(*id, &mut q)?;
                }
                for (f, _) in &s.formats {
                    if !q.formats.contains_key(f) {
                        let bit = q.add(self.part(Asked::Format(*f))?);
                        q.formats.insert(*f, bit);
                    }
                }
                if (s.min > 0 || s.max.is_some()) && !q.lengths.contains_key(&(s.min, s.max)) {
                    let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
                    let re = Re::any_char().repeat(count(s.min), s.max.map(count));
                    let part = Part::new(&re, self.normaliser.limit())?;
                    let bit = q.add(Rc::new(part));
                    q.lengths.insert((s.min, s.max), bit);
                }
            }
        }
        Ok(q)
    }

    fn ask_pattern(&mut self, id: PatternId, q: &mut Questions) -> Result<(), TooBig> {
        if q.patterns.contains_key(&id) {
            return Ok(());
        }
        let mut bits = Vec::new();
        for (asked, want) in self.asked_by(id) {
            bits.push((q.add(self.part(asked)?), want));
        }
        // A pattern that cannot be read holds nowhere.
        if !bits.is_empty() {
            q.patterns.insert(id, bits);
        }
        Ok(())
    }
}

/// Up to so many rules are looked through one by one.
const FEW_RULES: usize = 8;

/// The order that a goal gives to members.
#[derive(Default)]
struct GoalOrder {
    /// The `properties` that it leads to in place.
    walk: Vec<MembersAt>,
    /// The same, each once.
    walked: FxHashSet<MembersAt>,
    /// Their names and then those that other keywords have, by number; some repeat.
    names: Vec<u32>,
}

/// The places of names in the order of one alternative: `properties` of the
/// locations that it consists of, in the order of the walk, then what else it names.
fn ranks(
    o: &ObjectShape,
    own: &Numbers,
    goal: &GoalOrder,
    names: &Declared,
    properties: &AllProperties,
) -> Vec<u32> {
    let mut ranks = vec![LOOSE; names.order().len()];
    let mut next = 0;
    let mut place = |ranks: &mut [u32], number: u32| {
        let rank = &mut ranks[number as usize];
        if *rank == LOOSE {
            *rank = next;
            next += 1;
        }
    };
    let members = MemberRule::members;
    let many: Option<FxHashSet<MembersAt>> =
        (o.rules.len() > FEW_RULES).then(|| o.rules.iter().filter_map(members).collect());
    let is_member = |at: &MembersAt| match &many {
        Some(all) => all.contains(at),
        None => o.rules.iter().any(|r| members(r) == Some(*at)),
    };
    let order = |at: &MembersAt| properties.get(at).map_or(&[][..], |p| &p.order);
    for at in goal.walk.iter().filter(|at| is_member(at)) {
        order(at).iter().for_each(|n| place(&mut ranks, *n));
    }
    // Synthetic ones, which no walk meets.
    let of_rules = o.rules.iter().filter_map(members);
    for at in of_rules.filter(|at| !goal.walked.contains(at)) {
        order(&at).iter().for_each(|n| place(&mut ranks, *n));
    }
    let implied = o.implies.iter();
    let implied = implied.flat_map(|(n, list)| std::iter::once(n).chain(list));
    let implied = implied.filter_map(|n| names.number(n));
    let demanded = own.required.iter().copied().chain(implied);
    let left: FxHashSet<u32> = demanded.filter(|n| ranks[*n as usize] == LOOSE).collect();
    if !left.is_empty() {
        for number in goal.names.iter().filter(|n| left.contains(n)) {
            place(&mut ranks, *number);
        }
    }
    own.required.iter().for_each(|n| place(&mut ranks, *n));
    ranks
}
