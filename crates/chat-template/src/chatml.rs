//! The conversation format of the embedded model: ChatML, with the schema or the tools in the
//! system's turn. For example, a turn is `<|im_start|>user`, a line feed, the text, `<|im_end|>`
//! and a line feed.

use serde_json::Value;

use json_tree::depth::shown;

/// The token that ends a turn, as ChatML names it.
pub const END_OF_TURN: &str = "<|im_end|>";

/// A prompt of one system and one user turn, up to and with the opening of the
/// assistant's turn.
///
/// ```
/// use chat_template::chatml;
///
/// assert_eq!(
///     chatml::prompt("Be kind.", "Hi"),
///     "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
/// );
/// ```
pub fn prompt(system: &str, user: &str) -> String {
    format!(
        "<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
    )
}

/// The system's turn that asks for an object of `schema`.
///
/// A schema that nests deeper than 128 levels is written as `null`.
pub fn schema_system(schema: &Value) -> String {
    format!("Answer with JSON of this schema:\n{}", shown(schema))
}

/// The system's turn that offers `tools`, each an object with `name` and
/// `parameters`. One that nests deeper than 128 levels is written as `null`.
pub fn tools_system(tools: &[Value]) -> String {
    let mut text = "Call one of these tools:".to_owned();
    for tool in tools {
        text.push('\n');
        text.push_str(&shown(tool));
    }
    text
}

/// The answer that calls a tool. Arguments that nest deeper than 128 levels are written as
/// `null`.
pub fn tool_call(name: &str, arguments: &Value) -> String {
    let name = Value::from(name);
    let arguments = shown(arguments);
    format!(r#"<tool_call>{{"name":{name},"arguments":{arguments}}}</tool_call>"#)
}
