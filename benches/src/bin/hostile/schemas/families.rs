//! Schemas of a kind that come in sizes, schemas of one kind each, and schemas drawn at random. For
//! example, an `enum` of `word0`, `word7919` and so on, in lengths that grow.

use serde_json::{Map, Value, json};

use crate::harness::case::Sized;

/// Makes a schema.
pub(crate) type Make = std::sync::Arc<dyn Fn() -> Value + Send + Sync>;

/// All of them, with their names.
pub(crate) fn all() -> Vec<(String, Make)> {
    let mut all: Vec<(String, Make)> = Vec::new();
    let mut add = |name: String, make: Box<dyn Fn() -> Value + Send + Sync>| {
        all.push((name, std::sync::Arc::from(make)));
    };
    for n in [3usize, 39, 100, 350] {
        for (kind, make) in ALTERNATIVES {
            add(format!("{kind} x {n}"), Box::new(move || make(n)));
        }
    }
    for n in [10usize, 1_000, 50_000] {
        for (kind, make) in LISTED {
            add(format!("{kind} x {n}"), Box::new(move || make(n)));
        }
    }
    for n in [5usize, 40, 120, 2_000] {
        for (kind, make) in NESTED {
            add(format!("{kind} {n} deep"), Box::new(move || make(n)));
        }
    }
    for (kind, make) in SINGLE {
        add((*kind).to_owned(), Box::new(make));
    }
    for seed in 0..24 {
        add(format!("drawn {seed}"), Box::new(move || drawn(seed)));
    }
    all
}

fn properties(names: impl Iterator<Item = String>, schema: &Value) -> Value {
    Value::Object(
        names
            .map(|name| (name, schema.clone()))
            .collect::<Map<_, _>>(),
    )
}

/// Alternatives that are hard to tell apart, because their states multiply where texts can be of
/// several.
const ALTERNATIVES: &[Sized<Value>] = &[
    ("oneOf of overlapping objects", |n| {
        let one = |i: usize| {
            let names = (i..i + 4).map(|j| format!("k{}", j % n.max(5)));
            json!({"type": "object", "properties": properties(names, &json!({"type": "string"})),
                   "required": [format!("k{}", i % n.max(5))]})
        };
        json!({"oneOf": (0..n).map(one).collect::<Vec<_>>()})
    }),
    ("oneOf of closed objects", |n| {
        let one = |i: usize| {
            let names = (0..6).map(|j| format!("{}{}", ["name", "type", "v"][j % 3], (i * j) % 17));
            json!({"type": "object", "properties": properties(names, &json!({"type": "integer"})),
                   "additionalProperties": false, "required": [format!("name{}", 0)]})
        };
        json!({"oneOf": (0..n).map(one).collect::<Vec<_>>()})
    }),
    ("anyOf of tagged objects", |n| {
        let one = |i: usize| {
            json!({"type": "object", "required": ["kind"], "properties":
                   {"kind": {"const": format!("kind {i}")}, "value": {"type": "integer", "minimum": i}}})
        };
        json!({"anyOf": (0..n).map(one).collect::<Vec<_>>()})
    }),
    ("allOf of patterns", |n| {
        let one = |i: usize| json!({"type": "string", "pattern": format!("[a-z]{{{},}}", i % 9)});
        json!({"allOf": (0..n).map(one).collect::<Vec<_>>()})
    }),
    ("anyOf of patterns", |n| {
        let one = |i: usize| json!({"type": "string", "pattern": format!("^x{i}[a-m]*{i}y$")});
        json!({"anyOf": (0..n).map(one).collect::<Vec<_>>()})
    }),
    (
        "not of consts",
        |n| json!({"type": "string", "not": {"enum": (0..n).map(|i| format!("no {i}")).collect::<Vec<_>>()}}),
    ),
    ("if/then/else in a chain", |n| {
        (0..n).rev().fold(json!({"type": "integer"}), |rest, i| {
            json!({"type": "object", "properties": {"a": {"type": "integer"}},
                   "if": {"properties": {"a": {"const": i}}},
                   "then": {"required": ["b"]}, "else": {"anyOf": [rest, {"required": ["c"]}]}})
        })
    }),
    ("dependentRequired in a circle", |n| {
        let names = || (0..n).map(|i| format!("p{i}"));
        let next: Map<String, Value> = (0..n)
            .map(|i| (format!("p{i}"), json!([format!("p{}", (i + 1) % n)])))
            .collect();
        json!({"type": "object", "properties": properties(names(), &json!({"type": "boolean"})),
               "additionalProperties": false, "dependentRequired": next})
    }),
    ("patternProperties", |n| {
        let rules: Map<String, Value> = (0..n)
            .map(|i| {
                (
                    format!("^[a-{}]+{}", char::from(b'c' + (i % 20) as u8), i % 7),
                    json!({"type": "integer"}),
                )
            })
            .collect();
        json!({"type": "object", "patternProperties": rules, "minProperties": 2})
    }),
    ("required of many", |n| {
        let names: Vec<String> = (0..n).map(|i| format!("member {i}")).collect();
        json!({"type": "object", "required": names, "maxProperties": n,
               "properties": properties(names.iter().cloned(), &json!({"type": "null"}))})
    }),
    ("allOf of oneOf", |n| {
        let one = |i: usize| json!({"oneOf": [{"required": [format!("a{i}")]}, {"required": [format!("b{i}")]}]});
        json!({"type": "object", "allOf": (0..n).map(one).collect::<Vec<_>>()})
    }),
    (
        "multiples",
        |n| json!({"type": "integer", "multipleOf": n * 57 + 1, "minimum": -1, "maximum": n * 10_000}),
    ),
];

