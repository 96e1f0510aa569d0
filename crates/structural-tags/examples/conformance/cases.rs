//! Golden cases of structural tags: texts, next bytes, tokens, errors and presets, against
//! XGrammar 0.2.8. The tests of this crate run them, too, and the benches' `conformance`.
//!
//! For example, the tag `{"type": "const_string", "value": "ab"}` admits the text `ab`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, Fill, Guide, Index, IndexConfig, TokenId, Vocabulary, VocabularyBuilder,
};
use serde_json::{Value, json};
use structural_tags::{Preset, StructuralTag, TagAutomaton};

/// A case that came out otherwise.
#[derive(Debug)]
pub struct Difference {
    /// Which.
    pub id: String,
    /// The reference's answer.
    pub expected: String,
    /// Our answer.
    pub got: String,
    /// Why the reference's answer is disputed, if it is.
    pub disputed: Option<String>,
}

/// The number of cases that passed and failed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Cases that came out the same.
    pub passed: usize,
    /// Cases that did not.
    pub failed: usize,
    /// The number of failed ones whose recorded answer is disputed.
    pub disputed: usize,
}

/// Runs a file of cases; outcomes by group.
///
/// # Errors
///
/// The file cannot be read, or does not begin with a vocabulary.
pub fn run(
    file: &Path,
    each: &mut dyn FnMut(&Difference),
) -> Result<BTreeMap<String, Outcome>, String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut lines = text.lines().enumerate();
    let read = |(at, line): (usize, &str)| {
        serde_json::from_str::<Value>(line).map_err(|error| format!("line {}: {error}", at + 1))
    };
    let first = lines.next().ok_or("the file is empty")?;
    let mut cases = Cases::new(&read(first)?)?;
    let mut groups: BTreeMap<String, Outcome> = BTreeMap::new();
    for line in lines {
        let record = read(line)?;
        let id = record["id"].as_str().unwrap_or_default();
        let group = id.split('/').next().unwrap_or_default().to_owned();
        let outcome = groups.entry(group).or_default();
        match cases.case(&record) {
            None => outcome.passed += 1,
            Some(difference) => {
                outcome.failed += 1;
                outcome.disputed += usize::from(difference.disputed.is_some());
                each(&difference);
            }
        }
    }
    Ok(groups)
}

/// The parts that cases share.
pub struct Cases {
    tokens: Vec<Vec<u8>>,
    stops: BTreeSet<u32>,
    compiled: HashMap<String, Result<(TagAutomaton, Vocabulary), String>>,
}

impl Cases {
    /// Cases over the vocabulary of the first record.
    ///
    /// # Errors
    ///
    /// The record is no vocabulary.
    pub fn new(vocabulary: &Value) -> Result<Cases, String> {
        let hex = vocabulary["tokens_hex"]
            .as_array()
            .ok_or("the first line is no vocabulary")?;
        let tokens: Option<Vec<Vec<u8>>> =
            hex.iter().map(|t| t.as_str().and_then(bytes_of)).collect();
        let stops = vocabulary["stop_tokens"].as_array().into_iter().flatten();
        Ok(Cases {
            tokens: tokens.ok_or("a token is no hexadecimal text")?,
            stops: stops
                .filter_map(Value::as_u64)
                .map(|id| id as u32)
                .collect(),
            compiled: HashMap::new(),
        })
    }

    /// The vocabulary. Tokens of several bytes, and those that the tag names, are special
    /// tokens: these are the ones that an automaton tells from their text.
    fn vocabulary(&self, tag: &Value, has_tokens: bool) -> Result<Vocabulary, String> {
        let mut named = BTreeSet::new();
        tokens_named(tag, &mut named);
        let mut builder = VocabularyBuilder::new();
        for (id, bytes) in self.tokens.iter().enumerate() {
            let token = TokenId::new(id as u32);
            let name = std::str::from_utf8(bytes).ok();
            let is_named = bytes.len() > 1 || named.contains(&(id as u32));
            let added = match name {
                // Cases without a tokenizer.
                _ if !has_tokens && bytes.len() > 1 => continue,
                _ if self.stops.contains(&token.get()) => builder.end(token).map(|_| ()),
                Some(name) if is_named => builder.special(token, name).map(|_| ()),
                _ => builder.text(token, bytes).map(|_| ()),
            };
            added.map_err(|error| error.to_string())?;
        }
        builder.build().map_err(|error| error.to_string())
    }

    fn compile(
        &mut self,
        tag: &Value,
        has_tokens: bool,
    ) -> Result<(TagAutomaton, Vocabulary), String> {
        let key = format!("{has_tokens} {tag}");
        if let Some(known) = self.compiled.get(&key) {
            return known.clone();
        }
        let vocabulary = self.vocabulary(tag, has_tokens)?;
        let tag = StructuralTag::from_value(tag).and_then(|tag| tag.compile(&vocabulary));
        let compiled = tag
            .map(|automaton| (automaton, vocabulary))
            .map_err(|error| error.to_string());
        self.compiled.insert(key, compiled.clone());
        compiled
    }

    /// Returns the difference of a case, if there is one.
    pub fn case(&mut self, record: &Value) -> Option<Difference> {
        let (expected, got) = match self.answer(record) {
            Ok(pair) => pair,
            Err(refused) => (expected(record), format!("refused: {refused}")),
        };
        (expected != got).then(|| Difference {
            id: record["id"].as_str().unwrap_or_default().to_owned(),
            expected,
            got,
            disputed: record["disputed"].as_str().map(str::to_owned),
        })
    }

