//! Short lists that are mostly of one item, which then needs no memory of its own:
//! a schema has thousands of them.
//!
//! For example, a member for one thread has one choice.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A list that is never longer than it was made.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Few<T> {
    One(T),
    Many(Box<[T]>),
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Few::One(item) => std::slice::from_ref(item),
            Few::Many(items) => items,
        }
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::One(item) => std::slice::from_mut(item),
            Few::Many(items) => items,
        }
    }
}

impl<T> Default for Few<T> {
    fn default() -> Few<T> {
        Few::Many(Box::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(mut items: Vec<T>) -> Few<T> {
        match items.len() {
            1 => items.pop().map_or_else(Few::default, Few::One),
            _ => Few::Many(items.into()),
        }
    }
}

impl<T: Copy> From<&[T]> for Few<T> {
    fn from(items: &[T]) -> Few<T> {
        match items {
            [one] => Few::One(*one),
            _ => Few::Many(items.into()),
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Few<T> {
        let mut items = items.into_iter();
        let Some(first) = items.next() else {
            return Few::default();
        };
        let Some(second) = items.next() else {
            return Few::One(first);
        };
        let mut all = Vec::with_capacity(items.size_hint().0.saturating_add(2));
        all.extend([first, second]);
        all.extend(items);
        Few::Many(all.into())
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use crate::automaton::machine::few::Few;

    #[test]
    fn lists_are_what_they_were_made_of() {
        for n in 0..4u32 {
            let all: Vec<u32> = (0..n).collect();
            let few = [
                all.iter().copied().collect::<Few<u32>>(),
                Few::from(&all[..]),
                Few::from(all.clone()),
            ];
            assert!(few.iter().all(|f| **f == *all && *f == few[0]));
            assert_eq!(format!("{:?}", few[0]), format!("{all:?}"));
            let mut changed = few[0].clone();
            changed.fill(7);
            assert!(changed.into_iter().eq(&vec![7; n as usize]));
        }
        assert!(matches!(Few::from(vec![1]), Few::One(1)));
    }
}
