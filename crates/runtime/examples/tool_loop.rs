//! Tools from Rust functions, called by a model until it has an answer.
//!
//! The embedded model is tiny: it picks a tool and fills in its arguments, and
//! knows nothing of conversations. So once a tool has answered, this example
//! passes that on as the reply; a larger model would say something itself.
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
struct Mail {
    to: String,
    subject: String,
}

#[derive(Deserialize, JsonSchema)]
struct Table {
    restaurant: String,
    guests: u8,
}

fn main() -> Result<(), Error> {
    let mail = Tool::new("send_mail", "Sends a mail.", |mail: Mail| {
        Ok::<_, Infallible>(format!(
            "mail to {} about {} is sent",
            mail.to, mail.subject
        ))
    });
    let table = Tool::new("book_table", "Books a table.", |table: Table| {
        match table.guests {
            0 => Err("nobody comes"),
            guests => Ok(format!("table for {guests} at {}", table.restaurant)),
        }
    });
    let model = Embedded(embedded::load()?);
    let mut agent = Agent::new(model, Tools::from_iter([mail, table]));
    let request =
        json!({"role": "user", "content": "Send a mail to Hana Novak about Blue Bicycle"});
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
        if last["role"] == "tool" {
            return Ok(json!({"role": "assistant", "content": last["content"]}));
        }
        let content = last["content"].as_str().unwrap_or_default();
        // The finish function is the last on offer, and for larger models.
        let (_, tools) = request.tools.split_last().unwrap_or((&Value::Null, &[]));
        let shown = |tool: &Value| {
            let function = &tool["function"];
            json!({"name": function["name"], "parameters": function["parameters"]})
        };
        let tools: Vec<Value> = tools.iter().map(shown).collect();
        let calls: Vec<String> = tools.iter().map(call_regex).collect();
        let index = Index::new(&calls.join("|"), self.0.tokenizer.vocabulary())?;
        let mut guide = Guide::new(Arc::new(index));
        let prompt = Prompt::Chat(embedded::tools_prompt(&tools, content));
        let mut session = Session::new(&mut self.0.model, &self.0.tokenizer);
        let request = Request::new(prompt);
        let said = session.generate(&request, Some(&mut guide), &mut |_| Flow::Continue)?;
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
