//! Reads the keywords of scalars: types, listed values, bounds, formats. For example,
//! `{"exclusiveMinimum": true, "minimum": 3}` of draft 4 is a bound that excludes 3.

use json_tree::depth;
use serde_json::Value;

use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind};
use crate::ir::{Atom, AtomKind, Kinds, Status};
use crate::language::formats::bounded_numbers::NumberFormat;
use crate::language::formats::{Format, HINTS};
use crate::options::Target;
use crate::read::exact_numbers::{Numbers, Role};
use crate::read::here::Here;
use crate::read::reader::Reader;
use crate::read::references::lookup;

/// The deepest nesting of a listed value, because it is compared and printed by calls as deep.
const MAX_VALUE_DEPTH: usize = 200;

/// Reads the values of `enum` or `const`. A number with more digits than a value keeps is
/// the range from it to it.
pub(super) fn values<'a>(
    reader: &mut Reader<'a, '_>,
    here: &mut Here<'a, '_>,
    keyword: &'static str,
    value: &'a Value,
) -> Result<(), Error> {
    if !depth::at_most(value, MAX_VALUE_DEPTH) {
        return Err(Error::at(
            ErrorKind::TooDeep,
            &here.place.pointer,
            keyword,
            format!("`{keyword}` has a value nested more than {MAX_VALUE_DEPTH} deep"),
        ));
    }
    let values = match value {
        one if keyword == "const" => std::slice::from_ref(one),
        Value::Array(values) => values,
        other => return Err(here.must_be(keyword, "an array", other)),
    };
    let mut listed = Vec::with_capacity(values.len());
    let mut beyond: Vec<Decimal> = Vec::new();
    for value in values {
        let is_beyond = reader
            .numbers
            .digits
            .contains_key(&std::ptr::from_ref(value));
        if is_beyond {
            let exact = reader.numbers.exact(value, Role::Value);
            beyond.push(exact.map_err(|reason| here.refused(keyword, &reason))?);
            continue;
        }
        let inside = reader.numbers.inside(value);
        inside.map_err(|reason| here.refused(keyword, &reason))?;
        listed.push(value.clone());
    }
    if beyond.is_empty() {
        here.push(keyword, AtomKind::Values(listed.into()));
        return Ok(());
    }
    let mut ways = Vec::with_capacity(beyond.len() + 1);
    if !listed.is_empty() {
        ways.push(vec![AtomKind::Values(listed.into())]);
    }
    ways.extend(beyond.into_iter().map(|value| {
        let (kinds, integer) = (Kinds::NUMBER, false);
        let (least, exclusive) = (value.clone(), false);
        vec![
            AtomKind::Type { kinds, integer },
            AtomKind::Minimum {
                value: least,
                exclusive,
            },
            AtomKind::Maximum { value, exclusive },
        ]
    }));
    let nodes = ways.into_iter().map(|kinds| {
        let atoms = kinds.into_iter().map(|kind| Atom { keyword, kind });
        reader.synthetic(here, atoms.collect())
    });
    let nodes = nodes.collect();
    here.push(keyword, AtomKind::AnyOf(nodes));
    Ok(())
}

pub(super) fn types(here: &mut Here<'_, '_>, value: &Value) -> Result<(), Error> {
    let mut kinds = Kinds::NONE;
    let mut integer = false;
    let names: &[Value] = match value {
        Value::Array(names) if !names.is_empty() => names,
        Value::String(_) => std::slice::from_ref(value),
        other => return Err(here.must_be("type", "a name or a list of names", other)),
    };
    for name in names {
        match name.as_str() {
            Some("null") => kinds = kinds | Kinds::NULL,
            Some("boolean") => kinds = kinds | Kinds::TRUE | Kinds::FALSE,
            Some("number") => kinds = kinds | Kinds::NUMBER,
            Some("integer") => integer = true,
            Some("string") => kinds = kinds | Kinds::STRING,
            Some("array") => kinds = kinds | Kinds::ARRAY,
            Some("object") => kinds = kinds | Kinds::OBJECT,
            _ => {
                return Err(here.invalid("type", &format!("has the unknown name {name}; the names are null, boolean, integer, number, string, array, object")));
            }
        }
    }
    let integer = integer && !kinds.has(Kinds::NUMBER);
    here.push("type", AtomKind::Type { kinds, integer });
    Ok(())
}

