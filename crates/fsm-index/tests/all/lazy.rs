//! The lazy index over an automaton with a stack: every hint is right, whatever
//! the vocabulary, and many threads see the same masks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fsm_index::contract::{Effort, check, check_spelling};
use fsm_index::{
    Budget, ByteAutomaton, Completed, ErrorKind, Fill, Guide, Index, IndexConfig, Parts, SpecialId,
    SpecialNames, TokenId, Vocabulary, VocabularyBuilder, brute_force_mask, mask_batch,
};
use proptest::prelude::*;

use crate::json_like::JsonLike;

fn vocabulary(words: &[impl AsRef<[u8]>]) -> Vocabulary {
    let bytes = (0..=255u8).map(|b| vec![b]);
    let words = bytes.chain(words.iter().map(|w| w.as_ref().to_vec()));
    let end = 256 + 4096;
    Vocabulary::new(
        words.zip((0..).map(TokenId::new)),
        [end, end + 1].map(TokenId::new),
    )
    .unwrap()
}

/// Tokens as real vocabularies have them, at the joints above all.
const WORDS: [&str; 44] = [
    "free",
    "short",
    "long",
    "code",
    "kind",
    "count",
    "fre",
    "e\"",
    "e\":",
    "\"free",
    "\"free\"",
    "\"free\":",
    ",\"free\":",
    ", \"free\":\"",
    "\",\"free\":\"",
    "\",\"kind\":\"alpha\"",
    "alpha",
    "alphabet\"",
    "bet",
    "\"}",
    "}}",
    "]}",
    "}]}",
    "\"]}]",
    "{\"",
    "[{\"",
    "\": ",
    "\":\"",
    "a-b",
    "-b\"",
    "abc",
    "hello world",
    "x\"}",
    "\\n",
    "\\n\\n",
    "é",
    "\u{e9}\"",
    "中文",
    "10",
    "1.5e",
    "},{\"",
    "\"free\":1,\"free\"",
    "{\"free\":\"\",\"kind\"",
    "            ",
];

/// Where every kind of state is near.
const BEGINNINGS: [&str; 9] = [
    "{\"short\": \"",
    "{\"short\":\"some text, 18 ch",
    "[{\"long\":\"",
    "{\"code\":\"",
    "[[{\"free\":\"\",\"code\": \"a-",
    "{\"kind\":\"al",
    "{\"free\":\"x\",\"kind\":\"beta\",\"",
    "{\"count\":-1, \"x\":{\"count\":1",
    "[[[[{\"free\":\"",
];

#[test]
fn every_hint_of_a_stack_automaton_is_right() {
    let vocabulary = vocabulary(&WORDS);
    let effort = Effort {
        walks: 150,
        ..Effort::default()
    };
    check(&JsonLike::default(), &vocabulary, &BEGINNINGS, effort).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_hint_is_right_whatever_the_tokens(
        words in prop::collection::vec("[\\[\\]{}\",:a-c\\-1\\\\é ]{2,6}|(free|short|kind|code)[\",:{} ]{0,4}", 1..40),
        seed: u64,
    ) {
        let effort = Effort { walks: 6, tokens: 25, seed };
        check(&JsonLike::default(), &vocabulary(&words), &BEGINNINGS, effort).unwrap();
    }
}

#[test]
fn masks_are_remembered_by_the_top_of_the_stack() {
    let index = Arc::new(lazy(IndexConfig::default()));
    let mut guide = Guide::new(index.clone());
    let rows = |text: &str| {
        let mut guide = guide.clone();
        for byte in text.bytes() {
            guide.advance(TokenId::new(byte.into())).unwrap();
        }
        let mask = guide.mask().unwrap().clone();
        (mask, index.stats().row_bytes)
    };
    let (mask, bytes) = rows("[{\"a\":{\"x\":\"te");
    // Deeper, and after other keys, and further on: nothing new.
    for text in [
        "[{\"a\":{\"x\":\"text and more",
        "[{\"a\":{\"b\":0, \"x\":\"t",
        "[{\"q\":{\"yyy\":[], \"x\":\"t",
    ] {
        assert_eq!(rows(text), (mask.clone(), bytes));
    }
    guide.advance(TokenId::new(b'[' as u32)).unwrap();
    assert!(!guide.is_finished());
    assert_eq!(guide.completion().unwrap(), b"]");
}

fn lazy(config: IndexConfig) -> Index<JsonLike> {
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..config
    };
    Index::lazy(JsonLike::default(), &vocabulary(&WORDS), &config).unwrap()
}

