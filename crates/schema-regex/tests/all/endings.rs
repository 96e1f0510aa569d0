//! Texts of schemas with a token budget: they are complete in time, whatever tokens are drawn, and
//! nothing is refused that would have fitted.

use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, Fill, Growth, Guide, Index, IndexConfig, Landing, Nearer, TokenId, Vocabulary,
};
use schema_regex::Options;
use schema_regex::automaton::{SchemaAutomaton, State};
use serde_json::{Value, json};

/// Every byte, and pieces that open and close things.
fn vocabulary() -> Vocabulary {
    let pieces = [
        "\":", "\": ", "\":\"", "\",\"", "\", \"", "{\"", "\"}", "\"},\"", "\":{\"", "\":[",
        "\":{}", "\"\"", "{}", "[]", "[[", "[[[[", "]]", "}}", "},", "],", "1,", "12", "true",
        "null", "\\u00", "\\n", "\\\"", "ab", "abc", " word", " the", ". ", "name", "tags\":",
        "e\":\"", "[1,1", "},{", "\"],\"",
    ];
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let pieces = pieces.iter().map(|piece| piece.as_bytes().to_vec());
    let tokens: Vec<Vec<u8>> = bytes.chain(pieces).collect();
    let end = TokenId::new(tokens.len() as u32);
    let tokens = tokens.iter().zip(0..);
    Vocabulary::new(tokens.map(|(bytes, id)| (bytes, TokenId::new(id))), [end]).unwrap()
}

fn index(
    schema: &Value,
    vocabulary: &Vocabulary,
    search_nodes: u64,
) -> Arc<Index<SchemaAutomaton>> {
    let automaton = SchemaAutomaton::new(schema, &Options::default()).unwrap();
    let config = IndexConfig {
        fill: Fill::Lazy,
        search_nodes,
        ..IndexConfig::default()
    };
    Arc::new(Index::lazy(automaton, vocabulary, &config).unwrap())
}

fn schemas() -> Vec<Value> {
    vec![
        json!({}),
        json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}),
        json!({"type": "object", "properties": {"name": {"type": "string", "minLength": 5, "maxLength": 40},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}},
            "required": ["name", "tags"], "additionalProperties": false}),
        json!({"type": "array", "items": {"type": "object", "properties": {"first_name": {"type": "string"},
            "last_name": {"type": "string"}, "email": {"type": "string", "format": "email"}},
            "required": ["first_name", "last_name", "email"], "additionalProperties": false}, "minItems": 1}),
        json!({"$defs": {"comment": {"type": "object", "properties": {"text": {"type": "string"},
            "replies": {"type": "array", "items": {"$ref": "#/$defs/comment"}}}, "required": ["text", "replies"],
            "additionalProperties": false}}, "$ref": "#/$defs/comment"}),
        json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "long_required_name": {"enum": ["one value", "another value"]}},
                "required": ["kind", "long_required_name"]},
            {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}]}),
        json!({"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 3}),
        json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{6}$"}},
            "required": ["a"], "dependentRequired": {"b": ["c", "d"]}}),
        json!({"type": "array", "items": {"type": "integer", "minimum": 1000}, "uniqueItems": true, "minItems": 3}),
        json!({"type": "array", "prefixItems": [{"type": "string", "format": "date-time"}, {"type": ["null", "object"]}], "minItems": 2}),
        json!({"type": "array", "contains": {"const": "needle"}, "minContains": 2}),
    ]
}

