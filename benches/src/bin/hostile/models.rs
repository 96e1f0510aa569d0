//! Model files that lie about what they hold. For example, a GGUF header that claims 2^64 - 1
//! tensors.

use std::path::Path;

use tokenmold::model::load;

use crate::harness::case::Case;
use crate::harness::seen::Seen;
use crate::tokenizers::damaged;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 0..20 {
        cases.push(Case::new(
            "model",
            format!("a header, damaged {seed}"),
            move |seen| {
                gguf(&damaged(header(1, 1, 8), seed), seen);
            },
        ));
    }
    for (name, tensors, values, length) in [
        ("billions of tensors", u64::MAX, 0, 8),
        ("billions of values", 0, u64::MAX, 8),
        ("a name of exabytes", 0, 1, u64::MAX),
        ("a name of gigabytes", 0, 1, 1 << 32),
        ("nothing", 0, 0, 0),
    ] {
        cases.push(Case::new(
            "model",
            format!("a header with {name}"),
            move |seen| {
                gguf(&header(tensors, values, length), seen);
            },
        ));
    }
    cases
}

/// The beginning of a GGUF file: its counts, and a name of a value.
fn header(tensors: u64, values: u64, length: u64) -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3u32.to_le_bytes());
    bytes.extend(tensors.to_le_bytes());
    bytes.extend(values.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.extend(b"general.architecture");
    bytes.extend(8u32.to_le_bytes());
    bytes.extend(5u64.to_le_bytes());
    bytes.extend(b"llama");
    bytes
}

fn gguf(bytes: &[u8], seen: &mut Seen) {
    let name = format!("hostile-{}.gguf", std::process::id());
    let path = std::env::temp_dir().join(name);
    if let Err(error) = std::fs::write(&path, bytes) {
        return seen.wrong(error.to_string());
    }
    seen.begin();
    seen.call(|| load(Path::new(&path)).map(|_| ()));
    let _ = std::fs::remove_file(&path);
}
