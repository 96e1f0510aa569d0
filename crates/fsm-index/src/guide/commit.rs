//! A token that is taken: its bytes or its special token are committed to a state. For example,
//! `"}` takes a state in a string to one behind an object, and an end token ends a complete text.

use std::sync::Arc;

use super::refusal::{refused, refused_byte};
use crate::automaton::AskParts;
use crate::plan::Work;
use crate::{ByteAutomaton, Error, ErrorKind, Index, SpecialId, TokenId, TokenKind, Vocabulary};

/// The tokens that end one text: the vocabulary's, or its own.
#[derive(Clone, Default)]
pub(super) struct Ends {
    /// Ascending.
    own: Option<Arc<[TokenId]>>,
}

impl Ends {
    /// Returns these tokens as the ends of one text.
    ///
    /// # Errors
    ///
    /// A token is text, or masks have no place for it ([`ErrorKind::Vocabulary`]).
    pub(super) fn new(
        tokens: impl IntoIterator<Item = TokenId>,
        vocabulary: &Vocabulary,
    ) -> Result<Ends, Error> {
        let mut tokens: Vec<TokenId> = tokens.into_iter().collect();
        tokens.sort_unstable();
        tokens.dedup();
        for &token in &tokens {
            let why = match vocabulary.kind(token) {
                TokenKind::Text => "is text: only a token that spells nothing can end a text",
                _ if token.get() as usize >= vocabulary.width() => "is beyond the vocabulary",
                _ => continue,
            };
            return Err(Error::new(
                ErrorKind::Vocabulary,
                format!("end token {token} {why}"),
            ));
        }
        let own = (tokens != vocabulary.ends()).then(|| tokens.into());
        Ok(Ends { own })
    }

    /// Tells whether the text has ends of its own.
    pub(super) fn are_own(&self) -> bool {
        self.own.is_some()
    }

    /// Returns the end tokens, in ascending order.
    pub(super) fn tokens<'a>(&'a self, vocabulary: &'a Vocabulary) -> &'a [TokenId] {
        self.own.as_deref().unwrap_or(vocabulary.ends())
    }

    /// Returns the kind of a token to this text.
    fn kind(&self, token: TokenId, vocabulary: &Vocabulary) -> TokenKind {
        let kind = vocabulary.kind(token);
        match &self.own {
            Some(ends) if ends.binary_search(&token).is_ok() => TokenKind::End,
            Some(_) if kind == TokenKind::End => TokenKind::Special,
            _ => kind,
        }
    }
}

/// Commits a token to a state; whether it ends the text.
pub(super) fn commit<A: ByteAutomaton>(
    index: &Index<A>,
    ends: &Ends,
    state: &mut A::State,
    token: TokenId,
    work: &mut Work<A>,
) -> Result<bool, Error> {
    let automaton = index.automaton();
    let kind = ends.kind(token, index.vocabulary());
    match kind {
        TokenKind::Text => commit_text(index, state, token, work).map(|()| false),
        TokenKind::End if automaton.is_accepting(state) => Ok(true),
        TokenKind::End | TokenKind::Special => {
            let mut specials = index.specials().iter();
            match specials.position(|&special| special == token) {
                Some(at)
                    if automaton.advance_special(state, SpecialId(at as u32))
                        && index.is_spellable(state, work) =>
                {
                    Ok(false)
                }
                Some(_) => Err(refused(token, 0, "may not come here")),
                None if kind == TokenKind::End => Err(refused(
                    token,
                    0,
                    "ends the text, which is not complete yet",
                )),
                None => Err(refused(token, 0, "is structure, not text")),
            }
        }
        TokenKind::Absent => Err(refused(token, 0, "is not in the vocabulary")),
    }
}

/// Commits the bytes of a token to a state.
fn commit_text<A: ByteAutomaton>(
    index: &Index<A>,
    state: &mut A::State,
    token: TokenId,
    work: &mut Work<A>,
) -> Result<(), Error> {
    let automaton = index.automaton();
    let bytes = index.vocabulary().token_bytes(token).unwrap_or_default();
    if bytes.is_empty() {
        return Err(refused(token, 0, "has no bytes and is never allowed"));
    }
    automaton
        .advance(state, bytes, &mut work.scratch)
        .map_err(|offset| refused_byte(automaton, state, token, bytes, offset))?;
    // A part goes on if the vocabulary cannot spell what its spent budget leaves.
    let ended = automaton.end_token(state, &mut work.scratch);
    if let Some(ended) = ended.filter(|ended| index.is_spellable(ended, work)) {
        *state = ended;
        return Ok(());
    }
    match index.is_spellable(state, work) {
        true => Ok(()),
        false => Err(refused(
            token,
            bytes.len(),
            "leads to where the vocabulary cannot spell any way on",
        )),
    }
}
