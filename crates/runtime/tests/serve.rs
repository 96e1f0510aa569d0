//! The server over real sockets, with the model inside the library. The answers are compared with
//! those of the library alone, and what clients of OpenAI's API rely on is looked at member by member.

#![cfg(feature = "serve")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokenmold::embedded;
use tokenmold::serve::{ServeConfig, Server};

/// A server on a port of its own, as long as the test runs.
struct Running {
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

/// An answer of the server.
struct Said {
    status: u16,
    head: String,
    body: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The data of a stream's events.
    fn events(&self) -> Vec<Value> {
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let data = data.filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

fn start(config: ServeConfig) -> Running {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = Server::new(embedded::load().unwrap(), config).unwrap();
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move { server.serve(listener, std::future::pending()).await });
    Running {
        address,
        _runtime: runtime,
    }
}

/// Sends a request as it is written, and reads to the end of the connection.
fn send(address: SocketAddr, head: &str, body: &[u8]) -> Said {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    let length = body.len();
    let written = format!(
        "{head}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(written.as_bytes()).unwrap();
    // A server may answer before it has read a body that it refuses.
    let _ = stream.write_all(body);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let all = String::from_utf8(all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
    let status = head.split(' ').nth(1).unwrap_or_default().parse().unwrap();
    let body = match head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        true => unchunked(body),
        false => body.to_owned(),
    };
    Said {
        status,
        head: head.to_owned(),
        body,
    }
}

/// A body that came in chunks (RFC 9112, section 7.1).
fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    body
}

impl Running {
    fn post(&self, path: &str, body: &Value) -> Said {
        let head = format!("POST {path} HTTP/1.1\r\nContent-Type: application/json");
        send(self.address, &head, body.to_string().as_bytes())
    }

    fn get(&self, path: &str) -> Said {
        send(self.address, &format!("GET {path} HTTP/1.1"), b"")
    }
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name", "age"],
        "additionalProperties": false,
    })
}

fn about_vera() -> Value {
    json!({
        "messages": [{"role": "user", "content": "Note about Vera Hale, is 41 years old."}],
        "temperature": 0,
        "response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": person()}},
    })
}

fn weather() -> Value {
    json!({
        "messages": [{"role": "user", "content": "Weather in Oslo?"}],
        "temperature": 0,
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {
            "type": "object", "properties": {"city": {"enum": ["Oslo", "Ulm"]}}, "required": ["city"],
            "additionalProperties": false,
        }}}],
        "tool_choice": "required",
    })
}

/// The message that a stream's pieces add up to, as clients add them up.
fn assembled(events: &[Value]) -> (Value, Option<String>) {
    let (mut content, mut calls, mut finish) = (String::new(), Vec::<Value>::new(), None);
    for event in events {
        let Some(choice) = event["choices"].get(0) else {
            continue;
        };
        let delta = &choice["delta"];
        content.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = call["index"].as_u64().unwrap() as usize;
            if at == calls.len() {
                assert!(call["id"].as_str().unwrap().starts_with("call_"));
                calls.push(json!({"name": call["function"]["name"], "arguments": ""}));
            }
            let text = call["function"]["arguments"].as_str().unwrap_or_default();
            let so_far = calls[at]["arguments"].as_str().unwrap().to_owned();
            calls[at]["arguments"] = format!("{so_far}{text}").into();
        }
        if let Some(why) = choice["finish_reason"].as_str() {
            assert!(finish.replace(why.to_owned()).is_none(), "one end");
        }
    }
    (json!({"content": content, "calls": calls}), finish)
}

#[test]
fn a_schema_binds_the_answer_and_a_stream_adds_up_to_it() {
    let server = start(ServeConfig::default());
    let whole = server.post("/v1/chat/completions", &about_vera());
    assert_eq!(whole.status, 200, "{}", whole.body);
    let whole = whole.json();
    let choice = &whole["choices"][0];
    let content = choice["message"]["content"].as_str().unwrap();
    let value: Value = serde_json::from_str(content).unwrap();
    assert!(jsonschema::is_valid(&person(), &value), "{content}");
    assert_eq!(choice["finish_reason"], "stop");
    let usage = &whole["usage"];
    let sum =
        usage["prompt_tokens"].as_u64().unwrap() + usage["completion_tokens"].as_u64().unwrap();
    assert_eq!(usage["total_tokens"], sum);

    let mut streamed = about_vera();
    streamed["stream"] = true.into();
    streamed["stream_options"] = json!({"include_usage": true});
    let streamed = server.post("/v1/chat/completions", &streamed);
    assert!(streamed.body.ends_with("data: [DONE]\n\n"));
    let events = streamed.events();
    assert!(events.len() > 5, "pieces");
    assert!(events.iter().all(|event| event["id"] == events[0]["id"]));
    let mut told = events.last().unwrap()["usage"].clone();
    // The second time the prompt is remembered.
    told["prompt_tokens_details"] = usage["prompt_tokens_details"].clone();
    assert_eq!(told, *usage);
    assert_eq!(
        assembled(&events),
        (
            json!({"content": content, "calls": []}),
            Some("stop".to_owned())
        )
    );
}

