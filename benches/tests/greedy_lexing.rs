//! Greedy lexing as `llguidance` does it: small random grammars of its Lark dialect, all short
//! texts. It takes a text to where nothing can end it; there our automaton stops before.
#![cfg(feature = "peers")]

use std::cell::Cell;

use fsm_index::{MaskBuffer, TokenId, Vocabulary};
use grammar::Dialect;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokenmold_benches::engines::llguidance::LlGuidance;
use tokenmold_benches::engines::{Session, Setup};
use tokenmold_benches::grammars::Compiled;

const TOKENS: [&str; 9] = ["a", "b", "c", " ", "ab", "bc", "a ", " b", "abc"];
const END: u32 = TOKENS.len() as u32;

/// Terminals that are beginnings of one another, or end with what others begin with.
const TERMINALS: [&str; 8] = [
    "\"a\"", "\"ab\"", "/a+/", "/[ab]c/", "/ab?/", "/[a-c]+/", "/b*c/", "/a b/",
];

const RULES: [&str; 3] = ["start", "one", "two"];

fn side() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => prop::sample::select(&TERMINALS[..]),
        1 => prop::sample::select(&RULES[1..]),
    ];
    leaf.prop_map(str::to_owned)
        .prop_recursive(3, 10, 3, |inner| {
            let all = prop::collection::vec(inner.clone(), 2..4);
            prop_oneof![
                all.clone().prop_map(|all| format!("({})", all.join(" "))),
                all.prop_map(|all| format!("({})", all.join(" | "))),
                inner.clone().prop_map(|one| format!("({one})*")),
                inner.clone().prop_map(|one| format!("({one})?")),
                inner.prop_map(|one| format!("({one})+")),
            ]
        })
}

fn grammar() -> impl Strategy<Value = String> {
    (prop::collection::vec(side(), 3), any::<bool>()).prop_map(|(sides, ignores)| {
        let rules = RULES.iter().zip(&sides);
        // What refers to itself alone has no text: each rule has another way.
        let mut text: String = rules
            .map(|(rule, side)| format!("{rule}: {side} | \"c\"\n"))
            .collect();
        if ignores {
            text.push_str("%ignore / +/\n");
        }
        text
    })
}

/// All texts of up to so many letters.
fn texts(most: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut longest = all.clone();
    for _ in 0..most {
        let longer = |text: &String| ["a", "b", "c", " "].map(|letter| format!("{text}{letter}"));
        longest = longest.iter().flat_map(longer).collect();
        all.extend_from_slice(&longest);
    }
    all
}

fn vocabulary() -> Vocabulary {
    let texts = TOKENS.iter().map(|text| text.as_bytes().to_vec());
    Vocabulary::new(texts.zip((0..).map(TokenId::new)), [TokenId::new(END)]).unwrap()
}

/// Whether a session takes a text as a whole, letter by letter; with each mask before.
fn leads(
    session: &mut dyn Session,
    text: &str,
    mut masks: impl FnMut(usize, &[u32]),
) -> Result<bool, String> {
    let mut buffer = MaskBuffer::new(END as usize + 1);
    for (at, letter) in text.bytes().enumerate() {
        session.mask(&mut buffer)?;
        masks(at, buffer.words());
        let token = TOKENS.iter().position(|t| t.as_bytes() == [letter]);
        let token = token.ok_or("no such letter")? as u32;
        if buffer.words()[0] >> token & 1 == 0 {
            return Ok(false);
        }
        session.advance(token)?;
    }
    Ok(session.is_accepting())
}

#[test]
fn texts_are_taken_that_llguidance_takes() {
    let vocabulary = vocabulary();
    let peer = LlGuidance::new(&Setup::measured(vocabulary.clone())).unwrap();
    let texts = texts(4);
    let compared = Cell::new(0);
    let mut runner = TestRunner::new(Config {
        cases: 150,
        ..Config::default()
    });
    let result = runner.run(&grammar(), |grammar| {
        let Ok(theirs) = peer.lark(&grammar) else {
            return Ok(());
        };
        let ours = Compiled::new(&grammar, Dialect::Lark, &vocabulary);
        for text in &texts {
            let mut known: Vec<u32> = Vec::new();
            let expected = leads(&mut *theirs(), text, |_, mask| known.push(mask[0]));
            let Ok(expected) = expected else {
                continue;
            };
            let taken = match &ours {
                Err(_) => false,
                Ok(ours) => {
                    let mut more = 0;
                    let taken = leads(&mut *ours.session(), text, |at, mask| {
                        more |= mask[0] & !known.get(at).copied().unwrap_or(0);
                    });
                    prop_assert_eq!(more, 0, "{:?} {}", text, &grammar);
                    taken.map_err(TestCaseError::fail)?
                }
            };
            prop_assert_eq!(taken, expected, "{:?}\n{}", text, &grammar);
            compared.set(compared.get() + usize::from(expected));
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // That most grammars are taken by both is part of the test.
    assert!(compared.get() > 1_000, "{compared:?}");
}
