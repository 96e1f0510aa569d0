#![doc = include_str!("../README.md")]

mod compile;
mod dialects;
mod error;
mod greedy;
mod machine;
mod run;

use std::fmt;
use std::str::FromStr;

pub use error::{Error, ErrorKind};
pub use machine::{GrammarAutomaton, Scratch, State};

use compile::around::Edges;
use compile::cfg::Ignores;
use compile::lower::{self, Meaning};
use compile::patterns::{self, Reading};
use dialects::ast::{Expr, Rule, RuleKind, Tree};
use dialects::ebnf::{self, Notation};
use dialects::lark;

/// In which notation a grammar is written, and what it means by it.
///
/// ```
/// use grammar::Dialect;
///
/// assert_eq!("gbnf".parse::<Dialect>()?, Dialect::Gbnf);
/// assert_eq!(Dialect::LarkSplits.name(), "lark-splits");
/// # Ok::<(), grammar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// GBNF of llama.cpp. Begins with `root`; every split of a text counts.
    Gbnf,
    /// EBNF of XGrammar. Begins with `root`; every split of a text counts.
    Ebnf,
    /// Lark as llguidance reads it, which is OpenAI's custom tools' and vLLM's. Begins with
    /// `start`; lexemes are as long as they can be, of those that the parser expects.
    Lark,
    /// Lark as the package `lark` reads it with its dynamic lexer in full: every split
    /// counts, and ignored text may come at both ends.
    LarkSplits,
    /// Lark as XGrammar reads it: every split counts, and classes of regular expressions
    /// are of ASCII.
    LarkAscii,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 5] = [
        Dialect::Gbnf,
        Dialect::Ebnf,
        Dialect::Lark,
        Dialect::LarkSplits,
        Dialect::LarkAscii,
    ];

    /// Its name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Gbnf => "gbnf",
            Dialect::Ebnf => "ebnf",
            Dialect::Lark => "lark",
            Dialect::LarkSplits => "lark-splits",
            Dialect::LarkAscii => "lark-ascii",
        }
    }

    /// The dialect that a text looks like: without `::=` it is Lark. With it, names, options or
    /// calls that GBNF does not have make it EBNF.
    ///
    /// ```
    /// use grammar::Dialect;
    ///
    /// assert_eq!(Dialect::guess("start: \"a\"+"), Dialect::Lark);
    /// assert_eq!(Dialect::guess("root ::= \"a\"+"), Dialect::Gbnf);
    /// ```
    pub fn guess(text: &str) -> Dialect {
        if !text.contains("::=") {
            return Dialect::Lark;
        }
        let names = text.lines().filter_map(|line| line.split_once("::="));
        let mut names = names.map(|(name, _)| name);
        let has_call = ["Regex(", "Substring(", "TagDispatch("]
            .iter()
            .any(|call| text.contains(call));
        match has_call || names.any(|name| name.contains(['_', '.', '['])) {
            true => Dialect::Ebnf,
            false => Dialect::Gbnf,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Dialect, Error> {
        let known = Dialect::ALL
            .into_iter()
            .find(|dialect| dialect.name() == name);
        known.ok_or_else(|| {
            let names = Dialect::ALL.map(Dialect::name).join(", ");
            Error::new(
                ErrorKind::Name,
                format!("no dialect `{name}`: there are {names}"),
            )
        })
    }
}

/// Limits of what a grammar may cost. Each has an error of its own, which names it.
///
/// ```
/// use grammar::{Config, Dialect, Grammar};
///
/// let config = Config { max_text_bytes: 10, ..Config::default() };
/// let error = Grammar::compile("root ::= \"too long\"", Dialect::Gbnf, &config).unwrap_err();
/// assert!(error.to_string().contains("max_text_bytes"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Nesting of groups in the text, in levels. Default 200.
    pub max_depth: usize,
    /// The text of a grammar, in bytes. Default 4 MiB.
    pub max_text_bytes: usize,
    /// States of the automaton of one terminal. Default 50,000.
    pub max_terminal_states: usize,
    /// States of the automata of all terminals together, 1 KiB each while they are put
    /// together. Default 200,000.
    pub max_states: usize,
    /// The count of one repetition of something that is no terminal, those of repetitions
    /// directly around it multiplied. Default 1,000,000.
    pub max_count: usize,
    /// States of the parser. Default 100,000.
    pub max_parser_states: usize,
    /// Steps of one compilation: of a regular expression, or items of rules. Default
    /// 40,000,000.
    pub max_work: usize,
    /// What one scratch remembers before it begins anew, in bytes. Default 64 MiB.
    pub max_cache_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            max_depth: 200,
            max_text_bytes: 4 << 20,
            max_terminal_states: 50_000,
            max_states: 200_000,
            max_count: 1_000_000,
            max_parser_states: 100_000,
            max_work: 40_000_000,
            max_cache_bytes: 64 << 20,
        }
    }
}

/// Reads grammars and compiles them.
///
/// ```
/// use grammar::Grammar;
///
/// let sums = Grammar::from_gbnf("root ::= [0-9]+ (\"+\" root)?")?;
/// assert!(sums.accepts("1+22+3"));
/// assert!(!sums.accepts("1+"));
/// # Ok::<(), grammar::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Grammar;

