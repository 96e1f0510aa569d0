//! A linear machine for a text that arrives piece by piece.
//!
//! All ways through the pattern are followed at once, in order of preference (Pike's
//! machine: Cox, "Regular Expression Matching: the Virtual Machine Approach", 2009), so that
//! at any moment it is known whether a match is settled, whatever follows, and if not, where
//! the earliest match that is still possible starts. Each character costs at most one visit
//! of each instruction. Places where no match can start are skipped by a scan for bytes.
//!
//! For example, of `ab|a` on `a` at the end of a piece nothing is settled: `b` may follow.

use super::backtrack::first_set;
use super::syntax::class::{self, Category, CharSet};
use super::syntax::tree::{Assertion, Node, RepeatKind, Tree};

/// The most instructions of a pattern, counted repetitions written out. Larger ones run on the
/// other machine, because each character may visit every instruction.
const MAX_INSTS: usize = 4096;

/// A settled match, an open question, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    Match(usize, usize),
    /// A match may start here; more text will tell.
    Open(usize),
    None,
}

#[derive(Debug)]
enum ThreadInst {
    Char(char),
    Set(CharSet),
    Assert(Assertion),
    Jump(usize),
    /// Go on at both, the first preferred.
    Split(usize, usize),
    Match,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Threads {
    insts: Vec<ThreadInst>,
    start: Start,
    word: CharSet,
    ascii_word: CharSet,
    empty_is_no_edge: bool,
}

/// The places at which a match can start.
#[derive(Debug)]
enum Start {
    Anywhere,
    /// At the start of the text only.
    Text,
    /// At one of up to three ASCII bytes, looked for by `memchr`.
    Bytes(Vec<u8>),
    /// At one of these bytes.
    Table(Box<[bool; 256]>),
}

/// The machine's state between two pieces.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The place of the next character.
    at: usize,
    /// Ways that are open, the preferred first: an instruction, and where its match starts.
    live: Vec<(usize, usize)>,
    next: Vec<(usize, usize)>,
    /// The best match so far.
    found: Option<(usize, usize)>,
    /// For each instruction, the last round that visited it.
    seen: Vec<u64>,
    round: u64,
    stack: Vec<usize>,
}

impl State {
    /// Forgets everything and reads on from `at`.
    pub(super) fn restart(&mut self, at: usize) {
        self.at = at;
        self.live.clear();
        self.found = None;
    }

    /// Returns the start of the earliest open match.
    pub(super) fn earliest(&self) -> Option<usize> {
        self.live.first().map(|&(_, start)| start)
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }
}

/// The result of an instruction at one place.
enum Reached {
    /// The list of ways is used up.
    End,
    Match,
    /// An anchor cannot be told before more text is there.
    Unknown,
}

impl Threads {
    /// Compiles the tree, or returns `None` for what this machine cannot do.
    pub(super) fn new(tree: &Tree) -> Option<Threads> {
        let mut insts = Vec::new();
        compile(&tree.root, &mut insts)?;
        insts.push(ThreadInst::Match);
        let start = if matches!(insts[0], ThreadInst::Assert(Assertion::Start)) {
            Start::Text
        } else {
            starts(&tree.root)
        };
        let word =
            |ascii| CharSet::new(&class::category(Category::Word, tree.dialect, ascii, false));
        Some(Threads {
            insts,
            start,
            word: word(false),
            ascii_word: word(true),
            empty_is_no_edge: tree.dialect == class::Dialect::Regex,
        })
    }

