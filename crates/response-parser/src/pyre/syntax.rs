//! Reads a pattern of Python's standard `re` module (CPython 3.11) into a tree.
//!
//! What the flags change is settled here: the tree's sets already hold both cases, a dot
//! knows whether it takes a line feed, an anchor knows whether it means lines. Patterns are
//! read with `DOTALL` on, as the reference calls them.

use std::fmt;

use regex_syntax::hir::ClassUnicode;

use super::class::{self, Category, Fold};
use crate::text::stand_in;

/// Deepest nesting of groups in a pattern.
pub(crate) const MAX_NESTING: usize = 200;

/// Most groups in a pattern.
pub(crate) const MAX_GROUPS: usize = 4096;

/// A pattern that cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// One clause, lower case, without the place.
    pub(crate) message: String,
    /// The byte offset in the pattern.
    pub(crate) offset: usize,
    /// The pattern is right for Python and it is this crate that does not support it.
    pub(crate) unsupported: bool,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.message, self.offset)
    }
}

/// A pattern, read.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: Node,
    /// The name of each group; entry 0 is the whole match.
    pub(super) names: Vec<Option<String>>,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// One character, exactly.
    Char(char),
    /// One character of a set.
    Set(ClassUnicode),
    Anchor(Anchor),
    Group(usize, Box<Node>),
    Concat(Vec<Node>),
    /// Tried in order; an empty list cannot occur.
    Alternate(Vec<Node>),
    Repeat(Box<Repeat>),
    /// Look-ahead, or look-behind over `behind` characters.
    Look {
        behind: Option<usize>,
        negated: bool,
        node: Box<Node>,
    },
    Backref(usize, Fold),
    /// `(?(group)yes|no)`.
    Conditional {
        group: usize,
        yes: Box<Node>,
        no: Box<Node>,
    },
    Atomic(Box<Node>),
}

#[derive(Clone, Debug)]
pub(super) struct Repeat {
    pub(super) min: u32,
    /// No upper bound where `None`.
    pub(super) max: Option<u32>,
    pub(super) kind: RepeatKind,
    pub(super) node: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RepeatKind {
    Greedy,
    Lazy,
    Possessive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    End,
    /// The end, or before a line feed that is the last character.
    EndOrFinalNewline,
    LineStart,
    LineEnd,
    Word {
        ascii: bool,
    },
    NotWord {
        ascii: bool,
    },
}

impl Node {
    pub(super) fn empty() -> Node {
        Node::Concat(Vec::new())
    }

    /// Fewest and most characters that the node consumes, saturating.
    fn width(&self, groups: &[Option<(usize, usize)>]) -> (usize, usize) {
        match self {
            Node::Char(_) | Node::Set(_) => (1, 1),
            Node::Anchor(_) | Node::Look { .. } => (0, 0),
            Node::Group(_, node) | Node::Atomic(node) => node.width(groups),
            Node::Concat(nodes) => nodes.iter().fold((0, 0), |(low, high), node| {
                let (a, b) = node.width(groups);
                (low.saturating_add(a), high.saturating_add(b))
            }),
            Node::Alternate(nodes) => {
                let mut widths = nodes.iter().map(|node| node.width(groups));
                let first = widths.next().unwrap_or((0, 0));
                widths.fold(first, |(low, high), (a, b)| (low.min(a), high.max(b)))
            }
            Node::Repeat(repeat) => {
                let (a, b) = repeat.node.width(groups);
                let max = repeat.max.map_or(usize::MAX, |max| max as usize);
                (a.saturating_mul(repeat.min as usize), b.saturating_mul(max))
            }
            Node::Backref(group, _) => groups
                .get(*group)
                .copied()
                .flatten()
                .unwrap_or((0, usize::MAX)),
            Node::Conditional { yes, no, .. } => {
                let ((a, b), (c, d)) = (yes.width(groups), no.width(groups));
                (a.min(c), b.max(d))
            }
        }
    }

