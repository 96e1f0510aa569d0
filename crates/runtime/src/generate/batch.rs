//! Many texts side by side, each with its own constraint.
//!
//! Each *lane* has a model (with a memory of its own; weights are best shared, see
//! [`Transformer::fork`](crate::model::Transformer::fork)) and takes the next request when it is
//! done with one. In every round the models take a step together, and meanwhile another thread
//! compiles constraints and computes the masks that the round will need. An error of a request is
//! that request's result and nobody else's.
//!
//! For example, four models that share weights lead four of a hundred requests at a time.

use std::collections::VecDeque;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use fsm_index::{Landing, Place};

use super::run::{Run, Step};
use super::{Event, Flow, Generation, Request, Session};
use crate::constraint::Constraint;
use crate::model::{Model, Reading};
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorKind};

/// A constraint that may be computed on another thread.
pub type Bound<'c> = Box<dyn Constraint + 'c>;

type Compile<'c> = Box<dyn FnOnce() -> Result<Bound<'c>, Error> + Send + 'c>;

/// A request of a batch with its constraint.
///
/// ```
/// use std::sync::Arc;
///
/// use tokenmold::embedded;
/// use tokenmold::fsm_index::{Guide, Index};
/// use tokenmold::generate::{Batch, BatchRequest, Flow, Prompt, Request};
///
/// let loaded = embedded::load()?;
/// let index = Arc::new(Index::new("[a-z]{3}", loaded.tokenizer.vocabulary()).unwrap());
/// let mut lanes = [loaded.model.fork(), loaded.model];
/// let mut batch = Batch::new(&mut lanes, &loaded.tokenizer);
/// let requests = ["One.", "Two.", "Three."].map(|prompt| {
///     BatchRequest::new(Request::new(Prompt::Text(prompt.to_owned()))).with_constraint(Guide::new(index.clone()))
/// });
/// for generation in batch.generate(requests, &mut |_, _| Flow::Continue) {
///     assert_eq!(generation?.text.len(), 3);
/// }
/// # Ok::<(), tokenmold::Error>(())
/// ```
pub struct BatchRequest<'c> {
    request: Request,
    source: ConstraintSource<'c>,
}

enum ConstraintSource<'c> {
    Free,
    Ready(Bound<'c>),
    Compile(Compile<'c>),
    /// The result was an error, which was told.
    Failed,
}

impl<'c> BatchRequest<'c> {
    /// A request without a constraint.
    pub fn new(request: Request) -> Self {
        BatchRequest {
            request,
            source: ConstraintSource::Free,
        }
    }

    /// The same with a constraint.
    #[must_use]
    pub fn with_constraint(mut self, constraint: impl Constraint + 'c) -> Self {
        self.source = ConstraintSource::Ready(Box::new(constraint));
        self
    }

    /// The same with a constraint that is still to be made: on the thread that
    /// computes masks, while other texts go on. An error is this request's
    /// result.
    #[must_use]
    pub fn with_compile(
        mut self,
        compile: impl FnOnce() -> Result<Bound<'c>, Error> + Send + 'c,
    ) -> Self {
        self.source = ConstraintSource::Compile(Box::new(compile));
        self
    }
}

impl fmt::Debug for BatchRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            ConstraintSource::Free => "none",
            ConstraintSource::Ready(_) => "ready",
            ConstraintSource::Compile(_) => "to be compiled",
            ConstraintSource::Failed => "failed",
        };
        f.debug_struct("BatchRequest")
            .field("request", &self.request)
            .field("constraint", &source)
            .finish()
    }
}

