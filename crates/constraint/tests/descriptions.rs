//! Each kind of description compiles to what its own crate makes of it.

use std::sync::Arc;

use constraint::{Automaton, Constraint, Description, Error};
use fsm_index::{
    AfterEnd, AnyGuide, Budget, ByteAutomaton, Guide, Index, IndexConfig, Landing, TokenId,
    Vocabulary,
};
use grammar::{Dialect, Grammar};
use proptest::prelude::*;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{AdditionalMembers, Options, PropertyOrder, Whitespace};
use serde_json::{Value, json};
use structural_tags::StructuralTag;

const END: TokenId = TokenId::new(128);

/// ASCII, a few longer tokens, and an end.
fn vocabulary() -> Vocabulary {
    let bytes = (0..127u8).map(|byte| (vec![byte], TokenId::new(u32::from(byte))));
    let longer = ["\": ", "true", "ab", "[1", "{\"a\""].iter().zip(129..);
    let longer = longer.map(|(text, id)| (text.as_bytes().to_vec(), TokenId::new(id)));
    Vocabulary::new(bytes.chain(longer), [END]).unwrap()
}

fn described(description: Value) -> Result<Constraint, Error> {
    let description: Description = serde_json::from_value(description).unwrap();
    // What is written is what was read.
    let again = serde_json::from_value(serde_json::to_value(&description).unwrap());
    assert_eq!(description, again.unwrap());
    description
        .compile()?
        .index(&vocabulary(), &IndexConfig::default())
}

fn guided<A: ByteAutomaton + 'static>(automaton: A) -> Box<dyn AnyGuide> {
    let index = Index::lazy(automaton, &vocabulary(), &IndexConfig::default()).unwrap();
    Box::new(Guide::new(Arc::new(index)))
}

fn schema() -> (Value, SchemaAutomaton) {
    let schema = json!({"type": "object", "properties": {"a": {"type": ["boolean", "string"]}, "b": {"enum": [1, 12]}}, "required": ["a"]});
    let description = json!({
        "kind": "json_schema", "schema": schema.to_string(), "whitespace": "compact", "order": "any",
        "additional_members": "closed", "cap_length": 4, "max_depth": 64,
    });
    let mut options = Options::default()
        .with_whitespace(Whitespace::Compact)
        .with_property_order(PropertyOrder::Any)
        .with_additional_members(AdditionalMembers::Closed);
    options.caps.length = Some(4);
    options.max_depth = 64;
    let schema = schema_regex::parse(&schema).unwrap();
    (
        description,
        SchemaAutomaton::compile(schema, &options).unwrap(),
    )
}

