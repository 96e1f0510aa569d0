//! From a Rust type to its schema, and from the model's text back to the type.
//!
//! `cargo run --example schema_to_struct`

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use tokenmold::fsm_index::{Fill, Guide, Index, IndexConfig};
use tokenmold::generate::{Flow, Prompt, Request, Session};
use tokenmold::schema_regex::{Options, automaton::SchemaAutomaton};
use tokenmold::{embedded, generate};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Order {
    customer: String,
    items: Vec<String>,
    #[schemars(range(min = 1, max = 99))]
    quantity: u8,
    paid: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = schemars::schema_for!(Order).to_value();
    let mut loaded = embedded::load()?;
    let automaton = SchemaAutomaton::new(&schema, &Options::default())?;
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton, loaded.tokenizer.vocabulary(), &config)?;
    let mut guide = Guide::new(Arc::new(index));

    let wish = "Please ship to Hana Novak, not paid yet, 7 pieces, items Helmet and Violin.";
    let request =
        Request::new(Prompt::Chat(embedded::object_prompt(&schema, wish))).with_max_tokens(120);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let said: generate::Generation =
        session.generate(&request, Some(&mut guide), &mut |_| Flow::Continue)?;
    let order: Order = serde_json::from_str(&said.text)?;
    println!(
        "{} pieces for {}: {:?}",
        order.quantity, order.customer, order.items
    );
    println!("{}", if order.paid { "paid" } else { "not paid yet" });
    Ok(())
}
