//! Tool calls that cannot be malformed: free text until a call begins, then the
//! tool's schema; and the message read back.
//!
//! `cargo run --example tags`

use std::sync::Arc;

use serde_json::json;
use tokenmold::embedded;
use tokenmold::fsm_index::{Fill, Guide, Index, IndexConfig};
use tokenmold::generate::{Flow, Prompt, Request, Session};
use tokenmold::response_parser::{Family, ResponseTemplate};
use tokenmold::sampling::SamplingConfig;
use tokenmold::tags::{Count, ResponseFormat};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = [json!({
        "name": "convert",
        "parameters": {
            "type": "object",
            "properties": {
                "amount": {"type": "integer", "minimum": 1, "maximum": 999},
                "unit": {"enum": ["metres", "miles", "litres"]}
            },
            "required": ["amount", "unit"],
            "additionalProperties": false
        }
    })];
    let mut loaded = embedded::load()?;
    let vocabulary = loaded.tokenizer.vocabulary();
    let automaton = ResponseFormat::named(Family::HERMES)?
        .with_tools(&tools)?
        .with_calls(Count::ONE)
        .compile(vocabulary)?;
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Arc::new(Index::lazy(automaton, vocabulary, &lazy)?);

    let template = ResponseTemplate::of_family(Family::HERMES)?;
    for seed in 0..3 {
        // Hot: the model alone would say nonsense.
        let prompt = embedded::tools_prompt(&tools, "12 miles, please");
        let request = Request::new(Prompt::Chat(prompt))
            .with_sampling(SamplingConfig::with_temperature(1.0, seed));
        let mut guide = Guide::new(index.clone());
        let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
        let said = session.generate(&request, Some(&mut guide), &mut |_| Flow::Continue)?;
        println!("{:?}", said.text);
        if said.complete {
            let text = loaded.tokenizer.decode_with_structure(&said.tokens);
            let message = template.parse(&text)?;
            println!("  {}", message["tool_calls"][0]["function"]);
        }
    }
    Ok(())
}
