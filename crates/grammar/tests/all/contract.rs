//! What every byte automaton promises, for grammars of all kinds.

use std::sync::Arc;

use fsm_index::contract::{Effort, check, check_spelling};
use fsm_index::{
    ErrorKind, Fill, Guide, Index, IndexConfig, MaskBuffer, PlainText, TokenId, Vocabulary,
    VocabularyBuilder, brute_force_mask,
};
use grammar::{Config, Dialect, Grammar};

/// All bytes but some, these texts, a special token, and an end.
fn vocabulary(missing: &[u8]) -> Vocabulary {
    let texts = [
        "  ", " a", "ab", "abc", "if", " if", "ifx", "return", "1+", "+1", "))", ");", "()", "(1",
        "{}", "{\"", "\":", "\", \"", "\"}", "]}", "é", "日本", "\n\n", "\n}", "=\"", "==", "<t>",
        "</t>", "<t", "foo", " = 1;\n", "a b", "aaaa", "aqa", "abqc", "aqb", "bq!",
    ];
    let mut builder = VocabularyBuilder::new();
    let mut id = 0..;
    let mut next = || TokenId::new(id.next().unwrap());
    for byte in (0..=255u8).filter(|byte| !missing.contains(byte)) {
        builder.text(next(), [byte]).unwrap();
    }
    for text in texts {
        builder.text(next(), text).unwrap();
    }
    builder.special(next(), "<|call|>").unwrap();
    builder.end(next()).unwrap();
    builder.build().unwrap()
}

const JSON: &str = r#"
root ::= value
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
"#;

const CODE: &str = r#"
start: statement*
statement: "if" "(" expr ")" statement | "{" statement* "}" | "return" expr? ";" | NAME "=" expr ";"
?expr: expr "+" term | expr "==" term | term
term: NAME | NUMBER | "(" expr ")" | NAME "(" [expr ("," expr)*] ")" | STRING
NAME: /[a-zé_][a-z0-9_]*/
NUMBER: /[0-9]+(\.[0-9]+)?/
STRING: /"[^"\n]*"/
COMMENT: /\/\/[^\n]*/
%ignore /[ \n]+/
%ignore COMMENT
"#;

const JOINS: &str = r#"
start: item
item: NAME [NAME] | item BOTH item | item "if" "foo" item
BOTH: ("return"? WS)? "foo"
NAME: /[a-z_][a-z0-9_]*/i
WS: /[ \n]+/
%ignore WS
%ignore /--[^\n]*/
"#;

/// Letters that are lexemes of their own, some with marks behind them, in brackets and beside blanks.
const LETTERS: &str = r#"
start: "/" all "/"
all: terms ("|" terms)*
terms: term*
term: atom [("_" | "^") atom] | "^" atom
atom: LETTER | NUMBER | "(" all ")" | "\\b" | "\\" LETTER
LETTER: /[a-zé-ÿ]'*/
NUMBER: /[0-9]+/
%ignore / +/
"#;

/// Places in lexemes that cannot be finished, beside a terminal that takes nearly anything.
const REGEXES: &str = r##"
start: (NAME ("=" | "/=" | "/") (NAME | REGEX) ";" | "#" /[^;]*/ ";" | "@" /[^a]+/)*
NAME: /[a-z]+/
REGEX: /\/([^\/ ]|\.)([^\/]|\.)*\//
%ignore / +|--[^;a]*/
"##;

/// Text of which nearly all may come, over the ends of words, lines and escapes.
const WORDS: &[&str] = &[
    "start: (WORD | REST)*\nWORD: /[a-z]+/\nREST: /[^a-z]+/",
    "start: \"<\" (WORD | NUMBER | \"(\" | MARK)* \">\"\nWORD: /\\w+/\nNUMBER: /[0-9]+/\nMARK: /[^\\w(>]/",
    "start: (\"ab \" LINE \"\\n\" | \"if \" LINE \"\\n\" | LINE \"\\n\")+\nLINE: /[^\\n]+/",
    "start: \"<\" (TEXT | ESC | \"(\" start \")\")* \">\"\nTEXT: /[^<>()\\\\]+/\nESC: /\\\\./",
    "start: (TEXT | WSP | FOLD | \"==\")* END\nTEXT: /[^ \\n]+/\nEND: /\\n/\nWSP: / +/\nFOLD: / *\\n +/",
    "start: word+ \"!\"\nword: /[a-z]+/ | /[0-9]+/ | \"(\" word* \")\"\n%ignore /[ \\n]+/",
];

