//! Masks by lexemes, right and wrong: what says too much of them is caught by
//! `contract::check`.

use std::sync::Arc;

use fsm_index::contract::{Effort, check};
use fsm_index::{
    ByteAutomaton, ByteSet, Completed, Cursor, Lexeme, LexemeBehind, LexemePlace, Lexemes, Parts,
    TokenId, Vocabulary,
};

/// What an automaton says of lexemes that is not so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// A byte by which a lexeme goes on is missing.
    NextBytes,
    /// A lexeme does not end where it may.
    Ends,
    /// A byte that may come behind an end is missing.
    EndBytes,
    /// Two places have one number.
    Number,
    /// Nothing may come behind a lexeme.
    Behind,
    /// What may come behind it begins elsewhere.
    Begins,
    /// A lexeme that has begun is missing.
    Begun,
    /// The text behind a lexeme is another.
    Text,
}

/// Words and numbers in turn, as long as they go on: `([a-z]+[0-9]+)*!`. Of tokens that end in a
/// number it is asked, and they are tried. What follows a number is told as text.
#[derive(Clone, Copy, Debug)]
struct Sample {
    lie: Lie,
}

// Places in lexemes.
const BEFORE_WORD: u32 = 1;
const WORD: u32 = 2;
const BEFORE_NUMBER: u32 = 3;
const NUMBER: u32 = 4;
const MARK: u32 = 5;

// What stands below them.
const WANTS_WORD: u32 = 1;
const WANTS_NUMBER: u32 = 2;

// What ends a lexeme.
const WORD_ENDS: u32 = 1;
const NUMBER_ENDS: u32 = 2;

/// A cursor is a place on top of what stands below.
fn cursor(place: u32, below: u32) -> Cursor {
    Cursor(10 * place + below)
}

/// Where a byte leads inside of a lexeme.
fn inside(place: u32, byte: u8) -> u32 {
    match (place, byte) {
        (BEFORE_WORD | WORD, b'a'..=b'z') => WORD,
        (BEFORE_WORD, b'!') => MARK,
        (BEFORE_NUMBER | NUMBER, b'0'..=b'9') => NUMBER,
        _ => 0,
    }
}

/// What ends at a place, if anything does.
fn ends(place: u32) -> u32 {
    match place {
        WORD => WORD_ENDS,
        NUMBER => NUMBER_ENDS,
        _ => 0,
    }
}

/// What begins behind the end of a lexeme.
fn behind(below: u32, ended: u32) -> Option<(u32, u32)> {
    match (below, ended) {
        (WANTS_WORD, WORD_ENDS) => Some((BEFORE_NUMBER, WANTS_NUMBER)),
        (WANTS_NUMBER, NUMBER_ENDS) => Some((BEFORE_WORD, WANTS_WORD)),
        _ => None,
    }
}

impl Lexemes<()> for Sample {
    fn begun(&self, at: Cursor, (): &mut (), out: &mut Vec<Lexeme>) -> bool {
        if self.lie != Lie::Begun || at.0 / 10 != NUMBER {
            out.push(Lexeme {
                place: at.0 / 10,
                below: at.0 % 10,
            });
        }
        // Of none it would be asked in another way.
        if out.is_empty() {
            out.push(Lexeme {
                place: MARK,
                below: at.0 % 10,
            });
        }
        true
    }

    fn place(&self, place: u32, (): &mut ()) -> LexemePlace {
        let next: Vec<u8> = (0..=255).filter(|byte| inside(place, *byte) != 0).collect();
        let next = match self.lie {
            Lie::NextBytes => &next[..next.len().saturating_sub(1)],
            _ => &next,
        };
        LexemePlace {
            next_bytes: ByteSet::of(next),
            ends: match self.lie {
                Lie::Ends => 0,
                _ => ends(place),
            },
            end_bytes: match (ends(place), self.lie) {
                (WORD_ENDS, Lie::EndBytes) => ByteSet::range(b'0', b'8'),
                (WORD_ENDS, _) => ByteSet::range(b'0', b'9'),
                (NUMBER_ENDS, _) => ByteSet::range(b'a', b'z').or(ByteSet::of(b"!")),
                _ => ByteSet::NONE,
            },
            asks: u32::from(place == NUMBER),
        }
    }

    fn number(&self, place: u32, (): &mut ()) -> u32 {
        match (self.lie, place) {
            (Lie::Number, NUMBER) => WORD,
            _ => place,
        }
    }

