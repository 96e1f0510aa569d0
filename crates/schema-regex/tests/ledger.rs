//! The table of keywords and its page.

use schema_regex::ledger::{General, KEYWORDS, Status, markdown};
use schema_regex::{ErrorKind, Options, parse, parse_str, to_regex};
use serde_json::{Value, json};

#[test]
fn the_page_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/KEYWORDS.md");
    let wanted = markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &wanted).unwrap();
    }
    match std::fs::read_to_string(path) {
        Ok(found) => assert!(
            found == wanted,
            "docs/KEYWORDS.md is not the table; run UPDATE_DOCS=1 cargo test -p schema-regex --test ledger"
        ),
        // Outside of the repository (a packaged crate) there is no page.
        Err(_) => eprintln!("docs/KEYWORDS.md is not here: not compared"),
    }
}

/// A schema for each keyword that constrains, beside what it does not change.
fn example(name: &str) -> Option<(Value, Value)> {
    let list = json!({"type": "array", "items": {"type": "integer", "maximum": 9}});
    let with = |base: &Value, key: &str, value: Value| {
        let mut out = base.clone();
        out[key] = value;
        out
    };
    let string = json!({"type": "string"});
    let number = json!({"type": "number"});
    let object = json!({"type": "object", "additionalProperties": {"type": "null"}});
    let any = json!({"type": ["string", "integer"]});
    let two = json!({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "additionalProperties": false});
    let pair = |base: &Value, value: Value| Some((base.clone(), with(base, name, value)));
    match name {
        "type" => Some((json!({}), json!({"type": "null"}))),
        "enum" => pair(&string, json!(["a"])),
        "const" => pair(&string, json!("a")),
        "multipleOf" => pair(&number, json!(5)),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => pair(&number, json!(5)),
        "minLength" | "maxLength" => pair(&string, json!(5)),
        "pattern" => pair(&string, json!("a")),
        "format" => pair(&string, json!("date")),
        "items" => pair(&json!({"type": "array"}), json!({"type": "null"})),
        "prefixItems" => pair(&list, json!([{"const": 1}])),
        "additionalItems" => pair(
            &json!({"type": "array", "items": [true]}),
            json!({"type": "null"}),
        ),
        "unevaluatedItems" => pair(
            &json!({"type": "array", "prefixItems": [true]}),
            json!({"type": "null"}),
        ),
        "minItems" | "maxItems" => pair(&list, json!(2)),
        "uniqueItems" => pair(
            &json!({"type": "array", "items": {"enum": [1, 2]}}),
            json!(true),
        ),
        "contains" => pair(&list, json!({"const": 1})),
        "minContains" => pair(&with(&list, "contains", json!({"const": 1})), json!(2)),
        "maxContains" => pair(&with(&list, "contains", json!({"const": 1})), json!(2)),
        "properties" => pair(&json!({"type": "object"}), json!({"a": {"type": "null"}})),
        "required" => pair(&two, json!(["b"])),
        "additionalProperties" => pair(&json!({"type": "object"}), json!(false)),
        "unevaluatedProperties" => pair(&json!({"type": "object"}), json!(false)),
        "patternProperties" => pair(&json!({"type": "object"}), json!({"^a": {"type": "null"}})),
        "propertyNames" => pair(&object, json!({"pattern": "^a"})),
        "minProperties" | "maxProperties" => pair(&object, json!(1)),
        "dependentRequired" => pair(&two, json!({"a": ["b"]})),
        "dependentSchemas" => pair(&two, json!({"a": {"required": ["b"]}})),
        "dependencies" => pair(&two, json!({"a": ["b"]})),
        "allOf" | "anyOf" | "oneOf" => pair(&any, json!([{"type": "string"}])),
        "not" => pair(&any, json!({"type": "string"})),
        "if" => Some((
            with(&any, "then", json!({"minLength": 2})),
            json!({"type": ["string", "integer"], "if": {"type": "string"}, "then": {"minLength": 2}}),
        )),
        "then" => pair(
            &with(&any, "if", json!({"type": "string"})),
            json!({"minLength": 2}),
        ),
        "else" => pair(
            &with(&any, "if", json!({"type": "string"})),
            json!({"minimum": 2}),
        ),
        "$ref" | "$dynamicRef" | "$recursiveRef" => Some((
            json!({"$defs": {"a": {"type": "null"}}}),
            with(
                &json!({"$defs": {"a": {"type": "null"}}}),
                name,
                json!("#/$defs/a"),
            ),
        )),
        _ => None,
    }
}

