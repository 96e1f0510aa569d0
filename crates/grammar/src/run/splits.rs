//! Steps where every split of a text counts: wherever a lexeme may end, it ends and goes on.

use crate::machine::Inner;
use crate::run::caches::{Caches, JSON};
use crate::run::configs::{Thread, UNKNOWN};

impl Caches {
    /// A step that is not known.
    pub(crate) fn step_splits(&mut self, config: u32, byte: u8, class: u8, inner: &Inner) -> u32 {
        let mut threads = Vec::new();
        let mut ends: Vec<(u32, u32)> = Vec::new();
        // Those behind which something begins under a guard: a place and its front.
        let mut guarded: Vec<(u32, u32)> = Vec::new();
        let mut only = None;
        for at in 0..self.configs.threads(config).len() {
            let Thread { place, front } = self.configs.threads(config)[at];
            if place & JSON != 0 {
                let next = self.json_step(place, byte, inner);
                if next != 0 {
                    threads.push(Thread { place: next, front });
                    ends.extend(
                        self.json_accepts(next, inner)
                            .map(|terminal| (front, terminal)),
                    );
                    only = Some((0, 0));
                }
                continue;
            }
            let next = self.lex_step(place, class, inner);
            if next == 0 {
                continue;
            }
            let lex = &self.lexes[next as usize];
            let terminals = match lex.lazy.is_empty() {
                true => {
                    if lex.open != 0 {
                        threads.push(Thread {
                            place: lex.open,
                            front,
                        });
                    }
                    &lex.accepts
                }
                // It ends here, and nothing else that began with it goes on.
                false => &lex.lazy,
            };
            if !lex.guarded.is_empty() && lex.lazy.is_empty() {
                guarded.push((next, front));
                only = Some((0, 0));
            } else if !terminals.is_empty() {
                only = match only {
                    None => Some((next, front)),
                    Some(_) => Some((0, 0)),
                };
                ends.extend(terminals.iter().map(|&terminal| (front, terminal)));
            }
        }
        if !guarded.is_empty() {
            return self.begin_behind_ignored(threads, ends, &guarded, inner);
        }
        let fresh = match only {
            Some((lex, front)) if lex != 0 => match self.goes_on_alike(config, lex, front, inner) {
                true => self.configs[config].fresh,
                false => self.behind_lex(lex, front, inner),
            },
            _ if ends.is_empty() => 0,
            _ => self.behind(&ends, inner),
        };
        if fresh != 0 {
            self.begin_lexemes(fresh, true, &mut threads, inner);
        }
        if !inner.proof.has_lazy {
            self.join(&mut threads, inner);
        }
        self.intern(threads, fresh, inner)
    }

    /// A step behind which ignored text has ended that goes as far as it can.
    fn begin_behind_ignored(
        &mut self,
        mut threads: Vec<Thread>,
        mut ends: Vec<(u32, u32)>,
        guarded: &[(u32, u32)],
        inner: &Inner,
    ) -> u32 {
        let mut under: Vec<(u32, u32, u32)> = Vec::new();
        for &(lex, front) in guarded {
            for (guard, terminals) in &self.lexes[lex as usize].guarded {
                match guard {
                    0 => ends.extend(terminals.iter().map(|&terminal| (front, terminal))),
                    _ => under.extend(terminals.iter().map(|&t| (*guard, front, t))),
                }
            }
        }
        let all: Vec<(u32, u32)> = under.iter().map(|end| (end.1, end.2)).collect();
        let all = [&ends[..], &all[..]].concat();
        let fresh = self.behind(&all, inner);
        if !ends.is_empty() {
            let front = self.behind(&ends, inner);
            if front != 0 {
                self.begin_lexemes(front, true, &mut threads, inner);
            }
        }
        under.sort_unstable();
        for group in under.chunk_by(|a, b| a.0 == b.0) {
            let ends: Vec<(u32, u32)> = group.iter().map(|end| (end.1, end.2)).collect();
            let front = self.behind(&ends, inner);
            if front != 0 {
                self.begin_guarded(front, group[0].0, &mut threads, inner);
            }
        }
        if !inner.proof.has_lazy {
            self.join(&mut threads, inner);
        }
        self.intern(threads, fresh, inner)
    }

    /// Tells whether a byte leads on: the lexemes that have begun, or may begin, tell it alone.
    pub(crate) fn goes_on(&mut self, config: u32, byte: u8, inner: &Inner) -> bool {
        let class = inner.lexer.classes[usize::from(byte)];
        match self.configs.known(config, class, inner.lexer.width()) {
            Some(step) => step.to != 0,
            None => (0..self.configs.threads(config).len()).any(|at| {
                let Thread { place, .. } = self.configs.threads(config)[at];
                self.lex_step(place, class, inner) != 0
            }),
        }
    }

    /// Tells whether the stacks between lexemes are of those that end here alone, so that where the
    /// same end again they are the same. Keys tell this.
    pub(crate) fn is_steady(&mut self, config: u32, inner: &Inner) -> bool {
        let looked = self.looked;
        let ended = self.ended(config, inner);
        self.looked = looked;
        ended != 0 && ended == self.configs[config].fresh
    }

    /// Tells whether no other lexemes can end in a place of a front than the byte before: inside of
    /// a name, say. What lies below has not to be looked at again then.
    fn goes_on_alike(&mut self, config: u32, lex: u32, front: u32, inner: &Inner) -> bool {
        let ends = self.lexes[lex as usize].ends;
        let is_same = |thread: &Thread| match self.ends_of(thread) {
            0 => true,
            before => before == ends && thread.front == front,
        };
        self.configs.threads(config).iter().all(is_same)
            && self.lexes[lex as usize].lazy.is_empty()
            && self.is_steady(config, inner)
    }

    /// Tells whether a byte ends lexemes that cannot go on behind it.
    pub(crate) fn ends_others(&mut self, config: u32, byte: u8, inner: &Inner) -> bool {
        let class = inner.lexer.classes[usize::from(byte)];
        (0..self.configs.threads(config).len()).any(|at| {
            let Thread { place, .. } = self.configs.threads(config)[at];
            place & JSON != 0 || {
                let next = self.lex_step(place, class, inner);
                let lex = &self.lexes[next as usize];
                lex.open != next || !lex.lazy.is_empty()
            }
        })
    }

    /// The number of the terminals that can end where a thread stands; none has that number if
    /// it stands in JSON.
    fn ends_of(&self, thread: &Thread) -> u32 {
        match thread.place & JSON {
            0 => self.lexes[thread.place as usize].ends,
            _ => UNKNOWN,
        }
    }

    /// Makes one thread of those on the same stacks: white space that can go on and what may
    /// come behind it, say. What a lazy lexeme ends would not be told apart then.
    fn join(&mut self, threads: &mut Vec<Thread>, inner: &Inner) {
        if threads.len() < 2 {
            return;
        }
        threads.sort_unstable_by_key(|thread| (thread.place & JSON, thread.front));
        let mut at = 0;
        while at + 1 < threads.len() {
            let [one, other] = [threads[at], threads[at + 1]];
            if one.front != other.front || (one.place | other.place) & JSON != 0 {
                at += 1;
                continue;
            }
            let members = [one, other]
                .map(|thread| &*self.lexes[thread.place as usize].members)
                .concat();
            threads[at].place = self.lex(members, inner);
            threads.remove(at + 1);
        }
    }
}
