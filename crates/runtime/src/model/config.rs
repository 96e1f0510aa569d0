//! `config.json`: what a model's shape is.

use serde_json::Value;

use crate::{Error, ErrorKind};

/// A family of models that differ in a few details of one forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Architecture {
    /// Llama 2, 3.x, SmolLM2 and others of that shape.
    Llama,
    /// Qwen2 and 2.5: biases on the query, key and value projections.
    Qwen2,
    /// Qwen3: normalised queries and keys, no biases.
    Qwen3,
}

/// Every architecture, with the name that `config.json` gives it in
/// `model_type` and, before that key, in `architectures`.
const KNOWN: [(&str, &str, Architecture); 3] = [
    ("llama", "LlamaForCausalLM", Architecture::Llama),
    ("qwen2", "Qwen2ForCausalLM", Architecture::Qwen2),
    ("qwen3", "Qwen3ForCausalLM", Architecture::Qwen3),
];

/// The shape of a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelConfig {
    /// The family.
    pub architecture: Architecture,
    /// Width of the hidden state.
    pub hidden_size: usize,
    /// Width inside the feed-forward part.
    pub intermediate_size: usize,
    /// Number of layers.
    pub layers: usize,
    /// Heads of attention.
    pub heads: usize,
    /// Heads of keys and values; each serves `heads / key_value_heads` heads.
    pub key_value_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// How many tokens have logits.
    pub vocabulary_width: usize,
    /// Most tokens that prompt and output may have together.
    pub context_length: usize,
    /// Added to the mean square before its root, in RMS normalisation.
    pub norm_epsilon: f64,
    /// Base of the rotary embedding's wavelengths.
    pub rope_theta: f64,
    /// How the wavelengths are stretched for a context longer than trained on.
    pub rope_scaling: RopeScaling,
    /// Whether the output projection is the embedding.
    pub tied_embeddings: bool,
    /// Whether queries, keys and values have biases.
    pub attention_bias: bool,
    /// Tokens that end a text, as this file gives them.
    pub end_tokens: Vec<u32>,
}

/// How rotary wavelengths are stretched.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RopeScaling {
    /// Not at all.
    None,
    /// All by one factor.
    Linear {
        /// The factor.
        factor: f64,
    },
    /// Long wavelengths by a factor, short ones not, and a ramp between: the
    /// rule of Llama 3.1 (<https://arxiv.org/abs/2407.21783>, section 3.4.2).
    Llama3 {
        /// The factor for long wavelengths.
        factor: f64,
        /// Wavelengths above the trained context over this are long.
        low_frequency_factor: f64,
        /// Wavelengths below the trained context over this are short.
        high_frequency_factor: f64,
        /// The trained context, in tokens.
        original_context: f64,
    },
}

/// No configuration may ask for more layers than this, nor for any width above
/// [`MAX_SIZE`].
pub const MAX_LAYERS: usize = 1024;
/// Largest value of a width, a count of heads or a context length.
pub const MAX_SIZE: usize = 1 << 24;

