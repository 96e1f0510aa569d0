//! Values as `repr` and `json.dumps` print them. For example, `[None, "it's"]` is printed as
//! `[None, "it's"]`, and as JSON `[null, "it's"]`.

use std::fmt::{Display, Write as _};

use serde_json::Value;

use crate::number::{float_json, float_repr};
use crate::text::quote;

/// A value that Python could print: it says to a [`Writer`] what it is.
///
/// ```
/// use python_compat::repr;
/// use python_compat::show::{Show, Writer};
///
/// struct Point(i64, i64);
///
/// impl Show for Point {
///     fn show(&self, to: &mut Writer<'_>) {
///         to.other("Point", &format!("Point({}, {})", self.0, self.1));
///     }
/// }
///
/// assert_eq!(repr(&Point(1, 2)), "Point(1, 2)");
/// ```
pub trait Show {
    /// Tells `to` what this is, by one call of one of its methods.
    fn show(&self, to: &mut Writer<'_>);
}

impl<T: Show + ?Sized> Show for &T {
    fn show(&self, to: &mut Writer<'_>) {
        (**self).show(to);
    }
}

impl Show for str {
    fn show(&self, to: &mut Writer<'_>) {
        to.text(self);
    }
}

impl Show for String {
    fn show(&self, to: &mut Writer<'_>) {
        to.text(self);
    }
}

/// Whoever passes it has seen to it that it does not nest too deep, with
/// `depth::is_within` of the crate `json-tree`.
impl Show for Value {
    fn show(&self, to: &mut Writer<'_>) {
        match self {
            Value::Null => to.none(),
            Value::Bool(value) => to.bool(*value),
            Value::Number(number) => match number.is_f64() {
                true => to.float(number.as_f64().unwrap_or(f64::NAN)),
                false => to.integer(number),
            },
            Value::String(text) => to.text(text),
            Value::Array(items) => to.list(items),
            Value::Object(map) if to.sorts_keys() => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                to.dict(entries);
            }
            Value::Object(map) => to.dict(map),
        }
    }
}

/// Python's `repr()`. O(what is printed).
///
/// ```
/// use python_compat::repr;
/// use serde_json::json;
///
/// assert_eq!(repr(&json!([true, null, "it's"])), r#"[True, None, "it's"]"#);
/// ```
#[must_use]
pub fn repr(value: &(impl Show + ?Sized)) -> String {
    let mut writer = Writer::new(None);
    value.show(&mut writer);
    writer.out
}

/// Python's `str()` of a value that is no text: the same as [`repr`], but texts stay as they are.
///
/// ```
/// use python_compat::show::str;
/// use serde_json::json;
///
/// assert_eq!(str(&json!("a")), "a");
/// assert_eq!(str(&json!(["a"])), "['a']");
/// ```
#[must_use]
pub fn str(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => repr(other),
    }
}

/// The style of JSON: arguments of `json.dumps`.
///
/// ```
/// use python_compat::dumps;
/// use python_compat::show::Style;
/// use serde_json::json;
///
/// let value = json!({"b": 1, "a": "é"});
/// assert_eq!(dumps(&value, &Style::plain())?, r#"{"b": 1, "a": "é"}"#);
/// let mut sorted = Style::compact_ascii();
/// sorted.sort_keys = true;
/// assert_eq!(dumps(&value, &sorted)?, r#"{"a":"\u00e9","b":1}"#);
/// # Ok::<(), python_compat::show::JsonError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Style {
    /// `ensure_ascii`: escapes everything beyond ASCII.
    pub ascii: bool,
    /// One level of indentation; none writes everything in one line.
    pub indent: Option<String>,
    /// The text between items, `", "` most often.
    pub item_separator: String,
    /// The text behind keys, `": "` most often.
    pub key_separator: String,
    /// `sort_keys`: whoever shows a map shows it sorted.
    pub sort_keys: bool,
    /// Most bytes of the text.
    pub limit: usize,
}

