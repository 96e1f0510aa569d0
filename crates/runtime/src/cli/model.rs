//! The arguments that name a model and how it is drawn from, and the writing
//! of chats for it.

use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokenmold::chat::{Chat, ChatTemplates, Ending};
use tokenmold::gpu::DeviceChoice;
use tokenmold::model::{self, Dtype, LoadOptions, LoadedModel};
use tokenmold::sampling::SamplingConfig;
use tokenmold::{Error, ErrorKind};

use super::Failure;

/// Which model; the embedded one by default.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// A model directory as Hugging Face lays it out, or a GGUF file.
    #[arg(long, value_name = "PATH", conflicts_with = "hub")]
    model: Option<PathBuf>,

    /// A model by its name on the Hugging Face Hub. Needs a build with the
    /// feature `hub` and, the first time, a network.
    #[arg(long, value_name = "NAME")]
    hub: Option<String>,

    /// Where the model runs: `cpu`, `cuda` or `cuda:N`. GPUs need a build with
    /// the feature `cuda`.
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceChoice::Cpu)]
    device: DeviceChoice,

    /// In which floats matrices are kept that are not quantised: `stored`, `f32`,
    /// `f16` or `bf16`.
    #[arg(long, value_name = "TYPE", default_value = "stored", value_parser = dtype)]
    dtype: Dtype,
}

fn dtype(name: &str) -> Result<Dtype, String> {
    Dtype::by_name(name).ok_or_else(|| format!("expected one of {}", Dtype::NAMES.join(", ")))
}

/// How tokens are chosen; the most probable one by default.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingArgs {
    /// 0: the most probable token. Higher: more variety.
    #[arg(long, value_name = "T", default_value_t = 0.0)]
    temperature: f32,

    /// Draw from the K most probable tokens only.
    #[arg(long, value_name = "K", default_value_t = 0, hide_default_value = true)]
    top_k: usize,

    /// Draw from the most probable tokens that together have probability P.
    #[arg(long, value_name = "P", default_value_t = 1.0)]
    top_p: f32,

    /// Draw from tokens at least P times as probable as the most probable one.
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    min_p: f32,

    /// Make tokens that were said before less probable; 1 changes nothing.
    #[arg(long, value_name = "R", default_value_t = 1.0)]
    repetition_penalty: f32,

    /// The same seed gives the same text.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl SamplingArgs {
    pub(crate) fn config(&self) -> SamplingConfig {
        let mut config = SamplingConfig::with_temperature(self.temperature, self.seed);
        config.top_k = self.top_k;
        config.top_p = self.top_p;
        config.min_p = self.min_p;
        config.repetition_penalty = self.repetition_penalty;
        config
    }
}

impl ModelArgs {
    fn options(&self) -> LoadOptions {
        LoadOptions::default()
            .with_dtype(self.dtype)
            .with_device(self.device)
    }

    pub(crate) fn load(&self) -> Result<LoadedModel, Failure> {
        if let Some(name) = &self.hub {
            return load_from_hub(name, self.options());
        }
        match &self.model {
            Some(path) => load(path, self.options()).map_err(|e| Failure::of(path.display(), e)),
            None => tokenmold::embedded::load_on(self.device)
                .map_err(|e| Failure::of("the embedded model", e)),
        }
    }
}

/// Loads a model with a bar on standard error, if that is a terminal.
fn load(path: &Path, options: LoadOptions) -> Result<LoadedModel, Error> {
    let bar = ProgressBar::no_length().with_message(format!("loading {}", path.display()));
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {elapsed}") {
        bar.set_style(style);
    }
    let loaded = model::load_watched(path, options, &mut |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    });
    bar.finish_and_clear();
    loaded
}

#[cfg(feature = "hub")]
fn load_from_hub(name: &str, options: LoadOptions) -> Result<LoadedModel, Failure> {
    let folder = tokenmold::hub::download(name).map_err(|e| Failure::of(name, e))?;
    load(&folder, options).map_err(|e| Failure::of(name, e))
}

#[cfg(not(feature = "hub"))]
fn load_from_hub(name: &str, _: LoadOptions) -> Result<LoadedModel, Failure> {
    Err(Failure::new(format!(
        "{name}: this build cannot download models; build it with `--features hub`, \
         or give a downloaded model by `--model`"
    )))
}

/// A chat in the model's own way of writing it, up to the opening of the
/// model's answer.
pub(crate) fn write_chat(
    templates: &ChatTemplates,
    tools: &[Value],
    system: Option<&str>,
    turns: &[Value],
) -> Result<String, Error> {
    let write = |messages: &[Value]| {
        let mut chat = Chat::new(messages).with_ending(Ending::GenerationPrompt);
        if !tools.is_empty() {
            // An empty list counts as tools where there are several templates.
            chat = chat.with_tools(tools);
        }
        Ok(templates.apply(&chat)?.text)
    };
    let Some(system) = system else {
        return write(turns);
    };
    let first = json!({"role": "system", "content": system});
    let messages: Vec<Value> = std::iter::once(first)
        .chain(turns.iter().cloned())
        .collect();
    let written = write(&messages);
    match (&written, turns.split_first()) {
        // Some models know no system's turn; what it says goes before the
        // first request then.
        (Err(error), Some((first, rest))) if error.kind() == ErrorKind::TemplateRaised => {
            let said = first["content"].as_str().unwrap_or_default();
            let mut first = first.clone();
            first["content"] = format!("{system}\n\n{said}").into();
            let messages: Vec<Value> = std::iter::once(first).chain(rest.iter().cloned()).collect();
            write(&messages)
        }
        _ => written,
    }
}
