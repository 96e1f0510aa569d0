//! What structured-generation engines are known to get wrong, as cases that both
//! forms of a schema must get right. Each names the threads or the engines where
//! it was seen.

mod common;

use schema_regex::{Options, Whitespace, parse, to_regex};
use serde_json::{Value, json};

#[cfg(feature = "automaton")]
use schema_regex::automaton::SchemaAutomaton;

/// Both forms: the automaton must know, the expression may refuse where said.
#[derive(Clone, Copy, PartialEq)]
enum Regex {
    Says,
    Refuses,
}

#[track_caller]
fn check_in(options: &Options, regex: Regex, schema: Value, good: &[&str], bad: &[&str]) {
    let parsed = parse(&schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
    let printed = to_regex(&parsed, options);
    match (&printed, regex) {
        (Err(e), Regex::Says) => panic!("{schema}: {e}"),
        (Ok(text), Regex::Refuses) => panic!("{schema}: {text}"),
        _ => {}
    }
    let printed = printed.ok().map(|text| common::whole(&text));
    #[cfg(feature = "automaton")]
    let automaton = SchemaAutomaton::compile(parsed, options).unwrap();
    for (texts, want) in [(good, true), (bad, false)] {
        for text in texts {
            if let Some(regex) = &printed {
                assert_eq!(regex.is_match(text), want, "{schema}: regex on {text}");
            }
            #[cfg(feature = "automaton")]
            assert_eq!(
                automaton.is_match(text.as_bytes()),
                want,
                "{schema}: automaton on {text}"
            );
        }
    }
}

#[track_caller]
fn check(schema: Value, good: &[&str], bad: &[&str]) {
    check_in(&Options::default(), Regex::Says, schema, good, bad);
}

#[track_caller]
fn check_automaton(schema: Value, good: &[&str], bad: &[&str]) {
    check_in(&Options::default(), Regex::Refuses, schema, good, bad);
}

/// xgrammar#858: what stands beside `anyOf`, `oneOf` or `allOf` vanishes.
#[test]
fn siblings_of_combinations_hold() {
    check(
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "additionalProperties": false,
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        &["{\"a\": 1}", "{\"b\": 1}", "{\"a\": 1, \"b\": 2}"],
        &["{}", "{\"a\": \"x\"}", "{\"a\": 1, \"c\": 1}"],
    );
    check(
        json!({"minimum": 3, "oneOf": [{"type": "integer"}, {"type": "string"}]}),
        &["3", "\"\""],
        &["2", "null"],
    );
    check(
        json!({"maxLength": 2, "allOf": [{"type": "string"}]}),
        &["\"ab\""],
        &["\"abc\"", "1"],
    );
}

/// vllm#56556, outlines-core: `allOf` is ignored, concatenated, or any JSON.
#[test]
fn all_branches_of_all_of_hold() {
    check(
        json!({"allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"a": {"minimum": 2}, "b": {"type": "null"}}, "required": ["b"]},
            {"properties": {"a": {"maximum": 4}}}
        ]}),
        &["{\"a\": 3, \"b\": null}"],
        &[
            "{\"a\": 3}",
            "{\"a\": 1, \"b\": null}",
            "{\"a\": 5, \"b\": null}",
            "{\"a\": 3}{\"b\": null}",
            "3",
        ],
    );
}

/// outlines-core: an object without `properties` has no `required`.
#[test]
fn required_stands_alone() {
    check(
        json!({"required": ["a"]}),
        &["{\"a\": 1}", "7", "\"x\"", "{\"a\": null, \"b\": 1}"],
        &["{}", "{\"b\": 1}"],
    );
    check(
        json!({"type": "object", "required": ["a", "b"]}),
        &["{\"a\": 1, \"b\": 2}"],
        &["{\"a\": 1}", "{\"b\": 1}", "7"],
    );
}

