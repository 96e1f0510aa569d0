//! Several texts side by side, each under its own constraint; one whose
//! constraint cannot be compiled fails alone.
//!
//! `cargo run --example batch`

use std::sync::Arc;

use tokenmold::chat::chatml;
use tokenmold::fsm_index::{Guide, Index};
use tokenmold::generate::{Batch, BatchRequest, Bound, Flow, Prompt, Request};
use tokenmold::{Error, embedded};

fn main() -> Result<(), Error> {
    let loaded = embedded::load()?;
    let vocabulary = loaded.tokenizer.vocabulary();
    let regexes = ["[0-9]{1,3}", "(yes|no)", "[A-Z][a-z]+", "(", "[a-z]{2,5}!"];
    let requests = regexes.map(|regex| {
        let prompt = chatml::prompt("Answer in a word.", "Zoe, 12, Paris");
        BatchRequest::new(Request::new(Prompt::Chat(prompt))).with_compile(move || {
            let index = Index::new(regex, vocabulary)?;
            Ok(Box::new(Guide::new(Arc::new(index))) as Bound<'_>)
        })
    });
    // Two lanes, which share their weights.
    let mut models = [loaded.model.fork(), loaded.model.fork()];
    let mut batch = Batch::new(&mut models, &loaded.tokenizer);
    let results = batch.generate(requests, &mut |_, _| Flow::Continue);
    for (regex, result) in regexes.iter().zip(results) {
        match result {
            Ok(said) => println!("{regex:>12}: {}", said.text),
            Err(error) => println!("{regex:>12}: {error}"),
        }
    }
    Ok(())
}
