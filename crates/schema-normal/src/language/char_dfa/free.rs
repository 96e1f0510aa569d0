//! Which text is free behind a state, and for how long. For example, behind any state of
//! `[a-z]{0,7}` letters are free, as many as are left of the seven.

use super::{CharDfa, DEAD};
use crate::budget::TooBig;

/// The number of texts that can follow a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// The empty text alone, or none.
    Nothing,
    /// Few texts.
    Little,
    /// Many texts.
    Much,
}

/// The most states that are looked through for the texts behind a state: few, because this is asked
/// of many states, and a bound that is too low is right, too.
pub const MAX_MET: usize = 64;

/// The most states over which the free text behind a state is sought, because each is stepped by
/// all classes.
const MAX_FREE: usize = 2_048;

/// The same for text that may come alone, because sets of states are followed for it.
const MAX_ALONE: usize = 1_024;

/// The longest run that is looked for: few tokens are longer, so that nothing would be won.
const MAX_RUN: usize = 64;

/// The number of characters that are looked ahead for text that may come whatever it is, because
/// few tokens are longer.
pub const FREE_STEPS: usize = 32;
/// The same at which they lead to the end of free text, because shorter runs are walked as fast.
const LEAST_STEPS: usize = 4;

/// Classes smaller than this are no free text, because they are quicker to walk.
const LEAST_FREE: u32 = 8;
/// A class that may come behind any text is not looked beyond if it has so many characters.
const MUCH_FREE: u32 = 128;
/// So many characters are of several scripts, because the first plane of Unicode has as many.
const ANY_SCRIPT: u32 = 1 << 16;
/// Few tokens have more characters than these, because most are words or parts of words.
const MOST_TOKENS: usize = 7;

/// Ranges of code points, both ends included.
pub type Ranges = Box<[(u32, u32)]>;

/// The text that may come behind a state, of characters of one class, whichever they are.
#[derive(Debug)]
pub enum Free {
    /// So many characters may come, each of which may be of the class whatever came before it.
    AmongAny {
        /// The class.
        class: Ranges,
        /// The most characters.
        chars: usize,
    },
    /// So many characters of the class may come one after another.
    Alone {
        /// The class.
        class: Ranges,
        /// The most characters.
        chars: usize,
        /// True if none of them may come behind the last one.
        ends: bool,
    },
}

impl CharDfa {
    /// Returns the number of characters that lead at least from a state to one of some others: no more
    /// than can be said of the first [`MAX_MET`] states that are met.
    pub fn way_to(&self, state: u32, ends: impl Fn(u32) -> bool) -> usize {
        let mut is_met = vec![false; self.states()];
        is_met[state as usize] = true;
        let mut met = vec![state];
        let (mut from, mut steps) = (0, 0);
        while from < met.len() {
            let to = met.len();
            if met[from..to].iter().any(|state| ends(*state)) {
                return steps;
            }
            for at in from..to {
                for &next in self.table.row(met[at]) {
                    if next != DEAD && !std::mem::replace(&mut is_met[next as usize], true) {
                        met.push(next);
                    }
                }
                if met.len() > MAX_MET {
                    return steps + 1;
                }
            }
            from = to;
            steps += 1;
        }
        usize::MAX
    }

    /// Tells whether no text from a state on has more than so many characters, as far as few states
    /// are met.
    pub fn ends_within(&self, state: u32, most: usize) -> bool {
        let mut states = vec![state];
        for _ in 0..=most {
            let rows = states.iter().flat_map(|state| self.table.row(*state));
            let mut next: Vec<u32> = rows.copied().filter(|to| *to != DEAD).collect();
            next.sort_unstable();
            next.dedup();
            if next.is_empty() {
                return true;
            }
            if next.len() > MAX_MET {
                return false;
            }
            states = next;
        }
        false
    }

    /// Returns the free text behind a state, of characters that are in some ranges; `None` if it is
    /// of few characters.
    pub fn free_text(
        &self,
        state: u32,
        all: &[(u32, u32)],
        follows: &impl Fn(u32) -> Follows,
    ) -> Option<Free> {
        TextsFrom { dfa: self, state }.free(all, follows)
    }
}

/// The texts from a state of an automaton on.
#[derive(Clone, Copy, Debug)]
struct TextsFrom<'d> {
    dfa: &'d CharDfa,
    state: u32,
}

