//! The forward pass that the Llama, Qwen, Mistral, Phi and Gemma families share.

use candle_core::quantized::QMatMul;
use candle_core::{D, Device, Module, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};

use super::cache::KvCache;
use super::config::{Architecture, ModelConfig};
use super::rotary::Rotary;
use super::weights::Source;
use super::{Model, check_request, last_tokens};
use crate::Error;

/// A decoder of a known family ([`Architecture`]) on the CPU. It computes in 32-bit
/// floats; quantised weights stay quantised.
#[derive(Debug)]
pub struct Transformer {
    config: ModelConfig,
    embedding: Embedding,
    layers: Vec<Layer>,
    norm: Norm,
    output: Linear,
    rotary: Rotary,
    /// That of windowed layers, where they have their own.
    local_rotary: Option<Rotary>,
}

#[derive(Clone, Debug)]
pub(super) enum Embedding {
    Plain(Tensor),
    Quantised(QMatMul),
}

#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) weight: QMatMul,
    pub(super) bias: Option<Tensor>,
}

#[derive(Clone, Debug)]
struct Norm {
    weight: Tensor,
    epsilon: f32,
}

#[derive(Clone, Debug)]
struct Layer {
    input_norm: Norm,
    queries: Queries,
    output: Linear,
    query_norm: Option<Norm>,
    key_norm: Option<Norm>,
    /// After attention, before it is added.
    attended_norm: Option<Norm>,
    inner_norm: Norm,
    gates: Gates,
    down: Linear,
    /// After the feed-forward part, before it is added.
    outer_norm: Option<Norm>,
    windowed: bool,
    cache: KvCache,
}

/// The matrices of queries, keys and values.
#[derive(Clone, Debug)]
enum Queries {
    Apart([Linear; 3]),
    /// One below the other.
    Together(Linear),
}

/// The two matrices of the feed-forward part whose products are multiplied.
#[derive(Clone, Debug)]
enum Gates {
    Apart {
        gate: Linear,
        up: Linear,
    },
    /// The gate's above.
    Together(Linear),
}

impl Queries {
    /// Queries, keys and values: `[tokens, heads * width]` each.
    fn forward(&self, x: &Tensor, config: &ModelConfig) -> Result<[Tensor; 3]> {
        let all = match self {
            Self::Apart([query, key, value]) => {
                return Ok([query.forward(x)?, key.forward(x)?, value.forward(x)?]);
            }
            Self::Together(all) => all.forward(x)?,
        };
        let query = config.heads * config.head_dim;
        let key = config.key_value_heads * config.head_dim;
        let part = |from, width| all.narrow(D::Minus1, from, width)?.contiguous();
        Ok([part(0, query)?, part(query, key)?, part(query + key, key)?])
    }
}

impl Gates {
    fn forward(&self, x: &Tensor, architecture: Architecture) -> Result<Tensor> {
        let (gate, up) = match self {
            Self::Apart { gate, up } => (gate.forward(x)?, up.forward(x)?),
            Self::Together(both) => {
                let both = both.forward(x)?.chunk(2, D::Minus1)?;
                let [gate, up] = &both[..] else {
                    candle_core::bail!("the gate has no two halves");
                };
                (gate.contiguous()?, up.contiguous()?)
            }
        };
        let gate = match architecture.is_gemma() {
            true => gate.gelu()?,
            false => silu(&gate)?,
        };
        gate * up
    }
}

