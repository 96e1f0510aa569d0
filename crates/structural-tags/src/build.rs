//! From a grammar of tags to an automaton.
//!
//! For example, a tag `<a>` with JSON becomes a part for each of its markers and one for the JSON.

use std::sync::Arc;

use foldhash::HashSet;
use fsm_index::{ByteAutomaton, ByteDfa, Config, Dfa, MAX_COMPLETION, TokenKind, Vocabulary};
use grammar::GrammarAutomaton;
use schema_regex::automaton::SchemaAutomaton;

use super::error::{Error, constraint_error, placed};
use super::free::Free;
use super::graph::Name;
use super::json_parts::{json, raw};
use super::known::{Goal, Known, RunKey};
use super::machine::TagAutomaton;
use super::markers::watch;
use super::parts::{Body, Part};
use super::quiet::Quiet;
use super::run::Tokens;

/// The most parts of one automaton, because each may hold an automaton of its own.
pub const MAX_PARTS: usize = 4_000;

/// A grammar of texts.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Structure: the special tokens of these names where the vocabulary has
    /// them, bytes elsewhere.
    Marker(String),
    /// These bytes.
    Text(String),
    /// A text of a regular language.
    Dfa(Arc<ByteDfa>),
    /// The same without markers.
    Quiet(Quiet),
    /// JSON, spelt without these markers.
    Json(Arc<SchemaAutomaton>, Vec<String>),
    /// A text of a context-free grammar, which has no special tokens.
    Grammar(Arc<GrammarAutomaton>),
    /// A string of a schema of strings, without quotes and escapes.
    Raw(SchemaAutomaton),
    /// Any text without these markers, of at most so many characters.
    Free(Vec<String>, Option<u32>),
    Seq(Vec<Node>),
    Alt(Vec<Node>),
    /// Once or not.
    Optional(Box<Node>),
    /// From the first number to the second, or any, times.
    Repeat(Box<Node>, usize, Option<usize>),
    /// The same with commas between them, and perhaps a blank behind each.
    Items(Box<Node>, usize, Option<usize>),
    /// One after another; those that are not required may be missing.
    Members(Vec<(Node, bool)>, Between),
    /// The same in any order.
    AnyOrder(Vec<(Node, bool)>, Between),
    /// Free text that triggers leave.
    Run(Box<RunNode>),
    /// This special token.
    Special(String),
    /// So many tokens, but for special ones of these names.
    Tokens {
        excluded: Vec<String>,
        least: u32,
        most: Option<u32>,
        filler: Box<[u8]>,
    },
    /// The rule of that number.
    Call(usize),
    /// Once or more, with a text between.
    Many(Box<Node>, String),
    /// A node, and its place in what was written, for errors.
    At(String, Box<Node>),
}

/// The text between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    Nothing,
    Commas,
    /// Commas, and perhaps a blank behind each.
    SpacedCommas,
}

/// Free text, and what comes where a trigger is complete.
#[derive(Clone, Debug, Default)]
pub(super) struct RunNode {
    pub(super) stops: Vec<Vec<u8>>,
    pub(super) triggers: Vec<(Vec<u8>, Node)>,
    /// True if free text goes on behind what a trigger led to.
    pub(super) again: bool,
    /// True if a trigger must come first.
    pub(super) begins: bool,
    pub(super) utf8: bool,
    pub(super) max_chars: Option<u32>,
    pub(super) max_tokens: Option<u32>,
}

impl Node {
    pub(super) fn text(text: impl Into<String>) -> Node {
        Node::Text(text.into())
    }

    pub(super) fn marker(text: impl Into<String>) -> Node {
        Node::Marker(text.into())
    }

    pub(super) fn nothing() -> Node {
        Node::Seq(Vec::new())
    }

    pub(super) fn optional(node: Node) -> Node {
        Node::Optional(Box::new(node))
    }

    pub(super) fn many(node: Node, separator: impl Into<String>) -> Node {
        Node::Many(Box::new(node), separator.into())
    }

    /// A text that matches a regular expression.
    pub(super) fn regex(pattern: &str) -> Result<Node, Error> {
        Ok(Node::Dfa(Arc::new(dfa(pattern)?)))
    }
}

