//! Masks in tags beside masks of the same schemas bare: `cargo run --release -p structural-tags
//! --example masks -- TOKENIZER_JSON CASES [SCHEMAS]`. Cases are those of `maskbench`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fsm_index::{
    ByteAutomaton, Fill, Guide, Index, IndexConfig, JSON_TEXT, MaskBuffer, TokenId, Vocabulary,
};
use response_parser::Family;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{AdditionalMembers, Options, Whitespace};
use serde_json::{Value, json};
use structural_tags::{Content, Count, Reasoning, ResponseFormat, StructuralTag, Tag, Tags};

/// What stands around a value in the JSON of servers.
const KINDS: [(&str, &str, &str); 4] = [
    (
        "hermes",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": ",
        "}\n</tool_call>",
    ),
    ("llama3_json", "{\"name\": \"f\", \"parameters\": ", "}"),
    (
        "harmony",
        "<|channel|>commentary to=functions.f<|constrain|>json<|message|>",
        "<|call|>",
    ),
    ("alone", "", ""),
];

/// The same where markers are kept out of JSON: a tag of our own, and a ready-made format.
const GUARDED: [(&str, &str, &str); 2] = [
    ("own tag", "<tool_call>", "</tool_call>"),
    (
        "own hermes",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": ",
        "}\n</tool_call>",
    ),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (tokenizer, cases) = arguments.next().zip(arguments.next()).ok_or("two files")?;
    let most: usize = arguments.next().map_or(Ok(200), |n| n.parse())?;
    let only = arguments.next();
    let vocabulary = Vocabulary::from_tokenizer_json(&std::fs::read(tokenizer)?)?;
    vocabulary.prepare(JSON_TEXT);
    let speller = Speller::new(&vocabulary);
    let mut all: HashMap<&str, Times> = HashMap::new();
    let cases = std::fs::read_to_string(cases)?;
    let mut taken = 0;
    let total = cases.lines().count();
    for (at, line) in cases.lines().enumerate() {
        if at % (total / most).max(1) != 0 {
            continue;
        }
        let case: Value = serde_json::from_str(line)?;
        let schema = &case["schema"];
        let texts: Vec<&str> = case["tests"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|test| test["text"].as_str())
            .collect();
        let options = Options::default()
            .with_whitespace(Whitespace::Pattern(r"[ \t\n\r]*".to_owned()))
            .with_escapes(schema_regex::Escapes::All)
            .with_additional_members(AdditionalMembers::Closed);
        let begun = Instant::now();
        let Ok(bare) = SchemaAutomaton::new(schema, &options) else {
            continue;
        };
        let compiled = begun.elapsed();
        taken += 1;
        walk(
            bare,
            "",
            "",
            (&texts, compiled),
            (&vocabulary, &speller),
            all.entry("bare").or_default(),
        )?;
        for (name, begin, end) in KINDS {
            if only.as_deref().is_some_and(|only| only != name) {
                continue;
            }
            let tag = json!({"format": {"type": "tag", "begin": begin, "end": end,
                "content": {"type": "json_schema", "json_schema": schema}}});
            let begun = Instant::now();
            let tag = StructuralTag::from_value(&tag).and_then(|tag| tag.compile(&vocabulary));
            // Tags refuse values that are too long to be waited for.
            let Ok(tag) = tag else { continue };
            let compiled = begun.elapsed();
            walk(
                tag,
                begin,
                end,
                (&texts, compiled),
                (&vocabulary, &speller),
                all.entry(name).or_default(),
            )?;
        }
        for (name, begin, end) in GUARDED {
            if only.as_deref().is_some_and(|only| only != name) {
                continue;
            }
            let begun = Instant::now();
            let automaton = match name {
                "own tag" => {
                    let content = Content::schema_with(schema, &options)?;
                    let tags = Tags::new().with_tag(Tag::new(begin, content, end));
                    tags.with_count(Count::ONE).compile(&vocabulary)
                }
                _ => ResponseFormat::named(Family::HERMES)?
                    .with_tools(&[json!({"name": "f", "parameters": schema})])?
                    .with_calls(Count::ONE)
                    .with_reasoning(Reasoning::ABSENT)
                    .with_options(options.clone())
                    .compile(&vocabulary),
            };
            let Ok(automaton) = automaton else { continue };
            let compiled = begun.elapsed();
            walk(
                automaton,
                begin,
                end,
                (&texts, compiled),
                (&vocabulary, &speller),
                all.entry(name).or_default(),
            )?;
        }
    }
    println!("{taken} schemas");
    let kinds = KINDS.iter().chain(&GUARDED).map(|kind| kind.0);
    for name in ["bare"].into_iter().chain(kinds) {
        if let Some(times) = all.get_mut(name) {
            times.masks.sort_unstable();
            times.compiles.sort_unstable();
            let at = |of: &[Duration], p: f64| {
                let last = of.len().saturating_sub(1);
                of.get((last as f64 * p) as usize)
                    .map_or(0.0, |d| d.as_secs_f64() * 1e6)
            };
            println!(
                "{name:12} {:>7} masks: p50 {:>6.1} p90 {:>6.1} p99 {:>7.1} p99.9 {:>7.1} max {:>8.1} us; compile p50 {:>7.1} us; {} texts refused",
                times.masks.len(),
                at(&times.masks, 0.5),
                at(&times.masks, 0.9),
                at(&times.masks, 0.99),
                at(&times.masks, 0.999),
                at(&times.masks, 1.0),
                at(&times.compiles, 0.5),
                times.refused
            );
        }
    }
    Ok(())
}

