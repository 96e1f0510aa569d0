//! Chat templates: which there are, what they write, and where they are kept. For example,
//! `tokenmold template render --model DIR --messages chat.json --generation-prompt`.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tokenmold::chat::{
    Chat, ChatTemplates, ControlTokens, Ending, Handling, Limits, Moment, Numbers, exact,
};
use tokenmold::response_parser::Family;
use tokenmold::tokenizer::Tokenizer;
use tokenmold::{Error, embedded, model};

use super::{Failure, Output, read, read_json};

/// The commands of `tokenmold template`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum TemplateCommand {
    /// Write a chat out as the model is given it. With --json, `generated` are the bytes
    /// that the model says, by the template's generation blocks, and
    /// `generated_characters` the same in characters.
    Render(Box<RenderArgs>),
    /// List the templates of a model, and the special tokens that they name.
    List(ListArgs),
    /// Write templates into a model's folder.
    Save(SaveArgs),
}

/// The source of the templates; the embedded model by default.
#[derive(Debug, clap::Args)]
struct TemplateSource {
    /// A model's folder, or a GGUF file.
    #[arg(long, value_name = "PATH", conflicts_with = "template")]
    model: Option<PathBuf>,

    /// A file with a template: Jinja, or JSON such as `tokenizer_config.json`. As
    /// NAME=FILE one of several; may be given several times then.
    #[arg(long, value_name = "FILE")]
    template: Vec<String>,

    /// A special token that templates may name, as `bos_token=<s>`. May be given
    /// several times.
    #[arg(long, value_name = "NAME=TEXT", value_parser = pair)]
    special_token: Vec<(String, String)>,
}

/// Arguments of `tokenmold template render`.
#[derive(Debug, clap::Args)]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    source: TemplateSource,

    /// A file with the chat: a list of messages, or an object with `messages`, and
    /// perhaps `tools` and `documents`. `-` for standard input.
    #[arg(long, value_name = "FILE")]
    messages: PathBuf,

    /// A file with tools: a list, passed to the template as it is.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,

    /// A file with documents: a list of objects, `title` and `text` by convention.
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,

    /// A variable of the template, as `enable_thinking=false`. The value is JSON,
    /// or else a text. May be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    var: Vec<(String, String)>,

    /// The template of that name, where there are several.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// End with the opening of an answer of the model.
    #[arg(long)]
    generation_prompt: bool,

    /// End inside the last message, so that the model continues it.
    #[arg(long, conflicts_with = "generation_prompt")]
    continue_last: bool,

    /// The moment that it is for templates that print a date, as
    /// `2026-02-09T07:05:00`. Default: now.
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    now: Option<Moment>,

    /// The treatment of control tokens in the chat's own texts, such as `<|im_end|>`. Default:
    /// nothing.
    #[arg(long, value_name = "HOW", value_enum)]
    sanitize: Option<Sanitize>,

    /// A control token for that. May be given several times. Default: those of the
    /// `tokenizer.json` in the model's folder that are special or in the template.
    #[arg(long, value_name = "TEXT", requires = "sanitize")]
    control_token: Vec<String>,

    /// A limit of rendering: `instructions`, or `source`, `work` or `output` in bytes, as
    /// `instructions=50000000`. May be given several times.
    #[arg(long, value_name = "NAME=NUMBER", value_parser = limit)]
    limit: Vec<(Cost, u64)>,

    /// Print the tokens in place of the text: a number and what it stands for on
    /// each line.
    #[arg(long)]
    tokens: bool,

    /// The tokenizer for that: a `tokenizer.json` or the folder that holds it.
    /// Default: the model's own.
    #[arg(long, value_name = "FILE", requires = "tokens")]
    tokenizer: Option<PathBuf>,
}

/// Arguments of `tokenmold template list`.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    source: TemplateSource,

    /// Print the text of the templates too.
    #[arg(long)]
    source_text: bool,
}

/// Arguments of `tokenmold template save`.
#[derive(Debug, clap::Args)]
pub(crate) struct SaveArgs {
    #[command(flatten)]
    source: TemplateSource,

    /// The folder to write them into. Templates that it has and these have not are
    /// removed; other files stay.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// The treatment of control tokens in texts of a chat.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Sanitize {
    /// The chat is refused.
    Refuse,
    /// A zero-width space is put into each.
    Break,
}

impl From<Sanitize> for Handling {
    fn from(sanitize: Sanitize) -> Handling {
        match sanitize {
            Sanitize::Refuse => Handling::Refuse,
            Sanitize::Break => Handling::Break,
        }
    }
}

/// A limit of [`Limits`].
#[derive(Clone, Copy, Debug)]
enum Cost {
    Source,
    Instructions,
    Work,
    Output,
}

