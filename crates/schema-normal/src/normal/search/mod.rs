//! Turns a conjunction of signed locations into alternatives without choice,
//! for one kind of value at a time: a search that applies certain terms
//! first and splits on what is left, dropping what contradicts itself.
//!
//! For example, `{"minLength": 1, "anyOf": [{"pattern": "a"}, {"maxLength": 4}]}` has two
//! alternatives of strings, both with `minLength`.

mod distinct;
mod listed;
pub mod shapes;
mod unevaluated;

use std::rc::Rc;

use crate::error::{Error, ErrorKind};
use crate::ir::signed::Signed;
use crate::ir::{Body, NodeId, ROOT};
use crate::normal::alternative::{Kind, MemberRule, Shape};
use crate::normal::closed::all_members;
use crate::normal::closing::{close_choices, declares};
use crate::normal::conjunctions::ConjId;
use crate::normal::demands::member_conj_of;
use crate::normal::item_counts::add_count;
use crate::normal::kept::{is_one_name_of_many, keep_complement, multiplies, settle_conditions};
use crate::normal::keywords::apply_atom;
use crate::normal::keywords::objects::some_member;
use crate::normal::known::status_of;
use crate::normal::locations::Locations;
use crate::normal::normaliser::Normaliser;
use crate::normal::partial::{
    Choosing, Flow, Partial, Use, array, flow, new_collector, object, split,
};
use crate::normal::plain::{concerns, is_unevaluated};
use crate::normal::search::distinct::Distinct;
use crate::normal::search::listed::listed_shapes;
use crate::normal::search::unevaluated::finish;
use crate::normal::shape_table::Shapes;
use crate::normal::terms::{Branch, Choices, Term, What, node_term, term};
use crate::options::{PropertyOrder, Target};

/// The alternatives of a conjunction for one kind; none where no value of
/// the kind satisfies it.
fn expand(normaliser: &mut Normaliser, conj: ConjId, kind: Kind) -> Result<Shapes, Error> {
    // The work of a search that was given up is not charged: there are three at most.
    let budget = normaliser.budget().clone();
    let may_keep = may_keep(normaliser, kind);
    if may_keep
        && multiplies(normaliser, conj)
        && let Some(found) =
            budget.attempt(|| expand_by(normaliser, conj, kind, Choosing::Keeping).ok())
    {
        return Ok(found);
    }
    if may_keep
        && is_one_name_of_many(normaliser, conj)
        && let Some(found) = budget.attempt(|| {
            let found = expand_by(normaliser, conj, kind, Choosing::Keeping).ok();
            found.filter(|found| are_in_one_order(normaliser, found))
        })
    {
        return Ok(found);
    }
    let mut error = None;
    let by_cases = budget.attempt(|| {
        match expand_by(normaliser, conj, kind, Choosing::ByCases) {
            Err(too_much) if may_keep && is_too_much(&too_much) => error = Some(too_much),
            found => return Some(found),
        }
        None
    });
    if let Some(found) = by_cases {
        return found;
    }
    match expand_by(normaliser, conj, kind, Choosing::Keeping) {
        Err(e) if e.kind() == ErrorKind::TooManyAlternatives => Err(error.unwrap_or(e)),
        found => found,
    }
}

/// Says whether choices of a kind may be kept as conditions.
fn may_keep(locations: &Locations, kind: Kind) -> bool {
    kind == Kind::Object && locations.target() == Target::Automaton
}

/// Says whether members come in the same order whether choices were kept or not, where
/// branches declare none themselves.
fn are_in_one_order(locations: &Locations, shapes: &[Shape]) -> bool {
    locations.options().property_order == PropertyOrder::Any
        || shapes.iter().all(|shape| match shape {
            Shape::Object(o) => all_members(locations, o).is_some(),
            _ => false,
        })
}

fn expand_by(
    normaliser: &mut Normaliser,
    conj: ConjId,
    kind: Kind,
    choosing: Choosing,
) -> Result<Shapes, Error> {
    let mut search = Search {
        at: normaliser.first_of(conj),
        normaliser,
        conj,
        kind,
        out: Distinct::default(),
        todo: Vec::new(),
    };
    search.run(choosing)
}

/// The search for the alternatives of a set of locations for one kind.
struct Search<'n> {
    normaliser: &'n mut Normaliser,
    conj: ConjId,
    kind: Kind,
    /// The location to which work is charged.
    at: NodeId,
    out: Distinct,
    /// The partials that are to be settled.
    todo: Vec<Partial>,
}

