//! How formats write reasoning, content and calls: what a response template
//! says of it, and how the families' models spell what a template leaves open.

use response_parser::Family;
use serde_json::Value;

use super::anchors::{anchors, texts};
use crate::{Error, ErrorKind};

/// A format, as texts are generated in it.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// For messages.
    pub(super) name: String,
    /// What ends the prompt.
    pub(super) anchors: Vec<String>,
    /// The markers around reasoning.
    pub(super) reasoning: Option<(String, String)>,
    /// The markers around content; none if it is what stands outside of other
    /// markers. The second may be empty: the turn's end ends it.
    pub(super) content: Option<(String, String)>,
    /// Whether the format has content at all.
    pub(super) has_content: bool,
    /// What stands between reasoning and what follows.
    pub(super) between: String,
    /// What content may not spell.
    pub(super) closed: Vec<String>,
    pub(super) calls: Calls,
}

/// How calls are written.
#[derive(Clone, Debug)]
pub(super) enum Calls {
    /// Not, and why.
    Refused(String),
    /// One after another.
    Each(Box<Each>),
    /// In one list of JSON, between these markers.
    List {
        open: String,
        close: String,
        call: CallObject,
    },
}

/// Calls one after another.
#[derive(Clone, Debug)]
pub(super) struct Each {
    /// What stands around all of them.
    pub(super) section: (String, String),
    pub(super) separator: String,
    /// What opens a call: `{name}` stands for the tool's name and `{index}`
    /// for a number.
    pub(super) open: String,
    pub(super) body: CallBody,
    pub(super) close: String,
    /// What ends a call for the parser.
    pub(super) closes: Vec<String>,
    /// Most calls of a turn.
    pub(super) most: Option<usize>,
    /// Whether a call is all there is in a turn, besides reasoning, and the
    /// pattern of a text that would be taken for one.
    pub(super) alone: Option<&'static str>,
}

/// What stands inside of a call.
#[derive(Clone, Debug)]
pub(super) enum CallBody {
    /// An object with the tool's name and its arguments.
    Object(CallObject),
    /// The arguments.
    Arguments,
    /// The arguments, keys without quotes and strings between these delimiters.
    Loose { quotes: (String, String) },
    /// The arguments one by one, with `{key}` for the name of each; `marker` is
    /// what ends a value.
    Each {
        open: &'static str,
        close: &'static str,
        marker: &'static str,
    },
}

/// The keys of an object that is a call.
#[derive(Clone, Debug)]
pub(super) struct CallObject {
    pub(super) id: Option<&'static str>,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl CallObject {
    fn new(name: &str, arguments: &str) -> CallObject {
        CallObject {
            id: None,
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }
}

#[cold]
fn refused(name: &str, what: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Constraint,
        format!("the format {name:?} cannot be a constraint: {what}"),
    )
}

impl Shape {
    /// The shape of a ready-made format.
    pub(super) fn named(format: Family) -> Result<Shape, Error> {
        let mut shape = Shape::read(format.name(), format.template(), Spelling::Known)?;
        shape.calls = match calls_of(format) {
            Some(calls) => calls,
            None => {
                return Err(refused(
                    format.name(),
                    "it is not known how its calls are spelt",
                ));
            }
        };
        match format {
            Family::HARMONY => {
                shape.between = "<|start|>assistant".to_owned();
                // The turn's end ends it.
                shape.content = Some(("<|channel|>final<|message|>".to_owned(), String::new()));
            }
            Family::DEEPSEEK_V3 | Family::DEEPSEEK_V3_1 | Family::KIMI_K2 => {
                shape.closed.push(shape.section_open());
            }
            _ => {}
        }
        shape.closed.retain(|marker| !marker.is_empty());
        shape.closed.dedup();
        Ok(shape)
    }

    /// The ready-made format that a response template is.
    pub(super) fn is_ready_made(json: &Value) -> Option<Family> {
        let same = |format: &Family| format.template()["fields"] == json["fields"];
        Family::all().find(same)
    }

