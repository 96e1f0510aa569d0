//! Saved indexes.
//!
//! A file is little-endian words of 32 bits: magic `TKMINDEX`, version,
//! byte-order mark, the vocabulary's fingerprint, the number of words that
//! follow, their check sum (XXH3, 128 bits, of xxHash), and then the automaton,
//! the cursors and places of the rows, the packed rows and, as they are lent,
//! the dense ones. These are never copied: masks lie in the file's memory.
//!
//! For example, the index of `[a-c]x?` with one byte changed is a `BadIndexFile`.

use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use crate::index::Built;
use crate::regex::Decoder;
use crate::rows::{FileWords, RowView};
use crate::{ByteAutomaton, ByteDfa, Error, ErrorKind, Index, TokenMask, Vocabulary};

/// The first bytes, so that another file is refused at once.
const MAGIC: &[u8; 8] = b"TKMINDEX";
/// The version of the layout: it rises with each change, because rows are not converted.
const VERSION: u32 = 2;
/// The mark of the byte order, because words are read as they lie in the file.
const BYTE_ORDER: u32 = 0x0102_0304;
/// The header's length in bytes: magic, version, byte order, fingerprint, number of words and check
/// sum, as `to_bytes` writes them.
const HEADER: usize = 8 + 4 + 4 + 16 + 8 + 16;

/// A file that was read into memory.
struct Content(Box<[u32]>);

impl FileWords for Content {
    fn words(&self) -> &[u32] {
        &self.0
    }
}

/// A file that is mapped into memory.
struct Mapped(memmap2::Mmap);

impl FileWords for Mapped {
    fn words(&self) -> &[u32] {
        // A mapping begins at a page, so it is aligned; bytes behind the last
        // whole word were refused when it was opened.
        bytemuck::try_cast_slice(&self.0).unwrap_or_default()
    }
}

impl Index {
    /// The index as bytes, to be read back by [`Index::from_bytes`]. A lazy
    /// index is filled first.
    ///
    /// # Errors
    ///
    /// The index has 2^32 or more of something that is counted in 32 bits.
    ///
    /// ```
    /// use fsm_index::{Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// let bytes = Index::new("a+b", &vocabulary)?.to_bytes()?;
    /// let read = Index::from_bytes(&bytes, &vocabulary)?;
    /// assert!(read.automaton().accepts("aab"));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let automaton = self.automaton();
        let built = self.built()?;
        let (first, starts, lasts, codes) = automaton.decoder().parts();
        let (packed, packed_starts) = built.packed();
        let states = automaton.state_count() + 1;
        let mut payload = Payload::default();
        for count in [
            automaton.class_count(),
            states,
            automaton.number(automaton.start()),
            starts.len(),
            lasts.len(),
            automaton.alike().map_or(0, <[u32]>::len),
            built.cursors().len(),
            packed_starts.len(),
            packed.len(),
            built.dense().len(),
        ] {
            payload.count(count)?;
        }
        payload.bytes(bytemuck::cast_slice(&first.map(u16::to_le)));
        payload.words(starts.iter().copied());
        payload.bytes(lasts);
        payload.words(codes.iter().map(|&code| code.into()));
        payload.words(automaton.cells());
        payload.words((0..states as u32).map(|s| automaton.accepts_in(s).into()));
        payload.words(automaton.alike().into_iter().flatten().copied());
        payload.words(built.cursors().iter().copied());
        payload.words(built.places());
        payload.words(packed_starts.iter().copied());
        payload.bytes(packed);
        for mask in built.dense() {
            payload.words(mask.words().iter().copied());
        }

        let payload = payload.0;
        let mut bytes = Vec::with_capacity(HEADER + payload.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        bytes.extend_from_slice(&self.vocabulary().fingerprint().to_le_bytes());
        bytes.extend_from_slice(&(payload.len() as u64 / 4).to_le_bytes());
        bytes.extend_from_slice(&xxh3_128(&payload).to_le_bytes());
        bytes.extend_from_slice(&payload);
        Ok(bytes)
    }

