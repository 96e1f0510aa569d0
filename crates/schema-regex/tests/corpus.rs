//! Schemas with texts that they admit and texts that they do not.

mod common;
#[path = "common/refusals.rs"]
mod refusals;

use schema_regex::{
    AdditionalMembers, ErrorKind, Escapes, Formats, IntegerSpelling, Options, Recursion,
    Whitespace, parse, to_regex,
};
use serde_json::{Value, json};

use refusals::{refused, refused_with};

#[track_caller]
fn check_with(options: &Options, schema: Value, good: &[&str], bad: &[&str]) {
    let parsed = parse(&schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
    let text = to_regex(&parsed, options).unwrap_or_else(|e| panic!("{schema}: {e}"));
    let regex = common::whole(&text);
    #[cfg(feature = "automaton")]
    both(options, &parsed, good, bad);
    for case in good {
        assert!(regex.is_match(case), "{schema} should admit {case}\n{text}");
        let value: Value = serde_json::from_str(case).unwrap();
        assert!(
            parsed.is_valid(&value, options).unwrap(),
            "{schema}: {case} is not valid"
        );
    }
    for case in bad {
        assert!(
            !regex.is_match(case),
            "{schema} should not admit {case}\n{text}"
        );
    }
}

/// What the expression says the automaton says too.
#[cfg(feature = "automaton")]
#[track_caller]
fn both(options: &Options, schema: &schema_regex::Schema, good: &[&str], bad: &[&str]) {
    use schema_regex::AnyValue;
    use schema_regex::automaton::SchemaAutomaton;
    let automaton = SchemaAutomaton::compile(schema.clone(), options).unwrap();
    for case in good {
        assert!(automaton.is_match(case.as_bytes()), "should admit {case}");
    }
    for case in bad {
        // Depth is bounded in the expression alone.
        if options.recursion == Recursion::Refuse && options.any_value == AnyValue::Depth(2) {
            assert!(
                !automaton.is_match(case.as_bytes()),
                "should not admit {case}"
            );
        }
    }
}

#[track_caller]
fn check(schema: Value, good: &[&str], bad: &[&str]) {
    check_with(&Options::default(), schema, good, bad);
}

#[test]
fn types() {
    check(json!({"type": "null"}), &["null"], &["", "nul", "0"]);
    check(
        json!({"type": "boolean"}),
        &["true", "false"],
        &["null", "True"],
    );
    check(
        json!({"type": ["integer", "null"]}),
        &["0", "-12", "null"],
        &["1.5", "01", "1e3", "\"1\""],
    );
    check(
        json!({"type": "number"}),
        &["0", "-1.5", "1e-3", "1E+10"],
        &["1.", ".5", "+1", "00", "NaN"],
    );
    check(
        json!({"type": "array"}),
        &["[]", "[1, [2]]", "[{\"a\": [1]}]"],
        &["[1,]", "[", "{}"],
    );
    check(
        json!({"type": "object"}),
        &["{}", "{\"a\": 1, \"b\": [2]}"],
        &["{\"a\"}", "{,}", "{1: 2}"],
    );
    check(json!(true), &["1", "{}", "[null]"], &["", "x"]);
    refused(json!(false), ErrorKind::Unsatisfiable, "");
}

#[test]
fn keywords_leave_other_types_free() {
    check(
        json!({"minLength": 3}),
        &["1", "null", "\"abc\"", "[]"],
        &["\"ab\""],
    );
    check(
        json!({"properties": {"a": {"type": "integer"}}}),
        &["1", "{\"a\": 1}", "{}", "{\"b\": \"x\"}"],
        &["{\"a\": \"x\"}"],
    );
    check(
        json!({"required": ["a"]}),
        &["7", "{\"a\": 1}", "{\"a\": 1, \"b\": 2}"],
        &["{}", "{\"b\": 1}"],
    );
}

#[test]
fn strings() {
    check(
        json!({"type": "string"}),
        &[
            "\"\"",
            "\"é\"",
            "\"\\u00e9\"",
            "\"\\ud83d\\ude00\"",
            "\"\\n\\\"\\\\\"",
            "\"\\u001f\"",
            "\"\u{7f}\"",
        ],
        &[
            "\"\t\"",
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\x\"",
            "\"a",
            "\"\\u00e\"",
            "\"\n\"",
        ],
    );
    check(
        json!({"type": "string", "minLength": 2, "maxLength": 3}),
        &["\"ab\"", "\"\\u00e9\\\\b\"", "\"\\ud83d\\ude00é\""],
        &["\"a\"", "\"abcd\"", "\"\\u00e9\""],
    );
    check(
        json!({"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}),
        &["\"abc\""],
        &["\"abcd\"", "\"\"", "\"AB\""],
    );
    check(
        json!({"type": "string", "pattern": "b"}),
        &["\"abc\"", "\"b\""],
        &["\"ac\""],
    );
    check(
        json!({"type": "string", "pattern": "b", "maxLength": 2}),
        &["\"ab\"", "\"b\"", "\"bb\""],
        &["\"abc\"", "\"a\""],
    );
    check(
        json!({"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "z$"}]}),
        &["\"az\"", "\"a--z\""],
        &["\"a\"", "\"z\"", "\"za\""],
    );
    check(
        json!({"type": "string", "not": {"pattern": "a+b"}}),
        &["\"ba\u{D7FF}\u{E000}\"", "\"aa\""],
        &["\"\u{D7FF}aab\""],
    );
    check(
        json!({"type": "string", "not": {"pattern": "^a"}}),
        &["\"ba\"", "\"\""],
        &["\"a\"", "\"ab\""],
    );
    check(
        json!({"type": "string", "not": {"enum": ["ab", "é"]}}),
        &["\"a\"", "\"abc\"", "\"\"", "\"e\""],
        &["\"ab\"", "\"é\"", "\"\\u00e9\""],
    );
    check(
        json!({"type": "string", "pattern": "^(?!admin$)[a-z]+$"}),
        &["\"adm\"", "\"admins\""],
        &["\"admin\"", "\"\""],
    );
    check(
        json!({"type": "string", "format": "date"}),
        &["\"2024-02-29\""],
        &["\"2023-02-30\"", "\"2023-02-29\"", "\"2023-2-1\""],
    );
    check_with(
        &Options::default().with_formats(Formats::Annotate),
        json!({"type": "string", "format": "date"}),
        &["\"x\""],
        &["1"],
    );
    check(
        json!({"type": "string", "format": "made-up"}),
        &["\"x\""],
        &["1"],
    );
    refused_with(
        &Options::default().with_formats(Formats::Strict),
        json!({"type": "string", "format": "made-up"}),
        ErrorKind::Refused,
        "/format",
    );
    check_with(
        &Options::default().with_escapes(Escapes::All),
        json!({"const": "a/b"}),
        &["\"a/b\"", "\"\\u0061\\/b\""],
        &["\"ab\""],
    );
    check_with(
        &Options::default().with_escapes(Escapes::Shortest),
        json!({"type": "string"}),
        &["\"é\\n\""],
        &["\"\\u00e9\"", "\"\\u000a\""],
    );
    refused(
        json!({"type": "string", "pattern": "(x)\\1"}),
        ErrorKind::Refused,
        "/pattern",
    );
}

#[test]
fn patterns_look_around() {
    check(
        json!({"type": "string", "pattern": "\\bx"}),
        &["\"x\"", "\"a-x\"", "\"\\nx\""],
        &["\"ax\"", "\"\""],
    );
    check(
        json!({"type": "string", "pattern": "^[a-z-]{1,4}(?<!-)$"}),
        &["\"a-b\"", "\"--b\""],
        &["\"a-\"", "\"\""],
    );
    check(
        json!({"type": "string", "pattern": "^[A-Za-z](?=.*\\d).{2,3}$"}),
        &["\"ab1\"", "\"a12\""],
        &["\"abc\"", "\"1ab\"", "\"a1\""],
    );
    check(
        json!({"type": "string", "not": {"pattern": "a(?!b)"}}),
        &["\"\"", "\"abab\""],
        &["\"aba\"", "\"a\""],
    );
    check(
        json!({"type": "string", "pattern": "(?!random)"}),
        &["\"\"", "\"random\""],
        &["1"],
    );
    check(
        json!({"type": "string", "pattern": "^(?i:ab)(?=c|$)", "minLength": 3}),
        &["\"ABc\"", "\"abcd\""],
        &["\"AB\"", "\"abC\""],
    );
    check(
        json!({"type": "object", "additionalProperties": false, "patternProperties": {"^a(?=1|2)": {"type": "null"}}}),
        &["{\"a1\": null}", "{}"],
        &["{\"a3\": null}", "{\"a1\": 1}"],
    );
    check(
        json!({"type": "object", "propertyNames": {"pattern": "^(?:(?!b)[a-z])+$"}, "additionalProperties": {"type": "null"}}),
        &["{\"ac\": null}", "{}"],
        &["{\"abc\": null}"],
    );
    check(
        json!({"enum": ["cat", "cats", 1], "pattern": "\\bcat\\b"}),
        &["\"cat\"", "1"],
        &["\"cats\""],
    );
}

/// Branches of `oneOf` that exclude each other by what names may be, and by their items: none of
/// the complements is made, of which there would be too many, or that of uniqueness.
#[cfg(feature = "automaton")]
#[test]
fn alternatives_are_told_apart_by_names_and_by_items() {
    let shared = json!({"enum": ["State", "Id", "Weight"]});
    let phrasing = |name: String| {
        json!({
            "type": "object",
            "allOf": [
                {
                    "properties": {&name: {"type": "string", "minLength": 1}},
                    "propertyNames": {"anyOf": [{"const": &name}, shared]},
                    "required": [&name],
                },
                {"properties": {"State": {"type": "string"}, "Id": {"type": "integer"}}},
            ],
        })
    };
    let all: Vec<_> = (0..30).map(|i| phrasing(format!("Name{i}"))).collect();
    let says = |schema: Value, good: &[&str], bad: &[&str]| {
        both(&Options::default(), &parse(&schema).unwrap(), good, bad);
    };
    says(
        json!({"oneOf": all}),
        &[r#"{"Name7": "a", "State": "b"}"#, r#"{"Name29": "a"}"#],
        &[
            r#"{"State": "b"}"#,
            r#"{"Name7": "a", "Name8": "b"}"#,
            r#"{"Name7": ""}"#,
        ],
    );
    says(
        json!({"oneOf": [
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
            {"type": "boolean"},
            {"type": "array", "items": {"type": "object"}, "uniqueItems": true},
            {"type": "array", "items": {"type": "array"}, "uniqueItems": true, "minItems": 1},
        ]}),
        &[r#"["a", "a"]"#, "true", r#"[{}, {"a": 1}]"#, "[[], [1]]"],
        &[r#"["a", {}]"#, "[{}, {}]", "[[], []]"],
    );
    // By one alternative after the other, and by the values of a member that one of them needs.
    let replace = |kind: &str| {
        json!({
            "type": "object",
            "properties": {"replace": {"const": kind}, "name": {"type": "string"}, "of": {"type": "array"}},
            "required": ["replace", "name"],
            "additionalProperties": false,
        })
    };
    says(
        json!({"oneOf": [
            {"anyOf": [{"type": "string"}, replace("env"), replace("ref"), replace("if")]},
            {"type": "object", "minProperties": 1, "additionalProperties": {"type": "array"}},
            {"anyOf": [{"type": "null"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}]},
            {"type": "array", "minItems": 2, "items": {"type": "integer"}, "uniqueItems": true},
        ]}),
        &[
            r#"{"replace": "if", "name": "x"}"#,
            r#"{"a": [], "replace": [1]}"#,
            r#"["a", "a"]"#,
            "[1, 2]",
        ],
        &[
            r#"{"replace": "if"}"#,
            r#"{"a": 1}"#,
            "[1, 1]",
            r#"["a", 1]"#,
            "{}",
        ],
    );
}

#[test]
fn numbers() {
    check(
        json!({"type": "integer", "minimum": -5, "maximum": 12}),
        &["-5", "0", "9", "12"],
        &["-6", "13", "1.0", "-0", "05"],
    );
    check(
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1.5}),
        &[
            "0.1", "1", "1.5", "1.50", "0.0001", "1e-1", "1.5e0", "9.99E-07",
        ],
        &[
            "0", "0.0", "1.51", "1e1", "1.51e+0", "10e-2", "0e0", "-1e-5",
        ],
    );
    check(
        json!({"type": "integer", "multipleOf": 5, "minimum": 3}),
        &["5", "100"],
        &["0", "4", "7", "-5"],
    );
    check(
        json!({"type": "number", "multipleOf": 0.01}),
        &["1", "1.5", "1.25", "1.250", "-3.10"],
        &["1.255", "1e1"],
    );
    check(
        json!({"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 50}),
        &["0", "49"],
        &["50", "56", "8"],
    );
    check_with(
        &Options::default().with_integers(IntegerSpelling::ZeroFraction),
        json!({"type": "integer", "minimum": 1}),
        &["1", "2.0"],
        &["0.0", "2.5"],
    );
    check(
        json!({"enum": [1, 2.5, 3.0]}),
        &["1", "2.5", "3", "3.0"],
        &["1.5", "2"],
    );
    check(
        json!({"type": "integer", "not": {"const": 3}}),
        &["2", "4", "-3", "30", "-0"],
        &["3"],
    );
    check(
        json!({"oneOf": [{"type": "string"}, {"enum": [1]}, {"maxLength": 1}], "type": "integer"}),
        &["-0", "0", "2", "-1"],
        &["1", "-00", "01"],
    );
    check(
        json!({"type": "number", "not": {"enum": [1, -2.5]}}),
        &["-0", "-0.0", "0.00", "-0.5", "-2.4"],
        &["1", "1.0", "-2.5", "-2.50", "-0."],
    );
    check(
        json!({"type": "number", "not": {"const": 0}}),
        &["1", "-0.5", "0.01"],
        &["0", "-0", "0.0", "-0.00"],
    );
    check(
        json!({"type": "integer", "multipleOf": 2, "not": {"enum": [-4, 4]}}),
        &["-0", "0", "2", "-2", "6"],
        &["4", "-4", "1"],
    );
    check(
        json!({"type": "number", "not": {"anyOf": [{"type": "integer"}, {"const": 0.5}]}}),
        &["0.25", "-0.5"],
        &["0.5", "-0", "-0.0", "0"],
    );
    check(
        json!({"type": "integer", "minimum": -5, "not": {"const": 3}}),
        &["-5", "0", "4"],
        &["-0", "3"],
    );
    check_with(
        &Options::default().with_integers(IntegerSpelling::ZeroFraction),
        json!({"type": "integer", "not": {"const": 3}}),
        &["-0", "-0.0", "2.0"],
        &["3", "3.0", "-0.5"],
    );
    check(
        json!({"type": "number"}),
        &["-0", "-0.0", "0e5", "-0.0E+3"],
        &["00", "-", "0e"],
    );
    check(
        json!({"type": "number", "not": {"type": "integer"}}),
        &["1.5", "-0.25"],
        &["1", "1.0"],
    );
    refused(
        json!({"type": "integer", "minimum": 3, "maximum": 2}),
        ErrorKind::Unsatisfiable,
        "",
    );
    check(
        json!({"minimum": 5, "exclusiveMinimum": true, "$schema": "http://json-schema.org/draft-04/schema#"}),
        &["6", "5.1", "\"x\""],
        &["5"],
    );
}

#[test]
fn objects() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"}, "c": {"type": "boolean"}}, "required": ["b"], "additionalProperties": false});
    check(
        schema,
        &[
            "{\"b\": null}",
            "{\"a\":1,\"b\":null}",
            "{\"b\": null, \"c\": true}",
        ],
        &[
            "{}",
            "{\"a\": 1}",
            "{\"b\": null,}",
            "{\"b\": null, \"a\": 1}",
            "{\"b\": null, \"d\": 1}",
            "{\"b\":  null}",
        ],
    );
    let optional = json!({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}, "d": {"const": 4}}, "additionalProperties": {"const": 5}});
    check(
        optional,
        &[
            "{}",
            "{\"a\": 1}",
            "{\"d\": 4}",
            "{\"b\": 2, \"d\": 4}",
            "{\"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4, \"e\": 5, \"f\": 5}",
            "{\"aa\": 5}",
            "{\"\": 5}",
            "{\"a\": 1, \"\\u00e9\": 5}",
        ],
        &[
            "{\"a\": 5}",
            "{\"b\": 2, \"a\": 1}",
            "{, \"a\": 1}",
            "{\"a\": 1 \"b\": 2}",
            "{\"e\": 1}",
        ],
    );
    check(
        json!({"type": "object", "properties": {"ab": {}, "ac": {}, "b": {}}, "additionalProperties": {"type": "null"}}),
        &[
            "{\"a\": null}",
            "{\"abc\": null}",
            "{\"c\": null}",
            "{\"ba\": null}",
        ],
        &["{\"a\": 1}"],
    );
    check(
        json!({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false}),
        &["{}", "{\"x-a\": 1}", "{\"x-\": 1, \"x-b\": 2}"],
        &["{\"y\": 1}", "{\"x-a\": null}"],
    );
    check(
        json!({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}}),
        &["{\"y\": \"s\"}", "{\"x-a\": 1, \"x\": null}"],
        &["{\"x-a\": \"s\"}"],
    );
    check(
        json!({"type": "object", "properties": {"x-a": {"minimum": 3}}, "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false}),
        &["{\"x-a\": 3}", "{\"x-b\": 1}"],
        &["{\"x-a\": 2}", "{\"x-a\": null}"],
    );
    check(
        json!({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2}),
        &["{\"a\": 1}", "{\"a\": 1, \"b\": 2}"],
        &["{}", "{\"a\": 1, \"b\": 2, \"c\": 3}"],
    );
    check(
        json!({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 1}, "c": {"const": 1}}, "additionalProperties": false, "minProperties": 2}),
        &[
            "{\"a\": 1, \"c\": 1}",
            "{\"b\": 1, \"c\": 1}",
            "{\"a\": 1, \"b\": 1, \"c\": 1}",
        ],
        &["{}", "{\"a\": 1}", "{\"c\": 1}"],
    );
    check(
        json!({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 1}, "c": {"const": 1}}, "additionalProperties": false, "maxProperties": 1}),
        &["{}", "{\"a\": 1}", "{\"c\": 1}"],
        &["{\"a\": 1, \"c\": 1}"],
    );
    check(
        json!({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": {"type": "null"}}),
        &["{}", "{\"ab\": null}"],
        &["{\"A\": null}", "{\"\": null}"],
    );
    check(
        json!({"type": "object", "properties": {"a": {"const": 1}, "b": false}, "required": ["a"]}),
        &["{\"a\": 1}", "{\"a\": 1, \"c\": 2}"],
        &["{\"a\": 1, \"b\": 2}"],
    );
    check(
        json!({"type": "object", "dependentRequired": {"a": ["b"]}, "properties": {"a": {"const": 1}, "b": {"const": 2}}, "additionalProperties": false}),
        &["{}", "{\"b\": 2}", "{\"a\": 1, \"b\": 2}"],
        &["{\"a\": 1}"],
    );
    check_with(
        &Options::default().with_additional_members(AdditionalMembers::Closed),
        json!({"type": "object", "properties": {"a": {"const": 1}}}),
        &["{}", "{\"a\": 1}"],
        &["{\"b\": 1}"],
    );
    refused(
        json!({"type": "object", "properties": {"a": false}, "required": ["a"]}),
        ErrorKind::Unsatisfiable,
        "",
    );
    let many: serde_json::Map<String, Value> = (0..200)
        .map(|i| (format!("p{i}"), json!({"type": "integer"})))
        .collect();
    let parsed =
        parse(&json!({"type": "object", "properties": many, "additionalProperties": false}))
            .unwrap();
    let text = to_regex(&parsed, &Options::default()).unwrap();
    assert!(text.len() < 100_000, "{}", text.len());
    assert!(common::whole(&text).is_match("{\"p7\": 1, \"p199\": 2}"));
}

#[test]
fn arrays() {
    check(
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3}),
        &["[1, 2]", "[1,2,3]"],
        &["[]", "[1]", "[1, 2, 3, 4]", "[1, \"a\"]"],
    );
    check(
        json!({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}}),
        &["[]", "[1]", "[1, 2]", "[1, 2, 3, 3]"],
        &["[2]", "[1, 3]", "[1, 2, 4]"],
    );
    check(
        json!({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": false, "minItems": 1}),
        &["[1]", "[1, 2]"],
        &["[]", "[1, 2, 3]"],
    );
    check(
        json!({"type": "array", "items": [{"const": 1}], "additionalItems": {"const": 2}, "$schema": "http://json-schema.org/draft-07/schema#"}),
        &["[1, 2, 2]"],
        &["[2]"],
    );
    check(json!({"type": "array", "maxItems": 0}), &["[]"], &["[1]"]);
    check(json!({"type": "array", "items": false}), &["[]"], &["[1]"]);
    check(
        json!({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}}),
        &["[7]", "[1, 5, 2]"],
        &["[]", "[1]", "[1, 2]"],
    );
    check(
        json!({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}, "minContains": 2, "maxContains": 2}),
        &["[7, 8]", "[1, 5, 2, 6]"],
        &["[7]", "[7, 8, 9]"],
    );
    check(
        json!({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}, "maxContains": 1}),
        &["[7]", "[1, 5, 2]", "[5, 1]"],
        &["[7, 8]", "[1]", "[]"],
    );
    check(
        json!({"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": true, "minItems": 1}),
        &["[\"a\"]", "[\"c\", \"a\", \"b\"]"],
        &["[]", "[\"a\", \"a\"]"],
    );
    check(
        json!({"type": "array", "uniqueItems": false, "items": {"type": "null"}}),
        &["[null, null]"],
        &["[1]"],
    );
    refused(
        json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
        ErrorKind::Refused,
        "/uniqueItems",
    );
}

