//! Text parsers in the manner of AgentScope, for `tokenmold parse`. For example, `--agentscope tags
//! --tag 'thought=[THOUGHT]...[/THOUGHT]'`.

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Value, json};
use tokenmold::response_parser::agentscope::{
    CodeBlock, DataModel, JsonDict, JsonObject, Keys, MissingKeys, MultiTagged, RegexTagged,
    Select, TaggedContent, TextParser,
};
use tokenmold::response_parser::{Error, Unrepresentable};

use super::{Failure, Output, Verdict, read_json};

/// The parts that a response is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentScopeForm {
    /// JSON in a block that is fenced as `json`.
    MarkdownJson,
    /// Code in a block that is fenced as its language.
    MarkdownCode,
    /// Parts, each between tags of its own.
    Tags,
    /// The matches of a regular expression, with the groups `name` and `content`.
    Regex,
}

/// The arguments of the text parsers.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "AgentScope")]
pub(crate) struct AgentScopeArgs {
    /// A key that the dictionary must have. May be given several times.
    #[arg(long, value_name = "KEY")]
    required_key: Vec<String>,

    /// A file with the JSON Schema of a data model that the dictionary obeys
    /// (`markdown-json`).
    #[arg(long, value_name = "FILE")]
    data_model: Option<PathBuf>,

    /// A part and its tags as `NAME=BEGIN...END`; what stands in place of the
    /// three dots is shown to the model (`tags`).
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,

    /// The same for a part that must be JSON (`tags`).
    #[arg(long, value_name = "TAG")]
    json_tag: Vec<String>,

    /// A part that may be missing, by its name (`tags`).
    #[arg(long, value_name = "NAME")]
    optional_tag: Vec<String>,

    /// A pattern in the syntax of Python's `re`. Default: `<name>content</name>`
    /// (`regex`).
    #[arg(long, value_name = "PATTERN")]
    pattern: Option<String>,

    /// Leave what is found as text, also where it is JSON (`regex`).
    #[arg(long)]
    keep_text: bool,

    /// The language of the code (`markdown-code`).
    #[arg(long, value_name = "NAME")]
    language: Option<String>,

    /// The instruction's stand-in for the response: a text, or JSON. The whole instruction, for
    /// `regex`.
    #[arg(long, value_name = "TEXT")]
    hint: Option<String>,

    /// Print what to tell the model, and read nothing.
    #[arg(long)]
    instruction: bool,

    /// The part of the dictionary that goes into memory: `true`, `false`, a key, or keys with
    /// commas between them. With this or one of the next two the result has a part for each.
    #[arg(long, value_name = "KEYS")]
    memory_keys: Option<String>,

    /// The part of it that is the message's content.
    #[arg(long, value_name = "KEYS")]
    content_keys: Option<String>,

    /// The part of it that is the message's metadata.
    #[arg(long, value_name = "KEYS")]
    metadata_keys: Option<String>,
}

fn failed(error: Error) -> Failure {
    Failure::new(error.to_string())
}

/// Keys as the command line has them.
fn select(keys: &str) -> Result<Select, Failure> {
    let json = match keys {
        "true" => json!(true),
        "false" => json!(false),
        _ if keys.contains(',') => keys.split(',').map(str::trim).collect(),
        one => json!(one),
    };
    Select::try_from(&json).map_err(failed)
}

/// A part from `NAME=BEGIN...END`.
fn tagged(text: &str) -> Result<TaggedContent, Failure> {
    let parts = text
        .split_once('=')
        .and_then(|(name, tags)| Some((name, tags.split_once("...")?)));
    match parts {
        Some((name, (begin, end))) if ![name, begin, end].contains(&"") => {
            Ok(TaggedContent::new(name, begin, "...", end))
        }
        _ => Err(Failure::new(format!(
            "{text:?} is no tag; expected NAME=BEGIN...END, such as thought=<thought>...</thought>"
        ))),
    }
}

