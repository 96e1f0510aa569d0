//! The alternatives of each conjunction by kind, and the values that it lists. Work is charged
//! here, and errors about limits are made here.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::budget::{Budget, Limit, STEP};
use crate::error::{Error, ErrorKind};
use crate::ir::signed::Signed;
use crate::ir::{AtomKind, Kinds, Members, NEVER, NodeId, Schema};
use crate::language::formats::Format;
use crate::normal::alternative::{ALL_KINDS, At, KINDS, Kind, Shape};
use crate::normal::closing::Closing;
use crate::normal::conditions::Conditions;
use crate::normal::conjunctions::{ANY, ConjId, Conjs, NONE};
use crate::normal::search::plain::bits;
use crate::normal::tagged::Told;
use crate::options::{Options, Target};
use crate::validate;

/// The alternatives of a conjunction for one kind.
pub(crate) type Shapes = Rc<[Shape]>;

/// The number of alternatives of a conjunction, by kind.
type Found = [u32; KINDS];

/// The entry of a conjunction that nobody has asked about, because nothing is found before it is
/// asked.
const NOT_ASKED: Found = [UNKNOWN; KINDS];

/// The number of alternatives that were not asked for yet.
const UNKNOWN: u32 = u32::MAX;
/// The number of no alternatives.
const NO_SHAPES: u32 = 0;

/// Returns the room that lists have from the beginning: as much as an ordinary schema needs, so
/// that they do not grow step by step.
pub(crate) fn room_for(schema: &Schema) -> usize {
    const MOST: usize = 64;
    const BESIDE: usize = KINDS + 2;
    (schema.nodes.len() + BESIDE).min(MOST)
}

pub(crate) struct Normaliser {
    pub(crate) schema: Schema,
    pub(crate) options: Options,
    pub(crate) conjs: Conjs,
    /// The conjunctions of two parts and more.
    pub(super) conj_ids: FxHashMap<Box<[Signed]>, ConjId>,
    /// The conjunctions of one part, by its node: negative and positive.
    pub(super) singles: Vec<[Option<ConjId>; 2]>,
    candidates: FxHashMap<ConjId, Option<Arc<Vec<Value>>>>,
    pub(super) containers: HashMap<String, NodeId>,
    pub(super) unions: FxHashMap<(NodeId, Vec<NodeId>), NodeId>,
    pub(super) evaluates: FxHashMap<NodeId, bool>,
    pub(super) closing: Closing,
    pub(crate) conditions: Conditions,
    pub(super) told: FxHashMap<NodeId, Rc<Told>>,
    /// By the number of branches: locations with so large a choice, and their conjunctions.
    pub(super) choices: FxHashMap<usize, Vec<(NodeId, ConjId)>>,
    pub(crate) excluding: FxHashMap<(NodeId, NodeId, Kind), bool>,
    /// By conjunction.
    found: Vec<Found>,
    shapes: Vec<Shapes>,
    pub(crate) nothing: Shapes,
    /// The numbers of the shapes that say nothing, by kind, and that of integers.
    plain_shapes: [u32; KINDS + 1],
    /// The target that the schema is compiled to: targets narrow formats in different ways.
    target: Target,
    /// True if the complement of a narrowed format is that of what is enforced, not refused.
    pub(crate) as_enforced: bool,
    pub(crate) budget: Budget,
    /// Room for the parts of a conjunction, and for those of them that say something.
    pub(crate) parts: Vec<Signed>,
    pub(super) list: Vec<Signed>,
}

impl Normaliser {
    pub(crate) fn new(schema: Schema, options: Options, target: Target) -> Normaliser {
        let nothing: Shapes = Rc::new([]);
        let room = room_for(&schema);
        let mut shapes = Vec::with_capacity(room);
        shapes.push(Rc::clone(&nothing));
        let budget = Budget::new(options.max_steps);
        let mut normaliser = Normaliser {
            schema,
            options,
            conjs: Conjs::with_room(room),
            conj_ids: FxHashMap::default(),
            singles: Vec::new(),
            candidates: FxHashMap::default(),
            containers: HashMap::new(),
            unions: FxHashMap::default(),
            evaluates: FxHashMap::default(),
            closing: Closing::default(),
            conditions: Conditions::default(),
            told: FxHashMap::default(),
            choices: FxHashMap::default(),
            excluding: FxHashMap::default(),
            found: Vec::with_capacity(room),
            shapes,
            nothing,
            plain_shapes: [UNKNOWN; KINDS + 1],
            target,
            as_enforced: false,
            budget,
            parts: Vec::new(),
            list: Vec::new(),
        };
        // `ANY` and `NONE`.
        normaliser.conjs.add(&[]);
        normaliser.conjs.add(&[Signed::yes(NEVER)]);
        normaliser
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

    /// A keyword that cannot be enforced.
    pub(crate) fn refusal(&self, at: At, reason: &str) -> Error {
        Error::at(
            ErrorKind::Refused,
            &self.schema.node(at.0).pointer,
            at.1,
            format!("`{}`: {reason}", at.1),
        )
    }

    /// A keyword whose complement cannot be enforced.
    pub(crate) fn not_negated(&self, at: At, what: &str) -> Error {
        self.refusal(at, &format!("{what} {NOT_NEGATED}"))
    }

    /// The error about a conjunction: where a complement is wanted because the branches of
    /// a `oneOf` are not known to exclude each other, that one is at fault.
    pub(crate) fn blamed(&self, conj: ConjId, error: Error) -> Error {
        let is_complement = error.message().ends_with(NOT_NEGATED);
        let (true, Some(at)) = (is_complement, self.one_of_in_place(conj)) else {
            return error;
        };
        let reason = format!(
            "its branches are not known to exclude each other, and {} at #{} cannot be negated; use `anyOf`, or tell the branches apart by a required property with a `const`",
            error.keyword().unwrap_or("a keyword"),
            error.pointer()
        );
        self.refusal((at, "oneOf"), &reason)
    }

    /// How many states automata may have.
    pub(crate) fn limit(&self) -> Limit<'_> {
        Limit::new(self.options.max_automaton_states, &self.budget)
    }

