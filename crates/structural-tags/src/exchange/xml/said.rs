//! The values that a schema admits at a place, by its form alone: for example, strings by `enum`.

use json_tree::pointer;
use json_tree::subschemas::{self, Applied, COMBINATIONS};
use serde_json::{Map, Value};

use super::{Kinds, MAX_DEPTH, Strings, Xml};
use crate::Error;
use crate::whole::ANNOTATIONS;

impl Xml<'_> {
    /// Returns the place to which a reference leads.
    pub(super) fn target(&self, from: &str, reference: &Value) -> Result<String, Error> {
        match reference.as_str().and_then(pointer::of_reference) {
            Some(target) => {
                self.get(&target)?;
                Ok(target.into_owned())
            }
            None => Err(self.refused(
                from,
                "in this style only references like \"#/$defs/name\" are followed",
            )),
        }
    }

    /// Returns the kinds of values at a place.
    pub(super) fn kinds(&self, pointer: &str, depth: usize) -> Result<Kinds, Error> {
        if depth > MAX_DEPTH {
            return Err(self.refused(pointer, "references lead too far"));
        }
        let all = Kinds {
            string: true,
            scalar: true,
            object: true,
            array: true,
        };
        let Some(map) = self.map(pointer)? else {
            return Ok(match self.get(pointer)? {
                Value::Bool(true) => all,
                _ => Kinds::default(),
            });
        };
        if let Some(reference) = map.get("$ref") {
            return self.kinds(&self.target(pointer, reference)?, depth + 1);
        }
        let mut kinds = Kinds::default();
        let mut add = |name: &str| match name {
            "string" => kinds.string = true,
            "object" => kinds.object = true,
            "array" => kinds.array = true,
            _ => kinds.scalar = true,
        };
        let values = map.get("enum").and_then(Value::as_array).cloned();
        if let Some(values) = values.or_else(|| map.get("const").map(|value| vec![value.clone()])) {
            values.iter().for_each(|value| add(type_of(value)));
            return Ok(kinds);
        }
        match map.get("type") {
            Some(Value::String(name)) => add(name),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).for_each(add);
            }
            _ => {
                for keyword in COMBINATIONS {
                    let Some(branches) = map.get(keyword).and_then(Value::as_array) else {
                        continue;
                    };
                    for i in 0..branches.len() {
                        let of = self.kinds(&format!("{pointer}/{keyword}/{i}"), depth + 1)?;
                        kinds.string |= of.string;
                        kinds.scalar |= of.scalar;
                        kinds.object |= of.object;
                        kinds.array |= of.array;
                    }
                    return Ok(kinds);
                }
                let has = |part| map.keys().any(|key| subschemas::applied(key) == Some(part));
                if has(Applied::Members) || map.contains_key("required") {
                    kinds.object = true;
                } else if has(Applied::Items) {
                    kinds.array = true;
                } else {
                    kinds = all;
                }
            }
        }
        Ok(kinds)
    }

    /// The branches of alternatives that can be of a kind, if these are all that a schema says,
    /// `beside` aside: then it is any one of them. A `oneOf` may have one such branch, and an
    /// `allOf` has one.
    pub(super) fn branches(
        &self,
        pointer: &str,
        map: &Map<String, Value>,
        beside: &[&str],
        is_of: fn(Kinds) -> bool,
    ) -> Result<Option<Vec<String>>, Error> {
        for keyword in COMBINATIONS {
            let Some(branches) = map.get(keyword).and_then(Value::as_array) else {
                continue;
            };
            let mut known = beside.to_vec();
            known.push(keyword);
            if !is_alone(map, &known) || (keyword == "allOf" && branches.len() != 1) {
                return Ok(None);
            }
            let mut ways = Vec::new();
            for i in 0..branches.len() {
                let branch = format!("{pointer}/{keyword}/{i}");
                if is_of(self.kinds(&branch, 0)?) {
                    ways.push(branch);
                }
            }
            let is_any = keyword != "oneOf" || ways.len() < 2;
            return Ok(is_any.then_some(ways));
        }
        Ok(None)
    }

    /// Returns the strings at a place.
    pub(super) fn strings(&self, pointer: &str, depth: usize) -> Result<Strings, Error> {
        if depth > MAX_DEPTH {
            return Err(self.refused(pointer, "references lead too far"));
        }
        let mut strings = Strings::default();
        let Some(map) = self.map(pointer)? else {
            strings.plain = *self.get(pointer)? == Value::Bool(true);
            return Ok(strings);
        };
        if let (Some(reference), true) = (map.get("$ref"), is_alone(&map, &["$ref"])) {
            return self.strings(&self.target(pointer, reference)?, depth + 1);
        }
        if !self.kinds(pointer, depth)?.string {
            return Ok(strings);
        }
        if is_alone(&map, &["type", "enum", "const"])
            && (map.contains_key("enum") || map.contains_key("const"))
        {
            let one = map.get("const").map(std::slice::from_ref);
            let several = map.get("enum").and_then(Value::as_array).map(Vec::as_slice);
            let values = one.or(several).unwrap_or_default();
            let excluded = |text: &&str| self.format.excludes.iter().any(|e| text.contains(e));
            let texts = values.iter().filter_map(Value::as_str);
            let texts = texts.filter(|text| !excluded(text)).map(str::to_owned);
            strings.listed = texts.collect();
            strings.bound = one.is_some() && several.is_some();
            return Ok(strings);
        }
        if let Some(ways) = self.branches(pointer, &map, &[], |kinds| kinds.string)? {
            for branch in ways {
                let of = self.strings(&branch, depth + 1)?;
                strings.plain |= of.plain;
                strings.bound |= of.bound;
                strings.listed.extend(of.listed);
            }
            return Ok(strings);
        }
        // Keywords of other types, left aside because they say nothing of strings.
        const OF_OTHERS: [&str; 10] = [
            "type",
            "required",
            "minProperties",
            "maxProperties",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
        ];
        let is_of_parts = |keyword: &&str| {
            use Applied::{Items, MemberNames, Members, SomeItems};
            let applied = subschemas::applied(keyword);
            matches!(applied, Some(Members | MemberNames | Items | SomeItems))
        };
        let mut known = OF_OTHERS.to_vec();
        known.extend(map.keys().map(String::as_str).filter(is_of_parts));
        strings.plain = is_alone(&map, &known);
        strings.bound = !strings.plain;
        Ok(strings)
    }
}

/// Tells whether a schema has no keywords but these and annotations.
pub(super) fn is_alone(map: &Map<String, Value>, keywords: &[&str]) -> bool {
    unknown(map, keywords).is_none()
}

/// A keyword that is none of these, and no annotation.
pub(super) fn unknown<'m>(map: &'m Map<String, Value>, keywords: &[&str]) -> Option<&'m str> {
    let known = |key: &str| {
        keywords.contains(&key)
            || ANNOTATIONS.contains(&key)
            || subschemas::is_of_definitions(key)
            || ["strict", "nullable"].contains(&key)
            || key.starts_with("x-")
    };
    map.keys().map(String::as_str).find(|key| !known(key))
}

pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
