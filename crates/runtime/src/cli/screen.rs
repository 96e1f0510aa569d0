//! Tokens on a terminal, as they come. For example, forced tokens stand in brackets if marks are
//! asked for.

use serde_json::{Value, json};
use tokenmold::fsm_index::TokenId;
use tokenmold::generate::{Event, Flow, Probabilities, TokenProbability};
use tokenmold::sampling::Probability;
use tokenmold::tokenizer::Tokenizer;

use super::style::{Paint, Style};
use super::{Failure, Format, write_out};

/// The marks that tell forced tokens from those that the model chose.
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
    /// True if each token gets a table of its own instead of a running text.
    pub(crate) tables: bool,
    tokenizer: &'t Tokenizer,
    /// The steps as machines read them.
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

    /// Tells whether all that was shown could be written.
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
        if let Some(share) = token.own.and_then(TokenProbability::allowed_share) {
            step["mass"] = json!(share);
        }
        if let Some(place) = &token.place {
            step["state"] = json!(place.state);
            step["at"] = json!(place.locations);
        }
        if let Some(explanation) = &token.explanation {
            let completion = explanation.completion.as_deref();
            step["allowed"] = json!(explanation.allowed);
            let kinds = &explanation.kinds;
            if explanation.allowed.is_some() {
                step["kinds"] = json!({
                    "letters": kinds.letters,
                    "digits": kinds.digits,
                    "marks": kinds.marks,
                    "blanks": kinds.blanks,
                    "mixed": kinds.mixed,
                    "specials": kinds.specials,
                    "ends": kinds.ends,
                });
            }
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
                let text = self.style.paint(Paint::Forced, self.label(token.token));
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

    /// Returns the text that is left to print once the text has ended.
    pub(crate) fn end(&mut self) -> &'static str {
        self.bracket(false)
    }

    fn list(&self, tokens: &[Probability]) -> Value {
        let one = |p: &Probability| {
            json!({
                "token": p.token,
                "text": self.tokenizer.describe(p.token),
                "label": self.label(p.token),
                "logit": p.logit,
                "probability": p.probability,
            })
        };
        tokens.iter().map(one).collect()
    }

    /// A token with all that cannot be seen made visible: blanks, control characters,
    /// bytes that are no whole character.
    fn label(&self, token: u32) -> String {
        let id = TokenId::new(token);
        let bytes = self.tokenizer.vocabulary().token_bytes(id);
        let Some(bytes) = bytes else {
            return self.tokenizer.describe(token);
        };
        let mut label = String::new();
        for part in bytes.utf8_chunks() {
            for c in part.valid().chars() {
                match c {
                    ' ' => label.push('␣'),
                    '\n' => label.push('⏎'),
                    c if c.is_control() || c.is_whitespace() => {
                        label.extend(c.escape_default());
                    }
                    c => label.push(c),
                }
            }
            for byte in part.invalid() {
                label += &format!("\\x{byte:02X}");
            }
        }
        label
    }

    /// The most probable tokens of a step, side by side.
    fn table(&self, chosen: u32, probabilities: &Probabilities) -> String {
        let all = probabilities.before.iter().chain(&probabilities.after);
        let listed: Vec<(u32, String)> = all.map(|p| (p.token, self.label(p.token))).collect();
        let cell = |p: Option<&Probability>| match p {
            Some(p) => {
                let mut text = cut(&self.label(p.token), 18);
                let looks =
                    |(token, other): &(u32, String)| *token != p.token && cut(other, 18) == text;
                // Tokens with the same text, or the same beginning, are told apart by number.
                if listed.iter().any(looks) {
                    let number = format!(" #{}", p.token);
                    text = cut(&text, 18 - number.len().min(17)) + &number;
                }
                format!("{:>6.1}%  {text:<18}", p.probability * 100.0)
            }
            None => " ".repeat(27),
        };
        let chosen = cut(&self.label(chosen), 40);
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