impl ModelConfig {
    /// Reads a `config.json`; `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`]: not JSON, an unknown architecture (the message
    /// lists the known ones), a missing value, a value out of range, or a
    /// detail that is not implemented (sliding windows, other activations).
    pub fn from_json(json: &[u8], name: &str) -> Result<Self, Error> {
        let value: Value = serde_json::from_slice(json).map_err(|error| {
            Error::with_source(ErrorKind::Config, format!("{name}: {error}"), error)
        })?;
        let reader = Reader {
            value: &value,
            name,
        };
        let architecture = reader.architecture()?;

        let activation = value
            .get("hidden_act")
            .and_then(Value::as_str)
            .unwrap_or("silu");
        if activation != "silu" {
            return Err(reader.error(format!(
                "`hidden_act` is `{activation}`; only `silu` is implemented"
            )));
        }
        if value.get("use_sliding_window") == Some(&Value::Bool(true)) {
            return Err(
                reader.error("`use_sliding_window` is true; sliding windows are not implemented")
            );
        }
        for key in ["mlp_bias", "num_experts", "num_local_experts"] {
            if value
                .get(key)
                .is_some_and(|v| !matches!(v, Value::Null | Value::Bool(false)))
            {
                return Err(
                    reader.error(format!("`{key}` is set; such models are not implemented"))
                );
            }
        }

        let hidden_size = reader.size("hidden_size")?;
        let heads = reader.size("num_attention_heads")?;
        let attention_bias = match architecture {
            Architecture::Qwen2 => true,
            _ => reader.flag("attention_bias"),
        };
        if attention_bias && architecture != Architecture::Qwen2 {
            return Err(reader.error("`attention_bias` is true; it is implemented for qwen2 alone"));
        }
        let config = Self {
            architecture,
            hidden_size,
            intermediate_size: reader.size("intermediate_size")?,
            layers: reader.size("num_hidden_layers")?,
            heads,
            key_value_heads: reader
                .optional_size("num_key_value_heads")?
                .unwrap_or(heads),
            head_dim: reader
                .optional_size("head_dim")?
                .unwrap_or(hidden_size / heads),
            vocabulary_width: reader.size("vocab_size")?,
            context_length: reader.size("max_position_embeddings")?,
            norm_epsilon: reader.number("rms_norm_eps")?,
            rope_theta: reader.rope_theta()?,
            rope_scaling: reader.rope_scaling()?,
            tied_embeddings: reader.flag("tie_word_embeddings"),
            attention_bias,
            end_tokens: end_tokens(&value),
        };
        config.check(name)?;
        Ok(config)
    }

    /// Checks what the forward pass relies on.
    pub(crate) fn check(&self, name: &str) -> Result<(), Error> {
        let error =
            |message: String| Err(Error::new(ErrorKind::Config, format!("{name}: {message}")));
        if self.layers > MAX_LAYERS {
            return error(format!(
                "{} layers; at most {MAX_LAYERS} are allowed",
                self.layers
            ));
        }
        if !self.heads.is_multiple_of(self.key_value_heads) {
            return error(format!(
                "{} attention heads cannot share {} key and value heads evenly",
                self.heads, self.key_value_heads
            ));
        }
        if self.head_dim == 0 || !self.head_dim.is_multiple_of(2) {
            return error(format!(
                "the width of a head is {}; it must be even",
                self.head_dim
            ));
        }
        Ok(())
    }

    /// The frequency of each pair of a head's dimensions, in radians a token.
    pub(crate) fn rope_frequencies(&self) -> Vec<f32> {
        let plain = (0..self.head_dim / 2)
            .map(|i| 1.0 / self.rope_theta.powf(2.0 * i as f64 / self.head_dim as f64));
        let scaled = plain.map(|frequency| match self.rope_scaling {
            RopeScaling::None => frequency,
            RopeScaling::Linear { factor } => frequency / factor,
            RopeScaling::Llama3 {
                factor,
                low_frequency_factor,
                high_frequency_factor,
                original_context,
            } => {
                let wavelength = 2.0 * std::f64::consts::PI / frequency;
                let periods = original_context / wavelength;
                if periods > high_frequency_factor {
                    frequency
                } else if periods < low_frequency_factor {
                    frequency / factor
                } else {
                    let ramp = (periods - low_frequency_factor)
                        / (high_frequency_factor - low_frequency_factor);
                    (1.0 - ramp) * frequency / factor + ramp * frequency
                }
            }
        });
        scaled.map(|frequency| frequency as f32).collect()
    }
}

/// The tokens of `eos_token_id`, which is a number or a list of numbers.
pub(crate) fn end_tokens(value: &Value) -> Vec<u32> {
    let id = |v: &Value| v.as_u64().and_then(|id| u32::try_from(id).ok());
    match value.get("eos_token_id") {
        Some(Value::Array(ids)) => ids.iter().filter_map(id).collect(),
        Some(one) => id(one).into_iter().collect(),
        None => Vec::new(),
    }
}

struct Reader<'a> {
    value: &'a Value,
    name: &'a str,
}