    fn answer(&mut self, record: &Value) -> Result<(String, String), String> {
        if record.get("preset").is_some() {
            let expanded = Preset::from_value(&record["preset"]).and_then(|preset| preset.expand());
            let got = match expanded {
                Ok(tag) => sorted(&tag).to_string(),
                Err(_) => "error".to_owned(),
            };
            return Ok((expected(record), got));
        }
        let compiled = self.compile(&record["tag"], record.get("vocab").is_some());
        if record.get("error").is_some() {
            let got = match compiled {
                Ok(_) => "compiles".to_owned(),
                Err(error) if record["error"] == json!(true) => {
                    drop(error);
                    "error".to_owned()
                }
                Err(error) => format!("error: {error}"),
            };
            return Ok((expected(record), got));
        }
        let (automaton, vocabulary) = compiled?;
        let got = if let Some(text) = record["text"].as_str() {
            automaton.is_match(text.as_bytes()).to_string()
        } else if let Some(tokens) = record["tokens"].as_array() {
            let mut guide = guide(automaton, &vocabulary)?;
            let taken = ids(tokens).all(|token| guide.advance(token).is_ok());
            (taken && (guide.is_accepting() || guide.is_finished())).to_string()
        } else if let Some(tokens) = record["prefix_tokens"].as_array() {
            let mut guide = guide(automaton, &vocabulary)?;
            for token in ids(tokens) {
                guide.advance(token).map_err(|error| error.to_string())?;
            }
            let may_end = guide.is_accepting();
            let mask = guide.mask().map_err(|error| error.to_string())?;
            let allowed = mask.iter().map(TokenId::get);
            let allowed = allowed
                .filter(|token| !self.stops.contains(token))
                .collect();
            shown(&allowed, may_end)
        } else {
            next_bytes(&automaton, &prefix(record)?)?
        };
        Ok((expected(record), got))
    }
}

fn guide(automaton: TagAutomaton, vocabulary: &Vocabulary) -> Result<Guide<TagAutomaton>, String> {
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton, vocabulary, &lazy).map_err(|error| error.to_string())?;
    Ok(Guide::new(Arc::new(index)))
}

fn ids(tokens: &[Value]) -> impl Iterator<Item = TokenId> {
    tokens
        .iter()
        .filter_map(Value::as_u64)
        .map(|id| TokenId::new(id as u32))
}

fn prefix(record: &Value) -> Result<Vec<u8>, String> {
    match (record["prefix"].as_str(), record["prefix_hex"].as_str()) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (_, Some(hex)) => bytes_of(hex).ok_or_else(|| "the prefix is malformed".to_owned()),
        _ => Err("the case is of no known kind".to_owned()),
    }
}

/// The bytes behind a text, which no border of a token cuts.
fn next_bytes(automaton: &TagAutomaton, prefix: &[u8]) -> Result<String, String> {
    let mut scratch = automaton.scratch();
    let mut state = automaton.start();
    automaton
        .advance(&mut state, prefix, &mut scratch)
        .map_err(|at| format!("byte {at} of the beginning"))?;
    let mut text = prefix.to_vec();
    let mut allowed = BTreeSet::new();
    for byte in 0..=255u8 {
        text.push(byte);
        let mut next = automaton.start();
        if automaton.advance(&mut next, &text, &mut scratch).is_ok() {
            allowed.insert(u32::from(byte));
        }
        text.pop();
    }
    Ok(shown(&allowed, automaton.is_accepting(&state)))
}

fn expected(record: &Value) -> String {
    if let Some(tag) = record.get("expands_to") {
        return sorted(tag).to_string();
    }
    match &record["error"] {
        Value::Bool(false) => return "compiles".to_owned(),
        Value::Null => {}
        _ => return "error".to_owned(),
    }
    for key in ["next_bytes_allowed", "next_tokens_allowed"] {
        if let Some(ranges) = record[key].as_array() {
            let mut allowed = BTreeSet::new();
            for range in ranges {
                let at = |i: usize| range[i].as_u64().unwrap_or_default() as u32;
                match range.as_u64() {
                    Some(one) => allowed.extend([one as u32]),
                    None => allowed.extend(at(0)..=at(1)),
                }
            }
            return shown(&allowed, record["may_end"] == json!(true));
        }
    }
    record["accept"].to_string()
}

fn shown(allowed: &BTreeSet<u32>, may_end: bool) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &one in allowed {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == one => *to = one,
            _ => ranges.push((one, one)),
        }
    }
    format!("{ranges:?}, may end: {may_end}")
}

/// With the members of objects by name.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(map) => {
            let members: BTreeMap<&String, Value> = map
                .iter()
                .map(|(key, value)| (key, sorted(value)))
                .collect();
            json!(members)
        }
        other => other.clone(),
    }
}

/// The numbers of tokens that a tag names.
fn tokens_named(tag: &Value, out: &mut BTreeSet<u32>) {
    match tag {
        Value::Array(items) => items.iter().for_each(|item| tokens_named(item, out)),
        Value::Object(map) => {
            for (key, value) in map {
                let several = value.as_array().into_iter().flatten();
                match key.as_str() {
                    "token" => out.extend(value.as_u64().map(|id| id as u32)),
                    "trigger_tokens" | "exclude_tokens" => {
                        out.extend(several.filter_map(Value::as_u64).map(|id| id as u32));
                    }
                    "rules" => out.extend(
                        several
                            .filter_map(|rule| rule[0].as_u64())
                            .map(|id| id as u32),
                    ),
                    _ => {}
                }
                tokens_named(value, out);
            }
        }
        _ => {}
    }
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok())
        .collect()
}
