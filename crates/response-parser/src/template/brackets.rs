//! A value in brackets that is read while its text grows, up to its outermost bracket. For example,
//! `{"a": "}"}</tool_call>` holds one that ends behind the second `}`, because the first is in a
//! string.

use super::shape::{Ahead, Fit, Shape, Step, boundary, candidates, first, starts_one};

/// The characters and the texts that mean something in a value.
pub(super) struct Marks<'m> {
    /// The brackets that a value starts with.
    opens: &'m [u8],
    quotes: &'m [u8],
    /// Texts around strings without escapes.
    pairs: &'m [(String, String)],
    /// The bracket that ends an item of a list.
    closes_item: u8,
}

impl<'m> Marks<'m> {
    /// The marks of JSON, with a dialect's pairs around strings.
    pub(super) fn json(opens: &'m [u8], pairs: &'m [(String, String)]) -> Marks<'m> {
        Marks {
            opens,
            quotes: b"\"",
            pairs,
            closes_item: b'}',
        }
    }

    /// The marks of what Python writes.
    pub(super) fn python(opens: &'m [u8]) -> Marks<'m> {
        Marks {
            quotes: b"'\"",
            ..Marks::json(opens, &[])
        }
    }

    /// Takes another bracket for the end of an item.
    pub(super) fn with_items_to(self, closes_item: u8) -> Marks<'m> {
        Marks {
            closes_item,
            ..self
        }
    }

    fn string_at(&self, bytes: &[u8], at: usize, ahead: Ahead) -> StringStart {
        let rest = &bytes[at..];
        if let Some(byte) = rest.first().filter(|byte| self.quotes.contains(byte)) {
            return StringStart::Opens {
                by: Quote::Byte(*byte),
                from: at + 1,
            };
        }
        for (i, (open, _)) in self.pairs.iter().enumerate() {
            if rest.starts_with(open.as_bytes()) {
                return StringStart::Opens {
                    by: Quote::Pair(i),
                    from: at + open.len(),
                };
            }
            if ahead == Ahead::More && open.as_bytes().starts_with(rest) {
                return StringStart::Maybe;
            }
        }
        StringStart::None
    }
}

/// The string that opens at a place.
enum StringStart {
    None,
    /// More text tells.
    Maybe,
    Opens {
        by: Quote,
        from: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    /// A character, with escapes.
    Byte(u8),
    /// The dialect's pair of that number, without escapes.
    Pair(usize),
}

/// White space that is known, so that it is read once however often its end is asked for.
#[derive(Debug)]
pub(super) struct Blank {
    from: usize,
    to: usize,
}

impl Blank {
    pub(super) fn new(at: usize) -> Blank {
        Blank { from: at, to: at }
    }

    /// Returns the end of the white space from `from` on.
    pub(super) fn skip(&mut self, text: &str, from: usize) -> usize {
        if self.from != from {
            *self = Blank::new(from);
        }
        let rest = &text[self.to..];
        self.to += rest.len() - rest.trim_start().len();
        self.to
    }
}

/// The value so far.
#[derive(Debug)]
pub(super) struct Bracketed {
    at: usize,
    state: BracketState,
    blank: Blank,
    item: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BracketState {
    /// Nothing but white space came.
    Start,
    Open {
        depth: usize,
    },
    Quoted {
        depth: usize,
        by: Quote,
    },
}

/// The knowledge about a value's end.
pub(super) enum ValueEnd {
    /// The value is complete, and ends here.
    Complete(usize),
    /// The call ends first, or more text must tell.
    Call(Step),
}

impl Bracketed {
    /// A value that starts at `at`, or behind white space there.
    pub(super) fn new(at: usize) -> Bracketed {
        Bracketed {
            at,
            state: BracketState::Start,
            blank: Blank::new(at),
            item: None,
        }
    }

    /// A value whose first bracket is left out.
    pub(super) fn opened(at: usize) -> Bracketed {
        Bracketed {
            state: BracketState::Open { depth: 1 },
            ..Bracketed::new(at)
        }
    }

    /// Tells whether the text ends within a string.
    pub(super) fn in_string(&self) -> bool {
        matches!(self.state, BracketState::Quoted { .. })
    }

    /// Returns the end of the last complete item, where the value is a list.
    pub(super) fn item(&self) -> Option<usize> {
        self.item
    }

