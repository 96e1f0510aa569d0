//! Filters of lists and maps: picking, changing and joining items. For example, `messages
//! | map(attribute='role') | join(', ')`.

use std::sync::Arc;

use super::super::callable::{Arguments, text as text_of, whole};
use super::super::value::{Value, length};
use super::super::weight::weight;
use super::super::{
    Fault, ITEM, Render, charge, charge_printing, generator, items_of, made_list, methods,
    operators, type_error,
};
use super::sorting::step;
use super::{apply, exists, tests};

/// `length`, of whatever has one.
pub(crate) fn count(value: &Value) -> Result<Value, Fault> {
    length(value).map(Value::from).ok_or_else(|| {
        type_error(format!(
            "object of type '{}' has no len()",
            value.type_name()
        ))
    })
}

pub(crate) fn first(render: &mut Render, value: &Value) -> Result<Value, Fault> {
    if let Value::Text(text) = value {
        let first = text.chars().next().map(|c| Value::from(c.to_string()));
        return Ok(first.unwrap_or_default());
    }
    let mut items = items_of(render, value)?.into_iter();
    Ok(items.next().unwrap_or_default())
}

pub(crate) fn last(render: &mut Render, value: &Value) -> Result<Value, Fault> {
    if let Value::Text(text) = value {
        let last = text.chars().next_back();
        // `reversed` asks for items, and those of markup are markup.
        let last = last.map(|c| text.kind().of(c.to_string()));
        return Ok(last.unwrap_or_default());
    }
    if value.type_name() == "generator" {
        return Err(type_error("'generator' object is not reversible"));
    }
    let mut items = items_of(render, value)?.into_iter();
    Ok(items.next_back().unwrap_or_default())
}

/// `items`: the entries of a map as pairs.
pub(crate) fn items(render: &mut Render, value: &Value) -> Result<Value, Fault> {
    match value {
        Value::Undefined => generator(render, Vec::new()),
        Value::Dict(dict) => {
            charge(render, dict.entries.len() * 2 * ITEM)?;
            let pairs = methods::pairs(&dict.entries)?;
            generator(render, pairs)
        }
        _ => Err(type_error("Can only get item pairs from a mapping.")),
    }
}

pub(crate) fn reverse(render: &mut Render, value: &Value) -> Result<Value, Fault> {
    if let Value::Text(text) = value {
        charge(render, text.len())?;
        return Ok(text.kind().of(text.chars().rev().collect::<String>()));
    }
    let items = items_of(render, value)?.into_iter().rev().collect();
    match value.type_name() {
        "generator" => made_list(render, items),
        _ => generator(render, items),
    }
}

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
            charge(render, 1 + weight(&attribute))?;
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
