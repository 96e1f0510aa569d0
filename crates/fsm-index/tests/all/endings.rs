//! Texts with a token budget end in time, and as late as they can.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, ByteDfa, Config, Cursor, Dfa, Fill, Guide, Index, IndexConfig, Landing, TokenId,
    Vocabulary,
};
use proptest::prelude::*;

fn vocabulary(words: &[&str]) -> Vocabulary {
    let tokens = words.iter().zip(0..);
    let tokens = tokens.map(|(word, id)| (word.as_bytes(), TokenId::new(id)));
    Vocabulary::new(tokens, [TokenId::new(words.len() as u32)]).unwrap()
}

/// The fewest tokens to acceptance from every state that tokens reach: a search over all of them,
/// breadth first along the tokens.
fn distances(automaton: &ByteDfa, vocabulary: &Vocabulary) -> HashMap<Cursor, usize> {
    let behind = |state: Cursor| {
        vocabulary.texts().filter_map(move |(_, bytes)| {
            let mut after = state;
            automaton.advance(&mut after, bytes, &mut ()).ok()?;
            Some(after)
        })
    };
    let mut incoming: HashMap<Cursor, Vec<Cursor>> = HashMap::from([(automaton.start(), vec![])]);
    let mut open = vec![automaton.start()];
    while let Some(state) = open.pop() {
        for after in behind(state) {
            let known = incoming.contains_key(&after);
            incoming.entry(after).or_default().push(state);
            if !known {
                open.push(after);
            }
        }
    }
    let ends = incoming
        .keys()
        .filter(|state| automaton.is_accepting(state));
    let mut far: HashMap<Cursor, usize> = ends.map(|state| (*state, 0)).collect();
    let mut open: VecDeque<Cursor> = far.keys().copied().collect();
    while let Some(state) = open.pop_front() {
        let next = far[&state] + 1;
        for before in &incoming[&state] {
            if !far.contains_key(before) {
                far.insert(*before, next);
                open.push_back(*before);
            }
        }
    }
    far
}

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("ab".to_owned()),
        Just("[abc]".to_owned()),
        Just("c?".to_owned()),
        Just("é".to_owned()),
        Just("[^a]".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}{b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            inner.clone().prop_map(|a| format!("(?:{a})*")),
            inner.clone().prop_map(|a| format!("(?:{a})+")),
            (inner, 0u32..3, 0u32..3).prop_map(|(a, n, m)| format!("(?:{a}){{{n},{}}}", n + m)),
        ]
    })
}

/// All bytes, and some texts of several.
fn tokens() -> Vec<String> {
    let words = [
        "a", "b", "c", "ab", "bc", "abc", "aab", "é", "bb", "ca", "cab",
    ];
    words.map(str::to_owned).to_vec()
}

