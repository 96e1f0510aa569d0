//! One byte: the lexemes that have begun go on or end, and on the stacks behind those that end
//! others begin. Here under greedy lexing; `splits.rs` has steps where every split counts.
//!
//! For example, under greedy lexing the name in `if1` goes on at `1`, and the keyword is gone; at
//! the space of `if 1` both end, and the parser takes the keyword.

use schema_regex::automaton::State as JsonState;

use crate::compile::cfg::Matter;
use crate::machine::Machine;
use crate::run::caches::Caches;
use crate::run::configs::{Step, Thread, UNKNOWN, WALK};
use crate::run::fronts::Next;
use crate::run::stacks::LexemeEnd;

/// The work of a step inside of a value, because it takes as long as some edges of stacks.
const JSON_WORK: usize = 2;

/// Steps from configurations of a scratch. Nobody asks here whether what they lead to can be
/// finished.
pub(crate) struct Steps<'a> {
    pub(super) machine: &'a Machine,
    pub(super) caches: &'a mut Caches,
}

impl<'a> Steps<'a> {
    #[inline]
    pub(crate) fn new(machine: &'a Machine, caches: &'a mut Caches) -> Self {
        Steps { machine, caches }
    }

    /// Returns the configuration before the first byte.
    pub(crate) fn begin(&mut self) -> u32 {
        let Caches { lexes, stacks, .. } = &mut *self.caches;
        let bottom = stacks.add_node(0, std::iter::empty());
        let front = stacks.front(&[bottom], lexes, self.machine);
        let start: fn(&Next) -> u32 = match self.machine.cfg().initial_skip {
            true => |next| next.start,
            false => |next| next.bare,
        };
        let mut threads = Vec::new();
        self.begin_lexemes(front, start, &mut threads);
        self.intern(threads, front)
    }

    /// Begins a walk, which counts how far down it looks. Returns the configuration as it is there.
    pub(crate) fn begin_walk(&mut self, config: u32) -> u32 {
        self.caches.json.begin_walk(self.machine);
        self.caches.configs.clear_walk();
        let config = self.in_walk(config);
        self.caches.top = self.caches.height(config);
        self.caches.least.anew();
        self.caches.least.note(self.caches.top);
        config
    }

    /// Returns a configuration as it is in the walk, if there is one.
    #[inline]
    pub(crate) fn in_walk(&mut self, config: u32) -> u32 {
        let Caches { json, configs, .. } = &*self.caches;
        if !json.in_walk() || config & WALK != 0 || configs.has_no_json(config) {
            return config;
        }
        let (threads, fresh) = (configs.threads(config).to_vec(), configs[config].fresh);
        self.intern(threads, fresh)
    }

    /// Returns the configuration between two lexemes.
    pub(crate) fn between(&mut self, front: u32) -> u32 {
        let mut threads = Vec::new();
        self.begin_lexemes(front, |next| next.start, &mut threads);
        self.intern(threads, front)
    }

    /// Begins the lexemes that may come on top of a front: those that `start` takes, and values.
    pub(super) fn begin_lexemes(
        &mut self,
        front: u32,
        start: fn(&Next) -> u32,
        out: &mut Vec<Thread>,
    ) {
        let Caches { stacks, json, .. } = &mut *self.caches;
        let next = stacks.next(front);
        let place = start(next);
        if place != 0 {
            out.push(Thread { place, front });
        }
        for &terminal in &*next.json {
            let place = json.start(terminal, self.machine);
            out.extend(place.map(|place| Thread { place, front }));
        }
    }

    /// Returns the number of a configuration, in the walk if there is one.
    pub(crate) fn intern(&mut self, mut threads: Vec<Thread>, fresh: u32) -> u32 {
        let Caches { json, configs, .. } = &mut *self.caches;
        if json.in_walk() {
            json.enter(&mut threads, self.machine);
        }
        threads.sort_unstable();
        threads.dedup();
        configs.intern(threads, fresh)
    }

    /// Returns the configuration that stands alone inside of a value.
    pub(crate) fn in_json(&mut self, front: u32, terminal: u32, state: JsonState) -> u32 {
        let place = self.caches.json.place(terminal, state);
        self.intern(vec![Thread { place, front }], 0)
    }

    /// Returns the configuration behind a byte; 0 if it may not come. Greedy lexing may not let it
    /// be finished.
    #[inline]
    pub(crate) fn step(&mut self, config: u32, byte: u8) -> u32 {
        let lexer = self.machine.lexer();
        let class = lexer.classes[usize::from(byte)];
        let known = self.caches.configs.known(config, class, lexer.width());
        let step = match known {
            Some(step) => step,
            None => self.long_step(config, byte, class),
        };
        self.caches.least.note(step.looked);
        step.to
    }

