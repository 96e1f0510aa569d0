//! The loop of reasoning and acting, with scripted models.

#![cfg(feature = "tools")]

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokenmold::agent::{
    Agent, ChatModel, Ended, FinishFunction, ModelRequest, PlainText, Reply, ToolChoice,
};
use tokenmold::tools::{Tool, Tools};
use tokenmold::{Error, ErrorKind};

/// What a scripted model was asked.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    tools: Vec<Value>,
    choice: Option<String>,
}

/// Says what it was told to say, one message after another.
#[derive(Clone, Default)]
struct Script {
    left: Rc<RefCell<Vec<Value>>>,
    asked: Rc<RefCell<Vec<Asked>>>,
}

impl ChatModel for Script {
    fn answer(&mut self, request: &ModelRequest<'_>) -> Result<Value, Error> {
        self.asked.borrow_mut().push(Asked {
            tools: request.tools.to_vec(),
            choice: match request.tool_choice {
                ToolChoice::Named(name) => Some(name.to_owned()),
                _ => None,
            },
        });
        let mut left = self.left.borrow_mut();
        assert!(!left.is_empty(), "the script is at its end");
        Ok(left.remove(0))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Ping {
    /// The number.
    n: i64,
}

fn ping() -> Tools {
    Tools::from_iter([Tool::new("ping", "Return a number.", |ping: Ping| {
        Ok::<_, Infallible>(format!("pong {}", ping.n))
    })])
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "tool_calls": calls})
}

fn user() -> Value {
    json!({"role": "user", "content": "go"})
}

fn agent(script: &[Value], tools: Tools) -> (Agent<Script>, Script) {
    let model = Script::default();
    *model.left.borrow_mut() = script.to_vec();
    (Agent::new(model.clone(), tools), model)
}

fn fruit() -> Value {
    json!({
        "type": "object", "title": "Fruit",
        "properties": {"choice": {"$ref": "#/$defs/Kind"}},
        "required": ["choice"],
        "$defs": {"Kind": {"title": "Kind", "enum": ["apple", "banana"]}},
    })
}

#[test]
fn an_answer_is_text_or_a_finish() {
    let (mut agent, _) = agent(&[json!({"role": "assistant", "content": "hello"})], ping());
    let reply = agent.reply(user()).unwrap();
    assert_eq!(
        (reply.content.as_str(), reply.ended),
        ("hello", Ended::Text)
    );
    assert_eq!(agent.memory().len(), 2);
}

#[test]
fn tools_are_called_until_the_model_finishes() {
    let script = [
        calls(&[call("ping", json!({"n": 3})), call("nope", json!({}))]),
        calls(&[call("generate_response", json!({"response": "three"}))]),
    ];
    let (mut agent, _) = agent(&script, ping());
    let reply = agent.reply(user()).unwrap();
    assert_eq!(reply.content, "three");
    assert_eq!((reply.ended, reply.steps), (Ended::Finished, 2));
    let said: Vec<&str> = agent
        .memory()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    let missing = "Error: there is no tool named `nope`; there are: ping";
    assert_eq!(said, ["pong 3", missing, "Success"]);
}

#[test]
fn a_structured_answer_is_asked_for_once() {
    let finish = |arguments: Value| calls(&[call("generate_response", arguments)]);
    let script = [
        json!({"role": "assistant", "content": "I like fruit"}),
        finish(json!({"response": "x", "choice": "cherry"})),
        finish(json!({"choice": "apple"})),
        finish(json!({"response": "y", "choice": "banana", "more": 1})),
        json!({"role": "assistant", "content": "free"}),
    ];
    let (mut agent, model) = agent(&script, ping());
    let reply = agent.reply_structured(user(), &fruit()).unwrap();
    let expected = json!({"choice": "banana", "more": 1});
    assert_eq!(reply.metadata, Some(expected));
    assert_eq!(reply.content, "y");
    // After that the schema is the plain one again.
    let plain = agent.reply(user()).unwrap();
    assert_eq!((plain.content.as_str(), plain.metadata), ("free", None));
    let asked = model.asked.borrow();
    let choices: Vec<Option<&str>> = asked.iter().map(|asked| asked.choice.as_deref()).collect();
    let finish = Some("generate_response");
    assert_eq!(choices, [None, finish, finish, finish, None]);
    let parameters = |at: usize| &asked[at].tools[1]["function"]["parameters"];
    assert_eq!(parameters(0)["required"], json!(["response", "choice"]));
    assert_eq!(parameters(4)["required"], json!(["response"]));
    // References lead somewhere.
    let validator = jsonschema::validator_for(parameters(0)).unwrap();
    assert!(validator.is_valid(&json!({"response": "r", "choice": "apple"})));
    assert!(!validator.is_valid(&json!({"response": "r", "choice": "pear"})));
}

