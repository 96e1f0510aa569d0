//! The ready-made formats: outputs as the models write them, and the way back through real
//! chat templates.

use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value as Rendered};
use minijinja::{Environment, context};
use response_parser::{
    Broken, End, Event, Family, Finished, Names, Piece, Pieces, ResponseTemplate,
    ResponseTemplateBuilder, Turn,
};
use serde_json::{Value, json};

/// What a family makes of a text that is over for this reason: whole, and character by character, where the
/// chunks must add up to the message, and calls be those that were closed.
#[track_caller]
fn read(
    builder: &ResponseTemplateBuilder,
    format: &str,
    turn: &Turn<'_>,
    text: &str,
    end: End,
) -> Finished {
    let family = Family::by_name(format).unwrap();
    // Arguments in pieces change nothing else.
    let builder = builder.clone().with_pieces(Pieces::Arguments);
    let template = builder.family(family).unwrap();
    let whole = template.read(turn, text, end).unwrap();
    let mut events = Vec::new();
    let mut stream = template.stream(turn).unwrap();
    for c in text.chars() {
        stream
            .feed_into(c.encode_utf8(&mut [0; 4]), &mut events)
            .unwrap();
    }
    let mut finished = stream.finish_by(end).unwrap();
    assert_eq!(finished.message, whole.message, "{text}");
    events.append(&mut finished.events);
    let (mut shown, mut calls) = (json!({}), Vec::new());
    let mut pieces: Vec<String> = Vec::new();
    for event in &events {
        match event {
            Event::RegionChunk {
                field,
                text,
                dirty: false,
            } => {
                let before = shown[&**field].as_str().unwrap_or_default();
                shown[&**field] = format!("{before}{text}").into();
            }
            Event::RegionClose { field, value } if &**field == "tool_calls" => match value {
                Value::Array(list) => calls.extend(list.iter().cloned()),
                call => calls.push(call.clone()),
            },
            Event::Arguments { call, text, .. } => {
                pieces.resize(pieces.len().max(call + 1), String::new());
                pieces[*call] += text;
            }
            // Nothing is opened for blanks between the parts.
            Event::RegionClose { value, .. } => assert_ne!(value, &json!(""), "{text}"),
            _ => {}
        }
    }
    for field in ["content", "reasoning_content", "thinking"] {
        assert_eq!(shown[field], whole.message[field], "{field} of {text}");
    }
    let listed = whole.message["tool_calls"].as_array().cloned();
    let listed = listed.unwrap_or_default();
    assert_eq!(calls, listed, "{text}");
    // Pieces of a call that turned out to be none may follow.
    for (piece, call) in pieces.iter().zip(&listed) {
        let arguments = &call["function"]["arguments"];
        if arguments.get("n").is_none_or(|n| !n.is_object()) {
            assert_eq!(
                &serde_json::from_str::<Value>(piece).unwrap(),
                arguments,
                "{piece}"
            );
        }
    }
    assert!(pieces.len() >= listed.len(), "{text}");
    whole
}

/// Reads `text` whole and character by character; both must give `expected`.
#[track_caller]
fn check(format: &str, prefix: &str, text: &str, expected: &Value) {
    let builder = ResponseTemplate::builder();
    let turn = Turn::after(prefix);
    let mut expected = expected.clone();
    expected["role"] = "assistant".into();
    let read = read(&builder, format, &turn, text, End::Stop);
    assert_eq!(read.message, expected, "{text}");
}

