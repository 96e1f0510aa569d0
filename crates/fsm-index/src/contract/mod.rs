//! A check of the promises of a [`ByteAutomaton`], for the tests of those who write one. For
//! example, an automaton whose key is the same at two states with different masks fails the check.

use crate::automaton::{AskParts, MAX_COMPLETION};
use std::collections::HashMap;
use std::sync::Arc;

use crate::spelling::Search;
use crate::tokens::{Area, Having};
use crate::walk::Walker;
use crate::{
    ByteAutomaton, ByteSet, Completed, Cursor, Guide, Index, IndexConfig, MaskBuffer, Scope,
    SpecialId, Spot, TextRuns, TokenId, TokenMask, Vocabulary, brute_force_mask,
};

/// The effort of [`check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Texts that are begun.
    pub walks: usize,
    /// Tokens of each, at most.
    pub tokens: usize,
    /// The seed of the choice of tokens; the same seed makes the same texts.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Effort {
            walks: 30,
            tokens: 40,
            seed: 1,
        }
    }
}

/// Leads texts through `automaton`, which begin in turn with each of
/// `beginnings` (texts that it must take) or with nothing, and go on with allowed
/// tokens, chosen by chance; and compares at every state
///
/// - the mask by brute force ([`brute_force_mask`]) with those of indexes that
///   use all hints, none, no memory, and a vocabulary that nobody has used before,
///   also where each is written over the one before it into one [`MaskBuffer`];
/// - what [`ByteAutomaton::advance`] says with what
///   [`ByteAutomaton::step`] says, byte by byte, and both with
///   [`ByteAutomaton::next_bytes`];
/// - masks under the same [`ByteAutomaton::key`] with each other, and special tokens
///   under the same number of [`SpecialTokens::allowed`](crate::SpecialTokens::allowed);
/// - [`ByteAutomaton::completion`] with what may come, and that it ends in
///   acceptance: there is no dead end.
///
/// O(effort x bytes of the vocabulary): seconds for small vocabularies.
///
/// # Errors
///
/// The first difference, as a sentence with the text that leads to it.
pub fn check<A: ByteAutomaton + Clone>(
    automaton: &A,
    vocabulary: &Vocabulary,
    beginnings: &[&str],
    effort: Effort,
) -> Result<(), String> {
    let lazily = |vocabulary: &Vocabulary, text_runs, max_row_bytes| {
        let config = IndexConfig {
            fill: crate::Fill::Lazy,
            text_runs,
            max_row_bytes,
            ..IndexConfig::default()
        };
        Index::lazy(automaton.clone(), vocabulary, &config)
            .map(Arc::new)
            .map_err(|e| e.to_string())
    };
    let unused = vocabulary.with_width(vocabulary.width());
    let unused = unused.map_err(|e| e.to_string())?;
    let indexes = [
        (
            "with every hint",
            lazily(vocabulary, TextRuns::Always, 1 << 30)?,
        ),
        (
            "by walks alone",
            lazily(vocabulary, TextRuns::Never, 1 << 30)?,
        ),
        ("without memory", lazily(vocabulary, TextRuns::Always, 0)?),
        (
            "before anything is cut",
            lazily(&unused, TextRuns::Auto, 1 << 30)?,
        ),
    ];
    let mut buffer = MaskBuffer::new(0);
    let mut chance = effort.seed;
    let mut by_key: HashMap<Vec<u32>, TokenMask> = HashMap::new();
    let mut lists: HashMap<u32, Vec<SpecialId>> = HashMap::new();
    for walk in 0..effort.walks {
        let beginning = match walk % (beginnings.len() + 1) {
            0 => "",
            at => beginnings[at - 1],
        };
        let mut text = beginning.as_bytes().to_vec();
        let guides = indexes.iter().map(|(_, index)| begun(index, &text));
        let mut guides: Vec<Guide<A>> = guides.collect::<Result<_, _>>()?;
        for _ in 0..effort.tokens {
            let shown = || format!("after {:?}", String::from_utf8_lossy(&text));
            let state = guides[0].state().clone();
            let expected = brute_force_mask(automaton, &state, vocabulary);
            for (guide, (name, _)) in guides.iter_mut().zip(&indexes) {
                let said = |e: crate::Error| format!("{}: the mask {name}: {e}", shown());
                guide.write_mask(&mut buffer).map_err(said)?;
                let mask = guide.mask().map_err(said)?;
                for (found, how) in [(mask, ""), (buffer.mask(), ", written over,")] {
                    if found != &expected {
                        return Err(format!(
                            "{}: the mask {name}{how} {}",
                            shown(),
                            differ(found, &expected, vocabulary)
                        ));
                    }
                }
            }
            same_key(automaton, &state, vocabulary, &expected, &mut by_key)
                .and_then(|()| same_list(automaton, &state, &mut lists))
                .and_then(|()| completes(automaton, &state))
                .map_err(|e| format!("{}: {e}", shown()))?;
            let allowed: Vec<TokenId> = expected.iter().collect();
            if allowed.is_empty() {
                break;
            }
            let token = allowed[next(&mut chance) % allowed.len()];
            for guide in &mut guides {
                guide
                    .advance(token)
                    .map_err(|e| format!("{}: {e}", shown()))?;
            }
            match vocabulary.token_bytes(token) {
                Some(bytes) => {
                    stepwise(automaton, &state, bytes).map_err(|e| format!("{}: {e}", shown()))?;
                    text.extend_from_slice(bytes);
                }
                None if vocabulary.ends().contains(&token) => break,
                None => text.extend_from_slice(format!("<{token}>").as_bytes()),
            }
        }
    }
    Ok(())
}

