//! Tools: functions that a model may call.
//!
//! A [`Tool`] is a function with a typed argument, whose schema is derived, or
//! one over JSON with a schema of its own. [`Tools`] offers them to a chat
//! template, and runs what the model calls.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use serde_json::json;
//! use tokenmold::tools::{Tool, Tools};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Area {
//!     /// Width in metres
//!     w: f64,
//!     /// Height in metres
//!     h: f64,
//! }
//!
//! let tool = Tool::new("area", "Area of a rectangle.", |area: Area| {
//!     Ok::<_, std::convert::Infallible>(area.w * area.h)
//! });
//! let tools = Tools::from_iter([tool]);
//! let call = json!({"id": "c1", "function": {"name": "area", "arguments": {"w": 2.0, "h": 3.5}}});
//! let message = tools.run(&call);
//! assert_eq!(message, json!({
//!     "role": "tool", "tool_call_id": "c1", "name": "area", "content": "7.0",
//! }));
//! ```

mod lax;
mod reading;
mod shape;

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::depth;

pub(crate) use self::lax::Validator;
pub use self::reading::read_response;

type Function = Arc<dyn Fn(Value) -> Result<Value, String> + Send + Sync>;

/// A function that a model may call.
///
/// ```
/// use serde::Deserialize;
/// use serde_json::json;
/// use tokenmold::prelude::*;
///
/// #[derive(Deserialize, JsonSchema)]
/// #[schemars(crate = "tokenmold::schemars")]
/// struct Area {
///     /// In metres
///     side: u32,
/// }
///
/// let tool = Tool::new("area", "Computes the area of a square.", |square: Area| {
///     square.side.checked_mul(square.side).ok_or("too large")
/// });
/// assert_eq!(tool.call(json!({"side": 3})), Ok(json!(9)));
/// assert!(tool.call(json!({"side": "three"})).is_err());
/// ```
#[derive(Clone)]
pub struct Tool {
    name: String,
    description: String,
    parameters: Value,
    /// The parameters as templates show them; derived from `parameters` unless they are the
    /// caller's own.
    shown: Value,
    returns: Option<Value>,
    function: Function,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .field("description", &self.description)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

/// The JSON Schema of a type, with everything inside it in place; only types
/// that contain themselves are referred to.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    if let Value::Object(schema) = &mut schema {
        schema.shift_remove("title");
    }
    schema
}