    /// Whether the node can match without consuming a character.
    pub(super) fn is_nullable(&self) -> bool {
        match self {
            Node::Char(_) | Node::Set(_) => false,
            Node::Anchor(_) | Node::Look { .. } | Node::Backref(..) => true,
            Node::Group(_, node) | Node::Atomic(node) => node.is_nullable(),
            Node::Concat(nodes) => nodes.iter().all(Node::is_nullable),
            Node::Alternate(nodes) => nodes.iter().any(Node::is_nullable),
            Node::Repeat(repeat) => repeat.min == 0 || repeat.node.is_nullable(),
            Node::Conditional { yes, no, .. } => yes.is_nullable() || no.is_nullable(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    verbose: bool,
    ascii: bool,
}

impl Flags {
    fn fold(self) -> Fold {
        match (self.ignore_case, self.ascii) {
            (false, _) => Fold::Case,
            (true, false) => Fold::Unicode,
            (true, true) => Fold::Ascii,
        }
    }
}

/// A character of the pattern, or a backslash with the character after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Char(char),
    Escape(char),
}

/// An element of a class or an escape: one code point or a whole category.
enum Item {
    Point(u32),
    Category(Category, bool),
}

type Result<T> = std::result::Result<T, SyntaxError>;

/// Reads `pattern`. Linear in its length.
pub(super) fn parse(pattern: &str) -> Result<Tree> {
    let mut parser = Parser {
        pattern,
        at: 0,
        names: vec![None],
        widths: vec![None],
        look_behind_from: None,
        pending_conditions: Vec::new(),
        flags: Flags {
            dot_all: true,
            ..Flags::default()
        },
        unicode: false,
    };
    let root = parser.alternation(parser.flags, 0)?;
    if parser.at < pattern.len() {
        return Err(parser.error("unbalanced parenthesis", parser.at));
    }
    for &(group, offset) in &parser.pending_conditions {
        if group >= parser.names.len() {
            return Err(parser.error(format!("invalid group reference {group}"), offset));
        }
    }
    Ok(Tree {
        root,
        names: parser.names,
    })
}

struct Parser<'p> {
    pattern: &'p str,
    at: usize,
    names: Vec<Option<String>>,
    /// Widths of the groups that are closed.
    widths: Vec<Option<(usize, usize)>>,
    /// Inside a look-behind: the number of the first group that it holds.
    look_behind_from: Option<usize>,
    /// Groups that a conditional names by number, checked at the end.
    pending_conditions: Vec<(usize, usize)>,
    /// The flags of the whole pattern, which may be set at its start.
    flags: Flags,
    /// Flag `u` was given.
    unicode: bool,
}

impl Parser<'_> {
    #[cold]
    fn error(&self, message: impl Into<String>, offset: usize) -> SyntaxError {
        SyntaxError {
            message: message.into(),
            offset,
            unsupported: false,
        }
    }

    #[cold]
    fn unsupported(&self, message: impl Into<String>, offset: usize) -> SyntaxError {
        SyntaxError {
            message: message.into(),
            offset,
            unsupported: true,
        }
    }

