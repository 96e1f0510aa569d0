//! Reads the keywords whose schemas a right value may fail: `not`, conditions and dependencies. For
//! example, `dependencies: {a: [b]}` of draft 7 is read as `dependentRequired: {a: [b]}`.

use serde_json::Value;

use crate::error::Error;
use crate::ir::pointer::Last;
use crate::ir::{ALWAYS, AtomKind, Name, Status};
use crate::read::here::Here;
use crate::read::reader::Reader;
use crate::read::references::lookup;

pub(super) fn conditions<'a>(
    reader: &mut Reader<'a, '_>,
    here: &mut Here<'a, '_>,
    key: &str,
    value: &'a Value,
) -> Result<(), Error> {
    match key {
        "not" => {
            let node = reader.child(here, value, "not", Last::Nothing)?;
            here.push("not", AtomKind::Not(node));
            Ok(())
        }
        "if" => conditional(reader, here),
        "then" | "else" => {
            if !here.map.contains_key("if") {
                here.must_be_schema(key, value)?;
                here.note(key, Status::Annotation);
            }
            Ok(())
        }
        _ => dependent(reader, here, key, value),
    }
}

fn conditional<'a>(reader: &mut Reader<'a, '_>, here: &mut Here<'a, '_>) -> Result<(), Error> {
    let map = here.map;
    let mut parts = [ALWAYS; 3];
    for (part, name) in parts.iter_mut().zip(["if", "then", "else"]) {
        if let Some(schema) = lookup(map, name) {
            *part = reader.child(here, schema, name, Last::Nothing)?;
        }
    }
    let [condition, then, otherwise] = parts;
    let kind = AtomKind::If {
        condition,
        then,
        otherwise,
    };
    here.push("if", kind);
    Ok(())
}

pub(super) fn dependent<'a>(
    reader: &mut Reader<'a, '_>,
    here: &mut Here<'a, '_>,
    key: &str,
    value: &'a Value,
) -> Result<(), Error> {
    let keyword = match key {
        "dependentRequired" => "dependentRequired",
        "dependentSchemas" => "dependentSchemas",
        _ => "dependencies",
    };
    let mut lists = Vec::new();
    let mut schemas = Vec::new();
    for (name, item) in here.object(key, value)? {
        match item {
            Value::Array(_) if key != "dependentSchemas" => {
                lists.push((name.as_str().into(), here.strings(key, item)?));
            }
            // Draft 3 had a single name.
            Value::String(one) if key == "dependencies" => {
                lists.push((name.as_str().into(), vec![one.as_str().into()]));
            }
            _ if key != "dependentRequired" => {
                let name = Name::from(name.as_str());
                let last = Last::Name(Name::clone(&name));
                schemas.push((name, reader.child(here, item, keyword, last)?));
            }
            _ => return Err(here.invalid(key, "must have arrays of names as its values")),
        }
    }
    if !lists.is_empty() {
        here.push(keyword, AtomKind::DependentRequired(lists));
    }
    if !schemas.is_empty() {
        here.push(keyword, AtomKind::DependentSchemas(schemas));
    }
    Ok(())
}
