//! The parent's side: hands cases to a child, and ends one that takes too long or too much. For
//! example, a case that takes longer than its limit is [`Outcome::TimedOut`], and the next one has
//! a new child.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::child::{Child, START_LIMIT, Silence};
use crate::worker::{Extra, Message, Task, Verdict, memory_field};

/// The pause between two looks at a child's memory: short, because a child can allocate gigabytes
/// in a second, and long beside the cost of a look.
const POLL: Duration = Duration::from_millis(10);

/// The most that a case may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time of a case.
    pub time: Duration,
    /// Resident memory of the child, in bytes.
    pub memory: u64,
}

/// The end of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The engine judged the texts, or refused the schema. The further passes may be missing,
    /// if the child did not outlive them.
    Judged(Box<Verdict>, Option<Box<Extra>>),
    /// No verdict within the time limit.
    TimedOut,
    /// The child used more memory than it may.
    OutOfMemory,
    /// The child panicked or died.
    Crashed(String),
}

/// A child that is started when needed, and again after it was lost.
pub struct Worker {
    command: Box<dyn Fn() -> Command>,
    limits: Limits,
    running: Option<Child>,
}

impl Worker {
    /// A worker whose child `command` starts. Nothing is started yet.
    pub fn new(command: impl Fn() -> Command + 'static, limits: Limits) -> Worker {
        Worker {
            command: Box::new(command),
            limits,
            running: None,
        }
    }

    /// Runs one case.
    ///
    /// # Errors
    ///
    /// No child can be started: there is nothing to be had from this engine.
    pub fn run(&mut self, task: &Task) -> Result<Outcome, String> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        let start = Instant::now();
        if running.say(task).is_err() {
            return Ok(Outcome::Crashed(running.end()));
        }
        let mut verdict = None;
        loop {
            let outcome = match receive(&running, start + self.limits.time, self.limits.memory) {
                Event::Message(Message::Verdict(judged)) => {
                    verdict = Some(judged);
                    continue;
                }
                Event::Message(Message::Done(extra)) => {
                    self.running = Some(running);
                    return Ok(match verdict {
                        Some(verdict) => Outcome::Judged(Box::new(verdict), Some(Box::new(extra))),
                        None => Outcome::Crashed("no verdict".into()),
                    });
                }
                Event::Message(Message::Panicked(text)) => Outcome::Crashed(text),
                Event::Message(other) => Outcome::Crashed(format!("unexpected answer: {other:?}")),
                Event::Late => Outcome::TimedOut,
                Event::TooLarge => Outcome::OutOfMemory,
                Event::Gone => Outcome::Crashed(String::new()),
            };
            let ended = running.end();
            return Ok(match (verdict, outcome) {
                // The verdict came before the failure: only further times are lost.
                (Some(verdict), _) => Outcome::Judged(Box::new(verdict), None),
                (None, Outcome::Crashed(text)) if text.is_empty() => Outcome::Crashed(ended),
                (None, outcome) => outcome,
            });
        }
    }

    fn start(&self) -> Result<Child, String> {
        let child = Child::spawn((self.command)())?;
        match receive(&child, Instant::now() + START_LIMIT, u64::MAX) {
            Event::Message(Message::Ready) => Ok(child),
            Event::Message(Message::Fatal(text)) => Err(text),
            _ => Err(format!("a child that does not get ready: {}", child.end())),
        }
    }
}

enum Event {
    Message(Message),
    Late,
    TooLarge,
    Gone,
}

/// The next message, as long as the child stays within its limits.
fn receive(child: &Child, deadline: Instant, memory: u64) -> Event {
    let id = child.id().to_string();
    loop {
        match child.hear(POLL) {
            Ok(message) => return Event::Message(message),
            Err(Silence::Gone | Silence::Strange(_)) => return Event::Gone,
            Err(Silence::Late) => {
                if Instant::now() >= deadline {
                    return Event::Late;
                }
                if memory_field(&id, "VmRSS:").is_some_and(|used| used > memory) {
                    return Event::TooLarge;
                }
            }
        }
    }
}
