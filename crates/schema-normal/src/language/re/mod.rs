//! Regular expressions over code points, as a small tree. For example, `a[0-2]b?` is a sequence of
//! a class, a class and a repetition, and has the texts `a0`, `a0b` and so on.

pub mod elimination;

use std::sync::Arc;

use fsm_tables::Look;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// A set of code points (surrogates are none).
pub type CharSet = ClassUnicode;

/// Returns the set of the characters in some ranges, ends included.
pub fn char_set(ranges: &[(char, char)]) -> CharSet {
    ClassUnicode::new(ranges.iter().map(|&(a, b)| ClassUnicodeRange::new(a, b)))
}

/// Tells whether a character is in a set. O(log ranges).
pub fn set_contains(set: &CharSet, c: char) -> bool {
    let ranges = set.ranges();
    let i = ranges.partition_point(|r| r.end() < c);
    ranges.get(i).is_some_and(|r| r.start() <= c)
}

/// A regular expression that matches whole texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Re {
    /// No text at all.
    Never,
    /// The empty text.
    Empty,
    /// One character of a set that is not empty.
    Class(CharSet),
    /// Texts of each part, one behind the other.
    Concat(Vec<Re>),
    /// The texts of any part.
    Alt(Vec<Re>),
    /// The part so often at least, and at most so often if there is a bound.
    Repeat(Box<Re>, u32, Option<u32>),
    /// The empty text where the text around allows it. It is read by automata alone.
    Look(Look, Arc<Re>),
}

/// The most repetitions of a part whose texts are listed, because the texts may be as many as a
/// power of it.
const MAX_LISTED_REPEAT: usize = 16;

impl Re {
    /// Returns the expression of one character, whichever it is.
    pub fn any_char() -> Re {
        Re::Class(char_set(&[('\0', char::MAX)]))
    }

    /// Any text.
    pub(super) fn any() -> Re {
        Re::any_char().repeat(0, None)
    }

    pub(super) fn class(set: CharSet) -> Re {
        if set.ranges().is_empty() {
            Re::Never
        } else {
            Re::Class(set)
        }
    }

    pub(super) fn chars(ranges: &[(char, char)]) -> Re {
        Re::Class(char_set(ranges))
    }

    /// The texts of the language, where there are at most so many; one may come twice.
    pub(crate) fn texts(&self, most: usize) -> Option<Vec<String>> {
        let behind = |texts: Vec<String>, part: &Re| {
            let more = part.texts(most)?;
            let longer = texts
                .iter()
                .flat_map(|t| more.iter().map(move |m| format!("{t}{m}")));
            (texts.len() * more.len() <= most).then(|| longer.collect::<Vec<String>>())
        };
        let nothing = || vec![String::new()];
        match self {
            Re::Never => Some(Vec::new()),
            Re::Look(..) => None,
            Re::Empty => Some(nothing()),
            Re::Class(set) => {
                let all = set.iter().flat_map(|range| range.start()..=range.end());
                let all: Vec<String> = all.take(most + 1).map(String::from).collect();
                (all.len() <= most).then_some(all)
            }
            Re::Concat(parts) => parts.iter().try_fold(nothing(), behind),
            Re::Alt(parts) => parts.iter().try_fold(Vec::new(), |mut texts, part| {
                texts.extend(part.texts(most)?);
                (texts.len() <= most).then_some(texts)
            }),
            Re::Repeat(part, min, max) => {
                let max = (*max)? as usize;
                let mut all = Vec::new();
                let mut texts = nothing();
                for times in 0..=max.min(MAX_LISTED_REPEAT) {
                    if times >= *min as usize {
                        all.extend(texts.iter().cloned());
                    }
                    if all.len() > most {
                        return None;
                    }
                    if times < max {
                        texts = behind(texts, part)?;
                    }
                }
                (max <= MAX_LISTED_REPEAT).then_some(all)
            }
        }
    }

    /// Returns the expression of one text.
    pub fn literal(text: &str) -> Re {
        Re::concat(text.chars().map(|c| Re::chars(&[(c, c)])))
    }

