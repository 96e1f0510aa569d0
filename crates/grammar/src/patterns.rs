//! Regular expressions of grammars, as `regex-syntax` reads them.
//!
//! For example, `/a+/i` of Lark becomes a group with the flag `i`.

use regex_dialects::{Classes, native, reason};
use regex_syntax::ast::{
    self, Ast, ClassBracketed, ClassSet, ClassSetItem, ClassSetUnion, Literal, LiteralKind, Span,
};

use crate::error::{Error, ErrorKind};

/// The meaning of regular expressions in a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Unicode classes, and looks. The longest match counts: a lazy quantifier says which
    /// match that is.
    Greedy,
    /// Unicode classes, and looks. Every split counts: lazy quantifiers change nothing but
    /// ignored text.
    Splits,
    /// Neither looks nor lazy quantifiers, and `\d`, `\w` and `\s` are of ASCII alone.
    Ascii,
}

/// A pattern for whole matches, in a group with its flags. Looks become the groups of
/// `regex-dialects`.
///
/// # Errors
///
/// It is not well formed, or has what no automaton does; the error names it.
pub(crate) fn translate(pattern: &str, flags: &str, reading: Reading) -> Result<String, Error> {
    if reading == Reading::Splits && flags.contains('x') {
        return translate(&without_blanks(pattern), &flags.replace('x', ""), reading);
    }
    // XGrammar folds the case of ASCII letters alone, which no flag says.
    let folds = reading == Reading::Ascii && (flags.contains('i') || pattern.starts_with("(?i)"));
    let pattern = match folds {
        true => pattern.strip_prefix("(?i)").unwrap_or(pattern),
        false => pattern,
    };
    // The whole text is meant anyway.
    let mut inner = pattern.strip_prefix('^').unwrap_or(pattern);
    if let Some(before) = inner.strip_suffix('$')
        && before.bytes().rev().take_while(|&b| b == b'\\').count() % 2 == 0
    {
        inner = before;
    }
    let classes = match reading {
        Reading::Ascii => Classes::Ascii,
        Reading::Greedy | Reading::Splits => Classes::Unicode,
    };
    let mut out = native(inner, classes).map_err(|error| {
        let message = format!("the regular expression /{pattern}/ has {}", error.reason);
        Error::new(ErrorKind::Unsupported, message)
    })?;
    let flags = if folds {
        flags.replace('i', "")
    } else {
        flags.to_owned()
    };
    let mut on: String = flags.chars().filter(|c| "imsx".contains(*c)).collect();
    if on.contains('x') {
        // The end of a comment must not be the end of the group.
        out.push('\n');
    }
    if !on.is_empty() {
        on.insert(0, '?');
        on.push(':');
    } else {
        on.push_str("?:");
    }
    let pattern = format!("({on}{out})");
    let parsed = regex_syntax::ParserBuilder::new()
        .nest_limit(MAX_NEST)
        .utf8(true)
        .build()
        .parse(&pattern);
    match parsed {
        Ok(_) if folds => Ok(folded(&pattern)),
        Ok(_) => Ok(pattern),
        Err(error) => Err(Error::new(
            ErrorKind::Syntax,
            format!(
                "the regular expression /{inner}/ is wrong: {}",
                reason(&error)
            ),
        )),
    }
}

/// Returns a pattern of the flag `x` without its blanks and comments, as Python's `re` reads it: in a class they are
/// characters, which `regex-syntax` leaves out.
fn without_blanks(pattern: &str) -> String {
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    // A bracket that stands first in a class is a character.
    let mut first_in_class: Option<bool> = None;
    while let Some(c) = chars.next() {
        let was_first = first_in_class.take();
        match (c, was_first) {
            ('#', None) if !out.ends_with("(?") => {
                // The comment has the rest of its line.
                chars.by_ref().find(|&c| c == '\n');
                continue;
            }
            (' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C', None) => continue,
            ('[', None) => first_in_class = Some(true),
            (']', Some(false)) => {}
            ('^', Some(true)) if out.ends_with('[') => first_in_class = Some(true),
            (_, Some(_)) => first_in_class = Some(false),
            (_, None) => {}
        }
        out.push(c);
        if c == '\\' {
            out.extend(chars.next());
        }
    }
    out
}

