//! What patterns match, beside another engine.

use crate::language::char_dfa::automata::matches;
use crate::language::pattern::Pattern;
use crate::language::re::{CharSet, char_set, set_contains};

fn space_set() -> CharSet {
    char_set(&[
        ('\t', '\r'),
        (' ', ' '),
        ('\u{A0}', '\u{A0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{2000}', '\u{200A}'),
        ('\u{2028}', '\u{2029}'),
        ('\u{202F}', '\u{202F}'),
        ('\u{205F}', '\u{205F}'),
        ('\u{3000}', '\u{3000}'),
        ('\u{FEFF}', '\u{FEFF}'),
    ])
}

fn check(pattern: &str, good: &[&str], bad: &[&str]) {
    let p = Pattern::parse(pattern).unwrap();
    let holds = |text: &str| {
        let mut all = p.conditions().iter();
        all.all(|(re, yes)| matches(re, text).unwrap() == *yes)
    };
    for text in good {
        assert!(holds(text), "{pattern} should match {text:?}");
    }
    for text in bad {
        assert!(!holds(text), "{pattern} should not match {text:?}");
    }
}

#[test]
fn searches_and_anchors() {
    check("b", &["abc", "b"], &["", "ac"]);
    check("^b", &["bc"], &["ab"]);
    check("b$", &["ab"], &["ba", "b\n"]);
    check("^a|b$", &["ax", "xb"], &["xa", "bx"]);
    check("^(?:a|b)$", &["a", "b"], &["ab", ""]);
    check("(^a|b)c", &["ac", "xbc"], &["xac"]);
    check("^$", &[""], &["a"]);
    check("a^", &[], &["a", "^"]);
    check("x?^a", &["ab"], &["xa"]);
    check("(a$)?", &["", "zzz", "a"], &[]);
    check("", &["", "x"], &[]);
}

#[test]
fn anchors_in_loops_hold_in_one_turn() {
    check(
        r"^(\/?((\.{2})|([a-z0-9\-]*))($|\/))*$",
        &["", "/", "a/b", "/a/../b-1", "..", "a//"],
        &["a b", "...", "/a/.b"],
    );
    let mut texts = vec![String::new()];
    for length in 0..5 {
        let longer = texts.iter().filter(|text| text.len() == length);
        let longer = longer.flat_map(|text| ["a", "b"].map(|c| format!("{text}{c}")));
        let longer: Vec<String> = longer.collect();
        texts.extend(longer);
    }
    let patterns = [
        "^(a|b$)*$",
        "(^a|b)*c?$",
        "^(?:^a|b|a$)+$",
        "(?:^a|b$){2}",
        "^(?:(?:a|$)(?:^|b)){0,3}$",
        "(?:a$|^b|^$){1,}",
        "^(?:b(?:a$)*)*$",
        "^(?:(?:^|a)b)*$",
        "a(?:$|b(?:$|a)){1,2}",
        "(?:^(?:a|b$)*b)+$",
    ];
    for pattern in patterns {
        let ours = Pattern::parse(pattern).unwrap();
        let theirs = regex_automata::meta::Regex::new(pattern).unwrap();
        for text in &texts {
            let expected = theirs.is_match(text.as_str());
            assert_eq!(
                matches(&ours.conditions()[0].0, text).unwrap(),
                expected,
                "{pattern} {text:?}"
            );
        }
    }
}

#[test]
fn reads_the_ecma_dialect() {
    check(r"^\d$", &["7"], &["\u{663}"]);
    check(r"^\w$", &["_"], &["é"]);
    check(r"^\s$", &["\u{FEFF}", "\u{2003}"], &["\u{85}", "a"]);
    check(r"^.$", &["é", "\u{85}"], &["\n", "\u{2028}", ""]);
    check(r"^[^]$", &["\n", "x"], &[""]);
    check(r"^\/\-\cA\x41\u0042\u{43}$", &["/-\u{1}ABC"], &[]);
    check(r"^[\w-.]+$", &["a-.9"], &["a b"]);
    check(r"^[a&&b[]+$", &["a&b["], &["c"]);
    check(r"^a{,3}${x}", &[], &["aaa"]);
    check(r"^a{,3}$", &["a{,3}"], &["aa"]);
    check(r"^(?<year>\d{4})??$", &["2020", ""], &["20"]);
    check(r"^\ud83d\ude00$", &["\u{1F600}"], &[]);
    check(r"^\p{Lu}+$", &["AÉ"], &["a"]);
    check(r"^[\d-x]+$", &["1-x"], &["w"]);
    check(r"]}", &["]}"], &["]"]);
}

