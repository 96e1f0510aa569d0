//! Applies an expression to a value. For example, `a[*].b` on `{"a": [{"b": 1}, {"b": 2}]}` is `[1,
//! 2]`.

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;

use super::error::JmesError;
use super::functions;
use super::lexer::Comparator;
use super::parser::Expr;
use crate::scalar::Int;
use crate::text::Text;
use crate::value::{Object, Value};

/// The most values that one evaluation may copy or make. There is a limit because a short
/// expression can double its result over and over.
pub(crate) const MAX_NODES: usize = 10_000_000;

pub(super) type Result<T> = std::result::Result<T, JmesError>;

/// A result that borrows from the value or from the expression where it can.
pub(super) type Found<'v, 't> = Cow<'v, Value<'t>>;

pub(super) fn search<'t>(root: &Expr, value: &Value<'t>) -> Result<Value<'t>> {
    let machine = Evaluator {
        left: Cell::new(MAX_NODES),
    };
    let found = machine.eval(root, value)?;
    machine.own(found)
}

pub(super) struct Evaluator {
    left: Cell<usize>,
}

impl Evaluator {
    fn spend(&self, nodes: usize) -> Result<()> {
        let left = self.left.get().checked_sub(nodes).ok_or(JmesError::Size)?;
        self.left.set(left);
        Ok(())
    }

    /// Copies a borrowed value, against the budget.
    pub(super) fn own<'t>(&self, found: Found<'_, 't>) -> Result<Value<'t>> {
        match found {
            Cow::Owned(value) => Ok(value),
            Cow::Borrowed(value) => {
                self.spend(count(value))?;
                Ok(value.clone())
            }
        }
    }

    /// Recursion is bounded by the parser's nesting limit.
    pub(super) fn eval<'v, 't>(&self, node: &Expr, value: &'v Value<'t>) -> Result<Found<'v, 't>> {
        self.spend(1)?;
        match node {
            Expr::Current => Ok(Cow::Borrowed(value)),
            Expr::Field(name) => Ok(field(value, name)),
            Expr::Literal(literal) => {
                self.spend(count(literal))?;
                let literal: Value<'t> = literal.clone();
                Ok(Cow::Owned(literal))
            }
            Expr::Index(index) => Ok(item(value, *index)),
            Expr::Slice(parts) => match value {
                Value::Array(items) => Ok(Cow::Owned(self.slice(items, *parts)?)),
                _ => Ok(null()),
            },
            Expr::Chain(nodes) => nodes
                .iter()
                .try_fold(Cow::Borrowed(value), |found, node| self.then(found, node)),
            Expr::Pipe(left, right) => self.then(self.eval(left, value)?, right),
            Expr::Compare(comparator, left, right) => {
                let (left, right) = (self.eval(left, value)?, self.eval(right, value)?);
                self.spend(count(&left))?;
                Ok(Cow::Owned(compare(*comparator, &left, &right)?))
            }
            Expr::Or(left, right) => match self.eval(left, value)? {
                found if is_true(&found) => Ok(found),
                _ => self.eval(right, value),
            },
            Expr::And(left, right) => match self.eval(left, value)? {
                found if is_true(&found) => self.eval(right, value),
                found => Ok(found),
            },
            Expr::Not(node) => {
                let truth = is_true(&*self.eval(node, value)?);
                Ok(Cow::Owned(Value::Bool(!truth)))
            }
            Expr::Flatten(node) => self.flatten(&*self.eval(node, value)?),
            Expr::Projection(left, right) => match &*self.eval(left, value)? {
                Value::Array(items) => self.project(items.iter(), right, None),
                _ => Ok(null()),
            },
            Expr::ValueProjection(left, right) => match &*self.eval(left, value)? {
                Value::Object(object) => self.project(object.values(), right, None),
                _ => Ok(null()),
            },
            Expr::FilterProjection(left, right, condition) => match &*self.eval(left, value)? {
                Value::Array(items) => self.project(items.iter(), right, Some(condition)),
                _ => Ok(null()),
            },
            Expr::List(_) | Expr::Hash(_) if *value == Value::Null => Ok(null()),
            Expr::List(nodes) => self.list(nodes, value),
            Expr::Hash(pairs) => self.hash(pairs, value),
            Expr::Call(name, arguments) => functions::call(self, name, arguments, value),
            Expr::Reference(_) => Err(JmesError::Python(
                "an expression reference is not a value".into(),
            )),
        }
    }