/// The levels of groups in a regular expression, because reading them calls itself.
pub(crate) const MAX_NEST: u32 = 500;

/// A well-formed pattern, with each ASCII letter in both cases: what no flag says.
fn folded(pattern: &str) -> String {
    let parsed = ast::parse::ParserBuilder::new()
        .nest_limit(MAX_NEST)
        .build()
        .parse(pattern);
    let Ok(mut tree) = parsed else {
        return pattern.to_owned();
    };
    fold(&mut tree);
    let mut out = String::new();
    match ast::print::Printer::new().print(&tree, &mut out) {
        Ok(()) => out,
        Err(_) => pattern.to_owned(),
    }
}

/// Calls in calls, no deeper than [`MAX_NEST`].
fn fold(tree: &mut Ast) {
    match tree {
        Ast::Literal(literal) => {
            if let Some(other) = other_case(literal.c) {
                let span = literal.span;
                let mut letters = ClassSetUnion {
                    span,
                    items: Vec::new(),
                };
                for c in [literal.c, other] {
                    letters.push(ClassSetItem::Literal(verbatim(span, c)));
                }
                *tree = Ast::class_bracketed(ClassBracketed {
                    span,
                    negated: false,
                    kind: ClassSet::Item(ClassSetItem::Union(letters)),
                });
            }
        }
        Ast::ClassBracketed(class) => fold_set(&mut class.kind),
        Ast::Repetition(of) => fold(&mut of.ast),
        Ast::Group(group) => fold(&mut group.ast),
        Ast::Alternation(all) => all.asts.iter_mut().for_each(fold),
        Ast::Concat(all) => all.asts.iter_mut().for_each(fold),
        _ => {}
    }
}

fn fold_set(set: &mut ClassSet) {
    match set {
        ClassSet::Item(item) => fold_item(item),
        ClassSet::BinaryOp(both) => {
            fold_set(&mut both.lhs);
            fold_set(&mut both.rhs);
        }
    }
}

fn fold_item(item: &mut ClassSetItem) {
    let (span, from, to) = match item {
        ClassSetItem::Literal(literal) => (literal.span, literal.c, literal.c),
        ClassSetItem::Range(range) => (range.span, range.start.c, range.end.c),
        ClassSetItem::Bracketed(class) => return fold_set(&mut class.kind),
        ClassSetItem::Union(all) => return all.items.iter_mut().for_each(fold_item),
        _ => return,
    };
    let letters = ('A'..='Z').chain('a'..='z');
    let others = letters
        .filter(|c| (from..=to).contains(c))
        .filter_map(other_case);
    let mut all = ClassSetUnion {
        span,
        items: vec![item.clone()],
    };
    all.items
        .extend(others.map(|c| ClassSetItem::Literal(verbatim(span, c))));
    *item = ClassSetItem::Union(all);
}

fn verbatim(span: Span, c: char) -> Literal {
    Literal {
        span,
        kind: LiteralKind::Verbatim,
        c,
    }
}

/// An ASCII letter in its other case.
fn other_case(c: char) -> Option<char> {
    match c {
        'a'..='z' => Some(c.to_ascii_uppercase()),
        'A'..='Z' => Some(c.to_ascii_lowercase()),
        _ => None,
    }
}

/// A pattern of literal text.
pub(crate) fn literal(text: &str, ignore_case: bool, reading: Reading) -> String {
    if !ignore_case {
        return regex_syntax::escape(text);
    }
    if reading != Reading::Ascii {
        return format!("(?i:{})", regex_syntax::escape(text));
    }
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_alphabetic() {
            out.extend(['[', c.to_ascii_lowercase(), c.to_ascii_uppercase(), ']']);
        } else {
            out.push_str(&regex_syntax::escape(c.encode_utf8(&mut [0; 4])));
        }
    }
    out
}

/// A pattern of a class.
pub(crate) fn class(ranges: &[(char, char)]) -> String {
    use std::fmt::Write as _;
    let mut out = "[".to_owned();
    for &(first, last) in ranges {
        let _ = write!(
            out,
            r"\x{{{:X}}}-\x{{{:X}}}",
            u32::from(first),
            u32::from(last)
        );
    }
    out.push(']');
    out
}
