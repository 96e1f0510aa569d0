//! The memory that the indexes of one vocabulary share: rows that many automata have, and lists
//! that were derived from the tokens for some of them. For example, the tokens with a quotation
//! mark are listed once for all automata that ask for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::bits::Bits;
use crate::cache::{Cache, Generation};
use crate::tokens::{CharRanges, Cut, Having, Kinds};
use crate::{TextRuns, TokenId, TokenTable};

/// The memory that the indexes of one vocabulary share: a handle, cheap to clone. See
/// [`Vocabulary::shared_rows`](crate::Vocabulary::shared_rows).
///
/// Rows, and parts of rows, by keys that mean the same in every automaton: those of all places
/// of all schemas that look alike to tokens. They have a bound in bytes
/// ([`Vocabulary::with_shared_rows`](crate::Vocabulary::with_shared_rows); by default [`SharedRows::MAX_BYTES`]), at which
/// they are begun anew. Beside them stand the vocabulary cut by up to 64 classes of
/// characters, 4 to 20 bytes a token each, and up to 4,224 lists of tokens.
#[derive(Clone, Debug)]
pub struct SharedRows(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    cache: Cache,
    cuts: Mutex<HashMap<CharRanges, CutSlot>>,
    /// The tokens that have something in them, where that was asked for.
    having: Mutex<foldhash::HashMap<Having, Arc<[u32]>>>,
    /// The bits of the tokens that have characters of some kinds alone, so many at most, where
    /// that was asked for.
    within: Mutex<Within>,
    /// The same of the tokens below nodes, by the characters behind these.
    within_below: Mutex<WithinBelow>,
}

/// The contents of [`SharedRows`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedStats {
    /// Rows.
    pub rows: usize,
    /// Bytes of rows, of parts of rows, and of what they are found by.
    pub row_bytes: usize,
    /// Classes that the vocabulary is cut by.
    pub cuts: usize,
    /// Bytes of those cuts.
    pub cut_bytes: usize,
    /// Bytes of lists of tokens.
    pub list_bytes: usize,
}

impl SharedStats {
    /// All bytes.
    pub fn bytes(&self) -> usize {
        self.row_bytes + self.cut_bytes + self.list_bytes
    }
}

/// Bits of tokens by the kinds of their characters and how many they have at most.
type Within = foldhash::HashMap<(Kinds, usize), Arc<[u32]>>;

/// Bits of tokens by the kinds of their characters behind some nodes.
type WithinBelow = foldhash::HashMap<(Kinds, Box<[u32]>), Arc<[u32]>>;

/// The number of things for which it is remembered which tokens have them, because each takes a
/// list.
const MAX_HAVING: usize = 4_096;

/// The number of sets of kinds and lengths for which it is remembered which tokens are within them,
/// because each takes a mask.
const MAX_WITHIN: usize = 64;

/// The most classes of characters that a vocabulary is cut by, because each cut is as large as a
/// part of the vocabulary.
const MAX_CUTS: usize = 64;

/// A cut takes as long as visits to about so many nodes for each token; it is
/// made once as much has been spent on walks without it.
const NODES_TO_PAY: u64 = 32;

/// A vocabulary cut by one class, or not yet.
#[derive(Clone, Debug, Default)]
struct CutSlot {
    /// Nodes visited by walks that the cut would have spared.
    spent: u64,
    /// True if another thread was told to make it.
    ordered: bool,
    cut: Arc<OnceLock<Arc<Cut>>>,
}

/// Who makes a cut once it pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cutter {
    /// The caller, who needs it for many rows.
    Caller,
    /// Another thread, if there is one: a single mask must not wait for it.
    Other,
}

impl Default for SharedRows {
    fn default() -> SharedRows {
        SharedRows::new(SharedRows::MAX_BYTES)
    }
}

impl SharedRows {
    /// The bytes of rows that are remembered by default: 48 MiB.
    pub const MAX_BYTES: usize = 48 << 20;

    pub(crate) fn new(max_bytes: usize) -> SharedRows {
        SharedRows(Arc::new(Shared {
            cache: Cache::new(max_bytes),
            cuts: Mutex::default(),
            having: Mutex::default(),
            within: Mutex::default(),
            within_below: Mutex::default(),
        }))
    }

