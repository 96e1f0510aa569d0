//! Reads Jinja and writes it out for minijinja.
//!
//! minijinja brings scopes, loops, macros, captures and fuel. What a template
//! of a model expects of *values* is Python: attributes before keys, floats
//! that print as `1e+16`, a `+` that refuses to add a number to a text. So
//! every operator, attribute, filter and test is written out as a call of a
//! function that does what Python does (`super::super::python`), and
//! constructs that minijinja does not know become ones that it does:
//! `generation` blocks become call blocks, as they are in the reference.
//!
//! A tag begins in the same line as before, so that errors name the right one.

mod expressions;

use std::fmt::Write as _;

use self::expressions::{CONSTANTS, Conditions};
use super::lexer::{Kind, Token, tokens};

/// What names of our own begin with; templates may not use it.
pub(super) const OWN: &str = "__tm_";

/// Most levels of nested expressions and blocks.
const MAX_NESTING: usize = 48;

/// Most levels of an expression once chains of operators are unrolled.
const MAX_HEIGHT: usize = 192;

/// Most `elif` branches of one `if`.
const MAX_BRANCHES: usize = 192;

/// Why a template cannot be read.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) line: usize,
    pub(super) message: String,
}

impl SyntaxError {
    #[cold]
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { line, message }
    }
}

/// Writes a template out for minijinja.
pub(super) fn translate(source: &str) -> Result<String, SyntaxError> {
    let tokens = tokens(source)?;
    let last_line = 1 + source.matches('\n').count();
    let mut parser = Parser {
        end: Token {
            kind: Kind::Data(String::new()),
            line: tokens.last().map_or(last_line, |token| token.line),
        },
        tokens,
        at: 0,
        out: String::new(),
        line: 1,
        nesting: 0,
        blocks: Vec::new(),
        unknown: Vec::new(),
        names: 0,
    };
    parser.body(&[])?;
    Ok(parser.out)
}

/// An expression written out.
struct Code {
    text: String,
    /// Levels of the tree that minijinja makes of it.
    height: usize,
    /// What the author wrote, for messages.
    source: String,
    /// Whether it is a call, which a call block needs.
    is_call: bool,
}

impl Code {
    fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            height: 1,
            source: "the value".to_owned(),
            is_call: false,
        }
    }
}

/// An open block, by its tag.
struct Block {
    tag: &'static str,
    /// Loops only: whether their body leaves an item early.
    leaves: bool,
}

struct Parser {
    tokens: Vec<Token>,
    /// What comes after the last token.
    end: Token,
    at: usize,
    out: String,
    /// The line that `out` has reached.
    line: usize,
    nesting: usize,
    blocks: Vec<Block>,
    /// Filters and tests that do not exist, with their lines, until it is
    /// known whether that is an error already.
    unknown: Vec<SyntaxError>,
    /// Names of our own handed out so far.
    names: usize,
}

type Parsed<T> = Result<T, SyntaxError>;

// Tokens.
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

    fn own_name(&mut self) -> String {
        self.names += 1;
        format!("{OWN}v{}", self.names)
    }
}

// Output.
impl Parser {
    /// Writes a tag that begins in `line`.
    fn tag(&mut self, line: usize, open: &str, text: &str, close: &str) {
        self.out.push_str(open);
        while self.line < line {
            self.out.push('\n');
            self.line += 1;
        }
        self.out.push(' ');
        self.out.push_str(text);
        self.out.push(' ');
        self.out.push_str(close);
    }

    fn block_tag(&mut self, line: usize, text: &str) {
        self.tag(line, "{%", text, "%}");
    }

    fn print(&mut self, line: usize, text: &str) {
        self.tag(line, "{{", text, "}}");
    }
}

// Statements.
impl Parser {
    /// Everything up to a tag of that name; the name is next then. Without
    /// names up to the end of the template.
    fn body(&mut self, ends: &[&str]) -> Parsed<()> {
        loop {
            if self.at_end() {
                return match ends {
                    [] => Ok(()),
                    _ => Err(self.unclosed(ends)),
                };
            }
            let token = self.next();
            match token.kind {
                Kind::Data(text) => self.print(token.line, &quoted(&text)),
                Kind::PrintBegin => {
                    let code = self.tuple(Conditions::Allowed)?;
                    if self.at_end() || self.peek().kind != Kind::PrintEnd {
                        return Err(self.unexpected("end of print statement"));
                    }
                    self.at += 1;
                    self.settle()?;
                    self.print(token.line, &code.text);
                }
                Kind::BlockBegin => {
                    if let Kind::Name(name) = &self.peek().kind
                        && ends.contains(&name.as_str())
                    {
                        return Ok(());
                    }
                    self.nested(|parser| parser.statement(token.line, ends))?;
                }
                _ => return Err(SyntaxError::new(token.line, "the template is malformed")),
            }
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
            " Jinja was looking for the following tags: {}. The innermost block that needs to be closed is '{}'.",
            tags.join(" or "),
            block.tag
        )
    }

