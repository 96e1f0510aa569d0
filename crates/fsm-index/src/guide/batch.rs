//! The masks of many guides at once, and the words that they are written to. For example, eight
//! guides write their masks into the eight rows of one tensor.

use crate::{ByteAutomaton, Error, Guide};

/// The masks of many guides at once, on every thread of the current rayon pool:
/// guide `g`'s in `out[g * words..][..words]`, where `words` is
/// `out.len() / guides.len()`, zeroed behind its width.
///
/// ```
/// # use std::sync::Arc;
/// # use fsm_index::{Guide, Index, TokenId, Vocabulary, mask_batch};
/// # let tokens = ["a", "b"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
/// let index = Arc::new(Index::new("ab", &vocabulary)?);
/// let mut guides = vec![Guide::new(index); 2];
/// guides[1].advance(TokenId::new(0))?;
/// let mut words = [0u32; 2];
/// mask_batch(&mut guides, &mut words)?;
/// assert_eq!(words, [0b001, 0b010]);
/// # Ok::<(), fsm_index::Error>(())
/// ```
///
/// # Errors
///
/// A guide's mask has more words than it is given, or as [`Guide::mask`].
pub fn mask_batch<A, W>(guides: &mut [Guide<A>], out: &mut [W]) -> Result<(), Error>
where
    A: ByteAutomaton,
    W: MaskWord,
{
    let Some(words) = out
        .len()
        .checked_div(guides.len())
        .filter(|&words| words > 0)
    else {
        let small = |guide: &mut Guide<A>| guide.mask_into(&mut [] as &mut [W]);
        return guides.first_mut().map_or(Ok(()), small);
    };
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        if rayon::current_num_threads() > 1 {
            return guides
                .par_iter_mut()
                .zip(out.par_chunks_exact_mut(words))
                .try_for_each(|(guide, out)| guide.mask_into(out));
        }
    }
    let mut pairs = guides.iter_mut().zip(out.chunks_exact_mut(words));
    pairs.try_for_each(|(guide, out)| guide.mask_into(out))
}

/// A word of a mask in a caller's buffer: `u32`, or `i32` with the same bits.
pub trait MaskWord: Copy + Send + sealed::Sealed {
    /// No bit set.
    const ZERO: Self;

    /// Copies words of the same number.
    fn copy(from: &[u32], to: &mut [Self]);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for i32 {}
}

impl MaskWord for u32 {
    const ZERO: u32 = 0;

    fn copy(from: &[u32], to: &mut [u32]) {
        to.copy_from_slice(from);
    }
}

impl MaskWord for i32 {
    const ZERO: i32 = 0;

    fn copy(from: &[u32], to: &mut [i32]) {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = from.cast_signed();
        }
    }
}
