//! What makes masks fast: where a text stands in JSON alone, what the automaton of the schema
//! says of it holds. Markers that are kept out of it change nothing where none has begun,
//! tokens aside that have one in them: those are [unsure](fsm_index::Overlay::unsure_texts).

use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Cursor, Description, FreeText, Horizon, KeyLanguage,
    PlainText, ReadText, Scope, Stack, TextAt, TextLoop, TopText,
};

use super::held::Held;
use super::machine::{CLASSES, OWN_CLASS, TagAutomaton};
use super::markers::ROOT;
use super::parts::{Body, Json, Thread};
use super::walk::Scratch;

impl TagAutomaton {
    /// The only thread of a cursor, if it stands in JSON that is spelt as it is.
    fn solo(&self, cursor: Cursor, x: &Scratch) -> Option<(Thread, &Json)> {
        let thread = self.solo_of(x.config(cursor))?;
        match &self.part(thread.part).body {
            Body::Json(json) => Some((thread, json)),
            _ => None,
        }
    }

    /// The only one of some threads, if it stands in JSON that is spelt as it is.
    pub(super) fn solo_of(&self, threads: &[Thread]) -> Option<Thread> {
        let [thread] = threads else {
            return None;
        };
        match &self.part(thread.part).body {
            Body::Json(json) if json.is_plain() && thread.guard == ROOT && thread.extra == 0 => {
                Some(*thread)
            }
            _ => None,
        }
    }

    /// The cursor of some threads, which are all that stand there.
    pub(super) fn cursor_of(&self, threads: &mut Vec<Thread>, x: &mut Scratch) -> Cursor {
        threads.sort_unstable();
        threads.dedup();
        match self.solo_of(threads) {
            Some(thread) => self.alone(thread, x),
            None => x.intern(threads),
        }
    }

    /// The cursor where a thread of JSON stands alone.
    fn alone(&self, thread: Thread, x: &mut Scratch) -> Cursor {
        let slot = &x.slots[thread.slot as usize];
        if slot.stack != thread.stack {
            return x.intern(&mut vec![thread]);
        }
        match slot.outer.get(thread.inner as usize) {
            Some(&known) if known != 0 => Cursor(known),
            _ => x.begin_alone(thread),
        }
    }

    /// The cursor where a thread of JSON stands at `inner`.
    pub(super) fn wrap(&self, thread: Thread, inner: Cursor, x: &mut Scratch) -> Cursor {
        if inner.is_dead() {
            return Cursor::DEAD;
        }
        let slot = &x.slots[thread.slot as usize];
        let is_own = slot.stack == thread.stack;
        if is_own
            && let Some(&known) = slot.outer.get(inner.0 as usize)
            && known != 0
        {
            return Cursor(known);
        }
        let mut threads = std::mem::take(&mut x.threads);
        threads.clear();
        threads.push(Thread {
            inner: inner.0,
            ..thread
        });
        self.close(x, &mut threads);
        let cursor = match threads.as_slice() {
            [alone] if is_own => x.begin_alone(*alone),
            _ => x.intern(&mut threads),
        };
        x.threads = threads;
        if is_own {
            x.remember(thread.slot, inner, cursor);
        }
        cursor
    }

