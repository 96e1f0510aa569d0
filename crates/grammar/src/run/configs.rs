//! Configurations by number: what a text can have become, and the steps that were taken.

use std::sync::Arc;

use crate::run::by_hash::ByHash;
use crate::run::lists::{List, Lists};
use crate::run::state::Saved;

/// Not known yet.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// A configuration has a row of steps once so many were taken from it: most are met on the
/// way to few tokens.
const FEW_STEPS: u8 = 12;

/// Marks the number of a configuration that stands in JSON of a walk: it means something in that
/// walk alone, and so does the place of a thread there.
pub(crate) const WALK: u32 = 1 << 31;

/// Marks the number of a place in JSON.
pub(crate) const JSON: u32 = 1 << 31;

/// Marks a place in JSON that means something in one walk alone.
pub(crate) const WALK_PLACE: u32 = 1 << 30;

/// Room for so many configurations of a walk is kept for the next one.
const FEW_CONFIGS: usize = 1 << 14;

/// Stacks with a lexeme that has begun on top of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Thread {
    /// A [`Lex`](crate::run::caches::Lex), or a place in JSON.
    pub(crate) place: u32,
    pub(crate) front: u32,
}

/// All that a text can have become. Its threads are beside it.
#[derive(Debug)]
pub(crate) struct Config {
    threads: List,
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

/// True if a configuration can be finished.
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
    kept: Table,
    /// Those of the current walk, with [`WALK`] in their numbers.
    walk: Table,
}

/// Configurations by number.
#[derive(Debug, Default)]
struct Table {
    all: Vec<Config>,
    threads: Lists<Thread>,
    /// By threads and stacks.
    ids: ByHash,
    rows: Rows,
}

/// Steps by class, a row a configuration. They lie in chunks, so that none is ever moved.
#[derive(Debug, Default)]
struct Rows {
    chunks: Vec<Vec<Step>>,
    count: u32,
}

/// Rows of one chunk.
const CHUNK: u32 = 64;

impl Rows {
    /// Forgets all of them, and keeps their memory.
    fn clear(&mut self) {
        self.chunks.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }

    /// The number of a row of which nothing is known.
    fn add(&mut self, width: usize) -> u32 {
        let id = self.count;
        self.count += 1;
        let at = (id / CHUNK) as usize;
        if at == self.chunks.len() {
            self.chunks.push(Vec::with_capacity(CHUNK as usize * width));
        }
        let unknown = Step {
            to: UNKNOWN,
            looked: u32::MAX,
        };
        let chunk = &mut self.chunks[at];
        chunk.resize(chunk.len() + width, unknown);
        id
    }

    #[inline]
    fn get(&self, row: u32, class: u8, width: usize) -> Step {
        let at = (row % CHUNK) as usize * width + usize::from(class);
        self.chunks[(row / CHUNK) as usize][at]
    }

    fn set(&mut self, row: u32, class: u8, width: usize, step: Step) {
        let at = (row % CHUNK) as usize * width + usize::from(class);
        self.chunks[(row / CHUNK) as usize][at] = step;
    }
}

impl Table {
    /// Forgets all of them, and keeps their memory.
    fn clear(&mut self) {
        self.all.clear();
        self.threads.clear();
        self.ids.clear();
        self.rows.clear();
    }

    fn intern(&mut self, threads: Vec<Thread>, fresh: u32, bytes: &mut usize) -> u32 {
        let id = self.all.len() as u32;
        let hash = self.ids.hash((&*threads, fresh));
        let is = |other: u32| {
            let own = &self.all[other as usize];
            own.fresh == fresh && self.threads.get(own.threads) == threads
        };
        if let Some(known) = self.ids.find(hash, is) {
            return known;
        }
        self.ids.add(hash, id);
        *bytes += 90 + 24 * threads.len();
        self.all.push(Config {
            threads: self.threads.add(&threads),
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
}

impl Configs {
    /// Forgets all of them, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.walk.clear();
    }

    /// Forgets those of a walk.
    pub(crate) fn clear_walk(&mut self) {
        match self.walk.all.len() > FEW_CONFIGS {
            // A giant walk is rare, and need not keep its memory.
            true => self.walk = Table::default(),
            false => self.walk.clear(),
        }
    }

    #[inline]
    fn table(&self, config: u32) -> &Table {
        match config & WALK {
            0 => &self.kept,
            _ => &self.walk,
        }
    }

    #[inline]
    fn table_mut(&mut self, config: u32) -> &mut Table {
        match config & WALK {
            0 => &mut self.kept,
            _ => &mut self.walk,
        }
    }

    pub(crate) fn threads(&self, config: u32) -> &[Thread] {
        let table = self.table(config);
        table
            .threads
            .get(table.all[(config & !WALK) as usize].threads)
    }

    /// The number of a configuration; `threads` are ascending. Bytes that it takes are added
    /// to `bytes` if it is new and outlives the walk.
    pub(crate) fn intern(&mut self, threads: Vec<Thread>, fresh: u32, bytes: &mut usize) -> u32 {
        let place = threads.last().map_or(0, |thread| thread.place);
        match place & JSON != 0 && place & WALK_PLACE != 0 {
            true => WALK | self.walk.intern(threads, fresh, &mut 0),
            false => self.kept.intern(threads, fresh, bytes),
        }
    }

    /// A step that was taken before, if it is remembered; rows have such a width.
    #[inline]
    pub(crate) fn known(&self, config: u32, class: u8, width: usize) -> Option<Step> {
        let table = self.table(config);
        let row = table.all[(config & !WALK) as usize].row;
        if row == UNKNOWN {
            return None;
        }
        let step = table.rows.get(row, class, width);
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
        let table = self.table_mut(config);
        let own = &mut table.all[(config & !WALK) as usize];
        if own.row == UNKNOWN {
            own.steps += 1;
            if own.steps <= FEW_STEPS {
                return;
            }
            own.row = table.rows.add(width);
            if config & WALK == 0 {
                *bytes += width * size_of::<Step>();
            }
        }
        table.rows.set(own.row, class, width, step);
    }
}

impl std::ops::Index<u32> for Configs {
    type Output = Config;

    #[inline]
    fn index(&self, config: u32) -> &Config {
        &self.table(config).all[(config & !WALK) as usize]
    }
}

impl std::ops::IndexMut<u32> for Configs {
    #[inline]
    fn index_mut(&mut self, config: u32) -> &mut Config {
        &mut self.table_mut(config).all[(config & !WALK) as usize]
    }
}
