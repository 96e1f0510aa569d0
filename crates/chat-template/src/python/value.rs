//! Containers that behave as Python's: a list is no tuple, a map keeps its
//! order, a namespace may be written to.
//!
//! Every container knows how deep it nests and how much it would print, and
//! there is a limit to both: comparing, printing and dropping recurse, and a
//! list that holds another one twice doubles what there is to print.

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use minijinja::value::{Enumerator, Object, ObjectRepr, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};
use serde_json::Value as Json;

use super::{call, limit_error};

/// Most levels of lists and maps inside each other.
pub(crate) const MAX_DEPTH: usize = 128;

/// Most bytes that a list or map may stand for, each text in it counted as often
/// as it occurs.
pub(crate) const MAX_WEIGHT: usize = 64 << 20;

/// How large a value is, unfolded.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    depth: usize,
    weight: usize,
}

/// What a sequence is called and printed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SequenceKind {
    List,
    Tuple,
    Range {
        start: i64,
        stop: i64,
        step: i64,
    },
    /// What `dict.keys()` and the like return: `dict_keys` and so on.
    View(&'static str),
    /// What `groupby` makes: a key and its items, as a tuple with names.
    Group,
    /// What filters such as `map` return.
    Generator,
}

/// A list, or what behaves like one.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) items: Vec<Value>,
    pub(crate) kind: SequenceKind,
    shape: Shape,
}

/// A map that keeps its order.
#[derive(Debug)]
pub(crate) struct Dict {
    pub(crate) entries: IndexMap<Value, Value>,
    shape: Shape,
}

/// What `namespace()` makes: attributes that outlive the scope they are set in.
#[derive(Debug, Default)]
pub(crate) struct Namespace {
    entries: Mutex<IndexMap<String, Value>>,
}

/// A method that is not called, which nothing but tests can use.
#[derive(Debug)]
pub(crate) struct Method {
    name: String,
    receiver: Value,
}

impl Object for Sequence {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.items.get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.items.len())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.kind == SequenceKind::Generator || !self.items.is_empty()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::text::repr(&Value::from_dyn_object(self.clone())))
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.entries.get(key).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.entries.keys().cloned().collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.entries.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::text::repr(&Value::from_dyn_object(self.clone())))
    }
}

impl Object for Namespace {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get(key.as_str()?)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::text::repr(&Value::from_dyn_object(self.clone())))
    }
}

impl Namespace {
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(name).cloned()
    }

    pub(crate) fn entries(&self) -> IndexMap<String, Value> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.clone()
    }

    pub(crate) fn set(&self, name: &str, value: Value) -> Result<(), Error> {
        if name.starts_with('_') {
            let message = format!("a namespace has no place for '{name}'");
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
        // A namespace inside of itself would never be freed.
        shape_of(&value).ok_or_else(too_deep)?;
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.insert(name.to_owned(), value);
        Ok(())
    }
}

impl Object for Method {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        call::method(state, "the value", &self.receiver, &self.name, args)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = type_name(&self.receiver);
        write!(f, "<built-in method {} of {kind} object>", self.name)
    }
}

/// A method of `receiver` as a value.
pub(crate) fn method(name: &str, receiver: &Value) -> Value {
    Value::from_object(Method {
        name: name.to_owned(),
        receiver: receiver.clone(),
    })
}

#[cold]
fn too_deep() -> Error {
    limit_error(format!(
        "a list or map nests deeper than {MAX_DEPTH} levels, or holds a namespace"
    ))
}

/// How large a value is; none for what may not be put into a container.
fn shape_of(value: &Value) -> Option<Shape> {
    if let Some(text) = value.as_str() {
        let weight = text.len();
        return Some(Shape { depth: 0, weight });
    }
    let Some(object) = value.as_object() else {
        return Some(Shape::default());
    };
    if let Some(sequence) = object.downcast_ref::<Sequence>() {
        return Some(sequence.shape);
    }
    if let Some(dict) = object.downcast_ref::<Dict>() {
        return Some(dict.shape);
    }
    let other = !object.is::<Namespace>() && !object.is::<Method>();
    other.then(Shape::default)
}

