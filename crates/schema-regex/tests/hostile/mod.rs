//! Hostile schemas of every class: each is small or long, valid or not, and made so
//! that something in a compiler could grow beyond its bound. Whatever takes them
//! has to answer, or to refuse, within a second and 256 MiB.
//!
//! A function a class, each of which adds `(name, schema)`.

mod combining;
mod structure;
mod text;
mod values;

use serde_json::{Map, Value, json};

/// What a class adds to.
pub(crate) type Cases = Vec<(String, Value)>;

/// Every class.
pub(crate) const CLASSES: &[fn(&mut Cases)] = &[
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

/// The one of a name. The others are not let go: some of them are deep.
pub(crate) fn named(name: &str) -> Option<Value> {
    CLASSES.iter().find_map(|class| {
        let mut cases = Cases::new();
        class(&mut cases);
        let at = cases.iter().position(|(n, _)| n == name);
        let found = at.map(|at| cases.swap_remove(at).1);
        std::mem::forget(cases);
        found
    })
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
