//! Objects that have no members but those that a schema lists, where the options say so
//! ([`AdditionalMembers::Closed`](crate::AdditionalMembers)).
//!
//! An alternative of a conjunction is closed, in which all is together that one object must satisfy
//! and nothing is left to choose, so that the language only gets smaller. For example
//! `{"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}, "required": ["c"]}]}` has one
//! alternative with two rules, one for `a` and one for `b`. A third rule is added, of a location
//! that the schema does not have: `a`, `b` and `c`, and no others.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::ir::named::Named;
use crate::ir::{ALWAYS, Atom, AtomKind, Members, NEVER, Name, NodeId};
use crate::normal::alternative::{KeptChoices, MemberRule, MembersAt, ObjectShape, Shape};
use crate::normal::conditions::{Condition, FALSE, TRUE};
use crate::normal::conjunctions::ConjId;
use crate::normal::normaliser::{Normaliser, Shapes};
use crate::normal::search::partial::{Term, What};

/// The keyword that lists members.
pub(super) const LISTS: &str = "properties";

/// The objects that were closed.
#[derive(Default)]
pub(crate) struct Closing {
    /// The locations that admit some names and no others, by the names in order.
    lists: FxHashMap<Vec<Name>, NodeId>,
    /// The locations whose `properties` were closed.
    closed: BTreeSet<NodeId>,
}

