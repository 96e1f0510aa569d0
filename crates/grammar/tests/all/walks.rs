//! What a mask allows can be finished: walks of random allowed tokens, and their ends.

use std::sync::Arc;

use fsm_index::{Fill, Guide, Index, IndexConfig, TokenId, Vocabulary, VocabularyBuilder};
use grammar::{Config, Dialect, Grammar};

/// All bytes, some texts, and an end.
fn vocabulary() -> Vocabulary {
    let texts = [
        "  ", " a", "ab", "if", "ifx", "FROM", " FROM", " a CROSS", " CROSS", " JOIN", "JOIN b",
        "<f", "<f>", "</f>", "f>", "x<f", "12", "1+", "+1", "))", "(1", "{\"", "\":", "\"}", "{}",
        "é", "日本", "\n", "==", " --", "--x\n", "aaaa", "aab",
    ];
    let mut builder = VocabularyBuilder::new();
    let mut id = 0..;
    let mut next = || TokenId::new(id.next().unwrap());
    for byte in 0..=255u8 {
        builder.text(next(), [byte]).unwrap();
    }
    for text in texts {
        builder.text(next(), text).unwrap();
    }
    builder.end(next()).unwrap();
    builder.build().unwrap()
}

/// A two-word operator that one terminal may begin as well, names, and comments.
const JOINS: &str = r#"
start: "SELECT" NAME "FROM" item
item: NAME [["AS"] NAME] | item JOIN_EXPR item | item "CROSS" "JOIN" item | "(" start ")"
JOIN_EXPR: ("LEFT"? WS)? "JOIN"
NAME: /[a-z_][a-z0-9_]*/i
WS: /[ \n]+/
%ignore WS
%ignore /--[^\n]*/
"#;

const CALLS: &str = r#"
start: call* TEXT
call: head "=" ( /[0-9]+/ | %json {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false} ) "</f>"
head[lazy]: TEXT "<f>"
TEXT: /(.|\n)*/
"#;

/// Text of nearly any characters that ends as a comment does, beside lines that begin otherwise.
const RULES: &str = r#"
start: (NL | NAME ":" (NAME | "$" CALL)* NL recipe*)*
recipe: TAB (RTEXT | "$" CALL)* NL
CALL: /\([^()\n]*\)|[@<a-z]/
TAB: /\t/
RTEXT: /([^$\n\\@\t+-]|\\(?s:.))([^$\n\\]|\\(?s:.))*/
NAME: /[a-z]+/
NL: /[ ]*(#[^\n]*)?\n/
%ignore / +/
"#;

/// One mark behind which a string comes, or an expression in the same quotes.
const ATTRIBUTES: &str = r#"
start: "<" NAME (ATTR ["=" STRING] | DIRECTIVE "=" "\"" expr "\"")* ">"
expr: NAME | "{" [NAME ":" expr] "}"
NAME: /[a-zA-Z]+/
ATTR: /[a-z][a-z-]*/
DIRECTIVE: /(:|f-)[a-z][a-z.-]*/
STRING: /"[^"]*"/
%ignore /[ \n]+/
"#;

