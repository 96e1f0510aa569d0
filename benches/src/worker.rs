//! The child's side: one engine, one case at a time, in a process that may be killed.
//!
//! A case is walked up to three times over. First *shared*: compiled once, each text under
//! the same compiled schema; this pass gives the verdicts. Then *cold*: each text under a
//! schema compiled for it alone, as long as the time limit allows. Then *warm*: the shared
//! schema again, all texts known to it.
//!
//! For example, a case with two texts is compiled three times: once shared, and once cold for each
//! text.

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use fsm_index::{MaskBuffer, TokenId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engines::{Constraint, Engine, Session};

/// The request of the parent: a case, its texts as tokens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The case's name.
    pub id: String,
    /// The schema.
    pub schema: Value,
    /// The tokens of each text.
    pub texts: Vec<Vec<u32>>,
}

/// The answer of the child, one a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// The engine is there and waits for cases.
    Ready,
    /// The engine cannot be made.
    Fatal(String),
    /// The shared pass is done.
    Verdict(Verdict),
    /// The other passes are done, or the time they may take is.
    Done(Extra),
    /// The engine panicked; the child ends.
    Panicked(String),
}

/// The findings of the shared pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Why the engine does not take the schema, if it does not.
    pub refused: Option<String>,
    /// For each text, whether it was accepted.
    pub accepted: Vec<bool>,
    /// The engine's message when it gave up on a text, if it did.
    pub gave_up: Option<String>,
    /// A difference between the mask and what brute force or `advance` says.
    pub mismatch: Option<String>,
    /// Positions at which every bit was compared with brute force.
    pub checked: usize,
    /// Compiling, in nanoseconds.
    pub compile_ns: u64,
    /// Compiling and the first mask, in nanoseconds.
    pub first_mask_ns: u64,
    /// Each mask and each step.
    pub times: Times,
}

/// Nanoseconds of each mask and each step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Masks, until they are in the harness's buffer.
    pub mask_ns: Vec<u64>,
    /// Steps to the next state.
    pub advance_ns: Vec<u64>,
}

/// The times of the other passes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extra {
    /// Each text under a schema compiled for it alone.
    pub cold: Times,
    /// Each text under a schema that knows it.
    pub warm: Times,
    /// True if each text was walked in both, with the verdict of the shared pass.
    pub complete: bool,
}

/// The way in which cases are measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Words of a mask.
    pub words: usize,
    /// Chooses the positions that are checked.
    pub seed: u64,
    /// The number of positions of 1,000 that are checked by brute force.
    pub checked_per_mille: u32,
    /// No further pass is begun that may end later than this.
    pub limit: Duration,
}

/// The number of positions of 1,000 at which every bit of a mask is compared with brute force, for
/// engines that have such a slow way: few, because one comparison steps through the whole
/// vocabulary.
const CHECKED_PER_MILLE: u32 = 10;

/// Is the process of an engine: makes it, with the words of its masks, and answers the tasks of
/// the standard input. `seed` chooses the positions that are checked; `limit_seconds` is the
/// time of a case.
///
/// # Errors
///
/// The engine cannot be made, which the parent is told too, the limit is no time, or the parent
/// is gone.
pub fn work(
    engine: impl FnOnce() -> Result<(Box<dyn Engine>, usize), String>,
    seed: u64,
    limit_seconds: f64,
) -> Result<(), String> {
    // Panics are told to the parent, which counts them.
    std::panic::set_hook(Box::new(|_| {}));
    let (engine, words) = engine().inspect_err(|reason| {
        if let Ok(line) = serde_json::to_string(&Message::Fatal(reason.clone())) {
            println!("{line}");
        }
    })?;
    let plan = Plan {
        words,
        seed,
        checked_per_mille: CHECKED_PER_MILLE,
        limit: limit(limit_seconds)?,
    };
    let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
    serve(engine.as_ref(), &plan, input, output)
}

/// The time of a case.
///
/// # Errors
///
/// The number is negative, or too large.
pub fn limit(seconds: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds).map_err(|e| format!("--limit-seconds {seconds}: {e}"))
}

