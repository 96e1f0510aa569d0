//! Leads the accepted texts of grammars' cases and measures compiles, masks and advances. For
//! example, a grammar of sums is compiled once, and its text `1+2` is masked and advanced token by
//! token.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};

use clap::Parser;
use fsm_index::{JSON_TEXT, MaskBuffer, TokenId, TokenKind, Vocabulary};
use serde_json::{Value, json};
use tokenmold_benches::engines::{Session, Setup};
use tokenmold_benches::grammars::{self, Case};
use tokenmold_benches::program;
use tokenmold_benches::spell::Speller;
use tokenmold_benches::stats::{Stopwatch, Summary};

/// Measures grammars: compile, first mask, masks and advances, an engine after the other on
/// each text. A fresh compile for each grammar; its texts share it. Times are those of the
/// processor, those of xgrammar and glrmask aside, so that a busy machine counts little.
#[derive(Parser, Debug)]
struct Arguments {
    /// A `tokenizer.json`.
    #[arg(long)]
    tokenizer: PathBuf,

    /// The cases, a JSON object a line.
    #[arg(long)]
    cases: PathBuf,

    /// An engine: tokenmold, llguidance (Lark under greedy lexing alone), xgrammar, which reads
    /// all Lark as its own, or glrmask=PROGRAM, which does so, too. May be given several times.
    #[arg(long = "engine", default_value = "tokenmold")]
    engines: Vec<String>,

    /// A python with the package `xgrammar`, for that engine.
    #[arg(long, default_value = "python3")]
    python: PathBuf,

    /// Seconds that the engines xgrammar and glrmask may take for a case.
    #[arg(long, default_value_t = 60)]
    limit: u64,

    /// Prints the slowest masks of each case, so many, with the text before.
    #[arg(long, default_value_t = 0)]
    slowest: usize,

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

/// The times of one engine, in nanoseconds.
#[derive(Default)]
struct Times {
    compile: Vec<u64>,
    first: Vec<u64>,
    masks: Vec<u64>,
    advances: Vec<u64>,
    failed: usize,
    /// The reason of the first failure.
    why: Option<String>,
    /// For each mask, the first one included: the number of its text and of its token.
    places: Vec<(usize, usize)>,
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
        let why = self.why.iter().map(|why| format!(": {why}"));
        println!("{what}: {} failed{}", self.failed, why.collect::<String>());
        println!("  {}", line("compile", &self.compile));
        println!("  {}", line("first mask", &self.first));
        println!("  {}", line("mask", &self.masks));
        println!("  {}", line("advance", &self.advances));
    }

    fn fail(&mut self, why: String) {
        self.failed += 1;
        self.why.get_or_insert(why);
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

/// Who is measured.
enum Engine<'a> {
    Here(Compile<'a>),
    Worker(Box<Worker>),
}

fn engine<'a>(name: &str, setup: &'a Setup, arguments: &Arguments) -> Result<Engine<'a>, String> {
    Ok(match name {
        "tokenmold" => {
            // Once for a vocabulary, as where schemas are measured.
            setup.vocabulary.prepare(JSON_TEXT);
            Engine::Here(Box::new(|case| {
                let compiled =
                    grammars::Compiled::new(&case.grammar, case.dialect, &setup.vocabulary)?;
                Ok(Box::new(move || compiled.session()) as Box<dyn Fn() -> Box<dyn Session>>)
            }))
        }
        #[cfg(feature = "peers")]
        "llguidance" => {
            let peer = tokenmold_benches::engines::llguidance::LlGuidance::new(setup)?;
            Engine::Here(Box::new(move |case| {
                if case.dialect != grammar::Dialect::Lark {
                    return Err("llguidance is measured on its own dialect alone".to_owned());
                }
                let sessions = peer.lark(&case.grammar)?;
                Ok(Box::new(sessions) as Box<dyn Fn() -> Box<dyn Session>>)
            }))
        }
        "xgrammar" => {
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/xgrammar_worker.py");
            let mut command = Command::new(&arguments.python);
            command.arg(script);
            Engine::Worker(Box::new(Worker::new(command, setup, arguments.limit)?))
        }
        _ if name.starts_with("glrmask=") => {
            let command = Command::new(name.trim_start_matches("glrmask="));
            Engine::Worker(Box::new(Worker::new(command, setup, arguments.limit)?))
        }
        _ => return Err(format!("there is no engine {name}")),
    })
}

