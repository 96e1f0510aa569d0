//! From schema to parsed value, whole: schemas that cover every enforced
//! keyword are compiled, bound to a model, decoded within a token budget, and
//! what comes out is validated by two validators.

#![cfg(feature = "embedded")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fsm_index::{ByteAutomaton, Fill, Guide, Index, IndexConfig};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::ledger::{General, KEYWORDS, Status};
use schema_regex::{Options, Whitespace};
use serde_json::Value;
use tokenmold::chat::chatml;
use tokenmold::constraint::Constraint;
use tokenmold::generate::{Finish, Flow, Generation, Prompt, Request, Session, TokenBudget};
use tokenmold::model::{LoadedModel, Model};
use tokenmold::sampling::SamplingConfig;
use tokenmold::tokenizer::{Surround, Tokenizer};
use tokenmold::{Error, ErrorKind, embedded};

/// A schema with a name.
struct Case {
    name: String,
    schema: Value,
}

/// The committed schemas, one JSON object a line.
fn committed() -> Vec<Case> {
    let lines = include_str!("../end_to_end/schemas.jsonl").lines();
    let cases = lines.map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        Case {
            name: line["name"].as_str().unwrap().to_owned(),
            schema: line["schema"].take(),
        }
    });
    cases.collect()
}

/// Schemas of the development cases, chosen by a seed; none, and a word about
/// it, where the data is not there.
fn sampled(count: usize) -> Vec<Case> {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA is not set, so no development cases are decoded");
        return Vec::new();
    };
    let path = std::path::Path::new(&data).join("maskbench/dev.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} cannot be read", path.display());
        return Vec::new();
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for i in (1..lines.len()).rev() {
        lines.swap(i, rng.next_u64() as usize % (i + 1));
    }
    let cases = lines.into_iter().filter_map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let schema = line["schema"].take();
        // What is refused is another test's matter.
        SchemaAutomaton::new(&schema, &Options::default()).ok()?;
        Some(Case {
            name: line["id"].as_str().unwrap().to_owned(),
            schema,
        })
    });
    cases.take(count).collect()
}

/// A schema ready to be decoded and checked.
struct Bound {
    name: String,
    parsed: schema_regex::Schema,
    index: Arc<Index<SchemaAutomaton>>,
    /// None where the validator does not take the schema.
    validator: Option<jsonschema::Validator>,
}

impl Bound {
    fn new(case: &Case, tokenizer: &Tokenizer) -> Bound {
        Bound::with_options(case, tokenizer, &Options::default())
    }

    fn with_options(case: &Case, tokenizer: &Tokenizer, options: &Options) -> Bound {
        let parsed = schema_regex::parse(&case.schema).unwrap();
        let automaton = SchemaAutomaton::new(&case.schema, options)
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let lazy = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Index::lazy(automaton, tokenizer.vocabulary(), &lazy).unwrap();
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&case.schema);
        Bound {
            name: case.name.clone(),
            parsed,
            index: Arc::new(index),
            validator: validator.ok(),
        }
    }

    fn guide(&self) -> Guide<SchemaAutomaton> {
        Guide::new(self.index.clone())
    }

    /// Parses a complete text and has both validators look at it.
    fn check(&self, text: &str, what: &str) {
        let name = &self.name;
        if has_extreme_number(text) {
            // A 64-bit float does not hold it, so no validator sees the text's value.
            assert!(self.index.automaton().is_match(text.as_bytes()));
            return;
        }
        let value: Value = serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("{name}, {what}: {error}: {text}"));
        let ours = self.parsed.is_valid(&value, &Options::default());
        assert!(ours.unwrap_or(true), "{name}, {what}: invalid: {text}");
        if let Some(validator) = &self.validator {
            assert!(
                validator.is_valid(&value),
                "{name}, {what}: invalid: {text}"
            );
        }
    }
}

/// Whether some number has more digits than a 64-bit float is exact for, or an
/// exponent beyond its range. Digits in strings count too.
fn has_extreme_number(text: &str) -> bool {
    let mut parts = text.split(|c: char| !(c.is_ascii_digit() || ".eE+-".contains(c)));
    parts.any(|number| {
        let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, ""));
        digits.len() > 15 || exponent.len() > 2
    })
}

