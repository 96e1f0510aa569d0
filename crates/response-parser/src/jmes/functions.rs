//! The functions of the JMESPath specification. For example, `length('abc')` is 3, and `sort_by(@,
//! &age)` sorts objects by a member.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::error::JmesError;
use super::eval::{Evaluator, Found, Result, number_order, python_equal, text_order};
use super::parser::Expr;
use crate::scalar::{self, Int};
use crate::text::Text;
use crate::value::{Object, Value};

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentKind {
    Any,
    Number,
    String,
    Array,
    Object,
    Numbers,
    Strings,
    NumbersOrStrings,
    StringOrArray,
    StringArrayOrObject,
    Reference,
}

/// The functions with the kinds of their arguments, and whether more of the last kind may follow,
/// as the specification lists them.
const FUNCTIONS: &[(&str, &[ArgumentKind], bool)] = {
    use ArgumentKind::{
        Any, Array, Number, Numbers, NumbersOrStrings, Object, Reference, String,
        StringArrayOrObject, StringOrArray, Strings,
    };
    &[
        ("abs", &[Number], false),
        ("avg", &[Numbers], false),
        ("ceil", &[Number], false),
        ("contains", &[StringOrArray, Any], false),
        ("ends_with", &[String, String], false),
        ("floor", &[Number], false),
        ("join", &[String, Strings], false),
        ("keys", &[Object], false),
        ("length", &[StringArrayOrObject], false),
        ("map", &[Reference, Array], false),
        ("max", &[NumbersOrStrings], false),
        ("max_by", &[Array, Reference], false),
        ("merge", &[Object], true),
        ("min", &[NumbersOrStrings], false),
        ("min_by", &[Array, Reference], false),
        ("not_null", &[Any], true),
        ("reverse", &[StringOrArray], false),
        ("sort", &[NumbersOrStrings], false),
        ("sort_by", &[Array, Reference], false),
        ("starts_with", &[String, String], false),
        ("sum", &[Numbers], false),
        ("to_array", &[Any], false),
        ("to_number", &[Any], false),
        ("to_string", &[Any], false),
        ("type", &[Any], false),
        ("values", &[Object], false),
    ]
};

/// An evaluated argument.
enum Argument<'n, 'v, 't> {
    Value(Found<'v, 't>),
    Reference(&'n Expr),
}

impl<'v, 't> Argument<'_, 'v, 't> {
    fn value(&self) -> &Value<'t> {
        match self {
            Argument::Value(value) => value,
            Argument::Reference(_) => &Value::Null,
        }
    }

    fn into_value(self) -> Found<'v, 't> {
        match self {
            Argument::Value(value) => value,
            Argument::Reference(_) => Cow::Owned(Value::Null),
        }
    }

    fn is(&self, kind: ArgumentKind) -> bool {
        let Argument::Value(value) = self else {
            return matches!(kind, ArgumentKind::Any | ArgumentKind::Reference);
        };
        match kind {
            ArgumentKind::Any => true,
            ArgumentKind::Reference => false,
            ArgumentKind::Number => is_number(value),
            ArgumentKind::String => is_text(value),
            ArgumentKind::Array => matches!(**value, Value::Array(_)),
            ArgumentKind::Object => matches!(**value, Value::Object(_)),
            ArgumentKind::Numbers => all(value, is_number),
            ArgumentKind::Strings => all(value, is_text),
            ArgumentKind::NumbersOrStrings => all(value, is_number) || all(value, is_text),
            ArgumentKind::StringOrArray => matches!(**value, Value::Text(_) | Value::Array(_)),
            ArgumentKind::StringArrayOrObject => {
                matches!(**value, Value::Text(_) | Value::Array(_) | Value::Object(_))
            }
        }
    }
}

fn is_number(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_))
}

fn is_text(value: &Value<'_>) -> bool {
    matches!(value, Value::Text(_))
}

fn all<'t>(value: &Value<'t>, test: fn(&Value<'t>) -> bool) -> bool {
    matches!(value, Value::Array(items) if items.iter().all(test))
}

