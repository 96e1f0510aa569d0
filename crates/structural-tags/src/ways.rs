//! The finished graph: what may follow at each junction, and the shortest ways to the end.
//!
//! For example, behind `<a>` the shortest way to the end has the shortest JSON value, and `</a>`.

use std::collections::BTreeMap;

use foldhash::HashMap;
use fsm_index::MAX_COMPLETION;

use super::at_once::{first_bytes, refuse_rows};
use super::build::Builder;
use super::covers::Covers;
use super::error::{Error, constraint_error, placed};
use super::free::all_without;
use super::graph::{Best, Graph, Junction, MAX_OPEN_RULES, Name};
use super::known::Goal;
use super::machine::TagAutomaton;
use super::parts::Body;

/// The most steps of the search for what may follow at all junctions, because each junction lists
/// what may follow: a row of thousands of parts that may all be left out has millions of them.
const MAX_FOLLOWING: usize = 1 << 25;

/// The most values of JSON, texts of grammars and of regular expressions that may begin at one
/// place, because each is read by itself, byte by byte.
const MAX_BESIDE: usize = 1_000;

/// The same where free text goes on beside them, because they then begin at every byte.
const MAX_BESIDE_FREE: usize = 100;

/// The most states of regular expressions that may all be empty and stand in a row, because a text
/// may be at each of them at once.
const MAX_EMPTY_STATES: usize = 2_000;

