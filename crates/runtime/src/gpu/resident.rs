//! Constraints as they lie on a device: eager indexes and the vocabulary, each
//! one piece of words.
//!
//! A piece begins with a header: numbers, and where its sections begin, in
//! words from the header's first. The kernels of `kernels/resident.cuh` read
//! these words; the functions here are their twins and read the same.
//!
//! States are advanced by replaying the bytes of tokens, because a table of the
//! next states by state and token would take half a megabyte a state. Rows of
//! few tokens stay packed: 8 bytes a run of tokens that stand side by side in
//! the vocabulary's order, and 4 for each other token.
//!
//! For example, a row of three tokens side by side and another one takes 12 bytes.

use std::sync::Arc;

use fsm_index::{Index, PackedRow, Tables, TokenId, TokenKind, Vocabulary};

use crate::gpu::masking::NO_MASK;
use crate::{Error, ErrorKind};

/// The state of a text that has ended.
pub(crate) const ENDED: u32 = u32::MAX;

/// The base of a text without a constraint: the largest number, because no index begins there.
const FREE: u32 = u32::MAX;

/// The state without a way on, as `kernels/resident.cuh` numbers it.
const DEAD: u32 = 0;

/// The sections of an index, in the order of the header (`IndexHeader` there).
mod index {
    /// `Tables::shift`, numbered as in `IndexHeader`.
    pub(super) const SHIFT: usize = 0;
    /// `Tables::classes`, numbered as in `IndexHeader`.
    pub(super) const CLASSES: usize = 1;
    /// One if cells have 32 bits and not 16, numbered as in `IndexHeader`.
    pub(super) const WIDE_CELLS: usize = 2;
    /// The words of a set of classes, numbered as in `IndexHeader`.
    pub(super) const SET_WORDS: usize = 3;
    /// The words of a mask, numbered as in `IndexHeader`.
    pub(super) const MASK_WORDS: usize = 4;
    /// The number of cursors that have a row, numbered as in `IndexHeader`.
    pub(super) const CURSOR_COUNT: usize = 5;
    /// The number of dense rows, numbered as in `IndexHeader`.
    pub(super) const DENSE_COUNT: usize = 6;
    /// `Tables::first`, numbered as in `IndexHeader`.
    pub(super) const FIRST: usize = 7;
    /// `Tables::nodes`, numbered as in `IndexHeader`.
    pub(super) const NODES: usize = 8;
    /// The last byte and the code of each range, numbered as in `IndexHeader`.
    pub(super) const RANGES: usize = 9;
    /// `Tables::cells`, numbered as in `IndexHeader`.
    pub(super) const CELLS: usize = 10;
    /// `Tables::live`, numbered as in `IndexHeader`.
    pub(super) const LIVE: usize = 11;
    /// `Tables::reach`, numbered as in `IndexHeader`.
    pub(super) const REACH: usize = 12;
    /// `Tables::alike`, numbered as in `IndexHeader`.
    pub(super) const ALIKE: usize = 13;
    /// `Tables::row_cursors`, numbered as in `IndexHeader`.
    pub(super) const CURSORS: usize = 14;
    /// `Tables::row_places`, numbered as in `IndexHeader`.
    pub(super) const PLACES: usize = 15;
    /// `Tables::dense`, numbered as in `IndexHeader`.
    pub(super) const DENSE: usize = 16;
    /// The start of each packed row's runs, numbered as in `IndexHeader`.
    pub(super) const RUN_STARTS: usize = 17;
    /// The runs of packed rows, numbered as in `IndexHeader`.
    pub(super) const RUNS: usize = 18;
    /// The start of each packed row's other tokens, numbered as in `IndexHeader`.
    pub(super) const OTHER_STARTS: usize = 19;
    /// The other tokens of packed rows, numbered as in `IndexHeader`.
    pub(super) const OTHERS: usize = 20;
    /// The words of the header, as many as keep what lies behind it in place if a section is added.
    pub(super) const HEADER: usize = 24;
}

/// The sections of a vocabulary (`VocabularyHeader` there).
mod words {
    /// The number of tokens, numbered as in `VocabularyHeader`.
    pub(super) const WIDTH: usize = 0;
    /// The start of each token's bytes, numbered as in `VocabularyHeader`.
    pub(super) const OFFSETS: usize = 1;
    /// The bytes of all tokens, numbered as in `VocabularyHeader`.
    pub(super) const BYTES: usize = 2;
    /// The kind of each token, numbered as in `VocabularyHeader`.
    pub(super) const KINDS: usize = 3;
    /// The tokens in the order of their bytes, numbered as in `VocabularyHeader`.
    pub(super) const ORDER: usize = 4;
    /// The words of the header, as many as keep what lies behind it in place if a section is added.
    pub(super) const HEADER: usize = 8;
}

