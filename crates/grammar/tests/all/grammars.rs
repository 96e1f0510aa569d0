//! Limits, large and deep grammars, and what is told of a place; what dialects mean stands in `cases/`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fsm_index::{
    ByteAutomaton, Guide, Horizon, Index, IndexConfig, Report, Scope, TokenId, VocabularyBuilder,
};
use grammar::{Config, Dialect, ErrorKind, Grammar};

use crate::common::{compile, takes};

fn error(dialect: Dialect, text: &str) -> grammar::Error {
    match Grammar::compile(text, dialect, &Config::default()) {
        Err(error) => error,
        Ok(_) => panic!("{text} was taken"),
    }
}

#[test]
fn limits_have_errors_of_their_own() {
    let small = Config {
        max_depth: 10,
        max_text_bytes: 1_000,
        max_terminal_states: 64,
        max_states: 60,
        max_count: 20,
        max_parser_states: 5,
        max_work: 20_000,
        ..Config::default()
    };
    let cases = [
        (
            Dialect::Gbnf,
            format!("root ::= {}\"a\"{}", "(".repeat(30), ")".repeat(30)),
            "max_depth",
        ),
        (
            Dialect::Gbnf,
            format!("root ::= \"{}\"", "a".repeat(2_000)),
            "max_text_bytes",
        ),
        (
            Dialect::Lark,
            "start: /a{100}/".to_owned(),
            "max_terminal_states",
        ),
        (
            Dialect::Lark,
            "start: /a+b{,200}/".to_owned(),
            "max_terminal_states",
        ),
        (
            Dialect::Lark,
            "start: /a{40}/ /b{40}/".to_owned(),
            "max_states",
        ),
        (
            Dialect::Lark,
            "start: start2{30}\nstart2: \"a\" | \"b\" start2 \"c\"".to_owned(),
            "max_count",
        ),
        (
            Dialect::Lark,
            "start: \"a\" start \"b\" \"c\" start \"d\" | \"x\"".to_owned(),
            "max_parser_states",
        ),
    ];
    for (dialect, text, name) in cases {
        let error = Grammar::compile(&text, dialect, &small).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{text}: {error}");
        assert!(error.to_string().contains(name), "{text}: {error}");
    }
}

/// Ten thousand keywords that names follow: it is proved once that each name can come, so that
/// masks do not look for ways to the end.
#[test]
fn many_keywords_leave_nothing_to_look_for() {
    let digits = |i: usize| -> String {
        let letter = |at: u32| char::from(b'a' + (i / 10_usize.pow(at) % 10) as u8);
        (0..4).map(letter).collect()
    };
    let calls: Vec<String> = (0..10_000)
        .map(|i| format!("\"k{}\" NAME \";\"", digits(i)))
        .collect();
    let text = format!(
        "start: call+\ncall: {}\nNAME: /[a-z]+/\n%ignore / +/\n",
        calls.join(" | ")
    );
    let automaton = Grammar::from_lark(&text).unwrap();
    assert!(!automaton.checks_ends());
    assert!(automaton.accepts("kabcd x;kjjjj kabcd;"));
    assert!(!automaton.accepts("kabck x;") && !automaton.accepts("kabcd ;"));
}

