//! Items that must differ, against brute force: all arrays of a few values are written
//! down and validated, and what the automaton lets come behind each beginning must be what
//! goes on in one of those texts.

use std::collections::BTreeSet;

use fsm_index::ByteAutomaton;
use proptest::prelude::*;
use schema_regex::automaton::{SchemaAutomaton, State};
use schema_regex::{ErrorKind, Escapes, Options, PropertyOrder, Whitespace};
use serde_json::{Value, json};

/// A small generator, so that a case is one number.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.roll(list.len())].clone()
    }
}

/// Schemas of few values, with all values that they have.
fn few(dice: &mut Dice, depth: usize) -> (Value, Vec<Value>) {
    let pool = [
        json!(1),
        json!(2),
        json!(-3),
        json!(12),
        json!(0),
        json!(1.5),
        json!("a"),
        json!("ab"),
        json!("да"),
        json!("дом"),
        json!("нет"),
        json!("红"),
        json!("绿"),
        json!("\u{1F600}"),
        json!("\n"),
        json!("\"\\"),
        json!(null),
        json!(true),
        json!([]),
        json!([1]),
        json!([1, 2]),
        json!(["红"]),
        json!({}),
        json!({"a": 1}),
        json!({"a": 1, "b": "ab"}),
    ];
    match dice.roll(if depth > 0 { 6 } else { 4 }) {
        0 => {
            let low = dice.roll(4) as i64 - 2;
            let high = low + dice.roll(4) as i64;
            let values = (low..=high).map(|n| json!(n)).collect();
            (
                json!({"type": "integer", "minimum": low, "maximum": high}),
                values,
            )
        }
        1 => {
            let (pattern, words) = dice.pick(&[
                ("^[ab]$", &["a", "b"][..]),
                ("^[ab]{1,2}$", &["a", "b", "aa", "ab", "ba", "bb"]),
                ("^[дн]а?$", &["д", "н", "да", "на"]),
                ("^(红|绿|红绿)$", &["红", "绿", "红绿"]),
            ]);
            let words = words.iter().map(|word| json!(word)).collect();
            (json!({"type": "string", "pattern": pattern}), words)
        }
        4 => {
            let (items, values) = few(dice, 0);
            let mut lists: Vec<Value> = values.iter().map(|v| json!([v])).collect();
            let mut schema = json!({"type": "array", "items": items, "minItems": 1, "maxItems": 1});
            if values.len() < 4 && dice.roll(2) == 0 {
                schema["uniqueItems"] = json!(true);
                schema["maxItems"] = json!(2);
                for a in &values {
                    let others = values.iter().filter(|b| *b != a);
                    lists.extend(others.map(|b| json!([a, b])));
                }
                if dice.roll(2) == 0 {
                    schema["minItems"] = json!(2);
                    lists.retain(|list| list.as_array().is_some_and(|l| l.len() == 2));
                }
            }
            (schema, lists)
        }
        5 => {
            let (of_a, values) = few(dice, 0);
            let mut objects: Vec<Value> = values.iter().map(|v| json!({"a": v})).collect();
            let mut schema = json!({"type": "object", "properties": {"a": of_a}, "required": ["a"],
                                    "additionalProperties": false});
            if dice.roll(2) == 0 {
                schema["properties"]["b"] = json!({"const": 1});
                let more = objects.clone().into_iter().map(|mut o| {
                    o["b"] = json!(1);
                    o
                });
                objects.extend(more);
            }
            (schema, objects)
        }
        _ => {
            let values: Vec<Value> = (0..1 + dice.roll(4)).map(|_| dice.pick(&pool)).collect();
            let mut met: Vec<Value> = Vec::new();
            for value in values {
                if !met.contains(&value) {
                    met.push(value);
                }
            }
            (json!({"enum": met}), met)
        }
    }
}

