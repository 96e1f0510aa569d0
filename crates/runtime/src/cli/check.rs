//! A text, followed token by token. For example, a text that goes wrong behind `{"a": [1, {"b/c":
//! "x` is reported at the JSON Pointer `/a/1/b~1c`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ArgGroup;
use serde_json::{Value, json};
use tokenmold::fsm_index::{AnyGuide, TokenId, TokenMask, Vocabulary};
use tokenmold::schema_regex::ledger::{Entry, Status};
use tokenmold::tokenizer::{Surround, Tokenizer};

use super::compiled::Compiled;
use super::rule::{RULES, RuleArgs};
use super::schema::{SchemaOptions, Use};
use super::style::{Paint, Style};
use super::{Failure, Output, Verdict, grammar, ledger, read, read_stdin, read_vocabulary};

/// Arguments of `tokenmold check`.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("rule").args(RULES).required(true))]
pub(crate) struct Args {
    #[command(flatten)]
    bound: RuleArgs,

    #[command(flatten)]
    options: SchemaOptions,

    /// A `tokenizer.json`, or the model directory that holds it.
    #[arg(long, value_name = "FILE")]
    tokenizer: PathBuf,
}

/// The text to check comes from standard input; one line feed at its end is
/// the shell's and not part of it. The rules are those of `generate`.
pub(crate) fn run(args: &Args) -> Result<Output, Failure> {
    let Some(rule) = args.bound.rule(&args.options, Use::Check)? else {
        return Err(Failure::new(format!(
            "one of --{} is needed",
            RULES.join(", --")
        )));
    };
    let (file, vocabulary) = read_vocabulary(&args.tokenizer)?;
    let mut text = read_stdin()?;
    if text.last() == Some(&b'\n') {
        text.pop();
    }
    let tokens = tokenise(&file, &vocabulary, &text)?;
    let mut report = Report::new(rule.schema().is_some());
    let constraint = Compiled::new(&rule.automaton, &vocabulary)?.constraint;
    report.ledger = constraint.ledger();
    report.follow(&mut *constraint.guide(), &text, &tokens);
    if let Some(automaton) = constraint.grammar()
        && report.verdict == Verdict::Bad
    {
        let (shown, place) = grammar::place(automaton, &text);
        report.text += &shown;
        report.outcome["place"] = place;
    }
    Ok(report.output())
}

/// The tokenizer's own cut of the text. If the tokenizer would change the text (a blank put before
/// it, say), the text is cut into single bytes.
fn tokenise(file: &Path, vocabulary: &Vocabulary, text: &[u8]) -> Result<Vec<TokenId>, Failure> {
    let tokenizer =
        Tokenizer::from_json(&read(file)?).map_err(|e| Failure::of(file.display(), e))?;
    if let Ok(text) = std::str::from_utf8(text) {
        let tokens = tokenizer
            .encode(text, Surround::Omit)
            .map_err(|e| Failure::of("standard input", e))?;
        let tokens: Vec<TokenId> = tokens.into_iter().map(TokenId::new).collect();
        let spelt = tokens
            .iter()
            .flat_map(|&t| bytes_of(vocabulary, t))
            .copied();
        if spelt.eq(text.bytes()) {
            return Ok(tokens);
        }
    }
    let single = |byte: u8| {
        let token = vocabulary.texts().find(|(_, bytes)| *bytes == [byte]);
        token.map(|(id, _)| id).ok_or_else(|| {
            Failure::new(format!(
                "the vocabulary has no token for the byte 0x{byte:02X}"
            ))
        })
    };
    text.iter().map(|&byte| single(byte)).collect()
}

fn bytes_of(vocabulary: &Vocabulary, token: TokenId) -> &[u8] {
    let bytes = vocabulary.token_bytes(token);
    bytes
        .or_else(|| vocabulary.token_name(token))
        .unwrap_or_default()
}

struct Report {
    style: Style,
    is_json: bool,
    text: String,
    steps: Vec<Value>,
    outcome: Value,
    verdict: Verdict,
    /// The fate of each keyword, if the rule is a schema.
    ledger: Vec<Entry>,
}

impl Report {
    fn new(is_json: bool) -> Self {
        Report {
            style: Style::for_stdout(),
            is_json,
            text: String::new(),
            steps: Vec::new(),
            outcome: Value::Null,
            verdict: Verdict::Bad,
            ledger: Vec::new(),
        }
    }

