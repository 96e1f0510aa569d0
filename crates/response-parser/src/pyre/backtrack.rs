//! A backtracking machine with the semantics of CPython's: everything that an automaton
//! cannot say, and a budget so that no pattern and no text keep it busy for ever.
//!
//! The machine is the classic one of Thompson-style instructions run depth first (Cox,
//! "Regular Expression Matching: the Virtual Machine Approach", 2009) with an explicit stack
//! that holds both the choices left and what to undo on the way back to them. Sets repeated
//! without a group are one instruction and one stack entry, however long the run.

use regex_syntax::hir::ClassUnicode;

use super::class::{self, Category, CharSet, Fold};
use super::syntax::{Anchor, Node, Repeat, RepeatKind, Tree};

/// Most entries on the stack, 16 bytes each.
pub(super) const MAX_STACK: usize = 8 << 20;

/// The budget that a search hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exhausted {
    /// Steps of the machine.
    Steps,
    /// Entries on its stack.
    Stack,
    /// The text is longer than the machine can address.
    Text,
}

/// No position.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
enum Inst {
    Char(char),
    Set(usize),
    Assert(Anchor),
    Save(u32),
    Jump(usize),
    /// Go on at the first; the second is left as a choice.
    Split(usize, usize),
    Run {
        set: usize,
        min: u32,
        max: u32,
        lazy: bool,
    },
    Backref(usize, Fold),
    /// Go on, or at the target if the group has not taken part.
    IfGroup(usize, usize),
    LoopEnter(usize),
    /// Takes the next instruction, the body, as long as it may, else the exit.
    Loop {
        register: usize,
        min: u32,
        max: u32,
        exit: usize,
    },
    /// Takes the exit as soon as it may; the next instruction is a `LoopTake`.
    LazyLoop {
        register: usize,
        min: u32,
        max: u32,
        exit: usize,
    },
    LoopTake(usize),
    /// Remembers the height of the stack and the position.
    Mark(usize),
    /// Steps back over that many characters.
    Back(usize),
    /// Drops the choices made since the mark.
    Commit(usize),
    /// As `Commit`, and back to the marked position.
    CommitAt(usize),
    /// Undoes everything since the mark, then fails.
    Reject(usize),
    Match,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    Choice {
        pc: u32,
        at: u32,
    },
    /// A greedy run that may give back characters down to `low`.
    Greedy {
        pc: u32,
        low: u32,
        at: u32,
    },
    /// A lazy run that may take `left` characters more.
    Lazy {
        pc: u32,
        at: u32,
        left: u32,
    },
    Slot {
        slot: u32,
        old: u32,
    },
    Loop {
        register: u32,
        count: u32,
        last: u32,
    },
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    insts: Vec<Inst>,
    sets: Vec<CharSet>,
    groups: usize,
    loops: usize,
    marks: usize,
    /// A match can only start at the start of the text.
    anchored: bool,
    /// The first character of a match, where that is known and no match is empty.
    first: Option<CharSet>,
    word: CharSet,
    ascii_word: CharSet,
}

/// The machine's memory, kept between searches.
#[derive(Debug, Default)]
pub(super) struct Memory {
    stack: Vec<Entry>,
    slots: Vec<u32>,
    loops: Vec<(u32, u32)>,
    marks: Vec<(usize, u32)>,
}

impl Program {
    pub(super) fn new(tree: &Tree) -> Program {
        let mut compiler = Compiler {
            insts: Vec::new(),
            sets: Vec::new(),
            loops: 0,
            marks: 0,
        };
        compiler.node(&tree.root);
        compiler.insts.push(Inst::Match);
        let first = first_set(&tree.root).map(|class| CharSet::new(&class));
        Program {
            anchored: matches!(compiler.insts[0], Inst::Assert(Anchor::Start)),
            insts: compiler.insts,
            sets: compiler.sets,
            groups: tree.names.len(),
            loops: compiler.loops,
            marks: compiler.marks,
            first,
            word: CharSet::new(&class::category(Category::Word, false, false)),
            ascii_word: CharSet::new(&class::category(Category::Word, true, false)),
        }
    }

