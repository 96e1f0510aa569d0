//! Patterns, formats, names and lengths. For example, the pattern `^(a{1,1000}){1,1000}$`, whose
//! counts multiply.

use serde_json::{Value, json};

use super::{Cases, add, list, map, name};

/// Patterns that are costly to compile, or of a kind that may not be implemented.
fn difficult_patterns() -> Vec<(&'static str, String)> {
    vec![
        ("nested counts", "^(a{1,1000}){1,1000}$".to_owned()),
        (
            "deeply nested counts",
            "^((((a{1,50}){1,50}){1,50}){1,50})$".to_owned(),
        ),
        (
            "many optional letters",
            format!("^{}$", "a?".repeat(20_000)),
        ),
        (
            "many optional classes",
            format!("^{}$", "[ab]?".repeat(2_000)),
        ),
        ("a letter far from the end", "^[ab]*a[ab]{30}$".to_owned()),
        (
            "a letter rather far from the end",
            "^[ab]*a[ab]{10}$".to_owned(),
        ),
        ("many stars", format!("^{}$", "(a|b)*".repeat(1_000))),
        (
            "nested stars",
            format!("^{}a{}$", "(".repeat(100), ")*".repeat(100)),
        ),
        (
            "too deeply nested groups",
            format!("^{}a{}$", "(".repeat(5_000), ")".repeat(5_000)),
        ),
        ("a long literal", format!("^{}$", "abc".repeat(100_000))),
        (
            "a wide alternation",
            format!(
                "^({})$",
                (0..20_000).map(name).collect::<Vec<_>>().join("|")
            ),
        ),
        (
            "alternation without anchors",
            (0..3_000).map(name).collect::<Vec<_>>().join("|"),
        ),
        ("letters of any script", r"^\p{L}{1,500}$".to_owned()),
        (
            "many scripts",
            format!(
                "^({})+$",
                [r"\p{Greek}", r"\p{Cyrillic}", r"\p{Han}", r"\p{Latin}"]
                    .map(|s| format!("{s}{{1,40}}"))
                    .join("|")
            ),
        ),
        ("look-ahead", "^(?=a)(?!b)a".to_owned()),
        ("look-aheads", format!("^{}.*$", "(?!ab)(?=.*a)".repeat(50))),
        ("a back reference", r"^(a+)\1$".to_owned()),
        ("a huge count", "^a{1000000}$".to_owned()),
        ("a count beyond all", "^a{99999999999999999999}$".to_owned()),
        ("a large count", "^a{5000}$".to_owned()),
        (
            "dots around",
            format!(
                ".*{}.*",
                ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"].join(".*")
            ),
        ),
        ("an invalid pattern", "(".to_owned()),
        (
            "a long class",
            format!(
                "^[{}]$",
                (0x4E00..0x4E00 + 5_000)
                    .filter_map(char::from_u32)
                    .collect::<String>()
            ),
        ),
        ("word boundaries", r"\bfoo\b".to_owned()),
        ("a count of a class", "^[^\\x00-\\x1f]{0,4000}$".to_owned()),
    ]
}

fn of_pattern(pattern: &str) -> Value {
    json!({"type": "string", "pattern": pattern})
}

pub(crate) fn patterns(out: &mut Cases) {
    for (what, pattern) in difficult_patterns() {
        add(out, format!("pattern: {what}"), of_pattern(&pattern));
        add(
            out,
            format!("not a pattern: {what}"),
            json!({"type": "string", "not": {"pattern": pattern}}),
        );
        add(
            out,
            format!("pattern with lengths: {what}"),
            json!({"type": "string", "pattern": pattern, "minLength": 3, "maxLength": 900}),
        );
    }
    many_patterns(out);
}

