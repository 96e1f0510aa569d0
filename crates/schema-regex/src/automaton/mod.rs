//! Schemas as byte automata: exact where no regular expression can be.
//!
//! JSON's bytes fix the nesting, so one stack of frames is enough. Each value
//! is read by a *node*: a set of *goals* (conjunctions of schema locations)
//! that somebody above still has use for. The alternatives of a goal are
//! *threads* without choices, side by side; a value that ends says which goals
//! it satisfies, and the threads of the frame below that needed another one are
//! gone. A thread that cannot be finished any more is dropped at once, so what
//! is left is always live.

mod build;
mod compile;
mod dfa;
mod expand;
mod finish;
mod heights;
mod hints;
mod leaves;
mod live;
mod node;
mod objects;
mod scratch;
mod shape;
mod space;
mod state;
mod step;
mod text;
mod unique;

use std::sync::Arc;

use fsm_index::{ByteAutomaton, ClassId, Cursor, TextLoop};
use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::ir::{ROOT, Schema};
use crate::ledger::Entry;
use crate::options::{Escapes, Options};
use crate::shape::Signed;

pub use scratch::Scratch;
pub use state::State;

/// A schema as a [`ByteAutomaton`].
///
/// The language is that of the schema in the spellings that [`Options`] admit:
/// exactly, without narrowing beyond what [`SchemaAutomaton::ledger`] says.
/// Memory is proportional to the part of the schema that is reached.
///
/// Clones share everything.
#[derive(Clone, Debug)]
pub struct SchemaAutomaton {
    nodes: Arc<[node::Node]>,
    space: Arc<space::Space>,
    escapes: Escapes,
    max_nesting: u32,
    /// The tallest of the flattest values.
    tallest: u32,
    /// Whether the schema itself bounds how deep values nest.
    bounded: bool,
    loops: Arc<hints::Loops>,
    schema: Arc<Schema>,
}

impl SchemaAutomaton {
    /// Reads a schema with the default [`crate::ParseOptions`] and compiles it.
    ///
    /// # Errors
    ///
    /// As [`crate::parse`] and [`SchemaAutomaton::compile`].
    pub fn new(schema: &Value, options: &Options) -> Result<SchemaAutomaton, Error> {
        SchemaAutomaton::compile(crate::parse(schema)?, options)
    }

    /// Compiles a schema. All is decided here: what cannot be enforced is
    /// refused, and whatever the automaton admits can be finished.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Refused`] with keyword and JSON Pointer,
    /// [`ErrorKind::Cyclic`], [`ErrorKind::Unsatisfiable`], or one of the
    /// limits of [`Options`].
    pub fn compile(schema: Schema, options: &Options) -> Result<SchemaAutomaton, Error> {
        let space = space::Space::new(options)?;
        let mut compiler = compile::Compiler::new(schema, options.clone());
        compiler.refuse_cycles()?;
        let root = compiler.intern(&[Signed::yes(ROOT)]);
        let mut builder = build::Builder::new(compiler);
        builder.build(root)?;
        let mut nodes = builder.nodes;
        heights::solve(&mut nodes);
        let max_nesting = u32::try_from(options.max_nesting).unwrap_or(u32::MAX - 1);
        let mut automaton = SchemaAutomaton {
            tallest: 0,
            bounded: heights::deepest(&nodes).is_some_and(|d| d <= max_nesting),
            loops: Arc::new(builder.loops),
            nodes: nodes.into(),
            space: Arc::new(space),
            escapes: options.escapes,
            max_nesting,
            schema: Arc::new(builder.compiler.schema),
        };
        automaton.list_values()?;
        let height = automaton.nodes[0].heights[0];
        if height > max_nesting {
            let why = if height == node::EMPTY {
                "no value satisfies the schema".to_owned()
            } else {
                format!(
                    "every value nests {height} deep or deeper, more than Options::max_nesting ({max_nesting})"
                )
            };
            return Err(Error::new(ErrorKind::Unsatisfiable, "", why));
        }
        let heights = automaton
            .nodes
            .iter()
            .flat_map(|n| n.heights.iter().copied());
        automaton.tallest = heights.filter(|h| *h != node::EMPTY).max().unwrap_or(0);
        Ok(automaton)
    }

