//! Characters of several bytes that lead to the same in lexemes, whatever the stacks are: one of
//! them has to be tried with the stacks.
//!
//! For example, all of `à-ÿ` lead to the same inside of a name, so that `é` tells of them.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::hints::finder::{MAX_PLACES, first_byte, push};
use crate::hints::known::{Alike, Characters, Known};
use crate::machine::Machine;
use crate::run::lexes::Lexes;

/// Ways in which characters lead on that are told apart, because with more of them most characters
/// would be tried anyway.
const MAX_WAYS: usize = 32;

/// Ends of characters that lead to the same.
struct Way {
    /// The number of a list of lexes.
    to: u32,
    sample: Vec<u8>,
    all: Vec<(u32, u32)>,
}

/// A search for characters that are alike.
pub(super) struct Search<'a> {
    machine: &'a Machine,
    lexes: &'a mut Lexes,
    /// Lists of lexes, one a place, each list with a number.
    ids: HashMap<Box<[u32]>, u32, FixedState>,
    all: Vec<Box<[u32]>>,
    /// By list and missing bytes.
    known: HashMap<(u32, u32), Vec<Way>, FixedState>,
    /// True if a lexeme may end inside of a character, or there are too many ways.
    gives_up: bool,
}

impl<'a> Search<'a> {
    /// Returns the characters beyond ASCII that lead on from some places in lexemes. None where a
    /// lexeme may end inside of a character, or they lead to too much.
    pub(super) fn alike(
        places: &[u32],
        machine: &'a Machine,
        lexes: &'a mut Lexes,
        known: &mut Known,
    ) -> Option<Characters> {
        if let Some(known) = known.alike.get(places) {
            return known.clone();
        }
        let mut search = Search {
            machine,
            lexes,
            ids: HashMap::default(),
            all: Vec::new(),
            known: HashMap::default(),
            gives_up: false,
        };
        let ways = search.ways(places);
        let told = ways.map(|ways| {
            let alike = |way: Way| Alike {
                sample: way.sample,
                all: way.all.into(),
            };
            ways.into_iter().map(alike).collect::<Characters>()
        });
        let ranges = told.iter().flat_map(|all| all.iter());
        let ranges: usize = ranges.map(|alike| alike.all.len()).sum();
        known.bytes += 60 + 4 * places.len() + 8 * ranges;
        known.alike.insert(places.into(), told.clone());
        told
    }

    fn ways(&mut self, places: &[u32]) -> Option<Vec<Way>> {
        let start = self.id(places.to_vec());
        let mut ways = Vec::new();
        for byte in 0x80..=0xF4u8 {
            let Some((rest, base)) = first_byte(byte) else {
                continue;
            };
            if let Some(next) = self.step(start, byte, rest) {
                self.behind(next, rest);
                self.add(&mut ways, (byte, base), (next, rest));
            }
            if self.gives_up {
                return None;
            }
        }
        Some(ways)
    }

    fn id(&mut self, lexes: Vec<u32>) -> u32 {
        let count = self.all.len() as u32;
        let lexes = lexes.into_boxed_slice();
        if let Some(&known) = self.ids.get(&lexes) {
            return known;
        }
        self.all.push(lexes.clone());
        self.ids.insert(lexes, count);
        count
    }

    /// Returns the list behind a byte, with a number of bytes missing of the character; none if
    /// nothing goes on.
    fn step(&mut self, list: u32, byte: u8, rest: u32) -> Option<u32> {
        let class = self.machine.lexer().classes[usize::from(byte)];
        let mut next = self.all[list as usize].to_vec();
        for lex in &mut next {
            let open = self.lexes[*lex].open;
            *lex = self.lexes.step(open, class, self.machine);
            let ends = !self.lexes[*lex].accepts.is_empty();
            self.gives_up |= rest > 0 && ends;
        }
        let goes_on = next.iter().any(|&lex| lex != 0);
        goes_on.then(|| self.id(next))
    }

    /// Finds what comes behind a list with a number of bytes missing.
    fn behind(&mut self, list: u32, rest: u32) {
        if self.known.contains_key(&(list, rest)) {
            return;
        }
        let mut ways = Vec::new();
        if rest == 0 {
            ways.push(Way {
                to: list,
                sample: Vec::new(),
                all: vec![(0, 0)],
            });
        } else if self.known.len() < MAX_PLACES {
            for byte in 0x80..=0xBFu8 {
                if let Some(next) = self.step(list, byte, rest - 1)
                    && !self.gives_up
                {
                    self.behind(next, rest - 1);
                    let base = u32::from(byte & 0x3F) << (6 * (rest - 1));
                    self.add(&mut ways, (byte, base), (next, rest - 1));
                }
            }
        }
        self.known.insert((list, rest), ways);
    }

    /// Adds what comes behind a byte, which stands for `base`.
    fn add(&mut self, ways: &mut Vec<Way>, (byte, base): (u8, u32), behind: (u32, u32)) {
        for way in &self.known[&behind] {
            let at = match ways.iter().position(|known| known.to == way.to) {
                Some(at) => at,
                None => {
                    ways.push(Way {
                        to: way.to,
                        sample: [&[byte], &*way.sample].concat(),
                        all: Vec::new(),
                    });
                    ways.len() - 1
                }
            };
            for &(first, last) in &way.all {
                push(&mut ways[at].all, base + first, base + last);
            }
        }
        self.gives_up |= ways.len() > MAX_WAYS;
    }
}

#[cfg(test)]
mod tests {
    use crate::completion::live::Live;
    use crate::hints::characters::Search;
    use crate::hints::known::Known;
    use crate::run::caches::Caches;
    use crate::run::step::Steps;
    use crate::{Config, Dialect, Grammar};

    fn behind(live: &mut Live<'_>, from: u32, c: u32) -> u32 {
        let mut bytes = [0; 4];
        let Some(c) = char::from_u32(c) else { return 0 };
        let bytes = c.encode_utf8(&mut bytes).as_bytes();
        bytes.iter().fold(from, |at, &byte| live.step(at, byte))
    }

    #[test]
    fn characters_that_are_alike_lead_to_the_same() {
        let text = r#"
            root ::= (name " " | "é" | "日" root)+
            name ::= [a-zà-ÿ一-龥😀-🙏]+ | "ж"
        "#;
        let config = Config::default();
        let automaton = Grammar::compile(text, Dialect::Ebnf, &config).unwrap();
        let machine = automaton.machine();
        let (mut caches, mut known) = (Caches::default(), Known::default());
        let start = Steps::new(machine, &mut caches).begin();
        for from in ["", "a", "é", "日a 日"] {
            let mut live = Live::new(machine, &mut caches);
            let from = from
                .chars()
                .fold(start, |at, c| behind(&mut live, at, c.into()));
            let threads = caches.configs().threads(from).iter();
            let places: Vec<u32> = threads.map(|thread| thread.place).collect();
            let told = Search::alike(&places, machine, caches.lexes_mut(), &mut known).unwrap();
            assert!(from != start || told.len() > 2);
            let mut live = Live::new(machine, &mut caches);
            let mut count = 0;
            for alike in &*told {
                let sample = alike.sample.iter();
                let to = sample.fold(from, |at, &byte| live.step(at, byte));
                for &(first, last) in &*alike.all {
                    for c in first..=last {
                        assert_eq!(behind(&mut live, from, c), to, "{c:x}");
                        count += 1;
                    }
                }
            }
            let all = (0x80..0x11_0000).filter(|&c| behind(&mut live, from, c) != 0);
            assert_eq!(all.count(), count);
        }
    }
}
