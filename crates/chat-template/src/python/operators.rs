//! Operators, attributes and items, as templates are written out to call them.

use std::cmp::Ordering;

use minijinja::{Environment, Error, State, Value};

use super::call::{Arguments, Function, Native, method, text as text_of};
use super::text::str;
use super::value::{
    self, Sequence, SequenceKind, View, compare, equal, float, integer, type_name, view,
};
use super::{
    ITEM, charge, charge_reading, defined, filters, format, items_of, limit_error, made, methods,
    numbers, render_of, tests, type_error, undefined,
};

/// Adds the operators under the names that templates are written out with.
pub(super) fn install(env: &mut Environment<'static>) {
    let all: [(&'static str, Native); 32] = [
        ("__tm_sum", sum),
        ("__tm_concat", concat),
        ("__tm_product", product),
        ("__tm_power", power),
        ("__tm_neg", |_, args| negate(args)),
        ("__tm_pos", |_, args| positive(args)),
        ("__tm_eq", |state, args| equality(state, args, true)),
        ("__tm_ne", |state, args| equality(state, args, false)),
        ("__tm_lt", |state, args| {
            order(state, args, |o| o == Ordering::Less)
        }),
        ("__tm_le", |state, args| {
            order(state, args, |o| o != Ordering::Greater)
        }),
        ("__tm_gt", |state, args| {
            order(state, args, |o| o == Ordering::Greater)
        }),
        ("__tm_ge", |state, args| {
            order(state, args, |o| o != Ordering::Less)
        }),
        ("__tm_in", |state, args| {
            let [item, container] = args.bind_all(["item", "container"])?;
            Ok(Value::from(contains(state, &item, &container)?))
        }),
        ("__tm_not_in", |state, args| {
            let [item, container] = args.bind_all(["item", "container"])?;
            Ok(Value::from(!contains(state, &item, &container)?))
        }),
        ("__tm_attr", |state, args| {
            let [source, value, name] = args.bind_all(["source", "value", "name"])?;
            super::charge_looking(state, &name)?;
            attribute(source.as_str(), &value, name.as_str().unwrap_or_default())
        }),
        ("__tm_item", |state, args| {
            let [source, value, key] = args.bind_all(["source", "value", "key"])?;
            super::charge_looking(state, &key)?;
            if let View::Text(text) = view(&value) {
                // Characters are counted from the beginning.
                charge(state, text.len() / 8)?;
            }
            item(source.as_str(), &value, &key)
        }),
        ("__tm_slice", slice),
        ("__tm_method", |state, mut args| {
            let (source, receiver, name) = (args.shift(), args.shift(), args.shift());
            let source = source.as_str().unwrap_or_default();
            let name = name.as_str().unwrap_or_default();
            method(state, source, &receiver, name, &args.into_values())
        }),
        ("__tm_list", |state, args| {
            charge(state, args.positional.len() * ITEM)?;
            value::list(args.positional)
        }),
        ("__tm_tuple", |state, args| {
            charge(state, args.positional.len() * ITEM)?;
            value::tuple(args.positional)
        }),
        ("__tm_dict", |state, args| {
            charge(state, args.positional.len() * ITEM)?;
            for key in args.positional.iter().step_by(2) {
                super::charge_looking(state, key)?;
            }
            let pairs = args.positional.chunks_exact(2);
            let pairs =
                pairs.filter_map(|pair| Some((pair.first()?.clone(), pair.get(1)?.clone())));
            value::dict(pairs.collect())
        }),
        ("__tm_float", |_, args| {
            let [text] = args.bind_all(["text"])?;
            let number = text.as_str().and_then(|text| text.parse::<f64>().ok());
            Ok(Value::from(number.unwrap_or(f64::NAN)))
        }),
        ("__tm_iter", |state, args| {
            let [value] = args.bind_all(["value"])?;
            if let View::Sequence(sequence) = view(&value)
                && sequence.kind == SequenceKind::List
            {
                return Ok(value);
            }
            let items = items_of(state, &value)?;
            super::made_list(state, items)
        }),
        ("__tm_rows", |state, args| {
            // What is taken apart into several names, item by item.
            let [value] = args.bind_all(["value"])?;
            let mut rows = Vec::new();
            for item in items_of(state, &value)? {
                let row = items_of(state, &item)?;
                rows.push(super::made_list(state, row)?);
            }
            super::made_list(state, rows)
        }),
        ("__tm_filter", |state, mut args| {
            let (name, value) = (args.shift(), args.shift());
            args.name = name.as_str().unwrap_or_default().to_owned();
            filters::apply(state, &value, args)
        }),
        ("__tm_test", |state, mut args| {
            let (name, value) = (args.shift(), args.shift());
            args.name = name.as_str().unwrap_or_default().to_owned();
            Ok(Value::from(tests::apply(state, &value, args)?))
        }),
        ("__tm_is_missing", |state, args| {
            let [value] = args.bind_all(["value"])?;
            let missing = state.lookup("__tm_missing");
            Ok(Value::from(
                missing.is_some_and(|missing| same_object(&missing, &value)),
            ))
        }),
        ("__tm_varargs", |state, args| {
            let missing = state.lookup("__tm_missing").unwrap_or_default();
            let given = args.positional.into_iter();
            value::tuple(given.take_while(|v| !same_object(&missing, v)).collect())
        }),
        ("__tm_setattr", |state, args| {
            let [target, name, value] = args.bind_all(["target", "name", "value"])?;
            charge_reading(state, &value)?;
            super::charge_looking(state, &name)?;
            let View::Namespace(namespace) = view(&target) else {
                return Err(type_error(
                    "cannot assign attribute on non-namespace object",
                ));
            };
            namespace.set(name.as_str().unwrap_or_default(), value)?;
            Ok(Value::from(""))
        }),
        ("__tm_load", |_, args| {
            let [tag] = args.bind_all(["tag"])?;
            Err(type_error(format!(
                "{tag}: chat templates cannot load other templates"
            )))
        }),
        ("__tm_generation", generation),
        ("__tm_namespace", |state, args| {
            super::functions::namespace(state, args)
        }),
    ];
    for (name, native) in all {
        env.add_global(name, Value::from_object(Function { name, native }));
    }
    let name = "__tm_missing";
    let native: Native = |_, _| Err(type_error("an argument is missing"));
    env.add_global(name, Value::from_object(Function { name, native }));
}

fn same_object(a: &Value, b: &Value) -> bool {
    let name = |value: &Value| value.downcast_object_ref::<Function>().map(|f| f.name);
    name(a).is_some() && name(a) == name(b)
}

/// The body of a generation block: noted, and printed as it is.
fn generation(state: &mut State<'_, '_>, args: Arguments) -> Result<Value, Error> {
    let [caller] = args.bind_all(["caller"])?;
    let start =
        render_of(state).map(|render| render.printed.load(std::sync::atomic::Ordering::Relaxed));
    let body = caller.call(state, &[])?;
    let body = str(&body);
    charge(state, body.len())?;
    if let (Some(render), Some(start)) = (render_of(state), start) {
        render.note(start, &body);
    }
    Ok(Value::from(body))
}

/// Folds the operands by their signs.
fn fold(
    state: &mut State<'_, '_>,
    mut args: Arguments,
    operator: fn(&mut State<'_, '_>, char, Value, &Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let signs = args.shift();
    let mut value = args.shift();
    let signs = signs.as_str().unwrap_or_default().chars();
    for (sign, operand) in signs.zip(&args.positional) {
        value = operator(state, sign, value, operand)?;
    }
    Ok(value)
}

#[cold]
fn unsupported(sign: &str, a: &Value, b: &Value) -> Error {
    if a.is_undefined() || b.is_undefined() {
        return undefined(format!("an operand of `{sign}` is undefined"));
    }
    type_error(format!(
        "unsupported operand type(s) for {sign}: '{}' and '{}'",
        type_name(a),
        type_name(b)
    ))
}

#[cold]
fn too_large() -> Error {
    limit_error("a number has more than 127 bits")
}

fn whole(number: Option<i128>) -> Result<Value, Error> {
    let number = number.ok_or_else(too_large)?;
    Ok(match i64::try_from(number) {
        Ok(number) => Value::from(number),
        Err(_) => Value::from(number),
    })
}

fn sum(state: &mut State<'_, '_>, mut args: Arguments) -> Result<Value, Error> {
    // Long chains of texts are joined at once rather than copied each time.
    let texts = args.positional.get(1..).unwrap_or_default();
    let plus = args.positional.first().and_then(Value::as_str);
    if plus.is_some_and(|signs| signs.chars().all(|sign| sign == '+'))
        && texts.iter().all(|value| value.as_str().is_some())
    {
        args.shift();
        charge(state, args.positional.iter().map(value::weight).sum())?;
        let text: String = args.positional.iter().filter_map(Value::as_str).collect();
        return Ok(Value::from(text));
    }
    fold(state, args, |state, sign, a, b| {
        let text = match sign {
            '+' => "+",
            _ => "-",
        };
        match (view(&a), view(b)) {
            (View::Text(x), View::Text(y)) if sign == '+' => {
                charge(state, x.len() + y.len())?;
                Ok(Value::from(format!("{x}{y}")))
            }
            (View::Text(_), _) if sign == '+' && !b.is_undefined() => Err(type_error(format!(
                "can only concatenate str (not \"{}\") to str",
                type_name(b)
            ))),
            (View::Sequence(x), View::Sequence(y))
                if sign == '+'
                    && x.kind == y.kind
                    && matches!(x.kind, SequenceKind::List | SequenceKind::Tuple) =>
            {
                charge(state, (x.items.len() + y.items.len()) * ITEM)?;
                let items = x.items.iter().chain(&y.items).cloned().collect();
                value::sequence(x.kind, items)
            }
            _ => match (integer(&a), integer(b)) {
                (Some(x), Some(y)) if sign == '+' => whole(x.checked_add(y)),
                (Some(x), Some(y)) => whole(x.checked_sub(y)),
                _ => match (float(&a), float(b)) {
                    (Some(x), Some(y)) if sign == '+' => Ok(Value::from(x + y)),
                    (Some(x), Some(y)) => Ok(Value::from(x - y)),
                    _ => Err(unsupported(text, &a, b)),
                },
            },
        }
    })
}

fn concat(state: &mut State<'_, '_>, mut args: Arguments) -> Result<Value, Error> {
    args.shift();
    for value in &args.positional {
        super::charge_printing(state, value)?;
    }
    let text: String = args.positional.iter().map(str).collect();
    Ok(Value::from(text))
}

fn product(state: &mut State<'_, '_>, args: Arguments) -> Result<Value, Error> {
    fold(state, args, |state, sign, a, b| {
        if sign == '%'
            && let View::Text(text) = view(&a)
        {
            let text = format::percent(state, text, b)?;
            return made(state, text);
        }
        if sign == '*' {
            let repeated = match (integer(&a), integer(b)) {
                (None, Some(count)) => Some((&a, count)),
                (Some(count), None) => Some((b, count)),
                _ => None,
            };
            if let Some((repeated, count)) = repeated {
                let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
                match view(repeated) {
                    View::Text(text) => {
                        charge(state, text.len().saturating_mul(count))?;
                        return Ok(Value::from(text.repeat(count)));
                    }
                    View::Sequence(Sequence { items, kind, .. })
                        if matches!(kind, SequenceKind::List | SequenceKind::Tuple) =>
                    {
                        charge(
                            state,
                            items.len().saturating_mul(count).saturating_mul(ITEM),
                        )?;
                        let count = if items.is_empty() { 0 } else { count };
                        let items = std::iter::repeat_n(items, count);
                        return value::sequence(*kind, items.flatten().cloned().collect());
                    }
                    _ => {}
                }
            }
        }
        let text = match sign {
            '*' => "*",
            '/' => "/",
            'f' => "//",
            _ => "%",
        };
        if let (Some(x), Some(y)) = (integer(&a), integer(b)) {
            if sign == '*' {
                return whole(x.checked_mul(y));
            }
            if y == 0 {
                return Err(type_error("division by zero"));
            }
            return match sign {
                '/' => Ok(Value::from(x as f64 / y as f64)),
                'f' => whole(floor_division(x, y)),
                _ => whole(floor_division(x, y).and_then(|q| x.checked_sub(q.checked_mul(y)?))),
            };
        }
        let (Some(x), Some(y)) = (float(&a), float(b)) else {
            return Err(unsupported(text, &a, b));
        };
        if y == 0.0 && sign != '*' {
            return Err(type_error("division by zero"));
        }
        Ok(Value::from(match sign {
            '*' => x * y,
            '/' => x / y,
            'f' => (x / y).floor(),
            // The remainder has the sign of the divisor.
            _ => {
                let rest = x % y;
                match rest != 0.0 && (rest < 0.0) != (y < 0.0) {
                    true => rest + y,
                    false => rest,
                }
            }
        }))
    })
}

fn floor_division(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    let exact = a.checked_rem(b)? == 0;
    Some(quotient - i128::from(!exact && (a < 0) != (b < 0)))
}

fn power(state: &mut State<'_, '_>, args: Arguments) -> Result<Value, Error> {
    fold(state, args, |_, _, a, b| {
        if let (Some(base), Some(exponent)) = (integer(&a), integer(b))
            && exponent >= 0
        {
            let exponent = u32::try_from(exponent).map_err(|_| match base {
                -1..=1 => type_error("the exponent is too large"),
                _ => too_large(),
            })?;
            return whole(base.checked_pow(exponent));
        }
        match (float(&a), float(b)) {
            (Some(base), Some(exponent)) if base < 0.0 && exponent.fract() != 0.0 => {
                Err(type_error("a complex number is not supported"))
            }
            (Some(base), Some(exponent)) => Ok(Value::from(base.powf(exponent))),
            _ => Err(unsupported("**", &a, b)),
        }
    })
}

fn negate(args: Arguments) -> Result<Value, Error> {
    let [value] = args.bind_all(["value"])?;
    match (integer(&value), float(&value)) {
        (Some(number), _) => whole(number.checked_neg()),
        (None, Some(number)) => Ok(Value::from(-number)),
        _ => Err(unary("-", &value)),
    }
}

fn positive(args: Arguments) -> Result<Value, Error> {
    let [value] = args.bind_all(["value"])?;
    match (integer(&value), float(&value)) {
        (Some(number), _) => whole(Some(number)),
        (None, Some(number)) => Ok(Value::from(number)),
        _ => Err(unary("+", &value)),
    }
}

#[cold]
fn unary(sign: &str, value: &Value) -> Error {
    match value.is_undefined() {
        true => undefined(format!("the operand of `{sign}` is undefined")),
        false => type_error(format!(
            "bad operand type for unary {sign}: '{}'",
            type_name(value)
        )),
    }
}

fn equality(state: &mut State<'_, '_>, args: Arguments, wanted: bool) -> Result<Value, Error> {
    let [a, b] = args.bind_all(["a", "b"])?;
    super::charge_comparing(state, &a, &b)?;
    Ok(Value::from(equal(&a, &b) == wanted))
}

fn order(
    state: &mut State<'_, '_>,
    args: Arguments,
    is: fn(Ordering) -> bool,
) -> Result<Value, Error> {
    let [a, b] = args.bind_all(["a", "b"])?;
    super::charge_comparing(state, &a, &b)?;
    if a.is_undefined() || b.is_undefined() {
        return Err(undefined("an operand of a comparison is undefined"));
    }
    Ok(Value::from(compare(&a, &b)?.is_some_and(is)))
}

/// Python's `in`.
pub(super) fn contains(
    state: &mut State<'_, '_>,
    item: &Value,
    container: &Value,
) -> Result<bool, Error> {
    super::charge_looking(state, item)?;
    if let View::Text(text) = view(container) {
        charge(state, text.len() / 4)?;
    }
    if !matches!(view(container), View::Dict(_)) {
        super::charge_looking(state, container)?;
    }
    Ok(match view(container) {
        View::Undefined => false,
        View::Text(text) => match view(item) {
            View::Text(part) => text.contains(part),
            _ if item.is_undefined() => {
                return Err(undefined("the left operand of `in` is undefined"));
            }
            _ => {
                return Err(type_error(format!(
                    "'in <string>' requires string as left operand, not {}",
                    type_name(item)
                )));
            }
        },
        View::Sequence(sequence) => sequence.items.iter().any(|other| equal(other, item)),
        View::Dict(dict) => match view(item) {
            View::Dict(_) => return Err(type_error("unhashable type: 'dict'")),
            View::Sequence(sequence) if sequence.kind == SequenceKind::List => {
                return Err(type_error("unhashable type: 'list'"));
            }
            _ => dict.entries.contains_key(item),
        },
        _ => {
            return Err(type_error(format!(
                "argument of type '{}' is not iterable",
                type_name(container)
            )));
        }
    })
}

/// `value.name`: the attribute of the Python object, else the entry of that
/// name, else undefined.
///
/// # Errors
///
/// The value is undefined.
pub(super) fn attribute(source: Option<&str>, value: &Value, name: &str) -> Result<Value, Error> {
    if value.is_undefined() && name == "__class__" {
        // It has that one, and the sandbox hides it.
        return Ok(Value::UNDEFINED);
    }
    if value.is_undefined() {
        let source = source.filter(|s| !s.is_empty()).unwrap_or("the value");
        return Err(undefined(format!(
            "`{source}` is undefined, so it has no attribute '{name}'"
        )));
    }
    if methods::has(type_name(value), name) {
        return Ok(bound(name, value));
    }
    if let Some(own) = numbers::attribute(value, name) {
        return Ok(own);
    }
    Ok(entry(value, &Value::from(name)))
}

/// A method; undefined where the sandbox hides it.
fn bound(name: &str, value: &Value) -> Value {
    let hidden = methods::is_mutating(name) && type_name(value) != "str";
    match hidden {
        true => Value::UNDEFINED,
        false => value::method(name, value),
    }
}

/// The entry under a key; undefined if there is none.
fn entry(value: &Value, key: &Value) -> Value {
    let found = match view(value) {
        View::Dict(dict) => dict.entries.get(key).cloned(),
        View::Namespace(namespace) => key.as_str().and_then(|name| namespace.get(name)),
        View::Sequence(sequence) => match sequence.kind {
            SequenceKind::Generator | SequenceKind::View(_) => None,
            SequenceKind::Group if key.as_str() == Some("grouper") => {
                sequence.items.first().cloned()
            }
            SequenceKind::Group if key.as_str() == Some("list") => sequence.items.get(1).cloned(),
            _ => integer(key).and_then(|at| {
                let at = index(at, sequence.items.len())?;
                sequence.items.get(at).cloned()
            }),
        },
        View::Text(text) => integer(key).and_then(|at| {
            let at = match at < 0 {
                true => index(at, text.chars().count())?,
                false => usize::try_from(at).ok()?,
            };
            let c = text.chars().nth(at)?;
            Some(Value::from(c.to_string()))
        }),
        View::Other => match value.as_object() {
            Some(object) => object.get_value(key),
            None => None,
        },
        _ => None,
    };
    found.unwrap_or_default()
}

fn index(at: i128, count: usize) -> Option<usize> {
    let at = if at < 0 { at + count as i128 } else { at };
    usize::try_from(at).ok()
}

/// `value[key]`: the entry, else the attribute of that name, else undefined.
fn item(source: Option<&str>, value: &Value, key: &Value) -> Result<Value, Error> {
    if value.is_undefined() {
        let source = source.unwrap_or("the value");
        let key = super::text::repr(key);
        return Err(undefined(format!(
            "`{source}` is undefined, so it has no element {key}"
        )));
    }
    let found = entry(value, key);
    if found.is_undefined()
        && let View::Text(name) = view(key)
        && methods::has(type_name(value), name)
    {
        return Ok(bound(name, value));
    }
    Ok(found)
}

/// `value[start:stop:step]`.
fn slice(state: &mut State<'_, '_>, args: Arguments) -> Result<Value, Error> {
    let [source, value, start, stop, step] =
        args.bind(["source", "value", "start", "stop", "step"])?;
    let value = value.unwrap_or_default();
    if value.is_undefined() {
        let source = source
            .as_ref()
            .and_then(Value::as_str)
            .unwrap_or("the value");
        return Err(undefined(format!("`{source}` is undefined")));
    }
    let count = match view(&value) {
        View::Text(text) => {
            charge(state, text.len() / 8)?;
            text.chars().count()
        }
        View::Sequence(sequence) if indexable(sequence.kind) => sequence.items.len(),
        View::Dict(_) => return Err(type_error("unhashable type: 'slice'")),
        _ => {
            return Err(type_error(format!(
                "'{}' object is not subscriptable",
                type_name(&value)
            )));
        }
    };
    let part = |value: Option<Value>| -> Result<Option<i128>, Error> {
        let Some(value) = value.filter(|v| !v.is_none()) else {
            return Ok(None);
        };
        if value.is_undefined() {
            return Err(undefined("a bound of a slice is undefined"));
        }
        let number = integer(&value).ok_or_else(|| {
            type_error("slice indices must be integers or None or have an __index__ method")
        });
        number.map(Some)
    };
    let (start, stop) = (part(start)?, part(stop)?);
    let step = part(step)?.unwrap_or(1);
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
    match view(&value) {
        View::Text(text) => {
            charge(state, text.len())?;
            Ok(Value::from(pick_characters(text, picked, step)))
        }
        View::Sequence(sequence) => {
            charge(state, picked.len() * ITEM)?;
            let kind = match sequence.kind {
                SequenceKind::Tuple | SequenceKind::Group => SequenceKind::Tuple,
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
        _ => Ok(Value::UNDEFINED),
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
pub(super) fn path(value: &Value, path: &Value) -> Result<Value, Error> {
    path_or(value, path, None)
}

/// The same with a value in place of each step that leads nowhere.
pub(super) fn path_or(
    value: &Value,
    path: &Value,
    default: Option<&Value>,
) -> Result<Value, Error> {
    let or_default = |found: Value| match default {
        Some(default) if found.is_undefined() => default.clone(),
        _ => found,
    };
    if let Some(at) = integer(path) {
        return Ok(or_default(item(None, value, &Value::from(at as i64))?));
    }
    let mut value = value.clone();
    for part in text_of("attribute", path)?.split('.') {
        let key = match part.parse::<i64>() {
            Ok(number) if part.bytes().all(|b| b.is_ascii_digit()) => Value::from(number),
            _ => Value::from(part),
        };
        defined(&value)?;
        value = or_default(item(None, &value, &key)?);
    }
    Ok(value)
}
