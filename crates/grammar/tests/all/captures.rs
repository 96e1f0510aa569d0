//! Captures: the parts of a text that rules with the option `capture` have read.

use grammar::{Config, Dialect, Grammar};
use proptest::prelude::*;

use crate::common::{self, compile};

/// Asserts what is captured in a text.
#[track_caller]
fn captures(dialect: Dialect, grammar: &str, text: &str, expected: &[(&str, &str)]) {
    let automaton = compile(dialect, grammar);
    let captures = automaton.captures(text).unwrap();
    let captures = captures.unwrap_or_else(|| panic!("{grammar}: {text:?} is not taken"));
    let found: Vec<(&str, &str)> = captures
        .iter()
        .map(|one| (one.name(), &text[one.range()]))
        .collect();
    assert_eq!(found, expected, "{grammar}: {text:?}");
}

#[test]
fn captures_are_as_llguidance_documents_them() {
    let text = "foo<end>";
    for (rules, expected) in [
        (
            "start: a\na[capture, stop=\"<end>\"]: /.*/",
            &[("a", "foo")][..],
        ),
        (
            "start: outer\nouter[capture]: a\na[capture, suffix=\"<end>\"]: /.*/",
            &[("outer", "foo<end>"), ("a", "foo")],
        ),
        (
            "start: outer\nouter[capture]: a\na[capture, lazy]: /.*<end>/",
            &[("outer", "foo<end>"), ("a", "foo<end>")],
        ),
        (
            "start: a\na[capture=\"x\", suffix=END, stop_capture=\"m\"]: /.*/\nEND: /<[a-z]+>/",
            &[("x", "foo"), ("m", "<end>")],
        ),
        (
            "start: a\na[stop_capture=\"m\", stop=/<e.*>/]: /.*/",
            &[("m", "<end>")],
        ),
        ("start: /.*/", &[]),
    ] {
        captures(Dialect::Lark, rules, text, expected);
    }
}

#[test]
fn captures_are_of_lexemes_as_they_are_read() {
    captures(
        Dialect::Lark,
        "start: pair (\",\" pair)*\npair[capture]: key \"=\" value\nkey[capture]: /[a-z]+/\nvalue[capture=\"v\"]: NUMBER | pair_in\n\
         pair_in: \"(\" pair \")\"\nNUMBER: /[0-9]+/\n%ignore \" \"",
        "a = 1, bc = ( d=22 )",
        &[
            ("pair", "a = 1"),
            ("key", "a"),
            ("v", "1"),
            ("pair", "bc = ( d=22 )"),
            ("key", "bc"),
            ("v", "( d=22 )"),
            ("pair", "d=22"),
            ("key", "d"),
            ("v", "22"),
        ],
    );
    // The longest match decides, whatever a rule could take alone.
    captures(
        Dialect::Lark,
        "start: (a | B) C?\na[capture]: \"ab\"\nB: /abc*/\nC: \"d\"",
        "abcd",
        &[],
    );
    captures(
        Dialect::Lark,
        "start: a b\na[capture]: /x+/\nb[capture]: /x*y/",
        "xxy",
        &[("a", "xx"), ("b", "y")],
    );
    captures(
        Dialect::Lark,
        "start: \"n: \" value (\" \" value)?\nvalue[capture]: %json {\"type\": \"array\"}",
        "n: [1, \"]\"] []",
        &[("value", "[1, \"]\"]"), ("value", "[]")],
    );
}

#[test]
fn of_several_readings_the_first_written_and_longest_counts() {
    captures(
        Dialect::Ebnf,
        "root ::= a b\na[capture] ::= \"x\"*\nb[capture=\"rest\"] ::= \"x\"*",
        "xx",
        &[("a", "xx"), ("rest", "")],
    );
    captures(
        Dialect::Ebnf,
        "root ::= b | a\na[capture] ::= [a-z]+\nb[capture] ::= [a-z] c\nc[capture] ::= \"\" | [a-z] c",
        "ab",
        &[("b", "ab"), ("c", "b"), ("c", "")],
    );
    // A rule that is itself ends.
    captures(
        Dialect::Ebnf,
        "root ::= a\na[capture] ::= a | b a | \"x\"\nb ::= \"\" | \"y\"",
        "yx",
        &[("a", "yx"), ("a", "x")],
    );
    captures(
        Dialect::LarkAscii,
        "start: tool* tail\ntail: TEXT\nhead[lazy]: TEXT \"<t>\"\ntool: head arg \"</t>\"\narg[capture]: /[0-9]+/\nTEXT: /(\\n|.)*/",
        "x<t>12</t>y<t>3</t>",
        &[("arg", "12"), ("arg", "3")],
    );
}