    /// Returns the part of a format that the target leaves out.
    pub(crate) fn narrowed(&self, format: Format) -> Option<&'static str> {
        match self.target {
            Target::Expression => format.narrowed_in_regex(),
            Target::Automaton => format.narrowed(),
        }
    }

    pub(crate) fn target(&self) -> Target {
        self.target
    }

    pub(crate) fn members(&self, node: NodeId, atom: u16) -> &Members {
        match &self.schema.atoms(node)[atom as usize].kind {
            AtomKind::Members(members) => members,
            _ => unreachable!("a rule names the members of a location"),
        }
    }

    /// The alternatives of a conjunction for one kind, computed once.
    pub(crate) fn shapes_of(&mut self, conj: ConjId, kind: Kind) -> Result<Shapes, Error> {
        let number = self.number_of_shapes(conj, kind)?;
        Ok(Rc::clone(&self.shapes[number as usize]))
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
        if let Some(before) = self.said_before(conj, kind) {
            let number = self.number_of_shapes(before, kind)?;
            self.found[at][kind as usize] = number;
            return Ok(number);
        }
        let shapes = self
            .expand(conj, kind)
            .map_err(|error| self.blamed(conj, error))?;
        let shapes = match kind {
            Kind::Object if self.options.closes() => self.close(conj, shapes)?,
            _ => shapes,
        };
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

    /// The values of a conjunction, where an `enum` or `const` lists them, or a pattern of
    /// strings has few.
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
        let (mut texts, mut are_strings) = (None, false);
        while let Some(node) = todo.pop() {
            if seen.contains(&node) || seen.len() > 64 || listed.is_some() {
                continue;
            }
            seen.push(node);
            for atom in self.schema.atoms(node) {
                match &atom.kind {
                    AtomKind::Values(values) => listed = Some(values.to_vec()),
                    AtomKind::Pattern(id) if texts.is_none() => {
                        texts = self.schema.pattern(*id).texts();
                    }
                    AtomKind::Type { kinds, .. } => are_strings |= *kinds == Kinds::STRING,
                    AtomKind::Ref(n) => todo.push(*n),
                    AtomKind::AllOf(nodes) => todo.extend(nodes),
                    _ => {}
                }
            }
        }
        if are_strings && listed.is_none() {
            let texts = texts.map(|texts| texts.iter().cloned());
            listed = texts.map(|texts| texts.map(Value::String).collect());
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

    /// Tells whether a value satisfies some locations together.
    pub(crate) fn holds(&self, parts: &[Signed], value: &Value) -> Result<bool, Error> {
        let check = validate::Check::new(&self.schema, &self.options)
            .of_target(self.target)
            .charged_to(&self.budget);
        match self.as_enforced {
            true => check.all(parts, value),
            false => check.refusing_unsettled().all(parts, value),
        }
    }

    /// Tells whether a name, as a string, satisfies some locations.
    pub(crate) fn name_satisfies(&self, names: &[Signed], name: &str) -> Result<bool, Error> {
        if names.is_empty() {
            return Ok(true);
        }
        self.holds(names, &Value::String(name.to_owned()))
    }

    /// Tells whether a location lists values, or leads in place to one that may.
    fn may_list(&self, node: NodeId) -> bool {
        self.schema.atoms(node).iter().any(|atom| {
            matches!(
                atom.kind,
                AtomKind::Values(_) | AtomKind::Pattern(_) | AtomKind::Ref(_) | AtomKind::AllOf(_)
            )
        })
    }
}

/// The questions that only the automaton asks.
#[cfg(feature = "automaton")]
impl Normaliser {
    /// The error of [`Normaliser::too_many_steps`] about a keyword that is known.
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

    /// Tells whether there are alternatives of a conjunction for one kind.
    pub(crate) fn has_shapes(&mut self, conj: ConjId, kind: Kind) -> Result<bool, Error> {
        Ok(self.number_of_shapes(conj, kind)? != NO_SHAPES)
    }

    /// Tells whether any string satisfies a conjunction, as far as that is plain.
    pub(crate) fn is_any_string(&mut self, conj: ConjId) -> Result<bool, Error> {
        let number = self.number_of_shapes(conj, Kind::String)?;
        Ok(number != NO_SHAPES && number == self.plain_shapes[Kind::String as usize])
    }

    /// The alternatives of a conjunction for one kind, where they were asked for.
    pub(crate) fn known_shapes(&self, conj: ConjId, kind: Kind) -> Option<&Shapes> {
        let number = self.found.get(conj.0 as usize)?[kind as usize];
        self.shapes.get(number as usize)
    }
}

/// The end of the reason of an error that is about a complement, one text because errors are told
/// apart by it.
const NOT_NEGATED: &str = "cannot be negated (by `not`, `oneOf`, `if` or the like)";
