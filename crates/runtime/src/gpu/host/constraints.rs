//! Indexes on the device against guides: states, masks and tokens.

use std::sync::Arc;

use fsm_index::{Config, Guide, Index, IndexConfig, TokenId, TokenKind, Vocabulary};

use super::super::resident::{ENDED, Resident};
use super::*;
use crate::gpu::masking::NO_MASK;

fn indexes(vocabulary: &Vocabulary) -> Vec<Arc<Index>> {
    let mut indexes = Vec::new();
    for (pattern, packed) in [
        (r"[0-9]{4}-[01][0-9]-[0-3][0-9]", None),
        (
            r#"\{"name": "[^"\\\x00-\x1F]{0,40}", "age": [0-9]{1,3}\}"#,
            None,
        ),
        (r"(é|日本|[a-z ]){3,60}!", Some(0)),
        (r"\w+( \w+)*\.", Some(30)),
        (r".{0,300}", None),
        // More states than fit into 16 bits.
        (r"([a-f]{1,300}x[0-9]{1,300}y){112}", None),
    ] {
        let config = IndexConfig {
            packed_tokens: packed,
            ..IndexConfig::default()
        };
        let index = Index::with_config(pattern, vocabulary, &Config::default(), &config);
        indexes.push(Arc::new(index.unwrap()));
    }
    indexes
}

#[test]
fn decode_as_guides_do() {
    let vocabulary = crate::model::embedded::load()
        .unwrap()
        .tokenizer
        .vocabulary()
        .clone();
    let width = vocabulary.width();
    let indexes = indexes(&vocabulary);
    let mut texts: Vec<Option<Arc<Index>>> = indexes.iter().cloned().map(Some).collect();
    texts.extend([None, Some(indexes[0].clone())]);
    let batch = texts.len();
    let states = indexes.iter().map(|index| index.automaton().state_count());
    assert!(states.max() > Some(1 << 16), "no index has wide cells");
    let mut twin = Resident::new(&vocabulary, &texts).unwrap();
    let host = Host::new();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let configs = (0..batch).map(|text| SamplingConfig::with_temperature(0.9, text as u64));
    let mut parameters: Vec<Parameters> = configs
        .map(|config| Parameters::new(&config).unwrap())
        .collect();
    let words: Vec<u32> = parameters.iter().flat_map(|p| p.words()).collect();
    let shape = Shape {
        batch,
        width,
        vocabulary: width,
    };
    let device = host.as_ref().map(|host| {
        let image = Image {
            states: &twin.states,
            bases: &twin.bases,
            indexes: &twin.indexes,
            vocabulary: &twin.vocabulary,
            words: twin.words,
        };
        let states = States::new(host, &image).unwrap();
        let mut draws = Draws::new(host, shape, &words).unwrap();
        draws.threads = 64;
        let memory = |words| host.zeroed(words).unwrap();
        (
            host,
            states,
            draws,
            memory(batch),
            memory(batch),
            memory(batch * 100),
        )
    });
    let mut guides: Vec<Option<Guide>> = texts
        .iter()
        .map(|index| index.clone().map(Guide::new))
        .collect();
    let mut ended = vec![false; batch];
    let mut mask = vec![0; twin.words];
    let mut log = Vec::new();
    let mut visited: Vec<Guide> = Vec::new();
    for step in 0..100 {
        let logits = some_logits(&mut rng, batch * width, Floats::F16);
        let mut tokens = Vec::new();
        let (mut masks, mut rows) = (Vec::new(), Vec::new());
        for text in 0..batch {
            // The twin's mask is the guide's.
            mask.fill(0);
            let row = twin.lay_out(text, &mut mask);
            assert_eq!(row == NO_MASK, guides[text].is_none() && !ended[text]);
            match &mut guides[text] {
                Some(guide) => {
                    assert_eq!(
                        mask,
                        guide.mask().unwrap().words(),
                        "text {text}, step {step}"
                    );
                }
                None => assert!(mask.iter().all(|&word| word == 0)),
            }
            let own = (row != NO_MASK).then_some(&mask[..]);
            let row_logits = &logits[text * width..][..width];
            tokens.push(twin::draw(row_logits, own, &mut parameters[text]));
            masks.extend_from_slice(&mask);
            rows.push(row);
        }
        if let Some((host, states, draws, drawn, fed, log)) = &device {
            states.lay_out(*host).unwrap();
            let found = host.read(states.masks().words).unwrap();
            assert_eq!(host.read(states.masks().rows).unwrap(), rows);
            let pairs = found.chunks(twin.words).zip(masks.chunks(twin.words));
            for ((found, wanted), row) in pairs.zip(&rows) {
                assert!(*row == NO_MASK || found == wanted, "step {step}");
            }
            let logits = host.logits(&logits, Floats::F16);
            draws
                .draw(*host, &logits, Floats::F16, &states.masks(), drawn)
                .unwrap();
            let numbers: Vec<u32> = tokens.iter().map(|t| t.unwrap_or(u32::MAX)).collect();
            assert_eq!(host.read(drawn).unwrap(), numbers, "step {step}");
            states.advance(*host, drawn, fed, (log, step)).unwrap();
            let numbers: Vec<u32> = tokens.iter().map(|t| t.unwrap_or(0)).collect();
            assert_eq!(host.read(fed).unwrap(), numbers);
        }
        for (text, token) in tokens.iter().enumerate() {
            log.push(token.unwrap_or(u32::MAX));
            let Some(token) = *token else {
                assert!(ended[text]);
                continue;
            };
            twin.advance(text, token);
            let id = TokenId::new(token);
            ended[text] = vocabulary.kind(id) == TokenKind::End;
            if let Some(guide) = &mut guides[text] {
                visited.push(guide.clone());
                guide.advance(id).unwrap();
                if !ended[text] {
                    assert_eq!(twin.states[text], guide.state().0);
                }
            }
            assert_eq!(twin.states[text] == ENDED, ended[text]);
        }
        if let Some((host, states, ..)) = &device {
            assert_eq!(
                host.read(states.states()).unwrap(),
                twin.states,
                "step {step}"
            );
        }
    }
    if let Some((host, .., noted)) = &device {
        assert_eq!(host.read(noted).unwrap(), log);
    }
    assert!(ended[0], "a date has ended");
    any_token(host.as_ref(), &mut rng, &vocabulary, &visited);
}

