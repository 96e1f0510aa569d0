//! JMESPath expressions as trees: a Pratt parser (Pratt, "Top Down Operator Precedence", 1973) with
//! the binding powers of the specification's reference implementation. For example, `a || b && c`
//! is `a || (b && c)`, because `&&` binds stronger.

use super::error::JmesError;
use super::lexer::{Comparator, Token, tokenize};
use crate::text::Text;
use crate::value::Value;

/// The deepest nesting of an expression, counting each operator in a chain, because evaluation
/// calls itself as deep.
pub(crate) const MAX_NESTING: usize = 200;

#[derive(Debug)]
pub(super) enum Expr {
    /// The value itself.
    Current,
    Field(Text<'static>),
    Literal(Value<'static>),
    Index(i64),
    Slice([Option<i64>; 3]),
    /// One after the other, each on the result of the one before.
    Chain(Vec<Expr>),
    Pipe(Box<Expr>, Box<Expr>),
    Compare(Comparator, Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    /// The right side on each element of the list on the left; nulls are left out.
    Projection(Box<Expr>, Box<Expr>),
    /// The same on the values of an object.
    ValueProjection(Box<Expr>, Box<Expr>),
    /// The same on the elements for which the condition holds.
    FilterProjection(Box<Expr>, Box<Expr>, Box<Expr>),
    Flatten(Box<Expr>),
    List(Vec<Expr>),
    Hash(Vec<(Text<'static>, Expr)>),
    Call(String, Vec<Expr>),
    /// `&expression`, an argument that is not evaluated.
    Reference(Box<Expr>),
}

type Result<T> = std::result::Result<T, JmesError>;

/// Operators that bind weaker than this end a projection, as jmespath.py has it.
const PROJECTION_STOP: u8 = 10;
/// The binding powers from here on are as jmespath.py has them: a pipe binds weakest.
const PIPE: u8 = 1;
/// `||`, as jmespath.py binds it.
const OR: u8 = 2;
/// `&&`, as jmespath.py binds it.
const AND: u8 = 3;
/// `==` and its like, as jmespath.py binds them.
const COMPARE: u8 = 5;
/// `[]`, as jmespath.py binds it.
const FLATTEN: u8 = 9;
/// `*`, as jmespath.py binds it.
const STAR: u8 = 20;
/// `[?`, as jmespath.py binds it.
const FILTER: u8 = 21;
/// `.`, as jmespath.py binds it.
const DOT: u8 = 40;
/// `!`, as jmespath.py binds it.
const NOT: u8 = 45;
/// `{`, as jmespath.py binds it.
const LEFT_BRACE: u8 = 50;
/// `[`, as jmespath.py binds it.
const LEFT_BRACKET: u8 = 55;
/// `(`, as jmespath.py binds it.
const LEFT_PAREN: u8 = 60;

fn power(token: &Token) -> u8 {
    match token {
        Token::Pipe => PIPE,
        Token::Or => OR,
        Token::And => AND,
        Token::Compare(_) => COMPARE,
        Token::Flatten => FLATTEN,
        Token::Star => STAR,
        Token::Filter => FILTER,
        Token::Dot => DOT,
        Token::Not => NOT,
        Token::LeftBrace => LEFT_BRACE,
        Token::LeftBracket => LEFT_BRACKET,
        Token::LeftParen => LEFT_PAREN,
        _ => 0,
    }
}

/// Reads an expression. Linear in its length.
pub(super) fn parse(text: &str) -> Result<Expr> {
    let mut parser = ExpressionParser {
        tokens: tokenize(text)?,
        at: 0,
        depth: 0,
    };
    let root = parser.expression(0)?;
    match parser.peek() {
        Token::End => Ok(root),
        _ => Err(parser.unexpected()),
    }
}

struct ExpressionParser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
}

/// A node and what the grammar asks about it.
struct Left {
    node: Expr,
    /// The name, if the node is a plain field and so may be a function's.
    name: Option<String>,
    /// The node is a chain of indexes, to which a further one is appended.
    indexes: bool,
}

impl From<Expr> for Left {
    fn from(node: Expr) -> Left {
        Left {
            node,
            name: None,
            indexes: false,
        }
    }
}

impl ExpressionParser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)].0
    }

