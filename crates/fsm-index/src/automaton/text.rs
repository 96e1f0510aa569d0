//! The texts of a language: strings, names, free text. Their spelling is data, and a reader steps
//! through them without a cursor for each byte. For example, the spelling of JSON's strings says
//! that all characters but `"`, `\` and control characters stand for themselves.

use crate::NameMarks;
use crate::{Cursor, Horizon};

/// The knowledge of an automaton about the texts within its language, such as JSON's strings. It is
/// the part of a [`ByteAutomaton`](crate::ByteAutomaton) where most tokens are plain text. `X` is
/// the automaton's [`Scratch`](crate::ByteAutomaton::Scratch).
pub trait PlainText<X> {
    /// The code points of a class that [`describe`](crate::ByteAutomaton::describe) named:
    /// inclusive ranges, ascending, without surrogates.
    fn class(&self, class: ClassId) -> &[(u32, u32)];

    /// Returns the reader of the text at `cursor`, for walks within `horizon` that would take a
    /// step for each of its bytes. It may look at no more than the topmost level of a stack.
    fn reader(
        &self,
        _cursor: Cursor,
        _horizon: Horizon<'_>,
        _scratch: &mut X,
    ) -> Option<TextReader<'_>> {
        None
    }

    /// The cursor where the text that begins at `cursor` has been read to `at` by its
    /// [`reader`](Self::reader).
    fn cursor_at(&self, cursor: Cursor, _at: TextAt, _scratch: &mut X) -> Cursor {
        cursor
    }

    /// Text that may come whatever it is. Asked where the topmost level
    /// [tells](crate::Description::Top) and no loop helps, and, if the
    /// [lexicon](Lexicon::tells_free) says so, on the way of walks where much of the vocabulary
    /// lies ahead: behind a blank, say, where a name can begin.
    fn free_text(&self, _at: Spot, _scratch: &mut X) -> Option<FreeText> {
        None
    }

    /// Tells whether from every state between two characters acceptance is reached without some
    /// characters: `chars` are inclusive ranges of code points, ascending, without surrogates. A
    /// lazy index asks it about those that its vocabulary cannot spell; then nothing else has to be
    /// looked at. `false` is always right, and slower: the index then searches each state for a way
    /// to the end. [`finite_can_do_without`](crate::finite_can_do_without) answers it for finite
    /// automata, and [`contract::check_spelling`](crate::contract::check_spelling) checks the
    /// answer.
    fn can_do_without(&self, _chars: &[(u32, u32)]) -> bool {
        false
    }
}

/// The spelling of the texts of a language, if an automaton knows it: the part that is the same in
/// all of them lets a walk leave out most of what it would meet. JSON's strings are such texts, and
/// so may be the attributes of markup or the literals of a programming language. An automaton tells
/// it in its [`parts`](crate::Parts::lexicon).
///
/// The default says nothing, which is always right.
///
/// ```
/// use fsm_index::Lexicon;
///
/// /// Text between apostrophes, without escapes.
/// const TEXTS: Lexicon = Lexicon {
///     plain: &[(0x20, 0x26), (0x28, 0xD7FF), (0xE000, 0x10_FFFF)],
///     quote: Some(b'\''),
///     names: None,
///     tells_free: false,
/// };
/// assert_ne!(TEXTS, Lexicon::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lexicon {
    /// The code points that stand for themselves inside any text: inclusive ranges,
    /// ascending, without surrogates. The quotation mark is not among them.
    pub plain: &'static [(u32, u32)],
    /// The byte with which each text begins, and without which none ends.
    pub quote: Option<u8>,
    /// The marks around the names of an object's members.
    pub names: Option<NameMarks>,
    /// True if walks shall ask on their way which text is [free](PlainText::free_text). If text
    /// stands between quotation marks alone, its [reader](PlainText::reader) tells that.
    pub tells_free: bool,
}

/// A class of code points of one automaton. See [`PlainText::class`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub u32);

/// A spot at which text may be free. See [`PlainText::free_text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// A cursor of a walk.
    Cursor(Cursor),
    /// A cursor of a walk for what the topmost level of a stack tells: the answer may look at no more
    /// than that.
    Top(Cursor),
    /// A [place](crate::LexemePlace) in a lexeme.
    Lexeme(u32),
}

/// Text that may come, whatever it is. See [`PlainText::free_text`].
///
/// It may come at the cursor, or at the place, and behind more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeText {
    /// The class; characters outside it may come too.
    pub class: ClassId,
    /// The number of characters that it may have, with what comes before it from the cursor on.
    pub chars: usize,
    /// Behind what it may come.
    pub behind: Behind,
    /// True if text of the class with more characters, from the cursor on, may not come.
    pub ends: bool,
}

/// Behind what free text may come, from the cursor on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Any text of [plain](crate::Lexicon::plain) characters that may come, whether these
    /// are of the class or not.
    AnyText,
    /// Text of the class.
    ItsClass,
}

/// Reads text, such as the inside of a string: a small part of an automaton, which
/// goes on without cursors until it is left. See [`PlainText::reader`].
pub trait ReadText {
    /// Reads one byte more.
    fn step(&self, at: TextAt, byte: u8) -> TextStep;

    /// Returns the properties of a place. Asked once for a place from which many bytes are read, or
    /// much of a trie lies ahead. Saying nothing is always right.
    fn place(&self, _at: TextAt) -> TextPlace {
        TextPlace::default()
    }
}

/// The beginning of a text, and what reads it from there. See [`PlainText::reader`].
pub struct TextReader<'a> {
    /// The place where the text begins.
    pub at: TextAt,
    /// Its steps.
    pub steps: Box<dyn ReadText + 'a>,
    /// The number of the text's language: readers of one automaton with equal numbers take the
    /// same steps from equal places, so that what one has read need not be read again. `None`
    /// where nothing is promised.
    pub language: Option<[u64; 4]>,
    /// Bounds on the text. The default says nothing, which is always right.
    pub bounds: TextBounds<'a>,
}

/// The properties of a place in a text. See [`ReadText::place`]. The default says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextPlace {
    /// A class of code points of which any text may come from the place on, as
    /// [`PlainText::free_text`] says it of a cursor; [`PlainText::class`] tells the class.
    pub free: Option<FreeText>,
    /// True if the same may come as at the beginning.
    pub is_back: bool,
    /// True if no byte beyond ASCII leads on: then none is tried.
    pub is_ascii_next: bool,
}

/// Bounds on a text. See [`TextReader::bounds`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextBounds<'a> {
    /// Code points that, as they are, lead nowhere from any place: inclusive ranges,
    /// ascending. Leaving some out is always right.
    pub dead: &'a [(u32, u32)],
    /// The number of characters that come before the text may be left, at least, from where it
    /// begins. Saying 0 is always right.
    pub least_chars: usize,
}

/// A place in a text: whatever its reader means by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextAt(pub [u32; 4]);

/// The step of a text by a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStep {
    /// Nowhere: no text that may come goes on with it.
    Dead,
    /// Further on in the text.
    To(TextAt),
    /// Perhaps out of the text, which only the automaton can tell.
    Leaves,
}
