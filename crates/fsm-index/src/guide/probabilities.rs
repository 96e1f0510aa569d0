//! The probabilities of all values that a constraint accepts. For example, of `yes` and `no` behind
//! a question.
//!
//! A value is spelt by many rows of tokens, and each of them has a probability of its own: that of
//! `yes` is the sum over `yes`, `y` `es`, `ye` `s` and so on. The rows are a tree, whose likeliest
//! node is looked at next (best-first search) until what is not known yet is too little to matter.
//! Enumerating all rows was the alternative; there are 2 to the power of the letters.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use super::AnyGuide;
use crate::error::{Error, ErrorKind};
use crate::rows::TokenMask;
use crate::tokens::TokenId;
use crate::vocabulary::Vocabulary;

/// The model: asked for its logits behind a row of tokens.
type Logits<'l, E> = &'l mut dyn FnMut(&[TokenId]) -> Result<Vec<f32>, E>;

/// The limits of [`probabilities`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ProbabilityLimits {
    /// The most values that the constraint may accept.
    pub max_values: usize,
    /// The most bytes of all values together.
    pub max_bytes: usize,
    /// The most steps of the model.
    pub max_steps: usize,
    /// The most probability that may be unknown at the end, as a share of what is known.
    pub tolerance: f64,
}

impl Default for ProbabilityLimits {
    /// 1,000 values, 64 KiB, 20,000 steps, a millionth.
    fn default() -> Self {
        ProbabilityLimits {
            max_values: 1_000,
            max_bytes: 1 << 16,
            max_steps: 20_000,
            tolerance: 1e-6,
        }
    }
}

/// A value with its probability.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ValueProbability {
    /// The value's text.
    pub text: String,
    /// Its share of the probability of all values.
    pub probability: f64,
    /// The natural logarithm of the probability that the model writes it, of all texts that there are.
    pub log_probability: f64,
}

/// The probabilities of all values; from [`probabilities`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Distribution {
    /// The values, the most probable first; those of one probability in the order of their texts.
    pub values: Vec<ValueProbability>,
    /// The most that any probability may be off.
    pub unknown: f64,
    /// The steps that the model took.
    pub steps: usize,
}

/// Returns a model's probability of each value that a guide accepts, given that it is one of them:
/// summed over all rows of tokens that spell it. `logits` is asked for the model's logits behind a row, as
/// many as the vocabulary is wide; the first row is empty. The guide is taken back to where it was.
///
/// A value ends where nothing else can follow. If another value goes on from it, as `north` goes
/// on from `no`, it ends by the probability of the vocabulary's end tokens.
///
/// Every row costs a step of the model; values of a few letters take about as many steps as they
/// have tokens, and memory is linear in the steps.
///
/// ```
/// use std::sync::Arc;
/// use fsm_index::{Guide, Index, ProbabilityLimits, TokenId, Vocabulary, probabilities};
///
/// let tokens = ["a", "b", "ab"].iter().zip(0..).map(|(text, id)| (text.as_bytes(), TokenId::new(id)));
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
/// let mut guide = Guide::new(Arc::new(Index::new("ab|ba", &vocabulary)?));
/// // A model to which all tokens are equally likely at every place.
/// let mut logits = |_: &[TokenId]| Ok::<_, fsm_index::Error>(vec![0.0; 4]);
/// let said = probabilities(&mut guide, &mut logits, &ProbabilityLimits::default())?;
/// // `ab` is one token or two: 1/4 + 1/16; `ba` is two: 1/16.
/// assert_eq!(said.values[0].text, "ab");
/// assert!((said.values[0].probability - 5.0 / 6.0).abs() < 1e-9);
/// # Ok::<(), fsm_index::Error>(())
/// ```
///
/// # Errors
///
/// [`ErrorKind::LimitExceeded`]: there are more values than allowed, or infinitely many, or the steps
/// do not suffice; the message says which limit is the matter. [`ErrorKind::CannotSpell`]: the
/// vocabulary has no token for a byte of a value. [`ErrorKind::BufferSize`]: there are fewer logits
/// than tokens. The model's own.
pub fn probabilities<E: From<Error>>(
    guide: &mut dyn AnyGuide,
    logits: Logits<'_, E>,
    limits: &ProbabilityLimits,
) -> Result<Distribution, E> {
    let vocabulary = guide.vocabulary().clone();
    let values = values_of(guide, &vocabulary, limits)?;
    let known = values.into_iter().map(|value| (value, f64::NEG_INFINITY));
    let mut search = ValueSearch {
        vocabulary,
        guide,
        path: Vec::new(),
        open: BinaryHeap::new(),
        known: known.collect(),
        steps: 0,
    };
    search.open.push(TokenRow {
        path: Vec::new(),
        text: Vec::new(),
        log: 0.0,
    });
    let unknown = search.run(logits, limits);
    search.go_to(&[])?;
    Ok(search.distribution(unknown?))
}

