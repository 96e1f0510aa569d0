//! Recorded outputs of models, with their tools and the right answer, against the masks of their families: how many
//! right outputs a mask accepts, and how many broken ones.
//!
//! For example, `glm4  with calls 12 of 12, without 2 of 2; broken 0 of 1` says that the mask of `glm4` binds no
//! model to another form than its own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use fsm_index::{Fill, Guide, Index, IndexConfig, TokenId, Vocabulary, VocabularyBuilder};
use serde_json::Value;
use structural_tags::{Count, Opening, ResponseFormat, TagAutomaton};

/// The families of models, by the beginning of a name; the first that fits counts.
const FAMILIES: [(&str, &str); 21] = [
    ("deepseek-ai/DeepSeek-V3.1", "deepseek-v3.1"),
    ("deepseek-ai/DeepSeek-V3.2", "deepseek-v3.2"),
    ("deepseek-ai/DeepSeek-V4.1", "deepseek-v4.1"),
    ("deepseek-ai/DeepSeek-V4", "deepseek-v4"),
    ("deepseek-ai/", "deepseek-v3"),
    ("google/gemma-4", "gemma4"),
    ("zai-org/GLM-4.5", "glm4"),
    ("zai-org/GLM-4.6", "glm4"),
    ("zai-org/", "glm4.7"),
    ("openai/", "harmony"),
    ("moonshotai/Kimi-K3", "kimi-k3"),
    ("moonshotai/", "kimi-k2"),
    ("meta-llama/Llama-4", "llama4"),
    ("meta-llama/", "llama3"),
    ("mistralai/Mistral-7B", "mistral"),
    ("mistralai/Mistral-Nemo", "mistral"),
    ("mistralai/", "mistral-v11"),
    ("Qwen/Qwen3-Coder", "qwen3-coder"),
    ("Qwen/Qwen3.", "qwen3-coder"),
    ("Qwen/", "hermes"),
    ("NousResearch/", "hermes"),
];

/// The folders of tokenizers, by the beginning of a model's name.
const TOKENIZERS: [(&str, &str); 5] = [
    ("deepseek-ai/DeepSeek-V3-", "deepseek_v3"),
    ("deepseek-ai/DeepSeek-V3.1", "deepseek_v3"),
    ("meta-llama/Llama-3", "llama3_1"),
    ("openai/", "gptoss"),
    ("Qwen/Qwen3-", "qwen3"),
];

/// The figures of one family.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// Right outputs with calls: accepted, and all.
    with_calls: (usize, usize),
    /// Right outputs without calls.
    without: (usize, usize),
    /// Outputs that were cut, and have a right answer all the same.
    cut: (usize, usize),
    /// Outputs that have no right answer.
    broken: (usize, usize),
}

impl std::ops::AddAssign for Figures {
    fn add_assign(&mut self, other: Figures) {
        let add = |one: &mut (usize, usize), more: (usize, usize)| {
            *one = (one.0 + more.0, one.1 + more.1);
        };
        add(&mut self.with_calls, other.with_calls);
        add(&mut self.without, other.without);
        add(&mut self.cut, other.cut);
        add(&mut self.broken, other.broken);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures {
            with_calls,
            without,
            cut,
            broken,
        } = self;
        write!(
            f,
            "with calls {} of {}, without {} of {}, cut {} of {}; broken {} of {}",
            with_calls.0, with_calls.1, without.0, without.1, cut.0, cut.1, broken.0, broken.1
        )
    }
}

/// The vocabulary that outputs are read in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By<'a> {
    /// All bytes, without special tokens.
    Text,
    /// The recorded tokens, with the tokenizers of that folder; models without one are left out.
    Tokens(&'a Path),
}