/// A token of text, as `kernels/resident.cuh` numbers it.
const KIND_TEXT: u8 = 0;
/// A token that ends the text, as `kernels/resident.cuh` numbers it.
const KIND_END: u8 = 1;
/// A token that may never come, as `kernels/resident.cuh` numbers it.
const KIND_OTHER: u8 = 2;

/// Words, section after section.
struct Sections {
    from: usize,
    words: Vec<u32>,
}

impl Sections {
    /// Behind what is there already, with a header of so many words.
    fn new(words: Vec<u32>, header: usize) -> Self {
        let from = words.len();
        let mut sections = Sections { from, words };
        sections.words.resize(from + header, 0);
        sections
    }

    fn number(&mut self, place: usize, number: usize) -> Result<(), Error> {
        self.words[self.from + place] = u32::try_from(number).map_err(|_| too_large())?;
        Ok(())
    }

    fn section(&mut self, place: usize, words: impl IntoIterator<Item = u32>) -> Result<(), Error> {
        self.number(place, self.words.len() - self.from)?;
        self.words.extend(words);
        Ok(())
    }

    fn halves(&mut self, place: usize, halves: &[u16]) -> Result<(), Error> {
        let words = halves
            .chunks(2)
            .map(|two| u32::from(two[0]) | u32::from(two.get(1).copied().unwrap_or(0)) << 16);
        self.section(place, words)
    }

    fn bytes(&mut self, place: usize, bytes: &[u8]) -> Result<(), Error> {
        let words = bytes.chunks(4).map(|chunk| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            u32::from_le_bytes(word)
        });
        self.section(place, words)
    }
}

#[cold]
fn too_large() -> Error {
    Error::new(
        ErrorKind::Device,
        "the constraints of a batch have 2^32 words or more; use fewer, or smaller ones",
    )
}

/// The vocabulary's piece.
fn vocabulary_words(vocabulary: &Vocabulary) -> Result<Vec<u32>, Error> {
    let width = vocabulary.width();
    let (mut offsets, mut bytes, mut kinds) = (vec![0], Vec::new(), Vec::new());
    for token in (0..width as u32).map(TokenId::new) {
        bytes.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
        offsets.push(u32::try_from(bytes.len()).map_err(|_| too_large())?);
        kinds.push(match vocabulary.kind(token) {
            TokenKind::Text => KIND_TEXT,
            TokenKind::End => KIND_END,
            _ => KIND_OTHER,
        });
    }
    let mut sections = Sections::new(Vec::new(), words::HEADER);
    sections.number(words::WIDTH, width)?;
    sections.section(words::OFFSETS, offsets)?;
    sections.bytes(words::BYTES, &bytes)?;
    sections.bytes(words::KINDS, &kinds)?;
    sections.section(words::ORDER, vocabulary.tokens_in_order().iter().copied())?;
    Ok(sections.words)
}

/// Appends an index's piece.
fn add_index(all: Vec<u32>, tables: &Tables, width: usize) -> Result<Vec<u32>, Error> {
    let mut sections = Sections::new(all, index::HEADER);
    sections.number(index::SHIFT, tables.shift as usize)?;
    sections.number(index::CLASSES, tables.classes as usize)?;
    sections.number(index::SET_WORDS, tables.set_words * 2)?;
    sections.number(index::MASK_WORDS, width.div_ceil(32))?;
    sections.number(index::CURSOR_COUNT, tables.row_cursors.len())?;
    sections.number(index::DENSE_COUNT, tables.dense.len())?;
    sections.halves(index::FIRST, &*tables.first)?;
    sections.section(index::NODES, tables.nodes.iter().copied())?;
    let ranges = tables.lasts.iter().zip(&tables.codes);
    let ranges = ranges.map(|(&last, &code)| u32::from(last) | u32::from(code) << 8);
    sections.section(index::RANGES, ranges)?;
    let narrow: Option<Vec<u16>> = tables
        .cells
        .iter()
        .map(|&cell| u16::try_from(cell).ok())
        .collect();
    match narrow {
        Some(cells) => sections.halves(index::CELLS, &cells)?,
        None => {
            sections.number(index::WIDE_CELLS, 1)?;
            sections.section(index::CELLS, tables.cells.iter().copied())?;
        }
    }
    let halves = |sets: &[u64]| -> Vec<u32> {
        let halves = sets
            .iter()
            .flat_map(|&set| [set as u32, (set >> 32) as u32]);
        halves.collect()
    };
    sections.section(index::LIVE, halves(&tables.live))?;
    sections.section(index::REACH, halves(&tables.reach))?;
    if !tables.alike.is_empty() {
        sections.section(index::ALIKE, tables.alike.iter().copied())?;
    }
    sections.section(index::CURSORS, tables.row_cursors.iter().copied())?;
    sections.section(index::PLACES, tables.row_places.iter().copied())?;
    let dense = tables.dense.iter().flat_map(|mask| mask.words());
    sections.section(index::DENSE, dense.copied())?;
    let rows = &tables.packed;
    // Each row's runs, and one pair behind the last that counts all tokens.
    sections.section(index::RUN_STARTS, starts(rows, |row| row.runs.len() + 1)?)?;
    sections.section(index::RUNS, rows.iter().flat_map(counted_runs))?;
    sections.section(index::OTHER_STARTS, starts(rows, |row| row.others.len())?)?;
    let others = rows.iter().flat_map(|row| row.others.iter().copied());
    sections.section(index::OTHERS, others)?;
    Ok(sections.words)
}

