//! Runs the pages of `tests/cases`: each scenario's schema against its texts, in both forms and in
//! every configuration that may not change the answer.
//!
//! `UPDATE_CASES=1 cargo test -p schema-regex --features automaton,serde --test all cases` rewrites the
//! marks of texts, the errors and the ledgers' lines to what is found; the diff is to be read.

use std::collections::BTreeSet;

use case_pages::{Case, Findings, Label, Page, Scenario, Words};
use fsm_index::ByteAutomaton as _;
use regex_automata::meta::Regex;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::ledger::{Entry, General, KEYWORDS, Status, markdown};
use schema_regex::{
    AdditionalMembers, Caps, Error, ErrorKind, Escapes, IntegerSpelling, OneOf, Options,
    ParseOptions, PropertyOrder, Schema, Whitespace, parse_str_with, to_regex,
};
use serde_json::Value;

use crate::common::{self, values};

/// The two things that a schema becomes, with their names on a page.
const TARGETS: [&str; 2] = ["automaton", "expression"];

/// The lines that may stand before a block, with the block's language.
const LABELS: [Label; 12] = [
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

fn pages() -> Vec<Page> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    case_pages::pages(folder.as_ref(), &LABELS)
}

#[test]
fn the_pages_say_what_is_so() {
    let words = Words::new(&WORDS);
    case_pages::run(pages(), |_, scenario, all| {
        scenario_says(scenario, &words, all);
    });
}

/// Tokens that cut JSON at unlucky places.
const WORDS: [&str; 23] = [
    "\":", "\": ", "\", \"", "\",\"", "{\"", "\"}", "}}", "]}", "[[", "],", ", ", "true", "null",
    "ab", "abc", "12", "1,", ".5", "\\u00", "é", "a\"", "-0", " \"",
];

/// Options of a block; one that there is not is told.
fn options<T: serde::de::DeserializeOwned + serde::Serialize + Default>(
    scenario: &Scenario,
    label: &str,
) -> Result<T, String> {
    let Some(text) = scenario.text("json", label) else {
        return Ok(T::default());
    };
    let names = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect()
    };
    let given: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let known = serde_json::to_value(T::default()).map_err(|e| e.to_string())?;
    for (given, known) in [(&given, &known), (&given["caps"], &known["caps"])] {
        let known = names(known);
        if let Some(name) = names(given).iter().find(|name| !known.contains(name)) {
            return Err(format!("there is no option `{name}`"));
        }
    }
    serde_json::from_value(given).map_err(|e| e.to_string())
}

fn scenario_says(scenario: &Scenario, words: &Words, all: &mut Findings) {
    let Some(source) = scenario.text("json", "") else {
        all.add(scenario.line, "there is no schema", None);
        return;
    };
    let chosen =
        options(scenario, "Options:").and_then(|o| Ok((o, options(scenario, "Reading:")?)));
    let (options, reading): (Options, ParseOptions) = match chosen {
        Ok(chosen) => chosen,
        Err(message) => return all.add(scenario.line, message, None),
    };
    let read = parse_str_with(&source, &reading);
    let (automaton, regex) = match &read {
        Ok(schema) => (
            SchemaAutomaton::compile(schema.clone(), &options),
            to_regex(schema, &options).map(|text| common::whole(&text)),
        ),
        Err(e) => (Err(e.clone()), Err(e.clone())),
    };
    let errors = [automaton.as_ref().err(), regex.as_ref().err()];
    errors_are_these(scenario, errors, all);
    let Ok(schema) = read else {
        return;
    };
    ledgers_have(scenario, &schema, &options, errors, all);
    let both = scenario.cases("");
    let only = TARGETS.map(|target| scenario.cases(&format!("Only the {target}:")));
    all.count(both.len() + only.iter().map(Vec::len).sum::<usize>());
    let oracle = Oracle::new(&source, &schema, &reading, &options);
    let checked = both.iter().chain(only.iter().flatten());
    for case in checked {
        oracle.marks(case, all);
    }
    let automaton = automaton.ok();
    let regex = regex.ok();
    for case in &both {
        says(
            case,
            case.mark == '+',
            automaton.as_ref(),
            regex.as_ref(),
            all,
        );
    }
    for (target, cases) in only.iter().enumerate() {
        for case in cases {
            let is_match = [
                automaton
                    .as_ref()
                    .is_some_and(|a| a.is_match(case.text.as_bytes())),
                regex.as_ref().is_some_and(|r| r.is_match(&case.text)),
            ];
            if !is_match[target] || is_match[1 - target] || case.mark != '+' {
                let message = format!(
                    "the automaton accepts it: {}, the expression: {}",
                    is_match[0], is_match[1]
                );
                all.add(case.line, message, None);
            }
        }
    }
    let Some(automaton) = automaton else {
        return;
    };
    let mine = both.iter().chain(&only[0]);
    for case in mine.clone() {
        read_in_pieces(case, &automaton, all);
    }
    let schema = (&schema, &options);
    agrees_in_other_configurations(schema, &automaton, mine.clone(), all);
    words.lead(&automaton, scenario, mine.clone(), all);
    complement_is_the_rest(&source, &options, &reading, mine, all);
}

