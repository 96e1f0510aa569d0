//! A chat in the terminal. For example, `/schema person.json` binds the answers from then on, and
//! `/schema off` ends that.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokenmold::chat::{ChatTemplates, chatml};
use tokenmold::generate::{Flow, Generation, Prompt, Request, Session};
use tokenmold::model::{Model as _, Transformer};
use tokenmold::tokenizer::Tokenizer;
use tokenmold::tools::{ToolCall, read_response};

use super::compiled::Compiled;
use super::figures::figures;
use super::lines::{Interrupt, Line, Lines};
use super::model::{ModelArgs, SamplingArgs};
use super::rule::{Rule, read_rule};
use super::schema::{SchemaOptions, Use};
use super::screen::{Marks, Screen};
use super::speech::{Form, Speech, read_tools};
use super::style::{Paint, Style};
use super::{Failure, Format as Reader, Notes, Output, Verdict, say, write_out};

/// Arguments of `tokenmold chat`.
#[derive(Debug, clap::Args)]
pub(crate) struct ChatArgs {
    /// A text that the model reads before everything else.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,

    /// A file with tools that the model may call: a list of objects with
    /// `name`, `description` and `parameters` (a JSON Schema), bare or as
    /// `{"function": {...}}`. Calls are bound by the schemas; you say what they
    /// result in.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,

    /// The ready-made format in which the model writes calls and reasoning, by its name. Default:
    /// what the markers in its chat template tell. Reasoning is free, and what answers are bound by
    /// counts behind it.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    #[command(flatten)]
    options: SchemaOptions,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    sampling: SamplingArgs,

    /// Most tokens of one answer. Answers under a schema are complete by then.
    #[arg(long, value_name = "N", default_value_t = 256)]
    max_tokens: usize,

    /// A file in which the lines that are typed are kept from one chat to the
    /// next. They are forgotten without it.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
}

/// The answer to `/help`, in the order of likely use, as terminals show no more than a screen.
const HELP: &str = "\
/schema FILE     answers are JSON of the schema in that file; /schema off ends that
/regex REGEX     answers match the regular expression; /regex off ends that
/tools FILE      let the model call the tools in that file; /tools off ends that,
                 and /tools alone lists them. After a call, the next line is its
                 result
/system TEXT     tell the model something before everything else
/undo            forget the last question and its answer
/reset           forget the conversation
/prompt          show what the model would be given now
/max N           most tokens of one answer
/figures         show what the last answer cost
/help            this
/quit            end; so does the end of the input
Ctrl-C stops an answer.
";

pub(crate) fn run(args: &ChatArgs, format: Reader, notes: Notes) -> Result<Output, Failure> {
    let mut loaded = args.model.load(notes)?;
    if loaded.chat.is_empty() {
        return Err(Failure::new(
            "the model's files have no chat template, so it is not known how to write a chat for it",
        ));
    }
    let context = loaded.model.context_length();
    let mut chat = Conversation {
        args,
        format,
        notes,
        interrupt: Interrupt::listen()?,
        templates: &loaded.chat,
        tokenizer: &loaded.tokenizer,
        session: Session::new(&mut loaded.model, &loaded.tokenizer),
        system: args.system.clone(),
        messages: Vec::new(),
        constraint: None,
        schema: None,
        rule: None,
        tools: Vec::new(),
        calls: VecDeque::new(),
        max_tokens: args.max_tokens,
        figures: String::new(),
    };
    if let Some(file) = &args.tools {
        chat.offer(file)?;
    }
    let mut lines = match format {
        Reader::Text => Lines::open(args.history.as_deref())?,
        Reader::Json => Lines::Plain,
    };
    if lines.is_edited() {
        chat.note(&format!(
            "tokenmold {}: {}, a context of {context} tokens. /help lists what there is; Ctrl-D ends.",
            env!("CARGO_PKG_VERSION"),
            args.model.name(),
        ));
    }
    loop {
        let asks = match chat.calls.front() {
            Some(call) => format!("{} = ", call.name),
            None => "> ".to_owned(),
        };
        let line = match lines.next(&asks)? {
            Line::Text(line) => line,
            Line::Dropped => {
                chat.note("/quit or Ctrl-D ends the chat");
                continue;
            }
            Line::End => break,
        };
        let line = line.trim();
        let done = match line.strip_prefix('/') {
            _ if line.is_empty() => Ok(Next::Read),
            Some(command) => chat.command(command),
            None if !chat.calls.is_empty() => chat.result(line).map(|()| Next::Read),
            None => chat.ask(line).map(|()| Next::Read),
        };
        chat.interrupt.end();
        match done {
            Ok(Next::Read) => {}
            Ok(Next::Quit) => break,
            Err(Failure::ReaderGone) => return Err(Failure::ReaderGone),
            // An error of one line does not end the chat.
            Err(failure) => failure.print(Reader::Text),
        }
    }
    lines.close();
    Ok(Output {
        json: json!({ "messages": chat.messages }),
        verdict: Verdict::Good,
        ..Output::default()
    })
}

