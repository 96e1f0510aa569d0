//! Attributes and methods of numbers. For example, `(5).bit_length()` is `3`, and
//! `2.0.is_integer()` is true.

use super::Fault;
use super::callable::Arguments;
use super::value::Value;

/// The methods of integers and truth values, as CPython 3.11 has them.
const INTEGER_METHODS: [&str; 3] = ["bit_count", "bit_length", "conjugate"];
/// The methods of floats, as CPython 3.11 has them.
const FLOAT_METHODS: [&str; 2] = ["conjugate", "is_integer"];

/// Tells whether a number of that type has a method of that name.
pub(crate) fn has(type_name: &str, method: &str) -> bool {
    match type_name {
        "int" | "bool" => INTEGER_METHODS.contains(&method),
        _ => type_name == "float" && FLOAT_METHODS.contains(&method),
    }
}

/// An attribute of a number that is no method; none if there is no such.
pub(crate) fn attribute(number: &Value, name: &str) -> Option<Value> {
    match (name, number.integer()) {
        // The parts of a truth value are integers.
        ("real" | "numerator", Some(whole)) => Some(Value::Int(whole)),
        ("denominator", Some(_)) => Some(Value::Int(1)),
        ("imag", Some(_)) => Some(Value::Int(0)),
        ("real", None) => number.float().map(Value::Float),
        ("imag", None) => number.float().map(|_| Value::Float(0.0)),
        _ => None,
    }
}

/// The method of a number that `args` are named after; none if there is no such.
pub(crate) fn method(number: &Value, args: Arguments) -> Option<Result<Value, Fault>> {
    let found = match (&*args.name, number.integer()) {
        ("bit_length", Some(n)) => Value::Int((128 - n.unsigned_abs().leading_zeros()).into()),
        ("bit_count", Some(n)) => Value::Int(n.unsigned_abs().count_ones().into()),
        ("conjugate", Some(n)) => Value::Int(n),
        ("is_integer", None) => Value::Bool(number.float()?.fract() == 0.0),
        ("conjugate", None) => Value::Float(number.float()?),
        _ => return None,
    };
    Some(args.bind::<0>([]).map(|_| found))
}
