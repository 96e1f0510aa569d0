//! What the patterns mean, against answers of CPython 3.11 written down by hand, and the
//! two machines against each other.

use proptest::prelude::*;

use super::*;

/// All matches as text, groups behind a bar; an absent group is `~`.
fn matches(pattern: &str, text: &str) -> String {
    let pattern = Pattern::new(pattern, Dialect::Re).unwrap();
    shown(text, pattern.matches(text))
}

fn shown(text: &str, mut matches: Matches<'_, '_>) -> String {
    let mut out = Vec::new();
    while let Some(groups) = matches.next_match().unwrap() {
        let parts: Vec<&str> = groups
            .iter()
            .map(|g| g.map_or("~", |(from, to)| &text[from..to]))
            .collect();
        out.push(parts.join("|"));
    }
    out.join(",")
}

/// The same on the backtracking machine alone.
fn backtracked(pattern: &Pattern, text: &str) -> String {
    let mut matches = pattern.matches(text);
    matches.native = None;
    matches.split = None;
    shown(text, matches)
}

#[test]
fn dollar_is_before_a_final_newline() {
    assert_eq!(matches(r"(.*?)(?:<e>|$)", "abc\n"), "abc|abc,|,\n|\n,|");
    assert_eq!(matches(r"^(.+)$", "a\n"), "a\n|a\n");
    assert_eq!(matches(r"(\w+)$", "a b\n"), "b|b");
    assert_eq!(matches(r"$", "a\n"), ",");
    assert_eq!(matches(r"(\w+)\Z", "ab\n"), "");
    assert_eq!(matches(r"(?m)(\w)$", "a\nb\n"), "a|a,b|b");
    assert_eq!(matches(r"a$\n", "a\n"), "a\n");
    assert_eq!(matches(r"(a$)", "a\n"), "a|a");
}

#[test]
fn empty_matches_may_follow_a_match() {
    assert_eq!(matches("x*", "abxd"), ",,x,,");
    assert_eq!(matches("(.*)", "abc"), "abc|abc,|");
    assert_eq!(matches("(a|)", "aab"), "a|a,a|a,|,|");
    assert_eq!(matches("(|a)", "a"), "|,a|a,|");
    assert_eq!(matches("a*?", "aa"), ",a,,a,");
    assert_eq!(matches(r"\b", "hi"), ",");
}

#[test]
fn classes_are_pythons() {
    assert_eq!(matches(r"\w+", "e\u{301}a"), "e,a");
    assert_eq!(matches(r"\w+", "a\u{200D}b²½\u{203F}c"), "a,b²½,c");
    assert_eq!(matches(r"\s+", "a\u{1C}b\u{85}c\u{200B}"), "\u{1C},\u{85}");
    assert_eq!(matches(r"[]a]+", "]a]"), "]a]");
    assert_eq!(matches(r"[^]a]+", "]ab"), "b");
    assert_eq!(matches(r"[a-c-e]+", "-abde"), "-ab,e");
    assert_eq!(matches(r"[a||b&&[]+", "|b|&["), "|b|&[");
    assert_eq!(matches(r"[\b]", "a\u{8}"), "\u{8}");
    assert_eq!(matches(r"[\101\x42\u0043]+", "ABC"), "ABC");
    assert_eq!(matches(r"(?a)\w+", "éa"), "a");
    assert_eq!(matches(r"(?-s:.)+", "a\nb"), "a,b");
    assert_eq!(matches(r"\<(\w)\>", "<a>"), "<a>|a");
    assert_eq!(matches(r"\b\w", "e\u{301}a"), "e,a");
}

#[test]
fn case_is_folded_as_python_does() {
    assert_eq!(
        matches("(?i)([a-z]+)", "\u{17F}K\u{131}\u{130}"),
        "\u{17F}K\u{131}\u{130}|\u{17F}K\u{131}\u{130}"
    );
    assert_eq!(matches("(?i)k", "\u{212A}"), "\u{212A}");
    assert_eq!(matches("(?i)ß", "ẞss"), "ẞ");
    assert_eq!(matches("(?i)Ā", "āĀ"), "ā,Ā");
    assert_eq!(matches("(?ai)k", "K\u{212A}"), "K");
    assert_eq!(matches(r"(?i)(k)\1", "k\u{212A}"), "k\u{212A}|k");
}

