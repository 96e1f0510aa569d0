//! Expressions against the answers of jmespath.py 1.1, written down by hand.

use super::*;
use crate::json;

const DOCUMENT: &str = r#"{
    "name": "f", "z": {"b": 1, "a": 2.0}, "tags": ["x", "yy", "x"], "n": null, "e": "",
    "items": [{"n": 1, "s": "one"}, {"n": 2}], "deep": [1, [2, [3]], 4],
    "big": 123456789012345678901234567890, "nums": [3, 1.5, 2]
}"#;

fn search(expression: &str) -> String {
    let document = json::decode(DOCUMENT).unwrap();
    match Expression::new(expression).and_then(|e| e.search(&document)) {
        Ok(value) => {
            let mut out = String::new();
            json::encode(&value, &mut out);
            out
        }
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn answers() {
    for (expression, expected) in [
        ("name", r#""f""#),
        ("missing.x", "null"),
        ("z.*", "[1,2.0]"),
        ("keys(z)", r#"["b","a"]"#),
        ("items[?s == 'one'] | [0]", r#"{"n":1,"s":"one"}"#),
        ("items[?!s].n", "[2]"),
        (
            "items[*].{k: n, t: s}",
            r#"[{"k":1,"t":"one"},{"k":2,"t":null}]"#,
        ),
        ("n.{a: name}", "null"),
        ("n.[name]", "null"),
        ("deep[]", "[1,2,[3],4]"),
        ("tags[::-1]", r#"["x","yy","x"]"#),
        ("tags[1:][0]", r#"[]"#),
        ("deep[1][0:1]", "[2]"),
        ("deep[1][0:1].x", "null"),
        ("e || `fallback`", r#""fallback""#),
        ("`not json`", r#""not json""#),
        ("`[1, 2.5]`", "[1,2.5]"),
        ("'it\\'s'", r#""it's""#),
        ("sum(nums)", "6.5"),
        ("sum(`[1, 2]`)", "3"),
        ("avg(`[1, 2]`)", "1.5"),
        ("max(nums)", "3"),
        ("sort(nums)", "[1.5,2,3]"),
        ("ceil(`1.2`)", "2"),
        ("big == `123456789012345678901234567890`", "true"),
        ("abs(`-5`)", "5"),
        ("`1` == `true`", "false"),
        ("`1` == `1.0`", "true"),
        ("contains(tags, 'yy')", "true"),
        ("join('-', tags)", r#""x-yy-x""#),
        ("length('héllo')", "5"),
        ("reverse('ab')", r#""ba""#),
        ("sort_by(items, &n)[-1].n", "2"),
        ("max_by(items, &n).n", "2"),
        ("map(&n, items)", "[1,2]"),
        ("merge(z, {b: name})", r#"{"b":"f","a":2.0}"#),
        ("not_null(n, name)", r#""f""#),
        ("to_string(z)", r#""{\"b\":1,\"a\":2.0}""#),
        ("to_number('1_0')", "10"),
        ("to_number('1e2')", "100.0"),
        ("type(n)", r#""null""#),
        ("items[].n", "[1,2]"),
        ("{a: name b: e}", r#"{"a":"f","b":""}"#),
        ("(name)", r#""f""#),
        (
            "name > `1`",
            r#"Python("a string and a number have no order")"#,
        ),
    ] {
        assert_eq!(search(expression), expected, "{expression}");
    }
}

#[test]
fn errors() {
    let mut out = String::new();
    for expression in [
        "",
        "[",
        "a..b",
        "{a}",
        "#",
        "a | ",
        "a[?",
        "`\"",
        "'x",
        "\"x\"(a)",
        "a[x]",
        "[1:2:3:4]",
        "-",
        "a b",
        "=",
        "unknown(@)",
        "length(name, name)",
        "abs('x')",
        "sort(items)",
        "sort_by(items, &s)",
        "tags[::0]",
        "&a",
        "ceil(`1e999`)",
        "merge(z, `1`)",
        "contains('a', `1`)",
    ] {
        out.push_str(&format!("{expression}: {}\n", search(expression)));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn limits() {
    let deep = "(".repeat(100_000);
    assert_eq!(Expression::new(&deep).unwrap_err(), JmesError::Nesting);
    let long = vec!["a"; 1000].join(".");
    assert_eq!(Expression::new(&long).unwrap_err(), JmesError::Nesting);
    let double = format!("{}@", "[@, @] | ".repeat(60));
    let value = Value::Bool(true);
    assert_eq!(
        Expression::new(&double).unwrap().search(&value),
        Err(JmesError::Size)
    );
}
