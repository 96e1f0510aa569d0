//! The structural tags that servers build for the tools of a request, by the model's name:
//! XGrammar's `get_model_structural_tag`.
//!
//! For example, for `llama` and the tool `weather` the tag begins with
//! `{"name": "weather", "parameters": `.

use families::{Begun, Must, Preset as Model, Together, Tools};
use serde_json::{Value, json};

use super::StructuralTag;
use super::format::malformed;
use crate::Error;

/// A structural tag that is made of a model's name and the tools of a request.
///
/// ```
/// use serde_json::json;
/// use structural_tags::Preset;
///
/// let preset = Preset::from_value(&json!({
///     "model": "llama",
///     "tools": [{"type": "function", "function": {
///         "name": "weather",
///         "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}
///     }}],
///     "tool_choice": "required"
/// }))?;
/// let tag = preset.expand()?;
/// assert_eq!(tag["format"]["tags"][0]["begin"], r#"{"name": "weather", "parameters": "#);
/// # Ok::<(), structural_tags::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Preset {
    model: &'static Model,
    tools: Vec<Tool>,
    choice: Choice,
    reasoning: PresetReasoning,
    any_order: bool,
    keeps_specials_out: bool,
    max_space: Value,
    parallel: bool,
}

#[derive(Clone, Debug)]
struct Tool {
    /// The provider's type of the tool, if it is one of its own.
    provider: Option<String>,
    name: String,
    schema: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Auto,
    Required,
    /// The only tool that is left.
    Forced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PresetReasoning {
    Enabled,
    Disabled,
    Auto,
}

impl Preset {
    /// Reads what a preset is made of: `model`, `tools`, `tool_choice`, `reasoning`,
    /// `any_order`, `exclude_special_tokens`, `max_whitespace_cnt`, `parallel_tool_calls`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`](crate::ErrorKind::Constraint): the model or a tool is not
    /// known, or a value is of a wrong type; the message has its JSON Pointer.
    pub fn from_value(given: &Value) -> Result<Preset, Error> {
        let name = given["model"].as_str().unwrap_or_default();
        let (_, model) = Model::by_name(name).ok_or_else(|| {
            let names: Vec<&str> = Model::names().collect();
            malformed(
                "/model",
                format!("there is no model {name:?}; there are {names:?}"),
            )
        })?;
        let flag = |key: &str, default: bool| match &given[key] {
            Value::Null => Ok(default),
            Value::Bool(flag) => Ok(*flag),
            _ => Err(malformed(&format!("/{key}"), "it is true or false")),
        };
        let tools = match &given["tools"] {
            Value::Null => Vec::new(),
            Value::Array(tools) => {
                let each = tools.iter().enumerate();
                each.map(|(i, tool)| Tool::read(tool, &format!("/tools/{i}")))
                    .collect::<Result<_, Error>>()?
            }
            _ => return Err(malformed("/tools", "tools are a list")),
        };
        let reasoning = match &given["reasoning"] {
            Value::Null | Value::Bool(true) => PresetReasoning::Enabled,
            Value::Bool(false) => PresetReasoning::Disabled,
            Value::String(word) => match word.as_str() {
                "enabled" => PresetReasoning::Enabled,
                "disabled" => PresetReasoning::Disabled,
                "auto" => PresetReasoning::Auto,
                _ => return Err(wrong_reasoning()),
            },
            _ => return Err(wrong_reasoning()),
        };
        let mut preset = Preset {
            model,
            tools,
            choice: Choice::Auto,
            reasoning,
            any_order: flag("any_order", false)?,
            keeps_specials_out: flag("exclude_special_tokens", true)?,
            max_space: given["max_whitespace_cnt"].clone(),
            parallel: flag("parallel_tool_calls", true)?,
        };
        preset.choose(&given["tool_choice"])?;
        if model.tools != Tools::All {
            let has_provider = preset.tools.iter().any(|tool| tool.provider.is_some());
            if has_provider && model.tools == Tools::FunctionsAlone {
                return Err(malformed("/tools", "this model takes functions alone"));
            }
            preset.tools.retain(|tool| tool.provider.is_none());
        }
        if preset.choice != Choice::Auto && preset.tools.is_empty() {
            return Err(malformed("/tool_choice", "there is no tool to call"));
        }
        Ok(preset)
    }

