//! Keys and values of the tokens seen, kept where they were first written. For example,
//! `truncate(5)` after 8 tokens lets the next one be written as the sixth, and copies nothing.

use candle_core::{DType, Result, Tensor};

/// One layer's keys and values, `[heads, capacity, width]` each.
///
/// Memory is taken in one piece and written in place, so that a step costs no
/// copy of what came before; it doubles when full. Cutting back is moving a
/// mark.
#[derive(Clone, Debug)]
pub(crate) struct KvCache {
    keys: Option<Tensor>,
    values: Option<Tensor>,
    length: usize,
    capacity: usize,
    most: usize,
}

/// Tokens that a cache has room for at first.
const FIRST: usize = 256;

impl KvCache {
    /// An empty cache that will never hold more than `most` tokens.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            keys: None,
            values: None,
            length: 0,
            capacity: 0,
            most,
        }
    }

    /// Tokens held.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Forgets all tokens from `length` on.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Appends `[heads, tokens, width]` and returns all keys and values so far.
    pub(crate) fn append(&mut self, keys: &Tensor, values: &Tensor) -> Result<(Tensor, Tensor)> {
        let (heads, tokens, width) = keys.dims3()?;
        let length = self.length + tokens;
        if length > self.capacity {
            let room = length
                .max(self.capacity * 2)
                .max(FIRST)
                .min(self.most.max(length));
            for side in [&mut self.keys, &mut self.values] {
                let larger = Tensor::zeros((heads, room, width), DType::F32, keys.device())?;
                if let (Some(old), true) = (&side, self.length > 0) {
                    larger.slice_set(&old.narrow(1, 0, self.length)?.contiguous()?, 1, 0)?;
                }
                *side = Some(larger);
            }
            self.capacity = room;
        }
        let write = |side: &Option<Tensor>, new: &Tensor| match side {
            Some(all) => {
                all.slice_set(&new.contiguous()?, 1, self.length)?;
                all.narrow(1, 0, length)
            }
            None => candle_core::bail!("the cache has no memory"),
        };
        let keys = write(&self.keys, keys)?;
        let values = write(&self.values, values)?;
        self.length = length;
        Ok((keys, values))
    }
}
