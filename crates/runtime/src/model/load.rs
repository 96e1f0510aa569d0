//! Loading a model with its tokenizer from a folder or a file. For example, a folder with
//! `config.json`, `tokenizer.json` and `model.safetensors`, or one `.gguf` file.

use std::path::Path;

use candle_core::Device;
use serde_json::Value;

use super::config::{ModelConfig, end_tokens};
use super::gguf::Header;
use super::on_device::OnDevice;
use super::weights::{Gguf, Safetensors};
use super::{Dtype, Model, Transformer, WeightFormat, read};
use crate::chat::ChatTemplates;
use crate::gpu::DeviceChoice;
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorKind};

/// A model with what belongs to it.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoadedModel {
    /// The weights and what they have seen.
    pub model: Transformer,
    /// The tokenizer; its vocabulary knows the model's end tokens and is as
    /// wide as its logits.
    pub tokenizer: Tokenizer,
    /// The templates by which the model's chats are written, and the special
    /// tokens that they name; none if the files give none.
    pub chat: ChatTemplates,
}

/// The options of loading a model.
///
/// ```
/// use tokenmold::model::{self, Dtype, LoadOptions};
///
/// let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/model");
/// let options = LoadOptions::default().with_dtype(Dtype::F32);
/// assert!(!model::load_with(folder, options)?.chat.is_empty());
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LoadOptions {
    /// Which matrices are quantised in memory.
    pub weights: WeightFormat,
    /// In which floats the others are kept.
    pub dtype: Dtype,
    /// The device on which the model runs. On a GPU matrices of floats are in 32 bits.
    pub device: DeviceChoice,
}

impl LoadOptions {
    /// The same, with matrices kept in this format.
    pub fn with_weights(mut self, weights: WeightFormat) -> Self {
        self.weights = weights;
        self
    }

    /// The same, with matrices that are not quantised kept in these floats.
    pub fn with_dtype(mut self, dtype: Dtype) -> Self {
        self.dtype = dtype;
        self
    }

    /// The same, on this device.
    pub fn with_device(mut self, device: DeviceChoice) -> Self {
        self.device = device;
        self
    }

    /// In which floats matrices are kept.
    pub(super) fn dtype(self) -> Dtype {
        match self.weights {
            WeightFormat::Float32 => Dtype::F32,
            _ => self.dtype,
        }
    }
}

/// The progress of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct LoadProgress {
    /// Pieces that are done: files read, and layers built.
    pub done: usize,
    /// All of them.
    pub total: usize,
}

/// Who is told how far loading has come.
pub(super) type Watch<'w> = &'w mut dyn FnMut(LoadProgress);

/// Loads a model from a folder laid out as Hugging Face does (`config.json`,
/// `tokenizer.json`, `tokenizer_config.json`, `generation_config.json`, and
/// `model.safetensors` or the shards of `model.safetensors.index.json`), or
/// from a GGUF file. A `tokenizer.json` beside that goes before the tokenizer inside, if
/// the two have the same tokens: nine in ten at least of those that the file lists.
///
/// # Errors
///
/// A file is missing or malformed, the architecture is not known, a tensor is
/// missing or has another shape, or tokenizer and weights disagree on the
/// vocabulary, as the `tokenizer.json` of another model does. Messages name the file, and the key or tensor in it.
///
/// ```
/// use tokenmold::{ErrorKind, model};
///
/// let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/model");
/// let loaded = model::load(folder)?;
/// assert!(!loaded.chat.is_empty());
/// let error = model::load("no-such-folder").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Io);
/// # Ok::<(), tokenmold::Error>(())
/// ```
pub fn load(path: impl AsRef<Path>) -> Result<LoadedModel, Error> {
    load_with(path, LoadOptions::default())
}

/// [`load`], with options.
///
/// # Errors
///
/// As [`load`].
pub fn load_with(path: impl AsRef<Path>, options: LoadOptions) -> Result<LoadedModel, Error> {
    load_watched(path, options, &mut |_| {})
}

/// [`load_with`], telling `watch` after each file and each layer how far it has
/// come: for progress bars.
///
/// # Errors
///
/// As [`load`].
///
/// ```
/// use tokenmold::model::{self, LoadOptions};
///
/// let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/model");
/// let mut last = 0.0;
/// model::load_watched(folder, LoadOptions::default(), &mut |progress| {
///     last = progress.done as f64 / progress.total as f64;
/// })?;
/// assert_eq!(last, 1.0);
/// # Ok::<(), tokenmold::Error>(())
/// ```
pub fn load_watched(
    path: impl AsRef<Path>,
    options: LoadOptions,
    watch: &mut dyn FnMut(LoadProgress),
) -> Result<LoadedModel, Error> {
    let path = path.as_ref();
    // Before anything is read: it may not be there.
    let device = options.device.open()?;
    if path.is_dir() {
        load_folder(path, options, device, watch)
    } else {
        load_gguf(path, options, device, watch)
    }
}

/// Loads the parts of a model's files that are about text, without its weights: the tokenizer, and
/// the chat templates. Takes the time to read a tokenizer.
///
/// # Errors
///
/// A file is missing or malformed, as [`load`] says it.
///
/// ```
/// use tokenmold::model;
///
/// let (tokenizer, chat) = model::load_text(concat!(env!("CARGO_MANIFEST_DIR"), "/model"))?;
/// assert!(tokenizer.vocabulary().width() > 0 && !chat.is_empty());
/// # Ok::<(), tokenmold::Error>(())
/// ```
pub fn load_text(path: impl AsRef<Path>) -> Result<(Tokenizer, ChatTemplates), Error> {
    let path = path.as_ref();
    if path.is_dir() {
        let tokenizer = Tokenizer::from_directory(path)?;
        return Ok((tokenizer, ChatTemplates::from_directory(path)?));
    }
    let mut header = Header::open(path)?;
    let tokenizer = gguf_tokenizer(path, &mut header)?;
    let chat = header.chat(&tokenizer);
    Ok((tokenizer, chat))
}

