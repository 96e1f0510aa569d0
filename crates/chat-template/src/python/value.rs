//! Values of templates, which behave as Python's: a list is no tuple, a map keeps its
//! order, a namespace may be written to.
//!
//! Every container knows how deep it nests and how much it would print, and
//! there is a limit to both: comparing, printing and dropping recurse, and a
//! list that holds another one twice doubles what there is to print.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use indexmap::{Equivalent, IndexMap};
use python_compat::show::{JsonError, Show, Writer};
use serde_json::Value as Json;

use super::callable::{Callable, Kept};
use super::{Fault, limit_error, type_error};

/// Most levels of lists and maps inside each other.
pub(crate) const MAX_DEPTH: usize = 128;

/// Most bytes that a list or map may stand for, each text in it counted as often
/// as it occurs.
pub(crate) const MAX_WEIGHT: usize = 64 << 20;

/// A value.
#[derive(Clone, Debug, Default)]
pub(crate) enum Value {
    #[default]
    Undefined,
    None,
    Bool(bool),
    /// Of at most 127 bits and a sign.
    Int(i128),
    Float(f64),
    Text(Arc<str>),
    Sequence(Rc<Sequence>),
    Dict(Rc<Dict>),
    Namespace(Rc<Namespace>),
    Callable(Callable),
}

/// The entries of a map.
pub(crate) type Entries = IndexMap<Key, Value>;

/// A value that can be the key of a map. Numbers that are equal are the same key.
#[derive(Clone, Debug)]
pub(crate) struct Key(Value);

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
    pub(crate) entries: Entries,
    shape: Shape,
}

/// What `namespace()` makes: attributes that outlive the scope they are set in.
#[derive(Debug, Default)]
pub(crate) struct Namespace {
    entries: RefCell<IndexMap<Arc<str>, Value>>,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text.into())
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Value::Text(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i128> for Value {
    fn from(value: i128) -> Self {
        Value::Int(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Value::Int(value as i128)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl Value {
    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined)
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Value::None)
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Python's `bool()`.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Value::Undefined | Value::None => false,
            Value::Bool(value) => *value,
            Value::Int(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::Sequence(s) => s.kind == SequenceKind::Generator || !s.items.is_empty(),
            Value::Dict(dict) => !dict.entries.is_empty(),
            Value::Namespace(_) | Value::Callable(_) => true,
        }
    }

    /// What Python calls the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined => "Undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(_) => "str",
            Value::Sequence(sequence) => match sequence.kind {
                SequenceKind::List => "list",
                SequenceKind::Tuple | SequenceKind::Group => "tuple",
                SequenceKind::Range { .. } => "range",
                SequenceKind::View(name) => name,
                SequenceKind::Generator => "generator",
            },
            Value::Dict(_) => "dict",
            Value::Namespace(_) => "Namespace",
            Value::Callable(_) => "object",
        }
    }

    /// The number that this is, a truth value included.
    pub(crate) fn integer(&self) -> Option<i128> {
        match self {
            Value::Bool(value) => Some(i128::from(*value)),
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The number that this is, as a float.
    pub(crate) fn float(&self) -> Option<f64> {
        match self {
            Value::Float(value) => Some(*value),
            other => other.integer().map(|value| value as f64),
        }
    }

    /// Python's `str()`.
    pub(crate) fn str(&self) -> String {
        match self {
            Value::Undefined => String::new(),
            Value::Text(text) => text.to_string(),
            other => python_compat::repr(other),
        }
    }
}

impl Key {
    /// # Errors
    ///
    /// It is a list or a map.
    pub(crate) fn new(value: Value) -> Result<Self, Fault> {
        match &value {
            Value::Dict(_) => Err(type_error("unhashable type: 'dict'")),
            Value::Sequence(s) => match s.kind {
                SequenceKind::List => Err(type_error("unhashable type: 'list'")),
                SequenceKind::Tuple | SequenceKind::Group => {
                    for item in &s.items {
                        Key::new(item.clone())?;
                    }
                    Ok(Key(value))
                }
                _ => Ok(Key(value)),
            },
            _ => Ok(Key(value)),
        }
    }

    pub(crate) fn value(&self) -> &Value {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Key(Value::from(text))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        equal(&self.0, &other.0)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            // As `str` does, so that a map is asked without making a key.
            Value::Text(text) => text.hash(state),
            Value::Float(number) if number.fract() == 0.0 && number.abs() < 1.7e38 => {
                (*number as i128).hash(state);
            }
            Value::Float(number) => number.to_bits().hash(state),
            Value::Sequence(sequence) => {
                for item in &sequence.items {
                    Key(item.clone()).hash(state);
                }
            }
            Value::Callable(callable) => callable.address().hash(state),
            other => other.integer().unwrap_or(-1).hash(state),
        }
    }
}

impl Equivalent<Key> for str {
    fn equivalent(&self, key: &Key) -> bool {
        key.0.as_str() == Some(self)
    }
}

