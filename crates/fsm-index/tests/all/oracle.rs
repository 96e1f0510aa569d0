//! Every way of making a mask gives the bits of the slow one, and the automata
//! accept what `regex-automata` accepts when all matches count.

use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, Config, Dfa, Fill, Guide, Index, IndexConfig, Symbols, TextRuns, TokenId,
    TokenMask, Vocabulary, brute_force_mask,
};
use proptest::prelude::*;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::{Anchored, MatchKind};

/// What `regex-automata` says of whole texts.
struct Oracle(dense::DFA<Vec<u32>>);

impl Oracle {
    fn new(pattern: &str) -> Self {
        let dfa = dense::Builder::new()
            .configure(
                dense::Config::new()
                    .match_kind(MatchKind::All)
                    .start_kind(regex_automata::dfa::StartKind::Anchored),
            )
            .build(pattern)
            .unwrap();
        Oracle(dfa)
    }

    fn accepts(&self, text: &[u8]) -> bool {
        let config = regex_automata::util::start::Config::new().anchored(Anchored::Yes);
        let mut state = self.0.start_state(&config).unwrap();
        for &byte in text {
            state = self.0.next_state(state, byte);
        }
        self.0.is_match_state(self.0.next_eoi_state(state))
    }
}

/// Patterns over few symbols, so that texts have a chance to match.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("ab".to_owned()),
        Just("[ab]".to_owned()),
        Just("[^a]".to_owned()),
        Just(".".to_owned()),
        Just("é".to_owned()),
        Just("[à-ü]".to_owned()),
        Just("[^\u{0}-\u{7ff}]".to_owned()),
        Just("\u{1F600}".to_owned()),
        Just("[\u{0}-\u{10ffff}]".to_owned()),
        Just("\\w".to_owned()),
        Just("(?:)".to_owned()),
        Just("(?m:^)".to_owned()),
        Just("(?m:$)".to_owned()),
        Just("(?-u:\\b)".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}{b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            inner.clone().prop_map(|a| format!("(?:{a})*")),
            inner.clone().prop_map(|a| format!("(?:{a})+?")),
            inner.clone().prop_map(|a| format!("(?:{a})?")),
            (inner.clone(), 0..3u32, 0..3u32)
                .prop_map(|(a, m, n)| format!("(?:{a}){{{m},{}}}", m + n)),
            inner.clone().prop_map(|a| format!("^{a}")),
            inner.prop_map(|a| format!("(?:{a}$|b)")),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    let symbol = prop_oneof![
        Just("a"),
        Just("b"),
        Just("é"),
        Just("ÿ"),
        Just("中"),
        Just("\u{1F600}"),
        Just("\n"),
    ];
    prop::collection::vec(symbol, 0..6).prop_map(|v| v.concat())
}

/// Some pieces of the texts above, cut anywhere, twice, or empty; and all
/// single bytes if `whole`.
fn vocabulary(pieces: &[Vec<u8>], whole: bool) -> Vocabulary {
    let mut tokens: Vec<Vec<u8>> = pieces.to_vec();
    if whole {
        tokens.extend((0..=255u8).map(|b| vec![b]));
    }
    let ends = [tokens.len() as u32 + 2, tokens.len() as u32 + 5].map(TokenId::new);
    let tokens = tokens.into_iter().zip((0..).map(TokenId::new));
    Vocabulary::new(tokens, ends).unwrap()
}

fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let piece = (text(), 0..3usize, 0..3usize).prop_map(|(t, a, b)| {
        let bytes = t.as_bytes();
        let from = a.min(bytes.len());
        bytes[from..bytes.len().saturating_sub(b).max(from)].to_vec()
    });
    prop::collection::vec(piece, 0..20)
}

fn lazy() -> IndexConfig {
    IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    }
}

