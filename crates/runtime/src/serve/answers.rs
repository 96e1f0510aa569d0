//! The answers of a request that are on their way. For example, the updates of three texts arrive
//! one by one, and the numbers of their tokens are counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rand::RngExt as _;
use rand::distr::Alphanumeric;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use super::ask::Ask;
use super::error::ApiError;
use super::pool::{Job, Update};
use super::reply::AnswerForm;
use super::server::ServerState;

/// Queues a request, and waits for the first of its answers.
pub(super) async fn answer(
    server: &Arc<ServerState>,
    ask: Ask,
) -> Result<(Answers, Arc<AnswerForm>), ApiError> {
    answer_all(server, vec![ask]).await
}

/// The same for several prompts at once, which have one constraint.
pub(super) async fn answer_all(
    server: &Arc<ServerState>,
    asks: Vec<Ask>,
) -> Result<(Answers, Arc<AnswerForm>), ApiError> {
    let until = Instant::now() + server.config.timeout;
    let prepared = server.prepare(until, move |server| {
        let prepared = asks.iter().map(|ask| ask.prepare(server));
        prepared.collect::<Result<Vec<_>, _>>()
    });
    let prepared = prepared.await?;
    let Some(reading) = prepared.first().map(|first| first.reading.clone()) else {
        return Err(ApiError::invalid("prompt", "there is no prompt"));
    };
    let texts = prepared.first().map_or(1, |first| first.jobs.len());
    let jobs = prepared.into_iter().flat_map(|prepared| prepared.jobs);
    let mut answers = queue(server, jobs.collect(), until).await?;
    answers.texts = texts.max(1);
    Ok((answers, reading))
}

/// Queues jobs that are prepared.
pub(super) async fn queue(
    server: &ServerState,
    jobs: Vec<Job>,
    until: Instant,
) -> Result<Answers, ApiError> {
    let news = server.pool.submit(jobs).map_err(ApiError::refused)?;
    let limit = server.config.timeout.as_secs_f64();
    Answers::begin(news, until, limit).await
}

/// The updates of a request's texts.
pub(super) struct Answers {
    news: UnboundedReceiver<(usize, Update)>,
    /// The first of them, which was looked at.
    first: Option<(usize, Update)>,
    until: Instant,
    /// The server's limit, in seconds.
    limit: f64,
    /// The number of texts behind each prompt.
    texts: usize,
    /// The prompts of those texts that are done.
    prompts: HashMap<usize, PromptTokens>,
    /// The number of the tokens of all texts that are done.
    generated: usize,
}

/// The number of a prompt's tokens.
#[derive(Clone, Copy, Debug)]
struct PromptTokens {
    all: usize,
    /// The number of them that no lane had to read, for whichever of the texts behind the prompt.
    cached: usize,
}

/// The numbers of a request's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    /// Tokens of the prompts, each of which counts once, whatever the number of texts behind it.
    pub(super) prompt: usize,
    /// Tokens of the prompts that no lane had to read.
    pub(super) cached: usize,
    pub(super) answers: usize,
}

impl Usage {
    pub(super) fn json(self) -> Value {
        let Usage {
            prompt,
            cached,
            answers,
        } = self;
        json!({
            "prompt_tokens": prompt,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens": answers,
            "total_tokens": prompt + answers,
        })
    }
}

impl Answers {
    /// Waits for the first of the updates.
    ///
    /// # Errors
    ///
    /// A text failed before it had a token: the request can still be refused.
    async fn begin(
        news: UnboundedReceiver<(usize, Update)>,
        until: Instant,
        limit: f64,
    ) -> Result<Answers, ApiError> {
        let mut answers = Answers {
            news,
            first: None,
            until,
            limit,
            texts: 1,
            prompts: HashMap::new(),
            generated: 0,
        };
        let first = answers.receive().await?;
        if let Some((_, Update::Done(Err(error)))) = &first {
            return Err(ApiError::of_generation(error));
        }
        answers.first = first;
        Ok(answers)
    }

    /// Returns the next update, with the number of its text; none after the last.
    ///
    /// # Errors
    ///
    /// The request has taken longer than it may.
    pub(super) async fn next(&mut self) -> Result<Option<(usize, Update)>, ApiError> {
        let next = match self.first.take() {
            Some(first) => Some(first),
            None => self.receive().await?,
        };
        if let Some((at, Update::Done(Ok(generation)))) = &next {
            let (all, cached) = (generation.prompt_tokens, generation.reused_tokens);
            let prompt = self.prompts.entry(at / self.texts);
            let prompt = prompt.or_insert(PromptTokens { all, cached });
            prompt.cached = prompt.cached.min(cached);
            self.generated += generation.tokens.len();
        }
        Ok(next)
    }

    async fn receive(&mut self) -> Result<Option<(usize, Update)>, ApiError> {
        let received = tokio::time::timeout_at(self.until, self.news.recv()).await;
        received.map_err(|_| ApiError::late(self.limit))
    }

    pub(super) fn usage(&self) -> Usage {
        Usage {
            prompt: self.prompts.values().map(|prompt| prompt.all).sum(),
            cached: self.prompts.values().map(|prompt| prompt.cached).sum(),
            answers: self.generated,
        }
    }
}

/// The logarithm of a probability as JSON can hold it: there the API has a stand-in for minus infinity.
pub(super) fn finite(log_probability: f32) -> f32 {
    log_probability.max(-9999.0)
}

/// The letters of an identifier behind its beginning: so many because, of 62 to the 24th, none is
/// met twice.
const LETTERS: usize = 24;

/// A name for an answer or a call.
pub(super) fn identifier(beginning: &str) -> String {
    let letters = rand::rng().sample_iter(Alphanumeric).take(LETTERS);
    beginning.chars().chain(letters.map(char::from)).collect()
}

/// The seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
