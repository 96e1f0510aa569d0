//! Classes of bytes that rows do not tell apart.
//!
//! For example, `/[a-z]+x/` tells `x` from the other letters, and these from all other bytes.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

/// Bytes that lead from one state to another: a row has them ascending, without those that
/// lead nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let mut class_of = [0u8; 256];
        let mut sizes = [0usize; 256];
        sizes[0] = 256;
        // By class: its first byte, and its last one.
        let mut edges = [(0, u8::MAX); 256];
        // Refined row by row, so that no column is ever held as a whole.
        for row in rows {
            // Most rows take all of the classes that they take.
            let is_cut = |run: &Run| {
                let mut bytes = class_of[usize::from(run.first)..=usize::from(run.last)].iter();
                bytes.any(|class| {
                    let (first, last) = edges[usize::from(*class)];
                    first < run.first || last > run.last
                })
            };
            if !row.iter().any(is_cut) || !tells_apart(row, &class_of, &sizes) {
                continue;
            }
            let mut dense = [0u32; 256];
            for run in *row {
                dense[usize::from(run.first)..=usize::from(run.last)].fill(run.to);
            }
            let mut seen: HashMap<(u8, u32), u8, FixedState> = HashMap::default();
            sizes = [0; 256];
            for ((class, to), byte) in class_of.iter_mut().zip(dense).zip(0..=u8::MAX) {
                let count = seen.len() as u8;
                *class = *seen.entry((*class, to)).or_insert(count);
                let own = usize::from(*class);
                if sizes[own] == 0 {
                    edges[own].0 = byte;
                }
                edges[own].1 = byte;
                sizes[own] += 1;
            }
        }
        ByteClasses::of(class_of)
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

/// Tells whether a row leads from bytes of one class to different states.
fn tells_apart(row: &[Run], class_of: &[u8; 256], sizes: &[usize; 256]) -> bool {
    // By class: where the first of its bytes that was met goes, and how many were.
    let mut met = [(0u32, 0usize); 256];
    let classes = |run: &Run| &class_of[usize::from(run.first)..=usize::from(run.last)];
    for run in row {
        for &class in classes(run) {
            let (to, count) = &mut met[usize::from(class)];
            if *count != 0 && *to != run.to {
                return true;
            }
            *to = run.to;
            *count += 1;
        }
    }
    let mut all = row.iter().flat_map(classes);
    all.any(|&class| sizes[usize::from(class)] != met[usize::from(class)].1)
}
