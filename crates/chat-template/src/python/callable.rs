//! Values that templates can call: for example `range` and `loop.changed`.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::operators;
use super::scope::{Closure, Scope};
use super::value::{self, Value, equal};
use super::weight::{Shape, is_open, shape_above, weight};
use super::{Fault, Kept, Render, charge, charge_looking, keep, limit_error, type_error};
use crate::syntax::tree::For;

/// A function of ours.
pub(crate) type Native = fn(&mut Render, Arguments) -> Result<Value, Fault>;

/// A value that can be called.
#[derive(Clone, Debug)]
pub(crate) enum Callable {
    Function(Function),
    Method(Rc<Method>),
    Macro(Rc<Closure>),
    Loop(Rc<Loop>),
    Cycler(Rc<Cycler>),
    Joiner(Rc<Joiner>),
}

/// A function that templates know by name.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) native: Native,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<function {}>", self.name)
    }
}

/// A method that is not called yet.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: Arc<str>,
    pub(crate) receiver: Value,
}

/// Hands out its items in turn.
#[derive(Debug)]
pub(crate) struct Cycler {
    /// A list.
    items: Value,
    at: Cell<usize>,
}

/// Prints nothing the first time and its separator later.
#[derive(Debug)]
pub(crate) struct Joiner {
    /// A list of it.
    separator: Value,
    used: Cell<bool>,
}

/// The state of a loop, which its body asks for as `loop`.
pub(crate) struct Loop {
    pub(crate) items: Vec<Value>,
    pub(crate) at: Cell<usize>,
    pub(crate) depth: usize,
    /// The values that `changed` was called with last.
    last: RefCell<Option<Value>>,
    /// The loop that `loop(items)` runs again, and the scope around it.
    pub(crate) again: Option<(Arc<For>, Rc<Scope>)>,
    /// The size of its items, once that was asked.
    shape: Cell<Option<Shape>>,
    /// True if it is emptied in the end.
    kept: Cell<bool>,
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<loop {}/{}>", self.at.get() + 1, self.items.len())
    }
}

impl Callable {
    /// Tells it from others.
    pub(crate) fn address(&self) -> usize {
        match self {
            Callable::Function(function) => function.name.as_ptr() as usize,
            Callable::Method(method) => Rc::as_ptr(method) as usize,
            Callable::Macro(closure) => Rc::as_ptr(closure) as usize,
            Callable::Loop(own) => Rc::as_ptr(own) as usize,
            Callable::Cycler(cycler) => Rc::as_ptr(cycler) as usize,
            Callable::Joiner(joiner) => Rc::as_ptr(joiner) as usize,
        }
    }

    /// Tells whether it is the same as another one.
    pub(crate) fn is(&self, other: &Callable) -> bool {
        match (self, other) {
            (Callable::Method(a), Callable::Method(b)) => {
                a.name == b.name && equal(&a.receiver, &b.receiver)
            }
            (a, b) => a.address() == b.address(),
        }
    }

    /// Returns the text that it prints as.
    pub(crate) fn shown(&self) -> String {
        match self {
            Callable::Function(function) => format!("<function {}>", function.name),
            Callable::Method(method) => {
                let kind = method.receiver.type_name();
                format!("<built-in method {} of {kind} object>", method.name)
            }
            Callable::Macro(closure) => match &*closure.of.label {
                "caller" => "<Macro anonymous>".to_owned(),
                label => format!("<Macro {}>", python_compat::repr(label)),
            },
            Callable::Loop(own) => {
                format!("<LoopContext {}/{}>", own.at.get() + 1, own.items.len())
            }
            Callable::Cycler(_) => "<cycler>".to_owned(),
            Callable::Joiner(_) => "<joiner>".to_owned(),
        }
    }

    /// An attribute that is no method; undefined if there is no such.
    pub(crate) fn attribute(&self, name: &str) -> Value {
        match self {
            Callable::Function(function) => super::functions::attribute(function.name, name),
            Callable::Macro(closure) if name == "name" => Value::from(closure.of.label.clone()),
            Callable::Loop(own) => own.attribute(name),
            Callable::Cycler(cycler) if name == "current" => cycler.current(),
            _ => Value::Undefined,
        }
    }

