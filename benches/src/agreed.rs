//! The texts on which engines can be compared: those that each of them takes whole. For example,
//! `[true]` is left out under `{"items": {"type": "integer"}}` if one engine refuses it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use fsm_index::MaskBuffer;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cases::Case;
use crate::child::{self, Child};
use crate::engines::{self, Engine, SERVING, Session, Setup};
use crate::program::{self, Chosen};
use crate::spell::Speller;
use crate::worker::Task;

/// A question to a process: which texts of a case its engine takes, or a measurement to make.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Question<J> {
    /// A case.
    Whole(Task),
    /// The measurement to make.
    Job(J),
}

/// Which texts of a case an engine takes from their first token to their end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Whole {
    /// For each text whether.
    Texts(Vec<bool>),
    /// The schema is refused.
    Refused,
    /// The time was over before the last text was.
    Late,
}

/// The arguments of a program that measures engines beside each other on the texts that all
/// of them take.
#[derive(Args, Clone, Debug)]
pub struct Beside {
    /// A `tokenizer.json`; every engine gets the same tokens.
    #[arg(long)]
    pub tokenizer: PathBuf,

    /// The cases.
    #[command(flatten)]
    pub chosen: Chosen,

    /// An engine to run (default: all that can serve). May be given several times.
    #[arg(long = "engine")]
    pub engines: Vec<String>,

    /// Time that an engine may take for a case; one that takes longer is left out and named.
    #[arg(long, default_value_t = 10.0)]
    pub limit_seconds: f64,

    /// Also write the report as JSON.
    #[arg(long)]
    pub report: Option<PathBuf>,

    /// Be the process of that engine.
    #[arg(long, hide = true)]
    pub worker: Option<String>,
}

impl Beside {
    /// The engines to run.
    ///
    /// # Errors
    ///
    /// One of them cannot serve, or is not compiled in.
    pub fn names(&self) -> Result<Vec<String>, String> {
        let names = match self.engines.as_slice() {
            [] => SERVING.iter().map(|name| (*name).to_owned()).collect(),
            names => names.to_vec(),
        };
        match names.iter().find(|name| !SERVING.contains(&name.as_str())) {
            Some(name) => Err(format!("{name} is not one of {}", SERVING.join(", "))),
            None => Ok(names),
        }
    }

    /// The limit of a case.
    ///
    /// # Errors
    ///
    /// It is no time.
    pub fn limit(&self) -> Result<Duration, String> {
        Duration::try_from_secs_f64(self.limit_seconds)
            .map_err(|e| format!("--limit-seconds {}: {e}", self.limit_seconds))
    }

    /// The cases and texts that all engines take.
    ///
    /// # Errors
    ///
    /// The files cannot be read, an engine cannot be asked, or nothing is left.
    pub fn tasks<J: Serialize>(&self) -> Result<Vec<Task>, String> {
        let (_, speller) = program::vocabulary_and_speller(&self.tokenizer)?;
        let tasks = valid_texts(self.chosen.read()?, &speller);
        drop(speller);
        let all = tasks.len();
        let tasks = agree::<J>(&self.names()?, tasks, self.limit()?)?;
        if tasks.is_empty() {
            return Err(format!(
                "none of {all} cases with valid texts is taken by all"
            ));
        }
        let texts: usize = tasks.iter().map(|task| task.texts.len()).sum();
        let tokens = tasks.iter().flat_map(|task| &task.texts).map(Vec::len);
        println!(
            "{} of {all} cases with valid texts are taken by all: {texts} texts, {} tokens; {}",
            tasks.len(),
            tokens.sum::<usize>(),
            self.tokenizer.display()
        );
        Ok(tasks)
    }

    /// The process of an engine: `job` gets the engine and the words of a mask.
    ///
    /// # Errors
    ///
    /// The engine cannot be made, or nobody listens.
    pub fn work<J: DeserializeOwned, A: Serialize>(
        &self,
        name: &str,
        mut job: impl FnMut(&dyn Engine, usize, J) -> A,
    ) -> Result<(), String> {
        let setup = Setup::measured(program::vocabulary(&self.tokenizer)?);
        let words = setup.vocabulary.width().div_ceil(32);
        let engine = engines::engine(name, &setup)?;
        serve(engine.as_ref(), words, self.limit()?, |asked| {
            job(engine.as_ref(), words, asked)
        })
    }
}

/// The cases with the valid ones of their texts as tokens; a case without one is left out.
fn valid_texts(cases: Vec<Case>, speller: &Speller) -> Vec<Task> {
    let task = |case: Case| {
        let valid = case.tests.iter().filter(|test| test.valid);
        let texts = valid.filter_map(|test| speller.spell(&test.text));
        Task {
            texts: texts.filter(|tokens| !tokens.is_empty()).collect(),
            id: case.id,
            schema: case.schema,
        }
    };
    let tasks = cases.into_iter().map(task);
    tasks.filter(|task| !task.texts.is_empty()).collect()
}

/// Asks engines, each in a process of its own, for the texts that they take, and keeps the
/// texts and cases that all do. Says on the standard error which cases are left out because
/// an engine takes longer than `limit` for them.
///
/// # Errors
///
/// A process cannot be started.
fn agree<J: Serialize>(
    engines: &[String],
    mut tasks: Vec<Task>,
    limit: Duration,
) -> Result<Vec<Task>, String> {
    for engine in engines {
        let mut child: Option<Child> = None;
        let mut kept = Vec::new();
        for task in tasks {
            let mut asked = match child.take() {
                Some(child) => child,
                None => start(engine, &[])?,
            };
            // A single step may take long too; the process ends itself otherwise.
            let answer = asked.ask(&Question::<J>::Whole(task.clone()), limit * 4);
            match answer {
                Ok(whole) => {
                    child = Some(asked);
                    if whole == Whole::Late {
                        eprintln!("{}: left out, {engine} takes over {limit:?}", task.id);
                    }
                    kept.extend(keep(task, &whole));
                }
                Err(silence) => eprintln!("{}: left out, {engine}: {silence}", task.id),
            }
        }
        tasks = kept;
    }
    Ok(tasks)
}

