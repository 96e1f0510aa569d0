//! The content of a tag or of a whole answer: JSON of a schema, a text of a regular expression, or
//! any text. For example, the content of `<n>12</n>` may be that of the expression `[0-9]+`.

use fsm_index::ByteDfa;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, parse};
use serde_json::Value;

use crate::build::{Node, dfa};
use crate::error::{Error, ErrorKind};
use crate::json_parts;
use crate::quiet::Quiet;

/// The content between two markers, or of the whole answer.
///
/// ```
/// use structural_tags::{Content, Tags};
/// use serde_json::json;
///
/// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
/// # for byte in 0..=255u8 {
/// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
/// # }
/// # let vocabulary = vocabulary.build()?;
/// let answer = Content::schema(&json!({"enum": ["yes", "no"]}))?;
/// let automaton = Tags::new().with_answer(answer).compile(&vocabulary)?;
/// assert!(automaton.is_match(b"\"yes\"") && !automaton.is_match(b"\"perhaps\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Content(Bound);

#[derive(Clone, Debug)]
enum Bound {
    Json(SchemaAutomaton),
    Dfa(Box<ByteDfa>),
    Text(Option<u32>),
}

impl Content {
    /// JSON of a schema, with the default [`Options`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the schema is refused, with the keyword and
    /// its place.
    pub fn schema(schema: &Value) -> Result<Content, Error> {
        Content::schema_with(schema, &Options::default())
    }

    /// JSON of a schema.
    ///
    /// # Errors
    ///
    /// As [`Content::schema`].
    pub fn schema_with(schema: &Value, options: &Options) -> Result<Content, Error> {
        compile_schema(schema, options).map(Content::from)
    }

    /// A text that matches a regular expression as a whole.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the expression is malformed, matches nothing
    /// or needs too much.
    ///
    /// ```
    /// use structural_tags::{Content, Tags};
    ///
    /// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
    /// # for byte in 0..=255u8 {
    /// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
    /// # }
    /// # let vocabulary = vocabulary.build()?;
    /// let time = Tags::new().with_answer(Content::regex("[0-2][0-9]:[0-5][0-9]")?);
    /// assert!(time.compile(&vocabulary)?.is_match(b"09:30"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn regex(pattern: &str) -> Result<Content, Error> {
        dfa(pattern).map(|dfa| Content(Bound::Dfa(Box::new(dfa))))
    }

    /// One of these texts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: there are none.
    ///
    /// ```
    /// use structural_tags::{Content, Tags};
    ///
    /// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
    /// # for byte in 0..=255u8 {
    /// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
    /// # }
    /// # let vocabulary = vocabulary.build()?;
    /// let side = Tags::new().with_answer(Content::choice(["left", "right"])?);
    /// let automaton = side.compile(&vocabulary)?;
    /// assert!(automaton.is_match(b"left") && !automaton.is_match(b"up"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choice<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Content, Error> {
        let texts: Vec<String> = texts
            .into_iter()
            .map(|text| escape(text.as_ref()))
            .collect();
        if texts.is_empty() {
            return Err(Error::new(
                ErrorKind::Constraint,
                "a choice of no texts has none to choose; name at least one",
            ));
        }
        Content::regex(&format!("(?:{})", texts.join("|")))
    }

    /// Any text up to the closing marker, of at most so many characters if a
    /// limit is given.
    pub fn text(limit: Option<u32>) -> Content {
        Content(Bound::Text(limit))
    }

    /// The content of a tag, without its end and what is forbidden.
    pub(crate) fn inside(&self, forbidden: &[String], end: &str) -> Result<Node, Error> {
        let mut markers = forbidden.to_vec();
        let is_kept_out = match &self.0 {
            Bound::Json(automaton) => json_parts::is_kept_out(end, automaton)?,
            Bound::Dfa(_) | Bound::Text(_) => true,
        };
        if is_kept_out {
            markers.push(end.to_owned());
        }
        self.node(&markers)
    }

    /// The content without these markers.
    pub(crate) fn node(&self, markers: &[String]) -> Result<Node, Error> {
        Ok(match &self.0 {
            Bound::Json(automaton) => Node::Json(automaton.clone().into(), markers.to_vec()),
            Bound::Dfa(dfa) => Node::Quiet(Quiet::without(dfa, markers)?),
            Bound::Text(limit) => Node::Free(markers.to_vec(), *limit),
        })
    }
}

impl From<SchemaAutomaton> for Content {
    fn from(automaton: SchemaAutomaton) -> Content {
        Content(Bound::Json(automaton))
    }
}

impl From<ByteDfa> for Content {
    fn from(dfa: ByteDfa) -> Content {
        Content(Bound::Dfa(Box::new(dfa)))
    }
}

pub(crate) fn compile_schema(schema: &Value, options: &Options) -> Result<SchemaAutomaton, Error> {
    let compiled = parse(schema).and_then(|schema| SchemaAutomaton::compile(schema, options));
    compiled.map_err(of_schema)
}

/// The same; `None` where no value satisfies the schema.
pub(crate) fn compile_if_any(
    schema: &Value,
    options: &Options,
) -> Result<Option<SchemaAutomaton>, Error> {
    let compiled = parse(schema);
    let compiled = compiled.and_then(|schema| SchemaAutomaton::compile_if_any(schema, options));
    compiled.map_err(of_schema)
}

#[cold]
fn of_schema(error: schema_regex::Error) -> Error {
    Error::with_source(ErrorKind::Constraint, format!("the schema: {error}"), error)
}

/// A text as a regular expression that matches it alone.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$#&-~/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
