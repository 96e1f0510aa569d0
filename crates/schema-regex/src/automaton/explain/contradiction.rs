//! Why no value satisfies a schema: the smallest place of it that admits none, and the keywords that contradict each
//! other there.
//!
//! For example, where `v` is required and has `"pattern": "^[0-9]{10}$"` and `"maxLength": 5`, the place is
//! `/properties/v` and these two are the keywords. A place is found from the root on, as the one below that admits
//! nothing and without which the one above admits something; the keywords are those that stay when each that
//! changes nothing is left out (deletion-based extraction of a minimal unsatisfiable set; Dershowitz, Hanna and Nadel,
//! SAT 2006). Each question is a compilation.

use std::collections::HashSet;

use schema_normal::ir::signed::Signed;
use schema_normal::ir::{ALWAYS, Atom, AtomKind, Body, NodeId, ROOT, Schema};
use schema_normal::normal::normaliser::Normaliser;
use schema_normal::options::{Options, Target};
use schema_normal::{Error, ErrorKind};

use crate::automaton::compile::unbounded::Unbounded;

/// Most locations of schemas that are compiled for one message: a schema of thirty locations is asked about some
/// dozen times, and one of thousands a few times, because a message may take no longer than ordinary schemas do.
/// Once they are spent the message names the place that was reached.
const MAX_LOCATIONS: usize = 20_000;

/// The error about a schema that no value satisfies.
pub(super) fn contradiction(schema: &Schema, options: &Options) -> Error {
    let mut search = ContradictionSearch {
        options,
        left: MAX_LOCATIONS,
    };
    let mut schema = schema.clone();
    let mut at = ROOT;
    let mut seen = HashSet::from([ROOT]);
    loop {
        match search.below(&mut schema, at) {
            Some(next) if seen.insert(next) => at = next,
            Some(_) => {
                let what = "no value satisfies the schema: each value of this place holds another one of it, without end";
                return Error::new(ErrorKind::Unsatisfiable, pointer(&schema, at), what);
            }
            None => break,
        }
    }
    let keywords = search.keywords(&mut schema, at);
    let named: Vec<String> = keywords
        .iter()
        .map(|keyword| format!("`{keyword}`"))
        .collect();
    let what = match named.as_slice() {
        [] => "no value satisfies the schema".to_owned(),
        [one] => format!("no value satisfies the schema: {one} admits none here"),
        [several @ .., last] => format!(
            "no value satisfies the schema: {} and {last} contradict each other here",
            several.join(", ")
        ),
    };
    Error::new(ErrorKind::Unsatisfiable, pointer(&schema, at), what)
}

fn pointer(schema: &Schema, at: NodeId) -> String {
    schema.nodes[at.0 as usize].pointer.to_string()
}

/// Says whether a place is `false`, which nobody wonders at.
fn is_false(schema: &Schema, at: NodeId) -> bool {
    matches!(schema.nodes[at.0 as usize].body, Body::Never)
}

struct ContradictionSearch<'o> {
    options: &'o Options,
    /// Locations that may be compiled still.
    left: usize,
}

impl ContradictionSearch<'_> {
    /// Says whether no value satisfies a place; what cannot be compiled is taken for satisfiable.
    fn is_empty(&mut self, schema: &Schema, at: NodeId) -> bool {
        let Some(left) = self.left.checked_sub(schema.nodes.len()) else {
            self.left = 0;
            return false;
        };
        self.left = left;
        let normaliser = Normaliser::new(schema.clone(), self.options.clone(), Target::Automaton);
        let made = Unbounded::new(normaliser, &[Signed::yes(at)]);
        made.is_ok_and(|draft| draft.is_empty())
    }

    /// A place below that admits nothing and without which this one admits something.
    fn below(&mut self, schema: &mut Schema, at: NodeId) -> Option<NodeId> {
        let Body::Atoms(atoms) = &schema.nodes[at.0 as usize].body else {
            return None;
        };
        let mut children = Vec::new();
        for atom in atoms {
            atom.kind.children(|child| {
                if child != ALWAYS && !is_false(schema, child) && !children.contains(&child) {
                    children.push(child);
                }
            });
        }
        for child in children {
            if child == at {
                return Some(at);
            }
            if !self.is_empty(schema, child) {
                continue;
            }
            let slot = child.0 as usize;
            let body = std::mem::replace(&mut schema.nodes[slot].body, Body::Always);
            let needs = !self.is_empty(schema, at);
            schema.nodes[slot].body = body;
            if needs && self.left > 0 {
                return Some(child);
            }
        }
        None
    }

    /// Keywords of a place that admit nothing together, each of which is needed for that.
    fn keywords(&mut self, schema: &mut Schema, at: NodeId) -> Vec<String> {
        let slot = at.0 as usize;
        let Body::Atoms(all) = schema.nodes[slot].body.clone() else {
            return Vec::new();
        };
        let mut kept = all;
        let mut at_work = 0;
        while at_work < kept.len() {
            let keyword = kept[at_work].keyword;
            let fewer: Vec<Atom> = kept
                .iter()
                .filter(|atom| atom.keyword != keyword)
                .cloned()
                .collect();
            schema.nodes[slot].body = Body::Atoms(fewer.clone());
            match self.is_empty(schema, at) {
                true => kept = fewer,
                false => {
                    let same = kept[at_work..].iter();
                    at_work += same.take_while(|atom| atom.keyword == keyword).count();
                }
            }
        }
        let mut names: Vec<String> = Vec::new();
        if self.left == 0 {
            // Which of them matter is not known.
            kept.clear();
        }
        for atom in &kept {
            let mut name = atom.keyword.to_owned();
            match &atom.kind {
                AtomKind::Members(members) if is_false(schema, members.additional) => {
                    let closes = "additionalProperties";
                    let adds = members.names.list().is_empty() || name == closes;
                    name = if adds {
                        closes.to_owned()
                    } else {
                        format!("{name}`, `{closes}")
                    };
                }
                _ => {}
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        schema.nodes[slot].body = Body::Atoms(kept);
        names
    }
}
