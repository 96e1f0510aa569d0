//! Texts decoded on several threads at once: how many masks a second, and how long each takes. For
//! example, two threads that each mask 1,000 tokens in 10 ms make 200,000 masks a second.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use fsm_index::MaskBuffer;
use serde::{Deserialize, Serialize};

use crate::agreed::allows;
use crate::engines::{Constraint, Engine, Session};
use crate::stats::Summary;
use crate::worker::Task;

/// The result of several threads together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// From the moment at which all began until the last one was done.
    pub wall_us: f64,
    /// Each mask.
    pub mask_us: Summary,
    /// Each step.
    pub advance_us: Summary,
    /// Each schema, where compiling was part of it.
    pub compile_us: Summary,
}

impl Pass {
    /// Masks in a second, steps and whatever else is part of the pass included.
    pub fn masks_per_second(&self) -> f64 {
        self.mask_us.count as f64 / (self.wall_us / 1e6).max(f64::MIN_POSITIVE)
    }
}

/// The three passes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passes {
    /// Every thread takes the next case, compiles its schema and decodes its texts: what is
    /// shared is the vocabulary.
    pub cases: Pass,
    /// Every schema compiled beforehand, and used by all threads: each takes the next text.
    pub first: Pass,
    /// The same texts once more.
    pub again: Pass,
}

/// The times of one thread, in nanoseconds.
#[derive(Default)]
struct Measured {
    mask: Vec<u64>,
    advance: Vec<u64>,
    compile: Vec<u64>,
}

/// Decodes all texts on so many threads, in three passes.
///
/// # Errors
///
/// The engine refuses a schema or a text; only those should be given that it takes.
pub fn decode(
    engine: &dyn Engine,
    tasks: &[Task],
    threads: usize,
    words: usize,
) -> Result<Passes, String> {
    let threads = threads.max(1);
    let mut buffers = vec![MaskBuffer::new(words * 32); threads];
    let cases = together(&mut buffers, tasks.len(), |mask, at, measured| {
        let start = Instant::now();
        let constraint = engine.compile(&tasks[at].schema)?;
        measured.compile.push(nanoseconds(start));
        for tokens in &tasks[at].texts {
            walk(constraint.session()?.as_mut(), tokens, mask, measured)?;
        }
        Ok(())
    })?;
    let shared: Vec<Box<dyn Constraint>> = tasks
        .iter()
        .map(|task| engine.compile(&task.schema))
        .collect::<Result<_, _>>()?;
    let texts: Vec<(usize, usize)> = (0..tasks.len())
        .flat_map(|case| (0..tasks[case].texts.len()).map(move |text| (case, text)))
        .collect();
    let own = |mask| {
        let constraints = shared.iter().map(|c| c.for_another_thread());
        (mask, constraints.collect::<Vec<_>>())
    };
    let mut states: Vec<_> = buffers.into_iter().map(own).collect();
    let mut pass = || {
        together(
            &mut states,
            texts.len(),
            |(mask, constraints), at, measured| {
                let (case, text) = texts[at];
                let mut session = constraints[case].session()?;
                walk(session.as_mut(), &tasks[case].texts[text], mask, measured)
            },
        )
    };
    Ok(Passes {
        cases,
        first: pass()?,
        again: pass()?,
    })
}