#[derive(Default)]
struct Times {
    masks: Vec<Duration>,
    compiles: Vec<Duration>,
    refused: usize,
}

fn walk<A: ByteAutomaton>(
    automaton: A,
    begin: &str,
    end: &str,
    (texts, compiled): (&[&str], Duration),
    (vocabulary, speller): (&Vocabulary, &Speller),
    times: &mut Times,
) -> Result<(), Box<dyn std::error::Error>> {
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let begun = Instant::now();
    let index = Arc::new(Index::lazy(automaton, vocabulary, &lazy)?);
    times.compiles.push(compiled + begun.elapsed());
    let mut buffer = MaskBuffer::new(vocabulary.width());
    for text in texts {
        let mut guide = Guide::new(Arc::clone(&index));
        // The tag's own beginning is not measured: it is no part of the bare schema.
        let mut refused = speller
            .spell(begin)
            .iter()
            .any(|token| guide.advance(*token).is_err());
        for token in speller.spell(text) {
            if refused {
                break;
            }
            let begun = Instant::now();
            guide.write_mask(&mut buffer)?;
            times.masks.push(begun.elapsed());
            refused |= !buffer.mask().allows(token);
            refused |= guide.advance(token).is_err();
        }
        refused |= speller
            .spell(end)
            .iter()
            .any(|token| guide.advance(*token).is_err());
        times.refused += usize::from(refused);
    }
    Ok(())
}

/// Cuts text into the longest tokens.
struct Speller {
    tokens: HashMap<Vec<u8>, TokenId>,
    longest: usize,
}

impl Speller {
    fn new(vocabulary: &Vocabulary) -> Speller {
        let texts = vocabulary
            .texts()
            .map(|(token, bytes)| (bytes.to_vec(), token));
        let tokens: HashMap<Vec<u8>, TokenId> = texts.collect();
        let longest = tokens.keys().map(Vec::len).max().unwrap_or(0).min(24);
        Speller { tokens, longest }
    }

    fn spell(&self, text: &str) -> Vec<TokenId> {
        let mut rest = text.as_bytes();
        let mut out = Vec::new();
        while !rest.is_empty() {
            let most = self.longest.min(rest.len());
            let found = (1..=most)
                .rev()
                .find_map(|n| Some((n, *self.tokens.get(&rest[..n])?)));
            let Some((n, token)) = found else { break };
            out.push(token);
            rest = &rest[n..];
        }
        out
    }
}