    /// The leftmost match that starts at `from` or later; its groups go to `slots`.
    ///
    /// With `advance` an empty match at `from` itself does not count. Every step is taken
    /// from `steps`.
    pub(super) fn search(
        &self,
        text: &str,
        from: usize,
        advance: bool,
        memory: &mut Memory,
        steps: &mut u64,
        slots: &mut Vec<Option<(usize, usize)>>,
    ) -> Result<bool, Exhausted> {
        if text.len() >= NONE as usize {
            return Err(Exhausted::Text);
        }
        let mut start = from;
        loop {
            if let Some(first) = &self.first {
                let Some((skip, _)) = text[start..]
                    .char_indices()
                    .find(|&(_, c)| first.contains(c))
                else {
                    return Ok(false);
                };
                start += skip;
                *steps = steps.saturating_sub(skip as u64 / 8);
            }
            if self.anchored && start > 0 {
                return Ok(false);
            }
            let barred = if advance { from as u32 } else { NONE };
            if self.run(text, start as u32, barred, memory, steps)? {
                slots.clear();
                slots.extend(memory.slots.chunks_exact(2).map(|pair| {
                    let taken = pair[0] != NONE && pair[1] != NONE;
                    taken.then_some((pair[0] as usize, pair[1] as usize))
                }));
                return Ok(true);
            }
            let Some(c) = text[start..].chars().next() else {
                return Ok(false);
            };
            start += c.len_utf8();
        }
    }

