//! The pages of cases, `tests/cases/*.md` of a crate: their headings and fenced blocks, and what a run
//! of them finds.
//!
//! For example, a scenario is a heading, a sentence, a block `json` with a schema and a block
//! `diff` with texts: `+ 1` is accepted, `- 2` is refused. The line before a block names other ones, as
//! `Options:` or `Error:`; each suite lists its own in its [`Label`]s.
//!
//! With `UPDATE_CASES` set, the lines that are not as they should be are rewritten; the diff is to be read.

mod words;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub use words::Words;

/// A line that may stand before a block, or none, with the block's language.
pub type Label = (&'static str, &'static str);

/// A page by its file.
pub struct Page {
    path: PathBuf,
    lines: Vec<String>,
    /// In the order of the page.
    pub scenarios: Vec<Scenario>,
}

/// A heading with blocks below it.
pub struct Scenario {
    /// The heading behind those above it, of which the names in backticks are what it is about.
    pub headings: Vec<String>,
    /// The heading's line; the page's first is 0.
    pub line: usize,
    /// In the order of the page.
    pub blocks: Vec<Block>,
}

/// A fenced block.
pub struct Block {
    /// The line before the block, if it is one of the suite's.
    pub label: &'static str,
    /// The word behind the fence.
    pub language: &'static str,
    /// The first line between the fences; the page's first is 0.
    pub line: usize,
    /// The lines between the fences.
    pub lines: Vec<String>,
}

/// A line of a block `diff`, as `+ 1`: a text with its mark.
pub struct Case<'p> {
    /// The line of the page; its first is 0.
    pub line: usize,
    /// The sign before the text: `+` is accepted, `-` refused; a suite may have more.
    pub mark: char,
    /// The text as the page shows it.
    pub shown: &'p str,
    /// The text itself, with the control characters whose pictures are shown.
    pub text: String,
}

/// The lines of a page that are not as they should be.
#[derive(Default)]
pub struct Findings {
    wrong: Vec<Finding>,
    texts: usize,
}

struct Finding {
    line: usize,
    message: String,
    /// The line as it should be, where that is known.
    instead: Option<String>,
}

impl Scenario {
    /// Returns the block of a language with a label, if there is one.
    pub fn block(&self, language: &str, label: &str) -> Option<&Block> {
        let mut blocks = self.blocks.iter();
        blocks.find(|block| block.language == language && block.label == label)
    }

    /// Returns the lines of a block, joined.
    pub fn text(&self, language: &str, label: &str) -> Option<String> {
        Some(self.block(language, label)?.lines.join("\n"))
    }

    /// Returns the texts of the block `diff` with a label, in order.
    pub fn cases<'p>(&'p self, label: &str) -> Vec<Case<'p>> {
        let Some(block) = self.block("diff", label) else {
            return Vec::new();
        };
        let numbered = (block.line..).zip(&block.lines);
        let case = |(line, shown): (usize, &'p String)| Case {
            line,
            mark: shown.chars().next().unwrap_or('-'),
            shown: shown.get(2..).unwrap_or(""),
            text: plain(shown.get(2..).unwrap_or("")),
        };
        numbered.map(case).collect()
    }
}

impl Case<'_> {
    /// Returns the line as it would be under another mark.
    pub fn marked(&self, mark: char) -> String {
        format!("{mark} {}", self.shown)
    }
}

/// Returns a text from how a page shows it: pictures of control characters (`␊` for a line feed) become these.
pub fn plain(shown: &str) -> String {
    let plain = |c: char| match c {
        '\u{2400}'..='\u{241F}' => char::from_u32(c as u32 - 0x2400).unwrap_or(c),
        '\u{2420}' => ' ',
        '\u{2421}' => '\u{7F}',
        other => other,
    };
    shown.chars().map(plain).collect()
}

impl Findings {
    /// Notes that a line is wrong, and how it should be, where that is known.
    pub fn add(&mut self, line: usize, message: impl Into<String>, instead: Option<String>) {
        self.wrong.push(Finding {
            line,
            message: message.into(),
            instead,
        });
    }

    /// Counts texts that were looked at.
    pub fn count(&mut self, texts: usize) {
        self.texts += texts;
    }

    /// Compares a block `text` with what was found; something found without a block is wrong at the
    /// scenario's heading.
    pub fn same(&mut self, scenario: &Scenario, label: &str, found: Option<&str>) {
        match (scenario.block("text", label), found) {
            (Some(block), Some(found)) if block.lines.join("\n") != found => {
                let instead = (block.lines.len() == 1).then(|| found.to_owned());
                self.add(block.line, format!("`{label}` is not {found}"), instead);
            }
            (Some(block), None) => self.add(block.line, format!("there is no `{label}`"), None),
            (None, Some(found)) => {
                self.add(scenario.line, format!("no `{label}` says {found}"), None);
            }
            _ => {}
        }
    }
}

