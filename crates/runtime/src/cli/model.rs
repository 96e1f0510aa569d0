//! The arguments that name a model and how it is drawn from. For example, `--model DIR
//! --temperature 0.7 --top-p 0.9 --seed 1`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use indicatif::{ProgressBar, ProgressStyle};
use tokenmold::Error;
use tokenmold::gpu::DeviceChoice;
use tokenmold::model::{self, Dtype, LoadOptions, LoadedModel};
use tokenmold::sampling::{Sampler, SamplingConfig};

use super::{Failure, Notes};

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

    /// The device on which the model runs: `cpu`, `cuda` or `cuda:N`. GPUs need a build with the
    /// feature `cuda`.
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

/// The settings by which tokens are chosen; the most probable one by default.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingArgs {
    /// 0: the most probable token. Higher: more variety.
    #[arg(long, value_name = "T", default_value_t = 0.0, allow_negative_numbers = true, value_parser = temperature)]
    temperature: f32,

    /// Draw from the K most probable tokens only.
    #[arg(long, value_name = "K", default_value_t = 0, hide_default_value = true, allow_negative_numbers = true, value_parser = whole::<usize>)]
    top_k: usize,

    /// Draw from the most probable tokens that together have probability P.
    #[arg(long, value_name = "P", default_value_t = 1.0, allow_negative_numbers = true, value_parser = top_p)]
    top_p: f32,

    /// Draw from tokens at least P times as probable as the most probable one.
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_negative_numbers = true, value_parser = min_p)]
    min_p: f32,

    /// Make tokens that were said before less probable; 1 changes nothing.
    #[arg(long, value_name = "R", default_value_t = 1.0, allow_negative_numbers = true, value_parser = penalty)]
    repetition_penalty: f32,

    /// Subtract F from a token's logit for each time that it was said in the answer; from -2 to 2.
    #[arg(long, value_name = "F", default_value_t = 0.0, hide_default_value = true, allow_negative_numbers = true, value_parser = frequency)]
    frequency_penalty: f32,

    /// Subtract P from a token's logit if it was said in the answer; from -2 to 2.
    #[arg(long, value_name = "P", default_value_t = 0.0, hide_default_value = true, allow_negative_numbers = true, value_parser = presence)]
    presence_penalty: f32,

    /// The same seed gives the same text.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole::<u64>)]
    seed: u64,
}

/// A number that the sampler takes in the place where `set` puts it.
fn sampled(text: &str, set: fn(&mut SamplingConfig, f32)) -> Result<f32, String> {
    let number = text.parse().map_err(|_| "expected a number".to_owned())?;
    let mut config = SamplingConfig::greedy();
    set(&mut config, number);
    match Sampler::new(config) {
        Ok(_) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|_| "it must be a whole number, and at least 0".to_owned())
}

fn temperature(text: &str) -> Result<f32, String> {
    sampled(text, |config, number| config.temperature = number)
}

fn top_p(text: &str) -> Result<f32, String> {
    sampled(text, |config, number| config.top_p = number)
}

fn min_p(text: &str) -> Result<f32, String> {
    sampled(text, |config, number| config.min_p = number)
}

fn penalty(text: &str) -> Result<f32, String> {
    sampled(text, |config, number| config.repetition_penalty = number)
}

fn frequency(text: &str) -> Result<f32, String> {
    sampled(text, |config, number| config.frequency_penalty = number)
}

fn presence(text: &str) -> Result<f32, String> {
    sampled(text, |config, number| config.presence_penalty = number)
}

impl SamplingArgs {
    pub(crate) fn config(&self) -> SamplingConfig {
        SamplingConfig::with_temperature(self.temperature, self.seed)
            .with_top_k(self.top_k)
            .with_top_p(self.top_p)
            .with_min_p(self.min_p)
            .with_repetition_penalty(self.repetition_penalty, 0)
            .with_penalties(self.frequency_penalty, self.presence_penalty)
    }
}

impl ModelArgs {
    fn options(&self) -> LoadOptions {
        LoadOptions::default()
            .with_dtype(self.dtype)
            .with_device(self.device)
    }

    /// The model by its name, for people.
    pub(crate) fn name(&self) -> String {
        match (&self.hub, &self.model) {
            (Some(name), _) => name.clone(),
            (None, Some(path)) => path.display().to_string(),
            (None, None) => "the embedded model".to_owned(),
        }
    }

    /// The model by its name, for programs.
    pub(crate) fn short_name(&self) -> String {
        match (&self.hub, &self.model) {
            (Some(name), _) => name.clone(),
            (None, Some(path)) => {
                let last = path.file_stem().filter(|_| path.is_file());
                let last = last.or_else(|| path.file_name());
                last.map_or("model".to_owned(), |last| {
                    last.to_string_lossy().into_owned()
                })
            }
            (None, None) => "tokenmold".to_owned(),
        }
    }

    pub(crate) fn load(&self, notes: Notes) -> Result<LoadedModel, Failure> {
        if let Some(name) = &self.hub {
            return load_from_hub(name, self.options(), notes);
        }
        match &self.model {
            Some(path) => {
                load(path, self.options(), notes).map_err(|e| Failure::of(path.display(), e))
            }
            None => tokenmold::embedded::load_on(self.device)
                .map_err(|e| Failure::of("the embedded model", e)),
        }
    }
}

/// A bar on standard error, if that is a terminal and somebody wants one.
pub(crate) fn bar(what: String, template: &str, notes: Notes) -> ProgressBar {
    if notes == Notes::Omit {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::no_length().with_message(what);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Loads a model with a bar.
fn load(path: &Path, options: LoadOptions, notes: Notes) -> Result<LoadedModel, Error> {
    let what = format!("loading {}", path.display());
    let bar = bar(what, "{msg} {wide_bar} {percent}% {elapsed}", notes);
    let loaded = model::load_watched(path, options, &mut |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    });
    bar.finish_and_clear();
    loaded
}

#[cfg(feature = "hub")]
fn load_from_hub(name: &str, options: LoadOptions, notes: Notes) -> Result<LoadedModel, Failure> {
    use tokenmold::hub::{HubOptions, Progress, download_with};
    let from = HubOptions::default().with_progress(match notes {
        Notes::Show => Progress::Bar,
        Notes::Omit => Progress::Silent,
    });
    let folder = download_with(name, &from).map_err(|e| Failure::of(name, e))?;
    load(&folder, options, notes).map_err(|e| Failure::of(name, e))
}

#[cfg(not(feature = "hub"))]
fn load_from_hub(name: &str, _: LoadOptions, _: Notes) -> Result<LoadedModel, Failure> {
    Err(Failure::new(format!(
        "{name}: this build cannot download models; build it with `--features hub`, \
         or give a downloaded model by `--model`"
    )))
}