    /// The elements of a list, those that are lists one by one.
    fn flatten<'w, 't>(&self, found: &Value<'t>) -> Result<Found<'w, 't>> {
        let Value::Array(items) = found else {
            return Ok(null());
        };
        let mut flat = Vec::new();
        for item in items {
            let inner = match item {
                Value::Array(inner) => inner.as_slice(),
                item => std::slice::from_ref(item),
            };
            for item in inner {
                flat.push(self.own(Cow::Borrowed(item))?);
            }
        }
        Ok(Cow::Owned(Value::Array(flat)))
    }

    fn list<'w, 't>(&self, nodes: &[Expr], value: &Value<'t>) -> Result<Found<'w, 't>> {
        let mut items = Vec::with_capacity(nodes.len());
        for node in nodes {
            items.push(self.own(self.eval(node, value)?)?);
        }
        Ok(Cow::Owned(Value::Array(items)))
    }

    fn hash<'w, 't>(
        &self,
        pairs: &[(Text<'static>, Expr)],
        value: &Value<'t>,
    ) -> Result<Found<'w, 't>> {
        let mut object = Object::default();
        for (key, node) in pairs {
            object.insert(key.clone(), self.own(self.eval(node, value)?)?);
        }
        Ok(Cow::Owned(Value::Object(object)))
    }

    fn then<'v, 't>(&self, found: Found<'v, 't>, node: &Expr) -> Result<Found<'v, 't>> {
        match found {
            Cow::Borrowed(value) => self.eval(node, value),
            Cow::Owned(value) => Ok(Cow::Owned(self.own(self.eval(node, &value)?)?)),
        }
    }

    fn project<'v, 't: 'v, 'w>(
        &self,
        items: impl Iterator<Item = &'v Value<'t>>,
        right: &Expr,
        condition: Option<&Expr>,
    ) -> Result<Found<'w, 't>> {
        let mut collected = Vec::new();
        for item in items {
            if let Some(condition) = condition
                && !is_true(&*self.eval(condition, item)?)
            {
                continue;
            }
            let found = self.eval(right, item)?;
            if *found != Value::Null {
                collected.push(self.own(found)?);
            }
        }
        Ok(Cow::Owned(Value::Array(collected)))
    }

    /// A slice as Python cuts it.
    fn slice<'t>(&self, items: &[Value<'t>], parts: [Option<i64>; 3]) -> Result<Value<'t>> {
        let length = items.len() as i64;
        let step = parts[2].unwrap_or(1);
        if step == 0 {
            return Err(JmesError::Python(
                "the step of a slice cannot be zero".into(),
            ));
        }
        // The bounds of a backward slice are one lower.
        let (low, high) = if step > 0 {
            (0, length)
        } else {
            (-1, length - 1)
        };
        let bound = |part: Option<i64>, default: i64| match part {
            None => default,
            Some(n) if n < 0 => n.saturating_add(length).clamp(low, high),
            Some(n) => n.clamp(low, high),
        };
        let (start, stop) = if step > 0 {
            (bound(parts[0], low), bound(parts[1], high))
        } else {
            (bound(parts[0], high), bound(parts[1], low))
        };
        let mut taken = Vec::new();
        let mut at = start;
        while if step > 0 { at < stop } else { at > stop } {
            if let Some(item) = usize::try_from(at).ok().and_then(|at| items.get(at)) {
                taken.push(self.own(Cow::Borrowed(item))?);
            }
            at = at.saturating_add(step);
        }
        Ok(Value::Array(taken))
    }
}

