//! Chats: the messages of a conversation, written out as a model wants them.
//!
//! A model's files carry a *chat template*, a Jinja program that turns messages
//! into text. [`ChatTemplates`] reads and renders them with the answers of the
//! reference, `apply_chat_template` of transformers 5 (in Python), byte for
//! byte; `docs/CONFORMANCE.md` lists what differs.
//!
//! ```
//! use serde_json::json;
//! use tokenmold::chat::{Chat, ChatTemplates, Ending};
//!
//! let templates = ChatTemplates::from_source(
//!     "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let messages = [json!({"role": "user", "content": "Hello!"})];
//! let chat = Chat::new(&messages).with_ending(Ending::GenerationPrompt);
//! assert_eq!(templates.apply(&chat)?.text, "<user>Hello!\n<assistant>");
//! # Ok::<(), tokenmold::Error>(())
//! ```
//!
//! The work is done by the crate [`chat_template`], which knows neither models nor
//! tokenizers; its page lists the limits. Here its errors become [`Error`]s,
//! and chats become tokens.

use std::ops::Deref;
use std::path::Path;

#[cfg(feature = "models")]
use response_parser::Family;
use serde_json::{Map, Value as Json, json};
#[cfg(feature = "models")]
use structural_tags::ResponseFormat;

use crate::{Error, ErrorKind};

#[cfg(feature = "tokenizers")]
mod tokens;

pub use chat_template::{
    Chat, ControlTokens, Ending, Handling, Limits, Moment, Numbers, Rendered, chatml, exact,
};

#[cfg(feature = "tokenizers")]
pub use self::tokens::{EncodedBatch, EncodedChat, PaddingSide};

/// A chat template, read: [`chat_template::ChatTemplate`] with this crate's errors.
#[derive(Debug)]
pub struct ChatTemplate(chat_template::ChatTemplate);

impl Deref for ChatTemplate {
    type Target = chat_template::ChatTemplate;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl ChatTemplate {
    /// As [`chat_template::ChatTemplate::new`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn new(source: &str) -> Result<Self, Error> {
        Ok(Self(chat_template::ChatTemplate::new(source)?))
    }

    /// As [`chat_template::ChatTemplate::with_limits`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn with_limits(source: &str, limits: Limits) -> Result<Self, Error> {
        let template = chat_template::ChatTemplate::with_limits(source, limits)?;
        Ok(Self(template))
    }

    /// As [`chat_template::ChatTemplate::render`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn render(&self, chat: &Chat<'_>) -> Result<Rendered, Error> {
        Ok(self.0.render(chat)?)
    }
}

/// The chat templates of a model: [`chat_template::ChatTemplates`] with this crate's
/// errors, and with chats as tokens.
///
/// ```
/// use serde_json::json;
/// use tokenmold::chat::{Chat, ChatTemplates};
///
/// let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/model");
/// let templates = ChatTemplates::from_directory(folder)?;
/// let messages = [json!({"role": "user", "content": "Hi"})];
/// assert!(templates.apply(&Chat::new(&messages))?.text.contains("Hi"));
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChatTemplates(chat_template::ChatTemplates);

impl From<chat_template::ChatTemplates> for ChatTemplates {
    fn from(templates: chat_template::ChatTemplates) -> Self {
        Self(templates)
    }
}

impl Deref for ChatTemplates {
    type Target = chat_template::ChatTemplates;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl ChatTemplates {
    /// As [`chat_template::ChatTemplates::none`].
    pub fn none() -> Self {
        Self::default()
    }

    /// As [`chat_template::ChatTemplates::from_source`].
    pub fn from_source(source: impl Into<String>) -> Self {
        Self(chat_template::ChatTemplates::from_source(source))
    }

    /// As [`chat_template::ChatTemplates::from_named`].
    pub fn from_named<N, S>(templates: impl IntoIterator<Item = (N, S)>) -> Self
    where
        N: Into<String>,
        S: Into<String>,
    {
        Self(chat_template::ChatTemplates::from_named(templates))
    }

    /// As [`chat_template::ChatTemplates::from_config`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn from_config(config: &Json) -> Result<Self, Error> {
        Ok(Self(chat_template::ChatTemplates::from_config(config)?))
    }

