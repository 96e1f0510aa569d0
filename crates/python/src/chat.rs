//! `ChatTemplate`: a chat as a prompt.

use chat_template::{Chat, ChatTemplates, Ending};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::error::{IntoPython, caught, detached, of_kind};
use crate::json::value_of;

/// A model's chat template, or several by name.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct ChatTemplate {
    templates: ChatTemplates,
}

/// A list of JSON values.
fn list_of(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Value>> {
    match value_of(value)? {
        Value::Array(items) => Ok(items),
        _ => Err(of_kind("chat", format!("{what} are a list"))),
    }
}

fn optional_list(value: Option<&Bound<'_, PyAny>>, what: &str) -> PyResult<Option<Vec<Value>>> {
    value.map(|value| list_of(value, what)).transpose()
}

#[pymethods]
impl ChatTemplate {
    /// A template of this text. `special_tokens` are its variables, such as `bos_token`.
    #[new]
    #[pyo3(signature = (source, *, special_tokens = None))]
    fn new(source: &str, special_tokens: Option<&Bound<'_, PyAny>>) -> PyResult<ChatTemplate> {
        caught(|| {
            chat_template::ChatTemplate::new(source)
                .map(drop)
                .map_err(IntoPython::into_python)
        })?;
        let mut templates = ChatTemplates::from_source(source);
        if let Some(tokens) = special_tokens {
            let Value::Object(tokens) = value_of(tokens)? else {
                return Err(of_kind("chat", "special tokens are a mapping"));
            };
            templates = templates.with_special_tokens(tokens);
        }
        Ok(ChatTemplate { templates })
    }

    /// The templates of a model's folder, with its special tokens.
    #[staticmethod]
    fn from_directory(path: std::path::PathBuf) -> PyResult<ChatTemplate> {
        let templates =
            caught(|| ChatTemplates::from_directory(path).map_err(IntoPython::into_python))?;
        Ok(ChatTemplate { templates })
    }

    /// The names of the templates.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.templates.names()
    }

    /// The prompt of a chat, byte for byte as `apply_chat_template` of `transformers` writes
    /// it. It has the special tokens, so it is to be tokenised without adding any. Further
    /// keywords are variables of the template, such as `enable_thinking`.
    #[pyo3(signature = (
        messages, *, tools = None, documents = None, add_generation_prompt = false,
        continue_final_message = false, template = None, **variables
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "keywords of the function in transformers"
    )]
    fn render(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        tools: Option<&Bound<'_, PyAny>>,
        documents: Option<&Bound<'_, PyAny>>,
        add_generation_prompt: bool,
        continue_final_message: bool,
        template: Option<&str>,
        variables: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let messages = list_of(messages, "messages")?;
        let tools = optional_list(tools, "tools")?;
        let documents = optional_list(documents, "documents")?;
        let mut chat = Chat::new(&messages);
        if let Some(tools) = &tools {
            chat = chat.with_tools(tools);
        }
        if let Some(documents) = &documents {
            chat = chat.with_documents(documents);
        }
        if let Some(template) = template {
            chat = chat.with_template(template);
        }
        chat = match (add_generation_prompt, continue_final_message) {
            (true, true) => {
                return Err(of_kind(
                    "chat",
                    "a chat ends with the opening of an answer, or goes on with its last \
                     message, not both",
                ));
            }
            (true, false) => chat.with_ending(Ending::GenerationPrompt),
            (false, true) => chat.with_ending(Ending::Continue("content")),
            (false, false) => chat,
        };
        let variables = match variables {
            Some(variables) => match value_of(variables.as_any())? {
                Value::Object(variables) => variables,
                _ => Map::new(),
            },
            None => Map::new(),
        };
        for (name, value) in variables {
            chat = chat.with_variable(name, value);
        }
        detached(py, || {
            let rendered = self.templates.apply(&chat);
            Ok(rendered.map_err(IntoPython::into_python)?.text)
        })
    }
}
