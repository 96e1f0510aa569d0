//! `config.json`: what a model's shape is. For example, `"num_hidden_layers": 30` is the number of
//! layers.

use serde_json::{Map, Value};

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
    /// Mistral: as Llama, with a sliding window in the first versions.
    Mistral,
    /// Phi-3, 3.5 and 4: queries, keys and values from one matrix, and so the
    /// two halves of the feed-forward part.
    Phi3,
    /// Gemma: scaled embeddings, normalisation by one more than the weight,
    /// GELU.
    Gemma,
    /// Gemma 2: as Gemma, normalised before and after each part, with capped
    /// scores and logits and a sliding window in every other layer.
    Gemma2,
    /// Gemma 3 (its texts): as Gemma 2 without caps, with normalised queries
    /// and keys, and a sliding window with wavelengths of its own in five of six
    /// layers.
    Gemma3,
}

impl Architecture {
    /// Tells whether it is a Gemma of any generation.
    pub(super) fn is_gemma(self) -> bool {
        matches!(self, Self::Gemma | Self::Gemma2 | Self::Gemma3)
    }

    /// Tells whether each part is normalised before and after.
    pub(super) fn has_four_norms(self) -> bool {
        matches!(self, Self::Gemma2 | Self::Gemma3)
    }

    /// Tells whether queries and keys are normalised.
    pub(super) fn has_head_norms(self) -> bool {
        matches!(self, Self::Qwen3 | Self::Gemma3)
    }
}

/// Every architecture, with the name that `config.json` gives it in `model_type` and, before that
/// key, in `architectures`. It has both names, because older files lack `model_type`.
const KNOWN: [(&str, &str, Architecture); 8] = [
    ("llama", "LlamaForCausalLM", Architecture::Llama),
    ("qwen2", "Qwen2ForCausalLM", Architecture::Qwen2),
    ("qwen3", "Qwen3ForCausalLM", Architecture::Qwen3),
    ("mistral", "MistralForCausalLM", Architecture::Mistral),
    ("phi3", "Phi3ForCausalLM", Architecture::Phi3),
    ("gemma", "GemmaForCausalLM", Architecture::Gemma),
    ("gemma2", "Gemma2ForCausalLM", Architecture::Gemma2),
    ("gemma3_text", "Gemma3ForCausalLM", Architecture::Gemma3),
];

/// The shape of a model.
///
/// ```
/// use tokenmold::ErrorKind;
/// use tokenmold::model::ModelConfig;
///
/// let error = ModelConfig::from_json(br#"{"model_type": "mamba"}"#, "config.json").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Config);
/// assert!(error.to_string().starts_with("config.json"));
/// ```
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
    /// The number of a head's dimensions that are turned by position.
    pub rotary_dim: usize,
    /// Scores of attention are products over the root of this.
    pub attention_scale: f64,
    /// Scores are pressed between minus this and this.
    pub attention_cap: Option<f64>,
    /// Logits are pressed between minus this and this.
    pub logit_cap: Option<f64>,
    /// The number of tokens that a windowed layer sees, the current one among them.
    pub sliding_window: Option<usize>,
    /// Which layers are windowed: of so many in a row all but the last; 0 for
    /// all. Means nothing without a window.
    pub window_pattern: usize,
    /// The number of layers that come before the first windowed one.
    pub full_layers: usize,
    /// Base of the wavelengths in windowed layers, where it differs.
    pub local_rope_theta: Option<f64>,
    /// The number of tokens that have logits.
    pub vocabulary_width: usize,
    /// Most tokens that prompt and output may have together.
    pub context_length: usize,
    /// Added to the mean square before its root, in RMS normalisation.
    pub norm_epsilon: f64,
    /// Base of the rotary embedding's wavelengths.
    pub rope_theta: f64,
    /// The scaling of the wavelengths for a context longer than trained on.
    pub rope_scaling: RopeScaling,
    /// The divisors of the frequencies besides, if a file lists them.
    pub rope_factors: Option<Vec<f32>>,
    /// True if the output projection is the embedding.
    pub tied_embeddings: bool,
    /// True if queries, keys and values have biases.
    pub attention_bias: bool,
    /// Tokens that end a text, as this file gives them.
    pub end_tokens: Vec<u32>,
}

/// The scaling of rotary wavelengths.
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
    /// Each by a factor of its own ([`ModelConfig::rope_factors`]), of which there is
    /// one list for texts within the trained context and another for longer ones:
    /// LongRoPE (<https://arxiv.org/abs/2402.13753>). Implemented is the first: the
    /// context is no longer than trained on.
    Long {
        /// The factor of cosines and sines.
        magnitude: f64,
    },
}

