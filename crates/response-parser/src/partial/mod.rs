//! JSON that is still being written: its value so far, for example `{"a": [2]}` of `{"a": [2`.

mod number;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value as Json};

/// The deepest nesting that is followed, because values are dropped by calls as deep.
pub(crate) const MAX_DEPTH: usize = 128;

/// The longest number, in bytes, that is shown unfinished, because each digit reads it anew.
const MAX_OPEN_NUMBER: usize = 64;

/// The thing that the last character left unfinished.
///
/// ```
/// use response_parser::{PartialJson, Unfinished};
///
/// let mut partial = PartialJson::new();
/// partial.feed("[1");
/// assert_eq!(partial.unfinished(), Some(Unfinished::Number));
/// partial.feed(",");
/// assert_eq!(partial.unfinished(), Some(Unfinished::Container));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unfinished {
    /// A string: more characters may follow.
    String,
    /// A number: more digits may follow.
    Number,
    /// An array or an object that is not closed.
    Container,
}

/// The value so far of a JSON text that arrives piece by piece, always a valid value.
///
/// A string shows its characters, a number the longest number it starts with (null before its first
/// digit), a key is shown once its value starts, a word once it is complete. Python's `NaN` and
/// infinities are null, integers beyond 64 bits the nearest double. Each call takes the length
/// of its piece, and the depth of the value for each element in it.
///
/// ```
/// use response_parser::{PartialJson, Unfinished};
/// use serde_json::json;
///
/// let mut partial = PartialJson::new();
/// partial.feed(r#"{"city": "Os"#);
/// assert_eq!(partial.value(), Some(&json!({"city": "Os"})));
/// assert_eq!(partial.unfinished(), Some(Unfinished::String));
/// assert_eq!(partial.pointer(), "/city");
/// partial.feed(r#"lo", "days": 1"#);
/// assert_eq!(partial.value(), Some(&json!({"city": "Oslo", "days": 1})));
/// partial.feed("0}");
/// assert_eq!(partial.value(), Some(&json!({"city": "Oslo", "days": 10})));
/// assert_eq!(partial.unfinished(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct PartialJson {
    root: Option<Json>,
    /// The containers that are open, from the outside.
    frames: Vec<Frame>,
    state: Awaited,
    /// The unfinished key, number, word or delimiter.
    pending: String,
    /// The unfinished escape, without its backslash.
    escape: String,
    /// The first half of a surrogate pair.
    high: Option<u32>,
    dialect: LenientSyntax,
    /// The dialect's delimiter that ends the open string.
    close: Option<usize>,
}

/// Liberties of some models' JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct LenientSyntax {
    pub(crate) unquoted_keys: bool,
    pub(crate) string_delims: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
enum Frame {
    Array,
    /// With the key of the value at work.
    Object(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Awaited {
    /// A value must come.
    #[default]
    Value,
    /// A value must come, or the end of the array.
    FirstItem,
    /// A key must come.
    Key,
    /// A key must come, or the end of the object.
    FirstKey,
    BareKey,
    Colon,
    /// A comma or the container's end must come.
    After,
    Text {
        key: bool,
    },
    Escape {
        key: bool,
    },
    /// Inside a string of the dialect, which knows no escapes.
    Delimited,
    /// The dialect's opening delimiter has begun.
    Opening,
    Number,
    Word,
    /// The value is complete.
    Done,
    /// The text is not JSON, or too deep; what came before stays.
    Broken,
}

impl PartialJson {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> PartialJson {
        PartialJson::default()
    }

    pub(crate) fn with_dialect(dialect: LenientSyntax) -> PartialJson {
        PartialJson {
            dialect,
            ..PartialJson::default()
        }
    }

    /// The value so far; `None` before anything of it can be told.
    #[must_use]
    pub fn value(&self) -> Option<&Json> {
        self.root.as_ref()
    }

    /// Returns the thing that the last character left unfinished; `None` before the value starts
    /// and when it is complete.
    #[must_use]
    pub fn unfinished(&self) -> Option<Unfinished> {
        match self.state {
            Awaited::Done => None,
            Awaited::Text { key: false } | Awaited::Escape { key: false } | Awaited::Delimited => {
                Some(Unfinished::String)
            }
            Awaited::Number if self.frames.is_empty() && self.root.is_none() => None,
            Awaited::Number => Some(Unfinished::Number),
            _ if self.frames.is_empty() => None,
            _ => Some(Unfinished::Container),
        }
    }

    /// Tells whether the value is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state == Awaited::Done
    }

    /// Tells whether the text turned out not to be JSON, or to be nested deeper than 128. The value
    /// stays what it was then.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.state == Awaited::Broken
    }

