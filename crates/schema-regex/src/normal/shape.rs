//! Shapes: what one location demands of a value, kind by kind, and how two of
//! them are met.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use crate::decimal::Decimal;
use crate::error::Error;
use crate::ir::{ALWAYS, Kinds, NEVER, NodeId, PatternId};
use crate::language::formats::Format;
use crate::language::number_expressions::Bound;
use crate::validate::canonical;

/// A schema location, or the complement of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Signed {
    pub(crate) node: NodeId,
    pub(crate) positive: bool,
}

impl Signed {
    pub(crate) fn yes(node: NodeId) -> Self {
        Signed {
            node,
            positive: true,
        }
    }

    pub(crate) fn no(node: NodeId) -> Self {
        Signed {
            node,
            positive: false,
        }
    }

    fn is_trivial(self) -> bool {
        self == Signed::yes(ALWAYS) || self == Signed::no(NEVER)
    }

    fn is_impossible(self) -> bool {
        self == Signed::no(ALWAYS) || self == Signed::yes(NEVER)
    }
}

/// Locations that all apply to one value: sorted, each once, without those
/// that demand nothing. The empty one is any value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Conj(Rc<[Signed]>);

impl Conj {
    pub(crate) fn new(parts: impl IntoIterator<Item = Signed>) -> Conj {
        let mut parts: Vec<Signed> = parts.into_iter().filter(|s| !s.is_trivial()).collect();
        parts.sort_unstable();
        parts.dedup();
        if parts.iter().any(|s| s.is_impossible()) {
            parts = vec![Signed::yes(NEVER)];
        }
        Conj(parts.into())
    }

    pub(crate) fn any() -> Conj {
        Conj(Rc::from([]))
    }

    pub(crate) fn parts(&self) -> &[Signed] {
        &self.0
    }

    pub(crate) fn is_any(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_never(&self) -> bool {
        *self.0 == [Signed::yes(NEVER)]
    }

    fn and(&self, other: &Conj) -> Conj {
        if self.is_any() {
            return other.clone();
        }
        if other.is_any() || self == other {
            return self.clone();
        }
        Conj::new(self.0.iter().chain(other.0.iter()).copied())
    }
}

/// A location and its keyword, for errors.
pub(crate) type At = (NodeId, &'static str);

/// What a value must be: its kind is one of `kinds`, and what is said of that
/// kind holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    pub(crate) kinds: Kinds,
    pub(crate) numbers: Rc<Numbers>,
    pub(crate) strings: Rc<Strings>,
    pub(crate) arrays: Rc<Arrays>,
    pub(crate) objects: Rc<Objects>,
    /// Values of these kinds have a condition that is not expressed: an error,
    /// if the kind is still there in the end.
    pub(crate) refused: Vec<(Kinds, Rc<Error>)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) low: Option<Bound>,
    pub(crate) high: Option<Bound>,
    /// Whether the schema gave a bound. One around a number that is left out
    /// is none: where no bound is given, `-0` is admitted.
    pub(crate) is_bounded: bool,
    /// `Some(true)`: integers; `Some(false)`: the others.
    pub(crate) integer: Option<bool>,
    pub(crate) multiples: Vec<(Decimal, At)>,
    /// One of these; the flag says that the schema wrote a fraction of zeros.
    pub(crate) allowed: Option<Vec<(Decimal, bool)>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Strings {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) length_at: Option<At>,
    pub(crate) allowed: Option<Vec<String>>,
    pub(crate) excluded: BTreeSet<String>,
    pub(crate) patterns: Vec<(PatternId, bool, At)>,
    pub(crate) formats: Vec<(Format, bool, At)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arrays {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) prefix: Vec<Conj>,
    pub(crate) rest: Conj,
    pub(crate) contains: Vec<Contains>,
    pub(crate) unique: Option<NodeId>,
    pub(crate) allowed: Option<Vec<Value>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contains {
    pub(crate) item: Signed,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) at: At,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Objects {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) count_at: Option<At>,
    /// Locations whose `properties`, `patternProperties` and
    /// `additionalProperties` hold.
    pub(crate) members: Vec<NodeId>,
    pub(crate) required: BTreeSet<String>,
    /// Conditions on single members, beside those of `members`.
    pub(crate) extra: Vec<(String, Signed)>,
    /// Conditions on every name.
    pub(crate) names: Vec<Signed>,
    pub(crate) allowed: Option<Vec<Value>>,
}

