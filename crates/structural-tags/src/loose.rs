//! Values in another notation than JSON: as an object whose keys stand without quotes and whose
//! strings stand between delimiters of their own, or as Python's literals.
//!
//! For example, `{city:<|"|>Ulm<|"|>,days:3}`, or `{'city': 'Ulm', 'late': True}`. Objects, arrays
//! and strings are spelt so as far as a schema lists what is in them. Values that it describes
//! otherwise are spelt as JSON, which the same parsers read; as a literal of Python these have no
//! `true`, `false` and `null` then.

use std::cell::Cell;
use std::collections::BTreeSet;

use json_tree::{pointer, subschemas};
use schema_regex::automaton::SchemaAutomaton;
use serde_json::{Map, Value, json};

use super::build::{Between, Node};
use super::escape;
use super::kept_out::{everywhere, everywhere_without, strings_without};
use super::orders::Orders;
use super::whole::{ANNOTATIONS, Whole, types};
use crate::{Error, ErrorKind};

/// The number of references and levels that are spelt out before the rest is JSON, because
/// references may form a circle.
const DEPTH: usize = 8;

/// The number of values of one schema that are spelt out before the rest is JSON, because
/// definitions that refer to each other are spelt out once for each way to them.
const VALUES: usize = 300;

/// The most items of an array that are spelt out one by one, because each is a copy of parts.
const ITEMS: u64 = 32;

/// A notation of values.
#[derive(Clone, Copy, Debug)]
pub(super) enum Notation<'a> {
    /// Keys without quotes, and strings between these delimiters, as they are.
    Bare(&'a str, &'a str),
    /// Python's literals: strings as JSON has them or in single quotes, `True`, `False` and `None`.
    Python,
}

/// The notation of values and the schema that they obey.
#[derive(Debug)]
pub(super) struct Loose<'a> {
    notation: Notation<'a>,
    /// The texts that end the arguments for the parser.
    pub(super) closes: &'a [String],
    /// The whole schema.
    pub(super) whole: Whole<'a>,
    /// The orders in which members come.
    orders: &'a Orders,
    /// The number of values that may still be spelt out.
    left: Cell<usize>,
    /// The rule of any value, once there is one.
    any: Cell<Option<usize>>,
}

/// A part of the whole schema, and where it stands.
struct LoosePlace<'a> {
    schema: &'a Value,
    pointer: String,
    /// The number of references and levels above it.
    depth: usize,
    /// The number of times that it is spelt out.
    copies: usize,
}

impl<'a> LoosePlace<'a> {
    fn below(&self, schema: &'a Value, path: &str) -> LoosePlace<'a> {
        LoosePlace {
            schema,
            pointer: format!("{}{path}", self.pointer),
            depth: self.depth + 1,
            copies: self.copies,
        }
    }

    fn keyword(&self, name: &str) -> Option<&'a Value> {
        self.schema.get(name)
    }

    /// Tells whether all keywords are such, or say nothing about which values are right.
    fn has_only(&self, known: impl Fn(&str, &Value) -> bool) -> bool {
        let keywords = self.schema.as_object().into_iter().flatten();
        let mut others = keywords.filter(|(key, _)| !ANNOTATIONS.contains(&key.as_str()));
        others.all(|(key, value)| known(key, value))
    }
}

impl<'a> Loose<'a> {
    pub(super) fn new(
        notation: Notation<'a>,
        closes: &'a [String],
        whole: Whole<'a>,
        orders: &'a Orders,
    ) -> Self {
        Loose {
            notation,
            closes,
            whole,
            orders,
            left: Cell::new(VALUES),
            any: Cell::new(None),
        }
    }

    /// The arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the schema is refused, or no value of it can be
    /// written so.
    pub(super) fn arguments(&self, rules: &mut Vec<Node>) -> Result<Node, Error> {
        let whole = LoosePlace {
            schema: self.whole.schema,
            pointer: String::new(),
            depth: 0,
            copies: 1,
        };
        self.value(&whole, rules)?.ok_or_else(nothing)
    }

