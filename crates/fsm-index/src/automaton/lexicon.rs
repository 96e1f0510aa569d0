//! How the texts of a language are written, as data.

/// How the texts of a language are written, where an automaton knows that: what is the same
/// in all of them lets a walk leave out most of what it would meet. JSON's strings are such
/// texts, and so may be the attributes of markup or the literals of a programming language.
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
    /// How the members of an object are named.
    pub names: Option<NameMarks>,
}

/// With what the name of an object's member is written. White space may be between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameMarks {
    /// One of these bytes comes before it.
    pub before: &'static [u8],
    /// It begins and ends with this one.
    pub quote: u8,
    /// This one comes behind it.
    pub behind: u8,
}
