//! What the tests share: whole-text matching of a printed expression.

#[cfg(feature = "automaton")]
pub(crate) mod deletion;
pub(crate) mod schemas;
pub(crate) mod values;

use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;

/// An engine for a printed expression. It finds whether there is a match of the
/// whole text, for which leftmost-first and all-matches agree.
pub(crate) fn whole(text: &str) -> Regex {
    let config = Config::new()
        .nfa_size_limit(Some(100 << 20))
        .onepass(false)
        .dfa(false)
        .backtrack(false);
    Regex::builder()
        .configure(config)
        .syntax(syntax::Config::new().nest_limit(4_000))
        .build(&format!("^(?:{text})$"))
        .unwrap_or_else(|e| panic!("{e}: {text}"))
}
