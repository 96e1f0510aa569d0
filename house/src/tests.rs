use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::counts::{self, Count};
use crate::crates;
use crate::frozen::{Frozen, List, Settings};

/// Writes a workspace of one crate and one below it, `inner`, whose files are those with its
/// name in front, and counts it.
fn counts_of(files: &[(&str, &str)]) -> Vec<Count> {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let has_inner = files.iter().any(|(path, _)| path.starts_with("inner/"));
    let names: &[&str] = if has_inner {
        &["one", "inner"]
    } else {
        &["one"]
    };
    write(
        "Cargo.toml",
        &format!("[workspace]\nmembers = {names:?}\nresolver = \"3\"\n"),
    );
    for name in names {
        write(
            &format!("{name}/Cargo.toml"),
            &format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
        );
    }
    for (path, text) in files {
        match path.strip_prefix("inner/") {
            Some(path) => write(&format!("inner/src/{path}"), text),
            None => write(&format!("one/src/{path}"), text),
        }
    }
    let words = ["\"allOf\"", "\"anyOf\""].map(str::to_owned).to_vec();
    let settings = Settings {
        schema_crates: vec!["one".to_owned(), "inner".to_owned()],
        inner_crates: vec!["inner".to_owned()],
        walk_folder: "one/src/asked".to_owned(),
        lists: BTreeMap::from([("keywords".to_owned(), List { from: 2, words })]),
        ..Settings::default()
    };
    let crates = crates::read(root.path(), &[]).unwrap();
    counts::of(&crates, &settings)
}

fn figure(counts: &[Count], name: &str) -> f64 {
    counts
        .iter()
        .find(|count| count.name == name)
        .unwrap()
        .figure
}

#[test]
fn tests_are_not_product() {
    let counts = counts_of(&[
        (
            "lib.rs",
            "pub fn f() {}\n\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more {\n    fn g() {}\n}\n",
        ),
        ("tests.rs", "fn h(flag: bool) {}\n"),
    ]);
    assert_eq!(figure(&counts, "product lines of one"), 2.0);
    assert_eq!(figure(&counts, "boolean parameters"), 0.0);
}

#[test]
fn circles_go_through_doors() {
    let door = ("lib.rs", "mod a;\nmod b;\npub use a::x::X;\n");
    let one = [
        door,
        ("a/mod.rs", "pub(crate) mod x;\n"),
        ("a/x.rs", "pub struct X(crate::b::Y);\n"),
    ];
    let counts = counts_of(&[&one[..], &[("b.rs", "pub struct Y;\n")]].concat());
    assert_eq!(figure(&counts, "circles of folders"), 0.0);
    // Through the re-export of the root and through a path in a body.
    for uses in [
        "use crate::X;\npub struct Y;\nfn f(_: X) {}\n",
        "pub struct Y;\nfn f() { crate::a::x::X::new() }\n",
    ] {
        let counts = counts_of(&[&one[..], &[("b.rs", uses)]].concat());
        assert_eq!(figure(&counts, "circles of folders"), 1.0, "{uses}");
        assert_eq!(figure(&counts, "files in circles"), 2.0, "{uses}");
    }
}

#[test]
fn who_sees_an_item_is_no_use() {
    let counts = counts_of(&[
        ("lib.rs", "mod a;\n"),
        ("a/mod.rs", "mod x;\nuse x::f;\n"),
        ("a/x.rs", "pub(in crate::a) fn f() {}\n"),
    ]);
    assert_eq!(figure(&counts, "circles of files"), 0.0);
}

#[test]
fn methods_are_counted_by_type() {
    let counts = counts_of(&[
        (
            "lib.rs",
            "mod a;\nmod b;\npub struct T { pub(crate) x: u8, y: u8 }\nimpl T { pub fn one(&self) {} }\nimpl Clone for T { fn clone(&self) -> T { todo!() } }\n",
        ),
        (
            "a.rs",
            "use crate::T;\nimpl T { pub(crate) fn two(&self, flag: bool, (a, b): (u8, u8)) {} }\n",
        ),
        ("b.rs", "struct T;\nimpl T { fn three() {} }\n"),
    ]);
    assert_eq!(figure(&counts, "most methods of one type"), 2.0);
    assert_eq!(figure(&counts, "most files with methods of one type"), 2.0);
    assert_eq!(figure(&counts, "open functions of the schema crates"), 1.0);
    assert_eq!(figure(&counts, "open fields of the schema crates"), 1.0);
    assert_eq!(figure(&counts, "boolean parameters"), 1.0);
    assert_eq!(figure(&counts, "tuple parameters"), 1.0);
    assert_eq!(figure(&counts, "names of several types of a crate"), 1.0);
}

