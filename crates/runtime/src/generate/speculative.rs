//! Speculative decoding: tokens are proposed by something cheap and read by the
//! model in one step together; what it would not have said is dropped again.
//!
//! The loop draws every token from the model's own logits under the mask, as
//! without: a proposal only decides whether those logits are there already. At
//! temperature 0, and with proposals that are certain of themselves
//! ([`PromptLookup`]), the tokens are the same as without. A [`DraftModel`] that
//! draws is followed by the rule of Leviathan et al. ("Fast inference from
//! transformers via speculative decoding", 2023), with both distributions under
//! the mask: what comes out is distributed as without, and the proposal is
//! taken as often as that allows.
//!
//! For example, after `"name": "Ada", "na` a [`PromptLookup`] proposes the tokens that followed
//! `"na` before, and one forward pass reads them all.

use std::collections::VecDeque;
use std::fmt;

use crate::constraint::Constraint;
use crate::model::Model;
use crate::sampling::{Proposal, Sampler, SamplingConfig};
use crate::{Error, ErrorKind};

/// The most tokens that are proposed for one step: more are hardly ever all taken, and each one
/// costs a row of logits, so that a wrong count must not fill the memory.
pub const MAX_PROPOSED: usize = 64;

/// Proposes the tokens that may come next.
pub trait Drafter: fmt::Debug {
    /// Proposes at most `count` tokens that may follow `seen` one after
    /// another. The constraint has taken what is seen of the text; it may be
    /// led further, and must be taken back.
    ///
    /// # Errors
    ///
    /// The drafter fails; generating fails then.
    fn propose(
        &mut self,
        seen: &[u32],
        count: usize,
        constraint: Option<&mut dyn Constraint>,
        sampling: &SamplingConfig,
    ) -> Result<Vec<Proposal>, Error>;
}

/// The figures of speculative decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Speculation {
    /// Tokens that were proposed and read.
    pub proposed: usize,
    /// Tokens of the text among them, which cost no step of their own.
    pub accepted: usize,
}

/// Proposes what followed the last tokens where they stood before: good where
/// an answer quotes its prompt (prompt look-up decoding).
///
/// ```
/// use tokenmold::generate::PromptLookup;
///
/// let lookup = PromptLookup { longest: 4, shortest: 2 };
/// assert!(lookup.longest >= lookup.shortest);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptLookup {
    /// Most last tokens that are looked up.
    pub longest: usize,
    /// Least.
    pub shortest: usize,
}

impl Default for PromptLookup {
    fn default() -> Self {
        PromptLookup {
            longest: 4,
            shortest: 2,
        }
    }
}

impl Drafter for PromptLookup {
    /// O(tokens seen x lengths looked up).
    fn propose(
        &mut self,
        seen: &[u32],
        count: usize,
        constraint: Option<&mut dyn Constraint>,
        _: &SamplingConfig,
    ) -> Result<Vec<Proposal>, Error> {
        let lengths = self.shortest.max(1)..=self.longest.min(seen.len());
        let found = lengths.rev().find_map(|length| {
            let last = &seen[seen.len() - length..];
            let before = &seen[..seen.len() - 1];
            let at = before.windows(length).rposition(|tokens| tokens == last)?;
            Some(&seen[at + length..])
        });
        let mut tokens = found.unwrap_or_default();
        tokens = &tokens[..tokens.len().min(count)];
        if let Some(constraint) = constraint {
            tokens = &tokens[..constraint.validate(tokens)];
        }
        Ok(tokens.iter().copied().map(Proposal::certain).collect())
    }
}

/// Proposes what a smaller model of the same vocabulary draws.
pub struct DraftModel<'m, M: Model + ?Sized> {
    model: &'m mut M,
    seen: Vec<u32>,
    sampler: Option<Sampler>,
}

impl<'m, M: Model + ?Sized> DraftModel<'m, M> {
    /// A drafter that forgets what the model has seen before.
    pub fn new(model: &'m mut M) -> Self {
        model.truncate(0);
        DraftModel {
            model,
            seen: Vec::new(),
            sampler: None,
        }
    }