impl Builder<'_> {
    pub(super) fn finish(self, start: u32, names: Vec<Name>) -> Result<TagAutomaton, Error> {
        let mut costs: HashMap<u32, u64> = HashMap::default();
        let costs: Vec<u64> = self
            .parts
            .iter()
            .map(|part| *costs.entry(part.kind).or_insert_with(|| cost(&part.body)))
            .collect();
        let mut seen = Seen::new(self.junctions.len());
        let empty = self.empty_rules(&mut seen)?;
        let covers = self.covers(&empty, &mut seen)?;
        let mut junctions = Vec::with_capacity(self.junctions.len());
        for at in 0..self.junctions.len() as u32 {
            let mut junction = self.closure(at, &empty, &mut seen)?;
            self.prune(&mut junction.parts, &covers, &mut seen);
            self.refuse_many(&junction)?;
            junctions.push(junction);
        }
        refuse_rows(&self, &junctions, &covers)?;
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
        let mut first_bytes_of: HashMap<u32, Vec<u8>> = HashMap::default();
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
            let mut is_first = [false; 256];
            for &next in &after.parts {
                if covers.can_drop(next, at as u32) {
                    continue;
                }
                let next = &parts[next as usize];
                let bytes = first_bytes_of.entry(next.kind);
                for &byte in bytes.or_insert_with(|| first_bytes(&next.body)).iter() {
                    is_first[usize::from(byte)] = true;
                }
            }
            firsts.extend((0..=255u8).filter(|byte| is_first[usize::from(*byte)]));
            firsts.sort_unstable();
            firsts.dedup();
            parts[at].class = all_without(&firsts);
        }
        let graph = Graph::new(parts, junctions, start, self.specials, names, covers);
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
    fn empty_rules(&self, seen: &mut Seen) -> Result<Vec<bool>, Error> {
        let mut empty = vec![false; self.rules.len()];
        loop {
            let mut changed = false;
            for at in 0..self.rules.len() {
                let closure = self.closure(self.rules[at], &empty, seen)?;
                changed |= closure.returns && !std::mem::replace(&mut empty[at], true);
            }
            if !changed {
                return Ok(empty);
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

    /// Finds what each part covers.
    fn covers(&self, empty: &[bool], seen: &mut Seen) -> Result<Covers, Error> {
        let mut sizes: HashMap<u32, u32> = HashMap::default();
        for part in &self.parts {
            *sizes.entry(part.kind).or_default() += 1;
        }
        // The parts that are not the only ones of their kinds, by the junctions behind them: in
        // order, so that the same part is named each time where the steps do not suffice.
        let mut arrivals: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (number, part) in (0..).zip(&self.parts) {
            if sizes[&part.kind] > 1 {
                arrivals.entry(part.after).or_default().push(number);
            }
        }
        let mut covered = vec![Vec::new(); self.parts.len()];
        for (&after, parts) in &arrivals {
            let here: HashMap<u32, u32> = parts
                .iter()
                .map(|&part| (self.parts[part as usize].kind, part))
                .collect();
            self.closure(after, empty, seen)?;
            for at in 0..seen.met.len() {
                let met = seen.met[at];
                if met == after {
                    continue;
                }
                let others = arrivals.get(&met).into_iter().flatten();
                for &other in others {
                    self.take(seen)?;
                    if let Some(part) = here.get(&self.parts[other as usize].kind) {
                        covered[*part as usize].push(other);
                    }
                }
            }
        }
        Ok(Covers::new(covered))
    }

    /// Leaves out the parts that others cover.
    fn prune(&self, parts: &mut Vec<u32>, covers: &Covers, seen: &mut Seen) {
        let in_doubt = parts.iter().filter(|part| covers.is_in(**part));
        if in_doubt.take(2).count() < 2 {
            return;
        }
        seen.dropped.resize(self.parts.len(), 0);
        let round = seen.round;
        // Parts are made from the last to the first, and the first ones cover most.
        for &part in parts.iter().rev() {
            if seen.dropped[part as usize] == round {
                continue;
            }
            for &other in covers.of(part) {
                if covers.can_drop(other, part) {
                    seen.dropped[other as usize] = round;
                }
            }
        }
        parts.retain(|part| seen.dropped[*part as usize] != round);
    }

    /// Refuses more values beside each other than a mask can read in time.
    fn refuse_many(&self, junction: &Junction) -> Result<(), Error> {
        let body = |part: &u32| &self.parts[*part as usize].body;
        let is_free = |part| matches!(body(part), Body::Free(_) | Body::Run(_) | Body::Tokens(_));
        let most = match junction.parts.iter().any(is_free) {
            true => MAX_BESIDE_FREE,
            false => MAX_BESIDE,
        };
        let is_read =
            |part: &&u32| matches!(body(part), Body::Json(_) | Body::Grammar(_) | Body::Dfa(_));
        if let Some(part) = junction.parts.iter().filter(is_read).nth(most) {
            return Err(placed(
                self.place_of(*part),
                format!(
                    "more than {most} schemas, grammars and regular expressions may begin at one \
                     place of a text; put a string before each that tells them apart"
                ),
            ));
        }
        let (mut row, mut states) = (0, 0);
        for part in &junction.parts {
            if let Body::Dfa(dfa) = body(part)
                && self.nullable[self.parts[*part as usize].kind as usize]
            {
                row += 1;
                states += dfa.state_count();
            }
            // One alone, and two, are read at few places at once.
            if row > 2 && states > MAX_EMPTY_STATES {
                return Err(placed(
                    self.place_of(*part),
                    format!(
                        "regular expressions in a row that may all be empty have more than \
                         {MAX_EMPTY_STATES} states together; put a string between them"
                    ),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn place_of(&self, part: u32) -> &str {
        &self.places[self.part_places[part as usize] as usize]
    }

    /// Takes one step of those that are left to a search.
    fn take(&self, seen: &mut Seen) -> Result<(), Error> {
        match seen.left.checked_sub(1) {
            Some(left) => seen.left = left,
            None => return Err(self.too_many(seen)),
        }
        Ok(())
    }

    #[cold]
    fn too_many(&self, seen: &Seen) -> Error {
        let met = seen.met.iter().flat_map(|at| &self.junctions[*at as usize]);
        let part = met.filter_map(|goal| match goal {
            Goal::Part(part) => Some(*part),
            _ => None,
        });
        // The first one that is met stands nearest to the place that all may follow.
        let place = part.max().map_or("", |part| self.place_of(part));
        placed(
            place,
            "too many parts in a row may all be left out, or end where they begin; ask for fewer"
                .to_owned(),
        )
    }

    /// Finds what may follow at a junction.
    fn closure(&self, junction: u32, empty: &[bool], seen: &mut Seen) -> Result<Junction, Error> {
        let mut closure = Junction {
            distance: u64::MAX,
            needs: u32::MAX,
            ..Junction::default()
        };
        seen.begin(junction);
        while let Some(here) = seen.open.pop() {
            for goal in &self.junctions[here as usize] {
                self.take(seen)?;
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
                        if self.nullable[part.kind as usize] {
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
        Ok(closure)
    }
}

/// Junctions that a search has met.
struct Seen {
    /// By junction, the last search that met it.
    rounds: Vec<u32>,
    round: u32,
    open: Vec<u32>,
    /// The junctions that the last search met.
    met: Vec<u32>,
    /// By part, the last search of which it was left out.
    dropped: Vec<u32>,
    /// The steps that are left to all searches.
    left: usize,
}

impl Seen {
    fn new(junctions: usize) -> Seen {
        Seen {
            rounds: vec![0; junctions],
            round: 0,
            open: Vec::new(),
            met: Vec::new(),
            dropped: Vec::new(),
            left: MAX_FOLLOWING,
        }
    }

    fn begin(&mut self, junction: u32) {
        self.round += 1;
        self.open.clear();
        self.met.clear();
        self.meet(junction);
    }

    fn meet(&mut self, junction: u32) {
        let round = std::mem::replace(&mut self.rounds[junction as usize], self.round);
        if round != self.round {
            self.open.push(junction);
            self.met.push(junction);
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
