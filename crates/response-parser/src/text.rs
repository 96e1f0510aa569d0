//! Strings that may hold what UTF-8 cannot: lone surrogates.
//!
//! Python reads the JSON text `"\ud83d"` as a string of one code point, half of a pair. So
//! that no step has to care, such a code point is kept as a *stand-in*: the 2,048 lone
//! surrogates map one to one to the last 2,048 scalar values, U+10F800 to U+10FFFF (private
//! use and noncharacters), and the string is marked.
//!
//! For example, `"\ud83d"` is the stand-in U+10F83D, and is printed as `\ud83d` again.

use std::borrow::Cow;
use std::ops::Range;

/// The first stand-in, for U+D800: 2,048 before the end of Unicode, so that each of the 2,048
/// surrogates has one.
const FIRST: u32 = 0x10_F800;

/// The character that stands for the surrogate `unit` (U+D800 to U+DFFF).
pub(crate) fn stand_in(unit: u32) -> char {
    char::from_u32(FIRST + (unit & 0x7FF)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn is_stand_in(c: char) -> bool {
    c as u32 >= FIRST
}

/// A piece of text, borrowed from the input where it can be.
///
/// `lone` is true exactly where some character stands for a lone surrogate, so that two
/// equal texts are equal as values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Text<'t> {
    text: Cow<'t, str>,
    lone: bool,
}

impl<'t> Text<'t> {
    /// Text in which every character means itself.
    pub(crate) fn plain(text: impl Into<Cow<'t, str>>) -> Text<'t> {
        Text {
            text: text.into(),
            lone: false,
        }
    }

    /// Text in which stand-ins, if `lone`, mean surrogates.
    ///
    /// Returns `None` where text and stand-ins cannot be told apart: `clash` says that a
    /// character of the stand-in block also occurs as itself.
    pub(crate) fn with_stand_ins(text: String, lone: bool, clash: bool) -> Option<Text<'t>> {
        if lone && clash {
            return None;
        }
        Some(Text {
            text: text.into(),
            lone,
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, if it is borrowed and every character means itself.
    pub(crate) fn borrowed(&self) -> Option<&'t str> {
        match self.text {
            Cow::Borrowed(text) if !self.lone => Some(text),
            _ => None,
        }
    }

    /// The same characters, stand-ins meaning surrogates.
    pub(crate) fn marked(self) -> Text<'t> {
        let lone = has_stand_in(&self.text);
        Text {
            text: self.text,
            lone,
        }
    }

    pub(crate) fn is_lone(&self) -> bool {
        self.lone
    }

    /// Tells whether a character of the stand-in block occurs as itself.
    pub(crate) fn clashes(&self) -> bool {
        !self.lone && has_stand_in(&self.text)
    }

    /// The part at `range`, borrowed where this text is.
    pub(crate) fn slice(&self, range: Range<usize>) -> Text<'t> {
        let text = match &self.text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[range]),
            Cow::Owned(text) => Cow::Owned(text[range].to_owned()),
        };
        let lone = self.lone && has_stand_in(&text);
        Text { text, lone }
    }

    /// The part without Python's white space around it.
    pub(crate) fn trimmed(&self) -> Text<'t> {
        let whole = self.as_str();
        let kept = crate::scalar::trim(whole);
        let from = kept.as_ptr() as usize - whole.as_ptr() as usize;
        self.slice(from..from + kept.len())
    }

    /// This text, `between`, and another.
    pub(crate) fn joined(&self, between: &str, other: &Text<'_>) -> Text<'t> {
        let text = [self.as_str(), between, other.as_str()].concat();
        Text {
            text: text.into(),
            lone: self.lone || other.lone,
        }
    }

    /// The same meaning with other characters; stand-ins in `text` mean what they mean here.
    pub(crate) fn rebuilt(&self, text: String) -> Text<'t> {
        let lone = self.lone && has_stand_in(&text);
        Text {
            text: text.into(),
            lone,
        }
    }

    pub(crate) fn into_owned(self) -> Text<'static> {
        Text {
            text: Cow::Owned(self.text.into_owned()),
            lone: self.lone,
        }
    }

    /// As UTF-8, with U+FFFD for each lone surrogate.
    pub(crate) fn into_lossy(self) -> String {
        if self.lone {
            let replace = |c| {
                if is_stand_in(c) {
                    char::REPLACEMENT_CHARACTER
                } else {
                    c
                }
            };
            self.text.chars().map(replace).collect()
        } else {
            self.text.into_owned()
        }
    }

    /// As UTF-16, lone surrogates included.
    pub(crate) fn to_utf16(&self) -> Vec<u16> {
        let mut units = Vec::with_capacity(self.text.len());
        for c in self.text.chars() {
            if self.lone && is_stand_in(c) {
                units.push(0xD800 + (c as u32 - FIRST) as u16);
            } else {
                units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
            }
        }
        units
    }

    /// The code points, lone surrogates as themselves: Python's order of strings.
    pub(crate) fn code_points(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let lone = self.lone;
        self.text.chars().map(move |c| {
            if lone && is_stand_in(c) {
                0xD800 + (c as u32 - FIRST)
            } else {
                c as u32
            }
        })
    }
}

/// Tells whether `text` has a character of the stand-in block.
pub(crate) fn has_stand_in(text: &str) -> bool {
    // The block starts with the bytes F4 8F, which UTF-8 text seldom has.
    text.as_bytes().contains(&0xF4) && text.chars().any(is_stand_in)
}

/// The longest text, in bytes, that a step may make of a shorter one, because a replacement can
/// multiply a text.
pub(crate) const MAX_TEXT: usize = 64 << 20;
