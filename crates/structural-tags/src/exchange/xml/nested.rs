//! Styles in which values nest: objects and arrays are elements, too.
//!
//! For example, `<cofl:value name="a" type="dict">` holds an element for each member of `a`.

use serde_json::{Value, json};

use super::said::unknown;
use super::{COHERE_CLOSE, ESCAPED_NAME, M3_MARK, MAX_DEPTH, Style, Xml, cohere_tail};
use crate::Error;
use crate::build::Node;

impl Xml<'_> {
    /// The items of an array, in a notation where they are elements.
    pub(super) fn array(&mut self, pointer: &str, depth: usize) -> Result<Node, Error> {
        if depth > MAX_DEPTH {
            return Err(self.refused(pointer, "the schema nests too deep"));
        }
        let Some(map) = self.map(pointer)? else {
            return self.items(None, 0, None, depth);
        };
        if let Some(reference) = map.get("$ref") {
            let target = self.target(pointer, reference)?;
            return self.by_rule(&target, depth, Xml::array);
        }
        if let Some(branches) = self.branches(pointer, &map, &["type"], |kinds| kinds.array)? {
            let ways = branches.iter().map(|branch| self.array(branch, depth + 1));
            return Ok(Node::Alt(ways.collect::<Result<_, Error>>()?));
        }
        /// The keywords that this style can enforce, as the others have no place in elements.
        const KNOWN: [&str; 4] = ["type", "items", "minItems", "maxItems"];
        if let Some(other) = unknown(&map, &KNOWN) {
            return Err(self.refused(
                &format!("{pointer}/{other}"),
                format!("the keyword {other:?} is not supported in this style"),
            ));
        }
        let count = |key: &str| map.get(key).and_then(Value::as_u64).map(|n| n as usize);
        let (least, most) = (count("minItems").unwrap_or(0), count("maxItems"));
        self.count(pointer, least.max(most.unwrap_or(0)))?;
        if most.is_some_and(|most| most < least) {
            return Err(self.refused(pointer, "nothing satisfies the schema"));
        }
        let items = map
            .contains_key("items")
            .then(|| format!("{pointer}/items"));
        self.items(items.as_deref(), least, most, depth)
    }

    pub(super) fn items(
        &mut self,
        at: Option<&str>,
        least: usize,
        most: Option<usize>,
        depth: usize,
    ) -> Result<Node, Error> {
        let item = match (self.style(), at) {
            (Style::MiniMaxM3, None) => {
                return Err(self.refused("", "this style takes no items of any kind"));
            }
            (Style::MiniMaxM3, Some(at)) => self.m3_element("item", at, depth)?,
            (_, None) => {
                let tail = self.any_tail()?;
                Some(Node::Seq(vec![Node::text("<cofl:value type=\""), tail]))
            }
            (_, Some(at)) => self
                .cohere_tails(at, depth)?
                .map(|tails| Node::Seq(vec![Node::text("<cofl:value type=\""), tails])),
        };
        match item {
            Some(item) => Ok(Node::Repeat(Box::new(item), least, most)),
            None if least == 0 => Ok(Node::nothing()),
            None => Err(self.refused("", "no item satisfies the schema")),
        }
    }

    /// A value behind `type="`, and the element's end.
    pub(super) fn cohere_tails(
        &mut self,
        pointer: &str,
        depth: usize,
    ) -> Result<Option<Node>, Error> {
        if depth > MAX_DEPTH {
            return Err(self.refused(pointer, "the schema nests too deep"));
        }
        let kinds = self.kinds(pointer, 0)?;
        let is_any = kinds.string && kinds.scalar && kinds.object && kinds.array;
        if is_any && self.strings(pointer, 0)?.plain {
            return self.any_tail().map(Some);
        }
        let mut ways = Vec::new();
        let mut add = |word: &str, inside: Option<Node>| {
            ways.extend(inside.map(|inside| cohere_tail(word, inside)));
        };
        add("raw", self.raw(pointer, COHERE_CLOSE)?);
        if self.is_listed(pointer)? {
            // Listed values are JSON, whatever they are.
            let types = ["number", "boolean", "null", "object", "array"];
            add("json", self.json(pointer, &types)?);
        } else {
            add("json", self.rest(pointer, kinds)?);
            if kinds.object {
                add("dict", Some(self.object(pointer, depth + 1)?));
            }
            if kinds.array {
                add("list", Some(self.array(pointer, depth + 1)?));
            }
        }
        Ok((!ways.is_empty()).then_some(Node::Alt(ways)))
    }

    pub(super) fn is_listed(&self, pointer: &str) -> Result<bool, Error> {
        let map = self.map(pointer)?;
        Ok(map.is_some_and(|map| map.contains_key("enum") || map.contains_key("const")))
    }

    /// Any value behind `type="`, and the element's end: a rule, since values nest.
    pub(super) fn any_tail(&mut self) -> Result<Node, Error> {
        if let Some(rule) = self.any {
            return Ok(Node::Call(rule));
        }
        let rule = self.rules.len();
        self.rules.push(Node::nothing());
        self.any = Some(rule);
        let scalar = json!({"type": ["number", "boolean", "null"]});
        let scalar = crate::compile_schema(&scalar, self.options)?;
        let entry = Node::Seq(vec![
            Node::text("<cofl:value name=\""),
            Node::regex(ESCAPED_NAME)?,
            Node::text("\" type=\""),
            Node::Call(rule),
            self.space.clone(),
        ]);
        let item = Node::Seq(vec![Node::text("<cofl:value type=\""), Node::Call(rule)]);
        let entries = Node::optional(Node::many(entry, ""));
        let dict = Node::Seq(vec![self.space.clone(), entries]);
        self.rules[rule] = Node::Alt(vec![
            cohere_tail("raw", self.free(COHERE_CLOSE)),
            cohere_tail("json", self.spaced(Node::Json(scalar.into(), Vec::new()))),
            cohere_tail("dict", dict),
            cohere_tail("list", Node::optional(Node::many(item, ""))),
        ]);
        Ok(Node::Call(rule))
    }

    /// `]<]minimax[>[<name>`, a value, and the same with a slash.
    pub(super) fn m3_element(
        &mut self,
        name: &str,
        value: &str,
        depth: usize,
    ) -> Result<Option<Node>, Error> {
        if depth > MAX_DEPTH {
            return Err(self.refused(value, "the schema nests too deep"));
        }
        let kinds = self.kinds(value, 0)?;
        let is_any = kinds.string && kinds.scalar && kinds.object && kinds.array;
        if is_any && self.strings(value, 0)?.plain {
            return Err(self.refused(value, "this style takes no schema that allows anything"));
        }
        let mut ways = Vec::new();
        ways.extend(self.raw(value, M3_MARK)?);
        if self.is_listed(value)? {
            let types = ["number", "boolean", "null", "object", "array"];
            ways.extend(self.json(value, &types)?);
        } else {
            ways.extend(self.rest(value, kinds)?);
            if kinds.object {
                ways.push(self.object(value, depth + 1)?);
            }
            if kinds.array {
                ways.push(self.array(value, depth + 1)?);
            }
        }
        if ways.is_empty() {
            return Ok(None);
        }
        Ok(Some(Node::Seq(vec![
            Node::text(format!("{M3_MARK}<{name}>")),
            Node::Alt(ways),
            Node::text(format!("{M3_MARK}</{name}>")),
        ])))
    }
}