fn request(seed: u64, temperature: f32) -> Request {
    let prompt = chatml::prompt("Answer with JSON.", "Zoe, 12, Paris, red");
    Request::new(Prompt::Chat(prompt))
        .with_budget(TokenBudget::Complete)
        .with_sampling(SamplingConfig::with_temperature(temperature, seed))
}

fn decode<M: Model>(
    model: &mut M,
    tokenizer: &Tokenizer,
    request: &Request,
    guide: &mut Guide<SchemaAutomaton>,
) -> Result<Generation, Error> {
    let mut session = Session::new(model, tokenizer);
    session.generate(request, Some(guide), &mut |_| Flow::Continue)
}

/// Decodes one schema within budgets from as tight as can be to ample.
fn decode_within_budgets<M: Model>(
    bound: &Bound,
    model: &mut M,
    tokenizer: &Tokenizer,
    seed: u64,
    temperature: f32,
    tally: &mut impl FnMut(&Generation),
) {
    let completion = Constraint::completion(&bound.guide()).unwrap();
    let completion = String::from_utf8(completion).unwrap();
    bound.check(&completion, "the shortest text");
    let witness = tokenizer.encode(&completion, Surround::Omit).unwrap().len();
    for budget in [witness, witness + 5, 256] {
        let what = format!("{budget} tokens (witness {witness}), seed {seed}");
        let request = request(seed, temperature).with_max_tokens(budget);
        let generation = decode(model, tokenizer, &request, &mut bound.guide());
        let generation = match generation {
            Ok(generation) => generation,
            Err(error) => {
                // The answer must fit the context too.
                assert_eq!(error.kind(), ErrorKind::TokenBudget, "{what}: {error}");
                assert!(
                    budget < witness || witness + 64 > model.context_length(),
                    "{}, {what}: {error}",
                    bound.name
                );
                continue;
            }
        };
        assert!(generation.complete, "{}, {what}", bound.name);
        assert!(generation.tokens.len() <= budget, "{}, {what}", bound.name);
        assert!(!matches!(generation.finish, Finish::Stopped));
        bound.check(&generation.text, &what);
        tally(&generation);
    }
}

#[test]
fn the_committed_schemas_cover_every_enforced_keyword() {
    let enforced: BTreeSet<&str> = KEYWORDS
        .iter()
        .filter(|k| matches!(k.general, General::Enforced | General::EnforcedWhere))
        .map(|k| k.name)
        .collect();
    assert!(enforced.len() >= 40, "{enforced:?}");
    let mut covered: BTreeSet<String> = BTreeSet::new();
    let cases = committed();
    assert_eq!(cases.len(), 40);
    for case in &cases {
        let automaton = SchemaAutomaton::new(&case.schema, &Options::default())
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let entries = automaton.ledger().into_iter();
        let entries = entries.filter(|entry| entry.status == Status::Enforced);
        covered.extend(entries.map(|entry| entry.keyword));
    }
    let missing: Vec<&&str> = enforced
        .iter()
        .filter(|keyword| !covered.contains(**keyword))
        .collect();
    assert!(missing.is_empty(), "not covered: {missing:?}");
}

#[test]
fn every_committed_schema_is_decoded_within_its_budget() {
    let LoadedModel {
        mut model,
        tokenizer,
        ..
    } = embedded::load().unwrap();
    let mut outputs = 0;
    for case in committed() {
        let bound = Bound::new(&case, &tokenizer);
        assert!(bound.validator.is_some(), "{}", case.name);
        for (seed, temperature) in [(0, 0.0), (1, 1.0)] {
            decode_within_budgets(
                &bound,
                &mut model,
                &tokenizer,
                seed,
                temperature,
                &mut |_| outputs += 1,
            );
        }
    }
    assert_eq!(outputs, 40 * 2 * 3);
}

/// Development cases decoded where the data is there.
const SAMPLED: usize = 160;

