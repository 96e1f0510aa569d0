//! Runs a template. For example, `{% set x = 1 %}{{ x + 1 }}` prints `2`, and each step is charged
//! to the limit of instructions.

mod calls;
mod expressions;
mod limits;
mod loops;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

pub use self::limits::Limits;
use crate::python::callable::Callable;
use crate::python::scope::{Closure, Scope};
use crate::python::time::Moment;
use crate::python::value::{self, Value};
use crate::python::weight::printed_weight;
use crate::python::{
    Fault, Render, charge, charge_looking, charge_printing, charge_reading, filters, functions,
    items_of, limit_error, type_error,
};
use crate::syntax::tree::{Body, Macro, Name, Statement, StatementKind, Target, Tree};

/// The most levels of calls, blocks and expressions inside each other, because each is a call on a
/// thread's stack.
const MAX_LEVELS: usize = 400;

/// The bytes that a macro counts as, because it keeps the names around it.
const CLOSURE: usize = 512;

/// The text that a template printed.
pub(crate) struct Printed {
    pub(crate) text: String,
    /// The bodies of generation blocks: where the reference says that each
    /// begins, in code points, and the text.
    pub(crate) generated: Vec<(usize, String)>,
}

/// The step that comes after a statement.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    Next,
    Break,
    Continue,
}

struct Machine<'t> {
    tree: &'t Tree,
    render: Render,
    /// Instructions that may still be run.
    fuel: u64,
    limits: Limits,
    /// The name `loop`, if the template has it.
    loop_name: Option<Name>,
    /// Levels that are left.
    levels: usize,
    scope: Rc<Scope>,
    printed: Printed,
    /// Code points printed so far, outside of captures.
    points: usize,
    /// The texts that are being captured, the innermost last.
    captures: Vec<String>,
    /// The value of [`Expression::Captured`](crate::syntax::tree::Expression::Captured).
    captured: Value,
    /// Scopes that macros and recursive loops keep. They are emptied in the end: a macro is a
    /// value of the scope that it keeps, and neither would be freed.
    kept: Vec<Rc<Scope>>,
}

/// Runs a template with variables.
pub(crate) fn run(
    tree: &Tree,
    variables: impl IntoIterator<Item = (String, Value)>,
    limits: Limits,
    now: Option<Moment>,
) -> Result<Printed, Fault> {
    let root = Rc::new(Scope::default());
    let variables: HashMap<String, Value> = variables.into_iter().collect();
    for (at, name) in tree.names.iter().enumerate() {
        let function = || functions::find(name).map(|f| Value::Callable(Callable::Function(f)));
        if let Some(value) = variables.get(&**name).cloned().or_else(function) {
            root.set(at as Name, value);
        }
    }
    let mut machine = Machine {
        tree,
        render: Render {
            work: limits.work,
            output: limits.output as u64,
            now,
            kept: Vec::new(),
        },
        fuel: limits.instructions,
        limits,
        loop_name: tree
            .names
            .iter()
            .position(|name| &**name == "loop")
            .map(|at| at as Name),
        levels: MAX_LEVELS,
        scope: root,
        printed: Printed {
            text: String::new(),
            generated: Vec::new(),
        },
        points: 0,
        captures: Vec::new(),
        captured: Value::Undefined,
        kept: Vec::new(),
    };
    let done = machine.body(&tree.body);
    for scope in &machine.kept {
        scope.empty();
    }
    machine.render.empty();
    done.map(|_| machine.printed)
}

