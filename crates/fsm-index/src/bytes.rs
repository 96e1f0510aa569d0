//! Sets of bytes. For example, the set of `a` and `b` has two bits of its 256.

/// A set of bytes.
///
/// ```
/// use fsm_index::ByteSet;
///
/// let digits = ByteSet::range(b'0', b'9');
/// let signed = digits.or(ByteSet::of(b"+-"));
/// assert!(signed.has(b'-') && !digits.has(b'-') && digits.meets(signed));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const NONE: ByteSet = ByteSet([0; 4]);
    /// Every byte.
    pub const ALL: ByteSet = ByteSet([u64::MAX; 4]);

    /// The set of some bytes.
    pub const fn of(bytes: &[u8]) -> ByteSet {
        let mut set = ByteSet::NONE;
        let mut at = 0;
        while at < bytes.len() {
            set = set.with(bytes[at]);
            at += 1;
        }
        set
    }

    /// The bytes from one to another, both included.
    pub const fn range(from: u8, to: u8) -> ByteSet {
        let mut set = ByteSet::NONE;
        let mut byte = from as usize;
        while byte <= to as usize {
            set = set.with(byte as u8);
            byte += 1;
        }
        set
    }

    /// The bytes of either set.
    pub const fn or(self, other: ByteSet) -> ByteSet {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        ByteSet([a | e, b | f, c | g, d | h])
    }

    /// Tells whether they have a byte in common.
    pub const fn meets(self, other: ByteSet) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        a & e | b & f | c & g | d & h != 0
    }

    /// Returns its bytes of ASCII, as bits.
    pub const fn ascii(&self) -> u128 {
        self.0[0] as u128 | (self.0[1] as u128) << 64
    }

    /// Tells whether it has 90 ASCII bytes, at least.
    pub(crate) const fn has_most_of_ascii(&self) -> bool {
        self.ascii().count_ones() >= 90
    }

    /// With a byte more.
    #[must_use]
    pub const fn with(mut self, byte: u8) -> ByteSet {
        self.0[byte as usize / 64] |= 1 << (byte % 64);
        self
    }

    /// Tells whether it has a byte.
    #[inline]
    pub const fn has(&self, byte: u8) -> bool {
        self.0[byte as usize / 64] >> (byte % 64) & 1 != 0
    }
}
