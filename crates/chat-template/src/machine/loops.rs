//! Loops. For example, `{% for m in messages if m.role != 'system' %}{{ loop.index }}{% endfor %}`
//! counts from 1.

use super::*;
use crate::python::callable::Loop;
use crate::python::value::Sequence;
use crate::syntax::tree::{Expression, For};

/// The items that a loop visits.
enum Items {
    Shared(Rc<Sequence>),
    Own(Vec<Value>),
}

impl Items {
    fn get(&self, at: usize) -> Option<&Value> {
        match self {
            Items::Shared(sequence) => sequence.items.get(at),
            Items::Own(items) => items.get(at),
        }
    }
}

impl Machine<'_> {
    pub(super) fn for_loop(&mut self, node: &Arc<For>) -> Result<Flow, Fault> {
        let iterated = self.evaluate(&node.iterated)?;
        self.iterate(node, iterated, 0)?;
        Ok(Flow::Next)
    }

    /// `loop(items)` in the body of a recursive loop: what the loop prints for them.
    pub(super) fn loop_again(&mut self, own: &Loop, items: Value) -> Result<Value, Fault> {
        let Some((node, scope)) = own.again.clone() else {
            return Err(type_error(
                "Tried to call non recursive loop. Maybe you forgot the 'recursive' modifier.",
            ));
        };
        let before = std::mem::replace(&mut self.scope, scope);
        let done = self.capture(|machine| machine.iterate(&node, items, own.depth + 1));
        self.scope = before;
        Ok(Value::from(done?))
    }

    fn iterate(&mut self, node: &Arc<For>, iterated: Value, depth: usize) -> Result<(), Fault> {
        let items = match iterated {
            Value::Sequence(sequence) => Items::Shared(sequence),
            other => Items::Own(items_of(&mut self.render, &other)?),
        };
        let completed = match node.says_loop {
            true => self.telling(node, items, depth)?,
            false => self.plainly(node, &items)?,
        };
        if !completed {
            self.inside(|machine| machine.whole(&node.otherwise))?;
        }
        Ok(())
    }

    /// A scope for an item. That of the item before is taken again, unless a macro keeps it.
    fn next_scope(&mut self) {
        match Rc::get_mut(&mut self.scope) {
            Some(scope) => scope.clear(),
            None => self.scope = Rc::new(self.scope.beside()),
        }
    }

    /// Tells whether the item of the scope at hand is visited.
    fn passes(&mut self, condition: Option<&Expression>) -> Result<bool, Fault> {
        match condition {
            Some(condition) => Ok(self.evaluate(condition)?.is_true()),
            None => Ok(true),
        }
    }

    /// A loop whose body does not ask where it is: items are looked at one by one.
    /// Says whether the body was completed for any item.
    fn plainly(&mut self, node: &For, items: &Items) -> Result<bool, Fault> {
        let mut completed = false;
        self.inside(|machine| {
            let mut at = 0;
            while let Some(item) = items.get(at) {
                at += 1;
                machine.burn()?;
                machine.next_scope();
                machine.assign(&node.target, item.clone())?;
                if !machine.passes(node.condition.as_ref())? {
                    continue;
                }
                match machine.body(&node.body)? {
                    Flow::Next => completed = true,
                    Flow::Continue => {}
                    Flow::Break => break,
                }
            }
            Ok(completed)
        })
    }

    /// A loop whose body has `loop`.
    fn telling(&mut self, node: &Arc<For>, items: Items, depth: usize) -> Result<bool, Fault> {
        let Some(name) = self.loop_name else {
            return self.plainly(node, &items);
        };
        if node.recursive {
            // The loop may be kept somewhere, and speaks of the scope.
            self.keep_scope()?;
        }
        let outer = self.scope.clone();
        let mut completed = false;
        self.inside(|machine| {
            let mut visited = Vec::new();
            let mut at = 0;
            while let Some(item) = items.get(at) {
                at += 1;
                if node.condition.is_some() {
                    machine.burn()?;
                    machine.next_scope();
                    machine.assign(&node.target, item.clone())?;
                    if !machine.passes(node.condition.as_ref())? {
                        continue;
                    }
                }
                visited.push(item.clone());
            }
            charge(
                &mut machine.render,
                visited.len() * std::mem::size_of::<Value>(),
            )?;
            let again = node.recursive.then(|| (node.clone(), outer));
            let own = Rc::new(Loop::new(visited, depth, again));
            for (at, item) in own.items.iter().enumerate() {
                machine.burn()?;
                own.at.set(at);
                machine.next_scope();
                machine.define(name, Value::Callable(Callable::Loop(own.clone())));
                machine.assign(&node.target, item.clone())?;
                match machine.body(&node.body)? {
                    Flow::Next => completed = true,
                    Flow::Continue => {}
                    Flow::Break => break,
                }
            }
            Ok(completed)
        })
    }
}