/// The tokenizer of a GGUF file; that of a `tokenizer.json` beside it goes before.
fn gguf_tokenizer(path: &Path, header: &mut Header) -> Result<Tokenizer, Error> {
    let beside = path.with_file_name("tokenizer.json");
    if !beside.is_file() {
        return Tokenizer::from_json(&header.tokenizer_json()?);
    }
    let tokenizer = Tokenizer::from_json(&read(&beside)?)?;
    header.check_tokenizer(&tokenizer, &beside)?;
    Ok(tokenizer)
}

fn load_folder(
    folder: &Path,
    options: LoadOptions,
    device: Device,
    watch: Watch<'_>,
) -> Result<LoadedModel, Error> {
    let config_path = folder.join("config.json");
    let config_json = read(&config_path)?;
    let config = ModelConfig::from_json(&config_json, &config_path.display().to_string())?;
    let tokenizer = Tokenizer::from_directory(folder)?;
    let generation = optional_json(&folder.join("generation_config.json"))?;
    let tokenizer_config = optional_json(&folder.join("tokenizer_config.json"))?;
    let chat = ChatTemplates::from_directory(folder)?;
    let layers = config.layers;
    let mut read = 0;
    let mut source = Safetensors::open(folder, options, &mut |done, files| {
        read = files;
        let total = files + layers;
        watch(LoadProgress { done, total });
    })?;
    let parts = Parts {
        config,
        tokenizer,
        generation,
        tokenizer_config,
        chat,
        device,
    };
    parts.finish(&mut source, read, watch)
}

/// A model from the contents of its files.
#[cfg(feature = "embedded")]
pub(crate) fn from_bytes(
    config: &[u8],
    tokenizer: &[u8],
    generation: &[u8],
    tokenizer_config: &[u8],
    weights: &[u8],
    device: DeviceChoice,
) -> Result<LoadedModel, Error> {
    let json = |bytes: &[u8]| {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::with_source(ErrorKind::Config, error.to_string(), error))
    };
    let tokenizer_config = json(tokenizer_config)?;
    let parts = Parts {
        config: ModelConfig::from_json(config, "config.json")?,
        tokenizer: Tokenizer::from_json(tokenizer)?,
        generation: json(generation)?,
        chat: ChatTemplates::from_config(&tokenizer_config)?,
        tokenizer_config,
        device: device.open()?,
    };
    // So small that widening its matrices would cost more than it spares.
    let options = LoadOptions::default().with_dtype(Dtype::F32);
    let mut source = Safetensors::from_bytes(weights, "model.safetensors", options)?;
    parts.finish(&mut source, 0, &mut |_| {})
}

fn load_gguf(
    path: &Path,
    options: LoadOptions,
    device: Device,
    watch: Watch<'_>,
) -> Result<LoadedModel, Error> {
    let mut header = Header::open(path)?;
    let (config, pairing) = header.config()?;
    let tokenizer = gguf_tokenizer(path, &mut header)?;
    let chat = header.chat(&tokenizer);
    let mut source = Gguf {
        content: &header.content,
        file: header.file,
        place: header.place,
        options,
        pairing,
        four_norms: config.architecture.has_four_norms(),
        embedding: None,
    };
    let parts = Parts {
        config,
        tokenizer,
        generation: Value::Null,
        tokenizer_config: Value::Null,
        chat,
        device,
    };
    parts.finish(&mut source, 0, watch)
}

/// Everything but the weights.
struct Parts {
    config: ModelConfig,
    tokenizer: Tokenizer,
    generation: Value,
    tokenizer_config: Value,
    chat: ChatTemplates,
    device: Device,
}

impl Parts {
    /// Builds the model; `read` pieces are done before.
    fn finish(
        self,
        source: &mut dyn super::weights::Source,
        read: usize,
        watch: Watch<'_>,
    ) -> Result<LoadedModel, Error> {
        let width = self.config.vocabulary_width;
        // generation_config.json goes before config.json, as it does in the
        // library that these files are made for; the token that ends a chat's
        // turn is in tokenizer_config.json.
        let mut ends = end_tokens(&self.generation);
        if ends.is_empty() {
            ends.clone_from(&self.config.end_tokens);
        }
        let name = match self.tokenizer_config.get("eos_token") {
            Some(Value::String(name)) => Some(name.as_str()),
            Some(token) => token.get("content").and_then(Value::as_str),
            None => None,
        };
        ends.extend(name.and_then(|name| self.tokenizer.token_to_id(name)));
        let tokenizer = self.tokenizer.for_model(width, &ends)?;
        let total = read + self.config.layers;
        let built = &mut |layers| {
            let done = read + layers;
            watch(LoadProgress { done, total });
        };
        let model = match &self.device {
            Device::Cpu => Transformer::new(self.config, source, built)?,
            device => Transformer::new(self.config, &mut OnDevice { source, device }, built)?,
        };
        debug_assert_eq!(model.vocabulary_width(), width);
        Ok(LoadedModel {
            model,
            tokenizer,
            chat: self.chat,
        })
    }
}

/// A JSON file that need not be there; `null` then.
fn optional_json(path: &Path) -> Result<Value, Error> {
    if !path.is_file() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&read(path)?).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Error::with_source(ErrorKind::Config, message, error)
    })
}