    /// The shape that a response template describes, as far as its anchors are spelt
    /// out.
    pub(super) fn of_template(json: &Value) -> Result<Shape, Error> {
        Shape::read("of the response template", json, Spelling::Unknown)
    }

    /// What opens the calls.
    pub(super) fn section_open(&self) -> String {
        match &self.calls {
            Calls::Each(each) => each.section.0.clone(),
            Calls::List { .. } | Calls::Refused(_) => String::new(),
        }
    }

    fn read(name: &str, json: &Value, spelling: Spelling) -> Result<Shape, Error> {
        let mut shape = Shape {
            name: name.to_owned(),
            anchors: texts(&json["start_anchor"]),
            reasoning: None,
            content: None,
            has_content: false,
            between: String::new(),
            closed: Vec::new(),
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
            let opens =
                anchors(spec, "open").map_err(|e| refused(name, format!("{place}/open{e}")));
            let closes =
                anchors(spec, "close").map_err(|e| refused(name, format!("{place}/close{e}")));
            if calls && spelling == Spelling::Known {
                // The calls' spelling is known; of the opening only what it may
                // begin with counts.
                shape
                    .closed
                    .extend(opens.unwrap_or_default().iter().map(|o| before_name(o)));
                continue;
            }
            if spec.get("discard") == Some(&Value::Bool(true)) {
                // Marks that the reader throws away, which text may not spell.
                shape.closed.extend(opens.unwrap_or_default());
                continue;
            }
            let other = field != "content" && !REASONING.contains(&field.as_str());
            if other && spelling == Spelling::Known {
                // Never generated; of the opening only what it may begin with counts.
                let opens = opens.unwrap_or_default();
                shape
                    .closed
                    .extend(opens.iter().map(|open| before_name(open)));
                continue;
            }
            let opens = opens?;
            let closes = closes?;
            shape
                .closed
                .extend(opens.iter().map(|open| before_name(open)));
            let first = |list: &[String]| list.first().cloned().unwrap_or_default();
            if calls {
                shape.calls = read_calls(name, &place, spec, &opens, &closes)?;
            } else if opens.is_empty() {
                if field != "content" {
                    return Err(refused(
                        name,
                        format!("{place} has no opening, and only `content` may have none"),
                    ));
                }
                shape.has_content = true;
                shape.closed.extend(closes);
            } else if field == "content" {
                shape.has_content = true;
                shape.content = Some((first(&opens), first(&closes)));
                shape.closed.extend(closes);
            } else if REASONING.contains(&field.as_str()) && shape.reasoning.is_none() {
                if closes.is_empty() {
                    return Err(refused(name, format!("{place} has no end")));
                }
                shape.reasoning = Some((first(&opens), first(&closes)));
            }
            // Other fields are never generated.
        }
        shape.closed.retain(|marker| !marker.is_empty());
        shape.closed.sort();
        shape.closed.dedup();
        Ok(shape)
    }
}

/// Names of fields for reasoning.
const REASONING: [&str; 5] = [
    "thinking",
    "reasoning_content",
    "reasoning",
    "thought",
    "thoughts",
];

/// Whether it is known how calls are spelt, whatever their patterns allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    Known,
    Unknown,
}

fn before_name(open: &str) -> String {
    open.split("{name}").next().unwrap_or_default().to_owned()
}

