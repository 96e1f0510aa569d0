//! A model's raw output, read back into a message. For example, `tokenmold parse --format hermes`
//! reads `<tool_call>{"name": "f", "arguments": {}}</tool_call>` as a message with one call.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};
use tokenmold::response_parser::{
    Family, Mode, Release, ResponseSchema, ResponseSchemaBuilder, ResponseTemplate,
    TemplateRelease, Turn, Unrepresentable, family_of_model_dir,
};
use tokenmold::tools::read_response;

use super::agentscope::{AgentScopeArgs, AgentScopeForm};
use super::speech::read_tools;
use super::{Failure, Output, read, read_json, read_stdin, write_out};

/// Arguments of `tokenmold parse`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ParseArgs {
    /// The output to read. Default: standard input.
    #[arg(value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    reader: ReaderArgs,

    /// A file with the prompt that the output follows, as the chat template wrote
    /// it: a prompt may have opened the reasoning.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["response_schema", "agentscope"])]
    prompt: Option<PathBuf>,

    /// A file with the tools that were on offer: arguments that were written as
    /// text become what their schemas say.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["response_schema", "agentscope"])]
    tools: Option<PathBuf>,

    /// Print what happens as the text arrives, as JSON lines: regions that open,
    /// their text, their values, and the message at the end.
    #[arg(long, conflicts_with_all = ["response_schema", "agentscope"])]
    events: bool,

    /// Refuse messages that do not keep to what the response schema says about
    /// values (`enum`, `required`, bounds).
    #[arg(long, requires = "response_schema")]
    validate: bool,

    /// Fail where and when the reference implementation fails.
    #[arg(long, conflicts_with = "agentscope")]
    reference: bool,

    /// The release of transformers whose language a response schema (default: 5.12) or
    /// a response template (default: 5.24) is in.
    #[arg(long, value_name = "RELEASE", value_enum, conflicts_with_all = ["format", "agentscope"])]
    release: Option<Spoken>,

    /// The treatment of values that JSON cannot hold, such as `NaN`.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Beyond::Refuse)]
    unrepresentable: Beyond,

    #[command(flatten)]
    agentscope: AgentScopeArgs,
}

/// The examples of the help, because the options exclude each other in ways that a list of them
/// does not show.
const EXAMPLES: &str = "\
Examples:
  tokenmold parse --format hermes output.txt
  tokenmold parse --response-template template.json --events < output.txt
  tokenmold parse --response-schema response.json output.txt
  tokenmold parse --agentscope markdown-json --required-key thought output.txt
  tokenmold parse --agentscope tags --tag 'thought=[THOUGHT]...[/THOUGHT]' output.txt";

/// The reader of the output.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct ReaderArgs {
    /// A ready-made format by its name (`hermes`, `llama3`, `harmony`, ..).
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    /// A model's folder: its response template or response schema, or else the
    /// ready-made format that the markers in its chat template tell.
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,

    /// A file with a `response_template`, or a `tokenizer_config.json` that has one.
    #[arg(long, value_name = "FILE")]
    response_template: Option<PathBuf>,

    /// A file with a `response_schema` (a JSON Schema with `x-regex` and the
    /// like), or a `tokenizer_config.json` that has one.
    #[arg(long, value_name = "FILE")]
    response_schema: Option<PathBuf>,

    /// A text parser in the manner of AgentScope.
    #[arg(long, value_name = "FORM", value_enum)]
    agentscope: Option<AgentScopeForm>,
}

/// A release of transformers that reads response schemas or response templates.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Spoken {
    /// Schemas: mappings; unlisted keys are dropped.
    #[value(name = "5.0")]
    V5_0,
    /// Schemas: substitutions and `required`; unlisted keys are kept.
    #[value(name = "5.12")]
    V5_12,
    /// Templates: named groups of what closes a region are not looked at.
    #[value(name = "5.23")]
    V5_23,
    /// Templates: those groups are looked at; lists of calls in Python.
    #[value(name = "5.24")]
    V5_24,
}

