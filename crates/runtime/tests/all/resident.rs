//! Decode loops that keep constraints where the logits are, against sessions.
#![cfg(feature = "embedded")]

use std::sync::Arc;

use candle_core::{Device, Tensor};
use tokenmold::ErrorKind;
use tokenmold::embedded;
use tokenmold::fsm_index::{Guide, Index, TokenId, Vocabulary};
use tokenmold::generate::{Flow, ForcedTokens, Prompt, Request, Session};
use tokenmold::gpu::{DeviceSampler, ResidentDecoder, ResidentText};
use tokenmold::masking::BatchMasks;
use tokenmold::model::{Model, Transformer};
use tokenmold::sampling::SamplingConfig;
use tokenmold::tokenizer::Surround;

const PATTERNS: [&str; 3] = [
    r#"\{"name":"[^"\\]{1,12}","age":[0-9]{1,2}\}"#,
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]",
    r"(yes|no|maybe)( [a-z]{1,9}){0,4}\.",
];

const PROMPT: &str = "Note about Vera Hale, is 41 years old.";
const TOKENS: usize = 24;

/// The tokens that a session generates, with or without a constraint.
fn session(index: Option<&Arc<Index>>) -> Vec<u32> {
    let mut loaded = embedded::load().unwrap();
    let request = Request::new(Prompt::Text(PROMPT.to_owned()))
        .with_max_tokens(TOKENS)
        .with_forced(ForcedTokens::Draw);
    let mut guide = index.map(|index| Guide::new(index.clone()));
    let guide = guide.as_mut().map(|guide| guide as _);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let generation = session.generate(&request, guide, &mut |_| Flow::Continue);
    generation.unwrap().tokens
}

#[test]
fn a_resident_batch_decodes_what_sessions_do() {
    let loaded = embedded::load().unwrap();
    let vocabulary = loaded.tokenizer.vocabulary();
    let indexes = PATTERNS.map(|pattern| Arc::new(Index::new(pattern, vocabulary).unwrap()));
    let mut texts: Vec<Option<Arc<Index>>> = indexes.into_iter().map(Some).collect();
    texts.push(None);
    let prompt = loaded.tokenizer.encode(PROMPT, Surround::Add).unwrap();
    let mut models: Vec<Transformer> = texts.iter().map(|_| loaded.model.fork()).collect();
    let mut logits = Vec::new();
    for model in &mut models {
        logits.extend(model.forward(&prompt, 0).unwrap());
    }
    let width = loaded.model.vocabulary_width();
    let logits = Tensor::from_vec(logits, (texts.len(), width), &Device::Cpu).unwrap();
    let resident: Vec<ResidentText> = texts
        .iter()
        .map(|index| ResidentText {
            index: index.clone(),
            sampling: SamplingConfig::greedy(),
        })
        .collect();
    for block in [1, 5, 100] {
        for model in &mut models {
            model.truncate(prompt.len());
        }
        let mut decoder =
            ResidentDecoder::new(&Device::Cpu, vocabulary, width, &resident, block).unwrap();
        let mut forward = |fed: &Tensor| Transformer::forward_fed(&mut models, fed);
        let found = decoder
            .decode(logits.clone(), &mut forward, TOKENS)
            .unwrap();
        for (index, mut tokens) in texts.iter().zip(found) {
            // A session leaves the end token out, and what a finished text needs not.
            let ends = |token: &u32| vocabulary.ends().contains(&TokenId::new(*token));
            if tokens.last().is_some_and(ends) {
                tokens.pop();
            }
            assert_eq!(tokens, session(index.as_ref()), "block {block}");
        }
        assert!(decoder.is_accepting(1), "a date is complete");
    }
}

fn letters() -> Vocabulary {
    let tokens = ["a", "b", "ab"].iter().zip(0..);
    let tokens = tokens.map(|(text, id)| (text.as_bytes(), TokenId::new(id)));
    Vocabulary::new(tokens, [TokenId::new(3)]).unwrap()
}