#[test]
fn calls_obey_their_tools_and_stream_in_pieces() {
    let server = start(ServeConfig::default());
    let whole = server.post("/v1/chat/completions", &weather()).json();
    let choice = &whole["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], Value::Null);
    let function = &choice["message"]["tool_calls"][0]["function"];
    assert_eq!(function["name"], "weather");
    let arguments: Value = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"city": "Oslo"}));

    let mut streamed = weather();
    streamed["stream"] = true.into();
    let events = server.post("/v1/chat/completions", &streamed).events();
    let (message, finish) = assembled(&events);
    assert_eq!(message["calls"][0]["arguments"], function["arguments"]);
    assert_eq!(finish.as_deref(), Some("tool_calls"));
    let pieces = events
        .iter()
        .filter(|event| event["choices"][0]["delta"].get("tool_calls").is_some());
    assert!(pieces.count() > 2, "arguments come in pieces");

    // The result of a call goes back in the form in which the call came.
    let mut next = weather();
    next["tool_choice"] = "none".into();
    let said = &choice["message"];
    let turns = next["messages"].as_array_mut().unwrap();
    turns.push(said.clone());
    turns.push(
        json!({"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "rain"}),
    );
    let answered = server.post("/v1/chat/completions", &next);
    assert_eq!(answered.status, 200, "{}", answered.body);
    assert!(
        answered.json()["choices"][0]["message"]
            .get("tool_calls")
            .is_none()
    );
}

#[test]
fn what_cannot_be_enforced_is_refused_before_the_first_token() {
    let server = start(ServeConfig::default());
    let cases = [
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"schema": {
                "type": "object", "properties": {"a": {"type": "string", "pattern": "(a)\\1"}}}}}}),
            "response_format.json_schema.schema",
            "/properties/a/pattern",
        ),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"schema": false}}}),
            "response_format.json_schema.schema",
            "",
        ),
        (
            json!({"response_format": {"type": "xml"}}),
            "response_format.type",
            "json_schema",
        ),
        (
            json!({"structured_outputs": {"grammar": "root ::= missing"}}),
            "structured_outputs.grammar",
            "missing",
        ),
        (
            json!({"structured_outputs": {"regex": "("}}),
            "structured_outputs.regex",
            "",
        ),
        (
            json!({"structured_outputs": {"choice": []}}),
            "structured_outputs.choice",
            "one",
        ),
        (
            json!({"structured_outputs": {}}),
            "structured_outputs",
            "0 constraints",
        ),
        (
            json!({"structured_outputs": {"regex": "a", "choice": ["a"]}}),
            "structured_outputs",
            "2 constraints",
        ),
        (
            json!({"structured_outputs": {"regexp": "a"}}),
            "structured_outputs.regexp",
            "regexp",
        ),
        (
            json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"pattern": "(a)\\1"}}}}}], "tool_choice": "required"}),
            "tools",
            "/properties/a/pattern",
        ),
        (
            json!({"tools": [{"type": "retrieval"}]}),
            "tools[0].type",
            "retrieval",
        ),
        (
            json!({"tools": [], "tool_choice": "required"}),
            "tool_choice",
            "required",
        ),
        (
            json!({"tool_choice": {"type": "function", "function": {"name": "g"}}}),
            "tool_choice",
            "\"g\"",
        ),
        (
            json!({"frequency_penalty": 2.5}),
            "frequency_penalty",
            "from -2 to 2",
        ),
        (json!({"presence_penalty": -3}), "presence_penalty", "-3"),
        (
            json!({"chat_template_kwargs": {"messages": []}}),
            "chat_template_kwargs.messages",
            "itself",
        ),
        (json!({"temperature": -1}), "temperature", "temperature"),
        (json!({"n": 0}), "n", "from 1"),
        (json!({"n": "x"}), "n", "invalid type"),
        (json!({"logit_bias": {"99999": 1}}), "logit_bias", "99999"),
        (json!({"top_logprobs": 2}), "top_logprobs", "logprobs"),
        (
            json!({"logprobs": true, "top_logprobs": 21}),
            "top_logprobs",
            "20",
        ),
        (json!({"guided_json": {}}), "guided_json", "member"),
        (json!({"messages": []}), "messages", "no messages"),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
            "messages[0].content[0]",
            "text alone",
        ),
        (
            json!({"messages": [{"role": "robot", "content": ""}]}),
            "messages[0].role",
            "role",
        ),
        (
            json!({"max_completion_tokens": 2, "response_format": about_vera()["response_format"]}),
            "max_completion_tokens",
            "tokens",
        ),
    ];
    for (members, param, said) in cases {
        let mut request = json!({"messages": [{"role": "user", "content": "Hi"}]});
        for (name, value) in members.as_object().unwrap() {
            request[name] = value.clone();
        }
        for stream in [false, true] {
            request["stream"] = stream.into();
            let refused = server.post("/v1/chat/completions", &request);
            assert_eq!(refused.status, 400, "{members}: {}", refused.body);
            let error = &refused.json()["error"];
            assert_eq!(error["param"], param, "{members}: {error}");
            assert_eq!(error["type"], "invalid_request_error");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(said), "{members}: {message}");
        }
    }
    let generated = server.get("/metrics").body;
    assert!(
        generated.contains("\ntokenmold_generated_tokens_total 0\n"),
        "{generated}"
    );
}

#[test]
fn answers_are_whole_within_their_tokens() {
    let server = start(ServeConfig::default());
    for most in [12, 16, 20, 30] {
        let mut request = about_vera();
        request["max_completion_tokens"] = most.into();
        request["temperature"] = 2.into();
        request["seed"] = 5.into();
        let said = server.post("/v1/chat/completions", &request);
        if said.status == 400 {
            assert_eq!(said.json()["error"]["code"], "token_budget");
            continue;
        }
        let said = said.json();
        let content = said["choices"][0]["message"]["content"].as_str().unwrap();
        let value: Value = serde_json::from_str(content).unwrap();
        assert!(jsonschema::is_valid(&person(), &value), "{content}");
        assert_eq!(said["choices"][0]["finish_reason"], "stop");
        assert!(said["usage"]["completion_tokens"].as_u64().unwrap() <= most);
    }
    let free =
        json!({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3, "min_tokens": 3});
    let free = server.post("/v1/chat/completions", &free).json();
    assert_eq!(free["choices"][0]["finish_reason"], "length");
}