    /// A block of that tag: its body up to one of `ends`, whose name is taken.
    fn block(&mut self, tag: &'static str, ends: &[&str]) -> Parsed<(String, Block)> {
        self.blocks.push(Block { tag, leaves: false });
        self.body(ends)?;
        let end = self.expect_name()?;
        let block = self.blocks.pop();
        Ok((end, block.unwrap_or(Block { tag, leaves: false })))
    }

    fn statement(&mut self, line: usize, ends: &[&str]) -> Parsed<()> {
        let Kind::Name(name) = self.peek().kind.clone() else {
            return Err(SyntaxError::new(line, "tag name expected"));
        };
        if self.at_end() {
            return Err(SyntaxError::new(line, "tag name expected"));
        }
        self.at += 1;
        match name.as_str() {
            "for" => self.for_loop(line),
            "if" => self.condition(line),
            "set" => self.set(line),
            "macro" => self.macro_block(line),
            "call" => self.call_block(line),
            "filter" => self.filter_block(line),
            "with" => self.with_block(line),
            "block" => self.inheritable_block(line),
            "generation" => {
                self.expect_block_end()?;
                self.block_tag(line, &format!("call {OWN}generation()"));
                self.block("generation", &["endgeneration"])?;
                self.end_block("endcall")
            }
            "print" => {
                let mut codes = vec![self.expression(Conditions::Allowed)?];
                while self.skip_operator(",") {
                    codes.push(self.expression(Conditions::Allowed)?);
                }
                self.expect_block_end()?;
                self.settle()?;
                codes.iter().for_each(|code| self.print(line, &code.text));
                Ok(())
            }
            "break" | "continue" => {
                self.expect_block_end()?;
                let innermost = self.blocks.iter_mut().rev().find(|b| b.tag != "if");
                match innermost {
                    Some(block) if block.tag == "for" => block.leaves = true,
                    _ => {
                        return Err(SyntaxError::new(
                            line,
                            format!("'{name}' outside of a loop"),
                        ));
                    }
                }
                self.block_tag(line, &name);
                Ok(())
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
                self.block_tag(line, "with");
                self.block("autoescape", &["endautoescape"])?;
                self.end_block("endwith")
            }
            "include" | "import" | "from" | "extends" => {
                while !self.at_end() && self.peek().kind != Kind::BlockEnd {
                    self.at += 1;
                }
                self.expect_block_end()?;
                self.print(line, &format!("{OWN}load({})", quoted(&name)));
                Ok(())
            }
            _ => Err(SyntaxError::new(
                line,
                format!(
                    "Encountered unknown tag '{name}'.{}",
                    self.looking_for(ends)
                ),
            )),
        }
    }

    /// Takes the end of an end tag and writes its counterpart.
    fn end_block(&mut self, tag: &str) -> Parsed<()> {
        let line = self.line();
        self.expect_block_end()?;
        self.block_tag(line, tag);
        Ok(())
    }

    fn for_loop(&mut self, line: usize) -> Parsed<()> {
        let target = self.target()?;
        if !self.skip_name("in") {
            return Err(self.unexpected("in"));
        }
        let iterated = self.tuple(Conditions::Left)?;
        let iter = if target.count > 1 { "rows" } else { "iter" };
        let mut head = format!("for {} in {OWN}{iter}({})", target.text, iterated.text);
        if self.skip_name("if") {
            let condition = self.expression(Conditions::Allowed)?;
            let _ = write!(head, " if {}", condition.text);
        }
        let recursive = self.skip_name("recursive");
        if recursive {
            head.push_str(" recursive");
        }
        self.expect_block_end()?;
        self.settle()?;
        // Where the loop stands and what was written since is rearranged once
        // it is known whether an item can be left early.
        let start = self.out.len();
        let done = self.own_name();
        self.block_tag(line, &head);
        let (end, block) = self.block("for", &["endfor", "else"])?;
        if end == "endfor" {
            return self.end_block("endfor");
        }
        let else_line = self.line();
        self.expect_block_end()?;
        if block.leaves && !recursive {
            // `else` runs if no item was completed; minijinja's runs if there
            // was none.
            let flag = format!("{{% set {done} = {OWN}namespace() %}}");
            self.out.insert_str(start, &flag);
            let set = format!("{OWN}setattr({done}, \"completed\", true)");
            self.print(else_line, &set);
            self.block_tag(else_line, "endfor");
            let test = format!("if not {OWN}attr(\"\", {done}, \"completed\")");
            self.block_tag(else_line, &test);
            self.block("for", &["endfor"])?;
            return self.end_block("endif");
        }
        self.block_tag(else_line, "else");
        self.block("for", &["endfor"])?;
        self.end_block("endfor")
    }

