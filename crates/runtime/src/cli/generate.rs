//! A text under a constraint. For example, `tokenmold generate --schema person.json --prompt 'Ada,
//! 36, from London'`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use serde_json::{Value, json};
use tokenmold::ErrorKind;
use tokenmold::chat::{ChatTemplates, chatml, with_own_system};
use tokenmold::fsm_index::Landing;
use tokenmold::generate::{
    Explanations, ForcedTokens, Generation, LogProbabilities, Prompt, Request, Session, TokenBudget,
};
use tokenmold::model::{LoadedModel, Model as _};
use tokenmold::response_parser::ResponseSchema;
use tokenmold::sampling::SamplingConfig;
use tokenmold::tokenizer::{Surround, Tokenizer};
use tokenmold::tools::read_response;

use super::compiled::Compiled;
use super::figures::{count, describe, figures, is_whole, shortfall};
use super::model::{ModelArgs, SamplingArgs};
use super::parse::read_schema;
use super::rule::{Rule, RuleArgs};
use super::schema::{SchemaOptions, Use};
use super::screen::{Marks, Screen};
use super::speech::{AskedCalls, Form, Speech, read_tools, wrapped};
use super::template::read_chat;
use super::{Failure, Format, Notes, Output, Verdict, batch, read_stdin, trace};

/// Arguments of `tokenmold generate`.
#[derive(Debug, clap::Args)]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    pub(super) asked: Asked,

    /// A text that the model reads before that. Default: the schema, if there is one.
    #[arg(long, value_name = "TEXT")]
    pub(super) system: Option<String>,

    /// Give the prompt to the model as it is, without the marks of a chat.
    #[arg(long, conflicts_with = "messages")]
    raw: bool,

    #[command(flatten)]
    bound: RuleArgs,

    #[command(flatten)]
    message: MessageArgs,

    #[command(flatten)]
    pub(super) options: SchemaOptions,

    #[command(flatten)]
    pub(super) model: ModelArgs,

    #[command(flatten)]
    pub(super) sampling: SamplingArgs,

    /// Most tokens to generate.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(super) max_tokens: usize,

    /// The file for the result, in place of standard output.
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,

    /// Complete: the text is complete within the most tokens, and a number that the
    /// shortest text exceeds is refused. Cut: it ends where they do.
    #[arg(long, value_enum, value_name = "END", default_value_t = BudgetArg::Complete)]
    budget: BudgetArg,

    /// The end of a text within the most tokens: soft begins nothing near it that the text can do
    /// without, hard goes on as long as it can be completed, and a number is that of the last
    /// tokens that are soft.
    #[arg(long, value_name = "soft|hard|N", default_value = "soft", value_parser = landing)]
    landing: Landing,

    /// Least tokens to generate.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    min_tokens: usize,

    /// End the text where this one begins. May be given several times.
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,

    /// Let the model say what it likes: to see what the mask is for.
    #[arg(long)]
    no_mask: bool,

    /// Ask the model for every token, also where only one text can follow.
    #[arg(long)]
    no_forced: bool,

    /// Write what happens at each step to this file, as JSON lines; `tokenmold
    /// view` makes a page of them.
    #[arg(long, value_name = "FILE", conflicts_with = "batch")]
    trace: Option<PathBuf>,

    /// Print the N most probable tokens before and after the mask, as a table.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["batch", "out"])]
    show_probabilities: usize,

    /// With `--batch`: how many texts are generated side by side. Each takes
    /// memory for what it remembers.
    #[arg(long, value_name = "N", default_value_t = 4, requires = "batch")]
    pub(super) lanes: usize,
}

/// A text that comes to the most tokens.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum BudgetArg {
    Complete,
    Cut,
}

fn landing(text: &str) -> Result<Landing, String> {
    match text {
        "soft" => Ok(Landing::Soft),
        "hard" => Ok(Landing::Hard),
        number => number
            .parse()
            .map(Landing::Within)
            .map_err(|_| "soft, hard or a number of tokens".to_owned()),
    }
}

/// The request to the model.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Asked {
    /// The request to the model; `-` for standard input.
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// A file with a conversation: a list of messages, or an object with
    /// `messages` and perhaps `tools`; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    messages: Option<PathBuf>,

    /// A file with a request on each line, as JSON: `prompt` or `messages`, and
    /// where wanted `id`, `system`, `schema`, `regex`, `max_tokens`, `temperature`
    /// and `seed` in place of the options; `-` for standard input. Prints a line
    /// for each, in order.
    #[arg(long, value_name = "FILE")]
    pub(super) batch: Option<PathBuf>,
}

