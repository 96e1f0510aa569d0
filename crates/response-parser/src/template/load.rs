//! A response template, read and checked. For example, a field with both `open` and `open_pattern`
//! is an error at its JSON Pointer.

use json_tree::pointer::escape;
use serde_json::{Map, Value as Json};

use super::call::{Body, Call, Ends, Parameters, Plain, Rows};
use super::choices::{Language, TemplateRelease};
use super::shape::Shape;
use super::transform::Structure;
use crate::error::{Error, ErrorKind};
use crate::pyre::{Dialect, Pattern, SyntaxError};
use crate::schema::{Mode, is_truthy, shorten};
use crate::text::Text;
use crate::value::{Object, Value, depth_within};

/// The deepest nesting of a template: real ones have a dozen levels, and the limit is there because
/// reading calls itself as deep.
pub(crate) const MAX_TEMPLATE_DEPTH: usize = 128;

pub(super) struct Template {
    pub(super) defaults: Object<'static>,
    pub(super) fields: Vec<Field>,
    /// The field that takes what no region takes.
    pub(super) implicit: Option<usize>,
    pub(super) start_anchor: Anchor,
    pub(super) language: Language,
    pub(super) release: TemplateRelease,
}

pub(super) struct Field {
    pub(super) name: std::sync::Arc<str>,
    pub(super) pointer: String,
    /// The place of the name among all names, in the order of code points.
    pub(super) rank: usize,
    pub(super) open: Option<Anchor>,
    pub(super) close: Option<Anchor>,
    pub(super) parser: Parser,
    pub(super) repeats: bool,
    pub(super) join: Option<String>,
    pub(super) optional: bool,
    pub(super) transform: Option<Structure>,
    pub(super) transform_each: bool,
    /// The end and the reading of its calls, in the extended language.
    pub(super) call: Option<Call>,
    /// In the extended language: true if its opening is thrown away.
    pub(super) discard: bool,
}

/// The marks that open or close a region, or the prefix's end.
#[derive(Debug)]
pub(super) struct Anchor {
    pub(super) pattern: Pattern,
    pub(super) pointer: String,
    /// A match that ends where the text so far ends may yet become a longer one.
    pub(super) may_grow: bool,
}

/// The way in which the text of a region becomes a value.
pub(super) struct Parser {
    pub(super) pointer: String,
    pub(super) strip: bool,
    pub(super) kind: ParserKind,
}

pub(super) enum ParserKind {
    Text,
    Int,
    Float,
    Bool,
    Json(JsonDialect),
    XmlInline(Box<XmlInline>),
    KvLines(Box<KvLines>),
    CallList,
    /// In the extended language: read by [`Field::call`].
    Call,
    /// In the reference's mode: fails when used.
    Broken(Error),
}

#[derive(Clone, Debug, Default)]
pub(super) struct JsonDialect {
    pub(super) allow_non_json: bool,
    pub(super) unquoted_keys: bool,
    /// Decides which texts are keys.
    pub(super) release: TemplateRelease,
    /// Pairs of what opens and what closes a string.
    pub(super) string_delims: Vec<(String, String)>,
}

pub(super) struct XmlInline {
    pub(super) pattern: Pattern,
    pub(super) key: Option<usize>,
    pub(super) value: Option<usize>,
    pub(super) value_parser: Option<Parser>,
    pub(super) merge_duplicates: bool,
    /// Decides which values are lists of a key's values.
    pub(super) release: TemplateRelease,
}

pub(super) struct KvLines {
    pub(super) line_sep: String,
    pub(super) kv_sep: String,
    pub(super) value_parser: Option<Parser>,
}

impl Field {
    /// The named groups of what opens a region, by number; behind all groups of the opening come those of what closes it.
    pub(super) fn named(&self) -> impl Iterator<Item = (usize, &str)> {
        let behind = self.groups_of_opening();
        let closing = self.close.iter().flat_map(named);
        let closing = closing.map(move |(group, name)| (behind + group, name));
        self.open.iter().flat_map(named).chain(closing)
    }

    /// Returns the number of groups that what opens a region has, its whole match included.
    pub(super) fn groups_of_opening(&self) -> usize {
        self.open
            .as_ref()
            .map_or(0, |open| open.pattern.names().len())
    }
}

