//! The header of a GGUF file: a model's shape. For example, `llama.block_count` is the number of
//! layers.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use candle_core::Device;
use candle_core::quantized::gguf_file::{Content, Value};

use super::config::{Architecture, MAX_SIZE, ModelConfig, RopeScaling};
use super::rotary::Pairing;
use crate::chat::ChatTemplates;
use crate::error::first_line;
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorKind};

/// Architectures of GGUF files, and how each pairs a head's dimensions. Mistral is `llama` there.
/// The pairing is of the architecture, because the program that converts a model may reorder its
/// rows.
const KNOWN: [(&str, Architecture, Pairing); 7] = [
    ("llama", Architecture::Llama, Pairing::Neighbours),
    ("qwen2", Architecture::Qwen2, Pairing::Halves),
    ("qwen3", Architecture::Qwen3, Pairing::Halves),
    ("phi3", Architecture::Phi3, Pairing::Halves),
    ("gemma", Architecture::Gemma, Pairing::Halves),
    ("gemma2", Architecture::Gemma2, Pairing::Halves),
    ("gemma3", Architecture::Gemma3, Pairing::Halves),
];

pub(super) struct Header {
    pub(super) content: Content,
    pub(super) file: BufReader<File>,
    pub(super) place: String,
}

impl Header {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let place = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            Error::with_source(ErrorKind::Io, format!("{place}: {error}"), error)
        })?;
        let mut file = BufReader::new(file);
        // candle divides by the alignment that the file gives, which may be 0.
        let content =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Content::read(&mut file)))
                .unwrap_or_else(|_| candle_core::bail!("the header is malformed"))
                .map_err(|error| {
                    let message = format!("{place}: not a GGUF file: {}", first_line(&error));
                    Error::with_source(ErrorKind::Weights, message, error)
                })?;
        Ok(Self {
            content,
            file,
            place,
        })
    }

    #[cold]
    fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::new(ErrorKind::Config, format!("{}: {message}", self.place))
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.content.metadata.get(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn whole(&self, key: &str) -> Option<u64> {
        match self.content.metadata.get(key)? {
            Value::U8(n) => Some(u64::from(*n)),
            Value::U16(n) => Some(u64::from(*n)),
            Value::U32(n) => Some(u64::from(*n)),
            Value::U64(n) => Some(*n),
            Value::I32(n) => u64::try_from(*n).ok(),
            Value::I64(n) => u64::try_from(*n).ok(),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<f64> {
        match self.content.metadata.get(key)? {
            Value::F32(number) => Some(f64::from(*number)),
            Value::F64(number) => Some(*number),
            _ => None,
        }
    }

    fn size(&self, key: &str) -> Result<usize, Error> {
        match self.whole(key).and_then(|n| usize::try_from(n).ok()) {
            Some(n) if (1..=MAX_SIZE).contains(&n) => Ok(n),
            Some(n) => Err(self.error(format!("`{key}` is {n}; it must be from 1 to {MAX_SIZE}"))),
            None => Err(self.error(format!("`{key}` is missing"))),
        }
    }

    fn size_or(&self, key: &str, default: usize) -> Result<usize, Error> {
        match self.whole(key) {
            Some(_) => self.size(key),
            None => Ok(default),
        }
    }

    /// The shape of the model, and how it pairs dimensions.
    pub(super) fn config(&mut self) -> Result<(ModelConfig, Pairing), Error> {
        let rope_factors = self.rope_factors()?;
        let (name, architecture, pairing) = self.architecture()?;
        let key = |part: &str| format!("{name}.{part}");
        let rope_scaling = self.rope_scaling(name)?;
        let hidden_size = self.size(&key("embedding_length"))?;
        let heads = self.size(&key("attention.head_count"))?;
        let head_dim = self.size_or(&key("attention.key_length"), hidden_size / heads)?;
        let rotary_dim = self.size_or(&key("rope.dimension_count"), head_dim)?;
        if rotary_dim != head_dim && architecture != Architecture::Phi3 {
            return Err(self.error(format!(
                "`{name}.rope.dimension_count` is {rotary_dim} of {head_dim}; partial rotation is implemented for phi3 alone"
            )));
        }
        let vocabulary_width = self.vocabulary_width()?;
        let key_value_heads = self.size_or(&key("attention.head_count_kv"), heads)?;
        let layers = self.size(&key("block_count"))?;
        let window = key("attention.sliding_window");
        let config = ModelConfig {
            architecture,
            hidden_size,
            rotary_dim,
            // The files do not tell; by their layers the largest ones are known.
            attention_scale: match (architecture, layers) {
                (Architecture::Gemma2, 46) | (Architecture::Gemma3, 62) => {
                    hidden_size as f64 / heads as f64
                }
                _ => head_dim as f64,
            },
            attention_cap: self.number(&key("attn_logit_softcapping")),
            logit_cap: self.number(&key("final_logit_softcapping")),
            sliding_window: match (architecture, self.whole(&window)) {
                (Architecture::Phi3 | Architecture::Gemma2 | Architecture::Gemma3, Some(1..)) => {
                    Some(self.size(&window)?)
                }
                _ => None,
            },
            full_layers: 0,
            window_pattern: match architecture {
                Architecture::Gemma2 => 2,
                Architecture::Gemma3 => 6,
                _ => 0,
            },
            local_rope_theta: match architecture {
                Architecture::Gemma3 => Some(
                    self.number(&key("rope.local_freq_base"))
                        .unwrap_or(10_000.0),
                ),
                _ => None,
            },
            intermediate_size: self.size(&key("feed_forward_length"))?,
            layers,
            heads,
            key_value_heads,
            head_dim,
            vocabulary_width,
            context_length: self.size(&key("context_length"))?,
            norm_epsilon: self
                .number(&key("attention.layer_norm_rms_epsilon"))
                .ok_or_else(|| {
                    self.error(format!(
                        "`{name}.attention.layer_norm_rms_epsilon` is missing"
                    ))
                })?,
            rope_theta: match (self.number(&key("rope.freq_base")), architecture) {
                (Some(theta), _) => theta,
                (None, Architecture::Gemma3) => 1_000_000.0,
                (None, _) => 10_000.0,
            },
            rope_scaling,
            rope_factors,
            tied_embeddings: !self.content.tensor_infos.contains_key("output.weight"),
            attention_bias: architecture == Architecture::Qwen2,
            end_tokens: self.end_tokens(),
        };
        config.check(&self.place)?;
        Ok((config, pairing))
    }

    /// Returns the architecture by its name in the file, if models of it are implemented.
    fn architecture(&self) -> Result<(&'static str, Architecture, Pairing), Error> {
        let name = self
            .text("general.architecture")
            .ok_or_else(|| self.error("`general.architecture` is missing"))?;
        let known = KNOWN.iter().find(|(known, ..)| *known == name);
        let Some(&known) = known else {
            let names: Vec<&str> = KNOWN.iter().map(|(name, ..)| *name).collect();
            return Err(self.error(format!(
                "architecture `{name}` is not known; known are {}",
                names.join(", ")
            )));
        };
        let experts = self.whole(&format!("{name}.expert_count"));
        match experts.unwrap_or(0) {
            0 => Ok(known),
            _ => Err(self.error(format!(
                "`{name}.expert_count` is set; mixtures of experts are not implemented"
            ))),
        }
    }

    /// Returns how rotary frequencies are scaled, whatever the length.
    fn rope_scaling(&self, name: &str) -> Result<RopeScaling, Error> {
        let scaling = match self.text(&format!("{name}.rope.scaling.type")) {
            None | Some("none") => RopeScaling::None,
            Some("linear") => {
                let factor = self.number(&format!("{name}.rope.scaling.factor"));
                RopeScaling::Linear {
                    factor: factor.unwrap_or(1.0),
                }
            }
            Some(other) => {
                return Err(self.error(format!(
                    "`{name}.rope.scaling.type` is `{other}`; implemented are none and linear"
                )));
            }
        };
        let tensors = &self.content.tensor_infos;
        if tensors.contains_key("rope_factors_long.weight") {
            return Err(self.error(
                "rotary frequencies depend on the length (`rope_factors_long.weight`), which is not implemented",
            ));
        }
        Ok(scaling)
    }

    /// Returns the number of rows of the embedding.
    fn vocabulary_width(&self) -> Result<usize, Error> {
        let embedding = self.content.tensor_infos.get("token_embd.weight");
        match embedding.map(|info| info.shape.dims()) {
            Some(&[width, _]) => Ok(width),
            _ => Err(Error::new(
                ErrorKind::Weights,
                format!(
                    "{}: tensor `token_embd.weight` is missing or not a matrix",
                    self.place
                ),
            )),
        }
    }

    /// Returns the divisors of the frequencies, if a tensor has them: files of Llama 3.1 and later.
    fn rope_factors(&mut self) -> Result<Option<Vec<f32>>, Error> {
        /// The tensor of the factors of rotary frequencies, as llama.cpp writes it.
        const NAME: &str = "rope_freqs.weight";
        if !self.content.tensor_infos.contains_key(NAME) {
            return Ok(None);
        }
        let read = self.content.tensor(&mut self.file, NAME, &Device::Cpu);
        let factors = read
            .and_then(|tensor| {
                tensor
                    .dequantize(&Device::Cpu)?
                    .flatten_all()?
                    .to_vec1::<f32>()
            })
            .map_err(|error| {
                let message = format!("{}: tensor `{NAME}`: {}", self.place, first_line(&error));
                Error::with_source(ErrorKind::Weights, message, error)
            })?;
        match factors
            .iter()
            .all(|factor| factor.is_finite() && *factor > 0.0)
        {
            true => Ok(Some(factors)),
            false => Err(self.error(format!(
                "`{NAME}` holds something else than numbers above 0"
            ))),
        }
    }

    /// The tokens that end a text or a turn.
    fn end_tokens(&self) -> Vec<u32> {
        let keys = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"];
        let ids = keys.iter().filter_map(|key| self.whole(key));
        let mut ids: Vec<u32> = ids.filter_map(|id| u32::try_from(id).ok()).collect();
        ids.dedup();
        ids
    }

    /// The chat templates: the main one, further ones by their names behind
    /// it, and the special tokens by their numbers.
    pub(super) fn chat(&self, tokenizer: &Tokenizer) -> ChatTemplates {
        /// The key of the chat template; named ones have their name behind it, as llama.cpp writes
        /// them.
        const KEY: &str = "tokenizer.chat_template";
        let mut names: Vec<&str> = self.content.metadata.keys().map(String::as_str).collect();
        names.sort_unstable();
        let mut templates = ChatTemplates::none();
        if let Some(main) = self.text(KEY) {
            templates.set(None, main);
        }
        for key in names {
            let name = key
                .strip_prefix(KEY)
                .and_then(|rest| rest.strip_prefix('.'));
            if let (Some(name), Some(source)) = (name, self.text(key)) {
                templates.set(Some(name), source);
            }
        }
        let named = [
            ("bos_token", "tokenizer.ggml.bos_token_id"),
            ("eos_token", "tokenizer.ggml.eos_token_id"),
            ("unk_token", "tokenizer.ggml.unknown_token_id"),
            ("pad_token", "tokenizer.ggml.padding_token_id"),
        ];
        let tokens = named.into_iter().filter_map(|(name, key)| {
            let id = u32::try_from(self.whole(key)?).ok()?;
            let token = tokenizer.inner().id_to_token(id)?;
            Some((name.to_owned(), token.into()))
        });
        templates.with_special_tokens(tokens.collect())
    }
}
