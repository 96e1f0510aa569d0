//! Where a text ends: end tokens of one request, and what comes behind them.

use std::sync::Arc;

use fsm_index::{
    AfterEnd, ErrorKind, Fill, Guide, Index, IndexConfig, MaskBuffer, TokenId, Vocabulary,
    mask_batch,
};

const A: TokenId = TokenId::new(0);
const B: TokenId = TokenId::new(1);
/// The vocabulary's end token, and two tokens that it knows nothing of.
const END: TokenId = TokenId::new(2);
const OTHER: TokenId = TokenId::new(3);
const THIRD: TokenId = TokenId::new(4);

fn guide(pattern: &str) -> Guide {
    let tokens = [(b"a", A), (b"b", B)].map(|(text, id)| (text.as_slice(), id));
    let vocabulary = Vocabulary::new(tokens, [END])
        .unwrap()
        .with_width(5)
        .unwrap();
    Guide::new(Arc::new(Index::new(pattern, &vocabulary).unwrap()))
}

/// A server's request names tokens of its own that stop it (`stop_token_ids`): they take the
/// place of the vocabulary's, for this text alone.
#[test]
fn a_request_has_end_tokens_of_its_own() {
    let plain = guide("ab?");
    let mut own = plain
        .clone()
        .with_end_tokens([THIRD, OTHER, OTHER])
        .unwrap();
    assert_eq!(own.allowed_tokens().unwrap(), [A]);
    assert_eq!(
        own.advance(OTHER).unwrap_err().kind(),
        ErrorKind::TokenRefused
    );
    own.advance(A).unwrap();
    assert_eq!(own.allowed_tokens().unwrap(), [B, OTHER, THIRD]);
    let mut buffer = MaskBuffer::new(5);
    own.write_mask(&mut buffer).unwrap();
    assert_eq!(buffer.mask(), own.mask().unwrap());
    assert_eq!(
        own.advance(END).unwrap_err().kind(),
        ErrorKind::TokenRefused
    );
    assert_eq!(own.validate(&[B, OTHER, B]), 2);
    // Another text of the same index ends as before, with the same buffer.
    let mut plain = plain;
    plain.advance(A).unwrap();
    plain.write_mask(&mut buffer).unwrap();
    assert_eq!(
        buffer.mask().iter().collect::<Vec<_>>(),
        plain.allowed_tokens().unwrap()
    );
    assert_eq!(plain.allowed_tokens().unwrap(), [B, END]);
    // Many at once.
    let mut both = [own.clone(), plain];
    let mut words = [0u32; 2];
    mask_batch(&mut both, &mut words).unwrap();
    assert_eq!(words, [0b11010, 0b00110]);

    own.advance(THIRD).unwrap();
    assert!(own.has_ended() && own.is_finished());
    assert!(own.allowed_tokens().unwrap().is_empty());
}

/// Nothing ends a text that has no end tokens; it is complete all the same.
#[test]
fn a_text_may_have_no_end_token() {
    let mut guide = guide("a").with_end_tokens([]).unwrap();
    guide.advance(A).unwrap();
    assert!(guide.is_accepting() && guide.is_finished() && !guide.has_ended());
    assert!(guide.allowed_tokens().unwrap().is_empty());
}

#[test]
fn text_ends_nothing_and_tokens_have_a_place_in_masks() {
    for wrong in [B, TokenId::new(5), TokenId::new(1 << 30)] {
        let error = guide("ab").with_end_tokens([END, wrong]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Vocabulary);
        assert!(error.to_string().contains(&wrong.to_string()), "{error}");
    }
}

/// Complete and ended are two questions, and going back past the end token un-ends.
#[test]
fn going_back_past_the_end_goes_on() {
    let mut guide = guide("ab?").with_after_end(AfterEnd::Ignore);
    guide.advance(A).unwrap();
    assert!(guide.is_accepting() && !guide.has_ended());
    guide.advance(END).unwrap();
    assert!(guide.is_accepting() && guide.has_ended());
    // What an engine sends behind the end is counted and changes nothing.
    assert_eq!(guide.validate(&[B, A]), 2);
    guide.advance(B).unwrap();
    guide.advance(OTHER).unwrap();
    assert_eq!(guide.len(), 4);
    assert!(guide.allowed_tokens().unwrap().is_empty());
    guide.rollback(2).unwrap();
    assert!(guide.has_ended());
    guide.rollback(1).unwrap();
    assert!(!guide.has_ended());
    assert_eq!(guide.allowed_tokens().unwrap(), [B, END]);
    guide.advance(B).unwrap();
    assert_eq!(guide.clone().allowed_tokens().unwrap(), [END]);
}

#[test]
fn what_comes_after_the_end_is_refused_unless_asked() {
    let mut guide = guide("a");
    guide.advance(A).unwrap();
    guide.advance(END).unwrap();
    assert_eq!(guide.advance(A).unwrap_err().kind(), ErrorKind::GuideState);
    assert_eq!(guide.validate(&[A]), 0);
    assert_eq!(guide.len(), 2);
}

/// End tokens of a request work alike where rows are packed, lent or computed as they are
/// asked for.
#[test]
fn each_way_to_fill_an_index_agrees() {
    let plain = guide("(ab|ba){0,3}");
    let vocabulary = plain.index().vocabulary().clone();
    let automaton = plain.index().automaton().clone();
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let lazy = Index::lazy(automaton, &vocabulary, &config).unwrap();
    let mut both =
        [plain, Guide::new(Arc::new(lazy))].map(|guide| guide.with_end_tokens([OTHER]).unwrap());
    for token in [A, B, B, A, OTHER] {
        let [first, second] = &mut both;
        assert_eq!(first.mask().unwrap(), second.mask().unwrap());
        let complete = first.is_accepting();
        assert_eq!(first.mask().unwrap().allows(OTHER), complete);
        assert!(!first.mask().unwrap().allows(END));
        both.iter_mut()
            .for_each(|guide| guide.advance(token).unwrap());
    }
    assert!(both.iter().all(Guide::has_ended));
}

/// A guide at the state of another one goes on as that one does, and begins there.
#[test]
fn a_guide_begins_at_a_state() {
    let mut first = guide("(ab|ba){1,3}");
    first.advance(A).unwrap();
    let mut second = Guide::at(first.index().clone(), *first.state());
    assert!(second.is_empty());
    assert_eq!(second.mask().unwrap(), first.mask().unwrap());
    assert!(second.advance(A).is_err());
    assert_eq!(
        second.rollback(1).unwrap_err().kind(),
        ErrorKind::GuideState
    );
    second.advance(B).unwrap();
    first.advance(B).unwrap();
    assert!(second.is_accepting());
    assert_eq!(second.mask().unwrap(), first.mask().unwrap());
}