/// Grammars, and beginnings of their texts.
const CASES: &[(Dialect, &str, &[&str])] = &[
    (Dialect::Lark, WORDS[0], &["", "a", "a 1"]),
    (Dialect::LarkSplits, WORDS[0], &["", "a", "a 1"]),
    (Dialect::Lark, WORDS[1], &["<", "<a", "<é (", "<1", "<日a"]),
    (Dialect::Lark, WORDS[2], &["", "a", "ab ", "if x\n", "é"]),
    (
        Dialect::Lark,
        WORDS[3],
        &["<", "<a", "<\\", "<a\\b", "<a(<b", "<(<"],
    ),
    (Dialect::Lark, WORDS[4], &["", "a", "a =", "a\n", "a =="]),
    (Dialect::Lark, WORDS[5], &["", "a ", "a b(", "a 1 (b ("]),
    (
        Dialect::Lark,
        LETTERS,
        &[
            "/", "/a", "/ab", "/(a b|", "/a_", "/a^b", "/\\", "/a'", "/1", "/é", "/(a", "/a ",
        ],
    ),
    (
        Dialect::Lark,
        REGEXES,
        &[
            "", "a", "a=", "a/", "a/=", "a /= b", "a=/b", "#", "#a", "@", "a=b; --x", "a=b;",
        ],
    ),
    // Text with so many characters at most: with an end, beside other lexemes, and such as may end at any place.
    (
        Dialect::Lark,
        "start: (QUOTED | NAME \"=\" | LINE)*\nQUOTED: /“[^“”\\n]{1,5}”/\nNAME: /[a-zé]{2,4}/\nLINE: /\\([^\\n]{0,6}/ \"\\n\"\n%ignore \" \"",
        &[
            "“", "“a", "“ab日", "“abcde", "(", "(a", "a", "(abcdef", "ab",
        ],
    ),
    (
        Dialect::Lark,
        "start: \"<\" (/[a-f0-9]{3,8}x/ | /[a-z]{1,6}/ | /[^>]{2,4}é/) \">\"",
        &["<", "<a", "<ab", "<abc", "<abcdef", "<日"],
    ),
    (
        Dialect::Gbnf,
        "root ::= \"(\" text{1,3} \")\" | \"<\" [^>]{2,7} (\"b\" | \">\" root)\ntext ::= [a-eé]{1,4} | [^ab]{2,3} \"=\"",
        &["(", "(a", "(abc", "<", "<aé", "<a  b", "(c=", "(cdé"],
    ),
    (Dialect::Gbnf, JSON, &["{\"a", "[1, {\"b\": [", "\"é"]),
    (
        Dialect::Gbnf,
        "root ::= root \"+\" root | \"(\" root \")\" | [0-9]+",
        &["1+(", "((1"],
    ),
    (
        Dialect::Gbnf,
        "root ::= a a? b{2,5} | root root\na ::= \"a\" | \"ab\" | b*\nb ::= [b-é]",
        &["ab"],
    ),
    (
        Dialect::Gbnf,
        "root ::= \"a\" root \"b\" | \"a\" root \"a\" | \"\"",
        &["aaa"],
    ),
    (
        Dialect::Lark,
        CODE,
        &["if (a", "return ", "foo = \"", "foo // a"],
    ),
    (Dialect::LarkSplits, CODE, &["if (a", "return ", " foo"]),
    // What is begun here cannot always be finished by the longest match alone.
    (
        Dialect::Lark,
        "start: A B | C\nA: /a+/\nB: /ab?/\nC: /a+c/ | /aaab/",
        &["a", "aa"],
    ),
    (
        Dialect::Lark,
        "start: x+ \"!\"\nx: \"if\" NAME | \"return\" | NAME \"=\"\nNAME: /[a-z]+/",
        &["if", "ret"],
    ),
    (
        Dialect::Lark,
        "start: head \"x\" tail\nhead[lazy]: /(.|\\n)*<t>/\ntail[suffix=\"</t>\"]: /(.|\\n)*/",
        &["abc<", "<t>x"],
    ),
    (
        Dialect::Lark,
        "start: call* TEXT\ncall: head \"=\" /[0-9]+/ \"</t>\"\nhead[lazy]: TEXT \"<t>\"\nTEXT: /(.|\\n)*/",
        &["a<t", "ab<t>=", "<t>=1"],
    ),
    // A lazy lexeme cuts others short in the middle of what is free for these.
    (
        Dialect::Lark,
        "start: (lazy | NAME) \"!\"\nlazy[lazy]: /[a-c ]*q/\nNAME: /[a-z ]+/",
        &["a", "ab ", "abd"],
    ),
    (
        Dialect::LarkSplits,
        "start: (lazy | NAME | other) \"!\"\nlazy[lazy]: /[a-y ]*q/\nNAME: /[a-z ]+/\nother[lazy]: /(.|\\n)*<t>/",
        &["a", "ab ", "ab c<", "abq"],
    ),
    (
        Dialect::LarkSplits,
        "start: \"x\"? head \"!\"\nhead[lazy]: TEXT* \"<t>\"\nTEXT: /(\\n|.)*/",
        &["x", "ab <", "é<t"],
    ),
    // One terminal may begin what another must: only a search tells what can be finished.
    (
        Dialect::Lark,
        JOINS,
        &["foo", "foo if", "foo if  ", "foo ifx if\n"],
    ),
    (Dialect::LarkSplits, JOINS, &["foo if", "foo ifx if "]),
    (
        Dialect::Lark,
        "start: \"a\" <|call|> \"b\" | \"ab\" <|call|>* \"c\"",
        &["a"],
    ),
    (
        Dialect::Lark,
        "start: \"(\" value (\",\" value)* \")\"\nvalue: %json {\"type\":[\"integer\",\"string\",\"array\"],\"items\":{\"type\":\"integer\"}}",
        &["(1", "(\"a"],
    ),
    (
        Dialect::LarkAscii,
        "start: value \"1\"* | \"[\" start\nvalue: %json {\"type\":\"object\",\"properties\":{\"ab\":{},\"a\":{\"type\":\"integer\"}}}",
        &["{\"a", "[[{"],
    ),
    // Names that were said, items that must differ, and values in values.
    (
        Dialect::Lark,
        "start: \"x\" value \";\" start?\nvalue: %json {\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"enum\":[1,11,2]},\"uniqueItems\":true,\"maxItems\":3},\"b\":{\"$ref\":\"#\"}},\"additionalProperties\":{\"type\":\"string\",\"maxLength\":4}}",
        &[
            "x{\"a\": [1,",
            "x{\"b\": {\"b\": {\"",
            "x{\"c\": \"1\", \"",
            "x{};x{\"b\": {}",
        ],
    ),
    // A number takes what should follow it, and other lexemes are read beside a value.
    (
        Dialect::Lark,
        "start: value \"1\"? \"e\" | \"return\" value \"if\"\nvalue: %json {\"type\":[\"number\",\"object\"]}",
        &["1", "{\"a", "return{\"a\":1"],
    ),
    (
        Dialect::Lark,
        "start: (value | NAME | \"=\" value)* \"<t>\"\nvalue: %json {\"type\":[\"object\",\"string\",\"null\"],\"additionalProperties\":{\"type\":\"string\"}}\nNAME: /[a-zé]+/\n%ignore /[ \\n]+/\n",
        &["{\"a", "=nul", "= \"a b", "n"],
    ),
    (
        Dialect::LarkSplits,
        "start: NAME? (one | other) \"}\"*\none: %json {\"type\":[\"object\",\"integer\"]}\nother: %json {\"type\":[\"object\",\"string\"],\"properties\":{\"foo\":{\"type\":\"string\"}}}\nNAME: /[a-z0-9]+/\n%ignore /[ \\n]+/",
        &["{\"foo", "{\"foo\": \"a", "12", "{\"ab\": 1} "],
    ),
    (
        Dialect::Ebnf,
        "root ::= TagDispatch((\"<t>\", t))\nt ::= [0-9]+ \"</t>\"",
        &["ab<t", "<t>1"],
    ),
    // What must not follow a lexeme, and lexemes that end at their first end.
    (
        Dialect::Lark,
        "start: (C | NAME | KEY | \"=\")+\nC: /<t>.*?<\\/t>/s\nKEY: /if\\b/\nNAME: /[A-Z1{][a-z]*/\n%ignore /[ \\n]+/\n",
        &["", "<t>a", "<t", "if", "if =i"],
    ),
    (
        Dialect::Lark,
        "start: (C | NAME | S)+\nC: /=(?![=\\]])/\nNAME: /[a-z]+/\nS: /\"(?!\"\")[^\"]*?(?<!\\\\)\"/\n%ignore /\\{(?!\\{)[^\\n]*\\n/\n%ignore \" \"\n",
        &["a=", "\"a", "a{", "a{\"", "a\"\""],
    ),
    // Text in which some characters lead elsewhere than most, from where all lead on.
    (
        Dialect::Lark,
        "start: (TEXT | S | \" \" | \"#\")+\nTEXT: /(?:[^#\\n a\"]|a(?!bc|qa))+/\nS: /\"(?:[^\"\\n\\\\]|\\\\[^\\n])*\"/\n",
        &["", "a", "ab", "1aq", "é", "\"", "\"\\", "a "],
    ),
    (
        Dialect::LarkSplits,
        "start: (S | NAME)+\nS: /\"(?:[^\"\\n\\\\]|\\\\[^\\n])*\"/\nNAME: /[a-z]+/\n",
        &["", "\"", "\"\\", "\"a", "a"],
    ),
    (
        Dialect::Gbnf,
        "root ::= (\"\\\"\" ([^\"\\\\\\n] | \"\\\\\" [^\\n])* \"\\\"\" | [a-z]+ \";\")+",
        &["", "\"", "\"\\", "\"a", "a"],
    ),
    (
        Dialect::Lark,
        "start: (TEXT \"\\n\" | KEY \";\")+\nTEXT: /[!-~é]([ -~é]*[!-~é])?/\nKEY: /[a-z]+/\n",
        &["", "a", "a ", "ab a"],
    ),
    (
        Dialect::Lark,
        "start: \"if\" \"\\n\"? \"foo\"?\n%ignore /{[^\\n]*(?=\\n)/",
        &["if", "if{", "if{a"],
    ),
    // Ignored text that goes as far as it can, though other lexemes are split.
    (
        Dialect::LarkSplits,
        "start: \"ab\" \"c\" NAME?\nNAME: /[a-z]+/\nC: \"{\" /[^\\n]*/\n%ignore C\n",
        &["", "ab", "abc{a"],
    ),
    (
        Dialect::LarkSplits,
        "start: (NAME | \"=\" | \"{\\\"\" | \"\\n}\")+\nNAME: /[a-zé]+/\n%ignore /{[^\\n]*/\n%ignore /[ \\n]+(\\}\\n)?/\n%ignore \" \"\n",
        &["a{b", "a{\n", "a \n", "{", "a "],
    ),
    (
        Dialect::LarkSplits,
        CODE,
        &["if (1) {\n}", "return ", "// if (\nfo", "a = \"ab"],
    ),
    (
        Dialect::Lark,
        "%llguidance {\"ignore_once\": true}\nstart: (NAME | NUMBER | \"(\" start \")\")+\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore / |\\n/\n%ignore /;[^\\n]*\\n/",
        &["a ", "a\n", "(1 b;c", "(a) "],
    ),
    (
        Dialect::Lark,
        "start: (A & ~B) \"!\"\nA: /[a-c]+/\nB: /a+/ | \"abc\"",
        &[],
    ),
];

