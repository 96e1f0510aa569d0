//! The rows of states where some byte is no token. For example, without a token for `~` the row of a
//! schema's member that must be `"~"` has no token, whatever the bytes allow.

use std::sync::Arc;

use crate::bits::Bits;
use crate::plan::{RowMaker, Work};
use crate::rows::{EndTokens, Row};
use crate::spelling::Search;
use crate::{ByteAutomaton, Cursor, Error};

/// The row of a state, of tokens behind which a search finds a way to the end.
pub(super) fn searched_row<A: ByteAutomaton>(
    search: &Search,
    state: &A::State,
    cursor: Cursor,
    end_tokens: EndTokens,
    maker: &RowMaker<'_, A>,
    work: &mut Work<A>,
) -> Result<Arc<Row>, Error> {
    let RowMaker {
        automaton,
        vocabulary,
        sparse,
        ..
    } = *maker;
    let mut words = vec![0; vocabulary.width().div_ceil(32)];
    if !search.allowed(automaton, vocabulary, state, cursor, work, &mut words)? {
        let row = maker.row(cursor, end_tokens, work)?;
        row.lay_out(vocabulary, &mut words);
        let gone = search.forbidden(automaton, vocabulary, state, |token| {
            words[token as usize / 32] >> (token % 32) & 1 != 0
        });
        if gone.is_empty() {
            return Ok(row);
        }
        gone.iter().for_each(|&token| words.forbid(token));
    }
    let row = Row::from_words(&words, end_tokens, sparse, vocabulary);
    Ok(Arc::new(row))
}
