//! A place in a grammar's text, with what all dialects read alike.
//!
//! For example, the bounds `{2,5}` of a repetition are read here, and an error has its line and column.

use std::num::NonZeroU32;

use crate::dialects::ast::Expr;
use crate::error::{Error, ErrorKind};

/// The special tokens that one place may name by number, because each is a symbol of the parser.
/// Vocabularies have a few hundred.
const MAX_NUMBERED: usize = 1_000;

#[derive(Clone)]
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t str,
    /// In bytes, at the beginning of a character.
    pub(crate) at: usize,
    /// The rule that is being read, for errors.
    pub(crate) rule: String,
    depth: usize,
    max_depth: usize,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str, max_depth: usize) -> Reader<'t> {
        Reader {
            text,
            at: 0,
            rule: String::new(),
            depth: 0,
            max_depth,
        }
    }

    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Reads `text`, if it comes next.
    pub(crate) fn take(&mut self, text: &str) -> bool {
        let comes = self.rest().starts_with(text);
        if comes {
            self.at += text.len();
        }
        comes
    }

    /// Reads what `is` says of each character.
    pub(crate) fn take_while(&mut self, is: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !is(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    pub(crate) fn skip_line(&mut self) {
        self.take_while(|c| c != '\n');
    }

    /// One level deeper: each is left by [`Reader::leave`].
    pub(crate) fn enter(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > self.max_depth {
            let error = Error::limit("max_depth", "levels of nesting", self.max_depth);
            return Err(self.place(error, self.at));
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(crate) fn place(&self, error: Error, at: usize) -> Error {
        error.at(self.text, at).in_rule(&self.rule)
    }

    #[cold]
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        self.error_at(self.at, message)
    }

    #[cold]
    pub(crate) fn error_at(&self, at: usize, message: impl Into<String>) -> Error {
        self.place(Error::new(ErrorKind::Syntax, message), at)
    }

    /// Fails by what comes next.
    #[cold]
    pub(crate) fn fail<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(self.error(message))
    }

    /// Fails by what is at a place.
    #[cold]
    pub(crate) fn fail_at<T>(&self, at: usize, message: impl Into<String>) -> Result<T, Error> {
        Err(self.error_at(at, message))
    }

    /// Refuses what is not supported.
    #[cold]
    pub(crate) fn refuse<T>(&self, at: usize, message: impl Into<String>) -> Result<T, Error> {
        Err(self.place(Error::new(ErrorKind::Unsupported, message), at))
    }

    /// Fails because something else was expected than what comes next.
    #[cold]
    pub(crate) fn expected<T>(&self, what: &str) -> Result<T, Error> {
        self.expected_not(what, |_| "")
    }

    /// Fails as [`Reader::expected`] does. `instead` says what to write in place of a sign of other notations.
    #[cold]
    pub(crate) fn expected_not<T>(
        &self,
        what: &str,
        instead: impl FnOnce(char) -> &'static str,
    ) -> Result<T, Error> {
        let (found, instead) = match self.peek() {
            Some(sign) => (format!("{sign:?}"), instead(sign)),
            None => ("the end".to_owned(), ""),
        };
        self.fail(format!("expected {what}, found {found}{instead}"))
    }

    /// Reads a sign that must come.
    pub(crate) fn need(&mut self, sign: &str) -> Result<(), Error> {
        match self.take(sign) {
            true => Ok(()),
            false => self.expected(&format!("`{sign}`")),
        }
    }

    /// Reads what stands between the entries of a list, or its end. Tells whether it is over.
    pub(crate) fn ends(&mut self, close: &str) -> Result<bool, Error> {
        match self.take(close) {
            false if !self.take(",") => self.expected(&format!("`,` or `{close}`")),
            is_over => Ok(is_over),
        }
    }

    /// Digits of a count, at most 4,294,967,295.
    pub(crate) fn count(&mut self) -> Result<u32, Error> {
        let at = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return self.expected("a count");
        }
        digits
            .parse()
            .map_err(|_| self.error_at(at, format!("the count {digits} is too large")))
    }

    /// A temperature: a decimal number that is not negative.
    pub(crate) fn temperature(&mut self) -> Result<f64, Error> {
        let at = self.at;
        let number = self.take_while(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        let is_number = number.starts_with(|c: char| c.is_ascii_digit());
        match number.parse::<f64>() {
            Ok(value) if is_number && value.is_finite() => Ok(value),
            _ => self.fail_at(
                at,
                "a temperature is a decimal number that is not negative, such as `0.7`",
            ),
        }
    }

    /// A number of tokens, of which a lexeme has one at least.
    pub(crate) fn tokens(&mut self) -> Result<NonZeroU32, Error> {
        let at = self.at;
        let count = self.count()?;
        NonZeroU32::new(count).ok_or_else(|| {
            self.error_at(
                at,
                "`max_tokens` is 1 at least: leave a rule without tokens out",
            )
        })
    }

    /// The special tokens of some numbers and ranges of them: `128000` or `128000-128010,128256`. `at` is the
    /// place that errors name.
    pub(crate) fn numbered_tokens(&self, list: &str, at: usize) -> Result<Expr, Error> {
        let mut all = Vec::new();
        for item in list.split(',') {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let number = |digits: &str| {
                let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
                digits.parse::<u32>().ok().filter(|_| is_number)
            };
            let (Some(first), Some(last)) = (number(first), number(last)) else {
                let message = format!(
                    "`{item}` is no number of a token and no range of them, such as `128000-128010`"
                );
                return Err(self.error_at(at, message));
            };
            if first > last {
                return Err(self.error_at(
                    at,
                    format!("the range of tokens {item} ends before it begins"),
                ));
            }
            if (last - first) as usize >= MAX_NUMBERED - all.len() {
                let message =
                    format!("one place names at most {MAX_NUMBERED} special tokens by number");
                return Err(self.place(Error::new(ErrorKind::LimitExceeded, message), at));
            }
            all.extend((first..=last).map(|number| Expr::Special {
                name: format!("<[{number}]>"),
                at,
            }));
        }
        Ok(Expr::alt(all))
    }

    /// Refuses one token that may be any text. Rules are of bytes, in which tokens have no ends, and text with
    /// `max_tokens=1` is not the same: it ends within a token, too. `own` names special tokens in the dialect, and
    /// `format` is that of structural tags that counts tokens.
    #[cold]
    pub(crate) fn refuse_any_token<T>(
        &self,
        at: usize,
        [sign, own, format]: [&str; 3],
    ) -> Result<T, Error> {
        let message = format!(
            "`{sign}` takes tokens of any text, and a rule is of bytes: write text, which never takes a special token, and special tokens that may come by number, as in `{own}`; a structural tag has the format `{format}`"
        );
        self.refuse(at, message)
    }

    /// The upper bound of `{min,max}`, read from behind `min` up to the brace. `space` skips what
    /// may stand between.
    pub(crate) fn upper_bound(
        &mut self,
        min: u32,
        space: fn(&mut Self),
    ) -> Result<Option<u32>, Error> {
        space(self);
        let mut max = Some(min);
        if self.take(",") {
            space(self);
            max = match self.peek() {
                Some('}') => None,
                _ => Some(self.count()?),
            };
            space(self);
        }
        match self.peek() {
            Some('}') => Ok(max),
            _ => self.expected("`}`"),
        }
    }

    /// Tells whether the bounds of the repetition at `at` admit a count.
    pub(crate) fn check_bounds(&self, at: usize, min: u32, max: Option<u32>) -> Result<(), Error> {
        match max {
            Some(max) if max < min => {
                Err(self.error_at(at, "a repetition's upper bound is less than its lower one"))
            }
            _ => Ok(()),
        }
    }

    /// So many hexadecimal digits, at most, and one at least.
    pub(crate) fn hex(&mut self, most: usize) -> Option<u32> {
        let digits = self.rest().bytes();
        let count = digits.take(most).take_while(u8::is_ascii_hexdigit).count();
        let value = u32::from_str_radix(&self.rest()[..count], 16).ok()?;
        self.at += count;
        Some(value)
    }
}
