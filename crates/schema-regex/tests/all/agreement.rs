//! The expression and the automaton are made from one normal form: they say the same.

use std::cell::RefCell;

use fsm_index::ByteAutomaton as _;
use proptest::prelude::*;
use regex_automata::meta::Regex;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{AnyValue, ErrorKind, IntegerSpelling, Options, Whitespace};
use serde_json::{Value, json};

use crate::common;
use crate::common::schemas::{self, Chance};
use crate::common::values::{depth_of_any, nesting, orders};

/// Two members of one name somewhere: a regular expression does not see it.
fn has_repeated_names(text: &str) -> bool {
    struct Once;
    impl<'de> serde::de::DeserializeSeed<'de> for Once {
        type Value = ();
        fn deserialize<D: serde::Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
            d.deserialize_any(self)
        }
    }
    impl<'de> serde::de::Visitor<'de> for Once {
        type Value = ();
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("JSON without repeated names")
        }
        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }
        fn visit_bool<E>(self, _: bool) -> Result<(), E> {
            Ok(())
        }
        fn visit_i64<E>(self, _: i64) -> Result<(), E> {
            Ok(())
        }
        fn visit_u64<E>(self, _: u64) -> Result<(), E> {
            Ok(())
        }
        fn visit_f64<E>(self, _: f64) -> Result<(), E> {
            Ok(())
        }
        fn visit_str<E>(self, _: &str) -> Result<(), E> {
            Ok(())
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
            while items.next_element_seed(Once)?.is_some() {}
            Ok(())
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            let mut seen = std::collections::HashSet::new();
            while let Some(name) = map.next_key::<String>()? {
                if !seen.insert(name) {
                    return Err(serde::de::Error::custom("a repeated name"));
                }
                map.next_value_seed(Once)?;
            }
            Ok(())
        }
    }
    let mut d = serde_json::Deserializer::from_str(text);
    let result = serde::de::DeserializeSeed::deserialize(Once, &mut d);
    result.is_err_and(|e| e.to_string().contains("a repeated name"))
}

fn depth(text: &str) -> usize {
    let (mut now, mut most) = (0usize, 0);
    for b in text.bytes() {
        match b {
            b'[' | b'{' => now += 1,
            b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// A text with an edit or two.
fn edited(text: &str, c: &mut Chance) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..1 + c.next(2) {
        let at = c.next(chars.len() + 1);
        let some = *c.pick(&[
            '"', ',', ':', ' ', '[', ']', '{', '}', '0', '1', '.', 'a', 'b', '-', 'e',
        ]);
        match c.next(3) {
            0 if at < chars.len() => {
                chars.remove(at);
            }
            1 if at < chars.len() => chars[at] = some,
            _ => chars.insert(at.min(chars.len()), some),
        }
    }
    chars.into_iter().collect()
}

/// Where the two may differ in a text: its value is valid, and each admits the value in
/// some order of members with its integers spelled without a fraction. Which alternatives
/// a location has is another thing in each of them, and so are the places of names
/// that only branches mention which are not taken, and whether an integer may have the
/// fraction that such a branch lists. The expression need not admit values that nest
/// deeper than `deep`.
fn may_differ(
    text: &str,
    validator: &jsonschema::Validator,
    regex: &Regex,
    automaton: &SchemaAutomaton,
    deep: usize,
) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return false;
    };
    let texts = orders(&plain(&value));
    validator.is_valid(&value)
        && texts.iter().any(|t| automaton.is_match(t.as_bytes()))
        && (nesting(&value) > deep || texts.iter().any(|t| regex.is_match(t)))
}

/// The value without fractions of zeros.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(n) => match n.as_f64() {
            Some(f) if f.fract() == 0.0 && f.abs() < 1e15 => json!(f as i64),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), plain(v))).collect(),
        other => other.clone(),
    }
}

