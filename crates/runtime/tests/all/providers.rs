//! The subsets of providers: each rule of their pages, by a schema that breaks it.

#![cfg(feature = "tools")]

use serde_json::{Value, json};
use tokenmold::providers::{Fate, Finding, reports};

/// The findings of a provider, as `fate keyword pointer`.
fn found(schema: &Value, provider: &str) -> Vec<String> {
    let reports = reports(schema);
    let report = reports.iter().find(|r| r.provider().id() == provider);
    let line = |f: &Finding| format!("{} {} {}", f.fate().name(), f.keyword(), f.pointer());
    report.unwrap().findings().iter().map(line).collect()
}

/// A closed object with one property.
fn object(property: &Value) -> Value {
    json!({
        "type": "object", "properties": {"a": property}, "required": ["a"], "additionalProperties": false
    })
}

#[test]
fn a_plain_schema_is_taken_by_all() {
    let schema = object(&json!({"type": ["integer", "null"], "description": "A number"}));
    for provider in ["openai", "anthropic", "gemini"] {
        assert_eq!(found(&schema, provider), Vec::<String>::new(), "{provider}");
    }
}

#[test]
fn keywords_are_looked_up_in_the_lists() {
    for (property, openai, anthropic, gemini) in [
        (
            json!({"type": "integer", "minimum": 1}),
            "",
            "refused minimum",
            "",
        ),
        (
            json!({"type": "string", "minLength": 1}),
            "undocumented minLength",
            "refused minLength",
            "lost minLength",
        ),
        (
            json!({"type": "integer", "not": {"type": "null"}}),
            "refused not",
            "undocumented not",
            "lost not",
        ),
        (
            json!({"type": "array", "items": {"type": "null"}, "maxItems": 2}),
            "",
            "refused maxItems",
            "",
        ),
        (
            json!({"type": "array", "items": {"type": "null"}, "minItems": 2}),
            "",
            "refused minItems",
            "",
        ),
        (
            json!({"type": "array", "items": {"type": "null"}, "minItems": 1}),
            "",
            "",
            "",
        ),
        (
            json!({"type": "string", "format": "uri"}),
            "refused format",
            "",
            "undocumented format",
        ),
        (
            json!({"type": "string", "pattern": "^[\\b(]$"}),
            "",
            "",
            "lost pattern",
        ),
        (
            json!({"type": "string", "pattern": "\\bx"}),
            "",
            "refused pattern",
            "lost pattern",
        ),
        (
            json!({"type": "string", "pattern": "(?!x)"}),
            "",
            "refused pattern",
            "lost pattern",
        ),
        (
            json!({"type": "string", "pattern": "(x)\\1"}),
            "",
            "refused pattern",
            "lost pattern",
        ),
        (
            json!({"type": "string", "enum": ["x"]}),
            "",
            "lost enum",
            "",
        ),
        (json!({"type": "string", "enum": ["1"]}), "", "", ""),
        (json!({"enum": [[1]]}), "", "refused enum", "lost enum"),
        (
            json!({"oneOf": [{"type": "null"}]}),
            "undocumented oneOf",
            "undocumented oneOf",
            "changed oneOf",
        ),
        (
            json!({"type": "null", "default": null}),
            "undocumented default",
            "",
            "",
        ),
    ] {
        let schema = object(&property);
        for (provider, wanted) in [
            ("openai", openai),
            ("anthropic", anthropic),
            ("gemini", gemini),
        ] {
            let found = found(&schema, provider);
            let keyword = wanted.split(' ').next_back().unwrap();
            let wanted: Vec<String> = match wanted {
                "" => Vec::new(),
                wanted => vec![format!("{wanted} /properties/a/{keyword}")],
            };
            // A schema without a type is another matter of OpenAI's.
            let found: Vec<String> = found
                .into_iter()
                .filter(|f| !f.contains(" type "))
                .collect();
            assert_eq!(found, wanted, "{provider}: {property}");
        }
    }
}

