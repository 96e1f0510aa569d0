//! Vocabularies that lack bytes: masks are of texts that tokens spell, and cost no more than those
//! of a vocabulary that has all bytes.

use std::path::PathBuf;
use std::sync::Arc;

use fsm_index::contract::{Effort, check_spelling};
use fsm_index::{
    ByteAutomaton, ErrorKind, Fill, Guide, Index, IndexConfig, TextRuns, TokenId, Vocabulary,
};
use grammar::Grammar;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, Whitespace};
use serde_json::{Value, json};

use super::tokens::{SPECIALS, TEXTS, begun, formats};
use super::{compile, vocabulary_without};

/// Bytes that SmolLM2's tokenizer has in no token, those aside that no UTF-8 has.
const CONTROL: &[u8] = b"\x04\x06\x13\x14\x16\x1D\xF1\xF2";

/// A token may come if and only if tokens behind it complete a text, whichever bytes are missing.
#[test]
fn masks_are_of_texts_that_tokens_spell() {
    let effort = Effort {
        walks: 2,
        tokens: 6,
        seed: 7,
    };
    let sets = [CONTROL, b"c", b"\xC3", b"<", b"x!", b"1\"", b"y\xA9", b"/f"];
    for (at, format) in formats().iter().enumerate() {
        for missing in [sets[0], sets[1 + at % 7], sets[1 + (at * 3 + 2) % 7]] {
            let vocabulary = vocabulary_without(missing, TEXTS, SPECIALS);
            let automaton = compile(format, &vocabulary);
            let lazily = Index::lazy(automaton.clone(), &vocabulary, &IndexConfig::default());
            if let Err(error) = lazily {
                assert_eq!(error.kind(), ErrorKind::CannotSpell, "{format}: {error}");
                continue;
            }
            let done = check_spelling(&automaton, &vocabulary, &begun(&automaton), effort);
            done.unwrap_or_else(|e| panic!("{format} without {missing:?}: {e}"));
        }
    }
}

/// A special token may not come where what it opens cannot be spelt.
#[test]
fn special_tokens_lead_on() {
    let format = json!({"type": "or", "elements": [
        {"type": "tag", "begin": "<|call|>", "content": {"type": "const_string", "value": "~"}, "end": ""},
        {"type": "tag", "begin": "<|end|>", "content": {"type": "const_string", "value": "a"}, "end": ""},
    ]});
    let vocabulary = vocabulary_without(b"~", &[], SPECIALS);
    let automaton = compile(&format, &vocabulary);
    check_spelling(&automaton, &vocabulary, &[], Effort::default()).unwrap();
    let index = Index::lazy(automaton, &vocabulary, &IndexConfig::default()).unwrap();
    let mut guide = Guide::new(Arc::new(index));
    let call = vocabulary.special("<|call|>").unwrap();
    assert!(!guide.mask().unwrap().allows(call));
    assert!(guide.advance(call).is_err());
    assert!(
        guide
            .advance(vocabulary.special("<|end|>").unwrap())
            .is_ok()
    );
}

/// Cuts a text by the longest tokens first.
fn spell(vocabulary: &Vocabulary, text: &str) -> Vec<TokenId> {
    let mut by_bytes = std::collections::HashMap::new();
    for (id, bytes) in vocabulary.texts() {
        by_bytes.entry(bytes).or_insert(id);
    }
    let mut rest = text.as_bytes();
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let mut lengths = (1..=rest.len().min(40)).rev();
        let length = lengths
            .find(|&n| by_bytes.contains_key(&rest[..n]))
            .unwrap();
        tokens.push(by_bytes[&rest[..length]]);
        rest = &rest[length..];
    }
    tokens
}

/// Nodes of tries that the masks of a text visit, for the first time and from then on.
fn nodes<A: ByteAutomaton>(automaton: A, vocabulary: &Vocabulary, text: &str) -> [u64; 2] {
    let config = IndexConfig {
        fill: Fill::Lazy,
        // Cuts that other threads make would come at some time or other.
        text_runs: TextRuns::Always,
        ..IndexConfig::default()
    };
    let index = Arc::new(Index::lazy(automaton, vocabulary, &config).unwrap());
    let tokens = spell(vocabulary, text);
    [(); 2].map(|()| {
        let before = index.stats().nodes_visited;
        let mut guide = Guide::new(index.clone());
        for &token in &tokens {
            assert!(guide.mask().unwrap().allows(token), "{text}");
            guide.advance(token).unwrap();
        }
        guide.mask().unwrap();
        index.stats().nodes_visited - before
    })
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}}
        },
        "required": ["name", "age"]
    })
}

const PERSON: &str = r#"{"name": "Ada Lovelace", "age": 36, "tags": ["countess", "math"]}"#;

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
statement: "return" expr ";" | NAME "=" expr ";"
?expr: expr "+" term | term
term: NAME | NUMBER | "(" expr ")" | STRING
NAME: /[a-z_][a-z0-9_]*/
NUMBER: /[0-9]+/
STRING: /"[^"\n]*"/
%ignore /[ \n]+/
"#;