#[test]
fn the_expression_says_what_the_automaton_says() {
    // Values nest less deeply than unrestricted ones may in the expression.
    let options = Options::default()
        .with_any_value(AnyValue::Depth(3))
        .with_max_regex_bytes(400_000)
        .with_max_steps(50_000);
    let figures = RefCell::new([0usize; 4]);
    let (mut runner, cases) = schemas::runner(600);
    let result = runner.run(&(schemas::schema(), any::<u64>()), |(schema, seed)| {
        let [printed, texts, admitted, different] = &mut *figures.borrow_mut();
        let Ok(parsed) = schema_regex::parse(&schema) else {
            return Ok(());
        };
        let Ok(validator) = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
        else {
            return Ok(());
        };
        let options = match seed % 2 {
            0 => options.clone(),
            _ => options.clone().with_integers(IntegerSpelling::ZeroFraction),
        };
        let text = match schema_regex::to_regex(&parsed, &options) {
            Ok(text) => text,
            Err(e) => {
                // What is refused is named.
                prop_assert!(
                    e.kind() != ErrorKind::Refused
                        || !e.pointer().is_empty()
                        || e.keyword().is_some(),
                    "{}: {}",
                    schema,
                    e
                );
                // What nothing satisfies is found to be so by both.
                if e.kind() == ErrorKind::Unsatisfiable
                    && let Ok(automaton) = SchemaAutomaton::compile(parsed, &options)
                {
                    let mut some = Vec::new();
                    automaton.completion(&automaton.start(), fsm_index::MAX_COMPLETION, &mut some);
                    let some = String::from_utf8_lossy(&some);
                    prop_assert!(false, "{} is not empty: {}", schema, some);
                }
                return Ok(());
            }
        };
        if text.len() > 60_000 {
            return Ok(());
        }
        let deep = depth_of_any(&parsed.ledger(&options));
        let automaton = match SchemaAutomaton::compile(parsed, &options) {
            Ok(automaton) => automaton,
            Err(e) => {
                let empty = e.kind() == ErrorKind::Unsatisfiable;
                prop_assert!(!empty, "{} is empty, but not in {}", schema, text);
                return Ok(());
            }
        };
        *printed += 1;
        let regex = common::whole(&text);
        let mut c = Chance(seed);
        let mut tried: Vec<String> = Vec::new();
        for _ in 0..12 {
            let value = schemas::near(&schema, &schema, &mut c, 3);
            tried.push(value.to_string());
            let begun = random_text(&automaton, &mut c);
            tried.push(edited(&begun, &mut c));
            tried.push(begun);
        }
        for text in tried {
            if depth(&text) > 3 || has_repeated_names(&text) {
                continue;
            }
            *texts += 1;
            let found = automaton.is_match(text.as_bytes());
            *admitted += usize::from(found);
            if regex.is_match(&text) != found {
                let may = may_differ(&text, &validator, &regex, &automaton, deep);
                prop_assert!(may, "{}: {} is admitted: {}", schema, text, found);
                *different += 1;
            }
        }
        Ok(())
    });
    let [printed, texts, admitted, different] = figures.into_inner();
    println!(
        "{printed} schemas printed, {texts} texts, {admitted} of them admitted, {different} by one alone"
    );
    result.unwrap_or_else(|e| panic!("{e}"));
    assert!(printed as u32 * 5 > cases && admitted * 10 > texts);
    assert!(different * 100 < admitted);
}

/// A few random bytes that may come, then the completion.
fn random_text(automaton: &SchemaAutomaton, c: &mut Chance) -> String {
    let mut x = automaton.scratch();
    let mut state = automaton.start();
    let mut text: Vec<u8> = Vec::new();
    for _ in 0..c.next(12) {
        let cursor = automaton.enter(&state, &mut x);
        let allowed: Vec<u8> = b"{}[],:\" ab012.-tfn\\"
            .iter()
            .copied()
            .filter(|b| !automaton.step(cursor, *b, &mut x).is_dead())
            .collect();
        if allowed.is_empty() {
            break;
        }
        let byte = *c.pick(&allowed);
        text.push(byte);
        automaton.advance(&mut state, &[byte], &mut x).unwrap();
    }
    automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut text);
    String::from_utf8(text).unwrap()
}

/// A pattern for white space, or a reason against it, is the same to both.
#[test]
fn white_space_is_read_in_one_way() {
    let schema = schema_regex::parse(&json!({"type": "array", "items": {"const": 1}})).unwrap();
    let read = |pattern: &str| {
        let options = Options::default().with_whitespace(Whitespace::Pattern(pattern.to_owned()));
        let automaton = SchemaAutomaton::compile(schema.clone(), &options);
        (schema_regex::to_regex(&schema, &options), automaton)
    };
    let spaces = [
        "", " ", "  ", "\t", "\n", "\n ", "\r\n\t", "\u{A0}", "\u{B}",
    ];
    let good = [
        ("", 1),
        (" ?", 2),
        ("^ ?$", 2),
        (" |\n", 2),
        (r"[ \t]{0,40}|[ \t]?\r?\n[ \t]{0,40}", 7),
        (r"[\n ]*", 5),
        (r"(?<space>\u0020)*", 3),
        (r"\x20{0,2}", 3),
    ];
    for (pattern, allowed) in good {
        let (regex, automaton) = read(pattern);
        let (regex, automaton) = (common::whole(&regex.unwrap()), automaton.unwrap());
        let mut met = 0;
        for space in spaces {
            let text = format!("[{space}1{space},{space}1{space}]");
            let is_match = automaton.is_match(text.as_bytes());
            assert_eq!(regex.is_match(&text), is_match, "{pattern:?}: {text:?}");
            met += usize::from(is_match);
        }
        assert_eq!(met, allowed, "{pattern:?}");
    }
    let bad = [
        "(", " )|( ", " ^", "x", r"\s", r"\b", "(?= ) ", "(?i) ", "[]", "[ && ]", "\u{A0}",
        r" [^\S]",
    ];
    for pattern in bad {
        let (regex, automaton) = read(pattern);
        let (of_regex, of_automaton) = (regex.unwrap_err(), automaton.unwrap_err());
        assert_eq!(of_regex.kind(), ErrorKind::BadOption, "{pattern:?}");
        assert_eq!(of_regex.to_string(), of_automaton.to_string());
    }
}
