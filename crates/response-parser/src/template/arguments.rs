//! The arguments of a call as JSON, piece by piece while they arrive.
//!
//! A piece that was written is never taken back, and the pieces add up to the JSON of the finished
//! call's arguments. For example, `<parameter=path>a.` of a parameter that is a string gives
//! `{"path": "a.` before the value ends.

use python_compat::show::Style;

use super::call::{Body, Call, Parameter, Parameters, trimmed};
use super::call_content::key_of;
use super::shape::Shape;
use super::tools::Tools;
use crate::json;
use crate::text::Text;
use crate::value::Value;

/// The arguments of the open call, as far as they were written.
#[derive(Debug, Default)]
pub(super) struct Writing {
    /// Something was written: the tool's name and what came since it was asked for.
    pub(super) name: Option<String>,
    members: usize,
    state: ArgumentState,
    /// Parameters that were written whole.
    written: usize,
    /// The parameter at work was written up to here.
    grown: Option<usize>,
    reader: ArgumentReader,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ArgumentState {
    #[default]
    Nothing,
    Open,
    Closed,
}

/// Reads the call's JSON for the places of its arguments.
#[derive(Debug, Default)]
struct ArgumentReader {
    /// Bytes of the body that were read.
    read: usize,
    depth: usize,
    /// Depth of the members of the arguments; 0 before they begin.
    level: usize,
    string: Option<QuotedText>,
    /// The member's key at the root and within the arguments.
    root_key: String,
    key: String,
    /// A value comes.
    value: Option<usize>,
    /// The value of this member is written as it grows, up to here.
    grown: Option<usize>,
    name: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct QuotedText {
    from: usize,
    escaped: bool,
}

/// The knowledge about the open call.
pub(super) struct Growing<'g> {
    pub(super) call: &'g Call,
    pub(super) tools: &'g Tools,
    pub(super) text: &'g str,
    /// The body, as far as it is settled.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) parameters: &'g [Parameter],
    /// The last parameter's value has not ended.
    pub(super) open: bool,
    /// Says whether pieces of calls of this name may be given before their end.
    pub(super) may: &'g dyn Fn(&str) -> bool,
}

impl Writing {
    /// Appends what has settled to `out`.
    pub(super) fn grow(&mut self, growing: &Growing<'_>, name: Option<&str>, out: &mut String) {
        match &growing.call.body {
            Body::Parameters(parameters) => {
                let Some(name) = name.filter(|name| (growing.may)(name)) else {
                    return;
                };
                self.name.get_or_insert_with(|| name.to_owned());
                self.parameters(growing, parameters, name, out);
            }
            Body::Json(dialect) if !dialect.unquoted_keys => self.json(growing, name, out),
            Body::Json(_)
            | Body::JsonLines
            | Body::Keyed
            | Body::Python(_)
            | Body::PythonArguments => {}
        }
    }

    /// Appends what is left of the arguments of the finished call.
    pub(super) fn finish(&mut self, arguments: &Value<'_>, out: &mut String) {
        match self.state {
            ArgumentState::Nothing => encode(arguments, out),
            ArgumentState::Open => out.push('}'),
            ArgumentState::Closed => {}
        }
        self.state = ArgumentState::Closed;
    }

    /// Begins a member.
    fn member(&mut self, key: &str, out: &mut String) {
        out.push_str(match (self.state, self.members) {
            (ArgumentState::Nothing, _) => "{",
            (_, 0) => "",
            _ => ", ",
        });
        self.state = ArgumentState::Open;
        self.members += 1;
        string(key, out);
        out.push_str(": ");
    }