fn says(
    case: &Case<'_>,
    wanted: bool,
    automaton: Option<&SchemaAutomaton>,
    regex: Option<&Regex>,
    all: &mut Findings,
) {
    let automaton = automaton.map(|a| a.is_match(case.text.as_bytes()));
    let regex = regex.map(|r| r.is_match(&case.text));
    match (automaton, regex) {
        (Some(automaton), Some(regex)) if automaton != regex => {
            let target = TARGETS[usize::from(regex)];
            all.add(case.line, format!("only the {target} accepts it"), None);
        }
        (Some(found), _) | (None, Some(found)) if found != wanted => {
            let (mark, message) = match found {
                true => ('+', "it is accepted"),
                false => ('-', "it is refused"),
            };
            let instead = case.marked(mark);
            all.add(case.line, message, Some(instead));
        }
        (None, None) => all.add(case.line, "the schema is refused", None),
        _ => {}
    }
}

/// Two validators: this crate's, and another one for schemas without formats, of which each has its own.
struct Oracle<'s> {
    schema: &'s Schema,
    options: Options,
    other: Option<jsonschema::Validator>,
}

impl<'s> Oracle<'s> {
    fn new(source: &str, schema: &'s Schema, reading: &ParseOptions, options: &Options) -> Self {
        let of_draft = match reading == &ParseOptions::default() {
            true => serde_json::from_str(source).ok(),
            false => None,
        };
        let other = of_draft.filter(|_| !source.contains("\"format\""));
        let other = other.and_then(|value: Value| jsonschema::validator_for(&value).ok());
        Oracle {
            schema,
            options: options.clone(),
            other,
        }
    }

    /// Compares the mark of a text with what the validators say of its value.
    fn marks(&self, case: &Case<'_>, all: &mut Findings) {
        let is_long = case.text.split(|c: char| !c.is_ascii_digit() && c != '.');
        // What reads the value has rounded it, and no validator reads `oneOf` as `anyOf`.
        let is_rounded = is_long.map(str::len).max() > Some(15) && !case.text.contains('"');
        if is_rounded || self.options.one_of == OneOf::Any {
            return;
        }
        let value: Value = match serde_json::from_str(&case.text) {
            Ok(value) => value,
            Err(e) if e.to_string().contains("number out of range") => return,
            Err(_) if case.mark == '-' => return,
            Err(e) => {
                let instead = Some(case.marked('-'));
                return all.add(case.line, format!("no JSON: {e}"), instead);
            }
        };
        let wanted = case.mark != '-';
        if let Ok(valid) = self.schema.is_valid(&value, &self.options)
            && valid != wanted
        {
            let (mark, message) = match valid {
                true => ('!', "its value satisfies the schema"),
                false => ('-', "its value does not satisfy the schema"),
            };
            all.add(case.line, message, Some(case.marked(mark)));
        }
        if let Some(other) = &self.other {
            let valid = other.is_valid(&value);
            if valid != wanted {
                let message = format!("another validator says of its value: {valid}");
                all.add(case.line, message, None);
            }
        }
    }
}