    /// As [`chat_template::ChatTemplates::from_json`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        Ok(Self(chat_template::ChatTemplates::from_json(json)?))
    }

    /// As [`chat_template::ChatTemplates::from_directory`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn from_directory(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let templates = chat_template::ChatTemplates::from_directory(directory)?;
        Ok(Self(templates))
    }

    /// As [`chat_template::ChatTemplates::save`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        Ok(self.0.save(directory)?)
    }

    /// As [`chat_template::ChatTemplates::with_special_tokens`].
    pub fn with_special_tokens(self, tokens: Map<String, Json>) -> Self {
        Self(self.0.with_special_tokens(tokens))
    }

    /// As [`chat_template::ChatTemplates::with_limits`].
    pub fn with_limits(self, limits: Limits) -> Self {
        Self(self.0.with_limits(limits))
    }

    /// As [`chat_template::ChatTemplates::set`].
    pub fn set(&mut self, name: Option<&str>, source: impl Into<String>) {
        self.0.set(name, source);
    }

    /// As [`chat_template::ChatTemplates::source_for`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn source_for<'s>(&'s self, chat: &Chat<'s>) -> Result<&'s str, Error> {
        Ok(self.0.source_for(chat)?)
    }

    /// As [`chat_template::ChatTemplates::apply`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn apply(&self, chat: &Chat<'_>) -> Result<Rendered, Error> {
        Ok(self.0.apply(chat)?)
    }
}

impl ChatTemplates {
    /// A conversation up to the opening of the model's answer, behind a system's turn. `tools` are
    /// shown by the template if there are any. If the template refuses a system's turn, its text
    /// goes before the first of the turns.
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenmold::prelude::*;
    ///
    /// let templates = ChatTemplates::from_source(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let turns = [json!({"role": "user", "content": "Hi"})];
    /// let prompt = templates.prompt(Some("Be brief."), &[], &turns)?;
    /// assert_eq!(prompt, "<system>Be brief.<user>Hi<assistant>");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As of [`ChatTemplates::apply`].
    pub fn prompt(
        &self,
        system: Option<&str>,
        tools: &[Json],
        turns: &[Json],
    ) -> Result<String, Error> {
        self.written(system, tools, turns, &Map::new())
    }

    fn written(
        &self,
        system: Option<&str>,
        tools: &[Json],
        turns: &[Json],
        variables: &Map<String, Json>,
    ) -> Result<String, Error> {
        let write = |messages: &[Json]| {
            let mut chat = Chat::new(messages).with_ending(Ending::GenerationPrompt);
            for (name, value) in variables {
                chat = chat.with_variable(name, value.clone());
            }
            if !tools.is_empty() {
                // An empty list counts as tools where there are several templates.
                chat = chat.with_tools(tools);
            }
            Ok(self.apply(&chat)?.text)
        };
        let Some(system) = system else {
            return write(turns);
        };
        let first = json!({"role": "system", "content": system});
        let messages: Vec<Json> = std::iter::once(first)
            .chain(turns.iter().cloned())
            .collect();
        let written = write(&messages);
        match (&written, turns.split_first()) {
            // The text cannot go before what is no text.
            (Err(error), Some((first, rest)))
                if error.kind() == ErrorKind::TemplateRaised
                    && let Some(said) = first["content"].as_str() =>
            {
                let mut first = first.clone();
                first["content"] = format!("{system}\n\n{said}").into();
                let first = std::iter::once(first);
                let messages: Vec<Json> = first.chain(rest.iter().cloned()).collect();
                write(&messages)
            }
            _ => written,
        }
    }
}

impl ChatTemplates {
    /// As [`ChatTemplates::prompt`], with tools on offer, as chat templates take them: as the
    /// template shows them, or, if it does not, in the system's turn as the embedded model knows
    /// them.
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenmold::prelude::*;
    ///
    /// let templates = ChatTemplates::from_source("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}");
    /// let turns = [json!({"role": "user", "content": "Hi"})];
    /// let tool = json!({"type": "function", "function": {"name": "wait", "parameters": {"type": "object"}}});
    /// let prompt = templates.prompt_with_tools(None, &[tool], &turns)?;
    /// assert!(prompt.contains("<system>") && prompt.contains("wait"));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As of [`ChatTemplates::apply`].
    pub fn prompt_with_tools(
        &self,
        system: Option<&str>,
        tools: &[Json],
        turns: &[Json],
    ) -> Result<String, Error> {
        self.prompt_with_variables(system, tools, turns, &Map::new())
    }

