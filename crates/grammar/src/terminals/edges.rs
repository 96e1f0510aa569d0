//! Edges: the text around a lexeme that it may see, and the looks of expressions.
//!
//! For example, under greedy lexing `/if\b/` sees the character behind it.

use fsm_tables::Look;
use regex_dialects::look_of;
use regex_syntax::hir::{self, Hir};

use crate::error::{Error, ErrorKind};
use crate::patterns::MAX_NEST;

/// The text around a lexeme that its looks may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edges {
    /// None: a lexeme is the same everywhere.
    None,
    /// None, and every split counts: lazy quantifiers change nothing.
    Splits,
    /// Under greedy lexing the text behind it: one that ended where it must not ends nowhere.
    Behind,
    /// The same where a guard reads what comes behind ignored text, but not whether anything does.
    Ignored,
    /// There is none: the lexeme is the whole text. Lazy quantifiers change nothing.
    Whole,
}

impl Edges {
    /// Says whether a lazy quantifier says which match a lexeme is.
    pub(super) fn prefer(self) -> bool {
        matches!(self, Edges::None | Edges::Behind | Edges::Ignored)
    }

    /// The same for a language inside of a terminal.
    pub(crate) fn inside(self) -> Edges {
        match self.prefer() {
            true => Edges::None,
            false => Edges::Splits,
        }
    }
}

/// Parses an expression.
pub(super) fn parsed(pattern: &str) -> Result<Hir, Error> {
    let parser = regex_syntax::ParserBuilder::new()
        .nest_limit(MAX_NEST)
        .build()
        .parse(pattern);
    parser.map_err(|error| Error::new(ErrorKind::Syntax, error.to_string()))
}

/// The look that a group stands for.
pub(super) fn look(group: &hir::Capture) -> Option<Look> {
    group.name.as_deref().and_then(look_of)
}