    fn peek_char(&self) -> Option<char> {
        self.pattern[self.at..].chars().next()
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.peek_char()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek_char() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn next_token(&mut self) -> Result<Option<Token>> {
        let start = self.at;
        match self.next_char() {
            None => Ok(None),
            Some('\\') => match self.next_char() {
                Some(c) => Ok(Some(Token::Escape(c))),
                None => Err(self.error("bad escape (end of pattern)", start)),
            },
            Some(c) => Ok(Some(Token::Char(c))),
        }
    }

    fn eat_while(&mut self, most: usize, accept: impl Fn(char) -> bool) -> &str {
        let start = self.at;
        for _ in 0..most {
            match self.peek_char() {
                Some(c) if accept(c) => self.at += c.len_utf8(),
                _ => break,
            }
        }
        &self.pattern[start..self.at]
    }

    /// The text up to `terminator`, which is eaten.
    fn until(&mut self, terminator: char, what: &str) -> Result<&str> {
        let start = self.at;
        let Some(length) = self.pattern[start..].find(terminator) else {
            return Err(self.error(format!("missing {terminator}, unterminated {what}"), start));
        };
        if length == 0 {
            return Err(self.error(format!("missing {what}"), start));
        }
        self.at = start + length + terminator.len_utf8();
        Ok(&self.pattern[start..start + length])
    }

    fn alternation(&mut self, flags: Flags, depth: usize) -> Result<Node> {
        if depth > MAX_NESTING {
            let message = format!("groups nested deeper than {MAX_NESTING}");
            return Err(self.unsupported(message, self.at));
        }
        let mut flags = flags;
        let mut branches = Vec::new();
        loop {
            let first = depth == 0 && branches.is_empty();
            branches.push(self.sequence(flags, depth, first)?);
            if !self.eat('|') {
                break;
            }
            if depth == 0 {
                flags = self.flags;
            }
        }
        Ok(match branches.len() {
            1 => branches.swap_remove(0),
            _ => Node::Alternate(branches),
        })
    }

    /// A sequence of items up to `|`, `)` or the end. Flags for the whole pattern may stand
    /// at the front of the `first`.
    fn sequence(&mut self, mut flags: Flags, depth: usize, first: bool) -> Result<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        // An anchor or a repeated item may be repeated if it is in a group of its own.
        let mut grouped = false;
        loop {
            let start = self.at;
            if matches!(self.peek_char(), None | Some('|' | ')')) {
                break;
            }
            let Some(token) = self.next_token()? else {
                break;
            };
            if flags.verbose {
                match token {
                    Token::Char(' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C') => continue,
                    Token::Char('#') => {
                        while !matches!(self.next_token()?, None | Some(Token::Char('\n'))) {}
                        continue;
                    }
                    _ => {}
                }
            }
            let node = match token {
                Token::Escape(c) => self.escape(c, start, flags)?,
                Token::Char('[') => self.class(start, flags)?,
                Token::Char('.') => dot(flags),
                Token::Char('^') if flags.multi_line => Node::Anchor(Anchor::LineStart),
                Token::Char('^') => Node::Anchor(Anchor::Start),
                Token::Char('$') if flags.multi_line => Node::Anchor(Anchor::LineEnd),
                Token::Char('$') => Node::Anchor(Anchor::EndOrFinalNewline),
                Token::Char('(') => {
                    match self.group(start, flags, depth, first && nodes.is_empty())? {
                        Some(node) => node,
                        None => {
                            // A comment, or flags of the whole pattern.
                            if depth == 0 {
                                flags = self.flags;
                            }
                            continue;
                        }
                    }
                }
                Token::Char(c @ ('?' | '*' | '+' | '{')) => match self.quantifier(c)? {
                    None => literal('{' as u32, flags),
                    Some((min, max)) => {
                        self.repeat(&mut nodes, grouped, min, max, start)?;
                        grouped = false;
                        continue;
                    }
                },
                Token::Char(c) => literal(c as u32, flags),
            };
            grouped = token == Token::Char('(');
            nodes.push(node);
        }
        Ok(match nodes.len() {
            1 => nodes.swap_remove(0),
            _ => Node::Concat(nodes),
        })
    }

    /// The bounds after the character `c`, or `None` where a brace is a plain character.
    fn quantifier(&mut self, c: char) -> Result<Option<(u32, Option<u32>)>> {
        match c {
            '?' => return Ok(Some((0, Some(1)))),
            '*' => return Ok(Some((0, None))),
            '+' => return Ok(Some((1, None))),
            _ => {}
        }
        let after = self.at;
        if self.peek_char() == Some('}') {
            return Ok(None);
        }
        let low = self
            .eat_while(usize::MAX, |c| c.is_ascii_digit())
            .to_owned();
        let high = if self.eat(',') {
            self.eat_while(usize::MAX, |c| c.is_ascii_digit())
                .to_owned()
        } else {
            low.clone()
        };
        if !self.eat('}') {
            self.at = after;
            return Ok(None);
        }
        let number = |digits: &str| match digits.parse::<u32>() {
            Ok(n) if n < u32::MAX => Ok(n),
            _ => Err(self.error("the repetition number is too large", after)),
        };
        let min = if low.is_empty() { 0 } else { number(&low)? };
        let max = if high.is_empty() {
            None
        } else {
            Some(number(&high)?)
        };
        if max.is_some_and(|max| max < min) {
            return Err(self.error("min repeat greater than max repeat", after));
        }
        Ok(Some((min, max)))
    }

