//! The tree into which all dialects are read.
//!
//! For example, `a ::= "x"*` is a rule whose body is a repetition of a text.

use std::collections::HashMap;
use std::num::NonZeroU32;

use serde_json::Value;

use crate::dialects::numbers::{Condition, RuleNumber};

/// The name by which the first rule is found in dialects that begin with it, because no rule can be called so.
pub(crate) const FIRST_RULE: &str = "";

/// A grammar as it was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tree {
    pub(crate) rules: Vec<Rule>,
    pub(crate) by_name: HashMap<String, usize>,
    /// Rules that are written out for each use, until they are.
    pub(crate) templates: Vec<Template>,
    /// True if a rule has arguments somewhere.
    pub(crate) has_uses: bool,
    /// The texts that may stand between lexemes.
    pub(crate) ignore: Vec<Expr>,
    /// True if ignored text may come before the first lexeme.
    pub(crate) initial_skip: bool,
    /// True if one ignored lexeme may come between two others, and not several.
    pub(crate) ignores_once: bool,
}

/// A rule or a terminal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) name: String,
    /// The place in the text at which it begins, in bytes.
    pub(crate) at: usize,
    pub(crate) body: Expr,
    pub(crate) kind: RuleKind,
    pub(crate) host: Host,
}

/// The options of a rule that say how its lexemes are sampled and when they end. They change no language.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sampling {
    /// The temperature at which they are drawn.
    pub(crate) temperature: Option<f64>,
    /// The tokens behind which each of them ends, where it may end.
    pub(crate) max_tokens: Option<NonZeroU32>,
    /// True if the token that ends an answer could end it, as `stop=""` says.
    pub(crate) to_end: bool,
}

/// The options of a rule that are the host's and change no language.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Host {
    pub(crate) sampling: Sampling,
    /// The name under which its texts are captured.
    pub(crate) capture: Option<String>,
    /// The name under which its markers are captured.
    pub(crate) marker: Option<String>,
}

/// A rule that is written out for each use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    pub(crate) name: String,
    /// The place in the text at which it begins, in bytes.
    pub(crate) at: usize,
    pub(crate) parameters: Parameters,
    pub(crate) body: Expr,
    pub(crate) kind: RuleKind,
    pub(crate) host: Host,
}

/// The parameters of a template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Parameters {
    /// Parts of rules, by name.
    Named(Vec<String>),
    /// A number of 64 bits.
    Number,
}

/// The arguments of a use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arguments {
    /// Parts of rules.
    Given(Vec<Expr>),
    /// A number, from that of the rule around it.
    Number(RuleNumber),
}

/// The part that a rule takes in lexing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RuleKind {
    /// A rule over lexemes.
    Rule,
    /// A name for a terminal.
    Terminal,
    /// A rule that is one lexeme, which ends at its first possible end.
    Lazy,
    /// As `Lazy`, behind whatever the body takes: the lexeme ends with the first of these.
    Suffix(Expr),
}

/// The right side of a rule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    /// The empty text.
    Empty,
    /// Literal text.
    Text {
        text: String,
        ignore_case: bool,
        at: usize,
    },
    /// A regular expression of `regex-syntax`.
    Regex {
        pattern: String,
        at: usize,
    },
    /// A class of code points: inclusive ranges, ascending. Without any, it takes nothing.
    Class(Vec<(char, char)>),
    Name {
        name: String,
        at: usize,
    },
    /// A template with its arguments, until it is written out.
    Use {
        name: String,
        arguments: Arguments,
        at: usize,
    },
    /// Something that the number of the rule around it must allow, until that is written out.
    If {
        condition: Condition,
        of: Box<Expr>,
    },
    Seq(Vec<Expr>),
    Alt(Vec<Expr>),
    Repeat {
        of: Box<Expr>,
        min: u32,
        max: Option<u32>,
    },
    /// The texts that all of them take.
    And(Vec<Expr>),
    /// All UTF-8 texts that it does not take.
    Not(Box<Expr>),
    /// Texts of so many characters, and longer ones that cannot end before.
    Most {
        of: Box<Expr>,
        chars: u32,
        at: usize,
    },
    /// A JSON value that a schema takes.
    Json {
        schema: Value,
        at: usize,
    },
    /// A grammar of its own.
    Nested {
        tree: Box<Tree>,
        at: usize,
    },
    /// Any run of consecutive chunks, or none.
    Substring {
        chunks: Vec<String>,
        at: usize,
    },
    /// A special token, by its name in the vocabulary.
    Special {
        name: String,
        at: usize,
    },
    /// Free text in which each of these texts begins its rule.
    Dispatch {
        tags: Vec<(String, String)>,
        loops: bool,
        excludes: Vec<String>,
        at: usize,
    },
}

