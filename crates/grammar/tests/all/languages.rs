//! Programming languages with programs: their masks, along the way, are those of trying each token.
//! Those in `tests/data/languages` were looked at when masks were made faster, those in `measured`
//! below it were not: these only measure.

use std::path::Path;
use std::sync::Arc;

use fsm_index::contract::{Effort, check};
use fsm_index::{
    Fill, Guide, Index, IndexConfig, TokenId, Vocabulary, VocabularyBuilder, brute_force_mask,
};
use grammar::{Config, Dialect, Grammar, GrammarAutomaton};

use crate::common;

/// Places of each program at which masks are compared.
const PLACES: usize = 12;

/// The names of all languages: of the files without their ending.
fn languages() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/languages");
    let mut names = Vec::new();
    for below in ["", "measured/"] {
        for entry in std::fs::read_dir(folder.join(below)).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            names.extend(
                file.strip_suffix(".lark")
                    .map(|name| format!("{below}{name}")),
            );
        }
    }
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    names
}

fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/languages");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn compiled(grammar: &str) -> GrammarAutomaton {
    let automaton = Grammar::compile(grammar, Dialect::Lark, &Config::default());
    automaton.unwrap_or_else(|error| panic!("{grammar}: {error}"))
}

fn language(name: &str) -> (GrammarAutomaton, String) {
    let automaton = compiled(&read(&format!("{name}.lark")));
    (automaton, read(&format!("{name}.txt")))
}

/// All bytes, and pieces of the programs of all languages.
fn pieces() -> Vocabulary {
    let mut all: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    for name in languages() {
        let program = read(&format!("{name}.txt"));
        let bytes = program.as_bytes();
        for (number, length) in (0..bytes.len())
            .step_by(5)
            .zip([2, 3, 5, 4, 9].iter().cycle())
        {
            let end = (number + length).min(bytes.len());
            all.push(bytes[number..end].to_vec());
        }
    }
    all.sort();
    all.dedup();
    let mut builder = VocabularyBuilder::new();
    let mut id = (0..).map(TokenId::new);
    for bytes in all {
        builder.text(id.next().unwrap(), bytes).unwrap();
    }
    builder.end(id.next().unwrap()).unwrap();
    builder.build().unwrap()
}

/// Leads a program through a lazy index, and compares the masks at some places.
fn compare(
    name: &str,
    (automaton, program): (GrammarAutomaton, String),
    vocabulary: &Vocabulary,
    places: usize,
) {
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Arc::new(Index::lazy(automaton.clone(), vocabulary, &config).unwrap());
    let mut guide = Guide::new(index);
    let program = program.as_bytes();
    let (mut at, mut next) = (0, 0);
    while at < program.len() {
        let mask = guide.mask().unwrap().clone();
        if at >= next {
            next = at + program.len() / places;
            let right = brute_force_mask(&automaton, guide.state(), vocabulary);
            let before = String::from_utf8_lossy(&program[..at]);
            for (token, bytes) in vocabulary.texts() {
                let both = (mask.allows(token), right.allows(token));
                let text = String::from_utf8_lossy(bytes);
                assert!(
                    both.0 == both.1,
                    "{name}: {text:?} behind {before:?}: {both:?}"
                );
            }
        }
        let fits = vocabulary
            .texts()
            .filter(|token| program[at..].starts_with(token.1));
        let (token, bytes) = fits.max_by_key(|token| token.1.len()).unwrap();
        guide.advance(token).unwrap();
        at += bytes.len();
    }
    assert!(guide.is_accepting(), "{name}");
}

#[test]
fn masks_along_programs_are_exact() {
    let vocabulary = pieces();
    for name in languages() {
        compare(&name, language(&name), &vocabulary, PLACES);
    }
}

#[test]
fn masks_of_a_real_vocabulary_are_exact() {
    let Some(tokenizer) = common::read("tokenizers/llama3_1/tokenizer.json") else {
        return;
    };
    let vocabulary = Vocabulary::from_tokenizer_json(tokenizer.as_bytes()).unwrap();
    for name in languages() {
        compare(&name, language(&name), &vocabulary, PLACES / 4);
    }
}