#[test]
fn automata_keep_their_promises() {
    let vocabulary = vocabulary(&[]);
    for (dialect, text, beginnings) in CASES {
        let automaton = match Grammar::compile(text, *dialect, &Config::default()) {
            Ok(automaton) => automaton,
            // `&` is for terminals: the last case is refused by name.
            Err(error) if text.contains('&') => {
                assert!(error.to_string().contains("`&`"), "{error}");
                continue;
            }
            Err(error) => panic!("{text}: {error}"),
        };
        let effort = Effort {
            walks: 24,
            tokens: 14,
            seed: 3,
        };
        if let Err(difference) = check(&automaton, &vocabulary, beginnings, effort) {
            panic!("{dialect} {text}: {difference}");
        }
    }
}

#[test]
fn places_in_json_are_remembered() {
    let text = "start: (value \";\")*\nvalue: %json {\"type\":\"object\",\"properties\":{\"ab\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}},\"required\":[\"ab\"],\"additionalProperties\":false}";
    let automaton = Grammar::compile(text, Dialect::Lark, &Config::default()).unwrap();
    let vocabulary = vocabulary(&[]);
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Arc::new(Index::lazy(automaton, &vocabulary, &config).unwrap());
    let lead = || {
        let mut guide = Guide::new(Arc::clone(&index));
        for byte in "{\"ab\": [1, 23]};".bytes() {
            guide
                .write_mask(&mut MaskBuffer::new(vocabulary.width()))
                .unwrap();
            guide.advance(TokenId::new(u32::from(byte))).unwrap();
        }
        index.stats().rows_computed
    };
    let first = lead();
    assert!(first > 8, "{first}");
    assert_eq!(lead(), first);
}