#[test]
fn combinations() {
    check(
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false, "anyOf": [{"properties": {"a": {"minimum": 5}}}, {"properties": {"a": {"const": 0}}}]}),
        &["{\"a\": 5}", "{\"a\": 0}"],
        &["{\"a\": 3}", "{}"],
    );
    check(
        json!({"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 5}, {"not": {"const": 4}}]}),
        &["3", "5"],
        &["4", "2", "6"],
    );
    check(
        json!({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"a": {"maximum": 2}, "b": {"type": "null"}}, "required": ["b"]}]}),
        &["{\"a\": 1, \"b\": null}"],
        &["{\"a\": 3, \"b\": null}", "{\"a\": 1}"],
    );
    check(
        json!({"oneOf": [{"type": "integer"}, {"type": "string"}]}),
        &["1", "\"a\""],
        &["null", "1.5"],
    );
    check(
        json!({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 10}]}),
        &["3", "10.5"],
        &["10", "12", "3.5"],
    );
    // Lists that share a value, or that a pattern meets, do not exclude each other.
    let words = |last: &str| {
        json!({"type": "string", "oneOf": [
            {"enum": ["a", "b", "b"]}, {"const": last}, {"pattern": "^\\+|^c$"}]})
    };
    check(
        words("d"),
        &["\"a\"", "\"b\"", "\"d\"", "\"+a\"", "\"c\""],
        &["\"e\"", "1"],
    );
    check(words("b"), &["\"a\"", "\"c\""], &["\"b\"", "\"d\""]);
    check(words("c"), &["\"a\"", "\"+\""], &["\"c\"", "\"d\""]);
    check(
        json!({"oneOf": [{"enum": [1, "a"]}, {"enum": ["b", 1.0]}, {"type": "integer"}]}),
        &["\"a\"", "\"b\"", "2"],
        &["1", "1.0", "\"c\""],
    );
    check(
        json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"const": 1}, "b": {"const": 2}}, "additionalProperties": false}),
        &["{\"a\": 1}", "{\"b\": 2}"],
        &["{}", "{\"a\": 1, \"b\": 2}"],
    );
    check(
        json!({"if": {"properties": {"k": {"const": "x"}}, "required": ["k"]}, "then": {"required": ["v"]}, "type": "object", "properties": {"k": {"enum": ["x", "y"]}, "v": {"const": 1}}, "additionalProperties": false}),
        &["{\"k\": \"y\"}", "{}", "{\"k\": \"x\", \"v\": 1}"],
        &["{\"k\": \"x\"}"],
    );
    check(
        json!({"enum": [1, "a", null, [1], {"a": 1}], "type": ["integer", "array"]}),
        &["1", "[1]"],
        &["\"a\"", "null", "{\"a\": 1}"],
    );
    check(
        json!({"enum": ["red", "green"], "not": {"const": "red"}}),
        &["\"green\""],
        &["\"red\""],
    );
    check(
        json!({"not": {"type": ["object", "array"]}}),
        &["1", "\"a\""],
        &["{}", "[]"],
    );
}