#[test]
fn a_finish_counts_whatever_else_is_called_in_its_turn() {
    let turn = [
        call(
            "generate_response",
            json!({"response": "one", "choice": "apple"}),
        ),
        call("ping", json!({"n": 3})),
        call(
            "generate_response",
            json!({"response": "two", "choice": "banana"}),
        ),
        call(
            "generate_response",
            json!({"response": "bad", "choice": "pear"}),
        ),
    ];
    let (mut agent, _) = agent(&[calls(&turn)], ping());
    let reply = agent.reply_structured(user(), &fruit()).unwrap();
    assert_eq!(reply.content, "two");
    assert_eq!(reply.metadata, Some(json!({"choice": "banana"})));
    assert_eq!(agent.memory().len(), 6);
}

#[test]
fn what_would_be_shadowed_or_never_valid_is_refused_at_once() {
    let own = Tools::from_iter([Tool::new(
        "generate_response",
        "Write one.",
        |ping: Ping| Ok::<_, Infallible>(ping.n.to_string()),
    )]);
    let (mut agent, model) = agent(&[json!({"role": "assistant", "content": "hi"})], own);
    let error = agent.reply(user()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tool);
    assert!(
        error.to_string().contains("\"generate_response\""),
        "{error}"
    );
    assert!(model.asked.borrow().is_empty() && agent.memory().is_empty());
    // With another name of the function that finishes, it is a tool like any other.
    let mut finish = FinishFunction::default();
    finish.name = "done".to_owned();
    agent = agent.with_finish(finish);
    assert_eq!(agent.reply(user()).unwrap().content, "hi");
    // No object is a text.
    let error = agent.reply_structured(user(), &json!({"type": "string"}));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Tool);
}

#[test]
fn an_error_leaves_nothing_behind() {
    let clash = json!({"type": "object", "properties": {"response": {"type": "string"}}});
    let script = [json!({"role": "assistant", "content": "later"})];
    let (mut agent, _) = agent(&script, Tools::default());
    let error = agent.reply_structured(user(), &clash).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tool);
    assert!(error.to_string().contains("`response`"), "{error}");
    let error = agent.reply_structured(user(), &json!(5)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tool);
    let dangling = json!({"properties": {"a": {"$ref": "#/$defs/nowhere"}}});
    let error = agent.reply_structured(user(), &dangling).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tool);
    assert_eq!(agent.reply(user()).unwrap().content, "later");
}

#[test]
fn steps_are_limited() {
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let script = [said("no"), said("no"), said("gave up")];
    let (agent, model) = agent(&script, ping());
    let mut agent = agent.with_max_steps(2).with_plain_text(PlainText::Finish);
    let reply = agent.reply(user()).unwrap();
    assert_eq!(
        (reply.content.as_str(), reply.ended),
        ("gave up", Ended::OutOfSteps)
    );
    assert_eq!(reply.steps, 3);
    assert!(model.asked.borrow()[2].tools.is_empty());
}

/// A message of ours as the reference's blocks.
fn blocks(message: &Value) -> Value {
    if message["role"] == "tool" {
        let result = json!({
            "type": "tool_result", "id": message["tool_call_id"], "output": message["content"],
            "name": message["name"],
        });
        return json!({"role": "system", "content": [result]});
    }
    if message["role"] == "user" {
        return message.clone();
    }
    let mut content = Vec::new();
    if let Some(text) = message["content"].as_str() {
        content.push(json!({"type": "text", "text": text}));
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        content.push(json!({
            "type": "tool_use", "id": call["id"], "name": call["function"]["name"],
            "input": call["function"]["arguments"],
        }));
    }
    json!({"role": "assistant", "content": content})
}

/// What a script's message is in ours.
fn scripted(message: &Value) -> Value {
    let mut out = json!({"role": "assistant"});
    if message["text"].is_string() {
        out["content"] = message["text"].clone();
    }
    if let Some(calls) = message["tool_calls"].as_array() {
        let calls = calls.iter().map(|call| {
            json!({
                "id": call["id"], "type": "function",
                "function": {"name": call["name"], "arguments": call["input"]},
            })
        });
        out["tool_calls"] = calls.collect();
    }
    out
}

