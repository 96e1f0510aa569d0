//! An agent whose tools are commands. For example, the word `--city={city}` of a command becomes
//! `--city=Ulm`: words are filled in and never read by a shell.

use std::fmt::Display;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokenmold::Error;
use tokenmold::agent::{Agent, ChatModel, Ended, LocalModel, ModelRequest, PlainText, Reply};
use tokenmold::generate::{Prompt, Request};
use tokenmold::response_parser::Family;
use tokenmold::tools::{Tool, ToolCall, Tools};

use super::model::{ModelArgs, SamplingArgs};
use super::schema::{SchemaOptions, Use};
use super::style::{Paint, Style};
use super::template::read_chat;
use super::{Failure, Format, Notes, Output, Verdict, read_json, read_stdin, say};

/// Arguments of `tokenmold agent`.
#[derive(Debug, clap::Args)]
#[command(after_help = TOOLS)]
pub(crate) struct AgentArgs {
    /// The task of the agent; `-` for standard input.
    #[arg(long, value_name = "TEXT")]
    prompt: String,

    /// A file with the tools: a list of objects with `name`, `description`,
    /// `parameters` (a JSON Schema) and `command`.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,

    /// A file with the JSON Schema of an object that the answer must come with.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// A text that the model reads before everything else.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,

    /// A file with what was said before: a list of messages.
    #[arg(long, value_name = "FILE")]
    messages: Option<PathBuf>,

    /// The greatest number of requests to the model.
    #[arg(long, value_name = "N", default_value_t = 10)]
    max_steps: usize,

    /// Most tokens of each answer of the model.
    #[arg(long, value_name = "N", default_value_t = 512)]
    max_tokens: usize,

    /// Longest time that a command may take, in seconds.
    #[arg(long, value_name = "S", default_value_t = 60)]
    tool_timeout: u64,

    /// Drop what the model says without calling a tool, and tell it to finish.
    #[arg(long)]
    must_finish: bool,

    /// The ready-made format in which the model writes calls, by its name. Default: what the
    /// markers in its chat template tell.
    #[arg(long, value_name = "NAME")]
    format: Option<Family>,

    #[command(flatten)]
    options: SchemaOptions,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    sampling: SamplingArgs,
}

/// The help on files of tools: it is printed behind the options, because no option could hold it.
const TOOLS: &str = r#"A tool's command is a list of words, of which `{city}` is replaced by the argument
of that name, and `{}` by all arguments as JSON; or one text, which a shell runs.
Either gets the arguments as JSON on standard input. What it prints is the result;
an exit code other than 0 is an error, which the model is told.

A model must have been trained to call tools. The embedded one calls those whose names and arguments
stand in the task, as in "convert 12 miles to metres", and does not reason about results; from about
half a billion parameters on (Qwen3-0.6B) models answer by what tools say.

  [{"name": "weather", "description": "Tells the weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}},
                   "required": ["city"], "additionalProperties": false},
    "command": ["grep", "-i", "-e", "{city}", "weather.txt"]}]"#;

pub(crate) fn run(args: &AgentArgs, format: Format, notes: Notes) -> Result<Output, Failure> {
    let tools = match &args.tools {
        Some(file) => read_tools(file, Duration::from_secs(args.tool_timeout))?,
        None => Tools::default(),
    };
    args.options.without_documents(
        "an agent's answer and its tools become one schema; put copies of what they name in `$defs`",
    )?;
    let schema = match &args.schema {
        Some(file) => Some(args.options.read_schema(file)?.1),
        None => None,
    };
    let memory = memory_of(args)?;
    let message = json!({"role": "user", "content": prompt_of(args)?});
    let failed = |error: Error| Failure::new(error.to_string());
    let mut loaded = args.model.load(notes)?;
    let model = match args.format {
        None => LocalModel::new(&mut loaded),
        Some(format) => {
            LocalModel::of_parts(&mut loaded.model, &loaded.tokenizer, &loaded.chat, format)
        }
    };
    let request = Request::new(Prompt::Tokens(Vec::new()))
        .with_max_tokens(args.max_tokens)
        .with_sampling(args.sampling.config());
    let model = model
        .map_err(failed)?
        .with_options(args.options.options(Use::Generate))
        .with_request(request);
    let told = match (format, notes) {
        (Format::Text, Notes::Show) => Told::Each,
        _ => Told::Nothing,
    };
    let model = Narrated {
        model,
        told,
        heard: 0,
    };
    let mut agent = Agent::new(model, tools)
        .with_memory(memory)
        .with_max_steps(args.max_steps)
        .with_plain_text(match args.must_finish {
            true => PlainText::Finish,
            false => PlainText::Reply,
        });
    let reply = match &schema {
        Some(schema) => agent.reply_structured(message, schema),
        None => agent.reply(message),
    };
    let reply = reply.map_err(failed)?;
    Ok(output(args, &reply, agent.memory()))
}