    fn parameters(
        &mut self,
        growing: &Growing<'_>,
        parameters: &Parameters,
        name: &str,
        out: &mut String,
    ) {
        if self.state == ArgumentState::Nothing {
            out.push('{');
            self.state = ArgumentState::Open;
        }
        while let Some(parameter) = growing.parameters.get(self.written) {
            let ended = self.written + 1 < growing.parameters.len() || !growing.open;
            let key = key_of(growing.call, parameter);
            let grows = growing.tools.is_text(name, &key, parameter.plain);
            if !grows && !ended {
                return;
            }
            let to = match ended {
                true => parameter.to,
                false => growing.to.max(parameter.from),
            };
            let raw = &growing.text[parameter.from..to];
            if !grows {
                self.member(&key, out);
                let value = trimmed(raw, &parameters.trim);
                let value = growing.tools.read(name, &key, value, parameter.plain);
                encode(&value, out);
                self.written += 1;
                continue;
            }
            let trim = parameters.trim.as_str();
            // The text at either end that is taken off must be known.
            if !ended && raw.len() < trim.len() {
                return;
            }
            let first = parameter.from + if raw.starts_with(trim) { trim.len() } else { 0 };
            let last = match raw[first - parameter.from..].ends_with(trim) {
                true => to - trim.len(),
                false => to,
            };
            let from = match self.grown {
                Some(grown) => grown,
                None => {
                    self.member(&key, out);
                    out.push('"');
                    first
                }
            };
            let mut last = last.max(from);
            // A mark of the call's end may turn out to be one, if the value's is missing.
            if !ended {
                let heads = growing.call.close.iter().map(Shape::head);
                let grown = &growing.text[from..last];
                let marks =
                    heads.filter_map(|head| grown.find(head).or_else(|| begun(grown, head)));
                last = marks.min().map_or(last, |mark| from + mark);
            }
            inside(&growing.text[from..last], out);
            self.grown = Some(last);
            if !ended {
                return;
            }
            out.push('"');
            self.grown = None;
            self.written += 1;
        }
    }

    fn json(&mut self, growing: &Growing<'_>, name: Option<&str>, out: &mut String) {
        let body = &growing.text[growing.from..growing.to];
        if let Some(name) = name
            && self.reader.name.is_none()
        {
            self.reader.name = Some(name.to_owned());
        }
        let bytes = body.as_bytes();
        while let Some(&byte) = bytes.get(self.reader.read) {
            let at = self.reader.read;
            self.reader.read += 1;
            if let Some(quoted) = &mut self.reader.string {
                match byte {
                    _ if quoted.escaped => quoted.escaped = false,
                    b'\\' => quoted.escaped = true,
                    b'"' => {
                        let from = quoted.from;
                        self.reader.string = None;
                        self.quoted(growing, &body[from..=at], out);
                    }
                    _ => {}
                }
                continue;
            }
            let reader = &mut self.reader;
            let in_arguments = reader.level > 0 && reader.depth == reader.level;
            let at_root = reader.level == 0 && reader.depth == 1;
            if reader.value == Some(at) && byte.is_ascii_whitespace() {
                reader.value = Some(at + 1);
                continue;
            }
            match byte {
                b'"' => {
                    reader.string = Some(QuotedText {
                        from: at,
                        escaped: false,
                    });
                    if in_arguments
                        && reader.value == Some(at)
                        && self.state != ArgumentState::Closed
                    {
                        let name = self.reader.name.clone().unwrap_or_default();
                        if growing.tools.keeps_text(&name, &self.reader.key) {
                            let key = self.reader.key.clone();
                            self.member(&key, out);
                            self.reader.grown = Some(at);
                        }
                    }
                }
                b':' if in_arguments || at_root => reader.value = Some(at + 1),
                b'{' | b'[' => {
                    let is_arguments = match &growing.call.lists {
                        false => reader.depth == 0,
                        true => {
                            reader.depth == 1
                                && reader.value == Some(at)
                                && matches!(reader.root_key.as_str(), "arguments" | "parameters")
                        }
                    };
                    reader.depth += 1;
                    if is_arguments && byte == b'{' && reader.level == 0 {
                        let Some(name) = reader.name.clone().filter(|name| (growing.may)(name))
                        else {
                            // Nothing is given before the call's end.
                            self.state = ArgumentState::Nothing;
                            self.reader.level = usize::MAX;
                            continue;
                        };
                        reader.level = reader.depth;
                        reader.value = None;
                        if self.state == ArgumentState::Nothing {
                            self.state = ArgumentState::Open;
                            self.name = Some(name);
                            out.push('{');
                        }
                    }
                }
                b',' if in_arguments => self.value_ends(growing, body, at, out),
                b',' if at_root => reader.value = None,
                b'}' | b']' => {
                    if in_arguments {
                        self.value_ends(growing, body, at, out);
                        if self.state == ArgumentState::Open {
                            out.push('}');
                            self.state = ArgumentState::Closed;
                        }
                        self.reader.level = usize::MAX;
                    }
                    self.reader.depth = self.reader.depth.saturating_sub(1);
                }
                _ => {}
            }
        }
        self.write_grown(body, body.len(), out);
    }

