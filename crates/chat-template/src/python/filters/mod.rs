//! Jinja's filters: what stands behind `|`. For example, `tools | tojson(indent=4)`.

mod json;
mod lists;
mod names;
mod numbers;
mod sorting;
pub(crate) mod tests;
mod texts;

use self::json::tojson;
use self::lists::{chunks, count, first, items, join, last, map, reverse, select};
use self::numbers::{abs, float, int, round};
use self::sorting::{dictsort, ordering};
use self::texts::{
    cased, center, escaped, filesize, indent, percent, replace, safe, string, strip_tags, trim,
    truncate, urlencode, word_count, wordwrap, xmlattr,
};
use super::callable::{Arguments, text as text_of};
use super::value::Value;
use super::{
    Fault, Render, charge, charge_looking, charge_printing, defined, items_of, made, made_list,
    methods, operators, type_error,
};

pub(crate) use self::names::exists;

/// Filters without arguments. They are listed, because they share one path, which checks that
/// nothing is given.
const ONE_PASS: [&str; 20] = [
    "abs",
    "capitalize",
    "count",
    "e",
    "escape",
    "first",
    "forceescape",
    "items",
    "last",
    "length",
    "list",
    "lower",
    "pprint",
    "reverse",
    "safe",
    "string",
    "striptags",
    "title",
    "upper",
    "wordcount",
];

/// Applies the filter that `args` are named after.
pub(crate) fn apply(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    let name = args.name.clone();
    let name = &*name;
    charge(render, 1)?;
    if ONE_PASS.contains(&name) {
        args.bind::<0>([])?;
        return one_pass(render, name, value);
    }
    match name {
        "default" | "d" => default(value, args),
        "attr" => attribute(value, args),
        "tojson" => tojson(render, value, args),
        "map" => map(render, value, args),
        "select" | "reject" | "selectattr" | "rejectattr" => select(render, value, args),
        "join" => join(render, value, args),
        "sort" | "unique" | "min" | "max" | "sum" | "groupby" => ordering(render, value, args),
        "dictsort" => dictsort(render, value, args),
        "batch" | "slice" => chunks(render, value, args),
        "int" | "float" => {
            charge_printing(render, value)?;
            match name {
                "int" => int(value, args),
                _ => float(value, args),
            }
        }
        "round" => round(value, args),
        "format" => percent(render, value, args),
        "trim" => trim(render, value, args),
        "replace" => replace(render, value, args),
        "indent" => indent(render, value, args),
        "center" => center(render, value, args),
        "truncate" => truncate(render, value, args),
        "wordwrap" => wordwrap(render, value, args),
        "filesizeformat" => {
            let [binary] = args.bind(["binary"])?;
            let binary = binary.is_some_and(|b| b.is_true());
            charge_looking(render, value)?;
            made(render, filesize(value, binary)?)
        }
        "urlencode" => {
            args.bind::<0>([])?;
            urlencode(render, value)
        }
        "xmlattr" => {
            let [autospace] = args.bind(["autospace"])?;
            let space = autospace.is_none_or(|a| a.is_true());
            xmlattr(render, value, space)
        }
        _ => Err(type_error(format!("No filter named '{name}'."))),
    }
}

/// `default`: another value for one that is undefined, or also for one that is false.
fn default(value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [default, boolean] = args.bind(["default_value", "boolean"])?;
    let falsy = boolean.is_some_and(|b| b.is_true()) && !value.is_true();
    Ok(match value.is_undefined() || falsy {
        true => default.unwrap_or_else(|| Value::from("")),
        false => value.clone(),
    })
}

/// `attr`: an attribute only; entries of a map are none.
fn attribute(value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [name] = args.bind_all(["name"])?;
    let name = text_of("attr", &name)?;
    defined(value)?;
    Ok(match value {
        Value::Dict(_) | Value::Text(_) | Value::Sequence(_)
            if !methods::has(value.type_name(), name) =>
        {
            Value::Undefined
        }
        _ => operators::attribute(value, name),
    })
}

fn one_pass(render: &mut Render, name: &str, value: &Value) -> Result<Value, Fault> {
    if let Value::Text(text) = value {
        // Counted, reversed or rewritten, it is read from end to end.
        charge(render, text.len() / 8)?;
    }
    match name {
        "abs" => abs(value),
        "count" | "length" => count(value),
        "first" => first(render, value),
        "last" => last(render, value),
        "list" => {
            let items = items_of(render, value)?;
            made_list(render, items)
        }
        "items" => items(render, value),
        "reverse" => reverse(render, value),
        "safe" => safe(render, value),
        "string" => string(render, value),
        "e" | "escape" if value.is_markup() => Ok(value.clone()),
        "e" | "escape" | "forceescape" => escaped(render, value),
        "pprint" => {
            charge_printing(render, value)?;
            made(render, python_compat::repr(value))
        }
        "wordcount" => word_count(render, value),
        "striptags" => strip_tags(render, value),
        _ => cased(render, name, value),
    }
}
