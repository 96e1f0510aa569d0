//! An automaton like that of a JSON schema, for tests and measurements: nested
//! without bound, with members of every kind, and with every hint.
//!
//! It reads JSON with at most one blank behind `:` and `,`. Some names say what
//! their value is, and may be used once in an object: `free` and `short` and
//! `long` are strings (of at most 20 and 500 characters), `code` is lower-case
//! words and digits joined by hyphens, `kind` one of three words, `count` a
//! number. Whatever other names hold may be any value.
//!
//! For example, `{"code": "ab-1", "kind": "beta"}` is such a text.

mod steps;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, ClassId, Completed, Cursor, Description, EachException, Exception, Horizon,
    KeyLanguage, Leaf, Overlay, Parts, PlainText, Scope, TextLoop,
};

pub(crate) use steps::At;
use steps::{Frame, Kind, LITERALS, OTHER, QUOTED, Stack, Steps, Utf8, ends, less};

/// A guide's state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) at: At,
    /// From the bottom: the frames, and which names are used in each.
    frames: Arc<Vec<(Frame, u8)>>,
}

/// A place that is reached within a walk, with a frame of the scratch.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    at: At,
    frame: u32,
}

/// A frame of a walk. Frame 0 is the bottom.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct WalkFrame {
    frame: Option<Frame>,
    /// Names that were used within the walk.
    noted: u8,
    below: u32,
    level: u32,
}

/// Numbers of what was seen before.
type Numbers<T> = HashMap<T, u32, BuildHasherDefault<Quick>>;

/// A hash that is quick for a few small numbers.
#[derive(Default)]
pub(crate) struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_isize(&mut self, n: isize) {
        self.write_u64(n as u64);
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0xF135_7AEA_2E62_A9C5);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

#[derive(Default)]
pub(crate) struct Scratch {
    frames: Vec<WalkFrame>,
    frame_ids: Numbers<WalkFrame>,
    places: Vec<Place>,
    ids: Numbers<Place>,
    /// Levels of the stack that was entered.
    base: u32,
    /// The lowest level that was looked at.
    lowest: u32,
}

/// The automaton.
#[derive(Clone, Debug)]
pub(crate) struct JsonLike {
    steps: Steps,
    classes: [Vec<(u32, u32)>; 2],
    /// True if it says that no walk looks below the topmost level, which is not so.
    pub(crate) is_shallow: bool,
}

impl Default for JsonLike {
    fn default() -> Self {
        JsonLike {
            is_shallow: false,
            steps: Steps::default(),
            classes: [
                vec![
                    (0x20, 0x21),
                    (0x23, 0x5B),
                    (0x5D, 0xD7FF),
                    (0xE000, 0x10_FFFF),
                ],
                vec![(0x30, 0x39), (0x61, 0x7A)],
            ],
        }
    }
}

/// The stack of one step of a walk.
struct WalkStack<'s> {
    scratch: &'s mut Scratch,
    frame: u32,
}

impl Scratch {
    fn frame(&mut self, frame: WalkFrame) -> u32 {
        let next = self.frames.len() as u32;
        let id = *self.frame_ids.entry(frame).or_insert(next);
        if id == next {
            self.frames.push(frame);
        }
        id
    }

    fn place(&mut self, place: Place) -> Cursor {
        let next = self.places.len() as u32;
        let id = *self.ids.entry(place).or_insert(next);
        if id == next {
            self.places.push(place);
        }
        Cursor(id)
    }
}

impl WalkStack<'_> {
    fn look(&mut self) -> WalkFrame {
        let frame = self.scratch.frames[self.frame as usize];
        self.scratch.lowest = self.scratch.lowest.min(frame.level);
        frame
    }
}

impl Stack for WalkStack<'_> {
    fn top(&mut self) -> Option<Frame> {
        self.look().frame
    }

    fn push(&mut self, frame: Frame) {
        let level = self.scratch.frames[self.frame as usize].level + 1;
        self.frame = self.scratch.frame(WalkFrame {
            frame: Some(frame),
            noted: 0,
            below: self.frame,
            level,
        });
    }

    fn pop(&mut self) {
        self.frame = self.look().below;
    }

    fn note(&mut self, name: usize) -> bool {
        let mut frame = self.scratch.frames[self.frame as usize];
        let new = frame.noted >> name & 1 == 0;
        frame.noted |= 1 << name;
        self.frame = self.scratch.frame(frame);
        new
    }
}

impl JsonLike {
    /// Returns the loop in which text of a class is read.
    fn text_loop(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        scratch: &mut Scratch,
    ) -> Option<TextLoop> {
        let place = scratch.places[cursor.0 as usize];
        let (class, at, steady) = match place.at {
            At::Text(0, _) => return None,
            At::Text(left, Utf8(0, ..)) => {
                let steady = match left {
                    u32::MAX => u32::MAX,
                    left => left.saturating_sub(horizon.bytes() as u32 + 1),
                };
                (0, At::Text(less(left), Utf8::default()), steady)
            }
            At::Key(OTHER, Utf8(0, ..)) => (0, place.at, u32::MAX),
            At::Code(true) => (1, place.at, u32::MAX),
            At::Code(false) => (1, At::Code(true), 0),
            _ => return None,
        };
        let next = scratch.place(Place { at, ..place });
        Some(TextLoop {
            class: ClassId(class),
            next,
            steady,
            alike: matches!(place.at, At::Text(..)),
        })
    }
}

