//! The options of rules: markers, temperatures and budgets of characters.

use fsm_index::ByteAutomaton;
use grammar::{Dialect, GrammarAutomaton};
use proptest::prelude::*;

use crate::common::{compile, expression, takes};

/// Returns the temperature behind a text.
#[track_caller]
fn temperature(automaton: &GrammarAutomaton, text: &str) -> Option<f64> {
    let mut state = automaton.start();
    let taken = automaton.advance(&mut state, text.as_bytes(), &mut automaton.scratch());
    assert!(taken.is_ok(), "{text:?}");
    automaton.temperature(&state)
}

#[test]
fn a_stop_text_stays_in_the_text() {
    // As llguidance's matchers have it, whose hosts take nothing back.
    takes(
        Dialect::Lark,
        "start: \"a\" r \"b\"\nr[stop=\"!\"]: /[a-z]*/",
        &["a!b", "ax!b", "abb!b"],
        &["axb", "ab", "ax!", "ax!!b"],
    );
    takes(
        Dialect::Lark,
        "start: \"<\" r \">\"\nr[stop=/!!+/, stop_capture=\"k\"]: /[a-z]{1,4}/",
        &["<a!!>", "<abcd!!>"],
        &["<!!>", "<a!>", "<a!!!>", "<abcde!!>"],
    );
}

#[test]
fn a_rule_without_a_stop_text_ends_with_the_text() {
    takes(
        Dialect::Lark,
        "start: \"Name: \" name | other\nother: \"x\" name?\nname[stop=\"\"]: /[a-z]*/",
        &["Name: ", "Name: bob", "x", "xyz"],
        &["Name: bob!", "y"],
    );
    takes(
        Dialect::Lark,
        "start: \"a\" sub\nsub: %lark {\n start: x\n x[stop=\"\"]: /b*/\n}",
        &["a", "abb"],
        &["b"],
    );
}

#[test]
fn temperatures_are_handed_on_and_change_no_language() {
    let lark = compile(
        Dialect::Lark,
        "start: foo | bar | \"baz\"\nfoo[temperature=0.5]: \"foo\" \"d\"?\nbar[temperature=0.25]: \"bar\"",
    );
    assert!(lark.accepts("foo") && lark.accepts("food") && lark.accepts("baz"));
    assert_eq!(temperature(&lark, ""), Some(0.5));
    assert_eq!(temperature(&lark, "f"), Some(0.5));
    // `bar` and `baz` may go on.
    assert_eq!(temperature(&lark, "ba"), Some(0.25));
    assert_eq!(temperature(&lark, "baz"), None);
    for (dialect, grammar) in [
        (
            Dialect::Ebnf,
            "root ::= \"answer:\" value \".\"\nvalue[temperature=0.7] ::= digit+ | \"none\"\ndigit ::= [0-9]",
        ),
        (
            Dialect::LarkAscii,
            "start: \"answer:\" value \".\"\nvalue[temperature=7e-1]: DIGIT+ | \"none\"\nDIGIT: /[0-9]/",
        ),
        (
            Dialect::Lark,
            "start: \"answer:\" value \".\"\nvalue[capture, temperature=0.7]: %json {\"enum\": [12, 1]}",
        ),
        (
            Dialect::Lark,
            "start: \"answer:\" value \".\"\nvalue[temperature=0.7]: %lark {\n start: \"1\" two?\n two: \"2\"\n}",
        ),
    ] {
        let automaton = compile(dialect, grammar);
        assert!(automaton.accepts("answer:12."), "{grammar}");
        for (text, expected) in [
            ("", None),
            ("answer", None),
            ("answer:", Some(0.7)),
            ("answer:1", Some(0.7)),
            ("answer:12.", None),
        ] {
            assert_eq!(temperature(&automaton, text), expected, "{grammar} {text}");
        }
    }
}

#[test]
fn a_budget_of_characters_goes_on_to_the_next_end() {
    // Each was asked of XGrammar 0.2.8.
    for (grammar, right, wrong) in [
        (
            "root ::= \"<\" r \">\"\nr[max_chars=3] ::= [a-z]*",
            &["<>", "<abc>"][..],
            &["<abcd>"][..],
        ),
        (
            "root ::= \"<\" r \">\"\nr[max_chars=3] ::= ([a-z][a-z])* | \"xyz\"",
            &["<>", "<ab>", "<abcd>", "<xyz>"],
            &["<abcdef>", "<xyza>"],
        ),
        (
            "root ::= r \"!\"*\nr[max_chars=2] ::= [^]*",
            &["a!!!", "a!!", "aé!", "!!!!"],
            &["aéu!", "aaa"],
        ),
        (
            "root ::= \"<\" r \">\"\nr[max_chars=0] ::= \"abc\" | \"ab\"",
            &["<ab>"],
            &["<abc>", "<>"],
        ),
        (
            "root ::= \"<\" r \">\"\nr[max_chars=0] ::= \"abc\"?",
            &["<>"],
            &["<abc>", "<ab>"],
        ),
        (
            "root ::= \"<\" r s \">\"\nr[max_chars=2] ::= \"ab\"? \"abc\"?\ns ::= [a-z]?",
            &["<abc>", "<ab>", "<>", "<d>"],
            &["<ababc>", "<ababcd>", "<abcd>", "<abcde>"],
        ),
    ] {
        takes(Dialect::Ebnf, grammar, right, wrong);
    }
}

/// The parts of a regular rule over two letters.
const PARTS: [&str; 3] = ["\"a\"", "\"b\"", "[ab]"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_budget_takes_no_text_that_could_have_ended(body in expression(&PARTS), chars in 0usize..4) {
        let free = compile(Dialect::Ebnf, &format!("root ::= {body}"));
        let bounded = compile(Dialect::Ebnf, &format!("root ::= r\nr[max_chars={chars}] ::= {body}"));
        for number in 1u32..1 << 7 {
            // The bits below the highest one are a text.
            let letter = |at: u32| if number >> at & 1 == 1 { 'b' } else { 'a' };
            let text: String = (0..number.ilog2()).map(letter).collect();
            let mut before = chars..text.len();
            let expected = free.accepts(&text) && !before.any(|end| free.accepts(&text[..end]));
            prop_assert_eq!(bounded.accepts(&text), expected, "{} {}", body, text);
        }
    }
}
