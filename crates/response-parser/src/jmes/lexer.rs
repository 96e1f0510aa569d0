//! The tokens of a JMESPath expression. For example, `a.b[0]` is the tokens `a`, `.`, `b`, `[`, `0`
//! and `]`.

use super::error::JmesError;
use crate::json;
use crate::text::Text;
use crate::value::Value;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Identifier(String),
    Quoted(Text<'static>),
    Literal(Value<'static>),
    /// An index; out of the range of `i64` it is as good as its bound.
    Number(i64),
    Dot,
    Star,
    Comma,
    Colon,
    At,
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    LeftBracket,
    RightBracket,
    Flatten,
    Filter,
    Or,
    Pipe,
    And,
    Ampersand,
    Not,
    Compare(Comparator),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// The tokens with their byte offsets, an `End` last.
pub(super) fn tokenize(text: &str) -> Result<Vec<(Token, usize)>, JmesError> {
    if text.is_empty() {
        return Err(JmesError::Syntax("the expression is empty".into(), 0));
    }
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some(c) = lexer.peek() {
        let start = lexer.at;
        if !matches!(c, ' ' | '\t' | '\n' | '\r') {
            let token = lexer.token(c)?;
            tokens.push((token, start));
        } else {
            lexer.at += 1;
        }
    }
    tokens.push((Token::End, text.len()));
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn either(&mut self, then: char, long: Token, short: Token) -> Token {
        if self.eat(then) { long } else { short }
    }

    fn run(&mut self, accept: impl Fn(char) -> bool) -> &str {
        let start = self.at;
        while self.peek().is_some_and(&accept) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn token(&mut self, c: char) -> Result<Token, JmesError> {
        let start = self.at;
        match c {
            'a'..='z' | 'A'..='Z' | '_' => {
                let name = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
                return Ok(Token::Identifier(name.to_owned()));
            }
            '0'..='9' | '-' => {
                self.at += 1;
                self.run(|c| c.is_ascii_digit());
                let digits = &self.text[start..self.at];
                if digits == "-" {
                    return Err(JmesError::Syntax("a digit must follow '-'".into(), start));
                }
                let bound = if c == '-' { i64::MIN } else { i64::MAX };
                return Ok(Token::Number(digits.parse().unwrap_or(bound)));
            }
            '\'' => {
                return Ok(Token::Literal(text(
                    self.delimited('\'')?.replace("\\'", "'"),
                )));
            }
            '"' => return self.quoted(start),
            '`' => return self.literal(start),
            _ => self.at += c.len_utf8(),
        }
        Ok(match c {
            '.' => Token::Dot,
            '*' => Token::Star,
            ',' => Token::Comma,
            ':' => Token::Colon,
            '@' => Token::At,
            '(' => Token::LeftParen,
            ')' => Token::RightParen,
            '{' => Token::LeftBrace,
            '}' => Token::RightBrace,
            ']' => Token::RightBracket,
            '[' if self.eat(']') => Token::Flatten,
            '[' => self.either('?', Token::Filter, Token::LeftBracket),
            '|' => self.either('|', Token::Or, Token::Pipe),
            '&' => self.either('&', Token::And, Token::Ampersand),
            '<' => self.either(
                '=',
                Token::Compare(Comparator::LessEqual),
                Token::Compare(Comparator::Less),
            ),
            '>' => self.either(
                '=',
                Token::Compare(Comparator::GreaterEqual),
                Token::Compare(Comparator::Greater),
            ),
            '!' => self.either('=', Token::Compare(Comparator::NotEqual), Token::Not),
            '=' if self.eat('=') => Token::Compare(Comparator::Equal),
            c => return Err(JmesError::Syntax(format!("unknown token '{c}'"), start)),
        })
    }

    /// The text between two delimiters, in which a backslash keeps the next character from
    /// ending it; the backslashes stay.
    fn delimited(&mut self, delimiter: char) -> Result<String, JmesError> {
        let start = self.at;
        let mut rest = self.text[start..].char_indices().skip(1);
        while let Some((offset, c)) = rest.next() {
            if c == delimiter {
                self.at = start + offset + 1;
                return Ok(self.text[start + 1..start + offset].to_owned());
            }
            if c == '\\' {
                rest.next();
            }
        }
        Err(JmesError::Syntax(format!("unclosed {delimiter}"), start))
    }

    fn quoted(&mut self, start: usize) -> Result<Token, JmesError> {
        let quoted = format!("\"{}\"", self.delimited('"')?);
        match json::decode(&quoted) {
            Ok(Value::Text(text)) => Ok(Token::Quoted(text.into_owned())),
            _ => Err(JmesError::Syntax("bad quoted identifier".into(), start)),
        }
    }

    /// A literal between backticks: JSON, or else the text itself.
    fn literal(&mut self, start: usize) -> Result<Token, JmesError> {
        let inner = self.delimited('`')?.replace("\\`", "`");
        if let Ok(value) = json::decode(&inner) {
            return Ok(Token::Literal(value.into_owned()));
        }
        let quoted = format!(
            "\"{}\"",
            inner.trim_start_matches(python_compat::text::is_space)
        );
        match json::decode(&quoted) {
            Ok(value) => Ok(Token::Literal(value.into_owned())),
            Err(_) => Err(JmesError::Syntax("bad literal".into(), start)),
        }
    }
}

fn text(text: String) -> Value<'static> {
    Value::Text(Text::plain(text))
}
