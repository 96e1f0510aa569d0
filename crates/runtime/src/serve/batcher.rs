//! One model for several texts at once. For example, while two texts wait for their next token, a
//! third one's prompt is read in the same step.
//!
//! Each text has a [`SharedModel`], which is a model for [`Session`](crate::generate::Session): what it is
//! asked to read, it hands to the thread that runs the model, which reads what all lanes have
//! handed in together. So requests join and leave between two steps, and their masks are computed
//! on their own threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::model::{Model, Reading};
use crate::{Error, ErrorKind};

/// The most tokens of one lane in one step: a long prompt is read in several, because the texts
/// that are read beside it would wait for all of it otherwise.
const BLOCK: usize = 128;

/// The longest time that a step waits for lanes that are between two of theirs, because a mask and
/// a draw take a tenth of it, and a lane that misses a step costs another one.
const PATIENCE: Duration = Duration::from_millis(2);

/// Tokens that a lane's model is to read.
struct ReadRequest<M> {
    model: M,
    tokens: Vec<u32>,
    position: usize,
    answer: Sender<ReadAnswer<M>>,
}

/// The model, and what it said.
type ReadAnswer<M> = (M, Result<Vec<f32>, Error>);

/// The thread that runs the model for all lanes. It ends when the last of them is gone.
pub(super) struct Batcher<M> {
    lanes: Sender<ReadRequest<M>>,
    at_work: Arc<AtomicUsize>,
}

impl<M: Model + Send + 'static> Batcher<M> {
    /// Starts the thread.
    pub(super) fn start() -> Batcher<M> {
        let (lanes, asked) = mpsc::channel();
        let at_work = Arc::new(AtomicUsize::new(0));
        let counted = at_work.clone();
        std::thread::spawn(move || run(&asked, &counted));
        Batcher { lanes, at_work }
    }

    /// A lane with a model of its own, which must share its weights with those of the others.
    pub(super) fn lane(&self, model: M) -> SharedModel<M> {
        SharedModel {
            context: model.context_length(),
            width: model.vocabulary_width(),
            cached: model.cached(),
            model: Some(model),
            batcher: self.lanes.clone(),
            at_work: self.at_work.clone(),
        }
    }
}

/// Reads what is handed in, together, until no lane is left.
fn run<M: Model>(asked: &Receiver<ReadRequest<M>>, at_work: &AtomicUsize) {
    while let Ok(first) = asked.recv() {
        let mut together = vec![first];
        let until = Instant::now() + PATIENCE;
        while together.len() < at_work.load(Ordering::Relaxed) {
            match asked.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(next) => together.push(next),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        together.extend(asked.try_iter());
        let mut reads: Vec<Reading<'_, M>> = together
            .iter_mut()
            .map(|one| Reading {
                model: &mut one.model,
                tokens: &one.tokens,
                position: one.position,
            })
            .collect();
        // Models whose step panicked are made to forget everything.
        let read = catch_unwind(AssertUnwindSafe(|| M::forward_together(&mut reads)));
        drop(reads);
        let mut read = read.ok().map(Vec::into_iter);
        for mut one in together {
            let logits = read.as_mut().map(Iterator::next).and_then(|next| next);
            let logits = logits.unwrap_or_else(|| {
                one.model.truncate(0);
                Err(Error::new(ErrorKind::Model, "a step of the model failed"))
            });
            // A lane that is gone needs no answer.
            let _ = one.answer.send((one.model, logits));
        }
    }
}

/// A model whose steps are taken together with those of other lanes.
pub(super) struct SharedModel<M> {
    /// None while it is away, and after the thread that runs it has died.
    model: Option<M>,
    batcher: Sender<ReadRequest<M>>,
    at_work: Arc<AtomicUsize>,
    context: usize,
    width: usize,
    cached: usize,
}

/// A lane that has a text: steps wait for it. See [`SharedModel::at_work`].
pub(super) struct AtWork(Arc<AtomicUsize>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<M> SharedModel<M> {
    /// Returns the counter by which steps know of a lane that has a text.
    pub(super) fn counter(&self) -> Arc<AtomicUsize> {
        self.at_work.clone()
    }

    /// Says that a lane has a text, until the value is dropped.
    pub(super) fn at_work(counter: &Arc<AtomicUsize>) -> AtWork {
        counter.fetch_add(1, Ordering::Relaxed);
        AtWork(counter.clone())
    }
}

impl<M: Model> Model for SharedModel<M> {
    fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>, Error> {
        let gone = || Error::new(ErrorKind::Model, "the model's thread has ended");
        let mut position = position;
        let mut last = Err(Error::new(ErrorKind::Model, "no tokens were given"));
        for tokens in tokens.chunks(BLOCK) {
            let (answer, answered) = mpsc::channel();
            let asked = ReadRequest {
                model: self.model.take().ok_or_else(gone)?,
                tokens: tokens.to_vec(),
                position,
                answer,
            };
            self.batcher.send(asked).map_err(|_| gone())?;
            let (model, logits) = answered.recv().map_err(|_| gone())?;
            self.cached = model.cached();
            self.model = Some(model);
            last = Ok(logits?);
            position += tokens.len();
        }
        last
    }

    fn truncate(&mut self, length: usize) {
        if let Some(model) = &mut self.model {
            model.truncate(length);
        }
        self.cached = self.cached.min(length);
    }

    fn cached(&self) -> usize {
        self.cached
    }

    fn context_length(&self) -> usize {
        self.context
    }

    fn vocabulary_width(&self) -> usize {
        self.width
    }
}
