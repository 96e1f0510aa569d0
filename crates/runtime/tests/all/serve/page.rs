//! The requests of the page to play with. For example, each token of an answer is told with its alternatives.

use super::*;

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
