//! Completions end, and cost no more than they may.

use fsm_index::ByteAutomaton as _;
use schema_normal::options::Options;
use serde_json::{Value, json};

use crate::automaton::SchemaAutomaton;
use crate::automaton::run::allowance::{Allowance, MAX_SEARCHED};
use crate::automaton::run::completion::finish::{self, Finisher};
use crate::automaton::run::completion::shortest;
use crate::automaton::run::config::Config;
use crate::automaton::run::{step, text_runs};

/// The completion from the start that compares at most so many bytes, whether
/// it is finished, and how many it compared.
fn completion(schema: &Value, may_compare: u64) -> (String, bool, u64) {
    completion_within(schema, may_compare, MAX_SEARCHED)
}

/// The same within so many states.
fn completion_within(schema: &Value, may_compare: u64, may_search: u64) -> (String, bool, u64) {
    let automaton = SchemaAutomaton::new(schema, &Options::default()).unwrap();
    let mut x = automaton.scratch();
    *x.allowance() = Allowance::of(may_compare, may_search);
    let mut out = Vec::new();
    let is_finished =
        Finisher::new(&automaton.machine, &mut x, &mut out).finish(Config::first(), 1 << 20);
    assert_eq!(is_finished, automaton.is_match(&out));
    let compared = may_compare - x.allowance().left_to_compare();
    (String::from_utf8(out).unwrap(), is_finished, compared)
}

#[test]
fn completions_compare_no_more_than_they_may() {
    let schema = json!({"type": "array", "uniqueItems": true, "minItems": 12});
    let (_, is_finished, compared) = completion(&schema, 1 << 28);
    assert!(is_finished);
    let (_, is_finished, _) = completion(&schema, compared / 2);
    assert!(!is_finished);
}

/// A string of a million characters was searched for one by one, and one of more than
/// four million ended in its middle.
#[test]
fn long_strings_are_written_at_once_or_refused_at_once() {
    for schema in [
        json!({"minLength": 900_000, "type": "string"}),
        json!({"minLength": 900_000, "type": "string", "pattern": "^x(a|é)*z$"}),
        json!({"anyOf": [{"minLength": 900_000, "type": "string"}, {"const": {"a": 1}}]}),
    ] {
        let (text, is_finished, _) = completion(&schema, 1 << 20);
        assert!(is_finished && text.len() > 10, "{}", text.len());
    }
    let schema = json!({"minLength": 2_000_000, "type": "string"});
    let (_, is_finished, _) = completion(&schema, 1 << 20);
    assert!(!is_finished);
}

/// They took half a minute, or all memory.
#[test]
fn completions_search_no_more_than_they_may() {
    let (_, is_finished, _) =
        completion(&json!({"minProperties": 1_000, "type": "object"}), 1 << 28);
    assert!(is_finished);
    let (_, is_finished, _) =
        completion(&json!({"type": "object", "minProperties": 50_000}), 1 << 28);
    assert!(!is_finished);
    let many = json!({"type": "array", "uniqueItems": true, "minItems": 50_000});
    let (_, is_finished, _) = completion(&many, 1 << 28);
    assert!(!is_finished);
}

/// A million items that count took more than a second before they were refused, and a
/// name of three million characters before it was written.
#[test]
fn steps_and_known_texts_are_charged() {
    let items =
        |n: u32| json!({"type": "array", "contains": {"type": "integer"}, "minContains": n});
    assert!(completion_within(&items(500), 1 << 20, 1_000).1);
    assert!(!completion_within(&items(5_000), 1 << 20, 1_000).1);
    let name = |n: usize| json!({"type": "object", "required": ["k".repeat(n)]});
    assert!(completion_within(&name(900_000), 1 << 20, 20_000).1);
    assert!(!completion_within(&name(900_000), 1 << 20, 1_000).1);
}

