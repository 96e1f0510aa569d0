//! The targets of allowed tokens: those that lead to the same place, together. For example, under
//! `[a-z]{2}` the tokens `a` and `b` lead to one place, and `ab` to another.

use std::collections::HashMap;

use crate::budget::Meter;
use crate::tokens::Area;
use crate::walk::Walker;
use crate::{ByteAutomaton, Cursor, Error, Guide, TokenId};

impl<A: ByteAutomaton> Guide<A> {
    /// The tokens of [`Guide::mask`] in groups: after any two tokens of a group
    /// a walk cannot tell the automaton's cursors apart, so that the same texts
    /// may follow, but for what [`Overlay::exceptions`](crate::Overlay::exceptions) tells aside. End
    /// tokens and special tokens are groups of their own. Each token is in one
    /// group.
    ///
    /// For who has to judge every token by where it leads, as a token budget
    /// must: there are few places. O(nodes of the vocabulary visited), as a mask
    /// that is not remembered.
    ///
    /// # Errors
    ///
    /// As [`Guide::mask`].
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["0", "1", "x"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
    /// let mut guide = Guide::new(Arc::new(Index::new("[01]y?|x{2}|[01]", &Vocabulary::new(
    ///     [(b"0", TokenId::new(0)), (b"1", TokenId::new(1)), (b"x", TokenId::new(2))],
    ///     [TokenId::new(3)],
    /// )?)?));
    /// // After `0` and `1` the same may come, after `x` something else.
    /// assert_eq!(guide.landings()?.len(), 2);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn landings(&mut self) -> Result<Vec<Vec<TokenId>>, Error> {
        let mask = self.mask()?.clone();
        let index = self.index().clone();
        let automaton = index.automaton();
        let trie = index.vocabulary().trie();
        let mut groups: Vec<Vec<TokenId>> = Vec::new();
        if self.has_ended() {
            return Ok(groups);
        }
        let mut scratch = automaton.scratch();
        let start = automaton.enter(self.state(), &mut scratch);
        let mut walker = Walker::default();
        walker.begin::<A>();
        let mut places: HashMap<Cursor, usize> = HashMap::new();
        // By token the group that it is in, and 0 for none.
        let mut group_of = vec![0u32; mask.width()];
        let mut last = (Cursor::DEAD, 0);
        walker.walk(
            automaton,
            start,
            &mut scratch,
            Area::all(trie),
            &mut Meter::default(),
            |token, cursor| {
                if !mask.allows(TokenId::new(token)) {
                    return;
                }
                if last.0 != cursor {
                    let next = places.len();
                    last = (cursor, *places.entry(cursor).or_insert(next));
                    groups.resize_with(places.len(), Vec::new);
                }
                groups[last.1].push(TokenId::new(token));
                group_of[token as usize] = last.1 as u32 + 1;
            },
        );
        for &(first, other) in trie.duplicates() {
            let other = TokenId::new(other);
            if let (Some(at), true) = (group_of[first as usize].checked_sub(1), mask.allows(other))
            {
                groups[at as usize].push(other);
                group_of[other.get() as usize] = at + 1;
            }
        }
        let alone = mask
            .iter()
            .filter(|token| group_of[token.get() as usize] == 0);
        groups.extend(alone.map(|token| vec![token]));
        Ok(groups)
    }
}
