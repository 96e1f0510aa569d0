//! Downloading models by name into the cache that the Hugging Face libraries share (`HF_HOME`, else
//! `~/.cache/huggingface`). Files that are there already are used without a network. For example,
//! `HuggingFaceTB/SmolLM2-135M-Instruct` is downloaded once, and found in the cache the next time.

use std::path::{Path, PathBuf};

use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};
use serde_json::Value;

use crate::{Error, ErrorKind, model};

/// The source and the options of a download.
///
/// ```
/// use tokenmold::hub::{HubOptions, Progress};
///
/// let options = HubOptions::default().with_revision("main").with_progress(Progress::Silent);
/// assert_eq!(options.revision.as_deref(), Some("main"));
/// ```
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct HubOptions {
    /// A branch, tag or commit; `main` if none is given.
    pub revision: Option<String>,
    /// The server, as an address; if none is given that of the environment
    /// variable `HF_ENDPOINT`, or the public one.
    pub endpoint: Option<String>,
    /// The folder of the cache, if not the usual one.
    pub cache: Option<PathBuf>,
    /// True if downloads draw a bar on standard error.
    pub progress: Progress,
}

impl HubOptions {
    /// The same, of this branch, tag or commit.
    #[must_use]
    pub fn with_revision(mut self, revision: impl Into<String>) -> Self {
        self.revision = Some(revision.into());
        self
    }

    /// The same, from the server at this address.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// The same, with the cache in this folder.
    #[must_use]
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// The same, with a bar or without.
    #[must_use]
    pub fn with_progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }
}

/// True if downloads draw a bar on standard error.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// They do.
    #[default]
    Bar,
    /// They do not.
    Silent,
}

/// The files without which there is no model. They come first, so that a name without a model fails
/// before gigabytes are read.
const NEEDED: [&str; 2] = ["config.json", "tokenizer.json"];
/// Files that a model may have. A missing one is no error, because the loader has a default for
/// each.
const OPTIONAL: [&str; 3] = [
    "generation_config.json",
    "tokenizer_config.json",
    "chat_template.jinja",
];
/// The weights as one file, as the Hugging Face libraries name it.
const WEIGHTS: &str = "model.safetensors";
/// The list of the files of weights, as the Hugging Face libraries name it.
const INDEX: &str = "model.safetensors.index.json";

/// Downloads what is missing of a model and returns its folder or file, for
/// [`model::load`].
///
/// `name` is `owner/model`, for a folder of safetensors, or
/// `owner/model/file.gguf`.
///
/// # Errors
///
/// [`ErrorKind::Download`]: the name is not of that form, no such model is
/// there or may be seen, it lacks a file, or the network is not there and the
/// model not in the cache.
///
/// ```
/// use tokenmold::{ErrorKind, hub};
///
/// let error = hub::download("no-owner").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Download);
/// ```
pub fn download(name: &str) -> Result<PathBuf, Error> {
    download_with(name, &HubOptions::default())
}

/// [`download`], with options.
///
/// # Errors
///
/// As [`download`].
pub fn download_with(name: &str, options: &HubOptions) -> Result<PathBuf, Error> {
    let (model, file) = split(name)?;
    let repo = match &options.revision {
        Some(revision) => Repo::with_revision(model.clone(), RepoType::Model, revision.clone()),
        None => Repo::model(model.clone()),
    };
    let cache = match &options.cache {
        Some(folder) => Cache::new(folder.clone()),
        None => Cache::from_env(),
    };
    let cached = cache.repo(repo.clone());
    if let Some(path) = complete(&|file| cached.get(file), file.as_deref()) {
        return Ok(path);
    }
    let mut builder = ApiBuilder::from_env()
        .with_token(cache.token())
        .with_progress(options.progress == Progress::Bar);
    if let Some(folder) = &options.cache {
        builder = builder.with_cache_dir(folder.clone());
    }
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint.clone());
    }
    let failed = |what: &str, error: ApiError| failed(&model, what, error);
    let api = builder
        .build()
        .map_err(|error| failed("the client", error))?;
    let api = api.repo(repo);
    match file {
        Some(file) => api.get(&file).map_err(|error| failed(&file, error)),
        None => folder(&api, &model),
    }
}

