//! Steps of a batch: one mask for each of many texts at differing positions, written into one
//! buffer. For example, with 16 rows each step asks for 16 masks, and a row whose text is over goes
//! on with the next text.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agreed::allows;
use crate::engines::{Batch, Engine};
use crate::stats::Summary;
use crate::worker::Task;

/// A batch to decode.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Cases of which every text is taken.
    pub tasks: Vec<Task>,
    /// Texts that are led together.
    pub rows: usize,
    /// Steps of a pass.
    pub steps: usize,
}

/// The steps of a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    /// Until all masks of a step are in the buffer.
    pub step_us: Summary,
    /// Masks of a step.
    pub rows: usize,
}

impl Steps {
    /// Microseconds of a step for each of its masks, on average.
    pub fn mask_us(&self) -> f64 {
        self.step_us.avg / self.rows.max(1) as f64
    }
}

/// The two passes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passes {
    /// No text was seen before.
    pub first: Steps,
    /// The same steps once more, under the same compiled schemas.
    pub again: Steps,
}

/// Leads a batch through two passes.
///
/// # Errors
///
/// The engine refuses a schema or a text; only those should be given that it takes.
pub fn run(engine: &dyn Engine, job: &Job, words: usize) -> Result<Passes, String> {
    let schemas: Vec<Value> = job.tasks.iter().map(|task| task.schema.clone()).collect();
    let texts: Vec<(usize, &[u32])> = job
        .tasks
        .iter()
        .enumerate()
        .flat_map(|(case, task)| task.texts.iter().map(move |text| (case, text.as_slice())))
        .collect();
    if texts.iter().all(|(_, tokens)| tokens.is_empty()) || job.rows == 0 {
        return Err("there is nothing to lead".to_owned());
    }
    let schedule = || Schedule::new(texts.iter().map(|t| t.1.len()).collect(), job.rows);
    let begin = schedule();
    let rows: Vec<usize> = begin.rows.iter().map(|at| texts[at.text].0).collect();
    let mut batch = engine.batch(&schemas, &rows)?;
    let mut buffer = vec![0u32; words * job.rows];
    let mut pass = || {
        let mut schedule = schedule();
        for row in 0..job.rows {
            enter(batch.as_mut(), row, schedule.rows[row], &texts)?;
        }
        let mut times = Vec::with_capacity(job.steps);
        for _ in 0..job.steps {
            let start = Instant::now();
            batch.masks(&mut buffer)?;
            times.push(start.elapsed().as_secs_f64() * 1e6);
            for (row, mask) in buffer.chunks_exact(words).enumerate() {
                let at = schedule.rows[row];
                let token = texts[at.text].1[at.position];
                if !allows(mask, token) {
                    return Err(format!("row {row}: token {token} is not allowed"));
                }
                match schedule.go_on(row) {
                    Next::Token => batch.advance(row, token)?,
                    Next::Text => enter(batch.as_mut(), row, schedule.rows[row], &texts)?,
                }
            }
        }
        Ok(Steps {
            step_us: Summary::new(times),
            rows: job.rows,
        })
    };
    Ok(Passes {
        first: pass()?,
        again: pass()?,
    })
}

/// Leads a row to where it is to be.
fn enter(
    batch: &mut dyn Batch,
    row: usize,
    at: At,
    texts: &[(usize, &[u32])],
) -> Result<(), String> {
    let (case, tokens) = texts[at.text];
    batch.begin(row, case)?;
    tokens[..at.position]
        .iter()
        .try_for_each(|&token| batch.advance(row, token))
}

/// The position of a row: its text, and a token in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct At {
    text: usize,
    position: usize,
}

/// The next step of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The next token of its text.
    Token,
    /// Another text.
    Text,
}

/// Which token of which text is next in each row: texts begin at different positions, and the
/// row of one that ends takes the next text.
struct Schedule {
    lengths: Vec<usize>,
    rows: Vec<At>,
    next: usize,
}

impl Schedule {
    /// For texts of these lengths, of which one at least is not 0.
    fn new(lengths: Vec<usize>, rows: usize) -> Schedule {
        let mut schedule = Schedule {
            lengths,
            rows: Vec::new(),
            next: 0,
        };
        for row in 0..rows {
            let text = schedule.next_text();
            // Multiples of the golden ratio lie evenly between 0 and 1, however many.
            let part = (row as f64 * 0.618_033_988_749_895).fract();
            let position = (part * schedule.lengths[text] as f64) as usize;
            schedule.rows.push(At { text, position });
        }
        schedule
    }

    fn next_text(&mut self) -> usize {
        loop {
            let text = self.next % self.lengths.len();
            self.next += 1;
            if self.lengths[text] > 0 {
                return text;
            }
        }
    }

    /// Takes the token of a row.
    fn go_on(&mut self, row: usize) -> Next {
        let At { text, position } = self.rows[row];
        if position + 1 < self.lengths[text] {
            self.rows[row].position += 1;
            return Next::Token;
        }
        self.rows[row] = At {
            text: self.next_text(),
            position: 0,
        };
        Next::Text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engines::{SERVING, Setup, engine};
    use crate::spell::{Speller, byte_vocabulary};

    #[test]
    fn rows_are_at_differing_positions_and_go_round() {
        let mut schedule = Schedule::new(vec![10, 0, 3], 4);
        let at = |text, position| At { text, position };
        assert_eq!(schedule.rows, [at(0, 0), at(2, 1), at(0, 2), at(2, 2)]);
        assert_eq!(schedule.go_on(3), Next::Text);
        assert_eq!(schedule.rows[3], at(0, 0));
        assert_eq!(schedule.go_on(1), Next::Token);
        assert_eq!(schedule.go_on(1), Next::Text);
        assert_eq!(schedule.rows[1], at(2, 0));
        for expected in [Next::Token; 9].into_iter().chain([Next::Text]) {
            assert_eq!(schedule.go_on(0), expected);
        }
    }

    fn job(rows: usize) -> Job {
        let speller = Speller::longest_match(&byte_vocabulary());
        let tasks = (0..5).map(|n| Task {
            id: n.to_string(),
            schema: json!({"type": "array", "items": {"const": n}}),
            texts: ["[]".to_owned(), format!("[{n}, {n}]")]
                .map(|text| speller.spell(&text).unwrap())
                .to_vec(),
        });
        Job {
            tasks: tasks.collect(),
            rows,
            steps: 20,
        }
    }

    #[test]
    fn every_step_is_measured_in_both_passes() {
        for name in SERVING {
            let engine = engine(name, &Setup::measured(byte_vocabulary())).unwrap();
            for rows in [1, 7] {
                let passes = run(engine.as_ref(), &job(rows), 9).unwrap();
                for pass in [&passes.first, &passes.again] {
                    assert_eq!((pass.step_us.count, pass.rows), (20, rows));
                    assert!((pass.mask_us() * rows as f64 - pass.step_us.avg).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn what_is_not_taken_is_told() {
        let engine = engine("tokenmold", &Setup::measured(byte_vocabulary())).unwrap();
        let mut wrong = job(3);
        wrong.tasks[0].texts[1][1] = u32::from(b'x');
        assert!(run(engine.as_ref(), &wrong, 9).is_err());
        assert!(run(engine.as_ref(), &job(0), 9).is_err());
        wrong.tasks.clear();
        assert!(run(engine.as_ref(), &wrong, 9).is_err());
    }
}