/// Leads guides of every kind along allowed tokens and compares each mask.
fn compare(pattern: &str, vocabulary: &Vocabulary, choices: &[u16]) {
    let config = Config::default();
    let eager = Index::new(pattern, vocabulary).unwrap();
    let saved = Index::from_bytes(&eager.to_bytes().unwrap(), vocabulary).unwrap();
    let lazy_index = Index::with_config(pattern, vocabulary, &config, &lazy()).unwrap();
    let no_memory = IndexConfig {
        max_row_bytes: 0,
        ..lazy()
    };
    let uncached = Index::with_config(pattern, vocabulary, &config, &no_memory).unwrap();
    let with = |text_runs| {
        let config = IndexConfig {
            text_runs,
            ..lazy()
        };
        Index::with_config(pattern, vocabulary, &Config::default(), &config).unwrap()
    };
    let (runs, walks) = (with(TextRuns::Always), with(TextRuns::Never));
    let mut guides: Vec<Guide> = [eager, saved, lazy_index, uncached, runs, walks]
        .into_iter()
        .map(|index| Guide::new(Arc::new(index)))
        .collect();
    let automaton = Dfa::new(pattern).unwrap().to_bytes(&config).unwrap();
    let mut state = automaton.start();
    for &choice in choices {
        let expected: TokenMask = brute_force_mask(&automaton, &state, vocabulary);
        for guide in &mut guides {
            assert_eq!(guide.mask().unwrap(), &expected);
            assert_eq!(guide.is_accepting(), automaton.is_accepting(&state));
            assert_eq!(
                guide.allowed_tokens().unwrap(),
                expected.iter().collect::<Vec<_>>()
            );
        }
        let allowed: Vec<TokenId> = expected.iter().collect();
        assert!(!allowed.is_empty(), "a dead end");
        let token = allowed[choice as usize % allowed.len()];
        for guide in &mut guides {
            // A detour that is taken back changes nothing.
            let detour = allowed[choice as usize / 7 % allowed.len()];
            let mut fork = guide.clone();
            guide.advance(detour).unwrap();
            if let Some(&more) = guide.allowed_tokens().unwrap().first() {
                guide.advance(more).unwrap();
                guide.rollback(1).unwrap();
            }
            guide.rollback(1).unwrap();
            assert_eq!(guide.mask().unwrap(), fork.mask().unwrap());
            guide.advance(token).unwrap();
        }
        match vocabulary.token_bytes(token) {
            Some(bytes) => automaton.advance(&mut state, bytes, &mut ()).unwrap(),
            None => {
                for guide in &mut guides {
                    assert!(guide.is_finished() && guide.mask().unwrap().is_empty());
                    assert!(guide.advance(token).is_err());
                }
                return;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn automata_accept_what_all_matches_accept(pattern in pattern(), texts in prop::collection::vec(text(), 12)) {
        let oracle = Oracle::new(&pattern);
        let Ok(dfa) = Dfa::new(&pattern) else {
            for text in &texts {
                prop_assert!(!oracle.accepts(text.as_bytes()), "{pattern} is not empty");
            }
            return Ok(());
        };
        // Letters spelt out in bytes are very many states, and several of them side by side
        // take seconds.
        let config = Config { symbols: Symbols::Bytes, max_work: 400_000_000, ..Config::default() };
        let bytewise = Dfa::with_config(&pattern, &config).unwrap();
        let bytes = dfa.to_bytes(&config).unwrap();
        let bytes_of_bytewise = bytewise.to_bytes(&config).unwrap();
        // A spelling is no state where the symbols are characters.
        prop_assert_eq!(bytes.state_count(), dfa.state_count());
        prop_assert!(bytes.state_count() <= bytes_of_bytewise.state_count());
        for text in &texts {
            for cut in 0..=text.len() {
                let text = &text.as_bytes()[..cut];
                let expected = oracle.accepts(text);
                prop_assert_eq!(dfa.accepts(text), expected, "{} on {:?}", &pattern, text);
                prop_assert_eq!(dfa.trace(text).accepted, expected);
                prop_assert_eq!(bytewise.accepts(text), expected);
                prop_assert_eq!(bytes.accepts(text), expected);
                prop_assert_eq!(bytes_of_bytewise.accepts(text), expected);
            }
        }
    }

    #[test]
    fn every_mask_is_the_slow_one(pattern in pattern(), pieces in pieces(), choices in prop::collection::vec(any::<u16>(), 1..12)) {
        if Dfa::new(&pattern).is_ok() {
            compare(&pattern, &vocabulary(&pieces, true), &choices);
        }
    }

    #[test]
    fn without_all_bytes_a_walk_still_never_ends_in_a_dead_end(pattern in pattern(), pieces in pieces(), choices in prop::collection::vec(any::<u16>(), 1..12)) {
        let vocabulary = vocabulary(&pieces, false);
        let Ok(index) = Index::new(&pattern, &vocabulary) else { return Ok(()) };
        let mut guide = Guide::new(Arc::new(index));
        for choice in choices {
            let allowed = guide.allowed_tokens().unwrap();
            prop_assert!(!allowed.is_empty());
            // What is not allowed is refused, and what is allowed is taken.
            for id in 0..vocabulary.width() as u32 {
                let id = TokenId::new(id);
                prop_assert_eq!(guide.clone().advance(id).is_ok(), allowed.contains(&id));
            }
            guide.advance(allowed[choice as usize % allowed.len()]).unwrap();
            if guide.mask().unwrap().is_empty() {
                break;
            }
        }
    }

    #[test]
    fn no_pattern_makes_it_panic(pattern in "\\PC{0,12}", text in "\\PC{0,8}") {
        let config = Config { max_states: 500, max_nfa_states: 20_000, ..Config::default() };
        if let Ok(dfa) = Dfa::with_config(&pattern, &config) {
            let _ = dfa.to_bytes(&config);
            let _ = dfa.trace(&text).to_string();
            let _ = dfa.dot();
        }
    }

    #[test]
    fn no_file_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Vocabulary::from_tokenizer_json(&bytes);
        let _ = Vocabulary::from_tiktoken(&bytes, &[], &[]);
    }
}
