//! The parts of requests that are read from JSON as they come, described for `/openapi.json`. For example, a
//! message of a user is `{"role": "user", "content": "Hi"}`.
//!
//! Nothing is read by these types: what is read stands in `chat`, `tool` and `wire`, which say of a wrong
//! request where it is wrong.

#![expect(dead_code, reason = "only described")]

use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A JSON Schema.
#[derive(ToSchema)]
#[schema(value_type = Object)]
pub(super) struct Schema(Map<String, Value>);

/// A message of a chat.
#[derive(ToSchema)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum ChatMessage {
    /// The rules of the conversation.
    System { content: Content },
    /// The same by its newer name.
    Developer { content: Content },
    /// The user's words.
    User { content: Content },
    /// An earlier answer.
    Assistant {
        content: Option<Content>,
        tool_calls: Option<Vec<ChatCall>>,
    },
    /// The result of a call.
    Tool {
        content: Content,
        tool_call_id: String,
    },
}

/// A text, or a list of parts.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// A part of a content.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    Text { text: String },
    InputText { text: String },
    OutputText { text: String },
    Refusal { refusal: String },
}

/// A call of an earlier answer.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum ChatCall {
    Function {
        id: String,
        function: CalledFunction,
    },
    Custom {
        id: String,
        custom: CalledCustom,
    },
}

/// The name of a function, and the text of its arguments.
#[derive(ToSchema)]
pub(super) struct CalledFunction {
    name: String,
    /// The text of a JSON object.
    arguments: String,
}

/// The name of a custom tool, and its input.
#[derive(ToSchema)]
pub(super) struct CalledCustom {
    name: String,
    input: String,
}

/// A tool of `/v1/chat/completions`.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum ChatTool {
    Function { function: FunctionTool },
    Custom { custom: CustomTool },
}

/// A tool with arguments.
#[derive(ToSchema)]
pub(super) struct FunctionTool {
    #[schema(min_length = 1)]
    name: String,
    description: Option<String>,
    /// The schema of the arguments; none for an empty object.
    parameters: Option<Schema>,
    /// Changes nothing: arguments always keep to the schema.
    strict: Option<bool>,
}

/// A tool whose input is a text.
#[derive(ToSchema)]
pub(super) struct CustomTool {
    #[schema(min_length = 1)]
    name: String,
    description: Option<String>,
    format: Option<InputFormat>,
}

/// The rule for the input of a custom tool.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum InputFormat {
    /// Any text.
    Text,
    /// A text of a grammar or an expression.
    Grammar { grammar: InputGrammar },
}

/// A grammar or an expression.
#[derive(ToSchema)]
pub(super) struct InputGrammar {
    syntax: Syntax,
    definition: String,
}

/// The notation of an input's rule.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Syntax {
    Lark,
    Regex,
}

/// The calls that an answer may have.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum Choice {
    Word(ChoiceWord),
    Tool(ChosenTool),
}

/// No call, as the model likes, or one at least.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ChoiceWord {
    None,
    Auto,
    Required,
}

/// The tool that is called, or those that may be.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChosenTool {
    Function { function: ToolName },
    Custom { custom: ToolName },
    AllowedTools { allowed_tools: AllowedTools },
}

/// A tool by its name.
#[derive(ToSchema)]
pub(super) struct ToolName {
    #[schema(min_length = 1)]
    name: String,
}

/// Tools that may be called, and whether one must be.
#[derive(ToSchema)]
pub(super) struct AllowedTools {
    mode: Mode,
    #[schema(min_items = 1)]
    tools: Vec<NamedTool>,
}

/// A call as the model likes, or one at least.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    Auto,
    Required,
}

/// A tool by its type and name.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum NamedTool {
    Function { function: ToolName },
    Custom { custom: ToolName },
}

/// The form of an answer that is no call.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AnswerFormat {
    /// Any text.
    Text,
    /// An object.
    JsonObject,
    /// A value of a schema.
    JsonSchema { json_schema: FormatSchema },
    /// A text with parts that are bound.
    StructuralTag {
        #[schema(value_type = Object)]
        format: Value,
    },
}

/// The schema of an answer.
#[derive(ToSchema)]
pub(super) struct FormatSchema {
    name: Option<String>,
    description: Option<String>,
    schema: Schema,
    /// Changes nothing: an answer always keeps to the schema.
    strict: Option<bool>,
}

/// A JSON value, or the text of one.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum JsonOrText {
    Value(Schema),
    Text(String),
}

/// A text or several.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum Texts {
    One(String),
    Several(Vec<String>),
}

/// A text, a list of texts, a list of tokens or a list of such lists.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum PromptTexts {
    Text(String),
    Texts(Vec<String>),
    Tokens(Vec<u32>),
    Lists(Vec<Vec<u32>>),
}

/// The input of `/v1/responses`: a text, or a conversation.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum Input {
    Text(String),
    Items(Vec<InputItem>),
}

/// An item of a conversation.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum InputItem {
    Message {
        role: Role,
        content: Content,
    },
    FunctionCall {
        call_id: String,
        name: String,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: Content,
    },
    CustomToolCall {
        call_id: String,
        name: String,
        input: String,
    },
    CustomToolCallOutput {
        call_id: String,
        output: Content,
    },
    Reasoning {
        id: Option<String>,
    },
}

/// The speaker of a message.
#[derive(serde::Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    System,
    Developer,
    User,
    Assistant,
}

/// A tool of `/v1/responses`.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum BareTool {
    Function {
        #[schema(min_length = 1)]
        name: String,
        description: Option<String>,
        parameters: Option<Schema>,
        strict: Option<bool>,
    },
    Custom {
        #[schema(min_length = 1)]
        name: String,
        description: Option<String>,
        format: Option<BareInputFormat>,
    },
}

/// The rule for the input of a custom tool of `/v1/responses`.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum BareInputFormat {
    /// Any text.
    Text,
    /// A text of a grammar or an expression.
    Grammar { syntax: Syntax, definition: String },
}

/// A tool of either.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum AnyTool {
    Wrapped(ChatTool),
    Bare(BareTool),
}

/// The calls that a response may have.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum BareChoice {
    Word(ChoiceWord),
    Tool(BareChosenTool),
}

/// The tool that is called, or those that may be, in `/v1/responses`.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BareChosenTool {
    Function {
        name: String,
    },
    Custom {
        name: String,
    },
    AllowedTools {
        mode: Mode,
        #[schema(min_items = 1)]
        tools: Vec<BareNamedTool>,
    },
}

/// A tool of `/v1/responses` by its type and name.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum BareNamedTool {
    Function { name: String },
    Custom { name: String },
}

/// The form of a response's text.
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BareFormat {
    /// Any text.
    Text,
    /// An object.
    JsonObject,
    /// A value of a schema.
    JsonSchema {
        name: Option<String>,
        description: Option<String>,
        schema: Schema,
        strict: Option<bool>,
    },
}