fn null<'v, 't>() -> Found<'v, 't> {
    Cow::Owned(Value::Null)
}

/// The member of that name.
fn field<'v, 't>(value: &'v Value<'t>, name: &Text<'t>) -> Found<'v, 't> {
    match value {
        Value::Object(object) => object.get(name).map_or_else(null, Cow::Borrowed),
        _ => null(),
    }
}

/// The element at `index`, from the end where that is negative.
fn item<'v, 't>(value: &'v Value<'t>, index: i64) -> Found<'v, 't> {
    let Value::Array(items) = value else {
        return null();
    };
    let at = match index {
        ..0 => index.saturating_add(items.len() as i64),
        _ => index,
    };
    let item = usize::try_from(at).ok().and_then(|at| items.get(at));
    item.map_or_else(null, Cow::Borrowed)
}

/// Returns the number of values that a value is made of.
fn count(value: &Value<'_>) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// False are null, false and what is empty; zero is not.
fn is_true(value: &Value<'_>) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(b) => *b,
        Value::Text(text) => !text.as_str().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(object) => !object.is_empty(),
        Value::Int(_) | Value::Float(_) => true,
        Value::Json(json) => is_true(&Value::from_json(json)),
    }
}

fn compare<'t>(comparator: Comparator, a: &Value<'_>, b: &Value<'_>) -> Result<Value<'t>> {
    let wanted: fn(Ordering) -> bool = match comparator {
        Comparator::Equal => return Ok(Value::Bool(equal(a, b))),
        Comparator::NotEqual => return Ok(Value::Bool(!equal(a, b))),
        Comparator::Less => Ordering::is_lt,
        Comparator::LessEqual => Ordering::is_le,
        Comparator::Greater => Ordering::is_gt,
        Comparator::GreaterEqual => Ordering::is_ge,
    };
    let comparable = |v: &Value<'_>| matches!(v, Value::Int(_) | Value::Float(_) | Value::Text(_));
    if !comparable(a) || !comparable(b) {
        return Ok(Value::Null);
    }
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Ok(Value::Bool(wanted(text_order(a, b)))),
        (Value::Text(_), _) | (_, Value::Text(_)) => Err(JmesError::Python(
            "a string and a number have no order".into(),
        )),
        _ => Ok(Value::Bool(number_order(a, b).is_some_and(wanted))),
    }
}

/// Equality of the operator: a number never equals a boolean.
fn equal(a: &Value<'_>, b: &Value<'_>) -> bool {
    let boolean = |v: &Value<'_>| matches!(v, Value::Bool(_));
    if boolean(a) != boolean(b) {
        return false;
    }
    python_equal(a, b)
}

/// Python's `==`: numbers by value, and booleans are numbers.
pub(super) fn python_equal(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| python_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same =
                |(key, a): (&Text<'_>, &Value<'_>)| b.get(key).is_some_and(|b| python_equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => number_order(a, b).is_some_and(Ordering::is_eq),
    }
}

/// The order of two numbers or booleans, exact whatever their size; `None` for a NaN and for
/// what is no number.
pub(super) fn number_order(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    let truth = |b: &bool| Value::Int(Int::Small(i64::from(*b)));
    match (a, b) {
        (Value::Bool(a), _) => number_order(&truth(a), b),
        (_, Value::Bool(b)) => number_order(a, &truth(b)),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => order_with_float(a, *b),
        (Value::Float(a), Value::Int(b)) => order_with_float(b, *a).map(Ordering::reverse),
        _ => None,
    }
}

fn order_with_float(a: &Int, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    if b.is_infinite() {
        return Some(if b > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        });
    }
    let whole = a.cmp(&Int::from_whole(b.trunc()));
    Some(whole.then_with(|| 0.0.partial_cmp(&b.fract()).unwrap_or(Ordering::Equal)))
}

/// Python's order of strings, by code point.
pub(super) fn text_order(a: &Text<'_>, b: &Text<'_>) -> Ordering {
    a.code_points().cmp(b.code_points())
}
