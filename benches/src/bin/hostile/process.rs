//! A process for each input, under limits.

use std::io::Read as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::seen::Seen;
use crate::{Case, bounds};

/// How an input ended.
pub(crate) struct Ended {
    pub(crate) wall: f64,
    pub(crate) memory: u64,
    /// What came of it, or what is over.
    pub(crate) what: String,
    within: bool,
}

impl Ended {
    pub(crate) fn is_within(&self) -> bool {
        self.within
    }
}

/// Runs the input of that number in another process.
pub(crate) fn run(number: usize, class: &str) -> Ended {
    let begun = Instant::now();
    let ended = |what: String, memory: u64, within: bool| Ended {
        wall: begun.elapsed().as_secs_f64(),
        memory,
        what,
        within,
    };
    let mut child = match spawn(number) {
        Ok(child) => child,
        Err(error) => return ended(format!("{class}: {error}"), 0, false),
    };
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() > bounds::WALL => {
                let _ = child.kill();
                let _ = child.wait();
                return ended(format!("no end after {:?}", bounds::WALL), 0, false);
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(3)),
            Err(error) => return ended(error.to_string(), 0, false),
        }
    };
    let read = |from: Option<&mut dyn std::io::Read>| {
        let mut text = String::new();
        if let Some(from) = from {
            let _ = from.take(1 << 20).read_to_string(&mut text);
        }
        text
    };
    let said = read(child.stdout.as_mut().map(|out| out as _));
    let complained = read(child.stderr.as_mut().map(|out| out as _));
    let seen: Option<Seen> = said
        .lines()
        .last()
        .and_then(|l| serde_json::from_str(l).ok());
    match seen {
        Some(seen) if status.success() => match seen.over() {
            Some(over) => ended(over, seen.memory, false),
            None => {
                let times = format!("call {:.3} s, mask {:.1} ms", seen.call, seen.mask * 1e3);
                ended(format!("{times}; {}", seen.outcome), seen.memory, true)
            }
        },
        _ => {
            let complaint = complained.lines().find(|line| !line.trim().is_empty());
            let complaint = complaint.unwrap_or_default();
            ended(format!("{status}: {complaint}"), 0, false)
        }
    }
}

fn spawn(number: usize) -> Result<Child, String> {
    let mut command = tokenmold_benches::child::again(&["--child", &number.to_string()])?;
    let command: &mut Command = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("RUST_BACKTRACE", "0");
    command.spawn().map_err(|e| format!("no process: {e}"))
}

/// Runs an input in this process and says what was seen, as a line of JSON.
pub(crate) fn child(cases: &[Case], number: usize) -> ExitCode {
    let limit = bounds::ADDRESS_SPACE;
    let limit = rustix::process::Rlimit {
        current: Some(limit),
        maximum: Some(limit),
    };
    if let Err(error) = rustix::process::setrlimit(rustix::process::Resource::As, limit) {
        eprintln!("no limit of memory: {error}");
        return ExitCode::from(2);
    }
    let Some(case) = cases.get(number) else {
        eprintln!("there is no input {number}");
        return ExitCode::from(2);
    };
    let mut seen = Seen::default();
    (case.run)(&mut seen);
    seen.end();
    match serde_json::to_string(&seen) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