impl Spoken {
    fn of_schemas(self) -> Result<Release, Failure> {
        match self {
            Spoken::V5_0 => Ok(Release::V5_0),
            Spoken::V5_12 => Ok(Release::V5_12),
            Spoken::V5_23 | Spoken::V5_24 => Err(Failure::new(
                "--release of a response schema is 5.0 or 5.12; later ones read response templates",
            )),
        }
    }

    fn of_templates(self) -> Result<TemplateRelease, Failure> {
        match self {
            Spoken::V5_23 => Ok(TemplateRelease::V5_23),
            Spoken::V5_24 => Ok(TemplateRelease::V5_24),
            Spoken::V5_0 | Spoken::V5_12 => Err(Failure::new(
                "--release of a response template is 5.23 or 5.24; earlier ones read response schemas",
            )),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Beyond {
    /// They are an error.
    Refuse,
    /// The nearest thing that JSON has.
    Replace,
    /// An object that says what they are.
    Tag,
}

impl From<Beyond> for Unrepresentable {
    fn from(policy: Beyond) -> Unrepresentable {
        match policy {
            Beyond::Refuse => Unrepresentable::Refuse,
            Beyond::Replace => Unrepresentable::Replace,
            Beyond::Tag => Unrepresentable::Tag,
        }
    }
}

/// The schema or template that reads the output.
enum Known {
    Schema(ResponseSchema),
    Template(ResponseTemplate),
}

pub(crate) fn run(args: &ParseArgs) -> Result<Output, Failure> {
    if let Some(form) = args.reader.agentscope {
        let text = || args.text();
        return args.agentscope.run(form, args.unrepresentable.into(), text);
    }
    args.agentscope.refuse_all()?;
    let place = match &args.output {
        Some(file) => file.display().to_string(),
        None => "standard input".to_owned(),
    };
    let fail = |error| Failure::of(&place, error);
    match args.known()? {
        Known::Schema(_) if args.events => Err(Failure::new(
            "--events wants a response template; a response schema reads whole texts",
        )),
        Known::Schema(schema) => {
            let text = args.text()?;
            let message = match args.validate {
                true => schema.parse_validated(&text),
                false => schema.parse(&text),
            };
            Ok(printed(message.map_err(fail)?))
        }
        Known::Template(template) => {
            let prompt = match &args.prompt {
                Some(file) => text_of(file.display(), read(file)?)?,
                None => String::new(),
            };
            let tools = match &args.tools {
                Some(file) => Some(read_tools(file)?),
                None => None,
            };
            if args.events {
                return args.stream(&template, &prompt, tools.as_deref());
            }
            let text = args.text()?;
            let message = match tools {
                Some(tools) => read_response(&template, &prompt, &tools, &text),
                None => template.behind_anchor(&prompt).and_then(|behind| {
                    template.parse_turn(&Turn::after(behind.unwrap_or_default()), &text)
                }),
            };
            Ok(printed(message.map_err(fail)?))
        }
    }
}

fn printed(message: Value) -> Output {
    Output {
        text: format!("{message:#}\n"),
        json: message,
        ..Output::default()
    }
}

fn text_of(place: impl std::fmt::Display, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::new(format!("{place} is not UTF-8 at byte {at}"))
    })
}

impl ParseArgs {
    pub(super) fn prints_events(&self) -> bool {
        self.events
    }

    /// The text to read.
    fn text(&self) -> Result<String, Failure> {
        match &self.output {
            Some(file) => text_of(file.display(), read(file)?),
            None => text_of("standard input", read_stdin()?),
        }
    }

    fn known(&self) -> Result<Known, Failure> {
        let reader = &self.reader;
        if let Some(file) = &reader.response_schema {
            return Ok(Known::Schema(read_schema(file, &self.schemas()?)?));
        }
        if let Some(folder) = &reader.model {
            return self.of_model(folder);
        }
        let (place, json) = match (&reader.format, &reader.response_template) {
            (Some(name), _) => {
                let family: Family = name.parse().map_err(|e| Failure::new(format!("{e}")))?;
                return self.family(family).map(Known::Template);
            }
            (None, Some(file)) => (file.display().to_string(), template_in(file)?),
            (None, None) => return Err(Failure::new("it is not said how to read the output")),
        };
        self.template(&place, &json).map(Known::Template)
    }

