//! The reference's own answers, from the checking data, where that is at hand.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use response_parser::{
    Mode, Release, ResponseSchema, ResponseTemplate, TemplateRelease, Turn, Unrepresentable,
};
use serde_json::{Value, json};

/// The folder of the checking data, or `None`, said aloud, where there is none.
fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("TOKENMOLD_DATA");
    if folder.is_none() {
        eprintln!("TOKENMOLD_DATA is not set: the golden cases are skipped");
    }
    folder.map(PathBuf::from)
}

fn records(folder: &Path, name: &str) -> Vec<Value> {
    let path = folder.join("goldens").join(name).with_extension("jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a record is JSON"))
        .collect()
}

fn outcome(record: &Value, mode: Mode) -> Value {
    // The answers are those of transformers 5.0.
    let schema = ResponseSchema::builder()
        .with_mode(mode)
        .with_release(Release::V5_0)
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
    let mut wrong = Vec::new();
    let mut count = 0;
    for record in records(&folder, "response-schema") {
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
        let refused = ResponseSchema::builder()
            .with_release(Release::V5_0)
            .build(&record["schema"])
            .is_err();
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

/// The message, or the kind of the error, of a case of a template.
fn message(record: &Value) -> Result<Value, response_parser::Error> {
    // The answers are those of transformers 5.23.
    let template = ResponseTemplate::builder()
        .with_mode(Mode::Reference)
        .with_release(TemplateRelease::V5_23)
        .with_unrepresentable(Unrepresentable::Tag)
        .build(&record["template"])?;
    let mut turn = Turn::new();
    if let Some(prefix) = record["prefix"].as_str() {
        turn = turn.with_prefix(prefix);
    }
    if let Some(tools) = record.get("tools") {
        turn = turn.with_tools(tools);
    }
    let mut events = Vec::new();
    let mut stream = template.stream_with(&turn, &mut events)?;
    for chunk in record["chunks"].as_array().into_iter().flatten() {
        stream.feed_into(chunk.as_str().unwrap_or_default(), &mut events)?;
    }
    let finished = stream.finish()?;
    Ok(finished.message)
}

#[test]
fn response_template_answers_like_the_reference_to_the_whole_text() {
    let Some(folder) = data() else { return };
    let records = records(&folder, "response-template");
    let whole: HashMap<&str, &Value> = records
        .iter()
        .filter(|record| record["chunking"] == json!("whole"))
        .filter_map(|record| Some((record["base"].as_str()?, record)))
        .collect();
    let mut wrong = Vec::new();
    for record in &records {
        let base = record["base"].as_str().unwrap_or_default();
        let right = whole.get(base).copied().unwrap_or(record);
        let agrees = match (message(record), right["error"]["kind"].as_str()) {
            (Ok(got), None) => got == right["expected_message"],
            (Err(_), Some("python_type")) => true,
            (Err(error), Some(kind)) => error.kind().as_str() == kind,
            _ => false,
        };
        if !agrees {
            wrong.push(record["id"].to_string());
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ: {}",
        wrong.len(),
        wrong.join(", ")
    );
}
