//! The compiler's memory: conjunctions of locations, what they say of members
//! and items, and the nodes that schemas imply without writing them.

use crate::automaton::machine::node::ConjId;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use crate::automaton::compile::alternative::{ALL_KINDS, KINDS, Kind, Shape};
use crate::automaton::compile::declared::MembersAt;
use crate::automaton::compile::expand::bits;
use crate::automaton::compile::leaves::LeafCache;
use crate::budget::{Budget, STEP};
use crate::error::{Error, ErrorKind};
use crate::hash::{FxMap, FxSet};
use crate::ir::named::Named;
use crate::ir::{ALWAYS, Atom, AtomKind, Body, Items, Members, NEVER, Name, Node, NodeId, Schema};
use crate::normal::shape::Signed;
use crate::options::Options;
use crate::validate;

/// Any value.
pub(crate) const ANY: ConjId = ConjId(0);
/// No value.
pub(crate) const NONE: ConjId = ConjId(1);

/// The alternatives of a conjunction for one kind.
pub(crate) type Shapes = Rc<[Shape]>;

/// Conjunctions by number.
#[derive(Debug, Default)]
pub(crate) struct Conjs {
    /// The parts of all, one conjunction after the other.
    parts: Vec<Signed>,
    /// Where the parts of each end.
    ends: Vec<u32>,
}

impl Conjs {
    /// The parts of a conjunction, in order.
    pub(crate) fn of(&self, id: ConjId) -> &[Signed] {
        let at = id.0 as usize;
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.parts[from as usize..self.ends[at] as usize]
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    fn with_room(count: usize) -> Conjs {
        Conjs {
            parts: Vec::with_capacity(count),
            ends: Vec::with_capacity(count),
        }
    }

    fn add(&mut self, list: &[Signed]) -> ConjId {
        self.parts.extend_from_slice(list);
        self.ends.push(self.parts.len() as u32);
        ConjId(self.ends.len() as u32 - 1)
    }
}

/// What was found of a conjunction: by kind the number of its alternatives.
type Found = [u32; KINDS];

/// What is found of a conjunction that nobody has asked about.
const NOT_ASKED: Found = [UNKNOWN; KINDS];

/// The number of alternatives that were not asked for yet.
const UNKNOWN: u32 = u32::MAX;
/// The number of no alternatives.
const NO_SHAPES: u32 = 0;

/// How much room lists of what is asked have from the beginning: as much as an ordinary
/// schema needs, so that they do not grow step by step.
pub(crate) fn room_for(schema: &Schema) -> usize {
    const MOST: usize = 64;
    const BESIDE: usize = KINDS + 2;
    (schema.nodes.len() + BESIDE).min(MOST)
}

pub(crate) struct Compiler {
    pub(crate) schema: Schema,
    pub(crate) options: Options,
    pub(crate) conjs: Conjs,
    /// Those of two parts and more.
    conj_ids: FxMap<Box<[Signed]>, ConjId>,
    /// Those of one part, by its node: negative and positive.
    singles: Vec<[Option<ConjId>; 2]>,
    candidates: FxMap<ConjId, Option<Arc<Vec<Value>>>>,
    containers: HashMap<String, NodeId>,
    unions: FxMap<(NodeId, Vec<NodeId>), NodeId>,
    evaluates: FxMap<NodeId, bool>,
    pub(crate) excluding: FxMap<(NodeId, NodeId, Kind), bool>,
    /// By conjunction.
    found: Vec<Found>,
    shapes: Vec<Shapes>,
    pub(crate) nothing: Shapes,
    /// The numbers of the shapes that say nothing, by kind, and that of integers.
    plain_shapes: [u32; KINDS + 1],
    pub(crate) leaves: LeafCache,
    /// Whether the complement of a narrowed format is that of what is enforced,
    /// not refused.
    pub(crate) as_enforced: bool,
    pub(crate) budget: Budget,
    /// Room for the parts of a conjunction, and for those of them that say something.
    pub(crate) parts: Vec<Signed>,
    list: Vec<Signed>,
}

impl Compiler {
    pub(crate) fn new(schema: Schema, options: Options) -> Compiler {
        let nothing: Shapes = Rc::new([]);
        let room = room_for(&schema);
        let mut shapes = Vec::with_capacity(room);
        shapes.push(Rc::clone(&nothing));
        let budget = Budget::new(options.max_steps);
        let mut compiler = Compiler {
            schema,
            options,
            conjs: Conjs::with_room(room),
            conj_ids: FxMap::default(),
            singles: Vec::new(),
            candidates: FxMap::default(),
            containers: HashMap::new(),
            unions: FxMap::default(),
            evaluates: FxMap::default(),
            excluding: FxMap::default(),
            found: Vec::with_capacity(room),
            shapes,
            nothing,
            plain_shapes: [UNKNOWN; KINDS + 1],
            leaves: LeafCache::default(),
            as_enforced: false,
            budget,
            parts: Vec::new(),
            list: Vec::new(),
        };
        // `ANY` and `NONE`.
        compiler.conjs.add(&[]);
        compiler.conjs.add(&[Signed::yes(NEVER)]);
        compiler
    }