fn index(automaton: ByteDfa, vocabulary: &Vocabulary, search_nodes: u64) -> Arc<Index> {
    let config = IndexConfig {
        fill: Fill::Lazy,
        search_nodes,
        ..IndexConfig::default()
    };
    Arc::new(Index::build(automaton, vocabulary, &config).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// With a search that finds every way, exactly the tokens are allowed behind which the text can be
    /// completed in the tokens that are left.
    #[test]
    fn what_fits_is_what_a_search_over_all_token_paths_says(
        pattern in pattern(),
        more in 0usize..6,
        choices in prop::collection::vec(any::<prop::sample::Index>(), 12),
        bytes_are_tokens in any::<bool>(),
    ) {
        let mut words = tokens();
        if bytes_are_tokens {
            words.retain(|word| word != "é");
        }
        let mut entries: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        if bytes_are_tokens {
            entries.extend((0..=255u8).filter(|b| !b"abc".contains(b)).map(|b| vec![b]));
        }
        let end = TokenId::new(entries.len() as u32);
        let numbered = entries.iter().zip(0..).map(|(bytes, id)| (bytes, TokenId::new(id)));
        let vocabulary = Vocabulary::new(numbered, [end]).unwrap();
        let config = Config::default();
        let Ok(dfa) = Dfa::with_config(&pattern, &config) else { return Ok(()) };
        let automaton = dfa.to_bytes(&config).unwrap();
        let far = distances(&automaton, &vocabulary);
        let Some(least) = far.get(&automaton.start()).copied() else { return Ok(()) };
        let exact = index(automaton.clone(), &vocabulary, u64::MAX);
        let plain = index(automaton.clone(), &vocabulary, 0);
        if let Some(fewer) = least.checked_sub(1) {
            prop_assert!(Guide::new(plain.clone()).with_budget(fewer).is_err());
        }
        let needed = Guide::new(exact.clone()).tokens_needed().unwrap();
        prop_assert!(needed >= least);
        let budget = needed + more;
        let mut guides = [exact, plain].map(|index| {
            Guide::new(index).with_budget(budget).unwrap().with_landing(Landing::Hard)
        });
        let mut free = Guide::new(guides[0].index().clone());
        for choice in choices {
            let left = guides[0].tokens_left().unwrap();
            let ordinary = free.allowed_tokens().unwrap();
            let fits = |token: &TokenId| {
                if *token == end {
                    return true;
                }
                let mut after = *free.state();
                let bytes = vocabulary.token_bytes(*token).unwrap();
                automaton.advance(&mut after, bytes, &mut ()).unwrap();
                far.get(&after).is_some_and(|far| *far < left)
            };
            let expected: Vec<TokenId> = ordinary.into_iter().filter(fits).collect();
            prop_assert_eq!(guides[0].allowed_tokens().unwrap(), expected.clone(), "{}", pattern);
            // Without the search some may be missing, and there is always one.
            let allowed = guides[1].allowed_tokens().unwrap();
            prop_assert!(allowed.iter().all(|token| expected.contains(token)));
            prop_assert!(!allowed.is_empty());
            let token = allowed[choice.index(allowed.len())];
            if token == end {
                break;
            }
            prop_assert_eq!(guides[0].validate(&[token]), 1);
            prop_assert_eq!(guides[1].validate(&[token]), 1);
            guides.iter_mut().for_each(|guide| guide.advance(token).unwrap());
            free.advance(token).unwrap();
        }
        prop_assert!(free.is_accepting() || guides[1].tokens_left().unwrap() > 0);
    }
}

#[test]
fn what_is_left_follows_the_text() {
    let vocabulary = vocabulary(&["a", "b", "ab"]);
    let index = Arc::new(Index::new("(?:ab){1,9}", &vocabulary).unwrap());
    let [a, b, ab, end] = [0, 1, 2, 3].map(TokenId::new);
    let error = Guide::new(index.clone()).with_budget(0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the shortest text takes 1 tokens, and 0 may come; allow 1 or more"
    );
    let mut guide = Guide::new(index).with_budget(3).unwrap();
    assert_eq!(guide.tokens_needed(), Some(1));
    guide.advance(a).unwrap();
    assert_eq!(
        (guide.tokens_left(), guide.tokens_needed()),
        (Some(2), Some(1))
    );
    assert_eq!(guide.validate(&[b, ab]), 2);
    assert_eq!(guide.validate(&[b, a, b]), 1);
    let mut fork = guide.clone();
    guide.advance(b).unwrap();
    guide.advance(ab).unwrap();
    assert_eq!(guide.allowed_tokens().unwrap(), [end]);
    guide.rollback(1).unwrap();
    assert_eq!(guide.tokens_left(), Some(1));
    assert_eq!(guide.allowed_tokens().unwrap(), [ab, end]);
    guide.set_tokens_left(5);
    assert_eq!(guide.allowed_tokens().unwrap(), [a, ab, end]);
    // A fork has its own rest.
    assert_eq!((fork.tokens_left(), fork.len()), (Some(2), 1));
    // Of a budget that others have eaten the tokens stay that end the text the soonest.
    fork.set_tokens_left(0);
    assert_eq!(fork.allowed_tokens().unwrap(), [b]);
}

#[test]
fn a_budget_that_is_not_felt_changes_nothing() {
    let vocabulary = vocabulary(&["a", "b", "ab"]);
    let index = Arc::new(Index::new("[ab]*", &vocabulary).unwrap());
    let mut guide = Guide::new(index.clone()).with_budget(100).unwrap();
    let mut free = Guide::new(index);
    for token in [0, 1, 2, 0, 1].map(TokenId::new) {
        assert_eq!(guide.mask().unwrap(), free.mask().unwrap());
        guide.advance(token).unwrap();
        free.advance(token).unwrap();
    }
}
