//! One reading of a text, of all that there are: of the alternatives of a rule that which is written first, and in it each part
//! from left to right as long as it can be.
//!
//! For example, of `start: a b` with `a[capture]: "x"*` and `b[capture]: "x"*` where every split counts, `a` has all of `xx`.

use std::collections::HashSet;

use crate::captures::reading::Readings;
use crate::captures::{Capture, Captures};
use crate::compile::cfg::{Matter, Symbol};
use crate::error::{Error, ErrorKind};

/// A part that is still to be walked.
enum Visit {
    /// A symbol, and where it begins and ends.
    Part(Symbol, u32, u32),
    /// The end of what a rule captures, by its place in the list.
    Close(usize),
}

/// A capture that has begun.
struct Open {
    capture: Capture,
    /// Its place among those of the grammar.
    of: usize,
    has_begun: bool,
}

impl Captures {
    /// Returns what is captured in a text, outer parts first; nothing if the text is not the grammar's.
    ///
    /// # Errors
    ///
    /// `max_work`, and special tokens, which no text has.
    pub(crate) fn read(&self, text: &str) -> Result<Option<Vec<Capture>>, Error> {
        let is_special = |matter: &Matter| matches!(matter, Matter::Special(_));
        if self
            .cfg
            .terminals
            .iter()
            .any(|terminal| is_special(&terminal.matter))
        {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "captures are not read in grammars with special tokens, which are no part of the text",
            ));
        }
        let mut reading = Readings::new(self, text.as_bytes());
        match reading.read()? {
            Some(end) => self.derive(&mut reading, text, end).map(Some),
            None => Ok(None),
        }
    }

    /// Returns what is captured in the reading whose last lexeme ends at `end`.
    fn derive(
        &self,
        reading: &mut Readings<'_>,
        text: &str,
        end: u32,
    ) -> Result<Vec<Capture>, Error> {
        let root = Symbol::rule(self.cfg.productions[self.cfg.start].left);
        let mut visits = vec![Visit::Part(root, 0, end)];
        let mut all: Vec<Open> = Vec::new();
        // The captures that have not ended, innermost last.
        let mut open: Vec<usize> = Vec::new();
        while let Some(visit) = visits.pop() {
            reading.charge(1)?;
            let (symbol, from, to) = match visit {
                Visit::Part(symbol, from, to) => (symbol, from, to),
                Visit::Close(at) => {
                    open.pop();
                    // A capture of nothing stands at its end.
                    if !all[at].has_begun {
                        let end = all[at].capture.range.end;
                        all[at].capture.range.start = end;
                    }
                    continue;
                }
            };
            match symbol.split() {
                Ok(terminal) => {
                    let start = reading.lexemes.get(&(terminal, from, to));
                    let start = start.map_or(from, |&start| start) as usize;
                    for &at in &open {
                        if !all[at].has_begun {
                            all[at].has_begun = true;
                            all[at].capture.range.start = start;
                        }
                        all[at].capture.range.end = to as usize;
                    }
                    reading.charge(open.len())?;
                }
                Err(rule) => {
                    if let Some(of) = self.captured[rule as usize] {
                        let name = self.cfg.captured[of].name.as_deref().unwrap_or_default();
                        let capture = Capture {
                            name: name.to_owned(),
                            range: from as usize..from as usize,
                        };
                        visits.push(Visit::Close(all.len()));
                        open.push(all.len());
                        all.push(Open {
                            capture,
                            of,
                            has_begun: false,
                        });
                    }
                    let parts = self.parts(reading, rule, from, to)?;
                    visits.extend(parts.into_iter().rev());
                }
            }
        }
        Ok(self.without_markers(all, text))
    }

    /// Returns the parts of what a rule has read.
    fn parts(
        &self,
        reading: &mut Readings<'_>,
        rule: u32,
        from: u32,
        to: u32,
    ) -> Result<Vec<Visit>, Error> {
        let own = reading.ranks.get(&(rule, from, to)).copied().unwrap_or(0);
        // A rule is not read in itself: of those that could be, a part that is as long as the whole was found
        // before it.
        let own_circle = self.circles[rule as usize];
        let is_found =
            |reading: &Readings<'_>, symbol: Symbol, begin: u32, end: u32| match symbol.split() {
                Err(part)
                    if (begin, end) == (from, to) && self.circles[part as usize] == own_circle =>
                {
                    let rank = reading.ranks.get(&(part, begin, end));
                    rank.is_some_and(|&rank| rank < own)
                }
                _ => true,
            };
        for &production in &self.by_left[rule as usize] {
            let right = &self.cfg.productions[production].right;
            // By symbol: where what comes behind it can begin, so that the whole ends at `to`.
            let mut places: Vec<HashSet<u32>> = vec![HashSet::from([to])];
            for &symbol in right.iter().rev() {
                let mut before = HashSet::new();
                for &end in places.last().into_iter().flatten() {
                    let begins = reading.origins.get(&(symbol, end));
                    let begins = begins.into_iter().flatten().copied();
                    before.extend(
                        begins.filter(|&begin| {
                            begin >= from && is_found(reading, symbol, begin, end)
                        }),
                    );
                }
                let steps = before.len() + 1;
                places.push(before);
                reading.charge(steps)?;
            }
            places.reverse();
            if !places[0].contains(&from) {
                continue;
            }
            let (mut at, mut parts) = (from, Vec::new());
            for (&symbol, ends) in right.iter().zip(&places[1..]) {
                let begins_here = |end: &&u32| {
                    let begins = reading.origins.get(&(symbol, **end));
                    begins.is_some_and(|begins| begins.contains(&at))
                        && is_found(reading, symbol, at, **end)
                };
                let Some(&end) = ends.iter().filter(begins_here).max() else {
                    break;
                };
                parts.push(Visit::Part(symbol, at, end));
                at = end;
            }
            return Ok(parts);
        }
        Ok(Vec::new())
    }

    /// Takes the markers off, and captures those that have a name. A rule that only has a marker to
    /// capture is no capture itself.
    fn without_markers(&self, all: Vec<Open>, text: &str) -> Vec<Capture> {
        let mut out = Vec::new();
        for Open {
            mut capture, of, ..
        } in all
        {
            let captured = &self.cfg.captured[of];
            let mut marker = None;
            if let Some(marked) = &captured.marked {
                let range = capture.range.clone();
                let begin = range.start + marked.split(&text.as_bytes()[range.clone()]);
                capture.range.end = begin;
                marker = marked.name.as_ref().map(|name| Capture {
                    name: name.to_string(),
                    range: begin..range.end,
                });
            }
            out.extend(captured.name.is_some().then_some(capture));
            out.extend(marker);
        }
        out
    }
}
