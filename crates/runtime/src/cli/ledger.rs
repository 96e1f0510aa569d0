//! The ledger of a schema, for both kinds of readers. For example, a schema whose `default` is an
//! annotation has a row with its place, the keyword and "annotation".

use serde_json::{Value, json};
use tokenmold::schema_regex::ledger::{Entry, Status};

use super::schema::told;

/// One line for each keyword: its place, what it becomes, why.
pub(crate) fn table<'e>(entries: impl IntoIterator<Item = &'e Entry> + Clone) -> String {
    let places = entries.clone().into_iter().map(place);
    let width = places.map(|p| p.chars().count()).max().unwrap_or(0);
    let line = |e: &Entry| {
        let meant = match &e.status {
            // The status says why.
            Status::Ignored(_) => None,
            _ => e.notice().map(|meant| format!("; {meant}")),
        };
        let meant = meant.unwrap_or_default();
        format!("{:width$}  {}{meant}\n", place(e), status(&e.status))
    };
    entries.into_iter().map(line).collect()
}

/// A line for each keyword that constrains nothing although its writer may think so: one that looks like a misspelt
/// one, one of a later draft, an unknown format.
pub(crate) fn warnings(entries: &[Entry]) -> String {
    let line = |e: &Entry| Some(format!("warning: {}: {}\n", place(e), e.notice()?));
    entries.iter().filter_map(line).collect()
}

/// A line for each keyword of which texts of the result leave something out, although the schema
/// admits it.
pub(crate) fn narrowed(entries: &[Entry]) -> String {
    let narrowed = entries
        .iter()
        .filter(|entry| matches!(entry.status, Status::Narrowed(_)));
    table(narrowed)
}

/// The entries as JSON.
pub(crate) fn list(entries: &[Entry]) -> Vec<Value> {
    let line = |entry: &Entry| {
        let mut line = json!(entry);
        if let Some(reason) = line["reason"].as_str() {
            line["reason"] = told(reason).into();
        }
        line
    };
    entries.iter().map(line).collect()
}

/// Returns the number of keywords that became what.
pub(crate) fn summary(entries: &[Entry]) -> String {
    let mut counts = [0; 5];
    for e in entries {
        match e.status {
            Status::Annotation | Status::Ignored(_) => counts[1] += 1,
            Status::Narrowed(_) => counts[2] += 1,
            Status::Refused(_) => counts[3] += 1,
            Status::Loosened(_) => counts[4] += 1,
            _ => counts[0] += 1,
        }
    }
    let [enforced, annotations, narrowed, refused, loosened] = counts;
    let loosened = match loosened {
        0 => String::new(),
        n => format!(", {n} loosened"),
    };
    format!(
        "{enforced} enforced, {annotations} annotations, {narrowed} narrowed, {refused} refused{loosened}"
    )
}

fn place(entry: &Entry) -> String {
    format!("#{}", entry.pointer)
}

fn status(status: &Status) -> String {
    match (status.name(), status.reason()) {
        (name, Some(reason)) => format!("{name}: {}", told(reason)),
        (name, None) => name.to_owned(),
    }
}