#[test]
fn development_schemas_are_decoded_within_their_budgets() {
    let LoadedModel {
        mut model,
        tokenizer,
        ..
    } = embedded::load().unwrap();
    let cases = sampled(SAMPLED);
    let (mut outputs, mut tokens) = (0, 0);
    let (mut forward, mut total) = (Duration::ZERO, Duration::ZERO);
    for (case, seed) in cases.iter().zip(0..) {
        let began = Instant::now();
        let bound = Bound::new(case, &tokenizer);
        decode_within_budgets(
            &bound,
            &mut model,
            &tokenizer,
            seed,
            1.0,
            &mut |generation| {
                outputs += 1;
                tokens += generation.tokens.len();
                forward += generation.timings.forward;
                total += generation.timings.total;
            },
        );
        let took = began.elapsed();
        if took.as_secs() >= 2 {
            eprintln!("{}: {took:.1?}", case.name);
        }
    }
    if !cases.is_empty() {
        assert_eq!(cases.len(), SAMPLED);
        assert!(outputs > 2 * SAMPLED, "{outputs} outputs");
        eprintln!(
            "{outputs} outputs of {tokens} tokens in all in {total:.1?}, {forward:.1?} of it the model's"
        );
    }
}

/// Each forced byte is the only one that can come, and the tokens of a forced
/// run are those that the tokenizer begins with, whatever comes after it.
#[test]
fn forced_tokens_are_forced_bytes_as_the_tokenizer_cuts_them() {
    let LoadedModel {
        mut model,
        tokenizer,
        ..
    } = embedded::load().unwrap();
    let styles = [
        Options::default().with_whitespace(Whitespace::Compact),
        Options::default(),
    ];
    let mut counts = Vec::new();
    for options in styles {
        let (mut forced, mut all) = (0, 0);
        for case in committed() {
            let bound = Bound::with_options(&case, &tokenizer, &options);
            let request = request(0, 0.0).with_max_tokens(120);
            let Ok(said) = decode(&mut model, &tokenizer, &request, &mut bound.guide()) else {
                continue;
            };
            forced += said.forced.iter().filter(|forced| **forced).count();
            all += said.tokens.len();
            let mut guide = bound.guide();
            let mut at = 0;
            while at < said.tokens.len() {
                let run = said.forced[at..]
                    .iter()
                    .take_while(|forced| **forced)
                    .count();
                if run == 0 {
                    Constraint::advance(&mut guide, said.tokens[at]).unwrap();
                    at += 1;
                    continue;
                }
                let left = tokenizer.decode(&said.tokens[at.saturating_sub(8)..at]);
                let run = &said.tokens[at..at + run];
                let mut bytes = Vec::new();
                for token in run {
                    bytes.extend(assert_forced(&mut guide, *token));
                }
                let next = guide.allowed_tokens().unwrap();
                for next in next.iter().step_by(next.len().div_ceil(40).max(1)) {
                    let more = tokenizer
                        .vocabulary()
                        .token_bytes(*next)
                        .unwrap_or_default();
                    let text = [&bytes[..], more].concat();
                    let cut = tokenizer.encode_after(&left, &text);
                    // None where a token spans the border, or the bytes end amid a character.
                    let begins = cut.is_empty() || cut.starts_with(run);
                    assert!(begins, "{}: {left:?}, {cut:?}, {run:?}", case.name);
                }
                at += run.len();
            }
        }
        counts.push((forced, all));
    }
    eprintln!("forced of all tokens, compact and with optional blanks: {counts:?}");
    let share = |(forced, all): (usize, usize)| forced as f64 / all as f64;
    assert!(
        share(counts[0]) > share(counts[1]) && counts[1].0 > 50,
        "{counts:?}"
    );
}

/// Takes a token of which every byte is the only one that can come.
fn assert_forced(guide: &mut Guide<SchemaAutomaton>, token: u32) -> Vec<u8> {
    let index = guide.index().clone();
    let automaton = index.automaton();
    let id = fsm_index::TokenId::new(token);
    let bytes = index.vocabulary().token_bytes(id).unwrap().to_vec();
    let mut state = guide.state().clone();
    let mut scratch = automaton.scratch();
    for byte in &bytes {
        assert!(!automaton.is_accepting(&state));
        let cursor = automaton.enter(&state, &mut scratch);
        let alive = (0..=255u8).filter(|b| !automaton.step(cursor, *b, &mut scratch).is_dead());
        assert_eq!(alive.collect::<Vec<u8>>(), [*byte]);
        automaton
            .advance(&mut state, &[*byte], &mut scratch)
            .unwrap();
    }
    guide.advance(id).unwrap();
    bytes
}

