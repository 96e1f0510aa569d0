//! Values of templates, which behave as Python's: a list is no tuple, a map keeps its
//! order, a namespace may be written to.
//!
//! Every container knows how deep it nests and how much it would print, and
//! there is a limit to both: comparing, printing and dropping recurse, and a
//! list that holds another one twice doubles what there is to print.
//!
//! A namespace may end up inside of itself, and what it will hold is not known when it is put
//! into a list. So it counts as nothing there; printing looks through it, and everything that
//! may close such a ring is emptied when the template has run ([`Kept`](super::Kept)). For
//! example, `{% set ns.self = ns %}{{ ns }}` prints `<Namespace {'self': <Namespace {...}>}>`.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use super::callable::Callable;
use super::weight::{Shape, shape_above};
use super::{Fault, type_error};
use indexmap::{Equivalent, IndexMap};

/// A value.
#[derive(Clone, Debug, Default)]
pub(crate) enum Value {
    #[default]
    Undefined,
    None,
    Bool(bool),
    /// An integer of at most 127 bits and a sign.
    Int(i128),
    Float(f64),
    Text(Text),
    Sequence(Rc<Sequence>),
    Dict(Rc<Dict>),
    Namespace(Rc<Namespace>),
    Callable(Callable),
}

/// A text: Python's `str`, or its subclass `Markup`, whose operators and methods escape what
/// they are given. All that asks for a `str` takes either.
///
/// For example, `'<b>' | safe` is markup, and `+ '<'` makes `<b>&lt;` of it.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    text: Arc<str>,
    kind: TextKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    Plain,
    /// Text that is safe to be put into HTML, because somebody said so or it was escaped.
    Markup,
}

/// The entries of a map.
pub(crate) type Entries = IndexMap<Key, Value>;

/// A value that can be the key of a map. Numbers that are equal are the same key.
#[derive(Clone, Debug)]
pub(crate) struct Key(Value);

/// The Python type that a sequence is called and printed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SequenceKind {
    List,
    Tuple,
    Range {
        start: i64,
        stop: i64,
        step: i64,
    },
    /// The result of `dict.keys()` and the like: `dict_keys` and so on.
    View(&'static str),
    /// A group of `groupby`: a key and its items, as a tuple with names.
    Group,
    /// The result of filters such as `map`.
    Generator,
}

/// A list, or what behaves like one.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) items: Vec<Value>,
    pub(crate) kind: SequenceKind,
    pub(super) shape: Shape,
    /// It is being printed: met again, it is inside of itself.
    pub(super) shown: Cell<bool>,
}

/// A map that keeps its order.
#[derive(Debug)]
pub(crate) struct Dict {
    pub(crate) entries: Entries,
    pub(super) shape: Shape,
    pub(super) shown: Cell<bool>,
}

/// The value of `namespace()`: attributes that outlive the scope they are set in.
#[derive(Debug, Default)]
pub(crate) struct Namespace {
    pub(super) entries: RefCell<IndexMap<Arc<str>, Value>>,
    pub(super) shown: Cell<bool>,
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Text {
    pub(crate) fn kind(&self) -> TextKind {
        self.kind
    }

    pub(crate) fn is_markup(&self) -> bool {
        self.kind == TextKind::Markup
    }

    /// The text that both kinds share.
    pub(crate) fn shared(&self) -> &Arc<str> {
        &self.text
    }
}

impl TextKind {
    /// A text of this kind.
    pub(crate) fn of(self, text: impl Into<Arc<str>>) -> Value {
        Value::Text(Text {
            text: text.into(),
            kind: self,
        })
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        TextKind::Plain.of(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        TextKind::Plain.of(text)
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        TextKind::Plain.of(text)
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

    /// Returns Python's name of the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined => "Undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(text) => match text.kind {
                TextKind::Plain => "str",
                TextKind::Markup => "Markup",
            },
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

    /// Returns the kind of text that results of this text have; plain for values that are no text.
    pub(crate) fn text_kind(&self) -> TextKind {
        match self {
            Value::Text(text) => text.kind,
            _ => TextKind::Plain,
        }
    }

    pub(crate) fn is_markup(&self) -> bool {
        self.text_kind() == TextKind::Markup
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
            Value::Namespace(namespace) => Rc::as_ptr(namespace).hash(state),
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
        self.entries.borrow_mut().insert(name.into(), value);
        Ok(())
    }

    /// Lets all entries go.
    pub(crate) fn empty(&self) {
        // The values that are dropped may look at the namespace.
        drop(self.entries.take());
    }
}

/// Runs with the mark set, and says whether it was set already.
pub(super) fn showing<T>(mark: &Cell<bool>, run: impl FnOnce(bool) -> T) -> T {
    let before = mark.replace(true);
    let done = run(before);
    mark.set(before);
    done
}

/// A sequence of `items`.
///
/// # Errors
///
/// It nests too deep.
pub(crate) fn sequence(kind: SequenceKind, items: Vec<Value>) -> Result<Value, Fault> {
    let shape = shape_above(items.iter())?;
    Ok(Value::Sequence(Rc::new(Sequence {
        items,
        kind,
        shape,
        shown: Cell::new(false),
    })))
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
    Ok(Value::Dict(Rc::new(Dict {
        entries,
        shape,
        shown: Cell::new(false),
    })))
}

/// Returns the values that a loop over the value visits: characters, items, keys; none if it is
/// undefined.
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

/// Returns the number of items or characters of a value; none if it has no length.
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
        (Value::Text(a), Value::Text(b)) => a.text == b.text,
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

/// Compares two numbers; none if one is no number, or not comparable.
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
        (Value::Text(a), Value::Text(b)) => return Ok(Some(a.text.cmp(&b.text))),
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
