//! What the READMEs tell a reader to type, typed: every fenced block of commands is run in
//! a folder with the files that it names, or a comment above it says why not.
#![cfg(all(unix, feature = "cli", feature = "models"))]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The comment above a block that is not run; what follows says why.
const NOT_RUN: &str = "<!-- not run by the tests: ";

struct Block {
    language: String,
    lines: Vec<String>,
    /// Why it is not run.
    because: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn blocks(text: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let mut above = "";
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => out.extend(open.take()),
            (Some(language), None) => {
                let because = above.strip_prefix(NOT_RUN);
                open = Some(Block {
                    language: language.to_owned(),
                    lines: Vec::new(),
                    because: because.map(str::to_owned),
                });
            }
            (None, Some(block)) => match block.lines.last_mut() {
                // A line that goes on in the next one.
                Some(last) if last.ends_with('\\') => {
                    last.pop();
                    last.push_str(line.trim_start());
                }
                _ => block.lines.push(line.to_owned()),
            },
            (None, None) => above = line,
        }
    }
    assert!(open.is_none(), "a block has no end");
    out
}

/// The files that the commands name: those of `examples/`, and the program.
fn files(folder: &Path) {
    for file in fs::read_dir(root().join("examples")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    let tokenizer = Path::new(env!("CARGO_MANIFEST_DIR")).join("model/tokenizer.json");
    symlink(tokenizer, folder.join("tokenizer.json")).unwrap();
    symlink(env!("CARGO_BIN_EXE_tokenmold"), folder.join("tokenmold")).unwrap();
}

/// The commands in the table of the cookbook.
fn table(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|line| line.rsplit(" | ").next());
    let commands = cells.filter_map(|cell| cell.strip_prefix('`')?.strip_suffix("` |"));
    let commands = commands.filter(|command| command.starts_with("tokenmold "));
    commands.map(str::to_owned).collect()
}

/// A line without its comment, once without what stands in brackets, and once more with
/// each of these options that needs no name of the reader's.
fn commands(line: &str) -> Vec<String> {
    let line = line.split("  #").next().unwrap_or(line).trim_end();
    let mut plain = String::new();
    let mut options = Vec::new();
    for (at, part) in line.split(" [").enumerate() {
        match part.split_once(']') {
            Some((option, rest)) if at > 0 => {
                options.push(option.to_owned());
                plain.push_str(rest);
            }
            // A class of a regular expression is no option.
            _ if at > 0 => panic!("{line}: a bracket has no end"),
            _ => plain.push_str(part),
        }
    }
    let known = |option: &&String| !option.contains(|c: char| c.is_ascii_uppercase());
    let with = options.iter().filter(known);
    let with: Vec<String> = with.map(|option| format!("{plain} {option}")).collect();
    [vec![plain], with].concat()
}

#[test]
fn every_command_of_the_readmes_runs() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
    let model = std::env::var_os("TOKENMOLD_MODEL");
    // A `tokenizer.json` beside a GGUF file would stand in the place of its own.
    let beside_model = tempfile::tempdir().unwrap();
    files(beside_model.path());
    fs::remove_file(beside_model.path().join("tokenizer.json")).unwrap();
    if let Some(model) = &model {
        let model = fs::canonicalize(model).unwrap();
        symlink(model, beside_model.path().join(MODEL)).unwrap();
    }
    let pages = [
        "",
        "crates/fsm-index",
        "crates/response-parser",
        "crates/runtime",
        "crates/schema-regex",
        "examples",
    ];
    let mut count = 0;
    for page in pages {
        let text = fs::read_to_string(root().join(page).join("README.md")).unwrap();
        let mut all = blocks(&text);
        let rows = table(&text);
        assert_eq!(rows.is_empty(), page != "examples", "{page}");
        all.push(Block {
            language: "console".to_owned(),
            lines: rows,
            because: None,
        });
        for block in all {
            let first = block.lines.first().cloned().unwrap_or_default();
            if let Some(because) = &block.because {
                assert!(because.len() > 10, "{first}");
                continue;
            }
            match block.language.as_str() {
                "console" => {}
                // What a command prints, and drawings.
                "text" | "toml" => continue,
                // The pages are documentation of the libraries, whose examples run.
                "rust" => continue,
                other => {
                    panic!("{page}: a block of `{other}` is not run, and nothing says why: {first}")
                }
            }
            for command in block.lines.iter().flat_map(|line| commands(line)) {
                if command.contains(MODEL) && model.is_none() {
                    eprintln!("skipped: TOKENMOLD_MODEL names no pretrained model: {command}");
                    continue;
                }
                // The program of this build, which need not be made again.
                let command = match command.strip_prefix("cargo run --release") {
                    Some(rest) => format!("tokenmold{rest}"),
                    None => command,
                };
                let path = std::env::var("PATH").unwrap_or_default();
                let place = match command.contains(MODEL) {
                    true => &beside_model,
                    false => &folder,
                };
                let ran = Command::new("sh")
                    .args(["-c", &command])
                    .current_dir(place)
                    .env("PATH", format!("{}:{path}", folder.path().display()))
                    .stdin(Stdio::null())
                    .output()
                    .unwrap();
                let err = String::from_utf8_lossy(&ran.stderr);
                // Without a mask rounding, which processors do differently, decides whether a text ends in time.
                let may_go_on = command.contains("--no-mask") && err.contains("is incomplete");
                assert!(ran.status.success() || may_go_on, "{command}: {err}");
                count += 1;
            }
        }
    }
    assert!(count > 10, "only {count} commands were found");
}

