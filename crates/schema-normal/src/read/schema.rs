//! Reads a JSON Schema into its intermediate form. For example, `{"type": "string", "maxLength":
//! 3}` becomes a node with two atoms.

use std::collections::{HashMap, VecDeque};

use json_tree::subschemas::{self, Applied};
use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::ir::pointer::{Last, Pointer};
use crate::ir::{AtomKind, Body, Kinds, Location, NodeId, Schema, Status};
use crate::ledger;
use crate::options::Draft;
use crate::read::annotations::status_of_other;
use crate::read::exact_numbers::Numbers;
use crate::read::here::{Here, Notes, is_schema, no_schema};
use crate::read::json_text as text;
use crate::read::json_text::Digits;
use crate::read::json_text::name_of;
use crate::read::parse_options::{ParseOptions, Rounded, Settings};
use crate::read::reader::{BUILTIN, Reader};
use crate::read::references::{Place, Resolver, lookup};
use crate::read::scalars::{bound, format, multiple, types, values};
use crate::read::survey;
use crate::read::{conditions, items, members};
use crate::settings::{self, Overrides};

/// Reads a schema: what `schema_regex::parse_with` says of it.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] where the schema is not one, [`ErrorKind::TooManyNodes`].
pub fn parse_with(schema: &Value, options: &ParseOptions) -> Result<Schema, Error> {
    parse_value(schema, options, None)
}

/// Reads a schema from its text, whose numbers have all their digits.
///
/// # Errors
///
/// As [`parse_with`], and [`ErrorKind::Invalid`] where the text is no JSON.
pub fn parse_str_with(schema: &str, options: &ParseOptions) -> Result<Schema, Error> {
    let read = text::read(schema, options.max_nesting)?;
    parse_value(&read.value, options, Some(read.digits()))
}

/// Reads a schema; `digits` are those that were written of the numbers that the value does
/// not keep, where its text is known.
fn parse_value(
    schema: &Value,
    options: &ParseOptions,
    digits: Option<Digits>,
) -> Result<Schema, Error> {
    let draft = Draft::declared(schema).unwrap_or(options.draft);
    survey::look_at(schema, draft, options.max_nesting)?;
    let mut numbers = Numbers {
        rounded: match &digits {
            // A number that is not among the digits is kept.
            Some(_) => Rounded::Keep,
            None => options.rounded,
        },
        digits: digits.unwrap_or_default(),
    };
    numbers.digits.extend(options.documents.digits());
    match read_all(schema, options, draft, false, &mut numbers)? {
        Some(schema) => Ok(schema),
        // A dynamic reference was met: once more, with dynamic scopes.
        None => read_all(schema, options, draft, true, &mut numbers)?.ok_or_else(|| {
            Error::new(
                ErrorKind::Invalid,
                "",
                "the dynamic references cannot be read",
            )
        }),
    }
}