    /// Reads on to the end of `text`, or to a settled match. Each visit of an instruction is
    /// taken from `steps`, which never falls below zero; the caller looks.
    pub(super) fn scan(&self, text: &str, state: &mut State, steps: &mut u64) -> Scanned {
        state.seen.resize(self.insts.len(), 0);
        while state.at < text.len() {
            if state.live.is_empty() && state.found.is_none() {
                match self.skip(text, state.at) {
                    Some(at) => state.at = at,
                    None => {
                        state.at = text.len();
                        break;
                    }
                }
            }
            let Some(c) = text[state.at..].chars().next() else {
                break;
            };
            state.round += 1;
            state.next.clear();
            let mut live = std::mem::take(&mut state.live);
            let old = live.len();
            if state.found.is_none() && self.may_start(state.at) {
                live.push((0, state.at));
            }
            let mut outcome = Reached::End;
            let mut place = state.at;
            for &(pc, start) in &live {
                place = start;
                outcome = self.follow(text, pc, start, Some(c), state, steps);
                match outcome {
                    Reached::End => {}
                    Reached::Match => {
                        state.found = Some((start, state.at));
                        break;
                    }
                    Reached::Unknown => break,
                }
            }
            if let Reached::Unknown = outcome {
                live.truncate(old);
                state.live = live;
                let first = state.next.first().map_or(place, |&(_, start)| start);
                return Scanned::Open(first);
            }
            std::mem::swap(&mut live, &mut state.next);
            state.live = live;
            state.at += c.len_utf8();
            if let (Some((from, to)), true) = (state.found, state.live.is_empty()) {
                return Scanned::Match(from, to);
            }
        }
        self.at_end(text, state, steps)
    }

    /// Returns the knowledge at the end of the text so far.
    fn at_end(&self, text: &str, state: &mut State, steps: &mut u64) -> Scanned {
        state.round += 1;
        state.next.clear();
        let live = std::mem::take(&mut state.live);
        let mut scanned = match state.found {
            Some((from, to)) => Scanned::Match(from, to),
            None => Scanned::None,
        };
        for &(pc, start) in &live {
            let outcome = self.follow(text, pc, start, None, state, steps);
            if !state.next.is_empty() || matches!(outcome, Reached::Unknown) {
                scanned = Scanned::Open(start);
                break;
            }
            if let Reached::Match = outcome {
                scanned = Scanned::Match(start, text.len());
                break;
            }
        }
        state.next.clear();
        state.live = live;
        scanned
    }

    /// Follows the ways from `pc` that consume nothing, and steps over `c`, or, without one,
    /// puts every way that wants a character into `next`.
    fn follow(
        &self,
        text: &str,
        pc: usize,
        start: usize,
        c: Option<char>,
        state: &mut State,
        steps: &mut u64,
    ) -> Reached {
        state.stack.clear();
        state.stack.push(pc);
        while let Some(pc) = state.stack.pop() {
            if state.seen[pc] == state.round {
                continue;
            }
            state.seen[pc] = state.round;
            *steps = steps.saturating_sub(1);
            let taken = match &self.insts[pc] {
                ThreadInst::Char(wanted) => c.is_none_or(|c| c == *wanted),
                ThreadInst::Set(set) => c.is_none_or(|c| set.contains(c)),
                ThreadInst::Jump(target) => {
                    state.stack.push(*target);
                    continue;
                }
                ThreadInst::Split(prefer, other) => {
                    state.stack.push(*other);
                    state.stack.push(*prefer);
                    continue;
                }
                ThreadInst::Assert(anchor) => {
                    if super::backtrack::depends_on_end(*anchor, text.as_bytes(), state.at) {
                        return Reached::Unknown;
                    }
                    if self.holds(*anchor, text, state.at) {
                        state.stack.push(pc + 1);
                    }
                    continue;
                }
                ThreadInst::Match => return Reached::Match,
            };
            if taken {
                state.next.push((pc + 1, start));
            }
        }
        Reached::End
    }

    fn may_start(&self, at: usize) -> bool {
        !matches!(self.start, Start::Text) || at == 0
    }

    /// The first place from `at` on where a match may start, before the end.
    fn skip(&self, text: &str, at: usize) -> Option<usize> {
        let rest = &text.as_bytes()[at..];
        let found = match &self.start {
            Start::Anywhere => Some(0),
            Start::Text => (at == 0).then_some(0),
            Start::Bytes(bytes) => match **bytes {
                [a] => memchr::memchr(a, rest),
                [a, b] => memchr::memchr2(a, b, rest),
                [a, b, c] => memchr::memchr3(a, b, c, rest),
                _ => None,
            },
            Start::Table(table) => rest.iter().position(|&b| table[usize::from(b)]),
        };
        found.map(|skip| at + skip)
    }

