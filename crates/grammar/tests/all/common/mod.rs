//! The shared cases of checking data: grammars, each with texts that it takes or refuses. Tests with grammars
//! of their own ask by `takes`.

use std::path::Path;

use grammar::{Config, Dialect, Grammar, GrammarAutomaton};
use proptest::prelude::*;
use serde_json::Value;

#[track_caller]
pub(crate) fn compile(dialect: Dialect, text: &str) -> GrammarAutomaton {
    Grammar::compile(text, dialect, &Config::default())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Asserts that a grammar takes some texts and others not.
#[track_caller]
pub(crate) fn takes(dialect: Dialect, grammar: &str, right: &[&str], wrong: &[&str]) {
    let automaton = compile(dialect, grammar);
    for text in right {
        assert!(automaton.accepts(text), "{grammar}: {text:?}");
    }
    for text in wrong {
        assert!(!automaton.accepts(text), "{grammar}: {text:?}");
    }
}

/// All texts of up to so many of some characters.
pub(crate) fn texts(chars: &str, most: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    for _ in 0..most {
        let to = all.len();
        for at in from..to {
            let longer = chars.chars().map(|c| format!("{}{c}", all[at]));
            all.extend(longer.collect::<Vec<_>>());
        }
        from = to;
    }
    all
}

/// An expression of some parts in the signs that all notations have: rows, alternatives, `*` and `?`.
pub(crate) fn expression(parts: &'static [&'static str]) -> impl Strategy<Value = String> {
    let part = prop::sample::select(parts).prop_map(str::to_owned);
    part.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.join(" ")),
            prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| format!("({})", parts.join(" | "))),
            inner.clone().prop_map(|part| format!("({part})*")),
            inner.prop_map(|part| format!("({part})?")),
        ]
    })
}

/// A grammar with texts.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) dialect: Dialect,
    pub(crate) grammar: String,
    /// Whether its own reader refuses it.
    pub(crate) is_refused: bool,
    /// Each with its `text`, whether its readers `accept` it, and perhaps a `name`.
    pub(crate) texts: Vec<Value>,
}

impl Case {
    fn of(case: &Value) -> Case {
        let text_of = |key: &str| case[key].as_str().unwrap();
        let dialect = match (text_of("dialect"), text_of("lexing")) {
            ("gbnf", _) => Dialect::Gbnf,
            ("ebnf", _) => Dialect::Ebnf,
            ("lark", "greedy") => Dialect::Lark,
            ("lark", _) => Dialect::LarkSplits,
            ("xgr-lark", _) => Dialect::LarkAscii,
            other => panic!("no dialect is known for {other:?}"),
        };
        Case {
            id: text_of("id").to_owned(),
            dialect,
            grammar: text_of("grammar").to_owned(),
            is_refused: case["error"] == true,
            texts: case["texts"].as_array().unwrap().clone(),
        }
    }

    /// The texts that its readers take.
    pub(crate) fn accepted(&self) -> impl Iterator<Item = &str> {
        let accepted = self.texts.iter().filter(|text| text["accept"] == true);
        accepted.map(|text| text["text"].as_str().unwrap())
    }
}

/// A file of the checking data, if it is there; says so aloud if not.
pub(crate) fn read(name: &str) -> Option<String> {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        println!("skipped: TOKENMOLD_DATA names no folder with checking data");
        return None;
    };
    let file = Path::new(&data).join(name);
    let text = std::fs::read_to_string(&file);
    if text.is_err() {
        println!("skipped: there is no {}", file.display());
    }
    text.ok()
}

/// All cases, if they are there.
pub(crate) fn cases() -> Option<Vec<Case>> {
    let text = read("goldens/grammars-dev.jsonl")?;
    let case = |line| Case::of(&serde_json::from_str(line).unwrap());
    Some(text.lines().map(case).collect())
}
