//! Text between tags. For example, `[THOUGHT]Hm.[/THOUGHT]` is read by the tag `thought` as `Hm.`.

use serde_json::json;

use super::MissingTags;
use super::{Keys, Parsed, Part, TextParser, first_block, no_text, python, to_json};
use crate::error::{Error, ErrorKind};
use crate::json;
use crate::pyre::{Dialect, Pattern};
use crate::schema::exhausted;
use crate::text::Text;
use crate::value::Unrepresentable;
use crate::value::{Object, Value};

/// One part of a text, between two tags.
///
/// ```
/// use response_parser::agentscope::TaggedContent;
///
/// let part = TaggedContent::new("thought", "[T]", "what you think", "[/T]");
/// assert_eq!(part.to_string(), "[T]what you think[/T]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedContent {
    name: String,
    begin: String,
    hint: String,
    end: String,
    json: bool,
}

impl TaggedContent {
    /// The part `name` between the tags `begin` and `end`; `hint` stands between them in the
    /// instruction.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        begin: impl Into<String>,
        hint: impl Into<String>,
        end: impl Into<String>,
    ) -> TaggedContent {
        TaggedContent {
            name: name.into(),
            begin: begin.into(),
            hint: hint.into(),
            end: end.into(),
            json: false,
        }
    }

    /// The part must be JSON.
    #[must_use]
    pub fn with_json(mut self) -> TaggedContent {
        self.json = true;
        self
    }
}

/// The tags with the hint between them.
impl std::fmt::Display for TaggedContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}{}", self.begin, self.hint, self.end)
    }
}

/// Several parts, each between tags of its own.
///
/// ```
/// use response_parser::agentscope::{MultiTagged, TaggedContent, TextParser};
/// use serde_json::json;
///
/// let parser = MultiTagged::new([
///     TaggedContent::new("speak", "<s>", "what you say", "</s>"),
///     TaggedContent::new("n", "<n>", "a number", "</n>").with_json(),
/// ]);
/// assert_eq!(parser.parse("<s>Three.</s><n>3</n>")?.value, json!({"speak": "Three.", "n": 3}));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MultiTagged {
    tags: Vec<TaggedContent>,
    allow_missing: Vec<String>,
    keys: Keys,
    unrepresentable: Unrepresentable,
}

impl MultiTagged {
    /// A parser for these parts, all of which must be there.
    #[must_use]
    pub fn new(tags: impl IntoIterator<Item = TaggedContent>) -> MultiTagged {
        MultiTagged {
            tags: tags.into_iter().collect(),
            ..MultiTagged::default()
        }
    }

    /// Sets the names of parts that may be missing.
    ///
    /// ```
    /// use response_parser::agentscope::{MultiTagged, TaggedContent, TextParser};
    /// use serde_json::json;
    ///
    /// let parts = ["a", "b"].map(|name| TaggedContent::new(name, format!("<{name}>"), "", format!("</{name}>")));
    /// let parser = MultiTagged::new(parts).with_optional(["a"]);
    /// assert_eq!(parser.parse("<b>x</b>")?.value["b"], "x");
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    #[must_use]
    pub fn with_optional<K: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = K>,
    ) -> MultiTagged {
        self.allow_missing = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets which keys go where.
    #[must_use]
    pub fn with_keys(mut self, keys: Keys) -> MultiTagged {
        self.keys = keys;
        self
    }

    /// Sets the treatment of values that JSON cannot hold; they are refused unless told otherwise.
    #[must_use]
    pub fn with_unrepresentable(mut self, unrepresentable: Unrepresentable) -> MultiTagged {
        self.unrepresentable = unrepresentable;
        self
    }

    /// Which keys go where.
    #[must_use]
    pub fn selection(&self) -> &Keys {
        &self.keys
    }
}

