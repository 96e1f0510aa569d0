//! Turns a conjunction of signed locations into alternatives without choice,
//! for one kind of value at a time: a search that applies what is certain
//! first and splits on what is left, dropping what contradicts itself.

pub(crate) mod allowed;
pub(crate) mod applied;
pub(crate) mod distinct;
pub(crate) mod keywords;
pub(crate) mod known;
pub(crate) mod unevaluated;

use crate::automaton::compile::expand::allowed::Allowed;
use crate::automaton::compile::expand::applied::Done;
use crate::automaton::compile::expand::distinct::Distinct;
use crate::automaton::compile::expand::keywords::{add_count, array, object};
use crate::automaton::compile::expand::unevaluated::new_collector;

use std::rc::Rc;

use crate::automaton::compile::alternative::{Count, Kind, MemberRule, Shape, Source, Witness};
use crate::automaton::compile::compiler::{Compiler, Shapes};
use crate::automaton::machine::node::ConjId;
use crate::budget::STEP;
use crate::error::{Error, ErrorKind};
use crate::ir::{AtomKind, Body, Kinds, Name, NodeId, ROOT};
use crate::normal::shape::Signed;

/// Something that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    Node(Signed),
    Atom(NodeId, u16, bool),
    /// The node holds but for its unevaluated members or items.
    AllButUnevaluated(NodeId),
    Require(Name),
    Forbid(Name),
    /// The member is there, and so.
    Member(Name, Signed),
    /// The item is there, and so.
    Item(u64, Signed),
    Count(Count),
    Some(Witness),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Term {
    what: What,
    /// Which collector of evaluated members and items it reports to.
    collector: Option<u16>,
}

type Branch = Vec<Vec<Term>>;

/// The same once it is made: partials share it.
type Choices = Rc<[Rc<[Term]>]>;

fn choices(branch: Branch) -> Choices {
    branch.into_iter().map(Into::into).collect()
}

/// A location with `unevaluatedProperties` or `unevaluatedItems`.
#[derive(Clone)]
struct Collector {
    parent: Option<u16>,
    node: NodeId,
    negated: bool,
    members: Vec<Source>,
    prefix: u64,
    all_items: bool,
    contains: Vec<NodeId>,
}

#[derive(Clone)]
struct Partial {
    shape: Shape,
    /// The values that `enum` leaves.
    allowed: Option<Allowed>,
    pending: Vec<Term>,
    branches: Vec<Choices>,
    done: Done,
    collectors: Vec<Collector>,
}

impl Partial {
    /// Any value of a kind.
    fn new(kind: Kind) -> Partial {
        Partial {
            shape: Shape::any(kind),
            allowed: None,
            pending: Vec::new(),
            branches: Vec::new(),
            done: Done::default(),
            collectors: Vec::new(),
        }
    }

    /// About how much a copy takes, in units of work.
    fn weight(&self) -> usize {
        let things = match &self.shape {
            Shape::Unit => 0,
            Shape::Number(n) => {
                let listed = n.allowed.as_ref().map_or(0, Vec::len);
                2 * (n.multiples.len() + n.excluded.len() + listed)
            }
            Shape::String(s) => {
                let listed = s.allowed.as_ref().map_or(0, Vec::len);
                s.patterns.len() + s.formats.len() + 2 * s.excluded.len() + listed
            }
            Shape::Array(a) => {
                let rules = a.rules.iter().map(|rule| 4 + rule.prefix.len() / 2);
                rules.sum::<usize>() + 2 * (a.single.len() + a.counts.len())
            }
            Shape::Object(o) => {
                let implied = o.implies.iter().map(|(_, names)| 4 + names.len());
                o.rules.len()
                    + 2 * (o.required.len() + o.forbidden.len() + o.some.len() + o.names.len())
                    + implied.sum::<usize>()
            }
        };
        let listed = self.allowed.as_ref().map_or(0, |a| a.places.len() / 8);
        let collected = self.collectors.iter().map(|c| 4 + c.members.len());
        STEP + things + listed + self.pending.len() + self.branches.len() + collected.sum::<usize>()
    }

