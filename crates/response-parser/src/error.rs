//! The one error of this crate. For example, a required tag that is missing is an error of a kind
//! of its own, with the response and the tags.

use std::fmt;

use json_tree::excerpt::cut;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// A schema that cannot be used, or a text that cannot be read with it.
///
/// [`Error::kind`] says what went wrong, [`Error::pointer`] which keyword of the schema was
/// at work, [`Error::offset`] where in the text it showed, where that makes sense.
///
/// ```
/// use response_parser::{ErrorKind, ResponseSchema};
/// use serde_json::json;
///
/// let schema = json!({"properties": {"n": {"type": "string", "x-regex": "(a"}}, "type": "object"});
/// let error = ResponseSchema::new(&schema).unwrap_err();
/// assert_eq!(error.pointer(), "/properties/n/x-regex");
/// assert_eq!(error.kind().as_str(), error.kind().to_string());
/// ```
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    pointer: String,
    offset: Option<usize>,
    message: String,
    detail: Option<Box<Detail>>,
}

/// The facts that the errors of text parsers have beyond the message.
#[derive(Clone, Default)]
struct Detail {
    raw_response: Option<String>,
    repaired: Option<String>,
    missing: Option<MissingTags>,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The kind of an error.
        ///
        /// The kinds that the reference implementation knows carry its conformance data's
        /// names ([`ErrorKind::as_str`]); the rest are this crate's own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* $name,)*
        }

        impl ErrorKind {
            /// The kind's name in `snake_case`, stable.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorKind::$name => $text,)*
                }
            }
        }
    };
}

