//! A backtracking machine with the semantics of CPython's: everything that an automaton
//! cannot say, and a budget so that no pattern and no text keep it busy for ever.
//!
//! The machine is the classic one of Thompson-style instructions run depth first (Cox,
//! "Regular Expression Matching: the Virtual Machine Approach", 2009) with an explicit stack
//! that holds both the choices left and what to undo on the way back to them. Sets repeated
//! without a group are one instruction and one stack entry, however long the run.
//!
//! For example, `(a)\1` matches `aa`, and `(?=a)` looks at an `a` without taking it.

mod compile;

use super::syntax::class::{self, CharSet, Fold};
use super::syntax::tree::Anchor;

pub(super) use compile::first_set;

/// The most entries on the stack, 16 bytes each: 128 MiB, because a long text under nested loops
/// needs an entry for each character.
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

/// No position: the largest number, because texts of that length are refused.
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
    /// Steps back over `least` characters, and over more if that fails.
    BackFrom {
        least: u32,
        most: u32,
    },
    /// Goes on only at the marked position.
    AtMark(usize),
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
    /// A step back that may go back over `left` characters more.
    Back {
        pc: u32,
        at: u32,
        left: u32,
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
    /// In an empty text `\B` holds.
    empty_is_no_edge: bool,
    /// Instructions that read only what lies before the place that is asked about.
    quiet: Vec<bool>,
}

/// The machine's memory, kept between searches.
#[derive(Debug, Default)]
pub(super) struct Memory {
    stack: Vec<Entry>,
    slots: Vec<u32>,
    loops: Vec<(u32, u32)>,
    marks: Vec<(usize, u32)>,
    /// The last attempt looked at the end of the text, so that more text might have led to
    /// another answer.
    touched: bool,
}

impl Memory {
    /// The groups of the match that was found.
    fn groups(&self, slots: &mut Vec<Option<(usize, usize)>>) {
        slots.clear();
        slots.extend(self.slots.chunks_exact(2).map(|pair| {
            let taken = pair[0] != NONE && pair[1] != NONE;
            taken.then_some((pair[0] as usize, pair[1] as usize))
        }));
    }
}

/// The result of a search in an unfinished text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partial {
    /// A match from here to there that no further text can change.
    Match(usize, usize),
    /// It depends on further text; a match starts here or later.
    Open(usize),
    /// No match in this text.
    None,
}

