//! Vocabularies without a token for each byte: a token may come if and only if tokens
//! behind it complete the text.

use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, Config, Dfa, Error, ErrorKind, Guide, Index, IndexConfig, TokenId, Vocabulary,
};
use proptest::prelude::*;

/// Whether a text can be cut into tokens.
fn is_spelt(text: &[u8], tokens: &[Vec<u8>]) -> bool {
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for at in 0..text.len() {
        for token in tokens {
            if ends[at] && text[at..].starts_with(token) {
                ends[at + token.len()] = true;
            }
        }
    }
    ends[text.len()]
}

/// Whether tokens make one of the texts out of its beginning.
fn is_live(beginning: &[u8], language: &[Vec<u8>], tokens: &[Vec<u8>]) -> bool {
    let mut rests = language
        .iter()
        .filter_map(|text| text.strip_prefix(beginning));
    rests.any(|rest| is_spelt(rest, tokens))
}

fn vocabulary(tokens: &[Vec<u8>]) -> Vocabulary {
    let ids = (0..).map(TokenId::new);
    let end = TokenId::new(u32::try_from(tokens.len()).unwrap());
    Vocabulary::new(tokens.iter().zip(ids), [end]).unwrap()
}

/// Follows texts at random; every mask is that of the language and the tokens alone.
fn check<A: ByteAutomaton>(
    index: Result<Index<A>, Error>,
    language: &[Vec<u8>],
    tokens: &[Vec<u8>],
    choices: &[usize],
) {
    let index = match index {
        Ok(index) => Arc::new(index),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::CannotSpell, "{error}");
            assert!(
                !is_live(b"", language, tokens),
                "{language:?} of {tokens:?}: {error}"
            );
            return;
        }
    };
    let mut guide = Guide::new(index);
    let mut text = Vec::new();
    for choice in choices {
        let mask = guide.mask().unwrap().clone();
        let mut allowed = Vec::new();
        for (id, token) in (0..).zip(tokens) {
            let live = is_live(&[&text[..], token].concat(), language, tokens);
            let id = TokenId::new(id);
            let what = || format!("{token:?} behind {text:?}, {language:?} of {tokens:?}");
            assert_eq!(mask.allows(id), live, "{}", what());
            assert_eq!(guide.clone().advance(id).is_ok(), live, "{}", what());
            if live {
                allowed.push(id);
            }
        }
        let end = TokenId::new(u32::try_from(tokens.len()).unwrap());
        assert_eq!(mask.allows(end), language.contains(&text));
        let rest = guide.completion().unwrap();
        assert!(is_spelt(&rest, tokens), "{rest:?} of {tokens:?}");
        assert!(
            language.contains(&[&text[..], &rest].concat()),
            "{text:?} and {rest:?}"
        );
        let Some(&next) = allowed.get(choice % allowed.len().max(1)) else {
            break;
        };
        guide.advance(next).unwrap();
        text.extend_from_slice(&tokens[next.index()]);
    }
}

fn pattern(language: &[Vec<u8>]) -> String {
    let texts: Vec<&str> = language
        .iter()
        .map(|t| std::str::from_utf8(t).unwrap())
        .collect();
    texts.join("|")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// The finite automaton, which lists its dead ends, and the search, which any other one
    /// takes, against the texts themselves.
    #[test]
    fn masks_are_those_of_texts_that_tokens_spell(
        language in prop::collection::vec("[abéñ\u{40000}]{0,5}", 1..6),
        words in prop::collection::vec("[abéñ\u{40000}]{2,3}", 0..5),
        bytes in prop::collection::vec(any::<prop::sample::Index>(), 0..9),
        pieces in prop::collection::vec((any::<prop::sample::Index>(), 1..4usize, 0..8usize), 0..4),
        choices in prop::collection::vec(0..100usize, 8),
    ) {
        let every = b"ab\xC3\xA9\xB1\xF1\x80\xBF".to_vec();
        let mut tokens: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into_bytes()).collect();
        tokens.extend(bytes.iter().map(|at| vec![*at.get(&every)]));
        // Tokens that begin or end inside a character.
        let all: Vec<u8> = "aéñ\u{40000}ñb".into();
        for (_, length, from) in &pieces {
            let from = *from % all.len();
            tokens.push(all[from..(from + length).min(all.len())].to_vec());
        }
        tokens.sort();
        tokens.dedup();
        let language: Vec<Vec<u8>> = language.into_iter().map(String::into_bytes).collect();
        let config = Config::default();
        let dfa = Dfa::with_config(&pattern(&language), &config).unwrap().to_bytes(&config).unwrap();
        let vocabulary = vocabulary(&tokens);
        let build = Index::build(dfa.clone(), &vocabulary, &IndexConfig::default());
        check(build, &language, &tokens, &choices);
        check(Index::lazy(dfa, &vocabulary, &IndexConfig::default()), &language, &tokens, &choices);
    }
}

/// What cannot be spelt is named, with what would have to follow.
#[test]
fn nothing_left_is_an_error() {
    let tokens: Vec<Vec<u8>> = [&b"a"[..], b"b", b"\xC3"].map(<[u8]>::to_vec).to_vec();
    let dfa = Dfa::new("a(é|ñ)b")
        .unwrap()
        .to_bytes(&Config::default())
        .unwrap();
    let error = Index::lazy(dfa, &vocabulary(&tokens), &IndexConfig::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CannotSpell);
    insta::assert_snapshot!(error.to_string(), @"the vocabulary has no tokens for the bytes 0xA9, so no accepted text can be spelt; use a vocabulary with a token for each byte");
}

#[test]
fn unspellable_characters_are_listed() {
    let tokens: Vec<Vec<u8>> = (0..=255u8)
        .filter(|byte| !matches!(byte, 0x04 | 0xC0 | 0xC1 | 0xF1 | 0xF2 | 0xF5..))
        .map(|byte| vec![byte])
        .collect();
    let vocabulary = vocabulary(&tokens);
    assert_eq!(vocabulary.unspellable(), [(4, 4), (0x4_0000, 0xB_FFFF)]);
}
