//! Filters of lists and maps: picking, changing, sorting and grouping items.

use std::cmp::Ordering;

use indexmap::IndexMap;
use minijinja::{Error, State, Value};

use super::super::call::{Arguments, text as text_of, whole};
use super::super::text::str;
use super::super::value::{
    self, SequenceKind, View, compare, float, integer, list, sequence, view,
};
use super::super::{
    ITEM, charge, charge_printing, defined, items_of, limit_error, made_list, methods, operators,
    tests, type_error,
};
use super::{apply, exists, generator};

pub(super) fn join(
    state: &mut State<'_, '_>,
    value: &Value,
    args: Arguments,
) -> Result<Value, Error> {
    let [separator, attribute] = args.bind(["d", "attribute"])?;
    let separator = separator.unwrap_or_else(|| Value::from(""));
    charge_printing(state, &separator)?;
    let separator = str(&separator);
    let mut out = String::new();
    for (at, item) in items_of(state, value)?.into_iter().enumerate() {
        let item = match attribute.as_ref().filter(|a| !a.is_none()) {
            Some(attribute) => step(state, &item, attribute)?,
            None => item,
        };
        charge_printing(state, &item)?;
        charge(state, separator.len())?;
        if at > 0 {
            out.push_str(&separator);
        }
        out.push_str(&str(&item));
    }
    Ok(Value::from(out))
}

/// What an item has under a path, whose parts are read for each item anew.
fn step(state: &mut State<'_, '_>, item: &Value, path: &Value) -> Result<Value, Error> {
    charge(state, 1 + value::weight(path))?;
    operators::path(item, path)
}

/// `map`: an attribute or a filter of each item.
pub(super) fn map(
    state: &mut State<'_, '_>,
    value: &Value,
    mut args: Arguments,
) -> Result<Value, Error> {
    let items = items_of(state, value)?;
    let mut out = Vec::with_capacity(items.len());
    if args.positional.is_empty() && args.named.iter().any(|(name, _)| name == "attribute") {
        let [attribute, default] = args.bind(["attribute", "default"])?;
        let attribute = attribute.unwrap_or_default();
        for item in items {
            charge(state, 1 + value::weight(&attribute))?;
            out.push(operators::path_or(&item, &attribute, default.as_ref())?);
        }
        return generator(state, out);
    }
    if args.positional.is_empty() {
        return Err(type_error("map requires a filter argument"));
    }
    let filter = args.shift();
    let filter = text_of("map", &filter)?.to_owned();
    if !exists(&filter) || ["map", "select", "reject"].contains(&filter.as_str()) {
        return Err(type_error(format!("No filter named '{filter}'.")));
    }
    for item in items {
        let args = Arguments {
            name: filter.clone(),
            positional: args.positional.clone(),
            named: args.named.clone(),
        };
        out.push(apply(state, &item, args)?);
    }
    generator(state, out)
}

/// `select`, `reject`, `selectattr`, `rejectattr`.
pub(super) fn select(
    state: &mut State<'_, '_>,
    value: &Value,
    mut args: Arguments,
) -> Result<Value, Error> {
    let name = args.name.clone();
    let keeps = name.starts_with("select");
    let attribute = match name.ends_with("attr") {
        true if args.positional.is_empty() => {
            return Err(type_error("Missing parameter for attribute name"));
        }
        true => Some(args.shift()),
        false => None,
    };
    let test = match args.positional.is_empty() {
        true => None,
        false => {
            let test = args.shift();
            let test = text_of(&name, &test)?.to_owned();
            if !tests::exists(&test) {
                return Err(type_error(format!("No test named '{test}'.")));
            }
            Some(test)
        }
    };
    let mut out = Vec::new();
    for item in items_of(state, value)? {
        charge(state, 1)?;
        let tested = match &attribute {
            Some(attribute) => step(state, &item, attribute)?,
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
                tests::apply(state, &tested, args)?
            }
        };
        if passes == keeps {
            out.push(item);
        }
    }
    generator(state, out)
}

/// What an item is sorted or grouped by: its attribute, in lower case unless
/// case counts.
fn key(
    state: &mut State<'_, '_>,
    item: &Value,
    attribute: Option<&Value>,
    case_sensitive: bool,
) -> Result<Value, Error> {
    let value = match attribute {
        None => item.clone(),
        Some(attribute) => match attribute.as_str() {
            // Several attributes, the first counting most.
            Some(names) if names.contains(',') => {
                let parts = names.split(',').map(|name| {
                    let name = Value::from(name.trim());
                    key(state, item, Some(&name), case_sensitive)
                });
                return list(parts.collect::<Result<_, _>>()?);
            }
            _ => step(state, item, attribute)?,
        },
    };
    charge(state, ITEM + value::weight(&value))?;
    Ok(match view(&value) {
        View::Text(text) if !case_sensitive => Value::from(text.to_lowercase()),
        _ => value,
    })
}