    /// Reads what is new of `tokens`; the logits behind them.
    fn read(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Error> {
        let shared = self
            .seen
            .iter()
            .zip(tokens)
            .take_while(|(a, b)| a == b)
            .count();
        let known = shared.min(tokens.len().saturating_sub(1));
        self.seen.truncate(known);
        let logits = self.model.forward(&tokens[known..], known)?;
        self.seen.extend_from_slice(&tokens[known..]);
        Ok(logits)
    }

    fn draw(
        &mut self,
        sampler: &mut Sampler,
        tokens: &mut Vec<u32>,
        count: usize,
        mut constraint: Option<&mut dyn Constraint>,
        taken: &mut usize,
    ) -> Result<Vec<Proposal>, Error> {
        let mut proposals = Vec::new();
        while proposals.len() < count && tokens.len() < self.model.context_length() {
            let mask = match &mut constraint {
                Some(constraint) if constraint.is_finished() => break,
                Some(constraint) => Some(constraint.mask()?),
                None => None,
            };
            let logits = self.read(tokens)?;
            // If it has nothing to say, there is nothing to propose.
            let Ok(proposal) = sampler.propose(&logits, mask, tokens) else {
                break;
            };
            if let Some(constraint) = &mut constraint {
                // An end token ends the text: nothing follows it.
                if constraint.advance(proposal.token()).is_err() {
                    break;
                }
                *taken += 1;
            }
            tokens.push(proposal.token());
            proposals.push(proposal);
        }
        Ok(proposals)
    }
}

/// The difference of the seeds of a text and of its draft, because the two must not draw the same
/// numbers (2^64 divided by the golden ratio, as SplitMix64 adds it).
const DRAFT_SEED: u64 = 0x9E37_79B9_7F4A_7C15;

impl<M: Model + ?Sized> Drafter for DraftModel<'_, M> {
    /// A step of the draft's model for each token.
    fn propose(
        &mut self,
        seen: &[u32],
        count: usize,
        mut constraint: Option<&mut dyn Constraint>,
        sampling: &SamplingConfig,
    ) -> Result<Vec<Proposal>, Error> {
        let mut own = sampling.clone();
        own.seed = own.seed.wrapping_add(DRAFT_SEED);
        let sampler = self.sampler.take().filter(|s| *s.config() == own);
        let mut sampler = match sampler {
            Some(sampler) => sampler,
            None => Sampler::new(own)?,
        };
        let mut taken = 0;
        let mut tokens = seen.to_vec();
        let proposals = self.draw(
            &mut sampler,
            &mut tokens,
            count,
            constraint.as_deref_mut().map(|c| c as _),
            &mut taken,
        );
        self.sampler = Some(sampler);
        if let Some(constraint) = constraint {
            constraint.rollback(taken)?;
        }
        proposals
    }
}

impl<M: Model + ?Sized> fmt::Debug for DraftModel<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DraftModel({} tokens seen)", self.seen.len())
    }
}

/// The tokens that a session reads ahead.
#[derive(Debug, Default)]
pub(super) struct Ahead<'m> {
    drafter: Option<&'m mut dyn Drafter>,
    count: usize,
    /// Tokens that were proposed and read, and the logits behind each.
    read: VecDeque<(Proposal, Vec<f32>)>,
    pub(super) speculation: Speculation,
    /// Steps of the model.
    pub(super) steps: usize,
}

impl<'m> Ahead<'m> {
    pub(super) fn new(drafter: &'m mut dyn Drafter, count: usize) -> Self {
        Ahead {
            drafter: Some(drafter),
            count: count.min(MAX_PROPOSED),
            ..Ahead::default()
        }
    }

    /// Tells whether anything is proposed at all.
    pub(super) fn is_on(&self) -> bool {
        self.drafter.is_some()
    }

    /// Forgets what was read ahead and counted.
    pub(super) fn begin(&mut self) {
        self.read.clear();
        self.speculation = Speculation::default();
        self.steps = 0;
    }

    /// The token that is proposed to come next.
    pub(super) fn proposal(&self) -> Option<&Proposal> {
        self.read.front().map(|(proposal, _)| proposal)
    }

    /// Takes those of the tokens that were read ahead from their front; the
    /// logits behind the last if these are all.
    pub(super) fn known(&mut self, seen: &mut Vec<u32>, tokens: &mut &[u32]) -> Option<Vec<f32>> {
        let mut known = None;
        while let Some((first, rest)) = tokens.split_first()
            && let Some((_, logits)) = self.read.pop_front_if(|(p, _)| p.token() == *first)
        {
            self.speculation.accepted += 1;
            seen.push(*first);
            *tokens = rest;
            known = Some(logits);
        }
        if tokens.is_empty() && known.is_some() {
            return known;
        }
        self.read.clear();
        None
    }

    /// Returns tokens that may come behind `tokens`, which come behind those that were seen;
    /// nothing without a drafter.
    pub(super) fn propose(
        &mut self,
        context: usize,
        seen: &[u32],
        tokens: &[u32],
        constraint: Option<&mut dyn Constraint>,
        sampling: &SamplingConfig,
    ) -> Result<Vec<Proposal>, Error> {
        let count = self
            .count
            .min(context.saturating_sub(seen.len() + tokens.len()));
        match &mut self.drafter {
            Some(drafter) if count > 0 => {
                let all = [seen, tokens].concat();
                drafter.propose(&all, count, constraint, sampling)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Lets the model read tokens behind those it has seen, and what is proposed
    /// to come behind them; the logits behind the last of `tokens`.
    pub(super) fn forward<M: Model + ?Sized>(
        &mut self,
        model: &mut M,
        seen: &mut Vec<u32>,
        tokens: &[u32],
        proposals: Vec<Proposal>,
    ) -> Result<Vec<f32>, Error> {
        self.steps += 1;
        let position = seen.len();
        if proposals.is_empty() {
            let logits = model.forward(tokens, position)?;
            seen.extend_from_slice(tokens);
            return Ok(logits);
        }
        let proposed = proposals.iter().map(Proposal::token);
        let all: Vec<u32> = tokens.iter().copied().chain(proposed).collect();
        let mut each = model
            .forward_each(&all, position, proposals.len() + 1)?
            .into_iter();
        let lost = || Error::new(ErrorKind::Model, "the model gave no logits for a token");
        let logits = each.next().ok_or_else(lost)?;
        self.speculation.proposed += proposals.len();
        self.read.extend(proposals.into_iter().zip(each));
        seen.extend_from_slice(tokens);
        Ok(logits)
    }
}
