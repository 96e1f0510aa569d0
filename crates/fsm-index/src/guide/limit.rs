//! A text that ends in time: the tokens that may still come. For example, with 3 tokens left in
//! `{"a": [1, ` only tokens from which `]}` is reached in time may come.

use std::sync::Arc;

use super::Guide;
use crate::automaton::Growth;
use crate::bits::{Bits, HasBits};
use crate::index::{Endings, NEVER, Profile, Rule, Ways};
use crate::plan::Work;
use crate::{ByteAutomaton, Error, ErrorKind, Index, MaskBuffer, TokenId};

/// The end of a text with a token budget.
///
/// Without it a text is cut as late as it can be: in mid-word, with each list as long as it
/// could get. For example, with 16 tokens of 128 left, `{"title": "A walk in the` is ended as `{"title": "A walk in the",
/// "tags": []}`, and not with a title of twelve words more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Landing {
    /// [`Landing::Within`] an eighth of the budget, and 64 tokens at most: so a long answer is not shortened by
    /// more than a paragraph.
    #[default]
    Soft,
    /// If so many tokens more are left than the end takes, or fewer, no part (member, item) is
    /// begun that the text can do without, and free text that may end is not gone on with by a
    /// further word: in the first half of the margin no further sentence, in the second no further
    /// word.
    Within(usize),
    /// Anything may come that can be completed in time.
    Hard,
}

/// The largest margin of [`Landing::Soft`], because a paragraph has no more tokens.
const MOST_SOFT: usize = 64;

/// The part of a budget that is the margin of [`Landing::Soft`]: an eighth, because less is a word or two of
/// a short answer, and more is felt in a long one.
const SOFT_PART: usize = 8;

/// The tokens that a text may have.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// The number of tokens that the guide has taken when none is left.
    end: usize,
    /// The number of tokens that are left when the landing begins, beside those that the end takes.
    margin: usize,
    /// Up to so many tokens taken, none leads too far from the end.
    far_until: usize,
    /// The last bytes of the tokens taken since the budget was given.
    lasts: Vec<u8>,
    /// The number of tokens that had been taken before them.
    base: usize,
    profile: Option<Arc<Profile>>,
    /// Tokens that lead to the end from here in time, where the state's own way is longer: what the mask before
    /// promised of the token that was taken.
    witness: Option<Vec<u32>>,
    last: Option<TokenId>,
}

/// The tokens to be taken out of a mask.
pub(super) struct Narrowing {
    profile: Arc<Profile>,
    rule: Rule,
    left: u32,
    /// A token that leads to the end in time though its place does not tell.
    first: Option<u32>,
}

impl Limit {
    fn new(taken: usize, tokens: usize) -> Limit {
        Limit {
            end: taken.saturating_add(tokens),
            margin: Limit::margin(Landing::default(), tokens),
            far_until: 0,
            lasts: Vec::new(),
            base: taken,
            profile: None,
            witness: None,
            last: None,
        }
    }

    fn left(&self, taken: usize) -> usize {
        self.end.saturating_sub(taken)
    }

    fn margin(landing: Landing, tokens: usize) -> usize {
        match landing {
            Landing::Soft => (tokens / SOFT_PART).min(MOST_SOFT),
            Landing::Within(tokens) => tokens,
            Landing::Hard => 0,
        }
    }

    pub(super) fn forget(&mut self) {
        self.profile = None;
    }

    /// Takes a token with this last byte.
    pub(super) fn take(&mut self, token: TokenId, last: u8) {
        self.lasts.push(last);
        self.last = Some(token);
        let kept = self.witness.take();
        self.witness = kept.filter(|tokens| tokens.first() == Some(&token.get()));
        if let Some(tokens) = &mut self.witness {
            tokens.remove(0);
        }
    }

    /// So many tokens are left taken.
    pub(super) fn go_back(&mut self, taken: usize) {
        self.lasts.truncate(taken.saturating_sub(self.base));
        self.far_until = 0;
        (self.witness, self.last) = (None, None);
    }

