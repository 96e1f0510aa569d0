//! Objects: keys in order of appearance, each with a value.
//!
//! Most objects of a response have a handful of keys, for which comparing beats hashing; an
//! index is made when there are more.
//!
//! For example, `{"b": 1, "a": 2}` keeps `b` before `a`.

use std::collections::HashMap;

use crate::text::Text;
use crate::value::Value;

/// The most keys that are looked for one by one: comparing so few is faster than hashing, because
/// most differ in their first bytes.
const FEW: usize = 16;

#[derive(Clone, Debug, Default)]
pub(crate) struct Object<'t> {
    entries: Vec<(Text<'t>, Value<'t>)>,
    /// The place of each key, if there are more than a few.
    index: Option<HashMap<Text<'t>, usize>>,
}

impl<'t> Object<'t> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn place(&self, key: &Text<'_>) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(key).copied(),
            None => self.entries.iter().position(|(known, _)| known == key),
        }
    }

    pub(crate) fn contains_key(&self, key: &Text<'_>) -> bool {
        self.place(key).is_some()
    }

    pub(crate) fn get(&self, key: &Text<'_>) -> Option<&Value<'t>> {
        self.place(key).map(|place| &self.entries[place].1)
    }

    pub(crate) fn get_mut(&mut self, key: &Text<'_>) -> Option<&mut Value<'t>> {
        self.place(key).map(|place| &mut self.entries[place].1)
    }

    /// Sets a key: a known one keeps its place.
    pub(crate) fn insert(&mut self, key: Text<'t>, value: Value<'t>) {
        if self.entries.len() > FEW && self.index.is_none() {
            let keys = self.entries.iter().enumerate();
            self.index = Some(keys.map(|(place, (key, _))| (key.clone(), place)).collect());
        }
        match self.place(&key) {
            Some(place) => self.entries[place].1 = value,
            None => {
                if let Some(index) = &mut self.index {
                    index.insert(key.clone(), self.entries.len());
                }
                self.entries.push((key, value));
            }
        }
    }

    /// Takes a key out; the others keep their order. Linear.
    pub(crate) fn remove(&mut self, key: &Text<'_>) -> Option<Value<'t>> {
        let place = self.place(key)?;
        self.index = None;
        Some(self.entries.remove(place).1)
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&Text<'t>, &Value<'t>) -> bool) {
        self.index = None;
        self.entries.retain(|(key, value)| keep(key, value));
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&Text<'t>, &Value<'t>)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn iter_mut(
        &mut self,
    ) -> impl ExactSizeIterator<Item = (&Text<'t>, &mut Value<'t>)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &Text<'t>> {
        self.entries.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = &Value<'t>> {
        self.entries.iter().map(|(_, value)| value)
    }

    pub(crate) fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Value<'t>> {
        self.entries.iter_mut().map(|(_, value)| value)
    }
}

impl<'t> IntoIterator for Object<'t> {
    type Item = (Text<'t>, Value<'t>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'t> FromIterator<(Text<'t>, Value<'t>)> for Object<'t> {
    fn from_iter<I: IntoIterator<Item = (Text<'t>, Value<'t>)>>(entries: I) -> Object<'t> {
        let mut object = Object::default();
        for (key, value) in entries {
            object.insert(key, value);
        }
        object
    }
}

/// The order of keys does not count.
impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .all(|(key, value)| other.get(key).is_some_and(|known| known == value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_keys_and_many() {
        for count in [3, 100] {
            let key = |i: usize| Text::plain(format!("k{i}"));
            let mut object: Object<'_> = (0..count).map(|i| (key(i), Value::Bool(false))).collect();
            object.insert(key(1), Value::Bool(true));
            assert_eq!(object.len(), count);
            assert_eq!(object.get(&key(1)), Some(&Value::Bool(true)));
            assert_eq!(object.keys().nth(1), Some(&key(1)));
            assert_eq!(object.remove(&key(0)), Some(Value::Bool(false)));
            assert_eq!(object.remove(&key(0)), None);
            object.insert(key(0), Value::Null);
            assert_eq!(object.keys().last(), Some(&key(0)));
            let turned: Object<'_> = object.clone().into_iter().rev().collect();
            assert_eq!(turned, object);
            object.retain(|_, value| *value == Value::Bool(true));
            assert_eq!(object.len(), 1);
            assert_ne!(turned, object);
        }
    }
}
