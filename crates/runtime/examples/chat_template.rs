//! A model's chat template: messages and tools in, the prompt out.
//!
//! `cargo run --example chat_template [MODEL_DIRECTORY]`; without a directory
//! with the embedded model's template.

use serde_json::json;
use tokenmold::chat::{Chat, ChatTemplates, Ending};

fn main() -> Result<(), tokenmold::Error> {
    let templates = match std::env::args().nth(1) {
        Some(directory) => ChatTemplates::from_directory(directory)?,
        None => tokenmold::embedded::load()?.chat,
    };
    let messages = [
        json!({"role": "system", "content": "Answer in one sentence."}),
        json!({"role": "user", "content": "Why is the sea salty?"}),
        json!({"role": "assistant", "content": "Because rivers"}),
    ];

    // Up to where the model begins its answer.
    let question = Chat::new(&messages[..2]).with_ending(Ending::GenerationPrompt);
    println!("--- a question\n{}", templates.apply(&question)?.text);

    // Inside of an answer, for the model to go on.
    let unfinished = Chat::new(&messages).with_ending(Ending::Continue("content"));
    println!(
        "--- an answer to continue\n{}",
        templates.apply(&unfinished)?.text
    );
    Ok(())
}