    /// Takes a step that is not known.
    #[inline(never)]
    fn long_step(&mut self, config: u32, byte: u8, class: u8) -> Step {
        let width = self.machine.lexer().width();
        let there = self.in_walk(config);
        if there != config {
            let known = self.caches.configs.known(there, class, width);
            return match known {
                Some(step) => step,
                None => self.long_step(there, byte, class),
            };
        }
        let before = self.caches.stacks.looked.anew();
        let json_before = self.caches.json.begin_step();
        let to = match self.machine.is_greedy() {
            true => self.step_greedy(config, byte, class),
            false => self.step_splits(config, byte, class),
        };
        let threads = self.caches.configs.threads(config).iter();
        let work = threads.map(|thread| if thread.is_in_json() { JSON_WORK } else { 1 });
        self.caches.stacks.work.charge(work.sum());
        let looked = self.caches.stacks.looked.back(before);
        let is_deep = self.caches.json.end_step(json_before);
        let step = Step { to, looked };
        // A place in JSON means something in one walk alone; and what looks below the topmost
        // level of a value is looked at anew.
        let configs = &mut self.caches.configs;
        let is_of_walk = config & WALK != 0;
        let is_kept = is_of_walk || to & WALK == 0 && configs.has_no_json(config);
        if is_kept && !is_deep {
            configs.keep(config, class, width, step);
        }
        step
    }

    /// Lets lexemes that have begun go on. When none of them can go on further, they end: what
    /// comes next is looked up in fewer levels then. `None` if none takes the byte.
    fn go_on(&mut self, config: u32, byte: u8, class: u8) -> Option<u32> {
        let mut next_threads = Vec::new();
        let mut is_trapped = false;
        for at in 0..self.caches.configs.threads(config).len() {
            let thread @ Thread { place, front } = self.caches.configs.threads(config)[at];
            let Caches { lexes, json, .. } = &mut *self.caches;
            if thread.is_in_json() {
                let next = json.step(place, byte, self.machine);
                if next != 0 {
                    next_threads.push(Thread { place: next, front });
                }
                continue;
            }
            let next = lexes.step(place, class, self.machine);
            if next == 0 {
                continue;
            }
            if lexes.is_trapped(next, self.machine) {
                is_trapped = true;
                continue;
            }
            if !lexes[next].lazy.is_empty() {
                let fresh = self.behind_lex(next, front);
                return Some(self.between(fresh)).filter(|&next| next != 0);
            }
            next_threads.push(Thread { place: next, front });
        }
        if next_threads.is_empty() {
            return is_trapped.then_some(0);
        }
        let is_over =
            |thread: &Thread| !thread.is_in_json() && self.caches.lexes[thread.place].open == 0;
        let are_over = next_threads.iter().all(is_over);
        let next = self.intern(next_threads, 0);
        if !are_over {
            return Some(next);
        }
        Some(match self.ended(next) {
            0 => next,
            front => self.between(front),
        })
    }

    fn step_greedy(&mut self, config: u32, byte: u8, class: u8) -> u32 {
        if let Some(next) = self.go_on(config, byte, class) {
            return next;
        }
        let front = self.ended(config);
        if front == 0 {
            return 0;
        }
        // The same wherever a lexeme ends with these stacks.
        let between = self.between(front);
        let width = self.machine.lexer().width();
        let step = match self.caches.configs.known(between, class, width) {
            Some(step) => step,
            None => self.long_step(between, byte, class),
        };
        self.caches.stacks.looked.note(step.looked);
        step.to
    }

    /// Returns the stacks behind a lexeme that ends in a set.
    pub(super) fn behind_lex(&mut self, lex: u32, front: u32) -> u32 {
        let Caches { lexes, stacks, .. } = &mut *self.caches;
        stacks.behind_lex(lex, front, lexes, self.machine)
    }

    /// Returns the stacks if the lexeme ends here, under greedy lexing; 0 if none can.
    pub(super) fn ended(&mut self, config: u32) -> u32 {
        let own = &self.caches.configs[config];
        if own.ended != UNKNOWN {
            self.caches.stacks.looked.note(own.ended_least);
            return own.ended;
        }
        let before = self.caches.stacks.looked.anew();
        let front = match *self.caches.configs.threads(config) {
            [thread @ Thread { place, front }] if !thread.is_in_json() => {
                match self.caches.lexes[place].ends {
                    0 => 0,
                    _ => self.behind_lex(place, front),
                }
            }
            _ => {
                let ends = self.ends(config);
                self.caches.behind(ends.into_iter(), self.machine)
            }
        };
        let looked = self.caches.stacks.looked.back(before);
        self.caches.stacks.looked.note(looked);
        let own = &mut self.caches.configs[config];
        own.ended = front;
        own.ended_least = looked;
        front
    }