#[test]
fn what_is_not_of_the_grammar_has_no_captures() {
    let automaton = compile(Dialect::Lark, "start: a\na[capture]: /[a-z]+/");
    assert!(automaton.captures("a1").unwrap().is_none());
    assert!(automaton.captures("").unwrap().is_none());
}

#[test]
fn long_and_ambiguous_texts_end_in_a_limit_or_in_time() {
    let list = compile(Dialect::Lark, "start: item*\nitem[capture]: /[a-z]+/ \";\"");
    assert_eq!(
        list.captures(&"ab;".repeat(2_000)).unwrap().unwrap().len(),
        2_000
    );
    let nested = compile(
        Dialect::Ebnf,
        "root ::= a\na[capture] ::= \"(\" a \")\" | \"x\"",
    );
    let text = format!("{}x{}", "(".repeat(300), ")".repeat(300));
    assert_eq!(nested.captures(&text).unwrap().unwrap().len(), 301);
    let ambiguous = compile(Dialect::Ebnf, "root ::= a*\na[capture] ::= [a-z]+");
    let _ = ambiguous.captures(&"x".repeat(500));
    let special = compile(Dialect::Lark, "start: a <|end|>\na[capture]: /[a-z]+/");
    assert!(
        special
            .captures("a")
            .unwrap_err()
            .to_string()
            .contains("special tokens")
    );
}

/// Some rules over two letters, in Lark.
fn rules() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "start",
        "b",
        "c",
        "b",
        "c",
        "b?",
        "c*",
        "\"a\"",
        "\"b\"",
        "(\"a\" | b)",
        "/ab?/",
        "(c \"b\")?",
        "%lark {\n start: \"a\" \"b\"?\n}\n",
    ]);
    let side = prop::collection::vec(part, 1..4).prop_map(|parts| parts.join(" "));
    let sides = prop::collection::vec(prop::collection::vec(side, 1..4), 3);
    (
        sides,
        prop::sample::select(vec!["", "%ignore \"b\"\n", "%ignore /bb/\n"]),
    )
        .prop_map(|(sides, ignored)| {
            let names = ["start", "b[capture]", "c[capture=\"x\"]"];
            let lines = names.iter().zip(sides).zip(["\"a\"", "\"b\"", "\"\""]);
            let lines = lines
                .map(|((name, sides), last)| format!("{name}: {} | {last}\n", sides.join(" | ")));
            lines.collect::<String>() + ignored
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_the_automaton_takes_is_what_is_read(rules in rules()) {
        for dialect in [Dialect::Lark, Dialect::LarkAscii] {
            let Ok(automaton) = Grammar::compile(&rules, dialect, &Config::default()) else {
                continue;
            };
            for number in 1u32..1 << 6 {
                // The bits below the highest one are a text.
                let letter = |at: u32| if number >> at & 1 == 1 { 'b' } else { 'a' };
                let text: String = (0..number.ilog2()).map(letter).collect();
                let Ok(captures) = automaton.captures(&text) else {
                    continue;
                };
                prop_assert_eq!(automaton.accepts(&text), captures.is_some(), "{} {} {:?}", dialect, rules, text);
                for capture in captures.into_iter().flatten() {
                    prop_assert!(capture.range().end <= text.len() && ["b", "x"].contains(&capture.name()));
                }
            }
        }
    }
}

#[test]
fn shared_cases_are_read_as_the_automaton_takes_them() {
    let Some(cases) = common::cases() else {
        return;
    };
    let mut read = 0;
    for case in cases
        .iter()
        .filter(|case| case.dialect != Dialect::LarkSplits)
    {
        // A rule that nothing names makes nothing of it: so the whole is captured.
        let grammar = match case.dialect {
            Dialect::Ebnf => case.grammar.replacen("root ::=", "root[capture] ::=", 1),
            _ => case.grammar.replacen("start:", "start[capture]:", 1),
        };
        if case.dialect == Dialect::Gbnf || grammar.len() > 3_000 {
            continue;
        }
        let Ok(automaton) = Grammar::compile(&grammar, case.dialect, &Config::default()) else {
            continue;
        };
        for text in case.texts.iter().take(8) {
            let text = text["text"].as_str().unwrap();
            if text.len() > 200 {
                continue;
            }
            if let Ok(captures) = automaton.captures(text) {
                assert_eq!(
                    automaton.accepts(text),
                    captures.is_some(),
                    "{}: {text:?}",
                    case.id
                );
                read += 1;
            }
        }
    }
    assert!(read > 1_000, "{read} texts");
}
