//! Fingerprints of the demands on values, as nodes keep them.
//!
//! For example, two members of type `integer` have one fingerprint.

use std::sync::OnceLock;

use fsm_index::ByteSet;

/// The fingerprints of a node.
#[derive(Debug, Default)]
pub(crate) struct Prints {
    /// That of the demands on the value.
    pub(super) whole: OnceLock<Option<Box<Print>>>,
    /// The same as far as tokens reach into a value that they begin.
    pub(super) near: OnceLock<Option<Box<ValueSummary>>>,
    /// The same without the demands on the values inside.
    pub(super) own: OnceLock<Option<Box<OwnPrint>>>,
    /// The same of what tells further names apart.
    pub(super) names: OnceLock<Option<Box<Print>>>,
}

/// A fingerprint of the demands on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Print {
    pub(crate) words: [u32; 4],
    /// The tallest of the flattest values of its nodes.
    pub(crate) tallest: u32,
}

/// The machines of one node, without those of the nodes below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnPrint(pub(super) [u64; 2]);

/// A fingerprint of the demands on a value as far as tokens reach, and how far that is.
#[derive(Debug)]
pub(crate) struct ValueSummary {
    pub(super) print: Print,
    /// With what the names in its objects begin: where a token goes on behind the
    /// quotation mark with one of these, it reaches further.
    pub(super) heads: ByteSet,
    /// A token with more bytes from a quotation mark on reaches further, too.
    pub(super) far: usize,
}
