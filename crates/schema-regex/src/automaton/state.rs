//! What a guide remembers, and how it becomes a configuration and back.

use std::sync::Arc;

use super::SchemaAutomaton;
use super::scratch::{
    Config, EMPTY_LIST, EMPTY_TEXT, Frame, Key, NO_TEXT, Scratch, Seen, Str, Top, UNKNOWN,
    UNKNOWN_ITEM, is_kept,
};

/// Where a text stands: self-contained, and as large as the text is nested,
/// plus the names used in open objects.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) top: Top,
    pub(super) frames: Vec<Frame>,
    /// Lists and seen things that `top` and `frames` refer to, by number from
    /// [`FIXED_LISTS`] and 1 on.
    lists: Vec<Arc<[u32]>>,
    pub(super) seen: Vec<Seen>,
    /// The name that is open.
    key: Vec<u32>,
    /// The item that is open, where items must differ.
    pub(super) item: Option<Box<Item>>,
    pub(super) accepting: bool,
}

/// The outermost item that is open and must differ from others.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// From its first byte on.
    pub(super) text: Vec<u8>,
    /// Whether no open item can become equal to one before it any more.
    pub(super) differs: bool,
}

/// How a state is to be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// As a text that goes on.
    Text,
    /// As a text that goes on, whatever the text of its item is.
    Apart,
    /// As where a walk begins: what is said of many states is said once.
    Walk,
}

/// Lists that have the same number everywhere.
const FIXED_LISTS: u32 = 3;

impl State {
    /// A state without anything to refer to.
    pub(super) fn of(config: Config) -> State {
        State {
            top: config.top,
            frames: Vec::new(),
            lists: Vec::new(),
            seen: Vec::new(),
            key: Vec::new(),
            item: None,
            accepting: false,
        }
    }

    /// Whether the text ends inside the name of a member.
    pub(super) fn is_in_name(&self) -> bool {
        matches!(self.top, Top::Key(_))
    }

    /// Whether the name that is open, ended by the token's first quotation mark,
    /// may stand in the token once more.
    pub(super) fn may_come_again(&self, token: &[u8]) -> bool {
        if token.contains(&b'\\') {
            return true;
        }
        let Some(end) = token.iter().position(|&byte| byte == b'"') else {
            return false;
        };
        let ended = &token[..=end];
        let quotes = (end..token.len()).filter(|&at| token[at] == b'"');
        quotes.into_iter().any(|quote| {
            let mut rest = &token[quote + 1..];
            for &c in &self.key {
                let Some(c) = char::from_u32(c) else {
                    return true;
                };
                match rest.strip_prefix(c.encode_utf8(&mut [0; 4]).as_bytes()) {
                    Some(behind) => rest = behind,
                    None => return false,
                }
            }
            rest.starts_with(ended)
        })
    }

    /// How many arrays and objects are open.
    pub fn depth(&self) -> usize {
        self.frames.len()
    }
}

impl SchemaAutomaton {
    /// The configuration of a state. In a walk a name that is open counts as
    /// unknown, and so does an item that differs, so that cursors do not depend
    /// on them.
    pub(super) fn load(&self, state: &State, x: &mut Scratch, how: Load) -> Config {
        let lists: Vec<u32> = state.lists.iter().map(|l| x.add_list(l)).collect();
        let list = |id: u32| match id.checked_sub(FIXED_LISTS) {
            Some(i) => lists[i as usize],
            None => id,
        };
        let mut stack = 0;
        for frame in &state.frames {
            let mut frame = *frame;
            frame.threads = list(frame.threads);
            frame.used = list(frame.used);
            if let Some(i) = frame.seen.checked_sub(1) {
                frame.seen = x.seen.add(state.seen[i as usize].clone());
            }
            stack = x.push(frame, stack);
        }
        let mut top = self.relocated(state.top, &mut |id| list(id));
        if let Top::Key(key) = &mut top {
            if how == Load::Walk {
                key.text = UNKNOWN;
            } else {
                key.text = state.key.iter().fold(EMPTY_TEXT, |t, c| x.add_text(t, *c));
            }
        }
        x.base_depth = x.depth(stack);
        x.least_depth = x.base_depth;
        x.forgets = how == Load::Walk && state.item.is_some();
        if x.forgets {
            x.forgotten.clear();
        }
        let item = match &state.item {
            None => NO_TEXT,
            Some(item) => match how {
                Load::Apart => UNKNOWN_ITEM,
                Load::Walk if item.differs || self.open_item(state).is_some() => UNKNOWN_ITEM,
                _ => {
                    let bytes = item.text.iter();
                    bytes.fold(EMPTY_TEXT, |t, b| x.add_text(t, u32::from(*b)))
                }
            },
        };
        let config = Config { top, stack, item };
        match how == Load::Walk && item == UNKNOWN_ITEM {
            true => self.forgotten(config, x).unwrap_or(config),
            false => config,
        }
    }

