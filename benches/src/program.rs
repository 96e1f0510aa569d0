//! The common parts of the programs: they choose cases, read tokenizers, report and end. For
//! example, `--only 3` chooses the cases whose id has a `3`.

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Termination};

use clap::Args;
use fsm_index::Vocabulary;
use serde::Serialize;

use crate::cases::{self, Case};
use crate::spell::Speller;

/// The arguments by which a program is told its cases.
#[derive(Args, Clone, Debug)]
pub struct Chosen {
    /// Cases, one a line: {"id", "schema", "tests": [{"valid", "text"}]}.
    #[arg(long)]
    pub cases: PathBuf,

    /// Only so many cases, chosen by a shuffle.
    #[arg(long)]
    pub sample: Option<usize>,

    /// Seeds the shuffle.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    pub only: String,
}

impl Chosen {
    /// Reads the file and chooses.
    ///
    /// # Errors
    ///
    /// As [`cases::read`].
    pub fn read(&self) -> Result<Vec<Case>, String> {
        let mut cases = cases::read(&self.cases)?;
        if let Some(count) = self.sample {
            cases = cases::sample(cases, count, self.seed);
        }
        cases.retain(|case| case.id.contains(&self.only));
        Ok(cases)
    }
}

/// The vocabulary of a `tokenizer.json`.
///
/// # Errors
///
/// The file cannot be read, or is no tokenizer; the message names it.
pub fn vocabulary(path: &Path) -> Result<Vocabulary, String> {
    Ok(read_vocabulary(path)?.1)
}

/// The vocabulary of a `tokenizer.json`, and what spells texts in it.
///
/// # Errors
///
/// As [`vocabulary`].
pub fn vocabulary_and_speller(path: &Path) -> Result<(Vocabulary, Speller), String> {
    let (json, vocabulary) = read_vocabulary(path)?;
    let speller = Speller::from_tokenizer_json(&json, &vocabulary);
    let speller = speller.map_err(|e| format!("{}: {e}", path.display()))?;
    Ok((vocabulary, speller))
}

fn read_vocabulary(path: &Path) -> Result<(Vec<u8>, Vocabulary), String> {
    let json = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let vocabulary = Vocabulary::from_tokenizer_json(&json);
    let vocabulary = vocabulary.map_err(|e| format!("{}: {e}", path.display()))?;
    Ok((json, vocabulary))
}

/// Writes a report as JSON, where one is asked for.
///
/// # Errors
///
/// The file cannot be written.
pub fn write_report(path: Option<&Path>, report: &impl Serialize) -> Result<(), String> {
    let Some(path) = path else {
        return Ok(());
    };
    let text = serde_json::to_string_pretty(report).map_err(|e| e.to_string())?;
    std::fs::write(path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))
}

/// The status of a program that did what it was asked, or the reason why not on the standard
/// error, and status 1.
pub fn end<T: Termination>(name: &str, result: Result<T, String>) -> ExitCode {
    match result {
        Ok(done) => done.report(),
        Err(message) => {
            eprintln!("{name}: {message}");
            ExitCode::from(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_chosen_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cases.jsonl");
        let lines: String = (0..9)
            .map(|n| format!("{{\"id\": \"case {n}\", \"schema\": true}}\n"))
            .collect();
        std::fs::write(&file, lines).unwrap();
        let mut chosen = Chosen {
            cases: file,
            sample: None,
            seed: 1,
            only: String::new(),
        };
        assert_eq!(chosen.read().unwrap().len(), 9);
        chosen.sample = Some(4);
        assert_eq!(chosen.read().unwrap().len(), 4);
        chosen.sample = None;
        chosen.only = "3".to_owned();
        assert_eq!(chosen.read().unwrap()[0].id, "case 3");
        chosen.cases = folder.path().join("nothing");
        assert!(chosen.read().unwrap_err().contains("nothing"));
        assert!(vocabulary(&chosen.cases).is_err_and(|e| e.contains("nothing")));
        assert_eq!(write_report(None, &5), Ok(()));
        assert!(write_report(Some(folder.path()), &5).is_err());
    }
}
