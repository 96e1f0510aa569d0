//! Random schemas of every keyword that is enforced, and values near them.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

/// A small generator, so that a value is named by its seed.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        ((self.0 >> 33) as usize) % below.max(1)
    }

    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.next(from.len())]
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.next(n) == 0
    }
}

/// So many cases, the same each time; as many others as `ROUNDS` says where it is
/// set, by chance or by `PROPTEST_RNG_SEED`.
pub(crate) fn runner(usual: u32) -> (TestRunner, u32) {
    let rounds = std::env::var("ROUNDS").ok();
    let cases = match &rounds {
        Some(n) => n.parse().expect("ROUNDS is a number"),
        None => usual,
    };
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let runner = match rounds {
        Some(_) => TestRunner::new(config),
        None => {
            let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[4; 32]);
            TestRunner::new_with_rng(config, rng)
        }
    };
    (runner, cases)
}

const NAMES: &[&str] = &["a", "b", "c", "ab"];
const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "ab",
    "ba",
    "axb",
    "c",
    "2024-02-29",
    "2023-02-29",
    "1.2.3.4",
    "é",
];
const PATTERNS: &[&str] = &["^a", "b$", "^[ab]+$", "a.b", "^(?!b)"];

/// One value of a kind or of few, often listed.
fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => (-3i64..7).prop_map(Value::from),
        1 => select(vec![json!(0.5), json!(1.5), json!(2.25), json!(1.0)]),
        3 => select(TEXTS).prop_map(Value::from),
        1 => select(vec![json!(null), json!(true), json!(false)]),
        1 => select(vec![json!([]), json!(["a"]), json!({}), json!({"a": 1}), json!([1, "a"])]),
    ]
}

