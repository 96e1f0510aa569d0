//! The parts of a server that its handlers share. For example, all of them prepare requests by
//! [`ServerState::prepare`], so that no more are prepared at a time than there are cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use constraint::{Automaton, Constraint, Description};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::parse_str_with;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::compiled::Cache;
use super::config::ServeConfig;
use super::error::ApiError;
use super::metrics::Metrics;
use super::pool::{Pool, Refused};
use crate::chat::ChatTemplates;
use crate::tokenizer::Tokenizer;

/// The parts that the handlers of all paths share.
pub(super) struct ServerState {
    pub(super) config: ServeConfig,
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) chat: ChatTemplates,
    /// The names of the tokens that are structure.
    pub(super) specials: Arc<[String]>,
    pub(super) context: usize,
    pub(super) width: usize,
    pub(super) pool: Arc<Pool>,
    pub(super) cache: Cache,
    pub(super) metrics: Arc<Metrics>,
    /// Requests that are being prepared at a time: as many as there are cores, because each keeps one
    /// busy.
    pub(super) preparing: Semaphore,
    /// Requests that are being prepared or wait for that.
    pub(super) unprepared: AtomicUsize,
    pub(super) began: u64,
}

/// The argument by which handlers get at it.
pub(super) type Shared = State<Arc<ServerState>>;

/// A request that is counted until the value is dropped.
struct Counted<'c>(&'c AtomicUsize);

impl<'c> Counted<'c> {
    /// Counts a request, if no more than `most` are counted before it.
    fn one_more(counter: &'c AtomicUsize, most: usize) -> Result<Counted<'c>, ApiError> {
        let before = counter.fetch_add(1, Ordering::Relaxed);
        let counted = Counted(counter);
        match before <= most {
            true => Ok(counted),
            false => Err(ApiError::refused(Refused::Full)),
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ServerState {
    /// Refuses a model that is not the server's.
    pub(super) fn check_model(&self, name: Option<&str>) -> Result<(), ApiError> {
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

    /// Returns the constraint of a whole text, as it is kept or compiled.
    pub(super) fn constraint(
        &self,
        description: &Description,
    ) -> Result<Constraint, Arc<constraint::Error>> {
        let key = json!({ "whole": description }).to_string();
        let vocabulary = self.tokenizer.vocabulary();
        self.cache
            .get(&key, vocabulary, || self.compile(description))
    }

    /// Compiles a description with the options of the server.
    pub(super) fn compile(
        &self,
        description: &Description,
    ) -> Result<Automaton, constraint::Error> {
        match description {
            Description::JsonSchema { schema, .. } => {
                let schema = parse_str_with(schema, &self.config.reading)?;
                Ok(SchemaAutomaton::compile(schema, &self.config.options)?.into())
            }
            other => {
                let mut bounded = other.clone();
                for (name, most) in &self.config.limits {
                    bounded.leave_limit(name, *most);
                }
                bounded.compile()
            }
        }
    }

    /// Returns the bytes of a token; none for one that is structure.
    pub(super) fn token_bytes(&self, token: u32) -> Option<Vec<u8>> {
        let vocabulary = self.tokenizer.vocabulary();
        let bytes = vocabulary.token_bytes(fsm_index::TokenId::new(token));
        bytes.map(<[u8]>::to_vec)
    }

    /// Prepares a request where it may take long.
    pub(super) async fn prepare<T: Send + 'static>(
        self: &Arc<Self>,
        until: Instant,
        prepare: impl FnOnce(&ServerState) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let seconds = self.config.timeout.as_secs_f64();
        let _counted = Counted::one_more(&self.unprepared, self.config.max_queue)?;
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
}
