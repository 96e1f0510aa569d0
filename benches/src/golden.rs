//! Golden cases: what a reference implementation answered. For example, `{"schema": {"type":
//! "integer"}, "input": "5", "expected": 5}`.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use response_parser::{
    Event, Mode, Release, ResponseSchema, ResponseTemplate, TemplateRelease, Turn, Unrepresentable,
};
use serde_json::{Map, Value, json};

/// The number of cases that agree with the reference, and of those that do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases that agree.
    pub passed: usize,
    /// Cases that do not.
    pub failed: usize,
}

impl Tally {
    /// Counts one case.
    pub fn count(&mut self, passed: bool) {
        self.passed += usize::from(passed);
        self.failed += usize::from(!passed);
    }
}

/// A case that does not agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The case.
    pub id: String,
    /// The reference's answer.
    pub expected: String,
    /// This crate's answer.
    pub got: String,
}

/// Reads a file of golden cases, a JSON object a line.
///
/// # Errors
///
/// The file cannot be read, or a line is no case.
pub fn read(path: &Path) -> Result<Vec<Value>, String> {
    let place = path.display();
    let file = std::fs::File::open(path).map_err(|e| format!("{place}: {e}"))?;
    let mut records = Vec::new();
    for (i, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|e| format!("{place}: {e}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let record =
            serde_json::from_str(&line).map_err(|e| format!("{place}: line {}: {e}", i + 1))?;
        records.push(record);
    }
    Ok(records)
}

/// Runs golden cases, each by `case`; each difference is handed to `differs`.
pub fn run(
    records: &[Value],
    case: &dyn Fn(&Value) -> Option<Difference>,
    differs: &mut dyn FnMut(Difference),
) -> Tally {
    let mut tally = Tally::default();
    for record in records {
        let difference = case(record);
        tally.count(difference.is_none());
        if let Some(difference) = difference {
            differs(difference);
        }
    }
    tally
}

/// Runs one golden case of `response_schema`, whose answers are those of transformers 5.0, in the
/// reference's mode.
pub fn response_schema_case(record: &Value) -> Option<Difference> {
    let schema = ResponseSchema::builder()
        .with_mode(Mode::Reference)
        .with_release(Release::V5_0)
        .build(&record["schema"]);
    let got = schema.and_then(|schema| schema.parse_tagged(&record["input"]));
    let agrees = match (&got, record["error"]["kind"].as_str()) {
        (Ok(value), None) => same(value, &record["expected"]),
        // An error that the reference raises by accident: any error will do.
        (Err(_), Some("python_type")) => true,
        (Err(error), Some(kind)) => error.kind().as_str() == kind,
        _ => false,
    };
    (!agrees).then(|| Difference {
        id: record["id"].as_str().unwrap_or("(no id)").to_owned(),
        expected: match record["error"]["kind"].as_str() {
            Some(kind) => format!("error {kind}"),
            None => record["expected"].to_string(),
        },
        got: match got {
            Ok(value) => value.to_string(),
            Err(error) => format!("error {}: {error}", error.kind()),
        },
    })
}

/// For each `base` of the template cases, the case that feeds the whole text at once.
pub fn whole_templates(records: &[Value]) -> HashMap<&str, &Value> {
    let whole = records
        .iter()
        .filter(|record| record["chunking"] == json!("whole"));
    whole
        .filter_map(|record| Some((record["base"].as_str()?, record)))
        .collect()
}

/// Runs one golden case of `response_template`: the text in the pieces of the case, by its
/// events (chunks of one region that follow each other joined) and its message, or by the kind
/// of its error and the call that raised it.
///
/// The reference's answer may depend on the pieces. The right one is always that to the whole
/// text (`whole`, where the file has it, or else our own); where the two differ, ours may
/// fail in a later call than the reference's, as it waits until a match is settled.
pub fn response_template_case(record: &Value, whole: Option<&Value>) -> Option<Difference> {
    let chunks = record["chunks"].as_array().into_iter().flatten();
    let chunks: Vec<&str> = chunks.filter_map(Value::as_str).collect();
    let got = template_outcome(record, &chunks);
    let expected = match whole {
        Some(whole) => template_expected(whole),
        None if record["same_as_whole"] == json!(false) => {
            template_outcome(record, &[record["input"].as_str().unwrap_or_default()])
        }
        None => template_expected(record),
    };
    let own = template_expected(record);
    let agrees = match (got["error"].as_str(), expected["error"].as_str()) {
        (None, None) => same(&got, &expected),
        (Some(got_kind), Some(kind)) => {
            let uncut = record["chunking"] == json!("whole");
            let (ours, theirs) = (call(&got["phase"]), call(&own["phase"]));
            let in_time = own["error"].is_null() || ours == theirs || !uncut && ours > theirs;
            in_time && (kind == "python_type" || got_kind == kind)
        }
        _ => false,
    };
    (!agrees).then(|| Difference {
        id: record["id"].as_str().unwrap_or("(no id)").to_owned(),
        expected: match expected["error"].is_null() {
            true => expected.to_string(),
            false => own.to_string(),
        },
        got: got.to_string(),
    })
}

/// The calls of a stream in order: the first, each feed, the last.
fn call(phase: &Value) -> usize {
    match phase.as_str().unwrap_or_default() {
        "init" => 0,
        "finalize" => usize::MAX,
        phase => {
            let number = phase.trim_start_matches("feed:").parse();
            number.map_or(usize::MAX, |n: usize| n + 1)
        }
    }
}

fn template_expected(record: &Value) -> Value {
    if let Some(kind) = record["error"]["kind"].as_str() {
        return json!({"error": kind, "phase": record["error"]["phase"]});
    }
    let mut events = Vec::new();
    let initial = &record["expected_initial_events"];
    let last = &record["expected_final_events"];
    let fed = record["expected_events_per_chunk"].as_array();
    for list in [initial]
        .into_iter()
        .chain(fed.into_iter().flatten())
        .chain([last])
    {
        events.extend(list.as_array().into_iter().flatten().cloned());
    }
    json!({"events": merged(events), "message": record["expected_message"]})
}

/// The events with chunks that follow each other joined.
fn merged(events: Vec<Value>) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for event in events {
        let is_chunk = |event: &Value| event["type"] == json!("region_chunk");
        if let Some(last) = merged.last_mut()
            && is_chunk(last)
            && is_chunk(&event)
        {
            let text = format!(
                "{}{}",
                last["text"].as_str().unwrap_or_default(),
                event["text"].as_str().unwrap_or_default()
            );
            last["text"] = Value::from(text);
        } else {
            merged.push(event);
        }
    }
    merged
}

