//! Every kind of description and key, right and wrong: what says too much is caught by
//! `contract::check`.

use std::sync::Arc;

use fsm_index::contract::{Effort, check};
use fsm_index::{
    Behind, ByteAutomaton, ByteSet, ClassId, Completed, Cursor, Description, FreeText, Guide,
    Horizon, Index, IndexConfig, KeyLanguage, Lexicon, Parts, PlainText, ReadText, Scope, Spot,
    TextAt, TextBounds, TextLoop, TextPlace, TextReader, TextStep, Texts, TokenId, Vocabulary,
};

use crate::json_like;

/// What an automaton says that is not so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// The loop is over more characters than it is.
    Class,
    /// A loop goes on for longer than it does.
    Steady,
    /// A text is missing in the list of those that may come.
    Listed,
    /// Where two cursors differ is not said.
    Apart,
    /// Text is free of which some may not come.
    Free,
    /// Two states have one key.
    Key,
    /// So they have in all indexes of the vocabulary.
    CommonKey,
    /// A byte may not come next that may.
    NextBytes,
    /// The end equals any state.
    Equal,
    /// A text cannot go on with a byte with which it can.
    Reader,
}

/// `[a-z]*`, then `;` and `yes` or `no`, or `#` and `yes`, `no` or `ok`, or `<`, up to eight
/// of `[a-z]` and `>`; then `!`.
#[derive(Clone, Copy, Debug)]
struct Sample {
    lie: Lie,
    /// Whether loops are told as what the topmost level tells.
    on_top: bool,
}

const START: u32 = 1;
const WORD: u32 = 2;
const WORD_OR_OK: u32 = 8;
const END: u32 = 6;
const ENDED: u32 = 7;
/// With so many characters that may still come.
const COUNTED: u32 = 20;
const MOST: u32 = 8;

fn next(at: u32, byte: u8) -> u32 {
    match (at, byte) {
        (START, b'a'..=b'z') => START,
        (START, b';') => WORD,
        (START, b'#') => WORD_OR_OK,
        (START, b'<') => COUNTED + MOST,
        (WORD | WORD_OR_OK, b'y') => 3,
        (3, b'e') => 4,
        (4, b's') | (5, b'o') | (9, b'k') => END,
        (WORD | WORD_OR_OK, b'n') => 5,
        (WORD_OR_OK, b'o') => 9,
        (END, b'!') => ENDED,
        (COUNTED.., b'>') => END,
        (at, b'a'..=b'z') if at > COUNTED => at - 1,
        _ => 0,
    }
}

impl PlainText<()> for Sample {
    fn class(&self, _: ClassId) -> &[(u32, u32)] {
        match self.lie {
            Lie::Class => &[(0x30, 0x39), (0x61, 0x7A)],
            _ => &[(0x61, 0x7A)],
        }
    }

    fn reader(&self, cursor: Cursor, _: Horizon<'_>, (): &mut ()) -> Option<TextReader<'_>> {
        let letters = Letters { lie: self.lie };
        (cursor.0 == START).then(|| TextReader {
            at: TextAt([0; 4]),
            steps: Box::new(letters),
            language: None,
            bounds: TextBounds::default(),
        })
    }

    fn free_text(&self, at: Spot, (): &mut ()) -> Option<FreeText> {
        match at {
            Spot::Cursor(cursor) | Spot::Top(cursor) => self.free_from(cursor),
            Spot::Lexeme(_) => None,
        }
    }
}

/// Reads `[a-z]*`.
struct Letters {
    lie: Lie,
}

impl ReadText for Letters {
    fn step(&self, at: TextAt, byte: u8) -> TextStep {
        match byte {
            b'o' if self.lie == Lie::Reader => TextStep::Dead,
            b'a'..=b'z' => TextStep::To(at),
            _ => TextStep::Leaves,
        }
    }

    fn place(&self, _: TextAt) -> TextPlace {
        TextPlace {
            is_back: true,
            ..TextPlace::default()
        }
    }
}

impl Sample {
    /// What is free at a cursor.
    fn free_from(&self, cursor: Cursor) -> Option<FreeText> {
        let chars = match (cursor.0, self.lie) {
            (START, _) => usize::MAX,
            (at, Lie::Free) if at > COUNTED => usize::MAX,
            (at, _) if at > COUNTED => (at - COUNTED) as usize,
            _ => return None,
        };
        Some(FreeText {
            class: ClassId(0),
            chars,
            behind: Behind::ItsClass,
            ends: false,
        })
    }
}

/// A state.
#[derive(Clone, Copy)]
struct At {
    at: Cursor,
    /// Whether it says that it equals the end.
    lies: bool,
}

impl PartialEq for At {
    fn eq(&self, other: &At) -> bool {
        self.at == other.at || (self.lies && other.at.0 == ENDED)
    }
}

impl ByteAutomaton for Sample {
    type State = At;
    type Scratch = ();