    /// Reads on until the value ends, or a mark of `close` that is outside of strings or holds one of
    /// `specials`.
    pub(super) fn step(
        &mut self,
        marks: &Marks<'_>,
        close: &[Shape],
        specials: &[String],
        text: &str,
        ahead: Ahead,
    ) -> ValueEnd {
        loop {
            let end = match self.state {
                BracketState::Quoted { depth, by } => {
                    let from = self.at;
                    let ended = self.quoted(text, by, marks.pairs);
                    let step = self.mark_in_string(close, specials, text, from, ahead);
                    if ended && step.is_none() {
                        self.state = BracketState::Open { depth };
                        continue;
                    }
                    Some(ValueEnd::Call(step.unwrap_or(Step::More { safe: self.at })))
                }
                BracketState::Open { depth } => self.brackets(marks, close, text, ahead, depth),
                BracketState::Start => self.outermost(marks, text).map(ValueEnd::Call),
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Looks for the value's first bracket.
    fn outermost(&mut self, marks: &Marks<'_>, text: &str) -> Option<Step> {
        let next = self.blank.skip(text, self.at);
        match text.as_bytes().get(next) {
            None => Some(Step::More { safe: self.at }),
            Some(byte) if marks.opens.contains(byte) => {
                self.at = next + 1;
                self.state = BracketState::Open { depth: 1 };
                None
            }
            Some(_) => Some(Step::Never { to: self.at }),
        }
    }

    /// Reads on within `depth` brackets, outside of strings.
    fn brackets(
        &mut self,
        marks: &Marks<'_>,
        close: &[Shape],
        text: &str,
        ahead: Ahead,
        mut depth: usize,
    ) -> Option<ValueEnd> {
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let at = self.at;
            match marks.string_at(bytes, at, ahead) {
                StringStart::None => {}
                StringStart::Maybe => {
                    self.state = BracketState::Open { depth };
                    return Some(ValueEnd::Call(Step::More { safe: at }));
                }
                StringStart::Opens { by, from } => {
                    self.at = from;
                    self.state = BracketState::Quoted { depth, by };
                    return None;
                }
            }
            if starts_one(close, byte) && text.is_char_boundary(at) {
                match first(close, text, at, ahead) {
                    Fit::Yes { end, .. } => return Some(ValueEnd::Call(Step::End { to: at, end })),
                    Fit::Maybe => {
                        self.state = BracketState::Open { depth };
                        return Some(ValueEnd::Call(Step::More { safe: at }));
                    }
                    Fit::No => {}
                }
            }
            self.at += 1;
            match byte {
                b'{' | b'[' | b'(' => depth += 1,
                b'}' | b']' | b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(ValueEnd::Complete(self.at));
            }
            if depth == 1 && byte == marks.closes_item {
                self.item = Some(self.at);
            }
        }
        self.state = BracketState::Open { depth };
        Some(ValueEnd::Call(Step::More {
            safe: boundary(text, self.at),
        }))
    }

    /// Looks for the call's end in the part of a string that starts at `from`: a mark that is a token
    /// of its own is one in a string too.
    fn mark_in_string(
        &mut self,
        close: &[Shape],
        specials: &[String],
        text: &str,
        from: usize,
        ahead: Ahead,
    ) -> Option<Step> {
        if specials.is_empty() {
            return None;
        }
        let hard = |to: &usize| {
            close
                .iter()
                .any(|shape| shape.is_of(specials) && text[*to..].starts_with(shape.head()))
        };
        for to in candidates(close, text, from)
            .take_while(|to| *to < self.at)
            .filter(hard)
        {
            match first(close, text, to, ahead) {
                Fit::Yes { end, .. } => return Some(Step::End { to, end }),
                Fit::Maybe => {
                    self.at = to;
                    return Some(Step::More { safe: to });
                }
                Fit::No => {}
            }
        }
        None
    }

    /// Reads on in a string; whether it ends.
    fn quoted(&mut self, text: &str, by: Quote, pairs: &[(String, String)]) -> bool {
        match by {
            Quote::Pair(pair) => {
                let close = pairs.get(pair).map_or("", |(_, close)| close.as_str());
                match text[self.at..].find(close) {
                    Some(length) => {
                        self.at += length + close.len();
                        true
                    }
                    None => {
                        let kept = text.len().saturating_sub(close.len().saturating_sub(1));
                        self.at = boundary(text, kept.max(self.at));
                        false
                    }
                }
            }
            Quote::Byte(quote) => {
                let bytes = text.as_bytes();
                loop {
                    let Some(length) = memchr::memchr2(quote, b'\\', &bytes[self.at..]) else {
                        self.at = text.len();
                        return false;
                    };
                    let at = self.at + length;
                    if bytes[at] == quote {
                        self.at = at + 1;
                        return true;
                    }
                    let Some(escaped) = text[at + 1..].chars().next() else {
                        self.at = at;
                        return false;
                    };
                    self.at = at + 1 + escaped.len_utf8();
                }
            }
        }
    }
}