/// Two tags whose `>` means other things, by the name.
const TAGS: &str = r#"
start: (script | node)*
script: "<" "f" (_W ATTR)* ">" SCRIPT
node: TEXT | "<" NAME (_W ATTR ["=" "{" ID "}"])* ">" | "{" ID "}"
TEXT: /[^<{]+/
SCRIPT: /([^<]|<[^\/])*<\/f>/
NAME: /[a-z]+/ & ~/f/
ATTR: /[a-z]+/
ID: /[a-z]+/
_W: /[ \t\n]+/
"#;

/// Words of several parts, in which a substitution may stand.
const WORDS: &str = r#"
start: (word (" " word)* "\n")*
word: (BARE | SINGLE | "\"" (TEXT | sub)* "\"" | sub)+
sub: "$(" word ")"
SINGLE: /'[^']*'/
BARE: /[a-z]+/
TEXT: /[^"$]+/
"#;

/// Names that commas part, in expressions and before free text.
const COMMANDS: &str = r#"
start: ("if" [expr] "\n" | "aab" NAME ("," NAME)* GLOB REST "\n" | NAME _S "-" _S NAME "\n" | "ab" _S LABEL "\n")*
expr: NAME | "[" [expr ("," expr)*] "]"
NAME: /[A-Za-z]+/
REST: /[^\s|][^\n|]*/
GLOB: /[^\s|]+/
LABEL: /[^\n]+/
_S: /[ \t]+/
"#;

/// One text in a list, and before a mark that it takes as well; and text that may be the first half of a mark.
const LINES: &str = r##"
start: ("1 " TEXT "\n" | "  <f" TEXT ":" "\n" | "{" node* "}")+
node: PART | "{#" node* "#}"
TEXT: /[^\s{}][^\n]*/
PART: /[^{}#]+|\{/
"##;

/// The same texts in headers and behind them, where other lines begin.
const HEADERS: &str = r#"
start: header+ "\n" body
header: "a: " ID "\n" | "b: " REST "\n" | "c: " ID "\n" | "d: " ID "\n"
body: ("> " REST "\n" | LINE "\n")*
ID: /[a-z]+/
REST: /[^\n]+/
LINE: /[^\n>o-][^\n]*/
"#;

/// A name and what is said, or two lines that may be the same.
const SPEECHES: &str = r#"
start: (NAME "\n" (SPOKEN | NOTE)+ "\n\n" | FIRST "\n" FIRST "\n\n")+
NAME: /[A-Z][A-Z0-9]*/
SPOKEN: /[^\n\[]+/
NOTE: /\[[^\]]*\]/
FIRST: /[A-Z]?[a-z0-9][^\n]*/
"#;

const GRAMMARS: &[(Dialect, &str)] = &[
    (Dialect::Lark, LINES),
    (Dialect::Lark, HEADERS),
    (Dialect::Lark, SPEECHES),
    (Dialect::Lark, RULES),
    (Dialect::Lark, ATTRIBUTES),
    (Dialect::Lark, TAGS),
    (Dialect::Lark, WORDS),
    (Dialect::Lark, COMMANDS),
    (Dialect::Lark, JOINS),
    (Dialect::LarkSplits, JOINS),
    (Dialect::Lark, CALLS),
    (Dialect::LarkAscii, CALLS),
    // The longest match can leave nothing for what must come.
    (
        Dialect::Lark,
        "start: A B | C\nA: /a+/\nB: /ab?/\nC: /a+c/ | /aaab/",
    ),
    (
        Dialect::Lark,
        "start: (A | \"(\" start \")\" \"if\" A)+ \"!\"\nA: /[a-z]+/\n%ignore / +/",
    ),
    (
        Dialect::Gbnf,
        "root ::= root \"+\" root | \"(\" root \")\" | [0-9]+ | \"if\" root",
    ),
    (
        Dialect::Ebnf,
        "root ::= (\"a\" | \"b\" x){2,3000} \"c\"\nx ::= \"(\" x \")\" | \"1\"",
    ),
];

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % most
    }
}

#[test]
fn walks_of_allowed_tokens_can_be_completed() {
    let vocabulary = vocabulary();
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    for (number, &(dialect, text)) in GRAMMARS.iter().enumerate() {
        let automaton = Grammar::compile(text, dialect, &Config::default())
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        let index = Arc::new(Index::lazy(automaton.clone(), &vocabulary, &config).unwrap());
        for walk in 1..=60u64 {
            let mut random = Random(walk * 1_000_003 + number as u64);
            let mut guide = Guide::new(index.clone());
            let mut said: Vec<u8> = Vec::new();
            for _ in 0..random.below(40) {
                let mut allowed = guide.allowed_tokens().unwrap();
                allowed.retain(|&token| vocabulary.token_bytes(token).is_some());
                if allowed.is_empty() {
                    break;
                }
                let token = allowed[random.below(allowed.len())];
                guide.advance(token).unwrap();
                said.extend(vocabulary.token_bytes(token).unwrap());
            }
            let end = guide
                .completion()
                .unwrap_or_else(|error| panic!("{text}: {said:?}: {error}"));
            said.extend(end);
            assert!(
                automaton.accepts(&said),
                "{text}: {:?}",
                String::from_utf8_lossy(&said)
            );
        }
    }
}

#[test]
fn rules_that_need_nothing_but_themselves_end() {
    let compile = |text: &str| Grammar::compile(text, Dialect::Lark, &Config::default());
    for text in ["start: start?", "start: a\na: b*\nb: a | start"] {
        let automaton = compile(text).unwrap();
        assert!(automaton.accepts("") && !automaton.accepts("a"), "{text}");
    }
    for text in [
        "start: start",
        "start: a \"x\"\na: b\nb: a",
        "start: \"a\" start",
    ] {
        let error = compile(text).unwrap_err();
        assert_eq!(error.kind(), grammar::ErrorKind::EmptyLanguage, "{text}");
    }
}
