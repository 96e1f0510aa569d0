//! The size of values: how deep they nest, and how much they would print.
//!
//! For example, a list of two texts of 100 bytes weighs 232 bytes, and one that holds this list
//! twice weighs twice as much and a little more.

use super::callable::Callable;
use super::value::{Value, showing};
use super::{Fault, limit_error};

/// The most levels of lists and maps inside each other, because values are printed and dropped by
/// calls as deep.
pub(crate) const MAX_DEPTH: usize = 128;

/// Most bytes that a list or map may stand for, each text in it counted as often
/// as it occurs.
pub(crate) const MAX_WEIGHT: usize = 64 << 20;

/// The size of a value, unfolded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    depth: usize,
    weight: usize,
    /// It holds what may change and hold it: a namespace or a loop.
    pub(crate) open: bool,
}

#[cold]
pub(super) fn too_deep() -> Fault {
    limit_error(format!(
        "a list or map nests deeper than {MAX_DEPTH} levels"
    ))
}

/// Returns the size of a value.
fn shape_of(value: &Value) -> Result<Shape, Fault> {
    let open = Shape {
        open: true,
        ..Shape::default()
    };
    Ok(match value {
        Value::Text(text) => Shape {
            weight: text.len(),
            ..Shape::default()
        },
        Value::Sequence(sequence) => sequence.shape,
        Value::Dict(dict) => dict.shape,
        Value::Namespace(_) => open,
        Value::Callable(callable) => match callable {
            Callable::Function(_) | Callable::Macro(_) => Shape::default(),
            Callable::Cycler(cycler) => shape_of(cycler.items())?,
            Callable::Joiner(joiner) => shape_of(joiner.separator())?,
            Callable::Method(method) => shape_above([&method.receiver].into_iter())?,
            Callable::Loop(own) => Shape {
                open: true,
                ..own.shape()?
            },
        },
        _ => Shape::default(),
    })
}

/// Returns the size of a list of items.
///
/// # Errors
///
/// It nests too deep, or stands for too much.
pub(crate) fn shape_above<'v>(items: impl Iterator<Item = &'v Value>) -> Result<Shape, Fault> {
    let mut above = Shape::default();
    for item in items {
        let shape = shape_of(item)?;
        above.depth = above.depth.max(shape.depth);
        above.weight = above.weight.saturating_add(shape.weight + 16);
        above.open |= shape.open;
    }
    if above.depth >= MAX_DEPTH {
        return Err(too_deep());
    }
    if above.weight > MAX_WEIGHT {
        return Err(too_heavy());
    }
    above.depth += 1;
    Ok(above)
}

#[cold]
fn too_heavy() -> Fault {
    limit_error(format!(
        "a list or map stands for more than {MAX_WEIGHT} bytes"
    ))
}

/// Returns the number of bytes that looking at the value takes, about. The values in namespaces are
/// not looked at.
pub(crate) fn weight(value: &Value) -> usize {
    shape_of(value).unwrap_or_default().weight
}

/// Tells whether it holds what may change and hold it.
pub(crate) fn is_open(value: &Value) -> bool {
    shape_of(value).unwrap_or_default().open
}

/// Returns the number of bytes that printing the value takes, about, that of namespaces included.
///
/// # Errors
///
/// It nests too deep by way of namespaces, or would print too much.
pub(crate) fn printed_weight(value: &Value) -> Result<usize, Fault> {
    let mut sum = 0;
    match is_open(value) {
        true => weigh(value, MAX_DEPTH, &mut sum).map(|()| sum),
        false => Ok(weight(value)),
    }
}

/// Adds what printing the value takes.
fn weigh(value: &Value, levels: usize, sum: &mut usize) -> Result<(), Fault> {
    let inner = levels.checked_sub(1);
    let inside = |items: &mut dyn Iterator<Item = &Value>, sum: &mut usize| {
        let levels = inner.ok_or_else(too_deep)?;
        for item in items {
            weigh(item, levels, sum)?;
        }
        Ok(())
    };
    *sum = sum.saturating_add(16);
    match value {
        Value::Sequence(sequence) if sequence.shape.open => {
            showing(&sequence.shown, |again| match again {
                true => Ok(()),
                false => inside(&mut sequence.items.iter(), sum),
            })?;
        }
        Value::Dict(dict) if dict.shape.open => showing(&dict.shown, |again| match again {
            true => Ok(()),
            false => {
                let mut all = dict
                    .entries
                    .iter()
                    .flat_map(|(key, value)| [key.value(), value]);
                inside(&mut all, sum)
            }
        })?,
        Value::Namespace(namespace) => showing(&namespace.shown, |again| match again {
            true => Ok(()),
            false => {
                let entries = namespace.entries.borrow();
                *sum = entries.keys().fold(*sum, |sum, key| sum + key.len() + 16);
                inside(&mut entries.values(), sum)
            }
        })?,
        Value::Callable(_) => {}
        other => *sum = sum.saturating_add(weight(other)),
    }
    match *sum > MAX_WEIGHT {
        true => Err(too_heavy()),
        false => Ok(()),
    }
}