#[test]
fn enforced_keywords_change_the_language_and_the_others_do_not() {
    let options = Options::default();
    let print = |schema: &Value| {
        to_regex(&parse(schema).unwrap(), &options).unwrap_or_else(|e| panic!("{schema}: {e}"))
    };
    for keyword in KEYWORDS {
        match keyword.general {
            General::Enforced | General::EnforcedWhere => {
                let (without, with) = example(keyword.name)
                    .unwrap_or_else(|| panic!("{} has no example", keyword.name));
                assert_ne!(print(&without), print(&with), "{}", keyword.name);
                let ledger = parse(&with).unwrap().ledger(&options);
                let own = ledger.iter().find(|e| e.keyword == keyword.name).unwrap();
                assert!(
                    !matches!(own.status, Status::Refused(_) | Status::Annotation),
                    "{own:?}"
                );
            }
            General::Annotation => {
                let base = json!({"type": "string", "maxLength": 3});
                let mut with = base.clone();
                with[keyword.name] = match keyword.name {
                    "$vocabulary" => json!({"http://x/": false}),
                    "examples" => json!(["anything"]),
                    "deprecated" | "readOnly" | "writeOnly" => json!(true),
                    "contentSchema" => json!({"type": "null"}),
                    _ => json!("anything"),
                };
                assert_eq!(print(&base), print(&with), "{}", keyword.name);
            }
            _ => {}
        }
    }
}

#[test]
fn refused_keywords_are_in_the_ledger() {
    let options = Options::default();
    for (schema, pointer) in [
        (
            json!({"properties": {"a": {"pattern": "(b)\\1"}}}),
            "/properties/a/pattern",
        ),
        (json!({"allOf": [{"$ref": "other.json"}]}), "/allOf/0/$ref"),
        (
            json!({"type": "object", "maxProperties": 2, "not": {"additionalProperties": {"type": "string"}}}),
            "/not/additionalProperties",
        ),
        (
            json!({"type": "array", "not": {"uniqueItems": true}}),
            "/not/uniqueItems",
        ),
        (
            json!({"items": {"type": "array", "uniqueItems": true}}),
            "/items/uniqueItems",
        ),
    ] {
        let parsed = parse(&schema).unwrap();
        let error = to_regex(&parsed, &options).unwrap_err();
        assert_eq!(
            (error.kind(), error.pointer()),
            (ErrorKind::Refused, pointer),
            "{error}"
        );
        let ledger = parsed.ledger(&options);
        assert!(
            ledger
                .iter()
                .any(|e| e.pointer == pointer && matches!(e.status, Status::Refused(_))),
            "{ledger:?}"
        );
    }
}

