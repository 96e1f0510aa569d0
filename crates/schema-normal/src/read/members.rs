//! Reads the keywords of objects that stand for one another. For example, what `properties` and
//! `additionalProperties` say is read as one list of members and the schema of all others.

use serde_json::Value;

use crate::error::Error;
use crate::ir::named::Named;
use crate::ir::pointer::Last;
use crate::ir::{ALWAYS, AtomKind, Kinds, Members, Name};
use crate::read::here::{Here, is_true};
use crate::read::reader::Reader;

/// The further keywords that may evaluate members, because they apply schemas in place.
const MEMBER_APPLICATORS: &[&str] = &["dependentSchemas", "dependencies"];

pub(super) fn members<'a>(
    reader: &mut Reader<'a, '_>,
    here: &mut Here<'a, '_>,
    key: &str,
    value: &'a Value,
) -> Result<(), Error> {
    // `true` constrains nothing, and evaluates all members: as
    // `additionalProperties` does.
    let is_applied = here.applies(MEMBER_APPLICATORS);
    let is_left = |value: &Value| !is_true(value) && is_applied;
    if key == "unevaluatedProperties" && is_left(value) {
        let node = reader.child(here, value, "unevaluatedProperties", Last::Nothing)?;
        let kind = AtomKind::UnevaluatedProperties(node);
        here.push("unevaluatedProperties", kind);
        return Ok(());
    }
    if here.members_read {
        return Ok(());
    }
    here.members_read = true;
    let mut members = Members {
        names: Named::default(),
        patterns: Vec::new(),
        additional: ALWAYS,
        additional_said: false,
    };
    if let Some(list) = here.get("properties") {
        let map = here.object("properties", list)?;
        let mut names = Vec::with_capacity(map.len());
        for (name, schema) in map {
            let name = Name::from(name.as_str());
            let last = Last::Name(Name::clone(&name));
            let node = reader.child(here, schema, "properties", last)?;
            names.push((name, node));
        }
        members.names = Named::new(names);
    }
    if let Some(list) = here.get("patternProperties") {
        for (source, schema) in here.object("patternProperties", list)? {
            let last = Last::Name(source.as_str().into());
            let node = reader.child(here, schema, "patternProperties", last)?;
            let id = reader.pattern(source);
            if let Err(e) = &reader.patterns[id.0 as usize].pattern {
                let reason = format!("the pattern at byte {}: {}", e.offset, e.reason);
                here.refuse("patternProperties", Kinds::OBJECT, reason);
                continue;
            }
            members.patterns.push((id, node));
        }
    }
    for name in ["additionalProperties", "unevaluatedProperties"] {
        let Some(schema) = here.get(name) else {
            continue;
        };
        if name == "additionalProperties" || !is_left(schema) {
            members.additional_said = true;
            members.additional = reader.child(here, schema, name, Last::Nothing)?;
        }
        break;
    }
    let names = ["properties", "patternProperties", "additionalProperties"];
    let keyword = here.first_of(&names);
    here.push(keyword, AtomKind::Members(members));
    Ok(())
}
