//! Runs a file of cases (a JSON object a line: `dialect`, `lexing`, `grammar`, `texts`) and
//! prints each difference: `cargo run -p grammar --example cases -- FILE [SLUG]`.

use std::time::Instant;

use grammar::{Config, Dialect, Grammar};
use serde_json::Value;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: cases FILE [SLUG]");
        return;
    };
    let slug = arguments.next().unwrap_or_default();
    let text = std::fs::read_to_string(file).expect("the file of cases can be read");
    let (mut right, mut cases, mut texts, mut right_texts, mut wrong_accepts) = (0, 0, 0, 0, 0);
    for line in text.split('\n').filter(|line| !line.is_empty()) {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let word = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
        let id = word("id");
        if !id.contains(&slug) {
            continue;
        }
        let dialect = match (word("dialect").as_str(), word("lexing").as_str()) {
            ("gbnf", _) => Dialect::Gbnf,
            ("ebnf", _) => Dialect::Ebnf,
            ("lark", "greedy") => Dialect::Lark,
            ("lark", _) => Dialect::LarkSplits,
            _ => Dialect::LarkAscii,
        };
        cases += 1;
        let begin = Instant::now();
        let compiled = Grammar::compile(&word("grammar"), dialect, &Config::default());
        let took = begin.elapsed().as_millis();
        if took > 100 {
            println!("SLOW {id}: {took} ms");
        }
        let should_fail = case["error"].as_bool().unwrap_or(false);
        let automaton = match (compiled, should_fail) {
            (Err(_), true) => {
                right += 1;
                continue;
            }
            (Ok(_), true) => {
                println!("TOOK {id}: {:?}", case["message"].as_str().unwrap_or(""));
                continue;
            }
            (Err(error), false) => {
                let count = case["texts"].as_array().map_or(0, Vec::len);
                texts += count;
                println!("REFUSED {id} ({count} texts): {error}");
                continue;
            }
            (Ok(automaton), false) => automaton,
        };
        let mut fine = true;
        let begin = Instant::now();
        for text in case["texts"].as_array().into_iter().flatten() {
            let accept = text["accept"].as_bool().unwrap_or(false);
            let own = automaton.accepts(text["text"].as_str().unwrap_or(""));
            texts += 1;
            if own == accept {
                right_texts += 1;
                continue;
            }
            let disputed = text.get("disputed").is_some();
            if !disputed {
                fine = false;
                wrong_accepts += usize::from(own);
            }
            let shown: String = text["text"].to_string().chars().take(200).collect();
            println!(
                "TEXT {id}: ours {own}, {} says {accept}{}: {shown}",
                text["by"],
                if disputed { " (disputed)" } else { "" }
            );
        }
        let took = begin.elapsed().as_millis();
        if took > 500 {
            println!("SLOW TEXTS {id}: {took} ms, {automaton:?}");
        }
        right += usize::from(fine);
    }
    println!(
        "{right} of {cases} cases, {right_texts} of {texts} texts, {wrong_accepts} wrong accepts"
    );
}
