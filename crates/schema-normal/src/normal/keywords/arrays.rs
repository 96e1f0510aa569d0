//! `prefixItems`, `items`, `minItems`, `maxItems`, `uniqueItems`, `contains` and its counts.
//!
//! For example, the complement of `{"items": {"type": "string"}}` is that some item is no string.

use crate::error::Error;
use crate::ir::signed::Signed;
use crate::ir::{ALWAYS, Items, NodeId};
use crate::normal::alternative::{At, Count, ItemRule, Shape};
use crate::normal::item_counts::add_count;
use crate::normal::keywords::sense::{Sense, at_most, bound_count};
use crate::normal::locations::Locations;
use crate::normal::partial::{Flow, Partial, Use, array, collect, split};
use crate::normal::terms::{Branch, What, term};

/// At least so many items, or fewer.
pub(super) fn min_items(p: &mut Partial, sense: Sense, n: u64) -> Flow {
    array(p, |a| bound_count(&mut a.min, &mut a.max, n, sense))
}

/// At most so many items, or more.
pub(super) fn max_items(p: &mut Partial, sense: Sense, n: u64) -> Flow {
    at_most(n, sense, |n, sense| min_items(p, sense, n))
}

/// Demands something of each item; the complement is that some item is not so.
pub(super) fn items(
    locations: &Locations,
    p: &mut Partial,
    at: At,
    used: Use,
    items: &Items,
) -> Flow {
    if used.positive {
        let rule = ItemRule {
            prefix: items.prefix.iter().map(|n| Signed::yes(*n)).collect(),
            rest: Signed::yes(items.rest),
        };
        let (count, said) = (items.prefix.len() as u64, items.rest_said);
        collect(p, used.collector, |c| {
            c.prefix = c.prefix.max(count);
            c.all_items |= said;
        });
        if rule.prefix.is_empty() && rule.rest.truth(locations.schema()) == Some(true) {
            return Flow::On;
        }
        return array(p, |a| {
            a.rules.push(rule);
            true
        });
    }
    let mut branch: Branch = Vec::new();
    for (i, n) in items.prefix.iter().enumerate() {
        branch.push(vec![term(What::Item(i as u64, !Signed::yes(*n)))]);
    }
    if items.rest != ALWAYS {
        branch.push(vec![term(What::Count(Count {
            item: !Signed::yes(items.rest),
            from: items.prefix.len() as u64,
            min: 1,
            max: None,
            at,
        }))]);
    }
    split(p, branch)
}

/// All items differ.
pub(super) fn unique_items(
    locations: &Locations,
    p: &mut Partial,
    at: At,
    sense: Sense,
) -> Result<Flow, Error> {
    if sense == Sense::Complement {
        // If items must differ anyway, there is no way out.
        if let Shape::Array(a) = &p.shape
            && (a.unique.is_some() || a.max.is_some_and(|m| m < 2))
        {
            return Ok(Flow::Dead);
        }
        return Err(locations.not_negated(at, "uniqueness"));
    }
    Ok(array(p, |a| {
        a.unique = Some(at.0);
        true
    }))
}

/// So many items are like this; the complement is that fewer or more are.
pub(super) fn contains(
    locations: &Locations,
    p: &mut Partial,
    at: At,
    used: Use,
    (item, min, max, evaluates): (NodeId, u64, Option<u64>, bool),
) -> Flow {
    let count = |min: u64, max: Option<u64>| Count {
        item: Signed::yes(item),
        from: 0,
        min,
        max,
        at,
    };
    if used.positive {
        if evaluates {
            collect(p, used.collector, |c| c.contains.push(item));
        }
        return add_count(locations, p, count(min, max));
    }
    let mut branch: Branch = Vec::new();
    if min > 0 {
        branch.push(vec![term(What::Count(count(0, Some(min - 1))))]);
    }
    if let Some(over) = max.and_then(|m| m.checked_add(1)) {
        branch.push(vec![term(What::Count(count(over, None)))]);
    }
    split(p, branch)
}