fn shape_above<'v>(items: impl Iterator<Item = &'v Value>) -> Result<Shape, Error> {
    let mut above = Shape::default();
    for item in items {
        let shape = shape_of(item).ok_or_else(too_deep)?;
        above.depth = above.depth.max(shape.depth);
        above.weight = above.weight.saturating_add(shape.weight + 16);
    }
    if above.depth >= MAX_DEPTH {
        return Err(too_deep());
    }
    if above.weight > MAX_WEIGHT {
        return Err(limit_error(format!(
            "a list or map stands for more than {MAX_WEIGHT} bytes"
        )));
    }
    above.depth += 1;
    Ok(above)
}

/// How many bytes printing the value takes, about.
pub(crate) fn weight(value: &Value) -> usize {
    shape_of(value).unwrap_or_default().weight
}

/// A sequence of `items`.
///
/// # Errors
///
/// It nests too deep.
pub(crate) fn sequence(kind: SequenceKind, items: Vec<Value>) -> Result<Value, Error> {
    let shape = shape_above(items.iter())?;
    Ok(Value::from_object(Sequence { items, kind, shape }))
}

pub(crate) fn list(items: Vec<Value>) -> Result<Value, Error> {
    sequence(SequenceKind::List, items)
}

pub(crate) fn tuple(items: Vec<Value>) -> Result<Value, Error> {
    sequence(SequenceKind::Tuple, items)
}

pub(crate) fn dict(entries: IndexMap<Value, Value>) -> Result<Value, Error> {
    let shape = shape_above(entries.iter().flat_map(|(key, value)| [key, value]))?;
    Ok(Value::from_object(Dict { entries, shape }))
}

/// A JSON value as the template sees it.
///
/// # Errors
///
/// It nests too deep.
pub(crate) fn from_json(json: &Json) -> Result<Value, Error> {
    convert(json, MAX_DEPTH)
}

fn convert(json: &Json, levels: usize) -> Result<Value, Error> {
    if levels == 0 {
        return Err(too_deep());
    }
    Ok(match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::from(value),
            (None, Some(value)) => Value::from(value),
            (None, None) => Value::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => {
            let items: Result<_, _> = items.iter().map(|item| convert(item, levels - 1)).collect();
            list(items?)?
        }
        Json::Object(entries) => {
            let entries: Result<IndexMap<_, _>, Error> = entries
                .iter()
                .map(|(key, value)| Ok((Value::from(key.as_str()), convert(value, levels - 1)?)))
                .collect();
            dict(entries?)?
        }
    })
}

/// A value, taken apart.
pub(crate) enum View<'v> {
    Undefined,
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(&'v str),
    Sequence(&'v Sequence),
    Dict(&'v Dict),
    Namespace(&'v Namespace),
    /// A macro, a loop, a function.
    Other,
}

/// Takes a value apart.
pub(crate) fn view(value: &Value) -> View<'_> {
    match value.kind() {
        ValueKind::Undefined => View::Undefined,
        ValueKind::None => View::None,
        ValueKind::Bool => View::Bool(value.is_true()),
        ValueKind::Number => match value.is_integer() {
            true => match i128::try_from(value.clone()) {
                Ok(value) => View::Int(value),
                Err(_) => View::Float(f64::try_from(value.clone()).unwrap_or(f64::INFINITY)),
            },
            false => View::Float(f64::try_from(value.clone()).unwrap_or(f64::NAN)),
        },
        ValueKind::String => View::Text(value.as_str().unwrap_or_default()),
        _ => {
            let Some(object) = value.as_object() else {
                return View::Other;
            };
            if let Some(sequence) = object.downcast_ref::<Sequence>() {
                return View::Sequence(sequence);
            }
            if let Some(dict) = object.downcast_ref::<Dict>() {
                return View::Dict(dict);
            }
            match object.downcast_ref::<Namespace>() {
                Some(namespace) => View::Namespace(namespace),
                None => View::Other,
            }
        }
    }
}

/// What Python calls the type of a value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match view(value) {
        View::Undefined => "Undefined",
        View::None => "NoneType",
        View::Bool(_) => "bool",
        View::Int(_) => "int",
        View::Float(_) => "float",
        View::Text(_) => "str",
        View::Sequence(sequence) => match sequence.kind {
            SequenceKind::List => "list",
            SequenceKind::Tuple | SequenceKind::Group => "tuple",
            SequenceKind::Range { .. } => "range",
            SequenceKind::View(name) => name,
            SequenceKind::Generator => "generator",
        },
        View::Dict(_) => "dict",
        View::Namespace(_) => "Namespace",
        View::Other => "object",
    }
}