    /// Returns the options for reading response schemas.
    fn schemas(&self) -> Result<ResponseSchemaBuilder, Failure> {
        let release = self.release.map(Spoken::of_schemas).transpose()?;
        Ok(ResponseSchema::builder()
            .with_mode(self.mode())
            .with_release(release.unwrap_or_default())
            .with_unrepresentable(self.unrepresentable.into()))
    }

    fn mode(&self) -> Mode {
        match self.reference {
            true => Mode::Reference,
            false => Mode::Lenient,
        }
    }

    fn template(&self, place: &str, json: &Value) -> Result<ResponseTemplate, Failure> {
        let release = self.release.map(Spoken::of_templates).transpose()?;
        ResponseTemplate::builder()
            .with_mode(self.mode())
            .with_release(release.unwrap_or_default())
            .with_unrepresentable(self.unrepresentable.into())
            .build(json)
            .map_err(|e| Failure::of(place, e))
    }

    /// Returns the schema or template in a model's folder.
    fn of_model(&self, folder: &Path) -> Result<Known, Failure> {
        let config = folder.join("tokenizer_config.json");
        let json = match config.is_file() {
            true => read_json(&config)?,
            false => Value::Null,
        };
        let place = config.display().to_string();
        if let Some(template) = json.get("response_template").filter(|t| !t.is_null()) {
            return self.template(&place, template).map(Known::Template);
        }
        if json.get("response_schema").is_some_and(|s| !s.is_null()) {
            let schema = read_schema(&config, &self.schemas()?)?;
            return Ok(Known::Schema(schema));
        }
        let family = family_of_model_dir(folder).map_err(|e| Failure::new(e.to_string()))?;
        self.family(family).map(Known::Template)
    }

    fn family(&self, family: Family) -> Result<ResponseTemplate, Failure> {
        if self.release.is_some() {
            return Err(Failure::new(format!(
                "--release is for response schemas and templates; {} is read in a language of no release",
                family.name()
            )));
        }
        ResponseTemplate::builder()
            .with_mode(self.mode())
            .with_unrepresentable(self.unrepresentable.into())
            .family(family)
            .map_err(|e| Failure::of(family.name(), e))
    }

