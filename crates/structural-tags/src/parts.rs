//! The parts that a text under structural tags consists of, and the effect of a byte inside.
//!
//! For example, `<a>{"b":1}</a>` consists of a marker, JSON, and another marker.

use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, ByteDfa, Cursor, Leaf, MAX_COMPLETION, PlainText, finite_can_do_without,
};
use grammar::GrammarAutomaton;
use schema_regex::automaton::{self as schema, SchemaAutomaton};

use super::free::{Free, Place};
use super::markers::{Markers, ROOT};
use super::quiet::Quiet;
use super::run::{At, Run, Tokens};

/// A piece of text, and what comes behind it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) body: Body,
    /// The number of its body, which equal ones share.
    pub(super) kind: u32,
    /// The junction behind it.
    pub(super) after: u32,
    /// The characters that a free text reads in a loop.
    pub(super) class: Vec<(u32, u32)>,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    /// No text at all: what comes behind are special tokens.
    Nothing,
    /// These bytes.
    Literal(Box<[u8]>),
    /// A text of a regular language.
    Dfa(Arc<ByteDfa>),
    /// A text of a regular language in which no marker occurs.
    Quiet(Quiet),
    /// JSON of a schema.
    Json(Arc<Json>),
    /// A text of a context-free grammar.
    Grammar(Arc<GrammarAutomaton>),
    /// Any text but for markers.
    Free(Free),
    /// Any text up to a stop string, which triggers leave.
    Run(Arc<Run>),
    /// Tokens, whatever their texts.
    Tokens(Tokens),
}

/// JSON of a schema, spelt such that no marker occurs in it.
///
/// If the next character would complete one, it may be spelt by its escape, `\u003e` for `>`: so
/// every value can be said, and every text that is begun can be finished.
#[derive(Clone, Debug)]
pub(super) struct Json {
    pub(super) automaton: SchemaAutomaton,
    pub(super) start: Arc<schema::State>,
    /// None if nothing needs to be kept out.
    pub(super) markers: Option<Markers>,
    /// The markers without their last bytes.
    pub(super) unsure: Vec<Box<[u8]>>,
    /// True if a value may be complete and yet go on, as numbers do.
    pub(super) goes_on: bool,
    /// Characters of free strings without those with which markers begin.
    pub(super) text: Vec<(u32, u32)>,
    pub(super) spelling: Spelling,
}

/// The spelling of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As JSON.
    Json,
    /// A string as it is, without quotes and escapes. The automaton stands behind the
    /// quote that begins it, and reads each byte by its escape.
    Raw,
}

/// A way through the parts, in a walk: the part and where it is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Thread {
    pub(super) part: u32,
    /// The state of the markers, in JSON.
    pub(super) guard: u16,
    /// The scratch that `inner` is a cursor of, in JSON and grammars.
    pub(super) slot: u32,
    /// The characters of free text with a limit; in JSON, an [`Escape`] that is begun.
    pub(super) extra: u32,
    /// The number of tokens so far, if they count.
    pub(super) tokens: u32,
    /// The rules that are open, see [`Scratch`](super::scratch::Scratch).
    pub(super) stack: u32,
    pub(super) inner: u32,
}

/// The state of markers and escapes of a thread of JSON: see [`Thread`].
#[derive(Clone, Copy)]
pub(super) struct Spelt {
    pub(super) guard: u16,
    pub(super) extra: u32,
}

impl Spelt {
    /// Nothing of a marker or an escape has come.
    pub(super) const BEGIN: Spelt = Spelt {
        guard: ROOT,
        extra: 0,
    };
}

/// A character of JSON that is being spelt by its escape although it need not
/// be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Escape {
    /// Bytes of it that have come.
    pub(super) at: u8,
    pub(super) byte: u8,
}

impl Escape {
    pub(super) fn pack(escape: Option<Escape>) -> u32 {
        escape.map_or(0, |e| u32::from(e.at) << 8 | u32::from(e.byte))
    }

    pub(super) fn unpack(packed: u32) -> Option<Escape> {
        (packed != 0).then_some(Escape {
            at: (packed >> 8) as u8,
            byte: packed as u8,
        })
    }

    /// The escape after a byte; `Some(None)` where it is complete.
    pub(super) fn step(self, byte: u8) -> Option<Option<Escape>> {
        let text = spelling(self.byte);
        (text.get(usize::from(self.at)) == Some(&byte.to_ascii_lowercase())
            && (self.at > 1 || byte == text[usize::from(self.at)]))
        .then(|| {
            (usize::from(self.at) + 1 < text.len()).then_some(Escape {
                at: self.at + 1,
                ..self
            })
        })
    }