    fn peek_second(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].0
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &Token) -> Result<()> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    #[cold]
    fn unexpected(&self) -> JmesError {
        let (token, offset) = &self.tokens[self.at.min(self.tokens.len() - 1)];
        let message = match token {
            Token::End => "the expression ends too early",
            _ => "unexpected token",
        };
        JmesError::Syntax(message.into(), *offset)
    }

    fn expression(&mut self, power_before: u8) -> Result<Expr> {
        Ok(self.left(power_before)?.node)
    }

    fn left(&mut self, power_before: u8) -> Result<Left> {
        let depth = self.depth;
        self.deeper()?;
        let mut left = self.prefix()?;
        while power_before < power(self.peek()) {
            self.deeper()?;
            left = self.infix(left)?;
        }
        self.depth = depth;
        Ok(left)
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            Err(JmesError::Nesting)
        } else {
            Ok(())
        }
    }

    fn prefix(&mut self) -> Result<Left> {
        let start = self.at;
        let node = match self.next() {
            Token::Identifier(name) => {
                let node = Expr::Field(Text::plain(name.clone()));
                return Ok(Left {
                    node,
                    name: Some(name),
                    indexes: false,
                });
            }
            Token::Quoted(name) => {
                if *self.peek() == Token::LeftParen {
                    return Err(self.unexpected());
                }
                Expr::Field(name)
            }
            Token::Literal(value) => Expr::Literal(value),
            Token::At => Expr::Current,
            Token::Star => {
                let right = match self.peek() {
                    Token::RightBracket => Expr::Current,
                    _ => self.projected(STAR)?,
                };
                Expr::ValueProjection(Box::new(Expr::Current), Box::new(right))
            }
            Token::Filter => self.filter(Expr::Current)?,
            Token::Flatten => self.flatten(Expr::Current)?,
            Token::LeftBrace => self.hash()?,
            Token::LeftParen => {
                let left = self.left(0)?;
                self.expect(&Token::RightParen)?;
                return Ok(left);
            }
            Token::Not => Expr::Not(Box::new(self.expression(NOT)?)),
            Token::Ampersand => Expr::Reference(Box::new(self.expression(0)?)),
            Token::LeftBracket => match self.peek() {
                Token::Number(_) | Token::Colon => return self.index(Expr::Current.into()),
                Token::Star if *self.peek_second() == Token::RightBracket => {
                    self.at += 2;
                    let right = self.projected(STAR)?;
                    Expr::Projection(Box::new(Expr::Current), Box::new(right))
                }
                _ => self.list()?,
            },
            _ => {
                self.at = start;
                return Err(self.unexpected());
            }
        };
        Ok(node.into())
    }

    fn infix(&mut self, left: Left) -> Result<Left> {
        let start = self.at;
        let token = self.next();
        let first = |left: Left| Box::new(left.node);
        Ok(match token {
            Token::Dot if self.eat(&Token::Star) => {
                let right = self.projected(DOT)?;
                Expr::ValueProjection(first(left), Box::new(right)).into()
            }
            Token::Dot => {
                let right = self.after_dot(DOT)?;
                chain(left.node, right).into()
            }
            Token::Pipe => {
                let right = self.expression(PIPE)?;
                Expr::Pipe(first(left), Box::new(right)).into()
            }
            Token::Or => {
                let right = self.expression(OR)?;
                Expr::Or(first(left), Box::new(right)).into()
            }
            Token::And => {
                let right = self.expression(AND)?;
                Expr::And(first(left), Box::new(right)).into()
            }
            Token::Compare(comparator) => {
                let right = self.expression(COMPARE)?;
                Expr::Compare(comparator, first(left), Box::new(right)).into()
            }
            Token::Flatten => self.flatten(left.node)?.into(),
            Token::Filter => self.filter(left.node)?.into(),
            Token::LeftBracket => match self.peek() {
                Token::Number(_) | Token::Colon => self.index(left)?,
                _ => {
                    self.expect(&Token::Star)?;
                    self.expect(&Token::RightBracket)?;
                    let right = self.projected(STAR)?;
                    Expr::Projection(first(left), Box::new(right)).into()
                }
            },
            Token::LeftParen => match left.name {
                Some(name) => Expr::Call(name, self.arguments()?).into(),
                None => {
                    self.at = start;
                    return Err(self.unexpected());
                }
            },
            _ => {
                self.at = start;
                return Err(self.unexpected());
            }
        })
    }

    fn flatten(&mut self, left: Expr) -> Result<Expr> {
        let right = self.projected(FLATTEN)?;
        Ok(Expr::Projection(
            Box::new(Expr::Flatten(Box::new(left))),
            Box::new(right),
        ))
    }

    fn filter(&mut self, left: Expr) -> Result<Expr> {
        let condition = self.expression(0)?;
        self.expect(&Token::RightBracket)?;
        let right = match self.peek() {
            Token::Flatten => Expr::Current,
            _ => self.projected(FILTER)?,
        };
        Ok(Expr::FilterProjection(
            Box::new(left),
            Box::new(right),
            Box::new(condition),
        ))
    }

    /// The right side of a projection.
    fn projected(&mut self, power_before: u8) -> Result<Expr> {
        match self.peek() {
            token if power(token) < PROJECTION_STOP => Ok(Expr::Current),
            Token::LeftBracket | Token::Filter => self.expression(power_before),
            Token::Dot => {
                self.at += 1;
                self.after_dot(power_before)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn after_dot(&mut self, power_before: u8) -> Result<Expr> {
        match self.peek() {
            Token::Identifier(_) | Token::Quoted(_) | Token::Star => self.expression(power_before),
            Token::LeftBracket => {
                self.at += 1;
                self.list()
            }
            Token::LeftBrace => {
                self.at += 1;
                self.hash()
            }
            _ => Err(self.unexpected()),
        }
    }

    /// An index or a slice whose opening bracket is eaten.
    fn index(&mut self, left: Left) -> Result<Left> {
        let sliced = *self.peek() == Token::Colon || *self.peek_second() == Token::Colon;
        let right = if sliced {
            self.slice()?
        } else {
            self.plain_index()?
        };
        if left.indexes {
            // As in the reference, a slice after an index does not start a projection.
            return Ok(Left {
                node: chain(left.node, right),
                name: None,
                indexes: true,
            });
        }
        let node = chain(left.node, right);
        if sliced {
            let right = self.projected(STAR)?;
            return Ok(Expr::Projection(Box::new(node), Box::new(right)).into());
        }
        Ok(Left {
            node,
            name: None,
            indexes: true,
        })
    }

    fn plain_index(&mut self) -> Result<Expr> {
        let Token::Number(index) = self.next() else {
            return Err(self.unexpected());
        };
        self.expect(&Token::RightBracket)?;
        Ok(Expr::Index(index))
    }

    fn slice(&mut self) -> Result<Expr> {
        let mut parts = [None; 3];
        let mut part = 0;
        loop {
            match self.peek() {
                Token::RightBracket => break,
                Token::Colon if part < 2 => part += 1,
                Token::Number(number) => parts[part] = Some(*number),
                _ => return Err(self.unexpected()),
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(Expr::Slice(parts))
    }

    fn list(&mut self) -> Result<Expr> {
        let mut nodes = Vec::new();
        loop {
            nodes.push(self.expression(0)?);
            if self.eat(&Token::RightBracket) {
                return Ok(Expr::List(nodes));
            }
            self.expect(&Token::Comma)?;
        }
    }

    fn hash(&mut self) -> Result<Expr> {
        let mut pairs = Vec::new();
        loop {
            let key = match self.next() {
                Token::Identifier(name) => Text::plain(name),
                Token::Quoted(name) => name,
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected());
                }
            };
            self.expect(&Token::Colon)?;
            pairs.push((key, self.expression(0)?));
            // As in the reference, the comma may be missing.
            if !self.eat(&Token::Comma) && self.eat(&Token::RightBrace) {
                return Ok(Expr::Hash(pairs));
            }
        }
    }

    /// The arguments of a call whose parenthesis is eaten.
    fn arguments(&mut self) -> Result<Vec<Expr>> {
        let mut arguments = Vec::new();
        while !self.eat(&Token::RightParen) {
            arguments.push(self.expression(0)?);
            // As in the reference, the comma may be missing, or be the last token.
            self.eat(&Token::Comma);
        }
        Ok(arguments)
    }
}

fn chain(left: Expr, right: Expr) -> Expr {
    match left {
        Expr::Chain(mut nodes) => {
            nodes.push(right);
            Expr::Chain(nodes)
        }
        left => Expr::Chain(vec![left, right]),
    }
}
