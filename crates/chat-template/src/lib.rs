#![doc = include_str!("../README.md")]

mod apply;
pub mod chatml;
mod error;
mod files;
mod python;
mod template;

pub use self::apply::{Chat, Ending, Rendered};
pub use self::error::{Error, ErrorKind};
pub use self::files::ChatTemplates;
pub use self::python::time::Moment;
pub use self::template::{ChatTemplate, Limits};

/// A value as the text of a message: texts as they are, others as Python
/// prints them.
#[doc(hidden)]
pub fn value_as_text(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => python::value::from_json(other).map_or_else(
            |_| python_compat::depth::shown(other),
            |value| python::text::str(&value),
        ),
    }
}
