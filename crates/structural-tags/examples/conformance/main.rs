//! Runs golden cases of structural tags: `cargo run --release -p structural-tags --example
//! conformance -- FILE`. The program `conformance` of the benches does the same.

use std::path::PathBuf;
use std::process::ExitCode;

#[allow(unreachable_pub)]
mod cases;

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("conformance: name a file of cases");
        return ExitCode::from(2);
    };
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
