//! What hostile schemas may cost, and what they are told.

use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{
    AnyValue, ErrorKind, Options, ParseOptions, Rounded, Settings, parse, parse_str,
    parse_str_with, parse_with, to_regex,
};
use serde_json::{Value, json};

use crate::common::whole;

fn compiled(schema: &Value) -> SchemaAutomaton {
    SchemaAutomaton::new(schema, &Options::default()).unwrap_or_else(|e| panic!("{e}: {schema}"))
}

#[track_caller]
fn says(text: &str, accepted: &[&str], rejected: &[&str]) {
    let automaton = SchemaAutomaton::from_text(text, &Options::default());
    let automaton = automaton.unwrap_or_else(|e| panic!("{e}: {text}"));
    for word in accepted {
        assert!(automaton.is_match(word.as_bytes()), "{word} by {text}");
    }
    for word in rejected {
        assert!(!automaton.is_match(word.as_bytes()), "{word} by {text}");
    }
}

/// Alternatives that overlap multiply. The budget of steps sees it, and the error names
/// the keyword that is really there.
#[test]
fn what_multiplies_is_refused_by_its_keyword() {
    let member = |i: usize| format!("p{i}");
    let overlapping: Value = (0..2_000)
        .map(|i| json!({"type": "object", "required": [member(i)], "patternProperties": {(member(i)): {"type": "string"}}}))
        .collect();
    let many: Value = (0..3_000)
        .map(|i| json!({"pattern": format!("k{i}[a-z]*v")}))
        .collect();
    let each: Value = (0..60)
        .map(|i| json!({"anyOf": [{"required": [member(i)]}, {"patternProperties": {(member(i)): {"type": "string"}}}]}))
        .collect();
    let cases = [
        (json!({"oneOf": overlapping}), "/oneOf"),
        (json!({"type": "string", "oneOf": many}), "/oneOf"),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"oneOf": overlapping}}}),
            "/$defs/a/oneOf",
        ),
        (
            json!({"type": "array", "items": {"type": "object", "allOf": each}}),
            "/items/allOf",
        ),
    ];
    for (schema, pointer) in cases {
        let error = SchemaAutomaton::new(&schema, &Options::default()).expect_err("too much");
        let kinds = [
            ErrorKind::TooManySteps,
            ErrorKind::TooManyAlternatives,
            ErrorKind::Refused,
        ];
        assert!(kinds.contains(&error.kind()), "{error}");
        assert!(error.pointer().starts_with(pointer), "{error}");
        let keyword = error.keyword().expect("a keyword");
        assert!(error.message().contains(&format!("`{keyword}`")), "{error}");
    }
}

/// Twenty times the values took four hundred times as long: equality was asked of each pair.
#[test]
fn long_lists_of_values_are_no_matter() {
    let decimals: Vec<Value> = (0..20_000)
        .map(|i| json!(f64::from(i) / 8.0 + 0.03125))
        .collect();
    let integers: Vec<Value> = (0..20_000).map(|i| json!(i)).collect();
    let texts: Vec<Value> = (0..20_000).map(|i| json!(format!("text {i}"))).collect();
    let automaton = compiled(&json!({"enum": decimals}));
    assert!(automaton.is_match(b"0.03125") && automaton.is_match(b"2499.90625"));
    assert!(!automaton.is_match(b"0.0312") && !automaton.is_match(b"2500.03125"));
    let both: Vec<Value> = integers.iter().chain(&texts).cloned().collect();
    let automaton =
        compiled(&json!({"enum": both, "allOf": [{"not": {"const": 5}}, {"enum": integers}]}));
    assert!(
        automaton.is_match(b"4") && !automaton.is_match(b"5") && !automaton.is_match(b"\"text 4\"")
    );
    let automaton =
        compiled(&json!({"enum": integers, "allOf": [{"enum": integers}], "multipleOf": 3}));
    assert!(automaton.is_match(b"19998") && !automaton.is_match(b"19999"));
}