fn many_patterns(out: &mut Cases) {
    for n in [3, 10, 40, 300, 2_000] {
        add(
            out,
            format!("allOf of {n} patterns"),
            json!({"type": "string", "allOf": list(n, |i| of_pattern(&format!("[a-f]{{{}}}x?{}", i % 3 + 1, i)))}),
        );
        add(
            out,
            format!("allOf of {n} patterns that loop"),
            json!({"type": "string", "allOf": list(n, |i| of_pattern(&format!("^(a{{{}}}|b)*$", i + 2)))}),
        );
        add(
            out,
            format!("anyOf of {n} patterns"),
            json!({"anyOf": list(n, |i| of_pattern(&format!("^[a-z]{{{}}}-[0-9]+x{i}$", i % 5 + 1)))}),
        );
        add(
            out,
            format!("anyOf of {n} patterns anywhere"),
            json!({"anyOf": list(n, |i| of_pattern(&format!("k{i}[a-z]*v")))}),
        );
        add(
            out,
            format!("oneOf of {n} patterns anywhere"),
            json!({"oneOf": list(n, |i| of_pattern(&format!("k{i}[a-z]*v")))}),
        );
        add(
            out,
            format!("anyOf of {n} patterns with look back"),
            json!({"anyOf": list(n, |i| of_pattern(&format!("^[ab]*a[ab]{{{}}}$", i % 9)))}),
        );
        add(
            out,
            format!("items of {n} patterns each its own"),
            json!({"type": "object", "properties": map((0..n).map(|i| (name(i), of_pattern(&format!("^[a-z]{{1,{}}}@[a-z]+$", i % 50 + 1)))))}),
        );
    }
}

pub(crate) fn pattern_properties(out: &mut Cases) {
    for n in [5, 20, 100, 1_000, 10_000] {
        add(
            out,
            format!("patternProperties of {n} beside {n} properties"),
            json!({"type": "object",
                "properties": map((0..n).map(|i| (name(i), json!({"type": "string"})))),
                "patternProperties": map((0..n).map(|i| (format!("^p{i}"), json!({"minLength": i}))))}),
        );
        add(
            out,
            format!("patternProperties of {n} that overlap"),
            json!({"type": "object", "additionalProperties": false,
                "patternProperties": map((0..n).map(|i| (format!("a{{{}}}", i + 1), json!({"minimum": i}))))}),
        );
        add(
            out,
            format!("patternProperties of {n} apart"),
            json!({"type": "object", "additionalProperties": false,
                "patternProperties": map((0..n).map(|i| (format!("^k{i}_[a-z]+$"), json!({"type": "integer"}))))}),
        );
        add(
            out,
            format!("patternProperties of {n} letters anywhere"),
            json!({"type": "object",
                "patternProperties": map((0..n.min(100)).map(|i| (char::from_u32(0x61 + i as u32).map_or(String::new(), String::from), json!({"minimum": i}))))}),
        );
        add(
            out,
            format!("allOf of {n} patternProperties closed"),
            json!({"type": "object", "allOf": list(n, |i| json!({
                "patternProperties": map([(format!("^[a-{}]", (b'a' + (i % 26) as u8) as char), json!(true))]), "additionalProperties": {"minimum": i}}))}),
        );
    }
}

pub(crate) fn names(out: &mut Cases) {
    for n in [10, 1_000, 50_000] {
        add(
            out,
            format!("propertyNames of {n}"),
            json!({"type": "object", "propertyNames": {"enum": list(n, |i| json!(name(i)))}}),
        );
        add(
            out,
            format!("propertyNames of {n} all required"),
            json!({"type": "object", "propertyNames": {"enum": list(n, |i| json!(name(i)))}, "minProperties": n}),
        );
        add(
            out,
            format!("propertyNames anyOf {n} patterns"),
            json!({"type": "object", "propertyNames": {"anyOf": list(n.min(2_000), |i| json!({"pattern": format!("^n{i}[a-z]")}))}}),
        );
        add(
            out,
            format!("propertyNames not {n} names"),
            json!({"type": "object", "propertyNames": {"not": {"enum": list(n, |i| json!(name(i)))}}, "minProperties": 3}),
        );
        add(
            out,
            format!("no propertyNames of {n}"),
            json!({"type": "object", "not": {"propertyNames": {"enum": list(n, |i| json!(name(i)))}}}),
        );
        add(
            out,
            format!("{n} properties and names of a pattern"),
            json!({"type": "object", "properties": map((0..n).map(|i| (name(i), json!({"type": "string"})))), "propertyNames": {"pattern": "^p[0-9]*[02468]$"}}),
        );
    }
}