    /// Returns what is left of it.
    pub(super) fn rest(self) -> Vec<u8> {
        spelling(self.byte)[usize::from(self.at)..].to_vec()
    }
}

/// `\u00XX`.
pub(super) fn spelling(byte: u8) -> [u8; 6] {
    let digit = |n: u8| b"0123456789abcdef"[usize::from(n)];
    [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]
}

/// A byte of a string as JSON spells it.
fn escaped(byte: u8, out: &mut [u8; 6]) -> &[u8] {
    let short = match byte {
        b'"' | b'\\' => byte,
        8 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        12 => b'f',
        b'\r' => b'r',
        0..=0x1F => {
            *out = spelling(byte);
            return out;
        }
        _ => {
            out[0] = byte;
            return &out[..1];
        }
    };
    out[..2].copy_from_slice(&[b'\\', short]);
    &out[..2]
}

/// Returns what the end of a string of JSON says, up to its quote, of which the bytes are
/// those of a shortest completion: characters that need no escape have none.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => break,
            b'\\' => out.push(match rest.next() {
                Some(b'b') => 8,
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(b'f') => 12,
                Some(b'r') => b'\r',
                Some(b'u') => {
                    let digits = rest.by_ref().take(4);
                    let digit = |byte| char::from(byte).to_digit(16).unwrap_or(0);
                    digits.fold(0u32, |code, byte| code << 4 | digit(byte)) as u8
                }
                Some(other) => other,
                None => break,
            }),
            other => out.push(other),
        }
    }
    out
}

impl Json {
    /// Tells whether it is spelt as its automaton reads it, tokens aside that have a marker in them
    /// but for its last byte: the [`unsure`](Json::unsure) ones.
    pub(super) fn is_plain(&self) -> bool {
        let completes = |markers: &Markers| !markers.completing(ROOT).is_empty();
        self.spelling == Spelling::Json && !self.markers.as_ref().is_some_and(completes)
    }

    /// Tells whether a byte may begin a marker that is kept out.
    #[inline]
    pub(super) fn begins_marker(&self, byte: u8) -> bool {
        let markers = self.markers.as_ref();
        markers.is_some_and(|markers| markers.step(ROOT, byte) != Some(ROOT))
    }

    /// Returns the cursor behind a byte in a walk; `None` if nowhere.
    pub(super) fn step(
        &self,
        cursor: Cursor,
        byte: u8,
        scratch: &mut schema::Scratch,
    ) -> Option<Cursor> {
        let mut step = |at: Cursor, byte: &u8| {
            let next = self.automaton.step(at, *byte, scratch);
            (!next.is_dead()).then_some(next)
        };
        match self.spelling {
            Spelling::Json => step(cursor, &byte),
            Spelling::Raw => escaped(byte, &mut [0; 6]).iter().try_fold(cursor, step),
        }
    }

    /// Hands on the ways in which a byte may be read, each with its place: `None` where only an
    /// escape goes on. `step` returns the place behind a byte of the value.
    pub(super) fn spell<P>(
        &self,
        guard: u16,
        extra: u32,
        byte: u8,
        mut step: impl FnMut(u8) -> Option<P>,
        mut push: impl FnMut(Spelt, Option<P>),
    ) {
        let before = guard;
        let guard = match &self.markers {
            None => Some(ROOT),
            Some(markers) => markers.step(before, byte),
        };
        let Some(guard) = guard else { return };
        let spelt = |escape| Spelt {
            guard,
            extra: Escape::pack(escape),
        };
        if let Some(escape) = Escape::unpack(extra) {
            match escape.step(byte) {
                Some(Some(more)) => push(spelt(Some(more)), None),
                Some(None) => {
                    if let Some(next) = step(escape.byte) {
                        push(spelt(None), Some(next));
                    }
                }
                None => {}
            }
            return;
        }
        if let Some(next) = step(byte) {
            push(spelt(None), Some(next));
        }
        if byte == b'\\'
            && let Some(markers) = &self.markers
        {
            for &completing in markers.completing(before) {
                if step(completing).is_some() {
                    let byte = completing;
                    push(spelt(Some(Escape { at: 1, byte })), None);
                }
            }
        }
    }