impl Program {
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
        let mut start = from;
        let barred = if advance { from as u32 } else { NONE };
        while let Some(place) = self.candidate(text, start, steps)? {
            if self.run(text, place as u32, barred, memory, steps)? {
                memory.groups(slots);
                return Ok(true);
            }
            let Some(c) = text[place..].chars().next() else {
                return Ok(false);
            };
            start = place + c.len_utf8();
        }
        Ok(false)
    }

    /// The match that starts at `from` exactly; its groups go to `slots`.
    pub(super) fn match_at(
        &self,
        text: &str,
        from: usize,
        memory: &mut Memory,
        steps: &mut u64,
        slots: &mut Vec<Option<(usize, usize)>>,
    ) -> Result<bool, Exhausted> {
        if text.len() >= NONE as usize {
            return Err(Exhausted::Text);
        }
        let matched = self.run(text, from as u32, NONE, memory, steps)?;
        if matched {
            memory.groups(slots);
        }
        Ok(matched)
    }

    /// The leftmost match that starts at `from` or later, in a text of which more may come.
    pub(super) fn search_partial(
        &self,
        text: &str,
        from: usize,
        memory: &mut Memory,
        steps: &mut u64,
    ) -> Result<Partial, Exhausted> {
        let mut start = from;
        while let Some(place) = self.candidate(text, start, steps)? {
            let matched = self.run(text, place as u32, NONE, memory, steps)?;
            if memory.touched {
                return Ok(Partial::Open(place));
            }
            if matched {
                return Ok(Partial::Match(
                    memory.slots[0] as usize,
                    memory.slots[1] as usize,
                ));
            }
            let Some(c) = text[place..].chars().next() else {
                break;
            };
            start = place + c.len_utf8();
        }
        Ok(Partial::None)
    }

    /// The first place from `start` on where a match may start.
    fn candidate(
        &self,
        text: &str,
        start: usize,
        steps: &mut u64,
    ) -> Result<Option<usize>, Exhausted> {
        if text.len() >= NONE as usize {
            return Err(Exhausted::Text);
        }
        if self.anchored && start > 0 {
            return Ok(None);
        }
        let Some(first) = &self.first else {
            return Ok(Some(start));
        };
        let found = text[start..]
            .char_indices()
            .find(|&(_, c)| first.contains(c));
        let skip = found.map_or(text.len() - start, |(skip, _)| skip);
        *steps = steps.saturating_sub(skip as u64 / 8);
        Ok(found.map(|(skip, _)| start + skip))
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
            touched,
        } = memory;
        *touched = false;
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
                    found => {
                        *touched |= found.is_none() && !self.quiet[pc];
                        false
                    }
                },
                Inst::Set(set) => match next(at) {
                    Some(c) if self.sets[*set].contains(c) => {
                        at += c.len_utf8() as u32;
                        pc += 1;
                        true
                    }
                    found => {
                        *touched |= found.is_none() && !self.quiet[pc];
                        false
                    }
                },
                Inst::Assert(anchor) => {
                    *touched |= depends_on_end(*anchor, bytes, at as usize);
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
                    *touched |= taken < take && end as usize == bytes.len() && !self.quiet[pc];
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
                        // Folding may change the length; a wrong guess only waits longer.
                        let short = bytes.len() - (at as usize) < 3 * wanted.len();
                        *touched |= match fold {
                            Fold::Case => {
                                wanted.as_bytes().starts_with(&bytes[at as usize..])
                                    && wanted.len() > bytes.len() - at as usize
                            }
                            _ => short,
                        };
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
                Inst::BackFrom { least, most } => {
                    let mut back = at;
                    let mut reached = true;
                    for _ in 0..*least {
                        match before(bytes, back) {
                            Some(place) => back = place,
                            None => {
                                reached = false;
                                break;
                            }
                        }
                    }
                    *steps = steps.saturating_sub(u64::from(*least));
                    if reached {
                        at = back;
                        let left = if *most == NONE { NONE } else { *most - *least };
                        stack.push(Entry::Back {
                            pc: pc as u32,
                            at,
                            left,
                        });
                    }
                    pc += 1;
                    reached
                }
                Inst::AtMark(mark) => {
                    pc += 1;
                    at == marks[*mark].1
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
                    Entry::Back {
                        pc: back,
                        at: place,
                        left,
                    } => {
                        let Some(place) = before(bytes, place).filter(|_| left > 0) else {
                            continue;
                        };
                        at = place;
                        let left = if left == NONE { NONE } else { left - 1 };
                        stack.push(Entry::Back { pc: back, at, left });
                        pc = back as usize + 1;
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
                        let found = next(place);
                        *touched |= found.is_none() && !self.quiet[run as usize];
                        let Some(c) = found.filter(|&c| self.sets[*set].contains(c)) else {
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
            Anchor::NotWord { .. } if bytes.is_empty() => self.empty_is_no_edge,
            Anchor::NotWord { ascii } => !self.at_edge(text, at, ascii),
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

/// The place of the character before `at`.
fn before(bytes: &[u8], at: u32) -> Option<u32> {
    let mut back = (at as usize).checked_sub(1)?;
    while bytes[back] & 0xC0 == 0x80 {
        back -= 1;
    }
    Some(back as u32)
}

/// Tells whether an anchor's answer at `at` may change when text is added to the end.
pub(super) fn depends_on_end(anchor: Anchor, bytes: &[u8], at: usize) -> bool {
    let left = bytes.len() - at;
    match anchor {
        Anchor::Start | Anchor::LineStart => false,
        Anchor::End | Anchor::LineEnd | Anchor::Word { .. } | Anchor::NotWord { .. } => left == 0,
        Anchor::EndOrFinalNewline => left == 0 || left == 1 && bytes[at] == b'\n',
    }
}

/// Returns the number of bytes of `text` that are the same as `wanted`, from the start.
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