/// As [`check`] for a vocabulary that lacks bytes: leads texts through `automaton` and compares
/// the masks of an index, computed and remembered, with what searches from behind each token say
/// that remember nothing of other masks. So it checks
/// [`PlainText::can_do_without`](crate::PlainText::can_do_without), and that
/// [`ByteAutomaton::key`] tells states apart for tokens of any length.
///
/// For example, an automaton of `a|b~` that claims to do without `~` is told that `b` leads to
/// where no token goes on.
///
/// O(effort x tokens of the vocabulary) completions, and as many searches where these are not
/// spelt.
///
/// # Errors
///
/// The first difference, as a sentence with the text that leads to it; or that no text at all is
/// spelt.
///
/// ```
/// use fsm_index::contract::{Effort, check_spelling};
/// use fsm_index::{Config, Dfa, TokenId, Vocabulary};
///
/// let automaton = Dfa::new("(a|b~)*")?.to_bytes(&Config::default())?;
/// let tokens = ["a", "b", "aa", "ba"].iter().zip(0..);
/// let tokens = tokens.map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(4)])?;
/// check_spelling(&automaton, &vocabulary, &["a"], Effort::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_spelling<A: ByteAutomaton + Clone>(
    automaton: &A,
    vocabulary: &Vocabulary,
    beginnings: &[&str],
    effort: Effort,
) -> Result<(), String> {
    let config = IndexConfig {
        fill: crate::Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton.clone(), vocabulary, &config).map_err(|e| e.to_string())?;
    let index = Arc::new(index);
    let mut scratch = automaton.scratch();
    let mut chance = effort.seed;
    for walk in 0..effort.walks {
        let beginning = match walk % (beginnings.len() + 1) {
            0 => "",
            at => beginnings[at - 1],
        };
        let mut text = beginning.as_bytes().to_vec();
        let mut guide = begun(&index, &text)?;
        // A beginning is no token, and may lead to where none goes on.
        if !Search::default().is_live(automaton, vocabulary, guide.state()) {
            continue;
        }
        for _ in 0..effort.tokens {
            let shown = || format!("after {:?}", String::from_utf8_lossy(&text));
            let state = guide.state().clone();
            // Searches for one mask may share what they found, or dead ends would take for ever.
            let search = Search::default();
            let is_live = |state: &A::State| search.is_live(automaton, vocabulary, state);
            let mut expected = TokenMask::none(vocabulary.width());
            for token in &brute_force_mask(automaton, &state, vocabulary) {
                let mut after = state.clone();
                let goes_on = match vocabulary.token_bytes(token) {
                    Some(bytes) => {
                        let done = automaton.advance(&mut after, bytes, &mut scratch);
                        done.is_ok() && is_live(&after)
                    }
                    None if vocabulary.ends().contains(&token)
                        && automaton.is_accepting(&state) =>
                    {
                        true
                    }
                    None => {
                        let mut names = automaton.parts().special_names.names.iter();
                        let at = names.position(|name| vocabulary.special(name) == Some(token));
                        at.is_some_and(|at| {
                            automaton.advance_special(&mut after, SpecialId(at as u32))
                        }) && is_live(&after)
                    }
                };
                if goes_on {
                    expected.allow(token);
                }
            }
            // The second guide has no row of its own, and finds what the first one left.
            let mut second = guide.clone();
            for (guide, how) in [(&mut guide, "computed"), (&mut second, "remembered")] {
                let said = |e: crate::Error| format!("{}: the mask {how}: {e}", shown());
                let found = guide.mask().map_err(said)?;
                if found != &expected {
                    let differ = differ(found, &expected, vocabulary);
                    return Err(format!("{}: the mask {how} {differ}", shown()));
                }
            }
            let allowed: Vec<TokenId> = expected.iter().collect();
            if allowed.is_empty() {
                return Err(format!("{}: nothing may come", shown()));
            }
            let token = allowed[next(&mut chance) % allowed.len()];
            let said = |e| format!("{}: {e}", shown());
            guide.advance(token).map_err(said)?;
            match vocabulary.token_bytes(token) {
                Some(bytes) => text.extend_from_slice(bytes),
                None if vocabulary.ends().contains(&token) => break,
                None => text.extend_from_slice(format!("<{token}>").as_bytes()),
            }
        }
    }
    Ok(())
}

