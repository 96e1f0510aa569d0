//! Tokens on a terminal, as they come.

use serde_json::{Value, json};
use tokenmold::generate::{Event, Flow, Probabilities};
use tokenmold::sampling::Probability;
use tokenmold::tokenizer::Tokenizer;

use super::style::{Paint, Style};
use super::{Failure, Format, write_out};

/// How forced tokens are told from those that the model chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// By colour alone; without colours the text stays as it is.
    Colour,
    /// By colour, or by brackets without colours.
    Always,
}

/// Writes tokens as they come.
pub(crate) struct Screen<'t> {
    format: Format,
    marks: Marks,
    style: Style,
    in_forced: bool,
    /// Whether each token gets a table of its own instead of a running text.
    pub(crate) tables: bool,
    tokenizer: &'t Tokenizer,
    /// What machines get of each token.
    pub(crate) steps: Vec<Value>,
    /// Why nothing more can be shown.
    failed: Option<Failure>,
}

impl<'t> Screen<'t> {
    pub(crate) fn new(format: Format, marks: Marks, tokenizer: &'t Tokenizer) -> Self {
        Screen {
            format,
            marks,
            style: Style::for_stdout(),
            in_forced: false,
            tables: false,
            tokenizer,
            steps: Vec::new(),
            failed: None,
        }
    }

    /// Writes a piece of text, if there is still someone to read it.
    fn write(&mut self, text: &str) -> Flow {
        match write_out(text) {
            Ok(()) => Flow::Continue,
            Err(failure) => {
                self.failed = Some(failure);
                Flow::Stop
            }
        }
    }

    /// Whether all that was shown could be written.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn show(&mut self, event: &Event<'_>) -> Flow {
        let token = match event {
            Event::Token(token) => token,
            Event::Rest(text) if self.format == Format::Text => {
                return self.write(text);
            }
            _ => return Flow::Continue,
        };
        let mut step = json!({ "token": token.token, "text": token.text, "forced": token.forced });
        if let Some(probabilities) = &token.probabilities {
            step["before"] = self.list(&probabilities.before);
            step["after"] = self.list(&probabilities.after);
        }
        if let Some(place) = &token.place {
            step["state"] = json!(place.state);
            step["at"] = json!(place.locations);
        }
        if let Some(explanation) = &token.explanation {
            let completion = explanation.completion.as_deref();
            step["allowed"] = json!(explanation.allowed);
            step["fitting"] = json!(explanation.fitting);
            step["of"] = json!(explanation.width);
            step["likeliest"] = self.list(&[explanation.likeliest])[0].take();
            step["refused"] = json!(explanation.refused);
            step["completion"] = json!(completion.map(String::from_utf8_lossy));
        }
        self.steps.push(step);
        if self.format == Format::Json {
            return Flow::Continue;
        }
        let shown = match (&token.probabilities, token.forced) {
            (Some(probabilities), _) if self.tables => self.table(token.token, probabilities),
            (None, true) if self.tables => {
                let text = self
                    .style
                    .paint(Paint::Forced, self.tokenizer.describe(token.token));
                format!("forced {text}\n")
            }
            (_, true) => self.style.paint(Paint::Forced, token.text),
            (_, false) => token.text.to_owned(),
        };
        let bracket = self.bracket(token.forced && !(self.tables && token.probabilities.is_some()));
        self.write(&format!("{bracket}{shown}"))
    }

    /// The bracket that begins or ends a run of forced tokens, if brackets are
    /// the marks.
    fn bracket(&mut self, forced: bool) -> &'static str {
        let brackets = self.marks == Marks::Always && !self.style.has_colour();
        match (std::mem::replace(&mut self.in_forced, forced), forced) {
            (false, true) if brackets => "«",
            (true, false) if brackets => "»",
            _ => "",
        }
    }

    /// What is left to print once the text has ended.
    pub(crate) fn end(&mut self) -> &'static str {
        self.bracket(false)
    }

    fn list(&self, tokens: &[Probability]) -> Value {
        let one = |p: &Probability| {
            json!({
                "token": p.token,
                "text": self.tokenizer.describe(p.token),
                "logit": p.logit,
                "probability": p.probability,
            })
        };
        tokens.iter().map(one).collect()
    }

    /// The most probable tokens of a step, side by side.
    fn table(&self, chosen: u32, probabilities: &Probabilities) -> String {
        let cell = |p: Option<&Probability>| match p {
            Some(p) => {
                let text = self.tokenizer.describe(p.token);
                format!("{:>6.1}%  {:<18}", p.probability * 100.0, cut(&text, 18))
            }
            None => " ".repeat(27),
        };
        let chosen = cut(&self.tokenizer.describe(chosen), 40);
        let heading = format!("chosen {chosen:<20}    before the mask              after the mask");
        let mut table = format!("{}\n", self.style.paint(Paint::Heading, heading));
        let rows = probabilities.before.len().max(probabilities.after.len());
        for i in 0..rows {
            let before = probabilities.before.get(i);
            let kept =
                before.is_some_and(|b| probabilities.after.iter().any(|a| a.token == b.token));
            let paint = if kept { Paint::Good } else { Paint::Bad };
            table += &format!(
                "{:27}    {}  {}\n",
                "",
                self.style.paint(paint, cell(before)),
                cell(probabilities.after.get(i)).trim_end()
            );
        }
        table
    }
}

/// At most `width` characters of `text`.
fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}