impl Parser {
    /// Tells whether a region's text is only raw material of its value.
    pub(super) fn is_dirty(&self) -> bool {
        matches!(
            self.kind,
            ParserKind::Json(_)
                | ParserKind::XmlInline(_)
                | ParserKind::KvLines(_)
                | ParserKind::CallList
                | ParserKind::Call
        )
    }
}

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
        mode,
        language,
        release,
    };
    loader.template(json)
}

struct Loader {
    mode: Mode,
    language: Language,
    release: TemplateRelease,
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

#[cold]
fn bad(pointer: impl Into<String>, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::TemplateLoad, pointer, message)
}

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
        let start_anchor = self.anchor(template, "", "start_anchor", "start_anchor_pattern")?;
        let start_anchor = start_anchor
            .ok_or_else(|| bad("", "a template needs start_anchor or start_anchor_pattern"))?;
        Ok(Template {
            defaults,
            fields,
            implicit: implicit_field,
            start_anchor,
            language: self.language,
            release: self.release,
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
        if !self.parsers().contains(&content) {
            return Err(bad(at("content"), self.no_parser(content)));
        }
        let parser = self.parser(content, spec.get("content_args"), &at("content_args"))?;
        let open = self.anchor(spec, &pointer, "open", "open_pattern")?;
        let close = self.anchor(spec, &pointer, "close", "close_pattern")?;
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
        let open = self.anchor(spec, &pointer, "open", "open_pattern")?;
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
                release: self.release,
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

    fn anchor(
        &self,
        spec: &Map<String, Json>,
        pointer: &str,
        literal_key: &str,
        pattern_key: &str,
    ) -> Result<Option<Anchor>, Error> {
        let at = |key: &str| format!("{pointer}/{key}");
        match (spec.get(literal_key), spec.get(pattern_key)) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => {
                let message = format!("{literal_key} and {pattern_key} exclude each other");
                Err(bad(pointer, message))
            }
            (Some(literal), None) => literals(literal, at(literal_key)).map(Some),
            (None, Some(Json::String(source))) => {
                let pointer = at(pattern_key);
                let pattern = Pattern::new(source, Dialect::Regex)
                    .map_err(|error| bad_pattern(&error, &pointer, ErrorKind::TemplateLoad))?;
                Ok(Some(Anchor {
                    pattern,
                    pointer,
                    may_grow: true,
                }))
            }
            (None, Some(_)) => Err(bad(at(pattern_key), "must be a string")),
        }
    }

    /// Keeps what is broken for later, or refuses it at once in the lenient mode.
    fn defer(&self, kind: Result<ParserKind, Error>) -> Result<ParserKind, Error> {
        match (kind, self.mode) {
            (Err(error), Mode::Reference) => Ok(ParserKind::Broken(error)),
            (kind, _) => kind,
        }
    }

    fn parser(&self, name: &str, args: Option<&Json>, pointer: &str) -> Result<Parser, Error> {
        let empty = Map::new();
        let (args, wrong) = match args {
            None => (&empty, false),
            Some(Json::Null) => (&empty, self.mode == Mode::Reference),
            Some(Json::Object(args)) => (args, false),
            Some(_) => (&empty, true),
        };
        let kind = match wrong {
            true => Err(Error::new(
                ErrorKind::PythonType,
                pointer,
                "must be an object",
            )),
            false => self.kind(name, args, pointer),
        };
        Ok(Parser {
            pointer: pointer.to_owned(),
            strip: args.get("strip").is_none_or(is_truthy),
            kind: self.defer(kind)?,
        })
    }

    /// The content parsers of the release.
    fn parsers(&self) -> &'static [&'static str] {
        match self.release {
            TemplateRelease::V5_23 => &PARSERS[..7],
            TemplateRelease::V5_24 => &PARSERS,
        }
    }

    #[cold]
    fn no_parser(&self, name: &str) -> String {
        let known = self.parsers().join(", ");
        format!("no content parser {}; there are {known}", shorten(name))
    }

    fn kind(
        &self,
        name: &str,
        args: &Map<String, Json>,
        pointer: &str,
    ) -> Result<ParserKind, Error> {
        let truthy = |key: &str| args.get(key).is_some_and(is_truthy);
        Ok(match name {
            "text" => ParserKind::Text,
            "int" => ParserKind::Int,
            "float" => ParserKind::Float,
            "bool" => ParserKind::Bool,
            "json" => ParserKind::Json(JsonDialect {
                allow_non_json: truthy("allow_non_json"),
                unquoted_keys: truthy("unquoted_keys"),
                release: self.release,
                string_delims: string_delims(args.get("string_delims"), pointer)?,
            }),
            "xml-inline" => self.xml_inline(args, pointer)?,
            "kv-lines" => {
                let text = |key: &str, default: &str| match args.get(key) {
                    None => Ok(default.to_owned()),
                    Some(Json::String(text)) => Ok(text.clone()),
                    Some(_) => {
                        let pointer = format!("{pointer}/{key}");
                        Err(Error::new(
                            ErrorKind::PythonType,
                            pointer,
                            "must be a string",
                        ))
                    }
                };
                let (line_sep, kv_sep) = (text("line_sep", "\n")?, text("kv_sep", ":")?);
                if self.mode == Mode::Lenient && (line_sep.is_empty() || kv_sep.is_empty()) {
                    return Err(empty_separator(pointer));
                }
                ParserKind::KvLines(Box::new(KvLines {
                    line_sep,
                    kv_sep,
                    value_parser: self.value_parser(args, pointer)?,
                }))
            }
            "python-call-list" if self.parsers().contains(&name) => ParserKind::CallList,
            _ => {
                let message = self.no_parser(name);
                return Err(Error::new(ErrorKind::PythonType, pointer, message));
            }
        })
    }

    fn xml_inline(&self, args: &Map<String, Json>, pointer: &str) -> Result<ParserKind, Error> {
        let place = format!("{pointer}/tag_pattern");
        let source = match args.get("tag_pattern") {
            Some(Json::String(source)) if !source.is_empty() => source,
            None | Some(Json::Null) => {
                let message = "xml-inline needs a tag_pattern";
                return Err(Error::new(ErrorKind::XmlPatternRequired, place, message));
            }
            Some(Json::String(_)) => {
                let message = "tag_pattern is empty";
                return Err(Error::new(ErrorKind::XmlPatternRequired, place, message));
            }
            Some(_) => return Err(Error::new(ErrorKind::PythonType, place, "must be a string")),
        };
        let pattern = Pattern::new(source, Dialect::Regex)
            .map_err(|error| bad_pattern(&error, &place, ErrorKind::RegexSyntax))?;
        let group = |name: &str| {
            let mut names = pattern.names().iter();
            names.position(|known| known.as_deref() == Some(name))
        };
        let (key, value) = (group("key"), group("value"));
        if key.is_none() && self.mode == Mode::Lenient {
            let message = "the pattern needs a group (?P<key>...)";
            return Err(Error::new(ErrorKind::XmlKeyGroup, place, message));
        }
        Ok(ParserKind::XmlInline(Box::new(XmlInline {
            pattern,
            key,
            value,
            value_parser: self.value_parser(args, pointer)?,
            merge_duplicates: args.get("merge_duplicates").is_some_and(is_truthy),
            release: self.release,
        })))
    }

    fn value_parser(
        &self,
        args: &Map<String, Json>,
        pointer: &str,
    ) -> Result<Option<Parser>, Error> {
        let pointer = format!("{pointer}/value_parser");
        let wrong = |pointer: &str, message: &str| {
            let error = Error::new(ErrorKind::PythonType, pointer, message);
            match self.mode {
                Mode::Lenient => Err(error),
                Mode::Reference => Ok(Some(Parser {
                    pointer: pointer.to_owned(),
                    strip: true,
                    kind: ParserKind::Broken(error),
                })),
            }
        };
        let spec = match args.get("value_parser") {
            None | Some(Json::Null) => return Ok(None),
            Some(Json::Object(spec)) if spec.is_empty() => return Ok(None),
            Some(Json::Object(spec)) => spec,
            Some(other) if !is_truthy(other) => return Ok(None),
            Some(_) => return wrong(&pointer, "must be an object"),
        };
        let name = match spec.get("name") {
            None => "text",
            Some(Json::String(name)) => name,
            Some(_) => return wrong(&pointer, "the name must be a string"),
        };
        self.parser(name, spec.get("args"), &format!("{pointer}/args"))
            .map(Some)
    }
}

