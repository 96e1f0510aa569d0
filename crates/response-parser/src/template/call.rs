//! The end of a call, as far as the text that is there settles it.
//!
//! A closing mark within a JSON string, or within a parameter behind which neither another one nor the
//! call's end comes, ends nothing. For example, the call `{"a": "</tool_call>"}</tool_call>` ends at the second mark.

use super::brackets::{Blank, Bracketed, Marks, ValueEnd};
use super::json_dialect::JsonDialect;
use super::shape::{Ahead, Fit, Shape, Step, boundary, candidates, first, starts_one};

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
    value: Bracketed,
    blank: Blank,
    pub(super) parameters: Vec<Parameter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    /// The value goes on.
    Value,
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

impl Scan {
    pub(super) fn new(call: &Call, body: usize) -> Scan {
        Scan {
            body,
            at: body,
            state: match call.body {
                Body::Parameters(_) => CallState::Between,
                _ => CallState::Value,
            },
            value: match call.body {
                // No bracket is around the lines, and a mark ends them.
                Body::JsonLines | Body::Python(Rows::Lines) => Bracketed::opened(body),
                _ => Bracketed::new(body),
            },
            blank: Blank::new(body),
            parameters: Vec::new(),
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
        self.in_value() || self.in_string()
    }

    fn in_string(&self) -> bool {
        self.state == CallState::Value && self.value.in_string()
    }

    /// Returns the end of the last complete item, where the value is a list.
    pub(super) fn item(&self) -> Option<usize> {
        self.value.item()
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
                    let marks = Marks::json(b"{[", &dialect.string_delims);
                    self.value(call, &marks, text, ahead, asked)
                }
                (Body::Keyed | Body::JsonLines, _) => {
                    self.value(call, &Marks::json(b"[", &[]), text, ahead, asked)
                }
                (Body::Python(Rows::List), _) => {
                    self.value(call, &Marks::python(b"["), text, ahead, asked)
                }
                (Body::Python(Rows::Lines), _) => {
                    let marks = Marks::python(b"[").with_items_to(b')');
                    self.value(call, &marks, text, ahead, asked)
                }
                (Body::PythonArguments, _) => {
                    self.value(call, &Marks::python(b"("), text, ahead, asked)
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
            CallState::Value if self.value.in_string() => {
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
        let next = self.blank.skip(text, end);
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
        marks: &Marks<'_>,
        text: &str,
        ahead: Ahead,
        asked: &Asked<'_>,
    ) -> Option<Step> {
        let specials = asked.specials;
        match self.value.step(marks, &call.close, specials, text, ahead) {
            ValueEnd::Complete(end) => {
                self.state = CallState::Done { end };
                None
            }
            ValueEnd::Call(step) => Some(step),
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
            let next = self.blank.skip(text, self.at);
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
        let next = self.blank.skip(text, end);
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
