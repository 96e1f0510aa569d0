//! Arguments of a call as elements one after another: the XML styles of `json_schema`.
//!
//! The strings of a value stand as they are, up to the mark that closes the element, and
//! everything else as JSON. So a schema is taken apart by types: what it says of strings is
//! compiled alone, and what it says of the rest.
//!
//! For example, `<parameter=city>Ulm</parameter>` has a string as it is, and
//! `<parameter=days>3</parameter>` a number.

mod nested;
mod properties;
mod said;

use std::collections::HashMap;

use schema_regex::Options;
use schema_regex::automaton::SchemaAutomaton;
use serde_json::{Map, Value, json};

use self::properties::Properties;
use self::said::{type_of, unknown};
use super::format::limits::TagLimits;
use super::format::{JsonFormat, Style, at, refused, schema};
use crate::Error;
use crate::build::{Node, RunNode, dfa};
use crate::quiet::Quiet;
use crate::whole::Whole;

/// The arguments that a schema admits, in one of the XML styles.
pub(super) fn node(
    format: &JsonFormat,
    limits: &TagLimits,
    rules: &mut Vec<Node>,
) -> Result<Node, Error> {
    check_excludes(format)?;
    let options = schema::options(format, limits)?;
    let space = match format.max_space {
        None => r"[ \t\n\r]*".to_owned(),
        Some(most) => format!(r"[ \t\n\r]{{0,{most}}}"),
    };
    let filtered = schema::prepared(format)?;
    let mut xml = Xml {
        format,
        filtered: &filtered,
        options: &options,
        space: Node::regex(&space)?,
        limits,
        rules,
        referred: HashMap::new(),
        any: None,
    };
    xml.root()
}

fn check_excludes(format: &JsonFormat) -> Result<(), Error> {
    if format.excludes.is_empty() {
        return Ok(());
    }
    if matches!(format.style, Style::Cohere | Style::MiniMaxM3) {
        return Err(refused(&format.at, "this style takes no excludes"));
    }
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    match format
        .excludes
        .iter()
        .find(|text| text.starts_with(is_space) || text.ends_with(is_space))
    {
        Some(text) => Err(refused(
            &format.at,
            format!("the exclude {text:?} begins or ends with white space"),
        )),
        None => Ok(()),
    }
}

struct Xml<'a> {
    format: &'a JsonFormat,
    /// The schema, in whose strings the excluded texts do not occur.
    filtered: &'a Value,
    options: &'a Options,
    space: Node,
    limits: &'a TagLimits,
    /// Values that nest in themselves.
    rules: &'a mut Vec<Node>,
    /// The numbers of rules of what references lead to, by JSON Pointer.
    referred: HashMap<String, usize>,
    /// The rule of any value, where values nest in this notation.
    any: Option<usize>,
}

/// The strings that a schema admits.
#[derive(Default)]
struct Strings {
    /// Any may come.
    plain: bool,
    /// These may.
    listed: Vec<String>,
    /// Some may, which the schema tells.
    bound: bool,
}

/// The kinds of values at a place in the schema, by its form alone.
#[derive(Clone, Copy, Default)]
struct Kinds {
    string: bool,
    scalar: bool,
    object: bool,
    array: bool,
}

/// The levels of references and alternatives that are followed, because they may form a circle.
const MAX_DEPTH: usize = 64;

/// The names of arguments that no schema declares: identifiers, as XGrammar has them.
const FREE_NAME: &str = "[a-zA-Z_][a-zA-Z0-9_]*";

/// The names that no mark of a style ends, because none of their characters belongs to a mark.
const SAFE_NAME: &str = r#"[^<>"&\s]+(?: [^<>"&\s]+)*"#;

/// The names that may be any text, escaped as XML has them.
const ESCAPED_NAME: &str = r#"(?s:[^&<>"]|&amp;|&lt;|&gt;|&quot;)+"#;

