//! Steps where every split of a text counts: wherever a lexeme may end, it ends and goes on.
//!
//! For example, behind `ab` of `root ::= [a-z]+ [a-z]+` the first name goes on, and a second one
//! has begun behind `a` or begins here.

use crate::proof::Origins;
use crate::run::caches::Caches;
use crate::run::configs::{Thread, UNKNOWN};
use crate::run::stacks::LexemeEnd;
use crate::run::step::Steps;

/// The lexemes that end at a byte.
enum Ended {
    None,
    /// In one set, on top of one front.
    One {
        lex: u32,
        front: u32,
    },
    Many,
}

impl Ended {
    fn and(self, lex: u32, front: u32) -> Ended {
        match self {
            Ended::None => Ended::One { lex, front },
            _ => Ended::Many,
        }
    }
}

impl Steps<'_> {
    /// Takes a step that is not known.
    pub(super) fn step_splits(&mut self, config: u32, byte: u8, class: u8) -> u32 {
        let mut threads = Vec::new();
        let mut ends: Vec<LexemeEnd> = Vec::new();
        // The threads behind which something begins under a guard.
        let mut guarded: Vec<Thread> = Vec::new();
        let mut ended = Ended::None;
        let caches = &mut *self.caches;
        for thread @ &Thread { place, front } in caches.configs.threads(config) {
            let end = |terminal: u32| LexemeEnd { front, terminal };
            if thread.is_in_json() {
                let next = caches.json.step(place, byte, self.machine);
                if next != 0 {
                    threads.push(Thread { place: next, front });
                    ends.extend(caches.json.accepts(next, self.machine).map(end));
                    ended = Ended::Many;
                }
                continue;
            }
            let next = caches.lexes.step(place, class, self.machine);
            if next == 0 {
                continue;
            }
            let lex = &caches.lexes[next];
            // When a lazy lexeme ends, nothing else that began with it goes on.
            if lex.lazy.is_empty() && lex.open != 0 {
                threads.push(Thread {
                    place: lex.open,
                    front,
                });
            }
            if !lex.guarded.is_empty() && lex.lazy.is_empty() {
                guarded.push(Thread { place: next, front });
                ended = Ended::Many;
            } else if !lex.ending().is_empty() {
                ended = ended.and(next, front);
                ends.extend(lex.ending().iter().copied().map(end));
            }
        }
        if !guarded.is_empty() {
            return self.begin_behind_ignored(threads, ends, &guarded);
        }
        let fresh = match ended {
            Ended::One { lex, front } if self.goes_on_alike(config, lex, front) => {
                self.caches.configs[config].fresh
            }
            Ended::One { lex, front } => self.behind_lex(lex, front),
            Ended::None | Ended::Many => self.caches.behind(ends.into_iter(), self.machine),
        };
        if fresh != 0 {
            self.begin_lexemes(fresh, |next| next.start, &mut threads);
        }
        self.joined(threads, fresh)
    }

    /// Takes a step behind which ignored text has ended that goes as far as it can.
    fn begin_behind_ignored(
        &mut self,
        mut threads: Vec<Thread>,
        mut ends: Vec<LexemeEnd>,
        guarded: &[Thread],
    ) -> u32 {
        let mut under: Vec<(u32, LexemeEnd)> = Vec::new();
        for &Thread { place, front } in guarded {
            for (guard, terminals) in &self.caches.lexes[place].guarded {
                let new = terminals
                    .iter()
                    .map(|&terminal| LexemeEnd { front, terminal });
                match guard {
                    0 => ends.extend(new),
                    _ => under.extend(new.map(|end| (*guard, end))),
                }
            }
        }
        let all = ends.iter().chain(under.iter().map(|(_, end)| end));
        let fresh = self.caches.behind(all.copied(), self.machine);
        let front = self.caches.behind(ends.into_iter(), self.machine);
        if front != 0 {
            self.begin_lexemes(front, |next| next.start, &mut threads);
        }
        under.sort_unstable();
        for group in under.chunk_by(|a, b| a.0 == b.0) {
            let ends = group.iter().map(|&(_, end)| end);
            let front = self.caches.behind(ends, self.machine);
            if front != 0 {
                self.begin_guarded(front, group[0].0, &mut threads);
            }
        }
        self.joined(threads, fresh)
    }

    /// Begins the lexemes that may come behind ignored text that goes as far as it can.
    fn begin_guarded(&mut self, front: u32, guard: u32, out: &mut Vec<Thread>) {
        let from = out.len();
        self.begin_lexemes(front, |next| next.start, out);
        for at in (from..out.len()).rev() {
            if !out[at].is_in_json() {
                let lexes = &mut self.caches.lexes;
                match lexes.under_guard(out[at].place, guard, self.machine) {
                    0 => drop(out.remove(at)),
                    place => out[at].place = place,
                }
            }
        }
    }

    /// Tells whether the stacks between lexemes are those behind the lexemes that end here, and no
    /// others, so that where the same end again they are the same. Keys tell this.
    pub(crate) fn is_steady(&mut self, config: u32) -> bool {
        let before = self.caches.stacks.looked;
        let ended = self.ended(config);
        self.caches.stacks.looked = before;
        ended != 0 && ended == self.caches.configs[config].fresh
    }

    /// Tells whether no other lexemes can end in a place of a front than the byte before: inside of
    /// a name, say. The stacks below need not be looked at again then.
    fn goes_on_alike(&mut self, config: u32, lex: u32, front: u32) -> bool {
        let Caches { lexes, configs, .. } = &*self.caches;
        let ends = lexes[lex].ends;
        // No terminals have the number that stands for a value.
        let ends_of = |thread: &Thread| match thread.is_in_json() {
            false => lexes[thread.place].ends,
            true => UNKNOWN,
        };
        let is_same = |thread: &Thread| match ends_of(thread) {
            0 => true,
            before => before == ends && thread.front == front,
        };
        configs.threads(config).iter().all(is_same)
            && lexes[lex].lazy.is_empty()
            && self.is_steady(config)
    }

    /// Tells whether a byte ends lexemes that cannot go on behind it.
    pub(crate) fn ends_others(&mut self, config: u32, byte: u8) -> bool {
        let class = self.machine.lexer().classes[usize::from(byte)];
        let Caches { lexes, configs, .. } = &mut *self.caches;
        configs.threads(config).iter().any(|thread| {
            thread.is_in_json() || {
                let next = lexes.step(thread.place, class, self.machine);
                lexes[next].open != next || !lexes[next].lazy.is_empty()
            }
        })
    }

    /// Returns the configuration of threads, one of those on the same stacks: white space that can
    /// go on and what may come behind it, say. The texts that a lazy lexeme
    /// ends would not be told apart then.
    fn joined(&mut self, mut threads: Vec<Thread>, fresh: u32) -> u32 {
        if threads.len() > 1 && !self.machine.proof().has_lazy {
            threads.sort_unstable_by_key(|thread| (thread.is_in_json(), thread.front));
            let are_joined =
                |a: &Thread, b: &Thread| a.front == b.front && !a.is_in_json() && !b.is_in_json();
            if threads.windows(2).any(|two| are_joined(&two[0], &two[1])) {
                let lexes = &mut self.caches.lexes;
                let groups = threads.chunk_by(are_joined).map(|group| match group {
                    &[one] => one,
                    several => {
                        let members = several.iter().map(|thread| &*lexes[thread.place].members);
                        let members = members.collect::<Vec<_>>().concat();
                        // Nothing is unsure where every split counts.
                        let place = lexes.intern(members, Origins::default(), self.machine);
                        Thread {
                            place,
                            ..several[0]
                        }
                    }
                });
                threads = groups.collect();
            }
        }
        self.intern(threads, fresh)
    }
}
