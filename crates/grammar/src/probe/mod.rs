//! Probes of what masks will cost: texts that the grammar itself leads along, and behind each the
//! bytes that may come next, as a mask tries them.
//!
//! A parser that keeps all stacks pays for each way to read a text, and no table tells how many
//! there will be. For example, `s: t s "b" | "a"`, `t: s s | "b"` looks cheap behind five bytes.

mod circles;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use foldhash::fast::FixedState;
use fsm_index::ByteSet;

use crate::compile::cfg::Symbol;
use crate::completion::live::Live;
use crate::completion::ways::{Said, spell};
use crate::machine::Machine;
use crate::probe::circles::Circles;
use crate::run::caches::Caches;
use crate::run::step::Steps;

/// The most texts of one kind, because each goes another way. A second one is left out if all steps of the first needed little, as
/// in languages, which compile in a tenth less without it.
const TEXTS: u64 = 2;

/// The circles of nonterminals of which texts are made, because compiling must stay fast and
/// grammars that people write have few.
const CIRCLES: usize = 8;

/// The bytes of a text, because ways that multiply have done so by then.
const BYTES: usize = 128;

/// The alternatives of a circle that a text goes through: about as many as it has bytes, because
/// most take one or two.
const GROWN: usize = 100;

/// The steps behind a text, because compiling must stay fast, and a vocabulary of a hundred
/// thousand tokens has some times more that differ.
const STEPS: usize = 2_000;

/// The most steps behind a text where the first ones leave much of a vocabulary untried, because
/// each byte leads to stacks of its own then: a mask meets as many as the vocabulary has nodes.
const MORE_STEPS: usize = 20_000;

/// The nodes below places that were not tried which are much: a tenth of all. Behind texts of
/// programming languages a hundredth is left, because few ways to read on are of likely bytes.
const MUCH_LEFT: u64 = NODES / 10;

/// The nodes of a vocabulary among which a step's are counted: those that begin with some bytes are
/// a part of it by how often these are. It is some times what vocabularies have, because texts that
/// repeat a byte are more frequent than chance has it.
const NODES: u64 = 10_000_000;

/// [`NODES`] is so many times what large vocabularies have, because those of 260,000 tokens have some 700,000.
const TIMES: u64 = NODES / 1_000_000;

/// Steps behind a text after which those are left out that cost far less than the limit, because
/// more of them would not cost otherwise.
const FIRST_STEPS: usize = 100;

/// A grammar that costs more than its limit.
pub(crate) struct Costly {
    /// By nonterminal: the work of its reductions.
    pub(crate) by_rule: Vec<u64>,
}

/// Texts of one grammar.
struct Probe<'a> {
    machine: &'a Machine,
    caches: &'a mut Caches,
    /// The configuration before the first byte.
    begin: u32,
    /// The work that steps behind a text may need.
    most: u64,
    /// The work of the dearest step of a text behind which others were within the limit: behind one
    /// whose steps need less they are not tried.
    calm: u64,
    /// The state of a linear congruential generator (Knuth's MMIX).
    random: u64,
}

/// The cost of the steps behind a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cost {
    /// The first ones need far less work than the limit.
    Little,
    Within,
    Over,
}

/// The end of a text, and the place behind its dearest step.
struct Walked {
    end: u32,
    dearest: (u64, u32),
}

/// Tells whether the steps behind some texts of a grammar need more work than a limit.
pub(crate) fn probe(
    machine: &Machine,
    caches: &mut Caches,
    begin: u32,
    most: usize,
) -> Option<Costly> {
    if most == usize::MAX {
        return None;
    }
    caches.work_mut().count_rules(machine.cfg().rules.len());
    let mut probe = Probe {
        machine,
        caches,
        begin,
        most: most as u64,
        calm: 0,
        random: 0,
    };
    let is_costly = probe.is_costly();
    let by_rule = caches.work_mut().unbound();
    is_costly.then_some(Costly { by_rule })
}