    /// As [`ChatTemplates::prompt_with_tools`], with variables of the template such as
    /// `enable_thinking`.
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenmold::prelude::*;
    ///
    /// let templates = ChatTemplates::from_source("{{ messages[0].content }}{% if brief %} Be brief.{% endif %}");
    /// let turns = [json!({"role": "user", "content": "Hi."})];
    /// let variables = json!({"brief": true});
    /// let prompt = templates.prompt_with_variables(None, &[], &turns, variables.as_object().unwrap())?;
    /// assert_eq!(prompt, "Hi. Be brief.");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As of [`ChatTemplates::apply`].
    pub fn prompt_with_variables(
        &self,
        system: Option<&str>,
        tools: &[Json],
        turns: &[Json],
        variables: &Map<String, Json>,
    ) -> Result<String, Error> {
        if tools.is_empty() || self.shows_tools(tools, turns)? {
            return self.written(system, tools, turns, variables);
        }
        let shown = |tool: &Json| {
            let function = tool.get("function").unwrap_or(tool);
            json!({"name": function["name"], "parameters": function["parameters"]})
        };
        let shown: Vec<Json> = tools.iter().map(shown).collect();
        let mut said = vec![chatml::tools_system(&shown)];
        said.extend(system.map(str::to_owned));
        let mut turns = turns;
        if let Some((first, rest)) = turns.split_first()
            && first["role"] == "system"
        {
            said.extend(first["content"].as_str().map(str::to_owned));
            turns = rest;
        }
        self.written(Some(&said.join("\n")), tools, turns, variables)
    }

    /// Tells whether the template writes tools and calls itself.
    ///
    /// # Errors
    ///
    /// As of [`ChatTemplates::source_for`].
    pub fn shows_tools(&self, tools: &[Json], messages: &[Json]) -> Result<bool, Error> {
        let chat = Chat::new(messages).with_tools(tools);
        Ok(self.source_for(&chat)?.contains("tools"))
    }
}

#[cfg(feature = "models")]
impl ChatTemplates {
    /// Tells whether the model reasons between markers before it answers, as its chat template
    /// tells by naming them.
    pub fn reasons(&self, messages: &[Json]) -> bool {
        let source = self.source_for(&Chat::new(messages)).unwrap_or_default();
        let format = Family::of_chat_template(source).map(ResponseFormat::named);
        let format = format.ok().and_then(Result::ok);
        let markers = format.and_then(|format| Some(format.reasoning_markers()?.0.to_owned()));
        markers.is_some_and(|open| source.contains(open.trim()))
    }
}

/// A text for the system's turn joined with the turn that a conversation begins with, if it has one, and
/// the other turns.
///
/// ```
/// use serde_json::json;
/// use tokenmold::chat::with_own_system;
///
/// let turns = [json!({"role": "system", "content": "Be brief."}), json!({"role": "user", "content": "Hi"})];
/// let (system, rest) = with_own_system(Some("Answer as JSON.".to_owned()), &turns);
/// assert_eq!((system.as_deref(), rest.len()), (Some("Be brief.\nAnswer as JSON."), 1));
/// ```
pub fn with_own_system(system: Option<String>, messages: &[Json]) -> (Option<String>, &[Json]) {
    match (system, messages.split_first()) {
        (Some(system), Some((first, rest))) if first["role"] == "system" => {
            let own = first["content"].as_str().unwrap_or_default();
            (Some(format!("{own}\n{system}")), rest)
        }
        (system, _) => (system, messages),
    }
}

/// A value as the text of a message: texts as they are, others as Python prints them.
#[cfg(feature = "tools")]
pub(crate) fn value_as_text(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        other if json_tree::depth::is_within(other) => python_compat::str(other),
        deep => json_tree::depth::shown(deep),
    }
}