/// The number that a value is, a truth value included.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    match view(value) {
        View::Bool(value) => Some(i128::from(value)),
        View::Int(value) => Some(value),
        _ => None,
    }
}

/// What a loop over the value visits: characters, items, keys, nothing for
/// what is undefined.
///
/// # Errors
///
/// Python cannot loop over it.
pub(crate) fn iterate(value: &Value) -> Result<Vec<Value>, Error> {
    Ok(match view(value) {
        View::Undefined => Vec::new(),
        View::Text(text) => characters(text),
        View::Sequence(sequence) => sequence.items.clone(),
        View::Dict(dict) => dict.entries.keys().cloned().collect(),
        _ => {
            let message = format!("'{}' object is not iterable", type_name(value));
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
    })
}

pub(crate) fn characters(text: &str) -> Vec<Value> {
    let mut buffer = [0; 4];
    let character = |c: char| Value::from(&*c.encode_utf8(&mut buffer));
    text.chars().map(character).collect()
}

/// How many items or characters a value has; none for what has no length.
pub(crate) fn length(value: &Value) -> Option<usize> {
    match view(value) {
        View::Undefined => Some(0),
        View::Text(text) => Some(text.chars().count()),
        View::Sequence(s) if s.kind != SequenceKind::Generator => Some(s.items.len()),
        View::Dict(dict) => Some(dict.entries.len()),
        _ => None,
    }
}

/// Python's `==`.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (view(a), view(b)) {
        (View::Undefined, View::Undefined) | (View::None, View::None) => true,
        (View::Text(a), View::Text(b)) => a == b,
        (View::Sequence(a), View::Sequence(b)) => {
            let same_type = match (a.kind, b.kind) {
                (SequenceKind::Range { .. }, SequenceKind::Range { .. }) => true,
                (a, b) => a == b,
            };
            same_type
                && a.items.len() == b.items.len()
                && a.items.iter().zip(&b.items).all(|(a, b)| equal(a, b))
        }
        (View::Dict(a), View::Dict(b)) => {
            a.entries.len() == b.entries.len()
                && a.entries
                    .iter()
                    .all(|(key, a)| b.entries.get(key).is_some_and(|b| equal(a, b)))
        }
        (View::Other | View::Namespace(_), View::Other | View::Namespace(_)) => a == b,
        _ => numbers(a, b) == Some(Ordering::Equal),
    }
}

/// How two numbers compare; none if one is no number, or not comparable.
fn numbers(a: &Value, b: &Value) -> Option<Ordering> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => float(a)?.partial_cmp(&float(b)?),
    }
}

/// The number that a value is, as a float.
pub(crate) fn float(value: &Value) -> Option<f64> {
    match view(value) {
        View::Float(value) => Some(value),
        _ => integer(value).map(|value| value as f64),
    }
}

/// Python's `<` and its kin; none where neither is less nor both equal, as
/// with a NaN.
///
/// # Errors
///
/// Python does not order such values.
pub(crate) fn compare(a: &Value, b: &Value) -> Result<Option<Ordering>, Error> {
    match (view(a), view(b)) {
        (View::Text(a), View::Text(b)) => return Ok(Some(a.cmp(b))),
        (View::Sequence(s), View::Sequence(t))
            if s.kind == t.kind && matches!(s.kind, SequenceKind::List | SequenceKind::Tuple) =>
        {
            for (a, b) in s.items.iter().zip(&t.items) {
                if !equal(a, b) {
                    return compare(a, b);
                }
            }
            return Ok(Some(s.items.len().cmp(&t.items.len())));
        }
        _ if float(a).is_some() && float(b).is_some() => return Ok(numbers(a, b)),
        _ => {}
    }
    let message = format!(
        "'<' not supported between instances of '{}' and '{}'",
        type_name(a),
        type_name(b)
    );
    Err(Error::new(ErrorKind::InvalidOperation, message))
}
