//! The arguments that name a grammar, and what is said of one. For example, `sums.gbnf` is read in
//! the dialect `gbnf` because of its ending, unless `--dialect` says otherwise.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use tokenmold::fsm_index::{ByteAutomaton, Report};
use tokenmold::grammar::{self, Config, Dialect, ErrorKind, Grammar, GrammarAutomaton};

use super::style::{Paint, Style};
use super::{Failure, Output, Verdict, read};

/// The notation of a grammar.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Notation {
    /// The notation of the grammar: `gbnf` (llama.cpp), `ebnf` (XGrammar), `lark` (llguidance,
    /// OpenAI), `lark-splits`, `lark-ascii`, `w3c` (XML, SPARQL), `abnf` (the IETF) or `regex`. Default: the ending of the
    /// file's name, or what the text looks like.
    #[arg(long, value_name = "DIALECT", requires = "grammar")]
    dialect: Option<String>,

    /// Set a limit of what the grammar may cost, any number of times: `max_walk_work=1000000`. An
    /// error names the one that is exceeded; the others are those of `grammar::Config`.
    #[arg(long, value_name = "NAME=N", value_parser = limit, requires = "grammar")]
    grammar_limit: Vec<(String, usize)>,
}

/// Reads `NAME=N`.
fn limit(given: &str) -> Result<(String, usize), String> {
    let (name, number) = given.split_once('=').unwrap_or((given, ""));
    let known = Config::default().limits_mut().map(|(known, _)| known);
    if !known.contains(&name) {
        return Err(format!("the limits are {}", known.join(", ")));
    }
    let number = number.parse().map_err(|_| "expected a whole number")?;
    Ok((name.to_owned(), number))
}

impl Notation {
    /// Reads a grammar's file: its text, and the name of its notation.
    fn read(&self, path: &Path) -> Result<(String, String), Failure> {
        let bytes = read(path)?;
        let text = String::from_utf8(bytes)
            .map_err(|e| Failure::new(format!("{} is not text: {e}", path.display())))?;
        let ending = path.extension().and_then(|ending| ending.to_str());
        let dialect = match (&self.dialect, ending) {
            (Some(name), _) => name.clone(),
            (None, Some(ending)) if Grammar::has_notation(ending) => ending.to_owned(),
            (None, _) => Dialect::guess(&text).name().to_owned(),
        };
        Ok((text, dialect))
    }

    /// Reads a grammar and compiles it; its text is there, too.
    pub(crate) fn compile(&self, path: &Path) -> Result<(GrammarAutomaton, String), Failure> {
        let (text, dialect) = self.read(path)?;
        let automaton = self.compile_text(&text, &dialect);
        let automaton = automaton
            .map_err(|error| Failure::new(format!("{}: {}", path.display(), refused(&error))))?;
        Ok((automaton, text))
    }

    fn compile_text(&self, text: &str, dialect: &str) -> Result<GrammarAutomaton, grammar::Error> {
        // The line feed at the end of a file is no part of its expression.
        let text = match dialect {
            "regex" => text.strip_suffix('\n').unwrap_or(text),
            _ => text,
        };
        let mut config = Config::default();
        for (name, most) in &self.grammar_limit {
            if let Some(limit) = config.limit_mut(name) {
                *limit = *most;
            }
        }
        Grammar::compile_named(text, dialect, &config)
    }
}

/// Returns what rules with the option `capture` have read in a text, for people and as JSON, or why that cannot be
/// said; nothing if there is none.
pub(crate) fn captures(automaton: &GrammarAutomaton, text: &[u8]) -> Option<(String, Value)> {
    // A grammar takes UTF-8 alone.
    let text = String::from_utf8_lossy(text);
    let found = match automaton.captures(&text) {
        Ok(found) => found.unwrap_or_default(),
        Err(error) => return Some((format!("no captures: {error}\n"), Value::Null)),
    };
    let (mut shown, mut all) = (String::new(), Vec::new());
    for capture in &found {
        let (name, range) = (capture.name(), capture.range());
        let part = &text[range.clone()];
        let _ = writeln!(
            shown,
            "captured {name}: {part:?} (bytes {} to {})",
            range.start, range.end
        );
        all.push(json!({ "name": name, "text": part, "from": range.start, "to": range.end }));
    }
    (!found.is_empty()).then(|| (shown, all.into()))
}