    /// Tells whether no token can lead too far from the end, or into the margin of the landing.
    /// Mostly a comparison: see [`Limit::far_until`].
    fn is_far<A: ByteAutomaton>(
        &mut self,
        index: &Index<A>,
        state: &A::State,
        taken: usize,
        work: &mut Work<A>,
    ) -> bool {
        if taken < self.far_until {
            return true;
        }
        let left = self.left(taken);
        let margin = self.margin;
        let steps = match index.endings().growth(index) {
            Growth::Unknown => 0,
            Growth::AtMost(tokens) => left.saturating_sub(tokens.saturating_add(margin)),
            Growth::ByLevel {
                flat,
                level,
                openers,
            } => {
                let opened = index.vocabulary().trie().most_of(openers);
                let open = levels(index.automaton(), state, work).saturating_add(opened);
                let far = flat.saturating_add(open.saturating_mul(level));
                let slack = left.saturating_sub(far.saturating_add(margin));
                slack / opened.saturating_mul(level).saturating_add(1)
            }
        };
        if steps < 2 {
            return false;
        }
        self.far_until = taken + steps - 1;
        true
    }

    /// Tells whether a text can be completed from a state behind `taken` tokens.
    pub(super) fn fits<A: ByteAutomaton>(
        &self,
        index: &Index<A>,
        state: &A::State,
        taken: usize,
        ways: &mut Ways,
        work: &mut Work<A>,
    ) -> bool {
        if taken < self.far_until {
            return true;
        }
        let Some(left) = self.end.checked_sub(taken) else {
            return false;
        };
        index.automaton().is_accepting(state)
            || Endings::tokens(index, state, ways, work).is_some_and(|tokens| tokens.len() <= left)
    }

    /// Returns the first token of a way that fits into the tokens that are left, where the state's own does not: that
    /// which was promised when the last token was allowed, by a walk from the state before it.
    fn witness<A: ByteAutomaton>(
        &mut self,
        index: &Index<A>,
        before: &A::State,
        left: usize,
        ways: &mut Ways,
        work: &mut Work<A>,
    ) -> Option<u32> {
        let fits = |tokens: &Vec<u32>| tokens.len() <= left;
        if let Some(kept) = self.witness.as_ref().filter(|tokens| fits(tokens)) {
            return kept.first().copied();
        }
        let last = self.last?;
        let own = Endings::tokens(index, before, ways, work);
        let own = own.filter(|tokens| tokens.first() == Some(&last.get()));
        let own = own.map(|mut tokens| {
            tokens.remove(0);
            tokens
        });
        let bytes = index.vocabulary().token_bytes(last).unwrap_or_default();
        let found = own
            .filter(fits)
            .or_else(|| Endings::tokens_behind(index, before, bytes, ways, work).filter(fits))?;
        let first = found.first().copied();
        self.witness = Some(found);
        first
    }

    fn ends_sentence(&self) -> bool {
        self.lasts.last().is_some_and(|last| b".!?".contains(last))
    }
}

impl Narrowing {
    /// Takes what may not come out of the words of a mask, but for the tokens that end the text.
    pub(super) fn narrow<A: ByteAutomaton>(
        &self,
        index: &Index<A>,
        ends: &[TokenId],
        words: &mut [u32],
    ) {
        if let Some(first) = self.first.filter(|first| words.has(*first)) {
            words.fill(0);
            words.allow(first);
            return;
        }
        let blanks = index.endings().blanks(index.vocabulary());
        self.profile.narrow(self.left, self.rule, blanks, words);
        ends.iter().for_each(|end| words.allow(end.get()));
    }
}

/// Returns the number of levels that are open at a state.
fn levels<A: ByteAutomaton>(automaton: &A, state: &A::State, work: &mut Work<A>) -> usize {
    let at = automaton.enter(state, &mut work.scratch);
    let ending = automaton.parts().ending;
    ending.map_or(0, |ending| ending.standing(at, &mut work.scratch).levels)
}

