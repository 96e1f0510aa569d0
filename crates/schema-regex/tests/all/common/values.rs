//! The orders that the members of a value can have, and how deep it nests.

use schema_regex::ledger::{Entry, Status};
use serde_json::Value;

/// The texts of a value, with its members in every order: the expression asks
/// for one order, which depends on the schema.
pub(crate) fn orders(value: &Value) -> Vec<String> {
    let out: Vec<String> = match value {
        Value::Array(items) => {
            let mut out = vec![String::new()];
            for (i, item) in items.iter().enumerate() {
                let comma = if i > 0 { "," } else { "" };
                let ways = orders(item);
                out = out
                    .iter()
                    .flat_map(|o| ways.iter().map(move |w| format!("{o}{comma}{w}")))
                    .collect();
                out.truncate(500);
            }
            out.into_iter().map(|o| format!("[{o}]")).collect()
        }
        Value::Object(map) => {
            let members: Vec<(String, Vec<String>)> = map
                .iter()
                .map(|(k, v)| (Value::from(k.as_str()).to_string(), orders(v)))
                .collect();
            permutations(&members)
                .into_iter()
                .map(|o| format!("{{{o}}}"))
                .collect()
        }
        other => vec![other.to_string()],
    };
    out
}

fn permutations(members: &[(String, Vec<String>)]) -> Vec<String> {
    if members.is_empty() {
        return vec![String::new()];
    }
    let mut out = Vec::new();
    for i in 0..members.len() {
        let mut rest = members.to_vec();
        let (name, ways) = rest.remove(i);
        for tail in permutations(&rest) {
            let comma = if rest.is_empty() { "" } else { "," };
            out.extend(ways.iter().map(|way| format!("{name}:{way}{comma}{tail}")));
        }
    }
    out.truncate(2_000);
    out
}

pub(crate) fn nesting(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(nesting).max(),
        Value::Object(map) => map.values().map(nesting).max(),
        _ => return 0,
    };
    1 + inner.unwrap_or(0)
}

/// How deep values nest that nothing is said of, as the ledger tells.
pub(crate) fn depth_of_any(ledger: &[Entry]) -> usize {
    let depths = ledger.iter().filter_map(|entry| match &entry.status {
        Status::Narrowed(how) => how
            .strip_prefix("a value that is not restricted nests at most ")?
            .strip_suffix(" deep")?
            .parse()
            .ok(),
        _ => None,
    });
    depths.min().unwrap_or(usize::MAX)
}