/// The same for a turn with tools: `f(a: string, n: integer)`, `g(a: string)` and `h`, of which nothing is said.
#[track_caller]
fn check_tools(format: &str, prefix: &str, text: &str, expected: &Value) {
    let tool = |name: &str, properties: Value| {
        json!({"type": "function", "function": {
            "name": name, "parameters": {"type": "object", "properties": properties}
        }})
    };
    let tools = json!([
        tool(
            "f",
            json!({"a": {"type": "string"}, "n": {"type": "integer"}})
        ),
        tool("g", json!({"a": {"type": "string"}})),
        tool("h", json!({})),
    ]);
    let turn = Turn::after(prefix).with_tools(&tools);
    let mut expected = expected.clone();
    expected["role"] = "assistant".into();
    let read = read(&ResponseTemplate::builder(), format, &turn, text, End::Stop);
    assert_eq!(read.message, expected, "{text}");
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn hermes() {
    let two = json!({
        "reasoning_content": "Two cities.",
        "content": "Let me look.",
        "tool_calls": [call("weather", json!({"city": "Oslo", "days": 2})), call("time", json!({}))]
    });
    let body = "Two cities.\n</think>\n\nLet me look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}\n</tool_call>\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call><|im_end|>\n";
    check("hermes", "", &format!("<think>\n{body}"), &two);
    check(
        "hermes",
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n",
        body,
        &two,
    );
    check(
        "hermes",
        "",
        "a < b and <b>c</b>",
        &json!({"content": "a < b and <b>c</b>"}),
    );
    check(
        "hermes",
        "",
        "<think>\n\n</think>\n\nYes.<|im_end|>",
        &json!({"content": "Yes."}),
    );
    check(
        "hermes",
        "",
        "Before.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"</think>\"}}</tool_call>\nAfter.",
        &json!({"content": "Before.\nAfter.", "tool_calls": [call("f", json!({"s": "</think>"}))]}),
    );
}

#[test]
fn smollm3() {
    check(
        "smollm3",
        "",
        "<think>\nEasy.\n</think>\n4<|im_end|>",
        &json!({"thinking": "Easy.", "content": "4"}),
    );
}

#[test]
fn qwen3_coder() {
    check(
        "qwen3-coder",
        "",
        "I'll write it.\n\n<tool_call>\n<function=write>\n<parameter=path>\na b.txt\n</parameter>\n<parameter=text>\n  if x:\n    y()\n\n</parameter>\n<parameter=mode>\n420\n</parameter>\n</function>\n</tool_call><|im_end|>",
        &json!({
            "content": "I'll write it.",
            "tool_calls": [call("write", json!({"path": "a b.txt", "text": "  if x:\n    y()\n", "mode": 420}))]
        }),
    );
}

#[test]
fn llama3() {
    check(
        "llama3",
        "",
        "Hello! {x}<|eot_id|>",
        &json!({"content": "Hello! {x}"}),
    );
    let calls = json!({"tool_calls": [call("weather", json!({"city": "Oslo"}))]});
    check(
        "llama3",
        "",
        "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}<|eot_id|>",
        &calls,
    );
    check(
        "llama3",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "<|python_tag|>{\"type\": \"function\", \"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}<|eom_id|>",
        &calls,
    );
    check(
        "llama3",
        "",
        "Such JSON: {\"name\": \"x\"}",
        &json!({"content": "Such JSON: {\"name\": \"x\"}"}),
    );
    let searched = json!({"content": "So: ", "tool_calls": [call("brave_search", json!({"query": "a) b", "n": -2}))]});
    let text = "So: <|python_tag|>brave_search.call(query=\"a) b\", n=-2)";
    check("llama3", "", text, &searched);
    check("llama3", "", &format!("{text}<|eom_id|>"), &searched);
    check(
        "llama3",
        "",
        "<|python_tag|>print(1+1)<|eom_id|>",
        &json!({"content": "print(1+1)"}),
    );
    check(
        "llama3",
        "",
        "<function=weather>{\"city\": \"Oslo\"}</function><|eom_id|>",
        &calls,
    );
    check(
        "llama3",
        "",
        "Write <function=x> for it.",
        &json!({"content": "Write <function=x> for it."}),
    );
}

#[test]
fn calls_in_python_and_by_keys() {
    let two = json!({"tool_calls": [
        call("weather", json!({"city": "Oslo)", "days": [2, null]})),
        call("ping", json!({})),
    ]});
    check(
        "olmo3",
        "",
        "<function_calls>weather(city='Oslo)', days=[2, null])\nping()</function_calls><|im_end|>",
        &two,
    );
    check(
        "gemma-pythonic",
        "<start_of_turn>model\n",
        "[weather(city=\"Oslo)\", days=(2, None)), ping()]<end_of_turn>\n",
        &two,
    );
    check(
        "apertus",
        "",
        "<|tools_prefix|>[{\"weather\": {\"city\": \"Oslo)\", \"days\": [2, null]}}, {\"ping\": {}}]<|tools_suffix|><|assistant_end|>",
        &two,
    );
    let thought = json!({"reasoning_content": "Hm.", "content": "No [f(a=1)] here."});
    check(
        "apertus",
        "",
        "<|inner_prefix|>Hm.<|inner_suffix|>No [f(a=1)] here.<|assistant_end|>",
        &thought,
    );
    check(
        "olmo3",
        "",
        "<think>\nHm.\n</think>\n\nNo [f(a=1)] here.",
        &thought,
    );
    check(
        "minimax-m1",
        "<beginning_of_sentence>ai name=MiniMax AI\n",
        "<think>\nHm.\n</think>\n\n<tool_calls>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"</tool_calls>}\\\"\"}}\n{\"name\": \"ping\",\n \"arguments\": {}}\n</tool_calls><end_of_sentence>\n",
        &json!({"reasoning_content": "Hm.", "tool_calls": [
            call("weather", json!({"city": "</tool_calls>}\""})),
            call("ping", json!({})),
        ]}),
    );
    let broken = [
        ("olmo3", "<function_calls>f(1)</function_calls>"),
        (
            "minimax-m1",
            "<tool_calls>\n{\"name\": \"f\", \"arguments\": {}} and\n</tool_calls>",
        ),
        (
            "apertus",
            "<|tools_prefix|>[{\"f\": {}, \"g\": {}}]<|tools_suffix|>",
        ),
        ("apertus", "<|tools_prefix|>[{\"f\": 1}]<|tools_suffix|>"),
    ];
    for (format, text) in broken {
        let builder = ResponseTemplate::builder();
        let read = read(&builder, format, &Turn::after(""), text, End::Stop);
        assert_eq!(
            read.message,
            json!({"role": "assistant", "content": text}),
            "{format}"
        );
        assert_eq!(errors(&read).len(), 1, "{text}");
    }
}

#[test]
fn mistral() {
    check(
        "mistral",
        "[INST] Hi[/INST]",
        "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}, \"id\": \"a1b2c3d4e\"}, {\"name\": \"time\", \"arguments\": {}}]</s>",
        &json!({"tool_calls": [
            {
                "id": "a1b2c3d4e", "type": "function",
                "function": {"name": "weather", "arguments": {"city": "Oslo"}}
            },
            call("time", json!({}))
        ]}),
    );
    check("mistral", "", " Hello.</s>", &json!({"content": " Hello."}));
    check(
        "mistral-v11",
        "",
        "[THINK]Hm.[/THINK]One moment.[TOOL_CALLS]weather[ARGS]{\"city\": \"Oslo\"}[TOOL_CALLS]time[CALL_ID]123456789[ARGS]{\"l\": [1]}</s>",
        &json!({
            "reasoning_content": "Hm.",
            "content": "One moment.",
            "tool_calls": [
                call("weather", json!({"city": "Oslo"})),
                {"id": "123456789", "type": "function", "function": {"name": "time", "arguments": {"l": [1]}}}
            ]
        }),
    );
}

