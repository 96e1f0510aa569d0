//! A chat in the terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};
use tokenmold::chat::{ChatTemplates, chatml};
use tokenmold::generate::{Prompt, Request, Session, TokenBudget};
use tokenmold::model::Transformer;
use tokenmold::tokenizer::Tokenizer;

use super::generate::{Compiled, Marks, Screen, figures};
use super::model::{ModelArgs, SamplingArgs, write_chat};
use super::schema::{SchemaOptions, read_rule};
use super::style::{Paint, Style};
use super::{Failure, Format, Output, Verdict};

/// Arguments of `tokenmold chat`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the model is told before everything else.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,

    #[command(flatten)]
    options: SchemaOptions,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    sampling: SamplingArgs,

    /// Most tokens of one answer. Answers under a schema are complete by then.
    #[arg(long, value_name = "N", default_value_t = 256)]
    max_tokens: usize,
}

const HELP: &str = "\
/schema FILE     answers are JSON of the schema in that file; /schema off ends that
/regex REGEX     answers match the regular expression; /regex off ends that
/system TEXT     tell the model something before everything else
/undo            forget the last question and its answer
/reset           forget the conversation
/prompt          show what the model would be given now
/max N           most tokens of one answer
/figures         show what the last answer cost
/help            this
/quit            end; so does the end of the input
";

pub(crate) fn run(args: &Args, format: Format) -> Result<Output, Failure> {
    let mut loaded = args.model.load()?;
    if loaded.chat.is_empty() {
        return Err(Failure::new(
            "the model's files have no chat template, so it is not known how to write a chat for it",
        ));
    }
    let mut chat = Conversation {
        args,
        format,
        templates: &loaded.chat,
        tokenizer: &loaded.tokenizer,
        session: Session::new(&mut loaded.model, &loaded.tokenizer),
        system: args.system.clone(),
        messages: Vec::new(),
        constraint: None,
        schema: None,
        max_tokens: args.max_tokens,
        figures: String::new(),
    };
    let terminal = io::stdin().is_terminal() && format == Format::Text;
    let style = Style::for_stdout();
    loop {
        if terminal {
            print!("{} ", style.paint(Paint::Heading, ">"));
            let _ = io::stdout().flush();
        }
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        if read.map_err(|e| Failure::of("standard input", e))? == 0 {
            break;
        }
        let line = line.trim();
        let done = match line.strip_prefix('/') {
            _ if line.is_empty() => Ok(Next::Read),
            Some(command) => chat.command(command),
            None => chat.ask(line).map(|()| Next::Read),
        };
        match done {
            Ok(Next::Read) => {}
            Ok(Next::Quit) => break,
            // What went wrong with one line does not end the chat.
            Err(failure) => failure.print(Format::Text),
        }
    }
    Ok(Output {
        text: String::new(),
        notes: String::new(),
        json: json!({ "messages": chat.messages }),
        verdict: Verdict::Good,
    })
}

/// What comes after a line.
enum Next {
    Read,
    Quit,
}

struct Conversation<'a> {
    args: &'a Args,
    format: Format,
    templates: &'a ChatTemplates,
    tokenizer: &'a Tokenizer,
    session: Session<'a, Transformer>,
    system: Option<String>,
    messages: Vec<Value>,
    constraint: Option<Compiled>,
    /// The schema that answers are of, for telling the model.
    schema: Option<Value>,
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
            ("help", _) => self.say(HELP),
            ("schema" | "regex", "off") => {
                self.constraint = None;
                self.schema = None;
            }
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
            ("system", "") => self.system = None,
            ("system", text) => self.system = Some(text.to_owned()),
            ("undo", _) => {
                let question = self.messages.iter().rposition(|m| m["role"] == "user");
                self.messages.truncate(question.unwrap_or(0));
            }
            ("reset", _) => self.messages.clear(),
            ("prompt", _) => {
                let prompt = self.prompt()?;
                self.say(&format!("{prompt}\n"));
            }
            ("max", number) => {
                self.max_tokens = number
                    .parse()
                    .map_err(|_| Failure::new("/max wants a number of tokens"))?;
            }
            ("figures", _) => self.say(&self.figures),
            _ => {
                return Err(Failure::new(format!(
                    "there is no /{name}; /help lists what there is"
                )));
            }
        }
        Ok(Next::Read)
    }

    fn say(&self, text: &str) {
        if self.format == Format::Text {
            print!("{text}");
        }
    }

    /// Binds answers from now on.
    fn bind(&mut self, schema: Option<&Path>, regex: Option<&str>) -> Result<(), Failure> {
        if let Some(rule) = read_rule(schema, regex, &self.args.options)? {
            self.constraint = Some(Compiled::new(&rule, self.tokenizer)?);
            self.schema = rule.schema().cloned();
        }
        Ok(())
    }

    /// What the model is given.
    fn prompt(&self) -> Result<String, Failure> {
        let of_schema = self.schema.as_ref().map(chatml::schema_system);
        let system = match (&self.system, &of_schema) {
            (Some(system), Some(of_schema)) => Some(format!("{system}\n{of_schema}")),
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (None, None) => None,
        };
        let written = write_chat(self.templates, system.as_deref(), &self.messages);
        written.map_err(|error| Failure::new(error.to_string()))
    }

    fn ask(&mut self, line: &str) -> Result<(), Failure> {
        self.messages.push(json!({"role": "user", "content": line}));
        match self.answer() {
            Ok(text) => {
                self.say("\n");
                self.messages
                    .push(json!({"role": "assistant", "content": text}));
                Ok(())
            }
            Err(failure) => {
                self.messages.pop();
                Err(failure)
            }
        }
    }

    fn answer(&mut self) -> Result<String, Failure> {
        let request = Request::new(Prompt::Chat(self.prompt()?))
            .with_max_tokens(self.max_tokens)
            .with_sampling(self.args.sampling.config())
            .with_budget(TokenBudget::Complete);
        let mut screen = Screen::new(self.format, Marks::Colour, self.tokenizer);
        let mut guide = self.constraint.as_ref().map(Compiled::guide);
        let generation = self
            .session
            .generate(
                &request,
                guide.as_deref_mut().map(|guide| guide as _),
                &mut |event| screen.show(event),
            )
            .map_err(|e| Failure::new(e.to_string()))?;
        self.figures = figures(&generation, self.constraint.as_ref());
        Ok(generation.text)
    }
}