/// An array of at most four items that must differ, and the values that they may have.
fn array(dice: &mut Dice) -> (Value, Vec<Value>) {
    let mut all: Vec<Value> = Vec::new();
    let mut add = |values: Vec<Value>| {
        for value in values {
            if !all.contains(&value) {
                all.push(value);
            }
        }
    };
    let most = 1 + dice.roll(4);
    let mut schema = json!({"type": "array", "uniqueItems": true, "maxItems": most});
    if dice.roll(3) > 0 {
        schema["minItems"] = json!(dice.roll(most + 1));
    }
    if dice.roll(2) == 0 {
        let mut prefix = Vec::new();
        for _ in 0..=dice.roll(3) {
            let (item, values) = few(dice, 1);
            prefix.push(item);
            add(values);
        }
        schema["prefixItems"] = json!(prefix);
    }
    if schema.get("prefixItems").is_some() && dice.roll(3) == 0 {
        schema["items"] = json!(false);
    } else {
        let (item, values) = few(dice, 1);
        schema["items"] = item;
        add(values);
    }
    match dice.roll(8) {
        0 | 1 => {
            let (item, _) = few(dice, 0);
            schema["contains"] = item;
            if dice.roll(2) == 0 {
                schema["minContains"] = json!(dice.roll(3));
            }
            if dice.roll(3) == 0 {
                schema["maxContains"] = json!(1 + dice.roll(2));
            }
        }
        2 => {
            let (item, _) = few(dice, 0);
            schema["anyOf"] = json!([{"items": item}, {"minItems": 2}]);
        }
        _ => {}
    }
    (schema, all)
}

/// All texts of arrays of some values that are valid.
fn texts(schema: &Value, values: &[Value]) -> BTreeSet<String> {
    let validator = jsonschema::draft202012::new(schema).expect("it is a schema");
    let most = schema["maxItems"].as_u64().expect("it is bounded") as usize;
    let mut out = BTreeSet::new();
    let mut layer: Vec<Vec<Value>> = vec![Vec::new()];
    for _ in 0..=most {
        let mut next = Vec::new();
        for items in layer {
            let whole = Value::Array(items.clone());
            if validator.is_valid(&whole) {
                out.insert(whole.to_string());
            }
            for value in values.iter().filter(|value| !items.contains(value)) {
                let mut longer = items.clone();
                longer.push(value.clone());
                next.push(longer);
            }
        }
        layer = next;
    }
    out
}

/// Whether some text goes on like this.
fn goes_on(texts: &BTreeSet<String>, begun: &[u8]) -> bool {
    let all = texts.iter().map(String::as_bytes);
    all.into_iter().any(|text| text.starts_with(begun))
}

fn completion(automaton: &SchemaAutomaton, state: &State, begun: &[u8]) -> String {
    let mut text = begun.to_vec();
    automaton.completion(state, fsm_index::MAX_COMPLETION, &mut text);
    String::from_utf8(text).expect("it is UTF-8")
}

/// Every byte behind beginnings of some texts, where values have one spelling.
fn agrees(schema: &Value, values: &[Value], dice: &mut Dice) {
    let options = Options::default()
        .with_whitespace(Whitespace::Compact)
        .with_escapes(Escapes::Shortest);
    let texts = texts(schema, values);
    let automaton = match SchemaAutomaton::new(schema, &options) {
        Ok(automaton) => automaton,
        Err(error) => {
            let is_none = texts.is_empty() && error.kind() == ErrorKind::Unsatisfiable;
            assert!(is_none, "{schema}: {error}, but {:?}", texts.first());
            return;
        }
    };
    assert!(!texts.is_empty(), "{schema}: no array satisfies it");
    let mut bytes: BTreeSet<u8> = texts.iter().flat_map(|text| text.bytes()).collect();
    bytes.extend(b"],\"0-\xD0\xE7");
    let list: Vec<&String> = texts.iter().collect();
    let mut x = automaton.scratch();
    for _ in 0..6 {
        let text = dice.pick(&list).as_bytes();
        let mut state = automaton.start();
        for at in 0..=text.len() {
            let begun = &text[..at];
            let shown = String::from_utf8_lossy(begun);
            let ends = texts.contains(&*shown);
            assert_eq!(
                automaton.is_accepting(&state),
                ends,
                "{schema} behind {shown}"
            );
            for byte in &bytes {
                let mut next = state.clone();
                let allowed = automaton.advance(&mut next, &[*byte], &mut x).is_ok();
                let longer = [begun, &[*byte]].concat();
                let is = || goes_on(&texts, &longer);
                assert_eq!(allowed, is(), "{schema}: {byte:#04x} behind {shown}");
            }
            let whole = completion(&automaton, &state, begun);
            assert!(texts.contains(&whole), "{schema}: {shown} became {whole}");
            if let Some(byte) = text.get(at) {
                let next = automaton.advance(&mut state, &[*byte], &mut x);
                assert!(next.is_ok(), "{schema}: {text:?}");
            }
        }
    }
}

