//! Which bytes can come next: a quick look, before a step is taken.
//!
//! For example, a value of `{"type": ["null", "number"]}` begins with a space, `n`, `-` or a digit.

use fsm_index::{ByteSet, Cursor};
use schema_normal::language::char_dfa::DEAD;

use crate::automaton::machine::node::Node;
use crate::automaton::machine::strings::{StringDemand, StringMachine};
use crate::automaton::run::config::{Gap, Key, Str, Top, UNITS};
use crate::automaton::run::hints::Hints;
use crate::automaton::run::member_names;
use crate::automaton::run::scratch::Noted;
use crate::automaton::run::string_bytes::Partial;

impl Hints<'_, '_> {
    /// All bytes that do not lead to nothing at a cursor, and perhaps others.
    pub(super) fn next_bytes(&mut self, cursor: Cursor) -> ByteSet {
        if cursor.is_dead() {
            return ByteSet::NONE;
        }
        let config = self.x.config(cursor);
        match config.top {
            Top::Value { node, .. } => value(self.machine.node(node)).or(WHITE),
            Top::Unit { word, at, .. } => {
                let rest = &UNITS[usize::from(word)][usize::from(at)..];
                ByteSet::of(&rest[..rest.len().min(1)])
            }
            Top::Number { .. } => NUMBER,
            Top::String { node, text, .. } => match self.machine.string(node) {
                Some(m) => string(m, &text),
                None => ByteSet::NONE,
            },
            Top::Key(key) => self.key_bytes(key, config.stack),
            Top::Gap(gap, _) => gap_bytes(gap).or(WHITE),
            Top::End => ByteSet::NONE,
        }
    }

    fn key_bytes(&mut self, key: Key, stack: u32) -> ByteSet {
        if key.partial != Partial::None {
            return partial(key.partial);
        }
        // The key of the topmost level tells all of further names.
        let top = match key.is_further() {
            true => Noted::told_by_key(stack),
            false => self.x.note(stack),
        };
        let Some(m) = self.machine.object(self.x.peek(top).frame.node) else {
            return ByteSet::NONE;
        };
        let few = key.names.hi - key.names.lo <= FEW_NAMES;
        let further = (m.keys.is_none() || key.state != DEAD)
            && member_names::usable(self.machine, top, self.x).classes != 0;
        if further || !few {
            return TEXT;
        }
        let words = &m.names[key.names.lo as usize..key.names.hi as usize];
        first_bytes(words.iter().map(|word| &*word.text), key.names.read)
    }
}

/// JSON's whitespace, because it may come wherever a space machine says so.
const WHITE: ByteSet = ByteSet::of(b" \t\n\r");
/// The digits of numbers (RFC 8259).
const DIGITS: ByteSet = ByteSet::range(b'0', b'9');
/// Inside a number, or behind it, because a byte may end the number and stand for itself.
const NUMBER: ByteSet = DIGITS.or(ByteSet::of(b"+-.eE,]}")).or(WHITE);
/// A character that is not written plainly, or the end of a text, because either may come.
const QUOTE_OR_ESCAPE: ByteSet = ByteSet::of(b"\"\\");
/// In a text: the bytes of UTF-8 that begin a character, but control characters, because JSON's
/// strings have these as escapes alone.
const TEXT: ByteSet = ByteSet::range(0x20, 0x7F).or(ByteSet::range(0xC2, 0xF4));
/// The further bytes of a character (RFC 3629).
const UTF8_REST: ByteSet = ByteSet::range(0x80, 0xBF);
/// The bytes behind a backslash (RFC 8259).
const ESCAPED: ByteSet = ByteSet::of(b"\"\\/bfnrtu");
/// The digits of `\u00e9`, of either case, because readers take both.
const HEX: ByteSet = DIGITS
    .or(ByteSet::range(b'a', b'f'))
    .or(ByteSet::range(b'A', b'F'));

/// The most names whose first bytes are looked at, because more names begin with most letters.
const FEW_NAMES: u32 = 32;

fn value(node: &Node) -> ByteSet {
    /// The first bytes of `null`, `false` and `true`, as `units` has their goals.
    const BEGINNINGS: [ByteSet; 3] = [ByteSet::of(b"n"), ByteSet::of(b"f"), ByteSet::of(b"t")];
    let units = node.units.iter().zip(BEGINNINGS);
    let units = units.filter(|(goals, _)| !goals.is_empty());
    let mut bytes = units.fold(ByteSet::NONE, |bytes, (_, byte)| bytes.or(byte));
    let mut put = |is: bool, beginnings: ByteSet| {
        if is {
            bytes = bytes.or(beginnings);
        }
    };
    put(
        node.number.is_some(),
        DIGITS.or(const { ByteSet::of(b"-") }),
    );
    put(node.string.is_some(), const { ByteSet::of(b"\"") });
    put(node.array.is_some(), const { ByteSet::of(b"[") });
    put(node.object.is_some(), const { ByteSet::of(b"{") });
    bytes
}

fn gap_bytes(gap: Gap) -> ByteSet {
    match gap {
        Gap::ObjectStart => const { ByteSet::of(b"\"}") },
        Gap::BeforeKey | Gap::BeforeFurther => const { ByteSet::of(b"\"") },
        Gap::Colon => const { ByteSet::of(b":") },
        Gap::AfterMember => const { ByteSet::of(b",}") },
        Gap::ArrayStart => const { ByteSet::of(b"]\"{[-nft").or(DIGITS) },
        Gap::AfterItem => const { ByteSet::of(b",]") },
    }
}

fn string(m: &StringMachine, text: &Str) -> ByteSet {
    if text.partial != Partial::None {
        return partial(text.partial);
    }
    // If only words may come, a character that begins none of them may not.
    let mut leaves = m.leaves.iter();
    let are_listed = leaves.all(|leaf| matches!(leaf.demand, StringDemand::Listed));
    if !are_listed || text.words.hi - text.words.lo > FEW_NAMES {
        return TEXT;
    }
    let words = &m.words[text.words.lo as usize..text.words.hi as usize];
    first_bytes(words.iter().map(|word| &*word.text), text.words.read)
}

/// The bytes with which texts go on from some byte on, and the beginning of an escape.
fn first_bytes<'t>(texts: impl Iterator<Item = &'t str>, read: u32) -> ByteSet {
    let bytes = texts.filter_map(|text| text.as_bytes().get(read as usize));
    bytes.fold(QUOTE_OR_ESCAPE, |bytes, &byte| {
        bytes.or(ByteSet::range(byte, byte))
    })
}

fn partial(partial: Partial) -> ByteSet {
    match partial {
        Partial::None => ByteSet::ALL,
        Partial::Utf8 { .. } => UTF8_REST,
        Partial::Escape => ESCAPED,
        Partial::Hex { .. } => HEX,
        Partial::HighEscape { .. } => const { ByteSet::of(b"\\") },
        Partial::HighU { .. } => const { ByteSet::of(b"u") },
    }
}
