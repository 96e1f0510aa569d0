//! What each release of transformers reads with a response schema or template. `scripts/response-schema-cases`
//! wrote the answers of 5.12, the last that has the language; those of 5.0 are in `golden.rs`.

use response_parser::{
    ErrorKind, Mode, Release, ResponseSchema, ResponseTemplate, TemplateRelease, Turn,
};
use serde_json::{Value, json};

fn read(record: &Value, mode: Mode) -> Result<Value, response_parser::Error> {
    let schema = ResponseSchema::builder()
        .with_mode(mode)
        .with_release(Release::V5_12)
        .build(&record["schema"])?;
    schema.parse_tagged(&record["input"])
}

#[test]
fn schemas_are_read_as_5_12_reads_them() {
    let mut differ = Vec::new();
    let mut count = 0;
    for line in include_str!("../data/schemas-5.12.jsonl").lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let expected = record.get("expected");
        let got = read(&record, Mode::Reference);
        count += 1;
        // The text tells the order of keys.
        if got.as_ref().ok().map(Value::to_string) != expected.map(Value::to_string) {
            differ.push(format!("{line}\n  got {got:?}"));
        }
        // The lenient mode has these answers, refuses at once what can fail, and reads mappings.
        let schema = record["schema"].to_string();
        let lenient = read(&record, Mode::Lenient);
        let refused = ResponseSchema::new(&record["schema"]).is_err();
        let same = lenient.as_ref().ok() == expected || refused || schema.contains("x-mapping");
        if expected.is_some() && !same {
            differ.push(format!("{line}\n  got (lenient) {lenient:?}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(count > 90, "{count} cases");
}

/// A schema for one release is read with the other: what the release does not know is not
/// looked at, but for mappings in the lenient mode.
#[test]
fn releases_know_their_keywords() {
    let parse = |schema: &Value, text: &str, mode, release| {
        let builder = ResponseSchema::builder()
            .with_mode(mode)
            .with_release(release);
        builder.build(schema).and_then(|schema| schema.parse(text))
    };
    let mapping = json!({"x-mapping": {"a": "b"}, "x-mapping-regex": {"b": "c"}});
    let substitution = json!({"x-regex-substitutions": [["a", "c"]]});
    for (schema, knows, other) in [
        (&mapping, Release::V5_0, Release::V5_12),
        (&substitution, Release::V5_12, Release::V5_0),
    ] {
        let read = |mode, release| parse(schema, "a", mode, release).unwrap();
        assert_eq!(read(Mode::Reference, knows), "c");
        assert_eq!(read(Mode::Reference, other), "a");
        assert_eq!(read(Mode::Lenient, knows), "c");
        let lenient = if knows == Release::V5_0 { "c" } else { "a" };
        assert_eq!(read(Mode::Lenient, other), lenient);
    }
    let gemma = json!({"x-parser": "gemma4-tool-call"});
    let refused = parse(&gemma, "{a:1}", Mode::Reference, Release::V5_0).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::UnknownParser);
    let required = json!({"x-parser": "json", "type": "object", "required": ["a"]});
    assert!(parse(&required, "{}", Mode::Lenient, Release::V5_0).is_ok());
    let lacking = parse(&required, "{}", Mode::Lenient, Release::V5_12).unwrap_err();
    assert_eq!(
        (lacking.kind(), lacking.pointer()),
        (ErrorKind::RequiredMissing, "/required")
    );
    for (schema, pointer) in [
        (
            json!({"x-regex-substitutions": [["a", "b"], ["(", ""]]}),
            "/x-regex-substitutions/1",
        ),
        (
            json!({"x-regex-substitutions": [["a", "\\2"]]}),
            "/x-regex-substitutions/0",
        ),
        (
            json!({"x-regex-substitutions": 5}),
            "/x-regex-substitutions",
        ),
        (
            json!({"x-regex-substitutions": "a"}),
            "/x-regex-substitutions/0",
        ),
        (json!({"type": "object", "required": 5}), "/required"),
    ] {
        let error = ResponseSchema::new(&schema).unwrap_err();
        assert_eq!(error.pointer(), pointer, "{schema}");
    }
}

/// Quotes and keys without end are read once.
#[test]
fn long_calls_of_gemma_take_linear_time() {
    let schema = ResponseSchema::new(&json!({"x-parser": "gemma4-tool-call"})).unwrap();
    let long = "a".repeat(1 << 20);
    for text in [
        format!("{{{long}"),
        format!("{{{}", "<|\"|>".repeat(100_001)),
        format!("{{{}", "a,".repeat(500_000)),
        format!("{{{long}:1}}"),
    ] {
        let _ = schema.parse(&text);
    }
    let read = schema
        .parse(&format!("{{{long}:<|\"|>{long}<|\"|>}}"))
        .unwrap();
    assert_eq!(read[&long], long);
}

/// `scripts/response-template-cases` wrote the answers.
#[test]
fn templates_are_read_as_their_release_reads_them() {
    let mut differ = Vec::new();
    let mut answers = Vec::new();
    for (release, cases) in [
        (
            TemplateRelease::V5_23,
            include_str!("../data/templates-5.23.jsonl"),
        ),
        (
            TemplateRelease::V5_24,
            include_str!("../data/templates-5.24.jsonl"),
        ),
    ] {
        for mode in [Mode::Reference, Mode::Lenient] {
            let builder = ResponseTemplate::builder().with_mode(mode);
            let builder = builder.with_release(release);
            for line in cases.lines() {
                let record: Value = serde_json::from_str(line).unwrap();
                let text = record["input"].as_str().unwrap();
                let turn = Turn::after("").with_tools(&record["tools"]);
                let read = builder.build(&record["template"]).and_then(|template| {
                    let whole = template.parse_turn(&turn, text);
                    let mut stream = template.stream(&turn)?;
                    let pieces = text.char_indices().try_for_each(|(at, c)| {
                        stream.feed(&text[at..at + c.len_utf8()]).map(|_| ())
                    });
                    let streamed = pieces.and_then(|()| Ok(stream.finish()?.message));
                    assert_eq!(streamed.as_ref().ok(), whole.as_ref().ok(), "{line}");
                    whole
                });
                let expected = record.get("expected").map(Value::to_string);
                if read.as_ref().ok().map(Value::to_string) != expected {
                    differ.push(format!("{release:?}, {mode:?}: {line}\n  got {read:?}"));
                }
                answers.push(expected);
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    let (old, new) = answers.split_at(answers.len() / 2);
    let changed = old.iter().zip(new).filter(|(old, new)| old != new).count();
    assert!(changed > 20, "{changed} of {} answers differ", old.len());
}
