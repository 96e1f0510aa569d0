//! The finished graph: what may follow at each junction, and the shortest ways to the end.
//!
//! For example, behind `<a>` the shortest way to the end has the shortest JSON value, and `</a>`.

use fsm_index::{ByteAutomaton, MAX_COMPLETION};

use super::build::{Builder, Goal};
use super::error::{Error, constraint_error};
use super::free::all_without;
use super::graph::{Best, Graph, Junction, MAX_OPEN_RULES, Name};
use super::machine::TagAutomaton;
use super::parts::Body;

impl Builder<'_> {
    pub(super) fn finish(self, start: u32, names: Vec<Name>) -> Result<TagAutomaton, Error> {
        let costs: Vec<u64> = self.parts.iter().map(|part| cost(&part.body)).collect();
        let empty = self.empty_rules();
        let mut seen = Seen::new(self.junctions.len());
        let mut junctions: Vec<Junction> = (0..self.junctions.len() as u32)
            .map(|at| self.closure(at, &empty, &mut seen))
            .collect();
        self.refuse_left_recursion(&junctions)?;
        // Bellman's iteration: at most as many rounds as a shortest text has
        // parts.
        loop {
            let mut changed = false;
            for at in 0..junctions.len() {
                let (distance, best, needs) = self.nearest(&junctions, &costs, at);
                let here = &mut junctions[at];
                if distance < here.distance {
                    (here.distance, here.best) = (distance, best);
                    changed = true;
                }
                if needs < here.needs {
                    here.needs = needs;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        if junctions[start as usize].distance == u64::MAX
            || junctions[start as usize].needs > MAX_OPEN_RULES
        {
            return Err(constraint_error("no text satisfies the tags"));
        }
        for at in 0..junctions.len() {
            junctions[at].tail = self.tail(&junctions, at);
        }
        let mut parts = self.parts;
        for at in 0..parts.len() {
            let mut firsts = match &parts[at].body {
                Body::Free(free) => free.markers.firsts().to_vec(),
                Body::Run(run) => run.patterns.firsts().to_vec(),
                _ => continue,
            };
            let after = &junctions[parts[at].after as usize];
            if after.returns || !after.calls.is_empty() {
                continue;
            }
            for &next in &after.parts {
                firsts.extend(first_bytes(&parts[next as usize].body));
            }
            firsts.sort_unstable();
            firsts.dedup();
            parts[at].class = all_without(&firsts);
        }
        let graph = Graph::new(parts, junctions, start, self.specials, names);
        Ok(TagAutomaton::of(graph))
    }

    /// Returns what follows at a junction, if that is one text and then the end.
    fn tail(&self, junctions: &[Junction], at: usize) -> Option<Box<[u32]>> {
        let is_plain = |at: &Junction| at.specials.is_empty() && at.calls.is_empty() && !at.returns;
        let ends = |at: &Junction| is_plain(at) && at.end && at.parts.is_empty();
        let here = &junctions[at];
        if ends(here) {
            return Some(Box::default());
        }
        let [part] = here.parts.as_slice() else {
            return None;
        };
        let part = &self.parts[*part as usize];
        match &part.body {
            Body::Literal(text) if is_plain(here) && !here.end => {
                let is_last = ends(&junctions[part.after as usize]);
                is_last.then(|| text.iter().map(|byte| u32::from(*byte)).collect())
            }
            _ => None,
        }
    }

    /// The way from a junction that is nearest to the end of its rule, or of the text, as far
    /// as is known, and how many rules it must open inside of each other.
    fn nearest(&self, junctions: &[Junction], costs: &[u64], at: usize) -> (u64, Best, u32) {
        let here = &junctions[at];
        let (mut distance, mut best, mut needs) = match (here.end, here.returns) {
            (true, _) => (0, Best::End, 0),
            (_, true) => (0, Best::Return, 0),
            _ => (u64::MAX, Best::End, u32::MAX),
        };
        let mut offer = |there: u64, way: Best, rules: u32| {
            if there < distance {
                (distance, best) = (there, way);
            }
            needs = needs.min(rules);
        };
        for &part in &here.parts {
            let after = &junctions[self.parts[part as usize].after as usize];
            let there = after.distance.saturating_add(costs[part as usize]);
            offer(there, Best::Part(part), after.needs);
        }
        for &(special, after) in &here.specials {
            let after = &junctions[after as usize];
            offer(
                after.distance.saturating_add(1),
                Best::Special(special),
                after.needs,
            );
        }
        for (call, &(entry, after)) in here.calls.iter().enumerate() {
            let (entry, after) = (&junctions[entry as usize], &junctions[after as usize]);
            offer(
                entry.distance.saturating_add(after.distance),
                Best::Call(call as u32),
                entry.needs.saturating_add(1).max(after.needs),
            );
        }
        (distance, best, needs)
    }

    /// The rules that admit the empty text.
    fn empty_rules(&self) -> Vec<bool> {
        let mut empty = vec![false; self.rules.len()];
        let mut seen = Seen::new(self.junctions.len());
        loop {
            let mut changed = false;
            for at in 0..self.rules.len() {
                let closure = self.closure(self.rules[at], &empty, &mut seen);
                changed |= closure.returns && !std::mem::replace(&mut empty[at], true);
            }
            if !changed {
                return empty;
            }
        }
    }

    /// No rule may begin with itself: it would be opened for ever.
    fn refuse_left_recursion(&self, junctions: &[Junction]) -> Result<(), Error> {
        let mut done = vec![false; self.rules.len()];
        loop {
            let mut changed = false;
            for at in 0..self.rules.len() {
                let calls = &junctions[self.rules[at] as usize].calls;
                let is_done = |entry: u32| {
                    let rule = self.rules.iter().position(|known| *known == entry);
                    rule.is_none_or(|rule| done[rule])
                };
                if !done[at] && calls.iter().all(|(entry, _)| is_done(*entry)) {
                    done[at] = true;
                    changed = true;
                }
            }
            if done.iter().all(|done| *done) {
                return Ok(());
            }
            if !changed {
                return Err(constraint_error("a rule begins with itself"));
            }
        }
    }

    /// Finds what may follow at a junction.
    fn closure(&self, junction: u32, empty: &[bool], seen: &mut Seen) -> Junction {
        let mut closure = Junction {
            distance: u64::MAX,
            needs: u32::MAX,
            ..Junction::default()
        };
        seen.begin(junction);
        while let Some(here) = seen.open.pop() {
            for goal in &self.junctions[here as usize] {
                match *goal {
                    Goal::End => closure.end = true,
                    Goal::Return => closure.returns = true,
                    Goal::Jump(to) => seen.meet(to),
                    Goal::Special(special, after) => closure.specials.push((special, after)),
                    Goal::Call(rule, after) => {
                        closure.calls.push((self.rules[rule], after));
                        if empty[rule] {
                            seen.meet(after);
                        }
                    }
                    Goal::Part(part) => {
                        closure.parts.push(part);
                        let part = &self.parts[part as usize];
                        if part.body.is_nullable() {
                            seen.meet(part.after);
                        }
                    }
                }
            }
        }
        closure.parts.sort_unstable();
        closure.parts.dedup();
        closure.calls.sort_unstable();
        closure.calls.dedup();
        closure
    }
}

/// Junctions that a search has met.
struct Seen {
    /// By junction, the last search that met it.
    rounds: Vec<u32>,
    round: u32,
    open: Vec<u32>,
}

impl Seen {
    fn new(junctions: usize) -> Seen {
        Seen {
            rounds: vec![0; junctions],
            round: 0,
            open: Vec::new(),
        }
    }

    fn begin(&mut self, junction: u32) {
        self.round += 1;
        self.open.clear();
        self.meet(junction);
    }

    fn meet(&mut self, junction: u32) {
        let round = std::mem::replace(&mut self.rounds[junction as usize], self.round);
        if round != self.round {
            self.open.push(junction);
        }
    }
}

/// Bytes of a part's shortest text.
fn cost(body: &Body) -> u64 {
    let mut text = Vec::new();
    // That there is one was seen when the part was made.
    body.shortest(MAX_COMPLETION, &mut text);
    text.len() as u64
}

/// The bytes with which a part may begin.
fn first_bytes(body: &Body) -> Vec<u8> {
    match body {
        Body::Json(json) => {
            let mut scratch = json.automaton.scratch();
            let cursor = json.automaton.enter(&json.start, &mut scratch);
            (0..=255u8)
                .filter(|&byte| json.step(cursor, byte, &mut scratch).is_some())
                .collect()
        }
        Body::Grammar(automaton) => {
            let mut scratch = automaton.scratch();
            let cursor = automaton.enter(&automaton.start(), &mut scratch);
            (0..=255u8)
                .filter(|&byte| !automaton.step(cursor, byte, &mut scratch).is_dead())
                .collect()
        }
        Body::Run(_) | Body::Tokens(_) => (0..=255u8).collect(),
        other => (0..=255u8)
            .filter(|&byte| other.step(other.begin(), 0, byte).is_some())
            .collect(),
    }
}