/// `sort`, `unique`, `min`, `max`, `sum`, `groupby`.
pub(super) fn ordering(
    state: &mut State<'_, '_>,
    value: &Value,
    args: Arguments,
) -> Result<Value, Error> {
    let name = args.name.clone();
    charge(state, value::weight(value).saturating_mul(2))?;
    let items = items_of(state, value)?;
    charge(state, items.len() * ITEM)?;
    if name == "sum" {
        let [attribute, start] = args.bind(["attribute", "start"])?;
        let mut total = start.unwrap_or_else(|| Value::from(0));
        for item in items {
            let item = match attribute.as_ref().filter(|a| !a.is_none()) {
                Some(attribute) => step(state, &item, attribute)?,
                None => item,
            };
            total = match (integer(&total), integer(&item)) {
                (Some(a), Some(b)) => {
                    let sum = a.checked_add(b);
                    Value::from(sum.ok_or_else(|| limit_error("a number has too many bits"))?)
                }
                _ => match (float(&total), float(&item)) {
                    (Some(a), Some(b)) => Value::from(a + b),
                    _ => {
                        return Err(type_error(format!(
                            "unsupported operand type(s) for +: '{}' and '{}'",
                            value::type_name(&total),
                            value::type_name(&item)
                        )));
                    }
                },
            };
        }
        return Ok(match integer(&total).and_then(|n| i64::try_from(n).ok()) {
            Some(number) => Value::from(number),
            None => total,
        });
    }
    let (reverse, case_sensitive, attribute, default) = match name.as_str() {
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
        let mut sorted_by = key(state, &item, attribute.as_ref(), case_sensitive)?;
        if let (true, Some(default)) = (sorted_by.is_undefined(), &default) {
            sorted_by = default.clone();
        }
        keyed.push((sorted_by, item));
    }
    if name == "unique" {
        let mut seen: IndexMap<Value, Value> = IndexMap::new();
        for (key, item) in keyed {
            seen.entry(key).or_insert(item);
        }
        return generator(state, seen.into_values().collect());
    }
    if name == "min" || name == "max" {
        let mut best: Option<(Value, Value)> = None;
        for (key, item) in keyed {
            let wanted = match name.as_str() {
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
    if name == "sort" && attribute.is_some() {
        // Python compares lists of attributes, and in these equal ones are passed over
        // without being asked which is less: so items may lack the attribute.
        for (key, _) in &mut keyed {
            if key.is_undefined() {
                *key = list(vec![Value::UNDEFINED])?;
            }
        }
    }
    sort(&mut keyed, reverse.is_some_and(|v| v.is_true()))?;
    if name == "sort" {
        return made_list(state, keyed.into_iter().map(|(_, item)| item).collect());
    }
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (key, item) in keyed {
        match groups.last_mut() {
            Some((last, items)) if value::equal(last, &key) => items.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    let groups: Result<Vec<Value>, Error> = groups
        .into_iter()
        .map(|(key, items)| {
            let grouper = match (case_sensitive, items.first(), &attribute) {
                // The name of the group is spelled as in its first item.
                (false, Some(first), Some(attribute)) => {
                    let spelled = step(state, first, attribute)?;
                    if spelled.is_undefined() { key } else { spelled }
                }
                _ => key,
            };
            sequence(SequenceKind::Group, vec![grouper, list(items)?])
        })
        .collect();
    made_list(state, groups?)
}

/// Sorts, keeping the order of equals; fails where Python would.
fn sort(keyed: &mut [(Value, Value)], reverse: bool) -> Result<(), Error> {
    let mut failed = None;
    keyed.sort_by(|(a, _), (b, _)| match compare(a, b) {
        Ok(order) => {
            let order = order.unwrap_or(Ordering::Equal);
            if reverse { order.reverse() } else { order }
        }
        Err(error) => {
            failed.get_or_insert(error);
            Ordering::Equal
        }
    });
    failed.map_or(Ok(()), Err)
}

pub(super) fn dictsort(
    state: &mut State<'_, '_>,
    value: &Value,
    args: Arguments,
) -> Result<Value, Error> {
    let [case, by, reverse] = args.bind(["case_sensitive", "by", "reverse"])?;
    let View::Dict(dict) = view(value) else {
        defined(value)?;
        return Err(type_error(format!(
            "'{}' object has no attribute 'items'",
            value::type_name(value)
        )));
    };
    let at = match by.map(|by| str(&by)).as_deref() {
        None | Some("key") => 0,
        Some("value") => 1,
        _ => {
            return Err(type_error(
                "You can only sort by either \"key\" or \"value\"",
            ));
        }
    };
    let case = case.is_some_and(|v| v.is_true());
    charge(state, value::weight(value) + dict.entries.len() * ITEM)?;
    let mut keyed = Vec::new();
    for pair in methods::pairs(&dict.entries)? {
        keyed.push((key(state, &pair, Some(&Value::from(at)), case)?, pair));
    }
    sort(&mut keyed, reverse.is_some_and(|v| v.is_true()))?;
    made_list(state, keyed.into_iter().map(|(_, pair)| pair).collect())
}

/// `batch` and `slice`.
pub(super) fn chunks(
    state: &mut State<'_, '_>,
    value: &Value,
    args: Arguments,
) -> Result<Value, Error> {
    let name = args.name.clone();
    let [count, fill] = args.bind(["count", "fill_with"])?;
    let count = whole(&name, &count.unwrap_or_default())?;
    let count = usize::try_from(count).ok().filter(|c| *c > 0);
    let count = count.ok_or_else(|| type_error(format!("{name}() wants a count above 0")))?;
    let fill = fill.filter(|f| !f.is_none());
    let items = items_of(state, value)?;
    let mut out = Vec::new();
    if name == "batch" {
        for chunk in items.chunks(count) {
            let mut chunk = chunk.to_vec();
            if let Some(fill) = &fill {
                charge(state, (count - chunk.len()).saturating_mul(ITEM))?;
                chunk.resize(count, fill.clone());
            }
            out.push(made_list(state, chunk)?);
        }
        return generator(state, out);
    }
    charge(state, count.saturating_mul(ITEM))?;
    let (each, longer) = (items.len() / count, items.len() % count);
    let mut rest = items.into_iter();
    for at in 0..count {
        let mut chunk: Vec<Value> = rest
            .by_ref()
            .take(each + usize::from(at < longer))
            .collect();
        if let Some(fill) = fill.as_ref().filter(|_| longer > 0 && at >= longer) {
            chunk.push(fill.clone());
        }
        out.push(made_list(state, chunk)?);
    }
    generator(state, out)
}
