//! Formats in both forms of a schema: what each admits and not, in place and
//! under a complement, and what the options make of them.

mod common;

use schema_regex::{ErrorKind, Formats, IntegerSpelling, Options, parse, to_regex};
use serde_json::{Value, json};

#[cfg(feature = "automaton")]
use schema_regex::automaton::SchemaAutomaton;

/// What each form that is there says of a text; a refusal has its pointer.
fn answers(schema: &Value, options: &Options, text: &str) -> Vec<Result<bool, String>> {
    let parsed = parse(schema).unwrap();
    let of_regex = to_regex(&parsed, options)
        .map(|r| common::whole(&r).is_match(text))
        .map_err(|e| e.pointer().to_owned());
    #[cfg(feature = "automaton")]
    let of_automaton = SchemaAutomaton::compile(parsed, options)
        .map(|a| a.is_match(text.as_bytes()))
        .map_err(|e| e.pointer().to_owned());
    vec![
        of_regex,
        #[cfg(feature = "automaton")]
        of_automaton,
    ]
}

#[track_caller]
fn check(format: &str, good: &[&str], bad: &[&str]) {
    let schema = json!({"type": ["string", "number"], "format": format});
    let not = json!({"type": ["string", "number"], "not": {"format": format}});
    let options = Options::default().with_integers(IntegerSpelling::ZeroFraction);
    for (texts, valid) in [(good, true), (bad, false)] {
        for text in texts {
            for answer in answers(&schema, &options, text) {
                assert_eq!(answer, Ok(valid), "{format}: {text}");
            }
            // The complement has no text of the format. It is exact, leaves out a few texts
            // more, or is refused by name.
            let is_narrowed = ["date-time", "time", "email", "hostname"].contains(&format);
            for answer in answers(&not, &options, text) {
                let may_be_left_out = !valid && is_narrowed && answer == Ok(false);
                if !may_be_left_out && answer != Err("/not/format".to_owned()) {
                    assert_eq!(answer, Ok(!valid), "not {format}: {text}");
                }
            }
        }
    }
}

#[test]
fn integers_of_the_openapi_registry() {
    check(
        "int8",
        &["-128", "127", "1.0", "\"x\""],
        &["128", "-129", "1.5"],
    );
    check(
        "int32",
        &["2147483647", "-2147483648", "0"],
        &["2147483648", "-2147483649", "0.5"],
    );
    check(
        "int64",
        &[
            "9223372036854775807",
            "-9223372036854775808",
            "\"-9223372036854775808\"",
            "\"0\"",
        ],
        &[
            "9223372036854775808",
            "\"9223372036854775808\"",
            "\"01\"",
            "\"1.0\"",
            "\"x\"",
        ],
    );
    check("uint8", &["0", "255"], &["256", "-1", "1.5"]);
    check("uint16", &["65535"], &["65536"]);
    check("uint32", &["4294967295"], &["4294967296", "-1"]);
    check(
        "uint64",
        &["18446744073709551615", "\"18446744073709551615\""],
        &["18446744073709551616", "\"-1\""],
    );
    check(
        "double-int",
        &["9007199254740991"],
        &["9007199254740992", "0.1"],
    );
    check("sf-integer", &["999999999999999"], &["1000000000000000"]);
}

#[test]
fn decimals_of_structured_fields() {
    // Only in place: a divisor has no complement in a regular expression.
    let schema = json!({"type": "number", "format": "sf-decimal"});
    for (text, valid) in [
        ("1.234", true),
        ("-999999999999.999", true),
        ("1.2345", false),
        ("1000000000000", false),
    ] {
        for answer in answers(&schema, &Options::default(), text) {
            assert_eq!(answer, Ok(valid), "{text}");
        }
    }
}

#[test]
fn floats_and_hints_constrain_nothing() {
    for format in ["float", "double", "password", "binary"] {
        for formats in [Formats::Assert, Formats::Strict] {
            let options = Options::default().with_formats(formats);
            let schema = json!({"type": ["number", "string"], "format": format});
            for text in ["1e400", "-0.1", "\"x\""] {
                for answer in answers(&schema, &options, text) {
                    assert_eq!(answer, Ok(true), "{format}: {text}");
                }
            }
        }
    }
}

