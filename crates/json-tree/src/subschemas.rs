//! The keywords of JSON Schema whose values are schemas, or have schemas in them.
//!
//! For example, `{"properties": {"a": {"type": "null"}}}` has a subschema at `/properties/a`,
//! because [`applicator`] says that `properties` holds schemas by name.

use std::fmt;

use serde_json::{Map, Value};

use crate::pointer;

/// The form in which a keyword holds schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Its value is a schema.
    One,
    /// Its value is an array of schemas.
    List,
    /// Its value is a schema, or an array of them in the drafts before 2020-12.
    OneOrList,
    /// Its value is an object whose values are schemas.
    ByName,
}

/// The part of a value to which a keyword applies its schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The value itself, which obeys all of them, one or some.
    InPlace,
    /// The value itself, on a condition or the other way round: a right value may fail them.
    OnCondition,
    /// The members of an object.
    Members,
    /// The names of an object's members.
    MemberNames,
    /// The items of an array.
    Items,
    /// Some items of an array: others may fail them.
    SomeItems,
    /// The JSON that a string spells.
    Content,
    /// No part: the schemas are kept for references.
    Nowhere,
}

/// Returns the form in which a keyword of drafts 4 to 2020-12 holds schemas, and the part of a
/// value to which it applies them; `None` for one that holds none. A new keyword is a line here,
/// which all who walk over schemas follow.
///
/// ```
/// use json_tree::subschemas::{Applied, Form, applicator};
///
/// assert_eq!(applicator("not"), Some((Form::One, Applied::OnCondition)));
/// assert_eq!(applicator("enum"), None);
/// ```
#[must_use]
pub fn applicator(keyword: &str) -> Option<(Form, Applied)> {
    Some(match keyword {
        "$defs" | "definitions" => (Form::ByName, Applied::Nowhere),
        "allOf" | "anyOf" | "oneOf" => (Form::List, Applied::InPlace),
        "not" | "if" | "then" | "else" => (Form::One, Applied::OnCondition),
        "dependentSchemas" | "dependencies" => (Form::ByName, Applied::OnCondition),
        "properties" | "patternProperties" => (Form::ByName, Applied::Members),
        "additionalProperties" | "unevaluatedProperties" => (Form::One, Applied::Members),
        "propertyNames" => (Form::One, Applied::MemberNames),
        "items" => (Form::OneOrList, Applied::Items),
        "prefixItems" => (Form::List, Applied::Items),
        "additionalItems" | "unevaluatedItems" => (Form::One, Applied::Items),
        "contains" => (Form::One, Applied::SomeItems),
        "contentSchema" => (Form::One, Applied::Content),
        _ => return None,
    })
}

/// Returns the form in which a keyword holds schemas; `None` for one that holds none.
///
/// ```
/// use json_tree::subschemas::{Form, form};
///
/// assert_eq!(form("items"), Some(Form::OneOrList));
/// assert_eq!(form("enum"), None);
/// ```
#[must_use]
pub fn form(keyword: &str) -> Option<Form> {
    applicator(keyword).map(|(form, _)| form)
}

/// Returns the part of a value to which a keyword applies schemas; `None` for a keyword that
/// holds none.
///
/// ```
/// use json_tree::subschemas::{Applied, applied};
///
/// assert_eq!(applied("prefixItems"), Some(Applied::Items));
/// assert_eq!(applied("maxItems"), None);
/// ```
#[must_use]
pub fn applied(keyword: &str) -> Option<Applied> {
    applicator(keyword).map(|(_, applied)| applied)
}

/// The keywords of which some schemas need not hold, in the order in which they are looked for,
/// because `anyOf` is the one that is mostly there.
pub const ALTERNATIVES: [&str; 2] = ["anyOf", "oneOf"];

/// The keywords that combine schemas of one value, in the order in which they are looked for, because
/// a schema that is a choice is mostly one of `anyOf`.
pub const COMBINATIONS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// The keywords that apply schemas to the value that they stand for, and not to a part of it. `then`
/// and `else` are not among them, because they say nothing without `if`.
pub const IN_PLACE: [&str; 5] = ["allOf", "anyOf", "oneOf", "if", "not"];

/// Tells whether a keyword says nothing of a value: it keeps schemas for references.
///
/// ```
/// assert!(json_tree::subschemas::is_of_definitions("$defs"));
/// assert!(!json_tree::subschemas::is_of_definitions("properties"));
/// ```
#[must_use]
pub fn is_of_definitions(keyword: &str) -> bool {
    applied(keyword) == Some(Applied::Nowhere)
}

/// The place of a subschema in the value of its keyword. It displays as the rest of a JSON
/// Pointer.
///
/// ```
/// use json_tree::subschemas::Place;
///
/// assert_eq!(format!("/properties{}", Place::Name("a/b")), "/properties/a~1b");
/// assert_eq!(format!("/not{}", Place::Whole), "/not");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'v> {
    /// The value is the schema.
    Whole,
    /// An item of the array that the value is.
    Index(usize),
    /// A member of the object that the value is.
    Name(&'v str),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Index(index) => write!(f, "/{index}"),
            Place::Name(name) => write!(f, "/{}", pointer::escape(name)),
        }
    }
}

/// Returns the schemas that a keyword holds, in order. A value of another form than the
/// keyword's holds none, and what stands in the place of a schema is not looked at.
///
/// ```
/// use json_tree::subschemas::{Place, inside};
///
/// let value = serde_json::json!([true, {"type": "null"}]);
/// let found: Vec<_> = inside("anyOf", &value).collect();
/// assert_eq!(found, [(Place::Index(0), &value[0]), (Place::Index(1), &value[1])]);
/// assert_eq!(inside("enum", &value).count(), 0);
/// ```
pub fn inside<'v>(
    keyword: &str,
    value: &'v Value,
) -> impl Iterator<Item = (Place<'v>, &'v Value)> + use<'v> {
    let (one, list, map): (_, &[Value], _) = match (form(keyword), value) {
        (Some(Form::List | Form::OneOrList), Value::Array(items)) => (None, items, None),
        (Some(Form::ByName), Value::Object(map)) => (None, &[], Some(map)),
        (Some(Form::One | Form::OneOrList), one) => (Some((Place::Whole, one)), &[], None),
        _ => (None, &[], None),
    };
    let list = list
        .iter()
        .enumerate()
        .map(|(i, item)| (Place::Index(i), item));
    let map = map.into_iter().flatten();
    let map = map.map(|(name, value)| (Place::Name(name), value));
    one.into_iter().chain(list).chain(map)
}

/// Returns the schemas that a keyword holds, to change them; see [`inside`].
///
/// ```
/// let mut value = serde_json::json!({"a": true});
/// json_tree::subschemas::inside_mut("properties", &mut value).for_each(|one| *one = false.into());
/// assert_eq!(value, serde_json::json!({"a": false}));
/// ```
pub fn inside_mut<'v>(
    keyword: &str,
    value: &'v mut Value,
) -> impl Iterator<Item = &'v mut Value> + use<'v> {
    let (one, list, map): (_, &mut [Value], _) = match (form(keyword), value) {
        (Some(Form::List | Form::OneOrList), Value::Array(items)) => (None, items, None),
        (Some(Form::ByName), Value::Object(map)) => (None, &mut [], Some(map)),
        (Some(Form::One | Form::OneOrList), one) => (Some(one), &mut [], None),
        _ => (None, &mut [], None),
    };
    one.into_iter()
        .chain(list)
        .chain(map.into_iter().flat_map(Map::values_mut))
}
