//! Leads the accepted texts of grammars' cases and measures compiles, masks and advances.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use fsm_index::MaskBuffer;
use tokenmold_benches::engines::{Session, Setup};
use tokenmold_benches::grammars::{self, Case};
use tokenmold_benches::program;
use tokenmold_benches::spell::Speller;
use tokenmold_benches::stats::Summary;

/// Measures grammars: compile, first mask, masks and advances, an engine after the other on
/// each text. A fresh compile for each grammar; its texts share it.
#[derive(Parser, Debug)]
struct Arguments {
    /// A `tokenizer.json`.
    #[arg(long)]
    tokenizer: PathBuf,

    /// The cases, a JSON object a line.
    #[arg(long)]
    cases: PathBuf,

    /// An engine: tokenmold or llguidance (Lark under greedy lexing alone). May be given
    /// several times.
    #[arg(long = "engine", default_value = "tokenmold")]
    engines: Vec<String>,

    /// Only cases with this in their names.
    #[arg(long, default_value = "")]
    only: String,

    /// Only grammars of so many bytes, at least.
    #[arg(long, default_value_t = 0)]
    least: usize,

    /// Tokens of all texts of a case, at most.
    #[arg(long, default_value_t = 1_200)]
    tokens: usize,

    /// Prints a line a case.
    #[arg(long)]
    each: bool,
}

fn main() -> ExitCode {
    program::end("grammarbench", run(&Arguments::parse()))
}

/// What one engine took.
#[derive(Default)]
struct Times {
    compile: Vec<u64>,
    first: Vec<u64>,
    masks: Vec<u64>,
    advances: Vec<u64>,
    failed: usize,
}

impl Times {
    fn show(&self, what: &str) {
        let line = |name: &str, values: &[u64]| {
            let s = Summary::of_nanoseconds(values);
            format!(
                "{name} avg {:.1} p50 {:.1} p90 {:.1} p99 {:.1} max {:.1} us ({})",
                s.avg, s.p50, s.p90, s.p99, s.max, s.count
            )
        };
        println!("{what}: {} failed", self.failed);
        println!("  {}", line("compile", &self.compile));
        println!("  {}", line("first mask", &self.first));
        println!("  {}", line("mask", &self.masks));
        println!("  {}", line("advance", &self.advances));
    }

    fn add(&mut self, other: &Times) {
        self.compile.extend(&other.compile);
        self.first.extend(&other.first);
        self.masks.extend(&other.masks);
        self.advances.extend(&other.advances);
        self.failed += other.failed;
    }
}

type Compile<'a> = Box<dyn Fn(&Case) -> Result<Box<dyn Fn() -> Box<dyn Session>>, String> + 'a>;

fn engine<'a>(name: &str, setup: &'a Setup) -> Result<Compile<'a>, String> {
    match name {
        "tokenmold" => Ok(Box::new(|case| {
            let compiled = grammars::Compiled::new(&case.grammar, case.dialect, &setup.vocabulary)?;
            Ok(Box::new(move || compiled.session()) as Box<dyn Fn() -> Box<dyn Session>>)
        })),
        #[cfg(feature = "peers")]
        "llguidance" => {
            let peer = tokenmold_benches::engines::llguidance::LlGuidance::new(setup)?;
            Ok(Box::new(move |case| {
                if case.dialect != grammar::Dialect::Lark {
                    return Err("llguidance is measured on its own dialect alone".to_owned());
                }
                let sessions = peer.lark(&case.grammar)?;
                Ok(Box::new(sessions) as Box<dyn Fn() -> Box<dyn Session>>)
            }))
        }
        _ => Err(format!("there is no engine {name}")),
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let (vocabulary, speller) = program::vocabulary_and_speller(&arguments.tokenizer)?;
    let setup = Setup::measured(vocabulary);
    let engines = arguments.engines.iter().map(|name| engine(name, &setup));
    let engines: Vec<Compile<'_>> = engines.collect::<Result<_, _>>()?;
    let mut all: Vec<Times> = engines.iter().map(|_| Times::default()).collect();
    let mut cases = grammars::read(&arguments.cases)?;
    cases.retain(|case| {
        !case.is_error
            && case.id.contains(&arguments.only)
            && case.grammar.len() >= arguments.least
            && case.texts.iter().any(|text| text.accept && !text.disputed)
    });
    for case in &cases {
        let texts = spelt(case, &speller, arguments.tokens);
        let measured: Vec<Option<Times>> = engines
            .iter()
            .map(|compile| measure(case, compile, &texts, &setup))
            .collect();
        // Only what every engine takes is compared.
        if measured.iter().any(Option::is_none) {
            continue;
        }
        for (number, times) in measured.iter().flatten().enumerate() {
            if arguments.each {
                times.show(&format!("{} {}", case.id, arguments.engines[number]));
            }
            all[number].add(times);
        }
    }
    for (times, name) in all.iter().zip(&arguments.engines) {
        times.show(&format!("all, {name}"));
    }
    Ok(())
}

/// The accepted texts as tokens, the longest first, up to so many tokens together.
fn spelt(case: &Case, speller: &Speller, most: usize) -> Vec<Vec<u32>> {
    let accepted = case
        .texts
        .iter()
        .filter(|text| text.accept && !text.disputed);
    let mut texts: Vec<&str> = accepted.map(|text| text.text.as_str()).collect();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut left = most;
    let mut out = Vec::new();
    for text in texts {
        if let Some(mut tokens) = speller.spell(text) {
            tokens.truncate(left);
            left -= tokens.len();
            out.push(tokens);
        }
        if left == 0 {
            break;
        }
    }
    out
}

fn nanoseconds(since: Instant) -> u64 {
    let elapsed: Duration = since.elapsed();
    elapsed.as_nanos() as u64
}

fn measure(case: &Case, compile: &Compile<'_>, texts: &[Vec<u32>], setup: &Setup) -> Option<Times> {
    let mut times = Times::default();
    let begin = Instant::now();
    let sessions = compile(case).ok()?;
    times.compile.push(nanoseconds(begin));
    let mut buffer = MaskBuffer::new(setup.vocabulary.width());
    for text in texts {
        let mut session = sessions();
        for at in 0..=text.len() {
            let begin = Instant::now();
            let made = session.mask(&mut buffer);
            let took = nanoseconds(begin);
            match times.first.is_empty() {
                true => times.first.push(took),
                false => times.masks.push(took),
            }
            if made.is_err() {
                times.failed += 1;
                break;
            }
            let Some(&token) = text.get(at) else {
                break;
            };
            let begin = Instant::now();
            if session.advance(token).is_err() {
                times.failed += 1;
                break;
            }
            times.advances.push(nanoseconds(begin));
        }
    }
    Some(times)
}