    fn follow(&mut self, guide: &mut dyn AnyGuide, text: &[u8], tokens: &[TokenId]) {
        let _ = writeln!(
            self.text,
            "{}",
            self.style
                .paint(Paint::Heading, "   byte  token    allowed  text")
        );
        let mut at = 0;
        for &token in tokens {
            let bytes = bytes_of(guide.vocabulary(), token).to_vec();
            let allowed = guide.mask().ok().map(TokenMask::count);
            let shown = format!("{:?}", String::from_utf8_lossy(&bytes));
            let taken = guide.advance(token);
            let paint = if taken.is_ok() {
                Paint::Good
            } else {
                Paint::Bad
            };
            let _ = writeln!(
                self.text,
                "{at:>7}  {:<8} {:>7}  {}",
                token.get(),
                allowed.map_or_else(|| "-".to_owned(), |count| count.to_string()),
                self.style.paint(paint, shown)
            );
            self.steps.push(json!({
                "offset": at,
                "token": token.get(),
                "bytes": bytes,
                "allowed": allowed,
                "accepted": taken.is_ok(),
            }));
            if let Err(error) = taken {
                let offset = at + error.offset().unwrap_or(0);
                return self.refused(text, offset, &error.to_string());
            }
            at += bytes.len();
        }
        if guide.is_accepting() {
            self.verdict = Verdict::Good;
            self.outcome = json!({ "accepted": true });
            let _ = writeln!(self.text, "{}", self.style.paint(Paint::Good, "accepted"));
        } else {
            let next = guide.allowed_bytes();
            let next = String::from_utf8_lossy(&next[..next.len().min(16)]).into_owned();
            self.refused(
                text,
                text.len(),
                &format!("the text ends too early; one of {next:?} must follow"),
            );
        }
    }

    fn refused(&mut self, text: &[u8], offset: usize, why: &str) {
        let before = &text[..offset.min(text.len())];
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&b| b != b'\n').count() + 1;
        let pointer = self.is_json.then(|| instance_pointer(before));
        let place = match &pointer {
            Some(pointer) => {
                format!("byte {offset} (line {line}, column {column}), at {pointer:?} of the value")
            }
            None => format!("byte {offset} (line {line}, column {column})"),
        };
        let _ = writeln!(
            self.text,
            "{} at {place}: {why}",
            self.style.paint(Paint::Bad, "refused")
        );
        self.outcome = json!({
            "accepted": false,
            "offset": offset,
            "line": line,
            "column": column,
            "pointer": pointer,
            "why": why,
        });
    }

    fn output(self) -> Output {
        let mut json = self.outcome;
        json["steps"] = self.steps.into();
        let mut notes = String::new();
        if self.is_json {
            json["ledger"] = ledger::list(&self.ledger).into();
            // Who checks a text wants to know what was not looked at as written.
            let loose = self.ledger.iter().filter(|e| e.status != Status::Enforced);
            notes = format!(
                "{}{}\n",
                ledger::table(loose),
                ledger::summary(&self.ledger)
            );
        }
        Output {
            text: self.text,
            notes,
            json,
            verdict: self.verdict,
            ..Output::default()
        }
    }
}

/// The JSON Pointer (RFC 6901) of the value that the end of `prefix`, the
/// beginning of a JSON text, lies in. Not JSON: as far as it can be told.
fn instance_pointer(prefix: &[u8]) -> String {
    enum Level {
        Array(usize),
        Object(Option<String>),
    }
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    while at < prefix.len() {
        match prefix[at] {
            b'[' => levels.push(Level::Array(0)),
            b'{' => levels.push(Level::Object(None)),
            b']' | b'}' => {
                levels.pop();
            }
            b',' => match levels.last_mut() {
                Some(Level::Array(n)) => *n += 1,
                Some(Level::Object(key)) => *key = None,
                None => {}
            },
            b'"' => {
                let from = at;
                at += 1;
                while at < prefix.len() && prefix[at] != b'"' {
                    at += 1 + usize::from(prefix[at] == b'\\');
                }
                if let Some(Level::Object(key @ None)) = levels.last_mut()
                    && at < prefix.len()
                {
                    let text = serde_json::from_slice(&prefix[from..=at]);
                    *key = Some(text.unwrap_or_default());
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut pointer = String::new();
    for level in levels {
        match level {
            Level::Array(n) => {
                let _ = write!(pointer, "/{n}");
            }
            Level::Object(Some(key)) => {
                let _ = write!(pointer, "/{}", json_tree::pointer::escape(&key));
            }
            Level::Object(None) => {}
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::instance_pointer;

    #[test]
    fn pointers_name_the_value_that_a_text_breaks_off_in() {
        let cases = [
            ("", ""),
            ("{\"a", ""),
            ("{\"a\": ", "/a"),
            ("{\"a\": [1, {\"b/c\": \"x,{", "/a/1/b~1c"),
            ("{\"a\": [1], \"b\": {\"c\": 1}", "/b"),
            ("[[], [\"\\\"]\", ", "/1/1"),
            ("{\"k\\u0041\": ", "/kA"),
        ];
        for (prefix, pointer) in cases {
            assert_eq!(instance_pointer(prefix.as_bytes()), pointer, "{prefix}");
        }
    }
}