/// Errors are those of the page, word by word.
fn errors_are_these(scenario: &Scenario, errors: [Option<&Error>; 2], all: &mut Findings) {
    let mut is_told = [false; 2];
    let both = scenario.block("text", "Error:");
    for (target, error) in errors.into_iter().enumerate() {
        let own = format!("Error of the {}:", TARGETS[target]);
        let block = scenario.block("text", &own).or(both);
        is_told[target] = block.is_some();
        let found = error.map(|e| format!("{:?} {e}", e.kind()));
        match (block, found) {
            (Some(block), Some(found)) if block.lines.join("\n") != found => {
                let message = format!("the error of the {}", TARGETS[target]);
                all.add(block.line, message, Some(found));
            }
            (Some(block), None) => {
                let message = format!("the {} has no error", TARGETS[target]);
                all.add(block.line, message, None);
            }
            (None, Some(found)) => {
                let message = format!("the {} is refused: {found}", TARGETS[target]);
                all.add(scenario.line, message, None);
            }
            _ => {}
        }
    }
}

/// An entry as pages show it: `#/format: narrowed, a fraction has at most 18 digits`.
fn shown(entry: &Entry) -> String {
    let (status, reason) = match &entry.status {
        Status::Enforced => ("enforced", None),
        Status::Annotation => ("annotation", None),
        Status::Ignored(reason) => ("ignored", Some(reason)),
        Status::Narrowed(reason) => ("narrowed", Some(reason)),
        Status::Loosened(reason) => ("loosened", Some(reason)),
        Status::Refused(reason) => ("refused", Some(reason)),
        other => panic!("{other:?} has no name"),
    };
    let comma = if reason.is_some() { ", " } else { "" };
    let reason = reason.map_or("", String::as_str);
    format!("#{}: {status}{comma}{reason}", entry.pointer)
}

/// Each line of a ledger that a page shows is in the ledger, and so is a keyword that is refused.
fn ledgers_have(
    scenario: &Scenario,
    schema: &Schema,
    options: &Options,
    errors: [Option<&Error>; 2],
    all: &mut Findings,
) {
    let ledgers = [
        SchemaAutomaton::explain(schema.clone(), options).1,
        schema.ledger(options),
    ];
    for ((target, ledger), error) in TARGETS.iter().zip(ledgers).zip(errors) {
        let is_refused = |entry: &Entry| {
            matches!(entry.status, Status::Refused(_))
                && error.is_some_and(|error| error.pointer() == entry.pointer)
        };
        if error.is_some_and(|error| error.kind() == ErrorKind::Refused)
            && !ledger.iter().any(is_refused)
        {
            let message = format!("the ledger of the {target} does not have the error");
            all.add(scenario.line, message, None);
        }
        let found: Vec<String> = ledger.iter().map(shown).collect();
        let own = format!("Ledger of the {target}:");
        let blocks = ["Ledger:", &own].map(|label| scenario.block("text", label));
        for block in blocks.into_iter().flatten() {
            for (line, wanted) in (block.line..).zip(&block.lines) {
                if found.contains(wanted) {
                    continue;
                }
                let (pointer, _) = wanted.split_once(": ").unwrap_or((wanted, ""));
                let start = format!("{pointer}: ");
                let mut same = found.iter().filter(|found| found.starts_with(&start));
                let message = format!("the ledger of the {target}");
                all.add(line, message, same.next().cloned());
            }
        }
    }
}

