//! What transformers rendered, or why it did not: golden cases, where the folder of checking
//! data has them.

use std::collections::BTreeMap;

use chat_template::{
    Chat, ChatTemplate, ChatTemplates, Ending, Error, ErrorKind, Moment, Rendered,
};
use serde_json::{Map, Value};

#[test]
fn golden_cases_are_the_references_answers() {
    let Some(folder) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA names no data");
        return;
    };
    let path = std::path::Path::new(&folder).join("goldens/chat-template.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    // Of models, and others: how many agree of how many.
    let mut tally: BTreeMap<bool, (usize, usize)> = BTreeMap::new();
    let mut differ = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let record: Value = serde_json::from_str(line).unwrap();
        let id = record["id"].as_str().unwrap_or_default();
        let family = id.split(['/', '_']).next().unwrap_or_default();
        let of_a_model = !["own", "x", "multi", "seed"].contains(&family);
        let got = render(&record);
        let (agree, all) = tally.entry(of_a_model).or_default();
        *all += 1;
        match agrees(&record, &got) {
            true => *agree += 1,
            false => differ.push(format!(
                "{id}\n  expected {} {:?}\n  got {:?}",
                record["expected"], record["error"], got
            )),
        }
    }
    assert!(differ.is_empty(), "{tally:?}\n{}", differ.join("\n"));
    assert!(tally.values().map(|(_, all)| all).sum::<usize>() > 0);
}

fn agrees(record: &Value, got: &Result<Rendered, Error>) -> bool {
    match (got, record["expected"].as_str()) {
        (Ok(rendered), Some(expected)) => {
            let spans = rendered.spans.iter().map(|s| vec![s.start, s.end]);
            let spans_agree = record["want_spans"] != true
                || Value::from_iter(spans) == record["generation_spans"];
            rendered.text == expected && spans_agree
        }
        (Err(error), None) => same_error(record, error),
        _ => false,
    }
}

/// Texts of errors are the reference's where it chose them; those of its interpreter are not.
fn same_error(record: &Value, error: &Error) -> bool {
    let expected = record["error"].as_str().unwrap_or_default();
    let line = record["error_line"].as_u64();
    if line.is_some() && error.line().map(|line| line as u64) != line {
        return false;
    }
    match record["error_kind"].as_str() {
        Some("raise_exception") => error.said() == Some(expected),
        Some("api") if record["error_type"] == "ValueError" => error.to_string() == expected,
        Some("syntax") => error.kind() == ErrorKind::Syntax,
        _ => true,
    }
}

fn render(record: &Value) -> Result<Rendered, Error> {
    let empty = Vec::new();
    let list = |name: &str| record.get(name).and_then(Value::as_array);
    let mut chat = Chat::new(list("messages").unwrap_or(&empty));
    if let Some(tools) = list("tools") {
        chat = chat.with_tools(tools);
    }
    if let Some(documents) = list("documents") {
        chat = chat.with_documents(documents);
    }
    if let Some(name) = record["chosen_template_name"].as_str() {
        chat = chat.with_template(name);
    }
    if let Some(now) = record["now"].as_str().and_then(Moment::parse) {
        chat = chat.with_now(now);
    }
    let continues = match &record["continue_final_message"] {
        Value::Bool(true) => Some(record["continue_field"].as_str().unwrap_or("content")),
        Value::String(field) => Some(field.as_str()),
        _ => None,
    };
    let asks = record["add_generation_prompt"] == true;
    if let Some(field) = continues {
        chat = chat.with_ending(Ending::Continue(field));
        if asks {
            chat = chat.with_variable("add_generation_prompt", true);
        }
    } else if asks {
        chat = chat.with_ending(Ending::GenerationPrompt);
    }
    let mut special_tokens = Map::new();
    for (name, value) in record["kwargs"].as_object().into_iter().flatten() {
        match name.ends_with("_token") && value.is_string() {
            true => {
                special_tokens.insert(name.clone(), value.clone());
            }
            false => chat = chat.with_variable(name.clone(), value.clone()),
        }
    }
    if record["api"] == "render" {
        for (name, value) in special_tokens {
            chat = chat.with_variable(name, value);
        }
        let source = record["template"].as_str().unwrap_or_default();
        return ChatTemplate::new(source)?.render(&chat);
    }
    let templates = ChatTemplates::from_json(&record["template"])?;
    templates.with_special_tokens(special_tokens).apply(&chat)
}
