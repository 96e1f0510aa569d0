//! The ways in which formats write reasoning, content and calls: by the family's data file, or
//! derived from a response template.
//!
//! For example, a template whose calls open with `<call>` and are JSON with `name` and
//! `arguments` is the way to write that the file of such a family would have.

use std::collections::BTreeMap;

use families::{
    Body, CallObject, Calls, Choice, Content, Each, Form, Order, Reasoning, Spelling, Writes,
};
use response_parser::Family;
use serde_json::Value;

use super::anchors::{anchors, texts};
use crate::{Error, ErrorKind};

/// A format, as texts are generated in it.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// For messages.
    pub(super) name: String,
    /// The texts that end the prompt.
    pub(super) anchors: Vec<String>,
    pub(super) writes: Writes,
}

#[cold]
fn refused(name: &str, what: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Constraint,
        format!("the format {name:?} cannot be a constraint: {what}"),
    )
}

impl Shape {
    /// The shape of a family's format.
    pub(super) fn named(family: Family) -> Shape {
        Shape {
            name: family.name().to_owned(),
            anchors: texts(&family.template()["start_anchor"]),
            writes: family.writes().clone(),
        }
    }

    /// The family's format that a response template is.
    pub(super) fn is_ready_made(json: &Value) -> Option<Family> {
        let same = |format: &Family, keys: &[&str]| {
            let template = format.template();
            keys.iter().all(|key| template[key] == json[key])
        };
        let of = |keys: &[&str]| Family::all().find(|format| same(format, keys));
        of(&["fields", "start_anchor"]).or_else(|| of(&["fields"]))
    }

    /// Texts that content never spells, because the reader would take them for structure.
    pub(super) fn closed(&self) -> Vec<String> {
        let writes = &self.writes;
        let mut closed = writes.never.clone();
        closed.extend(writes.reasoning.iter().map(|marks| marks.open.clone()));
        match &writes.calls {
            Calls::Refused(_) => {}
            Calls::List { open, .. } => closed.push(open.clone()),
            Calls::Each(each) => {
                closed.extend(each.section.0.beginnings());
                closed.extend(each.forms.iter().flat_map(|form| form.open.beginnings()));
            }
        }
        // White space before a mark may be content.
        let trimmed = closed.iter().map(|mark| mark.trim_end().to_owned());
        let mut closed: Vec<String> = trimmed.filter(|mark| !mark.is_empty()).collect();
        closed.sort();
        closed.dedup();
        closed
    }

    /// The shape that a response template describes, as far as its anchors are spelt
    /// out.
    ///
    /// # Errors
    ///
    /// Something of the template cannot be spelt; the message says where, by JSON Pointer.
    pub(super) fn of_template(json: &Value) -> Result<Shape, Error> {
        let name = "of the response template";
        let mut writes = Writes {
            reasoning: None,
            between: Spelling::default(),
            content: None,
            never: Vec::new(),
            calls: Calls::Refused("it has no form for them".to_owned()),
        };
        let Some(fields) = json["fields"].as_object() else {
            return Err(refused(name, "it has no fields"));
        };
        let empty = serde_json::Map::new();
        for (field, spec) in fields {
            let spec = spec.as_object().unwrap_or(&empty);
            let place = format!("/fields/{field}");
            let calls = spec
                .get("transform")
                .is_some_and(|t| t.get("function").is_some());
            if spec.get("discard") == Some(&Value::Bool(true)) {
                // Marks that the reader throws away, which text may not spell.
                let opens = anchors(spec, "open").unwrap_or_default();
                writes.never.extend(opens);
                continue;
            }
            let opens =
                anchors(spec, "open").map_err(|e| refused(name, format!("{place}/open{e}")))?;
            let closes =
                anchors(spec, "close").map_err(|e| refused(name, format!("{place}/close{e}")))?;
            writes
                .never
                .extend(opens.iter().map(|open| before_name(open)));
            let first = |list: &[String]| list.first().cloned().unwrap_or_default();
            if calls {
                writes.calls = read_calls(name, &place, spec, &opens, &closes)?;
            } else if opens.is_empty() {
                if field != "content" {
                    return Err(refused(
                        name,
                        format!("{place} has no opening, and only `content` may have none"),
                    ));
                }
                writes.content = Some(Content::Bare);
                writes.never.extend(closes);
            } else if field == "content" {
                let marks = (first(&opens), first(&closes));
                writes.content = Some(Content::Between(
                    Spelling::Text(marks.0),
                    Spelling::Text(marks.1),
                ));
                writes.never.extend(closes);
            } else if REASONING.contains(&field.as_str()) && writes.reasoning.is_none() {
                if closes.is_empty() {
                    return Err(refused(name, format!("{place} has no end")));
                }
                writes.reasoning = Some(Reasoning {
                    before: Spelling::default(),
                    open: first(&opens),
                    close: first(&closes),
                });
            }
            // Other fields are never generated.
        }
        writes.never.retain(|marker| !marker.is_empty());
        Ok(Shape {
            name: name.to_owned(),
            anchors: texts(&json["start_anchor"]),
            writes,
        })
    }
}

