//! An agent that reasons and acts until it has an answer, which may have to be
//! of a schema.
//!
//! The loop is that of ReAct (Yao et al., 2022,
//! <https://arxiv.org/abs/2210.03629>) with an answer through a tool, as
//! AgentScope 0.1.6 has it (in Python): besides the caller's tools the model is
//! offered a *finish function* with one required text, the response. For one
//! reply the caller may ask for a structured answer: the properties of its
//! schema become further parameters of the finish function, what the model
//! passes for them is checked, and it is the reply's metadata.
//!
//! If the original has plain bugs, this does as its user would expect:
//!
//! | there | here |
//! |---|---|
//! | a valid finish is lost when another tool is called after it in the same turn | it counts; the other tools run, then the reply is done |
//! | schemas with `$defs` leave references that lead nowhere | the definitions are carried along |
//! | after an error the schema stays with the agent, and every later reply fails | a schema is of one reply only |
//!
//! As there, metadata is what the model passed, unconverted, and arguments
//! pass if they can be read as the type that is asked for (`"7"` for 7).
//!
//! For example, with a tool `weather` and a schema with a `temperature`, the model calls `weather`,
//! sees its result, and then calls the finish function with `response` and `temperature`.

#[cfg(feature = "models")]
mod local;

use serde_json::{Map, Value, json};

#[cfg(feature = "models")]
pub use self::local::LocalModel;
use crate::chat::value_as_text;
use crate::tools::{Tool, ToolCall, Tools, Validator};
use crate::{Error, ErrorKind, depth};

/// A model that answers messages.
///
/// ```
/// use serde_json::{Value, json};
/// use tokenmold::Error;
/// use tokenmold::agent::{Agent, ChatModel, ModelRequest};
/// use tokenmold::tools::Tools;
///
/// /// A model behind a server, say.
/// struct Echo;
///
/// impl ChatModel for Echo {
///     fn answer(&mut self, request: &ModelRequest<'_>) -> Result<Value, Error> {
///         let last = &request.messages[request.messages.len() - 1];
///         Ok(json!({"role": "assistant", "content": last["content"]}))
///     }
/// }
///
/// let reply = Agent::new(Echo, Tools::default()).reply(json!({"role": "user", "content": "Hi"}))?;
/// assert_eq!(reply.content, "Hi");
/// # Ok::<(), tokenmold::Error>(())
/// ```
pub trait ChatModel {
    /// Answers with an assistant's message: `content`, a text or nothing, and
    /// perhaps `tool_calls`.
    ///
    /// # Errors
    ///
    /// The model cannot answer; the reply then fails.
    fn answer(&mut self, request: &ModelRequest<'_>) -> Result<Value, Error>;
}

impl<F> ChatModel for F
where
    F: FnMut(&ModelRequest<'_>) -> Result<Value, Error>,
{
    fn answer(&mut self, request: &ModelRequest<'_>) -> Result<Value, Error> {
        self(request)
    }
}

/// The request to a model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ModelRequest<'a> {
    /// The conversation.
    pub messages: &'a [Value],
    /// The tools on offer, as chat templates take them.
    pub tools: &'a [Value],
    /// The choice that the model has about them.
    pub tool_choice: ToolChoice<'a>,
}

impl<'a> ModelRequest<'a> {
    /// Messages and tools, which the model may call as it likes.
    pub fn new(messages: &'a [Value], tools: &'a [Value]) -> Self {
        Self {
            messages,
            tools,
            tool_choice: ToolChoice::Free,
        }
    }
}

/// The choice that a model has about tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolChoice<'a> {
    /// As it likes.
    #[default]
    Free,
    /// To call this one.
    Named(&'a str),
    /// To call none.
    None,
}

/// The reaction to a model that calls no tool when no structured answer is asked for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum PlainText {
    /// It is the reply.
    #[default]
    Reply,
    /// It is dropped, and the model told to finish.
    Finish,
}

