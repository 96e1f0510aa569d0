//! JSONTestSuite under published grammars of JSON, with what their own readers say of it.

use std::path::PathBuf;

use grammar::{Config, Dialect, Grammar};
use serde_json::Value;

#[test]
fn published_grammars_of_json_take_what_their_readers_take() {
    let Some(folder) = std::env::var_os("TOKENMOLD_DATA") else {
        println!("skipped: TOKENMOLD_DATA names no folder with checking data");
        return;
    };
    let file = PathBuf::from(folder).join("goldens/grammars-dev.jsonl");
    let Ok(cases) = std::fs::read_to_string(&file) else {
        println!("skipped: there is no {}", file.display());
        return;
    };
    let mut checked = 0;
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let is_suite = |text: &&Value| {
            let name = text["name"].as_str().unwrap_or_default();
            ["y_", "n_", "i_"].iter().any(|kind| name.starts_with(kind))
        };
        let texts = case["texts"].as_array().map_or(&[][..], Vec::as_slice);
        let texts: Vec<&Value> = texts.iter().filter(is_suite).collect();
        if texts.is_empty() {
            continue;
        }
        let dialect = match (&case["dialect"], &case["lexing"]) {
            (dialect, _) if dialect == "gbnf" => Dialect::Gbnf,
            (dialect, _) if dialect == "ebnf" => Dialect::Ebnf,
            (dialect, _) if dialect == "xgr-lark" => Dialect::LarkAscii,
            (_, lexing) if lexing == "greedy" => Dialect::Lark,
            _ => Dialect::LarkSplits,
        };
        let grammar = case["grammar"].as_str().unwrap();
        let automaton = Grammar::compile(grammar, dialect, &Config::default()).unwrap();
        for text in texts {
            let taken = automaton.accepts(text["text"].as_str().unwrap());
            assert_eq!(
                taken, text["accept"],
                "{}: {} {}",
                case["id"], text["name"], text["text"]
            );
            checked += 1;
        }
    }
    println!("{checked} texts");
    assert!(checked > 1_000, "{checked}");
}