/// Returns the start of each row's part, and the end.
fn starts(rows: &[PackedRow], size: impl Fn(&PackedRow) -> usize) -> Result<Vec<u32>, Error> {
    let mut at = 0usize;
    let ends = rows.iter().map(|row| {
        at += size(row);
        u32::try_from(at).map_err(|_| too_large())
    });
    std::iter::once(Ok(0)).chain(ends).collect()
}

/// Pairs: a place in the vocabulary's order, and how many tokens come before.
fn counted_runs(row: &PackedRow) -> Vec<u32> {
    let mut words = Vec::with_capacity(2 * row.runs.len() + 2);
    let mut before = 0;
    for &(from, to) in &row.runs {
        words.extend([from, before]);
        before += to - from;
    }
    words.extend([0, before]);
    words
}

/// Indexes, a vocabulary, and the states of a batch of texts: what is uploaded,
/// and on the CPU what is run.
#[derive(Clone, Debug)]
pub(crate) struct Resident {
    pub(crate) vocabulary: Vec<u32>,
    pub(crate) indexes: Vec<u32>,
    /// The start of each text's index; [`FREE`] for none.
    pub(crate) bases: Vec<u32>,
    /// The cursors of the texts, or [`ENDED`].
    pub(crate) states: Vec<u32>,
    pub(crate) words: usize,
}

impl Resident {
    /// A batch of texts at the start, each with its index or free. An index
    /// that several texts share is there once.
    ///
    /// # Errors
    ///
    /// An index is over another vocabulary, or all are too large together.
    pub(crate) fn new(
        vocabulary: &Vocabulary,
        texts: &[Option<Arc<Index>>],
    ) -> Result<Self, Error> {
        let (mut indexes, mut bases, mut states) = (Vec::new(), Vec::new(), Vec::new());
        let mut known: Vec<(&Arc<Index>, u32, u32)> = Vec::new();
        for text in texts {
            let Some(own) = text else {
                bases.push(FREE);
                states.push(DEAD);
                continue;
            };
            if own.vocabulary().fingerprint() != vocabulary.fingerprint() {
                return Err(Error::new(
                    ErrorKind::VocabularyMismatch,
                    "an index is over another vocabulary than the batch; build it with the \
                     tokenizer's vocabulary",
                ));
            }
            let found = known.iter().find(|(index, ..)| Arc::ptr_eq(index, own));
            let (base, start) = match found {
                Some(&(_, base, start)) => (base, start),
                None => {
                    let tables = own.tables()?;
                    let base = u32::try_from(indexes.len()).ok().filter(|&at| at < FREE);
                    let base = base.ok_or_else(too_large)?;
                    indexes = add_index(indexes, &tables, vocabulary.width())?;
                    known.push((own, base, tables.start));
                    (base, tables.start)
                }
            };
            bases.push(base);
            states.push(start);
        }
        Ok(Self {
            vocabulary: vocabulary_words(vocabulary)?,
            indexes,
            bases,
            states,
            words: vocabulary.width().div_ceil(32),
        })
    }

    /// The index of a text; none if it is free.
    fn index(&self, text: usize) -> Option<Piece<'_>> {
        match self.bases[text] {
            FREE => None,
            base => Some(Piece(&self.indexes[base as usize..])),
        }
    }

    /// Takes a token that the mask allowed.
    pub(crate) fn advance(&mut self, text: usize, token: u32) {
        let vocabulary = Piece(&self.vocabulary);
        let state = self.states[text];
        if state == ENDED || token >= vocabulary.number(words::WIDTH) {
            return;
        }
        let kind = vocabulary.byte(words::KINDS, token as usize);
        let index = self.index(text);
        self.states[text] = match (kind, index) {
            (KIND_END, _) => ENDED,
            (_, None) => state,
            (KIND_TEXT, Some(index)) => {
                let offset = |at: u32| vocabulary.get(words::OFFSETS, at as usize) as usize;
                let bytes = offset(token)..offset(token + 1);
                let mut bytes = bytes.map(|at| vocabulary.byte(words::BYTES, at));
                let after = bytes.try_fold(state, |state, byte| match step(index, state, byte) {
                    DEAD => Err(DEAD),
                    next => Ok(next),
                });
                after.unwrap_or_else(|dead| dead)
            }
            _ => DEAD,
        };
    }

    /// Writes the mask of a text's state; whether there is one.
    pub(crate) fn lay_out(&self, text: usize, mask: &mut [u32]) -> u32 {
        let (state, index) = (self.states[text], self.index(text));
        if index.is_none() && state != ENDED {
            return NO_MASK;
        }
        mask.fill(0);
        let row = index.and_then(|index| Some((index, place_of(index, state)?)));
        if let Some((index, place)) = row {
            lay_out_row(index, Piece(&self.vocabulary), place as usize, mask);
        }
        text as u32
    }
}

