//! Runs inputs that mean harm, each in a process of its own, and says what each costs.
//!
//! Inputs are made by the generators of this program, a file a class: schemas, regular expressions,
//! grammars, structural tags, chat templates, tokenizer files, saved indexes, responses, model files. An input must end within
//! the bounds below, by a result or by an error. A panic, an abort, a text that was begun under
//! masks and cannot be finished, a finished text that is not valid, or a message longer than anyone
//! reads is over whatever it cost.
//!
//! For example, an `enum` of 200,000 integers must compile, or be refused, within a second.

mod grammars;
mod harness;
mod indexes;
#[cfg(feature = "models")]
mod models;
mod notations;
mod regexes;
mod responses;
mod schemas;
mod tags;
mod templates;
mod tokenizers;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;
use tokenmold_benches::program;

use self::harness::bounds;
use self::harness::case::{Case, MakeCases};
use self::harness::process::{self, Ended};

/// Runs hostile inputs under limits of time and memory; ends with how many stayed within
/// their bounds.
#[derive(Parser, Debug)]
struct Arguments {
    /// Only classes or inputs whose name contains this.
    #[arg(long, default_value = "")]
    only: String,

    /// Lists the inputs instead of running them.
    #[arg(long)]
    list: bool,

    /// A real `tokenizer.json` for walks under masks, beside the small vocabulary (default:
    /// `tokenizers/llama3_1` of the folder that TOKENMOLD_DATA names, if it is there).
    #[arg(long)]
    tokenizer: Option<PathBuf>,

    /// The number of inputs that run at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,

    /// Runs one input in this process: the number of its maker and its own, `3/14`.
    #[arg(long, hide = true)]
    child: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let makers = makers(real_tokenizer(&arguments));
    if let Some(place) = &arguments.child {
        return process::child(&makers, place);
    }
    program::end("hostile", run(&arguments, &makers))
}

fn makers(tokenizer: Option<PathBuf>) -> Vec<MakeCases> {
    let mut makers = schemas::makers(tokenizer.clone());
    let walked: [fn(Option<PathBuf>) -> Vec<Case>; 3] =
        [regexes::cases, grammars::cases, tags::cases];
    for cases in walked {
        let tokenizer = tokenizer.clone();
        makers.push(Box::new(move || cases(tokenizer.clone())));
    }
    makers.push(Box::new(templates::cases));
    makers.push(Box::new(tokenizers::cases));
    makers.push(Box::new(indexes::cases));
    makers.push(Box::new(responses::cases));
    #[cfg(feature = "models")]
    makers.push(Box::new(models::cases));
    makers
}

fn real_tokenizer(arguments: &Arguments) -> Option<PathBuf> {
    if let Some(path) = &arguments.tokenizer {
        return Some(path.clone());
    }
    let data = PathBuf::from(std::env::var_os("TOKENMOLD_DATA")?);
    let file = data.join("tokenizers/llama3_1/tokenizer.json");
    file.is_file().then_some(file)
}

fn run(arguments: &Arguments, makers: &[MakeCases]) -> Result<(), String> {
    let mut chosen: Vec<(String, Case)> = Vec::new();
    for (maker, make) in makers.iter().enumerate() {
        let cases = make().into_iter().enumerate();
        let only = &arguments.only;
        chosen.extend(
            cases
                .filter(|(_, case)| case.class.contains(only) || case.name.contains(only))
                .map(|(at, case)| (format!("{maker}/{at}"), case)),
        );
    }
    if arguments.list {
        for (_, case) in &chosen {
            println!("{:<10} {}", case.class, case.name);
        }
        println!("{} inputs", chosen.len());
        return Ok(());
    }
    println!("{}", bounds::DESCRIPTION);
    match real_tokenizer(arguments) {
        Some(path) => println!("real vocabulary: {}", path.display()),
        None => println!("no real vocabulary: only the small one is walked"),
    }
    let next = AtomicUsize::new(0);
    let over: Mutex<Vec<String>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs.max(1) {
            scope.spawn(|| {
                while let Some((at, case)) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ended = process::run(at, case.class);
                    let line = format!("{:<10} {:<56} {ended}", case.class, cut(&case.name, 56));
                    let Ok(mut over) = over.lock() else { return };
                    println!("{line}");
                    if !ended.is_within() {
                        over.push(line);
                    }
                }
            });
        }
    });
    let over = over.into_inner().map_err(|e| e.to_string())?;
    if !over.is_empty() {
        println!("\nover:");
        for line in &over {
            println!("{line}");
        }
    }
    println!(
        "\n{} within bounds, {} over",
        chosen.len() - over.len(),
        over.len()
    );
    match over.is_empty() {
        true => Ok(()),
        false => Err(format!("{} inputs over their bounds", over.len())),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 2).chain("..".chars()).collect(),
        false => text.to_owned(),
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = if self.is_within() { "   " } else { "OVER " };
        write!(
            f,
            "{mark}{:>7.2} s {:>5} MiB  ",
            self.wall,
            self.memory >> 20
        )?;
        f.write_str(&cut(&self.what, 110))
    }
}
