//! The settings of building an index, and its progress. For example, [`Fill::Lazy`] computes a row
//! when a guide first asks for it.

use std::time::Duration;

use crate::TextRuns;
use crate::budget::Budget;

/// When the rows of an [`Index`](crate::Index) are computed.
///
/// ```
/// use fsm_index::{Config, Fill, Index, IndexConfig, TokenId, Vocabulary};
///
/// # let tokens = ["a", "b"];
/// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
/// let config = IndexConfig { fill: Fill::Lazy, ..IndexConfig::default() };
/// let index = Index::with_config("[ab]{5}", &vocabulary, &Config::default(), &config)?;
/// assert_eq!(index.stats().rows, 0);
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Fill {
    /// All of them when it is built, on every thread of the current rayon
    /// pool: for a constraint that many texts will use.
    #[default]
    Eager,
    /// Each when a guide first asks for it, once for all guides: for a
    /// constraint that may be used only once.
    Lazy,
}

/// The settings by which an [`Index`](crate::Index) is built, and its limits.
///
/// ```
/// use fsm_index::{Config, ErrorKind, Index, IndexConfig, TokenId, Vocabulary};
///
/// # let tokens = ["a", "b"];
/// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
/// let config = IndexConfig { max_row_bytes: 1, ..IndexConfig::default() };
/// let error = Index::with_config("a|b", &vocabulary, &Config::default(), &config).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::LimitExceeded);
/// assert!(error.to_string().contains("max_row_bytes"));
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct IndexConfig {
    /// When rows are computed. Default: eagerly.
    pub fill: Fill,
    /// True if rows may be put together from text runs. Default: where it pays.
    pub text_runs: TextRuns,
    /// Memory of all rows, in bytes. Default 1 GiB. Reaching it is an error
    /// for an eager index; a lazy one begins to remember anew, and what guides
    /// still lend stays until they go on.
    pub max_row_bytes: usize,
    /// Rows of at most so many tokens are kept packed, about 20 bytes or less
    /// instead of a bit for each token, and laid out when a guide asks: a
    /// nanosecond a token. Default: 2,000 for an eager index and 128 for a lazy
    /// one, which is asked more often than built.
    pub packed_tokens: Option<usize>,
    /// The budget of building. Default: any time.
    pub budget: Budget,
    /// The budget of one mask that is computed when a guide asks for it
    /// ([`Guide::mask`](crate::Guide::mask)). Default: 5 seconds, thousands of times what the
    /// slowest masks of real schemas take.
    pub mask_budget: Budget,
    /// Nodes of the vocabulary's trie that are visited for one state, at most, to find out whether
    /// fewer tokens lead to the end than spell the shortest completion in bytes, for guides with a
    /// [budget](crate::Guide::with_budget). Default: 0, because a budget of real vocabularies gains
    /// nothing by it: two ways with different numbers of tokens are rare there, and a single
    /// search takes longer than ten masks.
    pub search_nodes: u64,
}

impl Default for IndexConfig {
    fn default() -> Self {
        IndexConfig {
            fill: Fill::Eager,
            text_runs: TextRuns::Auto,
            max_row_bytes: 1 << 30,
            packed_tokens: None,
            budget: Budget::default(),
            mask_budget: Budget::time(Duration::from_secs(5)),
            search_nodes: 0,
        }
    }
}

/// The progress of building an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BuildProgress {
    /// States whose row is there.
    pub done: usize,
    /// All states that get a row.
    pub total: usize,
}

/// Who is told how far building an index has come.
pub(crate) type Watch<'w> = &'w (dyn Fn(BuildProgress) + Sync);

/// The contents of an [`Index`](crate::Index).
///
/// ```
/// use fsm_index::{Index, TokenId, Vocabulary};
///
/// # let tokens = ["a", "b"];
/// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
/// let stats = Index::new("(a|b){3}", &vocabulary)?.stats();
/// assert_eq!(stats.rows, 2); // either token, or the end
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IndexStats {
    /// Rows that are computed; equal ones counted once.
    pub rows: usize,
    /// Bytes of those rows, and of what they are found by.
    pub row_bytes: usize,
    /// Nodes of tries that were visited to compute rows when they were asked
    /// for: what a lazy index has cost so far, whatever the machine.
    pub nodes_visited: u64,
    /// The number of times that a row was computed when it was asked for. It may have visited no
    /// node: a row may be put together from parts that are known.
    pub rows_computed: u64,
    /// The number of times that a row was found with the vocabulary when it was asked for: rows
    /// that many automata have are computed once for all its indexes.
    pub rows_common: u64,
}