/// Each took far longer, or all memory, in one peer or another.
#[test]
fn large_and_hostile_grammars_stay_bounded() {
    let alternatives: String = (0..10_000).fold(
        "start: word (\",\" word)*\nword: ".to_owned(),
        |mut text, i| {
            let _ = write!(text, "{}\"w{i}\"", if i == 0 { "" } else { " | " });
            text
        },
    );
    let rules: String = (0..2_000).fold("root ::= r0\n".to_owned(), |mut text, i| {
        let _ = writeln!(
            text,
            "r{i} ::= \"k{i}\" \"(\" r{} \")\" | \"x{i}\" | r{} \"+\" r{}",
            (i + 1) % 2_000,
            (i * 7 + 3) % 2_000,
            i
        );
        text
    });
    let doubled: String = (0..40).fold("start: r0\n".to_owned(), |mut text, i| {
        let _ = writeln!(text, "r{i}: r{} r{}", i + 1, i + 1);
        text
    }) + "r40: \"a\"?\n";
    let cases = [
        (Dialect::Lark, alternatives, "w1,w9999,w12"),
        (Dialect::Gbnf, rules, "k0(x1)"),
        (Dialect::Lark, doubled, "aaa"),
        (
            Dialect::Gbnf,
            "root ::= root root | root? root | \"a\" | \"\"".to_owned(),
            "aaaaaaaaaa",
        ),
        (
            Dialect::Gbnf,
            "root ::= a b\na ::= b\nb ::= a | c\nc ::= a | \"x\"".to_owned(),
            "xx",
        ),
        (
            Dialect::Gbnf,
            "root ::= ((\"a\"? ){0,100}){0,20} \"b\"".to_owned(),
            "aab",
        ),
    ];
    for (dialect, text, accepted) in cases {
        let begin = Instant::now();
        let automaton = compile(dialect, &text);
        assert!(automaton.accepts(accepted), "{accepted}");
        // Not a measurement: a bound that only an explosion exceeds.
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{:?}",
            &text[..50]
        );
    }
}

/// A stack as deep as the text, which is dropped without a call a level.
#[test]
fn deep_texts_are_read() {
    let automaton = compile(Dialect::Gbnf, "root ::= \"(\" root \")\" | \"\"");
    let depth = 20_000;
    let text = "(".repeat(depth);
    let mut scratch = automaton.scratch();
    let mut state = automaton.start();
    automaton
        .advance(&mut state, text.as_bytes(), &mut scratch)
        .unwrap();
    let mut end = Vec::new();
    automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut end);
    assert_eq!(end.len(), depth);
    automaton.advance(&mut state, &end, &mut scratch).unwrap();
    assert!(automaton.is_accepting(&state));
}

#[test]
fn states_outlive_what_scratches_remember() {
    let config = Config {
        max_cache_bytes: 2_000,
        ..Config::default()
    };
    let automaton = Grammar::compile(
        "root ::= \"[\" (root (\",\" root)*)? \"]\"",
        Dialect::Gbnf,
        &config,
    )
    .unwrap();
    let mut scratch = automaton.scratch();
    let mut state = automaton.start();
    let mut early = None;
    for (at, byte) in "[[[],[[]]],[[],[],[[[]]]]]".bytes().enumerate() {
        automaton
            .advance(&mut state, &[byte], &mut scratch)
            .unwrap();
        if at == 5 {
            early = Some(state.clone());
        }
    }
    assert!(automaton.is_accepting(&state));
    let mut early = early.unwrap();
    automaton
        .advance(&mut early, b"[]]]]", &mut scratch)
        .unwrap();
    assert!(automaton.is_accepting(&early));
}

/// A count that no automaton holds as states is read by its digits.
#[test]
fn large_counts_are_exact() {
    for (dialect, grammar) in [
        (Dialect::Ebnf, "root ::= Regex(\"(ab){2,50000}c\")"),
        (Dialect::LarkAscii, "start: X\nX: /(ab){2,50000}c/"),
        (Dialect::Lark, "start: (\"a\" \"b\"){2,50000} \"c\""),
    ] {
        let automaton = compile(dialect, grammar);
        for (count, is_taken) in [(1, false), (2, true), (3, true), (4_095, true)] {
            let text = "ab".repeat(count) + "c";
            assert_eq!(automaton.accepts(&text), is_taken, "{grammar}: {count}");
        }
    }
    let automaton = compile(
        Dialect::Ebnf,
        "root ::= x{2100,2105} \"b\"\nx ::= \"a\" | \"(\" x \")\"",
    );
    for count in 2_098..2_108 {
        let text = "a".repeat(count) + "b";
        let is_taken = (2_100..=2_105).contains(&count);
        assert_eq!(automaton.accepts(&text), is_taken, "{count}");
    }
}