#[test]
fn encodings() {
    check(
        "byte",
        &["\"\"", "\"YQ==\"", "\"YWI=\"", "\"YWJj\"", "\"+/+/\"", "7"],
        &[
            "\"YQ\"", "\"YR==\"", "\"YWJ=\"", "\"YW=\"", "\"-_-_\"", "\"a\"",
        ],
    );
    check(
        "base64url",
        &["\"\"", "\"YQ==\"", "\"YQ\"", "\"YWI\"", "\"-_-_\""],
        &["\"YR\"", "\"+/+/\"", "\"a\""],
    );
    check("char", &["\"a\"", "\"\\n\"", "\"😀\""], &["\"\"", "\"ab\""]);
    check(
        "media-range",
        &[
            "\"*/*\"",
            "\"text/*\"",
            "\"text/html;charset=utf-8\"",
            "\"a/b ; c=\\\"d;\\\\\\\"\\\"\"",
        ],
        &["\"text\"", "\"text/html;q\"", "\"a b/c\"", "\"/\""],
    );
    check(
        "sf-token",
        &["\"*a/b\"", "\"foo:1\""],
        &["\"1a\"", "\"\"", "\"a b\""],
    );
    check("sf-boolean", &["\"?0\"", "\"?1\""], &["\"?2\"", "\"1\""]);
}

#[test]
fn templates_and_names() {
    check(
        "uri-template",
        &[
            "\"http://x/{a:1}/{b*}\"",
            "\"\"",
            "\"a'b\"",
            "\"{+a,b.c}\"",
            "\"a%41\"",
        ],
        &[
            "\"{\"",
            "\"{}\"",
            "\"{a,}\"",
            "\"{a:01}\"",
            "\"a b\"",
            "\"a%4\"",
        ],
    );
    check(
        "idn-hostname",
        &["\"실례.테스트\"", "\"host-name\"", "\"bücher.example\""],
        &["\"-a\"", "\"xn--X\"", "\"a..b\"", "\"a·l\"", "\"\""],
    );
    check(
        "idn-email",
        &["\"실례@실례.테스트\"", "\"a@b\""],
        &["\"a\"", "\"user＠example.com\""],
    );
    check(
        "hostname",
        &["\"a.b\"", "\"a--b\""],
        &["\"a_b\"", "\"xn--a\"", "\"-a\"", "\"\""],
    );
    check(
        "date-time",
        &["\"2024-02-29T00:00:00Z\"", "\"2024-02-29t23:59:60z\""],
        &["\"2023-02-29T00:00:00Z\"", "\"2024-02-30T00:00:00Z\""],
    );
}

#[test]
fn long_names_and_mailboxes_end_at_their_bounds() {
    let label = "a".repeat(63);
    let name = |n: usize| {
        let full = format!("{label}.{label}.{label}.{label}");
        format!("\"{}\"", &full[..n])
    };
    let mail = |local: usize, rest: usize| {
        let full = format!("{label}.{label}.{label}.{label}");
        format!("\"{}@{}\"", "b".repeat(local), &full[..rest])
    };
    check("hostname", &[], &[&name(254)]);
    check("email", &[], &[&mail(65, 10), &mail(64, 190)]);
    #[cfg(feature = "automaton")]
    {
        let of = |format: &str| {
            let schema = json!({"type": "string", "format": format});
            SchemaAutomaton::new(&schema, &Options::default()).unwrap()
        };
        assert!(of("hostname").is_match(name(253).as_bytes()));
        assert!(of("email").is_match(mail(64, 189).as_bytes()));
    }
}

#[test]
fn complements_of_narrowed_formats_leave_out_what_may_be_of_them() {
    let options = Options::default();
    let host = json!({"oneOf": [{"format": "hostname"}, {"format": "ipv4"}, {"format": "ipv6"}], "type": "string"});
    let texts = [
        ("\"a.b\"", true),
        ("\"::1\"", true),
        // Of two of them.
        ("\"1.2.3.4\"", false),
        ("\"a b\"", false),
    ];
    for (text, valid) in texts {
        // No expression says it: its automaton is too large.
        let answers = answers(&host, &options, text);
        #[cfg(feature = "automaton")]
        assert_eq!(answers.last(), Some(&Ok(valid)), "{text}");
        let refused = Err("/oneOf/1/format".to_owned());
        assert!(
            answers.iter().all(|a| *a == Ok(valid) || *a == refused),
            "{text}"
        );
    }
    let certain = [
        ("date-time", "\"2024-02-30T00:00:00Z\""),
        ("time", "\"00:00\""),
        ("email", "\"a b@c\""),
        ("hostname", "\"a..b\""),
    ];
    for (format, text) in certain {
        let not = json!({"type": "string", "not": {"format": format}});
        for answer in answers(&not, &options, text) {
            assert_eq!(answer, Ok(true), "not {format}: {text}");
        }
    }
    // Listed texts are not asked about, where the answer is not certain.
    let listed = json!({"enum": ["xn--a", "b c"], "not": {"format": "hostname"}});
    for answer in answers(&listed, &options, "\"b c\"") {
        assert_eq!(answer, Err("/not/format".to_owned()));
    }
    let listed = json!({"enum": ["xn--a", "b"], "format": "hostname"});
    for answer in answers(&listed, &options, "\"b\"") {
        assert_eq!(answer, Ok(true));
    }
}

