//! Filters that order and group items. For example, `[2, 1] | sort` is `[1, 2]`.

use std::cmp::Ordering;

use super::super::callable::Arguments;
use super::super::value::{self, Entries, Key, SequenceKind, Value, compare, list, sequence};
use super::super::weight::weight;
use super::super::{
    Fault, ITEM, Render, charge, defined, generator, items_of, made_list, methods, operators,
    type_error,
};
use crate::syntax::tree::Operator;

/// Returns the attribute of an item at a path, whose parts are read for each item anew.
pub(super) fn step(render: &mut Render, item: &Value, path: &Value) -> Result<Value, Fault> {
    charge(render, 1 + weight(path))?;
    operators::path(item, path)
}

/// The rule by which items get their keys.
#[derive(Default)]
struct Sorting {
    attribute: Option<Value>,
    /// The key of an item without the attribute.
    default: Option<Value>,
    case_sensitive: bool,
}

/// An item with the key by which it is sorted or grouped.
struct Keyed {
    key: Value,
    item: Value,
}

impl Sorting {
    fn keyed(&self, render: &mut Render, item: Value) -> Result<Keyed, Fault> {
        let mut key = self.key(render, &item, self.attribute.as_ref())?;
        if let (true, Some(default)) = (key.is_undefined(), &self.default) {
            key = default.clone();
        }
        Ok(Keyed { key, item })
    }

    /// Returns the key of an item: its attribute, in lower case unless case counts.
    fn key(
        &self,
        render: &mut Render,
        item: &Value,
        attribute: Option<&Value>,
    ) -> Result<Value, Fault> {
        let value = match attribute {
            None => item.clone(),
            Some(attribute) => match attribute.as_str() {
                // Several attributes, the first counting most.
                Some(names) if names.contains(',') => {
                    let parts = names.split(',').map(|name| {
                        let name = Value::from(name.trim());
                        self.key(render, item, Some(&name))
                    });
                    return list(parts.collect::<Result<_, _>>()?);
                }
                _ => step(render, item, attribute)?,
            },
        };
        charge(render, ITEM + weight(&value))?;
        Ok(match &value {
            Value::Text(text) if !self.case_sensitive => Value::from(text.to_lowercase()),
            _ => value,
        })
    }
}

/// The order of two keys in which the first comes first.
fn first_of(reverse: Option<Value>) -> Ordering {
    match reverse.is_some_and(|v| v.is_true()) {
        false => Ordering::Less,
        true => Ordering::Greater,
    }
}

fn items_without_keys(keyed: Vec<Keyed>) -> Vec<Value> {
    keyed.into_iter().map(|keyed| keyed.item).collect()
}

/// `sort`, `unique`, `min`, `max`, `sum`, `groupby`.
pub(crate) fn ordering(
    render: &mut Render,
    value: &Value,
    args: Arguments,
) -> Result<Value, Fault> {
    let name = args.name.clone();
    let name = &*name;
    charge(render, weight(value).saturating_mul(2))?;
    let items = items_of(render, value)?;
    charge(render, items.len() * ITEM)?;
    if name == "sum" {
        return sum(render, items, args);
    }
    let (reverse, case_sensitive, attribute, default) = match name {
        "sort" => {
            let [reverse, case, attribute] =
                args.bind(["reverse", "case_sensitive", "attribute"])?;
            (reverse, case, attribute, None)
        }
        "groupby" => {
            let [attribute, default, case] =
                args.bind(["attribute", "default", "case_sensitive"])?;
            if attribute.is_none() {
                return Err(type_error("groupby wants an attribute"));
            }
            (None, case, attribute, default)
        }
        _ => {
            let [case, attribute] = args.bind(["case_sensitive", "attribute"])?;
            (None, case, attribute, None)
        }
    };
    let sorting = Sorting {
        attribute: attribute.filter(|a| !a.is_none()),
        default,
        case_sensitive: case_sensitive.is_some_and(|v| v.is_true()),
    };
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        keyed.push(sorting.keyed(render, item)?);
    }
    match name {
        "unique" => unique(render, keyed),
        "min" => extreme(keyed, Ordering::Less),
        "max" => extreme(keyed, Ordering::Greater),
        "sort" => {
            let keyed = sort(keyed, Equals::PassedOver, first_of(reverse))?;
            made_list(render, items_without_keys(keyed))
        }
        _ => groups(render, keyed, &sorting),
    }
}

/// `sum`, of the items or of their attributes.
fn sum(render: &mut Render, items: Vec<Value>, args: Arguments) -> Result<Value, Fault> {
    let [attribute, start] = args.bind(["attribute", "start"])?;
    let mut total = start.unwrap_or(Value::Int(0));
    if total.as_str().is_some() {
        return Err(type_error(
            "sum() can't sum strings [use ''.join(seq) instead]",
        ));
    }
    for item in items {
        let item = match attribute.as_ref().filter(|a| !a.is_none()) {
            Some(attribute) => step(render, &item, attribute)?,
            None => item,
        };
        total = operators::apply(render, Operator::Add, &total, &item)?;
    }
    Ok(total)
}