#[test]
fn references() {
    check(
        json!({"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n", "maximum": 5}),
        &["5"],
        &["6", "\"a\""],
    );
    check(
        json!({"definitions": {"n": {"type": "integer"}}, "allOf": [{"$ref": "#/definitions/n"}]}),
        &["5"],
        &["1.5"],
    );
    check(
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/definitions/n", "maximum": 5}}, "type": "object", "required": ["a"]}),
        &["{\"a\": 6}"],
        &["{\"a\": null}"],
    );
    check(
        json!({"$id": "http://example.com/root", "$defs": {"x": {"$id": "other", "$anchor": "here", "type": "null"}}, "anyOf": [{"$ref": "other"}, {"$ref": "other#here"}, {"$ref": "http://example.com/other"}]}),
        &["null"],
        &["1"],
    );
    check(
        json!({"$defs": {"a/b~c%d": {"type": "null"}}, "$ref": "#/$defs/a~1b~0c%25d"}),
        &["null"],
        &["1"],
    );
    refused(json!({"$ref": "#/$defs/none"}), ErrorKind::Invalid, "/$ref");
    refused(
        json!({"$ref": "http://example.com/x"}),
        ErrorKind::Refused,
        "/$ref",
    );
    refused(json!({"$ref": "#"}), ErrorKind::Cyclic, "");
    let list = json!({"type": "object", "properties": {"v": {"const": 1}, "next": {"$ref": "#"}}, "required": ["v"], "additionalProperties": false});
    refused(list.clone(), ErrorKind::Recursive, "/properties/next/$ref");
    check_with(
        &Options::default().with_recursion(Recursion::Unroll(2)),
        list,
        &[
            "{\"v\": 1}",
            "{\"v\": 1, \"next\": {\"v\": 1}}",
            "{\"v\": 1, \"next\": {\"v\": 1, \"next\": {\"v\": 1}}}",
        ],
        &["{}"],
    );
    let endless =
        json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]});
    refused_with(
        &Options::default().with_recursion(Recursion::Unroll(2)),
        endless,
        ErrorKind::Unsatisfiable,
        "",
    );
}

