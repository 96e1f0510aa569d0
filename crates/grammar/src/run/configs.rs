//! Configurations by number: all that a text can have become, and the steps that were taken.
//!
//! For example, behind `a` of `root ::= "ab" | [a-z]+` one thread is inside of a lexeme, and the
//! stacks behind the name that may end there are beside it.

use std::sync::Arc;

use crate::run::by_hash::ByHash;
use crate::run::lists::{List, Lists};
use crate::run::saved::Saved;

/// Stands for what is not known yet, because no number grows so large.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// Steps that are taken from a configuration before it has a row of them, because most are met on
/// the way to few tokens.
const FEW_STEPS: u8 = 12;

/// Marks the number of a configuration that stands in JSON of a walk, because it means something
/// in that walk alone, and so does the place of a thread there.
pub(crate) const WALK: u32 = 1 << 31;

/// Marks the number of a place in JSON, because a lexeme may have the same number.
pub(crate) const JSON: u32 = 1 << 31;

/// Marks a place in JSON that means something in one walk alone, because it is a cursor there.
pub(crate) const WALK_PLACE: u32 = 1 << 30;

/// Configurations of a walk for which room is kept for the next one. More are rare, so that their
/// memory would be held for nothing.
const FEW_CONFIGS: usize = 1 << 14;

/// Stacks with a lexeme that has begun on top of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Thread {
    /// A [`Lex`](crate::run::lexes::Lex), or a place in JSON.
    pub(crate) place: u32,
    pub(crate) front: u32,
}

impl Thread {
    /// Tells whether it stands in a value of JSON.
    #[inline]
    pub(crate) fn is_in_json(self) -> bool {
        self.place & JSON != 0
    }
}

/// All that a text can have become. Its threads are beside it.
#[derive(Debug)]
pub(crate) struct Configuration {
    threads: List,
    /// The stacks between lexemes that stand here; 0 if none do.
    pub(crate) fresh: u32,
    /// Under greedy lexing: the stacks if the lexeme ends here.
    pub(super) ended: u32,
    /// The least height of a node that was looked at for that.
    pub(super) ended_least: u32,
    /// Under greedy lexing: whether a completion was found.
    pub(crate) life: Life,
    /// The least height of a node that was looked at for that.
    pub(crate) life_least: u32,
    /// The number of its row, [`UNKNOWN`] if it has none.
    row: u32,
    /// Steps that were taken before it had one.
    steps: u8,
    pub(super) saved: Option<Arc<Saved>>,
}

/// True if a configuration can be finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Unknown,
    Live,
    /// No way to the end was found.
    Stuck,
}

/// The target of a byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) to: u32,
    /// The least height of a node that was looked at.
    pub(super) looked: u32,
}

/// The least height of the nodes that were looked at since somebody began to ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Least(u32);

impl Default for Least {
    fn default() -> Least {
        Least(u32::MAX)
    }
}

impl Least {
    #[inline]
    pub(crate) fn note(&mut self, height: u32) {
        self.0 = self.0.min(height);
    }

    #[inline]
    pub(crate) fn height(self) -> u32 {
        self.0
    }

    /// Begins anew, and returns what there was.
    pub(crate) fn anew(&mut self) -> Least {
        std::mem::take(self)
    }

    /// Goes on as before, and returns the least height since then.
    pub(crate) fn back(&mut self, before: Least) -> u32 {
        std::mem::replace(self, before).0
    }
}

/// All configurations that one scratch knows. Number 0 is the dead one.
#[derive(Debug)]
pub(crate) struct Configs {
    kept: ConfigTable,
    /// The ones of the current walk, with [`WALK`] in their numbers.
    walk: ConfigTable,
}

impl Default for Configs {
    fn default() -> Configs {
        let mut configs = Configs {
            kept: ConfigTable::default(),
            walk: ConfigTable::default(),
        };
        configs.intern(Vec::new(), 0);
        configs
    }
}

/// Configurations by number.
#[derive(Debug, Default)]
struct ConfigTable {
    all: Vec<Configuration>,
    threads: Lists<Thread>,
    /// By threads and stacks.
    ids: ByHash,
    rows: Rows,
    bytes: usize,
}

