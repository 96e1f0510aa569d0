//! Texts side by side are the texts one by one, and what fails fails alone.

#![cfg(feature = "embedded")]

use std::sync::Arc;

use fsm_index::{Config, Fill, Guide, Index, IndexConfig, Vocabulary};
use tokenmold::chat::chatml;
use tokenmold::constraint::Constraint;
use tokenmold::generate::{
    Batch, BatchRequest, Bound, Event, Finish, Flow, Generation, Prompt, Request, Session,
    TokenBudget,
};
use tokenmold::model::Transformer;
use tokenmold::sampling::SamplingConfig;
use tokenmold::{Error, ErrorKind, embedded};

fn guide(regex: &str, vocabulary: &Vocabulary) -> Result<Guide, Error> {
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::with_config(regex, vocabulary, &Config::default(), &lazy)?;
    Ok(Guide::new(Arc::new(index)))
}

/// Requests, each with its expression.
fn requests() -> Vec<(Request, Option<&'static str>)> {
    let chat = |text: &str| {
        let prompt = chatml::prompt("List the values as JSON.", text);
        Request::new(Prompt::Chat(prompt)).with_max_tokens(40)
    };
    let warm = |seed| SamplingConfig::with_temperature(1.2, seed);
    let cut = TokenBudget::Cut;
    let array = r#"\[("[A-Za-z0-9 ]{0,12}"(, ?"[A-Za-z0-9 ]{0,12}"){0,6})?\]"#;
    let ban: Vec<(u32, f32)> = (0..1024).map(|t| (t, f32::NEG_INFINITY)).collect();
    let short = || chat("Cy, 9").with_max_tokens(3);
    vec![
        (chat("Zoe, 12, Paris"), Some(array)),
        (chat("Zoe, 12, Paris"), None),
        // Cannot be compiled.
        (chat("Ann"), Some("[a-")),
        (chat("Bo, 7").with_sampling(warm(4)), Some(array)),
        // Nothing that is allowed can be drawn.
        (
            chat("Ann").with_logit_bias(ban).with_budget(cut),
            Some("[a-z]+"),
        ),
        // Its length is reached.
        (short().with_budget(cut), Some("[a-z]{40}")),
        // Even a shortest text is too long.
        (short(), Some("[a-z]{40}")),
        (chat("Di, 1, Rome").with_sampling(warm(5)), None),
        (Request::new(Prompt::Tokens(Vec::new())), Some(array)),
        (chat("Ed, 3").with_max_tokens(20), Some(array)),
    ]
}

#[test]
fn each_text_is_the_one_that_it_is_alone() {
    let mut loaded = embedded::load().unwrap();
    let vocabulary = loaded.tokenizer.vocabulary().clone();
    let alone: Vec<Result<Generation, Error>> = requests()
        .into_iter()
        .map(|(request, regex)| {
            let mut guide = match regex {
                Some(regex) => Some(guide(regex, &vocabulary)?),
                None => None,
            };
            let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
            let guide = guide.as_mut().map(|guide| guide as &mut dyn Constraint);
            session.generate(&request, guide, &mut |_| Flow::Continue)
        })
        .collect();
    for lanes in [1, 3, 16] {
        let mut models: Vec<_> = (0..lanes).map(|_| loaded.model.fork()).collect();
        let mut batch = Batch::new(&mut models, &loaded.tokenizer);
        // Twice: lanes that have failed go on.
        for _ in 0..2 {
            let asked = requests().into_iter().map(|(request, regex)| {
                let vocabulary = &vocabulary;
                let asked = BatchRequest::new(request);
                match regex {
                    Some(regex) => asked
                        .with_compile(move || Ok(Box::new(guide(regex, vocabulary)?) as Bound<'_>)),
                    None => asked,
                }
            });
            let mut told: Vec<String> = vec![String::new(); alone.len()];
            let results = batch.generate(asked, &mut |whose, event| {
                match event {
                    Event::Token(token) => told[whose].push_str(token.text),
                    Event::Rest(rest) => told[whose].push_str(rest),
                    _ => {}
                }
                Flow::Continue
            });
            assert_eq!(results.len(), alone.len());
            for (at, (result, alone)) in results.iter().zip(&alone).enumerate() {
                match (result, alone) {
                    (Ok(result), Ok(alone)) => {
                        assert_eq!(result.tokens, alone.tokens, "{at} in {lanes} lanes");
                        assert_eq!(result.text, alone.text);
                        assert_eq!(told[at], alone.text);
                        assert_eq!(result.forced, alone.forced);
                        assert_eq!(result.finish, alone.finish);
                        assert_eq!(result.complete, alone.complete);
                        assert_eq!(result.steps, alone.steps);
                    }
                    (Err(result), Err(alone)) => {
                        assert_eq!(result.to_string(), alone.to_string());
                        assert_eq!(result.kind(), alone.kind());
                    }
                    (result, alone) => panic!("{at}: {result:?} and alone {alone:?}"),
                }
            }
        }
    }
    let kind = |at: usize| alone[at].as_ref().err().map(Error::kind);
    let failed: Vec<usize> = (0..alone.len()).filter(|at| kind(*at).is_some()).collect();
    assert_eq!(failed, [2, 4, 6, 8]);
    assert_eq!(kind(2), Some(ErrorKind::Constraint));
    assert_eq!(kind(4), Some(ErrorKind::Sampling));
    assert_eq!(kind(6), Some(ErrorKind::TokenBudget));
    assert_eq!(kind(8), Some(ErrorKind::ContextLength));
    assert_eq!(alone[5].as_ref().unwrap().finish, Finish::Length);
}

/// Requests without constraints.
fn free(count: usize) -> impl Iterator<Item = BatchRequest<'static>> {
    let all = requests().into_iter().take(count);
    all.map(|(request, _)| BatchRequest::new(request))
}

#[test]
fn a_caller_stops_one_text() {
    let loaded = embedded::load().unwrap();
    let mut models = [loaded.model.fork(), loaded.model.fork()];
    let mut batch = Batch::new(&mut models, &loaded.tokenizer);
    let mut seen = [0, 0];
    let results = batch.generate(free(2), &mut |whose, event| {
        if let Event::Token(_) = event {
            seen[whose] += 1;
            if seen == [2, seen[1]] && whose == 0 {
                return Flow::Stop;
            }
        }
        Flow::Continue
    });
    let results: Vec<Generation> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(results[0].finish, Finish::Stopped);
    assert_eq!(results[0].tokens.len(), 2);
    assert!(results[1].tokens.len() > 2);
}

#[test]
fn a_batch_without_models_says_so() {
    let loaded = embedded::load().unwrap();
    let mut models: [Transformer; 0] = [];
    let mut batch = Batch::new(&mut models, &loaded.tokenizer);
    for result in batch.generate(free(3), &mut |_, _| Flow::Continue) {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidParameter);
    }
}

/// A constraint that panics takes its own text with it.
#[test]
fn a_constraint_that_breaks_is_one_texts_matter() {
    let loaded = embedded::load().unwrap();
    let mut models = [loaded.model.fork()];
    let mut batch = Batch::new(&mut models, &loaded.tokenizer);
    let broken = free(1).map(|request| request.with_compile(|| panic!("on purpose")));
    let results = batch.generate(broken.chain(free(1)), &mut |_, _| Flow::Continue);
    let kind = results[0].as_ref().unwrap_err().kind();
    assert_eq!(kind, ErrorKind::Constraint);
    assert!(!results[1].as_ref().unwrap().text.is_empty());
}