#[test]
fn whitespace() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"const": 1}}}, "required": ["a"], "additionalProperties": false});
    let with = |w| Options::default().with_whitespace(w);
    check_with(
        &with(Whitespace::Compact),
        schema.clone(),
        &["{\"a\":[1,1]}"],
        &["{\"a\": [1,1]}"],
    );
    check_with(
        &with(Whitespace::SingleSpace),
        schema.clone(),
        &["{\"a\":[1,1]}", "{\"a\": [1, 1]}"],
        &["{ \"a\":[1]}", "{\"a\":  [1]}"],
    );
    check_with(
        &with(Whitespace::flexible()),
        schema.clone(),
        &[
            "{\n  \"a\" : [\n    1,\t1 ]\r\n}",
            "{\"a\":  [1, \n 1]}",
            &format!("{{\"a\":{0}[\n{0}1]}}", " ".repeat(40)),
        ],
        &[
            &format!("{{\"a\":{}[1]}}", " ".repeat(41)),
            &format!("{{\"a\":\n{}[1]}}", " ".repeat(41)),
            "{\"a\":\n\n[1]}",
            " {\"a\":[1]}",
        ],
    );
    check_with(
        &with(Whitespace::Pattern(" {0,2}".into())),
        schema.clone(),
        &["{  \"a\": [1  ,1] }"],
        &["{\"a\":\n[1]}"],
    );
    for bad in ["(", " ^", "x", "\\s", "\\b"] {
        refused_with(
            &with(Whitespace::Pattern(bad.into())),
            schema.clone(),
            ErrorKind::BadOption,
            "",
        );
    }
}
