//! The official JSON Schema test suite: does an engine accept just the valid texts? For example,
//! `integer.json#0` has the text `12`, which is valid, and `"a"`, which is not.

use std::collections::BTreeMap;

use crate::cases::{Case, Test};
use crate::parent::Outcome;
use crate::worker::Task;

/// The result for one text of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The engine says what the suite says.
    Right,
    /// It says the opposite; `accepted` is what it says.
    Wrong {
        /// The engine's answer: it took the text or not.
        accepted: bool,
    },
    /// It does not take the schema, and says why.
    Refused(String),
}

/// Counts of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Right ones.
    pub right: usize,
    /// Wrong ones.
    pub wrong: usize,
    /// Texts of refused schemas.
    pub refused: usize,
}

impl Counts {
    /// Adds one.
    pub fn add(&mut self, answer: &Answer) {
        match answer {
            Answer::Right => self.right += 1,
            Answer::Wrong { .. } => self.wrong += 1,
            Answer::Refused(_) => self.refused += 1,
        }
    }

    /// All of them.
    pub fn total(&self) -> usize {
        self.right + self.wrong + self.refused
    }
}

/// The file of the suite that a case is from: its name up to `#`.
pub fn file_of(id: &str) -> &str {
    id.split('#').next().unwrap_or(id)
}

/// The task of a case: each text byte by byte, for the vocabulary of bytes.
pub fn task(case: &Case) -> Task {
    let bytes = |test: &Test| test.text.bytes().map(u32::from).collect();
    Task {
        id: case.id.clone(),
        schema: case.schema.clone(),
        texts: case.tests.iter().map(bytes).collect(),
    }
}

/// Tells whether `format` is to be taken for an assertion: only in the suite's files about that.
pub fn asserts_formats(case: &Case) -> bool {
    case.id.contains("optional/format")
}

/// Returns the answers for a case's texts from its outcome.
pub fn answers(case: &Case, outcome: Outcome) -> Vec<Answer> {
    let refused = |reason: String| vec![Answer::Refused(reason); case.tests.len()];
    let verdict = match outcome {
        Outcome::Judged(verdict, _) => verdict,
        Outcome::TimedOut => return refused("no answer within the time limit".into()),
        Outcome::OutOfMemory => return refused("too much memory".into()),
        Outcome::Crashed(text) => return refused(format!("crash: {text}")),
    };
    if let Some(reason) = verdict.refused.or(verdict.mismatch) {
        return refused(reason);
    }
    let texts = case.tests.iter().zip(verdict.accepted);
    texts
        .map(|(test, accepted)| match accepted == test.valid {
            true => Answer::Right,
            false => Answer::Wrong { accepted },
        })
        .collect()
}

/// Counts the answers of all cases by file. `ask` runs a task; each case is handed to
/// `judged` with its answers.
///
/// # Errors
///
/// The engine cannot be asked at all.
pub fn run(
    cases: &[Case],
    ask: &mut dyn FnMut(&Case, &Task) -> Result<Outcome, String>,
    judged: &mut dyn FnMut(&Case, &[Answer]),
) -> Result<BTreeMap<String, Counts>, String> {
    let mut files: BTreeMap<String, Counts> = BTreeMap::new();
    for case in cases {
        let answers = answers(case, ask(case, &task(case))?);
        let counts = files.entry(file_of(&case.id).to_owned()).or_default();
        answers.iter().for_each(|answer| counts.add(answer));
        judged(case, &answers);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::engines::{AdditionalMembers, PropertyOrder, Setup, engine};
    use crate::spell::byte_vocabulary;
    use crate::worker::{Plan, measure};

    fn case(id: &str, schema: serde_json::Value, tests: &[(bool, &str)]) -> Case {
        let test = |&(valid, text): &(bool, &str)| Test {
            valid,
            text: text.to_owned(),
        };
        let tests = tests.iter().map(test).collect();
        Case {
            id: id.to_owned(),
            optional: false,
            schema,
            tests,
        }
    }

    #[test]
    fn our_engine_is_asked_byte_by_byte() {
        let cases = [
            case(
                "d/integer.json#0",
                json!({"type": "integer"}),
                &[(true, "12"), (false, "\"a\"")],
            ),
            // A label that is wrong on purpose.
            case(
                "d/integer.json#1",
                json!({"type": "boolean"}),
                &[(true, "1")],
            ),
            case("d/ref.json#0", json!({"$ref": "#/nowhere"}), &[(true, "1")]),
        ];
        let setup = Setup {
            vocabulary: byte_vocabulary(),
            property_order: PropertyOrder::Schema,
            additional_members: AdditionalMembers::Open,
            assert_formats: false,
            suite: None,
            documents: schema_regex::Documents::default(),
        };
        let ours = engine("tokenmold", &setup).unwrap();
        let plan = Plan {
            words: 9,
            seed: 0,
            checked_per_mille: 0,
            limit: Duration::ZERO,
        };
        let mut ask = |_: &Case, task: &Task| {
            let mut verdict = None;
            measure(ours.as_ref(), &plan, task, &mut |v| verdict = Some(v));
            Ok(Outcome::Judged(Box::new(verdict.unwrap()), None))
        };
        let mut seen = Vec::new();
        let files = run(&cases, &mut ask, &mut |case, answers| {
            seen.push((case.id.clone(), answers.to_vec()));
        })
        .unwrap();
        assert_eq!(
            files["d/integer.json"],
            Counts {
                right: 2,
                wrong: 1,
                refused: 0
            }
        );
        assert_eq!(
            files["d/ref.json"],
            Counts {
                right: 0,
                wrong: 0,
                refused: 1
            }
        );
        assert_eq!(seen[1].1, [Answer::Wrong { accepted: false }]);
        let broken = run(&cases, &mut |_, _| Err("no child".into()), &mut |_, _| {});
        assert_eq!(broken, Err("no child".into()));
    }

    #[test]
    fn what_has_no_verdict_is_not_right() {
        let case = case("x", json!({}), &[(true, "1"), (false, "2")]);
        let late = answers(&case, Outcome::TimedOut);
        assert_eq!(late.len(), 2);
        assert!(matches!(&late[1], Answer::Refused(reason) if reason.contains("time limit")));
    }
}
