//! The options that the schema of `%json` chooses by itself: those of `x-tokenmold`, and llguidance's
//! in `x-guidance`, which become those of `x-tokenmold`.
//!
//! For example, `{"x-guidance": {"whitespace_flexible": false}, "type": "array"}` has no white space.

use schema_regex::{ParseOptions, Settings, parse_with};
use serde_json::{Map, Value, json};

use crate::dialects::reader::Reader;
use crate::error::Error;
use crate::patterns::Reading;

/// The member of a schema with the options of this project: one name, because reading and compiling ask for it.
pub(crate) const SETTINGS: &str = "x-tokenmold";
/// The member of a schema with the options of llguidance, named so because its schemas are taken as they are.
const GUIDANCE: &str = "x-guidance";

/// The options of llguidance, all of them, because the error about others lists them.
const KNOWN: [&str; 8] = [
    "whitespace_flexible",
    "whitespace_pattern",
    "item_separator",
    "key_separator",
    "coerce_one_of",
    "lenient",
    "json_allowed_escapes",
    "json_allow_general_unicode_escapes",
];

/// The letters of `json_allowed_escapes` that llguidance knows and has by default.
const ESCAPES: &str = "nrbtf\\\"u";

/// Why an option cannot be followed.
enum Fault {
    /// It is none of llguidance, or has a value that it cannot have there.
    Wrong(String),
    /// It is not done here.
    Refused(&'static str),
}

/// The schema of `%json` with the options that it chooses in `x-tokenmold`: the reader stands behind it, and
/// `at` is the place of `%json`.
pub(super) fn with_options(
    r: &Reader<'_>,
    reading: Reading,
    mut schema: Value,
    at: usize,
) -> Result<Value, Error> {
    // XGrammar passes over names that it does not know, as JSON Schema says.
    let is_followed = reading != Reading::Ascii;
    if let Some(guidance) = schema.get(GUIDANCE).filter(|_| is_followed) {
        if reading != Reading::Greedy {
            return r.refuse(at, "`%json`: `x-guidance` is of the dialect `lark`: write `x-tokenmold`, as in `{\"x-tokenmold\": {\"whitespace\": \"compact\"}}`");
        }
        match read(guidance) {
            Ok(chosen) => lay_under(&mut schema, chosen),
            Err(Fault::Wrong(why)) => {
                return r.fail_at(at, format!("`%json`: `x-guidance`: {why}"));
            }
            Err(Fault::Refused(why)) => {
                return r.refuse(at, format!("`%json`: `x-guidance`: {why}"));
            }
        }
    }
    // One inside of the schema is an error, too.
    if schema.get(SETTINGS).is_some() || r.text[at..r.at].contains(SETTINGS) {
        let follow = ParseOptions::default().with_settings(Settings::Follow);
        if let Err(error) = parse_with(&schema, &follow) {
            return r.refuse(at, format!("`%json`: {error}"));
        }
    }
    Ok(schema)
}

/// Adds options to those that the schema chooses in `x-tokenmold`, which come first.
fn lay_under(schema: &mut Value, chosen: Map<String, Value>) {
    let Value::Object(fields) = schema else {
        return;
    };
    let own = fields.entry(SETTINGS).or_insert_with(|| json!({}));
    // Another type is an error later.
    if let Value::Object(own) = own {
        for (name, value) in chosen {
            own.entry(name).or_insert(value);
        }
    }
}

/// The options of `x-guidance` as those of `x-tokenmold`. The dialect's own are llguidance's
/// defaults, so that only what differs is said.
fn read(guidance: &Value) -> Result<Map<String, Value>, Fault> {
    let Value::Object(options) = guidance else {
        return Err(Fault::Wrong("it must be an object".to_owned()));
    };
    if let Some(name) = options.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        let known = KNOWN.join(", ");
        return Err(Fault::Wrong(format!(
            "there is no option `{name}`; there are {known}"
        )));
    }
    let is_on = |name: &str, default: bool| match options.get(name) {
        None => Ok(default),
        Some(Value::Bool(is_on)) => Ok(*is_on),
        Some(_) => Err(Fault::Wrong(format!("`{name}` must be true or false"))),
    };
    let text = |name: &str| match options.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        // An option without a default may be `null` there.
        Some(Value::Null) if !name.ends_with("_separator") => Ok(None),
        Some(_) => Err(Fault::Wrong(format!("`{name}` must be a string"))),
    };
    if is_on("lenient", false)? {
        return Err(Fault::Refused(
            "`lenient` is not supported, because no keyword is left out silently: write `\"coerce_one_of\": true` for `oneOf`, and take out what is refused",
        ));
    }
    if is_on("json_allow_general_unicode_escapes", false)? {
        return Err(Fault::Refused(
            "`json_allow_general_unicode_escapes` is not supported: write `{\"x-tokenmold\": {\"escapes\": \"all\"}}` for `\\uXXXX` and `\\/` in all strings",
        ));
    }
    let escapes = text("json_allowed_escapes")?.unwrap_or(ESCAPES);
    if let Some(letter) = escapes.chars().find(|letter| !ESCAPES.contains(*letter)) {
        return Err(Fault::Wrong(format!(
            "`json_allowed_escapes` has {letter:?}, which is none of `{ESCAPES}`"
        )));
    }
    if !ESCAPES.chars().all(|letter| escapes.contains(letter)) {
        return Err(Fault::Refused(
            "`json_allowed_escapes` is all of `nrbtf\\\"u` or refused: give the strings a `pattern` without the characters that need the others, as `^[^\\u0000-\\u0007\\u000b\\u000e-\\u001f]*$` does without `u`",
        ));
    }
    let mut chosen = Map::new();
    if is_on("coerce_one_of", false)? {
        chosen.insert("oneOf".to_owned(), json!("any"));
    }
    let is_flexible = is_on("whitespace_flexible", true)?;
    let pattern = text("whitespace_pattern")?;
    let separators = (
        text("item_separator")?.unwrap_or(","),
        text("key_separator")?.unwrap_or(":"),
    );
    let is_compact = match pattern {
        Some(pattern) => pattern.is_empty(),
        None => !is_flexible,
    };
    let whitespace = match (separators, pattern) {
        ((",", ":"), _) if is_compact => json!("compact"),
        // There may be none at each place, whatever the pattern says.
        ((",", ":"), Some(pattern)) => json!({ "pattern": format!("{pattern}|") }),
        ((",", ":"), None) => return Ok(chosen),
        ((", ", ": "), _) if is_compact => json!("spaced"),
        ((", ?", ": ?"), _) if is_compact => json!("single"),
        _ => {
            return Err(Fault::Refused(
                "`item_separator` and `key_separator` are `,` and `:`, or with `\"whitespace_flexible\": false` also `, ` and `: ` or `, ?` and `: ?`: write these, or leave them out",
            ));
        }
    };
    chosen.insert("whitespace".to_owned(), whitespace);
    Ok(chosen)
}