/// The message that the output is. With any of these it is read and printed as a message, and bound
/// by the format if there is one.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Messages")]
struct MessageArgs {
    /// A file with tools that the model may call: a list of objects with `name`,
    /// `description` and `parameters` (a JSON Schema), bare or as
    /// `{"function": {...}}`. A schema or regular expression binds what is no call.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,

    /// The calls: auto for as the model likes, none, required for one at least, or the name of the tool that is called. A
    /// call that must come is all of the answer, behind the reasoning.
    #[arg(long, value_name = "CHOICE", default_value = "auto", hide_default_value = true, value_parser = |word: &str| Ok::<_, String>(AskedCalls::from(word)))]
    tool_choice: AskedCalls,

    /// The ready-made format in which the model writes calls and reasoning, by its name. Default:
    /// what the markers in its chat template tell.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    /// The same by a file with a response template.
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    response_template: Option<PathBuf>,

    /// A file with the response schema by which the output is read. It does not bind the output.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "response_template"])]
    response_schema: Option<PathBuf>,
}

impl MessageArgs {
    /// Returns the source that says how the model writes, if messages are wanted.
    fn form<'a>(&'a self, templates: &'a ChatTemplates, offers: bool) -> Option<Form<'a>> {
        match (&self.format, &self.response_template) {
            (Some(name), _) => Some(Form::Named(name)),
            (None, Some(file)) => Some(Form::Template(file)),
            (None, None) if self.response_schema.is_some() => None,
            (None, None) => offers.then_some(Form::Own(templates)),
        }
    }
}

/// The number of most probable tokens that a trace lists for each step. It is few, because each
/// costs a line of the trace for every token.
const TRACED_PROBABILITIES: usize = 5;

/// The rule that binds and the schema that reads the outputs of a model, besides its own files.
pub(super) struct Means {
    pub(super) rule: Option<Rule>,
    pub(super) tools: Vec<Value>,
    reader: Option<ResponseSchema>,
}

/// One conversation, ready to be generated.
pub(super) struct ReadyChat {
    prompt: Prompt,
    /// The prompt as a text.
    written: String,
    speech: Option<Speech>,
    pub(super) compiled: Option<Arc<Compiled>>,
    /// A line about the prompt, for people.
    note: String,
}

impl GenerateArgs {
    pub(super) fn is_batch(&self) -> bool {
        self.asked.batch.is_some()
    }

    /// Tells whether the rule binds all outputs in the same way: not by what a prompt has begun
    /// already.
    pub(super) fn shares_rule(&self) -> bool {
        let MessageArgs {
            tools,
            tool_choice: _,
            format,
            response_template,
            response_schema,
        } = &self.message;
        let has_form = format.is_some()
            || response_template.is_some()
            || tools.is_some() && response_schema.is_none();
        !self.no_mask && !has_form
    }

    /// Reads the files that are named.
    pub(super) fn means(&self) -> Result<Means, Failure> {
        let rule = self.bound.rule(&self.options, Use::Generate)?;
        let tools = match &self.message.tools {
            Some(file) => read_tools(file)?,
            None => Vec::new(),
        };
        let reader = match &self.message.response_schema {
            Some(file) => Some(read_schema(file, &ResponseSchema::builder())?),
            None => None,
        };
        Ok(Means {
            rule,
            tools,
            reader,
        })
    }

