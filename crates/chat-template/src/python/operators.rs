//! Operators, attributes and items. For example, `'a' * 3` is `aaa`, `[1] + [2]` is `[1, 2]`, and
//! `'a' + 1` is an error with Python's message.

use std::cmp::Ordering;

use super::callable::{Method, fits, text as text_of};
use super::value::{self, Key, SequenceKind, Value, compare, equal};
use super::{
    Fault, ITEM, Render, charge, charge_comparing, charge_looking, charge_printing, defined,
    format, made_of, markup, methods, numbers, type_error,
};
use crate::syntax::tree::{Comparison, Operator};

#[cold]
fn unsupported(sign: &str, a: &Value, b: &Value) -> Fault {
    if a.is_undefined() || b.is_undefined() {
        return type_error(format!("an operand of `{sign}` is undefined"));
    }
    type_error(format!(
        "unsupported operand type(s) for {sign}: '{}' and '{}'",
        a.type_name(),
        b.type_name()
    ))
}

/// An operator between two values.
pub(crate) fn apply(
    render: &mut Render,
    operator: Operator,
    a: &Value,
    b: &Value,
) -> Result<Value, Fault> {
    let special = match (operator, a) {
        (Operator::Add, _) => add(render, a, b)?,
        (Operator::Multiply, _) => repeat(render, a, b)?,
        (Operator::Modulo, Value::Text(text)) => {
            let made = format::percent(render, text, text.kind(), b)?;
            Some(made_of(render, text.kind(), made)?)
        }
        _ => None,
    };
    if let Some(value) = special {
        return Ok(value);
    }
    let sign = match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::FloorDivide => "//",
        Operator::Modulo => "%",
        Operator::Power => "**",
    };
    match (a.integer(), b.integer(), a.float(), b.float()) {
        (Some(x), Some(y), ..) => whole(operator, x, y),
        (_, _, Some(x), Some(y)) => real(operator, x, y),
        _ => Err(unsupported(sign, a, b)),
    }
}

/// `+` of what is no number.
fn add(render: &mut Render, a: &Value, b: &Value) -> Result<Option<Value>, Fault> {
    Ok(Some(match (a, b) {
        (Value::Text(x), Value::Text(y)) => markup::add(render, x, y)?,
        (Value::Text(_), _) if !b.is_undefined() => {
            return Err(type_error(format!(
                "can only concatenate str (not \"{}\") to str",
                b.type_name()
            )));
        }
        (Value::Sequence(x), Value::Sequence(y))
            if x.kind == y.kind && matches!(x.kind, SequenceKind::List | SequenceKind::Tuple) =>
        {
            charge(render, (x.items.len() + y.items.len()) * ITEM)?;
            let items = x.items.iter().chain(&y.items).cloned().collect();
            value::sequence(x.kind, items)?
        }
        _ => return Ok(None),
    }))
}

/// `*` of a text or a list and a number.
fn repeat(render: &mut Render, a: &Value, b: &Value) -> Result<Option<Value>, Fault> {
    let (repeated, count) = match (a.integer(), b.integer()) {
        (None, Some(count)) => (a, count),
        (Some(count), None) => (b, count),
        _ => return Ok(None),
    };
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    Ok(Some(match repeated {
        Value::Text(text) => {
            charge(render, text.len().saturating_mul(count))?;
            let count = if text.is_empty() { 0 } else { count };
            text.kind().of(text.repeat(count))
        }
        Value::Sequence(s) if matches!(s.kind, SequenceKind::List | SequenceKind::Tuple) => {
            let size = s.items.len().saturating_mul(count);
            charge(render, size.saturating_mul(ITEM))?;
            let count = if s.items.is_empty() { 0 } else { count };
            let items = std::iter::repeat_n(&s.items, count);
            value::sequence(s.kind, items.flatten().cloned().collect())?
        }
        _ => return Ok(None),
    }))
}

fn whole(operator: Operator, a: i128, b: i128) -> Result<Value, Fault> {
    let divides = matches!(
        operator,
        Operator::Divide | Operator::FloorDivide | Operator::Modulo
    );
    if divides && b == 0 {
        return Err(type_error("division by zero"));
    }
    fits(match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => return Ok(Value::Float(a as f64 / b as f64)),
        Operator::FloorDivide => floor_division(a, b),
        Operator::Modulo => floor_division(a, b).and_then(|q| a.checked_sub(q.checked_mul(b)?)),
        Operator::Power if b < 0 => return real(operator, a as f64, b as f64),
        Operator::Power => match (u32::try_from(b), a) {
            (Ok(exponent), _) => a.checked_pow(exponent),
            (Err(_), -1..=1) => return Err(type_error("the exponent is too large")),
            (Err(_), _) => None,
        },
    })
}

