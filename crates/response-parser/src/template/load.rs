//! A response template, read and checked. For example, a field with both `open` and `open_pattern`
//! is an error at its JSON Pointer.

use json_tree::pointer::escape;
use serde_json::{Map, Value as Json};

use super::call::{Body, Call, Ends, Parameters, Plain, Rows};
use super::choices::{Language, TemplateRelease};
use super::content_parsers::ContentParsers;
use super::fields::{Field, Parser, ParserKind, Template};
use super::json_dialect::JsonDialect;
use super::members::{anchor, bad, only, shapes, string_delims, strings};
use super::shape::Shape;
use super::transform::Structure;
use crate::error::{Error, ErrorKind};
use crate::schema::{Mode, is_truthy};
use crate::value::{Object, Value, depth_within};

/// The deepest nesting of a template: real ones have a dozen levels, and the limit is there because
/// reading calls itself as deep.
pub(crate) const MAX_TEMPLATE_DEPTH: usize = 128;

/// Reads and checks a template. Linear in its size.
pub(super) fn load(
    json: &Json,
    mode: Mode,
    language: Language,
    release: TemplateRelease,
) -> Result<Template, Error> {
    if !depth_within(json, MAX_TEMPLATE_DEPTH) {
        let message = format!("the template is nested deeper than {MAX_TEMPLATE_DEPTH}");
        return Err(Error::new(ErrorKind::DepthLimit, "", message));
    }
    let loader = Loader {
        language,
        parsers: ContentParsers { mode, release },
    };
    loader.template(json)
}

struct Loader {
    language: Language,
    parsers: ContentParsers,
}

/// Members of a field that only the extended language has, because the reference would refuse them.
const EXTENDED_KEYS: [&str; 7] = [
    "body",
    "ends",
    "bare",
    "begins",
    "interrupts",
    "discard",
    "into",
];

/// Members of a field in both languages, as the reference has them.
const FIELD_KEYS: [&str; 11] = [
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
];

impl Loader {
    fn template(&self, json: &Json) -> Result<Template, Error> {
        let Json::Object(template) = json else {
            return Err(bad("", "a template must be an object"));
        };
        if template
            .get("version")
            .is_some_and(|v| v.as_f64() != Some(1.0))
        {
            return Err(bad("/version", "the only version is 1"));
        }
        let known = [
            "version",
            "defaults",
            "fields",
            "start_anchor",
            "start_anchor_pattern",
        ];
        let known: Vec<&str> = match self.language {
            Language::HuggingFace => known.to_vec(),
            Language::Extended => known.into_iter().chain(["outside"]).collect(),
        };
        only(template, &known, "")?;
        let defaults = match template.get("defaults") {
            None => Object::default(),
            Some(defaults @ Json::Object(_)) => match Value::from_json(defaults).into_owned() {
                Value::Object(object) => object,
                _ => Object::default(),
            },
            Some(_) => return Err(bad("/defaults", "must be an object")),
        };
        let specs = match template.get("fields") {
            Some(Json::Object(specs)) if !specs.is_empty() => specs,
            _ => return Err(bad("/fields", "must be an object with at least one field")),
        };
        let mut fields = Vec::with_capacity(specs.len());
        for (name, spec) in specs {
            fields.push(self.field(name, spec)?);
        }
        let mut order: Vec<usize> = (0..fields.len()).collect();
        order.sort_by(|&a, &b| fields[a].name.cmp(&fields[b].name));
        for (rank, field) in order.into_iter().enumerate() {
            fields[field].rank = rank;
        }
        let named = |name: &Json| fields.iter().position(|f| Some(&*f.name) == name.as_str());
        let outside = match template.get("outside") {
            None => None,
            Some(name) => match named(name) {
                Some(field) => Some(field),
                None => return Err(bad("/outside", "must be the name of a field")),
            },
        };
        let mut interrupts = Vec::new();
        for (name, spec) in specs {
            let pointer = format!("/fields/{}/interrupts", escape(name));
            let names = strings(spec.get("interrupts"), &pointer)?;
            let fields: Option<Vec<usize>> = names.into_iter().map(|n| named(&n.into())).collect();
            interrupts.push(fields.ok_or_else(|| bad(pointer, "must be names of fields"))?);
        }
        for (field, interrupts) in fields.iter_mut().zip(interrupts) {
            if let Some(call) = &mut field.call {
                call.interrupts = interrupts;
            }
        }
        let mut open_less = (0..fields.len()).filter(|&i| fields[i].open.is_none());
        let implicit = open_less.next();
        if let (Some(_), Some(_)) = (implicit, outside) {
            return Err(bad(
                "/outside",
                "a field without an opening takes it already",
            ));
        }
        let implicit_field = implicit.or(outside);
        if let Some(second) = open_less.next() {
            let message = "only one field may have neither open nor open_pattern";
            return Err(bad(fields[second].pointer.clone(), message));
        }
        let start_anchor = anchor(template, "", "start_anchor", "start_anchor_pattern")?;
        let start_anchor = start_anchor
            .ok_or_else(|| bad("", "a template needs start_anchor or start_anchor_pattern"))?;
        Ok(Template {
            defaults,
            fields,
            implicit: implicit_field,
            start_anchor,
            language: self.language,
            release: self.parsers.release,
        })
    }