    /// Lists the values of items that must differ, where they are few, and
    /// solves emptiness again with what that says.
    fn list_values(&mut self) -> Result<(), Error> {
        let unique: Vec<usize> = (0..self.nodes.len())
            .filter(|n| self.nodes[*n].array.as_ref().is_some_and(|m| m.unique))
            .collect();
        for n in unique {
            let mut x = Scratch::new();
            let Some(m) = &self.nodes[n].array else {
                continue;
            };
            let mut all: Vec<Vec<unique::Values>> = Vec::new();
            for member in &m.members {
                let goals = self
                    .nodes
                    .get(member.node as usize)
                    .map_or(0, |n| n.goals.len());
                let goals = 0..goals as u32;
                all.push(goals.map(|g| self.values(member.node, g, &mut x)).collect());
            }
            let listed = all.iter().flatten().any(Option::is_some);
            if listed && m.threads.iter().any(|t| t.unique && !t.counts.is_empty()) {
                return Err(Error::new(
                    ErrorKind::Refused,
                    "",
                    "`uniqueItems` together with `contains` over a few listed values is not followed",
                ));
            }
            if !listed {
                continue;
            }
            let Some(nodes) = Arc::get_mut(&mut self.nodes) else {
                continue;
            };
            if let Some(m) = &mut nodes[n].array {
                m.values = all;
            }
            heights::solve(nodes);
        }
        Ok(())
    }

    /// What each keyword that the schema reaches has become.
    pub fn ledger(&self) -> Vec<Entry> {
        self.schema.own_entries()
    }

    /// How many sets of conjunctions are asked of values: what memory is
    /// proportional to.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Whether a text is admitted as a whole.
    pub fn is_match(&self, text: &[u8]) -> bool {
        let mut scratch = self.scratch();
        let mut state = self.start();
        self.advance(&mut state, text, &mut scratch).is_ok() && self.is_accepting(&state)
    }
}

impl ByteAutomaton for SchemaAutomaton {
    type State = State;
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::new()
    }

    fn start(&self) -> State {
        State::of(self.first())
    }

    fn is_accepting(&self, state: &State) -> bool {
        state.accepting
    }

    fn advance(&self, state: &mut State, bytes: &[u8], x: &mut Scratch) -> Result<(), usize> {
        x.tidy();
        let mut config = self.load(state, x, false);
        for (i, byte) in bytes.iter().enumerate() {
            config = self.next(config, *byte, x).ok_or(i)?;
        }
        *state = self.store(config, x);
        Ok(())
    }

    fn completion(&self, state: &State, out: &mut Vec<u8>) {
        let mut x = Scratch::new();
        let config = self.load(state, &mut x, false);
        self.finish(config, &mut x, out);
    }

    /// The bytes of UTF-8, and of its control characters only white space.
    fn uses_byte(&self, byte: u8) -> bool {
        !matches!(byte, 0x00..=0x08 | 0x0B | 0x0C | 0x0E..=0x1F | 0xC0 | 0xC1 | 0xF5..)
    }

    fn enter(&self, state: &State, x: &mut Scratch) -> Cursor {
        x.tidy();
        let config = self.load(state, x, true);
        x.base_depth = x.depth(config.stack);
        x.least_depth = x.base_depth;
        Cursor(x.configs.add(config))
    }

    fn step(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Cursor {
        if cursor.is_dead() {
            return Cursor::DEAD;
        }
        let config = *x.configs.get(cursor.0);
        match self.next(config, byte, x) {
            Some(next) => Cursor(x.configs.add(next)),
            None => Cursor::DEAD,
        }
    }

    fn text_loop(&self, cursor: Cursor, horizon: usize, x: &mut Scratch) -> Option<TextLoop> {
        self.loop_at(cursor, horizon, x)
    }

    fn text_class(&self, class: ClassId) -> &[(u32, u32)] {
        self.loops.ranges(class)
    }

    fn resembles(&self, cursor: Cursor, x: &mut Scratch) -> Option<Cursor> {
        self.like(cursor, x)
    }

    fn mask_key(
        &self,
        cursor: Cursor,
        depth: usize,
        horizon: usize,
        x: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> bool {
        self.key_of(cursor, depth, horizon, x, out)
    }

    fn depth_used(&self, x: &Scratch) -> usize {
        (x.base_depth - x.least_depth) as usize + 1
    }
}
