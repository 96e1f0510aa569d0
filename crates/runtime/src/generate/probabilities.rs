//! The probabilities of all values that a constraint accepts. For example, of `yes` and `no` behind
//! a question.
//!
//! A value is spelt by many rows of tokens, and each of them has a probability of its own: that of
//! `yes` is the sum over `yes`, `y` `es`, `ye` `s` and so on. The rows are a tree, whose likeliest
//! node is looked at next (best-first search) until what is not known yet is too little to matter.
//! Enumerating all rows was the alternative; there are 2 to the power of the letters.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use fsm_index::{TokenId, Vocabulary};

use super::{Prompt, Session};
use crate::constraint::Constraint;
use crate::model::Model;
use crate::{Error, ErrorKind};

/// The limits of [`Session::probabilities`].
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct ProbabilityLimits {
    /// The most values that the constraint may accept.
    pub max_values: usize,
    /// The most bytes of all values together.
    pub max_bytes: usize,
    /// The most steps of the model behind the prompt.
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
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct ValueProbability {
    /// The value's text.
    pub text: String,
    /// Its share of the probability of all values.
    pub probability: f64,
    /// The natural logarithm of the probability that the model writes it, of all texts that there are.
    pub log_probability: f64,
}

/// The probabilities of all values; from [`Session::probabilities`].
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Distribution {
    /// The values, the most probable first; those of one probability in the order of their texts.
    pub values: Vec<ValueProbability>,
    /// The most that any probability may be off.
    pub unknown: f64,
    /// The steps that the model took behind the prompt.
    pub steps: usize,
    /// The tokens of the prompt.
    pub prompt_tokens: usize,
}

impl<M: Model + ?Sized> Session<'_, M> {
    /// Returns the model's probability of each value that the constraint accepts, given that it is
    /// one of them: summed over all rows of tokens that spell it.
    ///
    /// A value ends where nothing else can follow. If another value goes on from it, as `north` goes
    /// on from `no`, it ends by the probability of the model's end tokens.
    ///
    /// The prompt is read once. Every further row costs a step of the model; values of a few letters
    /// take about as many steps as they have tokens.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tokenmold::generate::ProbabilityLimits;
    /// use tokenmold::prelude::*;
    ///
    /// let mut loaded = tokenmold::embedded::load()?;
    /// let index = Index::new("yes|no", loaded.tokenizer.vocabulary())?;
    /// let mut guide = Guide::new(Arc::new(index));
    /// let prompt = Prompt::Text("Is it so?".to_owned());
    /// let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    /// let said = session.probabilities(&prompt, &mut guide, &ProbabilityLimits::default())?;
    /// let sum: f64 = said.values.iter().map(|value| value.probability).sum();
    /// assert!(said.values.len() == 2 && (sum - 1.0).abs() < 1e-9);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: there are more values than allowed, or infinitely many, or the
    /// steps do not suffice; the message says which limit is the matter. [`ErrorKind::Tokenizer`]: the
    /// vocabulary has no token for a byte of a value. As [`Session::generate`] otherwise.
    pub fn probabilities(
        &mut self,
        prompt: &Prompt,
        constraint: &mut dyn Constraint,
        limits: &ProbabilityLimits,
    ) -> Result<Distribution, Error> {
        let prompt = self.prompt(prompt)?;
        let vocabulary = self.tokenizer.vocabulary();
        if constraint.width() != self.model.vocabulary_width() {
            return Err(Error::new(
                ErrorKind::VocabularyMismatch,
                "the constraint and the model speak of different numbers of tokens",
            ));
        }
        let values = values_of(constraint, vocabulary, limits)?;
        let mut search = Search {
            prompt,
            constraint,
            path: Vec::new(),
            open: BinaryHeap::new(),
            known: values
                .into_iter()
                .map(|value| (value, f64::NEG_INFINITY))
                .collect(),
            steps: 0,
        };
        search.open.push(Node {
            path: Vec::new(),
            text: Vec::new(),
            log: 0.0,
        });
        let unknown = search.run(self, limits)?;
        search.restore()?;
        Ok(search.distribution(unknown))
    }

    /// Reads what the model does not remember of some tokens.
    fn read_all(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Error> {
        let shared = self.seen.iter().zip(tokens);
        let shared = shared.take_while(|(a, b)| a == b).count();
        let shared = shared.min(tokens.len() - 1);
        self.seen.truncate(shared);
        if tokens.len() > self.model.context_length() {
            return Err(Error::new(
                ErrorKind::ContextLength,
                "the prompt and a value are longer than the model's context",
            ));
        }
        let logits = self.model.forward(&tokens[shared..], shared)?;
        self.seen.extend_from_slice(&tokens[shared..]);
        Ok(logits)
    }
}

/// Returns the texts that a constraint accepts, each spelt by tokens of one byte. The constraint is
/// taken back to where it was.
fn values_of(
    constraint: &mut dyn Constraint,
    vocabulary: &Vocabulary,
    limits: &ProbabilityLimits,
) -> Result<Vec<Vec<u8>>, Error> {
    let mut bytes: Vec<(u8, u32)> = Vec::new();
    for token in 0..constraint.width() as u32 {
        if let Some([byte]) = vocabulary.token_bytes(TokenId::new(token)) {
            bytes.push((*byte, token));
        }
    }
    bytes.sort_unstable();
    bytes.dedup_by_key(|(byte, _)| *byte);
    let mut values = Vec::new();
    let mut text = Vec::new();
    // For each byte of the text the bytes that come after it in its place.
    let mut open = vec![0];
    let mut spent = 0;
    if constraint.is_accepting() {
        values.push(Vec::new());
    }
    while let Some(from) = open.pop() {
        let mask = constraint.mask()?;
        let allowed = |token: u32| {
            let word = mask.get(token as usize / 32).copied().unwrap_or_default();
            word >> (token % 32) & 1 == 1
        };
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
                constraint.rollback(1)?;
            }
            continue;
        };
        spent += 1;
        if spent > limits.max_bytes {
            return Err(too_many(format!("{} bytes of values", limits.max_bytes)));
        }
        let (byte, token) = bytes[at];
        constraint.advance(token)?;
        text.push(byte);
        open.push(at + 1);
        open.push(0);
        if constraint.is_accepting() {
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
    mask: &[u32],
    vocabulary: &Vocabulary,
    single: &dyn Fn(u8) -> bool,
) -> Result<(), Error> {
    let mut seen = [false; 256];
    for (at, word) in mask.iter().enumerate() {
        let mut rest = *word;
        while rest != 0 {
            let token = TokenId::new(at as u32 * 32 + rest.trailing_zeros());
            rest &= rest - 1;
            if vocabulary.ends().contains(&token) {
                continue;
            }
            let Some(first) = vocabulary.token_bytes(token).and_then(<[u8]>::first) else {
                let message = "a value has tokens that are structure, and values are texts here";
                return Err(Error::new(ErrorKind::Tokenizer, message));
            };
            if !std::mem::replace(&mut seen[usize::from(*first)], true) && !single(*first) {
                let message = format!(
                    "the vocabulary has no token for the byte {first:#04x} alone, by which values are found"
                );
                return Err(Error::new(ErrorKind::Tokenizer, message));
            }
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
    Error::new(ErrorKind::Constraint, message)
}

/// A row of tokens that begins a value.
struct Node {
    path: Vec<u32>,
    text: Vec<u8>,
    log: f64,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    /// By probability, and then such that the order does not depend on that of the values.
    fn cmp(&self, other: &Self) -> Ordering {
        let log = self.log.total_cmp(&other.log);
        log.then_with(|| other.path.cmp(&self.path))
    }
}

/// The number of nodes between two sums over all open ones, because a sum takes as long as some
/// of the model's smallest steps.
const BETWEEN_SUMS: usize = 8;

struct Search<'c> {
    prompt: Vec<u32>,
    constraint: &'c mut dyn Constraint,
    /// The tokens that the constraint has taken.
    path: Vec<u32>,
    open: BinaryHeap<Node>,
    /// The logarithm of each value's probability, as far as it is known.
    known: HashMap<Vec<u8>, f64>,
    steps: usize,
}

impl Search<'_> {
    /// Looks at nodes until enough is known, and returns what is not, as a share of what is.
    fn run<M: Model + ?Sized>(
        &mut self,
        session: &mut Session<'_, M>,
        limits: &ProbabilityLimits,
    ) -> Result<f64, Error> {
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
                return Err(Error::new(
                    ErrorKind::Constraint,
                    format!(
                        "after {} steps of the model, the limit, what is not known of the probabilities is \
                         {unknown:.1e} of what is; take fewer or shorter values, or allow more steps",
                        self.steps
                    ),
                ));
            }
            self.steps += 1;
            self.look(&node, session)?;
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

    /// Takes the constraint to a row of tokens.
    fn go_to(&mut self, path: &[u32]) -> Result<(), Error> {
        let shared = self.path.iter().zip(path);
        let shared = shared.take_while(|(a, b)| a == b).count();
        self.constraint.rollback(self.path.len() - shared)?;
        self.path.truncate(shared);
        for token in &path[shared..] {
            self.constraint.advance(*token)?;
            self.path.push(*token);
        }
        Ok(())
    }

    /// Takes the constraint back to where it was at the beginning.
    fn restore(&mut self) -> Result<(), Error> {
        self.go_to(&[])
    }

    fn look<M: Model + ?Sized>(
        &mut self,
        node: &Node,
        session: &mut Session<'_, M>,
    ) -> Result<(), Error> {
        self.go_to(&node.path)?;
        let tokens = [self.prompt.as_slice(), &node.path].concat();
        let logits = session.read_all(&tokens)?;
        let all = sum_of_logs(logits.iter().map(|logit| f64::from(*logit)));
        let vocabulary = session.tokenizer.vocabulary();
        let mask = self.constraint.mask()?.to_vec();
        for (at, word) in mask.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let token = at as u32 * 32 + rest.trailing_zeros();
                rest &= rest - 1;
                let log = node.log + f64::from(logits[token as usize]) - all;
                if log.is_nan() || log == f64::NEG_INFINITY {
                    continue;
                }
                let id = TokenId::new(token);
                if vocabulary.ends().contains(&id) {
                    self.add(node.text.clone(), log);
                    continue;
                }
                let mut text = node.text.clone();
                text.extend_from_slice(vocabulary.token_bytes(id).unwrap_or_default());
                self.constraint.advance(token)?;
                let is_whole = self.constraint.is_finished();
                self.constraint.rollback(1)?;
                match is_whole {
                    true => self.add(text, log),
                    false => self.open.push(Node {
                        path: [node.path.as_slice(), &[token]].concat(),
                        text,
                        log,
                    }),
                }
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
            prompt_tokens: self.prompt.len(),
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