    /// The JSON Pointer (RFC 6901) of the innermost part at work.
    #[must_use]
    pub fn pointer(&self) -> String {
        let mut pointer = String::new();
        let mut node = self.root.as_ref();
        let mut frames = self.frames.iter().peekable();
        while let Some(frame) = frames.next() {
            // In the innermost container nothing may be at work.
            let at_work = frames.peek().is_some()
                || matches!(
                    self.unfinished(),
                    Some(Unfinished::String | Unfinished::Number)
                );
            match (frame, node) {
                (Frame::Object(key), Some(Json::Object(map))) if at_work => {
                    pointer.push('/');
                    pointer.push_str(&json_tree::pointer::escape(key));
                    node = map.get(key);
                }
                (Frame::Array, Some(Json::Array(items))) if at_work && !items.is_empty() => {
                    pointer.push_str(&format!("/{}", items.len() - 1));
                    node = items.last();
                }
                _ => break,
            }
        }
        pointer
    }

    /// Takes the next piece of the text.
    pub fn feed(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() && self.state != Awaited::Broken {
            let used = self.step(rest);
            rest = &rest[used..];
        }
    }

    /// Takes what it can from the front of `text`: nothing only where the state changes.
    fn step(&mut self, text: &str) -> usize {
        let Some(c) = text.chars().next() else {
            return 0;
        };
        match self.state {
            Awaited::Text { key } => self.text(text, key),
            Awaited::Escape { key } => self.escape(c, key),
            Awaited::Delimited => self.delimited(text),
            Awaited::Opening => self.opening(c),
            Awaited::BareKey => self.bare_key(text, c),
            Awaited::Number => self.number(text, c),
            Awaited::Word => self.word(c),
            _ if matches!(c, ' ' | '\t' | '\n' | '\r') => 1,
            Awaited::Value | Awaited::FirstItem => self.start_value(c),
            Awaited::Key | Awaited::FirstKey => self.start_key(c),
            Awaited::Colon | Awaited::After | Awaited::Done | Awaited::Broken => self.delimiter(c),
        }
    }

    /// Reads a value's first character, or the end of an array without items.
    fn start_value(&mut self, c: char) -> usize {
        match c {
            '"' => {
                self.add(Json::String(String::new()));
                self.state = Awaited::Text { key: false };
            }
            '{' => {
                let object = Json::Object(Map::new());
                let frame = Frame::Object(String::new());
                return self.open_container(object, frame, Awaited::FirstKey);
            }
            '[' => {
                let array = Json::Array(Vec::new());
                return self.open_container(array, Frame::Array, Awaited::FirstItem);
            }
            ']' if self.state == Awaited::FirstItem => self.close_container(),
            '-' | '0'..='9' => {
                self.add(Json::Null);
                return self.read_again(Awaited::Number);
            }
            't' | 'f' | 'n' | 'N' | 'I' => return self.read_again(Awaited::Word),
            c => {
                let mut delims = self.dialect.string_delims.iter();
                if delims.any(|(open, _)| open.starts_with(c)) {
                    return self.read_again(Awaited::Opening);
                }
                self.state = Awaited::Broken;
            }
        }
        c.len_utf8()
    }

    /// Opens a container, unless it is nested too deep.
    fn open_container(&mut self, container: Json, frame: Frame, state: Awaited) -> usize {
        if self.frames.len() >= MAX_DEPTH {
            self.state = Awaited::Broken;
            return 0;
        }
        self.add(container);
        self.frames.push(frame);
        self.state = state;
        1
    }

    /// Reads a key's first character, or the end of an object without members.
    fn start_key(&mut self, c: char) -> usize {
        match c {
            '"' => {
                self.pending.clear();
                self.state = Awaited::Text { key: true };
            }
            '}' if self.state == Awaited::FirstKey => self.close_container(),
            c if self.dialect.unquoted_keys && crate::pyre::is_word(c) => {
                return self.read_again(Awaited::BareKey);
            }
            _ => self.state = Awaited::Broken,
        }
        c.len_utf8()
    }