/// The location at which something was narrowed, the keyword, and how.
type Narrowing = (String, &'static str, String);

impl Normaliser {
    /// Closes the alternatives of an object that list members and do not speak of others.
    pub(super) fn close(&mut self, conj: ConjId, shapes: Shapes) -> Result<Shapes, Error> {
        let mut out = Vec::with_capacity(shapes.len());
        let mut strays = Vec::new();
        let mut order = None;
        let mut is_changed = false;
        for shape in shapes.iter() {
            let Shape::Object(o) = shape else {
                return Ok(shapes);
            };
            self.work(self.first_of(conj), 2 * (1 + o.rules.len()))?;
            let listed = match o.choices {
                KeptChoices::Of(_) => self.closable(o),
                KeptChoices::Settled => None,
            };
            let Some(listed) = listed.filter(|listed| !listed.is_empty()) else {
                out.push(shape.clone());
                strays.push(false);
                continue;
            };
            let count = listed.iter().map(|at| self.names_of(*at).len());
            let count = count.sum::<usize>() + o.required.len();
            self.work(self.first_of(conj), 4 * count)?;
            let names = self.names_together(o, &listed);
            if o.min > self.possible(o, &names)? {
                out.push(shape.clone());
                strays.push(false);
                continue;
            }
            is_changed = true;
            strays.push(self.has_stray(o, &listed));
            self.closing
                .closed
                .extend(listed.iter().map(|(node, _)| *node));
            let mut o = o.clone();
            self.close_to(&mut o, &listed, names, (conj, &mut order))?;
            out.push(Shape::Object(o));
        }
        // A branch of `oneOf` may be ruled out by a member that does not satisfy it, and that
        // nothing else speaks of: an object rather does without.
        if strays.contains(&true) && strays.contains(&false) {
            let mut strays = strays.into_iter();
            out.retain(|_| strays.next() == Some(false));
        }
        Ok(match is_changed {
            true => out.into(),
            false => shapes,
        })
    }

    /// Closes an alternative whose choices are kept, by what those declare; `false` where that
    /// cannot be said.
    pub(super) fn close_choices(&mut self, conj: ConjId, shape: &mut Shape) -> Result<bool, Error> {
        let Shape::Object(o) = shape else {
            return Ok(true);
        };
        let is_kept = !o.conditions.is_empty() || !o.choices.list().is_empty();
        if !self.options.closes() || !is_kept {
            return Ok(true);
        }
        if let Some(listed) = self.closable(o) {
            let mut names = self.names_together(o, &listed);
            let Some(chosen) = self.chosen_names(o, &names, !listed.is_empty())? else {
                return Ok(false);
            };
            names.extend(chosen.names);
            if chosen.open != TRUE && o.min <= self.possible(o, &names)? {
                let all = listed.iter().chain(&chosen.listed);
                self.closing.closed.extend(all.map(|(node, _)| *node));
                if chosen.open == FALSE {
                    o.conditions.insert(chosen.declared);
                    self.close_to(o, &listed, names, (conj, &mut None))?;
                } else {
                    let order = self.order_of_names(conj)?;
                    let node = self.only(in_order(&order, names));
                    let known = &mut self.conditions;
                    let closed = known.add(Condition::Closed(node, 0));
                    let closed = known.all(vec![chosen.declared, closed]);
                    o.conditions.insert(known.any(vec![chosen.open, closed]));
                }
            }
        }
        o.choices = KeptChoices::Settled;
        Ok(true)
    }

    /// Adds to an alternative that it has no members but those of some names; the order of a
    /// conjunction is found once.
    fn close_to(
        &mut self,
        o: &mut ObjectShape,
        listed: &[MembersAt],
        names: BTreeSet<Name>,
        (conj, order): (ConjId, &mut Option<Vec<Name>>),
    ) -> Result<(), Error> {
        if let Some(at) = self.says_all(listed, &names) {
            with_closed(o, at);
            return Ok(());
        }
        let order = match order {
            Some(known) => known,
            none => none.insert(self.order_of_names(conj)?),
        };
        let node = self.only(in_order(order, names));
        let closed = false;
        o.rules.push(MemberRule::Members {
            node,
            atom: 0,
            closed,
        });
        Ok(())
    }

    /// The atoms that list the members of an alternative, if none of its rules speaks of other
    /// members.
    fn closable(&self, o: &ObjectShape) -> Option<Vec<MembersAt>> {
        if !o.some.is_empty() {
            return None;
        }
        let mut listed = Vec::new();
        for rule in &o.rules {
            match rule {
                MemberRule::Members { node, atom, .. } => {
                    let members = self.members(*node, *atom);
                    if members.additional_said || !members.patterns.is_empty() {
                        return None;
                    }
                    if self.schema.atoms(*node)[*atom as usize].keyword == LISTS {
                        listed.push((*node, *atom));
                    }
                }
                MemberRule::Name(..) => {}
                MemberRule::Unevaluated(..) => return None,
            }
        }
        Some(listed)
    }

    /// The names that an alternative speaks of, each once: listed, required, or implied.
    fn names_together(&self, o: &ObjectShape, listed: &[MembersAt]) -> BTreeSet<Name> {
        let mut names: BTreeSet<Name> = BTreeSet::new();
        for (node, atom) in listed {
            names.extend(self.names_of((*node, *atom)).cloned());
        }
        names.extend(o.required.iter().cloned());
        for (name, needed) in &o.implies {
            names.insert(name.clone());
            names.extend(needed.iter().cloned());
        }
        names
    }

    /// Returns the places at which some names may be there.
    fn possible(&self, o: &ObjectShape, names: &BTreeSet<Name>) -> Result<u64, Error> {
        let mut count = 0;
        for name in names {
            let is_left = o.min == 0
                || !o.forbidden.contains(name)
                    && !self.is_barred(o, name)
                    && self.name_satisfies(&o.names, name)?;
            count += u64::from(is_left);
        }
        Ok(count)
    }

    /// Tells whether a member is only there because it must fail a condition.
    fn has_stray(&self, o: &ObjectShape, listed: &[MembersAt]) -> bool {
        let is_listed = |name: &Name| {
            let mut atoms = listed.iter();
            atoms.any(|(node, atom)| self.members(*node, *atom).names.has(name))
        };
        let mut failing = o.rules.iter().filter_map(|rule| match rule {
            MemberRule::Name(name, value) if !value.positive => Some(name),
            _ => None,
        });
        failing.any(|name| !is_listed(name))
    }

    /// The only atom that lists members, if it lists all of some names.
    fn says_all(&self, listed: &[MembersAt], names: &BTreeSet<Name>) -> Option<MembersAt> {
        match *listed {
            [at] => (self.names_of(at).len() == names.len()).then_some(at),
            _ => None,
        }
    }

    /// The names that a conjunction mentions, in the order in which members stand; some
    /// repeat.
    fn order_of_names(&self, conj: ConjId) -> Result<Vec<Name>, Error> {
        let order = self.member_order(conj);
        let listed = order.walk.iter().flat_map(|at| self.names_of(*at));
        let names: Vec<Name> = listed.chain(&order.others).cloned().collect();
        self.work(self.first_of(conj), 4 * names.len())?;
        Ok(names)
    }

    /// A location of objects with no members but those of some names.
    fn only(&mut self, names: Vec<Name>) -> NodeId {
        if let Some(known) = self.closing.lists.get(&names) {
            return *known;
        }
        let list = names.iter().map(|name| (Arc::clone(name), ALWAYS));
        let members = Members {
            names: Named::new(list.collect()),
            patterns: Vec::new(),
            additional: NEVER,
            additional_said: true,
        };
        let atom = Atom {
            keyword: "additionalProperties",
            kind: AtomKind::Members(members),
        };
        let node = self.synthetic(ALWAYS, vec![atom]);
        self.closing.lists.insert(names, node);
        node
    }

    /// Tells whether a term leads to a location that lists members.
    pub(super) fn declares(&mut self, term: &Term) -> bool {
        matches!(term.what, What::Node(s) if s.positive && self.evaluates(s.node))
    }

    /// Returns the objects that were closed, for the ledger.
    pub(crate) fn closings(&self) -> impl Iterator<Item = Narrowing> {
        let how = "objects have no further members, as Options::additional_members closes them";
        let closed = self.closing.closed.iter();
        closed.map(move |node| (self.pointer(*node), LISTS, how.to_owned()))
    }
}

/// Makes an atom of an alternative admit no further members.
fn with_closed(o: &mut ObjectShape, at: MembersAt) {
    for rule in &mut o.rules {
        let is_it = rule.members() == Some(at);
        if let (MemberRule::Members { closed, .. }, true) = (rule, is_it) {
            *closed = true;
        }
    }
}

/// Some names as an order has them, and behind these what it does not have.
fn in_order(order: &[Name], mut names: BTreeSet<Name>) -> Vec<Name> {
    let mut out: Vec<Name> = Vec::with_capacity(names.len());
    out.extend(order.iter().filter_map(|name| names.take(name)));
    out.extend(names);
    out
}