/// Returns the texts that a guide accepts, each spelt by tokens of one byte. The guide is taken back to
/// where it was.
fn values_of(
    guide: &mut dyn AnyGuide,
    vocabulary: &Vocabulary,
    limits: &ProbabilityLimits,
) -> Result<Vec<Vec<u8>>, Error> {
    let single = vocabulary.texts().filter_map(|(token, bytes)| match bytes {
        [byte] => Some((*byte, token)),
        _ => None,
    });
    let mut bytes: Vec<(u8, TokenId)> = single.collect();
    bytes.sort_unstable();
    bytes.dedup_by_key(|(byte, _)| *byte);
    let mut values = Vec::new();
    let mut text = Vec::new();
    // For each byte of the text the bytes that come after it in its place.
    let mut open = vec![0];
    let mut spent = 0;
    if guide.is_accepting() {
        values.push(Vec::new());
    }
    while let Some(from) = open.pop() {
        let mask = guide.mask()?;
        let allowed = |token: TokenId| mask.allows(token);
        if from == 0 {
            let single = |byte: u8| {
                bytes
                    .iter()
                    .any(|(own, token)| *own == byte && allowed(*token))
            };
            check_bytes(mask, vocabulary, &single)?;
        }
        let next = (from..bytes.len()).find(|at| allowed(bytes[*at].1));
        let Some(at) = next else {
            if text.pop().is_some() {
                guide.rollback(1)?;
            }
            continue;
        };
        spent += 1;
        if spent > limits.max_bytes {
            return Err(too_many(format!("{} bytes of values", limits.max_bytes)));
        }
        let (byte, token) = bytes[at];
        guide.advance(token)?;
        text.push(byte);
        open.push(at + 1);
        open.push(0);
        if guide.is_accepting() {
            if values.len() == limits.max_values {
                return Err(too_many(format!("{} values", limits.max_values)));
            }
            values.push(text.clone());
        }
    }
    Ok(values)
}

/// Refuses a place whose tokens begin with bytes that have no tokens of their own.
fn check_bytes(
    mask: &TokenMask,
    vocabulary: &Vocabulary,
    single: &dyn Fn(u8) -> bool,
) -> Result<(), Error> {
    let mut seen = [false; 256];
    for token in mask
        .iter()
        .filter(|token| !vocabulary.ends().contains(token))
    {
        let Some(first) = vocabulary.token_bytes(token).and_then(<[u8]>::first) else {
            let message = "a value has tokens that are structure, and values are texts here";
            return Err(Error::new(ErrorKind::CannotSpell, message));
        };
        if !std::mem::replace(&mut seen[usize::from(*first)], true) && !single(*first) {
            let message = format!(
                "the vocabulary has no token for the byte {first:#04x} alone, by which values are found"
            );
            return Err(Error::new(ErrorKind::CannotSpell, message));
        }
    }
    Ok(())
}

#[cold]
fn too_many(most: String) -> Error {
    let message = format!(
        "the constraint accepts more than {most}, the limit for exact probabilities; narrow it to fewer and \
         shorter values"
    );
    Error::new(ErrorKind::LimitExceeded, message)
}

/// A row of tokens that begins a value.
struct TokenRow {
    path: Vec<TokenId>,
    text: Vec<u8>,
    log: f64,
}

impl PartialEq for TokenRow {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for TokenRow {}

impl PartialOrd for TokenRow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TokenRow {
    /// By probability, and then such that the order does not depend on that of the values.
    fn cmp(&self, other: &Self) -> Ordering {
        let log = self.log.total_cmp(&other.log);
        log.then_with(|| other.path.cmp(&self.path))
    }
}

/// The number of nodes between two sums over all open ones, because a sum takes as long as some
/// of the model's smallest steps.
const BETWEEN_SUMS: usize = 8;

struct ValueSearch<'g> {
    vocabulary: Vocabulary,
    guide: &'g mut dyn AnyGuide,
    /// The tokens that the guide has taken.
    path: Vec<TokenId>,
    open: BinaryHeap<TokenRow>,
    /// The logarithm of each value's probability, as far as it is known.
    known: HashMap<Vec<u8>, f64>,
    steps: usize,
}