/// Threads with guides of their own, in an index that must often begin anew.
#[test]
fn many_threads_see_the_same_masks() {
    for max_row_bytes in [1 << 30, 20_000, 0] {
        let index = Arc::new(lazy(IndexConfig {
            max_row_bytes,
            ..IndexConfig::default()
        }));
        std::thread::scope(|scope| {
            for thread in 0..6u64 {
                let index = &index;
                scope.spawn(move || {
                    let mut chance = thread;
                    for _ in 0..8 {
                        let mut guide = Guide::new(index.clone());
                        let mut fork = guide.clone();
                        for _ in 0..30 {
                            let state = guide.state().clone();
                            let vocabulary = index.vocabulary();
                            let expected = brute_force_mask(index.automaton(), &state, vocabulary);
                            assert_eq!(guide.mask().unwrap(), &expected);
                            assert_eq!(fork.mask().unwrap(), &expected);
                            let allowed: Vec<_> = expected.iter().collect();
                            chance = chance.wrapping_mul(6_364_136_223_846_793_005) + 1;
                            let token = allowed[(chance >> 33) as usize % allowed.len()];
                            guide.advance(token).unwrap();
                            fork = guide.clone();
                            if guide.mask().unwrap().is_empty() {
                                break;
                            }
                            let taken = guide.len();
                            fork.rollback(taken / 2).unwrap();
                            fork.mask().unwrap();
                            fork = guide.clone();
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn a_budget_stops_a_mask_and_leaves_the_guide_as_it_was() {
    let index = Arc::new(lazy(IndexConfig::default()));
    let mut guide = Guide::new(index);
    let error = guide.mask_within(&Budget::steps(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    insta::assert_snapshot!(error.to_string(), @"limit `max_steps` of 1 nodes exceeded; raise it, or let the masks be computed where more time is left");
    let cancel = Arc::new(AtomicBool::new(true));
    let budget = Budget {
        cancel: Some(cancel.clone()),
        ..Budget::default()
    };
    let error = guide.mask_within(&budget).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    insta::assert_snapshot!(error.to_string(), @"the computation was called off; the guide is unchanged and may ask again");
    cancel.store(false, Ordering::Relaxed);
    let mask = guide.mask_within(&budget).unwrap().clone();
    assert_eq!(&mask, guide.mask().unwrap());
    assert!(!mask.is_empty());

    let config = IndexConfig {
        budget: Budget::steps(10),
        ..IndexConfig::default()
    };
    let dfa = fsm_index::Config::default();
    let built = Index::with_config("[a-z]+", &vocabulary(&WORDS), &dfa, &config);
    assert_eq!(built.unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn proposals_are_validated_and_batches_filled() {
    let index = Arc::new(lazy(IndexConfig::default()));
    let tokens = |text: &str| {
        text.bytes()
            .map(|b| TokenId::new(b.into()))
            .collect::<Vec<_>>()
    };
    let mut guide = Guide::new(index.clone());
    assert_eq!(guide.validate(&tokens("[1,2]")), 5);
    assert_eq!(guide.validate(&tokens("[1,}")), 3);
    let end = index.vocabulary().ends()[1];
    let done = [&tokens("[]")[..], &[end, end]].concat();
    assert_eq!(guide.validate(&done), 3);
    assert!(guide.is_empty());

    let mut guides: Vec<_> = ["", "[", "{\"a", "[1", "\"x"]
        .iter()
        .map(|text| {
            let mut guide = Guide::new(index.clone());
            tokens(text)
                .into_iter()
                .for_each(|t| guide.advance(t).unwrap());
            guide
        })
        .collect();
    let words = index.vocabulary().width().div_ceil(32) + 2;
    let mut out = vec![7u32; words * guides.len()];
    mask_batch(&mut guides, &mut out).unwrap();
    let mut signed = vec![7i32; words * guides.len()];
    mask_batch(&mut guides, &mut signed).unwrap();
    assert!(
        out.iter()
            .zip(&signed)
            .all(|(a, b)| *a == b.cast_unsigned())
    );
    for (guide, out) in guides.iter_mut().zip(out.chunks(words)) {
        assert_eq!(guide.mask().unwrap().words(), &out[..words - 2]);
        assert_eq!(out[words - 2..], [0, 0]);
    }
    let error = mask_batch(&mut guides, &mut signed[..9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BufferSize);
    assert!(mask_batch(&mut guides, &mut [] as &mut [u32]).is_err());
    assert!(mask_batch::<JsonLike, u32>(&mut [], &mut []).is_ok());
}

/// `a*` then a special token, any number of times, then `z`.
#[derive(Clone)]
struct Marked([Box<str>; 1]);

impl ByteAutomaton for Marked {
    type State = u32;
    type Scratch = ();

    fn scratch(&self) {}

    fn start(&self) -> u32 {
        1
    }

    fn is_accepting(&self, state: &u32) -> bool {
        *state == 2
    }

    fn advance(&self, state: &mut u32, bytes: &[u8], _: &mut ()) -> Result<(), usize> {
        let mut at = fsm_index::Cursor(*state);
        for (offset, &byte) in bytes.iter().enumerate() {
            at = self.step(at, byte, &mut ());
            if at.is_dead() {
                return Err(offset);
            }
        }
        *state = at.0;
        Ok(())
    }

    fn completion(&self, state: &u32, max_bytes: usize, out: &mut Vec<u8>) -> Option<Completed> {
        let fits = *state == 2 || max_bytes > 0;
        out.extend((*state == 1 && fits).then_some(b'z'));
        fits.then_some(Completed::Whole)
    }

    fn enter(&self, state: &u32, _: &mut ()) -> fsm_index::Cursor {
        fsm_index::Cursor(*state)
    }

    fn step(&self, cursor: fsm_index::Cursor, byte: u8, _: &mut ()) -> fsm_index::Cursor {
        fsm_index::Cursor(match (cursor.0, byte) {
            (1, b'a') => 1,
            (1, b'z') => 2,
            _ => 0,
        })
    }

    #[inline]
    fn parts(&self) -> Parts<'_, u32, ()> {
        Parts {
            specials: Some(self),
            special_names: SpecialNames {
                names: &self.0,
                heads: None,
            },
            ..Parts::default()
        }
    }
}

impl fsm_index::SpecialTokens<u32, ()> for Marked {
    fn allowed(
        &self,
        state: &u32,
        _: Option<(fsm_index::Cursor, &mut ())>,
        out: &mut Vec<SpecialId>,
    ) -> Option<u32> {
        if *state == 1 {
            out.push(SpecialId(0));
        }
        None
    }

    fn advance(&self, state: &mut u32, special: SpecialId) -> bool {
        *state == 1 && special == SpecialId(0)
    }
}

#[test]
fn special_tokens_are_symbols_and_never_spelt() {
    let marked = |name: &str| Marked([name.into()]);
    let mut builder = VocabularyBuilder::new();
    for byte in 0..=255u8 {
        builder.text(TokenId::new(byte.into()), [byte]).unwrap();
    }
    builder.special(TokenId::new(300), "<mark>").unwrap();
    builder.special(TokenId::new(301), "a").unwrap();
    builder.end(TokenId::new(302)).unwrap();
    let vocabulary = builder.build().unwrap();
    check(
        &marked("<mark>"),
        &vocabulary,
        &["", "aa"],
        Effort::default(),
    )
    .unwrap();
    let index = Index::lazy(marked("<mark>"), &vocabulary, &IndexConfig::default()).unwrap();
    let mut guide = Guide::new(Arc::new(index));
    let ids = |ids: &[u32]| ids.iter().copied().map(TokenId::new).collect::<Vec<_>>();
    assert_eq!(guide.allowed_tokens().unwrap(), ids(&[97, 122, 300]));
    guide.advance(TokenId::new(300)).unwrap();
    assert!(guide.advance(TokenId::new(301)).is_err());
    guide.advance(TokenId::new(97)).unwrap();
    guide.advance(TokenId::new(122)).unwrap();
    assert_eq!(guide.allowed_tokens().unwrap(), ids(&[302]));
    assert!(guide.advance(TokenId::new(300)).is_err());
    guide.rollback(3).unwrap();
    assert_eq!(guide.allowed_tokens().unwrap(), ids(&[97, 122, 300]));
    let missing = Index::lazy(marked("<no>"), &vocabulary, &IndexConfig::default());
    insta::assert_snapshot!(missing.unwrap_err().to_string(), @r#"the vocabulary has no special token "<no>", which the constraint reads; use the tokenizer that the format is made for"#);
}

/// Nothing was to be had where a byte was missing, although an object is all that cannot
/// be ended without it.
#[test]
fn a_vocabulary_without_all_bytes_allows_what_can_be_ended() {
    let words = (0..=255u8).filter(|b| *b != b'}' && *b != 0xFF);
    let tokens = words.map(|b| [b]).zip((0..).map(TokenId::new));
    let vocabulary = Vocabulary::new(tokens, []).unwrap();
    let index = Index::lazy(JsonLike::default(), &vocabulary, &IndexConfig::default());
    let mut guide = Guide::new(Arc::new(index.unwrap()));
    let mask = guide.mask().unwrap().clone();
    let allows = |byte: u8| mask.allows(TokenId::new(byte.into()));
    assert!(allows(b'[') && allows(b'"') && !allows(b'{'));
    assert!(guide.advance(TokenId::new(b'{'.into())).is_err());
}

/// An automaton of one's own can say what it does without.
#[test]
fn control_characters_are_not_missed() {
    let whole = vocabulary(&["\":", "\"code\"", "alpha", "[1", "é\"", "\u{1}x"]);
    let effort = Effort {
        walks: 8,
        tokens: 12,
        seed: 2,
    };
    for missing in [&b"\x01\xF1"[..], b"\x04\xC3", b"a", b"\"", b"b{"] {
        let lacking = whole.without_bytes(missing).unwrap();
        assert_eq!(lacking.missing_bytes(), missing);
        match Index::lazy(JsonLike::default(), &lacking, &IndexConfig::default()) {
            Ok(_) => check_spelling(&JsonLike::default(), &lacking, &["[\"", "{\"code"], effort)
                .unwrap_or_else(|e| panic!("without {missing:?}: {e}")),
            Err(error) => assert_eq!(error.kind(), ErrorKind::CannotSpell),
        }
    }
}