/// Models that generate texts side by side.
///
/// ```
/// use std::sync::Arc;
/// use tokenmold::generate::{Batch, BatchRequest};
/// use tokenmold::prelude::*;
///
/// let loaded = tokenmold::embedded::load()?;
/// let mut lanes = [loaded.model.fork(), loaded.model.fork()];
/// let index = Arc::new(Index::new("[0-9]{2}", loaded.tokenizer.vocabulary())?);
/// let request = |text: &str| Request::new(Prompt::Text(text.to_owned())).with_max_tokens(8);
/// let requests = ["a", "b", "c"].map(|text| {
///     BatchRequest::new(request(text)).with_constraint(Guide::new(index.clone()))
/// });
/// let results = Batch::new(&mut lanes, &loaded.tokenizer)
///     .generate(requests, &mut |_, _| Flow::Continue);
/// for said in results {
///     assert!(said?.text.parse::<u8>().is_ok());
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Batch<'m, M: Model> {
    lanes: Vec<Session<'m, M>>,
}

impl<'m, M: Model> Batch<'m, M> {
    /// As many lanes as there are models. They should be the same model, with
    /// shared weights.
    pub fn new(models: &'m mut [M], tokenizer: &'m Tokenizer) -> Self {
        let lanes = models
            .iter_mut()
            .map(|model| Session::new(model, tokenizer));
        Batch {
            lanes: lanes.collect(),
        }
    }

    /// Generates a text for each request, in as many lanes as there are, and
    /// tells `on_event` of each token and whose it is. The results are in the
    /// order of the requests.
    ///
    /// Each text is the one that [`Session::generate`] makes of its request
    /// alone.
    ///
    /// # Errors
    ///
    /// Each result is that of [`Session::generate`], or the error of its
    /// [`BatchRequest::with_compile`]. [`ErrorKind::InvalidParameter`] for all of
    /// them if there are no lanes.
    pub fn generate<'c>(
        &mut self,
        requests: impl IntoIterator<Item = BatchRequest<'c>>,
        on_event: &mut dyn FnMut(usize, &Event<'_>) -> Flow,
    ) -> Vec<Result<Generation, Error>> {
        let mut items: Vec<Item<'c>> = requests.into_iter().map(Item::new).collect();
        let mut results: Vec<Option<Result<Generation, Error>>> = Vec::new();
        results.resize_with(items.len(), || None);
        let on_event = std::cell::RefCell::new(on_event);
        let mut tellers: Vec<_> = (0..items.len())
            .map(|at| {
                let on_event = &on_event;
                move |event: &Event<'_>| (on_event.borrow_mut())(at, event)
            })
            .collect();
        let queue: VecDeque<Waiting<'_, 'c>> = items
            .iter_mut()
            .zip(&mut tellers)
            .enumerate()
            .map(|(at, (item, teller))| Waiting { at, item, teller })
            .collect();
        let cells: Vec<Arc<Cell<'c>>> = queue.iter().map(|w| w.item.cell.clone()).collect();
        std::thread::scope(|scope| {
            let (ahead, wanted) = mpsc::channel::<Arc<Cell<'c>>>();
            let masks = scope.spawn(move || {
                for cell in wanted {
                    cell.prepare();
                }
            });
            let compiler = scope.spawn(move || {
                for cell in cells {
                    cell.prepare();
                }
            });
            let lanes = self.lanes.iter_mut().map(Lane::Idle).collect();
            let mut rounds = Rounds {
                queue,
                lanes,
                ahead,
                results: &mut results,
            };
            while rounds.round() {}
            drop(rounds);
            // Who panicked there was a constraint, and its text has failed.
            let _ = (masks.join(), compiler.join());
        });
        let none = || {
            Err(Error::new(
                ErrorKind::InvalidParameter,
                "the batch has no lanes; give it at least one model",
            ))
        };
        results
            .into_iter()
            .map(|result| result.unwrap_or_else(none))
            .collect()
    }
}

/// A request with the constraint's two sides.
struct Item<'c> {
    request: Request,
    cell: Arc<Cell<'c>>,
    handle: Handle<'c>,
}

impl<'c> Item<'c> {
    fn new(request: BatchRequest<'c>) -> Self {
        let cell = Arc::new(Cell(Mutex::new(Shared {
            source: request.source,
            error: None,
            words: None,
        })));
        Item {
            request: request.request,
            handle: Handle {
                cell: cell.clone(),
                words: Vec::new(),
            },
            cell,
        }
    }
}

