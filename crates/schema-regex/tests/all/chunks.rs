//! Text is committed in whatever chunks it comes: what `advance` reads at once must be what
//! a walk reads byte by byte.

use std::cell::Cell;

use fsm_index::{ByteAutomaton as _, Cursor, Leaf as _, Overlay as _};
use proptest::prelude::*;
use schema_regex::automaton::{SchemaAutomaton, State};
use schema_regex::{Options, PropertyOrder, Whitespace};
use serde_json::{Value, json};

use crate::common::schemas::{self, Chance};

/// Tells whether a token can be refused because of what was said before.
fn is_suspect(automaton: &SchemaAutomaton, state: &State, token: &[u8]) -> bool {
    let mut is_suspect = false;
    automaton.exceptions(state, &mut |_, can_be_refused| {
        is_suspect |= can_be_refused(token);
    });
    is_suspect
}

/// What texts are put together from.
const PIECES: &[&str] = &[
    "\"",
    "\"",
    "\"",
    "\":",
    "\": \"",
    "\",\"",
    "\", \"",
    "{",
    "{\"",
    "}",
    "},",
    "}, \"",
    "[",
    "[\"",
    "]",
    "],",
    ",",
    ", ",
    ":",
    ": ",
    " ",
    "\n",
    "a",
    "b",
    "ab",
    "abc",
    "name",
    "names",
    "na",
    "me",
    "kind",
    "x-",
    "x-é",
    "é",
    "éa",
    "😀",
    "1",
    "12",
    "-1",
    "0.5",
    "1,2",
    "true",
    "false",
    "null",
    "\\n",
    "\\u0061",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\\"",
    "2023-02-28",
    "\u{7F}",
    "日本語",
    "\t",
];

/// Bytes that are tried behind each chunk.
const TRIED: &[u8] = b"\"\\ab,}]:1ntx- \xC3\xA9\xF0\x1F";

fn schemas() -> Vec<Value> {
    let long: Vec<String> = (0..70).map(|n| format!("name{n}")).collect();
    let long = long.iter().map(|name| (name.clone(), json!({})));
    let long = Value::Object(long.collect());
    vec![
        json!({}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "array", "items": {"type": "string", "minLength": 2, "maxLength": 5}}),
        json!({"type": "array", "items": {"type": "string", "pattern": "^[a-zé]+(-é+)?$", "maxLength": 6}}),
        json!({"type": "array", "items": {"enum": ["a", "ab", "abc", "name", "éa", "😀😀", ""]}}),
        json!({"type": "array", "items": {"type": "string", "not": {"enum": ["ab", "é"]}, "maxLength": 2}}),
        json!({"type": "array", "items": {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}, {"const": "name"}]}}),
        json!({"type": "object", "properties": {"name": {"type": "string"}, "names": {"type": "array"}, "na": {"type": "null"}, "éa": {}, "é": {}}, "additionalProperties": false}),
        json!({"type": "object", "properties": {"name": {"type": "string"}, "names": {"type": "array"}, "na": {}}, "required": ["na"]}),
        json!({"type": "object", "properties": {"ab": {"type": "integer"}}, "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "properties": {"x-é": {"type": "integer"}, "a": {}}, "additionalProperties": false}),
        json!({"type": "object", "propertyNames": {"enum": ["a", "b", "ab"]}, "minProperties": 2}),
        json!({"type": "object", "propertyNames": {"maxLength": 2, "pattern": "^[ab]"}}),
        json!({"type": "object", "properties": long, "additionalProperties": {"type": "null"}}),
        json!({"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"],
            "anyOf": [{"properties": {"kind": {"const": "a"}, "x-": {"type": "integer"}}, "required": ["x-"]}, {"properties": {"kind": {"const": "b"}, "name": {"type": "string"}}}]}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#"}, "name": {"type": "array", "items": {"$ref": "#"}}}, "additionalProperties": false,
            "dependentRequired": {"a": ["name"]}}),
        json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
        json!({"type": "array", "uniqueItems": true, "items": {"type": "object", "additionalProperties": {"type": "integer"}}}),
    ]
}

