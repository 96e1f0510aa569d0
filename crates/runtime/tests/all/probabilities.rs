//! The probabilities of all values against a search through all rows of tokens.

#![cfg(feature = "embedded")]

use std::collections::BTreeMap;
use std::sync::Arc;

use tokenmold::fsm_index::{Guide, Index, ProbabilityLimits, TokenId};
use tokenmold::generate::{Prompt, Session};
use tokenmold::model::{LoadedModel, Model as _, Transformer};
use tokenmold::tokenizer::Surround;
use tokenmold::{ErrorKind, embedded};

/// Adds up the probability of each value over all rows of tokens that spell it: the text's tokens
/// are read from the beginning for each row, and none is left out.
fn by_all_rows(
    loaded: &LoadedModel,
    model: &mut Transformer,
    index: &Arc<Index>,
    tokens: &[u32],
) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    let mut rows = vec![(Vec::<u32>::new(), 0.0f64)];
    while let Some((row, log)) = rows.pop() {
        let mut guide = Guide::new(index.clone());
        for token in &row {
            guide.advance(TokenId::new(*token)).unwrap();
        }
        let text = loaded.tokenizer.decode(&row);
        if guide.is_finished() {
            *sums.entry(text).or_insert(0.0) += log.exp();
            continue;
        }
        let logits = model.forward(&[tokens, &row].concat(), 0).unwrap();
        let all: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
        for token in guide.allowed_tokens().unwrap() {
            let log = log + f64::from(logits[token.get() as usize]) - all.ln();
            match loaded.tokenizer.vocabulary().ends().contains(&token) {
                true => *sums.entry(text.clone()).or_insert(0.0) += log.exp(),
                false => rows.push(([row.as_slice(), &[token.get()]].concat(), log)),
            }
        }
    }
    sums
}

#[test]
fn probabilities_are_sums_over_all_rows_of_tokens() {
    let mut loaded = embedded::load().unwrap();
    let mut other = loaded.model.fork();
    let rules = [
        "yes|no",
        "north|no|nor",
        "[0-3]{2}",
        "low|some|high",
        "a?b?c?",
        "é|è|e",
        r#"\[(true|0)\]"#,
    ];
    for (rule, asked) in rules.iter().zip(
        ["Is it so?", "Where?", "7", "", "x", "e", "Paid: "]
            .iter()
            .cycle(),
    ) {
        let index = Index::new(rule, loaded.tokenizer.vocabulary()).unwrap();
        let index = Arc::new(index);
        let asked = format!("{asked} Note");
        let tokens = loaded.tokenizer.encode(&asked, Surround::Add).unwrap();
        let sums = by_all_rows(&loaded, &mut other, &index, &tokens);
        let all: f64 = sums.values().sum();
        let mut guide = Guide::new(index);
        let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
        let prompt = Prompt::Text(asked);
        let limits = ProbabilityLimits::default();
        let found = session.probabilities(&prompt, &mut guide, &limits).unwrap();
        assert!(guide.is_empty(), "{rule}: the guide is where it was");
        assert!(found.unknown <= limits.tolerance, "{rule}");
        let texts: Vec<&str> = found
            .values
            .iter()
            .map(|value| value.text.as_str())
            .collect();
        let mut sorted = texts.clone();
        sorted.sort_unstable();
        assert_eq!(
            sorted,
            sums.keys().map(String::as_str).collect::<Vec<_>>(),
            "{rule}"
        );
        for value in &found.values {
            let sum = sums[&value.text];
            let off = (value.probability - sum / all).abs();
            assert!(off < 1e-5, "{rule}, {:?}: {off}", value.text);
            let off = (value.log_probability.exp() / sum - 1.0).abs();
            assert!(
                off < 1e-3 || sum / all < 1e-5,
                "{rule}, {:?}: {off}",
                value.text
            );
        }
        assert!(
            found
                .values
                .is_sorted_by(|a, b| a.probability >= b.probability),
            "{rule}"
        );
    }
}

#[test]
fn the_order_of_the_values_does_not_matter() {
    let mut loaded = embedded::load().unwrap();
    let mut all = Vec::new();
    for rule in ["red|green|blue", "blue|red|green"] {
        let index = Index::new(rule, loaded.tokenizer.vocabulary()).unwrap();
        let mut guide = Guide::new(Arc::new(index));
        let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
        let prompt = Prompt::Text("The sky is".to_owned());
        let found = session.probabilities(&prompt, &mut guide, &ProbabilityLimits::default());
        all.push(found.unwrap());
    }
    assert_eq!(all[0], all[1]);
}

#[test]
fn limits_are_errors_that_say_so() {
    let mut loaded = embedded::load().unwrap();
    let cases = [
        ("a{200}", "100 bytes of values"),
        ("[a-z]{2}", "9 values"),
        ("[0-7]", "steps of the model"),
    ];
    for (rule, said) in cases {
        let index = Index::new(rule, loaded.tokenizer.vocabulary()).unwrap();
        let mut guide = Guide::new(Arc::new(index));
        let mut limits = ProbabilityLimits::default();
        limits.max_steps = 0;
        limits.max_bytes = 100;
        limits.max_values = 9;
        let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
        let prompt = Prompt::Text("Say".to_owned());
        let error = session
            .probabilities(&prompt, &mut guide, &limits)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{rule}");
        let message = error.to_string();
        assert!(message.contains(said), "{rule}: {message}");
    }
}

#[test]
fn many_options_cost_one_reading_of_the_prompt() {
    let mut loaded = embedded::load().unwrap();
    let options: Vec<String> = (0..255).map(|at| format!("option {at}")).collect();
    let index = Index::new(&options.join("|"), loaded.tokenizer.vocabulary()).unwrap();
    let mut guide = Guide::new(Arc::new(index));
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let text = "Choose an option: ".repeat(8);
    let read = loaded.tokenizer.encode(&text, Surround::Add).unwrap();
    let prompt = Prompt::Text(text);
    let found = session
        .probabilities(&prompt, &mut guide, &ProbabilityLimits::default())
        .unwrap();
    assert_eq!(found.values.len(), 255);
    let sum: f64 = found.values.iter().map(|value| value.probability).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    assert!(session.seen().starts_with(&read));
}
