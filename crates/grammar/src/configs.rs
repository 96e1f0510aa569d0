//! Configurations by number: what a text can have become, and the steps that were taken.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::state::Saved;

/// Not known yet.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// A configuration has a row of steps once so many were taken from it: most are met on the
/// way to few tokens.
const FEW_STEPS: u8 = 5;

/// Stacks with a lexeme that has begun on top of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Thread {
    /// A [`Lex`](crate::run::Lex), or a place in JSON.
    pub(crate) place: u32,
    pub(crate) front: u32,
}

/// All that a text can have become. Its threads are beside it.
#[derive(Debug)]
pub(crate) struct Config {
    /// Where its threads begin among those of all, and how many it has.
    threads: (u32, u32),
    /// The stacks between lexemes that stand here; 0 if none do.
    pub(crate) fresh: u32,
    /// Under greedy lexing: the stacks if the lexeme ends here.
    pub(crate) ended: u32,
    /// The least height of a node that was looked at for that.
    pub(crate) ended_least: u32,
    /// Under greedy lexing: whether a completion was found.
    pub(crate) life: Life,
    /// The least height of a node that was looked at for that.
    pub(crate) life_least: u32,
    /// The number of its row, [`UNKNOWN`] if it has none.
    row: u32,
    /// Steps that were taken before it had one.
    steps: u8,
    pub(crate) saved: Option<Arc<Saved>>,
}

/// Whether a configuration can be finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Unknown,
    Live,
    /// No way to the end was found.
    Stuck,
}

/// Where a byte leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) to: u32,
    /// The least height of a node that was looked at.
    pub(crate) looked: u32,
}

/// All that one scratch knows.
#[derive(Debug, Default)]
pub(crate) struct Configs {
    all: Vec<Config>,
    threads: Vec<Thread>,
    /// Those of one thread that do not stand between lexemes: most.
    of_one: HashMap<Thread, u32, FixedState>,
    /// The rest, with what stands between lexemes as a last thread in no place.
    others: HashMap<Box<[Thread]>, u32, FixedState>,
    rows: Vec<Step>,
}

impl Configs {
    /// Forgets all of them, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.threads.clear();
        self.of_one.clear();
        self.others.clear();
        self.rows.clear();
    }

    pub(crate) fn threads(&self, config: u32) -> &[Thread] {
        let (from, count) = self.all[config as usize].threads;
        &self.threads[from as usize..][..count as usize]
    }

    /// The number of a configuration; `threads` are ascending. Bytes that it takes are added
    /// to `bytes` if it is new.
    pub(crate) fn intern(
        &mut self,
        mut threads: Vec<Thread>,
        fresh: u32,
        bytes: &mut usize,
    ) -> u32 {
        let id = self.all.len() as u32;
        if let (&[thread], 0) = (&*threads, fresh) {
            let known = *self.of_one.entry(thread).or_insert(id);
            if known != id {
                return known;
            }
        } else {
            threads.push(Thread {
                place: UNKNOWN,
                front: fresh,
            });
            if let Some(&known) = self.others.get(&*threads) {
                return known;
            }
            self.others.insert(Box::from(&*threads), id);
            threads.pop();
        }
        *bytes += 90 + 24 * threads.len();
        let from = self.threads.len() as u32;
        self.threads.extend_from_slice(&threads);
        self.all.push(Config {
            threads: (from, threads.len() as u32),
            fresh,
            ended: UNKNOWN,
            ended_least: u32::MAX,
            life: Life::Unknown,
            life_least: u32::MAX,
            row: UNKNOWN,
            steps: 0,
            saved: None,
        });
        id
    }

    /// A step that was taken before, if it is remembered; rows have such a width.
    #[inline]
    pub(crate) fn known(&self, config: u32, class: u8, width: usize) -> Option<Step> {
        let row = self.all[config as usize].row;
        if row == UNKNOWN {
            return None;
        }
        let step = self.rows[row as usize * width + usize::from(class)];
        (step.to != UNKNOWN).then_some(step)
    }

    /// Remembers a step.
    pub(crate) fn keep(
        &mut self,
        config: u32,
        class: u8,
        width: usize,
        step: Step,
        bytes: &mut usize,
    ) {
        let own = &mut self.all[config as usize];
        if own.row == UNKNOWN {
            own.steps += 1;
            if own.steps <= FEW_STEPS {
                return;
            }
            own.row = (self.rows.len() / width) as u32;
            let unknown = Step {
                to: UNKNOWN,
                looked: u32::MAX,
            };
            self.rows.resize(self.rows.len() + width, unknown);
            *bytes += width * size_of::<Step>();
        }
        self.rows[own.row as usize * width + usize::from(class)] = step;
    }
}

impl std::ops::Index<u32> for Configs {
    type Output = Config;

    fn index(&self, config: u32) -> &Config {
        &self.all[config as usize]
    }
}

impl std::ops::IndexMut<u32> for Configs {
    fn index_mut(&mut self, config: u32) -> &mut Config {
        &mut self.all[config as usize]
    }
}