impl<A: ByteAutomaton> Guide<A> {
    /// Lets at most `tokens` more tokens come, end tokens not counted: from now on a token is allowed if
    /// and only if the text can be completed in the tokens that are left behind it, and texts
    /// land softly ([`Guide::with_landing`]). So each text is complete in time.
    ///
    /// The number of tokens left goes down with each token that is taken, and up again with each
    /// that is taken back; [`Guide::validate`] counts it for drafts, and a fork goes on with its
    /// own. An engine that counts by itself says what is left by [`Guide::set_tokens_left`].
    ///
    /// The number of tokens to the end is that of the shortest completion in bytes, cut into as few
    /// tokens as spell it, or of a shorter way that a search finds in
    /// [`IndexConfig::search_nodes`](crate::IndexConfig::search_nodes). If a text can be completed
    /// in fewer tokens and neither finds it, a token may be refused that would just have fitted;
    /// never is one allowed behind which nothing fits.
    ///
    /// Masks cost what they cost without a budget while no token can lead too far from the end;
    /// near it, O(1) for a place that is known, and a walk over the tokens of the mask for one
    /// that is not.
    ///
    /// # Errors
    ///
    /// The shortest text takes more tokens ([`ErrorKind::TokenBudget`], with their number).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b", "ab"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
    /// let index = Arc::new(Index::new("a+b", &vocabulary)?);
    /// assert!(Guide::new(index.clone()).with_budget(0).is_err());
    /// let mut guide = Guide::new(index).with_budget(2)?;
    /// // Behind `a` one token is left, which can be `b` or `ab`.
    /// assert_eq!(guide.allowed_tokens()?, [TokenId::new(0), TokenId::new(2)]);
    /// guide.advance(TokenId::new(0))?;
    /// assert_eq!(guide.tokens_left(), Some(1));
    /// assert_eq!(guide.allowed_tokens()?, [TokenId::new(1), TokenId::new(2)]);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn with_budget(mut self, tokens: usize) -> Result<Guide<A>, Error> {
        self.set_budget(Some(tokens))?;
        Ok(self)
    }

    /// As [`Guide::with_budget`], of a guide that is in use; `None` takes the budget away.
    ///
    /// # Errors
    ///
    /// As [`Guide::with_budget`]; then nothing has changed.
    pub fn set_budget(&mut self, tokens: Option<usize>) -> Result<(), Error> {
        let Some(tokens) = tokens else {
            self.limit = None;
            self.current.hide();
            return Ok(());
        };
        let why = match self.tokens_needed() {
            Some(needed) if needed <= tokens => {
                self.limit = Some(Limit::new(self.len(), tokens));
                self.current.hide();
                return Ok(());
            }
            Some(needed) => format!(
                "the shortest text takes {needed} tokens, and {tokens} may come; allow {needed} or more"
            ),
            None => {
                "no way to the end of the text is known that tokens spell, so that none can be \
                     promised to be complete in time; give no budget"
                    .to_owned()
            }
        };
        Err(Error::new(ErrorKind::TokenBudget, why))
    }

    /// Says how a text with a budget comes to its end. Without a budget it changes nothing.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use fsm_index::{Guide, Index, Landing, TokenId, Vocabulary};
    /// # let tokens = ["a", "b"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// let index = Arc::new(Index::new("a*b", &vocabulary)?);
    /// let mut guide = Guide::new(index).with_budget(2)?.with_landing(Landing::Hard);
    /// assert_eq!(guide.mask()?.count(), 2);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn with_landing(mut self, landing: Landing) -> Guide<A> {
        self.set_landing(landing);
        self
    }

    /// As [`Guide::with_landing`], of a guide that is in use: the margin is that of a budget of the tokens that are
    /// left.
    pub fn set_landing(&mut self, landing: Landing) {
        let taken = self.len();
        if let Some(limit) = &mut self.limit {
            limit.margin = Limit::margin(landing, limit.left(taken));
            limit.far_until = 0;
            self.current.hide();
        }
    }

    /// Returns the number of tokens that may still come; none without a budget.
    pub fn tokens_left(&self) -> Option<usize> {
        self.limit.as_ref().map(|limit| limit.left(self.len()))
    }

    /// Says how many tokens may still come, where an engine counts them by itself: a budget from
    /// now on, if there was none. The margin of the landing is that of the first budget. If it is
    /// fewer than the end takes, the tokens that lead to it the soonest are allowed.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use fsm_index::{Guide, Index, TokenId, Vocabulary};
    /// # let tokens = ["a", "b"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// let mut guide = Guide::new(Arc::new(Index::new("a*b", &vocabulary)?));
    /// guide.set_tokens_left(1);
    /// assert_eq!(guide.allowed_tokens()?, [TokenId::new(1)]);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn set_tokens_left(&mut self, tokens: usize) {
        let taken = self.len();
        let end = taken.saturating_add(tokens);
        match &mut self.limit {
            Some(limit) if limit.end == end => return,
            Some(limit) => (limit.end, limit.far_until) = (end, 0),
            None => self.limit = Some(Limit::new(taken, tokens)),
        }
        self.current.hide();
    }

    /// Returns the number of tokens that lead to the end, at least as far as is known: see
    /// [`Guide::with_budget`]. None where no way to the end is known.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use fsm_index::{Guide, Index, TokenId, Vocabulary};
    /// # let tokens = ["a", "b", "ab"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
    /// let mut guide = Guide::new(Arc::new(Index::new("a+b", &vocabulary)?));
    /// assert_eq!(guide.tokens_needed(), Some(1));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn tokens_needed(&mut self) -> Option<usize> {
        if self.has_ended() {
            return Some(0);
        }
        if self.is_accepting() {
            return Some(0);
        }
        let tokens = Endings::tokens(&self.index, &self.state, &mut self.ways, &mut self.work);
        tokens.map(|tokens| tokens.len())
    }

    /// The profile of this state and the rule for its mask, if not every token of it may come with the
    /// tokens that are left. `ordinary` is asked for the mask without a budget where the profile is not
    /// known.
    pub(super) fn narrowing(&mut self) -> Option<Narrowing> {
        let taken = self.len();
        let left = self.limit.as_ref()?.left(taken);
        if self.has_ended() {
            return None;
        }
        let (index, limit) = (&*self.index, self.limit.as_mut()?);
        if limit.is_far(index, &self.state, taken, &mut self.work) {
            return None;
        }
        let profile = self.profile();
        let (index, limit) = (&*self.index, self.limit.as_mut()?);
        let first = match (profile.tokens as usize > left, self.history.last()) {
            (true, Some(before)) => {
                limit.witness(index, before, left, &mut self.ways, &mut self.work)
            }
            _ => None,
        };
        limit.profile = Some(profile.clone());
        let slack = left.saturating_sub(profile.tokens as usize);
        let rule = match slack.checked_sub(limit.margin) {
            _ if limit.margin == 0 => Rule::Free,
            Some(1..) => Rule::Free,
            _ if slack > limit.margin / 2 && !limit.ends_sentence() => Rule::NoFurtherParts,
            _ => Rule::NoFurtherWords,
        };
        let left = u32::try_from(left).unwrap_or(NEVER - 1);
        (!profile.allows_all(left, rule)).then_some(Narrowing {
            profile,
            rule,
            left,
            first,
        })
    }

    fn profile(&mut self) -> Arc<Profile> {
        if let Some(profile) = self.limit.as_ref().and_then(|limit| limit.profile.clone()) {
            return profile;
        }
        let index = self.index.clone();
        let key = index.endings().known(&index, &self.state, &mut self.work);
        let key = match key {
            Ok(profile) => return profile,
            Err(key) => key,
        };
        let mut buffer = std::mem::replace(&mut self.buffer, MaskBuffer::new(0));
        self.fill_all(&mut buffer);
        let state = &self.state;
        let made = Profile::new(&index, state, buffer.mask(), &mut self.ways, &mut self.work);
        self.buffer = buffer;
        index.endings().keep(key, made)
    }
}
