//! Counts the instructions, visited nodes and allocations of compiles and masks. For example, two
//! runs of one build print the same number of instructions for `first mask`, so that a change of a
//! few in a hundred shows.

use std::alloc::System;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use clap::Parser;
use fsm_index::{Fill, Guide, Index, IndexConfig, JSON_TEXT, MaskBuffer, TokenId, Vocabulary};
use schema_regex::Options;
use schema_regex::automaton::SchemaAutomaton;
use serde::{Deserialize, Serialize};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokenmold_benches::program::{self, Chosen};
use tokenmold_benches::spell::Speller;
use tokenmold_benches::stats::Summary;
use tokenmold_benches::{cases::Case, child, counts};

/// The allocator, which counts because allocations are one of the three figures.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Compiles cases and leads their valid texts through them twice; counts each compile, each
/// mask of the first time, and each text of the second time with its masks and the tokens that
/// are committed.
///
/// Instructions are counted by valgrind, which must be installed (`--without-valgrind` leaves
/// them out, which is fifty times faster). One case comes after another in one process, on one
/// thread.
#[derive(Parser, Debug)]
struct Arguments {
    /// Files `tokenizer.json`, one for each vocabulary.
    #[arg(long = "tokenizer", required = true)]
    tokenizers: Vec<PathBuf>,

    #[command(flatten)]
    chosen: Chosen,

    /// Valid texts of each case, at most.
    #[arg(long, default_value_t = 1)]
    texts: usize,

    /// Count no instructions.
    #[arg(long)]
    without_valgrind: bool,

    /// Name so many of the first masks that cost most.
    #[arg(long, default_value_t = 0)]
    list: usize,

    /// Be the process that is counted, and write what it does there.
    #[arg(long, hide = true)]
    worker: Option<PathBuf>,
}

/// A kind of call that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    Compile,
    First,
    Warm,
}

/// The kinds with their names, in the order of a text's calls, as reports print them.
const KINDS: [(Kind, &str); 3] = [
    (Kind::Compile, "compile"),
    (Kind::First, "first mask"),
    (Kind::Warm, "warm step"),
];

/// One call.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Call {
    kind: Kind,
    case: String,
    /// Tokens of the text before it.
    at: usize,
    /// Among so many steps what it costs is divided.
    steps: usize,
    allocations: usize,
    nodes: u64,
}

/// The function whose calls valgrind is told to count.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
}

/// The function whose instructions are counted. It is named by its path because valgrind finds it
/// by its symbol.
const COUNTED: &str = "counts::counted";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.worker {
        Some(file) => work(&arguments, file),
        None => lead(&arguments),
    };
    program::end("counts", result)
}

