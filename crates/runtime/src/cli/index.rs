//! The token index of a language, to look at and to save. For example, `tokenmold index --regex
//! '[0-9]+' --tokenizer tokenizer.json --out digits.index`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use tokenmold::fsm_index::{
    BuildProgress, ByteDfa, Config, Dfa, Error, Index, IndexConfig, Vocabulary,
};

use super::model::bar;
use super::schema::Language;
use super::{Failure, Notes, Output, Verdict, ledger, read_vocabulary, say};

/// Arguments of `tokenmold index`.
#[derive(Debug, clap::Args)]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    language: Language,

    /// A `tokenizer.json`, or the model directory that holds it.
    #[arg(long, value_name = "FILE")]
    tokenizer: PathBuf,

    /// Say how far it has come where standard error is no terminal, too: a line for each
    /// tenth of the rows. On a terminal there is a bar in any case.
    #[arg(long)]
    progress: bool,

    /// The file in which the index is saved.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &IndexArgs, notes: Notes) -> Result<Output, Failure> {
    // The work before the rows has no measure, and takes little of the time.
    let begun = bar(String::new(), "{spinner} {msg} {elapsed}", notes);
    begun.enable_steady_tick(Duration::from_millis(100));
    let start = Instant::now();
    let (regex, entries) = args.language.read()?;
    let to_regex = start.elapsed();
    begun.set_message("reading the vocabulary");
    let (file, vocabulary) = read_vocabulary(&args.tokenizer)?;

    begun.set_message("making the automaton");
    let config = Config::default();
    let start = Instant::now();
    let automaton = Dfa::with_config(&regex, &config)
        .and_then(|dfa| dfa.to_bytes(&config))
        .map_err(|e| Failure::of("the automaton", e))?;
    let to_automaton = start.elapsed();
    begun.finish_and_clear();
    let start = Instant::now();
    let index = build(args, automaton, &vocabulary, notes);
    let index = index.map_err(|e| Failure::of(file.display(), e))?;
    let to_index = start.elapsed();
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
        notes: ledger::narrowed(&entries),
        verdict: Verdict::Good,
        ..Output::default()
    })
}

/// Builds the index of an automaton's bytes, and tells how far it has come.
fn build(
    args: &IndexArgs,
    automaton: ByteDfa,
    vocabulary: &Vocabulary,
    notes: Notes,
) -> Result<Index, Error> {
    let rows = bar(
        "building the index".to_owned(),
        "{msg} {wide_bar} {pos}/{len} rows {elapsed}",
        notes,
    );
    let config = IndexConfig::default();
    let tenths = args.progress && notes == Notes::Show && rows.is_hidden();
    let index = Index::build_watched(automaton, vocabulary, &config, &|progress| {
        let BuildProgress { done, total, .. } = progress;
        // Threads tell in any order.
        rows.set_length(total as u64);
        rows.inc(1);
        let tenth = |rows: usize| rows * 10 / total.max(1);
        if tenths && tenth(done) > tenth(done - 1) {
            say(&format!("building the index: {done} of {total} rows\n"));
        }
    });
    rows.finish_and_clear();
    index
}
