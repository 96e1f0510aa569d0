//! Rewrites a pattern of ECMA-262 in the dialect of `regex-syntax`.

use super::PatternError;

/// The same pattern in the other dialect.
pub(super) fn rewritten(source: &str) -> Result<String, PatternError> {
    let rewriter = Rewriter {
        source,
        bytes: source.as_bytes(),
        at: 0,
        out: String::new(),
    };
    rewriter.run()
}

/// ECMA-262 white space and line terminators: what `\s` is.
const SPACE: &str = r"\t\n\x0B\x0C\r\x20\u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}";

struct Rewriter<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    out: String,
}

impl Rewriter<'_> {
    fn run(mut self) -> Result<String, PatternError> {
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.group()?,
                '.' => self.out.push_str(r"[^\n\r\u{2028}\u{2029}]"),
                '{' => self.brace(),
                '}' | ']' => self.push_literal(c),
                '*' | '+' | '?' | '|' | ')' | '^' | '$' => {
                    self.out.push(c);
                    // Possessive and doubled quantifiers are errors in
                    // ECMA-262; regex-syntax would read them as nested.
                    if matches!(c, '*' | '+' | '?') {
                        self.lazy();
                        if matches!(self.peek(), Some('*' | '+' | '?')) {
                            return Err(PatternError::new(
                                self.at,
                                "the pattern is not a regular expression: nothing to repeat",
                            ));
                        }
                    }
                }
                _ => self.push_literal(c),
            }
        }
        Ok(self.out)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    /// A lazy quantifier has the same language as the greedy one.
    fn lazy(&mut self) {
        if self.peek() == Some('?') {
            self.at += 1;
        }
    }

    fn push_literal(&mut self, c: char) {
        if c.is_alphanumeric() || (!c.is_ascii() && !c.is_control()) {
            self.out.push(c);
        } else {
            self.out.push_str(&format!("\\u{{{:X}}}", u32::from(c)));
        }
    }

    /// `{2,3}` is a count; any other brace is plain (ECMA-262, annex B).
    fn brace(&mut self) {
        let rest = &self.source[self.at..];
        if let Some(end) = rest.find('}') {
            let inner = &rest[..end];
            let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
            let is_count = match inner.split_once(',') {
                Some((a, b)) => digits(a) && (b.is_empty() || digits(b)),
                None => digits(inner),
            };
            if is_count {
                self.out.push('{');
                self.out.push_str(inner);
                self.out.push('}');
                self.at += end + 1;
                self.lazy();
                return;
            }
        }
        self.push_literal('{');
    }

    fn group(&mut self) -> Result<(), PatternError> {
        let start = self.at - 1;
        let rest = &self.source[self.at..];
        let refuse = |name: &str| {
            Err(PatternError::new(
                start,
                format!("{name} cannot be expressed; rewrite the pattern without it"),
            ))
        };
        if rest.starts_with("?:") {
            self.at += 2;
        } else if rest.starts_with("?=") || rest.starts_with("?!") {
            return refuse("a lookahead that is not at the beginning");
        } else if rest.starts_with("?<=") || rest.starts_with("?<!") {
            return refuse("a lookbehind");
        } else if rest.starts_with("?<") || rest.starts_with("?P<") {
            let Some(end) = rest.find('>') else {
                return Err(PatternError::new(
                    start,
                    "the pattern is not a regular expression: unclosed group name",
                ));
            };
            self.at += end + 1;
        } else if rest.starts_with('?') {
            return Err(PatternError::new(
                start,
                "this kind of group is not part of ECMA-262",
            ));
        }
        self.out.push_str("(?:");
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
            'w' => self.out.push_str(if in_class {
                "0-9A-Za-z_"
            } else {
                "[0-9A-Za-z_]"
            }),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            's' => {
                if in_class {
                    self.out.push_str(SPACE);
                } else {
                    self.out.push_str(&format!("[{SPACE}]"));
                }
            }
            'S' => self.out.push_str(&format!("[^{SPACE}]")),
            'b' if in_class => self.push_literal('\u{8}'),
            'b' | 'B' => {
                return Err(PatternError::new(
                    start,
                    format!(
                        "the word boundary \\{c} cannot be expressed; rewrite the pattern without it"
                    ),
                ));
            }
            // Not ECMA-262, but written for the ends of a string.
            'A' if !in_class => self.out.push('^'),
            'Z' | 'z' if !in_class => self.out.push('$'),
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
        self.out.push('\\');
        self.out.push(c);
        self.out.push_str(&rest[..=end]);
        self.at += end + 1;
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
