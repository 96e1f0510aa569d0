//! Filters that make and round numbers.

use std::cmp::Ordering;

use minijinja::{Error, Value};

use super::super::call::{Arguments, whole};
use super::super::text::{is_space, str};
use super::super::value::{self, View, float, integer, view};
use super::super::{defined, type_error};

pub(super) fn int(value: &Value, args: Arguments) -> Result<Value, Error> {
    let [default, base] = args.bind(["default", "base"])?;
    let base = match base {
        Some(base) => whole("int", &base)?,
        None => 10,
    };
    let parsed = match view(defined(value)?) {
        View::Text(text) => parse_int(text, base).or_else(|| {
            // A number with a fraction is cut.
            let number = parse_float(text).filter(|n| n.is_finite());
            number.map(|number| number as i128)
        }),
        View::Float(number) if number.is_finite() => Some(number as i128),
        _ => integer(value),
    };
    Ok(match parsed {
        Some(number) => match i64::try_from(number) {
            Ok(number) => Value::from(number),
            Err(_) => Value::from(number),
        },
        None => default.unwrap_or_else(|| Value::from(0)),
    })
}

fn parse_int(text: &str, base: i64) -> Option<i128> {
    let text = text.trim_matches(is_space);
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let lower = digits.to_ascii_lowercase();
    let prefixed = |prefix: &str| lower.strip_prefix(prefix).map(str::to_owned);
    let (base, digits) = match base {
        16 => (16, prefixed("0x").unwrap_or(lower)),
        8 => (8, prefixed("0o").unwrap_or(lower)),
        2 => (2, prefixed("0b").unwrap_or(lower)),
        0 => match (prefixed("0x"), prefixed("0o"), prefixed("0b")) {
            (Some(digits), _, _) => (16, digits),
            (_, Some(digits), _) => (8, digits),
            (_, _, Some(digits)) => (2, digits),
            _ => (10, lower),
        },
        base => (
            u32::try_from(base).ok().filter(|b| (2..=36).contains(b))?,
            lower,
        ),
    };
    // Underscores stand between digits only.
    let wrong =
        digits.starts_with(['_', '+', '-']) || digits.ends_with('_') || digits.contains("__");
    if wrong {
        return None;
    }
    let number = i128::from_str_radix(&digits.replace('_', ""), base).ok()?;
    Some(sign * number)
}

pub(super) fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    let lower = text.to_ascii_lowercase();
    let named = lower.trim_start_matches(['+', '-']);
    let known = ["inf", "infinity", "nan"].contains(&named);
    let numeric = lower.chars().all(|c| "0123456789+-._e".contains(c));
    let wrong = lower.starts_with('_') || lower.ends_with('_') || lower.contains("__");
    match (known || numeric) && !wrong {
        true => lower.replace('_', "").parse().ok(),
        false => None,
    }
}

pub(super) fn round(value: &Value, args: Arguments) -> Result<Value, Error> {
    let [precision, method] = args.bind(["precision", "method"])?;
    let precision = match precision {
        Some(precision) => whole("round", &precision)?.clamp(-300, 300) as i32,
        None => 0,
    };
    let method = method
        .map(|m| str(&m))
        .unwrap_or_else(|| "common".to_owned());
    defined(value)?;
    let number = float(value).ok_or_else(|| {
        type_error(format!(
            "type {} doesn't define __round__ method",
            value::type_name(value)
        ))
    })?;
    let scale = 10f64.powi(precision);
    let rounded = match method.as_str() {
        "common" => {
            if let Some(whole) = integer(value) {
                let rounded = match precision {
                    0.. => Some(whole),
                    _ => round_whole(whole, precision.unsigned_abs()),
                };
                let rounded = rounded.and_then(|n| i64::try_from(n).ok());
                return Ok(rounded.map_or_else(|| value.clone(), Value::from));
            }
            match precision {
                // To even, by the exact decimal value.
                0.. => {
                    let digits = usize::try_from(precision).unwrap_or(0);
                    format!("{number:.digits$}").parse().unwrap_or(number)
                }
                _ => (number * scale).round_ties_even() / scale,
            }
        }
        "ceil" => (number * scale).ceil() / scale,
        "floor" => (number * scale).floor() / scale,
        _ => return Err(type_error("method must be common, ceil or floor")),
    };
    Ok(Value::from(rounded))
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
