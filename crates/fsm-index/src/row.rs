use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::{collections::HashMap, collections::hash_map::Entry};

use crate::{TokenId, TokenMask};

/// A finished mask, in the smaller of two forms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Row {
    /// One bit a token.
    Dense(TokenMask),
    /// The allowed tokens, ascending.
    Sparse(Box<[TokenId]>),
}

impl Row {
    pub(crate) fn new(mask: TokenMask) -> Row {
        let count = mask.count();
        if count * 2 < mask.words().len() {
            Row::Sparse(mask.iter().collect())
        } else {
            Row::Dense(mask)
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Row>()
            + match self {
                Row::Dense(mask) => mask.words().len() * 4,
                Row::Sparse(tokens) => tokens.len() * 4,
            }
    }
}

/// Keeps one copy of equal rows.
#[derive(Debug, Default)]
pub(crate) struct RowPool(Mutex<Pool>);

#[derive(Debug, Default)]
struct Pool {
    rows: HashMap<u64, Vec<Arc<Row>>>,
    count: usize,
    bytes: usize,
}

impl RowPool {
    /// The pooled row equal to `row`. The row is put into the pool if it is
    /// new and the pool stays within `max_bytes`; otherwise `Err` gives it
    /// back unpooled.
    pub(crate) fn intern(&self, row: Row, max_bytes: usize) -> Result<Arc<Row>, Row> {
        let mut hasher = DefaultHasher::new();
        row.hash(&mut hasher);
        let hash = hasher.finish();
        // A panic elsewhere leaves the pool whole: nothing here panics between
        // two changes that belong together.
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = &mut *pool;
        let same = match pool.rows.entry(hash) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Vec::new()),
        };
        if let Some(known) = same.iter().find(|r| r.as_ref() == &row) {
            return Ok(known.clone());
        }
        if pool.bytes + row.memory() > max_bytes {
            return Err(row);
        }
        pool.bytes += row.memory();
        pool.count += 1;
        let row = Arc::new(row);
        same.push(row.clone());
        Ok(row)
    }

    /// How many rows there are, and their bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        let pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (pool.count, pool.bytes)
    }
}