impl Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.weight.forward(x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

impl Norm {
    fn new(weight: Tensor, epsilon: f32, less_one: bool) -> std::result::Result<Self, Error> {
        let weight = match less_one {
            true => (weight + 1.0)?,
            false => weight,
        };
        Ok(Self { weight, epsilon })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        rms_norm(x, &self.weight, self.epsilon)
    }
}

impl Embedding {
    fn forward(&self, tokens: &Tensor) -> Result<Tensor> {
        match self {
            Self::Plain(table) => table.index_select(tokens, 0),
            Self::Quantised(table) => table.embedding(tokens),
        }
    }
}

impl Transformer {
    /// Builds a model of this shape from weights. Weights have the names and
    /// shapes that Hugging Face gives them. `built` is told how many layers
    /// there are already.
    pub(super) fn new(
        config: ModelConfig,
        source: &mut dyn Source,
        built: &mut dyn FnMut(usize),
    ) -> std::result::Result<Self, Error> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let query_width = config.heads * config.head_dim;
        let key_width = config.key_value_heads * config.head_dim;
        let epsilon = config.norm_epsilon as f32;
        let vocabulary = [config.vocabulary_width, hidden];
        let embedding = source.embedding("model.embed_tokens", vocabulary)?;
        let family = config.architecture;
        // Files of Hugging Face hold one less than what Gemma multiplies by.
        let less_one = family.is_gemma() && source.stores_norms_less_one();
        let mut layers = Vec::new();
        for index in 0..config.layers {
            let at = |part: &str| format!("model.layers.{index}.{part}");
            let mut norm = |part: &str, width: usize| {
                let weight = source.vector(&format!("{}.weight", at(part)), width)?;
                Norm::new(weight, epsilon, less_one)
            };
            let input_norm = norm("input_layernorm", hidden)?;
            let (attended_norm, inner_norm, outer_norm) = match family.has_four_norms() {
                true => (
                    Some(norm("post_attention_layernorm", hidden)?),
                    norm("pre_feedforward_layernorm", hidden)?,
                    Some(norm("post_feedforward_layernorm", hidden)?),
                ),
                false => (None, norm("post_attention_layernorm", hidden)?, None),
            };
            let (query_norm, key_norm) = match family.has_head_norms() {
                true => (
                    Some(norm("self_attn.q_norm", config.head_dim)?),
                    Some(norm("self_attn.k_norm", config.head_dim)?),
                ),
                false => (None, None),
            };
            let mut linear = |part: &str, shape: [usize; 2], with_bias: bool| {
                let weight = source.matrix(&at(part), shape)?;
                let bias = match with_bias {
                    true => Some(source.vector(&format!("{}.bias", at(part)), shape[0])?),
                    false => None,
                };
                Ok::<_, Error>(Linear { weight, bias })
            };
            let bias = config.attention_bias;
            let (queries, gates) = match family {
                Architecture::Phi3 => {
                    let all = [query_width + 2 * key_width, hidden];
                    (
                        Queries::Together(linear("self_attn.qkv_proj", all, false)?),
                        Gates::Together(linear("mlp.gate_up_proj", [2 * inner, hidden], false)?),
                    )
                }
                _ => (
                    Queries::Apart([
                        linear("self_attn.q_proj", [query_width, hidden], bias)?,
                        linear("self_attn.k_proj", [key_width, hidden], bias)?,
                        linear("self_attn.v_proj", [key_width, hidden], bias)?,
                    ]),
                    Gates::Apart {
                        gate: linear("mlp.gate_proj", [inner, hidden], false)?,
                        up: linear("mlp.up_proj", [inner, hidden], false)?,
                    },
                ),
            };
            layers.push(Layer {
                input_norm,
                attended_norm,
                inner_norm,
                outer_norm,
                query_norm,
                key_norm,
                queries,
                gates,
                output: linear("self_attn.o_proj", [hidden, query_width], false)?,
                down: linear("mlp.down_proj", [hidden, inner], false)?,
                windowed: config.is_windowed(index),
                cache: KvCache::new(config.context_length),
            });
            built(layers.len());
        }
        let norm = Norm::new(
            source.vector("model.norm.weight", hidden)?,
            epsilon,
            less_one,
        )?;
        let head = match config.tied_embeddings {
            true => "model.embed_tokens",
            false => "lm_head",
        };
        let output = Linear {
            weight: source.matrix(head, vocabulary)?,
            bias: None,
        };
        let rotary =
            |frequencies| Rotary::new(frequencies, source.pairing(), config.context_length);
        let local_rotary = config.local_rope_frequencies().map(rotary);
        let rotary = rotary(config.rope_frequencies());
        Ok(Self {
            config,
            embedding,
            layers,
            norm,
            output,
            rotary,
            local_rotary,
        })
    }

    /// Another one with the same weights, which are shared, and no tokens seen:
    /// for texts side by side. O(layers).
    #[must_use]
    pub fn fork(&self) -> Self {
        let layers = self.layers.iter().cloned().map(|layer| Layer {
            cache: KvCache::new(self.config.context_length),
            ..layer
        });
        Self {
            config: self.config.clone(),
            embedding: self.embedding.clone(),
            layers: layers.collect(),
            norm: self.norm.clone(),
            output: self.output.clone(),
            rotary: self.rotary.clone(),
            local_rotary: self.local_rotary.clone(),
        }
    }

    /// The shape of the model.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The logits after each of the last `wanted` tokens.
    fn logits(&mut self, tokens: &[u32], position: usize, wanted: usize) -> Result<Vec<Vec<f32>>> {
        let config = &self.config;
        let count = tokens.len();
        let full = Sight::new(&mut self.rotary, position, count, None)?;
        let narrow = match (config.sliding_window, &mut self.local_rotary) {
            (None, _) => None,
            (window, Some(own)) => Some(Sight::new(own, position, count, window)?),
            (window, None) => Some(Sight::new(&mut self.rotary, position, count, window)?),
        };
        let tokens = Tensor::from_slice(tokens, count, &Device::Cpu)?;
        let mut x = self.embedding.forward(&tokens)?;
        if config.architecture.is_gemma() {
            x = (x * (config.hidden_size as f64).sqrt())?;
        }
        for layer in &mut self.layers {
            let (rotary, sight) = match (&narrow, layer.windowed, &self.local_rotary) {
                (Some(narrow), true, Some(own)) => (own, narrow),
                (Some(narrow), true, None) => (&self.rotary, narrow),
                _ => (&self.rotary, &full),
            };
            let normed = layer.input_norm.forward(&x)?;
            let mut attended = attention(layer, config, rotary, &normed, sight)?;
            if let Some(norm) = &layer.attended_norm {
                attended = norm.forward(&attended)?;
            }
            x = (x + attended)?;
            let normed = layer.inner_norm.forward(&x)?;
            let inner = layer.gates.forward(&normed, config.architecture)?;
            let mut fed = layer.down.forward(&inner)?;
            if let Some(norm) = &layer.outer_norm {
                fed = norm.forward(&fed)?;
            }
            x = (x + fed)?;
        }
        let last = x.narrow(0, count - wanted, wanted)?.contiguous()?;
        let logits = self.output.forward(&self.norm.forward(&last)?)?;
        capped(logits, config.logit_cap)?.to_vec2()
    }
}

