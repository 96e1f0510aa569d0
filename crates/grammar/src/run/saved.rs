//! Configurations that a guide keeps: they stand alone, and share stacks.
//!
//! For example, behind `((` a guide has a stack of two open brackets, which shares all but its
//! topmost node with what the guide had behind `(`.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use schema_regex::automaton::State as JsonState;

/// A node of a stack that outlives the scratch in which it was made.
#[derive(Debug)]
pub(super) struct NodeRef {
    pub(super) state: u32,
    pub(super) parents: Box<[Arc<NodeRef>]>,
}

impl Drop for NodeRef {
    /// One after another: a stack can be too deep for calls in calls.
    fn drop(&mut self) {
        let mut open = std::mem::take(&mut self.parents).into_vec();
        while let Some(node) = open.pop() {
            if let Ok(mut node) = Arc::try_unwrap(node) {
                open.append(&mut std::mem::take(&mut node.parents).into_vec());
            }
        }
    }
}

/// The place of a thread.
#[derive(Debug)]
pub(super) enum SavedPlace {
    Lex(Box<[u32]>),
    Json(u32, JsonState),
}

/// A configuration.
#[derive(Debug)]
pub(crate) struct Saved {
    /// Each with the number of its front.
    pub(super) threads: Box<[(SavedPlace, u32)]>,
    pub(super) fronts: Box<[Box<[Arc<NodeRef>]>]>,
    pub(super) fresh: Option<u32>,
    pub(super) accepting: bool,
    pub(super) specials: Box<[u32]>,
}

impl Saved {
    /// Tells whether the text may end there.
    pub(crate) fn is_accepting(&self) -> bool {
        self.accepting
    }

    /// Returns the special tokens that may come, ascending.
    pub(crate) fn specials(&self) -> &[u32] {
        &self.specials
    }

    /// Returns the values of JSON in which it stands, each with its terminal.
    pub(crate) fn json(&self) -> impl Iterator<Item = (u32, &JsonState)> {
        self.threads.iter().filter_map(|thread| match &thread.0 {
            SavedPlace::Json(terminal, state) => Some((*terminal, state)),
            SavedPlace::Lex(_) => None,
        })
    }

    /// Tells whether the text can go on in one way alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.threads.len() == 1
    }
}

/// The saved configurations that one scratch knows.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Nodes by address: each is kept alive below, so that its address stays taken.
    node_of: HashMap<usize, u32, FixedState>,
    nodes: HashMap<u32, Arc<NodeRef>, FixedState>,
    /// Nodes that are kept alive beside others of the same content.
    also: Vec<Arc<NodeRef>>,
    /// Configurations by address.
    config_of: HashMap<usize, u32, FixedState>,
    bytes: usize,
}

impl Kept {
    /// Returns the number of a saved configuration, if it has one.
    pub(super) fn config(&self, saved: &Arc<Saved>) -> Option<u32> {
        self.config_of.get(&(Arc::as_ptr(saved) as usize)).copied()
    }

    /// Remembers a saved configuration, which whoever calls keeps alive.
    pub(super) fn add_config(&mut self, config: u32, saved: &Arc<Saved>) {
        self.bytes += 200;
        self.config_of.insert(Arc::as_ptr(saved) as usize, config);
    }

    /// Returns the number of a saved node, if it has one.
    pub(super) fn node(&self, node: &Arc<NodeRef>) -> Option<u32> {
        self.node_of.get(&(Arc::as_ptr(node) as usize)).copied()
    }

    /// Returns the saved node of a number.
    pub(super) fn saved_node(&self, node: u32) -> Option<&Arc<NodeRef>> {
        self.nodes.get(&node)
    }

    pub(super) fn add_node(&mut self, id: u32, node: &Arc<NodeRef>) {
        // Every address that is looked up later has to stay taken.
        self.bytes += 120;
        self.node_of.insert(Arc::as_ptr(node) as usize, id);
        let kept = self.nodes.entry(id).or_insert_with(|| node.clone());
        if !Arc::ptr_eq(kept, node) {
            self.also.push(node.clone());
        }
    }

    /// Returns the bytes that all of this takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
