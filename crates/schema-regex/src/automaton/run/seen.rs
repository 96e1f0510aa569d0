//! The texts that may not come again: the further names of an open object, or the items of an open
//! array that must differ.
//!
//! For example, behind `[{"id":1},{"id":25}` an item that begins `{"id":2` may become the second
//! one: its member is found among the members of all items, without a walk over the items.

use std::hash::{BuildHasher as _, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::automaton::run::equality::{members_of, significant_digits};
use crate::automaton::run::sorted::{Sorted, TextSet, beginning_with};

/// Names or items that may not come again. A clone costs nothing, and one more O(log).
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) list: TextSet,
    /// Parts of the items.
    parts: Sorted<Part>,
    /// The sum of the hashes of the texts, because sets that differ in it are told apart at once.
    print: u64,
    /// Says whether there is one more, a further name that began before the walk.
    pub(super) unknown: bool,
}

/// A member of an item that is an object, as it is spelled, or the digits of a number.
#[derive(Clone, Debug)]
struct Part {
    text: Arc<str>,
    item: Arc<str>,
}

impl Seen {
    /// The names with one more; `None` if it is there already.
    pub(super) fn with_name(&self, name: &str) -> Option<Seen> {
        self.with(&Arc::from(name))
    }

    fn with(&self, text: &Arc<str>) -> Option<Seen> {
        let at = self.list.find(text).err()?;
        let mut more = self.clone();
        more.list = self.list.with(at, Arc::clone(text));
        more.print = self.print.wrapping_add(hash(text));
        Some(more)
    }

    /// The items with one more, in its canonical spelling; `None` if it is there already.
    pub(super) fn with_item(&self, item: String) -> Option<Seen> {
        let item: Arc<str> = item.into();
        let mut more = self.with(&item)?;
        if let Some(digits) = significant_digits(&item) {
            more.add_part(of_number("", &digits), &item);
        }
        for member in members_of(&item) {
            more.add_part(member.text.to_owned(), &item);
            if let Some(digits) = significant_digits(member.value()) {
                more.add_part(of_number(member.before_value(), &digits), &item);
            }
        }
        Some(more)
    }

    fn add_part(&mut self, text: String, item: &Arc<str>) {
        let is_below = |part: &Part| (&*part.text, &*part.item) < (&*text, &**item);
        let at = self.parts.partition(0..self.parts.len(), is_below);
        let part = Part {
            text: text.into(),
            item: Arc::clone(item),
        };
        self.parts = self.parts.with(at, part);
    }

    /// The places of the parts that begin like this.
    pub(super) fn parts_beginning_with(&self, text: &str) -> Range<usize> {
        beginning_with(&self.parts, text, |part| &part.text)
    }

    /// The first place of a range behind the parts whose texts are below something.
    pub(super) fn partition_parts(
        &self,
        places: Range<usize>,
        below: impl Fn(&str) -> bool,
    ) -> usize {
        self.parts.partition(places, |part| below(&part.text))
    }

    /// The places of the parts that are numbers behind a text, with digits that begin like these,
    /// which have a sign before them: those that have more of them, and the one that has none but
    /// zeros behind them.
    pub(super) fn numbers_beginning_with(&self, before: &str, digits: &str) -> [Range<usize>; 2] {
        let longer = self.parts_beginning_with(&of_number(before, digits));
        let short = digits.trim_end_matches('0');
        let alike = match short.len() < digits.len() {
            true => {
                let text = of_number(before, short);
                let all = self.parts_beginning_with(&text);
                let to = self
                    .parts
                    .partition(all.clone(), |part| *part.text == *text);
                all.start..to
            }
            false => 0..0,
        };
        [longer, alike]
    }

    /// The items of parts.
    pub(super) fn items_of(&self, parts: Range<usize>) -> impl Iterator<Item = &Arc<str>> {
        self.parts.range(parts).map(|part| &part.item)
    }
}

/// The part that a number behind a text is, by its sign and digits: no JSON has the byte between.
fn of_number(before: &str, digits: &str) -> String {
    format!("{before}\u{1}{digits}")
}

fn hash(text: &str) -> u64 {
    FixedState::default().hash_one(text)
}

/// The texts decide, since all else is made of them; they are compared one by one only if their
/// hashes agree.
impl PartialEq for Seen {
    fn eq(&self, other: &Seen) -> bool {
        (self.print, self.unknown) == (other.print, other.unknown)
            && (self.list.is_shared_with(&other.list)
                || (self.list.len() == other.list.len() && self.list.iter().eq(other.list.iter())))
    }
}

impl Eq for Seen {}

impl Hash for Seen {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.print);
        hasher.write_u8(u8::from(self.unknown));
    }
}