    fn run(
        &self,
        text: &str,
        start: u32,
        barred: u32,
        memory: &mut Memory,
        steps: &mut u64,
    ) -> Result<bool, Exhausted> {
        let Memory {
            stack,
            slots,
            loops,
            marks,
        } = memory;
        stack.clear();
        slots.clear();
        slots.resize(self.groups * 2, NONE);
        loops.clear();
        loops.resize(self.loops, (0, NONE));
        marks.clear();
        marks.resize(self.marks, (0, 0));
        slots[0] = start;
        let bytes = text.as_bytes();
        let next = |at: u32| text[at as usize..].chars().next();
        let (mut pc, mut at) = (0usize, start);
        loop {
            if *steps == 0 {
                return Err(Exhausted::Steps);
            }
            *steps -= 1;
            if stack.len() > MAX_STACK {
                return Err(Exhausted::Stack);
            }
            let going = match &self.insts[pc] {
                Inst::Char(c) => match next(at) {
                    Some(found) if found == *c => {
                        at += c.len_utf8() as u32;
                        pc += 1;
                        true
                    }
                    _ => false,
                },
                Inst::Set(set) => match next(at) {
                    Some(c) if self.sets[*set].contains(c) => {
                        at += c.len_utf8() as u32;
                        pc += 1;
                        true
                    }
                    _ => false,
                },
                Inst::Assert(anchor) => {
                    pc += 1;
                    self.holds(*anchor, text, at as usize)
                }
                Inst::Save(slot) => {
                    stack.push(Entry::Slot {
                        slot: *slot,
                        old: slots[*slot as usize],
                    });
                    slots[*slot as usize] = at;
                    pc += 1;
                    true
                }
                Inst::Jump(target) => {
                    pc = *target;
                    true
                }
                Inst::Split(prefer, other) => {
                    stack.push(Entry::Choice {
                        pc: *other as u32,
                        at,
                    });
                    pc = *prefer;
                    true
                }
                Inst::Run {
                    set,
                    min,
                    max,
                    lazy,
                } => {
                    let set = &self.sets[*set];
                    let take = if *lazy { *min } else { *max };
                    let mut taken = 0;
                    let mut low = at;
                    let mut end = at;
                    for c in text[at as usize..].chars() {
                        if taken == take || !set.contains(c) {
                            break;
                        }
                        end += c.len_utf8() as u32;
                        taken += 1;
                        if taken == *min {
                            low = end;
                        }
                    }
                    *steps = steps.saturating_sub(u64::from(taken) / 4);
                    if taken < *min {
                        false
                    } else {
                        at = end;
                        if *lazy {
                            if *max > *min {
                                stack.push(Entry::Lazy {
                                    pc: pc as u32,
                                    at,
                                    left: *max - *min,
                                });
                            }
                        } else if at > low {
                            stack.push(Entry::Greedy {
                                pc: pc as u32,
                                low,
                                at,
                            });
                        }
                        pc += 1;
                        true
                    }
                }
                Inst::Backref(group, fold) => {
                    let (from, to) = (slots[group * 2], slots[group * 2 + 1]);
                    pc += 1;
                    if from == NONE || to == NONE || to < from {
                        false
                    } else {
                        let wanted = &text[from as usize..to as usize];
                        *steps = steps.saturating_sub(wanted.len() as u64);
                        match same_text(wanted, &text[at as usize..], *fold) {
                            Some(length) => {
                                at += length as u32;
                                true
                            }
                            None => false,
                        }
                    }
                }
                Inst::IfGroup(group, otherwise) => {
                    let taken = slots[group * 2 + 1] != NONE;
                    pc = if taken { pc + 1 } else { *otherwise };
                    true
                }
                Inst::LoopEnter(register) => {
                    let (count, last) = loops[*register];
                    stack.push(Entry::Loop {
                        register: *register as u32,
                        count,
                        last,
                    });
                    loops[*register] = (0, NONE);
                    pc += 1;
                    true
                }
                Inst::Loop {
                    register,
                    min,
                    max,
                    exit,
                } => {
                    // An optional iteration that starts where the last one did is not tried.
                    let (count, last) = loops[*register];
                    let optional = count >= *min;
                    if optional && (count >= *max || at == last) {
                        pc = *exit;
                    } else {
                        if optional {
                            stack.push(Entry::Choice {
                                pc: *exit as u32,
                                at,
                            });
                        }
                        stack.push(Entry::Loop {
                            register: *register as u32,
                            count,
                            last,
                        });
                        loops[*register] = (count + 1, if optional { at } else { last });
                        pc += 1;
                    }
                    true
                }
                Inst::LazyLoop {
                    register,
                    min,
                    max,
                    exit,
                } => {
                    let (count, last) = loops[*register];
                    if count < *min {
                        stack.push(Entry::Loop {
                            register: *register as u32,
                            count,
                            last,
                        });
                        loops[*register].0 = count + 1;
                        pc += 2;
                    } else {
                        if count < *max && at != last {
                            stack.push(Entry::Choice {
                                pc: pc as u32 + 1,
                                at,
                            });
                        }
                        pc = *exit;
                    }
                    true
                }
                Inst::LoopTake(register) => {
                    let (count, last) = loops[*register];
                    stack.push(Entry::Loop {
                        register: *register as u32,
                        count,
                        last,
                    });
                    loops[*register] = (count + 1, at);
                    pc += 1;
                    true
                }
                Inst::Mark(mark) => {
                    marks[*mark] = (stack.len(), at);
                    pc += 1;
                    true
                }
                Inst::Back(width) => {
                    pc += 1;
                    let mut back = at as usize;
                    let mut reached = true;
                    for _ in 0..*width {
                        if back == 0 {
                            reached = false;
                            break;
                        }
                        back -= 1;
                        while !text.is_char_boundary(back) {
                            back -= 1;
                        }
                    }
                    *steps = steps.saturating_sub(*width as u64);
                    at = back as u32;
                    reached
                }
                Inst::Commit(mark) | Inst::CommitAt(mark) => {
                    let (height, marked) = marks[*mark];
                    *steps = steps.saturating_sub((stack.len() - height) as u64);
                    drop_choices(stack, height);
                    if matches!(self.insts[pc], Inst::CommitAt(_)) {
                        at = marked;
                    }
                    pc += 1;
                    true
                }
                Inst::Reject(mark) => {
                    let (height, _) = marks[*mark];
                    while stack.len() > height {
                        match stack.pop() {
                            Some(Entry::Slot { slot, old }) => slots[slot as usize] = old,
                            Some(Entry::Loop {
                                register,
                                count,
                                last,
                            }) => {
                                loops[register as usize] = (count, last);
                            }
                            _ => {}
                        }
                    }
                    false
                }
                Inst::Match => {
                    if at == barred && start == barred {
                        false
                    } else {
                        slots[1] = at;
                        return Ok(true);
                    }
                }
            };
            if going {
                continue;
            }
            // Back to the last choice, undoing what came after it.
            loop {
                let Some(entry) = stack.pop() else {
                    return Ok(false);
                };
                match entry {
                    Entry::Slot { slot, old } => slots[slot as usize] = old,
                    Entry::Loop {
                        register,
                        count,
                        last,
                    } => {
                        loops[register as usize] = (count, last);
                    }
                    Entry::Choice {
                        pc: target,
                        at: place,
                    } => {
                        (pc, at) = (target as usize, place);
                        break;
                    }
                    Entry::Greedy {
                        pc: run,
                        low,
                        at: place,
                    } => {
                        let mut back = place as usize - 1;
                        while bytes[back] & 0xC0 == 0x80 {
                            back -= 1;
                        }
                        at = back as u32;
                        if at > low {
                            stack.push(Entry::Greedy { pc: run, low, at });
                        }
                        pc = run as usize + 1;
                        break;
                    }
                    Entry::Lazy {
                        pc: run,
                        at: place,
                        left,
                    } => {
                        let Inst::Run { set, .. } = &self.insts[run as usize] else {
                            continue;
                        };
                        let Some(c) = next(place).filter(|&c| self.sets[*set].contains(c)) else {
                            continue;
                        };
                        at = place + c.len_utf8() as u32;
                        let left = if left == NONE { NONE } else { left - 1 };
                        if left > 0 {
                            stack.push(Entry::Lazy { pc: run, at, left });
                        }
                        pc = run as usize + 1;
                        break;
                    }
                }
            }
        }
    }