#[test]
fn what_everybody_sees_is_not_shown_to_the_crate_above_alone() {
    let counts = counts_of(&[
        ("lib.rs", "pub use inner::{T, door::f};\nuse inner::U;\n"),
        (
            "inner/lib.rs",
            "pub mod door;\npub struct T { pub x: u8, pub(crate) y: u8 }\nimpl T { pub fn a() {} }\npub struct U { pub z: u8 }\nimpl U { pub fn b() {} fn c() {} }\n",
        ),
        ("inner/door.rs", "pub fn f() {}\npub fn g() {}\n"),
    ]);
    let above = |what: &str| format!("{what} that inner crates show to the crate above");
    // `b` and `g`, and `z`.
    assert_eq!(figure(&counts, &above("functions")), 2.0);
    assert_eq!(figure(&counts, &above("fields")), 1.0);
    assert_eq!(figure(&counts, "open functions of the schema crates"), 0.0);
    assert_eq!(figure(&counts, "open fields of the schema crates"), 1.0);
}

#[test]
fn traits_of_the_walk_are_asked() {
    let counts = counts_of(&[
        ("lib.rs", "mod asked;\npub trait Other { fn no(); }\n"),
        (
            "asked/mod.rs",
            "pub trait Asked { fn one(); fn two() {} }\ntrait Own { fn no(); }\n",
        ),
    ]);
    assert_eq!(figure(&counts, "methods that a walk may ask"), 2.0);
}

#[test]
fn lists_are_of_strings_in_code() {
    let counts = counts_of(&[
        (
            "lib.rs",
            "mod a;\nconst ALL: [&str; 2] = [\"allOf\", \"anyOf\"];\n",
        ),
        (
            "a.rs",
            "// \"allOf\" and \"anyOf\"\nconst ONE: &str = \"allOf\";\n",
        ),
    ]);
    assert_eq!(figure(&counts, "places that list keywords"), 1.0);
}

#[test]
fn sentences_are_of_comments() {
    let text = r#"//! Texts. For example, `x`.

/// What a thing has. It is sorted,
/// because it is searched. Whether it is, `e.g.` here.
///
/// ```
/// // What is in code is no sentence.
/// ```
const T: &str = "
// What is in a string is no sentence.
"; // Of this a comment.
/// Reasons are since RFC 8259.
const U: u8 = 1;
"#;
    let counts = counts_of(&[("lib.rs", text)]);
    assert_eq!(figure(&counts, "sentences without a subject"), 3.0);
    assert_eq!(figure(&counts, "modules without an example"), 0.0);
    assert_eq!(figure(&counts, "constants without a reason"), 0.0);
}

#[test]
fn a_page_is_documentation() {
    let text = "#![doc = include_str!(\"page.rs\")]\n";
    let with = |page| {
        figure(
            &counts_of(&[("lib.rs", text), ("page.rs", page)]),
            "modules without an example",
        )
    };
    assert_eq!(with("// ```\n"), 0.0);
    assert_eq!(with("// Nothing.\n"), 1.0);
}

#[test]
fn counts_that_get_worse_are_told() {
    let counts = counts_of(&[("lib.rs", "fn f(flag: bool) {}\n")]);
    let file = tempfile::NamedTempFile::new().unwrap();
    let settings = "[settings]\nleft_out = []\nmeasuring = []\nschema_crates = []\nwalk_folder = \"\"\nlists = {}\n";
    let read = |counts: &str| {
        fs::write(file.path(), format!("{settings}[counts]\n{counts}\n")).unwrap();
        Frozen::read(file.path()).unwrap()
    };
    assert!(
        read("\"boolean parameters\" = 1")
            .compare(&counts)
            .is_empty()
    );
    let worse = read("\"boolean parameters\" = 0").compare(&counts);
    assert_eq!(worse, ["boolean parameters: 1, was 0"]);
    let fewer_reasons = read("\"reasons and examples per 1,000 words\" = 5.0").compare(&counts);
    assert_eq!(fewer_reasons.len(), 1);
    // What is written is what is read.
    read("").write(file.path(), &counts).unwrap();
    assert!(
        Frozen::read(file.path())
            .unwrap()
            .compare(&counts)
            .is_empty()
    );
    assert!(Frozen::read(Path::new("missing.toml")).is_err());
}
