//! The steps of the automaton: what follows a place and a byte.
//!
//! For example, behind `{"code` a quotation mark ends the name, and a colon comes next.

/// The names that say what their value is: few, because each has a way of its own to be described.
const NAMES: [&str; 6] = ["free", "short", "long", "code", "kind", "count"];

/// The same in quotes, because tokens may have them whole.
pub(super) const QUOTED: [&str; 6] = [
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
pub(super) const OTHER: u16 = u16::MAX;

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
pub(crate) struct Utf8(pub(super) u8, pub(super) u8, pub(super) u8);

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
pub(super) const LITERALS: [&[u8]; 3] = [b"true", b"false", b"null"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Frame {
    Object,
    Array,
}

/// The stack that the machine reads and writes besides its place.
pub(super) trait Stack {
    fn top(&mut self) -> Option<Frame>;
    fn push(&mut self, frame: Frame);
    fn pop(&mut self);
    /// Notes a name of the top object; `false` if it is known to be used.
    fn note(&mut self, name: usize) -> bool;
}

/// A trie by the numbers of its nodes.
#[derive(Clone, Debug)]
pub(super) struct Trie(pub(super) Vec<Node>);

/// Children, and which text ends here.
pub(super) type Node = (Vec<(u8, u16)>, Option<usize>);

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

    pub(super) fn child(&self, node: u16, byte: u8) -> Option<u16> {
        let mut children = self.0[node as usize].0.iter();
        children.find(|c| c.0 == byte).map(|c| c.1)
    }

    pub(super) fn text(&self, node: u16) -> Option<usize> {
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

pub(super) fn less(left: u32) -> u32 {
    match left {
        u32::MAX => u32::MAX,
        left => left - 1,
    }
}

pub(super) fn ends(digits: Digits) -> bool {
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

/// The names and words that steps know.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pub(super) names: Trie,
    pub(super) words: Trie,
}

impl Default for Steps {
    fn default() -> Self {
        Steps {
            names: Trie::new(&NAMES),
            words: Trie::new(&WORDS),
        }
    }
}

impl Steps {
    pub(super) fn next(&self, at: At, byte: u8, stack: &mut impl Stack) -> Option<At> {
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