    /// Whether something is left that must hold.
    fn is_open(&self) -> bool {
        !self.pending.is_empty() || !self.branches.is_empty()
    }
}

enum Flow {
    On,
    Dead,
}

fn term(what: What) -> Term {
    Term {
        what,
        collector: None,
    }
}

fn node_term(node: NodeId, positive: bool, collector: Option<u16>) -> Term {
    Term {
        what: What::Node(Signed { node, positive }),
        collector: if positive { collector } else { None },
    }
}

/// The most locations that are looked at for what is plain of a conjunction.
const PLAIN_LOCATIONS: usize = 64;

/// What is plain of a conjunction, without a search.
#[derive(Clone, Copy)]
pub(crate) struct Plain {
    /// Of which kinds no value satisfies it.
    pub(crate) ruled_out: Kinds,
    /// Of which kinds it says more than that they may be.
    pub(crate) told: Kinds,
    /// Whether numbers are integers.
    pub(crate) integers: bool,
    /// The kinds that may still be ruled out.
    open: Kinds,
}

impl Default for Plain {
    /// Of what says nothing.
    fn default() -> Plain {
        Plain {
            ruled_out: Kinds::NONE,
            told: Kinds::NONE,
            integers: false,
            open: Kinds::ALL,
        }
    }
}

impl Plain {
    /// Leaves values of some kinds alone.
    fn leave(&mut self, kinds: Kinds) {
        self.ruled_out = self.ruled_out.or(self.open.without(kinds));
        self.open = self.open.and(kinds);
        self.told = self.told.or(Kinds::ALL.without(kinds));
    }

    /// Nothing more is plain.
    fn give_up(&mut self) {
        self.told = Kinds::ALL;
        self.open = Kinds::NONE;
    }
}

impl Compiler {
    /// The alternatives of a conjunction for one kind; none where no value of
    /// the kind satisfies it.
    pub(crate) fn expand(&mut self, conj: ConjId, kind: Kind) -> Result<Shapes, Error> {
        let at = self.first_of(conj);
        let mut first = Partial::new(kind);
        self.spend(at)?;
        for i in 0..self.conj(conj).len() {
            let part = self.conj(conj)[i];
            let part = node_term(part.node, part.positive, None);
            if !self.settle_from(Some(part), &mut first, kind)? {
                return Ok(Rc::clone(&self.nothing));
            }
        }
        let mut out = Distinct::default();
        let mut todo: Vec<Partial> = Vec::new();
        if first.allowed.is_some() || first.is_open() {
            self.divide(conj, kind, first, (&mut out, &mut todo))?;
        } else {
            // Mostly there is nothing to choose.
            let holds = self.finish(&mut first, kind)?;
            if !first.is_open() {
                return Ok(match holds {
                    true => Rc::new([first.shape]),
                    false => Rc::clone(&self.nothing),
                });
            }
            match holds {
                true => {
                    out.push(first.shape);
                }
                false => todo.push(first),
            }
        }
        loop {
            if out.len() + todo.len() > self.options.max_alternatives {
                return Err(self.too_many_alternatives(at));
            }
            if kind < Kind::Number && out.len() > 0 {
                break;
            }
            let Some(partial) = self.next_settled(&mut todo, (at, kind))? else {
                break;
            };
            self.divide(conj, kind, partial, (&mut out, &mut todo))?;
        }
        Ok(out.into_list().into())
    }

