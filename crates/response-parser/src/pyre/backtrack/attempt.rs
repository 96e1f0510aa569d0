//! One attempt to match: the instructions run depth first from one place of the text. For example,
//! `a*ab` at the start of `aab` takes both `a`, fails at the third instruction, gives one `a` back
//! and matches.
//!
//! Each kind of instruction is a function from thread to thread, none where it fails. Then the last
//! choice left on the stack is taken. Threads are values, and what common patterns run is always
//! inlined, because the thread then stays in registers: without that the machine was up to a
//! quarter slower.

use super::anchors::depends_on_end;
use super::program::{Inst, NONE, Program, Repetition, SetRun};
use crate::pyre::syntax::class::{self, Fold};
use crate::pyre::syntax::tree::Assertion;

/// The most entries on the stack, 16 bytes each: 128 MiB, because a long text under nested loops
/// needs an entry for each character.
const MAX_STACK: usize = 8 << 20;

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

/// The instruction that comes next, and the place in the text.
#[derive(Clone, Copy, Debug)]
struct Thread {
    pc: u32,
    at: u32,
}

impl Thread {
    /// The thread at the instruction behind.
    #[inline]
    fn advance(self) -> Thread {
        self.jump(self.pc as usize + 1)
    }

    #[inline]
    fn jump(self, target: usize) -> Thread {
        let pc = target as u32;
        Thread { pc, ..self }
    }

    #[inline]
    fn moved(self, at: u32) -> Thread {
        Thread { at, ..self }
    }
}

