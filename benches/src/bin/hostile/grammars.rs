//! Grammars, in each dialect. For example, rules that double: `r1 ::= r0 r0` thirty times.
//!
//! The rules are [`Rules`], written out as GBNF, Lark, W3C's EBNF and ABNF: the same grammar meets
//! every way of reading it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fsm_index::Index;
use grammar::{Config, Dialect, Grammar};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::harness::case::{Case, Sized};
use crate::harness::seen::Seen;
use crate::harness::walk;
use crate::notations::{Rules, written};

/// The number of grammars of random rules, for each dialect, because the rarest kind of hang came
/// once in some twenty of them.
const RANDOM: u64 = 40;

/// The notations of [`Rules`], one of each reader, because EBNF's is GBNF's.
const DIALECTS: [Dialect; 5] = [
    Dialect::Gbnf,
    Dialect::Lark,
    Dialect::LarkSplits,
    Dialect::W3c,
    Dialect::Abnf,
];

pub(crate) fn cases(tokenizer: Option<PathBuf>) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, make: Arc<dyn Fn() -> Rules + Send + Sync>| {
        for dialect in DIALECTS {
            let (make, tokenizer) = (Arc::clone(&make), tokenizer.clone());
            cases.push(Case::new(
                "grammar",
                format!("{name}, {dialect}"),
                move |seen| {
                    run(
                        &written(&make(), dialect),
                        dialect,
                        tokenizer.as_deref(),
                        seen,
                    );
                },
            ));
        }
    };
    for n in [4usize, 30, 300, 3_000] {
        for (kind, make) in SIZED {
            add(format!("{kind} x {n}"), Arc::new(move || make(n)));
        }
    }
    for (kind, rules) in RULES {
        let made = move || {
            let rules = rules.iter();
            rules
                .map(|(name, is)| ((*name).to_owned(), (*is).to_owned()))
                .collect()
        };
        add((*kind).to_owned(), Arc::new(made));
    }
    for seed in 0..RANDOM {
        add(format!("random {seed}"), Arc::new(move || random(seed)));
    }
    for n in [4usize, 30, 300, 3_000] {
        let own = [
            (Dialect::Lark, LARK),
            (Dialect::W3c, W3C),
            (Dialect::Abnf, ABNF),
        ];
        for (dialect, kinds) in own {
            for (kind, make) in kinds {
                let tokenizer = tokenizer.clone();
                cases.push(Case::new(
                    "grammar",
                    format!("{kind} x {n}, {dialect}"),
                    move |seen| run(&make(n), dialect, tokenizer.as_deref(), seen),
                ));
            }
        }
    }
    cases
}

fn run(text: &str, dialect: Dialect, real: Option<&Path>, seen: &mut Seen) {
    let vocabularies = walk::vocabularies(real, seen);
    seen.begin();
    let Some(automaton) = seen.call(|| Grammar::compile(text, dialect, &Config::default())) else {
        return;
    };
    let is_right = walk::takes(&automaton);
    let index = |vocabulary: &_, config: &_| Index::lazy(automaton.clone(), vocabulary, config);
    walk::texts(&index, &vocabularies, seen, &is_right);
}

/// Rules by number, joined.
fn each(n: usize, of: impl Fn(usize) -> String) -> Rules {
    (0..n).map(|i| (format!("r{i}"), of(i))).collect()
}

fn with_first(first: impl Into<String>, rest: Rules) -> Rules {
    let mut rules = vec![("start".to_owned(), first.into())];
    rules.extend(rest);
    rules
}

fn joined(n: usize, by: &str, of: impl Fn(usize) -> String) -> String {
    (0..n).map(of).collect::<Vec<_>>().join(by)
}

/// Random rules over few texts, so that most texts have many parses.
fn random(seed: u64) -> Rules {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let rules = random.random_range(2..7usize);
    let texts = ["\"a\"", "\"b\"", "\"ab\"", "\"aa\"", "/[a-c]/", "/[^b]/"];
    let sides: Vec<String> = (0..rules)
        .map(|_| random_sides(&mut random, rules, &texts))
        .collect();
    let made = each(rules, |i| sides[i].clone());
    with_first("r0", made)
}

fn random_sides(random: &mut ChaCha8Rng, rules: usize, texts: &[&str]) -> String {
    let mut sides = Vec::new();
    for _ in 0..random.random_range(1..4) {
        let mut items = Vec::new();
        for _ in 0..random.random_range(1..4) {
            let mut item = match random.random_range(0..5) {
                0..=1 => texts[random.random_range(0..texts.len())].to_owned(),
                _ => format!("r{}", random.random_range(0..rules)),
            };
            match random.random_range(0..8) {
                0 => item.push('?'),
                1 => item.push('*'),
                2 => item = format!("({item} {})", texts[random.random_range(0..texts.len())]),
                _ => {}
            }
            items.push(item);
        }
        sides.push(items.join(" "));
    }
    // So that every rule has an end.
    sides.push(texts[random.random_range(0..texts.len())].to_owned());
    sides.join(" | ")
}

