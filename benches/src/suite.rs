//! The official JSON Schema test suite: does an engine accept just the valid texts?

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::cases::Case;
use crate::engines::{self, Engine, PropertyOrder, Setup};
use crate::spell::byte_vocabulary;
use crate::worker::panic_text;

/// How one text of a case came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The engine says what the suite says.
    Right,
    /// It says the opposite; `accepted` is what it says.
    Wrong {
        /// What it says.
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

/// Asks an engine about every text of a case, byte by byte.
pub fn judge(engine: &dyn Engine, case: &Case) -> Vec<Answer> {
    let judged = catch_unwind(AssertUnwindSafe(|| judge_inner(engine, case)));
    judged.unwrap_or_else(|payload| {
        let reason = format!("panic: {}", panic_text(payload.as_ref()));
        vec![Answer::Refused(reason); case.tests.len()]
    })
}

fn judge_inner(engine: &dyn Engine, case: &Case) -> Vec<Answer> {
    let constraint = match engine.compile(&case.schema) {
        Ok(constraint) => constraint,
        Err(reason) => return vec![Answer::Refused(reason); case.tests.len()],
    };
    let answers = case.tests.iter().map(|test| {
        let accepted = match constraint.session() {
            Err(reason) => return Answer::Refused(reason),
            Ok(mut session) => {
                let mut bytes = test.text.bytes();
                bytes.all(|byte| session.advance(u32::from(byte)).is_ok()) && session.is_accepting()
            }
        };
        if accepted == test.valid { Answer::Right } else { Answer::Wrong { accepted } }
    });
    answers.collect()
}

/// Whether `format` is to be taken for an assertion: only in the suite's files about that.
fn asserts_formats(case: &Case) -> bool {
    case.id.contains("optional/format")
}

/// Runs all cases on an engine and hands each to `judged`. A case that takes longer than
/// `limit` counts as refused; its thread is left behind.
///
/// # Errors
///
/// The engine cannot be made.
pub fn run(
    name: &str,
    cases: &[Case],
    limit: Duration,
    judged: &mut dyn FnMut(&Case, Vec<Answer>),
) -> Result<BTreeMap<String, Counts>, String> {
    let mut files: BTreeMap<String, Counts> = BTreeMap::new();
    let mut thread: Option<Thread> = None;
    for case in cases {
        let (sender, receiver) = match thread.take() {
            Some(thread) => thread,
            None => start(name)?,
        };
        let sent = sender.send(case.clone());
        let answers = match (sent, receiver.recv_timeout(limit)) {
            (Ok(()), Ok(answers)) => {
                thread = Some((sender, receiver));
                answers
            }
            (_, Err(RecvTimeoutError::Timeout)) => {
                let reason = format!("no answer within {} s", limit.as_secs());
                vec![Answer::Refused(reason); case.tests.len()]
            }
            _ => vec![Answer::Refused("the engine died".into()); case.tests.len()],
        };
        let counts = files.entry(file_of(&case.id).to_owned()).or_default();
        answers.iter().for_each(|answer| counts.add(answer));
        judged(case, answers);
    }
    Ok(files)
}

type Thread = (Sender<Case>, Receiver<Vec<Answer>>);

/// A thread with its own engines, which is left behind if it does not answer.
fn start(name: &str) -> Result<Thread, String> {
    let make = |name: &str, assert_formats| {
        let setup = Setup {
            vocabulary: byte_vocabulary(),
            property_order: PropertyOrder::Schema,
            assert_formats,
        };
        engines::engine(name, &setup)
    };
    // Made here once to learn of errors; engines do not move between threads.
    make(name, false)?;
    let name = name.to_owned();
    let (case_sender, case_receiver) = channel::<Case>();
    let (answer_sender, answer_receiver) = channel();
    let body = move || {
        let (Ok(plain), Ok(asserting)) = (make(&name, false), make(&name, true)) else { return };
        for case in case_receiver {
            let engine = if asserts_formats(&case) { &asserting } else { &plain };
            if answer_sender.send(judge(engine.as_ref(), &case)).is_err() {
                break;
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(body);
    thread.map_err(|e| format!("cannot start a thread: {e}"))?;
    Ok((case_sender, answer_receiver))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::Test;
    use serde_json::json;

    fn case(id: &str, schema: serde_json::Value, tests: &[(bool, &str)]) -> Case {
        let test = |&(valid, text): &(bool, &str)| Test { valid, text: text.to_owned() };
        let tests = tests.iter().map(test).collect();
        Case { id: id.to_owned(), optional: false, schema, tests }
    }

    #[test]
    fn our_engine_is_asked_byte_by_byte() {
        let cases = [
            case("d/integer.json#0", json!({"type": "integer"}), &[(true, "12"), (false, "\"a\"")]),
            // A label that is wrong on purpose.
            case("d/integer.json#1", json!({"type": "boolean"}), &[(true, "1")]),
            case("d/ref.json#0", json!({"$ref": "#/nowhere"}), &[(true, "1")]),
        ];
        let mut seen = Vec::new();
        let files = run("tokenmold", &cases, Duration::from_secs(20), &mut |case, answers| {
            seen.push((case.id.clone(), answers));
        })
        .unwrap();
        assert_eq!(files["d/integer.json"], Counts { right: 2, wrong: 1, refused: 0 });
        assert_eq!(files["d/ref.json"], Counts { right: 0, wrong: 0, refused: 1 });
        assert_eq!(seen[1].1, [Answer::Wrong { accepted: false }]);
        assert!(run("nobody", &cases, Duration::from_secs(1), &mut |_, _| {}).is_err());
    }
}
