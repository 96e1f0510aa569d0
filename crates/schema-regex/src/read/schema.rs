//! Reads a JSON Schema into its intermediate form.

use rustc_hash::FxHashMap;

use crate::options::Draft;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind};
use crate::ir::Status;
use crate::ir::named::Named;
use crate::ir::pointer::{Last, Pointer};
use crate::ir::{
    ALWAYS, Atom, AtomKind, Body, Items, Kinds, Members, Name, Node, NodeId, PatternEntry,
    PatternId, Schema,
};
use crate::language::formats::bounded_numbers::NumberFormat;
use crate::language::formats::{Format, HINTS};
use crate::ledger;
use crate::options::{ParseOptions, Rounded, Settings};
use crate::read::exact_numbers::{Numbers, Role};
use crate::read::json_text as text;
use crate::read::json_text::Digits;
use crate::read::references::{Place, Resolver, ScopeId, lookup};
use crate::read::survey;
use crate::settings;
use crate::settings::Overrides;

/// Reads a schema with the default [`ParseOptions`].
///
/// The draft is that of `$schema`, 2020-12 where there is none. References
/// (`$ref` to JSON Pointers, `$id`s and anchors of the same document) are
/// followed as they are met, so that unused definitions cost nothing: time and
/// memory are proportional to what is reached.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] where the schema is not one, with the pointer of the
/// keyword; [`ErrorKind::TooManyNodes`]. Keywords that cannot be enforced are
/// found later, by [`crate::to_regex`].
pub fn parse(schema: &Value) -> Result<Schema, Error> {
    parse_with(schema, &ParseOptions::default())
}

/// Reads a schema; see [`parse`].
///
/// # Errors
///
/// As [`parse`].
pub fn parse_with(schema: &Value, options: &ParseOptions) -> Result<Schema, Error> {
    parse_value(schema, options, None)
}

/// Reads a schema from its text with the default [`ParseOptions`]: as [`parse`], but
/// numbers have all the digits that were written, which a [`Value`] does not keep.
///
/// # Errors
///
/// As [`parse`], and [`ErrorKind::Invalid`] where the text is no JSON.
pub fn parse_str(schema: &str) -> Result<Schema, Error> {
    parse_str_with(schema, &ParseOptions::default())
}

/// Reads a schema from its text; see [`parse_str`].
///
/// # Errors
///
/// As [`parse_str`].
pub fn parse_str_with(schema: &str, options: &ParseOptions) -> Result<Schema, Error> {
    let read = text::read(schema, options)?;
    parse_value(&read.value, options, Some(read.digits()))
}

/// Reads a schema; `digits` are those that were written of the numbers that the value does
/// not keep, where its text is known.
fn parse_value(
    schema: &Value,
    options: &ParseOptions,
    digits: Option<Digits>,
) -> Result<Schema, Error> {
    let declared = schema
        .get("$schema")
        .and_then(Value::as_str)
        .and_then(Draft::by_uri);
    let draft = declared.unwrap_or(options.draft);
    survey::look_at(schema, draft, options.max_nesting)?;
    for (_, document) in &options.documents {
        survey::look_at(document, draft, options.max_nesting)?;
    }
    let numbers = Numbers {
        rounded: match &digits {
            // What is not among the digits is kept.
            Some(_) => Rounded::Keep,
            None => options.rounded,
        },
        digits: digits.unwrap_or_default(),
    };
    let mut read = match read_all(schema, options, draft, false, &numbers)? {
        Some(schema) => schema,
        // A dynamic reference was met: once more, with dynamic scopes.
        None => read_all(schema, options, draft, true, &numbers)?.ok_or_else(|| {
            Error::new(
                ErrorKind::Invalid,
                "",
                "the dynamic references cannot be read",
            )
        })?,
    };
    if let (Some(chosen), Settings::Follow) = (schema.get(settings::NAME), options.settings) {
        read.overrides = Overrides::read(chosen)?;
    }
    Ok(read)
}

/// `None` where dynamic scopes are needed and were not followed.
fn read_all(
    schema: &Value,
    options: &ParseOptions,
    draft: Draft,
    follow_scopes: bool,
    numbers: &Numbers,
) -> Result<Option<Schema>, Error> {
    let mut nodes = Vec::with_capacity(ROOM);
    nodes.extend([builtin(Body::Always), builtin(Body::Never)]);
    let mut reader = Reader {
        draft,
        resolver: Resolver::new(schema, draft, &options.documents, follow_scopes),
        needs_scopes: false,
        nodes,
        places: Vec::with_capacity(ROOM),
        known: None,
        todo: VecDeque::with_capacity(ROOM),
        patterns: Vec::new(),
        pattern_ids: HashMap::new(),
        max_nodes: options.max_nodes,
        settings: options.settings,
        numbers,
    };
    let root = reader.resolver.root();
    reader.node(root)?;
    while let Some((id, place)) = reader.todo.pop_front() {
        let (body, notes) = reader.read(&place)?;
        if reader.needs_scopes {
            return Ok(None);
        }
        let node = &mut reader.nodes[id.0 as usize];
        node.body = body;
        node.notes = notes;
    }
    Ok(Some(Schema {
        nodes: reader.nodes,
        patterns: reader.patterns,
        draft,
        overrides: Overrides::default(),
    }))
}

