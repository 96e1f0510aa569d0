//! Masks of the shared cases of checking data, with tokens of a real vocabulary, are those of
//! trying each token.

use fsm_index::contract::{Effort, check};
use fsm_index::{TokenId, Vocabulary, VocabularyBuilder};
use grammar::{Config, Dialect, Grammar};

use crate::common::{self, Case};

/// Smaller grammars have tests of their own.
const LEAST_BYTES: usize = 400;

/// Texts of one case that are begun, at most.
const TEXTS: usize = 6;

/// Single bytes, and of other tokens some: most of those with signs of programs.
fn sample(all: &Vocabulary) -> Vocabulary {
    let mut builder = VocabularyBuilder::new();
    for byte in 0..=255u8 {
        builder.text(TokenId::new(byte.into()), [byte]).unwrap();
    }
    let mut next = 256;
    for id in 0..all.width() as u32 {
        let Some(bytes) = all.token_bytes(TokenId::new(id)) else {
            continue;
        };
        let has_signs = bytes.iter().any(|byte| b"(){};.=<>,\"".contains(byte));
        let counts = id < 1_500 || id % 17 == 3 || has_signs && id % 4 == 0;
        if bytes.len() > 1 && counts {
            builder.text(TokenId::new(next), bytes).unwrap();
            next += 1;
        }
    }
    builder.end(TokenId::new(next)).unwrap();
    builder.build().unwrap()
}

#[test]
fn masks_of_the_shared_cases_are_exact() {
    let Some(tokenizer) = common::read("tokenizers/llama3_1/tokenizer.json") else {
        return;
    };
    let Some(cases) = common::cases() else {
        return;
    };
    let vocabulary = sample(&Vocabulary::from_tokenizer_json(tokenizer.as_bytes()).unwrap());
    let is_large = |case: &&Case| !case.is_refused && case.grammar.len() >= LEAST_BYTES;
    for case in cases.iter().filter(is_large) {
        let Ok(automaton) = Grammar::compile(&case.grammar, case.dialect, &Config::default())
        else {
            continue;
        };
        let beginnings: Vec<&str> = (1..)
            .zip(case.accepted().take(TEXTS))
            .map(|(part, text)| {
                let end = (text.len() * part / (TEXTS + 1)).min(200);
                &text[..text.floor_char_boundary(end)]
            })
            .collect();
        let effort = Effort {
            walks: TEXTS + 1,
            tokens: 7,
            seed: 5,
        };
        let said = check(&automaton, &vocabulary, &beginnings, effort);
        assert_eq!(said, Ok(()), "{}", case.id);
    }
}

/// Grammars whose states depend on tokens, or on how often ignored text has come.
#[test]
fn masks_behind_budgets_are_exact() {
    let Some(tokenizer) = common::read("tokenizers/llama3_1/tokenizer.json") else {
        return;
    };
    let vocabulary = sample(&Vocabulary::from_tokenizer_json(tokenizer.as_bytes()).unwrap());
    let names = "NAME: /[^\\W\\d]\\w*/\n%ignore /\\s+/\n";
    for (dialect, grammar, beginnings) in [
        (
            Dialect::Lark,
            format!("start: (name \"=\" value \";\")*\nname[max_tokens=2]: /[^\\W\\d]\\w*/\nvalue: text | NAME | list\nlist: \"[\" value (\",\" value)* \"]\"\ntext[max_tokens=3]: /\"([^\"\\\\]|\\\\.)*\"/\n{names}"),
            ["", "a = \"b", "a = [b, ", "été = [ [\"x"],
        ),
        (
            Dialect::Lark,
            format!("%llguidance {{\"ignore_once\": true}}\nstart: (NAME \"=\" (NAME | \"(\" NAME (\",\" NAME)* \")\") \";\")*\n%ignore /#[^\\n]*\\n/\n{names}"),
            ["", "a = ", "a= (b,# c\n", "b =\n"],
        ),
        (
            Dialect::Ebnf,
            "root ::= \"<think>\" thought \"</think>\" answer\nthought[max_tokens=4] ::= [^]*\nanswer ::= \"(\" answer \")\" | [a-z]+".to_owned(),
            ["", "<think>so it", "<think>a</think>(", "<think>\n</"],
        ),
        (
            Dialect::LarkAscii,
            format!("start: (name \"=\" text \";\")*\nname[max_tokens=2]: NAME\ntext[max_tokens=2]: /'[^']*'/\n{names}"),
            ["", "a = 'b", "a = 'b' ;", "a ="],
        ),
    ] {
        let automaton = Grammar::compile(&grammar, dialect, &Config::default()).unwrap();
        let effort = Effort {
            walks: 10,
            tokens: 9,
            seed: 3,
        };
        let said = check(&automaton, &vocabulary, &beginnings, effort);
        assert_eq!(said, Ok(()), "{grammar}");
    }
}
