//! The spelling of JSON, for whoever walks over tokens.
//!
//! For example, a name begins with `"` behind `,` or `{`, and ends before `:`.

use fsm_index::{JSON_TEXT, Lexicon, NameMarks};

/// The marks around the names of members (RFC 8259).
pub(crate) const NAMES: NameMarks = NameMarks {
    before: b",{",
    quote: b'"',
    behind: b':',
};

/// The spelling of JSON, constant because no schema changes it.
pub(crate) const LEXICON: Lexicon = Lexicon {
    plain: JSON_TEXT,
    quote: Some(b'"'),
    names: Some(NAMES),
    tells_free: false,
};