/// A parser that reads each character has other stacks behind each.
#[test]
fn short_things_that_are_counted_are_one_lexeme() {
    for (dialect, grammar) in [
        (
            Dialect::Gbnf,
            "root ::= \"say: \" [^\\n]{1,300} (\"\\n\" root)?",
        ),
        (
            Dialect::Ebnf,
            "root ::= \"<t>\" text{1,120} \"</t>\" root?\n\
             text ::= [^<&] | \"&\" (\"lt\" | \"amp\" | \"#\" [0-9]{1,7}) \";\"",
        ),
        (
            Dialect::Abnf,
            "body = *( *998( %d1-9 / %d14-127 / %x80-10FFFF ) CRLF )",
        ),
    ] {
        let automaton = compile(dialect, grammar);
        let states = automaton.parser_states();
        assert!(states < 30, "{grammar}: {states} states of the parser");
    }
}

#[test]
fn places_name_rules_and_what_may_come() {
    let automaton = compile(
        Dialect::Lark,
        "start: call\ncall: NAME \"(\" [value (\",\" value)*] \")\"\nvalue: NAME | NUMBER\n\
         NAME: /[a-z]+/\nNUMBER: /[0-9]+/",
    );
    let at = |text: &str| {
        let mut state = automaton.start();
        let mut scratch = automaton.scratch();
        automaton
            .advance(&mut state, text.as_bytes(), &mut scratch)
            .unwrap();
        (automaton.place(&state).unwrap(), automaton.expected(&state))
    };
    let (place, expected) = at("");
    assert_eq!(place.state, "between lexemes");
    assert_eq!(expected, ["NAME"]);
    let (place, expected) = at("foo");
    assert_eq!(place.state, "in NAME");
    assert_eq!(expected, ["NAME", "\"(\""]);
    let (place, expected) = at("foo(");
    let open = "call (line 2): NAME \"(\" \u{2022}";
    assert!(
        at("foo(1")
            .0
            .locations
            .iter()
            .any(|line| line.starts_with(open)),
        "{place:?}"
    );
    assert!(expected.contains(&"NUMBER".to_owned()), "{expected:?}");
}

#[test]
fn literals_and_classes_are_named_by_their_text() {
    for (dialect, text, behind, expected) in [
        (
            Dialect::Gbnf,
            "root ::= \"let \" name \" = \" root \";\" | [0-9]+\nname ::= [a-z] [a-z0-9]*",
            "let a",
            ["name", "\" = \""],
        ),
        (
            Dialect::Ebnf,
            "root ::= \"(\" root \")\" | [0-9]+ \"!\"?",
            "(1",
            ["[0-9]+ \"!\"?", "\")\""],
        ),
    ] {
        let automaton = compile(dialect, text);
        let mut state = automaton.start();
        let mut scratch = automaton.scratch();
        automaton
            .advance(&mut state, behind.as_bytes(), &mut scratch)
            .unwrap();
        let said = automaton.expected(&state);
        assert!(!said.iter().any(|one| one == "a text"), "{said:?}");
        for name in expected {
            assert!(
                said.iter().any(|said| said.contains(name)),
                "{name}: {said:?}"
            );
        }
    }
}

#[test]
fn rules_that_double_end_or_are_refused() {
    let doubling = |times: usize, first: &str| {
        let mut grammar =
            format!("root ::= \"(\" r{times} \")\" | \"(\" root \")\"\nr0 ::= {first}\n");
        for at in 1..=times {
            let _ = writeln!(grammar, "r{at} ::= r{0} r{0}", at - 1);
        }
        grammar
    };
    let shortest = |dialect: Dialect, grammar: &str| {
        let automaton = compile(dialect, grammar);
        let mut text = Vec::new();
        let is_complete =
            automaton.completion(&automaton.start(), fsm_index::MAX_COMPLETION, &mut text);
        is_complete.map(|_| text.len())
    };
    for dialect in [Dialect::Gbnf, Dialect::Ebnf] {
        assert_eq!(
            shortest(dialect, &doubling(12, "\"x\"")),
            Some((1 << 12) + 2)
        );
        assert_eq!(shortest(dialect, &doubling(30, "\"\" | \"x\" r0")), Some(2));
        let said = error(dialect, &doubling(30, "\"x\" | \"y\" r0"));
        assert_eq!(said.kind(), ErrorKind::LimitExceeded, "{said}");
        assert_eq!(said.rule(), Some("r23"), "{said}");
        assert_eq!(said.line(), 25, "{said}");
    }
}

