//! Reads the statements of a template: what stands between `{%` and `%}`, and the bodies of blocks.
//!
//! For example, `{% if a %}x{% endif %}` becomes one branch, whose body is a text.

use std::sync::Arc;

use super::expressions::{CONSTANTS, Conditions, Expressions};
use super::lexer::{Kind, Token};
use super::tree::{
    Body, Expression, For, Macro, Name, Parameter, Statement, StatementKind, Target,
};
use super::{Parsed, Parser, SyntaxError, Tall};

impl Parser {
    pub(super) fn name(&mut self, name: &str) -> Name {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let next = self.names.len() as Name;
        self.names.insert(name.into(), next);
        next
    }

    /// Everything up to a tag of that name; the name is next then. Without
    /// names up to the end of the template.
    pub(super) fn body(&mut self, ends: &[&str]) -> Parsed<Body> {
        let mut body = Vec::new();
        loop {
            if self.at_end() {
                return match ends {
                    [] => Ok(body),
                    _ => Err(self.unclosed(ends)),
                };
            }
            let Token { kind, line } = self.next();
            let kind = match kind {
                Kind::Data(text) => StatementKind::Data(text.into()),
                Kind::PrintBegin => {
                    let value = Expressions(self).tuple(Conditions::Allowed)?.expression;
                    if self.at_end() || self.peek().kind != Kind::PrintEnd {
                        return Err(self.unexpected("end of print statement"));
                    }
                    self.at += 1;
                    self.settle()?;
                    StatementKind::Print(value)
                }
                Kind::BlockBegin => {
                    if let Kind::Name(name) = &self.peek().kind
                        && ends.contains(&name.as_str())
                    {
                        return Ok(body);
                    }
                    self.nested(|parser| parser.statement(line, ends, &mut body))?;
                    continue;
                }
                _ => return Err(SyntaxError::new(line, "the template is malformed")),
            };
            body.push(Statement { line, kind });
        }
    }

    #[cold]
    fn unclosed(&self, ends: &[&str]) -> SyntaxError {
        let message = format!("Unexpected end of template.{}", self.looking_for(ends));
        SyntaxError::new(self.line(), message)
    }

    fn looking_for(&self, ends: &[&str]) -> String {
        let Some(block) = self.blocks.last() else {
            return String::new();
        };
        let tags: Vec<String> = ends.iter().map(|end| format!("'{end}'")).collect();
        format!(
            " Jinja was looking for the following tags: {}. The innermost block that needs to be closed is '{block}'.",
            tags.join(" or "),
        )
    }

    /// A block of that tag: its body up to one of `ends`, whose name is taken.
    fn block(&mut self, tag: &'static str, ends: &[&str]) -> Parsed<(Body, String)> {
        self.blocks.push(tag);
        let body = self.body(ends)?;
        let end = self.expect_name()?;
        self.blocks.pop();
        Ok((body, end))
    }

    /// The same with a single end, to behind its tag.
    fn whole_block(&mut self, tag: &'static str, end: &str) -> Parsed<Body> {
        let (body, _) = self.block(tag, &[end])?;
        self.expect_block_end()?;
        Ok(body)
    }

    fn statement(&mut self, line: usize, ends: &[&str], out: &mut Body) -> Parsed<()> {
        let Kind::Name(name) = self.peek().kind.clone() else {
            return Err(SyntaxError::new(line, "tag name expected"));
        };
        if self.at_end() {
            return Err(SyntaxError::new(line, "tag name expected"));
        }
        self.at += 1;
        let kind = match name.as_str() {
            "for" => self.for_loop()?,
            "if" => self.condition()?,
            "set" => self.set()?,
            "macro" => self.macro_block()?,
            "call" => self.call_block(line)?,
            "filter" => {
                let value = Expressions(self).filter(Tall::new(Expression::Captured))?;
                let value = Expressions(self).filters(value)?.expression;
                self.expect_block_end()?;
                self.settle()?;
                let body = self.whole_block("filter", "endfilter")?;
                StatementKind::Filter { value, body }
            }
            "with" => self.with_block()?,
            "block" => self.inheritable_block()?,
            "generation" => {
                self.expect_block_end()?;
                StatementKind::Generation(self.whole_block("generation", "endgeneration")?)
            }
            "print" => {
                let mut values = vec![Expressions(self).expression(Conditions::Allowed)?];
                while self.skip_operator(",") {
                    values.push(Expressions(self).expression(Conditions::Allowed)?);
                }
                self.expect_block_end()?;
                self.settle()?;
                out.extend(values.into_iter().map(|value| Statement {
                    line,
                    kind: StatementKind::Print(value.expression),
                }));
                return Ok(());
            }
            "break" | "continue" => {
                self.expect_block_end()?;
                let passes = |tag: &&&str| ["if", "with", "autoescape"].contains(*tag);
                let innermost = self.blocks.iter().rev().find(|tag| !passes(tag));
                if innermost != Some(&"for") {
                    let message = format!("'{name}' outside of a loop");
                    return Err(SyntaxError::new(line, message));
                }
                match name.as_str() {
                    "break" => StatementKind::Break,
                    _ => StatementKind::Continue,
                }
            }
            "autoescape" => {
                let off = self.skip_name("false") || self.skip_name("False");
                if !off {
                    return Err(SyntaxError::new(
                        line,
                        "autoescape is not supported: chats are not HTML",
                    ));
                }
                self.expect_block_end()?;
                let body = self.whole_block("autoescape", "endautoescape")?;
                let values = Vec::new();
                StatementKind::With { values, body }
            }
            "include" | "import" | "from" | "extends" => {
                while !self.at_end() && self.peek().kind != Kind::BlockEnd {
                    self.at += 1;
                }
                self.expect_block_end()?;
                StatementKind::Load(name.into())
            }
            _ => {
                return Err(SyntaxError::new(
                    line,
                    format!(
                        "Encountered unknown tag '{name}'.{}",
                        self.looking_for(ends)
                    ),
                ));
            }
        };
        out.push(Statement { line, kind });
        Ok(())
    }

