//! Requests in a queue, and the lanes that answer them. For example, of eight requests four are
//! answered side by side, and the next in the queue begins when the first of these is done.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use constraint::Constraint;
use fsm_index::{Distribution, Place, ProbabilityLimits};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::batcher::{Batcher, SharedModel};
use super::metrics::Metrics;
use crate::generate::{
    Event, Explanation, Flow, Generation, Probabilities, Prompt, Request, Session, TokenProbability,
};
use crate::model::Model;
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorKind};

/// The work of a lane.
pub(super) enum Job {
    /// A text to generate. The prompt of the request is tokens.
    Generate {
        request: Box<Request>,
        constraint: Option<Constraint>,
    },
    /// Prompts, and for each the values whose probabilities are asked for.
    Decide {
        questions: Vec<(Vec<u32>, Constraint)>,
        limits: ProbabilityLimits,
    },
}

impl Job {
    /// The tokens that its model reads first.
    fn prompt(&self) -> &[u32] {
        match self {
            Job::Generate { request, .. } => match &request.prompt {
                Prompt::Tokens(tokens) => tokens,
                _ => &[],
            },
            Job::Decide { questions, .. } => questions.first().map_or(&[], |(prompt, _)| prompt),
        }
    }
}

/// The news of a text.
#[derive(Debug)]
pub(super) enum Update {
    Token(Token),
    /// Text that was held back, at the end.
    Rest(String),
    /// The answer to a question about values.
    Decided(Box<Distribution>),
    /// The last of them.
    Done(Result<Box<Generation>, Error>),
    /// The last of a job without texts.
    AllDecided,
}

/// A token of a text.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) token: u32,
    pub(super) text: String,
    pub(super) forced: bool,
    pub(super) own: Option<TokenProbability>,
    pub(super) probabilities: Option<Probabilities>,
    pub(super) explanation: Option<Box<Explanation>>,
    /// The place in the schema before the token, if explanations are asked for.
    pub(super) place: Option<Place>,
}

/// Why a request was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The queue is full.
    Full,
    /// The server is about to end.
    Closing,
}

struct Queued {
    job: Job,
    /// The number of the text in its request.
    number: usize,
    updates: UnboundedSender<(usize, Update)>,
    since: Instant,
}

/// The texts of one request that wait.
type Group = VecDeque<Queued>;

/// A lane without a text.
struct Idle {
    /// The tokens that its model remembers.
    seen: Vec<u32>,
    jobs: Sender<Queued>,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<Idle>,
    /// Requests that wait take turns, a text each, because one with many would hold up all others.
    waiting: VecDeque<Group>,
    lanes: usize,
    closing: bool,
}

