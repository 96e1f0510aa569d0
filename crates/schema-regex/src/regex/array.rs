//! Arrays.
//!
//! For example, `{"type": "array", "items": {"type": "null"}, "maxItems": 2}` becomes a group for
//! nothing, `null`, or `null,null` in brackets.

use std::rc::Rc;

use schema_normal::Error;
use schema_normal::decimal::clamped;
use schema_normal::ir::NodeId;
use schema_normal::ir::signed::Signed;
use schema_normal::normal::alternative::{ALL_KINDS, ArrayShape, Count, Shape};
use schema_normal::normal::conjunctions::ConjId;
use schema_normal::normal::demands::item_conj;
use schema_normal::normal::in_place::blamed;
use schema_normal::normal::search::shapes::shapes_of;

use crate::regex::spell::push_count;
use crate::regex::{Body, Capped, Printer, SpaceTexts, alternation};

/// The most items whose orders are written out for `uniqueItems`, because six have 720 orders.
const MAX_UNIQUE: usize = 5;

/// The items of a shape that have a demand of their own, and what all behind them are.
struct Listed {
    prefix: Vec<ConjId>,
    rest: ConjId,
}

impl Listed {
    fn new(printer: &mut Printer<'_>, a: &ArrayShape) -> Listed {
        let count = a.listed();
        let normaliser = &mut *printer.normaliser;
        let prefix = (0..count)
            .map(|i| item_conj(normaliser, a, i, &[]))
            .collect();
        let rest = item_conj(normaliser, a, count, &[]);
        Listed { prefix, rest }
    }
}

pub(super) fn print(
    printer: &mut Printer<'_>,
    conj: ConjId,
    arrays: &ArrayShape,
) -> Result<Option<String>, Error> {
    let items = Listed::new(printer, arrays);
    let mut prefix: Vec<Rc<str>> = Vec::new();
    let mut bytes = 0;
    let mut max = arrays.max;
    for (i, item) in items.prefix.iter().enumerate() {
        if max.is_some_and(|m| m <= i as u64) {
            break;
        }
        match printer.value(*item)? {
            Some(text) => {
                bytes += text.len();
                printer.fits(bytes)?;
                prefix.push(text);
            }
            None => {
                max = Some(i as u64);
                break;
            }
        }
    }
    let mut rest = None;
    if max.is_none_or(|m| m > prefix.len() as u64) {
        rest = printer.value(items.rest)?;
        if rest.is_none() {
            max = Some(prefix.len() as u64);
        }
    }
    if max.is_some_and(|m| m < arrays.min) {
        return Ok(None);
    }
    // A count beside a bound on the length is not printed.
    if let (None, Some(cap), []) = (max, printer.options.caps.items, &*arrays.counts) {
        let cap = cap.max(arrays.needed());
        max = Some(cap);
        printer.narrow("maxItems", Capped::Items(cap));
    }
    if let Some(node) = arrays.unique
        && max.is_none_or(|m| m > 1)
    {
        return unique(printer, arrays, &items, max, node);
    }
    if !arrays.counts.is_empty() {
        return contains(printer, conj, (arrays, &items), max);
    }
    let SpaceTexts { inside, comma, .. } = &printer.space;
    let body = sequence(&prefix, rest.as_deref(), arrays.min, max, comma);
    Ok(Some(body.framed(BRACKETS, inside)))
}

/// The texts that open and close an array, because brackets are special in expressions.
const BRACKETS: [&str; 2] = ["\\[", "\\]"];

/// `prefix` items and then those of `rest`, `min..=max` in all.
fn sequence(
    prefix: &[Rc<str>],
    rest: Option<&str>,
    min: u64,
    max: Option<u64>,
    comma: &str,
) -> Body {
    let n = prefix.len() as u64;
    // The text behind the last prefix item.
    let tail = match rest {
        Some(item) if max.is_none_or(|m| m > n) => {
            let (lo, hi) = (min.saturating_sub(n), max.map(|m| m - n));
            if n == 0 {
                // The first item has no comma.
                let mut out = item.to_owned();
                let hi = hi.map(|h| h - 1);
                if hi != Some(0) {
                    out.push_str(&format!("(?:{comma}{item})"));
                    push_count(&mut out, clamped(lo.saturating_sub(1)), hi.map(clamped));
                }
                return Body {
                    empty: min == 0,
                    some: Some(out),
                };
            }
            let mut out = format!("(?:{comma}{item})");
            push_count(&mut out, clamped(lo), hi.map(clamped));
            out
        }
        _ => String::new(),
    };
    // Each item that may be missing opens a group, which ends behind all the others.
    let mut text = String::new();
    let mut open = 0;
    for (i, item) in (0..).zip(prefix) {
        if max.is_some_and(|m| m <= i) {
            break;
        }
        if i > 0 && min <= i {
            text.push_str("(?:");
            open += 1;
        }
        if i > 0 {
            text.push_str(comma);
        }
        text.push_str(item);
    }
    text.push_str(&tail);
    text.push_str(&")?".repeat(open));
    let some = (!text.is_empty()).then_some(text);
    Body {
        empty: min == 0,
        some,
    }
}

