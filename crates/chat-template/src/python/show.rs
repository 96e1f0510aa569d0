//! The printing of values, as Python's `repr` and `json.dumps` print them.
//!
//! For example, a list of the text `a` and nothing is printed `['a', None]`.

use std::cmp::Ordering;

use python_compat::show::{JsonError, Show, Writer};

use super::Fault;
use super::value::{Entries, Key, Sequence, SequenceKind, TextKind, Value, compare, showing};
use super::weight::{MAX_DEPTH, MAX_WEIGHT};

impl Show for Key {
    fn show(&self, to: &mut Writer<'_>) {
        self.value().show(to);
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
            Value::Text(text) => match text.kind() {
                TextKind::Plain => to.text(text),
                TextKind::Markup => to.text_of_class("Markup", text),
            },
            Value::Sequence(sequence) => sequence.show(to),
            Value::Dict(dict) => showing(&dict.shown, |again| match (again, to.sorts_keys()) {
                (true, _) => to.other("dict", "{...}"),
                (false, false) => to.dict(&dict.entries),
                (false, true) => match sorted(&dict.entries) {
                    Ok(entries) => to.dict(entries),
                    Err(error) => to.fail(JsonError::Unserializable(error.message)),
                },
            }),
            Value::Namespace(namespace) => showing(&namespace.shown, |again| {
                // Who prints has seen to it that it is not too much; messages of errors have not.
                let too_much = to.level() > MAX_DEPTH || to.written() > MAX_WEIGHT;
                match again || too_much {
                    true => to.other("Namespace", "<Namespace {...}>"),
                    false => {
                        let entries = namespace.entries.borrow();
                        let entries = entries.iter().map(|(key, value)| (&**key, value));
                        to.other_dict("Namespace", ["<Namespace ", ">"], entries);
                    }
                }
            }),
            Value::Callable(callable) => to.other("function", &callable.shown()),
        }
    }
}

impl Show for Sequence {
    fn show(&self, to: &mut Writer<'_>) {
        showing(&self.shown, |again| match again {
            false => self.show_items(to),
            true if self.kind == SequenceKind::Tuple => to.other("tuple", "(...)"),
            true => to.other("list", "[...]"),
        });
    }
}

impl Sequence {
    fn show_items(&self, to: &mut Writer<'_>) {
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
            compare(a.value(), b.value())?;
        }
    }
    entries.sort_by(|(a, _), (b, _)| {
        let order = compare(a.value(), b.value()).ok().flatten();
        order.unwrap_or(Ordering::Equal)
    });
    Ok(entries)
}