/// The tool by which a model gives its answer.
///
/// ```
/// use serde_json::json;
/// use tokenmold::agent::FinishFunction;
///
/// let answer = json!({"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]});
/// let tool = FinishFunction::default().definition(Some(&answer))?;
/// assert!(tool["function"]["parameters"]["properties"]["number"].is_object());
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FinishFunction {
    /// Its name.
    pub name: String,
    /// The description that the model reads of it.
    pub description: String,
    /// The description that the model reads of its parameter `response`.
    pub response: String,
}

impl Default for FinishFunction {
    fn default() -> Self {
        Self {
            name: "generate_response".to_owned(),
            description: "Answer the user. Nothing else that you say reaches them.".to_owned(),
            response: "The answer, as the user is to read it.".to_owned(),
        }
    }
}

/// The parameter of the finish function, named as AgentScope names it.
const RESPONSE: &str = "response";

impl FinishFunction {
    /// The same with other words for the model.
    pub fn with_descriptions(
        mut self,
        description: impl Into<String>,
        response: impl Into<String>,
    ) -> Self {
        self.description = description.into();
        self.response = response.into();
        self
    }

    /// The tool's definition, as chat templates take it; `structured` adds its
    /// properties to the parameters.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Tool`]: `structured` is no schema of an object, has a
    /// property named `response`, or nests deeper than 128 levels.
    pub fn definition(&self, structured: Option<&Value>) -> Result<Value, Error> {
        let mut properties = Map::new();
        properties.insert(
            RESPONSE.to_owned(),
            json!({"description": self.response, "type": "string"}),
        );
        let mut required = vec![Value::from(RESPONSE)];
        let mut definitions = Map::new();
        if let Some(schema) = structured {
            let wrong = |what: &str| Error::new(ErrorKind::Tool, what);
            if !depth::is_within(schema) {
                return Err(wrong(&depth::refusal("the schema of a structured answer")));
            }
            let Some(schema) = schema.as_object() else {
                return Err(wrong("the schema of a structured answer must be an object"));
            };
            let is_of_objects = match schema.get("type") {
                Some(Value::Array(types)) => types.iter().any(|name| name == "object"),
                Some(name) => name == "object",
                None => true,
            };
            if !is_of_objects {
                return Err(wrong(
                    "the schema of a structured answer must be one of objects: its `properties` become \
                     parameters of the function that finishes",
                ));
            }
            let added = schema.get("properties").and_then(Value::as_object);
            for (name, property) in added.into_iter().flatten() {
                if properties.contains_key(name) {
                    return Err(Error::new(
                        ErrorKind::Tool,
                        format!(
                            "the structured answer has a property `{name}`, and so has the function \
                             `{}`; name it otherwise",
                            self.name
                        ),
                    ));
                }
                properties.insert(name.clone(), without_titles(property));
            }
            let names = schema.get("required").and_then(Value::as_array);
            required.extend(names.into_iter().flatten().cloned());
            for key in ["$defs", "definitions"] {
                if let Some(entries) = schema.get(key).and_then(Value::as_object) {
                    let entries = entries
                        .iter()
                        .map(|(name, schema)| (name.clone(), without_titles(schema)));
                    definitions.insert(key.to_owned(), Value::Object(entries.collect()));
                }
            }
        }
        let mut parameters = Map::new();
        parameters.insert("properties".to_owned(), Value::Object(properties));
        parameters.insert("required".to_owned(), Value::Array(required));
        parameters.insert("type".to_owned(), "object".into());
        parameters.extend(definitions);
        Ok(json!({
            "type": "function",
            "function": {
                "name": self.name,
                "parameters": parameters,
                "description": self.description,
            },
        }))
    }
}

/// A schema without titles, which repeat the names of properties.
fn without_titles(schema: &Value) -> Value {
    let Value::Object(schema) = schema else {
        return schema.clone();
    };
    let mut out = Map::new();
    for (key, value) in schema {
        let kept = match (key.as_str(), value) {
            ("title", _) => continue,
            ("properties", Value::Object(properties)) => properties
                .iter()
                .map(|(name, schema)| (name.clone(), without_titles(schema)))
                .collect(),
            ("items" | "additionalProperties", schema) => without_titles(schema),
            _ => value.clone(),
        };
        out.insert(key.clone(), kept);
    }
    Value::Object(out)
}