/// Long lists, because each value of an `enum` can become states of its own.
const LISTED: &[Sized<Value>] = &[
    (
        "enum of words",
        |n| json!({"enum": (0..n).map(|i| format!("word{}", i * 7919)).collect::<Vec<_>>()}),
    ),
    (
        "enum of integers",
        |n| json!({"enum": (0..n).map(|i| i * 31).collect::<Vec<_>>()}),
    ),
    (
        "enum of decimals",
        |n| json!({"enum": (0..n).map(|i| i as f64 / 8.0 + 0.1).collect::<Vec<_>>()}),
    ),
    ("enum of characters", |n| {
        let one = |i: usize| char::from_u32(0x4E00 + (i % 20_000) as u32).map(String::from);
        json!({"enum": (0..n).filter_map(one).map(|c| format!("{c}{}", c.len())).collect::<std::collections::BTreeSet<_>>()})
    }),
    (
        "enum of arrays",
        |n| json!({"enum": (0..n).map(|i| json!([i, [i], {"a": i}])).collect::<Vec<_>>()}),
    ),
    ("unique enum of words", |n| {
        json!({"type": "array", "uniqueItems": true, "minItems": 3,
               "items": {"enum": (0..n).map(|i| format!("w{i}")).collect::<Vec<_>>()}})
    }),
    ("unique enum of decimals", |n| {
        json!({"type": "array", "uniqueItems": true, "minItems": n.min(50),
               "items": {"enum": (0..n).map(|i| i as f64 / 4.0).collect::<Vec<_>>()}})
    }),
    ("const of many members", |n| {
        let members: Map<String, Value> = (0..n).map(|i| (format!("m{i}"), json!(i))).collect();
        json!({"const": members})
    }),
    (
        "prefixItems",
        |n| json!({"type": "array", "prefixItems": vec![json!({"type": "integer"}); n], "items": false}),
    ),
    ("properties", |n| {
        let names = (0..n).map(|i| format!("property number {i}"));
        json!({"type": "object", "properties": properties(names, &json!({"type": "integer"}))})
    }),
    (
        "minLength",
        |n| json!({"type": "string", "minLength": n, "maxLength": n * 2}),
    ),
    (
        "minItems",
        |n| json!({"type": "array", "items": {"type": "boolean"}, "minItems": n, "maxItems": n + 5}),
    ),
    (
        "unique minItems",
        |n| json!({"type": "array", "items": {"type": "integer"}, "minItems": n, "uniqueItems": true}),
    ),
    (
        "minProperties",
        |n| json!({"type": "object", "minProperties": n}),
    ),
    (
        "pattern of length",
        |n| json!({"type": "string", "pattern": "ab?".repeat(n)}),
    ),
    (
        "pattern counted",
        |n| json!({"type": "string", "pattern": format!("^(a|bb|ccc){{0,{n}}}$")}),
    ),
    (
        "unique patterns",
        |n| json!({"type": "array", "uniqueItems": true, "minItems": n, "items": {"type": "string", "pattern": "^[a-z]{3}$"}}),
    ),
];

