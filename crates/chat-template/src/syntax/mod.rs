//! Reads Jinja into a tree. For example, `Hi {{ name }}` becomes a text and the printing of a name.

mod error;
mod expressions;
mod lexer;
mod statements;
pub(crate) mod tree;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use self::error::SyntaxError;
use self::lexer::{Kind, Token, tokens};
use self::tree::{Expression, Name, Tree};

/// The most levels of nested expressions and blocks, because the parser calls itself several times
/// for a level.
const MAX_NESTING: usize = 48;

/// The most levels of an expression, each link of a chain of attributes, filters, `or` and the like
/// being one, because the machine calls itself for each.
const MAX_HEIGHT: usize = 192;

/// The names that a template may use, by which a parser finds those that it may not.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(crate) filter: fn(&str) -> bool,
    pub(crate) test: fn(&str) -> bool,
}

/// Reads a template.
pub(crate) fn parse(source: &str, known: Known) -> Result<Tree, SyntaxError> {
    let tokens = tokens(source)?;
    let last_line = 1 + source.matches('\n').count();
    let mut parser = Parser {
        end: Token {
            kind: Kind::Data(String::new()),
            line: tokens.last().map_or(last_line, |token| token.line),
        },
        tokens,
        known,
        at: 0,
        nesting: 0,
        blocks: Vec::new(),
        unknown: Vec::new(),
        names: HashMap::new(),
        said: Said::default(),
    };
    let body = parser.body(&[])?;
    let mut names: Vec<(Arc<str>, Name)> = parser.names.into_iter().collect();
    names.sort_unstable_by_key(|(_, at)| *at);
    let names = names.into_iter().map(|(name, _)| name).collect();
    Ok(Tree { body, names })
}

/// Names with a meaning that have been read.
#[derive(Clone, Copy, Default)]
struct Said {
    the_loop: bool,
    varargs: bool,
    kwargs: bool,
    caller: bool,
}

struct Parser {
    tokens: Vec<Token>,
    /// The token behind the last one.
    end: Token,
    at: usize,
    nesting: usize,
    known: Known,
    /// Open blocks, by their tags.
    blocks: Vec<&'static str>,
    /// Filters and tests that do not exist, with their lines, until it is
    /// known whether that is an error already.
    unknown: Vec<SyntaxError>,
    names: HashMap<Arc<str>, Name>,
    said: Said,
}

type Parsed<T> = Result<T, SyntaxError>;

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&self.end)
    }

    fn line(&self) -> usize {
        self.peek().line
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn is_operator(&self, operator: &str) -> bool {
        matches!(&self.peek().kind, Kind::Operator(found) if *found == operator) && !self.at_end()
    }

    fn skip_operator(&mut self, operator: &str) -> bool {
        let found = self.is_operator(operator);
        self.at += usize::from(found);
        found
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(&self.peek().kind, Kind::Name(found) if found == name)
    }

    fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        self.at += usize::from(found);
        found
    }

    #[cold]
    fn unexpected(&self, wanted: &str) -> SyntaxError {
        let message = match self.at_end() {
            true => format!("unexpected end of template, expected '{wanted}'"),
            false => format!(
                "expected token '{wanted}', got '{}'",
                self.peek().kind.describe()
            ),
        };
        SyntaxError::new(self.line(), message)
    }

    fn expect_operator(&mut self, operator: &'static str) -> Parsed<()> {
        match self.skip_operator(operator) {
            true => Ok(()),
            false => Err(self.unexpected(operator)),
        }
    }

    fn expect_name(&mut self) -> Parsed<String> {
        match &self.peek().kind {
            Kind::Name(name) if !self.at_end() => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("name")),
        }
    }

    fn expect_block_end(&mut self) -> Parsed<()> {
        match !self.at_end() && self.peek().kind == Kind::BlockEnd {
            true => {
                self.at += 1;
                Ok(())
            }
            false => Err(self.unexpected("end of statement block")),
        }
    }

    /// Counts a level down, for as long as `parse` runs.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(SyntaxError::new(
                self.line(),
                format!("the template nests deeper than {MAX_NESTING} levels"),
            ));
        }
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }
}

/// An expression, and how many levels it has.
struct Tall {
    expression: Expression,
    height: usize,
}

impl Tall {
    fn new(expression: Expression) -> Self {
        Self {
            expression,
            height: 1,
        }
    }
}
