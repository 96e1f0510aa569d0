//! The figures of a server, in the text format of Prometheus. For example, the line
//! `tokenmold_queue_waiting 3`.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::generate::Generation;

/// Which requests a counter counts.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    path: String,
    status: u16,
}

/// The counters, and the registry that writes them.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    waiting: Gauge,
    running: Gauge,
    prompt_tokens: Counter,
    tokens: Counter,
    forced_tokens: Counter,
    incomplete: Counter,
    compile: Histogram,
    mask: Histogram,
    queued: Histogram,
    first: Histogram,
    compiled_bytes: Gauge,
}

/// Times from `first` seconds on, each bucket twice the one before: a quantile is known within a
/// factor of two.
fn times(first: f64, count: u16) -> Histogram {
    Histogram::new(exponential_buckets(first, 2.0, count))
}

impl Metrics {
    pub(super) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("tokenmold");
        let metrics = Metrics {
            requests: Family::default(),
            waiting: Gauge::default(),
            running: Gauge::default(),
            prompt_tokens: Counter::default(),
            tokens: Counter::default(),
            forced_tokens: Counter::default(),
            incomplete: Counter::default(),
            // From 2 microseconds to a second for masks, from 0.1 ms on for the others.
            mask: times(2e-6, 20),
            compile: times(1e-4, 18),
            queued: times(1e-4, 21),
            first: times(1e-3, 18),
            compiled_bytes: Gauge::default(),
            registry: Registry::default(),
        };
        let m = &metrics;
        let r = &mut registry;
        r.register(
            "requests",
            "Requests by path and status",
            m.requests.clone(),
        );
        r.register(
            "queue_waiting",
            "Texts that wait for a lane",
            m.waiting.clone(),
        );
        r.register(
            "queue_running",
            "Texts that are being generated",
            m.running.clone(),
        );
        r.register(
            "prompt_tokens",
            "Tokens of prompts",
            m.prompt_tokens.clone(),
        );
        r.register("generated_tokens", "Tokens of answers", m.tokens.clone());
        let forced = "Tokens of answers that only one text could have, not asked of the model";
        r.register("forced_tokens", forced, m.forced_tokens.clone());
        let incomplete = "Constrained answers that were cut off before they were whole";
        r.register("incomplete_answers", incomplete, m.incomplete.clone());
        let seconds = Unit::Seconds;
        let compile = "Time to compile a constraint";
        r.register_with_unit("compile", compile, seconds.clone(), m.compile.clone());
        let mask = "Time that a text waited for a mask";
        r.register_with_unit("mask", mask, seconds.clone(), m.mask.clone());
        let queued = "Time that a text waited for a lane";
        r.register_with_unit("queue", queued, seconds.clone(), m.queued.clone());
        let first = "Time from a request to the end of its prompt's reading";
        r.register_with_unit("time_to_first_token", first, seconds, m.first.clone());
        let bytes = "Bytes of the compiled constraints that are kept, about";
        r.register_with_unit("compiled", bytes, Unit::Bytes, m.compiled_bytes.clone());
        Metrics {
            registry,
            ..metrics
        }
    }

    pub(super) fn queue(&self, waiting: usize, running: usize) {
        self.waiting.set(waiting as i64);
        self.running.set(running as i64);
    }

    pub(super) fn waited(&self, time: Duration) {
        self.queued.observe(time.as_secs_f64());
    }

    pub(super) fn first(&self, time: Duration) {
        self.first.observe(time.as_secs_f64());
    }

    pub(super) fn mask(&self, time: Duration) {
        self.mask.observe(time.as_secs_f64());
    }

    pub(super) fn compiled(&self, time: Duration) {
        self.compile.observe(time.as_secs_f64());
    }

    pub(super) fn kept(&self, bytes: usize) {
        self.compiled_bytes.set(bytes as i64);
    }

    pub(super) fn generated(&self, generation: &Generation) {
        self.prompt_tokens.inc_by(generation.prompt_tokens as u64);
        self.tokens.inc_by(generation.tokens.len() as u64);
        let forced = generation.forced.iter().filter(|forced| **forced).count();
        self.forced_tokens.inc_by(forced as u64);
        if !generation.complete {
            self.incomplete.inc();
        }
    }

    pub(super) fn answered(&self, path: &str, status: u16) {
        let label = Answered {
            path: path.to_owned(),
            status,
        };
        self.requests.get_or_create(&label).inc();
    }

    /// Returns all figures as Prometheus reads them.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
