use std::collections::VecDeque;
use std::sync::OnceLock;

use crate::vocabulary::CharRanges;
use crate::{ByteAutomaton, Cursor, DenseTable};

/// A deterministic automaton over bytes as one table: what an index over a
/// vocabulary is built from.
///
/// Memory: 4 bytes a state and byte class. Every state but the dead one can
/// still reach acceptance.
#[derive(Clone)]
pub struct ByteDfa {
    classes: [u8; 256],
    stride: usize,
    /// Row offsets; row 0 is dead.
    next: Vec<u32>,
    /// One for each row, the dead one included.
    accepting: Vec<bool>,
    start: u32,
    /// By the number of the state; states in the middle of a character and
    /// those behind the end of the list have none.
    loops: Vec<Option<MainText>>,
    /// The classes that loops speak of.
    loop_classes: Vec<CharRanges>,
    /// How many bytes each state is from acceptance, found when first asked
    /// for; the dead one is infinitely far.
    distances: OnceLock<Box<[u32]>>,
}

/// Where most text leads from a state: all characters of a class go to `next`,
/// which in the inside of a string is the state itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MainText {
    /// A number into [`ByteDfa::loop_classes`].
    pub(crate) class: u32,
    pub(crate) next: Cursor,
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
            loops: Vec::new(),
            loop_classes: Vec::new(),
            distances: OnceLock::new(),
        }
    }

    /// Adds what is known of text loops, by the numbers of the states.
    pub(crate) fn with_loops(
        mut self,
        loops: Vec<Option<MainText>>,
        loop_classes: Vec<CharRanges>,
    ) -> Self {
        self.loops = loops;
        self.loop_classes = loop_classes;
        self
    }

    /// Where most text leads from `state`, if that is known.
    pub(crate) fn main_text(&self, state: Cursor) -> Option<MainText> {
        self.loops.get(self.number(state)).copied().flatten()
    }

    pub(crate) fn loop_class(&self, class: u32) -> &CharRanges {
        &self.loop_classes[class as usize]
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
        let classes = self.loop_classes.iter().map(|c| c.len() * 8);
        size_of::<Self>()
            + self.next.len() * 4
            + self.accepting.len()
            + self.loops.len() * size_of::<Option<MainText>>()
            + classes.sum::<usize>()
    }

    /// Whether the whole of `text` is in the language.
    pub fn accepts(&self, text: impl AsRef<[u8]>) -> bool {
        let mut state = self.start();
        self.advance(&mut state, text.as_ref(), &mut ()).is_ok() && self.is_accepting(&state)
    }

    /// The distances to acceptance, breadth first along reversed edges.
    fn measure(&self) -> Box<[u32]> {
        let mut incoming = vec![Vec::new(); self.accepting.len()];
        for (from, row) in self.next.chunks_exact(self.stride).enumerate().skip(1) {
            for &to in row.iter().filter(|&&to| to != 0) {
                incoming[self.number(Cursor(to))].push(from);
            }
        }
        let mut distances = vec![u32::MAX; self.accepting.len()].into_boxed_slice();
        let mut queue: VecDeque<usize> = (0..self.accepting.len())
            .filter(|&s| self.accepting[s])
            .collect();
        for &state in &queue {
            distances[state] = 0;
        }
        while let Some(to) = queue.pop_front() {
            for &from in &incoming[to] {
                if distances[from] == u32::MAX {
                    distances[from] = distances[to] + 1;
                    queue.push_back(from);
                }
            }
        }
        distances
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

    fn completion(&self, state: &Cursor, out: &mut Vec<u8>) {
        let distances = self.distances.get_or_init(|| self.measure());
        let mut at = *state;
        while distances[self.number(at)] != 0 {
            // Every live state but an accepting one has a nearer successor.
            let nearer =
                (0..=255u8).map(|b| (distances[self.number(self.step(at, b, &mut ()))], b));
            let Some((_, byte)) = nearer.min() else {
                return;
            };
            out.push(byte);
            at = self.step(at, byte, &mut ());
        }
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