    /// The parts of a conjunction, in order.
    pub(crate) fn conj(&self, id: ConjId) -> &[Signed] {
        self.conjs.of(id)
    }

    /// The conjunction of some parts: each once, without those that say
    /// nothing.
    pub(crate) fn intern(&mut self, parts: &[Signed]) -> ConjId {
        if let [one] = parts {
            return self.intern_one(*one);
        }
        let mut list = std::mem::take(&mut self.list);
        list.clear();
        let id = self.intern_by(parts, &mut list);
        self.list = list;
        id
    }

    /// The same for no part, or several, with room for a list.
    fn intern_by(&mut self, parts: &[Signed], list: &mut Vec<Signed>) -> ConjId {
        for s in parts {
            match self.says(*s) {
                Some(true) => {}
                Some(false) => return NONE,
                None => list.push(*s),
            }
        }
        list.sort_unstable();
        list.dedup();
        match list[..] {
            [] => return ANY,
            [one] => return self.intern_one(one),
            _ if list.windows(2).any(|w| w[0].node == w[1].node) => return NONE,
            _ => {}
        }
        if let Some(id) = self.conj_ids.get(list.as_slice()) {
            return *id;
        }
        let id = self.conjs.add(list);
        self.conj_ids.insert(list.as_slice().into(), id);
        id
    }

    fn intern_one(&mut self, part: Signed) -> ConjId {
        match self.says(part) {
            Some(true) => return ANY,
            Some(false) => return NONE,
            None => {}
        }
        let at = part.node.0 as usize;
        if at >= self.singles.len() {
            self.singles.resize(self.schema.nodes.len(), [None; 2]);
        }
        let sign = usize::from(part.positive);
        if let Some(known) = self.singles[at][sign] {
            return known;
        }
        let id = self.conjs.add(&[part]);
        self.singles[at][sign] = Some(id);
        id
    }

    /// What a part says, where that is all or nothing.
    pub(crate) fn says(&self, part: Signed) -> Option<bool> {
        match &self.schema.node(part.node).body {
            Body::Always => Some(part.positive),
            Body::Never => Some(!part.positive),
            Body::Atoms(_) => None,
        }
    }

    pub(crate) fn pointer(&self, node: NodeId) -> String {
        self.schema.node(node).pointer.to_string()
    }

    /// Where an error about a conjunction points.
    pub(crate) fn pointer_of(&self, conj: ConjId) -> String {
        let parts = self.conj(conj).first();
        parts.map_or(String::new(), |s| self.pointer(s.node))
    }

    pub(crate) fn spend(&self, at: NodeId) -> Result<(), Error> {
        self.spend_many(at, 1)
    }

    pub(crate) fn spend_many(&self, at: NodeId, steps: usize) -> Result<(), Error> {
        self.work(at, steps.saturating_mul(STEP))
    }

    /// Charges units of work, of which [`STEP`] are a step.
    pub(crate) fn work(&self, at: NodeId, units: usize) -> Result<(), Error> {
        match self.budget.take(units) {
            true => Ok(()),
            false => Err(self.too_many_steps(at)),
        }
    }

    pub(crate) fn too_many_steps(&self, at: NodeId) -> Error {
        let steps = self.options.max_steps;
        self.too_much(
            ErrorKind::TooManySteps,
            at,
            &format!(
                "takes more than {steps} steps to compile; simplify it or raise Options::max_steps"
            ),
        )
    }

    pub(crate) fn too_many_alternatives(&self, at: NodeId) -> Error {
        let most = self.options.max_alternatives;
        self.too_much(
            ErrorKind::TooManyAlternatives,
            at,
            &format!(
                "has more than {most} alternatives; simplify it or raise Options::max_alternatives"
            ),
        )
    }