/// Arrays with an item of some kind: items before it, it, items after it.
fn contains(
    printer: &mut Printer<'_>,
    conj: ConjId,
    (arrays, items): (&ArrayShape, &Listed),
    max: Option<u64>,
) -> Result<Option<String>, Error> {
    let Some(Count {
        item,
        from,
        min,
        max: most,
        at,
    }) = arrays.counts.first().cloned()
    else {
        return Ok(None);
    };
    let refuse = |printer: &Printer<'_>, why: &str| Err(printer.normaliser.refusal(at, why));
    if arrays.counts.len() > 1 {
        return refuse(
            printer,
            "several conditions on the items of one array are not expressed",
        );
    }
    if from > 0 {
        let what = "the schema of items after a prefix";
        let error = printer.normaliser.not_negated(at, what);
        return Err(blamed(printer.normaliser, conj, error));
    }
    let with = |printer: &mut Printer<'_>, more: Signed| {
        let conj = item_conj(printer.normaliser, arrays, 0, &[more]);
        printer.value(conj)
    };
    let comma = printer.space.comma.clone();
    let inside = printer.space.inside.clone();
    if !items.prefix.is_empty() {
        return refuse(printer, "beside `prefixItems` it is not expressed");
    }
    let Some(yes) = with(printer, item)? else {
        // No item can meet the condition.
        if min > 0 {
            return Ok(None);
        }
        let rest = printer.value(items.rest)?;
        let body = sequence(&[], rest.as_deref(), arrays.min, max, &comma);
        return Ok(Some(body.framed(BRACKETS, &inside)));
    };
    // Fewest and most items in all must follow from the count of items that
    // meet the condition.
    let any = printer.value(items.rest)?.unwrap_or_default();
    if most.is_none() && arrays.min <= min && max.is_none() {
        let out = at_least(min, (&yes, &any), &comma);
        return Ok(Some(format!("\\[{inside}{out}{inside}\\]")));
    }
    if let Some(total) = max
        && most.is_none()
        && min == 1
        && total <= 8
    {
        let out = one_of_few((arrays.min, total), (&yes, &any), &comma);
        return Ok(out.map(|t| format!("\\[{inside}{t}{inside}\\]")));
    }
    if let Some(most) = most
        && arrays.min <= min
        && max.is_none()
        && most >= min
    {
        let body = match with(printer, !item)? {
            // Every item meets the condition: it counts all.
            None => sequence(&[], Some(&yes), min.max(arrays.min), Some(most), &comma),
            Some(no) => Body {
                empty: min == 0,
                some: alternation(between((min, most), (&yes, &no), &comma)),
            },
        };
        return Ok(Some(body.framed(BRACKETS, &inside)));
    }
    refuse(
        printer,
        "with these bounds on the number of items it is not expressed",
    )
}

/// So many items that count or more, among any.
fn at_least(min: u64, (yes, any): (&str, &str), comma: &str) -> String {
    let mut out = format!("(?:{any}{comma})*{yes}");
    if min > 1 {
        out.push_str(&format!("(?:{comma}(?:{any}{comma})*{yes})"));
        push_count(&mut out, clamped(min - 1), Some(clamped(min - 1)));
    }
    out.push_str(&format!("(?:{comma}{any})*"));
    out
}

/// Few items, one of which counts: its place is written out.
fn one_of_few((min, total): (u64, u64), (yes, any): (&str, &str), comma: &str) -> Option<String> {
    let mut ways = Vec::new();
    for place in 0..total {
        let after_min = min.saturating_sub(place + 1);
        let mut out = String::new();
        if place > 0 {
            out.push_str(&format!("(?:{any}{comma})"));
            push_count(&mut out, clamped(place), Some(clamped(place)));
        }
        out.push_str(yes);
        if total > place + 1 {
            out.push_str(&format!("(?:{comma}{any})"));
            push_count(
                &mut out,
                clamped(after_min),
                Some(clamped(total - place - 1)),
            );
        }
        ways.push(out);
    }
    alternation(ways)
}