    /// A step of JSON alone; `None` where other threads stand beside it, or a marker begins.
    pub(super) fn step_solo(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Option<Cursor> {
        let (thread, json) = self.solo(cursor, x)?;
        if let Some(markers) = &json.markers
            && markers.step(ROOT, byte) != Some(ROOT)
        {
            return None;
        }
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let next = json.automaton.step(Cursor(thread.inner), byte, scratch);
        Some(self.wrap(thread, next, x))
    }

    /// As [`ByteAutomaton::step_on_top`]. What may follow the value, other levels tell.
    pub(super) fn step_solo_on_top(
        &self,
        cursor: Cursor,
        byte: u8,
        x: &mut Scratch,
    ) -> Option<Cursor> {
        let Some((thread, json)) = self.solo(cursor, x) else {
            return Some(self.step(cursor, byte, x));
        };
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let next = json
            .automaton
            .step_on_top(Cursor(thread.inner), byte, scratch)?;
        if json.automaton.ends_at_cursor(next, scratch) {
            return None;
        }
        Some(self.wrap(thread, next, x))
    }

    /// What is known where JSON stands alone; `None` where it does not.
    pub(super) fn solo_description(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<Description> {
        let (thread, json) = self.solo(cursor, x)?;
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let inner = json
            .automaton
            .describe(Cursor(thread.inner), horizon, scratch);
        Some(match inner {
            Description::Top(top) => Description::Top(TopText {
                text: top.text.and_then(|text| self.wrap_loop(thread, text, x)),
                free: top.free.and_then(|free| wrap_free(thread, free)),
            }),
            Description::Text(text) => {
                let text = self.wrap_loop(thread, text, x);
                text.map_or(Description::Unknown, Description::Text)
            }
            Description::Like { cursor, apart } => Description::Like {
                cursor: self.wrap(thread, cursor, x),
                apart,
            },
            Description::Listed(texts) => Description::Listed(texts),
            Description::Unknown => Description::Unknown,
        })
    }

    fn wrap_loop(&self, thread: Thread, inner: TextLoop, x: &mut Scratch) -> Option<TextLoop> {
        Some(TextLoop {
            class: class_of(thread.part, inner.class)?,
            next: self.wrap(thread, inner.next, x),
            ..inner
        })
    }

    pub(super) fn solo_free(&self, cursor: Cursor, x: &mut Scratch) -> Option<FreeText> {
        let (thread, json) = self.solo(cursor, x)?;
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let inner = json.automaton.free_text(Cursor(thread.inner), scratch)?;
        wrap_free(thread, inner)
    }

    pub(super) fn solo_reader(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<Box<dyn ReadText + '_>> {
        let (thread, json) = self.solo(cursor, x)?;
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let inner = json
            .automaton
            .reader(Cursor(thread.inner), horizon, scratch)?;
        Some(Box::new(Reader {
            inner,
            part: thread.part,
        }))
    }

    pub(super) fn solo_behind(&self, cursor: Cursor, at: TextAt, x: &mut Scratch) -> Cursor {
        let Some((thread, json)) = self.solo(cursor, x) else {
            return cursor;
        };
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let inner = json.automaton.cursor_at(Cursor(thread.inner), at, scratch);
        self.wrap(thread, inner, x)
    }

    pub(super) fn solo_least_depth(&self, cursor: Cursor, x: &Scratch) -> usize {
        let Some((thread, json)) = self.solo(cursor, x) else {
            return 1;
        };
        let scratch = &x.slots[thread.slot as usize].scratch;
        json.automaton.least_depth(Cursor(thread.inner), scratch)
    }

    /// Keys in common words tell what follows a value as if that were the whole text: where they
    /// tell more than what is inside of it, what follows here is said beside them.
    pub(super) fn solo_common_key(
        &self,
        cursor: Cursor,
        depth: usize,
        horizon: Horizon<'_>,
        x: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        let (thread, json) = self.solo(cursor, x)?;
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let inner = Cursor(thread.inner);
        let automaton = &json.automaton;
        if automaton.levels_below(inner, scratch) >= depth {
            return automaton.key(inner, Scope::Vocabulary, depth, horizon, scratch, out);
        }
        let tail = self.junction(self.part(thread.part).after).tail.as_ref();
        let tail = tail.filter(|_| thread.stack == 0)?;
        let before = out.len();
        let language = automaton.key(inner, Scope::Vocabulary, depth, horizon, scratch, out)?;
        out.push((out.len() - before) as u32);
        out.extend_from_slice(tail);
        Some(KeyLanguage {
            name: "structural-tags",
            ..language
        })
    }

    pub(super) fn solo_next_bytes(&self, cursor: Cursor, on_top: bool, x: &mut Scratch) -> ByteSet {
        if let Some((thread, json)) = self.solo(cursor, x) {
            let scratch = &mut x.slots[thread.slot as usize].scratch;
            let inner = Cursor(thread.inner);
            return match on_top {
                true => json.automaton.next_bytes_on_top(inner, scratch),
                false => json.automaton.next_bytes(inner, scratch),
            };
        }
        // Where all threads spell something, few bytes may come.
        let mut set = ByteSet::NONE;
        for thread in x.config(cursor) {
            match &self.part(thread.part).body {
                Body::Nothing => {}
                Body::Literal(text) => {
                    if let Some(byte) = text.get(thread.inner as usize) {
                        set = set.or(ByteSet::of(&[*byte]));
                    }
                }
                _ => return ByteSet::ALL,
            }
        }
        set
    }

    pub(super) fn is_of_tokens(&self, held: &Held) -> bool {
        matches!(self.part(held.part).body, Body::Tokens(_))
    }
}

/// Free text of a thread's own automaton.
fn wrap_free(thread: Thread, inner: FreeText) -> Option<FreeText> {
    Some(FreeText {
        class: class_of(thread.part, inner.class)?,
        ..inner
    })
}

/// Automata of schemas number classes from 0 on, and others from this number on.
const OTHERS: u32 = (1 << 31) - 1;

/// A class of a part's own automaton; `None` where its number is too large to be told apart.
pub(super) fn class_of(part: u32, class: ClassId) -> Option<ClassId> {
    let (number, is_other) = match class.0.checked_sub(OTHERS) {
        Some(number) => (number, 1),
        None => (class.0, 0),
    };
    let folded = number.checked_mul(2)?.checked_add(is_other)?;
    (folded < OWN_CLASS).then_some(ClassId(part * CLASSES + folded))
}

/// The class of the part's automaton that [`class_of`] told.
pub(super) fn inner_class(class: ClassId) -> ClassId {
    let folded = class.0 % CLASSES;
    ClassId(folded / 2 + folded % 2 * OTHERS)
}

/// What reads text in a part of JSON.
struct Reader<'a> {
    inner: Box<dyn ReadText + 'a>,
    part: u32,
}

impl ReadText for Reader<'_> {
    fn start(&self) -> TextAt {
        self.inner.start()
    }

    fn step(&self, at: TextAt, byte: u8) -> fsm_index::TextStep {
        self.inner.step(at, byte)
    }

    fn language(&self) -> Option<[u64; 4]> {
        self.inner.language()
    }

    fn is_ascii_next(&self, at: TextAt) -> bool {
        self.inner.is_ascii_next(at)
    }

    fn free_text(&self, at: TextAt) -> Option<FreeText> {
        let inner = self.inner.free_text(at)?;
        Some(FreeText {
            class: class_of(self.part, inner.class)?,
            ..inner
        })
    }

    fn dead_class(&self) -> &[(u32, u32)] {
        self.inner.dead_class()
    }

    fn least_chars(&self) -> usize {
        self.inner.least_chars()
    }

    fn is_back(&self, at: TextAt) -> bool {
        self.inner.is_back(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_parts_are_told_apart() {
        for class in [0, 1, 300, OTHERS, OTHERS + 1, OTHERS + 300] {
            let told = class_of(7, ClassId(class)).unwrap();
            assert_eq!(told.0 / CLASSES, 7);
            assert_eq!(inner_class(told), ClassId(class));
        }
        assert_eq!(class_of(7, ClassId(CLASSES)), None);
        assert_eq!(class_of(7, ClassId(u32::MAX)), None);
    }
}