/// A constraint between the thread of the loop and that of the masks.
struct Cell<'c>(Mutex<Shared<'c>>);

struct Shared<'c> {
    source: ConstraintSource<'c>,
    error: Option<Error>,
    /// The mask where the constraint stands.
    words: Option<Vec<u32>>,
}

impl<'c> Cell<'c> {
    /// A panic elsewhere was inside of a constraint, whose text fails then.
    fn lock(&self) -> MutexGuard<'_, Shared<'c>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of tokens that the constraint speaks of, if there is one and it is
    /// compiled, or why it is not; `None` if it is still being compiled.
    fn width(&self, wait: bool) -> Option<Result<Option<usize>, Error>> {
        let mut shared = match (wait, self.0.try_lock()) {
            (_, Ok(shared)) => shared,
            (_, Err(TryLockError::Poisoned(shared))) => shared.into_inner(),
            (true, Err(TryLockError::WouldBlock)) => self.lock(),
            (false, Err(TryLockError::WouldBlock)) => return None,
        };
        if let ConstraintSource::Compile(_) = shared.source {
            if !wait {
                return None;
            }
            shared.compile();
        }
        if let Some(error) = shared.error.take() {
            return Some(Err(error));
        }
        Some(match &shared.source {
            ConstraintSource::Free => Ok(None),
            _ => shared
                .constraint()
                .map(|constraint| Some(constraint.width())),
        })
    }

    /// Tells whether its next mask is worth another thread's time.
    fn is_mask_missing(&self) -> bool {
        let mut shared = self.lock();
        let constraint = shared.constraint();
        constraint.is_ok_and(|constraint| !constraint.is_mask_known())
    }

    /// Compiles the constraint, or computes its mask.
    fn prepare(&self) {
        let mut shared = self.lock();
        shared.compile();
        // An error of a mask is told to the caller that asks for it.
        let _ = shared.mask();
    }
}

impl<'c> Shared<'c> {
    fn compile(&mut self) {
        match std::mem::replace(&mut self.source, ConstraintSource::Failed) {
            ConstraintSource::Compile(compile) => {
                // Nothing of what the closure owns is seen after a panic.
                let compiled = std::panic::catch_unwind(AssertUnwindSafe(compile));
                match compiled {
                    Ok(Ok(constraint)) => self.source = ConstraintSource::Ready(constraint),
                    Ok(Err(error)) => self.error = Some(error),
                    Err(_) => {
                        let message = "compiling the constraint of this request panicked";
                        self.error = Some(Error::new(ErrorKind::Constraint, message));
                    }
                }
            }
            other => self.source = other,
        }
    }

    fn constraint(&mut self) -> Result<&mut Bound<'c>, Error> {
        match &mut self.source {
            ConstraintSource::Ready(constraint) => Ok(constraint),
            _ => Err(Error::new(
                ErrorKind::Constraint,
                "the constraint of this request is gone",
            )),
        }
    }

    fn mask(&mut self) -> Result<&[u32], Error> {
        if self.words.is_none() {
            let words = self.constraint()?.mask()?.to_vec();
            self.words = Some(words);
        }
        Ok(self.words.as_deref().unwrap_or_default())
    }
}

/// The loop's side of a constraint.
struct Handle<'c> {
    cell: Arc<Cell<'c>>,
    /// The mask that is lent.
    words: Vec<u32>,
}

