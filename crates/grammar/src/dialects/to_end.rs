//! Rules that go on to the end of the text: those with `stop=""`.
//!
//! In llguidance the token that ends an answer ends such a rule, too, and the grammar goes on behind it. Here that
//! token ends the text alone. So nothing may follow the rule. For example, `start: "Name: " name` with `name[stop=""]: /.*/` is
//! taken, and `start: name "!"` is refused.

use std::collections::HashSet;

use crate::dialects::ast::{Expr, Tree};
use crate::error::{Error, ErrorKind};

/// Refuses rules with `stop=""` that something may follow. O(parts of the grammar). The error comes with its place.
pub(super) fn check(tree: &Tree) -> Result<(), (usize, Error)> {
    check_in(tree, Place::Last)
}

/// The place of a part in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Nothing comes behind it.
    Last,
    Before,
}

fn check_in(tree: &Tree, place: Place) -> Result<(), (usize, Error)> {
    let mut walk = Walk {
        tree,
        seen: HashSet::new(),
        open: Vec::new(),
    };
    walk.name("start", place);
    while let Some((rule, place)) = walk.open.pop() {
        let own = &tree.rules[rule];
        let mut ends = tree.to_end.iter().filter(|end| end.0 == own.name);
        if let Some((name, at)) = ends.next()
            && place == Place::Before
        {
            let error = Error::new(
                ErrorKind::Unsupported,
                "`stop=\"\"` is for rules that end the text, because no token ends a rule alone: leave it out, or write \
                 `suffix` with a text that ends the rule",
            );
            return Err((*at, error.in_rule(name)));
        }
        walk.expr(&own.body, place)?;
    }
    Ok(())
}

struct Walk<'t> {
    tree: &'t Tree,
    seen: HashSet<(usize, Place)>,
    open: Vec<(usize, Place)>,
}

impl Walk<'_> {
    fn name(&mut self, name: &str, place: Place) {
        if let Some(&rule) = self.tree.by_name.get(name)
            && self.seen.insert((rule, place))
        {
            self.open.push((rule, place));
        }
    }

    fn expr(&mut self, expr: &Expr, place: Place) -> Result<(), (usize, Error)> {
        match expr {
            Expr::Name { name, .. } => self.name(name, place),
            Expr::Seq(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let is_last = at + 1 == parts.len();
                    self.expr(part, if is_last { place } else { Place::Before })?;
                }
            }
            Expr::Alt(parts) => parts.iter().try_for_each(|part| self.expr(part, place))?,
            Expr::Repeat { of, max, .. } => {
                let once = max.is_some_and(|max| max < 2);
                self.expr(of, if once { place } else { Place::Before })?;
            }
            Expr::Nested { tree, .. } => check_in(tree, place)?,
            // Others have no rules in them.
            _ => {}
        }
        Ok(())
    }
}