/// Text comes in pieces, and a walk reads it byte by byte.
fn read_in_pieces(case: &Case<'_>, automaton: &SchemaAutomaton, all: &mut Findings) {
    let text = case.text.as_bytes();
    let wanted = automaton.is_match(text);
    let mut x = automaton.scratch();
    for length in [1, 3, 7] {
        let mut state = automaton.start();
        let mut pieces = text.chunks(length);
        let taken = pieces.all(|piece| automaton.advance(&mut state, piece, &mut x).is_ok());
        if (taken && automaton.is_accepting(&state)) != wanted {
            let message = format!("in pieces of {length} bytes it is not the same");
            all.add(case.line, message, None);
        }
    }
    if wanted {
        let mut at = automaton.enter(&automaton.start(), &mut x);
        for byte in text {
            at = automaton.step(at, *byte, &mut x);
        }
        if at.is_dead() {
            all.add(case.line, "byte by byte it is refused", None);
        }
    }
}

/// More spellings, any order and closed objects change nothing for what is accepted or wrong.
fn agrees_in_other_configurations<'c>(
    (schema, options): (&Schema, &Options),
    automaton: &SchemaAutomaton,
    cases: impl Iterator<Item = &'c Case<'c>> + Clone,
    all: &mut Findings,
) {
    let any_order = options.clone().with_property_order(PropertyOrder::Any);
    let mut spellings = options
        .clone()
        .with_escapes(Escapes::All)
        .with_integers(IntegerSpelling::ZeroFraction);
    if !matches!(
        options.whitespace,
        Whitespace::Pattern(_) | Whitespace::Bounded(_)
    ) {
        spellings = spellings.with_whitespace(Whitespace::flexible());
    }
    let has_no_caps = options.caps == Caps::default();
    // A schema may choose its own.
    let chosen = schema.options(options);
    let closed = options
        .clone()
        .with_additional_members(AdditionalMembers::Closed);
    for (name, other) in [
        ("any order", any_order),
        ("more spellings", spellings),
        ("closed objects", closed),
    ] {
        let Ok(other) = SchemaAutomaton::compile(schema.clone(), &other) else {
            continue;
        };
        for case in cases.clone() {
            let found = other.is_match(case.text.as_bytes());
            let wanted = match case.mark {
                // With more digits to write a cap leaves other numbers out.
                '+' if name == "any order" || name == "more spellings" && has_no_caps => true,
                '-' => false,
                _ => continue,
            };
            if found != wanted {
                all.add(
                    case.line,
                    format!("with {name} it is accepted: {found}"),
                    None,
                );
            }
            if name == "any order" && case.mark == '+' {
                in_each_order(case, &chosen, &other, all);
            }
        }
        let mut whole = Vec::new();
        if name == "closed objects"
            && other
                .completion(&other.start(), 1 << 12, &mut whole)
                .is_some()
            && !automaton.is_match(&whole)
        {
            let whole = String::from_utf8_lossy(&whole);
            panic!("{whole} is one of the closed schema alone");
        }
    }
}

fn in_each_order(case: &Case<'_>, options: &Options, any: &SchemaAutomaton, all: &mut Findings) {
    let Ok(value) = serde_json::from_str::<Value>(&case.text) else {
        return;
    };
    // White space and spellings are this text's own, and listed objects have their order.
    let is_plain = is_plain(&value, &case.text);
    let compact = matches!(
        options.whitespace,
        Whitespace::SingleSpace | Whitespace::Compact
    );
    if !is_plain || !compact {
        return;
    }
    for text in values::orders(&value).iter().take(24) {
        if !any.is_match(text.as_bytes()) {
            all.add(case.line, format!("not in any order: {text}"), None);
        }
    }
}

/// Tells whether a text is a value as it is usually written.
fn is_plain(value: &Value, text: &str) -> bool {
    let usual = value.to_string();
    usual == text.replace(", ", ",").replace(": ", ":")
}