/// An engine in a program of its own, spoken to by lines: `python/xgrammar_worker.py` and
/// `glrmask/src/bin/tokenmold-glrmask-grammars.rs`.
struct Worker {
    child: Child,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn new(mut command: Command, setup: &Setup, limit: u64) -> Result<Worker, String> {
        let mut child = command
            .arg(limit.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", command.get_program().display()))?;
        let answers = child.stdout.take().ok_or("the worker says nothing")?;
        let mut worker = Worker {
            child,
            answers: BufReader::new(answers).lines(),
        };
        let vocabulary = &setup.vocabulary;
        let ids = (0..vocabulary.width() as u32).map(TokenId::new);
        // Tokens that are no text, as an end of text, have no bytes.
        let tokens: Vec<&[u8]> = ids
            .map(|id| match vocabulary.kind(id) {
                TokenKind::Text => vocabulary.token_bytes(id).unwrap_or_default(),
                _ => &[],
            })
            .collect();
        let stops: Vec<u32> = vocabulary.ends().iter().map(|end| end.get()).collect();
        worker.say(&json!({ "tokens": tokens, "stops": stops }))?;
        Ok(worker)
    }

    fn say(&mut self, value: &Value) -> Result<(), String> {
        let input = self.child.stdin.as_mut().ok_or("the worker is gone")?;
        writeln!(input, "{value}").map_err(|e| format!("the worker is gone: {e}"))
    }

    /// Returns the times, or the reason why the grammar is refused.
    fn measure(&mut self, case: &Case, texts: &[Vec<u32>]) -> Result<Times, String> {
        let dialect = case.dialect.name();
        self.say(&json!({ "dialect": dialect, "grammar": case.grammar, "texts": texts }))?;
        let line = self.answers.next().ok_or("the worker has ended")?;
        let said: Value = line
            .map_err(|e| e.to_string())
            .and_then(|line| serde_json::from_str(&line).map_err(|e| e.to_string()))?;
        if let Some(refused) = said["refused"].as_str() {
            return Err(refused.to_owned());
        }
        let all = |key: &str| -> Vec<u64> {
            let values = said[key].as_array().into_iter().flatten();
            values.filter_map(Value::as_u64).collect()
        };
        let mut masks = all("masks");
        let first = masks.drain(..1.min(masks.len())).collect();
        Ok(Times {
            compile: said["compile"].as_u64().into_iter().collect(),
            first,
            masks,
            advances: all("advances"),
            failed: said["failed"].as_u64().unwrap_or(0) as usize,
            why: None,
            places: Vec::new(),
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let (vocabulary, speller) = program::vocabulary_and_speller(&arguments.tokenizer)?;
    let setup = Setup::measured(vocabulary);
    let engines = arguments.engines.iter();
    let engines = engines.map(|name| engine(name, &setup, arguments));
    let mut engines: Vec<Engine<'_>> = engines.collect::<Result<_, _>>()?;
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
        let measured = engines.iter_mut().map(|engine| match engine {
            Engine::Here(compile) => measure(case, compile, &texts, &setup),
            Engine::Worker(worker) => worker.measure(case, &texts),
        });
        let measured: Vec<Result<Times, String>> = measured.collect();
        // Only what every engine takes is compared.
        if measured.iter().any(Result::is_err) {
            for (said, name) in measured.iter().zip(&arguments.engines) {
                if let (Err(error), true) = (said, arguments.each) {
                    println!("{} {name}: refused: {error}", case.id);
                }
            }
            continue;
        }
        for (number, times) in measured.iter().flatten().enumerate() {
            if arguments.slowest > 0 {
                show_slowest(case, times, &texts, &setup.vocabulary, arguments.slowest);
            }
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

/// Prints the slowest masks, each with the end of the text before it.
fn show_slowest(
    case: &Case,
    times: &Times,
    texts: &[Vec<u32>],
    vocabulary: &Vocabulary,
    count: usize,
) {
    let masks = times.first.iter().chain(&times.masks);
    let mut masks: Vec<(u64, (usize, usize))> =
        masks.copied().zip(times.places.iter().copied()).collect();
    masks.sort_unstable_by_key(|mask| std::cmp::Reverse(mask.0));
    for (took, (text, token)) in masks.into_iter().take(count) {
        let tokens = texts[text][token.saturating_sub(12)..token].iter();
        let bytes: Vec<u8> = tokens
            .flat_map(|&id| vocabulary.token_bytes(TokenId::new(id)).unwrap_or_default())
            .copied()
            .collect();
        let before = String::from_utf8_lossy(&bytes).into_owned();
        println!("{}: {:.1} us at {before:?}", case.id, took as f64 / 1e3);
    }
}

fn nanoseconds(since: &Stopwatch) -> u64 {
    since.elapsed().as_nanos() as u64
}

fn measure(
    case: &Case,
    compile: &Compile<'_>,
    texts: &[Vec<u32>],
    setup: &Setup,
) -> Result<Times, String> {
    let mut times = Times::default();
    let begin = Stopwatch::start();
    let sessions = compile(case)?;
    times.compile.push(nanoseconds(&begin));
    let mut buffer = MaskBuffer::new(setup.vocabulary.width());
    for (number, text) in texts.iter().enumerate() {
        let mut session = sessions();
        for at in 0..=text.len() {
            let begin = Stopwatch::start();
            let made = session.mask(&mut buffer);
            let took = nanoseconds(&begin);
            times.places.push((number, at));
            match times.first.is_empty() {
                true => times.first.push(took),
                false => times.masks.push(took),
            }
            if let Err(error) = made {
                times.fail(error);
                break;
            }
            let Some(&token) = text.get(at) else {
                break;
            };
            let begin = Stopwatch::start();
            if let Err(error) = session.advance(token) {
                times.fail(error);
                break;
            }
            times.advances.push(nanoseconds(&begin));
        }
    }
    Ok(times)
}
