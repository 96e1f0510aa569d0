//! Rewrites a pattern of ECMA-262 in the dialect of `regex-syntax`.

use fsm_tables::Look;
use regex_syntax::hir::{Class, HirKind};

use super::{PatternError, properties};

/// The same pattern in the other dialect. What looks around is a group with a name there:
/// the first letter says which [`Look`] it is, the rest tells it from the others.
///
/// Patterns are read as with the flag `u`: characters are code points. What is an error
/// there and has a meaning without the flag (annex B: `\-`, `\A`, a lone brace) has that one.
pub(super) fn rewritten(source: &str) -> Result<String, PatternError> {
    let rewriter = Rewriter {
        source,
        bytes: source.as_bytes(),
        at: 0,
        out: String::new(),
        flags: Flags::default(),
        groups: Vec::new(),
        looks: 0,
    };
    rewriter.run()
}

/// The look that a group with a name is.
pub(super) fn look_of(name: &str) -> Option<Look> {
    let names = LOOKS.iter().find(|(letter, _)| name.starts_with(*letter));
    names.map(|(_, look)| *look)
}

const LOOKS: [(char, Look); 4] = [
    ('a', Look::Ahead),
    ('n', Look::NotAhead),
    ('b', Look::Behind),
    ('x', Look::NotBehind),
];

/// ECMA-262 white space and line terminators: what `\s` is.
const SPACE: &str = r"\t\n\x0B\x0C\r\x20\u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}";

/// ECMA-262 line terminators.
const LINE_ENDS: &str = r"\n\r\u{2028}\u{2029}";

/// What `\w` is. Where case is ignored, `regex-syntax` adds U+017F and U+212A, and so does
/// ECMA-262.
const WORD: &str = "0-9A-Za-z_";

/// The modifiers that hold at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    ignores_case: bool,
    has_lines: bool,
    dot_is_all: bool,
}

/// What stands before a place, as far as a quantifier asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Nothing that can be repeated.
    Nothing,
    Atom,
}

struct Rewriter<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    out: String,
    flags: Flags,
    /// Of each open group what holds behind it, and whether it can be repeated.
    groups: Vec<(Flags, Before)>,
    /// How many looks there were.
    looks: usize,
}

