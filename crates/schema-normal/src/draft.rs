//! The drafts of JSON Schema. For example, draft 4 names a schema by `id`, and the later ones by `$id`.

use serde_json::Value;

/// The drafts of JSON Schema that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Draft {
    /// Draft 4.
    Draft4,
    /// Draft 6.
    Draft6,
    /// Draft 7.
    Draft7,
    /// Draft 2019-09.
    Draft201909,
    /// Draft 2020-12.
    Draft202012,
}

impl Draft {
    /// The name of the draft, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Draft::Draft4 => "draft 4",
            Draft::Draft6 => "draft 6",
            Draft::Draft7 => "draft 7",
            Draft::Draft201909 => "draft 2019-09",
            Draft::Draft202012 => "draft 2020-12",
        }
    }

    /// The draft that a schema names by `$schema`.
    pub(crate) fn declared(schema: &Value) -> Option<Draft> {
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
    pub(crate) fn own_id(self, value: &Value) -> Option<&str> {
        let name = if self == Draft::Draft4 { "id" } else { "$id" };
        value.get(name)?.as_str()
    }

    /// Returns the URI that a location gives itself: beside `$ref` the older drafts ignore it.
    pub(crate) fn id_of(self, value: &Value) -> Option<&str> {
        let id = self.own_id(value)?;
        (self >= Draft::Draft201909 || value.get("$ref").is_none()).then_some(id)
    }
}
