//! Special tokens that may come: as structure, as tokens whatever they are, and as text that
//! spells their names.

use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Cursor, Horizon, JSON_TEXT, MAX_COMPLETION, PlainText,
    SpecialId, SpecialTokens, Spot,
};

use super::held::{Held, Inner, State};
use super::machine::TagAutomaton;
use super::parts::Body;
use super::run::Tokens;
use super::walk::Scratch;

/// The special tokens whose names may come as text.
enum Names {
    None,
    All,
    Some(Vec<SpecialId>),
}

/// The numbers of lists that many states have: none, and all that may stand as text.
const NONE: u32 = 0;
const ALL: u32 = 1;

/// So many bytes take longer to try than to ask whether any may come.
const MANY_BYTES: usize = 8;

impl SpecialTokens<State, Scratch> for TagAutomaton {
    fn names(&self) -> &[Box<str>] {
        &self.0.specials
    }

    fn allowed(&self, state: &State, out: &mut Vec<SpecialId>) {
        self.all_specials(state, out);
    }

    fn list(
        &self,
        state: &State,
        cursor: Cursor,
        x: &mut Scratch,
        out: &mut Vec<SpecialId>,
    ) -> Option<u32> {
        self.numbered_specials(state, Some((cursor, x)), out)
    }

    fn advance(&self, state: &mut State, special: SpecialId) -> bool {
        self.take_special(state, special)
    }

    fn heads(&self) -> Option<ByteSet> {
        self.0.special_heads
    }

    fn completion(&self, state: &State) -> Option<SpecialId> {
        let mut text = Vec::new();
        let special = self.complete(state, MAX_COMPLETION, &mut text)?;
        special.filter(|_| text.is_empty()).map(SpecialId)
    }
}

impl TagAutomaton {
    /// As [`SpecialTokens::allowed`](fsm_index::SpecialTokens::allowed).
    pub(super) fn all_specials(&self, state: &State, out: &mut Vec<SpecialId>) {
        if self.numbered_specials(state, None, out) == Some(ALL) {
            out.extend(self.all_names());
        }
    }

    /// As [`SpecialTokens::list`](fsm_index::SpecialTokens::list); `entered` is a cursor of the state, if there is
    /// one.
    pub(super) fn numbered_specials(
        &self,
        state: &State,
        entered: Option<(Cursor, &mut Scratch)>,
        out: &mut Vec<SpecialId>,
    ) -> Option<u32> {
        let before = out.len();
        self.structure(state, out);
        let is_text_alone = out.len() == before;
        match self.names_as_text(state, entered) {
            Names::None if is_text_alone => return Some(NONE),
            Names::All if is_text_alone => return Some(ALL),
            Names::None => {}
            Names::All => out.extend(self.all_names()),
            Names::Some(names) => out.extend(names),
        }
        // Names alone are in order.
        if !is_text_alone {
            out.sort_unstable();
            out.dedup();
        }
        None
    }

    /// Names come first among the special tokens.
    fn all_names(&self) -> impl Iterator<Item = SpecialId> {
        (0..self.0.names.len() as u32).map(SpecialId)
    }

    /// Appends the special tokens that may come as such.
    fn structure(&self, state: &State, out: &mut Vec<SpecialId>) {
        for held in &state.threads {
            if let Body::Tokens(count) = &self.part(held.part).body
                && count.may_take(held.tokens)
            {
                let is_excluded = |s: &SpecialId| count.excluded.binary_search(&s.0).is_ok();
                out.extend(self.all_names().filter(|s| !is_excluded(s)));
            }
            if !self.may_end_held(held) {
                continue;
            }
            self.reach(self.part(held.part).after, &held.stack, &mut |at, _| {
                let specials = &self.junction(at).specials;
                out.extend(specials.iter().map(|(special, _)| SpecialId(*special)));
                false
            });
        }
    }

    fn is_of_tokens(&self, held: &Held) -> bool {
        matches!(self.part(held.part).body, Body::Tokens(_))
    }