    /// The same of a keyword that is known.
    pub(crate) fn too_many_steps_of(&self, at: NodeId, keyword: &str) -> Error {
        let steps = self.options.max_steps;
        Error::at(
            ErrorKind::TooManySteps,
            self.pointer(at),
            keyword,
            format!(
                "`{keyword}`: it takes more than {steps} steps to compile; simplify it or raise Options::max_steps"
            ),
        )
    }

    fn too_much(&self, kind: ErrorKind, at: NodeId, what: &str) -> Error {
        match self.schema.widest(at) {
            (at, Some(keyword)) => Error::at(
                kind,
                self.pointer(at),
                keyword,
                format!("`{keyword}`: the location {what}"),
            ),
            (at, None) => Error::new(kind, self.pointer(at), format!("the location {what}")),
        }
    }

    pub(crate) fn members(&self, node: NodeId, atom: u16) -> &Members {
        if let Body::Atoms(atoms) = &self.schema.node(node).body
            && let Some(Atom {
                kind: AtomKind::Members(members),
                ..
            }) = atoms.get(atom as usize)
        {
            return members;
        }
        unreachable!("a rule names the members of a location")
    }

    /// The alternatives of a conjunction for one kind, computed once.
    pub(crate) fn shapes_of(&mut self, conj: ConjId, kind: Kind) -> Result<Shapes, Error> {
        let number = self.number_of_shapes(conj, kind)?;
        Ok(Rc::clone(&self.shapes[number as usize]))
    }

    /// Whether there are alternatives of a conjunction for one kind.
    pub(crate) fn has_shapes(&mut self, conj: ConjId, kind: Kind) -> Result<bool, Error> {
        Ok(self.number_of_shapes(conj, kind)? != NO_SHAPES)
    }

    fn number_of_shapes(&mut self, conj: ConjId, kind: Kind) -> Result<u32, Error> {
        let at = conj.0 as usize;
        if at >= self.found.len() {
            self.found.resize(self.conjs.count(), NOT_ASKED);
        }
        let known = self.found[at][kind as usize];
        if known != UNKNOWN {
            return Ok(known);
        }
        self.settle_plain(conj)?;
        let known = self.found[at][kind as usize];
        if known != UNKNOWN {
            return Ok(known);
        }
        let shapes = self.expand(conj, kind)?;
        let number = if shapes.is_empty() {
            NO_SHAPES
        } else {
            self.shapes.push(shapes);
            self.shapes.len() as u32 - 1
        };
        self.found[at][kind as usize] = number;
        Ok(number)
    }

    /// Notes the alternatives of a conjunction for the kinds of which they are plain.
    fn settle_plain(&mut self, conj: ConjId) -> Result<(), Error> {
        let plain = self.plain(conj);
        let mut numbers = self.found[conj.0 as usize];
        let mut settled = 0;
        for kind in ALL_KINDS {
            let number = &mut numbers[kind as usize];
            if *number != UNKNOWN {
                continue;
            }
            *number = if plain.ruled_out.has(bits(kind)) {
                NO_SHAPES
            } else if !plain.told.has(bits(kind)) {
                let slot = match kind {
                    Kind::Number if plain.integers => KINDS,
                    _ => kind as usize,
                };
                self.plain_shape(slot, kind)
            } else {
                continue;
            };
            settled += 1;
        }
        self.found[conj.0 as usize] = numbers;
        self.spend_many(self.first_of(conj), settled)
    }

    fn plain_shape(&mut self, slot: usize, kind: Kind) -> u32 {
        if self.plain_shapes[slot] == UNKNOWN {
            let mut shape = Shape::any(kind);
            if let (Shape::Number(n), KINDS) = (&mut shape, slot) {
                n.integer = Some(true);
            }
            self.plain_shapes[slot] = self.shapes.len() as u32;
            self.shapes.push(Rc::new([shape]));
        }
        self.plain_shapes[slot]
    }

    /// Whether any string satisfies a conjunction, as far as that is plain.
    pub(crate) fn is_any_string(&mut self, conj: ConjId) -> Result<bool, Error> {
        let number = self.number_of_shapes(conj, Kind::String)?;
        Ok(number != NO_SHAPES && number == self.plain_shapes[Kind::String as usize])
    }