#[test]
fn quantifiers() {
    assert_eq!(matches("(a{,2})b", "aaab"), "aab|aa");
    assert_eq!(matches("a{x}|a{}|{", "a{x}a{}{"), "a{x},a{},{");
    assert_eq!(matches("(a*)*", "aa"), "aa|,|");
    assert_eq!(matches("(?:a|ab){2}+", "aba"), "");
    assert_eq!(matches("(?>(?:a|ab){2})", "aba"), "aba");
    assert_eq!(matches("(a{1,2}+a)", "aa"), "");
    assert_eq!(matches("(?:(a)|b)*", "ab"), "ab|a,|~");
    assert_eq!(matches("(?:^)*a", "a"), "a");
}

#[test]
fn what_the_linear_machine_cannot_say() {
    assert_eq!(matches(r"(\w+)(?=:)", "a b: c"), "b|b");
    assert_eq!(matches(r"(?<!\w)(cat)(?!\w)", "concat cat"), "cat|cat");
    assert_eq!(
        matches(r"<(?P<t>\w+)>(?P<b>.*?)</(?P=t)>", "<a><b>x</b></a>"),
        "<a><b>x</b></a>|a|<b>x</b>"
    );
    assert_eq!(matches(r"^(<)?(\w+)(?(1)>|$)", "<a>"), "<a>|<|a");
    assert_eq!(matches(r"((?>a|ab)c)", "abc"), "");
    assert_eq!(matches(r"(?=(a))\w", "ab"), "a|a");
    assert_eq!(matches(r"(?!(a))\w", "ab"), "b|~");
    assert_eq!(matches(r"(?<=aé)b", "aéb"), "b");
    assert_eq!(matches(r"\B", ""), "");
}