#[test]
fn seeds_numbers_probabilities_and_stops() {
    let server = start(ServeConfig::default());
    let request = json!({
        "prompt": ["Note", "Order"], "n": 2, "seed": 7, "max_tokens": 6, "min_tokens": 6, "logprobs": 3,
    });
    let one = server.post("/v1/completions", &request).json();
    let other = server.post("/v1/completions", &request).json();
    let texts = |said: &Value| {
        let choices = said["choices"].as_array().unwrap().clone();
        choices
            .into_iter()
            .map(|mut choice| choice["text"].take())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(&one), texts(&other), "a seed gives the same texts");
    let choices = one["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 4);
    // Each prompt counts once, whatever the number of texts behind it.
    let count = |prompt| {
        server
            .post("/tokenize", &json!({ "prompt": prompt }))
            .json()["count"]
            .as_u64()
    };
    let prompts = count("Note").unwrap() + count("Order").unwrap();
    assert_eq!(one["usage"]["prompt_tokens"], prompts);
    assert_eq!(one["usage"]["completion_tokens"], 24);
    assert_eq!(one["usage"]["total_tokens"], prompts + 24);
    let mut streamed = request.clone();
    streamed["stream"] = true.into();
    streamed["stream_options"] = json!({"include_usage": true});
    let streamed = server.post("/v1/completions", &streamed).events();
    assert_eq!(streamed.last().unwrap()["usage"]["prompt_tokens"], prompts);
    for (at, choice) in choices.iter().enumerate() {
        assert_eq!(choice["index"], at);
        let told = &choice["logprobs"];
        let tokens: String = told["tokens"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(choice["text"], tokens.as_str());
        for (own, others) in told["token_logprobs"]
            .as_array()
            .unwrap()
            .iter()
            .zip(told["top_logprobs"].as_array().unwrap())
        {
            assert!(own.as_f64().unwrap() <= 0.0);
            assert!(others.as_object().unwrap().len() <= 3);
        }
    }
    let mut request = about_vera();
    request["logprobs"] = true.into();
    request["top_logprobs"] = 2.into();
    let told = server.post("/v1/chat/completions", &request).json();
    let tokens = told["choices"][0]["logprobs"]["content"]
        .as_array()
        .unwrap();
    let text: String = tokens
        .iter()
        .filter_map(|token| token["token"].as_str())
        .collect();
    assert_eq!(told["choices"][0]["message"]["content"], text.as_str());
    assert!(
        tokens
            .iter()
            .all(|token| token["top_logprobs"].as_array().unwrap().len() == 2)
    );

    let mut request = about_vera();
    request["stop"] = json!(["Hale"]);
    let stopped = server.post("/v1/chat/completions", &request).json();
    let content = stopped["choices"][0]["message"]["content"]
        .as_str()
        .unwrap();
    assert!(content.ends_with("Vera "), "{content}");
    assert_eq!(stopped["choices"][0]["finish_reason"], "stop");
}

#[test]
fn custom_tools_take_texts() {
    let server = start(ServeConfig::default());
    let lark = "start: NUM \"+\" NUM\nNUM: /[0-9]{1,3}/";
    let request = |format: Value, choice: Value| {
        json!({
            "messages": [{"role": "user", "content": "Add 1 and 2."}], "seed": 1, "max_tokens": 60,
            "tools": [{"type": "custom", "custom": {"name": "add", "format": format}}], "tool_choice": choice,
        })
    };
    let grammar = |syntax: &str, text: &str| json!({"type": "grammar", "grammar": {"syntax": syntax, "definition": text}});
    let named = json!({"type": "custom", "custom": {"name": "add"}});
    let sum = regex(r"^[0-9]{1,3}\+[0-9]{1,3}$");
    for (format, choice) in [
        (grammar("lark", lark), named.clone()),
        (grammar("lark", lark), json!("required")),
        (grammar("regex", r"[0-9]{1,3}\+[0-9]{1,3}"), named),
        (
            grammar("regex", r"[0-9]{1,3}\+[0-9]{1,3}"),
            json!("required"),
        ),
    ] {
        let mut request = request(format, choice);
        let said = server.post("/v1/chat/completions", &request).json();
        let call = &said["choices"][0]["message"]["tool_calls"][0];
        assert_eq!(
            (&call["type"], &call["custom"]["name"]),
            (&json!("custom"), &json!("add")),
            "{said}"
        );
        let input = call["custom"]["input"].as_str().unwrap();
        assert!(sum(input), "{input}");
        request["stream"] = true.into();
        let events = server.post("/v1/chat/completions", &request).events();
        let pieces = events
            .iter()
            .map(|event| &event["choices"][0]["delta"]["tool_calls"][0]["custom"]["input"]);
        let streamed: String = pieces.filter_map(Value::as_str).collect();
        assert_eq!(streamed, input);
    }
    let refused = server.post(
        "/v1/chat/completions",
        &request(grammar("lark", lark), json!("auto")),
    );
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["param"], "tool_choice");
}

/// Matches whole texts, by the schema validator's expressions.
fn regex(pattern: &str) -> impl Fn(&str) -> bool {
    let validator = jsonschema::validator_for(&json!({ "pattern": pattern })).unwrap();
    move |text| validator.is_valid(&json!(text))
}

/// Each kind of limit stops what it is for, and nothing else.
#[test]
fn a_server_bounds_what_grammars_and_tags_may_cost() {
    let mut config = ServeConfig::default();
    config.limits = vec![
        ("max_text_bytes".to_owned(), 20),
        ("max_repeat".to_owned(), 2),
    ];
    let server = start(config);
    let ask = |outputs: Value| {
        let request = json!({
            "messages": [{"role": "user", "content": "Go."}], "seed": 1, "max_tokens": 20,
            "structured_outputs": outputs,
        });
        server.post("/v1/chat/completions", &request)
    };
    let grammar = |text: &str| json!({ "grammar": text });
    assert_eq!(ask(grammar("root ::= \"yes\"")).status, 200);
    let refused = ask(grammar("root ::= \"yes\" | \"no\"")).json();
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("max_text_bytes"), "{refused}");
    let repeat = |times: u32| {
        let content = json!({"type": "const_string", "value": "a"});
        json!({"structural_tag": {"format": {"type": "repeat", "min": times, "max": times, "content": content}}})
    };
    assert_eq!(ask(repeat(2)).status, 200);
    let refused = ask(repeat(3)).json();
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("max_repeat"), "{refused}");
    assert_eq!(
        ask(json!({"json": {"enum": ["much longer than twenty"]}})).status,
        200
    );
}