/// Numbers that look random and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// A model that writes for ever would be cut; within a budget each text is whole.
#[test]
fn every_walk_is_complete_in_time() {
    let vocabulary = vocabulary();
    let end = vocabulary.ends()[0];
    let mut chance = Chance(11);
    for schema in schemas() {
        let index = index(&schema, &vocabulary, 0);
        let needed = Guide::new(index.clone()).tokens_needed().unwrap();
        let error = Guide::new(index.clone())
            .with_budget(needed - 1)
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("takes {needed} tokens")),
            "{error}"
        );
        for round in 0..60 {
            let landing = [Landing::Soft, Landing::Hard, Landing::Within(8)][round % 3];
            let budget = needed + chance.below(40);
            let guide = Guide::new(index.clone()).with_budget(budget).unwrap();
            let mut guide = guide.with_landing(landing);
            let mut text = Vec::new();
            while guide.tokens_left() > Some(0) {
                let allowed = guide.allowed_tokens().unwrap();
                assert!(
                    !allowed.is_empty(),
                    "{schema}: no token behind {:?}",
                    String::from_utf8_lossy(&text)
                );
                // The text's own end is rarely drawn, so that the budget is felt.
                let more: Vec<TokenId> = allowed
                    .iter()
                    .copied()
                    .filter(|token| *token != end)
                    .collect();
                if more.is_empty() || chance.below(40) == 0 && allowed.contains(&end) {
                    break;
                }
                // Pieces that open and close are drawn more often than single bytes.
                let long: Vec<TokenId> = more
                    .iter()
                    .copied()
                    .filter(|token| token.get() > 255)
                    .collect();
                let from = if long.is_empty() || chance.below(3) == 0 {
                    &more
                } else {
                    &long
                };
                let token = from[chance.below(from.len())];
                assert_eq!(
                    guide.validate(&[token]),
                    1,
                    "{schema}: {:?}",
                    String::from_utf8_lossy(&text)
                );
                guide.advance(token).unwrap();
                text.extend_from_slice(vocabulary.token_bytes(token).unwrap());
            }
            assert!(
                guide.is_accepting(),
                "{schema}: {budget} tokens: {}",
                String::from_utf8_lossy(&text)
            );
        }
    }
}

/// Whether a text can be completed in so many tokens: all paths are tried.
fn can_end(
    automaton: &SchemaAutomaton,
    state: &State,
    vocabulary: &Vocabulary,
    tokens: usize,
) -> bool {
    automaton.is_accepting(state)
        || tokens > 0
            && vocabulary.texts().any(|(_, bytes)| {
                let mut after = state.clone();
                let mut scratch = automaton.scratch();
                automaton.advance(&mut after, bytes, &mut scratch).is_ok()
                    && can_end(automaton, &after, vocabulary, tokens - 1)
            })
}

#[test]
fn what_fits_is_what_a_search_over_all_token_paths_says() {
    let tokens = [
        "{", "}", "\"", "a", "b", ":", ",", "[", "]", "0", "\":", "\"}", "{\"", ",\"", "[0", "],",
        "\"\"", "0]", "ab",
    ];
    let end = TokenId::new(tokens.len() as u32);
    let numbered = tokens
        .iter()
        .zip(0..)
        .map(|(text, id)| (text.as_bytes(), TokenId::new(id)));
    let vocabulary = Vocabulary::new(numbered, [end]).unwrap();
    let closed = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let schemas = [
        closed(
            json!({"a": {"enum": ["ab", "b"]}, "b": {"type": "array", "items": {"const": 0}, "maxItems": 2}}),
            json!(["a"]),
        ),
        closed(
            json!({"a": closed(json!({"b": {"const": 0}}), json!(["b"]))}),
            json!([]),
        ),
        json!({"type": "array", "items": {"enum": ["a", "ab", 0]}, "minItems": 1, "maxItems": 3}),
    ];
    let mut chance = Chance(5);
    let mut compared = 0;
    for schema in &schemas {
        let index = index(schema, &vocabulary, u64::MAX);
        let automaton = index.automaton().clone();
        for _ in 0..12 {
            let needed = Guide::new(index.clone()).tokens_needed().unwrap();
            let budget = needed + chance.below(4);
            let guide = Guide::new(index.clone()).with_budget(budget).unwrap();
            let mut guide = guide.with_landing(Landing::Hard);
            let mut free = Guide::new(index.clone());
            while guide.tokens_left() > Some(0) {
                let left = guide.tokens_left().unwrap();
                let allowed = guide.allowed_tokens().unwrap();
                if left <= 4 {
                    let ordinary = free.allowed_tokens().unwrap();
                    let fits = |token: &TokenId| {
                        *token == end || {
                            let mut after = free.state().clone();
                            let bytes = vocabulary.token_bytes(*token).unwrap();
                            let mut scratch = automaton.scratch();
                            automaton.advance(&mut after, bytes, &mut scratch).unwrap();
                            can_end(&automaton, &after, &vocabulary, left - 1)
                        }
                    };
                    let expected: Vec<TokenId> = ordinary.into_iter().filter(fits).collect();
                    assert_eq!(allowed, expected, "{schema} with {left} tokens left");
                    compared += 1;
                }
                let more: Vec<TokenId> =
                    allowed.into_iter().filter(|token| *token != end).collect();
                let Some(&token) = more.get(chance.below(more.len())) else {
                    break;
                };
                guide.advance(token).unwrap();
                free.advance(token).unwrap();
            }
            assert!(guide.is_accepting());
        }
    }
    assert!(compared > 50, "{compared} masks were compared");
}