    /// Writes the prompt and compiles what binds the output. `shared` is the constraint
    /// that other conversations have too.
    pub(super) fn ready(
        &self,
        loaded: &LoadedModel,
        means: &Means,
        messages: &[Value],
        system: Option<&str>,
        shared: Option<&Arc<Compiled>>,
    ) -> Result<ReadyChat, Failure> {
        let Means { rule, tools, .. } = means;
        let schema = rule.as_ref().and_then(Rule::schema);
        let own_system = system;
        let mut note = String::new();
        let prompt = match self.raw || loaded.chat.is_empty() {
            true => Prompt::Text(spoken(messages)?),
            false => {
                let system = match (system, schema) {
                    (Some(system), _) => Some(system.to_owned()),
                    (None, Some(schema)) => Some(chatml::schema_system(schema)),
                    (None, None) => None,
                };
                let of_schema = system.is_some() && own_system.is_none();
                let write = |system: Option<String>| {
                    let (system, turns) = with_own_system(system, messages);
                    let written = loaded
                        .chat
                        .prompt_with_tools(system.as_deref(), tools, turns);
                    written
                        .map_err(|error| Failure::new(format!("{error}; `--raw` goes without it")))
                };
                let mut written = write(system)?;
                let room = loaded
                    .model
                    .context_length()
                    .saturating_sub(self.max_tokens);
                let tokens = loaded.tokenizer.encode(&written, Surround::Omit);
                if of_schema && tokens.is_ok_and(|tokens| tokens.len() > room) {
                    written = write(None)?;
                    note = format!(
                        "the schema binds the text and is not shown to the model: with it the prompt and \
                         {} would not fit the context of {}\n",
                        count(self.max_tokens, "token"),
                        loaded.model.context_length()
                    );
                }
                Prompt::Chat(written)
            }
        };
        let written = match &prompt {
            Prompt::Text(text) | Prompt::Chat(text) => text.clone(),
            Prompt::Tokens(_) => String::new(),
        };
        let speech = match self.message.form(&loaded.chat, !tools.is_empty()) {
            Some(form) => {
                let (rule, options) = (rule.as_ref(), &self.options);
                let speech = Speech::new(form, messages, tools, rule, options, &written)?;
                Some(speech.with_choice(&self.message.tool_choice, tools)?)
            }
            None => match self.message.tool_choice {
                AskedCalls::Auto | AskedCalls::None => None,
                AskedCalls::Required | AskedCalls::Named(_) => {
                    let message = "a call is asked for, and there is no form for it: --tools FILE";
                    return Err(Failure::new(message));
                }
            },
        };
        let compiled = match (&speech, rule, shared) {
            _ if self.no_mask => None,
            (Some(speech), ..) => Some(Arc::new(Compiled::new(
                &speech.format.clone().into(),
                loaded.tokenizer.vocabulary(),
            )?)),
            (None, Some(_), Some(shared)) => Some(shared.clone()),
            (None, Some(rule), None) => Some(Arc::new(Compiled::new(
                &rule.automaton,
                loaded.tokenizer.vocabulary(),
            )?)),
            (None, None, _) => None,
        };
        Ok(ReadyChat {
            prompt,
            written,
            speech,
            compiled,
            note,
        })
    }

    pub(super) fn request(&self, ready: &ReadyChat, sampling: SamplingConfig) -> Request {
        let traced = self.trace.is_some();
        let listed = match traced {
            true => self.show_probabilities.max(TRACED_PROBABILITIES),
            false => self.show_probabilities,
        };
        Request::new(ready.prompt.clone())
            .with_explanations(match traced {
                true => Explanations::Give,
                false => Explanations::Omit,
            })
            .with_log_probabilities(match traced {
                true => LogProbabilities::Compute,
                false => LogProbabilities::Omit,
            })
            .with_max_tokens(self.max_tokens)
            .with_sampling(sampling)
            .with_show_probabilities(listed)
            .with_min_tokens(self.min_tokens)
            .with_stop_strings(self.stop.iter().cloned())
            .with_budget(match self.budget {
                BudgetArg::Complete => TokenBudget::Complete,
                BudgetArg::Cut => TokenBudget::Cut,
            })
            .with_landing(self.landing)
            .with_forced(match self.no_forced {
                true => ForcedTokens::Draw,
                false => ForcedTokens::Append,
            })
    }
}

impl ReadyChat {
    /// The output as a message, if it is read as one.
    pub(super) fn message(
        &self,
        means: &Means,
        tokenizer: &Tokenizer,
        generation: &Generation,
    ) -> Result<Option<Value>, Failure> {
        let said = || tokenizer.decode_with_structure(&generation.tokens);
        let read = match (&self.speech, &means.reader) {
            (Some(speech), _) => {
                read_response(&speech.template, &self.written, &means.tools, &said())
            }
            (None, Some(reader)) => reader.parse(&said()),
            (None, None) => return Ok(None),
        };
        match read {
            Ok(message) => Ok(Some(message)),
            // Half a message is none.
            Err(_) if !generation.complete => Ok(None),
            Err(error) => Err(Failure::of("the answer", error)),
        }
    }
}