    /// Returns the expressions one behind the other, as flat as can be.
    pub fn concat(parts: impl IntoIterator<Item = Re>) -> Re {
        let mut out = Vec::new();
        for part in parts {
            match part {
                Re::Never => return Re::Never,
                Re::Empty => {}
                Re::Concat(inner) => out.extend(inner),
                other => out.push(other),
            }
        }
        match out.len() {
            0 => Re::Empty,
            1 => out.swap_remove(0),
            _ => Re::Concat(out),
        }
    }

    /// Returns the texts of any of the expressions, as flat as can be.
    pub fn alt(parts: impl IntoIterator<Item = Re>) -> Re {
        let mut out: Vec<Re> = Vec::new();
        let mut set = CharSet::empty();
        let mut set_at = None;
        let mut push = |part: Re, out: &mut Vec<Re>| match part {
            Re::Never => {}
            Re::Class(class) => {
                set.union(&class);
                set_at.get_or_insert_with(|| {
                    out.push(Re::Never);
                    out.len() - 1
                });
            }
            other => out.push(other),
        };
        for part in parts {
            match part {
                Re::Alt(inner) => inner.into_iter().for_each(|p| push(p, &mut out)),
                other => push(other, &mut out),
            }
        }
        if let Some(i) = set_at {
            out[i] = Re::Class(set);
        }
        // Alternatives that are said twice are said once; quadratic, so only
        // where there are few.
        if out.len() <= 64 {
            let mut i = 0;
            while i < out.len() {
                if out[..i].contains(&out[i]) {
                    out.remove(i);
                } else {
                    i += 1;
                }
            }
        }
        if let Some(i) = out.iter().position(|p| *p == Re::Empty) {
            out.remove(i);
            return match out.len() {
                0 => Re::Empty,
                1 => out.swap_remove(0).repeat(0, Some(1)),
                _ => Re::Repeat(Box::new(Re::Alt(out)), 0, Some(1)),
            };
        }
        match out.len() {
            0 => Re::Never,
            1 => out.swap_remove(0),
            _ => Re::Alt(out),
        }
    }

    /// Returns the expression repeated.
    pub fn repeat(self, min: u32, max: Option<u32>) -> Re {
        if max.is_some_and(|m| m < min) {
            return Re::Never;
        }
        match (&self, min, max) {
            (_, _, Some(0)) => Re::Empty,
            (Re::Never, 0, _) => Re::Empty,
            (Re::Never, ..) => Re::Never,
            (Re::Empty, ..) => Re::Empty,
            (_, 1, Some(1)) => self,
            // (x*)*, (x*)+, (x*)? and (x?)* are x*.
            (Re::Repeat(_, 0, None), 0 | 1, _) => self,
            (Re::Repeat(inner, 0 | 1, Some(1) | None), 0, None) => {
                Re::Repeat(inner.clone(), 0, None)
            }
            (Re::Repeat(_, 0, Some(1)), 0, Some(1)) => self,
            (Re::Repeat(inner, 1, None), 0, Some(1)) => Re::Repeat(inner.clone(), 0, None),
            _ => Re::Repeat(Box::new(self), min, max),
        }
    }

    /// Returns the expression or the empty text.
    pub fn optional(self) -> Re {
        Re::alt([Re::Empty, self])
    }

    /// Says whether the expression looks around anywhere.
    pub fn looks_around(&self) -> bool {
        match self {
            Re::Never | Re::Empty | Re::Class(_) => false,
            Re::Concat(parts) | Re::Alt(parts) => parts.iter().any(Re::looks_around),
            Re::Repeat(inner, ..) => inner.looks_around(),
            Re::Look(..) => true,
        }
    }

    /// Says whether the empty text is matched, whatever is around it.
    pub(super) fn nullable(&self) -> bool {
        match self {
            Re::Never | Re::Class(_) | Re::Look(..) => false,
            Re::Empty => true,
            Re::Concat(parts) => parts.iter().all(Re::nullable),
            Re::Alt(parts) => parts.iter().any(Re::nullable),
            Re::Repeat(inner, min, _) => *min == 0 || inner.nullable(),
        }
    }

