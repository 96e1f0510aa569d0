//! Patterns of the dialects mean what they say; `regex` is asked.

use regex::Regex;
use regex_dialects::{Classes, Dialect, native};

fn matches(rewritten: &str, text: &str) -> bool {
    let pattern = Regex::new(&format!(r"\A(?:{rewritten})\z"));
    pattern.unwrap().is_match(text)
}

/// Patterns, each with a text that it matches as a whole and one that it does not.
type Cases<'a> = &'a [(&'a str, &'a str, &'a str)];

const BOTH: Cases<'_> = &[
    (r"\d+", "12", "٣"),
    (r"\w", "_", "é"),
    (r"\s", "\u{A0}", "x"),
    ("^ab$", "ab", "abb"),
    ("a+?b", "aab", "b"),
    (r"[\d\-x]", "-", "y"),
    (r"[a-c&&b]", "&", "d"),
    (r"[^\w]", "é", "a"),
    ("(?<n>a|b){2,3}", "aba", "a"),
    (r"\u00e9\x41", "éA", "eA"),
    (r"\ud83d\ude42", "🙂", "x"),
    ("a{2}", "aa", "a"),
    ("x~y #", "x~y #", "xy"),
];

#[test]
fn patterns_of_ecma_mean_what_they_say() {
    for dialect in [Dialect::SCHEMA, Dialect::TAGS] {
        for (pattern, yes, no) in BOTH {
            let rewritten = dialect.rewritten(pattern).unwrap();
            assert!(matches(&rewritten, yes), "{pattern} {yes}");
            assert!(!matches(&rewritten, no), "{pattern} {no}");
        }
    }
    assert!(matches(&Dialect::TAGS.rewritten("a.c").unwrap(), "a\nc"));
    assert!(!matches(&Dialect::SCHEMA.rewritten("a.c").unwrap(), "a\nc"));
}

#[test]
fn what_tags_do_not_have_is_refused() {
    let only_schemas = [
        "(?=a)b", "(?<!a)b", r"\bx", r"\p{L}", "(?i:a)", "(?P<n>a)", "x{,2}", "[]", r"\q",
        r"[a-\d]", r"\xZ", r"\u12", r"\c1", "a{",
    ];
    for pattern in only_schemas {
        assert!(Dialect::SCHEMA.rewritten(pattern).is_ok(), "{pattern}");
        assert!(Dialect::TAGS.rewritten(pattern).is_err(), "{pattern}");
    }
    for pattern in [
        r"(a)\1", "(?i)a", "a**", "a{2}*", "*a", "[a", r"a\", "a??+", r"\01",
    ] {
        assert!(Dialect::SCHEMA.rewritten(pattern).is_err(), "{pattern}");
        assert!(Dialect::TAGS.rewritten(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn patterns_of_grammars_mean_what_they_say() {
    let both: Cases<'_> = &[
        ("[a[]+", "a[", "b"),
        ("[]a]+", "]a", "b"),
        ("[^]a]", "b", "]"),
        ("[a&&b]", "&", "c"),
        ("[+--]", "-", "a"),
        ("x{,2}", "xx", "xxx"),
        ("x{a}", "x{a}", "xa"),
        (r"\\p{2}", r"\pp", r"\p"),
        (r"\x{41}\cA\/\ ", "A\u{1}/ ", "A"),
        (r"[\b]", "\u{8}", "b"),
    ];
    for (pattern, yes, no) in both {
        for classes in [Classes::Unicode, Classes::Ascii] {
            let rewritten = native(pattern, classes).unwrap();
            assert!(matches(&rewritten, yes), "{pattern} {yes}");
            assert!(!matches(&rewritten, no), "{pattern} {no}");
        }
    }
    let digit = |classes| matches(&native(r"\d", classes).unwrap(), "٣");
    assert!(digit(Classes::Unicode) && !digit(Classes::Ascii));
    assert!(native("a+?", Classes::Unicode).unwrap().ends_with('?'));
    assert_eq!(native("a+?", Classes::Ascii).unwrap(), "a+");
    for pattern in [r"\bx", "(?=a)", r"\pL"] {
        assert!(native(pattern, Classes::Unicode).is_ok(), "{pattern}");
        assert!(native(pattern, Classes::Ascii).is_err(), "{pattern}");
    }
    for pattern in [r"(a)\1", "(?P=a)", "(?(1)a)"] {
        assert!(native(pattern, Classes::Unicode).is_err(), "{pattern}");
    }
}