    fn field(&self, name: &str, spec: &Json) -> Result<Field, Error> {
        let pointer = format!("/fields/{}", escape(name));
        let at = |key: &str| format!("{pointer}/{key}");
        let Json::Object(spec) = spec else {
            return Err(bad(pointer, "a field must be an object"));
        };
        let known: Vec<&str> = match self.language {
            Language::HuggingFace => FIELD_KEYS.to_vec(),
            Language::Extended => FIELD_KEYS.into_iter().chain(EXTENDED_KEYS).collect(),
        };
        only(spec, &known, &pointer)?;
        if self.language == Language::Extended {
            let function = spec.get("transform").and_then(|t| t.get("function"));
            if function.is_some() {
                return self.call_field(name, spec, pointer);
            }
        }
        let content = match spec.get("content") {
            None => "text",
            Some(Json::String(content)) => content,
            Some(_) => return Err(bad(at("content"), "must be a string")),
        };
        if !self.parsers.names().contains(&content) {
            return Err(bad(at("content"), self.parsers.none_of(content)));
        }
        let parser = self
            .parsers
            .read(content, spec.get("content_args"), &at("content_args"))?;
        let open = anchor(spec, &pointer, "open", "open_pattern")?;
        let close = anchor(spec, &pointer, "close", "close_pattern")?;
        let repeats = spec.get("repeats").is_some_and(is_truthy);
        let join = match spec.get("join") {
            None | Some(Json::Null) => None,
            Some(Json::String(join)) if repeats => Some(join.clone()),
            Some(Json::String(_)) => {
                return Err(bad(at("join"), "needs \"repeats\": true beside it"));
            }
            Some(_) => return Err(bad(at("join"), "must be a string")),
        };
        let transform = match spec.get("transform") {
            None | Some(Json::Null) => None,
            Some(json) => Some(Structure::new(json, &at("transform"), self.language)?),
        };
        let discard = match spec.get("discard") {
            None | Some(Json::Bool(false)) => false,
            Some(Json::Bool(true)) if open.is_some() && close.is_none() => true,
            Some(Json::Bool(true)) => {
                return Err(bad(at("discard"), "needs an opening, and no closing"));
            }
            Some(_) => return Err(bad(at("discard"), "must be true or false")),
        };
        let of_calls = ["body", "ends", "bare", "begins", "interrupts", "into"];
        if let Some(key) = of_calls.into_iter().find(|key| spec.contains_key(*key)) {
            return Err(bad(at(key), "needs a transform to a call beside it"));
        }
        let transform_each = match spec.get("transform_each") {
            None | Some(Json::Bool(false)) => false,
            Some(Json::Bool(true)) => true,
            Some(_) => return Err(bad(at("transform_each"), "must be true or false")),
        };
        if spec.contains_key("transform_each") && transform.is_none() && transform_each {
            return Err(bad(at("transform_each"), "needs a transform"));
        }
        if transform.is_none() {
            for anchor in [&open, &close].into_iter().flatten() {
                if anchor.pattern.names().iter().any(Option::is_some) {
                    let message = "named groups are for a transform, and there is none";
                    return Err(bad(anchor.pointer.clone(), message));
                }
            }
        }
        Ok(Field {
            name: name.into(),
            rank: 0,
            open,
            close,
            parser,
            repeats,
            join,
            optional: spec.get("optional").is_none_or(is_truthy),
            transform,
            transform_each,
            pointer,
            call: None,
            discard,
        })
    }

