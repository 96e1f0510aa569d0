//! Patterns of ECMA-262 in the syntax of `regex-syntax`.
//!
//! For example, `\d` is of ASCII in ECMA-262, `[` and `&&` are plain inside a class, and
//! `a{x}` is text: `[[a]` becomes `[\[a]`.

use fsm_tables::Look;
use regex_syntax::hir::{Class, HirKind};

use crate::scanner::{Inside, Scanner};
use crate::{Error, properties, reason};

/// The answers of a dialect to features that another dialect of ECMA-262 reads otherwise or
/// refuses.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The characters of `.`, as a class.
    pub dot: &'static str,
    /// The white space of `\s`, as the inside of a class.
    pub space: &'static str,
    /// `(?=a)`, `(?!a)`, `(?<=a)` and `(?<!a)`.
    pub looks: Answer,
    /// `\b` and `\B`.
    pub boundaries: Answer,
    /// `\p{Lu}` and `\P{Lu}`.
    pub properties: Answer,
    /// `(?i:a)`, and names as Python writes them, `(?P<n>a)`.
    pub modifiers: Answer,
    /// The answer to texts that are errors with the flag `u` and have a meaning without it (annex
    /// B): `\A`, `\xZ`, a lone brace, an empty class.
    pub annex_b: Answer,
}

/// The answer of a dialect to a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has it.
    Reads,
    /// It has not, for this reason.
    Refuses(&'static str),
}

impl Answer {
    fn at(self, offset: usize) -> Result<(), Error> {
        match self {
            Answer::Reads => Ok(()),
            Answer::Refuses(reason) => Err(Error::new(offset, reason)),
        }
    }
}

impl Dialect {
    /// ECMA-262 as JSON Schema has it: with the flag `u`, and annex B where that has an error.
    pub const SCHEMA: Dialect = Dialect {
        dot: r"[^\n\r\u{2028}\u{2029}]",
        space: r"\t\n\x0B\x0C\r\x20\u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}",
        looks: Answer::Reads,
        boundaries: Answer::Reads,
        properties: Answer::Reads,
        modifiers: Answer::Reads,
        annex_b: Answer::Reads,
    };

    /// ECMA-262 as structural tags have it, which follow XGrammar.
    pub const TAGS: Dialect = Dialect {
        dot: ALL,
        space: r"\s\u{FEFF}",
        looks: Answer::Refuses("look-around is not supported"),
        boundaries: Answer::Refuses("word boundaries are not supported"),
        properties: Answer::Refuses("classes of Unicode properties are not supported"),
        modifiers: Answer::Refuses(
            "flags and other groups that begin with \"(?\" are not supported",
        ),
        annex_b: Answer::Refuses(
            "a brace, a class or an escape is malformed: a repetition is {n}, {n,} or {n,m}",
        ),
    };

    /// The same pattern as `regex-syntax` reads it. Looks become groups, see
    /// [`look_of`](crate::look_of); a lazy quantifier is a greedy one, which matches the same
    /// texts.
    ///
    /// ```
    /// use regex_dialects::Dialect;
    ///
    /// assert_eq!(Dialect::SCHEMA.rewritten(r"\d{x").unwrap(), r"[0-9]\{x");
    /// assert_eq!(Dialect::TAGS.rewritten("ab{x").unwrap_err().offset, 2);
    /// ```
    ///
    /// # Errors
    ///
    /// The pattern is none, or has what the dialect refuses or no automaton does.
    pub fn rewritten(&self, pattern: &str) -> Result<String, Error> {
        let rewriter = Rewriter {
            dialect: self,
            scan: Scanner::new(pattern),
            flags: Flags::default(),
            groups: Vec::new(),
        };
        rewriter.run()
    }
}

/// Every character, as a class.
const ALL: &str = r"[\u{0}-\u{10FFFF}]";

/// ECMA-262 line terminators.
const LINE_ENDS: &str = r"\n\r\u{2028}\u{2029}";

/// The characters of `\w`, because ECMA-262 has those of ASCII alone. If case is ignored,
/// `regex-syntax` adds U+017F and U+212A, and so does ECMA-262.
const WORD: &str = "0-9A-Za-z_";

/// The modifiers that hold at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    ignores_case: bool,
    has_lines: bool,
    dot_is_all: bool,
}

/// The part before a place, as far as a quantifier asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Nothing that can be repeated.
    Nothing,
    Atom,
}

struct Rewriter<'a> {
    dialect: &'a Dialect,
    scan: Scanner<'a>,
    flags: Flags,
    /// The flags that hold behind each open group, and whether it can be repeated.
    groups: Vec<(Flags, Before)>,
}