    fn choose(&mut self, choice: &Value) -> Result<(), Error> {
        let wrong = || malformed("/tool_choice", "there is no such choice");
        match choice {
            Value::Null => return Ok(()),
            Value::String(word) => return self.choose_mode(word),
            _ => {}
        }
        match choice["type"].as_str() {
            Some("function") => {
                let name = choice["function"]["name"].as_str().ok_or_else(wrong)?;
                self.tools
                    .retain(|tool| tool.provider.is_none() && tool.name == name);
                self.tools.truncate(1);
                self.choice = Choice::Forced;
            }
            Some("allowed_tools") => {
                let allowed = &choice["allowed_tools"];
                let tools = allowed["tools"].as_array().ok_or_else(wrong)?;
                let is_allowed = |tool: &Tool| {
                    tools.iter().any(|one| match &tool.provider {
                        None => one["function"]["name"] == tool.name.as_str(),
                        Some(kind) => one["type"] == kind.as_str(),
                    })
                };
                self.tools.retain(is_allowed);
                self.choose_mode(allowed["mode"].as_str().unwrap_or_default())?;
            }
            Some(kind) => {
                self.tools
                    .retain(|tool| tool.provider.as_deref() == Some(kind));
                self.choice = Choice::Forced;
            }
            None => return Err(wrong()),
        }
        match self.tools.is_empty() {
            true => Err(malformed("/tool_choice", "there is no such tool")),
            false => Ok(()),
        }
    }

    fn choose_mode(&mut self, word: &str) -> Result<(), Error> {
        match word {
            "auto" => {}
            "none" => self.tools.clear(),
            "required" => self.choice = Choice::Required,
            _ => return Err(malformed("/tool_choice", "there is no such choice")),
        }
        Ok(())
    }

    /// The structural tag in JSON, with all fields.
    ///
    /// # Errors
    ///
    /// None so far; the JSON may still be refused when it is read, if a schema cannot be
    /// enforced in the model's style.
    pub fn expand(&self) -> Result<Value, Error> {
        Ok(json!({"type": "structural_tag", "format": self.format()}))
    }

    /// The structural tag itself.
    ///
    /// # Errors
    ///
    /// As [`StructuralTag::from_value`].
    pub fn tag(&self) -> Result<StructuralTag, Error> {
        StructuralTag::from_value(&self.expand()?)
    }

    fn format(&self) -> Value {
        match &self.model.calls {
            Together::Harmony => self.harmony(),
            Together::KimiK3 => self.kimi_k3(),
            calls => {
                let mut parts = self.reasoning();
                parts.push(self.body(calls));
                match parts.len() {
                    1 => parts.remove(0),
                    _ => sequence(parts),
                }
            }
        }
    }

