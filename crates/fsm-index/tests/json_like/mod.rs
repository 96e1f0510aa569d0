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

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, ClassId, Cursor, Description, Exception, Horizon, KeyLanguage, Leaf, Lexicon,
    Overlay, Parts, PlainText, Scope, TextLoop,
};

/// The names that say what their value is: few, because each has a way of its own to be described.
const NAMES: [&str; 6] = ["free", "short", "long", "code", "kind", "count"];
/// The same in quotes, because tokens may have them whole.
const QUOTED: [&str; 6] = [
    "\"free\"",
    "\"short\"",
    "\"long\"",
    "\"code\"",
    "\"kind\"",
    "\"count\"",
];
/// The values of `kind`. Two begin alike, so that a listed text can be the beginning of another.
const WORDS: [&str; 3] = ["alpha", "alphabet", "beta"];

/// A key that is none of the names: the largest number, because nodes of the names are few.
const OTHER: u16 = u16::MAX;

/// The part of the text that is read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum At {
    /// A value begins; a blank may come before it.
    Blank(Kind),
    /// A value begins.
    Value(Kind),
    /// Behind `[`.
    ArrayOpen,
    /// Behind `{`.
    ObjectOpen,
    /// Behind a comma in an object; a blank may come.
    BlankKey,
    /// A key begins.
    KeyStart,
    /// In a key, at a node of the trie of names.
    Key(u16, Utf8),
    /// Behind a key.
    Colon(Kind),
    /// In a string, with so many characters left.
    Text(u32, Utf8),
    /// Behind a backslash in a string.
    Escape(u32),
    /// In a code: whether a hyphen or the end may come.
    Code(bool),
    /// In a word, at a node of their trie.
    Word(u16),
    /// In a number.
    Number(Digits),
    /// In `true`, `false` or `null`, so many bytes on.
    Literal(u8, u8),
    /// Behind a value.
    After,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Any,
    /// A string of at most so many characters.
    Text(u32),
    Code,
    Word,
    Number,
}

/// The rest of a character: how many bytes, and the range of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Utf8(u8, u8, u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Digits {
    Minus,
    Zero,
    Whole,
    Dot,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// The literals, as JSON has them.
const LITERALS: [&[u8]; 3] = [b"true", b"false", b"null"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Frame {
    Object,
    Array,
}

/// The stack that the machine reads and writes besides its place.
trait Stack {
    fn top(&mut self) -> Option<Frame>;
    fn push(&mut self, frame: Frame);
    fn pop(&mut self);
    /// Notes a name of the top object; `false` if it is known to be used.
    fn note(&mut self, name: usize) -> bool;
}

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
    names: Trie,
    words: Trie,
    classes: [Vec<(u32, u32)>; 2],
    /// True if it says that no walk looks below the topmost level, which is not so.
    pub(crate) is_shallow: bool,
}

/// A trie by the numbers of its nodes.
#[derive(Clone, Debug)]
struct Trie(Vec<Node>);

/// Children, and which text ends here.
type Node = (Vec<(u8, u16)>, Option<usize>);

impl Trie {
    fn new(texts: &[&str]) -> Trie {
        let mut nodes = vec![(Vec::new(), None)];
        for (i, text) in texts.iter().enumerate() {
            let mut at = 0;
            for &byte in text.as_bytes() {
                let children: &Vec<(u8, u16)> = &nodes[at].0;
                at = match children.iter().find(|c| c.0 == byte) {
                    Some(child) => child.1 as usize,
                    None => {
                        let new = nodes.len();
                        nodes[at].0.push((byte, new as u16));
                        nodes.push((Vec::new(), None));
                        new
                    }
                };
            }
            nodes[at].1 = Some(i);
        }
        Trie(nodes)
    }

    fn child(&self, node: u16, byte: u8) -> Option<u16> {
        let mut children = self.0[node as usize].0.iter();
        children.find(|c| c.0 == byte).map(|c| c.1)
    }

    fn text(&self, node: u16) -> Option<usize> {
        self.0[node as usize].1
    }
}

/// Returns the rest of a character of a string that begins with `byte`.
fn first(byte: u8) -> Option<Utf8> {
    Some(match byte {
        b'"' | b'\\' | ..0x20 => return None,
        0x20..0x80 => Utf8::default(),
        0xC2..=0xDF => Utf8(1, 0x80, 0xBF),
        0xE0 => Utf8(2, 0xA0, 0xBF),
        0xED => Utf8(2, 0x80, 0x9F),
        0xE1..=0xEF => Utf8(2, 0x80, 0xBF),
        0xF0 => Utf8(3, 0x90, 0xBF),
        0xF1..=0xF3 => Utf8(3, 0x80, 0xBF),
        0xF4 => Utf8(3, 0x80, 0x8F),
        _ => return None,
    })
}

