//! Compiles hostile schemas, each in a process of its own under a limit, and prints
//! those that take more than a second or 256 MiB: `cargo run --release -p schema-regex
//! --features automaton --example hostile -- [--only TEXT] [--mode any|schema|regex|masks]
//! [--tokenizer FILE] [--verbose]`.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fsm_index::{Guide, Index, IndexConfig, TokenId, Vocabulary};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, PropertyOrder, parse, to_regex};
use serde_json::Value;

#[path = "../tests/hostile/mod.rs"]
mod hostile;

/// The bounds of one compilation.
const MOST_TIME: Duration = Duration::from_secs(1);
const MOST_KIB: u64 = 256 * 1024;
/// When a child is ended.
const END_TIME: Duration = Duration::from_secs(6);
const END_KIB: u64 = 3 * 1024 * 1024;
/// The longest mask, and how many masks of one schema are looked at.
const MOST_MASK: Duration = Duration::from_millis(50);
const MASKS: usize = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (mut only, mut modes, mut verbose) = (None, Vec::new(), false);
    let mut tokenizer = None;
    let mut child = None;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--only" => only = args.next(),
            "--mode" => modes.extend(args.next()),
            "--tokenizer" => tokenizer = args.next(),
            "--child" => child = args.next(),
            "--verbose" => verbose = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    if modes.is_empty() {
        modes = ["any", "schema", "regex"].map(str::to_owned).to_vec();
    }
    if let Some(name) = child {
        return look_at(&name, &modes[0], tokenizer.as_deref());
    }
    let (mut within, mut over) = (0, 0);
    for class in hostile::CLASSES {
        let mut cases = hostile::Cases::new();
        class(&mut cases);
        for (name, schema) in &cases {
            if only.as_ref().is_some_and(|o| !name.contains(o.as_str())) {
                continue;
            }
            for mode in &modes {
                let (line, fits) = run(name, schema, mode, tokenizer.as_deref())?;
                within += usize::from(fits);
                over += usize::from(!fits);
                if verbose || !fits {
                    let mark = if fits { " " } else { "!" };
                    println!("{mark} {mode:6} {name}: {line}");
                }
            }
        }
        std::mem::forget(cases);
    }
    println!("{within} within bounds, {over} over");
    Ok(())
}

/// Runs a child on one schema; whether it kept within the bounds.
fn run(
    name: &str,
    schema: &Value,
    mode: &str,
    tokenizer: Option<&str>,
) -> Result<(String, bool), Box<dyn std::error::Error>> {
    let me = std::env::current_exe()?;
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {END_KIB}; exec \"$0\" \"$@\""))
        .arg(me)
        .args(["--child", name, "--mode", mode]);
    if let Some(file) = tokenizer {
        command.args(["--tokenizer", file]);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let text = match is_deep(schema) {
        true => String::new(),
        false => schema.to_string(),
    };
    let stdin = child.stdin.take();
    let writer = std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(text.as_bytes());
        }
    });
    let start = Instant::now();
    let limit = if mode == "masks" {
        END_TIME * 5
    } else {
        END_TIME
    };
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let _ = writer.join();
    let mut line = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut line)?;
    }
    let mut complaint = String::new();
    if let Some(mut out) = child.stderr.take() {
        out.read_to_string(&mut complaint)?;
    }
    let Some(status) = status else {
        return Ok((format!("ended after {limit:?}"), false));
    };
    if !status.success() {
        let complaint: String = complaint.chars().take(200).collect();
        return Ok((format!("{status}: {complaint}"), false));
    }
    let fits = line.starts_with("ok");
    Ok((line.trim_end().to_owned(), fits))
}

fn is_deep(value: &Value) -> bool {
    let mut todo = vec![(value, 0)];
    while let Some((value, depth)) = todo.pop() {
        if depth > 120 {
            return true;
        }
        match value {
            Value::Array(items) => todo.extend(items.iter().map(|v| (v, depth + 1))),
            Value::Object(map) => todo.extend(map.values().map(|v| (v, depth + 1))),
            _ => {}
        }
    }
    false
}

/// The most memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let number = line.and_then(|l| l.split_whitespace().next());
    number.and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// The time that processors have spent on this process, to a hundredth of a second.
fn spent() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = stat.rsplit(')').next().unwrap_or("");
    let ticks = behind.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|n| n.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// What a child does.