impl<'c> Handle<'c> {
    /// Returns the answer of the constraint, or `otherwise` if there is none.
    fn ask<T>(&self, otherwise: T, ask: impl FnOnce(&mut Bound<'c>) -> T) -> T {
        match self.cell.lock().constraint() {
            Ok(constraint) => ask(constraint),
            Err(_) => otherwise,
        }
    }

    fn change<T>(
        &mut self,
        change: impl FnOnce(&mut Bound<'c>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut shared = self.cell.lock();
        shared.words = None;
        change(shared.constraint()?)
    }
}

impl Constraint for Handle<'_> {
    fn mask(&mut self) -> Result<&[u32], Error> {
        let mut shared = self.cell.lock();
        self.words.clear();
        self.words.extend_from_slice(shared.mask()?);
        Ok(&self.words)
    }

    fn width(&self) -> usize {
        self.ask(0, |constraint| constraint.width())
    }

    fn advance(&mut self, token: u32) -> Result<(), Error> {
        self.change(|constraint| constraint.advance(token))
    }

    fn rollback(&mut self, count: usize) -> Result<(), Error> {
        self.change(|constraint| constraint.rollback(count))
    }

    fn set_budget(&mut self, tokens: Option<usize>) -> Result<(), Error> {
        self.change(|constraint| constraint.set_budget(tokens))
    }

    fn set_landing(&mut self, landing: Landing) {
        self.change(|constraint| {
            constraint.set_landing(landing);
            Ok(())
        })
        .unwrap_or_default();
    }

    fn place(&self) -> Option<Place> {
        self.ask(None, |constraint| constraint.place())
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
        self.ask(0, |constraint| constraint.validate(tokens))
    }

    fn is_accepting(&self) -> bool {
        self.ask(false, |constraint| constraint.is_accepting())
    }

    fn completion(&self) -> Option<Vec<u8>> {
        self.ask(None, |constraint| constraint.completion())
    }

    fn completion_within(&self, max_bytes: usize) -> Option<Vec<u8>> {
        self.ask(None, |constraint| constraint.completion_within(max_bytes))
    }

    fn is_finished(&self) -> bool {
        self.ask(true, |constraint| constraint.is_finished())
    }

    fn forced_tokens(&self, encode: &mut dyn FnMut(&[u8]) -> Vec<u32>) -> Vec<u32> {
        self.ask(Vec::new(), |constraint| constraint.forced_tokens(encode))
    }
}

/// A request that no lane has taken yet.
struct Waiting<'r, 'c> {
    at: usize,
    item: &'r mut Item<'c>,
    teller: &'r mut dyn FnMut(&Event<'_>) -> Flow,
}

enum Lane<'r, 's, 'm, 'c, M: Model> {
    Idle(&'s mut Session<'m, M>),
    /// Its constraint is being compiled.
    Preparing(&'s mut Session<'m, M>, Waiting<'r, 'c>),
    Running {
        at: usize,
        run: Box<Run<'r, 'r, 's, 'm, M>>,
        cell: Option<Arc<Cell<'c>>>,
        /// The tokens that its model reads next.
        tokens: Vec<u32>,
        /// True if that is the prompt.
        prompt: bool,
    },
}

struct Rounds<'r, 's, 'm, 'c, 'o, M: Model> {
    queue: VecDeque<Waiting<'r, 'c>>,
    lanes: Vec<Lane<'r, 's, 'm, 'c, M>>,
    ahead: Sender<Arc<Cell<'c>>>,
    results: &'o mut Vec<Option<Result<Generation, Error>>>,
}