impl Rewriter<'_> {
    fn run(mut self) -> Result<String, PatternError> {
        let mut before = Before::Nothing;
        while let Some(c) = self.next() {
            let start = self.at - c.len_utf8();
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
                    self.out.push(')');
                    let (flags, repeats) = self.groups.pop().unwrap_or((self.flags, Before::Atom));
                    self.flags = flags;
                    repeats
                }
                '.' if self.flags.dot_is_all => {
                    self.out.push_str(r"[\u{0}-\u{10FFFF}]");
                    Before::Atom
                }
                '.' => {
                    self.out.push_str(&format!("[^{LINE_ENDS}]"));
                    Before::Atom
                }
                '{' => match self.counts() {
                    Some(counts) => self.repeat(start, &counts, before)?,
                    None => {
                        self.push_literal('{');
                        Before::Atom
                    }
                },
                '*' | '+' | '?' => self.repeat(start, &c.to_string(), before)?,
                '|' => {
                    self.out.push('|');
                    Before::Nothing
                }
                '^' | '$' if self.flags.has_lines => {
                    let look = if c == '^' { Look::Behind } else { Look::Ahead };
                    self.out.push_str(&format!("(?:{c}|"));
                    self.push_look(look, LINE_ENDS);
                    self.out.push(')');
                    Before::Nothing
                }
                '^' | '$' => {
                    self.out.push(c);
                    Before::Nothing
                }
                _ => {
                    self.push_literal(c);
                    Before::Atom
                }
            };
        }
        Ok(self.out)
    }

    /// A quantifier. A lazy one has the same language as the greedy one; possessive and
    /// doubled ones are errors in ECMA-262, which `regex-syntax` would read as nested.
    fn repeat(&mut self, start: usize, text: &str, before: Before) -> Result<Before, PatternError> {
        if before == Before::Nothing {
            return Err(PatternError::new(
                start,
                "the pattern is not a regular expression: nothing to repeat",
            ));
        }
        self.out.push_str(text);
        if self.peek() == Some('?') {
            self.at += 1;
        }
        Ok(Before::Nothing)
    }

    /// Opens a look-around.
    fn open_look(&mut self, look: Look) {
        let letter = LOOKS.iter().find(|(_, known)| *known == look);
        let letter = letter.map_or('a', |(letter, _)| *letter);
        self.out.push_str(&format!("(?P<{letter}{}>", self.looks));
        self.looks += 1;
    }

    /// A look-around for a character of a class.
    fn push_look(&mut self, look: Look, class: &str) {
        self.open_look(look);
        self.out.push_str(&format!("[{class}])"));
    }

    /// A word boundary, or two word characters or none side by side.
    fn boundary(&mut self, c: char) {
        let (one, other) = match c {
            'b' => (Look::NotAhead, Look::Ahead),
            _ => (Look::Ahead, Look::NotAhead),
        };
        self.out.push_str("(?:");
        self.push_look(Look::Behind, WORD);
        self.push_look(one, WORD);
        self.out.push('|');
        self.push_look(Look::NotBehind, WORD);
        self.push_look(other, WORD);
        self.out.push(')');
    }

    /// Reads what follows a backslash outside of classes.
    fn escape_or_boundary(&mut self) -> Result<Before, PatternError> {
        if let Some(c @ ('b' | 'B')) = self.peek() {
            self.at += 1;
            self.boundary(c);
            return Ok(Before::Nothing);
        }
        self.escape(false)?;
        Ok(Before::Atom)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    fn push_literal(&mut self, c: char) {
        if c.is_alphanumeric() || (!c.is_ascii() && !c.is_control()) {
            self.out.push(c);
        } else {
            self.out.push_str(&format!("\\u{{{:X}}}", u32::from(c)));
        }
    }

    /// `{2,3}` is a count; any other brace is plain (ECMA-262, annex B).
    fn counts(&mut self) -> Option<String> {
        let rest = &self.source[self.at..];
        let end = rest.find('}')?;
        let inner = &rest[..end];
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let is_count = match inner.split_once(',') {
            Some((a, b)) => digits(a) && (b.is_empty() || digits(b)),
            None => digits(inner),
        };
        self.at += if is_count { end + 1 } else { 0 };
        is_count.then(|| format!("{{{inner}}}"))
    }

    fn group(&mut self) -> Result<(), PatternError> {
        let start = self.at - 1;
        let rest = &self.source[self.at..];
        let outer = self.flags;
        let not_ecma = |what: &str| Err(PatternError::new(start, what));
        let looks = [
            ("?=", Look::Ahead, Before::Atom),
            ("?!", Look::NotAhead, Before::Atom),
            ("?<=", Look::Behind, Before::Nothing),
            ("?<!", Look::NotBehind, Before::Nothing),
        ];
        if let Some((text, look, repeats)) = looks.into_iter().find(|l| rest.starts_with(l.0)) {
            self.at += text.len();
            self.open_look(look);
            // Looking ahead can be repeated, says annex B.
            self.groups.push((outer, repeats));
            return Ok(());
        }
        self.groups.push((outer, Before::Atom));
        if rest.starts_with("?<") || rest.starts_with("?P<") {
            let Some(end) = rest.find('>') else {
                return not_ecma("the pattern is not a regular expression: unclosed group name");
            };
            self.at += end + 1;
        } else if let Some(flags) = rest.strip_prefix('?') {
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
            self.at += end + 2;
        }
        self.out
            .push_str(match (outer.ignores_case, self.flags.ignores_case) {
                (false, true) => "(?i:",
                (true, false) => "(?-i:",
                _ => "(?:",
            });
        Ok(())
    }

    /// Sets the flags of `(?ims-ims:..)`, each of which is said once at most.
    fn modify(&mut self, text: &str, start: usize) -> Result<(), PatternError> {
        let is_doubled = text.chars().enumerate().any(|(i, c)| text[..i].contains(c));
        if is_doubled || text == "-" {
            return Err(PatternError::new(
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
    fn escape(&mut self, in_class: bool) -> Result<(), PatternError> {
        let start = self.at - 1;
        let Some(c) = self.next() else {
            return Err(PatternError::new(
                start,
                "the pattern ends with a backslash",
            ));
        };
        match c {
            'd' => self.out.push_str(if in_class { "0-9" } else { "[0-9]" }),
            'D' => self.out.push_str("[^0-9]"),
            'w' if in_class => self.out.push_str(WORD),
            'w' => self.out.push_str(&format!("[{WORD}]")),
            'W' => self.out.push_str(&format!("[^{WORD}]")),
            's' => {
                if in_class {
                    self.out.push_str(SPACE);
                } else {
                    self.out.push_str(&format!("[{SPACE}]"));
                }
            }
            'S' => self.out.push_str(&format!("[^{SPACE}]")),
            'b' if in_class => self.push_literal('\u{8}'),
            't' => self.push_literal('\t'),
            'n' => self.push_literal('\n'),
            'r' => self.push_literal('\r'),
            'f' => self.push_literal('\u{c}'),
            'v' => self.push_literal('\u{b}'),
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => self.push_literal('\0'),
            '0' => return Err(PatternError::new(start, "octal escapes are not supported")),
            '1'..='9' => {
                return Err(PatternError::new(
                    start,
                    format!("the back reference \\{c} cannot be expressed"),
                ));
            }
            'k' if self.peek() == Some('<') => {
                return Err(PatternError::new(
                    start,
                    "a named back reference cannot be expressed",
                ));
            }
            'c' => match self.peek() {
                Some(l) if l.is_ascii_alphabetic() => {
                    self.at += 1;
                    self.push_literal(char::from((l as u8) & 0x1F));
                }
                _ => {
                    self.push_literal('\\');
                    self.push_literal('c');
                }
            },
            'x' => match self.hex(2) {
                Some(n) => self.push_code(n, start)?,
                None => self.push_literal('x'),
            },
            'u' => self.unicode_escape(start)?,
            'p' | 'P' => self.property(c, start)?,
            _ => self.push_literal(c),
        }
        Ok(())
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text = self.source.get(self.at..self.at + digits)?;
        if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let n = u32::from_str_radix(text, 16).ok()?;
        self.at += digits;
        Some(n)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<(), PatternError> {
        if self.bytes.get(self.at) == Some(&b'{') {
            let rest = &self.source[self.at + 1..];
            let code = rest
                .find('}')
                .and_then(|end| u32::from_str_radix(&rest[..end], 16).ok().map(|n| (n, end)));
            return match code {
                Some((n, end)) => {
                    self.at += end + 2;
                    self.push_code(n, start)
                }
                None => Err(PatternError::new(
                    start,
                    "the escape \\u{...} is not a code point",
                )),
            };
        }
        let Some(high) = self.hex(4) else {
            self.push_literal('u');
            return Ok(());
        };
        if (0xD800..0xDC00).contains(&high) && self.source[self.at..].starts_with("\\u") {
            let before = self.at;
            self.at += 2;
            if let Some(low) = self.hex(4)
                && (0xDC00..0xE000).contains(&low)
            {
                return self.push_code(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00), start);
            }
            self.at = before;
        }
        self.push_code(high, start)
    }

    fn push_code(&mut self, n: u32, start: usize) -> Result<(), PatternError> {
        match char::from_u32(n) {
            Some(c) => {
                self.push_literal(c);
                Ok(())
            }
            None => Err(PatternError::new(start, "a lone surrogate is no character")),
        }
    }

    fn property(&mut self, c: char, start: usize) -> Result<(), PatternError> {
        let rest = &self.source[self.at..];
        if !rest.starts_with('{') {
            self.push_literal(c);
            return Ok(());
        }
        let Some(end) = rest.find('}') else {
            return Err(PatternError::new(
                start,
                "the property escape is not closed",
            ));
        };
        let name = &rest[1..end];
        if !properties::is_known(name) {
            return Err(PatternError::new(
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
            false => self.out.push_str(&escape),
        }
        self.at += end + 1;
        Ok(())
    }

    /// What an escape matches where case counts, as a class.
    fn push_class(&mut self, escape: &str, start: usize) -> Result<(), PatternError> {
        let parsed = regex_syntax::parse(escape)
            .map_err(|e| PatternError::new(start, super::reason_of(&e)))?;
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else {
            return Err(PatternError::new(start, "the property has no class"));
        };
        self.out.push('[');
        for range in class.iter() {
            let (first, last) = (u32::from(range.start()), u32::from(range.end()));
            self.out
                .push_str(&format!("\\u{{{first:X}}}-\\u{{{last:X}}}"));
        }
        self.out.push(']');
        Ok(())
    }

    /// A bracketed class. Inside, only `\`, `]`, `-` and a first `^` are
    /// special.
    fn class(&mut self) -> Result<(), PatternError> {
        let start = self.at - 1;
        let negated = self.peek() == Some('^');
        if negated {
            self.at += 1;
        }
        if self.peek() == Some(']') {
            self.at += 1;
            self.out.push_str(if negated {
                r"[\u{0}-\u{10FFFF}]"
            } else {
                r"[^\u{0}-\u{10FFFF}]"
            });
            return Ok(());
        }
        self.out.push_str(if negated { "[^" } else { "[" });
        // Each member is written apart, so that `\d-x` and the like mean what
        // annex B says: the hyphen is plain beside a class.
        while let Some((low, single)) = self.class_atom(start)? {
            if self.peek() == Some('-') && self.bytes.get(self.at + 1).is_some_and(|&b| b != b']') {
                self.at += 1;
                let Some((high, high_single)) = self.class_atom(start)? else {
                    break;
                };
                if single && high_single {
                    self.out.push_str(&low);
                    self.out.push('-');
                    self.out.push_str(&high);
                } else {
                    self.out.push_str(&low);
                    self.out.push_str("\\-");
                    self.out.push_str(&high);
                }
            } else {
                self.out.push_str(&low);
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// One member of a class in the target dialect, and whether it is a single
    /// character; `None` at the closing bracket.
    fn class_atom(&mut self, start: usize) -> Result<Option<(String, bool)>, PatternError> {
        let Some(c) = self.next() else {
            return Err(PatternError::new(
                start,
                "the pattern is not a regular expression: unclosed character class",
            ));
        };
        let before = self.out.len();
        let mut single = true;
        match c {
            ']' => return Ok(None),
            '\\' => {
                single = !matches!(
                    self.peek(),
                    Some('d' | 'D' | 'w' | 'W' | 's' | 'S' | 'p' | 'P')
                );
                self.escape(true)?;
            }
            _ => self.push_literal(c),
        }
        let text = self.out.split_off(before);
        Ok(Some((text, single)))
    }
}