/// A piece of words with a header.
#[derive(Clone, Copy)]
struct Piece<'a>(&'a [u32]);

impl<'a> Piece<'a> {
    fn number(self, place: usize) -> u32 {
        self.0[place]
    }

    /// A section and all that follows.
    fn section(self, place: usize) -> &'a [u32] {
        &self.0[self.0[place] as usize..]
    }

    fn get(self, place: usize, at: usize) -> u32 {
        self.section(place)[at]
    }

    fn half(self, place: usize, at: usize) -> u32 {
        self.get(place, at / 2) >> (at % 2 * 16) & 0xFFFF
    }

    fn byte(self, place: usize, at: usize) -> u8 {
        (self.get(place, at / 4) >> (at % 4 * 8)) as u8
    }
}

/// The cursor after a byte.
fn step(index: Piece<'_>, cursor: u32, byte: u8) -> u32 {
    let (shift, classes) = (index.number(index::SHIFT), index.number(index::CLASSES));
    let (node, state) = (cursor & ((1 << shift) - 1), cursor >> shift);
    let code = match node {
        0 => index.half(index::FIRST, usize::from(byte)),
        _ if byte & 0xC0 != 0x80 => 0,
        _ => {
            let from = index.get(index::NODES, node as usize - 1) as usize;
            let mut ranges = index.section(index::RANGES)[from..].iter();
            let range = ranges.find(|&range| range & 0xFF >= u32::from(byte & 0x3F));
            range.map_or(0, |range| range >> 8)
        }
    };
    if code == 0 {
        return DEAD;
    }
    if code <= classes {
        let at = (state * classes + code - 1) as usize;
        let next = match index.number(index::WIDE_CELLS) {
            0 => index.half(index::CELLS, at),
            _ => index.get(index::CELLS, at),
        };
        return next << shift;
    }
    let (inner, words) = (code - classes, index.number(index::SET_WORDS));
    let set =
        |place: usize, at: u32| &index.section(place)[(at * words) as usize..][..words as usize];
    let (live, reach) = (set(index::LIVE, state), set(index::REACH, inner - 1));
    match live.iter().zip(reach).any(|(a, b)| a & b != 0) {
        true => state << shift | inner,
        false => DEAD,
    }
}

/// The number of a state's row.
fn place_of(index: Piece<'_>, cursor: u32) -> Option<u32> {
    if cursor == DEAD || cursor == ENDED {
        return None;
    }
    let shift = index.number(index::SHIFT);
    let cursor = match index.number(index::ALIKE) {
        0 => cursor,
        _ => {
            let node = cursor & ((1 << shift) - 1);
            index.get(index::ALIKE, (cursor >> shift) as usize) << shift | node
        }
    };
    let count = index.number(index::CURSOR_COUNT) as usize;
    let cursors = &index.section(index::CURSORS)[..count];
    let at = cursors.binary_search(&cursor).ok()?;
    Some(index.get(index::PLACES, at))
}

/// Sets the bits of a row in a mask of zeroes.
fn lay_out_row(index: Piece<'_>, vocabulary: Piece<'_>, place: usize, mask: &mut [u32]) {
    let dense = index.number(index::DENSE_COUNT) as usize;
    if place < dense {
        let words = index.number(index::MASK_WORDS) as usize;
        mask.copy_from_slice(&index.section(index::DENSE)[place * words..][..words]);
        return;
    }
    let mut allow = |token: u32| mask[token as usize / 32] |= 1 << (token % 32);
    let ends = |at: usize| {
        let starts = &index.section(at)[place - dense..];
        starts[0] as usize..starts[1] as usize
    };
    let runs = ends(index::RUN_STARTS);
    let runs = &index.section(index::RUNS)[2 * runs.start..2 * runs.end];
    for pair in runs.windows(4).step_by(2) {
        for at in pair[0]..pair[0] + (pair[3] - pair[1]) {
            allow(vocabulary.get(words::ORDER, at as usize));
        }
    }
    for &token in &index.section(index::OTHERS)[ends(index::OTHER_STARTS)] {
        allow(token);
    }
}