    /// Returns all terminals that may end here.
    fn ends(&mut self, config: u32) -> Vec<LexemeEnd> {
        let caches = &mut *self.caches;
        let mut ends = Vec::new();
        for thread @ &Thread { place, front } in caches.configs.threads(config) {
            let end = |terminal| LexemeEnd { front, terminal };
            match thread.is_in_json() {
                true => ends.extend(caches.json.accepts(place, self.machine).map(end)),
                false => ends.extend(caches.lexes[place].accepts.iter().copied().map(end)),
            }
        }
        ends
    }

    /// Returns the stacks that stand between lexemes if nothing more comes; 0 if none do.
    pub(crate) fn standing(&mut self, config: u32) -> u32 {
        match self.caches.configs[config].fresh {
            0 if self.machine.is_greedy() => self.ended(config),
            fresh => fresh,
        }
    }

    /// The same where no byte comes, as at the end of the text: lexemes that must be followed
    /// by one do not end here.
    pub(super) fn standing_at_end(&mut self, config: u32) -> u32 {
        let lexer = self.machine.lexer();
        if !lexer.has_open_ends || self.caches.configs[config].fresh != 0 {
            return self.standing(config);
        }
        let caches = &mut *self.caches;
        let (mut ends, mut are_all) = (Vec::new(), true);
        for thread @ &Thread { place, front } in caches.configs.threads(config) {
            let end = |terminal| LexemeEnd { front, terminal };
            if thread.is_in_json() {
                ends.extend(caches.json.accepts(place, self.machine).map(end));
                continue;
            }
            for &state in &caches.lexes[place].members {
                if !lexer.accepting[state as usize] {
                    continue;
                }
                match lexer.goes_on[state as usize] {
                    true => are_all = false,
                    false => ends.push(end(lexer.terminal[state as usize])),
                }
            }
        }
        match are_all {
            true => self.standing(config),
            false => self.caches.behind(ends.into_iter(), self.machine),
        }
    }

    /// Tells whether the text may end here.
    pub(crate) fn is_accepting(&mut self, config: u32) -> bool {
        let front = self.standing_at_end(config);
        self.caches.stacks.next(front).accepts
    }

    /// The same in a walk, which has looked at the stacks for it.
    pub(crate) fn ends_at(&mut self, config: u32) -> bool {
        let before = self.caches.stacks.looked.anew();
        let ends = self.is_accepting(config);
        let looked = self.caches.stacks.looked.back(before);
        self.caches.stacks.looked.note(looked);
        if self.machine.lexer().has_open_ends {
            self.caches.least.note(looked);
        }
        if self.machine.is_greedy() {
            let ended_least = self.caches.configs[config].ended_least;
            self.caches.least.note(ended_least);
        }
        ends
    }

    /// Returns the configuration behind a special token; 0 if it may not come.
    pub(crate) fn step_special(&mut self, config: u32, special: u32) -> u32 {
        let front = self.standing_at_end(config);
        let caches = &mut *self.caches;
        let terminals = &self.machine.cfg().terminals;
        let named = |terminal: &u32| matches!(terminals[*terminal as usize].matter, Matter::Special(s) if s == special);
        let specials = caches.stacks.next(front).specials.iter().copied();
        let ends = specials
            .filter(named)
            .map(|terminal| LexemeEnd { front, terminal });
        let ends: Vec<LexemeEnd> = ends.collect();
        let before = caches.stacks.looked.anew();
        let front = caches.behind(ends.into_iter(), self.machine);
        caches.least.note(caches.stacks.looked.back(before));
        match front {
            0 => 0,
            front => self.between(front),
        }
    }
}

#[cfg(test)]
mod tests {
    use fsm_index::ByteAutomaton as _;

    use crate::{Config, Dialect, Grammar};

    #[test]
    fn texts_inside_of_json_that_go_on_alike_have_one_place() {
        let text = r#"start: %json {"type": "array", "items": {"type": "string"}}"#;
        let automaton = Grammar::compile(text, Dialect::Lark, &Config::default()).unwrap();
        let mut scratch = automaton.scratch();
        let mut state = automaton.start();
        let mut say = |text: &str| {
            let said = automaton.advance(&mut state, text.as_bytes(), &mut scratch);
            assert!(said.is_ok(), "{text}");
            scratch.json_places()
        };
        let once = say("[\"aé日");
        assert_eq!(say("bé日é日日a"), once);
        let item = say("\",\"aé日");
        assert!(say("é日\",\"b日\"]") < 2 * item);
    }
}
