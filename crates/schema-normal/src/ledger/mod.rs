//! The fate of each keyword: in general, and at each location of a schema. For example, `propertys`
//! at the root is ignored, and `properties` is suggested.

pub mod table;

pub use crate::ir::Status;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::error::{Error, ErrorKind};
use crate::ir::{AtomKind, Location, Schema};
use crate::options::{Draft, Formats, OneOf, Options, Target, UnknownKeywords};

pub use crate::ledger::table::{General, KEYWORDS, Keyword, markdown};

/// One line of a schema's ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The JSON Pointer of the keyword.
    pub pointer: String,
    /// Its name.
    pub keyword: String,
    /// The fate of the keyword.
    pub status: Status,
}

/// An object with `pointer`, `keyword`, `status` (`enforced`, `annotation`, `narrowed`, `loosened`
/// or `refused`), where there is one `reason`, and where the keyword looks misspelt `suggestion`.
#[cfg(feature = "serde")]
impl serde::Serialize for Entry {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;

        let (status, reason) = (self.status.name(), self.status.reason());
        let suggestion = self.suggestion();
        let fields = 3 + usize::from(reason.is_some()) + usize::from(suggestion.is_some());
        let mut entry = serializer.serialize_struct("Entry", fields)?;
        entry.serialize_field("pointer", &self.pointer)?;
        entry.serialize_field("keyword", &self.keyword)?;
        entry.serialize_field("status", status)?;
        if let Some(reason) = reason {
            entry.serialize_field("reason", reason)?;
        }
        if let Some(suggestion) = suggestion {
            entry.serialize_field("suggestion", suggestion)?;
        }
        entry.end()
    }
}

impl Entry {
    /// An entry for the location at `pointer` as a whole, which no keyword is named for.
    #[must_use]
    pub fn of_location(pointer: String, status: Status) -> Entry {
        Entry {
            pointer,
            keyword: String::new(),
            status,
        }
    }

    /// The keyword that was probably meant, where this one is unknown and looks like a
    /// misspelt one: `min_length` and `minLenght` for `minLength`, `item` for `items`. An
    /// unknown keyword constrains nothing, so that a slip goes unnoticed otherwise.
    ///
    /// O(keywords).
    ///
    /// ```
    /// use schema_regex::{Options, parse};
    /// use serde_json::json;
    ///
    /// let schema = parse(&json!({"type": "object", "propertys": {"a": {}}, "x-note": ""}))?;
    /// let ledger = schema.ledger(&Options::default());
    /// let meant: Vec<_> = ledger.iter().filter_map(|entry| entry.suggestion()).collect();
    /// assert_eq!(meant, ["properties"]);
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    #[must_use]
    pub fn suggestion(&self) -> Option<&'static str> {
        match self.status {
            Status::Annotation => meant_by(&self.keyword),
            _ => None,
        }
    }
}

impl Entry {
    /// The notice about a keyword that constrains nothing although its writer may think so: why it
    /// is ignored, or the keyword that was probably meant.
    ///
    /// O(keywords).
    ///
    /// ```
    /// use schema_regex::{Options, parse};
    /// use serde_json::json;
    ///
    /// let schema = parse(&json!({"propertys": {}, "format": "colour"}))?;
    /// let ledger = schema.ledger(&Options::default());
    /// let notices: Vec<_> = ledger.iter().filter_map(|entry| entry.notice()).collect();
    /// assert!(notices.contains(&"unknown, did you mean `properties`?".to_owned()));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        match &self.status {
            Status::Ignored(why) => Some(why.clone()),
            _ => Some(format!("unknown, did you mean `{}`?", self.suggestion()?)),
        }
    }
}

