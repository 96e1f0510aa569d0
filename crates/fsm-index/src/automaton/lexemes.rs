//! Lexemes: what is inside of one is a matter of a table, and a stack is looked at between two of
//! them alone. For example, in `a+12` the lexemes are `a`, `+` and `12`: inside of `12` a digit
//! goes on whatever the stack is.

use std::sync::Arc;

use crate::{ByteSet, Cursor};

/// The reading of texts that are lexemes, one after another: names, operators, strings. The part of
/// a [`ByteAutomaton`](crate::ByteAutomaton) that parses. `X` is the automaton's
/// [`Scratch`](crate::ByteAutomaton::Scratch).
///
/// The fall of a vocabulary into lexemes is computed once for each place in a lexeme where
/// something begins, and not again for each stack. Masks then follow the lexemes, of which there
/// are few, and not the bytes of all tokens.
///
/// Places and stacks are numbers of one walk, as a [`Cursor`] is one; 0 is none. Which text is free
/// at a place, [`PlainText::free_text`](crate::PlainText::free_text) tells.
pub trait Lexemes<X> {
    /// Appends the lexemes that have begun at a cursor, or may begin there: a text may come if
    /// and only if it may come in one of them. `false` if that cannot be said.
    fn begun(&self, cursor: Cursor, scratch: &mut X, out: &mut Vec<Lexeme>) -> bool;

    /// Returns the properties of a place.
    fn place(&self, place: u32, scratch: &mut X) -> LexemePlace;

    /// Returns the number of a place: the same in every walk, for places from which the same texts lead to the same ends.
    fn number(&self, place: u32, scratch: &mut X) -> u32;

    /// The place behind one byte more; 0 if the lexeme cannot go on with it.
    fn step(&self, place: u32, byte: u8, scratch: &mut X) -> u32;

    /// Returns the list that [`LexemePlace::ends`] or [`LexemePlace::asks`] stands for, in numbers
    /// that mean the same in every walk.
    fn told(&self, number: u32, scratch: &mut X) -> Arc<[u32]>;

    /// Tells whether tokens that end where this is asked may come for sure on top of some stacks;
    /// if not, they are tried byte by byte.
    fn answers(&self, _below: u32, _asked: &[u32], _scratch: &mut X) -> bool {
        true
    }

    /// Returns the lexeme that may begin where one has ended on top of some stacks.
    /// [`depth_used`](crate::Stack::depth_used) changes as by a step. `nodes` of the vocabulary's trie
    /// are read there: with many it may be worth finding text that is
    /// [free](crate::PlainText::free_text).
    fn behind(&self, below: u32, ended: &[u32], nodes: u32, scratch: &mut X) -> LexemeBehind;
}

/// The answer to what may begin behind a lexeme. See [`Lexemes::behind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexemeBehind {
    /// Nothing.
    Nothing,
    /// This.
    Begins(Lexeme),
    /// Text whose characters are lexemes of their own, so that a token has as many as characters:
    /// what follows is walked from this cursor.
    Text(Cursor),
}

/// A lexeme that has begun. See [`Lexemes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lexeme {
    /// The place in it.
    pub place: u32,
    /// The stacks on top of which it stands.
    pub below: u32,
}

/// A place in a lexeme. See [`Lexemes`].
#[derive(Clone, Copy, Debug)]
pub struct LexemePlace {
    /// The bytes that it takes: these and no others. One of them may lead nowhere.
    pub next_bytes: ByteSet,
    /// The ways in which it may end there, as a number of the walk; 0 for none.
    pub ends: u32,
    /// The bytes that may come behind such an end on some stacks: before no others it counts.
    pub end_bytes: ByteSet,
    /// The question to the stacks where a token ends there, as a number of the walk; 0 for none:
    /// such a token may come.
    pub asks: u32,
}
