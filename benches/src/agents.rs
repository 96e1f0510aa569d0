//! Golden cases of AgentScope's text parsers, brought into one shape with what ours answer. For
//! example, a record of the parser `TaggedContent` has the tags that it reads in `args`, and
//! `expected_parsed` or an `error`.

use response_parser::agentscope::{
    CodeBlock, DataModel, Hint, JsonDict, JsonObject, Keys, MissingKeys, MultiTagged, Parsed,
    RegexTagged, Select, TaggedContent, TextParser,
};
use response_parser::{Error, ErrorKind, Unrepresentable};
use serde_json::{Map, Value, json};

/// Returns the reference's answer: its error, or each output that the record has.
pub(crate) fn expected(record: &Value) -> Value {
    let mut out = Map::new();
    if let Some(error) = record.get("error") {
        out.insert("error".into(), expected_error(error));
    }
    for key in [
        "expected_parsed",
        "expected_str",
        "text_after",
        "format_instruction",
        "to_memory",
        "to_content",
        "to_metadata",
    ] {
        if let Some(value) = record.get(key) {
            out.insert(key.into(), value.clone());
        }
    }
    for step in [
        "format_instruction",
        "to_memory",
        "to_content",
        "to_metadata",
    ] {
        if let Some(error) = record.get(format!("{step}_error")) {
            out.insert(format!("{step}_error"), name(error));
        }
    }
    Value::Object(out)
}

/// The name and message of an error that a user of the parser sees.
fn name(error: &Value) -> Value {
    match error["type"].as_str() {
        // The accident of a null where keys are wanted; ours has a message of its own.
        Some("TypeError") => json!("TypeError"),
        _ => json!([error["type"], error["message"]]),
    }
}

fn expected_error(error: &Value) -> Value {
    match error["type"].as_str() {
        // No text, or a pattern that cannot work: ours have messages of their own.
        Some("ValueError" | "AttributeError" | "IndexError" | "AssertionError" | "TypeError") => {
            json!("misuse")
        }
        _ => json!({
            "type": error["type"],
            "message": error["message"],
            "raw_response": error["raw_response"],
            "missing": [error["missing_begin_tag"], error["missing_end_tag"]],
        }),
    }
}

fn our_error(error: &Error) -> Value {
    let kind = match error.kind() {
        ErrorKind::TagNotFound
        | ErrorKind::JsonParsing
        | ErrorKind::JsonType
        | ErrorKind::RequiredFieldNotFound => error
            .feedback()
            .split(':')
            .next()
            .unwrap_or_default()
            .to_owned(),
        _ => return json!("misuse"),
    };
    let missing = error.missing_tags();
    json!({
        "type": kind,
        "message": error.message(),
        "raw_response": error.raw_response(),
        "missing": [missing.map(|tags| tags.begin), missing.map(|tags| tags.end)],
    })
}

/// Returns the answer of this crate to the same record.
pub(crate) fn outcome(record: &Value) -> Value {
    let mut out = Map::new();
    if record["parser"] == json!("TaggedContent") {
        match tag(&record["args"]) {
            Some(tag) => out.insert("expected_str".into(), tag.to_string().into()),
            None => out.insert("error".into(), json!("misuse")),
        };
        return Value::Object(out);
    }
    if let Err(error) = run(record, &mut out) {
        out.insert("error".into(), our_error(&error));
        // A parser that could not be made has no instruction; the reference made it.
        if let (true, Some(instruction)) = (
            record["error"]["stage"] == json!("parse"),
            record.get("format_instruction"),
        ) && !out.contains_key("format_instruction")
        {
            out.insert("format_instruction".into(), instruction.clone());
            if let Some(error) = record.get("format_instruction_error") {
                out.insert("format_instruction_error".into(), name(error));
            }
        }
    }
    Value::Object(out)
}