impl Shape {
    pub(crate) fn any() -> Shape {
        Shape {
            kinds: Kinds::ALL,
            numbers: Rc::default(),
            strings: Rc::default(),
            arrays: Rc::new(Arrays {
                min: 0,
                max: None,
                prefix: Vec::new(),
                rest: Conj::any(),
                contains: Vec::new(),
                unique: None,
                allowed: None,
            }),
            objects: Rc::default(),
            refused: Vec::new(),
        }
    }

    pub(crate) fn of_kinds(kinds: Kinds) -> Shape {
        Shape {
            kinds,
            ..Shape::any()
        }
    }

    pub(crate) fn is_any(&self) -> bool {
        *self == Shape::any()
    }

    pub(crate) fn with_numbers(mut self, change: impl FnOnce(&mut Numbers)) -> Shape {
        change(Rc::make_mut(&mut self.numbers));
        self
    }

    pub(crate) fn with_strings(mut self, change: impl FnOnce(&mut Strings)) -> Shape {
        change(Rc::make_mut(&mut self.strings));
        self
    }

    pub(crate) fn with_arrays(mut self, change: impl FnOnce(&mut Arrays)) -> Shape {
        change(Rc::make_mut(&mut self.arrays));
        self
    }

    pub(crate) fn with_objects(mut self, change: impl FnOnce(&mut Objects)) -> Shape {
        change(Rc::make_mut(&mut self.objects));
        self
    }

    pub(crate) fn with_refusal(mut self, kinds: Kinds, error: Error) -> Shape {
        self.refused.push((kinds, Rc::new(error)));
        self
    }

    /// What satisfies both; `None` where plainly nothing does.
    pub(crate) fn meet(&self, other: &Shape) -> Option<Shape> {
        let mut kinds = self.kinds.and(other.kinds);
        if kinds == Kinds::NONE {
            return None;
        }
        let mut out = self.clone();
        if kinds.has(Kinds::NUMBER)
            && !Rc::ptr_eq(&self.numbers, &other.numbers)
            && *other.numbers != Numbers::default()
        {
            meet_numbers(Rc::make_mut(&mut out.numbers), &other.numbers);
        }
        if kinds.has(Kinds::STRING)
            && !Rc::ptr_eq(&self.strings, &other.strings)
            && *other.strings != Strings::default()
        {
            meet_strings(Rc::make_mut(&mut out.strings), &other.strings);
        }
        if kinds.has(Kinds::ARRAY) && !Rc::ptr_eq(&self.arrays, &other.arrays) {
            meet_arrays(Rc::make_mut(&mut out.arrays), &other.arrays);
        }
        if kinds.has(Kinds::OBJECT)
            && !Rc::ptr_eq(&self.objects, &other.objects)
            && *other.objects != Objects::default()
        {
            meet_objects(Rc::make_mut(&mut out.objects), &other.objects);
        }
        // What is said of a kind that is gone is forgotten, so that equal
        // shapes compare equal.
        let n = &out.numbers;
        if kinds.has(Kinds::NUMBER) && n.plainly_empty() {
            kinds = kinds.without(Kinds::NUMBER);
        }
        let s = &out.strings;
        if kinds.has(Kinds::STRING)
            && (s.max.is_some_and(|m| m < s.min) || s.allowed.as_ref().is_some_and(Vec::is_empty))
        {
            kinds = kinds.without(Kinds::STRING);
        }
        let a = &out.arrays;
        if kinds.has(Kinds::ARRAY)
            && (a.max.is_some_and(|m| m < a.min) || a.allowed.as_ref().is_some_and(Vec::is_empty))
        {
            kinds = kinds.without(Kinds::ARRAY);
        }
        let o = &out.objects;
        if kinds.has(Kinds::OBJECT)
            && (o
                .max
                .is_some_and(|m| m < o.min.max(o.required.len() as u64))
                || o.allowed.as_ref().is_some_and(Vec::is_empty)
                || o.extra
                    .iter()
                    .any(|(k, s)| s.is_impossible() && o.required.contains(k)))
        {
            kinds = kinds.without(Kinds::OBJECT);
        }
        if kinds == Kinds::NONE {
            return None;
        }
        out.kinds = kinds;
        for (k, e) in &other.refused {
            if !out.refused.iter().any(|(k2, e2)| k == k2 && e == e2) {
                out.refused.push((*k, e.clone()));
            }
        }
        out.refused.retain(|(k, _)| k.has(kinds));
        out.normalise();
        Some(out)
    }