/// `None` where dynamic scopes are needed and were not followed.
fn read_all(
    schema: &Value,
    options: &ParseOptions,
    draft: Draft,
    follow_scopes: bool,
    numbers: &mut Numbers,
) -> Result<Option<Schema>, Error> {
    let mut nodes = Vec::with_capacity(ROOM);
    nodes.extend([builtin(Body::Always), builtin(Body::Never)]);
    let mut reader = Reader {
        draft,
        resolver: Resolver::new(schema, draft, numbers.rounded, options, follow_scopes),
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
    let overrides = match (schema.get(settings::NAME), options.settings) {
        (Some(chosen), Settings::Follow) => Overrides::read(chosen)?,
        _ => Overrides::default(),
    };
    let read = Schema::new(reader.nodes, reader.patterns, draft, overrides);
    Ok(Some(read))
}

/// Room for the locations of an ordinary schema, so that lists of them do not grow
/// step by step.
const ROOM: usize = 32;

fn builtin(body: Body) -> Location {
    Location {
        pointer: Pointer::default(),
        body,
        notes: Vec::new(),
    }
}

impl<'a> Reader<'a, '_> {
    fn read(&mut self, place: &Place<'a>) -> Result<(Body, Notes), Error> {
        self.draft = self.resolver.draft_at(place);
        self.numbers.rounded = self.resolver.rounded_at(place);
        let map = match place.value {
            Value::Bool(true) => return Ok((Body::Always, Vec::new())),
            Value::Bool(false) => return Ok((Body::Never, Vec::new())),
            Value::Object(map) => map,
            other => return Err(no_schema(&place.pointer, other)),
        };
        let mut here = Here {
            place,
            map,
            draft: self.draft,
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
        if ledger::is_later(key, self.draft) {
            let reason = format!("no keyword of {}, but of later drafts", self.draft.name());
            here.note(key, Status::Ignored(reason));
            return Ok(());
        }
        let before = here.notes.len();
        self.known_keyword(here, key, value)?;
        if here.notes.len() == before {
            here.note(key, Status::Enforced);
        }
        Ok(())
    }

    /// Reads a keyword that the draft knows, or an annotation; notes what is said of it, but for
    /// one that is enforced.
    fn known_keyword(
        &mut self,
        here: &mut Here<'a, '_>,
        key: &'a str,
        value: &'a Value,
    ) -> Result<(), Error> {
        if let Some(applied) = subschemas::applied(key) {
            return self.applicator(here, key, value, applied);
        }
        match key {
            "type" => types(here, value)?,
            "enum" => values(self, here, "enum", value)?,
            "const" => values(self, here, "const", value)?,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                bound(here, key, value, self.numbers)?;
            }
            "multipleOf" => multiple(here, value, self.numbers)?,
            "minLength" => counted(here, "minLength", value, AtomKind::MinLength)?,
            "maxLength" => counted(here, "maxLength", value, AtomKind::MaxLength)?,
            "pattern" => self.pattern_of_text(here, value)?,
            "format" => format(here, value)?,
            "minItems" => counted(here, "minItems", value, AtomKind::MinItems)?,
            "maxItems" => counted(here, "maxItems", value, AtomKind::MaxItems)?,
            "uniqueItems" => match value {
                Value::Bool(true) => here.push("uniqueItems", AtomKind::UniqueItems),
                Value::Bool(false) => {}
                other => return Err(here.must_be(key, "a boolean", other)),
            },
            "required" => {
                let names = here.strings(key, value)?;
                here.push("required", AtomKind::Required(names));
            }
            "minProperties" => counted(here, "minProperties", value, AtomKind::MinProperties)?,
            "maxProperties" => counted(here, "maxProperties", value, AtomKind::MaxProperties)?,
            "dependentRequired" => conditions::dependent(self, here, key, value)?,
            "$ref" => self.reference(here, "$ref", value)?,
            "$dynamicRef" => self.reference(here, "$dynamicRef", value)?,
            "$recursiveRef" => self.reference(here, "$recursiveRef", value)?,
            "minContains" | "maxContains" if here.has("contains") => {}
            settings::NAME if self.settings == Settings::Follow => {
                if !here.place.pointer.is_root() {
                    return Err(here.invalid(key, "is read at the root of the schema alone"));
                }
            }
            "default" => here.note(key, Status::Annotation),
            "description" | "title" | "$schema" | "$id" | "$comment" | "examples" => {
                self.annotation(here, key, value, Status::Annotation)?;
            }
            _ => self.annotation(here, key, value, status_of_other(key))?,
        }
        Ok(())
    }

    /// Reads a keyword that holds schemas, by the part of a value to which it applies them.
    fn applicator(
        &mut self,
        here: &mut Here<'a, '_>,
        key: &'a str,
        value: &'a Value,
        applied: Applied,
    ) -> Result<(), Error> {
        match applied {
            Applied::InPlace => {
                let (keyword, kind): (_, fn(_) -> _) = match key {
                    "allOf" => ("allOf", AtomKind::AllOf),
                    "anyOf" => ("anyOf", AtomKind::AnyOf),
                    _ => ("oneOf", AtomKind::OneOf),
                };
                let nodes = self.children(here, keyword, value)?;
                here.push(keyword, kind(nodes));
                Ok(())
            }
            Applied::OnCondition => conditions::conditions(self, here, key, value),
            Applied::Members => members::members(self, here, key, value),
            Applied::MemberNames => {
                let node = self.child(here, value, "propertyNames", Last::Nothing)?;
                here.push("propertyNames", AtomKind::PropertyNames(node));
                Ok(())
            }
            Applied::Items => items::items(self, here, key, value),
            Applied::SomeItems => items::contains(self, here, value),
            Applied::Nowhere => self.annotation(here, key, value, Status::Annotation),
            Applied::Content => self.annotation(here, key, value, status_of_other(key)),
        }
    }

    fn reference(
        &mut self,
        here: &mut Here<'a, '_>,
        keyword: &'static str,
        value: &Value,
    ) -> Result<(), Error> {
        let text = here.string(keyword, value)?;
        let target = if keyword != "$ref" && self.resolver.has_dynamic_anchors() {
            self.needs_scopes |= !self.resolver.follows_scopes();
            self.resolver
                .resolve_dynamic(here.place, text, keyword == "$recursiveRef")
        } else {
            self.resolver.resolve(here.place, text)
        };
        match target {
            Ok(target) => {
                if !is_schema(target.value) {
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

    fn pattern_of_text(&mut self, here: &mut Here<'a, '_>, value: &Value) -> Result<(), Error> {
        let source = here.string("pattern", value)?;
        let id = self.pattern(source);
        here.push("pattern", AtomKind::Pattern(id));
        if let Err(e) = &self.patterns[id.0 as usize].pattern {
            let reason = format!("{} (byte {})", e.reason, e.offset);
            here.note("pattern", Status::Refused(reason));
        }
        Ok(())
    }
}

/// A keyword whose value is a count.
fn counted(
    here: &mut Here<'_, '_>,
    keyword: &'static str,
    value: &Value,
    kind: impl FnOnce(u64) -> AtomKind,
) -> Result<(), Error> {
    let count = here.count(keyword, value)?;
    here.push(keyword, kind(count));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ir::Status;
    use crate::ledger::KEYWORDS;
    use crate::read::annotations::status_of_other;
    use crate::read::here::name_of_keyword;
    use crate::read::parse_options::ParseOptions;
    use crate::read::schema::parse_with;

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
        let read = parse_with(&schema, &ParseOptions::default()).unwrap();
        let notes = &read.nodes[2].notes;
        assert_eq!(notes.len(), 9);
        for (keyword, status) in notes {
            assert_eq!(*status, Status::Annotation);
            assert_eq!(status_of_other(keyword), Status::Annotation);
        }
    }
}
