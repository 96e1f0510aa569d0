//! Runs a file of cases (`{"id","schema","tests":[{"valid","text"}]}`, one a
//! line) and prints how many pass, why others are refused, and how long it
//! takes: `cargo run --release -p schema-regex --example survey -- FILE.jsonl
//! [--closed] [--depth N] [--unroll N] [--annotate] [--verbose]`.

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::time::{Duration, Instant};

use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;
use schema_regex::{
    AdditionalMembers, AnyValue, Formats, IntegerSpelling, Options, Recursion, parse, to_regex,
};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let mut file = None;
    let mut options = Options::default();
    let mut verbose = false;
    let mut unless_optional = false;
    while let Some(arg) = args.next() {
        let mut number = || {
            args.next()
                .and_then(|n| n.parse().ok())
                .ok_or("a number is missing")
        };
        match arg.as_str() {
            "--closed" => options = options.with_additional_members(AdditionalMembers::Closed),
            "--depth" => options = options.with_any_value(AnyValue::Depth(number()?)),
            "--unroll" => options = options.with_recursion(Recursion::Unroll(number()?)),
            "--annotate" => options = options.with_formats(Formats::Annotate),
            "--zero-fraction" => options = options.with_integers(IntegerSpelling::ZeroFraction),
            "--required" => unless_optional = true,
            "--verbose" => verbose = true,
            _ => file = Some(arg),
        }
    }
    let file = std::fs::File::open(file.ok_or("a file is missing")?)?;
    let (mut cases, mut passing, mut compiled) = (0, 0, 0);
    let (mut rejected, mut accepted, mut unbuilt) = (0, 0, 0);
    let mut reasons: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut times: Vec<(Duration, String)> = Vec::new();
    let mut sizes: Vec<usize> = Vec::new();
    for line in std::io::BufReader::new(file).lines() {
        let case: Value = serde_json::from_str(&line?)?;
        if unless_optional && case["optional"] == Value::Bool(true) {
            continue;
        }
        cases += 1;
        let id = case["id"].as_str().unwrap_or("").to_owned();
        let start = Instant::now();
        let result = parse(&case["schema"]).and_then(|s| to_regex(&s, &options));
        times.push((start.elapsed(), id.clone()));
        let text = match result {
            Ok(text) => text,
            Err(e) => {
                let message: String = e.message().chars().take(90).collect();
                let key = format!("{:?} {} {message}", e.kind(), e.keyword().unwrap_or("-"));
                let entry = reasons.entry(key).or_insert((0, id.clone()));
                entry.0 += 1;
                if verbose {
                    println!("refused {id}: {e}");
                }
                continue;
            }
        };
        compiled += 1;
        sizes.push(text.len());
        let config = Config::new()
            .nfa_size_limit(Some(60 << 20))
            .hybrid_cache_capacity(64 << 20)
            .onepass(false)
            .dfa(false)
            .backtrack(false);
        let built = Regex::builder()
            .configure(config)
            .syntax(syntax::Config::new().nest_limit(4_000))
            .build(&format!("^(?:{})$", without_large_counts(&text)));
        let regex = match built {
            Ok(regex) => regex,
            Err(e) => {
                unbuilt += 1;
                let why = std::error::Error::source(&e).map_or(String::new(), ToString::to_string);
                println!("not built {id}: {e}: {why} ({} bytes)", text.len());
                continue;
            }
        };
        let mut good = true;
        if start.elapsed() > Duration::from_secs(1) {
            println!("slow {id}: {:?}, {} bytes", start.elapsed(), text.len());
        }
        for test in case["tests"].as_array().into_iter().flatten() {
            let (valid, text) = (
                test["valid"] == Value::Bool(true),
                test["text"].as_str().unwrap_or(""),
            );
            if regex.is_match(text) != valid {
                good = false;
                if valid {
                    rejected += 1;
                } else {
                    accepted += 1;
                }
                if verbose || !valid {
                    let shown: String = text.chars().take(300).collect();
                    println!(
                        "{} {id}: {shown}",
                        if valid {
                            "valid rejected"
                        } else {
                            "INVALID ACCEPTED"
                        }
                    );
                }
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
    sizes.sort_unstable();
    let at = |p: usize| times.get(times.len() * p / 100).map(|t| t.0);
    println!(
        "slowest: {:?}",
        times.iter().rev().take(5).collect::<Vec<_>>()
    );
    println!(
        "compile p50 {:?} p99 {:?}; bytes p50 {:?} p90 {:?} p99 {:?} max {:?}",
        at(50),
        at(99),
        sizes.get(sizes.len() / 2),
        sizes.get(sizes.len() * 9 / 10),
        sizes.get(sizes.len() * 99 / 100),
        sizes.last()
    );
    println!(
        "{cases} cases, {compiled} compiled, {unbuilt} not built, {passing} passing ({:.1}%), {rejected} valid texts rejected, {accepted} invalid texts accepted",
        100.0 * f64::from(passing as u32) / f64::from(cases as u32)
    );
    Ok(())
}

/// Counts past 300 become loops: this program only asks for answers on short
/// texts, and the engine it uses copies the body of a count.
fn without_large_counts(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        rest = &after[1..];
        let count = rest.find('}').map(|end| &rest[..end]);
        let numbers: Option<Vec<u32>> =
            count.and_then(|c| c.split(',').map(|n| n.parse().ok()).collect());
        match (numbers.as_deref(), count) {
            (Some([min, max]), Some(count)) if *max > 300 && !before.ends_with('\\') => {
                out.push_str(&format!("{{{},}}", min.min(&300)));
                rest = &rest[count.len() + 1..];
            }
            _ => out.push('{'),
        }
    }
    out.push_str(rest);
    out
}