/// Bytes that are allowed, one after another, in all spellings that there are: never into
/// a place from which no valid text comes.
fn wanders(schema: &Value, dice: &mut Dice) {
    let order = dice.pick(&[PropertyOrder::Any, PropertyOrder::Schema]);
    let escapes = dice.pick(&[Escapes::All, Escapes::Standard]);
    let options = Options::default()
        .with_property_order(order)
        .with_escapes(escapes);
    let Ok(automaton) = SchemaAutomaton::new(schema, &options) else {
        return;
    };
    let validator = jsonschema::draft202012::new(schema).expect("it is a schema");
    let mut x = automaton.scratch();
    let mut state = automaton.start();
    let mut text = Vec::new();
    for step in 0..60 {
        let mut ways = Vec::new();
        for byte in 0..=255u8 {
            let mut next = state.clone();
            if automaton.advance(&mut next, &[byte], &mut x).is_ok() {
                ways.push((byte, next));
            }
        }
        let shown = String::from_utf8_lossy(&text).into_owned();
        if ways.is_empty() {
            assert!(automaton.is_accepting(&state), "{schema} behind {shown}");
            break;
        }
        if step % 3 == 0 {
            let whole = completion(&automaton, &state, &text);
            let value: Value = serde_json::from_str(&whole)
                .unwrap_or_else(|error| panic!("{schema}: {shown} became {whole}: {error}"));
            assert!(
                automaton.is_match(whole.as_bytes()) && validator.is_valid(&value),
                "{schema}: {shown} became {whole}"
            );
        }
        // Ends are taken seldom.
        let open: Vec<(u8, State)> = ways.iter().filter(|w| w.0 != b']').cloned().collect();
        let from = if open.is_empty() || dice.roll(8) == 0 {
            &ways
        } else {
            &open
        };
        let (byte, next) = dice.pick(from);
        text.push(byte);
        state = next;
    }
}

/// How many random arrays are looked at: more where the environment says so.
fn cases() -> u32 {
    let wanted = std::env::var("UNIQUE_CASES").ok();
    wanted.and_then(|n| n.parse().ok()).unwrap_or(120)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    /// Until this was tested, values beyond ASCII, what later items need and counted
    /// items led into dead ends.
    #[test]
    fn arrays_of_few_values_agree_with_brute_force(seed in 1u64..) {
        let mut dice = Dice(seed);
        let (schema, values) = array(&mut dice);
        agrees(&schema, &values, &mut dice);
        wanders(&schema, &mut dice);
    }
}

fn compiled(schema: &Value) -> Result<SchemaAutomaton, schema_regex::Error> {
    SchemaAutomaton::new(schema, &Options::default())
}

fn items(item: Value, least: usize) -> Value {
    json!({"type": "array", "items": item, "uniqueItems": true, "minItems": least})
}

/// The completion from the start, which must be valid.
fn completed(schema: &Value) -> Vec<Value> {
    let automaton = compiled(schema).expect("it has values");
    let whole = completion(&automaton, &automaton.start(), b"");
    let shown: String = whole.chars().take(200).collect();
    assert!(automaton.is_match(whole.as_bytes()), "{schema}: {shown}");
    let list: Vec<Value> = serde_json::from_str(&whole).expect("it is a list");
    list
}

