//! A file's tokens in a row, with the places where they stand.
//!
//! For example, `f(a)` is `f`, `(`, `a`, `)`.

use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};

/// A token.
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) kind: Kind,
    pub(crate) start: LineColumn,
    pub(crate) end: LineColumn,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Name,
    Literal,
    Sign,
}

/// Returns the tokens of a text, without comments and what documentation becomes.
pub(crate) fn of(text: &str, lines: &[&str]) -> Vec<Token> {
    let mut tokens = Vec::new();
    if let Ok(stream) = text.parse::<TokenStream>() {
        flatten(stream, lines, &mut tokens);
    }
    tokens
}

fn flatten(stream: TokenStream, lines: &[&str], tokens: &mut Vec<Token>) {
    for tree in stream {
        let span = tree.span();
        let (start, end) = (span.start(), span.end());
        if is_comment(lines, start) {
            continue;
        }
        let mut push = |text: String, kind, start, end| {
            tokens.push(Token {
                text,
                kind,
                start,
                end,
            });
        };
        match tree {
            TokenTree::Ident(name) => push(name.to_string(), Kind::Name, start, end),
            TokenTree::Literal(literal) => push(literal.to_string(), Kind::Literal, start, end),
            TokenTree::Punct(sign) => push(sign.as_char().to_string(), Kind::Sign, start, end),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                let first = group.span_open();
                push(open.to_owned(), Kind::Sign, first.start(), first.end());
                flatten(group.stream(), lines, tokens);
                let last = group.span_close();
                tokens.push(Token {
                    text: close.to_owned(),
                    kind: Kind::Sign,
                    start: last.start(),
                    end: last.end(),
                });
            }
        }
    }
}

/// Tells whether a comment begins at a place: documentation is read as an attribute there.
fn is_comment(lines: &[&str], at: LineColumn) -> bool {
    let Some(line) = lines.get(at.line.wrapping_sub(1)) else {
        return false;
    };
    let rest: String = line.chars().skip(at.column).take(2).collect();
    rest == "//" || rest == "/*"
}