/// Grammars that come in sizes, because a cost that grows too fast shows only between sizes.
const SIZED: &[Sized<Rules>] = &[
    ("rules that double", |n| {
        let mut rules = each(n, |i| format!("r{} r{}", i + 1, i + 1));
        rules.push((format!("r{n}"), "\"a\"".to_owned()));
        with_first("r0", rules)
    }),
    ("rules that double, empty ones too", |n| {
        let mut rules = each(n, |i| format!("r{} r{}", i + 1, i + 1));
        rules.push((format!("r{n}"), "\"a\"?".to_owned()));
        with_first("r0", rules)
    }),
    ("alternatives that double", |n| {
        let mut rules = each(n, |i| format!("r{} \"a\" | r{} \"b\"", i + 1, i + 1));
        rules.push((format!("r{n}"), "\"c\"".to_owned()));
        with_first("r0", rules)
    }),
    ("alternatives of one language", |n| {
        with_first(
            joined(n, " | ", |i| format!("r{i}")),
            each(n, |i| format!("\"a\" r{i} | \"b\"")),
        )
    }),
    ("repeats of repeats", |n| {
        with_first(
            format!("{}\"a\"{}", "(".repeat(n), "*)".repeat(n)),
            Vec::new(),
        )
    }),
    ("repeats of repeats, each with a text", |n| {
        with_first(
            format!("{}\"b\"{}", "(\"a\" ".repeat(n), "*)+".repeat(n)),
            Vec::new(),
        )
    }),
    ("maybes of maybes", |n| {
        with_first(
            format!("{}\"b\"{}", "(\"a\"? ".repeat(n), "?)".repeat(n)),
            Vec::new(),
        )
    }),
    ("maybes", |n| {
        with_first(joined(n, " ", |_| "\"a\"?".to_owned()), Vec::new())
    }),
    ("maybes of rules", |n| {
        with_first(
            joined(n, " ", |i| format!("r{i}?")),
            each(n, |_| "\"a\"".to_owned()),
        )
    }),
    ("stars", |n| {
        with_first(joined(n, " ", |_| "/[a-z]/*".to_owned()), Vec::new())
    }),
    ("stars of rules", |n| {
        with_first(
            joined(n, " ", |i| format!("r{i}*")),
            each(n, |_| "\"a\" | \"aa\"".to_owned()),
        )
    }),
    ("free texts in a row", |n| {
        with_first(joined(n, " ", |_| "/[^x]/* \"x\"".to_owned()), Vec::new())
    }),
    ("units in a circle", |n| {
        with_first("r0", each(n, |i| format!("r{} | \"x\" r{i}?", (i + 1) % n)))
    }),
    ("hidden left recursion", |n| {
        let mut rules = each(n, |i| format!("e r{} \"x\" | \"y\"", (i + 1) % n));
        rules.push(("e".to_owned(), "\"z\"?".to_owned()));
        with_first("r0", rules)
    }),
    ("operators", |n| {
        let mut rules = each(n, |i| format!("r{} (\"+{i} \" r{})*", i + 1, i + 1));
        rules.push((format!("r{n}"), "\"1\" | \"(\" r0 \")\"".to_owned()));
        with_first("r0", rules)
    }),
    ("operators on both sides", |n| {
        let operators = joined(n, " | ", |i| format!("r0 \"+{i} \" r0"));
        with_first(
            "r0",
            vec![("r0".to_owned(), format!("\"1\" | {operators}"))],
        )
    }),
    ("brackets", |n| {
        let kinds = joined(n, " | ", |i| format!("\"<{i}>\" r0* \"</{i}>\""));
        with_first("r0", vec![("r0".to_owned(), kinds)])
    }),
    ("words", |n| {
        with_first(
            "r0+",
            vec![(
                "r0".to_owned(),
                joined(n, " | ", |i| format!("\"w{}\"", i * 7919)),
            )],
        )
    }),
    ("words and names", |n| {
        let words = joined(n, " | ", |i| format!("\"w{}\" r1", i * 7919));
        with_first(
            "(r0 \";\")*",
            vec![
                ("r0".to_owned(), format!("{words} | r1 \"=\" r1")),
                ("r1".to_owned(), "/[a-z0-9]/+".to_owned()),
            ],
        )
    }),
    ("a long text", |n| {
        with_first(format!("\"{}\"", "ab ".repeat(n)), Vec::new())
    }),
    ("counts", |n| {
        with_first(format!("\"a\"{{{n}}}"), Vec::new())
    }),
];