fn floor_division(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    let exact = a.checked_rem(b)? == 0;
    Some(quotient - i128::from(!exact && (a < 0) != (b < 0)))
}

/// The quotient rounded down, and the rest, which has the sign of the divisor.
fn floor_and_rest(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = rest.abs().copysign(b);
    } else if (rest < 0.0) != (b < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    let mut floor = quotient.floor();
    if quotient == 0.0 {
        floor = 0f64.copysign(a / b);
    } else if quotient - floor > 0.5 {
        floor += 1.0;
    }
    (floor, rest)
}

/// The whole part of a finite number, if it has at most 127 bits.
pub(crate) fn cut(number: f64) -> Option<i128> {
    (number.abs() < 1.7e38).then_some(number as i128)
}

fn real(operator: Operator, a: f64, b: f64) -> Result<Value, Fault> {
    let divides = matches!(
        operator,
        Operator::Divide | Operator::FloorDivide | Operator::Modulo
    );
    if divides && b == 0.0 {
        return Err(type_error("division by zero"));
    }
    Ok(Value::Float(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::FloorDivide => floor_and_rest(a, b).0,
        Operator::Modulo => floor_and_rest(a, b).1,
        Operator::Power if a == 0.0 && b < 0.0 => {
            return Err(type_error("0.0 cannot be raised to a negative power"));
        }
        Operator::Power if a < 0.0 && b.fract() != 0.0 => {
            return Err(type_error("a complex number is not supported"));
        }
        Operator::Power => a.powf(b),
    }))
}

pub(crate) fn negative(value: &Value) -> Result<Value, Fault> {
    match (value.integer(), value.float()) {
        (Some(number), _) => fits(number.checked_neg()),
        (None, Some(number)) => Ok(Value::Float(-number)),
        _ => Err(unary("-", value)),
    }
}

pub(crate) fn positive(value: &Value) -> Result<Value, Fault> {
    match (value.integer(), value.float()) {
        (Some(number), _) => Ok(Value::Int(number)),
        (None, Some(number)) => Ok(Value::Float(number)),
        _ => Err(unary("+", value)),
    }
}

#[cold]
fn unary(sign: &str, value: &Value) -> Fault {
    match value.is_undefined() {
        true => type_error(format!("the operand of `{sign}` is undefined")),
        false => type_error(format!(
            "bad operand type for unary {sign}: '{}'",
            value.type_name()
        )),
    }
}

/// `~` between all of them.
pub(crate) fn concatenate(render: &mut Render, values: &[Value]) -> Result<Value, Fault> {
    let mut out = String::new();
    for value in values {
        charge_printing(render, value)?;
        match value {
            Value::Text(text) => out.push_str(text),
            other => out.push_str(&other.str()),
        }
    }
    Ok(Value::from(out))
}

/// `a < b` and its like.
pub(crate) fn compared(
    render: &mut Render,
    comparison: Comparison,
    a: &Value,
    b: &Value,
) -> Result<bool, Fault> {
    let is: fn(Ordering) -> bool = match comparison {
        Comparison::Equal | Comparison::NotEqual => {
            charge_comparing(render, a, b)?;
            return Ok(equal(a, b) == (comparison == Comparison::Equal));
        }
        Comparison::In | Comparison::NotIn => {
            return Ok(contains(render, a, b)? == (comparison == Comparison::In));
        }
        Comparison::Less => |order| order == Ordering::Less,
        Comparison::LessOrEqual => |order| order != Ordering::Greater,
        Comparison::Greater => |order| order == Ordering::Greater,
        Comparison::GreaterOrEqual => |order| order != Ordering::Less,
    };
    charge_comparing(render, a, b)?;
    if a.is_undefined() || b.is_undefined() {
        return Err(type_error("an operand of a comparison is undefined"));
    }
    Ok(compare(a, b)?.is_some_and(is))
}

