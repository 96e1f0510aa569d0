//! The meaning of `%json`.
//!
//! For example, XGrammar's `oneOf` is an `anyOf`: the first alternative that holds is enough.

use json_tree::subschemas::{self, Applied};
use schema_regex::{
    AdditionalMembers, Escapes, Options, ParseOptions, Settings, Whitespace, parse_with,
};
use serde_json::{Value, json};

use crate::dialects::lark::SETTINGS;
use crate::patterns::Reading;

/// A schema as a dialect reads it, and how: with white space as JSON allows it, and properties
/// in the order in which the schema has them. The dialects differ in how characters may be
/// spelt, and XGrammar's in what some keywords mean. The schema's own `x-tokenmold`, which was
/// checked when the grammar was read, comes last.
pub(crate) fn read(schema: &Value, reading: Reading) -> (Value, Options) {
    let mut options = Options::default();
    options.whitespace = Whitespace::Pattern("[ \\t\\n\\r]*".to_owned());
    options.escapes = match reading {
        Reading::Greedy => Escapes::Shortest,
        Reading::Splits | Reading::Ascii => Escapes::All,
    };
    let mut schema = schema.clone();
    if reading == Reading::Ascii {
        // An object has the properties that are written, unless it says more.
        options.additional_members = AdditionalMembers::Closed;
        if strict(&mut schema) {
            options.escapes = Escapes::Shortest;
        }
    }
    let options = chosen(&schema, options);
    (schema, options)
}

/// The options with those that a schema chooses by itself.
fn chosen(schema: &Value, options: Options) -> Options {
    let Some(chosen) = schema.get(SETTINGS) else {
        return options;
    };
    let reading = ParseOptions::default().with_settings(Settings::Follow);
    let read = parse_with(&json!({ SETTINGS: chosen }), &reading);
    debug_assert!(read.is_ok(), "it was read before");
    match read {
        Ok(read) => read.options(&options),
        Err(_) => options,
    }
}

/// Rewrites a schema to what XGrammar makes of it: the first of several alternatives that holds is
/// enough, a tuple has no further items, and a string with a pattern or a bounded length is spelt
/// without escapes, the pattern being of the whole string. Tells whether it has such strings. Calls
/// in calls, as deep as the schema, which was read as JSON.
fn strict(schema: &mut Value) -> bool {
    let Value::Object(fields) = schema else {
        return false;
    };
    let mut is_raw = false;
    for (name, value) in fields.iter_mut() {
        let all = subschemas::inside_mut(name, value);
        is_raw = all.fold(is_raw, |raw, one| strict(one) | raw);
    }
    if let Some(all) = fields.remove("oneOf") {
        match fields.contains_key("anyOf") {
            false => fields.insert("anyOf".to_owned(), all),
            true => fields.insert("oneOf".to_owned(), all),
        };
    }
    let mut of_items = fields
        .keys()
        .filter(|name| subschemas::applied(name) == Some(Applied::Items));
    if of_items.next().is_some_and(|name| name == "prefixItems") && of_items.next().is_none() {
        fields.insert("items".to_owned(), Value::Bool(false));
    }
    let bounds = ["pattern", "minLength", "maxLength"];
    if bounds.iter().all(|name| !fields.contains_key(*name)) {
        return is_raw;
    }
    if let Some(Value::String(pattern)) = fields.get_mut("pattern") {
        let inner = pattern.strip_prefix('^').unwrap_or(pattern);
        let inner = match inner.strip_suffix('$') {
            Some(before) if !before.ends_with('\\') => before,
            _ => inner,
        };
        // Only a space, of all blanks, stands in a string as it is.
        *pattern = format!("^(?:{})$", inner.replace(r"\s", " "));
    }
    let raw = json!({ "pattern": r#"^[^"\\\x00-\x1F]*$"# });
    match fields.get_mut("allOf") {
        Some(Value::Array(all)) => all.push(raw),
        _ => {
            fields.insert("allOf".to_owned(), json!([raw]));
        }
    }
    true
}
