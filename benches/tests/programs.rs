//! The programs, as they are called.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// A byte-level tokenizer: the 256 bytes, a few words, an end token.
fn tokenizer() -> Value {
    // The printable stand-ins that byte-level tokenizers give the bytes.
    let mut next = 0x100;
    let mut vocabulary = serde_json::Map::new();
    for byte in 0..=255u8 {
        let plain = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let shown = if plain {
            char::from(byte)
        } else {
            char::from_u32(next).unwrap()
        };
        next += u32::from(!plain);
        vocabulary.insert(shown.to_string(), json!(byte));
    }
    for (id, word) in ["tr", "ue", "true", "\":"].into_iter().enumerate() {
        vocabulary.insert(word.to_owned(), json!(256 + id));
    }
    json!({
        "version": "1.0",
        "added_tokens": [{
            "id": 260, "content": "<|end_of_text|>", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true
        }],
        "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "vocab": vocabulary,
            "merges": [["t", "r"], ["u", "e"], ["tr", "ue"], ["\"", ":"]]
        }
    })
}

const CASES: &str = r##"{"id": "flag", "schema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": false}, "tests": [{"valid": true, "text": "{\"ok\": true}"}, {"valid": false, "text": "{\"ok\": \"true\"}"}]}
{"id": "wrong label", "schema": {"type": "integer"}, "tests": [{"valid": true, "text": "\"5\""}]}
{"id": "nowhere", "schema": {"$ref": "#/nowhere"}, "tests": [{"valid": true, "text": "1"}]}
{"id": "no text", "schema": {"const": "<|end_of_text|>"}, "tests": []}
{"id": "name of a special token", "schema": {"const": "<|end_of_text|>"}, "tests": [{"valid": true, "text": "\"<|end_of_text|>\""}]}
"##;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("tokenizer.json"),
        tokenizer().to_string(),
    )
    .unwrap();
    std::fs::write(folder.path().join("cases.jsonl"), CASES).unwrap();
    folder
}

fn maskbench(folder: &Path, further: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_maskbench"));
    command.current_dir(folder);
    command
        .args(["--tokenizer", "tokenizer.json", "--cases", "cases.jsonl"])
        .args(further);
    command.output().unwrap()
}

