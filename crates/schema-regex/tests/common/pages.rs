//! The pages of cases, `tests/cases/*.md`: their headings and fenced blocks.
//!
//! For example, a scenario is a heading, a sentence, a block `json` with a schema and a block
//! `diff` with texts: `+ 1` is accepted, `- 2` is refused. The line before a block names other ones:
//! `Options:`, `Ledger:`, `Error of the expression:`. [`LABELS`] lists them.

use std::path::PathBuf;

/// The lines that may stand before a block, with the block's language.
pub(crate) const LABELS: [(&str, &str); 12] = [
    ("", "json"),
    ("", "diff"),
    ("Options:", "json"),
    ("Reading:", "json"),
    ("Only the automaton:", "diff"),
    ("Only the expression:", "diff"),
    ("Ledger:", "text"),
    ("Ledger of the automaton:", "text"),
    ("Ledger of the expression:", "text"),
    ("Error:", "text"),
    ("Error of the automaton:", "text"),
    ("Error of the expression:", "text"),
];

/// A page by its file.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) lines: Vec<String>,
    pub(crate) scenarios: Vec<Scenario>,
}

/// A heading with a schema below it.
pub(crate) struct Scenario {
    /// The heading and those above it, of which the names in backticks are what it is about.
    pub(crate) headings: Vec<String>,
    /// The first line is 0.
    pub(crate) line: usize,
    pub(crate) blocks: Vec<Block>,
}

/// A fenced block.
pub(crate) struct Block {
    pub(crate) label: &'static str,
    pub(crate) language: &'static str,
    /// The first line between the fences.
    pub(crate) line: usize,
    pub(crate) lines: Vec<String>,
}

impl Scenario {
    /// The block of a language with a label, if there is one.
    pub(crate) fn block(&self, language: &str, label: &str) -> Option<&Block> {
        let mut blocks = self.blocks.iter();
        blocks.find(|block| block.language == language && block.label == label)
    }

    /// The text of the JSON with a label.
    pub(crate) fn json(&self, label: &str) -> Option<String> {
        Some(self.block("json", label)?.lines.join("\n"))
    }
}

impl Page {
    /// Reads all pages, in the order of their names.
    pub(crate) fn all() -> Vec<Page> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
        let files = std::fs::read_dir(folder).unwrap();
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        paths.into_iter().map(Page::read).collect()
    }

    fn read(path: PathBuf) -> Page {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut page = Page {
            path,
            lines,
            scenarios: Vec::new(),
        };
        let mut headings: Vec<String> = Vec::new();
        let mut scenario = None;
        let (mut before, mut heading) = ("", 0);
        let mut at = 0;
        while at < page.lines.len() {
            let line = page.lines[at].as_str();
            if let Some(language) = line.strip_prefix("```") {
                let block = page.block(at, language, before);
                at = block.line + block.lines.len();
                let new = || Scenario {
                    headings: headings.clone(),
                    line: heading,
                    blocks: Vec::new(),
                };
                let scenario: &mut Scenario = scenario.get_or_insert_with(new);
                scenario.blocks.push(block);
                before = "";
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

    fn block(&self, fence: usize, language: &str, before: &str) -> Block {
        let body = &self.lines[fence + 1..];
        let end = body.iter().position(|line| line == "```");
        let end = end.unwrap_or_else(|| panic!("{}: the block has no end", self.at(fence)));
        let is_label = |label: &str| label == before;
        let label = if LABELS.iter().any(|(label, _)| is_label(label)) {
            before
        } else {
            ""
        };
        let mut known = LABELS.iter();
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
    pub(crate) fn at(&self, line: usize) -> String {
        format!("{}:{}", self.name(), line + 1)
    }

    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap();
        name.to_string_lossy().into_owned()
    }
}

/// A text as a page shows it: control characters and a space at an end have pictures.
pub(crate) fn text(shown: &str) -> String {
    let plain = |c: char| match c {
        '\u{2400}'..='\u{241F}' => char::from_u32(c as u32 - 0x2400).unwrap(),
        '\u{2420}' => ' ',
        '\u{2421}' => '\u{7F}',
        other => other,
    };
    shown.chars().map(plain).collect()
}