/// The ways to read a text grow with it, whatever comes before; without the limit it is read.
#[test]
fn grammars_with_too_many_ways_are_refused_by_rule() {
    let long =
        "hidden behind a text that is longer than those that are made of the grammar ".repeat(3);
    for before in [String::new(), format!("\"{long}\" ")] {
        let text = format!(
            "start: {before}s\ns: A s A s B | t s B | A | B\nt: s A s | A t s | B\nA: /[a-m]/\nB: /[n-z]/\n"
        );
        for dialect in [Dialect::Lark, Dialect::LarkSplits] {
            let said = error(dialect, &text);
            assert_eq!(said.kind(), ErrorKind::LimitExceeded, "{said}");
            assert!(said.to_string().contains("max_walk_work"), "{said}");
            let (rule, line) = (said.rule().unwrap(), said.line());
            assert!([("s", 2), ("t", 3)].contains(&(rule, line)), "{said}");
            let config = Config {
                max_walk_work: usize::MAX,
                ..Config::default()
            };
            assert!(Grammar::compile(&text, dialect, &config).is_ok());
        }
    }
}

/// Each byte leads to stacks of its own, so that a mask meets as many as a vocabulary has nodes:
/// more steps are tried than where a byte leads to what was met.
#[test]
fn grammars_with_stacks_of_their_own_behind_each_byte_are_refused() {
    let text = r#"start: (r3 "aa") /[^b]/ r1 | "aa"
r1: r3 | "aa"* "aa" | r1 "a" | "ab"
r2: "ab" r2 | /[^b]/
r3: r3 | r1 r3 "aa" | (r2 /[^b]/) r3 "b" | /[^b]/
"#;
    let config = Config {
        max_walk_work: 10_000,
        ..Config::default()
    };
    let Err(said) = Grammar::compile(text, Dialect::Lark, &config) else {
        panic!("{text} was taken");
    };
    assert!(said.to_string().contains("max_walk_work"), "{said}");
    assert_eq!((said.rule(), said.line()), (Some("r1"), 2), "{said}");
    // They are few if every split counts.
    compile(Dialect::LarkSplits, text);
}

/// A key of stacks that have ever more parents at each level would take longer than the mask.
#[test]
fn keys_of_stacks_with_many_ways_are_bounded() {
    let text = "root ::= \"b\" | r1 root? | [a-c]\nr1 ::= root | [a-c]\n";
    let automaton = compile(Dialect::Gbnf, text);
    for (letters, has_key) in [(3, true), (200, false)] {
        let (mut state, mut scratch) = (automaton.start(), automaton.scratch());
        let said = "c".repeat(letters);
        automaton
            .advance(&mut state, said.as_bytes(), &mut scratch)
            .unwrap();
        let cursor = automaton.enter(&state, &mut scratch);
        let horizon = Horizon::of_bytes(8);
        let (mut key, scope) = (Vec::new(), Scope::Index);
        let told = automaton.key(cursor, scope, 64, horizon, &mut scratch, &mut key);
        assert_eq!(told.is_some(), has_key, "{letters}");
    }
}

/// Rules that need each other at both ends are lists, when each is replaced in the others.
#[test]
fn rules_that_need_each_other_at_both_ends_are_read() {
    let grammar = "start: s\ns: \"a\" s? | s s? | t\nt: s t? | \"b\" s\n";
    for dialect in [Dialect::Lark, Dialect::LarkSplits] {
        takes(
            dialect,
            grammar,
            &["a", "aaa", "ba", "aba", "bbaaba"],
            &["", "b", "ab", "bab"],
        );
    }
    // Up to 2^20 in one way each, and not one more.
    let mut counted = "start: r20\nr0: \"a\"?\n".to_owned();
    for at in 1..=20 {
        let _ = writeln!(counted, "r{at}: r{0} r{0}", at - 1);
    }
    let automaton = compile(Dialect::Lark, &counted);
    assert!(automaton.accepts("") && automaton.accepts("a".repeat(1 << 20)));
    assert!(!automaton.accepts("a".repeat((1 << 20) + 1)));
}