    /// Writes [`Index::to_bytes`] to a file.
    ///
    /// # Errors
    ///
    /// As [`Index::to_bytes`], and what the file system says.
    ///
    /// ```
    /// use fsm_index::{ErrorKind, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// # let file = std::env::temp_dir().join(format!("fsm-index-{}.index", std::process::id()));
    /// Index::new("a+b", &vocabulary)?.save(&file)?;
    /// assert!(Index::load(&file, &vocabulary)?.automaton().accepts("ab"));
    /// // It is for that vocabulary alone.
    /// let other = Vocabulary::new([("b", TokenId::new(0)), ("a", TokenId::new(1))], [TokenId::new(2)])?;
    /// assert_eq!(Index::load(&file, &other).unwrap_err().kind(), ErrorKind::BadIndexFile);
    /// # std::fs::remove_file(&file).unwrap();
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        std::fs::write(path, self.to_bytes()?).map_err(|e| io(path, &e))
    }

    /// Reads an index that [`Index::to_bytes`] wrote, for the same vocabulary.
    /// The bytes are copied once, as a whole.
    ///
    /// # Errors
    ///
    /// The bytes are no index, of another version, for another vocabulary, cut
    /// short or damaged. Nothing is trusted: every number is checked.
    pub fn from_bytes(bytes: &[u8], vocabulary: &Vocabulary) -> Result<Index, Error> {
        let words = bytes.chunks_exact(4);
        if !words.remainder().is_empty() {
            return Err(bad("is cut short or has something behind its end"));
        }
        let words = words.map(|w| u32::from_ne_bytes([w[0], w[1], w[2], w[3]]));
        open(Arc::new(Content(words.collect())), vocabulary)
    }

    /// Reads a file that [`Index::save`] wrote, for the same vocabulary: its
    /// content is read once, and rows are lent from there.
    ///
    /// # Errors
    ///
    /// As [`Index::from_bytes`], and what the file system says.
    pub fn load(path: impl AsRef<Path>, vocabulary: &Vocabulary) -> Result<Index, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| io(path, &e))?;
        Index::from_bytes(&bytes, vocabulary)
    }

    /// Maps a file that [`Index::save`] wrote into memory, for the same
    /// vocabulary. Nothing of its rows is copied; processes that map the same
    /// file share its memory.
    ///
    /// # Safety
    ///
    /// The file may not be changed, by this process or another, while the index or a mask from it
    /// lives: the memory that rows are lent from would change under its readers. If that cannot be
    /// promised, use [`Index::load`].
    ///
    /// # Errors
    ///
    /// As [`Index::load`].
    #[allow(unsafe_code)]
    pub unsafe fn map(path: impl AsRef<Path>, vocabulary: &Vocabulary) -> Result<Index, Error> {
        let path = path.as_ref();
        let file = std::fs::File::open(path).map_err(|e| io(path, &e))?;
        // SAFETY: a map is sound as long as the file does not change, which the
        // caller promises. Nothing else is asked: every byte is valid as a part
        // of a `u32`, and every number read from it is checked before use.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| io(path, &e))?;
        if !map.len().is_multiple_of(4) {
            return Err(bad("is cut short or has something behind its end"));
        }
        open(Arc::new(Mapped(map)), vocabulary)
    }
}