/// Calls the function `name` on `value`.
pub(super) fn call<'v, 't>(
    machine: &Evaluator,
    name: &str,
    nodes: &[Expr],
    value: &'v Value<'t>,
) -> Result<Found<'v, 't>> {
    let mut arguments = Vec::with_capacity(nodes.len());
    for node in nodes {
        arguments.push(match node {
            Expr::Reference(node) => Argument::Reference(node),
            node => Argument::Value(machine.eval(node, value)?),
        });
    }
    let known = FUNCTIONS.iter().find(|(known, ..)| *known == name);
    let Some((_, kinds, variadic)) = known else {
        return Err(JmesError::Runtime(format!("unknown function {name}()")));
    };
    let (count, wanted) = (arguments.len(), kinds.len());
    if count < wanted || !variadic && count > wanted {
        let message = format!("{name}() takes {wanted} argument(s), not {count}");
        return Err(JmesError::Runtime(message));
    }
    for (i, (argument, kind)) in arguments.iter().zip(kinds.iter()).enumerate() {
        if !argument.is(*kind) {
            return Err(JmesError::Runtime(format!(
                "{name}() does not take that argument {}",
                i + 1
            )));
        }
    }
    run(machine, name, arguments)
}

/// Runs a function whose arguments are of the right kinds.
fn run<'v, 't>(
    machine: &Evaluator,
    name: &str,
    arguments: Vec<Argument<'_, 'v, 't>>,
) -> Result<Found<'v, 't>> {
    match name {
        "merge" => return merge(machine, &arguments),
        "not_null" => return Ok(not_null(arguments)),
        _ => {}
    }
    let mut arguments = arguments.into_iter();
    let null = || Argument::Value(Cow::Owned(Value::Null));
    let (first, second) = (arguments.next().unwrap_or_else(null), arguments.next());
    let second = second.unwrap_or_else(null);
    match name {
        "to_array" | "to_number" | "to_string" | "type" => convert(machine, name, first),
        "map" | "sort_by" | "max_by" | "min_by" => {
            by_expression(machine, name, &first, &second).map(Cow::Owned)
        }
        "reverse" => reverse(machine, first),
        _ => match first.value() {
            Value::Text(text) => of_text(name, text, second.value()),
            Value::Array(items) => of_array(machine, name, items, second.value()),
            Value::Object(object) => of_object(machine, name, object),
            number => of_number(name, number),
        }
        .map(Cow::Owned),
    }
}

/// The first argument that is not null.
fn not_null<'v, 't>(arguments: Vec<Argument<'_, 'v, 't>>) -> Found<'v, 't> {
    let found = arguments.into_iter().find(|a| match a {
        Argument::Value(value) => **value != Value::Null,
        Argument::Reference(_) => true,
    });
    found.map_or(Cow::Owned(Value::Null), Argument::into_value)
}

/// A string or a list from its end to its start.
fn reverse<'v, 't>(machine: &Evaluator, argument: Argument<'_, 'v, 't>) -> Result<Found<'v, 't>> {
    if let Value::Text(text) = argument.value() {
        let reversed = text.as_str().chars().rev().collect();
        return Ok(Cow::Owned(Value::Text(text.rebuilt(reversed))));
    }
    let Value::Array(mut items) = machine.own(argument.into_value())? else {
        return Ok(Cow::Owned(Value::Null));
    };
    items.reverse();
    Ok(Cow::Owned(Value::Array(items)))
}

/// The functions of numbers.
fn of_number<'t>(name: &str, number: &Value<'t>) -> Result<Value<'t>> {
    Ok(match (name, number) {
        ("abs", Value::Int(n)) => Value::Int(n.abs()),
        ("abs", Value::Float(n)) => Value::Float(n.abs()),
        ("ceil" | "floor", Value::Int(n)) => Value::Int(n.clone()),
        ("ceil", Value::Float(n)) => whole(n.ceil())?,
        ("floor", Value::Float(n)) => whole(n.floor())?,
        _ => Value::Null,
    })
}

/// The functions of strings; `join` is one, because it starts with the separator.
fn of_text<'t>(name: &str, text: &Text<'t>, second: &Value<'t>) -> Result<Value<'t>> {
    Ok(match (name, second) {
        ("contains", Value::Text(search)) => Value::Bool(
            (text.is_lone() || !search.is_lone()) && text.as_str().contains(search.as_str()),
        ),
        ("contains", _) => {
            return Err(JmesError::Python("a string contains only strings".into()));
        }
        ("starts_with", Value::Text(part)) => Value::Bool(text.as_str().starts_with(part.as_str())),
        ("ends_with", Value::Text(part)) => Value::Bool(text.as_str().ends_with(part.as_str())),
        ("join", Value::Array(items)) => join(text, items)?,
        ("length", _) => length(text.as_str().chars().count()),
        _ => Value::Null,
    })
}

