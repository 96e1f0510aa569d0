//! From the configurations of a scratch to those of a guide, and back.
//!
//! For example, a guide that goes back by a token hands a scratch the configuration that it had
//! before, which the scratch knows by its address.

use std::sync::Arc;

use crate::compile::cfg::Matter;
use crate::machine::Machine;
use crate::run::caches::Caches;
use crate::run::configs::Thread;
use crate::run::saved::{NodeRef, Saved, SavedPlace};
use crate::run::step::Steps;

impl Caches {
    /// Ends a walk, and returns the number of a saved configuration if it is known.
    pub(crate) fn known(&mut self, saved: &Arc<Saved>) -> Option<u32> {
        self.json.end_walk();
        self.kept.config(saved)
    }

    /// Returns the number of a saved configuration that is not known.
    pub(crate) fn load(&mut self, saved: &Arc<Saved>, machine: &Machine) -> u32 {
        let mut fronts = Vec::new();
        for front in &saved.fronts {
            let mut nodes: Vec<u32> = front.iter().map(|node| self.load_node(node)).collect();
            nodes.sort_unstable();
            fronts.push(self.stacks.front(&nodes, &mut self.lexes, machine));
        }
        let threads = saved.threads.iter().map(|(place, front)| {
            let front = fronts[*front as usize];
            let place = match place {
                SavedPlace::Lex(members) => {
                    let origins = self.lexes[self.stacks.next(front).start].origins;
                    self.lexes.intern(members.to_vec(), origins, machine)
                }
                SavedPlace::Json(terminal, state) => self.json.place(*terminal, state.clone()),
            };
            Thread { place, front }
        });
        let threads = threads.collect();
        let fresh = saved.fresh.map_or(0, |front| fronts[front as usize]);
        let id = Steps::new(machine, self).intern(threads, fresh);
        self.keep(id, saved);
        id
    }

    fn keep(&mut self, id: u32, saved: &Arc<Saved>) {
        if self.configs[id].saved.is_none() {
            self.kept.add_config(id, saved);
            self.configs[id].saved = Some(saved.clone());
        }
    }

    /// Returns the number of a saved node. Not by calls in calls, because a stack may be deep.
    fn load_node(&mut self, node: &Arc<NodeRef>) -> u32 {
        let mut open: Vec<&Arc<NodeRef>> = vec![node];
        let mut id = 0;
        while let Some(&at) = open.last() {
            let parents = at.parents.iter().map(|parent| self.kept.node(parent));
            let known = match self.kept.node(at) {
                Some(known) => Some(known),
                None => parents.collect::<Option<Vec<u32>>>().map(|mut parents| {
                    parents.sort_unstable();
                    let id = self.stacks.add_node(at.state, parents.into_iter());
                    self.kept.add_node(id, at);
                    id
                }),
            };
            match known {
                Some(known) => {
                    id = known;
                    open.pop();
                }
                None => {
                    let unknown = at.parents.iter();
                    open.extend(unknown.filter(|parent| self.kept.node(parent).is_none()));
                }
            }
        }
        id
    }

    /// Returns a node that outlives the scratch.
    fn save_node(&mut self, node: u32) -> Arc<NodeRef> {
        let mut open = vec![node];
        loop {
            let at = open[open.len() - 1];
            if let Some(known) = self.kept.saved_node(at) {
                let known = known.clone();
                open.pop();
                if open.is_empty() {
                    return known;
                }
                continue;
            }
            let parents = self.stacks.parents(at);
            let saved = parents
                .iter()
                .map(|&parent| self.kept.saved_node(parent).cloned());
            match saved.collect::<Option<Box<[_]>>>() {
                Some(parents) => {
                    let state = self.stacks.node(at).state;
                    self.kept
                        .add_node(at, &Arc::new(NodeRef { state, parents }));
                }
                None => {
                    let is_unknown = |node: &&u32| self.kept.saved_node(**node).is_none();
                    open.extend(parents.iter().filter(is_unknown));
                }
            }
        }
    }

    /// Returns a configuration that stands alone.
    pub(crate) fn save(&mut self, config: u32, machine: &Machine) -> Arc<Saved> {
        if let Some(saved) = &self.configs[config].saved {
            return saved.clone();
        }
        let standing = Steps::new(machine, self).standing_at_end(config);
        let next = self.stacks.next(standing);
        let accepting = next.accepts;
        let specials = next.specials.iter();
        let mut specials: Vec<u32> = specials
            .filter_map(
                |&terminal| match machine.cfg().terminals[terminal as usize].matter {
                    Matter::Special(special) => Some(special),
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
            let nodes = self.stacks.topmost(front).to_vec();
            nodes.iter().map(|&node| self.save_node(node)).collect()
        });
        let fronts = fronts.collect();
        let threads = own_threads.iter().map(|thread| {
            let place = match thread.is_in_json() {
                false => SavedPlace::Lex(self.lexes[thread.place].members.clone()),
                true => {
                    let (terminal, state) = self.json.kept(thread.place);
                    SavedPlace::Json(*terminal, state.clone())
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
