//! Commands, what they share, and how they end: 0 done, 1 bad input, 2 usage, 3 incomplete. For
//! example, `tokenmold generate` ends with 3 if `--max-tokens` cut its object off.

mod agent;
mod agentscope;
mod batch;
mod chat;
mod check;
mod compiled;
mod decide;
mod demo;
mod explain;
mod figures;
mod fsm;
mod generate;
mod grammar;
mod index;
mod ledger;
mod lines;
mod model;
#[path = "../page/mod.rs"]
mod page;
mod pages;
mod parse;
mod providers;
mod regex;
mod rule;
mod schema;
mod screen;
mod serve;
mod speech;
mod style;
mod template;
mod trace;
mod view;

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{CommandFactory as _, Parser, Subcommand};
use json_tree::excerpt::cut;
use serde_json::{Value, json};
use tokenmold::fsm_index::Vocabulary;

/// Makes a language model's output take a required shape, and reads it back.
///
/// Without a command it shows the whole of it: a schema goes in, the embedded
/// model decodes under it, a parsed message comes out.
#[derive(Debug, Parser)]
#[command(name = "tokenmold", version, after_help = EXAMPLES)]
struct Cli {
    /// Print one JSON document for machines instead of text for people.
    #[arg(long, global = true)]
    json: bool,

    /// Print nothing beside the result but errors.
    #[arg(short, long, global = true)]
    quiet: bool,

    #[command(subcommand)]
    command: Option<Command>,
}

/// The examples of the help, because a command line is easier to change than to make up.
const EXAMPLES: &str = "\
Examples:
  tokenmold                                        the main job, on the embedded model
  tokenmold generate --schema person.json --prompt 'Ada, 36, from London'
  tokenmold generate --schema person.json --batch lines.jsonl --out answers.jsonl
  tokenmold agent --tools tools.json --schema answer.json --prompt 'Weather in Oslo?'
  tokenmold decide --regex 'yes|no' --prompt 'So?' each answer's exact probability
  tokenmold serve                                  an OpenAI-compatible server, and a page
  tokenmold regex --schema person.json             what the schema is as a regular expression
  tokenmold explain --schema person.json           what becomes of each of its keywords
  tokenmold explain --grammar sums.gbnf --input '1+'   which alternatives have begun, what may come
  tokenmold fsm --regex 'A[0-9]+' --input A42      an automaton, and the trace of a text
  tokenmold index --schema person.json --tokenizer tokenizer.json --out person.index
  tokenmold check --schema person.json --tokenizer tokenizer.json < person-ada.json
  tokenmold template render --model DIR --messages chat.json --generation-prompt
  tokenmold parse --format hermes < output.txt

Exit codes: 0 done, 1 bad input (the message says where), 2 wrong usage,
3 the output is incomplete.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Decode with a model under a schema, a regular expression, a grammar or tools.
    Generate(Box<generate::GenerateArgs>),
    /// Let a model call tools, which are commands, until it has an answer.
    Agent(Box<agent::AgentArgs>),
    /// Chat with a model, bound by a schema where wanted.
    Chat(Box<chat::ChatArgs>),
    /// Print the exact probability of each value that a rule accepts.
    Decide(Box<decide::DecideArgs>),
    /// Answer requests over HTTP in the ways of OpenAI's API, with a page to play with.
    Serve(Box<serve::Args>),
    /// Print the regular expression of a schema.
    Regex(regex::RegexArgs),
    /// Say what becomes of each keyword of a schema, or where a text comes to in a grammar.
    Explain(explain::ExplainArgs),
    /// Build the token index of a schema or regular expression.
    Index(index::IndexArgs),
    /// Show the automaton of a regular expression or schema, and how it reads a text.
    Fsm(fsm::FsmArgs),
    /// Show the chat templates of a model, and write chats out by them.
    #[command(subcommand)]
    Template(template::TemplateCommand),
    /// Read a model's raw output back into a message.
    Parse(Box<parse::ParseArgs>),
    /// Make a page of a trace, to step through it in a browser.
    View(view::ViewArgs),
    /// Follow a text token by token and say where and why it is refused.
    Check(check::CheckArgs),
    /// Print the completions of a shell.
    Completions(pages::CompletionArgs),
    /// Print the manual page, or write one for each command.
    Man(pages::ManArgs),
}

/// Runs the program on the arguments of the process.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let format = match cli.json && !cli.prints_lines() {
        true => Format::Json,
        false => Format::Text,
    };
    let notes = match cli.quiet {
        true => Notes::Omit,
        false => Notes::Show,
    };
    let done = match &cli.command {
        None => demo::run(format),
        Some(Command::Generate(args)) => generate::run(args, format, notes),
        Some(Command::Agent(args)) => agent::run(args, format, notes),
        Some(Command::Chat(args)) => chat::run(args, format, notes),
        Some(Command::Template(command)) => template::run(command),
        Some(Command::Completions(args)) => pages::completions(args, Cli::command()),
        Some(Command::Man(args)) => pages::man(args, Cli::command()),
        Some(Command::Decide(args)) => decide::run(args, notes),
        Some(Command::Serve(args)) => serve::run(args, format, notes),
        Some(Command::Regex(args)) => regex::run(args),
        Some(Command::Explain(args)) => explain::run(args),
        Some(Command::Index(args)) => index::run(args, notes),
        Some(Command::Fsm(args)) => fsm::run(args),
        Some(Command::Parse(args)) => parse::run(args),
        Some(Command::View(args)) => view::run(args),
        Some(Command::Check(args)) => check::run(args),
    };
    match done.and_then(|output| output.print(format, notes)) {
        Ok(verdict) => verdict.into(),
        // Whoever read the output has seen enough of it.
        Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(format);
            ExitCode::from(1)
        }
    }
}

