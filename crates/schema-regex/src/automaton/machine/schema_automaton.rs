//! The automaton that users hold: a machine, and the schema that it came from.
//!
//! It stands below the views on it, each of which implements its trait of `fsm_index`: for example,
//! the folder of completions implements [`Ending`](fsm_index::Ending).

use std::sync::Arc;

use crate::automaton::machine::Machine;
use crate::automaton::machine::origin::Origin;

/// A schema as a [`ByteAutomaton`](fsm_index::ByteAutomaton).
///
/// The language is that of the schema in the spellings that [`Options`](crate::Options) admit:
/// exactly, without narrowing beyond what [`SchemaAutomaton::ledger`] says.
/// Memory is proportional to the part of the schema that is reached.
///
/// Clones share everything.
#[derive(Clone, Debug)]
pub struct SchemaAutomaton {
    pub(crate) machine: Arc<Machine>,
    pub(crate) origin: Arc<Origin>,
}
