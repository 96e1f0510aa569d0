//! The expressions that indexes are measured on.
//!
//! `email` to `relation`, and the schemas, are those of outlines-core's own public benchmark
//! (`benchmarks/bench_regex_guide.py` and `bench_schema_guide.py` of dottxt-ai/outlines-core);
//! the character schema is that of Outlines' first benchmarks.
//!
//! For example, `date` is an expression of days, months and years with `.`, `-` or `/` between
//! them.

/// A named expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// The name in reports.
    pub name: String,
    /// The expression.
    pub regex: String,
}

/// An address of mail, as outlines-core's benchmark has it.
const EMAIL: &str = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";
/// A telephone number, as outlines-core's benchmark has it.
const COMPLEX_PHONE: &str =
    r"\+?\d{1,4}?[-.\s]?\(?\d{1,3}?\)?[-.\s]?\d{1,4}[-.\s]?\d{1,4}[-.\s]?\d{1,9}";
/// A date, as outlines-core's benchmark has it.
const DATE: &str = r"([1-9]|0[1-9]|1[0-9]|2[0-9]|3[0-1])(\.|-|/)([1-9]|0[1-9]|1[0-2])(\.|-|/)([0-9][0-9]|19[0-9][0-9]|20[0-9][0-9])|([0-9][0-9]|19[0-9][0-9]|20[0-9][0-9])(\.|-|/)([1-9]|0[1-9]|1[0-2])(\.|-|/)([1-9]|0[1-9]|1[0-9]|2[0-9]|3[0-1])";
/// An address of IPv4, as outlines-core's benchmark has it.
const IP: &str =
    r"(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)";
/// An address of a page, as outlines-core's benchmark has it.
const URL: &str = r"(https?:\/\/)?([\da-z\.-]+)\.([a-z\.]{2,6})([\/\w \.-]*)*\/?";
/// The words of an excerpt, any of which may be quoted, as outlines-core's benchmark has them.
const RELATION_WORDS: &str = "of|resulting|case|which|cultures|a|core|extreme|selflessness|spiritual|various|However|both|vary|in|other|secular|the|religious|among|moral|and|It|object|worldviews|altruism|traditional|material|aspect|or|life|beings|virtue|is|however|opposite|concern|an|practice|it|for|s|quality|religions|In|Altruism|animals|happiness|many|become|principle|human|selfishness|may|synonym";

/// The schema of a game's character, as the first benchmarks of Outlines had it.
const CHARACTER: &str = r##"{
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 10},
        "age": {"type": "integer"},
        "armor": {"enum": ["leather", "chainmail", "plate"]},
        "strength": {"type": "integer"}
    },
    "required": ["name", "age", "armor", "strength"]
}"##;

/// The schema of a recording with its artists, as outlines-core's benchmark has it.
const RECORDING: &str = r##"{
    "type": "object",
    "definitions": {
        "artist": {
            "type": "object",
            "properties": {
                "id": {"type": "number"},
                "name": {"type": "string"},
                "functions": {"type": "array", "items": {"type": "string"}}
            },
            "required": ["id", "name", "functions"]
        }
    },
    "properties": {
        "id": {"type": "number"},
        "work": {
            "type": "object",
            "properties": {
                "id": {"type": "number"},
                "name": {"type": "string"},
                "composer": {"$ref": "#/definitions/artist"}
            }
        },
        "recording_artists": {"type": "array", "items": {"$ref": "#/definitions/artist"}}
    },
    "required": ["id", "work", "recording_artists"]
}"##;

/// The set that `indexbench` measures unless it is told otherwise.
///
/// The two schemas are written as expressions by outlines-core, so that both engines index
/// the very same one; without the feature `peers` they are left out.
///
/// # Errors
///
/// outlines-core refuses a schema.
pub fn default_set() -> Result<Vec<Pattern>, String> {
    let mut set = vec![
        ("email", EMAIL.to_owned()),
        ("complex_phone", COMPLEX_PHONE.to_owned()),
        ("simple_phone", r"\+?[1-9][0-9]{7,14}".to_owned()),
        ("date", DATE.to_owned()),
        ("time", r"(0?[1-9]|1[0-2]):[0-5]\d\s?(am|pm)?".to_owned()),
        ("ip", IP.to_owned()),
        ("url", URL.to_owned()),
        ("ssn", r"\d{3}-\d{2}-\d{4}".to_owned()),
        ("relation", relation()),
        (
            "json",
            r#"\{"id": (-)?(0|[1-9][0-9]*), "name": "([^"\\\x00-\x1F\x7F-\x9F]|\\["\\])*"\}"#
                .to_owned(),
        ),
    ];
    for (name, schema) in [("character", CHARACTER), ("recording", RECORDING)] {
        if let Some(regex) = regex_of(schema)? {
            set.push((name, regex));
        }
    }
    for (name, most) in [("chars_10", 10), ("chars_100", 100), ("chars_1000", 1000)] {
        set.push((name, format!(r#""[^"\\\x00-\x1F]{{0,{most}}}""#)));
    }
    Ok(set
        .into_iter()
        .map(|(name, regex)| Pattern {
            name: name.to_owned(),
            regex,
        })
        .collect())
}

/// Reads patterns, one a line: its name, a tab, the expression. Empty lines and lines that
/// begin with `#` are left out.
///
/// # Errors
///
/// A line has no tab; the message has its number.
pub fn read(text: &str) -> Result<Vec<Pattern>, String> {
    let mut patterns = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, regex)) = line.split_once('\t') else {
            return Err(format!(
                "line {number}: expected NAME, a tab, the expression"
            ));
        };
        patterns.push(Pattern {
            name: name.to_owned(),
            regex: regex.to_owned(),
        });
    }
    Ok(patterns)
}

/// The long expression for spans of a text and their relations.
fn relation() -> String {
    let quote = r#"['"\ ,]?"#;
    let span = format!("{quote}((?:{RELATION_WORDS}){quote})+{quote}");
    let free = r"([^|\(\)\n]{1,})";
    format!(r"({span}\s\|\s{free}\s\|\s{span}(\s\|\s\({free}\s\|\s{free}\))*\n)*")
}

#[cfg(feature = "peers")]
fn regex_of(schema: &str) -> Result<Option<String>, String> {
    outlines_core::json_schema::regex_from_str(schema, None, None)
        .map(Some)
        .map_err(|e| e.to_string())
}

#[cfg(not(feature = "peers"))]
fn regex_of(_: &str) -> Result<Option<String>, String> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        for pattern in default_set().unwrap() {
            assert!(
                fsm_index::Dfa::new(&pattern.regex).is_ok(),
                "{}",
                pattern.name
            );
        }
    }

    #[test]
    fn a_file_has_a_pattern_a_line() {
        let read = |text| read(text).map(|p| p.into_iter().map(|p| p.regex).collect::<Vec<_>>());
        assert_eq!(
            read("# all\n\na\t[a-c]+\t\nb\tx"),
            Ok(vec!["[a-c]+\t".into(), "x".into()])
        );
        assert!(read("a\tb\nno tab").unwrap_err().starts_with("line 2"));
    }
}
