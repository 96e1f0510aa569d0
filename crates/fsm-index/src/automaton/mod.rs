//! What is asked of an automaton: how it reads bytes, and what it knows that makes masks fast.

mod describe;
mod horizon;
mod lexicon;

pub use describe::{
    Behind, ClassId, Description, FreeText, KeyLanguage, ReadText, Scope, TextAt, TextLoop,
    TextStep, Texts,
};
pub use horizon::{Horizon, Reach};
pub use lexicon::{Lexicon, NameMarks};

use crate::SpecialTokens;

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
/// Seven methods are to be written. All others have a default that is always right, and only
/// slower: special tokens ([`specials`](Self::specials)), what makes masks fast
/// ([`describe`](Self::describe), [`key`](Self::key), and what walks ask), what was said before
/// ([`exceptions`](Self::exceptions)). Who says too much there makes masks wrong;
/// [`contract::check`](crate::contract::check) compares them with plain stepping.
///
/// # Example
///
/// Brackets that are balanced. The eighth method, the key, lets an index remember its masks:
/// brackets that are open beyond the reach of any token do not matter.
///
/// ```
/// use std::sync::Arc;
/// use fsm_index::contract::{Effort, check};
/// use fsm_index::{
///     ByteAutomaton, Cursor, Guide, Horizon, Index, IndexConfig, KeyLanguage, Scope, TokenId,
///     Vocabulary,
/// };
///
/// #[derive(Clone)]
/// struct Brackets;
///
/// impl ByteAutomaton for Brackets {
///     /// How many are open.
///     type State = u32;
///     type Scratch = ();
///
///     fn scratch(&self) {}
///     fn start(&self) -> u32 {
///         0
///     }
///     fn is_accepting(&self, open: &u32) -> bool {
///         *open == 0
///     }
///     fn advance(&self, open: &mut u32, bytes: &[u8], x: &mut ()) -> Result<(), usize> {
///         let mut at = self.enter(open, x);
///         for (offset, &byte) in bytes.iter().enumerate() {
///             at = self.step(at, byte, x);
///             if at.is_dead() {
///                 return Err(offset);
///             }
///         }
///         *open = at.0 - 1;
///         Ok(())
///     }
///     fn completion(&self, open: &u32, out: &mut Vec<u8>) {
///         out.resize(out.len() + *open as usize, b')');
///     }
///     fn enter(&self, open: &u32, _: &mut ()) -> Cursor {
///         Cursor(open + 1)
///     }
///     fn step(&self, at: Cursor, byte: u8, _: &mut ()) -> Cursor {
///         match (at.0, byte) {
///             (1.., b'(') => Cursor(at.0 + 1),
///             (2.., b')') => Cursor(at.0 - 1),
///             _ => Cursor::DEAD,
///         }
///     }
///     fn key(
///         &self,
///         at: Cursor,
///         scope: Scope,
///         _depth: usize,
///         tokens: Horizon<'_>,
///         _: &mut (),
///         out: &mut Vec<u32>,
///     ) -> Option<KeyLanguage> {
///         if scope == Scope::Vocabulary {
///             return None;
///         }
///         out.push(at.0.min(tokens.occurrences(b')') as u32 + 2));
///         Some(KeyLanguage::OWN)
///     }
/// }
///
/// let tokens = ["(", ")", "()", "))", ")))", "(((", "x"];
/// let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(7)])?;
/// check(&Brackets, &vocabulary, &["(((((((("], Effort::default())?;
/// let index = Arc::new(Index::lazy(Brackets, &vocabulary, &IndexConfig::default())?);
/// let mut guide = Guide::new(index);
/// guide.advance(TokenId::new(5))?;
/// assert_eq!(guide.allowed_tokens()?, [0, 1, 2, 3, 4, 5].map(TokenId::new));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// acceptance; nothing where the text may end. An automaton that reads
    /// special tokens goes as far as the first of them on its way, which
    /// [`SpecialTokens::completion`] names.
    ///
    /// Where that would have more than [`MAX_COMPLETION`](crate::MAX_COMPLETION) bytes,
    /// nothing may be appended.
    fn completion(&self, state: &Self::State, out: &mut Vec<u8>);

    /// As [`completion`](Self::completion), if that text has at most so many bytes: whether
    /// it has, and nothing is appended if not. It should cost no more than what fits.
    fn completion_within(&self, state: &Self::State, max_bytes: usize, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        self.completion(state, out);
        let fits = out.len() - before <= max_bytes;
        if !fits {
            out.truncate(before);
        }
        fits
    }

    /// Begins a walk at `state`. Cursors of earlier walks with this scratch
    /// are no longer valid.
    fn enter(&self, state: &Self::State, scratch: &mut Self::Scratch) -> Cursor;

    /// The cursor after one more byte. Stepping from [`Cursor::DEAD`] stays
    /// there.
    fn step(&self, cursor: Cursor, byte: u8, scratch: &mut Self::Scratch) -> Cursor;

    /// Whether from every state between two characters acceptance is reached without some
    /// characters: `chars` are inclusive ranges of code points, ascending, without
    /// surrogates. A lazy index asks it about those that its vocabulary cannot spell; then
    /// nothing else has to be looked at. `false` is always right, and slower: the index then
    /// searches each state for a way to the end.
    fn can_do_without(&self, _chars: &[(u32, u32)]) -> bool {
        false
    }

    /// Where `state` stands, for people; not every automaton knows.
    fn place(&self, _state: &Self::State) -> Option<Place> {
        None
    }

    /// What reads special tokens, if this automaton does.
    fn specials(&self) -> Option<&dyn SpecialTokens<Self::State, Self::Scratch>> {
        None
    }

    /// A class of code points of which any text may come at `cursor`: asked where a
    /// loop is no help. It may look at no more than the topmost level where that
    /// [tells](Description::Top).
    fn free_text(&self, _cursor: Cursor, _scratch: &mut Self::Scratch) -> Option<FreeText> {
        None
    }

    /// The code points of a class that [`describe`](Self::describe) or
    /// [`free_text`](Self::free_text) named: inclusive ranges, ascending, without
    /// surrogates.
    fn text_class(&self, _class: ClassId) -> &[(u32, u32)] {
        &[]
    }

    /// What reads the text at `cursor`, for walks within `horizon` that would take a
    /// step for each of its bytes. It may look at no more than the topmost level.
    fn text_reader(
        &self,
        _cursor: Cursor,
        _horizon: Horizon<'_>,
        _scratch: &mut Self::Scratch,
    ) -> Option<Box<dyn ReadText + '_>> {
        None
    }

    /// The cursor where the text that begins at `cursor` has been read to `at` by its
    /// [`text_reader`](Self::text_reader).
    fn text_cursor(&self, cursor: Cursor, _at: TextAt, _scratch: &mut Self::Scratch) -> Cursor {
        cursor
    }

    /// Calls `each` with what may not come at `state` although
    /// [`step`](Self::step) lets it pass: what is forbidden only because of
    /// what was said before, such as a key that the object has already. It is
    /// taken out of the mask after that was found by its key, so that the key
    /// need not tell what was said. [`advance`](Self::advance) refuses it at the
    /// byte that completes it.
    fn exceptions(&self, _state: &Self::State, _each: &mut dyn FnMut(Exception<'_>)) {}

    /// Whether a token that an exception calls suspect can be refused at all: a
    /// quick look before [`advance`](Self::advance) tries it. Saying `true` is
    /// always right.
    fn is_suspect(&self, _state: &Self::State, _token: &[u8]) -> bool {
        true
    }

    /// Texts of which only [`advance`](Self::advance) tells whether a token may come that has
    /// one of them in it: what [`step`](Self::step) and hints say of such tokens counts for
    /// nothing. So what only few, long texts would change need not be told at every state. A
    /// vocabulary should have no such token, or next to none: each is tried for every mask,
    /// and rows are not shared with other automata then.
    fn unsure_texts(&self) -> &[Box<[u8]>] {
        &[]
    }

    /// Whether two states are plainly one, as before and behind a character of a free
    /// text: then the mask of one is that of the other. A quick look, for which `false`
    /// is always right.
    fn is_same(&self, _state: &Self::State, _other: &Self::State) -> bool {
        false
    }

    /// How the texts of its language are written: the same at every time.
    fn lexicon(&self) -> Lexicon {
        Lexicon::default()
    }

    /// What is known of the texts that may come at `cursor`, as far as tokens within
    /// `horizon` reach: by which of several ways its mask can be had for less than a walk over
    /// all tokens.
    fn describe(
        &self,
        _cursor: Cursor,
        _horizon: Horizon<'_>,
        _scratch: &mut Self::Scratch,
    ) -> Description {
        Description::Unknown
    }

    /// Appends a key of what the mask at `cursor` can depend on, if every token
    /// is within `horizon` and a walk looks at no more than the
    /// `depth` topmost levels of the automaton's stack (1 is the top alone).
    /// Cursors with equal keys must have equal masks as long as
    /// [`depth_used`](Self::depth_used) stays within `depth`, exceptions aside,
    /// and [`is_accepting`](Self::is_accepting) must be equal too. `None` (and
    /// `out` left as it was) means: do not keep this mask.
    ///
    /// A key of one depth is never compared with one of another, nor keys of different scopes
    /// or languages.
    fn key(
        &self,
        _cursor: Cursor,
        _scope: Scope,
        _depth: usize,
        _horizon: Horizon<'_>,
        _scratch: &mut Self::Scratch,
        _out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        None
    }

    /// How many levels the mask at `cursor` is worth looking up by, at least: with fewer it
    /// is hardly ever told. A hint, which changes what is remembered and no mask.
    fn least_depth(&self, _cursor: Cursor, _scratch: &Self::Scratch) -> usize {
        1
    }

    /// As [`step`](Self::step), in a walk that began where the topmost level
    /// [tells](Description::Top); `None` if more than the topmost level of
    /// where it began must be looked at. [`depth_used`](Self::depth_used) does
    /// not change.
    fn step_on_top(&self, cursor: Cursor, byte: u8, scratch: &mut Self::Scratch) -> Option<Cursor> {
        Some(self.step(cursor, byte, scratch))
    }

    /// The bytes with which a text can go on at `cursor`, and perhaps others: what is
    /// not among them leads to [`Cursor::DEAD`]. For walks, which then need not take
    /// all steps. [`depth_used`](Self::depth_used) changes as by a step.
    fn next_bytes(&self, _cursor: Cursor, _scratch: &mut Self::Scratch) -> ByteSet {
        ByteSet::ALL
    }

    /// As [`next_bytes`](Self::next_bytes), of what the topmost level tells alone: see
    /// [`step_on_top`](Self::step_on_top). [`depth_used`](Self::depth_used) does not
    /// change.
    fn next_bytes_on_top(&self, cursor: Cursor, scratch: &mut Self::Scratch) -> ByteSet {
        self.next_bytes(cursor, scratch)
    }

    /// Begins to count anew how many levels are looked at, from `cursor` on:
    /// [`depth_used`](Self::depth_used) then speaks of the levels of its stack. `None`
    /// if that cannot be counted.
    fn count_depth(&self, _cursor: Cursor, _scratch: &mut Self::Scratch) -> Option<Depth> {
        None
    }

    /// Goes on counting where [`count_depth`](Self::count_depth) left off, with `used`
    /// levels of the stack of its cursor looked at.
    fn count_on(&self, _before: Depth, _used: usize, _scratch: &mut Self::Scratch) {}

    /// How many levels of the stack the walk since the last
    /// [`enter`](Self::enter) has looked at, at most. An automaton without a
    /// stack says 1.
    fn depth_used(&self, _scratch: &Self::Scratch) -> usize {
        1
    }
}

/// How deep has been looked into a stack; see [`ByteAutomaton::count_depth`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// The depth of the stack where the count began.
    pub base: u32,
    /// The least depth that was looked at.
    pub least: u32,
}

