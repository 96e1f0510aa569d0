//! Arguments that stand one by one, each value between markers of its own.

use serde_json::{Map, Value};

use super::build::{Node, dfa};
use super::parts::Quiet;
use super::response::{ResponseFormat, ToolSpec, of_tool};
use super::whole::{ANNOTATIONS, Whole};
use crate::{Error, ErrorKind};

impl ResponseFormat {
    /// The arguments of a call, one by one.
    pub(super) fn properties(
        &self,
        tool: &ToolSpec,
        open: &str,
        close: &str,
        markers: &[String],
    ) -> Result<Vec<Node>, Error> {
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
        let empty = Map::new();
        let Value::Object(schema) = &tool.parameters else {
            return Err(wrong("the schema is no object".to_owned()));
        };
        for (keyword, value) in schema {
            let fits = match keyword.as_str() {
                "type" => value == "object",
                "additionalProperties" => value.is_boolean(),
                "properties" | "required" | "$defs" | "definitions" => true,
                _ => ANNOTATIONS.contains(&keyword.as_str()),
            };
            if !fits {
                return Err(wrong(format!(
                    "`{keyword}` at \"/{keyword}\" cannot be kept so"
                )));
            }
        }
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if let Some(unknown) = required
            .iter()
            .find(|name| !properties.contains_key(**name))
        {
            return Err(wrong(format!(
                "`required` at \"/required\" names {unknown:?}, which is not in `properties`"
            )));
        }
        let mut nodes = Vec::new();
        for (key, property) in properties {
            if key.is_empty() || key.contains(['<', '>', '"', '\n', '\r']) || key.trim() != key {
                return Err(wrong(format!(
                    "the name {key:?} would be taken for a marker"
                )));
            }
            let node = Node::Seq(vec![
                Node::marker(open.replace("{key}", key)),
                self.value(tool, key, property, markers)?,
                Node::marker(close),
            ]);
            nodes.push(match required.contains(&key.as_str()) {
                true => node,
                false => Node::optional(node),
            });
        }
        Ok(nodes)
    }

    /// A value that stands alone: JSON, or text that is not.
    fn value(
        &self,
        tool: &ToolSpec,
        key: &str,
        property: &Value,
        markers: &[String],
    ) -> Result<Node, Error> {
        let path = key.replace('~', "~0").replace('/', "~1");
        let whole = Whole {
            schema: &tool.parameters,
            options: &self.options,
        };
        let automaton = whole
            .compile(&format!("/properties/{path}"), &[])
            .map_err(|error| of_tool(tool, error))?;
        let mut ways = vec![Node::Json(automaton, markers.to_vec())];
        let plain = |keyword: &String| keyword == "type" || ANNOTATIONS.contains(&keyword.as_str());
        let listed = |keyword: &String| keyword == "enum" || plain(keyword);
        let keywords = property.as_object();
        let is_string = property["type"] == "string";
        if is_string && keywords.is_some_and(|k| k.keys().all(plain)) {
            ways.push(Node::Quiet(Quiet::except(&dfa(READ_AS_JSON)?, markers)?));
        } else if keywords.is_some_and(|k| k.keys().all(listed)) {
            let json = dfa(READ_AS_JSON)?;
            let texts = property["enum"].as_array().into_iter().flatten();
            let texts: Vec<&str> = texts
                .filter_map(Value::as_str)
                .filter(|text| is_string || property.get("type").is_none() && !text.is_empty())
                .filter(|text| !json.accepts(text))
                .filter(|text| !markers.iter().any(|marker| text.contains(marker.as_str())))
                .collect();
            ways.extend(texts.into_iter().map(Node::text));
        }
        Ok(Node::Alt(ways))
    }
}

/// Texts that are read as JSON, or begin like it.
const READ_AS_JSON: &str = "[ \\t\\n\\r]*(?:(?:-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity)[ \\t\\n\\r]*|[\"\\[{](?s:.)*)";
