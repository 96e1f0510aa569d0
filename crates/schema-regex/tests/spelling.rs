//! Schemas under vocabularies that cannot spell every character: a token may come if and
//! only if tokens behind it complete a text of the schema.
#![cfg(feature = "automaton")]

use std::sync::Arc;

use fsm_index::{ByteAutomaton, ErrorKind, Guide, Index, IndexConfig, TokenId, Vocabulary};
use proptest::prelude::*;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Escapes, Options, Whitespace};
use serde_json::{Value, json};

/// Every text of an automaton that has few.
fn texts(automaton: &SchemaAutomaton) -> Vec<Vec<u8>> {
    let mut scratch = automaton.scratch();
    let mut out = Vec::new();
    let mut open = vec![(Vec::new(), automaton.start())];
    while let Some((text, state)) = open.pop() {
        if automaton.is_accepting(&state) {
            out.push(text.clone());
        }
        for byte in 0..=255u8 {
            let mut next = state.clone();
            if automaton.advance(&mut next, &[byte], &mut scratch).is_ok() {
                open.push(([&text[..], &[byte]].concat(), next));
            }
        }
        assert!(out.len() + open.len() < 20_000, "the language is not small");
    }
    out
}

fn is_spelt(text: &[u8], tokens: &[Vec<u8>]) -> bool {
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for at in 0..text.len() {
        if !ends[at] {
            continue;
        }
        for token in tokens {
            if text[at..].starts_with(token) {
                ends[at + token.len()] = true;
            }
        }
    }
    ends[text.len()]
}

fn is_live(beginning: &[u8], language: &[Vec<u8>], tokens: &[Vec<u8>]) -> bool {
    let mut rests = language
        .iter()
        .filter_map(|text| text.strip_prefix(beginning));
    rests.any(|rest| is_spelt(rest, tokens))
}

/// Schemas of few texts, with characters that may be missing in values, names, patterns and
/// structure.
fn schemas() -> Vec<Value> {
    vec![
        json!({"enum": ["a", "é", "ñ", "\u{40000}", true, null, 12]}),
        json!({"type": "string", "pattern": "^[aéñ]b?$"}),
        json!({"type": "string", "pattern": "^(é|ñ)(ñ|\u{40000})$"}),
        json!({"type": "string", "minLength": 1, "maxLength": 2, "pattern": "^[é\u{7F}]*$"}),
        json!({"type": "integer", "minimum": 7, "maximum": 12}),
        json!({"type": "array", "items": {"enum": ["é", 1]}, "maxItems": 2, "uniqueItems": true}),
        json!({
            "type": "object",
            "properties": {"é": {"const": 1}, "a": {"enum": ["ñ", 2]}},
            "required": ["a"],
            "additionalProperties": false
        }),
        json!({
            "type": "object",
            "patternProperties": {"^[aé]$": {"const": 1}},
            "additionalProperties": false,
            "maxProperties": 1
        }),
        json!({"const": {"a": ["ñ\u{40000}"]}}),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn masks_are_those_of_texts_that_tokens_spell(
        schema in prop::sample::select(schemas()),
        escapes in prop::sample::select(vec![Escapes::Shortest, Escapes::Standard]),
        missing in prop::collection::vec(prop::sample::select(b"\xC3\xC3\xA9\xB1\xF1\x80\"{:,1u0ab\x7F".to_vec()), 0..4),
        words in prop::collection::vec(prop::sample::select(vec!["é", "ñ", "\":", "\u{40000}", "é\"", "bñ", "{\"a", "[\"", "1}"]), 0..4),
        pieces in prop::collection::vec(prop::sample::select(vec![&b"\xC3"[..], b"a\xC3", b"\xA9\"", b"\xF1\x80", b"\x80\x80", b"\"\xC3"]), 0..3),
        choices in prop::collection::vec(0..1000usize, 10),
    ) {
        let options = Options::default().with_whitespace(Whitespace::Compact).with_escapes(escapes);
        let automaton = SchemaAutomaton::new(&schema, &options).unwrap();
        let language = texts(&automaton);
        let bytes = (0..=255u8).filter(|byte| !missing.contains(byte)).map(|byte| vec![byte]);
        let mut tokens: Vec<Vec<u8>> = bytes.collect();
        tokens.extend(words.iter().map(|word| word.as_bytes().to_vec()));
        tokens.extend(pieces.iter().map(|piece| piece.to_vec()));
        tokens.sort();
        tokens.dedup();
        let ids = (0..).map(TokenId::new);
        let end = TokenId::new(u32::try_from(tokens.len()).unwrap());
        let vocabulary = Vocabulary::new(tokens.iter().zip(ids), [end]).unwrap();
        let index = match Index::lazy(automaton, &vocabulary, &IndexConfig::default()) {
            Ok(index) => Arc::new(index),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::CannotSpell, "{schema}: {error}");
                assert!(!is_live(b"", &language, &tokens), "{schema}, without {missing:?}");
                return Ok(());
            }
        };
        let mut guide = Guide::new(index);
        let mut text = Vec::new();
        for choice in choices {
            let mask = guide.mask().unwrap().clone();
            let mut allowed = Vec::new();
            for (id, token) in (0..).map(TokenId::new).zip(&tokens) {
                let live = is_live(&[&text[..], token].concat(), &language, &tokens);
                assert_eq!(
                    mask.allows(id), live,
                    "{:?} behind {:?}, {schema}, {escapes:?}, without {missing:?}, with {words:?} and {pieces:?}",
                    String::from_utf8_lossy(token), String::from_utf8_lossy(&text)
                );
                if live {
                    allowed.push(id);
                }
            }
            assert_eq!(mask.allows(end), language.contains(&text));
            let rest = guide.completion().unwrap();
            assert!(is_spelt(&rest, &tokens), "{schema}: {rest:?}");
            assert!(language.contains(&[&text[..], &rest].concat()), "{schema}: {rest:?}");
            let Some(&next) = allowed.get(choice % allowed.len().max(1)) else {
                break;
            };
            guide.advance(next).unwrap();
            text.extend_from_slice(&tokens[next.index()]);
        }
    }
}

/// What no tokens spell is named by its place in the schema.
#[test]
fn what_cannot_be_spelt_is_named_by_its_place() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"const": "\u{40000}"}},
        "required": ["a", "b"],
        "additionalProperties": false
    });
    let tokens = (0..=255u8).filter(|byte| *byte != 0xF1).map(|byte| [byte]);
    let ids = (0..).map(TokenId::new);
    let vocabulary = Vocabulary::new(tokens.zip(ids), [TokenId::new(255)]).unwrap();
    let index = |escapes| {
        let automaton = SchemaAutomaton::new(&schema, &Options::default().with_escapes(escapes));
        Index::lazy(automaton.unwrap(), &vocabulary, &IndexConfig::default())
    };
    // By its escape it can be.
    assert!(index(Escapes::Standard).is_ok());
    let error = index(Escapes::Shortest).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CannotSpell);
    insta::assert_snapshot!(error.to_string(), @r#"the vocabulary has no tokens for the bytes 0xF1, so no accepted text can be spelt: see "/properties/b", behind byte 13 of a shortest text; use a vocabulary with a token for each byte"#);
}
