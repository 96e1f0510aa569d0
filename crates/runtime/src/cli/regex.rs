//! The regular expression of a schema. For example, `tokenmold regex --schema person.json
//! --ledger`.

use serde_json::json;
use tokenmold::schema_regex;

use super::schema::{SchemaOptions, Use};
use super::{Failure, Output, ledger};

/// Arguments of `tokenmold regex`.
#[derive(Debug, clap::Args)]
pub(crate) struct RegexArgs {
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

pub(crate) fn run(args: &RegexArgs) -> Result<Output, Failure> {
    let (schema, _) = args.options.read_schema(&args.schema)?;
    let fail = |e| Failure::of(args.schema.display(), e);
    let options = args.options.options(Use::Check);
    let entries = schema.ledger(&options);
    let list = ledger::list(&entries);
    if args.ledger {
        return Ok(Output {
            text: ledger::table(&entries),
            json: json!({ "ledger": list }),
            ..Output::default()
        });
    }
    let regex = schema_regex::to_regex(&schema, &options).map_err(fail)?;
    Ok(Output {
        text: format!("{regex}\n"),
        notes: ledger::narrowed(&entries),
        json: json!({ "regex": regex, "bytes": regex.len(), "ledger": list }),
        ..Output::default()
    })
}