    /// The value of a part of the schema; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the part is refused.
    pub(super) fn part(
        &self,
        pointer: String,
        rules: &mut Vec<Node>,
    ) -> Result<Option<Node>, Error> {
        let schema = self.whole.schema;
        let place = LoosePlace {
            schema: schema.pointer(&pointer).unwrap_or(schema),
            pointer,
            depth: 0,
            copies: 1,
        };
        self.value(&place, rules)
    }

    /// A value; `None` if there is none.
    fn value(&self, at: &LoosePlace<'_>, rules: &mut Vec<Node>) -> Result<Option<Node>, Error> {
        if let Some(target) = self.referred(at) {
            return self.value(&target, rules);
        }
        let several = at.keyword("anyOf").and_then(Value::as_array);
        let alone = |several: &&Vec<Value>| {
            at.has_only(|key, _| key == "anyOf") && self.take(at, several.len())
        };
        if let Some(several) = several.filter(alone) {
            let mut ways = Vec::new();
            for (n, way) in several.iter().enumerate() {
                ways.extend(self.value(&at.below(way, &format!("/anyOf/{n}")), rules)?);
            }
            return Ok(one_of(ways));
        }
        let types = types(self.whole.schema, at.schema);
        let mut ways = Vec::new();
        if types.contains("string") {
            ways.extend(self.string(at)?);
        }
        let as_json: &[&str] = match self.notation {
            Notation::Bare(..) => &["boolean", "null", "number"],
            Notation::Python => &["number"],
        };
        let scalars = as_json.iter().copied();
        let scalars: Vec<&str> = scalars.filter(|name| types.contains(name)).collect();
        if !scalars.is_empty() {
            let scalars = json!({"type": scalars});
            ways.extend(self.json(at, &[scalars], Vec::new())?);
        }
        if let Notation::Python = self.notation {
            for (value, word) in python_words() {
                let may = types.contains(if value.is_null() { "null" } else { "boolean" });
                if may && self.compile(at, &[json!({"const": value})])?.is_some() {
                    ways.push(Node::text(word));
                }
            }
        }
        if types.contains("array") {
            ways.extend(match self.array(at, rules)? {
                Some(node) => Some(node),
                None => self.plain(at, Some("array"))?,
            });
        }
        if types.contains("object") {
            ways.extend(match self.object(at, rules)? {
                Some(node) => Some(node),
                None => self.plain(at, Some("object"))?,
            });
        }
        Ok(one_of(ways))
    }

    /// The automaton of a part, and of what else its values must obey; `None` if
    /// there are none.
    fn compile(
        &self,
        at: &LoosePlace<'_>,
        more: &[Value],
    ) -> Result<Option<SchemaAutomaton>, Error> {
        self.whole.compile(&at.pointer, more)
    }

    fn json(
        &self,
        at: &LoosePlace<'_>,
        more: &[Value],
        markers: Vec<String>,
    ) -> Result<Option<Node>, Error> {
        let automaton = self.compile(at, more)?;
        Ok(automaton.map(|automaton| Node::Json(automaton.into(), markers)))
    }

    /// Tells whether there is room to spell out so many values there, which are then counted.
    fn take(&self, at: &LoosePlace<'_>, values: usize) -> bool {
        let left = self
            .left
            .get()
            .checked_sub(at.copies.saturating_mul(values));
        self.left.set(left.unwrap_or(self.left.get()));
        left.is_some() && at.depth <= DEPTH
    }

