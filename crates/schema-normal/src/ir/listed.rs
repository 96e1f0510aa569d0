//! The values of an `enum` or a `const`. For example, of a thousand texts one is found by a search,
//! because they were sorted when it was first asked.

use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::Value;

use crate::values::{canonical_value, equal};

/// The values of an `enum` or a `const`.
#[derive(Clone, Debug)]
pub struct Listed {
    values: Vec<Value>,
    /// Which of them are texts, in the order of these, once that was wanted.
    texts: OnceLock<Box<[u32]>>,
    /// All of them as [`canonical_value`] texts, once that was wanted.
    canonical: OnceLock<HashSet<String>>,
}

/// The least number of values with which a text is looked up, and not compared with each, because a
/// look-up needs a list that is sorted first.
const MANY_VALUES: usize = 16;

impl Listed {
    /// Tells whether one of the values equals this one.
    pub(crate) fn has(&self, value: &Value) -> bool {
        // It mostly is one of them.
        if self
            .values
            .as_ptr_range()
            .contains(&std::ptr::from_ref(value))
        {
            return true;
        }
        let Value::String(text) = value else {
            if self.values.len() < MANY_VALUES {
                return self.values.iter().any(|v| equal(v, value));
            }
            let all = || self.values.iter().map(canonical_value).collect();
            return self
                .canonical
                .get_or_init(all)
                .contains(&canonical_value(value));
        };
        if self.values.len() < MANY_VALUES {
            return self.values.contains(value);
        }
        let text_of = |i: u32| self.values[i as usize].as_str();
        let texts = self.texts.get_or_init(|| {
            let all = 0..self.values.len() as u32;
            let mut texts: Vec<u32> = all.filter(|i| text_of(*i).is_some()).collect();
            texts.sort_unstable_by_key(|i| text_of(*i));
            texts.into()
        });
        let found = texts.binary_search_by_key(&Some(text.as_str()), |i| text_of(*i));
        found.is_ok()
    }
}

impl PartialEq for Listed {
    fn eq(&self, other: &Listed) -> bool {
        self.values == other.values
    }
}

impl From<Vec<Value>> for Listed {
    fn from(values: Vec<Value>) -> Listed {
        Listed {
            values,
            texts: OnceLock::new(),
            canonical: OnceLock::new(),
        }
    }
}

impl std::ops::Deref for Listed {
    type Target = Vec<Value>;

    fn deref(&self) -> &Vec<Value> {
        &self.values
    }
}
