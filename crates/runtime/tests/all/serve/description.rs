//! The description of the API, against requests and answers as they are. For example, each member of a request is in it.

use super::*;

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
