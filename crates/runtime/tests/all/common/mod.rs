//! The program as a test runs it, and files for it.
// Tests that need some of this are for features that may be off.
#![allow(dead_code, unreachable_pub)]

pub mod browser;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

pub const PERSON: &str = r#"{
  "type": "object",
  "properties": {
    "name": {"type": "string", "minLength": 1, "maxLength": 20},
    "age": {"type": "integer", "minimum": 0, "maximum": 150}
  },
  "required": ["name", "age"],
  "additionalProperties": false
}"#;

/// A schema of the answers that an agent gives.
pub const NUMBER: &str = r#"{
  "type": "object",
  "properties": {"number": {"type": "integer", "minimum": 0, "maximum": 99}},
  "required": ["number"],
  "additionalProperties": false
}"#;

/// A tool that is a command, which the embedded model calls if it is asked to convert.
pub fn convert(command: &[&str]) -> Value {
    json!([{
        "name": "convert",
        "description": "Converts.",
        "parameters": {
            "type": "object",
            "properties": {
                "amount": {"type": "integer", "minimum": 1, "maximum": 99},
                "unit": {"enum": ["metres", "miles"]}
            },
            "required": ["amount", "unit"],
            "additionalProperties": false
        },
        "command": command
    }])
}

pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }
}

pub fn run(args: &[&str], stdin: &str) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenmold"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read its input may have ended by now.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The embedded model's own tokenizer, as a file.
pub fn tokenizer() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("model/tokenizer.json");
    path.display().to_string()
}

pub struct Files(pub tempfile::TempDir);

impl Files {
    pub fn new() -> Self {
        Files(tempfile::tempdir().unwrap())
    }

    /// The embedded model's files but for `tokenizer_config.json`, and its text.
    pub fn with_model() -> (Self, String) {
        let files = Files::new();
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("model");
        for file in [
            "config.json",
            "generation_config.json",
            "model.safetensors",
            "tokenizer.json",
        ] {
            std::fs::copy(model.join(file), files.0.path().join(file)).unwrap();
        }
        let config = std::fs::read_to_string(model.join("tokenizer_config.json")).unwrap();
        (files, config)
    }

    pub fn put(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}