/// Figures by family; `each` is told of the outputs that come out otherwise than they should.
pub(crate) fn run(
    file: &Path,
    by: By<'_>,
    each: &mut dyn FnMut(&str, &str),
) -> Result<BTreeMap<String, Figures>, String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let bytes = bytes()?;
    let mut tokenizers: BTreeMap<&str, Vocabulary> = BTreeMap::new();
    let mut families: BTreeMap<String, Figures> = BTreeMap::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let model = record["models"][0].as_str().unwrap_or_default();
        let find = |table: &[(&'static str, &'static str)]| {
            let found = table.iter().find(|(prefix, _)| model.starts_with(prefix));
            found.map(|(_, meant)| *meant)
        };
        let id = record["id"].as_str().unwrap_or_default();
        let Some(family) = find(&FAMILIES) else {
            each(id, "the model is of no family");
            continue;
        };
        let vocabulary = match by {
            By::Text => &bytes,
            By::Tokens(folder) => {
                let Some(name) = find(&TOKENIZERS) else {
                    continue;
                };
                if !tokenizers.contains_key(name) {
                    let file = folder.join(name).join("tokenizer.json");
                    let json = std::fs::read(&file).map_err(|error| error.to_string())?;
                    let read = Vocabulary::from_tokenizer_json(&json);
                    tokenizers.insert(name, read.map_err(|error| error.to_string())?);
                }
                &tokenizers[name]
            }
        };
        let accepted = match automaton(&record, family, vocabulary) {
            Err(why) => Err(why),
            Ok(automaton) => match by {
                By::Text => {
                    let output = record["raw_output"].as_str().unwrap_or_default();
                    accepts_text(&automaton, output)
                }
                By::Tokens(_) => accepts_tokens(automaton, vocabulary, &record),
            },
        };
        let figures = families.entry(family.to_owned()).or_default();
        let is_cut = id.contains("truncated") || id.contains("no-end");
        let is_right = record["expected_error"].is_null();
        let kind = match (is_right, is_cut, calls(&record)) {
            (false, ..) => &mut figures.broken,
            (true, true, _) => &mut figures.cut,
            (true, false, 0) => &mut figures.without,
            (true, false, _) => &mut figures.with_calls,
        };
        kind.1 += 1;
        kind.0 += usize::from(accepted.is_ok());
        match accepted {
            Ok(()) if !is_right => each(id, "accepted"),
            Err(why) if is_right && !is_cut => each(id, &why),
            _ => {}
        }
    }
    Ok(families)
}

fn calls(record: &Value) -> usize {
    record["expected"]["tool_calls"]
        .as_array()
        .map_or(0, Vec::len)
}

fn bytes() -> Result<Vocabulary, String> {
    let mut builder = VocabularyBuilder::new();
    for byte in 0..=255u8 {
        let token = TokenId::new(byte.into());
        builder.text(token, [byte]).map_err(|e| e.to_string())?;
    }
    builder.build().map_err(|error| error.to_string())
}

fn automaton(
    record: &Value,
    family: &str,
    vocabulary: &Vocabulary,
) -> Result<TagAutomaton, String> {
    let family = family.parse().map_err(|error| format!("{error}"))?;
    let tools = record["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let count = match calls(record) {
        0 => Count::ANY,
        _ => Count::AT_LEAST_ONE,
    };
    let made = ResponseFormat::named(family).and_then(|format| format.with_tools(tools));
    let format = made.map_err(|error| error.to_string())?.with_calls(count);
    let output = record["raw_output"].as_str().unwrap_or_default();
    let format = match record["generation_prompt"].as_str() {
        Some(prompt) => format.with_prompt(prompt),
        // The prompt is not recorded: reasoning that ends and never began was begun by it,
        // unless the output begins with a mark of another message.
        None => {
            let begun = format.reasoning_markers().is_some_and(|(open, close)| {
                let mark = open.split_inclusive('>').next().unwrap_or(open);
                output.contains(close) && !output.contains(open) && !output.contains(mark)
            });
            match begun {
                true => format.with_opening(Opening::Reasoning),
                false => format,
            }
        }
    };
    format
        .compile(vocabulary)
        .map_err(|error| error.to_string())
}

fn accepts_text(automaton: &TagAutomaton, output: &str) -> Result<(), String> {
    use fsm_index::ByteAutomaton;
    if automaton.is_match(output.as_bytes()) {
        return Ok(());
    }
    let mut scratch = automaton.scratch();
    let mut state = automaton.start();
    match automaton.advance(&mut state, output.as_bytes(), &mut scratch) {
        Ok(()) => Err("not complete at the end".to_owned()),
        Err(at) => {
            let (read, rest) = output.as_bytes().split_at(at);
            let read = String::from_utf8_lossy(&read[read.len().saturating_sub(60)..]).into_owned();
            let rest = String::from_utf8_lossy(&rest[..rest.len().min(40)]).into_owned();
            Err(format!("{read:?} before {rest:?}"))
        }
    }
}

fn accepts_tokens(
    automaton: TagAutomaton,
    vocabulary: &Vocabulary,
    record: &Value,
) -> Result<(), String> {
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton, vocabulary, &lazy).map_err(|error| error.to_string())?;
    let mut guide = Guide::new(Arc::new(index));
    let tokens = record["output_token_ids"].as_array();
    for (at, token) in tokens.into_iter().flatten().enumerate() {
        let token = TokenId::new(token.as_u64().unwrap_or_default() as u32);
        let allowed = guide.mask().map_err(|error| error.to_string())?;
        let name = vocabulary
            .token_name(token)
            .or(vocabulary.token_bytes(token));
        let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
        if !allowed.allows(token) {
            return Err(format!("token {at}, {name:?}"));
        }
        guide.advance(token).map_err(|error| error.to_string())?;
    }
    match guide.is_accepting() {
        true => Ok(()),
        false => Err("not complete at the end".to_owned()),
    }
}
