//! Measures the memory that schemas cost: the bytes of each while it is kept, and whether a process
//! that compiles and decodes all of them stays bounded. For example, a growth of 10 bytes a case
//! over 3,000 cases is a leak.

use std::alloc::System;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use fsm_index::{IndexConfig, MaskBuffer};
use serde_json::Value;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokenmold_benches::cases::Case;
use tokenmold_benches::child::{self, Child};
use tokenmold_benches::engines::{self, SERVING, Setup};
use tokenmold_benches::memory::{CaseMemory, Question, Soak, Use, measure};
use tokenmold_benches::program::{self, Chosen};
use tokenmold_benches::spell::Speller;
use tokenmold_benches::stats::Summary;
use tokenmold_benches::worker::Task;

/// The allocator, which counts because live bytes are what is measured.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Compiles and decodes all cases in one process against one vocabulary, engine by engine, and
/// counts what is allocated.
///
/// Every allocation of that process is counted: after the vocabulary is read and the engine
/// made, after each schema is compiled, after its texts are decoded, and after it is dropped.
/// Times are not to be compared, because counting takes its own.
#[derive(Parser, Debug)]
struct Arguments {
    /// A `tokenizer.json`; every engine gets the same tokens.
    #[arg(long)]
    tokenizer: PathBuf,

    #[command(flatten)]
    chosen: Chosen,

    /// An engine to run (default: all that can serve). May be given several times.
    #[arg(long = "engine")]
    engines: Vec<String>,

    /// Time after which a case is left and named, in seconds; looked at between masks.
    #[arg(long, default_value_t = 20)]
    limit_seconds: u64,

    /// The number of rounds through all cases.
    #[arg(long, default_value_t = 1)]
    rounds: usize,

    /// After how many cases a point of the curve is printed.
    #[arg(long, default_value_t = 500)]
    every: usize,

    /// Also write what was counted of each case as JSON.
    #[arg(long)]
    report: Option<PathBuf>,

    /// Be the process of that engine.
    #[arg(long, hide = true)]
    worker: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.worker {
        Some(name) => work(&arguments, name),
        None => lead(&arguments),
    };
    program::end("memory", result)
}

