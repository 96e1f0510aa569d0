//! Models: what the decode loop needs of one, and those that this crate runs. For example,
//! `forward(&[5, 7], 0)` reads two tokens and returns the logits behind the second.

mod attention;
mod cache;
mod config;
mod dots;
#[cfg(feature = "embedded")]
pub mod embedded;
mod gguf;
mod gguf_tokenizer;
#[cfg(feature = "hub")]
pub mod hub;
mod load;
mod matrix;
mod on_device;
mod rotary;
mod threads;
mod transformer;
mod weights;

use std::path::Path;

pub use config::{Architecture, MAX_LAYERS, MAX_SIZE, ModelConfig, RopeScaling};
#[cfg(feature = "embedded")]
pub(crate) use load::from_bytes;
pub use load::{LoadOptions, LoadProgress, LoadedModel, load, load_text, load_watched, load_with};
pub use transformer::Transformer;
pub use weights::{Dtype, WeightFormat};

use crate::{Error, ErrorKind};

/// A language model that remembers the tokens it has seen.
pub trait Model {
    /// Appends `tokens` at `position` and returns the logits after the last of
    /// them: one value for each token of [`Model::vocabulary_width`].
    ///
    /// Several tokens in one call cost far less than one call each. The tokens that the model
    /// remembers from `position` on are forgotten first.
    ///
    /// # Errors
    ///
    /// No tokens, a token outside the vocabulary, a position beyond
    /// [`Model::cached`], more tokens than the context holds, or a failure of
    /// the computation. The model then remembers `position` tokens at most.
    fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>, Error>;

    /// As [`Model::forward`], and returns the logits after each of the last
    /// `count` tokens, in order. The default is a step for each of them.
    ///
    /// # Errors
    ///
    /// As [`Model::forward`], or `count` is 0 or more than there are tokens.
    fn forward_each(
        &mut self,
        tokens: &[u32],
        position: usize,
        count: usize,
    ) -> Result<Vec<Vec<f32>>, Error> {
        let first = last_tokens(tokens, count)?;
        let mut each = vec![self.forward(&tokens[..=first], position)?];
        for at in first + 1..tokens.len() {
            each.push(self.forward(&tokens[at..=at], position + at)?);
        }
        Ok(each)
    }

    /// A step of several texts, each with a model of its own: what
    /// [`Model::forward`] says of each. The default takes one after another;
    /// models that share their weights may read them once for all.
    fn forward_together(reads: &mut [Reading<'_, Self>]) -> Vec<Result<Vec<f32>, Error>>
    where
        Self: Sized,
    {
        let each = reads.iter_mut();
        each.map(|read| read.model.forward(read.tokens, read.position))
            .collect()
    }

    /// Forgets all tokens from `length` on. O(1) in the tokens.
    fn truncate(&mut self, length: usize);

    /// Returns the number of remembered tokens.
    fn cached(&self) -> usize;

    /// Returns the number of tokens that can be remembered.
    fn context_length(&self) -> usize;

    /// Returns the number of logits.
    fn vocabulary_width(&self) -> usize;
}

/// The tokens that one of several models is to read; see [`Model::forward_together`].
#[derive(Debug)]
pub struct Reading<'a, M> {
    /// The model.
    pub model: &'a mut M,
    /// The tokens, as [`Model::forward`] takes them.
    pub tokens: &'a [u32],
    /// The position.
    pub position: usize,
}

/// Returns the start of the last `count` tokens.
fn last_tokens(tokens: &[u32], count: usize) -> Result<usize, Error> {
    match tokens.len().checked_sub(count).filter(|_| count > 0) {
        Some(first) => Ok(first),
        None => Err(Error::new(
            ErrorKind::Model,
            format!(
                "the logits of {count} tokens are asked for, of {} given",
                tokens.len()
            ),
        )),
    }
}

/// The checks that [`Model::forward`] promises.
fn check_request(model: &impl Model, tokens: &[u32], position: usize) -> Result<(), Error> {
    let (width, context) = (model.vocabulary_width(), model.context_length());
    if tokens.is_empty() {
        return Err(Error::new(
            ErrorKind::Model,
            "no tokens were given to the model",
        ));
    }
    if position > model.cached() {
        return Err(Error::new(
            ErrorKind::Model,
            format!(
                "position {position} is beyond the {} tokens seen",
                model.cached()
            ),
        ));
    }
    let end = position.saturating_add(tokens.len());
    if end > context {
        return Err(Error::new(
            ErrorKind::ContextLength,
            format!("{end} tokens are more than the {context} of the model's context"),
        ));
    }
    match tokens.iter().find(|token| **token as usize >= width) {
        None => Ok(()),
        Some(token) => Err(Error::new(
            ErrorKind::VocabularyMismatch,
            format!("token {token} is outside the model's {width} logits"),
        )),
    }
}

/// Reads a file, naming it in the error.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| {
        Error::with_source(ErrorKind::Io, format!("{}: {error}", path.display()), error)
    })
}