/// Schemas one in another, because readers that call themselves can overflow the stack.
const NESTED: &[Sized<Value>] = &[
    ("items", |n| {
        (0..n).fold(
            json!({"type": "integer"}),
            |inner, _| json!({"type": "array", "items": inner}),
        )
    }),
    ("properties", |n| {
        (0..n).fold(json!({"type": "integer"}), |inner, i| {
            json!({"type": "object", "properties": {format!("p{}", i % 3): inner}, "required": [format!("p{}", i % 3)]})
        })
    }),
    ("not", |n| {
        (0..n).fold(
            json!({"type": "string", "pattern": "a"}),
            |inner, _| json!({"not": inner}),
        )
    }),
    ("anyOf of two", |n| {
        (0..n).fold(
            json!({"type": "integer"}),
            |inner, i| json!({"anyOf": [{"type": "array", "items": inner}, {"const": i}]}),
        )
    }),
    ("oneOf of two alike", |n| {
        (0..n).fold(json!({"type": "integer"}), |inner, _| {
            json!({"oneOf": [{"type": "array", "items": inner, "maxItems": 3}, {"type": "array", "minItems": 5}]})
        })
    }),
    ("allOf", |n| {
        (0..n).fold(
            json!({"type": "object"}),
            |inner, i| json!({"allOf": [inner, {"required": [format!("r{i}")]}]}),
        )
    }),
    ("if", |n| {
        (0..n).fold(json!({"type": "object"}), |inner, i| {
        json!({"type": "object", "if": inner, "then": {"required": [format!("r{i}")]}, "else": {"properties": {"x": false}}})
    })
    }),
    ("additionalProperties", |n| {
        (0..n).fold(
            json!({"type": "null"}),
            |inner, _| json!({"type": "object", "additionalProperties": inner}),
        )
    }),
    ("definitions in a chain", |n| {
        let mut definitions: Map<String, Value> = (0..n)
            .map(|i| {
                (
                    format!("d{i}"),
                    json!({"$ref": format!("#/$defs/d{}", i + 1)}),
                )
            })
            .collect();
        definitions.insert(format!("d{n}"), json!({"type": "boolean"}));
        json!({"$defs": definitions, "$ref": "#/$defs/d0"})
    }),
    ("definitions that double", |n| {
        let mut definitions: Map<String, Value> = (0..n)
            .map(|i| {
                let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
                (format!("d{i}"), json!({"type": "array", "prefixItems": [next, next], "items": false, "minItems": 1}))
            })
            .collect();
        definitions.insert(format!("d{n}"), json!({"type": "boolean"}));
        json!({"$defs": definitions, "$ref": "#/$defs/d0"})
    }),
];