#[test]
fn responses_come_as_events() {
    let server = start(ServeConfig::default());
    let format = json!({"type": "json_schema", "name": "person", "schema": person()});
    let mut request = json!({
        "instructions": "Answer.",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Note about Vera Hale, is 41 years old."}]}],
        "temperature": 0, "text": {"format": format}, "max_output_tokens": 40,
    });
    let whole = server.post("/v1/responses", &request).json();
    assert_eq!(whole["status"], "completed");
    let text = whole["output"][0]["content"][0]["text"].as_str().unwrap();
    assert!(jsonschema::is_valid(
        &person(),
        &serde_json::from_str(text).unwrap()
    ));
    request["stream"] = true.into();
    let events = server.post("/v1/responses", &request).events();
    let numbers: Vec<u64> = events
        .iter()
        .map(|event| event["sequence_number"].as_u64().unwrap())
        .collect();
    assert!(numbers.iter().copied().eq(0..events.len() as u64));
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        &kinds[..4],
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added"
        ]
    );
    assert_eq!(
        &kinds[kinds.len() - 4..],
        [
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed"
        ]
    );
    let deltas = events
        .iter()
        .filter(|event| event["type"] == "response.output_text.delta");
    let streamed: String = deltas.filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(streamed, text);
    assert_eq!(
        events.last().unwrap()["response"]["output"][0]["content"][0]["text"],
        text
    );

    let tool = json!({"type": "function", "name": "weather", "parameters": weather()["tools"][0]["function"]["parameters"]});
    let called = server.post("/v1/responses", &json!({
        "input": "Weather in Oslo?", "temperature": 0, "tools": [tool], "tool_choice": {"type": "function", "name": "weather"},
    }));
    let called = called.json();
    let call = &called["output"][0];
    assert_eq!(
        (&call["type"], &call["name"]),
        (&json!("function_call"), &json!("weather"))
    );
    let answered = server.post("/v1/responses", &json!({
        "input": [{"role": "user", "content": "Weather in Oslo?"}, call, {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}],
        "tools": [tool], "tool_choice": "none", "max_output_tokens": 4, "temperature": 0,
    }));
    assert_eq!(answered.status, 200, "{}", answered.body);
    for (member, value) in [
        ("previous_response_id", json!("resp_1")),
        ("background", json!(true)),
        ("truncation", json!("auto")),
    ] {
        let mut request = json!({"input": "Hi"});
        request[member] = value;
        let refused = server.post("/v1/responses", &request);
        assert_eq!(
            (refused.status, &refused.json()["error"]["param"]),
            (400, &json!(member))
        );
    }
}

#[test]
fn decisions_are_probabilities() {
    let server = start(ServeConfig::default());
    let ask = |choices: Value| {
        let said = server.post("/v1/decisions", &json!({
            "model": "tokenmold", "input": "The soup is cold and late.", "questions": [
                {"type": "predicate", "name": "p", "instructions": "The customer is happy."},
                {"type": "choice", "instructions": "Topic?", "choices": choices},
                {"type": "score", "instructions": "Anger?", "levels": [{"label": "low"}, {"label": "some"}, {"label": "high"}]},
            ],
        }));
        assert_eq!(said.status, 200, "{}", said.body);
        said.json()
    };
    let [food, music, yes] = [
        json!({"value": "food"}),
        json!({"value": "music", "description": "songs"}),
        json!({"value": true}),
    ];
    let said = ask(json!([food, music, yes]));
    let other = ask(json!([yes, music, food]));
    let answers = said["answers"].as_array().unwrap();
    assert_eq!(answers[0]["name"], "p");
    let sum = |answer: &Value| -> f64 {
        let all = answer["probabilities"].as_array().unwrap();
        all.iter()
            .map(|one| one["probability"].as_f64().unwrap())
            .sum()
    };
    assert!((sum(&answers[1]) - 1.0).abs() < 1e-9 && (sum(&answers[2]) - 1.0).abs() < 1e-9);
    assert_eq!(answers[1]["choice"], other["answers"][1]["choice"]);
    assert_eq!(
        answers[1]["confidence"], other["answers"][1]["confidence"],
        "the order does not matter"
    );
    let levels = answers[2]["probabilities"].as_array().unwrap();
    let score: f64 = levels
        .iter()
        .map(|one| one["value"].as_f64().unwrap() * one["probability"].as_f64().unwrap())
        .sum();
    assert!((answers[2]["score"].as_f64().unwrap() - score).abs() < 1e-9);
    for (questions, param) in [
        (json!([]), "questions"),
        (
            json!([{"type": "choice", "instructions": "?", "choices": [{"value": "a"}]}]),
            "questions[0].choices",
        ),
        (
            json!([{"type": "choice", "instructions": "?", "choices": [{"value": "a"}, {"value": "a"}]}]),
            "questions[0].choices",
        ),
        (
            json!([{"type": "guess", "instructions": "?"}]),
            "questions[0].type",
        ),
    ] {
        let refused = server.post(
            "/v1/decisions",
            &json!({"input": "x", "questions": questions}),
        );
        assert_eq!(
            (refused.status, &refused.json()["error"]["param"]),
            (400, &json!(param))
        );
    }
}

