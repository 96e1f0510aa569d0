//! The limits of what a grammar may cost: for example, of the states of its parser.

/// Limits of what a grammar may cost. Each has an error of its own, which names it.
///
/// ```
/// use grammar::{Config, Dialect, Grammar};
///
/// let config = Config { max_text_bytes: 10, ..Config::default() };
/// let error = Grammar::compile("root ::= \"too long\"", Dialect::Gbnf, &config).unwrap_err();
/// assert!(error.to_string().contains("max_text_bytes"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Nesting of groups in the text, in levels. Default 200.
    pub max_depth: usize,
    /// The text of a grammar, in bytes. Default 4 MiB.
    pub max_text_bytes: usize,
    /// States of the automaton of one terminal. Default 50,000.
    pub max_terminal_states: usize,
    /// States of the automata of all terminals together, 1 KiB each while they are put
    /// together. Default 200,000.
    pub max_states: usize,
    /// The count of one repetition of something that is no terminal, those of repetitions
    /// directly around it multiplied. Default 1,000,000.
    pub max_count: usize,
    /// States of the parser. Default 100,000.
    pub max_parser_states: usize,
    /// Steps of one compilation: of a regular expression, or of the parser's table, an item of which takes four. Default
    /// 40,000,000.
    pub max_work: usize,
    /// Edges of stacks, and lexemes that have begun, that the next steps behind a text may look
    /// at, in texts that are made from the grammar when it is compiled. It bounds the masks of
    /// ambiguous grammars. Default 300,000, because so many take some 12 ms; `usize::MAX` makes no texts.
    pub max_walk_work: usize,
    /// Work of the proof that texts can be finished under greedy lexing, in sets of states, while a grammar is compiled: each
    /// takes some five microseconds. A proof of more is made on another thread, and masks are slower until it is there.
    /// Default 3,000, because the grammars of five programming languages out of six need less; `usize::MAX` makes all proofs at once.
    pub max_proof_work: usize,
    /// The memory of one scratch before it begins anew, in bytes. Default 64 MiB.
    pub max_cache_bytes: usize,
}

impl Config {
    /// Returns a limit by its name; `None` if there is none of that name.
    ///
    /// ```
    /// let mut config = grammar::Config::default();
    /// *config.limit_mut("max_walk_work").unwrap() = 1_000_000;
    /// assert_eq!(config.max_walk_work, 1_000_000);
    /// assert!(config.limit_mut("max_patience").is_none());
    /// ```
    pub fn limit_mut(&mut self, name: &str) -> Option<&mut usize> {
        let mut limits = self.limits_mut().into_iter();
        limits.find_map(|(known, limit)| (known == name).then_some(limit))
    }

    /// Returns all limits by the names that other languages and command lines spell: those of the fields.
    pub fn limits_mut(&mut self) -> [(&'static str, &mut usize); 10] {
        [
            ("max_cache_bytes", &mut self.max_cache_bytes),
            ("max_count", &mut self.max_count),
            ("max_depth", &mut self.max_depth),
            ("max_parser_states", &mut self.max_parser_states),
            ("max_proof_work", &mut self.max_proof_work),
            ("max_states", &mut self.max_states),
            ("max_terminal_states", &mut self.max_terminal_states),
            ("max_text_bytes", &mut self.max_text_bytes),
            ("max_walk_work", &mut self.max_walk_work),
            ("max_work", &mut self.max_work),
        ]
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            max_depth: 200,
            max_text_bytes: 4 << 20,
            max_terminal_states: 50_000,
            max_states: 200_000,
            max_count: 1_000_000,
            max_parser_states: 100_000,
            max_work: 40_000_000,
            max_walk_work: 300_000,
            max_proof_work: 3_000,
            max_cache_bytes: 64 << 20,
        }
    }
}
