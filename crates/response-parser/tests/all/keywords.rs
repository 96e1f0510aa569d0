//! Each keyword and each error, on schemas and texts of our own.

use response_parser::{Error, ErrorKind, Mode, Release, ResponseSchema, Unrepresentable};
use serde_json::{Value, json};

fn parse(schema: &Value, input: &Value, mode: Mode) -> Result<Value, Error> {
    // What later releases read otherwise is in `releases.rs`.
    ResponseSchema::builder()
        .with_mode(mode)
        .with_release(Release::V5_0)
        .build(schema)?
        .parse_value(input)
}

#[track_caller]
fn reads(schema: Value, input: Value, expected: Value) {
    for mode in [Mode::Lenient, Mode::Reference] {
        let got = parse(&schema, &input, mode).unwrap_or_else(|e| panic!("{schema}: {e}"));
        assert_eq!(got, expected, "{schema}");
        assert_eq!(
            got.to_string(),
            expected.to_string(),
            "{schema}: the order of keys differs"
        );
    }
}

#[track_caller]
fn fails(schema: Value, input: Value, kind: ErrorKind) {
    for mode in [Mode::Lenient, Mode::Reference] {
        let error = parse(&schema, &input, mode).expect_err(&schema.to_string());
        assert_eq!(error.kind(), kind, "{mode:?} {schema}: {error}");
    }
}

#[test]
fn const_wins_over_everything() {
    reads(
        json!({"const": "assistant", "x-regex": "(a)"}),
        json!([1]),
        json!("assistant"),
    );
    reads(json!({"const": null}), json!("x"), json!(null));
    let properties = json!({"role": {"const": "tool"}, "n": {"const": null}, "l": {"const": []}});
    reads(
        json!({"type": "object", "properties": properties}),
        json!("x"),
        json!({"role": "tool", "l": []}),
    );
}

#[test]
fn x_regex() {
    let schema = json!({"type": "string", "x-regex": r"<a>(.*?)</a>"});
    reads(schema.clone(), json!("x<a>1</a><a>2</a>"), json!("1"));
    reads(schema.clone(), json!("nothing"), json!(null));
    reads(
        json!({"x-regex": r"(?P<k>\w+)=(?P<v>\w+)?"}),
        json!("a="),
        json!({"k": "a"}),
    );
    fails(schema, json!(["a"]), ErrorKind::RegexOnNonString);
    fails(
        json!({"x-regex": "(a)(b)"}),
        json!("ab"),
        ErrorKind::RegexMultipleGroups,
    );
    fails(
        json!({"x-regex": "ab"}),
        json!("ab"),
        ErrorKind::RegexNoGroups,
    );
    fails(json!({"x-regex": "(a"}), json!("a"), ErrorKind::RegexSyntax);
    fails(
        json!({"x-regex": r"\N{DASH}"}),
        json!("a"),
        ErrorKind::RegexUnsupported,
    );
    fails(json!({"x-regex": 5}), json!("a"), ErrorKind::PythonType);
}

#[test]
fn x_regex_iterator() {
    let items = json!({"type": "integer"});
    let schema = json!({"type": "array", "x-regex-iterator": r"(\d+)", "items": items});
    reads(schema.clone(), json!("1, 22"), json!([1, 22]));
    reads(schema, json!("none"), json!(null));
    let inside = json!({
        "type": "array", "x-regex": r"\[(.*?)\]", "x-regex-iterator": r"(\d)",
        "items": {"type": "string"}
    });
    reads(inside, json!("9 [1,2] 3"), json!(["1", "2"]));
    let schema = json!({"type": "object", "x-regex-iterator": "(a)"});
    fails(schema, json!("a"), ErrorKind::IteratorNeedsArray);
    let schema = json!({
        "type": "array", "x-regex": "(?P<a>.)", "x-regex-iterator": "(a)", "items": {}
    });
    fails(schema, json!("a"), ErrorKind::PythonType);
}