/// Reads an index from a file's words, in the order of bytes of the file.
fn open(file: Arc<dyn FileWords>, vocabulary: &Vocabulary) -> Result<Index, Error> {
    let words = file.words();
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let (Some(header), Some(payload)) = (bytes.get(..HEADER), bytes.get(HEADER..)) else {
        return Err(match bytes.get(..8) {
            Some(magic) if magic == MAGIC => bad("is cut short"),
            _ => bad("does not begin as a saved index does"),
        });
    };
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let wide = |at: usize| u128::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    if &header[..8] != MAGIC {
        return Err(bad("does not begin as a saved index does"));
    }
    if number(8) != VERSION {
        return Err(bad(&format!(
            "has version {} and this program reads version {VERSION}; build the index again",
            number(8)
        )));
    }
    if number(12) != BYTE_ORDER {
        return Err(bad("was written in another byte order"));
    }
    if cfg!(target_endian = "big") {
        return Err(bad("is little-endian, and this machine is not"));
    }
    let fingerprint = wide(16);
    if fingerprint != vocabulary.fingerprint() {
        return Err(bad(&format!(
            "belongs to another vocabulary (fingerprint {fingerprint:032x}, here {:032x})",
            vocabulary.fingerprint()
        )));
    }
    let length = u64::from_le_bytes(std::array::from_fn(|i| header[32 + i]));
    if length != payload.len() as u64 / 4 {
        return Err(bad("is cut short or has something behind its end"));
    }
    if xxh3_128(payload) != wide(40) {
        return Err(bad("is damaged: its check sum differs"));
    }
    read(&file, vocabulary)
}

/// Reads what follows the header.
fn read(file: &Arc<dyn FileWords>, vocabulary: &Vocabulary) -> Result<Index, Error> {
    let mut from = WordReader {
        words: file.words(),
        at: HEADER / 4,
    };
    let counts: Vec<usize> = from.take(10)?.iter().map(|&count| count as usize).collect();
    let &[
        classes,
        states,
        start,
        nodes,
        ranges,
        alike,
        cursors,
        starts,
        packed,
        dense,
    ] = counts.as_slice()
    else {
        return Err(bad("is cut short"));
    };
    let decoder = from.decoder(classes, nodes, ranges)?;
    if states < 2 || !(1..states).contains(&start) {
        return Err(bad("has a start state that does not exist"));
    }
    let cells = states.checked_mul(classes);
    let cells = from.take(cells.ok_or_else(|| bad("is too large"))?)?;
    if cells.iter().any(|&next| next as usize >= states) {
        return Err(bad("has a transition to a state that does not exist"));
    }
    if cells[..classes].iter().any(|&next| next != 0) {
        return Err(bad("has transitions out of the dead state"));
    }
    let accepting: Vec<bool> = from.take(states)?.iter().map(|&a| a != 0).collect();
    let mut automaton = ByteDfa::new(decoder, cells.to_vec(), &accepting, start as u32)
        .ok_or_else(|| bad("has too many states"))?;
    if !automaton.is_live() {
        return Err(bad("has a state from which no text can be finished"));
    }
    let alike = from.take(alike)?;
    if !alike.is_empty() {
        let representative = |state: u32| alike.get(state as usize) == Some(&state);
        if alike.len() != states || !alike.iter().all(|&state| representative(state)) {
            return Err(bad("has states that are like none"));
        }
        automaton.set_alike(Some(alike.into()));
    }
    let row_cursors = from.take(cursors)?;
    let places = from.take(cursors)?;
    let packed_starts = from.take(starts)?;
    let packed = from.bytes(packed)?;
    let width = vocabulary.width();
    let words = width.div_ceil(32);
    let mut masks = Vec::new();
    for _ in 0..dense {
        let at = from.at;
        let row = from.take(words)?;
        if !width.is_multiple_of(32) && row.last().is_some_and(|&last| last >> (width % 32) != 0) {
            return Err(bad("has a row that does not fit the vocabulary"));
        }
        masks.push(TokenMask::in_file(file.clone(), at, width));
    }
    if from.at != from.words.len() {
        return Err(bad("has something behind its end"));
    }
    let needed = automaton.distinct_cursors();
    let found = |cursor| row_cursors.binary_search(cursor).is_ok();
    let built = Built::from_parts(
        row_cursors.into(),
        places,
        masks.into(),
        packed.into(),
        packed_starts.into(),
    );
    let built = built.ok_or_else(|| bad("has rows that do not hang together"))?;
    let (packed, packed_starts) = built.packed();
    let rows = packed_starts
        .windows(2)
        .map(|w| &packed[w[0] as usize..w[1] as usize]);
    for row in rows {
        if !RowView::check(row, vocabulary) {
            return Err(bad("has a row that does not fit the vocabulary"));
        }
    }
    Index::from_built(automaton, vocabulary, built, |dead| {
        let mut needed = needed.iter().filter(|cursor| !dead(cursor));
        needed.all(|cursor| found(&cursor.0))
    })
}

