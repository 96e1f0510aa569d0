//! The drafts as a schema names them. For example, draft 4 names a schema by `id`, and the later ones by `$id`.

use serde_json::Value;

use crate::options::Draft;

impl Draft {
    /// The name of the draft, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Draft::Draft4 => "draft 4",
            Draft::Draft6 => "draft 6",
            Draft::Draft7 => "draft 7",
            Draft::Draft201909 => "draft 2019-09",
            Draft::Draft202012 => "draft 2020-12",
        }
    }

    /// The draft that a schema names by `$schema`.
    pub(super) fn declared(schema: &Value) -> Option<Draft> {
        Draft::by_uri(schema.get("$schema")?.as_str()?)
    }

    fn by_uri(uri: &str) -> Option<Draft> {
        [
            ("draft-04", Draft::Draft4),
            ("draft-06", Draft::Draft6),
            ("draft-07", Draft::Draft7),
            ("draft/2019-09", Draft::Draft201909),
            ("draft/2020-12", Draft::Draft202012),
        ]
        .into_iter()
        .find(|(name, _)| uri.contains("json-schema.org/") && uri.contains(name))
        .map(|(_, draft)| draft)
    }

    /// Returns the URI that a whole document gives itself: where nothing else is known of where it was found,
    /// its references begin there, also if a `$ref` stands beside.
    pub(super) fn own_id(self, value: &Value) -> Option<&str> {
        let name = if self == Draft::Draft4 { "id" } else { "$id" };
        value.get(name)?.as_str()
    }

    /// Returns the URI that a location gives itself: beside `$ref` the older drafts ignore it.
    pub(super) fn id_of(self, value: &Value) -> Option<&str> {
        let id = self.own_id(value)?;
        (self >= Draft::Draft201909 || value.get("$ref").is_none()).then_some(id)
    }
}