impl Dict {
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.entries.get(name)
    }

    /// The entry under a value; none if it can be no key.
    pub(crate) fn find(&self, key: &Value) -> Option<&Value> {
        match key {
            Value::Text(text) => self.entries.get(&**text),
            other => self.entries.get(&Key::new(other.clone()).ok()?),
        }
    }
}

impl Namespace {
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        self.entries.borrow().get(name).cloned()
    }

    pub(crate) fn set(&self, name: &str, value: Value) -> Result<(), Fault> {
        if name.starts_with('_') {
            let message = format!("a namespace has no place for '{name}'");
            return Err(type_error(message));
        }
        // A namespace inside of itself would never be freed.
        shape_of(&value).ok_or_else(too_deep)?;
        self.entries.borrow_mut().insert(name.into(), value);
        Ok(())
    }
}

#[cold]
fn too_deep() -> Fault {
    limit_error(format!(
        "a list or map nests deeper than {MAX_DEPTH} levels, or holds a namespace"
    ))
}

/// How large a value is; none for what may not be put into a container.
fn shape_of(value: &Value) -> Option<Shape> {
    match value {
        Value::Text(text) => Some(Shape {
            depth: 0,
            weight: text.len(),
        }),
        Value::Sequence(sequence) => Some(sequence.shape),
        Value::Dict(dict) => Some(dict.shape),
        Value::Namespace(_) => None,
        Value::Callable(callable) => match callable.kept() {
            Kept::Freely => Some(Shape::default()),
            Kept::As(items) => shape_of(items),
            Kept::Never => None,
        },
        _ => Some(Shape::default()),
    }
}

fn shape_above<'v>(items: impl Iterator<Item = &'v Value>) -> Result<Shape, Fault> {
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
pub(crate) fn sequence(kind: SequenceKind, items: Vec<Value>) -> Result<Value, Fault> {
    let shape = shape_above(items.iter())?;
    Ok(Value::Sequence(Rc::new(Sequence { items, kind, shape })))
}

pub(crate) fn list(items: Vec<Value>) -> Result<Value, Fault> {
    sequence(SequenceKind::List, items)
}

pub(crate) fn tuple(items: Vec<Value>) -> Result<Value, Fault> {
    sequence(SequenceKind::Tuple, items)
}

pub(crate) fn dict(entries: Entries) -> Result<Value, Fault> {
    let all = entries.iter().flat_map(|(key, value)| [&key.0, value]);
    let shape = shape_above(all)?;
    Ok(Value::Dict(Rc::new(Dict { entries, shape })))
}

/// A JSON value as the template sees it.
///
/// # Errors
///
/// It nests too deep.
pub(crate) fn from_json(json: &Json) -> Result<Value, Fault> {
    convert(json, MAX_DEPTH)
}

fn convert(json: &Json, levels: usize) -> Result<Value, Fault> {
    if levels == 0 {
        return Err(too_deep());
    }
    Ok(match json {
        Json::Null => Value::None,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::Int(value.into()),
            (None, Some(value)) => Value::Int(value.into()),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => {
            let items: Result<_, _> = items.iter().map(|item| convert(item, levels - 1)).collect();
            list(items?)?
        }
        Json::Object(entries) => {
            let entries: Result<Entries, Fault> = entries
                .iter()
                .map(|(key, value)| Ok((Key::from(key.as_str()), convert(value, levels - 1)?)))
                .collect();
            dict(entries?)?
        }
    })
}

/// What a loop over the value visits: characters, items, keys, nothing for
/// what is undefined.
///
/// # Errors
///
/// Python cannot loop over it.
pub(crate) fn iterate(value: &Value) -> Result<Vec<Value>, Fault> {
    Ok(match value {
        Value::Undefined => Vec::new(),
        Value::Text(text) => characters(text),
        Value::Sequence(sequence) => sequence.items.clone(),
        Value::Dict(dict) => dict.entries.keys().map(|key| key.0.clone()).collect(),
        _ => {
            let message = format!("'{}' object is not iterable", value.type_name());
            return Err(type_error(message));
        }
    })
}

fn characters(text: &str) -> Vec<Value> {
    let mut buffer = [0; 4];
    let character = |c: char| Value::from(&*c.encode_utf8(&mut buffer));
    text.chars().map(character).collect()
}

/// How many items or characters a value has; none for what has no length.
pub(crate) fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Undefined => Some(0),
        Value::Text(text) => Some(text.chars().count()),
        Value::Sequence(s) if s.kind != SequenceKind::Generator => Some(s.items.len()),
        Value::Dict(dict) => Some(dict.entries.len()),
        Value::Callable(Callable::Loop(own)) => Some(own.items.len()),
        _ => None,
    }
}