/// The functions of lists.
fn of_array<'t>(
    machine: &Evaluator,
    name: &str,
    items: &[Value<'t>],
    second: &Value<'t>,
) -> Result<Value<'t>> {
    Ok(match name {
        "avg" => match sum(items) {
            _ if items.is_empty() => Value::Null,
            Value::Int(n) => Value::Float(n.to_f64() / items.len() as f64),
            Value::Float(n) => Value::Float(n / items.len() as f64),
            other => other,
        },
        "sum" => sum(items),
        "contains" => Value::Bool(items.iter().any(|item| python_equal(item, second))),
        "length" => length(items.len()),
        "max" => pick(machine, items, items, Ordering::Greater)?,
        "min" => pick(machine, items, items, Ordering::Less)?,
        "sort" => sort(machine, items, items)?,
        _ => Value::Null,
    })
}

/// The functions of objects.
fn of_object<'t>(machine: &Evaluator, name: &str, object: &Object<'t>) -> Result<Value<'t>> {
    Ok(match name {
        "keys" => Value::Array(object.keys().cloned().map(Value::Text).collect()),
        "values" => {
            let mut values = Vec::with_capacity(object.len());
            for value in object.values() {
                values.push(machine.own(Cow::Borrowed(value))?);
            }
            Value::Array(values)
        }
        "length" => length(object.len()),
        _ => Value::Null,
    })
}

/// The functions that convert a value of any kind, and that which names its type.
fn convert<'v, 't>(
    machine: &Evaluator,
    name: &str,
    argument: Argument<'_, 'v, 't>,
) -> Result<Found<'v, 't>> {
    Ok(Cow::Owned(match (name, argument.value()) {
        ("to_array", Value::Array(_))
        | ("to_string", Value::Text(_))
        | ("to_number", Value::Int(_) | Value::Float(_)) => return Ok(argument.into_value()),
        ("to_array", _) => Value::Array(vec![machine.own(argument.into_value())?]),
        ("to_string", value) => {
            let mut out = String::new();
            crate::json::encode(value, &mut out);
            Value::Text(Text::plain(out))
        }
        ("to_number", Value::Text(text)) => {
            let text = text.as_str();
            let integer = scalar::integer(text).map(Value::Int);
            integer
                .or_else(|| scalar::float(text).map(Value::Float))
                .unwrap_or(Value::Null)
        }
        ("type", value) if matches!(argument, Argument::Value(_)) => {
            Value::Text(Text::plain(type_name(value)))
        }
        // `to_number` of anything else, and the type of a reference.
        _ => Value::Null,
    }))
}

/// The functions that evaluate an expression on each element of a list.
fn by_expression<'t>(
    machine: &Evaluator,
    name: &str,
    first: &Argument<'_, '_, 't>,
    second: &Argument<'_, '_, 't>,
) -> Result<Value<'t>> {
    let (node, items) = match (first, second) {
        (Argument::Reference(node), other) | (other, Argument::Reference(node)) => {
            (*node, other.value())
        }
        _ => return Ok(Value::Null),
    };
    let Value::Array(items) = items else {
        return Ok(Value::Null);
    };
    if name == "map" {
        let mut mapped = Vec::with_capacity(items.len());
        for item in items {
            mapped.push(machine.own(machine.eval(node, item)?)?);
        }
        return Ok(Value::Array(mapped));
    }
    let keys = keys(machine, name, node, items)?;
    match name {
        "sort_by" => sort(machine, items, &keys),
        "max_by" => pick(machine, items, &keys, Ordering::Greater),
        _ => pick(machine, items, &keys, Ordering::Less),
    }
}

fn length(length: usize) -> Value<'static> {
    Value::Int(Int::Small(length as i64))
}

fn whole(number: f64) -> Result<Value<'static>> {
    if !number.is_finite() {
        return Err(JmesError::Python("no integer is as large as that".into()));
    }
    Ok(Value::Int(Int::from_whole(number)))
}

fn type_name(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) | Value::Float(_) => "number",
        Value::Text(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Json(json) => type_name(&Value::from_json(json)),
    }
}