    /// Calls a method; none if there is no such.
    pub(crate) fn method(
        &self,
        render: &mut Render,
        name: &str,
        args: Arguments,
    ) -> Option<Result<Value, Fault>> {
        match (self, name) {
            (Callable::Loop(own), "cycle" | "changed") => Some(own.method(render, name, args)),
            (Callable::Cycler(cycler), "next" | "reset") => {
                Some(args.bind::<0>([]).map(|_| cycler.step(name)))
            }
            _ => None,
        }
    }
}

impl Method {
    /// A method of a value, as a value.
    pub(crate) fn of(name: &str, receiver: &Value) -> Value {
        Value::Callable(Callable::Method(Rc::new(Method {
            name: name.into(),
            receiver: receiver.clone(),
        })))
    }
}

impl Cycler {
    pub(crate) fn of(args: Arguments) -> Result<Value, Fault> {
        if args.positional.is_empty() {
            return Err(type_error("at least one item has to be provided"));
        }
        Ok(Value::Callable(Callable::Cycler(Rc::new(Cycler {
            items: value::list(args.positional)?,
            at: Cell::new(0),
        }))))
    }

    /// The list of what it hands out.
    pub(crate) fn items(&self) -> &Value {
        &self.items
    }

    fn current(&self) -> Value {
        operators::nth(&self.items, self.at.get())
    }

    fn step(&self, name: &str) -> Value {
        if name == "reset" {
            self.at.set(0);
            return Value::None;
        }
        let current = self.current();
        let count = value::length(&self.items).unwrap_or(1);
        self.at.set((self.at.get() + 1) % count);
        current
    }
}

impl Joiner {
    pub(crate) fn of(args: Arguments) -> Result<Value, Fault> {
        let [separator] = args.bind(["sep"])?;
        let separator = separator.unwrap_or_else(|| Value::from(", "));
        Ok(Value::Callable(Callable::Joiner(Rc::new(Joiner {
            separator: value::list(vec![separator])?,
            used: Cell::new(false),
        }))))
    }

    /// The list of its separator.
    pub(crate) fn separator(&self) -> &Value {
        &self.separator
    }

    pub(crate) fn next(&self) -> Value {
        match self.used.replace(true) {
            false => Value::from(""),
            true => operators::nth(&self.separator, 0),
        }
    }
}

impl Loop {
    pub(crate) fn new(
        items: Vec<Value>,
        depth: usize,
        again: Option<(Arc<For>, Rc<Scope>)>,
    ) -> Self {
        Self {
            items,
            at: Cell::new(0),
            depth,
            last: RefCell::default(),
            again,
            shape: Cell::default(),
            kept: Cell::default(),
        }
    }

    /// Returns the size of its items.
    pub(crate) fn shape(&self) -> Result<Shape, Fault> {
        if let Some(shape) = self.shape.get() {
            return Ok(shape);
        }
        let shape = shape_above(self.items.iter())?;
        self.shape.set(Some(shape));
        Ok(shape)
    }

    /// Forgets what `changed` was asked of.
    pub(crate) fn empty(&self) {
        drop(self.last.take());
    }

    fn attribute(&self, name: &str) -> Value {
        let (at, count) = (self.at.get(), self.items.len());
        let item = |at: Option<usize>| {
            let item = at.and_then(|at| self.items.get(at));
            item.cloned().unwrap_or_default()
        };
        match name {
            "index" => Value::from(at + 1),
            "index0" => Value::from(at),
            "revindex" => Value::from(count - at),
            "revindex0" => Value::from(count - at - 1),
            "first" => Value::Bool(at == 0),
            "last" => Value::Bool(at + 1 == count),
            "length" => Value::from(count),
            "depth" => Value::from(self.depth + 1),
            "depth0" => Value::from(self.depth),
            "previtem" => item(at.checked_sub(1)),
            "nextitem" => item(at.checked_add(1)),
            _ => Value::Undefined,
        }
    }