/// Lets a thread for each of `states` do what there is to do: each takes the next of `count`
/// things that nobody has taken.
fn together<S: Send>(
    states: &mut [S],
    count: usize,
    work: impl Fn(&mut S, usize, &mut Measured) -> Result<(), String> + Sync,
) -> Result<Pass, String> {
    let next = AtomicUsize::new(0);
    let barrier = Barrier::new(states.len());
    let lead = |state: &mut S| {
        let mut measured = Measured::default();
        barrier.wait();
        let start = Instant::now();
        let done = loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                break Ok(());
            }
            if let Err(reason) = work(state, at, &mut measured) {
                break Err(reason);
            }
        };
        done.map(|()| (start.elapsed(), measured))
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = states
            .iter_mut()
            .map(|state| scope.spawn(|| lead(state)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|result| result.unwrap_or_else(|_| Err("a thread panicked".to_owned())))
            .collect()
    });
    let mut all = Measured::default();
    let mut wall = std::time::Duration::ZERO;
    for result in results {
        let (time, mut measured) = result?;
        wall = wall.max(time);
        all.mask.append(&mut measured.mask);
        all.advance.append(&mut measured.advance);
        all.compile.append(&mut measured.compile);
    }
    Ok(Pass {
        wall_us: wall.as_secs_f64() * 1e6,
        mask_us: Summary::of_nanoseconds(&all.mask),
        advance_us: Summary::of_nanoseconds(&all.advance),
        compile_us: Summary::of_nanoseconds(&all.compile),
    })
}

fn walk(
    session: &mut dyn Session,
    tokens: &[u32],
    mask: &mut MaskBuffer,
    measured: &mut Measured,
) -> Result<(), String> {
    for &token in tokens {
        let start = Instant::now();
        session.mask(mask)?;
        measured.mask.push(nanoseconds(start));
        if !allows(mask.words(), token) {
            return Err(format!("token {token} is not allowed"));
        }
        let start = Instant::now();
        session.advance(token)?;
        measured.advance.push(nanoseconds(start));
    }
    Ok(())
}

fn nanoseconds(start: Instant) -> u64 {
    start.elapsed().as_nanos().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::engines::{Setup, engine};
    use crate::spell::{Speller, byte_vocabulary};

    fn tasks() -> Vec<Task> {
        let speller = Speller::longest_match(&byte_vocabulary());
        (0..12)
            .map(|n| Task {
                id: n.to_string(),
                schema: json!({"type": "array", "items": {"const": n}}),
                texts: ["[]".to_owned(), format!("[{n}]"), format!("[{n}, {n}]")]
                    .map(|text| speller.spell(&text).unwrap())
                    .to_vec(),
            })
            .collect()
    }

    #[test]
    fn every_text_is_decoded_once_a_pass() {
        let tasks = tasks();
        let tokens: usize = tasks.iter().flat_map(|t| &t.texts).map(Vec::len).sum();
        for name in crate::engines::SERVING {
            let engine = engine(name, &Setup::measured(byte_vocabulary())).unwrap();
            for threads in [1, 3] {
                let passes = decode(engine.as_ref(), &tasks, threads, 9).unwrap();
                for pass in [&passes.cases, &passes.first, &passes.again] {
                    assert_eq!(
                        (pass.mask_us.count, pass.advance_us.count),
                        (tokens, tokens)
                    );
                    assert!(pass.masks_per_second() > 0.0);
                }
                assert_eq!(passes.cases.compile_us.count, 12);
                assert_eq!(passes.again.compile_us.count, 0);
            }
        }
    }

    #[test]
    fn what_is_not_taken_is_told() {
        let engine = engine("tokenmold", &Setup::measured(byte_vocabulary())).unwrap();
        let mut tasks = tasks();
        tasks[5].texts[1] = vec![u32::from(b'{')];
        let error = decode(engine.as_ref(), &tasks, 2, 9).unwrap_err();
        assert!(error.contains("not allowed"), "{error}");
        tasks[5].schema = json!({"$ref": "#/nowhere"});
        assert!(decode(engine.as_ref(), &tasks, 2, 9).is_err());
    }

    #[test]
    fn nothing_is_done_twice_and_nothing_is_left() {
        let done = Mutex::new(Vec::new());
        let pass = together(&mut [(); 4], 100, |(), at, measured| {
            done.lock().unwrap().push(at);
            measured.mask.push(1000);
            Ok(())
        });
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        assert_eq!(done, (0..100).collect::<Vec<_>>());
        assert_eq!(pass.unwrap().mask_us.count, 100);
    }
}
