//! Automata that people look at: over characters or bytes, with classes of symbols, a transition
//! table, Graphviz and the trace of a text. For example, `Dfa::new("A[0-9]+")` has a class for `A`,
//! one for digits, and one for anything else.

mod alphabet;
mod bytes;
mod costs;
mod nfa;
mod show;

use std::fmt;

use fsm_tables::{NONE, Table};

pub use alphabet::Alphabet;
pub(crate) use costs::Costs;
pub use fsm_tables::Symbols;
pub use show::{Step, Trace};

use crate::{Error, ErrorKind};

/// The settings by which patterns are compiled, and their limits.
///
/// ```
/// use fsm_index::{Config, Dfa, ErrorKind};
///
/// let small = Config { max_states: 100, ..Config::default() };
/// let error = Dfa::with_config("a{1000}", &small).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::LimitExceeded);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The kind of the symbols. Default: characters.
    pub symbols: Symbols,
    /// Nesting of groups in the pattern, in levels. Default 4,000.
    pub nest_limit: u32,
    /// States of the automaton before determinisation. Default 4,000,000.
    pub max_nfa_states: usize,
    /// States of the automaton. Default 500,000.
    pub max_states: usize,
    /// Memory of all that is made on the way and lies side by side at one time, in bytes:
    /// the pattern's own form, sets of characters, the automaton before determinisation,
    /// the sets of its states, the table of transitions. Default 192 MiB.
    pub max_table_bytes: usize,
    /// Work of the whole compilation, in steps: a character read, a state visited, a
    /// transition written. Default 40,000,000: less than a second.
    pub max_work: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            symbols: Symbols::Chars,
            nest_limit: 4_000,
            max_nfa_states: 4_000_000,
            max_states: 500_000,
            max_table_bytes: 192 << 20,
            max_work: 40_000_000,
        }
    }
}

/// A minimal deterministic automaton over classes of symbols.
///
/// Made from a regular expression in the syntax of the `regex` crate (Unicode
/// on) and matched against whole texts: `^` and `$` are allowed and mean what
/// they say, and so do word boundaries, ends of lines (`(?m)`), and what that crate
/// does not have: `(?=..)`, `(?!..)`, `(?<=..)` and `(?<!..)`, which look around within
/// the text. (With [`Symbols::Bytes`], words of Unicode take more than the default of
/// `max_work`; `(?-u:\b)` does not.) The language is what counts: alternatives have no order, and lazy
/// and greedy repetitions are the same. State 0 is the start; every state can
/// still reach acceptance, so a text that leaves the automaton has no accepted
/// continuation.
///
/// ```
/// use fsm_index::Dfa;
///
/// let dfa = Dfa::new("[A-Z][0-9]+")?;
/// assert!(dfa.accepts("A42"));
/// assert!(!dfa.accepts("A"));
/// assert_eq!(dfa.state_count(), 3);
/// println!("{}", dfa.table());
///
/// let password = Dfa::new(r"(?=.*\d)[a-z0-9]{4}")?;
/// assert!(password.accepts("ab1c") && !password.accepts("abcd"));
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone)]
pub struct Dfa {
    alphabet: Alphabet,
    table: Table<bool>,
}

impl Dfa {
    /// Compiles `pattern` with the default [`Config`].
    ///
    /// # Errors
    ///
    /// The pattern is malformed, has a back-reference, matches nothing, or exceeds a
    /// limit.
    pub fn new(pattern: &str) -> Result<Dfa, Error> {
        Dfa::with_config(pattern, &Config::default())
    }

    /// Compiles `pattern`.
    ///
    /// # Errors
    ///
    /// As [`Dfa::new`].
    pub fn with_config(pattern: &str, config: &Config) -> Result<Dfa, Error> {
        let mut costs = Costs::new(config);
        let nfa = nfa::compile(pattern, &mut costs)?;
        let (alphabet, members) = Alphabet::new(config.symbols, nfa.sets(), &mut costs)?;
        let raw = nfa.determinize(alphabet.len(), &members, &mut costs)?;
        drop((nfa, members));
        costs.keep(raw.cells().len() * 4);
        let table = raw.minimized(&mut costs)?;
        if table.states() == 0 {
            return Err(Error::new(
                ErrorKind::EmptyLanguage,
                "the pattern matches no text at all, so nothing could ever be generated",
            ));
        }
        Ok(Dfa { alphabet, table })
    }

    /// The classes of symbols.
    pub fn alphabet(&self) -> &Alphabet {
        &self.alphabet
    }

    /// Returns the number of states.
    pub fn state_count(&self) -> usize {
        self.table.states()
    }

    /// The start state.
    pub fn start(&self) -> usize {
        0
    }

    /// Tells whether a text may end in `state`. A state that does not exist: no.
    pub fn is_accepting(&self, state: usize) -> bool {
        self.table.labels().get(state).copied().unwrap_or(false)
    }

    /// The state after a symbol of `class` in `state`, if any text goes on so.
    ///
    /// ```
    /// use fsm_index::Dfa;
    ///
    /// let dfa = Dfa::new("ab")?;
    /// let class = dfa.alphabet().class_of('a' as u32);
    /// let behind = dfa.next(dfa.start(), class).unwrap();
    /// assert!(!dfa.is_accepting(behind) && dfa.next(behind, class).is_none());
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn next(&self, state: usize, class: usize) -> Option<usize> {
        let width = self.alphabet.len();
        if class >= width {
            return None;
        }
        match self.table.cells().get(state.checked_mul(width)? + class) {
            None | Some(&NONE) => None,
            Some(&next) => Some(next as usize),
        }
    }

    /// Tells whether the whole of `text` is in the language. O(length).
    ///
    /// ```
    /// use fsm_index::Dfa;
    ///
    /// let dfa = Dfa::new("[0-9]{4}-[0-9]{2}")?;
    /// assert!(dfa.accepts("2027-03") && !dfa.accepts("2027-3"));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn accepts(&self, text: impl AsRef<[u8]>) -> bool {
        let text = text.as_ref();
        let mut state = self.start();
        let mut step = |symbol| match self.next(state, self.alphabet.class_of(symbol)) {
            Some(next) => {
                state = next;
                true
            }
            None => false,
        };
        let taken = match self.alphabet.symbols() {
            Symbols::Bytes => text.iter().all(|&b| step(b.into())),
            Symbols::Chars => {
                std::str::from_utf8(text).is_ok_and(|text| text.chars().all(|c| step(c as u32)))
            }
        };
        taken && self.is_accepting(state)
    }
}

impl fmt::Debug for Dfa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Dfa({} states, {} classes)",
            self.state_count(),
            self.alphabet.len()
        )
    }
}
