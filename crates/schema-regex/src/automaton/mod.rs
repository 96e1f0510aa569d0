//! Schemas as byte automata: exact where no regular expression can be.
//!
//! JSON's bytes fix the nesting, so one stack of frames is enough. Each value
//! is read by a *node*: a set of *goals* (conjunctions of schema locations)
//! that somebody above still has use for. The alternatives of a goal are
//! *threads* without choices, side by side; a value that ends says which goals
//! it satisfies, and the threads of the frame below that needed another one are
//! gone. A thread that cannot be finished any more is dropped at once, so what
//! is left is always live.
//!
//! Alternatives of objects that would multiply are no threads: a thread then has *decisions*,
//! diagrams over the members that came and the kinds of their values.
//!
//! For example, in `{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}` an object has two
//! threads, and `{"a": 1}` ends since one of them has all that it requires.

mod compile;
mod explain;
mod machine;
mod run;

mod byte_automaton;

use fsm_index::Lexicon;
use schema_normal::Error;
use schema_normal::Schema as Read;
use schema_normal::ir::ROOT;
use schema_normal::ir::signed::Signed;
use schema_normal::ledger::Entry;
use schema_normal::ledger::Narrowed;
use schema_normal::normal::normaliser::Normaliser;
use schema_normal::options::{AdditionalMembers, Options, Target};
use serde_json::Value;

use self::compile::unbounded::Unbounded;
use self::machine::lexicon;
use crate::Schema;

pub use self::machine::SchemaAutomaton;
pub use self::run::{Scratch, State};

impl SchemaAutomaton {
    /// The marks and the text with which JSON is written.
    pub const LEXICON: Lexicon = lexicon::LEXICON;