/// A text of pieces, of which most may come, byte by byte: where each of its bytes leads to.
fn text(automaton: &SchemaAutomaton, c: &mut Chance) -> (Vec<u8>, Vec<Cursor>) {
    let mut x = automaton.scratch();
    let mut at = automaton.enter(&automaton.start(), &mut x);
    let mut text = Vec::new();
    let mut cursors = Vec::new();
    for _ in 0..c.next(60) {
        for attempt in 0..30 {
            let piece = PIECES[c.next(PIECES.len())].as_bytes();
            let mut steps = Vec::new();
            let mut to = at;
            for byte in piece {
                to = automaton.step(to, *byte, &mut x);
                steps.push(to);
            }
            if !to.is_dead() || (attempt == 0 && c.next(40) == 0) {
                text.extend_from_slice(piece);
                cursors.append(&mut steps);
                at = to;
                break;
            }
        }
        if at.is_dead() {
            break;
        }
    }
    (text, cursors)
}

/// Commits a text in chunks of any size, now and then with another scratch.
fn compare(schema: &Value, automaton: &SchemaAutomaton, c: &mut Chance) -> usize {
    let (text, cursors) = text(automaton, c);
    let shown = || format!("{schema}: {}", String::from_utf8_lossy(&text));
    // A walk of its own, whose cursors stay what they are.
    let mut walk = automaton.scratch();
    let mut at = automaton.enter(&automaton.start(), &mut walk);
    let mut x = automaton.scratch();
    let mut state = automaton.start();
    let mut done = 0;
    while done < text.len() {
        let size = 1 + c.next(12).min(text.len() - done - 1);
        let chunk = &text[done..done + size];
        let dead = cursors[done..done + size]
            .iter()
            .position(|cursor| cursor.is_dead());
        if c.next(6) == 0 {
            x = automaton.scratch();
        }
        let before = state.clone();
        let found = automaton.advance(&mut state, chunk, &mut x);
        assert_eq!(found.err(), dead, "{} at {done}, {size} bytes", shown());
        if dead.is_some() {
            break;
        }
        for byte in chunk {
            at = automaton.step(at, *byte, &mut walk);
        }
        let ends = automaton.ends_at_cursor(at, &mut walk);
        assert_eq!(
            automaton.is_accepting(&state),
            ends,
            "{} at {done}",
            shown()
        );
        for byte in TRIED {
            let goes_on = automaton.advance(&mut state.clone(), &[*byte], &mut x);
            let expected = !automaton.step(at, *byte, &mut walk).is_dead();
            let what = char::from(*byte);
            assert_eq!(goes_on.is_ok(), expected, "{} at {done}, {what:?}", shown());
        }
        // What may be told of the state by another scratch is told by this one.
        let mut other = automaton.scratch();
        let mut again = before.clone();
        automaton.advance(&mut again, chunk, &mut other).unwrap();
        assert_eq!(automaton.location(&again), automaton.location(&state));
        for token in [
            &b"\":1,\"ab\""[..],
            b"\":1,\"name\":",
            b"\"",
            b"e\":0,\"name\"",
            b"\\",
        ] {
            let suspect = is_suspect(automaton, &state, token);
            assert_eq!(is_suspect(automaton, &again, token), suspect, "{}", shown());
        }
        done += size;
    }
    done
}

fn options() -> [Options; 2] {
    [
        Options::default(),
        Options::default()
            .with_property_order(PropertyOrder::Any)
            .with_whitespace(Whitespace::Bounded(2)),
    ]
}

#[test]
fn chunks_are_read_as_their_bytes() {
    let mut read = 0;
    for (n, schema) in schemas().iter().enumerate() {
        for options in &options() {
            let automaton = SchemaAutomaton::new(schema, options).unwrap();
            for seed in 0..60 {
                let mut c = Chance((1000 * n + seed) as u64);
                read += compare(schema, &automaton, &mut c);
            }
        }
    }
    assert!(read > 40_000, "only {read} bytes were read");
}

#[test]
fn chunks_are_read_as_their_bytes_under_random_schemas() {
    let read = Cell::new(0);
    let (mut runner, _) = schemas::runner(300);
    let result = runner.run(&(schemas::schema(), any::<u64>()), |(schema, seed)| {
        let mut c = Chance(seed);
        for options in &options() {
            if let Ok(automaton) = SchemaAutomaton::new(&schema, options) {
                for _ in 0..4 {
                    read.set(read.get() + compare(&schema, &automaton, &mut c));
                }
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
    assert!(read.get() > 5_000, "only {} bytes were read", read.get());
}
