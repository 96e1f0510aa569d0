//! The place of a location: a JSON Pointer that is spelt out when somebody asks. For example, the
//! member `a/b` of `properties` is `/properties/a~1b`.

use std::fmt;
use std::sync::Arc;

use json_tree::pointer::escape;

use crate::ir::Name;

/// A JSON Pointer as steps from the root, which the pointers below share.
#[derive(Clone, Debug, Default)]
pub struct Pointer(Option<Arc<Step>>);

#[derive(Debug)]
struct Step {
    above: Pointer,
    /// A token, if it is not empty.
    keyword: &'static str,
    last: Last,
}

/// The part of a step behind its keyword.
#[derive(Clone, Debug)]
pub(crate) enum Last {
    Nothing,
    Name(Name),
    Index(usize),
    /// The URI of another document; it stands alone.
    Document(Name),
}

impl Pointer {
    /// The place under a keyword, if it is not empty, and what comes behind it.
    pub(crate) fn below(&self, keyword: &'static str, last: Last) -> Pointer {
        Pointer(Some(Arc::new(Step {
            above: self.clone(),
            keyword,
            last,
        })))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps = Vec::new();
        let mut at = self;
        while let Some(step) = &at.0 {
            steps.push(step);
            at = &step.above;
        }
        for step in steps.into_iter().rev() {
            if !step.keyword.is_empty() {
                write!(f, "/{}", escape(step.keyword))?;
            }
            match &step.last {
                Last::Nothing => {}
                Last::Name(name) => write!(f, "/{}", escape(name))?,
                Last::Index(index) => write!(f, "/{index}")?,
                Last::Document(uri) => write!(f, "{uri}#")?,
            }
        }
        Ok(())
    }
}

impl From<&Pointer> for String {
    fn from(pointer: &Pointer) -> String {
        pointer.to_string()
    }
}

impl Drop for Step {
    /// One by one, so that a deep place needs no deep stack.
    fn drop(&mut self) {
        let mut above = self.above.0.take();
        while let Some(mut step) = above.and_then(Arc::into_inner) {
            above = step.above.0.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::pointer::{Last, Pointer};

    #[test]
    fn steps_are_spelt_from_the_root() {
        let root = Pointer::default();
        assert!(root.is_root() && root.to_string().is_empty());
        let document = root.below("", Last::Document("http://a/b".into()));
        let of = document.below("properties", Last::Name("a/b~c".into()));
        let item = of
            .below("allOf", Last::Index(3))
            .below("not", Last::Nothing);
        assert_eq!(of.to_string(), "http://a/b#/properties/a~1b~0c");
        let text = "http://a/b#/properties/a~1b~0c/allOf/3/not";
        assert_eq!(item.to_string(), text);
        let empty = root.below("", Last::Name("".into()));
        assert_eq!(empty.to_string(), "/");
    }

    #[test]
    fn deep_places_are_dropped() {
        let mut at = Pointer::default();
        for _ in 0..300_000 {
            at = at.below("not", Last::Nothing);
        }
        drop(at);
    }
}