/// Says tokens by chance, and now and then spells one of the texts of
/// structural tokens, byte by byte.
struct Mischief {
    rng: ChaCha8Rng,
    width: usize,
    /// The token of each byte alone.
    bytes: Vec<u32>,
    anchors: Vec<String>,
    /// What is left of an anchor, the next byte's token last.
    spelling: Vec<u32>,
    seen: usize,
}

impl Mischief {
    fn new(tokenizer: &Tokenizer, seed: u64) -> Mischief {
        let vocabulary = tokenizer.vocabulary();
        let ids = || (0..vocabulary.width() as u32).map(fsm_index::TokenId::new);
        let byte = |byte: u8| {
            let mut ids = ids();
            let found = ids.find(|id| vocabulary.token_bytes(*id) == Some(&[byte]));
            found.unwrap().get()
        };
        let special = ids().filter(|id| vocabulary.kind(*id) != fsm_index::TokenKind::Text);
        let mut anchors: Vec<String> = special
            .filter_map(|id| tokenizer.inner().id_to_token(id.get()))
            .collect();
        anchors.extend(["</tool_call>", "<think>", "<|eot_id|>"].map(str::to_owned));
        Mischief {
            rng: ChaCha8Rng::seed_from_u64(seed),
            width: vocabulary.width(),
            bytes: (0..=255).map(byte).collect(),
            anchors,
            spelling: Vec::new(),
            seen: 0,
        }
    }
}

impl Model for Mischief {
    fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>, Error> {
        self.seen = position + tokens.len();
        if self.spelling.last() == tokens.last() {
            self.spelling.pop();
        } else {
            self.spelling.clear();
        }
        if self.spelling.is_empty() && self.rng.next_u32().is_multiple_of(6) {
            let anchor = &self.anchors[self.rng.next_u32() as usize % self.anchors.len()];
            let bytes = anchor.bytes().rev();
            self.spelling = bytes.map(|byte| self.bytes[usize::from(byte)]).collect();
        }
        let unit = |n: u32| n as f32 / u32::MAX as f32;
        let mut logits: Vec<f32> = (0..self.width)
            .map(|_| 6.0 * unit(self.rng.next_u32()))
            .collect();
        if let Some(next) = self.spelling.last() {
            logits[*next as usize] = 60.0;
        }
        Ok(logits)
    }

    fn truncate(&mut self, length: usize) {
        self.seen = self.seen.min(length);
    }

    fn cached(&self) -> usize {
        self.seen
    }

    fn context_length(&self) -> usize {
        512
    }

    fn vocabulary_width(&self) -> usize {
        self.width
    }
}

#[test]
fn random_walks_with_anchors_in_strings_end_in_valid_values() {
    let tokenizer = embedded::load().unwrap().tokenizer;
    let mut spelt: Vec<(String, usize)> = Vec::new();
    let mut cases = committed();
    let few = cases.len();
    cases.extend(sampled(SAMPLED / 16));
    // The committed ones alone are too few to spell each anchor.
    let seeds = if cases.len() > few { 2 } else { 4 };
    for case in &cases {
        let began = Instant::now();
        let bound = Bound::new(case, &tokenizer);
        for seed in 0..seeds {
            let mut model = Mischief::new(&tokenizer, seed);
            spelt.resize(model.anchors.len(), (String::new(), 0));
            let anchors = model.anchors.clone();
            decode_within_budgets(&bound, &mut model, &tokenizer, seed, 1.0, &mut |said| {
                let structure = said.tokens.iter().find(|token| !tokenizer.is_text(**token));
                assert_eq!(structure, None, "{}: {}", bound.name, said.text);
                for ((anchor, count), name) in spelt.iter_mut().zip(&anchors) {
                    anchor.clone_from(name);
                    *count += said.text.matches(name.as_str()).count();
                }
            });
        }
        if began.elapsed().as_secs() >= 2 {
            eprintln!("{}: {:.1?}", case.name, began.elapsed());
        }
    }
    eprintln!("anchors spelt: {spelt:?}");
    for (anchor, count) in spelt {
        assert!(count >= 20, "{anchor} was spelt {count} times only");
    }
}
