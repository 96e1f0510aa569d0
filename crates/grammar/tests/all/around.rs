//! Terminals that look around and those with lazy quantifiers, beside what Python's `re` matches.

use fsm_index::ByteAutomaton;
use grammar::{Config, Dialect, ErrorKind, Grammar, GrammarAutomaton};

use crate::common::{compile, takes, texts};

fn refused(dialect: Dialect, grammar: &str, says: &str) {
    match Grammar::compile(grammar, dialect, &Config::default()) {
        Ok(_) => panic!("{grammar} was taken"),
        Err(error) => assert!(error.to_string().contains(says), "{grammar}: {error}"),
    }
}

#[test]
fn comments_end_at_their_first_end() {
    for comment in [
        r"/\/\*.*?\*\//s",
        r"/\/\*(.|\n)*?\*\//",
        r"/\/\*(\*(?!\/)|[^*])*\*\//",
        r#""/*" /(.|\n)*?/ "*/""#,
    ] {
        let grammar = format!("start: (\"a\" | C)+\nC: {comment}\n");
        takes(
            Dialect::Lark,
            &grammar,
            &["a/* x */a", "/**/", "/*\n*//***/", "/*a*/a/*b**/"],
            &["/*/", "/* */*/", "a/*", "/*a*/ */"],
        );
    }
    takes(
        Dialect::Lark,
        "start: \"a\"+\n%ignore /\\/\\*.*?\\*\\//s\n%ignore /[ \\n]+/\n",
        &["a/* x */a", "a /*\n*/ a", "a/**//**/a"],
        &["a/* x */b", "a/*/a", "/* x */ */a"],
    );
}

#[test]
fn looks_inside_of_a_lexeme_are_part_of_it() {
    takes(
        Dialect::Lark,
        "start: C \"x\"\nC: /\\/\\*(?!\\*)(.|\\n)*?\\*\\//\n",
        &["/* a */x", "/*a**/x"],
        &["/** a */x", "/**/x", "/* a */ */x"],
    );
    takes(
        Dialect::Lark,
        "start: S\nS: /\"[^\"]*?(?<!\\\\)(\\\\\\\\)*?\"/\n",
        &["\"\"", "\"a\\\\\""],
        &["\"a\\\""],
    );
    takes(
        Dialect::Lark,
        "start: W+\nW: /(?=[a-z]*x)[a-z]+;/\n",
        &["axb;", "x;xx;"],
        &["ab;", "xab", "x;b;"],
    );
    takes(
        Dialect::Lark,
        "start: T\nT: /[a-z ]+\\bend\\b[a-z ]*!/\n",
        &["the end!", "a end b!"],
        &["the bend!", "the ends!", "end!"],
    );
    takes(
        Dialect::LarkSplits,
        "start: C \"x\"\nC: /\\/\\*(\\*(?!\\/)|[^*])*\\*\\//\n",
        &["/* a */x", "/***/x"],
        &["/* */ */x"],
    );
}

#[test]
fn what_must_not_follow_a_lexeme_does_not() {
    takes(
        Dialect::Lark,
        "start: C (\"[\" C)?\nC: /#(?!\\[)[^\\n]*/ \"\\n\" | /x(?!y)/\n",
        &["#a\n[#b\n", "x[x", "x"],
        &["#[a\n", "xy"],
    );
    takes(
        Dialect::Lark,
        "start: C \"[\"? \"b\"?\nC: /#(?!\\[)/\n",
        &["#", "#b"],
        &["#[", "#[b"],
    );
    takes(
        Dialect::Lark,
        "start: (KEY | NAME | \".\")+\nKEY: /if\\b/\nNAME: /[A-Z][a-z]*/\n",
        &["if", "if.X", "Xif.if"],
        &["ifX", "ifif", "ifé"],
    );
    takes(
        Dialect::Lark,
        "start: \"a\" \"\\n\"? \"b\"?\n%ignore /\\/\\/[^\\n]*(?=\\n)/\n",
        &["a", "a//x\n", "a//\nb"],
        &["a//x", "a//"],
    );
}

#[test]
fn keywords_are_no_names() {
    takes(
        Dialect::Lark,
        "start: (NAME | \".\")+\nNAME: /(?!(if|else)\\b)[a-zé]\\w*/\n",
        &["i", "ifx", "elsé.i", "els", "é.ifs"],
        &["if", "if.", "a.else.", "else"],
    );
    takes(
        Dialect::Lark,
        "start: C \"\\n\" \"x\"?\nC: /--(?!\\[\\[).*/\n",
        &["--\n", "--[\nx", "--a[[\n"],
        &["--[[\n"],
    );
    takes(
        Dialect::Lark,
        "start: W \"end\" | W \"!\"\nW: /(?:(?!end)\\w)+/\n",
        &["ae!", "en!"],
        &["aend!", "end!"],
    );
}

#[test]
fn looks_beyond_what_is_known_are_refused() {
    refused(
        Dialect::Lark,
        "start: \"a\" /(?<!\\\\)b/",
        "text before its lexeme",
    );
    refused(
        Dialect::Lark,
        "start: \"a\" /\\bb\\b/",
        "text before its lexeme",
    );
    refused(
        Dialect::Lark,
        "start: /a(?!bc)/ \"b\"",
        "more than one character",
    );
    refused(
        Dialect::LarkSplits,
        "start: /a(?!b)/ \"b\"",
        "every split counts",
    );
    refused(
        Dialect::LarkSplits,
        "start: \"a\"\n%ignore /b(?=c)/",
        "must come behind it",
    );
    refused(
        Dialect::LarkSplits,
        "start: \"a\"\n%ignore /b+(?!c)/",
        "a shorter one",
    );
    refused(Dialect::LarkAscii, "start: /a(?!b)b/", "does not have");
    refused(
        Dialect::Ebnf,
        "root ::= Regex(\"a(?=b)c\")",
        "does not have",
    );
    refused(Dialect::Lark, "start: /(a*)*?b/", "may be empty");
    let error = Grammar::compile("start: A\n\nA: /b\n/", Dialect::Lark, &Config::default());
    assert!(error.is_err());
    let error = Grammar::compile("start: A\nA: /(?<=c)b/", Dialect::Lark, &Config::default());
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("line 2, column 1") && error.contains("`A`"),
        "{error}"
    );
}

