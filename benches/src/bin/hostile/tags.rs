//! Structural tags. For example, thousands of free texts in a row, or alternatives that double.

use std::path::{Path, PathBuf};

use fsm_index::Index;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use structural_tags::StructuralTag;

use crate::harness::case::{Case, Sized};
use crate::harness::seen::Seen;
use crate::harness::walk;

pub(crate) fn cases(tokenizer: Option<PathBuf>) -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [4usize, 30, 300, 3_000] {
        for (kind, make) in SIZED {
            let tokenizer = tokenizer.clone();
            cases.push(Case::new("tag", format!("{kind} x {n}"), move |seen| {
                run(&make(n), tokenizer.as_deref(), seen);
            }));
        }
    }
    for seed in 0..RANDOM {
        let tokenizer = tokenizer.clone();
        cases.push(Case::new(
            "tag",
            format!("random formats {seed}"),
            move |seen| {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                run(&anything(&mut random, 5), tokenizer.as_deref(), seen);
            },
        ));
    }
    cases
}

/// The number of random tags, because each takes about a second and more found nothing new.
const RANDOM: u64 = 40;

/// A format of few texts, so that much of it can be read in several ways.
fn anything(random: &mut ChaCha8Rng, depth: usize) -> Value {
    let leaf = depth == 0 || random.random_range(0..5) == 0;
    if leaf {
        return match random.random_range(0..7) {
            0 => any(),
            1 => json!({"type": "any_text", "max_chars": random.random_range(1..9)}),
            2 => json!({"type": "any_text", "excludes": ["ab"]}),
            3 => json!({"type": "regex", "pattern": "[a-z]*a?"}),
            4 => json!({"type": "json_schema", "json_schema": {"type": ["array", "null"]}}),
            _ => text(["a", "b", "ab", "aab"][random.random_range(0..4)]),
        };
    }
    let n = random.random_range(1..9);
    let mut each =
        |n: usize| -> Vec<Value> { (0..n).map(|_| anything(random, depth - 1)).collect() };
    let mut all = each(n);
    let first = all[0].take();
    match random.random_range(0..8) {
        0 => around("optional", first),
        1 => around("star", first),
        2 => json!({"type": "repeat", "min": n / 2, "max": n, "content": first}),
        3 => tag("<a>".into(), first, "</a>".into()),
        4 => json!({"type": "dispatch", "rules": [["!a", first]], "loop": n % 2 == 0}),
        kind => {
            all[0] = first;
            let kind = if kind < 6 { "or" } else { "sequence" };
            json!({"type": kind, "elements": all})
        }
    }
}

fn run(format: &Value, real: Option<&Path>, seen: &mut Seen) {
    let vocabularies = walk::vocabularies(real, seen);
    let tag = json!({"type": "structural_tag", "format": format});
    seen.begin();
    for vocabulary in vocabularies {
        let compiled = seen.call(|| StructuralTag::from_value(&tag)?.compile(&vocabulary));
        let Some(automaton) = compiled else { return };
        let is_right = walk::takes(&automaton);
        let index = |vocabulary: &_, config: &_| Index::lazy(automaton.clone(), vocabulary, config);
        walk::texts(&index, std::slice::from_ref(&vocabulary), seen, &is_right);
    }
}

fn text(value: impl Into<String>) -> Value {
    json!({"type": "const_string", "value": value.into()})
}

fn any() -> Value {
    json!({"type": "any_text"})
}

fn sequence(n: usize, of: impl Fn(usize) -> Value) -> Value {
    json!({"type": "sequence", "elements": (0..n).map(of).collect::<Vec<_>>()})
}

fn either(n: usize, of: impl Fn(usize) -> Value) -> Value {
    json!({"type": "or", "elements": (0..n).map(of).collect::<Vec<_>>()})
}

fn around(kind: &str, content: Value) -> Value {
    json!({"type": kind, "content": content})
}

fn tag(begin: String, content: Value, end: String) -> Value {
    json!({"type": "tag", "begin": begin, "content": content, "end": end})
}

/// A format in itself, `n` times.
fn nested(n: usize, inner: Value, outer: impl Fn(Value) -> Value) -> Value {
    (0..n).fold(inner, |inner, _| outer(inner))
}

