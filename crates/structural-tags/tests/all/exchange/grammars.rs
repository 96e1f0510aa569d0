//! Grammars inside of tags.

use std::sync::Arc;

use fsm_index::contract::{self, Effort};
use fsm_index::{ByteAutomaton, Fill, Guide, Index, IndexConfig, TokenId};
use serde_json::{Value, json};

use super::{compile, refusal, vocabulary};

/// Sums in brackets, with names of two letters at least: a name that goes on may be a keyword.
const SUMS: &str = r#"
root ::= sum
sum ::= sum "+" term | term
term ::= "(" sum ")" | "if" " " sum | [a-z]+ | number
number ::= [0-9]+ ("." [0-9]+)?
"#;

const JSON: &str = r#"
root ::= value
value ::= object | array | string | "true" | "null"
object ::= "{" (string ":" value ("," string ":" value)*)? "}"
array ::= "[" (value ("," value)*)? "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" ["\\/bfnrt])* "\""
"#;

fn grammar(text: &str) -> Value {
    json!({"type": "grammar", "grammar": text})
}

fn tag(begin: &str, content: &Value, end: &str) -> Value {
    json!({"type": "tag", "begin": begin, "content": content, "end": end})
}

fn formats() -> Vec<(Value, Vec<&'static str>, Vec<&'static str>)> {
    let yes = json!({"type": "const_string", "value": "yes"});
    let object = json!({"type": "json_schema", "json_schema": {"type": "object"}});
    vec![
        (
            tag("<f>", &grammar(SUMS), "</f>"),
            vec!["<f>a+(b+1.5)</f>", "<f>if x+((ab))</f>"],
            vec!["<f></f>", "<f>(a</f>", "<f>a+</f>", "<f>a</f>b"],
        ),
        // The end may be what goes on in the grammar, too: both readings stay open.
        (
            tag("(", &grammar(SUMS), "+ab"),
            vec!["(a+ab", "(a+ab+ab", "((a+ab)+ab"],
            vec!["(a", "(a+abc+b", "(+ab"],
        ),
        (
            json!({"type": "sequence", "elements": [grammar(JSON), yes, grammar(SUMS)]}),
            vec!["[]yesa", "{\"a\":[\"x</f>\",null]}yes(1+if)"],
            vec!["[]", "[yes]yesa", "[]yes"],
        ),
        (
            json!({"type": "star", "content": tag("[", &grammar("root ::= \"(\" root \")\" | \"\""), "]")}),
            vec!["", "[]", "[(())][()]"],
            vec!["[", "[(]", "[())]"],
        ),
        (
            json!({"type": "or", "elements": [grammar(JSON), object, grammar(SUMS)]}),
            vec!["{\"a\":\"b\"}", "{\"a\": 1.5}", "a+(1)", "true"],
            vec!["", "{\"a\" 1}", "(true", "[1]"],
        ),
        (
            json!({"type": "triggered_tags", "triggers": ["<f"], "tags": [
                tag("<f>", &grammar(SUMS), "</f>"), tag("<fx>", &grammar(JSON), "}")]}),
            vec!["", "some <f>a</f> text <fx>[]}", "<fx>{}}"],
            vec!["<f>", "some <fx>{}", "<fx>a}"],
        ),
    ]
}

#[test]
fn texts_are_those_of_the_grammar() {
    let vocabulary = vocabulary(&[], &[]);
    for (format, yes, no) in formats() {
        let automaton = compile(&format, &vocabulary);
        for text in yes {
            assert!(automaton.is_match(text.as_bytes()), "{format}: {text:?}");
        }
        for text in no {
            assert!(!automaton.is_match(text.as_bytes()), "{format}: {text:?}");
        }
    }
}

/// Masks by hints are masks by brute force, equal keys are equal masks, and nothing that was
/// begun is without an end.
#[test]
fn grammars_in_tags_keep_the_contract() {
    let vocabulary = vocabulary(
        &[
            "</",
            "<f",
            "<f>",
            "ab",
            "abcde",
            "\":",
            "\"}",
            "{\"",
            "a+",
            "+a",
            "((",
            "))",
            ")+(",
            "1.",
            ".5",
            "yes",
            "syes",
            "null",
            "é</",
            "]}",
            "\"]",
            "if ",
            "f>a",
            "</f>x",
            "é",
            "some text",
            "+ab+ab",
        ],
        &["<|call|>"],
    );
    for (format, yes, _) in formats() {
        let automaton = compile(&format, &vocabulary);
        let halves = yes.iter().map(|text| text.split_at(text.len() / 2).0);
        let begun: Vec<&str> = halves.chain(yes.iter().copied()).collect();
        let effort = Effort {
            walks: 12,
            tokens: 24,
            ..Effort::default()
        };
        if let Err(difference) = contract::check(&automaton, &vocabulary, &begun, effort) {
            panic!("{format}: {difference}");
        }
    }
}

/// A number of at most two tokens, wherever the text around it ends.
#[test]
fn budgets_of_grammars_count_in_tags() {
    let vocabulary = vocabulary(&["12", "3<", "</"], &[]);
    let counted = "root ::= n (\",\" n)*\nn[max_tokens=2] ::= [0-9]+";
    let automaton = compile(&tag("<n>", &grammar(counted), "</n>"), &vocabulary);
    let index = Index::lazy(automaton, &vocabulary, &IndexConfig::default()).unwrap();
    let index = Arc::new(index);
    let id = |text: &str| {
        let mut ids = (0..vocabulary.width() as u32).map(TokenId::new);
        let is = |id: &TokenId| vocabulary.token_bytes(*id) == Some(text.as_bytes());
        ids.find(is).unwrap()
    };
    let allowed = |tokens: &[&str]| {
        let mut guide = Guide::new(index.clone());
        for token in tokens {
            guide.advance(id(token)).unwrap();
        }
        let mask = guide.mask().unwrap().clone();
        ["1", "12", "3<", ",", "<", "</"].map(|text| mask.allows(id(text)))
    };
    let [yes, no] = [true, false];
    assert_eq!(allowed(&["<", "n", ">"]), [yes, yes, yes, no, no, no]);
    assert_eq!(allowed(&["<", "n", ">", "12"]), [yes; 6]);
    assert_eq!(
        allowed(&["<", "n", ">", "12", "1"]),
        [no, no, no, yes, yes, yes]
    );
    assert_eq!(
        allowed(&["<", "n", ">", "12", "1", ","]),
        [yes, yes, yes, no, no, no]
    );
}

/// A row is looked up by as many levels of a grammar's stack as it depends on: far inside of
/// brackets all places are alike.
#[test]
fn places_that_are_alike_share_rows() {
    let vocabulary = vocabulary(&["ab", "+a", "))"], &[]);
    let automaton = compile(&tag("<f>", &grammar(SUMS), "</f>"), &vocabulary);
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Arc::new(Index::lazy(automaton, &vocabulary, &lazy).unwrap());
    let mut computed = Vec::new();
    for depth in [20, 40] {
        let mut guide = Guide::new(index.clone());
        let text = format!("<f>{}ab+1", "(".repeat(depth));
        for byte in text.bytes() {
            guide.mask().unwrap();
            guide.advance(fsm_index::TokenId::new(byte.into())).unwrap();
        }
        computed.push(index.stats().rows_computed);
    }
    assert_eq!(
        computed[0], computed[1],
        "deeper brackets are no new places"
    );
}

#[test]
fn the_shortest_end_is_that_of_the_grammar() {
    let automaton = compile(&tag("<f>", &grammar(SUMS), "</f>"), &vocabulary(&[], &[]));
    let mut state = automaton.start();
    let mut scratch = automaton.scratch();
    automaton
        .advance(&mut state, b"<f>((a+", &mut scratch)
        .unwrap();
    let mut text = Vec::new();
    assert!(automaton.completion(&state, 100, &mut text).is_some());
    assert_eq!(text.len(), "a))</f>".len());
    assert!(text.ends_with(b"))</f>"));
    assert!(automaton.completion(&state, 3, &mut Vec::new()).is_none());
}

#[test]
fn what_is_no_grammar_is_refused_by_place() {
    let vocabulary = vocabulary(&[], &["<|call|>"]);
    for (text, why) in [
        ("", "a string that is not empty"),
        ("start: \"a\"", "/format/grammar"),
        ("root ::= other", "other"),
        ("root ::= \"a", "line 1"),
        ("root ::= root \"a\"", "no text"),
        ("item ::= \"a\"", "root"),
    ] {
        let said = refusal(&grammar(text), &vocabulary);
        assert!(said.contains(why), "{text:?}: {said}");
        assert!(said.contains("/format/grammar"), "{text:?}: {said}");
    }
}
