//! The plain path, schema to regular expression to eager index, beside that of outlines-core, over
//! a sample of cases: what each compiles, what it gets wrong, and what it costs. For example,
//! `{"type": "boolean"}` becomes `true|false`, and that an index of a few states.

use std::alloc::System;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokenmold_benches::cases::{self, Case};
use tokenmold_benches::child::{self, Child, Silence};
use tokenmold_benches::index_engines::{self, Built, Tokens};
use tokenmold_benches::program;
use tokenmold_benches::stats::{Summary, geometric_mean};

/// The allocator, which counts because the memory of an index is the difference of two counts.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of masks that are measured for a case: a hundred, because there are hundreds of
/// cases.
const WALK: usize = 100;

/// Compiles schemas to regular expressions and these to indexes, in two engines.
///
/// Each engine has a process of its own, which is ended and started anew where a case takes
/// too long. Texts are fed byte by byte, as tokens of one byte. Times are of one build.
#[derive(Parser, Debug)]
struct Arguments {
    /// A file of cases (see `maskbench`).
    cases: PathBuf,

    /// A `tokenizer.json` that has a token for each byte.
    #[arg(long)]
    tokenizer: String,

    /// The number of cases, drawn by chance.
    #[arg(long, default_value_t = 200)]
    sample: usize,

    /// The seed of the draw.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Threads for our build. Default: all cores.
    #[arg(long)]
    threads: Option<usize>,

    /// Only the first so many tokens of the vocabulary.
    #[arg(long)]
    tokens: Option<usize>,

    /// Time that a case may take, in seconds, texts and masks included.
    #[arg(long, default_value_t = 20.0)]
    limit_seconds: f64,

    /// Without outlines-core.
    #[arg(long)]
    alone: bool,

    /// Also write what was measured of each case as JSON.
    #[arg(long)]
    report: Option<PathBuf>,

    /// Be the process of that engine.
    #[arg(long, hide = true)]
    worker: Option<String>,
}

/// The figures of one engine for one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Measured {
    /// From the schema to the expression, in microseconds.
    regex_us: f64,
    /// From the expression to the index, in microseconds.
    index_us: f64,
    /// Length of the expression, in bytes.
    regex_bytes: usize,
    /// Bytes that the index keeps allocated.
    index_bytes: isize,
    /// Microseconds until a mask is in the caller's buffer.
    mask_us: Summary,
    /// Valid texts that are not accepted.
    rejected: usize,
    /// Invalid texts that are accepted.
    accepted: usize,
}

impl Measured {
    fn build_us(&self) -> f64 {
        self.regex_us + self.index_us
    }
}

/// All of one case.
#[derive(Debug, Serialize)]
struct Line {
    id: String,
    ours: Result<Measured, String>,
    peer: Option<Result<Measured, String>>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.worker {
        Some(engine) => work(&arguments, engine),
        None => lead(&arguments),
    };
    program::end("regexpath", result)
}

fn lead(arguments: &Arguments) -> Result<(), String> {
    let all = cases::read(&arguments.cases)?;
    let sample = cases::sample(all, arguments.sample, arguments.seed);
    let mut ours = Worker::new(arguments, "tokenmold");
    let mut peer = (cfg!(feature = "peers") && !arguments.alone)
        .then(|| Worker::new(arguments, "outlines-core"));
    let mut lines = Vec::new();
    for case in &sample {
        lines.push(Line {
            id: case.id.clone(),
            ours: ours.measure(case),
            peer: peer.as_mut().map(|p| p.measure(case)),
        });
    }
    let texts: usize = sample.iter().map(|c| c.tests.len()).sum();
    println!(
        "{} cases, {texts} texts, {}",
        sample.len(),
        arguments.tokenizer
    );
    print_coverage("tokenmold", lines.iter().map(|l| &l.ours));
    if peer.is_some() {
        print_coverage(
            "outlines-core",
            lines.iter().filter_map(|l| l.peer.as_ref()),
        );
        print_both(&lines);
    }
    program::write_report(arguments.report.as_deref(), &lines)
}

fn print_coverage<'l>(name: &str, results: impl Iterator<Item = &'l Result<Measured, String>>) {
    let (mut built, mut right, mut rejected, mut accepted) = (Vec::new(), 0, 0, 0);
    let (mut late, mut refused) = (0, 0);
    for result in results {
        match result {
            Ok(m) => {
                right += usize::from(m.rejected + m.accepted == 0);
                rejected += m.rejected;
                accepted += m.accepted;
                built.push(m);
            }
            Err(e) if e.starts_with(LATE) => late += 1,
            Err(_) => refused += 1,
        }
    }
    let times = Summary::new(built.iter().map(|m| m.build_us()).collect());
    println!(
        "{name}: {} compiled ({right} with every text right), {refused} refused, {late} too late; \
         {rejected} valid texts rejected, {accepted} invalid accepted; build p50 {:.0} us, p99 \
         {:.0}, max {:.0}",
        built.len(),
        times.p50,
        times.p99,
        times.max
    );
}

