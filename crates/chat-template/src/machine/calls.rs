//! Calls of functions, methods and macros. For example, `range(3)`, `text.strip()` and
//! `show(message, last=true)` of a macro `show`.

use super::*;
use crate::python::callable::Arguments;
use crate::python::value::{Entries, Key, SequenceKind};
use crate::python::{methods, numbers, text_methods};
use crate::syntax::tree::{Argument, Expression};

impl Machine<'_> {
    /// The arguments of a call of `name`.
    pub(super) fn arguments(
        &mut self,
        name: &Arc<str>,
        arguments: &[Argument],
    ) -> Result<Arguments, Fault> {
        let mut positional = Vec::with_capacity(arguments.len());
        let mut named = Vec::new();
        for argument in arguments {
            match argument {
                Argument::Place(value) => positional.push(self.evaluate(value)?),
                Argument::Named(name, value) => {
                    // It is looked for by its name, and often becomes an entry.
                    charge(&mut self.render, 64 + name.len())?;
                    named.push((name.clone(), self.evaluate(value)?));
                }
                Argument::Items(items) => {
                    let items = self.evaluate(items)?;
                    positional.extend(items_of(&mut self.render, &items)?);
                }
                Argument::Entries(entries) => match self.evaluate(entries)? {
                    Value::Dict(dict) => {
                        charge(&mut self.render, dict.entries.len() * 32)?;
                        for (key, value) in &dict.entries {
                            let Value::Text(key) = key.value() else {
                                return Err(type_error("keywords must be strings"));
                            };
                            named.push((key.shared().clone(), value.clone()));
                        }
                    }
                    other => {
                        return Err(type_error(format!(
                            "argument after ** must be a mapping, not {}",
                            other.type_name()
                        )));
                    }
                },
            }
        }
        Ok(Arguments {
            name: name.clone(),
            positional,
            named,
        })
    }

    /// A call, with the body of its call block if it has one.
    pub(super) fn call_with(
        &mut self,
        callee: &Expression,
        arguments: &[Argument],
        caller: Option<Value>,
    ) -> Result<Value, Fault> {
        let with_caller = |mut arguments: Arguments| {
            let caller = caller.map(|caller| ("caller".into(), caller));
            arguments.named.extend(caller);
            arguments
        };
        if let Expression::Attribute(of, name) = callee {
            let receiver = self.evaluate(of)?;
            if receiver.is_undefined() {
                return Err(type_error(format!(
                    "`{}` is undefined, so it has no method '{name}'",
                    self.tree.source(of)
                )));
            }
            let arguments = with_caller(self.arguments(name, arguments)?);
            return match self.method(&receiver, arguments)? {
                Some(result) => Ok(result),
                None => Err(type_error(format!(
                    "'{} object' has no attribute '{name}' (in `{}.{name}()`)",
                    receiver.type_name(),
                    self.tree.source(of)
                ))),
            };
        }
        let called = self.evaluate(callee)?;
        if called.is_undefined() {
            return Err(type_error(match callee {
                Expression::Name(name) => format!("{} is unknown", self.tree.name(*name)),
                other => format!("`{}` is undefined", self.tree.source(other)),
            }));
        }
        let name = match callee {
            Expression::Name(name) => self.tree.name(*name).clone(),
            _ => "the value".into(),
        };
        let arguments = with_caller(self.arguments(&name, arguments)?);
        self.call(&called, arguments)
    }

    /// Calls a value.
    fn call(&mut self, called: &Value, arguments: Arguments) -> Result<Value, Fault> {
        match called {
            Value::Callable(Callable::Function(function)) => {
                (function.native)(&mut self.render, arguments)
            }
            Value::Callable(Callable::Macro(closure)) => {
                self.nested(|machine| machine.call_macro(closure, arguments))
            }
            Value::Callable(Callable::Loop(own)) => {
                let [items] = arguments.bind_all(["iterable"])?;
                self.nested(|machine| own.repeat(machine, items))
            }
            Value::Callable(Callable::Joiner(joiner)) => {
                arguments.bind::<0>([])?;
                Ok(joiner.next())
            }
            Value::Callable(Callable::Method(method)) => {
                let arguments = Arguments {
                    name: method.name.clone(),
                    ..arguments
                };
                let result = self.method(&method.receiver, arguments)?;
                result.ok_or_else(|| type_error("the method is not there"))
            }
            other => Err(type_error(format!(
                "'{}' object is not callable",
                other.type_name()
            ))),
        }
    }

    /// Calls the method that `arguments` are named after; none if there is no such.
    fn method(&mut self, receiver: &Value, arguments: Arguments) -> Result<Option<Value>, Fault> {
        let name = arguments.name.clone();
        let render = &mut self.render;
        charge_reading(render, receiver)?;
        charge(render, name.len() / 8)?;
        for argument in &arguments.positional {
            charge_reading(render, argument)?;
        }
        let entry = match receiver {
            Value::Text(text) if methods::has(receiver.type_name(), &name) => {
                return text_methods::text(render, text, arguments).map(Some);
            }
            Value::Sequence(sequence) => {
                // Items are compared, or copied.
                charge(render, sequence.items.len() * 16)?;
                charge_looking(render, receiver)?;
                return methods::sequence(sequence, arguments).transpose();
            }
            Value::Dict(dict) => {
                if methods::has("dict", &name) {
                    return methods::dict(render, dict, arguments).map(Some);
                }
                dict.get(&name).cloned()
            }
            Value::Namespace(namespace) => namespace.get(&name),
            Value::Callable(callable) => {
                let attribute = callable.attribute(&name);
                if attribute.is_undefined() {
                    return callable.method(render, &name, arguments).transpose();
                }
                Some(attribute)
            }
            _ => return numbers::method(receiver, arguments).transpose(),
        };
        match entry {
            Some(entry) => self.call(&entry, arguments).map(Some),
            None => Ok(None),
        }
    }

    fn call_macro(&mut self, closure: &Rc<Closure>, arguments: Arguments) -> Result<Value, Fault> {
        let of = &closure.of;
        let text = self.scoped(closure.scope.clone(), |machine| {
            machine.bind(of, arguments)?;
            machine.capture(|machine| machine.whole(&of.body))
        })?;
        Ok(Value::from(text))
    }

    /// Gives the parameters of a macro their values.
    fn bind(&mut self, of: &Macro, arguments: Arguments) -> Result<(), Fault> {
        let label = &of.label;
        let mut positional = arguments.positional.into_iter();
        let mut named = arguments.named;
        // Each name is looked for among all.
        charge(
            &mut self.render,
            of.parameters.len().saturating_mul(named.len()),
        )?;
        for parameter in &of.parameters {
            let at = named.iter().position(|(name, _)| *name == parameter.label);
            let by_name = at.map(|at| named.remove(at).1);
            let value = match (positional.next(), by_name, &parameter.default) {
                (Some(_), Some(_), _) => {
                    return Err(type_error(format!(
                        "macro '{label}' got '{}' twice",
                        parameter.label
                    )));
                }
                (Some(value), None, _) | (None, Some(value), _) => value,
                // Defaults may speak of the parameters before them.
                (None, None, Some(default)) => self.evaluate(default)?,
                (None, None, None) => Value::Undefined,
            };
            self.define(parameter.name, value);
        }
        if let Some(name) = of.caller {
            let at = named.iter().position(|(name, _)| &**name == "caller");
            let caller = at.map(|at| named.remove(at).1);
            self.define(name, caller.unwrap_or_default());
        }
        if let Some(name) = of.kwargs {
            let named = std::mem::take(&mut named).into_iter();
            let entries: Entries = named
                .map(|(name, value)| (Key::from(&*name), value))
                .collect();
            charge(&mut self.render, entries.len() * 32)?;
            self.define(name, value::dict(entries)?);
        }
        if let Some((name, _)) = named.first() {
            return Err(type_error(format!(
                "macro '{label}' takes no keyword argument '{name}'"
            )));
        }
        let rest: Vec<Value> = positional.collect();
        match of.varargs {
            Some(name) => {
                let rest = value::sequence(SequenceKind::Tuple, rest)?;
                self.define(name, rest);
            }
            None if !rest.is_empty() => {
                return Err(type_error(format!(
                    "macro '{label}' takes not more than {} argument(s)",
                    of.parameters.len()
                )));
            }
            None => {}
        }
        Ok(())
    }
}