    fn for_loop(&mut self) -> Parsed<StatementKind> {
        let target = self.target(Attributes::Refused)?;
        if !self.skip_name("in") {
            return Err(self.unexpected("in"));
        }
        let iterated = Expressions(self).tuple(Conditions::Left)?.expression;
        let condition = match self.skip_name("if") {
            true => Some(
                Expressions(self)
                    .expression(Conditions::Allowed)?
                    .expression,
            ),
            false => None,
        };
        let recursive = self.skip_name("recursive");
        self.expect_block_end()?;
        self.settle()?;
        let before = std::mem::take(&mut self.said.the_loop);
        let (body, end) = self.block("for", &["endfor", "else"])?;
        let says_loop = std::mem::replace(&mut self.said.the_loop, before);
        self.said.the_loop |= says_loop;
        self.expect_block_end()?;
        let otherwise = match end.as_str() {
            "else" => self.whole_block("for", "endfor")?,
            _ => Vec::new(),
        };
        Ok(StatementKind::For(Arc::new(For {
            target,
            iterated,
            condition,
            recursive,
            says_loop,
            body,
            otherwise,
        })))
    }

    fn condition(&mut self) -> Parsed<StatementKind> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            let test = Expressions(self).tuple(Conditions::Left)?.expression;
            self.expect_block_end()?;
            // An unknown name may stand in a branch that is never taken.
            self.unknown.clear();
            let (body, end) = self.block("if", &["elif", "else", "endif"])?;
            branches.push((test, body));
            match end.as_str() {
                "elif" => continue,
                "else" => {
                    self.expect_block_end()?;
                    otherwise = self.whole_block("if", "endif")?;
                }
                _ => self.expect_block_end()?,
            }
            return Ok(StatementKind::If {
                branches,
                otherwise,
            });
        }
    }

    fn set(&mut self) -> Parsed<StatementKind> {
        let target = self.target(Attributes::Allowed)?;
        if self.skip_operator("=") {
            let value = Expressions(self).tuple(Conditions::Allowed)?.expression;
            self.expect_block_end()?;
            self.settle()?;
            return Ok(StatementKind::Set(target, value));
        }
        let value = Expressions(self)
            .filters(Tall::new(Expression::Captured))?
            .expression;
        self.expect_block_end()?;
        self.settle()?;
        let body = self.whole_block("set", "endset")?;
        Ok(StatementKind::SetBlock {
            target,
            value,
            body,
        })
    }

    /// Reads the target of an assignment: a name, names, or an attribute.
    fn target(&mut self, attributes: Attributes) -> Parsed<Target> {
        let first = self.target_item(attributes)?;
        let mut items = vec![first];
        let mut is_tuple = false;
        while self.skip_operator(",") {
            is_tuple = true;
            if self.is_operator("=") || self.is_name("in") {
                break;
            }
            items.push(self.target_item(attributes)?);
        }
        match is_tuple {
            true => Ok(Target::Tuple(items)),
            false => Ok(items.swap_remove(0)),
        }
    }

    fn target_item(&mut self, attributes: Attributes) -> Parsed<Target> {
        if !self.skip_operator("(") {
            let line = self.line();
            let name = self.expect_name()?;
            if CONSTANTS.contains(&name.as_str()) {
                let message = format!("can't assign to '{name}'");
                return Err(SyntaxError::new(line, message));
            }
            let name = self.name(&name);
            if attributes == Attributes::Allowed && self.skip_operator(".") {
                return Ok(Target::Attribute(name, self.expect_name()?.into()));
            }
            return Ok(Target::Name(name));
        }
        self.nested(|parser| {
            let mut items = vec![parser.target_item(attributes)?];
            while parser.skip_operator(",") {
                if parser.is_operator(")") {
                    break;
                }
                items.push(parser.target_item(attributes)?);
            }
            parser.expect_operator(")")?;
            Ok(Target::Tuple(items))
        })
    }

    /// The parameters of a macro or a call block, to behind their closing parenthesis.
    fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        let mut parameters: Vec<Parameter> = Vec::new();
        while !self.skip_operator(")") {
            if !parameters.is_empty() {
                self.expect_operator(",")?;
                if self.skip_operator(")") {
                    break;
                }
            }
            let line = self.line();
            let label = self.expect_name()?;
            let default = match self.skip_operator("=") {
                true => Some(
                    Expressions(self)
                        .expression(Conditions::Allowed)?
                        .expression,
                ),
                false => None,
            };
            if default.is_none() && parameters.iter().any(|p| p.default.is_some()) {
                return Err(SyntaxError::new(
                    line,
                    "non-default argument follows default argument",
                ));
            }
            parameters.push(Parameter {
                name: self.name(&label),
                label: label.into(),
                default,
            });
        }
        Ok(parameters)
    }

    /// A macro from behind its head.
    fn macro_of(
        &mut self,
        label: &str,
        parameters: Vec<Parameter>,
        [tag, end]: [&'static str; 2],
    ) -> Parsed<Arc<Macro>> {
        let before = std::mem::take(&mut self.said);
        let body = self.whole_block(tag, end)?;
        let said = self.said;
        // A name that is read in a macro is read in the macro around it, too.
        self.said.the_loop |= before.the_loop;
        self.said.varargs |= before.varargs;
        self.said.kwargs |= before.kwargs;
        self.said.caller |= before.caller;
        let mut special = |said: bool, name: &str| {
            let own = said && !parameters.iter().any(|p| &*p.label == name);
            own.then(|| self.name(name))
        };
        let (varargs, kwargs) = (
            special(said.varargs, "varargs"),
            special(said.kwargs, "kwargs"),
        );
        let caller = special(said.caller, "caller");
        Ok(Arc::new(Macro {
            label: label.into(),
            parameters,
            body,
            varargs,
            kwargs,
            caller,
        }))
    }

    fn macro_block(&mut self) -> Parsed<StatementKind> {
        let label = self.expect_name()?;
        let name = self.name(&label);
        self.expect_operator("(")?;
        let parameters = self.parameters()?;
        self.expect_block_end()?;
        self.settle()?;
        let made = self.macro_of(&label, parameters, ["macro", "endmacro"])?;
        Ok(StatementKind::Macro(name, made))
    }

    fn call_block(&mut self, line: usize) -> Parsed<StatementKind> {
        let parameters = match self.skip_operator("(") {
            true => self.parameters()?,
            false => Vec::new(),
        };
        let call = Expressions(self)
            .expression(Conditions::Allowed)?
            .expression;
        let Expression::Call(callee, arguments) = call else {
            return Err(SyntaxError::new(line, "expected call"));
        };
        self.expect_block_end()?;
        self.settle()?;
        let caller = self.macro_of("caller", parameters, ["call", "endcall"])?;
        Ok(StatementKind::CallBlock {
            caller,
            callee: *callee,
            arguments,
        })
    }

    fn with_block(&mut self) -> Parsed<StatementKind> {
        let mut values = Vec::new();
        while !self.at_end() && self.peek().kind != Kind::BlockEnd {
            if !values.is_empty() {
                self.expect_operator(",")?;
            }
            let target = self.target_item(Attributes::Refused)?;
            self.expect_operator("=")?;
            values.push((
                target,
                Expressions(self)
                    .expression(Conditions::Allowed)?
                    .expression,
            ));
        }
        self.expect_block_end()?;
        self.settle()?;
        let body = self.whole_block("with", "endwith")?;
        Ok(StatementKind::With { values, body })
    }

    /// There is nothing to inherit from, so a block is its body.
    fn inheritable_block(&mut self) -> Parsed<StatementKind> {
        self.expect_name()?;
        while self.skip_name("scoped") || self.skip_name("required") {}
        self.expect_block_end()?;
        let (body, _) = self.block("block", &["endblock"])?;
        if matches!(self.peek().kind, Kind::Name(_)) {
            self.at += 1;
        }
        self.expect_block_end()?;
        let values = Vec::new();
        Ok(StatementKind::With { values, body })
    }

    /// Filters and tests that do not exist are an error as soon as the
    /// template is read, except in the branches of an `if`.
    pub(super) fn settle(&mut self) -> Parsed<()> {
        if self.blocks.last() == Some(&"if") {
            self.unknown.clear();
        }
        match self.unknown.is_empty() {
            true => Ok(()),
            false => Err(self.unknown.swap_remove(0)),
        }
    }
}

/// True if an attribute can be assigned to.
#[derive(Clone, Copy, PartialEq)]
enum Attributes {
    Allowed,
    Refused,
}
