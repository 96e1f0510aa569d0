//! Expressions, by precedence.

use std::fmt::Write as _;

use super::super::lexer::{Kind, Token};
use super::{Code, MAX_HEIGHT, OWN, Parsed, Parser, SyntaxError, quoted};
use crate::python::{filters, tests};

/// Whether `A if B else C` is read, or its `if` left to the caller.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Conditions {
    Allowed,
    Left,
}

pub(super) const CONSTANTS: [(&str, &str); 6] = [
    ("true", "true"),
    ("True", "true"),
    ("false", "false"),
    ("False", "false"),
    ("none", "none"),
    ("None", "none"),
];

/// Functions of ours that take any number of arguments, none of them by name.
const UNBOUNDED: [&str; 7] = ["concat", "dict", "list", "power", "product", "sum", "tuple"];

/// Words that minijinja does not take for names.
const KEYWORDS: [&str; 8] = ["and", "or", "not", "is", "in", "if", "else", "elif"];

impl Parser {
    fn call(&self, name: &str, arguments: &[Code]) -> Parsed<Code> {
        let text: Vec<&str> = arguments.iter().map(|code| code.text.as_str()).collect();
        let text = text.join(", ");
        // minijinja counts arguments, but not items.
        let spread = arguments.len() > 250 && UNBOUNDED.contains(&name);
        let code = Code::new(match spread {
            true => format!("{OWN}{name}(*[{text}])"),
            false => format!("{OWN}{name}({text})"),
        });
        self.above(code, arguments)
    }

    /// Counts the levels of an expression that stands above others.
    fn above(&self, mut code: Code, parts: &[Code]) -> Parsed<Code> {
        let highest = parts.iter().map(|part| part.height).max().unwrap_or(0);
        code.height = highest + 1;
        self.limited(code)
    }

    fn limited(&self, code: Code) -> Parsed<Code> {
        if code.height > MAX_HEIGHT {
            let message = format!("an expression has more than {MAX_HEIGHT} levels");
            return Err(SyntaxError::new(self.line(), message));
        }
        Ok(code)
    }

    /// An expression, or several with commas between, which are a tuple.
    pub(super) fn tuple(&mut self, conditions: Conditions) -> Parsed<Code> {
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
        self.call("tuple", &items)
    }

    pub(super) fn expression(&mut self, conditions: Conditions) -> Parsed<Code> {
        self.nested(|parser| match conditions {
            Conditions::Allowed => parser.conditional(),
            Conditions::Left => parser.or(),
        })
    }

    fn conditional(&mut self) -> Parsed<Code> {
        let mark = self.unknown.len();
        let mut value = self.or()?;
        while self.skip_name("if") {
            let test = self.or()?;
            let other = match self.skip_name("else") {
                true => Some(self.nested(Self::conditional)?),
                false => None,
            };
            self.unknown.truncate(mark);
            let text = match &other {
                Some(other) => format!("({} if {} else {})", value.text, test.text, other.text),
                None => format!("({} if {})", value.text, test.text),
            };
            let mut parts = vec![value, test];
            parts.extend(other);
            value = self.above(Code::new(text), &parts)?;
        }
        Ok(value)
    }

    fn or(&mut self) -> Parsed<Code> {
        self.chain("or", Self::and)
    }

    fn and(&mut self) -> Parsed<Code> {
        self.chain("and", Self::not)
    }

    fn chain(&mut self, word: &str, operand: impl Fn(&mut Self) -> Parsed<Code>) -> Parsed<Code> {
        let mut parts = vec![operand(self)?];
        while self.skip_name(word) {
            parts.push(operand(self)?);
        }
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        let text: Vec<&str> = parts.iter().map(|code| code.text.as_str()).collect();
        let code = Code::new(format!("({})", text.join(&format!(" {word} "))));
        let count = parts.len();
        let mut code = self.above(code, &parts)?;
        code.height += count;
        self.limited(code)
    }