/// A model's name, and a file's if it is one of GGUF.
fn split(name: &str) -> Result<(String, Option<String>), Error> {
    let parts: Vec<&str> = name.split('/').collect();
    let plain = parts.iter().all(|part| !part.is_empty() && *part != "..");
    match parts[..] {
        [owner, model] if plain => Ok((format!("{owner}/{model}"), None)),
        [owner, model, file] if plain && file.ends_with(".gguf") => {
            Ok((format!("{owner}/{model}"), Some(file.to_owned())))
        }
        _ => Err(Error::new(
            ErrorKind::Download,
            format!(
                "`{name}` is not a model's name; it must be `owner/model` or `owner/model/file.gguf`"
            ),
        )),
    }
}

/// The model's folder, or the file asked for, if nothing is missing of it.
fn complete(get: &dyn Fn(&str) -> Option<PathBuf>, file: Option<&str>) -> Option<PathBuf> {
    if let Some(file) = file {
        return get(file);
    }
    let needed: Option<Vec<PathBuf>> = NEEDED.iter().map(|file| get(file)).collect();
    let folder = needed?.first()?.parent()?.to_owned();
    if get(WEIGHTS).is_some() {
        return Some(folder);
    }
    let shards = shards(&get(INDEX)?).ok()?;
    shards
        .iter()
        .all(|shard| get(shard).is_some())
        .then_some(folder)
}

/// Downloads each file of a model that the server lists.
fn folder(api: &ApiRepo, model: &str) -> Result<PathBuf, Error> {
    let failed = |what: &str, error: ApiError| failed(model, what, error);
    let info = api
        .info()
        .map_err(|error| failed("the list of its files", error))?;
    let has = |file: &str| {
        info.siblings
            .iter()
            .any(|sibling| sibling.rfilename == file)
    };
    let get = |file: &str| api.get(file).map_err(|error| failed(file, error));
    let mut folder = None;
    for file in NEEDED {
        if !has(file) {
            return Err(Error::new(
                ErrorKind::Download,
                format!("model `{model}` has no {file}"),
            ));
        }
        folder = get(file)?.parent().map(Path::to_owned);
    }
    for file in OPTIONAL.into_iter().filter(|file| has(file)) {
        get(file)?;
    }
    if has(WEIGHTS) {
        get(WEIGHTS)?;
    } else if has(INDEX) {
        for shard in shards(&get(INDEX)?)? {
            get(&shard)?;
        }
    } else {
        return Err(Error::new(
            ErrorKind::Download,
            format!("model `{model}` has neither {WEIGHTS} nor {INDEX}"),
        ));
    }
    folder.ok_or_else(|| {
        Error::new(
            ErrorKind::Download,
            format!("model `{model}` has no folder"),
        )
    })
}

/// The files that an index names, each once.
fn shards(index: &Path) -> Result<Vec<String>, Error> {
    let json: Value = serde_json::from_slice(&model::read(index)?).map_err(|error| {
        Error::with_source(
            ErrorKind::Weights,
            format!("{}: {error}", index.display()),
            error,
        )
    })?;
    let map = json.get("weight_map").and_then(Value::as_object);
    let files = map
        .into_iter()
        .flat_map(|map| map.values())
        .filter_map(Value::as_str);
    let mut files: Vec<String> = files.map(str::to_owned).collect();
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

#[cold]
fn failed(model: &str, what: &str, error: ApiError) -> Error {
    use ureq::Error as Request;
    let cause = match &error {
        ApiError::RequestError(error) => match error.as_ref() {
            Request::StatusCode(401 | 403) => {
                "the server does not let you see it; it may not exist, or want a token (HF_TOKEN or `HF_HOME/token`)".to_owned()
            }
            Request::StatusCode(404) => "the server does not have it".to_owned(),
            Request::StatusCode(status) => format!("the server answered with status {status}"),
            Request::Io(_) | Request::HostNotFound | Request::ConnectionFailed | Request::Timeout(_) => {
                format!(
                    "the server cannot be reached ({error}); without a network, give the folder of a model that is on this machine"
                )
            }
            other => other.to_string(),
        },
        other => other.to_string(),
    };
    let message = format!("model `{model}`: {what} could not be downloaded: {cause}");
    Error::with_source(ErrorKind::Download, message, error)
}
