//! A token budget: whatever the model would like to say, the value is complete
//! when its tokens are used up.
//!
//! `cargo run --example budget`

use std::sync::Arc;

use serde_json::json;
use tokenmold::fsm_index::{Guide, Index};
use tokenmold::generate::{Flow, Prompt, Request, Session};
use tokenmold::sampling::SamplingConfig;
use tokenmold::{embedded, schema_regex};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = json!({
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "string"}}, "note": {"type": "string"}},
        "required": ["tags", "note"],
        "additionalProperties": false,
    });
    let parsed = schema_regex::parse(&schema)?;
    let regex = schema_regex::to_regex(&parsed, &schema_regex::Options::default())?;
    let mut loaded = embedded::load()?;
    let index = Arc::new(Index::new(&regex, loaded.tokenizer.vocabulary())?);

    for max_tokens in [5, 12, 20, 60] {
        let prompt = embedded::object_prompt(&schema, "Tag it: red, round, and fairly heavy.");
        let request = Request::new(Prompt::Chat(prompt))
            .with_max_tokens(max_tokens)
            .with_sampling(SamplingConfig::with_temperature(1.5, 3));
        let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
        let mut guide = Guide::new(index.clone());
        match session.generate(&request, Some(&mut guide), &mut |_| Flow::Continue) {
            Ok(said) => println!(
                "{max_tokens:>3}: {} tokens: {}",
                said.tokens.len(),
                said.text
            ),
            Err(error) => println!("{max_tokens:>3}: {error}"),
        }
    }
    Ok(())
}
