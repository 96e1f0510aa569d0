//! The short way in: values of types and schemas, and masks on slices of logits.
#![cfg(all(feature = "embedded", feature = "tools"))]

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use tokenmold::prelude::*;

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "tokenmold::schemars")]
#[serde(rename_all = "snake_case")]
enum Kind {
    Person,
    Firm,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "tokenmold::schemars")]
#[serde(deny_unknown_fields)]
struct Entry {
    #[schemars(length(min = 1, max = 30))]
    name: String,
    kind: Kind,
    #[schemars(length(max = 2))]
    tags: Vec<Kind>,
    #[schemars(range(min = 1, max = 9))]
    count: Option<u8>,
}

#[test]
fn types_are_answered_whatever_is_drawn() {
    let mut model = Model::embedded().unwrap().with_max_tokens(150);
    for seed in 0..4 {
        model = model.with_sampling(SamplingConfig::with_temperature(1.5, seed));
        let entry: Entry = model.generate_json("Vera Hale, a person").unwrap();
        assert!((1..=30).contains(&entry.name.chars().count()), "{entry:?}");
        assert!(entry.tags.len() <= 2 && entry.count.is_none_or(|n| (1..=9).contains(&n)));
        assert!(matches!(entry.kind, Kind::Person | Kind::Firm));
    }
}

#[test]
fn schemas_and_expressions_are_answered_or_refused_by_name() {
    let mut model = Model::embedded().unwrap();
    let schema = json!({"type": "array", "items": {"enum": [1, 2]}, "minItems": 2, "maxItems": 3});
    let answer = model.generate_value(&schema, "Count").unwrap();
    assert!(
        (2..=3).contains(&answer.as_array().unwrap().len()),
        "{answer}"
    );
    assert_eq!(model.generate_matching("a{3}", "x").unwrap(), "aaa");
    assert!(!model.generate_text("Hello").unwrap().is_empty());
    let refused = model
        .generate_value(&json!({"type": "nothing"}), "x")
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Constraint);
    assert!(refused.to_string().contains("/type"), "{refused}");
    let missing = Model::open("no-such-folder").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    let mut tight = model.with_max_tokens(2);
    let error = tight.generate_matching("[a-z]{90}", "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TokenBudget);
}

#[test]
fn what_comes_out_is_written_as_json() {
    let mut loaded = tokenmold::embedded::load().unwrap();
    let index = Index::new("[0-9]{3}", loaded.tokenizer.vocabulary()).unwrap();
    let mut guide = Guide::new(Arc::new(index));
    let request = Request::new(Prompt::Text("1".to_owned()));
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let said = session.generate(&request, Some(&mut guide), &mut |_| Flow::Continue);
    let json = serde_json::to_value(said.unwrap()).unwrap();
    assert_eq!(
        (&json["complete"], json["text"].as_str().unwrap().len()),
        (&json!(true), 3)
    );
    assert!(json["timings"]["total"]["secs"].is_u64(), "{json}");
}

/// A type that reads fewer values than its schema says.
#[derive(Debug)]
struct Never;

impl<'de> Deserialize<'de> for Never {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("never"))
    }
}

impl JsonSchema for Never {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Never".into()
    }

    fn json_schema(_: &mut tokenmold::schemars::SchemaGenerator) -> tokenmold::schemars::Schema {
        tokenmold::schemars::json_schema!({"type": "boolean"})
    }
}

#[test]
fn an_answer_that_is_not_of_the_type_is_an_error() {
    let mut model = Model::embedded().unwrap();
    let error = model.generate_json::<Never>("Is it?").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Answer);
    let map: BTreeMap<String, bool> = model
        .with_options(Options::default())
        .with_max_tokens(60)
        .generate_json("Is it?")
        .unwrap();
    let _ = map;
}

#[test]
fn masks_are_written_into_floats_of_all_widths() {
    let tokenizer = Tokenizer::from_directory(concat!(env!("CARGO_MANIFEST_DIR"), "/model"));
    let tokenizer = tokenizer.unwrap();
    let vocabulary = tokenizer.vocabulary();
    let mut guide = Guide::new(Arc::new(Index::new("[0-9]+|yes", vocabulary).unwrap()));
    let mask = guide.mask().unwrap().clone();
    let width = mask.width() + 13;
    let mut single: Vec<f32> = (0..width).map(|t| t as f32).collect();
    let mut half: Vec<half::f16> = single.iter().map(|x| half::f16::from_f32(*x)).collect();
    let mut brain: Vec<half::bf16> = single.iter().map(|x| half::bf16::from_f32(*x)).collect();
    let (before_half, before_brain) = (half.clone(), brain.clone());
    mask.apply(&mut single).unwrap();
    mask.apply(&mut half).unwrap();
    mask.apply(&mut brain).unwrap();
    let mut allowed = 0;
    for t in 0..width {
        if t < mask.width() && mask.allows(TokenId::new(t as u32)) {
            allowed += 1;
            assert_eq!(single[t], t as f32);
            assert_eq!((half[t], brain[t]), (before_half[t], before_brain[t]));
        } else {
            assert_eq!(single[t], f32::NEG_INFINITY);
            assert_eq!(half[t], half::f16::NEG_INFINITY);
            assert_eq!(brain[t], half::bf16::NEG_INFINITY);
        }
    }
    assert_eq!(allowed, mask.count());
    assert!(allowed > 10);
    let mut few = vec![0.5_f32; mask.width() - 1];
    let error = mask.apply(&mut few).unwrap_err();
    assert_eq!(error.kind(), tokenmold::fsm_index::ErrorKind::BufferSize);
    assert!(few.iter().all(|logit| *logit == 0.5));
}
