//! The forward pass that the Llama and Qwen families share.

use candle_core::quantized::QMatMul;
use candle_core::{D, Device, Module, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};

use super::cache::KvCache;
use super::config::{Architecture, ModelConfig};
use super::rotary::Rotary;
use super::weights::Source;
use super::{Model, check_request};
use crate::Error;

/// A decoder of the Llama or Qwen family on the CPU. It computes in 32-bit
/// floats; quantised weights stay quantised.
#[derive(Debug)]
pub struct Transformer {
    config: ModelConfig,
    embedding: Embedding,
    layers: Vec<Layer>,
    norm: Norm,
    output: Linear,
    rotary: Rotary,
}

#[derive(Debug)]
pub(super) enum Embedding {
    Plain(Tensor),
    Quantised(QMatMul),
}

#[derive(Debug)]
pub(super) struct Linear {
    pub(super) weight: QMatMul,
    pub(super) bias: Option<Tensor>,
}

#[derive(Debug)]
struct Norm {
    weight: Tensor,
    epsilon: f32,
}

#[derive(Debug)]
struct Layer {
    input_norm: Norm,
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    query_norm: Option<Norm>,
    key_norm: Option<Norm>,
    after_norm: Norm,
    gate: Linear,
    up: Linear,
    down: Linear,
    cache: KvCache,
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
    /// shapes that Hugging Face gives them.
    pub(super) fn new(
        config: ModelConfig,
        source: &mut dyn Source,
    ) -> std::result::Result<Self, Error> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let query_width = config.heads * config.head_dim;
        let key_width = config.key_value_heads * config.head_dim;
        let epsilon = config.norm_epsilon as f32;
        let vocabulary = [config.vocabulary_width, hidden];
        let embedding = source.embedding("model.embed_tokens", vocabulary)?;
        let mut layers = Vec::new();
        for index in 0..config.layers {
            let at = |part: &str| format!("model.layers.{index}.{part}");
            let mut norm = |part: &str, width: usize| {
                let weight = source.vector(&format!("{}.weight", at(part)), width)?;
                Ok::<_, Error>(Norm { weight, epsilon })
            };
            let input_norm = norm("input_layernorm", hidden)?;
            let after_norm = norm("post_attention_layernorm", hidden)?;
            let (query_norm, key_norm) = match config.architecture {
                Architecture::Qwen3 => (
                    Some(norm("self_attn.q_norm", config.head_dim)?),
                    Some(norm("self_attn.k_norm", config.head_dim)?),
                ),
                Architecture::Llama | Architecture::Qwen2 => (None, None),
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
            layers.push(Layer {
                input_norm,
                after_norm,
                query_norm,
                key_norm,
                query: linear("self_attn.q_proj", [query_width, hidden], bias)?,
                key: linear("self_attn.k_proj", [key_width, hidden], bias)?,
                value: linear("self_attn.v_proj", [key_width, hidden], bias)?,
                output: linear("self_attn.o_proj", [hidden, query_width], false)?,
                gate: linear("mlp.gate_proj", [inner, hidden], false)?,
                up: linear("mlp.up_proj", [inner, hidden], false)?,
                down: linear("mlp.down_proj", [hidden, inner], false)?,
                cache: KvCache::new(config.context_length),
            });
        }
        let norm = Norm {
            weight: source.vector("model.norm.weight", hidden)?,
            epsilon,
        };
        let head = match config.tied_embeddings {
            true => "model.embed_tokens",
            false => "lm_head",
        };
        let output = Linear {
            weight: source.matrix(head, vocabulary)?,
            bias: None,
        };
        let rotary = Rotary::new(
            config.rope_frequencies(),
            source.pairing(),
            config.context_length,
        );
        Ok(Self {
            config,
            embedding,
            layers,
            norm,
            output,
            rotary,
        })
    }

    /// The shape of the model.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    fn logits(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>> {
        let count = tokens.len();
        let (cos, sin) = self.rotary.angles(position, count)?;
        let mask = match count {
            1 => None,
            _ => Some(causal_mask(count, position)?),
        };
        let tokens = Tensor::from_slice(tokens, count, &Device::Cpu)?;
        let mut x = self.embedding.forward(&tokens)?;
        for layer in &mut self.layers {
            let normed = layer.input_norm.forward(&x)?;
            let attended = attention(
                layer,
                &self.config,
                &self.rotary,
                &normed,
                (&cos, &sin),
                mask.as_ref(),
            )?;
            x = (x + attended)?;
            let normed = layer.after_norm.forward(&x)?;
            let gate = silu(&layer.gate.forward(&normed)?)?;
            let inner = (gate * layer.up.forward(&normed)?)?;
            x = (x + layer.down.forward(&inner)?)?;
        }
        // Only the last position's logits are wanted.
        let last = x.narrow(0, count - 1, 1)?.contiguous()?;
        let logits = self.output.forward(&self.norm.forward(&last)?)?;
        logits.flatten_all()?.to_vec1()
    }
}

impl Model for Transformer {
    fn forward(&mut self, tokens: &[u32], position: usize) -> std::result::Result<Vec<f32>, Error> {
        check_request(self, tokens, position)?;
        self.truncate(position);
        match self.logits(tokens, position) {
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
    angles: (&Tensor, &Tensor),
    mask: Option<&Tensor>,
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
    let query = split(layer.query.forward(x)?, heads, &layer.query_norm)?;
    let key = split(layer.key.forward(x)?, groups, &layer.key_norm)?;
    let value = split(layer.value.forward(x)?, groups, &None)?;
    let query = rotary.turn(&query, angles)?;
    let key = rotary.turn(&key, angles)?;
    let (keys, values) = layer.cache.append(&key, &value)?;
    let seen = keys.dim(1)?;

    let query = query.reshape((groups, heads / groups * tokens, width))?;
    let scores = (query.matmul(&keys.transpose(1, 2)?)? * (width as f64).powf(-0.5))?;
    let scores = match mask {
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

/// `[tokens, position + tokens]`, minus infinity where a token would look ahead.
fn causal_mask(tokens: usize, position: usize) -> Result<Tensor> {
    let seen = position + tokens;
    let mut mask = vec![0_f32; tokens * seen];
    for (i, row) in mask.chunks_exact_mut(seen).enumerate() {
        row[position + i + 1..].fill(f32::NEG_INFINITY);
    }
    Tensor::from_vec(mask, (tokens, seen), &Device::Cpu)
}