/// `unique`: the first item of each key.
fn unique(render: &mut Render, keyed: Vec<Keyed>) -> Result<Value, Fault> {
    let mut seen = Entries::new();
    for Keyed { key, item } in keyed {
        seen.entry(Key::new(key)?).or_insert(item);
    }
    generator(render, seen.into_values().collect())
}

/// `min` and `max`: the first item whose key is the least, or the greatest if `wanted` says so.
fn extreme(keyed: Vec<Keyed>, wanted: Ordering) -> Result<Value, Fault> {
    let mut best: Option<Keyed> = None;
    for candidate in keyed {
        let better = match &best {
            None => true,
            Some(best) => compare(&candidate.key, &best.key)? == Some(wanted),
        };
        if better {
            best = Some(candidate);
        }
    }
    Ok(best.map(|best| best.item).unwrap_or_default())
}

/// `groupby`: the items in the order of their keys, those of one key together.
fn groups(render: &mut Render, keyed: Vec<Keyed>, sorting: &Sorting) -> Result<Value, Fault> {
    let keyed = sort(keyed, Equals::Ordered, Ordering::Less)?;
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for Keyed { key, item } in keyed {
        match groups.last_mut() {
            Some((last, items)) if value::equal(last, &key) => items.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    let groups: Result<Vec<Value>, Fault> = groups
        .into_iter()
        .map(|(key, items)| {
            let grouper = match (sorting.case_sensitive, items.first(), &sorting.attribute) {
                // The name of the group is spelled as in its first item.
                (false, Some(first), Some(attribute)) => {
                    let spelled = step(render, first, attribute)?;
                    if spelled.is_undefined() { key } else { spelled }
                }
                _ => key,
            };
            sequence(SequenceKind::Group, vec![grouper, list(items)?])
        })
        .collect();
    made_list(render, groups?)
}

/// The order of keys that are equal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Equals {
    /// `sort` compares lists of attributes. Equal parts of two lists are passed over, without being
    /// asked which is less: so they need not have an order, as `none` has not.
    PassedOver,
    /// They are asked which is less, as all others are.
    Ordered,
}

/// Sorts, keeping the order of equals; fails where Python would. The keys that are `first` of two
/// come first.
///
/// It is a merge sort, and none of the standard library's: these panic where an order is none,
/// and that of Python's numbers is none as soon as there is a NaN.
fn sort(mut keyed: Vec<Keyed>, equals: Equals, first: Ordering) -> Result<Vec<Keyed>, Fault> {
    if keyed.len() < 2 {
        return Ok(keyed);
    }
    let right = keyed.split_off(keyed.len() / 2);
    let left = sort(keyed, equals, first)?;
    let right = sort(right, equals, first)?;
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut right = right.into_iter().peekable();
    for item in left {
        let stands_before = |other: &Keyed| -> Result<bool, Fault> {
            let passed_over = equals == Equals::PassedOver && value::equal(&other.key, &item.key);
            Ok(!passed_over && compare(&other.key, &item.key)? == Some(first))
        };
        while let Some(other) = right.peek() {
            if !stands_before(other)? {
                break;
            }
            merged.extend(right.next());
        }
        merged.push(item);
    }
    merged.extend(right);
    Ok(merged)
}

pub(crate) fn dictsort(
    render: &mut Render,
    value: &Value,
    args: Arguments,
) -> Result<Value, Fault> {
    let [case, by, reverse] = args.bind(["case_sensitive", "by", "reverse"])?;
    let Value::Dict(dict) = value else {
        defined(value)?;
        return Err(type_error(format!(
            "'{}' object has no attribute 'items'",
            value.type_name()
        )));
    };
    let at = match by.map(|by| by.str()).as_deref() {
        None | Some("key") => 0,
        Some("value") => 1,
        _ => {
            return Err(type_error(
                "You can only sort by either \"key\" or \"value\"",
            ));
        }
    };
    let sorting = Sorting {
        attribute: Some(Value::Int(at)),
        case_sensitive: case.is_some_and(|v| v.is_true()),
        ..Sorting::default()
    };
    charge(render, weight(value) + dict.entries.len() * ITEM)?;
    let mut keyed = Vec::new();
    for pair in methods::pairs(&dict.entries)? {
        keyed.push(sorting.keyed(render, pair)?);
    }
    let keyed = sort(keyed, Equals::Ordered, first_of(reverse))?;
    made_list(render, items_without_keys(keyed))
}
