//! Tools from Rust functions, called by a model until it has an answer.
//!
//! The embedded model is tiny: it fills in arguments from the request, and
//! knows nothing of conversations. So this example has it finish as soon as a
//! tool has answered; a larger model would decide that itself.
//!
//! `cargo run --example tool_loop`

use std::convert::Infallible;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokenmold::agent::{Agent, ChatModel, ModelRequest};
use tokenmold::fsm_index::{Guide, Index};
use tokenmold::generate::{Flow, Prompt, Request, Session};
use tokenmold::model::LoadedModel;
use tokenmold::tools::{Tool, Tools};
use tokenmold::{Error, embedded, schema_regex};

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Order {
    /// Who orders
    customer: String,
    /// How many
    quantity: u8,
}

fn main() -> Result<(), Error> {
    let order = Tool::new("place_order", "Places an order.", |order: Order| {
        Ok::<_, Infallible>(format!("{} for {} ordered", order.quantity, order.customer))
    });
    let model = Embedded(embedded::load()?);
    let mut agent = Agent::new(model, Tools::from_iter([order]));
    let request = json!({"role": "user", "content": "7 pieces for Hana Novak, please."});
    let reply = agent.reply(request)?;
    for message in agent.memory() {
        println!("{message}");
    }
    println!("after {} steps: {}", reply.steps, reply.content);
    Ok(())
}

/// The embedded model, bound to call one of the tools on offer.
struct Embedded(LoadedModel);

impl ChatModel for Embedded {
    fn answer(&mut self, request: &ModelRequest<'_>) -> Result<Value, Error> {
        let last = request.messages.last().cloned().unwrap_or_default();
        let content = last["content"].as_str().unwrap_or_default();
        let count = request.tools.len();
        let tools = match last["role"] == "tool" {
            // The finish function is the last on offer.
            true => &request.tools[count - 1..],
            false => &request.tools[..count - 1],
        };
        let tools: Vec<Value> = tools.iter().map(|tool| tool["function"].clone()).collect();
        let calls: Vec<String> = tools.iter().map(call_regex).collect();
        let index = Index::new(&calls.join("|"), self.0.tokenizer.vocabulary())?;
        let mut guide = Guide::new(Arc::new(index));
        let prompt = Prompt::Chat(embedded::tools_prompt(&tools, content));
        let mut session = Session::new(&mut self.0.model, &self.0.tokenizer);
        let said = session.generate(&Request::new(prompt), Some(&mut guide), &mut |_| {
            Flow::Continue
        })?;
        let call = said.text.trim_start_matches("<tool_call>");
        let call = call.trim_end_matches("</tool_call>");
        let call: Value = serde_json::from_str(call).unwrap_or_default();
        Ok(json!({"role": "assistant", "tool_calls": [{"function": call}]}))
    }
}

/// What a call of that tool looks like.
fn call_regex(tool: &Value) -> String {
    let mut parameters = tool["parameters"].clone();
    parameters["additionalProperties"] = false.into();
    let arguments = schema_regex::parse(&parameters)
        .and_then(|schema| schema_regex::to_regex(&schema, &schema_regex::Options::default()));
    let name = tool["name"].as_str().unwrap_or_default();
    format!(
        r#"<tool_call>\{{"name":"{name}","arguments":{}\}}</tool_call>"#,
        arguments.unwrap_or_default()
    )
}