/// vllm#45592 and others: of `pattern` and a length one is dropped.
#[test]
fn a_pattern_and_a_length_hold_together() {
    check(
        json!({"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3}),
        &["\"ab\"", "\"abc\""],
        &["\"a\"", "\"abcd\"", "\"AB\""],
    );
    check(
        json!({"type": "string", "pattern": "-29$", "maxLength": 10, "format": "date"}),
        &["\"2024-02-29\"", "\"2023-01-29\""],
        &["\"2023-02-29\"", "\"2024-02-28\"", "\"-29\""],
    );
}

/// XGrammar: with a length a raw tab is admitted and escapes are not.
#[test]
fn strings_are_json_strings() {
    for schema in [
        json!({"type": "string"}),
        json!({"type": "string", "maxLength": 5}),
        json!({"type": "string", "pattern": "^[^x]*$"}),
    ] {
        check(
            schema,
            &[
                "\"a\\tb\"",
                "\"\\\"\\\\\"",
                "\"\\u0009\"",
                "\"é😀\"",
                "\"\u{7f}\"",
            ],
            &["\"a\tb\"", "\"\n\"", "\"\u{1}\"", "\"\\x41\"", "\"\\u12\""],
        );
    }
    // An escape is one character.
    check(
        json!({"type": "string", "minLength": 1, "maxLength": 1}),
        &["\"\\n\"", "\"\\u00e9\"", "\"\\ud83d\\ude00\"", "\"😀\""],
        &["\"\\n\\n\"", "\"\""],
    );
}

/// XGrammar: halves of surrogate pairs are admitted alone.
#[test]
fn lone_surrogates_are_no_characters() {
    check(
        json!({"type": "string"}),
        &["\"\\ud83d\\ude00\"", "\"\\uD83D\\uDE00\""],
        &[
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\ude00\\ud83d\"",
            "\"\\ud83da\"",
            "\"\\ud83d\\u0061\"",
        ],
    );
}

/// outlines-core, XGrammar: the 30th of February.
#[test]
fn dates_are_in_the_calendar() {
    check(
        json!({"type": "string", "format": "date"}),
        &["\"2024-02-29\"", "\"2000-02-29\"", "\"2023-12-31\""],
        &[
            "\"2023-02-29\"",
            "\"2023-02-30\"",
            "\"1900-02-29\"",
            "\"2023-04-31\"",
            "\"2023-13-01\"",
            "\"2023-1-1\"",
        ],
    );
}

/// vllm#12028, xgrammar#192, outlines-core#147: numbers and their bounds.
#[test]
fn numbers_keep_their_bounds() {
    check(
        json!({"type": "number", "multipleOf": 0.01}),
        &["0.01", "1.1", "3", "-2.25"],
        &["0.001", "1.005"],
    );
    check(
        json!({"type": "integer", "minimum": 18, "maximum": 120}),
        &["18", "99", "120"],
        &["17", "121", "-18", "018", "18.5"],
    );
    check(
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
        &["0.1", "1", "0.00001", "1.0"],
        &["0", "-0", "0.0", "1.01", "2"],
    );
    check(
        json!({"type": "integer", "minimum": 9_007_199_254_740_993_i64}),
        &["9007199254740993"],
        &["9007199254740992"],
    );
}

/// vllm#38696, mellea#1515, xgrammar#412: blanks without end, and a bound that
/// does not bind.
#[test]
fn white_space_is_bounded() {
    let schema = json!({"type": "array", "items": {"const": 1}});
    let good = ["[1, 1]", "[1,1]", "[]"];
    check(
        schema.clone(),
        &good,
        &["[ 1]", "[1,  1]", "[1\n,1]", "[]\n"],
    );
    let bounded = Options::default().with_whitespace(Whitespace::Bounded(8));
    let (fits, long) = (
        format!("[{}1]", " ".repeat(8)),
        format!("[{}1]", "\n".repeat(9)),
    );
    check_in(&bounded, Regex::Says, schema, &[&fits], &[&long]);
}

/// llguidance#265: `patternProperties` is accepted and gives nothing but blanks.
#[test]
fn patterns_of_names_are_enforced() {
    check(
        json!({"type": "object", "patternProperties": {"^n_": {"type": "integer"}}, "additionalProperties": false}),
        &["{}", "{\"n_a\": 1}", "{\"n_a\": 1, \"n_b\": 2}"],
        &["{\"n_a\": \"x\"}", "{\"a\": 1}"],
    );
}

/// outlines-core#261: keywords that are dropped without a word.
#[test]
fn keywords_are_not_dropped() {
    check(
        json!({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 1}}, "additionalProperties": false, "minProperties": 1, "dependentRequired": {"a": ["b"]}}),
        &["{\"b\": 1}", "{\"a\": 1, \"b\": 1}"],
        &["{}", "{\"a\": 1}"],
    );
    check(
        json!({"type": "array", "items": {"type": "integer"}, "contains": {"const": 7}}),
        &["[7]", "[1, 7]"],
        &["[]", "[1]"],
    );
    check_automaton(
        json!({"type": "array", "items": {"type": "integer"}, "uniqueItems": true}),
        &["[1, 2]", "[]"],
        &["[1, 1]", "[1, 2, 1]"],
    );
    check(
        json!({"type": "integer", "not": {"enum": [1, 2]}}),
        &["3"],
        &["1", "2"],
    );
    check(
        json!({"type": "integer", "if": {"minimum": 10}, "then": {"multipleOf": 5}, "else": {"maximum": 3}}),
        &["10", "15", "3", "-1"],
        &["11", "4"],
    );
    check(
        json!({"type": "object", "propertyNames": {"maxLength": 1}, "additionalProperties": {"const": 1}}),
        &["{\"a\": 1}"],
        &["{\"ab\": 1}"],
    );
    // Complements that ask for a member without naming it.
    check(
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "not": {"additionalProperties": {"type": "string"}}}),
        &[
            "{\"a\": 1}",
            "{\"b\": 1}",
            "{\"b\": \"x\", \"c\": 1, \"d\": \"y\"}",
        ],
        &["{}", "{\"b\": \"x\"}", "{\"a\": \"x\"}"],
    );
    check(
        json!({"type": "object", "not": {"properties": {"a": true}, "additionalProperties": {"type": "string"}}}),
        &[
            "{\"a\": 1, \"b\": 2}",
            "{\"b\": 2, \"a\": 1}",
            "{\"a\": 1, \"c\": \"x\", \"b\": 2}",
        ],
        &["{}", "{\"a\": 1}", "{\"a\": 1, \"b\": \"x\"}"],
    );
    check(
        json!({"type": "object", "additionalProperties": {"type": "integer"}, "not": {"patternProperties": {"^x": {"minimum": 3}}}}),
        &[
            "{\"x\": 1}",
            "{\"a\": 1, \"xy\": 2}",
            "{\"xy\": 4, \"x\": 2}",
        ],
        &["{}", "{\"a\": 1}", "{\"x\": 3}"],
    );
    check(
        json!({"type": "object", "properties": {"a": true}, "not": {"enum": [{"a": 1}, {}]}}),
        &["{\"a\": 2}", "{\"b\": 1}", "{\"a\": 1, \"b\": 1}"],
        &["{}", "{\"a\": 1}"],
    );
    // The order of a listed object is its own, whatever stands beside it.
    check(
        json!({"enum": [{"b": 2, "a": 1}], "not": {"properties": {"a": {"const": 2}, "b": {"const": 2}}}}),
        &["{\"b\": 2, \"a\": 1}"],
        &["{\"b\": 2, \"a\": 1, \"c\": 3}", "{\"b\": 2}"],
    );
    check(
        json!({"type": "array", "not": {"enum": [[1, 2], []]}}),
        &["[1]", "[2, 1]", "[1, 2, 3]", "[1, 3]"],
        &["[]", "[1, 2]"],
    );
    check(
        json!({"type": "array", "prefixItems": [{"const": 1}], "unevaluatedItems": {"type": "string"}, "allOf": [{"prefixItems": [true, {"const": 2}]}]}),
        &["[]", "[1]", "[1, 2]", "[1, 2, \"a\"]"],
        &["[2]", "[1, 3]", "[1, 2, 3]"],
    );
    check(
        json!({"type": "object", "dependentRequired": {"a": ["b"]}, "properties": {"a": {"const": 1}, "b": {"const": 2}}, "additionalProperties": false}),
        &["{}", "{\"b\": 2}", "{\"a\": 1, \"b\": 2}"],
        &["{\"a\": 1}"],
    );
    check(
        json!({"type": "number", "multipleOf": 1}),
        &["1", "1.0", "-3"],
        &["1.5"],
    );
    check(
        json!({"type": "object", "allOf": [{"properties": {"a": {"const": 1}}}], "unevaluatedProperties": false}),
        &["{}", "{\"a\": 1}"],
        &["{\"a\": 1, \"b\": 1}"],
    );
}

