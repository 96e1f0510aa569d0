//! Tokenizer files of strangers: what the `tokenizers` crate panics at is an error here.
#![cfg(feature = "tokenizers")]

use serde_json::{Value, json};
use tokenmold::ErrorKind;
use tokenmold::tokenizer::{Surround, Tokenizer};

fn file() -> Value {
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [{"id": 9, "content": "<s>", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true}],
        "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [9], "tokens": ["<s>"]}}},
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    })
}

fn read(file: &Value) -> Result<Tokenizer, tokenmold::Error> {
    Tokenizer::from_json(file.to_string().as_bytes())
}

#[test]
fn the_file_that_others_are_made_of_is_right() {
    let tokenizer = read(&file()).unwrap();
    assert_eq!(tokenizer.encode("aba", Surround::Add).unwrap(), [9, 2, 0]);
}

/// It was read, and the first text that was encoded ended the process.
#[test]
fn a_post_processor_without_its_token_is_refused() {
    let mut alone = file();
    alone["post_processor"]["special_tokens"] = json!({});
    let mut inside = alone.clone();
    inside["post_processor"] = json!({"type": "Sequence", "processors": [alone["post_processor"]]});
    for file in [alone, inside] {
        let error = read(&file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tokenizer);
        assert!(error.to_string().contains("\"<s>\""), "{error}");
    }
}

/// A file may ask that texts be filled up to any length, or cut; that is not its business.
#[test]
fn padding_and_truncation_are_the_callers() {
    let mut file = file();
    file["padding"] = json!({"strategy": {"Fixed": 1_000_000_000_000u64}, "direction": "Right",
        "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "a"});
    file["truncation"] = json!({"direction": "Right", "max_length": 2,
        "strategy": "LongestFirst", "stride": 0});
    let tokenizer = read(&file).unwrap();
    assert_eq!(tokenizer.encode("abaa", Surround::Omit).unwrap(), [2, 0, 0]);
}

/// Every byte of a file changed in some ways: it is read or refused, and what was read
/// encodes or says why not.
#[test]
fn damaged_files_are_read_or_refused() {
    let bytes = file().to_string().into_bytes();
    let mut read = 0;
    for at in (0..bytes.len()).step_by(3) {
        for change in [b'"', b'9', b'{', b'\xff', b'-'] {
            let mut damaged = bytes.clone();
            damaged[at] = change;
            let Ok(tokenizer) = Tokenizer::from_json(&damaged) else {
                continue;
            };
            read += 1;
            let _ = tokenizer.encode("ab<s>ba \u{e9}", Surround::Add);
            let _ = tokenizer.encode_with_offsets("abba", Surround::Omit);
        }
    }
    assert!(read > 100, "{read}");
}
