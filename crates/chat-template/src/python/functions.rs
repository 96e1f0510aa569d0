//! Functions that templates can call by name, for example `range`.

use std::rc::Rc;

use super::callable::{
    Arguments, Callable, Cycler, Function, Joiner, Native, text as text_of, whole,
};
use super::time::Moment;
use super::value::{self, Entries, Key, Namespace, SequenceKind, Value};
use super::weight::weight;
use super::{
    Fault, FaultKind, ITEM, Kept, Render, charge, charge_printing, items_of, keep, limit_error,
    made, methods, type_error,
};

/// Longest `range`, as in Jinja's sandbox.
const MAX_RANGE: i64 = 100_000;

/// The function of that name.
pub(crate) fn find(name: &str) -> Option<Function> {
    let (name, native): (&str, Native) = match name {
        "raise_exception" => ("raise_exception", raise_exception),
        "strftime_now" => ("strftime_now", strftime_now),
        "range" => ("range", range),
        "dict" => ("dict", dict),
        "namespace" => ("namespace", namespace),
        "joiner" => ("joiner", |_, args| Joiner::of(args)),
        "cycler" => ("cycler", |_, args| Cycler::of(args)),
        _ => return None,
    };
    Some(Function { name, native })
}

/// An attribute of a function, such as `dict.fromkeys`.
pub(crate) fn attribute(function: &str, name: &str) -> Value {
    match (function, name) {
        ("dict", "fromkeys") => Value::Callable(Callable::Function(Function {
            name: "fromkeys",
            native: methods::from_keys,
        })),
        _ => Value::Undefined,
    }
}

fn raise_exception(render: &mut Render, args: Arguments) -> Result<Value, Fault> {
    let [message] = args.bind_all(["message"])?;
    charge_printing(render, &message)?;
    Err(Fault {
        kind: FaultKind::Raised,
        ..type_error(message.str())
    })
}

fn strftime_now(render: &mut Render, args: Arguments) -> Result<Value, Fault> {
    let [format] = args.bind_all(["format"])?;
    let format = text_of("strftime_now", &format)?;
    // Two characters become the longest date.
    charge(render, format.len().saturating_mul(16))?;
    let now = render.now.unwrap_or_else(Moment::now);
    made(render, now.strftime(format))
}

fn range(render: &mut Render, args: Arguments) -> Result<Value, Fault> {
    let places = args.bind(["start", "stop", "step"])?;
    let number = |value: &Option<Value>| match value {
        Some(value) => whole("range", value).map(Some),
        None => Ok(None),
    };
    let [first, second, third] = &places;
    let (start, stop) = match (number(first)?, number(second)?) {
        (Some(start), Some(stop)) => (start, stop),
        (Some(stop), None) => (0, stop),
        _ => return Err(type_error("range expected at least 1 argument, got 0")),
    };
    let step = number(third)?.unwrap_or(1);
    if step == 0 {
        return Err(type_error("range() arg 3 must not be zero"));
    }
    let distance = match step > 0 {
        true => i128::from(stop) - i128::from(start),
        false => i128::from(start) - i128::from(stop),
    };
    let size = i128::from(step.unsigned_abs());
    let count = (distance + size - 1).div_euclid(size).max(0);
    if count > i128::from(MAX_RANGE) {
        return Err(limit_error(format!(
            "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({MAX_RANGE})."
        )));
    }
    let count = i64::try_from(count).unwrap_or(0);
    charge(render, usize::try_from(count).unwrap_or(0) * ITEM)?;
    let item = |at: i64| start.saturating_add(at.saturating_mul(step));
    let items = (0..count).map(|at| Value::Int(item(at).into()));
    value::sequence(SequenceKind::Range { start, stop, step }, items.collect())
}

/// The entries that `dict(...)` and `namespace(...)` are given.
fn entries(render: &mut Render, args: Arguments) -> Result<Entries, Fault> {
    let mut entries = Entries::new();
    let name = args.name.clone();
    if args.positional.len() > 1 {
        return Err(type_error(format!("{name} expected at most 1 argument")));
    }
    for from in &args.positional {
        charge(render, weight(from))?;
        match from {
            Value::Dict(dict) => entries.extend(dict.entries.clone()),
            _ => {
                for pair in items_of(render, from)? {
                    match items_of(render, &pair)?.as_slice() {
                        [key, value] => entries.insert(Key::new(key.clone())?, value.clone()),
                        other => {
                            return Err(type_error(format!(
                                "dictionary update sequence element has length {}; 2 is required",
                                other.len()
                            )));
                        }
                    };
                }
            }
        }
    }
    let named = args.named.into_iter();
    entries.extend(named.map(|(name, value)| (Key::from(&*name), value)));
    charge(render, entries.len() * ITEM)?;
    Ok(entries)
}

fn dict(render: &mut Render, args: Arguments) -> Result<Value, Fault> {
    value::dict(entries(render, args)?)
}

/// `namespace(...)`.
fn namespace(render: &mut Render, args: Arguments) -> Result<Value, Fault> {
    let namespace = Namespace::default();
    for (key, value) in entries(render, args)? {
        charge_printing(render, key.value())?;
        namespace.set(&key.value().str(), value)?;
    }
    let namespace = Rc::new(namespace);
    keep(render, Kept::Namespace(namespace.clone()))?;
    Ok(Value::Namespace(namespace))
}
