//! The memory of a guide, and how it becomes a configuration and back.
//!
//! For example, behind `{"a": [1` it has the open number and two levels, and no text before.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::automaton::machine::Machine;
use crate::automaton::run::config::{
    Config, EMPTY_LIST, EMPTY_TEXT, FIXED_LISTS, Key, NAMED, NO_TEXT, Str, Top, UNKNOWN,
    UNKNOWN_ITEM, is_kept,
};
use crate::automaton::run::levels::Levels;
use crate::automaton::run::scratch::{Scratch, ScratchId};
use crate::automaton::run::sorted::TextSet;
use crate::automaton::run::string_bytes::Partial;
use crate::automaton::run::{forgotten, number_bytes, unique_items};

/// The state of a text: self-contained, as large as its nesting and the names of open objects.
///
/// Small, because a guide keeps one for each token: parts that most texts have at few of their
/// places, or at none, are kept apart.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) top: Top,
    pub(super) below: Levels,
    more: Option<Arc<More>>,
    /// The scratch that has it as it is, which spares reading it on there, and the
    /// stack there.
    tag: ScratchId,
    stack: u32,
    pub(super) accepting: bool,
}

/// The parts of a state that few states have.
#[derive(Clone, Debug)]
struct More {
    /// Lists that the top refers to, by number from [`FIXED_LISTS`] on.
    lists: Vec<Arc<[u32]>>,
    /// The name that is open, if it is not the beginning of a declared one.
    key: Vec<u32>,
    /// The item that is open, where items must differ.
    item: Option<Item>,
    /// The top by the numbers of the scratch that the state was made in.
    there: Top,
}

impl More {
    /// Nothing but the top.
    fn new(there: Top) -> More {
        More {
            lists: Vec::new(),
            key: Vec::new(),
            item: None,
            there,
        }
    }
}

/// The outermost item that is open and must differ from others.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// From its first byte on.
    pub(super) text: Vec<u8>,
    /// True if no open item can become equal to one before it any more.
    pub(super) differs: bool,
}

/// The way in which a state is to be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// As a text that goes on.
    Text,
    /// As a text that goes on, whatever the text of its item is.
    Apart,
    /// As where a walk begins: what is said of many states is said once.
    Walk,
}

impl State {
    /// A state without anything to refer to.
    pub(super) fn of(config: Config) -> State {
        State {
            top: config.top,
            below: Levels::default(),
            more: None,
            tag: ScratchId::NONE,
            stack: 0,
            accepting: false,
        }
    }

    /// Tells whether the text ends inside the name of a member.
    pub(super) fn is_in_name(&self) -> bool {
        matches!(self.top, Top::Key(_))
    }

    /// Tells whether a scratch has the state as it is.
    pub(super) fn is_in(&self, x: &Scratch) -> bool {
        self.tag == x.tag()
    }

    /// The item that is open, where items must differ.
    pub(super) fn item(&self) -> Option<&Item> {
        self.more.as_ref()?.item.as_ref()
    }

    /// Returns the number of open arrays and objects.
    pub fn depth(&self) -> usize {
        self.below.depth() as usize
    }
}

/// True if one scratch has both as they are: a quick look, which says "no" of what it would have to
/// compare at length.
impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        let is_plain = self.tag != ScratchId::NONE && self.more.is_none() && other.more.is_none();
        is_plain && (self.tag, self.stack, self.top) == (other.tag, other.stack, other.top)
    }
}

/// Hashes the parts that one scratch has: states that are equal have the same.
impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.tag, self.stack, self.top).hash(hasher);
    }
}