impl Reader<'_> {
    #[cold]
    fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::new(ErrorKind::Config, format!("{}: {message}", self.name))
    }

    fn architecture(&self) -> Result<Architecture, Error> {
        let model_type = self.value.get("model_type").and_then(Value::as_str);
        let class = self
            .value
            .pointer("/architectures/0")
            .and_then(Value::as_str);
        let known = KNOWN.iter().find(|(t, c, _)| match model_type {
            Some(name) => *t == name,
            None => Some(*c) == class,
        });
        if let Some((_, _, architecture)) = known {
            return Ok(*architecture);
        }
        let names: Vec<&str> = KNOWN.iter().map(|(name, ..)| *name).collect();
        Err(match model_type.or(class) {
            Some(name) => self.error(format!(
                "architecture `{name}` is not known; known are {}",
                names.join(", ")
            )),
            None => self.error("`model_type` is missing"),
        })
    }

    fn flag(&self, key: &str) -> bool {
        self.value.get(key) == Some(&Value::Bool(true))
    }

    fn number(&self, key: &str) -> Result<f64, Error> {
        match self.value.get(key).map(Value::as_f64) {
            Some(Some(number)) if number.is_finite() && number > 0.0 => Ok(number),
            Some(_) => Err(self.error(format!("`{key}` must be a number above 0"))),
            None => Err(self.error(format!("`{key}` is missing"))),
        }
    }

    fn optional_size(&self, key: &str) -> Result<Option<usize>, Error> {
        match self.value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().and_then(|n| usize::try_from(n).ok()) {
                Some(n) if (1..=MAX_SIZE).contains(&n) => Ok(Some(n)),
                _ => Err(self.error(format!(
                    "`{key}` must be a whole number from 1 to {MAX_SIZE}"
                ))),
            },
        }
    }

    fn size(&self, key: &str) -> Result<usize, Error> {
        self.optional_size(key)?
            .ok_or_else(|| self.error(format!("`{key}` is missing")))
    }

    /// `rope_theta` stands at the top, or in `rope_parameters` in newer files.
    fn rope_theta(&self) -> Result<f64, Error> {
        let newer = self.value.pointer("/rope_parameters/rope_theta");
        match self.value.get("rope_theta").or(newer).map(Value::as_f64) {
            None => Ok(10_000.0),
            Some(Some(theta)) if theta.is_finite() && theta > 0.0 => Ok(theta),
            Some(_) => Err(self.error("`rope_theta` must be a number above 0")),
        }
    }

    fn rope_scaling(&self) -> Result<RopeScaling, Error> {
        let found = ["rope_scaling", "rope_parameters"]
            .iter()
            .find_map(|key| Some((*key, self.value.get(*key)?.as_object()?)));
        let Some((key, scaling)) = found else {
            return Ok(RopeScaling::None);
        };
        let number = |name: &str| match scaling.get(name).and_then(Value::as_f64) {
            Some(number) if number.is_finite() && number > 0.0 => Ok(number),
            _ => Err(self.error(format!("`{key}/{name}` must be a number above 0"))),
        };
        let kind = scaling.get("rope_type").or_else(|| scaling.get("type"));
        match kind.and_then(Value::as_str) {
            None | Some("default") => Ok(RopeScaling::None),
            Some("linear") => Ok(RopeScaling::Linear {
                factor: number("factor")?,
            }),
            Some("llama3") => {
                let (low, high) = (number("low_freq_factor")?, number("high_freq_factor")?);
                if low >= high {
                    return Err(self.error(format!(
                        "`{key}/low_freq_factor` must be below `high_freq_factor`"
                    )));
                }
                Ok(RopeScaling::Llama3 {
                    factor: number("factor")?,
                    low_frequency_factor: low,
                    high_frequency_factor: high,
                    original_context: number("original_max_position_embeddings")?,
                })
            }
            Some(other) => Err(self.error(format!(
                "`{key}/rope_type` is `{other}`; implemented are default, linear and llama3"
            ))),
        }
    }
}