impl Rewriter<'_> {
    fn run(mut self) -> Result<String, Error> {
        let mut before = Before::Nothing;
        while let Some(c) = self.scan.next() {
            let start = self.scan.at - c.len_utf8();
            before = match c {
                '\\' => self.escape_or_boundary()?,
                '[' => {
                    self.class()?;
                    Before::Atom
                }
                '(' => {
                    self.group()?;
                    Before::Nothing
                }
                ')' => {
                    self.scan.out.push(')');
                    let (flags, repeats) = self.groups.pop().unwrap_or((self.flags, Before::Atom));
                    self.flags = flags;
                    repeats
                }
                '.' => {
                    self.scan.out.push_str(match self.flags.dot_is_all {
                        true => ALL,
                        false => self.dialect.dot,
                    });
                    Before::Atom
                }
                '{' => match self.scan.counts() {
                    Some(counts) => self.repeat(start, &format!("{{{counts}}}"), before)?,
                    None => {
                        self.annex_b('{', start)?;
                        Before::Atom
                    }
                },
                '*' | '+' | '?' => self.repeat(start, &c.to_string(), before)?,
                '^' | '$' if self.flags.has_lines => {
                    let look = if c == '^' { Look::Behind } else { Look::Ahead };
                    self.scan.out.push_str(&format!("(?:{c}|"));
                    self.push_look(look, LINE_ENDS);
                    self.scan.out.push(')');
                    Before::Nothing
                }
                '|' | '^' | '$' => {
                    self.scan.out.push(c);
                    Before::Nothing
                }
                _ => {
                    self.scan.literal(c);
                    Before::Atom
                }
            };
        }
        Ok(self.scan.out)
    }

    /// A quantifier. A lazy one has the same language as the greedy one; possessive and
    /// doubled ones are errors in ECMA-262, which `regex-syntax` would read as nested.
    fn repeat(&mut self, start: usize, text: &str, before: Before) -> Result<Before, Error> {
        if before == Before::Nothing {
            return Err(Error::new(
                start,
                "the pattern is not a regular expression: nothing to repeat",
            ));
        }
        self.scan.out.push_str(text);
        self.scan.take("?");
        Ok(Before::Nothing)
    }

    /// A look-around for a character of a class.
    fn push_look(&mut self, look: Look, class: &str) {
        self.scan.open_look(look);
        self.scan.out.push_str(&format!("[{class}])"));
    }

    /// A word boundary, or two word characters or none side by side.
    fn boundary(&mut self, c: char) {
        let (one, other) = match c {
            'b' => (Look::NotAhead, Look::Ahead),
            _ => (Look::Ahead, Look::NotAhead),
        };
        self.scan.out.push_str("(?:");
        self.push_look(Look::Behind, WORD);
        self.push_look(one, WORD);
        self.scan.out.push('|');
        self.push_look(Look::NotBehind, WORD);
        self.push_look(other, WORD);
        self.scan.out.push(')');
    }

    /// Reads what follows a backslash outside of classes.
    fn escape_or_boundary(&mut self) -> Result<Before, Error> {
        if let Some(c @ ('b' | 'B')) = self.scan.peek() {
            self.dialect.boundaries.at(self.scan.at - 1)?;
            self.scan.at += 1;
            self.boundary(c);
            return Ok(Before::Nothing);
        }
        self.escape(Inside::Pattern)?;
        Ok(Before::Atom)
    }

    fn group(&mut self) -> Result<(), Error> {
        let start = self.scan.at - 1;
        let outer = self.flags;
        let not_ecma = |what: &str| Err(Error::new(start, what));
        if let Some(look) = self.scan.look() {
            self.dialect.looks.at(start)?;
            self.scan.open_look(look);
            // Looking ahead can be repeated, says annex B.
            let repeats = match look {
                Look::Ahead | Look::NotAhead => Before::Atom,
                Look::Behind | Look::NotBehind => Before::Nothing,
            };
            self.groups.push((outer, repeats));
            return Ok(());
        }
        self.groups.push((outer, Before::Atom));
        let rest = self.scan.rest();
        if rest.starts_with("?<") || rest.starts_with("?P<") {
            if !rest.starts_with("?<") {
                self.dialect.modifiers.at(start)?;
            }
            if self.scan.up_to('>').is_none() {
                return not_ecma("the pattern is not a regular expression: unclosed group name");
            }
        } else if let Some(flags) = rest.strip_prefix('?') {
            if !flags.starts_with(':') {
                self.dialect.modifiers.at(start)?;
            }
            let end = flags.find(|c| !"ims-".contains(c)).unwrap_or(flags.len());
            match flags[end..].chars().next() {
                Some(':') => self.modify(&flags[..end], start)?,
                Some(')') if end > 0 => {
                    return not_ecma(
                        "flags for the rest of a pattern are not part of ECMA-262; write them for a group, as in (?i:..)",
                    );
                }
                _ => return not_ecma("this kind of group is not part of ECMA-262"),
            }
            self.scan.at += end + 2;
        }
        self.scan
            .out
            .push_str(match (outer.ignores_case, self.flags.ignores_case) {
                (false, true) => "(?i:",
                (true, false) => "(?-i:",
                _ => "(?:",
            });
        Ok(())
    }

    /// Sets the flags of `(?ims-ims:..)`, each of which is said once at most.
    fn modify(&mut self, text: &str, start: usize) -> Result<(), Error> {
        let is_doubled = text.chars().enumerate().any(|(i, c)| text[..i].contains(c));
        if is_doubled || text == "-" {
            return Err(Error::new(
                start,
                "the pattern is not a regular expression: flags of a group are said twice, or none is",
            ));
        }
        let (on, off) = text.split_once('-').unwrap_or((text, ""));
        for (flags, is_on) in [(on, true), (off, false)] {
            for flag in flags.chars() {
                match flag {
                    'i' => self.flags.ignores_case = is_on,
                    'm' => self.flags.has_lines = is_on,
                    _ => self.flags.dot_is_all = is_on,
                }
            }
        }
        Ok(())
    }

    /// Reads what follows a backslash.
    fn escape(&mut self, inside: Inside) -> Result<(), Error> {
        let start = self.scan.at - 1;
        let Some(c) = self.scan.next() else {
            return Err(Error::new(start, "the pattern ends with a backslash"));
        };
        let set = match c.to_ascii_lowercase() {
            'd' => "0-9",
            'w' => WORD,
            's' => self.dialect.space,
            _ => "",
        };
        if !set.is_empty() {
            let set = match (c.is_ascii_uppercase(), inside) {
                (true, _) => format!("[^{set}]"),
                (false, Inside::Pattern) => format!("[{set}]"),
                (false, Inside::Class) => set.to_owned(),
            };
            self.scan.out.push_str(&set);
            return Ok(());
        }
        match c {
            'b' if inside == Inside::Class => self.scan.literal('\u{8}'),
            't' => self.scan.literal('\t'),
            'n' => self.scan.literal('\n'),
            'r' => self.scan.literal('\r'),
            'f' => self.scan.literal('\u{c}'),
            'v' => self.scan.literal('\u{b}'),
            '0' if !self.scan.peek().is_some_and(|c| c.is_ascii_digit()) => self.scan.literal('\0'),
            '0' => return Err(Error::new(start, "octal escapes are not supported")),
            '1'..='9' => {
                return Err(Error::new(
                    start,
                    format!("the back reference \\{c} cannot be expressed"),
                ));
            }
            'k' if self.scan.peek() == Some('<') => {
                return Err(Error::new(
                    start,
                    "a named back reference cannot be expressed",
                ));
            }
            'c' => match self.scan.peek() {
                Some(l) if l.is_ascii_alphabetic() => {
                    self.scan.at += 1;
                    self.scan.literal(char::from((l as u8) & 0x1F));
                }
                _ => {
                    self.annex_b('\\', start)?;
                    self.scan.literal('c');
                }
            },
            'x' => match self.hex(2) {
                Some(n) => self.push_code(n, start)?,
                None => self.annex_b('x', start)?,
            },
            'u' => self.unicode_escape(start)?,
            'p' | 'P' => self.property(c, start)?,
            _ if c.is_ascii_alphanumeric() => self.annex_b(c, start)?,
            _ => self.scan.literal(c),
        }
        Ok(())
    }

    /// A character that means itself where annex B is read.
    fn annex_b(&mut self, c: char, start: usize) -> Result<(), Error> {
        self.dialect.annex_b.at(start)?;
        self.scan.literal(c);
        Ok(())
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text = self.scan.rest().get(..digits)?;
        if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let n = u32::from_str_radix(text, 16).ok()?;
        self.scan.at += digits;
        Some(n)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<(), Error> {
        if let Some(rest) = self.scan.rest().strip_prefix('{') {
            let code = rest
                .find('}')
                .and_then(|end| u32::from_str_radix(&rest[..end], 16).ok().map(|n| (n, end)));
            return match code {
                Some((n, end)) => {
                    self.scan.at += end + 2;
                    self.push_code(n, start)
                }
                None => Err(Error::new(start, "the escape \\u{...} is not a code point")),
            };
        }
        let Some(high) = self.hex(4) else {
            return self.annex_b('u', start);
        };
        if (0xD800..0xDC00).contains(&high) && self.scan.rest().starts_with("\\u") {
            let before = self.scan.at;
            self.scan.at += 2;
            if let Some(low) = self.hex(4)
                && (0xDC00..0xE000).contains(&low)
            {
                return self.push_code(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00), start);
            }
            self.scan.at = before;
        }
        self.push_code(high, start)
    }

    fn push_code(&mut self, n: u32, start: usize) -> Result<(), Error> {
        match char::from_u32(n) {
            Some(c) => {
                self.scan.literal(c);
                Ok(())
            }
            None => Err(Error::new(start, "a lone surrogate is no character")),
        }
    }

    fn property(&mut self, c: char, start: usize) -> Result<(), Error> {
        self.dialect.properties.at(start)?;
        let rest = self.scan.rest();
        if !rest.starts_with('{') {
            return self.annex_b(c, start);
        }
        let Some(end) = rest.find('}') else {
            return Err(Error::new(start, "the property escape is not closed"));
        };
        let name = &rest[1..end];
        if !properties::is_known(name) {
            return Err(Error::new(
                start,
                format!(
                    "the pattern is not a regular expression: ECMA-262 has no property \\p{{{name}}}"
                ),
            ));
        }
        let escape = format!("\\{c}{}", &rest[..=end]);
        match self.flags.ignores_case && c == 'P' {
            // The complement is taken before case is ignored.
            true => self.push_class(&escape, start)?,
            false => self.scan.out.push_str(&escape),
        }
        self.scan.at += end + 1;
        Ok(())
    }

    /// Writes the characters that an escape matches if case counts, as a class.
    fn push_class(&mut self, escape: &str, start: usize) -> Result<(), Error> {
        let parsed = regex_syntax::parse(escape).map_err(|e| Error::new(start, reason(&e)))?;
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else {
            return Err(Error::new(start, "the property has no class"));
        };
        self.scan.out.push('[');
        for range in class.iter() {
            let (first, last) = (u32::from(range.start()), u32::from(range.end()));
            self.scan
                .out
                .push_str(&format!("\\u{{{first:X}}}-\\u{{{last:X}}}"));
        }
        self.scan.out.push(']');
        Ok(())
    }

    /// A bracketed class. Inside, only `\`, `]`, `-` and a first `^` are
    /// special.
    fn class(&mut self) -> Result<(), Error> {
        let start = self.scan.at - 1;
        let negated = self.scan.take("^");
        if self.scan.take("]") {
            self.scan.out.push_str(match negated {
                true => ALL,
                false => r"[^\u{0}-\u{10FFFF}]",
            });
            return self.dialect.annex_b.at(start);
        }
        self.scan.out.push_str(if negated { "[^" } else { "[" });
        // Each member is written apart, so that `\d-x` and the like mean what
        // annex B says: the hyphen is plain beside a class.
        while let Some((low, single)) = self.class_atom(start)? {
            self.scan.out.push_str(&low);
            let rest = self.scan.rest();
            if !rest.starts_with('-') || rest.len() == 1 || rest.starts_with("-]") {
                continue;
            }
            self.scan.at += 1;
            let Some((high, high_single)) = self.class_atom(start)? else {
                break;
            };
            if single && !high_single {
                self.dialect.annex_b.at(start)?;
            }
            let is_range = single && high_single;
            self.scan.out.push_str(if is_range { "-" } else { "\\-" });
            self.scan.out.push_str(&high);
        }
        self.scan.out.push(']');
        Ok(())
    }

    /// One member of a class in the target dialect, and whether it is a single
    /// character; `None` at the closing bracket.
    fn class_atom(&mut self, start: usize) -> Result<Option<(String, bool)>, Error> {
        let Some(c) = self.scan.next() else {
            return Err(Error::new(
                start,
                "the pattern is not a regular expression: unclosed character class",
            ));
        };
        let before = self.scan.out.len();
        let mut single = true;
        match c {
            ']' => return Ok(None),
            '\\' => {
                single = !matches!(
                    self.scan.peek(),
                    Some('d' | 'D' | 'w' | 'W' | 's' | 'S' | 'p' | 'P')
                );
                self.escape(Inside::Class)?;
            }
            _ => self.scan.literal(c),
        }
        let text = self.scan.out.split_off(before);
        Ok(Some((text, single)))
    }
}
