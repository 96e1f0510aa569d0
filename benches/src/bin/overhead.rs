//! Measures the cost of constraints in a decode loop: the same token ids decoded with a schema and
//! without, beside a forward pass of a fixed cost. For example, beside a pass of 5 ms a mask of 50
//! us is one percent, unless it is computed while the pass runs.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use fsm_index::{Fill, Guide, Index, IndexConfig, TokenId};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, Whitespace};
use serde_json::{Value, json};
use tokenmold::Error;
use tokenmold::constraint::Constraint;
use tokenmold::generate::{Flow, ForcedTokens, Generation, Prompt, Request, Session};
use tokenmold::model::Model;
use tokenmold::sampling::SamplingConfig;
use tokenmold::tokenizer::{Surround, Tokenizer};
use tokenmold_benches::{cases, program, stats};

/// Decodes texts twice, bound to their schemas and free, with a model that says
/// the same tokens both times and whose every forward pass reads a block of
/// memory, as weights are read, and takes a fixed time.
///
/// `cold` is the first text of a schema, whose masks are computed; `warm` the
/// same text again. The third table is about forced tokens, which are appended
/// without a forward pass each, by style of whitespace.
#[derive(Parser, Debug)]
struct Arguments {
    /// A `tokenizer.json` of byte-level BPE.
    #[arg(long)]
    tokenizer: PathBuf,

    /// Cases, as for `maskbench`.
    #[arg(long)]
    cases: PathBuf,

    /// The number of cases, chosen by a seed.
    #[arg(long, default_value_t = 40)]
    sample: usize,

    /// The time of a forward pass, in milliseconds.
    #[arg(long, default_value_t = 5.0)]
    forward: f64,

    /// Tokens of a text, at most.
    #[arg(long, default_value_t = 120)]
    tokens: usize,

    /// Vocabularies: the first so many tokens of the tokenizer, 0 for all.
    #[arg(long, value_delimiter = ',', default_values_t = [49_152, 0])]
    vocabularies: Vec<usize>,

    /// The sampler's temperatures.
    #[arg(long, value_delimiter = ',', default_values_t = [0.0, 0.8])]
    temperatures: Vec<f32>,
}

fn main() -> ExitCode {
    program::end("overhead", run(&Arguments::parse()))
}

/// The bytes that a forward pass reads: more than a core's own cache holds, because a model's
/// weights push everything else out of it.
const WEIGHTS: usize = 16 << 20;

fn run(arguments: &Arguments) -> Result<(), String> {
    let json = std::fs::read(&arguments.tokenizer)
        .map_err(|e| format!("{}: {e}", arguments.tokenizer.display()))?;
    let json: Value = serde_json::from_slice(&json).map_err(|e| e.to_string())?;
    let all = cases::read(&arguments.cases)?;
    for &width in &arguments.vocabularies {
        let tokenizer = first_tokens(&json, width)?;
        let width = tokenizer.vocabulary().width();
        println!(
            "\n{width} tokens, forward passes of {} ms",
            arguments.forward
        );
        let texts = texts(arguments, &all, &tokenizer)?;
        let tokens: usize = texts.iter().map(|text| text.tokens.len()).sum();
        println!("{} texts of {tokens} tokens", texts.len());
        let cost = Duration::from_secs_f64(arguments.forward / 1e3);
        let mut player = Player::new(width, cost, tokenizer.vocabulary());
        for &temperature in &arguments.temperatures {
            steps(&texts, &tokenizer, &mut player, temperature)?;
        }
        forced(&texts, &tokenizer, &mut player)?;
    }
    Ok(())
}

