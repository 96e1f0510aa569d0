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
mod body;
mod chat;
mod compiled;
mod completions;
mod config;
mod decisions;
mod error;
mod explain;
mod items;
mod metrics;
mod paths;
mod play;
mod pool;
mod reply;
mod responses;
mod server;
mod shapes;
mod tool;
mod wire;

use std::future::{Future, IntoFuture};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use self::compiled::Cache;
pub use self::config::ServeConfig;
use self::metrics::Metrics;
use self::pool::Pool;
use self::server::ServerState;
use crate::model::{LoadedModel, Model};
use crate::{Error, ErrorKind};

/// A server.
#[derive(Clone)]
pub struct Server(Arc<ServerState>);

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
        Ok(Server(Arc::new(ServerState {
            pool: Pool::start(models, &tokenizer, config.max_queue, &metrics),
            cache: Cache::new(config.max_compiled, &metrics),
            metrics,
            preparing: Semaphore::new(cores),
            unprepared: AtomicUsize::new(0),
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