fn limit(text: &str) -> Result<(Cost, u64), String> {
    let (name, number) = pair(text)?;
    let cost = match name.as_str() {
        "source" => Cost::Source,
        "instructions" => Cost::Instructions,
        "work" => Cost::Work,
        "output" => Cost::Output,
        _ => return Err("the limits are source, instructions, work and output".to_owned()),
    };
    let number = number.parse();
    Ok((cost, number.map_err(|_| "expected a number".to_owned())?))
}

fn limits_of(given: &[(Cost, u64)]) -> Limits {
    given
        .iter()
        .fold(Limits::default(), |limits, (cost, number)| {
            let bytes = usize::try_from(*number).unwrap_or(usize::MAX);
            match cost {
                Cost::Source => limits.with_source(bytes),
                Cost::Instructions => limits.with_instructions(*number),
                Cost::Work => limits.with_work(*number),
                Cost::Output => limits.with_output(bytes),
            }
        })
}

fn moment(text: &str) -> Result<Moment, String> {
    Moment::parse(text).ok_or_else(|| "expected a moment such as 2026-02-09T07:05:00".to_owned())
}

fn failed(error: Error) -> Failure {
    Failure::new(error.to_string())
}

impl TemplateSource {
    /// The templates, and the model's tokenizer where it is at hand.
    fn read(&self, tokenizer: Tokens) -> Result<(ChatTemplates, Option<Tokenizer>), Failure> {
        let (templates, own) = match (&self.model, self.template.as_slice()) {
            (Some(path), _) => of_model(path, tokenizer)?,
            (None, []) => {
                let loaded = embedded::load().map_err(failed)?;
                (loaded.chat, Some(loaded.tokenizer))
            }
            (None, files) => (of_files(files)?, None),
        };
        if self.special_token.is_empty() {
            return Ok((templates, own));
        }
        let mut tokens = templates.special_tokens().clone();
        for (name, text) in &self.special_token {
            tokens.insert(name.clone(), text.as_str().into());
        }
        // There any name is one of a special token.
        let all = Map::from_iter([("extra_special_tokens".to_owned(), Value::Object(tokens))]);
        Ok((templates.with_special_tokens(all), own))
    }
}

/// True if the model's tokenizer is wanted too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tokens {
    Wanted,
    Unwanted,
}

fn of_model(path: &Path, tokens: Tokens) -> Result<(ChatTemplates, Option<Tokenizer>), Failure> {
    let fail = |error: Error| Failure::of(path.display(), error);
    if path.is_dir() && tokens == Tokens::Unwanted {
        return Ok((ChatTemplates::from_directory(path).map_err(fail)?, None));
    }
    let (tokenizer, templates) = model::load_text(path).map_err(fail)?;
    Ok((templates, Some(tokenizer)))
}

/// The templates of files, one without a name or several with names.
fn of_files(files: &[String]) -> Result<ChatTemplates, Failure> {
    let mut templates = ChatTemplates::none();
    for (at, file) in files.iter().enumerate() {
        let (name, file) = match file.split_once('=') {
            Some((name, path)) if !Path::new(file).exists() => (Some(name), Path::new(path)),
            _ => (None, Path::new(file)),
        };
        if name.is_none() && at > 0 {
            return Err(Failure::new(
                "several templates need names: --template NAME=FILE",
            ));
        }
        let source = String::from_utf8(read(file)?)
            .map_err(|_| Failure::new(format!("{} is not UTF-8", file.display())))?;
        let is_json = file
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("json"));
        match is_json {
            false => templates.set(name, source),
            true => {
                let json: Value = serde_json::from_str(&source)
                    .map_err(|e| Failure::new(format!("{} is not JSON: {e}", file.display())))?;
                if json.get("chat_template").is_none_or(Value::is_null) {
                    return Err(Failure::new(format!(
                        "{} has no `chat_template`",
                        file.display()
                    )));
                }
                templates = ChatTemplates::from_config(&json)
                    .map_err(|e| Failure::of(file.display(), e))?;
            }
        }
    }
    Ok(templates)
}

pub(crate) fn run(command: &TemplateCommand) -> Result<Output, Failure> {
    match command {
        TemplateCommand::Render(args) => render(args),
        TemplateCommand::List(args) => list(args),
        TemplateCommand::Save(args) => save(args),
    }
}

/// JSON of a chat, numbers that JSON cannot hold included ([`Numbers::Exact`]).
fn read_exact(file: &Path) -> Result<Value, Failure> {
    let text = String::from_utf8(read(file)?)
        .map_err(|_| Failure::new(format!("{} is not UTF-8", file.display())))?;
    exact::read(&text).map_err(|e| Failure::of(file.display(), e))
}

/// The list of a file, which is called `what`.
fn list_of(file: &Path, what: &str) -> Result<Vec<Value>, Failure> {
    match read_exact(file)? {
        Value::Array(list) => Ok(list),
        _ => Err(Failure::new(format!(
            "{} is not a list of {what}",
            file.display()
        ))),
    }
}