/// The tokenizer with its first `width` tokens alone. Ranks of byte-level BPE
/// are in the order of the merges that make them, so that what is left is a
/// tokenizer as it was at that size.
fn first_tokens(json: &Value, width: usize) -> Result<Tokenizer, String> {
    let mut json = json.clone();
    if width > 0 {
        let vocabulary = json
            .pointer_mut("/model/vocab")
            .and_then(Value::as_object_mut);
        let vocabulary = vocabulary.ok_or("the tokenizer has no vocabulary of its own")?;
        let kept = width as u64 - 1;
        vocabulary.retain(|_, id| id.as_u64().is_some_and(|id| id < kept));
        let names = vocabulary.clone();
        let merges = json
            .pointer_mut("/model/merges")
            .and_then(Value::as_array_mut);
        merges
            .ok_or("the tokenizer has no merges")?
            .retain(|merge| {
                let parts: Vec<&str> = match merge {
                    Value::String(pair) => pair.split(' ').collect(),
                    pair => pair
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .collect(),
                };
                parts.iter().all(|part| names.contains_key(*part))
                    && names.contains_key(&parts.concat())
            });
        json["added_tokens"] = json!([{
            "id": kept, "content": "<|end|>", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true,
        }]);
        json["post_processor"] = Value::Null;
    }
    let tokenizer = Tokenizer::from_json(json.to_string().as_bytes()).map_err(|e| e.to_string())?;
    let end = ["<|end|>", "<|end_of_text|>", "<|endoftext|>"]
        .iter()
        .find_map(|name| tokenizer.token_to_id(name))
        .ok_or("the tokenizer has no end token that is known here")?;
    let width = tokenizer.vocabulary().width();
    tokenizer
        .for_model(width, &[end])
        .map_err(|e| e.to_string())
}

/// A text that a schema accepts.
struct Text {
    schema: Value,
    /// In the style of `json.dumps`, whitespace after `,` and `:`.
    text: String,
    tokens: Vec<u32>,
}

fn texts(
    arguments: &Arguments,
    all: &[cases::Case],
    tokenizer: &Tokenizer,
) -> Result<Vec<Text>, String> {
    let mut texts = Vec::new();
    for case in cases::sample(all.to_vec(), all.len(), 8) {
        if texts.len() == arguments.sample {
            break;
        }
        let Ok(mut guide) = guide(&case.schema, &Options::default(), tokenizer) else {
            continue;
        };
        for test in case.tests.into_iter().filter(|test| test.valid) {
            let tokens = tokenizer
                .encode(&test.text, Surround::Omit)
                .map_err(|e| e.to_string())?;
            let taken = tokens
                .iter()
                .all(|token| guide.advance(TokenId::new(*token)).is_ok());
            if (10..=arguments.tokens).contains(&tokens.len()) && taken && guide.is_accepting() {
                texts.push(Text {
                    schema: case.schema,
                    text: test.text,
                    tokens,
                });
                break;
            }
            let taken = guide.len();
            guide.rollback(taken).map_err(|e| e.to_string())?;
        }
    }
    Ok(texts)
}

fn guide(
    schema: &Value,
    options: &Options,
    tokenizer: &Tokenizer,
) -> Result<Guide<SchemaAutomaton>, String> {
    let automaton = SchemaAutomaton::new(schema, options).map_err(|e| e.to_string())?;
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton, tokenizer.vocabulary(), &lazy).map_err(|e| e.to_string())?;
    Ok(Guide::new(Arc::new(index)))
}

/// A model that says a text it is given, in the tokens it is given where it
/// stands between two of them, in single bytes elsewhere.
struct Player {
    cost: Duration,
    weights: Vec<u64>,
    noise: Vec<f32>,
    token_bytes: Vec<usize>,
    bytes: Vec<u32>,
    /// By offset in the text the token that comes there, if one begins there.
    script: Vec<Option<u32>>,
    text: Vec<u8>,
    /// Bytes of the text before each token seen, the prompt's being 0.
    before: Vec<usize>,
    read: u64,
}

