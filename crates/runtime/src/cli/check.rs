//! A text, followed token by token. For example, a text that goes wrong behind `{"a": [1, {"b/c":
//! "x` is reported at the JSON Pointer `/a/1/b~1c`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ArgGroup;
use serde_json::{Value, json};
use tokenmold::follow::{self, Refusal};
use tokenmold::fsm_index::{AnyGuide, TokenId, Vocabulary};
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
pub(crate) struct CheckArgs {
    #[command(flatten)]
    bound: RuleArgs,

    #[command(flatten)]
    options: SchemaOptions,

    /// A `tokenizer.json`, or the model directory that holds it.
    #[arg(long, value_name = "FILE")]
    tokenizer: PathBuf,
}

impl CheckArgs {
    /// The options under which a text that is refused would be accepted.
    fn hint(&self, vocabulary: &Vocabulary, text: &[u8]) -> Option<String> {
        let options = &self.options;
        let others = [
            (
                options.with_any_order(),
                "in another order of members: --property-order any",
            ),
            (
                options.with_any_blanks(),
                "with other white space: --whitespace flexible",
            ),
            (
                options.with_any_order().with_any_blanks(),
                "in another order of members and with other white space: --property-order any --whitespace flexible",
            ),
        ];
        let accepts = |options: &SchemaOptions| {
            // A schema from standard input cannot be read once more.
            let rule = self.bound.rule(options, Use::Check).ok().flatten();
            let compiled = rule.and_then(|rule| Compiled::new(&rule.automaton, vocabulary).ok());
            compiled.is_some_and(|compiled| compiled.constraint.is_match(text))
        };
        let found = others.into_iter().find(|(options, _)| accepts(options));
        found.map(|(_, how)| format!("the text is accepted {how}"))
    }
}

/// The text to check comes from standard input; one line feed at its end is
/// the shell's and not part of it. The rules are those of `generate`.
pub(crate) fn run(args: &CheckArgs) -> Result<Output, Failure> {
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
    if report.verdict == Verdict::Bad
        && rule.schema().is_some()
        && let Some(hint) = args.hint(&vocabulary, &text)
    {
        let _ = writeln!(report.text, "{hint}");
        report.outcome["hint"] = hint.into();
    }
    if let Some(automaton) = constraint.grammar()
        && report.verdict == Verdict::Bad
    {
        let (shown, place) = grammar::place(automaton, &text);
        report.text += &shown;
        report.outcome["place"] = place;
    }
    if let Some(automaton) = constraint.grammar()
        && report.verdict == Verdict::Good
        && let Some((shown, captures)) = grammar::captures(automaton, &text)
    {
        report.text += &shown;
        report.outcome["captures"] = captures;
    }
    Ok(report.output())
}

/// The tokenizer's own cut of the text, as it cuts an answer if it puts a blank before whole texts. If it
/// changes the text in another way, the text is cut into single bytes.
fn tokenise(file: &Path, vocabulary: &Vocabulary, text: &[u8]) -> Result<Vec<TokenId>, Failure> {
    let tokenizer =
        Tokenizer::from_json(&read(file)?).map_err(|e| Failure::of(file.display(), e))?;
    let cut = match std::str::from_utf8(text) {
        Ok(text) => {
            let tokens = tokenizer.encode(text, Surround::Omit);
            let tokens = tokens.map_err(|e| Failure::of("standard input", e))?;
            let ids = |tokens: Vec<u32>| tokens.into_iter().map(TokenId::new).collect::<Vec<_>>();
            let own = ids(tokens);
            let spelt = own
                .iter()
                .flat_map(|&token| follow::bytes_of(vocabulary, token));
            match spelt.eq(text.as_bytes()) {
                true => Some(own),
                // It puts a blank before a text, which it does not behind a line feed.
                false => Some(ids(tokenizer.encode_after("\n", text.as_bytes()))),
            }
        }
        Err(_) => None,
    };
    follow::tokens_of(vocabulary, cut.as_deref(), text).map_err(|byte| {
        Failure::new(format!(
            "the vocabulary has no token for the byte 0x{byte:02X}"
        ))
    })
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
        let followed = follow::follow(guide, text, tokens, &mut |step| {
            let shown = format!("{:?}", String::from_utf8_lossy(&step.bytes));
            let paint = match step.accepted {
                true => Paint::Good,
                false => Paint::Bad,
            };
            let allowed = step
                .allowed
                .map_or_else(|| "-".to_owned(), |count| count.to_string());
            let _ = writeln!(
                self.text,
                "{:>7}  {:<8} {allowed:>7}  {}",
                step.offset,
                step.token,
                self.style.paint(paint, shown)
            );
            self.steps.push(json!(step));
        });
        match followed {
            Ok(()) => {
                self.verdict = Verdict::Good;
                self.outcome = json!({ "accepted": true });
                let _ = writeln!(self.text, "{}", self.style.paint(Paint::Good, "accepted"));
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    fn refused(&mut self, refusal: Refusal) {
        let Refusal {
            offset,
            line,
            column,
            pointer,
            why,
            ..
        } = refusal;
        let pointer = self.is_json.then_some(pointer);
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
