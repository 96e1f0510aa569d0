//! Objects of many names, of which the automaton asks for all at once: against brute force
//! over the few that have values. The many others make the object long and may never come.

use fsm_index::ByteAutomaton;
use proptest::prelude::*;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, PropertyOrder, Whitespace, parse};
use serde_json::{Map, Value, json};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// What is asked of an object: by name, as numbers, so that a failure shrinks.
#[derive(Clone, Debug)]
struct Asked {
    required: Vec<usize>,
    implied: Vec<(usize, Vec<usize>)>,
    min: usize,
    max: Option<usize>,
    /// Some member has a value other than 1.
    other: bool,
    further: bool,
    /// Where among the names without values the few stand.
    place: usize,
    /// A second alternative, which asks for one name and a number of members.
    or: Option<(usize, usize)>,
}

fn asked() -> impl Strategy<Value = Asked> {
    let name = || 0..NAMES.len();
    (
        prop::collection::vec(name(), 0..3),
        prop::collection::vec((name(), prop::collection::vec(name(), 1..3)), 0..5),
        0..5usize,
        prop::option::of(1..6usize),
        any::<bool>(),
        any::<bool>(),
        0..50usize,
        prop::option::of((name(), 0..4usize)),
    )
        .prop_map(
            |(required, implied, min, max, other, further, place, or)| Asked {
                required,
                implied,
                min,
                max,
                other,
                further,
                place,
                or,
            },
        )
}

fn schema(asked: &Asked) -> Value {
    let mut properties = Map::new();
    let few = || {
        NAMES
            .iter()
            .map(|name| ((*name).to_owned(), json!({"enum": [1, 2]})))
    };
    for n in 0..50 {
        if n == asked.place {
            properties.extend(few());
        }
        properties.insert(format!("n{n}"), json!(false));
    }
    let names = |list: &[usize]| list.iter().map(|n| NAMES[*n]).collect::<Vec<_>>();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "required": names(&asked.required),
        "minProperties": asked.min,
        "additionalProperties": asked.further.then(|| json!({"const": 1})).unwrap_or(json!(false)),
    });
    for (name, needed) in &asked.implied {
        schema["dependentRequired"][NAMES[*name]] = json!(names(needed));
    }
    if let Some(max) = asked.max {
        schema["maxProperties"] = json!(max);
    }
    if asked.other {
        let ones: Map<String, Value> = few().map(|(name, _)| (name, json!({"const": 1}))).collect();
        schema["not"] = json!({"properties": ones});
    }
    match asked.or {
        None => schema,
        Some((name, least)) => json!({"anyOf": [schema, {
            "type": "object", "properties": schema["properties"], "additionalProperties": false,
            "required": [NAMES[name]], "minProperties": least,
        }]}),
    }
}

/// All objects of the few names, and of some further ones where these may come.
fn objects(further: bool) -> Vec<Vec<(String, u32)>> {
    let mut all: Vec<Vec<(String, u32)>> = vec![Vec::new()];
    for name in NAMES {
        let more: Vec<_> = all
            .iter()
            .flat_map(|object| {
                [1, 2].map(|value| {
                    let mut more = object.clone();
                    more.push((name.to_owned(), value));
                    more
                })
            })
            .collect();
        all.extend(more);
    }
    if further {
        // As many as any of the bounds asks for.
        let more: Vec<_> = all
            .iter()
            .flat_map(|object| {
                (1..5).map(|n| {
                    let mut more = object.clone();
                    more.extend((0..n).map(|n| (format!("x{n}"), 1)));
                    more
                })
            })
            .collect();
        all.extend(more);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// An object that was begun can go on if and only if one that is valid begins so.
    /// Asking for each of 3,000 names alone took half a second a mask.
    #[test]
    fn a_name_may_come_if_the_object_can_be_finished(asked in asked(), any_order: bool) {
        let schema = schema(&asked);
        let order = if any_order { PropertyOrder::Any } else { PropertyOrder::Schema };
        let options = Options::default().with_property_order(order).with_whitespace(Whitespace::Compact);
        let parsed = parse(&schema).unwrap();
        let all = objects(asked.further);
        let is_valid = |object: &[(String, u32)]| {
            let object: Map<String, Value> =
                object.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            parsed.is_valid(&Value::Object(object), &options).unwrap()
        };
        let valid: Vec<_> = all.iter().filter(|object| is_valid(object)).collect();
        let automaton = match SchemaAutomaton::new(&schema, &options) {
            Ok(automaton) => automaton,
            Err(error) => {
                prop_assert!(valid.is_empty(), "{error}: {schema}");
                return Ok(());
            }
        };
        for begun in &all {
            let goes_on = valid.iter().any(|whole| match any_order {
                true => begun.iter().all(|member| whole.contains(member)),
                false => whole.starts_with(begun),
            });
            let mut members: Vec<String> =
                begun.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
            if any_order {
                // Any order will do: this one is not the schema's.
                members.reverse();
            }
            let text = format!("{{{}", members.join(","));
            let mut state = automaton.start();
            let taken = automaton.advance(&mut state, text.as_bytes(), &mut automaton.scratch());
            prop_assert_eq!(taken.is_ok(), goes_on, "{}: {}", text, schema);
            let ended = taken.is_ok()
                && automaton.advance(&mut state, b"}", &mut automaton.scratch()).is_ok();
            prop_assert_eq!(ended, is_valid(begun), "{}}}: {}", text, schema);
        }
    }
}
