//! A folder of schemas with texts, as SchemaStore's repository is laid out. For example
//! `schemas/json/cargo.json` is asked about `test/cargo/a.json`, which it accepts, and about
//! `negative_test/cargo/b.json`, which it rejects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cases::{Case, Test};
use crate::parent::Outcome;
use crate::suite::{Answer, Counts, answers, task};
use crate::worker::Task;

/// A folder that was read.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// A case for each schema, by the names of their files.
    pub cases: Vec<Case>,
    /// Texts that are no JSON, by the endings of their files: they are not asked.
    pub other: BTreeMap<String, usize>,
}

/// The results for the schemas of a folder.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Schemas that were compiled.
    pub compiled: usize,
    /// Schemas that were not, by reason, each with the files.
    pub refused: BTreeMap<String, Vec<String>>,
    /// Texts that a schema accepts.
    pub valid: Counts,
    /// Texts that it rejects.
    pub invalid: Counts,
}

/// Reads a folder: `schemas/json`, `test` and `negative_test` in it or in its `src`, or schemas alone.
///
/// # Errors
///
/// A folder or a file cannot be read, or a schema is not JSON; the message has its name.
pub fn read(folder: &Path) -> Result<Store, String> {
    let places = [folder.join("src"), folder.to_owned()];
    let place = places
        .iter()
        .find(|place| place.join("schemas/json").is_dir());
    let schemas = place.map_or_else(|| folder.to_owned(), |place| place.join("schemas/json"));
    let mut store = Store::default();
    for file in files(&schemas)? {
        if file.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let text = text_of(&file)?;
        let schema = serde_json::from_str(text.trim_start_matches('\u{feff}'));
        let schema: Value = schema.map_err(|e| format!("{}: {e}", file.display()))?;
        let name = file.file_stem().unwrap_or_default();
        let mut tests = Vec::new();
        for (folder, valid) in [("test", true), ("negative_test", false)] {
            let texts = place.map(|place| place.join(folder).join(name));
            let Some(texts) = texts.filter(|texts| texts.is_dir()) else {
                continue;
            };
            for file in files(&texts)? {
                let text = text_of(&file).ok().and_then(|text| respelled(&text));
                match text {
                    Some(text) => tests.push(Test { valid, text }),
                    None => {
                        let ending = file.extension().unwrap_or_default();
                        let ending = ending.to_string_lossy().into_owned();
                        *store.other.entry(ending).or_default() += 1;
                    }
                }
            }
        }
        store.cases.push(Case {
            id: name.to_string_lossy().into_owned(),
            optional: false,
            schema,
            tests,
        });
    }
    match store.cases.is_empty() {
        true => Err(format!("{}: there is no schema", schemas.display())),
        false => Ok(store),
    }
}

/// Asks an engine about all of them. `ask` runs a task; each text that comes out otherwise is
/// handed to `judged` with its case and what the engine says.
///
/// # Errors
///
/// The engine cannot be asked at all.
pub fn run(
    cases: &[Case],
    ask: &mut dyn FnMut(&Task) -> Result<Outcome, String>,
    judged: &mut dyn FnMut(&Case, &Test, &Answer),
) -> Result<Report, String> {
    let mut report = Report::default();
    for case in cases {
        let outcome = ask(&task(case))?;
        match why_refused(&outcome) {
            None => report.compiled += 1,
            Some(reason) => report
                .refused
                .entry(reason)
                .or_default()
                .push(case.id.clone()),
        }
        for (test, answer) in case.tests.iter().zip(answers(case, outcome)) {
            let counts = match test.valid {
                true => &mut report.valid,
                false => &mut report.invalid,
            };
            counts.add(&answer);
            if matches!(answer, Answer::Wrong { .. }) {
                judged(case, test, &answer);
            }
        }
    }
    Ok(report)
}

/// The reason why a schema was not compiled, without its place, so that equal ones are counted together.
fn why_refused(outcome: &Outcome) -> Option<String> {
    let reason = match outcome {
        Outcome::Judged(verdict, _) => verdict.refused.as_deref()?,
        Outcome::TimedOut => return Some("no answer within the time limit".to_owned()),
        Outcome::OutOfMemory => return Some("too much memory".to_owned()),
        Outcome::Crashed(text) => return Some(format!("crash: {text}")),
    };
    let line = reason.lines().next().unwrap_or_default();
    let line = match line
        .strip_prefix("at #")
        .and_then(|rest| rest.split_once(": "))
    {
        Some((_, message)) => message,
        None => line,
    };
    // A reference to another document is one reason, whichever document it is.
    let cause = match line.contains("is not in this document")
        || line.contains("is neither in this document")
    {
        true => "a reference leads to a document that is not at hand",
        false => line,
    };
    Some(cause.chars().take(160).collect())
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

fn text_of(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

/// A text of JSON as writers without choices of their own spell it: without blanks between its tokens, and with no
/// escape that is not needed, since a schema says nothing of them. None for another text.
fn respelled(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    Some(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::Verdict;

    #[test]
    fn a_folder_is_read_as_it_is_laid_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        assert!(read(folder.path()).unwrap_err().contains("no schema"));
        write("src/schemas/json/a.json", r#"{"type": "object"}"#);
        write("src/schemas/json/b.json", r#"{"$ref": "https://x/y"}"#);
        write(
            "src/test/a/one.json",
            "\u{feff}{ \"a \\\" \\u002b\" : [1 , 2] }\n",
        );
        write("src/test/a/two.yaml", "a: 1");
        write("src/negative_test/a/three.json", "[ ]");
        let store = read(folder.path()).unwrap();
        assert_eq!(store.other["yaml"], 1);
        let texts: Vec<_> = store.cases[0]
            .tests
            .iter()
            .map(|t| (t.valid, t.text.as_str()))
            .collect();
        assert_eq!(texts, [(true, r#"{"a \" +":[1,2]}"#), (false, "[]")]);
        assert_eq!(store.cases[1].id, "b");

        // An engine that takes every text of the one schema, and not the other.
        let mut wrong = Vec::new();
        let report = run(
            &store.cases,
            &mut |task| {
                let mut verdict = Verdict::default();
                match task.id == "a" {
                    true => verdict.accepted = vec![true; task.texts.len()],
                    false => {
                        let reason =
                            "at #/$ref: `$ref`: `https://x/y` is not in this document; put";
                        verdict.refused = Some(reason.to_owned());
                    }
                }
                Ok(Outcome::Judged(Box::new(verdict), None))
            },
            &mut |case, test, answer| wrong.push((case.id.clone(), test.valid, answer.clone())),
        );
        let report = report.unwrap();
        assert_eq!(
            (report.compiled, report.valid.right, report.invalid.wrong),
            (1, 1, 1)
        );
        assert_eq!(
            wrong,
            [("a".to_owned(), false, Answer::Wrong { accepted: true })]
        );
        let reasons: Vec<_> = report.refused.into_iter().collect();
        assert_eq!(reasons[0].1, ["b"]);
        assert!(reasons[0].0.contains("not at hand"));
    }
}
