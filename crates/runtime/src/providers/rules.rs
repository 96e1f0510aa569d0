//! The table of keywords of each provider, and a line of a report. For example, the row of OpenAI
//! lists `allOf` among the keywords that are refused.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The fate of a keyword at a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Fate {
    /// The documentation says that the request fails.
    Refused,
    /// The documentation says that it is ignored, or not kept to.
    Lost,
    /// The documentation says that it means something else.
    Changed,
    /// The documentation does not say.
    Undocumented,
}

impl Fate {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fate::Refused => "refused",
            Fate::Lost => "lost",
            Fate::Changed => "changed",
            Fate::Undocumented => "undocumented",
        }
    }
}

/// A keyword of a schema that a provider does not take as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pointer: String,
    keyword: String,
    fate: Fate,
    why: String,
    write: String,
}

impl Finding {
    /// The JSON Pointer of the keyword; where one is missing, that of the schema that it is missing from.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The name of the keyword.
    #[must_use]
    pub fn keyword(&self) -> &str {
        &self.keyword
    }

    /// The fate of the keyword.
    #[must_use]
    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// The reason, after the documentation.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }

    /// The words to write instead; empty where nothing helps.
    #[must_use]
    pub fn write(&self) -> &str {
        &self.write
    }

    pub(super) fn new(keyword: &str, fate: Fate, why: impl Into<String>) -> Finding {
        Finding {
            pointer: String::new(),
            keyword: keyword.to_owned(),
            fate,
            why: why.into(),
            write: TABLE.instead(keyword),
        }
    }

    pub(super) fn at(self, pointer: impl Into<String>) -> Finding {
        let pointer = pointer.into();
        Finding { pointer, ..self }
    }

    pub(super) fn instead(self, write: impl Into<String>) -> Finding {
        let write = write.into();
        Finding { write, ..self }
    }
}

/// A provider, as its documentation describes it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Provider {
    id: String,
    name: String,
    page: String,
    read: String,
    note: String,
    #[serde(skip_serializing)]
    taken: Vec<String>,
    #[serde(skip_serializing)]
    refused: Vec<String>,
    #[serde(skip_serializing)]
    others: Fate,
    #[serde(skip_serializing)]
    formats: Vec<String>,
    #[serde(skip_serializing)]
    other_formats: Fate,
}

impl Provider {
    /// A short name for programs: `openai`, `anthropic` or `gemini`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the provider and of the feature.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address of its documentation.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.page
    }

    /// The part of the page, and its date.
    #[must_use]
    pub fn read(&self) -> &str {
        &self.read
    }

    /// A note that holds of every schema.
    #[must_use]
    pub fn note(&self) -> &str {
        &self.note
    }

    /// Says by the lists what becomes of a keyword; `None` where it is taken.
    pub(super) fn fate(&self, keyword: &str) -> Option<Fate> {
        if self.taken.iter().any(|taken| taken == keyword) {
            return None;
        }
        let refused = self.refused.iter().any(|refused| refused == keyword);
        Some(if refused { Fate::Refused } else { self.others })
    }

    /// Says by the list of formats what becomes of one; `None` where it is taken.
    pub(super) fn format(&self, format: &str) -> Option<Fate> {
        let taken = self.formats.iter().any(|taken| taken == format);
        (!taken).then_some(self.other_formats)
    }

    pub(super) fn formats(&self) -> String {
        self.formats.join(", ")
    }
}

/// The content of `rules.json`.
#[derive(Debug, Deserialize)]
pub(super) struct Table {
    instead: HashMap<String, String>,
    pub(super) providers: Vec<Provider>,
}

impl Table {
    fn instead(&self, keyword: &str) -> String {
        let own = self.instead.get(keyword).map(String::as_str);
        own.unwrap_or("leave it out; say it in `description`, and check the answer")
            .to_owned()
    }
}

/// The table, read once. A test reads it, so that it cannot fail in a program.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("rules.json")).unwrap_or_else(|_| Table {
        instead: HashMap::new(),
        providers: Vec::new(),
    })
});

#[cfg(test)]
mod tests {
    use schema_regex::ledger::Keyword;

    use super::TABLE;

    #[test]
    fn the_table_names_keywords_that_there_are() {
        assert_eq!(TABLE.providers.len(), 3);
        for provider in &TABLE.providers {
            for name in provider.taken.iter().chain(&provider.refused) {
                // Google's own, which no draft has.
                let known = name == "propertyOrdering" || Keyword::named(name).is_some();
                assert!(known, "{}: {name}", provider.id);
            }
            let twice = provider.taken.iter().find(|t| provider.refused.contains(t));
            assert_eq!(twice, None, "{}", provider.id);
        }
        for name in TABLE.instead.keys() {
            assert!(Keyword::named(name).is_some(), "{name}");
        }
    }
}
