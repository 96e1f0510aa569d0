//! What the crates of the workspace cost alone: what is never in their normal dependencies,
//! by the graph that `cargo metadata` prints.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What runs models, and what cuts text into tokens.
const MODELS: &[&str] = &[
    "candle-core",
    "candle-nn",
    "candle-transformers",
    "tokenizers",
];

/// Crates, and what else is never below them.
const ALONE: &[(&str, &[&str])] = &[
    (
        "chat-template",
        &["minijinja", "fsm-index", "schema-regex", "response-parser"],
    ),
    (
        "fsm-tables",
        &["regex-syntax", "serde_json", "fsm-index", "schema-regex"],
    ),
    ("fsm-index", &["minijinja", "schema-regex"]),
    (
        "grammar",
        &["minijinja", "response-parser", "structural-tags"],
    ),
    ("json-tree", &["fsm-index", "regex-syntax", "python-compat"]),
    ("python-compat", &["minijinja", "fsm-index", "regex-syntax"]),
    (
        "regex-dialects",
        &["serde_json", "fsm-index", "schema-regex"],
    ),
    (
        "response-parser",
        &["minijinja", "fsm-index", "schema-regex"],
    ),
    (
        "schema-normal",
        &["minijinja", "fsm-index", "schema-regex", "response-parser"],
    ),
    ("schema-regex", &["minijinja", "response-parser"]),
    ("structural-tags", &["minijinja", "chat-template"]),
];

/// What this machine is, so that nothing is asked for that only others need.
fn host() -> String {
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let output = Command::new(rustc).arg("-vV").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let mut lines = said.lines();
    let host = lines.find_map(|line| line.strip_prefix("host: "));
    host.unwrap().to_owned()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The names of all packages, and the packages that each depends on normally, by id.
fn graph(metadata: &Value) -> (HashMap<&str, &str>, HashMap<&str, Vec<&str>>) {
    let packages = metadata["packages"].as_array().unwrap().iter();
    let names = packages.map(|p| (p["id"].as_str().unwrap(), p["name"].as_str().unwrap()));
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap().iter();
    let below = nodes.map(|node| {
        let normal = |dep: &&Value| {
            let mut kinds = dep["dep_kinds"].as_array().unwrap().iter();
            kinds.any(|kind| kind["kind"].is_null())
        };
        let deps = node["deps"].as_array().unwrap().iter().filter(normal);
        let deps = deps.map(|dep| dep["pkg"].as_str().unwrap()).collect();
        (node["id"].as_str().unwrap(), deps)
    });
    (names.collect(), below.collect())
}

/// The names of all that a package of the workspace depends on, itself included.
fn tree<'m>(
    names: &HashMap<&'m str, &'m str>,
    below: &HashMap<&'m str, Vec<&'m str>>,
    name: &str,
) -> HashSet<&'m str> {
    let local = |id: &&&str| id.starts_with("path+");
    let root = names.iter().filter(|(_, found)| **found == name);
    let mut open: Vec<&str> = root.map(|(id, _)| id).filter(local).copied().collect();
    assert_eq!(open.len(), 1, "{name}");
    let mut seen = HashSet::new();
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            open.extend(below.get(id).into_iter().flatten());
        }
    }
    seen.into_iter().map(|id| names[id]).collect()
}

#[test]
fn crates_that_stand_alone_depend_on_no_models() {
    let metadata = metadata();
    let (names, below) = graph(&metadata);
    for (name, further) in ALONE {
        let tree = tree(&names, &below, name);
        for never in MODELS.iter().chain(*further) {
            assert!(!tree.contains(never), "{name} depends on {never}");
        }
    }
    // The runtime does, so that the test can fail.
    let runtime = tree(&names, &below, "tokenmold");
    assert!(
        ["candle-core", "tokenizers", "chat-template"]
            .iter()
            .all(|name| runtime.contains(name))
    );
}
