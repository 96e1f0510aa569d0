//! Arguments that stand one by one, each value between markers of its own.
//!
//! For example, `<parameter=city>\nUlm\n</parameter>`: the schema says that `city` is a
//! string, so that the reader takes `Ulm`, or `10115`, as it is.

use families::{Argument, Between as Separated, Notation as Values};
use json_tree::{pointer, subschemas};
use serde_json::{Map, Value, json};

use super::build::{Between, Node, dfa};
use super::kept_out::strings_without;
use super::loose::{Loose, Notation};
use super::orders::Orders;
use super::quiet::Quiet;
use super::response::ResponseFormat;
use super::spelled::{ToolSpec, of_tool, spell};
use super::whole::{ANNOTATIONS, Whole, types};
use crate::{Error, ErrorKind, compile_schema};

/// The arguments that a tool declares.
struct Declared<'t> {
    properties: Option<&'t Map<String, Value>>,
    required: Vec<&'t str>,
    /// Says that others may come.
    is_open: bool,
}

impl<'t> Declared<'t> {
    /// Reads them from the schema of a tool, which may say nothing else.
    fn of(tool: &'t ToolSpec) -> Result<Declared<'t>, String> {
        let Value::Object(schema) = &tool.parameters else {
            return Err("the schema is no object".to_owned());
        };
        for (keyword, value) in schema {
            let fits = match keyword.as_str() {
                "type" => value == "object",
                "additionalProperties" => value.is_boolean(),
                "properties" | "required" => true,
                keyword if subschemas::is_of_definitions(keyword) => true,
                _ => ANNOTATIONS.contains(&keyword.as_str()),
            };
            if !fits {
                return Err(format!("`{keyword}` at \"/{keyword}\" cannot be kept so"));
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let declared = Declared {
            properties: schema.get("properties").and_then(Value::as_object),
            required: required.collect(),
            is_open: schema.get("additionalProperties") != Some(&json!(false)),
        };
        let is_known = |name: &str| {
            declared
                .properties
                .is_some_and(|all| all.contains_key(name))
        };
        if let Some(unknown) = declared.required.iter().find(|name| !is_known(name)) {
            return Err(format!(
                "`required` at \"/required\" names {unknown:?}, which is not in `properties`"
            ));
        }
        Ok(declared)
    }

    /// The names of the arguments.
    fn names(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        self.properties
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
    }
}

/// The place of an argument in the schema of a tool.
fn place_of(key: &str) -> String {
    format!("/properties/{}", pointer::escape(key))
}

/// Tells whether a name of an argument is read as one, and not as a part of the notation.
fn is_name(key: &str, notation: Values) -> bool {
    match notation {
        Values::Text => {
            !key.is_empty() && !key.contains(['<', '>', '"', '\n', '\r']) && key.trim() == key
        }
        Values::Python => {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            !key.is_empty()
                && key.chars().all(word)
                && !key.starts_with(|c: char| c.is_ascii_digit())
        }
    }
}

impl ResponseFormat {
    /// The arguments of a call, one by one.
    pub(super) fn one_by_one(
        &self,
        tool: &ToolSpec,
        argument: &Argument,
        closes: &[String],
        orders: &Orders,
        rules: &mut Vec<Node>,
    ) -> Result<Node, Error> {
        let mut markers = closes.to_vec();
        markers.extend((!argument.ends.is_empty()).then(|| argument.ends.clone()));
        let wrong = |what: String| {
            of_tool(
                tool,
                Error::new(
                    ErrorKind::Constraint,
                    format!(
                        "the format {:?} writes arguments one by one, and {what}",
                        self.shape.name
                    ),
                ),
            )
        };
        let declared = Declared::of(tool).map_err(wrong)?;
        if declared.names().next().is_none() && declared.is_open {
            return match argument.notation {
                Values::Text => self.anything(argument, &markers),
                Values::Python => {
                    let value = self.python(tool, &markers, orders).anything(rules)?;
                    let named = Node::Seq(vec![spell(&argument.open, &[])?, value]);
                    Ok(Node::Items(Box::new(named), 0, None))
                }
            };
        }
        let mut members = Vec::new();
        for key in declared.names() {
            if !is_name(key, argument.notation) {
                return Err(wrong(format!(
                    "the name {key:?} would be taken for a marker"
                )));
            }
            let is_required = declared.required.contains(&key);
            let node = match argument.notation {
                Values::Text => self.argument(tool, key, argument, &markers)?,
                Values::Python => {
                    let loose = self.python(tool, &markers, orders);
                    let value = loose.part(place_of(key), rules);
                    let value = value.map_err(|error| of_tool(tool, error))?;
                    let open = spell(&argument.open, &[("{key}", key)])?;
                    value.map(|value| Node::Seq(vec![open, value]))
                }
            };
            match node {
                Some(node) => members.push((key, node, is_required)),
                None if is_required => {
                    return Err(wrong(format!("no value of {key:?} can be written")));
                }
                None => {}
            }
        }
        let between = match argument.between {
            Separated::Nothing => Between::Nothing,
            Separated::Comma => Between::SpacedCommas,
        };
        Ok(orders.members(members, between, rules))
    }

    /// Values of a tool's arguments as literals of Python.
    fn python<'a>(
        &'a self,
        tool: &'a ToolSpec,
        markers: &'a [String],
        orders: &'a Orders,
    ) -> Loose<'a> {
        let whole = Whole {
            schema: &tool.parameters,
            options: &self.options,
        };
        Loose::new(Notation::Python, markers, whole, orders)
    }

    /// Whatever arguments the model likes, of a tool that says nothing of them.
    fn anything(&self, argument: &Argument, markers: &[String]) -> Result<Node, Error> {
        let close = spell(&argument.close, &[])?;
        let text = || Node::Free(markers.to_vec(), None);
        let way = |word: &str, inside: Node| {
            let open = spell(&argument.open, &[("{type}", word)])?;
            Ok::<Node, Error>(Node::Seq(vec![open, inside, close.clone()]))
        };
        let mut ways = Vec::new();
        for (name, word) in &argument.types {
            ways.push(match name.as_str() {
                "string" => way(word, text())?,
                name => {
                    let value = compile_schema(&json!({"type": name}), &self.options)?;
                    way(word, Node::Json(value.into(), markers.to_vec()))?
                }
            });
        }
        if ways.is_empty() {
            ways.push(way("", text())?);
        }
        Ok(Node::Repeat(Box::new(Node::Alt(ways)), 0, None))
    }

    /// An argument with its marks; `None` if no value of it can be written.
    fn argument(
        &self,
        tool: &ToolSpec,
        key: &str,
        argument: &Argument,
        markers: &[String],
    ) -> Result<Option<Node>, Error> {
        let property = &tool.parameters["properties"][key];
        let value = Alone {
            whole: Whole {
                schema: &tool.parameters,
                options: &self.options,
            },
            pointer: place_of(key),
            property,
            argument,
            markers,
        };
        let close = spell(&argument.close, &[])?;
        let mut ways = Vec::new();
        for (word, inside) in value.ways().map_err(|error| of_tool(tool, error))? {
            let open = spell(&argument.open, &[("{key}", key), ("{type}", word)])?;
            ways.push(Node::Seq(vec![open, inside, close.clone()]));
        }
        Ok((!ways.is_empty()).then_some(Node::Alt(ways)))
    }
}

/// A value that stands alone.
struct Alone<'a> {
    whole: Whole<'a>,
    pointer: String,
    property: &'a Value,
    argument: &'a Argument,
    markers: &'a [String],
}

