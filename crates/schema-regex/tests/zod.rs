//! Patterns as zod 4 publishes them (`packages/zod/src/v4/core/regexes.ts`), each beside the
//! `format` with which its JSON Schema has them, and beside bounds on the length: all of them
//! compile within the usual limits, and the texts are those that satisfy both.
#![cfg(feature = "automaton")]

use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, parse};
use serde_json::json;

struct Case {
    format: &'static str,
    pattern: &'static str,
    good: &'static [&'static str],
    bad: &'static [&'static str],
}

const DATE: &str = r"(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))";

const CASES: &[Case] = &[
    Case {
        format: "email",
        pattern: r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
        good: &["a.b@c.org", "first+last@example.museum"],
        bad: &[".a@c.org", "a..b@c.org", "a.@c.org", "a@c", "x"],
    },
    // `html5Email` and `browserEmail`.
    Case {
        format: "email",
        pattern: r"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$",
        good: &["a.b@c.org", "a{b}@c-d.e"],
        bad: &["a@-c.org", "a b@c.org", "a@"],
    },
    Case {
        format: "email",
        pattern: r#"^(([^<>()\[\]\\.,;:\s@"]+(\.[^<>()\[\]\\.,;:\s@"]+)*)|(".+"))@((\[[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}])|(([a-zA-Z\-0-9]+\.)+[a-zA-Z]{2,}))$"#,
        good: &["a.b@c.org"],
        bad: &["a..b@c.org", "a,b@c.org", "a@c"],
    },
    Case {
        format: "hostname",
        pattern: r"^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$",
        good: &["a.example.org", "localhost", "a-b.c"],
        bad: &["-a", "a-", "a..b", ""],
    },
    Case {
        format: "hostname",
        pattern: r"^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]*[a-zA-Z0-9])\.)+([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9\-]*[A-Za-z0-9])$",
        good: &["a.example.org"],
        bad: &["localhost", "a.-b", ""],
    },
    Case {
        format: "ipv4",
        pattern: r"^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$",
        good: &["127.0.0.1"],
        bad: &["256.0.0.1", "1.2.3"],
    },
    Case {
        format: "ipv6",
        pattern: r"^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|::|([0-9a-fA-F]{1,4})?::([0-9a-fA-F]{1,4}:?){0,6})$",
        good: &["::", "::1", "fe80::1", "1:2:3:4:5:6:7:8"],
        bad: &["1:2", "1::2::3", ":"],
    },
    Case {
        format: "ipv6",
        pattern: r"^(([0-9a-fA-F]{1,4}:){7,7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$",
        good: &["::", "::1", "fe80::1", "1:2:3:4:5:6:7:8", "1:2::7:8"],
        bad: &["1:2", "1::2::3", ":"],
    },
    Case {
        format: "cidrv4",
        pattern: r"^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$",
        good: &["10.0.0.0/8"],
        bad: &["10.0.0.0/33", "10.0.0.0"],
    },
    Case {
        format: "cidrv6",
        pattern: r"^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|::|([0-9a-fA-F]{1,4})?::([0-9a-fA-F]{1,4}:?){0,6})\/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$",
        good: &["fe80::/10", "::/128"],
        bad: &["::/129", "::"],
    },
    Case {
        format: "jwt",
        pattern: r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$",
        good: &["e30.e30."],
        bad: &["e30.e30", "a b.c.d"],
    },
    Case {
        format: "base64",
        pattern: r"^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$",
        good: &["", "AAAA", "AA=="],
        bad: &["A", "AAA", "A==="],
    },
    Case {
        format: "base64url",
        pattern: r"^[A-Za-z0-9_-]*$",
        good: &["", "AA-_"],
        bad: &["A+", "A="],
    },
    Case {
        format: "e164",
        pattern: r"^\+[1-9]\d{6,14}$",
        good: &["+15555555"],
        bad: &["15555555", "+0555555", "+1"],
    },
    Case {
        format: "uuid",
        pattern: r"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$",
        good: &[
            "00000000-0000-0000-0000-000000000000",
            "123e4567-e89b-12d3-a456-426614174000",
        ],
        bad: &["123e4567-e89b-92d3-a456-426614174000", ""],
    },
    Case {
        format: "duration",
        pattern: r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$",
        good: &["P1W", "P1Y2M3DT4H", "PT5S"],
        bad: &["P", "PT", "P1W2D"],
    },
    Case {
        format: "emoji",
        pattern: r"^(\p{Extended_Pictographic}|\p{Emoji_Component})+$",
        good: &["\u{1F600}"],
        bad: &["a", ""],
    },
    Case {
        format: "nanoid",
        pattern: r"^[a-zA-Z0-9_-]{21}$",
        good: &["V1StGXR8_Z5jdHi6B-myT"],
        bad: &["V1StGXR8_Z5jdHi6B-my"],
    },
    Case {
        format: "cuid",
        pattern: r"^[cC][^\s-]{8,}$",
        good: &["cjld2cjxh0000qzrmn831i7rn"],
        bad: &["cjld2cj", "c--------"],
    },
];