pub(crate) fn formats(out: &mut Cases) {
    let all = [
        "date-time",
        "date",
        "time",
        "duration",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uuid",
        "uri-template",
        "json-pointer",
        "relative-json-pointer",
        "regex",
    ];
    for format in all {
        add(
            out,
            format!("format {format}"),
            json!({"type": "string", "format": format}),
        );
        add(
            out,
            format!("format {format} with lengths and a pattern"),
            json!({"type": "string", "format": format, "minLength": 5, "maxLength": 200, "pattern": "[a-z0-9]{3}.*[0-9a-z]"}),
        );
        add(
            out,
            format!("not format {format}"),
            json!({"type": "string", "not": {"format": format}}),
        );
        add(
            out,
            format!("format {format} beside all others"),
            json!({"type": "string", "format": format, "anyOf": list(all.len(), |i| json!({"format": all[i]}))}),
        );
        add(
            out,
            format!("format {format} in an array with a long pattern"),
            json!({"type": "array", "items": {"type": "string", "format": format, "pattern": "^.{1,300}$"}}),
        );
    }
    add(
        out,
        "all formats",
        json!({"type": "string", "allOf": list(all.len(), |i| json!({"format": all[i]}))}),
    );
    add(
        out,
        "any format",
        json!({"anyOf": list(all.len(), |i| json!({"type": "string", "format": all[i]}))}),
    );
    add(
        out,
        "one format",
        json!({"oneOf": list(all.len(), |i| json!({"type": "string", "format": all[i]}))}),
    );
}

pub(crate) fn lengths(out: &mut Cases) {
    for n in [1_000u64, 1_000_000, 1_000_000_000, u64::MAX] {
        for keyword in ["minLength", "maxLength"] {
            add(
                out,
                format!("{keyword} {n}"),
                json!({"type": "string", (keyword): n}),
            );
            add(
                out,
                format!("{keyword} {n} with a pattern"),
                json!({"type": "string", (keyword): n, "pattern": "^[a-z]+(-[a-z]+)*$"}),
            );
            add(
                out,
                format!("{keyword} {n} with a pattern of few lengths"),
                json!({"type": "string", (keyword): n, "pattern": "^(aa|bbb)*$"}),
            );
            add(
                out,
                format!("{keyword} {n} with a format"),
                json!({"type": "string", (keyword): n, "format": "email"}),
            );
        }
        add(
            out,
            format!("between {n} and its half"),
            json!({"type": "string", "maxLength": n, "minLength": n / 2, "pattern": "^(ab|c)*$"}),
        );
        for keyword in ["minItems", "maxItems"] {
            add(
                out,
                format!("{keyword} {n}"),
                json!({"type": "array", (keyword): n}),
            );
            add(
                out,
                format!("{keyword} {n} of integers"),
                json!({"type": "array", (keyword): n, "items": {"type": "integer"}}),
            );
            add(
                out,
                format!("{keyword} {n} with contains"),
                json!({"type": "array", (keyword): n, "contains": {"const": 1}}),
            );
        }
        for keyword in ["minProperties", "maxProperties"] {
            add(
                out,
                format!("{keyword} {n}"),
                json!({"type": "object", (keyword): n}),
            );
            add(
                out,
                format!("{keyword} {n} of few names"),
                json!({"type": "object", (keyword): n, "propertyNames": {"enum": ["a", "b", "c"]}}),
            );
            add(
                out,
                format!("{keyword} {n} of names of a pattern"),
                json!({"type": "object", (keyword): n, "propertyNames": {"pattern": "^[ab]{1,3}$"}}),
            );
            add(
                out,
                format!("{keyword} {n} of integers"),
                json!({"type": "object", (keyword): n, "additionalProperties": {"type": "integer"}, "properties": {"a": {}, "b": {}}}),
            );
        }
    }
    for n in [1_000, 100_000] {
        add(
            out,
            format!("lengths nested: {n}"),
            json!({"type": "array", "minItems": n, "items": {"type": "array", "minItems": n, "items": {"type": "array", "minItems": n}}}),
        );
    }
}
