//! A compiled grammar as a byte automaton.
//!
//! For example, `root ::= "(" root ")" | "x"` is one, whose state behind `((` has a stack of two
//! open brackets.

mod byte_automaton;
mod grammar;
mod scratch;

use std::fmt;
use std::sync::Arc;

use fsm_index::ByteAutomaton as _;

use crate::automaton::scratch::{Learnt, Pool};
use crate::captures::{Capture, Captures};
use crate::compile::cfg::Cfg;
use crate::completion::live::MAX_COMPLETION_SEARCH;
use crate::completion::ways::{Said, way};
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::explain;
use crate::machine::Machine;
use crate::probe::{Costly, probe};
use crate::proof::{self, Conflict};
use crate::run::budgets::Taken;
use crate::run::saved::Saved;

pub use self::grammar::Grammar;
pub use self::scratch::Scratch;

/// A compiled grammar: a machine over bytes with stacks that share their parts.
///
/// Cloning it costs nothing. Memory: the tables of its parser and of its terminals, and what
/// its scratches have seen, each within [`Config::max_cache_bytes`].
///
/// ```
/// use std::sync::Arc;
///
/// use fsm_index::{Guide, Index, IndexConfig, TokenId, Vocabulary};
/// use grammar::Grammar;
///
/// let tokens = ["(", ")", "x", "()"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(4)])?;
/// let nested = Grammar::from_gbnf("root ::= \"(\" root \")\" | \"x\"")?;
/// let mut guide = Guide::new(Arc::new(Index::lazy(nested, &vocabulary, &IndexConfig::default())?));
/// guide.advance(TokenId::new(0))?;
/// assert_eq!(guide.allowed_tokens()?, [0, 2].map(TokenId::new)); // ( x
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct GrammarAutomaton {
    pool: Arc<Pool>,
    start: State,
    /// Reads texts for their captures, if there are any.
    captures: Option<Arc<Captures>>,
}

/// A grammar for which tables were made.
enum Built {
    Done(GrammarAutomaton),
    /// Its masks cost too much as it is written.
    Costly(Error, Box<Cfg>),
}

/// The place where all texts of a grammar begin, and what was learnt to find it.
struct FirstPlace {
    learnt: Box<Learnt>,
    start: State,
    costly: Option<Costly>,
}

/// A place that a text has come to. Cloning it costs nothing.
#[derive(Clone)]
pub struct State {
    saved: Arc<Saved>,
    /// The tokens that open lexemes with a budget have taken.
    taken: Taken,
}

impl FirstPlace {
    fn new(machine: &Arc<Machine>, text: &str, config: &Config) -> Result<FirstPlace, Error> {
        let mut learnt = Box::new(Learnt::new(machine.clone()));
        let begin = learnt.steps().begin();
        if machine.checks_live() && !learnt.live().is_live(begin) {
            return Err(unfinished(machine, text));
        }
        Ok(FirstPlace {
            start: State {
                saved: learnt.save(begin),
                taken: Taken::default(),
            },
            costly: probe(machine, learnt.caches(), begin, config.max_walk_work),
            learnt,
        })
    }
}

impl GrammarAutomaton {
    fn new(cfg: Cfg, text: &str, config: &Config) -> Result<GrammarAutomaton, Error> {
        let done = match GrammarAutomaton::of(cfg, text, config)? {
            Built::Done(done) => done,
            // Some are cheap when rules that need each other are one.
            Built::Costly(error, mut cfg) => match cfg.unite() {
                true => match GrammarAutomaton::of(*cfg, text, config) {
                    Ok(Built::Done(done)) => done,
                    _ => return Err(error),
                },
                false => return Err(error),
            },
        };
        done.pool.prove();
        Ok(done)
    }

    fn of(cfg: Cfg, text: &str, config: &Config) -> Result<Built, Error> {
        let machine = Arc::new(Machine::new(cfg, text, config)?);
        if machine.is_greedy()
            && let Some(conflict) = proof::swallowed(machine.cfg(), machine.lexer())
        {
            return Err(swallowed(&machine, text, conflict));
        }
        let mut begun = FirstPlace::new(&machine, text, config)?;
        // Masks may cost less where more is proved.
        if begun.costly.is_some()
            && let Some(proved) = machine.proved()
        {
            begun = FirstPlace::new(&Arc::new(proved), text, config)?;
        }
        let FirstPlace {
            learnt,
            start,
            costly,
        } = begun;
        if let Some(costly) = costly {
            let error = too_costly(&machine, text, &costly, config);
            // Then nobody else has the grammar.
            drop(learnt);
            return match Arc::into_inner(machine).and_then(Machine::into_cfg) {
                Some(cfg) => Ok(Built::Costly(error, Box::new(cfg))),
                None => Err(error),
            };
        }
        Ok(Built::Done(GrammarAutomaton {
            pool: Arc::new(Pool::of(learnt)),
            start,
            captures: None,
        }))
    }