/// Bytes that are allocated, once what other threads have been told to do is done.
fn live() -> i64 {
    // The first is begun behind what was handed in before it; the second waits for the threads.
    rayon::scope(|scope| scope.spawn(|_| ()));
    rayon::broadcast(|_| ());
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

fn work(arguments: &Arguments, name: &str) -> Result<(), String> {
    let start = Use::now(live());
    let setup = Setup::measured(program::vocabulary(&arguments.tokenizer)?);
    let mut buffer = MaskBuffer::new(setup.vocabulary.width());
    let engine = engines::engine(name, &setup)?;
    let limit = Duration::from_secs(arguments.limit_seconds);
    child::answer(|question: Question| {
        let answer = match question {
            Question::Use => serde_json::to_value([start, Use::now(live())]),
            Question::Case(task) => {
                serde_json::to_value(measure(engine.as_ref(), task, &mut buffer, limit, &live))
            }
        };
        answer.unwrap_or(Value::Null)
    })
}

fn lead(arguments: &Arguments) -> Result<(), String> {
    let names = match arguments.engines.as_slice() {
        [] => SERVING.iter().map(|name| (*name).to_owned()).collect(),
        names => names.to_vec(),
    };
    let (_, speller) = program::vocabulary_and_speller(&arguments.tokenizer)?;
    let cases = arguments.chosen.read()?;
    let soaks: Vec<Soak> = names
        .iter()
        .map(|name| soak(arguments, name, &cases, &speller))
        .collect::<Result<_, _>>()?;
    print(arguments, &soaks);
    program::write_report(arguments.report.as_deref(), &soaks)
}

/// All cases in one process of an engine. One that breaks is told of as far as it came.
fn soak(
    arguments: &Arguments,
    name: &str,
    cases: &[Case],
    speller: &Speller,
) -> Result<Soak, String> {
    let mut child = Child::start(child::again(&["--worker", name])?)?;
    // A single mask or a compile may exceed the limit; the process is given up much later.
    let patience = Duration::from_secs(arguments.limit_seconds.saturating_mul(10).max(60));
    let [start, made] = child
        .ask::<[Use; 2]>(&Question::Use, patience)
        .map_err(|e| format!("{name}: {e}"))?;
    let mut soak = Soak {
        name: name.to_owned(),
        start,
        made,
        round: cases.len(),
        ..Soak::default()
    };
    println!("\n{name}: MiB after so many cases (resident, allocated), rejected, wrong accepts");
    let line = |cases: usize, now: Use, soak: &Soak| {
        println!(
            "{cases:8} {:9.1} {:9.1} {:6} {:6}",
            mib(now.resident as f64),
            mib(now.live as f64),
            soak.valid_rejected,
            soak.wrong_accepts
        );
    };
    line(0, made, &soak);
    for case in cases.iter().cycle().take(cases.len() * arguments.rounds) {
        let tests = case.tests.iter();
        let spelt = tests.filter_map(|test| Some((speller.spell(&test.text)?, test.valid)));
        let (texts, valid): (Vec<_>, Vec<bool>) = spelt.unzip();
        let task = Task {
            id: case.id.clone(),
            schema: case.schema.clone(),
            texts,
        };
        match child.ask::<CaseMemory>(&Question::Case(task), patience) {
            Ok(found) => {
                if found.late {
                    println!("{}: left after {:.1} s", case.id, found.case_us / 1e6);
                }
                soak.add(&case.id, &valid, found);
            }
            Err(silence) => {
                println!("{}: {silence}; {name} ends here", case.id);
                soak.broken = Some(case.id.clone());
                break;
            }
        }
        if soak.cases.len().is_multiple_of(arguments.every.max(1)) {
            line(soak.cases.len(), soak.end(), &soak);
        }
    }
    line(soak.cases.len(), soak.end(), &soak);
    Ok(soak)
}

fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

fn print(arguments: &Arguments, soaks: &[Soak]) {
    // The cases that every engine took in time, in the first round.
    let round = soaks.iter().map(|soak| soak.round).min().unwrap_or(0);
    let both: Vec<usize> = (0..round)
        .filter(|&at| soaks.iter().all(|soak| soak.took(at)))
        .collect();
    let row = |name: &str, cell: &dyn Fn(&Soak) -> String| {
        print!("{name:44}");
        for soak in soaks {
            print!(" {:>14}", cell(soak));
        }
        println!();
    };
    println!();
    row("", &|s| s.name.clone());
    row("cases", &|s| s.cases.len().to_string());
    row("refused", &|s| s.refused().to_string());
    row("left after the limit", &|s| s.late().count().to_string());
    row("valid texts rejected", &|s| s.valid_rejected.to_string());
    row("wrong accepts", &|s| s.wrong_accepts.to_string());
    type Of = fn(&CaseMemory) -> f64;
    let figures: [(&str, Of); 3] = [
        ("KiB of a schema, compiled", |c| c.compiled as f64 / 1024.0),
        ("KiB of a schema, after its texts", |c| {
            c.held as f64 / 1024.0
        }),
        ("KiB that stay for further schemas", |c| {
            c.stayed as f64 / 1024.0
        }),
    ];
    println!("of {} cases that all take:", both.len());
    for (name, of) in figures {
        type Part = (&'static str, fn(&Summary) -> f64);
        let parts: [Part; 4] = [
            ("avg", |s| s.avg),
            ("p50", |s| s.p50),
            ("p99", |s| s.p99),
            ("max", |s| s.max),
        ];
        for (part, pick) in parts {
            row(&format!("{name}, {part}"), &|s| {
                format!("{:.1}", pick(&s.of(&both, of)))
            });
        }
    }
    println!("of all cases:");
    row("resident MiB at the start", &|s| {
        format!("{:.1}", mib(s.start.resident as f64))
    });
    row("resident MiB, engine made", &|s| {
        format!("{:.1}", mib(s.made.resident as f64))
    });
    type Part = (&'static str, fn(&Summary) -> f64);
    let parts: [Part; 2] = [("p50", |s| s.p50), ("max", |s| s.max)];
    for (part, pick) in parts {
        row(&format!("resident MiB after a case, {part}"), &|s| {
            format!("{:.1}", mib(pick(&s.resident())))
        });
    }
    row("resident MiB at the end", &|s| {
        format!("{:.1}", mib(s.end().resident as f64))
    });
    row("allocated MiB, engine made", &|s| {
        format!("{:.1}", mib(s.made.live as f64))
    });
    for round in 1..=arguments.rounds {
        row(&format!("allocated MiB after round {round}"), &|s| match s
            .cases
            .get((s.round * round).wrapping_sub(1))
        {
            Some((_, case)) => format!("{:.2}", mib(case.after.live as f64)),
            None => "-".to_owned(),
        });
    }
    row("allocated bytes more a case, second half", &|s| {
        format!("{:.0}", s.growth())
    });
    println!(
        "tokenmold states a bound of {} MiB for what a schema remembers (IndexConfig::max_row_bytes)",
        IndexConfig::default().max_row_bytes >> 20
    );
}