    /// Reads what comes behind a key or a value.
    fn delimiter(&mut self, c: char) -> usize {
        match (self.state, self.frames.last(), c) {
            (Awaited::Colon, _, ':') => self.state = Awaited::Value,
            (Awaited::After, Some(Frame::Array), ',') => self.state = Awaited::Value,
            (Awaited::After, _, ',') => self.state = Awaited::Key,
            (Awaited::After, Some(Frame::Array), ']')
            | (Awaited::After, Some(Frame::Object(_)), '}') => self.close_container(),
            _ => self.state = Awaited::Broken,
        }
        c.len_utf8()
    }

    /// Reads the character once more, as the first of what `state` says.
    fn read_again(&mut self, state: Awaited) -> usize {
        self.pending.clear();
        self.state = state;
        0
    }

    /// Reads on in a number.
    fn number(&mut self, text: &str, c: char) -> usize {
        if number::may_hold(c) {
            let length = text.find(|c| !number::may_hold(c)).unwrap_or(text.len());
            self.pending.push_str(&text[..length]);
            if self.pending.len() <= MAX_OPEN_NUMBER || length < text.len() {
                self.show_number();
            }
            return length;
        }
        if self.pending == "-" && c == 'I' {
            self.state = Awaited::Word;
            return 0;
        }
        self.show_number();
        self.pending.clear();
        self.after_value();
        0
    }

    /// Reads on in a string.
    fn text(&mut self, text: &str, key: bool) -> usize {
        let length = memchr::memchr2(b'"', b'\\', text.as_bytes()).unwrap_or(text.len());
        if let Some(control) = text[..length].find(|c| c < ' ') {
            self.push_text(&text[..control], key);
            self.state = Awaited::Broken;
            return control;
        }
        if length > 0 {
            self.push_text(&text[..length], key);
            return length;
        }
        if text.starts_with('\\') {
            self.escape.clear();
            self.state = Awaited::Escape { key };
            return 1;
        }
        self.flush_high(key);
        if key {
            if let Some(Frame::Object(name)) = self.frames.last_mut() {
                *name = std::mem::take(&mut self.pending);
            }
            self.state = Awaited::Colon;
        } else {
            self.after_value();
        }
        1
    }

    fn escape(&mut self, c: char, key: bool) -> usize {
        let plain = match (self.escape.is_empty(), c) {
            (true, 'u') => {
                self.escape.push('u');
                return 1;
            }
            (true, '"' | '\\' | '/') => c,
            (true, 'b') => '\u{8}',
            (true, 'f') => '\u{C}',
            (true, 'n') => '\n',
            (true, 'r') => '\r',
            (true, 't') => '\t',
            (false, c) if c.is_ascii_hexdigit() => {
                self.escape.push(c);
                if self.escape.len() == 5 {
                    let unit = u32::from_str_radix(&self.escape[1..], 16).unwrap_or(0xFFFD);
                    self.state = Awaited::Text { key };
                    self.unit(unit, key);
                }
                return 1;
            }
            _ => {
                self.state = Awaited::Broken;
                return 0;
            }
        };
        self.state = Awaited::Text { key };
        self.push_text(plain.encode_utf8(&mut [0; 4]), key);
        1
    }

    /// Adds a UTF-16 code unit; half a pair waits for the other half.
    fn unit(&mut self, unit: u32, key: bool) {
        match (self.high.take(), unit) {
            (Some(high), 0xDC00..=0xDFFF) => {
                let point = 0x1_0000 + ((high - 0xD800) << 10) + (unit - 0xDC00);
                let c = char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.push_text(c.encode_utf8(&mut [0; 4]), key);
            }
            (before, 0xD800..=0xDBFF) => {
                if before.is_some() {
                    self.push_text("\u{FFFD}", key);
                }
                self.high = Some(unit);
            }
            (before, _) => {
                if before.is_some() {
                    self.push_text("\u{FFFD}", key);
                }
                let c = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.push_text(c.encode_utf8(&mut [0; 4]), key);
            }
        }
    }

    fn flush_high(&mut self, key: bool) {
        if self.high.take().is_some() {
            self.push_text("\u{FFFD}", key);
        }
    }

    fn push_text(&mut self, text: &str, key: bool) {
        self.flush_high(key);
        if key {
            self.pending.push_str(text);
        } else if let Some(Json::String(open)) = self.last_mut() {
            open.push_str(text);
        }
    }