/// Grammars of Lark alone, in sizes, because the other dialects have no schemas, ignored text or
/// differences.
const LARK: &[Sized<String>] = &[
    ("schemas side by side", |n| {
        let schemas = joined(n, " | ", |i| {
            format!(
                "%json {{\"type\": \"object\", \"properties\": {{\"p{i}\": {{\"type\": \"string\"}}}}}}"
            )
        });
        format!("start: {schemas}\n")
    }),
    ("equal schemas side by side", |n| {
        let schemas = joined(n, " | ", |_| "%json {\"type\": \"array\"}".to_owned());
        format!("start: {schemas}\n")
    }),
    ("schemas in a row", |n| {
        let schemas = joined(n, " ", |_| "(%json {\"type\": \"string\"})?".to_owned());
        format!("start: {schemas}\n")
    }),
    ("expressions side by side", |n| {
        let all = joined(n, " | ", |i| format!("/[a-z]+{i}/ \"x\""));
        format!("start: ({all})*\n%ignore / +/\n")
    }),
    ("ignored texts", |n| {
        let all = joined(n, "\n", |i| format!("%ignore /#{i}[^\\n]*/"));
        format!("start: \"a\"*\n{all}\n")
    }),
    ("names less words", |n| {
        let words = joined(n, "|", |i| format!("w{i}"));
        format!(
            "start: (NAME | WORD)*\nNAME: /[a-z][a-z0-9]*/ & ~/{words}/\nWORD: /{words}/\n%ignore / /\n"
        )
    }),
    ("counts of counts", |n| {
        format!("start: a{{0,{n}}}\na: b{{0,{n}}}\nb: \"x\"{{0,{n}}}\n")
    }),
    ("lexemes that go on anywhere", |n| {
        let all = joined(n, " ", |i| format!("/a*b{{0,{i}}}/"));
        format!("start: {all}\n")
    }),
];

/// Grammars of W3C's notation alone, because only it has differences of any expressions, and notes.
const W3C: &[Sized<String>] = &[
    ("differences of differences", |n| {
        let without = joined(n, "", |i| format!(" - 'w{i}')"));
        format!("a ::= {}[a-z0-9]*{without} ';')*\n", "(".repeat(n + 1))
    }),
    ("a text without words", |n| {
        let words = joined(n, " | ", |i| format!("'w{i}'"));
        format!("a ::= '<' (c* - (c* ({words}) c*)) '>'\nc ::= [^<>]\n")
    }),
    ("comments, notes and numbers", |n| {
        joined(n, "\n", |i| {
            format!(
                "[{i}a] r{i} ::= /* x */ 'a' r{}? [wfc: x] [vc: y]",
                (i + 1) % n
            )
        })
    }),
];

/// Grammars of ABNF alone, because only it has texts in any case, counts before items and rules that go on.
const ABNF: &[Sized<String>] = &[
    ("texts in any case", |n| {
        let words = joined(n, " / ", |i| format!("\"word{i}\""));
        format!("a = *(b \" \")\nb = {words}\n")
    }),
    ("a long text in any case", |n| {
        format!("a = \"{}\"\n", "ab".repeat(n))
    }),
    ("rules that go on", |n| {
        let more = joined(n, "\n", |i| format!("b =/ a \"{i}\" a"));
        format!("a = b / ALPHA\nb = DIGIT\n{more}\n")
    }),
    ("counts of counts", |n| {
        format!("a = *{n}b\nb = 1*{n}c\nc = {n}*\"x\"\n")
    }),
    ("counts in counts", |n| {
        format!("a = {}\"x\"{}\n", "*2(".repeat(n), ")".repeat(n))
    }),
    ("white space in a row", |n| {
        format!("a = {}\"x\"\n", "LWSP ".repeat(n))
    }),
];

/// Small grammars with names, because ambiguity needs no size.
const RULES: &[(&str, &[(&str, &str)])] = &[
    ("every split", &[("start", "s"), ("s", "s s | \"a\"")]),
    (
        "every split, empty too",
        &[("start", "s"), ("s", "s s | \"a\" | \"\"")],
    ),
    (
        "three ways",
        &[("start", "s"), ("s", "s s s | s s | \"a\"")],
    ),
    (
        "both sides",
        &[
            ("start", "a"),
            ("a", "a b | b a | \"x\" a?"),
            ("b", "\"x\" | b b"),
        ],
    ),
    (
        "palindromes",
        &[
            ("start", "s"),
            ("s", "\"a\" s \"a\" | \"b\" s \"b\" | \"a\"? | \"b\""),
        ],
    ),
    (
        "words in their own square",
        &[
            ("start", "s s"),
            ("s", "\"a\" s \"a\" | \"b\" s \"b\" | \"c\"*"),
        ],
    ),
    (
        "an else that dangles",
        &[
            ("start", "s"),
            ("s", "\"if \" e \" then \" s (\" else \" s)? | e"),
            ("e", "/[a-z]/+ | e \"+\" e"),
        ],
    ),
    (
        "a rule of itself",
        &[("start", "s"), ("s", "s | \"a\" s? | s s?")],
    ),
    (
        "empty in a circle",
        &[
            ("start", "a b c \"x\""),
            ("a", "b?"),
            ("b", "c? a?"),
            ("c", "a? \"y\"?"),
        ],
    ),
    ("no end", &[("start", "s"), ("s", "\"a\" s")]),
    (
        "stars over rules that may be empty",
        &[
            ("start", "(a b)*"),
            ("a", "\"x\"? b*"),
            ("b", "\"y\"? | a \"z\""),
        ],
    ),
    (
        "a long tail",
        &[
            ("start", "a* a* a* b"),
            ("a", "\"x\" | \"xx\" | \"xxx\""),
            ("b", "a | a b a"),
        ],
    ),
];