type Pairs = Vec<(&'static str, Value)>;

fn one(name: &'static str, value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Pairs> {
    value.prop_map(move |v| vec![(name, v)]).boxed()
}

/// Some keywords of one location, those that belong together side by side.
fn keywords(inner: BoxedStrategy<Value>) -> BoxedStrategy<Pairs> {
    let s = || inner.clone();
    let list = |n: usize| proptest::collection::vec(inner.clone(), 1..=n).prop_map(Value::from);
    let small = || (0u64..4).prop_map(Value::from);
    let name = || select(NAMES);
    let named = |value: BoxedStrategy<Value>, most: usize| {
        proptest::collection::vec((select(NAMES), value), 1..=most).prop_map(|pairs| {
            let map = pairs.into_iter().map(|(k, v)| (k.to_owned(), v));
            Value::Object(map.collect::<Map<_, _>>())
        })
    };
    let names =
        || proptest::sample::subsequence(NAMES, 1..=2).prop_map(|n| Value::from(n.to_vec()));
    let values = proptest::collection::vec(scalar(), 1..5).prop_map(Value::from);
    let numbers = prop_oneof![
        one("minimum", (-2i64..4).prop_map(Value::from)),
        one("maximum", (0i64..7).prop_map(Value::from)),
        one("exclusiveMinimum", (-3i64..3).prop_map(Value::from)),
        one("exclusiveMaximum", (1i64..8).prop_map(Value::from)),
        one("multipleOf", select(vec![json!(2), json!(0.5), json!(3)])),
    ];
    let strings = prop_oneof![
        one("minLength", small()),
        one("maxLength", small()),
        one("pattern", select(PATTERNS).prop_map(Value::from)),
        one("format", select(vec![json!("date"), json!("ipv4")])),
    ];
    let arrays = prop_oneof![
        2 => one("items", s()),
        3 => (list(2), s()).prop_map(|(p, i)| vec![("prefixItems", p), ("items", i)]),
        1 => one("prefixItems", list(2)),
        1 => one("minItems", (0u64..3).prop_map(Value::from)),
        1 => one("maxItems", (1u64..4).prop_map(Value::from)),
        1 => one("uniqueItems", Just(json!(true))),
        1 => one("contains", s()),
        1 => (s(), 0u64..3).prop_map(|(c, n)| vec![("contains", c), ("minContains", json!(n))]),
        1 => (s(), 1u64..3).prop_map(|(c, n)| vec![("contains", c), ("minContains", json!(0)), ("maxContains", json!(n))]),
        1 => (list(2), s()).prop_map(|(p, u)| vec![("prefixItems", p), ("unevaluatedItems", u)]),
        1 => (s(), s()).prop_map(|(c, u)| vec![("contains", c), ("unevaluatedItems", u)]),
    ];
    let objects = prop_oneof![
        4 => one("properties", named(s(), 3)),
        2 => one("required", names()),
        2 => (named(s(), 2), names()).prop_map(|(p, r)| vec![("properties", p), ("required", r)]),
        1 => one("additionalProperties", s()),
        1 => one("patternProperties", (select(vec!["^a", "b$", "c"]), s()).prop_map(|(p, v)| json!({ p: v }))),
        1 => one("propertyNames", select(vec![json!({"pattern": "^a"}), json!({"maxLength": 1}), json!({"enum": ["a", "b"]})])),
        1 => one("minProperties", (0u64..3).prop_map(Value::from)),
        1 => one("maxProperties", (1u64..4).prop_map(Value::from)),
        1 => one("dependentRequired", (name(), names()).prop_map(|(k, v)| json!({ k: v }))),
        1 => one("dependentSchemas", (name(), s()).prop_map(|(k, v)| json!({ k: v }))),
        1 => (named(s(), 2), list(2), s()).prop_map(|(p, a, u)| vec![("properties", p), ("anyOf", a), ("unevaluatedProperties", u)]),
        1 => one("unevaluatedProperties", s()),
    ];
    let combinations = prop_oneof![
        1 => one("allOf", list(2)),
        2 => one("anyOf", list(3)),
        3 => one("oneOf", list(3)),
        2 => one("not", s()),
        2 => (s(), s(), s()).prop_map(|(i, t, e)| vec![("if", i), ("then", t), ("else", e)]),
        1 => (s(), s()).prop_map(|(i, t)| vec![("if", i), ("then", t)]),
    ];
    let types = select(vec![
        json!("object"),
        json!("array"),
        json!("string"),
        json!("integer"),
        json!("number"),
        json!(["string", "null"]),
        json!(["object", "integer"]),
        json!("boolean"),
    ]);
    prop_oneof![
        3 => one("type", types),
        1 => one("enum", values),
        1 => one("const", scalar()),
        2 => numbers,
        2 => strings,
        4 => arrays,
        6 => objects,
        5 => combinations,
        1 => one("$ref", Just(json!("#/$defs/d"))),
    ]
    .boxed()
}

/// Random schemas, mostly of draft 2020-12, some of draft 7.
pub(crate) fn schema() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        3 => select(vec![json!({"type": "string"}), json!({"type": "integer"}), json!({"type": "object"}), json!({"type": "array"}), json!({"type": ["number", "null"]})]),
        1 => Just(json!(true)),
        1 => (0u64..10).prop_map(|n| json!(n > 3)),
        1 => proptest::collection::vec(scalar(), 1..4).prop_map(|v| json!({ "enum": v })),
        1 => scalar().prop_map(|v| json!({ "const": v })),
        1 => (0i64..4).prop_map(|n| json!({ "minimum": n })),
        1 => (1u64..3).prop_map(|n| json!({ "maxLength": n })),
        1 => select(PATTERNS).prop_map(|p| json!({ "pattern": p })),
    ];
    let tree = leaf.prop_recursive(3, 24, 3, |inner| {
        proptest::collection::vec(keywords(inner.boxed()), 1..4).prop_map(|parts| {
            let pairs = parts.into_iter().flatten();
            Value::Object(pairs.map(|(k, v)| (k.to_owned(), v)).collect())
        })
    });
    let definition = select(vec![
        json!({"type": ["string", "integer"]}),
        json!({"maxLength": 2, "maximum": 3}),
        json!({"type": "array", "items": {"$ref": "#/$defs/d"}, "maxItems": 2}),
        json!({"properties": {"a": {"$ref": "#/$defs/d"}, "b": {"type": "null"}}}),
    ]);
    (tree, definition, 0u32..3)
        .prop_map(|(mut schema, definition, old)| {
            if let Value::Object(map) = &mut schema {
                map.insert("$defs".to_owned(), json!({ "d": definition }));
                if old == 0 {
                    let uri = json!("http://json-schema.org/draft-07/schema#");
                    map.insert("$schema".to_owned(), uri);
                    return in_draft_7(schema);
                }
            }
            schema
        })
        .boxed()
}