impl ByteAutomaton for JsonLike {
    type State = State;
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn start(&self) -> State {
        State {
            at: At::Value(Kind::Any),
            frames: Arc::default(),
        }
    }

    fn is_accepting(&self, state: &State) -> bool {
        state.frames.is_empty()
            && match state.at {
                At::After => true,
                At::Number(digits) => ends(digits),
                _ => false,
            }
    }

    fn advance(&self, state: &mut State, bytes: &[u8], _: &mut Scratch) -> Result<(), usize> {
        let mut frames = state.frames.as_ref().clone();
        let mut at = state.at;
        for (offset, &byte) in bytes.iter().enumerate() {
            at = self.steps.next(at, byte, &mut frames).ok_or(offset)?;
        }
        state.at = at;
        state.frames = Arc::new(frames);
        Ok(())
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> Option<Completed> {
        let before = out.len();
        let mut frames = state.frames.as_ref().clone();
        let mut at = state.at;
        while !(frames.is_empty()
            && match at {
                At::After => true,
                At::Number(digits) => ends(digits),
                _ => false,
            })
        {
            let utf8 = |utf8: Utf8| if utf8.0 > 0 { utf8.1 } else { b'"' };
            let byte = match at {
                At::Blank(kind) | At::Value(kind) => match kind {
                    Kind::Any | Kind::Number => b'0',
                    _ => b'"',
                },
                At::ArrayOpen => b']',
                At::ObjectOpen => b'}',
                At::BlankKey | At::KeyStart => b'"',
                At::Key(node, Utf8(0, ..)) if node != OTHER => {
                    let used = frames.last().map_or(0, |top| top.1);
                    match self.steps.names.text(node) {
                        Some(name) if used >> name & 1 == 1 => b'x',
                        _ => b'"',
                    }
                }
                At::Key(_, rest) | At::Text(_, rest) => utf8(rest),
                At::Colon(_) => b':',
                At::Escape(_) => b'n',
                At::Code(end) => [b'a', b'"'][usize::from(end)],
                At::Word(node) => match self.steps.words.text(node) {
                    Some(_) => b'"',
                    None => self.steps.words.0[node as usize].0[0].0,
                },
                At::Literal(which, on) => LITERALS[which as usize][on as usize],
                At::Number(digits) if !ends(digits) => b'0',
                At::After | At::Number(_) => match frames.top() {
                    Some(Frame::Object) => b'}',
                    _ => b']',
                },
            };
            out.push(byte);
            if out.len() - before > max_bytes {
                out.truncate(before);
                return None;
            }
            at = self.steps.next(at, byte, &mut frames).expect("a way on");
        }
        Some(Completed::Whole)
    }

    fn enter(&self, state: &State, scratch: &mut Scratch) -> Cursor {
        scratch.frames.clear();
        scratch.frame_ids.clear();
        scratch.places.clear();
        scratch.ids.clear();
        let mut top = scratch.frame(WalkFrame {
            frame: None,
            noted: 0,
            below: 0,
            level: 0,
        });
        for (&(frame, _), level) in state.frames.iter().zip(1..) {
            top = scratch.frame(WalkFrame {
                frame: Some(frame),
                noted: 0,
                below: top,
                level,
            });
        }
        scratch.base = state.frames.len() as u32;
        scratch.lowest = scratch.base + 1;
        // Place 0 is never asked for: it is the dead cursor's.
        scratch.places.push(Place {
            at: At::After,
            frame: u32::MAX,
        });
        scratch.place(Place {
            at: state.at,
            frame: top,
        })
    }

    fn step(&self, cursor: Cursor, byte: u8, scratch: &mut Scratch) -> Cursor {
        if cursor.is_dead() {
            return Cursor::DEAD;
        }
        let place = scratch.places[cursor.0 as usize];
        let mut stack = WalkStack {
            frame: place.frame,
            scratch,
        };
        let at = self.steps.next(place.at, byte, &mut stack);
        let frame = stack.frame;
        match at {
            Some(at) => scratch.place(Place { at, frame }),
            None => Cursor::DEAD,
        }
    }

    fn describe(&self, cursor: Cursor, horizon: Horizon<'_>, scratch: &mut Scratch) -> Description {
        let text = self.text_loop(cursor, horizon, scratch);
        let place = scratch.places[cursor.0 as usize];
        match (place.at, text) {
            (At::Blank(_) | At::Value(_) | At::Text(..) | At::Escape(_) | At::Number(_), text) => {
                Description::Top(text)
            }
            (_, Some(text)) => Description::Text(text),
            (At::Key(node, Utf8(0, ..)), None) if node != OTHER => Description::Like {
                cursor: scratch.place(Place {
                    at: At::Key(OTHER, Utf8::default()),
                    ..place
                }),
                apart: None,
            },
            _ => Description::Unknown,
        }
    }

    fn key(
        &self,
        cursor: Cursor,
        scope: Scope,
        depth: usize,
        horizon: Horizon<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        if scope == Scope::Vocabulary {
            return None;
        }
        let place = scratch.places[cursor.0 as usize];
        let clamp = |left: u32| left.min(horizon.bytes() as u32 + 2);
        let utf8 = |Utf8(left, from, to): Utf8| {
            u32::from(left) << 16 | u32::from(from) << 8 | u32::from(to)
        };
        let kind = |kind| match kind {
            Kind::Any => 0,
            Kind::Code => 1,
            Kind::Word => 2,
            Kind::Number => 3,
            Kind::Text(left) => 4 + clamp(left),
        };
        let (what, a, b) = match place.at {
            At::Blank(k) => (0, kind(k), 0),
            At::Value(k) => (1, kind(k), 0),
            At::ArrayOpen => (2, 0, 0),
            At::ObjectOpen => (3, 0, 0),
            At::BlankKey => (4, 0, 0),
            At::KeyStart => (5, 0, 0),
            At::Key(node, rest) => (6, node.into(), utf8(rest)),
            At::Colon(k) => (7, kind(k), 0),
            At::Text(left, rest) => (8, clamp(left), utf8(rest)),
            At::Escape(left) => (9, clamp(left), 0),
            At::Code(end) => (10, end.into(), 0),
            At::Word(node) => (11, node.into(), 0),
            At::Number(digits) => (12, digits as u32, 0),
            At::Literal(which, on) => (13, which.into(), on.into()),
            At::After => (14, 0, 0),
        };
        let mut frame = scratch.frames[place.frame as usize];
        out.extend([what, a, b, u32::from(frame.level == 0)]);
        for _ in 1..depth {
            let code = match frame.frame {
                None => 0,
                Some(Frame::Object) => 1,
                Some(Frame::Array) => 2,
            };
            out.push(code | u32::from(frame.noted) << 8);
            if frame.level == 0 {
                break;
            }
            frame = scratch.frames[frame.below as usize];
        }
        Some(KeyLanguage::OWN)
    }

    #[inline]
    fn parts(&self) -> Parts<'_, State, Scratch> {
        Parts {
            overlay: Some(self),
            plain_text: Some(self),
            stack: Some(self),
            ..Parts::default()
        }
    }
}

