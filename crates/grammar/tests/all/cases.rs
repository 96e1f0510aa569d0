//! Runs the pages of `tests/cases`, one a dialect: each scenario's grammar against its texts, whole, byte by
//! byte, and led through by the masks of a small vocabulary.
//!
//! For example, `gbnf.md` has a block `gbnf` with `root ::= [] [a-]` and a block `diff` with `+ a`. Beside
//! these a scenario may have `Error:` with the kind of an error, its line and its message.
//!
//! `UPDATE_CASES=1 cargo test -p grammar --test all cases` rewrites marks and errors to what is found; the diff is
//! to be read.

use case_pages::{Case, Findings, Label, Page, Scenario, Words};
use fsm_index::ByteAutomaton as _;
use grammar::{Config, Dialect, Grammar, GrammarAutomaton};

fn pages() -> Vec<Page> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    let grammars = Dialect::ALL.map(|dialect| ("", language(dialect.name())));
    let labels: Vec<Label> = [("", "diff"), ("Error:", "text")]
        .into_iter()
        .chain(grammars)
        .collect();
    case_pages::pages(folder.as_ref(), &labels)
}

/// The language of a dialect's blocks: readings of one notation share it.
fn language(dialect: &'static str) -> &'static str {
    dialect.split('-').next().unwrap_or(dialect)
}

#[test]
fn the_pages_say_what_is_so() {
    let words = Words::new(&WORDS);
    case_pages::run(pages(), |page, scenario, found| {
        scenario_says(page, scenario, &words, found);
    });
}

#[test]
fn each_dialect_has_a_page() {
    let pages = pages();
    let mut names: Vec<String> = pages.iter().map(Page::name).collect();
    let mut dialects: Vec<String> = Dialect::ALL.map(|d| format!("{}.md", d.name())).to_vec();
    names.sort();
    dialects.sort();
    assert_eq!(names, dialects);
}

#[test]
fn each_dialect_has_its_row_and_link_in_the_documents() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/GRAMMARS.md");
    let said = std::fs::read_to_string(path).unwrap();
    for name in Dialect::ALL.map(Dialect::name) {
        assert!(said.contains(&format!("\n| `{name}`")), "row of {name}");
        assert!(
            said.contains(&format!("tests/cases/{name}.md")),
            "link of {name}"
        );
    }
}

/// Tokens that cut texts at unlucky places.
const WORDS: [&str; 17] = [
    "ab", "abc", "  ", "\n\n", " a", "if", "fo", "oo!", "*/", "/*", "a*", "12", ", ", "\":", "{\"",
    "<t", ">x",
];

fn scenario_says(page: &Page, scenario: &Scenario, words: &Words, found: &mut Findings) {
    let dialect: Dialect = page.name().trim_end_matches(".md").parse().unwrap();
    let language = language(dialect.name());
    let Some(text) = scenario.text(language, "") else {
        return found.add(
            scenario.line,
            format!("there is no block `{language}`"),
            None,
        );
    };
    let compiled = Grammar::compile(&text, dialect, &Config::default());
    let error = compiled.as_ref().err();
    let error = error.map(|error| format!("{:?} {error}", error.kind()));
    found.same(scenario, "Error:", error.as_deref());
    let cases = scenario.cases("");
    found.count(cases.len());
    let Ok(automaton) = compiled else {
        if !cases.is_empty() || scenario.block("text", "Error:").is_none() {
            found.add(scenario.line, "a grammar with an error has no texts", None);
        }
        return found.count(1);
    };
    if cases.is_empty() {
        found.add(scenario.line, "there are no texts", None);
    }
    for case in &cases {
        is_as_marked(case, &automaton, found);
    }
    words.lead(&automaton, scenario, cases.iter(), found);
}

/// A text is taken or not, at once and byte by byte.
fn is_as_marked(case: &Case<'_>, automaton: &GrammarAutomaton, found: &mut Findings) {
    let is_taken = automaton.accepts(&case.text);
    if is_taken != (case.mark == '+') {
        let (mark, message) = match is_taken {
            true => ('+', "it is accepted"),
            false => ('-', "it is refused"),
        };
        found.add(case.line, message, Some(case.marked(mark)));
    }
    let mut state = automaton.start();
    let mut scratch = automaton.scratch();
    let mut bytes = case.text.as_bytes().chunks(1);
    let is_read = bytes.all(|byte| automaton.advance(&mut state, byte, &mut scratch).is_ok());
    if is_read && automaton.is_accepting(&state) != is_taken || !is_read && is_taken {
        found.add(case.line, "byte by byte it is otherwise", None);
    }
}
