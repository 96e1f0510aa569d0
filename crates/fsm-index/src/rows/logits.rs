//! Masks on plain slices of logits, for decode loops of one's own. For example, of the logits `[0.1,
//! 0.9]` under a mask that allows the first token alone, `[0.1, -inf]` stays.

use super::mask::TokenMask;
use crate::error::{Error, ErrorKind};

mod sealed {
    pub trait SealedFloat {}
}

/// A float of logits: `f32`, and with the feature `half` `half::f16` and `half::bf16`.
pub trait Logit: Copy + sealed::SealedFloat {
    /// The logit of a token that must not come.
    const FORBIDDEN: Self;
}

impl sealed::SealedFloat for f32 {}

impl Logit for f32 {
    const FORBIDDEN: Self = f32::NEG_INFINITY;
}

#[cfg(feature = "half")]
impl sealed::SealedFloat for half::f16 {}

#[cfg(feature = "half")]
impl Logit for half::f16 {
    const FORBIDDEN: Self = half::f16::NEG_INFINITY;
}

#[cfg(feature = "half")]
impl sealed::SealedFloat for half::bf16 {}

#[cfg(feature = "half")]
impl Logit for half::bf16 {
    const FORBIDDEN: Self = half::bf16::NEG_INFINITY;
}

impl TokenMask {
    /// Writes minus infinity over the logits of tokens that must not come, and of columns beyond the
    /// mask, which models often have; the others stay as they are. O(logits).
    ///
    /// ```
    /// use fsm_index::{TokenId, TokenMask};
    ///
    /// let mut mask = TokenMask::none(3);
    /// mask.allow(TokenId::new(1));
    /// let mut logits = [0.5_f32, 0.1, 0.9, 7.0]; // the last one is padding
    /// mask.apply(&mut logits)?;
    /// assert_eq!(logits, [f32::NEG_INFINITY, 0.1, f32::NEG_INFINITY, f32::NEG_INFINITY]);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferSize`]: there are fewer logits than the mask speaks of tokens. Nothing is
    /// written then.
    pub fn apply<L: Logit>(&self, logits: &mut [L]) -> Result<(), Error> {
        if logits.len() < self.width() {
            let message = format!(
                "there are {} logits, and the mask speaks of {} tokens",
                logits.len(),
                self.width()
            );
            return Err(Error::new(ErrorKind::BufferSize, message));
        }
        let (known, padding) = logits.split_at_mut(self.width());
        padding.fill(L::FORBIDDEN);
        for (logits, word) in known.chunks_mut(32).zip(self.words()) {
            match *word {
                u32::MAX => {}
                0 => logits.fill(L::FORBIDDEN),
                word => {
                    for (bit, logit) in logits.iter_mut().enumerate() {
                        if word >> bit & 1 == 0 {
                            *logit = L::FORBIDDEN;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
