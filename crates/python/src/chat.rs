//! `ChatTemplate`: a chat as a prompt. For example,
//! `ChatTemplate.from_directory(path).render(messages, add_generation_prompt=True)`.

use std::path::PathBuf;

use chat_template::{Chat, ChatTemplates, ControlTokens, Ending, Handling, Limits, Numbers, exact};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::{Map, Value};

use crate::error::{IntoPython, caught, detached, of_kind};

/// A model's chat template, or several by name.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct ChatTemplate {
    templates: ChatTemplates,
    /// The folder that they are of.
    folder: Option<PathBuf>,
}

/// A value of a chat as JSON, with numbers as [`Numbers::Exact`] has them.
fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let plain = value.py().import("tokenmold._plain")?;
    let text: String = plain.getattr("dumps")?.call1((value,))?.extract()?;
    exact::read(&text).map_err(IntoPython::into_python)
}

/// A list of such values.
fn list_of(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Value>> {
    match value_of(value)? {
        Value::Array(items) => Ok(items),
        _ => Err(of_kind("chat", format!("{what} are a list"))),
    }
}

fn map_of(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Map<String, Value>> {
    match value_of(value)? {
        Value::Object(map) => Ok(map),
        _ => Err(of_kind("chat", format!("{what} are a mapping"))),
    }
}

fn limits_of(given: Option<&Bound<'_, PyAny>>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    let Some(given) = given else {
        return Ok(limits);
    };
    for (name, value) in map_of(given, "limits")? {
        let number = value.as_u64().ok_or_else(|| {
            let message = format!("the limit {name:?} is no whole number: {value}");
            of_kind("chat", message)
        })?;
        let bytes = usize::try_from(number).unwrap_or(usize::MAX);
        limits = match name.as_str() {
            "source" => limits.with_source(bytes),
            "instructions" => limits.with_instructions(number),
            "work" => limits.with_work(number),
            "output" => limits.with_output(bytes),
            _ => {
                let message = format!(
                    "there is no limit {name:?}; there are source, instructions, work and output"
                );
                return Err(of_kind("chat", message));
            }
        };
    }
    Ok(limits)
}

/// Keywords that `apply_chat_template` has and `render` has not, and what to do.
const OTHERS: [(&str, &str); 16] = [
    ("conversation", "the messages are the first argument"),
    ("template", "it is called `chat_template`"),
    ("tokenize", TOKENS),
    ("padding", TOKENS),
    ("truncation", TOKENS),
    ("max_length", TOKENS),
    ("return_tensors", TOKENS),
    ("return_dict", TOKENS),
    ("tokenizer_kwargs", TOKENS),
    ("processor_kwargs", TOKENS),
    ("load_audio_from_video", TOKENS),
    (
        "return_assistant_tokens_mask",
        "`render_with_spans` says which characters the model is to learn",
    ),
    (
        "sanitize_control_tokens",
        "use `sanitize=\"break\"` or `sanitize=\"refuse\"`",
    ),
    ("chat_template_kwargs", "pass a mapping as `variables`"),
    ("template_kwargs", "pass a mapping as `variables`"),
    ("kwargs", "pass a mapping as `variables`"),
];

/// The reason why arguments of `apply_chat_template` that are about tokens are refused: they are
/// named, because they would otherwise be variables of the template.
const TOKENS: &str = "the prompt is a text, to be tokenised without adding special tokens";

/// The arguments that `render` takes beside variables. They are listed, because `None` for one of
/// them is its default and for a variable is a value.
const KEYWORDS: [&str; 8] = [
    "tools",
    "documents",
    "add_generation_prompt",
    "continue_final_message",
    "chat_template",
    "sanitize",
    "control_tokens",
    "variables",
];

/// The arguments that `render` is given beside the messages.
#[derive(Default)]
struct Asked {
    tools: Option<Vec<Value>>,
    documents: Option<Vec<Value>>,
    add_generation_prompt: bool,
    /// The key of the last message that is continued.
    continued: Option<String>,
    template: Option<String>,
    sanitize: Option<Handling>,
    control_tokens: Option<Vec<String>>,
    variables: Map<String, Value>,
    /// Further keywords: variables, if the template names them.
    further: Map<String, Value>,
}

impl Asked {
    fn of(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Asked> {
        let mut asked = Asked::default();
        for (name, value) in keywords.into_iter().flatten() {
            let name: String = name.extract()?;
            let name = name.as_str();
            if value.is_none() && KEYWORDS.contains(&name) {
                // As if it were not there.
                continue;
            }
            match name {
                "tools" => {
                    let plain = value.py().import("tokenmold._plain")?;
                    let tools = plain.getattr("tools")?.call1((&value,))?;
                    asked.tools = Some(list_of(&tools, "tools")?);
                }
                "documents" => asked.documents = Some(list_of(&value, "documents")?),
                "add_generation_prompt" => asked.add_generation_prompt = value.is_truthy()?,
                "continue_final_message" => {
                    asked.continued = match value.cast::<PyString>() {
                        Ok(field) => Some(field.to_str()?.to_owned()).filter(|f| !f.is_empty()),
                        Err(_) => value.is_truthy()?.then(|| "content".to_owned()),
                    };
                }
                "chat_template" => asked.template = Some(value.extract()?),
                "sanitize" => {
                    asked.sanitize = Some(match value.extract::<String>()?.as_str() {
                        "refuse" => Handling::Refuse,
                        "break" => Handling::Break,
                        other => {
                            let message =
                                format!("sanitize is \"refuse\" or \"break\", not {other:?}");
                            return Err(of_kind("chat", message));
                        }
                    });
                }
                "control_tokens" => asked.control_tokens = Some(value.extract()?),
                "variables" => asked.variables = map_of(&value, "variables")?,
                _ => {
                    asked.further.insert(name.to_owned(), value_of(&value)?);
                }
            }
        }
        if asked.add_generation_prompt && asked.continued.is_some() {
            return Err(of_kind(
                "chat",
                "a chat ends with the opening of an answer, or goes on with its last message, not \
                 both",
            ));
        }
        if asked.control_tokens.is_some() && asked.sanitize.is_none() {
            return Err(of_kind(
                "chat",
                "control_tokens are for sanitize: give \"refuse\" or \"break\" there",
            ));
        }
        Ok(asked)
    }
}

impl ChatTemplate {
    /// Writes a chat out.
    fn written(
        &self,
        messages: &Bound<'_, PyAny>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<chat_template::Rendered> {
        let py = messages.py();
        let plain = py.import("tokenmold._plain")?;
        let messages = plain.getattr("messages")?.call1((messages,))?;
        let messages = list_of(&messages, "messages")?;
        let asked = Asked::of(keywords)?;
        let mut chat = Chat::new(&messages).with_numbers(Numbers::Exact);
        if let Some(tools) = &asked.tools {
            chat = chat.with_tools(tools);
        }
        if let Some(documents) = &asked.documents {
            chat = chat.with_documents(documents);
        }
        if let Some(template) = &asked.template {
            self.check_template(template)?;
            chat = chat.with_template(template);
        }
        chat = match (asked.add_generation_prompt, &asked.continued) {
            (true, _) => chat.with_ending(Ending::GenerationPrompt),
            (false, Some(field)) => chat.with_ending(Ending::Continue(field)),
            (false, None) => chat,
        };
        self.check_further(&chat, &asked.further)?;
        let variables = asked.variables.into_iter().chain(asked.further);
        for (name, value) in variables {
            chat = chat.with_variable(name, value);
        }
        let controls = match asked.sanitize {
            Some(handling) => Some(self.controls(&chat, handling, asked.control_tokens)?),
            None => None,
        };
        if let Some(controls) = &controls {
            chat = chat.with_control_tokens(controls);
        }
        detached(py, || {
            let rendered = self.templates.apply(&chat);
            rendered.map_err(IntoPython::into_python)
        })
    }

    /// Refuses what is neither the name of a template nor one itself.
    fn check_template(&self, template: &str) -> PyResult<()> {
        let names = self.templates.names();
        if names.contains(&template) || ["{{", "{%", "{#"].iter().any(|tag| template.contains(tag))
        {
            return Ok(());
        }
        let names = match names.as_slice() {
            [] => "there is one, without a name".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        let message = format!(
            "chat_template={template:?} is no template, which has tags, and no name of one: {names}"
        );
        Err(of_kind("chat", message))
    }

    /// Refuses keywords that cannot be variables of the template.
    fn check_further(&self, chat: &Chat<'_>, further: &Map<String, Value>) -> PyResult<()> {
        for name in further.keys() {
            let mentions = caught(|| {
                let mentions = self.templates.mentions(chat, name);
                mentions.map_err(IntoPython::into_python)
            })?;
            if mentions {
                continue;
            }
            let message = match OTHERS.iter().find(|(other, _)| other == name) {
                Some((_, instead)) => format!("render() takes no {name:?}: {instead}"),
                None => format!(
                    "render() takes no {name:?}, and the template has no variable of that name; \
                     what only some templates look at goes into `variables`"
                ),
            };
            return Err(of_kind("chat", message));
        }
        Ok(())
    }

    /// The control tokens that a chat is to have none of: those given, or those of the
    /// tokenizer in the folder.
    fn controls(
        &self,
        chat: &Chat<'_>,
        handling: Handling,
        given: Option<Vec<String>>,
    ) -> PyResult<ControlTokens> {
        if let Some(tokens) = given {
            return Ok(ControlTokens::new(tokens, handling));
        }
        let unknown = |why: &str| {
            of_kind(
                "chat",
                format!("which texts are control tokens is not known: {why}; give control_tokens"),
            )
        };
        let Some(folder) = &self.folder else {
            return Err(unknown("the template is of no folder"));
        };
        let file = folder.join("tokenizer.json");
        let text = std::fs::read(&file)
            .map_err(|error| unknown(&format!("{} cannot be read: {error}", file.display())))?;
        let tokenizer: Value = serde_json::from_slice(&text)
            .map_err(|error| unknown(&format!("{} is no JSON: {error}", file.display())))?;
        let source = self.templates.source_for(chat);
        let source = source.map_err(IntoPython::into_python)?;
        Ok(ControlTokens::of_tokenizer(&tokenizer, source, handling))
    }
}

#[pymethods]
impl ChatTemplate {
    /// A template of this text, or several by name. `special_tokens` are variables, such as
    /// `bos_token`. `limits` are numbers by name: `source`, `work` and `output` in bytes,
    /// `instructions`.
    #[new]
    #[pyo3(signature = (source, *, special_tokens = None, limits = None))]
    fn new(
        source: &Bound<'_, PyAny>,
        special_tokens: Option<&Bound<'_, PyAny>>,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ChatTemplate> {
        let source = value_of(source)?;
        let limits = limits_of(limits)?;
        let mut templates = caught(|| {
            let texts: Vec<&Value> = match &source {
                Value::Object(named) => named.values().collect(),
                one => vec![one],
            };
            for text in texts {
                chat_template::ChatTemplate::with_limits(text.as_str().unwrap_or_default(), limits)
                    .map_err(IntoPython::into_python)?;
            }
            ChatTemplates::from_json(&source).map_err(IntoPython::into_python)
        })?;
        if let Some(tokens) = special_tokens {
            templates = templates.with_special_tokens(map_of(tokens, "special tokens")?);
        }
        Ok(ChatTemplate {
            templates: templates.with_limits(limits),
            folder: None,
        })
    }

    /// The templates of a model's folder, with its special tokens.
    #[staticmethod]
    #[pyo3(signature = (path, *, limits = None))]
    fn from_directory(path: PathBuf, limits: Option<&Bound<'_, PyAny>>) -> PyResult<ChatTemplate> {
        let limits = limits_of(limits)?;
        let templates =
            caught(|| ChatTemplates::from_directory(&path).map_err(IntoPython::into_python))?;
        Ok(ChatTemplate {
            templates: templates.with_limits(limits),
            folder: Some(path),
        })
    }

    /// The names of the templates.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.templates.names()
    }

    /// The prompt of a chat, byte for byte as `apply_chat_template` of `transformers` writes
    /// it. It has the special tokens, so it is to be tokenised without adding any.
    ///
    /// Messages, tools and documents are dicts, dataclasses or pydantic models; a tool may be a
    /// function. Further keywords are variables that the template names, such as
    /// `enable_thinking`; `variables` is a mapping of such, whether it names them or not.
    #[pyo3(signature = (messages, **keywords))]
    fn render(
        &self,
        messages: &Bound<'_, PyAny>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        Ok(self.written(messages, keywords)?.text)
    }

    /// The same, with where the bodies of its generation blocks stand: what the model says, as
    /// ranges of characters.
    #[pyo3(signature = (messages, **keywords))]
    fn render_with_spans(
        &self,
        messages: &Bound<'_, PyAny>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(String, Vec<(usize, usize)>)> {
        let rendered = self.written(messages, keywords)?;
        // A span whose place is not known is an error.
        rendered.generated().map_err(IntoPython::into_python)?;
        let spans = rendered.spans.iter().map(|span| (span.start, span.end));
        Ok((rendered.text, spans.collect()))
    }
}
