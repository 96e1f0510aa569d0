//! Expressions as smallest automata, each over its own classes of characters, and
//! several of them read side by side. An expression is made into an automaton once,
//! whatever it is then met with.

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::language::dfa::{DEAD, determinise, eliminate, minimise_within};
use crate::language::nfa::{Alphabet, Nfa};
use crate::language::pairs::Pairs;
use crate::language::re::Re;

/// A deterministic automaton over intervals of code points; the start is state
/// 0, `u32::MAX` is no state.
#[cfg(feature = "automaton")]
pub(crate) struct CharTable {
    /// Starts of the intervals, ascending, the first 0.
    pub(crate) starts: Vec<u32>,
    /// The symbol of each interval; `u32::MAX` for surrogates.
    pub(crate) symbols: Vec<u32>,
    pub(crate) width: usize,
    /// For each state its next states by symbol.
    pub(crate) next: Vec<u32>,
    pub(crate) labels: Vec<u64>,
}

/// One expression as the smallest automaton of which every state can still accept; the
/// start is state 0, missing edges are [`DEAD`].
#[derive(Debug)]
pub(crate) struct Part {
    alphabet: Alphabet,
    next: Vec<u32>,
    accept: Vec<bool>,
    /// Whether the expression plainly is that of all texts.
    #[cfg(feature = "automaton")]
    pub(crate) is_any: bool,
}

impl Part {
    pub(crate) fn new<'b>(re: &Re, limit: impl Into<Limit<'b>>) -> Result<Part, TooBig> {
        let limit = limit.into();
        let alphabet = Alphabet::new(re, limit)?;
        let nfa = Nfa::new(re, &alphabet, limit.times(10))?;
        let (next, accept) = determinise(&nfa, alphabet.width, limit)?.minimal(limit)?;
        Ok(Part {
            alphabet,
            next,
            accept,
            #[cfg(feature = "automaton")]
            is_any: *re == Re::any(),
        })
    }

    /// An automaton of which every state can still accept, given as a table.
    #[cfg(feature = "automaton")]
    pub(crate) fn of_table(
        starts: &[u32],
        symbols: &[u32],
        width: usize,
        next: &[u32],
        accept: Vec<bool>,
    ) -> Part {
        Part {
            alphabet: Alphabet {
                starts: starts.to_vec(),
                symbols: symbols.to_vec(),
                width,
            },
            next: next.to_vec(),
            accept,
            is_any: false,
        }
    }

    /// The texts that any of several expressions matches: neighbours are met two by two,
    /// and each is the smallest again before it is met with others.
    #[cfg(feature = "automaton")]
    pub(crate) fn union(mut all: Vec<Part>, limit: Limit<'_>) -> Result<Part, TooBig> {
        while all.len() > 1 {
            let mut rest = all.into_iter();
            let mut met = Vec::new();
            while let Some(a) = rest.next() {
                let Some(b) = rest.next() else {
                    met.push(a);
                    break;
                };
                let both = Product::of(&[&a, &b], limit)?;
                let (next, accept) = both.minimal(|verdict| verdict != 0, limit)?;
                met.push(Part {
                    alphabet: both.alphabet,
                    next,
                    accept,
                    is_any: false,
                });
            }
            all = met;
        }
        all.pop().ok_or(TooBig)
    }

    /// The texts that the expression matches.
    #[cfg(feature = "automaton")]
    pub(crate) fn table(&self) -> CharTable {
        CharTable {
            starts: self.alphabet.starts.clone(),
            symbols: self.alphabet.symbols.clone(),
            width: self.alphabet.width,
            next: self.next.clone(),
            labels: self.accept.iter().map(|yes| u64::from(*yes)).collect(),
        }
    }
}

/// A complete automaton of which each state has a verdict; the start is state 0.
struct Labelled {
    next: Vec<u32>,
    verdicts: Vec<u64>,
}

impl Labelled {
    /// A part of which accepting states have this verdict and others none; what is
    /// missing leads to a state of its own. Of each symbol is given which one of the part
    /// it is.
    fn complete(part: &Part, verdict: u64, own_symbols: &[u32]) -> Labelled {
        let sink = part.accept.len() as u32;
        let mut next = Vec::with_capacity((part.accept.len() + 1) * own_symbols.len());
        for row in part.next.chunks_exact(part.alphabet.width) {
            next.extend(own_symbols.iter().map(|own| row[*own as usize].min(sink)));
        }
        next.resize(next.len() + own_symbols.len(), sink);
        let accept = part.accept.iter().chain([&false]);
        Labelled {
            next,
            verdicts: accept.map(|yes| if *yes { verdict } else { 0 }).collect(),
        }
    }

