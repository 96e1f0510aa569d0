//! The reference's own answers, from the checking data, where that is at hand.

use std::path::PathBuf;

use response_parser::{Mode, ResponseSchema};
use serde_json::Value;

/// The folder of the checking data, or `None`, said aloud, where there is none.
fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("TOKENMOLD_DATA");
    if folder.is_none() {
        eprintln!("TOKENMOLD_DATA is not set: the golden cases are skipped");
    }
    folder.map(PathBuf::from)
}

fn outcome(record: &Value, mode: Mode) -> Value {
    let schema = ResponseSchema::builder()
        .mode(mode)
        .build(&record["schema"]);
    match schema.and_then(|schema| schema.parse_tagged(&record["input"])) {
        Ok(value) => value,
        Err(error) => Value::from(format!("error {}", error.kind())),
    }
}

fn expected(record: &Value) -> Value {
    match record["error"]["kind"].as_str() {
        Some(kind) => Value::from(format!("error {kind}")),
        None => record["expected"].clone(),
    }
}

#[test]
fn response_schema_answers_like_the_reference() {
    let Some(folder) = data() else { return };
    let path = folder.join("goldens/response-schema.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).expect("a record is JSON");
        let (expected, got) = (expected(&record), outcome(&record, Mode::Reference));
        count += 1;
        // `Value` tells 1 from 1.0; the text tells -0.0 from 0.0.
        if expected != got
            || expected.to_string().contains("-0.0") != got.to_string().contains("-0.0")
        {
            wrong.push(format!("{}: expected {expected}, got {got}", record["id"]));
        }
        // Where the reference has an answer, the lenient mode gives the same one, or refuses
        // a schema that is broken in a part that this input does not reach.
        let lenient = outcome(&record, Mode::Lenient);
        let refused = ResponseSchema::new(&record["schema"]).is_err();
        if record["error"].is_null() && lenient != expected && !refused {
            wrong.push(format!(
                "{} (lenient): expected {expected}, got {lenient}",
                record["id"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} cases differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
