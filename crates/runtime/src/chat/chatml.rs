//! The conversation format of the embedded model: ChatML, with the schema or
//! the tools in the system's turn.

use serde_json::{Value, json};

/// The token that ends a turn.
pub const END_OF_TURN: &str = "<|im_end|>";

/// A prompt of one system and one user turn, up to and with the opening of the
/// assistant's turn.
pub fn prompt(system: &str, user: &str) -> String {
    format!(
        "<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
    )
}

/// The system's turn that asks for an object of `schema`.
pub fn schema_system(schema: &Value) -> String {
    format!("Answer with JSON of this schema:\n{schema}")
}

/// The system's turn that offers `tools`, each an object with `name` and
/// `parameters`.
pub fn tools_system(tools: &[Value]) -> String {
    let mut text = "Call one of these tools:".to_owned();
    for tool in tools {
        text.push('\n');
        text.push_str(&tool.to_string());
    }
    text
}

/// The answer that calls a tool.
pub fn tool_call(name: &str, arguments: &Value) -> String {
    let call = json!({"name": name, "arguments": arguments});
    format!("<tool_call>{call}</tool_call>")
}
