//! Filters of lists and maps: picking, changing, sorting and grouping items. For example, `messages
//! | map(attribute='role') | join(', ')`.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::callable::{Arguments, text as text_of, whole};
use super::super::value::{self, Entries, Key, SequenceKind, Value, compare, list, sequence};
use super::super::{
    Fault, ITEM, Render, charge, charge_printing, defined, items_of, made_list, methods, operators,
    type_error,
};
use super::{apply, exists, generator, tests};
use crate::syntax::tree::Operator;

pub(crate) fn join(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [separator, attribute] = args.bind(["d", "attribute"])?;
    let separator = separator.unwrap_or_else(|| Value::from(""));
    charge_printing(render, &separator)?;
    let separator = separator.str();
    let mut out = String::new();
    for (at, item) in items_of(render, value)?.into_iter().enumerate() {
        let item = match attribute.as_ref().filter(|a| !a.is_none()) {
            Some(attribute) => step(render, &item, attribute)?,
            None => item,
        };
        charge_printing(render, &item)?;
        charge(render, separator.len())?;
        if at > 0 {
            out.push_str(&separator);
        }
        out.push_str(&item.str());
    }
    Ok(Value::from(out))
}

/// Returns the attribute of an item at a path, whose parts are read for each item anew.
fn step(render: &mut Render, item: &Value, path: &Value) -> Result<Value, Fault> {
    charge(render, 1 + value::weight(path))?;
    operators::path(item, path)
}

/// `map`: an attribute or a filter of each item.
pub(crate) fn map(render: &mut Render, value: &Value, mut args: Arguments) -> Result<Value, Fault> {
    if !value.is_true() {
        return generator(render, Vec::new());
    }
    let items = items_of(render, value)?;
    let mut out = Vec::with_capacity(items.len());
    if args.positional.is_empty() && args.named.iter().any(|(name, _)| &**name == "attribute") {
        let [attribute, default] = args.bind(["attribute", "default"])?;
        let attribute = attribute.unwrap_or_default();
        for item in items {
            charge(render, 1 + value::weight(&attribute))?;
            out.push(operators::path_or(&item, &attribute, default.as_ref())?);
        }
        return generator(render, out);
    }
    let filter = args.shift();
    let filter = filter.ok_or_else(|| type_error("map requires a filter argument"))?;
    let filter: Arc<str> = text_of("map", &filter)?.into();
    if !exists(&filter) || ["map", "select", "reject"].contains(&&*filter) {
        return Err(type_error(format!("No filter named '{filter}'.")));
    }
    for item in items {
        let args = Arguments {
            name: filter.clone(),
            positional: args.positional.clone(),
            named: args.named.clone(),
        };
        out.push(apply(render, &item, args)?);
    }
    generator(render, out)
}

/// `select`, `reject`, `selectattr`, `rejectattr`.
pub(crate) fn select(
    render: &mut Render,
    value: &Value,
    mut args: Arguments,
) -> Result<Value, Fault> {
    if !value.is_true() {
        // Jinja asks that first, of whatever it is.
        return generator(render, Vec::new());
    }
    let name = args.name.clone();
    let name = &*name;
    let keeps = name.starts_with("select");
    let attribute = match name.ends_with("attr") {
        true => {
            let attribute = args.shift();
            Some(attribute.ok_or_else(|| type_error("Missing parameter for attribute name"))?)
        }
        false => None,
    };
    let test = match args.shift() {
        None => None,
        Some(test) => {
            let test: Arc<str> = text_of(name, &test)?.into();
            if !tests::exists(&test) {
                return Err(type_error(format!("No test named '{test}'.")));
            }
            Some(test)
        }
    };
    let mut out = Vec::new();
    for item in items_of(render, value)? {
        charge(render, 1)?;
        let tested = match &attribute {
            Some(attribute) => step(render, &item, attribute)?,
            None => item.clone(),
        };
        let passes = match &test {
            None => tested.is_true(),
            Some(test) => {
                let args = Arguments {
                    name: test.clone(),
                    positional: args.positional.clone(),
                    named: args.named.clone(),
                };
                tests::apply(render, &tested, args)?
            }
        };
        if passes == keeps {
            out.push(item);
        }
    }
    generator(render, out)
}

/// Returns the key by which an item is sorted or grouped: its attribute, in lower case unless case
/// counts.
fn key(
    render: &mut Render,
    item: &Value,
    attribute: Option<&Value>,
    case_sensitive: bool,
) -> Result<Value, Fault> {
    let value = match attribute {
        None => item.clone(),
        Some(attribute) => match attribute.as_str() {
            // Several attributes, the first counting most.
            Some(names) if names.contains(',') => {
                let parts = names.split(',').map(|name| {
                    let name = Value::from(name.trim());
                    key(render, item, Some(&name), case_sensitive)
                });
                return list(parts.collect::<Result<_, _>>()?);
            }
            _ => step(render, item, attribute)?,
        },
    };
    charge(render, ITEM + value::weight(&value))?;
    Ok(match &value {
        Value::Text(text) if !case_sensitive => Value::from(text.to_lowercase()),
        _ => value,
    })
}