#[test]
fn x_regex_key_value() {
    let pattern = r"(?P<key>\w+)=(?P<value>[^;]*)";
    let schema = json!({
        "type": "object", "x-regex-key-value": pattern,
        "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}
    });
    reads(
        schema.clone(),
        json!("b=2;a=1;b=3"),
        json!({"a": 1, "b": "3"}),
    );
    reads(schema, json!("none"), json!(null));
    let schema = json!({"type": "object", "x-regex-key-value": r"(?P<key>\w+)"});
    fails(schema, json!("a"), ErrorKind::KeyValueMissingGroups);
    fails(
        json!({"x-regex-key-value": pattern}),
        json!("a=1"),
        ErrorKind::KeyValueNeedsObject,
    );
}

#[test]
fn x_parser_json() {
    let schema = json!({"x-parser": "json"});
    reads(
        schema.clone(),
        json!(" {\"b\": 1, \"a\": 1.0, \"b\": 2} "),
        json!({"b": 2, "a": 1.0}),
    );
    reads(schema.clone(), json!("-0"), json!(0));
    reads(schema.clone(), json!("1E2"), json!(100.0));
    reads(
        schema.clone(),
        json!("18446744073709551615"),
        json!(u64::MAX),
    );
    reads(schema.clone(), json!(r#""\ud83d\ude00""#), json!("😀"));
    for text in [
        "",
        "{'a': 1}",
        "[1,]",
        "01",
        "1.",
        "\u{feff}1",
        "\"\n\"",
        "\"\\x\"",
        "nan",
        "1 2",
    ] {
        fails(schema.clone(), json!(text), ErrorKind::JsonInvalid);
    }
    fails(schema.clone(), json!(1), ErrorKind::JsonNonString);
    fails(schema, json!("[".repeat(600)), ErrorKind::DepthLimit);
    let lenient = json!({"x-parser": "json", "x-parser-args": {"allow_non_json": true}});
    reads(lenient, json!("[1,"), json!("[1,"));
    fails(
        json!({"x-parser": "xml"}),
        json!("x"),
        ErrorKind::UnknownParser,
    );
    fails(
        json!({"x-parser": "json", "x-parser-args": 1}),
        json!("1"),
        ErrorKind::PythonType,
    );
}

#[test]
fn transforms() {
    let with =
        |transform: &str| json!({"x-parser": "json", "x-parser-args": {"transform": transform}});
    let text = json!(r#"[{"name": "f", "parameters": {"b": 1, "a": 2}}]"#);
    reads(
        with("[].{type: 'function', function: {name: name, arguments: parameters}}"),
        text.clone(),
        json!([{"type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": 2}}}]),
    );
    reads(with("[0].parameters.*"), text.clone(), json!([1, 2]));
    fails(with("["), text.clone(), ErrorKind::JmespathSyntax);
    fails(with(""), text.clone(), ErrorKind::JmespathSyntax);
    fails(with("abs(@)"), text, ErrorKind::JmespathRuntime);
}

#[test]
fn mappings() {
    let mapping = json!({"CHATBOT": "assistant", "n": 1});
    let schema = json!({"x-mapping": mapping});
    reads(schema.clone(), json!("CHATBOT"), json!("assistant"));
    reads(schema.clone(), json!("n"), json!(1));
    reads(schema.clone(), json!("other"), json!("other"));
    fails(schema, json!(["n"]), ErrorKind::MappingNonString);
    let schema =
        json!({"type": "string", "x-mapping-regex": {r"^functions\.(.*)": r"\1!", "!": "?"}});
    reads(schema.clone(), json!("functions.f"), json!("f?"));
    fails(schema, json!(3), ErrorKind::MappingRegexNonString);
    fails(
        json!({"x-mapping-regex": {"a": r"\2"}}),
        json!("b"),
        ErrorKind::RegexReplacement,
    );
    let grow: serde_json::Map<String, Value> = (0..40)
        .map(|i| (format!("(x+)(?#{i})"), json!(r"\1\1")))
        .collect();
    fails(
        json!({"x-mapping-regex": grow}),
        json!("x"),
        ErrorKind::SizeLimit,
    );
}

#[test]
fn objects() {
    let schema = json!({"type": "object", "properties": {
        "b": {"type": "string", "default": "D"}, "a": {"type": "string"}
    }});
    reads(
        schema.clone(),
        json!({"a": "1", "z": 2}),
        json!({"b": "D", "a": "1"}),
    );
    reads(
        schema.clone(),
        json!({"a": null, "b": null}),
        json!({"b": null, "a": null}),
    );
    reads(schema.clone(), json!(null), json!(null));
    fails(schema, json!(5), ErrorKind::ObjectBadContent);
    fails(
        json!({"type": "object"}),
        json!("x"),
        ErrorKind::ObjectStringWithoutProperties,
    );
    let schema = json!({"type": "object", "properties": {"b": {}}, "additionalProperties": {}});
    reads(schema, json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}));
}