/// The first item may not be what the second one needs.
#[test]
fn an_open_item_leaves_what_later_items_need() {
    let schema = json!({"type": "array", "prefixItems": [{"enum": [1, 2]}, {"enum": [1]}],
                        "minItems": 2, "items": false, "uniqueItems": true});
    let automaton = compiled(&schema).unwrap();
    let mut x = automaton.scratch();
    assert!(
        automaton
            .advance(&mut automaton.start(), b"[1", &mut x)
            .is_err()
    );
    assert!(automaton.is_match(b"[2,1]"));
    // Inside of an object, and of items that are compared themselves.
    let call = json!({"type": "object", "properties": {"a": schema}, "required": ["a"],
                      "additionalProperties": false});
    let automaton = compiled(&call).unwrap();
    assert!(
        automaton
            .advance(&mut automaton.start(), b"{\"a\":[1", &mut x)
            .is_err()
    );
    let nested = compiled(&items(schema.clone(), 0)).unwrap();
    assert!(nested.advance(&mut nested.start(), b"[[1", &mut x).is_err());
    let either = compiled(&items(json!({"anyOf": [schema, {"type": "string"}]}), 0)).unwrap();
    assert!(
        either
            .advance(&mut either.start(), b"[\"a\",[1", &mut x)
            .is_err()
    );
}

/// Searches stopped at some thousand tries and said what was not so.
#[test]
fn languages_are_counted() {
    let three = |class: &str| json!({"type": "string", "pattern": format!("^{class}{{3}}$")});
    for (item, amount) in [
        (three("[abc]"), 27),
        (three("[a-z]"), 26 * 26 * 26),
        (
            json!({"type": "string", "pattern": "^[а-я]*$", "minLength": 2, "maxLength": 2}),
            32 * 32,
        ),
        (json!({"type": "integer", "minimum": 0, "maximum": 50}), 51),
        (
            json!({"type": "integer", "minimum": -5000, "maximum": 4000}),
            9001,
        ),
        (
            json!({"type": "number", "minimum": 0, "maximum": 20, "multipleOf": 0.25}),
            81,
        ),
        (
            json!({"type": "array", "items": {"type": "boolean"}, "maxItems": 4}),
            31,
        ),
        (items(json!({"enum": ["a", "b", "c"]}), 2), 12),
    ] {
        assert!(compiled(&items(item.clone(), amount)).is_ok(), "{item}");
        let error = compiled(&items(item.clone(), amount + 1)).map(|_| ());
        let error = error.expect_err("there are no more");
        assert_eq!(error.kind(), ErrorKind::Unsatisfiable, "{item}: {error}");
        if amount < 100 {
            assert_eq!(completed(&items(item, amount)).len(), amount);
        }
    }
    assert_eq!(completed(&items(three("[a-z]"), 700)).len(), 700);
    let automaton = compiled(&items(three("[ab]"), 0)).unwrap();
    assert!(automaton.is_match(br#"["aaa","aab","aba","abb","baa","bab","bba","bbb"]"#));
    let mut x = automaton.scratch();
    let mut state = automaton.start();
    let all = br#"["aaa","aab","aba","abb","baa","bab","bba""#;
    automaton.advance(&mut state, all, &mut x).unwrap();
    assert!(
        automaton
            .advance(&mut state.clone(), b",\"a", &mut x)
            .is_err()
    );
    automaton.advance(&mut state, b",\"bbb\"", &mut x).unwrap();
    assert!(
        automaton.advance(&mut state, b",", &mut x).is_err(),
        "none is left"
    );
}

/// What could not be followed later is refused, by name.
#[test]
fn what_is_not_followed_is_refused() {
    let words: Vec<String> = (0..900).map(|n| format!("w{n}")).collect();
    let schema = json!({"properties": {"a": {
        "type": "array", "uniqueItems": true,
        "prefixItems": [{"enum": words}, {"enum": words[..200]}],
        "items": {"enum": words}, "contains": {"enum": words[..100]}, "minContains": 3}}});
    let error = compiled(&schema).map(|_| ()).expect_err("it is refused");
    assert_eq!(
        (error.kind(), error.keyword()),
        (ErrorKind::Refused, Some("uniqueItems"))
    );
    assert_eq!(error.pointer(), "/properties/a/uniqueItems");
}

/// Within a list of different items the next one has more than one to differ from.
#[test]
fn lists_of_different_items_are_completed() {
    let item = json!({"type": "array", "items": {"enum": ["a", "b", "c", "d"]},
                      "uniqueItems": true, "minItems": 4});
    assert_eq!(completed(&items(item, 24)).len(), 24);
}

/// Objects with a text of any length and lists of few values that differ, one in another.
fn noted(dice: &mut Dice) -> Value {
    let (values, _) = few(dice, 0);
    let mut inner = json!({"type": "array", "uniqueItems": true, "items": values});
    if dice.roll(2) == 0 {
        inner["minItems"] = json!(1);
    }
    for _ in 0..dice.roll(3) {
        inner = match dice.roll(3) {
            0 => json!({"type": "array", "uniqueItems": true, "items": inner}),
            1 => {
                json!({"type": "object", "properties": {"in": inner}, "additionalProperties": false})
            }
            _ => json!({"type": "array", "items": inner, "maxItems": 2}),
        };
    }
    let item = json!({"type": "object", "required": ["note"], "additionalProperties": false,
                      "properties": {"note": {"type": "string"}, "of": inner}});
    json!({"type": "array", "uniqueItems": true, "minItems": dice.roll(3), "items": item})
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases() / 2) })]

    /// No place is a dead end, and all that comes is valid.
    #[test]
    fn lists_of_few_values_inside_of_items_without_end(seed in 1u64..) {
        let mut dice = Dice(seed);
        let schema = noted(&mut dice);
        wanders(&schema, &mut dice);
    }
}

