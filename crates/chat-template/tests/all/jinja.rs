//! What transformers renders for small templates: stories of markup, of false values, of what
//! is kept in containers, of sorting. `scripts/chat-template-cases` wrote them.

use chat_template::{Chat, ChatTemplate};
use serde_json::{Value, json};

#[test]
fn small_templates_print_what_the_reference_prints() {
    let messages = [json!({"role": "user", "content": "<a & 'b'>"})];
    let mut differ = Vec::new();
    let mut count = 0;
    for line in include_str!("../data/jinja.jsonl").lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let template = record["template"].as_str().unwrap();
        let got = ChatTemplate::new(template)
            .and_then(|template| template.render(&Chat::new(&messages)))
            .map(|rendered| rendered.text);
        let agrees = match (&got, record["expected"].as_str()) {
            (Ok(text), Some(expected)) => text == expected,
            (Err(_), None) => true,
            _ => false,
        };
        count += 1;
        if !agrees {
            let answer = record.get("expected").or(record.get("error"));
            differ.push(format!(
                "{} {template}\n  expected {}\n  got      {got:?}",
                record["id"],
                answer.unwrap()
            ));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(count > 80, "{count} cases");
}
