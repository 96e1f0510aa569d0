//! The automaton of a regular expression or schema, to look at. For example, the trace of `A42`
//! through `A[0-9]+` ends in a final state.

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use tokenmold::fsm_index::{Config, Dfa, Symbols, Trace};

use super::schema::Language;
use super::{Failure, Output, Verdict};

/// The symbols of the automaton.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Over {
    /// Unicode characters.
    Chars,
    /// Bytes.
    Bytes,
}

/// Arguments of `tokenmold fsm`.
#[derive(Debug, clap::Args)]
pub(crate) struct FsmArgs {
    #[command(flatten)]
    language: Language,

    /// The symbols: characters or bytes.
    #[arg(long, value_enum, default_value_t = Over::Chars)]
    over: Over,

    /// Print Graphviz instead of the table (draw it with `dot -Tsvg`).
    #[arg(long)]
    dot: bool,

    /// A text to run through the automaton, a step a line, in place of the
    /// table. The exit code says whether it was accepted.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    input: Option<String>,

    /// Print the table as well as the trace.
    #[arg(long, requires = "input", conflicts_with = "dot")]
    table: bool,
}

pub(crate) fn run(args: &FsmArgs) -> Result<Output, Failure> {
    let config = Config {
        symbols: match args.over {
            Over::Chars => Symbols::Chars,
            Over::Bytes => Symbols::Bytes,
        },
        ..Config::default()
    };
    let (regex, entries) = args.language.read()?;
    let option = match entries.is_empty() {
        false => "--schema",
        true => "--regex",
    };
    let dfa = Dfa::with_config(&regex, &config).map_err(|e| Failure::of(option, e))?;
    let trace = args.input.as_ref().map(|text| dfa.trace(text));
    let text = match (&trace, args.dot) {
        (_, true) => dfa.dot(),
        (Some(trace), false) if args.table => format!("{}\n{trace}\n", dfa.table()),
        (Some(trace), false) => format!("{trace}\n"),
        (None, false) => dfa.table(),
    };
    let verdict = match &trace {
        Some(trace) if !trace.accepted => Verdict::Bad,
        _ => Verdict::Good,
    };
    Ok(Output {
        text,
        json: describe(&dfa, trace.as_ref()),
        verdict,
        ..Output::default()
    })
}

fn describe(dfa: &Dfa, trace: Option<&Trace>) -> Value {
    let labels = dfa.alphabet().labels(usize::MAX);
    let states: Vec<Value> = (0..dfa.state_count())
        .map(|state| {
            let next: Map<String, Value> = labels
                .iter()
                .enumerate()
                .filter_map(|(class, label)| Some((label.clone(), dfa.next(state, class)?.into())))
                .collect();
            json!({ "state": state, "final": dfa.is_accepting(state), "next": next })
        })
        .collect();
    let mut described = json!({ "start": dfa.start(), "states": states, "dot": dfa.dot() });
    if let Some(trace) = trace {
        let steps: Vec<Value> = trace
            .steps
            .iter()
            .map(|step| {
                json!({
                    "offset": step.offset,
                    "symbol": step.symbol,
                    "class": step.class,
                    "anything_else": step.anything_else,
                    "from": step.from,
                    "to": step.to,
                })
            })
            .collect();
        described["trace"] = json!({
            "accepted": trace.accepted,
            "state": trace.state,
            "stopped_at": trace.stopped_at,
            "steps": steps,
        });
    }
    described
}