    fn step(&self, place: u32, byte: u8, (): &mut ()) -> u32 {
        inside(place, byte)
    }

    fn told(&self, number: u32, (): &mut ()) -> Arc<[u32]> {
        [number].into()
    }

    fn answers(&self, _: u32, _: &[u32], (): &mut ()) -> bool {
        false
    }

    fn behind(&self, below: u32, ended: &[u32], _: u32, (): &mut ()) -> LexemeBehind {
        let begins = ended.iter().find_map(|ended| behind(below, *ended));
        match (begins, self.lie) {
            (None, _) | (_, Lie::Behind) => LexemeBehind::Nothing,
            (Some(_), Lie::Begins) => LexemeBehind::Begins(Lexeme {
                place: BEFORE_WORD,
                below,
            }),
            (Some((BEFORE_WORD, below)), lie) => LexemeBehind::Text(match lie {
                Lie::Text => cursor(BEFORE_NUMBER, below),
                _ => cursor(BEFORE_WORD, below),
            }),
            (Some((place, below)), _) => LexemeBehind::Begins(Lexeme { place, below }),
        }
    }
}

impl ByteAutomaton for Sample {
    type State = Cursor;
    type Scratch = ();

    fn scratch(&self) {}

    fn start(&self) -> Cursor {
        cursor(BEFORE_WORD, WANTS_WORD)
    }

    fn is_accepting(&self, state: &Cursor) -> bool {
        state.0 / 10 == MARK
    }

    fn advance(&self, state: &mut Cursor, bytes: &[u8], x: &mut ()) -> Result<(), usize> {
        let mut at = *state;
        for (offset, &byte) in bytes.iter().enumerate() {
            at = ByteAutomaton::step(self, at, byte, x);
            if at.is_dead() {
                return Err(offset);
            }
        }
        *state = at;
        Ok(())
    }

    fn completion(&self, state: &Cursor, max_bytes: usize, out: &mut Vec<u8>) -> Option<Completed> {
        let text: &[u8] = match state.0 / 10 {
            MARK => b"",
            WORD | BEFORE_NUMBER => b"1!",
            _ => b"!",
        };
        let fits = text.len() <= max_bytes;
        out.extend_from_slice(if fits { text } else { b"" });
        fits.then_some(Completed::Whole)
    }

    fn enter(&self, state: &Cursor, (): &mut ()) -> Cursor {
        *state
    }

    fn step(&self, at: Cursor, byte: u8, (): &mut ()) -> Cursor {
        let (place, below) = (at.0 / 10, at.0 % 10);
        let on = inside(place, byte);
        if on != 0 {
            return cursor(on, below);
        }
        match behind(below, ends(place)) {
            Some((next, below)) => match inside(next, byte) {
                0 => Cursor::DEAD,
                place => cursor(place, below),
            },
            None => Cursor::DEAD,
        }
    }

    #[inline]
    fn parts(&self) -> Parts<'_, Self::State, ()> {
        Parts {
            lexemes: Some(self),
            lexemes_take_all: true,
            ..Parts::default()
        }
    }
}

/// All bytes, and texts of several lexemes.
fn vocabulary() -> Vocabulary {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let words =
        "ab abc a1 ab12 ab1cd2 1a 12ab 1a2 1a2b 12! 1! a1! ab12cd34ef56! zz z9 9z 9z9 a! !a 1!a";
    let words = words.split(' ').map(|word| word.as_bytes().to_vec());
    let ids = (0..).map(TokenId::new);
    Vocabulary::new(bytes.chain(words).zip(ids), [TokenId::new(400)]).unwrap()
}

fn told(lie: Lie) -> Result<(), String> {
    let beginnings = ["", "ab", "ab1", "ab12c", "a1b2", "a1!"];
    let effort = Effort {
        walks: 40,
        ..Effort::default()
    };
    check(&Sample { lie }, &vocabulary(), &beginnings, effort)
}

#[test]
fn what_is_right_passes() {
    assert_eq!(told(Lie::None), Ok(()));
}

#[test]
fn what_says_too_much_is_caught() {
    for lie in [
        Lie::NextBytes,
        Lie::Ends,
        Lie::EndBytes,
        Lie::Number,
        Lie::Behind,
        Lie::Begins,
        Lie::Begun,
        Lie::Text,
    ] {
        assert!(told(lie).is_err(), "{lie:?} is not caught");
    }
}
