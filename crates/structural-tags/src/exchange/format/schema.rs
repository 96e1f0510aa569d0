//! JSON of a schema in the spelling of structural tags.
//!
//! For example, with `"max_whitespace_cnt": 1` one space may come behind a colon.

use json_tree::subschemas::{self, Applied, COMBINATIONS};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{AdditionalMembers, Escapes, Options, PropertyOrder, Whitespace};
use serde_json::{Value, json};

use super::kinds::{JsonFormat, at, refused};
use super::limits::TagLimits;
use crate::{Error, kept_out};

/// The most white space at one place, in characters, where a tag does not say: a line break and
/// an indentation of forty columns, as `Whitespace::flexible` has them. Without a bound a small
/// model writes blanks until its tokens run out. Which characters they are is left free,
/// because servers' own parsers of tags read all of them.
const SPACE: u32 = 42;

/// Returns how values are written.
pub(in crate::exchange) fn options(
    json: &JsonFormat,
    limits: &TagLimits,
) -> Result<Options, Error> {
    let space = match json.max_space {
        None => Whitespace::Bounded(SPACE),
        Some(most) if most <= limits.max_whitespace => Whitespace::Bounded(most),
        Some(most) => {
            return Err(refused(
                &json.at,
                format!(
                    "max_whitespace_cnt counts to {most}; the limit is {} \
                     (TagLimits::max_whitespace)",
                    limits.max_whitespace
                ),
            ));
        }
    };
    Ok(Options::default()
        .with_whitespace(space)
        .with_escapes(Escapes::AllInValues)
        // With properties and no word on others there are no others.
        .with_additional_members(AdditionalMembers::Closed)
        .with_property_order(match json.any_order {
            true => PropertyOrder::Any,
            false => PropertyOrder::Schema,
        }))
}

/// The automaton of a schema in the style `json`.
pub(in crate::exchange) fn automaton(
    json: &JsonFormat,
    limits: &TagLimits,
) -> Result<SchemaAutomaton, Error> {
    let options = options(json, limits)?;
    let schema = prepared(json)?;
    crate::compile_schema(&schema, &options).map_err(|error| at(&json.at, error))
}

/// The schema as it is compiled.
pub(in crate::exchange) fn prepared(json: &JsonFormat) -> Result<Value, Error> {
    match json.excludes.as_slice() {
        [] => Ok(json.schema.clone()),
        excludes => without(&json.schema, excludes, &json.at),
    }
}

/// The address of the schema of any value without the excluded strings, because it refers to
/// itself.
const ANY: &str = "urn:tokenmold:any";

/// The schema of values in whose strings and names some strings do not occur. Strings with a
/// pattern or a format may have them.
pub(in crate::exchange) fn without(
    schema: &Value,
    excludes: &[String],
    at: &str,
) -> Result<Value, Error> {
    let texts: Vec<String> = excludes.iter().map(|text| crate::escape(text)).collect();
    let texts = texts.join("|");
    let without = Without {
        here: kept_out::without(&texts),
        at,
    };
    let mut whole = without.schema(schema)?;
    let mut any = kept_out::everywhere_without(&texts, ANY);
    any["$id"] = ANY.into();
    let Value::Object(map) = &mut whole else {
        return Ok(whole);
    };
    let defs = map.entry("$defs").or_insert_with(|| json!({}));
    if let Value::Object(defs) = defs {
        defs.insert("tokenmold any".to_owned(), any);
    }
    Ok(whole)
}

/// The keywords without subschemas that restrict which strings a value has.
const SAYING: [&str; 6] = ["enum", "const", "$ref", "$dynamicRef", "pattern", "format"];

struct Without<'a> {
    /// The schema that each value obeys, apart from the values inside of it.
    here: Value,
    at: &'a str,
}

impl Without<'_> {
    /// Recursion is as deep as the schema, which is bounded.
    fn schema(&self, schema: &Value) -> Result<Value, Error> {
        let Value::Object(given) = schema else {
            return Ok(match schema {
                Value::Bool(true) => json!({"$ref": ANY}),
                other => other.clone(),
            });
        };
        let mut out = given.clone();
        let mut says_something = given.contains_key("type");
        for (key, value) in &mut out {
            match subschemas::applied(key) {
                // They say more of what is kept free of the texts anyway.
                Some(Applied::MemberNames | Applied::Content) => {}
                Some(Applied::OnCondition) if key == "dependencies" => {}
                Some(Applied::OnCondition | Applied::SomeItems) => {
                    return Err(refused(
                        self.at,
                        format!("excludes beside the keyword {key:?} are not supported"),
                    ));
                }
                Some(applied) => {
                    for one in subschemas::inside_mut(key, value) {
                        *one = self.schema(one)?;
                    }
                    says_something |= applied != Applied::Nowhere;
                }
                None => says_something |= SAYING.contains(&key.as_str()),
            }
        }
        if given.contains_key("pattern") || given.contains_key("format") {
            return Ok(Value::Object(out));
        }
        if given.contains_key("$ref") {
            return Ok(Value::Object(out));
        }
        if !says_something {
            return Ok(json!({"allOf": [{"$ref": ANY}, out]}));
        }
        let is_open = !given
            .keys()
            .any(|key| subschemas::applied(key) == Some(Applied::Members));
        let types = given.get("type");
        let may_be = |name: &str| match types {
            Some(Value::String(one)) => one == name,
            Some(Value::Array(several)) => several.iter().any(|one| one == name),
            _ => true,
        };
        let combines = COMBINATIONS
            .iter()
            .chain(&["enum", "const"])
            .any(|key| given.contains_key(*key));
        if is_open && may_be("object") && !combines {
            out.insert("additionalProperties".to_owned(), json!({"$ref": ANY}));
        }
        if !given.contains_key("items") && may_be("array") && !combines {
            out.insert("items".to_owned(), json!({"$ref": ANY}));
        }
        let mut all = vec![self.here.clone()];
        if let Some(Value::Array(given)) = out.get("allOf") {
            all.extend(given.iter().cloned());
        }
        out.insert("allOf".to_owned(), Value::Array(all));
        Ok(Value::Object(out))
    }
}
