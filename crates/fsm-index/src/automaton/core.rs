//! The automaton itself. For example, the automaton of `[0-9]+` has two states: it accepts behind a
//! digit, and goes on by digits.

use super::{
    Completed, Description, Ending, KeyLanguage, Lexemes, Lexicon, Overlay, PlainText, Scope,
    SpecialNames, SpecialTokens, Spot, Stack,
};
use crate::{ByteSet, Horizon, Report};

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
/// continuation of the bytes so far is accepted, texts that an
/// [overlay](Overlay) forbids aside. A token may therefore be
/// allowed as soon as its last byte leaves the cursor alive. The language may
/// not be empty: the start can always be finished.
///
/// Seven methods are to be written. All others have a default that is always right, and only
/// slower. Two of them make masks fast: [`key`](Self::key), by which masks are remembered, and
/// [`describe`](Self::describe), which says how a mask that is not known can be had for less
/// than a walk. Who says too much there makes masks wrong;
/// [`contract::check`](crate::contract::check) compares them with plain stepping. The rest is
/// in [`parts`](Self::parts) that few automata have.
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
///     ByteAutomaton, Completed, Cursor, Guide, Horizon, Index, IndexConfig, KeyLanguage, Scope,
///     TokenId, Vocabulary,
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
///     fn completion(&self, open: &u32, max_bytes: usize, out: &mut Vec<u8>) -> Option<Completed> {
///         let fits = *open as usize <= max_bytes;
///         out.resize(out.len() + if fits { *open as usize } else { 0 }, b')');
///         fits.then_some(Completed::Whole)
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
    /// The state that a guide remembers: the whole reading of the text so far. Cloned once a token,
    /// to be able to go back, and compared with the one before: states that are equal have one
    /// mask, as before and behind a character of free text. That look should be quick; "not equal"
    /// is always right.
    type State: Clone + PartialEq + Send + Sync;
    /// Working memory of one walk.
    type Scratch: Send;

    /// True if [`step`](Self::step) takes a few nanoseconds at most. If not, walks remember what it
    /// said of a cursor and a byte.
    const STEPS_ARE_CHEAP: bool = false;

    /// Fresh working memory.
    fn scratch(&self) -> Self::Scratch;

    /// The state before the first byte.
    fn start(&self) -> Self::State;

    /// Tells whether the text may end here.
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

    /// Returns the state where a token of text has ended at `state`, if it is another one, for automata
    /// that count the tokens of a part. From there some of the texts may come that may come from `state`,
    /// and one at least.
    ///
    /// Nobody asks for it where a text comes without tokens.
    fn end_token(&self, _state: &Self::State, _scratch: &mut Self::Scratch) -> Option<Self::State> {
        None
    }

    /// Appends a shortest text (in bytes) that leads from `state` to acceptance, which is
    /// nothing where the text may end, or as far as the first special token on its way; and says
    /// which. `None`, and nothing is appended, if there is none of at most `max_bytes`: finding out
    /// should cost no more than what fits.
    ///
    /// Nobody asks for more than [`MAX_COMPLETION`](crate::MAX_COMPLETION) bytes.
    fn completion(
        &self,
        state: &Self::State,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Option<Completed>;

    /// Begins a walk at `state`. Cursors of earlier walks with this scratch
    /// are no longer valid.
    fn enter(&self, state: &Self::State, scratch: &mut Self::Scratch) -> Cursor;

    /// The cursor after one more byte. Stepping from [`Cursor::DEAD`] stays
    /// there.
    fn step(&self, cursor: Cursor, byte: u8, scratch: &mut Self::Scratch) -> Cursor;

    /// Returns the parts of this automaton that few others have, and what is the same at every time.
    /// Saying nothing is always right of an automaton that reads no special tokens. Asked often: it
    /// should do no more than name them.
    fn parts(&self) -> Parts<'_, Self::State, Self::Scratch> {
        Parts::default()
    }

    /// Describes the texts that may come at `cursor`, as far as tokens within `horizon` reach: the
    /// description chooses one of several ways to get its mask for less than a walk over all
    /// tokens.
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
    /// `depth` topmost levels of the automaton's stack (1 is the top alone, and all of an
    /// automaton without one). Cursors with equal keys must have equal masks as long as
    /// [`depth_used`](Stack::depth_used) stays within `depth`, exceptions aside,
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

    /// The bytes with which a text can go on at a cursor, and perhaps others: what is
    /// not among them leads to [`Cursor::DEAD`]. For walks, which then need not take
    /// all steps. [`depth_used`](Stack::depth_used) changes as by a step of a [`Spot::Cursor`], and not
    /// at all at a [`Spot::Top`]. Nobody asks it of a lexeme, whose
    /// [place](crate::LexemePlace) has them.
    fn next_bytes(&self, _at: Spot, _scratch: &mut Self::Scratch) -> ByteSet {
        ByteSet::ALL
    }
}

