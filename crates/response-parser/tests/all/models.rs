//! Schemas in the style of today's models, and outputs as such models write them.

use response_parser::ResponseSchema;
use serde_json::{Value, json};

/// Reasoning in tags, tool calls as JSON in tags, the rest is the answer.
fn smollm3_style() -> Value {
    json!({
        "x-regex": r"(?:<think>\n?(?P<thinking>.+?)\n?</think>)?\s*(?:<tool_call>(?P<tool_calls>.+?)</tool_call>)?\s*(?P<content>(?!<\|).+?)?\s*(?:<\|im_end\|>|$)",
        "type": "object",
        "properties": {
            "role": {"const": "assistant"},
            "thinking": {"type": "string"},
            "tool_calls": {
                "x-parser": "json",
                "x-parser-args": {"transform": "[{type: 'function', function: @}]"},
                "type": "array",
                "items": {"type": "object", "properties": {
                    "type": {"const": "function"},
                    "function": {"type": "object", "properties": {
                        "name": {"type": "string"},
                        "arguments": {"type": "any"}
                    }}
                }}
            },
            "content": {"type": "string"}
        }
    })
}

/// Channels with headers, tool calls addressed to `functions.NAME`.
fn harmony_style() -> Value {
    json!({
        "type": "object",
        "properties": {
            "role": {"const": "assistant"},
            "thinking": {
                "type": "string",
                "x-regex": r"<\|channel\|>analysis<\|message\|>(.*?)<\|end\|>"
            },
            "content": {
                "type": "string",
                "x-regex": r"<\|channel\|>final<\|message\|>(.*?)(?:<\|end\|>|<\|return\|>|$)"
            },
            "tool_calls": {
                "type": "array",
                "x-regex-iterator": r"(<\|channel\|>commentary to=functions\..*?<\|call\|>)",
                "items": {"type": "object", "properties": {
                    "type": {"const": "function"},
                    "function": {"type": "object", "properties": {
                        "name": {"type": "string", "x-regex": r"to=functions\.(\w+)"},
                        "arguments": {
                            "type": "object",
                            "x-regex": r"<\|message\|>(.*)<\|call\|>",
                            "x-parser": "json",
                            "additionalProperties": {"type": "any"}
                        }
                    }}
                }}
            }
        }
    })
}

#[track_caller]
fn check(schema: &Value, text: &str, expected: &Value) {
    let got = ResponseSchema::new(schema).unwrap().parse(text).unwrap();
    assert_eq!(&got, expected, "{text}");
}

#[test]
fn smollm3() {
    let schema = smollm3_style();
    check(
        &schema,
        "<think>\nTwo and two.\nFour.\n</think>\nIt is 4.<|im_end|>",
        &json!({"role": "assistant", "thinking": "Two and two.\nFour.", "content": "It is 4."}),
    );
    check(
        &schema,
        "<think>Look.</think><tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 2}}</tool_call><|im_end|>",
        &json!({"role": "assistant", "thinking": "Look.", "tool_calls": [{
            "type": "function",
            "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 2}}
        }]}),
    );
    check(
        &schema,
        "Hello there\n",
        &json!({"role": "assistant", "content": "Hello there"}),
    );
}

#[test]
fn harmony() {
    let schema = harmony_style();
    check(
        &schema,
        "<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>Forty-two.\n",
        &json!({"role": "assistant", "thinking": "Easy.", "content": "Forty-two."}),
    );
    check(
        &schema,
        "<|channel|>analysis<|message|>Call it.<|end|><|start|>assistant<|channel|>commentary to=functions.add <|constrain|>json<|message|>{\"a\": 1, \"b\": [2.5, null]}<|call|>",
        &json!({"role": "assistant", "thinking": "Call it.", "tool_calls": [{
            "type": "function",
            "function": {"name": "add", "arguments": {"a": 1, "b": [2.5, null]}}
        }]}),
    );
}

#[test]
fn many_calls_are_read_in_linear_time() {
    let call = r#"<|channel|>commentary to=functions.f<|message|>{"n": 1}<|call|>"#;
    let schema = ResponseSchema::new(&harmony_style()).unwrap();
    let message = schema.parse(&call.repeat(2_000)).unwrap();
    assert_eq!(message["tool_calls"].as_array().map(Vec::len), Some(2_000));
    // A text that never closes what it opens.
    let message = schema.parse(&"<|channel|>".repeat(100_000)).unwrap();
    assert_eq!(message, json!({"role": "assistant"}));
}
