//! Expressions, by precedence. For example, `not a and b or c` is `((not a) and b) or c`.

use std::ops::{Deref, DerefMut};

use super::lexer::Kind;
use super::tree::{Argument, Comparison, Conditional, Expression, Operator};
use super::{MAX_HEIGHT, Parsed, Parser, SyntaxError, Tall};

/// True if `A if B else C` is read, or its `if` left to the caller.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Conditions {
    Allowed,
    Left,
}

/// The words for constants in both spellings, as Jinja has them.
pub(super) const CONSTANTS: [&str; 6] = ["true", "True", "false", "False", "none", "None"];

/// Words that are no names, because they stand between or before expressions.
const KEYWORDS: [&str; 8] = ["and", "or", "not", "is", "in", "if", "else", "elif"];

/// A parser that stands before an expression.
pub(super) struct Expressions<'p>(pub(super) &'p mut Parser);

impl Deref for Expressions<'_> {
    type Target = Parser;

    fn deref(&self) -> &Parser {
        self.0
    }
}

impl DerefMut for Expressions<'_> {
    fn deref_mut(&mut self) -> &mut Parser {
        self.0
    }
}

impl Expressions<'_> {
    /// Counts a level down, for as long as `parse` runs.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Expressions<'_>) -> Parsed<T>) -> Parsed<T> {
        self.0.nested(|parser| parse(&mut Expressions(parser)))
    }

    /// An expression of `levels` above a part of that height.
    fn above(&self, height: usize, levels: usize, expression: Expression) -> Parsed<Tall> {
        let height = height + levels;
        if height > MAX_HEIGHT {
            let message = format!("an expression has more than {MAX_HEIGHT} levels");
            return Err(SyntaxError::new(self.line(), message));
        }
        Ok(Tall { expression, height })
    }

    /// The same above several parts.
    fn above_all(
        &self,
        parts: Vec<Tall>,
        make: impl FnOnce(Vec<Expression>) -> Expression,
    ) -> Parsed<Tall> {
        let height = parts.iter().map(|part| part.height).max().unwrap_or(0);
        let parts = parts.into_iter().map(|part| part.expression).collect();
        self.above(height, 1, make(parts))
    }

    /// An expression, or several with commas between, which are a tuple.
    pub(super) fn tuple(&mut self, conditions: Conditions) -> Parsed<Tall> {
        let first = self.expression(conditions)?;
        if !self.is_operator(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.skip_operator(",") {
            let ends = self.at_end()
                || matches!(self.peek().kind, Kind::BlockEnd | Kind::PrintEnd)
                || self.is_operator(")")
                || self.is_name("recursive");
            if ends {
                break;
            }
            items.push(self.expression(conditions)?);
        }
        self.above_all(items, Expression::Tuple)
    }

    pub(super) fn expression(&mut self, conditions: Conditions) -> Parsed<Tall> {
        self.nested(|parser| match conditions {
            Conditions::Allowed => parser.conditional(),
            Conditions::Left => parser.or(),
        })
    }

    fn conditional(&mut self) -> Parsed<Tall> {
        let mark = self.unknown.len();
        let mut value = self.or()?;
        while self.skip_name("if") {
            let test = self.or()?;
            let otherwise = match self.skip_name("else") {
                true => Some(self.nested(|inner| inner.conditional())?),
                false => None,
            };
            // An unknown name may stand in a branch that is never taken.
            self.unknown.truncate(mark);
            let other_height = otherwise.as_ref().map_or(0, |other| other.height);
            let height = value.height.max(test.height).max(other_height);
            let conditional = Conditional {
                test: test.expression,
                then: value.expression,
                otherwise: otherwise.map(|other| other.expression),
            };
            value = self.above(height, 1, Expression::Conditional(Box::new(conditional)))?;
        }
        Ok(value)
    }

    fn or(&mut self) -> Parsed<Tall> {
        self.chain("or", Self::and, Expression::Or)
    }

    fn and(&mut self) -> Parsed<Tall> {
        self.chain("and", Self::not, Expression::And)
    }

    fn chain(
        &mut self,
        word: &str,
        operand: impl Fn(&mut Self) -> Parsed<Tall>,
        make: fn(Vec<Expression>) -> Expression,
    ) -> Parsed<Tall> {
        let mut parts = vec![operand(self)?];
        while self.skip_name(word) {
            parts.push(operand(self)?);
        }
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        let count = parts.len();
        let all = self.above_all(parts, make)?;
        self.above(all.height, count, all.expression)
    }

    fn not(&mut self) -> Parsed<Tall> {
        if self.skip_name("not") {
            let operand = self.nested(|inner| inner.not())?;
            let expression = Expression::Not(Box::new(operand.expression));
            return self.above(operand.height, 1, expression);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parsed<Tall> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        let mut height = first.height;
        while let Some(comparison) = self.comparison_sign() {
            let operand = self.sum()?;
            height = height.max(operand.height);
            rest.push((comparison, operand.expression));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        // In a chain each comparison and each operand is a level.
        let levels = match rest.len() {
            1 => 1,
            count => 2 * count + 1,
        };
        let expression = Expression::Comparisons(Box::new(first.expression), rest);
        self.above(height, levels, expression)
    }

    fn comparison_sign(&mut self) -> Option<Comparison> {
        if self.at_end() {
            return None;
        }
        let sign = match &self.peek().kind {
            Kind::Operator("==") => Comparison::Equal,
            Kind::Operator("!=") => Comparison::NotEqual,
            Kind::Operator("<") => Comparison::Less,
            Kind::Operator("<=") => Comparison::LessOrEqual,
            Kind::Operator(">") => Comparison::Greater,
            Kind::Operator(">=") => Comparison::GreaterOrEqual,
            Kind::Name(name) if name == "in" => Comparison::In,
            Kind::Name(name) if name == "not" => {
                let next = self.tokens.get(self.at + 1).map(|t| &t.kind);
                if !matches!(next, Some(Kind::Name(name)) if name == "in") {
                    return None;
                }
                self.at += 1;
                Comparison::NotIn
            }
            _ => return None,
        };
        self.at += 1;
        Some(sign)
    }

    /// Operators of one precedence, read from the left; a chain of them is one level.
    fn operators(
        &mut self,
        signs: &[(&str, Operator)],
        operand: impl Fn(&mut Self) -> Parsed<Tall>,
    ) -> Parsed<Tall> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        let mut height = first.height;
        while let Some((_, sign)) = signs.iter().find(|(text, _)| self.is_operator(text)) {
            self.at += 1;
            let operand = operand(self)?;
            height = height.max(operand.height);
            rest.push((*sign, operand.expression));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let expression = Expression::Operators(Box::new(first.expression), rest);
        self.above(height, 1, expression)
    }

    fn sum(&mut self) -> Parsed<Tall> {
        let signs = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.operators(&signs, Self::concatenation)
    }

    fn concatenation(&mut self) -> Parsed<Tall> {
        let mut parts = vec![self.product()?];
        while self.skip_operator("~") {
            parts.push(self.product()?);
        }
        match parts.len() {
            1 => Ok(parts.swap_remove(0)),
            _ => self.above_all(parts, Expression::Concatenation),
        }
    }

    fn product(&mut self) -> Parsed<Tall> {
        let signs = [
            ("*", Operator::Multiply),
            ("/", Operator::Divide),
            ("//", Operator::FloorDivide),
            ("%", Operator::Modulo),
        ];
        self.operators(&signs, Self::power)
    }

    fn power(&mut self) -> Parsed<Tall> {
        self.operators(&[("**", Operator::Power)], |parser| {
            let value = parser.unary()?;
            parser.filters(value)
        })
    }

    fn unary(&mut self) -> Parsed<Tall> {
        let negative = self.is_operator("-");
        if !negative && !self.is_operator("+") {
            let value = self.primary()?;
            return self.postfix(value);
        }
        self.at += 1;
        let operand = self.nested(|inner| inner.unary())?;
        let inner = Box::new(operand.expression);
        let expression = match negative {
            true => Expression::Negative(inner),
            false => Expression::Positive(inner),
        };
        self.above(operand.height, 1, expression)
    }

    fn primary(&mut self) -> Parsed<Tall> {
        if self.at_end() {
            return Err(self.unexpected("end of print statement"));
        }
        let token = self.next();
        Ok(Tall::new(match token.kind {
            Kind::Name(name) => match name.as_str() {
                "true" | "True" => Expression::Bool(true),
                "false" | "False" => Expression::Bool(false),
                "none" | "None" => Expression::None,
                name if KEYWORDS.contains(&name) => {
                    let message = format!("expected an expression, got '{name}'");
                    return Err(SyntaxError::new(token.line, message));
                }
                name => {
                    match name {
                        "loop" => self.said.the_loop = true,
                        "varargs" => self.said.varargs = true,
                        "kwargs" => self.said.kwargs = true,
                        "caller" => self.said.caller = true,
                        _ => {}
                    }
                    Expression::Name(self.name(name))
                }
            },
            Kind::Text(mut text) => {
                // Literals side by side are one.
                while let Kind::Text(more) = &self.peek().kind
                    && !self.at_end()
                {
                    text.push_str(more);
                    self.at += 1;
                }
                Expression::Text(text.into())
            }
            Kind::Integer(value) => Expression::Int(value),
            Kind::Float(value) => Expression::Float(value),
            Kind::Operator("(") => {
                if self.skip_operator(")") {
                    return Ok(Tall::new(Expression::Tuple(Vec::new())));
                }
                let value = self.tuple(Conditions::Allowed)?;
                self.expect_operator(")")?;
                return Ok(value);
            }
            Kind::Operator("[") => {
                let items = self.items("]", |parser| parser.expression(Conditions::Allowed))?;
                return self.above_all(items, Expression::List);
            }
            Kind::Operator("{") => {
                let mut height = 0;
                let entries = self.items("}", |parser| {
                    let key = parser.expression(Conditions::Allowed)?;
                    parser.expect_operator(":")?;
                    let value = parser.expression(Conditions::Allowed)?;
                    height = height.max(key.height).max(value.height);
                    Ok((key.expression, value.expression))
                })?;
                return self.above(height, 1, Expression::Dict(entries));
            }
            kind => {
                let message = format!("unexpected '{}'", kind.describe());
                return Err(SyntaxError::new(token.line, message));
            }
        }))
    }

    fn items<T>(
        &mut self,
        close: &'static str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.skip_operator(close) {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.skip_operator(close) {
                    break;
                }
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn postfix(&mut self, mut value: Tall) -> Parsed<Tall> {
        loop {
            if self.skip_operator(".") {
                let of = Box::new(value.expression);
                let token = self.next();
                let expression = match token.kind {
                    Kind::Name(name) => Expression::Attribute(of, name.into()),
                    Kind::Integer(key) => Expression::Item(Box::new((*of, Expression::Int(key)))),
                    _ => return Err(SyntaxError::new(token.line, "expected name or number")),
                };
                value = self.above(value.height, 1, expression)?;
            } else if self.skip_operator("[") {
                value = self.subscript(value)?;
            } else if self.skip_operator("(") {
                let (arguments, height) = self.arguments()?;
                let expression = Expression::Call(Box::new(value.expression), arguments);
                value = self.above(value.height.max(height), 1, expression)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn subscript(&mut self, value: Tall) -> Parsed<Tall> {
        let mut parts: Vec<Option<Expression>> = Vec::new();
        let mut current = None;
        let mut height = value.height;
        loop {
            if self.skip_operator("]") {
                parts.push(current);
                break;
            }
            if self.skip_operator(":") {
                parts.push(current.take());
                continue;
            }
            if current.is_some() {
                if self.is_operator(",") {
                    return Err(SyntaxError::new(
                        self.line(),
                        "a subscript of several keys is not supported",
                    ));
                }
                return Err(self.unexpected("]"));
            }
            let part = self.expression(Conditions::Allowed)?;
            height = height.max(part.height);
            current = Some(part.expression);
        }
        let mut parts = parts.into_iter();
        let expression = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Some(key)), None, ..) => Expression::Item(Box::new((value.expression, key))),
            (_, None, ..) => {
                let message = "expected subscript expression";
                return Err(SyntaxError::new(self.line(), message));
            }
            (start, stop, step, None) => {
                let bounds = [start, stop, step].map(Option::flatten);
                Expression::Slice(Box::new((value.expression, bounds)))
            }
            _ => {
                let message = "a slice has at most 3 parts";
                return Err(SyntaxError::new(self.line(), message));
            }
        };
        self.above(height, 1, expression)
    }

    /// The arguments of a call, from behind its opening to behind its close, and their
    /// height.
    fn arguments(&mut self) -> Parsed<(Vec<Argument>, usize)> {
        let mut height = 0;
        let mut named = false;
        let arguments = self.items(")", |parser| {
            let line = parser.line();
            let mut value = |parser: &mut Self| -> Parsed<Expression> {
                let value = parser.expression(Conditions::Allowed)?;
                height = height.max(value.height);
                Ok(value.expression)
            };
            if parser.skip_operator("**") {
                return Ok(Argument::Entries(value(parser)?));
            }
            if parser.skip_operator("*") {
                return Ok(Argument::Items(value(parser)?));
            }
            let next = parser.tokens.get(parser.at + 1).map(|t| &t.kind);
            if let (Kind::Name(name), Some(Kind::Operator("="))) = (&parser.peek().kind, next) {
                let name = name.as_str().into();
                parser.at += 2;
                named = true;
                return Ok(Argument::Named(name, value(parser)?));
            }
            if named {
                let message = "invalid syntax for function call expression";
                return Err(SyntaxError::new(line, message));
            }
            Ok(Argument::Place(value(parser)?))
        })?;
        Ok((arguments, height))
    }

    /// Filters, tests and calls behind a value.
    pub(super) fn filters(&mut self, mut value: Tall) -> Parsed<Tall> {
        loop {
            if self.skip_operator("|") {
                value = self.filter(value)?;
            } else if self.is_name("is") {
                self.at += 1;
                value = self.test(value)?;
            } else if self.is_operator("(") {
                value = self.postfix(value)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// The name of a filter or a test.
    fn dotted_name(&mut self) -> Parsed<String> {
        let mut name = self.expect_name()?;
        while self.skip_operator(".") {
            name = format!("{name}.{}", self.expect_name()?);
        }
        Ok(name)
    }

    pub(super) fn filter(&mut self, value: Tall) -> Parsed<Tall> {
        let line = self.line();
        let name = self.dotted_name()?;
        if !(self.known.filter)(&name) {
            let message = format!("No filter named '{name}'.");
            self.unknown.push(SyntaxError::new(line, message));
        }
        let (arguments, height) = match self.skip_operator("(") {
            true => self.arguments()?,
            false => (Vec::new(), 0),
        };
        let expression = Expression::Filter(Box::new(value.expression), name.into(), arguments);
        self.above(value.height.max(height), 1, expression)
    }

    fn test(&mut self, value: Tall) -> Parsed<Tall> {
        let negated = self.skip_name("not");
        let line = self.line();
        let name = self.dotted_name()?;
        if !(self.known.test)(&name) {
            let message = format!("No test named '{name}'.");
            self.unknown.push(SyntaxError::new(line, message));
        }
        let (arguments, height) = if self.skip_operator("(") {
            self.arguments()?
        } else if self.begins_argument() {
            let argument = self.nested(|parser| {
                let value = parser.primary()?;
                parser.postfix(value)
            })?;
            (vec![Argument::Place(argument.expression)], argument.height)
        } else {
            (Vec::new(), 0)
        };
        let expression = Expression::Test(Box::new(value.expression), name.into(), arguments);
        let test = self.above(value.height.max(height), 1, expression)?;
        match negated {
            true => self.above(test.height, 1, Expression::Not(Box::new(test.expression))),
            false => Ok(test),
        }
    }

    /// Tells whether an argument without parentheses follows a test.
    fn begins_argument(&self) -> bool {
        if self.at_end() {
            return false;
        }
        match &self.peek().kind {
            Kind::Name(name) => !["else", "or", "and", "is", "if", "in", "not", "recursive"]
                .contains(&name.as_str()),
            Kind::Text(_) | Kind::Integer(_) | Kind::Float(_) => true,
            Kind::Operator(operator) => ["[", "{"].contains(operator),
            _ => false,
        }
    }
}
