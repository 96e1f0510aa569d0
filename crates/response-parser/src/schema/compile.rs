//! A response schema, compiled. For example, `{"type": "integer", "x-regex": "n=(.*)"}` is compiled
//! to a pattern and a reader of integers.

use indexmap::IndexMap;
use json_tree::pointer::escape;
use serde_json::{Map, Value as Json};

use super::messages::{jmespath_error, shorten};
use super::release::{Mode, Release};
use crate::error::{Error, ErrorKind};
use crate::jmes::Expression;
use crate::pyre::{Dialect, Pattern, Substitution};
use crate::text::Text;
use crate::value::{Object, Value, depth_within};

/// Deepest nesting of schemas in a schema.
pub(crate) const MAX_SCHEMA_DEPTH: usize = 128;

/// The deepest nesting of a constant in a schema, and of a value that is parsed, because reading
/// calls itself as deep.
pub(crate) const MAX_VALUE_DEPTH: usize = 512;

/// A part that may be broken; the error is raised when its step runs.
type Deferred<T> = Result<T, Error>;

pub(crate) enum Schema {
    Keywords(Box<Keywords>),
    /// `true` in the lenient mode.
    Anything,
    /// Something that is no object, in the reference's mode.
    Broken {
        json: Json,
        error: Error,
    },
}

pub(crate) struct Keywords {
    pub(crate) pointer: String,
    pub(crate) constant: Option<Value<'static>>,
    pub(crate) default: Option<Value<'static>>,
    /// One of the regex keywords is present, if only with null.
    pub(crate) wants_string: bool,
    pub(crate) substitutions: Option<Deferred<Vec<Replacement>>>,
    pub(crate) regex: Option<Deferred<Pattern>>,
    pub(crate) iterator: Option<Deferred<Pattern>>,
    pub(crate) key_value: Option<Deferred<Pattern>>,
    pub(crate) parser: Option<Deferred<JsonParser>>,
    pub(crate) mapping: Option<Deferred<Object<'static>>>,
    pub(crate) mapping_regex: Option<Deferred<Vec<Replacement>>>,
    pub(crate) kind: Kind,
    pub(crate) properties: Option<Deferred<IndexMap<Text<'static>, Schema>>>,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<Schema>,
    pub(crate) prefix_items: Option<Deferred<Vec<Schema>>>,
    /// Keys that an object must have in the end.
    pub(crate) required: Option<Deferred<Vec<Text<'static>>>>,
}

pub(crate) enum Additional {
    Schema(Schema),
    Dropped,
    /// As they are.
    Kept,
}

/// The spelling of JSON in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    Json,
    /// As the calls of Gemma 4: keys without quotes, and `<|"|>` for quotes.
    Gemma4,
}

/// `x-parser` with its arguments.
pub(crate) struct JsonParser {
    pub(crate) spelling: Spelling,
    pub(crate) arguments: Deferred<ParserArguments>,
}

pub(crate) struct ParserArguments {
    pub(crate) transform: Option<Deferred<Expression>>,
    pub(crate) allow_non_json: bool,
}

/// One pattern of `x-mapping-regex` or `x-regex-substitutions` with its replacement.
pub(crate) struct Replacement {
    pub(crate) compiled: Deferred<(Pattern, Substitution)>,
    pub(crate) pointer: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No type: what comes out of the steps is the result.
    Untouched,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    /// Tried in order, in the lenient mode.
    OneOf(Vec<Kind>),
    /// Only null, in the lenient mode.
    Null,
    Unsupported(String),
}

pub(crate) fn compile(json: &Json, mode: Mode, release: Release) -> Result<Schema, Error> {
    Compiler { mode, release }.schema(json, String::new(), 0)
}

struct Compiler {
    mode: Mode,
    release: Release,
}

impl Compiler {
    /// Tells whether keywords of that release are looked at.
    fn knows(&self, release: Release) -> bool {
        // A schema with a mapping wants it.
        let wanted = self.mode == Mode::Lenient && release == Release::V5_0;
        wanted || self.release == release
    }

    /// Keeps a broken part for later, or refuses it at once in the lenient mode.
    fn defer<T>(&self, part: Result<T, Error>) -> Result<Deferred<T>, Error> {
        match (self.mode, part) {
            (Mode::Lenient, Err(error)) => Err(error),
            (_, part) => Ok(part),
        }
    }

