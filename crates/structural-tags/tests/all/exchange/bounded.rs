//! Tags that would have a thread for each way to read a text: they mean what the same tag in plain
//! words means, and large ones compile, or are refused, in bounded work.

use std::sync::Arc;

use fsm_index::{ByteAutomaton, Fill, Guide, Index, IndexConfig, TokenId, TokenKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{compile, refusal, vocabulary};

fn text(value: &str) -> Value {
    json!({"type": "const_string", "value": value})
}

fn sequence(n: usize, of: impl Fn(usize) -> Value) -> Value {
    json!({"type": "sequence", "elements": (0..n).map(of).collect::<Vec<_>>()})
}

fn either(n: usize, of: impl Fn(usize) -> Value) -> Value {
    json!({"type": "or", "elements": (0..n).map(of).collect::<Vec<_>>()})
}

fn regex(pattern: &str) -> Value {
    json!({"type": "regex", "pattern": pattern})
}

fn optional(content: &Value) -> Value {
    json!({"type": "optional", "content": content})
}

/// All texts of some letters, the short ones first.
fn texts(letters: &[u8], longest: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..longest {
        let to = all.len();
        for at in from..to {
            for letter in letters {
                let mut text = all[at].clone();
                text.push(*letter);
                all.push(text);
            }
        }
        from = to;
    }
    all
}

/// Two formats admit the same texts, and go on with the same bytes from each.
#[track_caller]
fn alike(one: &Value, other: &Value, longest: usize) {
    let vocabulary = vocabulary(&[], &[]);
    let (first, second) = (compile(one, &vocabulary), compile(other, &vocabulary));
    for text in texts(b"ab<", longest) {
        let said = [&first, &second].map(|automaton| {
            let mut state = automaton.start();
            let mut scratch = automaton.scratch();
            automaton.advance(&mut state, &text, &mut scratch).ok()?;
            let cursor = automaton.enter(&state, &mut scratch);
            let goes_on = |byte| !automaton.step(cursor, byte, &mut scratch).is_dead();
            let next: Vec<bool> = (0..=255u8).map(goes_on).collect();
            // A walk over all bytes stands where committing them does.
            let start = automaton.enter(&automaton.start(), &mut scratch);
            let step = |at, byte: &u8| automaton.step(at, *byte, &mut scratch);
            let cursor = text.iter().fold(start, step);
            let goes_on = |byte| !automaton.step(cursor, byte, &mut scratch).is_dead();
            let walked: Vec<bool> = (0..=255u8).map(goes_on).collect();
            assert_eq!(walked, next, "{one} or {other} walked over {text:?}");
            Some((automaton.is_accepting(&state), next))
        });
        let shown = String::from_utf8_lossy(&text);
        assert_eq!(said[0], said[1], "{one} and {other} on {shown:?}");
    }
}

#[test]
fn rows_of_one_kind_mean_their_sum() {
    let a = text("a");
    let star = json!({"type": "star", "content": a});
    alike(&sequence(5, |_| optional(&a)), &regex("a{0,5}"), 7);
    alike(&sequence(5, |_| star.clone()), &regex("a*"), 7);
    let repeat = json!({"type": "repeat", "min": 1, "max": 2, "content": a});
    alike(&sequence(3, |_| repeat.clone()), &regex("a{3,6}"), 8);
    let two = |i| optional(&text(["a", "b"][i % 2]));
    alike(&sequence(6, two), &regex("a?b?a?b?a?b?"), 7);
    let kinds = |i| match i % 2 {
        0 => json!({"type": "repeat", "min": 0, "max": 2, "content": a}),
        _ => json!({"type": "repeat", "min": 0, "max": 2, "content": text("b")}),
    };
    alike(&sequence(4, kinds), &regex("a{0,2}b{0,2}a{0,2}b{0,2}"), 9);
    alike(&sequence(4, |_| regex("[ab]*a?")), &regex("[ab]*"), 6);
}

#[test]
fn free_texts_in_a_row_are_one() {
    let any = json!({"type": "any_text"});
    alike(&sequence(4, |_| any.clone()), &any, 5);
    alike(&sequence(4, |_| optional(&any)), &any, 5);
    // A string that each must do without may come where one ends and the next begins.
    let without = json!({"type": "any_text", "excludes": ["ab"]});
    let vocabulary = vocabulary(&[], &[]);
    let automaton = compile(&sequence(2, |_| without.clone()), &vocabulary);
    assert!(automaton.is_match(b"ab") && !automaton.is_match(b"abab"));
    assert!(automaton.is_match(b"bab<") && !automaton.is_match(b"ab<ab"));
}

#[test]
fn repeats_of_repeats_mean_their_product() {
    let repeat = |least, most, content: Value| json!({"type": "repeat", "min": least, "max": most, "content": content});
    alike(&repeat(0, 3, repeat(0, 2, text("a"))), &regex("a{0,6}"), 8);
    alike(
        &repeat(0, 2, repeat(2, 2, text("a"))),
        &regex("(?:aa){0,2}"),
        6,
    );
    alike(
        &repeat(1, 2, repeat(2, 3, text("a"))),
        &regex("(?:aa|aaa)(?:aa|aaa)?"),
        8,
    );
    let star = |content: Value| json!({"type": "star", "content": content});
    let plus = |content: Value| json!({"type": "plus", "content": content});
    alike(&star(star(plus(optional(&text("a"))))), &regex("a*"), 6);
    alike(&plus(plus(text("ab"))), &regex("(?:ab)+"), 6);
    alike(&plus(repeat(2, 2, text("a"))), &regex("(?:aa)+"), 8);
}

#[test]
fn alternatives_of_one_beginning_begin_once() {
    let words = [
        "", "a", "aa", "ab", "aab", "abab", "b", "<b", "<a", "aab", "bé", "bè",
    ];
    let listed = words.map(|word| format!("(?:{word})")).join("|");
    alike(&either(words.len(), |i| text(words[i])), &regex(&listed), 5);
    let tags = either(
        words.len(),
        |i| json!({"type": "tag", "begin": words[i], "content": text("a"), "end": "b"}),
    );
    let listed = words.map(|word| format!("(?:{word}ab)")).join("|");
    alike(&tags, &regex(&listed), 6);
    alike(&either(9, |_| text("ab")), &text("ab"), 4);
}

/// Equal schemas, in a row of which each may be left out.
#[test]
fn equal_values_are_read_once() {
    let value = json!({"type": "json_schema", "json_schema": {"enum": [1, "a", [1]]}});
    let automaton = compile(&sequence(3, |_| optional(&value)), &vocabulary(&[], &[]));
    for text in ["", "1", "11", "111", "\"a\"[1]", "[1]1[1]"] {
        assert!(automaton.is_match(text.as_bytes()), "{text}");
    }
    for text in ["1111", "2", "[1]1[1]1", "\"a"] {
        assert!(!automaton.is_match(text.as_bytes()), "{text}");
    }
}

/// Sizes at which a thread for each way, or a list of what follows at each place, has no end.
#[test]
fn large_ones_are_compiled() {
    let vocabulary = vocabulary(&[], &[]);
    let any = json!({"type": "any_text"});
    let a = text("a");
    let schema = json!({"type": "json_schema", "json_schema": {"type": "array"}});
    for (format, parts) in [
        (sequence(20_000, |_| any.clone()), 10),
        (sequence(20_000, |_| optional(&any)), 10),
        (either(20_000, |_| any.clone()), 10),
        (sequence(20_000, |_| optional(&a)), 20_010),
        (sequence(5_000, |_| optional(&schema)), 5_010),
        (either(20_000, |i| text(&format!("{i}"))), 50_000),
    ] {
        let automaton = compile(&format, &vocabulary);
        assert!(
            automaton.part_count() <= parts,
            "{} parts",
            automaton.part_count()
        );
    }
}

#[test]
fn what_remains_is_refused_by_its_place() {
    let vocabulary = vocabulary(&[], &[]);
    let schemas = |n| {
        either(
            n,
            |i| json!({"type": "json_schema", "json_schema": {"const": i}}),
        )
    };
    let format = sequence(2, |i| if i == 0 { text("<") } else { schemas(1_100) });
    let said = refusal(&format, &vocabulary);
    assert!(
        said.contains("\"/format/elements/1\"") && said.contains("more than 1000"),
        "{said}"
    );
    let said = refusal(
        &sequence(20_000, |i| optional(&text(&format!("{}", i % 7)))),
        &vocabulary,
    );
    assert!(
        said.contains("\"/format/elements/") && said.contains("left out"),
        "{said}"
    );
    let behind = sequence(2, |i| {
        if i == 0 {
            json!({"type": "any_text"})
        } else {
            schemas(300)
        }
    });
    let said = refusal(&behind, &vocabulary);
    assert!(said.contains("more than 100 "), "{said}");
    let row = sequence(100, |i| regex(&format!("[a-z]{{0,{i}}}")));
    let said = refusal(&row, &vocabulary);
    assert!(
        said.contains("\"/format\"") && said.contains("2000 states"),
        "{said}"
    );
    // A text may be in all of them at once, but where something tells them apart.
    let name = |_| regex("[a-z]+");
    let grammar = json!({"type": "grammar", "grammar": "root ::= s\ns ::= s s | \"a\""});
    let number = json!({"type": "json_schema", "json_schema": {"type": "number"}});
    for row in [
        sequence(302, name),
        json!({"type": "repeat", "min": 2, "max": 4_000, "content": regex("a+")}),
        sequence(3_000, |_| grammar.clone()),
        sequence(602, |i| {
            if i % 2 == 0 {
                number.clone()
            } else {
                text("1")
            }
        }),
    ] {
        let said = refusal(&row, &vocabulary);
        assert!(
            said.contains("\"/format") && said.contains("more than 300 parts in a row at once"),
            "{said}"
        );
    }
    for row in [
        sequence(301, name),
        json!({"type": "repeat", "min": 2, "max": 300, "content": regex("a+")}),
        sequence(2_000, |i| {
            if i % 2 == 0 {
                number.clone()
            } else {
                text(",")
            }
        }),
        sequence(2_000, |i| {
            if i % 2 == 0 {
                regex("[a-z]+")
            } else {
                text(" ")
            }
        }),
        sequence(
            1_000,
            |_| json!({"type": "tag", "begin": "", "content": {"type": "any_text"}, "end": "</a>"}),
        ),
    ] {
        compile(&row, &vocabulary);
    }
    let repeats = (0..9).fold(
        text("a"),
        |inner, _| json!({"type": "repeat", "min": 2, "max": 9, "content": optional(&inner)}),
    );
    let said = refusal(&repeats, &vocabulary);
    assert!(
        said.contains("\"/format") && said.contains("50000 parts"),
        "{said}"
    );
}

/// Formats with much that is equal, and that may be left out.
fn ambiguous() -> impl Strategy<Value = (Value, String)> {
    let leaf = prop_oneof![
        "[ab]{1,2}".prop_map(|word| (text(&word), word)),
        Just((regex("[ab]*a?"), "[ab]*a?".to_owned())),
        Just((regex("a?"), "a?".to_owned())),
        Just((json!({"type": "any_text"}), "[\\s\\S]*".to_owned())),
        Just((
            json!({"type": "any_text", "max_chars": 2}),
            "[\\s\\S]{0,2}".to_owned()
        )),
    ];
    leaf.prop_recursive(4, 24, 10, |inner| {
        let several = || prop::collection::vec(inner.clone(), 1..10);
        let range = (0usize..3, 0usize..3);
        let joined = |kind: &str, all: Vec<(Value, String)>, by: &str| {
            let (formats, patterns): (Vec<Value>, Vec<String>) = all.into_iter().unzip();
            let patterns: Vec<String> = patterns.iter().map(|p| format!("(?:{p})")).collect();
            (
                json!({"type": kind, "elements": formats}),
                patterns.join(by),
            )
        };
        prop_oneof![
            several().prop_map(move |all| joined("sequence", all, "")),
            several().prop_map(move |all| joined("or", all, "|")),
            (inner.clone(), 1usize..5).prop_map(|((format, pattern), n)| {
                (
                    sequence(n, |_| optional(&format)),
                    format!("(?:{pattern}){{0,{n}}}"),
                )
            }),
            (inner.clone(), range).prop_map(|((format, pattern), (least, more))| {
                let most = least + more;
                let format =
                    json!({"type": "repeat", "min": least, "max": most, "content": format});
                (format, format!("(?:{pattern}){{{least},{most}}}"))
            }),
            inner.clone().prop_map(|(format, pattern)| {
                (
                    json!({"type": "star", "content": format}),
                    format!("(?:{pattern})*"),
                )
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A mask has the tokens that can be committed, and no others.
    #[test]
    fn masks_of_ambiguous_formats_are_exact(
        (format, _) in ambiguous(),
        takes in prop::collection::vec(0usize..1_000, 6),
    ) {
        let vocabulary = vocabulary(&["ab", "aab", "ba", "<a", "aaaa", "bb<", "é"], &["<s>"]);
        let automaton = compile(&format, &vocabulary);
        let config = IndexConfig { fill: Fill::Lazy, ..IndexConfig::default() };
        let index = Index::lazy(automaton.clone(), &vocabulary, &config).unwrap();
        let mut guide = Guide::new(Arc::new(index));
        for take in takes {
            let allowed = guide.allowed_tokens().unwrap();
            let mut right = Vec::new();
            for (token, bytes) in vocabulary.texts() {
                let mut state = guide.state().clone();
                let mut scratch = automaton.scratch();
                let read = automaton.advance(&mut state, bytes, &mut scratch);
                right.extend(read.is_ok().then_some(token));
            }
            let is_text = |token: &TokenId| vocabulary.kind(*token) == TokenKind::Text;
            let allowed: Vec<TokenId> = allowed.into_iter().filter(is_text).collect();
            prop_assert_eq!(&allowed, &right, "{}", format);
            let few: Vec<TokenId> = allowed
                .into_iter()
                .filter(|token| vocabulary.token_bytes(*token).unwrap().iter().all(|b| b"ab<".contains(b)))
                .collect();
            let Some(token) = few.get(take % few.len().max(1)) else { break };
            guide.advance(*token).unwrap();
        }
    }

    /// The same tag in one regular expression admits the same texts.
    #[test]
    fn ambiguous_formats_mean_what_they_say((format, pattern) in ambiguous()) {
        alike(&format, &regex(&pattern), 5);
    }
}
