//! Many texts: a request on each line, a result on each line. For example, the line `{"id": "a",
//! "prompt": "Ada, 36", "seed": 7}` gives a line with the same `id`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use tokenmold::generate::{Batch, BatchRequest, Event, Flow, Generation};
use tokenmold::model::LoadedModel;

use super::compiled::Compiled;
use super::figures::{ending, is_whole};
use super::generate::{GenerateArgs, Means, ReadyChat, refusal};
use super::model::bar;
use super::rule::{Rule, rule_of};
use super::{Failure, Notes, Output, Verdict, read};

/// A line, read.
struct BatchLine {
    /// The name of the line: its `id`, or its number from 1.
    id: Value,
    messages: Vec<Value>,
    system: Option<String>,
    /// The rule that binds it in place of the options' rule, as it is written.
    own: Option<Own>,
    max_tokens: Option<usize>,
    temperature: Option<f32>,
    seed: Option<u64>,
}

/// A line, or the name of one that is no request with the reason.
type LineRead = Result<BatchLine, (Value, String)>;

/// A rule of a line's own.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Own {
    Schema(String),
    Regex(String),
}

/// The members that a line may have, because others are likely misspelt.
const KEYS: [&str; 9] = [
    "id",
    "prompt",
    "messages",
    "system",
    "schema",
    "regex",
    "max_tokens",
    "temperature",
    "seed",
];

impl BatchLine {
    fn read(text: &str, number: usize) -> LineRead {
        let mut id = json!(number);
        let parsed = serde_json::from_str(text);
        let mut line: Map<String, Value> = match parsed {
            Ok(Value::Object(line)) => line,
            Ok(_) => return Err((id, "the line is no JSON object".to_owned())),
            Err(error) => return Err((id, format!("the line is not JSON: {error}"))),
        };
        if let Some(own) = line.remove("id") {
            id = own;
        }
        match BatchLine::of(&mut line, id.clone()) {
            Ok(line) => Ok(line),
            Err(why) => Err((id, why)),
        }
    }