/// The known keyword that an unknown one is a slip of, if one is near enough.
fn meant_by(unknown: &str) -> Option<&'static str> {
    // Extensions have names of their own, and what is longer is no slip of any keyword.
    if Keyword::named(unknown).is_some() || unknown.starts_with("x-") || unknown.len() > 40 {
        return None;
    }
    let plain = |name: &str| -> String {
        let letters = name.chars().filter(|c| !"_-$ ".contains(*c));
        letters.flat_map(char::to_lowercase).collect()
    };
    let unknown = plain(unknown);
    let near = |known: &Keyword| {
        let known = plain(known.name);
        let shorter = known.len().min(unknown.len());
        // One slip in a short word, two in a long one; three letters are too few to tell.
        let most = match shorter {
            0..3 => 0,
            3..6 => 1,
            _ => 2,
        };
        let slips = strsim::osa_distance(&known, &unknown);
        (slips <= most && (slips == 0 || known.len() > 3)).then_some(slips)
    };
    let found = KEYWORDS.iter().filter(|known| !known.name.contains('*'));
    let found = found.filter_map(|known| Some((near(known)?, known.name)));
    found.min_by_key(|(slips, _)| *slips).map(|(_, name)| name)
}

/// Says whether a keyword that constrains something came with a later draft than this one.
pub(crate) fn is_later(name: &str, draft: Draft) -> bool {
    let is_later = |known: &Keyword| known.constrains() && known.first().is_some_and(|d| d > draft);
    draft < Draft::Draft202012 && Keyword::named(name).is_some_and(is_later)
}