fn more(Utf8(left, from, to): Utf8, byte: u8) -> Option<Utf8> {
    (from..=to).contains(&byte).then(|| match left {
        1 => Utf8::default(),
        _ => Utf8(left - 1, 0x80, 0xBF),
    })
}

impl Default for JsonLike {
    fn default() -> Self {
        JsonLike {
            is_shallow: false,
            names: Trie::new(&NAMES),
            words: Trie::new(&WORDS),
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

impl JsonLike {
    fn next(&self, at: At, byte: u8, stack: &mut impl Stack) -> Option<At> {
        let number = |digits| Some(At::Number(digits));
        match at {
            At::Blank(kind) if byte == b' ' => Some(At::Value(kind)),
            At::Blank(kind) | At::Value(kind) => value(kind, byte, stack),
            At::ArrayOpen => match byte {
                b']' => close(stack),
                _ => value(Kind::Any, byte, stack),
            },
            At::ObjectOpen if byte == b'}' => close(stack),
            At::BlankKey if byte == b' ' => Some(At::KeyStart),
            At::ObjectOpen | At::BlankKey | At::KeyStart => {
                (byte == b'"').then_some(At::Key(0, Utf8::default()))
            }
            At::Key(node, Utf8(0, ..)) if byte == b'"' => {
                let name = (node != OTHER).then(|| self.names.text(node)).flatten();
                match name {
                    Some(name) if !stack.note(name) => None,
                    Some(name) => Some(At::Colon(kind_of(name))),
                    None => Some(At::Colon(Kind::Any)),
                }
            }
            At::Key(node, Utf8(0, ..)) => {
                let utf8 = first(byte)?;
                let node = match node {
                    OTHER => OTHER,
                    node => self.names.child(node, byte).unwrap_or(OTHER),
                };
                Some(At::Key(node, utf8))
            }
            At::Key(node, utf8) => Some(At::Key(node, more(utf8, byte)?)),
            At::Colon(kind) => (byte == b':').then_some(At::Blank(kind)),
            At::Text(_, Utf8(0, ..)) if byte == b'"' => Some(At::After),
            At::Text(0, Utf8(0, ..)) => None,
            At::Text(left, Utf8(0, ..)) if byte == b'\\' => Some(At::Escape(less(left))),
            At::Text(left, Utf8(0, ..)) => Some(At::Text(less(left), first(byte)?)),
            At::Text(left, utf8) => Some(At::Text(left, more(utf8, byte)?)),
            At::Escape(left) => b"\"\\/bfnrt"
                .contains(&byte)
                .then_some(At::Text(left, Utf8::default())),
            At::Code(_) if byte.is_ascii_lowercase() || byte.is_ascii_digit() => {
                Some(At::Code(true))
            }
            At::Code(true) if byte == b'-' => Some(At::Code(false)),
            At::Code(end) => (end && byte == b'"').then_some(At::After),
            At::Word(node) if byte == b'"' => self.words.text(node).map(|_| At::After),
            At::Word(node) => Some(At::Word(self.words.child(node, byte)?)),
            At::Literal(which, on) => {
                let text = LITERALS[which as usize];
                (text[on as usize] == byte).then(|| match on as usize + 1 == text.len() {
                    true => At::After,
                    false => At::Literal(which, on + 1),
                })
            }
            At::Number(digits) => match (digits, byte) {
                (Digits::Minus, b'0') => number(Digits::Zero),
                (Digits::Minus, b'1'..=b'9') | (Digits::Whole, b'0'..=b'9') => {
                    number(Digits::Whole)
                }
                (Digits::Zero | Digits::Whole, b'.') => number(Digits::Dot),
                (Digits::Dot | Digits::Fraction, b'0'..=b'9') => number(Digits::Fraction),
                (Digits::Zero | Digits::Whole | Digits::Fraction, b'e' | b'E') => number(Digits::E),
                (Digits::E, b'+' | b'-') => number(Digits::Sign),
                (Digits::E | Digits::Sign | Digits::Exponent, b'0'..=b'9') => {
                    number(Digits::Exponent)
                }
                _ if ends(digits) => self.next(At::After, byte, stack),
                _ => None,
            },
            At::After => match (stack.top()?, byte) {
                (Frame::Object, b'}') | (Frame::Array, b']') => close(stack),
                (Frame::Object, b',') => Some(At::BlankKey),
                (Frame::Array, b',') => Some(At::Blank(Kind::Any)),
                _ => None,
            },
        }
    }
}

fn less(left: u32) -> u32 {
    match left {
        u32::MAX => u32::MAX,
        left => left - 1,
    }
}

fn ends(digits: Digits) -> bool {
    matches!(
        digits,
        Digits::Zero | Digits::Whole | Digits::Fraction | Digits::Exponent
    )
}

fn kind_of(name: usize) -> Kind {
    match NAMES[name] {
        "free" => Kind::Text(u32::MAX),
        "short" => Kind::Text(20),
        "long" => Kind::Text(500),
        "code" => Kind::Code,
        "kind" => Kind::Word,
        _ => Kind::Number,
    }
}

fn value(kind: Kind, byte: u8, stack: &mut impl Stack) -> Option<At> {
    let text = |left| At::Text(left, Utf8::default());
    match (kind, byte) {
        (Kind::Any, b'"') => Some(text(u32::MAX)),
        (Kind::Text(left), b'"') => Some(text(left)),
        (Kind::Code, b'"') => Some(At::Code(false)),
        (Kind::Word, b'"') => Some(At::Word(0)),
        (Kind::Any | Kind::Number, b'-') => Some(At::Number(Digits::Minus)),
        (Kind::Any | Kind::Number, b'0') => Some(At::Number(Digits::Zero)),
        (Kind::Any | Kind::Number, b'1'..=b'9') => Some(At::Number(Digits::Whole)),
        (Kind::Any, b'{') => {
            stack.push(Frame::Object);
            Some(At::ObjectOpen)
        }
        (Kind::Any, b'[') => {
            stack.push(Frame::Array);
            Some(At::ArrayOpen)
        }
        (Kind::Any, b't') => Some(At::Literal(0, 1)),
        (Kind::Any, b'f') => Some(At::Literal(1, 1)),
        (Kind::Any, b'n') => Some(At::Literal(2, 1)),
        _ => None,
    }
}

fn close(stack: &mut impl Stack) -> Option<At> {
    stack.pop();
    Some(At::After)
}

impl Stack for Vec<(Frame, u8)> {
    fn top(&mut self) -> Option<Frame> {
        self.last().map(|frame| frame.0)
    }

    fn push(&mut self, frame: Frame) {
        Vec::push(self, (frame, 0));
    }

    fn pop(&mut self) {
        Vec::pop(self);
    }

    fn note(&mut self, name: usize) -> bool {
        let Some(top) = self.last_mut() else {
            return false;
        };
        let new = top.1 >> name & 1 == 0;
        top.1 |= 1 << name;
        new
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
            at = self.next(at, byte, &mut frames).ok_or(offset)?;
        }
        state.at = at;
        state.frames = Arc::new(frames);
        Ok(())
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> bool {
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
                    match self.names.text(node) {
                        Some(name) if used >> name & 1 == 1 => b'x',
                        _ => b'"',
                    }
                }
                At::Key(_, rest) | At::Text(_, rest) => utf8(rest),
                At::Colon(_) => b':',
                At::Escape(_) => b'n',
                At::Code(end) => [b'a', b'"'][usize::from(end)],
                At::Word(node) => match self.words.text(node) {
                    Some(_) => b'"',
                    None => self.words.0[node as usize].0[0].0,
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
                return false;
            }
            at = self.next(at, byte, &mut frames).expect("a way on");
        }
        true
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
        let at = self.next(place.at, byte, &mut stack);
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
    fn exceptions(&self, state: &State, each: &mut dyn FnMut(Exception<'_>)) {
        for (frame, &(_, used)) in state.frames.iter().enumerate() {
            for (_, name) in QUOTED
                .iter()
                .enumerate()
                .filter(|(i, _)| used >> i & 1 == 1)
            {
                each(Exception::Contains(name.as_bytes()));
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
                        each(Exception::Begins(&name.as_bytes()[read..]));
                    }
                    at = at.and_then(|at| self.names.child(at, byte));
                }
            }
        }
    }
}

impl PlainText<Scratch> for JsonLike {
    fn lexicon(&self) -> Lexicon {
        Lexicon::default()
    }

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
