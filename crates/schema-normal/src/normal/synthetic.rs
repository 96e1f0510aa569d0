//! Locations that a schema implies without writing them: those of one value, and of
//! several locations of which one must hold.
//!
//! For example, `{"const": [1]}` becomes a location of arrays, with one of `1` for the item.

use serde_json::Value;

use crate::budget::STEP;
use crate::ir::named::Named;
use crate::ir::{ALWAYS, Atom, AtomKind, Body, Items, Location, Members, NEVER, Name, NodeId};
use crate::normal::locations::Locations;

impl Locations {
    /// A location whose values are just this one.
    pub(super) fn container(&mut self, value: &Value) -> NodeId {
        let key = value.to_string();
        if let Some(id) = self.containers.get(&key) {
            return *id;
        }
        let atom = |keyword, kind| Atom { keyword, kind };
        let atoms = match value {
            Value::Array(items) => {
                let prefix: Vec<NodeId> = items.iter().map(|v| self.constant(v)).collect();
                let n = prefix.len() as u64;
                vec![
                    atom(
                        "const",
                        AtomKind::Items(Items {
                            prefix,
                            rest: NEVER,
                            rest_said: true,
                        }),
                    ),
                    atom("const", AtomKind::MinItems(n)),
                    atom("const", AtomKind::MaxItems(n)),
                ]
            }
            Value::Object(map) => {
                let order: Vec<Name> = map.keys().map(|k| k.as_str().into()).collect();
                let nodes = map.values().map(|v| self.constant(v));
                let names = order.iter().cloned().zip(nodes).collect();
                vec![
                    atom(
                        "const",
                        AtomKind::Members(Members {
                            names: Named::new(names),
                            patterns: Vec::new(),
                            additional: NEVER,
                            additional_said: true,
                        }),
                    ),
                    atom("const", AtomKind::Required(order)),
                ]
            }
            other => vec![atom("const", AtomKind::Values(vec![other.clone()].into()))],
        };
        let id = self.synthetic(ALWAYS, atoms);
        self.containers.insert(key, id);
        id
    }

    fn constant(&mut self, value: &Value) -> NodeId {
        // Work over the budget is refused when the location is met.
        self.budget().take(6 * STEP);
        let atom = Atom {
            keyword: "const",
            kind: AtomKind::Values(vec![value.clone()].into()),
        };
        self.synthetic(ALWAYS, vec![atom])
    }

    /// Makes a location with these keywords, which errors take for another one.
    pub fn synthetic(&mut self, like: NodeId, atoms: Vec<Atom>) -> NodeId {
        let pointer = self.schema.node(like).pointer.clone();
        self.schema.nodes.push(Location {
            pointer,
            body: Body::Atoms(atoms),
            notes: Vec::new(),
        });
        NodeId(self.schema.nodes.len() as u32 - 1)
    }

    /// A location that holds where one of `nodes` does.
    pub(super) fn any_of_node(
        &mut self,
        at: NodeId,
        keyword: &'static str,
        nodes: Vec<NodeId>,
    ) -> NodeId {
        if let Some(id) = self.unions.get(&(at, nodes.clone())) {
            return *id;
        }
        let atom = Atom {
            keyword,
            kind: AtomKind::AnyOf(nodes.clone()),
        };
        let id = self.synthetic(at, vec![atom]);
        self.unions.insert((at, nodes), id);
        id
    }
}
