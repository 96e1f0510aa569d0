//! The program without a command: the main job, from end to end. For example, the embedded model is
//! asked for an order under its schema, and the answer is checked by a validator.

use std::time::Instant;

use constraint::Automaton;
use serde_json::{Value, json};
use tokenmold::embedded::{self, DEMO_REQUEST, DEMO_SCHEMA};
use tokenmold::generate::{Flow, Generation, Prompt, Request, Session};
use tokenmold::response_parser::ResponseSchema;
use tokenmold::schema_regex;

use super::compiled::Compiled;
use super::figures::{describe, figures};
use super::screen::{Marks, Screen};
use super::style::{Paint, Style};
use super::{Failure, Format, Output, Verdict, write_out};

/// The response schema by which the text becomes a message of a chat: the whole of it is the
/// content, because it is JSON.
const RESPONSE_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "role": {"const": "assistant"},
    "content": {"x-parser": "json"}
  }
}"#;

/// Long enough for any answer the model was trained to give.
const MAX_TOKENS: usize = 200;

pub(crate) fn run(format: Format) -> Result<Output, Failure> {
    let style = Style::for_stdout();
    let text = Printer { format, style };
    let schema: Value = from_constant(DEMO_SCHEMA)?;

    text.heading("1. A schema goes in")?;
    text.line(DEMO_SCHEMA)?;
    let start = Instant::now();
    let regex = schema_regex::parse(&schema)
        .and_then(|schema| schema_regex::to_regex(&schema, &schema_regex::Options::default()))
        .map_err(|e| Failure::of("the built-in schema", e))?;
    let to_regex = start.elapsed();
    let mut loaded = embedded::load().map_err(|e| Failure::of("the embedded model", e))?;
    let compiled = Compiled::new(
        &Automaton::Regex(regex.clone()),
        loaded.tokenizer.vocabulary(),
    )?;
    text.line(format!(
        "-> a regular expression of {} bytes in {to_regex:.0?} -> an automaton of {} states in {:.0?}",
        regex.len(),
        compiled.constraint.size().count,
        compiled.time,
    ))?;

    text.heading("2. A model decodes under it")?;
    text.line(format!(
        "{} {DEMO_REQUEST}",
        style.paint(Paint::Faint, "request:")
    ))?;
    let prompt = embedded::object_prompt(&schema, DEMO_REQUEST);
    let request = Request::new(Prompt::Chat(prompt.clone())).with_max_tokens(MAX_TOKENS);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let free = session
        .generate(&request, None, &mut |_| Flow::Continue)
        .map_err(|e| Failure::new(e.to_string()))?;
    text.line(format!(
        "{} {}",
        style.paint(Paint::Faint, "without the mask:"),
        free.text
    ))?;
    text.line(verdict_of(&schema, &free, style)?)?;
    text.begin(&format!(
        "{} ",
        style.paint(Paint::Faint, "with the mask:   ")
    ))?;
    let mut screen = Screen::new(format, Marks::Always, &loaded.tokenizer);
    let mut guide = compiled.constraint.guide();
    let bound = session
        .generate(&request, Some(&mut guide), &mut |event| screen.show(event))
        .map_err(|e| Failure::new(e.to_string()))?;
    screen.check()?;
    text.line(screen.end())?;
    text.line(verdict_of(&schema, &bound, style)?)?;
    let marked = match style.has_colour() {
        true => style
            .paint(Paint::Forced, "forced tokens look like this")
            .to_string(),
        false => "forced tokens stand in «»".to_owned(),
    };
    text.line(style.paint(
        Paint::Faint,
        format!("({marked}: only one text could follow, so the model was not asked)"),
    ))?;

    text.heading("3. A parsed message comes out")?;
    let parser = ResponseSchema::new(&from_constant(RESPONSE_SCHEMA)?)
        .map_err(|e| Failure::of("the built-in response schema", e))?;
    let message = parser
        .parse(&bound.text)
        .map_err(|e| Failure::of("the answer", e))?;
    text.line(format!("{message:#}"))?;

    text.heading("Figures")?;
    text.begin(&figures(&bound, Some(&compiled)))?;
    text.line("")?;
    text.line(
        "Next: tokenmold --help, or tokenmold generate --schema FILE --prompt TEXT [--model DIR]",
    )?;
    Ok(Output {
        json: json!({
            "schema": schema,
            "regex": regex,
            "prompt": prompt,
            "without_mask": { "text": free.text, "valid": is_valid(&schema, &free.text)? },
            "with_mask": describe(&bound, Some(&compiled), screen.steps),
            "message": message,
        }),
        verdict: Verdict::Good,
        ..Output::default()
    })
}

fn from_constant(json: &str) -> Result<Value, Failure> {
    serde_json::from_str(json).map_err(|e| Failure::of("a built-in constant", e))
}

/// Tells whether a text is a value of the schema, judged without the automaton.
fn is_valid(schema: &Value, text: &str) -> Result<bool, Failure> {
    let Ok(value) = serde_json::from_str(text) else {
        return Ok(false);
    };
    schema_regex::parse(schema)
        .and_then(|schema| schema.is_valid(&value, &schema_regex::Options::default()))
        .map_err(|e| Failure::of("the built-in schema", e))
}

fn verdict_of(schema: &Value, generation: &Generation, style: Style) -> Result<String, Failure> {
    let what = match serde_json::from_str::<Value>(&generation.text) {
        Err(e) => style.paint(Paint::Bad, format!("   not JSON: {e}")),
        Ok(_) if is_valid(schema, &generation.text)? => {
            style.paint(Paint::Good, "   JSON, and valid by the schema")
        }
        Ok(_) => style.paint(Paint::Bad, "   JSON, but not valid by the schema"),
    };
    Ok(what)
}

/// Prints for people at once, and nothing for machines.
struct Printer {
    format: Format,
    style: Style,
}

impl Printer {
    fn heading(&self, text: &str) -> Result<(), Failure> {
        self.line(format!("\n{}", self.style.paint(Paint::Heading, text)))
    }

    fn line(&self, text: impl AsRef<str>) -> Result<(), Failure> {
        let mut line = text.as_ref().to_owned();
        line.push('\n');
        self.begin(&line)
    }

    fn begin(&self, text: &str) -> Result<(), Failure> {
        match self.format {
            Format::Text => write_out(text),
            Format::Json => Ok(()),
        }
    }
}
