//! Saved indexes.
//!
//! All numbers are little-endian: magic `TKMINDEX`, version, byte-order mark,
//! the vocabulary's fingerprint, the payload's length and FNV-1a sum, then the
//! payload: the automaton (stride, rows, start, byte classes, table, accepting
//! flags), the rows, and each state's row.

use crate::row::Row;
use crate::vocabulary::Fnv128;
use crate::{ByteAutomaton, ByteDfa, Error, ErrorKind, Index, TokenId, TokenMask, Vocabulary};

const MAGIC: &[u8; 8] = b"TKMINDEX";
const VERSION: u32 = 1;
const BYTE_ORDER: u32 = 0x0102_0304;
const HEADER: usize = 8 + 4 + 4 + 16 + 8 + 16;

impl Index {
    /// The index as bytes, to be read back by [`Index::from_bytes`]. A lazy
    /// index is filled first.
    pub fn to_bytes(&self) -> Vec<u8> {
        let automaton = self.automaton();
        let mut payload = Vec::new();
        put(&mut payload, automaton.class_count());
        put(&mut payload, automaton.state_count() + 1);
        put(&mut payload, automaton.number(automaton.start()));
        payload.extend_from_slice(automaton.classes());
        for &next in automaton.next_table() {
            payload.extend_from_slice(&next.to_le_bytes());
        }
        payload.extend(automaton.accepting().iter().map(|&a| u8::from(a)));

        let mut rows: Vec<std::sync::Arc<Row>> = Vec::new();
        let mut ids = std::collections::HashMap::new();
        let mut row_of = Vec::new();
        for number in 1..=automaton.state_count() {
            let row = self.row(automaton.state(number));
            let id = *ids.entry(row.clone()).or_insert_with(|| {
                rows.push(row);
                rows.len() - 1
            });
            row_of.push(id);
        }
        put(&mut payload, rows.len());
        for row in &rows {
            let (kind, numbers): (u8, Vec<u32>) = match row.as_ref() {
                Row::Dense(mask) => (0, mask.words().to_vec()),
                Row::Sparse(tokens) => (1, tokens.iter().map(|t| t.get()).collect()),
            };
            payload.push(kind);
            put(&mut payload, numbers.len());
            for number in numbers {
                payload.extend_from_slice(&number.to_le_bytes());
            }
        }
        for id in row_of {
            put(&mut payload, id);
        }

        let mut sum = Fnv128::default();
        sum.write(&payload);
        let mut bytes = Vec::with_capacity(HEADER + payload.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        bytes.extend_from_slice(&self.vocabulary().fingerprint().to_le_bytes());
        bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&sum.0.to_le_bytes());
        bytes.extend_from_slice(&payload);
        bytes
    }