impl TextParser for MultiTagged {
    fn parse<'t>(&self, text: impl Into<Option<&'t str>>) -> Result<Parsed, Error> {
        let text = text.into();
        let mut object = Object::default();
        for tag in &self.tags {
            let text = text.ok_or_else(no_text)?;
            let (from, to) = match first_block(text, &tag.begin, &tag.end) {
                Ok(body) => body,
                Err(_) if self.allow_missing.contains(&tag.name) => continue,
                Err(missing) => return Err(missing.error(text, &tag.begin, &tag.end)),
            };
            let body = &text[from..to];
            let value = match tag.json {
                false => Value::text(body),
                true => json::decode(body).map_err(|error| {
                    let TaggedContent { begin, end, .. } = tag;
                    let raw = format!("{begin}{body}{end}");
                    let detail = python::json_error(body, &error);
                    let message = format!(
                        "The content between {begin} and {end} should be a JSON object. An error \"{detail}\" occurred when parsing: {raw}"
                    );
                    Error::bare(ErrorKind::JsonParsing, message)
                        .at_offset(Some(from + error.offset))
                        .with_raw(&raw)
                })?,
            };
            object.insert(Text::plain(tag.name.clone()), value);
        }
        Ok(Parsed {
            value: to_json(Value::Object(object), self.unrepresentable.beyond())?,
            repaired: None,
        })
    }

    fn format_instruction(&self) -> Result<String, Error> {
        let mut out = String::from("Respond with specific tags as outlined below");
        let json: Vec<String> = self
            .tags
            .iter()
            .filter(|tag| tag.json)
            .map(|tag| format!("{} and {}", tag.begin, tag.end))
            .collect();
        match json.is_empty() {
            true => out.push_str(": "),
            false => out.push_str(&format!(
                ", and the content between {} MUST be a JSON object:",
                json.join(", ")
            )),
        }
        out.push('\n');
        let lines: Vec<String> = self.tags.iter().map(ToString::to_string).collect();
        out.push_str(&lines.join("\n"));
        Ok(out)
    }

    fn shape(&self) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        for (i, tag) in self.tags.iter().enumerate() {
            let between = if i > 0 { "\n" } else { "" };
            parts.push(Part::Literal(format!("{between}{}", tag.begin)));
            parts.push(match tag.json {
                true => Part::Json(json!({})),
                false => Part::TextWithout(tag.end.clone()),
            });
            parts.push(Part::Literal(tag.end.clone()));
        }
        Some(parts)
    }
}

/// `<name>content</name>` or `<name>content</>`, as AgentScope's default.
const DEFAULT_PATTERN: &str = r"<(?P<name>[^>]+)>(?P<content>.*?)</\1?>";

/// All matches of a pattern with the groups `name` and `content`.
///
/// ```
/// use response_parser::agentscope::{RegexTagged, TextParser};
/// use serde_json::json;
///
/// let parsed = RegexTagged::new()?.parse("<city>Oslo</city><days>3</days>")?;
/// assert_eq!(parsed.value, json!({"city": "Oslo", "days": 3}));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RegexTagged {
    pattern: std::sync::Arc<Pattern>,
    name: usize,
    content: usize,
    is_default: bool,
    instruction: Option<String>,
    keep_text: bool,
    required_keys: Vec<String>,
    keys: Keys,
    unrepresentable: Unrepresentable,
}

impl RegexTagged {
    /// A parser for `<name>content</name>` and `<name>content</>`.
    ///
    /// # Errors
    ///
    /// None in practice: the pattern is a fixed one.
    pub fn new() -> Result<RegexTagged, Error> {
        let mut parser = RegexTagged::with_pattern(DEFAULT_PATTERN)?;
        parser.is_default = true;
        Ok(parser)
    }

    /// A parser for the matches of a pattern in the syntax of Python's `re`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegexSyntax`] or [`ErrorKind::RegexUnsupported`], with the place in the
    /// pattern; [`ErrorKind::RegexNoGroups`] if it lacks the group `name` or `content`.
    pub fn with_pattern(source: &str) -> Result<RegexTagged, Error> {
        for group in ["name", "content"] {
            if !source.contains(&format!("<{group}>")) {
                let message =
                    format!("The tagged content pattern should contain a named group '{group}'.");
                return Err(Error::bare(ErrorKind::RegexNoGroups, message));
            }
        }
        let pattern = Pattern::new(source, Dialect::Re).map_err(|error| {
            let kind = match error.unsupported {
                true => ErrorKind::RegexUnsupported,
                false => ErrorKind::RegexSyntax,
            };
            Error::bare(kind, format!("{error} of the pattern"))
        })?;
        let group = |wanted: &str| {
            let mut names = pattern.names().iter();
            names
                .position(|name| name.as_deref() == Some(wanted))
                .ok_or_else(|| Error::bare(ErrorKind::RegexNoGroups, "no such group"))
        };
        let (name, content) = (group("name")?, group("content")?);
        Ok(RegexTagged {
            pattern: pattern.into(),
            name,
            content,
            is_default: false,
            instruction: None,
            keep_text: false,
            required_keys: Vec::new(),
            keys: Keys::default(),
            unrepresentable: Unrepresentable::default(),
        })
    }