impl PoolState {
    /// Returns the number of texts that wait.
    fn waiting(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// Returns the number of texts that are being generated.
    fn running(&self) -> usize {
        self.lanes - self.idle.len()
    }
}

/// The lanes, and the queue before them.
pub(super) struct Pool {
    state: Mutex<PoolState>,
    max_waiting: usize,
    metrics: Arc<Metrics>,
}

impl Pool {
    /// Starts a thread for each of the models, which must be forks of one, and one that runs them.
    pub(super) fn start<M: Model + Send + 'static>(
        models: Vec<M>,
        tokenizer: &Arc<Tokenizer>,
        max_waiting: usize,
        metrics: &Arc<Metrics>,
    ) -> Arc<Pool> {
        let pool = Arc::new(Pool {
            state: Mutex::default(),
            max_waiting,
            metrics: metrics.clone(),
        });
        let batcher = Batcher::start();
        for model in models {
            let (jobs, queue) = mpsc::channel();
            let lane = batcher.lane(model);
            let (pool, tokenizer, own) = (pool.clone(), tokenizer.clone(), jobs.clone());
            let mut state = pool.lock();
            state.lanes += 1;
            state.idle.push(Idle {
                seen: Vec::new(),
                jobs,
            });
            drop(state);
            std::thread::spawn(move || pool.lead(lane, &tokenizer, &queue, &own));
        }
        pool
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        // Nothing that may panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the texts of a request into the queue, all or none, and returns their news, each with the
    /// number of its text. When the receiver is dropped, they are generated no further.
    ///
    /// # Errors
    ///
    /// The queue is full, or the server is about to end.
    pub(super) fn submit(
        &self,
        jobs: Vec<Job>,
    ) -> Result<UnboundedReceiver<(usize, Update)>, Refused> {
        let mut state = self.lock();
        if state.closing {
            return Err(Refused::Closing);
        }
        let beyond = jobs.len().saturating_sub(state.idle.len());
        if beyond > 0 && state.waiting() + beyond > self.max_waiting {
            return Err(Refused::Full);
        }
        let (updates, news) = unbounded_channel();
        let mut group: Group = jobs
            .into_iter()
            .enumerate()
            .map(|(number, job)| Queued {
                job,
                number,
                updates: updates.clone(),
                since: Instant::now(),
            })
            .collect();
        while let Some(queued) = group.pop_front() {
            let Some(at) = closest(&state.idle, queued.job.prompt()) else {
                group.push_front(queued);
                break;
            };
            let lane = state.idle.swap_remove(at);
            // A lane's thread outlives its place among the idle.
            let _ = lane.jobs.send(queued);
        }
        if !group.is_empty() {
            state.waiting.push_back(group);
        }
        self.report(&state);
        Ok(news)
    }

    fn report(&self, state: &PoolState) {
        self.metrics.queue(state.waiting(), state.running());
    }

    /// Takes the next text, or lays the lane down.
    fn next(&self, seen: &[u32], jobs: &Sender<Queued>) -> Option<Queued> {
        let mut state = self.lock();
        let next = state.waiting.pop_front().and_then(|mut group| {
            let next = group.pop_front();
            if !group.is_empty() {
                state.waiting.push_back(group);
            }
            next
        });
        if next.is_none() {
            state.idle.push(Idle {
                seen: seen.to_vec(),
                jobs: jobs.clone(),
            });
        }
        self.report(&state);
        next
    }

    /// Takes no more requests; those that there are, are answered.
    pub(super) fn refuse_more(&self) {
        self.lock().closing = true;
    }

    /// Returns the numbers of texts that wait and that are being generated.
    pub(super) fn load(&self) -> (usize, usize) {
        let state = self.lock();
        (state.waiting(), state.running())
    }

    /// A lane's thread.
    fn lead<M: Model + Send>(
        &self,
        mut lane: SharedModel<M>,
        tokenizer: &Tokenizer,
        queue: &Receiver<Queued>,
        own: &Sender<Queued>,
    ) {
        let counter = lane.counter();
        let mut given = queue.recv().ok();
        while given.is_some() {
            // After a panic it is not known what the session's model remembers.
            let mut session = Session::new(&mut lane, tokenizer);
            while let Some(queued) = given.take() {
                let at_work = SharedModel::<M>::at_work(&counter);
                let whole = self.answer(&mut session, &queued);
                drop(at_work);
                // Who waits for the request's end sees it when its last sender goes.
                drop(queued);
                let seen = match whole {
                    true => session.seen(),
                    false => &[],
                };
                given = self.next(seen, own).or_else(|| queue.recv().ok());
                if !whole {
                    break;
                }
            }
        }
    }

    /// Does a job and tells of it. False if it panicked.
    fn answer<M: Model>(&self, session: &mut Session<'_, M>, queued: &Queued) -> bool {
        let Queued {
            job,
            number,
            updates,
            since,
        } = queued;
        if updates.is_closed() {
            return true;
        }
        self.metrics.waited(since.elapsed());
        let done = catch_unwind(AssertUnwindSafe(|| match job {
            Job::Generate {
                request,
                constraint,
            } => {
                let mut guide = constraint.as_ref().map(Constraint::guide);
                let guide = guide.as_mut().map(|guide| guide as _);
                let generated =
                    session.generate(request, guide, &mut |event| self.tell(event, queued));
                if let Ok(generation) = &generated {
                    self.metrics.generated(generation);
                }
                Update::Done(generated.map(Box::new))
            }
            Job::Decide { questions, limits } => {
                for (prompt, constraint) in questions {
                    let prompt = Prompt::Tokens(prompt.clone());
                    let mut guide = constraint.guide();
                    let told = match session.probabilities(&prompt, &mut *guide, limits) {
                        Ok(distribution) => Update::Decided(Box::new(distribution)),
                        Err(error) => return Update::Done(Err(error)),
                    };
                    if updates.send((*number, told)).is_err() {
                        break;
                    }
                }
                Update::AllDecided
            }
        }));
        let whole = done.is_ok();
        let done = done.unwrap_or_else(|_| {
            let message = "this request failed inside the server; this is a mistake of the server";
            Update::Done(Err(Error::new(ErrorKind::Model, message)))
        });
        // Who does not listen any more needs no answer.
        let _ = updates.send((*number, done));
        whole
    }

    fn tell(&self, event: &Event<'_>, queued: &Queued) -> Flow {
        let updates = &queued.updates;
        let update = match event {
            Event::Token(token) => {
                if let Some(waited) = token.mask {
                    self.metrics.mask(waited);
                }
                Update::Token(Token {
                    token: token.token,
                    text: token.text.to_owned(),
                    forced: token.forced,
                    own: token.own,
                    probabilities: token.probabilities.clone(),
                    explanation: token.explanation.clone(),
                    place: token.place.clone(),
                })
            }
            Event::Rest(text) => Update::Rest((*text).to_owned()),
            Event::Prompt { .. } => {
                self.metrics.first(queued.since.elapsed());
                return match updates.is_closed() {
                    true => Flow::Stop,
                    false => Flow::Continue,
                };
            }
        };
        match updates.send((queued.number, update)) {
            Ok(()) => Flow::Continue,
            // The client is gone.
            Err(_) => Flow::Stop,
        }
    }
}

/// The idle lane whose model remembers most of a prompt.
fn closest(idle: &[Idle], prompt: &[u32]) -> Option<usize> {
    let shared = |lane: &Idle| {
        let pairs = lane.seen.iter().zip(prompt);
        pairs.take_while(|(a, b)| a == b).count()
    };
    (0..idle.len()).max_by_key(|at| shared(&idle[*at]))
}
