//! Cases from outside, where `TOKENMOLD_DATA` says where they are: no invalid
//! text may be admitted, and few valid ones refused.

use schema_regex::{Draft, Formats, Options, ParseOptions, parse_with, to_regex};
use serde_json::Value;

use crate::common;

#[derive(Default, Debug)]
struct Figures {
    cases: usize,
    compiled: usize,
    passing: usize,
    rejected: usize,
    accepted: Vec<String>,
}

fn run(path: &str, every: usize, draft: Draft, options: &Options) -> Option<Figures> {
    let Some(folder) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("TOKENMOLD_DATA is not set: {path} is not run");
        return None;
    };
    let path = std::path::Path::new(&folder).join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut figures = Figures::default();
    for line in text.lines().step_by(every) {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["optional"] == Value::Bool(true) {
            continue;
        }
        figures.cases += 1;
        let Ok(text) = parse_with(&case["schema"], &ParseOptions::default().with_draft(draft))
            .and_then(|s| to_regex(&s, options))
        else {
            continue;
        };
        // The engine of this test copies the body of a count: large ones, and
        // very long expressions, are for other tests.
        if text.len() > 60_000 || has_large_count(&text) {
            continue;
        }
        figures.compiled += 1;
        let regex = common::whole(&text);
        let mut good = true;
        for test in case["tests"].as_array().into_iter().flatten() {
            let text = test["text"].as_str().unwrap_or("");
            match (test["valid"] == Value::Bool(true), regex.is_match(text)) {
                (true, false) => {
                    good = false;
                    figures.rejected += 1;
                }
                (false, true) => {
                    good = false;
                    figures.accepted.push(format!("{}: {text}", case["id"]));
                }
                _ => {}
            }
        }
        figures.passing += usize::from(good);
    }
    eprintln!(
        "{}: {} cases, {} compiled and small, {} passing, {} valid texts rejected",
        path.display(),
        figures.cases,
        figures.compiled,
        figures.passing,
        figures.rejected
    );
    Some(figures)
}

fn has_large_count(text: &str) -> bool {
    text.split('{').skip(1).any(|rest| {
        let digits = |s: &str| s.parse::<u32>().is_ok_and(|n| n > 200);
        rest.split('}')
            .next()
            .is_some_and(|count| count.split(',').any(digits))
    })
}

#[test]
fn maskbench_sample() {
    if let Some(figures) = run(
        "maskbench/dev.jsonl",
        29,
        Draft::Draft202012,
        &Options::default(),
    ) {
        assert!(figures.accepted.is_empty(), "{:#?}", figures.accepted);
        assert!(
            figures.passing * 100 >= figures.compiled * 88,
            "{figures:?}"
        );
    }
}

#[test]
fn the_official_suite() {
    // Its required part wants formats as annotations.
    let options = Options::default().with_formats(Formats::Annotate);
    for (name, draft) in [
        ("draft2020-12", Draft::Draft202012),
        ("draft7", Draft::Draft7),
        ("draft4", Draft::Draft4),
    ] {
        let path = format!("json-schema-test-suite/{name}.jsonl");
        if let Some(figures) = run(&path, 1, draft, &options) {
            assert!(figures.accepted.is_empty(), "{:#?}", figures.accepted);
        }
    }
}