fn template_outcome(record: &Value, chunks: &[&str]) -> Value {
    let failed = |phase: String, error: &response_parser::Error| {
        let mut object = Map::new();
        object.insert("error".into(), error.kind().as_str().into());
        object.insert("phase".into(), phase.into());
        Value::Object(object)
    };
    let template = ResponseTemplate::builder()
        .with_release(TemplateRelease::V5_23)
        .with_mode(Mode::Reference)
        .with_unrepresentable(Unrepresentable::Tag)
        .build(&record["template"]);
    let template = match template {
        Ok(template) => template,
        Err(error) => return failed("init".into(), &error),
    };
    let mut turn = Turn::new();
    if let Some(prefix) = record["prefix"].as_str() {
        turn = turn.with_prefix(prefix);
    }
    if let Some(tools) = record.get("tools") {
        turn = turn.with_tools(tools);
    }
    let mut events = Vec::new();
    let mut stream = match template.stream_with(&turn, &mut events) {
        Ok(stream) => stream,
        Err(error) => return failed("init".into(), &error),
    };
    for (i, chunk) in chunks.iter().enumerate() {
        if let Err(error) = stream.feed_into(chunk, &mut events) {
            return failed(format!("feed:{i}"), &error);
        }
    }
    match stream.finish() {
        Ok(finished) => {
            events.extend(finished.events);
            let events: Vec<Value> = Event::merge(events).iter().map(Event::to_json).collect();
            json!({"events": events, "message": finished.message})
        }
        Err(error) => failed("finalize".into(), &error),
    }
}

/// Runs one golden case of AgentScope's text parsers: value or error (its name, message, raw
/// response and missing tags), repaired text, instruction, and what goes where.
///
/// A pattern that cannot work is refused when the parser is made, not when it is used.
pub fn agentscope_case(record: &Value) -> Option<Difference> {
    let got = crate::agents::outcome(record);
    let expected = crate::agents::expected(record);
    (!same(&got, &expected)).then(|| Difference {
        id: record["id"].as_str().unwrap_or("(no id)").to_owned(),
        expected: expected.to_string(),
        got: got.to_string(),
    })
}

/// Equality of answers: an integer is no float, -0.0 is not 0.0, the order of keys does not
/// matter.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.to_string() == b.to_string(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_differ_by_kind_and_sign() {
        assert!(!same(&json!(1), &json!(1.0)));
        assert!(!same(&json!([-0.0]), &json!([0.0])));
        assert!(same(
            &json!({"a": 1, "b": [null]}),
            &json!({"b": [null], "a": 1})
        ));
        assert!(!same(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
    }

    #[test]
    fn a_wrong_answer_is_a_difference() {
        let record = |expected: Value| json!({"id": "x", "schema": {"type": "integer"}, "input": "5", "expected": expected});
        assert_eq!(response_schema_case(&record(json!(5))), None);
        let difference = response_schema_case(&record(json!(5.0))).unwrap();
        assert_eq!(
            (difference.expected.as_str(), difference.got.as_str()),
            ("5.0", "5")
        );
        let failing = |kind: &str| json!({"id": "x", "schema": {"type": "integer"}, "input": "x", "error": {"kind": kind}});
        assert_eq!(response_schema_case(&failing("int_invalid")), None);
        assert_eq!(response_schema_case(&failing("python_type")), None);
        assert!(response_schema_case(&failing("float_invalid")).is_some());
        let answered =
            json!({"id": "x", "schema": {}, "input": 1, "error": {"kind": "python_type"}});
        assert!(response_schema_case(&answered).is_some());
    }
}