struct WordReader<'a> {
    words: &'a [u32],
    at: usize,
}

impl<'a> WordReader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u32], Error> {
        let end = self.at.checked_add(n);
        let end = end.filter(|&end| end <= self.words.len());
        let end = end.ok_or_else(|| bad("is cut short"))?;
        let taken = &self.words[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn bytes(&mut self, n: usize) -> Result<&'a [u8], Error> {
        let words = self.take(n.div_ceil(4))?;
        Ok(&bytemuck::cast_slice(words)[..n])
    }

    /// Reads the decoder from bytes to so many classes.
    fn decoder(&mut self, classes: usize, nodes: usize, ranges: usize) -> Result<Decoder, Error> {
        let first: Box<[u16; 256]> = {
            let halves: &[u16] = bytemuck::cast_slice(self.take(128)?);
            Box::new(std::array::from_fn(|byte| halves[byte]))
        };
        let node_starts = self.take(nodes)?;
        let lasts = self.bytes(ranges)?;
        let codes: Vec<u16> = self.narrow(ranges)?;
        if !Decoder::check(classes, &first, node_starts, lasts, &codes) {
            return Err(bad("has a decoder that does not hang together"));
        }
        Ok(Decoder::from_parts(
            classes,
            first,
            node_starts.into(),
            lasts.into(),
            codes.into(),
        ))
    }

    fn narrow(&mut self, n: usize) -> Result<Vec<u16>, Error> {
        let words = self.take(n)?;
        let narrow = words.iter().map(|&word| u16::try_from(word));
        let narrow: Result<_, _> = narrow.collect();
        narrow.map_err(|_| bad("has a class that does not exist"))
    }
}

/// The bytes behind the header, as they grow.
#[derive(Default)]
struct Payload(Vec<u8>);

impl Payload {
    fn count(&mut self, count: usize) -> Result<(), Error> {
        let count = u32::try_from(count).map_err(|_| {
            Error::new(
                ErrorKind::LimitExceeded,
                format!("an index with a count of {count} cannot be saved: the limit is 2^32"),
            )
        })?;
        self.words([count].into_iter());
        Ok(())
    }

    fn words(&mut self, words: impl Iterator<Item = u32>) {
        self.0.extend(words.flat_map(u32::to_le_bytes));
    }

    /// Bytes, filled up to a whole word.
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}

#[cold]
fn bad(what: &str) -> Error {
    Error::new(ErrorKind::BadIndexFile, format!("the index file {what}"))
}