/// Sixteen hundred objects took half a minute, and each member of an object a walk over those
/// before it.
#[test]
fn thousands_of_items_and_names_are_read() {
    let item = |n: u32| format!(r#"{{"id":{n},"name":"n{}","kind":"{}"}}"#, n % 40, n % 3);
    let properties =
        json!({"id": {"type": "integer"}, "name": {"type": "string"}, "kind": {"type": "string"}});
    let object = json!({"type": "object", "properties": properties, "required": ["id"]});
    let automaton = compiled(&items(object, 0)).unwrap();
    let begin = std::time::Instant::now();
    let all: Vec<String> = (0..3_000).map(item).collect();
    assert!(automaton.is_match(format!("[{}]", all.join(",")).as_bytes()));
    let doubled = format!("[{},{}]", all.join(","), item(1_234));
    assert!(!automaton.is_match(doubled.as_bytes()));
    // As an engine reads, by tokens.
    let mut state = automaton.start();
    let mut x = automaton.scratch();
    for piece in format!("[{},", all[..600].join(",")).as_bytes().chunks(5) {
        automaton.advance(&mut state, piece, &mut x).unwrap();
    }
    let mut repeats = state.clone();
    let old = item(321);
    let (last, before) = old.as_bytes().split_last().unwrap();
    automaton.advance(&mut repeats, before, &mut x).unwrap();
    assert!(automaton.advance(&mut repeats, &[*last], &mut x).is_err());
    automaton
        .advance(&mut state, item(600).as_bytes(), &mut x)
        .unwrap();

    let names: Vec<String> = (0..10_000).map(|n| format!(r#""name {n}":{n}"#)).collect();
    let open = compiled(&json!({"type": "object"})).unwrap();
    assert!(open.is_match(format!("{{{}}}", names.join(",")).as_bytes()));
    let doubled = format!(r#"{{{},"name 77":1}}"#, names.join(","));
    assert!(!open.is_match(doubled.as_bytes()));
    // All of it takes half a second.
    assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
}