/// Tokens that no mask allowed lead where the guide says, or are dead.
fn any_token(
    host: Option<&Host>,
    rng: &mut ChaCha8Rng,
    vocabulary: &Vocabulary,
    visited: &[Guide],
) {
    let guides: Vec<&Guide> = (0..400)
        .map(|_| &visited[rng.random_range(0..visited.len())])
        .collect();
    let texts: Vec<_> = guides
        .iter()
        .map(|guide| Some(guide.index().clone()))
        .collect();
    let mut twin = Resident::new(vocabulary, &texts).unwrap();
    twin.states = guides.iter().map(|guide| guide.state().0).collect();
    // Bytes are tokens too: half of them, so that many end inside a character.
    let any = |_: &&Guide| match rng.random_range(0..2) {
        0 => rng.random_range(0..vocabulary.width() as u32),
        _ => rng.random_range(0..256),
    };
    let tokens: Vec<u32> = guides.iter().map(any).collect();
    let found = host.map(|host| {
        let image = Image {
            states: &twin.states,
            bases: &twin.bases,
            indexes: &twin.indexes,
            vocabulary: &twin.vocabulary,
            words: twin.words,
        };
        let states = States::new(host, &image).unwrap();
        let drawn = host.filled(&tokens).unwrap();
        let [fed, log] = [(); 2].map(|()| host.zeroed(tokens.len()).unwrap());
        states.advance(host, &drawn, &fed, (&log, 0)).unwrap();
        host.read(states.states()).unwrap()
    });
    let (mut dead, mut inside) = (0, 0);
    for (text, (guide, &token)) in guides.iter().zip(&tokens).enumerate() {
        twin.advance(text, token);
        let id = TokenId::new(token);
        if vocabulary.kind(id) == TokenKind::End {
            // The mask says whether the text may end.
            assert_eq!(twin.states[text], ENDED);
            continue;
        }
        let mut guide = Guide::clone(guide);
        match guide.advance(id) {
            Ok(()) => assert_eq!(twin.states[text], guide.state().0),
            Err(_) => assert_eq!(twin.states[text], 0),
        }
        dead += usize::from(twin.states[text] == 0);
        inside += usize::from(
            vocabulary
                .token_bytes(id)
                .is_some_and(|bytes| bytes[0] >= 0x80),
        );
    }
    assert!(dead > 50 && dead < 380 && inside > 20, "{dead} {inside}");
    assert!(found.is_none_or(|found| found == twin.states));
}