    /// All automata at once, the verdicts together; states are numbered breadth first.
    /// Neighbours are met two by two, so that a step is looked up by a pair of numbers
    /// and not by a list: a part never has more states than the whole.
    fn side_by_side(
        mut all: Vec<Labelled>,
        width: usize,
        limit: Limit<'_>,
    ) -> Result<Labelled, TooBig> {
        while all.len() > 1 {
            let mut rest = all.into_iter();
            let mut met = Vec::new();
            while let Some(a) = rest.next() {
                met.push(match rest.next() {
                    Some(b) => a.beside(&b, width, limit)?,
                    None => a,
                });
            }
            if let [_] = met[..] {
                return Ok(met.swap_remove(0));
            }
            all = met;
        }
        let trivial = || Labelled {
            next: vec![0; width],
            verdicts: vec![0],
        };
        all.pop()
            .map_or_else(|| Ok(trivial()), |one| one.numbered(width, limit))
    }

    /// What is reached, its states numbered breadth first, as those of pairs are.
    fn numbered(&self, width: usize, limit: Limit<'_>) -> Result<Labelled, TooBig> {
        let mut number = vec![DEAD; self.verdicts.len()];
        number[0] = 0;
        let mut reached = vec![0u32];
        let mut next = Vec::with_capacity(self.next.len());
        let mut verdicts = Vec::with_capacity(self.verdicts.len());
        while verdicts.len() < reached.len() {
            let state = reached[verdicts.len()] as usize;
            verdicts.push(self.verdicts[state]);
            for &to in &self.next[state * width..][..width] {
                let id = &mut number[to as usize];
                if *id == DEAD {
                    if reached.len() >= limit.states.max(1) {
                        return Err(TooBig);
                    }
                    *id = reached.len() as u32;
                    reached.push(to);
                }
                next.push(*id);
            }
        }
        Ok(Labelled { next, verdicts })
    }

    fn beside(&self, other: &Labelled, width: usize, limit: Limit<'_>) -> Result<Labelled, TooBig> {
        let mut pairs = Pairs::new(self.verdicts.len(), other.verdicts.len());
        pairs.number((0, 0));
        let mut next = Vec::new();
        let mut verdicts = Vec::new();
        while verdicts.len() < pairs.len() {
            let (a, b) = pairs.get(verdicts.len());
            limit.work(width / 2 + 1)?;
            verdicts.push(self.verdicts[a as usize] | other.verdicts[b as usize]);
            let to_a = &self.next[a as usize * width..][..width];
            let to_b = &other.next[b as usize * width..][..width];
            for (a, b) in to_a.iter().zip(to_b) {
                let id = pairs.number((*a, *b));
                if id as usize >= limit.states.max(1) {
                    return Err(TooBig);
                }
                next.push(id);
            }
        }
        Ok(Labelled { next, verdicts })
    }
}

/// Several expressions read side by side: each state knows which of them
/// accept there.
pub(crate) struct Product {
    alphabet: Alphabet,
    next: Vec<u32>,
    /// For each state, bit `i` where expression `i` accepts.
    verdicts: Vec<u64>,
}

