//! Small cases from public bug reports: what a text is to be read as, and what it is.
//!
//! A case names a family, a field of a response template, a response schema or a text parser, and what its text
//! holds. Some say in words what is wanted; `WORDS` has the message that is meant. For example, "text before
//! must survive" means a message with that text and no call.

use response_parser::{Family, ResponseSchema, ResponseTemplate, Turn, Unrepresentable};
use serde_json::{Value, json};

use crate::tool_calls::{Answer, Verdict, cuts, stream};

/// The outcome of a case.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It was read, more or less as it was wanted.
    Read {
        /// The degree to which it is right.
        verdict: Verdict,
        /// The answer that was wanted.
        expected: String,
        /// The answer that came.
        got: String,
    },
    /// It cannot be asked of this crate.
    NotRun(&'static str),
}

/// Cases that say in words what is wanted, and the message that is meant. The messages stand here
/// because the cases say them in English only.
const WORDS: [(&str, &str); 18] = [
    ("hermes-truncated", r#"{"content": "Looking."}"#),
    (
        "hermes-args-as-string",
        r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}"#,
    ),
    (
        "qc-bigint",
        r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"i": {"$bigint": "12345678901234567890123"}}}}]}"#,
    ),
    (
        "llama-text-first",
        r#"{"content": "Sure, calling: {\"name\": \"f\", \"parameters\": {\"a\": 1}}"}"#,
    ),
    ("llama-code", r#"{"content": "print(1+1)"}"#),
    (
        "ds31-missing-brace",
        r#"{"content": "Hi.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>w<｜tool▁sep｜>{\"city\": {\"a\": 1}<｜tool▁call▁end｜>"}"#,
    ),
    (
        "kimi-spurious",
        r#"{"content": "A.  spurious ", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}"#,
    ),
    (
        "glm-quotes",
        r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"p": "\"/data/models\"", "q": "/data/models"}}}]}"#,
    ),
    ("oss-bad-channel", r#"{"content": "?\n\nHi"}"#),
    (
        "oss-stray",
        r#"{"content": "––commentary to=functions.f\n\n{}"}"#,
    ),
    (
        "oss-bad-json",
        r#"{"thinking": "a", "content": "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": }<|call|>"}"#,
    ),
    (
        "g4-no-closing-delim",
        r#"{"content": "<|tool_call>call:edit{old:<|\"|>code with }],path:<|\"|>file.txt<|\"|>}<tool_call|>"}"#,
    ),
    (
        "glm-json-body",
        r#"{"content": "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>"}"#,
    ),
    ("phantom-prompt", r#"{"content": "Hello."}"#),
    (
        "stream-vllm-plugin-malformed",
        r#"{"content": "Hi.\nBye.", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}"#,
    ),
    (
        "mask-llama-answer",
        r#"{"content": "{\"name\": \"Alice\", \"age\": 3}"}"#,
    ),
    (
        "drift-python-call-list",
        r#"[{"name": "f", "arguments": {"a": 1}}]"#,
    ),
    ("drift-close-captures", r#"{"name": "f"}"#),
];

/// Cases that ask a family for what another one writes, and that one. They are run with the other
/// family because its format is the one in the text.
const ELSEWHERE: [(&str, &str); 3] = [
    ("ds4-dsml", "deepseek-v4"),
    ("functionary31", "functionary"),
    ("gemma-pythonic", "gemma-pythonic"),
];

/// The family that reads a case in place of the one it names.
#[must_use]
pub fn elsewhere(id: &str) -> Option<&'static str> {
    let found = ELSEWHERE.iter().find(|(known, _)| *known == id);
    found.map(|(_, family)| *family)
}

/// Runs a case.
#[must_use]
pub fn run(record: &Value) -> Outcome {
    let input = &record["input"];
    let id = record["id"].as_str().unwrap_or_default();
    let Some(text) = input["text"].as_str() else {
        return Outcome::NotRun(match record["kind"].as_str() {
            Some("agentscope") => "random texts, of which the case has none",
            _ if input.get("command").is_some() => "a command of the program",
            _ => "a Python function, of which the case has the name alone",
        });
    };
    let words = WORDS.iter().find(|(known, _)| *known == id);
    let expected = match words.map(|(_, json)| serde_json::from_str(json)) {
        Some(Ok(expected)) => expected,
        Some(Err(_)) => return Outcome::NotRun("what is wanted is not JSON"),
        None => record["expected"].clone(),
    };
    if record["kind"] == json!("agentscope") {
        return text_parser(record, &expected);
    }
    if let Some(schema) = input.get("schema") {
        return match schema {
            Value::String(_) => Outcome::NotRun("a schema of which the case has the name alone"),
            schema => of_schema(schema, text, &expected),
        };
    }
    if let Some(field) = input.get("field") {
        return of_field(field, text, &expected);
    }
    let named = elsewhere(id).or_else(|| input["format"].as_str());
    let family = named
        .or_else(|| id.strip_prefix("family-"))
        .unwrap_or_default();
    match Family::by_name(family) {
        Some(family) => of_family(family, input, text, &expected),
        None => read(Verdict::Wrong, &expected, format!("no family {family}")),
    }
}

fn read(verdict: Verdict, expected: &Value, got: impl ToString) -> Outcome {
    Outcome::Read {
        verdict,
        expected: expected.to_string(),
        got: got.to_string(),
    }
}

/// A value or an error, compared by value alone.
fn compared(expected: &Value, got: Result<Value, response_parser::Error>) -> Outcome {
    let wants_error = expected
        .as_str()
        .is_some_and(|words| words.starts_with("an error"));
    match got {
        Ok(got) if !wants_error && crate::golden::same(&got, expected) => {
            read(Verdict::Right, expected, got)
        }
        Ok(got) => read(Verdict::Wrong, expected, got),
        Err(error) if wants_error => read(Verdict::Right, expected, error),
        Err(error) => read(Verdict::Wrong, expected, error),
    }
}

fn of_schema(schema: &Value, text: &str, expected: &Value) -> Outcome {
    let got = ResponseSchema::builder()
        .build(schema)
        .and_then(|schema| schema.parse(text));
    compared(expected, got)
}

/// A message of the one field `x`.
fn of_field(field: &Value, text: &str, expected: &Value) -> Outcome {
    let mut field = field.clone();
    if text.starts_with("<call>") {
        field["open"] = json!("<call>");
    }
    let template = json!({"start_anchor": "<|assistant|>", "fields": {"x": field}});
    let got = ResponseTemplate::builder()
        .build(&template)
        .and_then(|template| template.parse(text))
        .map(|message| message["x"].clone());
    compared(expected, got)
}

fn text_parser(record: &Value, expected: &Value) -> Outcome {
    let input = &record["input"];
    let case = json!({"parser": input["parser"], "args": {}, "text": input["text"]});
    let got = crate::agents::outcome(&case);
    let got = match got.get("error") {
        Some(error) => json!(["err", error["type"], error["message"]]),
        None => json!(["ok", got["expected_parsed"]]),
    };
    compared(expected, Ok(got))
}

/// A message, whole and in pieces. Reads a message, whole and in pieces. Ids of calls are compared
/// if the case gives ids; if it gives a list of names and arguments, calls alone are compared.
fn of_family(family: Family, input: &Value, text: &str, expected: &Value) -> Outcome {
    let builder = ResponseTemplate::builder().with_unrepresentable(Unrepresentable::Tag);
    let prompt = input["prefix"].as_str().unwrap_or_default();
    let made = builder.family(family).and_then(|template| {
        // The end of the prompt that belongs to the answer, as servers ask for it.
        let behind = template.behind_anchor(prompt)?.unwrap_or_default();
        Ok((template, behind))
    });
    let (template, behind) = match made {
        Ok(made) => made,
        Err(error) => return read(Verdict::Wrong, expected, error),
    };
    let turn = Turn::after(behind);
    let turn = match input.get("tools") {
        Some(tools) => turn.with_tools(tools),
        None => turn,
    };
    let message = match template.parse_turn(&turn, text) {
        Ok(message) => message,
        Err(error) => return read(Verdict::Wrong, expected, error),
    };
    let whole = Answer::of_message(&message);
    for pieces in cuts(text) {
        let got = stream(&template, &turn, &pieces);
        if got.as_ref() != Ok(&whole) {
            let got = got.map_or_else(|error| error, |got| got.json().to_string());
            return read(Verdict::Wrong, &whole.json(), got);
        }
    }
    if let Value::Array(wanted) = expected {
        let calls: Vec<Value> = wanted
            .iter()
            .map(|call| json!({"name": call[0], "arguments": call[1]}))
            .collect();
        let verdict = match crate::tool_calls::same(&whole.calls.clone().into(), &calls.into()) {
            true => Verdict::Right,
            false => Verdict::Wrong,
        };
        return read(verdict, expected, whole.json());
    }
    let ids = |message: &Value| -> Vec<Value> {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        calls.map(|call| call["id"].clone()).collect()
    };
    let wanted = ids(expected);
    let verdict = match wanted.iter().any(|id| !id.is_null()) && wanted != ids(&message) {
        true => Verdict::Wrong,
        false => whole.verdict(&Answer::of_message(expected)),
    };
    read(verdict, expected, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(record: &Value) -> Option<Verdict> {
        match run(record) {
            Outcome::Read { verdict, .. } => Some(verdict),
            Outcome::NotRun(_) => None,
        }
    }

    #[test]
    fn cases_are_judged() {
        let text = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
        let calls = |name| json!([{"function": {"name": name, "arguments": {}}}]);
        let case = |expected| json!({"id": "x", "input": {"format": "hermes", "text": text}, "expected": expected});
        assert_eq!(
            verdict(&case(json!({"tool_calls": calls("f")}))),
            Some(Verdict::Right)
        );
        assert_eq!(
            verdict(&case(json!({"tool_calls": calls("g")}))),
            Some(Verdict::Wrong)
        );
        assert_eq!(verdict(&case(json!([["f", {}]]))), Some(Verdict::Right));
        let blank = json!({"content": " ", "tool_calls": calls("f")});
        assert_eq!(verdict(&case(blank)), Some(Verdict::Blanks));
        let unknown = json!({"id": "family-none", "input": {"text": "x"}, "expected": []});
        assert_eq!(verdict(&unknown), Some(Verdict::Wrong));
        let required = json!({"type": "object", "x-parser": "json", "required": ["z"]});
        let required = json!({"id": "x", "input": {"schema": required, "text": "{}"}, "expected": "an error: z is missing"});
        assert_eq!(verdict(&required), Some(Verdict::Right));
        assert_eq!(
            verdict(&json!({"id": "x", "kind": "tool", "input": {"function": "f"}})),
            None
        );
    }
}
