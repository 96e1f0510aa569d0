//! The items of a conversation, as `/v1/responses` and `/v1/decisions` take them. For example, `{"role":
//! "user", "content": "Hi"}` is a message, and `{"type": "function_call_output", "call_id": "c", "output": "rain"}`
//! the result of a call.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::body;
use super::chat::messages;
use super::error::ApiError;
use super::shapes;

/// The input of `/v1/decisions`: a text, or a conversation.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only described: `conversation` reads it")]
pub(super) enum DecisionInput {
    Text(String),
    Items(Vec<DecisionItem>),
}

/// A message, a call or the result of one.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only described: `check_item` reads it")]
pub(super) enum DecisionItem {
    Message(MessageItem),
    Call(CallItem),
    CustomCall(CustomCallItem),
    Output(ResultItem),
}

/// A message.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its types are checked, and `read_items` reads it")]
pub(super) struct MessageItem {
    /// `message`, or nothing.
    #[serde(rename = "type")]
    kind: Option<MessageType>,
    role: shapes::Role,
    #[schema(value_type = PartsOrText)]
    content: Box<RawValue>,
    /// The phase of an earlier answer; it changes nothing.
    phase: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum MessageType {
    Message,
}

/// A call of a function.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its types are checked, and `read_items` reads it")]
pub(super) struct CallItem {
    #[serde(rename = "type")]
    kind: CallType,
    call_id: String,
    name: String,
    /// The text of a JSON object.
    arguments: String,
    /// Changes nothing, as the members behind it.
    id: Option<String>,
    namespace: Option<String>,
    status: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CallType {
    FunctionCall,
}

/// A call of a custom tool.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its types are checked, and `read_items` reads it")]
pub(super) struct CustomCallItem {
    #[serde(rename = "type")]
    kind: CustomCallType,
    call_id: String,
    name: String,
    input: String,
    /// Changes nothing, as the members behind it.
    id: Option<String>,
    namespace: Option<String>,
    status: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CustomCallType {
    CustomToolCall,
}

/// The result of a call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResultItem {
    #[serde(rename = "type")]
    #[expect(dead_code, reason = "it is checked")]
    kind: ResultType,
    #[expect(dead_code, reason = "its type is checked, and `read_items` reads it")]
    call_id: String,
    #[schema(value_type = PartsOrText)]
    output: Box<RawValue>,
    /// Changes nothing, as the member behind it.
    #[expect(dead_code, reason = "taken, and of no effect")]
    id: Option<String>,
    #[expect(dead_code, reason = "taken, and of no effect")]
    status: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ResultType {
    FunctionCallOutput,
    CustomToolCallOutput,
}

/// A text, or a list of parts.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only described: `check_parts` reads it")]
pub(super) enum PartsOrText {
    Text(String),
    Parts(Vec<ItemPart>),
}

/// A part of a content.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only described: `check_parts` reads it")]
pub(super) enum ItemPart {
    Text(TextPart),
    Json(JsonPart),
    Refusal(RefusalPart),
}

/// A text.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its types are checked, and `text_of` reads it")]
pub(super) struct TextPart {
    #[serde(rename = "type")]
    kind: TextType,
    text: String,
    /// Changes nothing here: what prompts share at their beginning is read once in any case.
    prompt_cache_breakpoint: Option<CacheBreakpoint>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum TextType {
    Text,
    InputText,
    OutputText,
}

/// The end of what requests share.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its type is checked, and it has no effect")]
struct CacheBreakpoint {
    mode: String,
}

/// JSON that is shown as text.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its types are checked, and `text_of` reads it")]
pub(super) struct JsonPart {
    #[serde(rename = "type")]
    kind: JsonType,
    data: ObjectOrList,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum JsonType {
    InputJson,
}

/// An object, or a list of objects.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "its type is checked, and `text_of` reads it")]
enum ObjectOrList {
    Object(serde_json::Map<String, Value>),
    List(Vec<serde_json::Map<String, Value>>),
}

/// A refusal of an earlier answer.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its types are checked, and `text_of` reads it")]
pub(super) struct RefusalPart {
    #[serde(rename = "type")]
    kind: RefusalType,
    refusal: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum RefusalType {
    Refusal,
}

/// The type that an item, a part or a question names.
#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// Reads the type of an object that stands at `place`; none if it names none.
pub(super) fn type_of(raw: &RawValue, place: &str) -> Result<Option<String>, ApiError> {
    let typed: Typed = body::read_inside(raw, place)?;
    Ok(typed.kind)
}

/// Reads a text or a conversation that stands at `place` as the messages of a chat. Members that there are not are refused.
pub(super) fn conversation(input: &RawValue, place: &str) -> Result<Vec<Value>, ApiError> {
    let wrong = |error: serde_json::Error| ApiError::invalid(place, error.to_string());
    let read: Value = serde_json::from_str(input.get()).map_err(wrong)?;
    if let Value::String(text) = read {
        return Ok(vec![json!({"role": "user", "content": text})]);
    }
    if read.is_array() {
        let items: Vec<&RawValue> = serde_json::from_str(input.get()).map_err(wrong)?;
        for (at, item) in items.into_iter().enumerate() {
            check_item(item, &format!("{place}[{at}]"))?;
        }
    }
    messages(read_items(read, place)?)
}

fn check_item(item: &RawValue, place: &str) -> Result<(), ApiError> {
    match type_of(item, place)?.as_deref() {
        None | Some("message") => {
            let message: MessageItem = body::read_inside(item, place)?;
            check_parts(&message.content, &format!("{place}.content"))
        }
        Some("function_call") => body::read_inside::<CallItem>(item, place).map(drop),
        Some("custom_tool_call") => body::read_inside::<CustomCallItem>(item, place).map(drop),
        Some("function_call_output" | "custom_tool_call_output") => {
            let result: ResultItem = body::read_inside(item, place)?;
            check_parts(&result.output, &format!("{place}.output"))
        }
        // The reader of all items names those that there are.
        Some(_) => Ok(()),
    }
}

/// Checks a content: it is a text, or a list of parts each of which has the members of its type.
pub(super) fn check_parts(content: &RawValue, place: &str) -> Result<(), ApiError> {
    if content.get().starts_with('"') {
        return Ok(());
    }
    let Ok(parts) = serde_json::from_str::<Vec<&RawValue>>(content.get()) else {
        let message = "the content is a text, or a list of parts";
        return Err(ApiError::invalid(place, message));
    };
    for (at, part) in parts.into_iter().enumerate() {
        let place = format!("{place}[{at}]");
        match type_of(part, &place)?.as_deref() {
            Some("text" | "input_text" | "output_text") => {
                body::read_inside::<TextPart>(part, &place)?;
            }
            Some("input_json") => drop(body::read_inside::<JsonPart>(part, &place)?),
            Some("refusal") => drop(body::read_inside::<RefusalPart>(part, &place)?),
            kind => {
                let kind = kind.unwrap_or("none");
                let message = format!("a part of the type {kind:?}; the model reads text alone");
                return Err(ApiError::invalid(format!("{place}.type"), message));
            }
        }
    }
    Ok(())
}

/// The items of a conversation as the messages of a chat: calls that stand in a row are one message.
pub(super) fn read_items(input: Value, place: &str) -> Result<Vec<Value>, ApiError> {
    let Value::Array(items) = input else {
        return Err(ApiError::invalid(place, "the input is a text or a list"));
    };
    let mut read: Vec<Value> = Vec::new();
    for (at, mut item) in items.into_iter().enumerate() {
        let place = format!("{place}[{at}]");
        if !item.is_object() {
            return Err(ApiError::invalid(place, "an item is an object"));
        }
        let kind = item["type"].as_str().unwrap_or("message").to_owned();
        match kind.as_str() {
            "message" => {
                let (role, content) = (item["role"].take(), item["content"].take());
                read.push(json!({"role": role, "content": content}));
            }
            "function_call" | "custom_tool_call" => {
                let call = match kind.as_str() {
                    "function_call" => json!({
                        "id": item["call_id"], "type": "function",
                        "function": {"name": item["name"], "arguments": item["arguments"]},
                    }),
                    _ => json!({
                        "id": item["call_id"], "type": "custom",
                        "custom": {"name": item["name"], "input": item["input"]},
                    }),
                };
                let last = read.last_mut().and_then(|last| last.get_mut("tool_calls"));
                match last.and_then(Value::as_array_mut) {
                    Some(calls) => calls.push(call),
                    None => {
                        read.push(
                            json!({"role": "assistant", "content": "", "tool_calls": [call]}),
                        );
                    }
                }
            }
            "function_call_output" | "custom_tool_call_output" => {
                let (id, output) = (item["call_id"].take(), item["output"].take());
                read.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
            }
            // Models are not shown how they reasoned before.
            "reasoning" => {}
            other => {
                let message = format!(
                    "the type {other:?} is none of \"message\", \"function_call\", \"function_call_output\", \
                     \"custom_tool_call\", \"custom_tool_call_output\", \"reasoning\""
                );
                return Err(ApiError::invalid(format!("{place}.type"), message));
            }
        }
    }
    Ok(read)
}
