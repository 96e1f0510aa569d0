//! The choices about the texts that are admitted, each with its names. For example,
//! [`IntegerSpelling::ZeroFraction`] admits `17.0` for an integer.

/// The orders in which the properties of an object may come.
///
/// ```
/// use schema_regex::automaton::SchemaAutomaton;
/// use schema_regex::{Options, PropertyOrder};
/// use serde_json::json;
///
/// let schema = json!({"properties": {"a": {}, "b": {}}, "additionalProperties": false, "type": "object"});
/// let any = Options::default().with_property_order(PropertyOrder::Any);
/// let text = br#"{"b": 1, "a": 2}"#;
/// assert!(SchemaAutomaton::new(&schema, &any)?.is_match(text));
/// assert!(!SchemaAutomaton::new(&schema, &Options::default())?.is_match(text));
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum PropertyOrder {
    /// One order for each alternative of a location: `properties` as they appear,
    /// keyword by keyword, from left to right through the keywords that apply in
    /// place, of `anyOf` and the like through the branches that are taken; then
    /// names that only `required` or the like has, in order of appearance; then
    /// further ones in any order. A name that only branches mention which are not
    /// taken may count as one of the second or of the third. Objects whose
    /// alternatives are kept as conditions, because they multiply past
    /// [`Options::max_alternatives`](crate::options::Options::max_alternatives), have one order for all of them: that of all branches,
    /// whether they are taken or not, where there are no further members, and any order where
    /// there may be some.
    #[default]
    Schema,
    /// Every order.
    Any,
}

/// Whitespace between JSON's tokens. There is never any before the value or
/// after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Whitespace {
    /// None: `{"a":1,"b":[1,2]}`.
    Compact,
    /// At most one blank after `,` and after `:`, none elsewhere. This admits
    /// both the compact style and that of Python's `json.dumps`.
    #[default]
    SingleSpace,
    /// One blank after `,` and after `:`, none elsewhere: the style of Python's `json.dumps`, and
    /// no other.
    ///
    /// ```
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use schema_regex::{Options, Whitespace};
    /// use serde_json::json;
    ///
    /// let spaced = Options::default().with_whitespace(Whitespace::Spaced);
    /// let automaton = SchemaAutomaton::new(&json!({"type": "array"}), &spaced)?;
    /// assert!(automaton.is_match(b"[1, 2]") && !automaton.is_match(b"[1,2]"));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    Spaced,
    /// Any JSON whitespace (blank, tab, line feed, carriage return) at every
    /// place where JSON allows it inside the value, at most this many
    /// characters at each place. It counts to 100,000.
    Bounded(u32),
    /// A regular expression of ECMA-262, as the keyword `pattern` has them, for the
    /// whitespace at every place where JSON allows it inside the value. The
    /// whitespace matches it as a whole; it must be without look-around, and match
    /// something, but nothing but JSON whitespace.
    Pattern(String),
}

impl Whitespace {
    /// Returns the white space that people and pretty-printers write, at every place at which JSON
    /// allows it: up to 40 blanks and tabs, or a line feed (behind one blank at most) and up to 40
    /// of them. Enough for ten levels of four; a model cannot write whitespace without end.
    ///
    /// ```
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use schema_regex::{Options, Whitespace};
    /// use serde_json::json;
    ///
    /// let options = Options::default().with_whitespace(Whitespace::flexible());
    /// let automaton = SchemaAutomaton::new(&json!({"type": "array"}), &options)?;
    /// assert!(automaton.is_match(b"[\n    1,\n    2\n]"));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn flexible() -> Self {
        Whitespace::Pattern(r"[ \t]{0,40}|[ \t]?\r?\n[ \t]{0,40}".to_owned())
    }
}

/// The treatment of a recursive `$ref`: a regular expression cannot count brackets.
///
/// ```
/// use schema_regex::{Options, Recursion, parse, to_regex};
/// use serde_json::json;
///
/// let schema = parse(&json!({"type": "array", "items": {"$ref": "#"}, "maxItems": 1}))?;
/// assert!(to_regex(&schema, &Options::default()).is_err());
/// let twice = Options::default().with_recursion(Recursion::Unroll(1));
/// assert!(to_regex(&schema, &twice).is_ok());
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Recursion {
    /// An error that names the `$ref`.
    #[default]
    Refuse,
    /// The reference is followed at most this many times below itself; deeper
    /// values are left out, so the language is a subset of the schema's. The
    /// text grows with the power of the depth: small numbers (1 to 4) are
    /// meant.
    Unroll(u32),
}

impl Recursion {
    /// Returns how often a reference is followed below itself, `None` where that is an error.
    #[must_use]
    pub fn levels(self) -> Option<u32> {
        match self {
            Recursion::Refuse => None,
            Recursion::Unroll(levels) => Some(levels),
        }
    }
}