    /// What becomes of a settled partial: shapes, or partials that are to be settled,
    /// one for each alternative of a choice.
    fn divide(
        &mut self,
        conj: ConjId,
        kind: Kind,
        mut partial: Partial,
        (out, todo): (&mut Distinct, &mut Vec<Partial>),
    ) -> Result<(), Error> {
        if partial.allowed.is_some()
            && let Some(shapes) = self.listed(conj, &mut partial, kind)?
        {
            for shape in shapes {
                out.push(shape);
            }
            return Ok(());
        }
        if let Some(branch) = self.choose(conj, &mut partial, kind)? {
            // Nothing is pending in a settled partial.
            if let Some((first, others)) = branch.split_first() {
                let copied = partial.weight().saturating_mul(others.len());
                self.work(self.first_of(conj), copied)?;
                for alternative in others.iter().rev() {
                    let mut other = partial.clone();
                    other.pending = alternative.to_vec();
                    todo.push(other);
                }
                partial.pending.extend_from_slice(first);
                todo.push(partial);
            }
        } else if !self.finish(&mut partial, kind)? {
            if partial.is_open() {
                todo.push(partial);
            }
        } else if partial.is_open() {
            self.work(self.first_of(conj), 2 * partial.weight())?;
            if !out.push(partial.shape.clone()) {
                todo.push(partial);
            }
        } else {
            self.work(self.first_of(conj), partial.weight())?;
            out.push(partial.shape);
        }
        Ok(())
    }

    /// The last of the partials that does not contradict itself, settled.
    fn next_settled(
        &mut self,
        todo: &mut Vec<Partial>,
        (at, kind): (NodeId, Kind),
    ) -> Result<Option<Partial>, Error> {
        while let Some(mut partial) = todo.pop() {
            self.spend(at)?;
            if self.settle(&mut partial, kind)? {
                return Ok(Some(partial));
            }
        }
        Ok(None)
    }

    /// What is plain of a conjunction. A type, or a list of values, rules kinds out
    /// before anything is met that may be refused.
    pub(crate) fn plain(&self, conj: ConjId) -> Plain {
        let mut plain = Plain::default();
        let mut room = PLAIN_LOCATIONS;
        for part in self.conj(conj) {
            self.look(*part, &mut plain, &mut room);
        }
        plain
    }

    /// Adds what is plain of a location, and of so many that it leads to in place.
    fn look(&self, part: Signed, plain: &mut Plain, room: &mut usize) {
        let atoms = match &self.schema.node(part.node).body {
            Body::Always if part.positive => return,
            Body::Never if part.positive => return plain.leave(Kinds::NONE),
            Body::Atoms(atoms) if part.positive && *room > 0 => atoms,
            _ => return plain.give_up(),
        };
        *room -= 1;
        for atom in atoms {
            match &atom.kind {
                AtomKind::Type { kinds, integer } => {
                    let left = match integer {
                        true => kinds.or(Kinds::NUMBER),
                        false => *kinds,
                    };
                    plain.integers |= *integer && !kinds.has(Kinds::NUMBER);
                    plain.leave(left);
                }
                AtomKind::Values(values) => {
                    let kinds = values.iter().map(Kinds::of);
                    plain.leave(kinds.fold(Kinds::NONE, Kinds::or));
                    plain.told = Kinds::ALL;
                }
                AtomKind::Ref(node) => self.look(Signed::yes(*node), plain, room),
                AtomKind::AllOf(nodes) => {
                    for node in nodes {
                        self.look(Signed::yes(*node), plain, room);
                    }
                }
                AtomKind::AnyOf(nodes) | AtomKind::OneOf(nodes) => {
                    let mut left = Kinds::NONE;
                    for node in nodes {
                        let mut one = Plain::default();
                        self.look(Signed::yes(*node), &mut one, room);
                        left = left.or(Kinds::ALL.without(one.ruled_out));
                    }
                    plain.leave(left);
                    plain.give_up();
                }
                other => {
                    let concerned = concerned(other);
                    plain.told = plain.told.or(concerned);
                    if !is_harmless(other) {
                        plain.open = plain.open.without(concerned);
                    }
                }
            }
        }
    }

    /// Applies all that is certain; `false` where it contradicts itself.
    fn settle(&mut self, partial: &mut Partial, kind: Kind) -> Result<bool, Error> {
        self.settle_from(None, partial, kind)
    }