    /// The alternatives of a conjunction for one kind, where they were asked for.
    pub(crate) fn known_shapes(&self, conj: ConjId, kind: Kind) -> Option<&Shapes> {
        let number = self.found.get(conj.0 as usize)?[kind as usize];
        self.shapes.get(number as usize)
    }

    /// The location that an error about a conjunction names.
    pub(crate) fn first_of(&self, conj: ConjId) -> NodeId {
        self.conj(conj).first().map_or(ALWAYS, |s| s.node)
    }

    /// The values of a conjunction, where an `enum` or `const` lists them.
    pub(crate) fn candidates(&mut self, conj: ConjId) -> Option<Arc<Vec<Value>>> {
        if conj == ANY {
            return None;
        }
        if let Some(known) = self.candidates.get(&conj) {
            return known.clone();
        }
        let parts = self.conj(conj);
        let mut listed: Option<Vec<Value>> = None;
        if conj == NONE {
            listed = Some(Vec::new());
        } else if !parts.iter().any(|s| s.positive && self.may_list(s.node)) {
            return None;
        }
        let positive = parts.iter().filter(|s| s.positive);
        let mut todo: Vec<NodeId> = positive.map(|s| s.node).collect();
        let mut seen: Vec<NodeId> = Vec::new();
        while let Some(node) = todo.pop() {
            if seen.contains(&node) || seen.len() > 64 || listed.is_some() {
                continue;
            }
            seen.push(node);
            if let Body::Atoms(atoms) = &self.schema.node(node).body {
                for atom in atoms {
                    match &atom.kind {
                        AtomKind::Values(values) => listed = Some(values.to_vec()),
                        AtomKind::Ref(n) => todo.push(*n),
                        AtomKind::AllOf(nodes) => todo.extend(nodes),
                        _ => {}
                    }
                }
            }
        }
        let mut kept = listed.is_some().then(Vec::new);
        if let (Some(values), Some(out)) = (listed, &mut kept) {
            for value in values {
                match self.holds(parts, &value) {
                    Ok(true) => out.push(value),
                    Ok(false) => {}
                    Err(_) => {
                        kept = None;
                        break;
                    }
                }
            }
        }
        let answer = kept.map(Arc::new);
        self.candidates.insert(conj, answer.clone());
        answer
    }

    /// Whether a value satisfies some locations together.
    pub(crate) fn holds(&self, parts: &[Signed], value: &Value) -> Result<bool, Error> {
        validate::conj_holds(&self.schema, &self.options, parts, value, &self.budget)
    }

    /// Whether a location lists values, or leads in place to one that may.
    fn may_list(&self, node: NodeId) -> bool {
        match &self.schema.node(node).body {
            Body::Atoms(atoms) => atoms.iter().any(|atom| {
                matches!(
                    atom.kind,
                    AtomKind::Values(_) | AtomKind::Ref(_) | AtomKind::AllOf(_)
                )
            }),
            _ => false,
        }
    }

    /// A location whose values are just this one.
    pub(crate) fn container(&mut self, value: &Value) -> NodeId {
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
        // What is over the budget is met when the location is.
        self.budget.take(6 * STEP);
        let atom = Atom {
            keyword: "const",
            kind: AtomKind::Values(vec![value.clone()].into()),
        };
        self.synthetic(ALWAYS, vec![atom])
    }

    fn synthetic(&mut self, like: NodeId, atoms: Vec<Atom>) -> NodeId {
        let pointer = self.schema.node(like).pointer.clone();
        self.schema.nodes.push(Node {
            pointer,
            body: Body::Atoms(atoms),
            notes: Vec::new(),
        });
        NodeId(self.schema.nodes.len() as u32 - 1)
    }

