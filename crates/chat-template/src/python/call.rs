//! Arguments, and what calls a method.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Kwargs, Object, ObjectRepr};
use minijinja::{Error, ErrorKind, State, Value};

use super::value::{View, view};
use super::{
    ITEM, charge, charge_looking, charge_reading, methods, numbers, type_error, undefined,
};

/// A function of ours.
pub(super) type Native = fn(&mut State<'_, '_>, Arguments) -> Result<Value, Error>;

/// A function that templates can call.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) native: Native,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<function {}>", self.name)
    }
}

impl Object for Function {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        let arguments = Arguments::new(self.name, args)?;
        (self.native)(state, arguments)
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        super::functions::attribute(self.name, key.as_str()?)
    }
}

/// The arguments of a call.
pub(super) struct Arguments {
    /// What is called, for messages.
    pub(super) name: String,
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(String, Value)>,
}

impl Arguments {
    pub(super) fn new(name: &str, args: &[Value]) -> Result<Self, Error> {
        let (positional, named) = match args.split_last() {
            Some((last, positional)) if last.is_kwargs() => {
                let kwargs = Kwargs::try_from(last.clone())?;
                let named: Result<_, Error> = kwargs
                    .args()
                    .map(|name| Ok((name.to_owned(), kwargs.peek::<Value>(name)?)))
                    .collect();
                (positional, named?)
            }
            _ => (args, Vec::new()),
        };
        Ok(Self {
            name: name.to_owned(),
            positional: positional.to_vec(),
            named,
        })
    }

    /// Takes the first argument, which is always there by the way that calls
    /// are written out.
    pub(super) fn shift(&mut self) -> Value {
        match self.positional.is_empty() {
            true => Value::UNDEFINED,
            false => self.positional.remove(0),
        }
    }

    /// Puts the arguments in their places.
    ///
    /// # Errors
    ///
    /// There are too many, a name is unknown, or a place is taken twice.
    pub(super) fn bind<const N: usize>(
        self,
        names: [&str; N],
    ) -> Result<[Option<Value>; N], Error> {
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
            let at = names.iter().position(|known| *known == name);
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
    pub(super) fn bind_all<const N: usize>(self, names: [&str; N]) -> Result<[Value; N], Error> {
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

    /// As minijinja takes them.
    pub(super) fn into_values(self) -> Vec<Value> {
        let mut values = self.positional;
        if !self.named.is_empty() {
            values.push(Kwargs::from_iter(self.named).into());
        }
        values
    }
}

/// An argument that must be text.
pub(super) fn text<'v>(function: &str, value: &'v Value) -> Result<&'v str, Error> {
    match view(value) {
        View::Text(text) => Ok(text),
        View::Undefined => Err(undefined(format!("{function}() got an undefined value"))),
        _ => Err(type_error(format!(
            "{function}() wants text, not '{}'",
            super::value::type_name(value)
        ))),
    }
}

/// An argument that must be a whole number.
pub(super) fn whole(function: &str, value: &Value) -> Result<i64, Error> {
    let number = super::value::integer(value);
    number.and_then(|n| i64::try_from(n).ok()).ok_or_else(|| {
        type_error(format!(
            "{function}() wants a whole number, not '{}'",
            super::value::type_name(value)
        ))
    })
}

/// Calls a method of a value; `source` is what the author wrote for it.
pub(super) fn method(
    state: &mut State<'_, '_>,
    source: &str,
    receiver: &Value,
    name: &str,
    args: &[Value],
) -> Result<Value, Error> {
    charge_reading(state, receiver)?;
    charge(state, name.len() / 8)?;
    for arg in args {
        charge_reading(state, arg)?;
    }
    match view(receiver) {
        View::Undefined => {
            return Err(undefined(format!(
                "`{source}` is undefined, so it has no method '{name}'"
            )));
        }
        View::Text(text) => {
            if let Some(result) = methods::text(state, text, name, Arguments::new(name, args)?) {
                return result;
            }
        }
        View::Sequence(sequence) => {
            // Items are compared, or copied.
            charge(state, sequence.items.len() * ITEM / 2)?;
            charge_looking(state, receiver)?;
            if let Some(result) = methods::sequence(sequence, name, Arguments::new(name, args)?) {
                return result;
            }
        }
        View::Dict(dict) => {
            if let Some(result) = methods::dict(state, dict, name, Arguments::new(name, args)?) {
                return result;
            }
            if let Some(value) = dict.entries.get(&Value::from(name)) {
                return value.clone().call(state, args);
            }
        }
        View::Namespace(namespace) => {
            if let Some(value) = namespace.get(name) {
                return value.call(state, args);
            }
        }
        View::Other => {
            // An empty cycle divides by nothing.
            if name == "cycle" && args.is_empty() {
                return Err(type_error("cycle() wants items"));
            }
            for arg in args {
                // `changed` compares them.
                charge_looking(state, arg)?;
            }
            if let Some(object) = receiver.as_object() {
                if let Some(value) = object.get_value(&Value::from(name)) {
                    return value.call(state, args);
                }
                return receiver.call_method(state, name, args);
            }
        }
        _ => {
            let arguments = Arguments::new(name, args)?;
            if let Some(result) = numbers::method(receiver, name, arguments) {
                return result;
            }
        }
    }
    Err(Error::new(
        ErrorKind::UndefinedError,
        format!(
            "'{} object' has no attribute '{name}' (in `{source}.{name}()`)",
            super::value::type_name(receiver)
        ),
    ))
}
