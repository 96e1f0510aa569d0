//! Which characters of several bytes lead to the same in lexemes, whatever the stacks are: of those
//! one has to be tried with the stacks.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::machine::Inner;
use crate::run::caches::Caches;
use crate::run::text::{MAX_PLACES, Ranges, first_byte, push};

/// More ways in which characters lead on are not told apart.
const MAX_WAYS: usize = 32;

/// Characters that lead from some places in lexemes to the same ones.
#[derive(Debug)]
pub(crate) struct Alike {
    /// The bytes of one of them.
    pub(crate) sample: Vec<u8>,
    pub(crate) all: Ranges,
}

/// Those that lead on from some places, each among others that lead to the same.
pub(crate) type Characters = Arc<[Alike]>;

/// Ends of characters that lead to the same.
struct Way {
    /// The number of a list of lexes.
    to: u32,
    sample: Vec<u8>,
    all: Vec<(u32, u32)>,
}

impl Caches {
    /// The characters beyond ASCII that lead on from some places in lexemes. None where a lexeme
    /// may end inside of a character, or they lead to too much.
    pub(crate) fn alike(&mut self, places: &[u32], inner: &Inner) -> Option<Characters> {
        if let Some(known) = self.alike.get(places) {
            return known.clone();
        }
        let mut search = Search {
            caches: self,
            inner,
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
        self.bytes += 60 + 4 * places.len() + 8 * ranges;
        self.alike.insert(places.into(), told.clone());
        told
    }
}

struct Search<'a> {
    caches: &'a mut Caches,
    inner: &'a Inner,
    /// Lists of lexes, one a place, each list with a number.
    ids: HashMap<Box<[u32]>, u32, FixedState>,
    all: Vec<Box<[u32]>>,
    /// By list and missing bytes.
    known: HashMap<(u32, u32), Vec<Way>, FixedState>,
    /// True if a lexeme may end inside of a character, or there are too many ways.
    gives_up: bool,
}

impl Search<'_> {
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

    /// The list behind a byte, so many bytes before the end of a character; none if nothing goes
    /// on.
    fn step(&mut self, list: u32, byte: u8, rest: u32) -> Option<u32> {
        let class = self.inner.lexer.classes[usize::from(byte)];
        let mut next = self.all[list as usize].to_vec();
        for lex in &mut next {
            let open = self.caches.lexes[*lex as usize].open;
            *lex = self.caches.lex_step(open, class, self.inner);
            let ends = !self.caches.lexes[*lex as usize].accepts.is_empty();
            self.gives_up |= rest > 0 && ends;
        }
        let goes_on = next.iter().any(|&lex| lex != 0);
        goes_on.then(|| self.id(next))
    }

    /// Finds what comes behind a list with so many bytes missing.
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
    use fsm_index::ByteAutomaton as _;

    use crate::run::caches::Caches;
    use crate::{Config, Dialect, Grammar};

    fn behind(caches: &mut Caches, from: u32, c: u32, inner: &crate::machine::Inner) -> u32 {
        let mut bytes = [0; 4];
        let Some(c) = char::from_u32(c) else { return 0 };
        let bytes = c.encode_utf8(&mut bytes).as_bytes();
        bytes
            .iter()
            .fold(from, |at, &byte| caches.step(at, byte, inner))
    }

    #[test]
    fn characters_that_are_alike_lead_to_the_same() {
        let text = r#"
            root ::= (name " " | "é" | "日" root)+
            name ::= [a-zà-ÿ一-龥😀-🙏]+ | "ж"
        "#;
        let config = Config::default();
        let automaton = Grammar::compile(text, Dialect::Ebnf, &config).unwrap();
        let inner = &automaton.inner;
        let mut scratch = automaton.scratch();
        let caches = scratch.caches();
        let start = caches.begin(inner);
        for from in ["", "a", "é", "日a 日"] {
            let from = from
                .chars()
                .fold(start, |at, c| behind(caches, at, c.into(), inner));
            let threads = caches.configs.threads(from).iter();
            let places: Vec<u32> = threads.map(|thread| thread.place).collect();
            let told = caches.alike(&places, inner).unwrap();
            assert!(from != start || told.len() > 2);
            let mut live = 0;
            for alike in &*told {
                let sample = alike.sample.iter();
                let to = sample.fold(from, |at, &byte| caches.step(at, byte, inner));
                for &(first, last) in &*alike.all {
                    for c in first..=last {
                        assert_eq!(behind(caches, from, c, inner), to, "{c:x}");
                        live += 1;
                    }
                }
            }
            let all = (0x80..0x11_0000).filter(|&c| behind(caches, from, c, inner) != 0);
            assert_eq!(all.count(), live);
        }
    }
}