    /// Returns the part that the schema refers to, if that is all it does.
    fn referred(&self, at: &LoosePlace<'_>) -> Option<LoosePlace<'_>> {
        let pointer = at.keyword("$ref")?.as_str()?.strip_prefix('#')?;
        let plain = pointer.starts_with("/$defs/") || pointer.starts_with("/definitions/");
        let found = self.whole.schema.pointer(pointer)?;
        (plain
            && at.depth <= DEPTH
            && !pointer.contains('%')
            && at.has_only(|key, _| key == "$ref"))
        .then(|| LoosePlace {
            schema: found,
            pointer: pointer.to_owned(),
            depth: at.depth + 1,
            copies: at.copies,
        })
    }

    /// JSON as it is, but for what the parser would read otherwise: strings in which it would
    /// take a word for a key (`{a:` or `,a:`), or words that are none of Python's.
    fn plain(&self, at: &LoosePlace<'_>, only: Option<&str>) -> Result<Option<Node>, Error> {
        // A text that the parser takes for a key, because it looks for a word before a colon.
        const MISTAKEN: &str = r"[{,][^{},:\s]+:";
        // A pointer, because this is the first schema that is compiled beside a part.
        const OWN: &str = "#/allOf/1";
        let quiet = match self.notation {
            Notation::Bare(..) => everywhere_without(MISTAKEN, OWN),
            Notation::Python => {
                let types = json!({"type": ["string", "number", "array", "object"]});
                everywhere(types, OWN)
            }
        };
        let mut more = vec![quiet];
        more.extend(only.map(|name| json!({"type": name})));
        self.json(at, &more, self.closes.to_vec())
    }

    /// A string: in the notation, what it says as it is or nearly so.
    fn string(&self, at: &LoosePlace<'_>) -> Result<Option<Node>, Error> {
        let limit = at.keyword("maxLength").and_then(Value::as_u64);
        let limit = limit.and_then(|limit| u32::try_from(limit).ok());
        let is_plain = at.has_only(|key, _| key == "type");
        let is_bare = matches!(self.notation, Notation::Bare(..));
        let known = |key: &str| key == "type" || key == "maxLength" && limit.is_some() && is_bare;
        let text = match at.has_only(|key, _| known(key)) {
            true => Some(self.text(limit)?),
            false => self.raw(at)?.map(Node::Raw),
        };
        let text = text.map(|text| self.quoted(text));
        if is_bare {
            return Ok(text);
        }
        let json = match is_plain {
            true => Some(self.json_string()?),
            false => self.json(at, &[json!({"type": "string"})], self.closes.to_vec())?,
        };
        Ok(one_of(json.into_iter().chain(text).collect()))
    }

    /// Any string.
    fn any_string(&self) -> Result<Node, Error> {
        let text = self.quoted(self.text(None)?);
        Ok(match self.notation {
            Notation::Bare(..) => text,
            Notation::Python => Node::Alt(vec![self.json_string()?, text]),
        })
    }

    /// Any string as JSON has it.
    fn json_string(&self) -> Result<Node, Error> {
        let any = super::compile_schema(&json!({"type": "string"}), self.whole.options)?;
        Ok(Node::Json(any.into(), self.closes.to_vec()))
    }

    /// Any text that may stand between the delimiters, with escapes where the notation has them.
    fn text(&self, limit: Option<u32>) -> Result<Node, Error> {
        let free = |limit| Node::Free(self.kept_out(), limit);
        match self.notation {
            Notation::Bare(..) => Ok(free(limit)),
            Notation::Python => {
                let more = Node::Seq(vec![Node::regex(r#"\\['"\\nrt]"#)?, free(None)]);
                let more = Node::Repeat(Box::new(more), 0, None);
                Ok(Node::Seq(vec![free(None), more]))
            }
        }
    }

    /// Between the delimiters.
    fn quoted(&self, text: Node) -> Node {
        match self.notation {
            Notation::Bare(open, close) => {
                Node::Seq(vec![Node::marker(open), text, Node::marker(close)])
            }
            Notation::Python => Node::Seq(vec![Node::text("'"), text, Node::text("'")]),
        }
    }

    /// The strings of a schema that spell nothing that is kept out.
    fn raw(&self, at: &LoosePlace<'_>) -> Result<Option<SchemaAutomaton>, Error> {
        let kept_out = self.kept_out();
        let kept_out: Vec<String> = kept_out.iter().map(|text| escape(text)).collect();
        self.compile(at, &[strings_without(&kept_out.join("|"))])
    }

    /// Returns the texts that strings between delimiters may not spell: the ends of strings and
    /// arguments, the parser's own marks for strings, and texts that it reads otherwise.
    fn kept_out(&self) -> Vec<String> {
        let own: &[&str] = match self.notation {
            Notation::Bare(open, close) => &[open, close, "\u{1}", "\u{2}"],
            Notation::Python => &["'", "\\", "\n", "\r"],
        };
        let own = own.iter().map(|text| (*text).to_owned());
        own.chain(self.closes.iter().cloned()).collect()
    }

    /// `[a,b]`; `None` if the schema says more than what items there are.
    fn array(&self, at: &LoosePlace<'_>, rules: &mut Vec<Node>) -> Result<Option<Node>, Error> {
        if at.has_only(|key, _| key == "type") {
            let items = Node::Items(Box::new(self.anything(rules)?), 0, None);
            return Ok(Some(bracketed("[", items, "]")));
        }
        let count = |key: &str| match at.keyword(key) {
            None => Some(None),
            Some(count) => count.as_u64().filter(|n| *n <= ITEMS).map(Some),
        };
        let listed = at.has_only(|key, _| ["type", "items", "minItems", "maxItems"].contains(&key));
        let (Some(items), Some(least), Some(most)) =
            (at.keyword("items"), count("minItems"), count("maxItems"))
        else {
            return Ok(None);
        };
        let (least, most) = (least.unwrap_or(0) as usize, most.map(|n| n as usize));
        let copies = most.unwrap_or(least.max(1));
        if !listed || items.is_array() || copies < least.max(1) || !self.take(at, copies) {
            return Ok(None);
        }
        let mut below = at.below(items, "/items");
        below.copies *= copies;
        let Some(item) = self.value(&below, rules)? else {
            return Ok(None);
        };
        let items = Node::Items(Box::new(item), least, most);
        Ok(Some(bracketed("[", items, "]")))
    }

    /// `{a:1,b:2}`; `None` if the schema says more than what properties there
    /// are. Others than those do not come.
    fn object(&self, at: &LoosePlace<'_>, rules: &mut Vec<Node>) -> Result<Option<Node>, Error> {
        let says_nothing = |key: &str, value: &Value| match key {
            "type" => true,
            "properties" => value.as_object().is_some_and(Map::is_empty),
            "additionalProperties" => *value == true,
            _ => false,
        };
        if at.has_only(says_nothing) && at.keyword("properties").is_none() {
            return Ok(Some(self.any_object(rules)?));
        }
        let listed = at.has_only(|key, value| match key {
            "type" | "properties" | "required" => true,
            "additionalProperties" => value.is_boolean(),
            key => subschemas::is_of_definitions(key),
        });
        let properties = at.keyword("properties").and_then(Value::as_object);
        if properties.is_none() && at.keyword("additionalProperties") != Some(&json!(false)) {
            // Whatever the model likes.
            return Ok(None);
        }
        let empty = Map::new();
        let properties = properties.unwrap_or(&empty);
        let required = at.keyword("required").and_then(Value::as_array);
        let required: BTreeSet<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let kept_out = self.kept_out();
        let is_bare = matches!(self.notation, Notation::Bare(..));
        let sayable = |key: &String| !kept_out.iter().any(|text| key.contains(text.as_str()));
        let sayable = |key: &String| !is_bare || sayable(key);
        if !listed
            || !required.iter().all(|name| properties.contains_key(*name))
            || !properties.keys().all(sayable)
            || !self.take(at, properties.len())
        {
            return Ok(None);
        }
        let mut members = Vec::new();
        for (key, property) in properties {
            let is_required = required.contains(key.as_str());
            let path = format!("/properties/{}", pointer::escape(key));
            match self.value(&at.below(property, &path), rules)? {
                Some(value) => {
                    let member = Node::Seq(vec![self.key(key)?, value]);
                    members.push((key.as_str(), member, is_required));
                }
                None if is_required => return Ok(None),
                None => {}
            }
        }
        let between = match is_bare {
            true => Between::Commas,
            false => Between::SpacedCommas,
        };
        let members = self.orders.members(members, between, rules);
        Ok(Some(bracketed("{", members, "}")))
    }

    /// Whatever the model likes, by a rule: values nest.
    pub(super) fn anything(&self, rules: &mut Vec<Node>) -> Result<Node, Error> {
        let known = self.any.get();
        if let Some(rule) = known {
            return Ok(Node::Call(rule));
        }
        let rule = rules.len();
        self.any.set(Some(rule));
        // The rule calls itself.
        rules.push(Node::text(""));
        let scalar = match self.notation {
            Notation::Bare(..) => json!({"type": ["boolean", "null", "number"]}),
            Notation::Python => json!({"type": "number"}),
        };
        let scalar = super::compile_schema(&scalar, self.whole.options)?;
        let mut ways = vec![
            self.any_string()?,
            Node::Json(scalar.into(), Vec::new()),
            bracketed("[", Node::Items(Box::new(Node::Call(rule)), 0, None), "]"),
            self.any_object(rules)?,
        ];
        if let Notation::Python = self.notation {
            ways.extend(python_words().map(|(_, word)| Node::text(word)));
        }
        rules[rule] = Node::Alt(ways);
        Ok(Node::Call(rule))
    }

    /// An object with whatever members the model likes.
    fn any_object(&self, rules: &mut Vec<Node>) -> Result<Node, Error> {
        let value = self.anything(rules)?;
        let members = match self.notation {
            Notation::Bare(..) => {
                let member = Node::Seq(vec![Node::regex(ANY_KEY)?, value]);
                Node::optional(Node::many(member, ","))
            }
            Notation::Python => {
                let member = vec![self.any_string()?, Node::regex(COLON)?, value];
                Node::Items(Box::new(Node::Seq(member)), 0, None)
            }
        };
        Ok(bracketed("{", members, "}"))
    }

    /// A key and its colon.
    fn key(&self, key: &str) -> Result<Node, Error> {
        let (open, close) = match self.notation {
            Notation::Bare(open, close) => (open, close),
            Notation::Python => {
                let mut ways = vec![Node::text(Value::from(key).to_string())];
                if !self
                    .kept_out()
                    .iter()
                    .any(|text| key.contains(text.as_str()))
                {
                    ways.push(self.quoted(Node::text(key)));
                }
                return Ok(Node::Seq(vec![Node::Alt(ways), Node::regex(COLON)?]));
            }
        };
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !key.is_empty() && key.chars().all(word) {
            return Ok(Node::text(format!("{key}:")));
        }
        let quoted = Node::Seq(vec![
            Node::marker(open),
            Node::text(key),
            Node::marker(close),
            Node::text(":"),
        ]);
        Ok(match is_bare(key) {
            true => Node::Alt(vec![Node::text(format!("{key}:")), quoted]),
            false => quoted,
        })
    }
}

/// Keys that stand without quotes although they are no words: words with blanks, dots and
/// dashes between them.
fn is_bare(key: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let inner = |c: char| word(c) || " .-".contains(c);
    !key.contains("  ") && key.starts_with(word) && key.ends_with(word) && key.chars().all(inner)
}

/// Keys that no schema knows, with the colon: words without blanks, as the parser takes them.
const ANY_KEY: &str = "[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*:";

/// A colon behind a key of Python's, with a space because `str` of a dictionary writes one.
const COLON: &str = ": ?";

/// The constants that Python names otherwise than JSON.
fn python_words() -> impl Iterator<Item = (Value, &'static str)> {
    let words = [
        (json!(true), "True"),
        (json!(false), "False"),
        (Value::Null, "None"),
    ];
    words.into_iter()
}

fn bracketed(open: &str, inside: Node, close: &str) -> Node {
    Node::Seq(vec![Node::text(open), inside, Node::text(close)])
}

/// One of several; `None` if there are none.
fn one_of(mut ways: Vec<Node>) -> Option<Node> {
    match ways.len() {
        0 => None,
        1 => ways.pop(),
        _ => Some(Node::Alt(ways)),
    }
}

#[cold]
fn nothing() -> Error {
    let message = "the schema: no value satisfies it that the format can write";
    Error::new(ErrorKind::Constraint, message)
}