    /// The state behind a byte; `None` if there is none.
    pub(super) fn commit(
        &self,
        state: &schema::State,
        byte: u8,
        scratch: &mut schema::Scratch,
    ) -> Option<schema::State> {
        let mut next = schema::State::clone(state);
        let mut buffer = [0; 6];
        let bytes: &[u8] = match self.spelling {
            Spelling::Json => &[byte],
            Spelling::Raw => escaped(byte, &mut buffer),
        };
        let done = self.automaton.advance(&mut next, bytes, scratch);
        done.is_ok().then_some(next)
    }

    /// Tells whether the value may end at a cursor of a walk.
    pub(super) fn ends_at(&self, cursor: Cursor, scratch: &mut schema::Scratch) -> bool {
        let end = match self.spelling {
            Spelling::Json => cursor,
            Spelling::Raw => self.automaton.step(cursor, b'"', scratch),
        };
        !end.is_dead() && self.automaton.ends_at_cursor(end, scratch)
    }

    /// Tells whether the value may end in a state.
    pub(super) fn may_end(&self, state: &schema::State) -> bool {
        match self.spelling {
            Spelling::Json => self.automaton.is_accepting(state),
            Spelling::Raw => {
                let mut end = schema::State::clone(state);
                let mut scratch = self.automaton.scratch();
                let closed = self.automaton.advance(&mut end, b"\"", &mut scratch);
                closed.is_ok() && self.automaton.is_accepting(&end)
            }
        }
    }

    /// The shortest text from a state to the end of the value, without markers; `false`
    /// where the value's has more than `most` bytes.
    pub(super) fn completion(
        &self,
        state: &schema::State,
        spelt: Spelt,
        most: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        if self.spelling == Spelling::Raw {
            let mut text = Vec::new();
            let completed = self.automaton.completion(state, most, &mut text);
            out.extend(unescaped(&text));
            return completed.is_some();
        }
        let mut guard = spelt.guard;
        let mut state = std::borrow::Cow::Borrowed(state);
        if let Some(escape) = Escape::unpack(spelt.extra) {
            let rest = escape.rest();
            guard = self.read(guard, &rest);
            out.extend_from_slice(&rest);
            let mut scratch = self.automaton.scratch();
            let after = self
                .automaton
                .advance(state.to_mut(), &[escape.byte], &mut scratch);
            debug_assert!(
                after.is_ok(),
                "an escape is begun only where its character may come"
            );
        }
        let mut plain = Vec::new();
        let completed = self.automaton.completion(&state, most, &mut plain);
        if completed.is_none() {
            return false;
        }
        let Some(markers) = &self.markers else {
            out.extend_from_slice(&plain);
            return true;
        };
        for byte in plain {
            match markers.step(guard, byte) {
                Some(next) => {
                    guard = next;
                    out.push(byte);
                }
                None => {
                    let escaped = spelling(byte);
                    guard = self.read(guard, &escaped);
                    out.extend_from_slice(&escaped);
                }
            }
        }
        true
    }

    /// The state of the markers behind a text that completes none.
    fn read(&self, guard: u16, text: &[u8]) -> u16 {
        let Some(markers) = &self.markers else {
            return guard;
        };
        text.iter().fold(guard, |guard, byte| {
            markers.step(guard, *byte).unwrap_or(ROOT)
        })
    }
}

impl Body {
    /// Tells whether it may be empty.
    pub(super) fn is_nullable(&self) -> bool {
        match self {
            Body::Nothing | Body::Free(_) | Body::Run(_) => true,
            Body::Tokens(tokens) => tokens.least == 0,
            Body::Literal(text) => text.is_empty(),
            Body::Dfa(dfa) => dfa.is_accepting(&dfa.start()),
            Body::Quiet(quiet) => quiet.accepts(0),
            Body::Grammar(automaton) => automaton.is_accepting(&automaton.start()),
            Body::Json(_) => false,
        }
    }

