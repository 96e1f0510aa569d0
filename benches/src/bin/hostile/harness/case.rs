//! An input of the program. For example, the schema of a thousand `oneOf`s is made when its turn comes,
//! not with all others.

use crate::harness::seen::Seen;

/// One input, made when it is run.
pub(crate) struct Case {
    pub(crate) class: &'static str,
    pub(crate) name: String,
    pub(crate) run: Box<dyn Fn(&mut Seen) + Send + Sync>,
}

impl Case {
    pub(crate) fn new(
        class: &'static str,
        name: impl Into<String>,
        run: impl Fn(&mut Seen) + Send + Sync + 'static,
    ) -> Case {
        Case {
            class,
            name: name.into(),
            run: Box::new(run),
        }
    }
}

/// Makes the cases of one kind.
pub(crate) type MakeCases = Box<dyn Fn() -> Vec<Case>>;

/// A kind of inputs that comes in sizes: its name, and its maker.
pub(crate) type Sized<T> = (&'static str, fn(usize) -> T);