    /// The same, with something that comes before all that is pending.
    fn settle_from(
        &mut self,
        mut first: Option<Term>,
        partial: &mut Partial,
        kind: Kind,
    ) -> Result<bool, Error> {
        while let Some(next) = first.take().or_else(|| partial.pending.pop()) {
            self.work(ROOT, 4)?;
            // Atoms that hold come from their location, which is applied once; to ask
            // for a name twice, or to forbid it, is to do it once.
            let may_come_again = matches!(
                next.what,
                What::Atom(_, _, true) | What::Require(_) | What::Forbid(_)
            );
            if !may_come_again && !partial.done.insert(&next) {
                continue;
            }
            if let What::Node(s) = next.what {
                let opposite = node_term(s.node, !s.positive, None);
                if partial.done.contains(&opposite) {
                    return Ok(false);
                }
            }
            if let Flow::Dead = self.apply(partial, next, kind)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next choice to split on; settled ones are dropped on the way.
    fn choose(
        &mut self,
        conj: ConjId,
        partial: &mut Partial,
        kind: Kind,
    ) -> Result<Option<Choices>, Error> {
        let at = self.first_of(conj);
        let mut best: Option<(usize, usize)> = None;
        let mut i = 0;
        while i < partial.branches.len() {
            let branch = Rc::clone(&partial.branches[i]);
            let mut settled = false;
            let mut kept: Vec<&Rc<[Term]>> = Vec::with_capacity(branch.len());
            for terms in branch.iter() {
                let mut all = true;
                let mut dead = false;
                for t in terms.iter() {
                    self.work(at, 4)?;
                    match self.status(partial, &t.what, kind, 0) {
                        Some(false) => {
                            dead = true;
                            break;
                        }
                        Some(true) if t.collector.is_none() => {}
                        _ => all = false,
                    }
                }
                if !dead {
                    kept.push(terms);
                    settled = all;
                }
                if settled {
                    break;
                }
            }
            if settled {
                partial.branches.swap_remove(i);
                continue;
            }
            let size = kept.len();
            if size < branch.len() {
                partial.branches[i] = kept.into_iter().cloned().collect();
            }
            if best.is_none_or(|(n, _)| size < n) {
                best = Some((size, i));
            }
            i += 1;
        }
        Ok(best.map(|(_, i)| partial.branches.swap_remove(i)))
    }

    fn apply(&mut self, p: &mut Partial, t: Term, kind: Kind) -> Result<Flow, Error> {
        match t.what {
            What::Node(s) => self.apply_node(p, s, t.collector, kind),
            What::Atom(node, atom, positive) => {
                self.apply_atom(p, node, atom, positive, t.collector, kind)
            }
            What::AllButUnevaluated(node) => {
                let collector = new_collector(p, node, None, true);
                self.apply_atoms(p, node, collector, kind)
            }
            What::Require(name) => Ok(object(p, |o| {
                o.required.insert(name.clone());
                !o.forbidden.contains(&name)
            })),
            What::Forbid(name) => Ok(object(p, |o| {
                o.forbidden.insert(name.clone());
                !o.required.contains(&name)
            })),
            What::Member(name, value) => Ok(object(p, |o| {
                o.required.insert(name.clone());
                let dead = o.forbidden.contains(&name);
                o.rules.push(MemberRule::Name(name, value));
                !dead
            })),
            What::Some(witness) => Ok(object(p, |o| {
                o.some.push(witness);
                true
            })),
            What::Item(index, value) => Ok(array(p, |a| {
                a.single.push((index, value));
                a.min = a.min.max(index + 1);
                a.max.is_none_or(|m| m >= a.min)
            })),
            What::Count(count) => Ok(array(p, |a| add_count(a, count))),
        }
    }

    /// Applies the atoms of a location in order, but for its unevaluated members and
    /// items: at once, until one of them leads elsewhere; what that leads to comes
    /// before the atoms behind it.
    fn apply_atoms(
        &mut self,
        p: &mut Partial,
        node: NodeId,
        collector: Option<u16>,
        kind: Kind,
    ) -> Result<Flow, Error> {
        let below = p.pending.len();
        let mut index = 0;
        while let Some(concerns) = self.atom_concerns(node, index, kind) {
            if concerns {
                if let Flow::Dead = self.apply_atom(p, node, index as u16, true, collector, kind)? {
                    return Ok(Flow::Dead);
                }
                if p.pending.len() > below {
                    break;
                }
            }
            index += 1;
        }
        if p.pending.len() == below {
            return Ok(Flow::On);
        }
        let elsewhere = p.pending.split_off(below);
        let mut rest = Vec::new();
        let mut at = index + 1;
        while let Some(concerns) = self.atom_concerns(node, at, kind) {
            if concerns {
                rest.push(Term {
                    what: What::Atom(node, at as u16, true),
                    collector,
                });
            }
            at += 1;
        }
        p.pending.extend(rest.into_iter().rev());
        p.pending.extend(elsewhere);
        Ok(Flow::On)
    }

    /// Whether an atom, but for the unevaluated ones, says anything of a kind; `None`
    /// behind the last one.
    fn atom_concerns(&self, node: NodeId, index: usize, kind: Kind) -> Option<bool> {
        let Body::Atoms(atoms) = &self.schema.node(node).body else {
            return None;
        };
        let atom = &atoms.get(index)?.kind;
        Some(concerns(atom, kind) && !is_unevaluated(atom))
    }

    fn apply_node(
        &mut self,
        p: &mut Partial,
        s: Signed,
        collector: Option<u16>,
        kind: Kind,
    ) -> Result<Flow, Error> {
        let atoms = match &self.schema.node(s.node).body {
            Body::Always => return Ok(flow(s.positive)),
            Body::Never => return Ok(flow(!s.positive)),
            Body::Atoms(atoms) => atoms,
        };
        let unevaluated = atoms
            .iter()
            .any(|a| is_unevaluated(&a.kind) && concerns(&a.kind, kind));
        if s.positive {
            let collector = if unevaluated {
                new_collector(p, s.node, collector, false)
            } else {
                collector
            };
            return self.apply_atoms(p, s.node, collector, kind);
        }
        let mut branch: Branch = Vec::new();
        for (i, atom) in atoms.iter().enumerate() {
            if concerns(&atom.kind, kind) && !is_unevaluated(&atom.kind) {
                branch.push(vec![term(What::Atom(s.node, i as u16, false))]);
            }
        }
        if unevaluated {
            branch.push(vec![term(What::AllButUnevaluated(s.node))]);
        }
        Ok(split(p, branch))
    }

    /// The alternatives of `anyOf`. Where somebody counts what was evaluated
    /// they say of each branch that evaluates whether it holds.
    fn any_of(
        &mut self,
        nodes: &[NodeId],
        collector: Option<u16>,
        at: (NodeId, &'static str),
    ) -> Result<Branch, Error> {
        let split: Vec<NodeId> = match collector {
            Some(_) => nodes
                .iter()
                .copied()
                .filter(|n| self.evaluates(*n))
                .collect(),
            None => Vec::new(),
        };
        if split.is_empty() {
            return Ok(nodes
                .iter()
                .map(|n| vec![node_term(*n, true, None)])
                .collect());
        }
        if split.len() > MAX_EVALUATING {
            return Err(self.refusal(
                at,
                "too many branches evaluate members beside an unevaluated keyword",
            ));
        }
        let mut branch: Branch = Vec::new();
        for subset in (0..1u32 << split.len()).rev() {
            let terms: Vec<Term> = split
                .iter()
                .enumerate()
                .map(|(i, n)| node_term(*n, subset & (1 << i) != 0, collector))
                .collect();
            if subset != 0 {
                branch.push(terms);
                continue;
            }
            for plain in nodes.iter().filter(|n| !split.contains(n)) {
                let mut terms = terms.clone();
                terms.push(node_term(*plain, true, None));
                branch.push(terms);
            }
        }
        Ok(branch)
    }

    /// Whether a shape is not plainly empty.
    fn plausible(&mut self, shape: &Shape) -> Result<bool, Error> {
        let Shape::Object(o) = shape else {
            return Ok(true);
        };
        for name in &o.required {
            self.work(ROOT, 2 + o.rules.len())?;
            let conj = self.member_conj_of(shape, name);
            if self.candidates(conj).is_some_and(|c| c.is_empty()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn refusal(&self, at: (NodeId, &'static str), reason: &str) -> Error {
        Error::at(
            ErrorKind::Refused,
            &self.schema.node(at.0).pointer,
            at.1,
            format!("`{}`: {reason}", at.1),
        )
    }
}

/// The most branches of an `anyOf` of which each may evaluate or not.
const MAX_EVALUATING: usize = 8;

fn flow(alive: bool) -> Flow {
    if alive { Flow::On } else { Flow::Dead }
}

/// A choice; of one alternative it is none.
fn split(p: &mut Partial, mut branch: Branch) -> Flow {
    match branch.len() {
        0 => Flow::Dead,
        1 => {
            p.pending.append(&mut branch[0]);
            Flow::On
        }
        _ => {
            p.branches.push(choices(branch));
            Flow::On
        }
    }
}

pub(crate) fn bits(kind: Kind) -> Kinds {
    match kind {
        Kind::Null => Kinds::NULL,
        Kind::False => Kinds::FALSE,
        Kind::True => Kinds::TRUE,
        Kind::Number => Kinds::NUMBER,
        Kind::String => Kinds::STRING,
        Kind::Array => Kinds::ARRAY,
        Kind::Object => Kinds::OBJECT,
    }
}

fn is_unevaluated(kind: &AtomKind) -> bool {
    matches!(
        kind,
        AtomKind::UnevaluatedItems(_) | AtomKind::UnevaluatedProperties(_)
    )
}

/// Whether an atom leads nowhere in place and is never refused.
fn is_harmless(kind: &AtomKind) -> bool {
    matches!(
        kind,
        AtomKind::Members(_)
            | AtomKind::Required(_)
            | AtomKind::Items(_)
            | AtomKind::MinLength(_)
            | AtomKind::MaxLength(_)
            | AtomKind::Minimum { .. }
            | AtomKind::Maximum { .. }
            | AtomKind::MultipleOf(_)
            | AtomKind::MinItems(_)
            | AtomKind::MaxItems(_)
            | AtomKind::UniqueItems
            | AtomKind::MinProperties(_)
            | AtomKind::MaxProperties(_)
    )
}

/// Whether an atom says anything of values of a kind.
pub(crate) fn concerns(atom: &AtomKind, kind: Kind) -> bool {
    concerned(atom).has(bits(kind))
}

/// The kinds of values of which an atom says anything.
pub(crate) fn concerned(atom: &AtomKind) -> Kinds {
    match atom {
        AtomKind::Minimum { .. } | AtomKind::Maximum { .. } | AtomKind::MultipleOf(_) => {
            Kinds::NUMBER
        }
        AtomKind::MinLength(_)
        | AtomKind::MaxLength(_)
        | AtomKind::Pattern(_)
        | AtomKind::Format(_)
        | AtomKind::UnknownFormat(_) => Kinds::STRING,
        AtomKind::Items(_)
        | AtomKind::MinItems(_)
        | AtomKind::MaxItems(_)
        | AtomKind::UniqueItems
        | AtomKind::Contains { .. }
        | AtomKind::UnevaluatedItems(_) => Kinds::ARRAY,
        AtomKind::Members(_)
        | AtomKind::Required(_)
        | AtomKind::MinProperties(_)
        | AtomKind::MaxProperties(_)
        | AtomKind::PropertyNames(_)
        | AtomKind::DependentRequired(_)
        | AtomKind::DependentSchemas(_)
        | AtomKind::UnevaluatedProperties(_) => Kinds::OBJECT,
        AtomKind::Refused { kinds, .. } => *kinds,
        AtomKind::Type { .. }
        | AtomKind::Values(_)
        | AtomKind::AllOf(_)
        | AtomKind::AnyOf(_)
        | AtomKind::OneOf(_)
        | AtomKind::Not(_)
        | AtomKind::If { .. }
        | AtomKind::Ref(_) => Kinds::ALL,
    }
}