impl Product {
    /// The product of at most 64 expressions, with at most `limit` states.
    pub(crate) fn new<'b>(all: &[&Re], limit: impl Into<Limit<'b>>) -> Result<Product, TooBig> {
        let limit = limit.into();
        if all.len() > 64 {
            return Err(TooBig);
        }
        let parts = all.iter().map(|re| Part::new(re, limit));
        let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
        let parts: Vec<&Part> = parts.iter().collect();
        Product::of(&parts, limit)
    }

    /// The same of expressions that were made before.
    pub(crate) fn of<'b>(parts: &[&Part], limit: impl Into<Limit<'b>>) -> Result<Product, TooBig> {
        let limit = limit.into();
        if parts.len() > 64 {
            return Err(TooBig);
        }
        let alphabets: Vec<&Alphabet> = parts.iter().map(|part| &part.alphabet).collect();
        let (alphabet, own_symbols) = Alphabet::common(&alphabets);
        let cells = parts.iter().map(|part| part.accept.len() * alphabet.width);
        limit.work(cells.sum::<usize>() / 8)?;
        let complete =
            |(k, part): (usize, &Part)| Labelled::complete(part, 1 << k, &own_symbols[k]);
        let all = parts.iter().copied().enumerate().map(complete).collect();
        let Labelled { next, verdicts } = Labelled::side_by_side(all, alphabet.width, limit)?;
        Ok(Product {
            alphabet,
            next,
            verdicts,
        })
    }

    /// The sets of expressions that some text matches, each as bits.
    pub(crate) fn verdicts(&self) -> Vec<u64> {
        let mut out = self.verdicts.clone();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The texts whose verdict satisfies `wanted`, as a table of which every
    /// state can still accept; without states where there is no such text.
    #[cfg(feature = "automaton")]
    pub(crate) fn table(
        &self,
        wanted: impl Fn(u64) -> bool,
        limit: Limit<'_>,
    ) -> Result<CharTable, TooBig> {
        let (next, accept) = self.minimal(wanted, limit)?;
        Ok(CharTable {
            starts: self.alphabet.starts.clone(),
            symbols: self.alphabet.symbols.clone(),
            width: self.alphabet.width,
            next,
            labels: accept.into_iter().map(u64::from).collect(),
        })
    }

    /// The whole product, each state labelled with its verdict.
    #[cfg(feature = "automaton")]
    pub(crate) fn into_labelled(self) -> CharTable {
        CharTable {
            width: self.alphabet.width,
            starts: self.alphabet.starts,
            symbols: self.alphabet.symbols,
            next: self.next,
            labels: self.verdicts,
        }
    }

    /// The texts whose verdict satisfies `wanted`, as an expression.
    pub(crate) fn to_re<'b>(
        &self,
        wanted: impl Fn(u64) -> bool,
        limit: impl Into<Limit<'b>>,
    ) -> Result<Re, TooBig> {
        let limit = limit.into();
        let (next, accept) = self.minimal(wanted, limit)?;
        eliminate(&next, &accept, &self.alphabet.sets(), limit)
    }

    fn minimal(
        &self,
        wanted: impl Fn(u64) -> bool,
        limit: Limit<'_>,
    ) -> Result<(Vec<u32>, Vec<bool>), TooBig> {
        let accept: Vec<bool> = self.verdicts.iter().map(|&v| wanted(v)).collect();
        minimise_within(&self.next, &accept, self.alphabet.width, limit)
    }
}

#[cfg(test)]
mod tests {
    use crate::language::dfa::matches;
    use crate::language::product::Product;
    use crate::language::re::Re;

    #[test]
    fn intersects_and_complements() {
        let a = Re::concat([Re::literal("a").repeat(0, None), Re::literal("b")]);
        let b = Re::any_char().repeat(2, Some(3));
        let product = Product::new(&[&a, &b], 100).unwrap();
        let both = product.to_re(|v| v == 3, 100).unwrap();
        let rest = product.to_re(|v| v & 1 == 0, 100).unwrap();
        for text in ["", "b", "ab", "aab", "aaab", "ba", "zz"] {
            let ina = matches(&a, text).unwrap();
            let inb = matches(&b, text).unwrap();
            assert_eq!(matches(&both, text).unwrap(), ina && inb, "{text}");
            assert_eq!(matches(&rest, text).unwrap(), !ina, "{text}");
        }
    }

    #[test]
    fn verdicts_are_those_of_the_expressions() {
        let word = |from, to| Re::chars(&[(from, to)]);
        let all = [
            Re::concat([word('a', 'm').repeat(1, None), Re::literal("1")]),
            Re::concat([word('h', 'z').repeat(0, Some(2)), Re::any()]),
            Re::Never,
            Re::any(),
            Re::concat([Re::any(), word('é', '\u{10FFFF}'), Re::any()]),
        ];
        let product = Product::new(&all.each_ref(), 100).unwrap();
        let verdict = |text: &str| {
            let hold = |(i, re)| u64::from(matches(re, text).unwrap()) << i;
            all.iter().enumerate().map(hold).sum::<u64>()
        };
        for text in ["", "a1", "h1", "zz1", "zé", "m", "ab1é", "\u{E000}1"] {
            let verdict = verdict(text);
            assert!(product.verdicts().contains(&verdict), "{text}");
            let same = product.to_re(|v| v == verdict, 100).unwrap();
            assert!(matches(&same, text).unwrap(), "{text}");
            let others = product.to_re(|v| v != verdict, 100).unwrap();
            assert!(!matches(&others, text).unwrap(), "{text}");
        }
    }
}
