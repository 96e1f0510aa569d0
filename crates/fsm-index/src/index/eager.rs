//! All rows of a finite automaton, packed together. For example, the states of `[0-9]{3}` have a
//! row each, kept as runs of tokens.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{BuildProgress, Watch};
use crate::budget::{Budget, Meter};
use crate::cache::Thing;
use crate::plan::{RowMaker, Work};
use crate::rows::{EndTokens, Row, RowView};
use crate::{
    ByteAutomaton, ByteDfa, Cursor, Error, ErrorKind, Horizon, Scope, TokenMask, Vocabulary,
};

/// Rows by the cursors that they are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Built {
    /// Ascending.
    cursors: Box<[u32]>,
    /// The place of each cursor's row: first the dense ones, then the packed.
    places: RowPlaces,
    dense: Box<[TokenMask]>,
    /// The packed rows, one after another.
    packed: Box<[u8]>,
    /// The start of each packed row, and the end.
    starts: Box<[u32]>,
}

/// Places as narrow numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RowPlaces {
    Narrow(Box<[u16]>),
    Wide(Box<[u32]>),
}

impl Built {
    /// Computes the rows at all distinct cursors, on every thread of the current rayon pool. The
    /// result does not depend on their number.
    pub(crate) fn new(
        masks: &RowMaker<'_, ByteDfa>,
        max_bytes: usize,
        budget: &Budget,
        watch: Watch<'_>,
    ) -> Result<Built, Error> {
        let cursors: Vec<Cursor> = masks
            .automaton
            .distinct_cursors()
            .into_iter()
            .filter(|cursor| masks.dead_ends.is_none_or(|dead| !dead.contains(cursor)))
            .collect();
        let rows = compute(masks, &cursors, max_bytes, budget, watch)?;
        let cursors = cursors.iter().map(|cursor| cursor.0).collect();
        Ok(Built::from_rows(cursors, &rows, masks.vocabulary))
    }

    fn from_rows(cursors: Box<[u32]>, rows: &[Arc<Row>], vocabulary: &Vocabulary) -> Built {
        let mut dense: Vec<TokenMask> = Vec::new();
        let mut packed = Vec::new();
        let mut starts = vec![0u32];
        // Equal rows are one already.
        let mut known: HashMap<*const Row, (bool, u32)> = HashMap::new();
        for row in rows {
            known
                .entry(Arc::as_ptr(row))
                .or_insert_with(|| match row.as_ref() {
                    Row::Dense(mask) => {
                        dense.push(mask.clone());
                        (true, dense.len() as u32 - 1)
                    }
                    Row::Delta(changed) => {
                        let mut mask = TokenMask::none(vocabulary.width());
                        changed.lay_out(vocabulary, mask.words_mut());
                        dense.push(mask);
                        (true, dense.len() as u32 - 1)
                    }
                    Row::Packed(bytes) => {
                        packed.extend_from_slice(bytes);
                        starts.push(packed.len() as u32);
                        (false, starts.len() as u32 - 2)
                    }
                });
        }
        let behind = dense.len() as u32;
        let places = rows.iter().map(|row| match known[&Arc::as_ptr(row)] {
            (true, place) => place,
            (false, place) => behind + place,
        });
        Built {
            places: RowPlaces::new(places, known.len()),
            cursors,
            dense: dense.into(),
            packed: packed.into(),
            starts: starts.into(),
        }
    }

    /// Rows from a file, if they hang together.
    pub(crate) fn from_parts(
        cursors: Box<[u32]>,
        places: &[u32],
        dense: Box<[TokenMask]>,
        packed: Box<[u8]>,
        starts: Box<[u32]>,
    ) -> Option<Built> {
        let rows = dense.len() + starts.len().checked_sub(1)?;
        let whole = cursors.is_sorted_by(|a, b| a < b)
            && cursors.len() == places.len()
            && places.iter().all(|&place| (place as usize) < rows)
            && starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last().copied() == Some(packed.len() as u32);
        whole.then(|| Built {
            places: RowPlaces::new(places.iter().copied(), rows),
            cursors,
            dense,
            packed,
            starts,
        })
    }