    /// Reads an index that [`Index::to_bytes`] wrote, for the same vocabulary.
    ///
    /// # Errors
    ///
    /// The bytes are no index, of another version, for another vocabulary, cut
    /// short or damaged. Nothing is trusted: every number is checked.
    pub fn from_bytes(bytes: &[u8], vocabulary: &Vocabulary) -> Result<Index, Error> {
        let mut file = Reader { bytes, at: 0 };
        if file.take(8)? != MAGIC {
            return Err(bad("does not begin as a saved index does"));
        }
        let version = file.number()?;
        if version != VERSION as usize {
            return Err(bad(&format!(
                "has version {version} and this program reads version {VERSION}; build the index again"
            )));
        }
        if file.number()? != BYTE_ORDER as usize {
            return Err(bad("was written in another byte order"));
        }
        let fingerprint = file.wide()?;
        if fingerprint != vocabulary.fingerprint() {
            return Err(bad(&format!(
                "belongs to another vocabulary (fingerprint {fingerprint:032x}, here {:032x})",
                vocabulary.fingerprint()
            )));
        }
        let length = u64::from_le_bytes(file.array()?);
        let sum = file.wide()?;
        if length != (bytes.len() - file.at) as u64 {
            return Err(bad("is cut short or has something behind its end"));
        }
        let mut found = Fnv128::default();
        found.write(&bytes[file.at..]);
        if found.0 != sum {
            return Err(bad("is damaged: its check sum differs"));
        }
        file.payload(vocabulary)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn payload(&mut self, vocabulary: &Vocabulary) -> Result<Index, Error> {
        let stride = self.number()?;
        let count = self.number()?;
        let start = self.number()?;
        let classes: [u8; 256] = self.array()?;
        if !(1..=256).contains(&stride) || classes.iter().any(|&c| c as usize >= stride) {
            return Err(bad("has byte classes outside its table"));
        }
        if count < 2 || !(1..count).contains(&start) {
            return Err(bad("has a start state that does not exist"));
        }
        let cells = count
            .checked_mul(stride)
            .ok_or_else(|| bad("is too large"))?;
        let next = self.numbers(cells)?;
        if next
            .iter()
            .any(|&n| n as usize >= cells || !(n as usize).is_multiple_of(stride))
        {
            return Err(bad("has a transition to a state that does not exist"));
        }
        if next[..stride].iter().any(|&n| n != 0) {
            return Err(bad("has transitions out of the dead state"));
        }
        let accepting: Vec<bool> = self.take(count)?.iter().map(|&a| a != 0).collect();
        let automaton =
            ByteDfa::from_parts(classes, stride, next, accepting, (start * stride) as u32);

        let width = vocabulary.width();
        let mut rows = Vec::new();
        for _ in 0..self.number()? {
            let kind = self.take(1)?[0];
            let len = self.number()?;
            let numbers = self.numbers(len)?;
            rows.push(match kind {
                0 if len == width.div_ceil(32) => {
                    let mut words = numbers;
                    if !width.is_multiple_of(32)
                        && let Some(last) = words.last_mut()
                    {
                        *last &= (1 << (width % 32)) - 1;
                    }
                    Row::Dense(TokenMask::from_words(words.into(), width))
                }
                1 if numbers.iter().all(|&t| (t as usize) < width) && numbers.is_sorted() => {
                    Row::Sparse(numbers.into_iter().map(TokenId::new).collect())
                }
                _ => return Err(bad("has a row that does not fit the vocabulary")),
            });
        }
        let row_of = self.numbers(count - 1)?;
        if row_of.iter().any(|&r| r as usize >= rows.len()) {
            return Err(bad("names a row that does not exist"));
        }
        if self.at != self.bytes.len() {
            return Err(bad("has something behind its end"));
        }
        Index::from_saved(automaton, vocabulary, rows, &row_of)
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], Error> {
        let end = self
            .at
            .checked_add(n)
            .filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| bad("is cut short"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| bad("is cut short"))
    }

    fn number(&mut self) -> Result<usize, Error> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn wide(&mut self) -> Result<u128, Error> {
        Ok(u128::from_le_bytes(self.array()?))
    }

    fn numbers(&mut self, n: usize) -> Result<Vec<u32>, Error> {
        let bytes = self.take(n.checked_mul(4).ok_or_else(|| bad("is too large"))?)?;
        let words = bytes.chunks_exact(4);
        Ok(words
            .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
            .collect())
    }
}

/// Every count in a file is below 2^32: tables are limited to that many bytes.
fn put(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&(number as u32).to_le_bytes());
}

#[cold]
fn bad(what: &str) -> Error {
    Error::new(ErrorKind::BadIndexFile, format!("the index file {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        let tokens = (0..=255u8).map(|b| ([b], TokenId::new(u32::from(b))));
        Vocabulary::new(tokens, [TokenId::new(256)]).unwrap()
    }

    #[test]
    fn what_is_saved_comes_back() {
        let vocabulary = vocabulary();
        let index = Index::new("[a-z]{1,3}é?", &vocabulary).unwrap();
        let bytes = index.to_bytes();
        let again = Index::from_bytes(&bytes, &vocabulary).unwrap();
        assert_eq!(again.stats().rows, index.stats().rows);
        assert_eq!(again.to_bytes(), bytes);
        for n in 1..=index.automaton().state_count() {
            let state = index.automaton().state(n);
            assert_eq!(again.row(state), index.row(state));
        }
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        let vocabulary = vocabulary();
        let bytes = Index::new("[a-c]x?", &vocabulary).unwrap().to_bytes();
        let kind = |bytes: &[u8], vocabulary: &Vocabulary| {
            Index::from_bytes(bytes, vocabulary).unwrap_err().kind()
        };
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert_eq!(kind(&damaged, &vocabulary), ErrorKind::BadIndexFile, "{at}");
            assert_eq!(
                kind(&bytes[..at], &vocabulary),
                ErrorKind::BadIndexFile,
                "{at}"
            );
        }
        let other = Vocabulary::new([(b"a", TokenId::new(0))], []).unwrap();
        assert_eq!(kind(&bytes, &other), ErrorKind::BadIndexFile);
    }
}
