//! Reads the content parsers of a template, with their arguments.
//!
//! For example, `"content": "kv-lines"` with `"content_args": {"kv_sep": "="}` reads lines `a=b`.

use serde_json::{Map, Value as Json};

use super::choices::TemplateRelease;
use super::fields::{KvLines, Parser, ParserKind, XmlInline, empty_separator};
use super::json_dialect::JsonDialect;
use super::members::{bad_pattern, string_delims};
use crate::error::{Error, ErrorKind};
use crate::pyre::{Dialect, Pattern};
use crate::schema::{Mode, is_truthy, shorten};

/// Reads content parsers as a release has them.
pub(super) struct ContentParsers {
    pub(super) mode: Mode,
    pub(super) release: TemplateRelease,
}

impl ContentParsers {
    /// Keeps what is broken for later, or refuses it at once in the lenient mode.
    fn defer(&self, kind: Result<ParserKind, Error>) -> Result<ParserKind, Error> {
        match (kind, self.mode) {
            (Err(error), Mode::Reference) => Ok(ParserKind::Broken(error)),
            (kind, _) => kind,
        }
    }

    pub(super) fn read(
        &self,
        name: &str,
        args: Option<&Json>,
        pointer: &str,
    ) -> Result<Parser, Error> {
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
    pub(super) fn names(&self) -> &'static [&'static str] {
        match self.release {
            TemplateRelease::V5_23 => &PARSERS[..7],
            TemplateRelease::V5_24 => &PARSERS,
        }
    }

    #[cold]
    pub(super) fn none_of(&self, name: &str) -> String {
        let known = self.names().join(", ");
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
            "python-call-list" if self.names().contains(&name) => ParserKind::CallList,
            _ => {
                let message = self.none_of(name);
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
        self.read(name, spec.get("args"), &format!("{pointer}/args"))
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