    fn excludes<'t>(&self, texts: &'t [String]) -> &'t [String] {
        match self.keeps_specials_out {
            true => texts,
            false => &[],
        }
    }

    fn text(&self, excludes: &[String]) -> Value {
        json!({
            "type": "any_text",
            "excludes": self.excludes(excludes),
            "max_tokens": null,
            "max_chars": null,
        })
    }

    fn reasoning(&self) -> Vec<Value> {
        let Some((begin, end)) = &self.model.think else {
            return Vec::new();
        };
        let closed = self.model.closed_without_calls();
        let (must, may) = &self.model.closed_in_reasoning;
        let behind = &self.model.behind_reasoning;
        let spaced = |tag: Value| match behind.is_empty() {
            true => tag,
            false => sequence(vec![tag, text(behind)]),
        };
        match self.reasoning {
            PresetReasoning::Disabled => {
                let texts = self.model.without_reasoning.iter();
                texts.map(|given| text(given)).collect()
            }
            PresetReasoning::Enabled => {
                let begin = match self.model.begun {
                    Begun::ByPrompt => "",
                    Begun::ByModel => begin,
                };
                let inside = self.text(must.as_deref().unwrap_or(closed));
                vec![spaced(tag(begin, inside, end))]
            }
            PresetReasoning::Auto => {
                let inside = self.text(may.as_deref().unwrap_or(closed));
                let thought = spaced(tag(begin, inside, end));
                let thought = match &self.model.in_place_of_reasoning {
                    Some(alone) => json!({"type": "or", "elements": [thought, text(alone)]}),
                    None => thought,
                };
                vec![optional(thought)]
            }
        }
    }

    fn schema(&self, tool: &Tool, style: &str, excludes: &[String]) -> Value {
        json!({
            "type": "json_schema",
            "json_schema": tool.schema,
            "style": style,
            "any_order": self.any_order,
            "max_whitespace_cnt": self.max_space,
            "excludes": self.excludes(excludes),
        })
    }

    /// A call of a tool, with something before the marks and behind.
    fn call(&self, tool: &Tool, around: (&str, &str)) -> Value {
        let named = |text: &str| text.replace("{name}", &tool.name);
        let (begin, end) = &self.model.call;
        let schema = self.schema(tool, &self.model.style, &self.model.closed_in_arguments);
        let content = match &self.model.numbered {
            None => schema,
            Some(behind) => {
                let digits = json!({"type": "regex", "pattern": "\\d+"});
                sequence(vec![digits, text(&named(behind)), schema])
            }
        };
        tag(
            &format!("{}{}", around.0, named(begin)),
            content,
            &format!("{end}{}", around.1),
        )
    }

    fn list(&self, separator: &str) -> Value {
        let calls = self.tools.iter().map(|tool| self.call(tool, ("", "")));
        separated(calls.collect(), separator, true, !self.parallel)
    }

    fn triggered(&self, trigger: &str, tags: Vec<Value>) -> Value {
        json!({
            "type": "triggered_tags",
            "triggers": [trigger],
            "tags": tags,
            "at_least_one": self.choice == Choice::Required,
            "stop_after_first": !self.parallel,
            "excludes": self.excludes(&self.model.closed),
        })
    }

    fn body(&self, calls: &Together) -> Value {
        let Some(first) = self.tools.first() else {
            return self.text(self.model.closed_without_calls());
        };
        match calls {
            Together::Wrapped {
                trigger,
                begin,
                end,
                separator,
                must,
            } => {
                let inside = match self.choice {
                    Choice::Forced => self.call(first, ("", "")),
                    _ => self.list(separator),
                };
                match (self.choice, must) {
                    (Choice::Auto, _) => self.triggered(trigger, vec![tag(begin, inside, end)]),
                    (_, Must::Texts(before)) => {
                        let begin = text(&format!("{before}{begin}"));
                        sequence(vec![begin, inside, text(end)])
                    }
                    (Choice::Forced, Must::Joined) => self.call(first, (begin, end)),
                    _ => tag(begin, inside, end),
                }
            }
            Together::Each(trigger) => match self.choice {
                Choice::Forced => self.call(first, ("", "")),
                _ => {
                    let calls = self.tools.iter().map(|tool| self.call(tool, ("", "")));
                    self.triggered(trigger, calls.collect())
                }
            },
            Together::Harmony | Together::KimiK3 => Value::Null,
        }
    }

    fn kimi_k3(&self) -> Value {
        let mut parts = self.reasoning();
        let begin = match self.reasoning {
            PresetReasoning::Disabled => "",
            _ => "<|open|>response<|sep|>",
        };
        let said = self.text(&self.model.closed);
        parts.push(tag(begin, said, "<|close|>response<|sep|>"));
        let (begin, end) = ("<|open|>tools<|sep|>", "<|close|>tools<|sep|>");
        match (self.choice, self.tools.first()) {
            (_, None) => {}
            (Choice::Auto, Some(_)) => parts.push(optional(tag(begin, self.list(""), end))),
            (Choice::Required, Some(_)) => {
                parts.push(sequence(vec![text(begin), self.list(""), text(end)]));
            }
            (Choice::Forced, Some(tool)) => {
                let call = self.call(tool, ("", ""));
                parts.push(sequence(vec![text(begin), call, text(end)]));
            }
        }
        parts.push(text("<|close|>message<|sep|>"));
        sequence(parts)
    }

    fn harmony(&self) -> Value {
        let mut calls = Vec::new();
        for tool in &self.tools {
            let name = &tool.name;
            let begins = match tool.provider {
                None => vec![
                    format!(
                        "<|channel|>commentary to=functions.{name}<|constrain|>json<|message|>"
                    ),
                    format!(
                        " to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>"
                    ),
                    format!(" to=functions.{name}<|channel|>commentary json<|message|>"),
                ],
                Some(_) => vec![
                    format!("<|channel|>commentary to={name} code<|message|>"),
                    format!(" to={name}<|channel|>commentary code<|message|>"),
                ],
            };
            for begin in begins {
                calls.push(tag(&begin, self.schema(tool, "json", &[]), "<|call|>"));
            }
        }
        let message = |channel: &str| {
            json!({
                "type": "tag",
                "begin": format!("<|channel|>{channel}<|message|>"),
                "content": self.text(&[]),
                "end": ["<|end|>", "<|return|>"],
            })
        };
        let mut messages = Vec::new();
        if self.choice == Choice::Auto {
            messages.push(message("final"));
        }
        if self.reasoning != PresetReasoning::Disabled {
            messages.push(message("analysis"));
        }
        /// The text between two messages, as the format Harmony writes it.
        const SEPARATOR: &str = "<|start|>assistant";
        if self.parallel || calls.is_empty() {
            calls.extend(messages);
            return separated(calls, SEPARATOR, false, false);
        }
        let one = separated(calls, SEPARATOR, true, true);
        if messages.is_empty() {
            return one;
        }
        let before = separated(messages.clone(), SEPARATOR, true, false);
        json!({"type": "or", "elements": [
            separated(messages, SEPARATOR, false, false),
            one,
            sequence(vec![before, text(SEPARATOR), one]),
        ]})
    }
}