/// An agent: a model, tools, and what was said so far.
///
/// ```
/// use serde_json::{Value, json};
/// use tokenmold::agent::{Agent, Ended, ModelRequest};
/// use tokenmold::prelude::*;
///
/// // Any function that answers messages is a model; `LocalModel` is one of this crate's.
/// let model = |request: &ModelRequest<'_>| -> Result<Value, Error> {
///     Ok(json!({"role": "assistant", "content": format!("{} messages", request.messages.len())}))
/// };
/// let mut agent = Agent::new(model, Tools::default());
/// let reply = agent.reply(json!({"role": "user", "content": "Hello"}))?;
/// assert_eq!((reply.content.as_str(), reply.ended), ("1 messages", Ended::Text));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Agent<M> {
    model: M,
    tools: Tools,
    finish: FinishFunction,
    max_steps: usize,
    plain_text: PlainText,
    memory: Vec<Value>,
}

/// The way in which a reply came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ended {
    /// The model spoke without calling a tool.
    Text,
    /// The model called the finish function.
    Finished,
    /// The model used up its steps, and summed up what it had.
    OutOfSteps,
}

/// A reply.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Reply {
    /// The text that the user reads.
    pub content: String,
    /// The structured answer, where one was asked for and given.
    pub metadata: Option<Value>,
    /// The way in which it came about.
    pub ended: Ended,
    /// The number of requests to the model.
    pub steps: usize,
}

/// The parts that a reply with a structured answer needs beside the agent.
struct Structured {
    validator: Validator,
}

impl<M: ChatModel> Agent<M> {
    /// An agent with 10 steps for a reply.
    pub fn new(model: M, tools: Tools) -> Self {
        Self {
            model,
            tools,
            finish: FinishFunction::default(),
            max_steps: 10,
            plain_text: PlainText::default(),
            memory: Vec::new(),
        }
    }

    /// The same with what was said before: a system's message, say. Messages
    /// that nest deeper than 128 levels are left out.
    pub fn with_memory(mut self, messages: Vec<Value>) -> Self {
        let (kept, deep): (Vec<Value>, Vec<Value>) =
            messages.into_iter().partition(depth::is_within);
        deep.into_iter().for_each(depth::free);
        self.memory = kept;
        self
    }

    /// The same with another number of times that the model is asked, at
    /// most, before it is to sum up.
    pub fn with_max_steps(mut self, steps: usize) -> Self {
        self.max_steps = steps;
        self
    }

    /// The same with another meaning of plain text.
    pub fn with_plain_text(mut self, plain_text: PlainText) -> Self {
        self.plain_text = plain_text;
        self
    }

    /// The same with another finish function.
    pub fn with_finish(mut self, finish: FinishFunction) -> Self {
        self.finish = finish;
        self
    }

    /// Returns the messages so far.
    pub fn memory(&self) -> &[Value] {
        &self.memory
    }

    /// The model.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }

    /// Answers a message.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Tool`]: a tool has the name of the finish function. The errors are those of the
    /// model. The messages before the error stay in memory.
    pub fn reply(&mut self, message: Value) -> Result<Reply, Error> {
        self.run(message, None)
    }

    /// Answers a message, with a value of `schema`, the JSON Schema of an
    /// object, as metadata. The schema counts for this reply only.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Tool`]: it is no such schema, or has a property named `response`, or a tool has
    /// the name of the finish function. The errors are those of the model.
    pub fn reply_structured(&mut self, message: Value, schema: &Value) -> Result<Reply, Error> {
        self.run(message, Some(schema))
    }

