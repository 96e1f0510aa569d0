//! Reads the keywords of arrays and objects that stand for one another: items, members,
//! dependencies. For example, `items: [a, b]` of draft 7 is read as `prefixItems: [a, b]` of
//! 2020-12.

use serde_json::Value;

use crate::error::Error;
use crate::ir::named::Named;
use crate::ir::pointer::Last;
use crate::ir::{ALWAYS, AtomKind, Items, Kinds, Members, Name};
use crate::options::Draft;
use crate::read::here::Here;
use crate::read::schema::Reader;

/// The further keywords that may evaluate items, because they apply schemas to items.
const ITEM_APPLICATORS: &[&str] = &["contains"];

/// The further keywords that may evaluate members, because they apply schemas in place.
const MEMBER_APPLICATORS: &[&str] = &["dependentSchemas", "dependencies"];

impl<'a> Reader<'a, '_> {
    /// `items` in both forms, with what goes with it.
    pub(super) fn items(
        &mut self,
        here: &mut Here<'a, '_>,
        key: &str,
        value: &'a Value,
    ) -> Result<(), Error> {
        if key == "additionalItems" && self.draft < Draft::Draft202012 {
            here.must_be_schema(key, value)?;
        }
        // `true` constrains nothing, and evaluates all items: as `items` does.
        let is_applied = applies(here, ITEM_APPLICATORS);
        let is_left = |value: &Value| !is_true(value) && is_applied;
        if key == "unevaluatedItems" && is_left(value) {
            let node = self.child(here, value, "unevaluatedItems", Last::Nothing)?;
            here.push("unevaluatedItems", AtomKind::UnevaluatedItems(node));
            return Ok(());
        }
        if here.items_read {
            return Ok(());
        }
        here.items_read = true;
        let mut prefix = Vec::new();
        let mut rest = ALWAYS;
        let mut said = false;
        if let Some(list) = here.get("prefixItems") {
            prefix = self.children(here, "prefixItems", list)?;
        }
        match here.get("items") {
            Some(list @ Value::Array(_)) => {
                prefix = self.children(here, "items", list)?;
                if let Some(more) = here.get("additionalItems") {
                    rest = self.child(here, more, "additionalItems", Last::Nothing)?;
                    said = true;
                }
            }
            Some(one) => {
                rest = self.child(here, one, "items", Last::Nothing)?;
                said = true;
            }
            None => {}
        }
        if !said
            && let Some(more) = here.get("unevaluatedItems")
            && !is_left(more)
        {
            rest = self.child(here, more, "unevaluatedItems", Last::Nothing)?;
            said = true;
        }
        if !prefix.is_empty() || said {
            let keyword = first_there(here, &["items", "prefixItems"]);
            let rest_said = said;
            let items = Items {
                prefix,
                rest,
                rest_said,
            };
            here.push(keyword, AtomKind::Items(items));
        }
        Ok(())
    }

    pub(super) fn contains(
        &mut self,
        here: &mut Here<'a, '_>,
        value: &'a Value,
    ) -> Result<(), Error> {
        let node = self.child(here, value, "contains", Last::Nothing)?;
        let limit = |name: &str| match here.get(name) {
            Some(v) => here.count(name, v).map(Some),
            None => Ok(None),
        };
        let min = limit("minContains")?.unwrap_or(1);
        let max = limit("maxContains")?;
        let evaluates = self.draft >= Draft::Draft202012;
        here.push(
            "contains",
            AtomKind::Contains {
                node,
                min,
                max,
                evaluates,
            },
        );
        Ok(())
    }

    pub(super) fn members(
        &mut self,
        here: &mut Here<'a, '_>,
        key: &str,
        value: &'a Value,
    ) -> Result<(), Error> {
        // `true` constrains nothing, and evaluates all members: as
        // `additionalProperties` does.
        let is_applied = applies(here, MEMBER_APPLICATORS);
        let is_left = |value: &Value| !is_true(value) && is_applied;
        if key == "unevaluatedProperties" && is_left(value) {
            let node = self.child(here, value, "unevaluatedProperties", Last::Nothing)?;
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
                let node = self.child(here, schema, "properties", last)?;
                names.push((name, node));
            }
            members.names = Named::new(names);
        }
        if let Some(list) = here.get("patternProperties") {
            for (source, schema) in here.object("patternProperties", list)? {
                let last = Last::Name(source.as_str().into());
                let node = self.child(here, schema, "patternProperties", last)?;
                let id = self.pattern(source);
                if let Err(e) = &self.patterns[id.0 as usize].pattern {
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
                members.additional = self.child(here, schema, name, Last::Nothing)?;
            }
            break;
        }
        let names = ["properties", "patternProperties", "additionalProperties"];
        let keyword = first_there(here, &names);
        here.push(keyword, AtomKind::Members(members));
        Ok(())
    }

    pub(super) fn dependent(
        &mut self,
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
                    schemas.push((name, self.child(here, item, keyword, last)?));
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
}

fn is_true(value: &Value) -> bool {
    value == &Value::Bool(true)
}

/// The first of some keywords that is there, or else the last one.
fn first_there(here: &Here<'_, '_>, keywords: &[&'static str]) -> &'static str {
    let there = keywords.iter().find(|keyword| here.has(keyword));
    there.or(keywords.last()).copied().unwrap_or_default()
}

/// Tells whether keywords stand beside that apply schemas in place, so that these may evaluate
/// members or items.
fn applies(here: &Here<'_, '_>, more: &[&str]) -> bool {
    [
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "not",
    ]
    .iter()
    .chain(more)
    .any(|keyword| here.has(keyword))
}
