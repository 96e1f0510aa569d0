//! A response read with the tools that were on offer. For example, `"112"` stays a string under
//! `{"enum": ["110", "112"], "type": ["integer", "string"]}`.

use response_parser::{ResponseTemplate, Turn};
use serde_json::Value;

use crate::depth;

/// Reads a whole response that follows `prompt`, with the tools that were on
/// offer, as chat templates take them.
///
/// As [`ResponseTemplate::parse_turn`] with [`Turn::with_tools`], which casts
/// arguments that a model wrote as text to the first type of their schema that
/// fits, but for one thing: the arguments of a call that obey their tool's schema
/// as they are written are not cast into others that do not. And a prompt without the
/// template's start anchor, such as one that no chat template wrote, has no part in
/// the message. A tool that nests deeper than 128 levels is passed over.
///
/// # Errors
///
/// As [`ResponseTemplate::parse_turn`].
///
/// ```
/// use serde_json::json;
/// use tokenmold::response_parser::{Family, ResponseTemplate, Turn};
/// use tokenmold::tools::read_response;
///
/// let tools = [json!({"name": "dial", "parameters": {
///     "type": "object", "properties": {"number": {"enum": ["110", "112"], "type": ["integer", "string"]}},
/// }})];
/// let template = ResponseTemplate::of_family(Family::HERMES)?;
/// let text = r#"<tool_call>{"name": "dial", "arguments": {"number": "112"}}</tool_call>"#;
/// let message = read_response(&template, "", &tools, text)?;
/// assert_eq!(message["tool_calls"][0]["function"]["arguments"]["number"], "112");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_response(
    template: &ResponseTemplate,
    prompt: &str,
    tools: &[Value],
    text: &str,
) -> Result<Value, response_parser::Error> {
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| match depth::is_within(tool) {
            true => tool.clone(),
            // A value that no text could have said is no tool.
            false => Value::Null,
        })
        .collect();
    let tools = tools.as_slice();
    let offered = Value::from(tools.to_vec());
    let turn = Turn::after(template.behind_anchor(prompt)?.unwrap_or_default());
    let mut message = template.parse_turn(&turn.with_tools(&offered), text)?;
    let written = template.parse_turn(&turn, text)?;
    let written = written.get("tool_calls").and_then(Value::as_array);
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for (call, written) in calls
        .into_iter()
        .flatten()
        .zip(written.into_iter().flatten())
    {
        restore(call, written, tools);
    }
    Ok(message)
}

/// Takes the arguments back to how they were written, if they were right so and
/// are no more.
fn restore(call: &mut Value, written: &Value, tools: &[Value]) {
    let (Some(call), Some(written)) = (call.get_mut("function"), written.get("function")) else {
        return;
    };
    let as_written = &written["arguments"];
    if call["arguments"] == *as_written {
        return;
    }
    let functions = tools
        .iter()
        .map(|tool| tool.get("function").unwrap_or(tool));
    let called = functions
        .filter(|function| function.get("name") == written.get("name"))
        .find_map(|function| function.get("parameters"));
    // A schema that is none tells nothing.
    let Some(Ok(schema)) = called.map(jsonschema::validator_for) else {
        return;
    };
    if schema.is_valid(as_written) && !schema.is_valid(&call["arguments"]) {
        call["arguments"] = as_written.clone();
    }
}
