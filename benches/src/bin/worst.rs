//! Lists the longest masks and the slowest compiles of our engine, and what they were busy
//! with.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use fsm_index::{Fill, Guide, Index, IndexConfig, JSON_TEXT, TokenId};
use schema_regex::Options;
use schema_regex::automaton::SchemaAutomaton;
use tokenmold_benches::program::{self, Chosen};

/// Walks the texts of cases as far as they are allowed, each case compiled once, and lists the worst of what was
/// measured, with the state of the automaton and the nodes of the vocabulary's trie that the
/// mask visited.
#[derive(Parser, Debug)]
struct Arguments {
    /// A `tokenizer.json`.
    #[arg(long)]
    tokenizer: PathBuf,

    #[command(flatten)]
    chosen: Chosen,

    /// How many of each to list.
    #[arg(long, default_value_t = 20)]
    list: usize,
}

struct Mask {
    time: Duration,
    nodes: u64,
    case: String,
    /// The last characters of the text.
    behind: String,
    /// What the automaton is at.
    place: &'static str,
    cached: bool,
}

fn main() -> ExitCode {
    program::end("worst", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let (vocabulary, speller) = program::vocabulary_and_speller(&arguments.tokenizer)?;
    vocabulary.prepare(JSON_TEXT);
    let cases = arguments.chosen.read()?;
    let mut masks: Vec<Mask> = Vec::new();
    let mut compiles: Vec<(Duration, String, usize)> = Vec::new();
    for case in &cases {
        let begun = Instant::now();
        let Ok(automaton) = SchemaAutomaton::new(&case.schema, &Options::default()) else {
            continue;
        };
        let nodes = automaton.nodes();
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index =
            Arc::new(Index::lazy(automaton, &vocabulary, &config).map_err(|e| e.to_string())?);
        compiles.push((begun.elapsed(), case.id.clone(), nodes));
        let texts = case.tests.iter();
        for tokens in texts.filter_map(|test| speller.spell(&test.text)) {
            let mut guide = Guide::new(Arc::clone(&index));
            let mut text: Vec<u8> = Vec::new();
            for token in tokens {
                let before = index.stats().nodes_visited;
                let begun = Instant::now();
                guide.mask();
                let time = begun.elapsed();
                let nodes = index.stats().nodes_visited - before;
                let state = format!("{:?}", guide.state());
                masks.push(Mask {
                    time,
                    nodes,
                    case: case.id.clone(),
                    behind: tail(&text),
                    place: place(&state),
                    cached: nodes == 0,
                });
                if guide.advance(TokenId::new(token)).is_err() {
                    break;
                }
                text.extend(vocabulary.token_bytes(TokenId::new(token)).unwrap_or(b""));
            }
        }
    }
    print(arguments, masks, compiles);
    Ok(())
}

/// The last characters of a text, on one line.
fn tail(text: &[u8]) -> String {
    let from = text.len().saturating_sub(32);
    String::from_utf8_lossy(&text[from..])
        .escape_debug()
        .collect()
}

/// What comes next in a state, from how it shows itself.
fn place(state: &str) -> &'static str {
    const PLACES: [&str; 7] = ["Value", "Unit", "Number", "String", "Key", "Gap", "End"];
    PLACES
        .into_iter()
        .find(|place| state.starts_with(&format!("State {{ top: {place}")))
        .unwrap_or("?")
}

fn print(
    arguments: &Arguments,
    mut masks: Vec<Mask>,
    mut compiles: Vec<(Duration, String, usize)>,
) {
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let total: f64 = masks.iter().map(|mask| us(mask.time)).sum();
    println!(
        "{} masks, {:.2} us on average",
        masks.len(),
        total / masks.len().max(1) as f64
    );
    println!("place      cached       masks   share of time      avg us   nodes avg     ns a node");
    for place in ["Value", "Unit", "Number", "String", "Key", "Gap", "End"] {
        for cached in [true, false] {
            let these = || {
                masks
                    .iter()
                    .filter(|m| m.place == place && m.cached == cached)
            };
            let (count, time) = (these().count(), these().map(|m| us(m.time)).sum::<f64>());
            let nodes: u64 = these().map(|m| m.nodes).sum();
            if count == 0 {
                continue;
            }
            let a_node = match nodes {
                0 => "-".to_owned(),
                nodes => format!("{:.1}", 1e3 * time / nodes as f64),
            };
            println!(
                "{place:10} {:6} {count:11} {:14.1}% {:11.2} {:11.0} {a_node:>13}",
                if cached { "yes" } else { "no" },
                100.0 * time / total,
                time / count as f64,
                nodes as f64 / count as f64,
            );
        }
    }
    masks.sort_by_key(|mask| std::cmp::Reverse(mask.time));
    println!("\n     mask us     nodes  place   case, what the text ends with");
    for mask in masks.iter().take(arguments.list) {
        println!(
            "{:12.1} {:9}  {:7} {}  {}",
            us(mask.time),
            mask.nodes,
            mask.place,
            mask.case,
            mask.behind
        );
    }
    compiles.sort_by_key(|compile| std::cmp::Reverse(compile.0));
    println!("\n  compile us     nodes  case");
    for (time, case, nodes) in compiles.iter().take(arguments.list) {
        println!("{:12.1} {nodes:9}  {case}", us(*time));
    }
}
