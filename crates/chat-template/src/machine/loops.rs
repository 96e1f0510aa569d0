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

impl Loop {
    /// `loop(items)` in the body of a recursive loop: what the loop prints for them.
    pub(super) fn repeat(&self, machine: &mut Machine<'_>, items: Value) -> Result<Value, Fault> {
        let Some((node, scope)) = self.again.clone() else {
            return Err(type_error(
                "Tried to call non recursive loop. Maybe you forgot the 'recursive' modifier.",
            ));
        };
        let before = std::mem::replace(&mut machine.scope, scope);
        let done = machine.capture(|machine| node.iterate(machine, items, self.depth + 1));
        machine.scope = before;
        Ok(Value::from(done?))
    }
}

impl For {
    /// Runs the loop on the machine.
    pub(super) fn run(self: &Arc<Self>, machine: &mut Machine<'_>) -> Result<Flow, Fault> {
        let iterated = machine.evaluate(&self.iterated)?;
        self.iterate(machine, iterated, 0)?;
        Ok(Flow::Next)
    }

    fn iterate(
        self: &Arc<Self>,
        machine: &mut Machine<'_>,
        iterated: Value,
        depth: usize,
    ) -> Result<(), Fault> {
        let items = match iterated {
            Value::Sequence(sequence) => Items::Shared(sequence),
            other => Items::Own(items_of(&mut machine.render, &other)?),
        };
        let completed = match self.says_loop {
            true => self.telling(machine, items, depth)?,
            false => self.plainly(machine, &items)?,
        };
        if !completed {
            machine.inside(|machine| machine.whole(&self.otherwise))?;
        }
        Ok(())
    }

    /// A loop whose body does not ask where it is: items are looked at one by one.
    /// Says whether the body was completed for any item.
    fn plainly(&self, machine: &mut Machine<'_>, items: &Items) -> Result<bool, Fault> {
        let mut completed = false;
        machine.inside(|machine| {
            let mut at = 0;
            while let Some(item) = items.get(at) {
                at += 1;
                machine.burn()?;
                next_scope(machine);
                machine.assign(&self.target, item.clone())?;
                if !passes(machine, self.condition.as_ref())? {
                    continue;
                }
                match machine.body(&self.body)? {
                    Flow::Next => completed = true,
                    Flow::Continue => {}
                    Flow::Break => break,
                }
            }
            Ok(completed)
        })
    }

    /// A loop whose body has `loop`.
    fn telling(
        self: &Arc<Self>,
        machine: &mut Machine<'_>,
        items: Items,
        depth: usize,
    ) -> Result<bool, Fault> {
        let Some(name) = machine.loop_name else {
            return self.plainly(machine, &items);
        };
        if self.recursive {
            // The loop may be kept somewhere, and speaks of the scope.
            machine.keep_scope()?;
        }
        let outer = machine.scope.clone();
        let mut completed = false;
        machine.inside(|machine| {
            let mut visited = Vec::new();
            let mut at = 0;
            while let Some(item) = items.get(at) {
                at += 1;
                if self.condition.is_some() {
                    machine.burn()?;
                    next_scope(machine);
                    machine.assign(&self.target, item.clone())?;
                    if !passes(machine, self.condition.as_ref())? {
                        continue;
                    }
                }
                visited.push(item.clone());
            }
            charge(
                &mut machine.render,
                visited.len() * std::mem::size_of::<Value>(),
            )?;
            let again = self.recursive.then(|| (self.clone(), outer));
            let own = Rc::new(Loop::new(visited, depth, again));
            for (at, item) in own.items.iter().enumerate() {
                machine.burn()?;
                own.at.set(at);
                next_scope(machine);
                machine.define(name, Value::Callable(Callable::Loop(own.clone())));
                machine.assign(&self.target, item.clone())?;
                match machine.body(&self.body)? {
                    Flow::Next => completed = true,
                    Flow::Continue => {}
                    Flow::Break => break,
                }
            }
            Ok(completed)
        })
    }
}

/// A scope for an item. That of the item before is taken again, unless a macro keeps it.
fn next_scope(machine: &mut Machine<'_>) {
    match Rc::get_mut(&mut machine.scope) {
        Some(scope) => scope.clear(),
        None => machine.scope = Rc::new(machine.scope.beside()),
    }
}

/// Tells whether the item of the scope at hand is visited.
fn passes(machine: &mut Machine<'_>, condition: Option<&Expression>) -> Result<bool, Fault> {
    match condition {
        Some(condition) => Ok(machine.evaluate(condition)?.is_true()),
        None => Ok(true),
    }
}
