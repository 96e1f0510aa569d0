//! The report on a state, for people and hosts. For example, an error about a token that may not come
//! says `inside a string` and names the keywords of the schema that ask for it.

/// Tells people and hosts about the states of an automaton: the part of a
/// [`ByteAutomaton`](crate::ByteAutomaton) on which no mask depends. `S` is the automaton's
/// [`State`](crate::ByteAutomaton::State).
pub trait Report<S> {
    /// Returns the place of `state` in the grammar or schema, for people.
    fn place(&self, state: &S) -> Option<Place>;

    /// Returns the temperature at which the next token is to be drawn, where the grammar says one.
    fn temperature(&self, _state: &S) -> Option<f64> {
        None
    }
}

/// The place of an automaton's state, for people. See [`Report::place`].
///
/// ```
/// use fsm_index::{ByteAutomaton, Config, Dfa, Report};
///
/// let config = Config::default();
/// let automaton = Dfa::new("a")?.to_bytes(&config)?;
/// // Of a regular expression it is known in which state a text is, and no more.
/// let place = automaton.place(&automaton.start()).unwrap();
/// assert!(place.state.starts_with("state ") && place.locations.is_empty());
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Place {
    /// The part of the text that is being read, in words.
    pub state: String,
    /// The places in what the automaton was made of that speak of what comes
    /// next: JSON Pointers, where that was a schema.
    pub locations: Vec<String>,
}
