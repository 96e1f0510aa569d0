//! The numbers that come of a text that an automaton has begun to read: by value, so that a
//! fraction of zeros says nothing new, and without exponents. For example, of `[0-9]|[1-4][0-9]|50`
//! two values go on behind `5`: 5 and 50.

use std::collections::BinaryHeap;

use crate::language::char_dfa::DEAD;
use crate::language::numbers::amounts::{Amounts, POINT};
use crate::language::numbers::dfa::NumberDfa;

/// The symbol of the sign, as [`NumberDfa::tables`] numbers it behind the digits.
const MINUS: usize = 10;
/// The part of a number that a text that was begun is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Start,
    Minus,
    Whole,
    Part,
    Exponent,
}

impl Within {
    fn of(begun: &str) -> Within {
        match begun {
            "" => Within::Start,
            "-" => Within::Minus,
            _ if begun.contains(['e', 'E']) => Within::Exponent,
            _ if begun.contains('.') => Within::Part,
            _ => Within::Whole,
        }
    }
}

impl NumberDfa {
    /// Returns how many bytes lead at least from a state to acceptance, if any do.
    pub fn far(&self, state: u32) -> Option<u32> {
        let far = self.amounts().far[state as usize];
        (far != u32::MAX).then_some(far)
    }

    /// Tells whether some number may have an exponent.
    pub fn has_exponents(&self) -> bool {
        self.amounts().has_exponents
    }

    /// Returns the number of values that come of a text that has led to a state, those that only
    /// exponents spell left out; `None` is no end.
    pub fn amount(&self, state: u32, begun: &str) -> Option<u64> {
        let a = self.amounts();
        let at = state as usize;
        let zero = |to: u32| -> bool {
            to != DEAD && {
                let (next, accept) = self.tables();
                let dot = next[to as usize][POINT];
                accept[to as usize] || (dot != DEAD && a.zeros[dot as usize])
            }
        };
        match Within::of(begun) {
            Within::Start => {
                let row = &self.tables().0[at];
                let minus = row[MINUS];
                if minus == DEAD {
                    return a.whole[at];
                }
                let zeros = zero(row[0]) && zero(self.tables().0[minus as usize][0]);
                let below = a.whole[minus as usize]?;
                let all = a.whole[at]?.saturating_add(below);
                Some(all - u64::from(zeros))
            }
            Within::Minus | Within::Whole => a.whole[at],
            Within::Part => a.part[at].map(|n| n.saturating_add(u64::from(a.zeros[at]))),
            Within::Exponent => {
                let mantissa = begun.split(['e', 'E']).next().unwrap_or_default();
                let is_zero = !mantissa.contains(|c: char| c.is_ascii_digit() && c != '0');
                // More digits are other exponents, if more and more may come.
                let (next, accept) = self.tables();
                let to = next[at][1];
                let is_open = to != DEAD && next[to as usize][1] == to && accept[to as usize];
                (is_zero || !is_open).then_some(1)
            }
        }
    }

    /// At most so many texts that may follow one that has led to a state, each to another
    /// value. All there are if they are fewer, but for those that only exponents spell.
    pub fn texts_after(&self, state: u32, begun: &str, most: usize) -> Vec<String> {
        let a = self.amounts();
        let (next, accept) = self.tables();
        let mut out: Vec<String> = Vec::new();
        let mut open = OpenTexts::default();
        let within = Within::of(begun);
        let mut has_zero = false;
        match within {
            Within::Exponent => return self.exponents(state, most),
            Within::Part => {
                if a.zeros[state as usize] {
                    out.push(self.to_acceptance(state, String::new()));
                }
                open.push(state, String::new(), true, a);
            }
            _ => open.push(state, String::new(), false, a),
        }
        while out.len() < most {
            let Some(way) = open.heap.pop() else { break };
            let row = &next[way.state as usize];
            if !way.is_part {
                let dot = row[POINT];
                let is_value = accept[way.state as usize];
                let with_zeros = dot != DEAD && a.zeros[dot as usize];
                let is_zero = within == Within::Start && matches!(&*way.text, "0" | "-0");
                if (is_value || with_zeros) && !(is_zero && std::mem::replace(&mut has_zero, true))
                {
                    out.push(match is_value {
                        true => way.text.clone(),
                        false => self.to_acceptance(dot, way.text.clone() + "."),
                    });
                }
                if dot != DEAD && a.part[dot as usize] != Some(0) {
                    open.push(dot, way.text.clone() + ".", true, a);
                }
                if within == Within::Start && way.text.is_empty() && row[MINUS] != DEAD {
                    open.push(row[MINUS], "-".to_owned(), false, a);
                }
            }
            for (digit, &to) in row[..10].iter().enumerate() {
                if to == DEAD {
                    continue;
                }
                let mut text = way.text.clone();
                text.push(char::from(b'0' + digit as u8));
                if way.is_part {
                    if digit != 0 && a.zeros[to as usize] {
                        out.push(self.to_acceptance(to, text.clone()));
                    }
                    if a.part[to as usize] != Some(0) {
                        open.push(to, text, true, a);
                    }
                } else if a.whole[to as usize] != Some(0) {
                    open.push(to, text, false, a);
                }
            }
        }
        out.truncate(most);
        out
    }