    /// As [`SpecialTokens::advance`](fsm_index::SpecialTokens::advance).
    pub(super) fn take_special(&self, state: &mut State, special: SpecialId) -> bool {
        let mut next = Vec::new();
        for held in &state.threads {
            if let Body::Tokens(count) = &self.part(held.part).body
                && count.may_take(held.tokens)
                && count.excluded.binary_search(&special.0).is_err()
            {
                next.push(Held {
                    inner: Inner::Number(Tokens::INSIDE),
                    ..held.clone()
                });
            }
            if !self.may_end_held(held) {
                continue;
            }
            self.reach(self.part(held.part).after, &held.stack, &mut |at, stack| {
                for &(read, junction) in &self.junction(at).specials {
                    if read == special.0 {
                        self.begin_held(junction, stack, &mut next);
                    }
                }
                false
            });
        }
        if let Some(name) = self.0.names.iter().find(|name| name.special == special.0) {
            let texts = state.threads.iter().filter(|held| !self.is_of_tokens(held));
            let mut threads: Vec<Held> = texts.cloned().collect();
            self.open_token(&mut threads);
            let mut x = self.scratch();
            if !threads.is_empty() && self.read(&mut threads, &name.text, &mut x).is_ok() {
                next.extend(threads);
            }
        }
        if self.0.has_borders {
            self.close_token(&mut next);
        }
        let taken = !next.is_empty();
        if taken {
            state.threads = next;
        }
        taken
    }

    /// `entered` is a cursor of the state, if there is one.
    fn names_as_text(&self, state: &State, entered: Option<(Cursor, &mut Scratch)>) -> Names {
        if self.0.names.is_empty() {
            return Names::None;
        }
        if let [held] = state.threads.as_slice()
            && let (Body::Json(json), Inner::Json(inner)) =
                (&self.part(held.part).body, &held.inner)
            && json.is_plain()
            && !json.automaton.is_in_text(inner)
            && !self.0.names_look_like_json
        {
            return Names::None;
        }
        // What reads whole tokens does not read their names.
        let is_text = |held: &&Held| !self.is_of_tokens(held);
        if let Some((cursor, x)) = entered
            && state.threads.iter().all(|held| is_text(&held))
        {
            return self.names_at(cursor, x);
        }
        let mut x = self.lend();
        let start = self.enter_threads(state.threads.iter().filter(is_text), &mut x);
        let names = self.names_at(start, &mut x);
        self.take_back(x);
        names
    }

    fn names_at(&self, start: Cursor, x: &mut Scratch) -> Names {
        if self.is_free_of(start, x) {
            return Names::All;
        }
        let bytes = &self.0.name_bytes;
        let mut out = Vec::new();
        // Where the bytes lead that come before.
        let mut along = vec![start];
        // By byte, where it was met last and where it led: text is mostly read in loops.
        let mut known: Vec<(Cursor, Cursor)> = Vec::new();
        let mut at = 0;
        while let Some(next) = bytes.get(at) {
            along.truncate(next.depth as usize + 1);
            let from = along[next.depth as usize];
            let cursor = match known.get(usize::from(next.byte)) {
                Some(&(met, led)) if met == from => led,
                _ => self.step(from, next.byte, x),
            };
            if let Some(known) = known.get_mut(usize::from(next.byte)) {
                *known = (from, cursor);
            }
            if cursor.is_dead() {
                at = next.skip as usize;
                continue;
            }
            if known.is_empty() {
                known.resize(256, (Cursor::DEAD, Cursor::DEAD));
            }
            // Behind what begins several names, any text may come.
            let behind = &bytes[at..next.skip as usize];
            if behind.len() > MANY_BYTES && self.is_free_of(cursor, x) {
                let specials = behind.iter().filter_map(|byte| byte.special);
                out.extend(specials.map(SpecialId));
                at = next.skip as usize;
                continue;
            }
            along.push(cursor);
            out.extend(next.special.map(SpecialId));
            at += 1;
        }
        if out.len() == self.0.names.len() {
            return Names::All;
        }
        out.sort_unstable();
        match out.is_empty() {
            true => Names::None,
            false => Names::Some(out),
        }
    }

    /// Tells whether any text of the characters of names may come at a cursor, as long as they are.
    fn is_free_of(&self, cursor: Cursor, x: &mut Scratch) -> bool {
        let longest = self.0.longest_name;
        let horizon = Horizon::of_bytes(longest);
        if let Some(text) = self.describe(cursor, horizon, x).text()
            && self.has_name_chars(text.class)
            && (text.next == cursor || text.steady >= longest as u32)
        {
            return true;
        }
        // Names of members that are not declared.
        self.free_text(Spot::Cursor(cursor), x)
            .is_some_and(|free| free.chars >= longest && self.has_name_chars(free.class))
    }

    /// Tells whether a class has all characters of names.
    fn has_name_chars(&self, class: ClassId) -> bool {
        let class = self.class(class);
        let has = |c: &u32| class.iter().any(|(from, to)| (from..=to).contains(&c));
        class == JSON_TEXT && self.0.names_are_json_text || self.0.name_chars.iter().all(has)
    }
}