/// Objects that a member tells apart exclude each other, whoever lists its values.
#[test]
fn tags_tell_many_objects_apart() {
    let branch = |i: usize| {
        json!({"type": "object", "required": ["k", "v"], "additionalProperties": false,
            "properties": {"k": {"enum": [format!("a{i}"), i]}, "v": {"type": "integer"}}})
    };
    let many: Vec<Value> = (0..1_000).map(branch).collect();
    let automaton = compiled(&json!({"oneOf": many}));
    assert!(
        automaton.is_match(br#"{"k":"a999","v":1}"#) && automaton.is_match(br#"{"k":7,"v":1}"#)
    );
    assert!(!automaton.is_match(br#"{"k":"a1000","v":1}"#));
    // Two that share a value: what has it is in both.
    let mut shared = many[..20].to_vec();
    shared.push(json!({"type": "object", "required": ["k", "v"], "properties": {"k": {"const": 3}, "v": {"type": "integer"}}}));
    let automaton = compiled(&json!({"oneOf": shared}));
    assert!(automaton.is_match(br#"{"k":4,"v":1}"#) && !automaton.is_match(br#"{"k":3,"v":1}"#));
}

/// What lists no values, and none of those that others list, needs no choice for each of them.
#[test]
fn what_is_none_of_many_tags_is_one_alternative() {
    let branch = |i: usize| {
        json!({"properties": {"k": {"const": format!("k{i}")},
            "v": {"type": "object", "properties": {"x": {"const": i}}, "required": ["x"]}}})
    };
    let tags: Vec<String> = (0..16).map(|i| format!("k{i}")).collect();
    let mut branches: Vec<Value> = (0..16).map(branch).collect();
    branches.insert(
        0,
        json!({"not": {"properties": {"k": {"enum": tags}}, "required": ["k"]}}),
    );
    let schema = json!({"type": "object", "required": ["k", "v"], "oneOf": branches,
        "properties": {"k": {"type": "string"}, "v": {}}});
    let automaton = compiled(&schema);
    for text in [r#"{"k":"k3","v":{"x":3}}"#, r#"{"k":"other","v":1}"#] {
        assert!(automaton.is_match(text.as_bytes()), "{text}");
    }
    for text in [r#"{"k":"k3","v":{"x":4}}"#, r#"{"k":"k3","v":1}"#] {
        assert!(!automaton.is_match(text.as_bytes()), "{text}");
    }
}

/// A choice that was settled serves again where it says the same, and there alone.
#[test]
fn repeated_choices_say_what_they_say() {
    let choice = |extra: &str| {
        let mut branches: Vec<Value> = (0..10).map(|i| json!({"const": format!("w{i}")})).collect();
        branches.push(json!({"allOf": [{"pattern": extra}]}));
        json!({"type": "string", "anyOf": branches})
    };
    let schema = json!({"type": "object", "additionalProperties": false, "properties":
        {"a": choice("^x"), "b": choice("^x"), "c": choice("^y"), "d": {"not": choice("^x")}}});
    let automaton = compiled(&schema);
    for text in [
        r#"{"a":"xx","b":"xx","c":"yy","d":"yy"}"#,
        r#"{"a":"w1","b":"w9","c":"w3","d":1}"#,
    ] {
        assert!(automaton.is_match(text.as_bytes()), "{text}");
    }
    for text in [
        r#"{"b":"yy"}"#,
        r#"{"c":"xx"}"#,
        r#"{"d":"xx"}"#,
        r#"{"d":"w1"}"#,
    ] {
        assert!(!automaton.is_match(text.as_bytes()), "{text}");
    }
}

/// Fewer steps are a limit that a caller can set, on both ways.
#[test]
fn steps_are_bounded() {
    let texts: Vec<Value> = (0..2_000).map(|i| json!(format!("text {i}"))).collect();
    let schemas = [
        json!({"enum": texts, "pattern": "1$"}),
        json!({"type": "string", "pattern": "^[a-f]{3}(x|yz){20,70}[0-9]*$", "allOf": [{"pattern": "0$"}]}),
        json!({"type": "integer", "multipleOf": 1999}),
        json!({"type": "object", "allOf": [{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"oneOf": [{"required": ["c"]}, {"required": ["d"]}]}]}),
    ];
    for schema in schemas {
        let few = Options::default().with_max_steps(5);
        let error = SchemaAutomaton::new(&schema, &few).expect_err("too few steps");
        assert_eq!(error.kind(), ErrorKind::TooManySteps, "{error}");
        let read = parse(&schema).expect("a schema");
        let error = to_regex(&read, &few).expect_err("too few steps");
        assert_eq!(error.kind(), ErrorKind::TooManySteps, "{error}");
    }
}

/// `minimum` 10^26 + 1 accepted 10^26: the digits were gone before anybody looked.
#[test]
fn texts_keep_their_digits() {
    let n = "100000000000000000000000001";
    let less = "100000000000000000000000000";
    says(
        &format!(r#"{{"type":"integer","minimum":{n}}}"#),
        &[n, "200000000000000000000000000"],
        &[less, "5"],
    );
    says(
        &format!(r#"{{"type":"number","exclusiveMaximum":{n}}}"#),
        &[less, "-1", "0.5"],
        &[n],
    );
    says(&format!(r#"{{"const":{n}}}"#), &[n], &[less, "1"]);
    says(
        &format!(r#"{{"enum":["a",{n},7]}}"#),
        &[n, "\"a\"", "7"],
        &[less, "\"b\""],
    );
    says(
        &format!(r#"{{"type":"integer","not":{{"const":{n}}}}}"#),
        &[less],
        &[n],
    );
    let third = "0.3333333333333333333333333333";
    says(
        &format!(r#"{{"type":"number","maximum":{third}}}"#),
        &[third, "0.3"],
        &["0.33333333333333333333333333331", "0.34"],
    );
    says(
        r#"{"type":"number","minimum":1e400}"#,
        &[&format!("1{}", "0".repeat(400))],
        &["1"],
    );
    says(
        r#"{"type":"number","minimum":0,"maximum":1e-400}"#,
        &["0", &format!("0.{}1", "0".repeat(399))],
        &["0.1"],
    );
    for refused in [
        r#"{"minimum":1e999999999}"#,
        r#"{"maximum":-1e-999999999}"#,
        r#"{"multipleOf":1e99999999999999999999}"#,
        r#"{"const":1e999999999}"#,
        r#"{"const":[1e400]}"#,
        &format!(r#"{{"enum":[{{"a":{n}}}]}}"#),
    ] {
        let error = parse_str(refused).expect_err(refused);
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert!(
            error.keyword().is_some_and(|k| refused.contains(k)),
            "{error}"
        );
    }
}

/// A value does not say whether it was rounded. What may have been is refused by name,
/// and what hardly was is taken as it stands.
#[test]
fn rounded_numbers_are_refused_by_name() {
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    for text in [
        r#"{"minimum":100000000000000000000000001}"#,
        r#"{"properties":{"a":{"exclusiveMaximum":18446744073709551616}}}"#,
        r#"{"const":12345678901234567890123}"#,
        r#"{"enum":[1,123456789.123456789123]}"#,
        r#"{"multipleOf":0.12345678901234567890}"#,
    ] {
        let error = parse(&read(text)).expect_err(text);
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert!(error.message().contains("parse_str"), "{error}");
        assert!(error.keyword().is_some(), "{error}");
        let keep = ParseOptions::default().with_rounded(Rounded::Keep);
        assert!(parse_with(&read(text), &keep).is_ok());
        assert!(parse_str(text).is_ok());
    }
    for text in [
        r#"{"minimum":0.1,"maximum":18446744073709551615}"#,
        r#"{"minimum":-9223372036854775808,"multipleOf":0.01}"#,
        r#"{"multipleOf":1e30}"#,
        r#"{"enum":[1.5,0.30000000000000,1e15,1e-300]}"#,
        r#"{"default":100000000000000000000000001}"#,
    ] {
        assert!(parse(&read(text)).is_ok(), "{text}");
    }
}

/// Divisors beyond machine numbers are followed by the zeros that they end with.
#[test]
fn large_divisors_are_followed() {
    let zeros = |n: usize| "0".repeat(n);
    let text = r#"{"type":"number","multipleOf":1e30}"#;
    says(
        text,
        &[
            "0",
            &format!("1{}", zeros(30)),
            &format!("-12{}.0", zeros(31)),
        ],
        &["1", &format!("1{}", zeros(29))],
    );
    says(
        r#"{"type":"integer","multipleOf":7e300}"#,
        &["0", &format!("14{}", zeros(300))],
        &[&format!("15{}", zeros(300)), "7"],
    );
    let schema = parse_str(r#"{"type":"integer","multipleOf":1e30}"#).expect("a schema");
    assert!(
        to_regex(&schema, &Options::default())
            .expect("printed")
            .contains("30")
    );
    assert!(
        schema
            .is_valid(&json!(1e30), &Options::default())
            .expect("valid")
    );
    assert!(
        !schema
            .is_valid(&json!(1e29), &Options::default())
            .expect("not")
    );
}

/// Patterns of many alternatives are read as one automaton where that is small, and
/// refused where it is not: side by side each costs every step of a mask.
#[test]
fn many_patterns_become_one() {
    let many = |one: &dyn Fn(usize) -> String| -> Value {
        let all: Value = (0..600).map(|i| json!({"pattern": one(i)})).collect();
        json!({"type": "string", "anyOf": all})
    };
    let automaton = compiled(&many(&|i| format!("^[a-z]{{{}}}-[0-9]+x{i}$", i % 5 + 1)));
    for (text, want) in [
        ("\"ab-7x1\"", true),
        ("\"ab-7x2\"", false),
        ("\"abcde-123x299\"", true),
        ("\"a-1x600\"", false),
    ] {
        assert_eq!(automaton.is_match(text.as_bytes()), want, "{text}");
    }
    let apart = many(&|i| format!("k{i}[a-z]*v.*w{i}"));
    let error = SchemaAutomaton::new(&apart, &Options::default()).expect_err("too many");
    assert_eq!(error.keyword(), Some("pattern"), "{error}");
    assert!(error.pointer().starts_with("/anyOf/"), "{error}");
}

/// A stranger's schema does not choose for the host.
#[test]
fn settings_are_followed_where_asked_for() {
    let schema = json!({"x-tokenmold": {"whitespace": 5, "unknown": 1}, "type": "array", "items": {"x-tokenmold": 1}});
    assert!(compiled(&schema).is_match(b"[1, 2]"));
    let follow = ParseOptions::default().with_settings(Settings::Follow);
    assert!(parse_with(&schema, &follow).is_err());
}

/// Values that code has nested 10,000 deep, on a stack of half a megabyte.
#[test]
fn deep_values_are_errors_at_the_door() {
    // Their own drop recurses, so they are let go piece by piece.
    fn drop_slowly(value: Value) {
        let mut todo = vec![value];
        while let Some(value) = todo.pop() {
            match value {
                Value::Array(items) => todo.extend(items),
                Value::Object(map) => todo.extend(map.into_iter().map(|(_, v)| v)),
                _ => {}
            }
        }
    }
    let deep = |wrap: &dyn Fn(Value) -> Value, n: usize| (0..n).fold(json!(1), |v, _| wrap(v));
    let check = move || {
        let wraps: [&dyn Fn(Value) -> Value; 5] = [
            &|v| Value::Array(vec![v]),
            &|v| {
                let mut m = serde_json::Map::new();
                m.insert("not".into(), v);
                Value::Object(m)
            },
            &|v| {
                let mut m = serde_json::Map::new();
                m.insert("items".into(), v);
                Value::Object(m)
            },
            &|v| {
                let mut m = serde_json::Map::new();
                m.insert("$ref".into(), v);
                Value::Object(m)
            },
            &|v| {
                let mut m = serde_json::Map::new();
                m.insert("allOf".into(), Value::Array(vec![v]));
                Value::Object(m)
            },
        ];
        let anything =
            parse(&json!({"type": "array", "items": {"items": {"const": 1}}})).expect("a schema");
        for wrap in wraps {
            for (n, refused) in [(10_000, true), (90, false)] {
                let value = deep(wrap, n);
                let mut member = serde_json::Map::new();
                member.insert("const".into(), value);
                let schema = Value::Object(member);
                let kind = |e: schema_regex::Error| e.kind();
                let result = parse(&schema).map_err(kind);
                assert_eq!(result.err() == Some(ErrorKind::TooDeep), refused);
                let result = SchemaAutomaton::new(&schema, &Options::default()).map_err(kind);
                assert_eq!(result.err() == Some(ErrorKind::TooDeep), refused);
                let inside = parse(&schema["const"]).err().map(kind);
                assert_eq!(inside == Some(ErrorKind::TooDeep), refused);
                let valid = anything.is_valid(&schema["const"], &Options::default());
                assert_eq!(valid.err().map(kind) == Some(ErrorKind::TooDeep), refused);
                drop_slowly(schema);
            }
        }
        // Text that is deep is stopped while it is read.
        let text = format!("{}1{}", "{\"not\":".repeat(200_000), "}".repeat(200_000));
        let error = parse_str(&text).expect_err("deep");
        assert_eq!(error.kind(), ErrorKind::TooDeep);
        let deeper = ParseOptions::default().with_max_nesting(3);
        assert!(parse_str_with(r#"{"not":{"not":{"not":{}}}}"#, &deeper).is_err());
        assert!(parse_str_with(r#"{"not":{"not":{"type":"null"}}}"#, &deeper).is_ok());
    };
    let thread = std::thread::Builder::new()
        .stack_size(512 * 1024)
        .spawn(check);
    thread.expect("a thread").join().expect("no overflow");
}

/// 300 objects that each bound the same member otherwise took 0.1 s a mask: each character is
/// held against all bounds. Alike ones, however many, are no matter.
#[test]
fn alternatives_that_bound_one_string_are_limited() {
    let objects = |n: usize, bound: &dyn Fn(usize) -> Value| {
        let one = |i: usize| {
            let names = [
                ("a".to_owned(), bound(i)),
                (format!("p{i}"), json!({"type": "integer"})),
            ];
            json!({"type": "object", "additionalProperties": false, "required": ["a"],
                   "properties": names.into_iter().collect::<serde_json::Map<_, _>>()})
        };
        json!({"anyOf": (0..n).map(one).collect::<Vec<_>>()})
    };
    let options = Options::default();
    let compile = |schema: &Value| SchemaAutomaton::new(schema, &options).map(|_| ());
    let other = |i: usize| json!({"type": "string", "maxLength": i + 1});
    let error = compile(&objects(201, &other)).expect_err("too many");
    assert_eq!(error.kind(), ErrorKind::TooManyAlternatives);
    assert!(error.to_string().contains("200 alternatives"), "{error}");
    compile(&objects(200, &other)).expect("as many as there may be");
    let alike = |_: usize| json!({"type": "string", "maxLength": 5});
    compile(&objects(300, &alike)).expect("all ask the same");
    let listed = |i: usize| json!({"const": format!("kind {i}")});
    compile(&objects(300, &listed)).expect("listed strings are told apart at once");
}

/// Each location led to the next one three times: to ask whether `{}` is valid took 2^60 steps.
#[test]
fn references_that_double_are_followed_once() {
    let levels = 60;
    let name = |i: usize| format!("d{i}");
    let level = |i: usize| {
        let next = json!({"$ref": format!("#/$defs/{}", name(i + 1))});
        let schema = match i < levels {
            true => json!({"allOf": [next, next], "properties": {"a": next},
                "patternProperties": {"^a$": next}, "additionalProperties": next}),
            false => json!({"propertyNames": {"maxLength": 1}, "type": ["object", "null"]}),
        };
        (name(i), schema)
    };
    let all: serde_json::Map<_, _> = (0..=levels).map(level).collect();
    let schema = json!({"$ref": "#/$defs/d0", "$defs": all});
    let read = parse(&schema).expect("a schema");
    let is_valid = |value: &Value| read.is_valid(value, &Options::default());
    let deep = |last: Value| (0..20).fold(last, |value, _| json!({"a": value, "b": null}));
    assert_eq!(is_valid(&deep(json!({}))), Ok(true));
    assert_eq!(is_valid(&deep(json!(1))), Ok(false));
    assert_eq!(is_valid(&deep(json!({"aa": null}))), Ok(false));
    // Too much of it is an error.
    let many = parse(&json!({"items": {"allOf": [{"items": {"type": "null"}}]}}));
    let many = many.expect("a schema");
    let is_valid = |n: usize| many.is_valid(&json!(vec![json!([]); n]), &Options::default());
    assert_eq!(is_valid(200_000), Ok(true));
    let error = is_valid(600_000).expect_err("too much");
    assert_eq!(error.kind(), ErrorKind::TooManySteps, "{error}");
    let automaton = compiled(&schema);
    assert!(automaton.is_match(br#"{"a":{"b":null}}"#) && !automaton.is_match(br#"{"ab":null}"#));
}

/// Names are values that live no longer than the question about them: what was said of one
/// says nothing of the next.
#[test]
fn names_are_asked_one_by_one() {
    let schema = json!({"propertyNames": {"allOf": [{"anyOf": [{"pattern": "^a"}, {"const": "b"}]}, {"maxLength": 2}]}});
    let read = parse(&schema).expect("a schema");
    for (value, expected) in [
        (json!({"a": 1, "ab": 1, "b": 1}), true),
        (json!({"a": 1, "c": 1}), false),
        (json!({"a": 1, "abc": 1}), false),
        (json!({"c": 1, "a": 1}), false),
    ] {
        let valid = read.is_valid(&value, &Options::default());
        assert_eq!(valid, Ok(expected), "{value}");
    }
}

/// The texts of 5,000 items took 700 MiB before anybody saw that they are too long together,
/// and so did those of members and of values inside each other.
#[test]
fn expressions_are_too_long_before_they_are_made() {
    let any: Vec<Value> = (0..4_000).map(|i| json!({"minimum": i})).collect();
    let named: serde_json::Map<_, _> = (0..4_000)
        .map(|i| (format!("p{i}"), json!({"minimum": i})))
        .collect();
    for schema in [
        json!({"type": "array", "prefixItems": any}),
        json!({"type": "object", "properties": named}),
    ] {
        let error = to_regex(&parse(&schema).expect("a schema"), &Options::default());
        assert_eq!(error.expect_err("too long").kind(), ErrorKind::TooLong);
        compiled(&schema);
    }
    // None is too long by itself.
    let long: String = ('a'..='z').cycle().take(2_000).collect();
    let nested = |levels: usize| {
        let innermost = json!({"const": long});
        let schema = (0..levels).fold(
            innermost,
            |inner, _| json!({"type": "array", "items": inner, "minItems": 1, "maxItems": 1}),
        );
        let options = Options::default().with_max_regex_bytes(4_000);
        to_regex(&parse(&schema).expect("a schema"), &options)
    };
    assert!(nested(30).expect("a few of them").len() < 3_000);
    let error = nested(100).expect_err("all together");
    assert_eq!(error.kind(), ErrorKind::TooLong, "{error}");
    assert!(error.to_string().contains("4000 bytes"), "{error}");
}

/// Arrays that differ from a prefix somewhere: an alternative for each place, with a list of
/// the places before it. 100,000 of them took all memory.
#[test]
fn complements_of_long_prefixes_are_refused_by_name() {
    let items: Vec<Value> = (0..100_000).map(|i| json!({"minimum": i})).collect();
    let schema = json!({"type": "array", "not": {"prefixItems": items}});
    let read = parse(&schema).expect("a schema");
    let error = to_regex(&read, &Options::default()).expect_err("too much");
    assert_eq!(error.kind(), ErrorKind::TooManyAlternatives, "{error}");
    assert_eq!(error.keyword(), Some("not"), "{error}");
    let error = SchemaAutomaton::new(&schema, &Options::default()).expect_err("too much");
    assert_eq!(error.kind(), ErrorKind::TooManyAlternatives, "{error}");
    assert_eq!(error.keyword(), Some("not"), "{error}");
    // Places that may be any are no alternatives.
    let few = json!({"type": "array", "not": {"prefixItems": [true, true, {"type": "string"}]}});
    let few = parse(&few).expect("a schema");
    let scalars = Options::default().with_any_value(AnyValue::Depth(0));
    let text = whole(&to_regex(&few, &scalars).expect("one alternative"));
    for (array, expected) in [("[1,2,3]", true), ("[1,2]", false), ("[1,2,\"a\"]", false)] {
        assert_eq!(text.is_match(array), expected, "{array}");
    }
}

/// Whether 200,000 values are more than there may be was found when all had been held against
/// all.
#[test]
fn long_lists_of_containers_are_refused_by_name() {
    for value in [json!({"a": [1, 2, 3]}), json!([1, "a"])] {
        let schema = json!({"enum": vec![value; 2_001]});
        let error = SchemaAutomaton::new(&schema, &Options::default()).expect_err("too many");
        assert_eq!(error.kind(), ErrorKind::TooManyAlternatives, "{error}");
        assert_eq!(error.keyword(), Some("enum"), "{error}");
    }
}

/// What one member can give beside others was tried in every order, until the search gave up:
/// a mask took 50 ms, and an object that can be finished was refused.
#[test]
fn few_members_that_must_show_much_are_found() {
    let shows = |c: char| {
        let none = json!({"not": {"type": "string", "pattern": c.to_string()}});
        json!({"not": {"additionalProperties": none}})
    };
    let schema = json!({"type": "object", "maxProperties": 2,
        "allOf": "abcdefg".chars().map(shows).collect::<Vec<_>>()});
    let automaton = compiled(&schema);
    for (text, expected) in [
        (r#"{"x":"abcd","y":"gfe"}"#, true),
        (r#"{"x":"abcdefg"}"#, true),
        (r#"{"x":1,"y":"abcdefg"}"#, true),
        (r#"{"x":"abcd","y":"fg"}"#, false),
        (r#"{"x":1,"y":2,"z":"abcdefg"}"#, false),
    ] {
        assert_eq!(automaton.is_match(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn long_and_deep_input_is_bounded() {
    // A name that is long and open beside: the names that differ from it.
    let name = "n".repeat(5_000);
    let long = json!({"type": "object", "properties": {name.as_str(): {"type": "null"}}});
    match to_regex(&parse(&long).unwrap(), &Options::default()) {
        Ok(text) => assert!(text.len() < 4_000_000),
        Err(e) => assert_eq!(e.kind(), ErrorKind::Refused, "{e}"),
    }
    let mut value = json!(1);
    for _ in 0..300 {
        value = json!([value]);
    }
    assert_eq!(
        parse(&json!({"const": value})).unwrap_err().kind(),
        ErrorKind::TooDeep
    );
    // A chain of references, and one that never descends.
    let chain: serde_json::Map<String, Value> = (0..500)
        .map(|i| {
            (
                format!("d{i}"),
                json!({"$ref": format!("#/$defs/d{}", i + 1)}),
            )
        })
        .collect();
    let schema = parse(&json!({"$defs": chain, "$ref": "#/$defs/d0"}));
    assert!(schema.is_err());
    let ring: serde_json::Map<String, Value> = (0..50)
        .map(|i| {
            (
                format!("d{i}"),
                json!({"$ref": format!("#/$defs/d{}", (i + 1) % 50)}),
            )
        })
        .collect();
    let ring = parse(&json!({"$defs": ring, "$ref": "#/$defs/d0"})).unwrap();
    assert_eq!(
        to_regex(&ring, &Options::default()).unwrap_err().kind(),
        ErrorKind::Cyclic
    );
}

/// A message costs a bounded number of compilations, however many places there are.
#[test]
fn a_message_about_a_large_schema_is_bounded() {
    let mut properties = serde_json::Map::new();
    for n in 0..2_000 {
        properties.insert(format!("p{n}"), json!({"type": "string", "enum": [n]}));
    }
    let names: Vec<&String> = properties.keys().collect();
    let schema = json!({"type": "object", "required": names, "properties": properties});
    let found = SchemaAutomaton::new(&schema, &Options::default()).unwrap_err();
    assert_eq!(found.kind(), ErrorKind::Unsatisfiable, "{found}");
}

/// Two hundred optional members have an expression in proportion, and a large count is written as one.
#[test]
fn expressions_of_many_members_and_large_counts_are_short() {
    let many: serde_json::Map<String, Value> = (0..200)
        .map(|i| (format!("p{i}"), json!({"type": "integer"})))
        .collect();
    let many = json!({"type": "object", "properties": many, "additionalProperties": false});
    let text = to_regex(&parse(&many).unwrap(), &Options::default()).unwrap();
    assert!(text.len() < 100_000, "{}", text.len());
    assert!(whole(&text).is_match("{\"p7\": 1, \"p199\": 2}"));

    let long = json!({"type": "string", "maxLength": 2_000});
    let text = to_regex(&parse(&long).unwrap(), &Options::default()).unwrap();
    assert!(text.contains("{0,2000}"), "{text}");
    let automaton = compiled(&long);
    for (length, fits) in [(2_000, true), (2_001, false)] {
        let text = format!("\"{}\"", "a".repeat(length));
        assert_eq!(automaton.is_match(text.as_bytes()), fits);
    }
}