#[test]
fn many_clients_get_the_answers_that_they_would_get_alone() {
    let server = start(ServeConfig::default().with_lanes(3).with_max_queue(200));
    let requests: Vec<Value> = (0..24)
        .map(|at| match at % 4 {
            0 => about_vera(),
            1 => weather(),
            2 => json!({"messages": [{"role": "user", "content": "Hi"}], "seed": at, "max_tokens": 9, "structured_outputs": {"regex": "[a-z]{3,20}"}}),
            _ => json!({"messages": [{"role": "user", "content": "Hi"}], "structured_outputs": {"regex": "("}}),
        })
        .collect();
    let content = |said: &Said| match said.status {
        200 => {
            let mut message = said.json()["choices"][0]["message"].clone();
            for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
                call["id"] = Value::Null;
            }
            message
        }
        status => json!(status),
    };
    let alone: Vec<Value> = requests
        .iter()
        .map(|one| content(&server.post("/v1/chat/completions", one)))
        .collect();
    let together: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> = requests
            .iter()
            .map(|one| scope.spawn(|| content(&server.post("/v1/chat/completions", one))))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(alone, together);
    assert!(alone.iter().any(|said| *said == 400));
    // An answer is sent before its lane is free again.
    let none = (json!(0), json!(0));
    let is_idle = (0..500).any(|_| {
        let health = server.get("/health").json();
        let now = (health["waiting"].clone(), health["running"].clone());
        std::thread::sleep(std::time::Duration::from_millis(10));
        now == none
    });
    assert!(is_idle);
}

#[test]
fn a_full_queue_is_refused_and_a_client_that_goes_frees_its_lane() {
    let server = start(ServeConfig::default().with_lanes(1).with_max_queue(0));
    let long = json!({"messages": [{"role": "user", "content": "Hi"}], "stream": true, "min_tokens": 480, "max_tokens": 480}).to_string();
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
        long.len()
    );
    stream
        .write_all(format!("{head}{long}").as_bytes())
        .unwrap();
    let mut first = [0; 64];
    stream.read_exact(&mut first).unwrap();
    let refused = server.post("/v1/chat/completions", &about_vera());
    // A fast machine may be done with the long answer by now.
    if refused.status != 200 {
        assert_eq!(refused.status, 429, "{}", refused.body);
        assert_eq!(refused.json()["error"]["code"], "queue_full");
        assert!(refused.head.to_ascii_lowercase().contains("retry-after: 1"));
    }
    drop(stream);
    let until = Instant::now() + Duration::from_secs(60);
    while server.get("/health").json()["running"] != 0 {
        assert!(Instant::now() < until, "the lane is still taken");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(
        server.post("/v1/chat/completions", &about_vera()).status,
        200
    );
}

#[test]
fn keys_limits_and_paths() {
    let mut config = ServeConfig::default()
        .with_api_key("secret")
        .with_model_name("small/one");
    config.max_body = 1_000;
    let server = start(config);
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(server.get("/v1/models").status, 401);
    let with = |key: &str| {
        send(
            server.address,
            &format!("GET /v1/models HTTP/1.1\r\nAuthorization: Bearer {key}"),
            b"",
        )
    };
    assert_eq!(with("secret2").json()["error"]["code"], "invalid_api_key");
    assert_eq!(with("secret").json()["data"][0]["id"], "small/one");
    let ask = |method: &str, path: &str, body: &[u8]| {
        send(
            server.address,
            &format!("{method} {path} HTTP/1.1\r\nAuthorization: Bearer secret"),
            body,
        )
    };
    assert_eq!(ask("GET", "/v1/models/small/one", b"").status, 200);
    assert_eq!(
        ask("GET", "/v1/models/other", b"").json()["error"]["code"],
        "model_not_found"
    );
    assert_eq!(
        ask(
            "POST",
            "/v1/chat/completions",
            br#"{"model": "x", "messages": []}"#
        )
        .status,
        404
    );
    assert_eq!(
        ask("POST", "/v1/chat/completions", &[b' '; 2_000]).status,
        413
    );
    assert_eq!(ask("POST", "/v1/chat/completions", b"{").status, 400);
    assert_eq!(ask("POST", "/v1/chat/completions", b"{} {}").status, 400);
    assert_eq!(
        ask("POST", "/v1/chat/completions", &[b'['; 900]).status,
        400
    );
    assert_eq!(ask("GET", "/v1/completions", b"").status, 405);
    assert_eq!(ask("GET", "/no/such/path", b"").status, 404);
    let tokens = ask("POST", "/tokenize", br#"{"prompt": "Vera is 41."}"#).json();
    let back = ask(
        "POST",
        "/detokenize",
        json!({"tokens": tokens["tokens"]}).to_string().as_bytes(),
    );
    assert_eq!(back.json()["prompt"], "Vera is 41.");
    let page = ask("GET", "/", b"");
    assert!(page.body.starts_with("<!doctype html>") && page.head.contains("default-src 'none'"));
    let described = ask("GET", "/openapi.json", b"").json();
    for path in [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/completions",
        "/v1/decisions",
        "/v1/models",
        "/tokenize",
        "/metrics",
    ] {
        assert!(described["paths"].get(path).is_some(), "{path}");
    }
}

#[test]
fn the_page_is_told_of_steps_and_of_refused_texts() {
    let server = start(ServeConfig::default());
    let mut request = about_vera();
    request["messages"][0]["content"] = "Note about Vera Hale, is 41 years old.".into();
    let said = server.post("/play/steps", &request);
    let events = said.events();
    let drawn: Vec<&Value> = events
        .iter()
        .filter(|event| event["forced"] == false)
        .collect();
    assert!(!drawn.is_empty());
    for step in drawn {
        let mass = step["mass"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&mass), "{step}");
        assert!(step["allowed"].as_u64().unwrap() > 0 && step["before"].as_array().is_some());
    }
    assert_eq!(events.last().unwrap()["complete"], true);
    let explained = server.post(
        "/play/explain",
        &json!({"structured_outputs": {"json": person()}, "text": "{\"name\": 5"}),
    );
    let explained = explained.json();
    assert_eq!(explained["accepted"], true);
    assert_eq!(
        (&explained["text"]["offset"], &explained["text"]["pointer"]),
        (&json!(9), &json!("/name"))
    );
    let statuses = explained["ledger"].as_array().unwrap();
    assert!(
        statuses
            .iter()
            .any(|entry| entry["keyword"] == "minimum" && entry["status"] == "enforced")
    );
    let providers = explained["providers"].as_array().unwrap();
    let ids: Vec<_> = providers.iter().map(|p| &p["provider"]["id"]).collect();
    assert_eq!(ids, ["openai", "anthropic", "gemini"]);
    let refused = server.post(
        "/play/explain",
        &json!({"structured_outputs": {"json": {"pattern": "(a)\\1"}}}),
    );
    assert_eq!(refused.json()["accepted"], false);
}