    /// Returns their contents at the moment. O(lists).
    ///
    /// ```
    /// use fsm_index::{TokenId, Vocabulary};
    ///
    /// # let tokens = ["a"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(1)])?;
    /// let rows = vocabulary.shared_rows();
    /// rows.clear();
    /// assert_eq!(rows.stats().bytes(), 0);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn stats(&self) -> SharedStats {
        let newest = self.newest();
        let cuts = whole(&self.0.cuts);
        let made = || cuts.values().filter_map(|slot| slot.cut.get());
        let having = whole(&self.0.having);
        let lists = having.values().map(|tokens| tokens.len() * 4 + 64);
        let within = whole(&self.0.within);
        let below = whole(&self.0.within_below);
        let nodes = below.keys().map(|(_, nodes)| nodes.len() * 4);
        let bits = within.values().chain(below.values());
        let bits = bits.map(|bits| bits.len() * 4 + 64).chain(nodes);
        SharedStats {
            rows: newest.row_count(),
            row_bytes: newest.memory(),
            cuts: made().count(),
            cut_bytes: made().map(|cut| cut.memory()).sum(),
            list_bytes: lists.chain(bits).sum(),
        }
    }

    /// Forgets all of it. The rows that guides lend stay until they go on.
    pub fn clear(&self) {
        self.0.cache.clear();
        whole(&self.0.cuts).clear();
        whole(&self.0.having).clear();
        whole(&self.0.within).clear();
        whole(&self.0.within_below).clear();
    }

    /// Returns the memory as it is now.
    pub(crate) fn newest(&self) -> Arc<Generation> {
        self.0.cache.newest()
    }

    /// The tokens that have something in them, looked for the first time that it is asked for.
    pub(crate) fn having(&self, vocabulary: &TokenTable, what: Having) -> Arc<[u32]> {
        let mut known = whole(&self.0.having);
        if let Some(tokens) = known.get(&what) {
            return tokens.clone();
        }
        let tokens: Arc<[u32]> = vocabulary.find_having(&what).into();
        if known.len() >= MAX_HAVING {
            known.clear();
        }
        known.insert(what, tokens.clone());
        tokens
    }

    /// The vocabulary cut by a class of characters, if it is, or should now be.
    pub(crate) fn cut(
        &self,
        vocabulary: &TokenTable,
        class: &[(u32, u32)],
        policy: TextRuns,
        cutter: Cutter,
    ) -> Option<Arc<Cut>> {
        if policy == TextRuns::Never {
            return None;
        }
        let class = &*vocabulary.class_of_tokens(class);
        let slot = {
            let mut cuts = whole(&self.0.cuts);
            if !cuts.contains_key(class) {
                if cuts.len() >= MAX_CUTS {
                    return None;
                }
                cuts.insert(class.into(), CutSlot::default());
            }
            let slot = cuts.get_mut(class)?;
            let pays = slot.spent >= vocabulary.order().len() as u64 * NODES_TO_PAY;
            match policy {
                TextRuns::Auto if slot.cut.get().is_some() => {}
                TextRuns::Auto if !pays => return None,
                TextRuns::Auto if cutter == Cutter::Other && cfg!(feature = "rayon") => {
                    if !std::mem::replace(&mut slot.ordered, true) {
                        cut_behind(vocabulary.clone(), class.into(), slot.cut.clone());
                    }
                    return None;
                }
                TextRuns::Auto | TextRuns::Always | TextRuns::Never => {}
            }
            slot.cut.clone()
        };
        let cut = slot.get_or_init(|| Arc::new(make_cut(vocabulary, class)));
        Some(cut.clone())
    }

    /// Notes that walks for a class, without a cut, have visited so many
    /// nodes.
    pub(crate) fn spend(&self, vocabulary: &TokenTable, class: &[(u32, u32)], nodes: u64) {
        let class = &*vocabulary.class_of_tokens(class);
        if let Some(slot) = whole(&self.0.cuts).get_mut(class) {
            slot.spent = slot.spent.saturating_add(nodes);
        }
    }

    /// The bits of the tokens that have characters of some kinds and no others, so many at most,
    /// those with the bytes of another one aside. O(such tokens) where that was not asked for
    /// lately.
    pub(crate) fn within(&self, vocabulary: &TokenTable, kinds: Kinds, chars: usize) -> Arc<[u32]> {
        let trie = vocabulary.trie();
        let chars = chars.min(trie.max_depth());
        if let Some(known) = whole(&self.0.within).get(&(kinds, chars)) {
            return known.clone();
        }
        let words = vocabulary.width().div_ceil(32);
        let bits: Arc<[u32]> = trie.by_kinds().within(kinds, chars, words).into();
        let mut within = whole(&self.0.within);
        if within.len() >= MAX_WITHIN {
            within.clear();
        }
        within.insert((kinds, chars), bits.clone());
        bits
    }

    /// The bits of the tokens that [`Trie::tokens_within`](crate::tokens::Trie) finds for
    /// some kinds and nodes. O(such tokens) where that was not asked for lately.
    pub(crate) fn within_below(
        &self,
        vocabulary: &TokenTable,
        kinds: Kinds,
        nodes: Box<[u32]>,
    ) -> Arc<[u32]> {
        let key = (kinds, nodes);
        if let Some(known) = whole(&self.0.within_below).get(&key) {
            return known.clone();
        }
        let mut bits = vec![0; vocabulary.width().div_ceil(32)];
        for &node in &key.1 {
            let trie = vocabulary.trie();
            trie.tokens_within(node, kinds, |token| bits.allow(token));
        }
        let bits: Arc<[u32]> = bits.into();
        let mut within = whole(&self.0.within_below);
        if within.len() >= MAX_WITHIN {
            within.clear();
        }
        within.insert(key, bits.clone());
        bits
    }
}

/// A panic elsewhere leaves what is remembered whole: it changes by one insert.
fn whole<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn make_cut(vocabulary: &TokenTable, class: &[(u32, u32)]) -> Cut {
    let tokens = vocabulary.order().iter();
    let tokens = tokens.map(|&token| (TokenId::new(token), vocabulary.raw(token)));
    Cut::new(class, vocabulary.trie(), tokens, vocabulary.width())
}

/// Lets another thread make a cut.
fn cut_behind(vocabulary: TokenTable, class: CharRanges, cut: Arc<OnceLock<Arc<Cut>>>) {
    let make = move || {
        cut.get_or_init(|| Arc::new(make_cut(&vocabulary, &class)));
    };
    #[cfg(feature = "rayon")]
    rayon::spawn(make);
    #[cfg(not(feature = "rayon"))]
    make();
}