    /// Tells whether a text is admitted as a whole.
    pub fn accepts(&self, text: impl AsRef<[u8]>) -> bool {
        fsm_index::is_match(self, text.as_ref())
    }

    /// Returns the number of states that the parser has.
    pub fn parser_states(&self) -> usize {
        self.machine().tables().states.len()
    }

    /// Returns the number of terminals.
    pub fn terminals(&self) -> usize {
        self.machine().cfg().terminals.len()
    }

    /// Returns the lexemes that may come at a state, or go on there: names of terminals, or their
    /// texts.
    ///
    /// ```
    /// use fsm_index::ByteAutomaton;
    /// use grammar::Grammar;
    ///
    /// let sums = Grammar::from_gbnf("root ::= num (\"+\" num)*\nnum ::= [0-9]")?;
    /// let mut state = sums.start();
    /// assert_eq!(sums.expected(&state).len(), 1);
    /// sums.advance(&mut state, b"1", &mut sums.scratch()).unwrap();
    /// assert!(sums.is_accepting(&state));
    /// # Ok::<(), grammar::Error>(())
    /// ```
    pub fn expected(&self, state: &State) -> Vec<String> {
        self.at(state, |learnt, config| {
            let (machine, caches) = learnt.parts();
            explain::expected(machine, caches, config)
        })
    }

    /// Returns the temperature at which the next token is to be sampled, where a rule says one: the
    /// highest of the lexemes that may come at a state, or go on there. O(what may come).
    ///
    /// It is for the host, and changes no language.
    ///
    /// ```
    /// use fsm_index::ByteAutomaton;
    /// use grammar::Grammar;
    ///
    /// let dialogue = Grammar::from_lark("start: \"Name: \" name\nname[temperature=0.9]: /[a-z]+/")?;
    /// let mut state = dialogue.start();
    /// assert_eq!(dialogue.temperature(&state), None);
    /// dialogue.advance(&mut state, b"Name: ", &mut dialogue.scratch()).unwrap();
    /// assert_eq!(dialogue.temperature(&state), Some(0.9));
    /// # Ok::<(), grammar::Error>(())
    /// ```
    pub fn temperature(&self, state: &State) -> Option<f64> {
        let mut terminals = self.machine().cfg().terminals.iter();
        if terminals.all(|terminal| terminal.sampling.temperature.is_none()) {
            return None;
        }
        self.at(state, |learnt, config| {
            let (machine, caches) = learnt.parts();
            explain::temperature(machine, caches, config)
        })
    }

    /// Returns what rules with the option `capture` have read in a whole text, from left to right, outer
    /// parts before those in them; nothing if the text is not of the grammar.
    ///
    /// The reading that counts takes, from the first rule inwards, the alternative that is written first, and
    /// in it each part from left to right as long as it can be. A marker of `suffix` or `stop` is no part of what its rule
    /// captures; `stop_capture` names it. O(bytes) steps in most grammars, and up to the third power of them in
    /// ambiguous ones. Lark of the package has no captures.
    ///
    /// # Errors
    ///
    /// The text takes more than 4,000,000 steps to read, or `max_work`; or the grammar has special tokens, which are no
    /// part of a text.
    ///
    /// ```
    /// use grammar::Grammar;
    ///
    /// let mail = Grammar::from_lark("start: user \"@\" host\nuser[capture]: /[a-z.]+/\nhost[capture=\"to\"]: /[a-z.]+/")?;
    /// let captures = mail.captures("ada@example.org")?.unwrap();
    /// assert_eq!((captures[1].name(), captures[1].range()), ("to", 4..15));
    /// assert_eq!(mail.captures("ada")?, None);
    /// # Ok::<(), grammar::Error>(())
    /// ```
    pub fn captures(&self, text: &str) -> Result<Option<Vec<Capture>>, Error> {
        match &self.captures {
            // Readings take ignored text as often as it comes.
            Some(_) if self.machine().cfg().ignores_once.contains(&true) && !self.accepts(text) => {
                Ok(None)
            }
            Some(captures) => captures.read(text),
            None => Ok(self.accepts(text).then(Vec::new)),
        }
    }

