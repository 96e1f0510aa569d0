//! By what rows and their parts are remembered. For example, rows of JSON and of a dialect with
//! other blanks have keys that end in different languages.

use crate::KeyLanguage;

/// The kind of thing that a key stands for. Keys of different things never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    /// The row of a state.
    Row = 0,
    /// A row whose end tokens mean nothing, because it was computed for a
    /// cursor that is no state's.
    Likeness = 1,
    /// The rests that may come, for a class.
    Rests = 2,
    /// The part of a row that the topmost level tells.
    Part = 3,
    /// The rests of a cut that the topmost level tells.
    RestsOnTop = 4,
    /// The tokens that do not begin with the class of a cut, as the topmost level tells.
    OthersOnTop = 5,
    /// The tokens of lexemes that have begun at some places.
    Lexemes = 6,
    /// The row of a state whose tokens were searched for ways to the end: by its whole key.
    SearchedRow = 7,
}

/// A key: what it is of, how many levels of a stack it tells, and the words of the automaton.
#[derive(Clone, Debug, Default)]
pub(crate) struct Key(Vec<u32>);

impl Key {
    /// Begins anew. An automaton appends its words to what this gives.
    pub(crate) fn begin(&mut self, thing: Thing, depth: usize) -> &mut Vec<u32> {
        self.0.clear();
        self.0.push((thing as u32) << 16 | depth as u32);
        &mut self.0
    }

    /// Adds what else counts.
    pub(crate) fn push(&mut self, word: u32) {
        self.0.push(word);
    }

    /// Ends a key that means the same in all automata of a language.
    pub(crate) fn end_in(&mut self, language: KeyLanguage) {
        let KeyLanguage { name, dialect } = language;
        let bytes = name.as_bytes();
        let word = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0, |word, &byte| word << 8 | u32::from(byte))
        };
        self.0.extend(bytes.chunks(4).map(word));
        self.0.extend([bytes.len() as u32, dialect]);
    }

    pub(crate) fn words(&self) -> &[u32] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_different_languages_differ() {
        let key = |name, dialect, words: &[u32]| {
            let mut key = Key::default();
            key.begin(Thing::Row, 1).extend_from_slice(words);
            key.end_in(KeyLanguage { name, dialect });
            key.words().to_vec()
        };
        let keys = [
            key("json", 0, &[]),
            key("json", 1, &[]),
            key("json5", 0, &[]),
            key("", 0, &[0x6A73_6F6E, 4]),
            key("", 0, &[]),
        ];
        for (at, one) in keys.iter().enumerate() {
            assert!(keys[..at].iter().all(|other| other != one), "{at}");
        }
    }
}