/// The same where every split counts, of languages in which lexemes begin and end nearly everywhere in a token.
#[test]
fn masks_of_a_real_vocabulary_are_exact_where_every_split_counts() {
    let Some(tokenizer) = common::read("tokenizers/llama3_1/tokenizer.json") else {
        return;
    };
    let vocabulary = Vocabulary::from_tokenizer_json(tokenizer.as_bytes()).unwrap();
    for name in ["measured/regex", "makefile", "http", "xml"] {
        let grammar = read(&format!("{name}.lark"));
        let automaton = Grammar::compile(&grammar, Dialect::LarkSplits, &Config::default());
        let program = read(&format!("{name}.txt"));
        compare(name, (automaton.unwrap(), program), &vocabulary, PLACES);
    }
}

/// Languages whose names are no words of theirs, `NAME: /\w+/ & ~/if|else/`, as those write them who do without that.
#[test]
fn names_may_be_words_of_a_language() {
    let vocabulary = pieces();
    let mut count = 0;
    for name in languages() {
        let grammar = read(&format!("{name}.lark"));
        if !grammar.contains(" & ~/") {
            continue;
        }
        let without = |line: &str| match line.split_once(" & ~/") {
            Some((names, _)) => names.to_owned(),
            None => line.to_owned(),
        };
        let words: Vec<String> = grammar.lines().map(without).collect();
        count += 1;
        let automaton = compiled(&words.join("\n"));
        let program = read(&format!("{name}.txt"));
        compare(&name, (automaton, program), &vocabulary, 2);
    }
    assert!(count > 10, "{count}");
}

/// Ignored text that takes what should follow it, in many ways.
const LINES: &[&str] = &[
    "start: (_NL | NAME \"(\" [NAME] \")\" _NL)*\nNAME: /[^\\W\\d]\\w*/\n_NL: /\\n+/\n%ignore /[ ]+/\n%ignore /#[^\\n]*/",
    // The text may end in a comment.
    "start: NAME (_NL NAME)*\nNAME: /[a-z]+/\n_NL: /\\n/\n%ignore /#[^\\n]*/\n%ignore / +/",
    // The lexemes behind one comment do not follow the other.
    "start: (NAME \"+\" NAME (_NL | \";\"))*\nNAME: /[a-z]+/\n_NL: /\\n/\n%ignore /#[^\\n]*/\n%ignore /%[^;]*/",
    // A comment of several lines lets all follow.
    "start: (NAME \"/\" NAME _NL)*\nNAME: /[a-z]+/\n_NL: /\\n/\n%ignore /\\/\\/[^\\n]*/\n%ignore /\\/\\*([^*]|\\*+[^*\\/])*\\*+\\// \n%ignore / /",
    // Ignored text that begins so, and lexemes that it resembles.
    "start: (NAME [\"#!\" NAME] _NL)*\nNAME: /[a-z]+/\n_NL: /\\n/\n%ignore /#[^\\n]*/\n%ignore / /",
    "start: (NAME \"(\" NAME \")\" _NL)*\nNAME: /[a-z]+/\n_NL: /\\n/\n%ignore /[^\\na-z()]+[^\\n]*/",
    "start: NAME \"(\" (NAME _NL)* \")\" [_NL]\nNAME: /[a-z]+/\n_NL: /(\\n *)+/\n%ignore /#[^\\n]*/\n%ignore / +/",
];

#[test]
fn ignored_text_that_takes_what_follows_is_told_by_the_stacks() {
    let vocabulary = pieces();
    for grammar in LINES {
        let automaton = compiled(grammar);
        let beginnings = ["a", "a ", "ab #x", "ab\n", "a(", "a( #", "a(b ", "a+", "a/"];
        let beginnings: Vec<&str> = beginnings
            .into_iter()
            .filter(|text| {
                let mut state = fsm_index::ByteAutomaton::start(&automaton);
                let mut scratch = fsm_index::ByteAutomaton::scratch(&automaton);
                let bytes = text.as_bytes();
                let automaton = &automaton;
                fsm_index::ByteAutomaton::advance(automaton, &mut state, bytes, &mut scratch)
                    .is_ok()
            })
            .collect();
        let effort = Effort {
            walks: 24,
            tokens: 7,
            seed: 3,
        };
        let said = check(&automaton, &vocabulary, &beginnings, effort);
        assert_eq!(said, Ok(()), "{grammar}");
    }
}