#[test]
fn masks_from_the_host_and_resident_ones_draw_the_same() {
    let vocabulary = letters();
    let index = Arc::new(Index::new("(ab|b){2,6}", &vocabulary).unwrap());
    let sampling = SamplingConfig::with_temperature(1.3, 11);
    let text = ResidentText {
        index: Some(index.clone()),
        sampling: sampling.clone(),
    };
    let mut decoder = ResidentDecoder::new(&Device::Cpu, &vocabulary, 6, &[text], 3).unwrap();
    let mut sampler = DeviceSampler::new(&Device::Cpu, &[sampling], 4, 6).unwrap();
    let mut guide = Guide::new(index);
    // The two columns behind the vocabulary are padding, and never drawn.
    let logits = Tensor::new(&[[0.3f32, 0.1, 0.2, -0.4, 9., 9.]], &Device::Cpu).unwrap();
    let (mut taken, mut drawn) = (Vec::new(), Vec::new());
    let mut masks = BatchMasks::new(4).unwrap();
    while !decoder.is_finished() {
        masks.clear();
        masks.push(guide.mask().unwrap().words()).unwrap();
        sampler.upload(&masks).unwrap();
        let token = sampler.draw(&logits).unwrap()[0];
        let fed = decoder.step(&logits).unwrap().to_vec1::<u32>().unwrap();
        assert_eq!(fed, [token.unwrap_or(0)]);
        if let Some(token) = token {
            guide.advance(TokenId::new(token)).unwrap();
            drawn.push(token);
        }
        if decoder.room() == 0 {
            taken.extend(decoder.take().unwrap().remove(0));
        }
    }
    assert_eq!(taken, drawn);
    assert_eq!(taken.last(), Some(&3));
}

#[test]
fn what_cannot_be_decoded_is_refused() {
    let vocabulary = letters();
    let index = Arc::new(Index::new("ab", &vocabulary).unwrap());
    let text = |sampling| ResidentText {
        index: Some(index.clone()),
        sampling,
    };
    let greedy = || text(SamplingConfig::greedy());
    let new = |texts: &[ResidentText], width, block| {
        ResidentDecoder::new(&Device::Cpu, &vocabulary, width, texts, block)
    };
    let mut penalty = SamplingConfig::greedy();
    penalty.repetition_penalty = 1.2;
    for (error, kind, message) in [
        (new(&[], 4, 1), ErrorKind::InvalidParameter, "0 texts"),
        (
            new(&[greedy()], 4, 0),
            ErrorKind::InvalidParameter,
            "0 steps",
        ),
        (
            new(&[greedy()], 3, 1),
            ErrorKind::VocabularyMismatch,
            "width 3",
        ),
        (
            new(&[text(penalty)], 4, 1),
            ErrorKind::InvalidParameter,
            "repetition_penalty",
        ),
    ] {
        let error = error.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(message), "{error}");
    }
    let other = Vocabulary::new([(b"a", TokenId::new(0))], [TokenId::new(3)]).unwrap();
    let error = ResidentDecoder::new(&Device::Cpu, &other, 4, &[greedy()], 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VocabularyMismatch);

    // Nothing that is allowed can be drawn.
    let mut decoder = new(&[greedy()], 4, 1).unwrap();
    let none = [f32::NEG_INFINITY, 1.0, f32::NAN, 1.0];
    let logits = Tensor::new(&[none], &Device::Cpu).unwrap();
    decoder.step(&logits).unwrap();
    let full = decoder.step(&logits).unwrap_err();
    assert!(full.to_string().contains("take"), "{full}");
    assert_eq!(decoder.take().unwrap_err().kind(), ErrorKind::Sampling);
    let wide = Tensor::new(&[[0f32; 5]], &Device::Cpu).unwrap();
    let error = decoder.step(&wide).unwrap_err();
    assert!(error.to_string().contains("[1, 5]"), "{error}");

    let mut sampler = DeviceSampler::new(&Device::Cpu, &[SamplingConfig::greedy()], 4, 4).unwrap();
    let error = sampler.draw(&logits).unwrap_err();
    assert!(error.to_string().contains("upload"), "{error}");
    let masks = BatchMasks::new(4).unwrap();
    assert!(sampler.upload(&masks).is_err());
}