/// The step that comes after a line.
enum Next {
    Read,
    Quit,
}

struct Conversation<'a> {
    args: &'a ChatArgs,
    format: Reader,
    notes: Notes,
    interrupt: Interrupt,
    templates: &'a ChatTemplates,
    tokenizer: &'a Tokenizer,
    session: Session<'a, Transformer>,
    system: Option<String>,
    messages: Vec<Value>,
    constraint: Option<Compiled>,
    /// The schema that answers are of, for telling the model.
    schema: Option<Value>,
    /// The rule that binds answers.
    rule: Option<Rule>,
    /// The tools that may be called.
    tools: Vec<Value>,
    /// Calls whose results are still to be said.
    calls: VecDeque<ToolCall>,
    max_tokens: usize,
    figures: String,
}

impl Conversation<'_> {
    fn command(&mut self, command: &str) -> Result<Next, Failure> {
        let (name, rest) = command
            .split_once(char::is_whitespace)
            .unwrap_or((command, ""));
        let rest = rest.trim();
        match (name, rest) {
            ("quit" | "exit", _) => return Ok(Next::Quit),
            ("help", _) => self.say(HELP)?,
            ("schema" | "regex", "off") => {
                self.constraint = None;
                self.schema = None;
                self.rule = None;
                self.note("answers are free");
            }
            ("tools", "off") => {
                self.tools.clear();
                self.note("there are no tools");
            }
            ("tools", "") => {
                for tool in &self.tools {
                    self.say(&format!("{tool}\n"))?;
                }
            }
            ("tools", file) => self.offer(Path::new(file))?,
            ("schema" | "regex", "") => {
                let what = if name == "schema" {
                    "a file"
                } else {
                    "an expression"
                };
                return Err(Failure::new(format!("/{name} wants {what}, or `off`")));
            }
            ("schema", file) => self.bind(Some(Path::new(file)), None)?,
            ("regex", regex) => self.bind(None, Some(regex))?,
            ("system", "") => {
                self.system = None;
                self.note("the model is told nothing before the chat");
            }
            ("system", text) => {
                self.system = Some(text.to_owned());
                self.note("the model is told this from now on");
            }
            ("undo", _) => {
                let question = self.messages.iter().rposition(|m| m["role"] == "user");
                match question {
                    Some(_) => self.note("the last question and what came of it are forgotten"),
                    None => self.note("there is nothing to forget"),
                }
                self.messages.truncate(question.unwrap_or(0));
                self.calls.clear();
            }
            ("reset", _) => {
                self.note(&format!("{} messages are forgotten", self.messages.len()));
                self.messages.clear();
                self.calls.clear();
            }
            ("prompt", _) => {
                let prompt = self.prompt()?;
                self.say(&format!("{prompt}\n"))?;
            }
            ("max", number) => {
                self.max_tokens = number
                    .parse()
                    .map_err(|_| Failure::new("/max wants a number of tokens"))?;
                self.note(&format!("answers have {} tokens at most", self.max_tokens));
            }
            ("figures", _) => self.say(&self.figures)?,
            _ => {
                return Err(Failure::new(format!(
                    "there is no /{name}; /help lists what there is"
                )));
            }
        }
        Ok(Next::Read)
    }

    /// Says that something was done, beside the answers.
    fn note(&self, text: &str) {
        if self.format == Reader::Text && self.notes == Notes::Show {
            let style = Style::for_stderr();
            say(&format!("{}\n", style.paint(Paint::Faint, text)));
        }
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        match self.format {
            Reader::Text => write_out(text),
            Reader::Json => Ok(()),
        }
    }

    /// Binds answers from now on.
    fn bind(&mut self, schema: Option<&Path>, regex: Option<&str>) -> Result<(), Failure> {
        if let Some(rule) = read_rule(schema, regex, &self.args.options, Use::Generate)? {
            self.constraint = Some(Compiled::new(&rule.automaton, self.tokenizer.vocabulary())?);
            self.schema = rule.schema().cloned();
            if self.notes == Notes::Show {
                say(&rule.warnings());
            }
            self.rule = Some(rule);
        }
        match (schema, regex) {
            (Some(file), _) => self.note(&format!("answers are JSON of {}", file.display())),
            (None, Some(regex)) => self.note(&format!("answers match {regex}")),
            (None, None) => {}
        }
        Ok(())
    }

    /// Offers the tools of a file from now on.
    fn offer(&mut self, file: &Path) -> Result<(), Failure> {
        let before = std::mem::replace(&mut self.tools, read_tools(file)?);
        // A schema that cannot be bound is refused now.
        let tried = self
            .response("")
            .and_then(|speech| Compiled::new(&speech.format.into(), self.tokenizer.vocabulary()));
        if let Err(failure) = tried {
            self.tools = before;
            return Err(failure);
        }
        let names = self.tools.iter().map(|tool| &tool["function"]["name"]);
        let names: Vec<&str> = names.filter_map(Value::as_str).collect();
        self.note(&format!("the model may call {}", names.join(", ")));
        Ok(())
    }

    /// Returns the form in which the model writes an answer to that prompt.
    fn response(&self, prompt: &str) -> Result<Speech, Failure> {
        let form = match &self.args.format {
            Some(name) => Form::Named(name),
            None => Form::Own(self.templates),
        };
        let (rule, options) = (self.rule.as_ref(), &self.args.options);
        Speech::new(form, &self.messages, &self.tools, rule, options, prompt)
    }

    /// Takes the result of a call; the model goes on when it knows all.
    fn result(&mut self, line: &str) -> Result<(), Failure> {
        if let Some(call) = self.calls.pop_front() {
            self.messages.push(call.answer(line));
        }
        match self.calls.is_empty() {
            true => self.go_on(),
            false => Ok(()),
        }
    }

    /// Returns the prompt for the model.
    fn prompt(&self) -> Result<String, Failure> {
        let of_schema = self.schema.as_ref().map(chatml::schema_system);
        let system = match (&self.system, &of_schema) {
            (Some(system), Some(of_schema)) => Some(format!("{system}\n{of_schema}")),
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (None, None) => None,
        };
        if !self.tools.is_empty() {
            let (tools, messages) = (&self.tools, &self.messages);
            let written = self
                .templates
                .prompt_with_tools(system.as_deref(), tools, messages);
            return written.map_err(|error| Failure::new(error.to_string()));
        }
        let written = self
            .templates
            .prompt(system.as_deref(), &[], &self.messages);
        written.map_err(|error| Failure::new(error.to_string()))
    }

    fn ask(&mut self, line: &str) -> Result<(), Failure> {
        self.messages.push(json!({"role": "user", "content": line}));
        let done = self.go_on();
        if done.is_err() {
            self.messages.pop();
        }
        done
    }

    /// Lets the model answer.
    fn go_on(&mut self) -> Result<(), Failure> {
        let has_form = !self.tools.is_empty()
            || self.args.format.is_some()
            || self.templates.reasons(&self.messages);
        let message = match has_form {
            false => json!({"role": "assistant", "content": self.answer()?.text}),
            true => self.answer_in_form()?,
        };
        self.say("\n")?;
        self.messages.push(message);
        Ok(())
    }

    /// An answer behind its reasoning, or calls, each of which obeys its tool's schema.
    fn answer_in_form(&mut self) -> Result<Value, Failure> {
        let prompt = self.prompt()?;
        let Speech { format, template } = self.response(&prompt)?;
        let bound = Compiled::new(&format.into(), self.tokenizer.vocabulary())?;
        let before = self.constraint.replace(bound);
        let generation = self.answer();
        self.constraint = before;
        let generation = generation?;
        let text = self.tokenizer.decode_with_structure(&generation.tokens);
        let read = read_response(&template, &prompt, &self.tools, &text);
        let mut message = match read {
            Ok(message) => message,
            // Half an answer may be no message.
            Err(_) if !generation.complete => {
                json!({"role": "assistant", "content": text.as_str()})
            }
            Err(error) => return Err(Failure::of("the answer", error)),
        };
        let shown = self.templates.shows_tools(&self.tools, &self.messages);
        let shown = shown.map_err(|error| Failure::new(error.to_string()))?;
        if !shown && !self.tools.is_empty() {
            // The template writes nothing but content.
            message["content"] = text.into();
        }
        // A call that was cut off is none.
        let calls = ToolCall::all_of(&message).into_iter();
        if generation.complete {
            self.calls = calls.flatten().collect();
        }
        Ok(message)
    }

    fn answer(&mut self) -> Result<Generation, Failure> {
        let request = Request::new(Prompt::Chat(self.prompt()?))
            .with_max_tokens(self.max_tokens)
            .with_sampling(self.args.sampling.config());
        let mut screen = Screen::new(self.format, Marks::Colour, self.tokenizer);
        let mut guide = self
            .constraint
            .as_ref()
            .map(|bound| bound.constraint.guide());
        let interrupt = self.interrupt.clone();
        interrupt.begin();
        let generation = self.session.generate(
            &request,
            guide.as_mut().map(|guide| guide as _),
            &mut |event| match interrupt.is_stopped() {
                true => Flow::Stop,
                false => screen.show(event),
            },
        );
        let stopped = interrupt.end();
        let generation = generation.map_err(|e| Failure::new(e.to_string()))?;
        screen.check()?;
        if stopped {
            self.say("\n")?;
            self.note("stopped; the chat goes on, and /undo forgets what was said");
        }
        self.figures = figures(&generation, self.constraint.as_ref());
        Ok(generation)
    }
}