impl Style {
    /// `json.dumps(.., ensure_ascii=False)`: in one line, blanks behind separators, no limit.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            ascii: false,
            indent: None,
            item_separator: ", ".to_owned(),
            key_separator: ": ".to_owned(),
            sort_keys: false,
            limit: usize::MAX,
        }
    }

    /// `json.dumps(.., separators=(",", ":"))`: ASCII, as short as it gets.
    #[must_use]
    pub fn compact_ascii() -> Self {
        Self {
            ascii: true,
            item_separator: ",".to_owned(),
            key_separator: ":".to_owned(),
            ..Self::plain()
        }
    }
}

/// Why there is no JSON for a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonError {
    /// It has something that JSON has not; Python's words.
    Unserializable(String),
    /// The text would have more than [`Style::limit`] bytes.
    TooLong,
}

/// Python's `json.dumps()`. O(what is printed).
///
/// # Errors
///
/// There is no JSON for the value.
pub fn dumps(value: &(impl Show + ?Sized), style: &Style) -> Result<String, JsonError> {
    let mut writer = Writer::new(Some(style));
    value.show(&mut writer);
    if writer.out.len() > style.limit {
        writer.fail(JsonError::TooLong);
    }
    match writer.failed {
        None => Ok(writer.out),
        Some(error) => Err(error),
    }
}

/// The writer to which a [`Show`] describes itself. Writes `repr` or JSON.
#[derive(Debug)]
pub struct Writer<'s> {
    out: String,
    /// The style of JSON; none writes `repr`.
    json: Option<&'s Style>,
    level: usize,
    /// Inside of a key of JSON, where all that is no text becomes text.
    in_key: bool,
    failed: Option<JsonError>,
}

impl<'s> Writer<'s> {
    fn new(json: Option<&'s Style>) -> Self {
        Self {
            out: String::new(),
            json,
            level: 0,
            in_key: false,
            failed: None,
        }
    }

    /// Tells whether maps are to be shown sorted.
    #[must_use]
    pub fn sorts_keys(&self) -> bool {
        self.json.is_some_and(|style| style.sort_keys)
    }

    /// There is no JSON for the value, for that reason. The first one counts.
    #[cold]
    pub fn fail(&mut self, error: JsonError) {
        self.failed.get_or_insert(error);
    }

    fn word(&mut self, python: &str, json: &str) {
        match (self.json.is_some(), self.in_key) {
            (false, _) => self.out.push_str(python),
            (true, false) => self.out.push_str(json),
            (true, true) => self.out.extend(["\"", json, "\""]),
        }
    }

    /// `None`.
    pub fn none(&mut self) {
        self.word("None", "null");
    }

    /// `True` or `False`.
    pub fn bool(&mut self, value: bool) {
        match value {
            true => self.word("True", "true"),
            false => self.word("False", "false"),
        }
    }

    /// An integer of any size, which `Display` prints in decimal.
    pub fn integer(&mut self, value: impl Display) {
        let mark = if self.in_key { "\"" } else { "" };
        let _ = write!(self.out, "{mark}{value}{mark}");
    }

    /// A float.
    pub fn float(&mut self, value: f64) {
        self.word(&float_repr(value), &float_json(value));
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        match self.json {
            None => quote(&mut self.out, text),
            Some(style) => json_text(&mut self.out, text, style.ascii),
        }
    }

    /// A text of a subclass of `str`, whose `repr` names the class. JSON has it as a text.
    pub fn text_of_class(&mut self, class: &str, text: &str) {
        match self.json {
            Some(_) => self.text(text),
            None => {
                self.out.extend([class, "("]);
                self.text(text);
                self.out.push(')');
            }
        }
    }

    /// A text that may have halves of surrogate pairs, as UTF-16; `shown` where characters
    /// beyond ASCII are not escaped.
    pub fn text_of_utf16(&mut self, units: impl IntoIterator<Item = u16>, shown: &str) {
        match self.json {
            Some(style) if style.ascii => json_utf16(&mut self.out, units),
            _ => self.text(shown),
        }
    }