    /// About how many things a shape consists of: what meeting it with another takes.
    pub(crate) fn weight(&self) -> usize {
        let count = |list: &Option<Vec<Value>>| list.as_ref().map_or(0, Vec::len);
        let (n, s, a, o) = (&self.numbers, &self.strings, &self.arrays, &self.objects);
        16 * n.multiples.len()
            + n.allowed.as_ref().map_or(0, |list| 4 * list.len())
            + s.allowed.as_ref().map_or(0, |list| 4 * list.len())
            + 8 * s.excluded.len()
            + s.patterns.len()
            + s.formats.len()
            + 4 * a.contains.len()
            + a.prefix.iter().map(|c| 8 + c.parts().len()).sum::<usize>()
            + a.rest.parts().len() / 8
            + 8 * count(&a.allowed)
            + 2 * (o.members.len() + o.names.len())
            + 8 * (o.required.len() + o.extra.len())
            + 8 * count(&o.allowed)
    }

    fn normalise(&mut self) {
        if !self.kinds.has(Kinds::NUMBER) && *self.numbers != Numbers::default() {
            self.numbers = Rc::default();
        }
        if !self.kinds.has(Kinds::STRING) && *self.strings != Strings::default() {
            self.strings = Rc::default();
        }
        if !self.kinds.has(Kinds::ARRAY) {
            self.arrays = Shape::any().arrays;
        }
        if !self.kinds.has(Kinds::OBJECT) && *self.objects != Objects::default() {
            self.objects = Rc::default();
        }
    }
}

impl Numbers {
    /// Sets the least number that the schema admits.
    pub(crate) fn bound_below(&mut self, low: Bound) {
        self.low = Some(low);
        self.is_bounded = true;
    }

    /// Sets the greatest number that the schema admits.
    pub(crate) fn bound_above(&mut self, high: Bound) {
        self.high = Some(high);
        self.is_bounded = true;
    }

    pub(crate) fn plainly_empty(&self) -> bool {
        if self
            .allowed
            .as_ref()
            .is_some_and(|a| !a.iter().any(|(d, _)| self.holds(d)))
        {
            return true;
        }
        match (&self.low, &self.high) {
            (Some(l), Some(h)) => {
                l.value > h.value || (l.value == h.value && (l.exclusive || h.exclusive))
            }
            _ => false,
        }
    }

    /// Whether a number satisfies everything but `allowed`.
    pub(crate) fn holds(&self, n: &Decimal) -> bool {
        self.low
            .as_ref()
            .is_none_or(|b| *n > b.value || (*n == b.value && !b.exclusive))
            && self
                .high
                .as_ref()
                .is_none_or(|b| *n < b.value || (*n == b.value && !b.exclusive))
            && self.integer.is_none_or(|want| n.is_integer() == want)
            && self
                .multiples
                .iter()
                .all(|(m, _)| n.is_multiple_of(m) != Some(false))
    }
}

fn meet_numbers(a: &mut Numbers, b: &Numbers) {
    if let Some(low) = &b.low {
        // The greater value; at the same value the exclusive bound.
        if a.low.as_ref().is_none_or(|l| *l < *low) {
            a.low = Some(low.clone());
        }
    }
    if let Some(high) = &b.high {
        let tighter = a
            .high
            .as_ref()
            .is_none_or(|h| high.value < h.value || (high.value == h.value && high.exclusive));
        if tighter {
            a.high = Some(high.clone());
        }
    }
    a.is_bounded |= b.is_bounded;
    match (a.integer, b.integer) {
        (Some(x), Some(y)) if x != y => a.allowed = Some(Vec::new()),
        (None, y) => a.integer = y,
        _ => {}
    }
    for m in &b.multiples {
        if !a.multiples.iter().any(|(d, _)| *d == m.0) {
            a.multiples.push(m.clone());
        }
    }
    a.allowed = match (a.allowed.take(), &b.allowed) {
        (Some(x), Some(y)) => {
            // A fraction of zeros may be written where either list has it.
            let y: HashMap<&Decimal, bool> = y.iter().map(|(d, more)| (d, *more)).collect();
            let both = x.into_iter().filter_map(|(d, zeros)| {
                let more = *y.get(&d)?;
                Some((d, zeros || more))
            });
            Some(both.collect())
        }
        (x, y) => x.or_else(|| y.clone()),
    };
}