/// A conversation in a file.
pub(super) struct ChatFile {
    pub(super) messages: Vec<Value>,
    pub(super) tools: Option<Vec<Value>>,
    documents: Option<Vec<Value>>,
}

/// A list of messages, or an object that has one.
pub(super) fn read_chat(file: &Path) -> Result<ChatFile, Failure> {
    chat_of(file, read_json(file)?)
}

fn chat_of(file: &Path, json: Value) -> Result<ChatFile, Failure> {
    let wrong = |what: &str| Failure::new(format!("{}: {what}", file.display()));
    match json {
        Value::Array(messages) => Ok(ChatFile {
            messages,
            tools: None,
            documents: None,
        }),
        Value::Object(mut chat) => {
            let mut part = |key: &str| match chat.remove(key) {
                None | Some(Value::Null) => Ok(None),
                Some(Value::Array(list)) => Ok(Some(list)),
                Some(_) => Err(wrong(&format!("`{key}` is not a list"))),
            };
            Ok(ChatFile {
                messages: part("messages")?.ok_or_else(|| wrong("there is no list `messages`"))?,
                tools: part("tools")?,
                documents: part("documents")?,
            })
        }
        _ => Err(wrong("this is not a list of messages")),
    }
}

fn render(args: &RenderArgs) -> Result<Output, Failure> {
    let wanted = match args.tokens && args.tokenizer.is_none() {
        true => Tokens::Wanted,
        false => Tokens::Unwanted,
    };
    let (templates, own) = args.source.read(wanted)?;
    let templates = templates.with_limits(limits_of(&args.limit));
    let file = chat_of_args(args)?;
    let mut chat = prepared(args, &file);
    if let Some(name) = &args.name {
        check_name(&templates, name)?;
        chat = chat.with_template(name);
    }
    let controls = match args.sanitize {
        Some(sanitize) => Some(controls(args, sanitize.into(), &templates, &chat)?),
        None => None,
    };
    if let Some(controls) = &controls {
        chat = chat.with_control_tokens(controls);
    }
    if !args.tokens {
        return text_of(&templates, &chat);
    }
    let given = match &args.tokenizer {
        Some(path) => Some(read_tokenizer(path)?),
        None => own,
    };
    let tokenizer = given.ok_or_else(|| {
        Failure::new("a template in a file has no tokenizer: name one by --tokenizer")
    })?;
    tokens_of(&templates, &chat, &tokenizer)
}

/// The chat of the arguments' files.
fn chat_of_args(args: &RenderArgs) -> Result<ChatFile, Failure> {
    let mut file = chat_of(&args.messages, read_exact(&args.messages)?)?;
    if let Some(tools) = &args.tools {
        file.tools = Some(list_of(tools, "tools")?);
    }
    if let Some(documents) = &args.documents {
        file.documents = Some(list_of(documents, "documents")?);
    }
    Ok(file)
}

/// The chat with what the arguments say about it.
fn prepared<'a>(args: &'a RenderArgs, file: &'a ChatFile) -> Chat<'a> {
    let ending = match () {
        () if args.generation_prompt => Ending::GenerationPrompt,
        () if args.continue_last => Ending::Continue("content"),
        () => Ending::Closed,
    };
    let mut chat = Chat::new(&file.messages)
        .with_numbers(Numbers::Exact)
        .with_ending(ending);
    if let Some(tools) = &file.tools {
        chat = chat.with_tools(tools);
    }
    if let Some(documents) = &file.documents {
        chat = chat.with_documents(documents);
    }
    for (name, value) in &args.var {
        let value = exact::read(value).unwrap_or_else(|_| json!(value));
        chat = chat.with_variable(name, value);
    }
    if let Some(now) = args.now {
        chat = chat.with_now(now);
    }
    chat
}

/// Refuses the name of a template that is not there: it would be taken for a template.
fn check_name(templates: &ChatTemplates, name: &str) -> Result<(), Failure> {
    let names = templates.names();
    if names.contains(&name) {
        return Ok(());
    }
    Err(Failure::new(match names.as_slice() {
        [] => format!("there is no template {name:?}, but one without a name"),
        names => format!(
            "there is no template {name:?}; there are {}",
            names.join(", ")
        ),
    }))
}

/// The text that the model is given.
fn text_of(templates: &ChatTemplates, chat: &Chat<'_>) -> Result<Output, Failure> {
    let rendered = templates.apply(chat).map_err(failed)?;
    let generated = rendered.generated().ok();
    let mut json = json!({ "text": rendered.text });
    if let Some(spans) = generated.filter(|spans| !spans.is_empty()) {
        let spans: Vec<Value> = spans.iter().map(|s| json!([s.start, s.end])).collect();
        json["generated"] = spans.into();
        let spans = rendered.spans.iter().map(|s| json!([s.start, s.end]));
        json["generated_characters"] = spans.collect();
    }
    let mut text = rendered.text;
    // To the byte, but for the prompt of a shell that would stand behind it.
    if io::stdout().is_terminal() && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(Output {
        text,
        json,
        ..Output::default()
    })
}