/// Answers tasks from `input` until it ends.
///
/// # Errors
///
/// A line is no task, or the parent is gone.
pub fn serve(
    engine: &dyn Engine,
    plan: &Plan,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<(), String> {
    let mut send = |message: &Message| {
        let line = serde_json::to_string(message).map_err(|e| e.to_string())?;
        writeln!(output, "{line}")
            .and_then(|()| output.flush())
            .map_err(|e| e.to_string())
    };
    send(&Message::Ready)?;
    for line in input.lines() {
        let line = line.map_err(|e| e.to_string())?;
        let task: Task = serde_json::from_str(&line).map_err(|e| e.to_string())?;
        let mut sent = Ok(());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            measure(engine, plan, &task, &mut |verdict| {
                sent = send(&Message::Verdict(verdict));
            })
        }));
        sent?;
        match outcome {
            Ok(extra) => send(&Message::Done(extra))?,
            Err(payload) => {
                // The engine may have left anything behind: it cannot be trusted any more.
                return send(&Message::Panicked(panic_text(payload.as_ref())));
            }
        }
    }
    Ok(())
}

/// The message of a panic.
pub fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
        .to_owned()
}

/// Measures one case; the verdict is handed out before the passes that follow.
pub fn measure(
    engine: &dyn Engine,
    plan: &Plan,
    task: &Task,
    verdict: &mut dyn FnMut(Verdict),
) -> Extra {
    let start = Instant::now();
    let mut extra = Extra {
        complete: true,
        ..Extra::default()
    };
    let mut walker = Walker::new(plan, &task.id);
    let (constraint, judged) = shared_pass(engine, task, &mut walker, &mut extra);
    let accepted = judged.accepted.clone();
    verdict(judged);
    if let Some(constraint) = constraint {
        let mut slowest = Duration::ZERO;
        for (text, tokens) in task.texts.iter().enumerate().skip(1) {
            // The next compile may take as long as the longest so far.
            if start.elapsed() + slowest * 2 > plan.limit {
                extra.complete = false;
                break;
            }
            let begun = Instant::now();
            if let Ok(fresh) = engine.compile(&task.schema) {
                extra.complete &=
                    again(&mut walker, fresh.as_ref(), tokens, &mut extra.cold) == accepted[text];
            }
            slowest = slowest.max(begun.elapsed());
        }
        for (text, tokens) in task.texts.iter().enumerate() {
            if start.elapsed() > plan.limit {
                extra.complete = false;
                break;
            }
            extra.complete &=
                again(&mut walker, constraint.as_ref(), tokens, &mut extra.warm) == accepted[text];
        }
    }
    extra
}

fn shared_pass<'e>(
    engine: &'e dyn Engine,
    task: &Task,
    walker: &mut Walker<'_>,
    extra: &mut Extra,
) -> (Option<Box<dyn Constraint + 'e>>, Verdict) {
    let mut judged = Verdict::default();
    let start = Instant::now();
    let constraint = match engine.compile(&task.schema) {
        Ok(constraint) => constraint,
        Err(reason) => {
            judged.refused = Some(reason);
            return (None, judged);
        }
    };
    judged.compile_ns = nanoseconds(start);
    let mut opened = match constraint.session() {
        Ok(session) => Some(session),
        Err(reason) => {
            judged.refused = Some(reason);
            return (None, judged);
        }
    };
    let mask_start = Instant::now();
    let first = opened
        .as_mut()
        .map_or(Ok(()), |session| session.mask(&mut walker.buffer));
    let first_ns = nanoseconds(mask_start);
    judged.first_mask_ns = nanoseconds(start);
    if let Err(reason) = first {
        judged.refused = Some(reason);
        return (None, judged);
    }
    for (text, tokens) in task.texts.iter().enumerate() {
        let mut times = Times::default();
        // The first text goes on with the session that made the first mask.
        let known = opened.take().map(|session| (session, first_ns));
        let (session, known) = match known {
            Some((session, ns)) => (Ok(session), Some(ns)),
            None => (constraint.session(), None),
        };
        let walked = match session {
            Ok(mut session) => walker.walk(session.as_mut(), text, tokens, known, true, &mut times),
            Err(reason) => Err(Stop::GaveUp(reason)),
        };
        judged.accepted.push(matches!(walked, Ok(true)));
        match walked {
            Ok(_) => {}
            Err(Stop::GaveUp(reason)) => judged.gave_up = Some(reason),
            Err(Stop::Mismatch(what)) => judged.mismatch = Some(what),
        }
        if text == 0 {
            extra.cold = times.clone();
        }
        judged.times.mask_ns.append(&mut times.mask_ns);
        judged.times.advance_ns.append(&mut times.advance_ns);
    }
    drop(opened);
    judged.checked = walker.checked;
    (Some(constraint), judged)
}