/// The block of the README that shows what the program prints without a command, line by
/// line, as far as it says so: times are not of it.
#[test]
fn the_output_of_the_readme_is_the_programs() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let block = blocks(&text).into_iter().find(|block| {
        block.language == "text" && block.lines.iter().any(|l| l.starts_with("request: "))
    });
    let shown = block.unwrap().lines;
    assert!(shown.len() > 4, "{shown:?}");
    let ran = Command::new(env!("CARGO_BIN_EXE_tokenmold"))
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    let printed: Vec<&str> = printed.lines().collect();
    let first = printed
        .iter()
        .position(|line| line.starts_with("request: "));
    let printed = &printed[first.unwrap()..];
    assert_eq!(
        shown,
        printed[..shown.len()],
        "the README shows something else"
    );
}

/// The block that shows what a pretrained model says with the mask and without, against what
/// the command above it prints. A line `..` stands for the rest of an answer.
#[test]
fn the_answers_of_the_readme_are_the_pretrained_models() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let all = blocks(&text);
    let shown: Vec<usize> = (0..all.len())
        .filter(|at| all[*at].language == "text")
        .collect();
    // The other one is what the program prints without a command.
    let [_, shown] = shown[..] else {
        panic!("{} blocks show output; two are compared", shown.len());
    };
    let [command] = &all[shown - 1].lines[..] else {
        panic!("no one command stands above the answers");
    };
    let Some(model) = std::env::var_os("TOKENMOLD_MODEL") else {
        eprintln!("skipped: TOKENMOLD_MODEL names no pretrained model: {command}");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    let model = fs::canonicalize(model).unwrap();
    symlink(model, folder.path().join("SmolLM2-135M-Instruct.Q4_1.gguf")).unwrap();
    let answers: Vec<String> = commands(command)
        .iter()
        .map(|command| {
            let ran = Command::new("sh")
                .args(["-c", &format!("./{command} --quiet")])
                .current_dir(&folder)
                .output()
                .unwrap();
            String::from_utf8(ran.stdout).unwrap()
        })
        .collect();
    let [bound, free] = &answers[..] else {
        panic!("{command}: not once with the mask and once without");
    };
    let block = all[shown].lines.join("\n");
    let (first, second) = block.split_once("with the mask: ").unwrap();
    for (shown, said) in [(first, free), (second, bound)] {
        let shown = shown.trim_start_matches("without the mask:").trim();
        let mut said = said.lines().map(str::trim);
        for line in shown
            .lines()
            .map(str::trim)
            .take_while(|line| *line != "..")
        {
            assert_eq!(Some(line), said.next(), "the README shows something else");
        }
    }
}

/// A line of a manifest: the crate, its version, its features.
fn dependency(line: &str) -> (String, String, Vec<String>) {
    let line = line.split(" #").next().unwrap_or(line);
    let (name, rest) = line.split_once(" = ").unwrap();
    let texts = |text: &str| -> Vec<String> {
        let quoted = text.split('"').skip(1).step_by(2);
        quoted.map(str::to_owned).collect()
    };
    let (version, features) = match rest.split_once("features") {
        Some((version, features)) => (version, texts(features)),
        None => (rest, Vec::new()),
    };
    let version = texts(version).first().cloned();
    (name.to_owned(), version.unwrap_or_default(), features)
}

/// What a crate's page says is to be written into a manifest: the crate in the version of
/// the workspace with features that there are, and all crates that the examples use.
#[test]
fn the_pages_of_crates_show_what_their_examples_depend_on() {
    let mut pages = 0;
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(page) = fs::read_to_string(folder.join("README.md")) else {
            continue;
        };
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let own = manifest
            .lines()
            .find_map(|line| line.strip_prefix("name = "));
        let own = own.unwrap().trim_matches('"');
        let blocks = blocks(&page);
        let shown = blocks.iter().find(|block| block.language == "toml");
        let shown = shown.unwrap_or_else(|| panic!("{own}: no page shows its dependency"));
        let shown: Vec<_> = shown
            .lines
            .iter()
            .filter(|line| line.contains(" = "))
            .map(|line| dependency(line))
            .collect();
        let (_, version, features) = shown.iter().find(|(name, ..)| name == own).unwrap();
        assert!(
            env!("CARGO_PKG_VERSION").starts_with(version),
            "{own}: {version}"
        );
        for feature in features {
            assert!(
                manifest.contains(&format!("\n{feature} = [")),
                "{own}: {feature}"
            );
        }
        let rust = blocks.iter().filter(|block| block.language == "rust");
        for line in rust.flat_map(|block| &block.lines) {
            let used = line.trim().strip_prefix("use ");
            let used = used.and_then(|path| path.split("::").next());
            let Some(used) = used.filter(|used| *used != "std") else {
                continue;
            };
            let known = shown
                .iter()
                .any(|(name, ..)| name.replace('-', "_") == used);
            assert!(known, "{own}: the examples use {used}");
        }
        pages += 1;
    }
    assert!(pages >= 8, "{pages}");
}

#[test]
fn blocks_and_options_are_read() {
    let page = "a\n```console\nx [--y] [--z DIR] \\\n 'a[0-9]' [--w 1]  # why\n```\n<!-- not run by the tests: too long to wait for -->\n```console\nsleep 9\n```\n";
    let read = blocks(page);
    assert_eq!(read.len(), 2);
    assert!(read[0].because.is_none() && read[1].because.is_some());
    assert_eq!(
        commands(&read[0].lines[0]),
        ["x 'a[0-9]'", "x 'a[0-9]' --y", "x 'a[0-9]' --w 1"]
    );
}
