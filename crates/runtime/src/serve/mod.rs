//! A server in the ways of OpenAI's: `/v1/chat/completions`, `/v1/responses`, `/v1/completions` and
//! what belongs to them, with a page to play with at `/`.
//!
//! It is for laptops, tests and small services. A request whose constraint cannot be enforced is an
//! error 400 that names the keyword and its place; none is answered without its constraint. Texts
//! are generated side by side, and join and leave between two steps of the model.
//!
//! For example, on an address of one's own, until a signal comes:
//!
//! ```no_run
//! use tokenmold::serve::{ServeConfig, Server};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::new(tokenmold::embedded::load()?, ServeConfig::default())?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! let signal = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
//! server.serve(listener, signal).await?;
//! # Ok(())
//! # }
//! ```

mod answers;
mod ask;
mod batcher;
mod chat;
mod compiled;
mod completions;
mod decisions;
mod error;
mod metrics;
mod paths;
mod play;
mod pool;
mod reply;
mod responses;
mod tool;
mod wire;

use std::future::{Future, IntoFuture};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use constraint::{Automaton, Description};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, ParseOptions, parse_str_with};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::answers::Answers;
use self::ask::Ask;
use self::compiled::Cache;
use self::error::ApiError;
use self::metrics::Metrics;
use self::pool::{Job, Pool};
use self::reply::Reading;
use crate::chat::ChatTemplates;
use crate::model::{LoadedModel, Model};
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorKind};

/// The settings of a server.
///
/// ```
/// use tokenmold::serve::ServeConfig;
///
/// let config = ServeConfig::default().with_lanes(2).with_api_key("secret");
/// assert_eq!((config.lanes, config.max_queue), (2, 64));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeConfig {
    /// The name of the model, by which requests may ask for it.
    pub model_name: String,
    /// The number of texts that are generated side by side. Each takes memory for what it remembers.
    pub lanes: usize,
    /// The most texts that wait for a lane. A request beyond them is refused with 429.
    pub max_queue: usize,
    /// The most bytes of a request's body; 413 beyond.
    pub max_body: usize,
    /// The most tokens of an answer whose request does not say.
    pub max_tokens: usize,
    /// The most bytes of compiled constraints that are kept, about.
    pub max_compiled: usize,
    /// The longest that a request may take, its waiting and its answer: 503 beyond.
    pub timeout: Duration,
    /// The key that requests must have as `Authorization: Bearer KEY`; none for no key.
    pub api_key: Option<String>,
    /// True if pages of other sites may send requests.
    pub cors: bool,
    /// True if a schema is shown to the model, in the system's turn, besides binding its answer.
    pub schema_in_prompt: bool,
    /// The options by which schemas are compiled.
    pub options: Options,
    /// The options by which schemas are read.
    pub reading: ParseOptions,
}

impl Default for ServeConfig {
    /// Four lanes, a queue of 64 texts, bodies of 4 MiB, answers of 1,024 tokens, 256 MiB of
    /// constraints, five minutes, no key, no other sites, schemas shown.
    fn default() -> Self {
        ServeConfig {
            model_name: "tokenmold".to_owned(),
            lanes: 4,
            max_queue: 64,
            max_body: 4 << 20,
            max_tokens: 1_024,
            max_compiled: 256 << 20,
            timeout: Duration::from_secs(300),
            api_key: None,
            cors: false,
            schema_in_prompt: true,
            options: Options::for_generation(),
            reading: ParseOptions::default(),
        }
    }
}

impl ServeConfig {
    /// The same with another name of the model.
    #[must_use]
    pub fn with_model_name(mut self, name: impl Into<String>) -> Self {
        self.model_name = name.into();
        self
    }

    /// The same with so many texts side by side.
    #[must_use]
    pub fn with_lanes(mut self, lanes: usize) -> Self {
        self.lanes = lanes;
        self
    }

    /// The same with so many texts that may wait.
    #[must_use]
    pub fn with_max_queue(mut self, texts: usize) -> Self {
        self.max_queue = texts;
        self
    }