    fn schema(&self, json: &Json, pointer: String, depth: usize) -> Result<Schema, Error> {
        if depth >= MAX_SCHEMA_DEPTH {
            let message = format!("schemas are nested deeper than {MAX_SCHEMA_DEPTH}");
            return Err(Error::new(ErrorKind::DepthLimit, pointer, message));
        }
        let object = match (json, self.mode) {
            (Json::Object(object), _) => object,
            (Json::Bool(true), Mode::Lenient) => return Ok(Schema::Anything),
            (_, Mode::Lenient) => {
                let message = "a schema must be an object or true";
                return Err(Error::new(ErrorKind::SchemaInvalid, pointer, message));
            }
            (_, Mode::Reference) => {
                let message = "a schema must be an object";
                let error = Error::new(ErrorKind::PythonType, pointer, message);
                let json = if depth_within(json, MAX_VALUE_DEPTH) {
                    json.clone()
                } else {
                    Json::Null
                };
                return Ok(Schema::Broken { json, error });
            }
        };
        Ok(Schema::Keywords(Box::new(
            self.keywords(object, pointer, depth)?,
        )))
    }

    fn keywords(
        &self,
        object: &Map<String, Json>,
        pointer: String,
        depth: usize,
    ) -> Result<Keywords, Error> {
        let at = |keyword: &str| format!("{pointer}/{keyword}");
        let regex_keywords = ["x-regex", "x-regex-iterator", "x-regex-key-value"];
        let pattern = |keyword: &str| match object.get(keyword) {
            None | Some(Json::Null) => Ok(None),
            Some(json) => self.defer(pattern(json, at(keyword))).map(Some),
        };
        let kind = self.kind(object.get("type"), at("type"))?;
        let child = |keyword: &str| match object.get(keyword) {
            None => Ok(None),
            Some(json) => self.schema(json, at(keyword), depth + 1).map(Some),
        };
        let substitutions = object.get("x-regex-substitutions");
        let substitutions = substitutions.filter(|_| self.knows(Release::V5_12));
        let of_mappings = |keyword: &str| {
            let json = object.get(keyword);
            json.filter(|_| self.knows(Release::V5_0))
        };
        let keywords = Keywords {
            constant: value(object.get("const"), || at("const"))?,
            default: value(object.get("default"), || at("default"))?,
            wants_string: regex_keywords
                .iter()
                .any(|keyword| object.contains_key(*keyword))
                || substitutions.is_some(),
            substitutions: match substitutions {
                None => None,
                Some(json) => Some(self.substitutions(json, &at("x-regex-substitutions"))?),
            },
            regex: pattern("x-regex")?,
            iterator: pattern("x-regex-iterator")?,
            key_value: pattern("x-regex-key-value")?,
            parser: match object.get("x-parser") {
                None => None,
                Some(json) => Some(self.parser(json, object.get("x-parser-args"), &pointer)?),
            },
            mapping: match of_mappings("x-mapping") {
                None => None,
                Some(json) => Some(self.defer(mapping(json, at("x-mapping")))?),
            },
            mapping_regex: match of_mappings("x-mapping-regex") {
                None => None,
                Some(json) => Some(self.mapping_regex(json, &at("x-mapping-regex"))?),
            },
            properties: match object.get("properties") {
                None => None,
                Some(Json::Object(properties)) => {
                    let mut schemas = IndexMap::with_capacity(properties.len());
                    for (key, json) in properties {
                        let place = format!("{}/{}", at("properties"), escape(key));
                        let schema = self.schema(json, place, depth + 1)?;
                        schemas.insert(Text::plain(key.clone()), schema);
                    }
                    Some(Ok(schemas))
                }
                Some(_) => Some(self.defer(Err(wrong(at("properties"), "an object")))?),
            },
            additional: match (object.get("additionalProperties"), self.release) {
                (Some(Json::Bool(false)), Release::V5_12) => Some(Additional::Dropped),
                (Some(Json::Bool(false)), _) if self.mode == Mode::Lenient => {
                    Some(Additional::Dropped)
                }
                (Some(Json::Object(_)), _) | (_, Release::V5_0) => {
                    child("additionalProperties")?.map(Additional::Schema)
                }
                (_, Release::V5_12) => Some(Additional::Kept),
            },
            items: child("items")?,
            prefix_items: match object.get("prefixItems") {
                None => None,
                Some(Json::Array(list)) => {
                    let mut schemas = Vec::with_capacity(list.len());
                    for (i, json) in list.iter().enumerate() {
                        let place = format!("{}/{i}", at("prefixItems"));
                        schemas.push(self.schema(json, place, depth + 1)?);
                    }
                    Some(Ok(schemas))
                }
                Some(_) => Some(self.defer(Err(wrong(at("prefixItems"), "an array")))?),
            },
            required: match object.get("required") {
                Some(json) if self.release == Release::V5_12 => {
                    Some(self.defer(required(json, at("required")))?)
                }
                _ => None,
            },
            kind,
            pointer,
        };
        if self.mode == Mode::Lenient {
            keywords.check_iterator()?;
            keywords.check_key_value()?;
        }
        Ok(keywords)
    }