impl Tool {
    /// A tool whose arguments are the fields of a type.
    ///
    /// Their descriptions are their documentation; a trailing
    /// `(choices: ["a", "b"])` in one becomes an enumeration. Fields that need
    /// not be there (`Option`, `#[serde(default)]`) are not required.
    pub fn new<A, R, E, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        R: Serialize,
        E: fmt::Display,
        F: Fn(A) -> Result<R, E> + Send + Sync + 'static,
    {
        let mut parameters = schema_of::<A>();
        shape::read_choices(&mut parameters);
        let shown = shape::shown(&parameters);
        let function = move |arguments: Value| {
            let arguments: A = serde_json::from_value(arguments)
                .map_err(|error| format!("the arguments do not fit: {error}"))?;
            let result = function(arguments).map_err(|error| error.to_string())?;
            serde_json::to_value(result)
                .map_err(|error| format!("the result cannot be written as JSON: {error}"))
        };
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            shown,
            returns: None,
            function: Arc::new(function),
        }
    }

    /// A tool over JSON, with the schema of its arguments, an object.
    ///
    /// The schema is shown to the model as it is; one that nests deeper than
    /// 128 levels is taken for `{}`. Arguments are not checked against it here:
    /// what a constraint generates obeys it.
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenmold::tools::Tool;
    ///
    /// let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    /// let tool = Tool::from_schema("length", "Counts characters.", parameters, |arguments| {
    ///     let text = arguments["text"].as_str().ok_or("no text")?;
    ///     Ok::<_, &str>(json!(text.chars().count()))
    /// });
    /// assert_eq!(tool.call(json!({"text": "Zürich"})), Ok(json!(6)));
    /// ```
    pub fn from_schema<E, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        function: F,
    ) -> Self
    where
        E: fmt::Display,
        F: Fn(Value) -> Result<Value, E> + Send + Sync + 'static,
    {
        let parameters = match depth::is_within(&parameters) {
            true => parameters,
            false => {
                depth::free(parameters);
                json!({})
            }
        };
        let function =
            move |arguments: Value| function(arguments).map_err(|error| error.to_string());
        Self {
            name: name.into(),
            description: description.into(),
            shown: parameters.clone(),
            parameters,
            returns: None,
            function: Arc::new(function),
        }
    }

    /// The same, telling templates what the function returns.
    pub fn with_returns<R: JsonSchema>(mut self, description: impl Into<String>) -> Self {
        let mut schema = shape::simplified(&schema_of::<R>());
        if let Value::Object(schema) = &mut schema {
            schema.insert("description".to_owned(), description.into().into());
        }
        self.returns = Some(schema);
        self
    }

    /// The name by which the model calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The JSON Schema that arguments obey: what to constrain them with.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// The tool as chat templates take it: `{"type": "function", "function":
    /// {"name", "description", "parameters", "return"}}`, in the shape that
    /// the reference derives from a Python function: plain types, `nullable`,
    /// `enum`.
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenmold::tools::Tool;
    ///
    /// let ping = Tool::from_schema("ping", "Answers.", json!({"type": "object"}), |_| Ok::<_, String>(json!("pong")));
    /// assert_eq!(ping.definition()["function"]["name"], "ping");
    /// ```
    pub fn definition(&self) -> Value {
        let mut function = Map::new();
        function.insert("name".to_owned(), self.name.as_str().into());
        function.insert("description".to_owned(), self.description.as_str().into());
        function.insert("parameters".to_owned(), self.shown.clone());
        if let Some(returns) = &self.returns {
            function.insert("return".to_owned(), returns.clone());
        }
        json!({"type": "function", "function": function})
    }

    /// Calls the function.
    ///
    /// # Errors
    ///
    /// The message of the function, or of reading its arguments: for the model to read. Arguments
    /// and results nest at most 128 levels deep.
    pub fn call(&self, arguments: Value) -> Result<Value, String> {
        if !depth::is_within(&arguments) {
            depth::free(arguments);
            return Err(depth::refusal("the value of the arguments"));
        }
        let result = (self.function)(arguments)?;
        if !depth::is_within(&result) {
            depth::free(result);
            return Err(depth::refusal("the result"));
        }
        Ok(result)
    }
}

/// A call of a tool, as a model's message has it.
///
/// ```
/// use serde_json::json;
/// use tokenmold::tools::ToolCall;
///
/// let message = json!({"role": "assistant", "tool_calls": [
///     {"function": {"name": "weather", "arguments": "{\"city\": \"Ulm\"}"}}
/// ]});
/// let calls: Result<Vec<ToolCall>, String> = ToolCall::all_of(&message).into_iter().collect();
/// let calls = calls.unwrap();
/// assert_eq!((calls[0].name.as_str(), &calls[0].arguments["city"]), ("weather", &json!("Ulm")));
/// assert_eq!(calls[0].answer("Rain.")["role"], "tool");
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The name that tells calls apart, if the model says.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments, an object most often.
    pub arguments: Value,
}