    /// A list.
    pub fn list<V: Show>(&mut self, items: impl IntoIterator<Item = V>) {
        self.items(["[", "]"], "list", items);
    }

    /// A tuple, which JSON has as a list.
    pub fn tuple<V: Show>(&mut self, items: impl IntoIterator<Item = V>) {
        match self.json.is_some() {
            true => {
                self.items(["[", "]"], "tuple", items);
            }
            false => {
                if self.items(["(", ")"], "tuple", items) == 1 {
                    self.out.pop();
                    self.out.push_str(",)");
                }
            }
        }
    }

    fn items<V: Show>(
        &mut self,
        brackets: [&str; 2],
        name: &str,
        items: impl IntoIterator<Item = V>,
    ) -> usize {
        if self.in_key {
            self.wrong_key(name);
            return 0;
        }
        self.out.push_str(brackets[0]);
        self.level += 1;
        let mut count = 0;
        for item in items {
            if self.failed.is_some() {
                break;
            }
            self.separate(count);
            item.show(self);
            count += 1;
        }
        self.close(count, brackets[1]);
        count
    }

    /// A map.
    pub fn dict<K: Show, V: Show>(&mut self, entries: impl IntoIterator<Item = (K, V)>) {
        if self.in_key {
            self.wrong_key("dict");
            return;
        }
        self.out.push('{');
        self.level += 1;
        let mut count = 0;
        for (key, value) in entries {
            if self.failed.is_some() {
                break;
            }
            self.separate(count);
            self.in_key = self.json.is_some();
            key.show(self);
            self.in_key = false;
            let separator = self.json.map_or(": ", |style| &style.key_separator);
            self.out.push_str(separator);
            value.show(self);
            count += 1;
        }
        self.close(count, "}");
    }

    /// Something that JSON has not, and its `repr`.
    pub fn other(&mut self, type_name: &str, repr: &str) {
        match (self.json.is_some(), self.in_key) {
            (false, _) => self.out.push_str(repr),
            (true, true) => self.wrong_key(type_name),
            (true, false) => self.fail(JsonError::Unserializable(format!(
                "Object of type {type_name} is not JSON serializable"
            ))),
        }
    }

    /// Something that JSON has not, and whose `repr` is a map between two texts.
    pub fn other_dict<K: Show, V: Show>(
        &mut self,
        type_name: &str,
        [before, after]: [&str; 2],
        entries: impl IntoIterator<Item = (K, V)>,
    ) {
        if self.json.is_some() {
            return self.other(type_name, "");
        }
        self.out.push_str(before);
        self.dict(entries);
        self.out.push_str(after);
    }

    /// Returns the number of lists and maps that are open.
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    /// Returns the number of bytes that are written.
    #[must_use]
    pub fn written(&self) -> usize {
        self.out.len()
    }

    #[cold]
    fn wrong_key(&mut self, name: &str) {
        self.fail(JsonError::Unserializable(format!(
            "keys must be str, int, float, bool or None, not {name}"
        )));
    }

    /// Writes the separator before an item.
    fn separate(&mut self, at: usize) {
        let Some(style) = self.json else {
            if at > 0 {
                self.out.push_str(", ");
            }
            return;
        };
        if at > 0 {
            self.out.push_str(&style.item_separator);
        }
        self.indent();
        if self.out.len() > style.limit {
            self.fail(JsonError::TooLong);
        }
    }

    fn close(&mut self, count: usize, bracket: &str) {
        self.level -= 1;
        if count > 0 {
            self.indent();
        }
        self.out.push_str(bracket);
    }

    fn indent(&mut self) {
        if let Some(indent) = self.json.and_then(|style| style.indent.as_deref()) {
            self.out.push('\n');
            (0..self.level).for_each(|_| self.out.push_str(indent));
        }
    }
}

