use crate::SpecialId;

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
/// continuation of the bytes so far is accepted, texts that
/// [`exceptions`](Self::exceptions) tells aside. A token may therefore be
/// allowed as soon as its last byte leaves the cursor alive. The language may
/// not be empty: the start can always be finished.
///
/// The methods after [`step`](Self::step) that have a default are hints: the
/// default is always right, and only slower. A hint that says too much makes
/// masks wrong; [`contract::check`](crate::contract::check) compares them with
/// plain stepping.
pub trait ByteAutomaton: Send + Sync {
    /// What a guide remembers. Cloned once a token, to be able to go back.
    type State: Clone + Send + Sync;
    /// Working memory of one walk.
    type Scratch: Send;

    /// Whether [`step`](Self::step) takes a few nanoseconds at most. If not,
    /// walks remember what it said of a cursor and a byte.
    const STEPS_ARE_CHEAP: bool = false;

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

    /// Appends a shortest text (in bytes) that leads from `state` to
    /// acceptance; nothing where the text may end.
    fn completion(&self, state: &Self::State, out: &mut Vec<u8>);

    /// Begins a walk at `state`. Cursors of earlier walks with this scratch
    /// are no longer valid.
    fn enter(&self, state: &Self::State, scratch: &mut Self::Scratch) -> Cursor;

    /// The cursor after one more byte. Stepping from [`Cursor::DEAD`] stays
    /// there.
    fn step(&self, cursor: Cursor, byte: u8, scratch: &mut Self::Scratch) -> Cursor;

    /// Whether some accepted text can need `byte`. A lazy index refuses a
    /// vocabulary in which such a byte is no token of its own.
    fn uses_byte(&self, _byte: u8) -> bool {
        true
    }

    /// The special tokens that this automaton reads as symbols of their own,
    /// by their names in the vocabulary. A [`SpecialId`] is a place in this
    /// list.
    fn specials(&self) -> &[Box<str>] {
        &[]
    }

    /// Appends the special tokens that may come at `state`.
    fn allowed_specials(&self, _state: &Self::State, _out: &mut Vec<SpecialId>) {}

    /// Commits a special token; `false`, and `state` unchanged, if it may not
    /// come.
    fn advance_special(&self, _state: &mut Self::State, _special: SpecialId) -> bool {
        false
    }

    /// Whether text of one class of code points is read in a loop at `cursor`,
    /// for tokens of at most `horizon` bytes.
    fn text_loop(
        &self,
        _cursor: Cursor,
        _horizon: usize,
        _scratch: &mut Self::Scratch,
    ) -> Option<TextLoop> {
        None
    }

    /// The code points of a class that [`text_loop`](Self::text_loop) named:
    /// inclusive ranges, ascending, without surrogates.
    fn text_class(&self, _class: ClassId) -> &[(u32, u32)] {
        &[]
    }

    /// A cursor at which nearly the same texts may come as at `cursor`: its
    /// mask is then taken and patched by a walk over the difference, which
    /// ends where both cursors have become the same number.
    fn resembles(&self, _cursor: Cursor, _scratch: &mut Self::Scratch) -> Option<Cursor> {
        None
    }

    /// Calls `each` with what may not come at `state` although
    /// [`step`](Self::step) lets it pass: what is forbidden only because of
    /// what was said before, such as a key that the object has already. It is
    /// taken out of the mask after that was found by its key, so that the key
    /// need not tell what was said. [`advance`](Self::advance) refuses it at the
    /// byte that completes it.
    fn exceptions(&self, _state: &Self::State, _each: &mut dyn FnMut(Exception<'_>)) {}

    /// Appends a key of what the mask at `cursor` can depend on, if no token
    /// is longer than `horizon` bytes and a walk looks at no more than the
    /// `depth` topmost levels of the automaton's stack (1 is the top alone).
    /// Cursors with equal keys must have equal masks as long as
    /// [`depth_used`](Self::depth_used) stays within `depth`, exceptions aside,
    /// and [`is_accepting`](Self::is_accepting) must be equal too. `false` (and
    /// `out` left as it was) means: do not keep this mask.
    ///
    /// Keys may be told apart by `depth`: a key of one depth is never compared
    /// with one of another.
    fn mask_key(
        &self,
        _cursor: Cursor,
        _depth: usize,
        _horizon: usize,
        _scratch: &mut Self::Scratch,
        _out: &mut Vec<u32>,
    ) -> bool {
        false
    }

    /// How many levels of the stack the walk since the last
    /// [`enter`](Self::enter) has looked at, at most. An automaton without a
    /// stack says 1.
    fn depth_used(&self, _scratch: &Self::Scratch) -> usize {
        1
    }
}

/// What may not come although it might. See [`ByteAutomaton::exceptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception<'a> {
    /// Every token that begins with this text is refused.
    Begins(&'a [u8]),
    /// Every token with this text in it is suspect: it is tried by
    /// [`ByteAutomaton::advance`]. Few tokens should have it, as few have a
    /// whole key in quotes.
    Contains(&'a [u8]),
}

/// A position of one walk. See [`ByteAutomaton`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cursor(pub u32);

impl Cursor {
    /// The cursor from which nothing is accepted any more.
    pub const DEAD: Cursor = Cursor(0);

    /// Whether nothing is accepted any more.
    pub fn is_dead(self) -> bool {
        self == Cursor::DEAD
    }
}

/// A class of code points of one automaton. See [`ByteAutomaton::text_class`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub u32);

/// Where text leads, by whole characters: after *any* character of `class` the
/// cursor is `next`.
///
/// In the inside of a free string `next` is the cursor itself. Under a limit
/// of length it is another one each time; `steady` then says for how long that
/// makes no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLoop {
    /// The class; characters outside it may come too, and lead anywhere.
    pub class: ClassId,
    /// The cursor after any one character of the class. Never dead.
    pub next: Cursor,
    /// How many characters of the class may be read one after another, whatever
    /// they are, such that the texts of at most `horizon` bytes that may come after each of
    /// them are the same as now, texts that begin with a character of the class
    /// aside. 0 is always right;
    /// [`u32::MAX`] says "for ever".
    pub steady: u32,
}
