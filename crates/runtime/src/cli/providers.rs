//! The subsets of providers, for readers. For example, `#/properties/a/minLength` is a line of Anthropic's.

use std::fmt::Write as _;

use tokenmold::providers::{Fate, Finding, ProviderReport};

use super::style::{Paint, Style};

/// Most places that a line names, because the keywords of a large schema are the same everywhere.
const PLACES: usize = 3;

/// A paragraph for each provider: the keywords that it does not take as they stand, why, and what to write.
pub(crate) fn table(reports: &[ProviderReport]) -> String {
    let style = Style::for_stdout();
    let mut text = String::new();
    for report in reports {
        let (provider, findings) = (report.provider(), report.findings());
        let paint = match findings.iter().any(|f| f.fate() == Fate::Refused) {
            true => Paint::Bad,
            false => Paint::Good,
        };
        let heading = format!("{}: {}", provider.name(), verdict(findings));
        let _ = writeln!(text, "\n{}", style.paint(paint, heading));
        for same in alike(findings) {
            let _ = writeln!(text, "{}", line(&same));
        }
        let (note, read) = (provider.note(), provider.read());
        let source = format!("  {note}\n  After {} ({read}).", provider.page());
        let _ = writeln!(text, "{}", style.paint(Paint::Faint, source));
    }
    text
}

/// Tells how many keywords become what.
fn verdict(findings: &[Finding]) -> String {
    let fates = [Fate::Refused, Fate::Lost, Fate::Changed, Fate::Undocumented];
    let count = |fate| findings.iter().filter(|f| f.fate() == fate).count();
    let counts = fates.into_iter().filter(|fate| count(*fate) > 0);
    let told: Vec<String> = counts
        .map(|f| format!("{} {}", count(f), f.name()))
        .collect();
    match told.is_empty() {
        true => "taken as it is written".to_owned(),
        false => told.join(", "),
    }
}

/// The findings that differ in their places alone, in order of the first ones.
fn alike(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut groups: indexmap::IndexMap<(&str, &str), Vec<&Finding>> = indexmap::IndexMap::new();
    for finding in findings {
        let group = groups.entry((finding.keyword(), finding.why()));
        group.or_default().push(finding);
    }
    groups.into_values().collect()
}

fn line(same: &[&Finding]) -> String {
    let first = same[0];
    let places: Vec<String> = same
        .iter()
        .take(PLACES)
        .map(|f| format!("#{}", f.pointer()))
        .collect();
    let more = match same.len().saturating_sub(PLACES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let keyword = match first.keyword() {
        "" => String::new(),
        name => format!(" `{name}`"),
    };
    let write = match first.write() {
        "" => String::new(),
        write => format!("; instead: {write}"),
    };
    let (places, fate) = (places.join(", "), first.fate().name());
    format!(
        "  {fate}{keyword} at {places}{more}: {}{write}",
        first.why()
    )
}