    /// Writes the string that grows up to `to`.
    fn write_grown(&mut self, body: &str, to: usize, out: &mut String) {
        if let Some(from) = self.reader.grown {
            out.push_str(&body[from..to]);
            self.reader.grown = Some(to);
        }
    }

    /// A string has ended: a key, the tool's name, or a value.
    fn quoted(&mut self, growing: &Growing<'_>, raw: &str, out: &mut String) {
        let reader = &mut self.reader;
        let decoded = || match json::decode(raw) {
            Ok(Value::Text(text)) => text.into_lossy(),
            _ => String::new(),
        };
        let in_arguments = reader.level > 0 && reader.depth == reader.level;
        let at_root = reader.level == 0 && reader.depth == 1;
        match reader.value {
            None if in_arguments => reader.key = decoded(),
            None if at_root => reader.root_key = decoded(),
            Some(_) if at_root && growing.call.lists && reader.root_key == "name" => {
                reader.name = Some(decoded());
            }
            Some(_) if in_arguments && reader.grown.is_some() => {
                let (read, from) = (reader.read, growing.from);
                self.write_grown(&growing.text[from..growing.to], read, out);
                self.reader.grown = None;
                // It is written.
                self.reader.value = None;
            }
            _ => {}
        }
    }

    /// A member of the arguments ends.
    fn value_ends(&mut self, growing: &Growing<'_>, body: &str, at: usize, out: &mut String) {
        let Some(from) = self.reader.value.take() else {
            return;
        };
        if self.state != ArgumentState::Open {
            return;
        }
        let raw = body[from..at].trim();
        let key = self.reader.key.clone();
        let name = self.reader.name.clone().unwrap_or_default();
        self.member(&key, out);
        match json::decode(raw) {
            Ok(Value::Text(text)) => {
                let mut cast = Value::Text(text.into_owned());
                growing.tools.cast_string(&name, &key, &mut cast);
                encode(&cast, out);
            }
            _ => out.push_str(raw),
        }
    }
}

/// JSON as servers write it, without escapes for what is not ASCII.
fn encode(value: &Value<'_>, out: &mut String) {
    out.push_str(&python_compat::dumps(value, &Style::plain()).unwrap_or_default());
}

/// Returns the place at which a mark may have begun at the end of a text.
fn begun(text: &str, mark: &str) -> Option<usize> {
    let lengths = (1..mark.len())
        .rev()
        .filter(|&length| mark.is_char_boundary(length));
    let mut lengths = lengths.filter(|&length| text.ends_with(&mark[..length]));
    lengths.next().map(|length| text.len() - length)
}

fn string(text: &str, out: &mut String) {
    encode(&Value::Text(Text::plain(text)), out);
}

/// A text as it stands within a JSON string.
fn inside(text: &str, out: &mut String) {
    let mut quoted = String::with_capacity(text.len() + 2);
    string(text, &mut quoted);
    out.push_str(&quoted[1..quoted.len() - 1]);
}