#[test]
fn deepseek() {
    let expected = json!({
        "reasoning_content": "Hm.",
        "content": "One moment.",
        "tool_calls": [call("weather", json!({"city": "北京"})), call("time", json!({}))]
    });
    check(
        "deepseek-v3",
        "<｜User｜>Hi<｜Assistant｜><think>\n",
        "Hm.\n</think>\n\nOne moment.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"北京\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        &expected,
    );
    check(
        "deepseek-v3.1",
        "",
        "<think>Hm.</think>One moment.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"北京\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        &expected,
    );
}

#[test]
fn harmony() {
    let thought = json!({
        "thinking": "Need the weather.",
        "tool_calls": [call("get-weather", json!({"city": "Oslo"}))]
    });
    for header in [
        "<|start|>assistant<|channel|>commentary to=functions.get-weather <|constrain|>json<|message|>",
        "<|start|>assistant to=functions.get-weather<|channel|>commentary json<|message|>",
        "<|start|>assistant to=functions.get-weather<|channel|>commentary<|message|>",
    ] {
        let text = format!(
            "<|channel|>analysis<|message|>Need the weather.<|end|>{header}{{\"city\": \"Oslo\"}}<|call|>"
        );
        check(
            "harmony",
            "<|start|>user<|message|>Hi<|end|><|start|>assistant",
            &text,
            &thought,
        );
    }
    check(
        "harmony",
        "",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>I will look.<|end|><|start|>assistant<|channel|>final<|message|>2 < 3.<|return|>",
        &json!({"thinking": "Hm.", "content": "I will look.\n\n2 < 3."}),
    );
}

#[test]
fn gemma() {
    check(
        "gemma",
        "",
        "Hello.<end_of_turn>\n",
        &json!({"content": "Hello."}),
    );
    check(
        "gemma4",
        "",
        "<|channel>thought\nHm.<channel|>One moment.<|tool_call>call:weather{city:<|\"|>Paris, \"FR\"<|\"|>,days:[1,2]}<tool_call|><|tool_call>call:time{}<tool_call|><|tool_response>",
        &json!({
            "reasoning_content": "Hm.",
            "content": "One moment.",
            "tool_calls": [
                call("weather", json!({"city": "Paris, \"FR\"", "days": [1, 2]})),
                call("time", json!({}))
            ]
        }),
    );
}

#[test]
fn cohere() {
    check(
        "cohere",
        "",
        "<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}\n]<|END_ACTION|><|END_OF_TURN_TOKEN|>",
        &json!({"thinking": "Hm.", "tool_calls": [{
            "id": "0", "type": "function",
            "function": {"name": "weather", "arguments": {"city": "Oslo"}}
        }]}),
    );
    check(
        "cohere",
        "",
        "<|START_RESPONSE|>Hello.<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
        &json!({"content": "Hello."}),
    );
}

#[test]
fn others() {
    check(
        "glm4",
        "",
        "<think>Hm.</think>\nOne moment.\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call><|observation|>",
        &json!({
            "reasoning_content": "Hm.",
            "content": "One moment.",
            "tool_calls": [call("weather", json!({"city": "Oslo", "days": 2}))]
        }),
    );
    check(
        "kimi-k2",
        "",
        "One moment.<|tool_calls_section_begin|><|tool_call_begin|>functions.get-weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\"}<|tool_call_end|><|tool_calls_section_end|><|im_end|>",
        &json!({
            "content": "One moment.",
            "tool_calls": [{
                "id": "functions.get-weather:0", "type": "function",
                "function": {"name": "get-weather", "arguments": {"city": "Oslo"}}
            }]
        }),
    );
    check(
        "minimax-m2",
        "",
        "<think>\nHm.\n</think>\n\n<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">Oslo</parameter>\n<parameter name=\"days\">[1, 2]</parameter>\n</invoke>\n</minimax:tool_call>[e~[",
        &json!({
            "reasoning_content": "Hm.",
            "tool_calls": [call("weather", json!({"city": "Oslo", "days": [1, 2]}))]
        }),
    );
    check(
        "phi4-mini",
        "",
        "<|tool_call|>[{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}]<|/tool_call|><|end|>",
        &json!({"tool_calls": [call("weather", json!({"city": "Oslo"}))]}),
    );
}

fn calls(calls: &[(&str, Value)]) -> Value {
    let calls = calls
        .iter()
        .map(|(name, arguments)| call(name, arguments.clone()));
    json!({"tool_calls": calls.collect::<Vec<_>>()})
}

/// The kinds of a reading's errors.
fn errors(read: &Finished) -> Vec<String> {
    let kinds = read.events.iter().filter_map(|event| match event {
        Event::RegionError { kind, .. } => Some(kind.clone()),
        _ => None,
    });
    kinds.collect()
}