    fn holds(&self, anchor: Anchor, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        match anchor {
            Anchor::Start => at == 0,
            Anchor::End => at == bytes.len(),
            Anchor::EndOrFinalNewline => {
                at == bytes.len() || at + 1 == bytes.len() && bytes[at] == b'\n'
            }
            Anchor::LineStart => at == 0 || bytes[at - 1] == b'\n',
            Anchor::LineEnd => at == bytes.len() || bytes[at] == b'\n',
            // In an empty text neither holds, as in CPython.
            Anchor::Word { ascii } => !bytes.is_empty() && self.at_edge(text, at, ascii),
            Anchor::NotWord { ascii } => !bytes.is_empty() && !self.at_edge(text, at, ascii),
        }
    }

    fn at_edge(&self, text: &str, at: usize, ascii: bool) -> bool {
        let word = if ascii { &self.ascii_word } else { &self.word };
        let before = text[..at]
            .chars()
            .next_back()
            .is_some_and(|c| word.contains(c));
        let after = text[at..].chars().next().is_some_and(|c| word.contains(c));
        before != after
    }
}

/// How many bytes of `text` are the same as `wanted`, from the start.
fn same_text(wanted: &str, text: &str, fold: Fold) -> Option<usize> {
    if fold == Fold::Case {
        return text.starts_with(wanted).then_some(wanted.len());
    }
    let mut rest = text.chars();
    for c in wanted.chars() {
        if !class::same(c, rest.next()?, fold) {
            return None;
        }
    }
    Some(text.len() - rest.as_str().len())
}

/// Removes the choices above `height` and keeps what there is to undo.
fn drop_choices(stack: &mut Vec<Entry>, height: usize) {
    let mut kept = height;
    for i in height..stack.len() {
        if matches!(stack[i], Entry::Slot { .. } | Entry::Loop { .. }) {
            stack[kept] = stack[i];
            kept += 1;
        }
    }
    stack.truncate(kept);
}

/// A set that holds the first character of every match, unless a match can be empty or its
/// first character cannot be told.
fn first_set(node: &Node) -> Option<ClassUnicode> {
    match node {
        Node::Char(c) => {
            let mut class = ClassUnicode::empty();
            class.push(regex_syntax::hir::ClassUnicodeRange::new(*c, *c));
            Some(class)
        }
        Node::Set(class) => Some(class.clone()),
        Node::Group(_, node) | Node::Atomic(node) => first_set(node),
        Node::Concat(nodes) => {
            let mut nodes = nodes.iter();
            // What consumes nothing says nothing about the first character.
            let node = nodes.find(|node| !matches!(node, Node::Anchor(_) | Node::Look { .. }))?;
            first_set(node)
        }
        Node::Alternate(nodes) => {
            let mut all = ClassUnicode::empty();
            for node in nodes {
                all.union(&first_set(node)?);
            }
            Some(all)
        }
        Node::Repeat(repeat) if repeat.min > 0 => first_set(&repeat.node),
        Node::Repeat(_)
        | Node::Anchor(_)
        | Node::Look { .. }
        | Node::Backref(..)
        | Node::Conditional { .. } => None,
    }
}

struct Compiler {
    insts: Vec<Inst>,
    sets: Vec<CharSet>,
    loops: usize,
    marks: usize,
}

impl Compiler {
    fn set(&mut self, class: &ClassUnicode) -> usize {
        let set = CharSet::new(class);
        if let Some(known) = self.sets.iter().position(|known| *known == set) {
            return known;
        }
        self.sets.push(set);
        self.sets.len() - 1
    }

    fn mark(&mut self) -> usize {
        self.marks += 1;
        self.marks - 1
    }

    fn push(&mut self, inst: Inst) -> usize {
        self.insts.push(inst);
        self.insts.len() - 1
    }

