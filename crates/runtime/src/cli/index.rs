//! The token index of a language, to look at and to save.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use tokenmold::fsm_index::{Config, Dfa, Index, IndexConfig};

use super::model::bar;
use super::schema::Language;
use super::{Failure, Notes, Output, Verdict, read_vocabulary};

/// Arguments of `tokenmold index`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    language: Language,

    /// A `tokenizer.json`, or the model directory that holds it.
    #[arg(long, value_name = "FILE")]
    tokenizer: PathBuf,

    /// Where to save the index.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, notes: Notes) -> Result<Output, Failure> {
    // How far it has come is not known, but which step it is at.
    let bar = bar(String::new(), "{spinner} {msg} {elapsed}", notes);
    bar.enable_steady_tick(Duration::from_millis(100));
    let start = Instant::now();
    let (regex, _) = args.language.read()?;
    let to_regex = start.elapsed();
    bar.set_message("reading the vocabulary");
    let (file, vocabulary) = read_vocabulary(&args.tokenizer)?;

    bar.set_message("making the automaton");
    let config = Config::default();
    let start = Instant::now();
    let automaton = Dfa::with_config(&regex, &config)
        .and_then(|dfa| dfa.to_bytes(&config))
        .map_err(|e| Failure::of("the automaton", e))?;
    let to_automaton = start.elapsed();
    bar.set_message(format!(
        "walking {} tokens from each of {} states",
        vocabulary.width(),
        automaton.state_count()
    ));
    let start = Instant::now();
    let index = Index::build(automaton, &vocabulary, &IndexConfig::default())
        .map_err(|e| Failure::of(file.display(), e))?;
    let to_index = start.elapsed();
    bar.finish_and_clear();
    let stats = index.stats();
    let bytes = stats.row_bytes + index.automaton().memory();

    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<22} {value}");
    };
    line(
        "regular expression",
        format!("{} bytes, {to_regex:.1?}", regex.len()),
    );
    line(
        "automaton",
        format!(
            "{} states, {} classes, {to_automaton:.1?}",
            index.automaton().state_count(),
            index.automaton().class_count()
        ),
    );
    line(
        "vocabulary",
        format!(
            "{} tokens, {} end",
            vocabulary.width(),
            vocabulary.ends().len()
        ),
    );
    line(
        "index",
        format!(
            "{} distinct rows, {} bytes, {to_index:.1?}",
            stats.rows, bytes
        ),
    );
    let mut saved = None;
    if let Some(out) = &args.out {
        let file = index.to_bytes();
        let file = file.map_err(|e| Failure::of(out.display(), e))?;
        std::fs::write(out, &file).map_err(|e| Failure::of(out.display(), e))?;
        line("saved", format!("{}, {} bytes", out.display(), file.len()));
        saved = Some(file.len());
    }
    Ok(Output {
        text,
        json: json!({
            "regex_bytes": regex.len(),
            "states": index.automaton().state_count(),
            "classes": index.automaton().class_count(),
            "rows": stats.rows,
            "row_bytes": stats.row_bytes,
            "bytes": bytes,
            "tokens": vocabulary.width(),
            "saved_bytes": saved,
            "seconds": {
                "regex": to_regex.as_secs_f64(),
                "automaton": to_automaton.as_secs_f64(),
                "index": to_index.as_secs_f64(),
            },
        }),
        verdict: Verdict::Good,
        ..Output::default()
    })
}
