//! Jinja's tests: what stands behind `is`.

use minijinja::value::ValueKind;
use minijinja::{Error, State, Value};

use super::call::{Arguments, whole};
use super::text::all_cased;
use super::value::{SequenceKind, View, compare, equal, float, view};
use super::{charge, charge_printing, filters, operators, type_error, undefined, value};

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

/// Whether there is a test of that name.
pub(crate) fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Applies the test that `args` are named after.
pub(super) fn apply(
    state: &mut State<'_, '_>,
    value: &Value,
    args: Arguments,
) -> Result<bool, Error> {
    let name = args.name.clone();
    if !exists(&name) {
        return Err(type_error(format!("No test named '{name}'.")));
    }
    charge(state, 1)?;
    match name.as_str() {
        "divisibleby" => {
            let [divisor] = args.bind_all(["num"])?;
            if let (View::Float(_), _) | (_, View::Float(_)) = (view(value), view(&divisor)) {
                let (Some(a), Some(b)) = (float(value), float(&divisor)) else {
                    return Err(type_error("divisibleby() wants numbers"));
                };
                return match b == 0.0 {
                    true => Err(type_error("float modulo")),
                    false => Ok(a % b == 0.0),
                };
            }
            let divisor = whole(&name, &divisor)?;
            if divisor == 0 {
                return Err(type_error("integer modulo by zero"));
            }
            return Ok(whole(&name, value)? % divisor == 0);
        }
        "==" | "eq" | "equalto" | "!=" | "ne" | "<" | "lt" | "lessthan" | "<=" | "le" | ">"
        | "gt" | "greaterthan" | ">=" | "ge" | "in" | "sameas" => {
            let [other] = args.bind_all(["other"])?;
            super::charge_comparing(state, value, &other)?;
            return compared(state, &name, value, &other);
        }
        _ => {}
    }
    args.bind::<0>([])?;
    Ok(match name.as_str() {
        "boolean" => matches!(view(value), View::Bool(_)),
        "callable" => is_callable(value),
        "defined" => !value.is_undefined(),
        "undefined" => value.is_undefined(),
        "even" | "odd" => {
            let rest = match value::float(value) {
                Some(number) => number.rem_euclid(2.0),
                None => whole(&name, value)? as f64,
            };
            rest == f64::from(u8::from(name == "odd"))
        }
        "true" => matches!(view(value), View::Bool(true)),
        "false" => matches!(view(value), View::Bool(false)),
        "float" => matches!(view(value), View::Float(_)),
        "integer" => matches!(view(value), View::Int(_)),
        "number" => matches!(view(value), View::Int(_) | View::Float(_) | View::Bool(_)),
        "none" => value.is_none(),
        "string" => matches!(view(value), View::Text(_)),
        "mapping" => matches!(view(value), View::Dict(_)),
        "sequence" => match view(value) {
            View::Text(_) | View::Dict(_) | View::Undefined => true,
            View::Sequence(sequence) => !matches!(
                sequence.kind,
                SequenceKind::Generator | SequenceKind::View(_)
            ),
            _ => false,
        },
        "iterable" => matches!(
            view(value),
            View::Undefined | View::Text(_) | View::Sequence(_) | View::Dict(_)
        ),
        "escaped" => false,
        "lower" | "upper" => {
            charge_printing(state, value)?;
            let text = super::text::str(value);
            match name.as_str() {
                "lower" => all_cased(&text, char::is_lowercase),
                _ => all_cased(&text, char::is_uppercase),
            }
        }
        "filter" => value.as_str().is_some_and(filters::exists),
        _ => value.as_str().is_some_and(exists),
    })
}

fn compared(state: &mut State<'_, '_>, name: &str, a: &Value, b: &Value) -> Result<bool, Error> {
    use std::cmp::Ordering;
    let ordered = |is: fn(Ordering) -> bool| {
        if a.is_undefined() || b.is_undefined() {
            return Err(undefined("a compared value is undefined"));
        }
        Ok(compare(a, b)?.is_some_and(is))
    };
    match name {
        "==" | "eq" | "equalto" => Ok(equal(a, b)),
        "!=" | "ne" => Ok(!equal(a, b)),
        "<" | "lt" | "lessthan" => ordered(|o| o == Ordering::Less),
        "<=" | "le" => ordered(|o| o != Ordering::Greater),
        ">" | "gt" | "greaterthan" => ordered(|o| o == Ordering::Greater),
        ">=" | "ge" => ordered(|o| o != Ordering::Less),
        "in" => operators::contains(state, a, b),
        // The same object: for what is not a container, the same value.
        _ => Ok(match (view(a), view(b)) {
            (View::Sequence(a), View::Sequence(b)) => std::ptr::eq(a, b),
            (View::Dict(a), View::Dict(b)) => std::ptr::eq(a, b),
            (View::Namespace(a), View::Namespace(b)) => std::ptr::eq(a, b),
            _ => value::type_name(a) == value::type_name(b) && equal(a, b),
        }),
    }
}

fn is_callable(value: &Value) -> bool {
    match view(value) {
        // An undefined value has a `__call__` that raises.
        View::Undefined => true,
        View::Other => {
            let text = value.to_string();
            value.kind() == ValueKind::Plain
                || text.starts_with("<macro")
                || text.starts_with("<function")
        }
        _ => false,
    }
}
