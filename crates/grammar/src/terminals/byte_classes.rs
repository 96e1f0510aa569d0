//! Classes of bytes that rows do not tell apart.
//!
//! For example, `/[a-z]+x/` tells `x` from the other letters, and these from all other bytes.

use std::ops::Range;

/// Bytes that lead from one state to another: a row has them ascending, without those that
/// lead nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    pub(crate) first: u8,
    pub(crate) last: u8,
    pub(crate) to: u32,
}

impl Run {
    pub(super) fn one(byte: u8, to: u32) -> Run {
        Run {
            first: byte,
            last: byte,
            to,
        }
    }
}

/// Classes of bytes, numbered by their first bytes.
pub(crate) struct ByteClasses {
    pub(crate) of_byte: [u8; 256],
    /// By byte, and behind the last one: how many classes begin below it.
    below: [usize; 257],
}

impl ByteClasses {
    /// Each byte is a class.
    pub(crate) fn bytes() -> ByteClasses {
        ByteClasses::of(std::array::from_fn(|byte| byte as u8))
    }

    /// Bytes are of one class that lead to the same in each of some rows.
    pub(crate) fn new(rows: &[&[Run]]) -> ByteClasses {
        let mut partition = Partition::one();
        // Refined row by row, so that no column is ever held as a whole.
        for row in rows {
            partition.refine(row);
        }
        partition.in_order()
    }

    fn of(of_byte: [u8; 256]) -> ByteClasses {
        let mut below = [0; 257];
        for (byte, &class) in of_byte.iter().enumerate() {
            below[byte + 1] = below[byte].max(usize::from(class) + 1);
        }
        ByteClasses { of_byte, below }
    }

    /// Returns the number of classes.
    pub(crate) fn len(&self) -> usize {
        self.below[256]
    }

    /// Returns the classes that begin in a run of a row that tells none of them apart: they are one behind the other.
    /// Others begin in runs that lead to the same.
    pub(crate) fn of_run(&self, run: &Run) -> Range<usize> {
        self.below[usize::from(run.first)]..self.below[usize::from(run.last) + 1]
    }
}

/// Classes of bytes that are cut in two as rows tell them apart (as partitions are refined by Paige and Tarjan, "Three
/// Partition Refinement Algorithms", 1987).
struct Partition {
    of_byte: [u8; 256],
    /// By class: its bytes.
    sizes: Vec<usize>,
    /// By class: its first byte, and its last one.
    edges: Vec<(u8, u8)>,
    /// By the first byte of a run: a bit for the last one, if the run is known to be of whole classes. It stays so.
    whole: [[u64; 4]; 256],
    /// By class: how many of its bytes lead to the state that is looked at.
    met: [usize; 256],
}

impl Partition {
    /// All bytes are one class.
    fn one() -> Partition {
        Partition {
            of_byte: [0; 256],
            sizes: vec![256],
            edges: vec![(0, u8::MAX)],
            whole: [[0; 4]; 256],
            met: [0; 256],
        }
    }

    /// Cuts the classes whose bytes a row leads to different states.
    fn refine(&mut self, row: &[Run]) {
        let mut cut: Vec<u32> = Vec::new();
        for run in row {
            // Most rows take all of the classes that they take, and most runs were met before.
            if !self.is_whole(run) && !cut.contains(&run.to) {
                cut.push(run.to);
                self.cut(row.iter().filter(|other| other.to == run.to));
            }
        }
    }

    /// Tells whether a run takes all of the classes that it takes.
    fn is_whole(&mut self, run: &Run) -> bool {
        let known = &mut self.whole[usize::from(run.first)][usize::from(run.last / 64)];
        let bit = 1 << (run.last % 64);
        if *known & bit == 0 {
            let mut bytes = self.of_byte[usize::from(run.first)..=usize::from(run.last)].iter();
            let is_whole = bytes.all(|class| {
                let (first, last) = self.edges[usize::from(*class)];
                first >= run.first && last <= run.last
            });
            *known |= if is_whole { bit } else { 0 };
        }
        *known & bit != 0
    }

    /// Cuts the classes of which some bytes are in runs, and some are not.
    fn cut<'a>(&mut self, runs: impl Iterator<Item = &'a Run> + Clone) {
        let bytes = runs.flat_map(|run| run.first..=run.last);
        let mut classes: Vec<u8> = Vec::new();
        for byte in bytes.clone() {
            let class = self.of_byte[usize::from(byte)];
            let met = &mut self.met[usize::from(class)];
            *met += 1;
            if *met == 1 {
                classes.push(class);
            }
        }
        for class in classes {
            let met = std::mem::take(&mut self.met[usize::from(class)]);
            if met < self.sizes[usize::from(class)] {
                let fresh = self.sizes.len() as u8;
                for byte in bytes.clone() {
                    let own = &mut self.of_byte[usize::from(byte)];
                    *own = if *own == class { fresh } else { *own };
                }
                self.sizes[usize::from(class)] -= met;
                self.sizes.push(met);
                self.edges[usize::from(class)] = self.edges_of(class);
                self.edges.push(self.edges_of(fresh));
            }
        }
    }

    fn edges_of(&self, class: u8) -> (u8, u8) {
        let is_own = |own: &u8| *own == class;
        let first = self.of_byte.iter().position(is_own).unwrap_or(0);
        let last = self.of_byte.iter().rposition(is_own).unwrap_or(0);
        (first as u8, last as u8)
    }

    /// Returns the classes, numbered by their first bytes.
    fn in_order(&self) -> ByteClasses {
        let mut numbers = [None; 256];
        let mut count = 0..=u8::MAX;
        ByteClasses::of(self.of_byte.map(|class| {
            let number = &mut numbers[usize::from(class)];
            *number.get_or_insert_with(|| count.next().unwrap_or(0))
        }))
    }
}
