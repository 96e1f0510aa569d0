//! Whatever the schema and whatever the text: an answer or an error.

use proptest::prelude::*;
use response_parser::{Mode, Release, ResponseSchema};
use serde_json::{Map, Value, json};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c<>=\\[\\]{}\",:0-9 \n.eu\\\\d8]{0,24}",
        Just(r#"{"a": [1, 2.5, "\ud800", NaN], "b": {"c": null}}"#.to_owned()),
        Just("<a>1</a><b>[true]</b>".to_owned()),
        any::<String>(),
    ]
}

fn pattern() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec![
            "<(.*?)>",
            r"(?P<key>\w)=(?P<value>\w*)",
            "(x)?y",
            "(a)(b)",
            "(",
            "(.*)$",
            r"(?=(a))",
            "a|(b)",
            "",
        ])
        .prop_map(|p| json!(p)),
        "[()|*?+.a-c\\\\<>P:=!$^]{0,10}".prop_map(|p| json!(p)),
        Just(Value::Null),
        Just(json!(5)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A schema, or nearly one: any keyword may have any value.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!({})), Just(json!({"type": "string"})), value()];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let types = prop::sample::select(vec![
            json!("object"),
            json!("array"),
            json!("string"),
            json!("integer"),
            json!("number"),
            json!("boolean"),
            json!("any"),
            json!(["null", "string"]),
            json!(null),
        ]);
        let keyword = prop_oneof![
            types.prop_map(|t| ("type", t)),
            (
                prop::sample::select(vec!["x-regex", "x-regex-iterator", "x-regex-key-value"]),
                pattern()
            ),
            prop::sample::select(vec![
                json!("json"),
                json!("gemma4-tool-call"),
                json!("xml"),
                json!(null)
            ])
            .prop_map(|p| ("x-parser", p)),
            prop::sample::select(vec![
                json!({"transform": "a.b[0]"}),
                json!({"transform": "[].{x: @, y: keys(@)}"}),
                json!({"allow_non_json": true}),
                json!({"transform": "["}),
                json!([]),
            ])
            .prop_map(|a| ("x-parser-args", a)),
            value().prop_map(|v| ("x-mapping", v)),
            (pattern(), "[a-c\\\\0-9g<>]{0,6}").prop_map(|(p, r)| {
                let key = p.as_str().unwrap_or("a").to_owned();
                ("x-mapping-regex", json!({key: r}))
            }),
            (pattern(), "[a-c\\\\0-9g<>]{0,6}")
                .prop_map(|(p, r)| { ("x-regex-substitutions", json!([[p, r]])) }),
            value().prop_map(|v| ("x-regex-substitutions", v)),
            prop::sample::select(vec![json!(["a"]), json!([]), json!("b"), json!(5)])
                .prop_map(|keys| ("required", keys)),
            (prop::sample::select(vec!["const", "default"]), value()),
            (
                prop::sample::select(vec!["items", "additionalProperties"]),
                inner.clone()
            ),
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|v| ("prefixItems", Value::from(v))),
            prop::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|map| ("properties", Value::Object(map.into_iter().collect()))),
        ];
        prop::collection::vec(keyword, 0..6).prop_map(|keywords| {
            let map: Map<String, Value> = keywords
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect();
            Value::Object(map)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn never_panics(schema in schema(), text in text(), value in value()) {
        let releases = [Release::V5_0, Release::V5_12];
        let modes = [Mode::Lenient, Mode::Reference];
        for (mode, release) in modes.into_iter().flat_map(|m| releases.map(|r| (m, r))) {
            let builder = ResponseSchema::builder().with_mode(mode).with_release(release);
            let Ok(schema) = builder.build(&schema) else { continue };
            let _ = schema.parse(&text);
            let _ = schema.parse_value(&value);
            let tagged = schema.parse_tagged(&Value::from(text.as_str()));
            if let Err(error) = tagged {
                prop_assert!(!error.to_string().contains('\n'), "{}", error);
            }
        }
    }

    #[test]
    fn the_lenient_mode_agrees_where_the_reference_answers(schema in schema(), text in text()) {
        for release in [Release::V5_0, Release::V5_12] {
            // Mappings are read in all releases.
            if release == Release::V5_12 && schema.to_string().contains("x-mapping") {
                continue;
            }
            let builder = ResponseSchema::builder().with_release(release);
            let lenient = builder.build(&schema);
            let reference = builder.with_mode(Mode::Reference).build(&schema);
            if let (Ok(lenient), Ok(reference)) = (lenient, reference)
                && let Ok(expected) = reference.parse_tagged(&Value::from(text.as_str()))
            {
                let got = lenient.parse_tagged(&Value::from(text.as_str())).unwrap();
                prop_assert_eq!(got, expected);
            }
        }
    }

    #[test]
    fn json_is_read_as_it_was_written(value in value()) {
        let schema = ResponseSchema::new(&json!({"x-parser": "json"})).unwrap();
        prop_assert_eq!(schema.parse(&value.to_string()).unwrap(), value);
    }
}