    /// Replaces the last node by its repetition.
    fn repeat(
        &mut self,
        nodes: &mut Vec<Node>,
        grouped: bool,
        min: u32,
        max: Option<u32>,
        start: usize,
    ) -> Result<()> {
        match nodes.last() {
            None => return Err(self.error("nothing to repeat", start)),
            Some(_) if grouped => {}
            Some(Node::Anchor(_)) => return Err(self.error("nothing to repeat", start)),
            Some(Node::Repeat(_)) => return Err(self.error("multiple repeat", start)),
            Some(_) => {}
        }
        let kind = if self.eat('?') {
            RepeatKind::Lazy
        } else if self.eat('+') {
            RepeatKind::Possessive
        } else {
            RepeatKind::Greedy
        };
        if let Some(node) = nodes.pop() {
            nodes.push(Node::Repeat(Box::new(Repeat {
                min,
                max,
                kind,
                node,
            })));
        }
        Ok(())
    }

    /// The escape of `c`, whose backslash is at `start`, outside a class.
    fn escape(&mut self, c: char, start: usize, flags: Flags) -> Result<Node> {
        let anchor = match c {
            'A' => Some(Anchor::Start),
            'Z' => Some(Anchor::End),
            'b' => Some(Anchor::Word { ascii: flags.ascii }),
            'B' => Some(Anchor::NotWord { ascii: flags.ascii }),
            _ => None,
        };
        if let Some(anchor) = anchor {
            return Ok(Node::Anchor(anchor));
        }
        if let '1'..='9' = c {
            return self.numbered_escape(c, start, flags);
        }
        match self.common_escape(c, start)? {
            Item::Point(point) => Ok(literal(point, flags)),
            Item::Category(category, negated) => {
                Ok(Node::Set(class::category(category, flags.ascii, negated)))
            }
        }
    }

    /// `\1` to `\99`, or three octal digits.
    fn numbered_escape(&mut self, first: char, start: usize, flags: Flags) -> Result<Node> {
        let digits = &self.pattern.as_bytes()[self.at..];
        let octal = |b: u8| (b'0'..=b'7').contains(&b);
        let mut group = first as usize - '0' as usize;
        if let Some(&second) = digits.first().filter(|b| b.is_ascii_digit()) {
            self.at += 1;
            if let (true, true, Some(&third)) = (
                octal(first as u8),
                octal(second),
                digits.get(1).filter(|&&b| octal(b)),
            ) {
                self.at += 1;
                let point = (first as u32 - 48) * 64
                    + u32::from(second - b'0') * 8
                    + u32::from(third - b'0');
                if point > 0o377 {
                    return Err(self.error("octal escape outside of range 0-0o377", start));
                }
                return Ok(literal(point, flags));
            }
            group = group * 10 + usize::from(second - b'0');
        }
        if group >= self.names.len() {
            return Err(self.error(format!("invalid group reference {group}"), start + 1));
        }
        self.reference(group, start, flags)
    }

    fn reference(&self, group: usize, start: usize, flags: Flags) -> Result<Node> {
        if self.widths[group].is_none() {
            return Err(self.error("cannot refer to an open group", start));
        }
        self.check_look_behind(group, start)?;
        Ok(Node::Backref(group, flags.fold()))
    }

    fn check_look_behind(&self, group: usize, start: usize) -> Result<()> {
        let Some(from) = self.look_behind_from else {
            return Ok(());
        };
        if self.widths.get(group).is_none_or(Option::is_none) {
            return Err(self.error("cannot refer to an open group", start));
        }
        if group >= from {
            let message = "cannot refer to group defined in the same lookbehind subpattern";
            return Err(self.error(message, start));
        }
        Ok(())
    }

    /// The escapes that mean the same inside and outside a class.
    fn common_escape(&mut self, c: char, start: usize) -> Result<Item> {
        let point = match c {
            'a' => 7,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            'd' => return Ok(Item::Category(Category::Digit, false)),
            'D' => return Ok(Item::Category(Category::Digit, true)),
            's' => return Ok(Item::Category(Category::Space, false)),
            'S' => return Ok(Item::Category(Category::Space, true)),
            'w' => return Ok(Item::Category(Category::Word, false)),
            'W' => return Ok(Item::Category(Category::Word, true)),
            'x' => self.hexadecimal(2, start)?,
            'u' => self.hexadecimal(4, start)?,
            'U' => self.hexadecimal(8, start)?,
            'N' => {
                let message = "named characters (\\N{...}) are not supported; write \\uXXXX";
                return Err(self.unsupported(message, start));
            }
            '0' => {
                let digits = self.eat_while(2, |c| matches!(c, '0'..='7'));
                u32::from_str_radix(digits, 8).unwrap_or(0)
            }
            c if c.is_ascii_alphanumeric() => {
                return Err(self.error(format!("bad escape \\{c}"), start));
            }
            c => c as u32,
        };
        Ok(Item::Point(point))
    }

