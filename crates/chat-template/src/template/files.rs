//! The templates of a model: which there are, and where they are kept. For example,
//! `chat_template.jinja`, and `additional_chat_templates/tool_use.jinja` beside it.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use serde_json::{Map, Value as Json};

use super::apply::{Chat, Rendered};
use crate::machine::Limits;
use crate::template::ChatTemplate;
use crate::{Error, ErrorKind};

/// The file of the template in a model directory, as `transformers` saves it.
const FILE: &str = "chat_template.jinja";
/// The folder of further templates in a model directory, as `transformers` saves them.
const FOLDER: &str = "additional_chat_templates";
/// The file that has the templates of older models, as `transformers` saved them.
const CONFIG: &str = "tokenizer_config.json";

/// Special tokens that templates may name, as `transformers` passes them on.
const SPECIAL_TOKENS: [&str; 8] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
    "image_token",
];

/// The chat templates of a model, with its special tokens.
///
/// ```
/// use chat_template::{Chat, ChatTemplates};
/// use serde_json::json;
///
/// let config = json!({"bos_token": "<s>", "chat_template": "{{ bos_token }}{{ messages[0].content }}"});
/// let templates = ChatTemplates::from_config(&config)?;
/// let messages = [json!({"role": "user", "content": "Hi"})];
/// assert_eq!(templates.apply(&Chat::new(&messages))?.text, "<s>Hi");
/// # Ok::<(), chat_template::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChatTemplates {
    templates: Templates,
    special_tokens: Map<String, Json>,
    limits: Limits,
}

#[derive(Clone, Debug, Default)]
enum Templates {
    #[default]
    None,
    One(Entry),
    Named(IndexMap<String, Entry>),
}

/// A template, compiled when it is first used.
#[derive(Clone, Debug)]
struct Entry {
    source: String,
    compiled: Arc<OnceLock<ChatTemplate>>,
}

impl Entry {
    fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            compiled: Arc::default(),
        }
    }

    fn compiled(&self, limits: Limits) -> Result<&ChatTemplate, Error> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(compiled);
        }
        let compiled = ChatTemplate::with_limits(&self.source, limits)?;
        Ok(self.compiled.get_or_init(|| compiled))
    }
}

impl ChatTemplates {
    /// No templates: every chat must bring its own.
    pub fn none() -> Self {
        Self::default()
    }

    /// A single template, without special tokens.
    pub fn from_source(source: impl Into<String>) -> Self {
        Self {
            templates: Templates::One(Entry::new(source)),
            ..Self::default()
        }
    }

    /// Several templates by name, without special tokens. `default` is taken
    /// for chats, `tool_use`, where it is there, for chats with tools.
    ///
    /// ```
    /// use chat_template::{Chat, ChatTemplates};
    /// use serde_json::json;
    ///
    /// let templates = ChatTemplates::from_named([("default", "plain"), ("tool_use", "tools")]);
    /// let messages = [json!({"role": "user", "content": "Hi"})];
    /// let tools = [json!({"name": "f"})];
    /// let chat = Chat::new(&messages);
    /// assert_eq!(templates.apply(&chat)?.text, "plain");
    /// assert_eq!(templates.apply(&chat.clone().with_tools(&tools))?.text, "tools");
    /// assert_eq!(templates.apply(&chat.with_template("tool_use"))?.text, "tools");
    /// # Ok::<(), chat_template::Error>(())
    /// ```
    pub fn from_named<N, S>(templates: impl IntoIterator<Item = (N, S)>) -> Self
    where
        N: Into<String>,
        S: Into<String>,
    {
        let templates = templates.into_iter();
        let named = templates.map(|(name, source)| (name.into(), Entry::new(source)));
        Self {
            templates: Templates::Named(named.collect()),
            ..Self::default()
        }
    }

    /// The templates and special tokens of a `tokenizer_config.json`: its
    /// `chat_template` is a text, a map of texts by name, a list of
    /// `{"name", "template"}`, or missing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`]: it is something else.
    pub fn from_config(config: &Json) -> Result<Self, Error> {
        let mut templates = match config.get("chat_template") {
            Some(json) => Self::from_json(json)?,
            None => Self::none(),
        };
        templates.special_tokens = special_tokens(config);
        Ok(templates)
    }