/// A keyword of a later draft constrains nothing, and the ledger says so; in its own draft it does.
#[test]
fn a_keyword_of_a_later_draft_is_an_annotation() {
    let uri = |draft: &str| match draft.contains('/') {
        true => format!("https://json-schema.org/{draft}/schema"),
        false => format!("http://json-schema.org/{draft}/schema#"),
    };
    // The keyword with what belongs to it, a text that it refuses, a draft before it, its own.
    let cases = [
        (json!({"const": 1}), "[2]", "draft-04", "draft-06"),
        (
            json!({"contains": {"const": 1}}),
            "[2]",
            "draft-04",
            "draft-06",
        ),
        (
            json!({"propertyNames": {"pattern": "^a"}}),
            r#"{"b": 1}"#,
            "draft-04",
            "draft-06",
        ),
        (
            json!({"if": {"type": "array"}, "then": {"maxItems": 0}}),
            "[2]",
            "draft-06",
            "draft-07",
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            r#"{"a": 1}"#,
            "draft-07",
            "draft/2019-09",
        ),
        (
            json!({"dependentSchemas": {"a": {"required": ["b"]}}}),
            r#"{"a": 1}"#,
            "draft-07",
            "draft/2019-09",
        ),
        (
            json!({"unevaluatedProperties": false}),
            r#"{"a": 1}"#,
            "draft-07",
            "draft/2019-09",
        ),
        (
            json!({"unevaluatedItems": false}),
            "[1]",
            "draft-07",
            "draft/2019-09",
        ),
        (
            json!({"prefixItems": [{"type": "string"}]}),
            "[1]",
            "draft/2019-09",
            "draft/2020-12",
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
            r#"["a"]"#,
            "draft/2020-12",
            "draft-07",
        ),
    ];
    let takes = |schema: &Value, text: &str| {
        let value: Value = serde_json::from_str(text).unwrap();
        let options = Options::default();
        let valid = parse(schema).unwrap().is_valid(&value, &options).unwrap();
        let peer = jsonschema::validator_for(schema).unwrap();
        assert_eq!(valid, peer.is_valid(&value), "{schema} and {text}");
        valid
    };
    for (keywords, text, loose, strict) in cases {
        for (draft, valid) in [(loose, true), (strict, false)] {
            let mut schema = keywords.clone();
            schema["$schema"] = uri(draft).into();
            assert_eq!(takes(&schema, text), valid, "{schema}");
        }
    }
    let schema =
        json!({"$schema": uri("draft-07"), "type": "object", "dependentRequired": {"a": ["b"]}});
    let ledger = parse(&schema).unwrap().ledger(&Options::default());
    let entry = ledger
        .iter()
        .find(|entry| entry.keyword == "dependentRequired")
        .unwrap();
    assert_eq!(
        entry.status,
        Status::Ignored("no keyword of draft 7, but of later drafts".to_owned())
    );
}

/// Nothing depends on an annotation, so that one of another type refuses no schema; what names a place does.
#[test]
fn an_annotation_of_another_type_is_noted() {
    for (keyword, value) in [
        ("description", json!(null)),
        ("title", json!(3)),
        ("$comment", json!([])),
        ("examples", json!({})),
        ("deprecated", json!("since 2")),
        ("readOnly", json!(null)),
        ("writeOnly", json!("yes")),
        ("contentEncoding", json!(1)),
        ("contentMediaType", json!(null)),
        ("contentSchema", json!("text")),
        ("$vocabulary", json!([])),
    ] {
        let mut schema = json!({"type": "string"});
        schema[keyword] = value;
        let read = parse(&schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
        let ledger = read.ledger(&Options::default());
        let entry = ledger
            .iter()
            .find(|entry| entry.keyword == keyword)
            .unwrap();
        assert!(
            matches!(&entry.status, Status::Ignored(why) if why.contains("must be")),
            "{entry:?}"
        );
    }
    for keyword in ["$id", "$anchor", "$schema"] {
        let mut schema = json!({"type": "string"});
        schema[keyword] = json!(null);
        assert_eq!(parse(&schema).unwrap_err().kind(), ErrorKind::Invalid);
    }
    let ledger = parse(&json!({"format": "colour"}))
        .unwrap()
        .ledger(&Options::default());
    assert_eq!(
        ledger[0].status,
        Status::Ignored("the format `colour` is unknown".to_owned())
    );
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert!(parse_str("\u{FEFF}{\"type\": \"null\"}").is_ok());
    assert!(parse_str("\u{FEFF}\u{FEFF}{}").is_err());
    assert!(parse_str("{}\u{FEFF}").is_err());
}