/// Says why a grammar is refused, and which argument raises a limit.
fn refused(error: &grammar::Error) -> String {
    match error.kind() {
        ErrorKind::LimitExceeded => format!("{error}; `--grammar-limit NAME=N` raises it"),
        _ => error.to_string(),
    }
}

/// Describes a grammar, and the place to which a text comes in it.
pub(crate) fn explain(
    path: &Path,
    notation: &Notation,
    input: Option<&str>,
) -> Result<Output, Failure> {
    let (text, dialect) = notation.read(path)?;
    let style = Style::for_stdout();
    let automaton = match notation.compile_text(&text, &dialect) {
        Ok(automaton) => automaton,
        Err(error) => {
            let said = style.paint(Paint::Bad, format!("refused {}", refused(&error)));
            return Ok(Output {
                text: format!("{said}\n"),
                json: json!({
                    "accepted": false,
                    "dialect": dialect,
                    "error": {
                        "line": error.line(),
                        "column": error.column(),
                        "rule": error.rule(),
                        "why": refused(&error),
                    },
                }),
                verdict: Verdict::Bad,
                ..Output::default()
            });
        }
    };
    let (terminals, states) = (automaton.terminals(), automaton.parser_states());
    let mut text = format!(
        "{}\n",
        style.paint(
            Paint::Good,
            format!("accepted as {dialect}: {terminals} terminals, {states} states of the parser")
        )
    );
    if automaton.checks_ends() {
        text += "greedy lexing can forbid what must come: each step is looked at\n";
    }
    let mut json = json!({
        "accepted": true,
        "dialect": dialect,
        "terminals": terminals,
        "parser_states": states,
        "checks_ends": automaton.checks_ends(),
    });
    let mut verdict = Verdict::Good;
    if let Some(input) = input {
        let (shown, place) = place(&automaton, input.as_bytes());
        text += &shown;
        if place["taken"] != input.len() {
            verdict = Verdict::Bad;
        }
        json["place"] = place;
    }
    Ok(Output {
        text,
        json,
        verdict,
        ..Output::default()
    })
}

/// Describes the place to which a text comes, or the longest beginning of it that may come: which
/// alternatives of which rules have begun, and what may come.
pub(crate) fn place(automaton: &GrammarAutomaton, input: &[u8]) -> (String, Value) {
    let mut scratch = automaton.scratch();
    let mut state = automaton.start();
    let mut taken = 0;
    for byte in input {
        if automaton
            .advance(&mut state, &[*byte], &mut scratch)
            .is_err()
        {
            break;
        }
        taken += 1;
    }
    let place = automaton.place(&state).unwrap_or_default();
    let expected = automaton.expected(&state);
    let ends = automaton.is_accepting(&state);
    let mut text = match taken == input.len() {
        true => format!("behind byte {taken}: {}\n", place.state),
        false => format!("byte {taken} may not come: {}\n", place.state),
    };
    for line in &place.locations {
        let _ = writeln!(text, "  {line}");
    }
    let listed = expected.join(", ");
    let listed = match (ends, expected.is_empty()) {
        (false, _) => listed,
        (true, false) => format!("{listed}, or the end"),
        (true, true) => "the end".to_owned(),
    };
    let _ = writeln!(text, "may come: {listed}");
    let json = json!({
        "taken": taken,
        "state": place.state,
        "alternatives": place.locations,
        "expected": expected,
        "ends": ends,
    });
    (text, json)
}