    /// The templates in the form of the key `chat_template` of a
    /// `tokenizer_config.json`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`]: it has another form.
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        let wrong = || {
            Error::new(
                ErrorKind::Config,
                "`chat_template` must be a text, a map of texts, or a list of {\"name\", \"template\"}",
            )
        };
        match json {
            Json::Null => Ok(Self::none()),
            Json::String(source) => Ok(Self::from_source(source)),
            Json::Object(map) => {
                let named: Option<Vec<_>> = map
                    .iter()
                    .map(|(name, source)| Some((name.as_str(), source.as_str()?)))
                    .collect();
                Ok(Self::from_named(named.ok_or_else(wrong)?))
            }
            Json::Array(list) => {
                let named: Option<Vec<_>> = list
                    .iter()
                    .map(|entry| Some((entry["name"].as_str()?, entry["template"].as_str()?)))
                    .collect();
                Ok(Self::from_named(named.ok_or_else(wrong)?))
            }
            _ => Err(wrong()),
        }
    }

    /// The templates of a model directory: `chat_template.jinja` and
    /// `additional_chat_templates/NAME.jinja`, in place of those in
    /// `tokenizer_config.json`, whose special tokens count in any case.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`], [`ErrorKind::Config`]: a file that is there cannot
    /// be read.
    pub fn from_directory(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref();
        let config = directory.join(CONFIG);
        let mut templates = match read(&config)? {
            Some(text) => {
                let json = serde_json::from_str(&text).map_err(|error| {
                    let message = format!("{} is not JSON: {error}", config.display());
                    Error::with_source(ErrorKind::Config, message, error)
                })?;
                Self::from_config(&json).map_err(|error| {
                    let message = format!("{}: {error}", config.display());
                    Error::with_source(ErrorKind::Config, message, error)
                })?
            }
            None => Self::none(),
        };
        let main = read(&directory.join(FILE))?;
        let further = read_folder(&directory.join(FOLDER))?;
        match (main, further.is_empty()) {
            (None, true) => {}
            (Some(main), true) => templates.templates = Templates::One(Entry::new(main)),
            (main, false) => {
                let main = main.map(|source| ("default".to_owned(), source));
                let all = main.into_iter().chain(further);
                let named = all.map(|(name, source)| (name, Entry::new(source)));
                templates.templates = Templates::Named(named.collect());
            }
        }
        Ok(templates)
    }

    /// Writes the templates and special tokens into a model directory, as
    /// [`ChatTemplates::from_directory`] reads them. Files of templates that
    /// are no longer there are removed, and so is the entry in
    /// `tokenizer_config.json`. Special tokens that this file has otherwise, or
    /// not at all, are set there; the rest of it stays as it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`]: a file cannot be written. [`ErrorKind::Config`]: a
    /// template's name is no file name, or `tokenizer_config.json` is
    /// malformed.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        let directory = directory.as_ref();
        let folder = directory.join(FOLDER);
        let (main, further): (Option<&Entry>, Vec<(&String, &Entry)>) = match &self.templates {
            Templates::None => (None, Vec::new()),
            Templates::One(entry) => (Some(entry), Vec::new()),
            Templates::Named(named) => (
                named.get("default"),
                named
                    .iter()
                    .filter(|(name, _)| *name != "default")
                    .collect(),
            ),
        };
        for (name, _) in &further {
            let plain = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
            if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
                return Err(Error::new(
                    ErrorKind::Config,
                    format!("the chat template's name {name:?} is no file name"),
                ));
            }
        }
        self.save_config(&directory.join(CONFIG))?;
        for (name, _) in read_folder(&folder)? {
            if !further.iter().any(|(kept, _)| **kept == name) {
                remove(&folder.join(format!("{name}.jinja")))?;
            }
        }
        match main {
            Some(entry) => write(&directory.join(FILE), &entry.source)?,
            None if directory.join(FILE).exists() => remove(&directory.join(FILE))?,
            None => {}
        }
        if !further.is_empty() {
            fs::create_dir_all(&folder).map_err(|error| io_error(&folder, error))?;
        }
        for (name, entry) in further {
            write(&folder.join(format!("{name}.jinja")), &entry.source)?;
        }
        Ok(())
    }

    /// Leaves the special tokens in a configuration, and no template: it would be one
    /// of no effect.
    fn save_config(&self, file: &Path) -> Result<(), Error> {
        let mut json: Json = match read(file)? {
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                let message = format!("{} is not JSON: {error}", file.display());
                Error::with_source(ErrorKind::Config, message, error)
            })?,
            None => Json::Object(Map::new()),
        };
        let there = special_tokens(&json);
        let Some(config) = json.as_object_mut() else {
            let message = format!("{} is no JSON object", file.display());
            return Err(Error::new(ErrorKind::Config, message));
        };
        let mut changed = config.shift_remove("chat_template").is_some();
        for (name, token) in &self.special_tokens {
            if there.get(name) == Some(token) {
                continue;
            }
            changed = true;
            match SPECIAL_TOKENS.contains(&name.as_str()) {
                true => config.insert(name.clone(), token.clone()),
                false => {
                    let further = config.entry("extra_special_tokens");
                    let further = further.or_insert_with(|| Json::Object(Map::new()));
                    if !further.is_object() {
                        *further = Json::Object(Map::new());
                    }
                    further
                        .as_object_mut()
                        .and_then(|further| further.insert(name.clone(), token.clone()))
                }
            };
        }
        match changed {
            true => write(file, &format!("{json:#}\n")),
            false => Ok(()),
        }
    }

    /// The same with special tokens, by the names that templates know them by
    /// (`bos_token`), in place of those it had.
    pub fn with_special_tokens(mut self, tokens: Map<String, Json>) -> Self {
        self.special_tokens = special_tokens(&Json::Object(tokens));
        self
    }

    /// The same with limits on what templates may cost.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        // The templates that were compiled before had other limits.
        match &mut self.templates {
            Templates::None => {}
            Templates::One(entry) => entry.compiled = Arc::default(),
            Templates::Named(named) => {
                named
                    .values_mut()
                    .for_each(|entry| entry.compiled = Arc::default());
            }
        }
        self
    }

    /// Sets a template: the only one, or one of several if there are names.
    /// Without a name it is `default`.
    ///
    /// ```
    /// use chat_template::ChatTemplates;
    ///
    /// let mut templates = ChatTemplates::none();
    /// templates.set(Some("default"), "{{ messages }}");
    /// templates.set(Some("rag"), "{{ documents }}");
    /// assert_eq!(templates.names(), ["default", "rag"]);
    /// ```
    pub fn set(&mut self, name: Option<&str>, source: impl Into<String>) {
        let entry = Entry::new(source);
        let templates = std::mem::take(&mut self.templates);
        self.templates = match (templates, name) {
            (Templates::None | Templates::One(_), None) => Templates::One(entry),
            (Templates::None, Some(name)) => {
                Templates::Named(IndexMap::from([(name.to_owned(), entry)]))
            }
            (Templates::One(before), Some(name)) => {
                let before = ("default".to_owned(), before);
                let mut named = IndexMap::from([before]);
                named.insert(name.to_owned(), entry);
                Templates::Named(named)
            }
            (Templates::Named(mut named), name) => {
                named.insert(name.unwrap_or("default").to_owned(), entry);
                Templates::Named(named)
            }
        };
    }

    /// Tells whether there is no template at all.
    pub fn is_empty(&self) -> bool {
        match &self.templates {
            Templates::None => true,
            Templates::One(_) => false,
            Templates::Named(named) => named.is_empty(),
        }
    }

    /// The names of the templates, in order; none where there is a single one
    /// without a name.
    pub fn names(&self) -> Vec<&str> {
        match &self.templates {
            Templates::Named(named) => named.keys().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// The special tokens, by the names that templates know them by.
    ///
    /// ```
    /// use chat_template::ChatTemplates;
    /// use serde_json::json;
    ///
    /// let config = json!({"chat_template": "", "eos_token": {"content": "</s>"}});
    /// assert_eq!(ChatTemplates::from_config(&config)?.special_tokens()["eos_token"], "</s>");
    /// # Ok::<(), chat_template::Error>(())
    /// ```
    pub fn special_tokens(&self) -> &Map<String, Json> {
        &self.special_tokens
    }

    /// The template that a chat would be rendered with, by the rules of the
    /// reference: the name that the chat asks for, or what it asks for taken
    /// for the text of a template, or `tool_use` for a chat with tools (an
    /// empty list of them counts), or `default`, or the only one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Chat`]: there is none.
    pub fn source_for<'s>(&'s self, chat: &Chat<'s>) -> Result<&'s str, Error> {
        match self.entry(chat)? {
            Some(entry) => Ok(&entry.source),
            None => Ok(chat.template_argument().unwrap_or_default()),
        }
    }

    /// The chosen entry; none if the chat brings the text itself.
    fn entry(&self, chat: &Chat<'_>) -> Result<Option<&Entry>, Error> {
        let asked = chat.template_argument();
        match (&self.templates, asked) {
            (Templates::Named(named), Some(name)) => Ok(named.get(name)),
            (_, Some(_)) => Ok(None),
            (Templates::One(entry), None) => Ok(Some(entry)),
            (Templates::None, None) => Err(Error::new(
                ErrorKind::Chat,
                "Cannot use chat template functions because tokenizer.chat_template is not set and no template argument was passed! For information about writing templates and setting the tokenizer.chat_template attribute, please see the documentation at https://huggingface.co/docs/transformers/main/en/chat_templating",
            )),
            (Templates::Named(named), None) => {
                let tools = named.get("tool_use").filter(|_| chat.has_tools());
                let found = tools.or_else(|| named.get("default"));
                match found {
                    Some(entry) => Ok(Some(entry)),
                    None => Err(no_default(named)),
                }
            }
        }
    }

    /// Writes a chat out: an empty chat is refused, keys without a value are
    /// dropped from messages, special tokens become variables, and then
    /// [`ChatTemplate::render`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Chat`]: there is no template for the chat, or the chat is
    /// malformed. [`ErrorKind::Syntax`],
    /// [`ErrorKind::Failed`], [`ErrorKind::Raised`],
    /// [`ErrorKind::Limit`]: the template, with the line.
    pub fn apply(&self, chat: &Chat<'_>) -> Result<Rendered, Error> {
        self.chosen(chat, |template| template.apply(chat, &self.special_tokens))
    }

    /// Tells whether the template that a chat would be rendered with has that name somewhere
    /// ([`ChatTemplate::mentions`]): what is no name of it, no variable can be.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Chat`]: there is no template for the chat. [`ErrorKind::Syntax`],
    /// [`ErrorKind::Limit`]: the template.
    ///
    /// ```
    /// use chat_template::{Chat, ChatTemplates};
    ///
    /// let templates = ChatTemplates::from_named([("default", "{{ a }}"), ("rag", "{{ b }}")]);
    /// assert!(templates.mentions(&Chat::new(&[]).with_template("rag"), "b")?);
    /// assert!(!templates.mentions(&Chat::new(&[]), "b")?);
    /// # Ok::<(), chat_template::Error>(())
    /// ```
    pub fn mentions(&self, chat: &Chat<'_>, name: &str) -> Result<bool, Error> {
        self.chosen(chat, |template| Ok(template.mentions(name)))
    }

    /// Runs with the template that a chat would be rendered with.
    fn chosen<T>(
        &self,
        chat: &Chat<'_>,
        run: impl FnOnce(&ChatTemplate) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self.entry(chat)? {
            Some(entry) => run(entry.compiled(self.limits)?),
            None => {
                let source = chat.template_argument().unwrap_or_default();
                run(&ChatTemplate::with_limits(source, self.limits)?)
            }
        }
    }
}

#[cold]
fn no_default(named: &IndexMap<String, Entry>) -> Error {
    let mut names: Vec<&String> = named.keys().collect();
    names.sort();
    let names: Vec<String> = names.into_iter().map(|name| format!("'{name}'")).collect();
    Error::new(
        ErrorKind::Chat,
        format!(
            "This model has multiple chat templates with no default specified! Please either pass a chat template or the name of the template you wish to use to the `chat_template` argument. Available template names are [{}].",
            names.join(", ")
        ),
    )
}

/// The special tokens of a configuration: texts, or objects with the text in `content`. Tokens
/// without a value are not defined in templates.
fn special_tokens(config: &Json) -> Map<String, Json> {
    let mut tokens = Map::new();
    let further = config
        .get("extra_special_tokens")
        .and_then(Json::as_object)
        .into_iter()
        .flatten();
    let known = SPECIAL_TOKENS
        .iter()
        .filter_map(|name| Some((*name, config.get(*name)?)));
    let further = further.map(|(name, token)| (name.as_str(), token));
    for (name, token) in known.chain(further) {
        let text = token.as_str().or_else(|| token.get("content")?.as_str());
        if let Some(text) = text {
            tokens.insert(name.to_owned(), text.into());
        }
    }
    tokens
}

#[cold]
fn io_error(path: &Path, error: std::io::Error) -> Error {
    Error::with_source(ErrorKind::Io, format!("{}: {error}", path.display()), error)
}

/// The text of a file; none if it is not there.
fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(path, error)),
    }
}

/// The templates of a folder by name, sorted.
fn read_folder(folder: &Path) -> Result<Vec<(String, String)>, Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error(folder, error)),
    };
    let mut templates = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| io_error(folder, error))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.and_then(|name| name.strip_suffix(".jinja")) else {
            continue;
        };
        if let Some(source) = read(&path)? {
            templates.push((name.to_owned(), source));
        }
    }
    templates.sort();
    Ok(templates)
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|error| io_error(path, error))
}

fn remove(path: &Path) -> Result<(), Error> {
    fs::remove_file(path).map_err(|error| io_error(path, error))
}
