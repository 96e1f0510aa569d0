//! The names and items that `unevaluatedProperties` and `unevaluatedItems` collect, and their
//! demand on the rest once a shape is settled.
//!
//! For example, `{"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}` collects
//! `a`.

use crate::error::Error;
use crate::ir::signed::Signed;
use crate::ir::{ALWAYS, AtomKind, NodeId, ROOT};
use crate::normal::alternative::{
    Count, ItemRule, Kind, MemberRule, Scope, Shape, Source, Witness,
};
use crate::normal::item_counts::add_count;
use crate::normal::normaliser::Normaliser;
use crate::normal::partial::{Collector, Flow, Partial};
use crate::normal::search::plausible;
use crate::normal::terms::{What, choices, term};
use crate::options::Target;

/// Closes a partial: resolves what was collected. `false` where it is
/// empty or has become unsettled again.
pub(super) fn finish(
    normaliser: &mut Normaliser,
    p: &mut Partial,
    kind: Kind,
) -> Result<bool, Error> {
    if let Shape::Object(o) = &mut p.shape
        && !o.implies.is_empty()
    {
        let mut grown = true;
        while std::mem::take(&mut grown) {
            let names = o.implies.iter().map(|(_, needed)| 2 + needed.len());
            normaliser.work(ROOT, names.sum())?;
            for (name, needed) in &o.implies {
                if o.required.contains(name) {
                    for n in needed {
                        grown |= o.required.insert(n.clone());
                    }
                }
            }
        }
        if !o.required.is_disjoint(&o.forbidden) {
            return Ok(false);
        }
        let (required, forbidden) = (&o.required, &o.forbidden);
        o.implies.retain(|(name, needed)| {
            !required.contains(name)
                && !forbidden.contains(name)
                && !needed.iter().all(|n| required.contains(n) || n == name)
        });
        let by_cases = normaliser.target() == Target::Expression
            || o.min > 0
            || o.max.is_some()
            || !o.some.is_empty();
        if !o.implies.is_empty() && by_cases {
            // An expression, or counting and implications together: by cases.
            for (name, needed) in std::mem::take(&mut o.implies) {
                let mut with = vec![term(What::Require(name.clone()))];
                with.extend(needed.into_iter().map(|n| term(What::Require(n))));
                p.branches
                    .push(choices(vec![vec![term(What::Forbid(name))], with]));
            }
            return Ok(false);
        }
    }
    let collectors = std::mem::take(&mut p.collectors);
    for (i, c) in collectors.iter().enumerate() {
        if !close_collector(normaliser, p, &collectors, i, c, kind)? {
            return Ok(false);
        }
    }
    plausible(normaliser, &p.shape)
}

fn close_collector(
    normaliser: &mut Normaliser,
    p: &mut Partial,
    all: &[Collector],
    index: usize,
    c: &Collector,
    kind: Kind,
) -> Result<bool, Error> {
    normaliser.work(c.node, all.len().saturating_mul(all.len()))?;
    let below: Vec<&Collector> = (0..all.len())
        .filter(|j| {
            let mut at = *j;
            loop {
                if at == index {
                    return true;
                }
                match all[at].parent {
                    Some(up) => at = up as usize,
                    None => return false,
                }
            }
        })
        .map(|j| &all[j])
        .collect();
    let mut rule = None;
    for atom in normaliser.schema().node(c.node).atoms() {
        match (&atom.kind, kind) {
            (AtomKind::UnevaluatedItems(n), Kind::Array)
            | (AtomKind::UnevaluatedProperties(n), Kind::Object) => {
                rule = Some((*n, atom.keyword));
            }
            _ => {}
        }
    }
    let Some((value, keyword)) = rule else {
        return Ok(true);
    };
    let at = (c.node, keyword);
    // An inner location with the keyword has evaluated everything.
    let all_inside = below.iter().any(|b| b.node != c.node && !b.negated);
    match &mut p.shape {
        Shape::Object(o) => {
            let mut sources: Vec<Source> = below
                .iter()
                .flat_map(|b| b.members.iter().copied())
                .collect();
            if all_inside {
                sources.push(Source::All);
            }
            if c.negated {
                let scope = Scope::Unevaluated(sources);
                let value = !Signed::yes(value);
                o.some.push(Witness { scope, value, at });
            } else {
                o.rules
                    .push(MemberRule::Unevaluated(sources, Signed::yes(value)));
            }
            Ok(true)
        }
        Shape::Array(a) => {
            let prefix = below.iter().map(|b| b.prefix).max().unwrap_or(0);
            if all_inside || below.iter().any(|b| b.all_items) {
                return Ok(!c.negated);
            }
            let mut options: Vec<NodeId> = below
                .iter()
                .flat_map(|b| b.contains.iter().copied())
                .collect();
            options.push(value);
            let node = if options.len() == 1 {
                value
            } else {
                normaliser.any_of_node(c.node, keyword, options)
            };
            if c.negated {
                let count = Count {
                    item: !Signed::yes(node),
                    from: prefix,
                    min: 1,
                    max: None,
                    at,
                };
                return Ok(matches!(add_count(normaliser, p, count), Flow::On));
            }
            a.rules.push(ItemRule {
                prefix: vec![Signed::yes(ALWAYS); prefix as usize],
                rest: Signed::yes(node),
            });
            Ok(true)
        }
        _ => Ok(true),
    }
}