    fn condition(&mut self, line: usize) -> Parsed<()> {
        let mut line = line;
        let mut word = "if";
        for _ in 0..MAX_BRANCHES {
            let test = self.tuple(Conditions::Left)?;
            self.expect_block_end()?;
            // What does not exist may stand in a branch that is never taken.
            self.unknown.clear();
            self.block_tag(line, &format!("{word} {}", test.text));
            let (end, _) = self.block("if", &["elif", "else", "endif"])?;
            match end.as_str() {
                "endif" => return self.end_block("endif"),
                "else" => {
                    self.end_block("else")?;
                    self.block("if", &["endif"])?;
                    return self.end_block("endif");
                }
                _ => {
                    line = self.line();
                    word = "elif";
                }
            }
        }
        let message = format!("an if has more than {MAX_BRANCHES} branches");
        Err(SyntaxError::new(line, message))
    }

    fn set(&mut self, line: usize) -> Parsed<()> {
        let target = self.target()?;
        if self.skip_operator("=") {
            let value = self.tuple(Conditions::Allowed)?;
            self.expect_block_end()?;
            self.settle()?;
            self.assign(line, &target, &value.text);
            return Ok(());
        }
        let name = self.own_name();
        let mut value = Code::new(name.clone());
        value = self.filters(value)?;
        self.expect_block_end()?;
        self.settle()?;
        self.block_tag(line, &format!("set {name}"));
        self.block("set", &["endset"])?;
        self.end_block("endset")?;
        self.assign(line, &target, &value.text);
        Ok(())
    }

    fn assign(&mut self, line: usize, target: &Target, value: &str) {
        match &target.attribute {
            Some(attribute) => {
                let name = &target.text;
                let call = format!("{OWN}setattr({name}, {}, {value})", quoted(attribute));
                self.print(line, &call);
            }
            None if target.count > 1 => {
                let text = format!("set {} = {OWN}iter({value})", target.text);
                self.block_tag(line, &text);
            }
            None => self.block_tag(line, &format!("set {} = {value}", target.text)),
        }
    }

    /// What is assigned to: a name, names, or an attribute.
    fn target(&mut self) -> Parsed<Target> {
        let first = self.target_item()?;
        if self.skip_operator(".") {
            return Ok(Target {
                text: first,
                count: 1,
                attribute: Some(self.expect_name()?),
            });
        }
        let mut items = vec![first];
        let mut is_tuple = false;
        while self.skip_operator(",") {
            is_tuple = true;
            if self.is_operator("=") || self.is_name("in") {
                break;
            }
            items.push(self.target_item()?);
        }
        let mut text = items.join(", ");
        if is_tuple && items.len() == 1 {
            text.push(',');
        }
        Ok(Target {
            text,
            count: items.len() + usize::from(is_tuple),
            attribute: None,
        })
    }

    fn target_item(&mut self) -> Parsed<String> {
        if !self.skip_operator("(") {
            let line = self.line();
            let name = self.expect_name()?;
            if CONSTANTS.iter().any(|(constant, _)| *constant == name) {
                let message = format!("can't assign to '{name}'");
                return Err(SyntaxError::new(line, message));
            }
            return Ok(name);
        }
        self.nested(|parser| {
            let mut items = vec![parser.target_item()?];
            while parser.skip_operator(",") {
                if parser.is_operator(")") {
                    break;
                }
                items.push(parser.target_item()?);
            }
            parser.expect_operator(")")?;
            Ok(format!("({})", items.join(", ")))
        })
    }

    /// The parameters of a macro or a call block: what stands between the
    /// parentheses, and what the body must begin with.
    fn parameters(&mut self) -> Parsed<(String, Vec<String>)> {
        let mut names = Vec::new();
        let mut first = Vec::new();
        while !self.skip_operator(")") {
            if !names.is_empty() {
                self.expect_operator(",")?;
                if self.skip_operator(")") {
                    break;
                }
            }
            let name = self.expect_name()?;
            let default = match self.skip_operator("=") {
                true => self.expression(Conditions::Allowed)?.text,
                // A name that nothing has.
                false => format!("{OWN}undefined"),
            };
            // Defaults may speak of the parameters before them.
            first.push(format!(
                "set {name} = ({default} if {OWN}is_missing({name}) else {name})"
            ));
            names.push(format!("{name}={OWN}missing"));
        }
        Ok((names.join(", "), first))
    }

