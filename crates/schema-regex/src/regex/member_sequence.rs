//! The members of an object one after the other: declared ones in order, then further
//! ones, with bounds on their number.
//!
//! For example, with `a` required and `b` not, the sequence is `a` and perhaps `b` behind it.

use std::collections::HashMap;

use schema_normal::decimal::clamped;

use crate::regex::Body;
use crate::regex::spell::push_count;

/// The most declared members of an object that also counts them, because each is a level of the
/// search.
const MAX_COUNTED: usize = 1_000;

/// A declared member: its name, the colon and its value.
pub(super) struct DeclaredMember {
    pub(super) text: String,
    pub(super) required: bool,
}

fn required_after(listed: &[DeclaredMember]) -> Vec<u64> {
    let mut out = vec![0; listed.len() + 1];
    for (i, member) in listed.iter().enumerate().rev() {
        out[i] = out[i + 1] + u64::from(member.required);
    }
    out
}

/// The text would be too long.
pub(super) struct Long;

type Counted = HashMap<(usize, bool, u64, Option<u64>), Option<String>>;

/// Members in order: listed ones, each at most once, then further ones.
pub(super) struct Sequence<'a> {
    listed: &'a [DeclaredMember],
    required_after: Vec<u64>,
    further: Option<&'a str>,
    comma: &'a str,
    limit: usize,
    /// The length of all texts together that were made on the way.
    bytes: usize,
    memo: Counted,
}

impl<'a> Sequence<'a> {
    /// Texts have at most `limit` bytes.
    pub(super) fn new(
        listed: &'a [DeclaredMember],
        further: Option<&'a str>,
        comma: &'a str,
        limit: usize,
    ) -> Sequence<'a> {
        Sequence {
            required_after: required_after(listed),
            listed,
            further,
            comma,
            limit,
            bytes: 0,
            memo: Counted::new(),
        }
    }
}