/// The messages that were there before the task.
fn memory_of(args: &AgentArgs) -> Result<Vec<Value>, Failure> {
    let mut memory = match &args.messages {
        Some(file) => read_chat(file)?.messages,
        None => Vec::new(),
    };
    if let Some(system) = &args.system {
        memory.insert(0, json!({"role": "system", "content": system}));
    }
    Ok(memory)
}

fn prompt_of(args: &AgentArgs) -> Result<String, Failure> {
    Ok(match args.prompt.as_str() {
        "-" => String::from_utf8_lossy(&read_stdin()?)
            .trim_end()
            .to_owned(),
        prompt => prompt.to_owned(),
    })
}

/// A reply as it is printed, with all messages behind it.
fn output(args: &AgentArgs, reply: &Reply, memory: &[Value]) -> Output {
    let mut text = format!("{}\n", reply.content);
    if let Some(metadata) = &reply.metadata {
        text += &format!("{metadata:#}\n");
    }
    let ended = match reply.ended {
        Ended::Text => "text",
        Ended::Finished => "finished",
        Ended::OutOfSteps => "out of steps",
        _ => "otherwise",
    };
    let (verdict, complaint) = match reply.ended {
        Ended::OutOfSteps => (
            Verdict::Incomplete,
            format!(
                "the model did not finish within {}, and summed up; --max-steps allows more",
                steps(args.max_steps)
            ),
        ),
        _ => (Verdict::Good, String::new()),
    };
    Output {
        text,
        notes: match reply.ended {
            // The sum is no step.
            Ended::OutOfSteps => format!("{ended} after {}\n", steps(args.max_steps)),
            _ => format!("{ended} after {}\n", steps(reply.steps)),
        },
        complaint,
        json: json!({
            "content": reply.content,
            "metadata": reply.metadata,
            "ended": ended,
            "steps": reply.steps,
            "messages": memory,
        }),
        verdict,
        ..Output::default()
    }
}

/// True if steps are told on standard error as they come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Each,
    Nothing,
}

/// A model whose steps are told.
struct Narrated<M> {
    model: M,
    told: Told,
    /// The number of messages that were there before the last step.
    heard: usize,
}

impl<M: ChatModel> ChatModel for Narrated<M> {
    fn answer(&mut self, request: &ModelRequest<'_>) -> Result<Value, Error> {
        if self.told == Told::Each {
            let results = request.messages.iter().skip(self.heard);
            for result in results.filter(|message| message["role"] == "tool") {
                let name = result["name"].as_str().unwrap_or("tool");
                tell("<-", format!("{name}: {}", shown(&result["content"])));
            }
        }
        let answer = self.model.answer(request)?;
        if self.told == Told::Each {
            for call in ToolCall::all_of(&answer) {
                match call {
                    Ok(call) => tell("->", format!("{} {}", call.name, call.arguments)),
                    Err(error) => tell("->", error),
                }
            }
        }
        self.heard = request.messages.len();
        Ok(answer)
    }
}

