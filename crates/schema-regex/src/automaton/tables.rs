//! Where plain text leads inside strings of one pattern and inside further names: the
//! tables of their automata, for walks.

use fsm_index::{Cursor, GoesOn, Horizon, TextTable};

use super::SchemaAutomaton;
use super::dfa::DEAD;
use super::node::StringMachine;
use super::scratch::{Config, Key, Scratch, Str, Top, UNKNOWN, is_kept};
use super::text::Partial;

impl SchemaAutomaton {
    pub(super) fn table_at(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<TextTable<'_>> {
        if cursor.is_dead() {
            return None;
        }
        let config = *x.configs.get(cursor.0);
        if is_kept(config.item) {
            return None;
        }
        match config.top {
            Top::String { node, text, .. } if text.partial == Partial::None => {
                string_table(self.node(node).string.as_ref()?, text, horizon)
            }
            Top::Key(key)
                if key.partial == Partial::None && key.is_further() && key.text == UNKNOWN =>
            {
                let usable = self.usable(config.stack, x);
                let node = x.peek(config.stack).frame.node;
                let m = self.node(node).object.as_ref()?;
                let keys = m.keys.as_ref()?;
                if key.state == DEAD {
                    return None;
                }
                let classes = usable.classes;
                let goes_on = move |state: u32, _| {
                    let mut counts = keys.counts.iter().enumerate();
                    counts.any(|(class, counts)| {
                        classes & (1 << class) != 0 && counts[state as usize] != Some(0)
                    })
                };
                Some(keys.dfa.text_table(key.state, Some(Box::new(goes_on))))
            }
            _ => None,
        }
    }

    pub(super) fn behind_text(
        &self,
        cursor: Cursor,
        state: u32,
        chars: usize,
        x: &mut Scratch,
    ) -> Cursor {
        let config = *x.configs.get(cursor.0);
        let top = match config.top {
            Top::String { node, set, text } => {
                let cap = self.node(node).string.as_ref().map_or(0, |m| m.cap);
                let chars = u32::try_from(chars).unwrap_or(u32::MAX);
                // As the count of single characters, which stops at the cap.
                let length = text.length.max(cap.min(text.length.saturating_add(chars)));
                let text = Str {
                    state,
                    length,
                    ..text
                };
                Top::String { node, set, text }
            }
            Top::Key(key) => Top::Key(Key { state, ..key }),
            other => other,
        };
        Cursor(x.configs.add(Config { top, ..config }))
    }
}

/// The table of a string that has to match one automaton, and nothing else.
fn string_table<'m>(
    m: &'m StringMachine,
    text: Str,
    horizon: Horizon<'_>,
) -> Option<TextTable<'m>> {
    let ([leaf], [dfa]) = (&*m.leaves, &*m.dfas) else {
        return None;
    };
    let alone = !leaf.listed && !leaf.excludes && m.words.list.is_empty();
    if leaf.dfa.is_none() || !alone || text.state == DEAD {
        return None;
    }
    let length = u64::from(text.length);
    let bounds = leaf.lengths.as_ref();
    let bounds = bounds.filter(|l| !l.are_far(length, horizon.bytes() as u64));
    let goes_on = bounds.map(|lengths| {
        let live = move |state: u32, chars: usize| lengths.live(state, length + chars as u64);
        Box::new(live) as GoesOn<'m>
    });
    Some(dfa.text_table(text.state, goes_on))
}