/// Near its end a text begins nothing that it can do without, and no further word.
#[test]
fn a_text_lands_softly() {
    let vocabulary = vocabulary();
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}, "tags": {"type": "array",
        "items": {"type": "string"}}, "note": {"type": "string"}}, "required": ["title", "tags"], "additionalProperties": false});
    let index = index(&schema, &vocabulary, 0);
    let token = |text: &str| {
        let found = vocabulary
            .texts()
            .find(|(_, bytes)| *bytes == text.as_bytes());
        found.unwrap().0
    };
    let behind = |text: &[u8], left: usize, landing: Landing| {
        let mut guide = Guide::new(index.clone())
            .with_budget(4_000)
            .unwrap()
            .with_landing(landing);
        for &byte in text {
            guide.advance(TokenId::new(u32::from(byte))).unwrap();
        }
        guide.set_tokens_left(left);
        guide
    };
    let margin = Landing::Within(16);
    // A further word in mid-text: not within the margin, if the text may end.
    let mut guide = behind(b"{\"title\": \"A walk", 10, margin);
    let mask = guide.mask().unwrap();
    assert!(!mask.allows(token(" word")) && !mask.allows(token(" ")));
    assert!(mask.allows(token("ab")) && mask.allows(token("\"")) && mask.allows(token("\",\"")));
    assert!(
        behind(b"{\"title\": \"A walk", 60, margin)
            .mask()
            .unwrap()
            .allows(token(" word"))
    );
    assert!(
        behind(b"{\"title\": \"A walk", 20, Landing::Hard)
            .mask()
            .unwrap()
            .allows(token(" word"))
    );
    // In the first half of the margin a sentence is ended first.
    assert!(
        behind(b"{\"title\": \"A walk", 18, margin)
            .mask()
            .unwrap()
            .allows(token(" word"))
    );
    assert!(
        !behind(b"{\"title\": \"A walk.", 18, margin)
            .mask()
            .unwrap()
            .allows(token(" word"))
    );
    // No item, no further item and no member that is not required.
    let mut guide = behind(b"{\"title\": \"A\", \"tags\": [", 12, margin);
    let mask = guide.mask().unwrap();
    assert!(mask.allows(token("]")) && !mask.allows(token("\"")));
    let mut guide = behind(b"{\"title\": \"A\", \"tags\": [\"b\"", 12, margin);
    let mask = guide.mask().unwrap();
    assert!(mask.allows(token("]")) && !mask.allows(token(",")) && !mask.allows(token("],")));
    let mut guide = behind(b"{\"title\": \"A\", \"tags\": []", 12, margin);
    let mask = guide.mask().unwrap();
    assert!(mask.allows(token("}")) && !mask.allows(token(",")));
    // A member that is required is begun, of course.
    let mut guide = behind(b"{\"title\": \"A\"", 12, margin);
    assert!(guide.mask().unwrap().allows(token(",")));
}