impl Grammar {
    /// Compiles a grammar of some dialect.
    ///
    /// # Errors
    ///
    /// The text is malformed, names what is not defined, uses what is not supported, has no
    /// text in its language, or exceeds a limit. Errors say where.
    pub fn compile(
        text: &str,
        dialect: Dialect,
        config: &Config,
    ) -> Result<GrammarAutomaton, Error> {
        if text.len() > config.max_text_bytes {
            return Err(Error::limit(
                "max_text_bytes",
                "bytes of text",
                config.max_text_bytes,
            ));
        }
        let splits = Meaning {
            reading: Reading::Splits,
            start: "root",
            all_names: true,
            skip_at_ends: false,
            trailing_skip: false,
            ignores: Ignores::AsLexemes,
            edges: Edges::Splits,
        };
        let (tree, meaning) = match dialect {
            Dialect::Gbnf => (ebnf::parse(text, Notation::Gbnf, config)?, splits),
            Dialect::Ebnf => (
                ebnf::parse(text, Notation::Ebnf, config)?,
                Meaning {
                    reading: Reading::Ascii,
                    ..splits
                },
            ),
            Dialect::Lark | Dialect::LarkSplits | Dialect::LarkAscii => {
                let reading = match dialect {
                    Dialect::Lark => Reading::Greedy,
                    Dialect::LarkSplits => Reading::Splits,
                    _ => Reading::Ascii,
                };
                let meaning = Meaning {
                    reading,
                    start: "start",
                    all_names: false,
                    skip_at_ends: dialect == Dialect::LarkSplits,
                    trailing_skip: dialect == Dialect::LarkAscii,
                    ignores: match dialect {
                        Dialect::LarkSplits => Ignores::Longest,
                        _ => Ignores::AsLexemes,
                    },
                    edges: match dialect {
                        Dialect::Lark => Edges::Behind,
                        _ => Edges::Splits,
                    },
                };
                (lark::parse(text, reading, config)?, meaning)
            }
        };
        let cfg = lower::lower(&tree, text, meaning, config)?;
        GrammarAutomaton::new(cfg, text, config)
    }

    /// Compiles a grammar in the notation of a name: that of a [`Dialect`], or `regex` for a
    /// regular expression.
    ///
    /// # Errors
    ///
    /// As [`Grammar::compile`], and where there is no dialect of that name.
    ///
    /// ```
    /// use grammar::{Config, Grammar};
    ///
    /// let config = Config::default();
    /// assert!(Grammar::compile_named("[0-9]+", "regex", &config)?.accepts("7"));
    /// assert!(Grammar::compile_named("root ::= [0-9]+", "gbnf", &config)?.accepts("7"));
    /// assert!(Grammar::compile_named("root ::= [0-9]+", "abnf", &config).is_err());
    /// # Ok::<(), grammar::Error>(())
    /// ```
    pub fn compile_named(
        text: &str,
        name: &str,
        config: &Config,
    ) -> Result<GrammarAutomaton, Error> {
        match name {
            "regex" => Grammar::from_regex(text, config),
            name => Grammar::compile(text, name.parse()?, config),
        }
    }

    /// Compiles GBNF of llama.cpp, with the default [`Config`].
    ///
    /// # Errors
    ///
    /// As [`Grammar::compile`].
    ///
    /// ```
    /// use grammar::Grammar;
    ///
    /// let sums = Grammar::from_gbnf("root ::= [0-9]+ (\"+\" root)?")?;
    /// assert!(sums.accepts("1+20+3") && !sums.accepts("1+"));
    /// # Ok::<(), grammar::Error>(())
    /// ```
    pub fn from_gbnf(text: &str) -> Result<GrammarAutomaton, Error> {
        Grammar::compile(text, Dialect::Gbnf, &Config::default())
    }

    /// Compiles EBNF of XGrammar, with the default [`Config`].
    ///
    /// # Errors
    ///
    /// As [`Grammar::compile`].
    pub fn from_ebnf(text: &str) -> Result<GrammarAutomaton, Error> {
        Grammar::compile(text, Dialect::Ebnf, &Config::default())
    }

    /// Compiles Lark as llguidance reads it, with the default [`Config`].
    ///
    /// # Errors
    ///
    /// As [`Grammar::compile`].
    ///
    /// ```
    /// use grammar::Grammar;
    ///
    /// let list = Grammar::from_lark("start: \"[\" [/[a-z]+/ (\",\" /[a-z]+/)*] \"]\"")?;
    /// assert!(list.accepts("[a,bc]") && list.accepts("[]") && !list.accepts("[a,]"));
    /// # Ok::<(), grammar::Error>(())
    /// ```
    pub fn from_lark(text: &str) -> Result<GrammarAutomaton, Error> {
        Grammar::compile(text, Dialect::Lark, &Config::default())
    }

    /// Compiles a regular expression of the `regex` crate's syntax for whole texts.
    ///
    /// # Errors
    ///
    /// As [`Grammar::compile`].
    ///
    /// ```
    /// use grammar::{Config, Grammar};
    ///
    /// let date = Grammar::from_regex(r"\d{4}-\d{2}", &Config::default())?;
    /// assert!(date.accepts("2027-03") && !date.accepts("2027-3"));
    /// # Ok::<(), grammar::Error>(())
    /// ```
    pub fn from_regex(pattern: &str, config: &Config) -> Result<GrammarAutomaton, Error> {
        let pattern = patterns::translate(pattern, "", Reading::Splits)?;
        let rule = Rule {
            name: "root".to_owned(),
            at: 0,
            body: Expr::Regex { pattern, at: 0 },
            kind: RuleKind::Terminal,
        };
        let tree = Tree {
            by_name: [("root".to_owned(), 0)].into(),
            rules: vec![rule],
            ..Tree::default()
        };
        let meaning = Meaning {
            reading: Reading::Splits,
            start: "root",
            all_names: true,
            skip_at_ends: false,
            trailing_skip: false,
            ignores: Ignores::AsLexemes,
            edges: Edges::Whole,
        };
        let cfg = lower::lower(&tree, "", meaning, config)?;
        GrammarAutomaton::new(cfg, "", config)
    }
}