/// The treatment of a value that the schema leaves unrestricted (`{}`, `true`, the values of
/// additional properties, the items of a bare `array`): any JSON value is recursive by itself.
///
/// ```
/// use schema_regex::{AnyValue, Options, parse, to_regex};
/// use serde_json::json;
///
/// let schema = parse(&json!(true))?;
/// let flat = to_regex(&schema, &Options::default().with_any_value(AnyValue::Depth(0)))?;
/// assert!(!flat.contains(r"\["));
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AnyValue {
    /// An error that names the location.
    Refuse,
    /// Any value with at most this many levels of arrays and objects: 0 admits
    /// scalars alone. Members that an object with declared ones admits without
    /// saying so have one level less. The text grows about fourfold with each
    /// level; where it would pass [`Options::max_regex_bytes`](crate::options::Options::max_regex_bytes), fewer levels
    /// are printed. The default is 2.
    Depth(u32),
}

/// Members that an object may have beside those that a schema lists, where it says nothing
/// of them.
///
/// ```
/// use schema_regex::automaton::SchemaAutomaton;
/// use schema_regex::{AdditionalMembers, Options};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"a": {}}});
/// let closed = Options::default().with_additional_members(AdditionalMembers::Closed);
/// let text = br#"{"b":1}"#;
/// assert!(SchemaAutomaton::new(&schema, &Options::default())?.is_match(text));
/// assert!(!SchemaAutomaton::new(&schema, &closed)?.is_match(text));
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AdditionalMembers {
    /// There may be any: what the specification says.
    #[default]
    Open,
    /// There are none, which is what the author of a data class means and what a model
    /// should write: a sound subset, with a much smaller expression.
    ///
    /// An object is closed as a whole, over what `allOf`, `$ref`, the branch that it follows,
    /// `dependentSchemas` and the like declare together: it has the names of all their
    /// `properties`, and those that `required` and `dependentRequired` name. It stays open where no
    /// `properties` are listed, and where any of these locations speaks of other members: by
    /// `additionalProperties`, `unevaluatedProperties`, or `patternProperties`, or by a
    /// `minProperties` that the listed names cannot satisfy. Values that an `enum` or a `const`
    /// lists stay as they are. If a schema has values, but none that are closed so, nothing is
    /// closed. The ledger shows each object that was closed as narrowed.
    ///
    /// ```
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use schema_regex::{AdditionalMembers, Options};
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}},
    ///     "anyOf": [{"properties": {"name": {"type": "string"}}, "required": ["name"]},
    ///               {"properties": {"names": {"type": "array"}}, "required": ["names"]}]});
    /// let closed = Options::default().with_additional_members(AdditionalMembers::Closed);
    /// let automaton = SchemaAutomaton::new(&schema, &closed)?;
    /// assert!(automaton.is_match(br#"{"id": 1, "name": "a"}"#));
    /// assert!(!automaton.is_match(br#"{"id": 1, "name": "a", "names": []}"#));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    Closed,
}

/// True if `format` constrains.
///
/// ```
/// use schema_regex::{Formats, Options, parse, to_regex};
/// use serde_json::json;
///
/// let unknown = parse(&json!({"type": "string", "format": "friendly"}))?;
/// assert!(to_regex(&unknown, &Options::default()).is_ok());
/// assert!(to_regex(&unknown, &Options::default().with_formats(Formats::Strict)).is_err());
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Formats {
    /// Known formats are enforced, unknown ones are annotations.
    #[default]
    Assert,
    /// All formats are annotations.
    Annotate,
    /// Known formats are enforced, unknown ones are refused.
    Strict,
}

/// The number of its schemas that a value must meet for `oneOf`.
///
/// ```
/// use schema_regex::automaton::SchemaAutomaton;
/// use schema_regex::{OneOf, Options};
/// use serde_json::json;
///
/// let schema = json!({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]});
/// let any = Options::default().with_one_of(OneOf::Any);
/// assert!(!SchemaAutomaton::new(&schema, &Options::default())?.is_match(b"7"));
/// assert!(SchemaAutomaton::new(&schema, &any)?.is_match(b"7"));
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum OneOf {
    /// One: what the specification says.
    #[default]
    Exclusive,
    /// One or more, as `anyOf`: for schemas that mean that, and as llguidance and XGrammar read it. The ledger
    /// shows each `oneOf` as loosened.
    Any,
}

impl OneOf {
    /// Each choice by its name, as `x-tokenmold` and other languages spell it.
    pub const NAMED: [(&str, OneOf); 2] = [("exclusive", OneOf::Exclusive), ("any", OneOf::Any)];
}

