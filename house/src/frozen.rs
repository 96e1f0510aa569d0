//! The counts that are written down, and what is compared with them.
//!
//! For example, `"functions over 100 lines" = 36` under `[counts]` fails where there are 37.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::counts::{Better, Count};

/// The file with the counts.
#[derive(Default, Deserialize, Serialize)]
pub(crate) struct Frozen {
    pub(crate) settings: Settings,
    #[serde(default)]
    counts: BTreeMap<String, f64>,
}

/// The parts of the house that some counts are about.
#[derive(Default, Deserialize, Serialize)]
pub(crate) struct Settings {
    /// Crates that are not counted.
    pub(crate) left_out: Vec<String>,
    /// Crates that only measure: their lines are counted apart.
    pub(crate) measuring: Vec<String>,
    /// Crates whose open functions and fields are counted.
    pub(crate) schema_crates: Vec<String>,
    /// Crates whose public items are for another crate of the workspace, but for those that this one
    /// shows to everybody.
    #[serde(default)]
    pub(crate) inner_crates: Vec<String>,
    /// The folder whose public traits are what a walk may ask of an automaton.
    pub(crate) walk_folder: String,
    /// Lists that should stand in one file, by name.
    pub(crate) lists: BTreeMap<String, List>,
}

/// Words that stand together in a file where it lists all of something.
#[derive(Deserialize, Serialize)]
pub(crate) struct List {
    /// The number of different words from which on a file lists them.
    pub(crate) from: usize,
    /// Names in the code, or strings with their quotation marks.
    pub(crate) words: Vec<String>,
}

impl Frozen {
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        toml::from_str(&text).with_context(|| file.display().to_string())
    }

    /// Prints each count beside the one written down, and returns a line for each that is worse.
    pub(crate) fn compare(&self, counts: &[Count]) -> Vec<String> {
        let mut worse = Vec::new();
        for count in counts {
            let now = count.figure;
            let Some(&before) = self.counts.get(&count.name) else {
                println!("{now:>9}  {}  (not written down)", count.name);
                continue;
            };
            let is_worse = match count.better {
                Better::Lower => now > before,
                Better::Higher => now < before,
            };
            let note = if is_worse {
                let line = format!("{}: {now}, was {before}", count.name);
                worse.push(line);
                format!("  WORSE than {before}")
            } else if now == before {
                String::new()
            } else {
                format!("  was {before}")
            };
            println!("{now:>9}  {}{note}", count.name);
        }
        worse
    }

    pub(crate) fn write(self, file: &Path, counts: &[Count]) -> anyhow::Result<()> {
        let counts = counts
            .iter()
            .map(|count| (count.name.clone(), count.figure))
            .collect();
        let text = toml::to_string_pretty(&Self {
            settings: self.settings,
            counts,
        })?;
        fs::write(file, text).with_context(|| file.display().to_string())
    }
}