/// From `min` to `most` items that count among others: no* (yes no*){min,most}, with commas
/// between all.
fn between((min, most): (u64, u64), (yes, no): (&str, &str), comma: &str) -> Vec<String> {
    let nos = format!("(?:{comma}{no})*");
    if most == 0 {
        return vec![format!("{no}{nos}")];
    }
    let mut more = format!("(?:{comma}{yes}{nos})");
    // Starting with an item that counts, or with one that does not.
    let mut first = format!("{yes}{nos}");
    if most > 1 {
        first.push_str(&more);
        let least = clamped(min.saturating_sub(1));
        push_count(&mut first, least, Some(clamped(most - 1)));
    }
    push_count(&mut more, clamped(min), Some(clamped(most)));
    vec![first, format!("{no}{nos}{more}")]
}

/// Arrays of different items, where there are few: every order is written out.
fn unique(
    printer: &mut Printer<'_>,
    arrays: &ArrayShape,
    items: &Listed,
    max: Option<u64>,
    node: NodeId,
) -> Result<Option<String>, Error> {
    let refuse = |printer: &Printer<'_>, why: &str| {
        let why = format!("{why}; drop it or list a few items in an `enum`");
        Err(printer.normaliser.refusal((node, "uniqueItems"), &why))
    };
    if !items.prefix.is_empty() || !arrays.counts.is_empty() {
        return refuse(
            printer,
            "beside `prefixItems` or `contains` it is not expressed",
        );
    }
    let Some(values) = finite_values(printer, items.rest)? else {
        return refuse(
            printer,
            "that items differ cannot be said where they are not of a few listed values",
        );
    };
    if values.len() > MAX_UNIQUE {
        return refuse(
            printer,
            "the items may be of more values than can be written out in every order",
        );
    }
    let most = max.unwrap_or(u64::MAX).min(values.len() as u64);
    if most < arrays.min {
        return Ok(None);
    }
    let comma = printer.space.comma.clone();
    let some = orders(&values, arrays.min, most, "", &comma);
    let body = Body {
        empty: arrays.min == 0,
        some,
    };
    Ok(Some(body.framed(BRACKETS, &printer.space.inside)))
}

/// Nonempty sequences of different ones of `values`, `min..=max` of them.
fn orders(values: &[String], min: u64, max: u64, lead: &str, comma: &str) -> Option<String> {
    if max == 0 {
        return None;
    }
    let mut ways = Vec::new();
    for i in 0..values.len() {
        let mut left = values.to_vec();
        let first = left.remove(i);
        let mut way = format!("{lead}{first}");
        match orders(&left, min.saturating_sub(1), max - 1, comma, comma) {
            Some(more) if min <= 1 => way.push_str(&format!("(?:{more})?")),
            Some(more) => way.push_str(&more),
            None if min > 1 => continue,
            None => {}
        }
        ways.push(way);
    }
    alternation(ways)
}

/// The values of a location, each as a text that spells it in one way, where
/// they are few and listed.
fn finite_values(printer: &mut Printer<'_>, conj: ConjId) -> Result<Option<Vec<String>>, Error> {
    let mut out: Vec<String> = Vec::new();
    // One more than can be written out is enough.
    let mut push = |text: String| {
        if out.len() <= MAX_UNIQUE && !out.contains(&text) {
            out.push(text);
        }
    };
    for kind in ALL_KINDS {
        for shape in shapes_of(printer.normaliser, conj, kind)?.iter() {
            match shape {
                Shape::Unit => push(crate::regex::unit(kind).to_owned()),
                Shape::Number(n) => {
                    let Some(allowed) = n.numbers.listed() else {
                        return Ok(None);
                    };
                    for (d, _) in allowed {
                        push(crate::regex::number::spelled(d, false, &printer.options));
                    }
                }
                Shape::String(s) => {
                    let Some(allowed) = &s.allowed else {
                        return Ok(None);
                    };
                    for text in allowed {
                        push(printer.quoted(text)?);
                    }
                }
                Shape::Array(_) | Shape::Object(_) => return Ok(None),
            }
        }
    }
    Ok(Some(out))
}
