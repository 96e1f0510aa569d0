//! JSON that is still being written, as a value after each token.
//!
//! `cargo run --example streaming`

use std::sync::Arc;

use serde_json::Value;
use tokenmold::embedded;
use tokenmold::fsm_index::{Fill, Guide, Index, IndexConfig};
use tokenmold::generate::{Event, Flow, Prompt, Request, Session};
use tokenmold::response_parser::PartialJson;
use tokenmold::schema_regex::{Options, automaton::SchemaAutomaton};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema: Value = serde_json::from_str(embedded::DEMO_SCHEMA)?;
    let mut loaded = embedded::load()?;
    let automaton = SchemaAutomaton::new(&schema, &Options::default())?;
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton, loaded.tokenizer.vocabulary(), &config)?;
    let mut guide = Guide::new(Arc::new(index));

    let prompt = embedded::object_prompt(&schema, embedded::DEMO_REQUEST);
    let request = Request::new(Prompt::Chat(prompt)).with_max_tokens(200);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let mut partial = PartialJson::new();
    session.generate(&request, Some(&mut guide), &mut |event| {
        let text = match event {
            Event::Token(token) => token.text,
            Event::Rest(text) => text,
            _ => return Flow::Continue,
        };
        partial.feed(text);
        if let Some(value) = partial.value() {
            println!("{:<16} {value}", partial.pointer());
        }
        Flow::Continue
    })?;
    assert!(partial.is_complete());
    Ok(())
}