/// The configuration of a state. In a walk a name that is open counts as
/// unknown, and so does an item that differs, so that cursors do not depend
/// on them.
pub(super) fn load(machine: &Machine, state: &State, x: &mut Scratch, how: Load) -> Config {
    let mut config = match (state.is_in(x), &state.more) {
        (true, None) => Config {
            top: state.top,
            stack: state.stack,
            item: NO_TEXT,
        },
        // An item is read on in several ways.
        (true, Some(more)) if more.item.is_none() => Config {
            top: more.there,
            stack: state.stack,
            item: NO_TEXT,
        },
        _ => read(machine, state, x),
    };
    if let (Top::Key(key), Load::Walk) = (&mut config.top, how) {
        key.text = UNKNOWN;
    }
    x.begin_at(config.stack);
    let Some(item) = state.item() else {
        return config;
    };
    if how == Load::Walk {
        x.forget_items();
    }
    config.item = match how {
        Load::Apart => UNKNOWN_ITEM,
        Load::Walk if item.differs || open_item(machine, state).is_some() => UNKNOWN_ITEM,
        Load::Walk | Load::Text => {
            let bytes = item.text.iter();
            bytes.fold(EMPTY_TEXT, |t, b| x.texts_mut().add(t, u32::from(*b)))
        }
    };
    match how == Load::Walk && config.item == UNKNOWN_ITEM {
        true => forgotten::forgotten(machine, config, x).unwrap_or(config),
        false => config,
    }
}

/// The configuration of a state, the item that is open aside.
fn read(machine: &Machine, state: &State, x: &mut Scratch) -> Config {
    let stack = state.below.stack(x);
    let nothing = More::new(Top::End);
    let more = state.more.as_deref().unwrap_or(&nothing);
    let mut top = relocated(
        machine,
        state.top,
        &mut |id| match id.checked_sub(FIXED_LISTS) {
            Some(i) => x.add_list(&more.lists[i as usize]),
            None => id,
        },
    );
    if let Top::Key(key) = &mut top
        && key.text != NAMED
    {
        key.text = more
            .key
            .iter()
            .fold(EMPTY_TEXT, |t, c| x.texts_mut().add(t, *c));
    }
    Config {
        top,
        stack,
        item: NO_TEXT,
    }
}

/// Makes a state that of a configuration which a text leads to from `from`, as that
/// state was loaded.
pub(super) fn store(
    machine: &Machine,
    config: Config,
    from: &Config,
    state: &mut State,
    x: &mut Scratch,
) {
    if config.stack != from.stack {
        state.below = state.below.of_stack(from.stack, config.stack, x);
    }
    state.tag = x.tag();
    state.stack = config.stack;
    state.accepting = ends_at(machine, config, x);
    match is_kept(config.item) || !is_same_everywhere(&config.top) {
        true => store_more(machine, config, state, x),
        false => {
            state.top = config.top;
            state.more = None;
        }
    }
}

/// Gives a state what its top refers to.
#[inline(never)]
fn store_more(machine: &Machine, config: Config, state: &mut State, x: &mut Scratch) {
    let mut lists = Numbered::default();
    let mut top = relocated(machine, config.top, &mut |id| lists.number(id, x));
    let mut key = Vec::new();
    if let Top::Key(k) = &mut top
        && k.text != NAMED
    {
        key = x.texts().values(k.text, 0);
        k.text = EMPTY_TEXT;
    }
    let item = is_kept(config.item).then(|| Item {
        text: x.texts().bytes(config.item, 0),
        differs: unique_items::is_different(machine, &config, x),
    });
    state.top = top;
    state.more = match lists.lists.is_empty() && key.is_empty() && item.is_none() {
        true => None,
        false => Some(Arc::new(More {
            lists: lists.lists,
            key,
            item,
            there: config.top,
        })),
    };
}

/// As [`store`], where the text of the item is not in the scratch.
pub(super) fn store_apart(
    machine: &Machine,
    config: Config,
    from: &Config,
    item: Item,
    state: &mut State,
    x: &mut Scratch,
) {
    store(machine, config, from, state, x);
    let mut more = match state.more.take() {
        Some(known) => Arc::unwrap_or_clone(known),
        None => More::new(config.top),
    };
    more.item = Some(item);
    state.more = Some(Arc::new(more));
}