/// The names of fields for reasoning, because templates name them as chat interfaces do.
const REASONING: [&str; 5] = [
    "thinking",
    "reasoning_content",
    "reasoning",
    "thought",
    "thoughts",
];

fn before_name(open: &str) -> String {
    open.split("{name}").next().unwrap_or_default().to_owned()
}

/// Returns the way in which a template that is no ready-made one writes calls.
fn read_calls(
    name: &str,
    place: &str,
    spec: &serde_json::Map<String, Value>,
    opens: &[String],
    closes: &[String],
) -> Result<Calls, Error> {
    let transform = Transform::of(spec);
    let calls = transform.and_then(|transform| match flag(spec, "transform_each") {
        true => transform.list(opens, closes),
        false => {
            let mut each = transform.each(opens, closes)?;
            each.most = (!flag(spec, "repeats")).then_some(1);
            Ok(Calls::Each(Box::new(each)))
        }
    });
    calls.map_err(|what| refused(name, format!("{place}{what}")))
}

fn flag(spec: &serde_json::Map<String, Value>, name: &str) -> bool {
    spec.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// The key that a path in braces names.
fn inner(path: &str) -> Option<String> {
    let path = path.strip_prefix('{')?.strip_suffix('}')?;
    let plain = !path.is_empty() && path.chars().all(|c| c.is_alphanumeric() || c == '_');
    plain.then(|| path.to_owned())
}

/// The keys of `{content.name}`, or of the first of several that there is.
fn in_content(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix('{')?.strip_suffix('}')?;
    let ways = path.split('|').filter(|way| !way.is_empty());
    let keys: Option<Vec<String>> = ways
        .map(|way| inner(&format!("{{{}}}", way.strip_prefix("content.")?)))
        .collect();
    keys.filter(|keys| !keys.is_empty())
}

/// The places from which a template takes calls. Its functions say what is wrong, behind the place
/// of the field.
struct Transform<'t> {
    /// The paths of the tool's name and of its arguments.
    called: &'t str,
    arguments: &'t str,
    /// The delimiters of strings where arguments are no plain JSON.
    quotes: Option<(String, String)>,
}

impl<'t> Transform<'t> {
    fn of(spec: &'t serde_json::Map<String, Value>) -> Result<Transform<'t>, &'static str> {
        let read_as = spec.get("content").or(spec.get("body"));
        let quotes = match read_as {
            // The extended language reads calls as JSON unless told.
            None => None,
            Some(Value::String(name)) if name == "json" => None,
            Some(body @ Value::Object(_)) if body.get("string_delims").is_some() => pair_of(body),
            Some(_) => return Err("/content is not \"json\""),
        };
        let quotes = match spec.get("content_args").map(quotes_of) {
            None => quotes,
            Some(Some(quotes)) => Some(quotes),
            Some(None) => {
                return Err(
                    "/content_args: only plain JSON can be bound, and such with `unquoted_keys` \
                     and `string_delims`",
                );
            }
        };
        let function = &spec["transform"]["function"];
        match (function["name"].as_str(), function["arguments"].as_str()) {
            (Some(called), Some(arguments)) => Ok(Transform {
                called,
                arguments,
                quotes,
            }),
            _ => Err("/transform does not say where name and arguments come from"),
        }
    }