    /// The state of a configuration that did not begin with a walk.
    pub(super) fn store(&self, config: Config, x: &mut Scratch) -> State {
        let mut lists: Vec<Arc<[u32]>> = Vec::new();
        let mut numbers: Vec<u32> = Vec::new();
        let mut list = |id: u32| {
            if id < FIXED_LISTS {
                return id;
            }
            let at = numbers.iter().position(|n| *n == id).unwrap_or_else(|| {
                numbers.push(id);
                lists.push(x.list(id));
                numbers.len() - 1
            });
            at as u32 + FIXED_LISTS
        };
        let mut frames: Vec<Frame> = Vec::new();
        let mut seen: Vec<Seen> = Vec::new();
        let mut at = config.stack;
        while at != 0 {
            let node = x.stacks.get(at);
            let mut frame = node.frame;
            frame.threads = list(frame.threads);
            frame.used = list(frame.used);
            if frame.seen != 0 {
                seen.push(x.seen.get(frame.seen).clone());
                frame.seen = seen.len() as u32;
            }
            frames.push(frame);
            at = node.below;
        }
        frames.reverse();
        let mut top = self.relocated(config.top, &mut list);
        let mut key = Vec::new();
        if let Top::Key(k) = &mut top {
            key = x.text(k.text, 0);
            k.text = EMPTY_TEXT;
        }
        let item = is_kept(config.item).then(|| {
            Box::new(Item {
                text: x.bytes(config.item, 0),
                differs: self.is_different(&config, x),
            })
        });
        let accepting = self.ends_at(config, x);
        State {
            top,
            frames,
            lists,
            seen,
            key,
            item,
            accepting,
        }
    }

    /// Whether the text may end at a configuration.
    pub(super) fn ends_at(&self, config: Config, x: &mut Scratch) -> bool {
        config.stack == 0
            && match config.top {
                Top::End => true,
                Top::Number { node, set, state } => {
                    self.number_goals(node, set, state, x) != EMPTY_LIST
                }
                _ => false,
            }
    }

    fn relocated(&self, top: Top, list: &mut dyn FnMut(u32) -> u32) -> Top {
        match top {
            Top::Value { node, set, space } => Top::Value {
                node,
                set: list(set),
                space,
            },
            Top::Unit { word, at, set } => Top::Unit {
                word,
                at,
                set: list(set),
            },
            Top::Number { node, set, state } => {
                let several = self
                    .node(node)
                    .number
                    .as_ref()
                    .is_some_and(|m| m.dfas.len() > 1);
                Top::Number {
                    node,
                    set: list(set),
                    state: if several { list(state) } else { state },
                }
            }
            Top::String { node, set, text } => {
                let several = self
                    .node(node)
                    .string
                    .as_ref()
                    .is_some_and(|m| m.dfas.len() > 1);
                Top::String {
                    node,
                    set: list(set),
                    text: Str {
                        state: if several {
                            list(text.state)
                        } else {
                            text.state
                        },
                        ..text
                    },
                }
            }
            Top::Key(key) => Top::Key(Key { ..key }),
            other => other,
        }
    }
}
