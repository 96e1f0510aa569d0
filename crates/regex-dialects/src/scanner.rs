//! A pattern that is read from left to right, and what becomes of it: for example the count
//! `{2,3}`, and the look that `(?=` opens.

use fsm_tables::Look;

use crate::looks::LOOKS;

/// The place in which an escape stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    Pattern,
    Class,
}

pub(crate) struct Scanner<'p> {
    source: &'p str,
    pub(crate) at: usize,
    pub(crate) out: String,
    /// The number of looks so far: their groups have different names.
    looks: usize,
}

impl<'p> Scanner<'p> {
    pub(crate) fn new(source: &'p str) -> Self {
        Scanner {
            source,
            at: 0,
            out: String::with_capacity(source.len() + 8),
            looks: 0,
        }
    }

    pub(crate) fn rest(&self) -> &'p str {
        &self.source[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Passes over a text, if it comes next.
    pub(crate) fn take(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    /// Passes over what stands before a text and over that, and returns it; `None` if the text
    /// does not come.
    pub(crate) fn up_to(&mut self, end: char) -> Option<&'p str> {
        let (inner, _) = self.rest().split_once(end)?;
        self.at += inner.len() + end.len_utf8();
        Some(inner)
    }

    /// The inside of a count such as `{2,3}`, behind its brace; `None` for a brace that begins
    /// none.
    pub(crate) fn counts(&mut self) -> Option<&'p str> {
        let (inner, _) = self.rest().split_once('}')?;
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let is_count = match inner.split_once(',') {
            Some((a, b)) => digits(a) && (b.is_empty() || digits(b)),
            None => digits(inner),
        };
        self.at += if is_count { inner.len() + 1 } else { 0 };
        is_count.then_some(inner)
    }

    /// The look that a group opens, behind `(`; passes over its sign.
    pub(crate) fn look(&mut self) -> Option<Look> {
        let behind = self.rest().strip_prefix('?')?;
        let (sign, look, _) = LOOKS.iter().find(|look| behind.starts_with(look.0))?;
        self.at += 1 + sign.len();
        Some(*look)
    }

    /// Opens the group of a look.
    pub(crate) fn open_look(&mut self, look: Look) {
        let name = LOOKS.iter().find(|known| known.1 == look);
        let name = name.map_or("look.a", |known| known.2);
        self.out.push_str(&format!("(?P<{name}{}>", self.looks));
        self.looks += 1;
    }

    /// Writes a character that means itself.
    pub(crate) fn literal(&mut self, c: char) {
        if c.is_control() {
            self.out.push_str(&format!("\\u{{{:X}}}", u32::from(c)));
        } else {
            self.out
                .extend(regex_syntax::is_meta_character(c).then_some('\\'));
            self.out.push(c);
        }
    }
}