/// A choice left, or something to undo on the way back to one.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Choice(Thread),
    /// A greedy run that may give back characters down to `low`.
    Greedy {
        run: Thread,
        low: u32,
    },
    /// A step back that may go back over `left` characters more.
    Back {
        step: Thread,
        left: u32,
    },
    /// A lazy run that may take `left` characters more.
    Lazy {
        run: Thread,
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

/// The machine's memory, kept between searches.
#[derive(Debug, Default)]
pub(in crate::pyre) struct Memory {
    stack: Vec<Entry>,
    pub(super) slots: Vec<u32>,
    loops: Vec<(u32, u32)>,
    marks: Vec<(usize, u32)>,
    /// The last attempt looked at the end of the text, so that more text might have led to
    /// another answer.
    pub(super) touched: bool,
}

impl Memory {
    /// Makes the memory ready for an attempt at `start`.
    fn prepare(&mut self, program: &Program, start: u32) {
        self.touched = false;
        self.stack.clear();
        self.slots.clear();
        self.slots.resize(program.groups * 2, NONE);
        self.loops.clear();
        self.loops.resize(program.loops, (0, NONE));
        self.marks.clear();
        self.marks.resize(program.marks, (0, 0));
        self.slots[0] = start;
    }

    /// The groups of the match that was found.
    pub(super) fn groups(&self, slots: &mut Vec<Option<(usize, usize)>>) {
        slots.clear();
        slots.extend(self.slots.chunks_exact(2).map(|pair| {
            let taken = pair[0] != NONE && pair[1] != NONE;
            taken.then_some((pair[0] as usize, pair[1] as usize))
        }));
    }
}

/// The machine in one attempt.
pub(super) struct Attempt<'a> {
    program: &'a Program,
    text: &'a str,
    memory: &'a mut Memory,
    steps: &'a mut u64,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
        program: &'a Program,
        text: &'a str,
        memory: &'a mut Memory,
        steps: &'a mut u64,
    ) -> Attempt<'a> {
        Attempt {
            program,
            text,
            memory,
            steps,
        }
    }

    /// Tells whether there is a match that starts at `start`. An empty one at `barred` is none.
    pub(super) fn run(mut self, start: u32, barred: u32) -> Result<bool, Exhausted> {
        let program = self.program;
        self.memory.prepare(program, start);
        let mut thread = Thread { pc: 0, at: start };
        loop {
            if *self.steps == 0 {
                return Err(Exhausted::Steps);
            }
            *self.steps -= 1;
            if self.memory.stack.len() > MAX_STACK {
                return Err(Exhausted::Stack);
            }
            let next = match &program.insts[thread.pc as usize] {
                Inst::Match if thread.at != barred || start != barred => {
                    self.memory.slots[1] = thread.at;
                    return Ok(true);
                }
                inst => self.execute(inst, thread),
            };
            let Some(next) = next.or_else(|| self.backtrack()) else {
                return Ok(false);
            };
            thread = next;
        }
    }

    /// Runs one instruction.
    #[inline(always)]
    fn execute(&mut self, inst: &Inst, thread: Thread) -> Option<Thread> {
        let next = thread.advance();
        Some(match inst {
            Inst::Char(c) => return self.character(thread, |found| found == *c),
            Inst::Set(set) => {
                let set = &self.program.sets[*set];
                return self.character(thread, |found| set.contains(found));
            }
            Inst::Assert(anchor) => return self.assertion(*anchor, thread),
            Inst::Run(run) => return self.greedy_run(run, thread),
            Inst::LazyRun(run) => return self.lazy_run(run, thread),
            Inst::Backref(group, fold) => return self.back_reference(*group, *fold, thread),
            Inst::Back(width) => next.moved(self.before_by(*width, thread.at)?),
            Inst::BackFrom { least, most } => return self.step_back(*least, *most, thread),
            Inst::AtMark(mark) => return (thread.at == self.memory.marks[*mark].1).then_some(next),
            Inst::Reject(mark) => {
                self.reject(*mark);
                return None;
            }
            Inst::Match => return None,
            Inst::Save(slot) => {
                self.save(*slot, thread.at);
                next
            }
            Inst::Jump(target) => thread.jump(*target),
            Inst::Split(prefer, other) => {
                self.leave(thread.jump(*other));
                thread.jump(*prefer)
            }
            Inst::IfGroup(group, otherwise) => match self.memory.slots[group * 2 + 1] {
                NONE => thread.jump(*otherwise),
                _ => next,
            },
            Inst::LoopEnter(register) => {
                self.keep_register(*register);
                self.memory.loops[*register] = (0, NONE);
                next
            }
            Inst::Loop(repetition) => self.greedy_loop(repetition, thread),
            Inst::LazyLoop(repetition) => self.lazy_loop(repetition, thread),
            Inst::LoopTake(register) => {
                let (count, _) = self.keep_register(*register);
                self.memory.loops[*register] = (count + 1, thread.at);
                next
            }
            Inst::Mark(mark) => {
                self.memory.marks[*mark] = (self.memory.stack.len(), thread.at);
                next
            }
            Inst::Commit(mark) => {
                self.commit(*mark);
                next
            }
            Inst::CommitAt(mark) => {
                self.commit(*mark);
                next.moved(self.memory.marks[*mark].1)
            }
        })
    }

    #[inline(always)]
    fn character(&mut self, thread: Thread, is_wanted: impl Fn(char) -> bool) -> Option<Thread> {
        let c = self.next_character(thread)?;
        let at = thread.at + c.len_utf8() as u32;
        is_wanted(c).then_some(thread.advance().moved(at))
    }

    /// The character that the thread looks at. The end of the text in its stead is noted.
    #[inline(always)]
    fn next_character(&mut self, thread: Thread) -> Option<char> {
        let found = self.text[thread.at as usize..].chars().next();
        self.memory.touched |= found.is_none() && !self.program.quiet[thread.pc as usize];
        found
    }

    #[inline(always)]
    fn assertion(&mut self, anchor: Assertion, thread: Thread) -> Option<Thread> {
        let at = thread.at as usize;
        self.memory.touched |= depends_on_end(anchor, self.text.as_bytes(), at);
        let holds = self.program.holds(anchor, self.text, at);
        holds.then_some(thread.advance())
    }

    #[inline(always)]
    fn save(&mut self, slot: u32, at: u32) {
        let old = std::mem::replace(&mut self.memory.slots[slot as usize], at);
        self.memory.stack.push(Entry::Slot { slot, old });
    }

    /// Leaves a choice.
    #[inline(always)]
    fn leave(&mut self, choice: Thread) {
        self.memory.stack.push(Entry::Choice(choice));
    }

    #[inline(always)]
    fn greedy_run(&mut self, run: &SetRun, thread: Thread) -> Option<Thread> {
        let Taken { low, end } = self.take(run, run.max, thread)?;
        let thread = thread.moved(end);
        if end > low {
            self.memory.stack.push(Entry::Greedy { run: thread, low });
        }
        Some(thread.advance())
    }

    #[inline(always)]
    fn lazy_run(&mut self, run: &SetRun, thread: Thread) -> Option<Thread> {
        let Taken { end, .. } = self.take(run, run.min, thread)?;
        let thread = thread.moved(end);
        if run.max > run.min {
            let left = run.max - run.min;
            self.memory.stack.push(Entry::Lazy { run: thread, left });
        }
        Some(thread.advance())
    }

    /// Takes characters of the set, `most` at most; none where there are too few.
    #[inline(always)]
    fn take(&mut self, run: &SetRun, most: u32, thread: Thread) -> Option<Taken> {
        let set = &self.program.sets[run.set];
        let mut taken = 0;
        let (mut low, mut end) = (thread.at, thread.at);
        for c in self.text[thread.at as usize..].chars() {
            if taken == most || !set.contains(c) {
                break;
            }
            end += c.len_utf8() as u32;
            taken += 1;
            if taken == run.min {
                low = end;
            }
        }
        self.charge(u64::from(taken) / 4);
        let at_end = taken < most && end as usize == self.text.len();
        self.memory.touched |= at_end && !self.program.quiet[thread.pc as usize];
        (taken >= run.min).then_some(Taken { low, end })
    }

    fn back_reference(&mut self, group: usize, fold: Fold, thread: Thread) -> Option<Thread> {
        let slots = &self.memory.slots;
        let (from, to) = (slots[group * 2], slots[group * 2 + 1]);
        if from == NONE || to == NONE || to < from {
            return None;
        }
        let wanted = &self.text[from as usize..to as usize];
        let rest = &self.text[thread.at as usize..];
        self.charge(wanted.len() as u64);
        self.memory.touched |= match fold {
            Fold::Case => wanted.starts_with(rest) && wanted.len() > rest.len(),
            // Folding may change the length; a wrong guess only waits longer.
            _ => rest.len() < 3 * wanted.len(),
        };
        let length = same_text(wanted, rest, fold)?;
        Some(thread.advance().moved(thread.at + length as u32))
    }

    /// Leaves the register's value on the stack, and returns it: the iterations, and the place where
    /// the last optional one started.
    #[inline(always)]
    fn keep_register(&mut self, register: usize) -> (u32, u32) {
        let (count, last) = self.memory.loops[register];
        self.memory.stack.push(Entry::Loop {
            register: register as u32,
            count,
            last,
        });
        (count, last)
    }

    /// Takes an iteration if it may. An optional one that starts where the last one did is not
    /// tried.
    #[inline(always)]
    fn greedy_loop(&mut self, repetition: &Repetition, thread: Thread) -> Thread {
        let (count, last) = self.memory.loops[repetition.register];
        let optional = count >= repetition.min;
        if optional && (count >= repetition.max || thread.at == last) {
            return thread.jump(repetition.exit);
        }
        if optional {
            self.leave(thread.jump(repetition.exit));
        }
        self.keep_register(repetition.register);
        let last = if optional { thread.at } else { last };
        self.memory.loops[repetition.register] = (count + 1, last);
        thread.advance()
    }

    /// Takes an iteration if it must, else the exit, with an iteration left as a choice.
    #[inline(always)]
    fn lazy_loop(&mut self, repetition: &Repetition, thread: Thread) -> Thread {
        let (count, last) = self.memory.loops[repetition.register];
        if count < repetition.min {
            self.keep_register(repetition.register);
            self.memory.loops[repetition.register].0 = count + 1;
            // Behind the `LoopTake`.
            return thread.advance().advance();
        }
        if count < repetition.max && thread.at != last {
            self.leave(thread.advance());
        }
        thread.jump(repetition.exit)
    }

    /// Goes back over `least` characters, and leaves more up to `most` as a choice.
    fn step_back(&mut self, least: u32, most: u32, thread: Thread) -> Option<Thread> {
        let step = thread.moved(self.before_by(least as usize, thread.at)?);
        let left = if most == NONE { NONE } else { most - least };
        self.memory.stack.push(Entry::Back { step, left });
        Some(step.advance())
    }

    /// The place `width` characters before `at`.
    fn before_by(&mut self, width: usize, at: u32) -> Option<u32> {
        self.charge(width as u64);
        let bytes = self.text.as_bytes();
        (0..width).try_fold(at, |at, _| before(bytes, at))
    }

    /// Drops the choices made since the mark, and keeps what there is to undo.
    fn commit(&mut self, mark: usize) {
        let (height, _) = self.memory.marks[mark];
        self.charge((self.memory.stack.len() - height) as u64);
        let stack = &mut self.memory.stack;
        let mut kept = height;
        for i in height..stack.len() {
            if matches!(stack[i], Entry::Slot { .. } | Entry::Loop { .. }) {
                stack[kept] = stack[i];
                kept += 1;
            }
        }
        stack.truncate(kept);
    }

    /// Undoes everything since the mark.
    fn reject(&mut self, mark: usize) {
        let (height, _) = self.memory.marks[mark];
        while self.memory.stack.len() > height
            && let Some(entry) = self.memory.stack.pop()
        {
            self.undo(entry);
        }
    }

    /// Sets a slot or a register back to its value before. A choice is nothing to undo.
    #[inline(always)]
    fn undo(&mut self, entry: Entry) {
        match entry {
            Entry::Slot { slot, old } => self.memory.slots[slot as usize] = old,
            Entry::Loop {
                register,
                count,
                last,
            } => self.memory.loops[register as usize] = (count, last),
            _ => {}
        }
    }

    #[inline(always)]
    fn charge(&mut self, steps: u64) {
        *self.steps = self.steps.saturating_sub(steps);
    }

    /// Goes back to the last choice that leads on, undoing what came after it.
    #[inline(always)]
    fn backtrack(&mut self) -> Option<Thread> {
        while let Some(entry) = self.memory.stack.pop() {
            let resumed = match entry {
                Entry::Choice(thread) => Some(thread),
                Entry::Greedy { run, low } => self.give_back(run, low),
                Entry::Back { step, left } => self.step_back_further(step, left),
                Entry::Lazy { run, left } => self.take_one_more(run, left),
                Entry::Slot { .. } | Entry::Loop { .. } => {
                    self.undo(entry);
                    None
                }
            };
            if resumed.is_some() {
                return resumed;
            }
        }
        None
    }

    /// Gives back the last character of a greedy run.
    #[inline(always)]
    fn give_back(&mut self, run: Thread, low: u32) -> Option<Thread> {
        let run = run.moved(before(self.text.as_bytes(), run.at)?);
        if run.at > low {
            self.memory.stack.push(Entry::Greedy { run, low });
        }
        Some(run.advance())
    }

    /// Goes back over a character more in a look-behind.
    fn step_back_further(&mut self, step: Thread, left: u32) -> Option<Thread> {
        let left = one_less(left)?;
        let step = step.moved(before(self.text.as_bytes(), step.at)?);
        self.memory.stack.push(Entry::Back { step, left });
        Some(step.advance())
    }

    /// Takes a character more in a lazy run.
    #[inline(always)]
    fn take_one_more(&mut self, run: Thread, left: u32) -> Option<Thread> {
        let program = self.program;
        let Inst::LazyRun(SetRun { set, .. }) = &program.insts[run.pc as usize] else {
            return None;
        };
        let c = self.next_character(run)?;
        if !program.sets[*set].contains(c) {
            return None;
        }
        let run = run.moved(run.at + c.len_utf8() as u32);
        if let Some(left @ 1..) = one_less(left) {
            self.memory.stack.push(Entry::Lazy { run, left });
        }
        Some(run.advance())
    }
}

/// The characters that a run took: it may give them back down to `low`.
struct Taken {
    low: u32,
    end: u32,
}

/// The place of the character before `at`.
#[inline]
fn before(bytes: &[u8], at: u32) -> Option<u32> {
    let mut back = (at as usize).checked_sub(1)?;
    while bytes[back] & 0xC0 == 0x80 {
        back -= 1;
    }
    Some(back as u32)
}

/// A bound of which one character is taken, `None` where nothing is left.
#[inline]
fn one_less(left: u32) -> Option<u32> {
    match left {
        NONE => Some(NONE),
        left => left.checked_sub(1),
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
