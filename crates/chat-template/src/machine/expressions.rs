//! Expressions. For example, `message.content if message.content else ''` looks an attribute up
//! twice at most.

use super::*;
use crate::python::ITEM;
use crate::python::filters::tests;
use crate::python::operators::{self, Slice};
use crate::python::value::{Entries, Key};
use crate::syntax::tree::{Comparison, Conditional, Expression, Operator};

impl Machine<'_> {
    pub(super) fn evaluate(&mut self, expression: &Expression) -> Result<Value, Fault> {
        self.burn()?;
        Ok(match expression {
            Expression::Name(name) => self.lookup(*name),
            Expression::Text(text) => Value::from(text.clone()),
            Expression::Int(value) => Value::Int(*value),
            Expression::Float(value) => Value::Float(*value),
            Expression::Bool(value) => Value::Bool(*value),
            Expression::None => Value::None,
            Expression::Captured => std::mem::take(&mut self.captured),
            other => return self.nested(|machine| machine.operation(other)),
        })
    }

    fn operation(&mut self, expression: &Expression) -> Result<Value, Fault> {
        match expression {
            Expression::Attribute(of, name) => {
                let value = self.evaluate(of)?;
                self.attribute(of, &value, name)
            }
            Expression::Item(parts) => {
                let (of, key) = &**parts;
                let value = self.evaluate(of)?;
                let key = self.evaluate(key)?;
                self.item(of, &value, &key)
            }
            Expression::Call(callee, arguments) => self.call_with(callee, arguments, None),
            Expression::Filter(value, name, arguments) => {
                let value = self.evaluate(value)?;
                let arguments = self.arguments(name, arguments)?;
                filters::apply(&mut self.render, &value, arguments)
            }
            Expression::Test(value, name, arguments) => {
                let value = self.evaluate(value)?;
                let arguments = self.arguments(name, arguments)?;
                tests::apply(&mut self.render, &value, arguments).map(Value::Bool)
            }
            Expression::Comparisons(first, rest) => self.comparisons(first, rest),
            Expression::And(parts) => self.chain(parts, false),
            Expression::Or(parts) => self.chain(parts, true),
            Expression::Not(value) => Ok(Value::Bool(!self.evaluate(value)?.is_true())),
            Expression::Conditional(parts) => self.conditional(parts),
            Expression::Operators(first, rest) => self.operators(first, rest),
            Expression::Concatenation(parts) => {
                let values = self.all(parts)?;
                operators::concatenate(&mut self.render, &values)
            }
            Expression::Negative(of) => {
                let value = self.evaluate(of)?;
                let operands = [(&value, &**of); 2];
                operators::negative(&value).map_err(|fault| self.naming_undefined(fault, operands))
            }
            Expression::Positive(of) => {
                let value = self.evaluate(of)?;
                let operands = [(&value, &**of); 2];
                operators::positive(&value).map_err(|fault| self.naming_undefined(fault, operands))
            }
            Expression::Slice(parts) => {
                let (of, bounds) = &**parts;
                let value = self.evaluate(of)?;
                if value.is_undefined() {
                    let source = self.tree.source(of);
                    return Err(type_error(format!("`{source}` is undefined")));
                }
                let mut bound = |at: usize| match &bounds[at] {
                    Some(bound) => self.evaluate(bound),
                    None => Ok(Value::None),
                };
                let slice = Slice {
                    start: bound(0)?,
                    stop: bound(1)?,
                    step: bound(2)?,
                };
                operators::slice(&mut self.render, &value, slice)
            }
            Expression::List(items) => {
                let items = self.all(items)?;
                value::list(items)
            }
            Expression::Tuple(items) => {
                let items = self.all(items)?;
                value::tuple(items)
            }
            Expression::Dict(entries) => self.dict(entries),
            // Looked at before.
            _ => Ok(Value::Undefined),
        }
    }

    fn all(&mut self, expressions: &[Expression]) -> Result<Vec<Value>, Fault> {
        charge(&mut self.render, expressions.len() * ITEM)?;
        expressions.iter().map(|part| self.evaluate(part)).collect()
    }

    fn dict(&mut self, entries: &[(Expression, Expression)]) -> Result<Value, Fault> {
        charge(&mut self.render, entries.len() * 2 * ITEM)?;
        let mut made = Entries::new();
        for (key, value) in entries {
            let key = self.evaluate(key)?;
            charge_looking(&mut self.render, &key)?;
            made.insert(Key::new(key)?, self.evaluate(value)?);
        }
        value::dict(made)
    }

    fn chain(&mut self, parts: &[Expression], ends: bool) -> Result<Value, Fault> {
        let mut value = Value::Undefined;
        for part in parts {
            value = self.evaluate(part)?;
            if value.is_true() == ends {
                break;
            }
        }
        Ok(value)
    }

    fn conditional(&mut self, parts: &Conditional) -> Result<Value, Fault> {
        match (self.evaluate(&parts.test)?.is_true(), &parts.otherwise) {
            (true, _) => self.evaluate(&parts.then),
            (false, Some(otherwise)) => self.evaluate(otherwise),
            (false, None) => Ok(Value::Undefined),
        }
    }

    fn comparisons(
        &mut self,
        first: &Expression,
        rest: &[(Comparison, Expression)],
    ) -> Result<Value, Fault> {
        let mut left = self.evaluate(first)?;
        let mut left_of = first;
        for (comparison, right_of) in rest {
            let right = self.evaluate(right_of)?;
            let holds = operators::compared(&mut self.render, *comparison, &left, &right);
            let operands = [(&left, left_of), (&right, right_of)];
            if !holds.map_err(|fault| self.naming_undefined(fault, operands))? {
                return Ok(Value::Bool(false));
            }
            (left, left_of) = (right, right_of);
        }
        Ok(Value::Bool(true))
    }

    fn operators(
        &mut self,
        first: &Expression,
        rest: &[(Operator, Expression)],
    ) -> Result<Value, Fault> {
        let mut value = self.evaluate(first)?;
        let only_sums = rest.iter().all(|(operator, _)| *operator == Operator::Add);
        if only_sums && rest.len() > 1 && value.as_str().is_some() {
            return self.long_sum(value, rest);
        }
        for (operator, of) in rest {
            let operand = self.evaluate(of)?;
            let made = operators::apply(&mut self.render, *operator, &value, &operand);
            // The undefined value on the left is the first one, because no operator makes such a
            // value.
            let operands = [(&value, first), (&operand, of)];
            value = made.map_err(|fault| self.naming_undefined(fault, operands))?;
        }
        Ok(value)
    }

    /// Returns the fault of an operator, with the name of the operand that is undefined.
    #[cold]
    fn naming_undefined(&self, mut fault: Fault, operands: [(&Value, &Expression); 2]) -> Fault {
        let undefined = operands.iter().find(|(value, _)| value.is_undefined());
        let source = undefined.map(|(_, of)| self.tree.source(of));
        if let Some(source) = source.filter(|source| source != "the value") {
            fault.message = format!("{}: `{source}`", fault.message);
        }
        fault
    }

    /// Long chains of texts are joined at once rather than copied each time.
    fn long_sum(
        &mut self,
        mut value: Value,
        rest: &[(Operator, Expression)],
    ) -> Result<Value, Fault> {
        let mut joined = String::new();
        for (operator, of) in rest {
            let operand = self.evaluate(of)?;
            match (&value, &operand) {
                (Value::Text(first), Value::Text(more))
                    if !first.is_markup() && !more.is_markup() =>
                {
                    charge(&mut self.render, more.len())?;
                    if joined.is_empty() {
                        charge_printing(&mut self.render, &value)?;
                        joined.push_str(value.as_str().unwrap_or_default());
                    }
                    joined.push_str(more);
                }
                _ => {
                    if !joined.is_empty() {
                        value = Value::from(std::mem::take(&mut joined));
                    }
                    let made = operators::apply(&mut self.render, *operator, &value, &operand);
                    let operands = [(&value, of), (&operand, of)];
                    value = made.map_err(|fault| self.naming_undefined(fault, operands))?;
                }
            }
        }
        Ok(match joined.is_empty() {
            true => value,
            false => Value::from(joined),
        })
    }

    /// `value.name`: the attribute of the Python object, else the entry of that
    /// name, else undefined.
    fn attribute(&mut self, of: &Expression, value: &Value, name: &str) -> Result<Value, Fault> {
        charge(&mut self.render, name.len() / 8)?;
        // It has that one, and the sandbox hides it.
        if value.is_undefined() && name != "__class__" {
            return Err(type_error(format!(
                "`{}` is undefined, so it has no attribute '{name}'",
                self.tree.source(of)
            )));
        }
        Ok(operators::attribute(value, name))
    }

    /// `value[key]`: the entry, else the attribute of that name, else undefined.
    fn item(&mut self, of: &Expression, value: &Value, key: &Value) -> Result<Value, Fault> {
        charge_looking(&mut self.render, key)?;
        if let Value::Text(text) = value {
            // Characters are counted from the beginning.
            charge(&mut self.render, text.len() / 8)?;
        }
        if value.is_undefined() {
            return Err(type_error(format!(
                "`{}` is undefined, so it has no element {}",
                self.tree.source(of),
                python_compat::repr(key)
            )));
        }
        Ok(operators::item(value, key))
    }
}
