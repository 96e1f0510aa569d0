//! What makes masks fast: where a text stands in JSON alone, what the automaton of the schema
//! says of it holds.

use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Cursor, Depth, Differences, FreeText, Horizon, KeyLanguage,
    ReadText, SpecialId, TextAt, TextLoop,
};

use super::held::{Held, Inner, State};
use super::machine::{CLASSES, Name, TagAutomaton};
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

    /// The cursor where a thread of JSON stands at `inner`.
    fn wrap(&self, thread: Thread, inner: Cursor, x: &mut Scratch) -> Cursor {
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

    /// A step of JSON alone; `None` where other threads stand beside it.
    pub(super) fn step_solo(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Option<Cursor> {
        let (thread, json) = self.solo(cursor, x)?;
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

    pub(super) fn solo_loop(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<TextLoop> {
        let (thread, json) = self.solo(cursor, x)?;
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let inner = json
            .automaton
            .text_loop(Cursor(thread.inner), horizon, scratch)?;
        let next = self.wrap(thread, inner.next, x);
        Some(TextLoop {
            class: class_of(thread.part, inner.class)?,
            next,
            ..inner
        })
    }

    pub(super) fn solo_ahead(&self, cursor: Cursor, chars: u32, x: &mut Scratch) -> Option<Cursor> {
        let (thread, json) = self.solo(cursor, x)?;
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let inner = json
            .automaton
            .text_ahead(Cursor(thread.inner), chars, scratch)?;
        Some(self.wrap(thread, inner, x))
    }

    pub(super) fn solo_free(&self, cursor: Cursor, x: &mut Scratch) -> Option<FreeText> {
        let (thread, json) = self.solo(cursor, x)?;
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let inner = json.automaton.free_text(Cursor(thread.inner), scratch)?;
        Some(FreeText {
            class: class_of(thread.part, inner.class)?,
            ..inner
        })
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
            .text_reader(Cursor(thread.inner), horizon, scratch)?;
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
        let inner = json
            .automaton
            .text_cursor(Cursor(thread.inner), at, scratch);
        self.wrap(thread, inner, x)
    }

    /// What a cursor resembles that stands in JSON alone; the outer `None` where it does not.
    pub(super) fn solo_like(&self, cursor: Cursor, x: &mut Scratch) -> Option<Option<Cursor>> {
        let (thread, json) = self.solo(cursor, x)?;
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        let inner = json.automaton.resembles(Cursor(thread.inner), scratch);
        Some(inner.map(|inner| self.wrap(thread, inner, x)))
    }

    pub(super) fn solo_differences(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
        out: &mut Differences,
    ) -> bool {
        let Some((thread, json)) = self.solo(cursor, x) else {
            return false;
        };
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        json.automaton
            .differences(Cursor(thread.inner), horizon, scratch, out)
    }

    pub(super) fn solo_spells(
        &self,
        cursor: Cursor,
        x: &mut Scratch,
        out: &mut Differences,
    ) -> bool {
        let Some((thread, json)) = self.solo(cursor, x) else {
            return false;
        };
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        json.automaton.spells(Cursor(thread.inner), scratch, out)
    }

    pub(super) fn solo_top_tells(&self, cursor: Cursor, x: &mut Scratch) -> bool {
        let Some((thread, json)) = self.solo(cursor, x) else {
            return false;
        };
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        json.automaton.top_tells(Cursor(thread.inner), scratch)
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
            return automaton.common_key(inner, depth, horizon, scratch, out);
        }
        let tail = self.junction(self.part(thread.part).after).tail.as_ref();
        let tail = tail.filter(|_| thread.stack == 0)?;
        let before = out.len();
        let language = automaton.common_key(inner, depth, horizon, scratch, out)?;
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

    pub(super) fn solo_count(&self, cursor: Cursor, x: &mut Scratch) -> Option<Depth> {
        let (thread, json) = self.solo(cursor, x)?;
        x.counted.push(thread.slot);
        let scratch = &mut x.slots[thread.slot as usize].scratch;
        json.automaton.count_depth(Cursor(thread.inner), scratch)
    }

    pub(super) fn solo_count_on(&self, before: Depth, used: usize, x: &mut Scratch) {
        let Some(slot) = x.counted.pop() else { return };
        let slot = &mut x.slots[slot as usize];
        if let Body::Json(json) = &self.part(slot.part).body {
            json.automaton.count_on(before, used, &mut slot.scratch);
        }
    }

    /// Whether two states are plainly one.
    pub(super) fn is_same_state(&self, one: &[Held], other: &[Held]) -> bool {
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| self.is_same_held(a, b))
    }

    /// Appends the special tokens whose names may come as text.
    pub(super) fn names_as_text(&self, state: &State, out: &mut Vec<SpecialId>) {
        if let Some(known) = &state.names {
            out.extend_from_slice(known.get_or_init(|| self.find_names(state)));
        }
    }

    fn find_names(&self, state: &State) -> Box<[SpecialId]> {
        let names = &self.0.names;
        let mut out = Vec::new();
        if let [held] = state.threads.as_slice()
            && let (Body::Json(json), Inner::Json(inner)) =
                (&self.part(held.part).body, &held.inner)
            && json.is_plain()
            && !json.automaton.is_in_text(inner)
            && !self.0.names_look_like_json
        {
            return Box::default();
        }
        let mut x = self.lend();
        // What reads whole tokens does not read their names.
        let texts = state.threads.iter().filter(|held| !self.is_of_tokens(held));
        let start = self.enter_threads(texts, &mut x);
        if self.is_free_of(start, &mut x) {
            out.extend(names.iter().map(|name| SpecialId(name.special)));
            self.take_back(x);
            out.sort_unstable();
            return out.into();
        }
        // The cursors along the name before, which begins like this one, and where that ended
        // in nothing.
        let mut along = vec![start];
        let mut same = 0;
        let mut dead = usize::MAX;
        for Name {
            text,
            special,
            like,
        } in names
        {
            same = same.min(*like);
            if same > dead {
                continue;
            }
            dead = usize::MAX;
            along.truncate(same + 1);
            while along.len() <= text.len() {
                let (at, byte) = (along[along.len() - 1], text[along.len() - 1]);
                let next = self.step(at, byte, &mut x);
                if next.is_dead() {
                    dead = along.len() - 1;
                    break;
                }
                along.push(next);
            }
            if along.len() == text.len() + 1 {
                out.push(SpecialId(*special));
            }
            same = usize::MAX;
        }
        self.take_back(x);
        out.sort_unstable();
        out.into()
    }

    /// Whether any text of the characters of names may come at a cursor.
    fn is_free_of(&self, cursor: Cursor, x: &mut Scratch) -> bool {
        let longest = self.0.names.iter().map(|name| name.text.len()).max();
        let horizon = Horizon::of_bytes(longest.unwrap_or(0));
        let Some(text) = self.text_loop(cursor, horizon, x) else {
            return false;
        };
        let class = self.text_class(text.class);
        let has = |c: &u32| class.iter().any(|(from, to)| (from..=to).contains(&c));
        text.next == cursor && self.0.name_chars.iter().all(has)
    }

    pub(super) fn is_of_tokens(&self, held: &Held) -> bool {
        matches!(self.part(held.part).body, Body::Tokens(_))
    }

    /// Whether two threads are plainly one.
    pub(super) fn is_same_held(&self, one: &Held, other: &Held) -> bool {
        one.part == other.part
            && one.guard == other.guard
            && one.extra == other.extra
            && one.tokens == other.tokens
            && super::held::is_same_stack(&one.stack, &other.stack)
            && match (&one.inner, &other.inner, &self.part(one.part).body) {
                (Inner::Number(one), Inner::Number(other), _) => one == other,
                (Inner::Json(one), Inner::Json(other), Body::Json(json)) => {
                    std::sync::Arc::ptr_eq(one, other) || json.automaton.is_same(one, other)
                }
                _ => false,
            }
    }
}

/// A class of a part's own automaton.
fn class_of(part: u32, class: ClassId) -> Option<ClassId> {
    (class.0 < CLASSES).then_some(ClassId(part * CLASSES + class.0))
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