    /// Returns the bytes that it takes, about: its tables, and what scratches that are not in use
    /// have learnt.
    pub fn memory(&self) -> usize {
        let states = self.machine().tables().states.iter().map(|state| {
            100 + 8 * (state.shifts.len() + state.gotos.len() + state.reduces.len())
                + 16 * state.finishes.len()
        });
        let captures = self
            .captures
            .as_ref()
            .map_or(0, |captures| captures.memory());
        states.sum::<usize>() + self.pool.memory() + self.machine().lexer().memory() + captures
    }

    /// Tells whether greedy lexing may forbid what must come, so that each step is looked at. Waits until all is proved that
    /// can be, see [`Config::max_proof_work`].
    pub fn checks_ends(&self) -> bool {
        self.pool.proved().checks_live()
    }

    /// Asks what a scratch knows of a state.
    fn at<T>(&self, state: &State, ask: impl FnOnce(&mut Learnt, u32) -> T) -> T {
        let mut scratch = self.scratch();
        let learnt = scratch.newest();
        let config = learnt.load(&state.saved);
        ask(learnt, config)
    }

    /// Returns what leads to the end.
    fn way(&self, state: &State) -> Vec<Said> {
        // Under greedy lexing the shortest way may be forbidden: another is open then. So it may
        // be behind ignored text that goes as far as it can.
        let machine = self.machine();
        let may_be_forbidden = machine.is_greedy() || machine.lexer().guard_count() > 0;
        let way = self.at(state, |learnt, config| match may_be_forbidden {
            true => learnt.live().way(config, MAX_COMPLETION_SEARCH),
            false => {
                let (machine, caches) = learnt.parts();
                way(machine, caches, config)
            }
        });
        way.unwrap_or_default()
    }

    /// Returns the grammar as it was compiled.
    pub(crate) fn machine(&self) -> &Machine {
        self.pool.compiled()
    }
}

/// Returns the error of a grammar whose masks cost too much: in the rule that costs most.
#[cold]
fn too_costly(machine: &Machine, text: &str, costly: &Costly, config: &Config) -> Error {
    let error = Error::limit(
        "max_walk_work",
        "edges of stacks for the bytes behind one of its texts, which has too many ways to be read",
        config.max_walk_work,
    );
    let named = machine.cfg().rules.iter().zip(&costly.by_rule);
    let named = named.filter(|(rule, work)| !rule.name.is_empty() && **work > 0);
    match named.max_by_key(|(_, work)| **work) {
        Some((rule, _)) => error.at(text, rule.at).in_rule(&rule.name),
        None => error,
    }
}

/// Returns the error of a grammar of which no text can be finished.
fn unfinished(machine: &Machine, text: &str) -> Error {
    let mut message =
        "no text can be finished: the longest match always takes what must come next".to_owned();
    let Some(conflict) = machine.proof().conflict else {
        return Error::new(ErrorKind::EmptyLanguage, message);
    };
    let [first, second] =
        [conflict.first, conflict.second].map(|t| &machine.cfg().terminals[t as usize]);
    message.push_str(&format!(
        ": {} takes every byte with which {} can begin; exclude it, or make the former a `[lazy]` rule",
        first.name, second.name
    ));
    let error = Error::new(ErrorKind::EmptyLanguage, message);
    error.at(text, first.at).in_rule(&first.name)
}

/// Returns the error of a lexeme that nothing in a text can end.
#[cold]
fn swallowed(machine: &Machine, text: &str, conflict: Conflict) -> Error {
    let [first, second] =
        [conflict.first, conflict.second].map(|t| &machine.cfg().terminals[t as usize]);
    let option = match first.sampling.to_end {
        true => "`stop=\"\"`",
        false => "`max_tokens`",
    };
    let message = format!(
        "{option} cannot end `{}`, because it takes every byte with which {} can begin, and a text is read by the \
         longest match: exclude such a byte, or write `suffix` with a text that ends the rule",
        first.name, second.name
    );
    let error = Error::new(ErrorKind::Unsupported, message);
    error.at(text, first.at).in_rule(&first.name)
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        Arc::ptr_eq(&self.saved, &other.saved) && self.taken == other.taken
    }
}

impl fmt::Debug for GrammarAutomaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (terminals, states) = (self.terminals(), self.parser_states());
        write!(
            f,
            "GrammarAutomaton({terminals} terminals, {states} states of its parser)"
        )
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State(accepting: {})", self.saved.is_accepting())
    }
}

#[cfg(test)]
mod tests {
    use fsm_index::{Guide, Index, IndexConfig, TokenId, VocabularyBuilder};
    use proptest::prelude::*;

    use super::*;
    use crate::Dialect;