impl Xml<'_> {
    fn style(&self) -> Style {
        self.format.style
    }

    #[cold]
    fn refused(&self, pointer: &str, what: impl std::fmt::Display) -> Error {
        refused(&format!("{}{pointer}", self.format.at), what)
    }

    fn get(&self, pointer: &str) -> Result<&Value, Error> {
        let found = self.format.schema.pointer(pointer);
        found.ok_or_else(|| self.refused("", format!("nothing is at \"#{pointer}\"")))
    }

    /// The schema at a pointer, where it is an object.
    fn map(&self, pointer: &str) -> Result<Option<Map<String, Value>>, Error> {
        Ok(self.get(pointer)?.as_object().cloned())
    }

    /// The automaton of what a place admits together with `more`; `None` if that is nothing.
    fn compiled(&self, pointer: &str, more: &[Value]) -> Result<Option<SchemaAutomaton>, Error> {
        let whole = Whole {
            schema: self.filtered,
            options: self.options,
        };
        let compiled = whole.compile(pointer, more);
        compiled.map_err(|error| at(&self.format.at, error))
    }

    /// Strings as they are, up to a text that closes them.
    fn raw(&mut self, pointer: &str, close: &str) -> Result<Option<Node>, Error> {
        let strings = self.strings(pointer, 0)?;
        if strings.plain {
            return Ok(Some(self.free(close)));
        }
        if self.style() == Style::MiniMaxM3 && strings.bound {
            return Err(self.refused(pointer, "this style takes no limits of strings"));
        }
        let mut ways = Vec::new();
        if !strings.listed.is_empty() {
            let texts = strings.listed.iter().map(Node::text).collect();
            let spaced = !matches!(
                self.style(),
                Style::DeepSeek | Style::DeepSeekV41 | Style::MiniMaxM3
            );
            ways.push(match spaced {
                true => self.spaced(Node::Alt(texts)),
                false => Node::Alt(texts),
            });
        }
        if strings.bound
            && let Some(automaton) = self.compiled(pointer, &[json!({"type": "string"})])?
        {
            ways.push(Node::Raw(automaton));
        }
        Ok((!ways.is_empty()).then_some(Node::Alt(ways)))
    }

    /// Any text, up to one that closes it.
    fn free(&self, close: &str) -> Node {
        let close = (!close.is_empty()).then(|| close.to_owned());
        Node::Run(Box::new(RunNode::without(
            self.format.excludes.iter().cloned().chain(close),
        )))
    }

    fn spaced(&self, node: Node) -> Node {
        Node::Seq(vec![self.space.clone(), node, self.space.clone()])
    }

    /// JSON of a place, but for some types; `None` if there is none.
    fn json(&self, pointer: &str, types: &[&str]) -> Result<Option<Node>, Error> {
        let more = [json!({"type": types})];
        let Some(automaton) = self.compiled(pointer, &more)? else {
            return Ok(None);
        };
        let node = Node::Json(automaton.into(), Vec::new());
        Ok(Some(match self.style() {
            Style::MiniMaxM3 => node,
            _ => self.spaced(node),
        }))
    }

    fn nests(&self) -> bool {
        matches!(self.style(), Style::Cohere | Style::MiniMaxM3)
    }

    /// JSON of whatever is no string, or no string, object and array where these have a
    /// notation of their own.
    fn rest(&self, pointer: &str, kinds: Kinds) -> Result<Option<Node>, Error> {
        let mut types = Vec::new();
        if kinds.scalar {
            types.extend(["number", "boolean", "null"]);
        }
        if kinds.object && !self.nests() {
            types.push("object");
        }
        if kinds.array && !self.nests() {
            types.push("array");
        }
        match types.is_empty() {
            true => Ok(None),
            false => self.json(pointer, &types),
        }
    }

    fn root(&mut self) -> Result<Node, Error> {
        let kinds = self.kinds("", 0)?;
        let is_any = kinds.string && kinds.object && kinds.array && kinds.scalar;
        if is_any && self.strings("", 0)?.plain {
            return self.any_properties("");
        }
        let mut ways = Vec::new();
        if kinds.object {
            ways.push(self.object("", 0)?);
        }
        if kinds.string {
            let close = self.close();
            ways.extend(self.raw("", close)?);
        }
        if kinds.array && self.nests() {
            ways.push(self.array("", 0)?);
        }
        let others = Kinds {
            object: false,
            ..kinds
        };
        ways.extend(self.rest("", others)?);
        match ways.is_empty() {
            true => Err(self.refused("", "nothing satisfies the schema")),
            false => Ok(Node::Alt(ways)),
        }
    }

    /// Any properties of any values.
    fn any_properties(&mut self, pointer: &str) -> Result<Node, Error> {
        if self.style() == Style::MiniMaxM3 {
            return Err(self.refused(pointer, "this style takes no schema that allows anything"));
        }
        let entry = self.free_entry(None, &[])?;
        let entry = Node::Seq(vec![entry, self.space.clone()]);
        Ok(Node::Seq(vec![
            self.space.clone(),
            Node::optional(Node::many(entry, "")),
        ]))
    }

    /// The inside of an object: its properties.
    fn object(&mut self, pointer: &str, depth: usize) -> Result<Node, Error> {
        if depth > MAX_DEPTH {
            return Err(self.refused(pointer, "the schema nests too deep"));
        }
        let Some(map) = self.map(pointer)? else {
            return self.any_properties(pointer);
        };
        if let Some(reference) = map.get("$ref") {
            let target = self.target(pointer, reference)?;
            return self.by_rule(&target, depth, Xml::object);
        }
        if let Some(branches) = self.branches(pointer, &map, &["type"], |kinds| kinds.object)? {
            let ways = branches.iter().map(|branch| self.object(branch, depth + 1));
            return Ok(Node::Alt(ways.collect::<Result<_, Error>>()?));
        }
        /// The keywords that this style can enforce, as the others have no place in elements.
        const KNOWN: [&str; 9] = [
            "type",
            "properties",
            "patternProperties",
            "required",
            "additionalProperties",
            "unevaluatedProperties",
            "minProperties",
            "maxProperties",
            "$id",
        ];
        if let Some(other) = unknown(&map, &KNOWN) {
            return Err(self.refused(
                &format!("{pointer}/{other}"),
                format!("the keyword {other:?} is not supported in this style"),
            ));
        }
        Properties::read(self, pointer, &map)?.node(depth)
    }

    fn count(&self, pointer: &str, counted: usize) -> Result<(), Error> {
        let most = self.limits.max_repeat as usize;
        match counted > most {
            true => Err(self.refused(
                pointer,
                format!("{counted} is counted; the limit is {most} (TagLimits::max_repeat)"),
            )),
            false => Ok(()),
        }
    }

    /// A part of the schema as a rule, which may lead to itself.
    fn by_rule(
        &mut self,
        pointer: &str,
        depth: usize,
        part: fn(&mut Self, &str, usize) -> Result<Node, Error>,
    ) -> Result<Node, Error> {
        let key = format!("{pointer} {}", part as usize);
        if let Some(rule) = self.referred.get(&key) {
            return Ok(Node::Call(*rule));
        }
        let rule = self.rules.len();
        self.rules.push(Node::nothing());
        self.referred.insert(key, rule);
        let node = part(self, pointer, depth + 1)?;
        self.rules[rule] = node;
        Ok(Node::Call(rule))
    }

    /// A property of a name; `None` if no value satisfies its schema.
    fn entry(&mut self, name: &str, value: &str, depth: usize) -> Result<Option<Node>, Error> {
        if self.style() == Style::MiniMaxM3 {
            return self.m3_element(name, value, depth);
        }
        let name = Node::text(self.written(name));
        self.named_entry(name, Some(value), depth)
    }

    /// A property of a name, of any value.
    fn any_entry(&mut self, name: &str) -> Result<Node, Error> {
        let name = Node::text(self.written(name));
        let entry = self.named_entry(name, None, 0)?;
        entry.ok_or_else(|| self.refused("", "no value is any"))
    }

    /// A property of a name that is not known.
    fn free_entry(&mut self, value: Option<&str>, known: &[String]) -> Result<Node, Error> {
        let pattern = match self.style() {
            Style::Cohere => ESCAPED_NAME,
            _ => FREE_NAME,
        };
        let entry = self.entry_of(pattern, known, value)?;
        entry.ok_or_else(|| self.refused(value.unwrap_or_default(), "no value satisfies it"))
    }

    /// A property of a name that matches an expression, and none of some others.
    fn entry_of(
        &mut self,
        pattern: &str,
        known: &[String],
        value: Option<&str>,
    ) -> Result<Option<Node>, Error> {
        // A text that would end the name has no place in it.
        let safe = match self.style() {
            Style::Cohere => ESCAPED_NAME,
            _ => SAFE_NAME,
        };
        let name = Quiet::both(&dfa(pattern)?, &dfa(safe)?)?;
        let name = match known {
            [] => name,
            known => {
                let pattern = format!("(?:{})", known.join("|"));
                name.minus(&dfa(&pattern)?)?
            }
        };
        self.named_entry(Node::Quiet(name), value, 0)
    }

    /// A name as the style writes it.
    fn written(&self, name: &str) -> String {
        match self.style() {
            Style::KimiK3 => name.replace('&', "&amp;").replace('"', "&quot;"),
            Style::Cohere => name
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
                .replace('"', "&quot;"),
            _ => name.to_owned(),
        }
    }

    /// Returns what closes a value, and does not occur in one that is raw.
    fn close(&self) -> &'static str {
        match self.style() {
            Style::Qwen | Style::MiniMax => "</parameter>",
            Style::DeepSeek => "</｜DSML｜parameter>",
            Style::DeepSeekV41 => "</｜DSML｜ parameter>",
            Style::Glm => "</arg_value>",
            Style::KimiK3 => "<|close|>argument<|sep|>",
            Style::Cohere => COHERE_CLOSE,
            Style::MiniMaxM3 => M3_MARK,
            Style::Json => "",
        }
    }

    /// A property; without a place of its schema, of any value.
    fn named_entry(
        &mut self,
        name: Node,
        value: Option<&str>,
        depth: usize,
    ) -> Result<Option<Node>, Error> {
        let (before, behind) = match self.style() {
            Style::Qwen => ("<parameter=", ">"),
            Style::MiniMax => ("<parameter name=\"", "\">"),
            Style::DeepSeek => ("<｜DSML｜parameter name=\"", "\" string=\""),
            Style::DeepSeekV41 => ("<｜DSML｜ parameter name=\"", "\" string=\""),
            Style::Glm => ("<arg_key>", "</arg_key>"),
            Style::KimiK3 => ("<|open|>argument key=\"", "\" type=\""),
            Style::Cohere => ("<cofl:value name=\"", "\" type=\""),
            Style::Json | Style::MiniMaxM3 => return Ok(None),
        };
        let close = self.close();
        let inside = match (self.style(), value) {
            (Style::Cohere, None) => Some(self.any_tail()?),
            (Style::Cohere, Some(value)) => self.cohere_tails(value, depth)?,
            (Style::DeepSeek | Style::DeepSeekV41, _) => self.deepseek_value(value, close)?,
            (Style::KimiK3, _) => self.value(value, close)?.map(|inside| {
                let types = self.kimi_types(value);
                let types = types.iter().map(|name| Node::text(*name)).collect();
                Node::Seq(vec![Node::Alt(types), Node::text("\"<|sep|>"), inside])
            }),
            (Style::Glm, _) => self.value(value, close)?.map(|inside| {
                Node::Seq(vec![self.space.clone(), Node::text("<arg_value>"), inside])
            }),
            _ => self.value(value, close)?,
        };
        // There what closes a value is a part of it.
        let close = match self.style() {
            Style::Cohere => "",
            _ => close,
        };
        Ok(inside.map(|inside| {
            Node::Seq(vec![
                Node::text(before),
                name,
                Node::text(behind),
                inside,
                Node::text(close),
            ])
        }))
    }

    /// A value: strings as they are, everything else as JSON.
    fn value(&mut self, value: Option<&str>, close: &str) -> Result<Option<Node>, Error> {
        let Some(pointer) = value else {
            return Ok(Some(self.free(close)));
        };
        let kinds = self.kinds(pointer, 0)?;
        if self.strings(pointer, 0)?.plain {
            return Ok(Some(self.free(close)));
        }
        let raw = self.raw(pointer, close)?;
        let rest = self.rest(pointer, kinds)?;
        let ways: Vec<Node> = raw.into_iter().chain(rest).collect();
        Ok((!ways.is_empty()).then_some(Node::Alt(ways)))
    }

    fn deepseek_value(&mut self, value: Option<&str>, close: &str) -> Result<Option<Node>, Error> {
        let (raw, rest) = match value {
            None => (Some(self.free(close)), None),
            Some(pointer) => {
                let kinds = self.kinds(pointer, 0)?;
                let raw = self.raw(pointer, close)?;
                let is_any = kinds.string && kinds.scalar && kinds.object && kinds.array;
                match is_any && self.strings(pointer, 0)?.plain {
                    true => (raw, None),
                    false => (raw, self.rest(pointer, kinds)?),
                }
            }
        };
        let raw = raw.map(|node| Node::Seq(vec![Node::text("true\">"), node]));
        let rest = rest.map(|node| Node::Seq(vec![Node::text("false\">"), node]));
        let ways: Vec<Node> = raw.into_iter().chain(rest).collect();
        Ok((!ways.is_empty()).then_some(Node::Alt(ways)))
    }

    /// The words for the type of a value.
    fn kimi_types(&self, value: Option<&str>) -> Vec<&'static str> {
        /// The types that the style names, as JSON Schema has them.
        const ALL: [&str; 7] = [
            "string", "number", "integer", "boolean", "object", "array", "null",
        ];
        let map = value.and_then(|pointer| self.map(pointer).ok().flatten());
        let Some(map) = map.filter(|map| !map.contains_key("$ref")) else {
            return ALL.to_vec();
        };
        let several = map.get("enum").and_then(Value::as_array).cloned();
        let values = several.or_else(|| map.get("const").map(|one| vec![one.clone()]));
        let name = match (values, map.get("type").and_then(Value::as_str)) {
            (Some(values), _) => {
                let mut names = values.iter().map(type_of);
                let first = names.next();
                first.filter(|first| names.all(|name| name == *first))
            }
            (None, name) => name,
        };
        let name = match name {
            Some("integer") => Some("number"),
            other => other,
        };
        match ALL.iter().find(|known| Some(**known) == name) {
            Some(known) => vec![known],
            None => ALL.to_vec(),
        }
    }
}

/// The end of a value, as Cohere's models write it.
const COHERE_CLOSE: &str = "</cofl:value>";
/// The mark before each tag, as MiniMax's models write it.
const M3_MARK: &str = "]<]minimax[>[";

fn cohere_tail(word: &str, inside: Node) -> Node {
    Node::Seq(vec![
        Node::text(format!("{word}\">")),
        inside,
        Node::text(COHERE_CLOSE),
    ])
}