impl TextsFrom<'_> {
    fn free(&self, all: &[(u32, u32)], follows: &impl Fn(u32) -> Follows) -> Option<Free> {
        let (class, chars) = self.among_any(all, follows);
        let (mut size, mut alone) = (size_of(&class), None);
        // If other text leads elsewhere, the class alone may do, or be larger.
        let mut steps = FREE_STEPS;
        while size < MUCH_FREE && steps >= LEAST_STEPS {
            let class = self.alone(steps, all, follows);
            if size_of(&class) > size {
                size = size_of(&class);
                alone = Some((class, steps));
            }
            if size >= LEAST_FREE {
                break;
            }
            steps /= 2;
        }
        let is_long = alone.as_ref().is_some_and(|found| found.1 == FREE_STEPS);
        if let Some(free) = (is_long && size < MUCH_FREE)
            .then(|| self.of_any_script(all, follows))
            .flatten()
        {
            return Some(free);
        }
        // A class that may come so often and no oftener leaves nothing to be read.
        let run = match &alone {
            _ if size < LEAST_FREE => self.run_of(&self.alone(1, all, follows), follows),
            Some((class, _)) => self.run_of(class, follows),
            None => None,
        };
        let free = run.unwrap_or(match alone {
            Some((class, chars)) => Free::Alone {
                class: class.into(),
                chars,
                ends: false,
            },
            None => Free::AmongAny {
                class: class.into(),
                chars,
            },
        });
        let (Free::AmongAny { class, .. } | Free::Alone { class, .. }) = &free;
        (size_of(class) >= LEAST_FREE).then_some(free)
    }

    /// Returns the free text of a class of several scripts, if it has nearly all tokens: bytes that are
    /// counted leave fewer characters of these.
    fn of_any_script(&self, all: &[(u32, u32)], follows: &impl Fn(u32) -> Follows) -> Option<Free> {
        let class = self.alone(LEAST_STEPS, all, follows);
        if size_of(&class) < ANY_SCRIPT {
            return None;
        }
        let chars = self.longest_alone((&class, FREE_STEPS), follows);
        (chars >= MOST_TOKENS).then(|| Free::Alone {
            class: class.into(),
            chars,
            ends: false,
        })
    }

    /// The code points of which any text may come at once, and behind what
    /// else may come, and how many characters of all that: of any number
    /// where that is a class of [`LEAST_FREE`] code points or more, or else of [`FREE_STEPS`].
    fn among_any(
        &self,
        all: &[(u32, u32)],
        follows: &impl Fn(u32) -> Follows,
    ) -> (Vec<(u32, u32)>, usize) {
        let sizes = self.dfa.symbol_sizes();
        let within = |steps| self.among_any_within(steps, (all, &sizes), follows);
        match within(usize::MAX) {
            Some(class) => (class, usize::MAX),
            None => (within(FREE_STEPS).unwrap_or_default(), FREE_STEPS),
        }
    }

    /// The code points that lead from each state within `steps` of the first one, that
    /// one included, to one that much can follow; none if little follows one of
    /// those states, they are many, or the code points are few. States that
    /// nothing follows do not count: no text leads there. `sizes` are those of the symbols.
    fn among_any_within(
        &self,
        steps: usize,
        (all, sizes): (&[(u32, u32)], &[u64]),
        follows: &impl Fn(u32) -> Follows,
    ) -> Option<Vec<(u32, u32)>> {
        let good = |state: u32| state != DEAD && follows(state) == Follows::Much;
        let mut free = vec![true; self.dfa.table.width()];
        let mut size: u64 = sizes.iter().sum();
        let mut met = vec![false; self.dfa.states()];
        met[self.state as usize] = true;
        let mut states = vec![self.state];
        // The end of the states that are one step nearer than the last ones.
        let mut nearer = 1;
        let mut left = steps;
        let mut at = 0;
        // Most classes are soon too small, long before all states have been met.
        while let Some(&here) = states.get(at) {
            if at == nearer {
                nearer = states.len();
                left -= 1;
            }
            at += 1;
            if !good(here) || states.len() > MAX_FREE {
                return None;
            }
            for (symbol, &to) in self.dfa.table.row(here).iter().enumerate() {
                if free[symbol] && !good(to) {
                    free[symbol] = false;
                    size -= sizes[symbol];
                }
                let is_new = left > 1 && to != DEAD && !met[to as usize];
                if is_new && follows(to) != Follows::Nothing {
                    met[to as usize] = true;
                    states.push(to);
                }
            }
            if size < u64::from(LEAST_FREE) {
                return None;
            }
        }
        Some(self.dfa.ranges_in(all, |symbol| free[symbol]))
    }

    /// The code points of which up to `steps` may come one after another, whichever
    /// they are, so that much can follow. If some may not come behind another one, the fewer are
    /// left out.
    fn alone(
        &self,
        steps: usize,
        all: &[(u32, u32)],
        follows: &impl Fn(u32) -> Follows,
    ) -> Vec<(u32, u32)> {
        let good = |state: u32| state != DEAD && follows(state) == Follows::Much;
        let row = self.dfa.table.row(self.state).iter();
        let mut class: Vec<bool> = row.map(|to| good(*to)).collect();
        let weights = weights(self.dfa);
        // One symbol at least is left out each time.
        for _ in 0..=self.dfa.table.width() {
            match self.first_conflict(steps, (&class, &weights), good) {
                Ok(None) => return self.dfa.ranges_in(all, |symbol| class[symbol]),
                Ok(Some(symbols)) => symbols.iter().for_each(|&symbol| class[symbol] = false),
                Err(TooBig) => break,
            }
        }
        Vec::new()
    }

    /// Returns the number of characters of a class that may come one after another,
    /// whichever they are, so that much can follow; no more than `most`.
    fn longest_alone(
        &self,
        (class, most): (&[(u32, u32)], usize),
        follows: impl Fn(u32) -> Follows,
    ) -> usize {
        let mut symbols = vec![false; self.dfa.table.width()];
        for &(from, to) in class {
            self.dfa
                .each_symbol(from, to, |symbol, _| symbols[symbol] = true);
        }
        let mut states = vec![self.state];
        for length in 0..most {
            let to = states.iter().flat_map(|state| self.dfa.targets(*state));
            let mut next: Vec<u32> = to.filter(|to| symbols[to.0]).map(|to| to.1).collect();
            next.sort_unstable();
            next.dedup();
            let is_good = |to: &u32| *to != DEAD && follows(*to) == Follows::Much;
            if next.len() > MAX_ALONE || !next.iter().all(is_good) {
                return length;
            }
            states = next;
        }
        most
    }

    /// Returns the free text of a class where so many of them may come one after another,
    /// whichever they are, so that much can follow, and no more then, whichever came; without
    /// those that may come then, unless most may.
    fn run_of(&self, class: &[(u32, u32)], follows: &impl Fn(u32) -> Follows) -> Option<Free> {
        let mut held = vec![0u64; self.dfa.table.width()];
        for &(from, to) in class {
            self.dfa
                .each_symbol(from, to, |symbol, count| held[symbol] += count);
        }
        let is_in: Vec<bool> = held.iter().map(|count| *count > 0).collect();
        let mut states = vec![self.state];
        for length in 0..MAX_RUN {
            let mut next: Vec<u32> = Vec::new();
            let mut leads_on = vec![false; self.dfa.table.width()];
            for state in &states {
                let row = self.dfa.table.row(*state).iter().enumerate();
                for (symbol, &to) in row.filter(|cell| is_in[cell.0]) {
                    let is_dead = to == DEAD || follows(to) == Follows::Nothing;
                    leads_on[symbol] |= !is_dead;
                    next.push(if is_dead { DEAD } else { to });
                }
            }
            next.sort_unstable();
            next.dedup();
            match next[..] {
                [] => return None,
                [.., DEAD] if length > 0 => {
                    let most = self.dfa.ranges_in(class, |symbol| !leads_on[symbol]);
                    return (size_of(&most) >= size_of(class) / 2).then(|| Free::Alone {
                        class: most.into(),
                        chars: length,
                        ends: true,
                    });
                }
                [.., DEAD] => return None,
                _ if next.len() > MAX_ALONE => return None,
                _ if next.iter().any(|to| follows(*to) != Follows::Much) => return None,
                _ => states = next,
            }
        }
        None
    }

    /// Returns the characters to be left out of a class so that it may come in one state that it
    /// leads to.
    fn first_conflict(
        &self,
        steps: usize,
        (class, weights): (&[bool], &[usize]),
        good: impl Fn(u32) -> bool,
    ) -> Result<Option<Vec<usize>>, TooBig> {
        let symbols = || (0..self.dfa.table.width()).filter(|symbol| class[*symbol]);
        let mut met = vec![false; self.dfa.states()];
        met[self.state as usize] = true;
        // Each with the symbol that led there.
        let mut states = vec![(self.state, None)];
        let mut from = 0;
        for _ in 0..steps {
            let to = states.len();
            for at in from..to {
                let (here, via) = states[at];
                let next = |symbol: usize| self.dfa.table.next(here, symbol as u32);
                let refused: Vec<usize> = symbols().filter(|s| !good(next(*s))).collect();
                if !refused.is_empty() {
                    let weight: usize = refused.iter().map(|symbol| weights[*symbol]).sum();
                    return Ok(Some(match via {
                        Some(via) if weights[via] < weight => vec![via],
                        _ => refused,
                    }));
                }
                for symbol in symbols() {
                    let next = next(symbol);
                    if !std::mem::replace(&mut met[next as usize], true) {
                        states.push((next, Some(symbol)));
                    }
                }
            }
            if states.len() > MAX_ALONE {
                return Err(TooBig);
            }
            if states.len() == to {
                break;
            }
            from = to;
        }
        Ok(None)
    }
}

