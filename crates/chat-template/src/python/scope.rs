//! The names that a template has set, and the macros that remember them.
//!
//! For example, `{% for n in range(2) %}{% set a = n %}{% endfor %}` sets `n` and `a` in a scope of
//! the loop, whose parent is that of the template.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::value::Value;
use crate::syntax::tree::{Macro, Name};

/// Names and their values, inside of those of a parent.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    values: RefCell<Values>,
    parent: Option<Rc<Scope>>,
    kept: Cell<bool>,
}

impl Scope {
    /// Returns a scope without names inside of another one.
    pub(crate) fn inside(parent: Rc<Self>) -> Self {
        Self {
            parent: Some(parent),
            ..Self::default()
        }
    }

    /// Returns a scope without names that has the same parent.
    pub(crate) fn beside(&self) -> Self {
        Self {
            parent: self.parent.clone(),
            ..Self::default()
        }
    }

    /// Returns the value of a name here or in a scope around.
    pub(crate) fn get(&self, name: Name) -> Option<Value> {
        let mut scope = Some(self);
        while let Some(inner) = scope {
            if let Some(value) = inner.values.borrow().get(name) {
                return Some(value.clone());
            }
            scope = inner.parent.as_deref();
        }
        None
    }

    /// Sets a name here.
    pub(crate) fn set(&self, name: Name, value: Value) {
        self.values.borrow_mut().set(name, value);
    }

    /// Forgets all names, of which nobody else looks at one.
    pub(crate) fn clear(&mut self) {
        self.values.get_mut().clear();
    }

    /// Forgets all names. Their values are dropped after that, because they may look at the
    /// scope.
    pub(crate) fn empty(&self) {
        drop(self.values.take());
    }

    /// Notes that the scope is kept until the template has run, and returns whether it was
    /// already.
    pub(crate) fn keep(&self) -> bool {
        self.kept.replace(true)
    }
}

/// A macro or the body of a call block, with the scope that it was defined in.
pub(crate) struct Closure {
    pub(crate) of: Arc<Macro>,
    pub(crate) scope: Rc<Scope>,
}

impl fmt::Debug for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<macro {}>", self.of.label)
    }
}

/// The names of a scope: a few side by side, or many in a table.
#[derive(Debug, Default)]
struct Values {
    few: Vec<(Name, Value)>,
    many: HashMap<Name, Value>,
}

/// The most names that are looked through one by one: comparing so few is faster than hashing,
/// because a scope of a loop has two or three.
const FEW: usize = 16;

impl Values {
    fn get(&self, name: Name) -> Option<&Value> {
        if !self.many.is_empty() {
            return self.many.get(&name);
        }
        let found = self.few.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value)
    }

    fn set(&mut self, name: Name, value: Value) {
        if !self.many.is_empty() {
            self.many.insert(name, value);
        } else if let Some((_, place)) = self.few.iter_mut().find(|(known, _)| *known == name) {
            *place = value;
        } else if self.few.len() < FEW {
            self.few.push((name, value));
        } else {
            self.many.extend(self.few.drain(..));
            self.many.insert(name, value);
        }
    }

    fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }
}