impl<'a> Alone<'a> {
    /// The ways to write a value, each with the family's word for its type.
    fn ways(&self) -> Result<Vec<(&'a str, Node)>, Error> {
        let types = types(self.whole.schema, self.property);
        let is_string = types.contains("string");
        let others: Vec<&str> = types.into_iter().filter(|name| *name != "string").collect();
        let mut ways = Vec::new();
        let said = &self.argument.types;
        if is_string {
            let word = said.get("string").map_or("", String::as_str);
            let is_told = others.is_empty() || !said.is_empty();
            ways.extend(self.string(is_told)?.map(|node| (word, node)));
        }
        if said.is_empty() {
            ways.extend(self.json(&others)?.map(|node| ("", node)));
            let is_plain = self.has_only(&["type"]);
            if others == ["boolean"] && is_plain {
                // As Python writes them, which the reader takes for the same.
                let words = ["True", "False"].map(Node::text).to_vec();
                ways.push(("", self.padded(Node::Alt(words))));
            }
            return Ok(ways);
        }
        // Types with one word stand together.
        let mut words: Vec<&str> = others
            .iter()
            .filter_map(|name| said.get(*name).map(String::as_str))
            .collect();
        words.sort_unstable();
        words.dedup();
        for word in words {
            let is_of = |name: &&str| said.get(*name).is_some_and(|said| said == word);
            let of_word: Vec<&str> = others.iter().copied().filter(is_of).collect();
            ways.extend(self.json(&of_word)?.map(|node| (word, node)));
        }
        Ok(ways)
    }