impl Player {
    fn new(width: usize, cost: Duration, vocabulary: &fsm_index::Vocabulary) -> Player {
        let ids = 0..width as u32;
        let length = |id| {
            vocabulary
                .token_bytes(TokenId::new(id))
                .map_or(0, <[u8]>::len)
        };
        let mut bytes = vec![0; 256];
        for id in ids.clone() {
            if let Some([byte]) = vocabulary.token_bytes(TokenId::new(id)) {
                bytes[usize::from(*byte)] = id;
            }
        }
        let noise = |id: u32| (id.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32;
        Player {
            cost,
            weights: (0..WEIGHTS as u64 / 8).collect(),
            noise: ids.clone().map(noise).collect(),
            token_bytes: ids.map(length).collect(),
            bytes,
            script: Vec::new(),
            text: Vec::new(),
            before: Vec::new(),
            read: 0,
        }
    }

    fn learn(&mut self, text: &[u8], tokens: &[u32]) {
        self.text = text.to_vec();
        self.script = vec![None; text.len() + 1];
        let mut at = 0;
        for token in tokens {
            self.script[at] = Some(*token);
            at += self.token_bytes[*token as usize];
        }
        self.before.clear();
    }
}

impl Model for Player {
    fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>, Error> {
        let until = Instant::now() + self.cost;
        self.before.truncate(position);
        for token in tokens {
            let at = match self.before.last() {
                // The prompt's one token has no part in the text.
                None => 0,
                Some(at) => at + self.token_bytes[*token as usize],
            };
            self.before.push(at);
        }
        let at = self.before.last().copied().unwrap_or(0);
        let next = match (self.script.get(at).copied().flatten(), self.text.get(at)) {
            (Some(token), _) => Some(token),
            (None, Some(byte)) => Some(self.bytes[usize::from(*byte)]),
            (None, None) => None,
        };
        self.read = self
            .weights
            .iter()
            .fold(self.read, |sum, w| sum.wrapping_add(*w));
        let mut logits = self.noise.clone();
        if let Some(next) = next {
            logits[next as usize] = 100.0;
        }
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        Ok(logits)
    }

    fn truncate(&mut self, length: usize) {
        self.before.truncate(length);
    }

    fn cached(&self) -> usize {
        self.before.len()
    }

    fn context_length(&self) -> usize {
        1 << 20
    }