/// The content parsers, the newest last, so that an older release is a prefix of the list.
const PARSERS: [&str; 8] = [
    "text",
    "int",
    "float",
    "bool",
    "json",
    "xml-inline",
    "kv-lines",
    "python-call-list",
];

pub(super) fn empty_separator(pointer: &str) -> Error {
    let message = "line_sep and kv_sep must not be empty";
    Error::new(ErrorKind::EmptySeparator, pointer, message)
}

fn only(object: &Map<String, Json>, known: &[&str], pointer: &str) -> Result<(), Error> {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let message = format!("unknown key; there are {}", known.join(", "));
            Err(bad(format!("{pointer}/{}", escape(key)), message))
        }
    }
}

fn bad_pattern(error: &SyntaxError, pointer: &str, kind: ErrorKind) -> Error {
    let kind = match error.unsupported {
        true => ErrorKind::RegexUnsupported,
        false => kind,
    };
    Error::new(kind, pointer, format!("{error} of the pattern"))
}

/// One literal or several, the longest tried first.
fn literals(json: &Json, pointer: String) -> Result<Anchor, Error> {
    let wrong = || {
        bad(
            pointer.clone(),
            "must be a string or a list of strings, none empty",
        )
    };
    let mut list: Vec<&str> = match json {
        Json::String(text) => vec![text],
        Json::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Json::as_str).collect();
            texts.ok_or_else(wrong)?
        }
        _ => return Err(wrong()),
    };
    if list.is_empty() || list.iter().any(|text| text.is_empty()) {
        return Err(wrong());
    }
    list.sort_by_key(|text| std::cmp::Reverse(text.chars().count()));
    let mut kept: Vec<&str> = Vec::with_capacity(list.len());
    for text in list {
        if !kept.contains(&text) {
            kept.push(text);
        }
    }
    let may_grow = kept
        .iter()
        .any(|a| kept.iter().any(|b| a != b && b.starts_with(a)));
    Ok(Anchor {
        pattern: Pattern::literals(kept),
        pointer,
        may_grow,
    })
}