    fn kind(&self, json: Option<&Json>, pointer: String) -> Result<Kind, Error> {
        let lenient = self.mode == Mode::Lenient;
        let name = match json {
            None | Some(Json::Null) => return Ok(Kind::Untouched),
            Some(Json::String(name)) => name.as_str(),
            Some(Json::Array(names)) if lenient && !names.is_empty() => {
                let mut kinds = Vec::with_capacity(names.len());
                for (i, name) in names.iter().enumerate() {
                    let place = format!("{pointer}/{i}");
                    if !name.is_string() {
                        return Err(unsupported_type(&name.to_string(), place));
                    }
                    kinds.push(self.kind(Some(name), place)?);
                }
                return Ok(Kind::OneOf(kinds));
            }
            Some(_) => "",
        };
        Ok(match name {
            "object" => Kind::Object,
            "array" => Kind::Array,
            "string" => Kind::String,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "boolean" => Kind::Boolean,
            "any" if lenient || self.release == Release::V5_12 => Kind::Untouched,
            "null" if lenient => Kind::Null,
            _ => {
                let shown = json.map(ToString::to_string).unwrap_or_default();
                if lenient {
                    return Err(unsupported_type(&shown, pointer));
                }
                Kind::Unsupported(shown)
            }
        })
    }

    fn parser(
        &self,
        json: &Json,
        arguments: Option<&Json>,
        pointer: &str,
    ) -> Result<Deferred<JsonParser>, Error> {
        let spelling = match json.as_str() {
            Some("json") => Spelling::Json,
            Some("gemma4-tool-call") if self.knows(Release::V5_12) => Spelling::Gemma4,
            _ => {
                let shown = json.to_string();
                let message = match self.knows(Release::V5_12) {
                    true => format!(
                        "the parsers are \"json\" and \"gemma4-tool-call\", not {}",
                        shorten(&shown)
                    ),
                    false => format!("the only parser is \"json\", not {}", shorten(&shown)),
                };
                let place = format!("{pointer}/x-parser");
                return self.defer(Err(Error::new(ErrorKind::UnknownParser, place, message)));
            }
        };
        let place = format!("{pointer}/x-parser-args");
        let empty = Map::new();
        let arguments = match arguments {
            None => &empty,
            Some(Json::Object(arguments)) => arguments,
            Some(_) => {
                let arguments = self.defer(Err(wrong(place, "an object")))?;
                return Ok(Ok(JsonParser {
                    spelling,
                    arguments,
                }));
            }
        };
        let transform = match arguments.get("transform") {
            None | Some(Json::Null) => None,
            Some(json) => Some(self.defer(expression(json, format!("{place}/transform")))?),
        };
        let allow_non_json = arguments.get("allow_non_json").is_some_and(is_truthy);
        let arguments = Ok(ParserArguments {
            transform,
            allow_non_json,
        });
        Ok(Ok(JsonParser {
            spelling,
            arguments,
        }))
    }

    /// Pairs of a pattern and its replacement, as Python goes through what stands there: a
    /// text is a list of its characters, a map one of its keys, and what stands behind the two
    /// is not looked at.
    fn substitutions(
        &self,
        json: &Json,
        pointer: &str,
    ) -> Result<Deferred<Vec<Replacement>>, Error> {
        let parts = |json: &Json| -> Option<Vec<Json>> {
            match json {
                Json::Array(items) => Some(items.clone()),
                Json::String(text) => Some(text.chars().map(|c| c.to_string().into()).collect()),
                Json::Object(map) => Some(map.keys().map(|key| key.as_str().into()).collect()),
                _ => None,
            }
        };
        let Some(pairs) = parts(json) else {
            return self.defer(Err(wrong(pointer.to_owned(), "an array of pairs")));
        };
        let mut list = Vec::with_capacity(pairs.len());
        for (at, pair) in pairs.iter().enumerate() {
            let pointer = format!("{pointer}/{at}");
            let pair = if pair.is_object() { None } else { parts(pair) };
            let compiled = match pair.as_deref() {
                Some([Json::String(source), replacement, ..]) => {
                    replacement_of(source, replacement, &pointer)
                }
                _ => Err(wrong(pointer.clone(), "a pattern and its replacement")),
            };
            let compiled = self.defer(compiled)?;
            list.push(Replacement { compiled, pointer });
        }
        Ok(Ok(list))
    }

    fn mapping_regex(
        &self,
        json: &Json,
        pointer: &str,
    ) -> Result<Deferred<Vec<Replacement>>, Error> {
        let Json::Object(pairs) = json else {
            return self.defer(Err(wrong(pointer.to_owned(), "an object")));
        };
        let mut list = Vec::with_capacity(pairs.len());
        for (source, replacement) in pairs {
            let pointer = format!("{pointer}/{}", escape(source));
            let compiled = self.defer(replacement_of(source, replacement, &pointer))?;
            list.push(Replacement { compiled, pointer });
        }
        Ok(Ok(list))
    }
}

