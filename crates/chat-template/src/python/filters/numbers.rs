//! Filters that make and round numbers. For example, `2.5 | round` is `2.0`, and `'7' | int` is
//! `7`.

use std::cmp::Ordering;

use python_compat::number;

use super::super::callable::{Arguments, fits, whole};
use super::super::value::Value;
use super::super::{Fault, defined, limit_error, operators, type_error};

pub(crate) fn int(value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [default, base] = args.bind(["default", "base"])?;
    let base = match base {
        Some(base) => whole("int", &base)?,
        None => 10,
    };
    let parsed = match defined(value)? {
        Value::Text(text) => {
            let base = u32::try_from(base).unwrap_or(u32::MAX);
            match number::integer(text, base) {
                Some(read) => Some(read.to_i128().ok_or_else(too_long)?),
                // A number with a fraction is cut.
                None => cut(number::float(text))?,
            }
        }
        Value::Float(number) => cut(Some(*number))?,
        other => other.integer(),
    };
    match parsed {
        Some(number) => fits(Some(number)),
        None => Ok(default.unwrap_or(Value::Int(0))),
    }
}

/// `abs`, of whole numbers and of floats.
pub(crate) fn abs(value: &Value) -> Result<Value, Fault> {
    match (value.integer(), value.float()) {
        (Some(number), _) => fits(number.checked_abs()),
        (None, Some(number)) => Ok(Value::from(number.abs())),
        _ => {
            defined(value)?;
            Err(type_error(format!(
                "bad operand type for abs(): '{}'",
                value.type_name()
            )))
        }
    }
}

pub(crate) fn float(value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [default] = args.bind(["default"])?;
    let parsed = match defined(value)? {
        Value::Text(text) => number::float(text),
        _ => value.float(),
    };
    Ok(match parsed {
        Some(number) => Value::from(number),
        None => default.unwrap_or_else(|| Value::from(0.0)),
    })
}

#[cold]
fn too_long() -> Fault {
    limit_error("a number has more than 127 bits")
}

/// The whole part of a number; none of one that is not finite.
fn cut(number: Option<f64>) -> Result<Option<i128>, Fault> {
    let finite = number.filter(|number| number.is_finite());
    finite
        .map(|number| operators::cut(number).ok_or_else(too_long))
        .transpose()
}

pub(crate) fn round(value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [precision, method] = args.bind(["precision", "method"])?;
    let precision = match precision {
        Some(precision) => whole("round", &precision)?.clamp(-300, 300) as i32,
        None => 0,
    };
    let method = method
        .map(|m| m.str())
        .unwrap_or_else(|| "common".to_owned());
    defined(value)?;
    let number = value.float().ok_or_else(|| {
        type_error(format!(
            "type {} doesn't define __round__ method",
            value.type_name()
        ))
    })?;
    let scale = 10f64.powi(precision);
    let rounded = match method.as_str() {
        "common" => {
            if let Some(whole) = value.integer() {
                let rounded = match precision {
                    0.. => Some(whole),
                    _ => round_whole(whole, precision.unsigned_abs()),
                };
                return Ok(rounded.map_or_else(|| value.clone(), Value::Int));
            }
            match precision {
                // To even, by the exact decimal value.
                0.. => {
                    let digits = usize::try_from(precision).unwrap_or(0);
                    format!("{number:.digits$}").parse().unwrap_or(number)
                }
                _ => round_places(number, precision.unsigned_abs()),
            }
        }
        // A sum with zero is no negative zero.
        "ceil" => ((number * scale).ceil() + 0.0) / scale,
        "floor" => ((number * scale).floor() + 0.0) / scale,
        _ => return Err(type_error("method must be common, ceil or floor")),
    };
    Ok(Value::Float(rounded))
}

/// Rounds to a power of ten, halves to even.
fn round_whole(number: i128, zeros: u32) -> Option<i128> {
    let Some(scale) = 10i128.checked_pow(zeros) else {
        return Some(0);
    };
    let (floor, rest) = (number.div_euclid(scale), number.rem_euclid(scale));
    let up = match (rest * 2).cmp(&scale) {
        Ordering::Less => 0,
        Ordering::Equal => floor.rem_euclid(2),
        Ordering::Greater => 1,
    };
    (floor + up).checked_mul(scale)
}

/// Rounds a float to a power of ten by its exact decimal value, halves to even.
fn round_places(number: f64, zeros: u32) -> f64 {
    let text = format!("{number:e}");
    let exponent = text
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok());
    let exponent: i64 = exponent.unwrap_or(0);
    // The number of digits that stay behind the first one.
    match usize::try_from(exponent - i64::from(zeros)) {
        Ok(digits) => format!("{number:.digits$e}").parse().unwrap_or(number),
        // The first digit is cut: it decides whether one is kept in its place.
        Err(_) => {
            let half = format!("5e{}", i64::from(zeros) - 1)
                .parse()
                .unwrap_or(f64::INFINITY);
            let up = match number.abs() > half {
                true => format!("1e{zeros}").parse().unwrap_or(0.0),
                false => 0.0,
            };
            f64::copysign(up, number)
        }
    }
}
