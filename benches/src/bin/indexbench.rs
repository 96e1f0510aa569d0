//! Builds indexes from regular expressions, with our crate and with outlines-core in turn, and
//! prints times, memory and mask times side by side. For example, `[0-9]{4}-[0-9]{2}` is built by
//! each engine in a process of its own, for two seconds.

use std::alloc::System;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde::{Deserialize, Serialize};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokenmold_benches::child::{self, Child, Silence};
use tokenmold_benches::index_engines::{self, Tokens};
use tokenmold_benches::patterns::{self, Pattern};
use tokenmold_benches::program;
use tokenmold_benches::stats::{Summary, geometric_mean};

/// The allocator, which counts because the memory of an index is the difference of two counts.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// An index is built again until this long has been spent on it.
const ENOUGH: Duration = Duration::from_secs(2);

/// ... or so often, because a median of 25 does not get better by thousands of quick builds.
const MOST_BUILDS: usize = 25;

/// The number of tokens that are taken, by chance among the allowed ones, to measure masks: a few
/// hundred, because texts may be without end.
const WALK: usize = 400;

/// Builds indexes from regular expressions and measures time, memory and masks.
///
/// Each pattern and engine has a process of its own. `first` is the first build in that
/// process, `build` the median of the builds of two seconds (25 at most).
#[derive(Parser, Debug)]
struct Arguments {
    /// A `tokenizer.json`, or `o200k` for the tokens of GPT-4o.
    #[arg(long)]
    tokenizer: String,

    /// Patterns, one a line: name, a tab, the expression. Default: a set of its own.
    #[arg(long)]
    patterns: Option<PathBuf>,

    /// Threads for our build, which is measured with one thread as well. Default: all cores.
    #[arg(long)]
    threads: Option<usize>,

    /// Only the first so many tokens of the vocabulary.
    #[arg(long)]
    tokens: Option<usize>,

    /// Time that a pattern may take, in seconds.
    #[arg(long, default_value_t = 60.0)]
    limit_seconds: f64,

    /// Without outlines-core.
    #[arg(long)]
    alone: bool,

    /// Also write the report as JSON.
    #[arg(long)]
    report: Option<PathBuf>,

    /// Be the process of that engine, for one pattern.
    #[arg(long, hide = true)]
    worker: Option<String>,
}

/// The figures of one engine for one pattern.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Measured {
    /// The first build, in microseconds.
    first_us: f64,
    /// The median build, in microseconds.
    build_us: f64,
    /// The number of builds that the median is of.
    builds: usize,
    /// Bytes that the first build left allocated.
    bytes: isize,
    /// Bytes of the vocabulary, as the engine keeps it.
    vocabulary_bytes: isize,
    /// The size as the engine itself tells it.
    size: String,
    /// Microseconds until a mask is in the caller's buffer.
    mask_us: Summary,
}

/// All of one pattern.
#[derive(Clone, Debug, Serialize)]
struct Line {
    name: String,
    one: Result<Measured, String>,
    many: Result<Measured, String>,
    peer: Option<Result<Measured, String>>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.worker {
        Some(engine) => work(&arguments, engine),
        None => lead(&arguments),
    };
    program::end("indexbench", result)
}

fn lead(arguments: &Arguments) -> Result<(), String> {
    let set = match &arguments.patterns {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            patterns::read(&text.map_err(|e| format!("{}: {e}", path.display()))?)?
        }
        None => patterns::default_set()?,
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.unwrap_or(cores).max(1);
    let peer = cfg!(feature = "peers") && !arguments.alone;
    println!(
        "{}, {threads} threads; times in microseconds, memory in KiB",
        arguments.tokenizer
    );
    println!(
        "{:<14} {:>10} {:>10} {:>10} {:>11} {:>8} {:>8} {:>9} {:>10} {:>8} {:>7} {:>7}",
        "pattern",
        "first 1t",
        "build 1t",
        format!("build {threads}t"),
        "peer",
        "x 1t",
        format!("x {threads}t"),
        "KiB",
        "peer KiB",
        "x KiB",
        "mask",
        "peer"
    );
    let mut lines = Vec::new();
    for pattern in &set {
        let one = measure(arguments, "tokenmold", pattern, 1);
        let many = match threads {
            1 => one.clone(),
            _ => measure(arguments, "tokenmold", pattern, threads),
        };
        let peer = peer.then(|| measure(arguments, "outlines-core", pattern, 1));
        let line = Line {
            name: pattern.name.clone(),
            one,
            many,
            peer,
        };
        print_line(&line);
        lines.push(line);
    }
    print_means(&lines);
    program::write_report(arguments.report.as_deref(), &lines)
}

