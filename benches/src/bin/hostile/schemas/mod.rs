//! Schemas, in either order of members. For example, one schema of `oneOf` becomes two inputs:
//! members in the schema's order, and in any.

mod combining;
mod families;
mod structure;
mod text;
mod values;

use std::path::PathBuf;
use std::sync::Arc;

use fsm_index::Index;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, PropertyOrder, to_regex};
use serde_json::{Map, Value, json};

use self::families::Make;
use crate::harness::case::{Case, MakeCases};
use crate::harness::seen::Seen;
use crate::harness::walk;

/// The list that a class of schemas adds to: names and schemas.
type Cases = Vec<(String, Value)>;

/// Classes of schemas by the part of a schema in which something could grow beyond its bound.
const CLASSES: &[fn(&mut Cases)] = &[
    combining::one_of,
    combining::any_of,
    combining::all_of,
    combining::negations,
    combining::conditions,
    combining::unevaluated,
    combining::mixed,
    text::patterns,
    text::pattern_properties,
    text::names,
    text::formats,
    text::lengths,
    values::enums,
    values::constants,
    values::numbers,
    structure::dependencies,
    structure::references,
    structure::contains,
    structure::wide,
    structure::deep,
    structure::arrays,
    structure::wrong,
];

/// The makers of cases, each of which can be asked alone: a process makes the schemas of its
/// own class only.
pub(crate) fn makers(tokenizer: Option<PathBuf>) -> Vec<MakeCases> {
    let mut makers: Vec<MakeCases> = Vec::new();
    let real = tokenizer.clone();
    makers.push(Box::new(move || {
        let all = families::all().into_iter();
        all.flat_map(|(name, make)| both_orders(&name, &make, real.as_ref()))
            .collect()
    }));
    for class in CLASSES {
        let real = tokenizer.clone();
        makers.push(Box::new(move || of_class(*class, real.as_ref())));
    }
    makers
}

/// The cases of a class. Their schemas are made anew when they run, since some take much memory.
fn of_class(class: fn(&mut Cases), real: Option<&PathBuf>) -> Vec<Case> {
    let mut all = Cases::new();
    class(&mut all);
    let names = all.into_iter().map(|(name, _)| name);
    let made = names.enumerate().flat_map(|(at, name)| {
        let make: Make = Arc::new(move || {
            let mut all = Cases::new();
            class(&mut all);
            all.swap_remove(at).1
        });
        both_orders(&name, &make, real)
    });
    made.collect()
}

fn both_orders(name: &str, make: &Make, real: Option<&PathBuf>) -> Vec<Case> {
    let orders = [
        (PropertyOrder::Schema, "schema's order"),
        (PropertyOrder::Any, "any order"),
    ];
    let cases = orders.into_iter().map(|(order, said)| {
        let (make, real) = (Arc::clone(make), real.cloned());
        Case::new("schema", format!("{name}, {said}"), move |seen| {
            run(&make(), order, real.as_deref(), seen);
        })
    });
    cases.collect()
}

fn run(schema: &Value, order: PropertyOrder, real: Option<&std::path::Path>, seen: &mut Seen) {
    let vocabularies = walk::vocabularies(real, seen);
    let options = Options::default().with_property_order(order);
    seen.begin();
    if order == PropertyOrder::Schema {
        // Its answer, or what it says instead, is its own.
        let read = || schema_regex::parse(schema).and_then(|read| to_regex(&read, &options));
        seen.call(read);
    }
    let Some(automaton) = seen.call(|| SchemaAutomaton::new(schema, &options)) else {
        return;
    };
    let read = schema_regex::parse(schema);
    let is_right = |text: &[u8]| {
        let value: Value = match serde_json::from_slice(text) {
            Ok(value) => value,
            // JSON has numbers of any size; this reader has not.
            Err(error) if error.to_string().starts_with("number out of range") => return Ok(()),
            Err(error) => return Err(format!("a finished text is no JSON ({error})")),
        };
        match read
            .as_ref()
            .map(|schema| schema.is_valid(&value, &options))
        {
            // The judge has rounded it.
            Ok(Ok(false)) if has_long_number(&value) => Ok(()),
            Ok(Ok(false)) => Err("a finished text is not valid".to_owned()),
            // Valid, or not for the judge to say.
            _ => Ok(()),
        }
    };
    let index = |vocabulary: &_, config: &_| Index::lazy(automaton.clone(), vocabulary, config);
    walk::texts(&index, &vocabularies, seen, &is_right);
}

/// Tells whether a number is beyond what a float keeps.
fn has_long_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|float| {
            let digits = number.to_string();
            let digits = digits.bytes().filter(u8::is_ascii_digit).count();
            float.abs() >= 2f64.powi(53) || digits > 15
        }),
        Value::Array(items) => items.iter().any(has_long_number),
        Value::Object(members) => members.values().any(has_long_number),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn add(out: &mut Cases, name: impl Into<String>, schema: Value) {
    out.push((name.into(), schema));
}

fn map(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    Value::Object(members.into_iter().collect::<Map<String, Value>>())
}

fn list(n: usize, one: impl Fn(usize) -> Value) -> Value {
    (0..n).map(one).collect()
}

/// An object schema with its names required.
fn record(names: &[String], more: impl Fn(usize) -> Value) -> Value {
    let members = names.iter().enumerate().map(|(i, n)| (n.clone(), more(i)));
    json!({"type": "object", "properties": map(members), "required": names})
}

fn name(i: usize) -> String {
    format!("p{i}")
}
