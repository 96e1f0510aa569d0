//! The subsets of JSON Schema that providers of models take, by their public documentation.
//!
//! For example, `{"type": "string", "minLength": 2}` is enforced here; OpenAI does not say what becomes of
//! `minLength`, Anthropic refuses it, and Gemini ignores it.
//!
//! The tables are in `rules.json`, each with the address of the page it was read from and its date. Their
//! pages change; nothing is asked over a network, and what a page does not say is
//! [undocumented](Fate::Undocumented) here, whatever the provider does today.

mod conditions;
mod places;
mod rules;

use schema_regex::ledger::{General, Keyword};
use serde::Serialize;
use serde_json::Value;

use self::places::{Place, Places};
use self::rules::TABLE;
pub use self::rules::{Fate, Finding, Provider};

/// The keywords of a schema that a provider does not take.
#[derive(Debug, Serialize)]
pub struct ProviderReport {
    provider: &'static Provider,
    findings: Vec<Finding>,
}

impl ProviderReport {
    /// The provider.
    #[must_use]
    pub fn provider(&self) -> &'static Provider {
        self.provider
    }

    /// The keywords that it does not take as they stand, in the order of the schemas, outer ones first. With none
    /// the schema is taken as it is written.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// Says what OpenAI, Anthropic and Gemini do not take of a schema. All of the document is looked at, unused
/// definitions too; references are not followed.
///
/// O(keywords · depth), in memory as well.
///
/// ```
/// use tokenmold::providers::{Fate, reports};
///
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": {"name": {"type": "string", "minLength": 2}},
///     "required": ["name"],
///     "additionalProperties": false
/// });
/// let fates = reports(&schema).into_iter().map(|report| report.findings()[0].fate());
/// assert_eq!(fates.collect::<Vec<_>>(), [Fate::Undocumented, Fate::Refused, Fate::Lost]);
/// ```
#[must_use]
pub fn reports(schema: &Value) -> Vec<ProviderReport> {
    let places = Places::of(schema);
    let order: std::collections::HashMap<&str, usize> = (places.all.iter().enumerate())
        .map(|(number, place)| (&*place.pointer, number))
        .collect();
    let number = |finding: &Finding| {
        let pointer = finding.pointer();
        let outer = pointer.rsplit_once('/').map_or("", |(outer, _)| outer);
        let found = [pointer, outer].into_iter().find_map(|p| order.get(p));
        found.copied().unwrap_or(0)
    };
    let report = |provider: &'static Provider| {
        let mut findings: Vec<Finding> = places
            .all
            .iter()
            .flat_map(|p| by_name(provider, p))
            .collect();
        findings.extend(match provider.id() {
            "openai" => conditions::openai(&places),
            "anthropic" => conditions::anthropic(&places),
            _ => conditions::gemini(&places),
        });
        findings.sort_by_key(number);
        ProviderReport { provider, findings }
    };
    TABLE.providers.iter().map(report).collect()
}

/// The keywords of a schema of which the tables alone decide, and its format.
fn by_name(provider: &Provider, place: &Place) -> Vec<Finding> {
    let mut out = Vec::new();
    if place.schema.is_boolean() && place.holder != "additionalProperties" {
        let finding = Finding::new("", Fate::Undocumented, "a schema that is `true` or `false`");
        out.push(
            finding
                .at(&*place.pointer)
                .instead("a schema with a `type`"),
        );
    }
    for (name, value) in place.keywords() {
        if let Some(fate) = provider.fate(name)
            && !(fate == Fate::Lost && says_nothing(name))
        {
            let finding = Finding::new(name, fate, reason(fate));
            let finding = match says_nothing(name) {
                true => finding.instead("leave it out: it constrains nothing"),
                false => finding,
            };
            out.push(finding.at(place.of(name)));
        }
        if name == "format"
            && let Some(format) = value.as_str()
            && let Some(fate) = provider.format(format)
        {
            let why = format!(
                "`{format}` is not among the formats that are named: {}",
                provider.formats()
            );
            out.push(Finding::new(name, fate, why).at(place.of(name)).instead(
                "a `pattern`, where that is taken; else `description`, and check the answer",
            ));
        }
    }
    out
}

/// Tells whether a keyword does not say which values are right.
fn says_nothing(name: &str) -> bool {
    let silent = |general| matches!(general, General::Annotation | General::Structure);
    // Definitions are lost with the schemas in them.
    name != "definitions" && Keyword::named(name).is_none_or(|keyword| silent(keyword.general))
}

fn reason(fate: Fate) -> &'static str {
    match fate {
        Fate::Refused => "it is not supported",
        Fate::Lost => "it is ignored",
        Fate::Changed => "it means something else",
        Fate::Undocumented => {
            "it is named neither among the keywords that are taken nor among those that are not"
        }
    }
}
