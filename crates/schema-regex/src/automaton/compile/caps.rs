//! The caps of the options: bounds for strings and arrays that the schema leaves
//! without one. What is capped is the alternative of a goal, in which nothing is
//! negated any more, so that the language only gets smaller.

use crate::automaton::compile::builder::Builder;
use crate::error::Error;
use crate::language::length_bounds::Lengths;
use crate::normal::alternative::{ArrayShape, StringShape};
use crate::normal::conjunctions::ConjId;
use crate::regex::{capped_items, capped_length};

impl Builder {
    fn narrow(&mut self, conj: ConjId, keyword: &'static str, how: String) {
        let at = self.normaliser.pointer_of(conj);
        self.narrowed.insert((at, keyword, how));
    }

    /// The shape with a bound for the length, where strings may have any, unless none
    /// would be left.
    pub(crate) fn cap_string(
        &mut self,
        conj: ConjId,
        shape: &StringShape,
    ) -> Result<Option<StringShape>, Error> {
        let Some(cap) = self.options().caps.max_length else {
            return Ok(None);
        };
        if shape.max.is_some() || shape.allowed.is_some() {
            return Ok(None);
        }
        let Some(leaf) = self.string_leaf(shape)? else {
            return Ok(None);
        };
        let cap = cap.max(shape.min).max(u64::from(leaf.excludes));
        if let Some(dfa) = &leaf.dfa {
            let finite = dfa.counts(|l| l != 0).first().copied().flatten().is_some();
            let fits = match Lengths::new(dfa, shape.min, Some(cap), self.normaliser.limit()) {
                Ok(Some(lengths)) => lengths.live(0, 0),
                Ok(None) => true,
                Err(_) => false,
            };
            if finite || !fits {
                return Ok(None);
            }
        }
        self.narrow(conj, "maxLength", capped_length(cap));
        let max = Some(cap);
        Ok(Some(StringShape {
            max,
            ..shape.clone()
        }))
    }

    /// Bounds the items of arrays that may have any number.
    pub(crate) fn cap_array(&mut self, conj: ConjId, shape: &mut ArrayShape) {
        let Some(cap) = self.options().caps.max_items else {
            return;
        };
        if shape.max.is_some() {
            return;
        }
        let cap = cap.max(shape.needed());
        shape.max = Some(cap);
        self.narrow(conj, "maxItems", capped_items(cap));
    }
}