fn report(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("report.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn maskbench_runs_cases_and_reports() {
    let folder = folder();
    let further = ["--engine", "tokenmold", "--report", "report.json"];
    let output = maskbench(folder.path(), &further);
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("mask us p99.9") && table.contains("3 (60.0 %)"),
        "{table}"
    );
    let report = report(folder.path());
    assert_eq!(report["vocabulary"], 261);
    let engine = &report["engines"][0];
    assert_eq!(engine["name"], "tokenmold");
    assert_eq!(engine["cases"], 5);
    assert_eq!(engine["passing"], 3);
    assert_eq!(engine["refused"], 1);
    assert_eq!(engine["valid_rejected"], 1);
    assert_eq!(engine["invalid_accepted"], 0);
    assert_eq!(engine["cases_both"], 1);
    assert_eq!(engine["mask_mismatches"], 0);
    let failed: Vec<&Value> = engine["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| &failure["id"])
        .collect();
    assert_eq!(failed, ["wrong label", "nowhere"]);
}

/// An engine can be a program of its own, which is told what an own engine's process is told.
#[test]
fn an_engine_in_a_program_of_its_own() {
    let folder = folder();
    let program = concat!("tokenmold=", env!("CARGO_BIN_EXE_maskbench"));
    let further = ["--engine", program, "--report", "report.json"];
    let output = maskbench(folder.path(), &further);
    assert!(output.status.success(), "{output:?}");
    let report = report(folder.path());
    assert_eq!(report["engines"][0]["name"], "tokenmold");
    assert_eq!(report["engines"][0]["passing"], 3);
    let output = maskbench(folder.path(), &["--engine", "tokenmold=no/such/program"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// The same texts are led bare and inside of tags, and come out the same.
#[test]
fn schemas_inside_of_tags() {
    let folder = folder();
    let further = ["--kind", "tags", "--report", "report.json"];
    let output = maskbench(folder.path(), &further);
    assert!(output.status.success(), "{output:?}");
    let report = report(folder.path());
    let engines = report["engines"].as_array().unwrap();
    assert_eq!(engines.len(), 5);
    for engine in engines {
        assert_eq!(engine["passing"], 3, "{engine}");
        assert_eq!(engine["mask_mismatches"], 0, "{engine}");
    }
}

#[cfg(feature = "peers")]
#[test]
fn every_engine_is_asked_the_same() {
    let folder = folder();
    let output = maskbench(folder.path(), &["--report", "report.json"]);
    assert!(output.status.success(), "{output:?}");
    let report = report(folder.path());
    for (engine, name) in report["engines"].as_array().unwrap().iter().zip([
        "tokenmold",
        "llguidance",
        "outlines-core",
    ]) {
        assert_eq!(engine["name"], name);
        assert_eq!(engine["passing"], 3, "{engine}");
        assert_eq!(engine["crashes"], 0);
    }
}

#[test]
fn a_sample_is_the_same_for_a_seed() {
    let folder = folder();
    let further = [
        "--engine",
        "tokenmold",
        "--sample",
        "2",
        "--seed",
        "7",
        "--report",
        "report.json",
    ];
    let run = || {
        assert!(maskbench(folder.path(), &further).status.success());
        let mut report = report(folder.path());
        let engine = &mut report["engines"][0];
        assert_eq!(engine["cases"], 2);
        engine["failures"].take()
    };
    assert_eq!(run(), run());
}

#[test]
fn maskbench_says_what_is_wrong_with_its_input() {
    let folder = folder();
    let complaint = |further: &[&str]| {
        let output = maskbench(folder.path(), further);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(complaint(&["--engine", "nobody"]).contains("no engine nobody"));
    assert!(complaint(&["--limit-seconds=-1"]).contains("--limit-seconds"));
    assert!(complaint(&["--property-order", "alphabetical"]).contains("alphabetical"));
    std::fs::write(folder.path().join("cases.jsonl"), "{}\n").unwrap();
    assert!(complaint(&[]).contains("line 1"));
    std::fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
    std::fs::write(folder.path().join("cases.jsonl"), CASES).unwrap();
    assert!(complaint(&[]).contains("tokenizer.json"));
}

/// The output of a program of ours on the cases.
fn program(executable: &str, folder: &Path, further: &[&str]) -> String {
    let mut command = Command::new(executable);
    command.current_dir(folder);
    command
        .args(["--tokenizer", "tokenizer.json", "--cases", "cases.jsonl"])
        .args(further);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn threads_measures_every_engine_on_one_thread_and_on_two() {
    let folder = folder();
    let further = ["--engine", "tokenmold", "--report", "report.json"];
    let table = program(env!("CARGO_BIN_EXE_threads"), folder.path(), &further);
    // The case with the wrong label is refused by its mask, and one has no texts.
    assert!(
        table.starts_with("2 of 4 cases with valid texts are taken by all: 2 texts"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 2 + 3 * 2, "{table}");
    let report = report(folder.path());
    assert_eq!(report[1]["threads"], 2);
    assert_eq!(report[1]["passes"]["cases"]["compile_us"]["count"], 2);
}

#[test]
fn batches_measures_steps_of_each_size() {
    let folder = folder();
    let further = ["--engine", "tokenmold", "--report", "report.json"];
    let sizes = ["--masks", "400", "--rows", "1", "--rows", "5"];
    let further = [&further[..], &sizes].concat();
    let table = program(env!("CARGO_BIN_EXE_batches"), folder.path(), &further);
    assert_eq!(table.lines().count(), 2 + 2 * 2 * 2, "{table}");
    let report = report(folder.path());
    assert_eq!(report[0]["passes"]["first"]["step_us"]["count"], 400);
    assert_eq!(report[3]["passes"]["again"]["step_us"]["count"], 200);
}

#[test]
fn memory_counts_what_a_schema_takes_and_leaves() {
    let folder = folder();
    let further = ["--engine", "tokenmold", "--report", "report.json"];
    let rounds = ["--rounds", "2", "--every", "2"];
    let further = [&further[..], &rounds].concat();
    let table = program(env!("CARGO_BIN_EXE_memory"), folder.path(), &further);
    assert!(table.contains("of 4 cases that all take"), "{table}");
    let report = report(folder.path());
    let cases = report[0]["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 10);
    assert_eq!(report[0]["valid_rejected"], 2);
    let (flag, again) = (&cases[0][1], &cases[5][1]);
    assert!(flag["compiled"].as_i64().unwrap() > 1000, "{flag}");
    assert!(flag["held"].as_i64() >= flag["compiled"].as_i64(), "{flag}");
    assert_eq!(again["stayed"], 0, "{again}");
    assert_eq!(cases[2][1]["refused"], true);
}

#[test]
fn worst_lists_masks_and_compiles_with_their_places() {
    let folder = folder();
    let table = program(env!("CARGO_BIN_EXE_worst"), folder.path(), &["--list", "3"]);
    assert!(
        table.contains("; #/properties/ok: type \"boolean\"; ") || table.contains("; #: "),
        "{table}"
    );
    let compiles = table.split("compile us").nth(1).unwrap();
    assert_eq!(compiles.lines().count(), 1 + 3, "{table}");
    assert!(compiles.contains(" us again"), "{table}");
}

fn conformance(kind: &str, file: &Path, further: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
    let output = command.arg(kind).arg(file).args(further).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn conformance_of_response_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("golden.jsonl");
    let right = r#"{"id": "a", "schema": {"type": "integer"}, "input": "5", "expected": 5}"#;
    let wrong = r#"{"id": "b", "schema": {"type": "number"}, "input": "5", "expected": 5}"#;
    std::fs::write(&file, format!("{right}\n")).unwrap();
    let (code, output, _) = conformance("response-schema", &file, &[]);
    assert_eq!((code, output.as_str()), (Some(0), "1 passed, 0 failed\n"));
    std::fs::write(&file, format!("{right}\n{wrong}\n")).unwrap();
    let (code, output, _) = conformance("response-schema", &file, &[]);
    assert_eq!(code, Some(1));
    assert_eq!(
        output,
        "b\n  expected 5\n  got      5.0\n1 passed, 1 failed\n"
    );
}

#[test]
fn conformance_of_chat_templates() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("golden.jsonl");
    let case = |id: &str, expected: &str| {
        serde_json::json!({
            "id": id, "api": "apply", "template": "{{ messages[0].role }}",
            "messages": [{"role": "user"}], "expected": expected,
        })
    };
    let cases = format!("{}\n{}\n", case("qwen3/a", "user"), case("x_b", "tool"));
    std::fs::write(&file, cases).unwrap();
    let (code, output, _) = conformance("chat-template", &file, &[]);
    assert_eq!(code, Some(1));
    assert!(output.starts_with("x_b\n  expected \"tool\"\n  got      \"user\"\n"));
    assert!(
        output.ends_with("templates of models: 1 passed, 0 failed\n1 passed, 1 failed\n"),
        "{output}"
    );
}

#[test]
fn conformance_of_streams_and_text_parsers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("golden.jsonl");
    let case = |id: &str, chunks: &[&str], text: &str| {
        serde_json::json!({
            "id": id, "base": "b", "chunking": if chunks.len() == 1 { "whole" } else { "cut" },
            "template": {"start_anchor": "[A]", "fields": {"c": {}}},
            "prefix": "", "input": "ab", "chunks": chunks, "same_as_whole": true,
            "expected_initial_events": [], "expected_events_per_chunk": [], "expected_final_events": [
                {"type": "region_open", "field": "c"},
                {"type": "region_chunk", "field": "c", "text": text, "dirty": false},
                {"type": "region_close", "field": "c", "value": text},
            ],
            "expected_message": {"c": text},
        })
    };
    let cases = format!(
        "{}\n{}\n",
        case("w", &["ab"], "ab"),
        case("c", &["a", "b"], "ab")
    );
    std::fs::write(&file, cases).unwrap();
    let (code, output, _) = conformance("response-template", &file, &[]);
    assert_eq!((code, output.as_str()), (Some(0), "2 passed, 0 failed\n"));
    std::fs::write(&file, case("w", &["ab"], "x").to_string()).unwrap();
    assert_eq!(conformance("response-template", &file, &[]).0, Some(1));

    let case = |id: &str, value: i32| {
        serde_json::json!({
            "id": id, "parser": "MarkdownJsonObjectParser", "args": {"content_hint": "h"},
            "text": "```json\n1\n```", "expected_parsed": value,
            "format_instruction": "You should respond a json object in a json fenced code block as follows:\n```json\nh\n```",
        })
    };
    std::fs::write(&file, format!("{}\n{}\n", case("a", 1), case("b", 2))).unwrap();
    let (code, output, _) = conformance("agentscope", &file, &[]);
    assert_eq!(code, Some(1));
    assert!(
        output.starts_with("b\n") && output.ends_with("1 passed, 1 failed\n"),
        "{output}"
    );
}

#[test]
fn conformance_of_structural_tags() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("golden.jsonl");
    let tokens: Vec<String> = (0..=256)
        .map(|byte| format!("{:02x}", byte % 256))
        .collect();
    let tag = json!({"format": {"type": "repeat", "min": 1, "max": 2,
        "content": {"type": "const_string", "value": "ab"}}});
    let lines = [
        json!({"id": "vocab/toy", "vocab": "toy", "stop_tokens": [256], "tokens_hex": tokens}),
        json!({"id": "a/1", "tag": tag, "text": "abab", "accept": true}),
        json!({"id": "a/2", "tag": tag, "prefix": "ab", "next_bytes_allowed": [97], "may_end": true}),
        json!({"id": "b/1", "vocab": "toy", "tag": tag, "tokens": [97, 98, 256], "accept": true}),
        json!({"id": "b/2", "tag": {"format": 1}, "error": true}),
        json!({"id": "b/3", "tag": tag, "text": "a", "accept": true, "disputed": "why not"}),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&file, text.join("\n")).unwrap();
    let (code, output, _) = conformance("structural-tag", &file, &[]);
    assert_eq!(code, Some(1), "{output}");
    assert!(
        output.starts_with("b/3\n  expected true\n  got      false\n  disputed: why not\n"),
        "{output}"
    );
    assert!(output.ends_with("4 passed, 1 failed\n"), "{output}");
}

#[test]
fn conformance_with_the_official_suite() {
    let folder = folder();
    let (code, output, _) = conformance("json-schema", &folder.path().join("cases.jsonl"), &[]);
    assert_eq!(code, Some(1));
    assert!(
        output.contains("wrong label text 0: \"5\"\n  expected accepted\n  got      rejected\n")
    );
    assert!(output.ends_with("3 passed, 2 failed\n"), "{output}");
}

#[test]
fn conformance_tells_what_it_cannot_do() {
    let nothing = PathBuf::from("nothing.jsonl");
    for kind in [
        "response-schema",
        "response-template",
        "chat-template",
        "agentscope",
    ] {
        let (code, _, complaint) = conformance(kind, &nothing, &[]);
        assert_eq!(code, Some(2));
        assert!(complaint.contains("nothing.jsonl"), "{complaint}");
    }
    assert_eq!(conformance("poetry", &nothing, &[]).0, Some(2));
    assert_eq!(
        conformance("json-schema", &nothing, &["--engine", "nobody"]).0,
        Some(2)
    );
    assert_eq!(
        conformance("response-schema", &nothing, &["--engine", "tokenmold"]).0,
        Some(2)
    );
}