    /// Reads while the text arrives.
    fn stream(
        &self,
        template: &ResponseTemplate,
        prompt: &str,
        tools: Option<&[Value]>,
    ) -> Result<Output, Failure> {
        let said = |error: tokenmold::response_parser::Error| Failure::new(error.to_string());
        let offered = tools.map(|tools| Value::from(tools.to_vec()));
        let behind = template.behind_anchor(prompt).map_err(said)?;
        let turn = Turn::after(behind.unwrap_or_default());
        let turn = match &offered {
            Some(tools) => turn.with_tools(tools),
            None => turn,
        };
        let tell = |value: &Value| write_out(&format!("{value}\n"));
        let mut events = Vec::new();
        let mut stream = template.stream_with(&turn, &mut events).map_err(said)?;
        let mut input: Box<dyn io::Read> = match &self.output {
            Some(file) => {
                Box::new(std::fs::File::open(file).map_err(|e| Failure::of(file.display(), e))?)
            }
            None => Box::new(io::stdin().lock()),
        };
        let mut held: Vec<u8> = Vec::new();
        let mut piece = [0; 4096];
        loop {
            for event in events.drain(..) {
                tell(&event.to_json())?;
            }
            let read = input.read(&mut piece);
            let read = read.map_err(|e| Failure::of("the output", e))?;
            if read == 0 {
                break;
            }
            held.extend_from_slice(&piece[..read]);
            // A character may be cut in two.
            let whole = match std::str::from_utf8(&held) {
                Ok(text) => text.len(),
                Err(e) if e.error_len().is_none() => e.valid_up_to(),
                Err(_) => return Err(Failure::new("the output is not UTF-8")),
            };
            let text: Vec<u8> = held.drain(..whole).collect();
            let fed = stream.feed_into(&String::from_utf8_lossy(&text), &mut events);
            if let Err(error) = fed {
                for event in events.drain(..) {
                    tell(&event.to_json())?;
                }
                return Err(said(error));
            }
        }
        if !held.is_empty() {
            return Err(Failure::new("the output ends inside of a character"));
        }
        let end = stream.finish().map_err(said)?;
        for event in &end.events {
            tell(&event.to_json())?;
        }
        let text = format!("{}\n", json!({"type": "message", "message": end.message}));
        Ok(Output {
            text,
            json: json!({"type": "message", "message": end.message}),
            ..Output::default()
        })
    }
}

/// The members that tell the settings of a tokenizer from a schema or a template, because these
/// have none of them.
const CONFIG_KEYS: [&str; 5] = [
    "added_tokens_decoder",
    "chat_template",
    "model_max_length",
    "tokenizer_class",
    "eos_token",
];

/// The keywords by which a response schema can begin. They tell it from a response template,
/// because both are JSON objects.
const SCHEMA_KEYWORDS: [&str; 13] = [
    "type",
    "properties",
    "additionalProperties",
    "items",
    "prefixItems",
    "const",
    "default",
    "x-regex",
    "x-regex-iterator",
    "x-regex-key-value",
    "x-parser",
    "x-mapping",
    "x-mapping-regex",
];

/// Returns the advice about a file in which there is not the thing that was asked for.
fn elsewhere(file: &Path, wanted: &str, json: &Value) -> Failure {
    let file = file.display();
    let other = match wanted {
        "response_schema" => "response_template",
        _ => "response_schema",
    };
    let option = other.replace('_', "-");
    if json.get(other).is_some() {
        return Failure::new(format!(
            "{file} has no `{wanted}` but a `{other}`: read it with --{option} {file}"
        ));
    }
    let is_config = CONFIG_KEYS.iter().any(|key| json.get(key).is_some());
    let what = match is_config {
        true => format!("{file} is a tokenizer's configuration without a `{wanted}`"),
        false => format!("{file} is no `{wanted}`, and has none"),
    };
    Failure::new(format!(
        "{what}; write one into a file of its own, or name a ready-made format: --format {}",
        Family::all()
            .map(Family::name)
            .collect::<Vec<_>>()
            .join("|")
    ))
}

/// The response schema of a file, or of the model's folder that is named.
pub(super) fn read_schema(
    path: &Path,
    options: &ResponseSchemaBuilder,
) -> Result<ResponseSchema, Failure> {
    let file = config_in(path);
    let json = read_json(&file)?;
    let own = json.get("response_schema").filter(|s| !s.is_null());
    let is_schema = SCHEMA_KEYWORDS.iter().any(|key| json.get(key).is_some());
    let is_config = CONFIG_KEYS.iter().any(|key| json.get(key).is_some());
    let schema = match own {
        Some(schema) => schema,
        // A schema may be `true`, which is no object.
        None if json.is_object() && (is_config || !is_schema) => {
            return Err(elsewhere(&file, "response_schema", &json));
        }
        None => &json,
    };
    let schema = options.build(schema);
    schema.map_err(|e| Failure::of(file.display(), e))
}

/// The response template of a file, as JSON.
pub(super) fn template_in(path: &Path) -> Result<Value, Failure> {
    let file = config_in(path);
    let mut json = read_json(&file)?;
    if let Some(own) = json.get_mut("response_template").filter(|t| !t.is_null()) {
        return Ok(own.take());
    }
    match json.get("fields") {
        Some(_) => Ok(json),
        None => Err(elsewhere(&file, "response_template", &json)),
    }
}

/// The file itself, or the one in a model's folder.
fn config_in(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join("tokenizer_config.json"),
        false => path.to_owned(),
    }
}
