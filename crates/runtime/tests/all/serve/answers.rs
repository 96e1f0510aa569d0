//! Answers: what binds them, and how a stream adds up to them. For example, the pieces of a call add up to its arguments.

use super::*;

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