/// Tags that come in sizes, because a cost that grows too fast shows only between sizes.
const SIZED: &[Sized<Value>] = &[
    ("free texts", |n| sequence(n, |_| any())),
    ("free texts with an end", |n| {
        sequence(n, |i| tag(String::new(), any(), format!("</{i}>")))
    }),
    ("free texts, each maybe", |n| {
        sequence(n, |_| around("optional", any()))
    }),
    ("tags of free text", |n| {
        sequence(n, |_| tag("<a>".into(), any(), "</a>".into()))
    }),
    ("maybes", |n| sequence(n, |_| around("optional", text("a")))),
    ("stars", |n| sequence(n, |_| around("star", text("a")))),
    ("stars of stars", |n| {
        nested(n.min(90), text("a"), |inner| around("star", inner))
    }),
    ("pluses of pluses", |n| {
        nested(n.min(90), any(), |inner| around("plus", inner))
    }),
    ("repeats of repeats", |n| {
        nested(
            n.min(90),
            text("a"),
            |inner| json!({"type": "repeat", "min": 0, "max": 9, "content": inner}),
        )
    }),
    ("rows of repeats", |n| {
        let times = n.min(90);
        sequence(
            times,
            |_| json!({"type": "repeat", "min": 0, "max": times, "content": text("a")}),
        )
    }),
    ("maybes of two kinds", |n| {
        sequence(n, |i| around("optional", text(["a", "b"][i % 2])))
    }),
    ("expressions that may be empty", |n| {
        sequence(
            n,
            |i| json!({"type": "regex", "pattern": format!("[a-z]{{0,{i}}}")}),
        )
    }),
    ("free texts of some characters", |n| {
        sequence(n, |i| json!({"type": "any_text", "max_chars": 3 + i % 5}))
    }),
    ("free texts of some tokens", |n| {
        sequence(n, |i| json!({"type": "any_text", "max_tokens": 3 + i % 5}))
    }),
    ("free texts without a string", |n| {
        sequence(
            n,
            |i| json!({"type": "any_text", "excludes": [format!("{}", i % 7)]}),
        )
    }),
    ("texts behind free text", |n| {
        sequence(2, |i| match i {
            0 => any(),
            _ => either(n, |i| text(format!("{i}"))),
        })
    }),
    ("schemas behind free text", |n| {
        sequence(2, |i| match i {
            0 => any(),
            _ => either(
                n,
                |i| json!({"type": "json_schema", "json_schema": {"const": i}}),
            ),
        })
    }),
    ("any values in a row", |n| {
        sequence(n, |_| json!({"type": "json_schema", "json_schema": true}))
    }),
    ("alternatives of repeats", |n| {
        either(
            n,
            |i| json!({"type": "repeat", "min": i, "max": 2 * i + 1, "content": text("ab")}),
        )
    }),
    ("repeats with gaps", |n| {
        nested(
            n.min(40),
            text("a"),
            |inner| json!({"type": "repeat", "min": 2, "max": 3, "content": around("optional", inner)}),
        )
    }),
    ("stars of alternatives of stars", |n| {
        nested(n.min(60), text("a"), |inner| {
            around(
                "star",
                either(2, |i| if i == 0 { inner.clone() } else { text("b") }),
            )
        })
    }),
    ("calls in each other", |n| {
        nested(n.min(40), any(), |inner| {
            json!({"type": "triggered_tags", "triggers": ["<f"],
                "tags": [tag("<f>".into(), inner, "</f>".into())]})
        })
    }),
    ("alternatives that double", |n| {
        // Written out, it doubles: 2^12 at most, because a request has no more.
        nested(n.min(12), text("c"), |inner| {
            let side = |end: &str| sequence(2, |i| if i == 0 { inner.clone() } else { text(end) });
            json!({"type": "or", "elements": [side("a"), side("b")]})
        })
    }),
    ("alternatives of one language", |n| either(n, |_| any())),
    ("alternatives of one beginning", |n| {
        either(n, |i| text(format!("{}{i}", "a".repeat(i % 40))))
    }),
    ("triggers", |n| {
        let tags: Vec<Value> = (0..n)
            .map(|i| {
                tag(
                    format!("<f{i}>"),
                    json!({"type": "json_schema", "json_schema": {"type": "object"}}),
                    "</f>".into(),
                )
            })
            .collect();
        json!({"type": "triggered_tags", "triggers": ["<f"], "tags": tags})
    }),
    ("tags in each other", |n| {
        nested(n.min(90), any(), |inner| {
            tag("<a>".into(), inner, "</a>".into())
        })
    }),
    ("dispatches in each other", |n| {
        nested(
            n.min(90),
            text("x"),
            |inner| json!({"type": "dispatch", "rules": [["!a", inner]], "loop": true}),
        )
    }),
    ("grammars", |n| {
        sequence(
            n,
            |_| json!({"type": "grammar", "grammar": "root ::= s\ns ::= s s | \"a\""}),
        )
    }),
    ("schemas", |n| {
        either(
            n,
            |i| json!({"type": "json_schema", "json_schema": {"type": "object", "properties": {format!("p{i}"): {"type": "string"}}}}),
        )
    }),
    ("schemas in a row", |n| {
        sequence(n, |_| {
            around(
                "optional",
                json!({"type": "json_schema", "json_schema": {"type": "array"}}),
            )
        })
    }),
    ("expressions that go on", |n| {
        sequence(n, |_| json!({"type": "regex", "pattern": "[a-z]+"}))
    }),
    ("expressions that go on, with a text between", |n| {
        sequence(2 * n, |i| match i % 2 {
            0 => json!({"type": "regex", "pattern": "[a-z]+"}),
            _ => text("a"),
        })
    }),
    ("numbers in a row", |n| {
        sequence(
            n,
            |_| json!({"type": "json_schema", "json_schema": {"type": "number"}}),
        )
    }),
    ("expressions in a row", |n| {
        sequence(n, |_| json!({"type": "regex", "pattern": "[a-z]*a?"}))
    }),
    ("tags with a separator", |n| {
        let tags: Vec<Value> = (0..n)
            .map(|i| tag(format!("<{i}>"), any(), format!("</{i}>")))
            .collect();
        json!({"type": "tags_with_separator", "tags": tags, "separator": "", "at_least_one": true})
    }),
];