/// Returns the number of code points of a class.
fn size_of(class: &[(u32, u32)]) -> u32 {
    class.iter().map(|(a, b)| b - a + 1).sum()
}

/// Returns the number of one-byte characters that each symbol has, and one for all others.
fn weights(dfa: &CharDfa) -> Vec<usize> {
    let mut weights = vec![1; dfa.table.width()];
    for symbol in dfa.ascii.iter() {
        weights[*symbol as usize] += 1;
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::pattern;

    /// Bytes of characters are counted in fours.
    const COUNTED: &str = "([a-z]{4}|[\u{4E00}-\u{9FFF}]){5}";

    #[test]
    fn the_way_to_an_end_is_the_shortest() {
        let way = |source: &str| {
            let re = pattern::whole(source).unwrap();
            let dfa = CharDfa::new(&[(&re, true)], 10_000).unwrap();
            dfa.way_to(0, |state| dfa.accepts(state))
        };
        assert_eq!(["a*", "abc|de", "x{30}"].map(way), [0, 2, 30]);
        assert!(
            (MAX_MET - 1..=MAX_MET).contains(&way("x{500}")),
            "as far as is looked"
        );
        let re = pattern::whole("a").unwrap();
        let dfa = CharDfa::new(&[(&re, true)], 10_000).unwrap();
        assert_eq!(dfa.way_to(0, |_| false), usize::MAX);
    }

    #[test]
    fn texts_end_within_their_length() {
        let ends = |source: &str, most| {
            let re = pattern::whole(source).unwrap();
            let dfa = CharDfa::new(&[(&re, true)], 10_000).unwrap();
            dfa.ends_within(0, most)
        };
        assert!(ends("", 0) && ends("[a-z]{4}-", 5) && ends("ab|c", 2));
        assert!(!ends("[a-z]{4}-", 4) && !ends("a*", 99) && !ends("ab|c", 1));
    }

    #[test]
    fn the_longest_text_of_a_class_is_the_last_that_goes_on() {
        let class = [(u32::from('a'), u32::from('z')), (0x4E00, 0x9FFF)];
        for (source, class, expected) in [
            ("[a-z]{0,7}", &class[..1], 7),
            ("[a-z]{0,7}", &class[..], 0),
            ("[a-z]*", &class[..1], 32),
            (COUNTED, &class[..1], 20),
            (COUNTED, &class[1..], 5),
        ] {
            let re = pattern::whole(source).unwrap();
            let dfa = CharDfa::new(&[(&re, true)], 10_000).unwrap();
            let texts = TextsFrom {
                dfa: &dfa,
                state: 0,
            };
            let length = texts.longest_alone((class, 32), |_| Follows::Much);
            assert_eq!(length, expected, "{source}");
            // By trying each text of first and last characters.
            let ends = || class.iter().flat_map(|range| [range.0, range.1]);
            let mut states = vec![0];
            let mut tried = 0;
            while tried < 32 {
                let next = states.iter().flat_map(|s| ends().map(|c| dfa.step(*s, c)));
                states = next.collect();
                states.dedup();
                if states.contains(&DEAD) {
                    break;
                }
                tried += 1;
            }
            assert_eq!(length, tried, "{source}");
        }
    }
}