#[test]
fn arrays() {
    let schema = json!({"type": "array", "items": {"type": "string"}});
    reads(schema.clone(), json!(["a", null]), json!(["a", null]));
    reads(schema.clone(), json!(""), json!([]));
    fails(schema, json!("abc"), ErrorKind::ArrayBadContent);
    fails(
        json!({"type": "array"}),
        json!("x"),
        ErrorKind::ArrayWithoutItems,
    );
    let pair = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]});
    reads(pair.clone(), json!(["a", "2"]), json!(["a", 2.0]));
    fails(pair, json!(["a"]), ErrorKind::PrefixItemsLength);
    reads(
        json!({"type": "array", "prefixItems": [{}]}),
        json!("a"),
        json!(["a"]),
    );
}

#[test]
fn scalars() {
    reads(json!({"type": "integer"}), json!(" +1_000 "), json!(1000));
    reads(json!({"type": "number"}), json!("1e1_0"), json!(1e10));
    reads(json!({"type": "boolean"}), json!("FALSE"), json!(false));
    reads(
        json!({"type": "string"}),
        json!(" as is\n"),
        json!(" as is\n"),
    );
    fails(
        json!({"type": "integer"}),
        json!("1.0"),
        ErrorKind::IntInvalid,
    );
    fails(
        json!({"type": "number"}),
        json!("1,5"),
        ErrorKind::FloatInvalid,
    );
    fails(
        json!({"type": "boolean"}),
        json!("true "),
        ErrorKind::BoolInvalid,
    );
    fails(
        json!({"type": "string"}),
        json!(1),
        ErrorKind::ScalarNonString,
    );
    fails(
        json!({"type": "bogus"}),
        json!("x"),
        ErrorKind::UnsupportedType,
    );
}

#[test]
fn lenient_where_the_reference_fails() {
    for (schema, input, expected) in [
        (json!({"type": "any"}), json!([1]), json!([1])),
        (json!({"type": ["integer", "string"]}), json!("5"), json!(5)),
        (
            json!({"type": ["integer", "string"]}),
            json!("x"),
            json!("x"),
        ),
        (json!({"type": ["null", "string"]}), json!("x"), json!("x")),
        (
            json!({"type": "integer", "x-parser": "json"}),
            json!("5"),
            json!(5),
        ),
        (
            json!({"type": "number", "x-parser": "json"}),
            json!("5"),
            json!(5),
        ),
        (
            json!({"type": "boolean", "x-parser": "json"}),
            json!("true"),
            json!(true),
        ),
        (
            json!({"type": "object", "additionalProperties": true}),
            json!({"a": 1}),
            json!({"a": 1}),
        ),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({"a": 1}),
            json!({}),
        ),
        (json!({"type": "array"}), json!([1]), json!([1])),
    ] {
        assert_eq!(
            parse(&schema, &input, Mode::Lenient).unwrap(),
            expected,
            "{schema}"
        );
        assert!(parse(&schema, &input, Mode::Reference).is_err(), "{schema}");
    }
}

