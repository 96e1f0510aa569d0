//! The regular expressions of structural tags, in the syntax of this project's automata.
//!
//! They are ECMA's as XGrammar reads them: `.` is any character, `\d` and `\w` are ASCII, lazy
//! repetitions are greedy ones, and what no automaton can do is refused.

/// The expression in the syntax of the `regex-syntax` crate, or what is wrong with it.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut reader = Reader {
        chars: &chars,
        at: 0,
        out: String::with_capacity(pattern.len() + 8),
    };
    reader.all()?;
    Ok(reader.out)
}

struct Reader<'p> {
    chars: &'p [char],
    at: usize,
    out: String,
}

/// What stands before a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing that could be repeated.
    Nothing,
    Item,
    Repetition,
    /// A repetition that is lazy already.
    Lazy,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn is_next(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(i, c)| self.chars.get(self.at + i) == Some(&c))
    }

    fn all(&mut self) -> Result<(), String> {
        let mut before = Before::Nothing;
        while let Some(c) = self.take() {
            before = match c {
                '\\' => {
                    self.escape(false)?;
                    Before::Item
                }
                '[' => {
                    self.class()?;
                    Before::Item
                }
                '.' => {
                    self.out.push_str("(?s:.)");
                    Before::Item
                }
                '(' => {
                    self.group()?;
                    Before::Nothing
                }
                ')' => {
                    self.out.push(')');
                    Before::Item
                }
                '|' | '^' | '$' => {
                    self.out.push(c);
                    Before::Nothing
                }
                '?' if before == Before::Repetition => Before::Lazy,
                '*' | '+' | '?' => {
                    self.may_repeat(c, before)?;
                    self.out.push(c);
                    Before::Repetition
                }
                '{' => {
                    self.may_repeat(c, before)?;
                    self.counts()?;
                    Before::Repetition
                }
                _ => {
                    self.literal(c);
                    Before::Item
                }
            };
        }
        Ok(())
    }

    fn may_repeat(&self, c: char, before: Before) -> Result<(), String> {
        match before {
            Before::Item => Ok(()),
            Before::Nothing => Err(format!("there is nothing before {c:?} to repeat")),
            Before::Repetition | Before::Lazy => {
                Err(format!("{c:?} comes behind a repetition already"))
            }
        }
    }

    /// `{n}`, `{n,}` or `{n,m}`, behind the brace.
    fn counts(&mut self) -> Result<(), String> {
        let from = self.at;
        while let Some(c) = self.take() {
            match c {
                '0'..='9' => {}
                ',' if self.at > from + 1 => {}
                '}' if self.at > from + 1 => {
                    let counts: String = self.chars[from..self.at].iter().collect();
                    if counts.matches(',').count() > 1 {
                        break;
                    }
                    self.out.push('{');
                    self.out.push_str(&counts);
                    return Ok(());
                }
                _ => break,
            }
        }
        Err("a repetition is {n}, {n,} or {n,m}".to_owned())
    }

    fn group(&mut self) -> Result<(), String> {
        self.out.push_str("(?:");
        if !self.is_next("?") {
            return Ok(());
        }
        if self.is_next("?:") {
            self.at += 2;
            return Ok(());
        }
        let is_look_behind = self.is_next("?<=") || self.is_next("?<!");
        if is_look_behind || self.is_next("?=") || self.is_next("?!") {
            return Err("look-around is not supported".to_owned());
        }
        if self.is_next("?<") {
            while let Some(c) = self.take() {
                if c == '>' {
                    return Ok(());
                }
            }
        }
        Err("flags and other groups that begin with \"(?\" are not supported".to_owned())
    }

    fn literal(&mut self, c: char) {
        if r"\.+*?()|[]{}^$#&-~/ ".contains(c) && c != ' ' {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    /// Behind a backslash.
    fn escape(&mut self, in_class: bool) -> Result<Option<char>, String> {
        let Some(c) = self.take() else {
            return Err("a backslash ends it".to_owned());
        };
        let set = match c {
            'd' => "0-9",
            'w' => "A-Za-z0-9_",
            's' => r"\s\u{FEFF}",
            'D' | 'W' | 'S' => {
                self.out.push_str(match c {
                    'D' => "[^0-9]",
                    'W' => "[^A-Za-z0-9_]",
                    _ => r"[^\s\u{FEFF}]",
                });
                return Ok(None);
            }
            _ => "",
        };
        if !set.is_empty() {
            self.out.push_str(&format!("[{set}]"));
            return Ok(None);
        }
        let c = match c {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'f' => '\u{C}',
            'v' => '\u{B}',
            '0' => '\0',
            'b' if in_class => '\u{8}',
            'b' | 'B' => return Err("word boundaries are not supported".to_owned()),
            'p' | 'P' => return Err("classes of Unicode properties are not supported".to_owned()),
            '1'..='9' | 'k' => return Err("back-references are not supported".to_owned()),
            'x' => self.code(2)?,
            'u' => self.code(4)?,
            'c' => match self.take() {
                Some(letter) if letter.is_ascii_alphabetic() => char::from(letter as u8 & 31),
                _ => return Err("\\c is not followed by a letter".to_owned()),
            },
            letter if letter.is_ascii_alphanumeric() => {
                return Err(format!("the escape \\{letter} is not known"));
            }
            other => other,
        };
        Ok(Some(c)).inspect(|_| {
            if !in_class {
                self.literal(c);
            }
        })
    }

    /// A code point of so many hexadecimal digits, or in braces; a pair of surrogates is one.
    fn code(&mut self, digits: usize) -> Result<char, String> {
        let wrong = || "a character's number is malformed".to_owned();
        let number = |text: &[char]| {
            let text: String = text.iter().collect();
            let is_hex = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
            is_hex
                .then(|| u32::from_str_radix(&text, 16).ok())
                .flatten()
        };
        if digits == 4 && self.is_next("{") {
            let rest = &self.chars[self.at + 1..];
            let end = rest.iter().position(|c| *c == '}').ok_or_else(wrong)?;
            let code = number(&rest[..end]).ok_or_else(wrong)?;
            self.at += end + 2;
            return char::from_u32(code).ok_or_else(wrong);
        }
        let take = |at: usize| self.chars.get(at..at + digits).and_then(number);
        let first = take(self.at).ok_or_else(wrong)?;
        let mut used = digits;
        let mut code = first;
        if (0xD800..0xDC00).contains(&first)
            && self.chars.get(self.at + 4..self.at + 6) == Some(&['\\', 'u'])
            && let Some(second) = take(self.at + 6)
            && (0xDC00..0xE000).contains(&second)
        {
            code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            used = 10;
        }
        self.at += used;
        char::from_u32(code).ok_or_else(wrong)
    }

    /// A class, behind its bracket.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.is_next("^") {
            self.at += 1;
            self.out.push('^');
        }
        let mut is_empty = true;
        // The last character, if a range may begin with it.
        let mut last: Option<char> = None;
        loop {
            let Some(c) = self.take() else {
                return Err("a class is not closed".to_owned());
            };
            match c {
                ']' if is_empty => return Err("a class is empty".to_owned()),
                ']' => {
                    self.out.push(']');
                    return Ok(());
                }
                '-' if last.is_some() && !self.is_next("]") => {
                    let from = last.take().unwrap_or_default();
                    let to = match self.take() {
                        Some('\\') => self.escape(true)?,
                        to => to,
                    };
                    match to {
                        Some(to) if from <= to => {
                            self.out.push('-');
                            self.literal(to);
                        }
                        Some(_) => return Err("a range in a class is reversed".to_owned()),
                        None => return Err("a range in a class ends in a set".to_owned()),
                    }
                }
                '\\' => {
                    last = self.escape(true)?;
                    if let Some(c) = last {
                        self.literal(c);
                    }
                }
                c => {
                    self.literal(c);
                    last = Some(c);
                }
            }
            is_empty = false;
        }
    }
}

