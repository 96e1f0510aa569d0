//! Deterministic automata over classes of symbols, and the spelling of symbols in bytes.
//!
//! For example, `[0-9]+` has a row for its start and one for behind a digit, each with a cell for
//! the class of digits.

use super::decoder::Decoder;

/// An automaton over classes of symbols, with the decoder from bytes to classes.
#[derive(Clone, PartialEq)]
pub(super) struct SymbolTable {
    pub(super) decoder: Decoder,
    /// The next state by state and class; state 0 is dead.
    cells: Cells,
    /// One bit for each state.
    accepting: Box<[u64]>,
    states: usize,
}

impl SymbolTable {
    /// `cells` has a row of `decoder.class_count()` states for each state, the dead one (0) included.
    pub(super) fn new(decoder: Decoder, cells: Vec<u32>, accepting: &[bool]) -> SymbolTable {
        let states = accepting.len();
        debug_assert_eq!(cells.len(), states * decoder.class_count());
        let mut bits = vec![0u64; states.div_ceil(64)];
        for (state, _) in accepting.iter().enumerate().filter(|a| *a.1) {
            bits[state / 64] |= 1 << (state % 64);
        }
        let cells = match states <= 1 << 16 {
            true => Cells::Narrow(cells.into_iter().map(|cell| cell as u16).collect()),
            false => Cells::Wide(cells.into()),
        };
        SymbolTable {
            decoder,
            cells,
            accepting: bits.into(),
            states,
        }
    }

    /// Returns the number of states, the dead one included.
    #[inline]
    pub(super) fn states(&self) -> usize {
        self.states
    }

    /// Returns the next state, by the place of a state's row and a class in it.
    #[inline]
    pub(super) fn cell(&self, at: usize) -> u32 {
        self.cells.get(at)
    }

    #[inline]
    pub(super) fn accepts_in(&self, state: u32) -> bool {
        self.accepting[state as usize / 64] >> (state % 64) & 1 == 1
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let cells = match &self.cells {
            Cells::Narrow(cells) => cells.len() * 2,
            Cells::Wide(cells) => cells.len() * 4,
        };
        self.decoder.memory() + cells + self.accepting.len() * 8
    }
}

/// States as narrow numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cells {
    Narrow(Box<[u16]>),
    Wide(Box<[u32]>),
}

impl Cells {
    #[inline]
    fn get(&self, at: usize) -> u32 {
        match self {
            Cells::Narrow(cells) => u32::from(cells[at]),
            Cells::Wide(cells) => cells[at],
        }
    }
}
