//! The formats of a structural tag, with what their fields leave out filled in, and the errors about
//! their fields. For example, a tag without `end` ends with the text.

use regex_dialects::Dialect;
use serde_json::Value;

use crate::{Error, ErrorKind};
/// A format, with what its fields leave out filled in.
#[derive(Clone, Debug)]
pub(in crate::exchange) enum Format {
    Const(String),
    Text {
        excludes: Vec<String>,
        max_tokens: Option<u32>,
        max_chars: Option<u32>,
    },
    Json(JsonFormat),
    Regex {
        pattern: String,
        at: String,
    },
    Grammar {
        text: String,
        at: String,
    },
    Sequence(Vec<Format>),
    Or(Vec<Format>),
    Optional(Box<Format>),
    /// A format with others inside of it, and its place.
    At(String, Box<Format>),
    Star(Box<Format>),
    Plus(Box<Format>),
    Repeat {
        least: u32,
        most: Option<u32>,
        content: Box<Format>,
    },
    Tag(Box<TagFormat>),
    Separated {
        tags: Vec<TagFormat>,
        separator: String,
        count: Few,
    },
    Triggered {
        triggers: Vec<String>,
        tags: Vec<TagFormat>,
        excludes: Vec<String>,
        count: Few,
    },
    Dispatch {
        rules: Vec<(String, Format)>,
        again: bool,
        excludes: Vec<String>,
    },
    Token(TokenRef),
    ExcludeToken(Vec<TokenRef>),
    AnyTokens {
        excluded: Vec<TokenRef>,
        most: Option<u32>,
    },
    TokenTriggered {
        triggers: Vec<TokenRef>,
        tags: Vec<TagFormat>,
        excluded: Vec<TokenRef>,
        count: Few,
    },
    TokenDispatch {
        rules: Vec<(TokenRef, Format)>,
        again: bool,
        excluded: Vec<TokenRef>,
    },
}

/// JSON of a schema, or what stands for it.
#[derive(Clone, Debug)]
pub(in crate::exchange) struct JsonFormat {
    pub(in crate::exchange) schema: Value,
    pub(in crate::exchange) style: Style,
    pub(in crate::exchange) any_order: bool,
    pub(in crate::exchange) max_space: Option<u32>,
    pub(in crate::exchange) excludes: Vec<String>,
    pub(in crate::exchange) at: String,
}

/// The notation of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exchange) enum Style {
    Json,
    Qwen,
    MiniMax,
    MiniMaxM3,
    DeepSeek,
    DeepSeekV41,
    Glm,
    Cohere,
    KimiK3,
}

impl Style {
    pub(super) const NAMES: [(&str, Style); 9] = [
        ("json", Style::Json),
        ("qwen_xml", Style::Qwen),
        ("minimax_xml", Style::MiniMax),
        ("minimax_m3_xml", Style::MiniMaxM3),
        ("deepseek_xml", Style::DeepSeek),
        ("deepseek_v4_1_xml", Style::DeepSeekV41),
        ("glm_xml", Style::Glm),
        ("cohere_xml", Style::Cohere),
        ("kimi_k3_xml", Style::KimiK3),
    ];
}

/// The number of tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::exchange) struct Few {
    pub(in crate::exchange) at_least_one: bool,
    pub(in crate::exchange) stop_after_first: bool,
}

#[derive(Clone, Debug)]
pub(in crate::exchange) struct TagFormat {
    pub(in crate::exchange) begin: Mark,
    pub(in crate::exchange) content: Format,
    pub(in crate::exchange) end: End,
    pub(in crate::exchange) at: String,
}

#[derive(Clone, Debug)]
pub(in crate::exchange) enum Mark {
    Text(String),
    Token(TokenRef),
}

#[derive(Clone, Debug)]
pub(in crate::exchange) enum End {
    Texts(Vec<String>),
    Token(TokenRef),
}

/// A token by its number or its text, and where it is named.
#[derive(Clone, Debug)]
pub(in crate::exchange) struct TokenRef {
    pub(in crate::exchange) name: TokenName,
    pub(in crate::exchange) at: String,
}

#[derive(Clone, Debug)]
pub(in crate::exchange) enum TokenName {
    Id(u32),
    Text(String),
}

impl Format {
    /// Tells whether the format may go on for ever, in the sense in which a tag around it needs an
    /// end.
    pub(in crate::exchange) fn is_unlimited(&self) -> bool {
        match self {
            Format::Text { .. }
            | Format::AnyTokens { .. }
            | Format::Triggered { .. }
            | Format::TokenTriggered { .. }
            | Format::Dispatch { .. }
            | Format::TokenDispatch { .. }
            | Format::Separated { .. }
            | Format::Star(_)
            | Format::Plus(_) => true,
            Format::Repeat { most, content, .. } => match most {
                None => true,
                Some(0) => false,
                Some(_) => content.is_unlimited(),
            },
            Format::Optional(content) | Format::At(_, content) => content.is_unlimited(),
            Format::Sequence(all) | Format::Or(all) => all
                .iter()
                .any(|one| one.is_unlimited() && !one.is_free_with_excludes()),
            Format::Const(_)
            | Format::Json(_)
            | Format::Regex { .. }
            | Format::Grammar { .. }
            | Format::Tag(_)
            | Format::Token(_)
            | Format::ExcludeToken(_) => false,
        }
    }

    pub(super) fn is_free_with_excludes(&self) -> bool {
        match self {
            Format::Text { excludes, .. }
            | Format::Triggered { excludes, .. }
            | Format::Dispatch { excludes, .. } => !excludes.is_empty(),
            Format::AnyTokens { excluded, .. }
            | Format::TokenTriggered { excluded, .. }
            | Format::TokenDispatch { excluded, .. } => !excluded.is_empty(),
            _ => false,
        }
    }
}

/// Returns the error of a tag that does not say what it must.
#[cold]
pub(in crate::exchange) fn malformed(at: &str, what: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Constraint,
        format!("the structural tag at {at:?}: {what}"),
    )
}

/// Returns a regular expression of a tag in the syntax of this project's automata, or why there is
/// none.
pub(in crate::exchange) fn rewritten(pattern: &str) -> Result<String, String> {
    let rewritten = Dialect::TAGS.rewritten(pattern);
    rewritten.map_err(|error| format!("{} (byte {})", error.reason, error.offset))
}

/// Returns the error of a tag that says what cannot be enforced.
#[cold]
pub(in crate::exchange) fn refused(at: &str, what: impl std::fmt::Display) -> Error {
    malformed(at, what)
}

/// Returns the same error, with the place in the tag that it comes from.
#[cold]
pub(in crate::exchange) fn at(place: &str, error: Error) -> Error {
    let message = format!("the structural tag at {place:?}: {error}");
    Error::with_source(error.kind(), message, error)
}