/// Tells whether the name that is open, ended by the token's first quotation mark, may stand in the
/// token once more.
pub(super) fn may_come_again(machine: &Machine, state: &State, token: &[u8]) -> bool {
    if token.contains(&b'\\') {
        return true;
    }
    let Some(end) = token.iter().position(|&byte| byte == b'"') else {
        return false;
    };
    let ended = &token[..=end];
    let mut quotes = (end..token.len()).filter(|&at| token[at] == b'"');
    quotes.any(|quote| {
        let rest = behind_name(machine, state, &token[quote + 1..]);
        rest.is_some_and(|rest| rest.starts_with(ended))
    })
}

/// Returns the text behind the open name, as far as the name was read, if a text begins with that.
fn behind_name<'t>(machine: &Machine, state: &State, text: &'t [u8]) -> Option<&'t [u8]> {
    match (state.top, state.below.iter().next()) {
        (Top::Key(key), Some(level)) if key.text == NAMED => {
            let m = machine.object(level.frame.node)?;
            text.strip_prefix(key.names.begun(&m.names).as_bytes())
        }
        _ => {
            let key = state.more.iter().flat_map(|more| &more.key);
            let mut chars = key.filter_map(|c| char::from_u32(*c));
            chars.try_fold(text, |rest, c| {
                rest.strip_prefix(c.encode_utf8(&mut [0; 4]).as_bytes())
            })
        }
    }
}

/// Tells whether the text may end at a configuration.
pub(super) fn ends_at(machine: &Machine, config: Config, x: &mut Scratch) -> bool {
    config.stack == 0
        && match config.top {
            Top::End => true,
            Top::Number { node, set, state } => {
                number_bytes::number_goals(machine, node, set, state, x) != EMPTY_LIST
            }
            _ => false,
        }
}

fn relocated(machine: &Machine, top: Top, list: &mut dyn FnMut(u32) -> u32) -> Top {
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
            let several = machine.number(node).is_some_and(|m| m.dfas.len() > 1);
            Top::Number {
                node,
                set: list(set),
                state: if several { list(state) } else { state },
            }
        }
        Top::String { node, set, text } => {
            let several = machine.string(node).is_some_and(|m| m.dfas.len() > 1);
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

/// Tells whether all that a top refers to has the same number in every scratch, as far as that is
/// plain: what may be a list or the state of an automaton counts as a list.
fn is_same_everywhere(top: &Top) -> bool {
    match *top {
        Top::Value { set, .. } | Top::Unit { set, .. } => set < FIXED_LISTS,
        Top::Number { set, state, .. } => set.max(state) < FIXED_LISTS,
        Top::String { set, text, .. } => set.max(text.state) < FIXED_LISTS,
        Top::Key(key) => key.text == NAMED || key.text == EMPTY_TEXT,
        Top::Gap(..) | Top::End => true,
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

/// The string without escapes, as far as it was read, that is an item of an
/// array whose items must differ, if any string may come there; and the
/// items before it.
pub(super) fn open_item<'s>(
    machine: &Machine,
    state: &'s State,
) -> Option<(&'s [u8], Option<&'s TextSet>)> {
    let item = state.item()?;
    let Top::String { node, text, .. } = state.top else {
        return None;
    };
    let mut levels = state.below.iter();
    let last = levels.next()?;
    let m = last.frame.unique_array(machine)?;
    let alone = !levels.any(|level| level.frame.is_unique(machine));
    let items = last.seen().map_or(0, TextSet::len);
    let differ = m.catalog.only_compares(items) && m.threads.iter().all(|t| t.unique);
    let free = machine.string(node)?.is_free();
    if !alone || !differ || !free || text.partial != Partial::None {
        return None;
    }
    let begun = item.text.get(last.frame.start as usize..)?;
    let begun = begun.trim_ascii_start().strip_prefix(b"\"")?;
    (!begun.contains(&b'\\')).then_some((begun, last.seen()))
}