    /// Reads a schema with the default [`crate::ParseOptions`] and compiles it.
    ///
    /// # Errors
    ///
    /// As [`crate::parse`] and [`SchemaAutomaton::compile`].
    ///
    /// ```
    /// use schema_regex::Options;
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use serde_json::json;
    ///
    /// let tree = json!({"type": "array", "items": {"$ref": "#"}, "maxItems": 2});
    /// let automaton = SchemaAutomaton::new(&tree, &Options::default())?;
    /// assert!(automaton.is_match(b"[[], [[]]]") && !automaton.is_match(b"[[], [], []]"));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn new(schema: &Value, options: &Options) -> Result<SchemaAutomaton, Error> {
        SchemaAutomaton::compile(crate::parse(schema)?, options)
    }

    /// Reads a schema from its text, with all the digits that its numbers have there, and
    /// compiles it.
    ///
    /// # Errors
    ///
    /// As [`crate::parse_str`] and [`SchemaAutomaton::compile`].
    ///
    /// ```
    /// use schema_regex::Options;
    /// use schema_regex::automaton::SchemaAutomaton;
    ///
    /// let schema = r#"{"const": 123456789012345678901234567890}"#;
    /// let automaton = SchemaAutomaton::from_text(schema, &Options::default())?;
    /// assert!(automaton.is_match(b"123456789012345678901234567890"));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn from_text(schema: &str, options: &Options) -> Result<SchemaAutomaton, Error> {
        SchemaAutomaton::compile(crate::parse_str(schema)?, options)
    }

    /// Compiles a schema. All is decided here: what cannot be enforced is
    /// refused, and whatever the automaton admits can be finished.
    ///
    /// # Errors
    ///
    /// [`Refused`](crate::ErrorKind::Refused) with keyword and JSON Pointer,
    /// [`Cyclic`](crate::ErrorKind::Cyclic), [`Unsatisfiable`](crate::ErrorKind::Unsatisfiable), or one of
    /// the limits of [`Options`].
    pub fn compile(schema: Schema, options: &Options) -> Result<SchemaAutomaton, Error> {
        match SchemaAutomaton::build_by(schema.read, options) {
            Err(Failed::Empty(empty)) => {
                let (schema, options) = *empty;
                Err(explain::emptiness(&schema, &options))
            }
            Err(Failed::Refused(error)) => Err(error),
            Ok(automaton) => Ok(automaton),
        }
    }

    /// Compiles a schema; `None` where no value satisfies it, which is found at once:
    /// [`SchemaAutomaton::compile`] looks for the reason.
    ///
    /// # Errors
    ///
    /// As [`SchemaAutomaton::compile`], but for such a schema.
    ///
    /// ```
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use schema_regex::{Options, parse};
    /// use serde_json::json;
    ///
    /// let none = parse(&json!({"type": "string", "enum": [1]}))?;
    /// assert!(SchemaAutomaton::compile_if_any(none, &Options::default())?.is_none());
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn compile_if_any(
        schema: Schema,
        options: &Options,
    ) -> Result<Option<SchemaAutomaton>, Error> {
        match SchemaAutomaton::build_by(schema.read, options) {
            Err(Failed::Empty(_)) => Ok(None),
            Err(Failed::Refused(error)) => Err(error),
            Ok(automaton) => Ok(Some(automaton)),
        }
    }

    /// Compiles a schema by options of which it may override some.
    fn build_by(mut schema: Read, options: &Options) -> Result<SchemaAutomaton, Failed> {
        let options = schema.options(options);
        schema.refuse_unknown(&options).map_err(Failed::Refused)?;
        schema.annotate(&options);
        SchemaAutomaton::build(schema, options)
    }

    fn build(schema: Read, mut options: Options) -> Result<SchemaAutomaton, Failed> {
        let normaliser = Normaliser::new(schema, options.clone(), Target::Automaton);
        let draft = Unbounded::new(normaliser, &[Signed::yes(ROOT)]).map_err(Failed::Refused)?;
        let is_empty = draft.is_empty();
        let (error, schema) = match draft.bounded(options.caps.depth) {
            Ok(automaton) => return Ok(automaton),
            Err(failed) => *failed,
        };
        // A schema that has no value when it is closed stays as it is written.
        if options.closes() {
            options.additional_members = AdditionalMembers::Open;
            return SchemaAutomaton::build(schema, options);
        }
        Err(match is_empty {
            true => Failed::Empty(Box::new((schema, options))),
            false => Failed::Refused(explain::cap_at_fault(&schema, &options).unwrap_or(error)),
        })
    }

    /// Compiles a schema and says, also where it is refused, what each keyword
    /// becomes: the one at fault is refused, with the reason.
    ///
    /// # Errors
    ///
    /// The first of the pair is as [`SchemaAutomaton::compile`].
    ///
    /// ```
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use schema_regex::ledger::Status;
    /// use schema_regex::{Options, parse};
    /// use serde_json::json;
    ///
    /// let schema = parse(&json!({"type": "string", "title": "A name"}))?;
    /// let (automaton, ledger) = SchemaAutomaton::explain(schema, &Options::default());
    /// assert!(automaton.is_ok());
    /// let title = ledger.iter().find(|entry| entry.keyword == "title").unwrap();
    /// assert_eq!(title.status, Status::Annotation);
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn explain(
        schema: Schema,
        options: &Options,
    ) -> (Result<SchemaAutomaton, Error>, Vec<Entry>) {
        let read = schema.read.clone();
        match SchemaAutomaton::compile(schema, options) {
            Ok(automaton) => {
                let ledger = automaton.ledger();
                (Ok(automaton), ledger)
            }
            Err(error) => {
                let ledger = read.entries(
                    &read.options(options),
                    Target::Automaton,
                    &Narrowed::new(),
                    Some(&error),
                );
                (Err(error), ledger)
            }
        }
    }

    /// Returns an entry for each keyword that the schema reaches, in the order in which locations
    /// were met; then entries for bounds beside the keywords: by
    /// caps, and by the bound on nesting (an entry for the root, without a
    /// keyword); then the places that no value satisfies, so that a member never comes or a
    /// branch is never taken.
    pub fn ledger(&self) -> Vec<Entry> {
        self.origin.ledger()
    }

    /// The entries of the ledger about what constrains nothing although the schema's writer may
    /// think so: keywords of a later draft, misspelt ones, unknown formats, places that no
    /// value satisfies. Takes much less time than all of the ledger.
    ///
    /// ```
    /// use schema_regex::Options;
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "string", "format": "colour", "maxLength": 9});
    /// let notices = SchemaAutomaton::new(&schema, &Options::default())?.notices();
    /// assert_eq!(notices.len(), 1);
    /// assert_eq!(notices[0].pointer, "/format");
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn notices(&self) -> Vec<Entry> {
        self.origin.notices()
    }

    /// The number of sets of conjunctions that are asked of values; memory is proportional to it.
    pub fn nodes(&self) -> usize {
        self.machine.nodes().len()
    }

    /// Tells whether a state stands inside of a string or of a name: elsewhere nothing but JSON's
    /// own tokens and white space may come next.
    pub fn is_in_text(&self, state: &State) -> bool {
        run::is_in_text(state)
    }

    /// Tells whether a text is admitted as a whole.
    pub fn is_match(&self, text: &[u8]) -> bool {
        run::is_match(&self.machine, text)
    }
}

/// Why a schema was not compiled.
enum Failed {
    Refused(Error),
    /// No value satisfies it, with these options.
    Empty(Box<(Read, Options)>),
}
