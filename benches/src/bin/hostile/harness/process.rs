//! A process for each input, under limits. For example, a compile that asks for more than 2 GiB of
//! address space dies in its process, and is reported as over.

use std::io::Read;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::harness::bounds;
use crate::harness::case::MakeCases;
use crate::harness::seen::Seen;

/// The end of an input's process.
pub(crate) struct Ended {
    pub(crate) wall: f64,
    pub(crate) memory: u64,
    /// The outcome in words, or the bound that it is over.
    pub(crate) what: String,
    within: bool,
}

impl Ended {
    pub(crate) fn is_within(&self) -> bool {
        self.within
    }
}

/// Runs the input of that place in another process.
pub(crate) fn run(place: &str, class: &str) -> Ended {
    let begun = Instant::now();
    let ended = |what: String, memory: u64, within: bool| Ended {
        wall: begun.elapsed().as_secs_f64(),
        memory,
        what,
        within,
    };
    let mut child = match spawn(place) {
        Ok(child) => child,
        Err(error) => return ended(format!("{class}: {error}"), 0, false),
    };
    // Read while it runs: a process that fills a pipe waits for its reader.
    let said = read_aside(child.stdout.take());
    let complained = read_aside(child.stderr.take());
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
    let said = said.join().unwrap_or_default();
    let complained = complained.join().unwrap_or_default();
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

/// Reads all of a pipe, and keeps the first megabyte.
fn read_aside(from: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut from) = from {
            let _ = from.by_ref().take(1 << 20).read_to_end(&mut text);
            let _ = std::io::copy(&mut from, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

fn spawn(place: &str) -> Result<Child, String> {
    let mut command = tokenmold_benches::child::again(&["--child", place])?;
    let command: &mut Command = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("RUST_BACKTRACE", "0");
    command.spawn().map_err(|e| format!("no process: {e}"))
}

/// Runs an input in this process and says what was seen, as a line of JSON.
pub(crate) fn child(makers: &[MakeCases], place: &str) -> ExitCode {
    let limit = bounds::ADDRESS_SPACE;
    let limit = rustix::process::Rlimit {
        current: Some(limit),
        maximum: Some(limit),
    };
    if let Err(error) = rustix::process::setrlimit(rustix::process::Resource::As, limit) {
        eprintln!("no limit of memory: {error}");
        return ExitCode::from(2);
    }
    let case = place.split_once('/').and_then(|(maker, at)| {
        let cases = makers.get(maker.parse::<usize>().ok()?)?();
        cases.into_iter().nth(at.parse().ok()?)
    });
    let Some(case) = case else {
        eprintln!("there is no input {place}");
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