/// llguidance: `oneOf` is refused unless its branches are plainly disjoint;
/// others read it as `anyOf`.
#[test]
fn one_of_is_exactly_one() {
    check(
        json!({"oneOf": [{"type": "integer", "maximum": 5}, {"type": "integer", "minimum": 3}]}),
        &["2", "6"],
        &["3", "5", "\"x\""],
    );
    check(
        json!({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 1}}, "additionalProperties": false,
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        &["{\"a\": 1}", "{\"b\": 1}"],
        &["{}", "{\"a\": 1, \"b\": 1}"],
    );
}

/// XGrammar: siblings of `$ref` are ignored; `$anchor` leads anywhere.
#[test]
fn references_keep_their_siblings() {
    check(
        json!({"$defs": {"n": {"$anchor": "n", "type": "integer"}}, "$ref": "#n", "minimum": 3}),
        &["3"],
        &["2", "\"x\""],
    );
}

/// xgrammar#831 and PR#668: any order without `required` or with a name twice.
#[cfg(feature = "automaton")]
#[test]
fn any_order_keeps_required_and_names_single() {
    use schema_regex::PropertyOrder;
    let schema = json!({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"], "additionalProperties": {"const": 3}});
    let any = Options::default().with_property_order(PropertyOrder::Any);
    let automaton = SchemaAutomaton::new(&schema, &any).unwrap();
    for (text, want) in [
        ("{\"b\": 2, \"a\": 1}", true),
        ("{\"c\": 3, \"b\": 2, \"d\": 3, \"a\": 1}", true),
        ("{\"b\": 2}", false),
        ("{\"a\": 1, \"b\": 2, \"a\": 1}", false),
        ("{\"a\": 1, \"b\": 2, \"c\": 3, \"c\": 3}", false),
        ("{\"a\": 1, \"b\": 2, \"c\": 3, \"\\u0063\": 3}", false),
    ] {
        assert_eq!(automaton.is_match(text.as_bytes()), want, "{text}");
    }
}

/// xgrammar#852, llama.cpp#17473: large counts are refused or very slow.
#[test]
fn large_counts_are_counted() {
    let long = format!("\"{}\"", "a".repeat(2_001));
    let fits = format!("\"{}\"", "a".repeat(2_000));
    let schema = json!({"type": "string", "maxLength": 2_000});
    #[cfg(feature = "automaton")]
    {
        let automaton = SchemaAutomaton::new(&schema, &Options::default()).unwrap();
        assert!(automaton.is_match(fits.as_bytes()) && !automaton.is_match(long.as_bytes()));
    }
    let text = to_regex(&parse(&schema).unwrap(), &Options::default()).unwrap();
    assert!(text.contains("{0,2000}"), "{text}");
    let _ = (fits, long);
}

/// sglang#7639, outlines-core#180: a recursive schema brings the server down.
#[test]
fn recursion_ends() {
    let tree = json!({"type": "object", "properties": {"v": {"type": "integer"}, "c": {"type": "array", "items": {"$ref": "#"}}}, "required": ["v"], "additionalProperties": false});
    check_automaton(
        tree,
        &["{\"v\": 1, \"c\": [{\"v\": 2, \"c\": []}, {\"v\": 3}]}"],
        &["{\"v\": 1, \"c\": [{\"c\": []}]}"],
    );
    let endless =
        json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]});
    let parsed = parse(&endless).unwrap();
    assert!(to_regex(&parsed, &Options::default()).is_err());
    #[cfg(feature = "automaton")]
    assert!(SchemaAutomaton::compile(parsed, &Options::default()).is_err());
}

/// outlines-core#147: names and values that need escapes.
#[test]
fn names_and_values_are_escaped() {
    check(
        json!({"type": "object", "properties": {"a\"b\\c\n": {"const": "\t\"/"}}, "required": ["a\"b\\c\n"], "additionalProperties": false}),
        &["{\"a\\\"b\\\\c\\n\": \"\\t\\\"/\"}"],
        &[
            "{\"a\"b\\c\\n\": \"\\t\\\"/\"}",
            "{\"a\\\"b\\\\c\\n\": \"\t\\\"/\"}",
        ],
    );
}
