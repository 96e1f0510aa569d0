//! A process of this very program for one engine: asked and answered in lines of JSON.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child as Process, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// How long a child may take to read its vocabulary and make its engine.
const START_LIMIT: Duration = Duration::from_secs(300);

/// What a child says when it waits for questions.
const READY: &str = "ready";

/// A process that answers; it ends with this.
pub struct Child {
    process: Process,
    answers: Receiver<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// None in the time it had.
    Late,
    /// The process ended.
    Gone,
    /// The answer is something else, or the question cannot be asked.
    Strange(String),
}

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Silence::Late => f.write_str("no answer in time"),
            Silence::Gone => f.write_str("the process ended without an answer"),
            Silence::Strange(what) => write!(f, "a strange answer: {what}"),
        }
    }
}

/// This program once more, with its own arguments and further ones.
///
/// # Errors
///
/// The system does not tell where this program is.
pub fn again(further: &[&str]) -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|e| format!("this program's own path: {e}"))?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).args(further);
    Ok(command)
}

impl Child {
    /// Starts a process, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// It cannot be started, or ends, having said why on the standard error.
    pub fn start(mut command: Command) -> Result<Child, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command
            .spawn()
            .map_err(|e| format!("cannot start a process: {e}"))?;
        let output = process.stdout.take().ok_or("a process without output")?;
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let child = Child { process, answers };
        match child.answers.recv_timeout(START_LIMIT) {
            Ok(line) if line == READY => Ok(child),
            Ok(line) => Err(format!("a process that begins with {line}")),
            Err(_) => Err("a process that does not get ready".to_owned()),
        }
    }

    /// Its number among the system's processes.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    ///
    /// There is none within the limit. The process should not be asked again then.
    pub fn ask<A: DeserializeOwned>(
        &mut self,
        question: &impl Serialize,
        limit: Duration,
    ) -> Result<A, Silence> {
        let strange = |e: serde_json::Error| Silence::Strange(e.to_string());
        let line = serde_json::to_string(question).map_err(strange)?;
        let input = self.process.stdin.as_mut().ok_or(Silence::Gone)?;
        let written = writeln!(input, "{line}").and_then(|()| input.flush());
        written.map_err(|_| Silence::Gone)?;
        match self.answers.recv_timeout(limit) {
            Ok(answer) => serde_json::from_str(&answer).map_err(strange),
            Err(RecvTimeoutError::Timeout) => Err(Silence::Late),
            Err(RecvTimeoutError::Disconnected) => Err(Silence::Gone),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The other side: says that it is ready, and answers every question on the standard input
/// until that ends.
///
/// # Errors
///
/// A question cannot be read, or nobody listens.
pub fn answer<Q: DeserializeOwned, A: Serialize>(
    mut answer: impl FnMut(Q) -> A,
) -> Result<(), String> {
    let say = |line: &str| {
        let mut output = std::io::stdout().lock();
        let written = writeln!(output, "{line}").and_then(|()| output.flush());
        written.map_err(|e| e.to_string())
    };
    say(READY)?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| e.to_string())?;
        let question = serde_json::from_str(&line).map_err(|e| e.to_string())?;
        // What was read goes before the answer is sought: memory may be counted.
        drop(line);
        say(&serde_json::to_string(&answer(question)).map_err(|e| e.to_string())?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn shell(script: &str) -> Child {
        Child::start(command(&format!("echo ready; {script}"))).unwrap()
    }

    fn ask(child: &mut Child, limit: Duration) -> Result<u32, Silence> {
        child.ask(&"how many?", limit)
    }

    #[test]
    fn a_child_answers_or_is_silent_for_a_reason() {
        let plenty = Duration::from_secs(60);
        let mut echo = shell("while read line; do echo ${#line}; done");
        assert_eq!(ask(&mut echo, plenty), Ok(11));
        assert_eq!(ask(&mut echo, plenty), Ok(11));
        let mut slow = shell("read line; exec sleep 60");
        assert_eq!(
            ask(&mut slow, Duration::from_millis(50)),
            Err(Silence::Late)
        );
        let mut dying = shell("read line; exit 3");
        assert_eq!(ask(&mut dying, plenty), Err(Silence::Gone));
        let mut strange = shell("read line; echo many; sleep 60");
        assert!(matches!(
            ask(&mut strange, plenty),
            Err(Silence::Strange(_))
        ));
        assert!(Child::start(Command::new("no such program")).is_err());
        assert!(Child::start(command("exit 1")).is_err());
        assert!(Child::start(command("echo no")).is_err_and(|e| e.ends_with("no")));
    }
}