    fn method(
        self: &Rc<Self>,
        render: &mut Render,
        name: &str,
        args: Arguments,
    ) -> Result<Value, Fault> {
        if !args.named.is_empty() {
            return Err(type_error(format!("{name}() takes no keyword arguments")));
        }
        if name == "cycle" {
            let mut items = args.positional;
            return match items.len() {
                0 => Err(type_error("no items for cycling given")),
                count => Ok(items.swap_remove(self.at.get() % count)),
            };
        }
        let mut size = 0;
        for value in &args.positional {
            charge_looking(render, value)?;
            size += weight(value);
        }
        charge(render, size / 8)?;
        let asked = value::tuple(args.positional)?;
        if is_open(&asked) && !self.kept.replace(true) {
            keep(render, Kept::Loop(self.clone()))?;
        }
        let mut last = self.last.borrow_mut();
        let changed = !last.as_ref().is_some_and(|last| equal(last, &asked));
        *last = Some(asked);
        Ok(Value::Bool(changed))
    }
}

/// The arguments of a call.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    /// The name of the callee, for messages.
    pub(crate) name: Arc<str>,
    pub(crate) positional: Vec<Value>,
    pub(crate) named: Vec<(Arc<str>, Value)>,
}

impl Arguments {
    /// Takes the first argument, if there is one.
    pub(crate) fn shift(&mut self) -> Option<Value> {
        (!self.positional.is_empty()).then(|| self.positional.remove(0))
    }

    /// Puts the arguments in their places.
    ///
    /// # Errors
    ///
    /// There are too many, a name is unknown, or a place is taken twice.
    pub(crate) fn bind<const N: usize>(
        self,
        names: [&str; N],
    ) -> Result<[Option<Value>; N], Fault> {
        let mut places = [const { None }; N];
        let given = self.positional.len();
        if given > N {
            return Err(type_error(format!(
                "{}() takes at most {N} arguments, not {given}",
                self.name
            )));
        }
        for (place, value) in places.iter_mut().zip(self.positional) {
            *place = Some(value);
        }
        for (name, value) in self.named {
            let at = names.iter().position(|known| *known == &*name);
            let Some(place) = at.and_then(|at| places.get_mut(at)) else {
                let message = format!("{}() has no argument '{name}'", self.name);
                return Err(type_error(message));
            };
            if place.replace(value).is_some() {
                let message = format!("{}() got '{name}' twice", self.name);
                return Err(type_error(message));
            }
        }
        Ok(places)
    }

    /// The same where all arguments must be there.
    pub(crate) fn bind_all<const N: usize>(self, names: [&str; N]) -> Result<[Value; N], Fault> {
        let name = self.name.clone();
        let places = self.bind(names)?;
        if let Some(at) = places.iter().position(Option::is_none) {
            let missing = names.get(at).unwrap_or(&"?");
            return Err(type_error(format!(
                "{name}() lacks its argument '{missing}'"
            )));
        }
        Ok(places.map(Option::unwrap_or_default))
    }
}

/// An argument that must be text.
pub(crate) fn text<'v>(function: &str, value: &'v Value) -> Result<&'v str, Fault> {
    match value {
        Value::Text(text) => Ok(text),
        Value::Undefined => Err(type_error(format!("{function}() got an undefined value"))),
        _ => Err(type_error(format!(
            "{function}() wants text, not '{}'",
            value.type_name()
        ))),
    }
}

/// An argument that must be a whole number.
pub(crate) fn whole(function: &str, value: &Value) -> Result<i64, Fault> {
    let number = value.integer();
    number.and_then(|n| i64::try_from(n).ok()).ok_or_else(|| {
        type_error(format!(
            "{function}() wants a whole number, not '{}'",
            value.type_name()
        ))
    })
}

/// A number that fits.
pub(crate) fn fits(number: Option<i128>) -> Result<Value, Fault> {
    let number = number.ok_or_else(|| limit_error("a number has more than 127 bits"))?;
    Ok(Value::Int(number))
}