kinds! {
    /// A regex keyword met something other than a string.
    RegexOnNonString = "regex_on_non_string",
    /// The pattern of a match has several groups and none is named.
    RegexMultipleGroups = "regex_multiple_groups",
    /// The pattern of a match has no group.
    RegexNoGroups = "regex_no_groups",
    /// A pattern is not a regular expression as Python's `re` reads them.
    RegexSyntax = "regex_syntax",
    /// A replacement text of `x-mapping-regex` or `x-regex-substitutions` is malformed or names
    /// no group of its pattern.
    RegexReplacement = "regex_replacement",
    /// `x-regex-iterator` without `"type": "array"`.
    IteratorNeedsArray = "iterator_needs_array",
    /// `x-regex-key-value` without `"type": "object"`.
    KeyValueNeedsObject = "key_value_needs_object",
    /// A match of `x-regex-key-value` lacks group `key` or `value`.
    KeyValueMissingGroups = "key_value_missing_groups",
    /// `x-parser` is neither `"json"` nor `"gemma4-tool-call"`.
    UnknownParser = "unknown_parser",
    /// `x-parser` met something other than a string.
    JsonNonString = "json_non_string",
    /// The text is not JSON.
    JsonInvalid = "json_invalid",
    /// `transform` is not a JMESPath expression.
    JmespathSyntax = "jmespath_syntax",
    /// A function in `transform` does not take its arguments, or does not exist.
    JmespathRuntime = "jmespath_runtime",
    /// `x-mapping` met something other than a string.
    MappingNonString = "mapping_non_string",
    /// `x-mapping-regex` met something other than a string.
    MappingRegexNonString = "mapping_regex_non_string",
    /// An object is to be read from a string and there are no `properties` to do it.
    ObjectStringWithoutProperties = "object_string_without_properties",
    /// `"type": "object"` met something other than a string or an object.
    ObjectBadContent = "object_bad_content",
    /// `"type": "array"` met something other than an array.
    ArrayBadContent = "array_bad_content",
    /// `"type": "array"` with neither `items` nor `prefixItems`.
    ArrayWithoutItems = "array_without_items",
    /// There are more or fewer items than schemas in `prefixItems`.
    PrefixItemsLength = "prefix_items_length",
    /// A string, integer, number or boolean is to be read from something else than a string.
    ScalarNonString = "scalar_non_string",
    /// The text is not an integer.
    IntInvalid = "int_invalid",
    /// The text is not a number.
    FloatInvalid = "float_invalid",
    /// The text is not a boolean.
    BoolInvalid = "bool_invalid",
    /// The value of `type` is unknown.
    UnsupportedType = "unsupported_type",
    /// A keyword has a value of a kind that it cannot have, or a step met a value that the
    /// reference fails on by accident.
    PythonType = "python_type",
    /// The template is not what the form allows.
    TemplateLoad = "template_load",
    /// A stream of a template was asked for without the prompt's end.
    PrefixRequired = "prefix_required",
    /// The text has a control character that `string_delims` needs for itself.
    JsonSentinel = "json_sentinel",
    /// `xml-inline` without a `tag_pattern`.
    XmlPatternRequired = "xml_pattern_required",
    /// A match of `tag_pattern` lacks the group `key`.
    XmlKeyGroup = "xml_key_group",
    /// `line_sep` or `kv_sep` is empty.
    EmptySeparator = "empty_separator",
    /// `transform_each` met something other than a list of objects.
    TransformEachShape = "transform_each_shape",
    /// A placeholder's first word names nothing.
    TransformMissingRoot = "transform_missing_root",
    /// A placeholder's path leads nowhere.
    TransformPath = "transform_path",
    /// `join` met something other than strings.
    JoinNonString = "join_non_string",
    /// A field that is not optional got no value, or an object lacks a key of `required`.
    RequiredMissing = "required_missing",
    /// The text at the place of a call is none.
    CallInvalid = "call_invalid",
    /// A call is of no tool on offer.
    CallUnknownTool = "call_unknown_tool",
    /// The text ended within a call.
    CallUnfinished = "call_unfinished",
    /// A region opens and closes at one place for ever.
    NoProgress = "no_progress",
    /// A text lacks the tags that its parser looks for.
    TagNotFound = "tag_not_found",
    /// The text between two tags is not JSON, or not JSON of the model's shape.
    JsonParsing = "json_parsing",
    /// JSON of another type than a dictionary.
    JsonType = "json_type",
    /// A dictionary lacks a key that it must have.
    RequiredFieldNotFound = "required_field_not_found",
    /// A dictionary lacks a key that is to be taken out of it.
    KeyNotFound = "key_not_found",
    /// A parser was given no format instruction.
    NoInstruction = "no_instruction",
    /// The response has no text.
    NoText = "no_text",
    /// A parsed message does not keep to the schema.
    Invalid = "invalid",
    /// A parsed message does not fit the type that was asked for.
    Deserialize = "deserialize",
    /// A model's folder has no schema, template or known format.
    NotInModel = "not_in_model",
    /// A file of a model's folder cannot be read or written.
    ModelFile = "model_file",
    /// The schema cannot be used, for a reason that has no kind of its own.
    SchemaInvalid = "schema_invalid",
    /// A pattern uses something of Python's `re` that is not supported.
    RegexUnsupported = "regex_unsupported",
    /// A match took more steps or more memory than the stated budget.
    RegexBudget = "regex_budget",
    /// A text or an intermediate value grew beyond the stated limit.
    SizeLimit = "size_limit",
    /// The schema, the text's JSON or an expression is nested deeper than the stated limit.
    DepthLimit = "depth_limit",
    /// The result holds something that JSON cannot (a NaN, an infinity, an integer of more
    /// than 64 bits, a lone surrogate).
    NotJson = "not_json",
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Error {
    #[cold]
    pub(crate) fn new(
        kind: ErrorKind,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Error {
        let (pointer, message) = (pointer.into(), message.into());
        Error(Box::new(Inner {
            kind,
            pointer,
            offset: None,
            message,
            detail: None,
        }))
    }

    /// An error of a text parser: the message says it all.
    #[cold]
    pub(crate) fn bare(kind: ErrorKind, message: impl Into<String>) -> Error {
        let mut error = Error::new(kind, "", message);
        error.0.detail = Some(Box::default());
        error
    }

    pub(crate) fn with_raw(mut self, raw_response: &str) -> Error {
        self.0.detail.get_or_insert_default().raw_response = Some(raw_response.to_owned());
        self
    }

    pub(crate) fn with_missing(mut self, missing: MissingTags) -> Error {
        self.0.detail.get_or_insert_default().missing = Some(missing);
        self
    }

    pub(crate) fn with_repaired(mut self, repaired: Option<String>) -> Error {
        self.0.detail.get_or_insert_default().repaired = repaired;
        self
    }

    pub(crate) fn at_offset(mut self, offset: Option<usize>) -> Error {
        self.0.offset = offset;
        self
    }

    /// The same for a text that lies `offset` bytes further on.
    pub(crate) fn moved_by(mut self, offset: usize) -> Error {
        if let Some(own) = &mut self.0.offset {
            *own += offset;
        }
        self
    }

    /// A copy, for an error that is kept and raised each time its step runs.
    pub(crate) fn again(&self) -> Error {
        Error(self.0.clone())
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The JSON Pointer (RFC 6901) of the keyword or subschema that was at work.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// The byte offset in the text that was parsed, where that is known.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// The message alone, without the place, and as long as it is.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the message for the model that wrote the text: the name AgentScope gives the error,
    /// and the message.
    ///
    /// ```
    /// use response_parser::agentscope::{TaggedContent, MultiTagged, TextParser};
    ///
    /// let parser = MultiTagged::new([TaggedContent::new("a", "<a>", "", "</a>")]);
    /// let error = parser.parse("nothing").unwrap_err();
    /// assert!(error.feedback().starts_with("TagNotFoundError: "));
    /// ```
    #[must_use]
    pub fn feedback(&self) -> String {
        let name = match self.0.kind {
            ErrorKind::TagNotFound => "TagNotFoundError",
            ErrorKind::JsonParsing => "JsonParsingError",
            ErrorKind::JsonType => "JsonTypeError",
            ErrorKind::RequiredFieldNotFound => "RequiredFieldNotFoundError",
            _ => "ResponseParsingError",
        };
        format!("{name}: {}", self.0.message)
    }

    /// The part of the response that the parsers of [`crate::agentscope`] could not read.
    #[must_use]
    pub fn raw_response(&self) -> Option<&str> {
        self.0.detail.as_ref()?.raw_response.as_deref()
    }

    /// The response with its missing fences put in, where a parser of
    /// [`crate::agentscope`] did so before it failed.
    #[must_use]
    pub fn repaired(&self) -> Option<&str> {
        self.0.detail.as_ref()?.repaired.as_deref()
    }

    /// Which tags a parser of [`crate::agentscope`] did not find.
    #[must_use]
    pub fn missing_tags(&self) -> Option<MissingTags> {
        self.0.detail.as_ref()?.missing
    }
}

/// The longest part of an error that is displayed, in bytes: the middle of a longer one is left
/// out, because an error may hold a whole response.
const MAX_SHOWN: usize = 2_000;

/// Place and message, each cut at 2,000 bytes: they may quote what was parsed.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        if inner.detail.is_some() && inner.pointer.is_empty() {
            return f.write_str(&cut(&inner.message, MAX_SHOWN));
        }
        let place = match (inner.pointer.as_str(), inner.kind) {
            ("", ErrorKind::TemplateLoad | ErrorKind::PrefixRequired) => "the template",
            ("", _) => "the schema",
            (pointer, _) => pointer,
        };
        write!(
            f,
            "{}: {}",
            cut(place, MAX_SHOWN),
            cut(&inner.message, MAX_SHOWN)
        )?;
        if let Some(offset) = inner.offset {
            write!(f, " (byte {offset} of the text)")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({}, {self})", self.kind())
    }
}

impl std::error::Error for Error {}

/// Which of two tags a text lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingTags {
    /// The opening tag is missing.
    pub begin: bool,
    /// The closing tag is missing.
    pub end: bool,
}

/// The message as a type of the caller's.
pub(crate) fn into_type<T: DeserializeOwned>(message: Json) -> Result<T, Error> {
    T::deserialize(message).map_err(|error| {
        let message = format!("the message does not fit the type: {error}");
        Error::bare(ErrorKind::Deserialize, message)
    })
}