    fn not(&mut self) -> Parsed<Code> {
        if self.skip_name("not") {
            let operand = self.nested(Self::not)?;
            let code = Code::new(format!("(not {})", operand.text));
            return self.above(code, &[operand]);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parsed<Code> {
        let mut operands = vec![self.sum()?];
        let mut names = Vec::new();
        loop {
            let name = match &self.peek().kind {
                _ if self.at_end() => break,
                Kind::Operator("==") => "eq",
                Kind::Operator("!=") => "ne",
                Kind::Operator("<") => "lt",
                Kind::Operator("<=") => "le",
                Kind::Operator(">") => "gt",
                Kind::Operator(">=") => "ge",
                Kind::Name(name) if name == "in" => "in",
                Kind::Name(name) if name == "not" => {
                    let next = self.tokens.get(self.at + 1).map(|t| &t.kind);
                    if !matches!(next, Some(Kind::Name(name)) if name == "in") {
                        break;
                    }
                    self.at += 1;
                    "not_in"
                }
                _ => break,
            };
            self.at += 1;
            names.push(name);
            operands.push(self.sum()?);
        }
        if names.is_empty() {
            return Ok(operands.swap_remove(0));
        }
        let pairs = operands.windows(2).zip(&names);
        let text: Vec<String> = pairs
            .map(|(pair, name)| match pair {
                [a, b] => format!("{OWN}{name}({}, {})", a.text, b.text),
                _ => String::new(),
            })
            .collect();
        let code = match text.as_slice() {
            [one] => Code::new(one.clone()),
            all => Code::new(format!("({})", all.join(" and "))),
        };
        // An operand in the middle is written twice: chains stay short, and
        // what they could blow up to is bounded.
        if names.len() > 4 {
            return Err(SyntaxError::new(
                self.line(),
                "more than 4 comparisons in a chain; write `and`",
            ));
        }
        let mut code = self.above(code, &operands)?;
        code.height += names.len();
        if code.text.len() > 1 << 20 {
            return Err(SyntaxError::new(self.line(), "an expression is too long"));
        }
        self.limited(code)
    }

    /// Operators of one precedence, read from the left, as one call: their
    /// signs, then the operands.
    fn operators(
        &mut self,
        name: &str,
        signs: &[(&str, char)],
        operand: impl Fn(&mut Self) -> Parsed<Code>,
    ) -> Parsed<Code> {
        let mut operands = vec![operand(self)?];
        let mut found = String::new();
        while let Some((_, sign)) = signs.iter().find(|(text, _)| self.is_operator(text)) {
            self.at += 1;
            found.push(*sign);
            operands.push(operand(self)?);
        }
        if found.is_empty() {
            return Ok(operands.swap_remove(0));
        }
        operands.insert(0, Code::new(quoted(&found)));
        self.call(name, &operands)
    }

    fn sum(&mut self) -> Parsed<Code> {
        self.operators("sum", &[("+", '+'), ("-", '-')], Self::concatenation)
    }

    fn concatenation(&mut self) -> Parsed<Code> {
        self.operators("concat", &[("~", '~')], Self::product)
    }

    fn product(&mut self) -> Parsed<Code> {
        let signs = [("*", '*'), ("/", '/'), ("//", 'f'), ("%", '%')];
        self.operators("product", &signs, Self::power)
    }

    fn power(&mut self) -> Parsed<Code> {
        self.operators("power", &[("**", '^')], |parser| {
            let code = parser.unary()?;
            parser.filters(code)
        })
    }

    fn unary(&mut self) -> Parsed<Code> {
        for (sign, name) in [("-", "neg"), ("+", "pos")] {
            if self.skip_operator(sign) {
                let operand = self.nested(Self::unary)?;
                return self.call(name, &[operand]);
            }
        }
        let value = self.primary()?;
        self.postfix(value)
    }

    fn primary(&mut self) -> Parsed<Code> {
        if self.at_end() {
            return Err(self.unexpected("end of print statement"));
        }
        let token = self.next();
        match token.kind {
            Kind::Name(name) => {
                if let Some((_, constant)) = CONSTANTS.iter().find(|(c, _)| *c == name) {
                    return Ok(Code::new(*constant));
                }
                if KEYWORDS.contains(&name.as_str()) {
                    let message = format!("expected an expression, got '{name}'");
                    return Err(SyntaxError::new(token.line, message));
                }
                let mut code = Code::new(name.clone());
                code.source = name;
                Ok(code)
            }
            Kind::Text(mut text) => {
                // Literals side by side are one.
                while let Kind::Text(more) = &self.peek().kind
                    && !self.at_end()
                {
                    text.push_str(more);
                    self.at += 1;
                }
                Ok(Code::new(quoted(&text)))
            }
            Kind::Integer(digits) => Ok(Code::new(digits)),
            Kind::Float(value) if value.is_finite() => {
                // minijinja reads no exponents without a point.
                Ok(Code::new(format!("{OWN}float(\"{value:?}\")")))
            }
            Kind::Float(_) => Ok(Code::new(format!("{OWN}float(\"inf\")"))),
            Kind::Operator("(") => {
                if self.skip_operator(")") {
                    return self.call("tuple", &[]);
                }
                let value = self.tuple(Conditions::Allowed)?;
                self.expect_operator(")")?;
                Ok(value)
            }
            Kind::Operator("[") => {
                let items = self.items("]", |parser| {
                    Ok(vec![parser.expression(Conditions::Allowed)?])
                })?;
                self.call("list", &items)
            }
            Kind::Operator("{") => {
                let items = self.items("}", |parser| {
                    let key = parser.expression(Conditions::Allowed)?;
                    parser.expect_operator(":")?;
                    Ok(vec![key, parser.expression(Conditions::Allowed)?])
                })?;
                self.call("dict", &items)
            }
            kind => Err(SyntaxError::new(
                token.line,
                format!("unexpected '{}'", kind.describe()),
            )),
        }
    }

    fn items(
        &mut self,
        close: &'static str,
        item: impl Fn(&mut Self) -> Parsed<Vec<Code>>,
    ) -> Parsed<Vec<Code>> {
        let mut items = Vec::new();
        while !self.skip_operator(close) {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.skip_operator(close) {
                    break;
                }
            }
            items.extend(item(self)?);
        }
        Ok(items)
    }

    fn postfix(&mut self, mut value: Code) -> Parsed<Code> {
        loop {
            if self.skip_operator(".") {
                let name = match self.next() {
                    Token {
                        kind: Kind::Name(name),
                        ..
                    } => name,
                    Token {
                        kind: Kind::Integer(digits),
                        ..
                    } => {
                        let key = Code::new(digits);
                        value = self.item(value, key)?;
                        continue;
                    }
                    token => {
                        return Err(SyntaxError::new(token.line, "expected name or number"));
                    }
                };
                if self.skip_operator("(") {
                    let mut arguments = vec![
                        Code::new(quoted(&value.source)),
                        value,
                        Code::new(quoted(&name)),
                    ];
                    arguments.extend(self.arguments()?);
                    value = self.call("method", &arguments)?;
                    value.is_call = true;
                    continue;
                }
                let mut source = value.source.clone();
                shorten(&mut source);
                let _ = write!(source, ".{name}");
                let arguments = [
                    Code::new(quoted(&value.source)),
                    value,
                    Code::new(quoted(&name)),
                ];
                value = self.call("attr", &arguments)?;
                value.source = source;
            } else if self.skip_operator("[") {
                value = self.subscript(value)?;
            } else if self.skip_operator("(") {
                let arguments = self.arguments()?;
                let text: Vec<&str> = arguments.iter().map(|code| code.text.as_str()).collect();
                let code = Code::new(format!("{}({})", value.text, text.join(", ")));
                let mut parts = arguments;
                parts.push(value);
                value = self.above(code, &parts)?;
                value.is_call = true;
            } else {
                return Ok(value);
            }
        }
    }

    fn item(&self, value: Code, key: Code) -> Parsed<Code> {
        let mut source = value.source.clone();
        shorten(&mut source);
        let key_text = match key.text.len() <= 40 {
            true => key.text.replace('"', "'"),
            false => "...".to_owned(),
        };
        let key_text = key_text.trim_start_matches(OWN);
        let _ = write!(source, "[{key_text}]");
        let arguments = [Code::new(quoted(&value.source)), value, key];
        let mut code = self.call("item", &arguments)?;
        code.source = source;
        Ok(code)
    }

    fn subscript(&mut self, value: Code) -> Parsed<Code> {
        let mut parts: Vec<Option<Code>> = Vec::new();
        let mut current = None;
        let mut is_slice = false;
        loop {
            if self.skip_operator("]") {
                parts.push(current);
                break;
            }
            if self.skip_operator(":") {
                is_slice = true;
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
            current = Some(self.expression(Conditions::Allowed)?);
        }
        if !is_slice {
            return match parts.swap_remove(0) {
                Some(key) => self.item(value, key),
                None => Err(SyntaxError::new(
                    self.line(),
                    "expected subscript expression",
                )),
            };
        }
        if parts.len() > 3 {
            return Err(SyntaxError::new(self.line(), "a slice has at most 3 parts"));
        }
        let mut arguments = vec![Code::new(quoted(&value.source)), value];
        arguments.extend(
            parts
                .into_iter()
                .map(|part| part.unwrap_or_else(|| Code::new("none"))),
        );
        self.call("slice", &arguments)
    }

    /// The arguments of a call, from behind its opening to behind its close.
    fn arguments(&mut self) -> Parsed<Vec<Code>> {
        self.items(")", |parser| {
            for stars in ["**", "*"] {
                if parser.skip_operator(stars) {
                    let mut value = parser.expression(Conditions::Allowed)?;
                    value.text = match stars {
                        "*" => format!("*{OWN}iter({})", value.text),
                        _ => format!("**{}", value.text),
                    };
                    return Ok(vec![value]);
                }
            }
            let next = parser.tokens.get(parser.at + 1).map(|t| &t.kind);
            if let (Kind::Name(name), Some(Kind::Operator("="))) = (&parser.peek().kind, next) {
                let name = name.clone();
                parser.at += 2;
                let mut value = parser.expression(Conditions::Allowed)?;
                value.text = format!("{name}={}", value.text);
                return Ok(vec![value]);
            }
            Ok(vec![parser.expression(Conditions::Allowed)?])
        })
    }

    /// Filters, tests and calls behind a value.
    pub(super) fn filters(&mut self, mut value: Code) -> Parsed<Code> {
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

    pub(super) fn filter(&mut self, value: Code) -> Parsed<Code> {
        let line = self.line();
        let mut name = self.expect_name()?;
        while self.skip_operator(".") {
            name = format!("{name}.{}", self.expect_name()?);
        }
        if !filters::exists(&name) {
            self.unknown
                .push(SyntaxError::new(line, format!("No filter named '{name}'.")));
        }
        let mut arguments = vec![Code::new(quoted(&name)), value];
        if self.skip_operator("(") {
            arguments.extend(self.arguments()?);
        }
        self.call("filter", &arguments)
    }

    fn test(&mut self, value: Code) -> Parsed<Code> {
        let negated = self.skip_name("not");
        let line = self.line();
        let mut name = self.expect_name()?;
        while self.skip_operator(".") {
            name = format!("{name}.{}", self.expect_name()?);
        }
        if !tests::exists(&name) {
            self.unknown
                .push(SyntaxError::new(line, format!("No test named '{name}'.")));
        }
        let mut arguments = vec![Code::new(quoted(&name)), value];
        if self.skip_operator("(") {
            arguments.extend(self.arguments()?);
        } else if self.begins_argument() {
            let argument = self.nested(|parser| {
                let value = parser.primary()?;
                parser.postfix(value)
            })?;
            arguments.push(argument);
        }
        let code = self.call("test", &arguments)?;
        if !negated {
            return Ok(code);
        }
        let text = format!("(not {})", code.text);
        self.above(Code::new(text), &[code])
    }

    /// Whether an argument without parentheses follows a test.
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

/// Keeps what messages quote short.
fn shorten(source: &mut String) {
    if source.len() > 60 {
        *source = "the value".to_owned();
    }
}
