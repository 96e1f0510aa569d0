//! Counts what makes the sources easy or hard to carry on, and compares the counts with those
//! that are written down.
//!
//! For example, `scripts/house` prints `circles of folders 11` and fails if
//! `scripts/house.toml` says 10, and `scripts/house --list 'circles of folders'` prints the
//! folders of each circle.

mod counts;
mod crates;
mod frozen;
mod imports;
mod items;
#[cfg(test)]
mod tests;
mod tokens;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;

/// Counts what makes the sources easy or hard to carry on.
#[derive(Parser)]
struct Arguments {
    /// Writes what is counted now into the file, higher or lower.
    #[arg(long)]
    write: bool,
    /// Prints the places behind a count instead of all counts.
    #[arg(long, value_name = "COUNT")]
    list: Option<String>,
    /// The file with the counts that must not get worse.
    #[arg(long, default_value = "scripts/house.toml")]
    file: PathBuf,
    /// The workspace.
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let file = arguments.root.join(&arguments.file);
    let frozen = frozen::Frozen::read(&file)?;
    let crates = crates::read(&arguments.root, &frozen.settings.left_out)?;
    let counts = counts::of(&crates, &frozen.settings);
    if let Some(name) = arguments.list {
        let count = counts
            .iter()
            .find(|count| count.name == name)
            .with_context(|| format!("no count is named `{name}`"))?;
        for place in &count.places {
            println!("{place}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let worse = frozen.compare(&counts);
    if arguments.write {
        frozen.write(&file, &counts)?;
        return Ok(ExitCode::SUCCESS);
    }
    if worse.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "worse than {} says:\n{}\nEither mend it, or write the new figures down with \
         `scripts/house --write` and say in the commit why they had to rise.",
        arguments.file.display(),
        worse.join("\n")
    );
    Ok(ExitCode::FAILURE)
}