/// Presses values between minus `cap` and `cap`.
fn capped(x: Tensor, cap: Option<f64>) -> Result<Tensor> {
    match cap {
        None => Ok(x),
        Some(cap) => (x / cap)?.tanh()? * cap,
    }
}

/// What the tokens of one call see, in layers of one kind.
struct Sight {
    cos: Tensor,
    sin: Tensor,
    mask: Option<Tensor>,
}

impl Sight {
    fn new(
        rotary: &mut Rotary,
        position: usize,
        count: usize,
        window: Option<usize>,
    ) -> Result<Sight> {
        let (cos, sin) = rotary.angles(position, count)?;
        let mask = match count == 1 && window.is_none_or(|window| position < window) {
            true => None,
            false => Some(causal_mask(count, position, window)?),
        };
        Ok(Sight { cos, sin, mask })
    }
}

impl Model for Transformer {
    fn forward(&mut self, tokens: &[u32], position: usize) -> std::result::Result<Vec<f32>, Error> {
        let last = self.forward_each(tokens, position, 1)?.pop();
        Ok(last.unwrap_or_default())
    }

    fn forward_each(
        &mut self,
        tokens: &[u32],
        position: usize,
        count: usize,
    ) -> std::result::Result<Vec<Vec<f32>>, Error> {
        check_request(self, tokens, position)?;
        last_tokens(tokens, count)?;
        self.truncate(position);
        match self.logits(tokens, position, count) {
            Ok(logits) => Ok(logits),
            Err(error) => {
                // Some layers may have taken the tokens; none shall have.
                self.truncate(position);
                Err(error.into())
            }
        }
    }