/// A text or a list of texts; none if there is no such member.
fn strings(json: Option<&Json>, pointer: &str) -> Result<Vec<String>, Error> {
    let texts = match json {
        None => return Ok(Vec::new()),
        Some(Json::String(text)) => Some(vec![text.clone()]),
        Some(Json::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect()
        }
        Some(_) => None,
    };
    texts.ok_or_else(|| bad(pointer, "must be a string or a list of strings"))
}

fn shapes(json: Option<&Json>, pointer: &str) -> Result<Vec<Shape>, Error> {
    let shapes = strings(json, pointer)?;
    let shapes = shapes.iter().map(|source| {
        Shape::new(source).ok_or_else(|| {
            let message = "a mark starts and ends with a text, and a hole has a text behind it";
            bad(pointer, message)
        })
    });
    shapes.collect()
}

fn string_delims(json: Option<&Json>, pointer: &str) -> Result<Vec<(String, String)>, Error> {
    let wrong = || {
        let pointer = format!("{pointer}/string_delims");
        let message = "must be a list of pairs of strings";
        Error::new(ErrorKind::PythonType, pointer, message)
    };
    let pairs = match json {
        None => return Ok(Vec::new()),
        Some(Json::Array(pairs)) => pairs,
        Some(other) if !is_truthy(other) => return Ok(Vec::new()),
        Some(_) => return Err(wrong()),
    };
    pairs
        .iter()
        .map(|pair| match pair.as_array().map(Vec::as_slice) {
            Some([Json::String(open), Json::String(close)]) => Ok((open.clone(), close.clone())),
            _ => Err(wrong()),
        })
        .collect()
}

/// The named groups of an anchor's pattern.
pub(super) fn named(anchor: &Anchor) -> impl Iterator<Item = (usize, &str)> {
    let names = anchor.pattern.names().iter().enumerate();
    names.filter_map(|(group, name)| Some((group, name.as_deref()?)))
}

/// A field's name as a key of the output.
pub(super) fn key(field: &Field) -> Text<'static> {
    Text::plain(field.name.to_string())
}
