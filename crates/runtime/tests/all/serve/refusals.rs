//! Requests that are refused, and why. For example, a queue that is full answers 503.

use super::*;

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
