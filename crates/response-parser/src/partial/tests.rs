//! Values so far, and that their end is the value.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn after(text: &str) -> PartialJson {
    let mut partial = PartialJson::new();
    partial.feed(text);
    partial
}

#[track_caller]
fn check(text: &str, value: Json, unfinished: Option<Unfinished>, pointer: &str) {
    let partial = after(text);
    assert_eq!(partial.value(), Some(&value), "{text}");
    assert_eq!(partial.unfinished(), unfinished, "{text}");
    assert_eq!(partial.pointer(), pointer, "{text}");
}

#[test]
fn values_so_far() {
    use Unfinished::{Container, Number, String};
    check(
        r#"{"a": [1, {"b": "x\n\u00"#,
        json!({"a": [1, {"b": "x\n"}]}),
        Some(String),
        "/a/1/b",
    );
    check(
        r#"{"a": [1, {"b": "x"}"#,
        json!({"a": [1, {"b": "x"}]}),
        Some(Container),
        "/a",
    );
    check("[-", json!([null]), Some(Number), "/0");
    check("[-1.5e", json!([-1.5]), Some(Number), "/0");
    check("[12, tru", json!([12]), Some(Container), "");
    check(r#"{"a": 1, "b"#, json!({"a": 1}), Some(Container), "");
    check(r#"{"a": 1, "b": "#, json!({"a": 1}), Some(Container), "");
    check(r#"["\ud83d"#, json!([""]), Some(String), "/0");
    check(r#"["\ud83d\ude00"]"#, json!(["\u{1F600}"]), None, "");
    check(r#"["\ud83dx"]"#, json!(["\u{FFFD}x"]), None, "");
    check(r#"{"a": 1, "a": "#, json!({"a": 1}), Some(Container), "");
    check(
        r#"{"a": 1, "a": [2"#,
        json!({"a": [2]}),
        Some(Number),
        "/a/0",
    );
    check("[NaN, -Infinity]", json!([null, null]), None, "");
    assert_eq!(after("  ").value(), None);
    assert!(after("{a").is_broken());
    assert!(after("[1] 2").is_broken());
    assert!(after(&"[".repeat(1000)).is_broken());
}

#[test]
fn dialects() {
    let dialect = LenientSyntax {
        unquoted_keys: true,
        string_delims: vec![("<|\"|>".to_owned(), "<|\"|>".to_owned())],
    };
    let whole = "{city:<|\"|>Os <|lo<|\"|>,n:[<|\"|><|\"|>,5]}";
    for cut in 0..=whole.len() {
        let mut partial = PartialJson::with_dialect(dialect.clone());
        partial.feed(&whole[..cut]);
        partial.feed(&whole[cut..]);
        assert_eq!(
            partial.value(),
            Some(&json!({"city": "Os <|lo", "n": ["", 5]}))
        );
        assert!(partial.is_complete());
    }
    let mut partial = PartialJson::with_dialect(dialect);
    partial.feed("{city:<|\"|>Os <|");
    assert_eq!(partial.value(), Some(&json!({"city": "Os "})));
}

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_end_is_the_value_however_it_comes(value in value(), pretty in any::<bool>()) {
        let text = match pretty {
            true => format!("{value:#} "),
            false => format!("{value}\n"),
        };
        let mut each = PartialJson::new();
        for (place, c) in text.char_indices() {
            each.feed(c.encode_utf8(&mut [0; 4]));
            let whole = after(&text[..place + c.len_utf8()]);
            prop_assert_eq!(each.value(), whole.value());
            prop_assert_eq!(each.unfinished(), whole.unfinished());
            prop_assert!(!each.is_broken());
        }
        prop_assert_eq!(each.value(), Some(&value));
        prop_assert!(each.is_complete());
    }

    #[test]
    fn never_panics(text in "([\\[\\]{}\":,\\\\u0-9adeft.+-]|null|true|NaN|-Inf|\u{1F600}| ){0,40}") {
        let partial = after(&text);
        let _ = (partial.pointer(), partial.unfinished());
    }
}
