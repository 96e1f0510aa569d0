//! Small cases of our own.

use serde_json::{Value, json};
use structural_tags::{Preset, StructuralTag, TagLimits};

use super::{compile, refusal, vocabulary};

fn object() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
}

#[track_caller]
fn check(format: &Value, yes: &[&str], no: &[&str]) {
    let automaton = compile(format, &vocabulary(&[], &[]));
    for text in yes {
        assert!(
            automaton.is_match(text.as_bytes()),
            "{format} refuses {text:?}"
        );
    }
    for text in no {
        assert!(
            !automaton.is_match(text.as_bytes()),
            "{format} admits {text:?}"
        );
    }
}

/// The end of the object may be the end of the tag: both readings stay open until the text
/// decides.
#[test]
fn an_end_that_occurs_in_the_content() {
    let format = json!({"type": "tag", "begin": "{\"name\": \"f\", \"parameters\": ",
        "content": {"type": "json_schema", "json_schema": object()}, "end": "}"});
    check(
        &format,
        &["{\"name\": \"f\", \"parameters\": {\"a\": 1}}"],
        &[
            "{\"name\": \"f\", \"parameters\": {\"a\": 1}",
            "{\"name\": \"f\", \"parameters\": {\"a\": 1}}}",
        ],
    );
}

/// A model gains nothing by escapes in names and by blanks without end.
#[test]
fn names_are_plain_and_white_space_ends() {
    let format = json!({"type": "tag", "begin": "<t>", "end": "</t>",
        "content": {"type": "json_schema", "json_schema": {
            "properties": {"tags": {"type": "string"}, "é": {}}, "additionalProperties": {}}}});
    let space = |count| format!("<t>{{\"tags\"{}:\"\"}}</t>", " ".repeat(count));
    check(
        &format,
        &[
            r#"<t>{"tags": "\u0061\/b"}</t>"#,
            r#"<t>{"\u00e9": 1, "x": "\u0061"}</t>"#,
            &space(42),
            "<t>{\r\n\t\"tags\" : \"\"\r}</t>",
        ],
        &[
            r#"<t>{"t\u0061gs": ""}</t>"#,
            r#"<t>{"\u0078": 1}</t>"#,
            &space(43),
        ],
    );
    let format = json!({"type": "json_schema", "json_schema": {"properties": {"a": {}}},
        "max_whitespace_cnt": 50});
    let space = |count| format!("{{\"a\":{}1}}", "\n".repeat(count));
    check(&format, &[&space(50)], &[&space(51)]);
}

/// Free text ends where its tag does, runs side by side have memories of their own, and an
/// end that is only begun is text.
#[test]
fn free_text() {
    let text = json!({"type": "any_text"});
    let tag =
        |content: Value| json!({"type": "tag", "begin": "<t>", "content": content, "end": "</t>"});
    check(
        &tag(text.clone()),
        &["<t></t>", "<t></</t>"],
        &["<t>", "<t></t></t>"],
    );
    let several = json!({"type": "star", "content": text});
    check(&tag(several), &["<t>x</t></t>"], &["<t>x"]);
    check(
        &json!({"type": "any_text", "excludes": ["é"], "max_chars": 3}),
        &["", "aaa", "日本e"],
        &["aaaa", "é"],
    );
}

/// Both readings of a pattern that begins like another stay open.
#[test]
fn patterns_that_begin_alike() {
    let constant = |value: &str| json!({"type": "const_string", "value": value});
    let format = json!({"type": "dispatch",
        "rules": [["a", constant("1")], ["ab", constant("2")], ["ab", constant("3")]]});
    check(&format, &["a1", "ab2", "xab3a1"], &["a", "ab", "ab1", "ax"]);
    // Nothing need come behind a pattern: the text may end right there.
    let format = json!({"type": "dispatch", "loop": false,
        "rules": [["x", {"type": "optional", "content": constant("y")}]]});
    check(&format, &["", "ax", "axy"], &["xx", "xyy"]);
}

