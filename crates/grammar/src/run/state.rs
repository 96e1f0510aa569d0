//! What a guide remembers: configurations that stand alone, and share stacks.

use std::sync::Arc;

use schema_regex::automaton::State as JsonState;

use crate::machine::Inner;
use crate::run::caches::{Caches, JSON, Thread};

/// A node of a stack that outlives the scratch in which it was made.
#[derive(Debug)]
pub(crate) struct NodeRef {
    state: u32,
    parents: Box<[Arc<NodeRef>]>,
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

/// Where a thread stands.
#[derive(Debug)]
enum Place {
    Lex(Box<[u32]>),
    Json(u32, JsonState),
}

/// A configuration.
#[derive(Debug)]
pub(crate) struct Saved {
    /// Each with the number of its front.
    threads: Box<[(Place, u32)]>,
    fronts: Box<[Box<[Arc<NodeRef>]>]>,
    fresh: Option<u32>,
    pub(crate) accepting: bool,
    /// The special tokens that may come, ascending.
    pub(crate) specials: Box<[u32]>,
}

impl Saved {
    /// The values of JSON in which it stands, each with its terminal.
    pub(crate) fn json(&self) -> impl Iterator<Item = (u32, &JsonState)> {
        self.threads.iter().filter_map(|thread| match &thread.0 {
            Place::Json(terminal, state) => Some((*terminal, state)),
            Place::Lex(_) => None,
        })
    }

    /// Tells whether the text can go on in one way alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.threads.len() == 1
    }
}

impl Caches {
    /// The number of a saved configuration.
    pub(crate) fn load(&mut self, saved: &Arc<Saved>, inner: &Inner) -> u32 {
        self.walk.end();
        let address = Arc::as_ptr(saved) as usize;
        if let Some(&id) = self.config_of.get(&address) {
            return id;
        }
        if self.bytes > inner.max_cache_bytes {
            self.reset();
        }
        let mut fronts = Vec::new();
        for front in &saved.fronts {
            let mut nodes: Vec<u32> = front.iter().map(|node| self.load_node(node)).collect();
            nodes.sort_unstable();
            fronts.push(self.front(&nodes, inner));
        }
        let mut threads = Vec::new();
        for (place, front) in &saved.threads {
            let place = match place {
                Place::Lex(members) => self.lex(members.to_vec(), inner),
                Place::Json(terminal, state) => self.json_place(*terminal, state.clone()),
            };
            threads.push(Thread {
                place,
                front: fronts[*front as usize],
            });
        }
        let fresh = saved.fresh.map_or(0, |front| fronts[front as usize]);
        let id = self.intern(threads, fresh, inner);
        self.keep(id, saved);
        id
    }

    fn keep(&mut self, id: u32, saved: &Arc<Saved>) {
        if self.configs[id].saved.is_none() {
            self.bytes += 200;
            self.config_of.insert(Arc::as_ptr(saved) as usize, id);
            self.configs[id].saved = Some(saved.clone());
        }
    }

    fn load_node(&mut self, node: &Arc<NodeRef>) -> u32 {
        let mut open: Vec<&Arc<NodeRef>> = vec![node];
        while let Some(&at) = open.last() {
            let address = Arc::as_ptr(at) as usize;
            if self.node_of.contains_key(&address) {
                open.pop();
                continue;
            }
            let parents = at.parents.iter();
            let known =
                parents.map(|parent| self.node_of.get(&(Arc::as_ptr(parent) as usize)).copied());
            match known.collect::<Option<Vec<u32>>>() {
                Some(mut parents) => {
                    parents.sort_unstable();
                    let id = self.nodes.intern(at.state, parents.into_iter());
                    self.keep_node(id, at);
                    open.pop();
                }
                None => {
                    let unknown = at.parents.iter();
                    open.extend(
                        unknown.filter(|p| !self.node_of.contains_key(&(Arc::as_ptr(p) as usize))),
                    );
                }
            }
        }
        self.node_of[&(Arc::as_ptr(node) as usize)]
    }

    fn keep_node(&mut self, id: u32, node: &Arc<NodeRef>) {
        // Every address that is looked up later has to stay taken.
        self.bytes += 120;
        self.node_of.insert(Arc::as_ptr(node) as usize, id);
        let kept = self.saved_nodes.entry(id).or_insert_with(|| node.clone());
        if !Arc::ptr_eq(kept, node) {
            self.also.push(node.clone());
        }
    }

    fn save_node(&mut self, node: u32) -> Arc<NodeRef> {
        let mut open = vec![node];
        while let Some(&at) = open.last() {
            if self.saved_nodes.contains_key(&at) {
                open.pop();
                continue;
            }
            let parents = self.nodes.parents(at).iter();
            let saved = parents.clone();
            let saved = saved.map(|parent| self.saved_nodes.get(parent).cloned());
            match saved.collect::<Option<Box<[_]>>>() {
                Some(parents) => {
                    let saved = Arc::new(NodeRef {
                        state: self.nodes.get(at).state,
                        parents,
                    });
                    self.keep_node(at, &saved);
                    open.pop();
                }
                None => {
                    open.extend(parents.filter(|parent| !self.saved_nodes.contains_key(parent)));
                }
            }
        }
        self.saved_nodes[&node].clone()
    }

    /// A configuration that stands alone.
    pub(crate) fn save(&mut self, config: u32, inner: &Inner) -> Arc<Saved> {
        if let Some(saved) = &self.configs[config].saved {
            return saved.clone();
        }
        let standing = self.standing_at_end(config, inner);
        let accepting = self.fronts.next(standing).accepts;
        let mut specials: Vec<u32> = self
            .fronts
            .next(standing)
            .specials
            .iter()
            .filter_map(
                |&terminal| match inner.cfg.terminals[terminal as usize].matter {
                    crate::compile::cfg::Matter::Special(special) => Some(special),
                    _ => None,
                },
            )
            .collect();
        specials.sort_unstable();
        specials.dedup();
        let own_fresh = self.configs[config].fresh;
        let own_threads = self.configs.threads(config).to_vec();
        let mut numbers: Vec<u32> = own_threads.iter().map(|thread| thread.front).collect();
        numbers.extend(Some(own_fresh).filter(|&fresh| fresh != 0));
        numbers.sort_unstable();
        numbers.dedup();
        let place_of = |front: u32| numbers.binary_search(&front).unwrap_or(0) as u32;
        let fronts = numbers.iter().map(|&front| {
            let nodes = self.fronts.nodes(front).to_vec();
            nodes.iter().map(|&node| self.save_node(node)).collect()
        });
        let fronts = fronts.collect();
        let threads = own_threads.iter().map(|thread| {
            let place = match thread.place & JSON {
                0 => Place::Lex(self.lexes[thread.place as usize].members.clone()),
                _ => {
                    let (terminal, state) = &self.json[(thread.place & !JSON) as usize];
                    Place::Json(*terminal, state.clone())
                }
            };
            (place, place_of(thread.front))
        });
        let saved = Arc::new(Saved {
            threads: threads.collect(),
            fronts,
            fresh: (own_fresh != 0).then(|| place_of(own_fresh)),
            accepting,
            specials: specials.into(),
        });
        self.keep(config, &saved);
        saved
    }
}