    /// The same with a key that requests must have.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// The same with another limit to the time of a request.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

/// A server.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

/// What the handlers of all paths share.
struct Inner {
    config: ServeConfig,
    tokenizer: Arc<Tokenizer>,
    chat: ChatTemplates,
    /// The names of the tokens that are structure.
    specials: Arc<[String]>,
    context: usize,
    width: usize,
    pool: Arc<Pool>,
    cache: Cache,
    metrics: Arc<Metrics>,
    /// Requests that are being prepared at a time: as many as there are cores, because each keeps one
    /// busy.
    preparing: Semaphore,
    began: u64,
}

/// What handlers are given.
type Shared = State<Arc<Inner>>;

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("config", &self.0.config)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// A server of a model, with its threads running.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidParameter`]: there are no lanes, or the model's name is empty.
    pub fn new(loaded: LoadedModel, config: ServeConfig) -> Result<Server, Error> {
        let LoadedModel {
            model,
            tokenizer,
            chat,
        } = loaded;
        let wrong = |message| Err(Error::new(ErrorKind::InvalidParameter, message));
        if config.lanes == 0 {
            return wrong("a server without lanes answers nothing; give it one at least");
        }
        if config.model_name.is_empty() {
            return wrong("the model's name is empty");
        }
        let tokenizer = Arc::new(tokenizer);
        let (context, width) = (model.context_length(), model.vocabulary_width());
        let specials = (0..width as u32).filter(|token| !tokenizer.is_text(*token));
        let specials = specials.map(|token| tokenizer.describe(token));
        let specials: Arc<[String]> = specials.filter(|name| !name.is_empty()).collect();
        let metrics = Arc::new(Metrics::new());
        let mut models: Vec<_> = (1..config.lanes).map(|_| model.fork()).collect();
        models.push(model);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Server(Arc::new(Inner {
            pool: Pool::start(models, &tokenizer, config.max_queue, &metrics),
            cache: Cache::new(config.max_compiled, &metrics),
            metrics,
            preparing: Semaphore::new(cores),
            tokenizer,
            chat,
            specials,
            context,
            width,
            began: answers::now(),
            config,
        })))
    }

    /// The paths of the server, for a program that has others of its own.
    pub fn router(&self) -> Router {
        paths::router(&self.0)
    }

    /// Answers requests until `signal` comes; then those that there are, and no more.
    ///
    /// # Errors
    ///
    /// The system's.
    pub async fn serve(
        &self,
        listener: TcpListener,
        signal: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        let pool = self.0.pool.clone();
        let closing = async move {
            signal.await;
            pool.refuse_more();
        };
        let served = axum::serve(listener, self.router()).with_graceful_shutdown(closing);
        served.into_future().await
    }
}

impl Inner {
    /// Refuses a model that is not the server's.
    fn check_model(&self, name: Option<&str>) -> Result<(), ApiError> {
        match name {
            None => Ok(()),
            Some(name) if name == self.config.model_name => Ok(()),
            Some(name) => {
                let own = &self.config.model_name;
                let message = format!("there is no model {name:?}; this server has {own:?}");
                Err(ApiError::not_found(message, "model_not_found"))
            }
        }
    }

    /// Compiles a description with the options of the server.
    fn compile(&self, description: &Description) -> Result<Automaton, constraint::Error> {
        match description {
            Description::JsonSchema { schema, .. } => {
                let schema = parse_str_with(schema, &self.config.reading)?;
                Ok(SchemaAutomaton::compile(schema, &self.config.options)?.into())
            }
            other => other.compile(),
        }
    }

    /// Returns the bytes of a token; none for one that is structure.
    fn token_bytes(&self, token: u32) -> Option<Vec<u8>> {
        let vocabulary = self.tokenizer.vocabulary();
        let bytes = vocabulary.token_bytes(fsm_index::TokenId::new(token));
        bytes.map(<[u8]>::to_vec)
    }

    /// Prepares a request where it may take long.
    async fn prepare<T: Send + 'static>(
        self: &Arc<Self>,
        until: Instant,
        prepare: impl FnOnce(&Inner) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let seconds = self.config.timeout.as_secs_f64();
        let turn = tokio::time::timeout_at(until, self.preparing.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(ApiError::late(seconds));
        };
        let server = self.clone();
        let prepared = tokio::task::spawn_blocking(move || prepare(&server)).await;
        prepared.unwrap_or_else(|_| {
            let message =
                "preparing this request failed inside the server; this is a mistake of the server";
            Err(ApiError::server(message))
        })
    }

    /// Queues a request, and waits for the first of its answers.
    async fn answers(self: &Arc<Self>, ask: Ask) -> Result<(Answers, Arc<Reading>), ApiError> {
        self.all_answers(vec![ask]).await
    }

    /// The same for several prompts at once, which have one constraint.
    async fn all_answers(
        self: &Arc<Self>,
        asks: Vec<Ask>,
    ) -> Result<(Answers, Arc<Reading>), ApiError> {
        let until = Instant::now() + self.config.timeout;
        let prepared = self.prepare(until, move |server| {
            let prepared = asks.iter().map(|ask| ask.prepare(server));
            prepared.collect::<Result<Vec<_>, _>>()
        });
        let prepared = prepared.await?;
        let Some(reading) = prepared.first().map(|first| first.reading.clone()) else {
            return Err(ApiError::invalid("prompt", "there is no prompt"));
        };
        let jobs = prepared.into_iter().flat_map(|prepared| prepared.jobs);
        Ok((self.queue(jobs.collect(), until).await?, reading))
    }

    async fn queue(&self, jobs: Vec<Job>, until: Instant) -> Result<Answers, ApiError> {
        let news = self.pool.submit(jobs).map_err(ApiError::refused)?;
        let limit = self.config.timeout.as_secs_f64();
        Answers::begin(news, until, limit).await
    }
}