/// The sum, an integer as long as all are.
fn sum(items: &[Value<'_>]) -> Value<'static> {
    let mut total = Value::Int(Int::Small(0));
    for item in items {
        total = match (&total, item) {
            (Value::Int(a), Value::Int(b)) => Value::Int(a.add(b)),
            (Value::Int(a), Value::Float(b)) => Value::Float(a.to_f64() + b),
            (Value::Float(a), Value::Int(b)) => Value::Float(a + b.to_f64()),
            (Value::Float(a), Value::Float(b)) => Value::Float(a + b),
            _ => return Value::Null,
        };
    }
    total
}

fn join<'t>(separator: &Text<'t>, items: &[Value<'t>]) -> Result<Value<'t>> {
    let mut out = String::new();
    let (mut lone, mut clash) = (false, false);
    for (i, item) in items.iter().enumerate() {
        let Value::Text(text) = item else { continue };
        for text in [(i > 0).then_some(separator), Some(text)]
            .into_iter()
            .flatten()
        {
            lone |= text.is_lone();
            clash |= text.clashes();
            out.push_str(text.as_str());
        }
        if out.len() > crate::text::MAX_TEXT {
            return Err(JmesError::Size);
        }
    }
    Text::with_stand_ins(out, lone, clash)
        .map(Value::Text)
        .ok_or_else(|| {
            JmesError::Runtime("join() mixes lone surrogates with their stand-ins".into())
        })
}

fn merge<'v, 't>(machine: &Evaluator, arguments: &[Argument<'_, 'v, 't>]) -> Result<Found<'v, 't>> {
    let mut merged = Object::default();
    for argument in arguments {
        let Value::Object(object) = argument.value() else {
            // Python's `dict.update` takes some other values too, by accident.
            return Err(JmesError::Python("merge() takes objects only".into()));
        };
        for (key, value) in object.iter() {
            merged.insert(key.clone(), machine.own(Cow::Borrowed(value))?);
        }
    }
    Ok(Cow::Owned(Value::Object(merged)))
}

/// The order of two keys of one type.
fn order(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => text_order(a, b),
        _ => number_order(a, b).unwrap_or(Ordering::Equal),
    }
}

/// The first item whose key is the largest or the smallest.
fn pick<'t>(
    machine: &Evaluator,
    items: &[Value<'t>],
    keys: &[Value<'t>],
    wanted: Ordering,
) -> Result<Value<'t>> {
    let mut best: Option<usize> = None;
    for (i, key) in keys.iter().enumerate() {
        if best.is_none_or(|best| order(key, &keys[best]) == wanted) {
            best = Some(i);
        }
    }
    match best.and_then(|best| items.get(best)) {
        None => Ok(Value::Null),
        Some(item) => machine.own(Cow::Borrowed(item)),
    }
}

/// The items in the order of their keys; equal ones stay as they are.
fn sort<'t>(machine: &Evaluator, items: &[Value<'t>], keys: &[Value<'t>]) -> Result<Value<'t>> {
    let mut places: Vec<usize> = (0..items.len()).collect();
    // A merge sort by hand-written order would do for NaN too; the standard one may panic
    // when the order is not total, so NaN sorts last.
    let is_nan = |place: usize| matches!(keys[place], Value::Float(n) if n.is_nan());
    places.sort_by(|&a, &b| {
        is_nan(a)
            .cmp(&is_nan(b))
            .then_with(|| order(&keys[a], &keys[b]))
    });
    let mut sorted = Vec::with_capacity(items.len());
    for place in places {
        sorted.push(machine.own(Cow::Borrowed(&items[place]))?);
    }
    Ok(Value::Array(sorted))
}

/// The keys by which `items` are ordered: all numbers or all strings.
fn keys<'t>(
    machine: &Evaluator,
    name: &str,
    node: &Expr,
    items: &[Value<'t>],
) -> Result<Vec<Value<'t>>> {
    let mut keys: Vec<Value<'t>> = Vec::with_capacity(items.len());
    for item in items {
        let key = machine.own(machine.eval(node, item)?)?;
        if !is_number(&key) && !is_text(&key) {
            return Err(JmesError::Runtime(format!(
                "{name}() orders by numbers or strings only"
            )));
        }
        if let Some(first) = keys.first()
            && is_text(first) != is_text(&key)
        {
            let message = format!("{name}() cannot order numbers and strings together");
            // The reference checks this for `sort_by` alone; Python fails on the others.
            return Err(match name {
                "sort_by" => JmesError::Runtime(message),
                _ => JmesError::Python(message),
            });
        }
        keys.push(key);
    }
    Ok(keys)
}
