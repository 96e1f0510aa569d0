//! Parts one after another: repetitions, items and members, from the last to the first.
//!
//! For example, behind an item of `[1, 2]` there comes a comma and a further item, or the end.

use super::build::{Between, Builder, Node};
use super::error::Error;
use super::known::Goal;
use super::parts::Body;

impl Builder<'_> {
    /// A part from the first number to the second, or any, times.
    pub(super) fn repeat(
        &mut self,
        node: &Node,
        least: usize,
        most: Option<usize>,
        after: u32,
    ) -> Result<u32, Error> {
        let mut at = after;
        match most {
            None => {
                let again = self.open_junction();
                let inner = self.node(node, again)?;
                self.junctions[again as usize] = vec![Goal::Jump(inner), Goal::Jump(after)];
                at = again;
            }
            Some(most) => {
                for _ in least..most {
                    let inner = self.node(node, at)?;
                    at = self.junction(vec![Goal::Jump(inner), Goal::Jump(after)]);
                }
            }
        }
        for _ in 0..least {
            at = self.node(node, at)?;
        }
        Ok(at)
    }

    /// A part once or more, with a text between.
    pub(super) fn many(&mut self, node: &Node, separator: &str, after: u32) -> Result<u32, Error> {
        let again = self.open_junction();
        let item = self.node(node, again)?;
        let more = match separator {
            "" => item,
            text => self.part(Body::Literal(text.as_bytes().into()), item)?,
        };
        self.junctions[again as usize] = vec![Goal::Jump(more), Goal::Jump(after)];
        Ok(item)
    }

    /// Items with commas between them, from the last to the first.
    pub(super) fn items(
        &mut self,
        node: &Node,
        least: usize,
        most: Option<usize>,
        after: u32,
    ) -> Result<u32, Error> {
        let mut at = match most {
            Some(_) => self.node(node, after)?,
            None => {
                let again = self.open_junction();
                let item = self.node(node, again)?;
                let comma = self.comma(item)?;
                self.junctions[again as usize] = vec![Goal::Jump(comma), Goal::Jump(after)];
                item
            }
        };
        let last = most.unwrap_or(least.max(1));
        for count in (1..last).rev() {
            let comma = self.comma(at)?;
            let follows = match count >= least {
                true => self.junction(vec![Goal::Jump(comma), Goal::Jump(after)]),
                false => comma,
            };
            at = self.node(node, follows)?;
        }
        Ok(match least {
            0 => self.junction(vec![Goal::Jump(at), Goal::Jump(after)]),
            _ => at,
        })
    }

    /// Members in this order; those that are not required may be missing.
    pub(super) fn in_order(
        &mut self,
        members: &[(Node, bool)],
        between: Between,
        after: u32,
    ) -> Result<u32, Error> {
        // Before the first member there is no comma; what follows a member is the same in both
        // cases.
        let (mut first, mut later) = (after, after);
        for (member, required) in members.iter().rev() {
            let inner = self.node(member, later)?;
            let comma = self.between(between, inner)?;
            (first, later) = match required {
                true => (inner, comma),
                false => (
                    self.junction(vec![Goal::Jump(inner), Goal::Jump(first)]),
                    self.junction(vec![Goal::Jump(comma), Goal::Jump(later)]),
                ),
            };
        }
        Ok(first)
    }

    fn comma(&mut self, after: u32) -> Result<u32, Error> {
        let blank = self.part(Body::Literal(b" ".as_slice().into()), after)?;
        let after = self.junction(vec![Goal::Jump(after), Goal::Jump(blank)]);
        self.part(Body::Literal(b",".as_slice().into()), after)
    }

    fn between(&mut self, between: Between, after: u32) -> Result<u32, Error> {
        match between {
            Between::Nothing => Ok(after),
            Between::Commas => self.part(Body::Literal(b",".as_slice().into()), after),
            Between::SpacedCommas => self.comma(after),
        }
    }

    /// A junction for each set of the members that have come.
    pub(super) fn any_order(
        &mut self,
        members: &[(Node, bool)],
        between: Between,
        after: u32,
    ) -> Result<u32, Error> {
        let bits = members.iter().enumerate();
        let required = bits.filter(|(_, (_, must))| *must).map(|(at, _)| 1 << at);
        let required: usize = required.sum();
        let sets = 1usize << members.len();
        // From the set of all to that of none.
        let mut begins = vec![after; sets];
        for come in (0..sets).rev() {
            let mut goals = Vec::new();
            for (at, (member, _)) in members.iter().enumerate() {
                if come & 1 << at == 0 {
                    let inner = self.node(member, begins[come | 1 << at])?;
                    goals.push(Goal::Jump(inner));
                }
            }
            let mut next = Vec::new();
            if come == 0 || between == Between::Nothing {
                next = goals;
            } else if !goals.is_empty() {
                let more = self.junction(goals);
                next.push(Goal::Jump(self.between(between, more)?));
            }
            if come & required == required {
                next.push(Goal::Jump(after));
            }
            begins[come] = self.junction(next);
        }
        Ok(begins[0])
    }
}
