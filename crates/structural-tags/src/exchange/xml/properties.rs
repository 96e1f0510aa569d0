//! The properties of an object as elements: those that it declares, those that it requires, and
//! those of further names.
//!
//! For example, `{"properties": {"a": {}}, "required": ["b"]}` has an element for `a` that may be
//! missing, one for `b`, and any others behind them.

use json_tree::pointer::escape;
use serde_json::{Map, Value};

use super::{Style, Xml};
use crate::Error;
use crate::build::{Node, dfa};
use crate::exchange::format::rewritten;
use crate::quiet::Quiet;

/// The properties of an object.
pub(super) struct Properties<'x, 'a> {
    xml: &'x mut Xml<'a>,
    /// The place of the object's schema.
    pointer: &'x str,
    names: Vec<String>,
    patterns: Vec<String>,
    required: Vec<String>,
    more: More,
    least: usize,
    most: Option<usize>,
}

/// Properties that are not declared.
enum More {
    None,
    /// They have any value.
    Any,
    /// They have the schema at a place.
    At(String),
}

impl<'x, 'a> Properties<'x, 'a> {
    /// Reads what a schema says of an object's properties.
    pub(super) fn read(
        xml: &'x mut Xml<'a>,
        pointer: &'x str,
        map: &Map<String, Value>,
    ) -> Result<Properties<'x, 'a>, Error> {
        let number = |key: &str| -> Result<Option<usize>, Error> {
            match map.get(key) {
                None => Ok(None),
                Some(given) => {
                    let whole = given.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0);
                    let whole = whole.filter(|n| *n <= f64::from(u32::MAX));
                    let wrong = || xml.refused(&format!("{pointer}/{key}"), "no count");
                    whole.map(|n| Some(n as usize)).ok_or_else(wrong)
                }
            }
        };
        let declared = map.get("properties").and_then(Value::as_object);
        let patterns = map.get("patternProperties").and_then(Value::as_object);
        let mut others = ["additionalProperties", "unevaluatedProperties"].into_iter();
        let more = match others.find(|key| map.contains_key(*key)) {
            Some(key) if map[key] == Value::Bool(false) => More::None,
            Some(key) => More::At(format!("{pointer}/{key}")),
            None if declared.is_some() || patterns.is_some() => More::None,
            None => More::Any,
        };
        let required = map.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let keys = |map: Option<&Map<String, Value>>| -> Vec<String> {
            map.into_iter()
                .flat_map(|map| map.keys().cloned())
                .collect()
        };
        Ok(Properties {
            pointer,
            names: keys(declared),
            patterns: keys(patterns),
            required: required.map(str::to_owned).collect(),
            more,
            least: number("minProperties")?.unwrap_or(0),
            most: number("maxProperties")?,
            xml,
        })
    }

    /// The inside of the object, so many levels deep in the schema.
    pub(super) fn node(mut self, depth: usize) -> Result<Node, Error> {
        let is_m3 = self.xml.style() == Style::MiniMaxM3;
        if is_m3 && !self.patterns.is_empty() {
            return Err(self.refused("this style takes no patterns of names"));
        }
        if is_m3 && !matches!(self.more, More::None) {
            return match (&self.more, self.names.is_empty()) {
                (More::Any, true) if self.least == 0 => Ok(Node::nothing()),
                _ => Err(self.refused("this style takes no undeclared properties")),
            };
        }
        let mut members = self.declared(depth)?;
        let others = self.required_others(depth)?;
        members.extend(others.into_iter().map(|entry| (entry, true)));
        let free = self.free()?;
        let more = (!free.is_empty()).then(|| self.entry(Node::Alt(free)));
        let required = members.iter().filter(|(_, required)| *required).count();
        self.least = self.least.max(required);
        let body = match self.xml.format.any_order {
            true => self.in_any_order(members, more)?,
            false => self.in_order(members, more)?,
        };
        // In that style an object without properties is no text at all.
        if is_m3 && matches!(&body, Node::Seq(all) if all.is_empty()) {
            return Ok(body);
        }
        // White space behind each: so it is read once, whatever may come next.
        Ok(Node::Seq(vec![self.xml.space.clone(), body]))
    }

    #[cold]
    fn refused(&self, what: &str) -> Error {
        self.xml.refused(self.pointer, what)
    }

    /// An element and white space behind it.
    fn entry(&self, element: Node) -> Node {
        Node::Seq(vec![element, self.xml.space.clone()])
    }

    /// The properties that are declared, each with whether it must come.
    fn declared(&mut self, depth: usize) -> Result<Vec<(Node, bool)>, Error> {
        let mut members = Vec::new();
        for name in &self.names {
            let value = format!("{}/properties/{}", self.pointer, escape(name));
            let is_required = self.required.contains(name);
            match self.xml.entry(name, &value, depth)? {
                Some(element) => members.push((self.entry(element), is_required)),
                None if is_required => {
                    let what = "no value satisfies what is required";
                    return Err(self.xml.refused(&value, what));
                }
                None => {}
            }
        }
        Ok(members)
    }

    /// The properties that are required and not declared.
    fn required_others(&mut self, depth: usize) -> Result<Vec<Node>, Error> {
        let mut entries = Vec::new();
        for name in &self.required {
            if self.names.contains(name) {
                continue;
            }
            let element = match &self.more {
                More::None => None,
                More::Any => Some(self.xml.any_entry(name)?),
                More::At(place) => self.xml.entry(name, place, depth)?,
            };
            let wrong = || self.refused(&format!("{name:?} is required and not allowed"));
            entries.push(self.entry(element.ok_or_else(wrong)?));
        }
        Ok(entries)
    }

    /// The properties of names that are neither declared nor required.
    fn free(&mut self) -> Result<Vec<Node>, Error> {
        let known = self.names.iter().chain(&self.required);
        let known = known.map(|name| crate::escape(&self.xml.written(name)));
        let mut known: Vec<String> = known.collect();
        let mut free = Vec::new();
        for pattern in &self.patterns {
            let place = format!("{}/patternProperties/{}", self.pointer, escape(pattern));
            let name = rewritten(pattern).map_err(|what| self.xml.refused(&place, what))?;
            free.extend(self.xml.entry_of(&name, &known, Some(&place))?);
            // A name with two patterns would have to obey both.
            let met = dfa(&format!("(?:{})", known.join("|")));
            if let (Ok(met), Ok(name)) = (met, dfa(&name))
                && Quiet::both(&met, &name).is_ok()
            {
                return Err(self.xml.refused(&place, "names that are described twice"));
            }
            known.push(name);
        }
        match &self.more {
            More::None => {}
            More::Any => free.push(self.xml.free_entry(None, &known)?),
            More::At(place) => free.push(self.xml.free_entry(Some(place), &known)?),
        }
        Ok(free)
    }

    /// Properties in any order: presence and uniqueness are not looked at, only how many there are.
    fn in_any_order(&self, members: Vec<(Node, bool)>, more: Option<Node>) -> Result<Node, Error> {
        let members = members.into_iter().map(|(node, _)| node);
        let any: Vec<Node> = members.chain(more).collect();
        if any.is_empty() && self.least == 0 {
            return Ok(Node::nothing());
        }
        if any.is_empty() || self.most.is_some_and(|most| most < self.least) {
            return Err(self.refused("nothing satisfies the schema"));
        }
        let counted = self.least.max(self.most.unwrap_or(0));
        self.xml.count(self.pointer, counted)?;
        Ok(Node::Repeat(
            Box::new(Node::Alt(any)),
            self.least,
            self.most,
        ))
    }

    /// Properties in the order in which they are declared, and the others behind them.
    fn in_order(&self, members: Vec<(Node, bool)>, more: Option<Node>) -> Result<Node, Error> {
        let (least, most) = (self.least, self.most);
        let required = members.iter().filter(|(_, required)| *required).count();
        let is_fixed = required == members.len();
        let is_counted =
            least > required || most.is_some_and(|most| more.is_some() || most < members.len());
        if most.is_some_and(|most| most < least) {
            return Err(self.refused("nothing satisfies the schema"));
        }
        if is_counted && !is_fixed {
            return Err(self.refused(
                "minProperties and maxProperties beside properties that may be left out are not \
                 supported in this style",
            ));
        }
        let declared = members.len();
        let mut all: Vec<Node> = members
            .into_iter()
            .map(|(node, required)| match required {
                true => node,
                false => Node::optional(node),
            })
            .collect();
        match more {
            Some(more) => {
                let (least, most) = match is_fixed {
                    true => (
                        least.saturating_sub(declared),
                        most.map(|most| most.saturating_sub(declared)),
                    ),
                    false => (0, None),
                };
                self.xml.count(self.pointer, least.max(most.unwrap_or(0)))?;
                all.push(Node::Repeat(Box::new(more), least, most));
            }
            None if least > declared || most.is_some_and(|most| most < required) => {
                return Err(self.refused("nothing satisfies the schema"));
            }
            None => {}
        }
        Ok(Node::Seq(all))
    }
}
