//! Values that are built in code can nest deeper than any text: whatever recurses over one
//! takes all of a thread's stack, and the process with it. Each door refuses them.

use response_parser::agentscope::{DataModel, MissingKeys, Select};
use response_parser::{
    Error, ErrorKind, Family, ResponseSchema, ResponseTemplate, Turn, Unrepresentable,
};
use serde_json::{Value, json};

/// More levels than a stack of megabytes has room for.
const DEPTH: usize = 100_000;

/// Runs on a small stack.
fn small(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    thread.spawn(test).unwrap().join().unwrap();
}

fn deep(wrap: fn(Value) -> Value) -> Value {
    (0..DEPTH).fold(json!("x"), |inner, _| wrap(inner))
}

/// An object of one member. `json!` would copy what is inside, and recurse.
fn object(name: &str, inner: Value) -> Value {
    Value::Object([(name.to_owned(), inner)].into_iter().collect())
}

/// Takes a value apart: dropping it as it is would recurse.
fn undo(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

fn refused<T>(result: Result<T, Error>) {
    match result {
        Err(error) => assert_eq!(error.kind(), ErrorKind::DepthLimit, "{error}"),
        Ok(_) => panic!("it is too deep"),
    }
}

#[test]
fn deep_schemas_are_refused() {
    let wraps: [fn(Value) -> Value; 4] = [
        |inner| object("properties", object("a", inner)),
        |inner| object("items", inner),
        // Nothing reads these, and a copy of the schema is kept all the same.
        |inner| object("unknown", inner),
        |inner| Value::Array(vec![inner]),
    ];
    for wrap in wraps {
        small(move || {
            let schema = deep(wrap);
            refused(ResponseSchema::new(&schema));
            refused(
                ResponseSchema::builder()
                    .with_unrepresentable(Unrepresentable::Tag)
                    .build(&schema),
            );
            refused(ResponseTemplate::new(&schema));
            refused(DataModel::new("deep", schema));
        });
    }
}

#[test]
fn deep_constants_are_refused() {
    small(|| {
        for keyword in ["const", "default", "enum", "title"] {
            let mut schema = json!({"type": "object", "properties": {"a": {}}});
            schema["properties"]["a"][keyword] = deep(|inner| Value::Array(vec![inner]));
            refused(ResponseSchema::new(&schema));
            undo(schema);
        }
    });
}

#[test]
fn deep_values_are_refused() {
    small(|| {
        let schema = ResponseSchema::new(&json!({})).unwrap();
        let value = deep(|inner| object("a", inner));
        refused(schema.parse_value(&value));
        refused(schema.parse_tagged(&value));
        for select in [Select::All, Select::from("a"), Select::from(["a"])] {
            refused(select.apply(&value, MissingKeys::Refuse));
        }
        undo(value);
    });
}

#[test]
fn deep_tools_are_read_as_far_as_they_count() {
    small(|| {
        let template = ResponseTemplate::of_family(Family::HERMES).unwrap();
        let schema = deep(|inner| object("anyOf", Value::Array(vec![inner])));
        let mut tools = json!([{"name": "f", "parameters": {"properties": {}}}]);
        tools[0]["parameters"]["properties"]["a"] = schema;
        let turn = Turn::after("").with_tools(&tools);
        assert!(template.parse_turn(&turn, "Hello").is_ok());
        undo(tools);
    });
}

/// An error quotes what it speaks of: a type of a megabyte came back as a message of one.
#[test]
fn messages_are_cut() {
    let long = "m".repeat(1 << 20);
    let schemas = [
        json!({"type": long}),
        json!({"x-parser": long}),
        json!({"x-regex": format!("({long}")}),
        json!({"properties": {long.clone(): {"type": "none"}}, "type": "object"}),
    ];
    for schema in schemas {
        let error = ResponseSchema::new(&schema).map(|_| ()).unwrap_err();
        assert!(
            error.to_string().len() < 5_000,
            "{}",
            error.to_string().len()
        );
    }
    let schema = ResponseSchema::new(&json!({"type": "integer"})).unwrap();
    let error = schema.parse(&long).unwrap_err();
    assert!(error.to_string().len() < 5_000);
}