/// A text as a JSON string.
fn json_text(out: &mut String, text: &str, ascii: bool) {
    if ascii {
        return json_utf16(out, text.encode_utf16());
    }
    out.push('"');
    for c in text.chars() {
        match short_escape(c) {
            Some(escape) => out.push_str(escape),
            None if c < ' ' => unit(out, u32::from(c)),
            None => out.push(c),
        }
    }
    out.push('"');
}

fn json_utf16(out: &mut String, units: impl IntoIterator<Item = u16>) {
    out.push('"');
    for code in units {
        let c = char::from_u32(u32::from(code)).unwrap_or(char::REPLACEMENT_CHARACTER);
        match short_escape(c) {
            Some(escape) => out.push_str(escape),
            None if (' '..='~').contains(&c) => out.push(c),
            None => unit(out, u32::from(code)),
        }
    }
    out.push('"');
}

fn short_escape(c: char) -> Option<&'static str> {
    Some(match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        _ => return None,
    })
}

fn unit(out: &mut String, code: u32) {
    let _ = write!(out, "\\u{code:04x}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_print_as_repr_prints_them() {
        let value = json!({"a": [null, true, 1, 1.0, "it's"], "b": {}, "c": 1e-7, "d": []});
        let expected = r#"{'a': [None, True, 1, 1.0, "it's"], 'b': {}, 'c': 1e-07, 'd': []}"#;
        assert_eq!(repr(&value), expected);
        assert_eq!(str(&json!("it's")), "it's");
        let mut writer = Writer::new(None);
        writer.tuple(["a"]);
        writer.tuple(["a", "b"]);
        writer.tuple::<&str>([]);
        assert_eq!(writer.out, "('a',)('a', 'b')()");
    }

    #[test]
    fn json_is_written_as_json_dumps_writes_it() {
        let value = json!({"a": [1, "é😀\u{7f}\n", []], "b": {"c": null}, "d": {}});
        let write = |style: &Style| dumps(&value, style).unwrap();
        assert_eq!(
            write(&Style::plain()),
            "{\"a\": [1, \"é😀\u{7f}\\n\", []], \"b\": {\"c\": null}, \"d\": {}}"
        );
        assert_eq!(
            write(&Style::compact_ascii()),
            r#"{"a":[1,"\u00e9\ud83d\ude00\u007f\n",[]],"b":{"c":null},"d":{}}"#
        );
        let indented = Style {
            indent: Some(" ".to_owned()),
            item_separator: ",".to_owned(),
            ..Style::plain()
        };
        assert_eq!(
            write(&indented),
            "{\n \"a\": [\n  1,\n  \"é😀\u{7f}\\n\",\n  []\n ],\n \"b\": {\n  \"c\": null\n },\n \"d\": {}\n}"
        );
        let short = Style {
            limit: 10,
            ..Style::plain()
        };
        assert_eq!(dumps(&value, &short), Err(JsonError::TooLong));
    }

    #[test]
    fn keys_become_texts_and_what_json_has_not_is_refused() {
        struct Odd;
        impl Show for Odd {
            fn show(&self, to: &mut Writer<'_>) {
                to.other("set", "set()");
            }
        }
        let style = Style::plain();
        let mut writer = Writer::new(Some(&style));
        writer.dict([(json!(null), 1.into()), (json!(1.5), json!(true))]);
        assert_eq!(writer.out, r#"{"null": 1, "1.5": true}"#);
        assert_eq!(repr(&Odd), "set()");
        let error = |message: &str| Err(JsonError::Unserializable(message.to_owned()));
        assert_eq!(
            dumps(&Odd, &style),
            error("Object of type set is not JSON serializable")
        );
        let mut writer = Writer::new(Some(&style));
        writer.dict([(json!([]), json!(1))]);
        let said = "keys must be str, int, float, bool or None, not list";
        assert_eq!(
            writer.failed,
            Some(JsonError::Unserializable(said.to_owned()))
        );
    }
}