fn shown(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn tell(mark: &str, text: impl Display) {
    let mark = Style::for_stderr().paint(Paint::Faint, mark);
    say(&format!("{mark} {text}\n"));
}

/// The tools of a file, which are commands.
fn read_tools(file: &Path, timeout: Duration) -> Result<Tools, Failure> {
    let wrong = |what: String| Failure::new(format!("{}: {what}", file.display()));
    let Value::Array(list) = read_json(file)? else {
        return Err(wrong("this is not a list of tools".to_owned()));
    };
    let mut tools = Tools::default();
    for (at, entry) in list.into_iter().enumerate() {
        let function = entry.get("function").unwrap_or(&entry);
        let name = function["name"].as_str();
        let name = name.ok_or_else(|| wrong(format!("tool {at} has no `name`")))?;
        let description = function["description"].as_str().unwrap_or_default();
        let parameters = match function.get("parameters") {
            Some(parameters) => parameters.clone(),
            None => json!({"type": "object", "properties": {}, "additionalProperties": false}),
        };
        let command = entry.get("command").or_else(|| function.get("command"));
        let command = command.and_then(Words::read).ok_or_else(|| {
            wrong(format!(
                "the tool {name} has no `command`: a list of words, or a text for the shell"
            ))
        })?;
        if tools.get(name).is_some() {
            return Err(wrong(format!("there are two tools {name}")));
        }
        tools.insert(Tool::from_schema(
            name,
            description,
            parameters,
            move |arguments| command.run(&arguments, timeout).map(Value::String),
        ));
    }
    Ok(tools)
}

/// A command.
enum Words {
    List(Vec<String>),
    Shell(String),
}

impl Words {
    fn read(json: &Value) -> Option<Words> {
        match json {
            Value::String(line) if !line.trim().is_empty() => Some(Words::Shell(line.clone())),
            Value::Array(words) if !words.is_empty() => {
                let words = words.iter().map(|word| word.as_str().map(str::to_owned));
                words.collect::<Option<_>>().map(Words::List)
            }
            _ => None,
        }
    }

    fn command(&self, arguments: &Value) -> Result<Command, String> {
        let (program, words) = match self {
            Words::Shell(line) if cfg!(windows) => {
                ("cmd".to_owned(), vec!["/C".to_owned(), line.clone()])
            }
            Words::Shell(line) => ("sh".to_owned(), vec!["-c".to_owned(), line.clone()]),
            Words::List(words) => {
                let filled: Result<Vec<String>, String> =
                    words.iter().map(|word| filled(word, arguments)).collect();
                let mut words = filled?.into_iter();
                (words.next().unwrap_or_default(), words.collect())
            }
        };
        let mut command = Command::new(program);
        command.args(words);
        Ok(command)
    }

    /// Runs the command and returns what it prints.
    fn run(&self, arguments: &Value, timeout: Duration) -> Result<String, String> {
        let mut child = self
            .command(arguments)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the command cannot be started: {error}"))?;
        let input = format!("{arguments}\n");
        let stdin = child.stdin.take();
        // Each stream has a thread, so that none waits for another.
        let fed = thread::spawn(move || {
            // A command need not read what it is given.
            let _ = stdin.map(|mut stdin| stdin.write_all(input.as_bytes()));
        });
        let printed = child.stdout.take().map(|mut stream| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = stream.read_to_end(&mut bytes);
                bytes
            })
        });
        let complained = child.stderr.take().map(|mut stream| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = stream.read_to_end(&mut bytes);
                bytes
            })
        });
        let Some(status) = wait(&mut child, timeout)? else {
            return Err(format!("it took longer than {} s", timeout.as_secs()));
        };
        let _ = fed.join();
        let text = |stream: Option<thread::JoinHandle<Vec<u8>>>| {
            let bytes = stream.and_then(|stream| stream.join().ok());
            let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
            text.trim_end().to_owned()
        };
        let (printed, complained) = (text(printed), text(complained));
        match status.success() {
            true => Ok(printed),
            false if complained.is_empty() => Err(format!("{status}; {printed}")),
            false => Err(format!("{status}: {complained}")),
        }
    }
}

/// Waits for the command; none if it took too long, and was ended.
fn wait(child: &mut Child, timeout: Duration) -> Result<Option<std::process::ExitStatus>, String> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) if began.elapsed() >= timeout => {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            Ok(None) => thread::sleep(pause),
            Err(error) => return Err(error.to_string()),
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// A word with arguments in the places of their names.
fn filled(word: &str, arguments: &Value) -> Result<String, String> {
    let empty = Map::new();
    let named = arguments.as_object().unwrap_or(&empty);
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, behind)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, after)) = behind.split_once('}') else {
            out.push('{');
            rest = behind;
            continue;
        };
        match (name, named.get(name)) {
            ("", _) => out.push_str(&arguments.to_string()),
            (_, Some(value)) => out.push_str(&shown(value)),
            // An argument that need not be there, or braces that are no place of one.
            (_, None)
                if name
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_-.".contains(c)) => {}
            (_, None) => {
                out.push('{');
                rest = behind;
                continue;
            }
        }
        rest = after;
    }
    out.push_str(rest);
    match out.contains('\0') {
        true => Err("an argument has a zero byte, which no command can take".to_owned()),
        false => Ok(out),
    }
}

fn steps(count: usize) -> String {
    match count {
        1 => "1 step".to_owned(),
        count => format!("{count} steps"),
    }
}

#[cfg(test)]
mod tests {
    use super::filled;
    use serde_json::json;

    #[test]
    fn arguments_take_the_places_of_their_names() {
        let arguments = json!({"city": "Ulm; rm -rf {n}", "n": 3});
        for (word, expected) in [
            ("{city}", "Ulm; rm -rf {n}"),
            ("--n={n}!", "--n=3!"),
            ("{}", r#"{"city":"Ulm; rm -rf {n}","n":3}"#),
            ("{other}x", "x"),
            ("{print $1} {n}", "{print $1} 3"),
            ("a{", "a{"),
        ] {
            assert_eq!(filled(word, &arguments).unwrap(), expected, "{word}");
        }
        assert!(filled("{z}", &json!({"z": "\0"})).is_err());
    }
}