/// The complement of a schema has the JSON that is wrong, and nothing else.
fn complement_is_the_rest<'c>(
    source: &str,
    options: &Options,
    reading: &ParseOptions,
    cases: impl Iterator<Item = &'c Case<'c>>,
    all: &mut Findings,
) {
    // References lead from the root, and a closed or capped complement is another one.
    let is_usual = options == &Options::default() && reading == &ParseOptions::default();
    if !is_usual || source.contains("\"$") {
        return;
    }
    let not = format!("{{\"not\": {source}}}");
    let wide = options
        .clone()
        .with_property_order(PropertyOrder::Any)
        .with_integers(IntegerSpelling::ZeroFraction);
    let read = parse_str_with(&not, reading);
    let Ok(not) = read.and_then(|schema| SchemaAutomaton::compile(schema, &wide)) else {
        return;
    };
    // What a format leaves out is not of its complement either.
    let narrowed = ["date-time", "time", "email", "hostname"];
    let names = |name: &&str| source.contains(&format!("\"format\": \"{name}\""));
    let is_narrowed = narrowed.iter().any(names);
    for case in cases {
        let value = serde_json::from_str::<Value>(&case.text);
        let plain = value.is_ok_and(|value| is_plain(&value, &case.text));
        let found = not.is_match(case.text.as_bytes());
        let wanted = case.mark == '-' && plain && !is_narrowed;
        if found && case.mark != '-' || !found && wanted {
            let message = format!("it is of the complement: {found}");
            all.add(case.line, message, None);
        }
    }
}

/// The scenarios of all pages, each with its page, schema and what it has of texts.
fn all_scenarios() -> Vec<(String, Value, Vec<String>)> {
    let mut out = Vec::new();
    for page in pages() {
        for scenario in &page.scenarios {
            let texts = scenario
                .cases("")
                .into_iter()
                .chain(scenario.cases("Only the automaton:"));
            let texts: Vec<String> = texts.map(|case| case.text).collect();
            let source = scenario
                .text("json", "")
                .and_then(|text| serde_json::from_str(&text).ok());
            let is_usual = scenario
                .text("json", "Options:")
                .or(scenario.text("json", "Reading:"))
                .is_none();
            if let Some(schema) = source.filter(|_| is_usual && !texts.is_empty()) {
                out.push((page.at(scenario.line), schema, texts));
            }
        }
    }
    out
}

/// The places of a keyword in a schema.
fn places(schema: &Value, keyword: &str, at: &str, out: &mut Vec<String>) {
    let members: Vec<(String, &Value)> = match schema {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), value))
            .collect(),
        Value::Array(items) => (0..).map(|n: usize| n.to_string()).zip(items).collect(),
        _ => return,
    };
    for (name, value) in members {
        if name == keyword && schema.is_object() {
            out.push(at.to_owned());
        }
        places(
            value,
            keyword,
            &format!("{at}/{}", json_tree::pointer::escape(&name)),
            out,
        );
    }
}

/// A keyword that is enforced changes the answer to some text of the pages, and an annotation to none.
#[test]
fn keywords_matter_if_they_are_enforced() {
    let scenarios = all_scenarios();
    let compiled = |schema: &Value| SchemaAutomaton::new(schema, &Options::default());
    for keyword in KEYWORDS {
        let is_enforced = match keyword.general {
            General::Enforced | General::EnforcedWhere => true,
            General::Annotation => false,
            _ => continue,
        };
        let mut changes = None;
        for (place, schema, texts) in &scenarios {
            let mut pointers = Vec::new();
            places(schema, keyword.name, "", &mut pointers);
            for pointer in pointers {
                let mut without = schema.clone();
                let at = without.pointer_mut(&pointer).and_then(Value::as_object_mut);
                at.unwrap().shift_remove(keyword.name);
                let (Ok(with), Ok(without)) = (compiled(schema), compiled(&without)) else {
                    continue;
                };
                let differs = |text: &&String| {
                    with.is_match(text.as_bytes()) != without.is_match(text.as_bytes())
                };
                if let Some(text) = texts.iter().find(differs) {
                    changes = Some(format!("{place}: {text}"));
                }
            }
            if is_enforced && changes.is_some() {
                break;
            }
        }
        assert_eq!(
            changes.is_some(),
            is_enforced,
            "{}: {changes:?}",
            keyword.name
        );
    }
}

