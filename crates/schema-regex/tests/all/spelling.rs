//! Schemas under vocabularies that cannot spell every character: a token may come if and
//! only if tokens behind it complete a text of the schema.

use std::sync::Arc;

use fsm_index::contract::{Effort, check_spelling};
use fsm_index::{
    ByteAutomaton, ErrorKind, Guide, Index, IndexConfig, PlainText, TokenId, Vocabulary,
};
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
        json!({"type": "string", "pattern": "^(x|zy|y)*$", "maxLength": 3}),
        json!({"type": "integer", "minimum": 7, "maximum": 12}),
        json!({"type": "array", "items": {"enum": ["é", 1]}, "maxItems": 2, "uniqueItems": true}),
        json!({
            "type": "array",
            "items": {"type": "string", "pattern": "^[aéñ]$"},
            "minItems": 2,
            "maxItems": 3,
            "uniqueItems": true
        }),
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
        missing in prop::collection::vec(prop::sample::select(b"\xC3\xC3\xA9\xB1\xF1\x80\"{:,1u0ab\x7Fyz".to_vec()), 0..4),
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

/// What real vocabularies lack: SmolLM2's has no token for these control characters, nor for
/// bytes of which no text that was seen has any.
const CONTROL: &[u8] = b"\x04\x06\x13\x14\x16\x1D\xF1\xF2";

/// All bytes but some, and more texts.
fn bytes_without(missing: &[u8], texts: &[&str]) -> Vocabulary {
    let bytes = (0..=0xF4u8).filter(|byte| !missing.contains(byte) && !matches!(byte, 0xC0 | 0xC1));
    let mut tokens: Vec<Vec<u8>> = bytes.map(|byte| vec![byte]).collect();
    tokens.extend(texts.iter().map(|text| text.as_bytes().to_vec()));
    let end = TokenId::new(u32::try_from(tokens.len()).unwrap());
    Vocabulary::new(tokens.iter().zip((0..).map(TokenId::new)), [end]).unwrap()
}

fn white_space_styles() -> Vec<Whitespace> {
    let pattern = |pattern: &str| Whitespace::Pattern(pattern.to_owned());
    vec![
        Whitespace::Compact,
        Whitespace::SingleSpace,
        Whitespace::Spaced,
        Whitespace::Bounded(2),
        Whitespace::flexible(),
        pattern(r"[ \t\r\n]*"),
        pattern(r"\r?\n\t{0,2}|"),
    ]
}

/// No style of white space needs a control character beside its own, so that nothing is
/// searched; and masks are those of a search from behind each token, also where the style's own
/// characters are missing.
#[test]
fn white_space_does_without_other_control_characters() {
    let texts = [
        "\":", "\": ", ",\n", "{\"a", "\t\t", "\r\n", "  ", "12", "\"\r",
    ];
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}}},
        "required": ["a"],
    });
    let automaton = |style: &Whitespace| {
        let options = Options::default().with_whitespace(style.clone());
        SchemaAutomaton::new(&schema, &options).unwrap()
    };
    for style in white_space_styles() {
        let vocabulary = bytes_without(CONTROL, &texts);
        let automaton = automaton(&style);
        assert!(
            automaton.can_do_without(vocabulary.unspellable()),
            "{style:?}"
        );
        let index = Index::lazy(automaton, &vocabulary, &IndexConfig::default()).unwrap();
        assert_eq!(index.stats().nodes_visited, 0, "{style:?}");
    }
    let effort = Effort {
        walks: 2,
        tokens: 8,
        seed: 3,
    };
    for (at, style) in white_space_styles().iter().enumerate() {
        for missing in [&b"\x04"[..], b"\n", b"\r\t", b"\t\n\r"] {
            let vocabulary = bytes_without(&[CONTROL, missing].concat(), &texts);
            let begun = ["{\"a\": 1", "{\"a\":1,\"b\":["];
            let begun = if at == 0 { &begun[1..] } else { &begun[..1] };
            let begun = if at > 4 { &[][..] } else { begun };
            let done = check_spelling(&automaton(style), &vocabulary, begun, effort);
            done.unwrap_or_else(|e| panic!("{style:?} without {missing:?}: {e}"));
        }
    }
    // Behind `\r` a line feed must come, and what no token leads to does not matter.
    let vocabulary = |missing| bytes_without(missing, &[]);
    let windows = automaton(&white_space_styles()[6]);
    let can = |missing| windows.can_do_without(vocabulary(missing).unspellable());
    assert!(!can(&b"\n"[..]) && can(b"\t") && can(b"\r") && can(b"\x0B"));
}

/// Of items that must differ there can be too few, although each by itself is spelt.
#[test]
fn items_that_must_differ_may_be_too_few() {
    let schema = json!({
        "type": "array",
        "items": {"type": "string", "pattern": "^[aé]$"},
        "minItems": 2,
        "uniqueItems": true
    });
    let options = Options::default().with_escapes(Escapes::Shortest);
    let automaton = SchemaAutomaton::new(&schema, &options).unwrap();
    let lazily = |missing| {
        let vocabulary = bytes_without(missing, &[]);
        Index::lazy(automaton.clone(), &vocabulary, &IndexConfig::default())
    };
    assert_eq!(
        lazily(&b"\xC3"[..]).unwrap_err().kind(),
        ErrorKind::CannotSpell
    );
    assert!(lazily(b"\xC4").is_ok());
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
