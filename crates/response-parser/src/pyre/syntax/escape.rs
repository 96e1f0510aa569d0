//! Escapes and classes. For example, `\d` is the digits of all scripts, and `[^a-c]` all characters
//! but three.

use regex_syntax::hir::ClassUnicode;

use super::{Flags, Item, PatternParser, PatternToken, Result};
use crate::pyre::syntax::class::{self, Category, Dialect};
use crate::pyre::syntax::tree::{Assertion, Behind, Node};

impl PatternParser<'_> {
    /// The escape of `c`, whose backslash is at `start`, outside a class.
    pub(super) fn escape(&mut self, c: char, start: usize, flags: Flags) -> Result<Node> {
        if self.dialect == Dialect::Regex
            && let Some(node) = self.own_escape(c, start, flags)?
        {
            return Ok(node);
        }
        let anchor = match c {
            'A' => Some(Assertion::Start),
            'Z' => Some(Assertion::End),
            'b' => Some(Assertion::Word { ascii: flags.ascii }),
            'B' => Some(Assertion::NotWord { ascii: flags.ascii }),
            _ => None,
        };
        if let Some(anchor) = anchor {
            return Ok(Node::Anchor(anchor));
        }
        if let '1'..='9' = c {
            return self.numbered_escape(c, start, flags);
        }
        match self.common_escape(c, start)? {
            Item::Point(point) => Ok(self.literal(point, flags)),
            Item::Category(category, negated) => Ok(Node::Set(class::category(
                category,
                self.dialect,
                flags.ascii,
                negated,
            ))),
            Item::Set(mut class) => {
                if flags.ascii {
                    class::keep_ascii(&mut class);
                }
                class::close_under_case(&mut class, flags.fold(self.dialect));
                Ok(Node::Set(class))
            }
        }
    }

    /// The escapes that `regex` has and `re` has not, outside a class.
    fn own_escape(&mut self, c: char, start: usize, flags: Flags) -> Result<Option<Node>> {
        let word_edge = |behind: bool| {
            let word = class::category(Category::Word, Dialect::Regex, flags.ascii, false);
            let look = Node::Look {
                behind: behind.then_some(Behind {
                    least: 1,
                    most: Some(1),
                }),
                negated: false,
                node: Box::new(Node::Set(word)),
            };
            let edge = Node::Anchor(Assertion::Word { ascii: flags.ascii });
            Some(Node::Concat(vec![edge, look]))
        };
        Ok(match c {
            'z' => Some(Node::Anchor(Assertion::End)),
            'K' => Some(Node::Keep),
            'm' => word_edge(false),
            'M' => word_edge(true),
            'R' => Some(line_break()),
            'g' => {
                if !self.eat('<') {
                    return Err(self.error("missing <", self.at));
                }
                let name = self.until('>', "group name")?.to_owned();
                let number = name.bytes().all(|b| b.is_ascii_digit());
                let group = match name.parse::<usize>().ok().filter(|_| number) {
                    Some(group) if group > 0 && group < self.names.len() => group,
                    Some(group) => {
                        return Err(self.error(format!("invalid group reference {group}"), start));
                    }
                    None => self.group_named(&name, start)?,
                };
                Some(self.reference(group, start, flags)?)
            }
            'G' => return Err(self.unsupported("\\G is not supported", start)),
            'X' => return Err(self.unsupported("\\X is not supported", start)),
            'L' => return Err(self.unsupported("named lists (\\L<...>) are not supported", start)),
            _ => None,
        })
    }

    /// `\p{name}` or `\P{name}`, read up to the letter; a plain letter where no name follows.
    fn property(&mut self, letter: char, start: usize) -> Result<Item> {
        let mut negated = letter == 'P';
        let name = if self.peek_char() == Some('{') {
            let Some(length) = self.pattern[self.at..].find('}') else {
                return Ok(Item::Point(letter as u32));
            };
            let name = &self.pattern[self.at + 1..self.at + length];
            self.at += length + 1;
            name
        } else if let Some(c @ ('L' | 'M' | 'N' | 'P' | 'S' | 'Z' | 'C')) = self.peek_char() {
            self.at += 1;
            &self.pattern[self.at - c.len_utf8()..self.at]
        } else {
            return Ok(Item::Point(letter as u32));
        };
        let name = match name.strip_prefix('^') {
            Some(name) => {
                negated = !negated;
                name
            }
            None => name,
        };
        self.named_set(name, negated, start)
    }

    fn named_set(&self, name: &str, negated: bool, start: usize) -> Result<Item> {
        let Some(mut class) = class::property(name) else {
            let lower = name.to_ascii_lowercase();
            return Err(match lower.starts_with("in") || lower.starts_with("bl") {
                true => self.unsupported(format!("no table of the block {name}"), start),
                false => self.error(format!("unknown property {name}"), start),
            });
        };
        if negated {
            class::negate(&mut class);
        }
        Ok(Item::Set(class))
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
                if point > 0o377 && self.dialect == Dialect::Re {
                    return Err(self.error("octal escape outside of range 0-0o377", start));
                }
                return Ok(self.literal(point, flags));
            }
            group = group * 10 + usize::from(second - b'0');
        }
        if group >= self.names.len() {
            return Err(self.error(format!("invalid group reference {group}"), start + 1));
        }
        self.reference(group, start, flags)
    }

    pub(super) fn reference(&self, group: usize, start: usize, flags: Flags) -> Result<Node> {
        if self.widths[group].is_none() {
            return Err(self.error("cannot refer to an open group", start));
        }
        self.check_look_behind(group, start)?;
        Ok(Node::Backref(group, flags.fold(self.dialect)))
    }

    pub(super) fn check_look_behind(&self, group: usize, start: usize) -> Result<()> {
        let Some(from) = self.look_behind_from else {
            return Ok(());
        };
        if self.widths.get(group).is_none_or(Option::is_none) {
            return Err(self.error("cannot refer to an open group", start));
        }
        if group >= from {
            let message = "cannot refer to group defined in the same lookbehind subpattern";
            return Err(match self.dialect {
                Dialect::Re => self.error(message, start),
                Dialect::Regex => self.unsupported(message, start),
            });
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
            'h' if self.dialect == Dialect::Regex => {
                return Ok(Item::Category(Category::Horizontal, false));
            }
            'p' | 'P' if self.dialect == Dialect::Regex => return self.property(c, start),
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
    pub(super) fn class(&mut self, start: usize, flags: Flags) -> Result<Node> {
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
            if token == PatternToken::Char(']') && !empty {
                break;
            }
            empty = false;
            let low = match (token, self.dialect) {
                (PatternToken::Char('['), Dialect::Regex) => self.posix(item_start)?,
                _ => self.class_item(token, item_start)?,
            };
            let mut high = None;
            let mut closed = false;
            if self.eat('-') {
                let high_start = self.at;
                match self.next_token()? {
                    None => return Err(unterminated(self)),
                    Some(PatternToken::Char(']')) => {
                        closed = true;
                        class::add_code_points(&mut points, '-' as u32, '-' as u32);
                    }
                    Some(token) => high = Some(self.class_item(token, high_start)?),
                }
            }
            match (low, high) {
                (Item::Point(point), None) => class::add_code_points(&mut points, point, point),
                (Item::Category(category, negated), None) => {
                    let set = class::category(category, self.dialect, flags.ascii, negated);
                    categories.union(&set);
                }
                (Item::Set(mut set), None) => {
                    if flags.ascii {
                        class::keep_ascii(&mut set);
                    }
                    points.union(&set);
                }
                (Item::Point(low), Some(Item::Point(high))) if low <= high => {
                    class::add_code_points(&mut points, low, high);
                }
                // For `regex` a hyphen beside a category is a hyphen.
                (low, Some(high))
                    if self.dialect == Dialect::Regex
                        && !matches!((&low, &high), (Item::Point(_), Item::Point(_))) =>
                {
                    class::add_code_points(&mut points, '-' as u32, '-' as u32);
                    for item in [low, high] {
                        match item {
                            Item::Point(point) => {
                                class::add_code_points(&mut points, point, point);
                            }
                            Item::Set(set) => points.union(&set),
                            Item::Category(category, negated) => categories.union(
                                &class::category(category, self.dialect, flags.ascii, negated),
                            ),
                        }
                    }
                }
                _ => return Err(self.error("bad character range", item_start)),
            }
            if closed {
                break;
            }
        }
        class::close_under_case(&mut points, flags.fold(self.dialect));
        points.union(&categories);
        if negated {
            class::negate(&mut points);
        }
        Ok(Node::Set(points))
    }

    /// A class such as `[:alpha:]`, whose first bracket, at `start`, is eaten; otherwise the
    /// bracket itself.
    fn posix(&mut self, start: usize) -> Result<Item> {
        let rest = &self.pattern[self.at..];
        let inside = rest.strip_prefix(':').and_then(|rest| {
            let length = rest.find(":]")?;
            let name = &rest[..length];
            let bare = name.strip_prefix('^').unwrap_or(name);
            let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            (!bare.is_empty() && bare.bytes().all(word)).then_some((name, bare))
        });
        let Some((name, bare)) = inside else {
            return Ok(Item::Point('[' as u32));
        };
        let item = self.named_set(bare, name.len() > bare.len(), start);
        self.at += name.len() + 3;
        item
    }

    fn class_item(&mut self, token: PatternToken, start: usize) -> Result<Item> {
        match token {
            PatternToken::Char(c) => Ok(Item::Point(c as u32)),
            PatternToken::Escape('b') => Ok(Item::Point(8)),
            PatternToken::Escape(c @ '1'..='7') => {
                self.at = start + 1;
                let digits = self.eat_while(3, |c| matches!(c, '0'..='7'));
                match u32::from_str_radix(digits, 8) {
                    Ok(point) if point <= 0o377 || self.dialect == Dialect::Regex => {
                        Ok(Item::Point(point))
                    }
                    _ => Err(self.error(format!("bad octal escape \\{c}"), start)),
                }
            }
            PatternToken::Escape(c) => self.common_escape(c, start),
        }
    }
}

/// `\R`: a line break of any kind, atomically.
fn line_break() -> Node {
    let mut one = ClassUnicode::empty();
    class::add_code_points(&mut one, 0x0A, 0x0D);
    class::add_code_points(&mut one, 0x85, 0x85);
    class::add_code_points(&mut one, 0x2028, 0x2029);
    let pair = Node::Concat(vec![Node::Char('\r'), Node::Char('\n')]);
    Node::Atomic(Box::new(Node::Alternate(vec![pair, Node::Set(one)])))
}