/// Values that nest in their own notation take a stack.
#[test]
fn values_that_nest() {
    let format = json!({"type": "json_schema", "json_schema": {"type": "object"},
        "style": "cohere_xml"});
    let mut nested = "<cofl:value name=\"k\" type=\"raw\">x</cofl:value>".to_owned();
    for _ in 0..20 {
        nested = format!("<cofl:value name=\"a&amp;b\" type=\"dict\">{nested}</cofl:value>");
        nested = format!(
            "<cofl:value name=\"l\" type=\"list\"><cofl:value type=\"dict\">{nested}</cofl:value></cofl:value>"
        );
    }
    let cut = &nested[..nested.len() - 1];
    let crossed = nested.replace("<cofl:value type=\"dict\">", "");
    check(&format, &["", " ", &nested], &[cut, &crossed]);
    let tree = json!({"$defs": {"tree": {"type": "object", "properties": {
        "name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}},
        "$ref": "#/$defs/tree"});
    let format = json!({"type": "json_schema", "json_schema": tree, "style": "minimax_m3_xml"});
    let mark = "]<]minimax[>[";
    let leaf = format!("{mark}<name>x{mark}</name>");
    let tree = format!("{leaf}{mark}<kids>{mark}<item>{leaf}{mark}</item>{mark}</kids>");
    check(&format, &["", &leaf, &tree], &[&tree[..tree.len() - 1]]);
}

/// What a schema says in an XML style that cannot be kept is refused by name and place.
#[test]
fn what_cannot_be_kept_is_refused() {
    let vocabulary = vocabulary(&[], &[]);
    let schema = |style: &str, schema: Value| json!({"type": "json_schema", "json_schema": schema, "style": style});
    for (format, why) in [
        (
            json!({"type": "regex", "pattern": "(?=a)"}),
            "at \"/format/pattern\"",
        ),
        (
            json!({"type": "json_schema", "json_schema": {"$ref": "http://example.com/x"}}),
            "#/$ref",
        ),
        (
            schema(
                "qwen_xml",
                json!({"type": "object", "propertyNames": {"maxLength": 3}}),
            ),
            "/format/json_schema/propertyNames",
        ),
        (
            schema(
                "glm_xml",
                json!({"type": "object", "properties": {"a": {}, "b": {}}, "maxProperties": 1}),
            ),
            "minProperties and maxProperties",
        ),
        (
            schema("cohere_xml", json!({"type": "array", "prefixItems": [{}]})),
            "prefixItems",
        ),
        (schema("minimax_m3_xml", json!(true)), "allows anything"),
        (
            json!({"type": "sequence", "elements": [{"type": "nope"}]}),
            "/format/elements/0/type",
        ),
    ] {
        let said = refusal(&format, &vocabulary);
        assert!(said.contains(why), "{format}: {said}");
    }
}

/// Each limit has its own error, and what it bounds is charged also where nothing is written.
#[test]
fn limits() {
    let vocabulary = vocabulary(&[], &[]);
    let within = |format: Value, limits: TagLimits| {
        let tag = json!({"format": format});
        let tag = StructuralTag::from_value(&tag).unwrap().with_limits(limits);
        tag.compile(&vocabulary)
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    let repeat = |times: u32, content: Value| json!({"type": "repeat", "min": 0, "max": times, "content": content});
    let empty = json!({"type": "const_string", "value": ""});
    let one = json!({"type": "const_string", "value": "x"});
    let limits = TagLimits::default;
    assert_eq!(within(repeat(9, one.clone()), limits()), Ok(()));
    let said = within(repeat(9, one.clone()), limits().with_max_repeat(8)).unwrap_err();
    assert!(said.contains("max_repeat"), "{said}");
    let said = within(
        repeat(900, repeat(900, one)),
        limits().with_max_parts(1_000),
    )
    .unwrap_err();
    assert!(said.contains("more than 1000 parts"), "{said}");
    let said = within(repeat(9_000, repeat(9_000, empty)), limits()).unwrap_err();
    assert!(said.contains("parts"), "{said}");
    let json = json!({"type": "json_schema", "json_schema": object(), "max_whitespace_cnt": 5});
    assert_eq!(within(json.clone(), limits()), Ok(()));
    let said = within(json, limits().with_max_whitespace(4)).unwrap_err();
    assert!(said.contains("max_whitespace"), "{said}");
    let mut deep = json!({"type": "const_string", "value": "x"});
    for _ in 0..200 {
        deep = json!({"type": "optional", "content": deep});
    }
    let said = StructuralTag::from_value(&json!({"format": deep})).unwrap_err();
    assert!(said.to_string().contains("nests deeper than"), "{said}");
}

/// Two texts that only differ in where values begin leave one thread each, not one a byte.
#[test]
fn ways_that_meet_are_one() {
    let format = json!({"type": "star", "content":
        {"type": "json_schema", "json_schema": {"type": "integer"}}});
    let automaton = compile(&format, &vocabulary(&[], &[]));
    let digits = "1".repeat(3_000);
    assert!(automaton.is_match(digits.as_bytes()));
}

#[test]
fn presets_say_what_they_do_not_know() {
    let refused = |preset: Value| {
        let expanded = Preset::from_value(&preset);
        expanded.map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused(json!({"model": "gpt5"})).contains("\"/model\""));
    assert!(refused(json!({"model": "llama", "tool_choice": "required"})).contains("no tool"));
    assert!(refused(json!({"model": "llama", "reasoning": "maybe"})).contains("/reasoning"));
    let tag = Preset::from_value(&json!({"model": "kimi"}))
        .unwrap()
        .tag()
        .unwrap();
    let automaton = tag.compile(&vocabulary(&[], &[])).unwrap();
    assert!(automaton.is_match(b"Hm.</think>Hello."));
}