    /// The place of the row at a cursor.
    pub(crate) fn place<A: ByteAutomaton>(
        &self,
        automaton: &A,
        cursor: Cursor,
        work: &mut Work<A>,
    ) -> u32 {
        // Rows are those of states that no token tells apart, which is what the shortest horizon asks for.
        let horizon = Horizon::of_bytes(0);
        let Work { key, scratch, .. } = work;
        let words = key.begin(Thing::Row, 1);
        automaton.key(cursor, Scope::Index, 1, horizon, scratch, words);
        // Every state that a guide can come to has a row.
        let at = words.get(1).map(|row| self.cursors.binary_search(row));
        match at {
            Some(Ok(at)) => self.places.get(at),
            _ => u32::MAX,
        }
    }

    pub(crate) fn row(&self, place: u32) -> RowView<'_> {
        let place = place as usize;
        match self.dense.get(place) {
            Some(mask) => RowView::Dense(mask),
            None => RowView::Packed(self.packed_row(place.wrapping_sub(self.dense.len()))),
        }
    }

    fn packed_row(&self, at: usize) -> &[u8] {
        match (self.starts.get(at), self.starts.get(at.wrapping_add(1))) {
            (Some(&from), Some(&to)) => &self.packed[from as usize..to as usize],
            _ => &[],
        }
    }

    pub(crate) fn row_count(&self) -> usize {
        self.dense.len() + self.starts.len() - 1
    }

    pub(crate) fn cursors(&self) -> &[u32] {
        &self.cursors
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.cursors.len()).map(|at| self.places.get(at))
    }

    pub(crate) fn dense(&self) -> &[TokenMask] {
        &self.dense
    }

    /// The packed rows: their bytes, and where each begins.
    pub(crate) fn packed(&self) -> (&[u8], &[u32]) {
        (&self.packed, &self.starts)
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let dense = self
            .dense
            .iter()
            .map(|mask| size_of::<TokenMask>() + mask.memory());
        let places = match &self.places {
            RowPlaces::Narrow(places) => places.len() * 2,
            RowPlaces::Wide(places) => places.len() * 4,
        };
        self.cursors.len() * 4
            + places
            + dense.sum::<usize>()
            + self.packed.len()
            + self.starts.len() * 4
    }
}

impl RowPlaces {
    fn new(places: impl Iterator<Item = u32>, rows: usize) -> RowPlaces {
        match rows <= 1 << 16 {
            true => RowPlaces::Narrow(places.map(|place| place as u16).collect()),
            false => RowPlaces::Wide(places.collect()),
        }
    }

    fn get(&self, at: usize) -> u32 {
        match self {
            RowPlaces::Narrow(places) => u32::from(places[at]),
            RowPlaces::Wide(places) => places[at],
        }
    }
}

/// Fewer rows than this are computed before another thread has woken up.
#[cfg(feature = "rayon")]
const WORTH_THREADS: usize = 64;

/// The rows at `cursors`, in their order.
fn compute(
    masks: &RowMaker<'_, ByteDfa>,
    cursors: &[Cursor],
    max_bytes: usize,
    budget: &Budget,
    watch: Watch<'_>,
) -> Result<Vec<Arc<Row>>, Error> {
    let (done, total) = (AtomicUsize::new(0), cursors.len());
    let row = |work: &mut Work<ByteDfa>, &cursor: &Cursor| {
        let end_tokens = EndTokens::at(masks.automaton, &cursor);
        let row = masks.row(cursor, end_tokens, work)?;
        match masks.known.memory() > max_bytes {
            true => Err(too_large(max_bytes, cursors.len())),
            false => {
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                watch(BuildProgress { done, total });
                Ok(row)
            }
        }
    };
    let fresh = || {
        let mut work = Work::new(masks.automaton);
        work.meter = Meter::new(budget);
        work
    };
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        if cursors.len() >= WORTH_THREADS && rayon::current_num_threads() > 1 {
            let rows = cursors.par_iter().with_max_len(8).map_init(fresh, row);
            return rows.collect();
        }
    }
    let mut state = fresh();
    cursors
        .iter()
        .map(|cursor| row(&mut state, cursor))
        .collect()
}

#[cold]
fn too_large(max_bytes: usize, states: usize) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        format!(
            "limit `max_row_bytes` of {max_bytes} bytes exceeded by the index of {states} \
             states; raise it, simplify the pattern, or fill the index lazily"
        ),
    )
}