impl Keywords {
    /// Tells whether `x-regex-iterator`, if given, has the type it needs.
    pub(crate) fn check_iterator(&self) -> Result<(), Error> {
        if self.iterator.is_none() || self.may_be(&Kind::Array) {
            return Ok(());
        }
        let pointer = format!("{}/x-regex-iterator", self.pointer);
        let message = "x-regex-iterator needs \"type\": \"array\" beside it";
        Err(Error::new(ErrorKind::IteratorNeedsArray, pointer, message))
    }

    /// Tells whether `x-regex-key-value`, if given, has the type it needs.
    pub(crate) fn check_key_value(&self) -> Result<(), Error> {
        if self.key_value.is_none() || self.may_be(&Kind::Object) {
            return Ok(());
        }
        let pointer = format!("{}/x-regex-key-value", self.pointer);
        let message = "x-regex-key-value needs \"type\": \"object\" beside it";
        Err(Error::new(ErrorKind::KeyValueNeedsObject, pointer, message))
    }

    fn may_be(&self, kind: &Kind) -> bool {
        match &self.kind {
            Kind::OneOf(kinds) => kinds.contains(kind),
            own => own == kind,
        }
    }
}

fn pattern(json: &Json, pointer: String) -> Result<Pattern, Error> {
    let Json::String(source) = json else {
        return Err(wrong(pointer, "a string"));
    };
    Pattern::new(source, Dialect::Re).map_err(|error| {
        let kind = match error.unsupported {
            true => ErrorKind::RegexUnsupported,
            false => ErrorKind::RegexSyntax,
        };
        Error::new(kind, pointer, format!("{error} of the pattern"))
    })
}

fn expression(json: &Json, pointer: String) -> Result<Expression, Error> {
    let source = match json {
        Json::String(source) => source.as_str(),
        // Python takes false and zero for an empty expression.
        Json::Bool(false) => "",
        Json::Number(number) if number.as_f64() == Some(0.0) => "",
        _ => return Err(wrong(pointer, "a string")),
    };
    Expression::new(source).map_err(|error| jmespath_error(error, pointer))
}

/// The keys of `required`, as Python goes through what stands there.
fn required(json: &Json, pointer: String) -> Result<Vec<Text<'static>>, Error> {
    let keys: Option<Vec<String>> = match json {
        Json::Array(keys) => keys
            .iter()
            .map(|key| key.as_str().map(str::to_owned))
            .collect(),
        Json::String(text) => Some(text.chars().map(String::from).collect()),
        Json::Object(map) => Some(map.keys().cloned().collect()),
        _ => None,
    };
    let keys = keys.ok_or_else(|| wrong(pointer, "an array of strings"))?;
    Ok(keys.into_iter().map(Text::plain).collect())
}

fn mapping(json: &Json, pointer: String) -> Result<Object<'static>, Error> {
    match value(Some(json), || pointer.clone())? {
        Some(Value::Object(object)) => Ok(object),
        _ => Err(wrong(pointer, "an object")),
    }
}

fn replacement_of(
    source: &str,
    replacement: &Json,
    pointer: &str,
) -> Result<(Pattern, Substitution), Error> {
    let pattern = pattern(&Json::String(source.to_owned()), pointer.to_owned())?;
    let Json::String(text) = replacement else {
        return Err(wrong(pointer.to_owned(), "a string"));
    };
    let template = Substitution::new(text, pattern.names()).map_err(|error| {
        let message = format!("{error} of the replacement");
        Error::new(ErrorKind::RegexReplacement, pointer, message)
    })?;
    Ok((pattern, template))
}

/// A constant of the schema.
fn value(
    json: Option<&Json>,
    pointer: impl FnOnce() -> String,
) -> Result<Option<Value<'static>>, Error> {
    let Some(json) = json else { return Ok(None) };
    if !depth_within(json, MAX_VALUE_DEPTH) {
        let message = format!("the value is nested deeper than {MAX_VALUE_DEPTH}");
        return Err(Error::new(ErrorKind::DepthLimit, pointer(), message));
    }
    Ok(Some(Value::from_json(json).into_owned()))
}

fn wrong(pointer: String, wanted: &str) -> Error {
    Error::new(ErrorKind::PythonType, pointer, format!("must be {wanted}"))
}

fn unsupported_type(shown: &str, pointer: String) -> Error {
    let message = format!("unsupported type {}", shorten(shown));
    Error::new(ErrorKind::UnsupportedType, pointer, message)
}

/// Python's truth of a value.
pub(crate) fn is_truthy(json: &Json) -> bool {
    match json {
        Json::Null => false,
        Json::Bool(b) => *b,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(map) => !map.is_empty(),
    }
}
