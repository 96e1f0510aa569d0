//! Expressions as smallest automata, each over its own classes of characters, and
//! several of them read side by side. An expression is made into an automaton once,
//! whatever it is then met with.
//!
//! For example, `a*b` met with the complement of `b` is `a+b`.

use fsm_tables::{Alphabet, Keep, Rest, Symbols, Table, product};

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::language::char_dfa::automata::{char_sets, nfa};
use crate::language::re::Re;
use crate::language::re::elimination::eliminate;

/// One expression as the smallest automaton of which every state can still accept.
#[derive(Clone, Debug)]
pub struct Part {
    /// The classes of characters that it tells apart.
    pub alphabet: Alphabet,
    /// The transitions, and which states accept.
    pub table: Table<bool>,
    /// True if the expression plainly is that of all texts.
    pub is_any: bool,
}

impl Part {
    /// Returns the automaton of an expression. Fails where it takes more than the limit.
    pub fn new<'b>(re: &Re, limit: impl Into<Limit<'b>>) -> Result<Part, TooBig> {
        let limit = &mut limit.into();
        let nfa = nfa(re, *limit)?;
        let (alphabet, members) = Alphabet::new(Symbols::Chars, Rest::AsMet, nfa.sets(), limit)?;
        let table = nfa.determinize(alphabet.len(), &members, limit)?;
        Ok(Part {
            alphabet,
            table: table.minimized(limit)?,
            is_any: *re == Re::any(),
        })
    }

    /// The texts of this one that are, or are not, texts of another one too.
    pub fn met(&self, other: &Part, wanted: bool, mut limit: Limit<'_>) -> Result<Part, TooBig> {
        let (alphabet, own_classes) = Alphabet::common(&[&self.alphabet, &other.alphabet]);
        let cells = (self.table.states() + other.table.states()) * alphabet.len();
        limit.charge(cells / 8)?;
        let keep = if wanted { Keep::Both } else { Keep::First };
        let both = product(
            &self.table.over(&own_classes[0]),
            &other.table.over(&own_classes[1]),
            keep,
            |a, b| a == Some(&true) && (b == Some(&true)) == wanted,
            &mut limit,
        )?;
        Ok(Part {
            alphabet,
            table: both.minimized(&mut limit)?,
            is_any: false,
        })
    }

    /// The texts that several expressions match, or do not where they must not. One is met
    /// after the other, the smallest first, and each meeting is the smallest again: where
    /// only these texts are asked for, that takes far fewer states than a [`Product`].
    pub fn meeting(mut all: Vec<(&Part, bool)>, limit: Limit<'_>) -> Result<Part, TooBig> {
        all.sort_by_key(|(part, wanted)| (!*wanted, part.table.states()));
        let mut met: Option<Part> = None;
        for (part, wanted) in all {
            let before = match (met, wanted) {
                (Some(met), _) => met,
                (None, true) => part.clone(),
                (None, false) => Part::new(&Re::any(), limit)?,
            };
            met = Some(before.met(part, wanted, limit)?);
        }
        met.map_or_else(|| Part::new(&Re::any(), limit), Ok)
    }

    /// The texts as an expression.
    pub fn to_re(&self, limit: Limit<'_>) -> Result<Re, TooBig> {
        eliminate(&self.table, &char_sets(&self.alphabet), limit)
    }

    /// The texts that any of several expressions matches: neighbours are met two by two,
    /// and each is the smallest again before it is met with others.
    pub(super) fn union(mut all: Vec<Part>, limit: Limit<'_>) -> Result<Part, TooBig> {
        while all.len() > 1 {
            let mut rest = all.into_iter();
            let mut met = Vec::new();
            while let Some(a) = rest.next() {
                let Some(b) = rest.next() else {
                    met.push(a);
                    break;
                };
                let both = Product::of(&[&a, &b], limit)?;
                met.push(Part {
                    table: both.minimal(|verdict| verdict != 0, limit)?,
                    alphabet: both.alphabet,
                    is_any: false,
                });
            }
            all = met;
        }
        all.pop().ok_or(TooBig)
    }
}

/// Several expressions read side by side: each state knows which of them
/// accept there.
pub struct Product {
    pub(super) alphabet: Alphabet,
    /// The bits of each state: bit `i` if expression `i` accepts. No text leaves the table.
    pub(super) table: Table<u64>,
}

impl Product {
    /// The product of at most 64 expressions, with at most `limit` states.
    pub fn new<'b>(all: &[&Re], limit: impl Into<Limit<'b>>) -> Result<Product, TooBig> {
        let limit = limit.into();
        if all.len() > 64 {
            return Err(TooBig);
        }
        let parts = all.iter().map(|re| Part::new(re, limit));
        let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
        let parts: Vec<&Part> = parts.iter().collect();
        Product::of(&parts, limit)
    }

    /// The same of expressions that were made before. Neighbours are met two by two, so
    /// that a step is looked up by a pair of numbers and not by a list: a part never has
    /// more states than the whole.
    pub fn of<'b>(parts: &[&Part], limit: impl Into<Limit<'b>>) -> Result<Product, TooBig> {
        let mut limit = limit.into();
        if parts.len() > 64 {
            return Err(TooBig);
        }
        let alphabets: Vec<&Alphabet> = parts.iter().map(|part| &part.alphabet).collect();
        let (alphabet, own_classes) = Alphabet::common(&alphabets);
        let cells = parts
            .iter()
            .map(|part| part.table.states() * alphabet.len());
        limit.charge(cells.sum::<usize>() / 8)?;
        let table = |(k, part): (usize, &&Part)| {
            let table = part.table.over(&own_classes[k]);
            table.labelled(|accepts| u64::from(accepts) << k)
        };
        let mut all: Vec<Table<u64>> = parts.iter().enumerate().map(table).collect();
        // One alone, or none, is read beside an automaton that says nothing.
        if all.len() < 2 {
            all.push(Table::new(alphabet.len(), vec![0; alphabet.len()], vec![0]));
        }
        let verdicts = |a: Option<&u64>, b: Option<&u64>| {
            a.copied().unwrap_or_default() | b.copied().unwrap_or_default()
        };
        while all.len() > 1 {
            let mut met = Vec::with_capacity(all.len().div_ceil(2));
            for two in all.chunks(2) {
                met.push(match two {
                    [a, b] => product(a, b, Keep::Every, verdicts, &mut limit)?,
                    others => others[0].clone(),
                });
            }
            all = met;
        }
        let table = all.pop().ok_or(TooBig)?;
        Ok(Product { alphabet, table })
    }

    /// The sets of expressions that some text matches, each as bits.
    pub fn verdicts(&self) -> Vec<u64> {
        let mut out = self.table.labels().to_vec();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The texts whose verdict satisfies `wanted`, as an expression.
    pub fn to_re<'b>(
        &self,
        wanted: impl Fn(u64) -> bool,
        limit: impl Into<Limit<'b>>,
    ) -> Result<Re, TooBig> {
        let limit = limit.into();
        let table = self.minimal(wanted, limit)?;
        eliminate(&table, &char_sets(&self.alphabet), limit)
    }

    /// The same as the smallest table.
    pub(super) fn minimal(
        &self,
        wanted: impl Fn(u64) -> bool,
        mut limit: Limit<'_>,
    ) -> Result<Table<bool>, TooBig> {
        self.table.clone().labelled(wanted).minimized(&mut limit)
    }
}

#[cfg(test)]
mod tests {
    use crate::language::char_dfa::automata::matches;
    use crate::language::char_dfa::product::Product;
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