#[track_caller]
fn check(schema: &serde_json::Value, case: &Case, bounds: impl Fn(&str) -> bool) {
    let options = Options::default();
    let automaton = SchemaAutomaton::new(schema, &options)
        .unwrap_or_else(|e| panic!("{} {}: {e}", case.format, case.pattern));
    for (text, is_good) in case
        .good
        .iter()
        .map(|text| (text, true))
        .chain(case.bad.iter().map(|text| (text, false)))
    {
        let is_good = is_good && bounds(text);
        let value = json!(text);
        assert_eq!(
            automaton.is_match(value.to_string().as_bytes()),
            is_good,
            "{schema} of {text}"
        );
        let valid = parse(schema).unwrap().is_valid(&value, &options);
        assert_eq!(valid.unwrap(), is_good, "{schema} of {text}");
    }
}

#[test]
fn patterns_stand_beside_their_formats() {
    for case in CASES {
        let plain = json!({"type": "string", "pattern": case.pattern});
        check(&plain, case, |_| true);
        let beside = json!({"type": "string", "format": case.format, "pattern": case.pattern});
        check(&beside, case, |_| true);
    }
}

#[test]
fn patterns_and_formats_stand_beside_lengths() {
    for case in CASES {
        let within = |text: &str| (3..=100).contains(&text.chars().count());
        let beside = json!({"type": "string", "format": case.format, "pattern": case.pattern,
            "minLength": 3, "maxLength": 100});
        check(&beside, case, within);
        let most = json!({"type": "string", "format": case.format, "pattern": case.pattern,
            "maxLength": 254});
        check(&most, case, |_| true);
    }
}

#[test]
fn dates_and_times_stand_beside_their_formats() {
    let time = |more: &str| format!(r"(?:(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?){more}");
    let date_time = format!(
        "^{DATE}T{}$",
        time("(?:Z|(?:[+-](?:[01]\\d|2[0-3]):[0-5]\\d))")
    );
    let zoned = format!("^{DATE}T{}$", time("(?:Z)"));
    let date = format!("^{DATE}$");
    for (format, pattern, good, bad) in [
        (
            "date-time",
            &date_time,
            "2024-02-29T10:20:30+01:00",
            "2023-02-29T10:20:30Z",
        ),
        (
            "date-time",
            &zoned,
            "2024-02-29T10:20:30.5Z",
            "2024-02-29T10:20:30+01:00",
        ),
        ("date", &date, "2024-02-29", "2023-02-29"),
    ] {
        let schema = json!({"type": "string", "format": format, "pattern": pattern});
        for (schema, is_plain) in [
            (schema.clone(), true),
            (json!({"allOf": [schema], "maxLength": 100}), false),
        ] {
            let automaton = SchemaAutomaton::new(&schema, &Options::default())
                .unwrap_or_else(|e| panic!("{format} {pattern} {is_plain}: {e}"));
            assert!(
                automaton.is_match(json!(good).to_string().as_bytes()),
                "{good}"
            );
            assert!(
                !automaton.is_match(json!(bad).to_string().as_bytes()),
                "{bad}"
            );
        }
    }
}

/// Patterns that are searched for, or repeat what repeats, with and without a bound.
#[test]
fn counts_in_patterns_take_states_in_proportion() {
    for (pattern, good, bad) in [
        // Words of which one was found, and the tail of a web address that admits all before it.
        (
            "^list|date|time|string|enum|int|double|long|boolean|number$",
            "a timeline",
            "number of",
        ),
        (
            r"^https?:\/\/(www\.)?[-a-zA-Z0-9@:%._\+~#=]{1,256}\.[a-zA-Z0-9()]{1,6}\b([-a-zA-Z0-9()@:%_\+.~#?&//=]*)$",
            "https://www.example.org/a?b",
            "https://www",
        ),
        ("foo.{0,50}bar", "xx foo 1 bar y", "foo"),
        ("foo.{5,50}bar", "foo and also bar", "foo bar"),
        (
            "foo[\\s\\S]{20,}bar",
            "foo -------------------- bar",
            "foo ---- bar",
        ),
        ("^(?:[a-z0-9]{1,63}\\.){1,20}[a-z]{2,63}$", "a.bc", "a"),
        ("^[A-Za-z](?=.*\\d).{7,63}$", "abcdefg1", "abcdefgh"),
        (
            "^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[^\\w\\s]).{8,64}$",
            "aB3!aaaa",
            "aB3aaaaa",
        ),
        ("\\bfoo\\b.{0,50}\\bbar\\b", "a foo, a bar.", "foo and bars"),
    ] {
        for most in [None, Some(200)] {
            let mut schema = json!({"type": "string", "pattern": pattern});
            if let Some(most) = most {
                schema["maxLength"] = json!(most);
            }
            let automaton = SchemaAutomaton::new(&schema, &Options::default())
                .unwrap_or_else(|e| panic!("{pattern} {most:?}: {e}"));
            assert!(
                automaton.is_match(json!(good).to_string().as_bytes()),
                "{pattern} of {good}"
            );
            assert!(
                !automaton.is_match(json!(bad).to_string().as_bytes()),
                "{pattern} of {bad}"
            );
        }
    }
}