#[cold]
fn io(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenId;

    fn vocabulary() -> Vocabulary {
        let tokens = (0..=255u8).map(|b| ([b], TokenId::new(u32::from(b))));
        Vocabulary::new(tokens, [TokenId::new(256)]).unwrap()
    }

    #[test]
    fn what_is_saved_comes_back() {
        let vocabulary = vocabulary();
        let index = Index::new("[a-z]{1,3}é?", &vocabulary).unwrap();
        let bytes = index.to_bytes().unwrap();
        let again = Index::from_bytes(&bytes, &vocabulary).unwrap();
        assert_eq!(again.automaton(), index.automaton());
        assert_eq!(again.built().unwrap(), index.built().unwrap());
        assert_eq!(again.to_bytes().unwrap(), bytes);
    }

    #[test]
    #[allow(unsafe_code)]
    fn a_mapped_file_is_as_good_as_a_loaded_one() {
        let vocabulary = vocabulary();
        let config = crate::IndexConfig {
            packed_tokens: Some(0), // So that all rows are dense ones.
            ..crate::IndexConfig::default()
        };
        let dfa = crate::Config::default();
        let index = Index::with_config("x[^x]{2,9}", &vocabulary, &dfa, &config).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("an.index");
        index.save(&path).unwrap();
        let loaded = Index::load(&path, &vocabulary).unwrap();
        // SAFETY: nothing changes the file of this test.
        let mapped = unsafe { Index::map(&path, &vocabulary) }.unwrap();
        assert_eq!(loaded.built().unwrap(), index.built().unwrap());
        assert_eq!(mapped.built().unwrap(), index.built().unwrap());
        assert!(mapped.stats().row_bytes < index.stats().row_bytes);
        let missing = Index::load(folder.path().join("none"), &vocabulary).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Io);
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        let vocabulary = vocabulary();
        let bytes = Index::new("[a-c]x?", &vocabulary).unwrap().to_bytes();
        let bytes = bytes.unwrap();
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

    /// An automaton that never accepts: its completion was sought for ever, and what must
    /// come next had no end.
    #[test]
    fn a_file_without_a_way_out_is_refused() {
        let vocabulary = vocabulary();
        for pattern in ["abc", "a{70}", "[a-cé]{2}x?"] {
            let index = Index::new(pattern, &vocabulary).unwrap();
            let mut words: Vec<u32> = index
                .to_bytes()
                .unwrap()
                .chunks_exact(4)
                .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
                .collect();
            let automaton = index.automaton();
            let states = automaton.state_count() + 1;
            let (_, starts, lasts, _) = automaton.decoder().parts();
            let behind_cells = HEADER / 4
                + 10
                + 128
                + starts.len()
                + lasts.len().div_ceil(4)
                + lasts.len()
                + states * automaton.class_count();
            words[behind_cells..behind_cells + states].fill(0);
            let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let sum = xxh3_128(&bytes[HEADER..]).to_le_bytes();
            bytes[40..56].copy_from_slice(&sum);
            let error = Index::from_bytes(&bytes, &vocabulary).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadIndexFile);
            assert!(error.to_string().contains("finished"), "{error}");
        }
    }

    /// With a check sum that fits, only the checks of the content stand between
    /// a hostile file and a guide.
    #[test]
    fn hostile_files_are_refused_or_harmless() {
        let vocabulary = vocabulary();
        let bytes = Index::new("[a-cé]{2}x?", &vocabulary).unwrap().to_bytes();
        let bytes = bytes.unwrap();
        let mut refused = 0;
        for at in HEADER..bytes.len() {
            for change in [1u8, 0x80, 0xFF] {
                let mut hostile = bytes.clone();
                hostile[at] ^= change;
                let sum = xxh3_128(&hostile[HEADER..]).to_le_bytes();
                hostile[40..56].copy_from_slice(&sum);
                let Ok(index) = Index::from_bytes(&hostile, &vocabulary) else {
                    refused += 1;
                    continue;
                };
                let mut guide = crate::Guide::new(Arc::new(index));
                for _ in 0..5 {
                    // Without a way to acceptance neither of them ends.
                    let automaton = guide.index().automaton();
                    let mut state = *guide.state();
                    let mut rest = Vec::new();
                    let completed = automaton.completion(&state, usize::MAX, &mut rest);
                    assert_eq!(completed, Some(crate::Completed::Whole));
                    assert!(guide.forced_bytes().len() <= rest.len() || guide.has_ended());
                    let completed = automaton.advance(&mut state, &rest, &mut ());
                    assert!(completed.is_ok() && automaton.is_accepting(&state), "{at}");
                    let Some(token) = guide.mask().unwrap().iter().next() else {
                        break;
                    };
                    if guide.advance(token).is_err() {
                        break;
                    }
                }
            }
        }
        assert!(refused > 1_000, "{refused}");
    }
}