impl ValueSearch<'_> {
    /// Looks at nodes until enough is known, and returns what is not, as a share of what is.
    fn run<E: From<Error>>(
        &mut self,
        logits: Logits<'_, E>,
        limits: &ProbabilityLimits,
    ) -> Result<f64, E> {
        loop {
            if self.steps.is_multiple_of(BETWEEN_SUMS) {
                let unknown = self.unknown();
                if unknown <= limits.tolerance {
                    return Ok(unknown);
                }
            }
            let Some(node) = self.open.pop() else {
                return Ok(0.0);
            };
            if self.steps == limits.max_steps {
                let unknown = self.unknown();
                let message = format!(
                    "after {} steps of the model, the limit, what is not known of the probabilities is \
                     {unknown:.1e} of what is; take fewer or shorter values, or allow more steps",
                    self.steps
                );
                return Err(Error::new(ErrorKind::LimitExceeded, message).into());
            }
            self.steps += 1;
            let logits = logits(&node.path)?;
            self.look(&node, &logits)?;
        }
    }

    /// Returns the probability of all open nodes as a share of what is known; none of it is infinite.
    fn unknown(&self) -> f64 {
        let open = sum_of_logs(self.open.iter().map(|node| node.log));
        let known = sum_of_logs(self.known.values().copied());
        match (open == f64::NEG_INFINITY, known == f64::NEG_INFINITY) {
            (true, _) => 0.0,
            (false, true) => f64::INFINITY,
            (false, false) => (open - known).exp(),
        }
    }

    /// Takes the guide to a row of tokens.
    fn go_to(&mut self, path: &[TokenId]) -> Result<(), Error> {
        let shared = self.path.iter().zip(path);
        let shared = shared.take_while(|(a, b)| a == b).count();
        self.guide.rollback(self.path.len() - shared)?;
        self.path.truncate(shared);
        for token in &path[shared..] {
            self.guide.advance(*token)?;
            self.path.push(*token);
        }
        Ok(())
    }

    /// Takes a node apart by the logits behind it.
    fn look(&mut self, node: &TokenRow, logits: &[f32]) -> Result<(), Error> {
        self.go_to(&node.path)?;
        let mask = self.guide.mask()?;
        if logits.len() < mask.width() {
            let (given, width) = (logits.len(), mask.width());
            let message =
                format!("there are {given} logits, and the vocabulary has {width} tokens");
            return Err(Error::new(ErrorKind::BufferSize, message));
        }
        let allowed: Vec<TokenId> = mask.iter().collect();
        let all = sum_of_logs(logits.iter().map(|logit| f64::from(*logit)));
        for token in allowed {
            let log = node.log + f64::from(logits[token.index()]) - all;
            if log.is_nan() || log == f64::NEG_INFINITY {
                continue;
            }
            if self.vocabulary.ends().contains(&token) {
                self.add(node.text.clone(), log);
                continue;
            }
            let mut text = node.text.clone();
            text.extend_from_slice(self.vocabulary.token_bytes(token).unwrap_or_default());
            self.guide.advance(token)?;
            let is_whole = self.guide.is_finished();
            self.guide.rollback(1)?;
            match is_whole {
                true => self.add(text, log),
                false => self.open.push(TokenRow {
                    path: [node.path.as_slice(), &[token]].concat(),
                    text,
                    log,
                }),
            }
        }
        Ok(())
    }

    fn add(&mut self, text: Vec<u8>, log: f64) {
        let known = self.known.entry(text).or_insert(f64::NEG_INFINITY);
        *known = sum_of_logs([*known, log].into_iter());
    }

    fn distribution(self, unknown: f64) -> Distribution {
        let all = sum_of_logs(self.known.values().copied());
        let mut values: Vec<ValueProbability> = self
            .known
            .into_iter()
            .map(|(text, log)| ValueProbability {
                text: String::from_utf8_lossy(&text).into_owned(),
                probability: match all == f64::NEG_INFINITY {
                    true => 0.0,
                    false => (log - all).exp(),
                },
                log_probability: log,
            })
            .collect();
        values.sort_by(|a, b| {
            let order = b.probability.total_cmp(&a.probability);
            order.then_with(|| a.text.cmp(&b.text))
        });
        Distribution {
            values,
            unknown,
            steps: self.steps,
        }
    }
}

/// The logarithm of a sum of probabilities, of their logarithms.
fn sum_of_logs(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    match most.is_finite() {
        true => most + logs.map(|log| (log - most).exp()).sum::<f64>().ln(),
        false => most,
    }
}
