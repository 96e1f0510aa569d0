//! Measures the model on requests whose names are not in the training text,
//! with and without the mask.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use fsm_index::{Guide, Index};
use schema_regex::Whitespace;
use serde_json::Value;
use tokenmold::constraint::Constraint;
use tokenmold::generate::{Flow, ForcedTokens, Generation, Prompt, Request, Session};
use tokenmold::model::{self, LoadedModel};

use crate::AnyError;
use crate::text::{Example, Names, Task, Writer};

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// A folder with the model; the embedded one if none is given.
    #[arg(long)]
    model: Option<PathBuf>,
    /// How many requests.
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// Their seed.
    #[arg(long, default_value_t = 2026)]
    seed: u64,
    /// Most tokens of an answer.
    #[arg(long, default_value_t = 160)]
    max_tokens: usize,
    /// Print each request with both answers.
    #[arg(long)]
    print: bool,
}

/// What is counted over the answers.
#[derive(Default)]
struct Counts {
    requests: usize,
    cut_off: usize,
    json: usize,
    valid: usize,
    calls: usize,
    right_function: usize,
    fields: usize,
    right_fields: usize,
    exact: usize,
    tokens: usize,
    forced: usize,
    seconds: f64,
}

pub(crate) fn measure(options: &Options) -> Result<(), AnyError> {
    let mut loaded = match &options.model {
        Some(folder) => model::load(folder)?,
        None => tokenmold::embedded::load()?,
    };
    let (mut free, mut masked) = (Counts::default(), Counts::default());
    for stream in 0..options.count {
        let example = Writer::new(options.seed, stream, Names::HeldOut).example(0);
        let without = answer(&mut loaded, &example, options, None)?;
        let regex = regex(&example.task)?;
        let index = Arc::new(Index::new(&regex, loaded.tokenizer.vocabulary())?);
        let mut guide = Guide::new(index);
        let with = answer(&mut loaded, &example, options, Some(&mut guide))?;
        count(&mut free, &example.task, &without)?;
        count(&mut masked, &example.task, &with)?;
        if options.print {
            println!("{}\n  right    {}", example.user, example.answer);
            println!(
                "  without  {}\n  with     {}\n",
                without.0.text, with.0.text
            );
        }
    }
    print(&free, &masked);
    Ok(())
}

/// The greedy answer, and the seconds it took.
fn answer(
    loaded: &mut LoadedModel,
    example: &Example,
    options: &Options,
    constraint: Option<&mut dyn Constraint>,
) -> Result<(Generation, f64), AnyError> {
    let request = Request::new(Prompt::Chat(example.prompt()))
        .with_max_tokens(options.max_tokens)
        .with_forced(ForcedTokens::Append);
    let began = Instant::now();
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let generation = session.generate(&request, constraint, &mut |_| Flow::Continue)?;
    Ok((generation, began.elapsed().as_secs_f64()))
}

/// The answers that the task permits.
pub(crate) fn regex(task: &Task) -> Result<String, AnyError> {
    let of_schema = |schema: &Value| -> Result<String, AnyError> {
        let options = schema_regex::Options::default().with_whitespace(Whitespace::Compact);
        Ok(schema_regex::to_regex(
            &schema_regex::parse(schema)?,
            &options,
        )?)
    };
    match task {
        Task::Copy => Err("copying has no schema".into()),
        Task::Object { schema, .. } => of_schema(schema),
        Task::Call { tools, .. } => {
            let mut calls = Vec::new();
            for tool in tools {
                let name = tool["name"].as_str().unwrap_or_default();
                let arguments = of_schema(&tool["parameters"])?;
                calls.push(format!("\"{name}\",\"arguments\":(?:{arguments})"));
            }
            Ok(format!(
                "<tool_call>\\{{\"name\":(?:{})\\}}</tool_call>",
                calls.join("|")
            ))
        }
    }
}

fn count(
    counts: &mut Counts,
    task: &Task,
    (generation, seconds): &(Generation, f64),
) -> Result<(), AnyError> {
    counts.requests += 1;
    counts.cut_off += usize::from(!generation.complete || generation.tokens.len() >= 160);
    counts.tokens += generation.tokens.len();
    counts.forced += generation.forced.iter().filter(|forced| **forced).count();
    counts.seconds += seconds;
    let is_valid = |schema: &Value, value: &Value| -> Result<bool, AnyError> {
        Ok(jsonschema::validator_for(schema)?.is_valid(value))
    };
    let text = &generation.text;
    match task {
        Task::Copy => {}
        Task::Object { schema, expected } => {
            let value = parse(text);
            counts.json += usize::from(value.is_some());
            let value = value.unwrap_or_default();
            counts.valid += usize::from(is_valid(schema, &value)?);
            compare(counts, expected, &value);
        }
        Task::Call {
            tools,
            name,
            arguments,
        } => {
            counts.calls += 1;
            let inside = text
                .strip_prefix("<tool_call>")
                .and_then(|rest| rest.strip_suffix("</tool_call>"));
            let call = inside.and_then(parse);
            counts.json += usize::from(call.is_some());
            let call = call.unwrap_or_default();
            counts.right_function += usize::from(call["name"] == **name);
            if let Some(tool) = tools.iter().find(|tool| tool["name"] == call["name"]) {
                let valid = call.as_object().is_some_and(|call| call.len() == 2)
                    && is_valid(&tool["parameters"], &call["arguments"])?;
                counts.valid += usize::from(valid);
            }
            let given = match call["name"] == **name {
                true => &call["arguments"],
                false => &Value::Null,
            };
            compare(counts, arguments, given);
        }
    }
    Ok(())
}

/// Parses JSON in which no object has the same key twice.
fn parse(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    // A repeated key is lost in parsing; written again the text is shorter.
    (value.to_string().len() == text.len()).then_some(value)
}

/// Counts the fields that are exactly right, and whether all are and no more.
fn compare(counts: &mut Counts, expected: &Value, given: &Value) {
    let Some(expected) = expected.as_object() else {
        return;
    };
    counts.fields += expected.len();
    let right = expected
        .iter()
        .filter(|(key, value)| given.get(key) == Some(value));
    counts.right_fields += right.count();
    counts.exact += usize::from(given.as_object() == Some(expected));
}

fn print(free: &Counts, masked: &Counts) {
    let percent = |part: usize, whole: usize| match whole {
        0 => "-".to_owned(),
        _ => format!("{:.0}%", 100.0 * part as f64 / whole as f64),
    };
    let row = |name: &str, value: &dyn Fn(&Counts) -> String| {
        println!("| {name} | {} | {} |", value(free), value(masked));
    };
    println!(
        "| {} requests, {} of them tool calls | without mask | with mask |",
        free.requests, free.calls
    );
    println!("|---|---|---|");
    row("JSON, no key twice", &|c| percent(c.json, c.requests));
    row("valid by the schema shown", &|c| {
        percent(c.valid, c.requests)
    });
    row("right function (of the calls)", &|c| {
        percent(c.right_function, c.calls)
    });
    row("right fields", &|c| percent(c.right_fields, c.fields));
    row("all fields right and no other", &|c| {
        percent(c.exact, c.requests)
    });
    row("cut off", &|c| c.cut_off.to_string());
    row("tokens, forced ones among them", &|c| {
        format!("{}, {}", c.tokens, c.forced)
    });
    row("seconds", &|c| format!("{:.1}", c.seconds));
}