/// The most layers that a configuration may ask for: several times those of the largest published
/// models, because a wrong number must not fill the memory.
pub const MAX_LAYERS: usize = 1024;
/// The largest value of a width, a count of heads or a context length: 16 million, so that products
/// of two of them stay far below 64 bits.
pub const MAX_SIZE: usize = 1 << 24;

impl ModelConfig {
    /// Reads a `config.json`; `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`]: not JSON, an unknown architecture (the message
    /// lists the known ones), a missing value, a value out of range, or a
    /// detail that is not implemented (the rotary scalings `yarn` and `dynamic`,
    /// mixtures of experts, other activations).
    pub fn from_json(json: &[u8], name: &str) -> Result<Self, Error> {
        let value: Value = serde_json::from_slice(json).map_err(|error| {
            Error::with_source(ErrorKind::Config, format!("{name}: {error}"), error)
        })?;
        let reader = Reader {
            value: &value,
            name,
        };
        let architecture = reader.architecture()?;

        reader.activation(architecture)?;
        let windowed_qwen = matches!(architecture, Architecture::Qwen2 | Architecture::Qwen3)
            && reader.flag("use_sliding_window");
        if reader.flag("use_sliding_window") && !windowed_qwen {
            return Err(reader.error(
                "`use_sliding_window` is true; it is implemented for qwen2 and qwen3 alone",
            ));
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
        let head_dim = match (reader.optional_size("head_dim")?, architecture) {
            (Some(width), _) => width,
            (None, Architecture::Gemma | Architecture::Gemma2 | Architecture::Gemma3) => 256,
            (None, _) => hidden_size / heads,
        };
        let capped = architecture == Architecture::Gemma2;
        let config = Self {
            architecture,
            hidden_size,
            rotary_dim: reader.rotary_dim(head_dim)?,
            attention_scale: match architecture.has_four_norms() {
                true => reader
                    .optional_number("query_pre_attn_scalar")?
                    .unwrap_or(256.0),
                false => head_dim as f64,
            },
            attention_cap: reader
                .optional_number("attn_logit_softcapping")?
                .filter(|_| capped),
            logit_cap: reader
                .optional_number("final_logit_softcapping")?
                .filter(|_| capped),
            sliding_window: match architecture {
                _ if windowed_qwen => Some(reader.size("sliding_window")?),
                Architecture::Llama
                | Architecture::Qwen2
                | Architecture::Qwen3
                | Architecture::Gemma => None,
                _ => reader.optional_size("sliding_window")?,
            },
            window_pattern: reader.window_pattern(architecture)?,
            full_layers: match windowed_qwen {
                true => reader.full_layers()?,
                false => 0,
            },
            local_rope_theta: match architecture {
                Architecture::Gemma3 => Some(reader.local_rope_theta()?),
                _ => None,
            },
            intermediate_size: reader.size("intermediate_size")?,
            layers: reader.size("num_hidden_layers")?,
            heads,
            key_value_heads: reader
                .optional_size("num_key_value_heads")?
                .unwrap_or(heads),
            head_dim,
            vocabulary_width: reader.size("vocab_size")?,
            context_length: reader.context_length()?,
            norm_epsilon: reader.number("rms_norm_eps")?,
            rope_theta: reader.rope_theta()?,
            rope_scaling: reader.rope_scaling()?,
            rope_factors: reader.short_factors()?,
            tied_embeddings: match value.get("tie_word_embeddings") {
                None => architecture.is_gemma(),
                Some(_) => reader.flag("tie_word_embeddings"),
            },
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
        if self.rotary_dim > self.head_dim || !self.rotary_dim.is_multiple_of(2) {
            return error(format!(
                "{} of a head's {} dimensions are turned; it must be an even number of them",
                self.rotary_dim, self.head_dim
            ));
        }
        if let Some(factors) = &self.rope_factors
            && factors.len() != self.rotary_dim / 2
        {
            return error(format!(
                "{} rotary factors for {} frequencies",
                factors.len(),
                self.rotary_dim / 2
            ));
        }
        Ok(())
    }

    /// Tells whether a layer sees a window alone.
    pub(crate) fn is_windowed(&self, layer: usize) -> bool {
        let full = self.window_pattern > 0 && (layer + 1).is_multiple_of(self.window_pattern);
        self.sliding_window.is_some() && !full && layer >= self.full_layers
    }

    /// The frequency of each pair of a head's dimensions that are turned, in
    /// windowed layers where these have their own; in radians a token.
    pub(crate) fn local_rope_frequencies(&self) -> Option<Vec<f32>> {
        let plain = self.plain_frequencies(self.local_rope_theta?);
        Some(plain.map(|frequency| frequency as f32).collect())
    }

    /// Returns the factor of the cosines and sines of the rotary embedding.
    pub(crate) fn rope_magnitude(&self) -> f64 {
        match self.rope_scaling {
            RopeScaling::Long { magnitude } => magnitude,
            _ => 1.0,
        }
    }

    fn plain_frequencies(&self, theta: f64) -> impl Iterator<Item = f64> {
        let width = self.rotary_dim;
        (0..width / 2).map(move |i| 1.0 / theta.powf(2.0 * i as f64 / width as f64))
    }

    /// The frequency of each pair of a head's dimensions that are turned, in
    /// radians a token.
    pub(crate) fn rope_frequencies(&self) -> Vec<f32> {
        let plain = self.plain_frequencies(self.rope_theta);
        let scaled = plain.map(|frequency| match self.rope_scaling {
            RopeScaling::None | RopeScaling::Long { .. } => frequency,
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
        let scaled = scaled.map(|frequency| frequency as f32);
        match &self.rope_factors {
            None => scaled.collect(),
            Some(factors) => scaled
                .zip(factors)
                .map(|(own, factor)| own / factor)
                .collect(),
        }
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

    /// Refuses activations other than the family's.
    fn activation(&self, architecture: Architecture) -> Result<(), Error> {
        let key = match self.value.get("hidden_activation") {
            None | Some(Value::Null) => "hidden_act",
            Some(_) => "hidden_activation",
        };
        let named = self.value.get(key).and_then(Value::as_str);
        // The `gelu` of the first Gemma files is computed by its approximation with a tangent.
        let own = match architecture.is_gemma() {
            true => "gelu_pytorch_tanh",
            false => "silu",
        };
        match named {
            None => Ok(()),
            Some(name) if name == own || architecture.is_gemma() && name == "gelu" => Ok(()),
            Some(other) => Err(self.error(format!(
                "`{key}` is `{other}`; only `{own}` is implemented for this architecture"
            ))),
        }
    }

    fn rotary_dim(&self, head_dim: usize) -> Result<usize, Error> {
        match self.optional_number("partial_rotary_factor")? {
            None => Ok(head_dim),
            Some(share) if share <= 1.0 => Ok((head_dim as f64 * share) as usize),
            Some(_) => Err(self.error("`partial_rotary_factor` must be at most 1")),
        }
    }

    /// Returns the interval of layers without a window; see `window_pattern`.
    fn window_pattern(&self, architecture: Architecture) -> Result<usize, Error> {
        let usual = match architecture {
            Architecture::Gemma2 => 2,
            Architecture::Gemma3 => 6,
            _ => return Ok(0),
        };
        let pattern = match self.optional_size("sliding_window_pattern")? {
            Some(pattern) => pattern,
            None => self
                .optional_size("_sliding_window_pattern")?
                .unwrap_or(usual),
        };
        let Some(types) = self.value.get("layer_types").and_then(Value::as_array) else {
            return Ok(pattern);
        };
        for (at, kind) in types.iter().enumerate() {
            let full = (at + 1).is_multiple_of(pattern);
            let expected = if full {
                "full_attention"
            } else {
                "sliding_attention"
            };
            if kind.as_str() != Some(expected) {
                return Err(self.error(format!(
                    "`layer_types/{at}` is {kind}; implemented is `{expected}` there, with a full layer every {pattern}"
                )));
            }
        }
        Ok(pattern)
    }

    /// Returns the number of layers of a Qwen that come before the first one with a window.
    fn full_layers(&self) -> Result<usize, Error> {
        let count = self.value.get("max_window_layers").and_then(Value::as_u64);
        let count = count
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| self.error("`max_window_layers` must be a whole number"))?;
        let types = self.value.get("layer_types").and_then(Value::as_array);
        for (at, kind) in types.into_iter().flatten().enumerate() {
            let expected = match at < count {
                true => "full_attention",
                false => "sliding_attention",
            };
            if kind.as_str() != Some(expected) {
                return Err(self.error(format!(
                    "`layer_types/{at}` is {kind}; `max_window_layers` of {count} makes it `{expected}`"
                )));
            }
        }
        Ok(count)
    }

    /// In newer files each kind of layer has its own `rope_parameters`.
    fn local_rope_theta(&self) -> Result<f64, Error> {
        let newer = self
            .value
            .pointer("/rope_parameters/sliding_attention/rope_theta");
        match self
            .value
            .get("rope_local_base_freq")
            .or(newer)
            .map(Value::as_f64)
        {
            None => Ok(10_000.0),
            Some(Some(theta)) if theta.is_finite() && theta > 0.0 => Ok(theta),
            Some(_) => Err(self.error("`rope_local_base_freq` must be a number above 0")),
        }
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

    fn optional_number(&self, key: &str) -> Result<Option<f64>, Error> {
        match self.value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.number(key).map(Some),
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
        let newer = [
            "/rope_parameters/rope_theta",
            "/rope_parameters/full_attention/rope_theta",
        ];
        let newer = newer.iter().find_map(|at| self.value.pointer(at));
        match self.value.get("rope_theta").or(newer).map(Value::as_f64) {
            None if self.value.get("model_type").and_then(Value::as_str) == Some("gemma3_text") => {
                Ok(1_000_000.0)
            }
            None => Ok(10_000.0),
            Some(Some(theta)) if theta.is_finite() && theta > 0.0 => Ok(theta),
            Some(_) => Err(self.error("`rope_theta` must be a number above 0")),
        }
    }

    /// Returns the member of the file that says how wavelengths are stretched.
    fn scaling(&self) -> Option<(&'static str, &Map<String, Value>)> {
        [
            "rope_scaling",
            "rope_parameters/full_attention",
            "rope_parameters",
        ]
        .iter()
        .find_map(|key| Some((*key, self.value.pointer(&format!("/{key}"))?.as_object()?)))
    }

    /// The same where there are factors for short and for long texts.
    fn long_scaling(&self) -> Option<(&'static str, &Map<String, Value>)> {
        let is_long = |kind: &Value| ["longrope", "su"].iter().any(|long| kind == long);
        self.scaling().filter(|(_, scaling)| {
            let kind = scaling.get("rope_type").or_else(|| scaling.get("type"));
            kind.is_some_and(is_long)
        })
    }

    /// The context that a model with factors for short and for long texts was trained
    /// on, if it is one.
    fn trained_context(&self) -> Result<Option<usize>, Error> {
        /// The key of the length that a model was trained with, in two places because files differ.
        const NAME: &str = "original_max_position_embeddings";
        let Some((key, scaling)) = self.long_scaling() else {
            return Ok(None);
        };
        match scaling
            .get(NAME)
            .or_else(|| self.value.get(NAME))
            .map(Value::as_u64)
        {
            Some(Some(trained)) if (2..=MAX_SIZE as u64).contains(&trained) => {
                Ok(Some(trained as usize))
            }
            Some(_) => Err(self.error(format!("`{NAME}` must be a number from 2 to {MAX_SIZE}"))),
            None => Err(self.error(format!("`{NAME}` is missing, which `{key}` needs"))),
        }
    }

    fn context_length(&self) -> Result<usize, Error> {
        let most = self.size("max_position_embeddings")?;
        Ok(self
            .trained_context()?
            .map_or(most, |trained| most.min(trained)))
    }

    /// Returns the divisors of frequencies in texts within the trained context.
    fn short_factors(&self) -> Result<Option<Vec<f32>>, Error> {
        let Some((key, scaling)) = self.long_scaling() else {
            return Ok(None);
        };
        let factors = scaling.get("short_factor").and_then(Value::as_array);
        let number = |factor: &Value| {
            let factor = factor.as_f64()? as f32;
            (factor.is_finite() && factor > 0.0).then_some(factor)
        };
        let factors: Option<Vec<f32>> = factors.and_then(|all| all.iter().map(number).collect());
        match factors {
            Some(factors) => Ok(Some(factors)),
            None => Err(self.error(format!(
                "`{key}/short_factor` must be a list of numbers above 0"
            ))),
        }
    }

    fn rope_scaling(&self) -> Result<RopeScaling, Error> {
        let Some((key, scaling)) = self.scaling() else {
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
            Some("longrope" | "su") => {
                let trained = self.trained_context()?.unwrap_or(2) as f64;
                let stretch = self.size("max_position_embeddings")? as f64 / trained;
                Ok(RopeScaling::Long {
                    magnitude: match scaling.get("attention_factor") {
                        Some(Value::Null) | None if stretch <= 1.0 => 1.0,
                        Some(Value::Null) | None => (1.0 + stretch.ln() / trained.ln()).sqrt(),
                        Some(_) => number("attention_factor")?,
                    },
                })
            }
            Some(other) => Err(self.error(format!(
                "`{key}/rope_type` is `{other}`; implemented are default, linear, llama3 and longrope"
            ))),
        }
    }
}
