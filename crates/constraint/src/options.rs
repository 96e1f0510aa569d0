//! The options of schemas and grammars by name, as other languages and requests spell them.
//!
//! For example, `{"whitespace": "compact", "cap_items": 9}`.

use grammar::Config;
use schema_regex::{
    AdditionalMembers, Caps, Documents, Escapes, Formats, IntegerSpelling, OneOf, Options,
    ParseOptions, PropertyOrder, Settings, UnknownKeywords, Whitespace,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use structural_tags::TagLimits;

use crate::error::Error;

/// Options of a schema by name: `whitespace`, `order`, `additional_members`, `formats`, `one_of`,
/// `unknown_keywords`, `escapes`, `integers`, caps (`cap_length`, `cap_items`, `cap_depth`,
/// `cap_digits`, `cap_members`, `cap_name_length`) and limits (`max_alternatives`,
/// `max_automaton_states`, `max_steps`, `max_depth`, `max_nesting`, `max_nodes`); for reading it
/// `settings` and `documents`.
///
/// ```
/// use constraint::SchemaOptions;
///
/// let options: SchemaOptions = serde_json::from_str(r#"{"whitespace": "wide"}"#)?;
/// let refused = options.options().unwrap_err().to_string();
/// assert_eq!(refused, r#"whitespace is one of "flexible", "single", "spaced", "compact", not "wide""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SchemaOptions(Map<String, Value>);

/// All names, because one that is misspelt would otherwise change nothing.
const NAMES: [&str; 22] = [
    "additional_members",
    "cap_depth",
    "cap_digits",
    "cap_items",
    "cap_length",
    "cap_members",
    "cap_name_length",
    "documents",
    "escapes",
    "formats",
    "integers",
    "max_alternatives",
    "max_automaton_states",
    "max_depth",
    "max_nesting",
    "max_nodes",
    "max_steps",
    "one_of",
    "order",
    "settings",
    "unknown_keywords",
    "whitespace",
];

impl SchemaOptions {
    /// Returns the options for compiling; those that are not named are the default ones, but
    /// `additional_members` are `"open"`, as JSON Schema has it.
    ///
    /// # Errors
    ///
    /// [`Error::Option`]: a name is none of an option, or a value none that it can have.
    pub fn options(&self) -> Result<Options, Error> {
        if let Some(name) = self.0.keys().find(|name| !NAMES.contains(&&***name)) {
            return Err(Error::Option(format!("a schema has no option {name:?}")));
        }
        let whitespace = [
            ("flexible", Whitespace::flexible()),
            ("single", Whitespace::SingleSpace),
            ("spaced", Whitespace::Spaced),
            ("compact", Whitespace::Compact),
        ];
        let orders = [
            ("declared", PropertyOrder::Schema),
            ("any", PropertyOrder::Any),
        ];
        let members = [
            ("closed", AdditionalMembers::Closed),
            ("open", AdditionalMembers::Open),
        ];
        let mut options = Options::default()
            .with_additional_members(AdditionalMembers::Open)
            .with_caps(self.caps()?);
        self.choose("whitespace", &whitespace, &mut options.whitespace)?;
        self.choose("order", &orders, &mut options.property_order)?;
        let open = &mut options.additional_members;
        self.choose("additional_members", &members, open)?;
        self.choose("formats", &Formats::NAMED, &mut options.formats)?;
        self.choose("one_of", &OneOf::NAMED, &mut options.one_of)?;
        let unknown = &mut options.unknown_keywords;
        self.choose("unknown_keywords", &UnknownKeywords::NAMED, unknown)?;
        self.choose("escapes", &Escapes::NAMED, &mut options.escapes)?;
        self.choose("integers", &IntegerSpelling::NAMED, &mut options.integers)?;
        for (name, option) in [
            ("max_alternatives", &mut options.max_alternatives),
            ("max_automaton_states", &mut options.max_automaton_states),
            ("max_steps", &mut options.max_steps),
            ("max_depth", &mut options.max_depth),
            ("max_nesting", &mut options.max_nesting),
        ] {
            self.limit(name, option)?;
        }
        Ok(options)
    }

    /// Returns the options for reading the schema.
    ///
    /// # Errors
    ///
    /// [`Error::Option`], as [`SchemaOptions::options`]; [`Error::Description`]: a document of
    /// `documents` is not a text with JSON.
    pub fn reading(&self) -> Result<ParseOptions, Error> {
        let settings = [("ignore", Settings::Ignore), ("follow", Settings::Follow)];
        let mut chosen = Settings::Ignore;
        self.choose("settings", &settings, &mut chosen)?;
        let mut reading = ParseOptions::default().with_settings(chosen);
        if let Some(given) = self.0.get("max_nodes").filter(|given| !given.is_null()) {
            let mut most = 0;
            limit("max_nodes", given, &mut most)?;
            reading = reading.with_max_nodes(most);
        }
        let mut read = Documents::default();
        let documents = self.0.get("documents").and_then(Value::as_object);
        for (uri, document) in documents.into_iter().flatten() {
            let refused = |why| Error::Description(format!("the document {uri:?}: {why}"));
            let text = document.as_str();
            let text = text.ok_or_else(|| refused("it is no text".to_owned()))?;
            let inserted = read.insert_str(uri, text);
            inserted.map_err(|error| refused(error.to_string()))?;
        }
        Ok(reading.with_documents(read))
    }

    fn choose<T: Clone>(
        &self,
        name: &str,
        known: &[(&str, T)],
        option: &mut T,
    ) -> Result<(), Error> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(()),
            Some(Value::String(given)) => {
                *option = one_of(name, given, known)?;
                Ok(())
            }
            Some(given) => Err(no_choice(name, &given.to_string(), known)),
        }
    }

    fn limit(&self, name: &str, option: &mut usize) -> Result<(), Error> {
        match self.0.get(name) {
            Some(given) => limit(name, given, option),
            None => Ok(()),
        }
    }

    fn caps(&self) -> Result<Caps, Error> {
        let cap = |name: &str| match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(given) => {
                let number = given.as_u64().and_then(|number| u32::try_from(number).ok());
                let most = u32::MAX;
                let refused = format!("{name} is a whole number from 0 to {most}, or None");
                number.map(Some).ok_or(Error::Option(refused))
            }
        };
        let mut caps = Caps::default();
        caps.length = cap("cap_length")?.map(u64::from);
        caps.items = cap("cap_items")?.map(u64::from);
        caps.depth = cap("cap_depth")?;
        caps.digits = cap("cap_digits")?;
        caps.members = cap("cap_members")?.map(u64::from);
        caps.name_length = cap("cap_name_length")?.map(u64::from);
        Ok(caps)
    }
}

