//! Building indexes and asking them for masks, over a vocabulary made here.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use fsm_index::{Fill, Guide, Index, IndexConfig, TokenId, Vocabulary};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schema_regex::Options;
use serde_json::json;

/// The 256 bytes and 20,000 words of letters, blanks and quotes: in shape like a real
/// vocabulary, and the same every time.
fn vocabulary() -> Vocabulary {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut words: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    while words.len() < 20_256 {
        let length = rng.random_range(2..10);
        let alphabet = b"etaoinshrdlucmfwypvbgkjqxz0123456789  \",:{}";
        words.push(
            (0..length)
                .map(|_| alphabet[rng.random_range(0..alphabet.len())])
                .collect(),
        );
    }
    let tokens = words
        .iter()
        .zip(0..)
        .map(|(word, id)| (word, TokenId::new(id)));
    Vocabulary::new(tokens, [TokenId::new(20_256)]).unwrap()
}

fn pattern() -> String {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 40},
            "age": {"type": "integer", "minimum": 0, "maximum": 130},
            "mail": {"type": "string", "format": "email"}
        },
        "required": ["name", "age"],
        "additionalProperties": false
    });
    let schema = schema_regex::parse(&schema).unwrap();
    schema_regex::to_regex(&schema, &Options::default()).unwrap()
}

fn building(criterion: &mut Criterion) {
    let (vocabulary, pattern) = (vocabulary(), pattern());
    let mut group = criterion.benchmark_group("index");
    group.sample_size(10);
    group.bench_function("build eagerly", |b| {
        b.iter(|| Index::new(black_box(&pattern), &vocabulary).unwrap());
    });
    let lazily = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    group.bench_function("build lazily", |b| {
        b.iter(|| {
            let config = fsm_index::Config::default();
            Index::with_config(black_box(&pattern), &vocabulary, &config, &lazily).unwrap()
        });
    });
    group.finish();
}

fn masking(criterion: &mut Criterion) {
    let vocabulary = vocabulary();
    let index = Arc::new(Index::new(&pattern(), &vocabulary).unwrap());
    let text: Vec<TokenId> =
        br#"{"name": "Ada", "age": 36}"#.iter().map(|&byte| TokenId::new(u32::from(byte))).collect();
    criterion.bench_function("mask and advance over 26 tokens", |b| {
        b.iter(|| {
            let mut guide = Guide::new(Arc::clone(&index));
            for &token in &text {
                black_box(guide.mask().unwrap());
                guide.advance(token).unwrap();
            }
            guide.is_accepting()
        });
    });
}

criterion_group!(benches, building, masking);
criterion_main!(benches);
