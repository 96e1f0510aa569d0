//! Regular expressions. For example, `a?` repeated, as in `a?a?a?`, in sizes that grow.

use std::path::PathBuf;
use std::sync::Arc;

use fsm_index::{Config, Dfa, Index, IndexConfig, Symbols, Vocabulary};

use crate::harness::case::{Case, Sized};
use crate::harness::seen::Seen;
use crate::harness::walk;

pub(crate) fn cases(tokenizer: Option<PathBuf>) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, make: Arc<dyn Fn() -> String + Send + Sync>| {
        for symbols in [Symbols::Chars, Symbols::Bytes] {
            let (make, tokenizer) = (Arc::clone(&make), tokenizer.clone());
            let name = match symbols {
                Symbols::Chars => name.clone(),
                Symbols::Bytes => format!("{name}, bytes"),
            };
            cases.push(Case::new("regex", name, move |seen| {
                run(&make(), symbols, tokenizer.as_deref(), seen);
            }));
        }
    };
    for n in [10usize, 1_000, 100_000] {
        for (kind, make) in SIZED {
            add(format!("{kind} x {n}"), Arc::new(move || make(n)));
        }
    }
    for pattern in PATTERNS {
        add(
            (*pattern).to_owned(),
            Arc::new(move || (*pattern).to_owned()),
        );
    }
    cases
}

fn run(pattern: &str, symbols: Symbols, real: Option<&std::path::Path>, seen: &mut Seen) {
    let vocabularies = walk::vocabularies(real, seen);
    let config = Config {
        symbols,
        ..Config::default()
    };
    seen.begin();
    let Some(automaton) = seen.call(|| Dfa::with_config(pattern, &config)?.to_bytes(&config))
    else {
        return;
    };
    let is_right = |text: &[u8]| match automaton.accepts(text) {
        true => Ok(()),
        false => Err("a finished text is not accepted".to_owned()),
    };
    let index = |vocabulary: &_, config: &_| Index::build(automaton.clone(), vocabulary, config);
    walk::texts(&index, &vocabularies, seen, &is_right);
    if let Some(small) = vocabularies.first() {
        eager(automaton.clone(), small, seen);
    }
}

/// All rows at once, saved and read again.
fn eager(automaton: fsm_index::ByteDfa, vocabulary: &Vocabulary, seen: &mut Seen) {
    let config = IndexConfig {
        max_row_bytes: 64 << 20,
        ..IndexConfig::default()
    };
    let index = seen.call(|| Index::build(automaton, vocabulary, &config));
    let Some(bytes) = index.and_then(|index| seen.call(|| index.to_bytes())) else {
        return;
    };
    let read = seen.call(|| Index::from_bytes(&bytes, vocabulary));
    if read.is_none() {
        seen.wrong("a saved index cannot be read again");
    }
}

fn letter(i: usize) -> char {
    char::from_u32(0x4E00 + (i % 20_000) as u32).unwrap_or('x')
}

/// Expressions that come in sizes, because a cost that grows too fast shows only between sizes.
const SIZED: &[Sized<String>] = &[
    ("a?", |n| "a?".repeat(n)),
    ("a*b", |n| "a*b".repeat(n)),
    ("(a|b)?", |n| "(a|b)?".repeat(n)),
    ("words", |n| {
        (0..n)
            .map(|i| format!("w{}", i * 7919))
            .collect::<Vec<_>>()
            .join("|")
    }),
    ("words, cases ignored", |n| {
        format!(
            "(?i){}",
            (0..n)
                .map(|i| format!("kä{i}"))
                .collect::<Vec<_>>()
                .join("|")
        )
    }),
    ("a literal", |n| "abcdefghij".repeat(n)),
    ("a literal, cases ignored", |n| {
        format!("(?i){}", "straße ".repeat(n))
    }),
    ("empty alternatives", |n| format!("a{}", "|".repeat(n))),
    ("empty groups", |n| format!("a{}", "()".repeat(n))),
    ("groups", |n| format!("{}a{}", "(".repeat(n), ")".repeat(n))),
    ("stars of stars", |n| {
        format!("{}a{}", "(?:".repeat(n), ")*".repeat(n))
    }),
    ("twice of twice", |n| {
        format!("{}a{}", "(?:".repeat(n), "){2}".repeat(n))
    }),
    ("maybe of maybe", |n| {
        format!("{}b{}", "(?:a".repeat(n), ")?".repeat(n))
    }),
    ("brackets", |n| {
        format!("{}a{}", "[".repeat(n), "]".repeat(n))
    }),
    ("brackets that negate", |n| {
        format!("{}\\w{}", "[^".repeat(n), "]".repeat(n))
    }),
    ("classes", |n| r"\p{L}\d".repeat(n)),
    ("classes, cases ignored", |n| {
        format!("(?i){}", r"\p{Lu}".repeat(n))
    }),
    ("intersections", |n| {
        (0..n).map(|i| format!("[\\w&&[^{}]]", letter(i))).collect()
    }),
    ("holes", |n| {
        (0..n).map(|i| format!("[^{}]", letter(i))).collect()
    }),
    ("ranges in each other", |n| {
        (0..n)
            .map(|i| format!("[一-{}]", letter(i)))
            .collect::<Vec<_>>()
            .join("|")
    }),
    ("letters anywhere", |n| {
        (0..n)
            .map(|i| format!(".*{}.*", letter(i)))
            .collect::<Vec<_>>()
            .join("|")
    }),
    ("a set of letters", |n| {
        format!(
            "[{}]{{1,200}}",
            (0..n).map(|i| letter(i * 2)).collect::<String>()
        )
    }),
    ("counted", |n| format!("[a-z]{{0,{n}}}x")),
    ("counted letters", |n| format!(r"\p{{L}}{{1,{n}}}")),
    ("counted twice", |n| format!("(?:a{{1,{n}}}){{1,{n}}}")),
    ("a choice of counts", |n| {
        format!("(?:a{{0,{n}}}b|b{{0,{n}}}a)c")
    }),
    ("waits", |n| format!("(a|b)*a(a|b){{{n}}}")),
    ("nothing often", |n| {
        format!("(?:{}a){{{n}}}", "()".repeat(n.min(1_000)))
    }),
    ("flags", |n| "(?i)(?-i)".repeat(n)),
    ("a long name", |n| format!("(?P<{}>a)", "n".repeat(n))),
];

/// Expressions of one size: damaged, empty or odd ones, because the reader must refuse them by an
/// error.
const PATTERNS: &[&str] = &[
    "",
    "(",
    "[",
    "a{1000000000}",
    "a{0,4294967295}",
    "(?:a{0,65535}){0,65535}",
    r"\b",
    "(?m)^a$",
    "x$y",
    "[^\u{0}-\u{10FFFF}]",
    r"(?-u:\xFF)*",
    r"(?s).*",
    r"(?i)[\u{0}-\u{10FFFF}]",
    r"\p{Any}{0,300}",
    "(?:(?:(?:(?:.{0,9}){0,9}){0,9}){0,9}){0,9}",
    ".*.*.*.*.*.*.*.*.*.*a",
    "(.*a){12}",
    "(?:a|aa|aaa|aaaa|aaaaa)*b",
    "(?:[a-z]*[0-9]){8}",
    "((a?b?c?d?e?f?g?h?)*i?)*",
    r"[\w\W]*[\d\D]*[\s\S]*",
    "(?:\u{1F600}|\u{10FFFF}|\u{7FF}|\u{800}|\u{FFFF}){1,50}",
];
