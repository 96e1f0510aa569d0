//! The order of members: the places of names in the order of a schema.
//!
//! For example, `{"properties": {"b": {}, "a": {}}, "required": ["c"]}` has the order `b`, `a`,
//! `c`.

use rustc_hash::FxHashSet;
use schema_normal::normal::alternative::ObjectShape;
use schema_normal::normal::conjunctions::ConjId;
use schema_normal::normal::member_order::{MemberOrder, member_order_of};

use crate::automaton::compile::builder::Builder;
use crate::automaton::compile::declared::{AllProperties, Declared, OwnNames};
use crate::automaton::machine::objects::LOOSE;

/// The order that a goal gives to members.
#[derive(Default)]
pub(super) struct GoalOrder {
    members: MemberOrder,
    /// All its names, by number; some repeat.
    names: Vec<u32>,
}

impl GoalOrder {
    /// The places of all names in one order: as they are first mentioned.
    pub(super) fn of_all(&self, names: &Declared) -> Vec<u32> {
        let mut ranks = vec![LOOSE; names.order().len()];
        let mut next = 0;
        for number in &self.names {
            let rank = &mut ranks[*number as usize];
            if *rank == LOOSE {
                *rank = next;
                next += 1;
            }
        }
        ranks
    }
}

/// Gives numbers to names, and tells the order of each goal that an object may
/// satisfy: those that a value may satisfy besides have no say in it.
pub(super) fn orders(
    builder: &Builder,
    goals: &[ConjId],
    shapes: &[(u32, &ObjectShape)],
    names: &mut Declared,
) -> Vec<GoalOrder> {
    let mut orders: Vec<GoalOrder> = Vec::new();
    orders.resize_with(goals.len(), GoalOrder::default);
    let mut later: Vec<usize> = Vec::new();
    for (goal, _) in shapes {
        let goal = *goal as usize;
        if later.last() == Some(&goal) {
            continue;
        }
        let order = &mut orders[goal];
        order.members = member_order_of(&builder.normaliser, goals[goal]);
        for at in &order.members.walk {
            let given = builder.normaliser.members(*at).names.order();
            order
                .names
                .extend(given.filter_map(|name| names.give(name)));
        }
        later.push(goal);
    }
    for goal in later {
        let GoalOrder { members, names: of } = &mut orders[goal];
        let others = members.others.iter();
        of.extend(others.filter_map(|name| names.give(name)));
    }
    names.give_rest();
    orders
}

/// The places of names in the order of one alternative: `properties` of the
/// locations that it consists of, in the order of the walk, then what else it names.
pub(super) fn ranks(
    o: &ObjectShape,
    own: &OwnNames,
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
    for at in goal.members.own(o) {
        let order = properties.get(&at).map_or(&[][..], |p| &p.order);
        order.iter().for_each(|n| place(&mut ranks, *n));
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