#[test]
fn patterns_that_python_refuses() {
    let mut out = String::new();
    for pattern in [
        "(",
        ")",
        "[a",
        "[",
        "*a",
        "a**",
        "^*",
        "a{3,2}",
        "(?P<a>.)(?P<a>.)",
        "(?<=a+)b",
        "(?<n>a)",
        r"\p{L}",
        "(?z)a",
        "(a)(?i)b",
        r"\h",
        "(?|(a)|(b))",
        r"\x1",
        r"\u12",
        r"\U00110000",
        "a\\",
        r"\1",
        r"(\1)",
        r"\8",
        r"[\8]",
        r"\400",
        "[b-a]",
        r"[\w-a]",
        "(?P<1>a)",
        "(?P=x)",
        "(?P>x)",
        "(?#",
        "(?",
        "(?P<a",
        "(?i",
        "(?-i)",
        "(?i-i:a)",
        "(?au)a",
        "(?L)a",
        "(?(1)a)",
        "(?(0)a)",
        "(?(x)a)",
        "(a)(?(1)b|c|d)",
        r"(a)(?<=\1(b)\2)",
        r"\N{EM DASH}",
        "a{4294967295}",
    ] {
        let error = Pattern::new(pattern, Dialect::Re).expect_err(pattern);
        out.push_str(&format!("{pattern}: {error}\n"));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn replacements() {
    let replace = |pattern: &str, template: &str, text: &str| {
        let pattern = Pattern::new(pattern, Dialect::Re).unwrap();
        let template = Substitution::new(template, pattern.names()).map_err(|e| e.to_string())?;
        Ok::<_, String>(pattern.replace(&template, text, 1 << 20).unwrap().unwrap())
    };
    for (pattern, template, text, expected) in [
        ("x*", "-", "abxd", "-a-b--d-"),
        ("(x)?y", r"[\1]", "yxy", "[][x]"),
        ("a", "$1 ${0} $$ &", "a", "$1 ${0} $$ &"),
        ("(a)", r"\0\101\07\08", "a", "\0A\u{7}\08"),
        ("(?P<n>a)(b)", r"\g<n>\g<2>\g<0>\2", "ab", "ababb"),
        ("a", r"\\\n\t\-", "a", "\\\n\t\\-"),
    ] {
        assert_eq!(
            replace(pattern, template, text).as_deref(),
            Ok(expected),
            "{pattern}"
        );
    }
    let mut out = String::new();
    for template in [
        r"\q", r"\3", r"\g<zz>", r"\g<1", r"\g", r"\g<>", r"\g<-1>", "\\", r"\777",
    ] {
        out.push_str(&format!(
            "{template}: {}\n",
            replace("(a)", template, "a").unwrap_err()
        ));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn hostile_texts_end() {
    let text = "<".repeat(1 << 20);
    // Linear machine.
    assert_eq!(
        Pattern::new("<(.*?)>", Dialect::Re).unwrap().search(&text),
        Ok(None)
    );
    // A choice at each of four million places.
    let pattern = Pattern::new("(?=<)(<|<)*>", Dialect::Re).unwrap();
    assert_eq!(pattern.search(&text.repeat(4)), Err(Exhausted::Stack));
    let text = &text[..1 << 16];
    // Every search of this one looks at the rest of the text.
    let pattern = Pattern::new("<(.*?)>|<", Dialect::Re).unwrap();
    let mut matches = pattern.matches(text);
    let outcome = loop {
        match matches.next_match() {
            Ok(Some(_)) => {}
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    assert_eq!(outcome, Err(Exhausted::Steps));
    // Exponential for a backtracking machine.
    assert_eq!(
        Pattern::new("(?=<)((<+)+)>", Dialect::Re)
            .unwrap()
            .search(text),
        Err(Exhausted::Steps)
    );
    assert_eq!(
        Pattern::new("(?=.*>)<", Dialect::Re).unwrap().search(text),
        Err(Exhausted::Steps)
    );
}

#[test]
fn nesting_is_limited() {
    let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Pattern::new(&deep, Dialect::Re).unwrap_err().unsupported);
    let many = "()".repeat(5000);
    assert!(Pattern::new(&many, Dialect::Re).unwrap_err().unsupported);
    let large = Pattern::new(r"\w{1000}{0}|(?:\w{100}){100}", Dialect::Re).err();
    assert!(large.is_some(), "a repeat of a repeat is refused");
    // Too large for the linear machine, and still answered.
    let pattern = Pattern::new(r"(?:\w{100}){1000}", Dialect::Re).unwrap();
    assert!(pattern.search(&"é".repeat(100_000)).unwrap().is_some());
}

fn pattern_text() -> impl Strategy<Value = String> {
    let atom = prop::sample::select(vec![
        "a", "b", ".", r"\w", r"\s", "[^a]", "[ab]", r"\n", "é", "^", "$", r"\b", r"\B", "(?i:k)",
        r"\Z", "x",
    ]);
    let leaf = atom.prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let quantifier =
            prop::sample::select(vec!["*", "+", "?", "{1,2}", "{2}", "*?", "+?", "??"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|v| v.concat()),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|v| format!("(?:{})", v.join("|"))),
            inner.clone().prop_map(|p| format!("({p})")),
            (inner, quantifier).prop_map(|(p, q)| format!("(?:{p}){q}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn both_machines_agree(pattern in pattern_text(), text in "[abxkK\u{212A}\u{301}é \n]{0,12}") {
        if let Ok(pattern) = Pattern::new(&pattern, Dialect::Re) {
            let expected = backtracked(&pattern, &text);
            prop_assert_eq!(shown(&text, pattern.matches(&text)), expected);
        }
    }

    #[test]
    fn no_pattern_panics(pattern in r#"[\[\](){}?*+|\\^$.:<>=!P#a-c0-9,\-&]{0,24}"#, text in "[abc(<\n]{0,10}") {
        if let Ok(pattern) = Pattern::new(&pattern, Dialect::Re) {
            let _ = pattern.search(&text);
        }
    }
}

/// All matches in the dialect of `regex`.
fn regex_matches(pattern: &str, text: &str) -> String {
    let pattern = Pattern::new(pattern, Dialect::Regex).unwrap();
    let linear = shown(text, pattern.matches(text));
    assert_eq!(linear, backtracked(&pattern, text));
    linear
}

#[test]
fn the_dialect_of_regex() {
    assert_eq!(regex_matches(r"\h", "a \t\u{A0}\n"), " ,\t,\u{A0}");
    assert_eq!(regex_matches(r"\R", "a\r\nb\n\u{2028}"), "\r\n,\n,\u{2028}");
    assert_eq!(regex_matches(r"a\Kb", "abab"), "b,b");
    assert_eq!(regex_matches(r"\m|\M", "ab cd"), ",,,");
    assert_eq!(
        regex_matches(r"\w+", "e\u{301}a\u{200D}b²"),
        "e\u{301}a\u{200D}b"
    );
    assert_eq!(regex_matches(r"\s+", "a\u{1C}b\u{85}c"), "\u{85}");
    assert_eq!(regex_matches(r"[[:alpha:]]|[\p{Nd}x-\d]", "a1-:"), "a,1,-");
    assert_eq!(regex_matches(r"\p{Lu}|\pN|\p{^L}", "aB1-"), "B,1,-");
    assert_eq!(regex_matches("(?P<n>a)(?P<n>b)|(?<n>c)", "abc"), "ab|b,c|c");
    assert_eq!(regex_matches("(?:a|ab){2}+", "aba"), "aba");
    assert_eq!(regex_matches("a(?i)b|c", "aBAB C"), "aB,C");
    assert_eq!(regex_matches("(a(?i)b)c", "aBC aBc"), "aBc|aB");
    assert_eq!(regex_matches("(?<=a+)b|(?<!a|bb)c", "aab bbc ac c"), "b,c");
    assert_eq!(regex_matches("^*", "a"), ",");
    assert_eq!(regex_matches("(?=a)+a", "aa"), "a,a");
    assert_eq!(
        regex_matches("(?i)[a-z]+", "\u{131}\u{130}\u{17F}K"),
        "\u{130}\u{17F}K"
    );
    assert_eq!(regex_matches(r"\400", "Ā"), "Ā");
    assert_eq!(regex_matches(r"\B", ""), "");
}

#[test]
fn negated_sets_skip_the_surrogates() {
    for dialect in [Dialect::Re, Dialect::Regex] {
        let set = |pattern: &str, text: &str| {
            let pattern = Pattern::new(pattern, dialect).unwrap();
            let linear = shown(text, pattern.matches(text));
            assert_eq!(linear, backtracked(&pattern, text));
            linear
        };
        let edges = "\u{D7FE}\u{D7FF}\u{E000}\u{E001}";
        assert_eq!(set(r"[^\u0000-\ud7ff\ue000-\uffff]", edges), "");
        assert_eq!(set(r"[^\u0000-\ud7ff]+", edges), "\u{E000}\u{E001}");
        assert_eq!(set(r"[^\ue000-\uffff]+", edges), "\u{D7FE}\u{D7FF}");
        assert_eq!(set(r"[^\ud7ff\ue000]", edges), "\u{D7FE},\u{E001}");
    }
}

/// Patterns for texts that arrive in pieces, for every machine.
const STREAMED: [&str; 18] = [
    "abc|b",
    "</x>(?:<e>)?",
    r"\s*<x>",
    "<a.*?!>|b",
    "(?=[^!]*?!)",
    r"<(\w)\1>",
    "a|$",
    r"\n|$",
    r"(?m)a$",
    r"\ba\b",
    r"(?<=\n\s*)a",
    "a++b|c",
    "(?!!)<",
    "a{2,3}?b",
    "(a|b)*c",
    r"a\Kb",
    r"(<)?x(?(1)>)",
    "",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_settled_stays_so(
        text in "[ab<>x/e! \nc]{0,16}",
        cuts in prop::collection::vec(any::<bool>(), 17),
        from in 0..3usize,
    ) {
        let from = from.min(text.len());
        for source in STREAMED {
            let pattern = Pattern::new(source, Dialect::Regex).unwrap();
            let expected = pattern.search_from(&text, from).unwrap();
            let expected = expected.and_then(|groups| groups[0]);
            let mut scanner = Scanner::default();
            let mut steps = STEPS;
            for end in (from..=text.len()).filter(|end| cuts[*end]) {
                match pattern.scan(&mut scanner, &text[..end], from, &mut steps).unwrap() {
                    Found::Settled { start, end } => {
                        prop_assert_eq!(Some((start, end)), expected, "{}", source);
                    }
                    Found::Open { start } => prop_assert!(
                        expected.is_none_or(|(from, _)| from >= start),
                        "{}: open at {} of {:?}", source, start, expected
                    ),
                    Found::Nothing => prop_assert!(
                        expected.is_none_or(|(from, _)| from >= end),
                        "{}: nothing up to {}, {:?}", source, end, expected
                    ),
                }
            }
        }
    }
}