    fn built(cfg: Cfg, text: &str) -> Option<GrammarAutomaton> {
        let config = Config {
            max_walk_work: usize::MAX,
            // A table of a small grammar may be large.
            max_work: usize::MAX,
            max_proof_work: 0,
            ..Config::default()
        };
        match GrammarAutomaton::of(cfg, text, &config) {
            Ok(Built::Done(done)) => Some(done),
            _ => None,
        }
    }

    /// Reads a grammar and a text of it among the languages of the tests.
    fn language(name: &str) -> [String; 2] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/languages/");
        ["lark", "txt"].map(|end| std::fs::read_to_string(format!("{folder}{name}.{end}")).unwrap())
    }

    #[test]
    fn masks_are_the_same_before_and_after_a_proof() {
        for name in ["terraform", "jinja", "measured/nix", "measured/ruby"] {
            let [grammar, program] = language(name);
            let lowered = Grammar::lowered(&grammar, Dialect::Lark, &Config::default()).unwrap();
            let begun = built(lowered, &grammar).unwrap();
            let proved_at_once = Config {
                max_proof_work: usize::MAX,
                ..Config::default()
            };
            let proved = Grammar::compile(&grammar, Dialect::Lark, &proved_at_once).unwrap();
            let mut builder = VocabularyBuilder::new();
            let mut id = (0..).map(TokenId::new);
            for byte in 0..=u8::MAX {
                builder.text(id.next().unwrap(), [byte]).unwrap();
            }
            let pieces = program.as_bytes().windows(4).step_by(3);
            let pieces: std::collections::BTreeSet<&[u8]> = pieces.collect();
            for piece in pieces {
                builder.text(id.next().unwrap(), piece).unwrap();
            }
            builder.end(id.next().unwrap()).unwrap();
            let vocabulary = builder.build().unwrap();
            let guide = |automaton: &GrammarAutomaton| {
                let config = IndexConfig {
                    fill: fsm_index::Fill::Lazy,
                    ..IndexConfig::default()
                };
                Guide::new(Arc::new(
                    Index::lazy(automaton.clone(), &vocabulary, &config).unwrap(),
                ))
            };
            let (mut own, mut other) = (guide(&begun), guide(&proved));
            for (at, &byte) in program.as_bytes().iter().enumerate() {
                assert_eq!(own.mask().unwrap(), other.mask().unwrap(), "{name} at {at}");
                let token = TokenId::new(u32::from(byte));
                own.advance(token).unwrap();
                other.advance(token).unwrap();
                // The guide goes on with what is proved from here on.
                let is_proved = begun.scratch().newest().machine().is_proved();
                assert_eq!(is_proved, at >= program.len() / 2, "{name} at {at}");
                if at + 1 == program.len() / 2 {
                    assert!(begun.pool.proved().is_proved(), "{name}");
                }
            }
            assert!(own.is_accepting(), "{name}");
        }
    }

    /// A right side of a few parts, most of them rules.
    fn side() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "start",
            "b",
            "c",
            "start",
            "b",
            "c",
            "b?",
            "c?",
            "start*",
            "\"a\"",
            "\"b\"",
            "(\"a\" | b)",
            "(c \"b\")?",
        ]);
        prop::collection::vec(part, 1..4).prop_map(|parts| parts.join(" "))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn united_grammars_take_the_same_texts(
            sides in prop::collection::vec(prop::collection::vec(side(), 1..4), 3),
        ) {
            let mut text = String::new();
            for (name, (sides, last)) in ["start", "b", "c"].iter().zip(sides.iter().zip(["\"a\"", "\"b\"", "\"\""])) {
                text.push_str(&format!("{name}: {} | {last}\n", sides.join(" | ")));
            }
            for dialect in [Dialect::Lark, Dialect::LarkSplits] {
                let lowered = || Grammar::lowered(&text, dialect, &Config::default()).unwrap();
                let Some(written) = built(lowered(), &text) else {
                    continue;
                };
                let mut cfg = lowered();
                prop_assert!(cfg.unite(), "{}", text);
                let united = built(cfg, &text);
                prop_assert!(united.is_some(), "{}", text);
                let united = united.unwrap();
                for number in 1u32..1 << 8 {
                    // The bits below the highest one are a text.
                    let length = number.ilog2();
                    let letter = |at: u32| if number >> at & 1 == 1 { 'b' } else { 'a' };
                    let read: String = (0..length).map(letter).collect();
                    prop_assert_eq!(written.accepts(&read), united.accepts(&read), "{}{}", text, read);
                }
            }
        }
    }
}
