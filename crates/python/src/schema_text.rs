//! A JSON Schema as a regular expression: what `outlines_core` asks for. For example, `{"type":
//! "boolean"}` becomes an expression of `true` and `false` that Python's `re` reads too.

use pyo3::prelude::*;
use schema_regex::{AnyValue, Options, Recursion, Whitespace, parse_str, to_regex};

use crate::error::{IntoPython, detached};

/// A regular expression for the JSON that a schema admits. `whitespace` is one for what may
/// stand between the tokens of JSON; a reference below itself is followed `depth` times.
#[pyfunction]
#[pyo3(name = "_json_schema_regex", signature = (schema, whitespace, depth))]
pub(crate) fn json_schema_regex(
    py: Python<'_>,
    schema: &str,
    whitespace: String,
    depth: u32,
) -> PyResult<String> {
    detached(py, || {
        let schema = parse_str(schema).map_err(IntoPython::into_python)?;
        let options = Options::default()
            .with_whitespace(Whitespace::Pattern(whitespace))
            .with_recursion(Recursion::Unroll(depth))
            .with_any_value(AnyValue::Depth(depth.min(2)));
        let regex = to_regex(&schema, &options).map_err(IntoPython::into_python)?;
        Ok(for_python(&regex))
    })
}

/// The same expression with its characters written as Python's `re` reads them, too: `\uXXXX`
/// and `\UXXXXXXXX` in place of `\x{X}`.
fn for_python(regex: &str) -> String {
    let mut out = String::with_capacity(regex.len());
    let mut rest = regex;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let braced = escape.strip_prefix("\\x{").and_then(|e| e.split_once('}'));
        let code = braced
            .and_then(|(digits, behind)| Some((u32::from_str_radix(digits, 16).ok()?, behind)));
        if let Some((code, behind)) = code {
            match code {
                ..=0xFFFF => out.push_str(&format!("\\u{code:04x}")),
                _ => out.push_str(&format!("\\U{code:08x}")),
            }
            rest = behind;
        } else {
            // The backslash and what it escapes.
            let end = escape
                .char_indices()
                .nth(2)
                .map_or(escape.len(), |(end, _)| end);
            out.push_str(&escape[..end]);
            rest = &escape[end..];
        }
    }
    out.push_str(rest);
    out
}
