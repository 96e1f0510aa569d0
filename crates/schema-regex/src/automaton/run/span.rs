//! The texts of a sorted list that begin with what was read.
//!
//! For example, of the names `id`, `idle` and `kind` those behind `id` are the first two, of which two bytes were read.

use crate::automaton::machine::strings::Words;

/// A range of sorted texts that begin with the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) lo: u32,
    pub(super) hi: u32,
    pub(super) read: u32,
}

impl std::hash::Hash for Span {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        let read = u64::from(self.read).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hasher.write_u64(fsm_tables::packed(self.lo, self.hi).wrapping_add(read));
    }
}

impl Span {
    pub(super) const NONE: Span = Span {
        lo: 0,
        hi: 0,
        read: 0,
    };

    pub(super) fn all(count: usize) -> Span {
        Span {
            lo: 0,
            hi: count as u32,
            read: 0,
        }
    }

    pub(super) fn is_none(self) -> bool {
        self.lo == self.hi
    }

    /// The texts of the span that go on with `c`.
    pub(super) fn step<'t>(self, c: u32, text: impl Fn(usize) -> &'t str) -> Span {
        if self.is_none() {
            return Span::NONE;
        }
        match char::from_u32(c) {
            Some(c) => self.go_on(c.encode_utf8(&mut [0; 4]).as_bytes(), text),
            None => Span::NONE,
        }
    }

    /// The texts of the span that go on with whole characters.
    pub(super) fn go_on<'t>(self, bytes: &[u8], text: impl Fn(usize) -> &'t str) -> Span {
        if self.is_none() {
            return Span::NONE;
        }
        let read = self.read as usize;
        let tail = |i: usize| -> &[u8] {
            let t = text(i).as_bytes();
            let rest = &t[read..];
            &rest[..rest.len().min(bytes.len())]
        };
        let lo = partition(self.lo as usize, self.hi as usize, |i| tail(i) < bytes);
        let hi = partition(lo, self.hi as usize, |i| tail(i) <= bytes);
        if lo == hi {
            return Span::NONE;
        }
        Span {
            lo: lo as u32,
            hi: hi as u32,
            read: (read + bytes.len()) as u32,
        }
    }

    /// The characters of a range with which texts of the span go on, ascending. Takes the
    /// logarithm of the span for each.
    pub(super) fn heads<'t>(
        self,
        (first, last): (u32, u32),
        text: impl Fn(usize) -> &'t str,
    ) -> impl Iterator<Item = u32> {
        let read = self.read as usize;
        let head = move |i: usize| text(i)[read..].chars().next().map(u32::from);
        let end = self.hi as usize;
        let mut at = partition(self.lo as usize, end, |i| head(i) < Some(first));
        std::iter::from_fn(move || {
            let c = (at < end).then(|| head(at)).flatten()?;
            at = partition(at, end, |i| head(i) <= Some(c));
            (c <= last).then_some(c)
        })
    }

    /// Returns the beginning that the texts of the span share, as far as it was read.
    pub(super) fn begun(self, words: &Words) -> &str {
        let first = words.get(self.lo as usize);
        let begun = first.and_then(|word| word.text.get(..self.read as usize));
        begun.unwrap_or_default()
    }

    /// The first text of the span, if it ends here.
    pub(super) fn ends<'t>(self, text: impl Fn(usize) -> &'t str) -> Option<usize> {
        (!self.is_none() && text(self.lo as usize).len() == self.read as usize)
            .then_some(self.lo as usize)
    }
}

fn partition(mut lo: usize, mut hi: usize, below: impl Fn(usize) -> bool) -> usize {
    while lo < hi {
        let mid = lo + (hi - lo) / 2;
        if below(mid) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    lo
}