#[test]
fn detours_go_on_from_where_the_last_one_was() {
    // The plain way of each item but the first leads to the first again.
    let object = |a: Value| {
        json!({
            "type": "object",
            "properties": {"a": a},
            "required": ["a"],
            "additionalProperties": false,
        })
    };
    let (one, text) = (json!({"const": 1}), json!({"type": "string"}));
    let item = json!({"anyOf": [object(one), object(text)]});
    let schema = json!({"type": "array", "items": item, "uniqueItems": true, "minItems": 20});
    let (text, is_finished, compared) = completion(&schema, 1 << 28);
    assert!(is_finished, "{text}");
    // Each time from the start it would be half as much again.
    assert!(compared < 500_000, "{compared}");
}

#[test]
fn a_number_is_made_another_one_by_digits() {
    let schema = json!({"type": "array", "uniqueItems": true, "minItems": 12});
    let (text, _, compared) = completion(&schema, 1 << 28);
    assert!(compared < 1_000_000, "{text}: {compared}");
}

#[test]
fn numbers_that_must_differ_are_counted() {
    let schema = |least: u32, item: Value| json!({"type": "array", "uniqueItems": true, "minItems": least, "items": item});
    let (text, is_finished, compared) = completion(&schema(40, json!({})), 1 << 28);
    assert!(is_finished && compared < 100_000, "{text}: {compared}");
    for (item, wanted) in [
        (
            json!({"type": "integer", "maximum": 2, "minimum": -1}),
            "[0,1,2,-1]",
        ),
        (json!({"enum": [7, 3, 4, "a"]}), "[3,4,7,\"a\"]"),
    ] {
        let (text, is_finished, _) = completion(&schema(4, item), 1 << 20);
        assert!(is_finished);
        assert_eq!(text, wanted);
    }
}

#[test]
fn a_value_begins_with_what_leads_to_another_item() {
    let schema = json!({
        "type": "array",
        "contains": {"type": "integer"},
        "minContains": 3,
        "uniqueItems": true,
    });
    let (text, is_finished, _) = completion(&schema, 1 << 20);
    assert!(is_finished);
    assert_eq!(text, "[0,1,2]");
}

/// A search through all automata at once, which took seconds for the masks of a text with a token
/// budget, is the oracle.
#[test]
fn numbers_end_as_a_search_through_all_automata_says() {
    let of = |n: u32| json!({"multipleOf": n});
    let schemas = [
        json!({"type": "number", "allOf": [
            {"oneOf": [of(33), of(12), of(77)]},
            {"oneOf": [{"allOf": [{"not": of(6)}, {"not": of(7)}]}, of(44)]},
            {"oneOf": [{"not": of(11)}, of(13)]},
            {"not": of(8)}]}),
        json!({"type": "number", "oneOf": [of(3), of(5), {"minimum": 100}, {"enum": [7, 0.25]}]}),
        json!({"type": "integer", "anyOf": [of(17), of(1_000), {"maximum": -300}]}),
        json!({"type": "number"}),
    ];
    let bytes = b"0123456789.-eE+";
    for schema in schemas {
        let automaton = SchemaAutomaton::new(&schema, &Options::default()).unwrap();
        let mut x = automaton.scratch();
        let begun = [
            "-", "0", "1", "12", "7", "-45", "1.", "0.2", "99", "123456", "5e", "43e-",
        ];
        for text in begun {
            let Ok(config) =
                text_runs::read_on(&automaton.machine, Config::first(), text.as_bytes(), &mut x)
            else {
                continue;
            };
            let mut met = std::collections::HashSet::from([config]);
            let mut queue = std::collections::VecDeque::from([(config, Vec::new())]);
            let nearest = loop {
                let (at, text) = queue.pop_front().expect("it can be finished");
                if finish::has_ended(&automaton.machine, &at, &mut x) {
                    break text;
                }
                for byte in bytes {
                    if let Some(next) = step::next(&automaton.machine, at, *byte, &mut x)
                        && met.insert(next)
                    {
                        queue.push_back((next, [&text[..], &[*byte]].concat()));
                    }
                }
            };
            let found = shortest::shortest_number(&automaton.machine, config, &mut x);
            assert_eq!(found, Some(nearest), "{schema} behind {text}");
        }
    }
}