impl Cli {
    /// Tells whether the result is JSON lines as it is.
    fn prints_lines(&self) -> bool {
        match &self.command {
            Some(Command::Generate(args)) => args.is_batch(),
            Some(Command::Parse(args)) => args.prints_events(),
            _ => false,
        }
    }
}

/// For whom the output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

/// True if what is worth knowing beside the result is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notes {
    Show,
    Omit,
}

/// The verdict of the process on its input, by its exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verdict {
    #[default]
    Good,
    Bad,
    /// The output was cut off.
    Incomplete,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> ExitCode {
        match verdict {
            Verdict::Good => ExitCode::SUCCESS,
            Verdict::Bad => ExitCode::from(1),
            Verdict::Incomplete => ExitCode::from(3),
        }
    }
}

/// The result of a command, for both kinds of readers.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// The result, for standard output.
    pub(crate) text: String,
    /// Notes beside the result, for standard error.
    pub(crate) notes: String,
    /// Why the verdict is no good one, where the result does not say so: for standard
    /// error, whether notes are wanted or not.
    pub(crate) complaint: String,
    pub(crate) json: Value,
    pub(crate) verdict: Verdict,
    /// The file of the result in place of standard output.
    pub(crate) out: Option<PathBuf>,
}

impl Output {
    fn print(&self, format: Format, notes: Notes) -> Result<Verdict, Failure> {
        let result = match format {
            Format::Text => self.text.clone(),
            // The document was printed already.
            Format::Json if self.json.is_null() => String::new(),
            Format::Json => format!("{:#}\n", self.json),
        };
        let printed = match &self.out {
            Some(file) => {
                let written = std::fs::write(file, result);
                written.map_err(|e| Failure::of(file.display(), e))
            }
            None => write_out(&result),
        };
        match printed {
            Err(Failure::ReaderGone) => {}
            Err(failure) => return Err(failure),
            Ok(()) if format == Format::Text => {
                if notes == Notes::Show {
                    say(&self.notes);
                }
                if !self.complaint.is_empty() {
                    say(&format!("error: {}\n", self.complaint));
                }
            }
            Ok(()) => {}
        }
        Ok(self.verdict)
    }
}

/// Writes to standard error. Nobody can be told that nobody reads it.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes to standard output at once. `print!` would panic where that is full or closed.
///
/// # Errors
///
/// [`Failure::ReaderGone`], or what the system says.
pub(crate) fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::of_output(&error))
}

/// Why a command could not do its work.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The error, for people.
    Said(String),
    /// Nobody reads the output any more, as in `tokenmold .. | head -1`: nothing is wrong,
    /// and there is nothing more to do.
    ReaderGone,
}

/// The longest message, in bytes: nobody reads more, and there is a limit because an error may
/// quote all of a file.
const MAX_MESSAGE: usize = 4_000;

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        let message = schema::told(&message.into());
        Failure::Said(cut(message, MAX_MESSAGE).into_owned())
    }

    /// The failure of something that has a name: a file, a part of the input.
    pub(crate) fn of(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Failure::new(format!("{what}: {error}"))
    }

    /// The failure to write to standard output.
    pub(crate) fn of_output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::of("standard output", error),
        }
    }

    pub(crate) fn print(&self, format: Format) {
        let Failure::Said(message) = self else {
            return;
        };
        // If this cannot be written either, the exit code alone tells.
        let _ = match format {
            Format::Text => writeln!(io::stderr(), "error: {message}"),
            Format::Json => writeln!(io::stdout(), "{:#}", json!({ "error": message })),
        };
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Said(message) => f.write_str(message),
            Failure::ReaderGone => f.write_str("nobody reads the output"),
        }
    }
}

/// Reads a file, or standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        return read_stdin();
    }
    std::fs::read(path).map_err(|e| Failure::of(path.display(), e))
}

/// Reads standard input to its end, once: two arguments that both name it would get nothing
/// for the second.
pub(crate) fn read_stdin() -> Result<Vec<u8>, Failure> {
    /// It is global because the arguments that could name standard input are of several types.
    static IS_READ: AtomicBool = AtomicBool::new(false);
    if IS_READ.swap(true, Ordering::Relaxed) {
        return Err(Failure::new(
            "standard input is wanted twice; put one of the two into a file",
        ));
    }
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::of("standard input", e))?;
    Ok(bytes)
}

/// A text without the byte order mark that some editors put before it.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes)
}

pub(crate) fn read_json(path: &Path) -> Result<Value, Failure> {
    let bytes = read(path)?;
    serde_json::from_slice(without_mark(&bytes))
        .map_err(|e| Failure::new(format!("{} is not JSON: {e}", path.display())))
}

/// Reads the vocabulary of a `tokenizer.json`, named itself or by the
/// directory it lies in.
pub(crate) fn read_vocabulary(path: &Path) -> Result<(PathBuf, Vocabulary), Failure> {
    let file = if path.is_dir() {
        path.join("tokenizer.json")
    } else {
        path.to_owned()
    };
    let json = read(&file)?;
    let vocabulary =
        Vocabulary::from_tokenizer_json(&json).map_err(|e| Failure::of(file.display(), e))?;
    Ok((file, vocabulary))
}