fn print_line(line: &Line) {
    let (one, many) = match (&line.one, &line.many) {
        (Ok(one), Ok(many)) => (one, many),
        (Err(e), _) | (_, Err(e)) => return println!("{:<14} failed: {e}", line.name),
    };
    let kib = |bytes: isize| bytes as f64 / 1024.0;
    print!(
        "{:<14} {:>10.0} {:>10.0} {:>10.0} ",
        line.name, one.first_us, one.build_us, many.build_us
    );
    match &line.peer {
        Some(Ok(peer)) => println!(
            "{:>11.0} {:>8.1} {:>8.1} {:>9.1} {:>10.1} {:>8.1} {:>7.2} {:>7.2}  {}",
            peer.build_us,
            peer.build_us / one.build_us,
            peer.build_us / many.build_us,
            kib(one.bytes),
            kib(peer.bytes),
            peer.bytes as f64 / one.bytes.max(1) as f64,
            one.mask_us.p50,
            peer.mask_us.p50,
            one.size
        ),
        Some(Err(e)) => println!(
            "{:>11} {:>8} {:>8} {:>9.1} {:>10} {:>8} {:>7.2} {:>7}  {} (peer: {e})",
            "-",
            "-",
            "-",
            kib(one.bytes),
            "-",
            "-",
            one.mask_us.p50,
            "-",
            one.size
        ),
        None => println!(
            "{:>11} {:>8} {:>8} {:>9.1} {:>10} {:>8} {:>7.2} {:>7}  {}",
            "",
            "",
            "",
            kib(one.bytes),
            "",
            "",
            one.mask_us.p50,
            "",
            one.size
        ),
    }
}

fn print_means(lines: &[Line]) {
    let both: Vec<(&Measured, &Measured, &Measured)> = lines
        .iter()
        .filter_map(|line| match (&line.one, &line.many, &line.peer) {
            (Ok(one), Ok(many), Some(Ok(peer))) => Some((one, many, peer)),
            _ => None,
        })
        .collect();
    if both.is_empty() {
        return;
    }
    let mean = |of: &dyn Fn(&(&Measured, &Measured, &Measured)) -> f64| {
        geometric_mean(both.iter().map(of))
    };
    let least = both
        .iter()
        .map(|(one, _, peer)| peer.build_us / one.build_us)
        .fold(f64::INFINITY, f64::min);
    println!(
        "\ngeometric means over {} patterns that both build: {:.1} times faster on one thread \
         (first build {:.1}), {:.1} on all; least on one thread {least:.1}; {:.1} times smaller, \
         {:.1} with each engine's vocabulary; masks {:.1} times faster (p50)",
        both.len(),
        mean(&|(one, _, peer)| peer.build_us / one.build_us),
        mean(&|(one, _, peer)| peer.first_us / one.first_us),
        mean(&|(_, many, peer)| peer.build_us / many.build_us),
        mean(&|(one, _, peer)| peer.bytes as f64 / one.bytes.max(1) as f64),
        mean(
            &|(one, _, peer)| (peer.bytes + peer.vocabulary_bytes) as f64
                / (one.bytes + one.vocabulary_bytes) as f64
        ),
        mean(&|(one, _, peer)| peer.mask_us.p50 / one.mask_us.p50),
    );
}

/// Runs a process for an engine and a pattern, and ends it if it takes too long.
fn measure(
    arguments: &Arguments,
    engine: &str,
    pattern: &Pattern,
    threads: usize,
) -> Result<Measured, String> {
    let mut command = child::again(&["--worker", engine])?;
    command.env("RAYON_NUM_THREADS", threads.to_string());
    let mut child = Child::start(command)?;
    let limit = Duration::from_secs_f64(arguments.limit_seconds);
    match child.ask(&pattern.regex, limit) {
        Ok(measured) => measured,
        Err(Silence::Late) => Err(format!("no answer in {} s", arguments.limit_seconds)),
        Err(silence) => Err(silence.to_string()),
    }
}

fn work(arguments: &Arguments, engine: &str) -> Result<(), String> {
    let tokens = Tokens::load(&arguments.tokenizer, arguments.tokens)?;
    child::answer(|regex: String| build_and_walk(engine, &tokens, &regex))
}

fn build_and_walk(engine: &str, tokens: &Tokens, regex: &str) -> Result<Measured, String> {
    // Thread pools and the like are started before anything is counted.
    index_engines::engine(engine, &Tokens::single_byte()?)?.build("a")?;
    let region = Region::new(ALLOCATOR);
    let left = || {
        let change = region.change();
        change.bytes_allocated as isize - change.bytes_deallocated as isize
    };
    let engine = index_engines::engine(engine, tokens)?;
    let vocabulary_bytes = left();
    let start = Instant::now();
    let built = engine.build(regex)?;
    let mut times = vec![start.elapsed().as_secs_f64() * 1e6];
    let bytes = left() - vocabulary_bytes;
    let begin = Instant::now();
    while begin.elapsed() < ENOUGH && times.len() < MOST_BUILDS {
        let start = Instant::now();
        let again = engine.build(regex)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        drop(again);
    }
    let mask_us = index_engines::walk(built.as_ref(), tokens, WALK);
    Ok(Measured {
        first_us: times[0],
        builds: times.len(),
        build_us: Summary::new(times).p50,
        bytes,
        vocabulary_bytes,
        size: built.size(),
        mask_us,
    })
}