/// A description with a guide that was made without it.
fn kinds() -> Vec<(Value, Box<dyn AnyGuide>)> {
    let (of_schema, automaton) = schema();
    let lark = "start: \"ab\"+ \"c\"?";
    let config = grammar::Config::default();
    let of_lark = Grammar::compile(lark, Dialect::Lark, &config).unwrap();
    let tag = json!({"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "content": {"type": "regex", "pattern": "[0-9]{2}"}, "end": "</a>"}});
    let of_tag = StructuralTag::from_json(&tag.to_string()).unwrap();
    let of_tag = of_tag.compile(&vocabulary()).unwrap();
    let regex = |pattern: &str| {
        let index = Index::new(pattern, &vocabulary()).unwrap();
        Box::new(Guide::new(Arc::new(index))) as Box<dyn AnyGuide>
    };
    vec![
        (of_schema, guided(automaton)),
        (
            json!({"kind": "regex", "pattern": "(ab|b)*"}),
            regex("(ab|b)*"),
        ),
        (
            json!({"kind": "choice", "texts": ["a.b", "true"]}),
            regex(r"a\.b|true"),
        ),
        (
            json!({"kind": "grammar", "text": lark, "dialect": "lark"}),
            guided(of_lark),
        ),
        (
            json!({"kind": "structural_tag", "tag": tag.to_string()}),
            guided(of_tag),
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A guide of a description and one of the automaton's own type answer alike, step by step.
    #[test]
    fn descriptions_are_what_their_crates_make(choices in prop::collection::vec(any::<prop::sample::Index>(), 12)) {
        for (description, mut own) in kinds() {
            let constraint = described(description).unwrap();
            let mut guide = constraint.guide();
            let mut text = Vec::new();
            for choice in &choices {
                prop_assert_eq!(guide.mask().unwrap(), own.mask().unwrap());
                prop_assert_eq!(guide.mask_within(&Budget::default()).unwrap().words(), own.mask().unwrap().words());
                prop_assert_eq!(guide.is_accepting(), own.is_accepting());
                prop_assert_eq!(guide.is_accepting(), constraint.is_match(&text));
                prop_assert_eq!(guide.is_finished(), own.is_finished());
                prop_assert_eq!(guide.completion().ok(), own.completion().ok());
                prop_assert_eq!(guide.forced_bytes(), own.forced_bytes());
                prop_assert_eq!(guide.allowed_bytes(), own.allowed_bytes());
                prop_assert_eq!(guide.tokens_needed(), own.tokens_needed());
                let allowed = guide.allowed_tokens().unwrap();
                let allowed: Vec<TokenId> = allowed.into_iter().filter(|token| *token != END).collect();
                if allowed.is_empty() {
                    break;
                }
                let token = *choice.get(&allowed);
                prop_assert_eq!(guide.validate(&[token]), 1);
                let mut fork = guide.fork();
                guide.advance(token).unwrap();
                own.advance(token).unwrap();
                fork.advance(token).unwrap();
                prop_assert_eq!(fork.mask().unwrap(), guide.mask().unwrap());
                text.extend_from_slice(constraint.vocabulary().token_bytes(token).unwrap());
                prop_assert_eq!((guide.len(), guide.is_empty()), (fork.len(), false));
            }
            let taken = guide.len();
            guide.rollback(taken).unwrap();
            prop_assert!(guide.is_empty() && !guide.has_ended());
        }
    }
}

#[test]
fn guides_without_a_type_keep_budgets_and_ends() {
    let constraint = described(json!({"kind": "regex", "pattern": "a*b"})).unwrap();
    let mut guide = constraint.guide();
    assert!(guide.set_budget(Some(0)).is_err());
    guide.set_budget(Some(1)).unwrap();
    guide.set_landing(Landing::Hard);
    assert_eq!(guide.tokens_left(), Some(1));
    assert_eq!(guide.allowed_tokens().unwrap().len(), 2, "`b` and `ab`");
    guide.set_tokens_left(2);
    assert_eq!(guide.allowed_tokens().unwrap().len(), 3);
    guide.set_end_tokens(&[]).unwrap();
    assert!(
        guide.set_end_tokens(&[TokenId::new(1)]).is_err(),
        "text ends no text"
    );
    guide.set_end_tokens(&[END]).unwrap();
    guide.set_after_end(AfterEnd::Ignore);
    for token in [TokenId::new(u32::from(b'b')), END, END] {
        guide.advance(token).unwrap();
    }
    assert!(guide.has_ended());
    assert_eq!(guide.completion_within(0), Some(Vec::new()));
    assert_eq!(guide.forced_tokens(&mut |_| Vec::new()), []);
    assert!(guide.place().is_some());
}

#[test]
fn a_constraint_tells_its_size_and_its_keywords() {
    let (description, automaton) = schema();
    let constraint = described(description).unwrap();
    assert_eq!(constraint.size().count, automaton.nodes());
    assert_eq!(constraint.size().unit, "nodes");
    assert_eq!(constraint.ledger(), automaton.ledger());
    assert_eq!(constraint.notices(), automaton.notices());
    assert!(constraint.memory(1_000) >= constraint.memory(0) + 1_000);
    assert!(constraint.grammar().is_none());
    let automaton = Automaton::from(automaton);
    assert!(!automaton.ledger().is_empty());
    assert!(automaton.content().unwrap().is_some());
    let grammar = described(json!({"kind": "grammar", "text": "a+", "dialect": "regex"})).unwrap();
    assert!(grammar.grammar().is_some() && grammar.ledger().is_empty());
    assert!(grammar.memory(0) == grammar.memory(1_000));
}

#[test]
fn a_grammar_has_its_limits_by_name() {
    let doubled = |options: Value| {
        let mut grammar = json!({"kind": "grammar", "dialect": "gbnf"});
        grammar["text"] = "root ::= s\ns ::= s \"ab\" s | [a-z]".into();
        for (name, most) in options.as_object().unwrap() {
            grammar[name] = most.clone();
        }
        described(grammar)
    };
    assert!(doubled(json!({})).is_ok());
    assert!(doubled(json!({"max_walk_work": null, "max_work": 1_000_000})).is_ok());
    for name in [
        "max_walk_work",
        "max_work",
        "max_parser_states",
        "max_text_bytes",
    ] {
        let error = doubled(json!({ name: 1 })).unwrap_err();
        assert!(matches!(error, Error::Grammar(_)), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_saved_index_is_a_constraint() {
    let folder = std::env::temp_dir().join(format!("constraint-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("index.bin");
    Index::new("(ab)+", &vocabulary())
        .unwrap()
        .save(&file)
        .unwrap();
    let constraint = Automaton::Saved(file.clone()).index(&vocabulary(), &IndexConfig::default());
    assert!(constraint.unwrap().is_match(b"abab"));
    std::fs::write(&file, "no index").unwrap();
    let refused = Automaton::Saved(file.clone()).index(&vocabulary(), &IndexConfig::default());
    let message = refused.unwrap_err().to_string();
    assert!(
        message.starts_with(&file.display().to_string()),
        "{message}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn errors_say_which_member_and_what_is_wrong() {
    let message = |description: Value| described(description).unwrap_err();
    let schema =
        |name: &str, value: Value| json!({"kind": "json_schema", "schema": "{}", name: value});
    for (description, said) in [
        (
            schema("order", json!("random")),
            r#"order is one of "declared", "any", not "random""#,
        ),
        (
            schema("formats", json!(3)),
            r#"formats is one of "assert", "annotate", "strict", not 3"#,
        ),
        (
            schema("max_steps", json!(-1)),
            "max_steps is a whole number, or None",
        ),
        (
            schema("cap_items", json!(1u64 << 40)),
            "cap_items is a whole number from 0 to 4294967295, or None",
        ),
        (
            schema("whitspace", json!("compact")),
            r#"a schema has no option "whitspace""#,
        ),
        (
            json!({"kind": "grammar", "text": "a", "dialect": "regex", "max_walk": 1}),
            r#"a grammar has no option "max_walk""#,
        ),
        (
            json!({"kind": "grammar", "text": "a", "dialect": "regex", "max_walk_work": "no"}),
            "max_walk_work is a whole number, or None",
        ),
        (
            json!({"kind": "response_format", "format": "hermes", "calls": "two"}),
            r#"calls is one of "any", "required", "one", "at_most_one", "none", not "two""#,
        ),
        (
            json!({"kind": "response_format", "format": "hermes", "beside": "all"}),
            r#"beside is one of "text", "nothing", not "all""#,
        ),
    ] {
        let error = message(description);
        assert!(matches!(error, Error::Option(_)), "{error:?}");
        assert_eq!(error.to_string(), said);
    }
    let error = message(json!({"kind": "response_format", "format": "hermos"}));
    assert!(
        error
            .to_string()
            .starts_with(r#""hermos" is none of the formats"#),
        "{error}"
    );
    let error = message(json!({"kind": "json_schema", "schema": r#"{"minimum": "x"}"#}));
    assert!(
        matches!(&error, Error::Schema(error) if error.pointer() == "/minimum"),
        "{error:?}"
    );
    let error = message(json!({"kind": "regex", "pattern": "("}));
    assert!(matches!(error, Error::Index(_)), "{error:?}");
    let error = message(json!({"kind": "grammar", "text": "a", "dialect": "abnf"}));
    assert!(matches!(error, Error::Grammar(_)), "{error:?}");
    let error = message(json!({"kind": "structural_tag", "tag": "{}"}));
    assert!(matches!(error, Error::Tags(_)), "{error:?}");
    // Members that are missing, and kinds that there are not.
    for damaged in [json!({"kind": "regex"}), json!({"kind": "rule"}), json!([])] {
        assert!(serde_json::from_value::<Description>(damaged).is_err());
    }
}