    /// Appends the node's instructions. Recursion is bounded by the parser's nesting limit.
    fn node(&mut self, node: &Node) {
        match node {
            Node::Char(c) => {
                self.push(Inst::Char(*c));
            }
            Node::Set(class) => {
                let set = self.set(class);
                self.push(Inst::Set(set));
            }
            Node::Anchor(anchor) => {
                self.push(Inst::Assert(*anchor));
            }
            Node::Group(group, node) => {
                self.push(Inst::Save(*group as u32 * 2));
                self.node(node);
                self.push(Inst::Save(*group as u32 * 2 + 1));
            }
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.node(node)),
            Node::Alternate(nodes) => self.alternate(nodes),
            Node::Repeat(repeat) => self.repeat(repeat),
            Node::Look {
                behind,
                negated,
                node,
            } => {
                let mark = self.mark();
                self.push(Inst::Mark(mark));
                let split = negated.then(|| self.push(Inst::Split(0, 0)));
                if let Some(width) = behind {
                    self.push(Inst::Back(*width));
                }
                self.node(node);
                match split {
                    None => {
                        self.push(Inst::CommitAt(mark));
                    }
                    Some(split) => {
                        self.push(Inst::Reject(mark));
                        self.insts[split] = Inst::Split(split + 1, self.insts.len());
                    }
                }
            }
            Node::Backref(group, fold) => {
                self.push(Inst::Backref(*group, *fold));
            }
            Node::Conditional { group, yes, no } => {
                let test = self.push(Inst::IfGroup(*group, 0));
                self.node(yes);
                let jump = self.push(Inst::Jump(0));
                self.insts[test] = Inst::IfGroup(*group, self.insts.len());
                self.node(no);
                self.insts[jump] = Inst::Jump(self.insts.len());
            }
            Node::Atomic(node) => {
                let mark = self.mark();
                self.push(Inst::Mark(mark));
                self.node(node);
                self.push(Inst::Commit(mark));
            }
        }
    }

    fn alternate(&mut self, nodes: &[Node]) {
        let mut jumps = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            if i + 1 == nodes.len() {
                self.node(node);
                break;
            }
            let split = self.push(Inst::Split(0, 0));
            self.node(node);
            jumps.push(self.push(Inst::Jump(0)));
            self.insts[split] = Inst::Split(split + 1, self.insts.len());
        }
        for jump in jumps {
            self.insts[jump] = Inst::Jump(self.insts.len());
        }
    }

    fn repeat(&mut self, repeat: &Repeat) {
        let (min, max) = (repeat.min, repeat.max.unwrap_or(NONE));
        let one = match &repeat.node {
            Node::Set(class) => Some(self.set(class)),
            Node::Char(c) => {
                let mut class = ClassUnicode::empty();
                class.push(regex_syntax::hir::ClassUnicodeRange::new(*c, *c));
                Some(self.set(&class))
            }
            _ => None,
        };
        if let (Some(set), RepeatKind::Greedy | RepeatKind::Lazy) = (one, repeat.kind) {
            self.push(Inst::Run {
                set,
                min,
                max,
                lazy: repeat.kind == RepeatKind::Lazy,
            });
            return;
        }
        let register = self.loops;
        self.loops += 1;
        self.push(Inst::LoopEnter(register));
        let again = self.insts.len();
        match repeat.kind {
            RepeatKind::Greedy => {
                let test = self.push(Inst::Jump(0));
                self.node(&repeat.node);
                self.push(Inst::Jump(again));
                self.insts[test] = Inst::Loop {
                    register,
                    min,
                    max,
                    exit: self.insts.len(),
                };
            }
            RepeatKind::Lazy => {
                let test = self.push(Inst::Jump(0));
                self.push(Inst::LoopTake(register));
                self.node(&repeat.node);
                self.push(Inst::Jump(again));
                self.insts[test] = Inst::LazyLoop {
                    register,
                    min,
                    max,
                    exit: self.insts.len(),
                };
            }
            RepeatKind::Possessive => {
                // Each iteration is atomic, and drops the choice of leaving before it.
                let mark = self.mark();
                self.push(Inst::Mark(mark));
                let test = self.push(Inst::Jump(0));
                self.node(&repeat.node);
                self.push(Inst::Commit(mark));
                self.push(Inst::Jump(again));
                self.insts[test] = Inst::Loop {
                    register,
                    min,
                    max,
                    exit: self.insts.len(),
                };
            }
        }
    }
}
