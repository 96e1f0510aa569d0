//! What values do in a template: Python's operators, methods and printing, and
//! Jinja's filters, tests and functions on top of them.
//!
//! Sources: the Python 3.11 library reference (built-in types, the format
//! mini-language, `json`, `datetime.strftime`) and the Jinja 3.1 template
//! designer documentation.

pub(super) mod call;
pub(super) mod filters;
mod format;
mod functions;
mod json;
mod methods;
mod numbers;
mod operators;
pub(super) mod tests;
pub(super) mod text;
pub(super) mod time;
pub(super) mod value;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use minijinja::value::{Object, ObjectRepr};
use minijinja::{Environment, Error, ErrorKind, State, Value};

use self::time::Moment;

/// The name under which a rendering finds [`Render`] in its variables.
pub(super) const RENDER: &str = "__tm_render";

/// Adds everything that templates may call.
pub(super) fn install(env: &mut Environment<'static>) {
    functions::install(env);
    operators::install(env);
}

/// What one rendering has used up and noted.
#[derive(Debug)]
pub(super) struct Render {
    /// Bytes that operations may still read or make.
    work: AtomicU64,
    /// Bytes that may still be printed, in captures too.
    output: AtomicU64,
    /// Code points printed so far, outside of captures.
    pub(super) printed: AtomicUsize,
    /// Where the bodies of generation blocks stand, and what they are.
    pub(super) generated: Mutex<Vec<(usize, String)>>,
    /// What `strftime_now` takes for now; the clock if none.
    pub(super) now: Option<Moment>,
}

impl Render {
    pub(super) fn new(work: u64, output: usize, now: Option<Moment>) -> Self {
        Self {
            work: AtomicU64::new(work),
            output: AtomicU64::new(output as u64),
            printed: AtomicUsize::new(0),
            generated: Mutex::default(),
            now,
        }
    }

    /// Takes note of work.
    pub(super) fn charge(&self, bytes: u64) -> Result<(), Error> {
        let left = self.work.load(Ordering::Relaxed);
        match left.checked_sub(bytes) {
            Some(left) => {
                self.work.store(left, Ordering::Relaxed);
                Ok(())
            }
            None => Err(limit_error(
                "the template works on more text than is allowed",
            )),
        }
    }

    /// Takes note of text that is printed. What a block or a macro captures has not left
    /// the template and is text in memory all the same.
    pub(super) fn print(&self, bytes: usize) -> Result<(), Error> {
        let left = self.output.load(Ordering::Relaxed);
        match left.checked_sub(bytes as u64) {
            Some(left) => {
                self.output.store(left, Ordering::Relaxed);
                Ok(())
            }
            None => Err(limit_error(
                "the template prints and captures more text than is allowed",
            )),
        }
    }

    pub(super) fn note(&self, start: usize, body: &str) {
        let mut generated = self
            .generated
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        generated.push((start, body.to_owned()));
    }
}

impl Object for Render {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// A render-local handle, found once.
struct Handle(Option<Arc<Render>>);

/// What the rendering of this state has used up and noted.
pub(super) fn render_of(state: &mut State<'_, '_>) -> Option<Arc<Render>> {
    if let Some(handle) = state.get_extension::<Handle>() {
        return handle.0.clone();
    }
    let found = state.lookup(RENDER);
    let render = found.and_then(|value| value.downcast_object::<Render>());
    state.get_or_insert_extension(Handle(render.clone()));
    render
}

/// Takes note of work: bytes read or made.
///
/// # Errors
///
/// The limit is reached.
fn charge(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    match render_of(state) {
        Some(render) => render.charge(bytes as u64),
        None => Ok(()),
    }
}

/// What an item of a list counts as.
const ITEM: usize = 32;

/// Takes note of reading a value: text by its length, lists by their items.
fn charge_reading(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let bytes = match value::view(value) {
        value::View::Text(text) => text.len() / 8,
        value::View::Sequence(sequence) => sequence.items.len(),
        value::View::Dict(dict) => dict.entries.len(),
        _ => 0,
    };
    charge(state, bytes)
}

/// Takes note of looking at all that a value stands for, as comparing and hashing do.
fn charge_looking(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    charge(state, looking(value))
}

/// What looking at a value counts: text is looked at in one go, items one by one.
fn looking(value: &Value) -> usize {
    match value.as_str() {
        Some(text) => text.len() / 8,
        None => value::weight(value) / 2,
    }
}

/// Takes note of comparing two values, which ends with the smaller one.
fn charge_comparing(state: &mut State<'_, '_>, a: &Value, b: &Value) -> Result<(), Error> {
    charge(state, looking(a).min(looking(b)))
}

/// Takes note of printing a value: text is copied, and what is in lists and maps is quoted
/// and escaped.
fn charge_printing(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let weight = value::weight(value);
    match value.as_str() {
        Some(_) => charge(state, weight),
        None => charge(state, PRINTED_ITEM + weight.saturating_mul(4)),
    }
}

/// What a loop over the value visits, paid for before it is made.
fn items_of(state: &mut State<'_, '_>, value: &Value) -> Result<Vec<Value>, Error> {
    let bytes = match value::view(value) {
        value::View::Text(text) => {
            charge(state, text.len() / 8)?;
            text.chars().count().saturating_mul(ITEM)
        }
        value::View::Sequence(sequence) => sequence.items.len() * SHARED_ITEM,
        value::View::Dict(dict) => dict.entries.len() * SHARED_ITEM,
        _ => 0,
    };
    charge(state, bytes)?;
    value::iterate(value)
}

/// What an item counts as that is looked at and let go.
const SHARED_ITEM: usize = 16;

/// What a number counts as that is printed.
const PRINTED_ITEM: usize = 16;

/// What a list counts as beside its items.
const LIST: usize = 96;

/// A text that was made.
fn made(state: &mut State<'_, '_>, text: impl Into<String>) -> Result<Value, Error> {
    let text = text.into();
    charge(state, text.len())?;
    Ok(Value::from(text))
}

/// A list that was made.
fn made_list(state: &mut State<'_, '_>, items: Vec<Value>) -> Result<Value, Error> {
    charge(state, LIST + items.len() * ITEM)?;
    value::list(items)
}

/// The text that a template raised.
#[derive(Debug)]
pub(super) struct Raised(pub(super) String);

/// A limit was reached.
#[derive(Debug)]
pub(super) struct LimitReached;

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a limit was reached")
    }
}

impl std::error::Error for LimitReached {}

#[cold]
pub(super) fn limit_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into()).with_source(LimitReached)
}

#[cold]
fn type_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

#[cold]
fn undefined(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::UndefinedError, message.into())
}

/// Refuses an undefined value.
fn defined(value: &Value) -> Result<&Value, Error> {
    match value.is_undefined() {
        true => Err(undefined("an undefined value is used")),
        false => Ok(value),
    }
}
