//! The choices of a caller.
//!
//! For example, [`Whitespace::Compact`] refuses the text `{"a": 1}` and admits `{"a":1}`.

pub use crate::text_options::{
    AdditionalMembers, AnyValue, Escapes, Formats, IntegerSpelling, OneOf, PropertyOrder,
    Recursion, UnknownKeywords, Whitespace,
};

/// Setters of the fields of some options, each by its own type or by one that it is made from.
macro_rules! setters {
    ($of:ident; $($(#[$doc:meta])* $setter:ident($name:ident: $type:ty)),* $(,)?) => {
        impl $of {
            $($(#[$doc])* #[must_use] pub fn $setter(mut self, $name: $type) -> Self { self.$name = $name.into(); self })*
        }
    };
}

pub(crate) use setters;

/// The drafts of JSON Schema that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Draft {
    /// Draft 4.
    Draft4,
    /// Draft 6.
    Draft6,
    /// Draft 7.
    Draft7,
    /// Draft 2019-09.
    Draft201909,
    /// Draft 2020-12.
    Draft202012,
}

/// Bounds against rambling, for what the schema leaves without a bound of its own. Each makes the
/// language smaller, never larger: what it admits satisfies the schema, and a bound inside `not` or
/// the like is not touched. If a capped value could not satisfy the schema at all, the cap gives
/// way. The ledger shows each as narrowed. By default there are none.
///
/// ```
/// use schema_regex::automaton::SchemaAutomaton;
/// use schema_regex::{Caps, Options};
/// use serde_json::json;
///
/// let options = Options::default().with_caps(Caps::default().with_length(3));
/// let automaton = SchemaAutomaton::new(&json!({"type": "string"}), &options)?;
/// assert!(automaton.is_match(b"\"abc\"") && !automaton.is_match(b"\"abcd\""));
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Caps {
    /// The most characters of a string that has no `maxLength` and whose
    /// `pattern`, `format` or `enum` admits texts of any length.
    pub length: Option<u64>,
    /// The most items of an array without `maxItems`.
    pub items: Option<u64>,
    /// The most levels of arrays and objects in a value that may nest without
    /// end.
    pub depth: Option<u32>,
    /// The most digits of a number that may have any number of them: those of
    /// the integer part, of the fraction and of the exponent together.
    pub digits: Option<u32>,
    /// The most members of an object that has no `maxProperties` and may have members that no
    /// keyword names. The members that are named always fit.
    pub members: Option<u64>,
    /// The most characters of the name of a member that no keyword names, where
    /// names may be of any length.
    pub name_length: Option<u64>,
}

setters! {
    Caps;
    /// Sets the most characters of a string.
    with_length(length: u64),
    /// Sets the most items of an array.
    with_items(items: u64),
    /// Sets the most levels of arrays and objects.
    with_depth(depth: u32),
    /// Sets the most digits of a number.
    ///
    /// ```
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use schema_regex::{Caps, Options};
    /// use serde_json::json;
    ///
    /// let options = Options::default().with_caps(Caps::default().with_digits(3));
    /// let automaton = SchemaAutomaton::new(&json!({"type": "number"}), &options)?;
    /// assert!(automaton.is_match(b"-1.25") && !automaton.is_match(b"1.125"));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    with_digits(digits: u32),
    /// Sets the most members of an object.
    with_members(members: u64),
    /// Sets the most characters of the name of a member that no keyword names.
    with_name_length(name_length: u64),
}

/// Choices of `to_regex` and of the schema automaton.
///
/// ```
/// use schema_regex::{Options, Whitespace, parse, to_regex};
/// use serde_json::json;
///
/// let options = Options::default().with_whitespace(Whitespace::Compact);
/// let schema = parse(&json!({"type": "array", "items": {"const": 1}, "maxItems": 2}))?;
/// assert_eq!(to_regex(&schema, &options)?, r"\[(?:1(?:,1)?)?\]");
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Options {
    /// Whitespace between JSON's tokens.
    pub whitespace: Whitespace,
    /// The treatment of a recursive `$ref`.
    pub recursion: Recursion,
    /// The treatment of a value that the schema does not restrict.
    pub any_value: AnyValue,
    /// True if an object that lists `properties` has further members of which the schema says
    /// nothing (default: it has).
    pub additional_members: AdditionalMembers,
    /// True if `format` constrains.
    pub formats: Formats,
    /// The demand of `oneOf` (default: that exactly one of its schemas is met).
    pub one_of: OneOf,
    /// The treatment of keywords that no draft has (default: they are annotations).
    pub unknown_keywords: UnknownKeywords,
    /// The spellings of characters of strings.
    pub escapes: Escapes,
    /// The spellings of integers.
    pub integers: IntegerSpelling,
    /// The longest regular expression, in bytes (default: 4,000,000). The expressions of all
    /// locations, which are kept to be put into each other, may have 32 times as many together.
    pub max_regex_bytes: usize,
    /// The deepest nesting of subschemas that is followed, counting levels of
    /// the value and of combining keywords (default: 128).
    pub max_depth: usize,
    /// The most alternatives at one location, once `anyOf`, `oneOf`, `if` and
    /// the like are distributed over their siblings (default: 2,000). The automaton
    /// keeps those of objects as conditions, where that is possible and they are more.
    pub max_alternatives: usize,
    /// The most values and alternatives looked at in one compilation, a bound
    /// on time: a step is about a microsecond (default: 500,000).
    pub max_steps: usize,
    /// The most states of an automaton that has to be built to read a pattern, or to intersect and
    /// complement several, and the most decisions that the conditions of one object take (default:
    /// 3,000, because a host of up to twenty labels of 63 characters takes 2,541). The automata of
    /// numbers may have twenty times as many.
    pub max_automaton_states: usize,
    /// The orders in which the automaton admits the properties of an object.
    /// (Regular expressions have the schema's.)
    pub property_order: PropertyOrder,
    /// The most levels of arrays and objects that the automaton admits in a
    /// value (default: 127, which `serde_json` reads without changes).
    pub max_nesting: usize,
    /// Bounds for what the schema leaves unbounded.
    pub caps: Caps,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            whitespace: Whitespace::SingleSpace,
            recursion: Recursion::Refuse,
            any_value: AnyValue::Depth(2),
            additional_members: AdditionalMembers::Open,
            formats: Formats::Assert,
            one_of: OneOf::default(),
            unknown_keywords: UnknownKeywords::default(),
            escapes: Escapes::Standard,
            integers: IntegerSpelling::Plain,
            max_regex_bytes: 4_000_000,
            max_depth: 128,
            max_alternatives: 2_000,
            max_steps: 500_000,
            max_automaton_states: 3_000,
            property_order: PropertyOrder::Schema,
            max_nesting: 127,
            caps: Caps::default(),
        }
    }
}

setters! {
    Options;
    /// Sets the whitespace policy.
    ///
    /// ```
    /// use schema_regex::{Options, Whitespace, parse, to_regex};
    /// use serde_json::json;
    ///
    /// let schema = parse(&json!({"const": [1, 2]}))?;
    /// let regex = |style| to_regex(&schema, &Options::default().with_whitespace(style));
    /// assert_eq!(regex(Whitespace::Compact)?, r"\[1,2\]");
    /// assert_eq!(regex(Whitespace::SingleSpace)?, r"\[1, ?2\]");
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    with_whitespace(whitespace: Whitespace),
    /// Sets what a recursive `$ref` becomes.
    with_recursion(recursion: Recursion),
    /// Sets what an unrestricted value becomes.
    with_any_value(any_value: AnyValue),
    /// Sets whether an object that lists `properties` has members of which nothing is said.
    with_additional_members(additional_members: AdditionalMembers),
    /// Sets whether `format` constrains.
    with_formats(formats: Formats),
    /// Sets what `oneOf` demands.
    with_one_of(one_of: OneOf),
    /// Sets what becomes of keywords that no draft has.
    with_unknown_keywords(unknown_keywords: UnknownKeywords),
    /// Sets how characters of strings may be spelled.
    with_escapes(escapes: Escapes),
    /// Sets how integers may be spelled.
    with_integers(integers: IntegerSpelling),
    /// Sets the longest regular expression, in bytes.
    with_max_regex_bytes(max_regex_bytes: usize),
    /// Sets the deepest nesting.
    with_max_depth(max_depth: usize),
    /// Sets the most alternatives at one location.
    with_max_alternatives(max_alternatives: usize),
    /// Sets the most steps of one compilation.
    with_max_steps(max_steps: usize),
    /// Sets the most states of a string or number automaton.
    with_max_automaton_states(max_automaton_states: usize),
    /// Sets the orders of properties that the automaton admits.
    with_property_order(property_order: PropertyOrder),
    /// Sets the most levels of arrays and objects that the automaton admits.
    ///
    /// ```
    /// use schema_regex::Options;
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use serde_json::json;
    ///
    /// let flat = Options::default().with_max_nesting(1);
    /// let automaton = SchemaAutomaton::new(&json!({"type": "array"}), &flat)?;
    /// assert!(automaton.is_match(b"[1]") && !automaton.is_match(b"[[]]"));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    with_max_nesting(max_nesting: usize),
    /// Sets the bounds for what the schema leaves unbounded.
    with_caps(caps: Caps),
}

impl Options {
    /// Returns the options for a model that writes values, unless its user asks for something else:
    /// the default, with objects that have no members of which the schema says nothing
    /// ([`AdditionalMembers::Closed`]).
    ///
    /// ```
    /// use schema_regex::{AdditionalMembers, Options};
    ///
    /// let options = Options::for_generation();
    /// assert_eq!(options.additional_members, AdditionalMembers::Closed);
    /// assert_eq!(Options::default().additional_members, AdditionalMembers::Open);
    /// ```
    #[must_use]
    pub fn for_generation() -> Options {
        Options::default().with_additional_members(AdditionalMembers::Closed)
    }

    /// Tells whether objects are closed that do not speak of further members.
    pub fn closes(&self) -> bool {
        self.additional_members == AdditionalMembers::Closed
    }
}

/// The complement of a format that is enforced in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complements {
    /// It is refused, because texts outside of what is enforced may be of the format.
    Refused,
    /// It is the complement of what is enforced.
    AsEnforced,
}

/// The target that a schema is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The text of a regular expression.
    Expression,
    /// A byte automaton.
    Automaton,
}