impl Search<'_> {
    fn run(&mut self, choosing: Choosing) -> Result<Shapes, Error> {
        let mut first = Partial::new(self.kind);
        first.choosing = choosing;
        self.normaliser.spend(self.at)?;
        for i in 0..self.normaliser.conj(self.conj).len() {
            let part = self.normaliser.conj(self.conj)[i];
            let part = node_term(part.node, part.positive, None);
            if !self.settle_from(Some(part), &mut first)? {
                return Ok(self.normaliser.table.nothing());
            }
        }
        if first.allowed.is_some() || first.is_open() {
            self.divide(first)?;
        } else {
            // Mostly there is nothing to choose.
            let holds = finish(self.normaliser, &mut first, self.kind)?;
            if !first.is_open() {
                let mut out = Vec::new();
                if holds {
                    out.push(first.shape);
                }
                return self.with_conditions(out);
            }
            match holds {
                true => drop(self.out.push(first.shape)),
                false => self.todo.push(first),
            }
        }
        loop {
            if self.out.len() + self.todo.len() > self.normaliser.options().max_alternatives {
                return Err(self.normaliser.too_many_alternatives(self.at));
            }
            if self.kind < Kind::Number && self.out.len() > 0 {
                break;
            }
            let Some(partial) = self.next_settled()? else {
                break;
            };
            self.divide(partial)?;
        }
        let found = std::mem::take(&mut self.out);
        self.with_conditions(found.into_list())
    }

    /// The alternatives, each with conditions that can be followed.
    fn with_conditions(&mut self, mut shapes: Vec<Shape>) -> Result<Shapes, Error> {
        for shape in &mut shapes {
            if !close_choices(self.normaliser, self.conj, shape)?
                || !settle_conditions(self.normaliser, shape)
            {
                return Err(self.normaliser.too_many_alternatives(self.at));
            }
        }
        Ok(match shapes.is_empty() {
            true => self.normaliser.table.nothing(),
            false => shapes.into(),
        })
    }

    /// Divides a settled partial into shapes, or into partials that are to be settled, one for each
    /// alternative of a choice.
    fn divide(&mut self, mut partial: Partial) -> Result<(), Error> {
        if partial.allowed.is_some()
            && let Some(shapes) =
                listed_shapes(self.normaliser, self.conj, &mut partial, self.kind)?
        {
            for shape in shapes {
                self.out.push(shape);
            }
            return Ok(());
        }
        if let Some(branch) = self.choose(&mut partial)? {
            // Nothing is pending in a settled partial.
            if let Some((first, others)) = branch.split_first() {
                let copied = partial.weight().saturating_mul(others.len());
                self.normaliser.work(self.at, copied)?;
                for alternative in others.iter().rev() {
                    let mut other = partial.clone();
                    other.pending = alternative.to_vec();
                    self.todo.push(other);
                }
                partial.pending.extend_from_slice(first);
                self.todo.push(partial);
            }
        } else if !finish(self.normaliser, &mut partial, self.kind)? {
            if partial.is_open() {
                self.todo.push(partial);
            }
        } else if partial.is_open() {
            self.normaliser.work(self.at, 2 * partial.weight())?;
            if !self.out.push(partial.shape.clone()) {
                self.todo.push(partial);
            }
        } else {
            self.normaliser.work(self.at, partial.weight())?;
            self.out.push(partial.shape);
        }
        Ok(())
    }

    /// The last of the partials that does not contradict itself, settled.
    fn next_settled(&mut self) -> Result<Option<Partial>, Error> {
        while let Some(mut partial) = self.todo.pop() {
            self.normaliser.spend(self.at)?;
            if self.settle_from(None, &mut partial)? {
                return Ok(Some(partial));
            }
        }
        Ok(None)
    }

    /// Applies all that is certain: a term first, then what is pending. Returns `false` if it
    /// contradicts itself.
    fn settle_from(
        &mut self,
        mut first: Option<Term>,
        partial: &mut Partial,
    ) -> Result<bool, Error> {
        while let Some(next) = first.take().or_else(|| partial.pending.pop()) {
            self.normaliser.work(ROOT, 4)?;
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
            if let Flow::Dead = self.apply(partial, next)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next choice to split on; settled ones are dropped on the way.
    fn choose(&mut self, partial: &mut Partial) -> Result<Option<Choices>, Error> {
        let closes = self.kind == Kind::Object && self.normaliser.options().closes();
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
                    self.normaliser.work(self.at, 4)?;
                    match status_of(self.normaliser, partial, &t.what, self.kind, 0) {
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
                    settled |= all;
                }
                if settled && !closes {
                    break;
                }
            }
            // The other ways count too if an object is closed: in the names.
            if settled && closes {
                let mut terms = kept.iter().flat_map(|terms| terms.iter());
                settled = !terms.any(|term| declares(self.normaliser, term));
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

    fn apply(&mut self, p: &mut Partial, t: Term) -> Result<Flow, Error> {
        match t.what {
            What::Node(s) => self.apply_node(p, s, t.collector),
            What::Atom(node, index, positive) => {
                let collector = t.collector;
                let used = Use {
                    node,
                    index,
                    positive,
                    collector,
                    kind: self.kind,
                };
                apply_atom(self.normaliser, p, used)
            }
            What::AllButUnevaluated(node) => {
                let collector = new_collector(p, node, None, true);
                self.apply_atoms(p, node, collector)
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
            What::Some(witness) => some_member(self.normaliser, p, witness),
            What::Item(index, value) => Ok(array(p, |a| {
                a.single.push((index, value));
                a.min = a.min.max(index + 1);
                a.max.is_none_or(|m| m >= a.min)
            })),
            What::Count(count) => Ok(add_count(self.normaliser, p, count)),
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
    ) -> Result<Flow, Error> {
        let below = p.pending.len();
        let mut index = 0;
        while let Some(concerns) = atom_concerns(self.normaliser, node, index, self.kind) {
            if concerns {
                let used = Use {
                    node,
                    index: index as u16,
                    positive: true,
                    collector,
                    kind: self.kind,
                };
                if let Flow::Dead = apply_atom(self.normaliser, p, used)? {
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
        while let Some(concerns) = atom_concerns(self.normaliser, node, at, self.kind) {
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

    fn apply_node(
        &mut self,
        p: &mut Partial,
        s: Signed,
        collector: Option<u16>,
    ) -> Result<Flow, Error> {
        let atoms = match &self.normaliser.schema().node(s.node).body {
            Body::Always => return Ok(flow(s.positive)),
            Body::Never => return Ok(flow(!s.positive)),
            Body::Atoms(atoms) => atoms,
        };
        let unevaluated = atoms
            .iter()
            .any(|a| is_unevaluated(&a.kind) && concerns(&a.kind, self.kind));
        if s.positive {
            let collector = if unevaluated {
                new_collector(p, s.node, collector, false)
            } else {
                collector
            };
            return self.apply_atoms(p, s.node, collector);
        }
        let count = atoms.len();
        if let Some(flow) = keep_complement(self.normaliser, p, s.node, self.kind)? {
            return Ok(flow);
        }
        let mut branch: Branch = Vec::with_capacity(count);
        let atoms = self.normaliser.schema().node(s.node).atoms();
        for (i, atom) in atoms.iter().enumerate() {
            if concerns(&atom.kind, self.kind) && !is_unevaluated(&atom.kind) {
                branch.push(vec![term(What::Atom(s.node, i as u16, false))]);
            }
        }
        if unevaluated {
            branch.push(vec![term(What::AllButUnevaluated(s.node))]);
        }
        Ok(split(p, branch))
    }
}

/// Tells whether an atom, but for the unevaluated ones, says anything of a kind; `None` behind
/// the last one.
fn atom_concerns(locations: &Locations, node: NodeId, index: usize, kind: Kind) -> Option<bool> {
    let atom = &locations.schema().node(node).atoms().get(index)?.kind;
    Some(concerns(atom, kind) && !is_unevaluated(atom))
}

/// Tells whether a shape is not plainly empty.
fn plausible(normaliser: &mut Normaliser, shape: &Shape) -> Result<bool, Error> {
    let Shape::Object(o) = shape else {
        return Ok(true);
    };
    for name in &o.required {
        normaliser.work(ROOT, 2 + o.rules.len())?;
        let conj = member_conj_of(normaliser, o, name);
        if normaliser.candidates(conj).is_some_and(|c| c.is_empty()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Says whether an error says that alternatives multiply.
fn is_too_much(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TooManyAlternatives | ErrorKind::TooManySteps
    )
}