    /// A text with as many zeros behind it as it needs.
    fn to_acceptance(&self, state: u32, mut text: String) -> String {
        let (next, accept) = self.tables();
        let mut at = state;
        while at != DEAD && !accept[at as usize] && text.len() <= MAX_TEXT {
            text.push('0');
            at = next[at as usize][0];
        }
        text
    }

    /// The rest of an exponent: the shortest ones, which may say the same.
    fn exponents(&self, state: u32, most: usize) -> Vec<String> {
        let mut out = Vec::new();
        let mut todo = std::collections::VecDeque::from([(state, String::new())]);
        while let Some((at, text)) = todo.pop_front() {
            if self.accepts(at) {
                out.push(text.clone());
            }
            if out.len() >= most || text.len() >= MAX_EXPONENT {
                break;
            }
            for byte in b"0123456789+-" {
                let to = self.step(at, *byte);
                if to != DEAD {
                    let mut text = text.clone();
                    text.push(char::from(*byte));
                    todo.push_back((to, text));
                }
            }
        }
        out
    }
}

/// The most bytes that are added to an exponent: few, because each further digit makes ten times as
/// many spellings, and few values are asked for.
const MAX_EXPONENT: usize = 4;

/// No number that a bound, an enumeration or a divisor asks for has more digits.
const MAX_TEXT: usize = 100_000;

/// A text that can go on. The one that may end soonest comes first, and of several the
/// longest.
#[derive(PartialEq, Eq)]
struct OpenText {
    state: u32,
    text: String,
    is_part: bool,
    least: usize,
}

impl Ord for OpenText {
    fn cmp(&self, other: &OpenText) -> std::cmp::Ordering {
        let key = |way: &OpenText| (std::cmp::Reverse(way.least), way.text.len());
        key(self)
            .cmp(&key(other))
            .then_with(|| other.text.cmp(&self.text))
    }
}

impl PartialOrd for OpenText {
    fn partial_cmp(&self, other: &OpenText) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Default)]
struct OpenTexts {
    heap: BinaryHeap<OpenText>,
}

impl OpenTexts {
    fn push(&mut self, state: u32, text: String, is_part: bool, a: &Amounts) {
        let far = a.far[state as usize] as usize;
        self.heap.push(OpenText {
            state,
            least: text.len().saturating_add(far),
            text,
            is_part,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::decimal::Decimal;
    use crate::language::char_dfa::CharDfa;
    use crate::language::pattern;

    fn numbers(source: &str) -> NumberDfa {
        let re = pattern::whole(source).unwrap();
        NumberDfa::new(&CharDfa::new(&[(&re, true)], 10_000).unwrap())
    }

    fn state(dfa: &NumberDfa, begun: &str) -> u32 {
        begun.bytes().fold(0, |at, byte| dfa.step(at, byte))
    }

    #[test]
    fn values_are_counted_and_not_spellings() {
        for (source, begun, amount) in [
            ("[0-9]|[1-4][0-9]|50", "", Some(51)),
            ("[0-9]|[1-4][0-9]|50", "5", Some(2)),
            ("1(\\.0*)?|2", "", Some(2)),
            ("(0|1)(\\.[05]0*)?", "", Some(4)),
            ("(0|1)(\\.[05]0*)?", "1.", Some(2)),
            ("(0|1)(\\.[05]0*)?", "1.0", Some(1)),
            ("-?0(\\.0*)?|-[12]|1", "", Some(4)),
            ("-?0(\\.0*)?|-[12]|1", "-", Some(3)),
            ("[1-9][0-9]*", "", None),
            ("0\\.[0-9]+", "0.", None),
            ("0\\.0*", "", Some(1)),
            ("[1-9][0-9]{29}", "", Some(u64::MAX)),
            ("3\\.1[0-9]?00", "3.", Some(10)),
        ] {
            let dfa = numbers(source);
            let at = state(&dfa, begun);
            assert_eq!(dfa.amount(at, begun), amount, "{source} behind {begun}");
            let texts = dfa.texts_after(at, begun, 60);
            let values: BTreeSet<String> = texts
                .iter()
                .map(|text| {
                    let whole = begun.to_owned() + text;
                    assert!(dfa.accepts(state(&dfa, &whole)), "{source}: {whole}");
                    Decimal::parse(&whole).unwrap().plain()
                })
                .collect();
            assert_eq!(values.len(), texts.len(), "{source}: {texts:?}");
            let expected = amount.map_or(60, |n| n.min(60)) as usize;
            assert_eq!(texts.len(), expected, "{source}: {texts:?}");
        }
    }
}
