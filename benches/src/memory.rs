//! Measures the memory that schemas cost: each one while it is kept, and all of them one after the
//! other. For example, a [`Soak`] in which each case leaves 10 bytes behind has a growth of 10.

use std::time::{Duration, Instant};

use fsm_index::MaskBuffer;
use serde::{Deserialize, Serialize};

use crate::agreed::allows;
use crate::engines::{Constraint, Engine};
use crate::stats::{Summary, slope};
use crate::worker::{Task, memory_field};

/// A question to a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Question {
    /// The question for its memory, which is answered by a [`Use`].
    Use,
    /// To compile and decode a case: answered by a [`CaseMemory`].
    Case(Task),
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// Allocated and not freed.
    pub live: i64,
    /// Resident, as the system says.
    pub resident: u64,
}

impl Use {
    /// Returns the use of this process, whose allocator tells the live bytes.
    pub fn now(live: i64) -> Use {
        Use {
            live,
            resident: memory_field("self", "VmRSS:").unwrap_or(0),
        }
    }
}

/// A case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseMemory {
    /// True if the schema was refused.
    pub refused: bool,
    /// For each text that was led to its end or to where it is refused, whether it was taken.
    pub accepted: Vec<bool>,
    /// True if the time was over before the last text was.
    pub late: bool,
    /// Compiling, in microseconds.
    pub compile_us: f64,
    /// Compiling and all texts, in microseconds.
    pub case_us: f64,
    /// Bytes that compiling left allocated.
    pub compiled: i64,
    /// Bytes that went when the schema was dropped after its texts.
    pub held: i64,
    /// Bytes that stayed when it was dropped: what the vocabulary or the engine remembers for
    /// further schemas.
    pub stayed: i64,
    /// The process afterwards.
    pub after: Use,
}

/// Compiles a case, decodes its texts and drops it. `live` tells the bytes that are allocated,
/// and waits before for what other threads have been told to do.
pub fn measure(
    engine: &dyn Engine,
    task: Task,
    buffer: &mut MaskBuffer,
    limit: Duration,
    live: &dyn Fn() -> i64,
) -> CaseMemory {
    let mut found = CaseMemory {
        // Room for all, so that nothing of this is allocated while it is counted.
        accepted: Vec::with_capacity(task.texts.len()),
        ..CaseMemory::default()
    };
    let before = live();
    let start = Instant::now();
    match engine.compile(&task.schema) {
        Ok(constraint) => {
            found.compile_us = start.elapsed().as_secs_f64() * 1e6;
            found.compiled = live() - before;
            found.late = lead(
                constraint.as_ref(),
                &task,
                buffer,
                start + limit,
                &mut found.accepted,
            );
            let most = live();
            drop(constraint);
            let left = live();
            (found.held, found.stayed) = (most - left, left - before);
        }
        Err(reason) => {
            found.refused = true;
            drop(reason);
            found.stayed = live() - before;
        }
    }
    found.case_us = start.elapsed().as_secs_f64() * 1e6;
    // The case's own memory is no engine's.
    drop(task);
    found.after = Use::now(live());
    found
}

/// Leads the texts of a case; whether the time was over before they were.
fn lead(
    constraint: &dyn Constraint,
    task: &Task,
    buffer: &mut MaskBuffer,
    end: Instant,
    accepted: &mut Vec<bool>,
) -> bool {
    for tokens in &task.texts {
        let Ok(mut session) = constraint.session() else {
            accepted.push(false);
            continue;
        };
        let mut taken = true;
        for &token in tokens {
            if Instant::now() > end {
                return true;
            }
            taken = session.mask(buffer).is_ok()
                && allows(buffer.words(), token)
                && session.advance(token).is_ok();
            if !taken {
                break;
            }
        }
        accepted.push(taken && session.is_accepting());
    }
    false
}

/// The memory of an engine over all cases in one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Soak {
    /// The engine.
    pub name: String,
    /// Before the vocabulary was read.
    pub start: Use,
    /// When the engine was made.
    pub made: Use,
    /// The cases by their names, in their order, once for each round.
    pub cases: Vec<(String, CaseMemory)>,
    /// The number of cases that a round has.
    pub round: usize,
    /// Valid texts that were not accepted.
    pub valid_rejected: usize,
    /// Invalid texts that were.
    pub wrong_accepts: usize,
    /// Why it ended before the last case, if it did.
    pub broken: Option<String>,
}

impl Soak {
    /// Adds a case, of whose texts `valid` says what they are.
    pub fn add(&mut self, id: &str, valid: &[bool], case: CaseMemory) {
        for (valid, accepted) in valid.iter().zip(&case.accepted) {
            self.valid_rejected += usize::from(*valid && !accepted);
            self.wrong_accepts += usize::from(!valid && *accepted);
        }
        self.cases.push((id.to_owned(), case));
    }

