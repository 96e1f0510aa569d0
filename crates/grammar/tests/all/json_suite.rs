//! JSONTestSuite under published grammars of JSON, with what their own readers say of it.

use grammar::{Config, Grammar};
use serde_json::Value;

use crate::common;

#[test]
fn published_grammars_of_json_take_what_their_readers_take() {
    let Some(cases) = common::cases() else {
        return;
    };
    let mut checked = 0;
    for case in cases {
        let is_suite = |text: &&Value| {
            let name = text["name"].as_str().unwrap_or_default();
            ["y_", "n_", "i_"].iter().any(|kind| name.starts_with(kind))
        };
        let texts: Vec<&Value> = case.texts.iter().filter(is_suite).collect();
        if texts.is_empty() {
            continue;
        }
        let automaton = Grammar::compile(&case.grammar, case.dialect, &Config::default()).unwrap();
        for text in texts {
            let taken = automaton.accepts(text["text"].as_str().unwrap());
            assert_eq!(
                taken, text["accept"],
                "{}: {} {}",
                case.id, text["name"], text["text"]
            );
            checked += 1;
        }
    }
    println!("{checked} texts");
    assert!(checked > 1_000, "{checked}");
}