#[test]
fn a_call_that_was_cut_off_is_none() {
    let builder = ResponseTemplate::builder();
    for (format, text, message) in [
        (
            "hermes",
            "Wait.\n<tool_call>\n{\"name",
            json!({"content": "Wait."}),
        ),
        (
            "qwen3-coder",
            "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=n>\n1",
            json!({}),
        ),
        (
            "qwen3-coder",
            "One.<tool_call>\n<function=wri",
            json!({"content": "One."}),
        ),
        (
            "glm4",
            "<tool_call>f<arg_key>a</arg_key><arg_value>rm -rf /tmp/b</arg_value><arg_key>n</arg_key>",
            json!({}),
        ),
        (
            "hermes",
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"argu",
            calls(&[("f", json!({}))]),
        ),
        (
            "kimi-k3",
            "<|open|>tools<|sep|><|open|>call tool=\"f\" ind",
            json!({}),
        ),
        (
            "mistral-v11",
            "Done.[TOOL_CALLS]",
            json!({"content": "Done."}),
        ),
    ] {
        for end in [End::Stop, End::Length] {
            let read = read(&builder, format, &Turn::after(""), text, end);
            let mut expected = message.clone();
            expected["role"] = "assistant".into();
            assert_eq!(read.message, expected, "{text}");
            assert_eq!(errors(&read), ["call_unfinished"], "{text}");
        }
    }
    // What only the text's end ends is a call if the model ended the text.
    for (format, text) in [
        (
            "harmony",
            "<|channel|>commentary to=functions.f<|message|>{\"a\": 1}",
        ),
        ("mistral-v11", "[TOOL_CALLS]f[ARGS]{\"a\": 1}"),
    ] {
        let stopped = read(&builder, format, &Turn::after(""), text, End::Stop);
        assert_eq!(
            stopped.message["tool_calls"],
            calls(&[("f", json!({"a": 1}))])["tool_calls"]
        );
        let cut = read(&builder, format, &Turn::after(""), text, End::Length);
        assert_eq!(cut.message, json!({"role": "assistant"}), "{text}");
        assert_eq!(errors(&cut), ["call_unfinished"], "{text}");
    }
    // Of a list those that were whole are calls.
    let text =
        "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": {}}}, {\"name\": \"g\", \"arg";
    for end in [End::Stop, End::Length] {
        let read = read(&builder, "mistral", &Turn::after(""), text, end);
        assert_eq!(
            read.message["tool_calls"],
            calls(&[("f", json!({"a": {}}))])["tool_calls"]
        );
        assert_eq!(errors(&read), ["call_unfinished"]);
    }
    for (format, text) in [
        ("olmo3", "<function_calls>f(a=')')\ng(a="),
        (
            "minimax-m1",
            "<tool_calls>{\"name\": \"f\", \"arguments\": {\"a\": \")\"}}\n{\"name\"",
        ),
        (
            "apertus",
            "<|tools_prefix|>[{\"f\": {\"a\": \")\"}}, {\"g\": {",
        ),
    ] {
        let read = read(&builder, format, &Turn::after(""), text, End::Length);
        let whole = calls(&[("f", json!({"a": ")"}))]);
        assert_eq!(read.message["tool_calls"], whole["tool_calls"], "{text}");
        assert_eq!(errors(&read), ["call_unfinished"], "{text}");
    }
}

#[test]
fn a_call_that_cannot_be_read_takes_nothing_with_it() {
    let good = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
    let text = format!("<think>Hm.</think>{good}<tool_call>{{bad}}</tool_call>{good} End.");
    let turn = Turn::after("");
    for (broken, content) in [
        (Broken::Content, "<tool_call>{bad}</tool_call> End."),
        (Broken::Drop, " End."),
    ] {
        let builder = ResponseTemplate::builder().with_broken(broken);
        let read = read(&builder, "hermes", &turn, &text, End::Stop);
        assert_eq!(read.message["reasoning_content"], "Hm.");
        assert_eq!(read.message["content"], content);
        assert_eq!(read.message["tool_calls"].as_array().map(Vec::len), Some(2));
        assert_eq!(errors(&read), ["json_invalid"]);
    }
    // A failing stream has given all that came before.
    let template = ResponseTemplate::builder().with_broken(Broken::Fail);
    let template = template.family(Family::HERMES).unwrap();
    assert!(template.parse(&text).is_err());
    let (mut events, mut stream) = (Vec::new(), template.stream(&turn).unwrap());
    assert!(stream.feed_into(&text, &mut events).is_err());
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::RegionClose { .. }))
    );
    check(
        "mistral",
        "",
        "[TOOL_CALLS] sorry",
        &json!({"content": "[TOOL_CALLS] sorry"}),
    );
    check(
        "hermes",
        "",
        "Use <tool_call> tags.",
        &json!({"content": "Use <tool_call> tags."}),
    );
}

