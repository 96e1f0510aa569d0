//! A process of this very program for one engine: asked and answered in lines of JSON. For example,
//! a parent writes one line with a case and reads one with its times, or kills the child after the
//! limit.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child as Process, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The time that a child may take to read its vocabulary and make its engine: minutes, because some
/// engines prepare a vocabulary for long.
pub const START_LIMIT: Duration = Duration::from_secs(300);

/// The first answer of a child, so that the time of its start is not counted to the first question.
const READY: &str = "ready";

/// A process that answers; it ends with this.
pub struct Child {
    process: Process,
    lines: Receiver<String>,
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
    /// Starts a process.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn spawn(mut command: Command) -> Result<Child, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command
            .spawn()
            .map_err(|e| format!("cannot start a process: {e}"))?;
        let output = process.stdout.take().ok_or("a process without output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Child { process, lines })
    }

    /// Starts a process that answers by [`answer`], and waits until it is ready.
    ///
    /// # Errors
    ///
    /// It cannot be started, or ends, having said why on the standard error.
    pub fn start(command: Command) -> Result<Child, String> {
        let child = Child::spawn(command)?;
        match child.hear::<String>(START_LIMIT) {
            Ok(line) if line == READY => Ok(child),
            Ok(line) => Err(format!("a process that begins with {line}")),
            Err(silence) => Err(format!("a process that does not get ready: {silence}")),
        }
    }

    /// Its number among the system's processes.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Writes a line.
    ///
    /// # Errors
    ///
    /// Nobody reads it.
    pub fn say(&mut self, question: &impl Serialize) -> Result<(), Silence> {
        let line = serde_json::to_string(question).map_err(|e| Silence::Strange(e.to_string()))?;
        let input = self.process.stdin.as_mut().ok_or(Silence::Gone)?;
        let written = writeln!(input, "{line}").and_then(|()| input.flush());
        written.map_err(|_| Silence::Gone)
    }

    /// Waits for a line.
    ///
    /// # Errors
    ///
    /// There is none within the limit.
    pub fn hear<A: DeserializeOwned>(&self, limit: Duration) -> Result<A, Silence> {
        match self.lines.recv_timeout(limit) {
            Ok(line) => serde_json::from_str(&line).map_err(|e| Silence::Strange(e.to_string())),
            Err(RecvTimeoutError::Timeout) => Err(Silence::Late),
            Err(RecvTimeoutError::Disconnected) => Err(Silence::Gone),
        }
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
        self.say(question)?;
        self.hear(limit)
    }

    /// Ends the process and says how it ended. One that is ending by itself gets the time to.
    pub fn end(mut self) -> String {
        drop(self.process.stdin.take());
        let closed = matches!(self.lines.try_recv(), Err(TryRecvError::Disconnected));
        for _ in 0..if closed { 100 } else { 0 } {
            if !matches!(self.process.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        match self.process.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
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
    let say = |line: Result<String, serde_json::Error>| {
        let line = line.map_err(|e| e.to_string())?;
        let mut output = std::io::stdout().lock();
        let written = writeln!(output, "{line}").and_then(|()| output.flush());
        written.map_err(|e| e.to_string())
    };
    say(serde_json::to_string(READY))?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| e.to_string())?;
        let question = serde_json::from_str(&line).map_err(|e| e.to_string())?;
        // The line is freed before the answer is sought, because memory may be counted.
        drop(line);
        say(serde_json::to_string(&answer(question)))?;
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
        Child::start(command(&format!("echo '\"ready\"'; {script}"))).unwrap()
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
        assert_eq!(dying.end(), "exit status: 3");
        assert!(Child::start(Command::new("no such program")).is_err());
        assert!(Child::start(command("exit 1")).is_err());
        assert!(Child::start(command("echo '\"no\"'")).is_err_and(|e| e.ends_with("no")));
    }
}
