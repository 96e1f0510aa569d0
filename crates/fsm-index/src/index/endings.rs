//! Texts that end in time: how many tokens each place is away from the end.
//!
//! A guide with a token budget allows a token if and only if the text can be completed in the
//! tokens that are left behind it. For example, with three tokens left behind `{"a": "x` of an
//! object that needs nothing more, `"}` may come, and so may `yz`, but not `", "b": "`.
//!
//! - [`ways`](super::ways) finds the tokens of a shortest completion of a cursor, a piece at a
//!   time, and remembers them for each cursor that a completion passes: completions soon meet.
//! - [`profile`](super::profile) sorts the tokens of a mask by how many tokens the end is away
//!   behind them. Which tokens fit into any number of tokens is then a matter of a comparison.
//! - This module remembers the profiles of an index by the full keys of states.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::profile::Profile;
use super::ways::{Ways, most_tokens};
use crate::automaton::Growth;
use crate::bits::Bits;
use crate::index::Index;
use crate::plan::Work;
use crate::spelling::full_key;
use crate::{ByteAutomaton, Vocabulary};

/// Profiles are forgotten when they take more bytes than this, because a server has thousands of indexes.
/// A profile takes some 10 kB, so that there is room for the places of a large schema.
const MAX_BYTES: usize = 16 << 20;

/// The distances of states from the end that the guides of an index found.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    known: Mutex<ProfileCache>,
    blanks: OnceLock<Box<[u32]>>,
    growth: OnceLock<Growth>,
}

#[derive(Debug, Default)]
struct ProfileCache {
    /// By the full key of a state.
    profiles: HashMap<Box<[u32]>, Arc<Profile>, foldhash::fast::RandomState>,
    bytes: usize,
}

impl Endings {
    /// The profile of a state, if it is known; else the key under which it is to be kept, if it has one.
    pub(crate) fn known<A: ByteAutomaton>(
        &self,
        index: &Index<A>,
        state: &A::State,
        work: &mut Work<A>,
    ) -> Result<Arc<Profile>, Option<Box<[u32]>>> {
        let key = full_key(index.automaton(), state, &mut work.scratch);
        let known = key
            .as_ref()
            .and_then(|key| self.lock().profiles.get(key).cloned());
        known.ok_or(key)
    }

    /// Keeps a profile under its key.
    pub(crate) fn keep(&self, key: Option<Box<[u32]>>, profile: Profile) -> Arc<Profile> {
        let profile = Arc::new(profile);
        if let Some(key) = key {
            let mut known = self.lock();
            let bytes = profile.memory() + size_of_val(&*key);
            if known.bytes + bytes > MAX_BYTES {
                *known = ProfileCache::default();
            }
            known.bytes += bytes;
            known.profiles.insert(key, profile.clone());
        }
        profile
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ProfileCache> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tokens with which a further word of a text begins: those whose first character is a blank, or the
    /// escape of one in JSON.
    pub(crate) fn blanks(&self, vocabulary: &Vocabulary) -> &[u32] {
        self.blanks.get_or_init(|| {
            let mut words = vec![0u32; vocabulary.width().div_ceil(32)];
            for blank in [&b" "[..], b"\n", b"\t", b"\r", b"\\n", b"\\t", b"\\r"] {
                let tokens = vocabulary.beginning(blank);
                tokens.iter().for_each(|&token| words.allow(token));
            }
            words.into()
        })
    }

    /// Returns the greatest distance of the end, in tokens.
    pub(crate) fn growth<A: ByteAutomaton>(&self, index: &Index<A>) -> Growth {
        *self.growth.get_or_init(|| {
            let ending = index.automaton().parts().ending;
            let trie = index.vocabulary().trie();
            // Bytes bound tokens where each byte is one.
            match ending.filter(|_| index.spells_what_it_needs()) {
                Some(ending) => ending.growth(&|text| most_tokens(trie, text)),
                None => Growth::Unknown,
            }
        })
    }

    /// The fewest tokens that are known to lead to the end from a state; `None` where none are. The
    /// scratch enters the state.
    pub(crate) fn tokens<A: ByteAutomaton>(
        index: &Index<A>,
        state: &A::State,
        ways: &mut Ways,
        work: &mut Work<A>,
    ) -> Option<Vec<u32>> {
        Endings::tokens_behind(index, state, &[], ways, work)
            .or_else(|| index.tokens_to_the_end(state))
    }

    /// The same from where some bytes lead, as a walk from the state finds it.
    pub(crate) fn tokens_behind<A: ByteAutomaton>(
        index: &Index<A>,
        state: &A::State,
        bytes: &[u8],
        ways: &mut Ways,
        work: &mut Work<A>,
    ) -> Option<Vec<u32>> {
        let automaton = index.automaton();
        let ending = automaton.parts().ending?;
        let scratch = &mut work.scratch;
        let start = automaton.enter(state, scratch);
        ways.begin();
        let at = bytes
            .iter()
            .fold(start, |at, &byte| automaton.step(at, byte, scratch));
        let trie = index.vocabulary().trie();
        ways.spelt::<A>(ending, trie, at, scratch)
    }
}
