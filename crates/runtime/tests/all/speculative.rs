//! Speculative decoding changes how many steps a text takes, and nothing else.

#![cfg(feature = "embedded")]

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use fsm_index::{Config, Fill, Guide, Index, IndexConfig};
use serde_json::Value;
use tokenmold::chat::chatml;
use tokenmold::constraint::Constraint;
use tokenmold::generate::{
    DraftModel, Drafter, Flow, ForcedTokens, Generation, Prompt, PromptLookup, Request, Session,
    TokenBudget,
};
use tokenmold::model::Model;
use tokenmold::sampling::{Sampler, SamplingConfig};
use tokenmold::tokenizer::Tokenizer;
use tokenmold::{Error, embedded};

fn guide(regex: &str, tokenizer: &Tokenizer) -> Guide {
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::with_config(regex, tokenizer.vocabulary(), &Config::default(), &lazy);
    Guide::new(Arc::new(index.unwrap()))
}

fn generate<'a, M: Model>(
    model: &'a mut M,
    tokenizer: &'a Tokenizer,
    request: &Request,
    regex: Option<&str>,
    drafter: Option<(&'a mut dyn Drafter, usize)>,
) -> Generation {
    let mut guide = regex.map(|regex| guide(regex, tokenizer));
    let mut session = Session::new(model, tokenizer);
    if let Some((drafter, count)) = drafter {
        session = session.with_drafter(drafter, count);
    }
    let guide = guide.as_mut().map(|guide| guide as &mut dyn Constraint);
    session
        .generate(request, guide, &mut |_| Flow::Continue)
        .unwrap()
}

fn requests() -> Vec<(Request, Option<&'static str>)> {
    let schema: Value = serde_json::from_str(embedded::DEMO_SCHEMA).unwrap();
    let demo = Prompt::Chat(embedded::object_prompt(&schema, embedded::DEMO_REQUEST));
    let list = "Zoe, 12, Paris, Zoe, 12";
    let list = Prompt::Chat(chatml::prompt("List the values as JSON.", list));
    let object = r#"\{"name": ?"[A-Z][a-z]{2,8}", ?"age": ?[1-9][0-9]?\}"#;
    let array = r#"\[("[A-Za-z0-9 ]{0,12}"(, ?"[A-Za-z0-9 ]{0,12}"){0,6})?\]"#;
    let ask = |prompt: &Prompt, tokens| Request::new(prompt.clone()).with_max_tokens(tokens);
    vec![
        (ask(&demo, 90), None),
        (ask(&list, 40), Some(object)),
        (ask(&list, 60), Some(array)),
        (
            ask(&list, 30)
                .with_forced(ForcedTokens::Draw)
                .with_budget(TokenBudget::Complete),
            Some(array),
        ),
        (ask(&list, 25).with_min_tokens(6), None),
    ]
}

#[test]
fn greedy_tokens_are_those_without_speculation() {
    let mut loaded = embedded::load().unwrap();
    let mut draft = loaded.model.fork();
    let mut accepted = 0;
    for (request, regex) in requests() {
        let tokenizer = &loaded.tokenizer;
        let plain = generate(&mut loaded.model, tokenizer, &request, regex, None);
        assert_eq!(plain.speculation, None);
        for count in [1, 4, 16] {
            let mut lookup = PromptLookup::default();
            let drafter = Some((&mut lookup as &mut dyn Drafter, count));
            let looked = generate(&mut loaded.model, tokenizer, &request, regex, drafter);
            assert_eq!((&looked.tokens, &looked.text), (&plain.tokens, &plain.text));
            assert_eq!(looked.finish, plain.finish);
            assert_eq!(looked.complete, plain.complete);
            let counted = looked.speculation.unwrap();
            assert!(counted.accepted <= counted.proposed);
            assert!(looked.steps <= plain.steps);
            accepted += counted.accepted;

            // The same model as its own draft: all that it proposes is right.
            let mut own = DraftModel::new(&mut draft);
            let drafter = Some((&mut own as &mut dyn Drafter, count));
            let drafted = generate(&mut loaded.model, tokenizer, &request, regex, drafter);
            assert_eq!(drafted.tokens, plain.tokens);
            assert!(drafted.steps <= plain.steps);
            assert!(drafted.speculation.unwrap().accepted > 0);
        }
    }
    assert!(accepted > 0);
}

#[test]
fn look_up_changes_no_draw() {
    let mut loaded = embedded::load().unwrap();
    for (request, regex) in requests() {
        for seed in 0..3 {
            let sampling = SamplingConfig::with_temperature(0.7, seed);
            let request = request.clone().with_sampling(sampling);
            let tokenizer = &loaded.tokenizer;
            let plain = generate(&mut loaded.model, tokenizer, &request, regex, None);
            let mut lookup = PromptLookup {
                longest: 3,
                shortest: 1,
            };
            let drafter = Some((&mut lookup as &mut dyn Drafter, 5));
            let looked = generate(&mut loaded.model, tokenizer, &request, regex, drafter);
            assert_eq!(looked.tokens, plain.tokens);
        }
    }
}