/// Names from which texts are excluded: some of them nothing prolongs, or not every letter.
const EXCLUDED: &[&str] = &[
    "/[a-z]\\w*/ & ~/(?i:if|is|kiss)/",
    "/[a-z]\\w*/ & ~/i[fs]\\w*/",
    "/\\w+/ & ~/\\w*if/",
    "/\\w+/ & ~/\\w*é\\w*/",
    "/\\w+/ & ~/if[a-z]{0,3}|(?i:kiss)\\w/",
    "/\\w+/ & ~/ifé|ié\\w*|日本/",
    "/\\w{1,5}/ & ~/if/",
    "/i?f?[a-e\\w]*/ & ~/if|e/",
];

#[test]
fn names_from_which_texts_are_excluded_are_exact() {
    let vocabulary = pieces();
    for name in EXCLUDED {
        let grammar = format!(
            "start: (NAME \"=\" NAME | \"if\"i NAME | /é+/) (\";\" start)?\nNAME: {name}\n%ignore / +/"
        );
        let automaton = compiled(&grammar);
        let beginnings = ["", "a", "k", "a =", "if ", "k=k;", "x=ki"];
        let effort = Effort {
            walks: 24,
            tokens: 5,
            seed: 5,
        };
        let said = check(&automaton, &vocabulary, &beginnings, effort);
        assert_eq!(said, Ok(()), "{grammar}");
    }
}

/// Grammars of which nothing is proved, with text whose bytes beyond ASCII begin other lexemes, too.
const ASKED: &[&str] = &[
    "NAME: /[a-z_]+/\nNUMBER: /\\d+/",
    "NAME: /[^\\W\\d]\\w*/\nNUMBER: /\\d[\\d_]*(\\.\\d+)?/",
    "NAME: /[\\p{L}_][\\w!′]*/ & ~/if|in/\nNUMBER: /\\d+(kg)?|[§é]\\d*/",
];

#[test]
fn text_that_stacks_grant_is_exact() {
    let vocabulary = pieces();
    for names in ASKED {
        let grammar = format!(
            "start: e\ne: s (\",\" s)*\ns: p ((\"+\" | \"=\" | \"<\" | \"and\") p)*\n\
             p: STR | NAME | NUMBER | \"(\" e? \")\" | d\nd: TAG a* (\"/>\" | \">\" c* CLOSE)\n\
             a: NAME \"=\" (\"\\\"\" (AT | \"{{\" e \"}}\" | \"{{{{\")* \"\\\"\" | \"'\" (AT2 | \"{{\" e \"}}\")* \"'\")\n\
             c: d | CT | \"{{\" e \"}}\" | \"{{{{\"\nTAG: /<[a-z]+/\nCLOSE: /<\\/[a-z]+>/\n\
             CT: /[^{{}}<&]+/\nAT: /[^\"{{}}<&]+/\nAT2: /[^'{{}}<&]+/\nSTR: /\"[^\"]*\"/\n{names}\n%ignore /[ \\n]+/"
        );
        let automaton = compiled(&grammar);
        let beginnings = [
            "",
            "a",
            "7",
            "a +",
            "<b",
            "<b a='x",
            "<b a=\"{a",
            "(<b>text",
        ];
        let effort = Effort {
            walks: 24,
            tokens: 5,
            seed: 7,
        };
        let said = check(&automaton, &vocabulary, &beginnings, effort);
        assert_eq!(said, Ok(()), "{grammar}");
    }
}

#[test]
fn languages_keep_what_automata_promise() {
    let vocabulary = pieces();
    for name in languages() {
        let (automaton, program) = language(&name);
        let cuts = [1, 3, 5].map(|part| program.floor_char_boundary(program.len() * part / 6));
        let beginnings = cuts.map(|end| &program[..end]);
        let effort = Effort {
            walks: 4,
            tokens: 5,
            seed: 11,
        };
        let said = check(&automaton, &vocabulary, &beginnings, effort);
        assert_eq!(said, Ok(()), "{name}");
    }
}