    /// Cases that were refused.
    pub fn refused(&self) -> usize {
        self.cases.iter().filter(|(_, case)| case.refused).count()
    }

    /// The cases that were left because their time was over.
    pub fn late(&self) -> impl Iterator<Item = &(String, CaseMemory)> {
        self.cases.iter().filter(|(_, case)| case.late)
    }

    /// Resident memory after each case, in bytes.
    pub fn resident(&self) -> Summary {
        let resident = self.cases.iter().map(|(_, case)| case.after.resident);
        Summary::new(resident.map(|bytes| bytes as f64).collect())
    }

    /// Returns the use after the last case.
    pub fn end(&self) -> Use {
        self.cases.last().map_or(self.made, |(_, case)| case.after)
    }

    /// Bytes by which what is allocated grows with each case of the second half: the slope of
    /// the line of least squares.
    pub fn growth(&self) -> f64 {
        let half = self.cases.len() / 2;
        let points: Vec<(f64, f64)> = self.cases[half..]
            .iter()
            .enumerate()
            .map(|(at, (_, case))| (at as f64, case.after.live as f64))
            .collect();
        slope(&points)
    }

    /// Tells whether the case at a place was taken, and decoded in its time.
    pub fn took(&self, at: usize) -> bool {
        let case = self.cases.get(at);
        case.is_some_and(|(_, case)| !case.refused && !case.late)
    }

    /// A figure of the cases at these places.
    pub fn of(&self, places: &[usize], figure: impl Fn(&CaseMemory) -> f64) -> Summary {
        let cases = places.iter().filter_map(|&at| self.cases.get(at));
        Summary::new(cases.map(|(_, case)| figure(case)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;
    use crate::engines::{Setup, engine};
    use crate::spell::{Speller, byte_vocabulary};

    fn task() -> Task {
        let speller = Speller::longest_match(&byte_vocabulary());
        Task {
            id: "list".to_owned(),
            schema: json!({"type": "array", "items": {"type": "integer"}}),
            texts: ["[1, 2]", "[true]"]
                .map(|text| speller.spell(text).unwrap())
                .to_vec(),
        }
    }

    #[test]
    fn a_case_is_counted_where_it_is_compiled_led_and_dropped() {
        let engine = engine("tokenmold", &Setup::measured(byte_vocabulary())).unwrap();
        // What an allocator might tell, one after the other.
        let told = [100, 160, 200, 110, 70].map(Cell::new);
        let at = Cell::new(0);
        let live = || {
            at.set(at.get() + 1);
            told[at.get() - 1].get()
        };
        let plenty = Duration::from_secs(60);
        let mut buffer = MaskBuffer::new(9 * 32);
        let found = measure(engine.as_ref(), task(), &mut buffer, plenty, &live);
        assert_eq!(found.accepted, [true, false]);
        assert_eq!((found.compiled, found.held, found.stayed), (60, 90, 10));
        assert_eq!(found.after.live, 70);
        assert!(!found.refused && !found.late && found.case_us >= found.compile_us);

        let late = measure(engine.as_ref(), task(), &mut buffer, Duration::ZERO, &|| 0);
        assert!(late.late && late.accepted.is_empty());
        let mut refused = task();
        refused.schema = json!({"$ref": "#/nowhere"});
        assert!(measure(engine.as_ref(), refused, &mut buffer, plenty, &|| 0).refused);
    }

    #[test]
    fn what_grows_is_told_from_what_does_not() {
        let mut soak = Soak {
            round: 100,
            ..Soak::default()
        };
        assert_eq!((soak.growth(), soak.end()), (0.0, Use::default()));
        let case = |live: i64| CaseMemory {
            accepted: vec![true, true],
            compiled: live,
            after: Use {
                live,
                resident: 4096,
            },
            ..CaseMemory::default()
        };
        for n in 0..100 {
            soak.add(&n.to_string(), &[true, false], case(n.min(50) * 1000));
        }
        assert!(soak.growth().abs() < 1e-6, "{}", soak.growth());
        assert_eq!((soak.valid_rejected, soak.wrong_accepts), (0, 100));
        let compiled = soak.of(&[3, 7, 1_000], |c| c.compiled as f64);
        assert_eq!((compiled.count, compiled.p50, compiled.max), (2, 3e3, 7e3));
        assert!(soak.took(99) && !soak.took(100));
        assert_eq!(soak.resident().max, 4096.0);
        for n in 0..300 {
            soak.add("x", &[false], case(n * 10));
        }
        assert!((soak.growth() - 10.0).abs() < 1e-6, "{}", soak.growth());
    }
}
