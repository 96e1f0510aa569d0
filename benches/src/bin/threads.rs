//! Masks of texts that are decoded on several threads at once, engines beside each other. For
//! example, `--threads 2` decodes different texts on two threads, which share the index of each
//! schema.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde::{Deserialize, Serialize};
use tokenmold_benches::agreed::{self, Beside};
use tokenmold_benches::program;
use tokenmold_benches::threads::{Pass, Passes, decode};
use tokenmold_benches::worker::Task;

/// Decodes texts on one thread and on several, and measures masks a second and each mask.
///
/// Each engine and number of threads has a process of its own. *cases*: each thread takes the
/// next case, compiles its schema and decodes its texts. *first*: schemas are compiled before
/// and shared by all threads, each takes the next text. *again*: the same texts once more.
#[derive(Parser, Debug)]
struct Arguments {
    #[command(flatten)]
    beside: Beside,

    /// The number of threads (default: 1 and 2). May be given several times.
    #[arg(long, default_values_t = [1, 2])]
    threads: Vec<usize>,

    /// Time that all passes of a process may take, in seconds.
    #[arg(long, default_value_t = 600)]
    run_seconds: u64,
}

#[derive(Serialize, Deserialize)]
struct Job {
    tasks: Vec<Task>,
    threads: usize,
}

/// A process.
#[derive(Debug, Serialize)]
struct Line {
    engine: String,
    threads: usize,
    passes: Passes,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.beside.worker {
        Some(name) => arguments.beside.work(name, |engine, words, job: Job| {
            decode(engine, &job.tasks, job.threads, words)
        }),
        None => lead(&arguments),
    };
    program::end("threads", result)
}

fn lead(arguments: &Arguments) -> Result<(), String> {
    let tasks = arguments.beside.tasks::<Job>()?;
    println!(
        "pass   threads engine         masks/s   x 1t   mask us p50      p99    p99.9      max  compile us p50      p99"
    );
    let mut lines: Vec<Line> = Vec::new();
    for &threads in &arguments.threads {
        for engine in arguments.beside.names()? {
            let job = Job {
                tasks: tasks.clone(),
                threads,
            };
            let limit = Duration::from_secs(arguments.run_seconds);
            lines.push(Line {
                passes: agreed::ask(&engine, threads, job, limit)?,
                engine,
                threads,
            });
        }
    }
    type Of = fn(&Passes) -> &Pass;
    let passes: [(&str, Of); 3] = [
        ("cases", |p| &p.cases),
        ("first", |p| &p.first),
        ("again", |p| &p.again),
    ];
    for (name, of) in passes {
        for line in &lines {
            print(name, line, of(&line.passes), &lines, of);
        }
    }
    program::write_report(arguments.beside.report.as_deref(), &lines)
}

fn print(name: &str, line: &Line, pass: &Pass, lines: &[Line], of: fn(&Passes) -> &Pass) {
    let rate = pass.masks_per_second();
    let one = lines
        .iter()
        .find(|other| other.engine == line.engine && other.threads == 1);
    let more = one.map_or("-".to_owned(), |one| {
        format!("{:.2}", rate / of(&one.passes).masks_per_second())
    });
    let masks = &pass.mask_us;
    print!(
        "{name:6} {:7} {:12} {rate:9.0} {more:>6} {:13.2} {:8.1} {:8.1} {:8.0}",
        line.threads, line.engine, masks.p50, masks.p99, masks.p999, masks.max
    );
    match pass.compile_us.count {
        0 => println!(),
        _ => println!(" {:15.0} {:8.0}", pass.compile_us.p50, pass.compile_us.p99),
    }
}
