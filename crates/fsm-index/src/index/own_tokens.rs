//! The tokens for which an automaton has more to say than its bytes do: its special symbols, and
//! those of which no row tells anything.
//!
//! For example, a template's `<tool_call>` is a special symbol, for which a vocabulary has one token.

use std::collections::HashMap;
use std::sync::Arc;

use crate::rows::Row;
use crate::tokens::Having;
use crate::{ByteAutomaton, Error, ErrorKind, TokenId, Vocabulary};

/// The tokens of an automaton's own.
pub(super) struct OwnTokens {
    /// The tokens of the automaton's special symbols.
    pub(super) specials: Box<[TokenId]>,
    /// Tokens of which one may come wherever special ones may.
    heads: Option<Box<[u32]>>,
    /// The tokens of which the automaton tells nothing before it reads them.
    pub(super) unsure: Arc<[u32]>,
}

impl OwnTokens {
    /// Looks the tokens up. O(vocabulary) where there are any.
    ///
    /// # Errors
    ///
    /// The vocabulary lacks a special token that the automaton reads.
    pub(super) fn of<A: ByteAutomaton>(
        automaton: &A,
        vocabulary: &Vocabulary,
    ) -> Result<OwnTokens, Error> {
        let mut symbols = Vec::new();
        let parts = automaton.parts();
        let names = parts.special_names.names;
        let known = match names {
            [] => HashMap::new(),
            _ => vocabulary.special_names(),
        };
        for name in names {
            let found = known.get(name.as_bytes()).copied();
            let found = found.or_else(|| vocabulary.numbered(name));
            symbols.push(found.ok_or_else(|| {
                let what = match name.starts_with("<[") {
                    true => "special token of this number (what is text is written as text)",
                    false => "special token",
                };
                Error::new(
                    ErrorKind::Vocabulary,
                    format!(
                        "the vocabulary has no {what} {name:?}, which the constraint \
                         reads; use the tokenizer that the format is made for"
                    ),
                )
            })?);
        }
        let unsure = match parts.unsure_texts {
            [] => Arc::default(),
            texts => vocabulary
                .shared_rows()
                .having(vocabulary, Having::OneOf(texts.into())),
        };
        let special_heads = parts.special_names.heads.and_then(|heads| {
            let heads = (0..=u8::MAX).filter(|byte| heads.has(*byte));
            heads.map(|byte| vocabulary.token_of(&[byte])).collect()
        });
        Ok(OwnTokens {
            specials: symbols.into(),
            heads: special_heads,
            unsure,
        })
    }

    /// Tells whether special tokens may come beside a row, as far as that tells. The vocabulary is
    /// given where its tokens spell all that the automaton needs.
    pub(super) fn may_stand_beside(&self, row: &Row, whole: Option<&Vocabulary>) -> bool {
        match (&self.heads, whole) {
            _ if self.specials.is_empty() => false,
            (Some(heads), Some(whole)) if self.unsure.is_empty() => row.view().meets(heads, whole),
            _ => true,
        }
    }
}