    fn scratch(&self) {}

    fn start(&self) -> At {
        At {
            at: Cursor(START),
            lies: self.lie == Lie::Equal,
        }
    }

    fn is_accepting(&self, state: &At) -> bool {
        state.at.0 == ENDED
    }

    fn advance(&self, state: &mut At, bytes: &[u8], x: &mut ()) -> Result<(), usize> {
        let mut at = state.at;
        for (offset, &byte) in bytes.iter().enumerate() {
            at = self.step(at, byte, x);
            if at.is_dead() {
                return Err(offset);
            }
        }
        state.at = at;
        Ok(())
    }

    fn completion(&self, state: &At, max_bytes: usize, out: &mut Vec<u8>) -> Option<Completed> {
        let text: &[u8] = match state.at.0 {
            START => b";no!",
            WORD | WORD_OR_OK => b"no!",
            3 => b"es!",
            4 => b"s!",
            5 => b"o!",
            9 => b"k!",
            END => b"!",
            ENDED => b"",
            _ => b">!",
        };
        let fits = text.len() <= max_bytes;
        out.extend_from_slice(if fits { text } else { b"" });
        fits.then_some(Completed::Whole)
    }

    fn enter(&self, state: &At, (): &mut ()) -> Cursor {
        state.at
    }

    fn step(&self, cursor: Cursor, byte: u8, (): &mut ()) -> Cursor {
        Cursor(next(cursor.0, byte))
    }

    fn describe(&self, cursor: Cursor, horizon: Horizon<'_>, (): &mut ()) -> Description {
        let texts = |texts: &[&[u8]]| {
            let mut list = Texts::default();
            for text in texts {
                list.add(&[&text[..text.len() - 1]], text[text.len() - 1]);
            }
            list
        };
        let told = |text| match self.on_top {
            true => Description::Top(Some(text)),
            false => Description::Text(text),
        };
        match cursor.0 {
            START => told(TextLoop {
                class: ClassId(0),
                next: cursor,
                steady: u32::MAX,
                alike: true,
            }),
            WORD if self.lie == Lie::Listed => Description::Listed(texts(&[b"yes"])),
            WORD => Description::Listed(texts(&[b"no", b"yes"])),
            WORD_OR_OK => Description::Like {
                cursor: Cursor(WORD),
                apart: match self.lie {
                    Lie::Apart => Some(Texts::default()),
                    _ if self.on_top => Some(texts(&[b"o"])),
                    _ => None,
                },
            },
            at if at > COUNTED => told(TextLoop {
                class: ClassId(0),
                next: Cursor(at - 1),
                steady: match self.lie {
                    Lie::Steady => u32::MAX,
                    _ => (at - COUNTED).saturating_sub(horizon.bytes() as u32 + 1),
                },
                alike: true,
            }),
            _ => Description::Unknown,
        }
    }

    #[inline]
    fn parts(&self) -> Parts<'_, Self::State, ()> {
        Parts {
            plain_text: Some(self),
            lexicon: Lexicon {
                tells_free: true,
                ..Lexicon::default()
            },
            ..Parts::default()
        }
    }

    fn key(
        &self,
        cursor: Cursor,
        scope: Scope,
        _: usize,
        _: Horizon<'_>,
        (): &mut (),
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        let lie = match scope {
            Scope::Index => Lie::Key,
            Scope::Vocabulary => Lie::CommonKey,
        };
        if scope == Scope::Vocabulary && cursor.0 == ENDED {
            return None;
        }
        out.push(match cursor.0 {
            WORD_OR_OK if self.lie == lie => WORD,
            at => at,
        });
        Some(KeyLanguage {
            name: "descriptions",
            dialect: self.lie as u32,
        })
    }