    /// A field whose regions are calls, in the extended language.
    fn call_field(
        &self,
        name: &str,
        spec: &Map<String, Json>,
        pointer: String,
    ) -> Result<Field, Error> {
        let at = |key: &str| format!("{pointer}/{key}");
        let refused = ["close_pattern", "content", "content_args", "transform_each"];
        let refused = refused.into_iter().chain(["join", "discard"]);
        if let Some(key) = refused.into_iter().find(|key| spec.contains_key(*key)) {
            return Err(bad(at(key), "calls have body and close"));
        }
        let open = anchor(spec, &pointer, "open", "open_pattern")?;
        if open.is_none() {
            return Err(bad(pointer, "a call needs open or open_pattern"));
        }
        let truth = |key: &str| match spec.get(key) {
            None | Some(Json::Bool(false)) => Ok(false),
            Some(Json::Bool(true)) => Ok(true),
            Some(_) => Err(bad(at(key), "must be true or false")),
        };
        let ends = match spec.get("ends") {
            None => Ends::Mark,
            Some(Json::String(ends)) if ends == "value" => Ends::Value,
            Some(_) => return Err(bad(at("ends"), "must be \"value\"")),
        };
        let (body, entities) = self.body(spec.get("body"), &at("body"))?;
        let close = shapes(spec.get("close"), &at("close"))?;
        if close.is_empty() && ends == Ends::Mark {
            return Err(bad(pointer, "a call needs close, or \"ends\": \"value\""));
        }
        let name = match spec.get("into") {
            None => name,
            Some(Json::String(into)) => into,
            Some(_) => return Err(bad(at("into"), "must be the name of a field")),
        };
        let function = &spec["transform"]["function"];
        let name_of = function["name"].as_str().unwrap_or_default();
        let lists = name_of.starts_with("{content.");
        let transform = Structure::new(&spec["transform"], &at("transform"), self.language)?;
        Ok(Field {
            name: name.into(),
            rank: 0,
            open,
            close: None,
            parser: Parser {
                pointer: at("body"),
                strip: true,
                kind: ParserKind::Call,
            },
            repeats: spec.get("repeats").is_some_and(is_truthy),
            join: None,
            optional: spec.get("optional").is_none_or(is_truthy),
            transform: Some(transform),
            transform_each: false,
            call: Some(Call {
                body,
                close,
                ends,
                bare: truth("bare")?,
                lists,
                begins: strings(spec.get("begins"), &at("begins"))?,
                interrupts: Vec::new(),
                entities,
            }),
            discard: false,
            pointer,
        })
    }

    /// Reads the form of a call, and whether its names are written with entities.
    fn body(&self, json: Option<&Json>, pointer: &str) -> Result<(Body, bool), Error> {
        let at = |key: &str| format!("{pointer}/{key}");
        let wrong = || {
            let message = "must be \"json\", \"json_lines\", \"keyed\", \"python\", \"python_lines\", \
                 \"python_arguments\", or an object with string_delims or with open and close";
            bad(pointer, message)
        };
        let body = match json {
            None => return Ok((Body::Json(JsonDialect::default()), false)),
            Some(Json::String(name)) => {
                let body = match name.as_str() {
                    "json" => Body::Json(JsonDialect::default()),
                    "json_lines" => Body::JsonLines,
                    "keyed" => Body::Keyed,
                    "python" => Body::Python(Rows::List),
                    "python_lines" => Body::Python(Rows::Lines),
                    "python_arguments" => Body::PythonArguments,
                    _ => return Err(wrong()),
                };
                return Ok((body, false));
            }
            Some(Json::Object(body)) => body,
            Some(_) => return Err(wrong()),
        };
        if let Some(pairs) = body.get("string_delims") {
            only(body, &["string_delims"], pointer)?;
            let dialect = JsonDialect {
                allow_non_json: false,
                unquoted_keys: true,
                release: self.parsers.release,
                string_delims: string_delims(Some(pairs), pointer)?,
            };
            return Ok((Body::Json(dialect), false));
        }
        let known = ["open", "close", "trim", "value", "typed_by", "entities"];
        only(body, &known, pointer)?;
        let (open, close) = (
            shapes(body.get("open"), &at("open"))?,
            shapes(body.get("close"), &at("close"))?,
        );
        let keyed = |shape: &Shape| shape.holes().any(|hole| hole == "key");
        if open.is_empty() || close.is_empty() || !open.iter().all(keyed) {
            return Err(bad(pointer, "needs close, and open with a hole {key}"));
        }
        let trim = match body.get("trim") {
            None => String::new(),
            Some(Json::String(trim)) => trim.clone(),
            Some(_) => return Err(bad(at("trim"), "must be a string")),
        };
        let plain = |json: &Json, pointer: String| match json.as_str() {
            Some("json") => Ok(Plain::Json),
            Some("text") => Ok(Plain::Text),
            _ => Err(bad(pointer, "must be \"json\" or \"text\"")),
        };
        let typed = match body.get("typed_by") {
            None => None,
            Some(Json::Object(holes)) if holes.len() == 1 => match holes.iter().next() {
                Some((hole, Json::Object(kinds))) => {
                    let kinds = kinds
                        .iter()
                        .map(|(told, kind)| Ok((told.clone(), plain(kind, at("typed_by"))?)));
                    let kinds = kinds.collect::<Result<_, Error>>()?;
                    Some((hole.clone(), kinds))
                }
                _ => return Err(bad(at("typed_by"), "must say what the hole's texts mean")),
            },
            Some(_) => return Err(bad(at("typed_by"), "must be an object of one hole")),
        };
        let entities = match body.get("entities") {
            None | Some(Json::Bool(false)) => false,
            Some(Json::Bool(true)) => true,
            Some(_) => return Err(bad(at("entities"), "must be true or false")),
        };
        let plain = match body.get("value") {
            None => Plain::Json,
            Some(json) => plain(json, at("value"))?,
        };
        let parameters = Parameters {
            open,
            close,
            trim,
            plain,
            typed,
        };
        Ok((Body::Parameters(parameters), entities))
    }
}