/// A pattern that a library publishes compiles alone, beside its format, and beside lengths.
#[test]
fn patterns_of_a_library_stand_beside_lengths() {
    let page = pages()
        .into_iter()
        .find(|page| page.name() == "formats.md")
        .unwrap();
    let is_of_library = |s: &&Scenario| {
        s.headings
            .iter()
            .any(|h| h.contains("patterns of a library"))
    };
    let scenarios: Vec<&Scenario> = page.scenarios.iter().filter(is_of_library).collect();
    assert!(scenarios.len() > 15);
    for scenario in scenarios {
        let schema: Value = serde_json::from_str(&scenario.text("json", "").unwrap()).unwrap();
        let mut alone = schema.clone();
        alone.as_object_mut().unwrap().shift_remove("format");
        let with = |most: u64, least: u64| {
            let mut schema = schema.clone();
            schema["maxLength"] = most.into();
            schema["minLength"] = least.into();
            schema
        };
        for (schema, least) in [(alone, 0), (with(254, 0), 0), (with(100, 3), 3)] {
            let automaton = SchemaAutomaton::new(&schema, &Options::default());
            let automaton = automaton.unwrap_or_else(|e| panic!("{}: {e}", page.at(scenario.line)));
            for case in scenario.cases("") {
                let length = case.text.chars().count() - 2;
                let wanted = case.mark == '+' && length >= least;
                let found = automaton.is_match(case.text.as_bytes());
                assert_eq!(found, wanted, "{}: {schema}", page.at(case.line));
            }
        }
    }
}

/// Each keyword, format and option has a heading with its name.
#[test]
fn every_name_has_a_heading() {
    let mut named = BTreeSet::new();
    for page in pages() {
        assert!(!page.scenarios.is_empty(), "{} has no cases", page.name());
        for scenario in &page.scenarios {
            for heading in &scenario.headings {
                let parts = heading.split('`').skip(1).step_by(2);
                for name in parts {
                    named.insert(name.to_owned());
                    named.insert(format!("{} {name}", page.name()));
                }
            }
        }
    }
    let names =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    for keyword in KEYWORDS {
        let (page, name) = (keyword.page, keyword.name);
        let is_there = named.contains(&format!("{page}.md {name}"));
        assert!(is_there, "{page}.md has no heading `{name}`");
    }
    let options = serde_json::to_value(Options::default()).unwrap();
    let reading = serde_json::to_value(ParseOptions::default()).unwrap();
    let keywords = KEYWORDS.iter().map(|keyword| keyword.name.to_owned());
    let all = keywords
        .chain(formats())
        .chain(names(&options))
        .chain(names(&options["caps"]))
        .chain(names(&reading));
    let missing: Vec<String> = all.filter(|name| !named.contains(name)).collect();
    assert!(missing.is_empty(), "no heading has {missing:?}");
}

/// The names of formats, as `docs/KEYWORDS.md` lists them.
fn formats() -> Vec<String> {
    let page = markdown();
    let (_, formats) = page.split_once("## Formats").unwrap();
    let rows = formats.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.filter_map(|row| row.split('`').next());
    let hints = formats.lines().find(|line| line.starts_with("Annotations"));
    let hints = hints.unwrap().split(". ").next().unwrap();
    let hints = hints.split('`').skip(3).step_by(2);
    rows.chain(hints).map(str::to_owned).collect()
}