impl AgentScopeArgs {
    /// The options that are given, each with the forms that take it.
    fn given(&self) -> Vec<(&'static str, &'static [AgentScopeForm])> {
        use AgentScopeForm::{MarkdownCode, MarkdownJson, Regex, Tags};
        /// The forms for which an option is of use that has nothing to do with the form, as
        /// `--instruction`.
        const ALL: &[AgentScopeForm] = &[MarkdownJson, MarkdownCode, Tags, Regex];
        /// The forms whose result is a dictionary, so that options may choose among its keys.
        const DICTIONARIES: &[AgentScopeForm] = &[MarkdownJson, Tags, Regex];
        let options: [(bool, &'static str, &'static [AgentScopeForm]); 13] = [
            (
                !self.required_key.is_empty(),
                "required-key",
                &[MarkdownJson, Regex],
            ),
            (self.data_model.is_some(), "data-model", &[MarkdownJson]),
            (!self.tag.is_empty(), "tag", &[Tags]),
            (!self.json_tag.is_empty(), "json-tag", &[Tags]),
            (!self.optional_tag.is_empty(), "optional-tag", &[Tags]),
            (self.pattern.is_some(), "pattern", &[Regex]),
            (self.keep_text, "keep-text", &[Regex]),
            (self.language.is_some(), "language", &[MarkdownCode]),
            (
                self.hint.is_some(),
                "hint",
                &[MarkdownJson, MarkdownCode, Regex],
            ),
            (self.instruction, "instruction", ALL),
            (self.memory_keys.is_some(), "memory-keys", DICTIONARIES),
            (self.content_keys.is_some(), "content-keys", DICTIONARIES),
            (self.metadata_keys.is_some(), "metadata-keys", DICTIONARIES),
        ];
        let given = options.into_iter().filter(|(given, ..)| *given);
        given.map(|(_, name, forms)| (name, forms)).collect()
    }

    /// Refuses options that would have no effect without `--agentscope`.
    pub(crate) fn refuse_all(&self) -> Result<(), Failure> {
        match self.given().first() {
            Some((name, _)) => Err(Failure::new(format!("--{name} goes with --agentscope"))),
            None => Ok(()),
        }
    }