/// The tokens of that text, one on each line.
fn tokens_of(
    templates: &ChatTemplates,
    chat: &Chat<'_>,
    tokenizer: &Tokenizer,
) -> Result<Output, Failure> {
    let encoded = templates.encode(chat, tokenizer).map_err(failed)?;
    let mut text = String::new();
    for token in &encoded.tokens {
        let _ = writeln!(text, "{token:>7}  {:?}", tokenizer.describe(*token));
    }
    let mut json = json!({ "text": encoded.rendered.text, "tokens": encoded.tokens });
    if let Ok(mask) = encoded.assistant_mask() {
        json["assistant_mask"] = mask.into();
    }
    Ok(Output {
        text,
        json,
        ..Output::default()
    })
}

/// The control tokens that a chat is to have none of.
fn controls(
    args: &RenderArgs,
    handling: Handling,
    templates: &ChatTemplates,
    chat: &Chat<'_>,
) -> Result<ControlTokens, Failure> {
    if !args.control_token.is_empty() {
        return Ok(ControlTokens::new(args.control_token.clone(), handling));
    }
    let folder = args.source.model.as_ref().filter(|path| path.is_dir());
    let folder = folder.ok_or_else(|| {
        Failure::new("which texts are control tokens is known of a model's folder alone: name them by --control-token")
    })?;
    let tokenizer = read_json(&folder.join("tokenizer.json"))?;
    let source = templates.source_for(chat).map_err(failed)?;
    Ok(ControlTokens::of_tokenizer(&tokenizer, source, handling))
}

fn read_tokenizer(path: &Path) -> Result<Tokenizer, Failure> {
    let read = match path.is_dir() {
        true => Tokenizer::from_directory(path),
        false => Tokenizer::from_json(&read(path)?),
    };
    read.map_err(|e| Failure::of(path.display(), e))
}

fn list(args: &ListArgs) -> Result<Output, Failure> {
    let (templates, _) = args.source.read(Tokens::Unwanted)?;
    let names = templates.names();
    let names: Vec<Option<&str>> = match names.is_empty() {
        true if templates.is_empty() => Vec::new(),
        true => vec![None],
        false => names.into_iter().map(Some).collect(),
    };
    let mut text = String::new();
    let mut listed = Vec::new();
    for name in names {
        let mut chat = Chat::new(&[]);
        if let Some(name) = name {
            chat = chat.with_template(name);
        }
        let source = templates.source_for(&chat).map_err(failed)?;
        let family = Family::of_chat_template(source);
        let tools = source.contains("tools");
        let _ = writeln!(
            text,
            "{:<16} {} bytes, {}, {}",
            name.unwrap_or("(no name)"),
            source.len(),
            match tools {
                true => "reads tools",
                false => "reads no tools",
            },
            match &family {
                Ok(family) => {
                    let marks = family.marks_in(source).unwrap_or_default();
                    format!("answers as {family} (it has {})", marks.join(", "))
                }
                Err(unknown) => unknown.to_string(),
            },
        );
        if args.source_text {
            let _ = writeln!(text, "{source}");
        }
        listed.push(json!({
            "name": name,
            "bytes": source.len(),
            "tools": tools,
            "format": family.as_ref().ok(),
            "candidates": family.as_ref().err().map(|unknown| unknown.candidates()),
            "source": source,
        }));
    }
    if listed.is_empty() {
        text += "there are no chat templates\n";
    }
    for (name, token) in templates.special_tokens() {
        let _ = writeln!(text, "{name:<16} {token}");
    }
    Ok(Output {
        text,
        json: json!({ "templates": listed, "special_tokens": templates.special_tokens() }),
        ..Output::default()
    })
}

fn save(args: &SaveArgs) -> Result<Output, Failure> {
    let (templates, _) = args.source.read(Tokens::Unwanted)?;
    if templates.is_empty() {
        return Err(Failure::new("there are no chat templates to save"));
    }
    std::fs::create_dir_all(&args.out).map_err(|e| Failure::of(args.out.display(), e))?;
    templates.save(&args.out).map_err(failed)?;
    let names = match templates.names().as_slice() {
        [] => "one template".to_owned(),
        names => names.join(", "),
    };
    let tokens: Map<String, Value> = templates.special_tokens().clone();
    Ok(Output {
        text: format!("{}: {names}\n", args.out.display()),
        json: json!({ "out": args.out, "names": templates.names(), "special_tokens": tokens }),
        ..Output::default()
    })
}