/// `sort`, `unique`, `min`, `max`, `sum`, `groupby`.
pub(crate) fn ordering(
    render: &mut Render,
    value: &Value,
    args: Arguments,
) -> Result<Value, Fault> {
    let name = args.name.clone();
    let name = &*name;
    charge(render, value::weight(value).saturating_mul(2))?;
    let items = items_of(render, value)?;
    charge(render, items.len() * ITEM)?;
    if name == "sum" {
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
        return Ok(total);
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
    let case_sensitive = case_sensitive.is_some_and(|v| v.is_true());
    let attribute = attribute.filter(|a| !a.is_none());
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        let mut sorted_by = key(render, &item, attribute.as_ref(), case_sensitive)?;
        if let (true, Some(default)) = (sorted_by.is_undefined(), &default) {
            sorted_by = default.clone();
        }
        keyed.push((sorted_by, item));
    }
    if name == "unique" {
        let mut seen = Entries::new();
        for (key, item) in keyed {
            seen.entry(Key::new(key)?).or_insert(item);
        }
        return generator(render, seen.into_values().collect());
    }
    if name == "min" || name == "max" {
        let mut best: Option<(Value, Value)> = None;
        for (key, item) in keyed {
            let wanted = match name {
                "min" => Ordering::Less,
                _ => Ordering::Greater,
            };
            let better = match &best {
                None => true,
                Some((best, _)) => compare(&key, best)? == Some(wanted),
            };
            if better {
                best = Some((key, item));
            }
        }
        return Ok(best.map(|(_, item)| item).unwrap_or_default());
    }
    let equals = match name {
        "sort" => Equals::PassedOver,
        _ => Equals::Ordered,
    };
    let keyed = sort(keyed, equals, reverse.is_some_and(|v| v.is_true()))?;
    if name == "sort" {
        return made_list(render, keyed.into_iter().map(|(_, item)| item).collect());
    }
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (key, item) in keyed {
        match groups.last_mut() {
            Some((last, items)) if value::equal(last, &key) => items.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    let groups: Result<Vec<Value>, Fault> = groups
        .into_iter()
        .map(|(key, items)| {
            let grouper = match (case_sensitive, items.first(), &attribute) {
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

/// Sorts, keeping the order of equals; fails where Python would.
///
/// It is a merge sort, and none of the standard library's: these panic where an order is none,
/// and that of Python's numbers is none as soon as there is a NaN.
fn sort(
    mut keyed: Vec<(Value, Value)>,
    equals: Equals,
    reverse: bool,
) -> Result<Vec<(Value, Value)>, Fault> {
    if keyed.len() < 2 {
        return Ok(keyed);
    }
    let right = keyed.split_off(keyed.len() / 2);
    let left = sort(keyed, equals, reverse)?;
    let right = sort(right, equals, reverse)?;
    let first = match reverse {
        false => Ordering::Less,
        true => Ordering::Greater,
    };
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut right = right.into_iter().peekable();
    for item in left {
        let stands_before = |other: &(Value, Value)| -> Result<bool, Fault> {
            let passed_over = equals == Equals::PassedOver && value::equal(&other.0, &item.0);
            Ok(!passed_over && compare(&other.0, &item.0)? == Some(first))
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
    let case = case.is_some_and(|v| v.is_true());
    charge(render, value::weight(value) + dict.entries.len() * ITEM)?;
    let mut keyed = Vec::new();
    for pair in methods::pairs(&dict.entries)? {
        keyed.push((key(render, &pair, Some(&Value::Int(at)), case)?, pair));
    }
    let reverse = reverse.is_some_and(|v| v.is_true());
    let keyed = sort(keyed, Equals::Ordered, reverse)?;
    made_list(render, keyed.into_iter().map(|(_, pair)| pair).collect())
}

/// `batch` and `slice`.
pub(crate) fn chunks(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    let name = args.name.clone();
    let name = &*name;
    let [count, fill] = args.bind(["count", "fill_with"])?;
    let count = whole(name, &count.unwrap_or_default())?;
    let count = usize::try_from(count).ok().filter(|c| *c > 0);
    let count = count.ok_or_else(|| type_error(format!("{name}() wants a count above 0")))?;
    let fill = fill.filter(|f| !f.is_none());
    let items = items_of(render, value)?;
    let mut out = Vec::new();
    if name == "batch" {
        for chunk in items.chunks(count) {
            let mut chunk = chunk.to_vec();
            if let Some(fill) = &fill {
                charge(render, (count - chunk.len()).saturating_mul(ITEM))?;
                chunk.resize(count, fill.clone());
            }
            out.push(made_list(render, chunk)?);
        }
        return generator(render, out);
    }
    charge(render, count.saturating_mul(ITEM))?;
    let (each, longer) = (items.len() / count, items.len() % count);
    let mut rest = items.into_iter();
    for at in 0..count {
        let mut chunk: Vec<Value> = rest
            .by_ref()
            .take(each + usize::from(at < longer))
            .collect();
        if let Some(fill) = fill.as_ref().filter(|_| at >= longer) {
            chunk.push(fill.clone());
        }
        out.push(made_list(render, chunk)?);
    }
    generator(render, out)
}