    /// Tells whether the property says nothing else that counts.
    fn has_only(&self, known: &[&str]) -> bool {
        let keywords = self.property.as_object();
        keywords.is_some_and(|keywords| {
            let mut keys = keywords.keys().map(String::as_str);
            keys.all(|key| known.contains(&key) || ANNOTATIONS.contains(&key))
        })
    }

    /// JSON of these types; `None` if there is none.
    fn json(&self, types: &[&str]) -> Result<Option<Node>, Error> {
        if types.is_empty() {
            return Ok(None);
        }
        let compiled = self.whole.compile(&self.pointer, &[json!({"type": types})]);
        Ok(compiled?
            .map(|automaton| self.padded(Node::Json(automaton.into(), self.markers.to_vec()))))
    }

    /// With or without what the reader takes away around a value.
    fn padded(&self, node: Node) -> Node {
        let padding = || Node::optional(Node::text(&self.argument.padding));
        match self.argument.padding.is_empty() {
            true => node,
            false => Node::Seq(vec![padding(), node, padding()]),
        }
    }

    /// A string as it is; `None` if there is none. If nobody tells the reader that it is one, it
    /// looks like no value of another type.
    fn string(&self, is_told: bool) -> Result<Option<Node>, Error> {
        let is_plain = self.has_only(&["type"])
            || self.property.get("type").is_none() && self.has_only(&["anyOf"]) && {
                let ways = self.property["anyOf"].as_array();
                let plain = |way: &Value| {
                    let keywords = way.as_object().into_iter().flatten();
                    let mut others = keywords.filter(|(key, _)| *key != "type");
                    others.all(|(key, _)| ANNOTATIONS.contains(&key.as_str()))
                };
                ways.is_some_and(|ways| ways.iter().all(plain))
            };
        match (is_plain, is_told) {
            (true, true) => return Ok(Some(Node::Free(self.markers.to_vec(), None))),
            (true, false) => {
                let text = Quiet::except(&dfa(READ_AS_JSON)?, self.markers)?;
                return Ok(Some(Node::Quiet(text)));
            }
            (false, _) => {}
        }
        let markers: Vec<String> = self.markers.iter().map(|m| crate::escape(m)).collect();
        let mut kept_out = markers.join("|");
        if !is_told {
            kept_out.push('|');
            kept_out.push_str(READ_OTHERWISE);
        }
        let quiet = strings_without(&kept_out);
        let compiled = self.whole.compile(&self.pointer, &[quiet])?;
        Ok(compiled.map(|automaton| {
            // Bound text has its padding in any case: whatever a value begins with, the reader
            // takes that away and no more.
            let padding = || Node::text(&self.argument.padding);
            Node::Seq(vec![padding(), Node::Raw(automaton), padding()])
        }))
    }
}

/// Texts that are read as JSON, or begin like it.
const READ_AS_JSON: &str = "[ \\t\\n\\r]*(?:(?:-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity)[ \\t\\n\\r]*|[\"\\[{](?s:.)*)";

/// Texts that may be read as another type, as a pattern of JSON Schema: because what the
/// reader then has might not obey the schema, more of them than are.
const READ_OTHERWISE: &str = "^\\s*(?:[-+]?\\.?[0-9]|[\"\\[{]|[-+]?[iI][nN][fF]|[nN][aAuUoO]|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])";