/// Where an automaton stands, for people. See [`ByteAutomaton::place`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// What is being read, in words.
    pub state: String,
    /// The places in what the automaton was made of that speak of what comes
    /// next: JSON Pointers, where that was a schema.
    pub locations: Vec<String>,
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

/// What may not come although it might. See [`ByteAutomaton::exceptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception<'a> {
    /// Every token that begins with this text is refused.
    Begins(&'a [u8]),
    /// Every token with this text in it is suspect: it is tried by
    /// [`ByteAutomaton::advance`]. Few tokens should have it, as few have a
    /// whole key in quotes.
    Contains(&'a [u8]),
    /// Every token in which these bytes come one after another, whatever is between
    /// them, is suspect in the same way: few tokens have a bracket and then a comma.
    InOrder(&'a [u8]),
    /// Every token that has a byte in it so often, or oftener, is suspect in the
    /// same way: few tokens have three quotes.
    Often {
        /// The byte.
        byte: u8,
        /// How often.
        times: usize,
    },
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const NONE: ByteSet = ByteSet([0; 4]);
    /// Every byte.
    pub const ALL: ByteSet = ByteSet([u64::MAX; 4]);

    /// The set of some bytes.
    pub const fn of(bytes: &[u8]) -> ByteSet {
        let mut set = ByteSet::NONE;
        let mut at = 0;
        while at < bytes.len() {
            set.0[bytes[at] as usize / 64] |= 1 << (bytes[at] % 64);
            at += 1;
        }
        set
    }

    /// The bytes from one to another, both included.
    pub const fn range(from: u8, to: u8) -> ByteSet {
        let mut set = ByteSet::NONE;
        let mut byte = from as usize;
        while byte <= to as usize {
            set.0[byte / 64] |= 1 << (byte % 64);
            byte += 1;
        }
        set
    }

    /// The bytes of either set.
    pub const fn or(self, other: ByteSet) -> ByteSet {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        ByteSet([a | e, b | f, c | g, d | h])
    }

    /// Whether they have a byte in common.
    pub const fn meets(self, other: ByteSet) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        a & e | b & f | c & g | d & h != 0
    }

    /// Whether it has a byte.
    #[inline]
    pub const fn has(&self, byte: u8) -> bool {
        self.0[byte as usize / 64] >> (byte % 64) & 1 != 0
    }
}