fn run(record: &Value, out: &mut Map<String, Value>) -> Result<(), Error> {
    let args = &record["args"];
    let hint = match args.get("content_hint") {
        None | Some(Value::Null) => Hint::Placeholder,
        Some(hint) => hint.clone().into(),
    };
    let strings = |key: &str| -> Vec<String> {
        let items = args[key].as_array().into_iter().flatten();
        items
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    let tag_mode = Unrepresentable::Tag;
    match record["parser"].as_str().unwrap_or_default() {
        "MarkdownJsonObjectParser" => {
            let parser = JsonObject::new()
                .with_hint(hint)
                .with_unrepresentable(tag_mode);
            parsed(record, &parser, out).map(drop)
        }
        "MarkdownCodeBlockParser" => {
            let language = args["language_name"].as_str().unwrap_or_default();
            parsed(record, &CodeBlock::new(language).with_hint(hint), out).map(drop)
        }
        "MarkdownJsonDictParser" => {
            let mut parser = JsonDict::new()
                .with_required_keys(strings("required_keys"))
                .with_unrepresentable(tag_mode);
            parser = match args["content_hint"].get("$pydantic") {
                Some(model) => {
                    let name = model["name"].as_str().unwrap_or_default();
                    parser.with_model(DataModel::new(name, model["json_schema"].clone())?)
                }
                None => parser.with_hint(hint),
            };
            let value = parsed(record, &parser, out)?;
            select(record, &value, out);
            Ok(())
        }
        "RegexTaggedContentParser" => {
            let mut parser = match args["tagged_content_pattern"].as_str() {
                Some(pattern) => RegexTagged::with_pattern(pattern)?,
                None => RegexTagged::new()?,
            };
            parser = parser
                .with_required_keys(strings("required_keys"))
                .with_unrepresentable(tag_mode);
            if let Some(instruction) = args["format_instruction"].as_str() {
                parser = parser.with_instruction(instruction);
            }
            if args["try_parse_json"] == json!(false) {
                parser = parser.without_json();
            }
            let value = parsed(record, &parser, out)?;
            select(record, &value, out);
            Ok(())
        }
        _ => {
            let tags = args["tagged_contents"].as_array().into_iter().flatten();
            let parser = MultiTagged::new(tags.filter_map(tag))
                .with_optional(strings("keys_allow_missing"))
                .with_unrepresentable(tag_mode);
            let value = parsed(record, &parser, out)?;
            select(record, &value, out);
            Ok(())
        }
    }
}

fn tag(args: &Value) -> Option<TaggedContent> {
    let text = |key: &str| args[key].as_str();
    let tag = TaggedContent::new(
        text("name")?,
        text("tag_begin")?,
        text("content_hint")?,
        text("tag_end")?,
    );
    Some(match args["parse_json"] == json!(true) {
        true => tag.with_json(),
        false => tag,
    })
}

/// Notes the instruction, the value and the repaired text.
fn parsed(
    record: &Value,
    parser: &impl TextParser,
    out: &mut Map<String, Value>,
) -> Result<Value, Error> {
    match parser.format_instruction() {
        Ok(instruction) => out.insert("format_instruction".into(), instruction.into()),
        Err(error) => {
            out.insert("format_instruction".into(), Value::Null);
            let error = json!(["ValueError", error.message()]);
            out.insert("format_instruction_error".into(), error)
        }
    };
    let result = parser.parse(record["text"].as_str());
    let repaired = match &result {
        Ok(Parsed { repaired, .. }) => repaired.as_deref(),
        Err(error) => error.repaired(),
    };
    if let Some(repaired) = repaired {
        out.insert("text_after".into(), repaired.into());
    }
    let value = result?.value;
    out.insert("expected_parsed".into(), tagged(&value));
    Ok(value)
}

/// Notes what goes where.
fn select(record: &Value, value: &Value, out: &mut Map<String, Value>) {
    let missing = match record["allow_missing"] == json!(true) {
        true => MissingKeys::Skip,
        false => MissingKeys::Refuse,
    };
    let defaults = Keys::default();
    let steps = [
        ("memory", defaults.memory),
        ("content", defaults.content),
        ("metadata", defaults.metadata),
    ];
    for (step, default) in steps {
        let keys = record["args"].get(format!("keys_to_{step}"));
        let select = keys.map_or(Ok(default), Select::try_from);
        match select.and_then(|select| select.apply(value, missing)) {
            Ok(value) => out.insert(format!("to_{step}"), tagged(&value)),
            Err(error) => {
                let kind = match (error.kind(), error.message().starts_with('\'')) {
                    (ErrorKind::KeyNotFound, true) => json!(["KeyError", error.message()]),
                    (ErrorKind::KeyNotFound, false) => json!(["ValueError", error.message()]),
                    _ => json!("TypeError"),
                };
                out.insert(format!("to_{step}_error"), kind)
            }
        };
    }
}

/// Our tags as the golden file has them; integers beyond 64 bits as its reader reads them.
fn tagged(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            if let (1, Some(name)) = (map.len(), map.get("$float")) {
                return json!({"$nonfinite": name});
            }
            if let (1, Some(digits)) = (map.len(), map.get("$bigint").and_then(Value::as_str)) {
                return digits.parse::<f64>().map_or(Value::Null, Value::from);
            }
            map.iter()
                .map(|(key, value)| (key.clone(), tagged(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(tagged).collect(),
        other => other.clone(),
    }
}
