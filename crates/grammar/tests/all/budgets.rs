//! Rules with a budget of tokens.

use std::sync::Arc;

use fsm_index::contract::{Effort, check};
use fsm_index::{Guide, Index, IndexConfig, TokenId, Vocabulary};
use grammar::{Dialect, GrammarAutomaton};
use proptest::prelude::*;

use crate::common::compile;

const TOKENS: [&str; 16] = [
    "1", "2", "12", "123", ",", ";", "1,", "1,2", ",1", ",12", "2;", "1,2,1", "a", "ab", "\"", "a,",
];

fn vocabulary() -> Vocabulary {
    let tokens = TOKENS.iter().zip(0..);
    let tokens = tokens.map(|(text, id)| (text.as_bytes(), TokenId::new(id)));
    Vocabulary::new(tokens, [TokenId::new(TOKENS.len() as u32)]).unwrap()
}

fn guide(automaton: GrammarAutomaton) -> Guide<GrammarAutomaton> {
    let index = Index::lazy(automaton, &vocabulary(), &IndexConfig::default()).unwrap();
    Guide::new(Arc::new(index))
}

/// Returns the texts of the tokens that may come behind some tokens.
#[track_caller]
fn allowed(dialect: Dialect, grammar: &str, tokens: &[&str]) -> Vec<&'static str> {
    let mut guide = guide(compile(dialect, grammar));
    for token in tokens {
        let id = TOKENS.iter().position(|text| text == token).unwrap();
        guide.advance(TokenId::new(id as u32)).unwrap();
    }
    let allowed = guide.allowed_tokens().unwrap().into_iter();
    allowed
        .map(|id| TOKENS.get(id.get() as usize).copied().unwrap_or("end"))
        .collect()
}

#[test]
fn a_spent_lexeme_ends_where_it_can() {
    let lark = "start: num \",\" num \";\"\nnum[max_tokens=2]: /[0-9]+/";
    let ebnf = "root ::= num \",\" num \";\"\nnum[max_tokens=2] ::= [0-9]+";
    for (dialect, grammar) in [
        (Dialect::Lark, lark),
        (Dialect::LarkAscii, lark),
        (Dialect::Ebnf, ebnf),
    ] {
        let allowed = |tokens: &[&str]| allowed(dialect, grammar, tokens);
        assert_eq!(
            allowed(&["12"]),
            ["1", "2", "12", "123", ",", "1,", "1,2", ",1", ",12"]
        );
        // The second token is the number's, whatever else it has.
        assert_eq!(allowed(&["12", "1"]), [",", ",1", ",12"]);
        assert_eq!(allowed(&["1,2"]), ["1", "2", "12", "123", ";", "2;"]);
        assert_eq!(allowed(&["1,2", "1"]), [";"]);
        assert_eq!(allowed(&["12", "1,2"]), ["1", "2", "12", "123", ";", "2;"]);
    }
}

#[test]
fn a_lexeme_that_cannot_end_goes_on_to_its_next_end() {
    let grammar = "start: name \",\"\nname[max_tokens=1]: /\"[a-z]+\"/";
    assert_eq!(
        allowed(Dialect::Lark, grammar, &["\"", "a", "ab"]),
        ["a", "ab", "\""]
    );
    assert_eq!(allowed(Dialect::Lark, grammar, &["\"", "a", "\""]), [","]);
    let grammar = "root ::= name \",\"\nname[max_tokens=1] ::= \"\\\"\" [a-z]+ \"\\\"\"";
    assert_eq!(
        allowed(Dialect::Ebnf, grammar, &["\"", "a", "ab"]),
        ["a", "ab", "\""]
    );
}

#[test]
fn what_would_make_a_spent_lexeme_longer_stays_forbidden() {
    // Greedy lexing reads the digits of `12` on, so that no other number can begin.
    let grammar = "start: num /[2,]/ \";\"\nnum[max_tokens=1]: /[0-9]+/";
    assert_eq!(allowed(Dialect::Lark, grammar, &["1"]), [","]);
    // It can if every split counts.
    let grammar = "root ::= num (\"2\" | \",\") \";\"\nnum[max_tokens=1] ::= [0-9]+";
    assert_eq!(allowed(Dialect::Ebnf, grammar, &["1"]), ["2", ",", "2;"]);
}

#[test]
fn another_reading_goes_on() {
    let grammar = "start: (short | long) \",\"\nshort[max_tokens=1]: /a+/\nlong: /[ab]+/";
    assert_eq!(
        allowed(Dialect::Lark, grammar, &["a"]),
        [",", "a", "ab", "a,"]
    );
    let grammar = "start: (short \";\" | long \",\")\nshort[max_tokens=1]: /a+/\nlong: /[ab]+/";
    assert_eq!(
        allowed(Dialect::Lark, grammar, &["a"]),
        [",", ";", "a", "ab", "a,"]
    );
    assert_eq!(
        allowed(Dialect::Lark, grammar, &["a", "a"]),
        [",", "a", "ab", "a,"]
    );
}

#[test]
fn free_text_has_a_budget() {
    let grammar = "root ::= \"1\" thought \";\"\nthought[max_tokens=3] ::= [^]*";
    assert_eq!(
        allowed(Dialect::Ebnf, grammar, &["1", "a", "ab", "a"]),
        [";"]
    );
    let all = allowed(Dialect::Ebnf, grammar, &["1", "a", "ab"]);
    assert_eq!(all.len(), TOKENS.len());
}