    /// Tells whether it can be finished without some characters, as far as that is plain.
    pub(super) fn is_fine_without(&self, chars: &[(u32, u32)]) -> bool {
        let is_missing = |c: u32| chars.iter().any(|&(from, to)| (from..=to).contains(&c));
        let is_spelt = |text: &[u8]| {
            let text = std::str::from_utf8(text);
            text.is_ok_and(|text| text.chars().all(|c| !is_missing(u32::from(c))))
        };
        match self {
            Body::Nothing | Body::Free(_) => true,
            // It may end wherever no trigger must be spelt to its end. The junctions behind
            // triggers lead to parts that are asked by themselves.
            Body::Run(run) => run.triggers.iter().all(|trigger| is_spelt(trigger)),
            Body::Tokens(tokens) => tokens.least == 0,
            Body::Literal(text) => is_spelt(text),
            Body::Dfa(dfa) => PlainText::can_do_without(&**dfa, chars),
            Body::Quiet(quiet) => {
                let step = |at, byte| quiet.step(at, byte);
                finite_can_do_without(0, chars, step, |at| quiet.accepts(at))
            }
            Body::Grammar(automaton) => PlainText::can_do_without(&**automaton, chars),
            Body::Json(json) => match json.spelling {
                Spelling::Json => json.automaton.can_do_without(chars),
                Spelling::Raw => json.automaton.can_do_without_unescaped(chars),
            },
        }
    }

    /// Returns the place where it begins; not of JSON and grammars, whose beginnings are states of
    /// their own.
    pub(super) fn begin(&self) -> u32 {
        match self {
            Body::Free(_) => Place::START.pack(),
            Body::Dfa(dfa) => dfa.start().0,
            Body::Run(_) => At::default().pack(),
            Body::Tokens(_) => Tokens::WAITS,
            Body::Nothing
            | Body::Literal(_)
            | Body::Quiet(_)
            | Body::Json(_)
            | Body::Grammar(_) => 0,
        }
    }

    /// Returns the place behind a byte, and the count behind it; not of JSON, grammars and runs.
    pub(super) fn step(&self, inner: u32, extra: u32, byte: u8) -> Option<(u32, u32)> {
        match self {
            Body::Nothing | Body::Json(_) | Body::Grammar(_) | Body::Run(_) => None,
            Body::Tokens(_) => Some((Tokens::step(inner)?, 0)),
            Body::Literal(text) => {
                (text.get(inner as usize) == Some(&byte)).then_some((inner + 1, 0))
            }
            Body::Dfa(dfa) => {
                let next = dfa.step(Cursor(inner), byte, &mut ());
                (!next.is_dead()).then_some((next.0, 0))
            }
            Body::Quiet(quiet) => Some((quiet.step(inner, byte)?, 0)),
            Body::Free(free) => {
                let (place, count) = free.step(Place::unpack(inner), extra, byte)?;
                Some((place.pack(), count))
            }
        }
    }

    /// Tells whether it may end there; not of JSON and grammars.
    pub(super) fn may_end(&self, inner: u32, tokens: u32) -> bool {
        match self {
            Body::Nothing => true,
            Body::Run(_) => Run::may_end(inner),
            Body::Tokens(count) => count.may_end(inner, tokens),
            Body::Literal(text) => inner as usize == text.len(),
            Body::Dfa(dfa) => dfa.is_accepting(&Cursor(inner)),
            Body::Quiet(quiet) => quiet.accepts(inner),
            Body::Free(_) => Free::may_end(Place::unpack(inner)),
            Body::Json(_) | Body::Grammar(_) => false,
        }
    }

    /// The shortest text of the part; `false` where JSON or a grammar has none of at most `most`
    /// bytes.
    pub(super) fn shortest(&self, most: usize, out: &mut Vec<u8>) -> bool {
        match self {
            Body::Json(json) => json.completion(&json.start, Spelt::BEGIN, most, out),
            Body::Grammar(automaton) => {
                let completed = automaton.completion(&automaton.start(), most, out);
                completed.is_some()
            }
            body => {
                body.completion(body.begin(), 0, out);
                true
            }
        }
    }

    /// The shortest text to its end; not of JSON and grammars.
    pub(super) fn completion(&self, inner: u32, tokens: u32, out: &mut Vec<u8>) {
        match self {
            Body::Nothing | Body::Json(_) | Body::Grammar(_) => {}
            Body::Run(run) => out.extend(run.rest(inner).0),
            Body::Tokens(count) => {
                if tokens < count.least {
                    out.extend_from_slice(&count.filler);
                }
            }
            Body::Literal(text) => out.extend_from_slice(&text[inner as usize..]),
            Body::Dfa(dfa) => {
                dfa.completion(&Cursor(inner), MAX_COMPLETION, out);
            }
            Body::Quiet(quiet) => out.extend_from_slice(&quiet.completions()[inner as usize]),
            Body::Free(free) => {
                out.extend(free.rest(Place::unpack(inner)).unwrap_or_default());
            }
        }
    }
}