    fn holds(&self, anchor: Assertion, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        match anchor {
            Assertion::Start => at == 0,
            Assertion::LineStart => at == 0 || bytes[at - 1] == b'\n',
            Assertion::LineEnd => bytes.get(at) == Some(&b'\n'),
            // Asked only where the end is further on.
            Assertion::End | Assertion::EndOrFinalNewline => false,
            Assertion::Word { ascii } => self.at_edge(text, at, ascii),
            Assertion::NotWord { .. } if bytes.is_empty() => self.empty_is_no_edge,
            Assertion::NotWord { ascii } => !self.at_edge(text, at, ascii),
        }
    }

    fn at_edge(&self, text: &str, at: usize, ascii: bool) -> bool {
        let word = if ascii { &self.ascii_word } else { &self.word };
        let before = text[..at].chars().next_back();
        let after = text[at..].chars().next();
        before.is_some_and(|c| word.contains(c)) != after.is_some_and(|c| word.contains(c))
    }
}

/// The bytes that a match can start with.
fn starts(root: &Node) -> Start {
    let Some(first) = first_set(root) else {
        return Start::Anywhere;
    };
    let mut table = Box::new([false; 256]);
    for range in first.ranges() {
        // Beyond ASCII the first byte of a character tells enough.
        for c in range.start()..=range.end().min('\x7F') {
            table[c as usize] = true;
        }
        if range.end() > '\x7F' {
            let lead = |c: char| c.encode_utf8(&mut [0; 4]).as_bytes()[0];
            let from = lead(range.start().max('\u{80}'));
            for byte in from..=lead(range.end()) {
                table[usize::from(byte)] = true;
            }
        }
    }
    let bytes: Vec<u8> = (0..=255).filter(|&b| table[usize::from(b)]).collect();
    match bytes.len() {
        1..=3 => Start::Bytes(bytes),
        _ => Start::Table(table),
    }
}

/// Appends the node's instructions. Recursion is bounded by the parser's nesting limit.
fn compile(node: &Node, insts: &mut Vec<ThreadInst>) -> Option<()> {
    if insts.len() > MAX_INSTS {
        return None;
    }
    match node {
        Node::Char(c) => insts.push(ThreadInst::Char(*c)),
        Node::Set(class) => insts.push(ThreadInst::Set(CharSet::new(class))),
        Node::Anchor(anchor) => insts.push(ThreadInst::Assert(*anchor)),
        Node::Group(_, node) => compile(node, insts)?,
        Node::Concat(nodes) => {
            for node in nodes {
                compile(node, insts)?;
            }
        }
        Node::Alternate(nodes) => {
            let mut jumps = Vec::new();
            for (i, node) in nodes.iter().enumerate() {
                if i + 1 == nodes.len() {
                    compile(node, insts)?;
                    break;
                }
                let split = insts.len();
                insts.push(ThreadInst::Match);
                compile(node, insts)?;
                jumps.push(insts.len());
                insts.push(ThreadInst::Match);
                insts[split] = ThreadInst::Split(split + 1, insts.len());
            }
            let end = insts.len();
            for jump in jumps {
                insts[jump] = ThreadInst::Jump(end);
            }
        }
        Node::Repeat(repeat) => {
            let once = repeat.max.is_some_and(|max| max <= 1);
            if repeat.kind == RepeatKind::Possessive || !once && repeat.node.is_nullable() {
                return None;
            }
            let greedy = repeat.kind == RepeatKind::Greedy;
            let split = |stay: usize, leave: usize| match greedy {
                true => ThreadInst::Split(stay, leave),
                false => ThreadInst::Split(leave, stay),
            };
            for _ in 0..repeat.min {
                compile(&repeat.node, insts)?;
            }
            match repeat.max {
                None => {
                    let again = insts.len();
                    insts.push(ThreadInst::Match);
                    compile(&repeat.node, insts)?;
                    insts.push(ThreadInst::Jump(again));
                    insts[again] = split(again + 1, insts.len());
                }
                Some(max) => {
                    let mut exits = Vec::new();
                    for _ in repeat.min..max {
                        exits.push(insts.len());
                        insts.push(ThreadInst::Match);
                        compile(&repeat.node, insts)?;
                    }
                    let end = insts.len();
                    for exit in exits {
                        insts[exit] = split(exit + 1, end);
                    }
                }
            }
        }
        Node::Look { .. }
        | Node::Backref(..)
        | Node::Conditional { .. }
        | Node::Atomic(_)
        | Node::Keep => return None,
    }
    (insts.len() <= MAX_INSTS).then_some(())
}