/// Numbers are the vocabulary's, of special tokens alone.
#[test]
fn special_tokens_are_named_by_number() {
    let mut builder = VocabularyBuilder::new();
    for (text, id) in [("a", 0), ("b", 1)] {
        builder.text(TokenId::new(id), text).unwrap();
    }
    for (name, id) in [("<|x|>", 5), ("<|y|>", 6), ("<|z|>", 7)] {
        builder.special(TokenId::new(id), name).unwrap();
    }
    builder.end(TokenId::new(9)).unwrap();
    let vocabulary = builder.build().unwrap();
    let index = |dialect, text: &str| {
        Index::lazy(compile(dialect, text), &vocabulary, &IndexConfig::default())
    };
    for (dialect, text) in [
        (Dialect::Lark, "start: <[5-6]> \"a\" <|z|>"),
        (Dialect::Lark, "start: <[6,5]> \"a\" <[7]>"),
        (Dialect::Gbnf, "root ::= <[5-6]> \"a\" <[7]>"),
        (Dialect::Ebnf, "root ::= Token(5, 6) \"a\" Token(7)"),
    ] {
        let mut guide = Guide::new(Arc::new(index(dialect, text).unwrap()));
        for (token, allowed) in [(6, vec![5, 6]), (0, vec![0]), (7, vec![7]), (9, vec![9])] {
            let found = guide.allowed_tokens().unwrap();
            let found: Vec<u32> = found.iter().map(|token| token.get()).collect();
            assert_eq!(found, allowed, "{text}");
            guide.advance(TokenId::new(token)).unwrap();
        }
    }
    // Text takes no special token, so text up to one needs no tokens by what they are not.
    for (dialect, text) in [
        (
            Dialect::Lark,
            "start: TEXT (<[5]> TEXT)* <[6]>\nTEXT: /(?s:.*)/",
        ),
        (Dialect::Ebnf, "root ::= ([^] | Token(5))* Token(6)"),
    ] {
        let mut guide = Guide::new(Arc::new(index(dialect, text).unwrap()));
        let free = vec![0, 1, 5, 6];
        for (token, allowed) in [
            (0, &free),
            (5, &free),
            (1, &free),
            (6, &free),
            (9, &vec![9]),
        ] {
            let found = guide.allowed_tokens().unwrap();
            let found: Vec<u32> = found.iter().map(|token| token.get()).collect();
            assert_eq!(found, *allowed, "{text}");
            guide.advance(TokenId::new(token)).unwrap();
        }
    }
    let error = index(Dialect::Gbnf, "root ::= <[1]>")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("\"<[1]>\"") && error.contains("text is written as text"),
        "{error}"
    );
}

/// One ignored lexeme comes between two others, however it may be cut.
#[test]
fn ignored_text_may_come_once() {
    let text = |once: &str| {
        format!(
            "%llguidance {{\"ignore_once\": {once}}}\nstart: A (B | sub)* C?\nsub: %lark {{\n start: \"<\" \"a\"* \">\"\n %ignore /-/\n}}\nA: \"a\"\nB: /b+/\nC: \"c\"\n%ignore / {{1,2}}|#/"
        )
    };
    let (once, often) = (text("true"), text("false"));
    takes(
        Dialect::Lark,
        &once,
        &["a", "a  b", "a#b", "a b  c", "abb <a--a-->  c", "a <>"],
        &[
            "a   b", "a# b", "a ##c", " a", "a   ", "a  <a a>", "a <>   c",
        ],
    );
    takes(Dialect::Lark, &often, &["a   b", "a# b", "a ##c"], &[" a"]);
}

#[test]
fn an_opening_bracket_may_end_with_what_may_be_missing() {
    let lark = r#"
        start: (NAME "=" expr ";" | "{" start "}")*
        expr: NAME | "\"" (CHARS | part)* "\"" | expr "+" expr | "{" expr "}"
        part: open expr close
        open: "${" "~"?
        close: "~"? "}"
        NAME: /[a-z]+/
        CHARS: /[^"$]+/
        %ignore / +/
    "#;
    let automaton = Grammar::compile(lark, Dialect::Lark, &Config::default());
    let automaton = automaton.unwrap_or_else(|error| panic!("{error}"));
    assert!(automaton.accepts("{a = \"b ${~c + \"d\"~} e ${f}\" ;}"));
    assert!(!automaton.accepts("a = \"b ${~c\" ;"));
}
