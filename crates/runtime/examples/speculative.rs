//! Speculative decoding: what stood in the prompt is proposed and read in one
//! step. The text is the same, in fewer steps of the model.
//!
//! `cargo run --example speculative`

use serde_json::Value;
use tokenmold::embedded;
use tokenmold::generate::{Flow, Prompt, PromptLookup, Request, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut loaded = embedded::load()?;
    let schema: Value = serde_json::from_str(embedded::DEMO_SCHEMA)?;
    let prompt = embedded::object_prompt(&schema, embedded::DEMO_REQUEST);
    let request = Request::new(Prompt::Chat(prompt)).with_max_tokens(120);

    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let plain = session.generate(&request, None, &mut |_| Flow::Continue)?;
    let (tokens, steps) = (plain.tokens.len(), plain.steps);
    println!("{}\n{tokens} tokens in {steps} steps", plain.text);

    let mut lookup = PromptLookup::default();
    let mut session =
        Session::new(&mut loaded.model, &loaded.tokenizer).with_drafter(&mut lookup, 8);
    let said = session.generate(&request, None, &mut |_| Flow::Continue)?;
    let speculation = said.speculation.unwrap_or_default();
    println!(
        "{} tokens in {} steps, {} of {} proposed ones accepted",
        said.tokens.len(),
        said.steps,
        speculation.accepted,
        speculation.proposed
    );
    assert_eq!(said.tokens, plain.tokens);
    Ok(())
}
