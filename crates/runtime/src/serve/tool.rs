//! The tools of a request. For example, `{"type": "function", "function": {"name": "weather",
//! "parameters": {..}}}`, or a custom tool, whose input is a text.

use constraint::{Description, GrammarOptions};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ApiError;
use crate::grammar::Dialect;

/// The tools that an answer calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum CallChoice {
    /// As the model likes.
    #[default]
    Auto,
    /// None.
    None,
    /// One at least.
    Required,
    /// This one, once.
    Named(String),
}

/// A tool.
#[derive(Clone, Debug)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) kind: ToolKind,
}

/// The input of a tool.
#[derive(Clone, Debug)]
pub(super) enum ToolKind {
    /// An object of this schema.
    Function(Value),
    /// A text, and the rule for it, if there is one.
    Custom(Option<Description>),
}

/// A tool as a request has it: of `/v1/chat/completions` with a wrapping, of `/v1/responses` without.
#[derive(Deserialize)]
struct ToolBody {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    function: Option<Inside>,
    #[serde(default)]
    custom: Option<Inside>,
    #[serde(flatten)]
    bare: Inside,
}

#[derive(Default, Deserialize)]
struct Inside {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    format: Option<Value>,
}

/// The one member of a custom tool's arguments, as the model writes them.
pub(super) const INPUT: &str = "input";

impl OfferedTool {
    /// Reads the tools of a request.
    pub(super) fn read(tools: Vec<Value>) -> Result<Vec<OfferedTool>, ApiError> {
        let mut read: Vec<OfferedTool> = Vec::new();
        for (at, tool) in tools.into_iter().enumerate() {
            let place = format!("tools[{at}]");
            let written: ToolBody = serde_json::from_value(tool)
                .map_err(|error| ApiError::invalid(&place, error.to_string()))?;
            let (inside, is_custom) = match (
                written.kind.as_deref(),
                written.function,
                written.custom,
            ) {
                (Some("function") | None, Some(function), _) => (function, false),
                (Some("function"), None, _) => (written.bare, false),
                (Some("custom"), _, Some(custom)) => (custom, true),
                (Some("custom"), _, None) => (written.bare, true),
                (kind, ..) => {
                    let kind = kind.unwrap_or("none");
                    let message = format!(
                        "the type is {kind:?}; this server has tools of the types `function` and `custom`"
                    );
                    return Err(ApiError::invalid(format!("{place}.type"), message));
                }
            };
            let Some(name) = inside.name.filter(|name| !name.is_empty()) else {
                return Err(ApiError::invalid(place, "the tool has no `name`"));
            };
            let kind = match is_custom {
                true => ToolKind::Custom(custom_format(inside.format, &place)?),
                false => ToolKind::Function(match inside.parameters {
                    Some(parameters) if !parameters.is_null() => parameters,
                    _ => json!({"type": "object", "properties": {}, "additionalProperties": false}),
                }),
            };
            if read.iter().any(|known| known.name == name) {
                let message = format!("there are two tools of the name {name:?}");
                return Err(ApiError::invalid(place, message));
            }
            read.push(OfferedTool {
                name,
                description: inside.description.unwrap_or_default(),
                kind,
            });
        }
        Ok(read)
    }

    pub(super) fn is_custom(&self) -> bool {
        matches!(self.kind, ToolKind::Custom(_))
    }

    /// The schema of the arguments, as the model writes them.
    fn parameters(&self) -> Value {
        match &self.kind {
            ToolKind::Function(schema) => schema.clone(),
            ToolKind::Custom(rule) => {
                let mut input = json!({"type": "string"});
                if let Some(Description::Regex { pattern }) = rule {
                    input["pattern"] = json!(format!("^(?:{pattern})$"));
                }
                json!({
                    "type": "object",
                    "properties": {INPUT: input},
                    "required": [INPUT],
                    "additionalProperties": false,
                })
            }
        }
    }

    /// The tool as chat templates take it.
    pub(super) fn shown(&self) -> Value {
        let (name, description, parameters) = (&self.name, &self.description, self.parameters());
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
    }

