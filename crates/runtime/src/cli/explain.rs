//! The fate of each keyword of a schema. For example, `pattern` at `/properties/name` is
//! "enforced", and `default` beside it is an annotation.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::json;
use tokenmold::schema_regex::automaton::SchemaAutomaton;
use tokenmold::schema_regex::{self, ErrorKind};

use super::grammar::Notation;
use super::page;
use super::schema::{SchemaOptions, Use, told};
use super::style::{Paint, Style};
use super::{Failure, Output, Verdict, grammar, ledger, providers};

/// Arguments of `tokenmold explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    source: ExplainSource,

    #[command(flatten)]
    notation: Notation,

    /// A text, to say where it comes to in the grammar.
    #[arg(long, value_name = "TEXT", requires = "grammar")]
    input: Option<String>,

    #[command(flatten)]
    options: SchemaOptions,

    /// Say what OpenAI, Anthropic and Gemini do not take of the schema, by their documentation.
    #[arg(long, conflicts_with = "grammar")]
    providers: bool,

    /// Write a page with the schema, each keyword coloured by what becomes of it.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// The page, with a place for what it shows. It is one file, so that it can be opened without a
/// server.
const PAGE: &str = include_str!("explain.html");
/// The place of the data in the page. It is a comment before `null`, so that the page is a valid
/// script without data.
const PLACE: &str = "/*DATA*/null";

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct ExplainSource {
    /// A file with a JSON Schema, `-` for standard input.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// A file with a grammar, `-` for standard input.
    #[arg(long, value_name = "FILE")]
    grammar: Option<PathBuf>,
}

/// The ledger of the schema automaton, which is what `generate`, `chat` and
/// `check` run; and whether a regular expression can say the same.
pub(crate) fn run(args: &ExplainArgs) -> Result<Output, Failure> {
    let path = match (&args.source.schema, &args.source.grammar) {
        (_, Some(grammar)) => {
            return grammar::explain(grammar, &args.notation, args.input.as_deref());
        }
        (Some(schema), None) => schema,
        (None, None) => return Err(Failure::new("neither --schema nor --grammar is given")),
    };
    let (schema, written) = args.options.read_schema(path)?;
    let options = args.options.options(Use::Check);
    let regex = schema_regex::to_regex(&schema, &options);
    let (result, entries) = SchemaAutomaton::explain(schema, &options);
    let style = Style::for_stdout();
    let mut text = ledger::table(&entries);
    let _ = writeln!(text, "{}", ledger::summary(&entries));
    let (said, paint) = match &result {
        Ok(automaton) => (
            format!("accepted: {} nodes", automaton.nodes()),
            Paint::Good,
        ),
        Err(e) if e.kind() == ErrorKind::Unsatisfiable => (told(&format!("empty {e}")), Paint::Bad),
        Err(e) => (told(&format!("refused {e}")), Paint::Bad),
    };
    let _ = writeln!(text, "{}", style.paint(paint, said));
    let _ = match &regex {
        Ok(regex) => writeln!(text, "as a regular expression: {} bytes", regex.len()),
        Err(e) => writeln!(
            text,
            "as a regular expression: refused {}",
            told(&e.to_string())
        ),
    };
    let error =
        |e: &schema_regex::Error| json!({ "pointer": e.pointer(), "why": told(e.message()) });
    let mut json = json!({
        "accepted": result.is_ok(),
        "error": result.as_ref().err().map(error),
        "nodes": result.as_ref().ok().map(SchemaAutomaton::nodes),
        "regex_bytes": regex.as_ref().ok().map(String::len),
        "regex_error": regex.as_ref().err().map(error),
        "ledger": ledger::list(&entries),
    });
    let reports = args
        .providers
        .then(|| tokenmold::providers::reports(&written));
    if let Some(file) = &args.html {
        let mut shown = json.clone();
        shown["schema"] = written;
        shown["providers"] = json!(reports);
        // Nothing in it may end the script that it stands in.
        let data = shown.to_string().replace('<', "\\u003c");
        let page = page::filled(PAGE).replace(PLACE, &data);
        std::fs::write(file, page).map_err(|e| Failure::of(file.display(), e))?;
        text = format!("{}\n", file.display());
        json["page"] = json!(file);
    }
    if let Some(reports) = &reports {
        text.push_str(&providers::table(reports));
        json["providers"] = json!(reports);
    }
    Ok(Output {
        text,
        json,
        verdict: if result.is_ok() {
            Verdict::Good
        } else {
            Verdict::Bad
        },
        ..Output::default()
    })
}