/// A model whose logits depend on the last token, in one of two ways.
struct Chain {
    salt: u32,
    seen: Vec<u32>,
}

impl Model for Chain {
    fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>, Error> {
        self.seen.truncate(position);
        self.seen.extend_from_slice(tokens);
        let last = self.seen.last().copied().unwrap_or(0);
        let logit = |token: u32| {
            let mixed = (token * 2_654_435 + last * 40_503 + self.salt * 7_919) % 1_009;
            mixed as f32 / 400.0
        };
        Ok((0..1024).map(logit).collect())
    }

    fn truncate(&mut self, length: usize) {
        self.seen.truncate(length);
    }

    fn cached(&self) -> usize {
        self.seen.len()
    }

    fn context_length(&self) -> usize {
        64
    }

    fn vocabulary_width(&self) -> usize {
        1024
    }
}

/// How far a sum of squares is from what chance gives, in standard deviations,
/// by the cube root rule of Wilson and Hilferty (1931).
fn deviations(squares: f64, freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    ((squares / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

#[test]
fn drafts_keep_the_distribution() {
    const RUNS: usize = 2_000;
    let tokenizer = embedded::load().unwrap().tokenizer;
    let chain = |salt| Chain {
        salt,
        seen: Vec::new(),
    };
    let (mut model, mut draft) = (chain(1), chain(9));
    let mut guide = guide("[abc]{3}", &tokenizer);
    let mut sampling = SamplingConfig::with_temperature(0.8, 0);
    sampling.top_k = 7;
    let mut counts: [HashMap<String, usize>; 2] = Default::default();
    let (mut accepted, mut proposed) = (0, 0);
    for (with, counts) in counts.iter_mut().enumerate() {
        for seed in 0..RUNS {
            sampling.seed = (seed * 2 + with) as u64;
            let request = Request::new(Prompt::Tokens(vec![5]))
                .with_sampling(sampling.clone())
                .with_max_tokens(8);
            let taken = guide.len();
            guide.rollback(taken).unwrap();
            let mut drafter = DraftModel::new(&mut draft);
            let mut session = Session::new(&mut model, &tokenizer);
            if with == 1 {
                session = session.with_drafter(&mut drafter, 2);
            }
            let said = session
                .generate(&request, Some(&mut guide), &mut |_| Flow::Continue)
                .unwrap();
            let counted = said.speculation.unwrap_or_default();
            accepted += counted.accepted;
            proposed += counted.proposed;
            *counts.entry(said.text).or_default() += 1;
        }
    }
    let some = accepted > RUNS / 10 && accepted < proposed;
    assert!(some, "{accepted} of {proposed} accepted");
    // Two samples against each other.
    let texts: BTreeSet<&String> = counts.iter().flat_map(HashMap::keys).collect();
    let of = |side: usize, text: &String| counts[side].get(text).copied().unwrap_or(0) as f64;
    let square = |text: &&String| {
        let (plain, drafted) = (of(0, text), of(1, text));
        (plain - drafted).powi(2) / (plain + drafted)
    };
    let squares: f64 = texts.iter().map(square).sum();
    let away = deviations(squares, texts.len() as f64 - 1.0);
    let texts = texts.len();
    assert!(texts > 10 && away < 4.0, "{away} deviations, {texts} texts");
}

/// The rule itself, draw by draw, against the exact probabilities.
#[test]
fn a_proposal_is_taken_as_often_as_it_may_be() {
    const DRAWS: usize = 60_000;
    let p = [0.0f32, 1.0, 2.0, -1.0, 0.5, 0.1];
    let q = [1.5f32, -0.5, 1.0, 0.0, 0.4, 2.0];
    // The mask leaves the last one out.
    let mask = [0b01_1111u32];
    let odds = |logits: &[f32]| -> Vec<f64> {
        let all: Vec<f64> = logits[..5].iter().map(|l| f64::from(*l).exp()).collect();
        let sum: f64 = all.iter().sum();
        all.iter().map(|w| w / sum).collect()
    };
    let (p_of, q_of) = (odds(&p), odds(&q));
    let mut sampler = Sampler::new(SamplingConfig::with_temperature(1.0, 1)).unwrap();
    let mut drafts = Sampler::new(SamplingConfig::with_temperature(1.0, 2)).unwrap();
    let mut counts = [0usize; 5];
    let mut taken = 0;
    for _ in 0..DRAWS {
        let proposal = drafts.propose(&q, Some(&mask), &[]).unwrap();
        let token = sampler.sample_beside(&p, Some(&mask), &[], &proposal);
        let token = token.unwrap();
        counts[token as usize] += 1;
        taken += usize::from(token == proposal.token());
    }
    let square = |(count, p): (&usize, &f64)| {
        let expected = p * DRAWS as f64;
        (*count as f64 - expected).powi(2) / expected
    };
    let squares: f64 = counts.iter().zip(&p_of).map(square).sum();
    assert!(deviations(squares, 4.0) < 4.0, "{squares}");
    let best: f64 = p_of.iter().zip(&q_of).map(|(p, q)| p.min(*q)).sum();
    let share = taken as f64 / DRAWS as f64;
    assert!((share - best).abs() < 0.01, "{share} {best}");
}
