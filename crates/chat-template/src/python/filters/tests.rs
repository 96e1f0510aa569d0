//! Jinja's tests: what stands behind `is`. For example, `x is defined` and `message.content is
//! string`.

use std::rc::Rc;

use python_compat::text::all_cased;

use super::names;
use crate::python::callable::{Arguments, Callable, whole};
use crate::python::value::{Key, SequenceKind, Value, equal};
use crate::python::{
    Fault, Render, charge, charge_comparing, charge_printing, operators, type_error,
};
use crate::syntax::tree::{Comparison, Operator};

/// The tests. They are listed once, because a template with any other name is refused when it is
/// read.
const NAMES: [&str; 39] = [
    "!=",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "boolean",
    "callable",
    "defined",
    "divisibleby",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sameas",
    "sequence",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

/// Tells whether there is a test of that name.
pub(crate) fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Applies the test that `args` are named after.
pub(crate) fn apply(render: &mut Render, value: &Value, args: Arguments) -> Result<bool, Fault> {
    let name = args.name.clone();
    if !exists(&name) {
        return Err(type_error(format!("No test named '{name}'.")));
    }
    charge(render, 1)?;
    if let Some(comparison) = comparison(&name) {
        let [other] = args.bind_all(["other"])?;
        return operators::compared(render, comparison, value, &other);
    }
    match &*name {
        "divisibleby" => {
            let [divisor] = args.bind_all(["num"])?;
            let rest = operators::apply(render, Operator::Modulo, value, &divisor)?;
            return Ok(equal(&rest, &Value::Int(0)));
        }
        "sameas" => {
            let [other] = args.bind_all(["other"])?;
            charge_comparing(render, value, &other)?;
            return Ok(same(value, &other));
        }
        _ => {}
    }
    args.bind::<0>([])?;
    Ok(match &*name {
        "boolean" => matches!(value, Value::Bool(_)),
        // An undefined value has a `__call__` that raises.
        "callable" => match value {
            Value::Undefined => true,
            Value::Callable(Callable::Cycler(_)) => false,
            other => matches!(other, Value::Callable(_)),
        },
        "defined" => !value.is_undefined(),
        "undefined" => value.is_undefined(),
        "even" | "odd" => {
            let odd = match (value.integer(), value.float()) {
                (Some(number), _) => number.rem_euclid(2) == 1,
                (None, Some(number)) if &*name == "odd" => number.rem_euclid(2.0) == 1.0,
                (None, Some(number)) => number.rem_euclid(2.0) != 0.0,
                _ => whole(&name, value)? % 2 != 0,
            };
            odd == (&*name == "odd")
        }
        "true" => matches!(value, Value::Bool(true)),
        "false" => matches!(value, Value::Bool(false)),
        "float" => matches!(value, Value::Float(_)),
        "integer" => matches!(value, Value::Int(_)),
        "number" => matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_)),
        "none" => value.is_none(),
        "string" => matches!(value, Value::Text(_)),
        "mapping" => matches!(value, Value::Dict(_)),
        "sequence" => match value {
            Value::Text(_) | Value::Dict(_) | Value::Undefined => true,
            Value::Sequence(sequence) => !matches!(
                sequence.kind,
                SequenceKind::Generator | SequenceKind::View(_)
            ),
            _ => false,
        },
        "iterable" => matches!(
            value,
            Value::Undefined | Value::Text(_) | Value::Sequence(_) | Value::Dict(_)
        ),
        "escaped" => value.is_markup(),
        "lower" | "upper" => {
            charge_printing(render, value)?;
            let text = value.str();
            match &*name {
                "lower" => all_cased(&text, char::is_lowercase),
                _ => all_cased(&text, char::is_uppercase),
            }
        }
        "filter" | "test" => {
            // Names are looked up in a map.
            let key = Key::new(value.clone())?;
            let exists = if &*name == "test" {
                exists
            } else {
                names::exists
            };
            key.value().as_str().is_some_and(exists)
        }
        _ => false,
    })
}

/// The comparison that a test is, if it is one.
fn comparison(name: &str) -> Option<Comparison> {
    Some(match name {
        "==" | "eq" | "equalto" => Comparison::Equal,
        "!=" | "ne" => Comparison::NotEqual,
        "<" | "lt" | "lessthan" => Comparison::Less,
        "<=" | "le" => Comparison::LessOrEqual,
        ">" | "gt" | "greaterthan" => Comparison::Greater,
        ">=" | "ge" => Comparison::GreaterOrEqual,
        "in" => Comparison::In,
        _ => return None,
    })
}

/// The same object: for what is not a container, the same value.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Sequence(a), Value::Sequence(b)) => Rc::ptr_eq(a, b),
        (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
        (Value::Namespace(a), Value::Namespace(b)) => Rc::ptr_eq(a, b),
        _ => a.type_name() == b.type_name() && equal(a, b),
    }
}