    /// A list of calls between two marks.
    fn list(self, opens: &[String], closes: &[String]) -> Result<Calls, &'static str> {
        let open = opens.first().cloned().ok_or(" has no opening")?;
        if self.quotes.is_some() {
            return Err("/content_args: only plain JSON can be bound in a list of calls");
        }
        let (Some(name), Some(arguments)) = (inner(self.called), inner(self.arguments)) else {
            return Err("/transform takes name and arguments from elsewhere than the list");
        };
        if open.contains("{name}") {
            return Err("/open_pattern names a tool before a list of calls");
        }
        Ok(Calls::List {
            open,
            close: closes.first().cloned().unwrap_or_default(),
            call: call_object(name, arguments),
        })
    }

    /// Calls with marks around each.
    fn each(self, opens: &[String], closes: &[String]) -> Result<Each, &'static str> {
        let open = opens.first().cloned().ok_or(" has no opening")?;
        let body = self.body(&open)?;
        let close = closes.first().cloned().unwrap_or_default();
        if close.is_empty() {
            return Err(" has no end");
        }
        // Around an object on a line of its own.
        let line = match body {
            Body::Object(_) => Spelling::Choice(Choice::Maybe(Box::new("\n".into()))),
            _ => Spelling::default(),
        };
        let form = Form {
            open: Spelling::Row(vec![Spelling::Text(open), line.clone()]),
            body,
            close: Spelling::Row(vec![line, Spelling::Text(close)]),
        };
        Ok(Each {
            forms: vec![form],
            closes: closes.to_vec(),
            ..Each::default()
        })
    }

    /// The body of a call behind its opening.
    fn body(self, open: &str) -> Result<Body, &'static str> {
        let is_named = open.contains("{name}");
        match (self.called, self.arguments) {
            ("{name}", "{content}") if is_named => Ok(match self.quotes {
                Some((open, close)) => Body::Loose(open, close),
                None => Body::Arguments,
            }),
            _ if self.quotes.is_some() => {
                Err("/content_args: the tool's name is in the call, not before it")
            }
            _ => match (in_content(self.called), in_content(self.arguments)) {
                (Some(name), Some(arguments)) if !is_named => Ok(Body::Object(CallObject {
                    arguments,
                    ..call_object(name[0].clone(), String::new())
                })),
                _ => Err("/transform takes name and arguments from elsewhere"),
            },
        }
    }
}

fn call_object(name: String, arguments: String) -> CallObject {
    CallObject {
        id: None,
        constants: BTreeMap::new(),
        name,
        arguments: vec![arguments],
        order: Order::NameFirst,
    }
}

/// The delimiters of strings where keys stand without quotes; `None` if the
/// arguments say something else.
fn quotes_of(content_args: &Value) -> Option<(String, String)> {
    let known = ["unquoted_keys", "string_delims"];
    let all = content_args.as_object()?;
    let plain = all.keys().all(|key| known.contains(&key.as_str()))
        && all.get("unquoted_keys") == Some(&Value::Bool(true));
    pair_of(content_args).filter(|_| plain)
}

/// The only pair of delimiters of strings.
fn pair_of(body: &Value) -> Option<(String, String)> {
    let pairs = body.get("string_delims")?.as_array()?;
    let pair = pairs.first()?.as_array()?;
    let (open, close) = (pair.first()?.as_str()?, pair.get(1)?.as_str()?);
    let plain = pairs.len() == 1 && !open.is_empty() && !close.is_empty();
    plain.then(|| (open.to_owned(), close.to_owned()))
}