impl RunNode {
    /// Returns free text without some strings.
    pub(super) fn without(stops: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> RunNode {
        let stops: Vec<Vec<u8>> = stops.into_iter().map(Into::into).collect();
        RunNode {
            // With something to look out for, bytes are read as they come.
            utf8: stops.is_empty(),
            stops,
            ..RunNode::default()
        }
    }
}

pub(super) fn dfa(pattern: &str) -> Result<ByteDfa, Error> {
    let config = Config::default();
    Ok(Dfa::with_config(pattern, &config)?.to_bytes(&config)?)
}

/// Builds a graph from its end to its beginning.
pub(super) struct Builder<'v> {
    /// The names of special tokens, the longest first.
    names: Vec<&'v str>,
    pub(super) parts: Vec<Part>,
    max_parts: usize,
    /// The nodes that were built, each as often as it is repeated.
    visits: usize,
    pub(super) junctions: Vec<Vec<Goal>>,
    /// Bodies, parts and junctions that are there already.
    known: Known,
    /// The places of nodes, and for each part the number of the innermost around it.
    pub(super) places: Vec<String>,
    pub(super) part_places: Vec<u32>,
    place: u32,
    /// By kind of part, true if it may be empty.
    pub(super) nullable: Vec<bool>,
    pub(super) specials: Vec<Box<str>>,
    /// The junctions at which rules begin.
    pub(super) rules: Vec<u32>,
}

/// The names of a vocabulary's special tokens.
pub(super) fn special_names(vocabulary: &Vocabulary, ends: bool) -> Vec<&str> {
    let specials = vocabulary.specials().iter().copied();
    specials
        .filter(|token| match vocabulary.kind(*token) {
            TokenKind::Special => true,
            TokenKind::End => ends,
            _ => false,
        })
        .filter_map(|token| std::str::from_utf8(vocabulary.token_name(token)?).ok())
        .filter(|name| !name.is_empty())
        .collect()
}

/// The automaton of a grammar.
pub(super) fn build(node: &Node, vocabulary: &Vocabulary) -> Result<TagAutomaton, Error> {
    build_rules(node, &[], vocabulary)
}

/// The automaton of a grammar with rules, in which special tokens are structure.
pub(super) fn build_rules(
    node: &Node,
    rules: &[Node],
    vocabulary: &Vocabulary,
) -> Result<TagAutomaton, Error> {
    let mut names = special_names(vocabulary, true);
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    Builder::new(names, MAX_PARTS).build(node, rules, Vec::new())
}

/// The shortest text of a grammar with rules, its markers spelt out.
pub(super) fn shortest(node: &Node, rules: &[Node]) -> Result<Vec<u8>, Error> {
    let automaton = Builder::new(Vec::new(), MAX_PARTS).build(node, rules, Vec::new())?;
    let mut text = Vec::new();
    automaton.completion(&automaton.start(), MAX_COMPLETION, &mut text);
    Ok(text)
}

/// The automaton of a grammar with rules, in which special tokens may stand as text: those of
/// `names`.
pub(super) fn build_with_rules(
    node: &Node,
    rules: &[Node],
    names: &[&str],
    max_parts: usize,
) -> Result<TagAutomaton, Error> {
    Builder::new(Vec::new(), max_parts).build(node, rules, names.to_vec())
}

