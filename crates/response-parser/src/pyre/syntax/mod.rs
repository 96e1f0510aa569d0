//! Reads a pattern of Python's standard `re` module (CPython 3.11), or of the module `regex`
//! in its version 0 behaviour, into a tree.
//!
//! The flags are settled here: the tree's sets already hold both cases, a dot knows whether it
//! takes a line feed, an anchor knows whether it means lines. Patterns are read with `DOTALL` on,
//! as the reference calls them.
//!
//! For example, `(?i)a.` becomes the set of `a` and `A`, and the set of all characters.

pub(crate) mod class;
mod escape;
mod group;
pub(crate) mod tree;

use regex_syntax::hir::ClassUnicode;

use self::class::{Category, Dialect, Fold};
use self::tree::{Assertion, Node, Repeat, RepeatKind, SyntaxError, Tree};
use crate::text::stand_in;

/// The deepest nesting of groups in a pattern, because the parser and the compilers call themselves
/// as deep.
pub(crate) const MAX_NESTING: usize = 200;

/// The most groups in a pattern: each has two places in every state of a match, so that thousands
/// of them cost memory in each.
pub(crate) const MAX_GROUPS: usize = 4096;

/// The longest pattern, in bytes, because the machines for one grow faster than it does.
pub(crate) const MAX_PATTERN: usize = 32 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    verbose: bool,
    ascii: bool,
}

impl Flags {
    fn fold(self, dialect: Dialect) -> Fold {
        match (self.ignore_case, self.ascii, dialect) {
            (false, ..) => Fold::Case,
            (true, true, _) => Fold::Ascii,
            (true, false, Dialect::Re) => Fold::Unicode,
            (true, false, Dialect::Regex) => Fold::Simple,
        }
    }
}

/// A character of the pattern, or a backslash with the character after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternToken {
    Char(char),
    Escape(char),
}

/// An element of a class or an escape: one code point, a whole category, or a set of its
/// own.
enum Item {
    Point(u32),
    Category(Category, bool),
    Set(ClassUnicode),
}

type Result<T> = std::result::Result<T, SyntaxError>;

/// Reads `pattern`. Linear in its length.
pub(super) fn parse(pattern: &str, dialect: Dialect) -> Result<Tree> {
    if pattern.len() > MAX_PATTERN {
        return Err(SyntaxError {
            message: format!("a pattern of more than {MAX_PATTERN} bytes is not supported"),
            offset: MAX_PATTERN,
            unsupported: true,
        });
    }
    let mut parser = PatternParser {
        dialect,
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
        new_flags: None,
        shared_names: false,
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
        dialect,
        shared_names: parser.shared_names,
    })
}

struct PatternParser<'p> {
    dialect: Dialect,
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
    /// Flags that hold from here to the end of the group.
    new_flags: Option<Flags>,
    shared_names: bool,
}