/// A text as an expression that matches it alone.
pub(super) fn escaped(text: &str) -> String {
    crate::escape(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::dfa;
    use fsm_index::ByteAutomaton;

    fn matches(pattern: &str, text: &str) -> bool {
        let dfa = dfa(&translate(pattern).unwrap()).unwrap();
        let mut state = dfa.start();
        dfa.advance(&mut state, text.as_bytes(), &mut ()).is_ok() && dfa.is_accepting(&state)
    }

    #[test]
    fn expressions_mean_what_they_say() {
        for (pattern, yes, no) in [
            ("a.c", "a\nc", "ac"),
            (r"\d+", "12", "٣"),
            (r"\w", "_", "é"),
            (r"\s", "\u{A0}", "x"),
            ("^ab$", "ab", "abb"),
            ("a+?b", "aab", "b"),
            (r"[\d\-x]", "-", "y"),
            (r"[a-c&&b]", "&", "d"),
            (r"[^\w]", "é", "a"),
            ("(?<n>a|b){2,3}", "aba", "a"),
            (r"\u00e9\x41", "éA", "eA"),
            (r"\ud83d\ude42", "🙂", "x"),
            ("a{2}", "aa", "a"),
            ("x~y #", "x~y #", "xy"),
        ] {
            assert!(matches(pattern, yes), "{pattern} {yes}");
            assert!(!matches(pattern, no), "{pattern} {no}");
        }
    }

    #[test]
    fn what_no_automaton_can_do_is_refused() {
        for pattern in [
            "(?=a)b", "(?<!a)b", r"(a)\1", r"\bx", r"\p{L}", "(?i)a", "x{,2}", "a**", "a{2}*",
            "*a", "[z-a]", "[]", "[a", r"a\", "a??+", r"\q",
        ] {
            assert!(translate(pattern).is_err(), "{pattern}");
        }
    }
}