    fn truncate(&mut self, length: usize) {
        for layer in &mut self.layers {
            layer.cache.truncate(length);
        }
    }

    fn cached(&self) -> usize {
        self.layers
            .iter()
            .map(|layer| layer.cache.len())
            .min()
            .unwrap_or(0)
    }

    fn context_length(&self) -> usize {
        self.config.context_length
    }

    fn vocabulary_width(&self) -> usize {
        self.config.vocabulary_width
    }
}

/// Attention of `x`, `[tokens, hidden]`, over itself and what the cache holds.
///
/// Heads that share keys are laid side by side as rows of one product, so that
/// keys are never repeated.
fn attention(
    layer: &mut Layer,
    config: &ModelConfig,
    rotary: &Rotary,
    x: &Tensor,
    sight: &Sight,
) -> Result<Tensor> {
    let (tokens, _) = x.dims2()?;
    let (heads, groups, width) = (config.heads, config.key_value_heads, config.head_dim);
    let split = |x: Tensor, heads: usize, norm: &Option<Norm>| {
        let x = x.reshape((tokens, heads, width))?;
        let x = match norm {
            Some(norm) => norm.forward(&x)?,
            None => x,
        };
        x.transpose(0, 1)?.contiguous()
    };
    let [query, key, value] = layer.queries.forward(x, config)?;
    let query = split(query, heads, &layer.query_norm)?;
    let key = split(key, groups, &layer.key_norm)?;
    let value = split(value, groups, &None)?;
    let query = rotary.turn(&query, (&sight.cos, &sight.sin))?;
    let key = rotary.turn(&key, (&sight.cos, &sight.sin))?;
    let (keys, values) = layer.cache.append(&key, &value)?;
    let seen = keys.dim(1)?;

    let query = query.reshape((groups, heads / groups * tokens, width))?;
    let scores = (query.matmul(&keys.transpose(1, 2)?)? * config.attention_scale.powf(-0.5))?;
    let scores = capped(scores, config.attention_cap)?;
    let scores = match &sight.mask {
        Some(mask) => scores
            .reshape((heads, tokens, seen))?
            .broadcast_add(mask)?
            .reshape((groups, heads / groups * tokens, seen))?,
        None => scores,
    };
    let mixed = softmax_last_dim(&scores)?.matmul(&values)?;
    let mixed = mixed
        .reshape((heads, tokens, width))?
        .transpose(0, 1)?
        .contiguous()?
        .flatten_from(D::Minus2)?;
    layer.output.forward(&mixed)
}

/// `[tokens, position + tokens]`, minus infinity where a token would look ahead,
/// or further back than its window.
fn causal_mask(tokens: usize, position: usize, window: Option<usize>) -> Result<Tensor> {
    let seen = position + tokens;
    let mut mask = vec![0_f32; tokens * seen];
    for (i, row) in mask.chunks_exact_mut(seen).enumerate() {
        let next = position + i + 1;
        row[next..].fill(f32::NEG_INFINITY);
        if let Some(window) = window {
            row[..next.saturating_sub(window)].fill(f32::NEG_INFINITY);
        }
    }
    Tensor::from_vec(mask, (tokens, seen), &Device::Cpu)
}