fn look_at(
    name: &str,
    mode: &str,
    tokenizer: Option<&str>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let schema = match text.is_empty() {
        false => serde_json::from_str(&text)?,
        true => hostile::named(name).ok_or("an unknown name")?,
    };
    drop(text);
    let options = match mode {
        "schema" | "regex" => Options::default(),
        _ => Options::default().property_order(PropertyOrder::Any),
    };
    let vocabulary = match (mode, tokenizer) {
        ("masks", Some(file)) => Some(read_vocabulary(file)?),
        _ => None,
    };
    let before = peak();
    let start = spent();
    let mut longest = Duration::ZERO;
    let mut worst_at = String::new();
    let result = if mode == "regex" {
        parse(&schema)
            .and_then(|s| to_regex(&s, &options))
            .map(|r| format!("{} bytes", r.len()))
    } else {
        SchemaAutomaton::new(&schema, &options).map(|a| {
            let said = format!("{} nodes", a.nodes());
            if let Some(vocabulary) = &vocabulary {
                (longest, worst_at) = masks(a, vocabulary);
            }
            said
        })
    };
    let took = spent().saturating_sub(start);
    let more = peak().saturating_sub(before);
    let said = match result {
        Ok(said) => said,
        Err(e) => {
            let message: String = e.to_string().chars().take(160).collect();
            format!("{:?}: {message}", e.kind())
        }
    };
    let fits = match mode {
        "masks" => longest <= MOST_MASK,
        _ => took <= MOST_TIME && more <= MOST_KIB,
    };
    println!(
        "{} {:.0} ms, {} MiB{}; {said}",
        if fits { "ok" } else { "over" },
        took.as_secs_f64() * 1000.0,
        more / 1024,
        match mode {
            "masks" => format!(
                ", longest mask {:.1} ms {worst_at}",
                longest.as_secs_f64() * 1000.0
            ),
            _ => String::new(),
        }
    );
    std::mem::forget(schema);
    Ok(())
}

/// The longest mask on the way along a completion, and one random way.
fn masks(automaton: SchemaAutomaton, vocabulary: &Vocabulary) -> (Duration, String) {
    let mut longest = Duration::ZERO;
    let mut behind = String::new();
    let Ok(index) = Index::lazy(automaton, vocabulary, &IndexConfig::default()) else {
        return (longest, behind);
    };
    let index = Arc::new(index);
    for seed in 0..4u64 {
        let mut state = seed * 2 + 1;
        let mut guide = Guide::new(Arc::clone(&index));
        let mut said = Vec::new();
        for _ in 0..MASKS {
            let start = Instant::now();
            let _ = guide.mask();
            let took = start.elapsed();
            if took > longest {
                longest = took;
                behind = format!("behind {:?}", String::from_utf8_lossy(&said));
            }
            let allowed = guide.allowed_tokens().unwrap_or_default();
            if allowed.is_empty() {
                break;
            }
            state = state
                .wrapping_mul(0x5851_F42D_4C95_7F2D)
                .wrapping_add(0x1405_7B7E_F767_814F);
            let token = allowed[(state >> 33) as usize % allowed.len()];
            said.extend_from_slice(vocabulary.token_bytes(token).unwrap_or(b""));
            if guide.advance(token).is_err() {
                break;
            }
        }
    }
    (longest, behind)
}

/// The tokens of a byte-level `tokenizer.json`.
fn read_vocabulary(file: &str) -> Result<Vocabulary, Box<dyn std::error::Error>> {
    let read: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let tokens = read["model"]["vocab"].as_object().ok_or("no vocabulary")?;
    let mut bytes_of = std::collections::HashMap::new();
    let mut beyond = 0;
    for byte in 0..=255u8 {
        let plain = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let c = match plain {
            true => Some(char::from(byte)),
            false => {
                beyond += 1;
                char::from_u32(255 + beyond)
            }
        };
        bytes_of.insert(c.ok_or("no such character")?, byte);
    }
    let mut list = Vec::new();
    let mut end = 0;
    for (text, id) in tokens {
        let id = u32::try_from(id.as_u64().ok_or("no number")?)?;
        end = end.max(id + 1);
        let bytes: Option<Vec<u8>> = text.chars().map(|c| bytes_of.get(&c).copied()).collect();
        if let Some(bytes) = bytes {
            list.push((bytes, TokenId::new(id)));
        }
    }
    Ok(Vocabulary::new(list, [TokenId::new(end)])?)
}
