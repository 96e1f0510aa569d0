//! What becomes of the `tokenmold` program's output where nobody can have it.
#![cfg(feature = "cli")]

use std::process::{Command, Stdio};

/// Starts the program, reads one line of its output and closes it.
#[cfg(unix)]
fn first_line_of(args: &[&str]) -> (Option<i32>, String) {
    use std::io::{BufRead as _, BufReader, Read as _};
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenmold"))
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut reader = BufReader::with_capacity(1, child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    drop(reader);
    let mut complaint = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut complaint).unwrap();
    (child.wait().unwrap().code(), complaint)
}

/// `tokenmold .. | head -1` panicked in a chat, and told of a wrong answer elsewhere.
#[test]
#[cfg(unix)]
fn a_reader_who_leaves_is_no_error() {
    let prompt = ["--prompt", "Ada, 36"];
    for args in [
        vec![],
        vec!["fsm", "--regex", "[a-z]{1,200}"],
        [
            &[
                "generate",
                "--max-tokens",
                "60",
                "--show-probabilities",
                "3",
            ],
            &prompt[..],
        ]
        .concat(),
        vec!["--help"],
    ] {
        let (code, complaint) = first_line_of(&args);
        assert_eq!(code, Some(0), "{args:?}: {complaint}");
        assert!(!complaint.contains("panicked"), "{complaint}");
        assert!(!complaint.contains("error"), "{complaint}");
    }
}

/// What cannot be written is said, once, and the exit code says so too.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_said() {
    for args in [
        vec![],
        vec!["fsm", "--regex", "a"],
        vec!["generate", "--max-tokens", "3", "--prompt", "x"],
        vec!["--json", "fsm", "--regex", "a"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let child = Command::new(env!("CARGO_BIN_EXE_tokenmold"))
            .args(&args)
            .stdin(Stdio::null())
            .stdout(full.unwrap())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ran = child.wait_with_output().unwrap();
        let complaint = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{args:?}: {complaint}");
        assert!(!complaint.contains("panicked"), "{complaint}");
        if args.first() != Some(&"--json") {
            let said = complaint.matches("standard output: No space left").count();
            assert_eq!(said, 1, "{args:?}: {complaint}");
        }
    }
    // Nobody can be told of this one.
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let status = Command::new(env!("CARGO_BIN_EXE_tokenmold"))
        .args(["fsm", "--regex", "("])
        .stdout(Stdio::null())
        .stderr(full.unwrap())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
}

/// A pattern of a megabyte came back as a message of one.
#[test]
fn messages_are_cut() {
    let long = "x".repeat(100_000);
    let output = Command::new(env!("CARGO_BIN_EXE_tokenmold"))
        .args(["fsm", "--regex", &format!("{long}\\b")])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.len() < 5_000, "{}", output.stderr.len());
}
