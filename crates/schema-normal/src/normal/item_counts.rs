//! Counts of the items that satisfy a condition, added to what is demanded of an array.
//!
//! For example, at least two items of `{"contains": true, "minContains": 2}` are `minItems`.

use crate::ir::ALWAYS;
use crate::ir::signed::Signed;
use crate::normal::alternative::{ArrayShape, Count, ItemRule};
use crate::normal::locations::Locations;
use crate::normal::partial::{Flow, Partial, array};

/// Adds a count of items. One of items that may be any, or none, is a bound on their
/// number; one of no items is what all others are.
pub(super) fn add_count(locations: &Locations, p: &mut Partial, count: Count) -> Flow {
    let says = count.item.truth(locations.schema());
    array(p, |a| {
        let fits = |a: &ArrayShape| a.max.is_none_or(|m| m >= a.min);
        match says {
            _ if count.max.is_some_and(|m| m < count.min) => false,
            Some(true) => {
                if count.min > 0 {
                    a.min = a.min.max(count.from.saturating_add(count.min));
                }
                if let Some(most) = count.max {
                    let most = count.from.saturating_add(most);
                    a.max = Some(a.max.map_or(most, |m| m.min(most)));
                }
                fits(a)
            }
            Some(false) => count.min == 0,
            None if count.max == Some(0) => {
                let any = Signed::yes(ALWAYS);
                a.rules.push(ItemRule {
                    prefix: vec![any; count.from as usize],
                    rest: !count.item,
                });
                true
            }
            None => meet_count(a, count),
        }
    })
}

/// Adds a count, or meets it with one of the same items.
fn meet_count(a: &mut ArrayShape, count: Count) -> bool {
    let same = |c: &&mut Count| c.item == count.item && c.from == count.from;
    if let Some(known) = a.counts.iter_mut().find(same) {
        known.min = known.min.max(count.min);
        known.max = match (known.max, count.max) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        return known.max.is_none_or(|m| m >= known.min);
    }
    if count.min > 0 || count.max.is_some() {
        a.counts.push(count);
    }
    true
}
