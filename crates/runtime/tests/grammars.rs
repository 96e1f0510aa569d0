//! Grammars in the `tokenmold` program.
#![cfg(feature = "cli")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const SUMS: &str = "start: sum\nsum: sum \"+\" atom | atom\natom: NUMBER | \"(\" sum \")\"\n\
                    NUMBER: /[0-9]+/\n%ignore \" \"\n";

fn run(args: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenmold"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read its input may have ended by now.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn json(args: &[&str], stdin: &str) -> Value {
    let all: Vec<&str> = ["--json"].iter().chain(args).copied().collect();
    let (_, out, err) = run(&all, stdin);
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"))
}

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path: PathBuf = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn tokenizer() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("model/tokenizer.json");
    path.display().to_string()
}

#[test]
fn explain_says_which_alternatives_have_begun() {
    let folder = tempfile::tempdir().unwrap();
    let sums = file(&folder, "sums.lark", SUMS);
    let (code, out, err) = run(&["explain", "--grammar", &sums, "--input", "1 + (2"], "");
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("atom (line 3): \"(\" \u{2022} sum \")\""),
        "{out}"
    );
    assert!(out.contains("in NUMBER"), "{out}");
    let (code, out, _) = run(&["explain", "--grammar", &sums, "--input", "1 + )"], "");
    assert_eq!(code, Some(1));
    assert!(out.contains("byte 4 may not come"), "{out}");
    let said = json(&["explain", "--grammar", &sums, "--input", "1+"], "");
    assert_eq!(said["dialect"], "lark");
    assert_eq!(said["place"]["taken"], 2);
    assert_eq!(said["place"]["ends"], false);
    let expected = said["place"]["expected"].as_array().unwrap();
    assert!(expected.contains(&"NUMBER".into()), "{expected:?}");
    // The same text in another notation.
    let said = json(&["explain", "--grammar", &sums, "--dialect", "gbnf"], "");
    assert_eq!(said["accepted"], false);
    assert_eq!(said["error"]["line"], 1);
    let (code, _, err) = run(&["explain", "--grammar", &sums, "--dialect", "yacc"], "");
    assert_eq!(code, Some(1), "{err}");
}

#[test]
fn check_follows_a_text_under_a_grammar() {
    let folder = tempfile::tempdir().unwrap();
    let sums = file(&folder, "sums.lark", SUMS);
    let tokenizer = tokenizer();
    let check = ["check", "--grammar", &sums, "--tokenizer", &tokenizer];
    let (code, out, err) = run(&check, "1 + (2)\n");
    assert_eq!(code, Some(0), "{out}{err}");
    let (code, out, _) = run(&check, "1 + (2\n");
    assert_eq!(code, Some(1));
    assert!(
        out.contains("refused at byte 6") && out.contains("may come"),
        "{out}"
    );
    let digits = file(&folder, "digits.regex", "[0-9]+\n");
    let (code, out, err) = run(
        &["check", "--grammar", &digits, "--tokenizer", &tokenizer],
        "2026\n",
    );
    assert_eq!(code, Some(0), "{out}{err}");
}

#[test]
fn generate_obeys_a_grammar() {
    let folder = tempfile::tempdir().unwrap();
    let text = "root ::= \"[\" (name (\",\" name)*)? \"]\"\nname ::= \"a\" | \"(\" name \")\"\n";
    let lists = file(&folder, "lists.gbnf", text);
    let base = [
        "generate",
        "--grammar",
        &lists,
        "--prompt",
        "names",
        "--fit",
    ];
    for seed in ["1", "2", "3"] {
        let mut args = base.to_vec();
        args.extend(["--temperature", "2", "--seed", seed, "--max-tokens", "30"]);
        let (code, out, err) = run(&args, "");
        assert_eq!(code, Some(0), "{err}");
        let grammar = tokenmold::grammar::Grammar::from_gbnf(text).unwrap();
        assert!(grammar.accepts(out.trim_end()), "{out}");
    }
}