impl Probe<'_> {
    fn is_costly(&mut self) -> bool {
        let machine = self.machine;
        let circles = Circles::new(machine.cfg(), machine.tables());
        let circles_of = circles.first.iter().take(CIRCLES).copied().map(Some);
        [None]
            .into_iter()
            .chain(circles_of)
            .any(|circle| self.is_costly_in(&circles, circle))
    }

    /// Tells whether steps behind texts of a circle, or of any bytes, are over the limit.
    fn is_costly_in(&mut self, circles: &Circles<'_>, circle: Option<u32>) -> bool {
        for seed in 0..TEXTS {
            self.random = seed;
            let begun = match circle {
                None => Some(self.begun()),
                Some(rule) => self.text_in(circles, rule),
            };
            let Some(walked) = begun.and_then(|begun| self.any_text(begun)) else {
                return true;
            };
            if walked.dearest.0 <= self.most / STEPS as u64 {
                return false;
            }
            if self.is_costly_behind(&walked) {
                return true;
            }
        }
        false
    }

    /// Goes to a circle, and along a text of it. `None` if that is over the limit.
    fn text_in(&mut self, circles: &Circles<'_>, rule: u32) -> Option<Walked> {
        let grown = circles.grown(rule, GROWN, || next_random(&mut self.random));
        self.text(&circles.before(rule), &grown)
    }

    /// Takes a step, whose work alone counts. `None` if that is over the limit.
    fn step(
        &mut self,
        walked: &mut Walked,
        step: impl FnOnce(&mut Self, u32) -> u32,
    ) -> Option<u32> {
        self.caches.work_mut().bound(self.most);
        let next = step(self, walked.end);
        let work = self.caches.work();
        if work.is_over() {
            return None;
        }
        if next != 0 {
            walked.end = next;
            walked.dearest = walked.dearest.max((work.spent(), next));
        }
        Some(next)
    }

    /// Begins a walk, in which values of JSON are read as masks read them.
    fn begun(&mut self) -> Walked {
        let end = Steps::new(self.machine, self.caches).begin_walk(self.begin);
        Walked {
            end,
            dearest: (0, end),
        }
    }

    /// Goes along a text of any bytes that may come. `None` if that is over the limit.
    fn any_text(&mut self, mut walked: Walked) -> Option<Walked> {
        let mut path = Vec::new();
        for _ in 0..BYTES {
            path.push(walked.end);
            if self.step(&mut walked, Self::any_step)? == 0 {
                // The whole is complete: it goes on otherwise some bytes before.
                let back = 1 + next_random(&mut self.random) % 8;
                path.truncate(path.len().saturating_sub(back).max(1));
                walked.end = path[path.len() - 1];
            }
        }
        Some(walked)
    }

    /// Goes along the shortest text of some symbols, and so many bytes of that of others. `None` if
    /// that is over the limit.
    fn text(&mut self, before: &[Symbol], symbols: &[Symbol]) -> Option<Walked> {
        let mut walked = self.begun();
        for (symbols, most) in [(before, usize::MAX), (symbols, BYTES)] {
            let mut text = Vec::new();
            spell(self.machine, symbols, &mut text);
            let mut left = most;
            for said in text {
                let bytes = match said {
                    Said::Bytes(bytes) => bytes,
                    Said::Special(special) => {
                        let step = |probe: &mut Self, at| probe.live().step_special(at, special);
                        self.step(&mut walked, step)?;
                        continue;
                    }
                };
                for &byte in bytes.iter().take(left) {
                    // Greedy lexing may read it otherwise, or not at all.
                    self.step(&mut walked, |probe, at| probe.live().step(at, byte))?;
                }
                left = left.saturating_sub(bytes.len());
            }
        }
        Some(walked)
    }

    fn live(&mut self) -> Live<'_> {
        Live::new(self.machine, self.caches)
    }

    /// Takes a byte, or a special token, that may come.
    fn any_step(&mut self, at: u32) -> u32 {
        let mut bytes = self.machine.lexer().bytes.clone();
        while !bytes.is_empty() && !self.caches.work().is_over() {
            let chosen = next_random(&mut self.random) % bytes.len();
            let byte = bytes.swap_remove(chosen);
            match self.live().step(at, byte) {
                0 => {}
                next => return next,
            }
        }
        let mut specials = 0..self.machine.cfg().specials.len() as u32;
        let next = specials.find_map(|special| match self.live().step_special(at, special) {
            0 => None,
            next => Some(next),
        });
        next.unwrap_or(0)
    }

    /// Tells whether the steps behind a text are over the limit.
    fn is_costly_behind(&mut self, walked: &Walked) -> bool {
        let (work, dearest) = walked.dearest;
        if work <= self.calm {
            return false;
        }
        let is_costly = match self.cost_behind(dearest) {
            Cost::Little => false,
            Cost::Within => self.cost_behind(walked.end) == Cost::Over,
            Cost::Over => true,
        };
        if !is_costly {
            self.calm = work;
        }
        is_costly
    }

    /// Returns the cost of the steps behind a place that a vocabulary may have, the likeliest ones
    /// first.
    fn cost_behind(&mut self, begin: u32) -> Cost {
        let lexer = self.machine.lexer();
        let weight = |set: &ByteSet| (0..=u8::MAX).filter(|&b| set.has(b)).map(weight).sum();
        let weights = lexer.sets.iter().map(weight);
        let mut likely: Vec<(u64, u8)> = weights.zip(lexer.bytes.iter().copied()).collect();
        likely.sort_unstable_by_key(|class| Reverse(*class));
        let total: u64 = (0..=u8::MAX).map(self::weight).sum();
        self.caches.work_mut().bound(self.most);
        let mut seen: HashSet<u32, FixedState> = HashSet::from_iter([begin]);
        let mut open = BinaryHeap::from([(NODES, begin)]);
        let (mut steps, mut left) = (0, NODES);
        let few = self.most / (2 * STEPS / FIRST_STEPS) as u64;
        let mut behind: Vec<(u32, u64)> = Vec::new();
        while let Some((nodes, at)) = open.pop() {
            if steps >= STEPS && (left < MUCH_LEFT || steps >= MORE_STEPS) {
                break;
            }
            left -= nodes;
            behind.clear();
            // As many bytes come behind a place as a vocabulary has nodes there, at most.
            let most = usize::try_from(nodes.div_ceil(TIMES)).unwrap_or(usize::MAX);
            for &(weight, byte) in likely.iter().take(most) {
                behind.push((self.live().step(at, byte), weight));
                if self.caches.work().is_over() {
                    return Cost::Over;
                }
            }
            behind.sort_unstable();
            for alike in behind.chunk_by(|a, b| a.0 == b.0) {
                let next = alike[0].0;
                let weight: u64 = alike.iter().map(|step| step.1).sum();
                let nodes = nodes * weight / total;
                if next == 0 || nodes == 0 {
                    continue;
                }
                if seen.insert(next) {
                    open.push((nodes, next));
                    left += nodes;
                }
                steps += 1;
                let is_calm = steps == FIRST_STEPS && self.caches.work().spent() < few;
                if is_calm {
                    return Cost::Little;
                }
            }
        }
        Cost::Within
    }
}

/// Returns how often a byte is in the texts of tokens, about: letters are, and what is no ASCII is
/// in few tokens each.
fn weight(byte: u8) -> u64 {
    match byte {
        b'a'..=b'z' => 30,
        b' ' => 60,
        b'!'..=b'~' => 4,
        _ => 1,
    }
}

fn next_random(state: &mut u64) -> usize {
    let next = state.wrapping_mul(6_364_136_223_846_793_005);
    *state = next.wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}