/// A token may come if and only if tokens behind it complete a text, whichever bytes are missing.
#[test]
fn masks_are_of_texts_that_tokens_spell() {
    let effort = Effort {
        walks: 2,
        tokens: 5,
        seed: 5,
    };
    for (at, (dialect, text, beginnings)) in CASES.iter().enumerate() {
        let Ok(automaton) = Grammar::compile(text, *dialect, &Config::default()) else {
            continue;
        };
        let sets = [
            &b"\x04\xF1"[..],
            b"b",
            b"\xA9",
            b"if",
            b"=\x09",
            b"1<",
            b"\"r",
        ];
        for missing in [sets[at % sets.len()], sets[(at * 3 + 1) % sets.len()]] {
            let vocabulary = vocabulary(missing);
            let lazily = Index::lazy(automaton.clone(), &vocabulary, &IndexConfig::default());
            if let Err(error) = lazily {
                assert_eq!(error.kind(), ErrorKind::CannotSpell, "{text}: {error}");
                continue;
            }
            let done = check_spelling(&automaton, &vocabulary, beginnings, effort);
            done.unwrap_or_else(|e| panic!("{text} without {missing:?}: {e}"));
        }
    }
}

/// All bytes, and some texts of three letters, with signs before some.
fn many_texts() -> Vocabulary {
    let mut builder = VocabularyBuilder::new();
    let mut id = (0..).map(TokenId::new);
    for byte in 0..=255u8 {
        builder.text(id.next().unwrap(), [byte]).unwrap();
    }
    let letters = || b'a'..=b'z';
    for sign in ["", " ", "["] {
        for (a, b, c) in letters().flat_map(|a| {
            letters()
                .zip((b'a'..=b'z').cycle().skip(7))
                .map(move |(b, c)| (a, b, c))
        }) {
            for end in ["", "x", "ing", "]"] {
                let text = [sign.as_bytes(), &[a, b, c], end.as_bytes()].concat();
                builder.text(id.next().unwrap(), text).unwrap();
            }
        }
    }
    // Most behind few blanks, and some behind many.
    for length in 2..60 {
        let blanks = " ".repeat(length);
        let texts = letters().map(|letter| format!("{blanks}{}", char::from(letter)));
        let words =
            texts.flat_map(|text| ["", "x", "y", "z", "xy"].map(|end| format!("{text}{end}")));
        for text in words
            .take(if length < 12 { 130 } else { 3 })
            .chain([blanks.clone()])
        {
            builder.text(id.next().unwrap(), text).unwrap();
        }
    }
    builder.end(id.next().unwrap()).unwrap();
    builder.build().unwrap()
}

