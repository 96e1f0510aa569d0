//! A regular expression that the whole answer must match.
//!
//! `cargo run --example regex`

use std::sync::Arc;

use tokenmold::chat::chatml;
use tokenmold::embedded;
use tokenmold::fsm_index::{Guide, Index};
use tokenmold::generate::{Flow, Prompt, Request, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut loaded = embedded::load()?;
    let index = Index::new(
        r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, [0-9]{1,2} (March|April|May|June)",
        loaded.tokenizer.vocabulary(),
    )?;
    let mut guide = Guide::new(Arc::new(index));
    let prompt = chatml::prompt("Answer with a day.", "When is the market? Friday, 14 March");
    let request = Request::new(Prompt::Chat(prompt));
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let said = session.generate(&request, Some(&mut guide), &mut |_| Flow::Continue)?;
    println!("{}", said.text);
    assert!(said.complete && guide.index().automaton().accepts(&said.text));
    Ok(())
}
