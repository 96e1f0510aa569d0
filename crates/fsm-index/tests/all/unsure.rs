//! Automata that leave few tokens to `advance`, and that number their lists of special tokens.

use std::sync::Arc;

use fsm_index::contract::{Effort, check};
use fsm_index::{
    ByteAutomaton, ByteSet, Completed, Cursor, Guide, Horizon, Index, IndexConfig, KeyLanguage,
    MaskBuffer, Parts, Scope, SpecialId, SpecialNames, TokenId, Vocabulary, VocabularyBuilder,
};

/// Texts of `a`, `b` and `c` without `abc` in them; where none is begun, a special token may
/// stand, too. A walk that begins there does not look out for `abc`.
#[derive(Clone)]
struct Quiet {
    specials: [Box<str>; 1],
    unsure: Vec<Box<[u8]>>,
    /// The number of the list with the token, and of that without it.
    numbers: (Option<u32>, Option<u32>),
    heads: Option<ByteSet>,
}

impl Quiet {
    fn right() -> Quiet {
        Quiet {
            specials: ["<m>".into()],
            unsure: vec![b"ab"[..].into()],
            numbers: (Some(7), None),
            heads: Some(ByteSet::of(b"c")),
        }
    }
}

/// How much of `abc` the text ends in.
fn next(state: u32, byte: u8) -> Option<u32> {
    match (state, byte) {
        (2, b'c') => None,
        (1, b'b') => Some(2),
        (_, b'a') => Some(1),
        (_, b'b' | b'c') => Some(0),
        _ => None,
    }
}

/// Where walks stand that have looked away.
const BLIND: Cursor = Cursor(4);

impl ByteAutomaton for Quiet {
    type State = u32;
    type Scratch = ();

    fn scratch(&self) {}

    fn start(&self) -> u32 {
        0
    }

    fn is_accepting(&self, _: &u32) -> bool {
        true
    }

    fn advance(&self, state: &mut u32, bytes: &[u8], _: &mut ()) -> Result<(), usize> {
        let mut at = *state;
        for (offset, &byte) in bytes.iter().enumerate() {
            at = next(at, byte).ok_or(offset)?;
        }
        *state = at;
        Ok(())
    }

    fn completion(&self, _: &u32, _: usize, _: &mut Vec<u8>) -> Option<Completed> {
        Some(Completed::Whole)
    }

    fn enter(&self, state: &u32, _: &mut ()) -> Cursor {
        Cursor(state + 1)
    }

    fn step(&self, cursor: Cursor, byte: u8, _: &mut ()) -> Cursor {
        match cursor {
            Cursor::DEAD => Cursor::DEAD,
            Cursor(1) | BLIND if b"abc".contains(&byte) => BLIND,
            BLIND => Cursor::DEAD,
            Cursor(at) => next(at - 1, byte).map_or(Cursor::DEAD, |at| Cursor(at + 1)),
        }
    }

    #[inline]
    fn parts(&self) -> Parts<'_, u32, ()> {
        Parts {
            specials: Some(self),
            special_names: SpecialNames {
                names: &self.specials,
                heads: self.heads,
            },
            unsure_texts: &self.unsure,
            ..Parts::default()
        }
    }

    fn key(
        &self,
        cursor: Cursor,
        scope: Scope,
        _: usize,
        _: Horizon<'_>,
        _: &mut (),
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        if scope == Scope::Vocabulary {
            return None;
        }
        out.push(cursor.0);
        Some(KeyLanguage::OWN)
    }
}

impl fsm_index::SpecialTokens<u32, ()> for Quiet {
    fn allowed(
        &self,
        state: &u32,
        entered: Option<(Cursor, &mut ())>,
        out: &mut Vec<SpecialId>,
    ) -> Option<u32> {
        let number = match state {
            0 => self.numbers.0,
            _ => self.numbers.1,
        };
        let number = entered.and(number);
        if number.is_none() && *state == 0 {
            out.push(SpecialId(0));
        }
        number
    }

    fn advance(&self, state: &mut u32, special: SpecialId) -> bool {
        *state == 0 && special == SpecialId(0)
    }
}

/// All bytes, some texts, a special token and an end.
fn vocabulary() -> Vocabulary {
    let mut builder = VocabularyBuilder::new();
    let mut ids = (0..).map(TokenId::new);
    for byte in 0..=255u8 {
        builder.text(ids.next().unwrap(), [byte]).unwrap();
    }
    for text in ["ab", "abc", "bc", "cab", "cabc", "aab", "ca", "abab"] {
        builder.text(ids.next().unwrap(), text).unwrap();
    }
    builder.special(TokenId::new(300), "<m>").unwrap();
    builder.end(TokenId::new(301)).unwrap();
    builder.build().unwrap()
}

#[test]
fn what_hints_leave_open_is_tried() {
    let vocabulary = vocabulary();
    let beginnings = ["", "a", "ab", "cca"];
    let told = |quiet: Quiet| check(&quiet, &vocabulary, &beginnings, Effort::default());
    assert_eq!(told(Quiet::right()), Ok(()));
    let sure = Quiet {
        unsure: Vec::new(),
        ..Quiet::right()
    };
    assert!(told(sure).is_err_and(|error| error.contains("allows what is refused")));
    let numbered = Quiet {
        numbers: (Some(7), Some(7)),
        ..Quiet::right()
    };
    assert!(told(numbered).is_err_and(|error| error.contains("token 300")));
    let headless = Quiet {
        heads: Some(ByteSet::of(b"z")),
        ..Quiet::right()
    };
    assert!(told(headless).is_err());
    let unnumbered = Quiet {
        numbers: (None, None),
        heads: None,
        ..Quiet::right()
    };
    assert_eq!(told(unnumbered), Ok(()));
}

/// A special token may be what ends a text, as well.
#[test]
fn one_buffer_serves_guides_with_other_ends() {
    let lazy = IndexConfig::default();
    let index = Arc::new(Index::lazy(Quiet::right(), &vocabulary(), &lazy).unwrap());
    let token = |id| TokenId::new(id);
    let guides = || {
        let plain = Guide::new(index.clone());
        let ends = plain.clone().with_end_tokens([token(300)]).unwrap();
        let none = plain.clone().with_end_tokens([]).unwrap();
        [plain, ends, none]
    };
    let mut buffer = MaskBuffer::new(0);
    let mut guides = guides();
    for text in [b'a', b'b', b'b', b'a', b'c', b'c'] {
        for guide in &mut guides {
            guide.write_mask(&mut buffer).unwrap();
            let mut fresh = MaskBuffer::new(0);
            guide.clone().write_mask(&mut fresh).unwrap();
            assert_eq!(buffer.mask(), fresh.mask());
            guide.advance(token(text.into())).unwrap();
        }
    }
    let specials = |guide: &mut Guide<Quiet>| {
        let mask = guide.mask().unwrap();
        [300, 301].map(|id| mask.allows(token(id)))
    };
    assert_eq!(
        guides.each_mut().map(specials),
        [[true, true], [true, false], [true, false]]
    );
    for guide in &mut guides {
        guide.advance(token(u32::from(b'a'))).unwrap();
    }
    assert_eq!(
        guides.each_mut().map(specials),
        [[false, true], [true, false], [false, false]]
    );
}