/// A lexeme that begins behind another one is followed by more of the tokens than are told by lexemes, because every split
/// counts; and the rests behind some of its ends lie in those behind others.
#[test]
fn lexemes_may_begin_at_most_places_in_tokens() {
    let vocabulary = many_texts();
    for (text, begun) in [
        (
            "root ::= \"x\" \" \" type\ntype ::= name | \"[\" type \"]\"\nname ::= [a-z]+",
            "x ab",
        ),
        (
            "root ::= \"x\" \" \" (name \"]\"? | \"[\" name name)\nname ::= [a-z]+",
            "x ab",
        ),
        ("root ::= (\"x\" | [a-z] [a-z ])+ \" \" [^ ]+", "x ab"),
        (
            "root ::= \"[\" ws (root (\",\" ws root)*)? ws \"]\" | \"x\"\nws ::= [ \\t\\n]{0,20}",
            "[ [  ",
        ),
    ] {
        let automaton = Grammar::compile(text, Dialect::Gbnf, &Config::default()).unwrap();
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Index::lazy(automaton.clone(), &vocabulary, &config).unwrap();
        let mut guide = Guide::new(Arc::new(index));
        for byte in begun.bytes() {
            guide.advance(TokenId::new(byte.into())).unwrap();
            let right = brute_force_mask(&automaton, guide.state(), &vocabulary);
            assert_eq!(guide.mask().unwrap(), &right, "{text} behind {byte}");
        }
    }
}

