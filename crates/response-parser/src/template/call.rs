//! The end of a call, as far as the text that is there settles it.
//!
//! A closing mark within a JSON string, or within a parameter behind which neither another one nor the
//! call's end comes, ends nothing. For example, the call `{"a": "</tool_call>"}</tool_call>` ends at the second mark.

use super::load::JsonDialect;
use super::shape::{Ahead, Fit, Shape, first};

/// The form of a call between its opening and its end.
pub(super) struct Call {
    pub(super) body: Body,
    /// The marks that end it.
    pub(super) close: Vec<Shape>,
    pub(super) ends: Ends,
    /// It has no mark of its own: what is no call is content, cut or not.
    pub(super) bare: bool,
    /// Its body may be a list of calls.
    pub(super) lists: bool,
    /// Texts that an opening must have begun with to be taken for a call that was cut.
    pub(super) begins: Vec<String>,
    /// Fields whose open region it may end.
    pub(super) interrupts: Vec<usize>,
    /// Captures are written with entities such as `&amp;`.
    pub(super) entities: bool,
}

/// True if the end must be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// By its mark.
    Mark,
    /// By its mark, or where its value ends if other text follows, or the answer ended by itself.
    Value,
}

pub(super) enum Body {
    Json(JsonDialect),
    /// JSON objects one after another, mostly one a line.
    JsonLines,
    /// A list of objects of JSON, each with one member: the tool's name, and the arguments.
    Keyed,
    /// Calls as Python writes them.
    Python(Rows),
    /// The arguments alone, as Python writes them: `(a='x')`.
    PythonArguments,
    Parameters(Parameters),
}

/// The form of several calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// In a list, with commas between them.
    List,
    /// Each on a line of its own.
    Lines,
}

/// Parameters one by one.
pub(super) struct Parameters {
    pub(super) open: Vec<Shape>,
    pub(super) close: Vec<Shape>,
    /// A text that is taken off once at either end of a value.
    pub(super) trim: String,
    /// The reading of a value of which no schema says anything.
    pub(super) plain: Plain,
    /// The hole of the opening that says how, and what its texts mean.
    pub(super) typed: Option<(String, Vec<(String, Plain)>)>,
}

/// The reading of a value of which no schema says anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    Text,
    /// As JSON, if it is JSON.
    Json,
}

/// A parameter of a call.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) key: String,
    pub(super) plain: Plain,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// One call that is read while its text grows. Its sum of all steps is linear in the text.
#[derive(Debug)]
pub(super) struct Scan {
    body: usize,
    at: usize,
    state: CallState,
    /// White space that is known: from here to there.
    blank: (usize, usize),
    pub(super) parameters: Vec<Parameter>,
    /// The value is a list, whose last complete item ends here.
    pub(super) item: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    /// Nothing but white space came.
    Start,
    Open {
        depth: usize,
    },
    Quoted {
        depth: usize,
        by: Quote,
    },
    /// The value is complete.
    Done {
        end: usize,
    },
    /// The text is no call; its end is looked for all the same.
    Junk,
    Between,
    InValue {
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

/// The knowledge after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It goes on; its text is settled up to here.
    More { safe: usize },
    /// Its text ends, and so does what ends it.
    End { to: usize, end: usize },
    /// It is no call, whatever follows; it was text up to here.
    Never { to: usize },
}

/// A value without the text that is taken off once at either end.
pub(super) fn trimmed<'v>(raw: &'v str, trim: &str) -> &'v str {
    let raw = raw.strip_prefix(trim).unwrap_or(raw);
    raw.strip_suffix(trim).unwrap_or(raw)
}

/// The questions that the scan of a call asks about the turn.
pub(super) struct Asked<'e> {
    /// Says whether the tool has a parameter of that name.
    pub(super) expects: &'e dyn Fn(&str) -> bool,
    /// Texts that are marks only as tokens of their own: a mark of one of them needs no look at what follows.
    pub(super) specials: &'e [String],
}

/// The marks that open values and strings.
struct Marks<'m> {
    opens: &'m [u8],
    quotes: &'m [u8],
    pairs: &'m [(String, String)],
}

impl Scan {
    pub(super) fn new(call: &Call, body: usize) -> Scan {
        Scan {
            body,
            at: body,
            state: match call.body {
                Body::Parameters(_) => CallState::Between,
                // No bracket is around the lines, and a mark ends them.
                Body::JsonLines | Body::Python(Rows::Lines) => CallState::Open { depth: 1 },
                Body::Json(_) | Body::Keyed | Body::Python(_) | Body::PythonArguments => {
                    CallState::Start
                }
            },
            blank: (body, body),
            parameters: Vec::new(),
            item: None,
        }
    }

