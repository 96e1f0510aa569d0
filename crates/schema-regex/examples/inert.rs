//! Deletes each enforced keyword of each schema of a file of cases (as for the
//! example `automaton`) and says of how many the language changed, how many are
//! proved to follow from the rest, and what stayed open: `cargo run --release -p
//! schema-regex --features automaton --example inert -- FILE.jsonl [--most N]
//! [--every N] [--seconds N] [--verbose]`; at most N keywords of a schema, every Nth
//! case, at most N seconds for each schema.

#[path = "../tests/all/common/deletion.rs"]
mod deletion;

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::time::{Duration, Instant};

use deletion::{Outcome, Subject};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (mut file, mut verbose) = (None, false);
    let (mut most, mut every, mut seconds) = (usize::MAX, 1, 60);
    while let Some(arg) = args.next() {
        let mut number = || -> Result<usize, Box<dyn std::error::Error>> {
            Ok(args.next().ok_or("a number is missing")?.parse()?)
        };
        match arg.as_str() {
            "--most" => most = number()?,
            "--every" => every = number()?.max(1),
            "--seconds" => seconds = number()?,
            "--verbose" => verbose = true,
            _ => file = Some(arg),
        }
    }
    let file = std::fs::File::open(file.ok_or("a file is missing")?)?;
    // By keyword: changed, implied, undecided.
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut reasons: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let (mut schemas, mut skipped, mut unasked, mut disagree) = (0, 0, 0, 0);
    for line in std::io::BufReader::new(file).lines().step_by(every) {
        let case: Value = serde_json::from_str(&line?)?;
        let texts = case["tests"].as_array().into_iter().flatten();
        let texts = texts.filter_map(|t| t["text"].as_str().map(str::to_owned));
        let Some(subject) = Subject::new(&case["schema"], texts.collect()) else {
            skipped += 1;
            continue;
        };
        schemas += 1;
        if schemas % 500 == 0 {
            eprintln!("{schemas} schemas");
        }
        let validator = jsonschema::options()
            .should_validate_formats(false)
            .build(&case["schema"])
            .ok();
        let keywords = subject.keywords();
        let formats = keywords.iter().any(|(_, k)| k == "format");
        let step = 1 + keywords.len().saturating_sub(1) / most;
        let start = Instant::now();
        for (i, (pointer, keyword)) in keywords.iter().enumerate().step_by(step) {
            if start.elapsed() > Duration::from_secs(seconds as u64) {
                unasked += (keywords.len() - i).div_ceil(step);
                break;
            }
            let slot = counts.entry(keyword.clone()).or_default();
            match subject.delete(pointer) {
                Outcome::Changed {
                    text,
                    admitted_with,
                } => {
                    slot[0] += 1;
                    // It knows other formats.
                    if let (Some(v), Some(text)) = (&validator, &text)
                        && let Ok(value) = serde_json::from_str(text)
                        && !formats
                        && v.is_valid(&value) != admitted_with
                    {
                        disagree += 1;
                        println!(
                            "another validator differs {}: {} {text}",
                            case["id"], pointer
                        );
                    }
                }
                Outcome::Implied => {
                    slot[1] += 1;
                    if verbose {
                        println!("implied {}: {}", case["id"], pointer);
                    }
                }
                Outcome::Undecided(reason) => {
                    slot[2] += 1;
                    let place = format!("{} {}", case["id"], pointer);
                    reasons.entry(reason).or_insert((0, place)).0 += 1;
                }
            }
        }
    }
    let mut list: Vec<_> = reasons.into_iter().collect();
    list.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
    for (reason, (n, place)) in list.iter().take(30) {
        println!("{n:6}  {reason}  [{place}]");
    }
    let mut sum = [0; 3];
    for (keyword, [changed, implied, undecided]) in &counts {
        println!("{keyword}: {changed} changed, {implied} implied, {undecided} undecided");
        for (total, n) in sum.iter_mut().zip([changed, implied, undecided]) {
            *total += n;
        }
    }
    println!(
        "{schemas} schemas ({skipped} refused or empty): {} keywords changed the language, {} are implied, {} undecided, {unasked} not asked for want of time; another validator differs on {disagree}",
        sum[0], sum[1], sum[2]
    );
    Ok(())
}
