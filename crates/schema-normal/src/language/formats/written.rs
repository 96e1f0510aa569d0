//! The automata of the formats, made once and written down in `automata.bin`: making one takes
//! up to ten milliseconds, reading it some microseconds.
//!
//! All numbers are LEB128: seven bits a byte, the lowest first. The file has for each format in
//! the order of [`Format`], and then for those with a part with it, the length of what follows,
//! and
//!
//! - how many intervals of code points there are, and of each its distance from the one before
//!   and its symbol, from 1 on, or 0 where it has none;
//! - how many symbols and states there are, and of each state whether it accepts;
//! - where the states lead, in the order of states and then of symbols: how often the same
//!   comes, and which state, from 1 on, or 0 for none.
//!
//! A test says when the file is not what the code makes, and how to write it anew.
//!
//! For example, the automaton of `date` is read from the file in microseconds.

use crate::language::char_dfa::{CharDfa, DEAD};
use crate::language::formats::{ALL, COUNT, Format};
use crate::language::re::Re;
use crate::options::Target;

/// The automata, as the test writes them. They are in the program, so that no file has to be found
/// when it runs.
const FILE: &[u8] = include_bytes!("automata.bin");

/// The number that stands for no symbol and no state, the dead state because it leads nowhere.
const NONE: u32 = DEAD;

/// The automaton of a format, alone or with its part.
pub fn dfa(format: Format, with_part: bool) -> CharDfa {
    read(format, with_part).unwrap_or_else(|| made(format, with_part))
}

/// The automaton of a format, made of what the format says.
fn made(format: Format, with_part: bool) -> CharDfa {
    // The formats are constants; a test makes each of them.
    let part = format.part().filter(|_| with_part);
    let res: Vec<Re> = std::iter::once(format)
        .chain(part)
        .map(|format| format.re(Target::Automaton))
        .collect();
    let parts: Vec<(&Re, bool)> = res.iter().map(|re| (re, true)).collect();
    CharDfa::new(&parts, 1_000_000).unwrap_or_else(|_| CharDfa::never())
}

/// The automaton of a format, if it is in the file. A file of other formats than there are now has none, because the
/// places in it are theirs.
fn read(format: Format, with_part: bool) -> Option<CharDfa> {
    let place = match with_part {
        false => format as usize,
        true => COUNT + with_parts().position(|other| other == format)?,
    };
    let mut file = Bytes(FILE);
    for _ in 0..place {
        file.part()?;
    }
    let part = file.part()?;
    for _ in place + 1..COUNT + with_parts().count() {
        file.part()?;
    }
    file.0.is_empty().then(|| part.dfa())?
}

/// The formats that have a part.
fn with_parts() -> impl Iterator<Item = Format> {
    let formats = ALL.iter().map(|(_, format)| *format);
    formats.filter(|format| format.part().is_some())
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn number(&mut self) -> Option<u32> {
        let mut number = 0u32;
        for shift in (0..32).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u32::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// A number from 1 on, or 0 for none.
    fn or_none(&mut self) -> Option<u32> {
        Some(self.number()?.checked_sub(1).unwrap_or(NONE))
    }

    /// As many bytes as the next number says.
    fn part(&mut self) -> Option<Bytes<'a>> {
        let length = self.count()?;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(Bytes(part))
    }

    fn dfa(mut self) -> Option<CharDfa> {
        let (mut starts, mut symbols, mut from) = (Vec::new(), Vec::new(), 0);
        for _ in 0..self.count()? {
            from += self.number()?;
            starts.push(from);
            symbols.push(self.or_none()?);
        }
        let (width, states) = (self.count()?, self.count()?);
        let accepts = (0..states).map(|_| Some(self.number()? != 0));
        let accepts: Vec<bool> = accepts.collect::<Option<_>>()?;
        let cells = width.checked_mul(states)?;
        let mut next = Vec::with_capacity(cells);
        while next.len() < cells {
            let times = self.count()?;
            let to = self.or_none()?;
            next.resize(cells.min(next.len() + times), to);
        }
        CharDfa::of_tables((starts, symbols), next, &accepts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(out: &mut Vec<u8>, mut number: u32) {
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }

    fn put_or_none(out: &mut Vec<u8>, number: u32) {
        put(out, if number == NONE { 0 } else { number + 1 });
    }

    fn put_dfa(out: &mut Vec<u8>, dfa: &CharDfa) {
        let (starts, symbols, next, labels) = dfa.tables();
        put(out, starts.len() as u32);
        let mut before = 0;
        for (start, symbol) in starts.iter().zip(symbols) {
            put(out, start - before);
            put_or_none(out, *symbol);
            before = *start;
        }
        put(out, (next.len() / labels.len()) as u32);
        put(out, labels.len() as u32);
        labels.iter().for_each(|label| put(out, *label as u32));
        for same in next.chunk_by(|a, b| a == b) {
            put(out, same.len() as u32);
            put_or_none(out, same[0]);
        }
    }

    fn all() -> Vec<(Format, bool)> {
        let alone = ALL.iter().map(|(_, format)| *format);
        let wider = ALL.iter().filter_map(|(_, format)| format.wider());
        let mut alone: Vec<Format> = alone.chain(wider).chain([Format::ShortLocalPart]).collect();
        alone.sort_unstable();
        let alone = alone.into_iter().map(|format| (format, false));
        let with_parts = with_parts().map(|format| (format, true));
        alone.chain(with_parts).collect()
    }

    #[test]
    fn the_file_has_what_the_code_makes() {
        let mut file = Vec::new();
        for (format, with_part) in all() {
            let mut one = Vec::new();
            put_dfa(&mut one, &made(format, with_part));
            put(&mut file, one.len() as u32);
            file.extend(one);
        }
        if std::env::var_os("TOKENMOLD_WRITE").is_some() {
            let path = concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/language/formats/automata.bin"
            );
            std::fs::write(path, &file).unwrap();
            return;
        }
        assert!(
            file == FILE,
            "write it anew: TOKENMOLD_WRITE=1 cargo test -p schema-normal the_file_has"
        );
    }

    #[test]
    fn every_format_is_read_as_it_was_made() {
        for (format, with_part) in all() {
            let read = read(format, with_part).unwrap();
            assert!(read.states() > 1, "{format:?}");
            let made = made(format, with_part);
            assert!(read.tables() == made.tables(), "{format:?}");
            let ascii = |dfa: &CharDfa| (0..128).map(|c| dfa.step(0, c)).collect::<Vec<_>>();
            assert_eq!(ascii(&read), ascii(&made), "{format:?}");
        }
        assert!(read(Format::Date, true).is_none(), "it has no part");
    }

    #[test]
    fn what_is_no_automaton_is_not_read() {
        for bytes in [&[][..], &[1], &[0x80], &[1, 0, 1, 1, 1], &[0xFF; 9]] {
            assert!(Bytes(bytes).dfa().is_none(), "{bytes:?}");
        }
    }
}