/// Starts the process of an engine.
///
/// # Errors
///
/// It does not get ready.
fn start(engine: &str, variables: &[(&str, String)]) -> Result<Child, String> {
    let mut command = child::again(&["--worker", engine])?;
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    Child::start(command).map_err(|e| format!("{engine}: {e}"))
}

/// Returns an engine's answer to one job. The engine runs in a process of its own, in which so many
/// threads do the work that it does behind masks.
///
/// # Errors
///
/// The process does not get ready, does not answer within `limit`, or says so; the message
/// names the engine.
pub fn ask<J, A>(engine: &str, threads: usize, job: J, limit: Duration) -> Result<A, String>
where
    J: Serialize,
    A: DeserializeOwned,
{
    let mut child = start(engine, &[("RAYON_NUM_THREADS", threads.to_string())])?;
    let answer = child.ask::<Result<A, String>>(&Question::Job(job), limit);
    let answer = answer.map_err(|e| format!("{engine}: {e}"))?;
    answer.map_err(|e| format!("{engine}: {e}"))
}

/// The process's side.
///
/// # Errors
///
/// As [`child::answer`].
fn serve<J: DeserializeOwned, A: Serialize>(
    engine: &dyn Engine,
    words: usize,
    limit: Duration,
    mut job: impl FnMut(J) -> A,
) -> Result<(), String> {
    child::answer(|question: Question<J>| {
        let answer = match question {
            Question::Whole(task) => serde_json::to_value(whole(engine, &task, words, limit)),
            Question::Job(asked) => serde_json::to_value(job(asked)),
        };
        answer.unwrap_or(Value::Null)
    })
}

/// Which texts of a case an engine takes. The time is looked at between masks.
fn whole(engine: &dyn Engine, task: &Task, words: usize, limit: Duration) -> Whole {
    let begun = Instant::now();
    let Ok(constraint) = engine.compile(&task.schema) else {
        return Whole::Refused;
    };
    let mut mask = MaskBuffer::new(words * 32);
    let mut texts = Vec::new();
    for tokens in &task.texts {
        let Ok(mut session) = constraint.session() else {
            texts.push(false);
            continue;
        };
        let mut taken = true;
        for &token in tokens {
            if begun.elapsed() > limit {
                return Whole::Late;
            }
            taken &= step(session.as_mut(), token, &mut mask);
            if !taken {
                break;
            }
        }
        texts.push(taken && session.is_accepting());
    }
    Whole::Texts(texts)
}

/// Tells whether a mask allows a token, and `advance` takes it.
fn step(session: &mut dyn Session, token: u32, mask: &mut MaskBuffer) -> bool {
    session.mask(mask).is_ok() && allows(mask.words(), token) && session.advance(token).is_ok()
}

/// Tells whether a mask allows a token.
pub fn allows(mask: &[u32], token: u32) -> bool {
    let word = mask.get(token as usize / 32).copied().unwrap_or(0);
    word >> (token % 32) & 1 == 1
}

/// A case with the texts that were taken, if any.
fn keep(mut task: Task, whole: &Whole) -> Option<Task> {
    let Whole::Texts(taken) = whole else {
        return None;
    };
    let mut taken = taken.iter();
    task.texts.retain(|_| taken.next() == Some(&true));
    (!task.texts.is_empty()).then_some(task)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engines::{Setup, engine};
    use crate::spell::byte_vocabulary;

    #[test]
    fn texts_that_are_not_taken_whole_are_left_out() {
        let speller = Speller::longest_match(&byte_vocabulary());
        let case: Case = serde_json::from_value(json!({
            "id": "list", "schema": {"type": "array", "items": {"type": "integer"}},
            "tests": [
                {"valid": true, "text": "[1]"}, {"valid": true, "text": "[1"},
                {"valid": false, "text": "[2]"}, {"valid": true, "text": "[true]"},
                {"valid": true, "text": "[]"},
            ],
        }))
        .unwrap();
        let mut none = case.clone();
        none.tests.clear();
        let tasks = valid_texts(vec![case, none], &speller);
        assert_eq!((tasks.len(), tasks[0].texts.len()), (1, 4));
        let engine = engine("tokenmold", &Setup::measured(byte_vocabulary())).unwrap();
        let plenty = Duration::from_secs(60);
        let found = whole(engine.as_ref(), &tasks[0], 9, plenty);
        assert_eq!(found, Whole::Texts(vec![true, false, false, true]));
        assert_eq!(keep(tasks[0].clone(), &found).unwrap().texts.len(), 2);
        assert_eq!(keep(tasks[0].clone(), &Whole::Refused).map(|t| t.id), None);
        let late = whole(engine.as_ref(), &tasks[0], 9, Duration::ZERO);
        assert_eq!(late, Whole::Late);
        let mut refused = tasks[0].clone();
        refused.schema = json!({"$ref": "#/nowhere"});
        let found = whole(engine.as_ref(), &refused, 9, plenty);
        assert_eq!(found, Whole::Refused);
    }
}