impl<'r, 's, 'm, 'c: 'r, M: Model> Rounds<'r, 's, 'm, 'c, '_, M> {
    /// A step of each model; `false` if there is nothing left to do.
    fn round(&mut self) -> bool {
        let filled = std::mem::take(&mut self.lanes).into_iter();
        let mut lanes: Vec<Lane<'r, 's, 'm, 'c, M>> =
            filled.map(|lane| self.fill(lane, false)).collect();
        let running = |lane: &Lane<'r, 's, 'm, 'c, M>| matches!(lane, Lane::Running { .. });
        if !lanes.iter().any(running) {
            // Nothing can be done but wait for a constraint.
            let waiting = |lane: &Lane<'r, 's, 'm, 'c, M>| matches!(lane, Lane::Preparing(..));
            let Some(at) = lanes.iter().position(waiting) else {
                return false;
            };
            let lane = lanes.swap_remove(at);
            lanes.push(self.fill(lane, true));
        }
        let began = Instant::now();
        let mut reads = Vec::new();
        for lane in &mut lanes {
            if let Lane::Running { run, tokens, .. } = lane {
                let session = &mut *run.session;
                reads.push(Reading {
                    position: session.seen.len(),
                    model: &mut *session.model,
                    tokens,
                });
            }
        }
        let mut logits = M::forward_together(&mut reads).into_iter();
        let took = began.elapsed();
        let idle = lanes.into_iter().map(|lane| match lane {
            Lane::Running {
                at,
                mut run,
                cell,
                tokens,
                prompt,
            } => {
                let read = logits.next().unwrap_or_else(|| {
                    Err(Error::new(
                        ErrorKind::Model,
                        "the models gave no logits for a text",
                    ))
                });
                let step = read.and_then(|logits| {
                    run.session.seen.extend_from_slice(&tokens);
                    let logits = run.biased(logits);
                    match prompt {
                        true => {
                            run.generation.timings.prefill = run.began.elapsed();
                            run.begun(&logits)
                        }
                        false => {
                            run.generation.timings.forward += took;
                            run.generation.steps += 1;
                            run.step(&logits)
                        }
                    }
                });
                match step {
                    Ok(Step::Read(tokens)) => {
                        if let Some(cell) = cell.as_ref().filter(|cell| cell.is_mask_missing()) {
                            let _ = self.ahead.send(cell.clone());
                        }
                        Lane::Running {
                            at,
                            run,
                            cell,
                            tokens,
                            prompt: false,
                        }
                    }
                    Ok(Step::Finish(finish)) => {
                        let (generation, session) = (*run).end(finish);
                        self.results[at] = Some(Ok(generation));
                        Lane::Idle(session)
                    }
                    Err(error) => {
                        self.results[at] = Some(Err(error));
                        Lane::Idle(run.session)
                    }
                }
            }
            other => other,
        });
        self.lanes = idle.collect();
        true
    }

    /// Gives a lane something to do, if there is something; `wait` says to
    /// wait for its constraint.
    fn fill(&mut self, mut lane: Lane<'r, 's, 'm, 'c, M>, wait: bool) -> Lane<'r, 's, 'm, 'c, M> {
        loop {
            lane = match lane {
                Lane::Idle(session) => match self.queue.pop_front() {
                    Some(waiting) => Lane::Preparing(session, waiting),
                    None => return Lane::Idle(session),
                },
                Lane::Preparing(session, waiting) => match self.begin(session, waiting, wait) {
                    // Its work has failed.
                    Lane::Idle(session) => Lane::Idle(session),
                    other => return other,
                },
                running => return running,
            };
        }
    }

    /// Begins with a request, if its constraint is there.
    fn begin(
        &mut self,
        session: &'s mut Session<'m, M>,
        waiting: Waiting<'r, 'c>,
        wait: bool,
    ) -> Lane<'r, 's, 'm, 'c, M> {
        let Some(width) = waiting.item.cell.width(wait) else {
            return Lane::Preparing(session, waiting);
        };
        let Waiting { at, item, teller } = waiting;
        let ready = width.and_then(|width| Ok((session.prepare(&item.request, width)?, width)));
        let (ready, width) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                self.results[at] = Some(Err(error));
                return Lane::Idle(session);
            }
        };
        let handle = &mut item.handle;
        let constraint = width.map(|_| handle as &mut dyn Constraint);
        let mut run = session.run(ready, &item.request, constraint, teller);
        if let Err(error) = run.set_budget() {
            self.results[at] = Some(Err(error));
            return Lane::Idle(run.session);
        }
        Lane::Running {
            at,
            tokens: run.begin(),
            run: Box::new(run),
            cell: width.map(|_| item.cell.clone()),
            prompt: true,
        }
    }
}
