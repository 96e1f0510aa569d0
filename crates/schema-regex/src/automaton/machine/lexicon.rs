//! How JSON is written, for whoever walks over tokens.

use fsm_index::{JSON_TEXT, Lexicon, NameMarks};

/// How the members of objects are named.
pub(crate) const NAMES: NameMarks = NameMarks {
    before: b",{",
    quote: b'"',
    behind: b':',
};

/// How JSON is written: a constant, because no schema changes it.
pub(crate) const LEXICON: Lexicon = Lexicon {
    plain: JSON_TEXT,
    quote: Some(b'"'),
    names: Some(NAMES),
    tells_free: false,
};