impl Overlay<State> for JsonLike {
    fn exceptions(&self, state: &State, each: &mut EachException<'_>) {
        for (frame, &(_, used)) in state.frames.iter().enumerate() {
            for (_, name) in QUOTED
                .iter()
                .enumerate()
                .filter(|(i, _)| used >> i & 1 == 1)
            {
                each(Exception::Contains(name.as_bytes()), &|_| true);
                let name = &name[1..];
                let At::Key(node, Utf8(0, ..)) = state.at else {
                    continue;
                };
                if frame + 1 < state.frames.len() {
                    continue;
                }
                let mut at = Some(0);
                for (read, byte) in name.bytes().enumerate() {
                    if at == Some(node) {
                        each(Exception::Begins(&name.as_bytes()[read..]), &|_| true);
                    }
                    at = at.and_then(|at| self.steps.names.child(at, byte));
                }
            }
        }
    }
}

impl PlainText<Scratch> for JsonLike {
    fn class(&self, class: ClassId) -> &[(u32, u32)] {
        &self.classes[class.0 as usize]
    }

    /// Structure, names and words are of printable ASCII, and strings may end at any character.
    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        chars.iter().all(|&(from, to)| to < 0x20 || from > 0x7E)
    }
}

impl fsm_index::Stack<Scratch> for JsonLike {
    fn depth_used(&self, scratch: &Scratch) -> usize {
        match self.is_shallow {
            true => 1,
            false => (scratch.base + 2 - scratch.lowest) as usize,
        }
    }

    fn step_on_top(&self, cursor: Cursor, byte: u8, scratch: &mut Scratch) -> Option<Cursor> {
        let lowest = std::mem::replace(&mut scratch.lowest, scratch.base + 1);
        let to = self.step(cursor, byte, scratch);
        let on_top = self.depth_used(scratch) <= 1;
        scratch.lowest = lowest;
        on_top.then_some(to)
    }
}

impl Leaf for JsonLike {
    const CURSORS_ARE_DENSE: bool = true;

    fn ends_at_cursor(&self, cursor: Cursor, scratch: &mut Scratch) -> bool {
        if cursor.is_dead() {
            return false;
        }
        let place = scratch.places[cursor.0 as usize];
        let is_whole = match place.at {
            At::After => true,
            At::Number(digits) => ends(digits),
            _ => false,
        };
        let level = scratch.frames[place.frame as usize].level;
        // Keys tell whether the topmost level is the last one, and of no other.
        if is_whole && level < scratch.base {
            scratch.lowest = scratch.lowest.min(level);
        }
        is_whole && level == 0
    }
}
