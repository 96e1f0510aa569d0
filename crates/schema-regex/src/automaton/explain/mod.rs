//! For people: how two schemas differ, and why a schema has no value.
//!
//! For example, `{"maximum": 5}` admits `5.5`, and `{"maximum": 5, "type": "integer"}` does not.

mod contradiction;
mod difference;

use fsm_index::Place;
use schema_normal::Schema as Read;
use schema_normal::ir::ROOT;
use schema_normal::ir::signed::Signed;
use schema_normal::normal::normaliser::Normaliser;
use schema_normal::options::{AdditionalMembers, Caps, Complements, Options, Target};
use schema_normal::{Error, ErrorKind};

use crate::Schema;
use crate::automaton::compile::unbounded::Unbounded;
use crate::automaton::{SchemaAutomaton, State, run};

/// Returns the error about a schema that no value satisfies.
pub(super) fn emptiness(schema: &Read, options: &Options) -> Error {
    cap_at_fault(schema, options).unwrap_or_else(|| contradiction::contradiction(schema, options))
}

/// Takes a cap away.
type LeaveOut = fn(&mut Caps);

/// The error about a schema without a value that has some without one of the caps.
pub(super) fn cap_at_fault(schema: &Read, options: &Options) -> Option<Error> {
    let all: [(&str, LeaveOut); 6] = [
        ("length", |caps| caps.length = None),
        ("items", |caps| caps.items = None),
        ("depth", |caps| caps.depth = None),
        ("digits", |caps| caps.digits = None),
        ("members", |caps| caps.members = None),
        ("name_length", |caps| caps.name_length = None),
    ];
    for (name, leave_out) in all {
        let mut without = options.caps;
        leave_out(&mut without);
        if without == options.caps {
            continue;
        }
        let options = options.clone().with_caps(without);
        let normaliser = Normaliser::new(schema.clone(), options, Target::Automaton);
        let made = Unbounded::new(normaliser, &[Signed::yes(ROOT)]);
        if made.is_ok_and(|draft| draft.bounded(without.depth).is_ok()) {
            let why = format!(
                "no value satisfies the schema under the cap `{name}`; raise it or leave it out"
            );
            return Some(Error::new(ErrorKind::Unsatisfiable, "", why));
        }
    }
    None
}

impl SchemaAutomaton {
    /// The values that `schema` admits and `other` does not, as `schema` spells
    /// them: an [`crate::ErrorKind::Unsatisfiable`] error where there are none,
    /// so that whatever satisfies the one satisfies the other. A shortest one is
    /// the completion of the start.
    ///
    /// Formats that are narrowed are taken as they are enforced; the options
    /// are those of `schema`, without caps and with objects as they are written.
    ///
    /// # Errors
    ///
    /// As [`SchemaAutomaton::compile`].
    ///
    /// ```
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use schema_regex::{ErrorKind, Options, parse};
    /// use serde_json::json;
    ///
    /// let (narrow, wide) = (parse(&json!({"maximum": 5, "type": "integer"}))?, parse(&json!({"type": "integer"}))?);
    /// let options = Options::default();
    /// let beyond = SchemaAutomaton::difference(&wide, &narrow, &options)?;
    /// assert!(beyond.is_match(b"6") && !beyond.is_match(b"5"));
    /// let none = SchemaAutomaton::difference(&narrow, &wide, &options).unwrap_err();
    /// assert_eq!(none.kind(), ErrorKind::Unsatisfiable);
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn difference(
        schema: &Schema,
        other: &Schema,
        options: &Options,
    ) -> Result<SchemaAutomaton, Error> {
        let (schema, other) = (&schema.read, &other.read);
        let options = schema
            .options(options)
            .with_caps(Caps::default())
            .with_additional_members(AdditionalMembers::Open);
        let (mut both, root) = difference::joined(schema, other);
        both.annotate(&options);
        let cap = options.caps.depth;
        let normaliser =
            Normaliser::with_complements(both, options, Target::Automaton, Complements::AsEnforced);
        let draft = Unbounded::new(normaliser, &[Signed::yes(ROOT), !Signed::yes(root)])?;
        draft.bounded(cap).map_err(|failed| failed.0)
    }

    /// Returns the token that is being read at `state`, and the JSON Pointers of the schema
    /// locations that the text to come must satisfy: those that an alternative which is still open
    /// asks for, each once, in the order of the schema.
    ///
    /// Between the members of an object, and in a name, they are the object's;
    /// inside a value the value's. O(size of the state).
    pub fn location(&self, state: &State) -> Place {
        run::location(&self.machine, &self.origin, state)
    }
}