    fn hexadecimal(&mut self, length: usize, start: usize) -> Result<u32> {
        let digits = self.eat_while(length, |c| c.is_ascii_hexdigit());
        let point = u32::from_str_radix(digits, 16)
            .ok()
            .filter(|_| digits.len() == length);
        match point {
            Some(point) if point <= 0x10_FFFF => Ok(point),
            Some(_) => Err(self.error("escape beyond U+10FFFF", start)),
            None => Err(self.error("incomplete escape", start)),
        }
    }

    /// A class; its opening bracket, at `start`, is eaten.
    fn class(&mut self, start: usize, flags: Flags) -> Result<Node> {
        let mut points = ClassUnicode::empty();
        let mut categories = ClassUnicode::empty();
        let negated = self.eat('^');
        let mut empty = true;
        let unterminated = |parser: &Self| parser.error("unterminated character set", start);
        loop {
            let item_start = self.at;
            let Some(token) = self.next_token()? else {
                return Err(unterminated(self));
            };
            if token == Token::Char(']') && !empty {
                break;
            }
            empty = false;
            let low = self.class_item(token, item_start)?;
            let mut high = None;
            let mut closed = false;
            if self.eat('-') {
                let high_start = self.at;
                match self.next_token()? {
                    None => return Err(unterminated(self)),
                    Some(Token::Char(']')) => {
                        closed = true;
                        class::add_code_points(&mut points, '-' as u32, '-' as u32);
                    }
                    Some(token) => high = Some(self.class_item(token, high_start)?),
                }
            }
            match (low, high) {
                (Item::Point(point), None) => class::add_code_points(&mut points, point, point),
                (Item::Category(category, negated), None) => {
                    categories.union(&class::category(category, flags.ascii, negated));
                }
                (Item::Point(low), Some(Item::Point(high))) if low <= high => {
                    class::add_code_points(&mut points, low, high);
                }
                _ => return Err(self.error("bad character range", item_start)),
            }
            if closed {
                break;
            }
        }
        class::close_under_case(&mut points, flags.fold());
        points.union(&categories);
        if negated {
            points.negate();
        }
        Ok(Node::Set(points))
    }

    fn class_item(&mut self, token: Token, start: usize) -> Result<Item> {
        match token {
            Token::Char(c) => Ok(Item::Point(c as u32)),
            Token::Escape('b') => Ok(Item::Point(8)),
            Token::Escape(c @ '1'..='7') => {
                self.at = start + 1;
                let digits = self.eat_while(3, |c| matches!(c, '0'..='7'));
                match u32::from_str_radix(digits, 8) {
                    Ok(point) if point <= 0o377 => Ok(Item::Point(point)),
                    _ => Err(self.error(format!("bad octal escape \\{c}"), start)),
                }
            }
            Token::Escape(c) => self.common_escape(c, start),
        }
    }

    /// A group, whose parenthesis at `start` is eaten; `None` for what leaves no node.
    fn group(
        &mut self,
        start: usize,
        flags: Flags,
        depth: usize,
        may_set_flags: bool,
    ) -> Result<Option<Node>> {
        if !self.eat('?') {
            return self.capture(None, start, flags, depth).map(Some);
        }
        let kind = self.at;
        let end_of_pattern = |parser: &Self| parser.error("unexpected end of pattern", parser.at);
        match self.next_char().ok_or_else(|| end_of_pattern(self))? {
            'P' => {
                if self.eat('<') {
                    let name = self.until('>', "group name")?.to_owned();
                    self.check_name(&name, kind + 2)?;
                    return self.capture(Some(name), start, flags, depth).map(Some);
                }
                if self.eat('=') {
                    let name = self.until(')', "group name")?.to_owned();
                    self.check_name(&name, kind + 2)?;
                    let group = self.group_named(&name, kind + 2)?;
                    return self.reference(group, start, flags).map(Some);
                }
                match self.next_token()? {
                    None => Err(end_of_pattern(self)),
                    Some(_) => Err(self.error("unknown extension ?P", start + 1)),
                }
            }
            ':' => self.closed(start, flags, depth).map(Some),
            '>' => Ok(Some(Node::Atomic(Box::new(
                self.closed(start, flags, depth)?,
            )))),
            '#' => loop {
                match self.next_token()? {
                    None => return Err(self.error("missing ), unterminated comment", start)),
                    Some(Token::Char(')')) => return Ok(None),
                    Some(_) => {}
                }
            },
            c @ ('=' | '!') => {
                let node = Box::new(self.closed(start, flags, depth)?);
                Ok(Some(Node::Look {
                    behind: None,
                    negated: c == '!',
                    node,
                }))
            }
            '<' => self.look_behind(start, flags, depth).map(Some),
            '(' => self.conditional(start, flags, depth).map(Some),
            c => {
                self.at = kind;
                self.flagged(c, start, flags, depth, may_set_flags)
            }
        }
    }