#[test]
fn leading_lookaheads_are_conditions() {
    check(r"^(?!foo$).*$", &["fo", "fooo", ""], &["foo"]);
    check(
        r"^(?=.*\d)(?=.*[a-z])[a-z\d]{2,4}$",
        &["a1", "1aa"],
        &["aa", "11", "a1!"],
    );
    check(r"^(?!-)[a-z-]+$", &["a-"], &["-a"]);
}

#[test]
fn looks_are_anywhere() {
    check(
        r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$",
        &["P1W", "P1Y2M3DT4H", "PT5S", "PT1,5S"],
        &["P", "PT", "P1Y2W", "P1YT"],
    );
    check(
        r"^(?!^[-+.]*$)[+-]?0*(?:\d{0,8}|(?=[\d.]{1,11}0*$)\d{0,8}\.\d{0,2}0*$)",
        &["12345678.12", "12345678.120", "12345678.123", "+1"],
        &["+", ""],
    );
    check(
        r"^[A-Za-z](?=.*\d).{7,63}$",
        &["abcdefg1"],
        &["abcdefgh", "a1"],
    );
    check(r"^[a-z-]{1,20}(?<!-)$", &["a-b"], &["a-", "-"]);
    check(r"\bcat\b", &["cat", "a cat.", "cat-é"], &["cats", "_cat"]);
    check(r"\Bat", &["cat"], &["at", "-at"]);
    check("^(?:(?!b).)*$", &["", "ac"], &["abc", "b"]);
    check("(?!random)", &["", "random", "x"], &[]);
    check("^(?=a|b)(?!ab)", &["aa", "b"], &["ab", "c"]);
    check("(?<=^|-)a", &["a", "b-a"], &["ba"]);
    check(
        "^(?:a(?=b)|b(?=a|$))+$",
        &["ab", "b", "abab"],
        &["a", "ba", "aab"],
    );
}

#[test]
fn modifiers_hold_in_their_groups() {
    check("^(?i:abc)d$", &["ABCd", "abcd"], &["abcD"]);
    check("^(?i:a(?-i:b)c)$", &["AbC"], &["ABC"]);
    check("^(?s:.)$", &["\n", "x"], &[""]);
    check("^(?s-i:.)(?i-s:.)$", &["\nx"], &["x\n"]);
    check("(?m:^)b(?m:$)", &["b", "a\nb\u{2028}c"], &["ab", "bc"]);
    check("^(?i:k)$", &["k", "K", "\u{212A}"], &["x"]);
    check(r"^(?i:\w)$", &["\u{17F}", "s"], &["é"]);
    check(r"^(?i:\P{Lu})$", &["A", "a"], &[]);
    check(r"^(?i:\b)\u017f", &["\u{17F}"], &["é"]);
}

#[test]
fn letters_are_letters() {
    check(r"^\A\Z\z$", &["AZz"], &["", "A"]);
    check(r"^\p{Script=Greek}\p{sc=Grek}$", &["αβ"], &["ab"]);
    check(r"^\p{gc=Lu}\p{Uppercase_Letter}$", &["AB"], &["Ab"]);
    check(r"^\pL$", &["pL"], &["L"]);
}

#[test]
fn refuses_by_name() {
    for (pattern, offset) in [
        (r"(a)\1", 3),
        (r"a\k<x>", 1),
        (r"a\p{IsGreek}", 1),
        (r"\p{Greek}", 0),
        (r"\p{lu}", 0),
        (r"\P{Script=greek}", 0),
        ("a(?i)b", 1),
        ("(?ii:a)", 0),
        ("(?-:a)", 0),
        ("(?x:a)", 0),
        ("^*", 1),
        (r"\b+", 2),
        ("(?<=a)*", 6),
        ("a{2}*", 4),
    ] {
        assert_eq!(
            Pattern::parse(pattern).unwrap_err().offset,
            offset,
            "{pattern}"
        );
    }
    for pattern in [
        "(",
        "[a",
        "a**",
        "*",
        "a\\",
        "(?i)a",
        "[b-a]",
        "(?:a{1000}){1000}",
    ] {
        assert!(Pattern::parse(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn space_is_the_same_everywhere() {
    let p = Pattern::parse(r"^\s$").unwrap();
    for c in (0..0x1_0000).filter_map(char::from_u32) {
        let inside = set_contains(&space_set(), c);
        if inside || c < '\u{3100}' {
            assert_eq!(
                matches(&p.conditions()[0].0, &c.to_string()).unwrap(),
                inside,
                "{c:?}"
            );
        }
    }
}