/// The treatment of a keyword that the schema's draft does not have: a misspelt one, one of a later
/// draft, or one of OpenAPI such as `nullable`. Names that begin with `x-` are extensions, which
/// are always annotations; unknown formats are for [`Formats`].
///
/// ```
/// use schema_regex::{Options, UnknownKeywords, parse, to_regex};
/// use serde_json::json;
///
/// let misspelt = parse(&json!({"type": "string", "maxLenght": 3}))?;
/// assert!(to_regex(&misspelt, &Options::default()).is_ok());
/// let strict = Options::default().with_unknown_keywords(UnknownKeywords::Refuse);
/// let error = to_regex(&misspelt, &strict).unwrap_err();
/// assert_eq!(error.pointer(), "/maxLenght");
/// assert!(error.message().contains("did you mean `maxLength`?"));
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum UnknownKeywords {
    /// It constrains nothing, as the specification says, and a notice tells of it where it looks
    /// like a slip.
    #[default]
    Ignore,
    /// The schema is refused.
    Refuse,
}

impl UnknownKeywords {
    /// Each choice by its name, as other languages spell it.
    pub const NAMED: [(&str, UnknownKeywords); 2] = [
        ("ignore", UnknownKeywords::Ignore),
        ("refuse", UnknownKeywords::Refuse),
    ];
}

/// The spellings of the characters of a string.
///
/// ```
/// use schema_regex::automaton::SchemaAutomaton;
/// use schema_regex::{Escapes, Options};
/// use serde_json::json;
///
/// let all = Options::default().with_escapes(Escapes::All);
/// let automaton = SchemaAutomaton::new(&json!({"const": "a/b"}), &all)?;
/// assert!(automaton.is_match(br#""a\/b""#) && automaton.is_match(br#""\u0061/b""#));
///
/// let values = Options::default().with_escapes(Escapes::AllInValues);
/// let automaton = SchemaAutomaton::new(&json!({"properties": {"a": {"const": "a"}}}), &values)?;
/// assert!(automaton.is_match(br#"{"a": "\u0061"}"#));
/// assert!(!automaton.is_match(br#"{"\u0061": "a"}"#));
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Escapes {
    /// One spelling a character: raw, but for `"`, `\` and the control
    /// characters, which have their short escape or, without one, `\u00XX`
    /// (either hex case). The smallest automata.
    Shortest,
    /// As `Shortest`; moreover control characters may be spelled `\u00XX` and characters beyond
    /// ASCII `\uXXXX` (surrogate pairs for those beyond the basic plane). All that `json.dumps`
    /// writes, with and without `ensure_ascii`, is admitted.
    #[default]
    Standard,
    /// Every escape that JSON allows, for every character, `\/` included.
    All,
    /// As `All` in values, and as `Standard` in the names of members: a name is found by
    /// its text, so that a model gains nothing by spelling `"tags"` as `"t\u0061gs"`. In a
    /// regular expression names are spelled as values are.
    AllInValues,
}

impl Escapes {
    /// The spellings of values: never the one that names a difference.
    pub fn in_values(self) -> Escapes {
        match self {
            Escapes::AllInValues => Escapes::All,
            other => other,
        }
    }

    /// The spellings of members' names, which are some of those of values.
    pub fn in_names(self) -> Escapes {
        match self {
            Escapes::AllInValues => Escapes::Standard,
            other => other,
        }
    }
}

/// The spellings of an integer.
///
/// ```
/// use schema_regex::automaton::SchemaAutomaton;
/// use schema_regex::{IntegerSpelling, Options};
/// use serde_json::json;
///
/// let options = Options::default().with_integers(IntegerSpelling::ZeroFraction);
/// let automaton = SchemaAutomaton::new(&json!({"type": "integer"}), &options)?;
/// assert!(automaton.is_match(b"17.0") && !automaton.is_match(b"17.5"));
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum IntegerSpelling {
    /// Digits only: `17`.
    #[default]
    Plain,
    /// Digits, or digits and a fraction of zeros: `17` and `17.0` (JSON Schema
    /// counts both as integers).
    ZeroFraction,
}

impl Formats {
    /// Each choice by its name, as `x-tokenmold` and other languages spell it.
    pub const NAMED: [(&str, Formats); 3] = [
        ("assert", Formats::Assert),
        ("annotate", Formats::Annotate),
        ("strict", Formats::Strict),
    ];
}

impl Escapes {
    /// Each choice by its name, as `x-tokenmold` and other languages spell it.
    pub const NAMED: [(&str, Escapes); 4] = [
        ("shortest", Escapes::Shortest),
        ("standard", Escapes::Standard),
        ("all", Escapes::All),
        ("all-in-values", Escapes::AllInValues),
    ];
}

impl IntegerSpelling {
    /// Each choice by its name, as `x-tokenmold` and other languages spell it.
    pub const NAMED: [(&str, IntegerSpelling); 2] = [
        ("plain", IntegerSpelling::Plain),
        ("zero-fraction", IntegerSpelling::ZeroFraction),
    ];
}