    /// Tells whether what came is no call already.
    pub(super) fn is_junk(&self) -> bool {
        self.state == CallState::Junk
    }

    /// Tells whether the last parameter's value has not ended.
    pub(super) fn in_value(&self) -> bool {
        matches!(self.state, CallState::InValue { .. })
    }

    /// Tells whether an end that was passed over is looked for again.
    pub(super) fn second_look(&self) -> bool {
        matches!(
            self.state,
            CallState::Quoted { .. } | CallState::InValue { .. }
        )
    }

    /// Reads on.
    pub(super) fn step(
        &mut self,
        call: &Call,
        text: &str,
        ahead: Ahead,
        asked: &Asked<'_>,
    ) -> Step {
        loop {
            let step = match (&call.body, self.state) {
                (_, CallState::Junk) => Some(self.junk(call, text, ahead)),
                (_, CallState::Done { end }) => self.done(call, text, end, ahead),
                (Body::Parameters(parameters), _) => {
                    self.parameters(call, parameters, text, ahead, asked)
                }
                (Body::Json(dialect), _) => {
                    let marks = Marks {
                        opens: b"{[",
                        quotes: b"\"",
                        pairs: &dialect.string_delims,
                    };
                    self.value(call, text, ahead, &marks, asked)
                }
                (Body::Keyed | Body::JsonLines, _) => {
                    let marks = Marks {
                        opens: b"[",
                        quotes: b"\"",
                        pairs: &[],
                    };
                    self.value(call, text, ahead, &marks, asked)
                }
                (Body::Python(_) | Body::PythonArguments, _) => {
                    let marks = Marks {
                        opens: match call.body {
                            Body::PythonArguments => b"(",
                            _ => b"[",
                        },
                        quotes: b"'\"",
                        pairs: &[],
                    };
                    self.value(call, text, ahead, &marks, asked)
                }
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    /// The text is over: the end that it has all the same, if any.
    pub(super) fn last(&self, call: &Call, text: &str, stopped: bool) -> Option<Step> {
        let shape = |to: usize| match first(&call.close, text, to, Ahead::Nothing) {
            Fit::Yes { end, .. } => Some((to, end)),
            _ => None,
        };
        match self.state {
            CallState::Done { end } if call.ends == Ends::Value && stopped => {
                Some(Step::End { to: end, end })
            }
            // The string never ended: the mark in it is the call's end if another call or nothing follows.
            CallState::Quoted { .. } => {
                let (to, end) = candidates(&call.close, text, self.body).find_map(shape)?;
                let rest = text[end..].trim_start();
                let next = call
                    .begins
                    .iter()
                    .any(|mark| rest.starts_with(mark.as_str()));
                (next || rest.is_empty()).then_some(Step::End { to, end })
            }
            // The mark of a value's end is missing: the call's end is the last thing there is.
            CallState::InValue { from } if stopped => {
                let mut ends = candidates(&call.close, text, from).filter_map(shape);
                let (to, end) = ends.find(|&(_, end)| text[end..].trim().is_empty())?;
                Some(Step::End { to, end })
            }
            _ => None,
        }
    }

    /// Takes a value whose end mark is missing for ended at `to`.
    pub(super) fn close_value(&mut self, to: usize) {
        if let (CallState::InValue { .. }, Some(last)) = (self.state, self.parameters.last_mut()) {
            last.to = to;
            self.state = CallState::Between;
        }
    }

    /// Returns the end of the white space from `from` on.
    fn skip(&mut self, text: &str, from: usize) -> usize {
        if self.blank.0 != from {
            self.blank = (from, from);
        }
        let rest = &text[self.blank.1..];
        self.blank.1 += rest.len() - rest.trim_start().len();
        self.blank.1
    }

    /// Looks for what ends a call that is none.
    fn junk(&mut self, call: &Call, text: &str, ahead: Ahead) -> Step {
        for to in candidates(&call.close, text, self.at) {
            match first(&call.close, text, to, ahead) {
                Fit::Yes { end, .. } => return Step::End { to, end },
                Fit::Maybe => {
                    self.at = to;
                    return Step::More { safe: to };
                }
                Fit::No => {}
            }
        }
        self.at = text.len();
        Step::More { safe: text.len() }
    }

    /// Behind a complete value.
    fn done(&mut self, call: &Call, text: &str, end: usize, ahead: Ahead) -> Option<Step> {
        let next = self.skip(text, end);
        if next == text.len() {
            return Some(Step::More { safe: end });
        }
        match first(&call.close, text, next, ahead) {
            Fit::Yes { end: mark, .. } => Some(Step::End { to: end, end: mark }),
            Fit::Maybe => Some(Step::More { safe: end }),
            Fit::No if call.ends == Ends::Value => Some(Step::End { to: end, end }),
            Fit::No => {
                self.state = CallState::Junk;
                self.at = next;
                None
            }
        }
    }

    /// A value in brackets.
    fn value(
        &mut self,
        call: &Call,
        text: &str,
        ahead: Ahead,
        marks: &Marks<'_>,
        asked: &Asked<'_>,
    ) -> Option<Step> {
        let bytes = text.as_bytes();
        let Marks {
            opens,
            quotes,
            pairs,
        } = *marks;
        let mut depth = match self.state {
            CallState::Quoted { depth, by } => {
                let from = self.at;
                let ended = self.quoted(text, by, pairs);
                // A mark that is a token of its own is one in a string too.
                if !asked.specials.is_empty() {
                    let hard = |to: &usize| {
                        call.close.iter().any(|shape| {
                            shape.is_of(asked.specials) && text[*to..].starts_with(shape.head())
                        })
                    };
                    for to in candidates(&call.close, text, from)
                        .take_while(|to| *to < self.at)
                        .filter(hard)
                    {
                        match first(&call.close, text, to, ahead) {
                            Fit::Yes { end, .. } => return Some(Step::End { to, end }),
                            Fit::Maybe => {
                                self.at = to;
                                return Some(Step::More { safe: to });
                            }
                            Fit::No => {}
                        }
                    }
                }
                if !ended {
                    return Some(Step::More { safe: self.at });
                }
                self.state = CallState::Open { depth };
                depth
            }
            CallState::Open { depth } => depth,
            _ => {
                let next = self.skip(text, self.at);
                match bytes.get(next) {
                    None => return Some(Step::More { safe: self.at }),
                    Some(byte) if opens.contains(byte) => {}
                    Some(_) => return Some(Step::Never { to: self.body }),
                }
                self.at = next + 1;
                self.state = CallState::Open { depth: 1 };
                1
            }
        };
        while let Some(&byte) = bytes.get(self.at) {
            let at = self.at;
            if quotes.contains(&byte) {
                self.at += 1;
                let by = Quote::Byte(byte);
                self.state = CallState::Quoted { depth, by };
                return None;
            }
            for (i, (open, _)) in pairs.iter().enumerate() {
                let rest = &bytes[at..];
                if rest.starts_with(open.as_bytes()) {
                    self.at += open.len();
                    let by = Quote::Pair(i);
                    self.state = CallState::Quoted { depth, by };
                    return None;
                }
                if ahead == Ahead::More && open.as_bytes().starts_with(rest) {
                    self.state = CallState::Open { depth };
                    return Some(Step::More { safe: at });
                }
            }
            if starts_one(&call.close, byte) && text.is_char_boundary(at) {
                match first(&call.close, text, at, ahead) {
                    Fit::Yes { end, .. } => return Some(Step::End { to: at, end }),
                    Fit::Maybe => {
                        self.state = CallState::Open { depth };
                        return Some(Step::More { safe: at });
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
                self.state = CallState::Done { end: self.at };
                return None;
            }
            let closes_item = match call.body {
                Body::Python(Rows::Lines) => b')',
                _ => b'}',
            };
            if depth == 1 && byte == closes_item {
                self.item = Some(self.at);
            }
        }
        self.state = CallState::Open { depth };
        Some(Step::More {
            safe: boundary(text, self.at),
        })
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

    /// Parameters, and the values between their marks.
    fn parameters(
        &mut self,
        call: &Call,
        parameters: &Parameters,
        text: &str,
        ahead: Ahead,
        asked: &Asked<'_>,
    ) -> Option<Step> {
        let CallState::InValue { from } = self.state else {
            let next = self.skip(text, self.at);
            let more = Some(Step::More { safe: self.at });
            if next == text.len() {
                return more;
            }
            match first(&parameters.open, text, next, ahead) {
                Fit::Maybe => return more,
                Fit::Yes { end, holes } => {
                    self.open_value(parameters, end, &holes);
                    return None;
                }
                Fit::No => {}
            }
            return match first(&call.close, text, next, ahead) {
                Fit::Maybe => more,
                Fit::Yes { end, .. } => Some(Step::End { to: next, end }),
                Fit::No if self.parameters.is_empty() => Some(Step::Never { to: self.body }),
                Fit::No => {
                    self.state = CallState::Junk;
                    None
                }
            };
        };
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let at = self.at;
            if starts_one(&parameters.close, byte) && text.is_char_boundary(at) {
                match first(&parameters.close, text, at, ahead) {
                    Fit::Maybe => return Some(Step::More { safe: at }),
                    Fit::Yes { end, .. } => {
                        match self.follows(call, parameters, text, (at, end), ahead, asked) {
                            Fit::Maybe => return Some(Step::More { safe: at }),
                            Fit::Yes { .. } => {
                                self.end_value(at);
                                self.state = CallState::Between;
                                self.at = end;
                                return None;
                            }
                            Fit::No => {}
                        }
                    }
                    Fit::No => {}
                }
            }
            // The mark of the value's end is missing: another parameter of the tool's begins.
            if starts_one(&parameters.open, byte)
                && text.is_char_boundary(at)
                && text[from..at].ends_with(&parameters.trim)
            {
                match first(&parameters.open, text, at, ahead) {
                    Fit::Maybe => return Some(Step::More { safe: at }),
                    Fit::Yes { end, holes } => {
                        let key = holes.iter().find(|(name, _)| *name == "key");
                        let given = |key: &str| self.parameters.iter().any(|p| p.key == key);
                        if key.is_some_and(|(_, key)| (asked.expects)(key) && !given(key)) {
                            self.end_value(at);
                            self.open_value(parameters, end, &holes);
                            return None;
                        }
                    }
                    Fit::No => {}
                }
            }
            self.at += 1;
        }
        Some(Step::More {
            safe: boundary(text, self.at),
        })
    }

    /// Tells whether a parameter or the call's end comes behind a value.
    fn follows<'t>(
        &mut self,
        call: &'t Call,
        parameters: &'t Parameters,
        text: &'t str,
        (at, end): (usize, usize),
        ahead: Ahead,
        asked: &Asked<'_>,
    ) -> Fit<'t> {
        let hard =
            |shape: &Shape| shape.is_of(asked.specials) && text[at..].starts_with(shape.head());
        if parameters.close.iter().any(hard) {
            return Fit::Yes {
                end,
                holes: Vec::new(),
            };
        }
        let next = self.skip(text, end);
        if next == text.len() {
            return match ahead {
                Ahead::More => Fit::Maybe,
                Ahead::Nothing => Fit::No,
            };
        }
        match first(&parameters.open, text, next, ahead) {
            Fit::No => first(&call.close, text, next, ahead),
            fit => fit,
        }
    }

    fn open_value(&mut self, parameters: &Parameters, from: usize, holes: &[(&str, &str)]) {
        let hole = |wanted: &str| {
            let found = holes.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, text)| *text)
        };
        let typed = parameters.typed.as_ref().and_then(|(name, kinds)| {
            let told = hole(name)?;
            let kind = kinds.iter().find(|(known, _)| known == told);
            // A name that is not listed is no text.
            Some(kind.map_or(Plain::Json, |(_, plain)| *plain))
        });
        self.parameters.push(Parameter {
            key: hole("key").unwrap_or_default().to_owned(),
            plain: typed.unwrap_or(parameters.plain),
            from,
            to: from,
        });
        self.state = CallState::InValue { from };
        self.at = from;
    }

    fn end_value(&mut self, to: usize) {
        if let Some(last) = self.parameters.last_mut() {
            last.to = to;
        }
    }
}

fn starts_one(shapes: &[Shape], byte: u8) -> bool {
    shapes
        .iter()
        .any(|shape| shape.head().as_bytes().first() == Some(&byte))
}

/// Places from `from` on where one of the shapes may begin.
fn candidates<'t>(
    shapes: &'t [Shape],
    text: &'t str,
    from: usize,
) -> impl Iterator<Item = usize> + 't {
    let bytes = text.as_bytes().iter().enumerate().skip(from);
    bytes
        .filter(|(at, byte)| starts_one(shapes, **byte) && text.is_char_boundary(*at))
        .map(|(at, _)| at)
}

/// The last end of a character at `at` or before.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