impl Tool {
    fn read(tool: &Value, at: &str) -> Result<Tool, Error> {
        let kind = tool["type"].as_str();
        if kind != Some("function") {
            let kind = kind.ok_or_else(|| malformed(at, "a tool has a \"type\""))?;
            let schema = match &tool["parameters"] {
                Value::Null => Value::Bool(true),
                schema => schema.clone(),
            };
            return Ok(Tool {
                provider: Some(kind.to_owned()),
                name: tool["name"].as_str().unwrap_or(kind).to_owned(),
                schema,
            });
        }
        let function = &tool["function"];
        let name = function["name"].as_str();
        let name = name.ok_or_else(|| malformed(at, "a function has a \"name\""))?;
        let schema = match (&function["parameters"], &function["strict"]) {
            (Value::Null, _) | (_, Value::Bool(false)) => Value::Bool(true),
            (schema, _) => schema.clone(),
        };
        Ok(Tool {
            provider: None,
            name: name.to_owned(),
            schema,
        })
    }
}

#[cold]
fn wrong_reasoning() -> Error {
    malformed(
        "/reasoning",
        "it is \"enabled\", \"disabled\", \"auto\", true or false",
    )
}

fn text(value: &str) -> Value {
    json!({"type": "const_string", "value": value})
}

fn tag(begin: &str, content: Value, end: &str) -> Value {
    json!({"type": "tag", "begin": begin, "content": content, "end": end})
}

fn sequence(elements: Vec<Value>) -> Value {
    json!({"type": "sequence", "elements": elements})
}

fn optional(content: Value) -> Value {
    json!({"type": "optional", "content": content})
}

fn separated(tags: Vec<Value>, separator: &str, at_least_one: bool, first_only: bool) -> Value {
    json!({
        "type": "tags_with_separator",
        "tags": tags,
        "separator": separator,
        "at_least_one": at_least_one,
        "stop_after_first": first_only,
    })
}