impl Sequence<'_> {
    /// `None` where the bounds on the count cannot be met.
    pub(super) fn print(mut self, min: u64, max: Option<u64>) -> Result<Option<Body>, Long> {
        let required = self.required_after[0];
        let possible = if self.further.is_some() {
            None
        } else {
            Some(self.listed.len() as u64)
        };
        if max.is_some_and(|m| m < required.max(min)) || possible.is_some_and(|p| p < min) {
            return Ok(None);
        }
        if max == Some(0) || possible == Some(0) {
            return Ok(Some(Body {
                empty: true,
                some: None,
            }));
        }
        let empty = min == 0 && required == 0;
        let some = self.counted(0, false, min.max(1), max)?;
        Ok(match (&some, empty) {
            (None, false) => None,
            _ => Some(Body { empty, some }),
        })
    }

    /// Members from the `i`th on, `min..=max` of them; where `started`, each
    /// has a comma before it, elsewhere the first has none.
    fn counted(
        &mut self,
        i: usize,
        started: bool,
        min: u64,
        max: Option<u64>,
    ) -> Result<Option<String>, Long> {
        let required = self.required_after[i];
        let left = (self.listed.len() - i) as u64;
        let mut min = min.max(required);
        let mut max = max;
        if self.further.is_none() {
            if max.is_none_or(|m| m >= left) {
                max = None;
            }
            if min > left {
                return Ok(None);
            }
        }
        if max.is_some_and(|m| m < min) {
            return Ok(None);
        }
        if required > 0 && min == required {
            min = 0;
        }
        if max.is_none() && min == 0 && (started || required > 0) {
            return Ok(Some(self.free(i, started)));
        }
        if max.is_none() && min == 1 && required == 0 {
            let lead = if started { self.comma } else { "" };
            return Ok(self
                .nonempty(&self.elements(i))
                .map(|text| format!("{lead}{text}")));
        }
        if i == self.listed.len() {
            return Ok(self.tail(started, min, max));
        }
        if max == Some(0) {
            return Ok((required == 0).then(String::new));
        }
        let key = (i, started, min, max);
        if let Some(known) = self.memo.get(&key) {
            return Ok(known.clone());
        }
        if self.listed.len() > MAX_COUNTED {
            return Err(Long);
        }
        let (fewer_min, fewer_max) = (min.saturating_sub(1), max.map(|m| m - 1));
        let with = self
            .counted(i + 1, true, fewer_min, fewer_max)?
            .map(|rest| {
                let lead = if started { self.comma } else { "" };
                format!("{lead}{}{rest}", self.listed[i].text)
            });
        // It is there while the other way is looked at, which may be a long one.
        let first = with.as_ref().map_or(0, String::len);
        self.made(first)?;
        let without = if self.listed[i].required {
            None
        } else {
            self.counted(i + 1, started, min, max)?
        };
        let text = match (with, without) {
            (Some(a), Some(b)) if b.is_empty() => Some(format!("(?:{a})?")),
            (Some(a), Some(b)) => Some(format!("(?:{a}|{b})")),
            (a, b) => a.or(b),
        };
        let all = text.as_ref().map_or(0, String::len);
        self.made(all.saturating_sub(first))?;
        if self.memo.len() > 20_000 {
            return Err(Long);
        }
        self.memo.insert(key, text.clone());
        Ok(text)
    }

    /// Counts bytes of texts that are made on the way.
    fn made(&mut self, bytes: usize) -> Result<(), Long> {
        self.bytes += bytes;
        match self.bytes > self.limit.saturating_mul(2) {
            true => Err(Long),
            false => Ok(()),
        }
    }

    /// Further members alone.
    fn tail(&self, started: bool, min: u64, max: Option<u64>) -> Option<String> {
        let Some(further) = self.further else {
            return (min == 0).then(String::new);
        };
        let more = format!("(?:{}{further})", self.comma);
        if max == Some(0) {
            return Some(String::new());
        }
        if started {
            let mut out = more;
            push_count(&mut out, clamped(min), max.map(clamped));
            return Some(out);
        }
        let mut out = further.to_owned();
        if max != Some(1) {
            out.push_str(&more);
            push_count(
                &mut out,
                clamped(min.saturating_sub(1)),
                max.map(|m| clamped(m - 1)),
            );
        }
        Some(if min == 0 { format!("(?:{out})?") } else { out })
    }

    /// Members from the `i`th on without bounds on their count. If nothing is before them, one is
    /// required.
    fn free(&self, i: usize, started: bool) -> String {
        let mut out = String::new();
        let mut started = started;
        for member in &self.listed[i..] {
            let text = &member.text;
            let comma = self.comma;
            match (started, member.required) {
                (true, true) => out.push_str(&format!("{comma}{text}")),
                (true, false) => out.push_str(&format!("(?:{comma}{text})?")),
                (false, true) => {
                    out.push_str(text);
                    started = true;
                }
                (false, false) => out.push_str(&format!("(?:{text}{comma})?")),
            }
        }
        if let Some(further) = self.further {
            out.push_str(&format!("(?:{}{further})*", self.comma));
        }
        out
    }

    fn elements(&self, i: usize) -> Vec<(&str, bool)> {
        let listed = self.listed[i..].iter().map(|m| (m.text.as_str(), false));
        listed.chain(self.further.map(|f| (f, true))).collect()
    }

    /// At least one of several optional members, in order. Either one of the
    /// first half and then any of the second, or one of the second: an element
    /// is written O(log n) times, where listing the ways to begin writes it n
    /// times.
    fn nonempty(&self, elements: &[(&str, bool)]) -> Option<String> {
        let comma = self.comma;
        match elements {
            [] => None,
            [(text, false)] => Some((*text).to_owned()),
            [(text, true)] => Some(format!("{text}(?:{comma}{text})*")),
            _ => {
                let total: usize = elements.iter().map(|(t, _)| t.len()).sum();
                let mut before = 0;
                let mut middle = 1;
                for (i, (text, _)) in elements.iter().enumerate() {
                    before += text.len();
                    if before * 2 >= total {
                        middle = i.clamp(1, elements.len() - 1);
                        break;
                    }
                }
                let (first, second) = elements.split_at(middle);
                let mut rest = String::new();
                for (text, many) in second {
                    let mark = if *many { '*' } else { '?' };
                    rest.push_str(&format!("(?:{comma}{text}){mark}"));
                }
                let head = self.nonempty(first)?;
                let tail = self.nonempty(second)?;
                Some(format!("(?:{head}{rest}|{tail})"))
            }
        }
    }
}
