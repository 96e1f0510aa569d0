//! Steps of batches, one mask for each of many texts, engines beside each other. For example,
//! `--rows 16 --threads 2` writes 16 masks a step with two threads.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde::Serialize;
use tokenmold_benches::agreed::{self, Beside};
use tokenmold_benches::batches::{Job, Passes, Steps, run};
use tokenmold_benches::program;

/// Leads batches of texts under many schemas and measures each step: the masks of all texts in
/// one buffer.
///
/// Each engine, size of a batch and number of threads has a process of its own. Schemas are
/// compiled before. *first*: no text was seen before; *again*: the same steps once more.
#[derive(Parser, Debug)]
struct Arguments {
    #[command(flatten)]
    beside: Beside,

    /// The number of texts that are led together (default: 1, 16 and 256). May be given several
    /// times.
    #[arg(long, default_values_t = [1, 16, 256])]
    rows: Vec<usize>,

    /// The number of threads (default: 1 and 2). May be given several times.
    #[arg(long, default_values_t = [1, 2])]
    threads: Vec<usize>,

    /// Masks of a pass; 200 steps are made at least.
    #[arg(long, default_value_t = 50_000)]
    masks: usize,

    /// Time that both passes of a process may take, in seconds.
    #[arg(long, default_value_t = 600)]
    run_seconds: u64,
}

/// A process.
#[derive(Debug, Serialize)]
struct Line {
    engine: String,
    rows: usize,
    threads: usize,
    passes: Passes,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.beside.worker {
        Some(name) => arguments
            .beside
            .work(name, |engine, words, job: Job| run(engine, &job, words)),
        None => lead(&arguments),
    };
    program::end("batches", result)
}

fn lead(arguments: &Arguments) -> Result<(), String> {
    let tasks = arguments.beside.tasks::<Job>()?;
    println!(
        "rows threads pass  engine       steps   us a mask   step us avg      p50      p99    p99.9      max"
    );
    let mut lines: Vec<Line> = Vec::new();
    for &rows in &arguments.rows {
        for &threads in &arguments.threads {
            for engine in arguments.beside.names()? {
                let job = Job {
                    tasks: tasks.clone(),
                    rows,
                    steps: (arguments.masks / rows.max(1)).max(200),
                };
                let limit = Duration::from_secs(arguments.run_seconds);
                let line = Line {
                    passes: agreed::ask(&engine, threads, job, limit)?,
                    engine,
                    rows,
                    threads,
                };
                print("first", &line, &line.passes.first);
                print("again", &line, &line.passes.again);
                lines.push(line);
            }
        }
    }
    program::write_report(arguments.beside.report.as_deref(), &lines)
}

fn print(name: &str, line: &Line, steps: &Steps) {
    let step = &steps.step_us;
    println!(
        "{:4} {:7} {name:5} {:12} {:5} {:11.2} {:13.1} {:8.1} {:8.1} {:8.1} {:8.0}",
        line.rows,
        line.threads,
        line.engine,
        step.count,
        steps.mask_us(),
        step.avg,
        step.p50,
        step.p99,
        step.p999,
        step.max
    );
}