impl Expr {
    pub(crate) fn text(text: impl Into<String>, at: usize) -> Expr {
        Expr::Text {
            text: text.into(),
            ignore_case: false,
            at,
        }
    }

    /// A sequence, without a level of its own for one part.
    pub(crate) fn seq(mut parts: Vec<Expr>) -> Expr {
        match parts.len() {
            0 => Expr::Empty,
            1 => parts.remove(0),
            _ => Expr::Seq(parts),
        }
    }

    /// Alternatives, without a level of their own for one.
    pub(crate) fn alt(mut parts: Vec<Expr>) -> Expr {
        match parts.len() {
            1 => parts.remove(0),
            _ => Expr::Alt(parts),
        }
    }

    /// Returns the places of the values in it that are written in JSON or as grammars, which no short text
    /// tells apart.
    pub(crate) fn values(&self) -> Vec<usize> {
        match self {
            Expr::Json { at, .. }
            | Expr::Nested { at, .. }
            | Expr::Substring { at, .. }
            | Expr::Dispatch { at, .. } => vec![*at],
            Expr::Seq(parts) | Expr::Alt(parts) | Expr::And(parts) => {
                parts.iter().flat_map(Expr::values).collect()
            }
            Expr::Repeat { of, .. }
            | Expr::Not(of)
            | Expr::If { of, .. }
            | Expr::Most { of, .. } => of.values(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn repeat(self, min: u32, max: Option<u32>) -> Expr {
        Expr::Repeat {
            of: Box::new(self),
            min,
            max,
        }
    }
}

/// Joins ranges that overlap or touch, and sorts them.
pub(crate) fn normal_ranges(mut ranges: Vec<(char, char)>) -> Vec<(char, char)> {
    ranges.sort_unstable();
    let mut out: Vec<(char, char)> = Vec::new();
    for (first, last) in ranges {
        match out.last_mut() {
            Some(before) if u32::from(first) <= u32::from(before.1) + 1 => {
                before.1 = before.1.max(last);
            }
            _ => out.push((first, last)),
        }
    }
    out
}

/// The code points that are in none of `ranges`, which are normal.
pub(crate) fn negated(ranges: &[(char, char)]) -> Vec<(char, char)> {
    let mut out = Vec::new();
    let mut from = 0u32;
    let mut push = |from: u32, to: u32| {
        // Surrogates are no characters: what reaches into them ends beside them.
        let from = if (0xD800..0xE000).contains(&from) {
            0xE000
        } else {
            from
        };
        let to = if (0xD800..0xE000).contains(&to) {
            0xD7FF
        } else {
            to
        };
        if let (Some(first), Some(last)) = (char::from_u32(from), char::from_u32(to))
            && first <= last
        {
            out.push((first, last));
        }
    };
    for &(first, last) in ranges {
        if u32::from(first) > from {
            push(from, u32::from(first) - 1);
        }
        from = u32::from(last) + 1;
    }
    if from <= 0x10_FFFF {
        push(from, 0x10_FFFF);
    }
    out
}