/// Most tokens are text that is counted: they are known by its class and their length, and not walked through.
#[test]
fn masks_of_counted_text_visit_few_nodes() {
    let vocabulary = many_texts();
    for (text, begun) in [
        (
            "root ::= \"say: \" [^\\n]{1,300} (\"\\n\" root)?",
            "say: up",
        ),
        (
            "root ::= \"S: \" item (\" \" item)* \"\\n\"\nitem ::= [A-Z] [^.\\n]{1,160} [.]",
            "S: Ab. Cd",
        ),
    ] {
        let automaton = Grammar::compile(text, Dialect::Gbnf, &Config::default()).unwrap();
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Arc::new(Index::lazy(automaton, &vocabulary, &config).unwrap());
        let mut guide = Guide::new(index.clone());
        for byte in begun.bytes() {
            guide.advance(TokenId::new(byte.into())).unwrap();
            guide.mask().unwrap();
        }
        let nodes = index.stats().nodes_visited;
        assert!(nodes < 10_000, "{text}: {nodes} nodes behind {begun:?}");
    }
}

/// Nothing is searched where each lexeme can be finished by other characters, if it also lets the
/// next one begin.
#[test]
fn grammars_do_without_characters() {
    let can = |dialect, text: &str, missing: &[u8]| {
        let automaton = Grammar::compile(text, dialect, &Config::default()).unwrap();
        automaton.can_do_without(vocabulary(missing).unspellable())
    };
    let control = b"\x04\x06\x13\x14\x16\x1D\xF1\xF2";
    assert!(can(Dialect::Gbnf, JSON, control));
    assert!(can(Dialect::Lark, CODE, control) && can(Dialect::LarkSplits, CODE, control));
    assert!(can(Dialect::Gbnf, JSON, b"~^\xE9") && !can(Dialect::Gbnf, JSON, b":"));
    assert!(!can(Dialect::Lark, CODE, b";"));
    // Behind `a+` the longest match takes each `a`: only `b` lets the next lexeme begin.
    let greedy = "start: A B\nA: /a+/\nB: /[ab]b*/";
    assert!(can(Dialect::Lark, greedy, b"c") && !can(Dialect::Lark, greedy, b"b"));
    assert!(can(Dialect::LarkSplits, greedy, b"b"));
}