#[test]
fn a_schema_is_asked_before_a_value_is_read() {
    for (raw, value) in [
        ("3", "3"),
        ("true", "true"),
        ("{\"b\": 1}", "{\"b\": 1}"),
        ("\"q\"", "\"q\""),
        ("  two  ", "  two  "),
    ] {
        let text =
            format!("<tool_call>f<arg_key>a</arg_key><arg_value>{raw}</arg_value></tool_call>");
        check_tools("glm4", "", &text, &calls(&[("f", json!({"a": value}))]));
        let text = format!(
            "<tool_call>\n<function=f>\n<parameter=a>\n{raw}\n</parameter>\n</function>\n</tool_call>"
        );
        check_tools(
            "qwen3-coder",
            "",
            &text,
            &calls(&[("f", json!({"a": value}))]),
        );
    }
    // Without a schema the family's own rule holds.
    let text = "<tool_call>h<arg_key>a</arg_key><arg_value>3</arg_value><arg_key>b</arg_key><arg_value>x</arg_value></tool_call>";
    check_tools(
        "glm4",
        "",
        text,
        &calls(&[("h", json!({"a": 3, "b": "x"}))]),
    );
    // Types by reference, by values, several ones, and as Python writes them.
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": {
        "$defs": {"s": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}},
        "properties": {
            "r": {"$ref": "#/$defs/s"}, "e": {"enum": ["1", "2"]}, "c": {"const": 1},
            "u": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "v": {"type": ["string", "null"]},
            "b": {"type": "boolean"}, "o": {"type": "object"}, "x": {"type": "number"},
            "i": {"type": "integer"}, "l": {"$ref": "#/$defs/loop"}
        }
    }}}]);
    let turn = Turn::after("").with_tools(&tools);
    let builder = ResponseTemplate::builder();
    let given = [
        ("r", "1"),
        ("e", "1"),
        ("c", "1"),
        ("u", "null"),
        ("v", "7"),
        ("b", "False"),
        ("o", "{'k': None}"),
        ("x", "1e20"),
        ("i", "7.0"),
        ("l", "[1]"),
    ];
    let given =
        given.map(|(key, value)| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>"));
    let text = format!("<tool_call>f{}</tool_call>", given.concat());
    let got = read(&builder, "glm4", &turn, &text, End::Stop);
    assert_eq!(
        got.message["tool_calls"][0]["function"]["arguments"],
        json!({
            "r": "1", "e": "1", "c": 1, "u": null, "v": "7", "b": false, "o": {"k": null}, "x": 1e20,
            "i": 7, "l": [1]
        })
    );
    // In JSON, too, what is written as text is what its schema says.
    let text =
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"3\", \"n\": \"3\"}}</tool_call>";
    check_tools(
        "hermes",
        "",
        text,
        &calls(&[("f", json!({"a": "3", "n": 3}))]),
    );
}

#[test]
fn a_closing_mark_in_a_string_or_a_value_ends_nothing() {
    let quoted = "end with </tool_call> <tool_call>{\"name\": \"g\"} here";
    let text = format!(
        "<tool_call>\n{}\n</tool_call>",
        json!({"name": "f", "arguments": {"a": quoted}})
    );
    check_tools("hermes", "", &text, &calls(&[("f", json!({"a": quoted}))]));
    let text = "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": \"stop at <|tool_call_end|>\"}<|tool_call_end|>";
    check_tools(
        "kimi-k2",
        "",
        text,
        &json!({"tool_calls": [{
            "id": "functions.f:0", "type": "function",
            "function": {"name": "f", "arguments": {"a": "stop at <|tool_call_end|>"}}
        }]}),
    );
    for quoted in [
        "say </function> and go",
        "</parameter> is its end, and <function=g> another",
        "<tool_call>\n<function=g>\n</function>\n</tool_call>",
        "<parameter=b>",
    ] {
        let text = format!(
            "<tool_call>\n<function=f>\n<parameter=a>\n{quoted}\n</parameter>\n</function>\n</tool_call>"
        );
        check_tools(
            "qwen3-coder",
            "",
            &text,
            &calls(&[("f", json!({"a": quoted}))]),
        );
    }
    let text = "<tool_call>f<arg_key>a</arg_key><arg_value>the tag </tool_call> ends it</arg_value></tool_call>";
    check_tools(
        "glm4",
        "",
        text,
        &calls(&[("f", json!({"a": "the tag </tool_call> ends it"}))]),
    );
    // A string that never ends takes its own call alone.
    let text = "<tool_call>{\"a: 1}</tool_call>\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
    let mut expected = calls(&[("f", json!({}))]);
    expected["content"] = "<tool_call>{\"a: 1}</tool_call>".into();
    check_tools("hermes", "", text, &expected);
}

#[test]
fn missing_marks_are_mended() {
    let two = calls(&[("f", json!({"a": "x", "n": 1}))]);
    check_tools(
        "qwen3-coder",
        "",
        "<tool_call>\n<function=f>\n<parameter=a>\nx\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>",
        &two,
    );
    check_tools(
        "glm4",
        "",
        "<tool_call>f<arg_key>a</arg_key><arg_value>x<arg_key>n</arg_key>1</arg_value></tool_call>",
        &two,
    );
    check_tools(
        "glm4",
        "",
        "<tool_call>f<arg_key>a</arg_key><arg_value>x</tool_call>",
        &calls(&[("f", json!({"a": "x"}))]),
    );
    // Not where the text was cut.
    let read = read(
        &ResponseTemplate::builder(),
        "glm4",
        &Turn::after(""),
        "<tool_call>f<arg_key>a</arg_key><arg_value>x</tool_call>",
        End::Length,
    );
    assert_eq!(read.message, json!({"role": "assistant"}));
}

#[test]
fn reasoning_ends_where_a_call_interrupts_it() {
    let call_text =
        "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>";
    let prefix = "<|im_start|>assistant\n<think>\n";
    let mut expected = calls(&[("f", json!({"a": "x"}))]);
    expected["reasoning_content"] = "Hm.".into();
    check_tools(
        "qwen3-coder",
        prefix,
        &format!("Hm.\n{call_text}"),
        &expected,
    );
    // One that is quoted, or none, does not end it.
    for quoted in [
        format!("{call_text} is a call."),
        "<tool_call> and <function=f> are marks.".to_owned(),
        "<tool_call>\n<function=f>\n<parameter=a>\nx".to_owned(),
    ] {
        let expected = json!({"reasoning_content": quoted, "content": "Yes."});
        check_tools(
            "qwen3-coder",
            prefix,
            &format!("{quoted}\n</think>\n\nYes."),
            &expected,
        );
        let expected = json!({"reasoning_content": quoted});
        check_tools("qwen3-coder", prefix, &quoted, &expected);
    }
    check(
        "kimi-k3",
        "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>",
        "<|open|>response<|sep|>Hi<|close|>response<|sep|>",
        &json!({"content": "Hi"}),
    );
}

