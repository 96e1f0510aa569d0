//! Bodies, parts and junctions that a builder has made already, so that equal ones are there once.
//!
//! For example, of three hundred alternatives that are all any text one part is made.

use std::sync::Arc;

use foldhash::HashMap;

use super::error::Error;
use super::markers::too_many_markers;
use super::parts::{Body, Json};
use super::patterns::Patterns;
use super::run::{Run, Tokens};

/// A thing that may follow, before empty parts are looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Goal {
    Part(u32),
    Special(u32, u32),
    Jump(u32),
    /// A rule, and the junction behind it.
    Call(usize, u32),
    Return,
    End,
}

/// The tables of a builder, by what tells things apart.
#[derive(Default)]
pub(super) struct Known {
    kinds: HashMap<Key, u32>,
    /// The junctions before parts: by the kind of the part and the junction behind it.
    pub(super) parts: HashMap<(u32, u32), u32>,
    pub(super) junctions: HashMap<Vec<Goal>, u32>,
    pub(super) runs: HashMap<RunKey, Arc<Run>>,
    /// By the address of the automaton, which the node holds, and what is kept out.
    pub(super) json: HashMap<(usize, Vec<String>), Arc<Json>>,
}

/// A body as what tells it from others: shared ones by their addresses.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Nothing,
    Literal(Box<[u8]>),
    Tokens(Tokens),
    Shared(usize),
    /// One that is like no other.
    Single(usize),
}

/// A run of free text as what tells it from others.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct RunKey {
    pub(super) stops: Vec<Vec<u8>>,
    pub(super) triggers: Vec<Vec<u8>>,
    pub(super) fires: Vec<u32>,
    pub(super) utf8: bool,
    pub(super) max_chars: Option<u32>,
    pub(super) max_tokens: Option<u32>,
}

impl RunKey {
    pub(super) fn run(&self) -> Result<Run, Error> {
        let patterns = Patterns::new(&self.stops, &self.triggers).ok_or_else(too_many_markers)?;
        Ok(Run {
            patterns,
            utf8: self.utf8,
            max_chars: self.max_chars,
            max_tokens: self.max_tokens,
            triggers: self.triggers.clone(),
            fires: self.fires.clone(),
        })
    }
}

impl Known {
    /// Returns the number of a body, which equal ones share. Bodies that are shared are held by
    /// the parts, so that no other one gets their address.
    pub(super) fn kind(&mut self, body: &Body) -> u32 {
        let next = self.kinds.len();
        let key = key(body).unwrap_or(Key::Single(next));
        *self.kinds.entry(key).or_insert(next as u32)
    }

    /// Tells whether an equal body has a number.
    pub(super) fn is_known(&self, body: &Body) -> bool {
        key(body).is_some_and(|key| self.kinds.contains_key(&key))
    }
}

fn key(body: &Body) -> Option<Key> {
    Some(match body {
        Body::Nothing => Key::Nothing,
        Body::Literal(text) => Key::Literal(text.clone()),
        Body::Tokens(tokens) => Key::Tokens(tokens.clone()),
        Body::Dfa(dfa) => Key::Shared(Arc::as_ptr(dfa) as usize),
        Body::Json(json) => Key::Shared(Arc::as_ptr(json) as usize),
        Body::Grammar(automaton) => Key::Shared(Arc::as_ptr(automaton) as usize),
        Body::Run(run) => Key::Shared(Arc::as_ptr(run) as usize),
        Body::Quiet(_) | Body::Free(_) => return None,
    })
}