    /// The tool as it binds a call that stands beside free text.
    pub(super) fn bound(&self) -> Result<Value, ApiError> {
        match &self.kind {
            ToolKind::Custom(Some(Description::Grammar { .. })) => Err(ApiError::invalid(
                "tool_choice",
                format!(
                    "the grammar of the tool {:?} binds a whole answer: it must be the one tool that \
                     `tool_choice` names, or the only one with \"required\"; a format of syntax \"regex\" \
                     needs neither",
                    self.name
                ),
            )),
            _ => Ok(self.shown()),
        }
    }
}

/// The rule for the input of a custom tool.
fn custom_format(format: Option<Value>, place: &str) -> Result<Option<Description>, ApiError> {
    let Some(format) = format.filter(|format| !format.is_null()) else {
        return Ok(None);
    };
    let wrong = |message: String| ApiError::invalid(format!("{place}.format"), message);
    // The syntax and the definition stand in a member of their own in one API, and bare in the other.
    let inner = format.get("grammar").unwrap_or(&format);
    match format["type"].as_str() {
        Some("text") => return Ok(None),
        Some("grammar") => {}
        _ => return Err(wrong("the type is \"text\" or \"grammar\"".to_owned())),
    }
    let Some(text) = inner["definition"].as_str().map(str::to_owned) else {
        return Err(wrong("a grammar has a `definition`, a text".to_owned()));
    };
    match inner["syntax"].as_str() {
        Some("regex") => Ok(Some(Description::Regex { pattern: text })),
        Some("lark") => Ok(Some(Description::Grammar {
            text,
            dialect: Dialect::Lark.name().to_owned(),
            options: GrammarOptions::default(),
        })),
        _ => Err(wrong(
            "the `syntax` of a grammar is \"lark\" or \"regex\"".to_owned(),
        )),
    }
}

/// Reads `tool_choice`. Tools that it does not allow are taken out.
pub(super) fn read_choice(
    given: Option<Value>,
    tools: &mut Vec<OfferedTool>,
) -> Result<CallChoice, ApiError> {
    let wrong = |message: String| ApiError::invalid("tool_choice", message);
    let choice = match given {
        None | Some(Value::Null) => return Ok(CallChoice::Auto),
        Some(Value::String(word)) => by_word(&word).ok_or_else(|| {
            wrong(format!(
                "{word:?} is none of \"none\", \"auto\", \"required\""
            ))
        })?,
        Some(given) if given["type"] == "allowed_tools" => {
            let inside = given.get("allowed_tools").unwrap_or(&given);
            let allowed = inside["tools"].as_array().cloned().unwrap_or_default();
            let names: Vec<String> = allowed.iter().filter_map(named).collect();
            if let Some(unknown) = names
                .iter()
                .find(|name| !tools.iter().any(|t| t.name == **name))
            {
                return Err(wrong(format!("there is no tool {unknown:?}")));
            }
            if names.is_empty() {
                return Err(wrong("`allowed_tools` names no tools".to_owned()));
            }
            tools.retain(|tool| names.contains(&tool.name));
            match inside["mode"].as_str() {
                None | Some("auto") => CallChoice::Auto,
                Some("required") => CallChoice::Required,
                Some(mode) => {
                    return Err(wrong(format!(
                        "the mode {mode:?} is none of \"auto\", \"required\""
                    )));
                }
            }
        }
        Some(given) => match named(&given) {
            Some(name) if tools.iter().any(|tool| tool.name == name) => CallChoice::Named(name),
            Some(name) => return Err(wrong(format!("there is no tool {name:?}"))),
            None => {
                let message =
                    "it is \"none\", \"auto\", \"required\", or an object that names a tool";
                return Err(wrong(message.to_owned()));
            }
        },
    };
    match choice {
        CallChoice::Required if tools.is_empty() => Err(wrong(
            "a call is required, and there are no `tools`".to_owned(),
        )),
        choice => Ok(choice),
    }
}

fn by_word(word: &str) -> Option<CallChoice> {
    match word {
        "auto" => Some(CallChoice::Auto),
        "none" => Some(CallChoice::None),
        "required" => Some(CallChoice::Required),
        _ => None,
    }
}

/// The name of the tool that an object is about, wrapped or bare.
fn named(choice: &Value) -> Option<String> {
    let inside = ["function", "custom"]
        .iter()
        .find_map(|kind| choice.get(*kind));
    inside.unwrap_or(choice)["name"].as_str().map(str::to_owned)
}
