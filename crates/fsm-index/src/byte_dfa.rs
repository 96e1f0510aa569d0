use crate::{ByteAutomaton, Cursor, DenseTable};

/// A deterministic automaton over bytes as one table: what an index over a
/// vocabulary is built from.
///
/// Memory: 4 bytes a state and byte class. Every state but the dead one can
/// still reach acceptance.
#[derive(Clone, PartialEq, Eq)]
pub struct ByteDfa {
    classes: [u8; 256],
    stride: usize,
    /// Row offsets; row 0 is dead.
    next: Vec<u32>,
    /// One for each row, the dead one included.
    accepting: Vec<bool>,
    start: u32,
}

impl ByteDfa {
    pub(crate) fn from_parts(
        classes: [u8; 256],
        stride: usize,
        next: Vec<u32>,
        accepting: Vec<bool>,
        start: u32,
    ) -> Self {
        debug_assert_eq!(next.len(), stride * accepting.len());
        ByteDfa {
            classes,
            stride,
            next,
            accepting,
            start,
        }
    }

    /// How many states there are, the dead one not counted.
    pub fn state_count(&self) -> usize {
        self.accepting.len() - 1
    }

    /// How many classes of bytes are told apart.
    pub fn class_count(&self) -> usize {
        self.stride
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.next.len() * 4 + self.accepting.len()
    }

    /// Whether the whole of `text` is in the language.
    pub fn accepts(&self, text: impl AsRef<[u8]>) -> bool {
        let mut state = self.start();
        self.advance(&mut state, text.as_ref(), &mut ()).is_ok() && self.is_accepting(&state)
    }

    /// The number of a state: 1 to [`ByteDfa::state_count`], 0 for the dead one.
    pub(crate) fn number(&self, state: Cursor) -> usize {
        state.0 as usize / self.stride
    }

    /// The state of a number.
    pub(crate) fn state(&self, number: usize) -> Cursor {
        Cursor((number * self.stride) as u32)
    }

    pub(crate) fn classes(&self) -> &[u8; 256] {
        &self.classes
    }

    pub(crate) fn next_table(&self) -> &[u32] {
        &self.next
    }

    pub(crate) fn accepting(&self) -> &[bool] {
        &self.accepting
    }
}

impl ByteAutomaton for ByteDfa {
    type State = Cursor;
    type Scratch = ();

    fn scratch(&self) {}

    fn start(&self) -> Cursor {
        Cursor(self.start)
    }

    fn is_accepting(&self, state: &Cursor) -> bool {
        self.accepting[self.number(*state)]
    }

    fn advance(&self, state: &mut Cursor, bytes: &[u8], _: &mut ()) -> Result<(), usize> {
        let mut at = *state;
        for (offset, &byte) in bytes.iter().enumerate() {
            at = self.step(at, byte, &mut ());
            if at.is_dead() {
                return Err(offset);
            }
        }
        *state = at;
        Ok(())
    }

    fn enter(&self, state: &Cursor, _: &mut ()) -> Cursor {
        *state
    }

    fn step(&self, cursor: Cursor, byte: u8, _: &mut ()) -> Cursor {
        Cursor(self.next[cursor.0 as usize + self.classes[byte as usize] as usize])
    }

    fn table(&self) -> Option<DenseTable<'_>> {
        Some(DenseTable {
            classes: &self.classes,
            next: &self.next,
        })
    }
}

impl std::fmt::Debug for ByteDfa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "ByteDfa({} states, {} byte classes)",
            self.state_count(),
            self.class_count()
        )
    }
}
