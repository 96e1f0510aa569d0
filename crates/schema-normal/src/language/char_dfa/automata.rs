//! Expressions as automata, made by the kit. For example, `ab*` becomes the states before `a` and
//! before each `b`.

use fsm_tables::{Alphabet, Builder, MATCH, Meter, Nfa, NfaId, SetId, Shape, State, Syntax};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use rustc_hash::FxHashMap;

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::language::re::{CharSet, Re};

/// The reader of the parts of an expression.
#[derive(Default)]
struct Parts {
    /// The sets of classes that were met, by place: a repetition meets its own again.
    classes: FxHashMap<*const CharSet, SetId>,
}

impl<M: Meter> Syntax<M> for Parts {
    type Expression = Re;

    fn shape<'e>(&self, of: &'e Re) -> Shape<'e, Re> {
        match of {
            Re::Never | Re::Class(_) => Shape::Leaf,
            Re::Empty => Shape::Concat(&[]),
            Re::Concat(parts) => Shape::Concat(parts),
            Re::Alt(parts) if parts.is_empty() => Shape::Leaf,
            Re::Alt(parts) => Shape::Alternation(parts),
            Re::Repeat(of, min, max) => Shape::Repeat {
                of,
                min: *min,
                max: *max,
            },
            Re::Look(look, of) => Shape::Look { look: *look, of },
        }
    }

    fn leaf(
        &mut self,
        builder: &mut Builder<'_, M>,
        leaf: &Re,
        next: NfaId,
    ) -> Result<NfaId, M::Error> {
        let Re::Class(class) = leaf else {
            return builder.symbol(Vec::new(), next);
        };
        let set = match self.classes.get(&std::ptr::from_ref(class)) {
            Some(&set) => set,
            None => {
                let ranges = class.ranges().iter();
                let ranges = ranges.map(|r| (u32::from(r.start()), u32::from(r.end())));
                let set = builder.set(ranges.collect())?;
                self.classes.insert(class, set);
                set
            }
        };
        builder.push(State::Symbol { set, next })
    }
}

/// The nondeterministic automaton of an expression.
pub(super) fn nfa(re: &Re, mut limit: Limit<'_>) -> Result<Nfa, TooBig> {
    let mut builder = Builder::new(&mut limit);
    let start = builder.expression(&mut Parts::default(), re, MATCH)?;
    Ok(builder.finish(start))
}

/// The characters of each class.
pub(super) fn char_sets(alphabet: &Alphabet) -> Vec<CharSet> {
    let mut ranges: Vec<Vec<ClassUnicodeRange>> = vec![Vec::new(); alphabet.len()];
    for (first, last, class) in alphabet.runs() {
        if let (Some(first), Some(last)) = (char::from_u32(first), char::from_u32(last)) {
            ranges[class as usize].push(ClassUnicodeRange::new(first, last));
        }
    }
    ranges.into_iter().map(ClassUnicode::new).collect()
}

/// Tells whether `re` matches the whole of `text`. Time is the product of both sizes.
#[cfg(test)]
pub(crate) fn matches(re: &Re, text: &str) -> Result<bool, TooBig> {
    Ok(Matcher::new(re)?.matches(text))
}

/// An expression, to be met with many texts.
#[derive(Debug)]
pub struct Matcher {
    nfa: Nfa,
}

impl Matcher {
    /// Returns the matcher of an expression. Fails where it takes too many states.
    pub fn new(re: &Re) -> Result<Matcher, TooBig> {
        let nfa = nfa(re, 100_000.into())?;
        Ok(Matcher { nfa })
    }

    /// Tells whether the whole of `text` is matched. Time is the product of both sizes.
    pub fn matches(&self, text: &str) -> bool {
        self.nfa.accepts(text.chars().map(u32::from))
    }
}