#[test]
fn the_options_say_what_a_format_does() {
    let schema = json!({"type": ["string", "integer"], "format": "int8", "maxLength": 3});
    let annotate = Options::default().with_formats(Formats::Annotate);
    for answer in answers(&schema, &annotate, "1000") {
        assert_eq!(answer, Ok(true));
    }
    for answer in answers(&schema, &annotate, "\"abcd\"") {
        assert_eq!(answer, Ok(false));
    }
    let email = json!({"type": "string", "not": {"format": "email"}});
    for answer in answers(&email, &annotate, "\"a\"") {
        assert!(answer.is_err(), "nothing is left");
    }
    // Unknown names: an annotation, or refused with their place.
    let unknown = json!({"properties": {"a": {"type": "string", "format": "colour"}}});
    for answer in answers(&unknown, &Options::default(), "{\"a\": \"x\"}") {
        assert_eq!(answer, Ok(true));
    }
    let strict = Options::default().with_formats(Formats::Strict);
    for answer in answers(&unknown, &strict, "{}") {
        assert_eq!(answer, Err("/properties/a/format".to_owned()));
    }
    let error = to_regex(&parse(&unknown).unwrap(), &strict).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
}

/// Writers of schemas say a format and its own pattern, and a length: one automaton that
/// knows all verdicts takes thousands of states, these strings alone a few hundred.
#[cfg(feature = "automaton")]
#[test]
fn formats_meet_the_patterns_of_writers() {
    let email = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
    let hostname = r"^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$";
    let duration = r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$";
    let label = "a".repeat(63);
    let long = format!("{label}.{label}.{label}.{}", &label[2..]);
    let longer = format!("{label}.{label}.{label}.{}", &label[1..]);
    assert_eq!((long.len(), longer.len()), (253, 254));
    let local = "a".repeat(64);
    let cases: [(Value, &[&str], &[&str]); 5] = [
        (
            json!({"format": "email", "pattern": email}),
            &["a.b@c.org", &format!("{local}@c.org")],
            &[
                ".a@c.org",
                "a..b@c.org",
                "a.@c.org",
                "a@c",
                "\"a\"@c.org",
                &format!("{local}a@c.org"),
            ],
        ),
        (
            json!({"format": "email", "pattern": email, "minLength": 8, "maxLength": 9}),
            &["a@bc.org", "a.b@c.org"],
            &["a@b.org", "aa.b@c.org"],
        ),
        (
            json!({"format": "hostname", "pattern": hostname}),
            &["a.example.org", "a", &long],
            &["-a", "a.", "", &longer],
        ),
        (
            json!({"format": "hostname", "pattern": hostname, "maxLength": 20, "minLength": 3}),
            &["a.example.org"],
            &["a", "a.example.example.org"],
        ),
        (
            json!({"format": "duration", "pattern": duration}),
            &["P1W", "P1Y2M3D", "PT5S"],
            &["P", "PT", "P1Y2W", "PT1,5S"],
        ),
    ];
    for (schema, good, bad) in cases {
        let automaton = SchemaAutomaton::new(
            &json!({"type": "string", "allOf": [schema]}),
            &Options::default(),
        );
        let automaton = automaton.unwrap_or_else(|e| panic!("{schema}: {e}"));
        let matches = |text: &&&str| automaton.is_match(json!(text).to_string().as_bytes());
        assert!(good.iter().all(|text| matches(&text)), "{schema}");
        let wrong = bad.iter().find(matches);
        assert_eq!(wrong, None, "{schema}");
    }
}
