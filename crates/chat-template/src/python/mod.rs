//! Values as templates use them: Python's operators, methods and printing, and Jinja's filters,
//! tests and functions on top of them.
//!
//! Sources: the Python 3.11 library reference (built-in types, the format
//! mini-language, `json`, `datetime.strftime`) and the Jinja 3.1 template
//! designer documentation.
//!
//! For example, `7 // 2` is `3`, `-7 // 2` is `-4`, and `1 == 1.0` is true.

pub(crate) mod callable;
pub mod exact;
pub(crate) mod filters;
mod format;
pub(crate) mod from_json;
pub(crate) mod functions;
pub(crate) mod markup;
pub(crate) mod methods;
pub(crate) mod numbers;
pub(crate) mod operators;
pub(crate) mod scope;
mod show;
pub(crate) mod text_methods;
pub(crate) mod time;
pub(crate) mod value;
pub(crate) mod weight;

use std::rc::Rc;

use self::callable::Loop;
use self::time::Moment;
use self::value::{Namespace, TextKind, Value};
use self::weight::{printed_weight, weight};

/// Why a template failed.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) message: String,
    /// The line of the innermost tag that failed, where that is known.
    pub(crate) line: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The template does something that its language does not allow.
    Failed,
    /// It said so: the message is its own.
    Raised,
    Limit,
}

impl Fault {
    #[cold]
    fn new(kind: FaultKind, message: String) -> Self {
        Self {
            kind,
            message,
            line: None,
        }
    }
}

#[cold]
pub(crate) fn limit_error(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::Limit, message.into())
}

#[cold]
pub(crate) fn type_error(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::Failed, message.into())
}

/// Refuses an undefined value.
fn defined(value: &Value) -> Result<&Value, Fault> {
    match value.is_undefined() {
        true => Err(type_error("an undefined value is used")),
        false => Ok(value),
    }
}

/// The budgets that are left to one rendering, and the facts that it may ask for.
#[derive(Debug)]
pub(crate) struct Render {
    /// Bytes that operations may still read or make.
    pub(crate) work: u64,
    /// Bytes that may still be printed, in captures too.
    pub(crate) output: u64,
    /// The time that `strftime_now` prints; the clock's if none.
    pub(crate) now: Option<Moment>,
    /// The values that are emptied in the end.
    pub(crate) kept: Vec<Kept>,
}

/// A value that can hold itself, and would never be freed then. It is emptied when the template has
/// run; until then it is kept, so that none is freed by way of another one, which would take the
/// stack for each.
#[derive(Debug)]
pub(crate) enum Kept {
    Namespace(Rc<Namespace>),
    Loop(Rc<Loop>),
}

/// The bytes that a kept value counts as, because it takes about as many with an entry or two.
const KEPT: usize = 256;

/// Keeps it until the template has run.
pub(crate) fn keep(render: &mut Render, kept: Kept) -> Result<(), Fault> {
    charge(render, KEPT)?;
    render.kept.push(kept);
    Ok(())
}

impl Render {
    /// Lets go what could hold itself.
    pub(crate) fn empty(&mut self) {
        for kept in &self.kept {
            match kept {
                Kept::Namespace(namespace) => namespace.empty(),
                Kept::Loop(own) => own.empty(),
            }
        }
    }

    /// Takes note of text that is printed. The text that a block or a macro captures has not left
    /// the template, but is in memory all the same.
    pub(crate) fn print(&mut self, bytes: usize) -> Result<(), Fault> {
        let left = self.output.checked_sub(bytes as u64);
        self.output = left.ok_or_else(|| {
            limit_error("the template prints and captures more text than is allowed")
        })?;
        Ok(())
    }
}

/// Takes note of work: bytes read or made.
///
/// # Errors
///
/// The limit is reached.
pub(crate) fn charge(render: &mut Render, bytes: usize) -> Result<(), Fault> {
    let left = render.work.checked_sub(bytes as u64);
    render.work =
        left.ok_or_else(|| limit_error("the template works on more text than is allowed"))?;
    Ok(())
}

/// The bytes that an item of a list counts as, because a value and its share of the list take that
/// many.
pub(crate) const ITEM: usize = 32;

/// Takes note of reading a value: text by its length, lists by their items.
pub(crate) fn charge_reading(render: &mut Render, value: &Value) -> Result<(), Fault> {
    let bytes = match value {
        Value::Text(text) => text.len() / 8,
        Value::Sequence(sequence) => sequence.items.len(),
        Value::Dict(dict) => dict.entries.len(),
        _ => 0,
    };
    charge(render, bytes)
}

/// Takes note of looking at all that a value stands for, as comparing and hashing do.
pub(crate) fn charge_looking(render: &mut Render, value: &Value) -> Result<(), Fault> {
    charge(render, looking(value))
}

/// Returns the work of looking at a value: text is looked at in one go, items one by one.
fn looking(value: &Value) -> usize {
    match value.as_str() {
        Some(text) => text.len() / 8,
        None => weight(value) / 2,
    }
}

/// Takes note of comparing two values, which ends with the smaller one.
fn charge_comparing(render: &mut Render, a: &Value, b: &Value) -> Result<(), Fault> {
    charge(render, looking(a).min(looking(b)))
}

/// Takes note of printing a value: text is copied, and what is in lists and maps is quoted
/// and escaped.
pub(crate) fn charge_printing(render: &mut Render, value: &Value) -> Result<(), Fault> {
    let weight = printed_weight(value)?;
    match value.as_str() {
        Some(_) => charge(render, weight),
        None => charge(render, PRINTED_ITEM + weight.saturating_mul(4)),
    }
}

/// Returns the items that a loop over the value visits, paid for before the list is made.
pub(crate) fn items_of(render: &mut Render, value: &Value) -> Result<Vec<Value>, Fault> {
    let bytes = match value {
        Value::Text(text) => {
            charge(render, text.len() / 8)?;
            text.chars().count().saturating_mul(ITEM)
        }
        Value::Sequence(sequence) => sequence.items.len() * SHARED_ITEM,
        Value::Dict(dict) => dict.entries.len() * SHARED_ITEM,
        _ => 0,
    };
    charge(render, bytes)?;
    value::iterate(value)
}

/// The bytes that an item counts as that is looked at and let go, because nothing is kept of it.
const SHARED_ITEM: usize = 16;

/// The bytes that a printed number counts as, because most have fewer digits.
const PRINTED_ITEM: usize = 16;

/// The bytes that a list counts as beside its items, because it is counted and shared.
const LIST: usize = 96;

/// A text that was made.
fn made(render: &mut Render, text: impl Into<String>) -> Result<Value, Fault> {
    made_of(render, TextKind::Plain, text)
}

/// A text of that kind that was made.
fn made_of(render: &mut Render, kind: TextKind, text: impl Into<String>) -> Result<Value, Fault> {
    let text = text.into();
    charge(render, text.len())?;
    Ok(kind.of(text))
}

/// A generator of the items, paid for.
fn generator(render: &mut Render, items: Vec<Value>) -> Result<Value, Fault> {
    charge(render, items.len() * ITEM)?;
    value::sequence(value::SequenceKind::Generator, items)
}

/// A list that was made.
fn made_list(render: &mut Render, items: Vec<Value>) -> Result<Value, Fault> {
    charge(render, LIST + items.len() * ITEM)?;
    value::list(items)
}
