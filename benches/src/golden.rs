//! Golden cases: what a reference implementation answered.

use std::io::BufRead;
use std::path::Path;

use response_parser::{Event, Mode, ResponseSchema, ResponseTemplate, Turn, Unrepresentable};
use serde_json::{Map, Value, json};

/// How many cases agree with the reference and how many do not.
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
    /// What the reference answered.
    pub expected: String,
    /// What ours did.
    pub got: String,
}

/// Runs a file of golden cases, each by `case`; each difference is handed to `differs`.
///
/// # Errors
///
/// The file cannot be read, or a line is no case.
pub fn run(
    path: &Path,
    case: fn(&Value) -> Option<Difference>,
    differs: &mut dyn FnMut(Difference),
) -> Result<Tally, String> {
    let place = path.display();
    let file = std::fs::File::open(path).map_err(|e| format!("{place}: {e}"))?;
    let mut tally = Tally::default();
    for (i, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|e| format!("{place}: {e}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let record: Value =
            serde_json::from_str(&line).map_err(|e| format!("{place}: line {}: {e}", i + 1))?;
        let difference = case(&record);
        tally.count(difference.is_none());
        if let Some(difference) = difference {
            differs(difference);
        }
    }
    Ok(tally)
}

/// Runs one golden case of `response_schema`, in the reference's mode.
pub fn response_schema_case(record: &Value) -> Option<Difference> {
    let schema = ResponseSchema::builder()
        .mode(Mode::Reference)
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

/// Runs one golden case of `response_template`: the text in the pieces of the case, by its
/// events (chunks of one region that follow each other joined) and its message, or by the kind
/// of its error and the call that raised it.
///
/// Where the reference's answer depends on the pieces (`same_as_whole` is false), the right
/// answer is that of the uncut text, which other cases of the same `base` hold: all that is
/// asked here is that the pieces give what the whole gives.
pub fn response_template_case(record: &Value) -> Option<Difference> {
    let texts = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let got = template_outcome(record, &texts(&record["chunks"]));
    let (expected, agrees) = if record["same_as_whole"] == json!(false) {
        let whole = record["input"].as_str().unwrap_or_default().to_owned();
        let mut expected = template_outcome(record, &[whole]);
        let mut comparable = got.clone();
        for outcome in [&mut expected, &mut comparable] {
            // The call that fails is another one.
            if let Some(object) = outcome.as_object_mut() {
                object.remove("phase");
            }
        }
        let agrees = same(&comparable, &expected);
        (expected, agrees)
    } else {
        let expected = template_expected(record);
        let accident = expected["error"] == json!("python_type")
            && got["error"].is_string()
            && got["phase"] == expected["phase"];
        let agrees = accident || same(&got, &expected);
        (expected, agrees)
    };
    (!agrees).then(|| Difference {
        id: record["id"].as_str().unwrap_or("(no id)").to_owned(),
        expected: expected.to_string(),
        got: got.to_string(),
    })
}

fn template_expected(record: &Value) -> Value {
    if let Some(kind) = record["error"]["kind"].as_str() {
        return json!({"error": kind, "phase": record["error"]["phase"]});
    }
    let mut events = Vec::new();
    let initial = &record["expected_initial_events"];
    let last = &record["expected_final_events"];
    let fed = record["expected_events_per_chunk"].as_array();
    for list in [initial].into_iter().chain(fed.into_iter().flatten()).chain([last]) {
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

fn template_outcome(record: &Value, chunks: &[String]) -> Value {
    let failed = |phase: String, error: &response_parser::Error| {
        let mut object = Map::new();
        object.insert("error".into(), error.kind().as_str().into());
        object.insert("phase".into(), phase.into());
        Value::Object(object)
    };
    let template = ResponseTemplate::builder()
        .mode(Mode::Reference)
        .unrepresentable(Unrepresentable::Tag)
        .build(&record["template"]);
    let template = match template {
        Ok(template) => template,
        Err(error) => return failed("init".into(), &error),
    };
    let mut turn = Turn::new();
    if let Some(prefix) = record["prefix"].as_str() {
        turn = turn.prefix(prefix);
    }
    if let Some(tools) = record.get("tools") {
        turn = turn.tools(tools);
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
