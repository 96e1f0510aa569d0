//! The escapes of characters of JSON strings (RFC 8259, section 7), as far as [`Escapes`] lets them
//! be. For example, the line feed is `\n` or `\u000a`, and never stands for itself.

use crate::options::Escapes;

/// The letters behind a backslash that stand for a character (RFC 8259, section 7), all but `u`.
pub const LETTERS: &[u8; 8] = b"\"\\/bfnrt";

/// The characters that never stand in a string as they are.
pub const NEVER_RAW: [(char, char); 3] = [('\0', '\x1F'), ('"', '"'), ('\\', '\\')];

/// Tells whether a byte is a character that never stands in a string as it is.
pub fn is_never_raw(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | ..=0x1F)
}

/// The character for which a letter behind a backslash stands.
pub fn character(letter: u8, escapes: Escapes) -> Option<char> {
    Some(match letter {
        b'"' | b'\\' => char::from(letter),
        b'/' if escapes.in_values() == Escapes::All => '/',
        b'b' => '\x08',
        b'f' => '\x0C',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}

/// The letter that stands for a character behind a backslash.
pub fn letter(c: char, escapes: Escapes) -> Option<u8> {
    let mut letters = LETTERS.iter().copied();
    letters.find(|letter| character(*letter, escapes) == Some(c))
}

/// The characters that may be written as `\uXXXX`.
pub fn by_number(escapes: Escapes) -> &'static [(char, char)] {
    match escapes {
        Escapes::Shortest => &[('\0', '\x07'), ('\x0B', '\x0B'), ('\x0E', '\x1F')],
        Escapes::Standard => &[('\0', '\x1F'), ('\u{80}', char::MAX)],
        Escapes::All | Escapes::AllInValues => &[('\0', char::MAX)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_stands_as_it_is_has_an_escape() {
        for escapes in [Escapes::Shortest, Escapes::Standard, Escapes::All] {
            for byte in 0..=0x7F {
                let c = char::from(byte);
                let is_in =
                    |ranges: &[(char, char)]| ranges.iter().any(|(a, b)| *a <= c && c <= *b);
                assert_eq!(is_in(&NEVER_RAW), is_never_raw(byte));
                let is_escaped = letter(c, escapes).is_some() || is_in(by_number(escapes));
                assert_eq!(is_escaped, is_never_raw(byte) || escapes == Escapes::All);
            }
        }
    }
}