    fn bare_key(&mut self, text: &str, c: char) -> usize {
        if crate::pyre::is_word(c) {
            let length = text
                .find(|c: char| !crate::pyre::is_word(c))
                .unwrap_or(text.len());
            self.pending.push_str(&text[..length]);
            return length;
        }
        if let Some(Frame::Object(name)) = self.frames.last_mut() {
            *name = std::mem::take(&mut self.pending);
        }
        self.state = Awaited::Colon;
        0
    }

    /// Reads on in an opening delimiter of the dialect.
    fn opening(&mut self, c: char) -> usize {
        self.pending.push(c);
        let delims = &self.dialect.string_delims;
        if let Some(which) = delims.iter().position(|(open, _)| *open == self.pending) {
            self.close = Some(which);
            self.pending.clear();
            self.add(Json::String(String::new()));
            self.state = Awaited::Delimited;
        } else if !delims
            .iter()
            .any(|(open, _)| open.starts_with(&self.pending))
        {
            self.state = Awaited::Broken;
            return 0;
        }
        c.len_utf8()
    }

    /// Reads on in a string of the dialect; what may be its end waits.
    fn delimited(&mut self, text: &str) -> usize {
        let delims = &self.dialect.string_delims;
        let Some((_, close)) = self.close.and_then(|which| delims.get(which)) else {
            self.state = Awaited::Broken;
            return 0;
        };
        let close = close.clone();
        self.pending.push_str(text);
        let pending = std::mem::take(&mut self.pending);
        if let Some(end) = pending.find(&close) {
            self.push_text(&pending[..end], false);
            // The text that was pending before cannot hold the end of the delimiter.
            let left = pending.len() - end - close.len();
            self.close = None;
            self.after_value();
            return text.len() - left;
        }
        let keep = (1..close.len().min(pending.len() + 1))
            .rev()
            .find(|&n| close.is_char_boundary(n) && pending.ends_with(&close[..n]))
            .unwrap_or(0);
        let (sure, maybe) = pending.split_at(pending.len() - keep);
        self.push_text(sure, false);
        self.pending = maybe.to_owned();
        text.len()
    }

    fn word(&mut self, c: char) -> usize {
        /// The words of JSON, and of Python's numbers as its `json` writes them.
        const WORDS: [(&str, Json); 6] = [
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("null", Json::Null),
            ("NaN", Json::Null),
            ("Infinity", Json::Null),
            ("-Infinity", Json::Null),
        ];
        self.pending.push(c);
        if let Some((word, value)) = WORDS.iter().find(|(word, _)| *word == self.pending) {
            // The sign has made a place already.
            if !word.starts_with('-') {
                self.add(value.clone());
            }
            self.pending.clear();
            self.after_value();
        } else if !WORDS
            .iter()
            .any(|(word, _)| word.starts_with(&self.pending))
        {
            self.state = Awaited::Broken;
            return 0;
        }
        c.len_utf8()
    }

    /// Shows the longest number that the digits so far start with.
    fn show_number(&mut self) {
        let number = number::so_far(&self.pending);
        if let Some(place) = self.last_mut() {
            *place = number;
        }
    }

    fn close_container(&mut self) {
        self.frames.pop();
        self.after_value();
    }

    fn after_value(&mut self) {
        self.state = match self.frames.is_empty() {
            true => Awaited::Done,
            false => Awaited::After,
        };
    }

    /// Adds a value to the innermost open container.
    fn add(&mut self, value: Json) {
        let Some((last, outer)) = self.frames.split_last() else {
            self.root = Some(value);
            return;
        };
        match (descend(&mut self.root, outer), last) {
            (Some(Json::Array(items)), Frame::Array) => items.push(value),
            (Some(Json::Object(map)), Frame::Object(key)) => {
                map.insert(key.clone(), value);
            }
            _ => {}
        }
    }

    /// The value that was added last.
    fn last_mut(&mut self) -> Option<&mut Json> {
        descend(&mut self.root, &self.frames)
    }
}

/// The value at work inside these containers.
fn descend<'v>(root: &'v mut Option<Json>, frames: &[Frame]) -> Option<&'v mut Json> {
    let mut node = root.as_mut()?;
    for frame in frames {
        node = match (frame, node) {
            (Frame::Array, Json::Array(items)) => items.last_mut()?,
            (Frame::Object(key), Json::Object(map)) => map.get_mut(key)?,
            _ => return None,
        };
    }
    Some(node)
}