#[test]
fn objects_are_closed_and_their_names_required() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "required": ["b"]});
    assert_eq!(
        found(&schema, "openai"),
        [
            "refused additionalProperties ",
            "refused required /required"
        ]
    );
    assert_eq!(
        found(&schema, "anthropic"),
        [
            "refused additionalProperties ",
            "changed properties /properties"
        ]
    );
    assert_eq!(found(&schema, "gemini"), Vec::<String>::new());
    assert_eq!(
        found(&json!({"anyOf": [{"type": "null"}]}), "openai"),
        ["refused anyOf /anyOf"]
    );
    assert_eq!(
        found(
            &json!({"type": "array", "items": {"type": "null"}}),
            "openai"
        ),
        ["refused type /type"]
    );
    assert_eq!(
        found(&object(&json!(true)), "openai"),
        [
            "undocumented  /properties/a",
            "undocumented type /properties/a"
        ]
    );
}

#[test]
fn references_are_followed_to_where_they_lead() {
    let list = |required: Value, next: Value| {
        json!({
            "type": "object",
            "properties": {"head": {"$ref": "#/$defs/node"}},
            "required": ["head"],
            "additionalProperties": false,
            "$defs": {"node": {
                "type": "object",
                "properties": {"value": {"type": "integer"}, "next": next},
                "required": required,
                "additionalProperties": false
            }}
        })
    };
    let next = json!({"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]});
    let nullable = list(json!(["value", "next"]), next);
    let inside = "$ref /$defs/node/properties/next/anyOf/0/$ref";
    assert_eq!(found(&nullable, "openai"), Vec::<String>::new());
    assert_eq!(found(&nullable, "anthropic"), [format!("refused {inside}")]);
    assert_eq!(found(&nullable, "gemini"), [format!("refused {inside}")]);
    let optional = list(json!(["value"]), json!({"$ref": "#/$defs/node"}));
    let inside = "$ref /$defs/node/properties/next/$ref";
    assert_eq!(found(&optional, "gemini"), [format!("changed {inside}")]);
    let outside = object(&json!({"$ref": "https://example.com/schema", "minimum": 1}));
    assert_eq!(
        found(&outside, "gemini"),
        [
            "refused $ref /properties/a/$ref",
            "undocumented $ref /properties/a/$ref"
        ]
    );
    assert_eq!(
        found(&outside, "openai"),
        ["undocumented $ref /properties/a/$ref"]
    );
    assert_eq!(
        found(&outside, "anthropic"),
        [
            "refused minimum /properties/a/minimum",
            "refused $ref /properties/a/$ref"
        ]
    );
}

#[test]
fn sizes_are_counted() {
    let many: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
    let schema = object(&json!({"enum": many}));
    assert_eq!(found(&schema, "openai"), ["refused  "]);
    let long = vec!["1".repeat(60); 251];
    assert_eq!(
        found(&object(&json!({"enum": long})), "openai"),
        ["refused enum /properties/a/enum"]
    );
    let mut deep = json!({"type": "null"});
    for _ in 0..11 {
        deep = object(&deep);
    }
    assert_eq!(found(&deep, "openai"), ["refused  "]);
    assert_eq!(
        found(&deep["properties"]["a"], "openai"),
        Vec::<String>::new()
    );
    let unions: serde_json::Map<String, Value> = (0..17)
        .map(|n| (n.to_string(), json!({"type": ["integer", "null"]})))
        .collect();
    let names: Vec<&String> = unions.keys().collect();
    let schema = json!({"type": "object", "properties": unions, "required": names, "additionalProperties": false});
    assert_eq!(found(&schema, "anthropic"), ["refused  "]);
}

/// Wide schemas take no more than the time to read them, and deep ones no stack.
#[test]
fn hostile_schemas_are_looked_at_in_linear_time() {
    let names: serde_json::Map<String, Value> = (0..50_000)
        .map(|n| (n.to_string(), json!({"$ref": "#"})))
        .collect();
    let schema = json!({"type": "object", "properties": names});
    let reports = reports(&schema);
    let refused = |f: &&Finding| f.fate() == Fate::Changed;
    assert_eq!(reports[2].findings().iter().filter(refused).count(), 50_000);
}