    fn run(&mut self, message: Value, schema: Option<&Value>) -> Result<Reply, Error> {
        if !depth::is_within(&message) {
            depth::free(message);
            return Err(Error::new(ErrorKind::Chat, depth::refusal("the message")));
        }
        let finish = self.finish.definition(schema)?;
        let structured = match schema {
            Some(schema) => Some(Structured {
                validator: Validator::new(schema).map_err(|error| {
                    let message = format!("the schema of the structured answer: {error}");
                    Error::new(ErrorKind::Tool, message)
                })?,
            }),
            None => None,
        };
        if self
            .tools
            .iter()
            .any(|tool| tool.name() == self.finish.name)
        {
            let what = format!(
                "the tool {:?} has the name of the function by which the model finishes; give one of them another name",
                self.finish.name
            );
            return Err(Error::new(ErrorKind::Tool, what));
        }
        let mut offered: Vec<Value> = self.tools.iter().map(Tool::definition).collect();
        offered.push(finish);
        self.memory.push(message);
        let mut must_finish = false;
        for step in 1..=self.max_steps {
            let request = ModelRequest {
                messages: &self.memory,
                tools: &offered,
                tool_choice: match must_finish {
                    true => ToolChoice::Named(&self.finish.name),
                    false => ToolChoice::Free,
                },
            };
            let answer = answered(self.model.answer(&request)?)?;
            let calls = ToolCall::all_of(&answer);
            if calls.is_empty() {
                if structured.is_none() && self.plain_text == PlainText::Reply {
                    let content = answer.get("content").map(value_as_text);
                    self.memory.push(answer);
                    return Ok(Reply {
                        content: content.unwrap_or_default(),
                        metadata: None,
                        ended: Ended::Text,
                        steps: step,
                    });
                }
                // A text that was only said is dropped, and the model told what to do.
                must_finish = true;
                continue;
            }
            self.memory.push(answer);
            let finished = self.act(calls, structured.as_ref());
            if let Some((content, metadata)) = finished {
                return Ok(Reply {
                    content,
                    metadata,
                    ended: Ended::Finished,
                    steps: step,
                });
            }
        }
        let request = ModelRequest {
            messages: &self.memory,
            tools: &[],
            tool_choice: ToolChoice::None,
        };
        let answer = answered(self.model.answer(&request)?)?;
        let content = answer.get("content").map(value_as_text);
        Ok(Reply {
            content: content.unwrap_or_default(),
            metadata: None,
            ended: Ended::OutOfSteps,
            steps: self.max_steps + 1,
        })
    }

    /// Runs the calls of a turn, in order, and appends what comes of them. The last of several
    /// valid finishes counts.
    fn act(
        &mut self,
        calls: Vec<Result<ToolCall, String>>,
        structured: Option<&Structured>,
    ) -> Option<(String, Option<Value>)> {
        let mut finished = None;
        for call in calls {
            let call = match call {
                Ok(call) => call,
                Err(error) => {
                    let call = ToolCall::unknown();
                    self.memory.push(call.answer(format!("Error: {error}")));
                    continue;
                }
            };
            if call.name != self.finish.name {
                self.memory.push(self.tools.run_call(&call));
                continue;
            }
            let outcome = finish(&call.arguments, structured);
            self.memory.push(call.answer(match &outcome {
                Ok(_) => "Success".to_owned(),
                Err(error) => error.clone(),
            }));
            if let Ok(outcome) = outcome {
                finished = Some(outcome);
            }
        }
        finished
    }
}

/// Returns the answer of a model, if it is no deeper than a message may be.
fn answered(answer: Value) -> Result<Value, Error> {
    if depth::is_within(&answer) {
        return Ok(answer);
    }
    depth::free(answer);
    Err(Error::new(
        ErrorKind::Chat,
        depth::refusal("the model's message"),
    ))
}

/// The response and the metadata of a call of the finish function.
fn finish(
    arguments: &Value,
    structured: Option<&Structured>,
) -> Result<(String, Option<Value>), String> {
    let Some(arguments) = arguments.as_object() else {
        return Err("Error: the arguments must be an object".to_owned());
    };
    let Some(response) = arguments.get(RESPONSE) else {
        return Err(format!("Error: the argument `{RESPONSE}` is missing"));
    };
    let response = value_as_text(response);
    let Some(structured) = structured else {
        return Ok((response, None));
    };
    let mut rest = arguments.clone();
    rest.shift_remove(RESPONSE);
    let rest = Value::Object(rest);
    match structured.validator.check(&rest) {
        Ok(()) => Ok((response, Some(rest))),
        Err(error) => Err(format!("Validation error: {error}")),
    }
}
