//! The forward pass that the Llama and Qwen families share.

use candle_core::quantized::QMatMul;
use candle_core::{D, Device, Module, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::{rope, rope_i};

use super::cache::KvCache;
use super::config::ModelConfig;
use super::weights::Source;
use super::{Model, check_tokens};
use crate::Error;

/// A decoder of the Llama or Qwen family on the CPU, in 32-bit floats (weights
/// that are quantised stay so).
#[derive(Debug)]
pub struct Transformer {
    config: ModelConfig,
    embedding: Embedding,
    layers: Vec<Layer>,
    norm: Norm,
    output: Linear,
    cos: Tensor,
    sin: Tensor,
    pairing: Pairing,
}

/// Which dimensions of a head the rotary embedding turns together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// `i` and `i + width / 2`, as in the files of Hugging Face.
    Halves,
    /// `2 i` and `2 i + 1`, as in GGUF files of Llama.
    Neighbours,
}

#[derive(Debug)]
pub(crate) enum Embedding {
    Plain(Tensor),
    Quantised(QMatMul),
}

#[derive(Debug)]
pub(crate) struct Linear {
    pub(crate) weight: QMatMul,
    pub(crate) bias: Option<Tensor>,
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
        rms_norm(&x.contiguous()?, &self.weight, self.epsilon)
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
    /// Builds a model from its shape and where its weights come from.
    pub(crate) fn new(config: ModelConfig, source: &mut Source) -> std::result::Result<Self, Error> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let query_width = config.heads * config.head_dim;
        let key_width = config.key_value_heads * config.head_dim;
        let epsilon = config.norm_epsilon as f32;
        let embedding = source.embedding("model.embed_tokens", [config.vocabulary_width, hidden])?;
        let mut layers = Vec::new();
        for index in 0..config.layers {
            let at = |part: &str| format!("model.layers.{index}.{part}");
            let mut norm = |part: &str, width: usize| -> std::result::Result<Norm, Error> {
                let weight = source.vector(&format!("{}.weight", at(part)), width)?;
                Ok(Norm { weight, epsilon })
            };
            let input_norm = norm("input_layernorm", hidden)?;
            let after_norm = norm("post_attention_layernorm", hidden)?;
            let (query_norm, key_norm) = match config.architecture {
                super::Architecture::Qwen3 => (
                    Some(norm("self_attn.q_norm", config.head_dim)?),
                    Some(norm("self_attn.k_norm", config.head_dim)?),
                ),
                _ => (None, None),
            };
            let bias = config.attention_bias;
            layers.push(Layer {
                input_norm,
                after_norm,
                query_norm,
                key_norm,
                query: source.linear(&at("self_attn.q_proj"), [query_width, hidden], bias)?,
                key: source.linear(&at("self_attn.k_proj"), [key_width, hidden], bias)?,
                value: source.linear(&at("self_attn.v_proj"), [key_width, hidden], bias)?,
                output: source.linear(&at("self_attn.o_proj"), [hidden, query_width], false)?,
                gate: source.linear(&at("mlp.gate_proj"), [inner, hidden], false)?,
                up: source.linear(&at("mlp.up_proj"), [inner, hidden], false)?,
                down: source.linear(&at("mlp.down_proj"), [hidden, inner], false)?,
                cache: KvCache::new(config.context_length),
            });
        }
        let norm = Norm {
            weight: source.vector("model.norm.weight", hidden)?,
            epsilon,
        };
        let head = if config.tied_embeddings {
            "model.embed_tokens"
        } else {
            "lm_head"
        };
        let output = source.linear(head, [config.vocabulary_width, hidden], false)?;
        let frequencies = config.rope_frequencies();
        let half = frequencies.len();
        let frequencies = Tensor::from_vec(frequencies, (1, half), &Device::Cpu)?;
        // Angles are computed for the tokens at hand, not for the whole context.
        let (cos, sin) = angles(&frequencies, 0)?;
        let mut model = Self {
            pairing: source.pairing(),
            config,
            embedding,
            layers,
            norm,
            output,
            cos,
            sin,
        };
        model.frequencies_to(&frequencies, 256)?;
        Ok(model)
    }

    /// The shape of the model.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    fn frequencies_to(&mut self, frequencies: &Tensor, tokens: usize) -> Result<()> {
        let tokens = tokens.min(self.config.context_length);
        (self.cos, self.sin) = angles(frequencies, tokens)?;
        Ok(())
    }

    fn turn(&self, x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
        let x = x.unsqueeze(0)?;
        let turned = match self.pairing {
            Pairing::Halves => rope(&x, cos, sin)?,
            Pairing::Neighbours => rope_i(&x, cos, sin)?,
        };
        turned.squeeze(0)
    }
}
