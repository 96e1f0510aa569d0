//! The steps of a generation, as JSON lines: a line about the whole, a line for each token, a line
//! about the end. For example, the first line begins with `{"trace":1,"prompt":`, and the last one
//! has a `finish`.

use std::path::Path;

use serde_json::{Value, json};
use tokenmold::generate::Generation;

use super::Failure;

/// Writes a trace. `source` says what bound the text.
pub(crate) fn write(
    path: &Path,
    prompt: &str,
    source: Value,
    steps: &[Value],
    generation: &Generation,
) -> Result<(), Failure> {
    let begin = json!({
        "trace": 1,
        "prompt": prompt,
        "prompt_tokens": generation.prompt_tokens,
        "constraint": source,
    });
    let end = json!({
        "finish": format!("{:?}", generation.finish),
        "complete": generation.complete,
        "text": generation.text,
    });
    let mut out = String::new();
    for line in std::iter::once(&begin).chain(steps).chain([&end]) {
        out.push_str(&line.to_string());
        out.push('\n');
    }
    std::fs::write(path, out).map_err(|e| Failure::of(path.display(), e))
}
