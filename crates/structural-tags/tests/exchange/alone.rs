//! What the crate depends on.

use std::process::Command;

use serde_json::Value;

/// Whoever wants tags alone compiles neither a model's runtime nor the `tokenizers` crate. What
/// cargo says of the whole workspace is walked from this crate on, along what is built of it
/// outside of tests.
#[test]
fn no_candle_and_no_tokenizers() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--filter-platform", host.unwrap()])
        .args(["--format-version", "1", "--offline", "--locked"])
        .args(["--manifest-path", manifest])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let name_of = |id: &Value| {
        let package = packages.iter().find(|package| package["id"] == *id);
        package.unwrap()["name"].as_str().unwrap().to_owned()
    };
    let nodes = list(&metadata["resolve"]["nodes"]);
    let root = packages.iter().find(|p| p["name"] == "structural-tags");
    let mut open = vec![root.unwrap()["id"].clone()];
    let mut met = open.clone();
    while let Some(id) = open.pop() {
        let node = nodes.iter().find(|node| node["id"] == id).unwrap();
        for dependency in list(&node["deps"]) {
            let kinds = list(&dependency["dep_kinds"]);
            let is_normal = kinds.iter().any(|kind| kind["kind"].is_null());
            if is_normal && !met.contains(&dependency["pkg"]) {
                met.push(dependency["pkg"].clone());
                open.push(dependency["pkg"].clone());
            }
        }
    }
    let names: Vec<String> = met.iter().map(name_of).collect();
    assert!(names.iter().any(|name| name == "schema-regex"), "{names:?}");
    for name in &names {
        let is_heavy = name.starts_with("candle") || name == "tokenizers" || name == "minijinja";
        assert!(!is_heavy, "{name} is built with structural-tags");
    }
}
