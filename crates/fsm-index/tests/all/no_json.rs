//! What JSON is written with comes from automata, as data.

use std::path::Path;

/// A quotation mark as a byte in the source of this crate is a language that it knows.
#[test]
fn no_source_knows_a_quotation_mark() {
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            files += 1;
            assert!(!text.contains("b'\"'"), "{}", path.display());
        }
    }
    assert!(files > 40, "{files} files");
}
