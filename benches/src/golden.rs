//! Golden cases: what a reference implementation answered.

use std::io::BufRead;
use std::path::Path;

use response_parser::{Mode, ResponseSchema};
use serde_json::Value;

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

/// Runs a file of golden cases of `response_schema`, in the reference's mode; each
/// difference is handed to `differs`.
///
/// # Errors
///
/// The file cannot be read, or a line is no case.
pub fn response_schema(path: &Path, differs: &mut dyn FnMut(Difference)) -> Result<Tally, String> {
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
        let difference = response_schema_case(&record);
        tally.count(difference.is_none());
        if let Some(difference) = difference {
            differs(difference);
        }
    }
    Ok(tally)
}

/// Runs one golden case of `response_schema`.
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
