//! Descriptions of the texts that may come. For example, inside of a JSON string without limits any
//! character but `"`, `\` and control characters leads back to the same cursor, which is a
//! [`TextLoop`].

use crate::{ClassId, Cursor};

/// A description of the texts that may come at a cursor: each kind of description is a way to make
/// its row. See [`ByteAutomaton::describe`](crate::ByteAutomaton::describe).
///
/// [`Unknown`](Description::Unknown) is always right, and slower. A description that says too much
/// makes masks wrong; [`contract::check`](crate::contract::check) compares all of them with plain
/// stepping.
#[derive(Clone, Debug, Default)]
pub enum Description {
    /// Nothing: only a walk tells.
    #[default]
    Unknown,
    /// The topmost level of the stack alone, which is [`ByteAutomaton::key`](crate::ByteAutomaton::key) at depth 1, says
    /// of most tokens whether they may come. That part of the mask is computed once for all
    /// states with this topmost level, and only what is left is computed for each of them. Here is
    /// the loop, if text is read in one.
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
        /// The difference: the same tokens may come at both cursors, apart from those that begin
        /// with one of these texts. `None` if that cannot be said; then a walk over the difference
        /// finds out, which ends where both have become the same cursor.
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

/// The scope in which a key must mean the same. See
/// [`ByteAutomaton::key`](crate::ByteAutomaton::key).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// In one automaton: the language of such keys does not matter.
    Index,
    /// In every automaton that names the same [`KeyLanguage`]: what these levels tell is then
    /// computed once for a vocabulary. There is no such key wherever the text may end.
    Vocabulary,
}

/// The common part of automata that write the same keys for the same. See
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
///
/// ```
/// use fsm_index::{TokenId, Texts, Vocabulary};
///
/// let mut texts = Texts::default();
/// texts.add(&[b"na", b"m"], b'e');
/// assert_ne!(format!("{texts:?}"), format!("{:?}", Texts::default()));
/// ```
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

/// A loop of text, by whole characters: after *any* character of `class` the cursor is `next`.
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
    /// The number of characters of the class that may be read one after another, whatever they are,
    /// such that the texts within `horizon` that may come after each of them are the same as now,
    /// texts that begin with a character of the class aside.
    pub steady: u32,
    /// True if the cursors along the text differ in nothing but how much of it may, or must, come:
    /// then a text that leaves the topmost level of the stack leads from each of them to the same,
    /// if it may come there at all.
    pub alike: bool,
}
