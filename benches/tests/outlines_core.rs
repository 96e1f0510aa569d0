//! Where our masks and those of outlines-core differ, and that each difference has a known
//! cause. What we allow more, its leftmost-first automaton has cut off, or it has lost where a
//! match could have ended one byte before: `regex-automata` reports matches a byte late, and it
//! takes a state that reports one, and does not accept, for the end. What it allows more leads
//! to a dead end.
#![cfg(feature = "peers")]

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use fsm_index::{Guide, Index, TokenId, Vocabulary};
use outlines_core::index::Index as Theirs;
use outlines_core::vocabulary::Vocabulary as TheirVocabulary;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, MatchKind};

const TOKENS: [&str; 14] = [
    "a", "b", "ab", "ba", "aa", "abb", "bbb", "1", "12", "1a", "é", "\u{e9}a", "-", "a-1",
];
const END: u32 = TOKENS.len() as u32;

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a", "b", "ab", "[ab]", "1", "[0-9]", "-", "é", ".", "[^b]", "a|ab", "a??", "",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a})(?:{b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            inner.clone().prop_map(|a| format!("(?:{a})*")),
            inner.clone().prop_map(|a| format!("(?:{a})+?")),
            inner.prop_map(|a| format!("(?:{a}){{0,2}}")),
        ]
    })
}

/// An automaton of `regex-automata` after some text.
struct Run<'d> {
    dfa: &'d dense::DFA<Vec<u32>>,
    state: StateID,
}

impl<'d> Run<'d> {
    fn new(dfa: &'d dense::DFA<Vec<u32>>, text: &[u8]) -> Run<'d> {
        let start = regex_automata::util::start::Config::new().anchored(Anchored::Yes);
        let mut state = dfa.start_state(&start).unwrap();
        for &byte in text {
            state = dfa.next_state(state, byte);
        }
        Run { dfa, state }
    }

    /// Whether it reports the match of one byte before, and has none itself.
    fn is_late(&self) -> bool {
        let end = self.dfa.next_eoi_state(self.state);
        self.dfa.is_match_state(self.state) && !self.dfa.is_match_state(end)
    }

    /// Whether some continuation is accepted.
    fn is_live(&self) -> bool {
        let mut seen = HashSet::from([self.state]);
        let mut open = vec![self.state];
        while let Some(state) = open.pop() {
            if self.dfa.is_match_state(self.dfa.next_eoi_state(state)) {
                return true;
            }
            for byte in 0..=255u8 {
                let next = self.dfa.next_state(state, byte);
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }
}

#[derive(Default)]
struct Causes {
    compared: usize,
    leftmost_first: usize,
    late_match: usize,
    dead_end: usize,
}

/// Walks along what both allow, and finds the cause of every difference.
fn compare(pattern: &str, choices: &[u8], causes: &mut Causes) -> Result<(), String> {
    let tokens = || TOKENS.iter().zip(0..);
    let ours = Vocabulary::new(
        tokens().map(|(s, id)| (s, TokenId::new(id))),
        [TokenId::new(END)],
    )
    .unwrap();
    let mut theirs = TheirVocabulary::new(END);
    for (text, id) in tokens() {
        theirs.try_insert(text.as_bytes().to_vec(), id).unwrap();
    }
    let dfa = |kind| {
        let config = dense::Config::new()
            .match_kind(kind)
            .start_kind(StartKind::Anchored);
        dense::Builder::new()
            .configure(config)
            .build(pattern)
            .unwrap()
    };
    let (all, first) = (dfa(MatchKind::All), dfa(MatchKind::LeftmostFirst));
    // Both may refuse a pattern: ours where nothing can be spelt, theirs where nothing is left.
    let (Ok(ours), Ok(theirs)) = (Index::new(pattern, &ours), Theirs::new(pattern, &theirs)) else {
        return Ok(());
    };
    let mut guide = Guide::new(Arc::new(ours));
    let mut state = theirs.initial_state();
    let mut text = Vec::new();
    for &choice in choices {
        let end = TokenId::new(END);
        let allowed = guide.allowed_tokens().unwrap();
        let we: BTreeSet<u32> = allowed
            .iter()
            .filter(|&&t| t != end)
            .map(|t| t.get())
            .collect();
        let they = theirs.allowed_tokens_iter(&state).into_iter().flatten();
        let they: BTreeSet<u32> = they.copied().filter(|&t| t != END).collect();
        causes.compared += 1;
        for &token in we.symmetric_difference(&they) {
            let after = [&text, TOKENS[token as usize].as_bytes()].concat();
            let live = Run::new(&all, &after).is_live();
            let theirs = Run::new(&first, &after);
            match (we.contains(&token), live) {
                (true, true) if !theirs.is_live() => causes.leftmost_first += 1,
                (true, true) if theirs.is_late() => causes.late_match += 1,
                (false, false) => causes.dead_end += 1,
                // Bytes lead on, and no tokens: a dead end for this vocabulary.
                (false, true) if !spellable(&all, &after) => causes.dead_end += 1,
                _ => {
                    return Err(format!(
                        "{pattern:?} after {:?}: {:?} is allowed by {} alone, for no known cause",
                        String::from_utf8_lossy(&text),
                        TOKENS[token as usize],
                        if we.contains(&token) { "us" } else { "them" }
                    ));
                }
            }
        }
        let both: Vec<u32> = we.intersection(&they).copied().collect();
        let Some(&token) = both.get(choice as usize % both.len().max(1)) else {
            break;
        };
        guide.advance(TokenId::new(token)).unwrap();
        state = theirs.next_state(&state, &token).unwrap();
        text.extend_from_slice(TOKENS[token as usize].as_bytes());
    }
    Ok(())
}

/// Whether whole tokens lead from behind `text` to acceptance.
fn spellable(all: &dense::DFA<Vec<u32>>, text: &[u8]) -> bool {
    let start = Run::new(all, text).state;
    let mut seen = HashSet::from([start]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        if all.is_match_state(all.next_eoi_state(state)) {
            return true;
        }
        for token in TOKENS {
            let next = token.bytes().fold(state, |s, b| all.next_state(s, b));
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

#[test]
fn every_difference_from_outlines_core_has_a_cause() {
    let mut causes = Causes::default();
    for (pattern, choices) in [
        ("a|ab", [0; 2]),
        ("a??", [0; 2]),
        ("(?:a|ab)(?:1|b)", [0; 2]),
    ] {
        compare(pattern, &choices, &mut causes).unwrap();
    }
    assert!(causes.leftmost_first > 0);
    let mut runner = TestRunner::new(Config {
        cases: 400,
        failure_persistence: None,
        ..Config::default()
    });
    let causes = std::cell::RefCell::new(causes);
    runner
        .run(
            &(pattern(), prop::collection::vec(any::<u8>(), 1..8)),
            |(pattern, choices)| {
                compare(&pattern, &choices, &mut causes.borrow_mut()).map_err(TestCaseError::fail)
            },
        )
        .unwrap();
    let causes = causes.into_inner();
    eprintln!(
        "{} masks compared: {} tokens cut off leftmost-first, {} behind a match, {} into dead ends",
        causes.compared, causes.leftmost_first, causes.late_match, causes.dead_end
    );
    assert!(causes.compared > 400);
}
