//! Special tokens that may come: as structure, as tokens whatever they are, and as text that
//! spells their names.
//!
//! For example, in a string of JSON the special token `<|im_end|>` may come as its ten characters.

use fsm_index::{
    ByteAutomaton, ClassId, Cursor, Horizon, JSON_TEXT, PlainText, SpecialId, SpecialTokens, Spot,
};

use super::held::{Held, InnerState, State, Threads};
use super::machine::TagAutomaton;
use super::parts::Body;
use super::scratch::Scratch;
use super::walk::Walk;

/// The special tokens whose names may come as text.
enum NamesAsText {
    None,
    All,
    Some(Vec<SpecialId>),
}

/// The number of the empty list, which has one because most states have it.
const NONE: u32 = 0;

/// The number of the list of all names that may stand as text, because all free text has it.
const ALL: u32 = 1;

/// The least number of bytes for which it is asked whether any text may come, because fewer are
/// quicker tried.
const MANY_BYTES: usize = 8;

impl SpecialTokens<State, Scratch> for TagAutomaton {
    fn allowed(
        &self,
        state: &State,
        entered: Option<(Cursor, &mut Scratch)>,
        out: &mut Vec<SpecialId>,
    ) -> Option<u32> {
        if entered.is_some() {
            return self.numbered_specials(state, entered, out);
        }
        self.all_specials(state, out);
        None
    }

    fn advance(&self, state: &mut State, special: SpecialId) -> bool {
        self.take_special(state, special)
    }
}

impl TagAutomaton {
    /// As [`SpecialTokens::allowed`](fsm_index::SpecialTokens::allowed).
    pub(super) fn all_specials(&self, state: &State, out: &mut Vec<SpecialId>) {
        if self.numbered_specials(state, None, out) == Some(ALL) {
            out.extend(self.all_names());
        }
    }

    /// As [`SpecialTokens::allowed`](fsm_index::SpecialTokens::allowed); `entered` is a cursor of the
    /// state, if there is one.
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
            NamesAsText::None if is_text_alone => return Some(NONE),
            NamesAsText::All if is_text_alone => return Some(ALL),
            NamesAsText::None => {}
            NamesAsText::All => out.extend(self.all_names()),
            NamesAsText::Some(names) => out.extend(names),
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
        (0..self.graph.names().all.len() as u32).map(SpecialId)
    }

    /// Appends the special tokens that may come as such.
    fn structure(&self, state: &State, out: &mut Vec<SpecialId>) {
        for held in &state.threads {
            if let Body::Tokens(count) = &self.graph.part(held.part).body
                && count.may_take(held.tokens)
            {
                let is_excluded = |s: &SpecialId| count.excluded.binary_search(&s.0).is_ok();
                out.extend(self.all_names().filter(|s| !is_excluded(s)));
            }
            if !held.may_end(&self.graph) {
                continue;
            }
            self.graph.reach(
                self.graph.part(held.part).after,
                &held.stack,
                &mut |at, _| {
                    let specials = &self.graph.junction(at).specials;
                    out.extend(specials.iter().map(|(special, _)| SpecialId(*special)));
                    false
                },
            );
        }
    }

    fn is_of_tokens(&self, held: &Held) -> bool {
        matches!(self.graph.part(held.part).body, Body::Tokens(_))
    }

    /// As [`SpecialTokens::advance`](fsm_index::SpecialTokens::advance).
    pub(super) fn take_special(&self, state: &mut State, special: SpecialId) -> bool {
        let mut next = Threads::new(&self.graph, Vec::new());
        for held in &state.threads {
            if let Body::Tokens(count) = &self.graph.part(held.part).body
                && count.may_take(held.tokens)
                && count.excluded.binary_search(&special.0).is_err()
            {
                next.begin_token(held);
            }
            if !held.may_end(&self.graph) {
                continue;
            }
            self.graph.reach(
                self.graph.part(held.part).after,
                &held.stack,
                &mut |at, stack| {
                    for &(read, junction) in &self.graph.junction(at).specials {
                        if read == special.0 {
                            next.begin(junction, stack);
                        }
                    }
                    false
                },
            );
        }
        if let Some(name) = self
            .graph
            .names()
            .all
            .iter()
            .find(|name| name.special == special.0)
        {
            let texts = state.threads.iter().filter(|held| !self.is_of_tokens(held));
            let mut threads = Threads::new(&self.graph, texts.cloned().collect());
            threads.open_token();
            if !threads.is_empty() && threads.read(&name.text, &mut self.scratch()).is_ok() {
                next.extend(threads);
            }
        }
        if self.graph.has_borders() {
            next.close_token();
        }
        let taken = !next.is_empty();
        if taken {
            *state = next.state();
        }
        taken
    }

    /// `entered` is a cursor of the state, if there is one.
    fn names_as_text(&self, state: &State, entered: Option<(Cursor, &mut Scratch)>) -> NamesAsText {
        if self.graph.names().all.is_empty() {
            return NamesAsText::None;
        }
        if let [held] = state.threads.as_slice()
            && let (Body::Json(json), InnerState::Json(inner)) =
                (&self.graph.part(held.part).body, &held.inner)
            && json.is_plain()
            && !json.automaton.is_in_text(inner)
            && !self.graph.names().look_like_json
        {
            return NamesAsText::None;
        }
        // A reader of whole tokens does not read their names.
        let is_text = |held: &&Held| !self.is_of_tokens(held);
        if let Some((cursor, x)) = entered
            && state.threads.iter().all(|held| is_text(&held))
        {
            return self.names_at(cursor, x);
        }
        self.with_scratch(|x| {
            let texts = state.threads.iter().filter(is_text);
            let start = Walk::new(&self.graph, x).enter(texts);
            self.names_at(start, x)
        })
    }

    fn names_at(&self, start: Cursor, x: &mut Scratch) -> NamesAsText {
        if self.is_free_of(start, x) {
            return NamesAsText::All;
        }
        let bytes = &self.graph.names().bytes;
        let mut out = Vec::new();
        // The cursors behind the bytes that come before.
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
        if out.len() == self.graph.names().all.len() {
            return NamesAsText::All;
        }
        out.sort_unstable();
        match out.is_empty() {
            true => NamesAsText::None,
            false => NamesAsText::Some(out),
        }
    }

    /// Tells whether any text of the characters of names may come at a cursor, as long as they are.
    fn is_free_of(&self, cursor: Cursor, x: &mut Scratch) -> bool {
        let longest = self.graph.names().longest;
        let horizon = Horizon::of_bytes(longest);
        if let Some(text) = self.describe(cursor, horizon, x).text()
            && self.has_name_chars(text.class)
            && (text.next == cursor || text.steady >= longest as u32)
        {
            return true;
        }
        // Names of members that are not declared.
        self.free_text(Spot::Top(cursor), x)
            .is_some_and(|free| free.chars >= longest && self.has_name_chars(free.class))
    }

    /// Tells whether a class has all characters of names.
    fn has_name_chars(&self, class: ClassId) -> bool {
        let class = self.class(class);
        let has = |c: &u32| class.iter().any(|(from, to)| (from..=to).contains(&c));
        class == JSON_TEXT && self.graph.names().are_json_text
            || self.graph.names().chars.iter().all(has)
    }
}