/// The parameters of all tools are explained at once, with places in the list of tools, and the verdict is that of a run.
#[test]
fn tools_are_explained_as_schemas_are() {
    let server = start(ServeConfig::default());
    let mut tools = weather()["tools"].clone();
    let bare = json!({"type": "function", "name": "wait", "parameters": {
        "type": "object", "properties": {"minutes": {"type": "integer", "minimum": 1, "maxLenght": 2}}}});
    tools.as_array_mut().unwrap().push(bare);
    let explain = |members: Value| {
        let mut request = json!({"tools": tools});
        for (name, value) in members.as_object().unwrap() {
            request[name] = value.clone();
        }
        server.post("/play/explain", &request)
    };
    let told = explain(json!({"text": "{\"city\": \"Rome\""})).json();
    assert_eq!(
        (&told["accepted"], &told["error"]),
        (&json!(true), &Value::Null)
    );
    let ledger = told["ledger"].as_array().unwrap();
    let of = |pointer: &str| {
        let entry = ledger.iter().find(|entry| entry["pointer"] == pointer);
        entry.unwrap_or_else(|| panic!("{pointer}: {ledger:?}"))
    };
    let first = "/0/function/parameters/properties/city/enum";
    assert_eq!(of(first)["status"], "enforced");
    let slip = of("/1/parameters/properties/minutes/maxLenght");
    assert_eq!(slip["suggestion"], "maxLength");
    assert_eq!(told["text"]["offset"], 10);
    for provider in told["providers"].as_array().unwrap() {
        for found in provider["findings"].as_array().unwrap() {
            let at = found["pointer"].as_str().unwrap();
            assert!(
                at.starts_with("/0/function/parameters") || at.starts_with("/1/parameters"),
                "{found}"
            );
        }
    }
    let openai = &told["providers"][0]["findings"];
    assert!(
        openai
            .as_array()
            .unwrap()
            .iter()
            .any(|found| found["pointer"].as_str().unwrap().starts_with("/1/")),
        "{openai}"
    );
    let other = explain(json!({"tool": "wait", "text": "{\"minutes\": 0"})).json();
    assert_eq!(other["text"]["pointer"], "/minutes");
    let unknown = explain(json!({"tool": "walk", "text": ""}));
    assert_eq!(
        (unknown.status, &unknown.json()["error"]["param"]),
        (400, &json!("tool"))
    );
    // A refusal of a run is one here, with the tool's name and the place.
    let refused = explain(
        json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": {
        "type": "object", "properties": {"a": {"pattern": "(a)\\1"}}}}}]}),
    )
    .json();
    assert_eq!(refused["accepted"], false);
    let why = refused["error"].as_str().unwrap();
    assert!(
        why.contains("\"f\"") && why.contains("/properties/a/pattern"),
        "{why}"
    );
    let custom = json!([{"type": "custom", "custom": {"name": "add", "format": {"type": "grammar",
        "grammar": {"syntax": "lark", "definition": "start: /[0-9]+/ \"+\" /[0-9]+/"}}}}]);
    let told = explain(json!({"tools": custom, "tool_choice": "required", "text": "1+x"})).json();
    assert_eq!(
        (&told["accepted"], &told["text"]["offset"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(
        explain(json!({ "tools": custom })).json()["accepted"],
        false
    );
}

#[test]
fn a_prompt_that_was_read_is_not_read_again() {
    let server = start(ServeConfig::default().with_lanes(1));
    let cached = |said: &Said| {
        let usage = &said.json()["usage"];
        usage["prompt_tokens_details"]["cached_tokens"].as_u64()
    };
    let first = server.post("/v1/chat/completions", &about_vera());
    assert_eq!(cached(&first), Some(0));
    let again = server.post("/v1/chat/completions", &about_vera());
    let prompt = again.json()["usage"]["prompt_tokens"].as_u64().unwrap();
    // The last token is read in any case.
    assert_eq!(cached(&again), Some(prompt - 1));
    let request = json!({"input": "Hi", "max_output_tokens": 4});
    let responses = [0, 1].map(|_| server.post("/v1/responses", &request).json());
    let usage = &responses[1]["usage"];
    let prompt = usage["input_tokens"].as_u64().unwrap();
    assert_eq!(usage["input_tokens_details"]["cached_tokens"], prompt - 1);
}

/// With a penalty of 2 for each time a model that repeats itself does so less.
#[test]
fn penalties_count_what_was_said() {
    let server = start(ServeConfig::default());
    let repeats = |penalties: Value| {
        let mut request =
            json!({"prompt": "one one one one", "max_tokens": 40, "temperature": 0, "logprobs": 0});
        for (name, value) in penalties.as_object().unwrap() {
            request[name] = value.clone();
        }
        let said = server.post("/v1/completions", &request).json();
        let tokens = said["choices"][0]["logprobs"]["tokens"].clone();
        let tokens: Vec<String> = serde_json::from_value(tokens).unwrap();
        let different: std::collections::HashSet<_> = tokens.iter().collect();
        tokens.len() - different.len()
    };
    let plain = repeats(json!({}));
    assert_eq!(repeats(json!({"frequency_penalty": 0})), plain);
    let less = repeats(json!({"frequency_penalty": 2, "presence_penalty": 2}));
    assert!(less <= plain, "{less} of {plain}");
}

/// Members that there are not, and values of other types, are refused by their place, and the description says
/// the same of each body.
#[test]
fn bodies_are_what_the_description_says() {
    let server = start(ServeConfig::default());
    let described = server.get("/openapi.json").json();
    let validator = |path: &str| {
        let at = format!(
            "/paths/{}/post/requestBody/content/application~1json/schema",
            path.replace('/', "~1")
        );
        let mut schema = described.pointer(&at).unwrap().clone();
        schema["components"] = described["components"].clone();
        jsonschema::validator_for(&schema).unwrap()
    };
    let [decisions, tokenize, explain] = ["/v1/decisions", "/tokenize", "/play/explain"];
    let question = json!({"type": "predicate", "instructions": "It is cold."});
    let asked = |question: Value| json!({"input": "The soup is cold.", "questions": [question]});
    let about = |input: Value| json!({"input": input, "questions": [question]});
    let person = json!({"json": {"type": "object"}});
    for (path, body) in [
        (decisions, asked(question.clone())),
        (
            decisions,
            asked(
                json!({"type": "choice", "name": "c", "instructions": [{"type": "input_text", "text": "Which?"}],
                "choices": [{"value": "a", "description": "first"}, {"value": true}]}),
            ),
        ),
        (
            decisions,
            asked(
                json!({"type": "score", "instructions": "How?", "levels": [{"label": "low"}, {"label": "high"}]}),
            ),
        ),
        (
            decisions,
            about(json!([
                {"role": "user", "content": [{"type": "input_json", "data": {"a": 1}}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
                {"type": "function_call_output", "call_id": "c", "output": "cold"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}], "phase": "commentary"},
            ])),
        ),
        (
            decisions,
            json!({"input": "x", "questions": [question], "prompt_cache_key": "k", "safety_identifier": "s",
                "prompt_cache_options": {"mode": "explicit", "ttl": "30m"}}),
        ),
        (
            tokenize,
            json!({"prompt": "Hi", "add_special_tokens": false}),
        ),
        (
            tokenize,
            json!({"messages": [{"role": "user", "content": "Hi"}]}),
        ),
        (explain, json!({"structured_outputs": person, "text": "{"})),
        (
            explain,
            json!({"tools": weather()["tools"], "tool_choice": "required"}),
        ),
        (
            "/v1/chat/completions",
            json!({"messages": weather()["messages"], "tools": weather()["tools"], "tool_choice": "required", "max_tokens": 40}),
        ),
    ] {
        let said = server.post(path, &body);
        assert_eq!(said.status, 200, "{path} {body}: {}", said.body);
        assert!(validator(path).is_valid(&body), "{path} {body}");
    }
    for (path, body, param) in [
        (decisions, json!({"questions": [question]}), "body"),
        (
            decisions,
            json!({"input": "x", "questions": [question], "n": 2}),
            "n",
        ),
        (
            decisions,
            json!({"input": "x", "questions": {}}),
            "questions",
        ),
        (
            decisions,
            json!({"input": "x", "questions": [5]}),
            "questions[0]",
        ),
        (
            decisions,
            json!({"input": "x", "questions": [question], "prompt_cache_options": {"to": 1}}),
            "prompt_cache_options.to",
        ),
        (
            decisions,
            asked(json!({"type": "guess"})),
            "questions[0].type",
        ),
        (
            decisions,
            asked(json!({"type": "predicate"})),
            "questions[0]",
        ),
        (
            decisions,
            asked(json!({"type": "predicate", "instructions": 5})),
            "questions[0].instructions",
        ),
        (
            decisions,
            asked(json!({"type": "predicate", "instructions": "?", "choices": []})),
            "questions[0].choices",
        ),
        (
            decisions,
            asked(
                json!({"type": "predicate", "instructions": [{"type": "input_text", "txt": "?"}]}),
            ),
            "questions[0].instructions[0].txt",
        ),
        (
            decisions,
            asked(
                json!({"type": "choice", "instructions": "?", "choices": [{"value": "a"}, {"value": 5}]}),
            ),
            "questions[0].choices[1].value",
        ),
        (
            decisions,
            asked(
                json!({"type": "choice", "instructions": "?", "choices": [{"value": "a"}, {"value": "b", "weight": 5}]}),
            ),
            "questions[0].choices[1].weight",
        ),
        (
            decisions,
            asked(
                json!({"type": "score", "instructions": "?", "levels": [{"label": "a"}, {"label": false}]}),
            ),
            "questions[0].levels[1].label",
        ),
        (
            decisions,
            asked(json!({"type": "score", "instructions": "?", "levels": [{"label": "a"}]})),
            "questions[0].levels",
        ),
        (decisions, about(json!(5)), "input"),
        (decisions, about(json!([5])), "input[0]"),
        (
            decisions,
            about(json!([{"role": "robot", "content": ""}])),
            "input[0].role",
        ),
        (
            decisions,
            about(json!([{"role": "user", "content": 5}])),
            "input[0].content",
        ),
        (
            decisions,
            about(json!([{"role": "user", "content": "", "mood": "bad"}])),
            "input[0].mood",
        ),
        (
            decisions,
            about(json!([{"role": "user", "content": [{"type": "input_image", "image_url": ""}]}])),
            "input[0].content[0].type",
        ),
        (
            decisions,
            about(json!([{"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}])),
            "input[0].arguments",
        ),
        (
            decisions,
            about(json!([{"type": "web_search_call"}])),
            "input[0].type",
        ),
        (tokenize, json!({}), "prompt"),
        (tokenize, json!({"prompt": "Hi", "messages": []}), "prompt"),
        (tokenize, json!({"prompt": 5}), "prompt"),
        (tokenize, json!({"prompt": "Hi", "stop": "i"}), "stop"),
        (
            tokenize,
            json!({"prompt": "Hi", "add_special_tokens": "no"}),
            "add_special_tokens",
        ),
        (tokenize, json!({"messages": []}), "messages"),
        (
            tokenize,
            json!({"messages": [{"role": "robot"}]}),
            "messages[0].role",
        ),
        (
            tokenize,
            json!({"messages": [{"role": "assistant", "content": "", "tool_calls": 5}]}),
            "messages[0].tool_calls",
        ),
        (
            explain,
            json!({"structured_outputs": person, "text": 5}),
            "text",
        ),
        (
            explain,
            json!({"structured_outputs": person, "txt": ""}),
            "txt",
        ),
        (
            explain,
            json!({"structured_outputs": {"regexp": "a"}}),
            "structured_outputs.regexp",
        ),
        (
            explain,
            json!({"structured_outputs": {"regex": 5}}),
            "structured_outputs.regex",
        ),
    ] {
        let refused = server.post(path, &body);
        assert_eq!(refused.status, 400, "{path} {body}: {}", refused.body);
        assert_eq!(
            refused.json()["error"]["param"],
            param,
            "{path} {body}: {}",
            refused.body
        );
        assert!(!validator(path).is_valid(&body), "{path} {body}");
    }
}

/// The description has real shapes for what requests hold, and every reference in it leads somewhere.
#[test]
fn the_description_tells_the_shapes_of_requests() {
    let server = start(ServeConfig::default());
    let described = server.get("/openapi.json").json();
    let schemas = &described["components"]["schemas"];
    let chat =
        "/paths/~1v1~1chat~1completions/post/requestBody/content/application~1json/schema/$ref";
    let body = described.pointer(chat).unwrap().as_str().unwrap();
    let body = described.pointer(&body[1..]).unwrap();
    assert_eq!(
        body["allOf"][0]["properties"]["messages"]["items"]["$ref"],
        "#/components/schemas/ChatMessage"
    );
    // A request for another model is refused, so that the description names the one.
    assert_eq!(
        body["allOf"][0]["properties"]["model"]["enum"],
        json!(["tokenmold", null])
    );
    let mut open = vec![&described];
    let mut references = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => open.extend(map.values()),
            Value::Array(items) => open.extend(items),
            _ => {}
        }
        if let Some(to) = value.get("$ref").and_then(Value::as_str) {
            references += 1;
            assert!(described.pointer(&to[1..]).is_some(), "{to}");
        }
    }
    assert!(references > 30, "{references}");
    // The request of the other tests is right by it.
    let mut whole = schemas["ChatMessage"].clone();
    whole["components"] = described["components"].clone();
    let message = &about_vera()["messages"][0];
    assert!(jsonschema::is_valid(&whole, message), "{whole}");
    assert!(!jsonschema::is_valid(&whole, &json!({"role": "nobody"})));
}

/// The program: it says where it listens, answers, and ends by a signal when its requests are done.
#[cfg(unix)]
#[test]
fn the_program_serves_and_ends() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tokenmold"))
        .args(["--json", "serve", "--port", "0", "--lanes", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let told: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let address: SocketAddr = told["url"]
        .as_str()
        .unwrap()
        .strip_prefix("http://")
        .unwrap()
        .parse()
        .unwrap();
    let body = about_vera().to_string();
    let asked = std::thread::spawn(move || {
        send(
            address,
            "POST /v1/chat/completions HTTP/1.1",
            body.as_bytes(),
        )
    });
    let answered = asked.join().unwrap();
    assert_eq!(answered.status, 200);
    let ended = Command::new("kill")
        .args(["-TERM", &program.id().to_string()])
        .status()
        .unwrap();
    assert!(ended.success());
    assert!(program.wait().unwrap().success());
    assert_eq!(lines.count(), 0);
}