#[test]
fn a_prompt_that_ends_reasoning_is_no_content() {
    for (format, prefix) in [
        ("deepseek-v3.1", "<｜Assistant｜></think>"),
        ("glm4", "<|assistant|></think>"),
    ] {
        check(format, prefix, "Hi", &json!({"content": "Hi"}));
    }
}

#[test]
fn text_that_no_region_takes_is_content() {
    check(
        "harmony",
        "",
        "Just text.",
        &json!({"content": "Just text."}),
    );
    check(
        "harmony",
        "",
        "<|channel|>final {\"a\": 1}",
        &json!({"content": "{\"a\": 1}"}),
    );
    check(
        "harmony",
        "",
        "<|channel|>commentary to=python <|constrain|>code<|message|>print(1)<|call|>",
        &json!({"builtin_calls": [{"recipient": "python", "content": "print(1)"}]}),
    );
    check(
        "cohere",
        "",
        "<|START_THINKING|>p<|END_THINKING|><|START_TEXT|>Hi<|END_TEXT|> there",
        &json!({"thinking": "p", "content": "Hi\n\n there"}),
    );
    check(
        "kimi-k2",
        "",
        "A<|tool_calls_section_begin|><|tool_calls_section_end|>",
        &json!({"content": "A"}),
    );
}

#[test]
fn liberties_of_the_families() {
    let one = calls(&[("f", json!({"a": "x"}))]);
    for text in [
        "{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}",
        "<|python_tag|>{\"name\": \"f\", \"parameters\": {\"a\": \"x\"}}<|eom_id|>",
        "[{\"name\": \"f\", \"parameters\": {\"a\": \"x\"}}]",
    ] {
        check_tools("llama3", "", text, &one);
    }
    let two = calls(&[("f", json!({"a": "x"})), ("g", json!({}))]);
    for between in ["; ", "\n", ";"] {
        let text = format!(
            "{{\"name\": \"f\", \"parameters\": {{\"a\": \"x\"}}}}{between}{{\"name\": \"g\", \"parameters\": {{}}}}"
        );
        check_tools("llama3", "", &text, &two);
    }
    // JSON that is no call of a tool is an answer.
    for answer in [
        "{\"name\": \"Ada\", \"age\": 3}",
        "{\"name\": \"Ada\", \"parameters\": {}}",
        "{\"name\": \"Ad",
    ] {
        check_tools("llama3", "", answer, &json!({"content": answer}));
    }
    check_tools(
        "llama4",
        "",
        "[f(a='it\\'s'), h(b=[None, -1.5], c={'d': True})]",
        &calls(&[
            ("f", json!({"a": "it's"})),
            ("h", json!({"b": [null, -1.5], "c": {"d": true}})),
        ]),
    );
    check_tools(
        "llama4",
        "",
        "[f(x)](link)",
        &json!({"content": "[f(x)](link)"}),
    );
    // A tool's name as the only key; calls on lines of their own.
    check_tools(
        "apertus",
        "",
        "Well.<|tools_prefix|>[{\"f\": {\"a\": \"x\"}}, {\"g\": {}}]<|tools_suffix|>",
        &json!({"content": "Well.", "tool_calls": two["tool_calls"]}),
    );
    check_tools(
        "olmo3",
        "",
        "<function_calls>\nf(a='</function_calls>')\n\ng()\n</function_calls>",
        &calls(&[("f", json!({"a": "</function_calls>"})), ("g", json!({}))]),
    );
    for broken in [
        "<|tools_prefix|>[{\"f\": {}, \"g\": {}}]<|tools_suffix|>",
        "<|tools_prefix|>[[\"f\"]]<|tools_suffix|>",
    ] {
        check_tools("apertus", "", broken, &json!({"content": broken}));
    }
    for broken in [
        "<function_calls>f() g()</function_calls>",
        "<function_calls>f(1)</function_calls>",
    ] {
        check_tools("olmo3", "", broken, &json!({"content": broken}));
    }
    check_tools(
        "gemma4",
        "",
        "<|tool_call>call:h{my key:1,a:{Two Words:[True]},max-n:x y}<tool_call|>",
        &calls(&[(
            "h",
            json!({"my key": 1, "a": {"Two Words": [true]}, "max-n": "x y"}),
        )]),
    );
    check_tools(
        "gemma4",
        "",
        "<|tool_call>call:f{a:3, n: 3}<tool_call|>",
        &calls(&[("f", json!({"a": "3", "n": 3}))]),
    );
    check_tools(
        "kimi-k3",
        "",
        "<|open|>call tool=\"h\" index=\"1\"<|sep|><|open|>argument key=\"q&amp;a\" type=\"string\"<|sep|>1<|close|>argument<|sep|><|open|>argument key=\"x\" type=\"number\"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|>",
        &calls(&[("h", json!({"q&a": "1", "x": 1}))]),
    );
    for (format, section, blank) in [
        ("deepseek-v3.2", "function_calls", ""),
        ("deepseek-v4", "tool_calls", ""),
        ("deepseek-v4.1", "calls", " "),
    ] {
        let (open, close) = (format!("<｜DSML｜{blank}"), format!("</｜DSML｜{blank}"));
        let text = format!(
            "Hi.\n\n{open}{section}>\n{open}invoke name=\"h\">\n{open}parameter name=\"a\" string=\"true\">007{close}parameter>\n{open}parameter name=\"n\" string=\"false\">[7]{close}parameter>\n{close}invoke>\n{open}invoke name=\"g\"/>\n{close}{section}>"
        );
        let mut expected = calls(&[("h", json!({"a": "007", "n": [7]})), ("g", json!({}))]);
        expected["content"] = "Hi.".into();
        check_tools(format, "", &text, &expected);
    }
    // Missing, or text in place of an object; a list in place of a call.
    check(
        "hermes",
        "",
        "<tool_call>{\"name\": \"f\"}</tool_call>",
        &calls(&[("f", json!({}))]),
    );
    check(
        "hermes",
        "",
        "<tool_call>[{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}, {\"name\": \"g\", \"parameters\": {}}]</tool_call>",
        &calls(&[("f", json!({"a": 1})), ("g", json!({}))]),
    );
}

