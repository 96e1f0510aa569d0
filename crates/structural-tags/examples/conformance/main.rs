//! Runs golden cases of structural tags: `cargo run --release -p structural-tags --example
//! conformance -- FILE`. The program `conformance` of the benches does the same.
//!
//! `conformance -- recorded FILE [TOKENIZERS]` says how many recorded outputs of models are accepted under the masks of
//! their families: by text, or by their tokens with the tokenizers of a folder.

use std::path::PathBuf;
use std::process::ExitCode;

#[allow(unreachable_pub)]
mod cases;
mod recorded;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let Some(file) = arguments.next() else {
        eprintln!("conformance: name a file of cases");
        return ExitCode::from(2);
    };
    if file.as_os_str() == "recorded" {
        return recorded_outputs(arguments.next(), arguments.next());
    }
    let ran = cases::run(&file, &mut |difference| {
        println!("{}", difference.id);
        println!("  expected {}", difference.expected);
        println!("  got      {}", difference.got);
        if let Some(why) = &difference.disputed {
            println!("  disputed {why}");
        }
    });
    match ran {
        Ok(groups) => {
            let (mut passed, mut failed, mut disputed) = (0, 0, 0);
            for (group, outcome) in &groups {
                println!(
                    "{group:24} {:>4} passed, {:>3} failed, of these {:>3} disputed",
                    outcome.passed, outcome.failed, outcome.disputed
                );
                passed += outcome.passed;
                failed += outcome.failed;
                disputed += outcome.disputed;
            }
            println!("disputed: {disputed}");
            println!("{passed} passed, {failed} failed");
            ExitCode::from(u8::from(failed > 0))
        }
        Err(message) => {
            eprintln!("conformance: {message}");
            ExitCode::from(2)
        }
    }
}

fn recorded_outputs(file: Option<PathBuf>, tokenizers: Option<PathBuf>) -> ExitCode {
    let Some(file) = file else {
        eprintln!("conformance: name a file of recorded outputs");
        return ExitCode::from(2);
    };
    let by = match &tokenizers {
        Some(folder) => recorded::By::Tokens(folder),
        None => recorded::By::Text,
    };
    match recorded::run(&file, by, &mut |id, what| println!("{id}: {what}")) {
        Ok(families) => {
            let width = families.keys().map(String::len).max().unwrap_or(0);
            let mut all = recorded::Figures::default();
            for (family, figures) in &families {
                println!("{family:width$} {figures}");
                all += *figures;
            }
            println!("{:width$} {all}", "all");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("conformance: {message}");
            ExitCode::from(2)
        }
    }
}