    /// Returns the number of characters that the expression spells once counts are written out:
    /// what an automaton of it is proportional to. Saturates.
    pub(super) fn expanded_size(&self) -> usize {
        match self {
            Re::Never | Re::Empty => 1,
            Re::Class(_) => 1,
            Re::Concat(parts) | Re::Alt(parts) => parts
                .iter()
                .fold(1, |n: usize, p| n.saturating_add(p.expanded_size())),
            Re::Repeat(inner, min, max) => {
                let turns = max.unwrap_or(*min).max(1) as usize;
                inner
                    .expanded_size()
                    .saturating_mul(turns)
                    .saturating_add(1)
            }
            Re::Look(_, inner) => inner.expanded_size().saturating_add(1),
        }
    }

    /// The deepest nesting of nodes.
    fn depth(&self) -> usize {
        match self {
            Re::Never | Re::Empty | Re::Class(_) => 1,
            Re::Concat(parts) | Re::Alt(parts) => {
                1 + parts.iter().map(Re::depth).max().unwrap_or(0)
            }
            Re::Repeat(inner, ..) => 1 + inner.depth(),
            Re::Look(_, inner) => 1 + inner.depth(),
        }
    }

    /// The number of nodes, a measure of size.
    fn size(&self) -> usize {
        match self {
            Re::Never | Re::Empty => 1,
            Re::Class(set) => 1 + set.ranges().len() / 4,
            Re::Concat(parts) | Re::Alt(parts) => 1 + parts.iter().map(Re::size).sum::<usize>(),
            Re::Repeat(inner, ..) => 1 + inner.size(),
            Re::Look(_, inner) => 1 + inner.size(),
        }
    }

    /// The fewest and the most characters of a matched text (`None`: no
    /// bound), looks left aside. Saturates.
    pub fn length_range(&self) -> (u64, Option<u64>) {
        match self {
            Re::Never | Re::Empty | Re::Look(..) => (0, Some(0)),
            Re::Class(_) => (1, Some(1)),
            Re::Concat(parts) => parts.iter().fold((0, Some(0)), |(lo, hi), p| {
                let (a, b) = p.length_range();
                (
                    lo.saturating_add(a),
                    hi.zip(b).map(|(x, y)| x.saturating_add(y)),
                )
            }),
            Re::Alt(parts) => {
                let mut ranges = parts.iter().map(Re::length_range);
                let first = ranges.next().unwrap_or((0, Some(0)));
                ranges.fold(first, |(lo, hi), (a, b)| {
                    (lo.min(a), hi.zip(b).map(|(x, y)| x.max(y)))
                })
            }
            Re::Repeat(inner, min, max) => {
                let (a, b) = inner.length_range();
                let hi = match (b, max) {
                    (Some(0), _) => Some(0),
                    (Some(b), Some(m)) => Some(b.saturating_mul(u64::from(*m))),
                    _ => None,
                };
                (a.saturating_mul(u64::from(*min)), hi)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::language::pattern::Pattern;

    #[test]
    fn few_texts_are_listed() {
        let texts = |pattern: &str| {
            let pattern = Pattern::parse(pattern).unwrap();
            let mut texts = pattern.plain().unwrap().texts(8)?;
            texts.sort_unstable();
            Some(texts.join(" "))
        };
        let listed = [
            ("^ALIAS$", "ALIAS"),
            ("^(one|two)$", "one two"),
            ("^a[0-2]b?$", "a0 a0b a1 a1b a2 a2b"),
            ("^(ab){1,3}$", "ab abab ababab"),
            ("^(?:)$", ""),
        ];
        for (pattern, expected) in listed {
            assert_eq!(texts(pattern).as_deref(), Some(expected), "{pattern}");
        }
        for pattern in [
            "^a",
            "a$",
            "^a*$",
            "^.$",
            "^[0-9]$",
            "^[01]{4}$",
            "^a{0,8}$",
        ] {
            assert_eq!(texts(pattern), None, "{pattern}");
        }
    }
}