pub(super) fn bound(
    here: &mut Here<'_, '_>,
    key: &str,
    value: &Value,
    numbers: &Numbers,
) -> Result<(), Error> {
    if key.starts_with("exclusive") && value.is_boolean() {
        // Draft 4: a flag beside the bound, read with it.
        return Ok(());
    }
    let map = here.map;
    let flag = |name: &str| map.get(name) == Some(&Value::Bool(true));
    let value = here.decimal(key, value, numbers, Role::Value)?;
    match key {
        "minimum" => {
            let exclusive = flag("exclusiveMinimum");
            here.push("minimum", AtomKind::Minimum { value, exclusive });
        }
        "maximum" => {
            let exclusive = flag("exclusiveMaximum");
            here.push("maximum", AtomKind::Maximum { value, exclusive });
        }
        "exclusiveMinimum" => {
            let exclusive = true;
            here.push("exclusiveMinimum", AtomKind::Minimum { value, exclusive });
        }
        _ => {
            let exclusive = true;
            here.push("exclusiveMaximum", AtomKind::Maximum { value, exclusive });
        }
    }
    // An integer has neither, bounded or not.
    if lookup(map, "type").is_none_or(|kind| kind != "integer") {
        let what = "an exponent stands behind one digit before the point (`1.5e-05`; `15e-06` is left out), and zero has no sign";
        here.note(key, Status::Narrowed(what.to_owned()));
    }
    Ok(())
}

pub(super) fn multiple(
    here: &mut Here<'_, '_>,
    value: &Value,
    numbers: &Numbers,
) -> Result<(), Error> {
    let divisor = here.decimal("multipleOf", value, numbers, Role::Divisor)?;
    if divisor.is_negative() || divisor.is_zero() {
        return Err(here.invalid("multipleOf", "must be greater than 0"));
    }
    if divisor.is_multiple_of(&divisor).is_some() {
        here.push("multipleOf", AtomKind::MultipleOf(divisor));
    } else {
        let reason = "the divisor has too many digits".to_owned();
        here.refuse("multipleOf", Kinds::NUMBER, reason);
    }
    Ok(())
}

/// All that a format says is said by atoms of the keyword `format`: in place
/// they hold together, and their complement is that one of them fails.
pub(super) fn format(here: &mut Here<'_, '_>, value: &Value) -> Result<(), Error> {
    let name = here.string("format", value)?;
    let (text, number) = (Format::by_name(name), NumberFormat::by_name(name));
    if let Some(format) = text {
        if let Some(reason) = format.narrowed(Target::Automaton) {
            here.note("format", Status::Narrowed(reason.to_owned()));
        }
        here.push("format", AtomKind::Format(format));
        if let Some(part) = format.part() {
            here.push("format", AtomKind::Format(part));
        }
        if let Some(max) = format.max_length() {
            here.push("format", AtomKind::MaxLength(max));
        }
    }
    if let Some(format) = number {
        let (step, [value, high]) = format.numbers();
        let integers = AtomKind::Type {
            kinds: !Kinds::NUMBER,
            integer: true,
        };
        let exclusive = false;
        here.push("format", step.map_or(integers, AtomKind::MultipleOf));
        here.push("format", AtomKind::Minimum { value, exclusive });
        let value = high;
        here.push("format", AtomKind::Maximum { value, exclusive });
    }
    if text.is_none() && number.is_none() {
        if HINTS.contains(&name) {
            here.note("format", Status::Annotation);
        } else {
            let reason = format!("the format `{name}` is unknown");
            here.note("format", Status::Ignored(reason.clone()));
            here.push("format", AtomKind::UnknownFormat(reason));
        }
    }
    Ok(())
}