    /// Reads a response, or says what to tell the model.
    pub(crate) fn run(
        &self,
        form: AgentScopeForm,
        beyond: Unrepresentable,
        text: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<Output, Failure> {
        for (name, forms) in self.given() {
            if !forms.contains(&form) {
                let names = forms.iter().filter_map(|form| form.to_possible_value());
                let names: Vec<String> = names.map(|v| v.get_name().to_owned()).collect();
                return Err(Failure::new(format!(
                    "--{name} goes with --agentscope {}",
                    names.join("|")
                )));
            }
        }
        let hint = || {
            let hint = self.hint.as_deref()?;
            Some(serde_json::from_str(hint).unwrap_or_else(|_| json!(hint)))
        };
        match form {
            AgentScopeForm::MarkdownJson => self.markdown(hint(), beyond, text),
            AgentScopeForm::MarkdownCode => {
                let language = self.language.as_deref().unwrap_or("python");
                let mut parser = CodeBlock::new(language);
                if let Some(hint) = &self.hint {
                    parser = parser.with_hint(hint.as_str());
                }
                self.read(&parser, None, text)
            }
            AgentScopeForm::Tags => {
                if self.tag.is_empty() && self.json_tag.is_empty() {
                    return Err(Failure::new(
                        "--agentscope tags wants tags: --tag NAME=BEGIN...END",
                    ));
                }
                // In the order in which they stand in the instruction.
                let texts = self.tag.iter().map(|tag| tagged(tag));
                let json = self.json_tag.iter().map(|tag| Ok(tagged(tag)?.with_json()));
                let tags: Vec<TaggedContent> = texts.chain(json).collect::<Result<_, _>>()?;
                let keys = self.keys()?;
                let parser = MultiTagged::new(tags)
                    .with_optional(self.optional_tag.iter().cloned())
                    .with_unrepresentable(beyond)
                    .with_keys(keys.clone());
                self.read(&parser, Some(&keys), text)
            }
            AgentScopeForm::Regex => {
                let parser = match &self.pattern {
                    Some(pattern) => RegexTagged::with_pattern(pattern),
                    None => RegexTagged::new(),
                };
                let keys = self.keys()?;
                let mut parser = parser
                    .map_err(failed)?
                    .with_required_keys(self.required_key.iter().cloned())
                    .with_unrepresentable(beyond)
                    .with_keys(keys.clone());
                if self.keep_text {
                    parser = parser.without_json();
                }
                if let Some(hint) = &self.hint {
                    parser = parser.with_instruction(hint);
                }
                self.read(&parser, Some(&keys), text)
            }
        }
    }

    /// A dictionary where something is asked of one, any JSON where not.
    fn markdown(
        &self,
        hint: Option<Value>,
        beyond: Unrepresentable,
        text: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<Output, Failure> {
        let wants_keys = self.wants_keys() || !self.required_key.is_empty();
        if !wants_keys && self.data_model.is_none() {
            let mut parser = JsonObject::new().with_unrepresentable(beyond);
            if let Some(hint) = hint {
                parser = parser.with_hint(hint);
            }
            return self.read(&parser, None, text);
        }
        let keys = self.keys()?;
        let mut parser = JsonDict::new()
            .with_required_keys(self.required_key.iter().cloned())
            .with_unrepresentable(beyond)
            .with_keys(keys.clone());
        if let Some(hint) = hint {
            parser = parser.with_hint(hint);
        }
        if let Some(file) = &self.data_model {
            let schema = read_json(file)?;
            let name = schema["title"].as_str().unwrap_or("Model").to_owned();
            let model = DataModel::new(name, schema);
            parser = parser.with_model(model.map_err(|e| Failure::of(file.display(), e))?);
        }
        self.read(&parser, Some(&keys), text)
    }

    fn wants_keys(&self) -> bool {
        let keys = [&self.memory_keys, &self.content_keys, &self.metadata_keys];
        keys.iter().any(|keys| keys.is_some())
    }

    fn keys(&self) -> Result<Keys, Failure> {
        let mut keys = Keys::default();
        if let Some(selected) = &self.memory_keys {
            keys = keys.with_memory(select(selected)?);
        }
        if let Some(selected) = &self.content_keys {
            keys = keys.with_content(select(selected)?);
        }
        if let Some(selected) = &self.metadata_keys {
            keys = keys.with_metadata(select(selected)?);
        }
        Ok(keys)
    }

    fn read(
        &self,
        parser: &impl TextParser,
        keys: Option<&Keys>,
        text: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<Output, Failure> {
        if self.instruction {
            let instruction = parser.format_instruction().map_err(failed)?;
            return Ok(Output {
                text: format!("{instruction}\n"),
                json: json!({ "instruction": instruction }),
                ..Output::default()
            });
        }
        let parsed = match parser.parse(text()?.as_str()) {
            Ok(parsed) => parsed,
            // The message for the model is worth more than an error.
            Err(error) => {
                let feedback = error.feedback();
                return Ok(Output {
                    complaint: feedback.clone(),
                    json: json!({ "error": error.message(), "feedback": feedback }),
                    verdict: Verdict::Bad,
                    ..Output::default()
                });
            }
        };
        let value = match keys.filter(|_| self.wants_keys()) {
            None => parsed.value,
            Some(keys) => {
                let part = |part: Result<Value, Error>| part.map_err(failed);
                let missing = MissingKeys::Refuse;
                let (memory, content, metadata) = (
                    part(keys.to_memory(&parsed.value, missing))?,
                    part(keys.to_content(&parsed.value, missing))?,
                    part(keys.to_metadata(&parsed.value, missing))?,
                );
                json!({
                    "parsed": parsed.value,
                    "memory": memory,
                    "content": content,
                    "metadata": metadata,
                })
            }
        };
        let notes = match parsed.repaired {
            Some(_) => "note: fences that were missing were put in\n".to_owned(),
            None => String::new(),
        };
        Ok(Output {
            text: format!("{value:#}\n"),
            notes,
            json: value,
            ..Output::default()
        })
    }
}