    fn next_bytes(&self, at: Spot, (): &mut ()) -> ByteSet {
        let (Spot::Cursor(cursor) | Spot::Top(cursor)) = at else {
            return ByteSet::ALL;
        };
        match (cursor.0, self.lie) {
            (WORD_OR_OK, Lie::NextBytes) => ByteSet::of(b"yn"),
            (WORD_OR_OK, _) => ByteSet::of(b"yno"),
            _ => ByteSet::ALL,
        }
    }
}

/// All bytes, and texts of all kinds.
fn vocabulary() -> Vocabulary {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let words = "ab abc abcdefgh zo; zo#o a1 1a ye yes no no! ok ok! o k! ;y ;no #o #ok a#ok <a <abcdefghi a<b ab> abcd>! \
                 abcde>! bcdefghi s! !! zz zzz zzzz zzzzz zzzzzz xyz> <>! é";
    let words = words.split(' ').map(|word| word.as_bytes().to_vec());
    let ids = (0..).map(TokenId::new);
    Vocabulary::new(bytes.chain(words).zip(ids), [TokenId::new(400)]).unwrap()
}

fn told(lie: Lie, on_top: bool) -> Result<(), String> {
    let beginnings = ["", "ab;", "ab#", "#o", "<", "<ab", "<abcdef", ";no", ";no!"];
    let effort = Effort {
        walks: 60,
        ..Effort::default()
    };
    check(&Sample { lie, on_top }, &vocabulary(), &beginnings, effort)
}

#[test]
fn what_is_right_passes() {
    assert_eq!(told(Lie::None, false), Ok(()));
    assert_eq!(told(Lie::None, true), Ok(()));
}

#[test]
fn what_says_too_much_is_caught() {
    let either = |lie| told(lie, false).and(told(lie, true));
    for lie in [
        Lie::Class,
        Lie::Steady,
        Lie::Listed,
        Lie::Apart,
        Lie::Free,
        Lie::Key,
        Lie::CommonKey,
        Lie::NextBytes,
        Lie::Equal,
        Lie::Reader,
    ] {
        assert!(either(lie).is_err(), "{lie:?} is not caught");
    }
}

#[test]
fn a_walk_that_looks_deeper_than_it_says_is_caught() {
    let told = |is_shallow| {
        let mut automaton = json_like::JsonLike::default();
        automaton.is_shallow = is_shallow;
        let bytes = (0..=255u8).map(|byte| vec![byte]);
        let words = "]] }} ]} }] [] {} [{ \"], ]]] \"}";
        let words = words.split(' ').map(|word| word.as_bytes().to_vec());
        let ids = (0..).map(TokenId::new);
        let vocabulary = Vocabulary::new(bytes.chain(words).zip(ids), [TokenId::new(400)]).unwrap();
        let beginnings = ["[[[0", "[{\"count\":0", "[[{\"count\":0", "[[[[0"];
        check(&automaton, &vocabulary, &beginnings, Effort::default())
    };
    assert_eq!(told(false), Ok(()));
    assert!(told(true).is_err());
}

#[test]
fn rows_are_shared_within_a_bound_until_they_are_cleared() {
    let automaton = Sample {
        lie: Lie::None,
        on_top: true,
    };
    let masks = |vocabulary: &Vocabulary| {
        let index = Index::lazy(automaton, vocabulary, &IndexConfig::default()).unwrap();
        let index = Arc::new(index);
        let mut guide = Guide::new(index.clone());
        for byte in b"ab#o" {
            guide.mask().unwrap();
            guide.advance(TokenId::new((*byte).into())).unwrap();
        }
        index.stats()
    };
    let vocabulary = vocabulary();
    assert_eq!(vocabulary.shared_rows().stats().bytes(), 0);
    let first = masks(&vocabulary);
    assert!(first.rows_computed > 0 && first.rows_common == 0);
    let stats = vocabulary.shared_rows().stats();
    assert!(stats.rows > 0 && stats.row_bytes > 0, "{stats:?}");
    let second = masks(&vocabulary.clone());
    assert!(second.rows_computed == 0 && second.rows_common > 0);
    vocabulary.shared_rows().clear();
    assert_eq!(vocabulary.shared_rows().stats().rows, 0);
    assert!(masks(&vocabulary).rows_computed > 0);

    let forgetful = vocabulary.with_shared_rows(0);
    masks(&forgetful);
    assert!(masks(&forgetful).rows_computed > 0);
    assert!(masks(&vocabulary).rows_computed == 0, "the handles differ");
}