#[test]
fn names_are_checked_on_request() {
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let turn = Turn::after("").with_tools(&tools);
    let text = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call><tool_call>{\"name\": \"delete_all\", \"arguments\": {}}</tool_call>";
    let builder = ResponseTemplate::builder();
    let any = read(&builder, "hermes", &turn, text, End::Stop);
    assert_eq!(any.message["tool_calls"].as_array().map(Vec::len), Some(2));
    let builder = builder.with_names(Names::Offered).with_broken(Broken::Drop);
    let offered = read(&builder, "hermes", &turn, text, End::Stop);
    assert_eq!(
        offered.message["tool_calls"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(errors(&offered), ["call_unknown_tool"]);
}

#[test]
fn integers_of_any_size_are_kept() {
    let text =
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"n\": 123456789012345678901}}</tool_call>";
    let builder =
        ResponseTemplate::builder().with_unrepresentable(response_parser::Unrepresentable::Tag);
    let read = read(&builder, "hermes", &Turn::after(""), text, End::Stop);
    let arguments = &read.message["tool_calls"][0]["function"]["arguments"];
    assert_eq!(
        arguments,
        &json!({"n": {"$bigint": "123456789012345678901"}})
    );
}

#[test]
fn arguments_come_with_the_text() {
    // What was given before the last character of each text.
    for (format, text, seen) in [
        (
            "hermes",
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\\ny\", \"b\": [1, {\"c\": 2}], \"d\": \"so far",
            "{\"a\": \"x\\ny\", \"b\": [1, {\"c\": 2}], \"d\": \"so far",
        ),
        (
            "mistral-v11",
            "[TOOL_CALLS]f[ARGS]{\"n\": 1, \"m\": 12",
            "{\"n\": 1",
        ),
        (
            "kimi-k3",
            "<|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"string\"<|sep|>é \"x\"\n<|cl",
            "{\"a\": \"é \\\"x\\\"\\n",
        ),
        (
            "qwen3-coder",
            "<function=f>\n<parameter=n>\n1\n</parameter>\n<parameter=m>\n2",
            "{\"n\": 1",
        ),
    ] {
        let builder = ResponseTemplate::builder().with_pieces(Pieces::Arguments);
        let template = builder.family(Family::by_name(format).unwrap()).unwrap();
        let mut stream = template.stream(&Turn::after("")).unwrap();
        let mut got = String::new();
        for c in text.chars() {
            for event in stream.feed(c.encode_utf8(&mut [0; 4])).unwrap() {
                if let Event::Arguments { text, name, .. } = event {
                    assert_eq!(name, "f");
                    got += &text;
                }
            }
        }
        assert_eq!(got, seen, "{text}");
    }
}

#[test]
fn letters_are_no_special_tokens() {
    let specials = ["<tool_call>", "</tool_call>", "<think>", "</think>"];
    let turn = Turn::after("").with_special_tokens(&specials);
    let template = ResponseTemplate::of_family(Family::HERMES).unwrap();
    let call = "{\"name\": \"f\", \"arguments\": {\"a\": \"";
    let pieces = [
        ("Write <tool", Piece::Text),
        ("_call>", Piece::Text),
        (call, Piece::Text),
        ("\"}}</tool_call>. ", Piece::Text),
        ("<tool_call>", Piece::Special),
        (call, Piece::Text),
        ("</tool_call>", Piece::Text),
        ("<tool_call>\"}}", Piece::Text),
        ("</tool_call>", Piece::Special),
        ("<tool_call>", Piece::Special),
        // It never ends, and the mark is one all the same.
        (call, Piece::Text),
        ("</tool_call>", Piece::Special),
        ("Done.", Piece::Text),
    ];
    for together in [1, 2, pieces.len()] {
        let (mut events, mut stream) = (Vec::new(), template.stream(&turn).unwrap());
        for pieces in pieces.chunks(together) {
            stream.feed_pieces(pieces, &mut events).unwrap();
        }
        let finished = stream.finish().unwrap();
        let written = format!("{call}\"}}}}</tool_call>. ");
        let broken = format!("<tool_call>{call}</tool_call>");
        assert_eq!(
            finished.message,
            json!({
                "role": "assistant",
                "content": format!("Write <tool_call>{written}{broken}Done."),
                "tool_calls": [{"type": "function", "function": {
                    "name": "f", "arguments": {"a": "</tool_call><tool_call>"}
                }}]
            })
        );
    }
}

#[test]
fn the_extended_language_is_refused_as_the_references() {
    for family in Family::all() {
        let fields = family.template()["fields"].as_object().unwrap();
        let members = [
            "body",
            "ends",
            "bare",
            "begins",
            "interrupts",
            "discard",
            "into",
        ];
        let has = |field: &Value| members.iter().any(|member| field.get(member).is_some());
        let extended = fields.values().any(has);
        let refused = ResponseTemplate::new(family.template()).is_err();
        assert_eq!(refused, extended, "{family}");
    }
}

#[test]
fn every_format_has_a_name_and_compiles() {
    for format in Family::all() {
        assert_eq!(Family::by_name(format.name()), Some(format));
        let template = ResponseTemplate::of_family(format).unwrap();
        let message = template.parse("").unwrap();
        assert_eq!(message, json!({"role": "assistant"}), "{}", format.name());
        // Hostile outputs take no long time, and no format panics.
        for hostile in [
            "<",
            "<think>",
            " ",
            "[",
            "<|channel|>analysis to=functions.a",
        ] {
            let text = hostile.repeat(200_000 / hostile.len());
            let _ = template.parse(&text);
            let mut stream = template.stream(&Turn::after("")).unwrap();
            for chunk in text.as_bytes().chunks(4) {
                if stream.feed(std::str::from_utf8(chunk).unwrap()).is_err() {
                    break;
                }
            }
            let _ = stream.finish();
        }
    }
    assert_eq!(Family::by_name("gpt-5"), None);
}

/// The folder of the tokenizers, or `None`, said aloud, where there is none.
fn tokenizers() -> Option<PathBuf> {
    let folder = std::env::var_os("TOKENMOLD_DATA");
    if folder.is_none() {
        eprintln!("TOKENMOLD_DATA is not set: the way through real chat templates is skipped");
    }
    folder.map(|folder| Path::new(&folder).join("tokenizers"))
}

/// A model's chat template, ready to render, and its format.
struct Chat {
    source: String,
    bos: String,
    format: Family,
}

impl Chat {
    fn of(folder: &Path, model: &str) -> Chat {
        let path = folder.join(model).join("tokenizer_config.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let config: Value = serde_json::from_str(&text).unwrap();
        let source = config["chat_template"].as_str().unwrap().to_owned();
        let bos = &config["bos_token"];
        let bos = bos
            .as_str()
            .or_else(|| bos["content"].as_str())
            .unwrap_or_default();
        Chat {
            format: Family::of_chat_template(&source).unwrap(),
            bos: bos.to_owned(),
            source,
        }
    }

    fn render(&self, messages: &Value, open: bool) -> String {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .unwrap();
        environment.set_syntax(syntax);
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> Result<String, _> {
            Err(minijinja::Error::new(
                minijinja::ErrorKind::InvalidOperation,
                message,
            ))
        });
        let rendered = environment.render_str(
            &self.source,
            context! { messages => Rendered::from(Serde(messages)), add_generation_prompt => open, bos_token => self.bos.as_str() },
        );
        rendered.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Renders `message` after a question and reads back what the model would have written.
    fn back(&self, message: &Value) -> Value {
        let question = json!({"role": "user", "content": "Weather?"});
        let prompt = self.render(&json!([question]), true);
        let whole = self.render(&json!([question, message]), false);
        let output = whole
            .strip_prefix(&prompt)
            .unwrap_or_else(|| panic!("{prompt:?} is no prefix of {whole:?}"));
        let template = ResponseTemplate::of_family(self.format).unwrap();
        template.parse_turn(&Turn::after(&prompt), output).unwrap()
    }
}

#[test]
fn messages_come_back_through_real_chat_templates() {
    let Some(folder) = tokenizers() else { return };
    let plain = json!({"role": "assistant", "content": "It is 5 < 6, and\n\nso on."});
    for (model, format) in [
        ("qwen3", Family::HERMES),
        ("deepseek_v3", Family::DEEPSEEK_V3),
        ("llama3_1", Family::LLAMA3),
        ("gemma3", Family::GEMMA),
    ] {
        let chat = Chat::of(&folder, model);
        assert_eq!(chat.format, format);
        assert_eq!(chat.back(&plain), plain, "{model}");
    }
    let calls = [
        call(
            "weather",
            json!({"city": "Zürich \"x\" </a> 'y'", "days": [1, 2.5], "deep": {"a": null}}),
        ),
        call("time", json!({})),
    ];
    let qwen = Chat::of(&folder, "qwen3");
    for message in [
        json!({"role": "assistant", "reasoning_content": "Hm.\n\nSo.", "content": "Look:", "tool_calls": calls}),
        json!({"role": "assistant", "reasoning_content": "Hm.", "content": "Yes."}),
    ] {
        assert_eq!(qwen.back(&message), message);
    }
    let bare = json!({"role": "assistant", "content": "", "tool_calls": [calls[1]]});
    assert_eq!(
        qwen.back(&bare),
        json!({"role": "assistant", "tool_calls": [calls[1]]})
    );
    // This template wants arguments as text, and no content beside calls.
    let deepseek = Chat::of(&folder, "deepseek_v3");
    let as_text: Vec<Value> = calls
        .iter()
        .map(|call| {
            let mut call = call.clone();
            call["function"]["arguments"] = call["function"]["arguments"].to_string().into();
            call
        })
        .collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": as_text});
    assert_eq!(
        deepseek.back(&message),
        json!({"role": "assistant", "tool_calls": calls})
    );
}