/// Walks a text once more, for its times; whether it was accepted.
fn again(
    walker: &mut Walker<'_>,
    constraint: &dyn Constraint,
    tokens: &[u32],
    times: &mut Times,
) -> bool {
    let Ok(mut session) = constraint.session() else {
        return false;
    };
    matches!(
        walker.walk(session.as_mut(), 0, tokens, None, false, times),
        Ok(true)
    )
}

/// Why a walk ended early.
enum Stop {
    GaveUp(String),
    Mismatch(String),
}

struct Walker<'p> {
    plan: &'p Plan,
    buffer: MaskBuffer,
    rng: ChaCha8Rng,
    checked: usize,
}

impl<'p> Walker<'p> {
    fn new(plan: &'p Plan, id: &str) -> Walker<'p> {
        // FNV-1a, so that a case's positions do not depend on the cases before it.
        let hash = id.bytes().fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        let rng = ChaCha8Rng::seed_from_u64(plan.seed ^ hash);
        Walker {
            plan,
            buffer: MaskBuffer::new(plan.words * 32),
            rng,
            checked: 0,
        }
    }

    /// Leads one text: whether it is accepted. `known` is the time of a mask that lies in the
    /// buffer already.
    fn walk(
        &mut self,
        session: &mut dyn Session,
        text: usize,
        tokens: &[u32],
        mut known: Option<u64>,
        check: bool,
        times: &mut Times,
    ) -> Result<bool, Stop> {
        for (position, &token) in tokens.iter().enumerate() {
            if let Some(ns) = known.take() {
                times.mask_ns.push(ns);
            } else {
                let start = Instant::now();
                let masked = session.mask(&mut self.buffer);
                times.mask_ns.push(nanoseconds(start));
                masked.map_err(Stop::GaveUp)?;
            }
            if check && self.rng.random_range(0..1000) < self.plan.checked_per_mille {
                self.check(session, text, position)?;
            }
            if !self.buffer.mask().allows(TokenId::new(token)) {
                return Ok(false);
            }
            let start = Instant::now();
            let advanced = session.advance(token);
            times.advance_ns.push(nanoseconds(start));
            if let Err(reason) = advanced {
                return Err(Stop::Mismatch(format!(
                    "text {text}, token {position}: allowed by the mask, refused by advance: {reason}"
                )));
            }
        }
        Ok(session.is_accepting())
    }

    fn check(
        &mut self,
        session: &mut dyn Session,
        text: usize,
        position: usize,
    ) -> Result<(), Stop> {
        let Some(expected) = session.brute_force() else {
            return Ok(());
        };
        self.checked += 1;
        for (word, (got, expected)) in self.buffer.words().iter().zip(&expected).enumerate() {
            if got != expected {
                let token = word as u32 * 32 + (got ^ expected).trailing_zeros();
                let said = if got >> (token % 32) & 1 == 1 {
                    "allowed"
                } else {
                    "refused"
                };
                return Err(Stop::Mismatch(format!(
                    "text {text}, token {position}: the mask has token {token} {said}, brute force has not"
                )));
            }
        }
        Ok(())
    }
}

fn nanoseconds(start: Instant) -> u64 {
    start.elapsed().as_nanos().try_into().unwrap_or(u64::MAX)
}

/// A field of `/proc/PROCESS/status`, in bytes.
pub fn memory_field(process: &str, field: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes * 1024)
}
