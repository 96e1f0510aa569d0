//! Lists the data files, so that a family is added by its file alone: `data/hermes.json` becomes `Family::HERMES`.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=data");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("data");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
        .collect();
    files.sort_by_key(|path| path.file_stem().map(ToOwned::to_owned));
    let (mut sources, mut names) = (String::new(), String::new());
    for (number, path) in files.iter().enumerate() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        let told: serde_json::Value = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let about = told["about"]
            .as_str()
            .unwrap_or_else(|| panic!("{}: a family says what it is by \"about\"", path.display()));
        writeln!(sources, "    ({name:?}, include_str!({path:?})),").unwrap();
        let constant = name.replace(['-', '.'], "_").to_uppercase();
        writeln!(
            names,
            "    /// {about}\n    pub const {constant}: Family = Family({number});"
        )
        .unwrap();
    }
    let made =
        format!("const SOURCES: &[(&str, &str)] = &[\n{sources}];\n\nimpl Family {{\n{names}}}\n");
    let out = Path::new(&env::var("OUT_DIR").unwrap()).join("families.rs");
    fs::write(out, made).unwrap();
}
