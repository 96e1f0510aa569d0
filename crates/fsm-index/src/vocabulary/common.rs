//! What the topmost levels tell that many automata have, remembered with the
//! vocabulary, within a bound.

use foldhash::HashMap;
use std::sync::Arc;

use crate::KeyLanguage;
use crate::part::{HalfOnTop, Part};
use crate::row::Row;
use crate::suffixes::Known;

/// Things by their keys. Those that were not asked for while as many others came
/// that they fill half of the bound are forgotten.
#[derive(Debug)]
pub(super) struct Common<T> {
    new: Things<T>,
    /// Those of before, until they are asked for.
    old: Things<T>,
    /// Of the new ones.
    bytes: usize,
}

type Things<T> = HashMap<KeyLanguage, HashMap<Box<[u32]>, Arc<T>>>;

/// What takes memory.
pub(super) trait Held {
    /// Bytes.
    fn held(&self) -> usize;
}

impl Held for Part {
    fn held(&self) -> usize {
        self.memory()
    }
}

impl Held for HalfOnTop {
    fn held(&self) -> usize {
        self.memory()
    }
}

/// A row, or how deep to look for it.
impl Held for Known<Arc<Row>> {
    fn held(&self) -> usize {
        size_of_val(self)
            + match self {
                // It may be the last to hold its part.
                Known::Value(row) => row.memory() + row.part().map_or(0, Part::memory),
                Known::Deeper(_) | Known::Nothing => 0,
            }
    }
}

impl<T> Default for Common<T> {
    fn default() -> Self {
        Common {
            new: HashMap::default(),
            old: HashMap::default(),
            bytes: 0,
        }
    }
}

/// So many bytes are remembered at most, twice: the new and the old parts.
const MAX_BYTES: usize = 16 << 20;

impl<T: Held> Common<T> {
    pub(super) fn get(&mut self, language: KeyLanguage, key: &[u32]) -> Option<Arc<T>> {
        let known = |parts: &Things<T>| parts.get(&language)?.get(key).cloned();
        if let Some(part) = known(&self.new) {
            return Some(part);
        }
        let part = known(&self.old)?;
        self.add(language, key, part.clone());
        Some(part)
    }

    pub(super) fn add(&mut self, language: KeyLanguage, key: &[u32], part: Arc<T>) {
        let bytes = held(key, &*part);
        if self.bytes + bytes > MAX_BYTES {
            self.old = std::mem::take(&mut self.new);
            self.bytes = 0;
        }
        let parts = self.new.entry(language).or_default();
        if parts.insert(key.into(), part).is_none() {
            self.bytes += bytes;
        }
    }

    /// Bytes of memory; a part that became new again counts twice.
    pub(super) fn memory(&self) -> usize {
        let old = self.old.values().flatten();
        self.bytes + old.map(|(key, part)| held(key, &**part)).sum::<usize>()
    }
}

fn held<T: Held>(key: &[u32], thing: &T) -> usize {
    thing.held() + size_of_val(key) + 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let language = KeyLanguage {
            name: "test",
            dialect: 0,
        };
        let mut parts = Common::default();
        let words = vec![u32::MAX; 1 << 18];
        let part = Arc::new(Part::new(&words, Vec::new(), None));
        let held = part.memory() + 68;
        parts.add(language, &[0], part.clone());
        for n in 1..100 {
            parts.add(language, &[n], part.clone());
            assert!(parts.get(language, &[0]).is_some(), "{n}");
            assert!(parts.get(language, &[n]).is_some(), "{n}");
            let kept = (0..100).filter(|&n| {
                [&parts.new, &parts.old].iter().any(|parts| {
                    parts
                        .get(&language)
                        .is_some_and(|p| p.contains_key(&[n][..]))
                })
            });
            assert!(kept.count() * held <= 2 * MAX_BYTES);
        }
        assert!(parts.get(language, &[1]).is_none());
        let other = KeyLanguage {
            dialect: 1,
            ..language
        };
        assert!(parts.get(other, &[0]).is_none());
    }
}
