/// A deterministic machine over bytes: what every mask is computed from.
///
/// The trait keeps two kinds of state apart. A [`State`](Self::State) belongs
/// to a guide: it stands alone, lives as long as the text does and changes only
/// when bytes are committed. A [`Cursor`] belongs to one walk over the
/// vocabulary: it is a plain number that the automaton may forget at the next
/// [`enter`](Self::enter). An automaton with unbounded memory (a stack, keys
/// already used) can so be walked without storing a state for each token.
///
/// # Contract
///
/// [`step`](Self::step) is exact: it gives [`Cursor::DEAD`] if and only if no
/// continuation of the bytes so far is accepted. A token may therefore be
/// allowed as soon as its last byte leaves the cursor alive.
pub trait ByteAutomaton: Send + Sync {
    /// What a guide remembers.
    type State: Clone + Send + Sync;
    /// Working memory of one walk.
    type Scratch: Send;

    /// Fresh working memory.
    fn scratch(&self) -> Self::Scratch;

    /// The state before the first byte.
    fn start(&self) -> Self::State;

    /// Whether the text may end here.
    fn is_accepting(&self, state: &Self::State) -> bool;

    /// Commits `bytes`.
    ///
    /// # Errors
    ///
    /// The offset of the first byte that may not come; `state` is unchanged.
    fn advance(
        &self,
        state: &mut Self::State,
        bytes: &[u8],
        scratch: &mut Self::Scratch,
    ) -> Result<(), usize>;

    /// Begins a walk at `state`. Cursors of earlier walks with this scratch
    /// are no longer valid.
    fn enter(&self, state: &Self::State, scratch: &mut Self::Scratch) -> Cursor;

    /// The cursor after one more byte.
    fn step(&self, cursor: Cursor, byte: u8, scratch: &mut Self::Scratch) -> Cursor;

    /// The same machine as a table, if it is one: a walk then takes one load
    /// a byte and no call. The default says that it is not.
    fn table(&self) -> Option<DenseTable<'_>> {
        None
    }
}

/// A position of one walk. See [`ByteAutomaton`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor(pub u32);

impl Cursor {
    /// The cursor from which nothing is accepted any more.
    pub const DEAD: Cursor = Cursor(0);

    /// Whether nothing is accepted any more.
    pub fn is_dead(self) -> bool {
        self == Cursor::DEAD
    }
}

/// A [`ByteAutomaton`] as a table of byte classes and next cursors.
///
/// The cursor after byte `b` at cursor `c` is
/// `next[c + classes[b]]`; cursors are row offsets, and row 0 is dead.
#[derive(Clone, Copy, Debug)]
pub struct DenseTable<'a> {
    /// The class of each byte.
    pub classes: &'a [u8; 256],
    /// The rows, one after another.
    pub next: &'a [u32],
}

impl DenseTable<'_> {
    /// The cursor after one more byte.
    #[inline]
    pub fn step(&self, cursor: Cursor, byte: u8) -> Cursor {
        let at = cursor.0 as usize + self.classes[byte as usize] as usize;
        Cursor(self.next[at])
    }
}
