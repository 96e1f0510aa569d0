//! The crate `glrmask`, in its default settings, as a program that `grammarbench` asks for
//! grammars, a case a line, as it asks `python/xgrammar_worker.py`:
//!
//! ```console
//! cargo build --release --locked --manifest-path benches/glrmask/Cargo.toml
//! grammarbench --engine tokenmold --engine glrmask=PROGRAM --limit 60 ..
//! ```
//!
//! The first line of the input has the vocabulary, each further line a case. A case is measured
//! in a process of its own, which is ended after so many seconds: a compile cannot be stopped
//! otherwise. Where a text begins, the crate computes its first mask: that is counted with it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use clap::Parser;
use glrmask::{Grammar, Vocab};
use serde_json::{Value, json};
use tokenmold_benches::program;

/// What `grammarbench` tells it.
#[derive(Parser, Debug)]
struct Arguments {
    /// Seconds that a case may take.
    limit: u64,

    /// Measures the one case of the input.
    #[arg(long)]
    one: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.one {
        true => one(),
        false => all(Duration::from_secs(arguments.limit)),
    };
    program::end("tokenmold-glrmask-grammars", done)
}

fn lines() -> impl Iterator<Item = Result<String, String>> {
    let lines = std::io::stdin().lock().lines();
    lines.map(|line| line.map_err(|e| e.to_string()))
}

fn answer(said: Result<Value, String>) {
    let said = said.unwrap_or_else(|error| json!({ "refused": error }));
    println!("{said}");
}

/// Answers all cases, each by another process.
fn all(limit: Duration) -> Result<(), String> {
    let mut lines = lines();
    let vocabulary = lines.next().ok_or("there is no vocabulary")??;
    for case in lines {
        let said = apart(&vocabulary, &case?, limit);
        answer(said);
    }
    Ok(())
}

/// What a process of its own says of a case.
fn apart(vocabulary: &str, case: &str, limit: Duration) -> Result<Value, String> {
    let say = |error: std::io::Error| error.to_string();
    let mut child = Command::new(std::env::current_exe().map_err(say)?)
        .args(["--one", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(say)?;
    let mut input = child.stdin.take().ok_or("it takes no input")?;
    writeln!(input, "{vocabulary}\n{case}").map_err(say)?;
    drop(input);
    let output = child.stdout.take().ok_or("it says nothing")?;
    let (told, answer) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        // Nobody listens any more where it took too long.
        let _ = told.send(read.map(|_| line));
    });
    let line = answer.recv_timeout(limit);
    let _ = child.kill();
    child.wait().map_err(say)?;
    match line {
        Err(_) => Err(format!("it took more than {} s", limit.as_secs())),
        Ok(line) => serde_json::from_str(&line.map_err(say)?).map_err(|_| "it crashed".to_owned()),
    }
}

/// Measures the case of the second line.
fn one() -> Result<(), String> {
    let mut lines = lines();
    let mut next = || -> Result<Value, String> {
        let line = lines.next().ok_or("there is a line missing")??;
        serde_json::from_str(&line).map_err(|e| e.to_string())
    };
    let (told, case) = (next()?, next()?);
    let said = measure(&told["tokens"], &case);
    answer(said);
    Ok(())
}

fn numbers(value: &Value) -> impl Iterator<Item = u32> + '_ {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(Value::as_u64).map(|number| number as u32)
}

fn measure(tokens: &Value, case: &Value) -> Result<Value, String> {
    if let Some("gbnf" | "ebnf") = case["dialect"].as_str() {
        return Err("glrmask reads Lark alone".to_owned());
    }
    let bytes = |token: &Value| numbers(token).map(|byte| byte as u8).collect::<Vec<u8>>();
    let tokens = tokens.as_array().into_iter().flatten().map(bytes);
    let width = tokens.clone().count();
    let text = (0..).zip(tokens).filter(|(_, bytes)| !bytes.is_empty());
    let vocabulary = Vocab::new(text.collect());
    let grammar = case["grammar"].as_str().ok_or("there is no grammar")?;
    let begin = Instant::now();
    let read = Grammar::from_lark(grammar);
    let compiled = read.and_then(|grammar| grammar.compile(&vocabulary));
    let compiled = compiled.map_err(|e| e.to_string())?;
    let compile = begin.elapsed().as_nanos() as u64;
    let mut mask = vec![0u32; width.div_ceil(32)];
    let (mut masks, mut advances, mut failed) = (Vec::new(), Vec::new(), 0);
    for text in case["texts"].as_array().into_iter().flatten() {
        let begin = Instant::now();
        let mut state = compiled.start();
        state.fill_mask(&mut mask);
        masks.push(begin.elapsed().as_nanos() as u64);
        for token in numbers(text) {
            let begin = Instant::now();
            if !state.commit_token(token) {
                failed += 1;
                break;
            }
            advances.push(begin.elapsed().as_nanos() as u64);
            let begin = Instant::now();
            state.fill_mask(&mut mask);
            masks.push(begin.elapsed().as_nanos() as u64);
        }
    }
    Ok(json!({ "compile": compile, "masks": masks, "advances": advances, "failed": failed }))
}
