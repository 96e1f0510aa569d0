//! A step of several texts at once is what each of them reads alone.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tokenmold::ErrorKind;
use tokenmold::model::{Model, Reading, Transformer, load};

use super::families::*;

/// What may differ between a text read alone and together, beside the largest
/// logit where that is above 1.
const TOLERANCE: f32 = 1e-5;

fn assert_same(read: &[f32], wanted: &[f32], family: &str) {
    let largest = wanted
        .iter()
        .fold(1.0_f32, |most, logit| most.max(logit.abs()));
    let distance = distance(read, wanted);
    assert!(
        distance < TOLERANCE * largest,
        "{family}: {distance} of {largest}"
    );
}

/// A step of one text: its new tokens behind so many that stay.
struct Step {
    kept: usize,
    tokens: Vec<u32>,
}

/// Random rounds of steps: prompts of different lengths, single tokens, pieces,
/// going back, and texts that sit a round out.
fn rounds(texts: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<Option<Step>>> {
    let mut below = |most: usize| rng.next_u32() as usize % most;
    let mut lengths = vec![0; texts];
    let mut rounds = Vec::new();
    for round in 0..6 {
        let mut steps = Vec::new();
        for length in &mut lengths {
            if round > 0 && below(5) == 0 {
                steps.push(None);
                continue;
            }
            let kept = match below(6) {
                0 => below(*length + 1),
                _ => *length,
            };
            let count = match (round, below(3)) {
                (0, _) => 1 + below(12),
                (_, 0) => 1 + below(4),
                _ => 1,
            };
            let tokens = (0..count).map(|_| below(VOCABULARY) as u32).collect();
            *length = kept + count;
            steps.push(Some(Step { kept, tokens }));
        }
        rounds.push(steps);
    }
    rounds
}

#[test]
fn logits_are_those_of_each_text_alone() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for family in ALL {
        let folder = folder(family);
        let model = load(folder.path()).unwrap().model;
        for texts in [1, 2, 5] {
            let mut together: Vec<Transformer> = (0..texts).map(|_| model.fork()).collect();
            let mut alone: Vec<Transformer> = (0..texts).map(|_| model.fork()).collect();
            for steps in rounds(texts, &mut rng) {
                let mut reads = Vec::new();
                let mut wanted = Vec::new();
                for ((model, alone), step) in together.iter_mut().zip(&mut alone).zip(&steps) {
                    let Some(step) = step else { continue };
                    wanted.push(alone.forward(&step.tokens, step.kept).unwrap());
                    reads.push(Reading {
                        model,
                        tokens: &step.tokens,
                        position: step.kept,
                    });
                }
                let read = Transformer::forward_together(&mut reads);
                assert_eq!(read.len(), wanted.len());
                for (read, wanted) in read.into_iter().zip(wanted) {
                    assert_same(&read.unwrap(), &wanted, family.name);
                }
                for (together, alone) in together.iter().zip(&alone) {
                    assert_eq!(together.cached(), alone.cached());
                }
            }
        }
    }
}

#[test]
fn models_that_share_nothing_are_read_apart() {
    let (llama, qwen) = (folder(LLAMA), folder(QWEN3));
    let mut models = [
        load(llama.path()).unwrap().model,
        load(qwen.path()).unwrap().model,
    ];
    let (fork, twin) = (models[0].fork(), load(llama.path()).unwrap().model);
    let mut alone = models.each_ref().map(Transformer::fork);
    let [first, second] = &mut models;
    let (mut fork, mut twin) = (fork, twin);
    let mut reads: Vec<Reading<'_, Transformer>> = [first, second, &mut fork, &mut twin]
        .into_iter()
        .enumerate()
        .map(|(at, model)| Reading {
            model,
            tokens: &TOKENS[..3 + at],
            position: 0,
        })
        .collect();
    let read = Transformer::forward_together(&mut reads);
    for (at, (read, family)) in read.into_iter().zip([0, 1, 0, 0]).enumerate() {
        let wanted = alone[family].forward(&TOKENS[..3 + at], 0).unwrap();
        assert_same(&read.unwrap(), &wanted, "apart");
    }
}

#[test]
fn what_one_text_may_not_read_is_its_error_alone() {
    let folder = folder(LLAMA);
    let model = load(folder.path()).unwrap().model;
    let mut models: Vec<Transformer> = (0..4).map(|_| model.fork()).collect();
    let too_many = [1; 65];
    let asked: [(&[u32], usize); 4] = [
        (&TOKENS[..4], 0),
        (&[VOCABULARY as u32], 0),
        (&too_many, 0),
        (&TOKENS[..2], 0),
    ];
    let mut reads: Vec<Reading<'_, Transformer>> = models
        .iter_mut()
        .zip(asked)
        .map(|(model, (tokens, position))| Reading {
            model,
            tokens,
            position,
        })
        .collect();
    let read = Transformer::forward_together(&mut reads);
    let kinds: Vec<Option<ErrorKind>> = read
        .iter()
        .map(|read| read.as_ref().err().map(tokenmold::Error::kind))
        .collect();
    let refused = [
        None,
        Some(ErrorKind::VocabularyMismatch),
        Some(ErrorKind::ContextLength),
        None,
    ];
    assert_eq!(kinds, refused);
    let cached: Vec<usize> = models.iter().map(Model::cached).collect();
    assert_eq!(cached, [4, 0, 0, 2]);
    assert!(Transformer::forward_together(&mut []).is_empty());
}
