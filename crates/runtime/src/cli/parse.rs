use std::path::PathBuf;

use tokenmold::response_parser::ResponseSchema;

use super::{Failure, Output, Verdict, read_json, read_stdin};

/// Arguments of `tokenmold parse`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file with a `response_schema` (a JSON Schema with `x-regex` and the
    /// like), or a `tokenizer_config.json` that has one.
    #[arg(long, value_name = "FILE")]
    response_schema: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Output, Failure> {
    let path = &args.response_schema;
    let file = read_json(path)?;
    let schema = file.get("response_schema").unwrap_or(&file);
    let schema = ResponseSchema::new(schema).map_err(|e| Failure::of(path.display(), e))?;
    let text = String::from_utf8(read_stdin()?).map_err(|e| {
        Failure::new(format!(
            "standard input is not UTF-8 at byte {}",
            e.utf8_error().valid_up_to()
        ))
    })?;
    let message = schema
        .parse(&text)
        .map_err(|e| Failure::of("standard input", e))?;
    Ok(Output {
        text: format!("{message:#}\n"),
        json: message,
        verdict: Verdict::Good,
        ..Output::default()
    })
}