/// The limits of a grammar by name: those of [`grammar::Config`].
///
/// ```
/// use constraint::GrammarOptions;
///
/// let options: GrammarOptions = serde_json::from_str(r#"{"max_walk_work": 1000000}"#)?;
/// assert_eq!(options.config().unwrap().max_walk_work, 1_000_000);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrammarOptions(Map<String, Value>);

impl GrammarOptions {
    pub(crate) fn leave_limit(&mut self, name: &str, most: usize) {
        if Config::default().limit_mut(name).is_some() {
            leave(&mut self.0, name, most);
        }
    }

    /// Returns the limits for compiling; those that are not named are the default ones.
    ///
    /// # Errors
    ///
    /// [`Error::Option`]: a name is none of a limit, or a value no whole number.
    pub fn config(&self) -> Result<Config, Error> {
        let mut config = Config::default();
        for (name, given) in &self.0 {
            let Some(option) = config.limit_mut(name) else {
                return Err(Error::Option(format!("a grammar has no option {name:?}")));
            };
            limit(name, given, option)?;
        }
        Ok(config)
    }
}

/// The limits of a structural tag by name: `max_parts`, `max_repeat` and `max_whitespace` of
/// [`structural_tags::TagLimits`], and those of its grammars, as [`GrammarOptions`] has them.
///
/// ```
/// use constraint::TagOptions;
///
/// let options: TagOptions = serde_json::from_str(r#"{"max_repeat": 5, "max_work": 1000}"#)?;
/// let limits = options.limits().unwrap();
/// assert_eq!((limits.max_repeat, limits.grammar.max_work), (5, 1_000));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TagOptions(Map<String, Value>);

