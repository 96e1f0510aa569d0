//! The inside of a JSON string, byte by byte: UTF-8 (RFC 3629), escapes and
//! surrogate pairs (RFC 8259, section 7) become code points. The sink of the code points says
//! whether one of a range can still come, so that no partial character is begun in vain.
//!
//! For example, behind `\ud83d` only the escape of a low surrogate may come, and only if the string
//! may have one of their characters.

use schema_normal::language::escapes;
use schema_normal::options::Escapes;

/// The part of a character that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Partial {
    None,
    /// Bits so far, bytes to come, the least code point of this length.
    Utf8 {
        bits: u32,
        left: u8,
        least: u32,
    },
    /// After a backslash.
    Escape,
    /// Hexadecimal digits so far; `high` is a surrogate read before, or 0.
    Hex {
        value: u32,
        digits: u8,
        high: u32,
    },
    /// After a high surrogate.
    HighEscape {
        high: u32,
    },
    /// After a high surrogate and a backslash.
    HighU {
        high: u32,
    },
}

/// The least code points that take one, two, three and four bytes (RFC 3629).
pub(super) const LEAST: [u32; 4] = [0, 0x80, 0x800, 0x1_0000];

impl Partial {
    /// The same in two words, different ones for what is different.
    pub(super) fn packed(self) -> [u32; 2] {
        match self {
            Partial::None => [0, 0],
            Partial::Utf8 { bits, left, least } => {
                let length = LEAST.iter().position(|known| *known == least);
                let length = length.unwrap_or(0) as u32;
                [1 | u32::from(left) << 8, bits << 2 | length]
            }
            Partial::Escape => [2, 0],
            Partial::Hex {
                value,
                digits,
                high,
            } => [3 | u32::from(digits) << 8 | high << 16, value],
            Partial::HighEscape { high } => [4, high],
            Partial::HighU { high } => [5, high],
        }
    }

    /// Returns the character that was packed.
    pub(super) fn unpacked([kind, more]: [u32; 2]) -> Partial {
        match kind & 0xFF {
            0 => Partial::None,
            1 => Partial::Utf8 {
                bits: more >> 2,
                left: (kind >> 8) as u8,
                least: LEAST[(more & 3) as usize],
            },
            2 => Partial::Escape,
            3 => Partial::Hex {
                value: more,
                digits: (kind >> 8) as u8,
                high: kind >> 16,
            },
            4 => Partial::HighEscape { high: more },
            _ => Partial::HighU { high: more },
        }
    }
}

/// A reader of code points.
pub(super) trait Sink {
    type State: Copy;

    /// The state after a code point, if it may come.
    fn put(&mut self, state: Self::State, c: u32) -> Option<Self::State>;

    /// Tells whether some code point of a range without surrogates may come.
    fn some(&mut self, state: Self::State, lo: u32, hi: u32) -> bool;
}

/// Reads one byte that is not an unescaped quotation mark.
pub(super) fn read<S: Sink>(
    sink: &mut S,
    escapes: Escapes,
    partial: Partial,
    state: S::State,
    byte: u8,
) -> Option<(Partial, S::State)> {
    let go =
        |sink: &mut S, next: Partial| possible(sink, escapes, next, state).then_some((next, state));
    match partial {
        Partial::None => match byte {
            b'\\' => go(sink, Partial::Escape),
            0x20..=0x7F => sink.put(state, u32::from(byte)).map(|s| (Partial::None, s)),
            0xC2..=0xDF => go(sink, utf8(byte & 0x1F, 1, 0x80)),
            0xE0..=0xEF => go(sink, utf8(byte & 0x0F, 2, 0x800)),
            0xF0..=0xF4 => go(sink, utf8(byte & 0x07, 3, 0x1_0000)),
            _ => None,
        },
        Partial::Utf8 { bits, left, least } => {
            if !(0x80..=0xBF).contains(&byte) {
                return None;
            }
            let bits = bits << 6 | u32::from(byte & 0x3F);
            if left == 1 {
                let fits = bits >= least && char::from_u32(bits).is_some();
                return sink
                    .put(state, bits)
                    .filter(|_| fits)
                    .map(|s| (Partial::None, s));
            }
            let next = Partial::Utf8 {
                bits,
                left: left - 1,
                least,
            };
            go(sink, next)
        }
        Partial::Escape => {
            if byte == b'u' {
                let next = Partial::Hex {
                    value: 0,
                    digits: 0,
                    high: 0,
                };
                return go(sink, next);
            }
            let c = escapes::character(byte, escapes)?;
            sink.put(state, u32::from(c)).map(|s| (Partial::None, s))
        }
        Partial::Hex {
            value,
            digits,
            high,
        } => {
            let digit = char::from(byte).to_digit(16)?;
            let value = value << 4 | digit;
            if digits < 3 {
                let next = Partial::Hex {
                    value,
                    digits: digits + 1,
                    high,
                };
                return go(sink, next);
            }
            if high != 0 {
                if !(0xDC00..=0xDFFF).contains(&value) {
                    return None;
                }
                let c = 0x1_0000 + ((high - 0xD800) << 10) + (value - 0xDC00);
                return sink.put(state, c).map(|s| (Partial::None, s));
            }
            match value {
                0xD800..=0xDBFF => go(sink, Partial::HighEscape { high: value }),
                0xDC00..=0xDFFF => None,
                c if may_be_spelled(c, escapes) => sink.put(state, c).map(|s| (Partial::None, s)),
                _ => None,
            }
        }
        Partial::HighEscape { high } => (byte == b'\\').then_some((Partial::HighU { high }, state)),
        Partial::HighU { high } => (byte == b'u').then_some((
            Partial::Hex {
                value: 0,
                digits: 0,
                high,
            },
            state,
        )),
    }
}