    fn of(line: &mut Map<String, Value>, id: Value) -> Result<BatchLine, String> {
        if let Some(unknown) = line.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!(
                "there is no `{unknown}`; a line has {}",
                KEYS.join(", ")
            ));
        }
        let mut text = |key: &str| match line.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{key}` is no text")),
        };
        let (prompt, system, regex) = (text("prompt")?, text("system")?, text("regex")?);
        let messages = match (line.remove("messages"), prompt) {
            (Some(Value::Array(messages)), None) => messages,
            (None, Some(prompt)) => vec![json!({"role": "user", "content": prompt})],
            (Some(_), None) => return Err("`messages` is no list".to_owned()),
            (Some(_), Some(_)) => return Err("there are `prompt` and `messages`".to_owned()),
            (None, None) => return Err("there is no `prompt`, and no `messages`".to_owned()),
        };
        let own = match (line.remove("schema"), regex) {
            (None, None) => None,
            (Some(schema), None) => Some(Own::Schema(schema.to_string())),
            (None, Some(regex)) => Some(Own::Regex(regex)),
            (Some(_), Some(_)) => return Err("there are `schema` and `regex`".to_owned()),
        };
        let whole = |key: &str| match line.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(format!("`{key}` is no number from 0")),
            },
        };
        let (max_tokens, seed) = (whole("max_tokens")?, whole("seed")?);
        let max_tokens = max_tokens.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let temperature = match line.get("temperature") {
            None | Some(Value::Null) => None,
            Some(value) => match value.as_f64() {
                Some(number) => Some(number as f32),
                None => return Err("`temperature` is no number".to_owned()),
            },
        };
        Ok(BatchLine {
            id,
            messages,
            system,
            own,
            max_tokens,
            temperature,
            seed,
        })
    }
}

/// The result of a line, or the reason why there is none.
type Outcome<T> = Result<T, String>;

/// The number of lines that are handed to the lanes at a time, for each lane, because results are
/// written, and constraints freed, behind each such part.
const LINES_A_LANE: usize = 16;

/// The numbers of lines by their ends.
#[derive(Default)]
struct Counts {
    complete: usize,
    incomplete: usize,
    failed: usize,
}

/// The lines of a file that are not empty.
fn read_lines(file: &Path) -> Result<Vec<LineRead>, Failure> {
    let text = String::from_utf8(read(file)?)
        .map_err(|_| Failure::new(format!("{} is not UTF-8", file.display())))?;
    let numbered = (1..).zip(text.lines());
    Ok(numbered
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| BatchLine::read(line, number))
        .collect())
}

/// The place of the results: a file or standard output.
struct Results<'a> {
    out: Box<dyn io::Write>,
    file: Option<&'a Path>,
}

impl<'a> Results<'a> {
    fn new(file: Option<&'a Path>) -> Result<Results<'a>, Failure> {
        let out: Box<dyn io::Write> = match file {
            Some(path) => {
                let file = File::create(path).map_err(|e| Failure::of(path.display(), e))?;
                Box::new(BufWriter::new(file))
            }
            None => Box::new(io::stdout().lock()),
        };
        Ok(Results { out, file })
    }

    fn failure(&self, error: &io::Error) -> Failure {
        match self.file {
            Some(path) => Failure::of(path.display(), error),
            None => Failure::of_output(error),
        }
    }

    fn write(&mut self, result: &Value) -> Result<(), Failure> {
        let written = writeln!(self.out, "{result}");
        written.map_err(|e| self.failure(&e))
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let flushed = self.out.flush();
        flushed.map_err(|e| self.failure(&e))
    }
}

/// The bar that tells how far the lines have come.
struct LaneProgress {
    bar: ProgressBar,
    lanes: u64,
    /// Lines of the parts that are done.
    done: u64,
    /// Lines of the part at work that have begun.
    begun: u64,
    tokens: u64,
}

impl LaneProgress {
    fn new(lines: u64, lanes: u64, notes: Notes) -> LaneProgress {
        let bar = bar(
            "0 tokens".to_owned(),
            "{wide_bar} {pos}/{len} texts, {msg} {elapsed}",
            notes,
        );
        bar.set_length(lines);
        LaneProgress {
            bar,
            lanes,
            done: 0,
            begun: 0,
            tokens: 0,
        }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Prompt { .. } => {
                self.begun += 1;
                // As many as there are lanes are not done yet.
                let done = self.done + self.begun.saturating_sub(self.lanes);
                self.bar.set_position(done);
            }
            Event::Token(_) => {
                self.tokens += 1;
                self.bar.set_message(format!("{} tokens", self.tokens));
            }
            _ => {}
        }
    }

    /// A part of that many lines is done.
    fn end_part(&mut self, lines: u64) {
        self.begun = 0;
        self.done += lines;
        self.bar.set_position(self.done);
    }
}

pub(crate) fn run(args: &GenerateArgs, file: &Path, notes: Notes) -> Result<Output, Failure> {
    let lines = read_lines(file)?;
    let mut means = args.means()?;
    let loaded = args.model.load(notes)?;
    let shared = match (&means.rule, args.shares_rule()) {
        (Some(rule), true) => Some(Arc::new(Compiled::new(
            &rule.automaton,
            loaded.tokenizer.vocabulary(),
        )?)),
        _ => None,
    };
    let mut results = Results::new(args.out.as_deref())?;
    let lanes = args.lanes.clamp(1, lines.len().max(1));
    let mut models: Vec<_> = (0..lanes).map(|_| loaded.model.fork()).collect();
    let mut batch = Batch::new(&mut models, &loaded.tokenizer);
    let mut progress = LaneProgress::new(lines.len() as u64, lanes as u64, notes);
    let mut counts = Counts::default();
    let mut compiled = HashMap::new();
    for part in lines.chunks(lanes * LINES_A_LANE) {
        let ready: Vec<Outcome<(ReadyChat, BatchRequest<'_>)>> = part
            .iter()
            .map(|line| {
                let line = line.as_ref().map_err(|(_, why)| why.clone())?;
                prepare(
                    args,
                    &loaded,
                    &mut means,
                    line,
                    shared.as_ref(),
                    &mut compiled,
                )
            })
            .collect();
        let (mut texts, mut requests) = (Vec::new(), Vec::new());
        for ready in ready {
            texts.push(ready.map(|(ready, request)| {
                requests.push(request);
                ready
            }));
        }
        let generated = batch.generate(requests, &mut |_, event| {
            progress.hear(event);
            Flow::Continue
        });
        let mut generated = generated.into_iter();
        for (line, ready) in part.iter().zip(texts) {
            let id = match line {
                Ok(line) => &line.id,
                Err((id, _)) => id,
            };
            let outcome = ready.and_then(|ready| {
                let generation = generated.next().ok_or("there is no result")?;
                let mut generation = generation.map_err(|error| refusal(&error))?;
                // Free text that was cut is not whole here either.
                generation.complete = is_whole(&generation, ready.compiled.as_deref());
                let message = ready.message(&means, &loaded.tokenizer, &generation);
                Ok((generation, message.map_err(|e| e.to_string())?))
            });
            results.write(&counts.line(id, outcome))?;
        }
        results.flush()?;
        progress.end_part(part.len() as u64);
    }
    progress.bar.finish_and_clear();
    Ok(counts.output(means.rule.as_ref()))
}

/// A line as a request with its constraint.
fn prepare<'c>(
    args: &GenerateArgs,
    loaded: &LoadedModel,
    means: &mut Means,
    line: &BatchLine,
    shared: Option<&Arc<Compiled>>,
    compiled: &mut HashMap<Own, Arc<Compiled>>,
) -> Outcome<(ReadyChat, BatchRequest<'c>)> {
    let own = match &line.own {
        None => None,
        Some(Own::Regex(regex)) => Some(Rule::regex(regex)),
        Some(Own::Schema(text)) => {
            let json = serde_json::from_str(text).map_err(|e| e.to_string())?;
            Some(rule_of(&json, &args.options).map_err(|e| e.to_string())?)
        }
    };
    let known = match &line.own {
        None => shared,
        Some(own) => compiled.get(own),
    };
    let known = known.cloned();
    let system = line.system.as_deref().or(args.system.as_deref());
    // The rule of a line stands in the place of the common one while it is made ready.
    let common = match own {
        Some(own) => Some(means.rule.replace(own)),
        None => None,
    };
    let ready = args.ready(loaded, means, &line.messages, system, known.as_ref());
    if let Some(common) = common {
        means.rule = common;
    }
    let ready = ready.map_err(|e| e.to_string())?;
    if let (Some(own), Some(made)) = (&line.own, &ready.compiled) {
        compiled.insert(own.clone(), made.clone());
    }
    let mut sampling = args.sampling.config();
    sampling.temperature = line.temperature.unwrap_or(sampling.temperature);
    sampling.seed = line.seed.unwrap_or(sampling.seed);
    let max_tokens = line.max_tokens.unwrap_or(args.max_tokens);
    let request = args.request(&ready, sampling).with_max_tokens(max_tokens);
    let mut request = BatchRequest::new(request);
    if let Some(compiled) = &ready.compiled {
        let guide = compiled.constraint.guide();
        request = request.with_constraint(guide);
    }
    Ok((ready, request))
}

impl Counts {
    /// The line that tells what a line came to.
    fn line(&mut self, id: &Value, outcome: Outcome<(Generation, Option<Value>)>) -> Value {
        let (generation, message) = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                self.failed += 1;
                return json!({ "id": id, "error": error });
            }
        };
        match generation.complete {
            true => self.complete += 1,
            false => self.incomplete += 1,
        }
        let mut line = json!({
            "id": id,
            "text": generation.text,
            "value": serde_json::from_str::<Value>(&generation.text).ok(),
            "complete": generation.complete,
            "finish": format!("{:?}", generation.finish),
            "prompt_tokens": generation.prompt_tokens,
            "tokens": generation.tokens.len(),
        });
        if !generation.complete {
            line["why"] = ending(&generation).into();
        }
        if let Some(message) = message {
            line["message"] = message;
        }
        line
    }

    fn output(self, rule: Option<&Rule>) -> Output {
        let Counts {
            complete,
            incomplete,
            failed,
        } = self;
        let (verdict, complaint) = match (failed, incomplete) {
            (0, 0) => (Verdict::Good, String::new()),
            (0, n) => (Verdict::Incomplete, format!("{n} outputs are incomplete")),
            (n, _) => (
                Verdict::Bad,
                format!("{n} lines failed; their results say why"),
            ),
        };
        Output {
            notes: format!(
                "{}{complete} complete, {incomplete} incomplete, {failed} failed\n",
                rule.map(Rule::warnings).unwrap_or_default()
            ),
            complaint,
            json: json!({}),
            verdict,
            ..Output::default()
        }
    }
}