impl PatternParser<'_> {
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

    fn next_token(&mut self) -> Result<Option<PatternToken>> {
        let start = self.at;
        match self.next_char() {
            None => Ok(None),
            Some('\\') => match self.next_char() {
                Some(c) => Ok(Some(PatternToken::Escape(c))),
                None => Err(self.error("bad escape (end of pattern)", start)),
            },
            Some(c) => Ok(Some(PatternToken::Char(c))),
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
            branches.push(self.sequence(&mut flags, depth, first)?);
            if !self.eat('|') {
                break;
            }
        }
        Ok(match branches.len() {
            1 => branches.swap_remove(0),
            _ => Node::Alternate(branches),
        })
    }

    /// A sequence of items up to `|`, `)` or the end. Flags for the whole pattern may stand
    /// at the front of the `first`.
    ///
    /// Flags that are set in it hold from there on, and go to the caller.
    fn sequence(&mut self, flags: &mut Flags, depth: usize, first: bool) -> Result<Node> {
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
                    PatternToken::Char(' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C') => continue,
                    PatternToken::Char('#') => {
                        while !matches!(self.next_token()?, None | Some(PatternToken::Char('\n'))) {
                        }
                        continue;
                    }
                    _ => {}
                }
            }
            let node = match token {
                PatternToken::Escape(c) => self.escape(c, start, *flags)?,
                PatternToken::Char('[') => self.class(start, *flags)?,
                PatternToken::Char('.') => dot(*flags),
                PatternToken::Char('^') if flags.multi_line => Node::Anchor(Assertion::LineStart),
                PatternToken::Char('^') => Node::Anchor(Assertion::Start),
                PatternToken::Char('$') if flags.multi_line => Node::Anchor(Assertion::LineEnd),
                PatternToken::Char('$') => Node::Anchor(Assertion::EndOrFinalNewline),
                PatternToken::Char('(') => {
                    match self.group(start, *flags, depth, first && nodes.is_empty())? {
                        Some(node) => node,
                        None => {
                            // A comment, or flags.
                            *flags = self.new_flags.take().unwrap_or(*flags);
                            continue;
                        }
                    }
                }
                PatternToken::Char(c @ ('?' | '*' | '+' | '{')) => match self.quantifier(c)? {
                    None => {
                        if !nodes.is_empty() {
                            self.check_fuzzy(start)?;
                        }
                        self.literal('{' as u32, *flags)
                    }
                    Some((min, max)) => {
                        self.repeat(&mut nodes, grouped, min, max, start)?;
                        grouped = false;
                        continue;
                    }
                },
                PatternToken::Char(c) => self.literal(c as u32, *flags),
            };
            grouped = token == PatternToken::Char('(');
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
            Some(Node::Anchor(_)) if self.dialect == Dialect::Re => {
                return Err(self.error("nothing to repeat", start));
            }
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
            // For `re` each turn of a possessive loop is atomic, for `regex` the whole loop.
            let whole = kind == RepeatKind::Possessive && self.dialect == Dialect::Regex;
            let kind = if whole { RepeatKind::Greedy } else { kind };
            let repeat = Node::Repeat(Box::new(Repeat {
                min,
                max,
                kind,
                node,
            }));
            nodes.push(match whole {
                true => Node::Atomic(Box::new(Node::Concat(vec![repeat]))),
                false => repeat,
            });
        }
        Ok(())
    }

    /// Refuses the fuzzy matching of `regex`, such as `{e<=1}`, read up to its brace.
    fn check_fuzzy(&self, start: usize) -> Result<()> {
        let inside = self.pattern[self.at..].split('}').next().unwrap_or("");
        let costs = inside.split(':').next().unwrap_or("");
        let fuzzy = self.dialect == Dialect::Regex
            && inside.len() < self.pattern.len() - self.at
            && costs.contains(['s', 'd', 'i', 'e'])
            && costs.chars().all(|c| {
                matches!(
                    c,
                    's' | 'd' | 'i' | 'e' | '0'..='9' | '<' | '=' | '+' | ',' | ' '
                )
            });
        match fuzzy {
            true => Err(self.unsupported("fuzzy matching is not supported", start)),
            false => Ok(()),
        }
    }

    fn literal(&self, point: u32, flags: Flags) -> Node {
        literal(point, flags.fold(self.dialect))
    }
}

fn dot(flags: Flags) -> Node {
    let mut class = ClassUnicode::empty();
    if !flags.dot_all {
        class::add_code_points(&mut class, '\n' as u32, '\n' as u32);
    }
    class::negate(&mut class);
    Node::Set(class)
}

fn literal(point: u32, fold: Fold) -> Node {
    if fold != Fold::Case {
        let mut class = ClassUnicode::empty();
        class::add_code_points(&mut class, point, point);
        class::close_under_case(&mut class, fold);
        if class.ranges().iter().any(|range| range.len() > 1) || class.ranges().len() > 1 {
            return Node::Set(class);
        }
    }
    Node::Char(char::from_u32(point).unwrap_or_else(|| stand_in(point)))
}