    /// The rest of a group, with its closing parenthesis.
    fn closed(&mut self, start: usize, flags: Flags, depth: usize) -> Result<Node> {
        let node = self.alternation(flags, depth + 1)?;
        if !self.eat(')') {
            return Err(self.error("missing ), unterminated subpattern", start));
        }
        Ok(node)
    }

    fn capture(
        &mut self,
        name: Option<String>,
        start: usize,
        flags: Flags,
        depth: usize,
    ) -> Result<Node> {
        let group = self.names.len();
        if group > MAX_GROUPS {
            return Err(self.unsupported(format!("more than {MAX_GROUPS} groups"), start));
        }
        if name.is_some() && self.names.contains(&name) {
            let name = name.unwrap_or_default();
            return Err(self.error(format!("redefinition of group name '{name}'"), start));
        }
        self.names.push(name);
        self.widths.push(None);
        let node = self.closed(start, flags, depth)?;
        self.widths[group] = Some(node.width(&self.widths));
        Ok(Node::Group(group, Box::new(node)))
    }

    fn check_name(&self, name: &str, start: usize) -> Result<()> {
        if class::is_identifier(name) {
            return Ok(());
        }
        Err(self.error(format!("bad character in group name '{name}'"), start))
    }

    fn group_named(&self, name: &str, start: usize) -> Result<usize> {
        let found = self
            .names
            .iter()
            .position(|known| known.as_deref() == Some(name));
        found.ok_or_else(|| self.error(format!("unknown group name '{name}'"), start))
    }

    /// A look-behind, read up to its `<`.
    fn look_behind(&mut self, start: usize, flags: Flags, depth: usize) -> Result<Node> {
        let negated = match self.next_char() {
            Some('=') => false,
            Some('!') => true,
            _ => return Err(self.error("unknown extension ?<", start + 1)),
        };
        let outer = self.look_behind_from;
        self.look_behind_from = outer.or(Some(self.names.len()));
        let node = self.closed(start, flags, depth)?;
        self.look_behind_from = outer;
        let (low, high) = node.width(&self.widths);
        if low != high {
            return Err(self.error("look-behind requires fixed-width pattern", start));
        }
        Ok(Node::Look {
            behind: Some(low),
            negated,
            node: Box::new(node),
        })
    }

    /// A conditional, read up to its second parenthesis.
    fn conditional(&mut self, start: usize, flags: Flags, depth: usize) -> Result<Node> {
        let name_start = self.at;
        let name = self.until(')', "group name")?.to_owned();
        let group = if class::is_identifier(&name) {
            self.group_named(&name, name_start)?
        } else {
            let number = crate::scalar::integer(&name).and_then(|n| n.to_usize());
            let Some(number) = number else {
                let message = format!("bad character in group name '{name}'");
                return Err(self.error(message, name_start));
            };
            if number == 0 {
                return Err(self.error("bad group number", name_start));
            }
            self.pending_conditions.push((number, name_start));
            number
        };
        self.check_look_behind(group, name_start)?;
        if depth >= MAX_NESTING {
            let message = format!("groups nested deeper than {MAX_NESTING}");
            return Err(self.unsupported(message, start));
        }
        let yes = Box::new(self.sequence(flags, depth + 1, false)?);
        let mut no = Box::new(Node::empty());
        if self.eat('|') {
            *no = self.sequence(flags, depth + 1, false)?;
            if self.peek_char() == Some('|') {
                let message = "conditional with more than two branches";
                return Err(self.error(message, self.at));
            }
        }
        if !self.eat(')') {
            return Err(self.error("missing ), unterminated subpattern", start));
        }
        Ok(Node::Conditional { group, yes, no })
    }

