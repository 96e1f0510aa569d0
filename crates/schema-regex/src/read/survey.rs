//! What is looked at of a whole document before it is read: how deep it nests, and whether
//! two places have one name.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind};
use crate::ir::pointer::{Last, Pointer};
use crate::options::Draft;
use crate::read::references::id_of;
use crate::uri::{join_uri, without_fragment};

/// An error about a document that nests too deep.
#[cold]
pub(crate) fn too_deep(pointer: &str, most: usize) -> Error {
    Error::new(
        ErrorKind::TooDeep,
        pointer,
        format!(
            "arrays and objects of the schema nest more than {most} deep; flatten it or raise ParseOptions::max_nesting"
        ),
    )
}

/// What a value inside is reached by.
enum Inside<'a> {
    Items(std::slice::Iter<'a, Value>),
    Members(serde_json::map::Iter<'a>),
}

/// Looks at a document: that it nests at most so deep, and that its names are different.
pub(crate) fn look_at(root: &Value, draft: Draft, most: usize) -> Result<(), Error> {
    if names(root, most)? > 1 {
        identifiers(root, draft)?;
    }
    Ok(())
}

/// Whether arrays and objects nest deeper than this.
pub(crate) fn nests_deeper(value: &Value, most: usize) -> bool {
    names(value, most).is_err()
}

/// How many members are called like what names a place; an error where something nests
/// too deep.
fn names(root: &Value, most: usize) -> Result<usize, Error> {
    let mut found = 0;
    let mut open: Vec<Inside<'_>> = Vec::new();
    let mut next = Some(root);
    loop {
        match next {
            Some(Value::Array(items)) => open.push(Inside::Items(items.iter())),
            Some(Value::Object(map)) => open.push(Inside::Members(map.iter())),
            _ => {}
        }
        if open.len() > most {
            return Err(too_deep("", most));
        }
        next = match open.last_mut() {
            Some(Inside::Items(items)) => items.next(),
            Some(Inside::Members(members)) => members.next().map(|(name, value)| {
                if name.starts_with('$') || name == "id" {
                    found += usize::from(NAMES.contains(&name.as_str()));
                }
                value
            }),
            None => return Ok(found),
        };
        if next.is_none() {
            open.pop();
        }
    }
}

/// The keywords that name a place.
const NAMES: [&str; 4] = ["$id", "id", "$anchor", "$dynamicAnchor"];

/// A subschema, and the resource that it belongs to.
struct Subschema<'a> {
    value: &'a Value,
    pointer: Pointer,
    resource: usize,
}

/// Refuses a second resource of one URI, and a second anchor of one name in a resource.
/// Only places that are subschemas count.
fn identifiers(root: &Value, draft: Draft) -> Result<(), Error> {
    let mut uris: Vec<String> = vec![String::new()];
    let mut known: HashSet<String> = HashSet::new();
    let mut anchors: HashSet<(usize, &str)> = HashSet::new();
    let mut todo = vec![Subschema {
        value: root,
        pointer: Pointer::default(),
        resource: 0,
    }];
    let twice = |pointer: &Pointer, keyword: &str, name: &str| {
        Err(Error::at(
            ErrorKind::Invalid,
            pointer,
            keyword,
            format!(
                "`{keyword}` gives the name `{}` a second time",
                shortened(name)
            ),
        ))
    };
    let keyword = if draft == Draft::Draft4 { "id" } else { "$id" };
    while let Some(mut place) = todo.pop() {
        let Value::Object(map) = place.value else {
            continue;
        };
        if let Some(id) = id_of(place.value, draft) {
            let own = without_fragment(id);
            if !own.is_empty() {
                let uri = join_uri(&uris[place.resource], own);
                // Schemas of older drafts repeat what was meant as a title.
                if !known.insert(uri.clone()) && draft >= Draft::Draft201909 {
                    return twice(&place.pointer, keyword, &uri);
                }
                uris.push(uri);
                place.resource = uris.len() - 1;
            }
            let fragment = id.split_once('#').map_or("", |(_, name)| name);
            if is_plain(fragment) && !anchors.insert((place.resource, fragment)) {
                return twice(&place.pointer, keyword, fragment);
            }
        }
        if draft >= Draft::Draft201909 {
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = map.get(keyword).and_then(Value::as_str)
                    && !anchors.insert((place.resource, name))
                {
                    return twice(&place.pointer, keyword, name);
                }
            }
        }
        subschemas(map, &place, &mut todo);
    }
    Ok(())
}

/// Adds the subschemas of a schema.
fn subschemas<'a>(
    map: &'a Map<String, Value>,
    place: &Subschema<'a>,
    out: &mut Vec<Subschema<'a>>,
) {
    let mut add = |value: &'a Value, keyword: &str, last: Last| {
        let pointer = place.pointer.below("", Last::Name(keyword.into()));
        let pointer = match last {
            Last::Nothing => pointer,
            last => pointer.below("", last),
        };
        out.push(Subschema {
            value,
            pointer,
            resource: place.resource,
        });
    };
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(members),
            ) => {
                for (name, value) in members {
                    add(value, keyword, Last::Name(name.as_str().into()));
                }
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(items)) => {
                for (i, value) in items.iter().enumerate() {
                    add(value, keyword, Last::Index(i));
                }
            }
            (
                "not"
                | "if"
                | "then"
                | "else"
                | "items"
                | "additionalItems"
                | "contains"
                | "additionalProperties"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "contentSchema",
                value,
            ) => add(value, keyword, Last::Nothing),
            _ => {}
        }
    }
}

/// Whether a fragment is the name of an anchor, and no pointer.
fn is_plain(fragment: &str) -> bool {
    let mut bytes = fragment.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b"-_:.".contains(&b))
}

/// The beginning of a name that may be long.
fn shortened(name: &str) -> String {
    const MOST: usize = 80;
    match name.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", &name[..at]),
        None => name.to_owned(),
    }
}
