//! What templates can call by name.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use indexmap::IndexMap;
use minijinja::value::{Object, ObjectRepr};
use minijinja::{Environment, Error, State, Value};

use super::call::{Arguments, Function, Native, text as text_of, whole};
use super::text::str;
use super::value::{self, Namespace, SequenceKind, View, view};
use super::{
    ITEM, Raised, charge, items_of, limit_error, methods, render_of, time::Moment, type_error,
};

/// Longest `range`, as in Jinja's sandbox.
const MAX_RANGE: i64 = 100_000;

/// Adds the functions.
pub(super) fn install(env: &mut Environment<'static>) {
    let all: [(&'static str, Native); 7] = [
        ("raise_exception", raise_exception),
        ("strftime_now", strftime_now),
        ("range", range),
        ("dict", |state, args| dict(state, args)),
        ("namespace", |state, args| namespace(state, args)),
        ("joiner", |_, args| joiner(args)),
        ("cycler", |_, args| cycler(args)),
    ];
    for (name, native) in all {
        env.add_global(name, Value::from_object(Function { name, native }));
    }
}

/// An attribute of a function, such as `dict.fromkeys`.
pub(super) fn attribute(function: &str, name: &str) -> Option<Value> {
    (function == "dict" && name == "fromkeys").then(|| {
        Value::from_object(Function {
            name: "fromkeys",
            native: |state, args| methods::from_keys(state, args),
        })
    })
}

fn raise_exception(state: &mut State<'_, '_>, args: Arguments) -> Result<Value, Error> {
    let [message] = args.bind_all(["message"])?;
    super::charge_printing(state, &message)?;
    let text = str(&message);
    Err(type_error(text.clone()).with_source(Raised(text)))
}

fn strftime_now(state: &mut State<'_, '_>, args: Arguments) -> Result<Value, Error> {
    let [format] = args.bind_all(["format"])?;
    let format = text_of("strftime_now", &format)?;
    // Two characters become the longest date.
    charge(state, format.len().saturating_mul(16))?;
    let now = render_of(state).and_then(|render| render.now);
    let text = now.unwrap_or_else(Moment::now).strftime(format);
    super::made(state, text)
}

fn range(state: &mut State<'_, '_>, args: Arguments) -> Result<Value, Error> {
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
    charge(state, usize::try_from(count).unwrap_or(0) * ITEM)?;
    let items = (0..count).map(|at| Value::from(start.saturating_add(at.saturating_mul(step))));
    value::sequence(SequenceKind::Range { start, stop, step }, items.collect())
}

/// The entries that `dict(...)` and `namespace(...)` are given.
fn entries(state: &mut State<'_, '_>, args: Arguments) -> Result<IndexMap<Value, Value>, Error> {
    let mut entries = IndexMap::new();
    let name = args.name.clone();
    if args.positional.len() > 1 {
        return Err(type_error(format!("{name} expected at most 1 argument")));
    }
    for from in &args.positional {
        charge(state, value::weight(from))?;
        match view(from) {
            View::Dict(dict) => entries.extend(dict.entries.clone()),
            _ => {
                for pair in items_of(state, from)? {
                    match items_of(state, &pair)?.as_slice() {
                        [key, value] => entries.insert(key.clone(), value.clone()),
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
    entries.extend(named.map(|(name, value)| (Value::from(name), value)));
    charge(state, entries.len() * ITEM)?;
    Ok(entries)
}

fn dict(state: &mut State<'_, '_>, args: Arguments) -> Result<Value, Error> {
    value::dict(entries(state, args)?)
}

/// `namespace(...)`.
pub(super) fn namespace(state: &mut State<'_, '_>, args: Arguments) -> Result<Value, Error> {
    let namespace = Namespace::default();
    for (key, value) in entries(state, args)? {
        namespace.set(&str(&key), value)?;
    }
    Ok(Value::from_object(namespace))
}

/// Prints nothing the first time and its separator later.
struct Joiner {
    separator: Value,
    used: AtomicUsize,
}

impl fmt::Debug for Joiner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<joiner>")
    }
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, _: &[Value]) -> Result<Value, Error> {
        Ok(match self.used.swap(1, Ordering::Relaxed) {
            0 => Value::from(""),
            _ => self.separator.clone(),
        })
    }
}

fn joiner(args: Arguments) -> Result<Value, Error> {
    let [separator] = args.bind(["sep"])?;
    Ok(Value::from_object(Joiner {
        separator: separator.unwrap_or_else(|| Value::from(", ")),
        used: AtomicUsize::new(0),
    }))
}

/// Hands out its items in turn.
struct Cycler {
    items: Vec<Value>,
    at: AtomicUsize,
}

impl fmt::Debug for Cycler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<cycler>")
    }
}

impl Cycler {
    fn current(&self) -> Value {
        let at = self.at.load(Ordering::Relaxed) % self.items.len().max(1);
        self.items.get(at).cloned().unwrap_or_default()
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str() == Some("current")).then(|| self.current())
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        method: &str,
        _: &[Value],
    ) -> Result<Value, Error> {
        match method {
            "next" => {
                let current = self.current();
                self.at.fetch_add(1, Ordering::Relaxed);
                Ok(current)
            }
            "reset" => {
                self.at.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(type_error(format!("a cycler has no method '{method}'"))),
        }
    }
}

fn cycler(args: Arguments) -> Result<Value, Error> {
    if args.positional.is_empty() {
        return Err(type_error("at least one item has to be provided"));
    }
    Ok(Value::from_object(Cycler {
        items: args.positional,
        at: AtomicUsize::new(0),
    }))
}