impl Machine<'_> {
    /// Takes note of an instruction.
    fn burn(&mut self) -> Result<(), Fault> {
        self.fuel = self.fuel.checked_sub(1).ok_or_else(|| {
            limit_error(format!(
                "more than {} instructions; does it ever end?",
                self.limits.instructions
            ))
        })?;
        Ok(())
    }

    /// Goes a level down for as long as `run` runs.
    fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.levels = self
            .levels
            .checked_sub(1)
            .ok_or_else(|| limit_error("macros or loops call each other too deep"))?;
        let done = run(self);
        self.levels += 1;
        done
    }

    /// Runs in a scope inside of `parent`.
    fn scoped<T>(
        &mut self,
        parent: Rc<Scope>,
        run: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let scope = Rc::new(Scope::inside(parent));
        let before = std::mem::replace(&mut self.scope, scope);
        let done = run(self);
        self.scope = before;
        done
    }

    /// Runs in a scope inside of the one at hand.
    fn inside<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.scoped(self.scope.clone(), run)
    }

    fn lookup(&self, name: Name) -> Value {
        self.scope.get(name).unwrap_or(Value::Undefined)
    }

    fn define(&self, name: Name, value: Value) {
        self.scope.set(name, value);
    }

    /// Keeps the scope at hand until the template has run.
    fn keep_scope(&mut self) -> Result<(), Fault> {
        charge(&mut self.render, CLOSURE)?;
        if !self.scope.keep() {
            self.kept.push(self.scope.clone());
        }
        Ok(())
    }

    /// A macro of the scope at hand.
    fn closure(&mut self, of: &Arc<Macro>) -> Result<Rc<Closure>, Fault> {
        self.keep_scope()?;
        Ok(Rc::new(Closure {
            of: of.clone(),
            scope: self.scope.clone(),
        }))
    }

    /// Prints a value.
    fn print(&mut self, value: &Value) -> Result<(), Fault> {
        match value {
            Value::Text(text) => self.print_text(text),
            Value::Undefined => Ok(()),
            other => {
                let weight = printed_weight(other)?;
                charge(&mut self.render, weight.saturating_mul(4))?;
                self.print_text(&other.str())
            }
        }
    }

    fn print_text(&mut self, text: &str) -> Result<(), Fault> {
        self.render.print(text.len())?;
        match self.captures.last_mut() {
            Some(capture) => capture.push_str(text),
            None => {
                // Continuation bytes begin no code point.
                self.points += text.bytes().filter(|byte| byte & 0xc0 != 0x80).count();
                self.printed.text.push_str(text);
            }
        }
        Ok(())
    }

    /// Returns the text that `run` prints, in place of printing it.
    fn capture(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<String, Fault> {
        self.captures.push(String::new());
        let done = run(self);
        let text = self.captures.pop().unwrap_or_default();
        done.map(|()| text)
    }

    fn body(&mut self, body: &Body) -> Result<Flow, Fault> {
        for statement in body {
            let flow = self.statement(statement).map_err(|mut fault| {
                fault.line = fault.line.or(Some(statement.line));
                fault
            })?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// A body that ends where it ends.
    fn whole(&mut self, body: &Body) -> Result<(), Fault> {
        self.body(body).map(|_| ())
    }

    fn statement(&mut self, statement: &Statement) -> Result<Flow, Fault> {
        self.burn()?;
        match &statement.kind {
            StatementKind::Data(text) => self.print_text(text)?,
            StatementKind::Print(expression) => {
                let value = self.evaluate(expression)?;
                self.print(&value)?;
            }
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            other => return self.nested(|machine| machine.block(other)),
        }
        Ok(Flow::Next)
    }

    fn block(&mut self, kind: &StatementKind) -> Result<Flow, Fault> {
        match kind {
            StatementKind::If {
                branches,
                otherwise,
            } => {
                for (test, body) in branches {
                    if self.evaluate(test)?.is_true() {
                        return self.body(body);
                    }
                }
                return self.body(otherwise);
            }
            StatementKind::For(node) => return node.run(self),
            StatementKind::Set(target, expression) => {
                let value = self.evaluate(expression)?;
                self.assign(target, value)?;
            }
            StatementKind::SetBlock {
                target,
                value,
                body,
            } => {
                let text = self.inside(|m| m.capture(|m| m.whole(body)))?;
                self.captured = Value::from(text);
                let value = self.evaluate(value)?;
                self.assign(target, value)?;
            }
            StatementKind::Filter { value, body } => {
                let text = self.inside(|m| m.capture(|m| m.whole(body)))?;
                self.captured = Value::from(text);
                let value = self.evaluate(value)?;
                let Value::Text(text) = &value else {
                    return Err(type_error(format!(
                        "a filter block makes text, not '{}'",
                        value.type_name()
                    )));
                };
                self.print_text(text)?;
            }
            StatementKind::Macro(name, of) => {
                let closure = self.closure(of)?;
                self.define(*name, Value::Callable(Callable::Macro(closure)));
            }
            StatementKind::CallBlock {
                caller,
                callee,
                arguments,
            } => {
                let caller = self.closure(caller)?;
                let caller = Value::Callable(Callable::Macro(caller));
                let value = self.call_with(callee, arguments, Some(caller))?;
                self.print(&value)?;
            }
            StatementKind::With { values, body } => {
                // All values are computed before any name is bound.
                let values: Result<Vec<(&Target, Value)>, Fault> = values
                    .iter()
                    .map(|(target, value)| Ok((target, self.evaluate(value)?)))
                    .collect();
                let values = values?;
                return self.inside(|machine| {
                    for (target, value) in values {
                        machine.assign(target, value)?;
                    }
                    machine.body(body)
                });
            }
            StatementKind::Generation(body) => {
                let start = self.points;
                let text = self.inside(|m| m.capture(|m| m.whole(body)))?;
                charge(&mut self.render, text.len())?;
                self.print_text(&text)?;
                self.printed.generated.push((start, text));
            }
            StatementKind::Load(tag) => {
                return Err(type_error(format!(
                    "{tag}: chat templates cannot load other templates"
                )));
            }
            _ => {}
        }
        Ok(Flow::Next)
    }

    fn assign(&mut self, target: &Target, value: Value) -> Result<(), Fault> {
        match target {
            Target::Name(name) => self.define(*name, value),
            Target::Attribute(name, attribute) => {
                charge_reading(&mut self.render, &value)?;
                charge(&mut self.render, attribute.len() / 8)?;
                let Value::Namespace(namespace) = self.lookup(*name) else {
                    return Err(type_error(
                        "cannot assign attribute on non-namespace object",
                    ));
                };
                namespace.set(attribute, value)?;
            }
            Target::Tuple(targets) => {
                let items = items_of(&mut self.render, &value)?;
                if items.len() != targets.len() {
                    return Err(type_error(match items.len() < targets.len() {
                        true => format!(
                            "not enough values to unpack (expected {}, got {})",
                            targets.len(),
                            items.len()
                        ),
                        false => {
                            format!("too many values to unpack (expected {})", targets.len())
                        }
                    }));
                }
                for (target, item) in targets.iter().zip(items) {
                    self.assign(target, item)?;
                }
            }
        }
        Ok(())
    }
}