#[test]
fn the_reference_fails_late_and_the_lenient_mode_at_once() {
    let schema = json!({"type": "array", "x-regex": "(q)", "x-regex-iterator": "(", "items": {}});
    assert_eq!(
        parse(&schema, &json!("x"), Mode::Reference).unwrap(),
        json!(null)
    );
    assert_eq!(
        parse(&schema, &json!("q"), Mode::Reference)
            .unwrap_err()
            .kind(),
        ErrorKind::RegexSyntax
    );
    assert_eq!(
        ResponseSchema::new(&schema).unwrap_err().pointer(),
        "/x-regex-iterator"
    );
    assert_eq!(
        ResponseSchema::new(&json!([])).unwrap_err().kind(),
        ErrorKind::SchemaInvalid
    );
}

#[test]
fn what_json_cannot_hold() {
    let schema = json!({"x-parser": "json"});
    let text = r#"{"a/b": [1e400, 123456789012345678901], "s": "x\ud83dy"}"#;
    let refusing = ResponseSchema::new(&schema).unwrap();
    let error = refusing.parse(text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotJson);
    assert!(error.to_string().contains("/a~1b/0"), "{error}");
    let replacing = ResponseSchema::builder()
        .with_unrepresentable(Unrepresentable::Replace)
        .build(&schema)
        .unwrap();
    assert_eq!(
        replacing.parse(text).unwrap(),
        json!({"a/b": [null, "123456789012345678901"], "s": "x\u{FFFD}y"})
    );
    assert_eq!(
        refusing.parse_tagged(&json!(text)).unwrap(),
        json!({"a/b": [{"$float": "Infinity"}, {"$bigint": "123456789012345678901"}],
               "s": {"$utf16": [120, 0xD83D, 121]}})
    );
}

#[test]
fn limits_have_their_own_errors() {
    let mut schema = json!({});
    for _ in 0..200 {
        schema = json!({"type": "array", "items": schema});
    }
    assert_eq!(
        ResponseSchema::new(&schema).unwrap_err().kind(),
        ErrorKind::DepthLimit
    );
    let mut value = json!(1);
    for _ in 0..600 {
        value = json!([value]);
    }
    fails(json!({}), value.clone(), ErrorKind::DepthLimit);
    fails(json!({"const": value}), json!(1), ErrorKind::DepthLimit);
    fails(
        json!({"x-regex": "(?=<)((<+)+)>"}),
        json!("<".repeat(1 << 16)),
        ErrorKind::RegexBudget,
    );
}

#[test]
fn messages() {
    let mut out = String::new();
    for (schema, input) in [
        (json!({"x-regex": "(a"}), json!("")),
        (
            json!({"properties": {"a/b": {"x-regex": "(a)(b)"}}, "type": "object"}),
            json!("ab"),
        ),
        (json!({"x-regex": "a"}), json!("a")),
        (json!({"x-regex": "(a)"}), json!({})),
        (json!({"x-regex-iterator": "(a)"}), json!("a")),
        (
            json!({"type": "object", "x-regex-key-value": "(a)"}),
            json!("xa"),
        ),
        (json!({"x-parser": "yaml"}), json!("a")),
        (
            json!({"x-regex": "=(.*)", "x-parser": "json"}),
            json!("é={\"a\": tru}"),
        ),
        (
            json!({"x-parser": "json", "x-parser-args": {"transform": "a b"}}),
            json!("{}"),
        ),
        (
            json!({"x-parser": "json", "x-parser-args": {"transform": "abs('x')"}}),
            json!("{}"),
        ),
        (json!({"x-mapping-regex": {"a": r"\q"}}), json!("a")),
        (
            json!({"type": "integer", "x-regex": "n=(.*)"}),
            json!("n=five\n"),
        ),
        (json!({"type": "whole"}), json!("a")),
        (json!({"type": "object"}), json!("a")),
        (
            json!({"type": "array", "prefixItems": [{}, {}]}),
            json!([1]),
        ),
        (json!({"items": 5}), json!("a")),
    ] {
        let error = parse(&schema, &input, Mode::Lenient).unwrap_err();
        out.push_str(&format!("{}: {error}\n", error.kind()));
    }
    insta::assert_snapshot!(out);
}
