//! Cases of grammars with texts that they take or not: against the readers of their dialects, and
//! as something to measure masks on. For example, a case in Lark's dialect has texts that `lark`
//! takes, and texts that it refuses.

use std::path::Path;
use std::sync::Arc;

use fsm_index::{Fill, Guide, Index, IndexConfig, MaskBuffer, TokenId, Vocabulary};
use grammar::{Config, Dialect, ErrorKind, Grammar, GrammarAutomaton};
use serde_json::Value;

use crate::engines::Session;
use crate::golden::Tally;

/// A grammar with texts.
#[derive(Clone, Debug)]
pub struct Case {
    /// `dialect/lexing/slug`.
    pub id: String,
    /// The reading that the answers are for.
    pub dialect: Dialect,
    /// The grammar.
    pub grammar: String,
    /// Its texts.
    pub texts: Vec<Text>,
    /// True if the dialect's own reader refuses the grammar.
    pub is_error: bool,
}

/// A text with what is said of it.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text.
    pub text: String,
    /// True if the grammar takes it.
    pub accept: bool,
    /// True if those that were asked disagree.
    pub disputed: bool,
    /// Who says so.
    pub by: String,
}

/// Reads cases: a file with a JSON object a line, or a folder of grammars in Lark's dialect under
/// greedy lexing (`sql.lark`), each beside a text that it takes (`sql.txt`).
///
/// # Errors
///
/// A file cannot be read, or a line is no case.
pub fn read(file: &Path) -> Result<Vec<Case>, String> {
    if file.is_dir() {
        return languages(file);
    }
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let lines = text.split('\n').filter(|line| !line.is_empty());
    lines.map(case).collect()
}

fn languages(folder: &Path) -> Result<Vec<Case>, String> {
    let text =
        |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| format!("{}: {e}", folder.display()))?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "lark"));
    paths.sort();
    let case = |path: &std::path::PathBuf| {
        Ok(Case {
            id: path.file_stem().unwrap_or_default().display().to_string(),
            dialect: Dialect::Lark,
            grammar: text(path)?,
            texts: vec![Text {
                text: text(&path.with_extension("txt"))?,
                accept: true,
                disputed: false,
                by: "its author".to_owned(),
            }],
            is_error: false,
        })
    };
    paths.iter().map(case).collect()
}

fn case(line: &str) -> Result<Case, String> {
    let value: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let word = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
    let named = |key: &str| word(&value, key).ok_or_else(|| format!("a case has no `{key}`"));
    let dialect = match (named("dialect")?.as_str(), named("lexing")?.as_str()) {
        ("gbnf", _) => Dialect::Gbnf,
        ("ebnf", _) => Dialect::Ebnf,
        ("lark", "greedy") => Dialect::Lark,
        ("lark", _) => Dialect::LarkSplits,
        ("xgr-lark", _) => Dialect::LarkAscii,
        (other, _) => return Err(format!("unknown dialect {other}")),
    };
    let texts = value["texts"].as_array().map_or(&[][..], Vec::as_slice);
    let texts = texts.iter().map(|text| Text {
        text: word(text, "text").unwrap_or_default(),
        accept: text["accept"] == true,
        disputed: text.get("disputed").is_some(),
        by: word(text, "by").unwrap_or_default(),
    });
    Ok(Case {
        id: named("id")?,
        dialect,
        grammar: named("grammar")?,
        texts: texts.collect(),
        is_error: value["error"] == true,
    })
}

/// The results for the texts of all cases.
#[derive(Clone, Copy, Debug, Default)]
pub struct Texts {
    /// Answered as expected.
    pub right: usize,
    /// Taken against what is said of them, disputed ones aside.
    pub wrong_accepts: usize,
    /// Refused against what is said of them, disputed ones aside.
    pub wrong_refusals: usize,
    /// Answered otherwise where those that were asked disagree.
    pub disputed: usize,
    /// Texts of grammars that are refused, by the name of what they use.
    pub of_refused: usize,
    /// Cases whose grammars are refused so.
    pub refused: usize,
}

/// Runs cases, and calls `show` with each difference.
pub fn run(cases: &[Case], mut show: impl FnMut(String)) -> (Tally, Texts) {
    let (mut tally, mut texts) = (Tally::default(), Texts::default());
    for case in cases {
        let compiled = Grammar::compile(&case.grammar, case.dialect, &Config::default());
        let automaton = match compiled {
            Err(_) if case.is_error => {
                tally.count(true);
                continue;
            }
            Ok(_) if case.is_error => {
                show(format!(
                    "{}: taken, though its own reader refuses it",
                    case.id
                ));
                tally.count(false);
                continue;
            }
            Err(error) => {
                // That nothing is in the language is what the texts say, too.
                let is_empty = error.kind() == ErrorKind::EmptyLanguage;
                let passes = is_empty && case.texts.iter().all(|text| !text.accept);
                if passes {
                    texts.right += case.texts.len();
                } else {
                    show(format!("{}: refused: {error}", case.id));
                    texts.of_refused += case.texts.len();
                    texts.refused += usize::from(error.kind() == ErrorKind::Unsupported);
                }
                tally.count(passes);
                continue;
            }
            Ok(automaton) => automaton,
        };
        tally.count(answers(case, &automaton, &mut texts, &mut show));
    }
    (tally, texts)
}

/// Tells whether all texts of a case are answered as expected, disputed ones aside.
fn answers(
    case: &Case,
    automaton: &GrammarAutomaton,
    texts: &mut Texts,
    show: &mut impl FnMut(String),
) -> bool {
    let mut passes = true;
    for text in &case.texts {
        let taken = automaton.accepts(&text.text);
        if taken == text.accept {
            texts.right += 1;
            continue;
        }
        match (text.disputed, taken) {
            (true, _) => texts.disputed += 1,
            (false, true) => texts.wrong_accepts += 1,
            (false, false) => texts.wrong_refusals += 1,
        }
        passes &= text.disputed;
        let said = if taken { "taken" } else { "refused" };
        let disputed = if text.disputed { " (disputed)" } else { "" };
        let shown: String = text.text.chars().take(120).collect();
        show(format!(
            "{}: {shown:?} is {said}, {} disagrees{disputed}",
            case.id, text.by
        ));
    }
    passes
}

/// A grammar that is compiled for a vocabulary.
pub struct Compiled(Arc<Index<GrammarAutomaton>>);

impl Compiled {
    /// Compiles a grammar: what a request would do.
    ///
    /// # Errors
    ///
    /// The grammar is refused.
    pub fn new(text: &str, dialect: Dialect, vocabulary: &Vocabulary) -> Result<Compiled, String> {
        let automaton = Grammar::compile(text, dialect, &Config::default());
        let automaton = automaton.map_err(|e| e.to_string())?;
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Index::lazy(automaton, vocabulary, &config);
        Ok(Compiled(Arc::new(index.map_err(|e| e.to_string())?)))
    }

    /// The beginning of a text.
    pub fn session(&self) -> Box<dyn Session> {
        Box::new(Led(Guide::new(Arc::clone(&self.0))))
    }
}

struct Led(Guide<GrammarAutomaton>);

impl Session for Led {
    fn mask(&mut self, buffer: &mut MaskBuffer) -> Result<(), String> {
        self.0.write_mask(buffer).map_err(|e| e.to_string())
    }

    fn advance(&mut self, token: u32) -> Result<(), String> {
        let token = TokenId::new(token);
        self.0.advance(token).map_err(|e| e.to_string())
    }

    fn is_accepting(&mut self) -> bool {
        self.0.is_accepting()
    }
}
