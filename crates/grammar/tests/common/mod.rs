//! The shared cases of checking data: grammars, each with texts that it takes or refuses.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::PathBuf;

use grammar::Dialect;
use serde_json::Value;

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
        let text_of = |key: &str| case[key].as_str().unwrap_or_default();
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
            texts: case["texts"].as_array().cloned().unwrap_or_default(),
        }
    }

    /// The texts that its readers take.
    pub(crate) fn accepted(&self) -> impl Iterator<Item = &str> {
        let accepted = self.texts.iter().filter(|text| text["accept"] == true);
        accepted.filter_map(|text| text["text"].as_str())
    }
}

/// The folder with checking data, if there is one; says so aloud if not.
pub(crate) fn data() -> Option<PathBuf> {
    let data = std::env::var_os("TOKENMOLD_DATA");
    if data.is_none() {
        println!("skipped: TOKENMOLD_DATA names no folder with checking data");
    }
    data.map(PathBuf::from)
}

/// All cases, if they are there; says so aloud if not.
pub(crate) fn cases() -> Option<Vec<Case>> {
    let file = data()?.join("goldens/grammars-dev.jsonl");
    let Ok(lines) = std::fs::read_to_string(&file) else {
        println!("skipped: there is no {}", file.display());
        return None;
    };
    let cases = lines.lines().map(|line| {
        let case = serde_json::from_str(line).unwrap();
        Case::of(&case)
    });
    Some(cases.collect())
}
