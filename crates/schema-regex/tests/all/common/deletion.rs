//! Deletes a keyword from a schema and asks whether the language changed: a
//! keyword that is enforced must not be inert.

use fsm_index::ByteAutomaton as _;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::ledger::Status;
use schema_regex::{ErrorKind, Options, PropertyOrder, Schema, parse};
use serde_json::Value;

/// What became of one deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// This text is admitted with the keyword or without it, not both. None is
    /// written out where it might be very long: there is one.
    Changed {
        text: Option<String>,
        admitted_with: bool,
    },
    /// Proved: neither language has a value that the other has not.
    Implied,
    /// Neither was found out; why.
    Undecided(String),
}

/// The options under which languages are compared: in any order, so that only
/// values matter; with limits that keep a large schema from taking minutes.
pub(crate) fn options() -> Options {
    Options::default()
        .with_property_order(PropertyOrder::Any)
        .with_max_steps(200_000)
}

/// A schema with what is needed to compare others with it.
pub(crate) struct Subject<'v> {
    source: &'v Value,
    schema: Schema,
    automaton: SchemaAutomaton,
    texts: Vec<String>,
}

impl<'v> Subject<'v> {
    /// `None` where the schema is refused or nothing satisfies it.
    pub(crate) fn new(source: &'v Value, texts: Vec<String>) -> Option<Subject<'v>> {
        let schema = parse(source).ok()?;
        let automaton = SchemaAutomaton::compile(schema.clone(), &options()).ok()?;
        Some(Subject {
            source,
            schema,
            automaton,
            texts,
        })
    }

    /// The pointers of the keywords that are enforced.
    pub(crate) fn keywords(&self) -> Vec<(String, String)> {
        let enforced = |s: &Status| matches!(s, Status::Enforced | Status::Narrowed(_));
        let mut out = Vec::new();
        for entry in self.automaton.ledger() {
            let there = self.source.pointer(&entry.pointer).is_some();
            if enforced(&entry.status) && there && !entry.keyword.is_empty() {
                out.push((entry.pointer, entry.keyword));
            }
        }
        out
    }

    /// Deletes the keyword that a pointer leads to.
    pub(crate) fn delete(&self, pointer: &str) -> Outcome {
        self.outcome(pointer).unwrap_or_else(Outcome::Undecided)
    }

    fn outcome(&self, pointer: &str) -> Result<Outcome, String> {
        let mut without = self.source.clone();
        let (place, name) = pointer.rsplit_once('/').ok_or("no keyword")?;
        let name = json_tree::pointer::unescape(name);
        let removed = without
            .pointer_mut(place)
            .and_then(Value::as_object_mut)
            .and_then(|map| map.shift_remove(&*name));
        removed.ok_or("not in the document")?;
        let changed = parse(&without).map_err(|e| format!("without: {:?}", e.kind()))?;
        let other = match SchemaAutomaton::compile(changed.clone(), &options()) {
            Ok(automaton) => Some(automaton),
            // Then whatever the schema admits is lost.
            Err(e) if e.kind() == ErrorKind::Unsatisfiable => None,
            Err(e) => return Err(format!("without: {:?} {}", e.kind(), short(e.message()))),
        };
        let differs = |text: &str| {
            let with = self.automaton.is_match(text.as_bytes());
            let without = other.as_ref().is_some_and(|o| o.is_match(text.as_bytes()));
            (with != without).then(|| Outcome::Changed {
                text: Some(text.to_owned()),
                admitted_with: with,
            })
        };
        if let Some(found) = self.texts.iter().find_map(|t| differs(t)) {
            return Ok(found);
        }
        // A keyword mostly takes values away; under a complement it adds some.
        let mut open = None;
        let long = counts_far(self.source);
        for (more, less, admitted_with) in [
            (&changed, &self.schema, false),
            (&self.schema, &changed, true),
        ] {
            match SchemaAutomaton::difference(more, less, &options()) {
                Ok(_) if long => {
                    return Ok(Outcome::Changed {
                        text: None,
                        admitted_with,
                    });
                }
                Ok(automaton) => {
                    let mut text = Vec::new();
                    automaton.completion(&automaton.start(), fsm_index::MAX_COMPLETION, &mut text);
                    let text = String::from_utf8_lossy(&text).into_owned();
                    return differs(&text)
                        .ok_or_else(|| panic!("{}: {pointer}: {text} is no witness", self.source));
                }
                Err(e) if e.kind() == ErrorKind::Unsatisfiable => {}
                Err(e) => open = Some(format!("{:?} {}", e.kind(), short(e.message()))),
            }
        }
        match open {
            Some(reason) => Err(reason),
            None => Ok(Outcome::Implied),
        }
    }
}

/// Whether some length or count is so large that texts past it take long.
fn counts_far(schema: &Value) -> bool {
    let mut todo = vec![schema];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    let counts = ["Length", "Items", "Properties"];
                    if counts.iter().any(|c| key.ends_with(c))
                        && value.as_u64().is_some_and(|n| n > 300)
                    {
                        return true;
                    }
                    todo.push(value);
                }
            }
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    false
}

fn short(message: &str) -> String {
    message.chars().take(70).collect()
}
