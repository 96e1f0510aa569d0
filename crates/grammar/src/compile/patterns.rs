//! Regular expressions of grammars, as `regex-syntax` reads them.

use fsm_tables::Look;
use regex_syntax::ast::{
    self, Ast, ClassBracketed, ClassSet, ClassSetItem, ClassSetUnion, Literal, LiteralKind, Span,
};

use crate::{Error, ErrorKind};

/// What a dialect means by a regular expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Unicode classes, and looks. Where the longest match counts, a lazy quantifier says which
    /// match that is.
    Greedy,
    /// Unicode classes, and looks. Where every split counts, lazy quantifiers change nothing but
    /// ignored text.
    Splits,
    /// Neither looks nor lazy quantifiers, and `\d`, `\w` and `\s` are of ASCII alone.
    Ascii,
}

/// The looks as groups of `regex-syntax` that have their names: no group of a grammar is named
/// so, since Python's names have no dot. A number tells those of one pattern apart.
pub(crate) const LOOKS: [(Look, &str, &str); 4] = [
    (Look::Behind, "<=", "look.b"),
    (Look::NotBehind, "<!", "look.x"),
    (Look::Ahead, "=", "look.a"),
    (Look::NotAhead, "!", "look.n"),
];

/// A pattern for whole matches, in a group with its flags. Looks become the groups of
/// [`LOOKS`].
///
/// # Errors
///
/// It is not well formed, or has what no automaton does; the error names it.
pub(crate) fn translate(pattern: &str, flags: &str, reading: Reading) -> Result<String, Error> {
    let mut out = String::with_capacity(pattern.len() + 8);
    // XGrammar folds the case of ASCII letters alone, which no flag says.
    let folds = reading == Reading::Ascii && (flags.contains('i') || pattern.starts_with("(?i)"));
    let pattern = match folds {
        true => pattern.strip_prefix("(?i)").unwrap_or(pattern),
        false => pattern,
    };
    let unsupported = |what: &str| {
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("the regular expression /{pattern}/ has {what}"),
        ))
    };
    // The whole text is meant anyway.
    let mut inner = pattern.strip_prefix('^').unwrap_or(pattern);
    if let Some(before) = inner.strip_suffix('$')
        && before.bytes().rev().take_while(|&b| b == b'\\').count() % 2 == 0
    {
        inner = before;
    }
    let mut chars = inner.char_indices().peekable();
    let (mut in_class, mut class_begins) = (0usize, false);
    let mut is_quantified = false;
    let mut looks = 0usize;
    while let Some((at, c)) = chars.next() {
        let was_quantified = std::mem::replace(&mut is_quantified, false);
        let begins = std::mem::replace(&mut class_begins, false);
        match c {
            '\\' => match chars.next() {
                None => out.push('\\'),
                Some((_, '/')) => out.push('/'),
                Some((_, 'b' | 'B')) if in_class == 0 && reading == Reading::Ascii => {
                    return unsupported("a word boundary, which this dialect does not have");
                }
                Some((_, d @ ('b' | 'B'))) if in_class == 0 => {
                    out.push('\\');
                    out.push(d);
                }
                Some((_, 'b')) => out.push_str(r"\x08"),
                Some((_, d)) if d.is_ascii_digit() && d != '0' && in_class == 0 => {
                    return unsupported("a back-reference, which is not supported");
                }
                Some((_, '0')) => out.push_str(r"\x00"),
                Some((_, d @ ('d' | 'D' | 'w' | 'W' | 's' | 'S'))) if reading == Reading::Ascii => {
                    out.push_str(match d {
                        'd' => "[0-9]",
                        'D' => "[^0-9]",
                        'w' => "[0-9A-Za-z_]",
                        'W' => "[^0-9A-Za-z_]",
                        's' => r"[ \t\n\r\f\v\xA0]",
                        _ => r"[^ \t\n\r\f\v\xA0]",
                    });
                }
                Some((
                    _,
                    d @ ('"' | '\'' | '`' | ',' | ':' | ';' | '=' | '<' | '>' | '@' | '!' | '%'
                    | '_' | ' '),
                )) => {
                    if d == ' ' {
                        out.push_str(r"\x20");
                    } else {
                        out.push(d);
                    }
                }
                // A control character by its letter.
                Some((_, 'c')) => {
                    let letter = chars.next().map_or('@', |c| c.1);
                    out.push_str(&format!(
                        r"\x{:02X}",
                        u32::from(letter.to_ascii_uppercase()) & 31
                    ));
                }
                Some((_, 'p' | 'P')) if reading == Reading::Ascii => {
                    return unsupported("a Unicode class `\\p`, which this dialect does not have");
                }
                Some((_, d)) => {
                    out.push('\\');
                    out.push(d);
                }
            },
            '[' if in_class == 0 => {
                in_class = 1;
                class_begins = true;
                out.push('[');
                if chars.peek().is_some_and(|c| c.1 == '^') {
                    chars.next();
                    out.push('^');
                }
            }
            // Inside of a class these mean themselves in the other dialects.
            '[' => out.push_str(r"\["),
            '&' | '~' if in_class > 0 => {
                out.push('\\');
                out.push(c);
            }
            ']' if in_class > 0 && begins => out.push_str(r"\]"),
            ']' if in_class > 0 => {
                in_class = 0;
                out.push(']');
            }
            '-' if in_class > 0 && chars.peek().is_some_and(|c| c.1 == '-') => out.push_str(r"\-"),
            _ if in_class > 0 => out.push(c),
            '(' if inner[at..].starts_with("(?") => {
                let rest = &inner[at + 2..];
                if let Some((_, sign, name)) = LOOKS.iter().find(|look| rest.starts_with(look.1)) {
                    if reading == Reading::Ascii {
                        return unsupported("a look-around, which this dialect does not have");
                    }
                    out.push_str(&format!("(?P<{name}{looks}>"));
                    looks += 1;
                    chars.nth(sign.len());
                    continue;
                }
                if rest.starts_with("P=") || rest.starts_with('(') {
                    return unsupported("a back-reference, which is not supported");
                }
                out.push_str("(?");
                chars.next();
                // A name, or flags, up to their end.
                while let Some((_, c)) = chars.next_if(|c| !":>)".contains(c.1)) {
                    out.push(c);
                }
            }
            '?' if was_quantified => {
                if reading != Reading::Ascii {
                    out.push(c);
                }
            }
            '*' | '+' | '?' => {
                is_quantified = true;
                out.push(c);
            }
            '{' => {
                // A counted repetition, or a brace that means itself.
                let rest = &inner[at + 1..];
                let end = rest.find('}').unwrap_or(rest.len());
                let counts = &rest[..end];
                let is_count = end < rest.len()
                    && counts.starts_with(|c: char| c.is_ascii_digit() || c == ',')
                    && counts.len() > usize::from(counts.starts_with(','))
                    && counts.chars().all(|c| c.is_ascii_digit() || c == ',');
                let is_named = out.ends_with(r"\p")
                    || out.ends_with(r"\P")
                    || out.ends_with(r"\u")
                    || out.ends_with(r"\x")
                    || out.ends_with(r"\U");
                if is_count && !is_named {
                    out.push('{');
                    if counts.starts_with(',') {
                        out.push('0');
                    }
                    out.push_str(counts);
                    out.push('}');
                    for _ in 0..=counts.chars().count() {
                        chars.next();
                    }
                    is_quantified = true;
                } else if is_named {
                    out.push('{');
                    for (_, c) in chars.by_ref() {
                        out.push(c);
                        if c == '}' {
                            break;
                        }
                    }
                } else {
                    out.push_str(r"\{");
                }
            }
            '}' => out.push_str(r"\}"),
            _ => out.push(c),
        }
    }
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
        Err(error) => {
            let what = match error {
                regex_syntax::Error::Parse(error) => error.kind().to_string(),
                regex_syntax::Error::Translate(error) => error.kind().to_string(),
                _ => "malformed".to_owned(),
            };
            Err(Error::new(
                ErrorKind::Syntax,
                format!("the regular expression /{inner}/ is wrong: {what}"),
            ))
        }
    }
}

/// Levels of groups in a regular expression.
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
