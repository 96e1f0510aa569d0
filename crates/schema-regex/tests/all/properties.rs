//! Random schemas: nothing panics, the expression agrees with the validator,
//! and the validator with another one.

use proptest::prelude::*;
use schema_regex::{Options, Recursion, Whitespace, parse, to_regex};
use serde_json::{Map, Value, json};

use crate::common;
use crate::common::values::{depth_of_any, nesting, orders};

const KEYS: &[&str] = &[
    "type",
    "enum",
    "const",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "$defs",
    "$id",
    "$anchor",
    "unevaluatedProperties",
    "unevaluatedItems",
    "a",
    "b",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "a",
            "b",
            "string",
            "integer",
            "object",
            "array",
            "#",
            "#/a",
            "#/$defs/a",
            "^a",
            "a$",
            "(",
            "[^]",
            "date",
            "é",
            "\\",
            "\"",
            "(?=a)b",
            "^(?!a)b*$",
            "x{3,2}",
            "\u{1F600}",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,6}",
    ]
}

/// Values that look like schemas, right and wrong.
fn wild() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..40).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((proptest::sample::select(KEYS), inner), 0..6).prop_map(
                |pairs| Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            ),
        ]
    })
}

/// Schemas of the kinds that are fully expressed.
fn tame() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        proptest::sample::select(vec![
            "null", "boolean", "integer", "number", "string", "array", "object"
        ])
        .prop_map(|t| json!({"type": t})),
        (-3i64..8, 0i64..8)
            .prop_map(|(a, n)| json!({"type": "integer", "minimum": a, "maximum": a + n})),
        (0u64..3, 0u64..3)
            .prop_map(|(a, n)| json!({"type": "string", "minLength": a, "maxLength": a + n})),
        proptest::sample::select(vec!["^a", "b", "^[ab]*$", "a.b"])
            .prop_map(|p| json!({"pattern": p})),
        proptest::sample::subsequence(
            vec![
                json!(1),
                json!("a"),
                json!(null),
                json!("ab"),
                json!([1]),
                json!({"a": 1})
            ],
            1..4
        )
        .prop_map(|v| json!({"enum": v})),
        proptest::sample::subsequence(vec!["a", "b", "c"], 1..3)
            .prop_map(|v| json!({"required": v})),
        (0u64..3, 0u64..2).prop_map(|(a, n)| json!({"minItems": a, "maxItems": a + n})),
        (0u64..3, 0u64..2).prop_map(|(a, n)| json!({"minProperties": a, "maxProperties": a + n})),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            list.clone().prop_map(|l| json!({"anyOf": l})),
            list.clone().prop_map(|l| json!({"allOf": l})),
            list.clone().prop_map(|l| json!({"oneOf": l})),
            inner.clone().prop_map(|s| json!({"not": s})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"if": a, "then": b})),
            inner
                .clone()
                .prop_map(|s| json!({"type": "array", "items": s})),
            (list, inner.clone()).prop_map(|(l, s)| json!({"prefixItems": l, "items": s})),
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(a, b, open)| {
                let mut out = json!({"properties": {"a": a, "b": b}});
                if !open {
                    out["additionalProperties"] = json!(false);
                }
                out
            }),
            inner
                .clone()
                .prop_map(|s| json!({"patternProperties": {"^a": s}})),
            inner
                .clone()
                .prop_map(|s| json!({"additionalProperties": s})),
            (inner.clone(), inner).prop_map(|(a, b)| {
                let (Value::Object(mut a), Value::Object(b)) = (a, b) else {
                    return json!({});
                };
                a.extend(b);
                Value::Object(a)
            }),
        ]
    })
}

/// Small values, with the keys in the order that the schemas give.
fn instance() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-4i64..12).prop_map(Value::from),
        Just(json!(1.5)),
        proptest::sample::select(vec!["", "a", "b", "ab", "aab", "axb", "é", "\u{1F600}"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(
                proptest::sample::select(vec!["a", "ab", "b", "c"]),
                inner,
                0..3
            )
            .prop_map(|m| Value::Object(
                m.into_iter()
                    .map(|(k, v)| (k.to_owned(), v))
                    .collect::<Map<_, _>>()
            )),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(schema in wild()) {
        let options = Options::default()
            .with_recursion(Recursion::Unroll(1))
            .with_max_regex_bytes(100_000)
            .with_max_steps(20_000)
            .with_max_automaton_states(200);
        if let Ok(parsed) = parse(&schema) {
            if let Ok(text) = to_regex(&parsed, &options) {
                prop_assert!(regex_syntax::Parser::new().parse(&text).is_ok() || text.matches('(').count() > 200, "{}", text);
            }
            let _ = parsed.ledger(&options);
            let _ = parsed.is_valid(&schema, &options);
        }
    }

    #[test]
    fn the_expression_is_the_validator(schema in tame(), instances in proptest::collection::vec(instance(), 30)) {
        let options = Options::default().with_whitespace(Whitespace::Compact).with_max_steps(50_000).with_max_regex_bytes(300_000);
        let parsed = parse(&schema).unwrap();
        let regex = match to_regex(&parsed, &options) {
            Ok(text) => Some(common::whole(&text)),
            Err(e) if e.kind() == schema_regex::ErrorKind::Unsatisfiable => None,
            // Refusing is allowed, not being wrong.
            Err(_) => return Ok(()),
        };
        let depth = depth_of_any(&parsed.ledger(&options));
        let peer = jsonschema::options().build(&schema).unwrap();
        for value in instances {
            let text = value.to_string();
            let valid = parsed.is_valid(&value, &options).unwrap();
            prop_assert_eq!(valid, peer.is_valid(&value), "validators differ on {} for {}", text, schema);
            let texts = orders(&value);
            let matched = regex.as_ref().is_some_and(|r| texts.iter().any(|t| r.is_match(t)));
            // Where nothing is said of a value the expression may be cut short
            // to fit; the ledger says how deep it still goes.
            if matched || nesting(&value) <= depth {
                prop_assert_eq!(matched, valid, "{} and {}", schema, text);
            }
        }
    }
}

/// Too long for the limit with values of any depth, so that these give way.
#[test]
fn values_that_give_way_are_told() {
    let schema = json!({"properties": {
        "a": {"if": true, "then": true},
        "b": {"type": "array", "items": {"properties": {"a": {"pattern": "^a"}, "b": true}, "additionalProperties": false}}
    }});
    let parsed = parse(&schema).unwrap();
    let options = Options::default().with_whitespace(Whitespace::Compact);
    for (limit, deep) in [(300_000, 0), (5_000_000, 1)] {
        let options = options.clone().with_max_regex_bytes(limit);
        let regex = common::whole(&to_regex(&parsed, &options).unwrap());
        assert_eq!(depth_of_any(&parsed.ledger(&options)), deep);
        for (text, nests) in [
            (r#"{"ab":1}"#, 0),
            (r#"{"ab":[]}"#, 1),
            (r#"{"ab":[[]]}"#, 2),
        ] {
            assert_eq!(regex.is_match(text), nests <= deep, "{text} in {limit}");
        }
    }
}