impl<'v> Builder<'v> {
    fn new(names: Vec<&'v str>, max_parts: usize) -> Builder<'v> {
        Builder {
            names,
            parts: Vec::new(),
            max_parts,
            visits: 0,
            junctions: vec![vec![Goal::End]],
            known: Known::default(),
            places: vec![String::new()],
            part_places: Vec::new(),
            place: 0,
            nullable: Vec::new(),
            specials: Vec::new(),
            rules: Vec::new(),
        }
    }

    fn build(
        mut self,
        node: &Node,
        rules: &[Node],
        texts: Vec<&str>,
    ) -> Result<TagAutomaton, Error> {
        // Names of special tokens that may be read as text come first.
        for name in &texts {
            self.specials.push((*name).into());
        }
        let behind = self.junction(vec![Goal::Return]);
        for _ in rules {
            let rule = self.open_junction();
            self.rules.push(rule);
        }
        for (at, rule) in rules.iter().enumerate() {
            let begin = self.node(rule, behind)?;
            self.junctions[self.rules[at] as usize] = vec![Goal::Jump(begin)];
        }
        let begin = self.node(node, 0)?;
        // A part without text before everything, so that a special token may be
        // the first that comes.
        let start = self.part(Body::Nothing, begin)?;
        let mut sorted: Vec<(&[u8], u32)> = texts
            .iter()
            .enumerate()
            .map(|(at, name)| (name.as_bytes(), at as u32))
            .collect();
        sorted.sort_unstable();
        let name = |(text, special): (&[u8], u32)| Name {
            text: text.into(),
            special,
        };
        self.finish(start, sorted.into_iter().map(name).collect())
    }

    /// A junction of which the goals are set later.
    pub(super) fn open_junction(&mut self) -> u32 {
        self.junctions.push(Vec::new());
        (self.junctions.len() - 1) as u32
    }

    /// A junction with these goals, equal ones once: the same one where it is there already.
    pub(super) fn junction(&mut self, mut goals: Vec<Goal>) -> u32 {
        let mut seen = HashSet::default();
        goals.retain(|goal| seen.insert(*goal));
        if let [Goal::Jump(only)] = goals.as_slice() {
            return *only;
        }
        if let Some(known) = self.known.junctions.get(&goals) {
            return *known;
        }
        let junction = self.open_junction();
        self.junctions[junction as usize] = goals.clone();
        self.known.junctions.insert(goals, junction);
        junction
    }

    #[cold]
    fn too_large(&self) -> Error {
        placed(
            &self.places[self.place as usize],
            format!(
                "the tags have more than {} parts; ask for fewer repetitions or tools",
                self.max_parts
            ),
        )
    }

    /// A junction from which a part leads to another: the same one where an equal part does.
    pub(super) fn part(&mut self, body: Body, after: u32) -> Result<u32, Error> {
        let kind = self.known.kind(&body);
        if let Some(known) = self.known.parts.get(&(kind, after)) {
            return Ok(*known);
        }
        if self.parts.len() >= self.max_parts {
            return Err(self.too_large());
        }
        let is_nullable = body.is_nullable();
        self.parts.push(Part {
            body,
            kind,
            after,
            class: Vec::new(),
        });
        self.part_places.push(self.place);
        if kind as usize >= self.nullable.len() {
            self.nullable.resize(kind as usize + 1, false);
        }
        self.nullable[kind as usize] = is_nullable;
        let part = (self.parts.len() - 1) as u32;
        let junction = self.junction(vec![Goal::Part(part)]);
        self.known.parts.insert((kind, after), junction);
        Ok(junction)
    }

    /// The junction at which `node` begins, if it is followed by `after`.
    /// Recursion is as deep as the grammar, which this crate makes.
    pub(super) fn node(&mut self, node: &Node, after: u32) -> Result<u32, Error> {
        // Nodes without parts are charged here, and those that are there already.
        self.visits += 1;
        if self.visits > self.max_parts.saturating_mul(4) {
            return Err(self.too_large());
        }
        match node {
            Node::Marker(text) => self.marker(text, after),
            Node::Text(text) if text.is_empty() => Ok(after),
            Node::Text(text) => self.part(Body::Literal(text.as_bytes().into()), after),
            Node::Dfa(dfa) => self.part(Body::Dfa(dfa.clone()), after),
            Node::Quiet(quiet) => self.part(Body::Quiet(quiet.clone()), after),
            Node::Json(automaton, markers) => {
                let key = (Arc::as_ptr(automaton) as usize, markers.clone());
                let json = match self.known.json.get(&key) {
                    Some(known) => known.clone(),
                    None => Arc::new(json(automaton, markers)?),
                };
                self.known.json.insert(key, json.clone());
                self.part(Body::Json(json), after)
            }
            Node::Grammar(automaton) => self.grammar(automaton, after),
            Node::Raw(automaton) => {
                let json = raw(automaton)?;
                self.part(Body::Json(Arc::new(json)), after)
            }
            Node::Free(markers, limit) => {
                let free = Free {
                    markers: watch(markers.iter().map(String::as_str))?,
                    limit: *limit,
                };
                self.part(Body::Free(free), after)
            }
            Node::Seq(nodes) => nodes
                .iter()
                .rev()
                .try_fold(after, |after, node| self.node(node, after)),
            Node::Alt(nodes) => {
                let mut goals = Vec::new();
                for node in nodes {
                    goals.push(Goal::Jump(self.node(node, after)?));
                }
                Ok(self.junction(goals))
            }
            Node::Optional(node) => {
                let inner = self.node(node, after)?;
                Ok(self.junction(vec![Goal::Jump(inner), Goal::Jump(after)]))
            }
            Node::Repeat(node, least, most) => self.repeat(node, *least, *most, after),
            Node::Items(node, least, most) => self.items(node, *least, *most, after),
            Node::Members(members, between) => self.in_order(members, *between, after),
            Node::AnyOrder(members, between) => self.any_order(members, *between, after),
            Node::Run(run) => self.run(run, after),
            Node::Special(name) => {
                let special = self.special(name);
                let behind = self.part(Body::Nothing, after)?;
                Ok(self.junction(vec![Goal::Special(special, behind)]))
            }
            Node::Tokens {
                excluded,
                least,
                most,
                filler,
            } => {
                let mut excluded: Vec<u32> =
                    excluded.iter().map(|name| self.special(name)).collect();
                excluded.sort_unstable();
                let tokens = Tokens {
                    excluded,
                    least: *least,
                    most: *most,
                    filler: filler.clone(),
                };
                self.part(Body::Tokens(tokens), after)
            }
            Node::Many(node, separator) => self.many(node, separator, after),
            Node::Call(rule) => Ok(self.junction(vec![Goal::Call(*rule, after)])),
            Node::At(place, node) => {
                let number = self.places.len() as u32;
                self.places.push(place.clone());
                let around = std::mem::replace(&mut self.place, number);
                let begin = self.node(node, after)?;
                self.place = around;
                Ok(begin)
            }
        }
    }

    fn grammar(&mut self, automaton: &Arc<GrammarAutomaton>, after: u32) -> Result<u32, Error> {
        let body = Body::Grammar(automaton.clone());
        if self.known.is_known(&body) {
            return self.part(body, after);
        }
        let completed = automaton.completion(&automaton.start(), MAX_COMPLETION, &mut Vec::new());
        if completed.is_none() {
            return Err(constraint_error(format!(
                "the shortest text of the grammar has more than {MAX_COMPLETION} bytes"
            )));
        }
        self.part(body, after)
    }

    fn run(&mut self, run: &RunNode, after: u32) -> Result<u32, Error> {
        let again = self.open_junction();
        let behind = match run.again {
            true => again,
            false => after,
        };
        let mut fires = Vec::new();
        let mut triggers = Vec::new();
        for (text, node) in &run.triggers {
            let fire = self.node(node, behind)?;
            // A part without text behind the trigger: the text may end there, or a special
            // token follow.
            fires.push(self.part(Body::Nothing, fire)?);
            triggers.push(text.clone());
        }
        let key = RunKey {
            stops: run.stops.clone(),
            triggers,
            fires,
            utf8: run.utf8,
            max_chars: run.max_chars,
            max_tokens: run.max_tokens,
        };
        let body = match self.known.runs.get(&key) {
            Some(known) => known.clone(),
            None => Arc::new(key.run()?),
        };
        self.known.runs.insert(key, body.clone());
        let mut first = Vec::new();
        if run.begins {
            for (trigger, &fire) in body.triggers.iter().zip(&body.fires) {
                let begin = self.part(Body::Literal(trigger.as_slice().into()), fire)?;
                first.push(Goal::Jump(begin));
            }
            if !run.again {
                return Ok(self.junction(first));
            }
        }
        let begin = self.part(Body::Run(body), after)?;
        self.junctions[again as usize] = vec![Goal::Jump(begin)];
        Ok(match run.begins {
            true => self.junction(first),
            false => again,
        })
    }

    /// A marker as the vocabulary has it: names of special tokens in it are
    /// those tokens.
    fn marker(&mut self, text: &str, after: u32) -> Result<u32, Error> {
        let mut pieces: Vec<Result<u32, String>> = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let name = self
                .names
                .iter()
                .copied()
                .find(|name| rest.starts_with(name));
            match name {
                Some(name) => {
                    pieces.push(Ok(self.special(name)));
                    rest = &rest[name.len()..];
                }
                None => {
                    match pieces.last_mut() {
                        Some(Err(text)) => text.push(first),
                        _ => pieces.push(Err(first.to_string())),
                    }
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        pieces
            .into_iter()
            .rev()
            .try_fold(after, |after, piece| match piece {
                Err(text) => self.part(Body::Literal(text.as_bytes().into()), after),
                Ok(special) => {
                    // A part without text behind the token: that is where the
                    // next token may follow.
                    let behind = self.part(Body::Nothing, after)?;
                    Ok(self.junction(vec![Goal::Special(special, behind)]))
                }
            })
    }

    fn special(&mut self, name: &str) -> u32 {
        let known = self.specials.iter().position(|known| **known == *name);
        let at = known.unwrap_or_else(|| {
            self.specials.push(name.into());
            self.specials.len() - 1
        });
        at as u32
    }
}
