//! The filter that prints JSON. For example, `[1, 2] | tojson` is `[1, 2]`, as Python's `json` spaces it.

use python_compat::show::{JsonError, Style};

use super::super::callable::{Arguments, text as text_of, whole};
use super::super::value::Value;
use super::super::weight::MAX_WEIGHT;
use super::super::{Fault, Render, charge_printing, items_of, limit_error, made, type_error};

/// The longest indentation or separators of `tojson`, in bytes: no prompt has more, and each line
/// repeats it, so that a long one would multiply the text.
const MAX_INDENT: usize = 256;

pub(crate) fn tojson(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [ascii, indent, separators, sort_keys] =
        args.bind(["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let indent = match indent.filter(|v| !v.is_none()) {
        None => None,
        Some(indent) => Some(match &indent {
            Value::Text(text) => text.to_string(),
            _ => {
                let count = usize::try_from(whole("tojson", &indent)?).unwrap_or(0);
                " ".repeat(count.min(MAX_INDENT + 1))
            }
        }),
    };
    if indent.as_ref().is_some_and(|i| i.len() > MAX_INDENT) {
        return Err(limit_error(format!(
            "tojson: an indentation of more than {MAX_INDENT} bytes"
        )));
    }
    let (item, key) = match separators.filter(|v| !v.is_none()) {
        None if indent.is_some() => (",".to_owned(), ": ".to_owned()),
        None => (", ".to_owned(), ": ".to_owned()),
        Some(separators) => match items_of(render, &separators)?.as_slice() {
            [item, key] => (
                text_of("tojson", item)?.to_owned(),
                text_of("tojson", key)?.to_owned(),
            ),
            _ => return Err(type_error("tojson: separators must be two texts")),
        },
    };
    if item.len() + key.len() > MAX_INDENT {
        return Err(limit_error(format!(
            "tojson: separators of more than {MAX_INDENT} bytes"
        )));
    }
    let mut style = Style::plain();
    style.ascii = ascii.is_some_and(|v| v.is_true());
    style.indent = indent;
    style.item_separator = item;
    style.key_separator = key;
    style.sort_keys = sort_keys.is_some_and(|v| v.is_true());
    style.limit = MAX_WEIGHT;
    charge_printing(render, value)?;
    match python_compat::dumps(value, &style) {
        Ok(json) => made(render, json),
        Err(JsonError::Unserializable(message)) => Err(type_error(message)),
        Err(_) => Err(limit_error(format!("JSON of more than {MAX_WEIGHT} bytes"))),
    }
}
