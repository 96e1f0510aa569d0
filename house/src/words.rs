//! The sentences of comments and documentation.
//!
//! For example, `/// What of it is open.` is a sentence that begins with `What` and has no
//! subject, and `// Sorted, because they are searched by halves.` gives a reason.

use crate::crates::File;
use crate::tokens::Kind;

/// The words that begin clauses without a subject, which took the place of sentences.
const CLAUSES: [&str; 6] = ["What", "Whether", "Where", "Of", "How", "Those"];

/// The words that give a reason or an example.
const REASONS: [&str; 7] = [
    "because",
    "since",
    "so that",
    "otherwise",
    "note that",
    "e.g.",
    "for example",
];

/// The counts of words.
#[derive(Default)]
pub(crate) struct Words {
    pub(crate) words: usize,
    pub(crate) sentences: usize,
    /// Sentences that begin as clauses, as places.
    pub(crate) clauses: Vec<String>,
    pub(crate) reasons: usize,
    /// Modules whose documentation has no example, as places.
    pub(crate) without_example: Vec<String>,
}

impl Words {
    pub(crate) fn add(&mut self, file: &File) {
        let mut of_module = file.pages.to_lowercase();
        for (line, kind, block) in blocks(file) {
            if kind == Comment::Module {
                of_module.push_str(&block.to_lowercase());
            }
            self.words += block.split_whitespace().count();
            let lowered = block.to_lowercase();
            self.reasons += REASONS
                .iter()
                .map(|reason| lowered.matches(reason).count())
                .sum::<usize>();
            for sentence in sentences(&block) {
                self.sentences += 1;
                let first = sentence.split_whitespace().next().unwrap_or_default();
                let first = first.trim_matches(|letter: char| !letter.is_alphanumeric());
                if CLAUSES.contains(&first) {
                    let start: String = sentence.chars().take(90).collect();
                    self.clauses
                        .push(format!("{}:{line}: {start}", file.path.display()));
                }
            }
        }
        if !["for example", "e.g.", "```"]
            .iter()
            .any(|word| of_module.contains(word))
        {
            self.without_example.push(file.path.display().to_string());
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comment {
    Module,
    Item,
    Inline,
}

/// Returns the comments of product code, lines that follow each other as one, each with its
/// first line's number. Blocks of code are left out, but for the signs around them.
fn blocks(file: &File) -> Vec<(usize, Comment, String)> {
    let mut code_ends = vec![None; file.lines.len() + 1];
    let mut in_literal = vec![false; file.lines.len() + 2];
    for token in &file.tokens {
        let line = token.end.line;
        if line < code_ends.len() {
            code_ends[line] = code_ends[line].max(Some(token.end.column));
        }
        if token.kind == Kind::Literal {
            in_literal[token.start.line + 1..=token.end.line].fill(true);
        }
    }
    let mut found: Vec<(usize, Comment, String)> = Vec::new();
    let mut before = None;
    let mut in_code = false;
    for (at, line) in file.lines.iter().enumerate() {
        let number = at + 1;
        let text: String = match code_ends[number] {
            Some(end) => line.text.chars().skip(end).collect(),
            None => line.text.clone(),
        };
        let text = text.trim();
        if line.of_tests
            || !text.starts_with("//")
            || (in_literal[number] && code_ends[number].is_none())
        {
            before = None;
            in_code = false;
            continue;
        }
        let (kind, rest) = if let Some(rest) = text.strip_prefix("//!") {
            (Comment::Module, rest)
        } else if let Some(rest) = text.strip_prefix("///") {
            (Comment::Item, rest)
        } else {
            (Comment::Inline, &text[2..])
        };
        let rest = rest.trim();
        if before != Some(kind) {
            in_code = false;
            found.push((number, kind, String::new()));
        }
        before = Some(kind);
        let Some((_, _, block)) = found.last_mut() else {
            continue;
        };
        if rest.starts_with("```") {
            in_code = !in_code;
            block.push_str("``` ");
        } else if rest.is_empty() || rest.starts_with('#') || rest.starts_with('|') {
            // A sentence does not go on behind a paragraph, a heading or a table.
            block.push_str("\n\n");
        } else if !in_code {
            block.push_str(rest);
            block.push(' ');
        }
    }
    found
}

/// Returns the sentences of a text: they end with a dot, a question mark or a colon before a
/// capital letter, or with the paragraph.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut start = 0;
        let letters: Vec<(usize, char)> = paragraph.char_indices().collect();
        for (at, window) in letters.windows(3).enumerate() {
            let [(_, end), (_, space), (next, first)] = window else {
                continue;
            };
            let ends = matches!(end, '.' | '?' | '!')
                && *space == ' '
                && (first.is_uppercase() || matches!(first, '`' | '['));
            // `e.g.`, `i.e.` and the like.
            let short = at > 1 && letters[at - 1].1.is_alphabetic() && letters[at - 2].1 == '.';
            if ends && !short {
                found.push(paragraph[start..*next].trim());
                start = *next;
            }
        }
        found.push(paragraph[start..].trim());
    }
    found.retain(|sentence| sentence.chars().any(char::is_alphabetic));
    found
}