/// Room for the locations of an ordinary schema, so that lists of them do not grow
/// step by step.
const ROOM: usize = 32;

/// So many names in dynamic scopes count as one subschema.
const SCOPED: usize = 8;

/// How many nodes are at no place.
const BUILTIN: usize = 2;

fn builtin(body: Body) -> Node {
    Node {
        pointer: Pointer::default(),
        body,
        notes: Vec::new(),
    }
}

/// What each keyword of a location became.
type Notes = Vec<(Cow<'static, str>, Status)>;

struct Reader<'a> {
    draft: Draft,
    resolver: Resolver<'a>,
    /// A dynamic reference was met and dynamic scopes are not followed.
    needs_scopes: bool,
    nodes: Vec<Node>,
    /// The address and dynamic scope of each node, behind the builtin ones.
    places: Vec<(*const Value, ScopeId)>,
    /// The nodes by these, once a reference was met: without one no place is met twice.
    known: Option<FxHashMap<(*const Value, ScopeId), NodeId>>,
    todo: VecDeque<(NodeId, Place<'a>)>,
    patterns: Vec<PatternEntry>,
    pattern_ids: HashMap<String, PatternId>,
    max_nodes: usize,
    settings: Settings,
    numbers: &'a Numbers,
}

/// The keywords of one object while they are read.
struct Here<'a, 'p> {
    place: &'p Place<'a>,
    map: &'a Map<String, Value>,
    atoms: Vec<Atom>,
    notes: Notes,
    members_read: bool,
    items_read: bool,
}

impl Here<'_, '_> {
    fn push(&mut self, keyword: &'static str, kind: AtomKind) {
        self.atoms.push(Atom { keyword, kind });
    }

    fn invalid(&self, keyword: &str, message: &str) -> Error {
        Error::at(
            ErrorKind::Invalid,
            &self.place.pointer,
            keyword,
            format!("`{keyword}` {message}"),
        )
    }

    fn refused(&self, keyword: &str, message: &str) -> Error {
        Error::at(
            ErrorKind::Refused,
            &self.place.pointer,
            keyword,
            format!("`{keyword}` {message}"),
        )
    }

    fn note(&mut self, keyword: &str, status: Status) {
        self.notes.push((name_of_keyword(keyword), status));
    }

    fn get(&self, keyword: &str) -> Option<&Value> {
        lookup(self.map, keyword)
    }

    fn refuse(&mut self, keyword: &'static str, kinds: Kinds, reason: String) {
        self.note(keyword, Status::Refused(reason.clone()));
        self.push(keyword, AtomKind::Refused { kinds, reason });
    }
}

impl<'a> Reader<'a> {
    /// The node of a place; it is read later, so that nothing here recurses.
    fn node(&mut self, place: Place<'a>) -> Result<NodeId, Error> {
        let address = (std::ptr::from_ref(place.value), place.scope);
        if let Some(&id) = self.known.as_ref().and_then(|known| known.get(&address)) {
            return Ok(id);
        }
        // Names in dynamic scopes count as a part of a subschema each.
        let scoped = self.resolver.scoped() / SCOPED;
        if self.nodes.len() - BUILTIN + scoped >= self.max_nodes {
            return Err(Error::new(
                ErrorKind::TooManyNodes,
                &place.pointer,
                format!(
                    "the schema reaches more than {} subschemas; raise ParseOptions::max_nodes",
                    self.max_nodes
                ),
            ));
        }
        let id = NodeId(self.nodes.len() as u32);
        self.places.push(address);
        if let Some(known) = &mut self.known {
            known.insert(address, id);
        }
        self.nodes.push(Node {
            pointer: place.pointer.clone(),
            body: Body::Always,
            notes: Vec::new(),
        });
        self.todo.push_back((id, place));
        Ok(id)
    }

    fn child(
        &mut self,
        here: &Here<'a, '_>,
        value: &'a Value,
        keyword: &'static str,
        last: Last,
    ) -> Result<NodeId, Error> {
        match value {
            Value::Bool(true) => return Ok(ALWAYS),
            Value::Object(map) if map.is_empty() => return Ok(ALWAYS),
            Value::Bool(false) | Value::Object(_) => {}
            _ => {
                return Err(Error::new(
                    ErrorKind::Invalid,
                    &here.place.pointer.below(keyword, last),
                    format!("a schema is an object or a boolean, not {}", name_of(value)),
                ));
            }
        }
        let place = self.resolver.child(here.place, value, keyword, last);
        self.node(place)
    }

    fn children(
        &mut self,
        here: &Here<'a, '_>,
        keyword: &'static str,
        value: &'a Value,
    ) -> Result<Vec<NodeId>, Error> {
        let Some(items) = value.as_array() else {
            return Err(here.invalid(
                keyword,
                &format!("must be an array of schemas, not {}", name_of(value)),
            ));
        };
        if items.is_empty() && keyword != "items" && keyword != "prefixItems" {
            return Err(here.invalid(keyword, "must have at least one schema"));
        }
        items
            .iter()
            .enumerate()
            .map(|(i, v)| self.child(here, v, keyword, Last::Index(i)))
            .collect()
    }

    fn pattern(&mut self, source: &str) -> PatternId {
        if let Some(&id) = self.pattern_ids.get(source) {
            return id;
        }
        let id = PatternId(self.patterns.len() as u32);
        self.patterns.push(PatternEntry::new(source));
        self.pattern_ids.insert(source.to_owned(), id);
        id
    }

    fn read(&mut self, place: &Place<'a>) -> Result<(Body, Notes), Error> {
        let map = match place.value {
            Value::Bool(true) => return Ok((Body::Always, Vec::new())),
            Value::Bool(false) => return Ok((Body::Never, Vec::new())),
            Value::Object(map) => map,
            other => {
                return Err(Error::new(
                    ErrorKind::Invalid,
                    &place.pointer,
                    format!("a schema is an object or a boolean, not {}", name_of(other)),
                ));
            }
        };
        let mut here = Here {
            place,
            map,
            atoms: Vec::with_capacity(map.len()),
            notes: Vec::with_capacity(map.len()),
            members_read: false,
            items_read: false,
        };
        // Up to draft 7, nothing beside `$ref` counts.
        if self.draft < Draft::Draft201909
            && let Some(target) = lookup(map, "$ref")
            && target.is_string()
        {
            self.keyword(&mut here, "$ref", target)?;
            for key in map.keys().filter(|k| *k != "$ref") {
                here.note(key, Status::Annotation);
            }
        } else {
            for (key, value) in map {
                self.keyword(&mut here, key, value)?;
            }
        }
        let body = if here.atoms.is_empty() {
            Body::Always
        } else {
            Body::Atoms(here.atoms)
        };
        Ok((body, here.notes))
    }

    fn keyword(
        &mut self,
        here: &mut Here<'a, '_>,
        key: &'a str,
        value: &'a Value,
    ) -> Result<(), Error> {
        let before = here.notes.len();
        match key {
            "type" => here_type(here, value)?,
            "enum" | "const" if nests_deeply(value) => {
                return Err(Error::at(
                    ErrorKind::TooDeep,
                    &here.place.pointer,
                    key,
                    format!("`{key}` has a value nested more than {MAX_VALUE_DEPTH} deep"),
                ));
            }
            "enum" => match value {
                Value::Array(values) => self.values(here, "enum", values)?,
                other => {
                    return Err(
                        here.invalid(key, &format!("must be an array, not {}", name_of(other)))
                    );
                }
            },
            "const" => self.values(here, "const", std::slice::from_ref(value))?,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                bound(here, key, value, self.numbers)?;
            }
            "multipleOf" => {
                let divisor = decimal(here, key, value, self.numbers, Role::Divisor)?;
                if divisor.is_negative() || divisor.is_zero() {
                    return Err(here.invalid(key, "must be greater than 0"));
                }
                if divisor.is_multiple_of(&divisor).is_some() {
                    here.push("multipleOf", AtomKind::MultipleOf(divisor));
                } else {
                    here.refuse(
                        "multipleOf",
                        Kinds::NUMBER,
                        "the divisor has too many digits".to_owned(),
                    );
                }
            }
            "minLength" => {
                let n = count(here, key, value)?;
                here.push("minLength", AtomKind::MinLength(n));
            }
            "maxLength" => {
                let n = count(here, key, value)?;
                here.push("maxLength", AtomKind::MaxLength(n));
            }
            "pattern" => {
                let source = string(here, key, value)?;
                let id = self.pattern(source);
                here.push("pattern", AtomKind::Pattern(id));
                if let Err(e) = &self.patterns[id.0 as usize].pattern {
                    here.note(
                        key,
                        Status::Refused(format!("{} (byte {})", e.reason, e.offset)),
                    );
                }
            }
            "format" => format(here, key, value)?,
            "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" => {
                self.items(here, key, value)?;
            }
            "minItems" => {
                let n = count(here, key, value)?;
                here.push("minItems", AtomKind::MinItems(n));
            }
            "maxItems" => {
                let n = count(here, key, value)?;
                here.push("maxItems", AtomKind::MaxItems(n));
            }
            "uniqueItems" => match value {
                Value::Bool(true) => here.push("uniqueItems", AtomKind::UniqueItems),
                Value::Bool(false) => {}
                other => {
                    return Err(
                        here.invalid(key, &format!("must be a boolean, not {}", name_of(other)))
                    );
                }
            },
            "contains" => {
                let node = self.child(here, value, "contains", Last::Nothing)?;
                let limit = |name: &str| match here.get(name) {
                    Some(v) if self.draft >= Draft::Draft201909 => count(here, name, v).map(Some),
                    _ => Ok(None),
                };
                let min = limit("minContains")?.unwrap_or(1);
                let max = limit("maxContains")?;
                here.push("contains", AtomKind::Contains { node, min, max });
            }
            "properties"
            | "patternProperties"
            | "additionalProperties"
            | "unevaluatedProperties" => {
                self.members(here, key, value)?;
            }
            "required" => {
                let names = strings(here, key, value)?;
                here.push("required", AtomKind::Required(names));
            }
            "minProperties" => {
                let n = count(here, key, value)?;
                here.push("minProperties", AtomKind::MinProperties(n));
            }
            "maxProperties" => {
                let n = count(here, key, value)?;
                here.push("maxProperties", AtomKind::MaxProperties(n));
            }
            "propertyNames" => {
                let node = self.child(here, value, "propertyNames", Last::Nothing)?;
                here.push("propertyNames", AtomKind::PropertyNames(node));
            }
            "dependentRequired" | "dependentSchemas" | "dependencies" => {
                self.dependent(here, key, value)?;
            }
            "allOf" => {
                let nodes = self.children(here, "allOf", value)?;
                here.push("allOf", AtomKind::AllOf(nodes));
            }
            "anyOf" => {
                let nodes = self.children(here, "anyOf", value)?;
                here.push("anyOf", AtomKind::AnyOf(nodes));
            }
            "oneOf" => {
                let nodes = self.children(here, "oneOf", value)?;
                here.push("oneOf", AtomKind::OneOf(nodes));
            }
            "not" => {
                let node = self.child(here, value, "not", Last::Nothing)?;
                here.push("not", AtomKind::Not(node));
            }
            "if" => self.conditional(here)?,
            "then" | "else" => {
                if !here.map.contains_key("if") {
                    must_be_schema(here, key, value)?;
                    here.note(key, Status::Annotation);
                }
            }
            "$ref" => self.reference(here, key, value)?,
            "$dynamicRef" | "$recursiveRef" => {
                let keyword = if key == "$dynamicRef" {
                    "$dynamicRef"
                } else {
                    "$recursiveRef"
                };
                let text = string(here, key, value)?;
                self.reference_to(here, keyword, text)?;
            }
            "minContains" | "maxContains"
                if here.map.contains_key("contains") && self.draft >= Draft::Draft201909 => {}
            settings::NAME if self.settings == Settings::Follow => {
                if !here.place.pointer.is_root() {
                    return Err(here.invalid(key, "is read at the root of the schema alone"));
                }
            }
            "description" | "title" | "$schema" | "$id" | "$comment" => {
                self.other(here, key, value)?;
                here.note(key, Status::Annotation);
            }
            "default" => here.note(key, Status::Annotation),
            "examples" | "definitions" | "$defs" => {
                self.other(here, key, value)?;
                here.note(key, Status::Annotation);
            }
            _ => {
                self.other(here, key, value)?;
                here.note(key, ledger::status_of_other(key));
            }
        }
        if here.notes.len() == before {
            here.note(key, Status::Enforced);
        }
        Ok(())
    }

    /// The values of `enum` or `const`. A number with more digits than a value keeps is
    /// the range from it to it.
    fn values(
        &mut self,
        here: &mut Here<'a, '_>,
        keyword: &'static str,
        values: &'a [Value],
    ) -> Result<(), Error> {
        let mut listed = Vec::with_capacity(values.len());
        let mut beyond: Vec<Decimal> = Vec::new();
        for value in values {
            let is_beyond = self.numbers.digits.contains_key(&std::ptr::from_ref(value));
            if is_beyond {
                let exact = self.numbers.exact(value, Role::Value);
                beyond.push(exact.map_err(|reason| here.refused(keyword, &reason))?);
                continue;
            }
            let inside = self.numbers.inside(value);
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
            let exclusive = false;
            vec![
                AtomKind::Type {
                    kinds: Kinds::NUMBER,
                    integer: false,
                },
                AtomKind::Minimum {
                    value: value.clone(),
                    exclusive,
                },
                AtomKind::Maximum { value, exclusive },
            ]
        }));
        let nodes = ways.into_iter().map(|kinds| {
            let atoms = kinds.into_iter().map(|kind| Atom { keyword, kind });
            self.synthetic(here, atoms.collect())
        });
        let nodes = nodes.collect();
        here.push(keyword, AtomKind::AnyOf(nodes));
        Ok(())
    }

    /// A location that the schema implies without writing it, at the pointer of another.
    fn synthetic(&mut self, here: &Here<'a, '_>, atoms: Vec<Atom>) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.places.push((std::ptr::null(), here.place.scope));
        self.nodes.push(Node {
            pointer: here.place.pointer.clone(),
            body: Body::Atoms(atoms),
            notes: Vec::new(),
        });
        id
    }

    fn reference(
        &mut self,
        here: &mut Here<'a, '_>,
        key: &str,
        value: &'a Value,
    ) -> Result<(), Error> {
        let text = string(here, key, value)?;
        self.reference_to(here, "$ref", text)
    }

    fn reference_to(
        &mut self,
        here: &mut Here<'a, '_>,
        keyword: &'static str,
        text: &str,
    ) -> Result<(), Error> {
        let target = if keyword != "$ref" && self.resolver.has_dynamic_anchors() {
            self.needs_scopes |= !self.resolver.follows_scopes();
            self.resolver
                .resolve_dynamic(here.place, text, keyword == "$recursiveRef")
        } else {
            self.resolver.resolve(here.place, text)
        };
        match target {
            Ok(target) => {
                if !matches!(target.value, Value::Object(_) | Value::Bool(_)) {
                    return Err(here.invalid(
                        keyword,
                        &format!("leads to {}, which is not a schema", name_of(target.value)),
                    ));
                }
                self.known.get_or_insert_with(|| {
                    let ids = (BUILTIN as u32..).map(NodeId);
                    self.places.iter().copied().zip(ids).collect()
                });
                let node = self.node(target)?;
                here.push(keyword, AtomKind::Ref(node));
                Ok(())
            }
            Err(reason) if text.starts_with('#') => Err(here.invalid(keyword, &reason)),
            Err(reason) => {
                here.refuse(keyword, Kinds::ALL, reason);
                Ok(())
            }
        }
    }

    fn conditional(&mut self, here: &mut Here<'a, '_>) -> Result<(), Error> {
        let map = here.map;
        let mut parts = [ALWAYS; 3];
        for (part, name) in parts.iter_mut().zip(["if", "then", "else"]) {
            if let Some(schema) = lookup(map, name) {
                *part = self.child(here, schema, name, Last::Nothing)?;
            }
        }
        let [condition, then, otherwise] = parts;
        here.push(
            "if",
            AtomKind::If {
                condition,
                then,
                otherwise,
            },
        );
        Ok(())
    }

    /// `items` in both forms, with what goes with it.
    fn items(&mut self, here: &mut Here<'a, '_>, key: &str, value: &'a Value) -> Result<(), Error> {
        if key == "additionalItems" && self.draft < Draft::Draft202012 {
            must_be_schema(here, key, value)?;
        }
        // `true` constrains nothing, and evaluates all items: as `items` does.
        if key == "unevaluatedItems"
            && value != &Value::Bool(true)
            && evaluates_elsewhere(here.map, ITEM_APPLICATORS)
        {
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
        if let Some(list) = lookup(here.map, "prefixItems") {
            prefix = self.children(here, "prefixItems", list)?;
        }
        match lookup(here.map, "items") {
            Some(list @ Value::Array(_)) => {
                prefix = self.children(here, "items", list)?;
                if let Some(more) = lookup(here.map, "additionalItems") {
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
            && let Some(more) = lookup(here.map, "unevaluatedItems")
            && (more == &Value::Bool(true) || !evaluates_elsewhere(here.map, ITEM_APPLICATORS))
        {
            rest = self.child(here, more, "unevaluatedItems", Last::Nothing)?;
            said = true;
        }
        let keyword = if here.get("items").is_some() {
            "items"
        } else {
            "prefixItems"
        };
        if !prefix.is_empty() || said {
            here.push(
                keyword,
                AtomKind::Items(Items {
                    prefix,
                    rest,
                    rest_said: said,
                }),
            );
        }
        Ok(())
    }

    /// The type of a keyword that constrains nothing here, where the draft has it.
    fn other(&self, here: &Here<'a, '_>, key: &str, value: &'a Value) -> Result<(), Error> {
        use crate::options::Draft::{Draft6, Draft7, Draft201909, Draft202012};
        let wrong = |what: &str| {
            let found = name_of(value);
            Err(here.invalid(key, &format!("must be {what}, not {found}")))
        };
        let since = |draft: Draft| self.draft >= draft;
        match key {
            "$schema" | "title" | "description" if !value.is_string() => wrong("a string"),
            "$id" if since(Draft6) && !value.is_string() => wrong("a string"),
            "id" if self.draft == Draft::Draft4 && !value.is_string() => wrong("a string"),
            "$anchor" if since(Draft201909) && !value.is_string() => wrong("a string"),
            "$dynamicAnchor" if since(Draft202012) && !value.is_string() => wrong("a string"),
            "$comment" | "contentEncoding" | "contentMediaType"
                if since(Draft7) && !value.is_string() =>
            {
                wrong("a string")
            }
            "$recursiveAnchor" if self.draft == Draft201909 && !value.is_boolean() => {
                wrong("a boolean")
            }
            "readOnly" | "writeOnly" if since(Draft7) && !value.is_boolean() => wrong("a boolean"),
            "deprecated" if since(Draft201909) && !value.is_boolean() => wrong("a boolean"),
            "examples" if since(Draft6) && !value.is_array() => wrong("an array"),
            "contentSchema" if since(Draft201909) => must_be_schema(here, key, value),
            "minContains" | "maxContains" if since(Draft201909) => {
                count(here, key, value).map(|_| ())
            }
            "$vocabulary" if since(Draft201909) => match value {
                Value::Object(map) if map.values().all(Value::is_boolean) => Ok(()),
                Value::Object(_) => Err(here.invalid(key, "must have booleans as its values")),
                _ => wrong("an object of booleans"),
            },
            "definitions" | "$defs" if key == "definitions" || since(Draft201909) => match value {
                Value::Object(map) => match map.iter().find(|(_, v)| !is_schema(v)) {
                    Some((name, found)) => Err(Error::new(
                        ErrorKind::Invalid,
                        here.place
                            .pointer
                            .below("", Last::Name(key.into()))
                            .below("", Last::Name(name.as_str().into()))
                            .to_string(),
                        format!("a schema is an object or a boolean, not {}", name_of(found)),
                    )),
                    None => Ok(()),
                },
                _ => wrong("an object of schemas"),
            },
            _ => Ok(()),
        }
    }

    fn members(
        &mut self,
        here: &mut Here<'a, '_>,
        key: &str,
        value: &'a Value,
    ) -> Result<(), Error> {
        // `true` constrains nothing, and evaluates all members: as
        // `additionalProperties` does.
        if key == "unevaluatedProperties"
            && value != &Value::Bool(true)
            && evaluates_elsewhere(here.map, MEMBER_APPLICATORS)
        {
            let node = self.child(here, value, "unevaluatedProperties", Last::Nothing)?;
            here.push(
                "unevaluatedProperties",
                AtomKind::UnevaluatedProperties(node),
            );
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
        if let Some(list) = lookup(here.map, "properties") {
            let Some(map) = list.as_object() else {
                return Err(here.invalid(
                    "properties",
                    &format!("must be an object, not {}", name_of(list)),
                ));
            };
            let mut names = Vec::with_capacity(map.len());
            for (name, schema) in map {
                let name = Name::from(name.as_str());
                let last = Last::Name(Name::clone(&name));
                let node = self.child(here, schema, "properties", last)?;
                names.push((name, node));
            }
            members.names = Named::new(names);
        }
        if let Some(list) = lookup(here.map, "patternProperties") {
            let Some(map) = list.as_object() else {
                return Err(here.invalid(
                    "patternProperties",
                    &format!("must be an object, not {}", name_of(list)),
                ));
            };
            for (source, schema) in map {
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
            if let Some(schema) = lookup(here.map, name) {
                if name == "unevaluatedProperties"
                    && schema != &Value::Bool(true)
                    && evaluates_elsewhere(here.map, MEMBER_APPLICATORS)
                {
                    break;
                }
                members.additional_said = true;
                members.additional = self.child(here, schema, name, Last::Nothing)?;
                break;
            }
        }
        let keyword = if here.get("properties").is_some() {
            "properties"
        } else if here.get("patternProperties").is_some() {
            "patternProperties"
        } else {
            "additionalProperties"
        };
        here.push(keyword, AtomKind::Members(members));
        Ok(())
    }

    fn dependent(
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
        let Some(map) = value.as_object() else {
            return Err(here.invalid(key, &format!("must be an object, not {}", name_of(value))));
        };
        let mut lists = Vec::new();
        let mut schemas = Vec::new();
        for (name, item) in map {
            match item {
                Value::Array(_) if key != "dependentSchemas" => {
                    lists.push((name.as_str().into(), strings(here, key, item)?));
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

/// The name of a keyword; the usual ones are not copied.
fn name_of_keyword(keyword: &str) -> Cow<'static, str> {
    macro_rules! usual {
        ($($name:literal)*) => {
            match keyword {
                $($name => $name.into(),)*
                other => other.to_owned().into(),
            }
        };
    }
    usual! {
        "type" "description" "properties" "required" "title" "items" "additionalProperties"
        "enum" "const" "$ref" "default" "examples" "format" "pattern" "minLength" "maxLength"
        "minimum" "maximum" "exclusiveMinimum" "exclusiveMaximum" "multipleOf" "minItems"
        "maxItems" "uniqueItems" "anyOf" "oneOf" "allOf" "not" "if" "then" "else"
        "patternProperties" "propertyNames" "minProperties" "maxProperties" "dependencies"
        "contains" "prefixItems" "additionalItems" "$schema" "$id" "id" "$comment" "definitions"
        "$defs" "nullable" "example" "readOnly" "writeOnly" "deprecated"
    }
}

const ITEM_APPLICATORS: &[&str] = &["contains"];
const MEMBER_APPLICATORS: &[&str] = &["dependentSchemas", "dependencies"];

/// Whether keywords stand beside that apply schemas in place, so that these
/// may evaluate members or items.
fn evaluates_elsewhere(map: &Map<String, Value>, more: &[&str]) -> bool {
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
    .any(|k| lookup(map, k).is_some())
}

fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

/// For a keyword whose schema is not read.
fn must_be_schema(here: &Here<'_, '_>, key: &str, value: &Value) -> Result<(), Error> {
    match is_schema(value) {
        true => Ok(()),
        false => Err(here.invalid(
            key,
            &format!(
                "must be a schema, an object or a boolean, not {}",
                name_of(value)
            ),
        )),
    }
}

fn here_type(here: &mut Here<'_, '_>, value: &Value) -> Result<(), Error> {
    let mut kinds = Kinds::NONE;
    let mut integer = false;
    let names: &[Value] = match value {
        Value::Array(names) if !names.is_empty() => names,
        Value::String(_) => std::slice::from_ref(value),
        other => {
            return Err(here.invalid(
                "type",
                &format!("must be a name or a list of names, not {}", name_of(other)),
            ));
        }
    };
    for name in names {
        match name.as_str() {
            Some("null") => kinds = kinds.or(Kinds::NULL),
            Some("boolean") => kinds = kinds.or(Kinds::TRUE).or(Kinds::FALSE),
            Some("number") => kinds = kinds.or(Kinds::NUMBER),
            Some("integer") => integer = true,
            Some("string") => kinds = kinds.or(Kinds::STRING),
            Some("array") => kinds = kinds.or(Kinds::ARRAY),
            Some("object") => kinds = kinds.or(Kinds::OBJECT),
            _ => {
                return Err(here.invalid("type", &format!("has the unknown name {name}; the names are null, boolean, integer, number, string, array, object")));
            }
        }
    }
    here.push(
        "type",
        AtomKind::Type {
            kinds,
            integer: integer && !kinds.has(Kinds::NUMBER),
        },
    );
    Ok(())
}

fn bound(
    here: &mut Here<'_, '_>,
    key: &str,
    value: &Value,
    numbers: &Numbers,
) -> Result<(), Error> {
    let map = here.map;
    let flag = |name: &str| map.get(name) == Some(&Value::Bool(true));
    match (key, value) {
        // Draft 4: a flag beside the bound, read with it.
        ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => {}
        ("minimum", _) => {
            let value = decimal(here, key, value, numbers, Role::Value)?;
            here.push(
                "minimum",
                AtomKind::Minimum {
                    value,
                    exclusive: flag("exclusiveMinimum"),
                },
            );
        }
        ("maximum", _) => {
            let value = decimal(here, key, value, numbers, Role::Value)?;
            here.push(
                "maximum",
                AtomKind::Maximum {
                    value,
                    exclusive: flag("exclusiveMaximum"),
                },
            );
        }
        ("exclusiveMinimum", _) => {
            let value = decimal(here, key, value, numbers, Role::Value)?;
            here.push(
                "exclusiveMinimum",
                AtomKind::Minimum {
                    value,
                    exclusive: true,
                },
            );
        }
        _ => {
            let value = decimal(here, key, value, numbers, Role::Value)?;
            here.push(
                "exclusiveMaximum",
                AtomKind::Maximum {
                    value,
                    exclusive: true,
                },
            );
        }
    }
    Ok(())
}

/// All that a format says is said by atoms of the keyword `format`: in place
/// they hold together, and their complement is that one of them fails.
fn format(here: &mut Here<'_, '_>, key: &str, value: &Value) -> Result<(), Error> {
    let name = string(here, key, value)?;
    let (text, number) = (Format::by_name(name), NumberFormat::by_name(name));
    if let Some(format) = text {
        if let Some(reason) = format.narrowed() {
            here.note(key, Status::Narrowed(reason.to_owned()));
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
        let exact = |text: &str| Decimal::parse(text).unwrap_or_else(Decimal::zero);
        let (low, high) = (exact(format.low), exact(format.high));
        here.push(
            "format",
            match format.step {
                Some(step) => AtomKind::MultipleOf(exact(step)),
                None => AtomKind::Type {
                    kinds: Kinds::ALL.without(Kinds::NUMBER),
                    integer: true,
                },
            },
        );
        here.push(
            "format",
            AtomKind::Minimum {
                value: low,
                exclusive: false,
            },
        );
        here.push(
            "format",
            AtomKind::Maximum {
                value: high,
                exclusive: false,
            },
        );
    }
    if text.is_none() && number.is_none() {
        here.note(key, Status::Annotation);
        if !HINTS.contains(&name) {
            here.push(
                "format",
                AtomKind::UnknownFormat(format!("the format `{name}` is unknown")),
            );
        }
    }
    Ok(())
}

fn decimal(
    here: &Here<'_, '_>,
    key: &str,
    value: &Value,
    numbers: &Numbers,
    role: Role,
) -> Result<Decimal, Error> {
    let exact = numbers.exact(value, role);
    exact.map_err(|reason| match value {
        Value::Number(_) => here.refused(key, &reason),
        _ => here.invalid(key, &reason),
    })
}

/// A number that is not negative and whole; `3.0` is one.
fn count(here: &Here<'_, '_>, key: &str, value: &Value) -> Result<u64, Error> {
    let whole = value.as_u64().or_else(|| {
        value
            .as_f64()
            .filter(|f| f.fract() == 0.0 && *f >= 0.0 && *f < 1e15)
            .map(|f| f as u64)
    });
    whole.ok_or_else(|| {
        here.invalid(
            key,
            &format!("must be a whole number, 0 or more, not {}", shown(value)),
        )
    })
}

fn string<'v>(here: &Here<'_, '_>, key: &str, value: &'v Value) -> Result<&'v str, Error> {
    value
        .as_str()
        .ok_or_else(|| here.invalid(key, &format!("must be a string, not {}", name_of(value))))
}

fn strings(here: &Here<'_, '_>, key: &str, value: &Value) -> Result<Vec<Name>, Error> {
    let bad = || {
        here.invalid(
            key,
            &format!("must be an array of strings, not {}", name_of(value)),
        )
    };
    let list = value.as_array().ok_or_else(bad)?;
    let mut names = Vec::with_capacity(list.len());
    for name in list {
        names.push(name.as_str().ok_or_else(bad)?.into());
    }
    Ok(names)
}

/// The deepest nesting of a listed value.
const MAX_VALUE_DEPTH: usize = 200;

fn nests_deeply(value: &Value) -> bool {
    let mut todo = vec![(value, 0)];
    while let Some((value, depth)) = todo.pop() {
        if depth > MAX_VALUE_DEPTH {
            return true;
        }
        match value {
            Value::Array(items) => todo.extend(items.iter().map(|v| (v, depth + 1))),
            Value::Object(map) => todo.extend(map.values().map(|v| (v, depth + 1))),
            _ => {}
        }
    }
    false
}

pub(crate) fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(n) => n.to_string(),
        other => name_of(other).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ir::Status;
    use crate::ledger::{KEYWORDS, status_of_other};
    use crate::read::schema::{name_of_keyword, parse};

    #[test]
    fn keywords_keep_their_names() {
        for keyword in KEYWORDS {
            assert_eq!(name_of_keyword(keyword.name), keyword.name);
        }
        assert_eq!(name_of_keyword("x-other"), "x-other");
    }

    #[test]
    fn what_is_an_annotation_at_once_is_one_in_the_table() {
        let schema = json!({
            "description": "", "title": "", "default": 0, "examples": [], "definitions": {},
            "$defs": {}, "$schema": "", "$id": "a", "$comment": "",
        });
        let read = parse(&schema).unwrap();
        let notes = &read.nodes[2].notes;
        assert_eq!(notes.len(), 9);
        for (keyword, status) in notes {
            assert_eq!(*status, Status::Annotation);
            assert_eq!(status_of_other(keyword), Status::Annotation);
        }
    }
}
