//! Attributes and methods of numbers.

use minijinja::{Error, Value};

use super::call::Arguments;
use super::value::{View, float, integer, view};

/// Methods of integers and truth values, and of floats.
const INTEGER_METHODS: [&str; 3] = ["bit_count", "bit_length", "conjugate"];
const FLOAT_METHODS: [&str; 2] = ["conjugate", "is_integer"];

/// Whether a number of that type has a method of that name.
pub(super) fn has(type_name: &str, method: &str) -> bool {
    match type_name {
        "int" | "bool" => INTEGER_METHODS.contains(&method),
        _ => type_name == "float" && FLOAT_METHODS.contains(&method),
    }
}

/// An attribute of a number that is no method; none if there is no such.
pub(super) fn attribute(number: &Value, name: &str) -> Option<Value> {
    let whole = integer(number).filter(|_| !matches!(view(number), View::Float(_)));
    match (name, whole) {
        // Those of a truth value are integers.
        ("real" | "numerator", Some(whole)) => Some(of(whole)),
        ("denominator", Some(_)) => Some(Value::from(1)),
        ("imag", Some(_)) => Some(Value::from(0)),
        ("real", None) => float(number).map(Value::from),
        ("imag", None) => float(number).map(|_| Value::from(0.0)),
        _ => None,
    }
}

/// A method of a number; none if there is no such.
pub(super) fn method(number: &Value, name: &str, args: Arguments) -> Option<Result<Value, Error>> {
    let whole = integer(number).filter(|_| !matches!(view(number), View::Float(_)));
    let found = match (name, whole) {
        ("bit_length", Some(n)) => Value::from(128 - n.unsigned_abs().leading_zeros()),
        ("bit_count", Some(n)) => Value::from(n.unsigned_abs().count_ones()),
        ("conjugate", Some(n)) => of(n),
        ("is_integer", None) => Value::from(float(number)?.fract() == 0.0),
        ("conjugate", None) => Value::from(float(number)?),
        _ => return None,
    };
    Some(args.bind::<0>([]).map(|_| found))
}

fn of(whole: i128) -> Value {
    i64::try_from(whole).map_or_else(|_| Value::from(whole), Value::from)
}
