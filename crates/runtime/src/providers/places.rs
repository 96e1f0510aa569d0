//! The schemas inside a schema, and the references that lead back to themselves. For example, in a
//! list of nodes the `$ref` of `next` is one.

use std::collections::{HashMap, HashSet};

use fsm_tables::component_of;
use json_tree::pointer;
use json_tree::subschemas::{self, Place as At, is_of_definitions};
use serde_json::{Map, Value};

/// A schema inside another.
#[derive(Debug)]
pub(super) struct Place<'s> {
    pub(super) pointer: String,
    pub(super) schema: &'s Value,
    /// The number of objects with properties that it is in, itself among them.
    pub(super) objects: usize,
    /// The keyword that holds it; empty for the root.
    pub(super) holder: &'s str,
}

impl<'s> Place<'s> {
    /// Its keywords; none of a schema that is `true` or `false`.
    pub(super) fn keywords(&self) -> impl Iterator<Item = (&'s String, &'s Value)> + use<'s> {
        self.schema.as_object().into_iter().flatten()
    }

    pub(super) fn get(&self, keyword: &str) -> Option<&'s Value> {
        self.schema.as_object()?.get(keyword)
    }

    pub(super) fn of(&self, keyword: &str) -> String {
        format!("{}/{}", self.pointer, pointer::escape(keyword))
    }

    /// The texts of a keyword that is a text or a list of them: `type`, `required`.
    pub(super) fn texts(&self, keyword: &str) -> Vec<&'s str> {
        match self.get(keyword) {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn properties(&self) -> Option<&'s Map<String, Value>> {
        self.get("properties")?.as_object()
    }

    pub(super) fn required(&self) -> HashSet<&'s str> {
        self.texts("required").into_iter().collect()
    }

    /// Its properties that may be left out.
    pub(super) fn optional(&self) -> Vec<&'s str> {
        let required = self.required();
        let names = self.properties().into_iter().flat_map(Map::keys);
        let names = names.map(String::as_str);
        names.filter(|name| !required.contains(name)).collect()
    }

    /// Tells whether it is a schema of objects.
    pub(super) fn is_object(&self) -> bool {
        self.texts("type").contains(&"object") || self.properties().is_some()
    }
}

/// The way that a reference leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leads {
    /// To a place from which it cannot be met again.
    On,
    /// Back to itself, through a property that may be left out in every circle.
    BackOptionally,
    /// Back to itself, through required properties alone.
    Back,
    /// By the `$id` of a schema in the document.
    ById,
    /// Out of the document, or nowhere in it.
    Out,
}

/// All schemas of a document, the outer ones first, and the references among them.
#[derive(Debug)]
pub(super) struct Places<'s> {
    pub(super) all: Vec<Place<'s>>,
    /// By the number of a place, where its reference leads.
    pub(super) references: HashMap<usize, Leads>,
}

impl<'s> Places<'s> {
    /// Finds them. Takes no stack; O(keywords · depth).
    pub(super) fn of(schema: &'s Value) -> Places<'s> {
        let mut all = vec![Place {
            pointer: String::new(),
            schema,
            objects: 0,
            holder: "",
        }];
        // The places that each is applied with, and those of them without which it may do.
        let (mut inside, mut without): (Vec<Vec<u32>>, Vec<Vec<u32>>) = Default::default();
        let mut at = 0;
        while at < all.len() {
            all[at].objects += usize::from(all[at].properties().is_some());
            let objects = all[at].objects;
            let optional: HashSet<&str> = all[at].optional().into_iter().collect();
            let (mut own, mut needed) = (Vec::new(), Vec::new());
            let mut found = Vec::new();
            for (keyword, value) in all[at].keywords() {
                for (place, schema) in subschemas::inside(keyword, value) {
                    let number = (all.len() + found.len()) as u32;
                    let may_lack = matches!(place, At::Name(name) if keyword == "properties" && optional.contains(name));
                    if !is_of_definitions(keyword) {
                        own.push(number);
                        if !may_lack {
                            needed.push(number);
                        }
                    }
                    found.push(Place {
                        pointer: format!("{}{place}", all[at].of(keyword)),
                        schema,
                        objects: if is_of_definitions(keyword) {
                            0
                        } else {
                            objects
                        },
                        holder: keyword,
                    });
                }
            }
            all.extend(found);
            inside.push(own);
            without.push(needed);
            at += 1;
        }
        let references = references(&all, inside, without);
        Places { all, references }
    }
}

fn references(
    all: &[Place],
    mut inside: Vec<Vec<u32>>,
    mut needed: Vec<Vec<u32>>,
) -> HashMap<usize, Leads> {
    let numbers = || (0u32..).zip(all);
    let pointers: HashMap<&str, u32> = numbers().map(|(n, p)| (&*p.pointer, n)).collect();
    let named = |keyword: &str| -> HashMap<&str, u32> {
        let own = numbers().filter_map(|(n, p)| Some((p.get(keyword)?.as_str()?, n)));
        own.collect()
    };
    let (ids, anchors) = (named("$id"), named("$anchor"));
    let mut out = HashMap::new();
    let mut targets = Vec::new();
    for (number, place) in all.iter().enumerate() {
        let Some(reference) = place.get("$ref").and_then(Value::as_str) else {
            continue;
        };
        let target = match pointer::of_reference(reference) {
            Some(pointer) => pointers.get(&*pointer),
            None => anchors.get(reference.trim_start_matches('#')),
        };
        let by_id = ids.contains_key(reference);
        match target {
            Some(target) => targets.push((number, *target)),
            None if by_id => drop(out.insert(number, Leads::ById)),
            None => drop(out.insert(number, Leads::Out)),
        }
    }
    for (from, to) in &targets {
        inside[*from].push(*to);
        needed[*from].push(*to);
    }
    let (groups, tight) = (component_of(&inside), component_of(&needed));
    for (from, to) in targets {
        let same = |groups: &[u32]| groups[from] == groups[to as usize];
        let leads = match same(&groups) {
            false => Leads::On,
            true if same(&tight) => Leads::Back,
            true => Leads::BackOptionally,
        };
        out.insert(from, leads);
    }
    out
}