fn utf8(bits: u8, left: u8, least: u32) -> Partial {
    Partial::Utf8 {
        bits: u32::from(bits),
        left,
        least,
    }
}

/// Tells whether a code point may be written as `\uXXXX`.
fn may_be_spelled(c: u32, escapes: Escapes) -> bool {
    let mut spelled = escapes::by_number(escapes).iter();
    spelled.any(|(a, b)| (u32::from(*a)..=u32::from(*b)).contains(&c))
}

/// Tells whether a partial character can become one that may come.
pub(super) fn possible<S: Sink>(
    sink: &mut S,
    escapes: Escapes,
    partial: Partial,
    state: S::State,
) -> bool {
    match partial {
        Partial::None => true,
        Partial::Utf8 { bits, left, least } => {
            let lo = bits << (6 * left);
            let hi = lo | ((1 << (6 * left)) - 1);
            scalars(sink, state, lo.max(least), hi.min(0x10_FFFF))
        }
        Partial::Escape => {
            let letters = escapes::LETTERS.iter();
            let mut short = letters.filter_map(|letter| escapes::character(*letter, escapes));
            short.any(|c| sink.some(state, c.into(), c.into()))
                || units(sink, escapes, state, 0, 0xFFFF)
        }
        Partial::Hex {
            value,
            digits,
            high,
        } => {
            let shift = 4 * (4 - u32::from(digits));
            let lo = value << shift;
            let hi = lo | ((1u32 << shift) - 1);
            if high == 0 {
                return units(sink, escapes, state, lo, hi);
            }
            let (lo, hi) = (lo.max(0xDC00), hi.min(0xDFFF));
            let base = 0x1_0000 + ((high - 0xD800) << 10);
            lo <= hi && sink.some(state, base + lo - 0xDC00, base + hi - 0xDC00)
        }
        Partial::HighEscape { high } | Partial::HighU { high } => {
            let base = 0x1_0000 + ((high - 0xD800) << 10);
            sink.some(state, base, base + 0x3FF)
        }
    }
}

/// A range of code points around the surrogates.
fn scalars<S: Sink>(sink: &mut S, state: S::State, lo: u32, hi: u32) -> bool {
    let (low_hi, high_lo) = (hi.min(0xD7FF), lo.max(0xE000));
    (lo <= low_hi && sink.some(state, lo, low_hi))
        || (high_lo <= hi && sink.some(state, high_lo, hi))
}

/// Tells whether a first `\uXXXX` in a range of units can begin a character that may come.
fn units<S: Sink>(sink: &mut S, escapes: Escapes, state: S::State, lo: u32, hi: u32) -> bool {
    for (a, b) in escapes::by_number(escapes) {
        let (a, b) = (u32::from(*a), u32::from(*b));
        let (from, to) = (lo.max(a), hi.min(b.min(0xFFFF)));
        if from <= to && scalars(sink, state, from, to) {
            return true;
        }
        let (from, to) = (lo.max(0xD800), hi.min(0xDBFF));
        if b > 0xFFFF
            && from <= to
            && sink.some(
                state,
                0x1_0000 + ((from - 0xD800) << 10),
                0x1_0000 + ((to - 0xD800) << 10) + 0x3FF,
            )
        {
            return true;
        }
    }
    false
}