/// Python's `==`.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Undefined, Value::Undefined) | (Value::None, Value::None) => true,
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Sequence(a), Value::Sequence(b)) => {
            let same_type = match (a.kind, b.kind) {
                (SequenceKind::Range { .. }, SequenceKind::Range { .. }) => true,
                (SequenceKind::Tuple | SequenceKind::Group, SequenceKind::Group)
                | (SequenceKind::Group, SequenceKind::Tuple) => true,
                (SequenceKind::Generator, _) => return Rc::ptr_eq(a, b),
                (a, b) => a == b,
            };
            same_type
                && a.items.len() == b.items.len()
                && a.items.iter().zip(&b.items).all(|(a, b)| equal(a, b))
        }
        (Value::Dict(a), Value::Dict(b)) => {
            a.entries.len() == b.entries.len()
                && a.entries
                    .iter()
                    .all(|(key, a)| b.entries.get(key).is_some_and(|b| equal(a, b)))
        }
        (Value::Namespace(a), Value::Namespace(b)) => Rc::ptr_eq(a, b),
        (Value::Callable(a), Value::Callable(b)) => a.is(b),
        _ => numbers(a, b) == Some(Ordering::Equal),
    }
}

/// How two numbers compare; none if one is no number, or not comparable.
fn numbers(a: &Value, b: &Value) -> Option<Ordering> {
    match (a.integer(), b.integer()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.float()?.partial_cmp(&b.float()?),
    }
}

/// Python's `<` and its kin; none where neither is less nor both equal, as
/// with a NaN.
///
/// # Errors
///
/// Python does not order such values.
pub(crate) fn compare(a: &Value, b: &Value) -> Result<Option<Ordering>, Fault> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => return Ok(Some(a.cmp(b))),
        (Value::Sequence(s), Value::Sequence(t))
            if s.kind == t.kind && matches!(s.kind, SequenceKind::List | SequenceKind::Tuple) =>
        {
            for (a, b) in s.items.iter().zip(&t.items) {
                if !equal(a, b) {
                    return compare(a, b);
                }
            }
            return Ok(Some(s.items.len().cmp(&t.items.len())));
        }
        _ if a.float().is_some() && b.float().is_some() => return Ok(numbers(a, b)),
        _ => {}
    }
    let message = format!(
        "'<' not supported between instances of '{}' and '{}'",
        a.type_name(),
        b.type_name()
    );
    Err(type_error(message))
}

impl Show for Key {
    fn show(&self, to: &mut Writer<'_>) {
        self.0.show(to);
    }
}

impl Show for Value {
    fn show(&self, to: &mut Writer<'_>) {
        match self {
            Value::Undefined => to.other("Undefined", "Undefined"),
            Value::None => to.none(),
            Value::Bool(value) => to.bool(*value),
            Value::Int(value) => to.integer(value),
            Value::Float(value) => to.float(*value),
            Value::Text(text) => to.text(text),
            Value::Sequence(sequence) => sequence.show(to),
            Value::Dict(dict) => match to.sorts_keys() {
                false => to.dict(&dict.entries),
                true => match sorted(&dict.entries) {
                    Ok(entries) => to.dict(entries),
                    Err(error) => to.fail(JsonError::Unserializable(error.message)),
                },
            },
            Value::Namespace(namespace) => {
                let inner = Inner(namespace);
                to.other(
                    "Namespace",
                    &format!("<Namespace {}>", python_compat::repr(&inner)),
                );
            }
            Value::Callable(callable) => to.other("function", &callable.shown()),
        }
    }
}

/// The entries of a namespace.
struct Inner<'v>(&'v Namespace);

impl Show for Inner<'_> {
    fn show(&self, to: &mut Writer<'_>) {
        to.dict(
            self.0
                .entries
                .borrow()
                .iter()
                .map(|(key, value)| (&**key, value)),
        );
    }
}

impl Show for Sequence {
    fn show(&self, to: &mut Writer<'_>) {
        match self.kind {
            SequenceKind::List => to.list(&self.items),
            SequenceKind::Tuple | SequenceKind::Group => to.tuple(&self.items),
            SequenceKind::View(name) => {
                let items = python_compat::repr(&Listed(&self.items));
                to.other(name, &format!("{name}({items})"));
            }
            SequenceKind::Generator => to.other("generator", "<generator object>"),
            SequenceKind::Range { start, stop, step } => {
                let text = match step {
                    1 => format!("range({start}, {stop})"),
                    _ => format!("range({start}, {stop}, {step})"),
                };
                to.other("range", &text);
            }
        }
    }
}

/// Items as a list has them.
struct Listed<'v>(&'v [Value]);

impl Show for Listed<'_> {
    fn show(&self, to: &mut Writer<'_>) {
        to.list(self.0);
    }
}

/// Entries by their keys.
fn sorted(entries: &Entries) -> Result<Vec<(&Key, &Value)>, Fault> {
    let mut entries: Vec<(&Key, &Value)> = entries.iter().collect();
    for pair in entries.windows(2) {
        if let [(a, _), (b, _)] = pair {
            compare(&a.0, &b.0)?;
        }
    }
    entries.sort_by(|(a, _), (b, _)| {
        let order = compare(&a.0, &b.0).ok().flatten();
        order.unwrap_or(Ordering::Equal)
    });
    Ok(entries)
}