/// Definitions of tools without what ours carries along, keys sorted.
fn comparable(tools: &[Value]) -> Value {
    let mut tools = tools.to_vec();
    for tool in &mut tools {
        let parameters = tool["function"]["parameters"].as_object_mut().unwrap();
        parameters.shift_remove("$defs");
    }
    Value::Array(tools)
}

/// Where this is not what the reference does, on purpose; the others must be
/// the same.
const DIFFERENT: [(&str, &str); 3] = [
    (
        "finish_then_other_tool_same_turn",
        "the finish is lost there",
    ),
    (
        "field_name_clash",
        "the schema stays attached there after the error",
    ),
    (
        "hook_removed_schema_stays",
        "there is no hook here to remove",
    ),
];

#[test]
fn scripted_runs_are_those_of_the_reference() {
    let Some(folder) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA names no data");
        return;
    };
    let path = std::path::Path::new(&folder).join("goldens/agentscope-react.jsonl");
    let mut same = 0;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let id = record["id"].as_str().unwrap();
        if DIFFERENT.iter().any(|(different, _)| *different == id) {
            continue;
        }
        let tools = match record["with_ping"] == true {
            true => ping(),
            false => Tools::default(),
        };
        let turns = record["turns"].as_array().unwrap();
        let (agent, model) = agent(&[], tools);
        let mut agent = agent.with_finish(golden_finish());
        if let Some(steps) = record["agent_args"]["max_iters"].as_u64() {
            agent = agent.with_max_steps(usize::try_from(steps).unwrap());
        }
        if record["agent_args"]["exit_reply_without_tool_calls"] == false {
            agent = agent.with_plain_text(PlainText::Finish);
        }
        for (turn, expected) in turns
            .iter()
            .zip(record["expected"]["turns"].as_array().unwrap())
        {
            let script = turn["script"].as_array().unwrap();
            *model.left.borrow_mut() = script.iter().map(scripted).collect();
            model.asked.borrow_mut().clear();
            let before = agent.memory().len();
            let message = json!({"role": "user", "content": turn["user"]});
            let reply = match turn["model"].get("json_schema") {
                Some(schema) => agent.reply_structured(message, schema),
                None => agent.reply(message),
            };
            let Reply {
                content, metadata, ..
            } = reply.unwrap();
            let text = match &expected["reply"]["content"] {
                Value::String(text) => text.clone(),
                blocks => blocks[0]["text"].as_str().unwrap().to_owned(),
            };
            assert_eq!(content, text, "{id}");
            assert_eq!(json!(metadata), expected["reply"]["metadata"], "{id}");
            let asked = model.asked.borrow();
            let requests = expected["requests"].as_array().unwrap();
            assert_eq!(asked.len(), requests.len(), "{id}");
            for (asked, request) in asked.iter().zip(requests) {
                assert_eq!(json!(asked.choice), request["tool_choice"], "{id}");
                let none = Vec::new();
                let expected = request["tools"].as_array().unwrap_or(&none);
                assert_eq!(comparable(&asked.tools), comparable(expected), "{id}");
            }
            let said: Vec<Value> = agent.memory()[before..].iter().map(blocks).collect();
            let tail = expected["memory_tail"].as_array().unwrap();
            assert_eq!(said.len(), tail.len(), "{id}");
            for (ours, theirs) in said.iter().zip(tail) {
                assert!(same_message(ours, theirs), "{id}: {ours} {theirs}");
            }
        }
        same += 1;
    }
    eprintln!("{same} runs are the same");
    assert!(same >= 20);
}

/// Errors are in words of our own.
fn same_message(ours: &Value, theirs: &Value) -> bool {
    let output = |message: &Value| message["content"][0]["output"].as_str().map(str::to_owned);
    match (output(ours), output(theirs)) {
        (Some(a), Some(b)) => {
            let error = |text: &str| text.contains("rror") || text.contains("missing");
            a == b || (error(&a) && error(&b))
        }
        _ => ours == theirs,
    }
}

