//! Responses of models, and the schemas and templates that they are read with. For example,
//! `<think>` 100,000 times over, or two megabytes of letters.

use response_parser::agentscope::{CodeBlock, JsonDict, JsonObject, RegexTagged, TextParser as _};
use response_parser::{Family, PartialJson, ResponseSchema, ResponseTemplate, Turn};
use serde_json::{Value, json};

use crate::harness::case::Case;
use crate::harness::seen::Seen;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, text) in TEXTS {
        for format in Family::all().step_by(3) {
            cases.push(Case::new(
                "response",
                format!("{name}, read as {}", format.name()),
                move |seen| by_template(format, &text(), seen),
            ));
        }
        cases.push(Case::new(
            "response",
            format!("{name}, as JSON so far"),
            move |seen| {
                let text = text();
                seen.begin();
                seen.call(|| {
                    let mut partial = PartialJson::new();
                    let mut rest = text.as_str();
                    while !rest.is_empty() {
                        let (piece, after) =
                            rest.split_at(rest.ceil_char_boundary(997.min(rest.len())));
                        partial.feed(piece);
                        rest = after;
                    }
                    Ok::<_, String>(partial.is_complete())
                });
            },
        ));
        cases.push(Case::new(
            "response",
            format!("{name}, by the text parsers"),
            move |seen| {
                by_text_parsers(&text(), seen);
            },
        ));
        cases.push(Case::new("response", format!("{name}, by a schema"), move |seen| {
            let schema = json!({"type": "object", "properties": {
                "thinking": {"type": "string", "x-regex": r"<think>(.*?)</think>"},
                "tool_calls": {"x-regex-iterator": r"<tool_call>(.*?)</tool_call>", "type": "array", "items": {"x-parser": "json"}}}});
            by_schema(&schema, &text(), seen);
        }));
    }
    for (name, schema, text) in SCHEMAS {
        cases.push(Case::new(
            "response",
            format!("a schema with {name}"),
            move |seen| {
                by_schema(&schema(), &text(), seen);
            },
        ));
    }
    for depth in [100usize, 1_000, 100_000] {
        cases.push(Case::new(
            "response",
            format!("a schema {depth} deep"),
            move |seen| {
                let schema = deep(depth);
                seen.begin();
                seen.call(|| ResponseSchema::new(&schema));
                seen.call(|| ResponseTemplate::new(&schema));
                let all = ResponseSchema::new(&json!({})).ok();
                if let Some(all) = all {
                    seen.call(|| all.parse_value(&schema));
                }
                undo(schema);
            },
        ));
    }
    cases
}

fn by_schema(schema: &Value, text: &str, seen: &mut Seen) {
    seen.begin();
    if let Some(schema) = seen.call(|| ResponseSchema::new(schema)) {
        seen.call(|| schema.parse(text));
        seen.call(|| schema.parse_validated(text));
    }
}

fn by_template(format: Family, text: &str, seen: &mut Seen) {
    seen.begin();
    let Some(template) = seen.call(|| ResponseTemplate::of_family(format)) else {
        return;
    };
    let whole = seen.call(|| template.parse(text));
    let streamed = seen.call(|| {
        let mut stream = template.stream(&Turn::after(""))?;
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(1_009.min(rest.len())));
            stream.feed(piece)?;
            rest = after;
        }
        Ok::<_, response_parser::Error>(stream.finish()?.message)
    });
    if let (Some(whole), Some(streamed)) = (whole, streamed)
        && whole != streamed
    {
        seen.wrong("a stream reads another message");
    }
}

fn by_text_parsers(text: &str, seen: &mut Seen) {
    seen.begin();
    seen.call(|| JsonObject::new().parse(text));
    seen.call(|| JsonDict::new().parse(text));
    seen.call(|| CodeBlock::new("python").parse(text));
    if let Some(tagged) = seen.call(RegexTagged::new) {
        seen.call(|| tagged.parse(text));
    }
}

fn deep(depth: usize) -> Value {
    // `json!` would copy what is inside at each level.
    (0..depth).fold(Value::from("x"), |inner, level| {
        let name = if level % 2 == 0 { "a" } else { "properties" };
        Value::Object([(name.to_owned(), inner)].into_iter().collect())
    })
}