/// The same keywords as draft 7 has them.
fn in_draft_7(schema: Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut out = Map::new();
            let prefix = map.contains_key("prefixItems");
            for (key, value) in map {
                let value = in_draft_7(value);
                match key.as_str() {
                    "prefixItems" => out.insert("items".to_owned(), value),
                    "items" if prefix => out.insert("additionalItems".to_owned(), value),
                    "dependentRequired" | "dependentSchemas" => {
                        out.insert("dependencies".to_owned(), value)
                    }
                    "$defs" => out.insert("definitions".to_owned(), value),
                    "unevaluatedItems"
                    | "unevaluatedProperties"
                    | "minContains"
                    | "maxContains" => None,
                    _ => out.insert(key, value),
                };
            }
            Value::Object(out)
        }
        Value::Array(items) => items.into_iter().map(in_draft_7).collect(),
        Value::String(text) if text == "#/$defs/d" => json!("#/definitions/d"),
        other => other,
    }
}

/// Any small value.
pub(crate) fn value(c: &mut Chance, depth: usize) -> Value {
    match c.next(if depth == 0 { 6 } else { 10 }) {
        0 => Value::Null,
        1 => json!(c.one_in(2)),
        2 => json!(c.next(8) as i64 - 2),
        3 => json!(c.next(8) as f64 / 4.0),
        4 | 5 => json!(c.pick(TEXTS)),
        6 | 7 => (0..c.next(4)).map(|_| value(c, depth - 1)).collect(),
        _ => {
            let mut map = Map::new();
            for _ in 0..c.next(4) {
                map.insert((*c.pick(NAMES)).to_owned(), value(c, depth - 1));
            }
            Value::Object(map)
        }
    }
}

/// A value that is likely to satisfy a schema, and now and then just not.
pub(crate) fn near(schema: &Value, root: &Value, c: &mut Chance, depth: usize) -> Value {
    let Some(map) = schema.as_object() else {
        return value(c, depth.min(1));
    };
    if depth == 0 || c.one_in(14) {
        return value(c, depth.min(2));
    }
    let get = |name: &str| map.get(name);
    let listed = get("enum").and_then(Value::as_array);
    if let Some(values) = listed.filter(|v| !v.is_empty()) {
        return c.pick(values).clone();
    }
    if let Some(one) = get("const") {
        return one.clone();
    }
    // Into a branch, the location itself more often than not.
    let mut inside: Vec<&Value> = Vec::new();
    for name in ["allOf", "anyOf", "oneOf"] {
        inside.extend(get(name).and_then(Value::as_array).into_iter().flatten());
    }
    inside.extend(["then", "else", "if"].iter().filter_map(|n| get(n)));
    let reference = get("$ref").or(get("$dynamicRef")).and_then(Value::as_str);
    let target = reference.and_then(|r| root.pointer(r.trim_start_matches('#')));
    inside.extend(target);
    if !inside.is_empty() && !c.one_in(3) {
        let at = *c.pick(&inside);
        let found = near(at, root, c, depth - 1);
        if let (Value::Object(mut a), Value::Object(b)) = (own(map, root, c, depth), found.clone())
        {
            a.extend(b);
            return Value::Object(a);
        }
        return found;
    }
    own(map, root, c, depth)
}

