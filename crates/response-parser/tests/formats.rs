//! The ready-made formats: outputs as the models write them, and the way back through real
//! chat templates.

use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value as Rendered};
use minijinja::{Environment, context};
use response_parser::{Event, Family, ResponseTemplate, Turn};
use serde_json::{Value, json};

/// Reads `text` whole and character by character; both must give `expected`.
#[track_caller]
fn check(format: &str, prefix: &str, text: &str, expected: &Value) {
    let template = ResponseTemplate::of_family(Family::by_name(format).unwrap()).unwrap();
    let turn = Turn::after(prefix);
    let mut expected = expected.clone();
    expected["role"] = "assistant".into();
    assert_eq!(
        template.parse_turn(&turn, text).unwrap(),
        expected,
        "{text}"
    );
    let mut events = Vec::new();
    let mut stream = template.stream_with(&turn, &mut events).unwrap();
    for c in text.chars() {
        stream
            .feed_into(c.encode_utf8(&mut [0; 4]), &mut events)
            .unwrap();
    }
    let finished = stream.finish().unwrap();
    assert_eq!(finished.message, expected, "{text}");
    events.extend(finished.events);
    // No content is opened for blanks between the parts.
    for event in Event::merge(events) {
        if let (Event::RegionClose { value, .. }, "content") = (&event, event.field()) {
            assert_ne!(value, &json!(""), "{text}");
        }
    }
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
        &json!({"content": "Before.\n\nAfter.", "tool_calls": [call("f", json!({"s": "</think>"}))]}),
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
}

#[test]
fn mistral() {
    check(
        "mistral",
        "[INST] Hi[/INST]",
        "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}, \"id\": \"a1b2c3d4e\"}, {\"name\": \"time\", \"arguments\": {}}]</s>",
        &json!({"tool_calls": [call("weather", json!({"city": "Oslo"})), call("time", json!({}))]}),
    );
    check("mistral", "", " Hello.</s>", &json!({"content": "Hello."}));
    check(
        "mistral-v11",
        "",
        "[THINK]Hm.[/THINK]One moment.[TOOL_CALLS]weather[ARGS]{\"city\": \"Oslo\"}[TOOL_CALLS]time[CALL_ID]123456789[ARGS]{\"l\": [1]}</s>",
        &json!({
            "reasoning_content": "Hm.",
            "content": "One moment.",
            "tool_calls": [call("weather", json!({"city": "Oslo"})), call("time", json!({"l": [1]}))]
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
        &json!({"thinking": "Hm.", "tool_calls": [call("weather", json!({"city": "Oslo"}))]}),
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

#[test]
fn formats_are_known_by_their_chat_templates() {
    for (marker, name) in [
        ("{{ '<|im_start|>' }}<tool_call><|im_end|>", "hermes"),
        (
            "<|im_start|> <tool_call><function=<parameter=",
            "qwen3-coder",
        ),
        ("<|start|>assistant<|channel|>final<|message|>", "harmony"),
        ("[INST] [/INST] [TOOL_CALLS]", "mistral"),
        ("[/INST] [TOOL_CALLS]x[ARGS]", "mistral-v11"),
        ("<｜Assistant｜><｜tool▁call▁begin｜>", "deepseek-v3.1"),
        ("<|START_OF_TURN_TOKEN|><|START_RESPONSE|>", "cohere"),
    ] {
        assert_eq!(Family::of_chat_template(marker).map(Family::name), Ok(name));
    }
    assert!(Family::of_chat_template("{{ messages }}").is_err());
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