/// The parts of an automaton, and what is the same at every time: see [`ByteAutomaton::parts`]. Few
/// automata have any, and the default is none. `S` and `X` are the automaton's [`State`](ByteAutomaton::State) and
/// [`Scratch`](ByteAutomaton::Scratch).
///
/// ```
/// use fsm_index::{ByteAutomaton, Config, Dfa};
///
/// // A regular expression knows its text and the way to its end, and has no stack.
/// let automaton = Dfa::new("a*")?.to_bytes(&Config::default())?;
/// let parts = automaton.parts();
/// assert!(parts.plain_text.is_some() && parts.ending.is_some() && parts.stack.is_none());
/// assert!(parts.special_names.names.is_empty() && parts.unsure_texts.is_empty());
/// # Ok::<(), fsm_index::Error>(())
/// ```
pub struct Parts<'a, S, X> {
    /// The part that reads special tokens.
    pub specials: Option<&'a dyn SpecialTokens<S, X>>,
    /// The part that forbids texts because of what was said before.
    pub overlay: Option<&'a dyn Overlay<S>>,
    /// The part that knows its strings, or other plain text.
    pub plain_text: Option<&'a dyn PlainText<X>>,
    /// The stack whose levels are counted.
    pub stack: Option<&'a dyn Stack<X>>,
    /// The part that finds the end of texts piece by piece.
    pub ending: Option<&'a dyn Ending<X>>,
    /// The part that reads lexemes.
    pub lexemes: Option<&'a dyn Lexemes<X>>,
    /// The part that tells people and hosts about states.
    pub report: Option<&'a dyn Report<S>>,
    /// The spelling of the texts that [`PlainText`] knows.
    pub lexicon: Lexicon,
    /// The special tokens that [`SpecialTokens`] reads.
    pub special_names: SpecialNames<'a>,
    /// Texts of which only [`advance`](ByteAutomaton::advance) tells whether a token may
    /// come that has one of them in it: what steps and descriptions say of such tokens counts for
    /// nothing. So a difference that only few, long texts make need not be described at every
    /// state. A vocabulary should have no such token, or next to none: each is tried for every
    /// mask, and rows are not shared with other automata then.
    pub unsure_texts: &'a [Box<[u8]>],
    /// True if each of the [`Lexemes`] takes all that it can: it ends before a byte by which it cannot
    /// go on. If not, it ends wherever it may end, and also goes on.
    pub lexemes_take_all: bool,
}

impl<S, X> Default for Parts<'_, S, X> {
    #[inline]
    fn default() -> Self {
        Parts {
            specials: None,
            overlay: None,
            plain_text: None,
            stack: None,
            ending: None,
            lexemes: None,
            report: None,
            lexicon: Lexicon::default(),
            special_names: SpecialNames::default(),
            unsure_texts: &[],
            lexemes_take_all: false,
        }
    }
}

/// Tells whether an automaton takes a text as a whole. O(bytes) steps.
///
/// ```
/// use fsm_index::{Config, Dfa, is_match};
///
/// let automaton = Dfa::new("a*b")?.to_bytes(&Config::default())?;
/// assert!(is_match(&automaton, b"aab") && !is_match(&automaton, b"aa"));
/// # Ok::<(), fsm_index::Error>(())
/// ```
pub fn is_match<A: ByteAutomaton>(automaton: &A, text: &[u8]) -> bool {
    let mut state = automaton.start();
    let taken = automaton.advance(&mut state, text, &mut automaton.scratch());
    taken.is_ok() && automaton.is_accepting(&state)
}

/// A position of one walk. See [`ByteAutomaton`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cursor(pub u32);

impl Cursor {
    /// The cursor from which nothing is accepted any more.
    pub const DEAD: Cursor = Cursor(0);

    /// Tells whether nothing is accepted any more.
    ///
    /// ```
    /// use fsm_index::{ByteAutomaton, Config, Dfa};
    ///
    /// let automaton = Dfa::new("ab")?.to_bytes(&Config::default())?;
    /// let mut scratch = automaton.scratch();
    /// let start = automaton.enter(&automaton.start(), &mut scratch);
    /// assert!(!automaton.step(start, b'a', &mut scratch).is_dead());
    /// assert!(automaton.step(start, b'b', &mut scratch).is_dead());
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn is_dead(self) -> bool {
        self == Cursor::DEAD
    }
}
