//! Runs a file of cases (`{"id","schema","tests":[{"valid","text"}]}`, one a
//! line) through the schema automaton and prints how many pass, why others are
//! refused, and how long it takes: `cargo run --release -p schema-regex
//! --features automaton --example automaton -- FILE.jsonl [--any] [--annotate]
//! [--zero-fraction] [--required] [--optional-formats] [--remotes FOLDER] [--verbose]`.

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::path::Path;
use std::time::{Duration, Instant};

use fsm_index::ByteAutomaton as _;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{
    Documents, Formats, IntegerSpelling, Options, ParseOptions, PropertyOrder, Rounded, parse_with,
};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let mut file = None;
    let mut options = Options::default();
    // What cases say in numbers is kept by a `Value`.
    let reading = ParseOptions::default().with_rounded(Rounded::Keep);
    let mut documents = Documents::default();
    let (mut verbose, mut required, mut only) = (false, false, None);
    let mut optional_formats = false;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--any" => options = options.with_property_order(PropertyOrder::Any),
            "--annotate" => options = options.with_formats(Formats::Annotate),
            "--zero-fraction" => options = options.with_integers(IntegerSpelling::ZeroFraction),
            "--required" => required = true,
            "--optional-formats" => optional_formats = true,
            "--verbose" => verbose = true,
            "--only" => only = args.next(),
            "--remotes" => {
                let folder = args.next().ok_or("a folder is missing")?;
                let uri = Some("http://localhost:1234/");
                documents.insert_folder(Path::new(&folder), uri)?;
            }
            _ => file = Some(arg),
        }
    }
    let reading = reading.with_documents(documents);
    let file = std::fs::File::open(file.ok_or("a file is missing")?)?;
    let (mut cases, mut compiled, mut passing) = (0, 0, 0);
    let (mut rejected, mut accepted, mut right, mut texts) = (0, 0, 0, 0);
    let mut by_file: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut reasons: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut times: Vec<(Duration, String)> = Vec::new();
    let mut parses: Vec<Duration> = Vec::new();
    let mut stepping = Duration::ZERO;
    let mut bytes = 0usize;
    for line in std::io::BufReader::new(file).lines() {
        let case: Value = serde_json::from_str(&line?)?;
        let id = case["id"].as_str().unwrap_or("").to_owned();
        if (required && case["optional"] == Value::Bool(true))
            || (optional_formats && !id.contains("optional/format"))
            || only.as_ref().is_some_and(|o| !id.contains(o.as_str()))
        {
            continue;
        }
        cases += 1;
        let list = case["tests"].as_array().map_or(&[][..], Vec::as_slice);
        texts += list.len();
        let counts = by_file
            .entry(id.split('#').next().unwrap_or("").to_owned())
            .or_default();
        let start = Instant::now();
        let schema = parse_with(&case["schema"], &reading);
        parses.push(start.elapsed());
        let result = schema.and_then(|s| SchemaAutomaton::compile(s, &options));
        times.push((start.elapsed(), id.clone()));
        let automaton = match result {
            Ok(automaton) => automaton,
            Err(e) if e.kind() == schema_regex::ErrorKind::Unsatisfiable => {
                // The empty language is an answer too.
                let right_ones = list
                    .iter()
                    .filter(|t| t["valid"] == Value::Bool(false))
                    .count();
                right += right_ones;
                counts[0] += right_ones;
                counts[1] += list.len() - right_ones;
                passing += usize::from(right_ones == list.len());
                if right_ones < list.len() && verbose {
                    println!("empty {id}: {e}");
                }
                compiled += 1;
                continue;
            }
            Err(e) => {
                let message: String = e.message().chars().take(90).collect();
                let key = format!("{:?} {} {message}", e.kind(), e.keyword().unwrap_or("-"));
                reasons.entry(key).or_insert((0, id.clone())).0 += 1;
                counts[2] += list.len();
                if verbose {
                    println!("refused {id}: {e}");
                }
                continue;
            }
        };
        compiled += 1;
        let mut good = true;
        let mut scratch = automaton.scratch();
        for test in list {
            let valid = test["valid"] == Value::Bool(true);
            let text = test["text"].as_str().unwrap_or("");
            let mut state = automaton.start();
            let start = Instant::now();
            let end = automaton.advance(&mut state, text.as_bytes(), &mut scratch);
            stepping += start.elapsed();
            bytes += text.len();
            let is_match = end.is_ok() && automaton.is_accepting(&state);
            if is_match == valid {
                right += 1;
                counts[0] += 1;
                continue;
            }
            counts[1] += 1;
            good = false;
            if valid {
                rejected += 1;
            } else {
                accepted += 1;
            }
            if verbose || !valid {
                let shown: String = text.chars().take(300).collect();
                let what = if valid {
                    "valid rejected"
                } else {
                    "INVALID ACCEPTED"
                };
                let at = end.err().unwrap_or(text.len());
                let tail: String = String::from_utf8_lossy(&text.as_bytes()[at.min(text.len())..])
                    .chars()
                    .take(30)
                    .collect();
                println!("{what} {id} at byte {at} `{tail}`: {shown}");
            }
        }
        passing += usize::from(good);
    }
    let mut list: Vec<_> = reasons.into_iter().collect();
    list.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
    for (reason, (n, id)) in list.iter().take(60) {
        println!("{n:5}  {reason}  [{id}]");
    }
    times.sort();
    parses.sort();
    let at = |p: usize| times.get(times.len() * p / 1000).map(|t| t.0);
    println!(
        "slowest: {:?}",
        times.iter().rev().take(8).collect::<Vec<_>>()
    );
    println!(
        "compile p50 {:?} p90 {:?} p99 {:?} p99.9 {:?}; of that reading p50 {:?}; {:.1} ns a byte",
        at(500),
        at(900),
        at(990),
        at(999),
        parses.get(parses.len() / 2),
        stepping.as_nanos() as f64 / bytes.max(1) as f64
    );
    if required || optional_formats {
        for (file, [right, wrong, refused]) in &by_file {
            if wrong + refused > 0 {
                println!("{file}: {right} right, {wrong} wrong, {refused} refused");
            }
        }
    }
    println!(
        "{cases} cases, {compiled} compiled, {passing} passing ({:.2}%), {rejected} valid texts rejected, {accepted} invalid texts accepted; {right} of {texts} answers right ({:.2}%)",
        100.0 * f64::from(passing as u32) / f64::from(cases as u32),
        100.0 * f64::from(right as u32) / f64::from(texts as u32)
    );
    Ok(())
}
