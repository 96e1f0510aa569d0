//! A page on which a person can step through a trace. For example, `trace.jsonl` becomes
//! `trace.html` beside it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::page;
use super::{Failure, Output, read};

/// Arguments of `tokenmold view`.
#[derive(Debug, clap::Args)]
pub(crate) struct ViewArgs {
    /// The trace that `tokenmold generate --trace` wrote; `-` for standard
    /// input.
    trace: PathBuf,

    /// The file for the page. Default: beside the trace, as `.html`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The page, with a place for the trace. It is one file, so that it can be opened without a server.
const PAGE: &str = include_str!("view.html");
/// The place of the trace in the page. It is a comment before `null`, so that the page is a valid
/// script without a trace.
const PLACE: &str = "/*TRACE*/null";

pub(crate) fn run(args: &ViewArgs) -> Result<Output, Failure> {
    let place = args.trace.display();
    let bytes = read(&args.trace)?;
    let text = String::from_utf8(bytes).map_err(|e| Failure::of(&place, e))?;
    let mut lines = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let line: Value = serde_json::from_str(line)
            .map_err(|e| Failure::new(format!("{place}: line {} is not JSON: {e}", at + 1)))?;
        lines.push(line);
    }
    let whole = lines.first().is_some_and(|line| line["trace"] == 1)
        && lines.last().is_some_and(|line| line["finish"].is_string());
    if !whole {
        return Err(Failure::new(format!(
            "{place} is no whole trace; `tokenmold generate --trace FILE` writes one"
        )));
    }
    // Nothing in it may end the script that it stands in.
    let data = Value::Array(lines).to_string().replace('<', "\\u003c");
    let page = page::filled(PAGE).replace(PLACE, &data);
    let out = match (&args.out, args.trace.to_str()) {
        (Some(out), _) => out.clone(),
        (None, Some("-")) => {
            return Ok(Output {
                json: json!({ "html": page }),
                text: page,
                ..Output::default()
            });
        }
        (None, _) => args.trace.with_extension("html"),
    };
    std::fs::write(&out, &page).map_err(|e| Failure::of(out.display(), e))?;
    Ok(Output {
        text: format!("{}\n", out.display()),
        json: json!({ "page": out }),
        ..Output::default()
    })
}