/// The finish function in the reference's words, read from the data.
fn golden_finish() -> FinishFunction {
    let folder = std::env::var_os("TOKENMOLD_DATA").unwrap();
    let path = std::path::Path::new(&folder).join("goldens/agentscope-finish-function.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let record: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let function = &record["base"]["function"];
    let response = &function["parameters"]["properties"]["response"]["description"];
    FinishFunction::default().with_descriptions(
        function["description"].as_str().unwrap(),
        response.as_str().unwrap(),
    )
}

#[test]
fn merged_schemas_are_those_of_the_reference() {
    let Some(folder) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA names no data");
        return;
    };
    let path = std::path::Path::new(&folder).join("goldens/agentscope-finish-function.jsonl");
    let finish = golden_finish();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let id = record["id"].as_str().unwrap();
        assert_eq!(finish.definition(None).unwrap(), record["base"], "{id}");
        let merged = finish.definition(Some(&record["model_schema"]));
        match record.get("merged_0.1.6") {
            Some(expected) => {
                let merged = comparable(&[merged.unwrap()]);
                assert_eq!(merged, Value::Array(vec![expected.clone()]), "{id}");
            }
            None => assert_eq!(merged.unwrap_err().kind(), ErrorKind::Tool, "{id}"),
        }
    }
}

/// The embedded model behind the agent: whatever it says, calls obey their schemas
/// and are those that may come.
#[cfg(feature = "embedded")]
#[test]
fn a_local_model_calls_what_is_on_offer() {
    use tokenmold::agent::{ChatModel, LocalModel, ToolChoice};
    use tokenmold::generate::{Prompt, Request, TokenBudget};
    use tokenmold::sampling::SamplingConfig;

    let mut loaded = tokenmold::embedded::load().unwrap();
    let tool = |name: &str, values: &[&str]| {
        json!({"type": "function", "function": {"name": name, "description": "", "parameters": {
            "type": "object", "properties": {"x": {"enum": values}}, "required": ["x"],
            "additionalProperties": false,
        }}})
    };
    let tools = [tool("first", &["a", "b"]), tool("second", &["c"])];
    let messages = [json!({"role": "user", "content": "Take the second one."})];
    let mut model = LocalModel::new(&mut loaded).unwrap();
    for seed in 0..4 {
        let request = Request::new(Prompt::Tokens(Vec::new()))
            .with_max_tokens(120)
            .with_budget(TokenBudget::Complete)
            .with_sampling(SamplingConfig::with_temperature(1.5, seed));
        model = model.with_request(request);
        let mut answer = |choice| {
            let mut request = ModelRequest::new(&messages, &tools);
            request.tool_choice = choice;
            model.answer(&request).unwrap()
        };
        let calls = |message: &Value| -> Vec<(String, Value)> {
            let calls = message["tool_calls"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let call = |call: Value| {
                let function = &call["function"];
                (
                    function["name"].as_str().unwrap().to_owned(),
                    function["arguments"].clone(),
                )
            };
            calls.into_iter().map(call).collect()
        };
        let named = answer(ToolChoice::Named("second"));
        assert_eq!(calls(&named), [("second".to_owned(), json!({"x": "c"}))]);
        let none = answer(ToolChoice::None);
        assert_eq!(calls(&none), []);
        for (name, arguments) in calls(&answer(ToolChoice::Free)) {
            let x = arguments["x"].as_str().unwrap();
            assert!(matches!(
                (&*name, x),
                ("first", "a" | "b") | ("second", "c")
            ));
        }
    }
}

#[cfg(feature = "embedded")]
#[test]
fn a_template_without_a_systems_turn_is_told_of_tools_all_the_same() {
    use tokenmold::agent::{ChatModel, LocalModel, ToolChoice};
    use tokenmold::chat::ChatTemplates;
    use tokenmold::response_parser::Family;

    let mut loaded = tokenmold::embedded::load().unwrap();
    let templates = ChatTemplates::from_source(
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}\
         <|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n",
    );
    let tool =
        json!({"name": "ping", "parameters": {"type": "object", "additionalProperties": false}});
    let tools = [tool];
    let parts = (&mut loaded.model, &loaded.tokenizer);
    let mut model = LocalModel::of_parts(parts.0, parts.1, &templates, Family::HERMES).unwrap();
    let mut ask = |content: Value| {
        let messages = [json!({"role": "user", "content": content})];
        let mut request = ModelRequest::new(&messages, &tools);
        request.tool_choice = ToolChoice::Named("ping");
        model.answer(&request)
    };
    let answer = ask(json!("Ping, please.")).unwrap();
    assert_eq!(answer["tool_calls"][0]["function"]["name"], "ping");
    // Content of several parts is not torn apart.
    assert!(ask(json!([{"type": "text", "text": "Ping."}])).is_err());
}
