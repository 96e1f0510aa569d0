//! Masks where text of a class leads back to one place, as inside of names: such text is read once
//! for its class, and only what leaves it is walked. Tokens glued from names, brackets and beginnings
//! of comments leave it in all ways, and have to be those of trying each token.

use fsm_index::contract::{Effort, check};
use fsm_index::{TokenId, Vocabulary, VocabularyBuilder};
use grammar::{Config, Dialect, Grammar};
use proptest::prelude::*;

/// Two names in a row are one name under greedy lexing, and are split where every split counts.
const CALLS: &str = r##"
start: "module" NAME "(" [NAME ("," NAME)*] ")" ";" (NAME NAME "(" [value ("," value)*] ")" ";")*
value: NAME | "." NAME "(" value ")" | TEXT | "if" value
NAME: /[a-zé_][a-z0-9_é日]*/ | /\\[^\s]+/
TEXT: /"([^"\\ ]|\\.)*"/
%ignore /\/\*(\*(?!\/)|[^*])*\*\//
%ignore /\/\/[^\n]*\n/
%ignore /[ \n]+/
"##;

/// Names beside words, and names that end in a sign or in a letter.
const WORDS: &str = r##"
start: (NAME | KEY | MARK | TEXT | "if" | "module" | "(" start ")")*
NAME: /[a-zé_][a-z0-9_éब-日]*/ & ~/if|module|ab/
KEY: /[a-z_][a-z0-9_]*: ?"?/
MARK: /[a-z0-9+]+[!)](;|b|é)*/
TEXT: /"([^"\\ ]|\\.)*"/
%ignore /\s+/
"##;

const BEGINNINGS: [(&str, &[&str]); 2] = [
    (
        CALLS,
        &[
            "module m(a, b); ",
            "module m(a); ab",
            "module",
            "module m();ab c(",
            "module a();b c(\"a",
            "module é();é/*",
        ],
    ),
    (
        WORDS,
        &[
            "a",
            "ab",
            "if",
            "\"a",
            "\"\\",
            "ab!",
            "ab:",
            "a\u{65e5}",
            "é ",
            "(a",
        ],
    ),
];

/// Pieces of tokens: of names, and of what leaves them.
const PIECES: [&[u8]; 24] = [
    b"a",
    b"ab",
    b"if",
    b"module",
    b"__",
    b"1",
    b"\xC3\xA9",
    b"\xE6\x97\xA5",
    b"\xC3",
    b"\xE6\x97",
    b"(",
    b")",
    b",",
    b";",
    b".",
    b" ",
    b"/*",
    b"*/",
    b"//",
    b"\n",
    b"\"",
    b"\\",
    b"!",
    b": ",
];

/// All bytes, and these texts.
fn vocabulary(texts: &[Vec<u8>]) -> Vocabulary {
    let mut builder = VocabularyBuilder::new();
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let mut id = 0..;
    for text in bytes.chain(texts.iter().cloned()) {
        let id = TokenId::new(id.next().unwrap());
        builder.text(id, text).unwrap();
    }
    builder.end(TokenId::new(id.next().unwrap())).unwrap();
    builder.build().unwrap()
}

fn check_all(vocabulary: &Vocabulary, seed: u64) -> Result<(), String> {
    for (text, beginnings) in BEGINNINGS {
        for dialect in [Dialect::Lark, Dialect::LarkSplits] {
            let automaton = Grammar::compile(text, dialect, &Config::default()).unwrap();
            let effort = Effort {
                walks: beginnings.len() + 1,
                tokens: 3,
                seed,
            };
            check(&automaton, vocabulary, beginnings, effort)
                .map_err(|difference| format!("{dialect} {text}: {difference}"))?;
        }
    }
    Ok(())
}

/// `_` may end before each `_` where every split counts, so that two names are begun in `__(/*!`.
#[test]
fn lexemes_that_end_inside_of_text_are_met() {
    let glued: [&[u8]; 6] = [b"__(/*!", b"__(", b"__", b"___a", b"_(", b"__a("];
    let vocabulary = vocabulary(&glued.map(<[u8]>::to_vec));
    assert_eq!(check_all(&vocabulary, 1), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn masks_of_glued_tokens_are_exact(
        tokens in prop::collection::vec(prop::collection::vec(0..PIECES.len(), 2..6), 20..120),
        seed in 0..u64::MAX,
    ) {
        let glue = |pieces: &Vec<usize>| pieces.iter().flat_map(|at| PIECES[*at]).copied().collect();
        let texts: Vec<Vec<u8>> = tokens.iter().map(glue).collect();
        prop_assert_eq!(check_all(&vocabulary(&texts), seed), Ok(()));
    }
}
