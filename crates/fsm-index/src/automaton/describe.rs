//! What an automaton knows of the texts that may come.

use crate::Cursor;

/// What is known of the texts that may come at a cursor: each is a way to make its row. See
/// [`ByteAutomaton::describe`](crate::ByteAutomaton::describe).
///
/// [`Unknown`](Description::Unknown) is always right, and slower. What says too much makes masks
/// wrong; [`contract::check`](crate::contract::check) compares all with plain stepping.
#[derive(Clone, Debug, Default)]
pub enum Description {
    /// Nothing: only a walk tells.
    #[default]
    Unknown,
    /// The topmost level of the stack alone, which is [`ByteAutomaton::key`](crate::ByteAutomaton::key) at depth 1, says
    /// of most tokens whether they may come. That part of the mask is computed once for all
    /// states with this topmost level, and only what is left is computed for each of them.
    ///
    /// If text is read in a loop there, that too is told by the topmost level alone.
    Top(Option<TextLoop>),
    /// Text of one class of code points is read in a loop.
    Text(TextLoop),
    /// Every text that may come begins with one of these, or one of these begins with it; and
    /// each of these, but for its last byte, is the beginning of one that may come.
    Listed(Texts),
    /// Nearly the same texts may come as at another cursor: its mask is then taken and
    /// patched.
    Like {
        /// The other cursor. It may resemble one in turn, but not in a circle.
        cursor: Cursor,
        /// Where they differ: the same tokens may come at both, apart from those that begin
        /// with one of these texts. `None` if that cannot be said; then a walk over the
        /// difference finds out, which ends where both have become the same cursor.
        apart: Option<Texts>,
    },
}

impl Description {
    /// The loop, if text is read in one.
    pub fn text(&self) -> Option<TextLoop> {
        match self {
            Description::Top(text) => *text,
            Description::Text(text) => Some(*text),
            Description::Unknown | Description::Listed(_) | Description::Like { .. } => None,
        }
    }
}

/// Where a key must mean the same. See [`ByteAutomaton::key`](crate::ByteAutomaton::key).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// In one automaton: the language of such keys does not matter.
    Index,
    /// In every automaton that names the same [`KeyLanguage`]: what these levels tell is then
    /// computed once for a vocabulary. There is no such key wherever the text may end.
    Vocabulary,
}

/// What automata have in common that write the same keys for the same. See
/// [`ByteAutomaton::key`](crate::ByteAutomaton::key).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyLanguage {
    /// Whose it is; by custom the name of a crate.
    pub name: &'static str,
    /// Tells apart what options change.
    pub dialect: u32,
}

impl KeyLanguage {
    /// That of keys which mean something to one automaton alone.
    pub const OWN: KeyLanguage = KeyLanguage {
        name: "",
        dialect: 0,
    };
}

/// A list of texts: those that may come, or those that tell two cursors apart. See
/// [`Description`].
#[derive(Clone, Debug, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    branch: Option<u8>,
}

impl Texts {
    /// Adds the text of some pieces and `last` behind it. Texts that begin alike should
    /// come one after another.
    pub fn add(&mut self, pieces: &[&[u8]], last: u8) {
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
        self.bytes.push(last);
        self.ends.push(self.bytes.len());
    }

    /// Also adds, for each byte of each text, the text before it with `byte`
    /// instead: an escape, behind which the text can go on in another spelling.
    pub fn branch_everywhere(&mut self, byte: u8) {
        self.branch = Some(byte);
    }

    pub(crate) fn branch(&self) -> Option<u8> {
        self.branch
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        self.ends.iter().map(move |&end| {
            let text = &self.bytes[from..end];
            from = end;
            text
        })
    }
}

/// A class of code points of one automaton. See [`ByteAutomaton::text_class`](crate::ByteAutomaton::text_class).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub u32);

/// Text that may come, whatever it is. See [`ByteAutomaton::free_text`](crate::ByteAutomaton::free_text).
///
/// It may come at the cursor, or at the place, and behind more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeText {
    /// The class; characters outside it may come too.
    pub class: ClassId,
    /// How many characters it may have, with what comes before it from the cursor on.
    pub chars: usize,
    /// Behind what it may come.
    pub behind: Behind,
    /// Whether text of the class with more characters, from the cursor on, may not come;
    /// then each is one byte.
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
/// goes on without cursors until it is left. See [`ByteAutomaton::text_reader`](crate::ByteAutomaton::text_reader).
pub trait ReadText {
    /// Where it begins.
    fn start(&self) -> TextAt;

    /// Reads one byte more.
    fn step(&self, at: TextAt, byte: u8) -> TextStep;

    /// Readers of one automaton with equal numbers take the same steps from equal
    /// places, so that what one has read need not be read again. `None` where nothing
    /// is promised.
    fn language(&self) -> Option<[u64; 4]> {
        None
    }

    /// Whether no byte beyond ASCII leads on from a place: then none is tried. Saying
    /// `false` is always right.
    fn is_ascii_next(&self, _at: TextAt) -> bool {
        false
    }

    /// A class of code points of which any text may come from a place on, as
    /// [`ByteAutomaton::free_text`](crate::ByteAutomaton::free_text) says it of a cursor; [`ByteAutomaton::text_class`](crate::ByteAutomaton::text_class) tells
    /// the class. Asked where much of a trie lies ahead.
    fn free_text(&self, _at: TextAt) -> Option<FreeText> {
        None
    }

    /// Code points that, as they are, lead nowhere from any place: inclusive ranges,
    /// ascending. Leaving some out is always right.
    fn dead_class(&self) -> &[(u32, u32)] {
        &[]
    }

    /// How many characters come before the text may be left, at least, from where it
    /// begins. Saying 0 is always right.
    fn least_chars(&self) -> usize {
        0
    }

    /// Whether the same may come as at the beginning.
    fn is_back(&self, at: TextAt) -> bool;
}

/// A place in a text: whatever its reader means by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextAt(pub [u32; 4]);

/// Where a byte of a text leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStep {
    /// Nowhere: no text that may come goes on with it.
    Dead,
    /// Further on in the text.
    To(TextAt),
    /// Perhaps out of the text, which only the automaton can tell.
    Leaves,
}

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
    /// they are, such that the texts within `horizon` that may come after each of
    /// them are the same as now, texts that begin with a character of the class
    /// aside. 0 is always right;
    /// [`u32::MAX`] says "for ever".
    pub steady: u32,
    /// Whether the cursors along the text differ in nothing but how much of it may,
    /// or must, come: then a text that leaves the topmost level of the stack leads
    /// from each of them to the same, if it may come there at all.
    pub alike: bool,
}