fn own(map: &Map<String, Value>, root: &Value, c: &mut Chance, depth: usize) -> Value {
    let number = |name: &str| map.get(name).and_then(Value::as_i64);
    let kinds: Vec<&str> = match map.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(some)) => some.iter().filter_map(Value::as_str).collect(),
        _ => {
            let hints = [
                (
                    "object",
                    &[
                        "properties",
                        "required",
                        "additionalProperties",
                        "patternProperties",
                        "minProperties",
                        "dependentRequired",
                        "dependencies",
                        "propertyNames",
                        "unevaluatedProperties",
                    ][..],
                ),
                (
                    "array",
                    &[
                        "items",
                        "prefixItems",
                        "contains",
                        "minItems",
                        "uniqueItems",
                        "unevaluatedItems",
                    ][..],
                ),
                (
                    "string",
                    &["pattern", "minLength", "maxLength", "format"][..],
                ),
                (
                    "number",
                    &[
                        "minimum",
                        "maximum",
                        "multipleOf",
                        "exclusiveMinimum",
                        "exclusiveMaximum",
                    ][..],
                ),
            ];
            let of = hints
                .iter()
                .filter(|(_, k)| k.iter().any(|k| map.contains_key(*k)));
            of.map(|(kind, _)| *kind).collect()
        }
    };
    let kind = if kinds.is_empty() {
        ""
    } else {
        *c.pick(&kinds)
    };
    let child = |s: Option<&Value>, c: &mut Chance| match s {
        Some(s) => near(s, root, c, depth - 1),
        None => value(c, 1),
    };
    match kind {
        "null" => Value::Null,
        "boolean" => json!(c.one_in(2)),
        "integer" | "number" => {
            let low = number("minimum")
                .or(number("exclusiveMinimum"))
                .unwrap_or(-2);
            let by = c.next(5) as i64;
            match map.get("multipleOf") {
                Some(step) if step.is_f64() => json!(0.5 * by as f64),
                Some(step) => json!(step.as_i64().unwrap_or(1) * by),
                None if kind == "number" && c.one_in(4) => json!(low as f64 + 0.5),
                None => json!(low + by),
            }
        }
        "string" => match map.get("format").and_then(Value::as_str) {
            Some("date") => json!("2024-02-29"),
            Some("ipv4") => json!("1.2.3.4"),
            _ => json!(c.pick(TEXTS)),
        },
        "array" => {
            let least = number("minItems")
                .unwrap_or(0)
                .max(i64::from(map.contains_key("contains")));
            let old = map.get("items").and_then(Value::as_array);
            let prefix = map.get("prefixItems").and_then(Value::as_array).or(old);
            let rest = match old {
                Some(_) => map.get("additionalItems"),
                None => map.get("items").or(map.get("unevaluatedItems")),
            };
            let n = least as usize + c.next(3);
            let item = |i: usize, c: &mut Chance| {
                let here = prefix.and_then(|p| p.get(i)).or(rest);
                match map.get("contains") {
                    Some(s) if c.one_in(2) => child(Some(s), c),
                    _ => child(here, c),
                }
            };
            (0..n).map(|i| item(i, c)).collect()
        }
        "object" => {
            let mut out = Map::new();
            let properties = map.get("properties").and_then(Value::as_object);
            for (name, s) in properties.into_iter().flatten() {
                if !c.one_in(3) {
                    out.insert(name.clone(), child(Some(s), c));
                }
            }
            let required = map.get("required").and_then(Value::as_array);
            let names = required.into_iter().flatten().filter_map(Value::as_str);
            for name in names {
                let s = properties.and_then(|p| p.get(name));
                out.insert(
                    name.to_owned(),
                    child(s.or(map.get("additionalProperties")), c),
                );
            }
            let least = number("minProperties").unwrap_or(0) as usize;
            while out.len() < least || c.one_in(4) {
                let name = *c.pick(NAMES);
                let s = map
                    .get("additionalProperties")
                    .or(map.get("unevaluatedProperties"));
                out.insert(name.to_owned(), child(s, c));
            }
            Value::Object(out)
        }
        _ => value(c, depth.min(2)),
    }
}
