//! A model of one's own: whatever gives logits for tokens can be bound.
//!
//! `cargo run --example custom_model`

use std::sync::Arc;

use tokenmold::fsm_index::{Guide, Index};
use tokenmold::generate::{Flow, Prompt, Request, Session};
use tokenmold::model::Model;
use tokenmold::sampling::SamplingConfig;
use tokenmold::{Error, embedded};

/// Which token came after which, counted in a text: a model of bigrams.
struct Bigrams {
    width: usize,
    counts: Vec<Vec<f32>>,
    seen: Vec<u32>,
}

impl Bigrams {
    fn learn(width: usize, text: &[u32]) -> Bigrams {
        let mut counts = vec![vec![1.0; width]; width];
        for pair in text.windows(2) {
            counts[pair[0] as usize][pair[1] as usize] += 100.0;
        }
        Bigrams {
            width,
            counts,
            seen: Vec::new(),
        }
    }
}

impl Model for Bigrams {
    fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>, Error> {
        self.seen.truncate(position);
        self.seen.extend_from_slice(tokens);
        let last = self.seen.last().copied().unwrap_or(0) as usize;
        Ok(self.counts[last].iter().map(|count| count.ln()).collect())
    }

    fn truncate(&mut self, length: usize) {
        self.seen.truncate(length);
    }

    fn cached(&self) -> usize {
        self.seen.len()
    }

    fn context_length(&self) -> usize {
        4096
    }

    fn vocabulary_width(&self) -> usize {
        self.width
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tokenizer = embedded::load()?.tokenizer;
    let text = "the sea is salty because rivers carry salt to the sea and the sea keeps it";
    let text = tokenizer.encode(text, tokenmold::tokenizer::Surround::Omit)?;
    let mut model = Bigrams::learn(tokenizer.vocabulary().width(), &text);

    let index = Index::new(r"the( [a-z]{2,9}){4,8}\.", tokenizer.vocabulary())?;
    let mut guide = Guide::new(Arc::new(index));
    let request = Request::new(Prompt::Tokens(text))
        .with_max_tokens(60)
        .with_sampling(SamplingConfig::with_temperature(0.7, 4));
    let mut session = Session::new(&mut model, &tokenizer);
    let said = session.generate(&request, Some(&mut guide), &mut |_| Flow::Continue)?;
    println!("{}", said.text);
    Ok(())
}