/// A schema and what it is called.
type Single = (&'static str, fn() -> Value);

/// Schemas of one size, as a reference to itself.
const SINGLE: &[Single] = &[
    ("a reference to itself", || json!({"$ref": "#"})),
    (
        "references in a circle",
        || json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
    ),
    (
        "a circle by anyOf",
        || json!({"anyOf": [{"$ref": "#"}, {"type": "integer"}]}),
    ),
    ("a circle by not", || json!({"not": {"$ref": "#"}})),
    (
        "an endless list",
        || json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}),
    ),
    (
        "a tree",
        || json!({"type": "object", "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}}, "additionalProperties": false}),
    ),
    ("a reference to nothing", || json!({"$ref": "#/$defs/none"})),
    (
        "a reference elsewhere",
        || json!({"$ref": "http://example.com/schema"}),
    ),
    (
        "an id that is a number",
        || json!({"$id": 5, "type": "integer"}),
    ),
    (
        "a schema that is a number",
        || json!({"$schema": 7, "type": "integer"}),
    ),
    (
        "a broken pattern of names",
        || json!({"type": "object", "patternProperties": {"(": true}}),
    ),
    (
        "duplicate anchors",
        || json!({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}, "$ref": "#x"}),
    ),
    (
        "unique words of Cyrillic",
        || json!({"type": "array", "items": {"enum": ["да", "нет", "дом"]}, "uniqueItems": true, "minItems": 3}),
    ),
    (
        "unique words of Chinese",
        || json!({"type": "array", "items": {"enum": ["红", "绿"]}, "uniqueItems": true, "minItems": 2}),
    ),
    (
        "unique places that need each other",
        || json!({"type": "array", "prefixItems": [{"enum": [1, 2]}, {"enum": [1]}], "minItems": 2, "items": false, "uniqueItems": true}),
    ),
    (
        "unique more than there are",
        || json!({"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": true, "minItems": 4}),
    ),
    (
        "unique letters by threes",
        || json!({"type": "array", "items": {"type": "string", "pattern": "^[abc]{3}$"}, "uniqueItems": true, "minItems": 27}),
    ),
    (
        "unique letters one too many",
        || json!({"type": "array", "items": {"type": "string", "pattern": "^[abc]{3}$"}, "uniqueItems": true, "minItems": 28}),
    ),
    (
        "unique booleans",
        || json!({"type": "array", "items": {"type": "boolean"}, "uniqueItems": true, "minItems": 2}),
    ),
    (
        "unique objects",
        || json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": false}, "uniqueItems": true, "minItems": 3}),
    ),
    (
        "unique with contains",
        || json!({"type": "array", "uniqueItems": true, "contains": {"const": 1}, "minContains": 2}),
    ),
    (
        "contains of many",
        || json!({"type": "array", "contains": {"type": "string"}, "minContains": 300, "maxContains": 301}),
    ),
    (
        "a great minimum",
        || json!({"type": "integer", "minimum": 1e300}),
    ),
    (
        "a great multiple",
        || json!({"type": "number", "multipleOf": 1e30}),
    ),
    (
        "a small multiple",
        || json!({"type": "number", "multipleOf": 1e-30}),
    ),
    (
        "a prime multiple",
        || json!({"type": "integer", "multipleOf": 1_999}),
    ),
    (
        "a large prime multiple",
        || json!({"type": "integer", "multipleOf": 1_000_003}),
    ),
    (
        "multiples of each other",
        || json!({"allOf": (2..30).map(|n| json!({"type": "integer", "multipleOf": n})).collect::<Vec<_>>()}),
    ),
    (
        "a narrow range",
        || json!({"type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.100_000_000_1}),
    ),
    (
        "an empty range",
        || json!({"type": "number", "minimum": 2, "maximum": 1}),
    ),
    (
        "a million characters",
        || json!({"type": "string", "minLength": 1_000_000}),
    ),
    (
        "a million items",
        || json!({"type": "array", "items": {"type": "integer"}, "minItems": 1_000_000}),
    ),
    (
        "the most characters",
        || json!({"type": "string", "minLength": u64::MAX}),
    ),
    (
        "the most items",
        || json!({"type": "array", "minItems": u64::MAX, "items": {"type": "null"}}),
    ),
    (
        "the most members",
        || json!({"type": "object", "minProperties": u64::MAX}),
    ),
    (
        "a pattern that doubles",
        || json!({"type": "string", "pattern": "^(a|b)*a(a|b){20}$"}),
    ),
    (
        "a pattern of patterns",
        || json!({"type": "string", "pattern": "(a{1,1000}){1,1000}"}),
    ),
    (
        "a pattern of all letters",
        || json!({"type": "string", "pattern": "^\\p{L}{1,1000}$"}),
    ),
    (
        "a pattern that looks",
        || json!({"type": "string", "pattern": "^(?=.*a)(?!.*b).*$"}),
    ),
    (
        "a pattern of names and length",
        || json!({"type": "object", "propertyNames": {"pattern": "^[a-z]{1,3}$", "not": {"enum": ["a", "b"]}}, "minProperties": 20}),
    ),
    (
        "few names and many members",
        || json!({"type": "object", "patternProperties": {"^[ab]$": {"type": "null"}}, "additionalProperties": false, "minProperties": 3}),
    ),
    (
        "every format",
        || json!({"type": "object", "properties": {"a": {"type": "string", "format": "email"}, "b": {"type": "string", "format": "uri"}, "c": {"type": "string", "format": "date-time"}, "d": {"type": "string", "format": "ipv6"}, "e": {"type": "string", "format": "uuid"}, "f": {"type": "string", "format": "hostname"}, "g": {"type": "string", "format": "idn-email"}, "h": {"type": "string", "format": "iri"}, "i": {"type": "string", "format": "duration"}, "j": {"type": "string", "format": "json-pointer"}}, "required": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]}),
    ),
    (
        "formats that meet",
        || json!({"type": "string", "allOf": [{"format": "email"}, {"format": "uri"}, {"pattern": "x"}, {"minLength": 30}]}),
    ),
    (
        "a format that is not",
        || json!({"type": "string", "not": {"format": "uuid"}}),
    ),
    (
        "unevaluated members",
        || json!({"type": "object", "anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"type": "string"}}}], "unevaluatedProperties": false}),
    ),
    (
        "unevaluated items",
        || json!({"type": "array", "anyOf": [{"prefixItems": [{"const": 1}]}, {"prefixItems": [{"const": 2}, {"const": 3}]}], "unevaluatedItems": false}),
    ),
    ("nothing", || json!(false)),
    ("anything", || json!(true)),
    ("a list", || json!([1, 2])),
    (
        "a long name",
        || json!({"type": "object", "properties": {"n".repeat(100_000): {"type": "integer"}}, "required": ["n".repeat(100_000)]}),
    ),
    (
        "a long constant",
        || json!({"const": "c".repeat(1_000_000)}),
    ),
    (
        "a long keyword",
        || json!({"k".repeat(1_000_000): 1, "type": "k".repeat(1_000_000)}),
    ),
    (
        "names that escape",
        || json!({"type": "object", "properties": {"\u{0}": {"const": "\u{1F}"}, "\"": {"const": "\\"}, "\u{10FFFF}": {"const": "\u{1F600}"}}, "required": ["\u{0}", "\"", "\u{10FFFF}"], "additionalProperties": false}),
    ),
    (
        "settings of a stranger",
        || json!({"x-tokenmold": {"nesting": 1_000, "anyValue": 16, "recursion": 16, "whitespace": {"pattern": "(a{1,1000}){1,1000}"}}, "type": "object"}),
    ),
];

/// A schema of keywords drawn at random: combinations that nobody would write.
fn drawn(seed: u64) -> Value {
    use rand::{RngExt as _, SeedableRng as _};
    fn schema(random: &mut rand_chacha::ChaCha8Rng, depth: usize) -> Value {
        if depth == 0 {
            return match random.random_range(0..7u32) {
                0 => json!({"type": "string", "pattern": "^[a-c]{2,4}$"}),
                1 => json!({"type": "integer", "minimum": -3, "maximum": 40}),
                2 => json!({"enum": ["a", 1, null, true, [1], {"a": 1}]}),
                3 => json!({"type": "string", "maxLength": 3}),
                4 => json!({"type": "number", "multipleOf": 0.25}),
                5 => json!({"type": ["boolean", "null"]}),
                _ => json!(true),
            };
        }
        let one = |random: &mut rand_chacha::ChaCha8Rng| schema(random, depth - 1);
        match random.random_range(0..9u32) {
            0 => json!({"anyOf": [one(random), one(random)]}),
            1 => json!({"oneOf": [one(random), one(random), one(random)]}),
            2 => json!({"allOf": [one(random), one(random)]}),
            3 => json!({"not": one(random)}),
            4 => json!({"if": one(random), "then": one(random), "else": one(random)}),
            5 => {
                json!({"type": "array", "items": one(random), "uniqueItems": random.random::<bool>(), "minItems": 2, "maxItems": 4})
            }
            6 => {
                json!({"type": "array", "prefixItems": [one(random), one(random)], "contains": one(random)})
            }
            7 => {
                json!({"type": "object", "properties": {"a": one(random), "b": one(random), "ab": one(random)}, "required": ["a"], "patternProperties": {"b$": one(random)}})
            }
            _ => {
                json!({"type": "object", "additionalProperties": one(random), "minProperties": 1, "propertyNames": {"maxLength": 2}})
            }
        }
    }
    schema(&mut rand_chacha::ChaCha8Rng::seed_from_u64(seed), 4)
}