impl Page {
    /// Reads a page.
    ///
    /// # Panics
    ///
    /// Panics with the line of a block that no label of the suite names or that has no end.
    pub fn read(path: &Path, labels: &[Label]) -> Page {
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut page = Page {
            path: path.to_owned(),
            lines,
            scenarios: Vec::new(),
        };
        let mut headings: Vec<String> = Vec::new();
        let mut scenario = None;
        let (mut before, mut heading, mut at) = (String::new(), 0, 0);
        while at < page.lines.len() {
            let line = page.lines[at].clone();
            if let Some(language) = line.strip_prefix("```") {
                let block = page.block(at, language, &before, labels);
                at = block.line + block.lines.len();
                let new = || Scenario {
                    headings: headings.clone(),
                    line: heading,
                    blocks: Vec::new(),
                };
                let scenario: &mut Scenario = scenario.get_or_insert_with(new);
                scenario.blocks.push(block);
                before.clear();
            } else if line.starts_with('#') {
                let level = line.bytes().take_while(|byte| *byte == b'#').count();
                headings.truncate(level - 1);
                headings.push(line[level..].trim().to_owned());
                heading = at;
                page.scenarios.extend(scenario.take());
            } else if !line.is_empty() {
                before = line;
            }
            at += 1;
        }
        page.scenarios.extend(scenario);
        page
    }

    /// Reads the block whose fence stands in a line.
    fn block(&self, fence: usize, language: &str, before: &str, labels: &[Label]) -> Block {
        let body = &self.lines[fence + 1..];
        let end = body.iter().position(|line| line == "```");
        let end = end.unwrap_or_else(|| panic!("{}: the block has no end", self.at(fence)));
        let label = match labels.iter().any(|(label, _)| *label == before) {
            true => before,
            false => "",
        };
        let mut known = labels.iter();
        let known = known.find(|(l, of)| *l == label && *of == language);
        let Some(&(label, language)) = known else {
            panic!("{}: `{language}` after {before:?}", self.at(fence));
        };
        Block {
            label,
            language,
            line: fence + 1,
            lines: body[..end].to_vec(),
        }
    }

    /// Returns a place as `page.md:12`.
    pub fn at(&self, line: usize) -> String {
        format!("{}:{}", self.name(), line + 1)
    }

    /// Returns the file's name, as `objects.md`.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Tells what is wrong; under `UPDATE_CASES` the page gets the lines that are known.
    fn settle(mut self, found: Findings) -> String {
        let mut wrong = String::new();
        for finding in &found.wrong {
            let _ = writeln!(wrong, "{}: {}", self.at(finding.line), finding.message);
            let lines = [
                ("-", Some(&self.lines[finding.line])),
                ("+", finding.instead.as_ref()),
            ];
            for (sign, line) in lines {
                if let Some(line) = line {
                    let _ = writeln!(wrong, "    {sign} {line}");
                }
            }
        }
        if std::env::var_os("UPDATE_CASES").is_some() {
            for finding in found.wrong {
                if let Some(line) = finding.instead {
                    self.lines[finding.line] = line;
                }
            }
            std::fs::write(&self.path, self.lines.join("\n") + "\n").unwrap();
        }
        wrong
    }
}

/// Returns the pages of a folder in the order of their names.
///
/// # Panics
///
/// Panics if the folder cannot be read, and as [`Page::read`].
pub fn pages(folder: &Path, labels: &[Label]) -> Vec<Page> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| Page::read(&path, labels);
    paths.into_iter().map(read).collect()
}

/// Runs the scenarios of pages on two threads and tells how many there were.
///
/// # Panics
///
/// Panics with all lines that are not as they should be.
pub fn run(pages: Vec<Page>, says: impl Fn(&Page, &Scenario, &mut Findings) + Sync) {
    let pages = Mutex::new(pages);
    let told = Mutex::new((String::new(), [0; 3]));
    let worker = || {
        while let Some(page) = { pages.lock().unwrap().pop() } {
            let mut found = Findings::default();
            for scenario in &page.scenarios {
                says(&page, scenario, &mut found);
            }
            let counts = [1, page.scenarios.len(), found.texts];
            let wrong = page.settle(found);
            let mut told = told.lock().unwrap();
            told.0.push_str(&wrong);
            for (sum, count) in told.1.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(worker);
        }
    });
    let (wrong, [pages, scenarios, texts]) = told.into_inner().unwrap();
    println!("{pages} pages, {scenarios} scenarios, {texts} texts");
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(texts > 0, "the pages have no texts");
}
