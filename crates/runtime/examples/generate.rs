//! Loads a model and continues a prompt, with or without a regex:
//! `generate MODEL [--regex R] [--prompt P] [--raw] [--max N]`.
use fsm_index::{Guide, Index};
use std::sync::Arc;
use std::time::Instant;
use tokenmold::chat;
use tokenmold::generate::{Event, Flow, Prompt, Request, Session};
use tokenmold::model::{LoadOptions, WeightFormat, load_with};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let get = |name: &str| {
        args.iter()
            .position(|a| a == name)
            .map(|i| args[i + 1].clone())
    };
    let t = Instant::now();
    let format = match get("--weights").as_deref() {
        Some("stored") => WeightFormat::AsStored,
        Some("f32") => WeightFormat::Float32,
        _ => WeightFormat::Fast,
    };
    let mut loaded = if args[1] == "embedded" {
        tokenmold::embedded::load()?
    } else {
        load_with(&args[1], LoadOptions::default().with_weights(format))?
    };
    eprintln!(
        "loaded in {:?}, ends {:?} width {}",
        t.elapsed(),
        loaded.tokenizer.vocabulary().ends(),
        loaded.tokenizer.vocabulary().width()
    );
    let prompt = get("--prompt").unwrap_or("Hello".into());
    let system = get("--system").unwrap_or("You are a helpful assistant.".into());
    let prompt = chat::prompt(&system, &prompt);
    let mut guide = match get("--regex") {
        Some(r) => {
            let t = Instant::now();
            let i = Index::new(&r, loaded.tokenizer.vocabulary())?;
            eprintln!("index {:?} {:?}", t.elapsed(), i.stats());
            Some(Guide::new(Arc::new(i)))
        }
        None => None,
    };
    let request = Request::new(Prompt::Chat(prompt))
        .with_max_tokens(get("--max").map_or(200, |m| m.parse().unwrap()));
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let g = session.generate(&request, guide.as_mut().map(|g| g as _), &mut |e| {
        if let Event::Token(t) = e {
            if t.forced {
                print!("\x1b[32m{}\x1b[0m", t.text)
            } else {
                print!("{}", t.text)
            }
            use std::io::Write;
            std::io::stdout().flush().unwrap();
        }
        Flow::Continue
    })?;
    println!(
        "\n{:?} complete {} tokens {} forced {} prompt {} steps {} {:.1} tok/s {:?}",
        g.finish,
        g.complete,
        g.tokens.len(),
        g.forced.iter().filter(|f| **f).count(),
        g.prompt_tokens,
        g.steps,
        g.tokens_per_second(),
        g.timings
    );
    Ok(())
}