fn meet_strings(a: &mut Strings, b: &Strings) {
    if b.min > a.min
        || (b.max.is_some() && a.max.is_none_or(|m| b.max.is_some_and(|n| n < m)))
        || a.length_at.is_none()
    {
        a.length_at = b.length_at.or(a.length_at);
    }
    a.min = a.min.max(b.min);
    a.max = least(a.max, b.max);
    a.allowed = match (a.allowed.take(), &b.allowed) {
        (Some(x), Some(y)) => {
            let y: BTreeSet<&String> = y.iter().collect();
            Some(x.into_iter().filter(|s| y.contains(s)).collect())
        }
        (x, y) => x.or_else(|| y.clone()),
    };
    a.excluded.extend(b.excluded.iter().cloned());
    if let Some(allowed) = &mut a.allowed {
        allowed.retain(|s| !a.excluded.contains(s));
    }
    for p in &b.patterns {
        if !a.patterns.iter().any(|q| q.0 == p.0 && q.1 == p.1) {
            a.patterns.push(*p);
        }
    }
    for f in &b.formats {
        if !a.formats.iter().any(|g| g.0 == f.0 && g.1 == f.1) {
            a.formats.push(*f);
        }
    }
    a.patterns.sort_unstable_by_key(|p| (p.0, p.1));
    a.formats.sort_unstable_by_key(|f| (f.0, f.1));
    // A condition and its opposite: nothing is left.
    if a.patterns.windows(2).any(|w| w[0].0 == w[1].0)
        || a.formats.windows(2).any(|w| w[0].0 == w[1].0)
    {
        a.allowed = Some(Vec::new());
    }
}

fn least(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(x), Some(y)) => Some(x.min(y)),
        (x, y) => x.or(y),
    }
}

fn meet_arrays(a: &mut Arrays, b: &Arrays) {
    a.min = a.min.max(b.min);
    a.max = least(a.max, b.max);
    let n = a.prefix.len().max(b.prefix.len());
    let item = |x: &Arrays, i: usize| x.prefix.get(i).unwrap_or(&x.rest).clone();
    a.prefix = (0..n).map(|i| item(a, i).and(&item(b, i))).collect();
    a.rest = a.rest.and(&b.rest);
    for c in &b.contains {
        if !a.contains.contains(c) {
            a.contains.push(c.clone());
        }
    }
    a.unique = a.unique.or(b.unique);
    meet_values(&mut a.allowed, &b.allowed);
}

fn meet_objects(a: &mut Objects, b: &Objects) {
    if a.count_at.is_none() || b.min > a.min {
        a.count_at = b.count_at.or(a.count_at);
    }
    a.min = a.min.max(b.min);
    a.max = least(a.max, b.max);
    for m in &b.members {
        if !a.members.contains(m) {
            a.members.push(*m);
        }
    }
    a.required.extend(b.required.iter().cloned());
    for e in &b.extra {
        if !a.extra.contains(e) {
            a.extra.push(e.clone());
        }
    }
    for n in &b.names {
        if !a.names.contains(n) {
            a.names.push(*n);
        }
    }
    meet_values(&mut a.allowed, &b.allowed);
}

fn meet_values(a: &mut Option<Vec<Value>>, b: &Option<Vec<Value>>) {
    *a = match (a.take(), b) {
        (Some(x), Some(y)) => {
            let y: HashSet<String> = y.iter().map(canonical).collect();
            let both = x.into_iter().filter(|v| y.contains(&canonical(v)));
            Some(both.collect())
        }
        (x, y) => x.or_else(|| y.clone()),
    };
}