impl Schema {
    /// Refuses the first keyword that no draft has, or that came with a later one, if the options
    /// ask for that.
    pub fn refuse_unknown(&self, options: &Options) -> Result<(), Error> {
        if options.unknown_keywords == UnknownKeywords::Ignore {
            return Ok(());
        }
        let refused = |node: &Location, keyword: &str, why: String| {
            let message = format!("`{keyword}` {why}; Options::unknown_keywords has it ignored");
            Error::at(ErrorKind::Refused, &node.pointer, keyword, message)
        };
        for node in &self.nodes {
            for (keyword, status) in &node.notes {
                match status {
                    Status::Annotation
                        if !keyword.starts_with("x-") && Keyword::named(keyword).is_none() =>
                    {
                        let why = match meant_by(keyword) {
                            Some(meant) => format!("is no keyword, did you mean `{meant}`?"),
                            None => "is no keyword".to_owned(),
                        };
                        return Err(refused(node, keyword, why));
                    }
                    Status::Ignored(why)
                        if keyword != "format"
                            && Keyword::named(keyword)
                                .is_none_or(|known| known.general != General::Annotation) =>
                    {
                        return Err(refused(node, keyword, format!("is {why}")));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The entries of keywords that constrain nothing although their writer may think so: those that are ignored,
    /// and those that look like misspelt ones. The others take no time.
    pub fn notices(&self, options: &Options) -> Vec<Entry> {
        let mut meant: HashMap<&str, bool> = HashMap::new();
        let mut entries =
            self.entries_of(options, Target::Automaton, |keyword, status| match status {
                Status::Ignored(_) => true,
                Status::Annotation => *meant
                    .entry(keyword)
                    .or_insert_with(|| meant_by(keyword).is_some()),
                _ => false,
            });
        // If formats are annotations by choice, an unknown one is no surprise.
        entries.retain(|entry| entry.notice().is_some());
        entries
    }

    /// Returns the reader's entries for keywords that are wanted, once for each.
    fn entries_of<'s>(
        &'s self,
        options: &Options,
        target: Target,
        mut is_wanted: impl FnMut(&'s str, &Status) -> bool,
    ) -> Vec<Entry> {
        let mut out: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        for node in &self.nodes {
            for (keyword, status) in &node.notes {
                if !is_wanted(keyword, status) {
                    continue;
                }
                let pointer = format!("{}/{}", node.pointer, json_tree::pointer::escape(keyword));
                if !seen.insert(pointer.clone()) {
                    continue;
                }
                let mut status = status.clone();
                if keyword == "format" {
                    status = self.format_status(node, options, target, status);
                }
                if keyword == "oneOf" && options.one_of == OneOf::Any && status == Status::Enforced
                {
                    status =
                        Status::Loosened("taken as `anyOf`, as Options::one_of asks".to_owned());
                }
                out.push(Entry {
                    pointer,
                    keyword: keyword.to_string(),
                    status,
                });
            }
        }
        out
    }

    fn format_status(
        &self,
        node: &Location,
        options: &Options,
        target: Target,
        status: Status,
    ) -> Status {
        if options.formats == Formats::Annotate {
            return Status::Annotation;
        }
        for atom in node.atoms().iter().filter(|a| a.keyword == "format") {
            match &atom.kind {
                AtomKind::UnknownFormat(why) if options.formats == Formats::Strict => {
                    return Status::Refused(why.clone());
                }
                AtomKind::Format(format) if target == Target::Expression => {
                    if let Some(why) = format.narrowed(target) {
                        return Status::Narrowed(why.to_owned());
                    }
                }
                _ => {}
            }
        }
        status
    }

    /// Returns the fate of each keyword that the schema reaches, once the compilation is done: the
    /// places that it narrowed, and the error with which it ended. O(keywords) look-ups.
    #[must_use]
    pub fn entries(
        &self,
        options: &Options,
        target: Target,
        narrowed: &Narrowed,
        error: Option<&Error>,
    ) -> Vec<Entry> {
        let mut out = self.entries_of(options, target, |_, _| true);
        finish(&mut out, narrowed, error);
        out
    }
}

/// The places at which something was narrowed: a location, a keyword, how.
pub type Narrowed = BTreeSet<(String, &'static str, String)>;

/// Adds what the compilation found.
fn finish(entries: &mut Vec<Entry>, narrowed: &Narrowed, error: Option<&Error>) {
    for (pointer, keyword, how) in narrowed {
        let pointer = match *keyword {
            "" => pointer.clone(),
            keyword => format!("{pointer}/{}", json_tree::pointer::escape(keyword)),
        };
        let status = Status::Narrowed(how.clone());
        // Beside the keywords a place may be narrowed in several ways.
        let same =
            |e: &&mut Entry| e.pointer == pointer && e.keyword == *keyword && !keyword.is_empty();
        match entries.iter_mut().find(same) {
            Some(entry) => entry.status = status,
            None => entries.push(Entry {
                pointer,
                keyword: (*keyword).to_owned(),
                status,
            }),
        }
    }
    match error {
        // An empty language, a reference that leads nowhere or a wrong option
        // are no fault of a keyword.
        Some(error) if error.kind() == ErrorKind::Unsatisfiable => {}
        Some(error) => {
            let status = Status::Refused(error.message().to_owned());
            match entries.iter_mut().find(|e| e.pointer == error.pointer()) {
                Some(entry) => entry.status = status,
                None => entries.push(Entry {
                    pointer: error.pointer().to_owned(),
                    keyword: error.keyword().unwrap_or("").to_owned(),
                    status,
                }),
            }
        }
        // A keyword that could not be said did not matter: values of its kind are forbidden by its
        // neighbours.
        None => {
            for entry in entries {
                if let Status::Refused(_) = entry.status {
                    entry.status = Status::Enforced;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::meant_by;

    #[test]
    fn slips_are_told_from_names() {
        for (slip, meant) in [
            ("propertys", "properties"),
            ("propreties", "properties"),
            ("require", "required"),
            ("item", "items"),
            ("enums", "enum"),
            ("min_length", "minLength"),
            ("max-items", "maxItems"),
            ("additional_properties", "additionalProperties"),
            ("anyof", "anyOf"),
            ("Type", "type"),
            ("ref", "$ref"),
        ] {
            assert_eq!(meant_by(slip), Some(meant), "{slip}");
        }
        for own in [
            "properties",
            "x-order",
            "note",
            "unit",
            "widget",
            "label",
            "order",
            "group",
            "hidden",
            "min",
            "max",
            "name",
            "form",
            "a",
            "",
            "version",
            "tags",
        ] {
            assert_eq!(meant_by(own), None, "{own}");
        }
    }
}