/// How the models of a family write calls.
fn calls_of(format: Family) -> Option<Calls> {
    let arguments = || CallObject::new("name", "arguments");
    let each = |open: &str, body: CallBody, close: &str| Each {
        section: (String::new(), String::new()),
        separator: "\n".to_owned(),
        open: open.to_owned(),
        body,
        close: close.to_owned(),
        closes: vec![close.to_owned()],
        most: None,
        alone: None,
    };
    let object = || CallBody::Object(arguments());
    Some(match format {
        Family::HERMES | Family::SMOLLM3 => {
            Calls::Each(Box::new(each("<tool_call>", object(), "</tool_call>")))
        }
        Family::QWEN3_CODER => Calls::Each(Box::new(Each {
            closes: vec!["</function>".to_owned()],
            ..each(
                "<tool_call>\n<function={name}>\n",
                CallBody::Each {
                    open: "<parameter={key}>\n",
                    close: "\n</parameter>\n",
                    marker: "</parameter>",
                },
                "</function>\n</tool_call>",
            )
        })),
        Family::GLM4 => Calls::Each(Box::new(each(
            "<tool_call>{name}\n",
            CallBody::Each {
                open: "<arg_key>{key}</arg_key>\n<arg_value>",
                close: "</arg_value>\n",
                marker: "</arg_value>",
            },
            "</tool_call>",
        ))),
        Family::MINIMAX_M2 => Calls::Each(Box::new(Each {
            section: (
                "<minimax:tool_call>\n".to_owned(),
                "\n</minimax:tool_call>".to_owned(),
            ),
            ..each(
                "<invoke name=\"{name}\">\n",
                CallBody::Each {
                    open: "<parameter name=\"{key}\">",
                    close: "</parameter>\n",
                    marker: "</parameter>",
                },
                "</invoke>",
            )
        })),
        Family::LLAMA3 => Calls::Each(Box::new(Each {
            most: Some(1),
            closes: ["<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"]
                .map(str::to_owned)
                .to_vec(),
            alone: Some(
                r#"\s*(?:<\|python_tag\|>)?\{\s*"(?:type"\s*:\s*"function"\s*,\s*")?name"\s*:"#,
            ),
            ..each(
                "",
                CallBody::Object(CallObject::new("name", "parameters")),
                "",
            )
        })),
        Family::MISTRAL_V11 => Calls::Each(Box::new(Each {
            separator: String::new(),
            closes: vec!["[TOOL_CALLS]".to_owned(), "</s>".to_owned()],
            ..each("[TOOL_CALLS]{name}[ARGS]", CallBody::Arguments, "")
        })),
        Family::DEEPSEEK_V3 => Calls::Each(Box::new(Each {
            section: (
                "<｜tool▁calls▁begin｜>".to_owned(),
                "<｜tool▁calls▁end｜>".to_owned(),
            ),
            ..each(
                "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n",
                CallBody::Arguments,
                "\n```<｜tool▁call▁end｜>",
            )
        })),
        Family::DEEPSEEK_V3_1 => Calls::Each(Box::new(Each {
            section: (
                "<｜tool▁calls▁begin｜>".to_owned(),
                "<｜tool▁calls▁end｜>".to_owned(),
            ),
            separator: String::new(),
            ..each(
                "<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>",
                CallBody::Arguments,
                "<｜tool▁call▁end｜>",
            )
        })),
        Family::KIMI_K2 => Calls::Each(Box::new(Each {
            section: (
                "<|tool_calls_section_begin|>".to_owned(),
                "<|tool_calls_section_end|>".to_owned(),
            ),
            separator: String::new(),
            ..each(
                "<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>",
                CallBody::Arguments,
                "<|tool_call_end|>",
            )
        })),
        Family::HARMONY => Calls::Each(Box::new(Each {
            most: Some(1),
            closes: ["<|call|>", "<|end|>", "<|return|>"]
                .map(str::to_owned)
                .to_vec(),
            ..each(
                "<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>",
                CallBody::Arguments,
                "",
            )
        })),
        Family::MISTRAL => Calls::List {
            open: "[TOOL_CALLS]".to_owned(),
            close: String::new(),
            call: arguments(),
        },
        Family::PHI4_MINI => Calls::List {
            open: "<|tool_call|>".to_owned(),
            close: "<|/tool_call|>".to_owned(),
            call: arguments(),
        },
        Family::COHERE => Calls::List {
            open: "<|START_ACTION|>".to_owned(),
            close: "<|END_ACTION|>".to_owned(),
            call: CallObject {
                id: Some("tool_call_id"),
                ..CallObject::new("tool_name", "parameters")
            },
        },
        Family::GEMMA => Calls::Refused("the family has no form of its own for calls".to_owned()),
        Family::GEMMA4 => Calls::Each(Box::new(Each {
            separator: String::new(),
            ..each(
                "<|tool_call>call:{name}",
                CallBody::Loose {
                    quotes: ("<|\"|>".to_owned(), "<|\"|>".to_owned()),
                },
                "<tool_call|>",
            )
        })),
        _ => return None,
    })
}

