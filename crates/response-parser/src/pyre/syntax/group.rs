//! The constructs between parentheses: groups, look-around, conditionals, flags. For example,
//! `(?P<name>a)` is a group, `(?<!a)` looks behind, and `(?(1)a|b)` is a conditional.

use super::{Flags, MAX_GROUPS, MAX_NESTING, PatternParser, PatternToken, Result};
use crate::pyre::syntax::class::{self, Dialect};
use crate::pyre::syntax::tree::{Behind, Node};

impl PatternParser<'_> {
    /// A group, whose parenthesis at `start` is eaten; `None` for what leaves no node.
    pub(super) fn group(
        &mut self,
        start: usize,
        flags: Flags,
        depth: usize,
        may_set_flags: bool,
    ) -> Result<Option<Node>> {
        let regex = self.dialect == Dialect::Regex;
        if regex && self.peek_char() == Some('*') {
            return Err(self.unsupported("verbs such as (*PRUNE) are not supported", start));
        }
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
                if regex && matches!(self.peek_char(), Some('>' | '&')) {
                    return Err(self.unsupported("recursion is not supported", start));
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
                    Some(PatternToken::Char(')')) => return Ok(None),
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
            '<' if regex && !matches!(self.peek_char(), Some('=' | '!')) => {
                let name = self.until('>', "group name")?.to_owned();
                self.check_name(&name, kind + 1)?;
                self.capture(Some(name), start, flags, depth).map(Some)
            }
            '<' => self.look_behind(start, flags, depth).map(Some),
            'R' | '&' | '0'..='9' if regex => {
                Err(self.unsupported("recursion is not supported", start))
            }
            '|' if regex => Err(self.unsupported("branch reset is not supported", start)),
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
        let known = name
            .as_ref()
            .and_then(|_| self.names.iter().position(|known| *known == name));
        if let Some(group) = known {
            if self.dialect == Dialect::Re {
                let name = name.unwrap_or_default();
                return Err(self.error(format!("redefinition of group name '{name}'"), start));
            }
            self.shared_names = true;
            let node = self.closed(start, flags, depth)?;
            let (a, b) = node.width(&self.widths);
            self.widths[group] = self.widths[group].map(|(low, high)| (low.min(a), high.max(b)));
            return Ok(Node::Group(group, Box::new(node)));
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

    pub(super) fn group_named(&self, name: &str, start: usize) -> Result<usize> {
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
        if low != high && self.dialect == Dialect::Re {
            return Err(self.error("look-behind requires fixed-width pattern", start));
        }
        Ok(Node::Look {
            behind: Some(Behind {
                least: low,
                most: (high < usize::MAX).then_some(high),
            }),
            negated,
            node: Box::new(node),
        })
    }

    /// A conditional, read up to its second parenthesis.
    fn conditional(&mut self, start: usize, flags: Flags, depth: usize) -> Result<Node> {
        let name_start = self.at;
        if self.dialect == Dialect::Regex && self.peek_char() == Some('?') {
            let message = "conditionals on look-around are not supported";
            return Err(self.unsupported(message, start));
        }
        let name = self.until(')', "group name")?.to_owned();
        if self.dialect == Dialect::Regex && name == "DEFINE" {
            return Err(self.unsupported("(?(DEFINE)...) is not supported", start));
        }
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
        let mut inner = flags;
        let yes = Box::new(self.sequence(&mut inner, depth + 1, false)?);
        let mut no = Box::new(Node::empty());
        if self.eat('|') {
            *no = self.sequence(&mut inner, depth + 1, false)?;
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
        let regex = self.dialect == Dialect::Regex;
        if regex && "befprwLV".contains(first) {
            let message = "of the flags, a, i, m, s, u and x are supported";
            return Err(self.unsupported(message, start));
        }
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
                if !may_set_flags && !regex {
                    let message = "global flags not at the start of the expression";
                    return Err(self.error(message, start));
                }
                self.unicode |= unicode;
                if self.unicode && (on.ascii || self.flags.ascii) {
                    return Err(self.error("flags 'a' and 'u' are incompatible", start));
                }
                self.flags = new;
                self.new_flags = Some(new);
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
                let rest = regex && self.eat(')');
                if !rest && !self.eat(':') {
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
                if rest {
                    self.new_flags = Some(new);
                    return Ok(None);
                }
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
                Some('b' | 'e' | 'f' | 'p' | 'r' | 'w' | 'L' | 'V')
                    if self.dialect == Dialect::Regex =>
                {
                    let message = "of the flags, a, i, m, s, u and x are supported";
                    return Err(self.unsupported(message, self.at));
                }
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