/// Takes a value apart, however deep it is: dropping it takes stack for each level.
fn undo(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

type Text = fn() -> String;

/// Texts that are long in one thing each, because a loop that is quadratic in it then takes
/// minutes.
const TEXTS: &[(&str, Text)] = &[
    ("nothing", String::new),
    ("two megabytes of letters", || "a".repeat(2_000_000)),
    ("openings of thoughts", || "<think>".repeat(100_000)),
    ("openings of calls", || "<tool_call>".repeat(100_000)),
    ("halves of openings", || "<tool_cal<thin".repeat(100_000)),
    ("calls", || {
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>".repeat(10_000)
    }),
    ("a call of brackets", || {
        format!("<tool_call>{}", "[".repeat(500_000))
    }),
    ("a call in brackets", || {
        format!(
            "<tool_call>{}{}</tool_call>",
            "[".repeat(100_000),
            "]".repeat(100_000)
        )
    }),
    ("a call of a megabyte", || {
        format!(
            "<tool_call>{{\"name\": \"f\", \"arguments\": {{\"a\": \"{}\"}}}}</tool_call>",
            "x".repeat(1_000_000)
        )
    }),
    ("a call of quotes", || {
        format!("<tool_call>{{\"name\": \"{}", "\\\"".repeat(300_000))
    }),
    ("fences", || "```json\n".repeat(50_000)),
    ("a fence of braces", || {
        format!("```json\n{}\n```", "{\"a\":".repeat(100_000))
    }),
    ("numbers", || {
        format!(
            "<tool_call>{{\"name\":\"f\",\"arguments\":{{\"a\":{}}}}}</tool_call>",
            "9".repeat(500_000)
        )
    }),
    ("exponents", || {
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1e999999999}}</tool_call>".to_owned()
    }),
    ("surrogates", || {
        format!(
            "<tool_call>{{\"name\":\"f\",\"arguments\":\"{}\"}}</tool_call>",
            "\\ud800".repeat(50_000)
        )
    }),
    ("characters", || {
        "\u{1F600}\u{0}\u{FFFD}\u{202E}".repeat(100_000)
    }),
    ("keys", || {
        format!(
            "<tool_call>{{\"name\":\"f\",\"arguments\":{{{}}}}}</tool_call>",
            (0..50_000)
                .map(|i| format!("\"k{i}\":{i}"))
                .collect::<Vec<_>>()
                .join(",")
        )
    }),
];

type Both = (&'static str, fn() -> Value, Text);

/// Response schemas with texts that are hard for them, as for patterns that backtrack.
const SCHEMAS: &[Both] = &[
    (
        "a pattern that backtracks",
        || json!({"type": "string", "x-regex": r"(a+)+(?=b)c"}),
        || "a".repeat(3_000),
    ),
    (
        "a pattern that refers back",
        || json!({"type": "string", "x-regex": r"(a*)*\1b(?=c)"}),
        || "a".repeat(3_000),
    ),
    (
        "a pattern of stars",
        || json!({"type": "string", "x-regex": "(.*)*(.*)*(.*)*x$"}),
        || "y".repeat(50_000),
    ),
    (
        "a pattern that looks ahead",
        || json!({"type": "string", "x-regex": "(?:(?=(a+))a)*?b(c)"}),
        || "a".repeat(20_000),
    ),
    (
        "matches at each place",
        || json!({"type": "array", "x-regex-iterator": "(x*)", "items": {"type": "string"}}),
        || "y".repeat(300_000),
    ),
    (
        "matches of all that follows",
        || json!({"type": "array", "x-regex-iterator": "(?=(.*))", "items": {"type": "string"}}),
        || "y".repeat(20_000),
    ),
    (
        "keys and values",
        || json!({"type": "object", "x-regex-key-value": r"(?P<key>\w)(?P<value>.*?)(?=\w|$)"}),
        || "ab ".repeat(50_000),
    ),
    (
        "a text that grows",
        || json!({"type": "string", "x-mapping-regex": {"a": "\\g<0>".repeat(1_000)}}),
        || "a".repeat(100_000),
    ),
    (
        "a count of billions",
        || json!({"type": "string", "x-regex": "a{1000000000}"}),
        || "a".repeat(1_000),
    ),
    (
        "counts in counts",
        || json!({"type": "string", "x-regex": "(?:(?:a{1000}){1000}){1000}"}),
        || "a".repeat(1_000),
    ),
    (
        "a pattern in brackets",
        || json!({"type": "string", "x-regex": "(".repeat(100_000)}),
        String::new,
    ),
    (
        "a long pattern",
        || json!({"type": "string", "x-regex": "a?".repeat(100_000)}),
        || "a".repeat(1_000),
    ),
    (
        "alternatives",
        || json!({"type": "string", "x-regex": (0..50_000).map(|i| format!("w{i}")).collect::<Vec<_>>().join("|")}),
        || "w".repeat(1_000),
    ),
    (
        "a long message",
        || json!({"type": "m".repeat(1_000_000)}),
        String::new,
    ),
    (
        "a pattern of all letters",
        || json!({"type": "string", "x-regex": r"(?i)(\w{1,1000})"}),
        || "é".repeat(100_000),
    ),
];