/// How a template that is no ready-made one writes calls.
fn read_calls(
    name: &str,
    place: &str,
    spec: &serde_json::Map<String, Value>,
    opens: &[String],
    closes: &[String],
) -> Result<Calls, Error> {
    let wrong = |what: &str| Err(refused(name, format!("{place}{what}")));
    if spec.get("content").and_then(Value::as_str) != Some("json") {
        return wrong("/content is not \"json\"");
    }
    let quotes = match spec.get("content_args").map(quotes_of) {
        None => None,
        Some(Some(quotes)) => Some(quotes),
        Some(None) => {
            return wrong(
                "/content_args: only plain JSON can be bound, and such with `unquoted_keys` and \
                 `string_delims`",
            );
        }
    };
    let function = &spec["transform"]["function"];
    let (Some(called), Some(arguments)) =
        (function["name"].as_str(), function["arguments"].as_str())
    else {
        return wrong("/transform does not say where name and arguments come from");
    };
    let inner = |path: &str| {
        let path = path.strip_prefix('{')?.strip_suffix('}')?;
        let plain = !path.is_empty() && path.chars().all(|c| c.is_alphanumeric() || c == '_');
        plain.then(|| path.to_owned())
    };
    let in_content = |path: &str| {
        let path = path.strip_prefix("{content.")?.strip_suffix('}')?;
        inner(&format!("{{{path}}}"))
    };
    let Some(open) = opens.first().cloned() else {
        return wrong(" has no opening");
    };
    let repeats = spec
        .get("repeats")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let each = spec
        .get("transform_each")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let close = closes.first().cloned().unwrap_or_default();
    if each {
        if quotes.is_some() {
            return wrong("/content_args: only plain JSON can be bound in a list of calls");
        }
        let (Some(name), Some(arguments)) = (inner(called), inner(arguments)) else {
            return wrong("/transform takes name and arguments from elsewhere than the list");
        };
        if open.contains("{name}") {
            return wrong("/open_pattern names a tool before a list of calls");
        }
        let call = CallObject {
            id: None,
            name,
            arguments,
        };
        return Ok(Calls::List { open, close, call });
    }
    let body = match (called, arguments) {
        ("{name}", "{content}") if open.contains("{name}") => match quotes {
            Some(quotes) => CallBody::Loose { quotes },
            None => CallBody::Arguments,
        },
        _ if quotes.is_some() => {
            return wrong("/content_args: the tool's name is in the call, not before it");
        }
        _ => match (in_content(called), in_content(arguments)) {
            (Some(name), Some(arguments)) if !open.contains("{name}") => {
                CallBody::Object(CallObject {
                    id: None,
                    name,
                    arguments,
                })
            }
            _ => return wrong("/transform takes name and arguments from elsewhere"),
        },
    };
    if close.is_empty() {
        return wrong(" has no end");
    }
    Ok(Calls::Each(Box::new(Each {
        section: (String::new(), String::new()),
        separator: String::new(),
        open,
        body,
        closes: closes.to_vec(),
        close,
        most: (!repeats).then_some(1),
        alone: None,
    })))
}

/// The delimiters of strings where keys stand without quotes; `None` if the
/// arguments say something else.
fn quotes_of(content_args: &Value) -> Option<(String, String)> {
    let known = ["unquoted_keys", "string_delims"];
    let all = content_args.as_object()?;
    let pairs = all.get("string_delims")?.as_array()?;
    let pair = pairs.first()?.as_array()?;
    let (open, close) = (pair.first()?.as_str()?, pair.get(1)?.as_str()?);
    let plain = all.keys().all(|key| known.contains(&key.as_str()))
        && all.get("unquoted_keys") == Some(&Value::Bool(true))
        && pairs.len() == 1
        && !open.is_empty()
        && !close.is_empty();
    plain.then(|| (open.to_owned(), close.to_owned()))
}