    /// Sets the instruction.
    #[must_use]
    pub fn with_instruction(mut self, instruction: impl Into<String>) -> RegexTagged {
        self.instruction = Some(instruction.into());
        self
    }

    /// Leaves contents that are JSON as text.
    #[must_use]
    pub fn without_json(mut self) -> RegexTagged {
        self.keep_text = true;
        self
    }

    /// Sets names that must be found.
    #[must_use]
    pub fn with_required_keys<K: Into<String>>(
        mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> RegexTagged {
        self.required_keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Sets which keys go where.
    #[must_use]
    pub fn with_keys(mut self, keys: Keys) -> RegexTagged {
        self.keys = keys;
        self
    }

    /// Sets the treatment of values that JSON cannot hold; they are refused unless told otherwise.
    #[must_use]
    pub fn with_unrepresentable(mut self, unrepresentable: Unrepresentable) -> RegexTagged {
        self.unrepresentable = unrepresentable;
        self
    }

    /// Which keys go where.
    #[must_use]
    pub fn selection(&self) -> &Keys {
        &self.keys
    }
}

impl TextParser for RegexTagged {
    fn parse<'t>(&self, text: impl Into<Option<&'t str>>) -> Result<Parsed, Error> {
        let text = text.into().ok_or_else(no_text)?;
        let mut object = Object::default();
        let mut matches = self.pattern.matches(text);
        let next = |error| exhausted(error, String::new());
        while let Some(groups) = matches.next_match().map_err(next)? {
            let part = |group: usize| {
                let (from, to) = groups.get(group).copied().flatten()?;
                Some(&text[from..to])
            };
            let Some(name) = part(self.name) else {
                let message = "the group name took no part in a match";
                return Err(Error::bare(ErrorKind::PythonType, message));
            };
            let value = part(self.content).map_or(Value::Null, Value::text);
            object.insert(Text::plain(name), value);
        }
        let missing: Vec<&str> = self
            .required_keys
            .iter()
            .map(String::as_str)
            .filter(|key| !object.contains_key(&Text::plain(*key)))
            .collect();
        if !missing.is_empty() {
            let message = format!("Failed to find tags: {}", missing.join(", "));
            return Err(Error::bare(ErrorKind::TagNotFound, message)
                .with_raw(text)
                .with_missing(MissingTags {
                    begin: true,
                    end: true,
                }));
        }
        if !self.keep_text {
            for value in object.values_mut() {
                match value {
                    Value::Text(text) => {
                        if let Ok(decoded) = json::decode_text(text) {
                            *value = decoded;
                        }
                    }
                    _ => {
                        let message = "the group content took no part in a match";
                        return Err(Error::bare(ErrorKind::PythonType, message));
                    }
                }
            }
        }
        Ok(Parsed {
            value: to_json(Value::Object(object), self.unrepresentable.beyond())?,
            repaired: None,
        })
    }

    fn format_instruction(&self) -> Result<String, Error> {
        self.instruction.clone().ok_or_else(|| {
            let message = "The format instruction is not provided. Please provide it in the constructor of the parser.";
            Error::bare(ErrorKind::NoInstruction, message)
        })
    }

    fn shape(&self) -> Option<Vec<Part>> {
        if !self.is_default || self.required_keys.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        for (i, key) in self.required_keys.iter().enumerate() {
            let between = if i > 0 { "\n" } else { "" };
            parts.push(Part::Literal(format!("{between}<{key}>")));
            parts.push(Part::TextWithout("</".to_owned()));
            parts.push(Part::Literal(format!("</{key}>")));
        }
        Some(parts)
    }
}