    fn vocabulary_width(&self) -> usize {
        self.noise.len()
    }
}

/// Decodes at most `count` tokens of what the player says.
fn decode(
    player: &mut Player,
    tokenizer: &Tokenizer,
    guide: Option<&mut Guide<SchemaAutomaton>>,
    forced: ForcedTokens,
    temperature: f32,
    count: usize,
) -> Result<Generation, String> {
    let request = Request::new(Prompt::Tokens(vec![0]))
        .with_max_tokens(count)
        .with_forced(forced)
        .with_sampling(SamplingConfig::with_temperature(temperature, 1));
    let mut session = Session::new(player, tokenizer);
    let guide = guide.map(|guide| guide as &mut dyn Constraint);
    let said = session.generate(&request, guide, &mut |_| Flow::Continue);
    said.map_err(|e| e.to_string())
}

/// The loop's own time for each token, in microseconds: all but the model's. On
/// a busy machine a difference of whole times would tell of the other programs.
fn each(generation: &Generation) -> f64 {
    let timings = &generation.timings;
    let model = timings.prefill + timings.forward;
    let time = timings.total.saturating_sub(model);
    time.as_secs_f64() * 1e6 / generation.tokens.len() as f64
}

/// The number of times a text is decoded warm, each time beside a free one, because a single time
/// is at the mercy of whatever else runs.
const ROUNDS: usize = 3;

fn steps(
    texts: &[Text],
    tokenizer: &Tokenizer,
    player: &mut Player,
    temperature: f32,
) -> Result<(), String> {
    let (mut free, mut cold, mut warm) = (Vec::new(), Vec::new(), Vec::new());
    for text in texts {
        player.learn(text.text.as_bytes(), &text.tokens);
        let mut guide = guide(&text.schema, &Options::default(), tokenizer)?;
        let count = text.tokens.len();
        let mut pairs = Vec::new();
        for round in 0..=ROUNDS {
            let mut bound = None;
            let mut unbound = None;
            // Which goes first changes from round to round.
            for turn in 0..2 {
                if (turn + round) % 2 == 0 {
                    let taken = guide.len();
                    guide.rollback(taken).map_err(|e| e.to_string())?;
                    let guide = Some(&mut guide);
                    bound = Some(decode(
                        player,
                        tokenizer,
                        guide,
                        ForcedTokens::Draw,
                        temperature,
                        count,
                    )?);
                } else {
                    unbound = Some(decode(
                        player,
                        tokenizer,
                        None,
                        ForcedTokens::Draw,
                        temperature,
                        count,
                    )?);
                }
            }
            let (Some(bound), Some(unbound)) = (bound, unbound) else {
                continue;
            };
            if bound.tokens != text.tokens || unbound.tokens != text.tokens {
                return Err(format!("{}: other tokens were decoded", text.text));
            }
            pairs.push((each(&bound), each(&unbound)));
        }
        free.extend(pairs.iter().map(|(_, unbound)| *unbound));
        let mut differences = pairs.into_iter().map(|(bound, unbound)| bound - unbound);
        cold.extend(differences.next().map(|first| (first, count as f64)));
        let again = stats::Summary::new(differences.collect());
        warm.push((again.p50, count as f64));
    }
    let free = stats::Summary::new(free);
    let pass = player.cost.as_secs_f64() * 1e6;
    println!(
        "temperature {temperature}: the loop's own time is {:.1} us a token without a constraint (median); with one",
        free.p50
    );
    for (name, all) in [("cold", cold), ("warm", warm)] {
        let tokens: f64 = all.iter().map(|(_, count)| count).sum();
        let mean = all.iter().map(|(each, count)| each * count).sum::<f64>() / tokens;
        let of_pass = 100.0 * mean / pass;
        let summary = stats::Summary::new(all.into_iter().map(|(each, _)| each).collect());
        println!(
            "  {name}: {mean:+.1} us a token more, {of_pass:+.2}% of a forward pass | by text: p50 {:+.1}, p90 {:+.1}, max {:+.1} us",
            summary.p50, summary.p90, summary.max
        );
    }
    Ok(())
}

/// Whole texts, forced tokens appended, beside the same tokens decoded freely.
fn forced(texts: &[Text], tokenizer: &Tokenizer, player: &mut Player) -> Result<(), String> {
    println!("forced tokens appended, greedy, by style of whitespace:");
    let styles = [
        (
            "compact",
            Options::default().with_whitespace(Whitespace::Compact),
        ),
        ("a blank or none after , and :", Options::default()),
    ];
    for (style, options) in styles {
        let (mut bound_time, mut free_time) = (0.0, 0.0);
        let (mut tokens, mut forced, mut passes, mut otherwise) = (0, 0, 0, 0);
        for text in texts {
            let written = match options.whitespace {
                Whitespace::Compact => {
                    let value: Value =
                        serde_json::from_str(&text.text).map_err(|e| e.to_string())?;
                    value.to_string()
                }
                _ => text.text.clone(),
            };
            let cut = tokenizer
                .encode(&written, Surround::Omit)
                .map_err(|e| e.to_string())?;
            let mut guide = guide(&text.schema, &options, tokenizer)?;
            player.learn(written.as_bytes(), &cut);
            let bound = decode(
                player,
                tokenizer,
                Some(&mut guide),
                ForcedTokens::Append,
                0.0,
                written.len(),
            )?;
            if bound.text != written {
                // Numbers may be written in several ways.
                continue;
            }
            otherwise += usize::from(bound.tokens != cut);
            player.learn(written.as_bytes(), &bound.tokens);
            let free = decode(
                player,
                tokenizer,
                None,
                ForcedTokens::Draw,
                0.0,
                bound.tokens.len(),
            )?;
            if free.tokens != bound.tokens {
                return Err(format!("{written}: other tokens were decoded"));
            }
            bound_time += bound.timings.total.as_secs_f64();
            free_time += free.timings.total.as_secs_f64();
            tokens += bound.tokens.len();
            forced += bound.forced.iter().filter(|forced| **forced).count();
            passes += bound.steps + 1;
        }
        println!(
            "  {style}: {forced} of {tokens} tokens forced, {passes} forward passes; bound {bound_time:.2} s, free {free_time:.2} s = {:.2}x; {otherwise} texts cut otherwise than whole",
            bound_time / free_time
        );
    }
    Ok(())
}
