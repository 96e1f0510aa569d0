//! From a text in some notation to its automaton: for example, GBNF's `root ::= "x"+`.

use std::sync::Arc;

use crate::automaton::GrammarAutomaton;
use crate::captures::Captures;
#[cfg(test)]
use crate::compile::cfg::Cfg;
use crate::compile::cfg::Ignores;
use crate::compile::lower::{self, Meaning, NormalForm};
use crate::config::Config;
use crate::dialect::Dialect;
use crate::dialects::abnf;
use crate::dialects::ast::{Expr, FIRST_RULE, Host, Rule, RuleKind, Tree};
use crate::dialects::ebnf::{self, Notation};
use crate::dialects::lark;
use crate::dialects::w3c;
use crate::error::Error;
use crate::patterns::{self, Reading};
use crate::terminals::edges::Edges;

/// The meaning of a tree of which every split of a text into lexemes counts, because GBNF and
/// expressions have no lexer of their own.
const SPLITS: Meaning = Meaning {
    reading: Reading::Splits,
    start: "root",
    all_names: true,
    skip_at_ends: false,
    trailing_skip: false,
    ignores: Ignores::AsLexemes,
    edges: Edges::Splits,
    rules: NormalForm::Rewritten,
};

/// The name of regular expressions among the notations, because they are no dialect of grammars.
const REGEX: &str = "regex";

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
        let (tree, meaning) = Grammar::read(text, dialect, config)?;
        let cfg = lower::lower(&tree, text, meaning, config)?;
        let mut automaton = GrammarAutomaton::new(cfg, text, config)?;
        // The package's Lark has no options, and no other rules are captured.
        if dialect != Dialect::LarkSplits && text.contains("capture") {
            let rules = NormalForm::Kept;
            let cfg = lower::lower(&tree, text, Meaning { rules, ..meaning }, config)?;
            automaton.captures = Captures::new(cfg, config)?.map(Arc::new);
        }
        Ok(automaton)
    }

    /// Reads a grammar of some dialect as productions.
    #[cfg(test)]
    pub(super) fn lowered(text: &str, dialect: Dialect, config: &Config) -> Result<Cfg, Error> {
        let (tree, meaning) = Grammar::read(text, dialect, config)?;
        lower::lower(&tree, text, meaning, config)
    }

    /// Reads a grammar of some dialect as a tree.
    fn read(text: &str, dialect: Dialect, config: &Config) -> Result<(Tree, Meaning), Error> {
        if text.len() > config.max_text_bytes {
            return Err(Error::limit(
                "max_text_bytes",
                "bytes of text",
                config.max_text_bytes,
            ));
        }
        Ok(match dialect {
            Dialect::Gbnf => (ebnf::parse(text, Notation::Gbnf, config)?, SPLITS),
            Dialect::Ebnf => (
                ebnf::parse(text, Notation::Ebnf, config)?,
                Meaning {
                    reading: Reading::Ascii,
                    ..SPLITS
                },
            ),
            Dialect::W3c => (
                w3c::parse(text, config)?,
                Meaning {
                    start: FIRST_RULE,
                    ..SPLITS
                },
            ),
            Dialect::Abnf => (
                abnf::parse(text, config)?,
                Meaning {
                    // Texts take both cases of the letters of ASCII alone.
                    reading: Reading::Ascii,
                    start: FIRST_RULE,
                    ..SPLITS
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
                    rules: NormalForm::Rewritten,
                };
                (lark::parse(text, reading, config)?, meaning)
            }
        })
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
    /// assert!(Grammar::compile_named("root ::= [0-9]+", "bnf", &config).is_err());
    /// # Ok::<(), grammar::Error>(())
    /// ```
    pub fn compile_named(
        text: &str,
        name: &str,
        config: &Config,
    ) -> Result<GrammarAutomaton, Error> {
        match name {
            REGEX => Grammar::from_regex(text, config),
            name => Grammar::compile(text, name.parse()?, config),
        }
    }

    /// Tells whether [`Grammar::compile_named`] knows a name.
    ///
    /// ```
    /// use grammar::Grammar;
    ///
    /// assert!(Grammar::has_notation("abnf") && Grammar::has_notation("regex"));
    /// assert!(!Grammar::has_notation("txt"));
    /// ```
    pub fn has_notation(name: &str) -> bool {
        name == REGEX || name.parse::<Dialect>().is_ok()
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
            host: Host::default(),
        };
        let tree = Tree {
            by_name: [("root".to_owned(), 0)].into(),
            rules: vec![rule],
            ..Tree::default()
        };
        let meaning = Meaning {
            edges: Edges::Whole,
            ..SPLITS
        };
        let cfg = lower::lower(&tree, "", meaning, config)?;
        GrammarAutomaton::new(cfg, "", config)
    }
}
