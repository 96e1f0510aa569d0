//! A bit for each token: allowed or not.
//!
//! For example, token 33 is bit 1 of word 1.

/// Takes down which single tokens a walk found to be allowed or forbidden.
pub(crate) trait Bits {
    fn allow(&mut self, token: u32);
    fn forbid(&mut self, token: u32);
}

/// Tells whether tokens are allowed.
pub(crate) trait HasBits {
    fn has(&self, token: u32) -> bool;
}

impl HasBits for [u32] {
    #[inline]
    fn has(&self, token: u32) -> bool {
        self[token as usize / 32] >> (token % 32) & 1 != 0
    }
}

impl Bits for [u32] {
    #[inline]
    fn allow(&mut self, token: u32) {
        self[token as usize / 32] |= 1 << (token % 32);
    }

    #[inline]
    fn forbid(&mut self, token: u32) {
        self[token as usize / 32] &= !(1 << (token % 32));
    }
}
