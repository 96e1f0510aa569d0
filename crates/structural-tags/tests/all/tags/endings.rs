//! How far the end of a text is: the bound by which nothing is looked up far from it.

use fsm_index::{ByteAutomaton, Growth, TokenId, Vocabulary};
use response_parser::Family;
use serde_json::{Value, json};
use structural_tags::{Content, Count, ResponseFormat, Tag, TagAutomaton, Tags};

use super::formats::SPECIALS;
use super::{Chance, guide, vocabulary};

fn tools() -> [Value; 2] {
    let tool = |name: &str, parameters: Value| json!({"function": {"name": name, "parameters": parameters}});
    let comment = json!({
        "type": "object",
        "properties": {"by": {"type": "string", "minLength": 5}, "answers": {"type": "array", "items": {"$ref": "#/$defs/comment"}}},
        "required": ["by"],
        "additionalProperties": false
    });
    [
        tool(
            "book",
            json!({
                "type": "object",
                "properties": {
                    "mark": {"const": "a > b </tool_call> c"},
                    "when": {"type": "string", "format": "date-time"},
                    "nights": {"type": "array", "items": {"type": "integer"}, "minItems": 2}
                },
                "required": ["mark", "when", "nights"],
                "additionalProperties": false
            }),
        ),
        tool(
            "comment",
            json!({
                "type": "object",
                "properties": {"text": {"$ref": "#/$defs/comment"}},
                "required": ["text"],
                "additionalProperties": false,
                "$defs": {"comment": comment}
            }),
        ),
    ]
}

/// Walks at random, every third step along a shortest completion, and holds each place against the bound.
fn check(
    what: &str,
    automaton: &TagAutomaton,
    vocabulary: &Vocabulary,
    chance: &mut Chance,
) -> usize {
    let ending = automaton.parts().ending.unwrap();
    let growth = ending.growth(&|text| text.len());
    let Growth::ByLevel { flat, level, .. } = growth else {
        // Of the rest of their values, JSON of rules that open each other, there is no bound.
        assert!(["functiongemma", "gemma4"].contains(&what), "{what}");
        assert_eq!(growth, Growth::Unknown);
        return 0;
    };
    let mut places = 0;
    for _ in 0..10 {
        let mut guide = guide(automaton, vocabulary);
        for _ in 0..200 {
            let mut scratch = automaton.scratch();
            let at = automaton.enter(guide.state(), &mut scratch);
            let levels = ending.standing(at, &mut scratch).levels;
            let needed = guide.tokens_needed().unwrap();
            assert!(
                needed <= flat + levels * level,
                "{what}: {needed} tokens, {flat} + {levels} x {level}"
            );
            places += 1;
            let mut nearer = Vec::new();
            automaton.completion(guide.state(), 10_000, &mut nearer);
            let allowed = guide.allowed_tokens().unwrap();
            let nearer = nearer.first().map(|&byte| TokenId::new(byte.into()));
            let along = nearer.filter(|token| chance.below(3) == 0 && allowed.contains(token));
            let drawn = allowed.get(chance.below(allowed.len().max(1))).copied();
            let Some(token) = along.or(drawn) else { break };
            guide.advance(token).unwrap();
            if guide.has_ended() {
                break;
            }
        }
    }
    places
}

#[test]
fn no_place_is_further_from_the_end_than_the_bound() {
    let mut chance = Chance(5);
    let mut places = 0;
    let texts = ["\"}", "{\"", "</", "ll>", "\n<", ": [", "{[{["];
    for vocabulary in [vocabulary(&texts, &[]), vocabulary(&texts, &SPECIALS)] {
        for family in Family::all() {
            let format = ResponseFormat::named(family).unwrap();
            let format = format.with_tools(&tools()).unwrap();
            for count in [Count::ANY, Count::AT_LEAST_ONE] {
                let format = format.clone().with_calls(count);
                // Some families have no form for calls.
                if let Ok(automaton) = format.compile(&vocabulary) {
                    places += check(family.name(), &automaton, &vocabulary, &mut chance);
                }
            }
        }
        let schema = Content::schema(&tools()[0]["function"]["parameters"]).unwrap();
        let tags = Tags::new().with_tag(Tag::new("<function=book>", schema, "</function>"));
        let automaton = tags.compile(&vocabulary).unwrap();
        places += check("tags", &automaton, &vocabulary, &mut chance);
    }
    assert!(places > 20_000, "{places}");
}