    fn macro_block(&mut self, line: usize) -> Parsed<()> {
        let name = self.expect_name()?;
        self.expect_operator("(")?;
        let (parameters, first) = self.parameters()?;
        self.expect_block_end()?;
        self.settle()?;
        let extra = self.extra_arguments(line)?;
        let separator = if parameters.is_empty() || extra.is_empty() {
            ""
        } else {
            ", "
        };
        let head = format!("macro {name}({parameters}{separator}{})", extra.join(", "));
        self.block_tag(line, &head);
        for text in &first {
            self.block_tag(line, text);
        }
        if !extra.is_empty() {
            let names: Vec<&str> = extra
                .iter()
                .map(|text| text.split('=').next().unwrap_or_default())
                .collect();
            let text = format!("set varargs = {OWN}varargs({})", names.join(", "));
            self.block_tag(line, &text);
        }
        self.block("macro", &["endmacro"])?;
        self.end_block("endmacro")
    }

    /// Places for the arguments beyond the parameters of a macro, if its body
    /// speaks of them.
    fn extra_arguments(&mut self, line: usize) -> Parsed<Vec<String>> {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let body = rest
            .iter()
            .take_while(|t| !matches!(&t.kind, Kind::Name(name) if name == "endmacro"));
        let mut varargs = false;
        for token in body {
            match &token.kind {
                Kind::Name(name) if name == "kwargs" => {
                    return Err(SyntaxError::new(
                        line,
                        "macros that use kwargs are not supported; name the parameters",
                    ));
                }
                Kind::Name(name) => varargs |= name == "varargs",
                _ => {}
            }
        }
        let names = (0..if varargs { 16 } else { 0 }).map(|_| self.own_name());
        Ok(names.map(|name| format!("{name}={OWN}missing")).collect())
    }

    fn call_block(&mut self, line: usize) -> Parsed<()> {
        let (parameters, first) = match self.skip_operator("(") {
            true => self.parameters()?,
            false => (String::new(), Vec::new()),
        };
        let call = self.expression(Conditions::Allowed)?;
        if !call.is_call {
            return Err(SyntaxError::new(line, "expected call"));
        }
        self.expect_block_end()?;
        self.settle()?;
        let head = match parameters.is_empty() {
            true => format!("call {}", call.text),
            false => format!("call({parameters}) {}", call.text),
        };
        self.block_tag(line, &head);
        for text in &first {
            self.block_tag(line, text);
        }
        self.block("call", &["endcall"])?;
        self.end_block("endcall")
    }

    fn filter_block(&mut self, line: usize) -> Parsed<()> {
        let name = self.own_name();
        let value = self.filter(Code::new(name.clone()))?;
        let value = self.filters(value)?;
        self.expect_block_end()?;
        self.settle()?;
        self.block_tag(line, &format!("set {name}"));
        self.block("filter", &["endfilter"])?;
        self.end_block("endset")?;
        self.print(line, &value.text);
        Ok(())
    }

    fn with_block(&mut self, line: usize) -> Parsed<()> {
        let mut values = Vec::new();
        let mut assignments = Vec::new();
        while !self.at_end() && self.peek().kind != Kind::BlockEnd {
            if !values.is_empty() {
                self.expect_operator(",")?;
            }
            let target = self.target_item()?;
            self.expect_operator("=")?;
            let value = self.expression(Conditions::Allowed)?;
            // All values are computed before any name is bound.
            let name = self.own_name();
            values.push(format!("{name} = {}", value.text));
            assignments.push(format!("set {target} = {name}"));
        }
        self.expect_block_end()?;
        self.settle()?;
        self.block_tag(line, &format!("with {}", values.join(", ")));
        for text in &assignments {
            self.block_tag(line, text);
        }
        self.block("with", &["endwith"])?;
        self.end_block("endwith")
    }

    /// There is nothing to inherit from, so a block is its body.
    fn inheritable_block(&mut self, line: usize) -> Parsed<()> {
        self.expect_name()?;
        while self.skip_name("scoped") || self.skip_name("required") {}
        self.expect_block_end()?;
        self.block_tag(line, "with");
        self.block("block", &["endblock"])?;
        if matches!(self.peek().kind, Kind::Name(_)) {
            self.at += 1;
        }
        self.end_block("endwith")
    }

    /// Filters and tests that do not exist are an error as soon as the
    /// template is read, except in the branches of an `if`.
    fn settle(&mut self) -> Parsed<()> {
        if self.blocks.last().is_some_and(|block| block.tag == "if") {
            self.unknown.clear();
        }
        match self.unknown.is_empty() {
            true => Ok(()),
            false => Err(self.unknown.swap_remove(0)),
        }
    }
}

/// What is assigned to.
struct Target {
    text: String,
    /// How many names; more than one for anything that must be taken apart.
    count: usize,
    attribute: Option<String>,
}

/// A string literal of minijinja.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