/// Python's `in`.
pub(crate) fn contains(
    render: &mut Render,
    item: &Value,
    container: &Value,
) -> Result<bool, Fault> {
    charge_looking(render, item)?;
    if let Value::Text(text) = container {
        charge(render, text.len() / 4)?;
    }
    if !matches!(container, Value::Dict(_)) {
        charge_looking(render, container)?;
    }
    Ok(match container {
        Value::Undefined => false,
        Value::Text(text) => match item {
            Value::Text(part) => text.contains(&**part),
            _ if item.is_undefined() => {
                return Err(type_error("the left operand of `in` is undefined"));
            }
            _ => {
                return Err(type_error(format!(
                    "'in <string>' requires string as left operand, not {}",
                    item.type_name()
                )));
            }
        },
        Value::Sequence(sequence) => sequence.items.iter().any(|other| equal(other, item)),
        Value::Dict(dict) => match item {
            Value::Text(name) => dict.get(name).is_some(),
            other => dict.entries.contains_key(&Key::new(other.clone())?),
        },
        _ => {
            return Err(type_error(format!(
                "argument of type '{}' is not iterable",
                container.type_name()
            )));
        }
    })
}

/// `value.name`: the attribute of the Python object, else the entry of that
/// name, else undefined.
pub(crate) fn attribute(value: &Value, name: &str) -> Value {
    if methods::has(value.type_name(), name) {
        return bound(name, value);
    }
    if let Some(own) = numbers::attribute(value, name) {
        return own;
    }
    match value {
        Value::Dict(dict) => dict.get(name).cloned().unwrap_or_default(),
        Value::Callable(callable) => callable.attribute(name),
        _ => entry(value, &Value::from(name)),
    }
}

/// A method; undefined where the sandbox hides it.
fn bound(name: &str, value: &Value) -> Value {
    let hidden = methods::is_mutating(name) && value.type_name() != "str";
    match hidden {
        true => Value::Undefined,
        false => Method::of(name, value),
    }
}

/// The entry under a key; undefined if there is none.
fn entry(value: &Value, key: &Value) -> Value {
    let found = match value {
        Value::Dict(dict) => dict.find(key).cloned(),
        Value::Namespace(namespace) => key.as_str().and_then(|name| namespace.get(name)),
        Value::Sequence(sequence) => match sequence.kind {
            SequenceKind::Generator | SequenceKind::View(_) => None,
            SequenceKind::Group if key.as_str() == Some("grouper") => {
                sequence.items.first().cloned()
            }
            SequenceKind::Group if key.as_str() == Some("list") => sequence.items.get(1).cloned(),
            _ => key.integer().and_then(|at| {
                let at = index(at, sequence.items.len())?;
                sequence.items.get(at).cloned()
            }),
        },
        Value::Text(text) => key.integer().and_then(|at| {
            let at = match at < 0 {
                true => index(at, text.chars().count())?,
                false => usize::try_from(at).ok()?,
            };
            let c = text.chars().nth(at)?;
            Some(text.kind().of(c.to_string()))
        }),
        Value::Callable(callable) => key.as_str().map(|name| callable.attribute(name)),
        _ => None,
    };
    found.unwrap_or_default()
}

fn index(at: i128, count: usize) -> Option<usize> {
    let at = if at < 0 { at + count as i128 } else { at };
    usize::try_from(at).ok()
}

/// `value[key]`: the entry, else the attribute of that name, else undefined.
pub(crate) fn item(value: &Value, key: &Value) -> Value {
    let found = entry(value, key);
    match key {
        Value::Text(name) if found.is_undefined() && methods::has(value.type_name(), name) => {
            bound(name, value)
        }
        _ => found,
    }
}

/// The item of a list at that place.
pub(crate) fn nth(value: &Value, at: usize) -> Value {
    entry(value, &Value::from(at))
}

/// The bounds of a slice, [`Value::None`] where there is none.
pub(crate) struct Slice {
    pub(crate) start: Value,
    pub(crate) stop: Value,
    pub(crate) step: Value,
}