/// The error of a generation, with the options that change it.
pub(super) fn refusal(error: &tokenmold::Error) -> String {
    match error.kind() {
        ErrorKind::TokenBudget => {
            format!("{error}: with --max-tokens, or --budget cut to let the text be cut")
        }
        _ => error.to_string(),
    }
}

/// Returns the text for a model that knows no chats.
fn spoken(messages: &[Value]) -> Result<String, Failure> {
    match messages {
        [one] => Ok(one["content"].as_str().unwrap_or_default().to_owned()),
        _ => Err(Failure::new(
            "the model has no chat template, so it is not known how to write a conversation for it; \
             --prompt goes without one",
        )),
    }
}

pub(crate) fn run(args: &GenerateArgs, format: Format, notes: Notes) -> Result<Output, Failure> {
    if let Some(file) = &args.asked.batch {
        return batch::run(args, file, notes);
    }
    if let Some(path) = &args.trace {
        // A place that cannot be written to is told before the work, not after it.
        let opened = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        opened.map_err(|error| Failure::of(path.display(), error))?;
    }
    let mut means = args.means()?;
    let messages = match (&args.asked.prompt, &args.asked.messages) {
        (_, Some(file)) => {
            let chat = read_chat(file)?;
            if let (true, Some(tools)) = (means.tools.is_empty(), chat.tools) {
                means.tools = wrapped(tools);
            }
            chat.messages
        }
        (prompt, None) => {
            let prompt = match prompt.as_deref().unwrap_or_default() {
                "-" => said(read_stdin()?)?,
                prompt => prompt.to_owned(),
            };
            vec![json!({"role": "user", "content": prompt})]
        }
    };
    let mut loaded = args.model.load(notes)?;
    let ready = args.ready(&loaded, &means, &messages, args.system.as_deref(), None)?;
    let compiled = ready.compiled.as_deref();
    let request = args.request(&ready, args.sampling.config());
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    // Output that goes into a file is not shown.
    let shown = match &args.out {
        Some(_) => Format::Json,
        None => format,
    };
    let mut screen = Screen::new(shown, Marks::Colour, &loaded.tokenizer);
    screen.tables = args.show_probabilities > 0;
    let mut guide = compiled.map(|compiled| compiled.constraint.guide());
    let generation = session
        .generate(
            &request,
            guide.as_mut().map(|guide| guide as _),
            &mut |event| screen.show(event),
        )
        .map_err(|error| Failure::new(refusal(&error)))?;
    let schema = means.rule.as_ref().and_then(Rule::schema);
    if let Some(path) = &args.trace {
        let rule = means.rule.as_ref();
        let mut source = rule.map_or_else(|| json!({}), Rule::described);
        if !means.tools.is_empty() {
            source["tools"] = json!(means.tools);
        }
        let asked = messages.last().and_then(|last| last["content"].as_str());
        let asked = asked.unwrap_or_default();
        trace::write(path, asked, source, &screen.steps, &generation)?;
    }
    // A text that was left because nobody reads it is no wrong answer of the model.
    screen.check()?;
    let mut json = describe(&generation, compiled, std::mem::take(&mut screen.steps));
    let message = ready.message(&means, &loaded.tokenizer, &generation)?;
    let mut text = match (&args.out, &message) {
        (Some(_), Some(_)) => String::new(),
        (Some(_), None) => format!("{}\n", generation.text),
        (None, _) => format!("{}\n", screen.end()),
    };
    if let Some(message) = message {
        text += &format!("{message:#}\n");
        json["message"] = message;
    }
    let mut notes = means.rule.as_ref().map(Rule::warnings).unwrap_or_default();
    notes += &ready.note;
    notes += &figures(&generation, compiled);
    if schema.is_some() && compiled.is_some() {
        // The amount of forced text depends on it.
        let style = args.options.style();
        notes += &format!("style: {style}\n");
        json["constraint"]["whitespace"] = json!(style);
    }
    let (verdict, complaint) = match is_whole(&generation, compiled) {
        true => (Verdict::Good, String::new()),
        false => {
            let why = shortfall(&generation, compiled, args.max_tokens);
            (Verdict::Incomplete, why)
        }
    };
    Ok(Output {
        text,
        notes,
        complaint,
        json,
        verdict,
        out: args.out.clone(),
    })
}

/// A text from standard input, without the shell's line feed.
fn said(bytes: Vec<u8>) -> Result<String, Failure> {
    let mut text =
        String::from_utf8(bytes).map_err(|_| Failure::new("standard input is not UTF-8"))?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