    /// `(?flags)`, `(?flags:...)` or `(?flags-flags:...)`, read up to the question mark.
    fn flagged(
        &mut self,
        first: char,
        start: usize,
        flags: Flags,
        depth: usize,
        may_set_flags: bool,
    ) -> Result<Option<Node>> {
        if first != '-' && !"aiLmsux".contains(first) {
            return Err(self.error(format!("unknown extension ?{first}"), start + 1));
        }
        let (on, unicode) = self.flag_letters(start)?;
        let mut new = flags;
        if on.ascii || unicode {
            new.ascii = on.ascii;
        }
        new.ignore_case |= on.ignore_case;
        new.multi_line |= on.multi_line;
        new.dot_all |= on.dot_all;
        new.verbose |= on.verbose;
        match self.next_char() {
            Some(')') => {
                if !may_set_flags {
                    let message = "global flags not at the start of the expression";
                    return Err(self.error(message, start));
                }
                self.unicode |= unicode;
                if self.unicode && (on.ascii || self.flags.ascii) {
                    return Err(self.error("flags 'a' and 'u' are incompatible", start));
                }
                self.flags = new;
                Ok(None)
            }
            Some(':') => self.closed(start, new, depth).map(Some),
            Some('-') => {
                let from = self.at;
                let (off, unicode) = self.flag_letters(start)?;
                if self.at == from {
                    return Err(self.error("missing flag", from));
                }
                if off.ascii || unicode {
                    return Err(self.error("cannot turn off flags 'a' and 'u'", start));
                }
                if !self.eat(':') {
                    return Err(self.error("missing :", self.at));
                }
                let both = off.ignore_case && on.ignore_case
                    || off.multi_line && on.multi_line
                    || off.dot_all && on.dot_all
                    || off.verbose && on.verbose;
                if both {
                    return Err(self.error("flag turned on and off", start));
                }
                new.ignore_case &= !off.ignore_case;
                new.multi_line &= !off.multi_line;
                new.dot_all &= !off.dot_all;
                new.verbose &= !off.verbose;
                self.closed(start, new, depth).map(Some)
            }
            _ => Err(self.error("missing -, : or )", self.at)),
        }
    }

    /// Flag letters, and whether `u` is among them.
    fn flag_letters(&mut self, start: usize) -> Result<(Flags, bool)> {
        let mut flags = Flags::default();
        let mut unicode = false;
        loop {
            match self.peek_char() {
                Some('i') => flags.ignore_case = true,
                Some('m') => flags.multi_line = true,
                Some('s') => flags.dot_all = true,
                Some('x') => flags.verbose = true,
                Some('a') => flags.ascii = true,
                Some('u') => unicode = true,
                Some('L') => {
                    return Err(self.error("cannot use 'L' flag with a text pattern", start));
                }
                Some(c) if c.is_alphabetic() => {
                    return Err(self.error("unknown flag", self.at));
                }
                _ => break,
            }
            self.at += 1;
        }
        if flags.ascii && unicode {
            return Err(self.error("flags 'a' and 'u' are incompatible", start));
        }
        Ok((flags, unicode))
    }
}

fn dot(flags: Flags) -> Node {
    let mut class = ClassUnicode::empty();
    if !flags.dot_all {
        class::add_code_points(&mut class, '\n' as u32, '\n' as u32);
    }
    class.negate();
    Node::Set(class)
}

fn literal(point: u32, flags: Flags) -> Node {
    if flags.ignore_case {
        let mut class = ClassUnicode::empty();
        class::add_code_points(&mut class, point, point);
        class::close_under_case(&mut class, flags.fold());
        if class.ranges().iter().any(|range| range.len() > 1) || class.ranges().len() > 1 {
            return Node::Set(class);
        }
    }
    Node::Char(char::from_u32(point).unwrap_or_else(|| stand_in(point)))
}