#[test]
fn budgets_are_for_lexemes() {
    let refused = |dialect, text: &str| {
        let error = grammar::Grammar::compile(text, dialect, &grammar::Config::default());
        error.unwrap_err().to_string()
    };
    let said = refused(
        Dialect::Ebnf,
        "root ::= a\na[max_tokens=3] ::= \"(\" a \")\" | \"x\"",
    );
    assert!(
        said.contains("`max_tokens` is for rules without recursion"),
        "{said}"
    );
    let said = refused(Dialect::Lark, "start: a\na[max_tokens=3]: %json {}");
    assert!(
        said.contains("`max_tokens` is for rules without recursion"),
        "{said}"
    );
    let said = refused(Dialect::Lark, "start: a\na[max_tokens=0]: /x/");
    assert!(said.contains("`max_tokens` is 1 at least"), "{said}");
}

#[test]
fn masks_are_those_of_steps() {
    for (dialect, grammar) in [
        (
            Dialect::Lark,
            "start: (num \",\" | name)* \";\"\nnum[max_tokens=2]: /[0-9]+/\nname[max_tokens=1]: /[a-z]+|\"/\n%ignore / +/",
        ),
        (
            Dialect::Lark,
            "start: (num /[2,]/)* \";\"\nnum[max_tokens=1]: /[0-9]*1/",
        ),
        (
            Dialect::LarkAscii,
            "start: (num \",\" | name)* \";\"\nnum[max_tokens=2]: /[0-9]+/\nname[max_tokens=1]: /[a-z]+|\"/",
        ),
        (
            Dialect::Ebnf,
            "root ::= (text \";\" | \"2\")* \";\"\ntext[max_tokens=2] ::= [^\"]* \",\"",
        ),
    ] {
        let effort = Effort {
            walks: 30,
            tokens: 12,
            seed: 7,
        };
        check(&compile(dialect, grammar), &vocabulary(), &["1"], effort)
            .unwrap_or_else(|e| panic!("{grammar}: {e}"));
    }
}

/// Tells whether a row of tokens begins a list of numbers of which none has bytes in more tokens than
/// `most`.
fn begins(tokens: &[&str], most: usize) -> bool {
    let mut number = 0;
    let mut is_over = false;
    for token in tokens {
        let mut is_counted = false;
        for byte in token.bytes() {
            match byte {
                _ if is_over => return false,
                b'0'..=b'9' => {
                    number += usize::from(!is_counted);
                    is_counted = true;
                    if number > most {
                        return false;
                    }
                }
                b',' | b';' if number > 0 => {
                    number = 0;
                    is_counted = false;
                    is_over = byte == b';';
                }
                _ => return false,
            }
        }
    }
    true
}

proptest! {
    #[test]
    fn budgets_are_counted_by_whole_tokens(choices in prop::collection::vec(0..64usize, 1..12), most in 1..4usize) {
        let lark = format!("start: num (\",\" num)* \";\"\nnum[max_tokens={most}]: /[0-9]+/");
        let ebnf = format!("root ::= num (\",\" num)* \";\"\nnum[max_tokens={most}] ::= [0-9]+");
        for (dialect, grammar) in [(Dialect::Lark, &lark), (Dialect::LarkAscii, &lark), (Dialect::Ebnf, &ebnf)] {
            let mut guide = guide(compile(dialect, grammar));
            let mut tokens = Vec::new();
            for choice in &choices {
                let with = |text: &&str| begins(&[&tokens[..], &[*text]].concat(), most);
                let expected: Vec<&str> = TOKENS.iter().copied().filter(|text| with(text)).collect();
                let allowed = guide.allowed_tokens().unwrap();
                let found: Vec<&str> = allowed.iter().filter_map(|id| TOKENS.get(id.get() as usize)).copied().collect();
                prop_assert_eq!(&found, &expected, "{} {:?}", grammar, tokens);
                let Some(&next) = found.get(choice % found.len().max(1)) else { break };
                let id = TOKENS.iter().position(|text| *text == next).unwrap();
                guide.advance(TokenId::new(id as u32)).unwrap();
                tokens.push(next);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_text_with_a_budget_of_its_own_ends_within_it(
        choices in prop::collection::vec(0..64usize, 12),
        most in 1..4usize,
        budget in 5..10usize,
    ) {
        let grammar = format!("start: num (\",\" num)+ \";\"\nnum[max_tokens={most}]: /1[0-9]*2|\"a+\"/");
        let mut guide = guide(compile(Dialect::Lark, &grammar));
        guide.set_budget(Some(budget)).unwrap();
        let mut tokens = Vec::new();
        for choice in choices {
            let allowed = guide.allowed_tokens().unwrap();
            prop_assert!(!allowed.is_empty(), "{} {:?}", grammar, tokens);
            let token = allowed[choice % allowed.len()];
            guide.advance(token).unwrap();
            let Some(text) = TOKENS.get(token.get() as usize) else { break };
            tokens.push(*text);
        }
        prop_assert!(guide.has_ended() && tokens.len() <= budget, "{} {:?}", grammar, tokens);
    }
}

/// As many budgets as a hostile grammar has: compiling stays in step with its size.
#[test]
fn many_budgets_are_compiled() {
    let mut text = String::from("start: ");
    let rules = (0..1_000).map(|at| format!("r{at}"));
    text.push_str(&rules.clone().collect::<Vec<_>>().join(" | "));
    for (at, rule) in rules.enumerate() {
        text.push_str(&format!("\n{rule}[max_tokens=2]: /x{at}[a-z]{{1,50}}/"));
    }
    let automaton = compile(Dialect::Lark, &text);
    assert!(automaton.accepts("x999abc") && !automaton.accepts("x1000abc"));
}