#[test]
fn whole_expressions_look_as_far_as_they_are() {
    let config = Config::default();
    let regex = Grammar::from_regex(r"\b(?!b)[a-z]+\b(?!x)", &config).unwrap();
    assert!(regex.accepts("abc") && !regex.accepts("bc") && !regex.accepts(""));
    let lazy = Grammar::from_regex("a+?b*?", &config).unwrap();
    assert!(lazy.accepts("aab") && !lazy.accepts("b"));
}

#[test]
fn texts_go_on_where_lexemes_look_out() {
    let grammar = "start: (KEY | NAME | \".\")+\nKEY: /if\\b/\nNAME: /[A-Z][a-z]*/\n";
    let automaton = compile(Dialect::Lark, grammar);
    let mut state = automaton.start();
    let mut scratch = automaton.scratch();
    automaton.advance(&mut state, b"if", &mut scratch).unwrap();
    assert!(automaton.is_accepting(&state));
    assert!(
        automaton
            .advance(&mut state.clone(), b"X", &mut scratch)
            .is_err()
    );
    assert!(automaton.advance(&mut state, b".X", &mut scratch).is_ok());
}

/// The lines of a table: a text, a kind, and texts of which the empty one is `-`.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str, Vec<&str>)> {
    table.lines().map(|line| {
        let mut cells = line.split('\t');
        let mut cell = || cells.next().unwrap_or_default();
        let (text, kind) = (cell(), cell());
        let taken = cell().split(' ').filter(|text| !text.is_empty());
        (
            text,
            kind,
            taken.map(|t| t.trim_start_matches('-')).collect(),
        )
    })
}

/// Patterns with the texts of up to four of `a`, `b` and `"` that Python 3.11 takes: all of a
/// text as the match from its beginning, or by `fullmatch` where nothing is lazy.
#[test]
fn terminals_match_as_in_python() {
    let (mut wholes, mut terminals, mut large) = (0, 0, 0);
    let all = texts("ab\"", 4);
    for (pattern, kind, taken) in rows(include_str!("../data/python-re.tsv")) {
        let compare = |automaton: &GrammarAutomaton| {
            for text in &all {
                let expected = taken.contains(&text.as_str());
                assert_eq!(automaton.accepts(text), expected, "{pattern}: {text:?}");
            }
        };
        if kind == "plain" {
            let whole = Grammar::from_regex(pattern, &Config::default());
            compare(&whole.unwrap_or_else(|error| panic!("{pattern}: {error}")));
            wholes += 1;
        }
        let grammar = format!("start: T\nT: /{pattern}/\n");
        match Grammar::compile(&grammar, Dialect::Lark, &Config::default()) {
            Ok(automaton) => {
                compare(&automaton);
                terminals += 1;
            }
            Err(error) if error.kind() == ErrorKind::LimitExceeded => large += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{pattern}: {error}"),
        }
    }
    assert!(
        wholes >= 80 && terminals >= 120 && large <= 9,
        "{wholes} {terminals} {large}"
    );
}

/// Grammars with the texts of up to five of `a`, `b`, `/` and line feeds that the package `lark`
/// 1.2.2 takes with `parser="earley"` and `lexer="dynamic_complete"`; `~` is a line feed.
#[test]
fn ignored_text_goes_as_far_as_in_the_package() {
    let all = texts("ab/\n", 5);
    for (grammar, _, taken) in rows(include_str!("../data/lark-splits.tsv")) {
        let grammar = grammar.replace('~', "\n");
        let taken: Vec<String> = taken.iter().map(|text| text.replace('~', "\n")).collect();
        let automaton = compile(Dialect::LarkSplits, &grammar);
        for text in &all {
            let expected = taken.contains(text);
            assert_eq!(automaton.accepts(text), expected, "{grammar}{text:?}");
        }
    }
}

/// Behind `{` the text of the comment takes what must come: nothing but the comment's end could
/// follow.
#[test]
fn ignored_text_leads_to_no_dead_end() {
    let grammar = "start: \"a\" \"b\"\n%ignore /\\{[^\\n]*/\n";
    let automaton = compile(Dialect::LarkSplits, grammar);
    let mut scratch = automaton.scratch();
    let mut state = automaton.start();
    automaton.advance(&mut state, b"a", &mut scratch).unwrap();
    assert!(automaton.checks_ends());
    assert!(
        automaton
            .advance(&mut state.clone(), b"{", &mut scratch)
            .is_err()
    );
    automaton.advance(&mut state, b"b{b", &mut scratch).unwrap();
    assert!(automaton.is_accepting(&state));
    // A line feed that is ignored, too, leads on.
    let automaton = compile(Dialect::LarkSplits, &format!("{grammar}%ignore /\\n/\n"));
    assert!(!automaton.checks_ends());
    assert!(automaton.accepts("a{b\nb") && !automaton.accepts("a{b"));
    let mut way = Vec::new();
    let mut state = automaton.start();
    let mut scratch = automaton.scratch();
    automaton.advance(&mut state, b"a{b", &mut scratch).unwrap();
    assert!(automaton.completion(&state, 100, &mut way).is_some());
    assert_eq!(way, b"\nb");
}