/// Compares what masks visit under a vocabulary that lacks bytes with one that lacks none.
fn compare(name: &str, lacking: &Vocabulary, whole: &Vocabulary) {
    assert!(!lacking.missing_bytes().is_empty() && whole.missing_bytes().is_empty());
    let check = |what: &str, [cold, warm]: [u64; 2], [whole, _]: [u64; 2]| {
        eprintln!("{name}, {what}: {cold} nodes, {warm} again; {whole} with all bytes");
        assert_eq!(
            warm, 0,
            "{name}, {what}: a mask that was known is searched again"
        );
        assert!(
            cold <= whole + whole / 10 + 20,
            "{name}, {what}: masks visit {cold} nodes, and {whole} where no byte is missing"
        );
    };
    let pattern = |pattern: &str| Whitespace::Pattern(pattern.to_owned());
    let styles = [
        Whitespace::SingleSpace,
        Whitespace::Bounded(4),
        Whitespace::flexible(),
        pattern(r"[ \t\r\n]*"),
    ];
    for style in &styles {
        let options = Options::default().with_whitespace(style.clone());
        let [one, other] = [lacking, whole].map(|vocabulary| {
            let automaton = SchemaAutomaton::new(&person(), &options).unwrap();
            nodes(automaton, vocabulary, PERSON)
        });
        check(&format!("{style:?}"), one, other);
    }
    let grammars = [
        Grammar::from_gbnf(JSON).unwrap(),
        Grammar::from_lark(CODE).unwrap(),
    ];
    for (grammar, text) in grammars
        .iter()
        .zip([PERSON, "a = (b + 12);\nreturn \"é x\";"])
    {
        let [one, other] =
            [lacking, whole].map(|vocabulary| nodes(grammar.clone(), vocabulary, text));
        check("grammar", one, other);
    }
    let tag = json!({"type": "tag", "begin": "<function=person>", "end": "</function>",
        "content": {"type": "json_schema", "json_schema": person()}});
    let called = format!("I call <function=person>{PERSON}</function> now");
    let formats = [
        (
            json!({"type": "triggered_tags", "triggers": ["<function="], "tags": [tag]}),
            called,
        ),
        (
            json!({"type": "tag", "begin": "", "end": "é</t>", "content": {"type": "any_text"}}),
            "some text é</t>".to_owned(),
        ),
        (
            json!({"type": "regex", "pattern": "[^<]{1,40}<é>"}),
            "abc ü <é>".to_owned(),
        ),
    ];
    for (format, text) in &formats {
        let [one, other] =
            [lacking, whole].map(|vocabulary| nodes(compile(format, vocabulary), vocabulary, text));
        check(&format!("{}", format["type"]), one, other);
    }
}

/// Masks of vocabularies that lack bytes which nothing needs cost what others cost, and none is
/// searched twice.
#[test]
fn masks_visit_no_more_nodes_where_bytes_are_missing() {
    let texts = [
        "{\"",
        "\":",
        "\": ",
        "\", \"",
        "name",
        "age",
        "tags",
        "Ada",
        " Love",
        "lace",
        "ing",
        "the ",
        "é",
        "ü",
        "中",
        "\n  ",
        "  ",
        "12",
        "36",
        "\"]",
        "}\n",
        "<function",
        "</",
        ";\n",
        "return",
        "\x04",
        "\u{1D}\u{1D}",
        "a\u{13}b",
    ];
    let whole = vocabulary_without(&[], &texts, SPECIALS);
    compare("made up", &whole.without_bytes(CONTROL).unwrap(), &whole);
}

/// The same for real ones, where they are at hand.
#[test]
fn masks_of_real_vocabularies_visit_no_more_nodes_where_bytes_are_missing() {
    let read = |path: PathBuf| {
        let json = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Vocabulary::from_tokenizer_json(&json).unwrap()
    };
    match std::env::var_os("TOKENMOLD_DATA") {
        None => eprintln!("skipped: TOKENMOLD_DATA is not set, so no tokenizer is read"),
        Some(data) => {
            let folder = PathBuf::from(data).join("tokenizers/llama3_1");
            let whole = read(folder.join("tokenizer.json"));
            compare("llama3_1", &whole.without_bytes(CONTROL).unwrap(), &whole);
        }
    }
    match std::env::var_os("TOKENMOLD_HF_MODEL") {
        None => eprintln!("skipped: TOKENMOLD_HF_MODEL names no model's folder"),
        Some(folder) => {
            let lacking = read(PathBuf::from(folder).join("tokenizer.json"));
            match lacking.missing_bytes().is_empty() {
                true => eprintln!("skipped: the model's tokenizer lacks no byte"),
                false => compare("the model", &lacking, &lacking.with_all_bytes().unwrap()),
            }
        }
    }
}
