//! Turns a conjunction of signed locations into alternatives without choice,
//! for one kind of value at a time: a search that applies what is certain
//! first and splits on what is left, dropping what contradicts itself.

pub(crate) mod allowed;
pub(crate) mod applied;
pub(crate) mod distinct;
pub(crate) mod known;
pub(crate) mod partial;
pub(crate) mod plain;
pub(crate) mod unevaluated;

use std::rc::Rc;

use crate::error::{Error, ErrorKind};
use crate::ir::signed::Signed;
use crate::ir::{Body, NodeId, ROOT};
use crate::normal::alternative::{Kind, MemberRule, Shape};
use crate::normal::conditions::Choosing;
use crate::normal::conjunctions::ConjId;
use crate::normal::keywords::Use;
use crate::normal::keywords::arrays::array;
use crate::normal::keywords::objects::object;
use crate::normal::normaliser::{Normaliser, Shapes};
use crate::normal::search::distinct::Distinct;
use crate::normal::search::partial::{
    Branch, Choices, Flow, Partial, Term, What, flow, node_term, split, term,
};
use crate::normal::search::plain::{concerns, is_unevaluated};
use crate::normal::search::unevaluated::new_collector;
use crate::options::{PropertyOrder, Target};

impl Normaliser {
    /// The alternatives of a conjunction for one kind; none where no value of
    /// the kind satisfies it.
    pub(crate) fn expand(&mut self, conj: ConjId, kind: Kind) -> Result<Shapes, Error> {
        let before = self.budget.left();
        if self.may_keep(kind) && self.multiplies(conj) {
            match self.expand_by(conj, kind, Choosing::Keeping) {
                Ok(found) => return Ok(found),
                Err(_) => self.budget.reset(before),
            }
        }
        if self.may_keep(kind) && self.is_one_name_of_many(conj) {
            match self.expand_by(conj, kind, Choosing::Keeping) {
                Ok(found) if self.are_in_one_order(&found) => return Ok(found),
                _ => self.budget.reset(before),
            }
        }
        let error = match self.expand_by(conj, kind, Choosing::ByCases) {
            Err(error) if self.may_keep(kind) && is_too_much(&error) => error,
            found => return found,
        };
        // The work of a search that was given up is not charged: there is one more at most.
        self.budget.reset(before);
        match self.expand_by(conj, kind, Choosing::Keeping) {
            Err(e) if e.kind() == ErrorKind::TooManyAlternatives => Err(error),
            found => found,
        }
    }

    /// Says whether choices of a kind may be kept as conditions.
    fn may_keep(&self, kind: Kind) -> bool {
        kind == Kind::Object && self.target() == Target::Automaton
    }

    /// Says whether members come in the same order whether choices were kept or not, where
    /// branches declare none themselves.
    fn are_in_one_order(&self, shapes: &[Shape]) -> bool {
        self.options.property_order == PropertyOrder::Any
            || shapes.iter().all(|shape| match shape {
                Shape::Object(o) => self.all_members(o).is_some(),
                _ => false,
            })
    }

    fn expand_by(&mut self, conj: ConjId, kind: Kind, choosing: Choosing) -> Result<Shapes, Error> {
        let at = self.first_of(conj);
        let mut first = Partial::new(kind);
        first.choosing = choosing;
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
                let mut out = Vec::new();
                if holds {
                    out.push(first.shape);
                }
                return self.found(conj, out);
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
        self.found(conj, out.into_list())
    }

    /// The alternatives, each with conditions that can be followed.
    fn found(&mut self, conj: ConjId, mut shapes: Vec<Shape>) -> Result<Shapes, Error> {
        for shape in &mut shapes {
            if !self.close_choices(conj, shape)? || !self.settle_conditions(shape) {
                return Err(self.too_many_alternatives(self.first_of(conj)));
            }
        }
        Ok(match shapes.is_empty() {
            true => Rc::clone(&self.nothing),
            false => shapes.into(),
        })
    }

    /// Divides a settled partial into shapes, or into partials that are to be settled, one for each
    /// alternative of a choice.
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
        let closes = kind == Kind::Object && self.options.closes();
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
                    settled |= all;
                }
                if settled && !closes {
                    break;
                }
            }
            // The other ways count too if an object is closed: in the names.
            if settled && closes {
                let mut terms = kept.iter().flat_map(|terms| terms.iter());
                settled = !terms.any(|term| self.declares(term));
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
            What::Atom(node, index, positive) => {
                let collector = t.collector;
                let used = Use {
                    node,
                    index,
                    positive,
                    collector,
                    kind,
                };
                self.apply_atom(p, used)
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
            What::Some(witness) => self.some_member(p, witness),
            What::Item(index, value) => Ok(array(p, |a| {
                a.single.push((index, value));
                a.min = a.min.max(index + 1);
                a.max.is_none_or(|m| m >= a.min)
            })),
            What::Count(count) => Ok(self.add_count(p, count)),
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
                let used = Use {
                    node,
                    index: index as u16,
                    positive: true,
                    collector,
                    kind,
                };
                if let Flow::Dead = self.apply_atom(p, used)? {
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

    /// Tells whether an atom, but for the unevaluated ones, says anything of a kind; `None` behind
    /// the last one.
    fn atom_concerns(&self, node: NodeId, index: usize, kind: Kind) -> Option<bool> {
        let atom = &self.schema.atoms(node).get(index)?.kind;
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
        let count = atoms.len();
        if let Some(flow) = self.keep_complement(p, s.node, kind)? {
            return Ok(flow);
        }
        let mut branch: Branch = Vec::with_capacity(count);
        let atoms = self.schema.atoms(s.node);
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

    /// Tells whether a shape is not plainly empty.
    fn plausible(&mut self, shape: &Shape) -> Result<bool, Error> {
        let Shape::Object(o) = shape else {
            return Ok(true);
        };
        for name in &o.required {
            self.work(ROOT, 2 + o.rules.len())?;
            let conj = self.member_conj_of(o, name);
            if self.candidates(conj).is_some_and(|c| c.is_empty()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Says whether an error says that alternatives multiply.
fn is_too_much(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TooManyAlternatives | ErrorKind::TooManySteps
    )
}