/// The bytes to the end of a text, piece by piece, as a way counts them, and how many levels are open.
fn bytes_to_the_end(automaton: &SchemaAutomaton, state: &State) -> (usize, usize) {
    let mut scratch = automaton.scratch();
    let ending = automaton.parts().ending.unwrap();
    let mut at = automaton.enter(state, &mut scratch);
    let levels = ending.standing(at, &mut scratch).levels;
    let (mut bytes, mut more) = (Vec::new(), 0);
    loop {
        let before = bytes.len();
        match ending.nearer(at, &mut scratch, &mut bytes) {
            Nearer::End => return (bytes.len() + more, levels),
            Nearer::To(next) => at = next,
            Nearer::Like(next) => (at, more) = (next, more + bytes.len() - before + 1),
            Nearer::Unknown => {
                let mut whole = Vec::new();
                let completed = automaton.completion(state, 100_000, &mut whole);
                assert!(completed.is_some());
                return (whole.len(), levels);
            }
        }
    }
}

/// The everyday schemas, and those of MaskBench where they are.
fn everyday() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/answers");
    let read = |path: &std::path::Path| -> Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    let mut out: Vec<Value> = files
        .iter()
        .map(|path| read(path)["schema"].clone())
        .collect();
    match std::env::var("TOKENMOLD_DATA") {
        Ok(data) => {
            let cases = std::fs::read_to_string(format!("{data}/maskbench/dev.jsonl")).unwrap();
            let cases = cases.lines().filter(|line| line.len() < 6_000).step_by(9);
            out.extend(cases.map(|line| {
                let case: Value = serde_json::from_str(line).unwrap();
                case["schema"].clone()
            }));
        }
        Err(_) => eprintln!("TOKENMOLD_DATA is not set: the schemas of MaskBench are not tried"),
    }
    out
}

/// While a text has more tokens left than the bound, nothing is looked up: it must hold at every place.
#[test]
fn no_place_is_further_from_the_end_than_the_bound() {
    let vocabulary = vocabulary();
    let end = vocabulary.ends()[0];
    let mut chance = Chance(3);
    let (mut bounded, mut all, mut places) = (0, 0, 0);
    for schema in schemas().into_iter().chain(everyday()) {
        let options = Options::for_generation();
        let Ok(automaton) = SchemaAutomaton::new(&schema, &options) else {
            continue;
        };
        all += 1;
        let ending = automaton.parts().ending.unwrap();
        let (flat, level) = match ending.growth(&|text| text.len()) {
            Growth::AtMost(flat) => (flat, 0),
            Growth::ByLevel { flat, level, .. } => (flat, level),
            Growth::Unknown => continue,
        };
        bounded += 1;
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Arc::new(Index::lazy(automaton.clone(), &vocabulary, &config).unwrap());
        for _ in 0..6 {
            let mut guide = Guide::new(index.clone());
            let mut text = Vec::new();
            for _ in 0..60 {
                let (bytes, levels) = bytes_to_the_end(&automaton, guide.state());
                assert!(
                    bytes <= flat + levels * level,
                    "{bytes} bytes, {flat} + {levels} x {level}: {schema}: {}",
                    String::from_utf8_lossy(&text)
                );
                places += 1;
                let allowed = guide.allowed_tokens().unwrap();
                let more: Vec<TokenId> = allowed.into_iter().filter(|t| *t != end).collect();
                let long: Vec<TokenId> = more.iter().copied().filter(|t| t.get() > 255).collect();
                let from = if long.is_empty() || chance.below(3) == 0 {
                    &more
                } else {
                    &long
                };
                let Some(&token) = from.get(chance.below(from.len())) else {
                    break;
                };
                guide.advance(token).unwrap();
                text.extend_from_slice(vocabulary.token_bytes(token).unwrap());
            }
        }
    }
    eprintln!("{bounded} of {all} schemas have a bound; {places} places");
    assert!(bounded * 2 > all, "{bounded} of {all} schemas have a bound");
}