/// Returns a guide behind a text that is not cut into tokens.
fn begun<A: ByteAutomaton>(index: &Arc<Index<A>>, text: &[u8]) -> Result<Guide<A>, String> {
    let automaton = index.automaton();
    let mut state = automaton.start();
    automaton
        .advance(&mut state, text, &mut automaton.scratch())
        .map_err(|at| {
            let text = String::from_utf8_lossy(text);
            format!("byte {at} of the beginning {text:?} is refused")
        })?;
    Ok(Guide::at(index.clone(), state))
}

/// The next number by chance.
fn next(chance: &mut u64) -> usize {
    *chance = chance
        .wrapping_mul(0x5851_F42D_4C95_7F2D)
        .wrapping_add(0x1405_7B7E_F767_814F);
    (*chance >> 33) as usize
}

/// Returns the difference of two masks, as the end of a sentence.
fn differ(found: &TokenMask, expected: &TokenMask, vocabulary: &Vocabulary) -> String {
    let names = |of: &TokenMask, not: &TokenMask| {
        let tokens: Vec<String> = of
            .iter()
            .filter(|&token| !not.allows(token))
            .take(8)
            .map(|token| match vocabulary.token_bytes(token) {
                Some(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
                None => format!("token {token}"),
            })
            .collect();
        tokens.join(", ")
    };
    format!(
        "allows what is refused: [{}], and refuses what is allowed: [{}]",
        names(found, expected),
        names(expected, found)
    )
}

/// RowMaker under one key, exceptions aside, are one mask.
fn same_key<A: ByteAutomaton>(
    automaton: &A,
    state: &A::State,
    vocabulary: &Vocabulary,
    expected: &TokenMask,
    by_key: &mut HashMap<Vec<u32>, TokenMask>,
) -> Result<(), String> {
    let mut exceptional = false;
    automaton.exceptions(state, &mut |_, _| exceptional = true);
    let mut specials = Vec::new();
    automaton.allowed_specials(state, &mut specials);
    let unsure = Having::OneOf(automaton.parts().unsure_texts.into());
    if exceptional || !specials.is_empty() || !vocabulary.find_having(&unsure).is_empty() {
        return Ok(());
    }
    let mut scratch = automaton.scratch();
    let cursor = automaton.enter(state, &mut scratch);
    let trie = vocabulary.trie();
    let mut walker = Walker::default();
    walker.begin::<A>();
    let meter = &mut crate::budget::Meter::default();
    walker.walk(
        automaton,
        cursor,
        &mut scratch,
        Area::all(trie),
        meter,
        |_, _| {},
    );
    let depth = automaton.depth_used(&scratch).max(1);
    let mut key = vec![depth as u32];
    let (scope, horizon) = (Scope::Index, trie.horizon());
    let told = automaton.key(cursor, scope, depth, horizon, &mut scratch, &mut key);
    if told.is_none() {
        return Ok(());
    }
    match by_key.get(&key) {
        Some(known) if known != expected => Err(format!(
            "the key {key:?} stands for two masks: this one {}",
            differ(expected, known, vocabulary)
        )),
        Some(_) => Ok(()),
        None => {
            by_key.insert(key, expected.clone());
            Ok(())
        }
    }
}

/// Special tokens that are listed under one number are the same.
fn same_list<A: ByteAutomaton>(
    automaton: &A,
    state: &A::State,
    lists: &mut HashMap<u32, Vec<SpecialId>>,
) -> Result<(), String> {
    let Some(specials) = automaton.parts().specials else {
        return Ok(());
    };
    let (mut expected, mut listed) = (Vec::new(), Vec::new());
    specials.allowed(state, None, &mut expected);
    let mut scratch = automaton.scratch();
    let cursor = automaton.enter(state, &mut scratch);
    let number = specials.allowed(state, Some((cursor, &mut scratch)), &mut listed);
    let promised = automaton.parts().special_names.heads;
    let heads = promised.unwrap_or(ByteSet::ALL);
    let mut bytes = (0..=u8::MAX).filter(|byte| heads.has(*byte));
    let is_promised = promised.is_some() && !expected.is_empty();
    if is_promised && bytes.all(|byte| automaton.step(cursor, byte, &mut scratch).is_dead()) {
        return Err(format!(
            "the special tokens {expected:?} may come, and none of their heads"
        ));
    }
    let is_same = match number {
        None => listed == expected,
        Some(number) => {
            let known = lists.entry(number).or_insert_with(|| expected.clone());
            listed.is_empty() && *known == expected
        }
    };
    if is_same {
        return Ok(());
    }
    Err(format!(
        "the special tokens {expected:?} are listed as {listed:?} and number {number:?}"
    ))
}

/// The completion may come, and ends in acceptance, special tokens on its way
/// counted in.
fn completes<A: ByteAutomaton>(automaton: &A, state: &A::State) -> Result<(), String> {
    let mut after = state.clone();
    for _ in 0..MAX_SPECIALS {
        let mut text = Vec::new();
        let Some(completed) = automaton.completion(&after, MAX_COMPLETION, &mut text) else {
            return Err("there is no completion".to_owned());
        };
        let shown = String::from_utf8_lossy(&text);
        if let Err(at) = automaton.advance(&mut after, &text, &mut automaton.scratch()) {
            return Err(format!(
                "the completion {shown:?} is refused at its byte {at}"
            ));
        }
        let special = match completed {
            Completed::Whole if automaton.is_accepting(&after) => return Ok(()),
            Completed::Whole => {
                return Err(format!(
                    "the completion {shown:?} does not end in acceptance"
                ));
            }
            Completed::Before(special) => special,
        };
        if !automaton.advance_special(&mut after, special) {
            return Err(format!(
                "the special token {} behind the completion {shown:?} is refused",
                special.0
            ));
        }
    }
    Err(format!(
        "the completion has more than {MAX_SPECIALS} special tokens"
    ))
}

/// The most special tokens that a completion may need, because a wrong automaton may ask for
/// another one for ever.
const MAX_SPECIALS: usize = 1_000;

/// No step by a byte that cannot come next leads anywhere.
fn names_next_bytes<A: ByteAutomaton>(
    automaton: &A,
    cursor: Cursor,
    scratch: &mut A::Scratch,
) -> Result<(), String> {
    let next = automaton.next_bytes(Spot::Cursor(cursor), scratch);
    let next_on_top = automaton.next_bytes(Spot::Top(cursor), scratch);
    for byte in 0..=u8::MAX {
        let all = next.has(byte) && next_on_top.has(byte);
        if !all && !automaton.step(cursor, byte, scratch).is_dead() {
            return Err(format!("byte {byte} is not among the next ones"));
        }
    }
    Ok(())
}

/// Committing bytes at once, one by one, and stepping agree.
fn stepwise<A: ByteAutomaton>(automaton: &A, state: &A::State, bytes: &[u8]) -> Result<(), String> {
    let mut scratch = automaton.scratch();
    let mut one_by_one = state.clone();
    for (at, &byte) in bytes.iter().enumerate() {
        let cursor = automaton.enter(&one_by_one, &mut scratch);
        names_next_bytes(automaton, cursor, &mut scratch)?;
        if automaton.step(cursor, byte, &mut scratch).is_dead() {
            return Err(format!(
                "step refuses byte {at} of {bytes:?}, which advance takes"
            ));
        }
        if automaton
            .advance(&mut one_by_one, &[byte], &mut scratch)
            .is_err()
        {
            return Err(format!("advance refuses byte {at} of {bytes:?} alone"));
        }
    }
    let mut at_once = state.clone();
    if automaton
        .advance(&mut at_once, bytes, &mut scratch)
        .is_err()
    {
        return Err(format!("advance refuses {bytes:?} at once"));
    }
    if automaton.is_accepting(&at_once) != automaton.is_accepting(&one_by_one) {
        return Err(format!(
            "{bytes:?} at once and byte by byte end differently"
        ));
    }
    let dead = automaton.step(Cursor::DEAD, b'a', &mut scratch);
    match dead.is_dead() {
        true => Ok(()),
        false => Err("a step from the dead cursor is alive".to_owned()),
    }
}