/// `value[start:stop:step]`.
pub(crate) fn slice(render: &mut Render, value: &Value, of: Slice) -> Result<Value, Fault> {
    let count = match value {
        Value::Text(text) => {
            charge(render, text.len() / 8)?;
            text.chars().count()
        }
        Value::Sequence(sequence) if indexable(sequence.kind) => sequence.items.len(),
        Value::Dict(_) => return Err(type_error("unhashable type: 'slice'")),
        _ => {
            return Err(type_error(format!(
                "'{}' object is not subscriptable",
                value.type_name()
            )));
        }
    };
    let part = |value: Value| -> Result<Option<i128>, Fault> {
        if value.is_none() {
            return Ok(None);
        }
        if value.is_undefined() {
            return Err(type_error("a bound of a slice is undefined"));
        }
        let number = value.integer().ok_or_else(|| {
            type_error("slice indices must be integers or None or have an __index__ method")
        });
        number.map(Some)
    };
    let (start, stop) = (part(of.start)?, part(of.stop)?);
    let step = part(of.step)?.unwrap_or(1);
    let count = count as i128;
    let place = |at: Option<i128>, default: i128| {
        let Some(at) = at else { return default };
        let at = if at < 0 { at.saturating_add(count) } else { at };
        match step > 0 {
            true => at.clamp(0, count),
            false => at.clamp(-1, count - 1),
        }
    };
    let (at, end) = match step.cmp(&0) {
        Ordering::Greater => (place(start, 0), place(stop, count)),
        Ordering::Less => (place(start, count - 1), place(stop, -1)),
        Ordering::Equal => return Err(type_error("slice step cannot be zero")),
    };
    let picked = picked(at, end, step);
    match value {
        Value::Text(text) => {
            charge(render, text.len())?;
            Ok(text.kind().of(pick_characters(text, picked, step)))
        }
        Value::Sequence(sequence) => {
            charge(render, picked.len() * ITEM)?;
            let kind = match sequence.kind {
                SequenceKind::Tuple | SequenceKind::Group => SequenceKind::Tuple,
                SequenceKind::Range {
                    start,
                    step: stride,
                    ..
                } => part_of_range(start, stride, [at, end, step]),
                _ => SequenceKind::List,
            };
            let stride = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
            let items = sequence.items.get(picked).unwrap_or_default();
            let taken = match step > 0 {
                true => items.iter().step_by(stride).cloned().collect(),
                false => items.iter().rev().step_by(stride).cloned().collect(),
            };
            value::sequence(kind, taken)
        }
        _ => Ok(Value::Undefined),
    }
}

/// A slice of a range, which is a range.
fn part_of_range(start: i64, stride: i64, [at, end, step]: [i128; 3]) -> SequenceKind {
    let place = |at: i128| i128::from(start).saturating_add(at.saturating_mul(stride.into()));
    let fits = |number: i128| i64::try_from(number).ok();
    let bounds = (
        fits(place(at)),
        fits(place(end)),
        fits(step.saturating_mul(stride.into())),
    );
    match bounds {
        (Some(start), Some(stop), Some(step)) => SequenceKind::Range { start, stop, step },
        _ => SequenceKind::List,
    }
}

/// The places from which a slice takes each `step`th, from its first to behind its last;
/// backwards for a negative step.
fn picked(at: i128, end: i128, step: i128) -> std::ops::Range<usize> {
    let (first, last) = match step > 0 {
        true => (at, end),
        false => (end + 1, at + 1),
    };
    let first = usize::try_from(first).unwrap_or(0);
    let last = usize::try_from(last).unwrap_or(0);
    first..last.max(first)
}

/// Characters of a text, without a list of all of them.
fn pick_characters(text: &str, picked: std::ops::Range<usize>, step: i128) -> String {
    let mut bytes = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let from = bytes.nth(picked.start).unwrap_or(text.len());
    let to = match picked.len() {
        0 => from,
        more => bytes.nth(more - 1).unwrap_or(text.len()),
    };
    let text = text.get(from..to).unwrap_or_default();
    let stride = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
    match step {
        1 => text.to_owned(),
        0.. => text.chars().step_by(stride).collect(),
        _ => text.chars().rev().step_by(stride).collect(),
    }
}

fn indexable(kind: SequenceKind) -> bool {
    matches!(
        kind,
        SequenceKind::List | SequenceKind::Tuple | SequenceKind::Group | SequenceKind::Range { .. }
    )
}

/// A path of attributes, `a.b.0`, as `map(attribute=...)` takes it.
pub(crate) fn path(value: &Value, path: &Value) -> Result<Value, Fault> {
    path_or(value, path, None)
}

/// The same with a value in place of each step that leads nowhere.
pub(crate) fn path_or(
    value: &Value,
    path: &Value,
    default: Option<&Value>,
) -> Result<Value, Fault> {
    let or_default = |found: Value| match default {
        Some(default) if found.is_undefined() => default.clone(),
        _ => found,
    };
    if let Some(at) = path.integer() {
        defined(value)?;
        return Ok(or_default(item(value, &Value::Int(at))));
    }
    let mut value = value.clone();
    for part in text_of("attribute", path)?.split('.') {
        let key = match part.parse::<i128>() {
            Ok(number) if part.bytes().all(|b| b.is_ascii_digit()) => Value::from(number),
            _ => Value::from(part),
        };
        defined(&value)?;
        value = or_default(item(&value, &key));
    }
    Ok(value)
}