impl TagOptions {
    /// The names of the limits that are a tag's own.
    const LIMITS: [&str; 3] = ["max_parts", "max_repeat", "max_whitespace"];

    /// Returns the names of all limits.
    ///
    /// ```
    /// use constraint::TagOptions;
    ///
    /// let names: Vec<&str> = TagOptions::limit_names().collect();
    /// assert!(names.contains(&"max_parts") && names.contains(&"max_walk_work"));
    /// ```
    pub fn limit_names() -> impl Iterator<Item = &'static str> {
        let of_grammars = Config::default().limits_mut().map(|(name, _)| name);
        TagOptions::LIMITS.into_iter().chain(of_grammars)
    }

    pub(crate) fn leave_limit(&mut self, name: &str, most: usize) {
        if TagOptions::limit_names().any(|known| known == name) {
            leave(&mut self.0, name, most);
        }
    }

    /// Returns the limits for compiling; those that are not named are the default ones.
    ///
    /// # Errors
    ///
    /// [`Error::Option`]: a name is none of a limit, or a value no whole number, or above 4,294,967,295
    /// where the limit is.
    pub fn limits(&self) -> Result<TagLimits, Error> {
        let mut limits = TagLimits::default();
        let whole = |name: &str, given: &Value, most: u32| {
            let mut chosen = most as usize;
            limit(name, given, &mut chosen)?;
            let refused = |_| Error::Option(format!("{name} is at most {}", u32::MAX));
            u32::try_from(chosen).map_err(refused)
        };
        for (name, given) in &self.0 {
            match name.as_str() {
                "max_parts" => limit(name, given, &mut limits.max_parts)?,
                "max_repeat" => limits.max_repeat = whole(name, given, limits.max_repeat)?,
                "max_whitespace" => {
                    limits.max_whitespace = whole(name, given, limits.max_whitespace)?;
                }
                _ => match limits.grammar.limit_mut(name) {
                    Some(option) => limit(name, given, option)?,
                    None => {
                        let message = format!("a structural tag has no option {name:?}");
                        return Err(Error::Option(message));
                    }
                },
            }
        }
        Ok(limits)
    }
}

/// Sets a limit that is left open.
fn leave(options: &mut Map<String, Value>, name: &str, most: usize) {
    if options.get(name).is_none_or(Value::is_null) {
        options.insert(name.to_owned(), most.into());
    }
}

/// Sets a limit to what is given for it, unless that is null.
fn limit(name: &str, given: &Value, option: &mut usize) -> Result<(), Error> {
    if !given.is_null() {
        let number = given
            .as_u64()
            .and_then(|number| usize::try_from(number).ok());
        let refused = || Error::Option(format!("{name} is a whole number, or None"));
        *option = number.ok_or_else(refused)?;
    }
    Ok(())
}

/// Returns what a word stands for.
///
/// # Errors
///
/// [`Error::Option`], which says which words there are.
///
/// ```
/// let known = [("on", true), ("off", false)];
/// assert!(constraint::one_of("the lamp", "on", &known)?);
/// let refused = constraint::one_of("the lamp", "dim", &known).unwrap_err();
/// assert_eq!(refused.to_string(), r#"the lamp is one of "on", "off", not "dim""#);
/// # Ok::<(), constraint::Error>(())
/// ```
pub fn one_of<T: Clone>(name: &str, given: &str, known: &[(&str, T)]) -> Result<T, Error> {
    let found = known.iter().find(|(word, _)| *word == given);
    let found = found.map(|(_, value)| value.clone());
    found.ok_or_else(|| no_choice(name, &format!("{given:?}"), known))
}

#[cold]
fn no_choice<T>(name: &str, given: &str, known: &[(&str, T)]) -> Error {
    let words: Vec<String> = known.iter().map(|(word, _)| format!("{word:?}")).collect();
    let words = words.join(", ");
    Error::Option(format!("{name} is one of {words}, not {given}"))
}
