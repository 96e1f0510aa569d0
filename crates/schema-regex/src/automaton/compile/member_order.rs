//! The order of members: the places of names in the order of a schema.

use rustc_hash::FxHashSet;

use crate::automaton::compile::builder::Builder;
use crate::automaton::compile::declared::{AllProperties, Declared, Numbers};
use crate::automaton::machine::node::LOOSE;
use crate::ir::Name;
use crate::normal::alternative::{MemberRule, MembersAt, ObjectShape};
use crate::normal::conjunctions::ConjId;

/// Up to so many rules are looked through one by one.
const FEW_RULES: usize = 8;

/// The order that a goal gives to members.
#[derive(Default)]
pub(super) struct GoalOrder {
    /// The `properties` that it leads to in place.
    walk: Vec<MembersAt>,
    /// The same, each once.
    walked: FxHashSet<MembersAt>,
    /// Their names and then those that other keywords have, by number; some repeat.
    names: Vec<u32>,
}

impl Builder {
    /// Gives numbers to names, and tells the order of each goal that an object may
    /// satisfy: those that a value may satisfy besides have no say in it.
    pub(super) fn orders(
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
}

/// The places of names in the order of one alternative: `properties` of the
/// locations that it consists of, in the order of the walk, then what else it names.
pub(super) fn ranks(
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