/// Steps by class, a row a configuration. They lie in chunks, so that none is ever moved.
#[derive(Debug, Default)]
struct Rows {
    chunks: Vec<Vec<Step>>,
    count: u32,
}

/// The rows of one chunk, because a small grammar has few rows and a chunk is made as a whole.
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

impl ConfigTable {
    /// Forgets all of them, and keeps their memory.
    fn clear(&mut self) {
        self.all.clear();
        self.threads.clear();
        self.ids.clear();
        self.rows.clear();
        self.bytes = 0;
    }

    fn intern(&mut self, threads: Vec<Thread>, fresh: u32) -> u32 {
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
        self.bytes += 90 + 24 * threads.len();
        self.all.push(Configuration {
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
    /// Forgets all but the dead one, and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.walk.clear();
        self.intern(Vec::new(), 0);
    }

    /// Returns the bytes that all but those of the walk take, about.
    pub(super) fn bytes(&self) -> usize {
        self.kept.bytes
    }

    /// Forgets those of a walk.
    pub(super) fn clear_walk(&mut self) {
        match self.walk.all.len() > FEW_CONFIGS {
            // A giant walk is rare, and need not keep its memory.
            true => self.walk = ConfigTable::default(),
            false => self.walk.clear(),
        }
    }

    #[inline]
    fn table(&self, config: u32) -> &ConfigTable {
        match config & WALK {
            0 => &self.kept,
            _ => &self.walk,
        }
    }

    #[inline]
    fn table_mut(&mut self, config: u32) -> &mut ConfigTable {
        match config & WALK {
            0 => &mut self.kept,
            _ => &mut self.walk,
        }
    }

    /// Returns the threads of a configuration, ascending.
    #[inline]
    pub(crate) fn threads(&self, config: u32) -> &[Thread] {
        let table = self.table(config);
        table
            .threads
            .get(table.all[(config & !WALK) as usize].threads)
    }

    /// Returns the number of a configuration; `threads` are ascending.
    pub(super) fn intern(&mut self, threads: Vec<Thread>, fresh: u32) -> u32 {
        let place = threads.last().map_or(0, |thread| thread.place);
        match place & JSON != 0 && place & WALK_PLACE != 0 {
            true => WALK | self.walk.intern(threads, fresh),
            false => self.kept.intern(threads, fresh),
        }
    }

    /// Tells whether no value of JSON is read there, or may begin.
    #[inline]
    pub(crate) fn has_no_json(&self, config: u32) -> bool {
        // Threads are ascending.
        let last = self.threads(config).last();
        last.is_none_or(|thread| !thread.is_in_json())
    }

    /// Returns a step that was taken before, if it is remembered, in rows of some width.
    #[inline]
    pub(super) fn known(&self, config: u32, class: u8, width: usize) -> Option<Step> {
        let table = self.table(config);
        let row = table.all[(config & !WALK) as usize].row;
        if row == UNKNOWN {
            return None;
        }
        let step = table.rows.get(row, class, width);
        (step.to != UNKNOWN).then_some(step)
    }

    /// Remembers a step.
    pub(super) fn keep(&mut self, config: u32, class: u8, width: usize, step: Step) {
        let table = self.table_mut(config);
        let own = &mut table.all[(config & !WALK) as usize];
        if own.row == UNKNOWN {
            own.steps += 1;
            if own.steps <= FEW_STEPS {
                return;
            }
            own.row = table.rows.add(width);
            table.bytes += width * size_of::<Step>();
        }
        table.rows.set(own.row, class, width, step);
    }
}

impl std::ops::Index<u32> for Configs {
    type Output = Configuration;

    #[inline]
    fn index(&self, config: u32) -> &Configuration {
        &self.table(config).all[(config & !WALK) as usize]
    }
}

impl std::ops::IndexMut<u32> for Configs {
    #[inline]
    fn index_mut(&mut self, config: u32) -> &mut Configuration {
        &mut self.table_mut(config).all[(config & !WALK) as usize]
    }
}