    /// A location that holds where one of `nodes` does.
    pub(crate) fn any_of_node(
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

    /// Whether a location evaluates members or items, itself or in place.
    pub(crate) fn evaluates(&mut self, node: NodeId) -> bool {
        if let Some(known) = self.evaluates.get(&node) {
            return *known;
        }
        let mut todo = vec![node];
        let mut seen = vec![node];
        let mut answer = false;
        while let Some(at) = todo.pop() {
            let Body::Atoms(atoms) = &self.schema.node(at).body else {
                continue;
            };
            for atom in atoms {
                match &atom.kind {
                    AtomKind::Members(_)
                    | AtomKind::Items(_)
                    | AtomKind::Contains { .. }
                    | AtomKind::UnevaluatedItems(_)
                    | AtomKind::UnevaluatedProperties(_) => answer = true,
                    // Of what is not so nothing is evaluated.
                    AtomKind::Not(_) => {}
                    other => in_place(other, |n| {
                        if !seen.contains(&n) {
                            seen.push(n);
                            todo.push(n);
                        }
                    }),
                }
            }
        }
        self.evaluates.insert(node, answer);
        answer
    }

    /// Refuses references that come back to themselves without descending
    /// into a value: they say nothing.
    pub(crate) fn refuse_cycles(&self) -> Result<(), Error> {
        let n = self.schema.nodes.len();
        let mut state = vec![0u8; n];
        for start in 0..n {
            if state[start] != 0 {
                continue;
            }
            let inner = self.inner(start);
            if inner.is_empty() {
                state[start] = 2;
                continue;
            }
            let mut path: Vec<(usize, Vec<NodeId>)> = vec![(start, inner)];
            state[start] = 1;
            while let Some((at, rest)) = path.last_mut() {
                let Some(next) = rest.pop() else {
                    state[*at] = 2;
                    path.pop();
                    continue;
                };
                match state[next.0 as usize] {
                    0 => {
                        state[next.0 as usize] = 1;
                        let inner = self.inner(next.0 as usize);
                        path.push((next.0 as usize, inner));
                    }
                    1 => {
                        return Err(Error::new(
                            ErrorKind::Cyclic,
                            self.pointer(next),
                            "the references come back here without descending into the value, so they say nothing",
                        ));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The locations that a location applies to the same value.
    fn inner(&self, node: usize) -> Vec<NodeId> {
        let mut inner = Vec::new();
        if let Body::Atoms(atoms) = &self.schema.nodes[node].body {
            for atom in atoms {
                in_place(&atom.kind, |n| inner.push(n));
            }
        }
        inner
    }

    /// The order that a conjunction gives to members: the `properties` that it leads
    /// to in place, keyword by keyword, and the names that other keywords have.
    pub(crate) fn walk(&self, conj: ConjId) -> (Vec<MembersAt>, Vec<Name>) {
        let mut order: Vec<MembersAt> = Vec::new();
        let mut later: Vec<Name> = Vec::new();
        let mut seen: FxSet<NodeId> = FxSet::default();
        // Locations, each from one of its keywords on.
        let parts = self.conj(conj).iter().rev();
        let mut todo: Vec<(NodeId, usize)> = parts.map(|s| (s.node, 0)).collect();
        let mut inner: Vec<(NodeId, usize)> = Vec::new();
        while let Some((node, from)) = todo.pop() {
            if from == 0 && !seen.insert(node) {
                continue;
            }
            let Body::Atoms(atoms) = &self.schema.node(node).body else {
                continue;
            };
            for (i, atom) in atoms.iter().enumerate().skip(from) {
                match &atom.kind {
                    AtomKind::Members(_) => order.push((node, i as u16)),
                    AtomKind::Required(names) => later.extend(names.iter().cloned()),
                    AtomKind::DependentRequired(lists) => {
                        for (name, needed) in lists {
                            later.push(name.clone());
                            later.extend(needed.iter().cloned());
                        }
                    }
                    AtomKind::DependentSchemas(list) => {
                        later.extend(list.iter().map(|(name, _)| name.clone()));
                        inner.extend(list.iter().map(|(_, n)| (*n, 0)));
                    }
                    other => in_place(other, |n| inner.push((n, 0))),
                }
                if !inner.is_empty() {
                    // The keywords behind this one come after what it applies.
                    todo.push((node, i + 1));
                    todo.extend(inner.drain(..).rev());
                    break;
                }
            }
        }
        (order, later)
    }
}

/// Tells each location that an atom applies to the same value.
fn in_place(kind: &AtomKind, mut tell: impl FnMut(NodeId)) {
    match kind {
        AtomKind::AllOf(nodes) | AtomKind::AnyOf(nodes) | AtomKind::OneOf(nodes) => {
            nodes.iter().copied().for_each(tell);
        }
        AtomKind::Not(node) | AtomKind::Ref(node) => tell(*node),
        AtomKind::If {
            condition,
            then,
            otherwise,
        } => [*condition, *then, *otherwise].into_iter().for_each(tell),
        AtomKind::DependentSchemas(list) => list.iter().for_each(|(_, n)| tell(*n)),
        _ => {}
    }
}
