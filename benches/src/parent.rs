//! The parent's side: hands cases to a child, and ends one that takes too long or too much.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use crate::worker::{Extra, Message, Task, Verdict, memory_field};

/// How long a child may take to load its vocabulary.
const READY_LIMIT: Duration = Duration::from_secs(300);

/// How often a child's memory is looked at.
const POLL: Duration = Duration::from_millis(10);

/// What a case may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time of a case.
    pub time: Duration,
    /// Resident memory of the child, in bytes.
    pub memory: u64,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The engine judged the texts, or refused the schema. The further passes may be missing,
    /// if the child did not outlive them.
    Judged(Verdict, Option<Extra>),
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
    running: Option<Running>,
}

struct Running {
    process: Child,
    input: ChildStdin,
    messages: Receiver<Message>,
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
        let line = serde_json::to_string(task).map_err(|e| e.to_string())? + "\n";
        let start = Instant::now();
        if running
            .input
            .write_all(line.as_bytes())
            .and_then(|()| running.input.flush())
            .is_err()
        {
            return Ok(Outcome::Crashed(running.end()));
        }
        let mut verdict = None;
        loop {
            let outcome = match running.receive(start + self.limits.time, self.limits.memory) {
                Event::Message(Message::Verdict(judged)) => {
                    verdict = Some(judged);
                    continue;
                }
                Event::Message(Message::Done(extra)) => {
                    self.running = Some(running);
                    return Ok(match verdict {
                        Some(verdict) => Outcome::Judged(verdict, Some(extra)),
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
                // What failed came after the verdict: only further times are lost.
                (Some(verdict), _) => Outcome::Judged(verdict, None),
                (None, Outcome::Crashed(text)) if text.is_empty() => Outcome::Crashed(ended),
                (None, outcome) => outcome,
            });
        }
    }

    fn start(&self) -> Result<Running, String> {
        let mut command = (self.command)();
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = spawned.map_err(|e| format!("cannot start a child: {e}"))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("a child without pipes".into());
        };
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                let Ok(message) = serde_json::from_str(&line) else {
                    break;
                };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut running = Running {
            process,
            input,
            messages,
        };
        match running.receive(Instant::now() + READY_LIMIT, u64::MAX) {
            Event::Message(Message::Ready) => Ok(running),
            Event::Message(Message::Fatal(text)) => {
                running.end();
                Err(text)
            }
            _ => Err(format!(
                "a child that does not get ready: {}",
                running.end()
            )),
        }
    }
}

enum Event {
    Message(Message),
    Late,
    TooLarge,
    Gone,
}

impl Running {
    fn receive(&mut self, deadline: Instant, memory: u64) -> Event {
        let id = self.process.id().to_string();
        loop {
            match self.messages.recv_timeout(POLL) {
                Ok(message) => return Event::Message(message),
                Err(RecvTimeoutError::Disconnected) => return Event::Gone,
                Err(RecvTimeoutError::Timeout) => {
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

    /// Ends the child and says how it ended. One that is ending by itself gets the time to.
    fn end(mut self) -> String {
        drop(self.input);
        let closed = matches!(self.messages.try_recv(), Err(TryRecvError::Disconnected));
        for _ in 0..if closed { 100 } else { 0 } {
            if !matches!(self.process.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(POLL);
        }
        let _ = self.process.kill();
        match self.process.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.end();
        }
    }
}
