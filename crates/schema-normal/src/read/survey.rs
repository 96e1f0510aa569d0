//! The facts about a whole document before it is read: how deep it nests, and whether two places
//! have one name. For example, two subschemas with the same `$id` are an error before either is
//! read.

use std::collections::HashSet;

use json_tree::{depth, subschemas};
use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::ir::pointer::{Last, Pointer};
use crate::options::Draft;
use crate::read::json_text::too_deep;
use crate::read::uri::{join_uri, without_fragment};

/// Looks at a document: that it nests at most so deep, and that its names are different.
pub(super) fn look_at(root: &Value, draft: Draft, most: usize) -> Result<(), Error> {
    if names(root, most)? > 1 {
        identifiers(root, draft)?;
    }
    Ok(())
}

/// Returns how many members are called like what names a place.
///
/// # Errors
///
/// Something nests too deep.
fn names(root: &Value, most: usize) -> Result<usize, Error> {
    let mut found = 0;
    let name = |name: &str| {
        if name.starts_with('$') || name == "id" {
            found += usize::from(NAMES.contains(&name));
        }
    };
    match depth::visit_names(root, most, name) {
        true => Ok(found),
        false => Err(too_deep("", most)),
    }
}

/// The keywords that name a place. They are counted before the survey, because most documents have
/// none, and are not searched then.
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
        if let Some(id) = draft.id_of(place.value) {
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
        for (keyword, value) in map {
            for (at, value) in subschemas::inside(keyword, value) {
                let pointer = place.pointer.below("", Last::Name(keyword.as_str().into()));
                let pointer = match at {
                    subschemas::Place::Whole => pointer,
                    subschemas::Place::Index(i) => pointer.below("", Last::Index(i)),
                    subschemas::Place::Name(name) => pointer.below("", Last::Name(name.into())),
                };
                let resource = place.resource;
                todo.push(Subschema {
                    value,
                    pointer,
                    resource,
                });
            }
        }
    }
    Ok(())
}

/// Tells whether a fragment is the name of an anchor, and no pointer.
fn is_plain(fragment: &str) -> bool {
    let mut bytes = fragment.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b"-_:.".contains(&b))
}

/// The beginning of a name that may be long.
fn shortened(name: &str) -> String {
    /// The most characters of a name in a message, because a name may be as long as the document.
    const MOST: usize = 80;
    match name.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", &name[..at]),
        None => name.to_owned(),
    }
}
