//! What a guide remembers, and how it becomes a configuration and back.

use std::sync::Arc;

use super::SchemaAutomaton;
use super::scratch::{
    Config, EMPTY_LIST, EMPTY_TEXT, Frame, Key, NO_TEXT, Scratch, Seen, Str, Tag, Top, UNKNOWN,
    UNKNOWN_ITEM, is_kept,
};

/// Where a text stands: self-contained, and as large as the text is nested,
/// plus the names used in open objects.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) top: Top,
    /// Lists that `top` refers to, by number from [`FIXED_LISTS`] on.
    lists: Vec<Arc<[u32]>>,
    pub(super) below: Arc<Below>,
    /// The name that is open.
    key: Arc<[u32]>,
    /// The item that is open, where items must differ.
    pub(super) item: Option<Box<Item>>,
    pub(super) accepting: bool,
    /// Where a scratch has it, which spares reading it on there.
    place: Option<(Tag, Config)>,
}

/// The arrays and objects that are open: most tokens leave them as they are.
#[derive(Debug, Default)]
pub(super) struct Below {
    pub(super) frames: Vec<Frame>,
    /// Lists and seen things that `frames` refer to, by number from
    /// [`FIXED_LISTS`] and 1 on.
    lists: Vec<Arc<[u32]>>,
    pub(super) seen: Vec<Seen>,
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
            lists: Vec::new(),
            below: Arc::default(),
            key: Arc::default(),
            item: None,
            accepting: false,
            place: None,
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
            for &c in &*self.key {
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
        self.below.frames.len()
    }
}

impl SchemaAutomaton {
    /// The configuration of a state. In a walk a name that is open counts as
    /// unknown, and so does an item that differs, so that cursors do not depend
    /// on them.
    pub(super) fn load(&self, state: &State, x: &mut Scratch, how: Load) -> Config {
        let known = state.place.filter(|(tag, _)| *tag == x.tag);
        let mut config = match known {
            // An item is read on in several ways.
            Some((_, config)) if state.item.is_none() => config,
            _ => self.read(state, x),
        };
        if let (Top::Key(key), Load::Walk) = (&mut config.top, how) {
            key.text = UNKNOWN;
        }
        x.base_depth = x.depth(config.stack);
        x.least_depth = x.base_depth;
        x.forgets = how == Load::Walk && state.item.is_some();
        let Some(item) = &state.item else {
            return config;
        };
        if x.forgets {
            x.forgotten.clear();
        }
        config.item = match how {
            Load::Apart => UNKNOWN_ITEM,
            Load::Walk if item.differs || self.open_item(state).is_some() => UNKNOWN_ITEM,
            Load::Walk | Load::Text => {
                let bytes = item.text.iter();
                bytes.fold(EMPTY_TEXT, |t, b| x.add_text(t, u32::from(*b)))
            }
        };
        match how == Load::Walk && config.item == UNKNOWN_ITEM {
            true => self.forgotten(config, x).unwrap_or(config),
            false => config,
        }
    }

    /// The configuration of a state, the item that is open aside.
    fn read(&self, state: &State, x: &mut Scratch) -> Config {
        let below = &*state.below;
        let lists: Vec<u32> = below.lists.iter().map(|l| x.add_list(l)).collect();
        let list = |id: u32| match id.checked_sub(FIXED_LISTS) {
            Some(i) => lists[i as usize],
            None => id,
        };
        let mut stack = 0;
        for frame in &below.frames {
            let mut frame = *frame;
            frame.threads = list(frame.threads);
            frame.used = list(frame.used);
            if let Some(i) = frame.seen.checked_sub(1) {
                frame.seen = x.seen.add(below.seen[i as usize].clone());
            }
            stack = x.push(frame, stack);
        }
        let mut top = self.relocated(state.top, &mut |id| match id.checked_sub(FIXED_LISTS) {
            Some(i) => x.add_list(&state.lists[i as usize]),
            None => id,
        });
        if let Top::Key(key) = &mut top {
            key.text = state.key.iter().fold(EMPTY_TEXT, |t, c| x.add_text(t, *c));
        }
        Config {
            top,
            stack,
            item: NO_TEXT,
        }
    }

    /// The state of a configuration that did not begin with a walk: that of a text
    /// which goes on behind `before`.
    pub(super) fn store(&self, config: Config, before: &State, x: &mut Scratch) -> State {
        let same = |place: &(Tag, Config)| place.0 == x.tag && place.1.stack == config.stack;
        let below = match before.place.as_ref().is_some_and(same) {
            true => before.below.clone(),
            false => Arc::new(below(config.stack, x)),
        };
        let mut lists = Numbered::default();
        let mut top = self.relocated(config.top, &mut |id| lists.number(id, x));
        let mut key: Arc<[u32]> = Arc::default();
        if let Top::Key(k) = &mut top {
            key = x.text(k.text, 0).into();
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
            lists: lists.lists,
            below,
            key,
            item,
            accepting,
            place: Some((x.tag, config)),
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

/// Lists by the numbers that a state has for them.
#[derive(Default)]
struct Numbered {
    lists: Vec<Arc<[u32]>>,
    ids: Vec<u32>,
}

impl Numbered {
    /// The number of a list of the scratch.
    fn number(&mut self, id: u32, x: &Scratch) -> u32 {
        if id < FIXED_LISTS {
            return id;
        }
        let at = self.ids.iter().position(|n| *n == id).unwrap_or_else(|| {
            self.ids.push(id);
            self.lists.push(x.list(id));
            self.ids.len() - 1
        });
        at as u32 + FIXED_LISTS
    }
}

/// The open arrays and objects of a stack.
fn below(stack: u32, x: &Scratch) -> Below {
    let mut lists = Numbered::default();
    let mut frames: Vec<Frame> = Vec::with_capacity(x.depth(stack) as usize);
    let mut seen: Vec<Seen> = Vec::new();
    let mut at = stack;
    while at != 0 {
        let node = x.stacks.get(at);
        let mut frame = node.frame;
        frame.threads = lists.number(frame.threads, x);
        frame.used = lists.number(frame.used, x);
        if frame.seen != 0 {
            seen.push(x.seen.get(frame.seen).clone());
            frame.seen = seen.len() as u32;
        }
        frames.push(frame);
        at = node.below;
    }
    frames.reverse();
    Below {
        frames,
        lists: lists.lists,
        seen,
    }
}