impl ToolCall {
    /// Reads `{"id", "function": {"name", "arguments"}}`, or the same without
    /// the wrapping. Arguments may be JSON in a text.
    ///
    /// # Errors
    ///
    /// There is no name, arguments in a text are not JSON, or they nest deeper
    /// than 128 levels: for the model to read.
    pub fn from_json(call: &Value) -> Result<Self, String> {
        let function = call.get("function").unwrap_or(call);
        let name = function.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| "the call names no tool".to_owned())?;
        let arguments = match function.get("arguments") {
            None | Some(Value::Null) => json!({}),
            Some(Value::String(text)) => serde_json::from_str(text)
                .map_err(|error| format!("the arguments of {name} are not JSON: {error}"))?,
            Some(arguments) if depth::is_within(arguments) => arguments.clone(),
            Some(_) => {
                return Err(depth::refusal(&format!(
                    "the value of the arguments of {name}"
                )));
            }
        };
        let id = call.get("id").and_then(Value::as_str);
        Ok(Self {
            id: id.map(str::to_owned),
            name: name.to_owned(),
            arguments,
        })
    }

    /// Stands for a call that names no tool.
    pub(crate) fn unknown() -> Self {
        Self {
            id: None,
            name: "unknown".to_owned(),
            arguments: Value::Null,
        }
    }

    /// The calls of an assistant's message, in order; malformed ones with what
    /// is wrong.
    pub fn all_of(message: &Value) -> Vec<Result<Self, String>> {
        let calls = message.get("tool_calls").and_then(Value::as_array);
        calls.into_iter().flatten().map(Self::from_json).collect()
    }

    /// The message that answers the call.
    pub fn answer(&self, content: impl Into<String>) -> Value {
        let mut message = Map::new();
        message.insert("role".to_owned(), "tool".into());
        if let Some(id) = &self.id {
            message.insert("tool_call_id".to_owned(), id.as_str().into());
        }
        message.insert("name".to_owned(), self.name.as_str().into());
        message.insert("content".to_owned(), content.into().into());
        Value::Object(message)
    }
}

/// Tools by name, in the order in which they are offered.
///
/// ```
/// use serde_json::json;
/// use tokenmold::tools::{Tool, Tools};
///
/// let ping = Tool::from_schema("ping", "Answers.", json!({"type": "object"}), |_| Ok::<_, String>(json!("pong")));
/// let tools = Tools::from_iter([ping]);
/// let answer = tools.run(&json!({"name": "ping", "arguments": {}}));
/// assert_eq!((&answer["role"], &answer["content"]), (&json!("tool"), &json!("pong")));
/// let unknown = tools.run(&json!({"name": "pong"}));
/// assert!(unknown["content"].as_str().unwrap().contains("pong"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tools(IndexMap<String, Tool>);

impl FromIterator<Tool> for Tools {
    /// The last of several tools with the same name counts.
    fn from_iter<I: IntoIterator<Item = Tool>>(tools: I) -> Self {
        let tools = tools.into_iter();
        Self(tools.map(|tool| (tool.name.clone(), tool)).collect())
    }
}

impl Tools {
    /// Adds a tool, in place of one of the same name.
    pub fn insert(&mut self, tool: Tool) {
        self.0.insert(tool.name.clone(), tool);
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.0.get(name)
    }

    /// The tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.0.values()
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tools as chat templates take them.
    pub fn definitions(&self) -> Vec<Value> {
        self.iter().map(Tool::definition).collect()
    }

    /// Runs a call of a model's message and returns the tool's message to
    /// append: the result, texts as they are and other values as JSON, or
    /// `Error: ` and what went wrong, so that the model can mend it.
    pub fn run(&self, call: &Value) -> Value {
        match ToolCall::from_json(call) {
            Ok(call) => self.run_call(&call),
            Err(error) => {
                let mut unknown = ToolCall::unknown();
                unknown.id = call.get("id").and_then(Value::as_str).map(str::to_owned);
                unknown.answer(format!("Error: {error}"))
            }
        }
    }

    /// [`Tools::run`] for a call that is read.
    pub fn run_call(&self, call: &ToolCall) -> Value {
        let Some(tool) = self.get(&call.name) else {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            return call.answer(format!(
                "Error: there is no tool named `{}`; there are: {}",
                call.name,
                known.join(", ")
            ));
        };
        if !depth::is_within(&call.arguments) {
            let refusal = depth::refusal("the value of the arguments");
            return call.answer(format!("Error: {refusal}"));
        }
        match tool.call(call.arguments.clone()) {
            Ok(Value::String(text)) => call.answer(text),
            Ok(value) => call.answer(value.to_string()),
            Err(error) => call.answer(format!("Error: {error}")),
        }
    }
}