fn print_both(lines: &[Line]) {
    let both: Vec<(&Measured, &Measured)> = lines
        .iter()
        .filter_map(|l| match (&l.ours, &l.peer) {
            (Ok(ours), Some(Ok(peer))) => Some((ours, peer)),
            _ => None,
        })
        .collect();
    if both.is_empty() {
        return println!("no case is compiled by both");
    }
    let line = |what: &str, of: &dyn Fn(&Measured) -> f64| {
        let ratio = |(ours, peer): &(&Measured, &Measured)| of(peer) / of(ours).max(1e-3);
        let ratios = Summary::new(both.iter().map(ratio).collect());
        let least = both.iter().map(ratio).fold(f64::INFINITY, f64::min);
        let ours = Summary::new(both.iter().map(|b| of(b.0)).collect());
        let peer = Summary::new(both.iter().map(|b| of(b.1)).collect());
        println!(
            "{what:<10} ours p50 {:>10.1} p99 {:>10.1} max {:>10.1}; peer p50 {:>10.1} p99 {:>11.1} \
             max {:>11.1}; peer/ours mean {:>7.1} p50 {:>7.1} least {least:>5.2}",
            ours.p50,
            ours.p99,
            ours.max,
            peer.p50,
            peer.p99,
            peer.max,
            geometric_mean(both.iter().map(|b| ratio(b).max(1e-9))),
            ratios.p50,
        );
    };
    println!(
        "{} cases that both compile; the mean is the geometric one",
        both.len()
    );
    line("build us", &Measured::build_us);
    line("index us", &|m| m.index_us);
    line("mask us", &|m| m.mask_us.p50);
    line("mask p99", &|m| m.mask_us.p99);
    line("KiB", &|m| m.index_bytes as f64 / 1024.0);
}

/// The beginning of the message of a case that took too long, by which it is counted apart, because
/// messages are all that is kept of failures.
const LATE: &str = "no answer";

/// The process of an engine, started anew after a case that took too long.
struct Worker<'a> {
    arguments: &'a Arguments,
    engine: &'static str,
    running: Option<Child>,
}

impl<'a> Worker<'a> {
    fn new(arguments: &'a Arguments, engine: &'static str) -> Self {
        Worker {
            arguments,
            engine,
            running: None,
        }
    }

    fn start(&self) -> Result<Child, String> {
        let mut command = child::again(&["--worker", self.engine])?;
        if let Some(threads) = self.arguments.threads {
            command.env("RAYON_NUM_THREADS", threads.to_string());
        }
        Child::start(command).map_err(|e| format!("{}: {e}", self.engine))
    }

    fn measure(&mut self, case: &Case) -> Result<Measured, String> {
        let mut child = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        let limit = Duration::from_secs_f64(self.arguments.limit_seconds);
        match child.ask::<Result<Measured, String>>(case, limit) {
            Ok(measured) => {
                self.running = Some(child);
                measured
            }
            Err(Silence::Late) => Err(format!("{LATE} in {limit:?}")),
            Err(silence) => Err(silence.to_string()),
        }
    }
}

fn work(arguments: &Arguments, name: &str) -> Result<(), String> {
    let tokens = Tokens::load(&arguments.tokenizer, arguments.tokens)?;
    // Thread pools and the like are started before anything is counted.
    index_engines::engine(name, &Tokens::single_byte()?)?.build("a")?;
    let engine = index_engines::engine(name, &tokens)?;
    let bytes = single_bytes(&tokens);
    child::answer(|case: Case| measure(name, engine.as_ref(), &tokens, &bytes, &case))
}

/// The token of each byte, where there is one.
fn single_bytes(tokens: &Tokens) -> Vec<Option<u32>> {
    let mut out = vec![None; 256];
    for (token, bytes) in tokens.vocabulary.texts() {
        if let [byte] = bytes {
            out[usize::from(*byte)] = Some(token.get());
        }
    }
    out
}

fn measure(
    name: &str,
    engine: &dyn index_engines::Builder,
    tokens: &Tokens,
    bytes: &[Option<u32>],
    case: &Case,
) -> Result<Measured, String> {
    let start = Instant::now();
    let regex = regex_of(name, &case.schema)?;
    let regex_us = start.elapsed().as_secs_f64() * 1e6;
    let region = Region::new(ALLOCATOR);
    let start = Instant::now();
    let built = engine.build(&regex)?;
    let index_us = start.elapsed().as_secs_f64() * 1e6;
    let change = region.change();
    let (mut rejected, mut accepted) = (0, 0);
    for test in &case.tests {
        match (
            test.valid,
            accepts(built.as_ref(), tokens, bytes, &test.text),
        ) {
            (true, false) => rejected += 1,
            (false, true) => accepted += 1,
            _ => {}
        }
    }
    Ok(Measured {
        regex_us,
        index_us,
        regex_bytes: regex.len(),
        index_bytes: change.bytes_allocated as isize - change.bytes_deallocated as isize,
        mask_us: index_engines::walk(built.as_ref(), tokens, WALK),
        rejected,
        accepted,
    })
}

fn regex_of(name: &str, schema: &Value) -> Result<String, String> {
    match name {
        "tokenmold" => {
            let options = schema_regex::Options::default();
            schema_regex::parse(schema)
                .and_then(|schema| schema_regex::to_regex(&schema, &options))
                .map_err(|e| e.to_string())
        }
        #[cfg(feature = "peers")]
        _ => outlines_core::json_schema::regex_from_value(schema, None, None)
            .map_err(|e| e.to_string()),
        #[cfg(not(feature = "peers"))]
        _ => Err(format!("{name} is not compiled in")),
    }
}

/// Tells whether a text may come and end, taken byte by byte.
fn accepts(built: &dyn Built, tokens: &Tokens, bytes: &[Option<u32>], text: &str) -> bool {
    let mut at = built.text();
    let taken = |b: u8| bytes[usize::from(b)].is_some_and(|t| at.advance(t));
    if !text.bytes().all(taken) {
        return false;
    }
    let mut words = vec![0u32; tokens.vocabulary.width().div_ceil(32)];
    at.mask(&mut words);
    let ends = tokens.vocabulary.ends().iter();
    ends.map(|t| t.get())
        .any(|t| words[t as usize / 32] >> (t % 32) & 1 == 1)
}