/// Counts under valgrind, vocabulary by vocabulary.
fn lead(arguments: &Arguments) -> Result<(), String> {
    for at in 0..arguments.tokenizers.len() {
        let name = arguments.tokenizers[at].display();
        let folder = std::env::temp_dir().join(format!("counts-{}-{at}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let told = tell(arguments, at, &folder);
        // The folder is temporary: nobody reads it again.
        let _ = std::fs::remove_dir_all(&folder);
        let (calls, instructions) = told?;
        println!("{name}");
        print(arguments, &calls, &instructions);
    }
    Ok(())
}

/// The calls with one vocabulary, and the instructions of each, if they are counted.
fn tell(arguments: &Arguments, at: usize, folder: &Path) -> Result<(Vec<Call>, Vec<u64>), String> {
    let (calls, parts) = (folder.join("calls.json"), folder.join("parts"));
    let place = calls.to_string_lossy().into_owned();
    let again = child::again(&["--worker", &format!("{at}:{place}")])?;
    let mut command = match arguments.without_valgrind {
        true => again,
        false => {
            let mut valgrind = counts::callgrind(COUNTED, &parts);
            valgrind.arg(again.get_program()).args(again.get_args());
            valgrind
        }
    };
    run(&mut command)?;
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let calls: Vec<Call> = serde_json::from_str(&read(&calls)?).map_err(|e| e.to_string())?;
    let instructions = match arguments.without_valgrind {
        true => Vec::new(),
        false => counts::calls(&read(&parts)?)?,
    };
    if !arguments.without_valgrind && instructions.len() != calls.len() {
        return Err(format!(
            "valgrind counted {} calls of {}",
            instructions.len(),
            calls.len()
        ));
    }
    Ok((calls, instructions))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the process that was counted ended with {status}")),
    }
}

fn print(arguments: &Arguments, calls: &[Call], instructions: &[u64]) {
    println!(
        "{:12} {:>8} {:>10} {:>10} {:>10} {:>10} {:>11} {:>8} {:>9}",
        "", "calls", "avg", "p50", "p99", "p99.9", "max", "allocs", "nodes"
    );
    for (kind, name) in KINDS {
        let of_kind = || {
            calls
                .iter()
                .enumerate()
                .filter(|(_, call)| call.kind == kind)
        };
        let counted = of_kind().filter_map(|(at, call)| {
            let instructions = *instructions.get(at)?;
            Some(instructions as f64 / call.steps as f64)
        });
        let s = Summary::new(counted.collect());
        let count = of_kind().count();
        let steps: usize = of_kind().map(|(_, call)| call.steps).sum();
        let mean = |sum: u64| sum as f64 / steps.max(1) as f64;
        println!(
            "{name:12} {count:8} {:10.0} {:10.0} {:10.0} {:10.0} {:11.0} {:8.2} {:9.1}",
            s.avg,
            s.p50,
            s.p99,
            s.p999,
            s.max,
            mean(of_kind().map(|(_, call)| call.allocations as u64).sum()),
            mean(of_kind().map(|(_, call)| call.nodes).sum()),
        );
    }
    let mut first: Vec<(u64, &Call)> = instructions
        .iter()
        .copied()
        .zip(calls)
        .filter(|(_, call)| call.kind == Kind::First)
        .collect();
    first.sort_by_key(|(instructions, _)| std::cmp::Reverse(*instructions));
    for (instructions, call) in first.iter().take(arguments.list) {
        println!(
            "{instructions:12} {:6} nodes  {} behind {} tokens",
            call.nodes, call.case, call.at
        );
    }
}

/// Does what is counted. `file` is the number of the vocabulary, and where to write the calls.
fn work(arguments: &Arguments, file: &Path) -> Result<(), String> {
    let file = file.to_string_lossy();
    let (at, place) = file.split_once(':').unwrap_or(("0", &file));
    let at: usize = at.parse().map_err(|e| format!("{file}: {e}"))?;
    // The work that other threads would do is done between calls, on this thread.
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build_global()
        .map_err(|e| e.to_string())?;
    let (vocabulary, speller) = program::vocabulary_and_speller(&arguments.tokenizers[at])?;
    vocabulary.prepare(JSON_TEXT);
    let mut calls = Vec::new();
    for case in arguments.chosen.read()? {
        measure(&case, (&vocabulary, &speller), arguments.texts, &mut calls)?;
    }
    let calls = serde_json::to_string(&calls).map_err(|e| e.to_string())?;
    std::fs::write(place, calls).map_err(|e| format!("{place}: {e}"))
}

fn measure(
    case: &Case,
    (vocabulary, speller): (&Vocabulary, &Speller),
    texts: usize,
    calls: &mut Vec<Call>,
) -> Result<(), String> {
    let options = Options::default();
    let mut note = |kind, (at, steps): (usize, usize), before: usize, nodes| {
        let allocations = ALLOCATOR.stats().allocations - before;
        calls.push(Call {
            kind,
            case: case.id.clone(),
            at,
            steps,
            allocations,
            nodes,
        });
    };
    let before = ALLOCATOR.stats().allocations;
    let mut automaton = None;
    counted(&mut || automaton = SchemaAutomaton::new(&case.schema, &options).ok());
    note(Kind::Compile, (0, 1), before, 0);
    let Some(automaton) = automaton else {
        return Ok(());
    };
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton, vocabulary, &config).map_err(|e| e.to_string())?;
    let index = Arc::new(index);
    let valid = case.tests.iter().filter(|test| test.valid).take(texts);
    for tokens in valid.filter_map(|test| speller.spell(&test.text)) {
        let mut guide = Guide::new(Arc::clone(&index));
        let mut buffer = MaskBuffer::new(vocabulary.width());
        let mut steps = 0;
        for at in 0..=tokens.len() {
            let visited = index.stats().nodes_visited;
            let before = ALLOCATOR.stats().allocations;
            let mut done = false;
            counted(&mut || done = guide.write_mask(&mut buffer).is_ok());
            note(
                Kind::First,
                (at, 1),
                before,
                index.stats().nodes_visited - visited,
            );
            while let Some(rayon::Yield::Executed) = rayon::yield_now() {}
            let Some(&token) = tokens.get(at).filter(|_| done) else {
                break;
            };
            if guide.advance(TokenId::new(token)).is_err() {
                break;
            }
            steps += 1;
        }
        let mut guide = Guide::new(Arc::clone(&index));
        let visited = index.stats().nodes_visited;
        let before = ALLOCATOR.stats().allocations;
        let mut done = Ok(());
        counted(&mut || {
            done = tokens[..steps].iter().try_for_each(|&token| {
                guide.write_mask(&mut buffer)?;
                guide.advance(TokenId::new(token))
            });
        });
        note(
            Kind::Warm,
            (0, steps.max(1)),
            before,
            index.stats().nodes_visited - visited,
        );
        done.map_err(|e| format!("{}: {e}", case.id))?;
    }
    Ok(())
}
