use serde_json::{Value, json};
use tokenmold::schema_regex::{
    self,
    ledger::{Entry, Status},
};

use super::schema::SchemaOptions;
use super::{Failure, Output, read_json};

/// Arguments of `tokenmold regex`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file with a JSON Schema, `-` for standard input.
    #[arg(long, value_name = "FILE")]
    schema: std::path::PathBuf,

    #[command(flatten)]
    options: SchemaOptions,

    /// Print what became of each keyword instead: enforced, an annotation,
    /// narrowed or refused.
    #[arg(long)]
    ledger: bool,
}

pub(crate) fn run(args: &Args) -> Result<Output, Failure> {
    let schema: Value = read_json(&args.schema)?;
    let fail = |e| Failure::of(args.schema.display(), e);
    let schema = schema_regex::parse(&schema).map_err(fail)?;
    let options = args.options.options();
    let entries = schema.ledger(&options);
    let ledger: Vec<Value> = entries.iter().map(entry).collect();
    if args.ledger {
        let width = entries
            .iter()
            .map(|e| e.pointer.chars().count())
            .max()
            .unwrap_or(0);
        let line = |e: &Entry| format!("{:width$}  {}\n", e.pointer, status(&e.status));
        return Ok(Output {
            text: entries.iter().map(line).collect(),
            json: json!({ "ledger": ledger }),
            ..Output::default()
        });
    }
    let regex = schema_regex::to_regex(&schema, &options).map_err(fail)?;
    Ok(Output {
        text: format!("{regex}\n"),
        json: json!({ "regex": regex, "bytes": regex.len(), "ledger": ledger }),
        ..Output::default()
    })
}

fn entry(entry: &Entry) -> Value {
    let (status, reason) = parts(&entry.status);
    json!({
        "pointer": entry.pointer,
        "keyword": entry.keyword,
        "status": status,
        "reason": reason,
    })
}

fn status(status: &Status) -> String {
    match parts(status) {
        (name, Some(reason)) => format!("{name}: {reason}"),
        (name, None) => name.to_owned(),
    }
}

fn parts(status: &Status) -> (&'static str, Option<&str>) {
    match status {
        Status::Enforced => ("enforced", None),
        Status::Annotation => ("annotation", None),
        Status::Narrowed(reason) => ("narrowed", Some(reason)),
        Status::Refused(reason) => ("refused", Some(reason)),
        _ => ("unknown", None),
    }
}
