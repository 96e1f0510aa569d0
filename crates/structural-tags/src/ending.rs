//! The distance from the end that any text of structural tags can have: so far from it nothing has to be looked up.
//!
//! For example, behind any text in free text with calls `<f>{..}</f>` no way to the end takes more tokens than an open call: the
//! rest of its schema's longest completion, and `</f>`.
//!
//! The bound is a sum of two: the most that the rest of the part takes that is open, and the most that is to come behind a part.
//! Rules that are open around a part each add what is to come behind them; where rules open themselves, or a part is of a grammar,
//! there is no bound.

use foldhash::{HashMap, HashMapExt, HashSet};
use fsm_index::{ByteAutomaton, Growth, MAX_COMPLETION};

use super::graph::{Best, Graph};
use super::markers::Markers;
use super::parts::{Body, Json, Part, Spelling};

/// The tokens of a character that is open in free text, because it has so many bytes more at most.
const CHARACTER: usize = 3;

/// The tokens of a character that is spelt by its escape, because `\u003e` has six bytes.
const ESCAPE: usize = 6;

/// Returns how far from the end any text can be; `None` where there is no bound.
pub(super) fn bound(graph: &Graph, cost: &dyn Fn(&[u8]) -> usize) -> Option<Growth> {
    if graph.has_grammars() {
        return None;
    }
    let mut depths = HashMap::new();
    let depth = graph.open_rules(graph.start(), &mut depths)?;
    let (mut open, mut level) = (0, 0);
    let mut wholes = Vec::with_capacity(graph.parts().len());
    for part in graph.parts() {
        let (flat, deep) = rest(part, cost)?;
        open = open.max(flat);
        level = level.max(deep);
        wholes.push(whole(part, cost)?);
    }
    let mut behind = vec![None; graph.junction_count() as usize];
    let all = 0..graph.junction_count();
    let most = all.map(|junction| graph.behind(junction, &wholes, &mut behind));
    Some(Growth::ByLevel {
        flat: open + (depth + 1) * most.max().unwrap_or(0),
        level,
        // The openers of JSON, of which parts have levels.
        openers: b"{[",
    })
}

impl Graph {
    /// Returns the most rules that are open inside of each other from a junction on; `None` where one opens itself.
    /// Recursion is as deep as they are.
    fn open_rules(&self, from: u32, known: &mut HashMap<u32, Option<usize>>) -> Option<usize> {
        if let Some(known) = known.get(&from) {
            return *known;
        }
        // Until it is known, meeting it again is a circle.
        known.insert(from, None);
        let mut most = 0;
        let mut seen = HashSet::from_iter([from]);
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            let here = self.junction(at);
            for &(entry, _) in &here.calls {
                most = most.max(self.open_rules(entry, known)? + 1);
            }
            let parts = here.parts.iter().map(|part| self.part(*part).after);
            let others = here
                .specials
                .iter()
                .chain(&here.calls)
                .map(|(_, after)| *after);
            open.extend(parts.chain(others).filter(|next| seen.insert(*next)));
        }
        known.insert(from, Some(most));
        Some(most)
    }

    /// Returns the tokens of the shortest text from a junction: each junction leads to one that is nearer to the end.
    fn behind(&self, junction: u32, wholes: &[usize], known: &mut [Option<usize>]) -> usize {
        let mut passed = Vec::new();
        let mut at = junction;
        let mut tokens = loop {
            if let Some(tokens) = known[at as usize] {
                break tokens;
            }
            let here = self.junction(at);
            let (takes, next) = match here.best {
                Best::Part(part) => (wholes[part as usize], self.part(part).after),
                Best::Special(special) => {
                    match here.specials.iter().find(|(known, _)| *known == special) {
                        Some((_, next)) => (1, *next),
                        None => break 0,
                    }
                }
                Best::Call(call) => {
                    let (entry, next) = here.calls[call as usize];
                    // No rule opens itself.
                    (self.behind(entry, wholes, known), next)
                }
                Best::End | Best::Return => break 0,
            };
            passed.push((at, takes));
            at = next;
        };
        for (at, takes) in passed.into_iter().rev() {
            tokens += takes;
            known[at as usize] = Some(tokens);
        }
        tokens
    }
}

/// Returns the most tokens that the rest of a part takes, and those that each of its open levels adds.
fn rest(part: &Part, cost: &dyn Fn(&[u8]) -> usize) -> Option<(usize, usize)> {
    let longest = |texts: &[Vec<u8>]| texts.iter().map(|text| cost(text)).max().unwrap_or(0);
    let flat = match &part.body {
        Body::Nothing => 0,
        Body::Literal(text) => cost(text),
        Body::Dfa(dfa) => match dfa.parts().ending?.growth(cost) {
            Growth::AtMost(tokens) => tokens,
            Growth::ByLevel { .. } | Growth::Unknown => return None,
        },
        Body::Quiet(quiet) => longest(quiet.completions()),
        Body::Json(json) => return json_rest(json, cost),
        Body::Grammar(_) => return None,
        Body::Free(_) => CHARACTER,
        // A longer trigger that a shorter one begins is spelt to its end.
        Body::Run(run) => CHARACTER.max(longest(&run.triggers)),
        Body::Tokens(tokens) => cost(&tokens.filler) + tokens.least as usize,
    };
    Some((flat, 0))
}

fn json_rest(json: &Json, cost: &dyn Fn(&[u8]) -> usize) -> Option<(usize, usize)> {
    let lasts = json
        .markers
        .as_ref()
        .map(Markers::lasts)
        .unwrap_or_default();
    let cost = |text: &[u8]| match json.spelling {
        // Behind what begins a marker its last byte is spelt by its escape.
        Spelling::Json if text.iter().any(|byte| lasts.contains(byte)) => text.len() * ESCAPE,
        Spelling::Json => cost(text),
        // Other text than that of the pieces: a token has a byte at least.
        Spelling::Raw => text.len(),
    };
    match json.automaton.parts().ending?.growth(&cost) {
        Growth::AtMost(flat) => Some((flat + ESCAPE, 0)),
        Growth::ByLevel { flat, level, .. } => Some((flat + ESCAPE, level)),
        Growth::Unknown => None,
    }
}

/// Returns the tokens of a shortest text of a part.
fn whole(part: &Part, cost: &dyn Fn(&[u8]) -> usize) -> Option<usize> {
    let mut text = Vec::new();
    if let Body::Tokens(tokens) = &part.body {
        return Some(cost(&tokens.filler) + tokens.least as usize);
    }
    let is_found = part.body.shortest(MAX_COMPLETION, &mut text);
    is_found.then(|| cost(&text))
}
